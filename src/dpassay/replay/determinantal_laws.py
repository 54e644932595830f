"""Exact laws of determinantal point processes, written from the definitions and from no mechanism's code.

Over n items with L = kernel + jitter I, built from the dataset in exact rationals:

    dpp        P(Y) = det(L_Y) / det(L + I), for every subset Y
    kdpp       P(Y) = det(L_Y) / (sum of det(L_Z) over all Z of the same size), for every Y of `size` items
    dpp_eigen  one coin flip per eigenvalue v of L in ascending order, heads with probability v / (1 + v); an output
               holds the positions of the heads. Rational eigenvalues are exact, others are enclosed.

Outputs are ascending item numbers (for `dpp_eigen` positions), or masks of true and false. The kernels with rational
values are known here: "dot" and "polynomial". L defines a process exactly when all its principal minors are >= 0.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from flint import arb, fmpq, fmpq_mat

from dpassay.replay import Rejected
from dpassay.replay.laws import Dataset, Law, Undefined, read_parameters
from dpassay.replay.numbers import integer, rational

MAX_ITEMS = 8

_COMMON = {"jitter", "kernel", "scale", "degree", "offset", "max_square_norm"}
_PARAMETERS = {
    ("dpp", "paper"): (_COMMON,),
    ("dpp_eigen", "paper"): (_COMMON,),
    ("kdpp", "paper"): (_COMMON | {"size"},),
}
_CHOICES = {"kernel": ("dot", "polynomial")}


def law(mechanism: Mapping[str, Any], dataset: Dataset) -> Law:
    """Law of the released set (or of the positions of heads).

    Raises:
        Rejected: an unknown mechanism, kernel or parameter, or more than `MAX_ITEMS` items.
        Undefined: L is not positive semidefinite, or has no set of the required size.
    """
    kernel = kernel_matrix(mechanism, dataset)
    every = minors(kernel)
    if any(minor < 0 for minor in every.values()):
        raise Undefined("the kernel is not positive semidefinite on this dataset, so it defines no process")
    if mechanism["id"] == "dpp_eigen":
        return _coin_flips(kernel)
    if mechanism["id"] == "kdpp":
        size = _size(mechanism, kernel.nrows())
        every = {chosen: minor for chosen, minor in every.items() if len(chosen) == size}
    total = sum(every.values(), fmpq(0))  # for all sizes this is det(L + I)
    if total == 0:
        raise Undefined("every set of that size has a singular kernel; the rank is too small")
    return {chosen: minor / total for chosen, minor in every.items() if minor > 0}


def read_output(output: Sequence[Any], mechanism: Mapping[str, Any], dataset: Dataset) -> tuple[int, ...]:
    """A set as ascending numbers, or a mask of as many booleans as there are items; raises `Rejected` for others."""
    read_parameters(mechanism, _PARAMETERS, _CHOICES)
    num = len(dataset[0])
    if not isinstance(output, Sequence) or isinstance(output, str):
        raise Rejected(f"{output!r} is not a set of items: write ascending item numbers, or a mask of booleans")
    if output and all(isinstance(entry, bool) for entry in output):
        if len(output) != num:
            raise Rejected(f"a mask of {len(output)} entries for {num} items")
        items = tuple(item for item, chosen in enumerate(output) if chosen)
    else:
        items = tuple(integer(item, "an item number") for item in output)
    if list(items) != sorted(set(items)) or (items and items[-1] >= num):
        raise Rejected(f"{list(items)} is not an output: ascending numbers from 0 to {num - 1}")
    if mechanism["id"] == "kdpp" and len(items) != _size(mechanism, num):
        raise Rejected(f"{list(items)} is not an output: the process has {mechanism['parameters']['size']} items")
    return items


def kernel_matrix(mechanism: Mapping[str, Any], dataset: Dataset) -> fmpq_mat:
    """L, jitter included; a missing entry counts as 0, a row longer than `max_square_norm` is scaled down to it."""
    parameters = read_parameters(mechanism, _PARAMETERS, _CHOICES)
    num = len(dataset[0])
    if num > MAX_ITEMS:
        raise Rejected(f"{num} items; this checker enumerates the subsets of at most {MAX_ITEMS}")
    rows = [[value or fmpq(0) for value in row] for row in dataset]
    weights = [_weight(mechanism, row) for row in rows]
    jitter = rational(parameters["jitter"])
    if jitter < 0:
        raise Rejected("jitter must be >= 0")
    entries = [[_entry(parameters, rows, weights, one, two) for two in range(num)] for one in range(num)]
    for item in range(num):
        entries[item][item] += jitter
    return fmpq_mat(entries)


def minors(kernel: fmpq_mat) -> dict[tuple[int, ...], fmpq]:
    """det(L_Y) of every subset of the items; 1 of the empty one."""
    num, entries = kernel.nrows(), kernel.tolist()
    every: dict[tuple[int, ...], fmpq] = {(): fmpq(1)}
    for size in range(1, num + 1):
        for chosen in itertools.combinations(range(num), size):
            every[chosen] = fmpq_mat([[entries[one][two] for two in chosen] for one in chosen]).det()
    return every


def _entry(
    parameters: Mapping[str, Any], rows: Sequence[Sequence[fmpq]], weights: Sequence[fmpq], one: int, two: int
) -> fmpq:
    product = sum((weight * row[one] * row[two] for row, weight in zip(rows, weights, strict=True)), fmpq(0))
    if parameters["kernel"] == "dot":
        return product
    return (product + rational(parameters["offset"])) ** integer(parameters["degree"], "degree", at_least=1)


def _weight(mechanism: Mapping[str, Any], row: Sequence[fmpq]) -> fmpq:
    """The factor by which a row's products are scaled; for `kdpp` the bound is on the `size` largest squares."""
    bound = mechanism["parameters"]["max_square_norm"]
    if bound is None:
        return fmpq(1)
    most = rational(bound)
    if most <= 0:
        raise Rejected("max_square_norm must be positive")
    squares = sorted((value * value for value in row), reverse=True)
    if mechanism["id"] == "kdpp":
        squares = squares[: _size(mechanism, len(row))]
    square = sum(squares, fmpq(0))
    return fmpq(1) if square <= most else most / square


