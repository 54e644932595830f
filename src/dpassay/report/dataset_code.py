"""Datasets as Python code that makes them again, to paste into a test."""

import dataclasses
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from enum import Enum
from typing import Any

import numpy as np

from dpassay.data.ratings import Ratings

IMPORTS = {
    "Counter": "from collections import Counter",
    "OrderedDict": "from collections import OrderedDict",
    "defaultdict": "from collections import defaultdict",
    "deque": "from collections import deque",
    "datetime": "import datetime",
    "dp": "import dpassay as dp",
    "jnp": "import jax.numpy as jnp",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
}


def dataset_code(dataset: Any) -> tuple[str, tuple[str, ...]]:
    """An expression whose value equals the dataset, and the import statements that it needs, sorted.

    Equal datasets of one type have equal code. A value of a class that says nothing of itself is written as its `repr`.
    """
    imports: set[str] = set()
    return _code(dataset, imports), tuple(sorted(imports))


def _code(value: Any, imports: set[str]) -> str:
    kind = type(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if kind in (bool, int, str, bytes, complex, type(None)):
        return repr(value)
    if kind in (list, tuple, deque):
        inner = ", ".join(_code(item, imports) for item in value)
        if kind is tuple:
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        return f"[{inner}]" if kind is list else f"{_named('deque', imports)}([{inner}])"
    if kind in (set, frozenset):
        inner = ", ".join(sorted(_code(item, imports) for item in value))
        if kind is frozenset:
            return f"frozenset({{{inner}}})" if value else "frozenset()"
        return f"{{{inner}}}" if value else "set()"
    if kind in (dict, Counter, OrderedDict, defaultdict):
        return _mapping(value, imports)
    if isinstance(value, np.ndarray | np.generic):
        return _numpy(value, imports)
    if isinstance(value, Enum):
        return f"{_named(kind.__qualname__, imports, kind)}.{value.name}"
    if isinstance(value, Ratings):
        return _ratings(value, imports)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _fields(kind, value._asdict(), imports)
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        return _fields(kind, fields, imports)
    if kind.__module__ == "datetime":
        _named("datetime", imports)
        return repr(value)
    pandas = sys.modules.get("pandas")  # a frame cannot come without it
    if pandas is not None:
        if isinstance(value, pandas.DataFrame):
            return _frame(value, pandas, imports)
        if isinstance(value, pandas.Series):
            name = "" if value.name is None else f", name={_code(value.name, imports)}"
            return f"{_series(value, pandas, imports)[:-1]}{_index(value.index, pandas, imports)}{name})"
        if value is pandas.NaT or value is pandas.NA:
            return f"{_named('pd', imports)}.{'NaT' if value is pandas.NaT else 'NA'}"
        if kind.__module__.startswith("pandas"):
            return f"{_named('pd', imports)}.{value!r}"
    if hasattr(value, "__array__") and kind.__module__.startswith("jax"):
        array = np.asarray(value)
        return f'{_named("jnp", imports)}.asarray({_code(array.tolist(), imports)}, dtype="{array.dtype}")'
    if kind.__module__ not in ("builtins", "__main__"):
        _named(kind.__qualname__, imports, kind)  # Decimal, Fraction, UUID: their repr is a call of the class
    return repr(value)


def _named(name: str, imports: set[str], kind: type | None = None) -> str:
    """A name in the code, whose import is noted; a class of a module is imported from there."""
    if kind is None:
        imports.add(IMPORTS[name])
    elif kind.__module__ != "__main__" and "<locals>" not in kind.__qualname__:
        imports.add(f"from {kind.__module__} import {kind.__qualname__.partition('.')[0]}")
    return name


def _fields(kind: type, fields: dict[str, Any], imports: set[str]) -> str:
    inner = ", ".join(f"{name}={_code(value, imports)}" for name, value in fields.items())
    return f"{_named(kind.__qualname__, imports, kind)}({inner})"


def _mapping(value: dict[Any, Any], imports: set[str]) -> str:
    inner = ", ".join(f"{_code(key, imports)}: {_code(item, imports)}" for key, item in value.items())
    kind = type(value)
    if kind is dict:
        return f"{{{inner}}}"
    factory = ""
    if isinstance(value, defaultdict):
        made = value.default_factory
        factory = "None, " if made is None else f"{made.__qualname__}, "
    return f"{_named(kind.__name__, imports)}({factory}{{{inner}}})"


def _numpy(value: Any, imports: set[str]) -> str:
    name = _named("np", imports)
    if isinstance(value, np.generic):
        if value.dtype.kind in "mMSUV":
            return f'{name}.array({_code(value.tolist(), imports)}, dtype="{value.dtype.str}")[()]'
        return f"{name}.{type(value).__name__}({_code(value.item(), imports)})"
    plain = "object" if value.dtype == object else value.dtype.name if value.dtype.kind in "biufc" else value.dtype.str
    if value.size == 0:
        return f'{name}.zeros({value.shape}, dtype="{plain}")'
    if value.dtype.kind in "mM":
        return f'{name}.array({value.astype("i8").tolist()}).astype("{plain}")'
    given = "" if plain in ("float64", "int64", "bool") else f', dtype="{plain}"'
    return f"{name}.array({_code(value.tolist(), imports)}{given})"


def _ratings(value: Ratings, imports: set[str]) -> str:
    arrays = ", ".join(_numpy(part, imports) for part in (value.users, value.items, value.values))
    scale = "" if tuple(value.scale) == (1.0, 5.0) else f", scale={_code(tuple(map(float, value.scale)), imports)}"
    stamps = "" if value.timestamps is None else f", timestamps={_numpy(value.timestamps, imports)}"
    return f"{_named('dp', imports)}.Ratings({arrays}, {value.num_users}, {value.num_items}{scale}{stamps})"


def _frame(frame: Any, pandas: Any, imports: set[str]) -> str:
    name = _named("pd", imports)
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    labels = list(frame.columns)
    index = _index(frame.index, pandas, imports)
    if not columns or len(set(labels)) < len(labels):
        inner = ", ".join(f"{place}: {_column(column, pandas, imports)}" for place, column in enumerate(columns))
        return f"{name}.DataFrame({{{inner}}}{index}).set_axis({_code(labels, imports)}, axis=1)"
    inner = ", ".join(
        f"{_code(label, imports)}: {_column(column, pandas, imports)}"
        for label, column in zip(labels, columns, strict=True)
    )
    if index and any(_column(column, pandas, set()).startswith("pd.") for column in columns):
        return f"{name}.DataFrame({{{inner}}}).set_axis({_axis(frame.index, imports)}, axis=0)"  # series have indices
    return f"{name}.DataFrame({{{inner}}}{index})"


def _column(column: Any, pandas: Any, imports: set[str]) -> str:
    """A list where pandas makes the same type of it, else a series of a stated type."""
    values = column.tolist()
    if values and pandas.Series(values).dtype == column.dtype and column.dtype.name in _BY_ITSELF:
        return _code(values, imports)
    return _series(column, pandas, imports)


_BY_ITSELF = {"int64", "float64", "bool", "str"}


def _series(column: Any, pandas: Any, imports: set[str]) -> str:
    name, dtype = _named("pd", imports), column.dtype
    values = _code(column.tolist(), imports)
    if isinstance(dtype, pandas.CategoricalDtype):
        categories = _code(dtype.categories.tolist(), imports)
        ordered = ", ordered=True" if dtype.ordered else ""
        return f"{name}.Series({values}, dtype={name}.CategoricalDtype({categories}{ordered}))"
    return f'{name}.Series({values}, dtype="{dtype}")'


def _index(index: Any, pandas: Any, imports: set[str]) -> str:
    """The argument `index=`, where it is not 0, 1, 2, ..."""
    if isinstance(index, pandas.RangeIndex) and index.equals(pandas.RangeIndex(len(index))):
        return ""
    return f", index={_axis(index, imports)}"


def _axis(index: Any, imports: set[str]) -> str:
    dtype = f', dtype="{index.dtype}"' if index.nlevels == 1 else ""
    maker = "Index" if index.nlevels == 1 else "MultiIndex.from_tuples"
    return f"{_named('pd', imports)}.{maker}({_code(index.tolist(), imports)}{dtype})"
