"""What a privacy definition allows for one event: the largest Pr1[E] - e^epsilon Pr2[E], as numbers rounded up.

Every function returns an upper bound of sup {p - e^epsilon q}, where (p, q) are the probabilities of one event under
two neighboring datasets and the definition holds in both directions. The supremum over events is the hockey-stick
divergence, so these are also conversions to (epsilon, delta)-differential privacy. Sources: Dong, Roth and Su (2022),
corollary 2.13 (Gaussian); Kairouz, Oh and Viswanath (2015), the privacy region (one point of a profile); Asoodeh, Liao,
Calmon, Kosut and Sankar (2021) (binary distributions suffice for one Renyi order); Canonne, Kamath and Steinke (2020),
proposition 12 (the usual conversion, which `renyi_delta` improves). Epsilon is in nats; arguments broadcast.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

_ROUNDING = 1e-12  # relative error of one evaluated term, well above float64's for exponents up to 700
_LEAST = np.finfo(float).tiny  # what is smaller is rounded up to it
_GOLDEN = (math.sqrt(5) - 1) / 2


def gaussian_delta(epsilon: np.ndarray | float, mu: np.ndarray | float) -> np.ndarray:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), what mu-Gaussian-DP allows; epsilon, mu >= 0.

    Arrays broadcast to the result's shape. With a = epsilon/mu - mu/2 and b = a + mu, epsilon - b^2/2 = -a^2/2, so both
    terms share the factor e^(-a^2/2) and the scaled complementary error function keeps their difference accurate in
    the tail.
    """
    from scipy.special import erfcx, log_ndtr, ndtr

    epsilon, mu = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(mu, float))
    safe = np.where((mu > 0) & np.isfinite(mu), mu, 1.0)
    a, b = epsilon / safe - safe / 2, epsilon / safe + safe / 2
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        factor = np.exp(-np.minimum(a * a, 1e308) / 2) / 2
        tail = np.maximum(a, -5.0) / math.sqrt(2)
        first = np.where(a > -5, factor * erfcx(tail), ndtr(-a))
        second = np.where(a > -5, factor * erfcx(b / math.sqrt(2)), np.exp(epsilon + log_ndtr(-b)))
    delta = np.clip(first - second + _ROUNDING * (first + second), _LEAST, 1.0)
    return np.where(mu == 0, 0.0, np.where(np.isinf(mu), 1.0, delta))


def renyi_delta(epsilon: np.ndarray | float, order: np.ndarray | float, bound: np.ndarray | float) -> np.ndarray:
    """What (order, bound)-Renyi-DP allows: the best supporting line of the region of binary distributions.

    Arrays broadcast to the result's shape; epsilon and bound are in nats.

    Proof. Let a = order > 1 and B = e^((a-1) bound). By data processing p^a q^(1-a) + (1-p)^a (1-q)^(1-a) <= B. The
    function p^a q^(1-a) is convex and homogeneous of degree 1, hence at least its tangent at any ratio r = p/q > 0, the
    linear function a r^(a-1) p - (a-1) r^a q. The second term is bounded in the same way at any ratio t >= 0, so

        a (r^(a-1) - t^(a-1)) p - (a-1) (r^a - t^a) q <= B - a t^(a-1) + (a-1) t^a.             (1)

    With t = x r, x in [0, 1), r = e^epsilon a/(a-1) (1 - x^(a-1))/(1 - x^a), the coefficient of q is -e^epsilon times
    that of p, which is positive: dividing by it bounds p - e^epsilon q. Every x gives a valid bound, whatever the
    minimizer finds. x = 0 is the usual conversion, e^((a-1)(bound-epsilon)) (1 - 1/a)^(a-1) / a. The multiplier
    1/(a (r^(a-1) - t^(a-1))) increases with x, and the bound is convex in it (Lagrangian duality), so it is unimodal in
    x and its least value is the maximum over the region.

    Near epsilon = 0 the other direction, (q, p), binds as well. The two boundaries meet where q = 1 - p; with
    u = ln(p/q) there, bound = ln(cosh((a - 1/2) u) / cosh(u/2)) / (a-1). (1) at r = e^u = 1/t is a line through that
    corner with slope c = (a-1)/a sinh(a u)/sinh((a-1) u) > 1, and its mirror image has slope 1/c. For every slope
    e^epsilon <= c the line through the corner is a convex combination of these two, hence valid as well.
    """
    epsilon, order, bound = np.broadcast_arrays(*(np.asarray(value, float) for value in (epsilon, order, bound)))
    with np.errstate(all="ignore"):
        delta = _at_order(epsilon, np.log(order - 1), np.where((bound > 0) & np.isfinite(bound), bound, 1.0))
    return np.where(bound == 0, 0.0, np.where(np.isinf(bound), 1.0, delta))


