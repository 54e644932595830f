"""What a sampler does with its random words, read off the program that JAX traces from it.

Whatever comes from the sampler's key is followed through the traced program (its jaxpr), loops and calls included. A
value that comes from it is `exact` while only integers, selections, and products of integers with powers of two were
involved: those are the same in exact arithmetic. It is `rounded` as soon as floating-point arithmetic or a comparison
of floats entered.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import numpy as np

NONE, EXACT, ROUNDED = range(3)
_MOVES = {
    "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "dynamic_slice", "dynamic_update_slice",
    "gather", "pad", "reshape", "rev", "scatter", "select_n", "slice", "squeeze", "transpose",
}  # fmt: skip
"""Operations that leave every number as it is (a conversion of integers to floats is followed as exact)."""


@dataclass(frozen=True)
class Randomness:
    """How a sampler turns random words into its output.

    Attributes:
        arithmetic: "none": the output does not depend on random words; "integers": exactly; "floats": with rounding.
        functions: names of the floating-point operations on random values, sorted.
        output: what is released, "floats" or "integers" (sets and masks among them).
    """

    arithmetic: Literal["none", "integers", "floats"]
    functions: tuple[str, ...]
    output: Literal["floats", "integers"]


def trace(mechanism: Any, dataset: Any) -> Randomness:
    """Follows the random words of one `sample` on this dataset.

    Raises:
        InvalidInput: the mechanism is not defined on the dataset.
    """
    with jax.enable_x64(True):
        closed = jax.make_jaxpr(lambda key: mechanism.sample(key, dataset))(jax.random.key(0))
    follower = _Follower()
    marks = follower.run(closed.jaxpr, [_Value(EXACT) for _ in closed.jaxpr.invars])
    mark = max((value.mark for value in marks), default=NONE)
    arithmetic: tuple[Literal["none", "integers", "floats"], ...] = ("none", "integers", "floats")
    floats = any(np.issubdtype(variable.aval.dtype, np.floating) for variable in closed.jaxpr.outvars)
    return Randomness(arithmetic[mark], tuple(sorted(follower.functions)), "floats" if floats else "integers")


@dataclass(frozen=True)
class _Value:
    """A mark, and the number where the program states one."""

    mark: int = NONE
    number: float | None = None


@dataclass
class _Follower:
    functions: set[str] = field(default_factory=set)

    def run(self, jaxpr: Any, arguments: Sequence[_Value]) -> list[_Value]:
        """Marks of the outputs, from those of the arguments."""
        known: dict[Any, _Value] = dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> _Value:
            if hasattr(atom, "val"):
                number = np.asarray(atom.val)
                return _Value(NONE, float(number)) if number.ndim == 0 and number.dtype.kind in "iufb" else _Value()
            return known.get(atom, _Value())

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, equation: Any, values: list[_Value]) -> list[_Value]:
        name, parameters = equation.primitive.name, equation.params
        if name == "while":
            return self._while(parameters, values)
        if name == "scan":
            return self._scan(parameters, values)
        if name == "cond":
            branches = [self.run(branch.jaxpr, values[1:]) for branch in parameters["branches"]]
            return [
                _Value(max(values[0].mark, *(value.mark for value in each))) for each in zip(*branches, strict=True)
            ]
        inner = next((parameters[key] for key in ("jaxpr", "call_jaxpr") if key in parameters), None)
        if inner is not None:
            return self.run(getattr(inner, "jaxpr", inner), values)
        mark = self._operation(equation, values)
        number = values[0].number if name in ("convert_element_type", "broadcast_in_dim") else None
        return [_Value(mark, number)] * len(equation.outvars)

    def _operation(self, equation: Any, values: list[_Value]) -> int:
        mark = max((value.mark for value in values), default=NONE)
        if mark == NONE:
            return NONE
        name = equation.primitive.name
        types = [getattr(atom.aval, "dtype", None) for atom in (*equation.invars, *equation.outvars)]
        floats = any(dtype is not None and jax.dtypes.issubdtype(dtype, np.floating) for dtype in types)
        if not floats or (name in _MOVES and not _truncates(equation)) or _by_power_of_two(name, values):
            return mark
        self.functions.add(name)
        return ROUNDED

    def _while(self, parameters: Any, values: list[_Value]) -> list[_Value]:
        tests, constants = parameters["cond_nconsts"], parameters["body_nconsts"]
        outer, carry = values[:tests], values[tests + constants :]
        for _ in range(3 * len(carry) + 1):  # marks only grow
            after = self.run(parameters["body_jaxpr"].jaxpr, [*values[tests : tests + constants], *carry])
            # How often the loop runs is information too.
            (going,) = self.run(parameters["cond_jaxpr"].jaxpr, [*outer, *carry])
            grown = [_Value(max(old.mark, new.mark, going.mark)) for old, new in zip(carry, after, strict=True)]
            if [value.mark for value in grown] == [value.mark for value in carry]:
                break
            carry = grown
        return carry

    def _scan(self, parameters: Any, values: list[_Value]) -> list[_Value]:
        if "ft_in" in parameters:  # JAX 0.12
            first, carried = map(len, parameters["ft_in"].unpack()[:2])
        else:
            first, carried = parameters["num_consts"], parameters["num_carry"]
        last = first + carried
        carry, outputs = values[first:last], []
        for _ in range(3 * len(carry) + 1):
            after = self.run(parameters["jaxpr"].jaxpr, [*values[:first], *carry, *values[last:]])
            outputs = after[len(carry) :]
            grown = [_Value(max(old.mark, new.mark)) for old, new in zip(carry, after[: len(carry)], strict=True)]
            if [value.mark for value in grown] == [value.mark for value in carry]:
                break
            carry = grown
        return [*carry, *outputs]


def _truncates(equation: Any) -> bool:
    """Whether a conversion may lose something: floats to integers or to shorter floats."""
    source, target = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    if equation.primitive.name != "convert_element_type" or not jax.dtypes.issubdtype(source, np.floating):
        return False
    return not jax.dtypes.issubdtype(target, np.floating) or np.finfo(target).bits < np.finfo(source).bits


def _by_power_of_two(name: str, values: list[_Value]) -> bool:
    numbers = [value.number for value in values if value.mark == NONE and value.number]
    return name == "mul" and len(numbers) == 1 and math.frexp(abs(numbers[0]))[0] == 0.5
