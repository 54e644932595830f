"""Item similarities and sensitivities against literal loops."""

import math

import numpy as np
import pytest

from dpassay.mechanisms.item_similarity import (
    item_sensitivities,
    item_similarities,
    normalized_similarities,
    quantified_items,
    ratings_by_item,
    released_sensitivities,
)

NAN = np.nan


def datasets(number=12, users=6, items=4):
    rng = np.random.default_rng(5)
    for index in range(number):
        matrix = rng.integers(1, 6 if index % 2 else 3, (users, items)).astype(float)
        matrix[rng.random(matrix.shape) < 0.4] = NAN
        yield matrix


def columns(matrix, similarity):
    rows = [
        row - (row[~np.isnan(row)].mean() if similarity == "adjusted_cosine" and (~np.isnan(row)).any() else 0)
        for row in matrix
    ]
    return [
        {u: 0.0 if abs(row[i]) < 1e-12 else row[i] for u, row in enumerate(rows) if not np.isnan(row[i])}
        for i in range(matrix.shape[1])
    ]


def cosine(a, b, norms):
    """Cosine of two columns, {user: value}; None where it is not defined."""
    both = a.keys() & b.keys()
    one, two = ({u: c[u] for u in both} if norms == "co_raters" else c for c in (a, b))
    norm = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in two.values()))
    return sum(a[u] * b[u] for u in both) / norm if both and norm else None


@pytest.mark.parametrize("norms", ["all", "co_raters"])
@pytest.mark.parametrize("similarity", ["adjusted_cosine", "cosine"])
def test_similarities_and_sensitivities(similarity, norms):
    infinite = 0
    for matrix in datasets():
        each = columns(matrix, similarity)
        expected = [cosine(each[1], each[j], norms) for j in (0, 2, 3)]
        found = np.asarray(item_similarities(matrix, 1, similarity, norms))
        np.testing.assert_allclose(found, [value or 0.0 for value in expected], rtol=0, atol=1e-12)
        quantified = np.asarray(quantified_items(matrix, 1, similarity, norms))
        assert quantified.tolist() == [value is not None for value in expected]
        changes = np.asarray(item_sensitivities(matrix, 1, similarity, norms))
        for change, j in zip(changes, (0, 2, 3), strict=True):
            literal = sensitivity(each[1], each[j], norms)
            infinite += math.isinf(literal)
            assert change == pytest.approx(literal, abs=1e-12)
    assert 0 < infinite < 36


def sensitivity(a, b, norms):
    """SS of Theorem 2: the larger of both terms over the co-raters."""
    both = a.keys() & b.keys()
    one, two = ({u: c[u] for u in both} if norms == "co_raters" else c for c in (a, b))
    dot = sum(a[u] * b[u] for u in both)
    norm = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in two.values()))
    terms = [0.0] if not both else []
    for u in both:
        rest = math.prod(sum(v * v for w, v in c.items() if w != u) for c in (one, two))
        if rest == 0:
            return math.inf
        terms += [a[u] * b[u] / math.sqrt(rest), dot / math.sqrt(rest) - dot / norm]
    return max(terms)


@pytest.mark.parametrize("cap", [1, 2, 50])
def test_significance_and_released_sensitivity(cap):
    for matrix in datasets():
        each = columns(matrix, "cosine")
        found = np.asarray(item_similarities(matrix, 1, "cosine", "all", cap))
        changes = np.asarray(released_sensitivities(matrix, 1, cap))
        for score, change, j in zip(found, changes, (0, 2, 3), strict=True):
            both = each[1].keys() & each[j].keys()
            whole = (cosine(each[1], each[j], "all") or 0.0) * min(len(both), cap) / cap
            assert score == pytest.approx(whole, abs=1e-12)
            moved = [0.0]
            for u in both:
                dot = sum(each[1][v] * each[j][v] for v in both if v != u)
                for one, two in ((each[1], each[j]), (each[j], each[1])):
                    norm = math.sqrt(sum(v * v for w, v in one.items() if w != u) * sum(v * v for v in two.values()))
                    left = dot / norm if norm else 0.0
                    moved.append(abs(left * min(len(both) - 1, cap) / cap - whole))
            assert change == pytest.approx(max(moved), abs=1e-12)


def test_normalized_similarity_moves_by_its_bound_at_most():
    largest = 0.0
    for matrix in datasets(20):
        for user in range(len(matrix)):
            without = matrix.copy()
            without[user] = NAN
            moved = normalized_similarities(matrix, 0, 1.5) - normalized_similarities(without, 0, 1.5)
            largest = max(largest, float(np.max(np.abs(moved))))
    assert 0.3 < largest <= 1 / 3 + 1e-12
    # Attained by a user with two opposite ratings, and clipped.
    pair = np.array([[1.0, 5.0]])
    assert float(normalized_similarities(pair, 0, 1.5)[0]) == pytest.approx(-1 / 3)
    assert float(normalized_similarities(np.repeat(pair, 9, axis=0), 0, 1.5)[0]) == -1


def test_a_rating_at_the_mean_is_exactly_zero():
    matrix = np.array([[1.0, 2.0, 3.0], [NAN, NAN, NAN], [4.0, NAN, NAN]])
    np.testing.assert_array_equal(ratings_by_item(matrix).T, [[-1, 0, 1], [NAN] * 3, [0, NAN, NAN]])
