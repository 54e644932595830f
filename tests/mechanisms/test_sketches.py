"""The sketches of PriCDR: their linear algebra, their laws, bad input. All six mechanisms of ids jlt and sjlt."""

import dataclasses
import json
import math
from typing import Any

import jax
import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import chi2

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import describe, jlt, mechanism, sjlt, sketch_profile

ALPHA = 1e-6
"""Probability that a correct sampler fails one test, over the choice of its key; keys are fixed."""

IDS = [(id, variant) for id in ("jlt", "sjlt") for variant in ("paper", "released", "repaired")]
_ = np.nan
TALL = np.array([[1.0, 0, 1], [_, 1, 1], [1, 1, 0], [0, 0, 1], [1, _, 0]])


def covariance(matrix: np.ndarray, noise: float) -> np.ndarray:
    return matrix.T @ matrix + noise**2 * np.eye(matrix.shape[1])


def samples(built: Any, dataset: np.ndarray, number: int) -> np.ndarray:
    keys = jax.random.split(jax.random.key(20261121), number)
    return np.asarray(jax.jit(jax.vmap(built.sample, (0, None)))(keys, dataset))


def whitened_misfit(rows: np.ndarray, expected: np.ndarray) -> float:
    """p-value that Gaussian rows have this covariance: each squared whitened coordinate is chi^2, all independent."""
    root = np.linalg.cholesky(expected)
    white = np.linalg.solve(root, rows.T)
    total, degrees = (white**2).sum(), white.size
    pairs = white @ white.T / math.sqrt(white.shape[1])
    off = np.triu_indices(len(white), 1)
    extremes = [chi2.sf(total, degrees), chi2.cdf(total, degrees), *chi2.sf(pairs[off] ** 2, 1)]
    return min(extremes) * len(extremes)


