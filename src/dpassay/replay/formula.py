"""One formula object behind a proof: its text, its SMT-LIB query and its numeric value come from here and only here.

A formula is a nested list in prefix form, as it stands in a certificate:
    ["<=", ["*", "p", ["sqrt", "a"]], "1/2"]
Numbers are decimal integers or fractions in strings ("-3", "1/2") or Python ints; any other string is a variable. The
operators are those of `replay.operators`; beside them there are ["call", function, operand, ...], an uninterpreted
function of numbers, and ["forall" or "exists", [variable, ...], formula].

A formula is read once, by `read`, into a tree that has the right numbers of operands of the right sorts and no huge
literal; what text, query and value mean follows from that tree. Every function here reads what is not yet read.
"""

import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpassay.replay.operators import MAX_EXPONENT, NUMBER, OPERATORS, TRUTH, FormulaError, Operator, Undecided

MAX_DEPTH = 100
MAX_PARTS = 100_000
MAX_DIGITS = 400
_NUMBER = re.compile(r"-?\d+(/[1-9]\d*)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
# Words that mean something else in a query or a formula, and so cannot name a variable or a function.
_KEYWORDS = "as assert call distinct exists false forall is_int ite let match par to_int to_real true xor"
_RESERVED = {*_KEYWORDS.split(), *OPERATORS}


@dataclass(frozen=True)
class Term:
    """A formula that was read: a literal, a variable, an operation, a function's value or a quantified formula.

    Attributes:
        head: an operator, "call", "forall", "exists"; "" for a literal or variable.
        operands: what the head applies to.
        names: the variable, the function called, or the variables bound.
        value: of a literal.
    """

    head: str = ""
    operands: tuple["Term", ...] = ()
    names: tuple[str, ...] = ()
    value: Fraction | None = None

    @property
    def operator(self) -> Operator | None:
        """The row of the table, None for what is none."""
        return OPERATORS.get(self.head)

    @property
    def sort(self) -> str:
        """`NUMBER` or `TRUTH`."""
        if self.operator:
            return self.operator.gives
        return TRUTH if self.head in ("forall", "exists") else NUMBER

    @property
    def literals(self) -> list[Fraction | None]:
        """The operands' values, None for what is no literal."""
        return [operand.value for operand in self.operands]


Formula = Any
"""A nested list as above, or the `Term` that was read from it."""


def read(formula: Formula, sort: str | None = None) -> Term:
    """The formula as a tree, checked whole against the table of operators.

    Args:
        formula: a nested list, or what was read before.
        sort: `NUMBER` or `TRUTH`, where only one will do.

    Raises:
        FormulaError: an unknown operator, a wrong number of operands, an operand or a whole of the wrong sort, a number
            that is not exact or has too many digits, a name that means something else, or too large a formula.
    """
    term = formula if isinstance(formula, Term) else _Reader().read(formula, MAX_DEPTH)
    return _of_sort(term, sort) if sort else term


class _Reader:
    def __init__(self) -> None:
        self.parts = 0

    def read(self, formula: Any, depth: int) -> Term:
        self.parts += 1
        if depth < 0 or self.parts > MAX_PARTS:
            raise FormulaError(f"a formula is at most {MAX_DEPTH} deep and has at most {MAX_PARTS} parts")
        if isinstance(formula, Term):
            return formula
        if isinstance(formula, list | tuple) and formula and isinstance(formula[0], str):
            head, *rest = formula
            if head in ("forall", "exists"):
                return self.quantified(head, rest, depth)
            if head == "call":
                return self.called(rest, depth)
            return self.applied(head, rest, depth)
        if is_number(formula):
            return Term(value=_literal(formula))
        if isinstance(formula, str):
            return Term(names=(symbol(formula),))
        raise FormulaError(f"{_shown(formula)} is no formula: write a number, a name or [operator, operand, ...]")

    def applied(self, head: str, rest: Sequence[Any], depth: int) -> Term:
        if head not in OPERATORS:
            raise FormulaError(f"unknown operator {_shown(head)}")
        row = OPERATORS[head]
        if not row.least <= len(rest) <= row.most:
            number = f"{row.least}" if row.least == row.most else f"{row.least} or more"
            raise FormulaError(f"{head!r} takes {number} operand{'s' * (number != '1')}, not {len(rest)}")
        operands = tuple(_of_sort(self.read(each, depth - 1), row.takes) for each in rest)
        exponent = operands[1].value if head == "^" else None
        if exponent is not None and abs(exponent) > MAX_EXPONENT:
            raise FormulaError(f"the exponent {_shown(str(exponent))} is beyond {MAX_EXPONENT}")
        return Term(head, operands)

    def called(self, rest: Sequence[Any], depth: int) -> Term:
        if len(rest) < 2:
            raise FormulaError("'call' takes a function and one or more operands")
        operands = tuple(_of_sort(self.read(each, depth - 1), NUMBER) for each in rest[1:])
        return Term("call", operands, (symbol(rest[0]),))

    def quantified(self, head: str, rest: Sequence[Any], depth: int) -> Term:
        if len(rest) != 2 or not isinstance(rest[0], list | tuple) or not rest[0]:
            raise FormulaError(f"{head!r} takes a list of variables and a formula")
        names = tuple(map(symbol, rest[0]))
        if len(set(names)) < len(names):
            raise FormulaError(f"{head!r} binds a variable twice")
        return Term(head, (_of_sort(self.read(rest[1], depth - 1), TRUTH),), names)


def is_number(formula: Formula) -> bool:
    """Whether the formula is a literal."""
    if isinstance(formula, Term):
        return formula.value is not None
    if isinstance(formula, bool):
        raise FormulaError(f"{formula} is not a number")
    return isinstance(formula, int) or (isinstance(formula, str) and _NUMBER.fullmatch(formula) is not None)


def variables(formula: Formula) -> frozenset[str]:
    """The free variables."""
    term = read(formula)
    if not term.head:
        return frozenset(term.names)
    free = frozenset[str]().union(*map(variables, term.operands))
    return free - frozenset(term.names) if term.head in ("forall", "exists") else free


def text(formula: Formula) -> str:
    """The formula as a person writes it."""
    term = read(formula)
    if term.value is not None:
        return str(term.value)
    if not term.head:
        return term.names[0]
    if term.head in ("forall", "exists"):
        quantifier = "for all" if term.head == "forall" else "there is"
        return f"{quantifier} {', '.join(term.names)}: {text(term.operands[0])}"
    if term.operator and term.operator.infix:
        bare = term.operator.takes != term.operator.gives  # the sides of a comparison
        return term.operator.infix([text(each) if bare else operand_text(each) for each in term.operands])
    return f"{term.names[0] if term.names else term.head}({', '.join(map(text, term.operands))})"


def operand_text(formula: Formula) -> str:
    """The text in parentheses, unless it is one symbol or a function's value: 1/2 or -1 would bind otherwise."""
    term = read(formula)
    infix = term.operator is not None and term.operator.infix is not None
    negative = term.value is not None and (term.value < 0 or term.value.denominator != 1)
    return f"({text(term)})" if infix or negative or term.head in ("forall", "exists") else text(term)


def smtlib(formula: Formula) -> str:
    """The formula in SMT-LIB 2 over the reals; `^` needs a literal exponent >= 1, `call` an uninterpreted function."""
    term = read(formula)
    if term.value is not None:
        return _smtlib_number(term.value)
    if not term.head:
        return term.names[0]
    operands = [smtlib(operand) for operand in term.operands]
    if term.operator:
        if term.operator.smtlib is None:
            raise FormulaError(f"{term.head!r} has no SMT-LIB form over the reals")
        return term.operator.smtlib(operands, term.literals)
    if term.head == "call":
        return f"({term.names[0]} {' '.join(operands)})"
    return f"({term.head} ({' '.join(f'({name} Real)' for name in term.names)}) {operands[0]})"


def evaluate(formula: Formula, values: Mapping[str, Any]) -> Any:
    """Exact value (Fraction, or bool for a comparison) at rational arguments; no exp, ln or sqrt."""
    return _value(read(formula), values, exactly=True)


def enclose(formula: Formula, values: Mapping[str, Any]) -> arb:
    """Arb enclosure of a real-valued formula at the working precision; `values` are rationals (exact) or Arb balls."""
    return _ball(_value(read(formula, NUMBER), values))


def decide(formula: Formula, values: Mapping[str, Any]) -> bool:
    """Whether a comparison, or a combination of them, certainly holds or certainly fails.

    A comparison whose sides are rational is decided exactly, equality included; others by Arb enclosures.

    Raises:
        FormulaError: the enclosures overlap, so nothing is certain at this precision.
    """
    return bool(_value(read(formula, TRUTH), values))


def conditions(formula: Formula) -> list[Term]:
    """What must hold for the formula to be defined: denominators not 0, arguments of ln and roots not negative, ...

    Conditions on products and powers are split; those that hold for literals and exponentials are left out.

    Raises:
        FormulaError: a condition on literals fails, so the formula is defined nowhere.
    """
    found: dict[Term, None] = {}
    for term in _parts(read(formula)):
        if term.operator:
            for each in term.operator.defined(term.operands, term.literals):
                found |= dict.fromkeys(_needed(read(each)))
        elif term.head in ("forall", "exists"):
            found |= dict.fromkeys(
                Term("forall", (each,), term.names) if variables(each) & set(term.names) else each
                for each in conditions(term.operands[0])
            )
    return list(found)


def symbol(name: Any) -> str:
    """The name itself, once it is certain that a query cannot read it as anything else.

    Raises:
        FormulaError: not a plain name.
    """
    if not isinstance(name, str) or len(name) > MAX_DIGITS or _NAME.fullmatch(name) is None or name in _RESERVED:
        raise FormulaError(f"{_shown(name)} cannot name a variable or a function")
    return name


def exact(value: Fraction) -> arb:
    """The smallest ball around a rational."""
    return arb(fmpq(value.numerator, value.denominator))


def _parts(term: Term) -> list[Term]:
    """The term and all within it that binds no variable, operands first."""
    inner = [] if term.head in ("forall", "exists") else [part for each in term.operands for part in _parts(each)]
    return [*inner, term]


def _needed(condition: Term) -> list[Term]:
    """What is left of a comparison of a term with 0 once it is simplified."""
    subject = condition.operands[0]
    if not variables(subject) and not any(part.head == "call" for part in _parts(subject)):
        if not decide(condition, {}):
            raise FormulaError(f"defined nowhere: it needs {text(condition)}")
        return []
    if subject.head == "exp":
        return []
    if condition.head == "!=":
        apart = {"*": subject.operands, "/": subject.operands, "^": subject.operands[:1]}.get(subject.head)
        if subject.head == "-" and len(subject.operands) == 1:
            apart = subject.operands
        if apart:
            return [each for operand in apart for each in _needed(Term("!=", (operand, condition.operands[1])))]
    return [condition]


def _of_sort(term: Term, sort: str) -> Term:
    if term.sort != sort:
        raise FormulaError(f"{_shown(text(term))} is a {term.sort}, where a {sort} belongs")
    return term


def _literal(number: int | str) -> Fraction:
    too_long = len(number) > MAX_DIGITS if isinstance(number, str) else abs(number) >= 10**MAX_DIGITS
    if too_long:
        raise FormulaError(f"a number has at most {MAX_DIGITS} digits")
    return Fraction(number)


def _shown(value: Any) -> str:
    return reprlib.repr(value)


def _smtlib_number(value: Fraction) -> str:
    numerator = f"{abs(value.numerator)}.0"
    magnitude = numerator if value.denominator == 1 else f"(/ {numerator} {value.denominator}.0)"
    return f"(- {magnitude})" if value < 0 else magnitude


def _known(name: str, values: Mapping[str, Any], exactly: bool) -> Any:
    """The Fraction or ball that a variable stands for."""
    if name not in values:
        raise FormulaError(f"no value for {name}")
    value = values[name]
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    if not isinstance(value, arb):
        return Fraction(value)
    if exactly:
        raise FormulaError(f"{name} is not known exactly")
    return value


def _value(term: Term, values: Mapping[str, Any], exactly: bool = False) -> Any:
    """Fraction or truth value as long as everything is rational, else a ball or what balls decide."""
    if term.value is not None:
        return term.value
    if not term.head:
        return _known(term.names[0], values, exactly)
    if term.operator is None:
        raise FormulaError(f"{term.head!r} has no value")
    parts = [_value(operand, values, exactly) for operand in term.operands]
    row = term.operator
    try:
        if row.exact and all(isinstance(part, Fraction | bool) for part in parts):
            found = row.exact(*parts)
            if found is not NotImplemented:
                return found
        if exactly or row.enclosure is None:
            raise FormulaError(f"{term.head!r} has no exact rational value there")
        enclosed = row.enclosure(*map(_ball, parts))
    except ZeroDivisionError:
        raise FormulaError(f"not defined: {text(term)}") from None
    except Undecided as reason:
        raise Undecided(f"undecided at this precision ({reason}): {text(term)}") from None
    if isinstance(enclosed, arb) and not enclosed.is_finite():
        raise Undecided(f"undecided at this precision (not certainly defined): {text(term)}")
    return enclosed


def _ball(value: Any) -> arb:
    return value if isinstance(value, arb) else exact(value)
