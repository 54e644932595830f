"""What two runs of a program hold while the search executes them, and operations on it."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpassay.prover.terms import (
    Atom,
    Formula,
    Poly,
    apply,
    at_most,
    both,
    choose,
    either,
    equal,
    less,
    negate,
    poly,
    same_truth,
    truth,
)


class Unsupported(Exception):
    """The search does not understand the program here."""


@dataclass(frozen=True)
class Number:
    """A number in run 1 and what run 2's is more."""

    first: Poly
    change: Poly

    @property
    def second(self) -> Poly:
        """Run 2's value."""
        return self.first + self.change


@dataclass(frozen=True)
class Truth:
    """A truth value in both runs."""

    first: Formula
    second: Formula


@dataclass(frozen=True)
class Constant:
    """A text or None."""

    value: Any


@dataclass(frozen=True)
class Items:
    """A tuple."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Sequence_:
    """A list: its length, its element at an index, and the name under which formulas speak of its elements.

    A filtered list has the places of its source: `kept` says whether the element there is, else it is 0. Of a list
    whose elements change, `label` is the name of what it held at the last loop's head.
    """

    length: Number
    get: Callable[[Poly], Any]
    name: str | None = None
    built: bool = False
    draws: bool = False
    kept: Callable[[Poly], Truth] | None = None
    label: str | None = None


@dataclass(frozen=True)
class Maybe:
    """A number, or where it is `absent` the None or the infinity that a variable begins as."""

    special: Any
    absent: Truth
    number: Number

    @property
    def change(self) -> Poly:
        """What d(x) is: 0 where both runs hold the special value, 1 where one does."""
        alike = both(self.absent.first, self.absent.second)
        neither = both(negate(self.absent.first), negate(self.absent.second))
        return choose(neither, self.number.change, choose(alike, NOTHING, poly(1)))


Env = dict[str, Any]


NOTHING = poly(0)
INFINITY = float("inf")


def constant(value: Any) -> Any:
    """A Python constant as a value."""
    if isinstance(value, bool):
        return Truth(truth(value), truth(value))
    if isinstance(value, int | float):
        if value in (INFINITY, -INFINITY):
            return Constant(value)
        return Number(poly(Fraction(str(value))), NOTHING)
    return Constant(value)


UNSHIFTED = ("choice", "bias")
"""Draws that are the same in both runs: an index by weights, a coin whose probability differs between them."""


@dataclass
class Draw:
    """One draw on a path: its shift's symbol, and the branches taken after it before the next cut point."""

    position: str
    kind: str
    shift: Atom
    scale: Any
    env: Env
    start: int
    value: Any
    when: tuple[tuple[str, bool], ...] = ()
    segment: int = 0
    index: Poly | None = None
    loops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Owed:
    """What run 2 owes on a path, and the differences (run 2 less run 1) that decide it.

    Attributes:
      exact: whether the differences must be 0 (what is released), not of one sign alone.
    """

    position: str
    formula: Formula
    changes: tuple[Poly, ...]
    exact: bool = False


def parallel(first: Formula, second: Formula) -> Iterator[Poly]:
    """Differences of the comparisons at the same places of two formulas."""
    if first.kind != second.kind or len(first.args) != len(second.args):
        return
    for one, two in zip(first.args, second.args, strict=True):
        if isinstance(one, Poly):
            yield from differences(one, two)
        elif isinstance(one, Formula):
            yield from parallel(one, two)


def numerator(value: Poly) -> Poly:
    """A quotient's numerator, where what divides is a sum or a choice."""
    result = NOTHING
    for monomial, coefficient in value.terms.items():
        kept = tuple((a, p) for a, p in monomial if a.kind != "inverse" and (a.kind != "ite" or p > 0))
        result = result + Poly({kept: coefficient})
    return result


def differences(first: Poly, second: Poly) -> Iterator[Poly]:
    """Their difference, and those of the arguments of functions and choices in them at the same places."""
    if not (second - first).terms:
        return
    yield second - first
    above = [numerator(value) for value in (first, second)]
    if above[0] != first and (above[1] - above[0]).terms:
        yield above[1] - above[0]
    kinds = ("app", "ite", "inverse")
    ones, twos = (
        [atom for monomial in value.terms for atom, _ in monomial if atom.kind in kinds] for value in (first, second)
    )
    for one, two in zip(ones, twos, strict=False):
        if one.kind == two.kind and len(one.args) == len(two.args):
            for a, b in zip(one.args, two.args, strict=True):
                if isinstance(a, Poly) and isinstance(b, Poly):
                    yield from differences(a, b)
                elif isinstance(a, Formula) and isinstance(b, Formula):
                    yield from parallel(a, b)


