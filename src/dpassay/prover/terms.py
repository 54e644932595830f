"""Terms of the search: polynomials over hash-consed atoms, and formulas over them."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

Monomial = tuple[tuple["Atom", int], ...]


class Atom:
    """A symbol, a read of a list, a choice between two values, or a function's value; equal atoms are one object.

    Kinds and arguments: `sym` (name,), `read` (list's name, index), `ite` (condition, then, otherwise),
    `app` (function's name, *arguments), `inverse` (a polynomial of more than one term).
    """

    table: ClassVar[dict[tuple[Any, ...], "Atom"]] = {}
    args: tuple[Any, ...]
    integer: bool
    kind: str
    number: int
    role: str
    support: frozenset["Atom"]

    def __new__(cls, kind: str, *args: Any, integer: bool = False, role: str = "state") -> "Atom":
        """The atom of that kind and those arguments."""
        key = (kind, *args)
        found = cls.table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.kind, found.args, found.integer, found.role, found.number = kind, args, integer, role, len(cls.table)
            inner = frozenset().union(*(a.support for a in args if isinstance(a, Poly | Formula)))
            found.support = inner | {found}
            cls.table[key] = found
        return found

    def __repr__(self) -> str:
        return str(self.args[0]) if self.kind == "sym" else f"{self.kind}{self.args}"


class Poly:
    """A polynomial with rational coefficients, also of negative powers: division by one term is exact."""

    __slots__ = ("_hash", "_support", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]):
        self.terms = {m: c for m, c in terms.items() if c}
        self._hash = hash(frozenset(self.terms.items()))
        self._support: frozenset[Atom] | None = None

    @property
    def support(self) -> frozenset[Atom]:
        """All atoms, those inside of atoms too."""
        if self._support is None:
            self._support = frozenset().union(*(atom.support for m in self.terms for atom, _ in m))
        return self._support

    @property
    def constant(self) -> Fraction | None:
        """The number that it is, or None."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def integer(self) -> bool:
        """Whether it is surely an integer."""
        return all(c.denominator == 1 and all(a.integer and p > 0 for a, p in m) for m, c in self.terms.items())

    def atom(self) -> Atom | None:
        """The atom that it is, or None."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
                return monomial[0][0]
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: "Poly | int | Fraction") -> "Poly":
        total = dict(self.terms)
        for monomial, coefficient in poly(other).terms.items():
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        return Poly(total)

    __radd__ = __add__

    def __neg__(self) -> "Poly":
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: "Poly | int | Fraction") -> "Poly":
        return self + -poly(other)

    def __rsub__(self, other: "Poly | int | Fraction") -> "Poly":
        return poly(other) - self

    def __mul__(self, other: "Poly | int | Fraction") -> "Poly":
        total: dict[Monomial, Fraction] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in poly(other).terms.items():
                monomial = _times(m1, m2)
                total[monomial] = total.get(monomial, Fraction(0)) + c1 * c2
        return Poly(total)

    __rmul__ = __mul__

    def inverse(self) -> "Poly":
        """1 over it; the caller knows that it is not zero."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if all(a.kind != "ite" for a, _ in monomial):
                result = poly(1 / coefficient)
                for atom, power in monomial:
                    base = (
                        atom.args[0]
                        if atom.kind == "inverse"
                        else Poly({((atom, -1 if power > 0 else 1),): Fraction(1)})
                    )
                    for _ in range(abs(power)):
                        result = result * base
                return result
        if not self.terms:
            raise ZeroDivisionError("something is divided by 0")
        powers = [dict(monomial) for monomial in self.terms]
        lowest = {a: min(each.get(a, 0) for each in powers) for a in {a for each in powers for a in each}}
        common = [(a, p) for a, p in lowest.items() if p and a.kind != "ite"]
        if common:  # 1 / (x y) is 1/x 1/y
            outside = Poly({tuple(sorted(common, key=lambda pair: pair[0].number)): Fraction(1)}).inverse()
            return outside * (self * outside).inverse()
        content = max(self.terms.items(), key=lambda item: [(a.number, p) for a, p in item[0]])[1]
        return Poly({((Atom("inverse", self * (1 / content)), 1),): 1 / content})

    def __truediv__(self, other: "Poly | int | Fraction") -> "Poly":
        return self * poly(other).inverse()

    def __repr__(self) -> str:
        return " + ".join(f"{c}*{'*'.join(f'{a}^{p}' for a, p in m) or 1}" for m, c in self.terms.items()) or "0"


Number = Poly | int | Fraction


def _times(first: Monomial, second: Monomial) -> Monomial:
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((a, p) for a, p in powers.items() if p), key=lambda pair: pair[0].number))


