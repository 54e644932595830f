"""What the tables of several experiments share: runs grouped by their settings, and cells of one form."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def grouped(runs: Iterable[Mapping[str, Any]], names: Sequence[str]) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    """Values of the named settings -> the runs that have them, both in the order of the runs."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault(tuple(run[name] for name in names), []).append(run)
    return groups


def difference(mean: float, low: float, high: float) -> str:
    """A mean difference and its interval; 0 where nothing differs."""
    return f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]" if mean or low or high else "0"
