import dataclasses
import json
import math
from typing import Any

import jax
import numpy as np
import pytest

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import NuclearNormCompletion, describe, mechanism

SHAPE = (14, 11)
TIGHT: dict[str, Any] = {"max_rank": 11, "tolerance": 1e-9, "max_iterations": 20_000}


def low_rank(seed: int = 0, rank: int = 2, noise: float = 0.3, observed: float = 0.6) -> np.ndarray:
    generator = np.random.default_rng(seed)
    full = generator.normal(size=(SHAPE[0], rank)) @ generator.normal(size=(rank, SHAPE[1]))
    full = full + noise * generator.normal(size=SHAPE)
    return np.where(generator.random(SHAPE) < observed, full, np.nan)


def optimality_gap(matrix: np.ndarray, target: np.ndarray, penalty: float) -> float:
    """How far P(Z - M) / lambda is from the subgradients U V' + W, ||W|| <= 1, of the nuclear norm at M."""
    gradient = np.where(np.isnan(target), 0.0, np.nan_to_num(target) - matrix) / penalty
    left, values, right = np.linalg.svd(matrix)
    rank = int((values > 1e-6).sum())
    u, v = left[:, :rank], right[:rank].T
    on = np.abs(u.T @ gradient - v.T).max(), np.abs(gradient @ v - u).max()
    outside = gradient - u @ (u.T @ gradient) - (gradient - u @ (u.T @ gradient)) @ v @ v.T
    return float(max(*on, np.linalg.norm(outside, 2) - 1))


def reference(target: np.ndarray, penalty: float, weights: np.ndarray | None = None, steps: int = 4000) -> np.ndarray:
    """Plain proximal steps with full decompositions; the weights lie in [0, 1]."""
    weights = np.where(np.isnan(target), 0.0, 1.0 if weights is None else weights)
    matrix = np.zeros(target.shape)
    for _ in range(steps):
        moved = matrix + weights * (np.nan_to_num(target) - matrix)
        left, values, right = np.linalg.svd(moved, full_matrices=False)
        matrix = left * np.maximum(values - penalty, 0) @ right
    return matrix


def objective(matrix: np.ndarray, target: np.ndarray, penalty: float) -> float:
    squares = np.nansum((np.asarray(matrix, float) - target) ** 2)
    return float(squares / 2 + penalty * np.linalg.svd(matrix, compute_uv=False).sum())


@pytest.mark.parametrize("penalty", [0.5, 2.0])
def test_solution_is_the_convex_program_s(penalty: float) -> None:
    target = low_rank()
    found = NuclearNormCompletion(penalty=penalty, **TIGHT).complete(target)
    assert optimality_gap(np.asarray(found.matrix), target, penalty) < 1e-6
    assert optimality_gap(np.asarray(found.matrix), target, penalty * 1.01) > 1e-3
    np.testing.assert_allclose(found.matrix, reference(target, penalty), atol=1e-6)


def test_radius_is_met_by_the_constrained_program() -> None:
    target = low_rank(1)
    radius = 2.5
    found = NuclearNormCompletion(radius=radius, **TIGHT).complete(target)
    assert 0.99 * radius < float(found.residual) <= radius
    assert optimality_gap(np.asarray(found.matrix), target, float(found.penalty)) < 1e-6
    # No smaller nuclear norm is feasible: a smaller one leaves a larger residual.
    looser = NuclearNormCompletion(radius=radius * 1.2, **TIGHT).complete(target)
    assert np.asarray(looser.singular_values).sum() < np.asarray(found.singular_values).sum()
    norm = np.linalg.norm(np.nan_to_num(target))
    nothing = NuclearNormCompletion(radius=float(norm) + 1, **TIGHT).complete(target)
    np.testing.assert_array_equal(nothing.matrix, np.zeros(SHAPE))


@pytest.mark.parametrize("penalty", [0.5, 1.5, 4.0])
def test_the_default_stop_is_within_a_percent_of_the_best_objective(penalty: float) -> None:
    generator = np.random.default_rng(7)
    full = generator.normal(size=(40, 3)) @ generator.normal(size=(3, 30)) + 0.5 * generator.normal(size=(40, 30))
    target = np.where(generator.random(full.shape) < 0.3, full, np.nan)
    best = objective(reference(target, penalty, steps=1500), target, penalty)
    found = NuclearNormCompletion(penalty=penalty, precision="single").complete(target)
    assert objective(np.asarray(found.matrix), target, penalty) <= 1.01 * best
    assert float(found.singular_values[-1]) == 0 or len(found.singular_values) == 30  # the subspace held all of it
    cut = NuclearNormCompletion(penalty=penalty, precision="single", max_rank=1).complete(target)
    assert objective(np.asarray(cut.matrix), target, penalty) > 1.01 * best  # the check can fail


