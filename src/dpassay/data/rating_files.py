"""Reads ratings from the formats they are published in. The package itself ships no data.

Importing this module costs no JAX.
"""

import functools
import hashlib
import io
import re
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.data.array_files import read_array_file
from dpassay.data.ratings import Ratings
from dpassay.data.reading import PLAIN, Duplicates, Format, Reading
from dpassay.data.text_files import (
    MAIN_FILES,
    STRAY_QUOTE,
    Content,
    Delimited,
    main_file,
    parquet_table,
    separator_of,
    text_of,
    unpacked,
)

MOVIELENS_100K = "movielens-100k"
MOVIELENS_100K_FINGERPRINT = "94570898bd53500b8872e1c046530f54edf21104f35d8ca4305bcdbade9febe3"

# GroupLens publishes the MD5 sums beside the archives, in files of the same name and the ending .md5.
ARCHIVES = {
    "100k": ("https://files.grouplens.org/datasets/movielens/ml-100k.zip", "0e33842e24a9c977be4e0107933c0723"),
    "1m": ("https://files.grouplens.org/datasets/movielens/ml-1m.zip", "c4d9eecfca2ab87c1945afe126590906"),
}
SCALE = (1.0, 5.0)
MISSING = ("", "nan", "null", "none")
RECBOLE_KIND = re.compile(r":(token|float)(_seq)?$")
COLUMN_NAMES = {
    "user": ("user", "userid", "user_id", "uid"),
    "item": ("item", "itemid", "item_id", "iid", "movie", "movieid", "movie_id"),
    "rating": ("rating", "ratings", "value", "score", "stars"),
    "plays": ("plays", "playcount", "play_count", "count", "counts"),
    "timestamp": ("timestamp", "time", "date"),
}
Batches = Iterator[tuple[np.ndarray, Mapping[str, Sequence[Any]]]]
"""Of some rows the lines, and the columns by their meaning."""


@dataclass(frozen=True, eq=False)
class Split:
    """A leave-one-out split of users' items: one for validation, one for testing, and items never chosen.

    All ids are those of the file.

    Attributes:
        users: int64, shape (users,).
        validation_items: int64, shape (users,).
        test_items: int64, shape (users,).
        negatives: int64, shape (users, negatives), ranked against the held-out item.
    """

    users: np.ndarray
    validation_items: np.ndarray
    test_items: np.ndarray
    negatives: np.ndarray


def load_ratings(
    path: str | Path,
    scale: tuple[float, float] | None = None,
    *,
    format: Format = "auto",
    duplicates: Duplicates = "error",
) -> Ratings:
    """Reads a rating dataset.

    Formats: the MovieLens 100K folder or its `u.data`, `u1.base`, ...; the MovieLens 1M layout (`ratings.dat`, fields
    separated by `::`); MovieLens 25M (`ratings.csv`, whose scale is 0.5 to 5); delimited text with a header that names
    the columns `user`, `item`, `rating` or `plays`, and `timestamp`, or without one (`user,item,rating[,timestamp]`);
    RecBole's `.inter`; all of these in gzip or zip; Parquet with columns of these names; a matrix of shape (users,
    items) in `.npy` (NaN where missing) or `.json` (null where missing).

    A header with plays and no rating, or with user, item and perhaps timestamp alone, means implicit feedback: every
    row is a rating of 1 on the scale 0 to 1, and rows of 0 plays are left out. `note` of the result says so, and how
    many repeated pairs of user and item became one rating.

    User and item ids become 0, 1, ... in the order of the ids (by number where every id is one, else by text).
    MovieLens 100K is recognized by its content and named so; other ratings are named after their fingerprint.

    Args:
        path: a file, or a folder or archive that holds one of the files above.
        scale: smallest and largest rating allowed; 1 to 5 unless given.
        format: `auto`; `ratings`, where plays are ratings too; or `implicit`, where a rating column holds plays and a
            file without a header has `user,item[,plays[,timestamp]]`.
        duplicates: of several ratings of one item by one user, keep the `first` or `last` in the file or their `mean`;
            `error` refuses them.

    Raises:
        InvalidInput: the file is missing, empty or malformed, or a rating is unusable; the message names the line.
    """
    return read_ratings(path, Reading(scale, format, duplicates))