def _coin_flips(kernel: fmpq_mat) -> Law:
    chances = [value / (value + 1) for value in _eigenvalues(kernel)]
    outcomes: Law = {(): fmpq(1)}
    for position, chance in enumerate(chances):
        tails = {heads: probability * (1 - chance) for heads, probability in outcomes.items()}
        heads = {(*heads, position): probability * chance for heads, probability in outcomes.items() if chance != 0}
        outcomes = tails | heads
    return outcomes


def _eigenvalues(kernel: fmpq_mat) -> list[Any]:
    """With multiplicity, ascending; exact where rational, else enclosures of real numbers > 0."""
    found: list[Any] = []
    factors: Any = kernel.charpoly().factor()[1]
    for factor, multiplicity in factors:
        if factor.degree() == 1:
            roots: list[Any] = [-factor[0] / factor[1]]
        else:
            complex_roots: Any = factor.complex_roots()  # real ones: the matrix is symmetric
            roots = [root.real for root, _ in complex_roots]
            if not all(root > 0 for root in roots):
                raise Rejected("an eigenvalue cannot be told from 0 at the working precision")
        found += [root for root in roots for _ in range(multiplicity)]
    found.sort(key=lambda value: arb(value).mid())
    for lower, upper in itertools.pairwise(found):
        equal = lower is upper or (isinstance(lower, fmpq) and isinstance(upper, fmpq))
        if not equal and not arb(lower) < arb(upper):
            raise Rejected("two eigenvalues cannot be told apart at the working precision")
    return found


def _size(mechanism: Mapping[str, Any], num: int) -> int:
    size = integer(mechanism["parameters"]["size"], "size", at_least=1)
    if size > num:
        raise Undefined(f"a set of {size} of {num} items")
    return size
