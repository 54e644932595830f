"""The fixed-sample procedure: learn on one part of the samples, choose on a second, test on the rest.

A smooth additive model learns from the first two parts and is chosen from by cross-fitting. One event in one direction
at one point of the claim, or one rule of guesses, is fixed before the test samples are drawn, so the exact test needs
no correction for the search; several pairs of datasets split the failure probability evenly. The scheme is that of DP-
Sniper (Bichsel et al. 2021), without its cap on what can be reported.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dpassay.auditors.batches import head, joined, size_of
from dpassay.auditors.events import (
    PICTURED,
    Event,
    Tested,
    learn,
    learn_few,
    likelier_first,
    promised,
    score,
    select,
    short,
)
from dpassay.auditors.fixed_sample import Counts, delta_lower, p_value
from dpassay.auditors.guesses import Guesses, Rule, choose_rule
from dpassay.auditors.learners import SmoothAdditive, parts_of
from dpassay.auditors.outputs import Encoder
from dpassay.auditors.rare_events import COLUMNS_FROM, SHARE, TAIL, TRIED, Census, Region, but_rare, suggest, untold
from dpassay.auditors.sampling import Sampler
from dpassay.auditors.scorers import Column, Scorer
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Say, Step, silent

SMALL = 4000  # budgets below it learn and select on the same samples, with cuts too simple to overfit
FIRST = 1 << 15  # training samples that say which outputs are rare
APART = 3  # columns that hardly ever vary, tried by themselves
SUGGESTED = 20  # events of rare outputs whose bound is predicted
LARGEST_TRAINING = 1_000_000
LARGEST_SELECTION = 1 << 24  # they are kept, unlike those of the test
LEAST_REFINING, LARGEST_REFINING = 500_000, 4_000_000
SCORED_ROWS = 1 << 20  # scored at a time where they are also learned from
BRACKETS = 101  # parameters of a curve tried at once


@dataclass(frozen=True)
class Plan:
    """Samples per dataset of every phase.

    Attributes:
        training: that scorers are learned from.
        selection: that choose the event.
        test: that decide.
        refining: taken from `test` where scorers can be refined (`learners.refine`).
    """

    training: int
    selection: int
    test: int
    refining: int = 0

    def refined(self) -> "Plan":
        """The plan of a run that does refine."""
        more = self.refining
        return Plan(self.training + more, self.selection, self.test - more)


@dataclass(frozen=True)
class OneShotRun:
    """What a run found.

    Attributes:
        tested: one event for each pair of datasets, with its p-value at the claim, the smallest first.
        parameter_lower: for each of them, the lower confidence bound of the claim's parameter; all hold together.
        could_refute: whether so many samples can refute the claim at all.
        pictured: for each pair, in its own order, feature vectors of both datasets that were not test samples.
    """

    tested: tuple[Tested, ...]
    parameter_lower: tuple[float, ...]
    could_refute: bool
    pictured: tuple[list[np.ndarray], ...]


class Chosen(NamedTuple):
    """What is to be tested.

    Attributes:
        events: the most promising first.
        plan: that was followed.
        pictured: of either side the features that pictures are drawn from, shape (samples, columns).
        rule: tested instead of the first event; where it is, what that event promises is what the rule does.
    """

    events: tuple[Event, ...]
    plan: Plan
    pictured: list[np.ndarray]
    rule: Rule | None = None


def plan(num_samples: int) -> Plan:
    """How `num_samples` draws per dataset are split: the test gets more than half, whatever is refined."""
    if num_samples < SMALL:
        training = max(num_samples // 4, 1)
        return Plan(training, 0, num_samples - training)
    training = min(num_samples // 10, LARGEST_TRAINING)
    selection = min(num_samples // 6, LARGEST_SELECTION)
    refining = min(num_samples // 12, LARGEST_REFINING)
    return Plan(training, selection, num_samples - training - selection, refining if refining >= LEAST_REFINING else 0)


def run_one_shot(
    samplers: Sequence[Sampler],
    claim: PrivacyClaim,
    *,
    failure_probability: float,
    num_samples: int,
    seed: int = 0,
    progress: Say = silent,
) -> OneShotRun:
    """Searches for the most telling event and tests it once.

    The failure probability is that of all pairs together, `num_samples` that of all phases, per dataset and pair.
    """
    split = plan(num_samples)
    share = failure_probability / len(samplers)

    def done() -> float:
        return sum(sampler.done for sampler in samplers) / (2 * num_samples * len(samplers))

    searched = [
        choose_events(sampler, claim, split, failure_probability=share, seed=seed, progress=progress, done=done)
        for sampler in samplers
    ]
    tested, lower, could = [], [], False
    for index, (sampler, ((event,), split, _, rule)) in enumerate(zip(samplers, searched, strict=True)):
        progress(Step(f"testing on {split.test:,} fresh samples per dataset", done))
        item = replace(count(sampler, event, split.test, rule), pair=index, weight=1 / len(samplers))
        tested.append(replace(item, p_value=value_of(item, share)))
        lower.append(_parameter_lower(claim, item, share))
        epsilon, delta = event.point
        extreme = Counts(split.test, split.test, 0, split.test)
        could = could or p_value(extreme, epsilon, delta, failure_probability=share) <= share
    pictured = tuple(found.pictured for found in searched)
    order = sorted(range(len(tested)), key=lambda index: tested[index].p_value or 0.0)
    return OneShotRun(tuple(tested[index] for index in order), tuple(lower[index] for index in order), could, pictured)


def value_of(item: Tested, failure_probability: float) -> float:
    """The p-value of a test at its event's point, the most powerful at this level."""
    epsilon, delta = item.event.point
    if item.guesses is not None:
        return item.guesses.p_value(epsilon)
    return p_value(item.counts, epsilon, delta, failure_probability=failure_probability)


