"""What each definition allows for one event, against quadrature, brute force over the region, and closed forms."""

import functools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.core.divergences import gaussian_delta, profile_delta, renyi_delta, zcdp_delta

SLOPES = (0.0, 0.1, 0.5, 1.0, 2.0)


def binary_renyi(order, p, q):
    one = order * np.log(p) + (1 - order) * np.log(q)
    other = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
    return np.logaddexp(one, other) / (order - 1)


def largest(slope, orders, bounds):
    """Maximum of p - e^slope q over a grid of q."""
    q, p = roof(tuple(orders), tuple(bounds))
    return float((p - math.exp(slope) * q).max())


@functools.cache
def roof(orders, bounds):
    """For a grid of q the largest p, by bisection, where both directions keep every order's bound."""
    q = np.concatenate([np.geomspace(1e-12, 1, 1200)[:-1], np.linspace(1e-3, 0.999, 800)])
    low, high = q.copy(), np.full_like(q, 1 - 1e-13)
    with np.errstate(all="ignore"):
        for _ in range(44):
            p = (low + high) / 2
            kept = np.ones(q.size, bool)
            for order, bound in zip(orders, bounds, strict=True):
                kept &= (binary_renyi(order, p, q) <= bound) & (binary_renyi(order, q, p) <= bound)
            low, high = np.where(kept, p, low), np.where(kept, high, p)
    return q, low


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [*SLOPES, 6.0])
def test_gaussian_is_the_integral_of_the_excess_density(mu, epsilon):
    def excess(x):
        return max(stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), 0.0)

    start = epsilon / mu + mu / 2
    expected = integrate.quad(excess, start, max(start, mu) + 12, epsabs=0, epsrel=1e-10, limit=200)[0]
    assert float(gaussian_delta(epsilon, mu)) == pytest.approx(expected, rel=1e-6, abs=1e-280)
    assert float(gaussian_delta(epsilon, mu)) >= expected * (1 - 1e-9)


def test_gaussian_tail_and_ends():
    assert float(gaussian_delta(0.0, 0.0)) == 0
    assert float(gaussian_delta(3.0, math.inf)) == 1
    assert 1 - 1e-9 < float(gaussian_delta(1.0, 40.0)) <= 1
    assert 0 < float(gaussian_delta(800.0, 1.0)) < 1e-300  # rounded up, not to 0
    assert 0 < float(renyi_delta(800.0, 20.0, 1.0)) < 1e-300


@pytest.mark.parametrize(("order", "bound"), [(1.1, 0.5), (2.0, 0.01), (2.0, 1.0), (2.0, 5.0), (8.0, 2.0), (32.0, 1.0)])
@pytest.mark.parametrize("slope", SLOPES)
def test_renyi_is_the_maximum_over_binary_distributions(order, bound, slope):
    found = float(renyi_delta(slope, order, bound))
    expected = largest(slope, [order], [bound])
    assert expected - 1e-12 <= found <= expected + max(1e-3 * expected, 1e-8)


@pytest.mark.parametrize("order", [1.5, 2.0, 10.0])
@pytest.mark.parametrize("bound", [0.1, 1.0, 3.0])
def test_renyi_is_never_above_the_usual_conversion(order, bound):
    slopes = np.linspace(0, 8, 33)
    usual = np.exp((order - 1) * (bound - slopes)) * (1 - 1 / order) ** (order - 1) / order
    assert np.all(renyi_delta(slopes, order, bound) <= usual * (1 + 1e-9))


@pytest.mark.parametrize("rho", [1e-3, 0.125, 0.5, 2.0])
@pytest.mark.parametrize("slope", SLOPES)
def test_zcdp_is_the_maximum_over_distributions_that_keep_every_order(rho, slope):
    orders = 1 + np.geomspace(3e-4, 10 + 12 / min(rho, 1), 60)
    found, expected = float(zcdp_delta(slope, rho)), largest(slope, orders, orders * rho)
    assert expected - 3e-3 * max(expected, 0) - 1e-12 <= found <= expected + max(3e-3 * expected, 1e-8)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 2.5])
def test_a_gaussian_keeps_what_it_satisfies(mu):
    slopes = np.linspace(0, 6 * mu, 40)
    truth = gaussian_delta(slopes, mu) * (1 - 1e-9)
    assert np.all(truth <= zcdp_delta(slopes, mu**2 / 2))
    for order in (1.1, 2.0, 7.0, 40.0):
        assert np.all(truth <= renyi_delta(slopes, order, order * mu**2 / 2))


@pytest.mark.parametrize("order", [1.2, 2.0, 16.0])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_randomized_response_touches_its_renyi_bound_and_breaks_a_smaller_one(order, epsilon):
    q = 1 / (1 + math.exp(epsilon))
    bound = float(binary_renyi(order, 1 - q, q))
    slopes = np.linspace(0, epsilon, 201)
    gaps = (1 - q) - np.exp(slopes) * q - renyi_delta(slopes, order, bound)
    assert -1e-3 < gaps.max() <= 0
    assert ((1 - q) - np.exp(slopes) * q - renyi_delta(slopes, order, 0.95 * bound)).max() > 1e-4


def test_renyi_and_zcdp_grow_with_the_bound_and_fall_with_the_slope():
    slopes, bounds = np.linspace(0, 4, 30)[:, None], np.geomspace(1e-3, 6, 40)[None, :]
    for table in (renyi_delta(slopes, 3.0, bounds), zcdp_delta(slopes, bounds), gaussian_delta(slopes, bounds)):
        assert np.all(np.diff(table, axis=1) >= -1e-6 * table[:, 1:])
        assert np.all(np.diff(table, axis=0) <= 1e-6 * table[:-1])
        assert np.all((table >= 0) & (table <= 1))


def test_nothing_and_everything():
    assert float(renyi_delta(0.0, 2.0, 0.0)) == float(zcdp_delta(0.0, 0.0)) == 0
    assert float(renyi_delta(1.0, 2.0, math.inf)) == float(zcdp_delta(1.0, math.inf)) == 1


def test_one_point_is_the_privacy_region():
    """Kairouz, Oh and Viswanath: (1-delta)(e^epsilon - e^slope)/(1 + e^epsilon) + delta below epsilon, delta above."""
    epsilon, delta = 1.3, 0.02
    for slope in (0.0, 0.4, 1.2):
        expected = delta + (1 - delta) * (math.exp(epsilon) - math.exp(slope)) / (1 + math.exp(epsilon))
        assert float(profile_delta(slope, [(epsilon, delta)])) == pytest.approx(expected, rel=1e-9)
    assert float(profile_delta(2.0, [(epsilon, delta)])) == pytest.approx(delta, rel=1e-9)


def test_several_points_are_the_maximum_over_their_region():
    points = [(0.1, 0.2), (0.8, 0.03), (2.0, 1e-4)]
    q = np.linspace(0, 1, 200_001)
    lines = [np.exp(e) * q + d for e, d in points] + [1 - np.exp(-e) * (1 - d - q) for e, d in points]
    roof = np.minimum(np.min(lines, axis=0), 1.0)
    for slope in (0.0, 0.1, 0.5, 1.0, 3.0):
        expected = (roof - math.exp(slope) * q).max()
        assert expected - 1e-12 <= float(profile_delta(slope, points)) <= expected + 2e-5


def test_points_with_infinite_epsilon_leave_only_their_delta():
    assert float(profile_delta(1.0, [(math.inf, 0.0)])) == pytest.approx(1)