@dataclass(frozen=True)
class Leaf:
    """A path's last segment: what holds on it, what run 2 owes, and where it arrives."""

    facts: tuple[Formula, ...]
    heads: tuple[tuple[str, Env], ...]
    reads: tuple[tuple[str, Poly, Env], ...]
    draws: tuple[Draw, ...]
    obligations: tuple["Owed", ...]
    segment: int
    target: str | None
    env: Env
    result: Any = None
    outcomes: tuple[tuple[str, bool], ...] = ()
    appends: tuple[tuple[str, Poly, Any, Env], ...] = ()

    @property
    def source(self) -> str | None:
        """The loop at whose head the segment starts, or None."""
        return self.heads[-1][0] if self.heads else None

    def current(self) -> list[Draw]:
        """The draws of the last segment."""
        return [draw for draw in self.draws if draw.segment == self.segment]


class _Ended(Exception):
    pass


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass
class _Return(Exception):
    value: Any


@dataclass
class Explored:
    """All segments of a program under one choice of free branches."""

    leaves: list[Leaf]
    loops: dict[str, list[Env]]
    draws: dict[str, Draw]
    lists: dict[str, bool]
    branches: dict[str, "Branch"]
    entry: Env
    facts: tuple[Formula, ...]
    magnitudes: list[str]
    reductions: dict[str, str] = field(default_factory=dict)
    loop_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    uses: list[tuple[Poly, Poly]] = field(default_factory=list)
    numeric: set[str] = field(default_factory=set)
    tuples: set[str] = field(default_factory=set)
    summands: dict[str, tuple[Poly, Number]] = field(default_factory=dict)
    changes: dict[str, dict[str, tuple[Poly, Poly, Number]]] = field(default_factory=dict)


@dataclass
class Branch:
    """A branch: whether its arms only assign scalars, the scalars, the loops around it, and its conditions seen."""

    scalar: bool
    assigned: tuple[str, ...]
    loops: tuple[str, ...]
    conditions: list[Truth] = field(default_factory=list)


