"""Reads ratings from the formats they are published in. The package itself ships no data.

Importing this module costs no JAX.
"""

import csv
import gzip
import hashlib
import io
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library
from dpassay.data.array_files import read_array_file
from dpassay.data.ratings import Ratings, synthetic

MOVIELENS_100K = "movielens-100k"
MOVIELENS_100K_FINGERPRINT = "94570898bd53500b8872e1c046530f54edf21104f35d8ca4305bcdbade9febe3"

# GroupLens publishes the MD5 sums beside the archives, in files of the same name and the ending .md5.
ARCHIVES = {
    "100k": ("https://files.grouplens.org/datasets/movielens/ml-100k.zip", "0e33842e24a9c977be4e0107933c0723"),
    "1m": ("https://files.grouplens.org/datasets/movielens/ml-1m.zip", "c4d9eecfca2ab87c1945afe126590906"),
}
FOLDER_FILES = ("u.data", "ratings.dat", "ratings.csv", "ratings.parquet")
SUFFIXES = {".csv": ",", ".tsv": "\t"}
STRAY_QUOTE = 'a quote (") opens here and closes in a later line; delete it, or the ratings between would be lost'
COLUMN_NAMES = {
    "user": ("user", "userid", "user_id", "uid"),
    "item": ("item", "itemid", "item_id", "iid", "movie", "movieid", "movie_id"),
    "rating": ("rating", "ratings", "value", "score", "stars"),
    "timestamp": ("timestamp", "time", "date"),
}


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


def load_ratings(path: str | Path, scale: tuple[float, float] | None = None) -> Ratings:
    """Reads a rating dataset.

    Formats: the MovieLens 100K folder or its `u.data`, `u1.base`, ...; the MovieLens 1M layout (`ratings.dat`, fields
    separated by `::`); delimited text with or without a header (`user,item,rating[,timestamp]`, any of it gzipped);
    Parquet with columns of these names; a matrix of shape (users, items) in `.npy` (NaN where missing) or `.json`
    (null where missing).

    User and item ids become 0, 1, ... in the order of the ids (by number where every id is one, else by text).
    MovieLens 100K is recognized by its content and named so; other ratings are named after their fingerprint.

    Args:
        path: a file, or a folder that holds one of the files above.
        scale: smallest and largest rating allowed; 1 to 5 unless given.

    Raises:
        InvalidInput: the file is missing, empty or malformed, or a rating is unusable; the message names the line.
    """
    path = _file(Path(path))
    bounds = (1.0, 5.0) if scale is None else (float(scale[0]), float(scale[1]))
    if not bounds[0] < bounds[1]:
        raise InvalidInput(f"scale {bounds[0]:g} to {bounds[1]:g}: give the smallest rating first")
    if path.suffix in (".npy", ".json"):
        matrix = _matrix(path)
        outside = (matrix < bounds[0]) | (matrix > bounds[1])
        if outside.any():
            user, item = (int(index) for index in np.argwhere(outside)[0])
            raise InvalidInput(
                f"{path.name}: row {user + 1}, column {item + 1}: rating {matrix[user, item]:g} is outside the scale "
                f"{bounds[0]:g} to {bounds[1]:g}; correct it or set the scale"
            )
        return _named(Ratings.from_dense(matrix, scale=bounds))
    table = _Table(path)
    users, items = _codes(table.ids("user")), _codes(table.ids("item"))
    return _named(table.ratings(users, items, bounds))


def ratings_or_synthetic(data: Ratings | Path | str | None) -> Ratings:
    """Ratings as they are, read from a path, or the small synthetic set for None; raises what `load_ratings` does."""
    return synthetic() if data is None else data if isinstance(data, Ratings) else load_ratings(data)


