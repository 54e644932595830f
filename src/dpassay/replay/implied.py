"""Which statements about one event a privacy claim implies: p <= e^log_slope q + offset, decided in Arb.

p and q are an event's probabilities under two neighboring datasets, in either order. Sources: Dong, Roth and Su (2022),
corollary 2.13, for Gaussian differential privacy. For Renyi differential privacy of order a and bound e the two lines
that `dpassay.core.divergences.renyi_delta` proves, each valid for every value of a free number: a search in floats
finds a good one, then the line is evaluated in Arb. Zero-concentrated privacy is a bound a rho at every order a.
"""

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from flint import arb, ctx, fmpq

from dpassay.replay import Rejected
from dpassay.replay.numbers import fields, rational, show

Implies = Callable[[fmpq, fmpq], bool]
_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 45
_SEARCH_BITS = 106  # of searches, whose results are checked at the full precision


def read_claim(claim: Any) -> dict[str, Any]:
    """A claim of a certificate: its text, and `implies(log_slope, offset)`, true only where that is certain.

    Raises:
        Rejected: an unknown kind, missing fields, or numbers out of range.
    """
    kind = claim.get("kind") if isinstance(claim, Mapping) else None
    if kind == "gaussian":
        fields(claim, "claim", ("kind", "mu"))
        mu = _positive(claim, "mu")
        return {"text": f"{show(mu)}-Gaussian differentially private", "implies": _gaussian(mu)}
    if kind == "renyi":
        fields(claim, "claim", ("kind", "order", "epsilon"))
        order, bound = rational(claim["order"]), _positive(claim, "epsilon")
        if order <= 1:
            raise Rejected("the order must be above 1")
        return {
            "text": f"({show(order)}, {show(bound)})-Renyi differentially private",
            "implies": lambda log_slope, offset: _of_order(log_slope, offset, order, bound),
        }
    if kind == "zcdp":
        fields(claim, "claim", ("kind", "rho"))
        rho = _positive(claim, "rho")
        return {
            "text": f"{show(rho)}-zero-concentrated differentially private",
            "implies": functools.cache(lambda log_slope, offset: _concentrated(log_slope, offset, rho)),  # 0.2 s each
        }
    if kind == "dp":
        fields(claim, "claim", ("kind", "epsilon", "delta"))
        points = [(rational(claim["epsilon"]), rational(claim["delta"]))]
    elif kind == "profile":
        fields(claim, "claim", ("kind", "points"))
        points = [(rational(epsilon), rational(delta)) for epsilon, delta in claim["points"]]
    else:
        raise Rejected(f"the kind of claim {kind!r} is not dp, gaussian, zcdp, renyi or profile")
    if not points or any(epsilon < 0 or not 0 <= delta < 1 for epsilon, delta in points):
        raise Rejected("a claim needs epsilon >= 0 and delta in [0, 1)")
    text = " and ".join(f"({show(epsilon)}, {show(delta)})" for epsilon, delta in points)
    return {
        "text": f"{text}-differentially private",
        "implies": lambda log_slope, offset: any(log_slope >= e and offset >= d for e, d in points),
    }


def _positive(claim: Mapping[str, Any], name: str) -> fmpq:
    value = rational(claim[name])
    if value <= 0:
        raise Rejected(f"{name} must be above 0")
    return value


def _gaussian(mu: fmpq) -> Implies:
    def implies(log_slope: fmpq, offset: fmpq) -> bool:
        shift, middle = arb(log_slope / mu), arb(mu / 2)
        delta = _normal(middle - shift) - arb(log_slope).exp() * _normal(-middle - shift)
        return bool(delta <= arb(offset))

    return implies


def _normal(value: Any) -> Any:
    """The standard normal distribution function."""
    return (-value / arb(2).sqrt()).erfc() / 2


