"""Tests and bounds for one event counted once on fresh samples: is p <= e^epsilon q + delta?

X of n outputs under one dataset and Y of m under the other fall into an event; X ~ Bin(n, p), Y ~ Bin(m, q),
independent. An (epsilon, delta)-private mechanism has p <= e^epsilon q + delta (Dwork et al. 2006). The methods:

    exact            decides. Orders all (x, y) by a bound of epsilon that is valid for large counts only (where the
                     signed root of the likelihood ratio meets the normal quantile), and bounds the probability of an
                     order at least as high over every (p, q) of the null in a confidence set of tiny failure
                     probability (Berger and Boos 1994). Valid for all counts, no approximation but upward.
    clopper-pearson  valid: two bounds (Clopper and Pearson 1934) at half the failure probability each.
    conditional      given X + Y, as if Poisson (Przyborowski and Wilenski 1940); delta = 0; no proof for binomials.
    score            asymptotic (Koopman 1984; Farrington and Manning 1990): shown, never decides.

Theorem and proofs: docs/theorems/black-box-audits.md.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from dpassay.core.errors import InvalidInput

METHODS = ("exact", "clopper-pearson", "conditional", "score")

SAFETY = 1e-6
"""Relative margin on every p-value for the rounding of incomplete beta functions; tests compare them with Arb."""
STEP, REACH = 0.025, 9.0
"""Width of the blocks of x, and how far they go, in standard deviations of X/n - e^epsilon Y/m."""
TOLERANCE = 0.02
"""How far, relatively, a certified p-value may lie above the largest probability that was met."""
TAIL = 25.0
"""Counts farther from their mean than a probability of e^-TAIL allows are left out of the curvature."""
WINDOW = 6.0
"""Standard deviations of a count beyond which its tail is bounded by one block."""
LARGEST = 500.0
"""Nats; no bound is searched beyond."""
LOG_STEEPEST = 100.0
"""Nats; the steepest null that orders outcomes."""

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Counts:
    """How often an event was seen, side 1 being the one under which it is likelier.

    Raises:
        InvalidInput: counts that are no whole numbers, negative, or above their trials.
    """

    successes1: int
    trials1: int
    successes2: int
    trials2: int

    def __post_init__(self) -> None:
        for name in ("successes1", "trials1", "successes2", "trials2"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value:
                raise InvalidInput(f"{name} is {value!r}; counts are whole numbers")
            object.__setattr__(self, name, int(value))
        for successes, trials in ((self.successes1, self.trials1), (self.successes2, self.trials2)):
            if not 0 <= successes <= trials or trials < 1:
                raise InvalidInput(
                    f"{successes} successes in {trials} trials; need 0 <= successes <= trials, trials >= 1"
                )


def p_value(
    counts: Counts,
    epsilon: float,
    delta: float = 0.0,
    *,
    reference: float | None = None,
    failure_probability: float = 0.01,
    nuisance_share: float | None = None,
) -> float:
    """Certified p-value of p <= e^epsilon q + delta: under it, P(p_value <= a) <= a for every a in (0, 1).

    Args:
        counts: of one event on samples that did not choose it.
        epsilon: nats, >= 0.
        delta: a probability in [0, 1).
        reference: None orders the outcomes by their approximate bounds of epsilon at `failure_probability`, which is
            about as powerful as can be at that level; a number of nats >= 0, fixed before the counts were seen, by
            their evidence against that epsilon. For one ordering the p-value never falls when epsilon grows.
        failure_probability: the level at which the p-value is meant to be most powerful; fixed beforehand.
        nuisance_share: failure probability of the confidence set for (p, q), included in the p-value; fixed beforehand;
            None takes failure_probability / 200.

    Raises:
        InvalidInput: a parameter out of range.
    """
    share = failure_probability / 200 if nuisance_share is None else nuisance_share
    _check(epsilon=epsilon, delta=delta, failure_probability=failure_probability, nuisance_share=share)
    region = _epsilon_region(counts, delta, failure_probability, reference)
    return 1.0 if region is None else region.p_value(float(epsilon), float(delta), share)


def epsilon_lower(
    counts: Counts,
    *,
    delta: float = 0.0,
    failure_probability: float,
    reference: float | None = None,
    method: str = "exact",
) -> float:
    """Lower bound of the smallest epsilon >= 0 with p <= e^epsilon q + delta; 0 when even 0 is not refuted.

    With method "exact" or "clopper-pearson", P(bound > true epsilon) <= failure_probability, whatever n, m, p and q.

    The failure probability is in (0, 1); `reference`, for the method "exact" only, is as in `p_value`.

    Raises:
        InvalidInput: a parameter out of range, an unknown method, "conditional" with delta > 0.
    """
    _check(delta=delta, failure_probability=failure_probability)
    x, n, y, m = counts.successes1, counts.trials1, counts.successes2, counts.trials2
    if method == "clopper-pearson":
        low = float(proportion_lower(x, n, failure_probability / 2))
        high = float(proportion_upper(y, m, failure_probability / 2))
        return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    if method == "conditional":
        if delta != 0:
            raise InvalidInput(f'the method "conditional" needs delta = 0, got {delta}; use "exact"')
        share = float(proportion_lower(x, x + y, failure_probability)) if x else 0.0
        return max(0.0, math.log(share / (1 - share) * (m / n))) if share else 0.0
    if method == "score":
        return _score_lower(x, n, y, m, delta, failure_probability)
    if method != "exact":
        raise InvalidInput(f"no method is called {method!r}; choose from {', '.join(METHODS)}")
    region = _epsilon_region(counts, delta, failure_probability, reference)
    if region is None:
        return 0.0
    return region.bound(lambda value: (value, float(delta)), region.reference[0], LARGEST, failure_probability)


def delta_lower(counts: Counts, *, epsilon: float, failure_probability: float, reference: float | None = None) -> float:
    """Lower bound of the smallest delta >= 0 with p <= e^epsilon q + delta: the exact method for one epsilon.

    No `reference` orders the outcomes by their approximate bounds of delta; a delta in [0, 1), fixed before the counts
    were seen, by their evidence against it.

    Raises:
        InvalidInput: a parameter out of range.
    """
    _check(epsilon=epsilon, failure_probability=failure_probability)
    if reference is None:
        reference = _meets(counts, lambda value: (float(epsilon), value), 0.0, 1 - 1e-9, failure_probability)
        if reference is None:  # not even delta = 0 looks refuted: the lowest of all orders
            return 0.0
    _check(delta=reference)
    region = _region(counts, float(epsilon), float(reference))
    return region.bound(lambda value: (float(epsilon), value), float(reference), 1.0, failure_probability)


def predicted_lower(
    successes1: Any, trials1: Any, successes2: Any, trials2: Any, *, delta: Any = 0.0, failure_probability: Any
) -> Array:
    """Approximates the exact method's bound of epsilon, for choosing events. Not a bound: it decides nothing.

    Where the signed root of the likelihood ratio meets the normal quantile; 0 where that is not above 0. Nats, in the
    shape to which the arguments broadcast; counts may be expected ones. Some milliseconds for thousands.
    """
    x, n, y, m, d, alpha = np.broadcast_arrays(
        *(np.asarray(value, float) for value in (successes1, trials1, successes2, trials2, delta, failure_probability))
    )
    quantile = -special.ndtri(alpha)
    y = np.minimum(y + _PREDICTED_SHIFT, m)
    p, q = x / n, y / m
    excess = np.maximum(p - d, 1e-300)
    estimate = np.log(excess / q)
    low, high = np.zeros(p.shape), np.maximum(estimate, 0.0)
    with np.errstate(all="ignore"):
        epsilon = estimate - quantile * np.sqrt(p * (1 - p) / (n * excess**2) + (1 - q) / (m * q))
    epsilon = np.where((epsilon > low) & (epsilon < high), epsilon, high / 2)
    for _ in range(30):
        slope = np.exp(epsilon)
        null = closest_null(p, q, n, m, slope, d, rounds=25)
        root = np.sqrt(2 * np.maximum(log_likelihood_ratio(p, q, n, m, slope, d, null), 0.0))
        above = root >= quantile
        low, high = np.where(above, epsilon, low), np.where(above, high, epsilon)
        likeliest = slope * null + d
        with np.errstate(all="ignore"):
            gradient = n * slope * null * (likeliest - p) / (likeliest * (1 - likeliest))
            step = epsilon - (root - quantile) * root / gradient
        new = np.where((step > low) & (step < high), step, (low + high) / 2)
        done = np.all((np.abs(new - epsilon) <= 1e-7) | (p <= d))
        epsilon = new
        if done:
            break
    result: Array = np.where((p > d) & (epsilon > 1e-9), epsilon, 0.0)
    return result


def closest_null(p: Any, q: Any, trials1: Any, trials2: Any, slope: Any, offset: Any, *, rounds: int = 60) -> Array:
    """The q' whose boundary point (slope q' + offset, q') is closest to (p, q): the reverse-KL projection.

    Minimizes trials1 KL(p || slope q' + offset) + trials2 KL(q || q'), convex in q'; q' is between q and
    (p - offset) / slope. Arrays broadcast to its shape; `rounds` bounds the safeguarded Newton steps, if offset > 0.
    """
    p, q, n, m, s, d = np.broadcast_arrays(*(np.asarray(v, float) for v in (p, q, trials1, trials2, slope, offset)))
    if not np.any(d):
        # (n + m) s q'^2 - (s (n + m q) + m + n p) q' + n p + m q = 0, the smaller root, without cancellation
        linear = (s * (n + m * q) + m + n * p) / (n + m)
        constant = (n * p + m * q) / (n + m)
        return 2 * constant / (linear + np.sqrt(np.maximum(linear**2 - 4 * s * constant, 0.0)))
    end = np.minimum((1 - d) / s, 1.0)
    first, second = np.clip(q, 0.0, end), np.clip((p - d) / s, 0.0, end)
    low, high = np.minimum(first, second), np.maximum(first, second)
    point = (low + high) / 2
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            null = s * point + d
            rise = m * (point - q) / (point * (1 - point)) - n * s * (p - null) / (null * (1 - null))
            low, high = np.where(rise < 0, point, low), np.where(rise < 0, high, point)
            curvature = n * s**2 * (p / null**2 + (1 - p) / (1 - null) ** 2)
            curvature += m * (q / point**2 + (1 - q) / (1 - point) ** 2)
            step = point - rise / curvature
            new = np.where((step > low) & (step < high), step, (low + high) / 2)
            # The divergence is flat there; its scale is the distance to either end.
            done = np.all(np.abs(new - point) <= 1e-9 * np.minimum(point, (1 - null) / s))
            point = new
            if done:
                break
    # Where p is 1 the closest point may be the end itself, where it is not flat: there only the end will do.
    corner = p == 1
    if corner.any():
        at_end, at_point = (log_likelihood_ratio(p, q, n, m, s, d, null) for null in (end, point))
        point = np.where(corner & (at_end <= at_point), end, point)
    return point


def log_likelihood_ratio(p: Any, q: Any, trials1: Any, trials2: Any, slope: Any, offset: Any, null: Any) -> Array:
    """trials1 KL(p || slope null + offset) + trials2 KL(q || null), nats; arrays broadcast to its shape."""
    likeliest = np.minimum(np.asarray(slope) * null + offset, 1.0)
    result: Array = trials1 * _divergence(p, likeliest) + trials2 * _divergence(q, null)
    return result


def proportion_lower(successes: Any, trials: Any, failure_probability: float) -> Array:
    """Clopper and Pearson's lower bound of a proportion; successes and trials broadcast to its shape."""
    some = np.maximum(successes, 1)
    found = special.betaincinv(some, trials - some + 1, failure_probability)
    return np.where(np.asarray(successes) > 0, found, 0.0)


