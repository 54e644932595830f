"""The exact privacy profile of a noisy linear sketch (M R + w N) / sqrt(r): how much noise w a guarantee needs.

R has one row per item and one column per user; M has r rows and does not depend on R; N has standard Gaussian entries.
Two matrices are neighbors when one row differs by a vector v with ||v||_2 <= 1, one rating by at most 1 for instance.
With M revealed the published matrix is a Gaussian shifted by ||M e_i|| ||v|| / w standard deviations, hence

    delta(epsilon) = E[ delta_GM(epsilon, ||M e_i|| / w) ],
    delta_GM(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),

with ||M e_i||^2 ~ chi^2_r for a Gaussian M; the privacy loss is then A/p - B/(p+1) with A, B ~ Gamma(r/2, 1)
independent and p (p+1) = w^2, which makes delta a finite sum of positive terms for even r. The number is attained in
the limit of a row of large norm, so it cannot be lowered without a bound on the rows. Where ratings are 0 or 1 and an
item has at most c other raters, the norm is at most sqrt(c), and the supremum over all such matrices is exact too.
docs/theorems/gaussian-sketch.md has the proofs; Algorithm 1 of Chen et al. (2022) with a Gaussian M has the same law
when there are at least as many items as users.

All of it is float64 on the host, in log space: relative error of a delta below 1e-10, however small the delta.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erfc, erfcx, gammaln, logsumexp

from dpassay.core.checks import check_count, check_open_unit, check_positive
from dpassay.core.errors import InvalidInput

MARGIN = 1e-9  # required noise is found for a log-delta this much smaller, well above the rounding error
CUTOFF = 45.0  # nats below its largest value at which an integrand is dropped
POINTS = 801
LARGE = 20.0  # from here on the asymptotic series of Mills' ratio is accurate to the last bit


def exact_delta(epsilon: float, num_rows: int, noise: float, max_raters: int | None = None) -> float:
    """delta(epsilon) of the sketch with a Gaussian M: the smallest delta for which it is (epsilon, delta)-private.

    Args:
        epsilon: nats, >= 0.
        num_rows: r.
        noise: w > 0, in ratings. For a change of norm c, as a whole user's column, give w / c.
        max_raters: None for real rows of any norm. A number c says that ratings are 0 or 1 and that no item has more
            than c raters besides the one who is added or removed (the number of users less one always will do); the
            delta is then the exact one for such data. Even numbers of rows only.

    Raises:
        InvalidInput: an argument out of its range, or an odd number of rows together with `max_raters`.
    """
    _check_profile(epsilon, num_rows, noise, max_raters)
    return math.exp(_log_delta(epsilon, num_rows, noise, max_raters))


def exact_epsilon(delta: float, num_rows: int, noise: float, max_raters: int | None = None) -> float:
    """The smallest epsilon, nats and rounded up, at which `exact_delta` is at most `delta`."""
    check_open_unit("delta", delta)
    _check_profile(0.0, num_rows, noise, max_raters)
    target = math.log(delta) - MARGIN
    if _log_delta(0.0, num_rows, noise, max_raters) <= target:
        return 0.0
    return _first(lambda epsilon: _log_delta(epsilon, num_rows, noise, max_raters) <= target, start=1.0)


def required_noise(epsilon: float, delta: float, num_rows: int, max_raters: int | None = None) -> float:
    """The smallest noise w, rounded up, at which `exact_delta(epsilon, num_rows, w, max_raters)` is at most `delta`.

    Raises:
        InvalidInput: an argument out of its range.

    Example:
        >>> round(required_noise(1.0, 1 / 16367, 400), 2)
        66.55
    """
    check_open_unit("delta", delta)
    _check_profile(epsilon, num_rows, 1.0, max_raters)
    target = math.log(delta) - MARGIN
    return _first(lambda noise: _log_delta(epsilon, num_rows, noise, max_raters) <= target, start=1.0)


def fixed_norm_delta(epsilon: float, num_rows: int, noise: float) -> float:
    """delta(epsilon) when every column of M has norm sqrt(r): mu-Gaussian-DP with mu = sqrt(r) / w, and no better.

    Raises:
        InvalidInput: an argument out of its range.
    """
    _check_profile(epsilon, num_rows, noise, None)
    return math.exp(_log_shift_delta(epsilon, np.array([math.sqrt(num_rows) / noise]))[0])


def fixed_norm_epsilon(delta: float, num_rows: int, noise: float) -> float:
    """The smallest epsilon, nats and rounded up, at which `fixed_norm_delta` is at most `delta`."""
    check_open_unit("delta", delta)
    _check_profile(0.0, num_rows, noise, None)
    target, shift = math.log(delta) - MARGIN, np.array([math.sqrt(num_rows) / noise])
    if _log_shift_delta(0.0, shift)[0] <= target:
        return 0.0
    return _first(lambda epsilon: _log_shift_delta(epsilon, shift)[0] <= target, start=1.0)


def fixed_norm_noise(epsilon: float, delta: float, num_rows: int) -> float:
    """The smallest noise w, rounded up, at which `fixed_norm_delta(epsilon, num_rows, w)` is at most `delta`."""
    check_open_unit("delta", delta)
    _check_profile(epsilon, num_rows, 1.0, None)
    target, root = math.log(delta) - MARGIN, math.sqrt(num_rows)
    return _first(lambda noise: _log_shift_delta(epsilon, np.array([root / noise]))[0] <= target, start=1.0)


def renyi_divergence(order: float, num_rows: int, noise: float) -> float:
    """The exact Renyi divergence of order alpha > 1 of the sketch with a Gaussian M, nats.

    -r / (2 (alpha - 1)) ln(1 - alpha (alpha - 1) / w^2); infinite from alpha (alpha - 1) = w^2 on.

    Raises:
        InvalidInput: an argument out of its range.
    """
    _check_profile(0.0, num_rows, noise, None)
    if not order > 1:
        raise InvalidInput(f"order is {order!r}; it must be a number > 1")
    share = order * (order - 1) / noise**2
    return math.inf if share >= 1 else -num_rows / (2 * (order - 1)) * math.log1p(-share)


def _log_delta(epsilon: float, num_rows: int, noise: float, max_raters: int | None) -> float:
    if max_raters is not None:
        return _log_pair_delta(epsilon, num_rows, noise, max_raters)
    if num_rows % 2:
        return _log_mean_shift_delta(epsilon, num_rows, noise)
    # A row of unbounded norm: p (p + 1) = w^2 and q = p + 1, no determinant enters.
    rate = 2 * noise**2 / (math.hypot(1, 2 * noise) + 1)
    return _log_race(epsilon, num_rows // 2, rate, rate + 1)


def _log_mean_shift_delta(epsilon: float, num_rows: int, noise: float) -> float:
    """log E[delta_GM(epsilon, sqrt(z)/w)], z ~ chi^2_r, for any r, by the trapezoid rule in y = log(z/r).

    The integrand is analytic and falls off at least exponentially on both sides, so that the rule converges
    geometrically; with k = r/2 the density of y is k^k / (Gamma(k) e^k) exp(k (y + 1 - e^y)).
    """
    half = num_rows / 2

    def log_integrand(y: np.ndarray) -> np.ndarray:
        shift = np.exp(y / 2) * (math.sqrt(num_rows) / noise)
        return half * (y - np.expm1(y)) + _log_shift_delta(epsilon, shift)

    low, high = -80.0 / half - 1.0, 10.0
    for _ in range(8):  # narrow the range to where the integrand matters
        y = np.linspace(low, high, POINTS)
        values = log_integrand(y)
        kept = np.flatnonzero(values > values.max() - CUTOFF)
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, POINTS - 1)
        if last - first > POINTS // 2:
            break
        low, high = y[first], y[last]
    return float(logsumexp(values)) + math.log(y[1] - y[0]) + _log_normalization(half)


def _log_normalization(half: float) -> float:
    """log(k^k / (Gamma(k) e^k)), by Stirling's series where the difference would cancel."""
    if half < 30:
        return float(half * math.log(half) - half - gammaln(half))
    series = 1 / (12 * half) - 1 / (360 * half**3) + 1 / (1260 * half**5) - 1 / (1680 * half**7)
    return 0.5 * math.log(half / (2 * math.pi)) - series


