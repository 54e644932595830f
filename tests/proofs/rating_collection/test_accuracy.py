"""Theorem 3: bounds against exact probabilities of small releases, and what breaks the proofs."""

import itertools
import math

import numpy as np
import pytest

from dpassay.data.ratings import synthetic
from dpassay.proofs.rating_collection import accuracy

IDS = ["RC-T3-ML", "RC-T3-RR", "RC-T3-TIGHT", "RC-DEC", "RC-UNION"]


@pytest.mark.parametrize("claim_id", IDS)
def test_deciders(claim_id, judged_alike):
    judged_alike(claim_id, "holds")


def release_law(observed, truth, epsilon, stars=5):
    """(rho, chance) of every release of randomized response; observed has 0 where missing."""
    e = math.exp(epsilon)
    for released in itertools.product(range(stars + 1), repeat=len(observed)):
        chance = math.prod((e if z == x else 1) / (e + stars) for x, z in zip(observed, released, strict=True))
        yield math.sqrt(sum((t - z) ** 2 for t, z in zip(truth, released, strict=True) if z)), chance


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize(
    ("observed", "truth"), [((0, 5, 0), (1, 4.5, 5)), ((1, 0, 3), (1, 1, 3)), ((0, 0, 0), (5, 5, 1))]
)
def test_randomized_response_by_enumeration(observed, truth, epsilon):
    rated = sum(x > 0 for x in observed)
    clean = math.sqrt(sum((t - x) ** 2 for t, x in zip(truth, observed, strict=True) if x))
    shape = accuracy.Shape(cells=len(observed), rated=rated, mean_square=1.0, spread=30.0, label="")
    law = list(release_law(observed, truth, epsilon))
    assert sum(chance for _, chance in law) == pytest.approx(1)
    for gamma in (0.01, 0.1, 0.3, 0.6, 0.9):
        printed, sharper, _ = accuracy.excess("response", epsilon, shape, gamma)
        assert sharper < printed
        for bound in (printed, sharper):
            assert sum(chance for rho, chance in law if rho <= clean + bound + 1e-12) >= 1 - gamma
    # The root mean square is exact for noise-free ratings at the ends of the scale.
    if truth[0] == observed[0] or not rated:
        shape = accuracy.Shape(len(observed), rated, 1.0, spread_of(observed), "")
        exact = math.sqrt(sum(chance * rho**2 for rho, chance in law))
        assert exact <= accuracy.excess("response", epsilon, shape)[2] * (1 + 1e-12)
        if not rated:
            assert exact == pytest.approx(accuracy.excess("response", epsilon, shape)[2])


def spread_of(observed):
    rated = [x for x in observed if x]
    return sum((x - j) ** 2 for x in rated for j in range(1, 6)) / max(1, len(rated))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_modified_laplace_by_simulation(epsilon):
    """20,000 releases of 40 cells: the mean square is the stated one within five standard errors, the bound holds."""
    generator = np.random.default_rng(7)
    rated, cells, r = 10, 40, math.exp(epsilon / 2)
    shape = accuracy.Shape(cells, rated, 1.0, 30.0, "")
    noise = generator.laplace(0, 2 / epsilon, (20_000, cells))
    keep = np.where(np.arange(cells) < rated, r / (1 + r), 1 / (1 + r))
    error = np.where(np.arange(cells) < rated, noise, 1 - noise) * (generator.random((20_000, cells)) < keep)
    squares = (error**2).sum(axis=1)
    printed, sharper, exact = accuracy.excess("laplace", epsilon, shape, gamma=0.2)
    assert abs(squares.mean() - exact**2) < 5 * squares.std() / math.sqrt(len(squares))
    assert sharper < printed / math.sqrt(2)
    assert np.mean(np.sqrt(squares) > sharper) < 0.2


def test_shape_without_real_ratings_is_the_published_one():
    shape = accuracy.Shape.of(synthetic())
    assert (shape.cells, shape.rated) == (943 * 1682, 100_000)


@pytest.mark.realdata
def test_shape_of_movielens(movielens):
    shape = accuracy.Shape.of(movielens)
    assert (shape.cells, shape.rated) == (943 * 1682, 100_000)
    assert 0 < shape.mean_square < 1
    assert 10 < shape.spread < 30  # 10 for a rating of 3, 30 for 1 or 5
