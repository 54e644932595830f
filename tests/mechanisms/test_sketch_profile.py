"""The exact profile against quadrature, simulation, its closed form, and the trusted checker's enclosures."""

import math

import numpy as np
import pytest
from flint import arb
from scipy.integrate import quad
from scipy.stats import binomtest, chi2, norm

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import sketch_profile
from dpassay.mechanisms.sketch_profile import (
    exact_delta,
    exact_epsilon,
    fixed_norm_delta,
    fixed_norm_epsilon,
    fixed_norm_noise,
    renyi_divergence,
    required_noise,
)
from dpassay.replay.numbers import precision
from dpassay.replay.profile import gaussian_profile, integrated_profile, rater_profile, shift_delta

ALPHA = 1e-6
GRID = [(1, 0.0, 0.7), (1, 2.0, 5.0), (2, 1.0, 3.0), (5, 1.0, 3.0), (7, 0.3, 40.0), (400, 8.0, 11.0), (401, 1.0, 66.0)]


def shift(epsilon: float, mu: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize(("rows", "epsilon", "noise"), GRID)
def test_quadrature_of_the_stated_mean(rows: int, epsilon: float, noise: float) -> None:
    def integrand(z: float) -> float:
        return float(chi2.pdf(z, rows)) * shift(epsilon, math.sqrt(z) / noise)

    high = chi2.isf(1e-18, rows)
    value = quad(integrand, 0, rows, limit=300)[0] + quad(integrand, rows, high, limit=300)[0]
    assert exact_delta(epsilon, rows, noise) == pytest.approx(value, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize(("rows", "epsilon", "noise"), [*GRID, (2, 30.0, 40.0), (1000, 64.0, 97.4)])
def test_agrees_with_enclosures(rows: int, epsilon: float, noise: float) -> None:
    with precision():
        rigorous = gaussian_profile(rows, arb(noise), arb(epsilon)).log()
        assert rigorous.rad() < 1e-12
        by_integral = integrated_profile(rows, arb(noise), arb(epsilon))
        assert by_integral.overlaps(rigorous.exp())
    for value in (
        sketch_profile._log_delta(epsilon, rows, noise, None),
        sketch_profile._log_mean_shift_delta(epsilon, rows, noise),
    ):
        assert abs(value - float(rigorous.mid())) < 1e-10


def test_two_rows_have_a_closed_form() -> None:
    for epsilon, noise in ((0.0, 0.5), (1.0, 3.0), (50.0, 4.0)):
        rate = (math.sqrt(1 + 4 * noise**2) - 1) / 2
        closed = math.exp(-rate * epsilon) / math.sqrt(1 + 4 * noise**2)
        assert exact_delta(epsilon, 2, noise) == pytest.approx(closed, rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0.0, 1e-9), (1.0, 0.02), (1.0, 0.999), (1.0, 1.001), (3.0, 12.0), (0, 90)]
)
def test_one_shift_agrees_with_an_enclosure(epsilon: float, mu: float) -> None:
    with precision():
        rigorous = shift_delta(arb(epsilon), arb(mu)).log()
    assert sketch_profile._log_shift_delta(epsilon, np.array([mu]))[0] == pytest.approx(
        float(rigorous.mid()), abs=1e-11
    )


def limit_pair(rows: int, noise: float, row_norm: float, number: int, removing: bool = False) -> np.ndarray:
    """Privacy losses of the pair (row a u, row a u + v), or the other way, drawn from the matrices themselves."""
    generator = np.random.default_rng(20261121)
    one, two = (np.eye(2) * noise**2 + np.outer(row, row) for row in ((row_norm, 0.0), (row_norm, 1.0)))
    one, two = (two, one) if removing else (one, two)
    drawn = generator.multivariate_normal(np.zeros(2), one, size=(number, rows))
    quadratic = np.einsum("sri,ij,srj->s", drawn, np.linalg.inv(two) - np.linalg.inv(one), drawn)
    return (quadratic + rows * math.log(np.linalg.det(two) / np.linalg.det(one))) / 2


def between(values: np.ndarray, expected: float) -> bool:
    """Whether a mean of numbers in [0, 1] is not refuted: by the binomial law of its randomized rounding."""
    rounded = int((np.random.default_rng(7).random(len(values)) < values).sum())
    return bool(binomtest(rounded, len(values), expected).pvalue > ALPHA)


