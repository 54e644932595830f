"""Runs a randomized program on symbolic noise: every value is a linear form in independent noise variables.

Comparisons of noisy values fork: `paths` runs the program once for each sequence of answers that is not known to be
impossible. A path is a region of the noise, one upper bound for each direction, and `exact_integration` has its
probability. Constants are exact rationals, or Arb balls where a program takes exponentials and roots; a comparison
that a ball does not decide is refused, never guessed.
"""

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.numbers import power, root

MAX_DECISIONS = 96
"""Forks and draws of one path; what takes more is left unresolved, and counts as possible output of either run."""

Direction = tuple[tuple[int, int], ...]  # (noise, coefficient), coprime, sorted by noise
Bounds = dict[Direction, Any]  # sum of coefficient * noise <= bound


class Unsupported(Rejected):
    """The program does with its noise what is not integrated here."""


class Unresolved(Exception):
    """The path has too many decisions."""


@dataclass(frozen=True)
class Noise:
    """One independent variable: "laplace", "exponential", "normal", "gumbel" of a scale, "uniform" on [0, 1],
    "geometric": P(k) proportional to scale^|k|, or "trials": P(k) proportional to scale^k for k >= 1.
    """

    kind: str
    scale: Any


SUPPORTS: Mapping[str, tuple[int | None, int | None]] = {
    "exponential": (0, None),
    "uniform": (0, 1),
    "trials": (1, None),
}
"""Kinds of noise that are not of the whole line: the least and the largest value."""

LATTICE = ("geometric", "trials")
"""Kinds of noise that are integers."""

FLOATS: ContextVar[bool] = ContextVar("FLOATS", default=False)
"""Whether floats are read, as the decimals that Python prints for them: a search may round, a checker never does."""


def number(value: Any) -> Any:
    """An exact number or a ball; None for all else."""
    if isinstance(value, fmpq | arb):
        return value
    if isinstance(value, Form):
        return None if value.terms else value.constant
    value = value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value
    if isinstance(value, numbers.Rational):
        return fmpq(int(value.numerator), int(value.denominator))
    if FLOATS.get() and isinstance(value, float) and math.isfinite(value):
        parsed = Fraction(repr(value))
        return fmpq(parsed.numerator, parsed.denominator)
    return None


def constant(value: Any, what: str) -> Any:
    """The number that a value is.

    Raises:
        Unsupported: it is none, or noisy.
    """
    found = number(value)
    if found is None:
        raise Unsupported(f"{what} is {value}, not a number without noise")
    return found


def sign(value: Any) -> int:
    """Sign of an exact number or of a ball.

    Raises:
        Unsupported: the ball does not decide it.
    """
    if isinstance(value, arb) and value.contains(0) and not value.is_zero():
        raise Unsupported("a comparison of irrational numbers is too close to be decided")
    return (value > 0) - (value < 0)


