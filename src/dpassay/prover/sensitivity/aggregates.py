"""What a function of a dataset of any length is read into: SymPy expressions over entries and aggregates.

`entry(i)` is the i-th number of the dataset, counted from 0. `Aggregate(kind, i, length, body)` is the sum, product,
largest or smallest of body over i = 0, ..., length - 1; an "order" has a rank besides: the rank-th smallest, from 0;
"distinct" counts the different values. Indices and parameters are Dummies, so that no name captures another.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from sympy import Dummy, Expr, S

entry = sympy.Function("entry", real=True)

MAX_UNROLLED = 8
UNROLLED = {"sum": sympy.Add, "prod": sympy.Mul, "max": sympy.Max, "min": sympy.Min}
KINDS = ("sum", "prod", "max", "min", "order", "distinct")


class Aggregate(Expr):
    """An aggregate as one SymPy term; substitution reaches its length and body, and never the bound index."""

    is_commutative = True
    is_extended_real = True
    is_real = True

    def __new__(cls, kind: Any, index: Dummy, length: Any, body: Any, rank: Any = 0) -> "Aggregate":
        """The term; SymPy gives the kind as a symbol when it rebuilds one."""
        assert str(kind) in KINDS
        made = (sympy.Symbol(str(kind)), index, sympy.sympify(length), sympy.sympify(body), sympy.sympify(rank))
        return Expr.__new__(cls, *made)

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return str(self.args[0].name)

    @property
    def index(self) -> Any:
        """The bound index."""
        return self.args[1]

    @property
    def length(self) -> Any:
        """How many terms."""
        return self.args[2]

    @property
    def body(self) -> Any:
        """The term of one index."""
        return self.args[3]

    @property
    def rank(self) -> Any:
        """Of an order statistic, from 0, the smallest."""
        return self.args[4]

    @property
    def free_symbols(self) -> Any:
        """All symbols but the bound index."""
        inner = self.body.free_symbols - {self.index}
        return inner | self.length.free_symbols | self.rank.free_symbols

    def _eval_is_integer(self) -> bool | None:
        return True if self.kind == "distinct" else self.body.is_integer

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.kind == "distinct" else (self.body.is_nonnegative or None)

    def _eval_subs(self, old: Any, new: Any) -> Any:
        if old == self.index:
            return self
        return None

    def _sympystr(self, printer: Any) -> str:
        rank = f", rank {self.rank}" if self.kind == "order" else ""
        return f"{self.kind}_{self.index}<{self.length}({printer._print(self.body)}{rank})"


class Choice(Expr):
    """One number if a condition holds, else another; SymPy's own Piecewise would be folded into aggregates."""

    is_commutative = True
    is_extended_real = True
    is_real = True

    def __new__(cls, condition: Any, yes: Any, no: Any) -> Any:
        """The choice, or the number that it comes down to."""
        condition, yes, no = sympy.sympify(condition), sympy.sympify(yes), sympy.sympify(no)
        if condition is sympy.true or yes == no:
            return yes
        x = condition.lhs if isinstance(condition, sympy.Gt) and condition.rhs == 0 else None
        if x is not None and no == 0 and (factor := sympy.cancel(yes / (x * sympy.log(x)))).is_number:
            return factor * xlogx(x)
        return no if condition is sympy.false else Expr.__new__(cls, condition, yes, no)

    def _eval_is_integer(self) -> bool | None:
        return True if self.args[1].is_integer and self.args[2].is_integer else None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[1].is_nonnegative and self.args[2].is_nonnegative else None

    def _sympystr(self, printer: Any) -> str:
        condition, yes, no = map(printer._print, self.args)
        return f"({yes} if {condition} else {no})"


def with_piecewise(term: Any) -> Any:
    """The term in SymPy's own language, once there are no aggregates in it."""
    if isinstance(term, Choice):
        condition, yes, no = map(with_piecewise, term.args)
        return sympy.Piecewise((yes, condition), (no, True))
    if not isinstance(term, sympy.Basic) or not term.has(Choice) or term.has(Aggregate):
        return term
    return term.func(*map(with_piecewise, term.args))


class xlogx(sympy.Function):
    """x log x for x > 0, and 0 up to 0."""

    is_real = True

    @classmethod
    def eval(cls, x: Any) -> Any:
        """The value, where it is known."""
        if x == 1 or (x.is_number and x.is_nonpositive):
            return S.Zero
        return x * sympy.log(x) if x.is_number and x.is_positive else None

    def fdiff(self, argindex: int = 1) -> Any:
        """The derivative."""
        return sympy.log(self.args[0]) + 1


class nearest(sympy.Function):
    """Python's round: the nearest integer, the even one of two."""

    is_integer = True
    is_real = True

    @classmethod
    def eval(cls, x: Any) -> Any:
        """The integer, where it is known."""
        if x.is_integer:
            return x
        return sympy.Integer(round(Fraction(int(x.p), int(x.q)))) if x.is_Rational else None


@dataclass(frozen=True)
class Sequence:
    """A list, array or iterator of any length: its elements as an expression in the bound indices.

    Attributes:
        binders: (index, length) pairs, the outermost first; more than one for a comprehension with several loops.
        body: the element: an expression, a truth value, or a tuple of them.
        where: which elements are in it.
        kind: "list", "array" or "iterator" (which can be read only once).
    """

    binders: tuple[tuple[Dummy, Any], ...]
    body: Any
    where: Any = sympy.true
    kind: str = "list"


INDEX = "#"
"""The name of every bound index: no name of Python's, so that no parameter is taken for one."""


def new_index() -> Dummy:
    """An index that stands nowhere else."""
    return Dummy(INDEX, integer=True, nonnegative=True)


def number(value: Any) -> Any:
    """A truth value as 0 or 1."""
    if value is sympy.true:
        return S.One
    if value is sympy.false:
        return S.Zero
    if isinstance(value, sympy.logic.boolalg.Boolean) and not isinstance(value, sympy.Symbol):
        return Choice(value, S.One, S.Zero)
    return value


def is_private(term: Any) -> bool:
    """Whether it depends on the dataset's entries (and not on how many there are)."""
    return bool(term.has(entry) or term.has(Aggregate))


def aggregate(kind: str, binders: Any, body: Any, rank: Any = 0) -> Any:
    """The aggregate over one index or several, the innermost first; a sum of equal terms is a product."""
    for index, length in reversed(binders):
        if length == 0 and kind in ("sum", "prod"):
            body = sympy.Integer(kind == "prod")
            continue
        if kind in UNROLLED and length.is_Integer and 0 < length <= MAX_UNROLLED:
            body = UNROLLED[kind](*(body.subs(index, place) for place in range(length)))
            continue
        if kind == "sum" and index not in body.free_symbols:
            body = length * body
        elif kind in ("max", "min") and index not in body.free_symbols:
            continue
        elif kind == "sum" and not is_private(body):
            total = sympy.summation(body, (index, 0, length - 1)) if body.is_polynomial(index) else None
            body = Aggregate(kind, index, length, body) if total is None else total
        elif kind == "sum" and body.is_Mul:
            factor, rest = body.as_independent(index, as_Add=False)
            body = factor * Aggregate(kind, index, length, rest)
        else:
            body = Aggregate(kind, index, length, body, rank)
    return body
