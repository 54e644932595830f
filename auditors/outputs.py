"""Turns any output of a mechanism into a row of finite numbers, on which events are learned and counted.

Every step is a function of the output alone that was fixed on training samples, so it is post-processing: it cannot add
privacy loss (Dwork and Roth 2014, proposition 2.1), and events of the rows are events of the outputs.

What is not a number gets columns of its own: NaN and infinities, None, strings, elements of sets, lengths of sequences,
exceptions. Objects are opened (`dpassay.auditors.opening`): their fields count, and the numbers in texts. With the
representation "values", floating-point columns are rounded to a grid of about 2^-20 of their spread in training, far
below the noise, so that artefacts of floating-point arithmetic (Mironov 2012) are not judged; with "bits" they are kept
as they are, and columns that describe their bits are added.
"""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Literal

import numpy as np

from dpassay.auditors.bits import BitColumns
from dpassay.auditors.opening import BASIC, Label, opened, split_text
from dpassay.auditors.wording import TRUTH, UNSEEN
from dpassay.core.errors import InvalidInput

Representation = Literal["values", "bits"]

_FIELD = re.compile(r"\['\.(\w+)'\]")  # an attribute of an object, see `opened`
_GRID = 2.0**-20  # of the spread
_REACH = 2.0**60  # extents of what training saw, beyond it, at which values are clipped
_COARSE = 2.0**20  # spreads from 0, from where on float32 numbers are too far apart: the rest gets a column of its own
_HUGE = 1e30  # keeps float32 features finite
_EXACT = 1 << 24  # whole numbers up to this are float32 numbers
_POSITIONS = 256  # of a sequence that get columns
_VOCABULARY = 64  # values of one place that get an indicator
_COLUMNS = 4096
_DEPTH = 8  # of values within values

