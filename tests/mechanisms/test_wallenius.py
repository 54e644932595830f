"""Wallenius' distribution against enumeration in exact rationals, and against SciPy for two groups."""

import itertools
import math
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nchypergeom_wallenius

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import wallenius
from dpassay.mechanisms.wallenius import combinations, exact_mean, log_pmf, manly_mean

WEIGHT = st.integers(1, 50)


def enumerate_law(weights: list[int], num_draws: int) -> dict[tuple[int, ...], Fraction]:
    """Probability of every set, by summing over the orders in which (7) can draw it."""
    law: dict[tuple[int, ...], Fraction] = {}
    for order in itertools.permutations(range(len(weights)), num_draws):
        probability, left = Fraction(1), sum(weights)
        for index in order:
            probability *= Fraction(weights[index], left)
            left -= weights[index]
        members = tuple(sorted(order))
        law[members] = law.get(members, Fraction(0)) + probability
    return law


@settings(max_examples=15, deadline=None)
@given(weights=st.lists(WEIGHT, min_size=5, max_size=5), num_draws=st.sampled_from([1, 2, 4]))
def test_mass_and_means_are_those_of_the_sequential_draws(weights: list[int], num_draws: int) -> None:
    law = enumerate_law(weights, num_draws)
    mean = [float(sum(p for members, p in law.items() if i in members)) for i in range(5)]
    for members, probability in law.items():
        assert float(log_pmf(weights, members)) == pytest.approx(math.log(probability), abs=1e-13)
    np.testing.assert_allclose(exact_mean(weights, num_draws), mean, rtol=1e-12)


def check_law(weights: list[int], num_draws: int, other: list[int]) -> bool:
    law = enumerate_law(other, num_draws)
    return all(abs(float(log_pmf(weights, s)) - math.log(p)) < 1e-12 for s, p in law.items())


def test_the_check_fails_for_a_changed_weight() -> None:
    assert check_law([3, 1, 4, 1], 2, [3, 1, 4, 1])
    assert not check_law([3, 1, 4, 1], 2, [3, 1, 4, 2])
    assert not check_law([3, 1, 4, 1], 2, [3, 1, 1, 4])


@jax.jit
def three_ways(log_weights: Any, members: Any, start: Any, stop: Any) -> tuple[Any, Any, Any, Any]:
    groups = (members, start, stop)
    rest = wallenius._rest(wallenius._LOGARITHMS, log_weights, *groups)
    return (
        wallenius._recursion(wallenius._LOGARITHMS, log_weights, *groups),
        jnp.log(wallenius._recursion(wallenius._NUMBERS, jnp.exp(log_weights), *groups)),
        wallenius._integral(log_weights[members], rest, start[members]),
        wallenius.members_log_prob(log_weights, *groups),
    )


@pytest.mark.parametrize("spread", [0.1, 3.0, 60.0])
def test_numbers_logarithms_and_integral_agree(spread: float) -> None:
    num = 40
    generator = np.random.default_rng(5)
    border = num // 2
    index = np.arange(num)
    with jax.enable_x64(True):
        logs, numbers, integral, chosen = three_ways(
            jnp.asarray(generator.normal(size=num) * spread),
            jnp.asarray(np.sort(generator.choice(num, 6, replace=False))),
            jnp.asarray(np.where(index < border, 0, border)),
            jnp.asarray(np.where(index < border, border, num)),
        )
    assert float(integral) == pytest.approx(float(logs), rel=1e-13, abs=1e-11)
    assert float(chosen) == pytest.approx(float(logs), rel=1e-13, abs=1e-12)
    if spread < 10:
        assert float(numbers) == pytest.approx(float(logs), abs=1e-12)


def test_many_draws_use_the_integral() -> None:
    """13 of 14, all but one: with equal weights all sets are equally likely, else a mean is the complement of a set."""
    assert wallenius.MAX_RECURSION < 13
    assert float(log_pmf(np.ones(14), np.arange(13))) == pytest.approx(-math.log(14), abs=1e-12)
    weights = np.linspace(0.1, 4, 14)
    missing = [math.exp(float(log_pmf(weights, np.delete(np.arange(14), i)))) for i in range(14)]
    np.testing.assert_allclose(missing, 1 - np.asarray(exact_mean(weights, 13)), rtol=1e-11)


