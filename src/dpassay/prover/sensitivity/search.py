"""The other side: real runs of the user's function on neighbors, and whether the reading agrees with them."""

import itertools
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from sympy import S

from dpassay.prover.sensitivity.aggregates import Aggregate, Choice, entry
from dpassay.prover.sensitivity.reading import Read
from dpassay.prover.stopping import RUN_SECONDS, Endless, within

LENGTHS = (1, 2, 3, 4, 5, 8)
MAX_SETTINGS = 6


@dataclass(frozen=True)
class Witness:
    """A pair of neighbors on which the function differs this much.

    Attributes:
        dataset1, dataset2: lists of rationals.
        parameters: name -> value.
        value1, value2: of the function, exact.
        difference: |value1 - value2|.
    """

    dataset1: tuple[Any, ...]
    dataset2: tuple[Any, ...]
    parameters: Mapping[str, Any]
    value1: Any
    value2: Any
    difference: Any

    @property
    def n(self) -> int:
        """Entries of the first dataset."""
        return len(self.dataset1)


# Exact values of what was read


def value_at(
    term: Any, data: Sequence[Any], values: Mapping[Any, Any], maps: Mapping[Any, Sequence[int]] | None = None
) -> Any:
    """The term at a dataset, its entries and parameters SymPy numbers: an exact SymPy number."""
    maps = maps or {}

    def of(term: Any, bound: dict[Any, Any]) -> Any:
        if term.is_Rational or term in (S.true, S.false):
            return term
        if term in bound:
            return bound[term]
        if isinstance(term, sympy.Symbol):
            return values[term]
        if term.func == entry:
            place = of(term.args[0], bound)
            return data[int(place)]
        if term.func in maps:
            return sympy.Integer(maps[term.func][int(of(term.args[0], bound))])
        if isinstance(term, Aggregate):
            length = int(of(term.length, bound))
            items = [of(term.body, {**bound, term.index: sympy.Integer(i)}) for i in range(length)]
            if term.kind == "order":
                return _ordered(items)[int(of(term.rank, bound))]
            if term.kind == "distinct":
                return sympy.Integer(len({sympy.nsimplify(item) if item.is_Rational else item for item in items}))
            joins: dict[str, Any] = {"sum": sympy.Add, "prod": sympy.Mul, "max": sympy.Max, "min": sympy.Min}
            return joins[term.kind](*items)
        if isinstance(term, Choice):
            condition, yes, no = term.args
            return of(yes if _true(of(condition, bound)) else no, bound)
        if isinstance(term, sympy.And | sympy.Or):
            wanted = isinstance(term, sympy.Or)
            return S.true if any(_true(of(each, bound)) == wanted for each in term.args) == wanted else S.false
        return term.func(*(of(each, bound) for each in term.args)) if term.args else term

    return of(term, {})


def _true(condition: Any) -> bool:
    if condition in (S.true, S.false):
        return bool(condition)
    left, right = sympy.N(condition.lhs - condition.rhs, 60), 0
    decided = condition.func(left, right)
    return bool(decided)


def _ordered(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: float(item))


# Runs


class Unreturning(BaseException):
    """The user's function does not return, as its message says; no `Exception`, which is an error of that function."""


def _returned(function: Any, data: Any, arguments: Mapping[str, Any]) -> Any:
    """The function's value.

    Raises:
        Unreturning: it takes more than `RUN_SECONDS`.
    """
    begin = time.process_time()
    try:
        return within(RUN_SECONDS, lambda: function(data, **arguments))
    except Endless:
        if time.process_time() < begin + RUN_SECONDS:  # what runs it was late
            raise
        raise Unreturning(
            f"{function.__name__} had not returned after {RUN_SECONDS:g} s for n = {len(data)}, so nothing "
            "was decided; give a function that ends"
        ) from None