_LABELS = (str, bytes, type(None), Enum, Label)  # equal ones are encoded once


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fixed map from outputs to feature vectors.

    Attributes:
        names: of the columns, for humans: "output", "output[3]", "len(output)", "output is NaN".
        discrete: whether a column takes few values, so that counting them makes sense.
        encode: from outputs to feature vectors with NaN for what is no number; can be sent to other processes.
        blanks: shape (columns,), float32, what stands for NaN in features.
        low: shape (columns,), float32; numbers below it, or above `high`, are not told apart.
        high: shape (columns,), float32.
        told: shape (columns,), whether another column tells that the number is NaN.
        traceable: whether `features` may be called inside `jax.jit` on arrays.
        found: what the training samples showed about the outputs' floating-point form, in sentences.
        warnings: what of the outputs has no column, in sentences.
    """

    names: tuple[str, ...]
    discrete: tuple[bool, ...]
    encode: Callable[[Any], Any]
    blanks: np.ndarray
    low: np.ndarray
    high: np.ndarray
    told: np.ndarray
    traceable: bool = True
    found: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def features(self, outputs: Any) -> Any:
        """Feature vectors, shape (samples, columns), finite, float32.

        Args:
            outputs: an array or a pytree of arrays, first axis the samples, or a list of Python objects; of the sort
                that the encoder was fitted on.
        """
        return self.filled(self.encode(outputs))

    def filled(self, encoded: Any) -> Any:
        """`features` from what `encode` gave, shape (samples, columns)."""
        if isinstance(encoded, np.ndarray):
            return np.where(np.isnan(encoded), self.blanks, encoded)
        import jax.numpy as jnp

        return jnp.where(jnp.isnan(encoded), self.blanks, encoded)

    def misses(self, encoded: np.ndarray) -> np.ndarray:
        """Which outputs hold what no column tells: boolean of shape (samples,), from what `encode` gave."""
        beyond = (encoded < self.low) | (encoded > self.high)
        found: np.ndarray = (beyond | (np.isnan(encoded) & ~self.told)).any(axis=1)
        return found


def fit_encoder(outputs1: Any, outputs2: Any, *, representation: Representation = "values") -> Encoder:
    """Learns the columns from training samples under both datasets.

    Args:
        outputs1: outputs under dataset 1: an array, a tuple or dict of arrays (any pytree), first axis the samples, or
            a list with one Python object per sample: numbers, arrays, strings, None, sets, dicts, sequences of varying
            length, `Raised`, and objects made of such.
        outputs2: outputs under dataset 2, likewise.
        representation: "values" rounds floating-point columns to a fine grid; "bits" keeps them and adds columns of
            their bits (`dpassay.auditors.bits`).

    Raises:
        InvalidInput: an unknown representation, no outputs, or an output that nothing can be read from.
    """
    if representation not in ("values", "bits"):
        raise InvalidInput(f"representation is {representation!r}; choose values or bits")
    if isinstance(outputs1, list) or isinstance(outputs2, list):
        return _fit_objects(list(outputs1), list(outputs2), representation)
    return _fit_arrays(outputs1, outputs2, representation)


def plain(outputs: Any, depth: int = 0) -> Any:
    """Arrays from a list of Python numbers, arrays, tuples, dicts or objects of one form; None where they differ."""
    if not len(outputs) or depth > _DEPTH:
        return None
    kinds = set(map(type, outputs))
    if not kinds <= BASIC:
        outputs = [opened(output) for output in outputs]
        kinds = set(map(type, outputs))
    if kinds <= _SCALARS:
        return _stacked(outputs)
    if all(issubclass(kind, np.ndarray) for kind in kinds):
        alike = len({(value.shape, value.dtype.kind) for value in outputs}) == 1
        return np.stack(outputs) if alike and outputs[0].size and outputs[0].dtype.kind in "biuf" else None
    if len(kinds) == 1 and kinds <= {tuple, list} and len(set(map(len, outputs))) == 1 and len(outputs[0]):
        if {type(element) for value in outputs for element in value} <= _SCALARS:
            return _stacked(outputs)
        columns = [plain([value[index] for value in outputs], depth + 1) for index in range(len(outputs[0]))]
        return None if any(column is None for column in columns) else tuple(columns)
    if kinds == {dict} and all(isinstance(key, str) for key in outputs[0]) and len(outputs[0]):
        if any(value.keys() != outputs[0].keys() for value in outputs):
            return None
        fields = {key: plain([value[key] for value in outputs], depth + 1) for key in outputs[0]}
        return None if any(field is None for field in fields.values()) else fields
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


# Arrays and pytrees of arrays.


@dataclass(frozen=True, eq=False)
class _Floats:
    """How numbers become features, one entry per column: clipped, moved so that float32 holds them, and rounded.

    A column far from 0 compared with its spread is measured from `offset`; `neutral` stands for what is no number.
    Beyond `coarse` float32 numbers are too far apart; `split` are the places of columns that have such numbers.
    """

    neutral: np.ndarray
    grid: np.ndarray
    low: np.ndarray
    high: np.ndarray
    offset: np.ndarray
    discrete: np.ndarray
    coarse: np.ndarray
    split: np.ndarray

    @classmethod
    def fit(cls, sides: Sequence[np.ndarray]) -> "_Floats":
        """Learns from two arrays of shape (samples, columns)."""
        parts = [side.astype(float) for side in sides]
        empty = np.ones(parts[0].shape[1], bool)
        for part in parts:
            part[~(np.abs(part) <= _HUGE)] = np.nan
            empty &= np.isnan(part).all(axis=0)
        values = np.concatenate(parts)
        values[:, empty] = 0.0
        count = np.sum(~np.isnan(values), axis=0)
        ordered, columns = np.sort(values, axis=0), np.arange(values.shape[1])  # NaN last
        least, most = ordered[0], ordered[count - 1, columns]
        extent, size = most - least, np.maximum(np.abs(least), np.abs(most))
        neutral = ordered[count // 2, columns]  # a value that occurs, not a mean of two
        distinct = 1 + np.sum(np.diff(ordered, axis=0) > 0, axis=0)
        whole = np.all(np.isnan(values) | (values == np.round(values)), axis=0)
        widths = [_width(part) for part in parts]
        # The smaller one that is not 0: datasets far apart must not hide the noise.
        spread = np.minimum(*(np.where(width > 0, width, np.inf) for width in widths))
        for other in (extent, size, np.ones_like(size)):
            spread = np.where(np.isfinite(spread), spread, np.where(other > 0, other, np.inf))
        grid = np.exp2(np.floor(np.log2(np.clip(spread, 1e-25, _HUGE)))) * _GRID
        grid = np.where(whole, np.minimum(grid, 1.0), grid)
        # No product with 1 / grid may leave float32.
        reach = np.minimum(_REACH * np.maximum(extent, spread), np.minimum(grid * 2.0**120, _HUGE))
        # float32 has 24 bits: far from 0, steps of the grid would be lost.
        offset = np.where(size > 64 * np.maximum(extent, spread), np.round(neutral / grid) * grid, 0.0)
        coarse = np.where(sides[0].dtype.itemsize > 4, _COARSE / _GRID * grid, np.inf)
        split = np.flatnonzero(np.maximum(most - offset, offset - least) > coarse)
        return cls(
            neutral,
            grid,
            np.maximum(least - reach, -_HUGE),
            np.minimum(most + reach, _HUGE),
            offset,
            whole | (distinct <= count // 4),
            coarse,
            split,
        )

    def features(self, values: Any, xp: Any, *, rounded: bool) -> Any:
        """float32 features of an array of floats, shape (samples, columns), NaN where it has NaN; then the `split`
        columns' distances to float32.
        """
        own = values.dtype if values.dtype.itemsize >= 4 else np.float32
        low, high, offset, grid = (part.astype(own) for part in (self.low, self.high, self.offset, self.grid))
        finite = xp.clip(values, low, high)
        if rounded:
            finite = xp.round(finite * (1 / grid)) * grid  # exact but for the rounding: the grid is a power of two
        if self.offset.any():
            finite = finite - offset
        if not len(self.split):
            return finite.astype(np.float32)
        rest = finite[:, self.split] - _single(finite[:, self.split], xp)
        return xp.concatenate([finite.astype(np.float32), rest.astype(np.float32)], axis=1)

    def limits(self, infinite: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The least and largest features that are told from those beyond, shapes (columns,).

        `infinite`: places of the columns that have a column for inf, and for -inf.
        """
        high = np.minimum(self.coarse, (self.high - self.offset) * (1 - 1e-6))
        low = np.maximum(-self.coarse, (self.low - self.offset) * (1 - 1e-6))
        high[self.split], low[self.split] = (end[self.split] * (1 - 1e-6) for end in (self.high, self.low))
        high[infinite[0]], low[infinite[1]] = np.inf, -np.inf
        return low, high