@pytest.mark.parametrize(("id", "variant"), IDS)
class TestProtocol:
    def test_conforms(self, id: str, variant: str) -> None:
        built = mechanism(id, variant)
        conforms = isinstance(built, dp.Mechanism)
        assert conforms
        assert hash(built) == hash(dataclasses.replace(built))
        description = json.loads(json.dumps(describe(built)))
        assert mechanism(description["id"], description["variant"], **description["parameters"]) == built
        assert built.claim.epsilon == built.epsilon
        assert built.claim.delta == built.delta

    def test_jit_is_no_jit_and_repeats(self, id: str, variant: str) -> None:
        built = mechanism(id, variant, num_rows=4)
        key = jax.random.key(3)
        first = np.asarray(built.sample(key, TALL))
        assert first.shape == (4, 3)
        assert first.dtype == np.float64
        np.testing.assert_allclose(np.asarray(jax.jit(built.sample)(key, TALL)), first, rtol=1e-9)
        assert not np.allclose(first, built.sample(jax.random.key(4), TALL))

    def test_chunks_do_not_change_the_shape(self, id: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jlt, "CHUNK", 3)
        built = mechanism(id, variant, num_rows=7)
        assert np.isfinite(built.sample(jax.random.key(0), TALL)).all()
        assert jlt.row_chunks(7) == (3, 3)

    @pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((0, 3)), np.array([[1.0, np.inf]])])
    def test_bad_dataset(self, id: str, variant: str, bad: np.ndarray) -> None:
        with pytest.raises(InvalidInput):
            mechanism(id, variant).sample(jax.random.key(0), bad)

    @pytest.mark.parametrize("bad", [{"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"num_rows": 0}, {"num_rows": 2.5}])
    def test_bad_parameters(self, id: str, variant: str, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            mechanism(id, variant, **bad)


def test_more_bad_parameters() -> None:
    for id, variant, bad in (
        ("jlt", "repaired", {"max_change": 0}),
        ("jlt", "repaired", {"protect": "item"}),
        ("jlt", "repaired", {"max_raters": 3, "num_rows": 5}),
        ("jlt", "repaired", {"max_raters": 3, "protect": "user"}),
        ("sjlt", "paper", {"density": 1.5}),
        ("sjlt", "paper", {"hadamard": "fast"}),
        ("sjlt", "repaired", {"num_nonzeros": 3}),
    ):
        with pytest.raises(InvalidInput):
            mechanism(id, variant, **bad)
    with pytest.raises(InvalidInput, match="set max_raters to 2"):
        mechanism("jlt", "repaired", max_raters=1).sample(jax.random.key(0), TALL)


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
def test_lifting_moves_only_singular_values(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(1).normal(size=shape)
    with jax.enable_x64(True):
        lifted = np.asarray(jlt.lifted(jax.numpy.asarray(matrix), 3.0))
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(lifted, (left * np.sqrt(values**2 + 9)) @ right, atol=1e-10)


def test_lifting_a_centered_matrix_fills_its_null_space() -> None:
    with jax.enable_x64(True):
        rows = jlt.centered(jlt.read_matrix(TALL))
        np.testing.assert_allclose(np.sum(rows, axis=1), 0, atol=1e-12)
        lifted = np.asarray(jlt.lifted(rows, 2.0))
    np.testing.assert_allclose(lifted.T @ lifted, covariance(np.asarray(rows), 2.0), atol=1e-10)


def test_gaussian_sketch_has_the_additive_law_when_items_are_enough() -> None:
    built = mechanism("jlt", epsilon=400.0, delta=0.1, num_rows=2)
    rows = samples(built, TALL, 5000) * math.sqrt(2)
    matrix = np.nan_to_num(TALL)
    expected = covariance(matrix - matrix.mean(1, keepdims=True), built.noise)
    assert whitened_misfit(rows.reshape(-1, 3), expected) > ALPHA
    assert whitened_misfit(rows.reshape(-1, 3), covariance(matrix, built.noise)) < ALPHA


def test_gaussian_sketch_of_two_more_users_than_items_shows_the_row_space() -> None:
    one, other = np.array([[1.0, 0, 0]]), np.array([[1.0, 1, 0]])
    built = mechanism("jlt", num_rows=3)
    outputs = [np.asarray(built.sample(jax.random.key(5), dataset)) for dataset in (one, other)]
    np.testing.assert_allclose(outputs[0][:, 1], outputs[0][:, 2], rtol=1e-9)
    assert (np.abs(outputs[1][:, 1] - outputs[1][:, 2]) > 1).all()


def test_released_gaussian_sketch_subtracts_the_wrong_mean() -> None:
    built = mechanism("jlt", "released", epsilon=50.0, delta=0.1, num_rows=2)
    assert built.noise == pytest.approx(1 / (math.sqrt(50 / (2 * math.log(160)) + 0.25) - 0.5))
    rows = samples(built, TALL, 5000) * math.sqrt(2)
    matrix = np.nan_to_num(TALL)
    expected = covariance(matrix - matrix.sum(1, keepdims=True) / 5, built.noise)
    assert whitened_misfit(rows.reshape(-1, 3), expected) > ALPHA


@pytest.mark.parametrize("changes", [{}, {"max_raters": 2}, {"protect": "user", "max_change": 1.2}])
def test_additive_sketch(changes: dict[str, Any]) -> None:
    built = mechanism("jlt", "repaired", epsilon=5.0, delta=0.1, num_rows=2, **changes)
    rows = samples(built, TALL * 1.5, 5000) * math.sqrt(2)
    bounded = np.nan_to_num(TALL)
    if "protect" in changes:
        bounded = 1.2 * bounded / np.sqrt((bounded**2).sum(0))
        assert built.noise == 1.2 * sketch_profile.required_noise(5.0, 0.1, 2)
        assert built.claim.relation == dp.NeighboringRelation("add_or_remove_one", "user")
    assert whitened_misfit(rows.reshape(-1, 3), covariance(bounded, built.noise)) > ALPHA


@pytest.mark.parametrize("size", [3, 4, 6])
def test_hadamard(size: int) -> None:
    next_power = 1 << (size - 1).bit_length()
    full = hadamard(next_power)
    np.testing.assert_allclose(sjlt.hadamard_transform(np.eye(size)), full[:, :size] / math.sqrt(next_power))
    bits = np.array([[bin(i & j).count("1") % 2 for j in range(size)] for i in range(size)])
    printed = (-1.0) ** bits / math.sqrt(size)
    np.testing.assert_allclose(sjlt.hadamard_transform(np.eye(size), "formula"), printed)
    assert np.allclose(printed.T @ printed, np.eye(size)) == (size == next_power)


def test_sparse_sketch_second_moments() -> None:
    """E[row' row] is R1' R1, with the printed H as well: D makes its cross terms vanish."""
    built = mechanism("sjlt", epsilon=400.0, delta=0.1, num_rows=40, density=0.3, hadamard="formula")
    matrix = np.nan_to_num(TALL)
    expected = covariance(matrix - matrix.mean(1, keepdims=True), built.noise)
    products = np.einsum("sri,srj->sij", *[samples(built, TALL, 2000)] * 2)
    error = (products.mean(0) - expected) / (products.std(0) / math.sqrt(len(products)))
    assert chi2.sf((error**2).max(), 1) * error.size > ALPHA


def test_sparse_rows_vanish_when_the_mask_is_empty() -> None:
    built = mechanism("sjlt", num_rows=400, density=0.05)
    empty = (np.asarray(built.sample(jax.random.key(1), TALL)) == 0).all(1).sum()
    expected = 0.95**8  # five items padded to eight
    assert abs(empty - 400 * expected) < 5.2 * math.sqrt(400 * expected * (1 - expected))


def test_released_sparse_sketch_is_discrete_and_scaled_twice() -> None:
    built = mechanism("sjlt", "released", num_rows=2, density=0.5)
    outputs = samples(built, TALL[:3], 3000)
    rows = np.unique(np.round(outputs.reshape(-1, 3), 6), axis=0)
    assert len(rows) <= 3**3
    matrix = np.nan_to_num(TALL[:3])
    lifted = covariance(matrix - matrix.sum(1, keepdims=True) / 3, built.noise)
    products = np.einsum("sri,srj->sij", outputs, outputs)
    error = (products.mean(0) - lifted / 2) / (products.std(0) / math.sqrt(len(products)))
    assert chi2.sf((error**2).max(), 1) * error.size > ALPHA


@pytest.mark.parametrize("num_nonzeros", [1, 2, 6])
def test_column_sketch_has_columns_of_fixed_norm(num_nonzeros: int) -> None:
    built = mechanism("sjlt", "repaired", num_rows=6, num_nonzeros=num_nonzeros, epsilon=1e3, max_change=1e6)
    identity = 1e6 * np.eye(4)
    columns = np.asarray(built.sample(jax.random.key(2), identity)) / 1e6
    spread = built.noise / 1e6 / math.sqrt(6)
    assert (np.abs(np.abs(columns) - 1 / math.sqrt(num_nonzeros)) < 7 * spread).sum() >= 4 * num_nonzeros
    assert built.noise == 1e6 * sketch_profile.fixed_norm_noise(1e3, 1e-4, 6)


def test_noise_of_algorithm_one() -> None:
    assert jlt.algorithm_noise(1.0, 1 / 16367, 400) == pytest.approx(6231, rel=1e-3)
    assert jlt.sketch_rows(0.3, 0.2) == 205
    assert jlt.released_noise(8.0, 1 / 924, 204) == pytest.approx(4.4, abs=0.05)
