"""PNSA by hand, and the repair's claim on everything small."""

import itertools
import math

import jax
import numpy as np
import pytest

from dpassay.core.numerics import float64
from dpassay.mechanisms import mechanism

NAN = np.nan


def test_weights_by_hand():
    # Two users agree on items 0 and 1: similarity 1, SS = 1; item 2 shares no rater: exponent 0.
    ratings = np.array([[1, 1, NAN], [1, 1, NAN], [NAN, NAN, 3]])
    built = mechanism("pnsa", similarity="cosine", num_neighbors=1, epsilon=2.0)
    np.testing.assert_allclose(built.log_weights(ratings), [2 / 4, 0], rtol=1e-12)
    floor = built.soft_floor(ratings)
    # The bound (4 / 2) ln 2 exceeds sim_k = 1, so w = sim_k.
    assert (float(floor.kth), float(floor.width)) == (1.0, 1.0)
    np.testing.assert_allclose(built.candidate_sensitivities(ratings), [1, 0])


def test_floor_raises_what_lies_below():
    ratings = np.full((102, 3), NAN)
    ratings[:101, :2] = 1
    ratings[101, 2] = ratings[0, 2] = 1
    built = mechanism("pnsa", similarity="cosine", num_neighbors=1, rho=0.5)
    kth, width = map(float, built.soft_floor(ratings))
    assert kth == pytest.approx(1)
    assert width == pytest.approx(4 * math.sqrt(1 / 100) * math.log(2))
    np.testing.assert_allclose(built.log_weights(ratings), [100 / 4, (1 - width) / (4 * 0.1)], rtol=1e-12)


def test_released_code_never_truncates_and_lists_co_rated_items_only():
    ratings = np.array([[1, 1, NAN, 5], [1, 1, NAN, NAN], [NAN, NAN, 3, NAN]])
    built = mechanism("pnsa", "released", num_neighbors=1, significance_cap=1)
    logs = np.asarray(built.log_weights(ratings))
    assert np.isneginf(logs[1])
    np.testing.assert_allclose(np.exp(built.log_prob([2], ratings)), 0)
    # Item 3: similarity 1/sqrt 2, which leaves with its only co-rater.
    assert logs[2] == pytest.approx(1 / 4)


def every_pair(users, items, levels):
    """Datasets, each with one user emptied."""
    rows = [row for row in itertools.product((NAN, *levels), repeat=items)]
    for chosen in itertools.combinations_with_replacement(rows, users):
        matrix = np.array(chosen)
        for user in range(users):
            if not np.isnan(matrix[user]).all():
                without = matrix.copy()
                without[user] = NAN
                yield matrix, without


@pytest.mark.parametrize(
    ("parameters", "least"),
    [
        ({"num_neighbors": 1, "threshold": 0.25, "width": 5.0}, 0.3),
        ({"num_neighbors": 2, "threshold": 0.5, "width": 5.0}, 0.2),
        ({"num_neighbors": 1, "similarity": "cosine", "width": 0.125}, 0.04),
    ],
)
def test_the_repair_keeps_its_claim_on_everything_small(parameters, least):
    built = mechanism("pnsa", "repaired", epsilon=2.0, **parameters)
    firsts, seconds = map(np.array, zip(*every_pair(2, 4, (1.0, 4.0)), strict=True))
    outputs = built.outputs(firsts[0])
    each = float64(jax.jit(jax.vmap(jax.vmap(built.log_prob, (0, None)), (None, 0))))
    losses = np.abs(np.asarray(each(outputs, firsts)) - np.asarray(each(outputs, seconds)))
    assert least < losses.max() <= built.claim.epsilon + 1e-12


def test_movielens_size(movielens):
    matrix = movielens.dense()
    built = mechanism("pnsa", num_neighbors=10, target=49)
    members = jax.vmap(built.sample, (0, None))(jax.random.split(jax.random.key(0), 3), matrix)
    assert members.shape == (3, 10)
    assert (np.diff(members) > 0).all()
