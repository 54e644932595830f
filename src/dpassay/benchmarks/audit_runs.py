"""What the benchmark of the auditor runs and keeps: one audit with a budget of samples; what the exact law says."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpassay.benchmarks.dp_sniper_suite import Pair, Row, row
from dpassay.benchmarks.exact_losses import best_bound, pair_law
from dpassay.benchmarks.pair_search import SEARCH_SHARE, search_pair
from dpassay.core.privacy import PrivacyClaim

if TYPE_CHECKING:
    from dpassay.auditors.audit import Audit
    from dpassay.auditors.events import Tested

CONFIDENCES = (0.9, 0.99)
NO_SEED = -1


@dataclass(frozen=True)
class Task:
    """One run of the audit.

    Attributes:
        name: of the row.
        pair: its place among the row's pairs; None searches for one within the budget.
        total: samples of both datasets and all phases.
        seed: of everything random; `NO_SEED` for what the exact law says.
    """

    name: str
    pair: int | None
    total: int
    seed: int

    @property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on beside the code, JSON-able."""
        entry = row(self.name)
        chosen = None if self.pair is None else repr(entry.pairs[self.pair])
        return {**asdict(self), "mechanism": repr(entry.mechanism), "given": chosen}


def audit_once(task: Task, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Runs one audit: bounds at both confidences, the event and its counts, seconds with compilation."""
    start = time.perf_counter()
    entry = row(task.name)
    if task.pair is None:
        pair, item, samples = _searched(entry, task.total, task.seed, progress)
    else:
        pair = entry.pairs[task.pair]
        audit = audited(entry, pair, task.total, task.seed)
        item, samples = audit.tested[0], audit.samples
    counts = item.counts
    return {
        "bounds": [item.epsilon_lower(1 - confidence) for confidence in CONFIDENCES],
        "scorer": item.event.scorer.name,
        "event": item.event.description,
        "counts": [counts.successes1, counts.trials1, counts.successes2, counts.trials2],
        "guesses": None if item.guesses is None else [list(level) for level in item.guesses.levels],
        "datasets": [str(pair.dataset1), str(pair.dataset2)],
        "samples": samples,
        "seconds": time.perf_counter() - start,
    }


def _searched(
    entry: Row, total: int, seed: int, progress: Callable[[str], None]
) -> tuple[Pair, "Tested", dict[str, int]]:
    """Searches for a pair and an event and tests that one event with the samples that are left."""
    from dpassay.auditors.one_shot import count

    budget = int(total * SEARCH_SHARE)
    found = search_pair(entry, budget, (total - budget) // 2, _claim(entry), 1 - CONFIDENCES[0], seed, progress)
    num_test = (total - found.spent) // 2
    item = count(found.sampler, found.event, num_test, found.rule)
    return found.pair, item, {"test": num_test, "pair search": found.spent // 2}


def audited(entry: Row, pair: Pair, total: int, seed: int) -> "Audit":
    """The audit of a row's mechanism on one of its pairs, with `total` samples of both datasets and all phases."""
    from dpassay.auditors.audit import run_audit

    return run_audit(
        entry.mechanism,
        *pair.arrays(),
        claim=_claim(entry),
        failure_probability=1 - CONFIDENCES[0],
        num_samples=total // 2,
        seed=seed,
        name=entry.name,
    )


def _claim(entry: Row) -> PrivacyClaim:
    return PrivacyClaim(min(entry.mechanism.epsilon_true, 1.0))


def exact(entry: Row, pair: Pair, total: int) -> dict[str, Any]:
    """What the exact law of a pair says: its epsilon, and the best bound to be expected of so many samples."""
    law = pair_law(entry.mechanism, *pair.arrays())
    return {"best": best_bound(law, total // 2, 1 - CONFIDENCES[0]).bound, "epsilon": law.epsilon, "law": law.method}
