"""Draws that depend on each other are noticed and make the verdict `open`; independent ones are not accused."""

import itertools

import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors.independence import dependence


def noise(size, seed=0):
    return np.random.default_rng(seed).laplace(size=(size, 1))


DEPENDENT = {
    "the next call": np.repeat(noise(150), 2, axis=0),
    "averages": noise(400)[1:] + noise(400)[:-1],
    "three apart": noise(400)[3:] + noise(400)[:-3],
    "a pool": np.tile(noise(100), (10, 1)),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_dependent_draws_are_noticed(kind):
    assert "depend" in (found := dependence((noise(400, 1), DEPENDENT[kind]))) or "come back" in found


def test_noise_that_both_datasets_share_is_noticed():
    assert "two datasets" in dependence((noise(400), noise(400) + 1))


@pytest.mark.parametrize("seed", range(40))
def test_independent_draws_of_many_laws_are_not_accused(seed):
    rng = np.random.default_rng(seed)
    laws = [
        lambda n: rng.laplace(size=(n, 3)),
        lambda n: rng.integers(2, size=(n, 1)),
        lambda n: rng.random((n, 2)) < 0.005,
        lambda n: rng.standard_cauchy((n, 1)),
        lambda n: np.zeros((n, 2)),
        lambda n: rng.geometric(0.3, size=(n, 2)),
    ]
    for law, size in itertools.product(laws, (50, 300, 4096)):
        assert dependence((law(size).astype(np.float32), law(size).astype(np.float32))) == ""


def reused(every):
    """Laplace noise that is drawn anew at every so many calls only."""
    state = {"calls": 0, "noise": 0.0}

    def mechanism(rng, data):
        if state["calls"] % every == 0:
            state["noise"] = rng.laplace()
        state["calls"] += 1
        return data + state["noise"]

    return mechanism


@pytest.mark.parametrize("budget", [{"num_samples": 2000}, {"time_limit": 5.0, "num_samples": 20000}])
def test_reused_noise_makes_the_verdict_open(budget):
    verdict = dp.audit(reused(4), 0, 1, epsilon=1.0, **budget)
    assert verdict.outcome == "open"
    assert "depend on each other" in verdict.explanation
    assert "depend on each other" in str(verdict)
    assert dp.audit(reused(1), 0, 1, epsilon=2.0, **budget).outcome == "not refuted"  # its loss is 1


def test_other_sources_of_noise_and_missing_returns_are_told():
    other = np.random.default_rng(5)
    ignores = dp.audit(lambda rng, data: data + other.laplace(), 0, 1, epsilon=1.0, num_samples=500)
    assert any("drew nothing from the generator" in text for text in ignores.warnings)

    def forgets(rng, data):
        rng.laplace()

    assert any("is its return missing" in text for text in dp.audit(forgets, 0, 1, epsilon=1, num_samples=99).warnings)
    assert dp.audit(lambda rng, data: data + rng.laplace(), 0, 1, epsilon=1.0, num_samples=500).warnings == ()


def test_a_sampler_that_changes_its_data_is_stopped():
    def pops(rng, data):
        data.append(data.pop() + 1)
        return data[0] + rng.laplace()

    with pytest.raises(dp.InvalidInput, match="changes dataset 1"):
        dp.audit(pops, [1, 2], [1, 3], epsilon=1.0, num_samples=200)

    calls = []

    def late(rng, data):
        calls.append(0)
        if len(calls) == 300:
            data[0] += 1
        return data[0] + rng.laplace()

    with pytest.raises(dp.InvalidInput, match="changes dataset"):
        dp.audit(late, np.array([1.0]), np.array([2.0]), epsilon=1.0, num_samples=400)


def test_equal_datasets_are_an_error():
    with pytest.raises(dp.InvalidInput, match="equal"):
        dp.audit(lambda rng, data: rng.laplace(), [1, 2], [1, 2], epsilon=1.0, num_samples=200)
    with pytest.raises(dp.InvalidInput, match="pair 2 are equal"):
        dp.audit(lambda rng, data: rng.laplace(), 1, 2, epsilon=1.0, num_samples=200, more_pairs=[(3, 3)])


def test_a_dataset_on_which_every_call_raises_is_an_error_with_its_place():
    def raises(rng, data):
        return data / (data - 1) + rng.laplace()

    with pytest.raises(
        dp.InvalidInput, match=r"every call on dataset 2: ZeroDivisionError.*test_independence"
    ) as caught:
        dp.audit(raises, 0, 1, epsilon=1.0, num_samples=200)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit("x")])
def test_what_would_end_the_program_is_an_error(error):
    def ends(rng, data):
        raise error

    with pytest.raises(dp.InvalidInput, match="which ends programs"):
        dp.audit(ends, 0, 1, epsilon=1.0, num_samples=200)
