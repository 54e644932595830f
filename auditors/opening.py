"""Outputs that are objects, opened: what they hold as numbers, texts, arrays, lists and dicts.

An output that nothing can be read from is refused: what was not looked at is not judged.
"""

import array
import dataclasses
import datetime as dt
import json
import re
import sys
import types
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput

_NUMPY = {np.dtype(code).type for code in "?bhilqBHILQefd"}
BASIC = {bool, int, float, complex, bytes, type(None), tuple, list, dict, set, frozenset, np.ndarray, *_NUMPY}
"""Types that `opened` leaves as they are."""

_EPOCH = dt.datetime(1970, 1, 1)
_NUMBER = re.compile(r"(?<![\w.])[-+]\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_OPAQUE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


@dataclass(frozen=True)
class Label:
    """An output, or a part of one, that is told from others by a text that is not its own."""

    kind: str

    def __str__(self) -> str:
        return f"is a {self.kind}"


class Raised(Label):
    """The output of a call that raised an exception: an observer sees that, too."""

    def __str__(self) -> str:
        return f"raised {self.kind}"


def opened(value: Any) -> Any:
    """What an output is made of, one level deep: an attribute `x` of an object becomes the key ".x" of a dict.

    Numbers, texts, arrays, sequences, sets, mappings, enumerations and exceptions stay; dates and times become seconds.

    Raises:
        InvalidInput: an iterator, or an object without fields whose text does not say what it holds.
    """
    if type(value) in BASIC or isinstance(value, np.generic | Enum | bytes | Label):
        return value
    if isinstance(value, str):
        return _parsed(value)
    for kinds, read in _READERS:
        if isinstance(value, kinds):
            return read(value)
    if "pandas" in sys.modules and type(value).__module__.partition(".")[0] == "pandas":
        return _table(value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    fields = _fields(value)
    return fields if fields else _described(value)


def split_text(text: str) -> tuple[str, tuple[float, ...]]:
    """A text with "#" for every number, and the numbers."""
    numbers = [float(found[0]) for found in _NUMBER.finditer(text)]
    return _NUMBER.sub("#", text), tuple(numbers)


def _parsed(text: str) -> Any:
    """The content of a JSON array or object, any other text as it is."""
    if text[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def _seconds(value: dt.datetime) -> Any:
    if value != value:  # pandas' NaT
        return float("nan")
    if value.tzinfo is None:
        return (value - _EPOCH).total_seconds()
    return {".timestamp": value.timestamp(), ".utcoffset": value.utcoffset()}


def _fraction(value: Decimal | Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except ValueError:  # a signaling NaN
        return float("nan")


def _refused(value: Any) -> Any:
    raise InvalidInput(
        f"an output is of type {type(value).__name__}, which can be read only once or not at all; "
        "return the values themselves, for example list(...) of them"
    )


def _table(value: Any) -> Any:
    """A table, series or index of pandas; labels of rows count unless they only number them."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        rows = {} if isinstance(value.index, pd.RangeIndex) else {".index": value.index.to_numpy()}
        return {**{str(name): value[name].to_numpy() for name in value.columns if value.columns.is_unique}, **rows}
    if isinstance(value, pd.Series) and not isinstance(value.index, pd.RangeIndex):
        if value.index.is_unique:
            return {str(label): item for label, item in value.items()}
        return {".index": value.index.to_numpy(), ".values": value.to_numpy()}
    return np.asarray(value) if hasattr(value, "__array__") else repr(value)


def _fields(value: Any) -> dict[str, Any]:
    """The attributes that an object holds: those of a dataclass, of its dictionary, and of its slots."""
    names = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    names += [name for name in getattr(value, "__dict__", {}) if name not in names]
    slots = [getattr(kind, "__slots__", ()) for kind in type(value).__mro__]
    names += [name for each in slots for name in ([each] if isinstance(each, str) else each) if hasattr(value, name)]
    return {f".{name}": getattr(value, name) for name in names if not name.startswith("__")}


def _described(value: Any) -> str | Label:
    """The text of an object without fields, which must be its own and not where it lies in memory."""
    try:
        text = repr(value)
    except Exception:
        text = ""
    kind = type(value)
    if kind.__repr__ is object.__repr__ and (kind is object or hasattr(value, "__dict__") or "__slots__" in vars(kind)):
        return Label(kind.__name__)  # a class of Python that holds nothing
    if not text or re.search(r" at 0x[0-9a-f]+", text):
        raise InvalidInput(
            f"an output is of type {kind.__name__}, from which nothing can be read; "
            "return numbers, text, arrays, or an object with fields"
        )
    return text


_READERS: tuple[tuple[Any, Any], ...] = (
    (_OPAQUE, _refused),
    ((Iterator, Coroutine, types.AsyncGeneratorType), _refused),
    ((Decimal, Fraction), _fraction),
    (dt.datetime, _seconds),
    (dt.date, lambda value: value.toordinal()),
    (dt.timedelta, lambda value: value.total_seconds()),
    (dt.time, lambda value: value.isoformat()),
    ((Mapping, AbstractSet), lambda value: value),
    ((np.ndarray, tuple, list), lambda value: value),
    ((array.array, memoryview, bytearray, range), list),
    (Sequence, list),
)
