"""Numbers and truths of a run that is not known: polynomials over symbols, and formulas of SMT-LIB about them.

A number is a polynomial whose exponents may be negative: x / y is x y^-1, so that a scale 2c/epsilon and a cost
epsilon |s| / (2c) are single terms, and noise cancels in a difference. Whoever divides proves the divisor not to be 0.
What is no polynomial (a choice, a list's element, exp) is a symbol of its own with axioms that say what it is. A query
takes the axioms of the symbols that occur in it and in those axioms.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Monomial = tuple[tuple[str, int], ...]
TRUE, FALSE = "true", "false"
_SYMBOL = re.compile(r"\b[irb]\d+_\w*")
_FUNCTION = re.compile(r"\bf\d+_\w*")


@dataclass(frozen=True)
class Number:
    """A sum of rational multiples of monomials, sorted; a symbol's first letter is its sort, i(nt) or r(eal)."""

    terms: tuple[tuple[Monomial, Fraction], ...] = ()

    def __add__(self, other: "Number") -> "Number":
        return _number([*self.terms, *other.terms])

    def __neg__(self) -> "Number":
        return Number(tuple((monomial, -factor) for monomial, factor in self.terms))

    def __sub__(self, other: "Number") -> "Number":
        return self + -other

    def __mul__(self, other: "Number") -> "Number":
        return _number([(_product(a, b), p * q) for a, p in self.terms for b, q in other.terms])

    @property
    def constant(self) -> Fraction | None:
        """Its value, where it is a literal."""
        if not self.terms:
            return Fraction(0)
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def whole(self) -> bool:
        """Whether it is an integer by its form."""
        return all(
            factor.denominator == 1 and all(name[0] == "i" and power > 0 for name, power in monomial)
            for monomial, factor in self.terms
        )


def _number(terms: Iterable[tuple[Monomial, Fraction]]) -> Number:
    total: dict[Monomial, Fraction] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, Fraction(0)) + factor
    return Number(tuple(sorted((monomial, factor) for monomial, factor in total.items() if factor)))


def symbols_in_common(number: Number) -> Monomial:
    """The symbols of which every term of a sum has a power, with the lowest."""
    return _common(number)[0]


def _common(number: Number) -> tuple[Monomial, Fraction]:
    """What all terms of a sum have in common, with the first term's factor."""
    if not number.terms:
        return (), Fraction(1)
    powers = [dict(monomial) for monomial, _ in number.terms]
    lowest = {name: min(each.get(name, 0) for each in powers) for name in set().union(*powers)}
    return tuple(sorted((name, power) for name, power in lowest.items() if power)), number.terms[0][1]


def _product(one: Monomial, two: Monomial) -> Monomial:
    powers = dict(one)
    for name, power in two:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def literal(value: int | Fraction) -> Number:
    """A number that is known."""
    return _number([((), Fraction(value))])


ZERO, ONE = literal(0), literal(1)


def both(*parts: str) -> str:
    """All of them hold."""
    found = list(dict.fromkeys(part for part in parts if part != TRUE))
    if FALSE in found:
        return FALSE
    return TRUE if not found else found[0] if len(found) == 1 else f"(and {' '.join(found)})"


def negation(part: str) -> str:
    """It does not hold."""
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    return part[5:-1] if part.startswith("(not ") else f"(not {part})"


def either(*parts: str) -> str:
    """One of them holds."""
    return negation(both(*map(negation, parts)))


def implies(one: str, two: str) -> str:
    """The second holds if the first does."""
    if one in (TRUE, FALSE) or two == TRUE:
        return two if one == TRUE else TRUE
    return TRUE if one == two else f"(=> {one} {two})"


def same(one: str, two: str) -> str:
    """Both hold or neither does."""
    if one == two:
        return TRUE
    for known, other in ((one, two), (two, one)):
        if known in (TRUE, FALSE):
            return other if known == TRUE else negation(other)
    return f"(= {one} {two})"


def if_else(test: str, one: str, two: str) -> str:
    """The first if the test holds, else the second."""
    if test in (TRUE, FALSE):
        return one if test == TRUE else two
    return one if one == two else f"(ite {test} {one} {two})"


