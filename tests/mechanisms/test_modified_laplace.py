import dataclasses
import inspect
import json
import math
from fractions import Fraction
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binomtest, chisquare, kstest, laplace

import dpassay as dp
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import DiscreteModifiedLaplace, ModifiedLaplace, describe, mechanism
from dpassay.mechanisms.modified_laplace import rescaled

ALPHA = 1e-6
_ = np.nan
VECTOR = np.array([0.5, _, -1.0, 1.0, 0.0])
BOTH: list[Any] = [ModifiedLaplace(), DiscreteModifiedLaplace(grid_bits=2)]


@cache
def drawn_once(built: Any) -> np.ndarray:
    return released(built, VECTOR, 20_000)


def released(built: Any, dataset: np.ndarray, number: int) -> np.ndarray:
    """Draws of the whole dataset, one user per draw."""
    return np.asarray(built.sample(jax.random.key(20261121), np.tile(dataset, (number, 1))))


@pytest.mark.parametrize("built", BOTH)
class TestProtocol:
    def test_conforms(self, built: Any) -> None:
        conforms = isinstance(built, dp.Mechanism)
        assert conforms
        assert list(inspect.signature(built.sample).parameters) == ["key", "dataset"]
        assert hash(built) == hash(dataclasses.replace(built))
        description = json.loads(json.dumps(describe(built)))
        assert mechanism(description["id"], description["variant"], **description["parameters"]) == built
        assert str(built.claim) == "1-DP (replace_one:entry)"
        assert str(built.claim_for(5)) == "5-DP (replace_one:user)"

    def test_repeats_batches_and_reads_ratings(self, built: Any) -> None:
        key = jax.random.key(3)
        once = np.asarray(built.sample(key, VECTOR))
        assert once.dtype == np.float64
        np.testing.assert_array_equal(once, built.sample(key, VECTOR))
        keys = jax.random.split(key, 3)
        batch = np.asarray(jax.jit(jax.vmap(built.sample, (0, None)))(keys, VECTOR))
        for own, row in zip(keys, batch, strict=True):
            np.testing.assert_array_equal(row, built.sample(own, VECTOR))
        matrix = VECTOR[None]
        ratings = Ratings.from_dense(matrix, scale=(-1, 1))
        np.testing.assert_array_equal(built.sample(key, ratings), built.sample(key, matrix))

    def test_missing_entries_have_the_stated_chance(self, built: Any) -> None:
        missing = np.isnan(drawn_once(built)).sum(0)
        keep = 1 / (1 + math.exp(-0.5))
        for count, rating in zip(missing, VECTOR, strict=True):
            chance = keep if math.isnan(rating) else 1 - keep
            assert binomtest(int(count), 20_000, chance).pvalue > ALPHA
            assert binomtest(int(count), 20_000, 1 - chance).pvalue < ALPHA

    @pytest.mark.parametrize(
        ("dataset", "mends"),
        [([0.5, 1.5], "rescaled"), ([], "matrix"), (0.5, "one user's"), (np.zeros((1, 1, 1)), "matrix")],
    )
    def test_bad_datasets_get_one_clear_line(self, built: Any, dataset: Any, mends: str) -> None:
        with pytest.raises(InvalidInput, match=mends) as caught:
            built.sample(jax.random.key(0), dataset)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("other", [1.0, -1.0, 0.0, _])
    def test_no_event_exceeds_the_claim_and_some_event_attains_it(self, built: Any, other: float) -> None:
        """Loss of one output, over a fine set of outputs, both ways."""
        law = built.log_density if isinstance(built, ModifiedLaplace) else built.log_prob
        outputs = np.append(np.arange(-12, 13) / 4, _)[:, None]
        curve = jax.jit(jax.vmap(law, (0, None)))
        losses = np.asarray(curve(outputs, np.array([1.0]))) - np.asarray(curve(outputs, np.array([other])))
        assert np.abs(losses).max() <= 1 + 1e-12
        if math.isnan(other) or other == -1:
            assert np.abs(losses).max() == pytest.approx(1, abs=1e-12)


def test_the_paper_noise_is_laplace() -> None:
    drawn = released(ModifiedLaplace(epsilon=0.5), VECTOR, 20_000)
    for column, rating in zip(drawn.T, VECTOR, strict=True):
        numbers = column[~np.isnan(column)]
        center = 0.0 if math.isnan(rating) else rating
        assert kstest(numbers, laplace(center, 4).cdf).pvalue > ALPHA
        assert kstest(numbers, laplace(center, 3.5).cdf).pvalue < ALPHA


