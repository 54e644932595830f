"""Neighboring inputs and values of parameters among which counterexamples are looked for: small, in simple patterns."""

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.prover.problem import Problem
from dpassay.replay import Rejected
from dpassay.replay.integration import check_neighbors, evaluate, parameter_values

Values = dict[str, Any]
Data = tuple[str, ...]
Pair = tuple[Data, Data]

_REALS = {True: ("1", "4", "1/2", "2", "1/10"), False: ("0", "1", "2")}  # by whether the claim names the parameter
_COUNTS = ("1", "2", "0", "3")
_LISTS = (("0", "1"), ("1",), ("0", "0"), ("0", "1", "2"), ())


def assignments(problem: Problem) -> list[Values]:
    """Values of the parameters that satisfy what is assumed, simple ones first.

    Raises:
        InvalidInput: the claim has no value at any of them.
    """
    choices = [_choices(problem, name, sort) for name, sort in problem.parameters.items()]
    every = itertools.product(*(range(len(each)) for each in choices))
    ranked = sorted(every, key=lambda each: (sum(each), max(each, default=0)))
    found, without = [], []
    for places in ranked[:400]:
        values = {name: options[i] for name, options, i in zip(problem.parameters, choices, places, strict=True)}
        exact = parameter_values(problem.parameters, values)
        try:
            if not all(evaluate(condition, exact) is True for condition in problem.assume):
                continue
        except Rejected:
            continue
        try:
            evaluate(problem.bound, exact)
            found.append(values)
        except Rejected as error:
            without.append((values, error))
    if without and not found:
        values, why = without[0]
        raise InvalidInput(f"{why}, at {', '.join(f'{name} = {value}' for name, value in values.items())}")
    return found


def _choices(problem: Problem, name: str, sort: str) -> Sequence[Any]:
    """Values of one parameter that the conditions on it alone allow."""
    if sort.startswith("list"):
        return _LISTS
    usual = {"int": _COUNTS, "bool": ("1", "0")}.get(sort, _REALS[name in problem.bound])
    every = list(dict.fromkeys((*usual, *map(str, problem.limits(name) if sort != "bool" else ()))))

    def allowed(text: str) -> bool:
        value = parameter_values({name: sort}, {name: text})
        for condition in problem.assume:
            with contextlib.suppress(Rejected):  # of a condition that is on others too
                if evaluate(condition, value) is not True:
                    return False
        return True

    return [each for each in every if allowed(each)]


def _text(value: Fraction) -> str:
    return str(value)