def _single(values: Any, xp: Any) -> Any:
    """The nearest float32 numbers, in the type of the values; a compiler may not leave the rounding out."""
    if xp is np:
        return values.astype(np.float32).astype(values.dtype)
    import jax

    return jax.lax.reduce_precision(values, 8, 23)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """The columns of one array, whose trailing axes are flattened; `low` and `high` as in `Encoder`."""

    names: tuple[str, ...]
    discrete: tuple[bool, ...]
    low: np.ndarray
    high: np.ndarray
    chosen: np.ndarray | None  # of the flattened columns; None takes all
    numbers: _Floats | None = None
    integers: "_Integers | None" = None
    rounded: bool = True
    indicators: tuple[np.ndarray, ...] = ()  # columns that may be NaN, +inf, -inf
    bits: BitColumns | None = None

    @property
    def blanks(self) -> np.ndarray:
        """What stands for NaN, shape (columns,), float32."""
        blanks = np.zeros(len(self.names), np.float32)
        if self.numbers is not None:
            middle = self.numbers.features(self.numbers.neutral[None], np, rounded=self.rounded)[0]
            blanks[: len(middle)] = middle
        return blanks

    @property
    def told(self) -> np.ndarray:
        """Whether NaN has a column, shape (columns,)."""
        told = np.ones(len(self.names), bool)
        if self.numbers is not None:
            told[np.setdiff1d(np.arange(len(self.numbers.grid)), self.indicators[0])] = False
        return told

    def encode(self, values: Any, xp: Any) -> list[Any]:
        """Blocks of float32 columns."""
        columns = values.reshape(values.shape[0], -1)
        if self.chosen is not None:
            columns = columns[:, self.chosen]
        if self.numbers is None:
            return self._integers(columns, xp)
        parts = [self.numbers.features(columns, xp, rounded=self.rounded)]
        for places, test in zip(self.indicators, (xp.isnan, xp.isposinf, xp.isneginf), strict=True):
            if len(places):
                parts.append(test(columns[:, places]).astype(np.float32))
        if self.bits is not None:
            parts.append(self.bits(np.asarray(columns)).astype(np.float32))
        return parts

    def _integers(self, columns: Any, xp: Any) -> list[Any]:
        assert self.integers is not None
        if columns.dtype == bool:
            columns = columns.astype(np.int32)
        limits = np.iinfo(columns.dtype)
        low, high, offset = (
            np.array([min(max(value, limits.min), limits.max) for value in part], columns.dtype)
            for part in (self.integers.low, self.integers.high, self.integers.offset)
        )
        parts = [(xp.clip(columns, low, high) - offset).astype(np.float32)]
        for word in range(self.integers.words if self.integers.wide else 0):
            low_bits = columns[:, self.integers.wide] >> columns.dtype.type(16 * word)
            parts.append((low_bits & columns.dtype.type(0xFFFF)).astype(np.float32))
        return parts


