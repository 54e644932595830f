"""Determinantal processes: laws, samplers one by one and in batches, exact privacy losses, bad input."""

import dataclasses
import inspect
import itertools
import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.mechanisms import describe, kdpp, mechanism
from dpassay.mechanisms.determinantal import Spectrum, log_elementary, masks
from dpassay.mechanisms.determinantal_batches import (
    rejects,
    sample_by_elimination,
    sample_by_rejection,
    sample_fixed_size,
    sample_process,
)
from dpassay.mechanisms.dpp import exact_epsilon, replacement_epsilon, required_jitter
from dpassay.mechanisms.kernels import kernel_matrix
from dpassay.mechanisms.wallenius import uniform

ALPHA = 1e-6
NUMBER = 8192
_ = np.nan
CLICKS = np.array([[1, 1, 0, _, 1], [1, _, 1, 0, 0], [0, 1, 1, 1, 0], [_, 0, 0, 1, 1]])
COUNTS = np.array([[3, _, 1, 0], [1, 2, 0, 2.0]])  # rank 2 of 4

CASES: list[tuple[dict[str, Any], np.ndarray]] = [
    ({"id": "dpp"}, CLICKS),
    ({"id": "dpp", "jitter": 0.0}, COUNTS),
    ({"id": "dpp", "jitter": 1e-9}, np.repeat(COUNTS, 2, axis=1)),
    ({"id": "dpp", "kernel": "rbf", "scale": 0.5, "jitter": 0.0}, CLICKS),
    ({"id": "dpp", "kernel": "polynomial", "degree": 3, "jitter": 0.1, "max_square_norm": 2.0}, COUNTS),
    ({"id": "dpp", "kernel": "sigmoid", "scale": 0.1, "offset": 0.0, "jitter": 0.5}, COUNTS),
    ({"id": "kdpp", "size": 2}, CLICKS),
    ({"id": "kdpp", "size": 4, "jitter": 0.25, "max_square_norm": 2.0}, CLICKS),
    ({"id": "dpp_eigen", "jitter": 0.0}, COUNTS),
    ({"id": "dpp_subset_jittered"}, CLICKS),
    ({"id": "dpp_subset_jittered", "delta": 2.0, "jitter": 0.2}, COUNTS),
]
BUILT = [pytest.param(mechanism(**case), data, id="-".join(map(str, case.values()))) for case, data in CASES]


@cache
def compiled(built: Any) -> Callable[..., Any]:
    compiled_law: Callable[..., Any] = jax.jit(jax.vmap(built.log_prob, (0, None)))
    return compiled_law