class Symbols:
    """The symbols of a proof with their axioms."""

    def __init__(self) -> None:
        self.axioms: dict[str, list[str]] = {}
        self.functions: dict[str, int] = {}
        self.named: dict[object, str] = {}
        self.exponents: dict[str, Number] = {}
        self.squares: dict[str, Number] = {}

    def symbol(self, said: str, sort: str, axioms: Iterable[str] = ()) -> str:
        """A new symbol's name; `sort` is "i", "r" or "b"."""
        name = f"{sort}{len(self.axioms)}_{re.sub(r'[^A-Za-z0-9]', '', said)}"
        self.axioms[name] = list(axioms)
        return name

    def fresh(self, said: str, sort: str) -> Number:
        """A number of which nothing is known."""
        return of_symbol(self.symbol(said, sort))

    def defined(self, key: object, said: str, sort: str, axioms: Callable[[Number], Iterable[str]]) -> Number:
        """The number of that key, with these axioms when it is new."""
        if key not in self.named:
            name = self.symbol(said, sort)
            self.named[key] = name
            self.axioms[name] += axioms(of_symbol(name))
        return of_symbol(self.named[key])

    def function(self, said: str, sort: str) -> str:
        """A new unary function of integers, or another function `said` of reals (one for each name)."""
        name = f"f{len(self.functions)}_{sort}{re.sub(r'[^A-Za-z0-9]', '', said)}"
        self.functions[name] = 0
        return name

    # Numbers that are no polynomials.

    def choice(self, test: str, one: Number, two: Number) -> Number:
        """The first number if the test holds, else the second."""
        if test in (TRUE, FALSE):
            return one if test == TRUE else two
        if one == two:
            return one
        sort = "i" if one.whole and two.whole else "r"
        return self.defined(
            ("choice", test, one, two),
            "choice",
            sort,
            lambda made: (implies(test, self.equal(made, one)), implies(negation(test), self.equal(made, two))),
        )

    def inverse(self, number: Number) -> Number:
        """1 / number, where that is not 0."""
        if len(number.terms) != 1:
            common = _common(number)
            scaled = number * Number(((tuple((name, -power) for name, power in common[0]), 1 / common[1]),))
            made = self.defined(("sum", scaled), "sum", "r", lambda made: (self.equal(made, scaled),))
            number = made * Number((common,))
        (monomial, factor), *_ = number.terms
        for name, power in monomial:
            if power > 0:
                self._inverse(name)
        return Number(((tuple((name, -power) for name, power in monomial), 1 / factor),))

    def _inverse(self, name: str) -> str:
        key = ("inverse", name)
        if key not in self.named:
            x = f"(to_real {name})" if name[0] == "i" else name
            made = self.symbol("inverse", "r")
            self.named[key] = made
            self.axioms[made] += [
                f"(=> (not (= {x} 0.0)) (= (* {x} {made}) 1.0))",
                f"(=> (> {x} 0.0) (> {made} 0.0))",
            ]
        return self.named[key]

    def absolute(self, number: Number) -> Number:
        """Its absolute value."""
        if number.constant is not None:
            return literal(abs(number.constant))
        if number.terms[0][1] < 0:
            number = -number
        return self.choice(self.compare(">=", number), number, -number)

    def floor(self, number: Number) -> Number:
        """The largest integer that is not above it."""
        if number.whole:
            return number
        return self.defined(
            ("floor", number),
            "floor",
            "i",
            lambda made: (self.compare("<=", made - number), self.compare("<", number - made - ONE)),
        )

    def applied(self, function: str, numbers: Sequence[Number], sort: str = "r") -> Number:
        """An uninterpreted function's value: equal numbers have equal values."""
        if function == "exp" and len(numbers) == 1:
            return self._exponential(numbers[0])
        if function == "log" and len(numbers) == 1:
            return self._logarithm(numbers[0])
        key = ("function", function, len(numbers), sort)
        if key not in self.named:
            self.named[key] = self.function(function, sort)
            self.functions[self.named[key]] = len(numbers)
        call = f"({self.named[key]} {' '.join(self.real(number) for number in numbers)})"

        def axioms(made: Number) -> list[str]:
            if function != "sqrt":
                return [f"(= {self.term(made, sort)} {call})"]
            square = implies(self.compare(">=", numbers[0]), self.equal(made * made, numbers[0]))
            signs = [implies(self.compare(sign, numbers[0]), self.compare(sign, made)) for sign in (">=", ">")]
            return [f"(= {self.term(made, sort)} {call})", square, *signs]

        made = self.defined(("applied", call), function, sort, axioms)
        if function == "sqrt":
            self.squares[made.terms[0][0][0][0]] = numbers[0]
        return made

    def without_roots(self, number: Number) -> Number:
        """The number with the square of sqrt(x) written as x, which is shown not to be negative where its root is."""
        total = ZERO
        for monomial, factor in number.terms:
            made = literal(factor)
            for name, power in monomial:
                square = self.squares.get(name)
                if square is not None and power % 2 == 0:
                    base, power = (square if power > 0 else self.inverse(square)), abs(power) // 2
                else:
                    base = Number((((((name, 1 if power > 0 else -1)),), Fraction(1)),))
                for _ in range(abs(power)):
                    made = made * base
            total = total + made
        return total

    def element(self, function: str, index: Number, axioms: Callable[[Number], Iterable[str]]) -> Number:
        """The value of a function of integers, with axioms about it; `function` is from `function`."""
        call = f"({function} {self.integer(index)})"
        sort = _FUNCTION.fullmatch(function) and function.split("_", 1)[1][0]
        assert sort
        return self.defined(
            ("element", call), "element", sort, lambda made: (f"(= {self.term(made, sort)} {call})", *axioms(made))
        )

    def _exponential(self, number: Number) -> Number:
        """exp of a sum is the product of exp of its terms; of a negative term it is an inverse."""
        made = ONE
        for monomial, factor in number.terms:
            argument = Number(((monomial, abs(factor)),))
            one = self.defined(("exp", argument), "exp", "r", lambda e, t=argument: self._of_exponential(e, t))  # type: ignore[misc]
            self.exponents[one.terms[0][0][0][0]] = argument
            made = made * (one if factor > 0 else self.inverse(one))
        return made

    def _of_exponential(self, made: Number, argument: Number) -> list[str]:
        above, below = self.compare(">", argument), self.compare("<", argument)
        return [
            self.compare(">", made),
            implies(above, self.compare(">", made - ONE)),
            implies(below, self.compare("<", made - ONE)),
            implies(self.compare("==", argument), self.equal(made, ONE)),
            self.compare(">=", made - ONE - argument),
        ]

    def _logarithm(self, number: Number) -> Number:
        """log of a product of exponentials and one positive literal is a sum; else a function's value."""
        if len(number.terms) == 1:
            (monomial, factor), *_ = number.terms
            if factor > 0 and all(name in self.exponents for name, _ in monomial):
                made = self._opaque_logarithm(literal(factor)) if factor != 1 else ZERO
                for name, power in monomial:
                    made = made + literal(power) * self.exponents[name]
                return made
        return self._opaque_logarithm(number)

    def _opaque_logarithm(self, number: Number) -> Number:
        if number.constant is not None and 0 < number.constant < 1:
            return -self._opaque_logarithm(literal(1 / number.constant))
        key = ("function", "log", 1, "r")
        if key not in self.named:
            self.named[key] = self.function("log", "r")
            self.functions[self.named[key]] = 1
        call = f"({self.named[key]} {self.real(number)})"
        return self.defined(
            ("applied", call),
            "log",
            "r",
            lambda made: (
                f"(= {self.term(made, 'r')} {call})",
                implies(self.compare(">", number - ONE), self.compare(">", made)),
                implies(self.equal(number, ONE), self.compare("==", made)),
                implies(both(self.compare(">", number), self.compare("<", number - ONE)), self.compare("<", made)),
            ),
        )

    # Formulas.

    def compare(self, operator: str, number: Number) -> str:
        """`number operator 0`."""
        if number.constant is not None:
            value = number.constant
            return TRUE if _COMPARISONS[operator](value) else FALSE
        if operator == "!=":
            return negation(self.compare("==", number))
        if all(name[0] == "i" and power > 0 for monomial, _ in number.terms for name, power in monomial):
            scale = 1
            for _, factor in number.terms:
                scale *= factor.denominator
            left, zero = self.integer(number * literal(scale)), "0"
        else:
            left, zero = self.real(number), "0.0"
        return f"({'=' if operator == '==' else operator} {left} {zero})"

    def equal(self, one: Number, two: Number) -> str:
        """Both numbers are the same."""
        return self.compare("==", one - two)

    def term(self, number: Number, sort: str) -> str:
        """The number as a term of that sort."""
        return self.integer(number) if sort == "i" else self.real(number)

    def integer(self, number: Number) -> str:
        """The number as a term of SMT-LIB's integers.

        Raises:
            ValueError: it is no integer by its form.
        """
        if not number.whole:
            raise ValueError("no integer")
        return _sum([_times(_integer(int(factor)), _factors(monomial)) for monomial, factor in number.terms], "0")

    def real(self, number: Number) -> str:
        """The number as a term of SMT-LIB's reals."""
        terms = []
        for monomial, factor in number.terms:
            names = [
                self._inverse(name) if power < 0 else f"(to_real {name})" if name[0] == "i" else name
                for name, power in monomial
                for _ in range(abs(power))
            ]
            terms.append(_times(_rational(factor), names))
        return _sum(terms, "0.0")

    def occurring(self, formula: str) -> set[str]:
        """The symbols in a formula."""
        return set(_SYMBOL.findall(formula))

    def query(self, asserted: Sequence[str]) -> str:
        """The SMT-LIB text of formulas with the axioms of all that occurs in them."""
        found: dict[str, None] = {}
        lines = list(asserted)
        waiting = list(asserted)
        while waiting:
            for name in _SYMBOL.findall(waiting.pop()):
                if name not in found:
                    found[name] = None
                    lines += self.axioms[name]
                    waiting += self.axioms[name]
        used = dict.fromkeys(name for line in lines for name in _FUNCTION.findall(line))
        head = [self._declared(name) for name in used]
        head += [f"(declare-const {name} {_SORTS[name[0]]})" for name in found]
        body = [f"(assert {line})" for line in dict.fromkeys(lines) if line != TRUE]
        return "\n".join(["(set-logic ALL)", *head, *body, "(check-sat)"])

    def _declared(self, name: str) -> str:
        arguments = " ".join(["Real"] * self.functions[name]) or "Int"
        return f"(declare-fun {name} ({arguments}) {_SORTS[name.split('_', 1)[1][0]]})"