class Runs:
    """The user's function on concrete datasets."""

    def __init__(
        self,
        function: Any,
        read: Read,
        bounds: tuple[Any, Any],
        facts: Sequence[Any],
        grows: bool,
        seed: int = 0,
        added: Sequence[Any] = (),
    ):
        """`added` are the facts that do not matter at the lengths of `values`."""
        self.function, self.read, self.facts, self.grows = function, read, facts, grows
        self.added, self.lengths, self.values = added, set[int](), dict[int, Any]()
        self.random = random.Random(seed)
        low, high = (Fraction(int(b.p), int(b.q)) if b.is_Rational else None for b in bounds)
        self.low = Fraction(-3) if low is None else low
        self.high = Fraction(3) if high is None else high
        self.permuted = sorted(
            {f.func for term in (read.value,) for f in term.atoms(sympy.core.function.AppliedUndef) if f.func != entry},
            key=str,
        )
        self.points = self._points()
        self.conflicts: list[str] = []

    def _points(self) -> list[Fraction]:
        """Numbers that matter: the ends, constants of the source and their surroundings."""
        low, high = self.low, self.high
        width = high - low
        inner = {low, high, (low + high) / 2}
        for number in self.read.value.atoms(sympy.Rational):
            value = Fraction(int(number.p), int(number.q))
            for near in (value, value + width / 64, value - width / 64, 1 - value):
                if low <= near <= high:
                    inner.add(near)
        return sorted(inner)[:12]

    def settings(self, n: int) -> Iterator[dict[str, Any]]:
        """Values of the parameters that the assumptions allow."""
        names = self.read.parameters
        real = [
            Fraction(1, 2),
            Fraction(1),
            Fraction(1, 4),
            Fraction(0),
            Fraction(3, 4),
            Fraction(2),
            Fraction(3),
            Fraction(7, 8),
            Fraction(5),
            Fraction(-1),
        ]
        whole = [Fraction(v) for v in (1, 0, 2, 3, n - 1, n, 5, -1)]
        found = 0
        choices = [whole if symbol.is_integer else real for symbol in names.values()]
        options = (
            list(itertools.product(*choices))
            if math.prod(map(len, choices)) <= 2000
            else [tuple(self.random.choice(choice) for choice in choices) for _ in range(2000)]
        )
        if len(options) > 1:
            self.random.shuffle(options)
        for values in options:
            setting = dict(zip(names, values, strict=True))
            if self.allowed(n, setting):
                found += 1
                yield setting
                if found >= MAX_SETTINGS:
                    return

    def allowed(self, n: int, setting: Mapping[str, Fraction]) -> bool:
        """Whether the assumptions hold of these parameters."""
        at = {
            self.read.n: sympy.Integer(n),
            **{self.read.parameters[k]: sympy.Rational(v.numerator, v.denominator) for k, v in setting.items()},
        }
        short = n in self.lengths
        return all(_true(sympy.sympify(fact).subs(at)) for fact in self.facts if not (short and fact in self.added))

    def run(self, data: Sequence[Fraction], setting: Mapping[str, Any], maps: Mapping[Any, Sequence[int]]) -> float:
        """The function's value, in floats.

        Raises:
            Unreturning: it does not return.
        """
        import numpy as np

        given: Any = [float(x) for x in data]
        if self.read.kind == "array":
            given = np.array(given)
        arguments: dict[str, Any] = {
            k: int(v) if v.denominator == 1 and self.read.parameters[k].is_integer else float(v)
            for k, v in setting.items()
        }
        arguments |= {str(name).removeprefix("position_"): list(map_) for name, map_ in maps.items()}
        with np.errstate(all="ignore"):
            return float(_returned(self.function, given, arguments))

    def maps(self, n: int) -> dict[Any, list[int]]:
        """Permutations for the parameters that are some."""
        return {name: self.random.sample(range(n), n) for name in self.permuted}

    def datasets(self, n: int) -> Iterator[tuple[list[Fraction], int, Fraction]]:
        """Datasets, a position and what is to stand there instead (or to be put in), several kinds in turn."""
        kinds = [self._steps(n), self._alike(n), self._random(n)]
        if n <= 3:
            kinds.append(self._all(n))
        while kinds:
            for kind in list(kinds):
                try:
                    yield next(kind)
                except StopIteration:
                    kinds.remove(kind)

    def _all(self, n: int) -> Iterator[tuple[list[Fraction], int, Fraction]]:
        points = self.points
        few = points if len(points) <= 3 else [points[0], points[-1], self.random.choice(points[1:-1])]
        for data in itertools.product(few, repeat=n):
            for j in self._places(n):
                for w in few:
                    yield list(data), j, w

    def _alike(self, n: int) -> Iterator[tuple[list[Fraction], int, Fraction]]:
        triples = list(itertools.product(self.points, repeat=3))
        self.random.shuffle(triples)
        for t, v, w in triples if n else ():
            j = self.random.choice([0, n - 1, n // 2])
            data = [t] * n
            data[j] = v
            yield data, j, w

    def _steps(self, n: int) -> Iterator[tuple[list[Fraction], int, Fraction]]:
        """So many at one end and the others at the other, where one more goes over."""
        low, high = self.points[0], self.points[-1]
        for count in range(n):
            for a, b in ((low, high), (high, low)):
                yield [*[a] * count, *[b] * (n - count)], count, a

    def _random(self, n: int) -> Iterator[tuple[list[Fraction], int, Fraction]]:
        ends = [self.points[0], self.points[-1]]
        while True:
            for draw in (lambda: self.random.choice(ends), lambda: self.random.choice(self.points), self.anything):
                yield [draw() for _ in range(n)], self.random.choice(self._places(n)), draw()

    def _places(self, n: int) -> range:
        return range(n + 1 if self.grows else n)

    def anything(self) -> Fraction:
        """A number within the bounds, exact in floats."""
        return self.low + (self.high - self.low) * Fraction(self.random.randrange(257), 256)

    def changed(self, data: Sequence[Fraction], j: int, w: Fraction) -> list[Fraction]:
        """The neighbor."""
        if self.grows:
            return [*data[:j], w, *data[j:]]
        return [*data[:j], w, *data[j + 1 :]]

    def largest(self, n: int, setting: Mapping[str, Any], budget: int = 400) -> tuple[float, Any]:
        """The largest difference seen for datasets of n entries: (difference, (data, other, maps))."""
        best: tuple[float, Any] = (-1.0, None)
        maps = {**self.maps(n)}
        values: dict[tuple[Fraction, ...], float] = {}

        def at(data: Sequence[Fraction]) -> float:
            key = tuple(data)
            if key not in values:
                values[key] = self.run(data, setting, {k: self._for(m, len(data)) for k, m in maps.items()})
            return values[key]

        for count, (data, j, w) in enumerate(self.datasets(n)):
            if count > budget:
                break
            other = self.changed(data, j, w)
            gap = abs(at(data) - at(other))
            if math.isnan(gap) or math.isinf(gap):
                self.conflicts.append(f"the function gives no finite number at {_shown(data)} or {_shown(other)}")
                return -1.0, None
            if gap > best[0] + 1e-12:
                best = (gap, (list(data), j, w))
        return self.climbed(best, at, maps)

    def climbed(self, best: tuple[float, Any], at: Any, maps: Any) -> tuple[float, Any]:
        """The best pair after changing its entries one by one."""
        gap, (data, j, w) = best
        for place in range(len(data)):
            for value in (self.low, self.high, self.anything()):
                tried = [*data[:place], value, *data[place + 1 :]]
                found = abs(at(tried) - at(self.changed(tried, j, w)))
                if found > gap + 1e-12:
                    gap, data = found, tried
        return gap, (data, self.changed(data, j, w), dict(maps))

    def _for(self, positions: list[int], n: int) -> list[int]:
        return positions if len(positions) == n else [*positions, *range(len(positions), n)]

    def conform(self, n: int, setting: Mapping[str, Any], rounds: int = 6) -> None:
        """Compares what was read with real runs; a difference is an error of the reading."""
        for k in range(rounds):
            choice = self.points if k % 2 else None
            data = [self.random.choice(choice) if choice else self.anything() for _ in range(n)]
            maps = self.maps(n)
            try:
                real = self.run(data, setting, maps)
            except Exception as error:
                self.conflicts.append(f"the function raises {type(error).__name__} at {_shown(data)}: {error}")
                return
            read = float(sympy.N(self.exact(data, setting, maps), 30))
            if not abs(real - read) <= 1e-7 * (1 + abs(real)):
                self.conflicts.append(f"the reading gives {read:.9g} at {_shown(data)}, the function {real:.9g}")
                return

    def exact(self, data: Sequence[Fraction], setting: Mapping[str, Any], maps: Mapping[Any, Sequence[int]]) -> Any:
        """What the reading gives, an exact SymPy number."""
        entries = [sympy.Rational(x.numerator, x.denominator) for x in data]
        values = {self.read.n: sympy.Integer(len(data))}
        values |= {self.read.parameters[k]: sympy.Rational(v.numerator, v.denominator) for k, v in setting.items()}
        return value_at(self.values.get(len(data), self.read.value), entries, values, maps)

    def witness(self, setting: Mapping[str, Any], pair: Any) -> Witness:
        """The pair with exact values."""
        one, other, maps = pair
        values = [
            self.exact(data, setting, {k: self._for(m, len(data)) for k, m in maps.items()}) for data in (one, other)
        ]
        given = {**setting, **{str(k).removeprefix("position_"): tuple(m) for k, m in maps.items()}}
        difference = (
            sympy.nsimplify(values[0] - values[1]) if (values[0] - values[1]).is_Rational else values[0] - values[1]
        )
        gap = sympy.Abs(difference)
        return Witness(tuple(one), tuple(other), given, values[0], values[1], gap)


def _shown(data: Sequence[Any]) -> str:
    return "[" + ", ".join(map(str, data)) + "]"
