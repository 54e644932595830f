"""Values of two runs side by side: what the first run holds, and the difference or what the second run holds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpassay.replay import Rejected
from dpassay.replay.symbolic_terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Number,
    Symbols,
    both,
    either,
    if_else,
    implies,
    literal,
    negation,
    same,
)

SPECIAL = {"None": 1, "inf": 2, "-inf": 3}
_FIRST_TEXT = 10


@dataclass(frozen=True)
class Truth:
    """A truth value: a formula for each run."""

    one: str
    two: str


@dataclass(frozen=True)
class Scalar:
    """A number: the first run's, and by how much the second run's is larger; `mixed`: whether it is a truth value."""

    one: Number
    gap: Number = ZERO
    mixed: Truth = Truth(FALSE, FALSE)

    @property
    def two(self) -> Number:
        """The second run's."""
        return self.one + self.gap


@dataclass(frozen=True)
class Maybe:
    """A number, or where `special` is not 0: None, an infinity or a text, told apart by their codes."""

    special: Scalar
    number: Scalar


@dataclass(frozen=True)
class Sequence:
    """A list: its length, and its element at an index (the same in both runs).

    Where one run's list has an entry more, `aligned` is the element at an index of the longer list: of both runs, or at
    the added entry of the one run that has it.
    """

    length: Scalar
    element: Callable[[Number], "Value"]
    aligned: Callable[[Number], "Value"] | None = None


NUMBER = Truth(FALSE, FALSE)
"""What `mixed` is of a number that is no truth value."""
Value = Truth | Scalar | Maybe | Sequence | tuple[Any, ...]
YES = Truth(TRUE, TRUE)


