"""A stand-in for numpy's generator whose draws are linear forms in the noise, so that a user's own function can be run
on symbolic noise as it is.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, fmpq

from dpassay.replay.linear_forms import Form, Run, Unsupported, constant

MAX_SIZE = 4096
"""Numbers drawn at once, or drawn from."""


class SymbolicGenerator:
    """The methods of `numpy.random.Generator` that mechanisms use; sized draws are arrays of objects."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def laplace(self, loc: Any = 0, scale: Any = 1, size: Any = None) -> Any:
        """Laplace noise."""
        return _each(lambda loc, scale: loc + self._run.laplace(scale), size, loc, scale)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Any = None) -> Any:
        """Gaussian noise of a standard deviation."""
        return _each(lambda loc, scale: loc + self._run.normal(scale), size, loc, scale)

    def gumbel(self, loc: Any = 0, scale: Any = 1, size: Any = None) -> Any:
        """Gumbel noise."""
        return _each(lambda loc, scale: loc + self._run.gumbel(scale), size, loc, scale)

    def exponential(self, scale: Any = 1, size: Any = None) -> Any:
        """Exponential noise of a mean."""
        return _each(self._run.exponential, size, scale)

    def standard_normal(self, size: Any = None) -> Any:
        """Gaussian noise of variance 1."""
        return self.normal(size=size)

    def standard_exponential(self, size: Any = None) -> Any:
        """Exponential noise of mean 1."""
        return self.exponential(size=size)

    def random(self, size: Any = None) -> Any:
        """A uniform number from [0, 1)."""
        return _each(self._run.uniform, size)

    def uniform(self, low: Any = 0, high: Any = 1, size: Any = None) -> Any:
        """A uniform number from an interval."""
        return _each(lambda low, high: low + (high - low) * self._run.uniform(), size, low, high)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """A geometric number, of which two are subtracted."""
        return _each(self._run.geometric, size, p)

    def integers(self, low: Any, high: Any = None, size: Any = None, endpoint: bool = False) -> Any:
        """A uniform integer."""
        low, high = (0, low) if high is None else (low, high)
        return _each(
            lambda low, high: low + self._run.choice([1] * _limited(int(high) - int(low) + endpoint)), size, low, high
        )

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Elements, with or without replacement."""
        values = list(range(_limited(a))) if isinstance(a, int | np.integer) else list(a)
        weights = [1] * len(values) if p is None else _probabilities(p, len(values))
        if size is None:
            return values[self._run.choice(weights)]
        if replace:
            return _each(lambda: values[self._run.choice(weights)], size)
        left, chosen = list(range(len(values))), []
        for _ in range(int(size)):
            chosen.append(left.pop(self._run.choice([weights[i] for i in left])))
        return np.array([values[i] for i in chosen])

    def permutation(self, x: Any) -> Any:
        """A random order."""
        values = list(range(_limited(x))) if isinstance(x, int | np.integer) else list(x)
        return self.choice(values, size=len(values), replace=False)


def _limited(size: Any) -> Any:
    if size > MAX_SIZE:
        raise Unsupported(f"{size} numbers are drawn")
    return size


def _probabilities(p: Any, size: int) -> list[Any]:
    """Weights whose sum is one, or as near to it as rounding leaves it: numpy refuses others."""
    weights = [constant(each, "a weight") for each in p]
    total = sum(weights, fmpq(0))
    if len(weights) != size or not abs(arb(total) - 1) < arb(2) ** -30:
        raise ValueError("probabilities do not sum to 1")
    return weights


def _each(draw: Callable[..., Any], size: Any, *arguments: Any) -> Any:
    """One draw, or an array of them of a size or of the arguments' common shape."""
    lists = [
        np.asarray(each, dtype=object) if isinstance(each, list | tuple | np.ndarray) else each for each in arguments
    ]
    shapes = [each.shape for each in lists if isinstance(each, np.ndarray)]
    if size is None and not any(shapes):
        return draw(*arguments)
    shape = np.broadcast_shapes(*shapes) if size is None else size
    if any(isinstance(each, Form) and each.terms for each in (size if isinstance(size, tuple) else (size,))):
        raise Unsupported("a number of draws is noisy")
    _limited(math.prod(shape) if isinstance(shape, tuple) else shape)
    drawn = np.empty(shape, dtype=object)
    full = [np.broadcast_to(each, drawn.shape) if isinstance(each, np.ndarray) else None for each in lists]
    for place in itertools.product(*map(range, drawn.shape)):
        drawn[place] = draw(
            *(each if array is None else array[place] for each, array in zip(arguments, full, strict=True))
        )
    return drawn