class Form:
    """constant + sum of coefficient * noise; comparisons ask the run that drew the noise."""

    __slots__ = ("constant", "run", "terms")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, constant: Any, terms: Mapping[int, Any] | None = None, run: "Run | None" = None) -> None:
        self.constant, self.terms, self.run = constant, terms or {}, run

    def __repr__(self) -> str:
        return " + ".join([str(self.constant), *(f"{each} noise_{i}" for i, each in self.terms.items())])

    def _plus(self, other: Any, factor: int) -> Any:
        if isinstance(other, Form):
            terms = dict(self.terms)
            for index, coefficient in other.terms.items():
                total = terms.pop(index, fmpq(0)) + factor * coefficient
                if isinstance(total, arb) or total != 0:
                    terms[index] = total
            return Form(self.constant + factor * other.constant, terms, self.run or other.run)
        if isinstance(other, float) and math.isinf(other):
            return factor * other
        found = number(other)
        return NotImplemented if found is None else Form(self.constant + factor * found, self.terms, self.run)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __neg__(self) -> "Form":
        return self * -1

    def __pos__(self) -> "Form":
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Form) and other.terms:
            if self.terms:
                raise Unsupported("two noisy values are multiplied")
            return other * self
        factor = number(other)
        if factor is None:
            return NotImplemented
        if factor == 0:
            return Form(fmpq(0))
        return Form(self.constant * factor, {i: each * factor for i, each in self.terms.items()}, self.run)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Form) and other.terms:
            return self._ratio(other)
        divisor = number(other)
        if divisor is None:
            return NotImplemented
        if sign(divisor) == 0:
            raise ZeroDivisionError("division by zero")
        return self * (1 / divisor)

    def _ratio(self, other: "Form") -> "Form":
        """Its quotient by a noisy form, where that is without noise: zero, or of multiples of each other."""
        index, factor = next(iter(other.terms.items()))
        ratio = self.terms.get(index, fmpq(0)) / factor
        rest = self - other * ratio
        if rest.terms or not (isinstance(rest.constant, fmpq) and rest.constant == 0):
            raise Unsupported("a noisy value divides")
        if other == 0:
            raise ZeroDivisionError("division by zero")
        return Form(ratio)

    def __rtruediv__(self, other: Any) -> Any:
        return Form(constant(other, "a dividend")) / self

    def __pow__(self, other: Any) -> "Form":
        exponent = constant(other, "an exponent")
        if exponent == 1:
            return self
        base = constant(self, "a base")
        if isinstance(exponent, fmpq) and exponent.q == 1:
            if base == 0 and exponent < 0:
                raise ZeroDivisionError("zero to a negative power")
            return Form(base ** int(exponent.p))
        return Form(
            power(base, exponent)
            if isinstance(base, fmpq) and isinstance(exponent, fmpq)
            else arb(base) ** arb(exponent)
        )

    def __rpow__(self, other: Any) -> "Form":
        return Form(constant(other, "a base")) ** self

    def __floordiv__(self, other: Any) -> "Form":
        return Form(fmpq(math.floor(self / other)))

    def __rfloordiv__(self, other: Any) -> "Form":
        return Form(constant(other, "a dividend")) // self

    def __mod__(self, other: Any) -> Any:
        return self - self // other * other

    def __rmod__(self, other: Any) -> Any:
        return Form(constant(other, "a dividend")) % self

    def __abs__(self) -> "Form":
        return -self if self < 0 else self

    def exp(self) -> "Form":
        """Its exponential; numpy calls this for objects."""
        value = constant(self, "an exponent")
        return Form(fmpq(1) if value == 0 else arb(value).exp())

    def log(self) -> "Form":
        """Its logarithm."""
        value = constant(self, "an argument of log")
        if sign(value) <= 0:
            raise ValueError("math domain error")
        return Form(fmpq(0) if value == 1 else arb(value).log())

    def sqrt(self) -> "Form":
        """Its square root."""
        value = constant(self, "an argument of sqrt")
        if sign(value) < 0:
            raise ValueError("math domain error")
        return Form(root(value) if isinstance(value, fmpq) else value.sqrt())

    def _exact(self, what: str) -> Fraction:
        value = constant(self, what)
        if isinstance(value, arb):
            raise Unsupported(f"{what} is irrational")
        return Fraction(int(value.p), int(value.q))

    def integral(self) -> bool:
        """Whether it is an integer, whatever the noise."""
        parts = (self.constant, *self.terms.values())
        whole = all(isinstance(each, fmpq) and each.q == 1 for each in parts)
        return whole and (not self.terms or (self.run is not None and self.run.on_lattice(self)))

    def __floor__(self) -> Any:
        if self.terms and self.integral():
            return self
        value = constant(self, "a rounded value")
        if isinstance(value, fmpq):
            return int(value.floor())
        found = value.floor().unique_fmpz()
        if found is None:
            raise Unsupported("an irrational number is too close to an integer to be rounded")
        return int(found)

    def __ceil__(self) -> Any:
        return -math.floor(-self)

    def __trunc__(self) -> int:
        return math.floor(self) if self >= 0 else math.ceil(self)

    __int__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        if self.terms and self.integral():
            return self
        rounded = round(self._exact("a rounded value"), digits)
        return rounded if digits is None else Form(number(rounded))

    def __index__(self) -> int:
        if isinstance(self.constant, arb):  # as of a float
            raise TypeError("an index is irrational")
        value = self._exact("an index")
        if value.denominator != 1:
            raise TypeError("an index is no integer")
        return value.numerator

    def _below(self, other: Any, strict: bool, factor: int) -> Any:
        """factor * (self - other) < 0, or <= 0."""
        if isinstance(other, float) and math.isinf(other):
            return (factor > 0) == (other > 0)
        difference = self._plus(other, -1)
        if difference is NotImplemented:
            return NotImplemented
        if difference.terms:
            return difference.run.below(difference * factor, strict)
        found = factor * sign(difference.constant)
        return found < 0 or (found == 0 and not strict)

    def __lt__(self, other: Any) -> Any:
        return self._below(other, True, 1)

    def __le__(self, other: Any) -> Any:
        return self._below(other, False, 1)

    def __gt__(self, other: Any) -> Any:
        return self._below(other, True, -1)

    def __ge__(self, other: Any) -> Any:
        return self._below(other, False, -1)

    def __eq__(self, other: Any) -> Any:
        """Values with continuous noise are equal with probability zero."""
        difference = self._plus(other, -1)
        if not isinstance(difference, Form):  # an infinity, or no number
            return False
        if not difference.terms:
            return sign(difference.constant) == 0
        assert difference.run is not None
        return difference.run.on_lattice(difference) and difference <= 0 and difference >= 0

    def __ne__(self, other: Any) -> Any:
        return not self == other

    def __bool__(self) -> bool:
        return bool(self != 0)


