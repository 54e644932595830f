"""Probabilities of noise regions in floating point, for a search that looks at many: what it finds is computed exactly.

Where every bound joins one variable and a shared one, the others are independent given the shared one: the probability
is an integral, or a sum, over it of a product of closed forms. All else is left to `exact_integration`.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.special import ndtr

from dpassay.replay.exact_integration import components, probability
from dpassay.replay.linear_forms import LATTICE, Bounds, Noise

MAX_PIECES = 600
_NODES, _WEIGHTS = leggauss(16)
_RATE = 5.0  # of the exponent's change on a piece, at most
_TAIL = 50.0  # scales beyond the last bend, where a density is nothing

_Floats = NDArray[np.float64]
_End = tuple[float, float]  # offset, slope: offset + slope * the shared variable
_Leaf = tuple[str, float, tuple[_End, ...], tuple[_End, ...]]  # kind, scale, lower and upper ends


def quick_probability(noises: Sequence[Noise], bounds: Bounds) -> Any:
    """Probability of a region, exact or about a float's relative error from it.

    Raises:
        Unsupported: it is not one of the kinds that are integrated.
    """
    if any(not direction and bound < 0 for direction, bound in bounds.items()):
        return fmpq(0)
    result: Any = fmpq(1)
    for each in components(bounds):
        found = _quick(noises, each)
        result = result * (probability(noises, each) if found is None else arb(found))
    return result


def _quick(noises: Sequence[Noise], bounds: Bounds) -> float | None:
    """None where it is not of that form."""
    variables = sorted({index for direction in bounds for index, _ in direction})
    if len(variables) == 1:
        return None
    lattice = any(noises[index].kind in LATTICE for index in variables)
    if lattice and not all(isinstance(bound, fmpq) for bound in bounds.values()):
        return None
    for shared in variables:
        joined = all(len(direction) - any(i == shared for i, _ in direction) <= 1 for direction in bounds)
        if joined and (noises[shared].kind in LATTICE or not lattice):
            return _over(*_star(noises, bounds, shared))
    return None


def _star(noises: Sequence[Noise], bounds: Bounds, shared: int) -> tuple[str, float, float, float, tuple[_Leaf, ...]]:
    """The shared variable's kind, scale and range; the others."""
    low, high = -math.inf, math.inf
    ends: dict[int, tuple[list[_End], list[_End]]] = {}
    for direction, bound in bounds.items():
        factors, end = dict(direction), _float(bound)
        slope = factors.pop(shared, 0)
        if not factors:
            low, high = (low, min(high, end / slope)) if slope > 0 else (max(low, end / slope), high)
        for index, factor in factors.items():
            ends.setdefault(index, ([], []))[factor > 0].append((end / factor, -slope / factor))
    leaves = [
        (noises[index].kind, _float(noises[index].scale), tuple(sorted(lowers)), tuple(sorted(uppers)))
        for index, (lowers, uppers) in ends.items()
    ]
    return noises[shared].kind, _float(noises[shared].scale), low, high, tuple(sorted(leaves))


def _float(value: Any) -> float:
    return float(arb(value))


@functools.lru_cache(maxsize=100_000)
def _over(kind: str, scale: float, low: float, high: float, leaves: tuple[_Leaf, ...]) -> float | None:
    """The sum or the integral over the shared variable."""
    if kind in LATTICE:
        reach = _TAIL / -math.log(scale) + max((abs(end[0]) for leaf in leaves for end in leaf[2] + leaf[3]), default=0)
        first, last = max(low, -reach, 1 if kind == "trials" else -reach), min(high, reach)
        if last - first > MAX_PIECES * len(_NODES):
            return None
        x = np.arange(math.ceil(first), math.floor(last) + 1.0)
        return float(np.sum(_mass(kind, scale, x, x) * _product(leaves, x)))
    pieces = _pieces(kind, scale, low, high, leaves)
    if pieces is None or len(pieces) - 1 > MAX_PIECES:
        return None
    middle, half = (pieces[1:] + pieces[:-1]) / 2, (pieces[1:] - pieces[:-1]) / 2
    x = middle[:, None] + half[:, None] * _NODES
    return float(np.sum(half * ((_DENSITY[kind](x / scale) / scale * _product(leaves, x)) @ _WEIGHTS)))


