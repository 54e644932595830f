"""The pair of datasets that tells most, searched for by samples alone."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpassay.benchmarks.dp_sniper_suite import Pair, Row

if TYPE_CHECKING:
    from dpassay.auditors.sampling import Sampler
    from dpassay.auditors.scorers import Scorer

__all__ = ["SEARCH_SHARE", "patterns", "search_pair"]

SEARCH_SHARE = 0.5  # of the budget of samples: the pair matters as much as the event, and candidates are many
FAILURE_PROBABILITY = 0.1  # of the bounds that pairs are compared by


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


def search_pair(
    entry: Row, budget: int, seed: int, progress: Callable[[str], None] = lambda _: None
) -> tuple[Pair, int]:
    """The pair among all patterns that promises the largest bound, by successive halving on the given samples.

    Args:
        entry: a row whose datasets are vectors, or values of a small domain.
        budget: samples of all pairs, both sides; each round spends an equal part.
        seed: of everything random; the samples are not those of a later audit.
        progress: called with a short text after every round.

    Returns:
        The pair and the samples spent.
    """
    from dpassay.auditors.events import find_events
    from dpassay.auditors.sampling import Sampler

    left, spent = list(_candidates(entry)), 0
    rounds = max(1, math.ceil(math.log(len(left), 3)))
    for turn in range(rounds):
        size = budget // (rounds * len(left) * 4)  # two sides, half to learn and half to choose
        promised = []
        for index, pair in enumerate(left):
            sampler = Sampler(entry.mechanism, *pair.arrays(), seed=seed, run=1_000_000 + 1000 * turn + index)
            sampler.probe(min(256, size))
            training = [np.asarray(sampler.draw(side, "training", size)) for side in (0, 1)]
            (event,) = find_events(
                training,
                sampler.encoder,
                partial(_selection_scores, sampler, size),
                points=[(0.0, 0.0)],
                num_test=20 * size,
                failure_probability=FAILURE_PROBABILITY,
                effort="small",
                seed=seed,
            )
            promised.append(event.predicted)
            spent += 4 * size + 2 * min(256, size)
        order = np.argsort(promised)[::-1]
        left = [left[place] for place in order[: max(1, len(left) // 3)]]
        progress(f"{entry.name}: {len(left)} pairs left, {max(promised):.3g} promised")
    return left[0], spent


def _selection_scores(sampler: "Sampler", size: int, side: int, scorers: Sequence["Scorer"]) -> np.ndarray:
    return sampler.scores(side, "selection", size, scorers)


def _candidates(entry: Row) -> Sequence[Pair]:
    first = entry.pairs[0].dataset1
    if isinstance(first, tuple):
        return patterns(len(first))
    values = range(-10, 11)  # a local mechanism: any two values are neighbors
    return [Pair(a, b, "a search") for a in values for b in values if a < b]
