"""Determinants as formulas, and the lemmas on them: against NumPy, and falsified."""

import numpy as np
import pytest

from dpassay.proofs.dpp import determinants
from dpassay.proofs.notation import formula
from dpassay.replay.formula import evaluate


def value(text, **values):
    return float(evaluate(formula(text), values))


def numbers(matrix):
    return {
        cell: int(matrix[i, j])
        for i, row in enumerate(determinants.symmetric(len(matrix)))
        for j, cell in enumerate(row)
    }


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_texts_are_determinants(size):
    matrix = np.random.default_rng(size).integers(-5, 6, (size, size))
    matrix = matrix + matrix.T
    row = tuple(f"x{i}" for i in range(size))
    added = {name: i + 1 for i, name in enumerate(row)}
    names = determinants.symmetric(size)
    values = {**numbers(matrix), **added}
    assert value(determinants.determinant(names), **values) == pytest.approx(np.linalg.det(matrix))
    x = np.arange(1, size + 1)
    after = np.linalg.det(matrix + np.outer(x, x) + 2 * np.eye(size))
    text = determinants.determinant(determinants.plus_identity(determinants.plus_row(names, row), "2"))
    assert value(text, **values) == pytest.approx(after)
    for items in determinants.subsets(size):
        expected = np.linalg.det(matrix[np.ix_(items, items)]) if items else 1
        assert value(determinants.minor(names, items), **values) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_lemmas_on_random_kernels(seed):
    """a_Y, a and b as the docstring says, by NumPy."""
    rng = np.random.default_rng(seed)
    jitter, items = 0.3, 5
    rows = rng.normal(size=(3, items))
    kernel = rows.T @ rows + jitter * np.eye(items)
    x = rng.normal(size=items)
    quadratic = {
        items_: x[list(items_)] @ np.linalg.solve(kernel[np.ix_(items_, items_)], x[list(items_)]) if items_ else 0.0
        for items_ in determinants.subsets(items)
    }
    a, b = quadratic[tuple(range(items))], x @ np.linalg.solve(kernel + np.eye(items), x)
    assert np.linalg.det(kernel + np.outer(x, x)) == pytest.approx(np.linalg.det(kernel) * (1 + a))
    for chosen, form in quadratic.items():
        for more in determinants.subsets(items):
            if set(chosen) <= set(more):
                assert form <= quadratic[more] + 1e-9
    assert jitter / (1 + jitter) * a <= b <= x @ x / (1 + jitter)
    assert a <= x @ x / jitter