def _pieces(kind: str, scale: float, low: float, high: float, leaves: tuple[_Leaf, ...]) -> _Floats | None:
    """Ends of intervals on which the integrand is smooth and does not change by much."""
    bends = {0.0}
    rate = 1 / scale
    for leaf, size, lowers, uppers in leaves:
        if leaf in LATTICE:
            return None
        ends = [*lowers, *uppers]
        rate += max((abs(slope) for _, slope in ends), default=0) / size
        bends |= {(a - c) / (d - b) for (a, b), (c, d) in itertools.combinations(ends, 2) if b != d}
        bends |= {(bend - a) / b for bend in _BENDS.get(leaf, (0.0,)) for a, b in ends if b}
    least, most = _RANGE.get(kind, (-_TAIL, _TAIL))
    first, last = min(0.0, *bends), max(0.0, *bends)
    low = max(low, least * scale if kind in _RANGE else first + least * scale)
    high = min(high, most * scale if kind == "uniform" else last + most * scale)
    if not low < high:
        return np.array([0.0, 0.0])
    corners = [low, *sorted(bend for bend in bends if low < bend < high), high]
    pieces = [
        np.linspace(a, b, 1 + max(1, math.ceil((b - a) * rate / _RATE)))[:-1] for a, b in itertools.pairwise(corners)
    ]
    return np.append(np.concatenate(pieces), high)


def _product(leaves: tuple[_Leaf, ...], x: _Floats) -> _Floats:
    product = np.ones_like(x)
    for kind, scale, lowers, uppers in leaves:
        if kind in _BELOW and not (lowers and uppers):  # the commonest, and half the work
            turned = [(-a / scale, -b / scale) for a, b in lowers] or [(a / scale, b / scale) for a, b in uppers]
            product *= _BELOW[kind](functools.reduce(np.minimum, (a + b * x for a, b in turned)))
            continue
        ends = [
            functools.reduce(pick, (a + b * x for a, b in given), np.full_like(x, start))
            for given, pick, start in ((lowers, np.maximum, -np.inf), (uppers, np.minimum, np.inf))
        ]
        product *= _mass(kind, scale, *ends)
    return product


# P(low <= X <= high), from the smaller tail so that small probabilities keep their digits.


def _mass(kind: str, scale: float, low: _Floats, high: _Floats) -> _Floats:
    if kind in LATTICE:
        low, high = np.ceil(low - 1e-9), np.floor(high + 1e-9)
        mass = _COUNTS[kind](scale, low, high)
    else:
        mass = _BETWEEN[kind](low / scale, high / scale) if kind != "uniform" else _uniform(low, high)
    return np.where(low > high, 0.0, np.maximum(mass, 0.0))


def _symmetric(below: Callable[[_Floats], _Floats]) -> Callable[[_Floats, _Floats], _Floats]:
    def between(low: _Floats, high: _Floats) -> _Floats:
        turned = low > 0
        return np.where(turned, below(-low) - below(-high), below(high) - below(low))

    return between


def _laplace(x: _Floats) -> _Floats:
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def _exponential(low: _Floats, high: _Floats) -> _Floats:
    return np.exp(-np.maximum(low, 0.0)) - np.exp(-np.maximum(high, 0.0))


def _uniform(low: _Floats, high: _Floats) -> _Floats:
    return np.clip(high, 0.0, 1.0) - np.clip(low, 0.0, 1.0)


def _gumbel(low: _Floats, high: _Floats) -> _Floats:
    with np.errstate(over="ignore"):
        one, two = np.exp(-low), np.exp(-high)
        return np.where(np.isinf(high), -np.expm1(-one), np.exp(-two) - np.exp(-one))


def _geometric(ratio: float, low: _Floats, high: _Floats) -> _Floats:
    def below(x: _Floats) -> _Floats:
        tail = ratio ** (np.abs(x) + (x >= 0)) / (1 + ratio)
        return np.where(x >= 0, 1 - tail, tail)

    turned = low > 0
    return np.where(turned, below(-low) - below(-high - 1), below(high) - below(low - 1))


def _trials(ratio: float, low: _Floats, high: _Floats) -> _Floats:
    return ratio ** (np.maximum(low, 1.0) - 1) - ratio ** np.maximum(high, 0.0)


_COUNTS: Mapping[str, Callable[[float, _Floats, _Floats], _Floats]] = {"geometric": _geometric, "trials": _trials}
_BELOW: Mapping[str, Callable[[_Floats], _Floats]] = {"laplace": _laplace, "normal": ndtr}
"""Of noise that is symmetric."""
_BETWEEN: Mapping[str, Callable[[_Floats, _Floats], _Floats]] = {
    **{name: _symmetric(below) for name, below in _BELOW.items()},
    "exponential": _exponential,
    "gumbel": _gumbel,
}
_DENSITY: Mapping[str, Callable[[_Floats], _Floats]] = {
    "laplace": lambda x: np.exp(-np.abs(x)) / 2,
    "exponential": lambda x: np.where(x < 0, 0.0, np.exp(-x)),
    "normal": lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "gumbel": lambda x: np.exp(-x - np.exp(-x)),
    "uniform": lambda x: np.where((x < 0) | (x > 1), 0.0, 1.0),
}
_BENDS: Mapping[str, tuple[float, ...]] = {"uniform": (0.0, 1.0), "normal": (), "gumbel": ()}
"""Where the mass between ends bends, beside zero."""
_RANGE: Mapping[str, tuple[float, float]] = {"exponential": (0.0, _TAIL), "uniform": (0.0, 1.0)}
