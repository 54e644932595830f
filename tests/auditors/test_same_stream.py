import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors.rare_streams import jax_key, numpy_generator
from dpassay.auditors.same_stream import StreamReport, same_stream
from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import mechanism

A, B = np.array([3.0, 4.0, 5.0]), np.array([3.0, 4.0, 1.0])


def replay(function, one=A, two=B, **options) -> StreamReport:
    return same_stream(dp.from_callable(function), one, two, **options)


def laplace_sum(rng, data):
    return float(np.clip(data, 0, 5).sum() + rng.laplace(0, 5))


# --- what must be found


def test_observed_sensitivity():
    report = replay(laplace_sum, sensitivity=5)
    assert report.observed_sensitivity == pytest.approx(4)
    assert not report.violates_sensitivity
    assert report.findings == ()
    report = replay(laplace_sum, sensitivity=3.9)
    assert report.violates_sensitivity
    assert "differ by 4 (L1 distance), but the declared sensitivity is 3.9" in report.findings[0]


@pytest.mark.parametrize(("norm", "expected"), [(1, 7.0), (2, 5.0), (math.inf, 4.0)])
def test_sensitivity_in_a_norm(norm, expected):
    report = replay(lambda rng, data: data + rng.laplace(0, 1, 2), np.zeros(2), np.array([3.0, -4.0]), norm=norm)
    assert report.observed_sensitivity == pytest.approx(expected)


def test_a_count_without_noise_beside_a_noisy_sum():
    report = replay(lambda rng, data: {"sum": data.sum() + rng.laplace(), "count": len(data)}, A, A[:2])
    assert report.without_noise == ("output['count']",)
    assert "output['count'] is 3 on dataset 1 and 2 on dataset 2" in report.findings[0]


def test_a_length_that_depends_on_the_data():
    report = replay(lambda rng, data: data + rng.laplace(size=len(data)), A, A[:2])
    assert "shape of output is (3,) on dataset 1 and (2,) on dataset 2" in report.findings[0]
    report = replay(lambda rng, data: [value + rng.laplace() for value in data], A, A[:2])
    assert "length of output is 3 on dataset 1 and 2" in report.findings[0]
    assert report.flow == "depends on data"


def test_noise_skipped_for_one_dataset():
    def mechanism(rng, data):
        if 1.0 in data:
            return float(data.sum())
        return float(data.sum() + rng.laplace())

    report = replay(mechanism)
    assert "the noise is missing on dataset 2" in report.findings[0]
    assert "output is 8 on dataset 2" in report.findings[0]
    assert report.flow == "depends on data"
    assert any("line" in note and "test_same_stream.py" in note for note in report.notes)


def test_a_rare_branch_without_noise():
    """A million samples hardly ever see it."""

    def mechanism(rng, data):
        noise = rng.laplace()
        if rng.random() < 1e-9:
            return float(data.sum())
        return float(data.sum() + noise)

    report = replay(mechanism, sensitivity=4)
    assert any("exactly 12 on dataset 1 and 8 on dataset 2" in finding for finding in report.findings)


def test_an_exception_that_tells():
    def mechanism(rng, data):
        if 1.0 in data:
            raise ValueError("no ones, please")
        return rng.laplace()

    assert "the exception ValueError on dataset 2" in replay(mechanism).findings[0]


def test_rows_that_only_one_dataset_has():
    report = replay(lambda rng, data: {str(value): rng.laplace() for value in data})
    assert any("keys of output" in finding for finding in report.findings)


def test_noise_of_another_scale_is_noted():
    report = replay(lambda rng, data: rng.laplace(0, data.max()), A, B)
    assert report.findings == ()
    assert any("0.8 times as large on dataset 2" in note for note in report.notes)


@dataclass(frozen=True)
class Noisy:
    """Adds Laplace noise to a sum; `leak` releases the number of ratings above 4 as it is."""

    leak: bool = False

    def sample(self, key, dataset):
        noisy = jnp.sum(dataset) + 5 * jax.random.laplace(key)
        return jnp.stack([noisy, jnp.sum(dataset > 4)]) if self.leak else noisy


def test_jax_mechanisms():
    report = same_stream(Noisy(), A, B, sensitivity=4)
    assert report.observed_sensitivity == pytest.approx(4, rel=1e-4)
    assert report.findings == ()
    assert same_stream(Noisy(), A, B, sensitivity=2).violates_sensitivity
    assert same_stream(Noisy(leak=True), A, B).without_noise == ("output[1]",)


@dataclass(frozen=True)
class Branching:
    rare: bool

    def sample(self, key, dataset):
        noisy = jnp.sum(dataset) + jax.random.laplace(key)
        chance = jax.random.uniform(jax.random.fold_in(key, 1))
        return jax.lax.cond(chance < 1e-5, lambda: jnp.sum(dataset), lambda: noisy) if self.rare else noisy


def test_a_rare_branch_in_jax():
    report = same_stream(Branching(True), A, B)
    assert any("exactly 12 on dataset 1 and 8 on dataset 2" in finding for finding in report.findings)
    assert same_stream(Branching(False), A, B).findings == ()


@dataclass(frozen=True)
class Looping:
    """Noise whose scale grows in steps until it covers the largest rating; or a noisy sum, cut by another branch."""

    by_data: bool

    def sample(self, key, dataset):
        noise = jax.random.laplace(key)
        if self.by_data:
            return noise * jax.lax.while_loop(lambda scale: scale < jnp.max(dataset), lambda scale: scale + 1.0, 0.0)
        noisy = jnp.sum(dataset) + 5 * noise
        return jax.lax.cond(noisy > 6, lambda: noisy, lambda: 6.0)


