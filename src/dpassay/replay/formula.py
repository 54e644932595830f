"""One formula object behind a proof: its text, its SMT-LIB query and its numeric value come from here and only here.

A formula is a nested list in prefix form, as it stands in a certificate:
    ["<=", ["*", "p", ["sqrt", "a"]], "1/2"]
Numbers are decimal integers or fractions in strings ("-3", "1/2") or Python ints; any other string is a variable.
"""

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

Formula = Any
_NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?")
_INFIX = {"+": " + ", "*": " * ", "-": " - ", "/": " / ", "and": " and ", "or": " or ", "=>": " implies "}
_COMPARE = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "=": operator.eq}
_TRANSCENDENTAL: Mapping[str, Callable[..., arb]] = {
    "exp": arb.exp,
    "ln": arb.log,
    "sqrt": arb.sqrt,
    "asinh": arb.asinh,
    "normal_cdf": lambda x: (-x / arb(2).sqrt()).erfc() / 2,
    # Of the chi-square distribution with r > 0 degrees of freedom, at x >= 0: the regularized lower gamma function.
    "chi2_cdf": lambda x, r: (x / 2).gamma_lower(r / 2, regularized=1),
}
_FUNCTIONS = (*_TRANSCENDENTAL, "abs", "ceil", "floor", "max", "min")
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
# Words that mean something else in a query or a formula, and so cannot name a variable or a function.
_KEYWORDS = "and as assert distinct exists false forall is_int ite let match not or par to_int to_real true xor"
_RESERVED = {*_KEYWORDS.split(), *_FUNCTIONS}
_SMT = {"+", "*", "-", "/", "and", "or", "=>", "not", *_COMPARE}


class FormulaError(ValueError):
    """A formula that cannot be read, printed or evaluated."""


def is_number(formula: Formula) -> bool:
    """Whether the formula is a literal."""
    if isinstance(formula, bool):
        raise FormulaError(f"{formula} is not a number")
    return isinstance(formula, int) or (isinstance(formula, str) and _NUMBER.fullmatch(formula) is not None)


def variables(formula: Formula) -> frozenset[str]:
    """The free variables."""
    if isinstance(formula, str):
        return frozenset() if is_number(formula) else frozenset({formula})
    if isinstance(formula, int):
        return frozenset()
    if formula[0] in ("forall", "exists"):
        return variables(formula[2]) - frozenset(formula[1])
    arguments = formula[2:] if formula[0] == "call" else formula[1:]
    return frozenset().union(*map(variables, arguments))


def text(formula: Formula) -> str:
    """The formula as a person writes it."""
    if not isinstance(formula, list | tuple):
        return str(formula)
    head, *arguments = formula
    if head in ("forall", "exists"):
        return f"{'for all' if head == 'forall' else 'there is'} {', '.join(arguments[0])}: {text(arguments[1])}"
    if head == "call":
        return f"{arguments[0]}({', '.join(text(a) for a in arguments[1:])})"
    if head == "not":
        return f"not ({text(arguments[0])})"
    if head == "^":
        return f"{_wrap(arguments[0])}^{_wrap(arguments[1])}"
    if head == "-" and len(arguments) == 1:
        return f"-{_wrap(arguments[0])}"
    if head in _COMPARE:
        return f"{text(arguments[0])} {head} {text(arguments[1])}"
    if head in _INFIX:
        return _INFIX[head].join(_wrap(a) for a in arguments)
    if head in _FUNCTIONS:
        return f"{head}({', '.join(text(a) for a in arguments)})"
    raise FormulaError(f"unknown operator {head!r}")


def smtlib(formula: Formula) -> str:
    """The formula in SMT-LIB 2 over the reals; `^` needs a literal exponent >= 0, `call` an uninterpreted function."""
    if is_number(formula):
        value = Fraction(formula)
        numerator = f"{abs(value.numerator)}.0"
        magnitude = numerator if value.denominator == 1 else f"(/ {numerator} {value.denominator}.0)"
        return f"(- {magnitude})" if value < 0 else magnitude
    if isinstance(formula, str):
        return symbol(formula)
    head, *arguments = formula
    if head in ("forall", "exists"):
        bound = " ".join(f"({symbol(name)} Real)" for name in arguments[0])
        return f"({head} ({bound}) {smtlib(arguments[1])})"
    if head == "call":
        return f"({symbol(arguments[0])} {' '.join(smtlib(a) for a in arguments[1:])})"
    if head == "^":
        if not is_number(arguments[1]) or Fraction(arguments[1]).denominator != 1 or Fraction(arguments[1]) < 1:
            raise FormulaError("an exponent in a query must be a positive integer literal")
        return (
            f"(* {' '.join([smtlib(arguments[0])] * int(arguments[1]))})"
            if int(arguments[1]) > 1
            else smtlib(arguments[0])
        )
    if head == "abs":
        inner = smtlib(arguments[0])
        return f"(ite (>= {inner} 0.0) {inner} (- {inner}))"
    if head in ("max", "min"):
        a, b = (smtlib(argument) for argument in arguments)
        return f"(ite ({'>=' if head == 'max' else '<='} {a} {b}) {a} {b})"
    if head in _SMT:
        return f"({head} {' '.join(smtlib(a) for a in arguments)})"
    raise FormulaError(f"{head!r} has no SMT-LIB form over the reals")