def load_dense_pair(path1: str | Path, path2: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Two files of delimited or Parquet ratings as matrices of one shape (users, items): a row is a user of both.

    Ratings may be any finite numbers; whoever is in one file only has a row of NaN in the other's matrix.

    Raises:
        InvalidInput: a file is missing, empty or malformed.
    """
    tables = [_Table(_file(Path(path))) for path in (path1, path2)]
    users = _common_codes([table.ids("user") for table in tables])
    items = _common_codes([table.ids("item") for table in tables])
    matrices = [
        table.ratings(user, item, (-np.inf, np.inf)).dense()
        for table, user, item in zip(tables, users, items, strict=True)
    ]
    return matrices[0], matrices[1]


def load_split(path: str | Path) -> Split:
    """Reads a leave-one-out split with negatives.

    The file is delimited text (gzipped or not) with a header: columns `user`, `valid_item` (or `validation_item`),
    `test_item`, and one column whose name starts with `negatives` and holds item ids separated by spaces.

    Raises:
        InvalidInput: the file is missing or malformed, or a held-out item is among the negatives.
    """
    path = _file(Path(path))
    text = _text(path)
    header, *lines = text.splitlines()
    separator = _separator(path, header)
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
    if any((unpacked / name).is_file() for name in FOLDER_FILES):
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


class _Table:
    """The columns of a rating file as text or numbers, and the line each row came from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns, self.lines = _parquet(path) if path.suffix == ".parquet" else _delimited(path)
        if not len(self.lines):
            raise InvalidInput(f"{path.name} has no ratings; give at least one user,item,rating")

    def where(self, row: int) -> str:
        """`FILE, line N`, or the row of a Parquet file."""
        word = "row" if self.path.suffix == ".parquet" else "line"
        return f"{self.path.name}, {word} {self.lines[row]}"

    def ids(self, name: str) -> np.ndarray:
        """One column of ids: int64 if every id is a whole number, else text."""
        text = np.char.strip(self.columns[name].astype(str))
        missing = np.isin(np.char.lower(text), ["", "nan", "null", "none"])
        if missing.any():
            raise InvalidInput(f"{self.where(int(missing.argmax()))}: the {name} is missing; give its id")
        numbers = _numbers(text)
        if np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (np.abs(numbers) < 2**53).all():
            return numbers.astype(np.int64)
        return text

    def ratings(
        self, users: tuple[np.ndarray, int], items: tuple[np.ndarray, int], scale: tuple[float, float]
    ) -> Ratings:
        """The ratings under given user and item numbers, checked one by one."""
        low, high = scale
        values = _numbers(self.columns["rating"])
        unusable = ~np.isfinite(values)
        if unusable.any():
            row = int(unusable.argmax())
            written = str(self.columns["rating"][row])[:40]
            raise InvalidInput(f"{self.where(row)}: the rating {written!r} is not a number; correct or delete it")
        outside = (values < low) | (values > high)
        if outside.any():
            row = int(outside.argmax())
            raise InvalidInput(
                f"{self.where(row)}: rating {values[row]:g} is outside the scale {low:g} to {high:g}; "
                "correct it or set the scale"
            )
        _, first, pairs = np.unique(users[0] * items[1] + items[0], return_index=True, return_inverse=True)
        repeated = first[pairs] < np.arange(len(pairs))
        if repeated.any():
            row = int(repeated.argmax())
            user, item = (self.columns[name][row] for name in ("user", "item"))
            raise InvalidInput(
                f"{self.where(row)}: user {user} rated item {item} before, in line {self.lines[first[pairs[row]]]}; "
                "keep one rating per pair"
            )
        timestamps = None
        if "timestamp" in self.columns:
            moments = _numbers(self.columns["timestamp"])
            beyond = np.isfinite(moments) & (np.abs(moments) >= 2.0**63)
            if beyond.any():
                row = int(beyond.argmax())
                raise InvalidInput(f"{self.where(row)}: the timestamp {moments[row]:g} is no moment; correct it")
            if np.isfinite(moments).all():  # dates in words order nothing here and are left out
                timestamps = moments.astype(np.int64)
        return Ratings(users[0], items[0], values, users[1], items[1], scale=scale, timestamps=timestamps)


def _file(path: Path) -> Path:
    if path.is_dir():
        for name in FOLDER_FILES:
            if (path / name).is_file():
                return path / name
        raise InvalidInput(f"folder {path} has none of {', '.join(FOLDER_FILES)}; give the rating file itself")
    if not path.is_file():
        raise InvalidInput(f"no file {path}; give a rating file or the folder of MovieLens 100K")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path.name} is empty; give at least one user,item,rating")
    return path


def _named(ratings: Ratings) -> Ratings:
    fingerprint = ratings.fingerprint()
    known = fingerprint == MOVIELENS_100K_FINGERPRINT and (ratings.num_users, ratings.num_items) == (943, 1682)
    return replace(ratings, name=MOVIELENS_100K if known else f"custom-{fingerprint[:8]}")


def _codes(ids: np.ndarray) -> tuple[np.ndarray, int]:
    values, codes = np.unique(ids, return_inverse=True)
    return codes.astype(np.int64), len(values)


