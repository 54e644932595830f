"""Turns any output of a mechanism into a row of finite numbers, on which events are learned and counted.

Every step is a function of the output alone that was fixed on training samples, so it is post-processing: it cannot add
privacy loss (Dwork and Roth 2014, proposition 2.1), and events of the rows are events of the outputs.

What is not a number gets columns of its own: NaN and infinities, None, strings, elements of sets, lengths of sequences,
exceptions. With the representation "values", floating-point columns are rounded to a grid of about 2^-20 of their
spread in training, far below the noise, so that artefacts of floating-point arithmetic (Mironov 2012) are not judged;
with "bits" they are kept as they are, and columns that describe their bits are added.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dpassay.errors import InvalidInput

__all__ = ["Encoder", "Raised", "Representation", "fit_encoder", "plain"]

Representation = Literal["values", "bits"]

_GRID = 2.0**-20  # of the spread
_REACH = 64.0  # spreads beyond what training saw at which values are clipped
_HUGE = 1e30  # keeps float32 features finite
_POSITIONS = 256  # of a sequence that get columns
_VOCABULARY = 64  # values of one place that get an indicator
_COLUMNS = 4096


@dataclass(frozen=True)
class Raised:
    """The output of a call that raised an exception: an observer sees that, too."""

    kind: str

    def __str__(self) -> str:
        return f"raised {self.kind}"


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fixed map from outputs to feature vectors.

    Attributes:
        names: of the columns, for humans: "output", "output[3]", "length", "output is NaN", "contains 'x'".
        discrete: whether a column takes few values, so that counting them makes sense.
        traceable: whether `features` may be called inside `jax.jit` on arrays.
    """

    names: tuple[str, ...]
    discrete: tuple[bool, ...]
    encode: Callable[[Any], Any]
    traceable: bool = True

    def features(self, outputs: Any) -> Any:
        """Feature vectors, shape (samples, columns), finite, float32 or float64.

        Args:
            outputs: an array or a pytree of arrays, first axis the samples, or a list of Python objects; of the sort
                that the encoder was fitted on.
        """
        return self.encode(outputs)


def fit_encoder(outputs1: Any, outputs2: Any, *, representation: Representation = "values") -> Encoder:
    """Learns the columns from training samples under both datasets.

    Args:
        outputs1: outputs under dataset 1: an array, a tuple or dict of arrays (any pytree), first axis the samples, or
            a list with one Python object per sample: numbers, arrays, strings, None, sets, dicts, sequences of varying
            length, `Raised`.
        outputs2: outputs under dataset 2, likewise.
        representation: "values" rounds floating-point columns to a fine grid; "bits" keeps them and adds columns of
            their bits (`dpassay.auditors.bits`).

    Raises:
        InvalidInput: an unknown representation, or no outputs.
    """
    if representation not in ("values", "bits"):
        raise InvalidInput(f"representation is {representation!r}; choose values or bits")
    if isinstance(outputs1, list) or isinstance(outputs2, list):
        return _fit_objects(list(outputs1), list(outputs2), representation)
    return _fit_arrays(outputs1, outputs2, representation)


def plain(outputs: Any) -> Any:
    """Array or tuple of arrays from a list of Python numbers or arrays of one shape; None where they differ in kind."""
    if not len(outputs):
        return None
    kinds = set(map(type, outputs))
    if kinds <= _SCALARS:
        return _stacked(outputs)
    if all(issubclass(kind, np.ndarray) for kind in kinds):
        alike = len({(value.shape, value.dtype.kind) for value in outputs}) == 1
        return np.stack(outputs) if alike and outputs[0].dtype.kind in "biuf" else None
    if len(kinds) == 1 and kinds <= {tuple, list} and len(set(map(len, outputs))) == 1 and len(outputs[0]):
        if {type(element) for value in outputs for element in value} <= _SCALARS:
            return _stacked(outputs)
        columns = [plain([value[index] for value in outputs]) for index in range(len(outputs[0]))]
        return None if any(column is None for column in columns) else tuple(columns)
    if all(_is_array(value) for value in outputs):
        return plain([np.asarray(value) for value in outputs])
    return None


_SCALARS = {bool, int, float, np.bool_, np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8} | {
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
}