@dataclass
class _Trials:
    """A geometric draw: its variable, or its difference from another draw."""

    p: Any
    own: Form | None = None
    less: dict[int, Form] = field(default_factory=dict)


@dataclass
class Run:
    """One run of a program along given answers, then along the first possible one each time.

    Attributes:
        answers: of the decisions so far; the first ones are prescribed.
        others: the prescriptions of the runs that differ from this one in one answer beyond the prescribed ones.
        noises, bounds, weight: the noise drawn, its region, and the probability of the choices made beside it.
    """

    prescribed: tuple[int, ...] = ()
    answers: list[int] = field(default_factory=list)
    others: list[tuple[int, ...]] = field(default_factory=list)
    noises: list[Noise] = field(default_factory=list)
    bounds: Bounds = field(default_factory=dict)
    weight: Any = field(default_factory=lambda: fmpq(1))
    trials: list[_Trials] = field(default_factory=list)

    def laplace(self, scale: Any) -> Form:
        """A draw, of a scale without noise."""
        return self._draw("laplace", scale)

    def normal(self, scale: Any) -> Form:
        """A draw of a standard deviation."""
        return self._draw("normal", scale)

    def gumbel(self, scale: Any) -> Form:
        """A draw."""
        return self._draw("gumbel", scale)

    def exponential(self, scale: Any) -> Form:
        """A draw, which is positive."""
        return self._draw("exponential", scale)

    def uniform(self) -> Form:
        """A draw from [0, 1]."""
        return self._draw("uniform", 1)

    def two_sided_geometric(self, p: Any) -> Form:
        """The difference of two independent geometric draws."""
        ratio = 1 - constant(p, "the probability of a geometric draw")
        if sign(ratio) <= 0 or sign(1 - ratio) <= 0:
            raise ValueError("the probability of a geometric draw must be in (0, 1)")
        return self._draw("geometric", ratio)

    def geometric(self, p: Any) -> Any:
        """The number of a trial that succeeds first."""
        p = constant(p, "the probability of a geometric draw")
        if sign(p) <= 0 or sign(p - 1) > 0:
            raise ValueError("the probability of a geometric draw must be in (0, 1]")
        if sign(p - 1) == 0:
            return 1
        self.trials.append(_Trials(p))
        return Geometric(self, len(self.trials) - 1)

    def alone(self, draw: int) -> Form:
        """The variable of a geometric draw.

        Raises:
            Unsupported: its difference from another draw is a variable.
        """
        trials = self.trials[draw]
        if trials.less:
            raise Unsupported("a geometric draw is used in two ways")
        if trials.own is None:
            trials.own = self._draw("trials", 1 - trials.p)
        return trials.own

    def difference(self, draw: int, other: int) -> Form:
        """The difference of two geometric draws."""
        one, two = self.trials[draw], self.trials[other]
        if draw == other:
            return Form(fmpq(0))
        fresh = not (one.less or two.less or one.own or two.own)
        if other not in one.less and not (fresh and _same(one.p, two.p)):
            return self.alone(draw) - self.alone(other)
        if other not in one.less:
            one.less[other] = self.two_sided_geometric(one.p)
            two.less[draw] = -one.less[other]
        return one.less[other]

    def choice(self, weights: Sequence[Any]) -> int:
        """An index, with probability in proportion to its weight."""
        masses = [constant(weight, "a weight") for weight in weights]
        if not masses or min(map(sign, masses)) < 0:
            raise ValueError("weights must not be negative")
        found = self._decide([i for i, mass in enumerate(masses) if sign(mass)])
        self.weight = self.weight * masses[found] / sum(masses, fmpq(0))
        return found

    def _draw(self, kind: str, scale: Any) -> Form:
        scale = constant(scale, "a scale")
        if sign(scale) < 0:
            raise ValueError(f"the scale {scale} of {kind} noise is negative")
        if sign(scale) == 0:  # numpy's generator has no noise then
            return Form(fmpq(0))
        if len(self.noises) >= MAX_DECISIONS:
            raise Unresolved
        index = len(self.noises)
        self.noises.append(Noise(kind, scale))
        for end, factor in zip(SUPPORTS.get(kind, ()), (-1, 1), strict=False):
            if end is not None:
                self.bounds[((index, factor),)] = fmpq(factor * end)
        return Form(fmpq(0), {index: fmpq(1)}, self)

    def _decide(self, possible: Sequence[int]) -> int:
        """The prescribed answer, or the first one; the others are noted."""
        place = len(self.answers)
        if place >= MAX_DECISIONS:
            raise Unresolved
        if place < len(self.prescribed):
            answer = self.prescribed[place]
        else:
            answer = possible[0]
            self.others += [(*self.answers, other) for other in possible[1:]]
        self.answers.append(answer)
        return answer

    def on_lattice(self, form: Form) -> bool:
        """Whether all noise of the form is integers."""
        return all(self.noises[index].kind in LATTICE for index in form.terms)

    def below(self, form: Form, strict: bool) -> bool:
        """Whether a noisy form is below zero; forks unless earlier answers tell."""
        direction, bound, opposite = self._halves(form, strict)
        if self._implied(direction, bound):
            return True
        reverse = tuple((index, -each) for index, each in direction)
        if self._implied(reverse, opposite):
            return False
        answer = bool(self._decide((1, 0)))
        self._tighten(*((direction, bound) if answer else (reverse, opposite)))
        return answer

    def confine(self, form: Form) -> bool:
        """Adds form <= 0 to the region; False if that is impossible."""
        if not form.terms:
            return sign(form.constant) <= 0
        direction, bound, _ = self._halves(form, False)
        self._tighten(direction, bound)
        return True

    def _halves(self, form: Form, strict: bool) -> tuple[Direction, Any, Any]:
        """Direction and bound of form < 0 or <= 0, and the bound of the opposite direction of its negation."""
        values = form.terms.values()
        if not all(isinstance(each, fmpq) for each in values):
            raise Unsupported("noise is multiplied with an irrational number and compared")
        scale = fmpq(math.lcm(*(int(each.q) for each in values)), 1)
        scale /= math.gcd(*(int((each * scale).p) for each in values))
        direction = tuple((index, int((each * scale).p)) for index, each in sorted(form.terms.items()))
        bound = -form.constant * scale
        if not self.on_lattice(form):
            return direction, bound, -bound
        floor = fmpq(math.floor(Form(bound)))
        floor -= strict and bound == floor
        return direction, floor, -floor - 1

    def _implied(self, direction: Direction, bound: Any) -> bool:
        known = self.bounds.get(direction)
        return known is not None and bool(known <= bound)

    def _tighten(self, direction: Direction, bound: Any) -> None:
        known = self.bounds.get(direction)
        if known is None:
            self.bounds[direction] = bound
        elif isinstance(known, fmpq) and isinstance(bound, fmpq):
            self.bounds[direction] = min(known, bound)
        else:
            self.bounds[direction] = arb(known).min(arb(bound))


