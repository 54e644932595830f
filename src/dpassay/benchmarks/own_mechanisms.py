"""Every registered mechanism audited as a black box, beside what is known of it exactly and what `verify` decided.

The audit sees samples only, never a law. A row is one mechanism with a claim about it on one pair of datasets: the
witness where the claim is refuted, a worst or a typical pair where it holds. The true epsilon of the pair comes from
the enumerated laws, from a closed form, or, as an upper bound, from a proof. The audits of a table share one
probability of a false alarm: a sound claim refuted, or a lower bound above the true value.

The rows are in `dpassay.benchmarks.own_pairs`.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpassay.benchmarks.own_pairs import SUBJECTS, Subject
from dpassay.core.records import Table

FAILURE_PROBABILITY = 0.01
"""Of a false refutation, or of a bound above the truth, in any row of a table."""

QUICK = ("npns", "ppns", "dpp", "randomized_response", "modified_laplace", "jlt")

SEARCHED = (4, 2)  # users and items of the datasets searched
SEARCH_SECONDS = 20.0
CHUNK = 1 << 10  # samples that a mechanism draws at a time


@dataclass(frozen=True)
class Result:
    """One audited row.

    Attributes:
        bound: the audited lower bound of epsilon, nats.
        truth: the true epsilon of the pair, or an upper bound of it.
        known_by: how the true value is known.
        refuted: whether the audit refuted the claim.
        verify: what `verify` decided; empty where there is no claim to decide.
        samples: per dataset.
        seconds: of the audit, compilation included.
        rarest_event: the smallest probability of an event, impossible on the other dataset, that would have been caught
            with probability 0.9; None when there is none.
    """

    subject: Subject
    bound: float
    truth: float
    known_by: str
    refuted: bool
    verify: str
    samples: int
    seconds: float
    rarest_event: float | None

    @property
    def agreement(self) -> str:
        """Whether audit, true value and `verify` fit together: "yes", or what is wrong, or why samples cannot tell."""
        subject, broken = self.subject, self.truth > self.subject.audited_claim.epsilon
        if self.bound > self.truth:
            return "NO: the bound exceeds the true value"
        if self.verify and broken != ((self.verify == "refuted") != subject.breaks):
            return "NO: verify and the true value disagree"
        if self.refuted and not broken:
            return "NO: false alarm"
        if self.refuted or not broken:
            return "yes"
        if subject.beyond:
            rarest = self.rarest_event
            seen = "no event shows that much" if rarest is None else f"the rarest that would be caught has {rarest:.1g}"
            return f"yes: beyond samples, {subject.beyond}; with so many samples {seen}"
        return "NO: not refuted"


def tables(quick: bool, seed: int, progress: Callable[[str], None] = lambda _: None) -> list[Table]:
    """Tables {"title", "columns", "rows"}: mechanisms by their values, programs by their bits, a pair searched for.

    Quick: a few rows only, with fewer samples, and no search.
    """
    values = [subject for subject in SUBJECTS if subject.representation == "values"]
    bits = [subject for subject in SUBJECTS if subject.representation == "bits"]
    if quick:
        values, bits = [subject for subject in values if subject.name in QUICK], bits[:1]
    share = FAILURE_PROBABILITY / (len(values) + len(bits) + 1)
    titles = (
        f"Black-box audits of the mechanisms, all tables together with at most {FAILURE_PROBABILITY:g} for a false "
        "alarm; 'none' claims nothing and is audited against epsilon = 1",
        "Black-box audits of the programs that run, by the bits of their outputs",
    )

    def audited(subject: Subject) -> Result:
        progress(subject.name)
        size = min(subject.num_samples, 50_000) if quick else None
        return audit_subject(subject, failure_probability=share, num_samples=size, seed=seed)

    groups = zip(titles, (values, bits), strict=True)
    found = [Table.of(title, CELLS, list(map(audited, group))) for title, group in groups]
    return found if quick else [*found, _searched(share, seed, progress)]


def audit_subject(
    subject: Subject, *, failure_probability: float = FAILURE_PROBABILITY, num_samples: int | None = None, seed: int = 0
) -> Result:
    """Audits one row and compares.

    The failure probability is that of this row; it has its own number of samples unless another is given.
    """
    from dpassay.auditors.audit import run_audit

    size = subject.num_samples if num_samples is None else num_samples
    begin = time.perf_counter()
    datasets = subject.datasets()
    audit = run_audit(
        _black_box(subject.build(), datasets[0]),
        *datasets,
        claim=subject.audited_claim,
        failure_probability=failure_probability,
        num_samples=size,
        representation=subject.representation,
        seed=seed,
        name=subject.name,
    )
    seconds = time.perf_counter() - begin
    truth, known_by = subject.truth(subject)
    return Result(
        subject,
        audit.epsilon_lower or 0.0,
        truth,
        known_by,
        audit.verdict.outcome == "refuted",
        _decided(subject.decided),
        size,
        seconds,
        audit.detectable.get("rarest_event"),
    )


def _searched(share: float, seed: int, progress: Callable[[str], None]) -> Table:
    """A pair for PPNS that nobody gave: neighbor search on samples, and the exact loss of what it found."""
    from dpassay.auditors.exact import exact
    from dpassay.auditors.neighbor_search import search_black_box
    from dpassay.mechanisms import mechanism

    progress("searching a pair for ppns")
    ppns, begin = mechanism("ppns"), time.perf_counter()
    found = search_black_box(
        _black_box(ppns, np.full(SEARCHED, np.nan)),
        str(ppns.claim.relation),
        claim=ppns.claim,
        num_users=SEARCHED[0],
        num_items=SEARCHED[1],
        failure_probability=share,
        time_limit=SEARCH_SECONDS,
        seed=seed,
    )
    seconds = round(time.perf_counter() - begin, 1)
    row = ["ppns", ppns.claim.epsilon, f"{SEARCHED[0]} users, {SEARCHED[1]} items", seconds]
    if found is None:
        row += ["none found", "", "", ""]
    else:
        true = exact(ppns, found.dataset1, found.dataset2).epsilon
        user, item = found.changed[0]
        row += [
            f"user {user}'s rating of item {item}; {int((~np.isnan(found.dataset1)).sum())} ratings in dataset 1",
            round(found.epsilon, 4),
            "infinite" if math.isinf(true) else round(true, 4),
            "yes" if found.epsilon <= true > ppns.claim.epsilon else "NO: the bound exceeds the true value",
        ]
    return Table(
        f"A pair found by black-box search in at most {SEARCH_SECONDS:g} s",
        ["mechanism", "claimed epsilon", "searched", "seconds", "pair", "bound", "true epsilon", "agreement"],
        [row],
    )


def _verified(result: Result) -> str:
    subject = result.subject
    verify = f"{subject.decided}: {result.verify}" if subject.decided else ""
    return verify + (" (it breaks)" if subject.breaks else "")


CELLS: dict[str, Callable[[Result], Any]] = {
    "mechanism": lambda result: result.subject.name,
    "pair": lambda result: result.subject.pair,
    "claimed epsilon": lambda result: (
        "none" if result.subject.claims_nothing else round(result.subject.audited_claim.epsilon, 4)
    ),
    "delta": lambda result: float(f"{result.subject.audited_claim.delta:.2g}"),
    "samples": lambda result: result.samples,
    "seconds": lambda result: round(result.seconds, 1),
    "audited bound": lambda result: round(result.bound, 4),
    "true epsilon": lambda result: "infinite" if math.isinf(result.truth) else round(result.truth, 4),
    "known by": lambda result: result.known_by,
    "audit": lambda result: "refuted" if result.refuted else "not refuted",
    "verify": _verified,
    "agreement": lambda result: result.agreement,
}
"""What a table shows of a row, by column."""


def _decided(id: str) -> str:
    from dpassay.core.registry import expected_outcomes

    return next(iter(expected_outcomes()[id].values())) if id else ""


def _black_box(mechanism: Any, dataset: Any) -> Any:
    """The mechanism as a function that returns samples: the audit has no law and no program to look at.

    Compiled for datasets of one shape before it is handed over, so that no call of it is slow.
    """
    import jax

    from dpassay.core.protocol import from_callable

    def batch(words: Any, data: Any) -> Any:
        return jax.vmap(mechanism.sample, (0, None))(jax.random.wrap_key_data(words, impl="threefry2x32"), data)

    with jax.enable_x64(True):
        compiled = jax.jit(batch).lower(np.zeros((CHUNK, 2), np.uint32), dataset).compile()

    def draw(generator: np.random.Generator, dataset: Any, number: int) -> Any:
        parts = []
        with jax.enable_x64(True):
            for _start in range(0, number, CHUNK):
                parts.append(np.asarray(compiled(generator.integers(0, 1 << 32, (CHUNK, 2), np.uint32), dataset)))
        return np.concatenate(parts)[:number]

    return from_callable(draw, batched=True)