def read_ratings(path: str | Path, reading: Reading) -> Ratings:
    """`load_ratings` with its arguments in one."""
    if reading.format == "table":
        raise InvalidInput("ratings are needed here, not a table; leave the format out")
    low, high = reading.scale or SCALE
    if not low < high:
        raise InvalidInput(f"scale {low:g} to {high:g}: give the smallest rating first")
    path = rating_file(path)
    if path.suffix not in (".npy", ".json"):
        return _named(_Table(unpacked(path), reading).ratings())
    if reading.format == "implicit":
        raise InvalidInput(
            f"{path.name} is a matrix of ratings; implicit feedback is read from delimited text or Parquet"
        )
    matrix = _matrix(path)
    outside = (matrix < low) | (matrix > high)
    if outside.any():
        user, item = (int(index) for index in np.argwhere(outside)[0])
        raise InvalidInput(
            f"{path.name}: row {user + 1}, column {item + 1}: rating {matrix[user, item]:g} is outside the scale "
            f"{low:g} to {high:g}; correct it or set the scale"
        )
    return _named(Ratings.from_dense(matrix, scale=(low, high)))


def ratings_together(
    contents: Sequence[Content], reading: Reading = PLAIN, *, same_items: bool = True
) -> list[Ratings]:
    """Files of delimited or Parquet ratings in which the same number is the same user, and the same item.

    All have as many users as the files together; so have they items, unless these are each file's own.

    Raises:
        InvalidInput: a file is empty or malformed.
    """
    tables = [_Table(content, reading) for content in contents]
    _share([table.users for table in tables])
    if same_items:
        _share([table.items for table in tables])
    return [table.ratings() for table in tables]


def load_split(path: str | Path) -> Split:
    """Reads a leave-one-out split with negatives.

    The file is delimited text (gzipped or not) with a header: columns `user`, `valid_item` (or `validation_item`),
    `test_item`, and one column whose name starts with `negatives` and holds item ids separated by spaces.

    Raises:
        InvalidInput: the file is missing or malformed, or a held-out item is among the negatives.
    """
    path = rating_file(path)
    content = unpacked(path)
    header, *lines = text_of(content).splitlines()
    separator = separator_of(header, content.suffix)
    names = [name.strip().lower() for name in header.split(separator)]
    columns = {}
    for wanted in ("user", "valid", "test", "negatives"):
        found = [index for index, name in enumerate(names) if name.startswith(wanted)]
        if len(found) != 1:
            raise InvalidInput(
                f"{path.name}: columns are {', '.join(names)}; a split has user, valid_item, test_item, negatives"
            )
        columns[wanted] = found[0]
    rows: list[tuple[int, int, int, list[int]]] = []
    for number, line in enumerate(lines, start=2):
        fields = line.split(separator)
        try:
            user, validation, test = (int(np.int64(fields[columns[name]])) for name in ("user", "valid", "test"))
            negatives = [int(np.int64(item)) for item in fields[columns["negatives"]].split()]
        except (IndexError, ValueError, OverflowError) as error:
            raise InvalidInput(f"{path.name}, line {number}: ids must be whole numbers, one per column") from error
        if rows and len(negatives) != len(rows[0][3]):
            raise InvalidInput(
                f"{path.name}, line {number}: {len(negatives)} negatives, {len(rows[0][3])} in the first line; "
                "give every user the same number"
            )
        if validation == test or {validation, test} & set(negatives):
            raise InvalidInput(
                f"{path.name}, line {number}: validation item, test item and negatives must differ from one another"
            )
        rows.append((user, validation, test, negatives))
    if not rows:
        raise InvalidInput(f"{path.name} has no line below its header; give one per user")
    users = np.array([row[0] for row in rows])
    if len(np.unique(users)) < len(users):
        raise InvalidInput(f"{path.name}: a user has more than one line; give one per user")
    return Split(users, *(np.array([row[index] for row in rows]) for index in (1, 2, 3)))


