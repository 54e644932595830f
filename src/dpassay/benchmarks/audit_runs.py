"""What the benchmark of the auditor runs and keeps: one audit with a budget of samples; what the exact law says."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from dpassay.benchmarks.dp_sniper_suite import Pair, Row, row
from dpassay.benchmarks.exact_losses import best_bound, log_density, pair_law
from dpassay.benchmarks.pair_search import SEARCH_SHARE, search_pair
from dpassay.core.privacy import PrivacyClaim

if TYPE_CHECKING:
    from dpassay.auditors.audit import Audit
    from dpassay.auditors.events import Tested
    from dpassay.auditors.sampling import Sampler

CONFIDENCES = (0.9, 0.99)
NO_SEED = -1
FURTHER = 4_000_000  # outputs of either dataset by which the expected bound is found


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


class _Run(NamedTuple):
    """One test, what drew its samples, its pair, and how many samples each phase had."""

    item: "Tested"
    sampler: "Sampler"
    pair: Pair
    samples: dict[str, int]


def audit_once(task: Task, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Runs one audit: bounds at both confidences, the event and its counts, seconds with compilation.

    After it, not in these seconds, come further outputs, for the bound to be expected of what was chosen.
    """
    start = time.perf_counter()
    entry = row(task.name)
    if task.pair is None:
        run = _searched(entry, task.total, task.seed, progress)
    else:
        run = _fixed(entry, entry.pairs[task.pair], task.total, task.seed)
    item, _, pair, samples = run
    counts = item.counts
    bounds = [item.epsilon_lower(1 - confidence) for confidence in CONFIDENCES]
    seconds = time.perf_counter() - start
    return {
        "bounds": bounds,
        "expected": _expected(run, entry.mechanism),
        "scorer": item.event.scorer.name,
        "event": item.event.description,
        "counts": [counts.successes1, counts.trials1, counts.successes2, counts.trials2],
        "guesses": None if item.guesses is None else [list(level) for level in item.guesses.levels],
        "datasets": [str(pair.dataset1), str(pair.dataset2)],
        "samples": samples,
        "seconds": seconds,
    }


def _fixed(entry: Row, pair: Pair, total: int, seed: int) -> _Run:
    """What `audited` does, but for its reports."""
    from dpassay.auditors.one_shot import run_one_shot
    from dpassay.auditors.sampling import Sampler

    sampler = Sampler(entry.mechanism, *pair.arrays(), seed=seed)
    run = run_one_shot(
        [sampler], _claim(entry), failure_probability=1 - CONFIDENCES[0], num_samples=total // 2, seed=seed
    )
    counts = run.tested[0].counts
    test = (counts.trials1 + counts.trials2) // 2
    learning = {phase: sampler.drawn[phase][0] for phase in ("training", "selection")}
    return _Run(run.tested[0], sampler, pair, {**learning, "test": test, "total": total // 2})


def _expected(run: _Run, mechanism: Any) -> float:
    """The bound that the chosen event or rule is expected to give, by the exact law of further outputs, nats.

    A test's own bound is what was chosen, and luck: of rare events, much luck. Here an output of either dataset counts
    for both, by what it tells of them (Rao and Blackwell).
    """
    from dpassay.auditors.fixed_sample import predicted_lower
    from dpassay.auditors.guesses import levels_of, predicted
    from dpassay.auditors.learners import DRAWN_ROWS, parts_of
    from dpassay.auditors.scorers import compiled

    event, rule = run.item.event, run.item.rule
    cuts = np.array((event.cut,) if rule is None else rule.cuts, np.float32)
    rates = np.zeros((2, len(cuts) + 1))
    for size in parts_of(FURTHER, DRAWN_ROWS):
        for side in (0, 1):
            outputs, encoded = run.sampler.outputs(side, "test", size)
            scores = np.asarray(compiled(event.scorer, run.sampler.encoder.filled(encoded)))
            cells = np.searchsorted(cuts, scores, side="right")
            one, two = (log_density(mechanism, np.asarray(outputs), dataset) for dataset in run.pair.arrays())
            for dataset, share in enumerate((special.expit(one - two), special.expit(two - one))):
                rates[dataset] += np.bincount(cells, share, len(cuts) + 1) / FURTHER
    failure_probability, size = 1 - CONFIDENCES[0], run.samples["test"]
    if rule is not None:
        return predicted(levels_of(np.array(rule.weights), list(rates * size)), failure_probability)
    inside = rates[:, int(event.above)] * size
    likelier, other = inside[[event.direction, 1 - event.direction]]
    return float(predicted_lower(likelier, size, other, size, failure_probability=failure_probability))


def _searched(entry: Row, total: int, seed: int, progress: Callable[[str], None]) -> _Run:
    """Searches for a pair and an event and tests that one event with the samples that are left."""
    from dpassay.auditors.one_shot import count

    budget = int(total * SEARCH_SHARE)
    found = search_pair(entry, budget, (total - budget) // 2, _claim(entry), 1 - CONFIDENCES[0], seed, progress)
    num_test = (total - found.spent) // 2
    item = count(found.sampler, found.event, num_test, found.rule)
    return _Run(item, found.sampler, found.pair, {"test": num_test, "pair search": found.spent // 2})


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
