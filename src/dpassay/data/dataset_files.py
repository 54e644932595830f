"""Reads the two datasets of an audit from files of one's own: whatever the mechanism takes, not only ratings."""

from pathlib import Path
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.data.array_files import read_array_file

RATING_FIELDS = {"users", "items", "values"}
FORMS = "give a number, a list, a matrix with null for missing, or an object of users, items and values"


def load_dataset_pair(path1: str | Path, path2: str | Path) -> tuple[Any, Any]:
    """Reads two datasets that belong together.

    `.npy` holds an array; `.json` a number, a list, a matrix (null where missing) or an object of the parallel lists
    `users`, `items` and `values`; anything else in it reaches the mechanism as it is. Other files are ratings in the
    forms of `dpassay.load_ratings`. Ratings become matrices of shape (users, items), NaN where missing, in which a row
    and a column mean the same user and item in both.

    Raises:
        InvalidInput: a file is missing, empty or malformed.
    """
    paths = Path(path1), Path(path2)
    if not any(_is_array(path) for path in paths):
        from dpassay.data.rating_files import load_dense_pair

        return load_dense_pair(*paths)
    first, second = (_parsed(path) for path in paths)
    if _is_ratings(first) and _is_ratings(second):
        shape = tuple(max(sizes) for sizes in zip(_shape(first), _shape(second), strict=True))
        return _dense(first, shape, paths[0]), _dense(second, shape, paths[1])
    return _finished(first, paths[0]), _finished(second, paths[1])


def load_dataset(path: str | Path) -> Any:
    """Reads one dataset, as `load_dataset_pair` reads each.

    Raises:
        InvalidInput: the file is missing, empty or malformed.
    """
    return _finished(_parsed(Path(path)), Path(path))


def dataset_text(dataset: Any) -> str:
    """A dataset for readers: a short one whole, a larger one by its kind and shape."""
    shape = np.shape(dataset) if isinstance(dataset, np.ndarray) else ()
    text = " ".join(str(dataset.tolist() if isinstance(dataset, np.ndarray) else dataset).split())
    if len(text) <= 120:
        return text
    return f"array of shape {shape}" if shape else f"{text[:117]}..."


def _is_array(path: Path) -> bool:
    return path.suffix in (".npy", ".json")


def _parsed(path: Path) -> Any:
    """The file's content; ratings in JSON are still the object, so that a pair can share one shape."""
    if not _is_array(path):
        from dpassay.data.rating_files import load_ratings

        return load_ratings(path, scale=(-np.inf, np.inf)).dense()
    if not path.is_file():
        raise InvalidInput(f"no file {path}; give the dataset as .npy, .json or delimited text")
    try:
        content = read_array_file(path)
    except ValueError as error:
        kind = "a .npy array" if path.suffix == ".npy" else "JSON"
        raise InvalidInput(f"{path.name} cannot be read as {kind} ({error}); {FORMS}") from error
    if content is None:
        raise InvalidInput(f"{path.name} holds null; {FORMS}")
    return _checked_ratings(content, path) if _is_ratings(content) else content


def _finished(content: Any, path: Path) -> Any:
    if _is_ratings(content):
        return _dense(content, _shape(content), path)
    return _array(content, path) if isinstance(content, list) else content


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