def fetch_movielens(folder: str | Path, version: str = "100k") -> Path:
    """Downloads the official MovieLens archive into `folder`, checks its published MD5 sum and unpacks it.

    The license of MovieLens forbids passing it on, so every user fetches it from GroupLens.

    Args:
        folder: where to unpack; made if need be.
        version: `100k` or `1m`.

    Returns:
        The unpacked folder, ready for `load_ratings`. Nothing is downloaded if it is there already.

    Raises:
        InvalidInput: unknown version, no connection, or an archive whose checksum is not the published one.
    """
    if version not in ARCHIVES:
        raise InvalidInput(f"MovieLens {version!r} cannot be fetched; choose from {', '.join(ARCHIVES)}")
    address, checksum = ARCHIVES[version]
    folder = Path(folder)
    unpacked = folder / f"ml-{version}"
    if any((unpacked / name).is_file() for name in MAIN_FILES):
        return unpacked
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            content = response.read()
    except (urllib.error.URLError, OSError) as error:
        raise InvalidInput(
            f"cannot download {address} ({error}); fetch it elsewhere, unpack it, and give the folder's path"
        ) from error
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != checksum:
        raise InvalidInput(
            f"{address} has the MD5 sum {found}, published is {checksum}; nothing was unpacked, try again later"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as whole:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(whole)
            (Path(whole) / unpacked.name).rename(unpacked)
    except OSError as error:
        raise InvalidInput(f"cannot unpack into {unpacked}: {error.strerror}; choose a writable place") from error
    return unpacked


class _Ids:
    """A column of ids.

    Attributes:
        names: every id once, sorted: int64 if all are whole numbers, else text.
        codes: of each row, its id's position in `names`, int64.
        missing: of each row, whether it has no id.
    """

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}
        self._added: list[np.ndarray] = []

    def add(self, ids: Sequence[Any]) -> None:
        """The ids of further rows."""
        for name in dict.fromkeys(ids):
            self._places.setdefault(name, len(self._places))
        self._added.append(np.fromiter(map(self._places.__getitem__, ids), np.int64, len(ids)))

    def finish(self) -> None:
        """Sorts the ids once all rows are there."""
        written = [str(name).strip() for name in self._places]
        places = np.concatenate(self._added)
        self.missing = np.array([name.lower() in MISSING for name in written])[places]
        numbers = _numbers(written)
        whole = np.isfinite(numbers) & (numbers == np.round(numbers)) & (np.abs(numbers) < 2**53)
        names = numbers.astype(np.int64) if whole.all() else np.array(written)
        self.names, order = np.unique(names, return_inverse=True)
        self.codes = order[places]

    def renumber(self, names: np.ndarray) -> None:
        """Numbers the ids by sorted `names`, which hold them all."""
        self.codes = np.searchsorted(names, self.names.astype(names.dtype))[self.codes]
        self.names = names


