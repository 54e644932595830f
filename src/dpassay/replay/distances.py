"""Exact distances between datasets and between outputs of a map: rationals or infinity, never rounded.

Values are Python's own: None, bool, int, float, Fraction, str, lists of values, dicts. A float is the rational number
that it is. NaN, the infinities and None are at distance 0 from themselves and infinitely far from everything else:
noise added to them hides nothing. Vectors of another length or nesting are infinitely far apart, but a key that a dict
lacks has the value 0, as in histograms of unknown keys. As records, values are equal when their type and their text
are: 0.0 and -0.0 are two records, all NaN are one.

Distances of lists of records: `symmetric` (records added or removed, whatever the order), `insert_delete` (the same, in
their order), `change_one` (records changed, whatever the order; infinite for other lengths), `hamming` (places that
differ), `entries` (entries of records that differ), `users_added` and `users_replaced` (users, first of two elements of
a record, whose records differ; added ones have none on one side). Of numbers and vectors: `absolute`, `l1`, `l2`,
`linf`, `linf_monotonic` (infinite unless all entries differ in one direction). Of anything: `discrete` (0 or 1).
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

Exact = Fraction | float  # a float is infinity, nothing else

DATASETS = ("symmetric", "insert_delete", "change_one", "hamming", "entries", "users_added", "users_replaced")
NUMBERS = ("absolute", "l1", "l2", "linf", "linf_monotonic")
METRICS = (*DATASETS, *NUMBERS, "discrete")


class NoDistance(ValueError):
    """Two values between which this distance means nothing; the message says why."""


def distance(metric: str, one: Any, two: Any) -> Exact:
    """The distance of two values; of `l2` its square, which is rational.

    Raises:
        NoDistance: no such metric, or values that it does not measure.
    """
    if metric in NUMBERS:
        return _of_numbers(metric, one, two)
    if metric == "discrete":
        return Fraction(key(one) != key(two))
    if metric not in METRICS:
        raise NoDistance(f"there is no distance {metric!r}; use one of {', '.join(METRICS)}")
    if not (isinstance(one, list) and isinstance(two, list)):
        raise NoDistance(f"the distance {metric} is one of lists of records, not of a {type(one).__name__}")
    if metric.startswith("users"):
        return _of_users(metric, one, two)
    if metric == "entries":
        one, two = ([entry for record in each for entry in _parts(record)] for each in (one, two))
    return _of_records(metric, list(map(key, one)), list(map(key, two)))


def bound(metric: str, claimed: Exact) -> Exact:
    """What `distance` is compared with: the claimed distance, or its square."""
    return claimed * claimed if metric == "l2" else claimed


def key(value: Any) -> Hashable:
    """Equal for values that are one record."""
    if isinstance(value, list):
        return tuple(map(key, value))
    if isinstance(value, dict):
        return frozenset((key(each), key(inner)) for each, inner in value.items())
    return type(value).__name__, repr(value)


def _of_records(metric: str, one: list[Hashable], two: list[Hashable]) -> Exact:
    if metric == "insert_delete":
        return Fraction(_inserted_and_deleted(one, two))
    if metric == "symmetric":
        return Fraction(sum(((counts := Counter(one)) - (other := Counter(two))).values()) + (other - counts).total())
    if len(one) != len(two):
        return math.inf
    if metric == "change_one":
        return Fraction((Counter(one) - Counter(two)).total())
    return Fraction(sum(a != b for a, b in zip(one, two, strict=True)))


def _inserted_and_deleted(one: Sequence[Hashable], two: Sequence[Hashable]) -> int:
    """Lengths less twice that of the longest common subsequence; what both begin and end with is in it."""
    start = 0
    while start < min(len(one), len(two)) and one[start] == two[start]:
        start += 1
    end = 0
    while end < min(len(one), len(two)) - start and one[-1 - end] == two[-1 - end]:
        end += 1
    one, two = one[start : len(one) - end], two[start : len(two) - end]
    row = [0] * (len(two) + 1)
    for a in one:
        before, row = row, [0]
        for at, b in enumerate(two):
            row.append(before[at] + 1 if a == b else max(before[at + 1], row[at]))
    return len(one) + len(two) - 2 * row[-1]


def _of_users(metric: str, one: list[Any], two: list[Any]) -> Exact:
    records: dict[Hashable, tuple[list[Hashable], list[Hashable]]] = {}
    for side, dataset in enumerate((one, two)):
        for record in dataset:
            if not isinstance(record, list) or len(record) != 2:
                raise NoDistance("a record of a user is a list of two: the user, and what else the record holds")
            records.setdefault(key(record[0]), ([], []))[side].append(key(record[1]))
    differing = [sides for sides in records.values() if sides[0] != sides[1]]
    partly = any((metric == "users_added") == bool(first and second) for first, second in differing)
    return math.inf if partly else Fraction(len(differing))


def _of_numbers(metric: str, one: Any, two: Any) -> Exact:
    if metric == "absolute" and any(isinstance(each, list | dict) for each in (one, two)):
        raise NoDistance("the absolute distance is one of numbers, not of vectors; use l1, l2 or linf")
    pairs = _paired(one, two)
    if pairs is None:
        return math.inf
    signed = [_difference(a, b) for a, b in pairs if a is not b or isinstance(a, str)]
    sizes: list[Exact] = [-each if each < 0 else each for each in signed]
    if metric == "linf_monotonic" and min(signed, default=0) < 0 < max(signed, default=0):
        return math.inf
    if math.inf in sizes:
        return math.inf
    if metric in ("linf", "linf_monotonic"):
        return max(sizes, default=Fraction(0))
    return sum((each * each if metric == "l2" else each for each in sizes), Fraction(0))


def _paired(one: Any, two: Any) -> list[tuple[Any, Any]] | None:
    """Numbers at the same places; None where one value has a place that the other lacks."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        both = [(one.get(name, 0), two.get(name, 0)) for name in {**one, **two}]
    elif isinstance(one, list) and isinstance(two, list):
        if len(one) != len(two):
            return None
        both = list(zip(one, two, strict=True))
    elif isinstance(one, list | Mapping) or isinstance(two, list | Mapping):
        return None
    else:
        return [(one, two)]
    nested = [any(isinstance(each, list | Mapping) for each in pair) for pair in both]
    if not any(nested):
        return both
    inner = [_paired(a, b) for a, b in both]
    return None if None in inner else [pair for pairs in inner if pairs is not None for pair in pairs]


def _difference(one: Any, two: Any) -> Exact:
    if type(one) is int and type(two) is int:
        return Fraction(two - one)
    for value in (one, two):
        if value is not None and not isinstance(value, int | float | Fraction):
            raise NoDistance(f"{str(value)[:60]!r} is not a number")
    if any(value is None or (isinstance(value, float) and not math.isfinite(value)) for value in (one, two)):
        return Fraction(0) if key(one) == key(two) else math.inf
    return Fraction(two) - Fraction(one)


def _parts(record: Any) -> list[Any]:
    return record if isinstance(record, list) else [record]