def _parameter_lower(claim: PrivacyClaim, item: Tested, share: float) -> float:
    """The bound of the claim's parameter that one test gives, 0 when it gives none."""
    epsilon, _ = item.event.point
    if claim.kind in ("dp", "profile"):  # the parameter moves epsilon and leaves delta
        bound = item.epsilon_lower(share)
        return bound if claim.kind == "dp" else bound / epsilon if epsilon > 0 else float("inf") if bound > 0 else 0.0
    found = delta_lower(item.counts, epsilon=epsilon, failure_probability=share)
    # delta at this epsilon grows with the parameter: the largest parameter that allows less than what was found.
    # A curve costs as much at one parameter as at a hundred, so brackets shrink a hundredfold at a time.
    parameters = max(claim.parameter, 1e-3) * np.geomspace(2**-10, 2**10, BRACKETS)
    low = 0.0
    for _ in range(4):
        below = claim.delta_at(epsilon, parameters) < found
        if not below.any():
            parameters = np.linspace(low, parameters[0], BRACKETS)
            continue
        last = int(np.flatnonzero(below)[-1])
        low = float(parameters[last])
        parameters = np.linspace(low, parameters[min(last + 1, BRACKETS - 1)], BRACKETS)
    return low


def count(sampler: Sampler, event: Event, num_test: int, rule: Rule | None = None) -> Tested:
    """How often an event happens in so many fresh samples of each dataset, and how often guesses by a rule are right.

    With a rule a fair coin chooses the dataset of every sample, so that their numbers differ a little.
    """
    first = num_test if rule is None else rule.coins(2 * num_test)
    sizes, events = (first, 2 * num_test - first), (event, *(() if rule is None else rule.events))
    counted = [np.asarray(sampler.counts(side, "test", size, events)) for side, size in enumerate(sizes)]
    likelier, other = likelier_first(events[:1], [side[:1] for side in counted])
    one, two = sizes if event.direction == 0 else sizes[::-1]
    guesses = None if rule is None else Guesses(rule.levels([side[1:] for side in counted], sizes))
    return Tested(0, event, Counts(int(likelier[0]), one, int(other[0]), two), 1.0, guesses=guesses, rule=rule)


