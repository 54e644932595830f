"""Events in the words of whoever wrote the mechanism: Python expressions of `output` where there are any."""

import itertools
import math
import re
from collections.abc import Sequence

import numpy as np

LISTED = 8  # outcomes, or parts of one, that are written out
UNSEEN = "unseen output"  # the name of the column that is 1 for outputs unlike those of training
TRUTH = " is True"  # ends the names of columns that are True or False

_ITEM = re.compile(rf"(.*)\[(\d+)\]({TRUTH})?")

_MARK = re.compile(r"""unseen|[^\[\]]*(\[('[^']*'|"[^"]*"|[^]'"]*)\][^\[\] ]*)* (is|contains|raised) """)


def threshold(name: str, cut: float, above: bool) -> str:
    """For example "output >= 3.25", or "output is None" for a column that is 1 or 0."""
    if name.endswith(TRUTH) and 0 < cut <= 1:
        return _truth(name, above)
    if is_mark(name) and 0 < cut <= 1:
        return name if above else f"not ({name})"
    return f"{name} {'>=' if above else '<'} {cut:g}"


def interval(name: str, low: float, high: float) -> str:
    """The event that a column is at least `low` and below `high`, of which one may be infinite."""
    if low == -math.inf:
        return threshold(name, high, False)
    return threshold(name, low, True) if high == math.inf else f"{low:g} <= {name} < {high:g}"


def is_mark(name: str) -> bool:
    """Whether a column of `Encoder.names` says if something is so, 1, or not, 0."""
    return _MARK.match(name) is not None


def joined(names: Sequence[str]) -> tuple[str, str, str]:
    """The names of the sum, the largest and the smallest of all columns."""
    items = [name for name in names if name != UNSEEN]
    places = {found[1] if (found := _ITEM.fullmatch(name)) else "" for name in items}
    whole = places.pop() if len(places) == 1 else ""
    if whole:
        among = whole if len(items) == len(names) else f"*{whole}, 0"  # what was seen has a 0 in the last column
        return f"sum({whole})", f"max({among})", f"min({among})"
    return "sum of all numbers", "largest number", "smallest number"


def one_of(words: Sequence[str], more: int, inside: bool) -> str:
    """The event that the outcome is one of those `words` describe or of `more`, or that it is none of them."""
    parts = [word.split(" == ") for word in words]
    if all(len(part) == 2 and part[0] == parts[0][0] and not part[1].startswith("[") for part in parts):
        listed = ", ".join(part[1] for part in parts)
        if len(words) == 1 and not more:
            return f"{parts[0][0]} {'==' if inside else '!='} {listed}"
        return f"{parts[0][0]} {'in' if inside else 'not in'} {{{listed}{f', {more} more' if more else ''}}}"
    text = " or ".join(words) + (f" or {more} more outcomes" if more else "")
    return text if inside else f"not ({text})"


def outcome(row: np.ndarray, names: Sequence[str]) -> str:
    """An outcome, shape (columns,), in words: its sequences, its other numbers, and what is true of it."""
    values = dict(zip(names, row.tolist(), strict=True))
    parts = []
    for whole, items in _sequences(names).items():
        length = values.pop(f"len({whole})", len(items))
        shown = [_item(values.pop(name), name) for name in items][: max(int(length), 0)]
        if length >= 0:
            parts.append(_sequence(whole, shown, int(length)))
    truths = [name for name in values if name.endswith(TRUTH)]
    parts += [_truth(name, bool(values.pop(name))) for name in truths]
    true = [name for name, value in values.items() if value and is_mark(name)]
    empty = tuple(f"{name[4:-1]}[" for name, value in values.items() if name.startswith("len(") and value == 0)
    # The number beside a mark such as "is None", and that of an item where there is none, only fill the place.
    parts += [
        f"{name} == {value:g}"
        for name, value in values.items()
        if not is_mark(name) and not name.startswith(empty) and not any(mark.startswith(f"{name} is ") for mark in true)
    ]
    parts += true
    if not parts:
        return f"not ({' or '.join([*names[:LISTED], *['...'][: len(names) > LISTED]])})"
    return " and ".join([*parts[:LISTED], *["..."][: len(parts) > LISTED]])


def _sequences(names: Sequence[str]) -> dict[str, list[str]]:
    """The columns of every sequence of which all items, and nothing else of them, have columns."""
    found: dict[str, list[str]] = {}
    for name in names:
        if item := _ITEM.fullmatch(name):
            found.setdefault(item[1], []).append(name)
    marks = [name for name in names if is_mark(name)]
    return {
        whole: items
        for whole, items in found.items()
        if len(items) > 1
        and [name[len(whole) :].removesuffix(TRUTH) for name in items] == [f"[{at}]" for at in range(len(items))]
        and not any(mark.startswith(f"{whole}[") and mark not in items for mark in marks)
    }


def _truth(name: str, value: bool) -> str:
    return f"{name.removesuffix(TRUTH)} is {value}"


def _item(value: float, name: str) -> str:
    return str(bool(value)) if is_mark(name) else f"{value:g}"


def _sequence(whole: str, items: Sequence[str], length: int) -> str:
    """A short sequence as it is, a long one by its runs."""
    if length <= LISTED:
        return f"{whole} == [{', '.join(items)}]"
    runs = [(item, len(list(run))) for item, run in itertools.groupby(items)]
    words = [
        item if size == 1 else f"{size} {item}" if item in ("True", "False") else f"{size} times {item}"
        for item, size in runs[:LISTED]
    ]
    return f"{whole} is {', then '.join(words)}{', then ...' if len(runs) > LISTED or length > len(items) else ''}"