def proportion_upper(successes: Any, trials: Any, failure_probability: float) -> Array:
    """Clopper and Pearson's upper bound of a proportion; successes and trials broadcast to its shape."""
    most = np.minimum(successes, trials - 1)
    found = special.betainccinv(most + 1, trials - most, failure_probability)
    return np.where(np.asarray(successes) < trials, found, 1.0)


def size(
    method: str,
    trials1: int,
    trials2: int,
    epsilon: float,
    delta: float,
    probability2: float,
    failure_probability: float,
) -> float:
    """P(bound > epsilon) when p = e^epsilon q + delta exactly, summed over all outcomes: the false-alarm rate.

    n and m are the trials, q is `probability2`. The cost grows with n: all x within nine standard deviations, and the
    rest is added.

    Raises:
        InvalidInput: an unknown method, or a parameter out of range.
    """
    _check(epsilon=epsilon, delta=delta, failure_probability=failure_probability)
    p = math.exp(epsilon) * probability2 + delta
    if method not in METHODS or not 0 <= probability2 <= 1 or p > 1 + 1e-12:
        raise InvalidInput(
            f"need a method of {', '.join(METHODS)} and e^epsilon q + delta <= 1, got {method!r}, {p:.6g}"
        )
    p = min(p, 1.0)
    spread = 9 * math.sqrt(trials1 * p * (1 - p)) + 40
    first, last = max(0, math.floor(trials1 * p - spread)), min(trials1, math.ceil(trials1 * p + spread))
    if trials1 <= _SMALL:
        first, last = 0, trials1  # one search serves every q
    x = np.arange(first, last + 1, dtype=float)
    low = _limits_of(method, trials1, trials2, float(epsilon), float(delta), failure_probability, first, last)
    chance = stats.binom.cdf(low, trials2, probability2)
    beyond = stats.binom.cdf(first - 1, trials1, p) + stats.binom.sf(last, trials1, p)
    return float((stats.binom.pmf(x, trials1, p) * chance).sum() + beyond)