def poly(value: Number | Atom) -> Poly:
    """A number or an atom as a polynomial."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, Atom):
        return Poly({((value, 1),): Fraction(1)})
    return Poly({(): Fraction(value)})


def symbol(name: str, integer: bool = False, role: str = "state") -> Poly:
    """The symbol of a name."""
    return poly(Atom("sym", name, integer=integer, role=role))


class Formula:
    """`true`, `sym` (name), `le`, `lt`, `eq` (a polynomial against 0), `not`, `and`, `or`, `iff`; hash-consed."""

    table: ClassVar[dict[tuple[Any, ...], "Formula"]] = {}
    args: tuple[Any, ...]
    kind: str
    support: frozenset[Atom]

    def __new__(cls, kind: str, *args: Any) -> "Formula":
        """The formula of that kind and those arguments."""
        key = (kind, *args)
        found = cls.table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.kind, found.args = kind, args
            found.support = frozenset().union(*(a.support if isinstance(a, Poly | Formula) else {a} for a in args))
            cls.table[key] = found
        return found

    def __repr__(self) -> str:
        return f"{self.kind}{self.args}"


TRUE = Formula("true")
FALSE = Formula("not", TRUE)


def forget_terms() -> None:
    """Forgets all atoms and formulas, so that those of another program, of other sorts, do not stand for new ones."""
    Atom.table.clear()
    Formula.table.clear()
    Formula.table.update({("true",): TRUE, ("not", TRUE): FALSE})


def truth(value: bool) -> Formula:
    """The formula of a constant."""
    return TRUE if value else FALSE


def truth_symbol(name: str) -> Formula:
    """A symbol that is true or false."""
    return Formula("sym", Atom("sym", name, role="bool"))


def compare(kind: str, difference: Poly) -> Formula:
    """`le`, `lt` or `eq` of a polynomial and 0."""
    constant = difference.constant
    if constant is not None:
        return truth({"le": constant <= 0, "lt": constant < 0, "eq": constant == 0}[kind])
    if kind == "lt" and difference.integer:
        return compare("le", difference + 1)
    return Formula(kind, difference)


def at_most(first: Number, second: Number) -> Formula:
    """first <= second."""
    return compare("le", poly(first) - second)


def less(first: Number, second: Number) -> Formula:
    """first < second."""
    return compare("lt", poly(first) - second)


def equal(first: Number, second: Number) -> Formula:
    """first == second."""
    return compare("eq", poly(first) - second)


def negate(formula: Formula) -> Formula:
    """Its negation, comparisons turned."""
    if formula.kind == "not":
        return formula.args[0]
    if formula.kind == "le":
        return compare("lt", -formula.args[0])
    if formula.kind == "lt":
        return compare("le", -formula.args[0])
    if formula.kind in ("and", "or"):
        return (either if formula.kind == "and" else both)(*map(negate, formula.args))
    return Formula("not", formula)


def both(*formulas: Formula) -> Formula:
    """Their conjunction."""
    parts: dict[Formula, None] = {}
    for f in formulas:
        for part in f.args if f.kind == "and" else (f,):
            if part is FALSE or negate(part) in parts:
                return FALSE
            if part is not TRUE:
                parts[part] = None
    return Formula("and", *parts) if len(parts) > 1 else next(iter(parts), TRUE)


def either(*formulas: Formula) -> Formula:
    """Their disjunction."""
    parts: dict[Formula, None] = {}
    for f in formulas:
        for part in f.args if f.kind == "or" else (f,):
            if part is TRUE or negate(part) in parts:
                return TRUE
            if part is not FALSE:
                parts[part] = None
    return Formula("or", *parts) if len(parts) > 1 else next(iter(parts), FALSE)


def same_truth(first: Formula, second: Formula) -> Formula:
    """first if and only if second."""
    if first is second:
        return TRUE
    if first in (TRUE, FALSE):
        return second if first is TRUE else negate(second)
    if second in (TRUE, FALSE):
        return first if second is TRUE else negate(first)
    return Formula("iff", first, second)


def choose(condition: Formula, then: Poly, otherwise: Poly) -> Poly:
    """then if condition else otherwise."""
    if condition is TRUE or then == otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if condition.kind == "not":
        return choose(condition.args[0], otherwise, then)
    return poly(Atom("ite", condition, then, otherwise, integer=then.integer and otherwise.integer))


def maximum(first: Poly, second: Poly) -> Poly:
    """The larger of two."""
    return choose(at_most(second, first), first, second)


def absolute(value: Poly) -> Poly:
    """|value|."""
    constant = value.constant
    return poly(abs(constant)) if constant is not None else choose(at_most(0, value), value, -value)


def rebuilt(value: Poly, replaced: Callable[[Atom], Poly]) -> Poly:
    """The polynomial with every atom replaced."""
    total = poly(0)
    for monomial, coefficient in value.terms.items():
        part = poly(coefficient)
        for atom, power in monomial:
            factor = replaced(atom)
            for _ in range(abs(power)):
                part = part * factor if power > 0 else part / factor
        total = total + part
    return total


class Substitution:
    """Replaces symbols by polynomials (symbols of truth by formulas), and `read` atoms by a function of their index."""

    def __init__(self, symbols: Mapping[Atom, Any], reads: Mapping[str, Callable[[Poly], Poly]] | None = None):
        self.symbols, self.reads = symbols, reads or {}
        self.done: dict[Any, Any] = {}

    def touches(self, support: frozenset[Atom]) -> bool:
        """Whether anything in it is replaced."""
        return any(a in self.symbols or (a.kind == "read" and a.args[0] in self.reads) for a in support)

    def poly(self, value: Poly) -> Poly:
        """The polynomial after replacement."""
        if not self.touches(value.support):
            return value
        if value not in self.done:
            self.done[value] = rebuilt(value, self.atom)
        return self.done[value]

    def atom(self, atom: Atom) -> Poly:
        """What an atom becomes."""
        if atom in self.symbols:
            return self.symbols[atom]
        if not self.touches(atom.support):
            return poly(atom)
        if atom.kind == "read":
            index = self.poly(atom.args[1])
            if atom.args[0] in self.reads:
                return self.reads[atom.args[0]](index)
            return poly(Atom("read", atom.args[0], index, integer=atom.integer, role=atom.role))
        if atom.kind == "ite":
            return choose(self.formula(atom.args[0]), self.poly(atom.args[1]), self.poly(atom.args[2]))
        if atom.kind == "inverse":
            return self.poly(atom.args[0]).inverse()
        return apply(atom.args[0], *map(self.poly, atom.args[1:]), integer=atom.integer)

    def formula(self, value: Formula) -> Formula:
        """The formula after replacement."""
        if not self.touches(value.support):
            return value
        if value not in self.done:
            kind, args = value.kind, value.args
            if kind in ("le", "lt", "eq"):
                result = compare(kind, self.poly(args[0]))
            elif kind == "not":
                result = negate(self.formula(args[0]))
            elif kind == "sym":
                result = self.symbols[args[0]]
            else:
                parts = list(map(self.formula, args))
                joined: dict[str, Any] = {"and": both, "or": either, "iff": same_truth}
                result = joined[kind](*parts)
            self.done[value] = result
        return self.done[value]


def apply(name: str, *args: Poly, integer: bool = False) -> Poly:
    """A function's value, computed where that is exact."""
    constants = [a.constant for a in args]
    if name == "exp" and constants[0] == 0:
        return poly(1)
    if name == "log" and constants[0] == 1:
        return poly(0)
    if name in ("floordiv", "mod") and (one := constants[0]) is not None and (two := constants[1]):
        return poly(one // two if name == "floordiv" else one % two)
    if name == "log" and (atom := args[0].atom()) is not None and atom.kind == "app" and atom.args[0] == "exp":
        return atom.args[1]
    if name == "exp" and (atom := args[0].atom()) is not None and atom.kind == "app" and atom.args[0] == "log":
        return atom.args[1]
    if name in ("floor", "round", "int", "ceil") and args[0].integer:
        return args[0]
    return poly(Atom("app", name, *args, integer=integer))


def atoms(value: Poly | Formula) -> Iterator[Atom]:
    """All atoms of a term."""
    return iter(value.support)