@dataclass(frozen=True)
class _Integers:
    """How whole numbers become float32 exactly: far ones measured from an offset, wide ones with low bits beside."""

    low: list[int]
    high: list[int]
    offset: list[int]
    wide: list[int]
    words: int  # of 16 bits that the first 24 bits do not cover

    @classmethod
    def fit(cls, values: np.ndarray) -> "_Integers":
        """Learns from an array of shape (samples, columns)."""
        bounds, wide = [], []
        ends = zip(values.min(axis=0).tolist(), values.max(axis=0).tolist(), strict=True)
        for place, (least, most) in enumerate(ends):
            least, most = int(least), int(most)
            if max(abs(least), abs(most)) <= _EXACT // 2:
                bounds.append((-_EXACT, _EXACT, 0))
            elif most - least <= _EXACT // 2:
                start = least - _EXACT // 4
                bounds.append((start, start + _EXACT, start))  # never negative differences, so no type overflows
            else:
                bounds.append((-(2**63), 2**64, 0))
                wide.append(place)
        low, high, offset = ([bound[part] for bound in bounds] for part in range(3))
        return cls(low, high, offset, wide, 1 if values.dtype.itemsize <= 4 else 3)

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and largest features that were not clipped, shapes (columns,)."""
        ends = [
            [float(end - start) for end, start in zip(part, self.offset, strict=True)] for part in (self.low, self.high)
        ]
        low, high = np.array(ends[0]) + 1, np.array(ends[1]) - 1
        low[self.wide], high[self.wide] = -np.inf, np.inf
        return low, high


def _fit_arrays(outputs1: Any, outputs2: Any, representation: Representation) -> Encoder:
    import jax

    (paths, tree1), (others, tree2) = (jax.tree_util.tree_flatten_with_path(side) for side in (outputs1, outputs2))
    if not paths or str(tree1) != str(tree2):
        raise InvalidInput("the two datasets' outputs have different structures; give them as lists of Python objects")
    groups: list[list[_Leaf]] = []
    share = max(1, _COLUMNS // len(paths))
    for (path, one), (_, two) in zip(paths, others, strict=True):
        name = "output" + _FIELD.sub(r".\1", jax.tree_util.keystr(path))
        pairs = list(zip(_split(np.asarray(one)), _split(np.asarray(two)), strict=True))
        labels = [name] if len(pairs) == 1 else [f"{name}.real", f"{name}.imag"]
        groups.append(
            [_fit_leaf(label, *pair, representation, share) for label, pair in zip(labels, pairs, strict=True)]
        )
    leaves = [leaf for group in groups for leaf in group]
    return Encoder(
        tuple(name for leaf in leaves for name in leaf.names),
        tuple(flag for leaf in leaves for flag in leaf.discrete),
        partial(_encode_arrays, groups),
        np.concatenate([leaf.blanks for leaf in leaves]),
        np.concatenate([leaf.low for leaf in leaves]).astype(np.float32),
        np.concatenate([leaf.high for leaf in leaves]).astype(np.float32),
        np.concatenate([leaf.told for leaf in leaves]),
        traceable=all(leaf.bits is None for leaf in leaves),
        found=tuple(sentence for leaf in leaves if leaf.bits is not None for sentence in leaf.bits.found),
    )


def _encode_arrays(groups: Sequence[Sequence[_Leaf]], outputs: Any) -> Any:
    import jax

    arrays = jax.tree_util.tree_leaves(outputs)
    traced = any(isinstance(array, jax.Array) for array in arrays)
    xp = jax.numpy if traced else np
    parts = [
        part
        for array, group in zip(arrays, groups, strict=True)
        for piece, leaf in zip(_split(array if traced else np.asarray(array)), group, strict=True)
        for part in leaf.encode(piece, xp)
    ]
    return parts[0] if len(parts) == 1 else xp.concatenate(parts, axis=1)


def _split(array: Any) -> list[Any]:
    return [array.real, array.imag] if np.iscomplexobj(array) else [array]


def _fit_leaf(name: str, one: np.ndarray, two: np.ndarray, representation: Representation, share: int) -> _Leaf:
    if one.shape[1:] != two.shape[1:]:
        raise InvalidInput(f"{name} has shape {one.shape[1:]} on dataset 1 and {two.shape[1:]} on dataset 2")
    if not len(one) or not len(two):
        raise InvalidInput("no outputs to learn the columns from; draw at least one sample per dataset")
    if not one.size:
        raise InvalidInput(f"{name} has shape {one.shape[1:]} and holds nothing; return at least one number")
    places = [""] if one.ndim == 1 else [f"[{','.join(map(str, at))}]" for at in np.ndindex(one.shape[1:])]
    sides = [side.reshape(len(side), -1) for side in (one, two)]
    chosen = None
    if len(places) > share:  # those in which the two sides differ most
        means = [np.nan_to_num(side.astype(float), posinf=0, neginf=0).mean(axis=0) for side in sides]
        spread = np.nan_to_num(np.concatenate(sides).astype(float), posinf=0, neginf=0).std(axis=0)
        chosen = np.sort(np.argsort(-np.abs(means[0] - means[1]) / np.where(spread > 0, spread, 1))[:share])
        sides, places = [side[:, chosen] for side in sides], [places[index] for index in chosen]
    values = np.concatenate(sides)
    names = [f"{name}{place}{TRUTH if values.dtype == bool else ''}" for place in places]
    if values.dtype.kind != "f":
        integers = _Integers.fit(values)
        shown = [_moved(label, offset) for label, offset in zip(names, integers.offset, strict=True)]
        words = range(integers.words if integers.wide else 0)
        shown += [f"{names[at]} bits {16 * word} to {16 * word + 15}" for word in words for at in integers.wide]
        low, high = (np.pad(end, (0, len(shown) - len(names)), constant_values=end.max()) for end in integers.limits())
        return _Leaf(tuple(shown), (True,) * len(shown), low, high, chosen, integers=integers)
    numbers = _Floats.fit(sides)
    shown = [_moved(label, offset) for label, offset in zip(names, numbers.offset.tolist(), strict=True)]
    shown += [_rest(names[index]) for index in numbers.split]
    discrete = [*numbers.discrete.tolist(), *[False] * len(numbers.split)]
    tests = (("NaN", np.isnan), ("inf", np.isposinf), ("-inf", np.isneginf))
    indicators = tuple(np.flatnonzero(test(values).any(axis=0)) for _, test in tests)
    for (label, _), found in zip(tests, indicators, strict=True):
        shown += [f"{names[index]} is {label}" for index in found]
        discrete += [True] * len(found)
    bits = None
    if representation == "bits":
        from dpassay.auditors.bits import fit

        first, second = (np.where(np.isfinite(side), side, 0) for side in sides)
        bits = fit(first, second, names)
        shown += list(bits.names)
        discrete += list(bits.discrete)
    low, high = (np.full(len(shown), end) for end in (-np.inf, np.inf))
    low[: len(names)], high[: len(names)] = numbers.limits(indicators[1:])
    return _Leaf(tuple(shown), tuple(discrete), low, high, chosen, numbers, None, bits is None, indicators, bits)


def _width(values: np.ndarray) -> np.ndarray:
    """Interquartile range of every column, 0 where there is no number."""
    if not len(values):
        return np.zeros(values.shape[1])
    filled = np.where(np.isnan(values).all(axis=0), 0.0, values)
    return np.asarray(np.subtract(*np.nanquantile(filled, [0.75, 0.25], axis=0)))


def _rest(name: str) -> str:
    return f"{name}, beyond 24 bits"


def _moved(name: str, offset: float) -> str:
    return name if offset == 0 else f"{name} - {offset:.17g}" if offset > 0 else f"{name} + {-offset:.17g}"


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
    first = jax.tree.map(lambda leaf: leaf[:1], array)
    return Encoder(
        (*inner.names, UNSEEN),
        (*inner.discrete, True),
        partial(_encode_objects, inner, _pattern(array), inner.features(first)),
        np.append(inner.blanks, np.float32(0)),
        np.append(inner.low, np.float32(0)),
        np.append(inner.high, np.float32(0)),
        np.append(inner.told, True),
        False,
        inner.found,
    )


def _encode_objects(inner: Encoder, pattern: Any, row: np.ndarray, outputs: Any) -> np.ndarray:
    import jax

    stacked = _conform(outputs if not isinstance(outputs, list) else plain(outputs), pattern)
    if stacked is not None:
        rows = inner.encode(stacked)
        return np.concatenate([rows, np.zeros((len(rows), 1), rows.dtype)], axis=1)
    # Some output is unlike those of training: it is "unseen", whatever it is.
    rows = np.concatenate([np.repeat(row, len(outputs), axis=0), np.ones((len(outputs), 1), row.dtype)], axis=1)
    singles = [_conform(plain([value]), pattern) for value in outputs]
    known = [index for index, single in enumerate(singles) if single is not None]
    if known:
        joined = jax.tree.map(lambda *leaves: np.concatenate(leaves), *[singles[index] for index in known])
        rows[known, :-1] = inner.encode(joined)
        rows[known, -1] = 0
    return rows


@dataclass(frozen=True)
class _Kind:
    """What must agree between arrays of one encoder: the shape of a sample, and whether numbers are whole or not."""

    shape: tuple[int, ...]
    kind: str


def _pattern(array: Any) -> Any:
    if isinstance(array, tuple):
        return tuple(_pattern(part) for part in array)
    if isinstance(array, dict):
        return {key: _pattern(part) for key, part in array.items()}
    return _Kind(array.shape[1:], "f" if array.dtype.kind == "f" else "i")


def _conform(array: Any, pattern: Any) -> Any:
    """The array, whole numbers as floats where the pattern has floats; None where it does not fit."""
    if array is None or any(isinstance(array, kind) != isinstance(pattern, kind) for kind in (tuple, dict)):
        return None
    if isinstance(array, dict):
        fields = {key: _conform(array.get(key), part) for key, part in pattern.items()}
        return fields if array.keys() == fields.keys() and all(part is not None for part in fields.values()) else None
    if isinstance(array, tuple):
        parts = [_conform(*pair) for pair in zip(array, pattern, strict=False)]
        return tuple(parts) if len(array) == len(pattern) and all(part is not None for part in parts) else None
    if array.shape[1:] != pattern.shape or (array.dtype.kind == "f" and pattern.kind != "f"):
        return None
    return array.astype(float) if pattern.kind == "f" and array.dtype.kind != "f" else array


Place = tuple[str, str]  # where in the output, and which kind of entry: number, category, member
Record = dict[Place, Any]


def _fit_records(outputs1: list[Any], outputs2: list[Any], representation: Representation) -> Encoder:
    together = (*outputs1, *outputs2)
    records = [_record(output) for output in together]
    if split := _texts_to_split(records):
        records = [_record(output, split) for output in together]
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
    known = {
        place: frozenset(value for _, value in found) if place[1] == "category" else None
        for place, found in places.items()
    }
    every = [*columns, _Entry(UNSEEN, True, ("", ""), float, low=0.0, high=0.0)]
    return Encoder(
        tuple(column.name for column in every),
        tuple(column.discrete for column in every),
        partial(_encode_records, columns, known, split),
        np.array([column.blank for column in every], np.float32),
        np.array([column.low for column in every], np.float32),
        np.array([column.high for column in every], np.float32),
        np.array([column.told for column in every]),
        traceable=False,
        warnings=_unread(together, records, split),
    )


def _encode_records(
    columns: Sequence["_Entry"],
    known: Mapping[Place, frozenset[Any] | None],
    split: frozenset[str],
    outputs: Sequence[Any],
) -> np.ndarray:
    """`known` has the categories of each place, None for a place of another kind."""
    different, places = _distinct(outputs)
    rows = [_record(output, split) for output in different]
    result = np.zeros((len(rows), len(columns) + 1), np.float32)
    for index, column in enumerate(columns):
        result[:, index] = [column.of(row.get(column.place)) for row in rows]
    result[:, -1] = [
        any(at not in known or ((told := known[at]) is not None and value not in told) for at, value in row.items())
        for row in rows
    ]
    return result if places is None else result[places]


def _distinct(outputs: Sequence[Any]) -> tuple[Sequence[Any], np.ndarray | None]:
    """Each text, label or None once, and where each output stands among them; other outputs as they are, and None."""
    if not all(isinstance(output, _LABELS) for output in outputs):
        return outputs, None
    codes: dict[tuple[type, Any], int] = {}
    places = np.array([codes.setdefault((type(output), output), len(codes)) for output in outputs], int)
    return [output for _, output in codes], places


def _texts_to_split(records: Sequence[Record]) -> frozenset[str]:
    """Names of the places with so many texts that the numbers in them must be read."""
    texts: dict[str, set[str]] = {}
    for record in records:
        for (name, kind), value in record.items():
            if kind == "category":
                texts.setdefault(name, set()).add(value)
    return frozenset(
        name for name, found in texts.items() if len(found) > _VOCABULARY and any(split_text(text)[1] for text in found)
    )


def _unread(outputs: Sequence[Any], records: Sequence[Record], split: frozenset[str]) -> tuple[str, ...]:
    warnings = []
    if any(len(record) >= _COLUMNS for record in records):
        warnings.append(f"outputs hold more than {_COLUMNS} values, of which only the first are judged")
    if any(value > _POSITIONS for record in records for (_, kind), value in record.items() if kind == "length"):
        warnings.append(f"sequences hold more than {_POSITIONS} values, of which only the first are judged")
    if split or any(isinstance(output, str) and output[:1] in ("{", "[") for output in outputs):
        warnings.append("numbers in texts are judged by their values, not by how they are written")
    return tuple(warnings)


@dataclass(frozen=True)
class _Entry:
    """One column of a record: `of` maps the entry at `place`, None when missing, to a number; see `Encoder`."""

    name: str
    discrete: bool
    place: Place
    of: Callable[[Any], float]
    blank: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    told: bool = True


def _entries(
    place: Place, found: list[tuple[int, Any]], half: int, total: int, representation: Representation
) -> list[_Entry]:
    name, kind = place
    if kind == "member":
        return [_Entry(name, True, place, _given)]
    if kind == "length":
        return [_Entry(name, True, place, _length)]
    entries = []
    if kind == "category":
        counts = Counter(value for _, value in found)
        for value, _ in sorted(counts.most_common(_VOCABULARY), key=lambda item: item[0]):
            entries.append(_Entry(f"{name} {value}", True, place, partial(operator.eq, value)))
        if len(counts) > _VOCABULARY:  # the others by how much likelier they were under dataset 1
            ones = Counter(value for index, value in found if index < half)
            ranked = sorted(counts, key=lambda value: ((ones[value] + 0.5) / (counts[value] + 1), value))
            code = {value: float(rank) for rank, value in enumerate(ranked)}
            neutral = float(len(ranked) // 2)
            entries.append(_Entry(f"{name} (rank)", True, place, partial(_rank, code, neutral)))
        return entries
    numbers = [np.array([float(value) for index, value in found if (index < half) == first]) for first in (True, False)]
    values = np.concatenate(numbers)
    exact = all(isinstance(value, bool | int) for _, value in found)
    shown = name + TRUTH if all(isinstance(value, bool) for _, value in found) else name
    if exact:
        integers = _Integers.fit(np.array([[int(value)] for _, value in found], object))
        column: Callable[[Any], float] = partial(_whole, integers, int(found[0][1]))
        offset, discrete, split = float(integers.offset[0]), True, bool(integers.wide)
        blank, (low, high) = column(None), integers.limits()
    else:
        floats = _Floats.fit([part[:, None] for part in numbers])
        number = _Number(
            *(float(part[0]) for part in (floats.neutral, floats.grid, floats.low, floats.high, floats.offset))
        )
        column = partial(number.of, representation != "bits")
        offset, discrete, split = number.offset, bool(floats.discrete[0]), bool(len(floats.split))
        some = [np.flatnonzero([test(values).any()]) for test in (np.isposinf, np.isneginf)]
        blank, (low, high) = column(None), floats.limits(some)
    told = bool(np.isnan(values).any())
    entries.append(_Entry(_moved(shown, offset), discrete, place, column, blank, float(low[0]), float(high[0]), told))
    if split:
        entries.append(_Entry(_rest(shown), False, place, partial(_beyond_single, column)))
    for label, test in (("NaN", np.isnan), ("inf", np.isposinf), ("-inf", np.isneginf)):
        if test(values).any():
            entries.append(_Entry(f"{name} is {label}", True, place, partial(_passes, test)))
    if representation == "bits" and not exact:
        entries += _bit_entries(place, values)
    if len(found) < total and not re.search(r"\[\d+\]$", name):  # positions: the length tells
        entries.append(_Entry(f"{name} is a number", True, place, _given))
    return entries


def _bit_entries(place: Place, values: np.ndarray) -> list[_Entry]:
    from dpassay.auditors.bits import columns

    return [_Entry(name, True, place, partial(_bit_of, index)) for index, name in enumerate(columns(values)[1])]


def _bit_of(index: int, value: Any) -> float:
    from dpassay.auditors.bits import columns

    return 0.0 if value is None else float(columns(np.array([float(value)]))[0][0, index])


def _given(value: Any) -> float:
    return float(value is not None)


def _length(value: Any) -> float:
    return -1.0 if value is None else float(value)


def _rank(code: Mapping[Any, float], neutral: float, value: Any) -> float:
    return code.get(value, neutral)


def _passes(test: Callable[[Any], Any], entry: Any) -> float:
    return float(entry is not None and bool(test(float(entry))))


@dataclass(frozen=True)
class _Number:
    """One column of `_Floats`, for one number at a time."""

    neutral: float
    grid: float
    low: float
    high: float
    offset: float

    def of(self, rounded: bool, value: Any) -> float:
        if value is not None and math.isnan(value):
            return math.nan
        number = self.neutral if value is None else max(self.low, min(self.high, float(value)))
        return (round(number / self.grid) * self.grid if rounded else number) - self.offset


def _whole(integers: _Integers, neutral: int, value: Any) -> float:
    if value is not None and value != value:
        return math.nan
    number = neutral if value is None else max(integers.low[0], min(integers.high[0], value))
    return float(number - integers.offset[0])


def _beyond_single(column: Callable[[Any], float], value: Any) -> float:
    number = column(value)
    return 0.0 if math.isnan(number) else number - float(np.float32(number))


def _record(output: Any, split: frozenset[str] = frozenset()) -> Record:
    """All that an output holds, flat; `split`: the places whose texts are read as a pattern and its numbers."""
    into: Record = {}
    _enter(output, "output", into, 0, split)
    return into


def _enter(value: Any, name: str, into: Record, depth: int, split: frozenset[str]) -> None:
    """Writes one value, and what it holds, into a flat record."""
    if len(into) >= _COLUMNS:
        return
    if depth > _DEPTH:
        raise InvalidInput(f"{name} is nested more than {_DEPTH} deep, or holds itself; return what it is made of")
    value = opened(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = None if value is np.ma.masked else value[()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | float):
        into[name, "number"] = value
    elif isinstance(value, int) and not isinstance(value, Enum):
        into[name, "number"] = value if abs(value) < 2**1000 else _HUGE if value > 0 else -_HUGE
    elif isinstance(value, complex):
        into[f"{name}.real", "number"], into[f"{name}.imag", "number"] = value.real, value.imag
    elif isinstance(value, Label):
        into[name, "category"] = str(value)
    elif isinstance(value, AbstractSet):
        into[f"len({name})", "length"] = len(value)
        for element in value:
            into[f"{name} contains {_text(element)}", "member"] = True
    elif isinstance(value, Mapping):
        into[f"len({name})", "length"] = len(value)
        for key in value:
            _enter(value[key], _FIELD.sub(r".\1", f"{name}[{_text(key)}]"), into, depth + 1, split)
    elif isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, str | bytes)):
        into[f"len({name})", "length"] = len(value)
        for index, element in enumerate(value[:_POSITIONS]):
            _enter(element, f"{name}[{index}]", into, depth + 1, split)
    elif name in split:
        pattern, numbers = split_text(f"is {_text(value)}")
        into[name, "category"] = pattern
        for index, number in enumerate(numbers[:_POSITIONS]):
            into[f"number {index + 1} in {name}", "number"] = number
    else:
        into[name, "category"] = f"is {_text(value)}"


def _text(value: Any) -> str:
    """A repr that does not depend on where an object lies in memory; of a member of an enumeration its name."""
    if isinstance(value, Enum) and value.name:
        return f"{type(value).__name__}.{value.name}"
    try:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:
        return f"a {type(value).__name__}"
    return f"a {type(value).__name__}" if re.search(r" at 0x[0-9a-f]+", text) else text


def _natural(place: Place) -> tuple[Any, ...]:
    """Sorts output[2] before output[10]."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", " ".join(place)))
