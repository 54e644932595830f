"""The operators of formulas, in one table: how many operands of which sort, and every meaning that a formula has.

An operator's text, its SMT-LIB 2 form over the reals, its exact value, its Arb enclosure and its SymPy form stand side
by side, so that none can be extended alone; what has no meaning of one kind has None there and is refused there.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

NUMBER, TRUTH = "number", "truth value"
"""The sorts of formulas."""
MANY = 10_000
MAX_EXPONENT = 1000
"""Largest literal exponent, and the largest that a query or SymPy multiplies out."""
MAX_BITS = 200_000
"""Bits of an exact power; a larger one is enclosed instead."""


class FormulaError(ValueError):
    """A formula that cannot be read, printed or evaluated."""


class Undecided(FormulaError):
    """Enclosures overlap, or something is not certainly defined, so nothing is certain at this precision."""


@dataclass(frozen=True)
class Operator:
    """What an operator takes, gives and means.

    Attributes:
        least, most: number of operands.
        takes, gives: sorts of all operands, and of the whole.
        infix: the text, from the operands in parentheses where they need them; None for `name(operands)`.
        smtlib: SMT-LIB 2, from the operands' own and from their values (None unless literal).
        exact: from Fractions or truth values; NotImplemented where the value is not rational or too large to write.
        enclosure: from Arb balls: a ball, or for a comparison its certain truth value; raises `Undecided`.
        sympy: SymPy's form, from the library and the operands' own.
        defined: formulas that must hold for the whole to be defined, from the operands and their literal values.
    """

    least: int
    most: int
    takes: str
    gives: str
    infix: Callable[[Sequence[str]], str] | None
    smtlib: Callable[[Sequence[str], Sequence[Fraction | None]], str] | None
    exact: Callable[..., Any] | None
    enclosure: Callable[..., Any] | None
    sympy: Callable[..., Any] | None = None
    defined: Callable[[Sequence[Any], Sequence[Fraction | None]], Iterable[Any]] = lambda operands, values: ()


def _between(word: str) -> Callable[[Sequence[str]], str]:
    return f" {word} ".join


def _prefix(word: str) -> Callable[..., str]:
    return lambda operands, values: f"({word} {' '.join(operands)})"


def _shared(operands: Sequence[str], body: Callable[..., str]) -> str:
    """A body that uses its operands more than once; no variable begins with `_`, so nothing is captured."""
    names = [f"_{place}" for place in range(len(operands))]
    bound = " ".join(f"({name} {operand})" for name, operand in zip(names, operands, strict=True))
    return f"(let ({bound}) {body(*names)})"


def _larger(word: str) -> Callable[..., str]:
    def two(left: str, right: str) -> str:
        return _shared((left, right), lambda a, b: f"(ite ({word} {a} {b}) {a} {b})")

    return lambda operands, values: functools.reduce(two, operands)


def _product(operands: Sequence[str], values: Sequence[Fraction | None]) -> str:
    exponent = values[1]
    if exponent is None or exponent.denominator != 1 or not 1 <= exponent <= MAX_EXPONENT:
        raise FormulaError("an exponent in a query must be a positive integer literal")
    return operands[0] if exponent == 1 else _shared(operands[:1], lambda a: f"(* {' '.join([a] * int(exponent))})")


def _minus(first: Any, *others: Any) -> Any:
    return functools.reduce(operator.sub, others, first) if others else -first


def _power(base: Fraction, exponent: Fraction) -> Any:
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1 or size * abs(exponent) > MAX_BITS:
        return NotImplemented
    return base ** int(exponent)


def _symbolic_power(sympy: Any, base: Any, exponent: Any) -> Any:
    if exponent.is_Rational and abs(exponent) > MAX_EXPONENT:
        raise FormulaError(f"an exponent in an identity must be at most {MAX_EXPONENT}")
    return base**exponent


def _power_defined(operands: Sequence[Any], values: Sequence[Fraction | None]) -> list[Any]:
    base, exponent = operands[0], values[1]
    if exponent is None:
        return [[">", base, 0]]
    if exponent.denominator != 1:
        return [[">=" if exponent > 0 else ">", base, 0]]
    return [["!=", base, 0]] if exponent < 0 else []


def _settled(true: Callable[..., bool], false: Callable[..., bool]) -> Callable[[arb, arb], bool]:
    def decided(left: arb, right: arb) -> bool:
        if true(left, right):
            return True
        if false(left, right):
            return False
        raise Undecided("the sides overlap")

    return decided


def _apart(left: arb, right: arb) -> bool:
    return bool(left < right or left > right)


def _never(left: arb, right: arb) -> bool:
    return False


def _whole(rounding: Callable[[arb], arb]) -> Callable[[arb], arb]:
    def rounded(value: arb) -> arb:
        whole = rounding(value)
        if not whole.is_exact():
            raise Undecided("the integer is not certain")
        return whole

    return rounded


def _chi2_cdf(x: arb, r: arb) -> arb:
    """Of the chi-square distribution with r > 0 degrees of freedom, at x >= 0: a regularized lower gamma function."""
    if not (r > 0 and x >= 0):
        raise Undecided("chi2_cdf needs r > 0 and x >= 0")
    return (x / 2).gamma_lower(r / 2, regularized=1)


def _comparison(word: str, smt: str, exact: Callable[..., Any], true: Any, false: Any) -> Operator:
    return Operator(2, 2, NUMBER, TRUTH, _between(word), _prefix(smt), exact, _settled(true, false))


def _connective(least: int, most: int, infix: Callable[..., str], smt: str, exact: Callable[..., Any]) -> Operator:
    return Operator(least, most, TRUTH, TRUTH, infix, _prefix(smt), exact, None)


def _analytic(most: int, enclosure: Callable[..., arb], sympy: str = "", defined: str = "") -> Operator:
    """A function without rational values; `defined` is how its operand must compare with 0."""
    return Operator(
        most,
        most,
        NUMBER,
        NUMBER,
        None,
        None,
        None,
        enclosure,
        (lambda library, value: getattr(library, sympy)(value)) if sympy else None,
        lambda operands, values: [[defined, operands[0], 0]] if defined else [],
    )


def _rational(
    least: int, most: int, infix: Any, smtlib: Any, exact: Any, enclosure: Any, sympy: Any = None, defined: Any = None
) -> Operator:
    return Operator(least, most, NUMBER, NUMBER, infix, smtlib, exact, enclosure, sympy, defined or Operator.defined)


OPERATORS: Mapping[str, Operator] = {
    "+": _rational(
        2, MANY, _between("+"), _prefix("+"), lambda *a: sum(a), lambda *a: sum(a[1:], a[0]), lambda s, *a: s.Add(*a)
    ),
    "*": _rational(
        2,
        MANY,
        _between("*"),
        _prefix("*"),
        lambda *a: math.prod(a),
        lambda *a: functools.reduce(operator.mul, a),
        lambda s, *a: s.Mul(*a),
    ),
    "-": _rational(
        1,
        MANY,
        lambda a: f"-{a[0]}" if len(a) == 1 else " - ".join(a),
        _prefix("-"),
        _minus,
        _minus,
        lambda s, *a: _minus(*a),
    ),
    "/": _rational(
        2,
        2,
        _between("/"),
        _prefix("/"),
        operator.truediv,
        operator.truediv,
        lambda s, a, b: a / b,
        lambda operands, values: [["!=", operands[1], 0]],
    ),
    "^": _rational(2, 2, "^".join, _product, _power, operator.pow, _symbolic_power, _power_defined),
    "abs": _rational(1, 1, None, lambda a, values: _shared(a, lambda x: f"(ite (>= {x} 0.0) {x} (- {x}))"), abs, abs),
    "max": _rational(2, MANY, None, _larger(">="), max, lambda *a: functools.reduce(arb.max, a)),
    "min": _rational(2, MANY, None, _larger("<="), min, lambda *a: functools.reduce(arb.min, a)),
    "ceil": _rational(1, 1, None, None, lambda a: Fraction(math.ceil(a)), _whole(arb.ceil)),
    "floor": _rational(1, 1, None, None, lambda a: Fraction(math.floor(a)), _whole(arb.floor)),
    "exp": _analytic(1, arb.exp, "exp"),
    "ln": _analytic(1, arb.log, "log", ">"),
    "sqrt": _analytic(1, arb.sqrt, "sqrt", ">="),
    "asinh": _analytic(1, arb.asinh),
    "normal_cdf": _analytic(1, lambda x: (-x / arb(2).sqrt()).erfc() / 2),
    "chi2_cdf": _analytic(2, _chi2_cdf),
    "<": _comparison("<", "<", operator.lt, operator.lt, operator.ge),
    "<=": _comparison("<=", "<=", operator.le, operator.le, operator.gt),
    ">": _comparison(">", ">", operator.gt, operator.gt, operator.le),
    ">=": _comparison(">=", ">=", operator.ge, operator.ge, operator.lt),
    "=": _comparison("=", "=", operator.eq, _never, _apart),
    "!=": _comparison("!=", "distinct", operator.ne, _apart, _never),
    "and": _connective(2, MANY, _between("and"), "and", lambda *a: all(a)),
    "or": _connective(2, MANY, _between("or"), "or", lambda *a: any(a)),
    "=>": _connective(2, 2, _between("implies"), "=>", lambda a, b: not a or b),
    "not": _connective(1, 1, lambda a: f"not {a[0]}", "not", operator.not_),
}
