"""What the tables of several experiments share: runs grouped by their settings, and cells of one form."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dpassay.core.records import Series
from dpassay.runs.results import mean_interval


def grouped(runs: Iterable[Mapping[str, Any]], names: Sequence[str]) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Values of the named settings -> the runs that have them, both in the order of the runs."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(tuple(run[name] for name in names), []).append(run)
    return groups


def by_reader(records: Iterable[Mapping[str, Any]], name: str) -> dict[int, float]:
    """User number of every reader -> what was noted for her under this name, all folds together."""
    pairs = (zip(each["readers_list"], each[f"{name}_by_reader"], strict=True) for each in records)
    return dict(itertools.chain.from_iterable(pairs))


def without_lists(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The records as results show them: what was noted for every reader is left out."""
    return [{name: value for name, value in record.items() if not isinstance(value, list)} for record in records]


def mean_of(runs: Iterable[Mapping[str, Any]], name: str) -> float:
    """The mean over runs of what they call `name`."""
    return float(np.mean([run[name] for run in runs]))


def mean_series(label: str, values: Mapping[float, Sequence[float]]) -> Series:
    """The mean of the values at every place, with its 95% t-interval."""
    mean, low, high = (list(ends) for ends in zip(*map(mean_interval, values.values()), strict=True))
    return Series(label, list(values), mean, low=low, high=high)


def difference(mean: float, low: float, high: float) -> str:
    """A mean difference and its interval; 0 where nothing differs."""
    return f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]" if mean or low or high else "0"