def _log_shift_delta(epsilon: float, shift: Any) -> np.ndarray:
    """log delta_GM(epsilon, mu) for mu > 0.

    With a = epsilon/mu - mu/2 and b = a + mu, e^epsilon phi(b) = phi(a), so that delta = phi(a) (m(a) - m(b)) with
    Mills' ratio m. For mu <= 1 the difference is integrated, since it would cancel.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        a, b = epsilon / shift - shift / 2, epsilon / shift + shift / 2
        log_density = -(a**2) / 2 - 0.5 * math.log(2 * math.pi)
        nodes, weights = np.polynomial.legendre.leggauss(20)
        inner = a[:, None] + np.minimum(shift, 1.0)[:, None] * (nodes + 1) / 2
        near = np.log(np.sum(_mills_slope(inner) * weights, axis=1) / 2) + np.log(shift)
        far = np.log(_mills(np.maximum(a, -5.0)) - _mills(b))
        missed = erfc(-a / math.sqrt(2)) / 2 + np.exp(log_density) * _mills(b)
        return np.where(shift <= 1, log_density + near, np.where(a > -5, log_density + far, np.log1p(-missed)))


def _mills(x: np.ndarray) -> np.ndarray:
    """(1 - Phi(x)) / phi(x)."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _mills_slope(x: np.ndarray) -> np.ndarray:
    """-m'(x) = 1 - x m(x), positive."""
    series, term = np.zeros_like(x), np.ones_like(x)
    square = np.where(x > LARGE, x, LARGE) ** 2
    for odd in range(1, 26, 2):
        term = -term * odd / square
        series -= term
    return np.where(x > LARGE, series, 1 - x * _mills(np.minimum(x, LARGE)))