def test_branches_and_loops_of_jax_are_compared():
    assert np.max(A) != np.max(B)
    report = same_stream(Looping(by_data=True), A, B)
    assert report.flow == "depends on data"
    assert any("they part" in note for note in report.notes)
    assert same_stream(Looping(by_data=False), A, B).flow == "depends on noise"
    assert same_stream(Noisy(), A, B).flow == "same"


# --- what must not be accused


def sparse_vector(rng, data, epsilon=1.0):
    threshold = 8 + rng.laplace(0, 2 / epsilon)
    answers = []
    for value in np.cumsum(data):
        if value + rng.laplace(0, 4 / epsilon) >= threshold:
            answers.append(True)
            break
        answers.append(False)
    return answers


def randomized_response(rng, data, epsilon=5.0):
    truth = int(data[-1] > 2)
    return truth if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - truth


def exponential(rng, data, epsilon=8.0):
    weights = np.exp(epsilon * (data - data.max()) / 2)
    return int(rng.choice(3, p=weights / weights.sum()))


def discrete_laplace(rng, data):
    return int(data.sum() + rng.geometric(0.2) - rng.geometric(0.2))


def clamped(rng, data):
    return float(np.clip(data.sum() + rng.laplace(), 7.5, 12.5))


def stable_mode(rng, data, delta=1e-6):
    counts = np.bincount(data.astype(int), minlength=6)
    top = np.sort(counts)[::-1]
    return int(counts.argmax()) if top[0] - top[1] + rng.laplace() > math.log(1 / delta) else None


@pytest.mark.parametrize(
    "function", [laplace_sum, sparse_vector, randomized_response, exponential, discrete_laplace, clamped, stable_mode]
)
@pytest.mark.parametrize("seed", range(4))
def test_correct_mechanisms_are_not_accused(function, seed):
    report = replay(function, seed=seed)
    assert report.findings == ()
    assert report.without_noise == ()
    if function is sparse_vector:
        assert report.flow == "depends on noise"


def test_a_private_threshold_on_keys_is_not_accused():
    def histogram(rng, data, delta=1e-5):
        counts = {value: float((data == value).sum()) + rng.laplace() for value in sorted(set(data.tolist()))}
        return {value: count for value, count in counts.items() if count > 1 + math.log(1 / delta)}

    for seed in range(4):
        assert replay(histogram, np.repeat(A, 20), np.append(np.repeat(A, 20), 7.0), seed=seed).findings == ()


@pytest.mark.parametrize(
    ("id", "options", "one", "two"),
    [
        ("randomized_response", {"epsilon": 6.0}, [[1.0, 2.0]], [[1.0, 5.0]]),
        ("modified_laplace", {}, [0.0, 0.5], [0.0, 1.0]),
        ("ppns", {"num_neighbors": 1}, [[5, 1.0], [4, 2], [1, 5]], [[5, 1.0], [4, 2], [2, 5]]),
    ],
)
def test_our_own_mechanisms_are_not_accused(id, options, one, two):
    assert same_stream(mechanism(id, **options), np.array(one), np.array(two)).findings == ()


# --- the rest


def test_another_source_of_randomness_is_said():
    import secrets

    report = replay(lambda rng, data: secrets.randbelow(2**60) + data.sum())
    assert report.flow == "not compared"
    assert "another source of randomness" in report.notes[0]


def test_global_generators_are_frozen_and_left_alone():
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    report = replay(lambda rng, data: data.sum() + np.random.laplace(), sensitivity=1)  # noqa: NPY002
    assert report.observed_sensitivity == pytest.approx(4)
    assert np.array_equal(np.random.get_state(legacy=False)["state"]["key"], before)  # noqa: NPY002


def test_datasets_are_not_changed():
    data = A.copy()

    def mechanism(rng, data):
        data += 1
        return data.sum() + rng.laplace()

    assert replay(mechanism, data, B).observed_sensitivity == pytest.approx(4)
    assert np.array_equal(data, A)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": 3}, "norm is 3"),
        ({"num_streams": 1}, "at least 4"),
        ({"sensitivity": -1.0}, "must be a number >= 0"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(InvalidInput, match=message):
        replay(laplace_sum, **change)


def test_a_sampler_that_always_raises():
    with pytest.raises(InvalidInput, match="raises ZeroDivisionError on both"):
        replay(lambda rng, data: 1 / 0)


def test_a_plain_function_is_wrapped_and_nothing_else_is():
    assert same_stream(laplace_sum, A, B, sensitivity=3.9).violates_sensitivity
    with pytest.raises(InvalidInput, match="int is no mechanism"):
        same_stream(3, A, B)


@pytest.mark.parametrize("tail", ["low", "high", "both"])
def test_rare_streams(tail):
    uniforms = numpy_generator(0, tail).random(4000)
    key = jax_key(0, 0, tail)
    for values in (uniforms, np.asarray(jax.random.uniform(key, (4000,)))):
        low, high = (values < 2**-4).mean(), (values >= 1 - 2**-4).mean()
        assert (low if tail == "low" else high if tail == "high" else low + high) > 0.8
        assert ((values >= 0) & (values <= 1)).all()
    assert numpy_generator(3).random() == numpy_generator(3).random()
    assert np.isfinite(numpy_generator(1, tail).normal(size=2000)).all()


def test_a_branch_may_return_another_kind_of_number():
    def leaks(rng, ratings):
        if rng.random() < 1e-6:
            return float(np.sum(ratings))
        return np.sum(ratings) + rng.laplace()

    report = same_stream(dp.from_callable(leaks), [1.0, 2.0], [1.0, 5.0])
    assert any("carries no noise" in finding for finding in report.findings)