def evaluate(formula: Formula, values: Mapping[str, Any]) -> Any:
    """Exact value (Fraction, or bool for a comparison) at rational arguments; no exp, ln or sqrt."""
    if is_number(formula):
        return Fraction(formula)
    if isinstance(formula, str):
        value = _known(formula, values)
        if isinstance(value, arb):
            raise FormulaError(f"{formula} is not known exactly")
        return value
    head, *arguments = formula
    if head in ("forall", "exists", "call", *_TRANSCENDENTAL):
        raise FormulaError(f"{head!r} has no exact rational value")
    return _apply(head, [evaluate(argument, values) for argument in arguments])


def enclose(formula: Formula, values: Mapping[str, Any]) -> arb:
    """Arb enclosure of a real-valued formula at the working precision; `values` are rationals (exact) or Arb balls."""
    value = _value(formula, values)
    return value if isinstance(value, arb) else exact(value)


def decide(formula: Formula, values: Mapping[str, Any]) -> bool:
    """Whether a comparison, or a combination of them, certainly holds or certainly fails.

    A comparison whose sides are rational is decided exactly, equality included; others by Arb enclosures.

    Raises:
        FormulaError: the enclosures overlap, so nothing is certain at this precision.
    """
    head, *arguments = formula
    if head in ("and", "or", "not", "=>"):
        return bool(_apply(head, [decide(argument, values) for argument in arguments]))
    if head not in _COMPARE:
        raise FormulaError(f"{text(formula)} is not a comparison")
    left, right = (_value(argument, values) for argument in arguments)
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return bool(_apply(head, [left, right]))
    left, right = (side if isinstance(side, arb) else exact(side) for side in (left, right))
    certain = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right, "=": False}
    opposite = {"<": left >= right, "<=": left > right, ">": left <= right, ">=": left < right}
    if certain[head]:
        return True
    if opposite.get(head, left < right or left > right):
        return False
    raise FormulaError(f"undecided at this precision: {text(formula)}")


def symbol(name: Any) -> str:
    """The name itself, once it is certain that a query cannot read it as anything else.

    Raises:
        FormulaError: not a plain name.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None or name in _RESERVED:
        raise FormulaError(f"{name!r} cannot name a variable or a function")
    return name


def exact(value: Fraction) -> arb:
    """The smallest ball around a rational."""
    return arb(fmpq(value.numerator, value.denominator))


def _known(name: str, values: Mapping[str, Any]) -> Any:
    """The Fraction or ball that a variable stands for."""
    if name not in values:
        raise FormulaError(f"no value for {name}")
    value = values[name]
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    return value if isinstance(value, arb) else Fraction(value)


def _value(formula: Formula, values: Mapping[str, Any]) -> Any:
    """Fraction as long as everything is rational, else a ball."""
    if is_number(formula):
        return Fraction(formula)
    if isinstance(formula, str):
        return _known(formula, values)
    head, *arguments = formula
    if head in ("forall", "exists", "call", "and", "or", "not", "=>", *_COMPARE):
        raise FormulaError(f"{head!r} has no numeric value")
    parts = [_value(argument, values) for argument in arguments]
    rational = all(isinstance(part, Fraction) for part in parts)
    if rational and head not in _TRANSCENDENTAL and not (head == "^" and parts[1].denominator != 1):
        return _apply(head, parts)
    balls = [part if isinstance(part, arb) else exact(part) for part in parts]
    if head in _TRANSCENDENTAL:
        return _TRANSCENDENTAL[head](*balls)
    if head == "^":
        return balls[0] ** balls[1]
    if head in ("ceil", "floor"):
        rounded = balls[0].ceil() if head == "ceil" else balls[0].floor()
        if not rounded.is_exact():
            raise FormulaError(f"{head} is undecided at this precision")
        return rounded
    if head in ("max", "min"):
        return functools.reduce(arb.max if head == "max" else arb.min, balls)
    return _apply(head, balls)


def _wrap(formula: Formula) -> str:
    """An operand: in parentheses unless it is one symbol, since 1/2 or -1 would bind otherwise before a power."""
    if isinstance(formula, list | tuple):
        plain = formula[0] in (*_FUNCTIONS, "call")
    else:
        plain = not is_number(formula) or (Fraction(formula).denominator == 1 and Fraction(formula) >= 0)
    return text(formula) if plain else f"({text(formula)})"


def _apply(head: str, parts: list[Any]) -> Any:
    if head == "+":
        return sum(parts[1:], parts[0])
    if head == "-":
        return -parts[0] if len(parts) == 1 else parts[0] - sum(parts[2:], parts[1])
    if head == "*":
        return functools.reduce(operator.mul, parts)
    if head == "/":
        return parts[0] / parts[1]
    if head == "^":
        if parts[1].denominator != 1:
            raise FormulaError("a rational power is not rational: use an enclosure")
        return parts[0] ** int(parts[1])
    if head == "abs":
        return abs(parts[0])
    if head in ("ceil", "floor"):
        return Fraction(math.ceil(parts[0]) if head == "ceil" else math.floor(parts[0]))
    if head in ("max", "min"):
        return (max if head == "max" else min)(parts)
    if head in _COMPARE:
        return _COMPARE[head](parts[0], parts[1])
    if head == "and":
        return all(parts)
    if head == "or":
        return any(parts)
    if head == "not":
        return not parts[0]
    if head == "=>":
        return not parts[0] or parts[1]
    raise FormulaError(f"unknown operator {head!r}")
