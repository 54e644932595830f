"""Lists for everybody: against literal loops and, for the private choice, its exact law and loss."""

import itertools
import math

import jax
import numpy as np
import pytest
import scipy.stats

from dpassay.core.errors import InvalidInput
from dpassay.models.diverse_lists import exponential_top, greedy_determinant, marginal_relevance, spread, top_items

ALPHA = 1e-6
GENERATOR = np.random.default_rng(5)
ROWS = (GENERATOR.random((40, 15)) < np.linspace(0.7, 0.1, 15)).astype(float)
KERNEL = ROWS.T @ ROWS
COUNTS = np.diagonal(KERNEL)


def ordered_law(scores: np.ndarray, size: int, rate: float) -> dict[tuple[int, ...], float]:
    """Every ordered list and its probability when items are drawn by weight exp(rate * score) without replacement."""
    law = {}
    for chosen in itertools.permutations(range(len(scores)), size):
        weights, probability = np.exp(rate * scores), 1.0
        for item in chosen:
            probability *= weights[item] / weights.sum()
            weights[item] = 0.0
        law[chosen] = probability
    return law


def loss(scores: np.ndarray, row: np.ndarray, size: int, rate: float) -> float:
    one, two = ordered_law(scores, size, rate), ordered_law(scores + row, size, rate)
    return max(abs(math.log(one[chosen] / two[chosen])) for chosen in one)


def test_top_items_break_ties_by_number() -> None:
    assert top_items(np.array([3, 7, 7, 1, 9]), 3).tolist() == [4, 1, 2]


@pytest.mark.parametrize("trade_off", [0.0, 0.3, 0.7, 1.0])
def test_marginal_relevance_is_the_literal_loop(trade_off: float) -> None:
    scores = COUNTS / COUNTS.max()
    similarity = KERNEL / np.sqrt(np.outer(COUNTS, COUNTS))
    taken: list[int] = []
    for _ in range(6):
        values = {
            item: trade_off * scores[item] - (1 - trade_off) * max((similarity[item, one] for one in taken), default=0)
            for item in range(15)
            if item not in taken
        }
        taken.append(max(values, key=lambda item: values[item]))
    assert np.asarray(marginal_relevance(scores, similarity, 6, trade_off)).tolist() == taken
    if trade_off == 1:
        assert sorted(taken) == sorted(top_items(scores, 6).tolist())


def test_greedy_determinant_takes_the_largest_determinant_at_every_step() -> None:
    taken: list[int] = []
    for _ in range(6):
        values = {
            item: np.linalg.slogdet(KERNEL[np.ix_([*taken, item], [*taken, item])])[1]
            for item in range(15)
            if item not in taken
        }
        taken.append(max(values, key=lambda item: values[item]))
    assert np.asarray(greedy_determinant(KERNEL, 6)).tolist() == taken
    assert set(taken) != set(top_items(COUNTS, 6).tolist())


def test_spread_takes_the_farthest_candidate_at_every_step() -> None:
    distances = 1 - KERNEL / np.sqrt(np.outer(COUNTS, COUNTS))
    candidates = np.array([GENERATOR.permutation(15)[:8] for _ in range(5)])
    for items, found in zip(candidates.tolist(), np.asarray(spread(candidates, distances, 4)).tolist(), strict=True):
        taken = [items[0]]
        while len(taken) < 4:
            rest = [item for item in items if item not in taken]
            taken.append(max(rest, key=lambda item: min(distances[item, one] for one in taken)))
        assert found == taken


def test_the_exponential_mechanism_has_its_law() -> None:
    scores = np.array([6.0, 5.0, 3.0, 2.0, 0.0])
    draws = np.asarray(exponential_top(jax.random.key(1), scores, 2, 1.0, 40_000))
    law = ordered_law(scores, 2, 0.5)
    index = {chosen: number for number, chosen in enumerate(law)}
    counts = np.bincount([index[tuple(row)] for row in draws.tolist()], minlength=len(law))
    assert scipy.stats.chisquare(counts, 40_000 * np.array(list(law.values()))).pvalue > ALPHA
    other = 40_000 * np.array(list(ordered_law(scores, 2, 0.6).values()))
    assert scipy.stats.chisquare(counts, other).pvalue < ALPHA


def test_the_exponential_mechanism_keeps_its_epsilon_and_needs_it() -> None:
    epsilon, size = 1.2, 2
    pairs = [(GENERATOR.integers(0, 9, 5).astype(float), row) for row in itertools.product([0.0, 1.0], repeat=5)]
    assert max(loss(scores, np.array(row), size, epsilon / size) for scores, row in pairs) <= epsilon + 1e-12
    scores, row = np.array([0.0, 0.0, 40.0, 40.0, 40.0]), np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    assert loss(scores, row, size, epsilon / size) == pytest.approx(epsilon, abs=1e-6)  # so no larger rate would do
    assert loss(scores, row, size, 1.01 * epsilon / size) > epsilon


def test_impossible_settings_are_refused() -> None:
    for make in (
        lambda: top_items(COUNTS, 16),
        lambda: greedy_determinant(KERNEL, 0),
        lambda: spread(np.zeros((2, 3), int), KERNEL, 4),
        lambda: exponential_top(jax.random.key(0), COUNTS, 3, 0.0, 5),
        lambda: marginal_relevance(COUNTS, KERNEL, 3, 1.5),
    ):
        with pytest.raises(InvalidInput):
            make()