def test_weights_are_of_squared_errors() -> None:
    target = low_rank(4)
    weights = np.random.default_rng(4).uniform(0.2, 1.0, SHAPE)
    found = NuclearNormCompletion(penalty=0.7, **TIGHT).complete(target, weights)
    np.testing.assert_allclose(found.matrix, reference(target, 0.7, weights), atol=1e-6)
    doubled = NuclearNormCompletion(penalty=1.4, **TIGHT).complete(target, 2 * weights)
    np.testing.assert_allclose(doubled.matrix, found.matrix, atol=1e-6)
    squares = weights * (np.asarray(found.matrix) - target) ** 2
    assert float(found.residual) == pytest.approx(math.sqrt(np.nansum(squares)))


@pytest.mark.parametrize(("weights", "mends"), [(np.ones((2, 2)), "one per cell"), (-np.ones(SHAPE), ">= 0")])
def test_unusable_weights_get_one_clear_line(weights: np.ndarray, mends: str) -> None:
    with pytest.raises(InvalidInput, match=mends):
        NuclearNormCompletion().complete(low_rank(), weights)


def test_a_low_rank_matrix_is_recovered_without_noise() -> None:
    generator = np.random.default_rng(3)
    full = generator.uniform(1, 2, size=(40, 1)) @ generator.uniform(-2, -1, size=(1, 30))
    target = np.where(generator.random((40, 30)) < 0.7, full, np.nan)
    built = NuclearNormCompletion(penalty=0.1, max_rank=10, tolerance=1e-8, max_iterations=5000)
    found = np.asarray(built.complete(target).matrix)
    assert np.linalg.norm(found - full) < 0.02 * np.linalg.norm(full)


def test_centering_is_undone() -> None:
    target = low_rank(2) + 5
    centered = NuclearNormCompletion(penalty=1.0, center=True, **TIGHT).complete(target)
    mean = np.nanmean(target)
    plain = NuclearNormCompletion(penalty=1.0, **TIGHT).complete(target - mean)
    np.testing.assert_allclose(centered.matrix, np.asarray(plain.matrix) + mean, atol=1e-8)


def test_conforms() -> None:
    built = NuclearNormCompletion(penalty=2.0)
    conforms = isinstance(built, dp.Mechanism)
    assert conforms
    assert hash(built) == hash(dataclasses.replace(built))
    description = json.loads(json.dumps(describe(built)))
    assert mechanism(description["id"], description["variant"], **description["parameters"]) == built
    assert built.claim.epsilon == math.inf
    target = low_rank()
    one, two = (np.asarray(built.sample(jax.random.key(seed), target)) for seed in (0, 1))
    np.testing.assert_array_equal(one, two)
    ratings = Ratings.from_dense(np.clip(target, -1, 1), scale=(-1, 1))
    np.testing.assert_array_equal(built.sample(None, ratings), built.sample(None, np.clip(target, -1, 1)))


@pytest.mark.parametrize(
    ("parameters", "dataset", "mends"),
    [
        ({"penalty": 0.0}, None, "> 0"),
        ({"radius": -1.0}, None, "> 0"),
        ({"max_rank": 0}, None, ">= 1"),
        ({"tolerance": 0.0}, None, "> 0"),
        ({"max_iterations": 0}, None, ">= 1"),
        ({"precision": "half"}, None, "use one of double, single"),
        ({}, np.ones(3), "matrix"),
        ({}, np.full((2, 2), np.nan), "at least one"),
    ],
)
def test_bad_input_gets_one_clear_line(parameters: dict[str, Any], dataset: Any, mends: str) -> None:
    with pytest.raises(InvalidInput, match=mends) as caught:
        mechanism("nuclear_norm_completion", **parameters).complete(dataset)
    assert "\n" not in str(caught.value)


def test_movielens_is_completed_as_well_as_by_the_known_library(movielens: Ratings) -> None:
    dense = movielens.dense()
    cells = np.argwhere(~np.isnan(dense))
    held = tuple(np.random.default_rng(0).permutation(cells)[:10_000].T)
    train = dense.copy()
    train[held] = np.nan
    found = np.asarray(NuclearNormCompletion(center=True, precision="single").complete(train).matrix)
    error = np.clip(found[held], 1, 5) - dense[held]
    assert math.sqrt((error**2).mean()) < 0.95  # soft-impute of fancyimpute 0.7: .944 to .947 over its settings
