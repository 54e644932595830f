"""Expressions of a core program in two runs at once: their values, and what must hold for them to be defined."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dpassay.replay import Rejected
from dpassay.replay.paired_values import NUMBER, YES, Maybe, Pairs, Scalar, Sequence, Truth, Value
from dpassay.replay.program_core import (
    Constant,
    Elementwise,
    Expression,
    Operation,
    Variable,
)
from dpassay.replay.symbolic_terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Number,
    Symbols,
    both,
    either,
    implies,
    literal,
    negation,
)


@dataclass(frozen=True)
class Goal:
    """What a path has to show."""

    formula: str
    what: str
    position: str


@dataclass(frozen=True)
class Pending:
    """A draw whose case was guessed: it must be the first whose branches agree with those from `start` on."""

    cases: tuple[Mapping[str, bool], ...]
    guessed: int
    start: int

    def possible(self, taken: Mapping[str, bool]) -> bool:
        """Whether the guessed case may still be the one."""
        return all(taken.get(name, wanted) == wanted for name, wanted in self.cases[self.guessed].items())

    def right(self, taken: Mapping[str, bool]) -> bool:
        """Whether it is, now that all branches are taken."""
        agreeing = (all(taken.get(name) == wanted for name, wanted in case.items()) for case in self.cases)
        return next(place for place, agrees in enumerate(agreeing) if agrees) == self.guessed


@dataclass
class Path:
    """One way through the program from its start.

    Attributes:
        values: of the variables.
        known: formulas about the first run, and what follows from invariants that were proved.
        goals: what is to be shown before the next loop head.
        taken: branches since the last loop head, with their outcome.
        reached: whether each run evaluates what is evaluated now.
        long: counters of loops over a list that is longer in one run -> the index in the longer one.
    """

    values: dict[str, Value]
    known: list[str]
    cost: Number = ZERO
    goals: list[Goal] = field(default_factory=list)
    taken: tuple[tuple[str, bool], ...] = ()
    pending: tuple[Pending, ...] = ()
    reached: Truth = YES
    prophecies: dict[str, Value] = field(default_factory=dict)
    long: dict[str, Number] = field(default_factory=dict)

    def fork(self) -> "Path":
        """The same path, to go on another way."""
        made = replace(self, values=dict(self.values), prophecies=dict(self.prophecies), long=dict(self.long))
        made.known, made.goals = list(self.known), list(self.goals)
        return made

    def since(self, start: int) -> dict[str, bool]:
        """The branches from there on, each with its first outcome."""
        return dict(reversed(self.taken[start:]))

    def guesses_possible(self) -> bool:
        """Whether every guessed case may still be the one that applies."""
        return all(each.possible(self.since(each.start)) for each in self.pending)

    def guessed_right(self) -> bool:
        """Whether every guessed case is, now that all branches before the next loop head are taken."""
        return all(each.right(self.since(each.start)) for each in self.pending)

    def must(self, truth: Truth, what: str, position: str) -> None:
        """Both runs, where they come here, need this to be defined."""
        for side, reached in ((truth.one, self.reached.one), (truth.two, self.reached.two)):
            self.show(implies(reached, side), what, position)

    def show(self, formula: str, what: str, position: str) -> None:
        """A goal, unless it is true by its form."""
        if formula != TRUE:
            self.goals.append(Goal(formula, what, position))


class Evaluation:
    """Values of expressions on a path; what must hold for them to be defined becomes goals."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.pairs = Pairs(symbols)

    def value(self, path: Path, expression: Expression) -> Value:
        """The value of an expression."""
        if isinstance(expression, Constant):
            return self.pairs.constant(expression.value, expression.special)
        if isinstance(expression, Variable):
            if expression.name not in path.values:
                raise Rejected(f"{expression.name} may have no value here")
            return path.values[expression.name]
        if isinstance(expression, Elementwise):
            return self.elementwise(path, expression)
        handler = _HANDLERS.get(expression.operator)
        if handler:
            return handler(self, path, expression)
        return self.function(path, expression)

    def number(self, path: Path, expression: Expression, position: str) -> Scalar:
        """A number; one that may be special must be shown not to be."""
        return self.as_number(path, self.value(path, expression), position)

    def numbers(self, path: Path, operation: Operation) -> list[Scalar]:
        """The operands; of truth values alone numpy makes truth values or small numbers, Python integers."""
        values = [self.value(path, each) for each in operation.operands]
        if operation.operator not in ("int", "float") and all(isinstance(each, Truth) for each in values):
            raise Rejected(f"the truth values at {operation.position} add up otherwise in numpy than in Python")
        return [self.as_number(path, each, operation.position) for each in values]

    def as_number(self, path: Path, value: Value, position: str) -> Scalar:
        """A value as a number."""
        if isinstance(value, Maybe):
            path.must(
                self.pairs.compared("==", value.special, Scalar(ZERO)),
                "a number that is not None or infinite",
                position,
            )
            value = value.number
        number = self.pairs.number(value)
        if number.mixed != NUMBER:
            raise Rejected(f"what may be a truth value or a number at {position} adds up otherwise in numpy")
        return number

    def truth(self, path: Path, expression: Expression) -> Truth:
        """Whether a test holds."""
        value = self.value(path, expression)
        if isinstance(value, Maybe):
            raise Rejected("a value that may be None or infinite is no truth value")
        return self.pairs.truth(value)

    def arithmetic(self, path: Path, operation: Operation) -> Value:
        """Sums, differences, products and powers."""
        one, *rest = self.numbers(path, operation)
        pairs = self.pairs
        if operation.operator == "negate":
            return pairs.subtracted(Scalar(ZERO), one)
        if operation.operator == "**":
            power = rest[0].one.constant
            made = Scalar(ONE)
            for _ in range(int(power or 0)):
                made = pairs.multiplied(made, one)
            return made
        return {"+": pairs.added, "-": pairs.subtracted, "*": pairs.multiplied}[operation.operator](one, rest[0])

    def division(self, path: Path, operation: Operation) -> Value:
        """Quotients and remainders; the divisor must not be 0."""
        one, two = self.numbers(path, operation)
        if operation.operator == "/":
            path.must(self.pairs.compared("!=", two, Scalar(ZERO)), "a divisor other than 0", operation.position)
            return self.pairs.divided(one, two)
        path.must(
            self.pairs.compared(">", two, Scalar(ZERO)),
            f"a divisor of {operation.operator} above 0",
            operation.position,
        )
        quotient = self.pairs.lifted(lambda a, b: self.symbols.floor(a * self.symbols.inverse(b)), one, two)
        if operation.operator == "//":
            return quotient
        return self.pairs.subtracted(one, self.pairs.multiplied(quotient, two))

    def comparison(self, path: Path, operation: Operation) -> Value:
        """A comparison of what can be compared."""
        one, two = (self.value(path, each) for each in operation.operands)
        name = operation.operator
        if self.rounded(name, one, two):
            raise Rejected(f"what the comparison at {operation.position} gives depends on how numbers are rounded")
        if name in ("==", "!="):
            alike = self.pairs.equal(one, two)
            return alike if name == "==" else Truth(negation(alike.one), negation(alike.two))
        self.orderly(path, (one, two), operation.position)
        if name in (">", ">="):
            one, two = two, one
        return self.pairs.ordered(name in ("<", ">"), one, two)

    def orderly(self, path: Path, values: Iterable[Value], position: str) -> None:
        """Only numbers, infinite ones too, have an order."""
        for each in values:
            if isinstance(each, Maybe):
                known = [
                    either(*(self.pairs.is_code(code, good) for good in (0, 2, 3)))
                    for code in (each.special.one, each.special.two)
                ]
                path.must(Truth(*known), "numbers to compare, not None or a text", position)

    def rounded(self, operator: str, one: Value, two: Value) -> bool:
        """Whether real numbers are compared for equality, or two literals that are not whole."""
        if not isinstance(one, Scalar) or not isinstance(two, Scalar) or (one.one.whole and two.one.whole):
            return False
        return operator in ("==", "!=") or None not in (one.one.constant, two.one.constant)

    def logic(self, path: Path, operation: Operation) -> Value:
        """`and`, `or` of truth values, `not`, `bool` of anything; later operands where Python comes to them."""
        name, operands = operation.operator, operation.operands
        if name == "invert" and not isinstance(self.value(path, operands[0]), Truth):
            raise Rejected(f"~ is for truth values at {operation.position}")
        if name in ("not", "invert", "bool"):
            found = self.truth(path, operands[0])
            return Truth(negation(found.one), negation(found.two)) if name != "bool" else found
        outer, sides = path.reached, []
        for each in operands:
            value = self.value(path, each)
            if not isinstance(value, Truth):
                raise Rejected(f"`{name}` is for truth values at {operation.position}")
            sides.append(value)
            goes_on = value if name == "and" else Truth(negation(value.one), negation(value.two))
            path.reached = Truth(both(path.reached.one, goes_on.one), both(path.reached.two, goes_on.two))
        path.reached = outer
        join = both if name == "and" else either
        return Truth(join(*(side.one for side in sides)), join(*(side.two for side in sides)))

    def choice(self, path: Path, operation: Operation) -> Value:
        """A conditional expression: each run evaluates its own side."""
        test, outer, found = self.truth(path, operation.operands[0]), path.reached, []
        for truth, each in zip(
            (test, Truth(negation(test.one), negation(test.two))), operation.operands[1:], strict=True
        ):
            path.reached = Truth(both(outer.one, truth.one), both(outer.two, truth.two))
            found.append(self.value(path, each))
        path.reached = outer
        return self.pairs.chosen(test, found[0], found[1])

    def extreme(self, path: Path, operation: Operation) -> Value:
        """The largest or smallest of its operands."""
        found, *rest = values = [self.value(path, each) for each in operation.operands]
        self.orderly(path, values, operation.position)
        for each in rest:
            larger = self.pairs.ordered(True, *((found, each) if operation.operator == "max" else (each, found)))
            found = self.pairs.chosen(larger, each, found)
        return found

    def absolute(self, path: Path, operation: Operation) -> Value:
        """The absolute value."""
        return self.pairs.lifted(self.symbols.absolute, *self.numbers(path, operation))

    def none(self, path: Path, operation: Operation) -> Value:
        """`x is None`."""
        value = self.value(path, operation.operands[0])
        if not isinstance(value, Maybe):
            return Truth(FALSE, FALSE)
        return self.pairs.compared("==", value.special, Scalar(ONE))

    def whole(self, path: Path, operation: Operation) -> Value:
        """floor, ceil, int exactly; round as a function that is not known."""
        numbers = self.numbers(path, operation)
        symbols, name = self.symbols, operation.operator
        if name == "floor":
            return self.pairs.lifted(symbols.floor, *numbers)
        if name == "ceil":
            return self.pairs.lifted(lambda x: -symbols.floor(-x), *numbers)
        if name == "int":
            return self.pairs.lifted(
                lambda x: symbols.choice(symbols.compare(">=", x), symbols.floor(x), -symbols.floor(-x)), *numbers
            )
        if len(numbers) == 1:
            return self.pairs.lifted(lambda x: x if x.whole else symbols.applied("round", [x], "i"), *numbers)
        return self.pairs.lifted(lambda *xs: symbols.applied("round", xs), *numbers)

    def function(self, path: Path, operation: Operation) -> Value:
        """A pure function: of exp and log some facts are known, of others nothing."""
        numbers = self.numbers(path, operation)
        name = operation.operator
        if name in ("log", "log2", "log10", "sqrt", "log1p"):
            least = Scalar(-ONE) if name == "log1p" else Scalar(ZERO)
            above = self.pairs.compared(">=" if name == "sqrt" else ">", numbers[0], least)
            path.must(above, f"an argument for which {name} is defined", operation.position)
        if name == "positive":
            path.must(self.pairs.compared(">", numbers[0], Scalar(ZERO)), "a factor above 0", operation.position)
        if name in ("float", "positive"):
            return numbers[0]
        return self.pairs.lifted(lambda *xs: self.symbols.applied(name, xs), *numbers)

    # Lists and tuples.

    def sequence(self, path: Path, expression: Expression) -> Sequence:
        """A list."""
        value = self.value(path, expression)
        if not isinstance(value, Sequence):
            raise Rejected("a list belongs where there is none")
        return value

    def at(self, value: Sequence, index: Scalar) -> Value:
        """The element at an index that may differ between the runs."""
        one = value.element(index.one)
        return one if index.gap == ZERO else self.apart(one, value.element(index.two))

    def apart(self, one: Value, two: Value) -> Value:
        """What the first run has in `one` and the second in `two`."""
        return self.pairs.chosen(Truth(TRUE, FALSE), one, two)

    def item(self, path: Path, operation: Operation) -> Value:
        """A list's element."""
        value, place = self.sequence(path, operation.operands[0]), operation.operands[1]
        if value.aligned and isinstance(place, Variable) and (long := path.long.get(place.name)) is not None:
            return value.aligned(long)
        index = self.whole_number(path, operation.operands[1], operation.position)
        self.inside(path, value, index, operation.position)
        return self.at(value, index)

    def inside(self, path: Path, value: Sequence, index: Scalar, position: str) -> None:
        """The index must be one of the list's in each run."""
        path.must(self.pairs.compared(">=", index, Scalar(ZERO)), "an index at least 0", position)
        path.must(self.pairs.compared("<", index, value.length), "an index below the length", position)

    def length(self, path: Path, operation: Operation) -> Value:
        """A list's length."""
        return self.sequence(path, operation.operands[0]).length

    def condition(self, path: Path, operation: Operation) -> Value:
        """What numpy or Python checks: a size is not negative, a step above 0, a tuple has that length."""
        name = operation.operator
        if name == "step":
            step = self.whole_number(path, operation.operands[0], operation.position)
            path.must(self.pairs.compared(">", step, Scalar(ZERO)), "a step above 0", operation.position)
            return step
        if name == "alike":
            one, two = (self.number(path, each, operation.position) for each in operation.operands)
            path.must(self.pairs.compared("==", one, two), "as many of one as of the other", operation.position)
            return YES
        if name == "parts":
            value = self.value(path, operation.operands[0])
            count = operation.operands[1]
            if not isinstance(value, tuple) or not isinstance(count, Constant) or len(value) != count.value:
                raise Rejected(f"a tuple of another length at {operation.position}")
            return YES
        size = self.number(path, operation.operands[0], operation.position)
        path.must(self.pairs.compared(">=", size, Scalar(ZERO)), "a size that is not negative", operation.position)
        return size

    def tupled(self, path: Path, operation: Operation) -> Value:
        """A tuple."""
        return tuple(self.value(path, each) for each in operation.operands)

    def part(self, path: Path, operation: Operation) -> Value:
        """A part of a tuple."""
        value, place = self.value(path, operation.operands[0]), operation.operands[1]
        if not isinstance(value, tuple) or not isinstance(place, Constant) or type(place.value) is not int:
            raise Rejected(f"a tuple's part is not there at {operation.position}")
        if not 0 <= place.value < len(value):
            raise Rejected(f"a tuple has no part {place.value} at {operation.position}")
        part: Value = value[place.value]
        return part

    def listed(self, path: Path, operation: Operation) -> Value:
        """A list of given elements, of one element many times, or of the first integers."""
        if operation.operator == "list":
            elements = [self.value(path, each) for each in operation.operands]

            def element(index: Number) -> Value:
                if not elements:
                    return Scalar(ZERO)
                found = elements[-1]
                for place, each in reversed(list(enumerate(elements[:-1]))):
                    there = self.symbols.compare("==", index - literal(place))
                    found = self.pairs.chosen(Truth(there, there), each, found)
                return found

            return Sequence(Scalar(literal(len(elements))), element)
        count = self.whole_number(path, operation.operands[-1], operation.position)
        count = self.pairs.lifted(lambda x: self.symbols.choice(self.symbols.compare(">", x), x, ZERO), count)
        if operation.operator == "range":
            return Sequence(count, Scalar)
        value = self.value(path, operation.operands[0])
        return Sequence(count, lambda _: value)

    def whole_number(self, path: Path, expression: Expression, position: str) -> Scalar:
        """A number that is an integer by its form, as an index must be; a truth value is none in numpy."""
        value = self.value(path, expression)
        found = self.as_number(path, value, position)
        if isinstance(value, Truth) or not (found.one.whole and found.gap.whole):
            raise Rejected(f"an index or a count at {position} is no integer by its form")
        return found

    def moved(self, value: Sequence, index: Number, by: Scalar) -> Value:
        """The element so many places further on."""
        return self.at(value, Scalar(index + by.one, by.gap))

    def sliced(self, path: Path, operation: Operation) -> Value:
        """`xs[first:end]`: a negative place counts from the end, and places outside are the nearest ones."""
        value, symbols = self.sequence(path, operation.operands[0]), self.symbols

        def place(number: Number, length: Number) -> Number:
            back = symbols.choice(symbols.compare(">=", number + length), number + length, ZERO)
            ahead = symbols.choice(symbols.compare("<=", number - length), number, length)
            return symbols.choice(symbols.compare(">=", number), ahead, back)

        ends = []
        for expression, default in zip(operation.operands[1:], (Scalar(ZERO), value.length), strict=True):
            if isinstance(expression, Constant) and expression.value in (None, 0) and not expression.special:
                ends.append(default if expression.value is None else Scalar(ZERO))
                continue
            number = self.whole_number(path, expression, operation.position)
            ends.append(self.pairs.lifted(place, number, value.length))
        first, end = ends
        span = self.pairs.subtracted(end, first)
        if first != Scalar(ZERO):
            span = self.pairs.lifted(lambda x: symbols.choice(symbols.compare(">=", x), x, ZERO), span)
        return Sequence(span, lambda index: self.moved(value, index, first))

    def joined(self, path: Path, operation: Operation) -> Value:
        """One list behind the other."""
        one, two = (self.sequence(path, each) for each in operation.operands)

        def element(index: Number) -> Value:
            before = self.pairs.compared("<", Scalar(index), one.length)
            behind = self.moved(two, index, self.pairs.subtracted(Scalar(ZERO), one.length))
            return self.pairs.chosen(before, one.element(index), behind)

        if two.length == Scalar(ZERO) or one.length == Scalar(ZERO):
            return one if two.length == Scalar(ZERO) else two
        return Sequence(self.pairs.added(one.length, two.length), element)

    def replaced(self, path: Path, operation: Operation) -> Value:
        """A list with another element at a place, which each run has for itself."""
        listed, at, new = operation.operands
        old, place = self.sequence(path, listed), self.whole_number(path, at, operation.position)
        self.inside(path, old, place, operation.position)
        value = self.value(path, new)

        def element(index: Number) -> Value:
            here = Truth(self.symbols.equal(index, place.one), self.symbols.equal(index, place.two))
            return self.pairs.chosen(here, value, old.element(index))

        return Sequence(old.length, element)

    def without(self, path: Path, operation: Operation) -> Value:
        """A list without the element at a place: those behind it are one place further on."""
        old = self.sequence(path, operation.operands[0])
        place = self.whole_number(path, operation.operands[1], operation.position)
        self.inside(path, old, place, operation.position)

        def element(index: Number) -> Value:
            before = self.pairs.compared("<", Scalar(index), place)
            return self.pairs.chosen(before, old.element(index), old.element(index + ONE))

        return Sequence(self.pairs.subtracted(old.length, Scalar(ONE)), element)

    def sorted(self, path: Path, operation: Operation) -> Value:
        """A list in order: the same in both runs where the list is, which is a goal; nothing else is known of it."""
        value = self.sequence(path, operation.operands[0])
        if path.reached != YES:
            raise Rejected(f"what is sorted at {operation.position} is not sorted by both runs")
        for formula in self.pairs.unchanged(value):
            path.show(formula, "the same list to sort in both runs", operation.position)
        element = value.element(self.symbols.fresh("place", "i"))
        if not isinstance(element, Scalar) or element.mixed != NUMBER:
            raise Rejected(f"what is sorted at {operation.position} are no numbers")
        name = self.symbols.function("sorted", "r")
        return Sequence(value.length, lambda index: Scalar(self.symbols.element(name, index, lambda _: ())))

    def elementwise(self, path: Path, made: Elementwise) -> Value:
        """Lists element by element; that an arbitrary element is defined is a goal."""
        sources = [self.sequence(path, each) for each in made.sources]
        for other in sources[1:]:
            path.must(self.pairs.compared("==", sources[0].length, other.length), "arrays of one length", made.position)
        held = path.fork()

        def body(elements: list[Value]) -> Value:
            held.goals.clear()
            held.values.update(zip(made.parameters, elements, strict=True))
            return self.value(held, made.body)

        def element(index: Number) -> Value:
            return body([each.element(index) for each in sources])

        along = sources[0].aligned if len(sources) == 1 else None

        place = self.symbols.fresh("place", "i")
        element(place)
        above = self.symbols.compare(">=", place)
        for run in ("one", "two"):
            length = getattr(sources[0].length, run)
            inside = both(above, self.symbols.compare("<", place - length), getattr(path.reached, run))
            path.goals += [Goal(implies(inside, goal.formula), goal.what, goal.position) for goal in held.goals]
        return Sequence(sources[0].length, element, along and (lambda index: body([along(index)])))


_Handler = Callable[[Evaluation, Path, Operation], Value]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(("+", "-", "*", "**", "negate"), Evaluation.arithmetic),
    **dict.fromkeys(("/", "//", "%"), Evaluation.division),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), Evaluation.comparison),
    **dict.fromkeys(("and", "or", "not", "invert", "bool"), Evaluation.logic),
    **dict.fromkeys(("min", "max"), Evaluation.extreme),
    **dict.fromkeys(("floor", "ceil", "int", "round"), Evaluation.whole),
    **dict.fromkeys(("list", "repeat", "range"), Evaluation.listed),
    **dict.fromkeys(("size", "step", "parts", "alike"), Evaluation.condition),
    "slice": Evaluation.sliced,
    "joined": Evaluation.joined,
    "replaced": Evaluation.replaced,
    "without": Evaluation.without,
    "sorted": Evaluation.sorted,
    "if": Evaluation.choice,
    "abs": Evaluation.absolute,
    "is_none": Evaluation.none,
    "item": Evaluation.item,
    "length": Evaluation.length,
    "tuple": Evaluation.tupled,
    "part": Evaluation.part,
}