def detectable_epsilon(
    trials1: int,
    trials2: int,
    probability2: float,
    *,
    epsilon: float,
    delta: float = 0.0,
    failure_probability: float,
    power: float = 0.9,
) -> float | None:
    """The smallest epsilon' for which p = e^epsilon' q + delta is found to exceed epsilon with the given probability.

    n and m are the trials, `probability2` is q of the event under the dataset that makes it rarer, epsilon what is
    claimed, and `power` the probability of a refutation by the exact bound.

    Returns:
        Nats, by the normal approximation; None when not even p = 1 would do.
    """
    _check(epsilon=epsilon, delta=delta, failure_probability=failure_probability)
    if not 0 < probability2 < 1 or delta >= 1:
        raise InvalidInput(f"the event's probability is {probability2}; it must be in (0, 1)")
    combined = special.ndtr(special.ndtri(failure_probability) - special.ndtri(power))  # the quantiles add up

    def excess(value: float) -> float:
        p = min(1.0, math.exp(value) * probability2 + delta)
        found = predicted_lower(
            p * trials1, trials1, probability2 * trials2, trials2, delta=delta, failure_probability=combined
        )
        return float(found) - epsilon

    most = math.log((1 - delta) / probability2)
    if most <= epsilon or excess(most) <= 0:
        return None
    return float(optimize.brentq(excess, epsilon, most, xtol=1e-9)) if excess(epsilon) < 0 else epsilon


