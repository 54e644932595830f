"""What a run that refuted nothing would have caught: of the procedure as it ran, and only of what its columns tell.

Nothing is known beforehand: a rare leak must show often enough to be suggested before it is tested, and what is left of
the evidence must carry it to the threshold. Both happen with `EACH`, so together with probability 0.9 at least.
`dpassay bench planted` plants such leaks and counts (docs/benchmarks/index.md).
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special, stats

from dpassay.auditors.fixed_sample import detectable_epsilon, rarest_event
from dpassay.core.privacy import PrivacyClaim

if TYPE_CHECKING:
    from dpassay.auditors.audit import Result

POWER = 0.9
EACH = 0.95  # of being found, and of being tested with success
_PARTS = 8  # of an epoch, after which bets are thought to be placed again
_GRID = np.geomspace(1e-9, 0.5, 400)


def detectable(result: "Result", claim: PrivacyClaim) -> dict[str, float | None]:
    """The smallest epsilon, nats, and the rarest event that would have been caught with probability 0.9.

    The first is of an event as frequent as the one tested, for claims of epsilon and delta only. The second is the
    probability of an output beyond all others, or of a kind of its own, that only one of the datasets can give.
    """
    nothing: dict[str, float | None] = {"probability": POWER, "smallest_epsilon": None, "rarest_event": None}
    if not result.tested or not result.could_refute:
        return nothing
    item = result.tested[0]
    counts, (epsilon, delta) = item.counts, item.event.point
    other = (counts.successes2 + 0.5) / (counts.trials2 + 1)
    # As if half of the samples tested: the others choose an event, which is not the best.
    trials, share = result.samples["test"] // 2, result.share
    if result.mode == "anytime":
        share *= item.weight / len(result.run.pictured)
    smallest = None
    if claim.kind == "dp" and trials:
        smallest = detectable_epsilon(
            trials, trials, other, epsilon=epsilon, delta=delta, failure_probability=share, power=EACH
        )
    rarest = _by_test(result) if result.mode == "fixed" else _by_bets(result)
    return {**nothing, "smallest_epsilon": smallest, "rarest_event": rarest}


def _by_test(result: "Result") -> float | None:
    from dpassay.auditors.events import FEW, promised
    from dpassay.auditors.rare_events import TRIED

    item, samples = result.tested[0], result.samples
    tried = TRIED * result.run.pictured[item.pair][0].shape[1]
    (epsilon, delta), trials = item.event.point, samples["test"]
    tested = rarest_event(trials, trials, epsilon=epsilon, delta=delta, failure_probability=result.share, power=EACH)
    seen = samples["selection"] or samples["training"]
    if tested is None or 2 * seen < FEW:
        return None

    def suggested(hits: int) -> bool:
        counts = (hits, seen, 0, seen)
        return promised(counts, (epsilon, delta), trials, result.share, tried) > item.event.predicted

    if not suggested(seen):
        return None
    low, high = 0, seen
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suggested(middle) else (middle, high)
    return max(tested, float(special.betaincinv(high, seen - high + 1, EACH)))


def _by_bets(result: "Result") -> float | None:
    """The smallest probability that an epoch begins with suggesting, and whose account then reaches the threshold."""
    from dpassay.auditors.anytime import STAKED
    from dpassay.auditors.betting import EProcess
    from dpassay.auditors.events import FEW

    run: Any = result.run
    item = result.tested[0]
    epsilon, delta = item.event.point
    others = run.growth[-1][1] - run.log_e[run.at_claim] if result.ledger else 0.0
    needed = math.log(len(run.pictured) / result.share) - others
    strength, (stake, *_) = STAKED[0]
    seen, caught = run.first, np.zeros(len(_GRID), bool)
    for wager in run.wagers:
        if wager.pair != item.pair:
            continue
        start, trials = seen, wager.trials
        seen += trials
        if trials < _PARTS or 2 * start < FEW:
            continue
        hits = stats.poisson.ppf(1 - EACH, _GRID * start)
        process = EProcess(
            np.full((len(_GRID), 1), epsilon),
            delta,
            np.full(len(_GRID), 1 / len(_GRID)),
            prior=(hits, start, 0.0, start),
            claim_index=0,
        )
        more = stats.poisson.ppf(1 - EACH, _GRID * trials)
        for _ in range(_PARTS):
            process.update(np.minimum(more, trials) / _PARTS, trials // _PARTS, np.zeros(len(_GRID)), trials // _PARTS)
        evidence = process.log_e_events[:, 0] + wager.purse + math.log(stake)
        enough = (hits - delta * start) * math.log1p(math.exp(-epsilon)) >= strength
        caught |= enough & (evidence >= needed)
    holds = np.flip(np.logical_and.accumulate(np.flip(caught)))  # from which probability on all are caught
    return float(_GRID[int(np.argmax(holds))]) if holds.any() else None
