"""Reads mechanisms' datasets and outputs from certificates, and writes them in a result.

A result restates what it is about, so that no digit of the inputs can change unnoticed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq

from dpassay.replay import Rejected
from dpassay.replay.laws import law_module
from dpassay.replay.numbers import rational, show

Dataset = tuple[tuple[fmpq | None, ...], ...]
Output = tuple[int, ...]


def read_dataset(rows: Sequence[Sequence[Any]], scale: Sequence[fmpq] | None = None) -> Dataset:
    """A matrix of ratings, None where missing; raises `Rejected` unless it is one, on the scale if that is given."""
    dataset: Dataset = tuple(tuple(None if value is None else rational(value) for value in row) for row in rows)
    if not dataset or not dataset[0] or len({len(row) for row in dataset}) > 1:
        raise Rejected("a dataset must be a matrix of at least 1 user and 1 item")
    outside = [
        value for row in dataset for value in row if value is not None and scale is not None and value not in scale
    ]
    if outside:
        raise Rejected(f"the rating {show(outside[0])} is not on the scale")
    return dataset


def read_event(outputs: Sequence[Sequence[Any]], mechanism: Mapping[str, Any], dataset: Dataset) -> list[Output]:
    """Distinct outputs of a mechanism; raises `Rejected` for anything else."""
    read = law_module(mechanism).read_output
    event: list[Output] = [read(output, mechanism, dataset) for output in outputs]
    if not event or len(set(event)) < len(event):
        raise Rejected("the event must be a list of distinct outputs, at least one")
    return event


def mechanism_text(mechanism: Mapping[str, Any]) -> str:
    """Id, variant and every parameter."""
    parameters = ", ".join(f"{name} {value}" for name, value in sorted(mechanism["parameters"].items()))
    return f"{mechanism['id']} ({mechanism['variant']}): {parameters}"


def dataset_text(dataset: Dataset) -> str:
    """Rows separated by "|", a missing rating as "."."""
    return " | ".join(" ".join("." if value is None else show(value) for value in row) for row in dataset)


def rows_text(rows: Sequence[int]) -> str:
    """One output."""
    return "{" + ", ".join(str(row) for row in rows) + "}"