@pytest.mark.parametrize(
    ("first", "second", "odds", "num_draws"),
    [(5, 7, 3.0, 4), (300, 700, 2.5, 100)],
)
def test_means_of_two_groups_are_those_of_scipy(first: int, second: int, odds: float, num_draws: int) -> None:
    mean = np.asarray(exact_mean(np.r_[np.full(first, odds), np.ones(second)], num_draws))
    counts = np.arange(max(0, num_draws - second), min(first, num_draws) + 1)
    expected = nchypergeom_wallenius.pmf(counts, first + second, first, num_draws, odds) @ counts
    # SciPy's mass function is a quadrature with an error of about 1e-10 itself.
    assert mean[:first].sum() == pytest.approx(expected, abs=2e-9)
    assert mean.sum() == pytest.approx(num_draws, abs=1e-10)
    assert np.ptp(mean[:first]) < 1e-13


@pytest.mark.parametrize("spread", [0.5, 10.0])
def test_means_add_up(spread: float) -> None:
    weights = np.exp(np.random.default_rng(2).normal(size=300) * spread)
    for num_draws in (1, 30):
        mean = np.asarray(exact_mean(weights, num_draws))
        assert mean.sum() == pytest.approx(num_draws, abs=1e-10)
        assert (np.diff(mean[np.argsort(weights)]) >= -1e-12).all()
    np.testing.assert_allclose(exact_mean(weights, 1), weights / weights.sum(), rtol=1e-11)


@settings(max_examples=50, deadline=None)
@given(weights=st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=20), data=st.data())
def test_manly_solves_its_equation(weights: list[float], data: st.DataObject) -> None:
    num_draws = data.draw(st.integers(1, len(weights) - 1))
    mean = np.asarray(manly_mean(weights, num_draws))
    assert mean.sum() == pytest.approx(num_draws, rel=1e-12)
    roots = np.log1p(-mean[mean < 0.99]) / np.array(weights)[mean < 0.99]
    if len(roots):
        np.testing.assert_allclose(roots, roots[0], rtol=1e-9)


def test_manly_is_exact_for_equal_weights_only() -> None:
    np.testing.assert_allclose(manly_mean(np.full(7, 3.0), 2), exact_mean(np.full(7, 3.0), 2), rtol=1e-12)
    assert abs(np.asarray(manly_mean([1.0, 2.0, 6.0], 2)) - np.asarray(exact_mean([1.0, 2.0, 6.0], 2))).max() > 1e-3
    for mean in (exact_mean, manly_mean):
        np.testing.assert_array_equal(mean([1.0, 2.0], 0), 0)
        np.testing.assert_array_equal(mean([1.0, 2.0], 2), 1)


def test_impossible_and_undefined_sets() -> None:
    assert float(log_pmf([1.0, 0.0, 2.0], [0, 1])) == -math.inf
    assert float(log_pmf([1.0, 0.0, 2.0], [0, 2])) == 0
    assert float(log_pmf([1.0, 1.0, 2.0], [0, 0])) == -math.inf
    assert float(log_pmf([1.0, 1.0, 2.0], [0, 3])) == -math.inf
    assert math.isnan(float(log_pmf([1.0, 0.0, 0.0], [0, 1])))


@pytest.mark.parametrize("function", [exact_mean, manly_mean])
@pytest.mark.parametrize(
    ("weights", "num_draws"), [([1.0, 0.0], 1), ([1.0, math.nan], 1), ([1.0], 2), ([1.0], -1), ([], 0), ([[1.0]], 1)]
)
def test_bad_weights_are_refused(function: Any, weights: Any, num_draws: int) -> None:
    with pytest.raises(InvalidInput):
        function(weights, num_draws)


def test_combinations_are_listed_in_order() -> None:
    np.testing.assert_array_equal(combinations([2, 5, 7], 2), [[2, 5], [2, 7], [5, 7]])
