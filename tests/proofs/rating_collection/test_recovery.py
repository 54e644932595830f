"""From released ratings to the completed matrix: verdicts, exact small cases, and what breaks the proofs."""

import itertools
import math

import numpy as np
import pytest

from dpassay.data.ratings import synthetic
from dpassay.experiments.rating_collection.bounds import Shape, excess

OUTCOMES = {
    "RC-MON": "holds",
    "RC-RIP": "vacuous",
    "RC-RIP-REP": "holds",
    "RC-5": "vacuous",
    "RC-5-REP": "holds",
    "RC-5-ALL": "refuted",
    "RC-UTIL": "open",
}


@pytest.mark.parametrize(("claim_id", "outcome"), OUTCOMES.items())
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome)


@pytest.mark.parametrize("kind", ["laplace", "response"])
def test_bounds_fall(kind):
    shape = Shape.of(synthetic())
    values = [excess(kind, epsilon, shape)[0] for epsilon in np.geomspace(0.1, 200, 60)]
    assert all(later < earlier for earlier, later in itertools.pairwise(values))
    assert values[-1] < values[0] / 1000


def test_the_isometry_fails_for_every_incomplete_support():
    """All supports of a 2 x 2 matrix: the smallest alpha for rank 1 is 0 if complete, at least 1 otherwise."""
    units = [unit.reshape(2, 2) for unit in np.eye(4)]
    for seen in itertools.product([0.0, 1.0], repeat=4):
        support = np.reshape(seen, (2, 2))
        share = support.mean()
        if share == 0:
            continue
        alpha = max(abs(((support * unit) ** 2).sum() / share - 1) for unit in units)
        assert alpha == 0 if share == 1 else alpha >= 1


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.3, 0.8])
def test_sampled_square_by_enumeration(share, alpha):
    """All 2^8 supports of a fixed 2 x 4 matrix: Chebyshev's bound covers the exact chance of a deviation."""
    matrix = np.array([1.0, -1.2, 0.9, 1.1, -1.0, 0.8, 1.0, 1.3])
    square = (matrix**2).sum()
    mu = (matrix**2).max() * matrix.size / square
    chance = 0.0
    for seen in itertools.product([0, 1], repeat=matrix.size):
        probability = math.prod(share if cell else 1 - share for cell in seen)
        deviates = abs((matrix[np.array(seen, bool)] ** 2).sum() / share - square) > alpha * square
        chance += probability * deviates
    assert chance <= (1 - share) * mu / (share * alpha**2 * matrix.size)


def test_a_smaller_epsilon_is_a_larger_one_with_more_noise():
    """Randomized response after randomized response, as matrices."""
    stars = 4

    def matrix(keep):
        return np.full((stars + 1, stars + 1), (1 - keep) / stars) + (keep - (1 - keep) / stars) * np.eye(stars + 1)

    keeps = [math.exp(eps) / (math.exp(eps) + stars) for eps in (2.0, 0.7)]
    more = (keeps[1] - (1 - keeps[0]) / stars) / (keeps[0] - (1 - keeps[0]) / stars)
    assert 0 <= more <= 1
    np.testing.assert_allclose(matrix(keeps[0]) @ matrix(more), matrix(keeps[1]), atol=1e-15)
