"""The anytime-valid procedure: bet on learned events batch by batch, and stop when the evidence suffices.

All that was seen so far, tested samples included, trains the events of the next epoch; only samples drawn after the
events and the bets were fixed count as evidence. So no sample is spent on training alone, and the capital of the bets
is a test supermartingale under the claim: by Ville's inequality it ever reaches 1/alpha with probability at most alpha,
however often one looks (docs/theorems/black-box-audits.md). Sources: Shafer and Vovk, Game-Theoretic Foundations for
Probability and Finance (2019); Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (2024).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from dpassay.auditors.betting import EProcess, evidence
from dpassay.auditors.events import FEW, PICTURED, Event, Tested, find_events, likelier_first, score
from dpassay.auditors.fixed_sample import Counts
from dpassay.auditors.sampling import Sampler
from dpassay.core.privacy import PrivacyClaim

FIRST = 32  # samples per dataset that set the first cuts; a claim of 1 at a truth of 2 falls within 300 in all
SMALL = 4096  # pools below it learn and select on the same samples, with cuts too simple to overfit
POOL = 400_000  # rows kept per dataset for learning; beyond it samples are only counted
LEARNED = 100_000  # of them at most, the rest choose the cuts
EVENTS = 18
EVENTS_OF_FEW = 8  # while so few samples hardly tell cuts apart that more would be as many bets on worse ones
PATIENCE = 60.0  # seconds left, from which on trees and networks are worth their training
GROWTH = 25  # the next batch is one part of as many of the samples seen: few are wasted once the evidence suffices
GROWTH_TRACED = 4  # where samples cost less than looks
SHARE_OF_TIME = 0.2  # of what is left, that one batch may take


@dataclass
class Wager:
    """One epoch of one pair: its events, and every batch, from which the capital can be recomputed.

    Attributes:
        process: the bets, with the capital of earlier epochs.
        counts: [successes (K,), successes (K,)] so far, of each event's likelier side first.
        trials: samples per dataset so far.
    """

    pair: int
    events: tuple[Event, ...]
    process: EProcess
    counts: list[np.ndarray]
    trials: int = 0


@dataclass(frozen=True)
class AnytimeRun:
    """What a run found.

    Attributes:
        log_e: shape (G,), natural logarithm of the e-value against every parameter of the grid, this run alone.
        looks: how often the evidence was looked at.
        growth: (samples per dataset, `betting.evidence`, all runs of the ledger included) after every look.
        wagers: every epoch, in order.
        drawn: samples per dataset and pair.
        first: of them, those that only trained the first events.
        stopped: "refuted", "time" or "samples".
        at_claim: place of the claim's own parameter on the grid.
        pictured: for each pair, feature vectors of both datasets.
    """

    log_e: np.ndarray
    looks: int
    growth: tuple[tuple[int, float], ...]
    wagers: tuple[Wager, ...]
    drawn: int
    first: int
    stopped: str
    at_claim: int
    pictured: tuple[list[np.ndarray], ...]

    def could_refute(self, log_threshold: float) -> bool:
        """Whether so many samples could have refuted anything: each can at most double the capital."""
        return sum(2 * wager.trials for wager in self.wagers) * np.log(2) >= log_threshold

    @property
    def tested(self) -> tuple[Tested, ...]:
        """The events of the last epoch of each pair, largest e-value at the claim first."""
        last = {wager.pair: wager for wager in self.wagers if wager.trials}
        found = [item for wager in last.values() for item in _tested(wager, self.at_claim)]
        return tuple(sorted(found, key=lambda item: -(item.log_e_value or 0.0)))


@dataclass
class _Pair:
    """One pair of datasets: its sampler, everything seen of it, and its current epoch."""

    index: int
    sampler: Sampler
    pools: list[np.ndarray]
    seen: int
    log_wealth: np.ndarray
    wager: Wager | None = None
    epoch_ends: int = 0
    seconds_per_look: float = 0.0


def run_anytime(
    samplers: Sequence[Sampler],
    claim: PrivacyClaim,
    grid: np.ndarray,
    nulls: tuple[np.ndarray, np.ndarray],
    *,
    log_threshold: float,
    deadline: float | None,
    num_samples: int | None,
    seed: int = 0,
    commit: Callable[[np.ndarray, int], np.ndarray] = lambda log_e, samples: log_e,
    progress: Callable[[str], None] = lambda _: None,
) -> AnytimeRun:
    """Bets against a claim until it is refuted, the deadline is near, or the samples are spent.

    Args:
        samplers: one for each pair of datasets; the failure probability is split evenly over them by weighting.
        claim: the null hypothesis.
        grid: shape (G,), the claim's parameter and smaller and larger ones, fixed by the claim alone.
        nulls: `claim.nulls(grid)`, which may take seconds.
        log_threshold: ln(1 / failure probability); refuted when `betting.evidence` reaches it.
        deadline: on the clock of `time.perf_counter`, seconds; None for no limit.
        num_samples: draws per dataset and pair, training included; None for no limit.
        seed: of what is learned.
        commit: called after every look with the run's log e-values and the samples drawn per dataset; gives the log
            e-values of all runs together (a ledger's), shape (G,).
        progress: called with a short text after every look.
    """
    at_claim = int(np.argmin(np.abs(grid - claim.parameter)))
    limit = num_samples or 2**62
    pairs = [_begin(index, sampler, grid, limit) for index, sampler in enumerate(samplers)]
    wagers: list[Wager] = []
    growth: list[tuple[int, float]] = []
    log_e = np.zeros_like(grid)
    stopped = "samples"
    while any(pair.seen < limit for pair in pairs):
        for pair in pairs:
            if pair.seen >= limit:
                continue
            if pair.wager is None or pair.seen >= pair.epoch_ends:
                pair.wager = _new_epoch(pair, nulls, at_claim, deadline, seed)
                wagers.append(pair.wager)
            _bet(pair, _batch(pair, limit, deadline))
        capital = [pair.log_wealth if pair.wager is None else pair.wager.process.log_e for pair in pairs]
        log_e = logsumexp(capital, axis=0) - np.log(len(pairs))
        seen = max(pair.seen for pair in pairs)
        growth.append((seen, evidence(commit(log_e, seen), at_claim)))
        progress(f"{seen:,} samples per dataset, evidence {growth[-1][1]:.1f} of {log_threshold:.1f} nats")
        if growth[-1][1] >= log_threshold:
            stopped = "refuted"
            break
        if deadline is not None and _near(deadline, pairs):
            stopped = "time"
            break
    drawn = max(pair.seen for pair in pairs)
    first = max(sum(sampler.drawn["training"]) for sampler in samplers) // 2
    pictured = tuple([pool[:PICTURED] for pool in pair.pools] for pair in pairs)
    return AnytimeRun(log_e, len(growth), tuple(growth), tuple(wagers), drawn, first, stopped, at_claim, pictured)


def _begin(index: int, sampler: Sampler, grid: np.ndarray, limit: int) -> _Pair:
    first = max(min(SMALL if sampler.traced else FIRST, limit // 4), 2)
    pools = [sampler.draw(side, "training", first) for side in (0, 1)]
    return _Pair(index, sampler, pools, first, np.zeros_like(grid))


def _new_epoch(
    pair: _Pair, nulls: tuple[np.ndarray, np.ndarray], at_claim: int, deadline: float | None, seed: int
) -> Wager:
    """Learns events from everything seen, and puts the capital so far on them."""
    if pair.wager is not None:
        pair.log_wealth = pair.wager.process.log_e
    small = len(pair.pools[0]) < SMALL
    half = len(pair.pools[0]) if small else min(len(pair.pools[0]) // 2, LEARNED)
    training = [pool[:half] for pool in pair.pools]
    selection = training if small else [pool[half:] for pool in pair.pools]
    log_slopes, offsets = nulls
    points = list(zip(log_slopes[:, at_claim].tolist(), offsets[:, at_claim].tolist(), strict=True))
    patient = deadline is None or deadline - time.perf_counter() > PATIENCE
    events = find_events(
        training,
        pair.sampler.encoder,
        lambda side, scorers: score(selection[side], scorers),
        points=points,
        num_test=3 * pair.seen,
        failure_probability=0.05,
        num_events=EVENTS if len(pair.pools[0]) + len(pair.pools[1]) >= FEW else EVENTS_OF_FEW,
        effort="normal" if patient and not small else "small",
        seed=seed,
    )
    tangents = [points.index(event.point) for event in events]
    # The best predicted event gets most, but none so little that being wrong about the order costs much.
    weights = 1 / np.arange(1, len(events) + 1)
    one, two = _directed(events, selection)
    prior = (one, len(selection[0]), two, len(selection[1]))
    process = EProcess(
        log_slopes[tangents],
        offsets[tangents],
        weights / weights.sum() * (1 - 1e-12),
        log_wealth=pair.log_wealth,
        prior=prior,
        claim_index=at_claim,
    )
    pair.epoch_ends = pair.seen + (pair.seen if small else 3 * pair.seen)
    return Wager(pair.index, tuple(events), process, [np.zeros(len(events), int), np.zeros(len(events), int)])


def _batch(pair: _Pair, limit: int, deadline: float | None) -> int:
    """Samples per dataset of the next look: a share of what was seen, more where looking takes longer than sampling.

    Without a deadline it does not depend on the clock, so that a run repeats.
    """
    size = max(16, pair.seen // (GROWTH_TRACED if pair.sampler.traced else GROWTH))
    if deadline is not None:
        each = 2 * _seconds_per_sample(pair)
        left = max(deadline - time.perf_counter(), 0.0)
        size = max(size, min(pair.seen, int(pair.seconds_per_look / each)))
        size = min(size, int(SHARE_OF_TIME * left / each))
    return max(1, min(size, limit - pair.seen, max(pair.epoch_ends - pair.seen, 1)))


def _bet(pair: _Pair, size: int) -> None:
    assert pair.wager is not None
    if len(pair.pools[0]) < POOL:
        rows = [np.asarray(pair.sampler.draw(side, "test", size)) for side in (0, 1)]
        one, two = _directed(pair.wager.events, rows)
        pair.pools = [np.concatenate([pool, new]) for pool, new in zip(pair.pools, rows, strict=True)]
    else:
        counts = [np.asarray(pair.sampler.counts(side, "test", size, pair.wager.events)) for side in (0, 1)]
        one, two = likelier_first(pair.wager.events, counts)
    begin = time.perf_counter()
    pair.wager.process.update(one, size, two, size)
    pair.seconds_per_look = time.perf_counter() - begin
    pair.wager.counts = [pair.wager.counts[0] + one, pair.wager.counts[1] + two]
    pair.wager.trials += size
    pair.seen += size


def _directed(events: Sequence[Event], rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How often each event happened in feature vectors of both sides, its likelier side first."""
    counts = [np.array([np.count_nonzero(np.asarray(event.contains(side))) for event in events]) for side in rows]
    return likelier_first(events, counts)


def _near(deadline: float, pairs: Sequence[_Pair]) -> bool:
    """Whether even a small batch of every pair might end after the deadline."""
    needed = sum(2 * 16 * _seconds_per_sample(pair) for pair in pairs)
    return time.perf_counter() + needed >= deadline


def _seconds_per_sample(pair: _Pair) -> float:
    measured = pair.sampler.seconds_per_sample
    return measured if measured > 0 else 1e-6  # NaN before the first large draw


def _tested(wager: Wager, at_claim: int) -> list[Tested]:
    each = wager.process.log_e_events[:, at_claim]
    return [
        Tested(wager.pair, event, Counts(int(one), wager.trials, int(two), wager.trials), float(weight), float(value))
        for event, one, two, weight, value in zip(wager.events, *wager.counts, wager.process.weights, each, strict=True)
    ]