def law(built: Any, dataset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All outputs of a mechanism on a dataset, and their log-probabilities."""
    outputs = built.outputs(dataset)
    return outputs, np.asarray(compiled(built)(outputs, dataset))


def p_value(samples: Any, outputs: np.ndarray, logs: np.ndarray) -> float:
    """Of the samples under a law; cells with an expected count below 5 are pooled, impossible ones must be empty."""
    bits = 2 ** np.arange(outputs.shape[1])
    counts = np.bincount(np.asarray(samples) @ bits, minlength=2 ** outputs.shape[1])[outputs @ bits]
    assert counts.sum() == len(samples)
    expected = len(samples) * np.exp(logs)
    if counts[expected == 0].any():
        return 0.0
    small = expected < 5
    counts, expected = (
        np.append(counts[~small], counts[small].sum()),
        np.append(expected[~small], expected[small].sum()),
    )
    kept = expected > 0
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    return float(chi2.sf(statistic, kept.sum() - 1))


@float64
def spectrum_of(kernel: np.ndarray) -> Spectrum:
    values, vectors = np.linalg.eigh(kernel)
    return Spectrum(jnp.asarray(np.where(values < 1e-12, 0.0, values)), jnp.asarray(vectors))


@cache
def plain_law(kind: str) -> tuple[Spectrum, np.ndarray, np.ndarray]:
    """A kernel's spectrum and the law of its process from determinants, by NumPy alone."""
    rng = np.random.default_rng(5)
    columns = {"low": 2, "full": 7, "strong": 7}[kind]
    features = rng.normal(size=(7, columns)) * (4 if kind == "strong" else 1)
    kernel = features @ features.T
    outputs = masks(7)
    minors = [np.linalg.det(kernel[np.ix_(mask, mask)]) if mask.sum() <= columns else 0.0 for mask in outputs]
    with np.errstate(divide="ignore"):
        return spectrum_of(kernel), outputs, np.log(np.maximum(minors, 0) / np.linalg.det(kernel + np.eye(7)))


class TestProtocol:
    @pytest.mark.parametrize(("built", "dataset"), BUILT)
    def test_conforms(self, built: Any, dataset: np.ndarray) -> None:
        conforms = isinstance(built, dp.FiniteMechanism)
        assert conforms
        assert list(inspect.signature(built.sample).parameters) == ["key", "dataset"]
        assert hash(built) == hash(dataclasses.replace(built))
        description = json.loads(json.dumps(describe(built)))
        assert mechanism(description["id"], description["variant"], **description["parameters"]) == built
        assert str(built.claim.relation) == "add_or_remove_one:user"

    @pytest.mark.parametrize(("built", "dataset"), BUILT)
    def test_law_is_a_distribution_and_fits_the_samples(self, built: Any, dataset: np.ndarray) -> None:
        outputs, logs = law(built, dataset)
        assert len({tuple(output) for output in outputs.tolist()}) == len(outputs)
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
        traces = []

        @jax.jit
        def batch(keys: Any) -> Any:
            traces.append(1)
            return jax.vmap(built.sample, (0, None))(keys, dataset)

        keys = jax.random.split(jax.random.key(3), NUMBER).reshape(2, -1)
        samples = np.concatenate([np.asarray(batch(some)) for some in keys])
        assert traces == [1]
        assert samples.dtype == bool
        p = p_value(samples, outputs, logs)
        assert p > ALPHA, f"p = {p}"

    def test_one_sample_is_that_of_the_batch_and_leaves_single_precision_alone(self) -> None:
        built, keys = mechanism("kdpp"), jax.random.split(jax.random.key(3), 4)
        np.testing.assert_array_equal(built.sample(keys[2], CLICKS), jax.vmap(built.sample, (0, None))(keys, CLICKS)[2])
        assert jnp.ones(1).dtype == jnp.float32

    @pytest.mark.parametrize(("built", "dataset"), [case for case in BUILT if hasattr(case.values[0], "sample_batch")])
    def test_a_batch_has_the_same_law(self, built: Any, dataset: np.ndarray) -> None:
        p = p_value(built.sample_batch(jax.random.key(4), dataset, NUMBER), *law(built, dataset))
        assert p > ALPHA, f"p = {p}"

    def test_fit_notices_a_changed_law(self) -> None:
        samples = mechanism("dpp").sample_batch(jax.random.key(4), CLICKS, NUMBER)
        assert p_value(samples, *law(mechanism("dpp", jitter=1.5), CLICKS)) < ALPHA
        jittered = law(mechanism("dpp_subset_jittered", delta=1.0), CLICKS)
        assert p_value(samples, *jittered) < ALPHA


class TestBatches:
    @pytest.mark.parametrize("kind", ["low", "full", "strong"])
    @pytest.mark.parametrize("algorithm", [sample_by_rejection, sample_by_elimination])
    def test_both_algorithms_have_the_law(self, kind: str, algorithm: Callable[..., Any]) -> None:
        spectrum, outputs, logs = plain_law(kind)
        p = p_value(algorithm(jax.random.key(6), spectrum, NUMBER), outputs, logs)
        assert p > ALPHA, f"p = {p}"

    @pytest.mark.parametrize(("kind", "size"), [("low", 2), ("strong", 7)])
    def test_fixed_sizes_have_the_law(self, kind: str, size: int) -> None:
        spectrum, outputs, logs = plain_law(kind)
        kept = outputs.sum(axis=1) == size
        logs = logs[kept] - np.log(np.exp(logs[kept]).sum())
        samples = sample_fixed_size(jax.random.key(7), spectrum, size, NUMBER)
        assert samples.shape == (NUMBER, 7)
        if size == 7:
            assert np.asarray(samples).all()
        else:
            assert p_value(samples, outputs[kept], logs) > ALPHA

    def test_marginals_of_larger_processes(self) -> None:
        """Both algorithms, in several chunks and blocks: every item, and every pair of neighbors, is in Y as K says."""
        rng, number = np.random.default_rng(2), 5000
        for num, rank in ((27, 27), (40, 4)):
            features = rng.normal(size=(num, rank)) / math.sqrt(rank)
            spectrum = spectrum_of(features @ features.T)
            values, vectors = np.asarray(spectrum.values), np.asarray(spectrum.vectors)
            assert rejects(spectrum) == (rank == 4)
            marginal = (vectors * (values / (1 + values))) @ vectors.T
            pairs = marginal[:-1, :-1].diagonal() * marginal[1:, 1:].diagonal() - marginal.diagonal(1) ** 2
            samples = np.asarray(sample_process(jax.random.key(1), spectrum, number))
            for frequencies, chances in (
                (samples.mean(axis=0), marginal.diagonal()),
                ((samples[:, 1:] & samples[:, :-1]).mean(axis=0), pairs),
            ):
                deviation = np.abs(frequencies - chances) / np.sqrt(chances * (1 - chances) / number)
                assert deviation.max() < 6.5  # 132 numbers at 8e-11 each

    def test_the_empty_process(self) -> None:
        spectrum = spectrum_of(np.zeros((3, 3)))
        for algorithm in (sample_by_rejection, sample_by_elimination):
            assert not np.asarray(algorithm(jax.random.key(0), spectrum, 5)).any()
        assert not mechanism("dpp", jitter=0.0).sample_batch(jax.random.key(0), np.full((1, 3), _), 5).any()


class TestLaws:
    def test_minors_and_marginals(self) -> None:
        built = mechanism("dpp", jitter=0.5)
        outputs, logs = law(built, CLICKS)
        kernel = np.nan_to_num(CLICKS).T @ np.nan_to_num(CLICKS) + 0.5 * np.eye(5)
        np.testing.assert_allclose(built.kernel_matrix(CLICKS), kernel, rtol=0, atol=1e-14)
        minors = [np.linalg.det(kernel[np.ix_(mask, mask)]) for mask in outputs]
        np.testing.assert_allclose(np.exp(logs), minors / np.linalg.det(kernel + np.eye(5)), rtol=1e-12)
        marginal = np.asarray(built.marginal_kernel(CLICKS))
        for mask in outputs:
            inside = np.exp(logs)[(outputs | ~mask).all(axis=1)].sum()
            assert inside == pytest.approx(np.linalg.det(marginal[np.ix_(mask, mask)]), abs=1e-13)

    @pytest.mark.parametrize("jitter", [0.0, 1e-14, 1e-8, 1e8])
    def test_ill_conditioned_kernels_still_have_a_law(self, jitter: float) -> None:
        """Eigenvalues from 1e-14 to 1e12, and exact zeros: probabilities sum to one, the impossible is impossible."""
        dataset = np.array([[1e6, 1e6, 0, 1], [0, 0, 1e-3, 0], [1e6, 1e6, 0, 1]])
        for built in (mechanism("dpp", jitter=jitter), mechanism("dpp_eigen", jitter=jitter)):
            outputs, logs = law(built, dataset)
            assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
            assert not np.isnan(logs).any()
        if jitter == 0:
            outputs, logs = law(mechanism("dpp", jitter=0.0), dataset)
            assert (logs[outputs[:, 0] & outputs[:, 1]] == -math.inf).all()
            with pytest.raises(InvalidInput, match="rank 1"):  # 1e-6 is noise beside 4e12
                mechanism("kdpp", jitter=0.0).sample(jax.random.key(0), dataset)
        else:
            outputs, logs = law(mechanism("kdpp", jitter=jitter), dataset)
            assert np.exp(logs).sum() == pytest.approx(1, abs=1e-9)

    def test_elementary_polynomials(self) -> None:
        values = np.array([0.0, 1e-200, 3.0, 1e200, 2.0])
        with jax.enable_x64(True):
            table = np.asarray(log_elementary(jnp.log(jnp.asarray(values)), 3))
        for count in range(6):
            for size in range(4):
                terms = [
                    sum(math.log(value) for value in chosen)
                    for chosen in itertools.combinations(values[:count], size)
                    if all(chosen)
                ]
                expected = np.logaddexp.reduce(terms) if terms else -math.inf
                assert table[count, size] == pytest.approx(expected, abs=1e-12)

    def test_jitter_in_phase_2_changes_the_size(self) -> None:
        """One vector along item 0, and another item drawn: nothing of V is used up, and the loop goes on."""
        outputs, logs = law(mechanism("dpp_subset_jittered", jitter=0.0, delta=1.0), np.array([[1.0, 0.0]]))
        chances = {tuple(output): math.exp(log) for output, log in zip(outputs.tolist(), logs, strict=True)}
        assert chances[(True, False)] == pytest.approx(1 / 2 * 2 / 3)
        assert chances[(True, True)] == pytest.approx(1 / 2 * 1 / 3)
        assert chances[(False, True)] == 0

    def test_rows_are_scaled_down_to_the_bound(self) -> None:
        built = mechanism("dpp", max_square_norm=1.0, jitter=0.0)
        np.testing.assert_allclose(built.kernel_matrix([[3.0, 4.0]]), np.outer([0.6, 0.8], [0.6, 0.8]), atol=1e-15)
        np.testing.assert_allclose(built.kernel_matrix([[0.3, 0.4]]), np.outer([0.3, 0.4], [0.3, 0.4]), atol=1e-15)
        fixed = mechanism("kdpp", size=1, max_square_norm=1.0, jitter=0.0)
        np.testing.assert_allclose(fixed.kernel_matrix([[1.0, 1.0]]), np.ones((2, 2)), atol=1e-15)


class TestKernels:
    def test_values(self) -> None:
        data = np.array([[1.0, 0.0], [2.0, _]])
        expected = {
            "dot": [[5, 0], [0, 0]],
            "rbf": [[1, math.exp(-2.5)], [math.exp(-2.5), 1]],
            "polynomial": [[216, 1], [1, 1]],
            "sigmoid": [[math.tanh(3.5), math.tanh(1)], [math.tanh(1), math.tanh(1)]],
        }
        for kernel, matrix in expected.items():
            found = np.asarray(kernel_matrix(data, kernel, scale=0.5, degree=3))  # type: ignore[arg-type]
            np.testing.assert_allclose(found, np.array(matrix), rtol=1e-14)

    def test_the_sigmoid_kernel_is_indefinite_and_refused(self) -> None:
        found = np.asarray(kernel_matrix([[1.0, 3.0]], "sigmoid"))
        np.testing.assert_allclose(found, np.tanh(np.outer([1, 3], [1, 3]) + 1), rtol=1e-14)
        assert np.linalg.eigvalsh(found)[0] == pytest.approx(-0.017, abs=1e-3)
        for built in (
            mechanism("dpp", kernel="sigmoid", jitter=0.001),
            mechanism("kdpp", kernel="sigmoid", jitter=0.0),
        ):
            for call in (
                lambda built=built: built.sample(jax.random.key(0), [[1.0, 3.0]]),
                lambda built=built: built.sample_batch(jax.random.key(0), [[1.0, 3.0]], 2),
            ):
                with pytest.raises(InvalidInput, match="semidefinite") as caught:
                    call()
                assert "\n" not in str(caught.value)
            assert math.isnan(float(built.log_prob([True, True], [[1.0, 3.0]])))


def worst_loss(num: int, jitter: float, users: int, size: int | None = None, *, replace: bool = False) -> float:
    """The largest log-ratio over all binary datasets of at most `users` rows and their neighbors, by enumeration."""
    rows = np.array(list(itertools.product([0, 1], repeat=num)))
    listed = masks(num, size)
    grams = []
    for count in range(users):
        for chosen in itertools.combinations_with_replacement(rows, count):
            grams.append(sum((np.outer(row, row) for row in chosen), np.zeros((num, num))))

    def logs(kernel: np.ndarray) -> np.ndarray:
        matrix = kernel + jitter * np.eye(num)
        minors = np.array([np.linalg.det(matrix[np.ix_(mask, mask)]) for mask in listed])
        return np.log(minors / minors.sum())

    worst = 0.0
    for gram in grams:
        laws = np.array([logs(gram + np.outer(row, row)) for row in rows])
        others = laws if replace else logs(gram)[None]
        worst = max(worst, float(np.abs(laws[:, None] - others[None]).max()))
    return worst


class TestEpsilon:
    @pytest.mark.parametrize("jitter", [0.05, 0.5, 1.0, 3.0])
    @pytest.mark.parametrize("num", [2, 3])
    def test_enumeration_attains_exactly_the_formula(self, num: int, jitter: float) -> None:
        assert worst_loss(num, jitter, users=3) == pytest.approx(exact_epsilon(num, jitter), rel=1e-12)
        assert worst_loss(num, jitter, users=2, replace=True) == pytest.approx(
            replacement_epsilon(num, jitter), rel=1e-12
        )

    @pytest.mark.parametrize(("num", "size"), [(2, 1), (3, 1), (4, 2), (3, 2), (3, 3)])
    def test_fixed_size_stays_below_its_supremum(self, num: int, size: int) -> None:
        bound = kdpp.exact_epsilon(num, size, 0.5)
        found = worst_loss(num, 0.5, users=4 if num < 4 else 3, size=size)
        assert found < bound or (size == num and found == pytest.approx(0, abs=1e-12))
        if num == 2:
            # The supremum is approached by ever more users of item 0 alone, to whom one of item 1 is added.
            built = mechanism("kdpp", size=1, jitter=0.5)
            crowd = np.vstack([[0.0, 1.0], np.tile([1.0, 0.0], (4000, 1))])
            absent = np.vstack([[_, _], crowd[1:]])
            loss = float(built.log_prob([False, True], crowd)) - float(built.log_prob([False, True], absent))
            assert bound - 1e-3 < loss < bound

    def test_claims_come_from_the_theorems(self) -> None:
        assert mechanism("dpp", max_square_norm=5, jitter=0.7).claim.epsilon == exact_epsilon(5, 0.7)
        assert mechanism("dpp_eigen", max_square_norm=5, jitter=0.7).claim.epsilon == exact_epsilon(5, 0.7)
        assert mechanism("kdpp", max_square_norm=2, jitter=0.5).claim.epsilon == pytest.approx(math.log(5))
        assert kdpp.exact_epsilon(10, 2, 0.5) == mechanism("kdpp", max_square_norm=2, jitter=0.5).claim.epsilon
        for id in ("dpp", "dpp_eigen", "kdpp"):
            assert mechanism(id).claim.epsilon == math.inf
            assert mechanism(id, max_square_norm=2.0, jitter=0.0).claim.epsilon == math.inf
            assert mechanism(id, max_square_norm=2.0, kernel="rbf").claim.epsilon == math.inf
        assert mechanism("dpp_subset_jittered", max_square_norm=2.0).claim.epsilon == math.inf

    @given(
        st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=1, max_size=3),
        st.sampled_from([("dpp", 0.01, 4.0), ("dpp", 2.0, 1.0), ("dpp_eigen", 0.4, 4.0), ("kdpp", 0.1, 4.0)]),
    )
    @settings(max_examples=60)
    def test_no_neighbors_exceed_the_claim(self, rows: list[list[int]], case: tuple[str, float, float]) -> None:
        id, jitter, bound = case
        built = mechanism(id, jitter=jitter, max_square_norm=bound)
        with_user = np.full((3, 3), _)
        with_user[: len(rows)] = rows
        without = np.vstack([np.full(3, _), with_user[1:]])
        loss = np.abs(law(built, with_user)[1] - law(built, without)[1]).max()
        assert loss <= built.claim.epsilon + 1e-9

    def test_epsilon_is_stable_for_extreme_jitters(self) -> None:
        assert exact_epsilon(5, 1.0) == pytest.approx(1.2528, abs=5e-5)
        assert exact_epsilon(10, 1e-300) == pytest.approx(math.log(10 / 11) + 300 * math.log(10))
        assert exact_epsilon(10, 5e-324) == pytest.approx(math.log(10 / 11) - math.log(5e-324))
        assert exact_epsilon(10, 1e300) == pytest.approx(1e-299)
        assert exact_epsilon(0, 1.0) == replacement_epsilon(0, 1.0) == 0
        assert exact_epsilon(3, 0) == replacement_epsilon(3, 0) == kdpp.exact_epsilon(6, 2, 0) == math.inf
        for num, jitter in itertools.product((1, 2, 7, 100), (0.01, 0.3, 1, 50)):
            assert exact_epsilon(num, jitter) <= replacement_epsilon(num, jitter) <= math.log1p(num / jitter) + 1e-12

    @given(st.floats(1e-12, 600), st.integers(1, 10**6))
    def test_the_required_jitter_is_the_smallest(self, epsilon: float, num: int) -> None:
        jitter = required_jitter(epsilon, num)
        assert exact_epsilon(num, jitter) <= epsilon
        assert exact_epsilon(num, jitter * (1 - 1e-9)) >= epsilon * (1 - 1e-15)

    @pytest.mark.parametrize(
        ("call", "mends"),
        [
            (lambda: exact_epsilon(-1, 1.0), "num_items"),
            (lambda: exact_epsilon(3, -1.0), "jitter"),
            (lambda: exact_epsilon(3, math.nan), "jitter"),
            (lambda: replacement_epsilon(2.5, 1.0), "integer"),  # type: ignore[arg-type]
            (lambda: kdpp.exact_epsilon(3, 4, 1.0), ">= 4"),
            (lambda: kdpp.exact_epsilon(3, 1, -1.0), "jitter"),
            (lambda: required_jitter(0.0, 3), "epsilon"),
            (lambda: required_jitter(math.inf, 3), "epsilon"),
            (lambda: required_jitter(1.0, 0), "num_items"),
        ],
    )
    def test_bad_input_gets_one_clear_line(self, call: Callable[[], Any], mends: str) -> None:
        with pytest.raises(InvalidInput, match=mends) as caught:
            call()
        assert "\n" not in str(caught.value)