def _common_codes(columns: list[np.ndarray]) -> list[tuple[np.ndarray, int]]:
    codes, count = _codes(np.concatenate(columns))
    return [(part, count) for part in np.split(codes, np.cumsum([len(column) for column in columns[:-1]]))]


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}; give a file that can be read") from error
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"{path.name} is not a whole gzip file ({error}); fetch it again") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is not text in UTF-8; give delimited text, .parquet, .npy or .json") from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InvalidInput(f"{path.name}, line {line}: a NUL is no character of a text; delete it")
    if not text.strip():
        raise InvalidInput(f"{path.name} is empty; give at least one user,item,rating")
    return text


def _separator(path: Path, line: str) -> str:
    """The separator of the file's ending if its first line has it, else the first that the line has."""
    usual = SUFFIXES.get(Path(path.name.removesuffix(".gz")).suffix, "::")
    return next((mark for mark in (usual, "::", "\t", ",", ";") if mark in line), " ")


def _delimited(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns user, item, rating[, timestamp] as text, and the number of each row's line."""
    text = _text(path)
    separator = _separator(path, next(line for line in text.splitlines() if line.strip()))
    if separator == "::":
        text, separator = text.replace("::", "\t"), "\t"
    rows = [(number, row) for number, row in _parted(path, text, separator) if any(row)]
    fields = [field.strip() for field in rows[0][1]] if rows else []
    header = not any(_is_number(field) for field in fields)
    wanted = {name: place for place, name in enumerate(_columns(path, fields, header)) if name}
    for number, row in rows:
        if len(row) > len(fields):
            raise InvalidInput(
                f"{path.name}: Expected {len(fields)} fields in line {number}, saw {len(row)}; "
                "give every line the same columns"
            )
        row += [""] * (len(fields) - len(row))
        if any("\n" in row[place] for place in wanted.values()):
            raise InvalidInput(f"{path.name}, line {number}: {STRAY_QUOTE}")
        if not all(row[wanted[name]] for name in ("user", "item", "rating")):
            raise InvalidInput(f"{path.name}, line {number}: a column is missing; give user, item and rating")
    rows = rows[header:]
    columns = {name: np.array([row[place] for _, row in rows]) for name, place in wanted.items()}
    return columns, np.array([number for number, _ in rows])


def _parted(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the line where each row begins, and its fields; only in comma-separated text may a field go on."""
    lines = io.StringIO(text, newline=None)
    if separator == " ":
        yield from ((number, line.split()) for number, line in enumerate(lines, start=1))
        return
    reader = csv.reader(lines, delimiter=separator, strict=True)
    number = 1
    try:
        for row in reader:
            if reader.line_num > number and separator not in ",;":
                raise InvalidInput(f"{path.name}, line {number}: {STRAY_QUOTE}")
            yield number, row
            number = reader.line_num + 1
    except csv.Error as error:
        mend = 'give one rating per line, and close or delete every quote (")'
        raise InvalidInput(f"{path.name} cannot be read from line {number} on ({error}); {mend}") from error


def _columns(path: Path, fields: list[str], header: bool) -> list[str]:
    """The meaning of each column, "" for one that is not used."""
    if not header:
        if len(fields) not in (3, 4):
            raise InvalidInput(
                f"{path.name} has {len(fields)} columns and no header; give user, item, rating and perhaps timestamp"
            )
        return list(COLUMN_NAMES)[: len(fields)]
    meanings = {name: meaning for meaning, names in COLUMN_NAMES.items() for name in names}
    columns = [meanings.get(field.lower(), "") for field in fields]
    if any(columns.count(name) != 1 for name in ("user", "item", "rating")) or columns.count("timestamp") > 1:
        raise InvalidInput(
            f"{path.name}: columns are {', '.join(fields)}; there must be one each of user, item, rating"
        )
    return columns


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(column: np.ndarray) -> np.ndarray:
    """A column as float64, NaN where it is no number."""
    try:
        return column.astype(float)
    except (TypeError, ValueError):
        return np.array([float(text) if _is_number(text) else np.nan for text in column.astype(str)])


def _parquet(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns user, item, rating[, timestamp], and the number of each row."""
    parquet = library("pyarrow.parquet")
    try:
        table = parquet.read_table(path)
    except Exception as error:  # pyarrow raises many kinds of its own
        raise InvalidInput(f"{path.name} cannot be read as Parquet ({str(error).splitlines()[0]})") from error
    names = _columns(path, [str(name) for name in table.column_names], header=True)
    columns = {name: column.to_numpy() for name, column in zip(names, table.columns, strict=True) if name}
    return columns, np.arange(1, table.num_rows + 1)


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