class Pairs:
    """Operations on values, which may need new symbols."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.texts: dict[str, int] = {}

    def constant(self, value: Any, special: str) -> Value:
        """A literal's value."""
        if isinstance(value, bool):
            return Truth(*[TRUE if value else FALSE] * 2)
        if special == "error":
            value, special = f"error: {value}", ""
        if special or value is None:
            return Maybe(Scalar(literal(SPECIAL[special or "None"])), Scalar(ZERO))
        if isinstance(value, str):
            code = self.texts.setdefault(value, _FIRST_TEXT + len(self.texts))
            return Maybe(Scalar(literal(code)), Scalar(ZERO))
        return Scalar(literal(value))

    def lifted(self, function: Callable[..., Number], *values: Scalar) -> Scalar:
        """A function of numbers in both runs."""
        one = function(*(value.one for value in values))
        if all(value.gap == ZERO for value in values):
            return Scalar(one)
        return Scalar(one, function(*(value.two for value in values)) - one)

    def number(self, value: Value) -> Scalar:
        """A truth value as 0 or 1, a number as it is.

        Raises:
            Rejected: it is neither, by its form.
        """
        if isinstance(value, Scalar):
            return value
        if isinstance(value, Truth):
            one, two = (self.symbols.choice(truth, ONE, ZERO) for truth in (value.one, value.two))
            return Scalar(one, two - one)
        raise Rejected("a number belongs where there is none")

    def uncounted(self, value: Value) -> Scalar:
        """A truth value among numbers: of such numpy and Python make different sums."""
        number = self.number(value)
        return replace(number, mixed=YES) if isinstance(value, Truth) else number

    def truth(self, value: Value) -> Truth:
        """Whether Python takes it as true; a number is, unless it is 0."""
        if isinstance(value, Truth):
            return value
        return self.compared("!=", self.number(value), Scalar(ZERO))

    def compared(self, operator: str, one: Scalar, two: Scalar) -> Truth:
        """A comparison of numbers."""
        difference = self.subtracted(one, two)
        return Truth(*(self.symbols.compare(operator, side) for side in (difference.one, difference.two)))

    def added(self, one: Scalar, two: Scalar) -> Scalar:
        """The sum."""
        return Scalar(one.one + two.one, one.gap + two.gap)

    def subtracted(self, one: Scalar, two: Scalar) -> Scalar:
        """The difference of two numbers (not of two runs)."""
        return Scalar(one.one - two.one, one.gap - two.gap)

    def multiplied(self, one: Scalar, two: Scalar) -> Scalar:
        """The product."""
        return Scalar(one.one * two.one, one.gap * two.one + one.one * two.gap + one.gap * two.gap)

    def divided(self, one: Scalar, two: Scalar) -> Scalar:
        """The quotient; the divisor is proved elsewhere not to be 0."""
        if two.gap == ZERO:
            inverse = self.symbols.inverse(two.one)
            return Scalar(one.one * inverse, one.gap * inverse)
        return self.lifted(lambda a, b: a * self.symbols.inverse(b), one, two)

    def special(self, value: Value) -> Maybe:
        """The value as one that may be special."""
        return value if isinstance(value, Maybe) else Maybe(Scalar(ZERO), self.uncounted(value))

    def ordered(self, strictly: bool, one: Value, two: Value) -> Truth:
        """one < two, or one <= two, infinities included."""
        if not isinstance(one, Maybe) and not isinstance(two, Maybe):
            return self.compared("<" if strictly else "<=", self.number(one), self.number(two))
        a, b = self.special(one), self.special(two)
        compared = self.compared("<" if strictly else "<=", a.number, b.number)
        sides = []
        for run in ("one", "two"):
            code_a, code_b = getattr(a.special, run), getattr(b.special, run)
            below = both(self.is_code(code_a, 3), negation(self.is_code(code_b, 3)) if strictly else TRUE)
            above = both(self.is_code(code_b, 2), negation(self.is_code(code_a, 2)) if strictly else TRUE)
            finite = both(self.is_code(code_a, 0), self.is_code(code_b, 0), getattr(compared, run))
            sides.append(either(below, above, finite))
        return Truth(*sides)

    def equal(self, one: Value, two: Value) -> Truth:
        """`one == two`, of numbers, truth values, None and texts."""
        if isinstance(one, Maybe) or isinstance(two, Maybe):
            a, b = self.special(one), self.special(two)
            codes, numbers = self.compared("==", a.special, b.special), self.compared("==", a.number, b.number)
            finite = self.compared("==", a.special, Scalar(ZERO))
            return Truth(
                *(both(c, implies(f, n)) for c, f, n in zip(_runs(codes), _runs(finite), _runs(numbers), strict=True))
            )
        if isinstance(one, Truth) and isinstance(two, Truth):
            return Truth(same(one.one, two.one), same(one.two, two.two))
        return self.compared("==", self.number(one), self.number(two))

    def is_code(self, number: Number, code: int) -> str:
        """Whether a value is special in that way."""
        return self.symbols.compare("==", number - literal(code))

    def chosen(self, test: Truth, one: Value, two: Value) -> Value:
        """The first value where the test holds, else the second, in each run by its own test.

        Raises:
            Rejected: values of different kinds.
        """
        if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
            return tuple(self.chosen(test, a, b) for a, b in zip(one, two, strict=True))
        if isinstance(one, Truth) and isinstance(two, Truth):
            return Truth(if_else(test.one, one.one, two.one), if_else(test.two, one.two, two.two))
        if isinstance(one, Maybe) or isinstance(two, Maybe):
            a, b = self.special(one), self.special(two)
            return Maybe(self._chosen(test, a.special, b.special), self._chosen(test, a.number, b.number))
        if isinstance(one, Sequence) and isinstance(two, Sequence):
            first, second, length = one.element, two.element, self._chosen(test, one.length, two.length)
            return Sequence(length, lambda index: self.chosen(test, first(index), second(index)))
        return self._chosen(test, self.uncounted(one), self.uncounted(two))

    def _chosen(self, test: Truth, one: Scalar, two: Scalar) -> Scalar:
        first, mixed = self.symbols.choice(test.one, one.one, two.one), self.chosen(test, one.mixed, two.mixed)
        assert isinstance(mixed, Truth)
        if test.one == test.two:
            return Scalar(first, self.symbols.choice(test.one, one.gap, two.gap), mixed)
        return Scalar(first, self.symbols.choice(test.two, one.two, two.two) - first, mixed)

    def difference(self, value: Value) -> Number:
        """By how much the second run's value is larger; for what is no number 0 if and only if it is the same."""
        if isinstance(value, Maybe):
            alike = self.symbols.compare("==", value.special.gap)
            finite = self.is_code(value.special.one, 0)
            gap = self.symbols.choice(finite, value.number.gap, ZERO)
            return self.symbols.choice(alike, gap, ONE)
        return self.number(value).gap

    def unchanged(self, value: Value) -> list[str]:
        """Formulas that together say that both runs hold the same; a list's at an arbitrary index.

        True is not the same as 1: whoever sees the output can tell them apart.
        """
        if isinstance(value, tuple):
            return [part for each in value for part in self.unchanged(each)]
        if isinstance(value, Truth):
            return [same(value.one, value.two)]
        if isinstance(value, Sequence):
            index = self.symbols.fresh("place", "i")
            inside = both(self.symbols.compare(">=", index), self.symbols.compare("<", index - value.length.one))
            elements = [implies(inside, part) for part in self.unchanged(value.element(index))]
            return [self.symbols.compare("==", value.length.gap), *elements]
        return [self.symbols.compare("==", self.difference(value)), *self.kinds_alike(value)]

    def kinds_alike(self, value: Value) -> list[str]:
        """Formulas that say that a number is a truth value in both runs or in neither."""
        if isinstance(value, Maybe):
            return [implies(self.is_code(value.special.one, 0), each) for each in self.kinds_alike(value.number)]
        if not isinstance(value, Scalar) or value.mixed.one == value.mixed.two:
            return []
        return [same(value.mixed.one, value.mixed.two)]

    def symbols_of(self, value: Value) -> set[str]:
        """The symbols that occur in it."""
        if isinstance(value, tuple):
            return set[str]().union(*map(self.symbols_of, value))
        if isinstance(value, Maybe):
            return self.symbols_of(value.special) | self.symbols_of(value.number)
        if isinstance(value, Truth):
            return self.symbols.occurring(f"{value.one} {value.two}")
        if isinstance(value, Scalar):
            return {name for number in (value.one, value.gap) for monomial, _ in number.terms for name, _ in monomial}
        return set()


def _runs(truth: Truth) -> tuple[str, str]:
    return truth.one, truth.two
