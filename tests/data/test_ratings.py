"""Ratings: what is refused, views that agree, synthetic ones."""

import math

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic

NAN = math.nan
BASE = np.array([[5.0, 3.0, NAN], [4.0, NAN, 2.0]])


def arrays(users, items, values):
    return np.array(users), np.array(items), np.array(values, float)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0, 0], [1, 1], [3, 4]), "rated item 1 2 times"),
        (([0, 1], [0, 1], [3, 6]), "outside the scale"),
        (([0, 1], [0, 1], [3, NAN]), "not a number"),
        (([0, 5], [0, 1], [3, 4]), "user indices"),
        (([0, 1], [0], [3, 4]), "lengths"),
        (([], [], []), "empty"),
    ],
)
def test_bad_ratings_are_refused_in_one_line(rows, message):
    users, items, values = arrays(*rows)
    with pytest.raises(InvalidInput, match=message) as caught:
        Ratings(users, items, values, 2, 2)
    assert "\n" not in str(caught.value)


def test_dense_and_sparse_views_agree():
    ratings = Ratings.from_dense(BASE)
    assert len(ratings) == 4
    np.testing.assert_array_equal(ratings.dense(), BASE)
    shuffled = Ratings(ratings.users[::-1], ratings.items[::-1], ratings.values[::-1], 2, 3)
    assert shuffled.fingerprint() == ratings.fingerprint()
    other = BASE.copy()
    other[0, 0] = 4.0
    assert Ratings.from_dense(other).fingerprint() != ratings.fingerprint()


def test_synthetic_ratings_repeat_and_look_like_ratings():
    first, second = synthetic(), synthetic()
    assert first.fingerprint() == second.fingerprint()
    assert first.name == "synthetic"
    assert set(np.unique(first.values)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert np.bincount(first.users).min() >= 20
    assert synthetic(seed=1).fingerprint() != first.fingerprint()
