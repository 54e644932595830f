import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.alterego import alterego

_ = np.nan


def test_mean_of_several_sources_and_own_ratings_stay():
    ratings = np.array([[5, 2, 4, _, 1], [_, 3, _, _, _], [_, _, _, 2, _]])
    found = np.asarray(alterego(ratings, [3, 3, -1]))
    np.testing.assert_array_equal(found, [[3.5, 1], [3, _], [2, _]])
    found = np.asarray(alterego(ratings, [4, 4, 3]))
    np.testing.assert_array_equal(found, [[4, 1], [_, 3], [2, _]])


def test_literal_reading():
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (20, 9)).astype(float)
    ratings[rng.random(ratings.shape) < 0.5] = np.nan
    replacements = rng.integers(5, 9, 5)
    replacements[2] = -1
    found = np.asarray(alterego(ratings, replacements))
    for user, row in enumerate(ratings):
        for target in range(5, 9):
            mapped = [row[s] for s in range(5) if replacements[s] == target and not np.isnan(row[s])]
            expected = row[target] if not np.isnan(row[target]) else np.mean(mapped) if mapped else np.nan
            assert found[user, target - 5] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("replacements", [[0, 3], [1, 5], [-2, 4], [3, 3, 3, 3, 3], [[3]]])
def test_bad_replacements(replacements):
    with pytest.raises(InvalidInput):
        alterego(np.ones((2, 5)), replacements)