def _stacked(outputs: Any) -> np.ndarray | None:
    try:
        array = np.array(outputs)
    except (OverflowError, ValueError):
        return None
    return array if array.dtype.kind in "biuf" else None  # integers beyond 64 bits become objects


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and hasattr(value, "shape") and hasattr(value, "dtype")


# Arrays and pytrees of arrays.


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Columns of one array, whose trailing axes are flattened into m columns."""

    names: tuple[str, ...]
    discrete: tuple[bool, ...]
    shape: tuple[int, ...]
    kind: str
    neutral: np.ndarray
    grid: np.ndarray | None
    low: np.ndarray
    high: np.ndarray
    nan: np.ndarray  # columns that get an indicator
    up: np.ndarray
    down: np.ndarray
    wide: np.ndarray  # integers that the features' type cannot hold
    bits: bool

    def encode(self, values: Any, xp: Any, dtype: Any) -> list[Any]:
        columns = values.reshape(values.shape[0], -1)
        if self.kind == "f":
            own = columns.dtype if columns.dtype.itemsize >= 4 else np.float32
            neutral, low, high = (part.astype(own) for part in (self.neutral, self.low, self.high))
            finite = xp.where(xp.isnan(columns), neutral, xp.clip(columns, low, high))
            if self.grid is not None:
                inverse, grid = (1 / self.grid).astype(own), self.grid.astype(own)
                finite = xp.round(finite * inverse) * grid
            parts = [finite.astype(dtype)]
            for chosen, test in ((self.nan, xp.isnan), (self.up, xp.isposinf), (self.down, xp.isneginf)):
                if len(chosen):
                    parts.append(test(columns[:, chosen]).astype(dtype))
        else:
            parts = [columns.astype(dtype)]
            if len(self.wide):
                parts.append((columns[:, self.wide] & columns.dtype.type(0xFFFF)).astype(dtype))
        if self.bits:
            from dpassay.auditors.bits import columns as bit_columns

            parts.append(np.asarray(bit_columns(np.asarray(values))[0], dtype))
        return parts


def _fit_arrays(outputs1: Any, outputs2: Any, representation: Representation) -> Encoder:
    import jax

    (paths, tree1), (others, tree2) = (jax.tree_util.tree_flatten_with_path(side) for side in (outputs1, outputs2))
    if not paths or str(tree1) != str(tree2):
        raise InvalidInput("the two datasets' outputs have different structures; give them as lists of Python objects")
    pairs = [
        (_split(np.asarray(one)), _split(np.asarray(two))) for (_, one), (_, two) in zip(paths, others, strict=True)
    ]
    narrow = all(part.dtype.itemsize <= 4 for one, _ in pairs for part in one)
    dtype = np.float32 if narrow else np.float64
    leaves: list[list[_Leaf]] = []
    for (path, _), (one, two) in zip(paths, pairs, strict=True):
        name = "output" + jax.tree_util.keystr(path)
        labels = [name] if len(one) == 1 else [f"{name}.real", f"{name}.imag"]
        leaves.append(
            [
                _fit_leaf(label, part1, part2, dtype, representation)
                for label, part1, part2 in zip(labels, one, two, strict=True)
            ]
        )

    def encode(outputs: Any) -> Any:
        arrays = jax.tree_util.tree_leaves(outputs)
        traced = any(isinstance(array, jax.Array) for array in arrays)
        xp = jax.numpy if traced else np
        parts = [
            part
            for array, group in zip(arrays, leaves, strict=True)
            for piece, leaf in zip(_split(array if traced else np.asarray(array)), group, strict=True)
            for part in leaf.encode(piece, xp, dtype)
        ]
        return parts[0] if len(parts) == 1 else xp.concatenate(parts, axis=1)

    flat = [leaf for group in leaves for leaf in group]
    return Encoder(
        tuple(name for leaf in flat for name in leaf.names),
        tuple(flag for leaf in flat for flag in leaf.discrete),
        encode,
        traceable=not any(leaf.bits for leaf in flat),
    )


def _split(array: Any) -> list[Any]:
    return [array.real, array.imag] if np.iscomplexobj(array) else [array]


def _fit_leaf(name: str, one: np.ndarray, two: np.ndarray, dtype: Any, representation: Representation) -> _Leaf:
    if one.shape[1:] != two.shape[1:]:
        raise InvalidInput(f"{name} has shape {one.shape[1:]} on dataset 1 and {two.shape[1:]} on dataset 2")
    if len(one) + len(two) == 0:
        raise InvalidInput("no outputs to learn the columns from; draw at least one sample per dataset")
    kind = "f" if one.dtype.kind == "f" else "i"
    sides = [side.reshape(len(side), -1) for side in (one, two)]
    values = np.concatenate(sides)
    size = values.shape[1]
    names = [name] if one.ndim == 1 else [f"{name}[{','.join(map(str, at))}]" for at in np.ndindex(one.shape[1:])]
    nothing = np.zeros(0, np.intp)
    if kind == "i":
        wide = nothing
        if values.dtype.kind != "b" and len(values):
            limit = 2.0 ** (24 if dtype == np.float32 else 53)
            wide = np.flatnonzero(np.abs(values.astype(float)).max(axis=0) > limit)
        names += [f"{names[index]} mod 65536" for index in wide]
        empty = np.zeros(size)
        return _Leaf(
            tuple(names), (True,) * len(names), one.shape[1:], kind, empty, None, empty, empty, nothing, nothing,
            nothing, wide, False,
        )  # fmt: skip
    fits = [_fit_column(values[:, index], [side[:, index] for side in sides]) for index in range(size)]
    marks = {
        label: np.flatnonzero(test(values).any(axis=0))
        for label, test in (("NaN", np.isnan), ("inf", np.isposinf), ("-inf", np.isneginf))
    }
    discrete = [fit.discrete for fit in fits]
    base = list(names)
    for label, chosen in marks.items():
        names += [f"{base[index]} is {label}" for index in chosen]
        discrete += [True] * len(chosen)
    bits = representation == "bits"
    if bits:
        from dpassay.auditors.bits import columns as bit_columns

        extra = bit_columns(np.concatenate([one, two]))[1]
        names += list(extra)
        discrete += [True] * len(extra)
    return _Leaf(
        tuple(names),
        tuple(discrete),
        one.shape[1:],
        kind,
        np.array([fit.neutral for fit in fits]),
        None if bits else np.array([fit.grid for fit in fits]),
        np.array([fit.low for fit in fits]),
        np.array([fit.high for fit in fits]),
        marks["NaN"],
        marks["inf"],
        marks["-inf"],
        nothing,
        bits,
    )


@dataclass(frozen=True)
class _Column:
    neutral: float
    grid: float
    low: float
    high: float
    discrete: bool


def _fit_column(values: np.ndarray, sides: Sequence[np.ndarray]) -> _Column:
    """Neutral value, grid (a power of two, so that rounding to it is exact) and limits of one column of numbers."""
    finite = values[np.isfinite(values)].astype(float)
    finite = finite[np.abs(finite) <= _HUGE]
    if not len(finite):
        return _Column(0.0, 1.0, -1.0, 1.0, True)
    extent = float(np.ptp(finite))
    spread = _spread(sides) or extent or abs(float(finite[0])) or 1.0
    whole = bool((finite == np.round(finite)).all())
    grid = 2.0 ** math.floor(math.log2(max(spread, 1e-280))) * _GRID
    if whole:
        grid = min(grid, 1.0)
    reach = _REACH * max(extent, spread)
    low, high = max(float(finite.min()) - reach, -_HUGE), min(float(finite.max()) + reach, _HUGE)
    distinct = len(np.unique(finite))
    neutral = float(np.sort(finite)[len(finite) // 2])  # a value that occurs, not a mean of two
    return _Column(neutral, grid, low, high, whole or distinct <= len(finite) // 4)


def _spread(sides: Sequence[np.ndarray]) -> float:
    """The smaller interquartile range of the two sides that is not zero: datasets far apart must not hide the noise."""
    ranges = []
    for side in sides:
        finite = side[np.isfinite(side)].astype(float)
        if len(finite):
            quarter, rest = np.quantile(finite, [0.25, 0.75])
            ranges.append(float(rest - quarter))
    return min((value for value in ranges if 0 < value < math.inf), default=0.0)


# Lists of Python objects.


def _fit_objects(outputs1: list[Any], outputs2: list[Any], representation: Representation) -> Encoder:
    if not outputs1 or not outputs2:
        raise InvalidInput("no outputs to learn the columns from; draw at least one sample per dataset")
    array = plain(outputs1 + outputs2)
    if array is None:
        return _fit_records(outputs1, outputs2, representation)
    import jax

    cut = len(outputs1)
    inner = _fit_arrays(
        jax.tree.map(lambda leaf: leaf[:cut], array), jax.tree.map(lambda leaf: leaf[cut:], array), representation
    )
    pattern = _pattern(array)
    first = jax.tree.map(lambda leaf: leaf[:1], array)
    row = inner.features(first)

    def encode(outputs: Any) -> np.ndarray:
        stacked = outputs if not isinstance(outputs, list) else plain(outputs)
        if stacked is not None and _pattern(stacked) == pattern:
            rows = inner.features(stacked)
            return np.concatenate([rows, np.zeros((len(rows), 1), rows.dtype)], axis=1)
        # Some output is unlike those of training: it is "unseen", whatever it is.
        rows = np.concatenate([np.repeat(row, len(outputs), axis=0), np.ones((len(outputs), 1), row.dtype)], axis=1)
        singles = [plain([value]) for value in outputs]
        known = [index for index, single in enumerate(singles) if single is not None and _pattern(single) == pattern]
        if known:
            joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *[singles[index] for index in known])
            rows[known, :-1] = inner.features(joined)
            rows[known, -1] = 0
        return rows

    return Encoder((*inner.names, "unseen output"), (*inner.discrete, True), encode, traceable=False)


def _pattern(array: Any) -> Any:
    """What must agree between arrays of one encoder: structure, shapes, and whether numbers are whole or not."""
    if isinstance(array, tuple):
        return tuple(_pattern(part) for part in array)
    return array.shape[1:], "f" if array.dtype.kind == "f" else "i"


Place = tuple[str, str]  # where in the output, and which kind of entry: number, category, member
Record = dict[Place, Any]


def _fit_records(outputs1: list[Any], outputs2: list[Any], representation: Representation) -> Encoder:
    records = [_record(output) for output in (*outputs1, *outputs2)]
    half = len(outputs1)
    places: dict[Place, list[tuple[int, Any]]] = {}
    for index, record in enumerate(records):
        for place, value in record.items():
            places.setdefault(place, []).append((index, value))
    columns: list[_Entry] = []
    for place, found in sorted(places.items(), key=lambda item: _natural(item[0])):
        if len(columns) >= _COLUMNS:
            break
        columns += _entries(place, found, half, len(records), representation)
    known = frozenset(places)

    def encode(outputs: Any) -> np.ndarray:
        rows = [_record(output) for output in outputs]
        result = np.zeros((len(rows), len(columns) + 1))
        for index, column in enumerate(columns):
            result[:, index] = [column.of(row.get(column.place)) for row in rows]
        result[:, -1] = [
            any(_unseen(place, value, known, vocabularies) for place, value in row.items()) for row in rows
        ]
        return result

    vocabularies = {
        place: frozenset(value for _, value in found) for place, found in places.items() if place[1] == "category"
    }
    names = (*(column.name for column in columns), "unseen output")
    return Encoder(names, (*(column.discrete for column in columns), True), encode, traceable=False)


@dataclass(frozen=True)
class _Entry:
    """One column of a record: `of` maps the entry at `place`, None when missing, to a finite number."""

    name: str
    discrete: bool
    place: Place
    of: Callable[[Any], float]


def _entries(
    place: Place, found: list[tuple[int, Any]], half: int, total: int, representation: Representation
) -> list[_Entry]:
    name, kind = place
    if kind == "member":
        return [_Entry(name, True, place, lambda value: float(value is not None))]
    if kind == "length":
        return [_Entry(name, True, place, lambda value: -1.0 if value is None else float(value))]
    entries = []
    if kind == "category":
        counts = Counter(value for _, value in found)
        for value, _ in sorted(counts.most_common(_VOCABULARY), key=lambda item: item[0]):
            entries.append(_Entry(f"{name} {value}", True, place, partial(_equals, value)))
        if len(counts) > _VOCABULARY:  # the others by how much likelier they were under dataset 1
            ones = Counter(value for index, value in found if index < half)
            ranked = sorted(counts, key=lambda value: ((ones[value] + 0.5) / (counts[value] + 1), value))
            code = {value: float(rank) for rank, value in enumerate(ranked)}
            neutral = float(len(ranked) // 2)
            entries.append(_Entry(f"{name} (rank)", True, place, lambda entry: code.get(entry, neutral)))
        return entries
    numbers = [np.array([float(value) for index, value in found if (index < half) == first]) for first in (True, False)]
    values = np.concatenate(numbers)
    fit = _fit_column(values, numbers)
    exact = all(isinstance(value, bool | int) for _, value in found)
    grid = 0.0 if exact or representation == "bits" else fit.grid
    entries.append(_Entry(name, exact or fit.discrete, place, lambda value: _number(value, fit, grid)))
    for label, test in (("NaN", np.isnan), ("inf", np.isposinf), ("-inf", np.isneginf)):
        if test(values).any():
            entries.append(_Entry(f"{name} is {label}", True, place, partial(_passes, test)))
    if representation == "bits" and not exact:
        entries += _bit_entries(place, values)
    if len(found) < total and not re.search(r"\[\d+\]$", name):  # positions: the length tells
        entries.append(_Entry(f"{name} is a number", True, place, lambda value: float(value is not None)))
    return entries


def _bit_entries(place: Place, values: np.ndarray) -> list[_Entry]:
    from dpassay.auditors.bits import columns

    def of(index: int, value: Any) -> float:
        return 0.0 if value is None else float(columns(np.array([float(value)]))[0][0, index])

    return [_Entry(name, True, place, partial(of, index)) for index, name in enumerate(columns(values)[1])]


def _equals(known: str, entry: Any) -> float:
    return float(entry == known)


def _passes(test: Callable[[Any], Any], entry: Any) -> float:
    return float(entry is not None and bool(test(float(entry))))


def _number(value: Any, fit: _Column, grid: float) -> float:
    if value is None:
        return fit.neutral
    number = float(value)
    if math.isnan(number):
        return fit.neutral
    if grid == 0.0 and isinstance(value, int):
        return max(-_HUGE, min(_HUGE, number))
    number = max(fit.low, min(fit.high, number))
    return number if grid == 0.0 else round(number / grid) * grid


def _unseen(place: Place, value: Any, known: frozenset[Place], vocabularies: Mapping[Place, frozenset[str]]) -> bool:
    return place not in known or (place in vocabularies and value not in vocabularies[place])


def _record(output: Any) -> Record:
    into: Record = {}
    _enter(output, "output", into, 0)
    return into


def _enter(value: Any, name: str, into: Record, depth: int) -> None:
    """Writes one value, and what it holds, into a flat record."""
    if len(into) >= _COLUMNS:
        return
    if _is_array(value) and not isinstance(value, np.generic):
        value = np.asarray(value)
        if value.ndim == 0:
            value = value[()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | float):
        into[name, "number"] = value
    elif isinstance(value, int):
        into[name, "number"] = value if abs(value) < 2**1000 else math.copysign(_HUGE, value)
    elif isinstance(value, complex):
        into[f"{name}.real", "number"], into[f"{name}.imag", "number"] = value.real, value.imag
    elif isinstance(value, Raised):
        into[name, "category"] = str(value)
    elif isinstance(value, AbstractSet):
        into[_inside(name, "size"), "length"] = len(value)
        for element in value:
            into[f"{name} contains {_text(element)}", "member"] = True
    elif isinstance(value, Mapping) and depth < 8:
        into[_inside(name, "size"), "length"] = len(value)
        for key in value:
            _enter(value[key], f"{name}[{_text(key)}]", into, depth + 1)
    elif isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
        into[_inside(name, "length"), "length"] = len(value)
        for index, element in enumerate(value[:_POSITIONS]):
            _enter(element, f"{name}[{index}]", into, depth + 1)
    else:
        into[name, "category"] = f"is {_text(value)}"


def _inside(name: str, what: str) -> str:
    return what if name == "output" else f"{what} of {name}"


def _text(value: Any) -> str:
    """A repr that does not depend on where an object lies in memory."""
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:
        return f"a {type(value).__name__}"
    return f"a {type(value).__name__}" if re.search(r" at 0x[0-9a-f]+", text) else text


def _natural(place: Place) -> tuple[Any, ...]:
    """Sorts output[2] before output[10]."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", " ".join(place)))
