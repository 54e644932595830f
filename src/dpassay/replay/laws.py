"""What exact laws share: the draws, numbers and parameters, and which law is known for which mechanism.

Each module of `LAWS` has two functions. `law(mechanism, dataset)` maps every possible output to its probability, an
exact rational or an Arb ball around a positive number; an output that is not in the mapping is impossible. It raises
`Undefined` where the mechanism has no law on the dataset. `read_output(output, mechanism, dataset)` reads one output of
an event, a tuple of integers, and raises `Rejected` for anything that the mechanism cannot give on any dataset.

A law depends on the order and the equality of similarities, which are signed square roots of rationals: both are
decided exactly, on signed squares.
"""

import importlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.numbers import fields, integer, maximum, rational, root

MAX_CANDIDATES = 12
MAX_NEIGHBORS = 6
LAWS: Mapping[str, str] = {
    **dict.fromkeys(("dpp", "dpp_eigen", "kdpp"), "dpassay.replay.determinantal_laws"),
    **dict.fromkeys(("knn", "npns", "pncf", "ppns"), "dpassay.replay.neighbor_laws"),
    **dict.fromkeys(("pnsa", "prs"), "dpassay.replay.item_laws"),
}

Law = dict[tuple[int, ...], Any]
Ratings = Sequence[fmpq | None]
Dataset = Sequence[Ratings]


class Undefined(Rejected):
    """The mechanism has no law on this dataset, for example with fewer than k candidates."""


def law_module(mechanism: Mapping[str, Any]) -> Any:
    """The module with the mechanism's `law` and `read_output`.

    Raises:
        Rejected: a mechanism whose law is not known here.
    """
    if not isinstance(mechanism, Mapping) or mechanism.get("id") not in LAWS:
        raise Rejected(f"no exact law is known here for this mechanism; known: {', '.join(LAWS)}")
    return importlib.import_module(LAWS[mechanism["id"]])


def read_parameters(
    mechanism: Mapping[str, Any],
    known: Mapping[tuple[str, str], tuple[set[str], ...]],
    choices: Mapping[str, Sequence[str]],
    positive: Sequence[str] = (),
) -> Mapping[str, Any]:
    """The parameters of a mechanism {"id", "variant", "parameters"}; raises `Rejected` unless all are known here.

    `known`: (id, variant) -> those that decide the law, and those that may stand beside them. `choices`: the values of
    parameters that are words. `positive`: the names of numbers above 0.
    """
    fields(mechanism, "the mechanism", ("id", "variant", "parameters"))
    kind = (mechanism["id"], mechanism["variant"])
    if kind not in known:
        named = ", ".join(f"{name} ({variant})" for name, variant in known)
        raise Rejected(f"no exact law of {kind[0]} ({kind[1]}) is known here; known: {named}")
    parameters: Mapping[str, Any] = mechanism["parameters"]
    fields(parameters, f"parameters of {kind[0]}", *known[kind])
    for name, values in choices.items():
        if name in parameters and parameters[name] not in values:
            raise Rejected(f"{name} is {parameters[name]!r}: this checker knows {', '.join(values)}")
    for name in positive:
        if name in parameters and rational(parameters[name]) <= 0:
            raise Rejected(f"{name} must be positive")
    return parameters


def read_numbers(output: Sequence[Any], parameters: Mapping[str, Any], size: int, what: str) -> tuple[int, ...]:
    """The `num_neighbors` ascending numbers below `size`, without the target's; raises `Rejected` for anything else."""
    k, target = (integer(parameters[name], name) for name in ("num_neighbors", "target"))
    numbers = tuple(integer(number, "a number") for number in output)
    if list(numbers) != sorted(set(numbers)) or len(numbers) != k or numbers[-1] >= size or target in numbers:
        raise Rejected(f"{list(numbers)} is not an output: {k} ascending {what}")
    return numbers


def draws(weights: Mapping[int, Any], count: int) -> Law:
    """Law of `count` successive draws without replacement, each with probability proportional to weight.

    Weights are exact and >= 0, or balls around positive numbers; a weight of 0 is never drawn.

    Raises:
        Undefined: fewer than `count` positive weights.
    """
    pool = {row: weight for row, weight in sorted(weights.items()) if not is_zero(weight)}
    if any(not weight > 0 for weight in pool.values()):
        raise Rejected("a weight is not certainly positive")
    if len(pool) < count:
        raise Undefined(f"only {len(pool)} candidates have a positive weight, {count} are to be drawn")
    if count in (0, len(pool)):
        return {tuple(pool)[:count]: fmpq(1)}
    first = next(iter(pool.values()))
    if all(
        weight is first or (isinstance(weight, fmpq) and isinstance(first, fmpq) and weight == first)
        for weight in pool.values()
    ):
        chance = fmpq(1, math.comb(len(pool), count))
        return dict.fromkeys(itertools.combinations(pool, count), chance)
    # Layer by layer: reached[T] is the probability that the first |T| draws are the set T. What is left to draw from
    # is summed afresh each time, as a sum of positives.
    reached: Law = {(): fmpq(1)}
    for _ in range(count):
        following: Law = {}
        for drawn, chance in reached.items():
            left = [row for row in pool if row not in drawn]
            share = chance / sum((pool[row] for row in left), fmpq(0))
            for row in left:
                grown = tuple(sorted((*drawn, row)))
                following[grown] = following.get(grown, fmpq(0)) + share * pool[row]
        reached = following
    return reached


def marginals(law: Law) -> dict[int, Any]:
    """Probability that each row is among the neighbors; rows that never are do not appear."""
    each: dict[int, Any] = {}
    for rows, chance in law.items():
        for row in rows:
            each[row] = each.get(row, fmpq(0)) + chance
    return each


def signed_root(square: fmpq) -> Any:
    """The number with this signed square (its sign times its square)."""
    return root(square) if square >= 0 else -root(-square)


def truncation_margin(sensitivities: Sequence[Any], k: int, parameters: Mapping[str, Any]) -> Any:
    """(4k S/epsilon) ln(k(n-k)/rho), S the largest of n sensitivities; None when that or one of these is infinite."""
    n, epsilon, rho = len(sensitivities), rational(parameters["epsilon"]), rational(parameters["rho"])
    if not 0 < rho < 1:
        raise Rejected("rho must lie strictly between 0 and 1")
    if n == k or any(each is None for each in sensitivities):
        return None
    largest = maximum(sensitivities)
    return fmpq(0) if is_zero(largest) else largest * (4 * k / epsilon) * arb(k * (n - k) / rho).log()


def shared(a: Ratings, b: Ratings) -> list[tuple[fmpq, fmpq]]:
    """Both ratings wherever both are given."""
    return [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]


def square_norm(ratings: Iterable[fmpq | None]) -> fmpq:
    """Sum of the squares of what is given."""
    return sum((x * x for x in ratings if x is not None), fmpq(0))


def signed_square(product: fmpq, square: fmpq) -> fmpq:
    """Signed square of product / sqrt(square); 0 where the denominator is."""
    return fmpq(0) if square == 0 else abs(product) * product / square


def exponential(exponent: Any) -> Any:
    """e to a number, exact at an exact 0."""
    return fmpq(1) if is_zero(exponent) else arb(exponent).exp()


def is_zero(value: Any) -> bool:
    """Whether a number is exact and 0."""
    return isinstance(value, fmpq) and bool(value == 0)