_SORTS: Mapping[str, str] = {"i": "Int", "r": "Real", "b": "Bool"}
_COMPARISONS: Mapping[str, Callable[[Fraction], bool]] = {
    "<": lambda value: value < 0,
    "<=": lambda value: value <= 0,
    ">": lambda value: value > 0,
    ">=": lambda value: value >= 0,
    "==": lambda value: value == 0,
    "!=": lambda value: value != 0,
}


def of_symbol(name: str) -> Number:
    """The number that a symbol stands for."""
    return Number(((((name, 1),), Fraction(1)),))


def _factors(monomial: Monomial) -> list[str]:
    return [name for name, power in monomial for _ in range(power)]


def _times(factor: str, names: list[str]) -> str:
    if not names:
        return factor
    shown = names if factor in ("1", "1.0") else [factor, *names]
    return shown[0] if len(shown) == 1 else f"(* {' '.join(shown)})"


def _sum(terms: list[str], zero: str) -> str:
    return zero if not terms else terms[0] if len(terms) == 1 else f"(+ {' '.join(terms)})"


def _integer(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def _rational(value: Fraction) -> str:
    magnitude = f"{abs(value.numerator)}.0"
    shown = magnitude if value.denominator == 1 else f"(/ {magnitude} {value.denominator}.0)"
    return shown if value >= 0 else f"(- {shown})"