def _concentrated(log_slope: fmpq, offset: fmpq, rho: fmpq) -> bool:
    """Whether the bound of one order implies the line; a good order is searched for."""
    if log_slope < 0:
        return False
    epsilon, rate = float(arb(log_slope)), float(arb(rho))

    def at(log_excess: float) -> float:
        order = arb(1 + math.exp(log_excess))
        return _middle(_best(arb(log_slope), order, order * arb(rho)))

    with ctx.workprec(_SEARCH_BITS):
        best = _least(at, math.log(1e-4), math.log(4 + 2 * (epsilon + 1) / min(rate, 1.0)))
    order = 1 + fmpq(*math.exp(best).as_integer_ratio())
    return _of_order(log_slope, offset, order, order * rho)


def _of_order(log_slope: fmpq, offset: fmpq, order: fmpq, bound: fmpq) -> bool:
    """Whether a bound of the Renyi divergence of one order implies the line."""
    if log_slope < 0:
        return False
    return bool(_best(arb(log_slope), arb(order), arb(bound)) <= arb(offset))


def _best(epsilon: Any, order: Any, bound: Any) -> Any:
    """The better of both lines, an upper bound of p - e^epsilon q."""
    with ctx.workprec(_SEARCH_BITS):
        v, u = _multiplier(epsilon, order, bound), _corner(order, bound)
    return _line(epsilon, order, bound, arb(v)).min(_through_corner(epsilon, order, bound, arb(u)))


def _line(epsilon: Any, order: Any, bound: Any, v: Any) -> Any:
    """(1) of `renyi_delta` at x = e^-v: an upper bound of p - e^epsilon q, whatever v > 0 is."""
    excess = order - 1
    first, both = 1 - (-excess * v).exp(), 1 - (-order * v).exp()
    log_ratio = epsilon + (order / excess).log() + (first / both).log()  # log r, and log t = log r - v
    log_other = log_ratio - v
    numerator = (excess * bound).exp() - order * (excess * log_other).exp() + excess * (order * log_other).exp()
    return numerator / (order * (excess * log_ratio).exp() * first)


def _multiplier(epsilon: Any, order: Any, bound: Any) -> float:
    """A good v for `_line`."""
    return math.exp(_least(lambda log_v: _middle(_line(epsilon, order, bound, arb(math.exp(log_v)))), -14.0, 7.0))


def _through_corner(epsilon: Any, order: Any, bound: Any, u: Any) -> Any:
    """The line through the point p = e^u q, q = 1 - p, an upper bound for slopes up to that of (1) there; else 1."""
    excess = order - 1
    reaches = ((order - arb(0.5)) * u).cosh().log() - (u / 2).cosh().log() >= excess * bound
    steepest = (excess / order).log() + (order * u).sinh().log() - (excess * u).sinh().log()
    if not (reaches and epsilon <= steepest):
        return arb(1)
    return (1 - (epsilon - u).exp()) / (1 + (-u).exp())


def _corner(order: Any, bound: Any) -> float:
    """u, rounded up: where the Renyi divergence of (p, 1 - p) from (1 - p, p) is the bound, p/(1 - p) = e^u."""
    excess = order - 1
    low, high = 0.0, float((bound + arb(2).log() / excess).mid())
    for _ in range(80):
        middle = (low + high) / 2
        value = ((order - arb(0.5)) * middle).cosh().log() - (arb(middle) / 2).cosh().log()
        low, high = (middle, high) if value < excess * bound else (low, middle)
    return high * (1 + 1e-13)


def _middle(value: Any) -> float:
    return float(value.mid()) if value.is_finite() else math.inf


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Where golden-section search meets the least value."""
    inner, outer = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(_STEPS):
        if at_inner <= at_outer and math.isfinite(at_inner):
            high, outer, at_outer = outer, inner, at_inner
            inner = high - _GOLDEN * (high - low)
            at_inner = function(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + _GOLDEN * (high - low)
            at_outer = function(outer)
    return inner if at_inner <= at_outer else outer