BAD_PARAMETERS = [
    ("dpp", {"jitter": -0.1}, ">= 0"),
    ("dpp", {"jitter": math.nan}, ">= 0"),
    ("dpp", {"jitter": math.inf}, "finite"),
    ("dpp", {"jitter": True}, "number"),
    ("dpp", {"kernel": "laplace"}, "sigmoid"),
    ("dpp", {"scale": 0.0}, "> 0"),
    ("dpp", {"degree": 0}, ">= 1"),
    ("dpp", {"offset": math.inf}, "finite"),
    ("dpp", {"max_square_norm": 0.0}, "> 0"),
    ("kdpp", {"size": 0}, ">= 1"),
    ("kdpp", {"size": 2.0}, "integer"),
    ("dpp_subset_jittered", {"delta": 0.0}, "> 0"),
]


@pytest.mark.parametrize(("id", "parameters", "mends"), BAD_PARAMETERS)
def test_bad_parameters_get_one_clear_line(id: str, parameters: dict[str, Any], mends: str) -> None:
    with pytest.raises(InvalidInput, match=mends) as caught:
        mechanism(id, **parameters)
    assert "\n" not in str(caught.value)


BAD_DATASETS = [
    ({"id": "kdpp", "size": 6}, CLICKS, "at most 5"),
    ({"id": "kdpp", "size": 3, "jitter": 0.0}, COUNTS, "rank 2"),
    ({"id": "dpp"}, CLICKS[0], "matrix"),
    ({"id": "dpp"}, np.zeros((2, 0)), "no items"),
    ({"id": "dpp"}, np.array([[math.inf, 1.0]]), "finite"),
]


