"""Whether the checker's reading of a program gives what the program itself gives, from the same noise."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.prover.problem import Problem, value_of
from dpassay.prover.program_text import Program
from dpassay.replay.program_core import Refused
from dpassay.replay.program_interpreter import Undefined, interpret
from dpassay.replay.program_reader import read

TOLERANCE = 1e-9
_TRIES = 200
_LENGTHS = 6


class _Recorder:
    """A generator whose draws are written down; it has the draws that the checker understands and no other."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.drawn: list[tuple[str, float, Any]] = []

    def _record(self, kind: str, scale: Any, values: Any) -> Any:
        self.drawn += [(kind, float(scale), each) for each in np.ravel(values).tolist()]
        return values

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("normal", loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._located("gumbel", loc, scale, size)

    def _located(self, kind: str, loc: Any, scale: Any, size: Any) -> Any:
        size = np.shape(loc) if size is None and np.ndim(loc) else size
        return loc + self._record(kind, scale, getattr(self._rng, kind)(0.0, scale, size))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._record("exponential", scale, self._rng.exponential(scale, size))

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._record("geometric", p, self._rng.geometric(p, size))

    def choice(self, count: Any, p: Any = None) -> Any:
        found = self._rng.choice(count, p=p)
        self.drawn.append(("choice", 1.0 / count if p is None else float(p[found]), int(found)))
        return found

    def permutation(self, count: int) -> Any:
        order = self._rng.permutation(int(count))
        self.drawn.append(("permutation", float(count), order.tolist()))
        return order

    def integers(self, count: Any) -> Any:
        return self.choice(count)

    def random(self, size: Any = None) -> Any:
        return self._record("uniform", 0.0, self._rng.random(size))


class _Replayed:
    """The same draws once more."""

    def __init__(self, drawn: Sequence[tuple[str, float, Any]]) -> None:
        self._drawn = iter(drawn)

    def _next(self, kind: str, scale: Any) -> Any:
        found, there, value = next(self._drawn, ("none", 0.0, None))
        if found != kind or not math.isclose(there, float(scale), rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            raise _Other(f"a draw {kind}({float(scale):g}) in our reading is {found}({there:g}) in the run")
        return value

    def choice(self, weights: Sequence[Any]) -> Any:
        kind, chance, value = next(self._drawn, ("none", 0.0, 0))
        if kind != "choice" or not math.isclose(chance, weights[value] / sum(weights), rel_tol=TOLERANCE):
            raise _Other(f"a choice in our reading is {kind}({chance:g}) in the run")
        return value

    def flips(self, exponents: Sequence[Any]) -> Any:
        for place in self._next("permutation", len(exponents)):
            if self._next("uniform", 0.0) < math.exp(exponents[place] - max(exponents)):
                return place
        raise _Other("a loop in random order ends without a place")

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        return lambda scale=0.0: self._next(kind, scale)

    def left(self) -> bool:
        return next(self._drawn, None) is not None


class _Other(Exception):
    """The reading draws something else."""


def conforms(
    function: Callable[..., Any],
    program: Program,
    data: Any,
    parameters: Mapping[str, Any],
    rng: np.random.Generator,
) -> str:
    """How the reading's output differs from the function's on the same noise; "" if it does not.

    Both may end with an error; then they agree. Numbers agree up to `TOLERANCE`, relative or absolute.
    """
    recorder = _Recorder(rng)
    try:
        real: Any = function(recorder, data if program.single else list(data), **parameters)
        failed = ""
    except Exception as error:  # whatever the user's function raises
        real, failed = None, f"{type(error).__name__}: {error}"
    replayed = _Replayed(recorder.drawn)
    try:
        read_output = interpret(read(program.text, program.entry), data, parameters, replayed)
    except Refused as refused:
        return f"it is not understood: {refused}"
    except _Other as other:
        return "" if failed else str(other)
    except (Undefined, ArithmeticError, TypeError, TimeoutError) as error:
        return "" if failed else f"our reading ends with {type(error).__name__}: {error}"
    if failed:
        return f"the function raises {failed}"
    if replayed.left():
        return "the function draws more than our reading"
    return "" if _same(real, read_output) else f"the function returns {real!r}, our reading {read_output!r}"


def _same(one: Any, two: Any) -> bool:
    one, two = (each.tolist() if isinstance(each, np.ndarray | np.generic) else each for each in (one, two))
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, bool) or isinstance(two, bool) or one is None or two is None or isinstance(one, str):
        return bool(one == two) and (one is None) == (two is None)
    try:
        return bool(one == two) or math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except (TypeError, ValueError, OverflowError):
        return False


def inputs_like(problem: Problem, rng: np.random.Generator, count: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Random data within the bounds, lists or one value, with parameters that meet the assumptions: `count` pairs.

    Raises:
        InvalidInput: no parameters that do are found.
    """
    for _ in range(count):
        for _ in range(_TRIES):
            parameters = {name: _parameter(sort, rng) for name, sort in problem.parameters.items()}
            if all(_meets(condition, parameters) for condition in problem.assume):
                break
        else:
            raise InvalidInput(f"no parameters found that meet {', '.join(problem.assume)}")
        data = _data(problem, parameters, rng, 1 if problem.single else int(rng.integers(0, _LENGTHS)))
        yield data[0] if problem.single else data, parameters


def _parameter(sort: str, rng: np.random.Generator) -> Any:
    if sort.startswith("list"):
        entries = rng.integers(-1, 4, size=int(rng.integers(0, _LENGTHS)))
        return [int(each) if sort == "list[int]" else float(each) for each in entries]
    if sort == "bool":
        return bool(rng.integers(2))
    if sort == "int":
        return int(rng.integers(1, 5))
    return float(rng.choice([0.25, 0.5, 1.0, 2.0, 3.0]) / rng.choice([1, 1, 1, 10, 100]))


def _meets(condition: str, parameters: Mapping[str, Any]) -> bool:
    try:
        return bool(value_of(condition, parameters))
    except (ArithmeticError, TypeError, ValueError):
        return False


def _data(problem: Problem, parameters: Mapping[str, Any], rng: np.random.Generator, size: int) -> list[Any]:
    if problem.values == "bool":
        return [bool(each) for each in rng.integers(2, size=size)]
    if problem.bounds is None:
        low, high = -3.0, 3.0
    else:
        low, high = (float(value_of(each, parameters)) for each in problem.bounds)
    if problem.values == "int":
        return [
            int(each) for each in rng.integers(math.ceil(low), max(math.floor(high), math.ceil(low)) + 1, size=size)
        ]
    return [float(each) for each in rng.uniform(low, max(low, high), size=size)]
