"""Similarities, sensitivity and prediction against loops over pairs, their ties, and their invariances."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.similarity import (
    floor_norm_cosine,
    floor_norm_cosine_matrix,
    floor_norm_sensitivity,
    overlap_matrix,
    overlaps,
    predict,
    sensitivities,
    sensitivity_matrix,
    similarities,
    similarity_matrix,
    snap,
)

KINDS = ["cosine", "full_cosine", "pearson"]
RATING = st.sampled_from([math.nan, 1.0, 2.0, 3.0, 4.0, 5.0])


def matrices(num_users: int, num_items: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(RATING, min_size=num_users * num_items, max_size=num_users * num_items).map(
        lambda cells: np.array(cells).reshape(num_users, num_items)
    )


def similarity_of_pair(a: np.ndarray, b: np.ndarray, kind: str) -> float:
    both = [s for s in range(len(a)) if not math.isnan(a[s]) and not math.isnan(b[s])]
    if not both:
        return 0.0
    if kind == "pearson":
        a, b = a - np.nanmean(a), b - np.nanmean(b)
    own = kind == "full_cosine"
    norm_a = math.sqrt(sum(a[s] ** 2 for s in (np.flatnonzero(~np.isnan(a)) if own else both)))
    norm_b = math.sqrt(sum(b[s] ** 2 for s in (np.flatnonzero(~np.isnan(b)) if own else both)))
    if norm_a < 1e-9 or norm_b < 1e-9:
        return 0.0
    return sum(a[s] * b[s] for s in both) / (norm_a * norm_b)


def sensitivity_of_pair(a: np.ndarray, b: np.ndarray, kind: str, form: str) -> float:
    both = [s for s in range(len(a)) if not math.isnan(a[s]) and not math.isnan(b[s])]
    items_a = np.flatnonzero(~np.isnan(a)).tolist() if kind == "full_cosine" else both
    items_b = np.flatnonzero(~np.isnan(b)).tolist() if kind == "full_cosine" else both

    def norms(without: int | None) -> float:
        return math.sqrt(sum(a[s] ** 2 for s in items_a if s != without)) * math.sqrt(
            sum(b[s] ** 2 for s in items_b if s != without)
        )

    dot = sum(a[s] * b[s] for s in both)
    largest = 0.0
    for s in both:
        whole, less = norms(None), norms(s)
        if less == 0:
            return math.inf
        second = a[s] * b[s] if form == "printed" else dot
        largest = max(largest, a[s] * b[s] / less, second * (whole - less) / (whole * less))
    return largest


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(matrix=matrices(4, 5))
def test_similarities_are_those_of_the_pairs(kind: Any, matrix: np.ndarray) -> None:
    every = np.asarray(similarity_matrix(matrix, kind))
    for target in range(4):
        others = [row for row in range(4) if row != target]
        expected = [similarity_of_pair(matrix[target], matrix[row], kind) for row in others]
        np.testing.assert_allclose(similarities(matrix, target, kind), expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(every[target, others], similarities(matrix, target, kind))
    np.testing.assert_array_equal(every, every.T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["printed", "dot"])
@settings(max_examples=20, deadline=None)
@given(matrix=matrices(3, 4))
def test_sensitivities_are_those_of_the_pairs(kind: Any, form: Any, matrix: np.ndarray) -> None:
    expected = [sensitivity_of_pair(matrix[0], matrix[row], kind, form) for row in (1, 2)]
    np.testing.assert_allclose(sensitivities(matrix, 0, kind, form), expected, rtol=1e-12)
    np.testing.assert_allclose(sensitivity_matrix(matrix, kind, form)[0, 1:], expected, rtol=1e-12)


def test_sensitivity_by_hand() -> None:
    """a = (3, 4), i = (4, 3) and a third item of i: without item 0 the co-rated norms are 4 and 3, with it 5 and 5."""
    matrix = [[3, 4, np.nan], [4, 3, 2]]
    printed = max(12 / 12, 12 / 12, 12 * (25 - 12) / (25 * 12))
    assert float(sensitivities(matrix)[0]) == pytest.approx(printed, rel=1e-14)
    dot = 24 * (25 - 12) / (25 * 12)
    assert float(sensitivities(matrix, form="dot")[0]) == pytest.approx(max(1, dot), rel=1e-14)
    own = max(12 / (4 * math.sqrt(13)), 12 / (3 * math.sqrt(20)))
    assert float(sensitivities(matrix, similarity="full_cosine")[0]) == pytest.approx(own, rel=1e-14)
    assert float(sensitivities([[3, np.nan], [4, 2]])[0]) == math.inf
    assert float(sensitivities([[3, np.nan], [np.nan, 2]])[0]) == 0


@settings(max_examples=50, deadline=None)
@given(matrix=matrices(4, 5), factor=st.integers(2, 7))
def test_cosines_ignore_the_scale_of_a_user_to_the_last_bit(matrix: np.ndarray, factor: int) -> None:
    scaled = matrix.copy()
    scaled[2] *= factor
    for kind in ("cosine", "full_cosine"):
        np.testing.assert_array_equal(similarities(scaled, 0, kind), similarities(matrix, 0, kind))


@settings(max_examples=50, deadline=None)
@given(matrix=matrices(4, 5), shift=st.integers(-3, 3))
def test_pearson_ignores_a_shift_to_the_last_bit(matrix: np.ndarray, shift: int) -> None:
    shifted = matrix.copy()
    shifted[2] += shift
    np.testing.assert_array_equal(similarities(shifted, 0, "pearson"), similarities(matrix, 0, "pearson"))


def test_equal_similarities_are_equal_floats() -> None:
    """Candidates with different ratings and the same cosine; a plain quotient of norms separates some of them."""
    target = [1.0, 2.0, 3.0]
    same = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 2.0], [2.0, 4.0, 4.0], [3.0, 6.0, 6.0], [5.0, 10.0, 10.0]])
    values = np.asarray(similarities([target, *same]))
    assert len(set(values[1:].tolist())) == 1
    one_item = np.asarray(similarities([[3.0, np.nan], [1.0, 2.0], [5.0, np.nan], [0.1, 1.0], [0.7, np.nan]]))
    np.testing.assert_array_equal(one_item[[0, 1]], 1.0)
    assert len(set(np.asarray(snap(jnp.asarray(one_item))).tolist())) == 1


def test_snap_joins_what_rounding_separated_and_nothing_else() -> None:
    values = np.array([0.3, 0.5 + 4e-13, 0.5, 0.3 + 1e-9, 0.5 + 8e-13])
    with jax.enable_x64(True):
        joined = np.asarray(snap(jnp.asarray(values)))
    np.testing.assert_array_equal(joined, [0.3, 0.5 + 8e-13, 0.5 + 8e-13, 0.3 + 1e-9, 0.5 + 8e-13])


@settings(max_examples=300, deadline=None)
@given(matrix=matrices(2, 4), user=st.integers(0, 1), item=st.integers(0, 3), rating=RATING, floor=st.floats(0.5, 12))
def test_floor_norm_cosine_moves_within_its_bound(
    matrix: np.ndarray, user: int, item: int, rating: float, floor: float
) -> None:
    neighbor = matrix.copy()
    neighbor[user, item] = rating
    move = abs(floor_norm_cosine(matrix, norm_floor=floor) - floor_norm_cosine(neighbor, norm_floor=floor))[0]
    assert float(move) <= floor_norm_sensitivity(floor) + 1e-12


def test_floor_norm_bound_is_tight_and_clipping_is_needed_for_it() -> None:
    one, none = np.array([[5.0], [5.0]]), np.array([[5.0], [np.nan]])
    for floor in (5.0, 8.0, 20.0):
        move = float(floor_norm_cosine(one, norm_floor=floor)[0] - floor_norm_cosine(none, norm_floor=floor)[0])
        assert move == pytest.approx(floor_norm_sensitivity(floor), rel=1e-14)
        assert move > 0.99 * floor_norm_sensitivity(floor)
    huge = floor_norm_cosine([[5.0], [500.0]], norm_floor=20.0)[0]
    assert float(huge) == pytest.approx(floor_norm_sensitivity(20.0), rel=1e-14)
    unclipped = floor_norm_cosine([[5.0], [500.0]], norm_floor=20.0, max_rating=500.0)[0]
    assert float(unclipped) > floor_norm_sensitivity(20.0)


def test_matrices_agree_with_rows() -> None:
    generator = np.random.default_rng(1)
    matrix = generator.integers(1, 6, (6, 8)).astype(float)
    matrix[generator.random(matrix.shape) < 0.5] = np.nan
    cosine = np.asarray(floor_norm_cosine_matrix(matrix, norm_floor=7.0))
    counts = np.asarray(overlap_matrix(matrix))
    for target in range(6):
        others = np.arange(6) != target
        np.testing.assert_array_equal(cosine[target, others], floor_norm_cosine(matrix, target, norm_floor=7.0))
        np.testing.assert_array_equal(counts[target, others], overlaps(matrix, target))


def test_prediction_by_hand() -> None:
    assert float(predict(np.array([0.5, 1.0, 0.25]), np.array([4.0, 1.0, np.nan]))) == pytest.approx(3 / 1.5, rel=1e-6)
    assert float(predict(np.array([-0.5, 1.0]), np.array([4.0, 4.0]))) == pytest.approx(2 / 1.5, rel=1e-6)
    assert math.isnan(float(predict(np.array([0.5]), np.array([np.nan]))))
    assert math.isnan(float(predict(np.array([0.0]), np.array([3.0]))))


def test_unknown_choices_are_refused() -> None:
    with pytest.raises(InvalidInput, match="full_cosine"):
        similarities([[1.0], [2.0]], similarity="euclid")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="printed"):
        sensitivities([[1.0], [2.0]], form="global")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="rows 0 to 1"):
        similarities([[1.0], [2.0]], target=2)
    with pytest.raises(InvalidInput, match="matrix"):
        similarities([1.0, 2.0])
