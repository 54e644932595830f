"""Runs a core program on given data and draws, one statement after the other."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from dpassay.replay.program_core import (
    Append,
    Assign,
    Block,
    Branch,
    Constant,
    Core,
    Draw,
    Elementwise,
    Expression,
    Leave,
    Loop,
    Operation,
    Return,
    Statement,
    Variable,
)


class Draws(Protocol):
    """Where a run's noise comes from; each method gives one number, or what behaves like one."""

    def laplace(self, scale: Any) -> Any:
        """Scale above 0."""

    def exponential(self, scale: Any) -> Any:
        """Scale above 0."""

    def normal(self, scale: Any) -> Any:
        """Standard deviation above 0."""

    def gumbel(self, scale: Any) -> Any:
        """Scale above 0."""

    def geometric(self, p: Any) -> Any:
        """Number of trials, from 1 on."""

    def choice(self, weights: Sequence[Any]) -> Any:
        """An index, with a probability in proportion to the weight there."""

    def flips(self, exponents: Sequence[Any]) -> Any:
        """The first index in a random order whose coin, of e^(its exponent - the largest), says yes."""

    def uniform(self) -> Any:
        """From 0 to 1."""


class Undefined(Exception):
    """The run stops with an error: an index out of range, a division by zero, a variable without value."""


def interpret(
    core: Core,
    data: Any,
    parameters: Mapping[str, Any],
    draws: Draws,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    steps: int = 1_000_000,
) -> Any:
    """The output of a run; lists are Python lists.

    Args:
        core: the program.
        data: entries (or the one value), whose comparisons may be of any kind with a truth value.
        parameters: values of the public parameters; those with a default may be left out.
        draws: give the noise, in the order in which the program draws.
        functions: what pure functions such as `exp` are, by name; those of `math` where it does not say.
        steps: statements that are run at most.

    Raises:
        Undefined: the run stops with an error.
        TimeoutError: there are more steps.
    """
    run = _Run(draws, dict(functions or {}), steps)
    run.values = {core.data: data if core.single else list(data)}
    for name in core.parameters:
        run.values[name] = parameters[name] if name in parameters else run.value(core.defaults[name])
    try:
        left = run.statements(core.body)
    except (IndexError, ZeroDivisionError, KeyError, ValueError) as error:
        raise Undefined(f"{type(error).__name__}: {error}") from error
    return left[1] if isinstance(left, tuple) else None


def _exact(a: Any, b: Any) -> Any:
    return Fraction(a) / b if isinstance(a, int) else a / b


def _item(listed: Sequence[Any], index: Any) -> Any:
    if index < 0:
        raise IndexError(f"{index} is below 0")
    return listed[int(index)]


def _whole(index: Any) -> int | None:
    return None if index is None else int(index)


def _replaced(listed: Sequence[Any], index: Any, value: Any) -> list[Any]:
    _item(listed, index)
    return [*listed[: int(index)], value, *listed[int(index) + 1 :]]


def _without(listed: Sequence[Any], index: Any) -> list[Any]:
    _item(listed, index)
    return [*listed[: int(index)], *listed[int(index) + 1 :]]


def _step(step: Any) -> Any:
    if not step > 0:
        raise ValueError("a step that is not above 0")
    return step


def _positive(number: Any) -> Any:
    if not number > 0:
        raise ValueError("a factor that is not above 0")
    return number


def _power(base: Any, exponent: int) -> Any:
    made: Any = 1
    for _ in range(exponent):
        made = made * base
    return made


def _size(count: Any) -> Any:
    if count < 0:
        raise ValueError("a negative size")
    return count


def _alike(one: Any, two: Any) -> Any:
    if one != two:
        raise ValueError("two numbers that must be the same are not")
    return True


def _parts(whole: Sequence[Any], count: int) -> Any:
    if len(whole) != count:
        raise ValueError("a tuple of another length")
    return True