def zcdp_delta(epsilon: np.ndarray | float, rho: np.ndarray | float) -> np.ndarray:
    """What rho-zCDP allows: Renyi divergence of every order a at most a rho, so the least `renyi_delta` over orders.

    Arrays broadcast to the result's shape. Each order alone gives a valid bound, whatever the minimizer finds. The
    binary distributions that satisfy all orders form a convex region whose boundary is the envelope of the single
    orders' boundaries, so the least over orders is the maximum over that region wherever the envelope is smooth.
    """
    epsilon, rho = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(rho, float))
    safe = np.where((rho > 0) & np.isfinite(rho), rho, 1.0)
    with np.errstate(all="ignore"):
        highest = np.log(4 + 2 * (epsilon + 1) / np.minimum(safe, 1.0))  # the usual conversion's order, with room
        delta = _golden_section(
            lambda log_excess: _at_order(epsilon, log_excess, (1 + np.exp(log_excess)) * safe),
            np.full_like(safe, math.log(1e-4)),
            highest,
            steps=26,
        )
    return np.where(rho == 0, 0.0, np.where(np.isinf(rho), 1.0, delta))


def profile_delta(epsilon: np.ndarray | float, points: Sequence[tuple[float, float]]) -> np.ndarray:
    """What (epsilon_i, delta_i)-DP for all points together allows at another epsilon, in the shape of that epsilon.

    Each point bounds p by two lines in q: e^epsilon_i q + delta_i, and from the complement of the event in the other
    direction 1 - e^-epsilon_i (1 - delta_i) + e^-epsilon_i q. A line no steeper than e^epsilon gives its intercept; two
    lines, one steeper and one flatter, give the intercept of their convex combination with slope e^epsilon.
    """
    epsilons, deltas = np.asarray(points, float).T
    lines = np.concatenate([epsilons, -epsilons])
    intercepts = np.concatenate([deltas, -np.expm1(-epsilons) + np.exp(-epsilons) * deltas])
    target = np.asarray(epsilon, float)[..., None, None]
    flat, steep = lines[:, None], lines[None, :]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Relative to e^epsilon, so that a steep line of infinite slope has weight 0.
        weight = -np.expm1(flat - target) / (np.exp(steep - target) - np.exp(flat - target))
        mixed = (1 - weight) * intercepts[:, None] + weight * intercepts[None, :]
    mixed = np.where((flat <= target) & (target < steep), mixed, 1.0)
    alone = np.where(flat <= target, intercepts[:, None], 1.0)
    delta = np.minimum(mixed, alone).min((-2, -1))
    return np.where(delta > 0, np.minimum(delta * (1 + _ROUNDING), 1.0), 0.0)


def _at_order(epsilon: np.ndarray, log_excess: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """`renyi_delta` at order 1 + e^log_excess, for finite bounds above 0."""
    excess = np.exp(log_excess)
    order = 1 + excess

    low, high = bound, bound + math.log(2) / excess  # of u at the corner
    for _ in range(36):
        middle = (low + high) / 2
        inside = _log_cosh((order - 0.5) * middle) - _log_cosh(middle / 2) < excess * bound
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    u = high * (1 + _ROUNDING)
    slope = -np.log1p(1 / excess) + u + np.log(-np.expm1(-2 * order * u)) - np.log(-np.expm1(-2 * excess * u))
    corner = -np.expm1(epsilon - u) / (1 + np.exp(-u)) + 1e-14

    def line(log_v: np.ndarray) -> np.ndarray:
        """The bound by (1) at x = e^-v."""
        v = np.exp(log_v)
        log_first = np.log(-np.expm1(-excess * v))  # log (1 - x^(a-1))
        log_ratio = epsilon + np.log1p(1 / excess) + log_first - np.log(-np.expm1(-order * v))  # log r
        log_other = log_ratio - v  # log t
        log_scale = np.log(order) + excess * log_ratio + log_first
        constant = np.exp(excess * bound - log_scale)
        linear = np.exp(np.log(order) + excess * log_other - log_scale)
        power = np.exp(log_excess + order * log_other - log_scale)
        # The relative error of exp is the absolute error of its argument, a sum of these.
        rounding = _ROUNDING + 1e-15 * (excess * bound + order * (np.abs(log_ratio) + v))
        delta = constant - linear + power + rounding * (constant + linear + power)
        return np.where(np.isnan(delta), np.inf, delta)

    least = _golden_section(line, np.full_like(bound, math.log(1e-6)), np.full_like(bound, math.log(1e3)), steps=28)
    return np.clip(np.where(epsilon < slope - _ROUNDING, np.minimum(corner, least), least), _LEAST, 1.0)


def _log_cosh(value: np.ndarray) -> np.ndarray:
    return value + np.log1p(np.exp(-2 * value))  # up to log 2, value >= 0


def _golden_section(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, steps: int
) -> np.ndarray:
    """The least value that golden-section search meets, elementwise."""
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner, at_outer = function(inner), function(outer)
    least = np.minimum(at_inner, at_outer)
    for _ in range(steps):
        left = (at_inner <= at_outer) & np.isfinite(at_inner)  # overflow is at the low end
        low, high = np.where(left, low, inner), np.where(left, outer, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = function(new)
        inner, outer = np.where(left, new, outer), np.where(left, inner, new)
        at_inner, at_outer = np.where(left, at_new, at_outer), np.where(left, at_inner, at_new)
        least = np.minimum(least, at_new)
    return least