def _rare(
    sampler: Sampler,
    census: Census,
    first: Sequence[tuple[Any, np.ndarray]],
    claim: PrivacyClaim,
    num_test: int,
    failure_probability: float,
) -> tuple[Event, Encoder] | None:
    """The event of rare outputs that promises most, of all samples but those of the test, and the columns it is of."""
    encoder, points = sampler.encoder, claim.own_nulls
    odd = [joined([untold(encoder, part) for part in parts]) for parts in census.kept]
    if any(map(size_of, odd)):
        some = [head(outputs, COLUMNS_FROM) for outputs, _ in first]
        encoder = sampler.refitted([joined([rows, more]) for rows, more in zip(some, odd, strict=True)])
    common = [np.asarray(encoder.features(outputs))[~census.region.holds(encoded)] for outputs, encoded in first]
    inner = np.concatenate(common).min(axis=0), np.concatenate(common).max(axis=0)
    rows = [np.concatenate([common[0][:0], *map(encoder.features, parts)]) for parts in census.kept]
    best: Event | None = None
    for item in suggest(encoder, rows, census.trials, inner, points)[:SUGGESTED]:
        bound = promised(item.counts, item.event.point, num_test, failure_probability, TRIED * len(encoder.names))
        if best is None or bound - item.event.point[0] > _promise(best):
            best = replace(item.event, predicted=bound)
    return None if best is None else (best, encoder)


def choose_events(
    sampler: Sampler,
    claim: PrivacyClaim,
    split: Plan,
    *,
    failure_probability: float,
    effort: str = "normal",
    num_events: int = 1,
    seed: int = 0,
    progress: Say = silent,
    done: Callable[[], float] | None = None,
) -> Chosen:
    """Learns and selects the most telling events of one pair; draws no test samples.

    Without samples for selection in the `split`, events of small effort are learned and chosen on the same samples. The
    failure probability is that of the test to come; `effort` and `num_events` are as in `events.learn` and
    `events.select`; `done` is the share of all samples that were drawn, which tells of the time left but for that which
    learning takes.
    """
    progress(f"learning events from {split.training:,} samples per dataset")
    first = [sampler.outputs(side, "training", min(split.training, FIRST)) for side in (0, 1)]
    single, census = bool(split.selection) and num_events == 1, None
    if single:  # several events share their columns
        region = Region.fit(sampler.encoder, [encoded for _, encoded in first], SHARE / (2 * first[0][1].shape[1]))
        census = sampler.census = Census(region)
        for side, drawn in enumerate(first):
            census.add_all(side, *drawn)
    training = [
        np.concatenate([sampler.encoder.filled(encoded), sampler.draw(side, "training", split.training - len(encoded))])
        for side, (_, encoded) in enumerate(first)
    ]

    scorers, scores, split, additive = _orders(sampler, claim, split, training, effort, single, seed, progress, done)

    def best(scorers: Sequence[Scorer], scores: Sequence[np.ndarray]) -> tuple[tuple[Event, ...], Rule | None]:
        events = select(
            scorers,
            *scores,
            points=claim.own_nulls,
            num_test=split.test,
            failure_probability=failure_probability,
            names=sampler.encoder.names,
            num_events=num_events,
        )
        if not single or claim.kind != "dp" or claim.delta:
            return events, None
        place = next(index for index, scorer in enumerate(scorers) if scorer is events[0].scorer)
        own = [side[:, place] for side in scores]
        digest = hashlib.sha256(b"".join(encoded.tobytes() for _, encoded in first)).digest()
        found = choose_rule(events[0], own, split.test, failure_probability, seed=int.from_bytes(digest))
        return (events, None) if found is None else ((replace(events[0], predicted=found[1]),), found[0])

    events, rule = best(scorers, scores)
    if additive is not None:
        order, crossed = additive.fit(), additive.crossed()
        (other,), by_other = best((order,), [side[:, None] for side in crossed])
        if _promise(other) > _promise(events[0]):
            other, rule = _moved(other, by_other, crossed, additive.scores(), sampler.encoder.names)
            events = (other,)
    sampler.census = None
    if census is not None:
        rare = _rare(sampler, census, first, claim, split.test, failure_probability)
        if rare is not None and _promise(rare[0]) > _promise(events[0]):
            sampler.encoder = rare[1]
            rows = [np.asarray(rare[1].features(outputs))[:PICTURED] for outputs, _ in first]
            return Chosen((rare[0],), split, rows)
    return Chosen(events, split, [rows[:PICTURED] for rows in training], rule)


def _promise(event: Event) -> float:
    """How far beyond the claim its bound is expected, nats."""
    return event.predicted - event.point[0]


