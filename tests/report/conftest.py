"""A run with every outcome, kind of evidence and shape of witness, on the registered claims of PPNS.

The numbers and outcomes are invented to exercise the report's layout; nothing here is a verdict.
"""

import json
import math
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Claim, Evidence, Verdict
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.core.records import Plot, Series, Table
from dpassay.proofs.ppns.claims import CLAIMS

ADD_RATING = NeighboringRelation("add_or_remove_one", "rating")
ADD_USER = NeighboringRelation("add_or_remove_one", "user")
REPLACE_RATING = NeighboringRelation("replace_one", "rating")
MISSING = math.nan


VOID = {"meta", "input", "br", "hr", "img", "link", "area", "base", "col", "embed", "source", "track", "wbr"}


class Page(HTMLParser):
    """Collects elements, and fails on a tag that is not closed where it must be."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text_in: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> repeats an attribute: {names}"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text_in.setdefault(self.open[-1], []).append(data)

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        return [a for t, a in self.elements if t == tag and wanted.items() <= a.items()]


@pytest.fixture(scope="session")
def parse() -> type[Page]:
    """Parses a page, and fails where it is not well formed."""
    return Page


@pytest.fixture(scope="session")
def example_run() -> Callable[[], dict[str, Any]]:
    """Builds the run anew at each call, so that a test may spoil its copy."""
    text = json.dumps(build_run())
    return lambda: json.loads(text)


def build_run(claims: tuple[Claim, ...] = CLAIMS) -> dict[str, Any]:
    verdicts = []
    for position, claim in enumerate(claims):
        verdict = SPECIAL.get(claim.id, _plain)(claim, position)
        files = [f"{claim.id}-{n}.json" for n, _ in enumerate(verdict.evidence)]
        expected: str | None = verdict.outcome
        if claim.id in ("PP-COST", "PP-L2"):
            expected = "open"
        if claim.id in ("PP-TREND", "PP-F2"):
            expected = None
        content = verdict.to_json()
        for name, record in zip(files, content["evidence"], strict=True):
            lines = [["certainly true", "a < b"], ["", "b < c"], ["first dataset", "5 . | 1 2"]]
            record["certificate"] = {"file": name, "concludes": verdict.outcome, "lines": lines}
        verdicts.append(
            {
                **content,
                "certificates": files,
                "expected": expected,
                "seconds": 0.37 * (1 + position % 11) ** 2,
            }
        )
    return {
        "format": "dpassay-verdicts",
        "version": 1,
        "dpassay": "0.1.0",
        "created": "2025-01-31T14:05:12+00:00",
        "data": {
            "name": "movielens-100k",
            "fingerprint": "9f2c61d0a4b7",
            "users": 943,
            "items": 1682,
            "ratings": 100000,
        },
        "quick": False,
        "seed": 0,
        "command": "dpassay verify --paper ppns --data ml-100k --seed 0 --json verdicts.json --html report.html "
        "--certificates certificates",
        "seconds": 512.4,
        "papers": {"ppns": "An Accuracy-Assured Privacy-Preserving Recommender System for Internet Commerce"},
        "notation": {"ppns": [["s_k, |S|", "a similarity, a size"], ["beta", "partitions"]]},
        "claims": {
            claim.id: {
                "id": claim.id,
                "paper": claim.paper,
                "place": claim.place,
                "statement": claim.statement,
                "formula": claim.formula,
                "assumptions": list(claim.assumptions),
                "predicate": claim.predicate,
                "data": claim.data,
                "decide": claim.decide,
                "source": claim.source,
            }
            for claim in claims
        },
        "verdicts": verdicts,
    }


def _parameters(**own: Any) -> dict[str, Any]:
    common = {"num_neighbors": 2, "target": 0, "similarity": "cosine", "ties": "index", "no_overlap": "zero"}
    return {**common, "epsilon": 1.0, "weight": "exponential", "sensitivity": "local", **own}


def _unbounded(claim: Claim, position: int) -> Verdict:
    before = np.array([[5, 3, MISSING, 1], [4, 2, 5, MISSING], [5, MISSING, 4, 1], [1, 5, 2, 4], [MISSING, 3, 3, 2.5]])
    after = before.copy()
    after[2, 2] = MISSING
    witness = Witness(
        mechanism={"id": "ppns", "variant": "paper", "parameters": _parameters(probability=0.5, rule="algorithm")},
        relation=ADD_RATING,
        dataset1=before,
        dataset2=after,
        event=([1, 3],),
        log_probability1=math.log(0.2871),
        log_probability2=-math.inf,
        claim=PrivacyClaim(1.0, relation=ADD_RATING),
        notes=(
            "Shrunk: no dataset with fewer users or items, and none with smaller ratings, shows an unbounded loss.",
        ),
    )
    return Verdict(
        claim.id,
        "refuted",
        "Exactly ceil(pk) members come from the top partition. When one rating moves a user across the border of two "
        "partitions, whole sets of neighbors go from possible to impossible. That each user's own chance is never zero "
        "(PP-MARG) does not help: privacy is about the released set. PP-DP-REP has a mechanism that keeps it.",
        evidence=(
            Evidence(
                "witness",
                "One pair of neighboring datasets and one set of neighbors, both probabilities in exact arithmetic.",
                certificate={"kind": "witness", "inputs": {}},
            ),
            Evidence(
                "certificate",
                "The same holds for every epsilon tried; the largest divergence grows with the number of users.",
                certificate={"kind": "law", "inputs": {}},
                tables=(
                    Table(
                        "Largest hockey-stick divergence at e^epsilon, by epsilon and number of users",
                        ["epsilon", "5 users", "6 users", "7 users", "event"],
                        [[e, 0.5 / e, 0.52 / e, 0.55 / e, "user 1 and user 3"] for e in (0.5, 1, 2, 4, 8)],
                    ),
                ),
            ),
        ),
        epsilon_lower=math.inf,
        epsilon_claimed=1.0,
        witness=witness,
        repair="PP-DP-REP: Laplace noise on floor-norm cosine similarities; costs 0.04 in mean absolute error",
    )


def _finite(claim: Claim, position: int) -> Verdict:
    before = np.array([[5, 1, 3], [5, 2, MISSING], [1, 4, 2], [3, 3, 3]])
    after = before.copy()
    after[1, 1] = 5
    witness = Witness(
        mechanism={"id": "npns", "variant": "paper", "parameters": _parameters(target=2, num_neighbors=1)},
        relation=REPLACE_RATING,
        dataset1=before,
        dataset2=after,
        event=([0], [3]),
        log_probability1=math.log(0.9),
        log_probability2=math.log(3e-7),
        claim=PrivacyClaim(0.5, 1e-5, REPLACE_RATING),
    )
    return Verdict(
        claim.id,
        "refuted",
        "The sensitivity is computed from the data, so it changes together with the ratings it is meant to protect.",
        evidence=(Evidence("witness", "Found by search over small datasets, then certified.", certificate={}),),
        epsilon_lower=witness.epsilon,
        epsilon_claimed=0.5,
        witness=witness,
    )


def _whole_user(claim: Claim, position: int) -> Verdict:
    before = np.array([[5, 3, 1], [4, 2, 5], [2, MISSING, 4]])
    after = before.copy()
    after[1] = MISSING
    witness = Witness({}, ADD_USER, before, after, ("yes",), 0.0, -math.inf, PrivacyClaim(math.inf, relation=ADD_USER))
    return Verdict(
        claim.id,
        "holds",
        "The sentence says that the scheme breaks privacy, and it does: a set of neighbors becomes impossible.",
        evidence=(Evidence("witness", "A whole user disappears.", certificate={}), Evidence("proof", "For all k.", {})),
        epsilon_lower=math.inf,
        epsilon_claimed=math.inf,
        witness=witness,
    )


def _audited(claim: Claim, position: int) -> Verdict:
    return Verdict(
        claim.id,
        "not refuted",
        "An audit with 2,000,000 runs found no event above the bound; it would have found a loss of 1.2 nats "
        "with probability 0.99.",
        evidence=(
            Evidence(
                "statistics",
                "Clopper-Pearson bounds on one event chosen on separate runs; 12 looks, each at a share of the error.",
                tables=(
                    Table(
                        "Counts",
                        ["dataset", "runs", "event seen", "look", "adjusted?"],
                        [[name, 2_000_000, n, 12, True] for name, n in (("first", 41_232), ("second", 38_101))],
                    ),
                ),
            ),
        ),
        epsilon_lower=0.06,
        epsilon_claimed=1.0,
        confidence=0.999999,
        arithmetic="executed",
    )


def _reproduced(claim: Claim, position: int) -> Verdict:
    p = [round(0.1 * step, 1) for step in range(1, 10)]
    methods = {"kNN": 0.669, "PPNS": 0.71, "nPNS": 0.765, "PNCF": 0.767}
    series: list[Series] = []
    for name, level in methods.items():
        y = [level - (0.04 * x if name == "PPNS" else 0.0) + 0.002 * math.sin(20 * x + len(name)) for x in p]
        series.append(Series(name, p, y, low=[v - 0.006 for v in y], high=[v + 0.006 for v in y]))
    rows = [
        [
            method.label,
            x,
            f"{y:.4f}",
            round(y + 0.011, 4),
            f"{y - 0.006:.4f} to {y + 0.006:.4f}",
            "no" if x < 0.4 else "yes",
        ]
        for method in series
        for x, y in zip(method.x, method.y, strict=True)
    ]
    seeds = [float(step) for step in range(40)]
    wave = [1 + math.sin(seed / 6) / 9 for seed in seeds]
    return Verdict(
        claim.id,
        "refuted",
        "Under none of the six readings of the protocol does every printed number fall inside its interval. The order "
        "of the methods is reproduced under four of them. See PP-F1 for the ordering.",
        evidence=(
            Evidence(
                "reproduction",
                "Printed numbers beside ours: 10,000 trials, 20 seeds, 99% intervals.",
                certificate={"kind": "reproduction", "inputs": {}},
                tables=(
                    Table(
                        "Mean absolute error, leave-one-out reading",
                        ["method", "p", "printed", "ours", "99% interval", "inside"],
                        rows,
                    ),
                ),
                plots=(
                    Plot(
                        "Mean absolute error against p", "partition parameter p", "mean absolute error (stars)", series
                    ),
                    Plot(
                        "beta against trial, with its 99% band",
                        "seed",
                        "beta (partitions)",
                        [
                            Series("PPNS", seeds, wave, low=[v - 0.1 for v in wave], high=[v + 0.1 for v in wave]),
                            Series("limit", [0, 39], [1.05, 1.05]),
                        ],
                    ),
                ),
            ),
        ),
        confidence=0.99,
        dataset="movielens-100k",
    )


def _proved(claim: Claim, position: int) -> Verdict:
    return Verdict(
        claim.id,
        "holds",
        "Proved, whatever k and n are. The printed proof takes a sum over k terms where it needs n; the conclusion is "
        "right all the same.",
        evidence=(
            Evidence(
                "proof",
                "Five steps, each found unsatisfiable when negated by both solvers.",
                certificate={"kind": "proof", "inputs": {}},
                tables=(
                    Table(
                        "Steps",
                        ["step", "statement", "checked by"],
                        [
                            ["cauchy", "if |a| > 0 and |b| > 0, then <a, b>^2 <= |a|^2 |b|^2", "z3, cvc5"],
                            ["floor", "if c > 0, then <a, b> / (max(|a|, c) max(|b|, c)) <= 1", "z3, cvc5"],
                        ],
                    ),
                ),
            ),
            Evidence("certificate", "Evaluated at 40 points in interval arithmetic."),
        ),
    )


def _vacuous(claim: Claim, position: int) -> Verdict:
    return Verdict(
        claim.id,
        "vacuous",
        "The beta of (20) exceeds the number of partitions for every p in the allowed range, so it is never met.",
        evidence=(
            Evidence(
                "certificate",
                "beta by rule and number of partitions.",
                plots=(
                    Plot(
                        "beta by rule",
                        "rule",
                        "beta",
                        [
                            Series("printed", ["formula", "algorithm", "original"], [26, 15, None]),
                            Series("possible", ["formula", "algorithm", "original"], [19, 19, "inf"]),
                        ],
                    ),
                ),
            ),
        ),
    )


def _undecided(claim: Claim, position: int) -> Verdict:
    return Verdict(
        claim.id,
        "open",
        "Tried: both solvers for 60 s each on four formulations, and 10^6 random instances without a counterexample.",
    )


def _plain(claim: Claim, position: int) -> Verdict:
    if claim.data and position % 2:
        return Verdict(
            claim.id, "open", f"needs {claim.data}: give its folder with --data; never judged on other ratings"
        )
    outcome: Any = ("holds", "refuted", "holds")[position % 3]
    kind: Any = ("certificate", "proof")[position % 2]
    return Verdict(
        claim.id,
        outcome,
        "Invented for the layout: decided on a finite instance with exact rationals, and in general where a proof was "
        "found.",
        evidence=(Evidence(kind, "Invented for the layout.", certificate={}),),
        dataset=claim.data,
    )


SPECIAL: dict[str, Callable[[Claim, int], Verdict]] = {
    "PP-DP": _unbounded,
    "PP-EM": _finite,
    "PP-PNCF-NOT": _whole_user,
    "PP-DP-REP": _audited,
    "PP-TAB1": _reproduced,
    "PP-L1": _proved,
    "PP-20": _vacuous,
    "PP-BEST": _undecided,
}
