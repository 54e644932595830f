"""The anytime-valid procedure: bet on learned events batch by batch, and stop when the evidence suffices.

All that was seen so far, tested samples included, trains the events of the next epoch; only samples drawn after the
events and the bets were fixed count as evidence. So no sample is spent on training alone, and the capital of the bets
is a test supermartingale under the claim: by Ville's inequality it ever reaches 1/alpha with probability at most alpha,
however often one looks (docs/theorems/black-box-audits.md). Sources: Shafer and Vovk, Game-Theoretic Foundations for
Probability and Finance (2019); Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (2024).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from scipy.special import logsumexp

from dpassay.auditors.batches import head, joined, size_of, taken
from dpassay.auditors.betting import EProcess, evidence
from dpassay.auditors.events import FEW, PICTURED, Event, Tested, find_events, likelier_first, score
from dpassay.auditors.fixed_sample import Counts
from dpassay.auditors.rare_events import COLUMNS_FROM, SHARE, TAIL, Census, Region, Suggested, but_rare, suggest, untold
from dpassay.auditors.sampling import Sampler
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Say, Step, silent

FIRST = 32  # samples per dataset that set the first cuts; a claim of 1 at a truth of 2 falls within 300 in all
SMALL = 4096  # pools below it learn and select on the same samples, with cuts too simple to overfit
POOL = 400_000  # outputs kept per dataset for learning; beyond it samples are only counted, all but rare ones
POOL_OBJECTS, POOL_BYTES = 100_000, 1 << 28  # of them where they are Python objects; bytes of them where arrays
LEARNED = 100_000  # of them at most, the rest choose the cuts
EVENTS = 18
EVENTS_OF_FEW = 8  # while so few samples hardly tell cuts apart that more would be as many bets on worse ones
PATIENCE = 60.0  # seconds left, from which on trees and networks are worth their training
RARE = 0.1  # of the capital, an account of its own that bets on rare events only
RARE_EVENTS = 3
STAKED = ((8.0, (0.6, 0.25, 0.1)), (3.0, (0.3, 0.12, 0.08)))  # from so many nats of suggestion, shares of that account
GROWTH = 25  # the next batch is one part of as many of the samples seen: few are wasted once the evidence suffices
GROWTH_TRACED = 4  # where samples cost less than looks
SHARE_OF_TIME = 0.2  # of what is left, that one batch may take


@dataclass
class Wager:
    """One epoch of one pair: its events, and every batch, from which the capital can be recomputed.

    Attributes:
        main: how many of the events are bet on from the main account; the others are rare ones.
        purse: log capital at the claim of the account that bets on rare ones, before the epoch.
        process: the bets, with the capital of earlier epochs.
        counts: [successes (K,), successes (K,)] so far, of each event's likelier side first.
        trials: samples per dataset so far.
    """

    pair: int
    events: tuple[Event, ...]
    main: int
    purse: float
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
    """One pair of datasets: its sampler, everything seen of it, and its current epoch.

    Attributes:
        outputs: of both datasets, the first ones, as they came.
        pools: their features.
        missed: of both datasets, whether a row of the pool holds what no column tells.
        odd: of both datasets, outputs for which columns were learned again.
        accounts: shape (2, G), log capital of the main bets and of those on rare events before the epoch.
        census: of the samples since the pool was full.
        inside: of both datasets, whether a row of the pool is in its region.
        learned: parts of the census that the columns know.
    """

    index: int
    sampler: Sampler
    outputs: list[Any]
    pools: list[np.ndarray]
    missed: list[np.ndarray]
    seen: int
    odd: list[Any]
    accounts: np.ndarray
    census: Census | None = None
    inside: list[np.ndarray] = field(default_factory=list)
    learned: list[int] = field(default_factory=lambda: [0, 0])
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
    progress: Say = silent,
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
        capital = [
            logsumexp(pair.accounts, axis=0) if pair.wager is None else pair.wager.process.log_e for pair in pairs
        ]
        log_e = logsumexp(capital, axis=0) - np.log(len(pairs))
        seen = max(pair.seen for pair in pairs)
        growth.append((seen, evidence(commit(log_e, seen), at_claim)))
        text = f"{seen:,} samples per dataset, evidence {growth[-1][1]:.1f} of {log_threshold:.1f} nats"
        progress(text if num_samples is None else Step(text, seen / num_samples))
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
    size = max(min(SMALL if sampler.traced else FIRST, limit // 4), 2)
    outputs, encoded = zip(*(sampler.outputs(side, "training", size) for side in (0, 1)), strict=True)
    pools, missed = (
        [sampler.encoder.filled(rows) for rows in encoded],
        [sampler.encoder.misses(rows) for rows in encoded],
    )
    accounts = np.log([[1 - RARE], [RARE]]) + np.zeros_like(grid)
    odd = [head(side, 0) for side in outputs]
    return _Pair(index, sampler, list(outputs), pools, missed, size, odd, accounts)


def _new_epoch(
    pair: _Pair, nulls: tuple[np.ndarray, np.ndarray], at_claim: int, deadline: float | None, seed: int
) -> Wager:
    """Learns columns and events from everything seen, and puts the capital so far on them.

    What was won with rare events stays with them, in an account that bets on nothing where nothing is suggested: else
    ordinary outputs at the edge of the claim would use it up before a rare leak shows. Both accounts are functions of
    the past, so the weights are, and their sum is one supermartingale.
    """
    if (wager := pair.wager) is not None:
        capital, kept = wager.process.log_capital, wager.process.log_cash
        pair.accounts = np.array(
            [logsumexp(capital[: wager.main], axis=0), logsumexp([*capital[wager.main :], kept], axis=0)]
        )
    _learn_columns(pair)
    small = len(pair.pools[0]) < SMALL
    half = len(pair.pools[0]) if small else min(len(pair.pools[0]) // 2, LEARNED)
    tails = Region.fit(pair.sampler.encoder, pair.pools, TAIL)
    training = but_rare([pool[:half] for pool in pair.pools], tails)
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
    # The best predicted event gets most, but none so little that being wrong about the order costs much.
    weights = 1 / np.arange(1, len(events) + 1)
    rare, stakes = _rare(pair, tails, points)
    one, two = _directed(events, selection)
    sizes = [np.full(len(events), len(side)) for side in selection]
    prior = np.concatenate(
        [[one, sizes[0], two, sizes[1]], np.reshape([item.counts for item in rare], (-1, 4)).T], axis=1
    )
    every = [*events, *(item.event for item in rare)]
    tangents = [points.index(event.point) for event in every]
    wealth = logsumexp(pair.accounts, axis=0)
    main, own = np.exp(pair.accounts - wealth) * (1 - 1e-12)
    process = EProcess(
        log_slopes[tangents],
        offsets[tangents],
        np.concatenate([np.outer(weights / weights.sum(), main), np.outer(stakes, own)]),
        log_wealth=wealth,
        prior=(prior[0], prior[1], prior[2], prior[3]),
        claim_index=at_claim,
        cash=(1 - stakes.sum()) * own,
    )
    pair.epoch_ends = pair.seen + (pair.seen if small else 3 * pair.seen)
    counts = [np.zeros(len(every), int), np.zeros(len(every), int)]
    return Wager(pair.index, tuple(every), len(events), float(pair.accounts[1][at_claim]), process, counts)


def _learn_columns(pair: _Pair) -> None:
    """Gives columns to what was seen and has none yet. They are for later samples, as the events on them are."""
    sampler = pair.sampler
    if size_of(pair.odd[0]) + size_of(pair.odd[1]) >= COLUMNS_FROM:
        return
    parts: tuple[list[Any], ...] = ([], [])
    for side in (0, 1):
        parts[side].append(taken(pair.outputs[side], np.flatnonzero(pair.missed[side])))
        if pair.census is not None:
            kept = pair.census.kept[side]
            parts[side].extend(untold(sampler.encoder, outputs) for outputs in kept[pair.learned[side] :])
            pair.learned[side] = len(kept)
    if not any(size_of(part) for side in parts for part in side):
        return
    pair.odd = [joined([odd, *side]) for odd, side in zip(pair.odd, parts, strict=True)]
    some = [head(outputs, COLUMNS_FROM) for outputs in pair.outputs]
    sampler.refit([joined([rows, odd]) for rows, odd in zip(some, pair.odd, strict=True)])
    pair.pools = [np.asarray(sampler.encoder.features(outputs)) for outputs in pair.outputs]
    pair.missed = [np.zeros(len(pool), bool) for pool in pair.pools]


def _rare(pair: _Pair, tails: Region, points: Sequence[tuple[float, float]]) -> tuple[list[Suggested], np.ndarray]:
    """Rare events that what was seen suggests, and the share of their account for each, shape (events,)."""
    encoder, sizes = pair.sampler.encoder, [len(pool) for pool in pair.pools]
    if sum(sizes) < FEW:
        return [], np.zeros(0)
    found = suggest(encoder, pair.pools, sizes, (tails.low, tails.high), points)
    if (census := pair.census) is not None:
        common = np.concatenate([pool[~inside] for pool, inside in zip(pair.pools, pair.inside, strict=True)])
        rows = [
            np.concatenate([pool[inside], *(encoder.features(outputs) for outputs in kept)])
            for pool, inside, kept in zip(pair.pools, pair.inside, census.kept, strict=True)
        ]
        trials = [size + more for size, more in zip(sizes, census.trials, strict=True)]
        found += suggest(encoder, rows, trials, (common.min(axis=0), common.max(axis=0)), points)
    best: dict[Any, Suggested] = {}
    for item in sorted(found, key=lambda item: -item.strength):
        best.setdefault((int(item.event.scorer.index), item.event.above, item.event.direction), item)  # type: ignore[attr-defined]
    chosen = [item for item in best.values() if item.strength >= STAKED[-1][0]][:RARE_EVENTS]
    stakes = [
        next(shares for least, shares in STAKED if item.strength >= least)[place] for place, item in enumerate(chosen)
    ]
    return chosen, np.array(stakes)


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
    if pair.census is None:
        one, two = _directed(pair.wager.events, _pooled(pair, size))
    else:
        counts = [np.asarray(pair.sampler.counts(side, "test", size, pair.wager.events)) for side in (0, 1)]
        one, two = likelier_first(pair.wager.events, counts)
    begin = time.perf_counter()
    pair.wager.process.update(one, size, two, size)
    pair.seconds_per_look = time.perf_counter() - begin
    pair.wager.counts = [pair.wager.counts[0] + one, pair.wager.counts[1] + two]
    pair.wager.trials += size
    pair.seen += size


def _pooled(pair: _Pair, size: int) -> list[np.ndarray]:
    """Features of both sides' next samples, which are kept; once the pool is full, only rare ones will be."""
    sampler = pair.sampler
    outputs, encoded = zip(*(sampler.outputs(side, "test", size) for side in (0, 1)), strict=True)
    rows = [sampler.encoder.filled(side) for side in encoded]
    pair.outputs = [joined([before, new]) for before, new in zip(pair.outputs, outputs, strict=True)]
    pair.pools = [np.concatenate([pool, new]) for pool, new in zip(pair.pools, rows, strict=True)]
    new = [sampler.encoder.misses(side) for side in encoded]
    pair.missed = [np.concatenate([before, side]) for before, side in zip(pair.missed, new, strict=True)]
    if len(pair.pools[0]) >= POOL or any(map(_full, pair.outputs)):
        region = Region.fit(sampler.encoder, pair.pools, SHARE / (2 * pair.pools[0].shape[1]))
        pair.census = sampler.census = Census(region)
        pair.inside = [region.holds(pool) for pool in pair.pools]
    return rows


def _full(outputs: Any) -> bool:
    if isinstance(outputs, list):
        return len(outputs) >= POOL_OBJECTS
    return sum(leaf.nbytes for leaf in jax.tree.leaves(outputs)) >= POOL_BYTES


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
        for event, one, two, weight, value in zip(
            wager.events, *wager.counts, wager.process.weights[:, at_claim], each, strict=True
        )
    ]
