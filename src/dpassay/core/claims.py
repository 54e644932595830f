"""A paper's claim, the verdict on it, and the evidence behind the verdict: pure values, JSON in and out."""

import hashlib
import importlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from dpassay.core.privacy import Witness, json_number
from dpassay.core.records import Plot, Table, plain
from dpassay.core.text import finding, first_sentence, labeled, listed, nats, under

if TYPE_CHECKING:
    from dpassay.data.ratings import Ratings

_SHOWN = 3  # pieces of evidence that a printed verdict names

Outcome = Literal["holds", "refuted", "vacuous", "not refuted", "open"]
EvidenceKind = Literal["proof", "certificate", "witness", "statistics", "reproduction"]
Arithmetic = Literal["ideal", "executed"]
Level = Literal["kernel", "whole", "steps"]
Source = Literal["paper", "ours"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
LEVELS: Mapping[Level, str] = {
    "kernel": "a proof assistant's kernel checks the whole statement",
    "whole": "the statement is decided as it stands, exactly or by both solvers",
    "steps": "the steps are checked; the argument that joins them is text",
}
"""How far the machine goes in what a verdict rests on."""
SOURCES: Mapping[Source, str] = {
    "paper": "a sentence of the paper, or what its proofs and definitions imply",
    "ours": "no paper makes it: a repair, executed or released code, a sharper bound, a conjecture",
}
"""Whose sentence a claim is."""


def level_in_words(level: Level | None, rests_on: Sequence[Mapping[str, Any]]) -> list[str]:
    """The level's meaning, which says first what is cited; then each cited theorem, and what checks its hypotheses."""
    if level is None:
        return []
    names = listed(f"{theorem['name']} ({theorem['source']})" for theorem in rests_on) if rests_on else ""
    first = f"the hard step is {names}, cited, not checked here; " if names else ""
    told = [f"{first}{LEVELS[level]}"]
    for theorem in rests_on:
        needed = "; ".join(f"{each} ({where})" for each, where in theorem["hypotheses"].items())
        told.append(f"{theorem['name']}: {theorem['statement']} It needs that {needed}.")
    return told


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence.

    Attributes:
        kind: what it carries: a proof (its level says how much is checked), a certificate on a finite instance, a
            witness, statistics, or a reproduction of published numbers.
        summary: one or two sentences for a reader who has not seen the paper.
        certificate: the body that `replay` re-checks (see `certificate.py`), without which nothing is replayable.
        tables, plots: what a reader is shown beside the summary.
    """

    kind: EvidenceKind
    summary: str
    certificate: Mapping[str, Any] | None = field(default=None, repr=False)
    tables: tuple[Table, ...] = field(default=(), repr=False)
    plots: tuple[Plot, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """The record without the certificate, which is a file of its own."""
        return {"kind": self.kind, "summary": self.summary, "tables": plain(self.tables), "plots": plain(self.plots)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Evidence":
        """The record that `to_json` wrote, without its certificate."""
        tables = tuple(Table(**table) for table in content["tables"])
        plots = tuple(Plot.from_json(plot) for plot in content["plots"])
        return cls(content["kind"], content["summary"], None, tables, plots)


@dataclass(frozen=True)
class Verdict:
    """What was decided about one claim, and why. Printed, it is a few lines: tables and plots are left to the reports.

    Attributes:
        outcome: `holds`, `refuted`, `vacuous`, `not refuted` or `open`.
        explanation: the verdict in plain words; for `open`, what was tried.
        dataset: the ratings it was judged on, "" when none were needed.
        epsilon_lower: largest privacy loss shown, nats (infinity allowed); None unless audited or exact.
        epsilon_claimed: what the claim allows, nats.
        epsilon_upper: smallest privacy loss proved, nats; None unless accounting was checked.
        confidence: 1 - failure probability; None unless statistical.
        arithmetic: `ideal` (exact real arithmetic) or `executed` (the floating-point code).
        repair: the nearest mechanism or constant for which the claim is true.
        level: how far the machine goes, see `LEVELS`; None where nothing is proved (statistics, reproductions, open).
        rechecked: whether the kernel checked the theorem on this machine, in this run.
        misprint: what is misprinted in the claim, where that alone makes it false; "" elsewhere.
        rests_on: the published theorems that a proof of level `steps` rests on, which are cited and not checked:
            "name", "source", "statement", and "hypotheses", each with the step that checks it.
        warnings: of an audit, what a reader should know of the sampler; of a proof, what contradicts it.
        epsilon_inferred: of `dp.prove` with `infer`, the smallest bound that it proved, an expression; "" elsewhere.
    """

    id: str
    outcome: Outcome
    explanation: str = field(repr=False)
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    dataset: str = field(default="", repr=False)
    epsilon_lower: float | None = None
    epsilon_claimed: float | None = None
    confidence: float | None = None
    witness: Witness | None = field(default=None, repr=False)
    assumptions: tuple[str, ...] = field(default=(), repr=False)
    arithmetic: Arithmetic = "ideal"
    repair: str = field(default="", repr=False)
    level: Level | None = None
    rechecked: bool = False
    misprint: str = field(default="", repr=False)
    rests_on: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)
    epsilon_inferred: str = field(default="", repr=False)
    epsilon_upper: float | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"{self.id}: {self.outcome!r} is not an outcome")
        if self.outcome not in ("open", "not refuted") and not self.evidence:
            raise ValueError(f"{self.id}: the outcome {self.outcome!r} needs evidence")

    def __str__(self) -> str:
        pieces = [f"{record.kind}: {first_sentence(record.summary)}" for record in self.evidence]
        more = [f"and {len(pieces) - _SHOWN} more"] if len(pieces) > _SHOWN else []
        said = level_in_words(self.level, self.rests_on)
        executed = "the floating-point program as it runs" if self.arithmetic == "executed" else ""
        rows = [
            *under("loss", [self._loss()]),
            *under("why", [self.explanation]),
            *under("misprint", [self.misprint]),
            *under("smallest", [self.epsilon_inferred]),
            *under("level", [f"{self.level}: {first}" for first in said[:1]] + said[1:]),
            *under("evidence", [*pieces[:_SHOWN], *more]),
            *under("judged on", [self.dataset]),
            *under("about", [executed]),
            *under("assuming", self.assumptions),
            *under("warning", self.warnings),
            *under("repair", [self.repair]),
        ]
        witness = [] if self.witness is None else [str(self.witness)]
        return "\n\n".join([labeled(f"{self.id}: {finding(self.outcome, self.misprint)}", rows), *witness])

    def _loss(self) -> str:
        """The privacy losses in words, nats."""
        shown, claimed = self.epsilon_lower, self.epsilon_claimed
        least = "" if shown == math.inf else "at least "
        words = [] if shown is None else [f"{least}{nats(shown)} nats shown"]
        words += [] if self.epsilon_upper is None else [f"at most {nats(self.epsilon_upper)} nats proved"]
        words += [] if claimed is None else [f"at most {nats(claimed)} claimed"]
        words += [f"confidence {self.confidence:.6g}"] if words and self.confidence is not None else []
        return ", ".join(words)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping, described by `verdicts.schema.json`."""
        return {
            "id": self.id,
            "outcome": self.outcome,
            "explanation": self.explanation,
            "evidence": [record.to_json() for record in self.evidence],
            "dataset": self.dataset,
            "epsilon_lower": None if self.epsilon_lower is None else json_number(self.epsilon_lower),
            "epsilon_claimed": None if self.epsilon_claimed is None else json_number(self.epsilon_claimed),
            **({} if self.epsilon_upper is None else {"epsilon_upper": json_number(self.epsilon_upper)}),
            "confidence": self.confidence,
            "witness": None if self.witness is None else self.witness.to_json(),
            "assumptions": list(self.assumptions),
            "arithmetic": self.arithmetic,
            "repair": self.repair,
            "level": self.level,
            "rechecked": self.rechecked,
            "misprint": self.misprint,
            "rests_on": [dict(theorem) for theorem in self.rests_on],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Verdict":
        """The verdict that `to_json` wrote, its evidence without certificates."""
        read = {
            "evidence": tuple(Evidence.from_json(record) for record in content["evidence"]),
            "epsilon_lower": _number(content["epsilon_lower"]),
            "epsilon_claimed": _number(content["epsilon_claimed"]),
            "epsilon_upper": _number(content.get("epsilon_upper")),
            "witness": None if content["witness"] is None else Witness.from_json(content["witness"]),
            "assumptions": tuple(content["assumptions"]),
            "rests_on": tuple(content["rests_on"]),
        }
        return cls(**{**content, **read})


def _number(value: float | str | None) -> float | None:
    return float(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class Context:
    """What a claim may be judged with.

    Attributes:
        data: the ratings given by the user, or the synthetic default.
        quick: judge with less work where that does not weaken the verdict (fewer seeds, smaller searches).
        seed: of everything random.
        progress: called with a short text when a long step advances.
    """

    data: "Ratings"
    quick: bool = False
    seed: int = 0
    progress: Callable[[str], None] = field(default=lambda _: None, repr=False)


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper, made decidable.

    Attributes:
        place: where the paper says it.
        statement: in plain words.
        formula: in our notation; `dpassay.report.mathml` typesets it.
        predicate: for reproductions and vague wordings, the rule fixed beforehand by which it is judged.
        data: the dataset the claim is about; "" when it is about none.
        about: the mechanisms that a witness may speak of, "id" or "id/value" with the variant or the value of one
            parameter; a certificate about any other does not check.
        allows: the epsilon the claim allows, as a multiple of the mechanism's parameter epsilon; a witness must claim
            to exceed at least that.
        source: whose sentence it is, see `SOURCES`.
        misprint: what is misprinted, and what is meant; the sentence as meant is true or is judged by itself, so that
            refuting the printed one says nothing against the mathematics.
        decide: "module:function", imported only when the claim is judged; called with (claim, context).
    """

    id: str
    paper: str
    place: str
    statement: str
    formula: str
    decide: str
    assumptions: tuple[str, ...] = ()
    predicate: str = ""
    data: str = ""
    about: tuple[str, ...] = ()
    allows: str = "1"
    source: Source = "paper"
    misprint: str = ""

    def digest(self) -> str:
        """Of all that the claim says, to notice that it says something else than when its evidence was reviewed."""
        said = (self.statement, self.formula, self.assumptions, self.predicate, self.data, self.about, self.allows)
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    def judge(self, context: Context) -> Verdict:
        """Decides the claim; without the dataset it is about, the verdict is `open`."""
        if self.data and context.data.name != self.data:
            return Verdict(
                self.id,
                "open",
                f"needs {self.data}: give its folder with --data; this claim is never judged on other ratings",
                assumptions=self.assumptions,
            )
        module, _, function = self.decide.partition(":")
        verdict: Verdict = getattr(importlib.import_module(module), function)(self, context)
        if verdict.id != self.id:
            raise ValueError(f"{self.decide} judged {verdict.id}, not {self.id}")
        return replace(
            verdict,
            dataset=verdict.dataset or self.data,
            misprint=self.misprint if verdict.outcome in ("refuted", "vacuous") else "",
            assumptions=tuple(dict.fromkeys((*self.assumptions, *verdict.assumptions))),
        )


def claims_of(paper: str) -> Callable[..., Claim]:
    """`Claim` for one paper; its deciders are named from the paper's proofs, as in "kernels:decide_normalization"."""

    def claim(*, decide: str, **said: Any) -> Claim:
        return Claim(paper=paper, decide=f"dpassay.proofs.{paper.replace('-', '_')}.{decide}", **said)

    return claim
