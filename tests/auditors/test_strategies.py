import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from dpassay.auditors.strategies import neighboring_pairs, rating_matrices
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation

RELATIONS = [
    "add_or_remove_one:rating",
    "replace_one:rating",
    "add_or_remove_one:user",
    "replace_one:user",
    "replace_one:entry",
]


@given(rating_matrices(users=(2, 4), items=(2, 3), scale=(0, 1), min_ratings=2))
def test_matrices_keep_their_promises(matrix):
    assert 2 <= matrix.shape[0] <= 4
    assert 2 <= matrix.shape[1] <= 3
    assert set(matrix[~np.isnan(matrix)]) <= {0.0, 1.0}
    assert ((~np.isnan(matrix)).sum(axis=1) >= 2).all()


@given(rating_matrices(users=3, items=2, missing=False))
def test_full_matrices(matrix):
    assert matrix.shape == (3, 2)
    assert not np.isnan(matrix).any()


@settings(deadline=None)
@given(st.data(), st.sampled_from(RELATIONS))
def test_pairs_are_neighbors(data, text):
    first, second = data.draw(neighboring_pairs(text))
    assert NeighboringRelation.parse(text).changed(first, second)


def test_pairs_come_in_both_orders():
    relation = NeighboringRelation.parse("add_or_remove_one:rating")
    fuller = find(neighboring_pairs(relation), lambda pair: np.isnan(pair[0]).sum() < np.isnan(pair[1]).sum())
    emptier = find(neighboring_pairs(relation), lambda pair: np.isnan(pair[0]).sum() > np.isnan(pair[1]).sum())
    np.testing.assert_array_equal(fuller[0], emptier[1])
    np.testing.assert_array_equal(fuller[1], emptier[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rating_matrices(users=0), "users runs from 0 to 0"),
        (lambda: rating_matrices(items=(3, 2)), "items runs from 3 to 2"),
        (lambda: rating_matrices(scale=()), "scale is empty"),
        (lambda: rating_matrices(items=1, min_ratings=2), "min_ratings is 2 with 1 items"),
        (lambda: find(neighboring_pairs("replace_one:rating", scale=(3,)), lambda _: True), "one rating only"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