def _extreme(better: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def found(first: Any, *rest: Any) -> Any:
        for each in rest:
            if better(each, first):
                first = each
        return first

    return found


def _absolute(value: Any) -> Any:
    return -value if value < 0 else value


_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _exact,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
    "negate": operator.neg,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "not": lambda value: not value,
    "invert": lambda value: not value,
    "abs": _absolute,
    "min": _extreme(operator.lt),
    "max": _extreme(operator.gt),
    "item": _item,
    "part": lambda whole, place: whole[place],
    "parts": _parts,
    "alike": _alike,
    "length": len,
    "size": _size,
    "step": _step,
    "positive": _positive,
    "slice": lambda listed, first, end: listed[_whole(first) : _whole(end)],
    "joined": lambda one, two: [*one, *two],
    "replaced": _replaced,
    "without": _without,
    "sorted": sorted,
    "tuple": lambda *parts: parts,
    "list": lambda *parts: list(parts),
    "repeat": lambda value, count: [value] * max(int(count), 0),
    "range": lambda count: list(range(int(count))),
    "is_none": lambda value: value is None,
    "bool": bool,
    "float": lambda value: float(value) if isinstance(value, bool | int) else value,
    "int": int,
    "round": round,
}


class _Run:
    def __init__(self, draws: Draws, functions: dict[str, Callable[..., Any]], steps: int) -> None:
        self.draws, self.functions, self.steps = draws, functions, steps
        self.values: dict[str, Any] = {}

    def statements(self, statements: tuple[Statement, ...]) -> Any:
        """Runs them; what they leave for: a label, ("return", output), or None at their end."""
        for each in statements:
            self.steps -= 1
            if self.steps < 0:
                raise TimeoutError("the run takes too many steps")
            left = self.statement(each)
            if left is not None:
                return left
        return None

    def statement(self, each: Statement) -> Any:
        if isinstance(each, Assign):
            self.values[each.name] = self.value(each.value)
        elif isinstance(each, Append):
            self.values[each.name] = [*self.values[each.name], self.value(each.value)]
        elif isinstance(each, Draw):
            self.values[each.name] = self.draw(each)
        elif isinstance(each, Branch):
            return self.statements(each.then if self.value(each.test) else each.otherwise)
        elif isinstance(each, Loop):
            return self.loop(each)
        elif isinstance(each, Block):
            for name in each.local:
                self.values.pop(name, None)
            left = self.statements(each.body)
            return None if left == each.label else left
        elif isinstance(each, Leave):
            return each.label
        elif isinstance(each, Return):
            return "return", self.value(each.value)
        return None

    def loop(self, loop: Loop) -> Any:
        while True:
            left = self.statements(loop.head)
            if left is None and not self.value(loop.test):
                return None
            left = left or self.statements(loop.body)
            if left == "break":
                return None
            if left not in (None, "continue"):
                return left
            self.statements(loop.step)

    def draw(self, draw: Draw) -> Any:
        scale = self.value(draw.scale)
        if draw.kind == "coin":
            return self.draws.uniform() < scale
        if draw.kind == "choice":
            return self.draws.choice(scale)
        if draw.kind == "flips":
            return self.draws.flips(scale)
        if draw.kind == "geometric":
            return self.draws.geometric(scale) - self.draws.geometric(scale)
        return getattr(self.draws, draw.kind)(scale)

    def value(self, expression: Expression) -> Any:
        if isinstance(expression, Constant):
            if expression.special == "error":
                raise Undefined(str(expression.value))
            return float(expression.special) if expression.special else expression.value
        if isinstance(expression, Variable):
            return self.values[expression.name]
        if isinstance(expression, Elementwise):
            return self.elementwise(expression)
        return self.operation(expression)

    def operation(self, operation: Operation) -> Any:
        name, operands = operation.operator, operation.operands
        if name == "if":
            return self.value(operands[1] if self.value(operands[0]) else operands[2])
        if name in ("and", "or"):
            for each in operands[:-1]:
                value = self.value(each)
                if bool(value) == (name == "or"):
                    return value
            return self.value(operands[-1])
        values = [self.value(each) for each in operands]
        if name in self.functions:
            return self.functions[name](*values)
        return _OPERATORS[name](*values) if name in _OPERATORS else getattr(math, name)(*values)

    def elementwise(self, made: Elementwise) -> list[Any]:
        sources = [self.value(each) for each in made.sources]
        if len({len(each) for each in sources}) > 1:
            raise Undefined("arrays of different lengths")
        found = []
        for elements in zip(*sources, strict=True):
            self.values.update(zip(made.parameters, elements, strict=True))
            found.append(self.value(made.body))
        return found
