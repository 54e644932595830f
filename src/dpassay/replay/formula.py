"""One formula object behind a proof: its text, its SMT-LIB query and its numeric value come from here and only here.

A formula is a nested list in prefix form, as it stands in a certificate:
    ["<=", ["*", "p", ["sqrt", "a"]], "1/2"]
Numbers are decimal integers or fractions in strings ("-3", "1/2") or Python ints; any other string is a variable.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

__all__ = ["FormulaError", "decide", "enclose", "evaluate", "smtlib", "text", "variables"]

Formula = Any
_NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?")
_INFIX = {"+": " + ", "*": " * ", "-": " - ", "/": " / ", "and": " and ", "or": " or ", "=>": " implies "}
_COMPARE = {"<=": "<=", "<": "<", ">=": ">=", ">": ">", "=": "="}
_FUNCTIONS = ("exp", "ln", "sqrt", "abs", "ceil", "floor", "max", "min")
_SMT = {"+", "*", "-", "/", "and", "or", "=>", "not", *_COMPARE}


class FormulaError(ValueError):
    """A formula that cannot be read, printed or evaluated."""


def is_number(formula: Formula) -> bool:
    """Whether the formula is a literal."""
    return isinstance(formula, int) or (isinstance(formula, str) and _NUMBER.fullmatch(formula) is not None)


def variables(formula: Formula) -> frozenset[str]:
    """The free variables."""
    if isinstance(formula, str):
        return frozenset() if is_number(formula) else frozenset({formula})
    if isinstance(formula, int):
        return frozenset()
    if formula[0] in ("forall", "exists"):
        return variables(formula[2]) - frozenset(formula[1])
    return frozenset().union(*(variables(argument) for argument in _arguments(formula)))


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
        return formula
    head, *arguments = formula
    if head in ("forall", "exists"):
        bound = " ".join(f"({name} Real)" for name in arguments[0])
        return f"({head} ({bound}) {smtlib(arguments[1])})"
    if head == "call":
        return f"({arguments[0]} {' '.join(smtlib(a) for a in arguments[1:])})"
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


def evaluate(formula: Formula, values: Mapping[str, Fraction]) -> Any:
    """Exact value (Fraction, or bool for a comparison) at rational arguments; no exp, ln or sqrt."""
    if is_number(formula):
        return Fraction(formula)
    if isinstance(formula, str):
        if formula not in values:
            raise FormulaError(f"no value for {formula}")
        return Fraction(values[formula])
    head, *arguments = formula
    if head in ("forall", "exists", "call", "exp", "ln", "sqrt"):
        raise FormulaError(f"{head!r} has no exact rational value")
    parts = [evaluate(argument, values) for argument in arguments]
    return _apply(head, parts)


def enclose(formula: Formula, values: Mapping[str, Any]) -> arb:
    """Arb enclosure of a real-valued formula; `values` are rationals (exact) or Arb balls."""
    if is_number(formula):
        return exact(Fraction(formula))
    if isinstance(formula, str):
        if formula not in values:
            raise FormulaError(f"no value for {formula}")
        value = values[formula]
        return value if isinstance(value, arb) else exact(Fraction(value))
    head, *arguments = formula
    parts = [enclose(argument, values) for argument in arguments]
    if head == "exp":
        return parts[0].exp()
    if head == "ln":
        return parts[0].log()
    if head == "sqrt":
        return parts[0].sqrt()
    if head == "^":
        return parts[0] ** parts[1]
    if head == "abs":
        return abs(parts[0])
    if head in ("ceil", "floor"):
        rounded = parts[0].ceil() if head == "ceil" else parts[0].floor()
        if not rounded.is_exact():
            raise FormulaError(f"{head} is undecided at this precision")
        return rounded
    if head == "max":
        return parts[0].max(parts[1])
    if head == "min":
        return parts[0].min(parts[1])
    return _apply(head, parts)


def decide(formula: Formula, values: Mapping[str, Any]) -> bool:
    """Whether a comparison (or a conjunction of them) certainly holds or certainly fails under Arb enclosures.

    Raises:
        FormulaError: the enclosures overlap, so nothing is certain at this precision.
    """
    head, *arguments = formula
    if head == "and":
        return all(decide(argument, values) for argument in arguments)
    if head == "or":
        return any(decide(argument, values) for argument in arguments)
    if head == "not":
        return not decide(arguments[0], values)
    left, right = (enclose(argument, values) for argument in arguments)
    certain = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    opposite = {"<": left >= right, "<=": left > right, ">": left <= right, ">=": left < right}
    if head not in certain:
        raise FormulaError(f"cannot decide {head!r} on enclosures")
    if certain[head]:
        return True
    if opposite[head]:
        return False
    raise FormulaError(f"undecided at this precision: {text(formula)}")


def exact(value: Fraction) -> arb:
    """The smallest ball around a rational."""
    return arb(fmpq(value.numerator, value.denominator))


def _arguments(formula: Sequence[Any]) -> Sequence[Any]:
    return formula[2:] if formula[0] == "call" else formula[1:]


def _wrap(formula: Formula) -> str:
    plain = not isinstance(formula, list | tuple) or formula[0] in (*_FUNCTIONS, "call")
    return text(formula) if plain else f"({text(formula)})"


def _apply(head: str, parts: list[Any]) -> Any:
    if head == "+":
        return sum(parts[1:], parts[0])
    if head == "-":
        return -parts[0] if len(parts) == 1 else parts[0] - sum(parts[2:], parts[1])
    if head == "*":
        product = parts[0]
        for part in parts[1:]:
            product = product * part
        return product
    if head == "/":
        return parts[0] / parts[1]
    if head == "^":
        if parts[1].denominator != 1:
            raise FormulaError("a rational power is not rational: use an enclosure")
        return parts[0] ** int(parts[1])
    if head == "abs":
        return abs(parts[0])
    if head == "ceil":
        return Fraction(-((-parts[0].numerator) // parts[0].denominator))
    if head == "floor":
        return Fraction(parts[0].numerator // parts[0].denominator)
    if head in ("max", "min"):
        return (max if head == "max" else min)(parts)
    comparisons = {"<=": "__le__", "<": "__lt__", ">=": "__ge__", ">": "__gt__", "=": "__eq__"}
    if head in comparisons:
        return getattr(parts[0], comparisons[head])(parts[1])
    if head == "and":
        return all(parts)
    if head == "or":
        return any(parts)
    if head == "not":
        return not parts[0]
    if head == "=>":
        return not parts[0] or parts[1]
    raise FormulaError(f"unknown operator {head!r}")
