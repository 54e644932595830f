"""Probabilities of noise regions in floating point, for a search that looks at many: what it finds is computed exactly.

Where bounds join variables in pairs, and the pairs make a tree, what hangs on a variable is independent given it: the
probability is an integral over it of a product of such integrals, and of closed forms at the leaves. Integers are
summed, where all others hang on one. All else is left to `exact_integration`.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import arb, fmpq
from numpy.polynomial.legendre import leggauss, legint, legval, legvander
from numpy.typing import NDArray
from scipy.special import ndtr

from dpassay.replay.exact_integration import components, probability
from dpassay.replay.linear_forms import LATTICE, Bounds, Direction, Noise

MAX_PIECES = 600
_NODES, _WEIGHTS = leggauss(16)
_LEGENDRE = legvander(_NODES, 15) * (np.arange(16) + 0.5)  # of values by weights: the polynomial's coefficients
_RATE = 5.0  # of the exponent's change on a piece, at most
_TAIL = 50.0  # scales beyond the last bend, where a density is nothing

_Floats = NDArray[np.float64]
_Function = Callable[[_Floats], _Floats]
_End = tuple[float, float]  # offset, slope: offset + slope * another variable
_Tree = tuple[tuple[tuple[str, float], ...], tuple[tuple[Direction, float], ...]]


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
    joined = {tuple(index for index, _ in direction) for direction in bounds if len(direction) > 1}
    if len(variables) == 1 or len(joined) != len(variables) - 1 or any(len(each) > 2 for each in joined):
        return None
    place = {index: i for i, index in enumerate(variables)}
    own = tuple((noises[index].kind, _float(noises[index].scale)) for index in variables)
    named = ((tuple((place[i], factor) for i, factor in direction), bound) for direction, bound in bounds.items())
    if any(kind in LATTICE for kind, _ in own) and not all(isinstance(bound, fmpq) for bound in bounds.values()):
        return None
    return _tree(own, tuple(sorted((direction, _float(bound)) for direction, bound in named)))


def _float(value: Any) -> float:
    return float(arb(value))


@functools.lru_cache(maxsize=100_000)
def _tree(noises: tuple[tuple[str, float], ...], bounds: tuple[tuple[Direction, float], ...]) -> float | None:
    """The integral, or the sum, over the variable that most others are compared with."""
    joined = [{index for index, _ in direction} for direction, _ in bounds if len(direction) > 1]
    lattice = any(kind in LATTICE for kind, _ in noises)
    root = max(range(len(noises)), key=lambda i: (noises[i][0] in LATTICE, sum(i in each for each in joined), -i))
    try:
        if lattice:
            return None if any(root not in each for each in joined) else _summed((noises, bounds), root)
        inner = _Integral((noises, bounds), root, None)
    except _TooFine:
        return None
    return inner.total


class _TooFine(Exception):
    """Too many pieces."""


def _ends(tree: _Tree, index: int, other: int | None) -> tuple[list[_End], list[_End]]:
    """The bounds of a variable, alone and by another one; lower and upper."""
    lowers: list[_End] = []
    uppers: list[_End] = []
    for direction, bound in tree[1]:
        factors = dict(direction)
        factor = factors.pop(index, 0)
        if factor and set(factors) <= {other}:
            slope = -sum(factors.values()) / factor
            (uppers if factor > 0 else lowers).append((bound / factor, slope))
    return lowers, uppers


def _children(tree: _Tree, index: int, parent: int | None) -> list["_Factor"]:
    joined = {i for direction, _ in tree[1] for i, _ in direction if index in dict(direction)} - {index, parent}
    leaves = [
        each
        for each in joined
        if not any(each in dict(d) and not {i for i, _ in d} <= {each, index} for d, _ in tree[1])
    ]
    return [_Leaf(tree, each, index) if each in leaves else _Integral(tree, each, index) for each in sorted(joined)]


class _Factor:
    """P(a variable, and those that hang on it, are within their bounds), given the variable that it hangs on."""

    def __init__(self, tree: _Tree, index: int, parent: int | None) -> None:
        self.kind, self.scale = tree[0][index]
        self.lowers, self.uppers = _ends(tree, index, parent)
        self.rate = 1 / self.scale  # of its exponent's change

    def bends(self, corners: Iterable[float]) -> set[float]:
        """Where it bends, if the mass between its ends does at the corners."""
        ends = [*self.lowers, *self.uppers]
        found = {(a - c) / (d - b) for (a, b), (c, d) in itertools.combinations(ends, 2) if b != d}
        return found | {(corner - a) / b for corner in corners for a, b in ends if b}

    def steepness(self) -> float:
        """Change of the exponent with the other variable."""
        return self.rate * max((abs(slope) for _, slope in (*self.lowers, *self.uppers)), default=0)

    def low(self, x: _Floats) -> _Floats | None:
        """The lower end that counts; None for none."""
        return functools.reduce(np.maximum, [a + b * x for a, b in self.lowers]) if self.lowers else None

    def high(self, x: _Floats) -> _Floats | None:
        """The upper end that counts."""
        return functools.reduce(np.minimum, [a + b * x for a, b in self.uppers]) if self.uppers else None

    def corners(self) -> set[float]:
        """Where it bends in the other variable."""
        raise NotImplementedError

    def __call__(self, x: _Floats) -> _Floats:
        raise NotImplementedError


class _Leaf(_Factor):
    """Of one variable: a closed form."""

    def corners(self) -> set[float]:
        return self.bends(_BENDS.get(self.kind, (0.0,)))

    def __call__(self, x: _Floats) -> _Floats:
        low, high = self.low(x), self.high(x)
        if self.kind in _BELOW and (low is None or high is None):  # the commonest, and half the work
            return _BELOW[self.kind]((-low if high is None else high) / self.scale)  # type: ignore[operator]
        return _mass(
            self.kind,
            self.scale,
            np.full_like(x, -np.inf) if low is None else low,
            np.full_like(x, np.inf) if high is None else high,
        )


class _Integral(_Factor):
    """Of a variable that others hang on: its integrand in pieces, each a polynomial that is integrated exactly."""

    def __init__(self, tree: _Tree, index: int, parent: int | None) -> None:
        super().__init__(tree, index, parent)
        children = _children(tree, index, parent)
        self.rate += sum(child.steepness() for child in children)
        self.inner = {0.0, *_BENDS.get(self.kind, ())}.union(*(child.corners() for child in children))
        limits = [[a for a, b in ends if not b] for ends in (self.lowers, self.uppers)]
        self.edges = self._pieces(
            max(limits[0], default=-math.inf),
            min(limits[1], default=math.inf),
            sum(abs(bound) for direction, bound in tree[1] if len(direction) > 1) if parent is not None else 0.0,
        )
        middle, self.half = (self.edges[1:] + self.edges[:-1]) / 2, (self.edges[1:] - self.edges[:-1]) / 2
        x = middle[:, None] + self.half[:, None] * _NODES
        values = _DENSITY[self.kind](x / self.scale) / self.scale
        for child in children:
            values = values * child(x)
        masses = self.half * (values @ _WEIGHTS)
        self.total = float(np.sum(masses))
        if parent is not None:
            self.before = np.append(0.0, np.cumsum(masses))
            self.after = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
            self.series = legint((values * _WEIGHTS) @ _LEGENDRE, lbnd=-1, axis=1) * self.half[:, None]

    def _pieces(self, low: float, high: float, offset: float) -> _Floats:
        """Ends of intervals on which the integrand is smooth and does not change by much."""
        least, most = _RANGE.get(self.kind, (-_TAIL, _TAIL))
        below = least * self.scale if self.kind in _RANGE else min(self.inner) - offset + least * self.scale
        above = most * self.scale if self.kind == "uniform" else max(self.inner) + offset + most * self.scale
        low, high = max(low, below), min(high, above)
        if not low < high:
            return np.array([0.0, 0.0])
        corners = [low, *sorted(bend for bend in self.inner if low < bend < high), high]
        parts = [
            np.linspace(a, b, 1 + max(1, math.ceil((b - a) * self.rate / _RATE)))[:-1]
            for a, b in itertools.pairwise(corners)
        ]
        if sum(map(len, parts)) > MAX_PIECES:
            raise _TooFine
        return np.append(np.concatenate(parts), high)

    def corners(self) -> set[float]:
        return self.bends({*self.inner, self.edges[0], self.edges[-1]})

    def __call__(self, x: _Floats) -> _Floats:
        low, high = self.low(x), self.high(x)
        if low is None:
            return np.full_like(x, self.total) if high is None else self._up_to(high)
        if high is None:
            return self._up_to(low, after=True)
        return np.where(low > high, 0.0, np.maximum(self._up_to(high) - self._up_to(low), 0.0))

    def _up_to(self, x: _Floats, after: bool = False) -> _Floats:
        """The integral from the left, or from here to the right."""
        x = np.clip(x, self.edges[0], self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.half) - 1)
        half = np.where(self.half[piece] > 0, self.half[piece], 1.0)
        inside = legval((x - self.edges[piece]) / half - 1, np.moveaxis(self.series[piece], -1, 0), tensor=False)
        if not after:
            return self.before[piece] + inside
        return self.after[piece] - inside


def _summed(tree: _Tree, root: int) -> float:
    """The sum over an integer."""
    kind, ratio = tree[0][root]
    lowers, uppers = _ends(tree, root, None)
    reach = _TAIL / -math.log(ratio) + max((abs(bound) for _, bound in tree[1]), default=0)
    low = max((a for a, _ in lowers), default=-math.inf)
    first, last = max(low, -reach), min(reach, *(a for a, _ in uppers), math.inf)
    if last - first > MAX_PIECES * len(_NODES):
        raise _TooFine
    x = np.arange(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1.0)
    values = _mass(kind, ratio, x, x)
    for child in _children(tree, root, None):
        values = values * child(x)
    return float(np.sum(values))


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