def as_number(value: Any) -> Number:
    """A number; truth counts as 0 or 1."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Truth):
        first, second = (choose(f, poly(1), poly(0)) for f in (value.first, value.second))
        return Number(first, second - first)
    raise Unsupported("a number is needed")


def as_truth(value: Any) -> Truth:
    """A condition; a number counts as whether it is not 0."""
    if isinstance(value, Truth):
        return value
    if isinstance(value, Number):
        return Truth(negate(equal(value.first, 0)), negate(equal(value.second, 0)))
    raise Unsupported("a condition is needed")


def lifted(function: Callable[..., Any], *values: Any) -> Any:
    """A function of scalars, elementwise where an argument is a list."""
    lists = [value for value in values if isinstance(value, Sequence_)]
    if not lists:
        return function(*values)

    def get(index: Poly) -> Any:
        return function(*(value.get(index) if isinstance(value, Sequence_) else value for value in values))

    return Sequence_(lists[0].length, get)


def merge(test: Truth, then: Any, otherwise: Any) -> Any:
    """then if test else otherwise, each run for itself."""
    if isinstance(then, Truth) and isinstance(otherwise, Truth):
        return Truth(
            either(both(test.first, then.first), both(negate(test.first), otherwise.first)),
            either(both(test.second, then.second), both(negate(test.second), otherwise.second)),
        )
    one, two = as_number(then), as_number(otherwise)
    first = choose(test.first, one.first, two.first)
    if test.first is test.second:
        return Number(first, choose(test.first, one.change, two.change))
    return Number(first, choose(test.second, one.second, two.second) - first)


def literal_list(values: list[Any]) -> Sequence_:
    """`[a, b, c]`."""

    def get(index: Poly) -> Any:
        at = index.constant
        if at is not None:
            return values[int(at)]
        result = values[-1]
        for i in range(len(values) - 2, -1, -1):
            here = equal(index, i)
            result = merge(Truth(here, here), values[i], result)
        return result

    return Sequence_(Number(poly(len(values)), NOTHING), get)


def of_both(function: Callable[..., Poly], *values: Number) -> Number:
    """A function applied in each run."""
    first = function(*(value.first for value in values))
    if all(value.change == NOTHING for value in values):
        return Number(first, NOTHING)
    return Number(first, function(*(value.second for value in values)) - first)


def arithmetic(op: ast.operator, a: Number, b: Number) -> Number:
    """a op b."""
    match op:
        case ast.Add():
            return Number(a.first + b.first, a.change + b.change)
        case ast.Sub():
            return Number(a.first - b.first, a.change - b.change)
        case ast.Mult():
            return Number(a.first * b.first, a.second * b.second - a.first * b.first)
        case ast.Div():
            if b.change == NOTHING:
                return Number(a.first / b.first, a.change / b.first)
            return of_both(lambda x, y: x / y, a, b)
        case ast.FloorDiv():
            return of_both(lambda x, y: apply("floordiv", x, y, integer=x.integer and y.integer), a, b)
        case ast.Mod():
            return of_both(lambda x, y: apply("mod", x, y, integer=x.integer and y.integer), a, b)
        case ast.Pow():
            power = b.first.constant
            if power is not None and power.denominator == 1 and abs(power) <= 4:
                return of_both(lambda x: _power(x, int(power)), a)
            return of_both(lambda x, y: apply("pow", x, y), a, b)
    raise Unsupported(type(op).__name__)


def _power(base: Poly, exponent: int) -> Poly:
    result = poly(1)
    for _ in range(abs(exponent)):
        result = result * base if exponent > 0 else result / base
    return result


def _special(value: Any) -> bool:
    return isinstance(value, Maybe) or (isinstance(value, Constant) and value.value in (-INFINITY, INFINITY))


def _compared_special(op: ast.cmpop, a: Any, b: Any) -> Truth:
    """An order of two values of which one may be infinite."""
    if isinstance(op, ast.Gt | ast.GtE):
        op, a, b = ast.Lt() if isinstance(op, ast.Gt) else ast.LtE(), b, a
    if _special(a) and _special(b):
        raise Unsupported("a comparison of what may be infinite")
    side, infinite = (a, -INFINITY) if _special(a) else (b, INFINITY)  # where it makes a < b true
    if isinstance(side, Constant):
        return constant(side.value == infinite)
    number = compared(op, side.number if side is a else a, side.number if side is b else b)
    if side.special is None:
        return number
    if side.special == infinite:
        return Truth(either(side.absent.first, number.first), either(side.absent.second, number.second))
    first, second = negate(side.absent.first), negate(side.absent.second)
    return Truth(both(first, number.first), both(second, number.second))


def maybe(value: Any, special: Any) -> Maybe:
    """A value of a variable that may hold the special value.

    Raises:
        Unsupported: it is neither a number nor that value.
    """
    if isinstance(value, Maybe) and value.special == special:
        return value
    if isinstance(value, Constant) and value.value == special:
        return Maybe(special, constant(True), Number(NOTHING, NOTHING))
    return Maybe(special, constant(False), as_number(value))


def compared(op: ast.cmpop, a: Any, b: Any) -> Truth:
    """a op b."""
    if isinstance(op, ast.Is | ast.IsNot):
        if not (isinstance(b, Constant) and b.value is None):
            raise Unsupported("`is` of something else than None")
        absent = (
            a.absent
            if isinstance(a, Maybe) and a.special is None
            else constant(isinstance(a, Constant) and not a.value)
        )
        return absent if isinstance(op, ast.Is) else Truth(negate(absent.first), negate(absent.second))
    if isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and any(map(_special, (a, b))):
        return _compared_special(op, a, b)
    if isinstance(a, Constant) or isinstance(b, Constant):
        if not isinstance(op, ast.Eq | ast.NotEq):
            raise Unsupported("a comparison of texts")
        same = isinstance(a, Constant) and isinstance(b, Constant) and a.value == b.value
        return constant(same == isinstance(op, ast.Eq))
    if isinstance(a, Truth) and isinstance(b, Truth) and isinstance(op, ast.Eq | ast.NotEq):
        first, second = same_truth(a.first, b.first), same_truth(a.second, b.second)
        return Truth(first, second) if isinstance(op, ast.Eq) else Truth(negate(first), negate(second))
    one, two = as_number(a), as_number(b)

    def formula(x: Poly, y: Poly) -> Formula:
        match op:
            case ast.Lt():
                return less(x, y)
            case ast.LtE():
                return at_most(x, y)
            case ast.Gt():
                return less(y, x)
            case ast.GtE():
                return at_most(y, x)
            case ast.Eq():
                return equal(x, y)
            case ast.NotEq():
                return negate(equal(x, y))
        raise Unsupported(type(op).__name__)

    return Truth(formula(one.first, two.first), formula(one.second, two.second))


@dataclass(frozen=True)
class Foreseen:
    """A prophecy: the variable, the loop after which it has that value, and in which iteration it gets a value."""

    variable: str
    loop: str
    place: str = "{}"

    def chosen(self, name: str) -> str:
        """The iteration in which the variable gets the value that the prophecy of that name says."""
        return self.place.format(f'prophecy("{name}")')


def written(key: str) -> str:
    """A key of a state as the certificate's expression."""
    kind, _, where = key.partition(":")
    return f'{kind}("{where}")' if where else key


def key_of(text: str) -> str:
    """The key of a state that is written so."""
    kind, _, where = text.partition('("')
    return f"{kind}:{where[:-2]}" if where else text


def numbers_of(value: Any) -> Iterator[Number]:
    """The numbers in a value."""
    if isinstance(value, Number):
        yield value
    elif isinstance(value, Maybe):
        yield value.number
    elif isinstance(value, Items):
        for item in value.items:
            yield from numbers_of(item)


def nameless_element(name: str) -> Sequence_:
    """A comprehension's list as its formulas read it."""
    zero = Number(NOTHING, NOTHING)
    return Sequence_(
        zero,
        lambda index: Number(
            poly(Atom("read", f"item {name}", index, role="noise")), poly(Atom("read", f"d item {name}", index))
        ),
        name,
    )
