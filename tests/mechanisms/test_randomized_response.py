import dataclasses
import inspect
import json
import math
from collections import Counter
from typing import Any

import jax
import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import IntegerRandomizedResponse, RandomizedResponse, describe, mechanism
from dpassay.replay.numbers import precision

ALPHA = 1e-6
_ = np.nan
VECTOR = np.array([1, 1, 2])
ALL = [
    RandomizedResponse(num_ratings=2),
    RandomizedResponse(num_ratings=2, indexing="value"),
    IntegerRandomizedResponse(num_ratings=2),
]


def law(built: Any, dataset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    outputs = built.outputs(dataset)
    return outputs, np.asarray(jax.jit(jax.vmap(built.log_prob, (0, None)))(outputs, dataset))


@pytest.mark.parametrize("built", ALL)
class TestProtocol:
    def test_conforms(self, built: Any) -> None:
        conforms = isinstance(built, dp.FiniteMechanism)
        assert conforms
        assert list(inspect.signature(built.sample).parameters) == ["key", "dataset"]
        assert hash(built) == hash(dataclasses.replace(built))
        description = json.loads(json.dumps(describe(built)))
        assert mechanism(description["id"], description["variant"], **description["parameters"]) == built
        assert str(built.claim) == "1-DP (replace_one:entry)"
        assert str(built.claim_for(3)) == "3-DP (replace_one:user)"

    def test_law_adds_up_to_one(self, built: Any) -> None:
        outputs, logs = law(built, VECTOR)
        assert len(outputs) == 27
        assert np.exp(logs).sum() == pytest.approx(1, abs=1e-13)

    def test_samples_fit_the_law(self, built: Any) -> None:
        outputs, logs = law(built, VECTOR)
        drawn = np.asarray(built.sample(jax.random.key(20261121), np.tile(VECTOR, (20_000, 1))))
        counts = Counter(map(tuple, drawn.tolist()))
        possible = logs > -math.inf
        observed = np.array([counts[tuple(output)] for output in outputs.tolist()])
        assert observed[~possible].sum() == 0
        assert chisquare(observed[possible], 20_000 * np.exp(logs[possible])).pvalue > ALPHA
        other = law(dataclasses.replace(built, epsilon=1.3), VECTOR)[1]
        assert chisquare(observed[possible], 20_000 * np.exp(other[possible])).pvalue < ALPHA

    def test_repeats_and_batches(self, built: Any) -> None:
        keys = jax.random.split(jax.random.key(5), 3)
        batch = np.asarray(jax.jit(jax.vmap(built.sample, (0, None)))(keys, VECTOR))
        for own, row in zip(keys, batch, strict=True):
            np.testing.assert_array_equal(row, built.sample(own, VECTOR))
        np.testing.assert_array_equal(built.sample(keys[0], [1.0, _, 2.0]), built.sample(keys[0], [1, 0, 2]))

    @pytest.mark.parametrize(("dataset", "mends"), [([0, 3], "0 to 2"), ([0.5], "round"), ([-1], "0 to 2"), (1, "one")])
    def test_bad_datasets_get_one_clear_line(self, built: Any, dataset: Any, mends: str) -> None:
        with pytest.raises(InvalidInput, match=mends) as caught:
            built.sample(jax.random.key(0), dataset)
        assert "\n" not in str(caught.value)

    def test_illegal_outputs_are_impossible(self, built: Any) -> None:
        assert float(built.log_prob([1, 1, 3], VECTOR)) == -math.inf
        with pytest.raises(InvalidInput, match="shape"):
            built.log_prob([1, 1], VECTOR)


def test_exact_loss_of_one_entry_and_of_the_vector() -> None:
    built = RandomizedResponse(epsilon=0.7, num_ratings=2)
    assert dp.exact(built, VECTOR, np.array([1, 1, 0])).epsilon == pytest.approx(0.7, abs=1e-12)
    assert dp.exact(built, VECTOR, np.array([0, 2, 1])).epsilon == pytest.approx(2.1, abs=1e-12)
    repaired = IntegerRandomizedResponse(epsilon=0.7, num_ratings=2)
    assert dp.exact(repaired, VECTOR, np.array([1, 1, 0])).epsilon == pytest.approx(0.7, abs=1e-12)


def test_one_response_per_value_makes_outputs_impossible() -> None:
    built = RandomizedResponse(num_ratings=2, indexing="value")
    assert dp.exact(built, np.array([1, 2]), np.array([1, 1])).epsilon == math.inf
    drawn = np.asarray(built.sample(jax.random.key(0), np.tile(VECTOR, (500, 1))))
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert (drawn[:, 0] != drawn[:, 2]).any()


@given(st.floats(2.0**-40, 200), st.integers(1, 1000))
def test_integer_thresholds_never_exceed_epsilon(epsilon: float, num_ratings: int) -> None:
    keep, other = IntegerRandomizedResponse(epsilon=epsilon, num_ratings=num_ratings).thresholds
    assert keep + num_ratings * other == 2**62
    assert keep >= other >= 1
    with precision():
        exact = arb(fmpq(*epsilon.as_integer_ratio())).exp()
        assert arb(fmpq(keep, other)) <= exact
        if epsilon < 20:  # tight up to the resolution of 62 bits
            assert arb(fmpq(keep + num_ratings, other - 1)) >= exact


def test_every_word_leads_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest word still gives a symbol, and the borders lie where the thresholds are."""
    from dpassay.mechanisms import randomized_response as module

    built = IntegerRandomizedResponse(num_ratings=4)
    keep, other = built.thresholds
    for word, shift in ((0, 0), (keep - 1, 0), (keep, 1), (keep + other, 2), (2**62 - 1, 4)):
        monkeypatch.setattr(module, "word62", lambda key, shape, word=word: jax.numpy.full(shape, word, "int64"))
        with jax.enable_x64(True):
            assert int(built._shifts(jax.random.key(0), ())) == shift


@pytest.mark.parametrize(
    ("parameters", "mends"),
    [
        ({"epsilon": 0.0}, "> 0"),
        ({"num_ratings": 0}, ">= 1"),
        ({"indexing": "row"}, "value"),
        ({"variant": "repaired", "epsilon": 1e-13}, "2\\^-40"),
        ({"variant": "repaired", "num_ratings": 1001}, "1000"),
    ],
)
def test_bad_parameters_get_one_clear_line(parameters: dict[str, Any], mends: str) -> None:
    with pytest.raises(InvalidInput, match=mends) as caught:
        mechanism("randomized_response", **parameters)
    assert "\n" not in str(caught.value)


def test_too_many_outputs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="fewer entries"):
        RandomizedResponse().outputs(np.ones(12, int))