class _Table:
    """A rating file: the ids, the other columns as numbers, and the line each row came from."""

    def __init__(self, content: Content, reading: Reading) -> None:
        self.name, self.reading = content.name, reading
        self.word = "row" if content.suffix == ".parquet" else "line"
        self.users, self.items = _Ids(), _Ids()
        places: list[np.ndarray] = []
        parts: dict[str, list[np.ndarray]] = {}
        for lines, columns in (_parquet if self.word == "row" else _delimited)(content, reading.format):
            places.append(lines)
            self.users.add(columns["user"])
            self.items.add(columns["item"])
            for name in columns.keys() - {"user", "item"}:
                column = columns[name]
                numbers = _numbers(column)
                if name != "timestamp" and not np.isfinite(numbers).all():
                    row = int(np.isfinite(numbers).argmin())
                    raise InvalidInput(
                        f"{self.name}, {self.word} {lines[row]}: the {name} {str(column[row])[:40]!r} is not a number; "
                        "correct or delete it"
                    )
                parts.setdefault(name, []).append(numbers)
        if not sum(map(len, places)):
            raise InvalidInput(f"{self.name} has no ratings; give at least one user,item,rating")
        self.lines = np.concatenate(places)
        self.columns = {name: np.concatenate(part) for name, part in parts.items()}
        for what, ids in (("user", self.users), ("item", self.items)):
            ids.finish()
            if ids.missing.any():
                raise InvalidInput(f"{self._where(int(ids.missing.argmax()))}: the {what} is missing; give its id")

    def ratings(self) -> Ratings:
        """The ratings, checked one by one."""
        explicit = "rating" in self.columns
        values, scale = self._explicit() if explicit else self._implicit()
        rated = np.arange(len(values)) if explicit else np.flatnonzero(values)
        notes = [] if explicit else ["implicit feedback, every pair of user and item a rating of 1"]
        if len(rated) < len(values):
            notes.append(f"{len(values) - len(rated)} rows of 0 plays left out")
        kept = self._kept(values, rated)
        if len(kept) < len(rated):
            notes.append(f"{len(rated) - len(kept)} ratings repeat a pair: kept is the {self.reading.duplicates}")
        if not len(kept):
            raise InvalidInput(f"{self.name} has no ratings: all plays are 0")
        moments = self._timestamps()
        return Ratings(
            self.users.codes[kept],
            self.items.codes[kept],
            values[kept],
            len(self.users.names),
            len(self.items.names),
            scale=scale,
            timestamps=None if moments is None else moments[kept],
            note="; ".join(notes),
        )

    def _where(self, row: int) -> str:
        """`FILE, line N`, or the row of a Parquet file."""
        return f"{self.name}, {self.word} {self.lines[row]}"

    def _explicit(self) -> tuple[np.ndarray, tuple[float, float]]:
        """Ratings and their scale."""
        values, (low, high) = self.columns["rating"], self.reading.scale or SCALE
        outside = (values < low) | (values > high)
        if outside.any():
            row = int(outside.argmax())
            raise InvalidInput(
                f"{self._where(row)}: rating {values[row]:g} is outside the scale {low:g} to {high:g}; "
                "correct it or set the scale"
            )
        return values, (low, high)

    def _implicit(self) -> tuple[np.ndarray, tuple[float, float]]:
        """1 where there are plays, else 0, and the scale."""
        if self.reading.scale is not None and np.isfinite(self.reading.scale).any():
            raise InvalidInput(
                f"{self.name} has no ratings but implicit feedback, which has no scale; leave the scale out, or read "
                "plays as ratings (format ratings)"
            )
        plays = self.columns.get("plays", np.ones(len(self.lines)))
        if (plays < 0).any():
            row = int((plays < 0).argmax())
            raise InvalidInput(f"{self._where(row)}: {plays[row]:g} plays; give 0 or more")
        return (plays > 0).astype(float), (0.0, 1.0)

    def _kept(self, values: np.ndarray, rated: np.ndarray) -> np.ndarray:
        """Of the rows `rated` one for each pair of user and item; their mean is written into `values`."""
        cells = (self.users.codes * len(self.items.names) + self.items.codes)[rated]
        order = np.argsort(cells, kind="stable")
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        if len(starts) == len(rated):
            return rated
        ends = np.append(starts[1:], len(rated)) - 1
        if self.reading.duplicates == "error":
            again = int(np.delete(order, starts).min())
            row, before = rated[again], rated[np.flatnonzero(cells == cells[again])[0]]
            user, item = (ids.names[ids.codes[row]] for ids in (self.users, self.items))
            raise InvalidInput(
                f"{self._where(row)}: user {user} rated item {item} before, in {self.word} {self.lines[before]}; "
                "keep one rating per pair (duplicates: first, last or mean)"
            )
        chosen = rated[order[starts if self.reading.duplicates == "first" else ends]]
        if self.reading.duplicates == "mean":
            values[chosen] = np.add.reduceat(values[rated[order]], starts) / (ends - starts + 1)
        return np.sort(chosen)

    def _timestamps(self) -> np.ndarray | None:
        """Of each row, unless some are no numbers: dates in words order nothing here and are left out."""
        moments = self.columns.get("timestamp")
        if moments is None:
            return None
        beyond = np.isfinite(moments) & (np.abs(moments) >= 2.0**63)
        if beyond.any():
            row = int(beyond.argmax())
            raise InvalidInput(f"{self._where(row)}: the timestamp {moments[row]:g} is no moment; correct it")
        return moments.astype(np.int64) if np.isfinite(moments).all() else None


def rating_file(path: str | Path) -> Path:
    """The path of a file that is there, or of the rating file in a folder.

    Raises:
        InvalidInput: there is none, or it is empty.
    """
    path = Path(path)
    if path.is_dir():
        inside = sorted(file.name for file in path.iterdir() if file.is_file())
        name = main_file([name for name in inside if name in MAIN_FILES or name.endswith(".inter")])
        if name is None:
            raise InvalidInput(
                f"folder {path} has none of {', '.join(MAIN_FILES)} and no one .inter; give the rating file itself"
            )
        return path / name
    if not path.is_file():
        raise InvalidInput(f"no file {path}; give a rating file or the folder of MovieLens 100K")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path.name} is empty; give at least one user,item,rating")
    return path


def _named(ratings: Ratings) -> Ratings:
    fingerprint = ratings.fingerprint()
    known = fingerprint == MOVIELENS_100K_FINGERPRINT and (ratings.num_users, ratings.num_items) == (943, 1682)
    return replace(ratings, name=MOVIELENS_100K if known else f"custom-{fingerprint[:8]}")


def _share(columns: Sequence[_Ids]) -> None:
    """Numbers the ids of several files alike."""
    names = functools.reduce(np.union1d, (ids.names for ids in columns))
    for ids in columns:
        ids.renumber(names)


