"""Reads tables of any columns from delimited text and Parquet, as DataFrames of pandas."""

import csv
import io
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.data.text_files import Content, Delimited, parquet_table


def load_tables(contents: Sequence[Content]) -> list[Any]:
    """Tables that belong together: of the same columns, each of one type in all of them.

    Text is read as `pandas.read_csv` does, once for all, so that a missing value in one table changes no type in
    another; without a header (a number among the first line's fields) the columns are called 0, 1, ...

    Raises:
        InvalidInput: pandas is not installed, a file is malformed, two columns have one name, the columns differ, or a
            number is infinite or beyond what a number can be.
    """
    pandas = library("pandas")
    if any(content.suffix == ".parquet" for content in contents):
        frames = [_frame(content, pandas) for content in contents]
        _same_columns(contents, [list(frame.columns) for frame in frames])
        if any((frame.dtypes != frames[0].dtypes).any() for frame in frames):
            frames = _parts(pandas.concat(frames), [len(frame) for frame in frames])
    else:
        frames = _texts([Delimited(content, spaces=False) for content in contents], contents, pandas)
    for content, frame in zip(contents, frames, strict=True):
        for name, column in frame.items():
            unusable = _infinite(column.to_numpy())
            if unusable.any():
                raise InvalidInput(
                    f"{content.name}: the {name} of row {unusable.argmax() + 1} is infinite or beyond what a number "
                    "can be; correct it"
                )
    return frames


def _infinite(column: np.ndarray) -> np.ndarray:
    """Which numbers of a column are infinite, or integers too large for a float."""
    if column.dtype == object:
        return np.array([isinstance(cell, int) and abs(cell) > sys.float_info.max for cell in column], bool)
    return np.isinf(column) if column.dtype.kind == "f" else np.zeros(len(column), bool)


def _frame(content: Content, pandas: Any) -> Any:
    if content.suffix != ".parquet":
        return _texts([Delimited(content, spaces=False)], [content], pandas)[0]
    table = parquet_table(content)
    try:
        return table.to_pandas()
    except Exception as error:  # pyarrow raises many kinds of its own
        raise InvalidInput(f"{content.name} does not fit into a DataFrame ({str(error).splitlines()[0]})") from error


def _texts(texts: Sequence[Delimited], contents: Sequence[Content], pandas: Any) -> list[Any]:
    """Delimited text parsed as one table, cut where each file ends."""
    names = [_names(text) for text in texts]
    _same_columns(contents, names)
    joined, counts = io.StringIO(), []
    writer = csv.writer(joined)
    for text in texts:
        counts.append(0)
        for rows in text.rows():
            if rows.short is not None:
                raise InvalidInput(
                    f"{text.name}, line {rows.lines[rows.short]}: fewer than {len(text.first)} fields; give every line "
                    "the same columns"
                )
            counts[-1] += len(rows.lines)
            writer.writerows(zip(*rows.columns, strict=True))
    joined.seek(0)
    try:
        whole = pandas.read_csv(joined, header=None, names=names[0], index_col=False)
    except Exception as error:  # pandas raises many kinds of its own
        raise InvalidInput(f"{texts[0].name} cannot be read as a table ({str(error).splitlines()[0]})") from error
    return _parts(whole, counts)


def _parts(whole: Any, counts: Sequence[int]) -> list[Any]:
    ends = np.cumsum(counts)
    return [whole.iloc[end - count : end].reset_index(drop=True) for end, count in zip(ends, counts, strict=True)]


def _names(text: Delimited) -> list[Any]:
    """What the columns are called, one without a name as pandas calls it."""
    if not text.header:
        return list(range(len(text.first)))
    names = [name or f"Unnamed: {place}" for place, name in enumerate(text.first)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidInput(f"{text.name} has two columns called {twice[0]}; give each a name of its own")
    return names


def _same_columns(contents: Sequence[Content], names: Sequence[Sequence[Any]]) -> None:
    for content, own in zip(contents, names, strict=True):
        if own != names[0]:
            first, other = (", ".join(map(str, columns))[:100] for columns in (names[0], own))
            raise InvalidInput(
                f"{contents[0].name} has columns {first}, {content.name} {other}; neighbors have the same columns"
            )