@pytest.mark.parametrize(("parameters", "dataset", "mends"), BAD_DATASETS)
def test_bad_datasets_get_one_clear_line(parameters: dict[str, Any], dataset: np.ndarray, mends: str) -> None:
    built = mechanism(**parameters)
    for call in (built.sample, lambda key, data: built.sample_batch(key, data, 3)):
        with pytest.raises(InvalidInput, match=mends) as caught:
            call(jax.random.key(0), dataset)
        assert "\n" not in str(caught.value)


def test_other_bad_calls() -> None:
    with pytest.raises(InvalidInput, match="mask over the 5 items"):
        mechanism("dpp").log_prob([0, 1], CLICKS)
    with pytest.raises(InvalidInput, match="at most 16"):
        mechanism("dpp").outputs(np.ones((1, 17)))
    with pytest.raises(InvalidInput, match="at most 8"):
        mechanism("dpp_subset_jittered").log_prob(np.ones(9, bool), np.ones((1, 9)))
    with pytest.raises(InvalidInput, match="num_samples"):
        mechanism("dpp").sample_batch(jax.random.key(0), CLICKS, 0)
    assert math.isnan(float(mechanism("kdpp", size=3, jitter=0.0).log_prob([1, 1, 1, 0], COUNTS)))
    assert float(mechanism("kdpp").log_prob([1, 0, 0, 0, 0], CLICKS)) == -math.inf


def test_uniform_points_never_select_what_is_impossible() -> None:
    """An item of weight 0 is never drawn, not even by the smallest and the largest point."""
    with jax.enable_x64(True):
        points = uniform(jax.random.key(0), (1000,))
        assert points.min() > 0
        assert points.max() < 1
    built = mechanism("dpp", jitter=0.0)
    samples = np.asarray(built.sample_batch(jax.random.key(0), np.array([[0.0, 5.0, 0.0]]), 1000))
    assert not samples[:, [0, 2]].any()