def _same(a: Any, b: Any) -> bool:
    """Whether two numbers are one, or have the same enclosure."""
    if isinstance(a, arb) and isinstance(b, arb):
        return bool(a.mid() == b.mid() and a.rad() == b.rad())
    return isinstance(a, fmpq) and isinstance(b, fmpq) and bool(a == b)


class Geometric(Form):
    """rest + sign * a geometric draw. The difference of two draws of one probability is one variable; a draw that is
    used otherwise is a variable of its own, from then on.
    """

    __slots__ = ("draw", "rest", "sign")

    def __init__(self, run: Run, draw: int, sign: int = 1, rest: Any = 0) -> None:
        self.run, self.draw, self.sign, self.rest = run, draw, sign, rest

    @property
    def constant(self) -> Any:
        """Of the form that it is by itself."""
        return self._form().constant

    @property
    def terms(self) -> Mapping[int, Any]:  # type: ignore[override]
        """Of the form that it is by itself."""
        return self._form().terms

    def _form(self) -> Form:
        assert self.run is not None
        return Form(fmpq(0)) + self.rest + self.sign * self.run.alone(self.draw)

    def _plus(self, other: Any, factor: int) -> Any:
        if not isinstance(other, Geometric):
            return Geometric(self.run, self.draw, self.sign, self.rest + factor * other)  # type: ignore[arg-type]
        if self.sign == factor * other.sign:
            return self._form() + factor * other._form()
        difference = self.run.difference(self.draw, other.draw)  # type: ignore[union-attr]
        return self.rest + factor * other.rest + self.sign * difference

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __neg__(self) -> "Geometric":
        return Geometric(self.run, self.draw, -self.sign, -self.rest)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Path:
    """What a program put out on one region of its noise; `resolved` is False where it was stopped on the way, as by
    what is not integrated here: any output is possible there.
    """

    run: Run
    output: Any
    resolved: bool = True


def paths(program: Callable[[Run], Any], limit: int) -> Iterator[Path]:
    """Runs a program on every region of its noise.

    Raises:
        Unsupported: there are more than `limit`, or the program does on all of them what cannot be followed.
    """
    pending: list[tuple[int, ...]] = [()]
    resolved, unsupported = False, None
    for _ in range(limit):
        run = Run(pending.pop())
        try:
            output = program(run)
        except (Unresolved, Unsupported) as error:
            unsupported = error if isinstance(error, Unsupported) else unsupported
            yield Path(run, None, False)
        else:
            resolved = True
            yield Path(run, output)
        pending += run.others
        if not pending:
            if unsupported is not None and not resolved:
                raise unsupported
            return
    raise Unsupported(f"the program has more than {limit} paths")