class Neighbors:
    """The pairs of one problem at given parameter values."""

    def __init__(self, problem: Problem, values: Values) -> None:
        exact = parameter_values(problem.parameters, values)
        self.relation: Mapping[str, Any] = {
            "kind": problem.relation,
            "bounds": None if problem.bounds is None else list(problem.bounds),
            "values": problem.values,
            "radius": problem.radius,
            "records": problem.records,
        }
        self._exact = exact
        self.kind, self.single = problem.relation, problem.single
        self.adding = problem.relation.startswith("add_or_remove_one")
        self.radius = _fraction(evaluate(problem.radius, exact))
        self.records = int(_fraction(evaluate(problem.records, exact)))
        self.whole = problem.values in ("int", "bool")
        if problem.bounds is not None:
            low, high = (_fraction(evaluate(each, exact)) for each in problem.bounds)
            middle = Fraction(int((low + high) / 2)) if self.whole else (low + high) / 2
            inside = [each for each in (Fraction(0), Fraction(1)) if low <= each <= high]
            self.entries = list(dict.fromkeys((low, high, *inside, middle)))
        elif problem.values == "bool":
            self.entries = [Fraction(0), Fraction(1)]
        else:
            self.entries = [Fraction(each) for each in ("0", "1", "-1", "10", "-10", *([] if self.whole else ["1/2"]))]

    def are(self, pair: Pair) -> bool:
        """Whether the two are neighbors, entries of the right kind."""
        if self.single and not len(pair[0]) == len(pair[1]) == 1:
            return False
        try:
            check_neighbors(self.relation, self._exact, list(pair[0]), list(pair[1]))
        except Rejected:
            return False
        return True

    def columns(self) -> list[tuple[Fraction, Fraction]]:
        """What one entry may be before and after."""
        if self.kind.startswith("replace_one"):
            return [(a, b) for a, b in itertools.product(self.entries, repeat=2) if a != b]
        if self.adding:
            return []
        moved = [(base, base + step) for base in self.entries for step in (self.radius, -self.radius)]
        half = [(Fraction(0), self.radius / 2)]  # which shows what is rounded
        return [(a, b) for a, b in [*moved, *half] if not self.whole or b.denominator == 1]

    def simple(self, size: int) -> Iterator[Pair]:
        """Patterns with one step: the first entries move one way, the others another way or not at all."""
        still = [(each, each) for each in self.entries[:3]]
        if self.adding:
            for more in range(min(self.records, size), 0, -1):
                for fill, extra in itertools.product(self.entries[:3], self.entries):
                    yield self._pair([(fill, fill)] * (size - more), (extra,) * more)
            return
        one = self.kind in ("one_query", "replace_one:entry")
        columns = self.columns()
        joined = itertools.product(columns, still if one else [*columns, *still])
        ranked = sorted(joined, key=lambda pair: self._rank(*pair))
        seen = set()
        for first, other in ranked:
            counts = dict.fromkeys((size - 1, 1, size // 2))
            orders = [[other] * k + [first] + [other] * (size - 1 - k) for k in range(size)]
            if not one:
                counts |= {self.records: None} if self.records < size else {}
                orders = [[first] * count + [other] * (size - count) for count in counts]
            for chosen in orders:
                pair = self._pair(chosen[::-1] if first[0] < 0 else chosen)
                if pair not in seen and self.are(pair):
                    seen.add(pair)
                    yield pair

    def _rank(self, first: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction]) -> tuple[Any, ...]:
        """Small entries, or two that are far apart, and opposite steps come first; fractions come late."""
        apart = abs(first[0]) + abs(other[0])
        if any(each.denominator > 1 for each in (*first, *other)):
            apart += 2
        elif apart == 20 and first[0] != other[0]:
            apart = Fraction(1)
        return apart, first[1] - first[0] == other[1] - other[0], other[1] == other[0]

    def near(self, pair: Pair) -> Iterator[Pair]:
        """Pairs with one entry changed, or one more; none where several are added."""
        first, second = ([Fraction(each) for each in data] for data in pair)
        if len(first) != len(second):
            longer, shorter, swapped = (first, second, False) if len(first) > len(second) else (second, first, True)
            if len(longer) - len(shorter) > 1:
                return
            place = next(k for k in range(len(longer)) if longer[:k] + longer[k + 1 :] == shorter)
            for k, value in itertools.product(range(len(shorter) + 1), self.entries[:3]):
                rest = [*shorter[:k], value, *shorter[k:]]
                made = self._pair([(each, each) for each in rest], (longer[place],))
                yield made[::-1] if swapped else made
            return
        columns = list(zip(first, second, strict=True))
        options = [*((each, each) for each in self.entries[:3]), *self.columns()]
        for k in range(len(columns)):
            if columns[k] not in columns[:k]:
                yield self._pair([*columns[:k], columns[k], *columns[k:]])
        for k, option in itertools.product(range(len(columns)), options):
            if option != columns[k]:
                yield self._pair([*columns[:k], option, *columns[k + 1 :]])
        for k, option in itertools.product((0, len(columns)), options):
            yield self._pair([*columns[:k], option, *columns[k:]])

    def smaller(self, pair: Pair) -> Iterator[Pair]:
        """Pairs without an entry, or with an entry replaced by a simpler one."""
        first, second = pair
        if len(first) == len(second):
            for k in range(len(first)):
                yield first[:k] + first[k + 1 :], second[:k] + second[k + 1 :]
            for k in range(len(first)):
                for option in ((Fraction(0), Fraction(0)), (Fraction(0), self.radius), (self.radius, Fraction(0))):
                    made = tuple(map(_text, option))
                    if _weight(made) < _weight((first[k], second[k])):
                        yield (*first[:k], made[0], *first[k + 1 :]), (*second[:k], made[1], *second[k + 1 :])
            return
        for entry in set(first) & set(second):
            yield _without(first, entry), _without(second, entry)

    def _pair(self, columns: list[tuple[Fraction, Fraction]], extra: Sequence[Fraction] = ()) -> Pair:
        """The columns; with entries more on the first side."""
        first, second = (tuple(_text(column[side]) for column in columns) for side in (0, 1))
        return (*first, *map(_text, extra)), second


def _without(data: Data, entry: str) -> Data:
    place = data.index(entry)
    return data[:place] + data[place + 1 :]


def _weight(entries: tuple[str, ...]) -> tuple[Fraction, int]:
    return sum((abs(Fraction(each)) for each in entries), Fraction(0)), sum(each.startswith("-") for each in entries)


def _fraction(form: Any) -> Fraction:
    value = form.constant
    return Fraction(int(value.p), int(value.q))