def _orders(
    sampler: Sampler,
    claim: PrivacyClaim,
    split: Plan,
    training: Sequence[np.ndarray],
    effort: str,
    single: bool,
    seed: int,
    progress: Say,
    done: Callable[[], float] | None,
) -> tuple[tuple[Scorer, ...], Sequence[np.ndarray], Plan, SmoothAdditive | None]:
    """Orders of outputs; the scores of either side's samples that choose among their events; the plan that is left.

    Where a `single` event is to be chosen, there may be a smooth additive model, which has counted those samples, too;
    for several events its order is one of the others.
    """
    encoder = sampler.encoder

    def say(text: str) -> None:
        progress(text if done is None else Step(text, done))

    def more(side: int, size: int) -> np.ndarray:
        return sampler.draw(side, "training", size)

    def choosing(side: int, size: int) -> np.ndarray:
        say(f"counting {size:,} samples of dataset {side + 1}")
        return sampler.draw(side, "selection", size)

    tails = Region.fit(encoder, training, TAIL)
    learned = but_rare(training, tails)
    whole = learned[0] is training[0]  # several columns, none of them set aside
    if split.selection and whole:
        table = learn_few(training, encoder.discrete, choosing, split.selection)
        if table is not None:
            return *table, split, None
    scorers, additive = learn(
        learned[0],
        learned[1],
        encoder.names,
        encoder.discrete,
        effort=effort if split.selection else "small",
        seed=seed,
        more=(more, split.refining) if split.selection else None,
    )
    if sampler.drawn["training"][0] > split.training:
        split = split.refined()
    if not split.selection:
        return scorers, [score(side, scorers) for side in training], split, None
    if additive is not None and not single:
        scorers, additive = (*scorers, additive.fit()), None
    if not whole:
        inner = tails.low, tails.high
        apart = suggest(encoder, training, [len(side) for side in training], inner, claim.own_nulls)
        columns = dict.fromkeys(int(item.event.scorer.index) for item in apart)  # type: ignore[attr-defined]
        scorers = (*scorers, *(Column(np.int32(column)) for column in list(columns)[:APART]))

    def scored(side: int) -> np.ndarray:
        say(f"scoring {split.selection:,} samples of dataset {side + 1} by {len(scorers)} orders of outputs")
        if additive is None:
            return sampler.scores(side, "selection", split.selection, scorers)
        parts = []
        for size in parts_of(split.selection, SCORED_ROWS):
            rows = sampler.scores(side, "selection", size, (*scorers, *read))
            additive.add(side, rows[:, len(scorers) :])
            parts.append(rows[:, : len(scorers)].copy())
        return np.concatenate(parts)

    read = [] if additive is None else [Column(np.int32(column)) for column in additive.columns]
    return scorers, [scored(side) for side in (0, 1)], split, additive


def _moved(
    event: Event, rule: Rule | None, crossed: Sequence[np.ndarray], scores: Sequence[np.ndarray], names: Sequence[str]
) -> tuple[Event, Rule | None]:
    """What was chosen by the cross-fitted scores of either side, shape (n,), at the same shares of the scores.

    Scores that are tied stay together: the event's with it, a rule's where most of them are.
    """
    before, after = np.sort(np.concatenate(crossed)), np.sort(np.concatenate(scores))

    def moved(cut: float, ties: bool | None = None) -> float:
        """A cut with tied scores above it, if `ties`, below it, or where most of them are to be."""
        rank = int(np.searchsorted(before, np.float32(cut)))
        tied = after[min(rank, len(after) - 1)]
        low, high = int(np.searchsorted(after, tied)), int(np.searchsorted(after, tied, side="right"))
        if rank == low or ties is None:
            ties = rank - low <= high - rank
        if not ties and high == len(after):
            return float(np.nextafter(tied, np.float32(np.inf)))
        place = low if ties else high
        return short(after[place - 1] if place else -np.inf, after[place])

    cut = moved(event.cut, event.above)
    event = replace(event, cut=cut, description=event.scorer.describe(cut, event.above, tuple(names)))
    if rule is None:
        return event, None
    cuts, weights = list[float](), [rule.weights[0]]
    for old, weight in zip(rule.cuts, rule.weights[1:], strict=True):
        here = moved(old)
        if cuts and cuts[-1] == here:  # no output is between them any more
            weights[-1] = weight
        else:
            cuts.append(here)
            weights.append(weight)
    return event, replace(rule, cuts=tuple(cuts), weights=tuple(weights))
