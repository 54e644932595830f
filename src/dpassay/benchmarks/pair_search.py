"""The pair of datasets that tells most, searched for by samples alone."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpassay.auditors.events import likelier_first
from dpassay.auditors.fixed_sample import predicted_lower
from dpassay.auditors.one_shot import LARGEST_REFINING, LARGEST_TRAINING, Plan, choose_events
from dpassay.benchmarks.dp_sniper_suite import RAPPOR_DOMAIN, Pair, Row, TruncatedGeometric
from dpassay.core.privacy import PrivacyClaim

if TYPE_CHECKING:
    from dpassay.auditors.events import Event
    from dpassay.auditors.guesses import Rule
    from dpassay.auditors.sampling import Sampler

SEARCH_SHARE = 0.5  # of the budget of samples: the pair matters as much as the event, and candidates are many
KEPT, KEPT_OF_MANY = 2, 5  # one pair in so many is left after a round
EVENTS = 18  # of every pair, tried on fresh samples before the last round
DOUBT = 0.5  # standard deviations that a promise is granted less: the best events are rare, and a pair dropped is lost
FEW, MANY = 3, 30  # pairs: so few are learned from as long as one audit's, so many for milliseconds each
LARGEST_QUICK_TRAINING = 400_000  # samples per side, whose learning takes seconds
LEAST_REFINING = 250_000


def patterns(size: int, low: float = -10.0, high: float = 10.0) -> tuple[Pair, ...]:
    """Pairs of query answers that differ by at most 1 in every entry: patterns that know nothing of the mechanism.

    The eight of Ding et al. (CCS 2018) that DP-Sniper searches, and blocks: the first entries at one level and the rest
    at another, moved in opposite directions; one entry far from the others; a staircase in which neighbors change
    places.
    """
    ones, half = np.ones(size), size // 2
    last, first, front = (np.zeros(size) for _ in range(3))
    last[-1], first[0], front[:half] = 1, 1, 1
    away = ones - 2 * first
    found: list[tuple[np.ndarray, np.ndarray]] = [
        (ones, ones - first), (ones, ones + first), (ones, ones - away), (ones, ones + away),
        (ones, 2 * front), (ones, 2 * ones), (ones, 0 * ones), (front, 1 - front),
    ]  # fmt: skip
    for block in (last, front, first):
        for level, other in ((4, 7), (4, 0), (2, -1)):
            dataset = level * (1 - block) + other * block
            found.append((dataset, dataset - 1 + 2 * block))
    found.append(((low + 1) * first + (high - 1) * (1 - first), low * first + high * (1 - first)))
    found.append(((high - 1) * first + low * (1 - first), high * first + low * (1 - first)))
    pulled = np.where(np.arange(size) < 2, high - 1, low + 1)
    found.append((pulled, pulled + np.where(np.arange(size) == 1, 1, -1) * np.where(np.arange(size) < 2, 1, -1)))
    stairs = 2.0 * ((np.arange(size) + 1) // 2) - half
    found.append((stairs, stairs + np.where(np.arange(size) % 2 == 0, 1, -1)))
    return tuple(Pair(tuple(map(float, a)), tuple(map(float, b)), "a search") for a, b in found)


@dataclass(frozen=True)
class Found:
    """What a search ended on.

    Attributes:
        pair: the datasets.
        event: the most telling one, chosen on the search's own samples of the pair.
        rule: of guesses, which tells more, if there is one.
        sampler: of the pair; its test samples are untouched.
        spent: samples of all pairs, both sides.
    """

    pair: Pair
    event: "Event"
    rule: "Rule | None"
    sampler: "Sampler"
    spent: int


def search_pair(
    entry: Row,
    budget: int,
    num_test: int,
    claim: PrivacyClaim,
    failure_probability: float,
    seed: int,
    progress: Callable[[str], None] = lambda _: None,
) -> Found:
    """The pair among all patterns that promises the largest bound, by successive halving, and its event.

    Every round judges the pairs that are left, half of those before or a fifth of very many: learns orders of outputs
    on one part of a pair's samples, chooses events of several kinds on the second, and asks on the third which bound
    the best of them promises a test. The last round has one pair and chooses its event as an audit does. A pair's
    samples of one round are the first ones of its next: they are drawn again from the start of the same streams, and
    count once.

    Datasets are vectors, or values of a small domain. Each round spends an equal part of the budget, samples of all
    pairs and both sides; `num_test` is what the test will have per dataset.
    """
    from dpassay.auditors.sampling import Sampler

    candidates = _candidates(entry)
    rounds, size = _rounds(len(candidates)), 0
    left = list(range(len(candidates)))
    drawn = np.zeros((len(candidates), 2, 2), int)  # pair, phase, side
    for number in rounds:
        left, size = left[:number], size + budget // (2 * len(rounds) * number)
        split, fresh = _split(size, num_test, number)
        promises = {}
        for index in left:
            sampler = Sampler(entry.mechanism, *candidates[index].arrays(), seed=seed, run=index)
            chosen = choose_events(
                sampler,
                claim,
                split,
                failure_probability=failure_probability,
                effort="small" if number > MANY else "normal",
                num_events=EVENTS if fresh else 1,
                seed=seed,
            )
            promises[index] = (
                _promise(sampler, chosen.events, fresh, num_test, failure_probability)
                if fresh
                else chosen.events[0].predicted
            )
            drawn[index] = np.maximum(drawn[index], [sampler.drawn[phase] for phase in ("training", "selection")])
        left.sort(key=lambda index: -promises[index])
        progress(f"{entry.name}: {promises[left[0]]:.3g} promised by the best of {number} pairs")
    # Of the last round's only pair.
    return Found(candidates[left[0]], chosen.events[0], chosen.rule, sampler, int(drawn.sum()))


def _promise(
    sampler: "Sampler", events: Sequence["Event"], size: int, num_test: int, failure_probability: float
) -> float:
    """The bound that the best of the events promises a test, by its counts in so many fresh samples of each side; nats.

    What they were chosen for was luck in part, and in rare events all of it.
    """
    likelier, other = likelier_first(events, [sampler.counts(side, "selection", size, events) for side in (0, 1)])
    bounds = predicted_lower(
        likelier * num_test / size,
        num_test,
        (other + 1) * num_test / size,  # one that is never seen is not impossible
        num_test,
        delta=[event.point[1] for event in events],
        failure_probability=failure_probability,
    )
    return float(np.max(bounds - DOUBT * np.sqrt(1 / (likelier + 1) + 1 / (other + 1))))


def _rounds(num_pairs: int) -> list[int]:
    """How many pairs each round judges; the last is left with one, and chooses its event."""
    left = [num_pairs]
    while left[-1] > 1:
        left.append(max(1, left[-1] // (KEPT_OF_MANY if left[-1] > MANY else KEPT)))
    return left


def _split(size: int, num_test: int, num_pairs: int) -> tuple[Plan, int]:
    """How the samples of one pair and side are split, and how many are left to try events; none of them tests."""
    refining = min(size // (8 if num_pairs > 1 else 5), LARGEST_REFINING)
    refining = refining if refining >= LEAST_REFINING else 0
    training = min(size // 4, LARGEST_TRAINING if num_pairs <= FEW else LARGEST_QUICK_TRAINING)
    rest = size - training - refining
    fresh = rest // 2 if num_pairs > 1 else 0
    return Plan(training, rest - fresh, num_test + refining, refining), fresh


def _candidates(entry: Row) -> Sequence[Pair]:
    first = entry.pairs[0].dataset1
    if isinstance(first, tuple):
        return patterns(len(first))
    if isinstance(entry.mechanism, TruncatedGeometric):
        return [Pair(count, count + 1, "a search") for count in range(entry.mechanism.num_people)]
    # A local mechanism: any two values are neighbors.
    return [Pair(a, b, "a search") for a, b in itertools.combinations(RAPPOR_DOMAIN, 2)]