def _numbers(column: Sequence[Any]) -> np.ndarray:
    """A column as float64, NaN where it is no number."""
    try:
        return np.fromiter(map(float, column), float, len(column))
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(cell) for cell in column])


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _delimited(content: Content, format: Format) -> Batches:
    text = Delimited(content)
    meanings = columns_of(text.name, text.first, text.header, format)
    for rows in text.rows():
        columns = {name: column for name, column in zip(meanings, rows.columns, strict=True) if name}
        for row in rows.tall:
            if any("\n" in column[row] for column in columns.values()):
                raise InvalidInput(f"{text.name}, line {rows.lines[row]}: {STRAY_QUOTE}")
        needed = [name for name in columns if name != "timestamp"]
        lacking = [columns[name].index("") for name in needed if "" in columns[name]]
        if lacking:
            raise InvalidInput(
                f"{text.name}, line {rows.lines[min(lacking)]}: a column is missing; give {', '.join(needed)}"
            )
        yield rows.lines, columns


def _parquet(content: Content, format: Format) -> Batches:
    table = parquet_table(content)
    meanings = columns_of(content.name, table.column_names, True, format)
    columns = {name: each.to_numpy().tolist() for name, each in zip(meanings, table.columns, strict=True) if name}
    yield np.arange(1, table.num_rows + 1), columns


def columns_of(file: str, fields: Sequence[str], header: bool, format: Format) -> list[str]:
    """The meaning of each column: user, item, rating or plays, timestamp; "" for one that is not used.

    Raises:
        InvalidInput: the columns are no ratings of this format.
    """
    if not header:
        order = ["user", "item", "plays" if format == "implicit" else "rating", "timestamp"]
        if not (2 if format == "implicit" else 3) <= len(fields) <= 4:
            raise InvalidInput(
                f"{file} has {len(fields)} columns and no header; give user, item, rating and perhaps timestamp, or "
                "name the columns in a first line, or set the format to implicit or, in an audit, table"
            )
        return order[: len(fields)]
    columns = _known(fields)
    unclear = format == "auto" and "" in columns and not {"rating", "plays"} & {*columns}  # it may be the rating
    used, other = "rating", "plays"
    if format == "implicit" or (format == "auto" and "rating" not in columns):
        used, other = other, used
    replacement = "" if used in columns else used
    columns = [replacement if name == other else name for name in columns]
    once = [name for name in ("user", "item", "rating") if name != "rating" or format == "ratings" or unclear]
    if any(columns.count(name) != 1 for name in once) or any(columns.count(name) > 1 for name in (used, "timestamp")):
        raise InvalidInput(
            f"{file}: columns are {', '.join(fields)}; there must be one each of user, item, rating (or plays, or "
            "neither where feedback is implicit)"
        )
    return columns


def is_rating_file(fields: Sequence[str], header: bool) -> bool:
    """Whether a file of one's own is taken for ratings unless its user says otherwise.

    It is without a header, and with one that names user and item and besides nothing but rating, plays and timestamp.
    """
    columns = _known(fields)
    return not header or (all(columns) and all(columns.count(name) == 1 for name in ("user", "item")))


def _known(fields: Sequence[str]) -> list[str]:
    meanings = {name: meaning for meaning, names in COLUMN_NAMES.items() for name in names}
    return [meanings.get(RECBOLE_KIND.sub("", field).lower(), "") for field in fields]


def _matrix(path: Path) -> np.ndarray:
    """A float matrix of shape (users, items), NaN where missing."""
    try:
        content = read_array_file(path)
        if isinstance(content, np.ndarray) and content.dtype.kind not in "biuf":
            raise ValueError(f"it holds {content.dtype.name}")
        if isinstance(content, np.ndarray):
            matrix = np.asarray(content, float)
        else:
            matrix = np.array([[np.nan if cell is None else cell for cell in row] for row in content], float)
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            f"{path.name} is not a matrix of numbers ({str(error).splitlines()[0]}); "
            "give users in rows, items in columns"
        ) from error
    if matrix.ndim != 2 or matrix.size == 0:
        raise InvalidInput(f"{path.name} holds an array of shape {matrix.shape}; give a matrix (users, items)")
    if np.isinf(matrix).any():
        raise InvalidInput(f"{path.name} holds an infinite rating; write missing ones as NaN or null")
    if np.isnan(matrix).all():
        raise InvalidInput(f"{path.name} holds no rating; give at least one")
    return matrix
