"""Reads the two datasets of an audit from files of one's own: whatever the mechanism takes, not only ratings.

What delimited text and Parquet are read as, in gzip and zip too, never depends on what the columns hold:

* a header that names a user and an item, and besides nothing but rating, plays and timestamp (the names that
  `dpassay.load_ratings` knows), and text without a header of three or four columns (`user,item,rating[,timestamp]`) are
  ratings, in a matrix of shape (users, items), NaN where missing;
* any other header is that of a table: a pandas DataFrame with all its columns;
* the format `ratings`, `implicit` or `table` says otherwise. Text without a header (one of the first line's fields is a
  number) and of another number of columns needs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.data.array_files import read_array_file
from dpassay.data.reading import PLAIN, Reading

if TYPE_CHECKING:
    from dpassay.data.ratings import Ratings
    from dpassay.data.text_files import Content

RATING_FIELDS = {"users", "items", "values"}
FORMS = "give a number, a list, a matrix with null for missing, or an object of users, items and values"


@dataclass(frozen=True)
class Dataset:
    """What a file holds.

    Attributes:
        value: the dataset, as the mechanism gets it.
        read_as: what delimited text or Parquet was read as, in words; "" for other files.
    """

    value: Any
    read_as: str = ""


def load_dataset_pair(path1: str | Path, path2: str | Path) -> tuple[Any, Any]:
    """Reads two datasets that belong together.

    `.npy` holds an array; `.json` a number, a list, a matrix (null where missing) or an object of the parallel lists
    `users`, `items` and `values`; anything else in it reaches the mechanism as it is. Other files are ratings or tables
    (see this module). In two matrices of ratings a row and a column mean the same user and item; two tables have the
    same columns of the same types.

    Raises:
        InvalidInput: a file is missing, empty or malformed, or one holds ratings and the other a table.
    """
    first, second = read_dataset_pair(path1, path2)
    return first.value, second.value


def read_dataset_pair(path1: str | Path, path2: str | Path, reading: Reading = PLAIN) -> tuple[Dataset, Dataset]:
    """`load_dataset_pair` as told, and what the files were read as."""
    paths = Path(path1), Path(path2)
    if not any(_is_array(path) for path in paths):
        first, second = _read_delimited(paths, reading)
        return first, second
    first, second = (_parsed(path, reading) for path in paths)
    if _is_ratings(first.value) and _is_ratings(second.value):
        shape = tuple(max(sizes) for sizes in zip(_shape(first.value), _shape(second.value), strict=True))
        return Dataset(_dense(first.value, shape, paths[0])), Dataset(_dense(second.value, shape, paths[1]))
    return _finished(first, paths[0]), _finished(second, paths[1])


def load_dataset(path: str | Path) -> Any:
    """Reads one dataset, as `load_dataset_pair` reads each.

    Raises:
        InvalidInput: the file is missing, empty or malformed.
    """
    return read_dataset(path).value


def read_dataset(path: str | Path, reading: Reading = PLAIN) -> Dataset:
    """`load_dataset` as told, and what the file was read as."""
    return _finished(_parsed(Path(path), reading), Path(path))


def _read_delimited(paths: Sequence[Path], reading: Reading) -> list[Dataset]:
    """One or two files of delimited text or Parquet."""
    from dpassay.data.rating_files import rating_file, ratings_together
    from dpassay.data.text_files import unpacked

    for path in paths:
        _require(path.exists(), path)
    contents = [unpacked(rating_file(path)) for path in paths]
    tables = [reading.format == "table" or (reading.format == "auto" and _is_table(content)) for content in contents]
    if len(set(tables)) > 1:
        kinds = " and ".join(
            f"{c.name} as {'a table' if t else 'ratings'}" for c, t in zip(contents, tables, strict=True)
        )
        raise InvalidInput(f"{kinds} would be no pair; set the format to ratings, implicit or table")
    if tables[0]:
        if reading.scale is not None or reading.duplicates != "error":
            raise InvalidInput(f"{contents[0].name} is a table; scale and duplicates are for ratings, leave them out")
        from dpassay.data.table_files import load_tables

        return [Dataset(table, dataset_text(table)) for table in load_tables(contents)]
    free = reading if reading.scale is not None else replace(reading, scale=(-np.inf, np.inf))
    return [_rated(ratings) for ratings in ratings_together(contents, free)]


def _is_table(content: "Content") -> bool:
    from dpassay.data.rating_files import is_rating_file
    from dpassay.data.text_files import Delimited, parquet_table

    if content.suffix == ".parquet":
        return not is_rating_file(parquet_table(content).column_names, True)
    text = Delimited(content)
    return not is_rating_file(text.first, text.header)


def _rated(ratings: "Ratings") -> Dataset:
    note = f"; {ratings.note}" if ratings.note else ""
    shape = f"({ratings.num_users}, {ratings.num_items})"
    return Dataset(ratings.dense(), f"ratings: {len(ratings)}, in a matrix (users, items) of shape {shape}{note}")


def dataset_text(dataset: Any) -> str:
    """A dataset for readers: a short one whole, a larger one by its kind and shape, a DataFrame by its columns."""
    if type(dataset).__module__.partition(".")[0] == "pandas" and hasattr(dataset, "columns"):
        columns = ", ".join(f"{name} ({kind})" for name, kind in dataset.dtypes.items())
        return f"a table of {len(dataset)} rows: {columns}"
    shape = np.shape(dataset) if isinstance(dataset, np.ndarray) else ()
    text = " ".join(str(dataset.tolist() if isinstance(dataset, np.ndarray) else dataset).split())
    if len(text) <= 120:
        return text
    return f"array of shape {shape}" if shape else f"{text[:117]}..."


def _is_array(path: Path) -> bool:
    return path.suffix in (".npy", ".json")


def _require(there: bool, path: Path) -> None:
    if not there:
        raise InvalidInput(
            f"no file {path}; give a file that holds the dataset: .npy, .json, delimited text or Parquet"
        )


def _parsed(path: Path, reading: Reading) -> Dataset:
    """The file's content; ratings in JSON are still the object, so that a pair can share one shape."""
    if not _is_array(path):
        return _read_delimited([path], reading)[0]
    _require(path.is_file(), path)
    if reading != PLAIN:
        raise InvalidInput(
            f"{path.name}: format, scale and duplicates are for delimited text and Parquet; leave them out"
        )
    try:
        content = read_array_file(path)
    except ValueError as error:
        kind = "a .npy array" if path.suffix == ".npy" else "JSON"
        raise InvalidInput(f"{path.name} cannot be read as {kind} ({error}); {FORMS}") from error
    if content is None:
        raise InvalidInput(f"{path.name} holds null; {FORMS}")
    return Dataset(_checked_ratings(content, path) if _is_ratings(content) else content)