def rarest_event(
    trials1: int, trials2: int, *, epsilon: float, delta: float = 0.0, failure_probability: float, power: float = 0.9
) -> float | None:
    """The smallest p for which an event that never happens under the other dataset refutes epsilon with that power.

    Exact: the least x that refutes together with y = 0, by the exact method, and the p for which X reaches it with
    probability `power`. None when x = n does not refute.
    """
    _check(epsilon=epsilon, delta=delta, failure_probability=failure_probability)

    def refutes(x: int) -> bool:
        counts = Counts(x, trials1, 0, trials2)
        return p_value(counts, epsilon, delta, failure_probability=failure_probability) <= failure_probability

    if not refutes(trials1):
        return None
    low, high = 0, 1
    while not refutes(min(high, trials1)):
        low, high = high, 2 * high
    high = min(high, trials1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if refutes(middle) else (middle, high)
    return float(special.betaincinv(high, trials1 - high + 1, power))


def certificate_inputs(
    counts: Counts, epsilon: float, delta: float = 0.0, *, failure_probability: float, weight: float = 1.0
) -> dict[str, Any]:
    """One event of a fixed-sample audit as `dpassay.replay.audit` reads it, numbers exact.

    Epsilon and delta are log slope and offset of the null; with a curve's tangent, the tangent's. The failure
    probability is that of the whole audit: the checker computes the share, `weight`, that is this event's.
    """
    _check(epsilon=epsilon, delta=delta, failure_probability=failure_probability)
    return {
        "weight": str(Fraction(weight)),
        "log_slope": str(Fraction(epsilon)),
        "offset": str(Fraction(delta)),
        "counts": [counts.successes1, counts.trials1, counts.successes2, counts.trials2],
    }


_PREDICTED_SHIFT = 0.5
MOST_CELLS = 100_000  # at a time; where more would be split, the bound they have so far is the answer
_SMALL = 500


@dataclass(frozen=True)
class _Region:
    """The outcomes ordered no lower than the observed one: y <= limits[j] for edges[j-1] < x <= edges[j]."""

    counts: Counts
    reference: tuple[float, float]
    edges: Array
    limits: Array

    def p_value(self, epsilon: float, delta: float, nuisance_share: float) -> float:
        return min(1.0, self._supremum(epsilon, delta, nuisance_share) * (1 + SAFETY) + nuisance_share)

    def bound(self, null: Any, start: float, largest: float, failure_probability: float) -> float:
        """The largest value found whose null is rejected for certain; 0 when there is none."""
        share = failure_probability / 200

        def certified(value: float) -> float:
            epsilon, delta = null(value)
            return self.p_value(epsilon, delta, share)

        return largest_refuted(certified, start, largest, failure_probability)

    def _supremum(self, epsilon: float, delta: float, share: float) -> float:
        """Upper bound of the largest probability f of the region on the null's boundary within a confidence set.

        The set is q <= U(Y) and p >= L(X), each failing with probability share / 2; with p = slope q + delta on the
        boundary, q is between (L - delta) / slope and U. It is covered with cells. On one of them, of width w,
        f <= (max(f at its ends) + k e^-TAIL) / (1 - k), k = curvature w^2 / 8 (see the page on black-box audits), and
        f <= P(region) at the largest p and smallest q, as the region is monotone. Cells that stand out are split.
        """
        c, slope = self.counts, math.exp(epsilon)
        least = float(proportion_lower(c.successes1, c.trials1, share / 2))
        low = max(0.0, (least * (1 - 1e-9) - delta) / slope)
        high = min(1.0, float(proportion_upper(c.successes2, c.trials2, share / 2)) * (1 + 1e-9))
        if low > high:
            return 0.0
        ends = self._cells(low, high, slope, delta)
        values = self._mass(np.minimum(slope * ends + delta, 1.0), ends)
        left, right, at_left, at_right = ends[:-1], ends[1:], values[:-1], values[1:]
        settled, largest = 0.0, float(values.max())
        for _ in range(30):
            bend = self._curvature(left, right, slope, delta) * (right - left) ** 2 / 8
            usable = bend < 0.5
            upper = np.maximum(at_left, at_right)
            upper[usable] = (upper[usable] + bend[usable] * math.exp(-TAIL)) / (1 - bend[usable])
            if not usable.all():
                null = np.minimum(slope * right[~usable] + delta, 1.0)
                upper[~usable] = self._mass(null, left[~usable])
            enough = max((1 + TOLERANCE) * largest, settled)
            kept = upper > enough
            settled = max(settled, float(upper[~kept].max(initial=0.0)))
            if not kept.any():
                return settled
            if kept.sum() > MOST_CELLS:
                break
            middle = (left[kept] + right[kept]) / 2
            value = self._mass(np.minimum(slope * middle + delta, 1.0), middle)
            largest = max(largest, float(value.max()))
            at_left, at_right = np.concatenate([at_left[kept], value]), np.concatenate([value, at_right[kept]])
            left, right = np.concatenate([left[kept], middle]), np.concatenate([middle, right[kept]])
        return max(settled, float(upper.max()))

    def _cells(self, low: float, high: float, slope: float, delta: float) -> Array:
        """Ends of cells on which the curvature costs about half the tolerance; a guess, refined where it matters."""
        fine = low + (high - low) * np.linspace(0, 1, 129) ** 2
        with np.errstate(divide="ignore"):
            density = np.sqrt(self._curvature(fine[:-1], fine[1:], slope, delta))
        density = np.minimum(density, 4 / np.diff(fine) if high > low else 0.0)
        length = np.concatenate([[0.0], np.cumsum(density * np.diff(fine))])
        count = int(min(400, max(2, math.ceil(length[-1] / math.sqrt(4 * TOLERANCE)))))
        ends: Array = np.interp(np.linspace(0, length[-1], count + 1), length, fine)
        ends[0], ends[-1] = low, high
        return ends

    def _curvature(self, left: Array, right: Array, slope: float, delta: float) -> Array:
        """A number C with -f'' <= C (f + e^-TAIL) on the cells; infinite where p or q may be 0 or 1."""
        total = np.zeros(left.shape)
        for trials, low, high, factor in (
            (self.counts.trials1, np.minimum(slope * left + delta, 1), np.minimum(slope * right + delta, 1), slope**2),
            (self.counts.trials2, left, right, 1.0),
        ):
            variance = trials * np.maximum(low * (1 - low), high * (1 - high))
            variance = np.where((low < 0.5) & (high > 0.5), trials / 4, variance)
            excess = np.sqrt(2 * variance * TAIL) + 2 * TAIL / 3 + 1  # Bernstein; the 1 is for the size bias
            with np.errstate(divide="ignore"):
                ones = np.where(low > 0, (trials + excess / low) / low, np.inf)
                others = np.where(high < 1, (trials + excess / (1 - high)) / (1 - high), np.inf)
            total = total + factor * (ones + others)
        return total

    def _mass(self, p: Array, q: Array) -> Array:
        """Upper bound of P(region) for pairs (p, q), shape (pairs,).

        Blocks below a window are joined to its first one, those above it get the whole of Y: both only add.
        """
        x, n, y, m = self.edges, self.counts.trials1, self.limits, self.counts.trials2
        p, q = p[:, None], q[:, None]
        spread1 = WINDOW * np.sqrt(n * p * (1 - p)) + WINDOW**2 / 2
        spread2 = WINDOW * np.sqrt(m * q * (1 - q)) + WINDOW**2 / 2
        index, final = np.arange(x.size), x.size - 1
        start = np.minimum(((x < n * p - spread1) | (y < m * q - spread2)).sum(axis=1), final)[:, None]
        # One block past the window: where blocks are wider than X's spread, no edge may lie inside.
        stop = np.maximum(
            np.minimum(((x <= n * p + spread1) & (y <= m * q + spread2)).sum(axis=1), final)[:, None], start
        )
        inside = (index >= start) & (index <= stop)
        below = np.where(index < start, 0.0, 1.0)  # the distribution function of X at the edges
        special.betainc(n - x, x + 1, 1 - p, out=below, where=inside & (x < n))
        chance = np.where(y < 0, 0.0, np.ones_like(below))
        special.betainc(m - y, y + 1, 1 - q, out=chance, where=inside & (y < m) & (y >= 0))
        total: Array = np.where(inside, np.diff(below, axis=1, prepend=0.0) * chance, 0.0).sum(axis=1)
        return total + (1 - np.take_along_axis(below, stop, axis=1)[:, 0])


def _epsilon_region(
    counts: Counts, delta: float, failure_probability: float, reference: float | None
) -> _Region | None:
    """The outcomes ordered no lower than the observed one; None when all are."""
    if reference is not None:
        _check(reference=reference)
        return _region(counts, float(reference), float(delta))
    bound = _meets(counts, lambda value: (value, float(delta)), -30.0, LOG_STEEPEST, failure_probability)
    return None if bound is None else _region(counts, bound, float(delta))


def _meets(counts: Counts, null: Any, low: float, high: float, failure_probability: float) -> float | None:
    """Where the signed root of the observed outcome, which falls along the nulls, is the normal quantile.

    The outcomes of no smaller bound are those whose signed root against this null is at least the quantile.
    """
    x, y = np.array(float(counts.successes1)), np.array(float(counts.successes2))
    quantile = -float(special.ndtri(failure_probability))

    def excess(value: float) -> float:
        log_slope, offset = null(value)
        return float(_signed_root(x, y, counts.trials1, counts.trials2, math.exp(log_slope), offset)) - quantile

    if excess(low) < 0:
        return None
    return float(optimize.brentq(excess, low, high, xtol=1e-14, rtol=1e-14)) if excess(high) < 0 else high


@functools.lru_cache(maxsize=64)
def _region(counts: Counts, log_slope: float, offset: float) -> _Region:
    x, n, y, m = counts.successes1, counts.trials1, counts.successes2, counts.trials2
    slope = math.exp(log_slope)
    p, q = (x + 0.5) / (n + 1), (y + 0.5) / (m + 1)
    spread = n * math.sqrt(p * (1 - p) / n + slope**2 * q * (1 - q) / m)
    near = x + spread * np.arange(-REACH, REACH + STEP, STEP)
    far = spread * REACH * 1.1 ** np.arange(1, 400)
    edges = np.concatenate([x - far, near, x + far, [0.0, float(x), float(n)]])
    edges = np.unique(np.floor(np.clip(edges, 0, n)))
    observed = float(_signed_root(np.array(float(x)), np.array(float(y)), n, m, slope, offset))
    least = observed - 1e-7 * (1 + abs(observed))  # ties and rounding go into the region
    low = largest_where(lambda some, y: _signed_root(edges[some], y, n, m, slope, offset) >= least, edges.shape, m)
    low[edges == x] = np.maximum(low[edges == x], y)  # whatever rounding says, the observed outcome is in the region
    return _Region(counts, (log_slope, offset), edges, np.maximum.accumulate(low))


def largest_refuted(
    p_value: Callable[[float], float], start: float, largest: float, failure_probability: float
) -> float:
    """The largest value found in [0, largest] whose null has a p-value of at most the failure probability, else 0.

    The true p-value never falls along the nulls and `p_value` is never below it, so one certified rejection at the
    value returned is all that validity needs; where it is looked for is free: a root search on the normal quantiles of
    p-values, from `start`.
    """
    target = float(special.ndtri(failure_probability))

    def quantile(value: float) -> float:
        certified = p_value(value)
        return float(special.ndtri(certified)) if certified < 1 else math.inf

    low, below = 0.0, quantile(0.0)
    if below > target:
        return 0.0
    high, above = largest, math.inf
    value = min(max(start, 1e-9), largest / 2)
    for _ in range(60):
        here = quantile(value)
        if here <= target:
            low, below = value, here
        else:
            high, above = value, here
        if high - low <= 1e-9 * high or target - below < 1e-3:
            break
        if math.isinf(above):
            value = (low + high) / 2 if high < largest else min(2 * low + 1e-3, (low + largest) / 2)
            continue
        share_of_gap = (target - 2e-4 - below) / (above - below)
        value = low + (high - low) * min(max(share_of_gap, 0.02), 0.98)
    return low


def largest_where(holds: Callable[[Any, Array], Any], shape: tuple[int, ...], most: int) -> Array:
    """For every place the largest whole y up to `most` for which something holds that stops holding once, else -1.

    `holds` takes the places asked about, a mask of that shape, and a y for each of them.
    """
    low, high = np.full(shape, -1.0), np.full(shape, float(most))  # the limit is in [low, high]
    while (unsettled := low < high).any():
        middle = np.ceil((low + high) / 2)[unsettled]
        found = holds(unsettled, middle)
        low[unsettled] = np.where(found, middle, low[unsettled])
        high[unsettled] = np.where(found, high[unsettled], middle - 1)
    return low


def _signed_root(x: Array, y: Array, n: int, m: int, slope: float, offset: float) -> Array:
    """Signed root of twice the log-likelihood ratio against the null's boundary; grows with x, falls with y.

    The derivative of the divergence in x/n is log-odds(p) - log-odds(closest p), of one sign on each side.
    """
    p, q = x / n, y / m
    null = closest_null(p, q, n, m, slope, offset)
    ratio = log_likelihood_ratio(p, q, n, m, slope, offset, null)
    result: Array = np.sign(p - slope * q - offset) * np.sqrt(2 * np.maximum(ratio, 0.0))
    return result


def _divergence(p: Any, null: Any) -> Array:
    """KL(p || null) of two coins, nats, without cancellation."""

    def part(share: Any, base: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = (share - base) / base
            value = base * ((1 + excess) * np.log1p(excess) - excess)
        return np.where(share == 0, base, np.where(base <= 0, np.inf, value))

    p, null = np.asarray(p, float), np.asarray(null, float)
    return np.where(p == null, 0.0, part(p, null) + part(1 - p, 1 - null))


@functools.lru_cache(maxsize=64)
def _limits_of(
    method: str, n: int, m: int, epsilon: float, delta: float, failure_probability: float, first: int, last: int
) -> Array:
    """For every x from first to last the largest y that the method refutes, -1 when none."""
    x = np.arange(first, last + 1, dtype=float)
    return largest_where(
        lambda some, y: _refuted(method, x[some], n, y, m, epsilon, delta, failure_probability), x.shape, m
    )


def _refuted(
    method: str, x: Array, n: int, y: Array, m: int, epsilon: float, delta: float, failure_probability: float
) -> Any:
    """Whether the method's bound exceeds epsilon, elementwise."""
    slope = math.exp(epsilon)
    if method == "clopper-pearson":
        half = failure_probability / 2
        return proportion_lower(x, n, half) > slope * proportion_upper(y, m, half) + delta
    if method == "conditional":
        share = proportion_lower(x, np.maximum(x, 1) + y, failure_probability)
        return share * m > slope * n * (1 - share)
    if method == "score":
        return _score_excess(x / n, n, y / m, m, slope, delta, failure_probability) > 0
    values = [
        p_value(Counts(int(one), n, int(other), m), epsilon, delta, failure_probability=failure_probability)
        for one, other in zip(x, y, strict=True)
    ]
    return np.array(values) <= failure_probability


def _score_excess(p: Any, n: int, q: Any, m: int, slope: float, offset: float, failure_probability: float) -> Any:
    """By how much p - slope q - offset exceeds what the score test of the null allows."""
    null = np.clip(closest_null(p, q, n, m, slope, offset), 1e-300, 1.0)
    likeliest = np.minimum(slope * null + offset, 1.0)
    spread = np.sqrt(likeliest * (1 - likeliest) / n + slope**2 * null * (1 - null) / m)
    return p - slope * q - offset + special.ndtri(failure_probability) * spread


def _score_lower(x: int, n: int, y: int, m: int, offset: float, failure_probability: float) -> float:
    """Where the score statistic of p = e^epsilon q + offset (Farrington and Manning 1990) meets the normal quantile."""
    p, q = x / n, y / m

    def excess(epsilon: float) -> float:
        return float(_score_excess(p, n, q, m, math.exp(epsilon), offset, failure_probability))

    if p <= offset or excess(0.0) <= 0:
        return 0.0
    high = math.log((p - offset) / q) if q else math.log(n) + 10.0
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-12)) if excess(high) < 0 else high


def _check(**values: float) -> None:
    limits = {
        "epsilon": (0.0, LARGEST, "a number of nats from 0 to 500"),
        "reference": (0.0, LARGEST, "a number of nats from 0 to 500"),
        "delta": (0.0, math.nextafter(1.0, 0.0), "a probability in [0, 1)"),
        "failure_probability": (1e-100, 1 - 1e-9, "a probability in (0, 1)"),
        "nuisance_share": (1e-100, 1 - 1e-9, "a probability in (0, 1)"),
    }
    for name, value in values.items():
        low, high, meaning = limits[name]
        if not low <= value <= high:
            raise InvalidInput(f"{name} is {value}; it must be {meaning}")
