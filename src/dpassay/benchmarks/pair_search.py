"""The pair of datasets that tells most, searched for by samples alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpassay.auditors.one_shot import LARGEST_REFINING, LARGEST_TRAINING, Plan, choose_event
from dpassay.benchmarks.dp_sniper_suite import Pair, Row
from dpassay.privacy import PrivacyClaim

if TYPE_CHECKING:
    from dpassay.auditors.events import Event
    from dpassay.auditors.sampling import Sampler

__all__ = ["SEARCH_SHARE", "Found", "patterns", "search_pair"]

SEARCH_SHARE = 0.5  # of the budget of samples: the pair matters as much as the event, and candidates are many
KEPT, KEPT_OF_MANY = 2, 5  # one pair in so many is left after a round
DOUBT = 0.5  # standard deviations, before the last round: the best events are rare, and a pair dropped is lost
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
        sampler: of the pair; its test samples are untouched.
        spent: samples of all pairs, both sides.
    """

    pair: Pair
    event: "Event"
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

    Every round judges the pairs that are left, half of those before or a fifth of very many, as an audit does: learns
    orders of outputs on one part of their samples, and asks on the others which bound the best event promises a test. A
    pair's samples of one round are the first ones of its next: they are drawn again from the start of the same streams,
    and count once.

    Args:
        entry: a row whose datasets are vectors, or values of a small domain.
        budget: samples of all pairs, both sides; each round spends an equal part.
        num_test: samples per dataset that the test will have.
        claim: that the test will judge.
        failure_probability: of the test.
        seed: of everything random.
        progress: called with a short text after every round.
    """
    from dpassay.auditors.sampling import Sampler

    candidates = _candidates(entry)
    rounds, size = _rounds(len(candidates)), 0
    left = list(range(len(candidates)))
    drawn = np.zeros((len(candidates), 2, 2), int)  # pair, phase, side
    for number in rounds:
        left, size = left[:number], size + budget // (2 * len(rounds) * number)
        events, samplers = {}, {}
        for index in left:
            sampler = Sampler(entry.mechanism, *candidates[index].arrays(), seed=seed, run=index)
            events[index], _, _ = choose_event(
                sampler,
                claim,
                _split(size, num_test, number),
                failure_probability=failure_probability,
                doubt=DOUBT if number > 1 else None,
                effort="small" if number > MANY else "normal",
                seed=seed,
            )
            samplers[index] = sampler
            drawn[index] = np.maximum(drawn[index], [sampler.drawn[phase] for phase in ("training", "selection")])
        left.sort(key=lambda index: -events[index].predicted)
        progress(f"{entry.name}: {events[left[0]].predicted:.3g} promised by the best of {number} pairs")
    best = left[0]
    return Found(candidates[best], events[best], samplers[best], int(drawn.sum()))


def _rounds(num_pairs: int) -> list[int]:
    """How many pairs each round judges; the last is left with one, and chooses its event."""
    left = [num_pairs]
    while left[-1] > 1:
        left.append(max(1, left[-1] // (KEPT_OF_MANY if left[-1] > MANY else KEPT)))
    return left


def _split(size: int, num_test: int, num_pairs: int) -> Plan:
    """How the samples of one pair and side are split: none of them tests."""
    refining = min(size // 5, LARGEST_REFINING)
    refining = refining if refining >= LEAST_REFINING else 0
    training = min(size // 4, LARGEST_TRAINING if num_pairs <= FEW else LARGEST_QUICK_TRAINING)
    return Plan(training, size - training - 2 * refining, num_test + 2 * refining, refining)


def _candidates(entry: Row) -> Sequence[Pair]:
    first = entry.pairs[0].dataset1
    if isinstance(first, tuple):
        return patterns(len(first))
    values = range(-10, 11)  # a local mechanism: any two values are neighbors
    return [Pair(a, b, "a search") for a in values for b in values if a < b]