def _finished(dataset: Dataset, path: Path) -> Dataset:
    content = dataset.value
    if _is_ratings(content):
        return Dataset(_dense(content, _shape(content), path))
    return Dataset(_array(content, path)) if isinstance(content, list) else dataset


def _array(content: list[Any], path: Path) -> Any:
    """A rectangular list of numbers and nulls as an array, any other list as it is."""
    if not content:
        raise InvalidInput(f"{path.name} holds an empty list; {FORMS}")

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(inner) for inner in value]
        return np.nan if value is None else value

    try:
        array = np.asarray(filled(content))
    except ValueError as error:  # rows of unequal lengths
        if all(isinstance(row, list) and all(isinstance(x, int | float | None) for x in row) for row in content):
            raise InvalidInput(f"{path.name} has rows of unequal lengths; write null for what is missing") from error
        return content
    return array if array.dtype.kind in "biuf" else content


def _is_ratings(content: Any) -> bool:
    return isinstance(content, dict) and content.keys() >= RATING_FIELDS


def _checked_ratings(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """The object with arrays for its lists."""
    try:
        checked = {name: np.asarray(content[name]) for name in sorted(RATING_FIELDS)}
    except ValueError as error:
        raise InvalidInput(f"{path.name}: users, items and values must be lists of numbers ({error})") from error
    for name, array in checked.items():
        wanted = "biuf" if name == "values" else "iu"
        if array.ndim != 1 or array.size == 0 or array.dtype.kind not in wanted:
            what = "numbers" if name == "values" else "whole numbers from 0"
            raise InvalidInput(f"{path.name}: {name!r} must be a list of {what}, one for each rating")
        if name != "values" and array.min() < 0:
            raise InvalidInput(f"{path.name}: {name!r} holds {array.min()}; number them from 0")
    for name in ("num_users", "num_items"):
        if name in content:
            if not isinstance(content[name], int) or content[name] >= 2**53:
                raise InvalidInput(
                    f"{path.name}: {name!r} is {str(content[name])[:40]}; give a whole number below 2^53"
                )
            checked[name] = content[name]
    return checked


def _shape(content: dict[str, Any]) -> tuple[int, int]:
    users = content.get("num_users", int(content["users"].max()) + 1)
    return users, content.get("num_items", int(content["items"].max()) + 1)


def _dense(content: dict[str, Any], shape: tuple[int, ...], path: Path) -> np.ndarray:
    from dpassay.data.ratings import Ratings

    values = np.asarray(content["values"], float)
    try:
        return Ratings(content["users"], content["items"], values, shape[0], shape[1], scale=(-np.inf, np.inf)).dense()
    except InvalidInput as error:
        raise InvalidInput(f"{path.name}: {error}") from error
