"""Enumerates all small binary datasets of a determinantal point process and finds its largest probability ratio.

Inputs:
    "items": n; "subjects": how many rows the smaller dataset may have besides the one that differs
    "jitter": s > 0, a number; the kernel is L = X'X + s I
    "relation": "add_or_remove_one" (D with and without one more row) or "replace_one" (one more row x, or another z)
    "size": k, to condition on subsets of k items, or 0 for all subsets
    "largest": the ratio that must be the largest of Pr[Y | D'] / Pr[Y | D], an exact rational

Laws are exact rationals: det(L_Y) over its sum, which for all subsets is also compared with det(L + I). Rows are binary
and not zero (a zero row changes nothing, except as a replacement); datasets are multisets of rows.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from flint import fmpq, fmpq_mat

from dpassay.replay import Rejected
from dpassay.replay.numbers import fields, integer, rational, show

RELATIONS = ("add_or_remove_one", "replace_one")
MAX_RATIOS = 400_000  # a few seconds

Row = tuple[int, ...]
Law = list[fmpq]


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Enumerates again; raises `Rejected` unless the largest ratio is the stated one."""
    fields(inputs, "an enumeration", ("items", "subjects", "jitter", "relation", "size", "largest"))
    items, subjects = (integer(inputs[name], name, at_least=low) for name, low in (("items", 1), ("subjects", 0)))
    size = integer(inputs["size"], "size", at_least=0)
    jitter, stated, relation = rational(inputs["jitter"]), rational(inputs["largest"]), inputs["relation"]
    if relation not in RELATIONS or jitter <= 0 or size > items or items > 8:
        raise Rejected(f"relation must be one of {', '.join(RELATIONS)}, the jitter above 0, size <= items <= 8")
    sizes = [size] if size else range(items + 1)
    outputs = [y for each in sizes for y in itertools.combinations(range(items), each)]
    rows = [row for row in itertools.product((0, 1), repeat=items) if any(row)]
    changes = [(row, ()) for row in rows] if relation == RELATIONS[0] else list(itertools.permutations([*rows, ()], 2))
    datasets = math.comb(len(rows) + subjects, subjects)
    if datasets * len(changes) * len(outputs) > MAX_RATIOS:
        raise Rejected(f"{datasets} datasets with {len(changes)} changes are too many: lower items or subjects")
    largest, place = fmpq(0), None
    multisets = (itertools.combinations_with_replacement(rows, number) for number in range(subjects + 1))
    for dataset in itertools.chain.from_iterable(multisets):
        laws: dict[Row, Law] = {
            row: _law((*dataset, row) if row else dataset, items, jitter, outputs) for row in [*rows, ()]
        }
        for row, other in changes:
            for output, one, two in zip(outputs, laws[row], laws[other], strict=True):
                ratio = max(one / two, two / one)
                if ratio > largest:
                    largest, place = ratio, (dataset, row, other, output)
    if largest != stated or place is None:
        raise Rejected(f"the largest ratio is {show(largest)}, not {show(stated)}")
    return {
        "relation": relation,
        "process": f"{items} items, jitter {show(jitter)}, {f'{size} items shown' if size else 'any number of items'}",
        "datasets": datasets,
        "pairs": datasets * len(changes),
        "largest": show(largest),
        "attained": {
            "common_rows": [list(row) for row in place[0]],
            "row": list(place[1]),
            "instead_of": list(place[2]),
            "subset": list(place[3]),
        },
        "summary": f"the largest probability ratio between neighbors is exactly {show(largest)}, over all "
        f"{datasets} binary datasets of at most {subjects} common rows and {items} items with jitter {show(jitter)}",
    }


def _law(dataset: tuple[Row, ...], items: int, jitter: fmpq, outputs: list[Row]) -> Law:
    """Probabilities of `outputs` under the kernel of these rows, in their order."""
    kernel = [
        [sum((row[i] * row[j] for row in dataset), fmpq(0)) + (jitter if i == j else fmpq(0)) for j in range(items)]
        for i in range(items)
    ]
    weights = [_determinant([[kernel[i][j] for j in y] for i in y]) for y in outputs]
    total = sum(weights, fmpq(0))
    if len(outputs) == 2**items:
        shifted = [[cell + fmpq(int(i == j)) for j, cell in enumerate(row)] for i, row in enumerate(kernel)]
        if total != _determinant(shifted):
            raise Rejected("the determinants do not add up to det(L + I)")
    return [weight / total for weight in weights]


def _determinant(matrix: list[list[fmpq]]) -> fmpq:
    return fmpq_mat(matrix).det() if matrix else fmpq(1)