def _log_pair_delta(epsilon: float, num_rows: int, noise: float, max_raters: int) -> float:
    """log of the exact delta of an item with c raters and the same with c + 1, the worse of adding and removing.

    One published row has covariance S1 = w^2 I + a a' on the one side, S2 = w^2 I + (a + v)(a + v)' on the other, with
    ||a||^2 = c and v orthogonal to a. With e1 > 0 > e2 the eigenvalues of S2^-1 S1 - I and s = ln(det S2 / det S1) / 2
    the loss of r rows is r s + A/p - B/q for independent A, B ~ Gamma(r/2, 1), p = 1/e1 and q = -1/e2; in the other
    direction -r s + A/(q-1) - B/(p+1).
    """
    square = noise**2
    scale = square * (square + max_raters + 1)
    mean, product = (max_raters - square) / (2 * scale), max_raters / scale
    spread = math.hypot(mean, math.sqrt(product))
    larger = spread + abs(mean)
    above, below = (larger, product / larger) if mean >= 0 else (product / larger, larger)
    half, gain = num_rows // 2, num_rows / 2 * math.log1p(1 / (square + max_raters))
    return max(
        _log_shifted_race(epsilon, half, gain, 1 / above, 1 / below),
        _log_shifted_race(epsilon, half, -gain, 1 / below - 1, 1 / above + 1),
    )


def _log_shifted_race(epsilon: float, half: int, gain: float, rate: float, opposite: float) -> float:
    """log E[(1 - e^(epsilon - L))_+] for L = gain + A/rate - B/opposite, A, B ~ Gamma(half, 1)."""
    if epsilon >= gain:
        return _log_race(epsilon - gain, half, rate, opposite)
    # delta(epsilon) = 1 - e^epsilon + e^epsilon delta'(-epsilon), delta' that of the other direction
    back = _log_race(gain - epsilon, half, opposite - 1, rate + 1)
    return math.log(math.exp(epsilon + back) - math.expm1(epsilon))


def _log_race(excess: float, half: int, rate: float, opposite: float) -> float:
    """log E[(1 - e^(t - L))_+] for L = A/p - B/q, t >= 0, as a sum of positive terms.

    A and B are the times of the k-th of two series of arrivals of rates p and q. Given that j of the first are still to
    come when the second is through, L is the time of the j-th arrival of rate p, and with x = p/(p + 1)
    E[(1 - e^(t - L))_+] = sum_(m < j) Poisson(m; p t) (1 - x^(j - m)).
    """
    share, log_x = rate / (rate + opposite), -math.log1p(1 / rate)
    missing = np.arange(1, half + 1)
    come = half - missing
    log_weight = gammaln(half + come) - gammaln(half) - gammaln(come + 1) + come * math.log(share)
    log_weight += half * math.log1p(-share)
    log_upper = np.logaddexp.accumulate(log_weight[::-1])[::-1]  # of sum_(j > m) weight_j, m = 0, ...
    m = np.arange(half)
    # sum_(j > m) weight_j (1 - x^(j - m)) = (1 - x) sum_(n >= m) x^(n - m) sum_(j > n) weight_j
    log_gap = np.logaddexp.accumulate((log_upper + m * log_x)[::-1])[::-1] - m * log_x - math.log1p(rate)
    log_time = m * math.log(rate * excess) if excess > 0 else np.where(m == 0, 0.0, -math.inf)
    return float(logsumexp(log_gap + log_time - gammaln(m + 1))) - rate * excess


def _first(reached: Callable[[float], bool], start: float) -> float:
    """The smallest number, up to a relative 1e-14 and rounded up, from which `reached` holds."""
    high = start
    while not reached(high):
        high *= 2
    low = high / 2
    while reached(low) and low > 1e-300:
        low, high = low / 2, low
    while low < (middle := low + (high - low) / 2) < high and high - low > 1e-14 * high:
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _check_profile(epsilon: Any, num_rows: Any, noise: Any, max_raters: Any) -> None:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.floating) or not 0 <= epsilon < math.inf:
        raise InvalidInput(f"epsilon is {epsilon!r}; it must be a finite number >= 0")
    check_count("num_rows", num_rows, 1)
    check_positive("noise", noise)
    if max_raters is not None:
        check_count("max_raters", max_raters, 1)
        if num_rows % 2:
            raise InvalidInput(f"num_rows is {num_rows}; with max_raters it must be even")