def test_simulation() -> None:
    """r = 5, w = 3, epsilon = 1: 0.0542; with a row of norm 10 it is less."""
    expected = exact_delta(1.0, 5, 3.0)
    assert expected == pytest.approx(0.0542, abs=5e-5)
    large, small = (np.maximum(-np.expm1(1.0 - limit_pair(5, 3.0, a, 400_000)), 0.0) for a in (1000.0, 4.0))
    assert between(large, expected)
    assert not between(small, expected)


def test_simulation_with_a_bounded_number_of_raters() -> None:
    """Removing is the worse direction here."""
    adding, removing = (
        np.maximum(-np.expm1(1.0 - limit_pair(6, 3.0, 4.0, 400_000, direction)), 0.0) for direction in (False, True)
    )
    with precision():
        both = rater_profile(6, arb(3), arb(1), 16)
    expected = exact_delta(1.0, 6, 3.0, max_raters=16)
    assert expected == pytest.approx(float(both.mid()), rel=1e-11)
    assert between(removing, expected)
    assert not between(removing, exact_delta(1.0, 6, 3.0))
    assert adding.mean() < removing.mean()


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 1.0])
def test_more_raters_help_the_attacker_up_to_the_limit(epsilon: float) -> None:
    deltas = [exact_delta(epsilon, 10, 2.0, max_raters=c) for c in (1, 2, 5, 30, 1000, 10**7)]
    assert deltas == sorted(deltas)
    assert deltas[-1] <= exact_delta(epsilon, 10, 2.0)
    assert deltas[-1] == pytest.approx(exact_delta(epsilon, 10, 2.0), rel=1e-4)


@pytest.mark.parametrize(("epsilon", "noise"), [(0.5, 123.608), (1.0, 66.551), (8.0, 11.237), (64.0, 2.5091)])
def test_required_noise(epsilon: float, noise: float) -> None:
    found = required_noise(epsilon, 1 / 16367, 400)
    assert found == pytest.approx(noise, rel=1e-4)
    assert exact_delta(epsilon, 400, found) <= 1 / 16367 < exact_delta(epsilon, 400, found * (1 - 1e-8))
    with precision():  # rounded up far enough for the exact value
        assert gaussian_profile(400, arb(found), arb(epsilon)) <= arb(1) / 16367
    sparse = fixed_norm_noise(epsilon, 1 / 16367, 400)
    assert sparse < found
    assert fixed_norm_delta(epsilon, 400, sparse) <= 1 / 16367 < fixed_norm_delta(epsilon, 400, sparse * (1 - 1e-8))
    assert fixed_norm_epsilon(1 / 16367, 400, sparse) == pytest.approx(epsilon, rel=1e-6)
    assert required_noise(epsilon, 1 / 16367, 400, max_raters=16366) < found
    assert exact_epsilon(1 / 16367, 400, found) == pytest.approx(epsilon, rel=1e-6)


def test_no_epsilon_is_needed_for_a_large_delta() -> None:
    assert exact_epsilon(0.9, 2, 10.0) == 0
    assert fixed_norm_epsilon(0.9, 2, 10.0) == 0


def test_renyi_divergence() -> None:
    """Against the moment of the simulated loss, which exists for alpha (alpha - 1) < w^2 only."""
    losses = limit_pair(4, 5.0, 1e6, 200_000)
    moment = np.exp(0.5 * losses)
    expected = math.exp(0.5 * renyi_divergence(1.5, 4, 5.0))
    assert abs(moment.mean() - expected) < 5.2 * moment.std() / math.sqrt(len(moment))
    assert renyi_divergence(6.0, 4, 5.0) == math.inf


def test_bad_input() -> None:
    for arguments in (
        (-1.0, 2, 1.0),
        (math.inf, 2, 1.0),
        (1.0, 0, 1.0),
        (1.0, 2, 0.0),
        (1.0, 3, 1.0, 4),
        (1.0, 2, 1.0, 0),
    ):
        with pytest.raises(InvalidInput):
            exact_delta(*arguments)
    with pytest.raises(InvalidInput):
        required_noise(1.0, 0.0, 2)
    with pytest.raises(InvalidInput):
        renyi_divergence(1.0, 2, 1.0)