def test_entries_are_independent_unless_shared() -> None:
    apart = released(ModifiedLaplace(), np.zeros(2), 20_000)
    both = apart[~np.isnan(apart).any(1)]
    assert abs(np.corrcoef(both.T)[0, 1]) < 5 / math.sqrt(len(both))
    together = released(ModifiedLaplace(coupling="shared"), VECTOR, 1000)
    kept = ~np.isnan(together[:, 0])
    np.testing.assert_allclose(together[kept][:, [2, 3, 4]] - together[kept][:, [0]], [[-1.5, 0.5, -0.5]] * kept.sum())
    # One coin per user: the missing entry is released exactly when the others are not.
    assert (np.isnan(together[:, 1]) == kept).all()
    assert len(np.unique(together[kept, 0])) == kept.sum()


def test_density_and_missing_chance_add_up_to_one() -> None:
    built = ModifiedLaplace(epsilon=2.0)
    for rating in (0.7, _):
        at = jax.jit(lambda y, rating=rating: built.log_density(y, np.array([rating])))
        numbers = quad(lambda y, at=at: math.exp(at(np.array([y]))), -30, 30, points=[0, 0.7], limit=200)[0]
        assert numbers + math.exp(at(np.array([_]))) == pytest.approx(1, abs=1e-8)
    with pytest.raises(InvalidInput, match="no density"):
        ModifiedLaplace(coupling="shared").log_density(VECTOR, VECTOR)
    with pytest.raises(InvalidInput, match="shape"):
        built.log_density(VECTOR, VECTOR[:2])


class TestRepaired:
    def test_outputs_fit_the_law(self) -> None:
        built = BOTH[1]
        drawn = drawn_once(built)
        outputs = np.append(np.arange(-96, 97) / 4, _)
        for column, rating in zip(drawn.T, VECTOR, strict=True):
            logs = jax.jit(jax.vmap(built.log_prob, (0, None)))(outputs[:, None], np.array([rating]))
            chances = np.exp(np.asarray(logs))
            counts = np.append((column[:, None] == outputs[:-1]).sum(0), np.isnan(column).sum())
            rest = 1 - chances.sum()
            assert 0 < rest < 1e-4
            kept = chances * len(column) > 5
            observed = np.append(counts[kept], len(column) - counts[kept].sum())
            assert chisquare(observed, len(column) * np.append(chances[kept], 1 - chances[kept].sum())).pvalue > ALPHA

    def test_outputs_lie_on_the_grid(self) -> None:
        drawn = drawn_once(BOTH[1])
        numbers = drawn[~np.isnan(drawn)] * 4
        np.testing.assert_array_equal(numbers, np.round(numbers))
        law = BOTH[1].log_prob
        assert float(law(np.array([1 / 8]), np.array([0.0]))) == -math.inf
        # A rating off the grid counts as the nearest point of it.
        assert float(law(np.array([0.25]), np.array([0.3]))) == float(law(np.array([0.25]), np.array([0.25])))

    @given(st.floats(1e-3, 50), st.integers(0, 12))
    def test_the_exact_loss_is_within_epsilon(self, epsilon: float, bits: int) -> None:
        built = DiscreteModifiedLaplace(epsilon=epsilon, grid_bits=bits)
        assert built.loss <= Fraction(epsilon)
        # And not by more than one step of the scale.
        assert Fraction(2 * built.steps, max(built.scale - 1, 1)) >= min(Fraction(epsilon), Fraction(2 * built.steps))

    def test_a_scale_that_does_not_fit_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="fewer grid_bits"):
            DiscreteModifiedLaplace(epsilon=1e-6, grid_bits=12)


@pytest.mark.parametrize(
    ("parameters", "mends"),
    [
        ({"epsilon": 0.0}, "> 0"),
        ({"epsilon": math.inf}, "finite"),
        ({"coupling": "none"}, "shared"),
        ({"variant": "repaired", "grid_bits": -1}, ">= 0"),
        ({"variant": "repaired", "grid_bits": 1.5}, "integer"),
    ],
)
def test_bad_parameters_get_one_clear_line(parameters: dict[str, Any], mends: str) -> None:
    with pytest.raises(InvalidInput, match=mends) as caught:
        mechanism("modified_laplace", **parameters)
    assert "\n" not in str(caught.value)


def test_rescaling_maps_the_scale_onto_the_unit_interval() -> None:
    np.testing.assert_array_equal(rescaled([1, 2, 3, 5, _]), [-1, -0.5, 0, 1, _])
    np.testing.assert_array_equal(rescaled([0, 10], (0, 10)), [-1, 1])
    with pytest.raises(InvalidInput, match="outside the scale"):
        rescaled([0.0, 3.0])
