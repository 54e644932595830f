"""Reads delimited text and Parquet, packed or not: every line checked, a million of four fields in about a second.

Importing this module costs no more than the standard library and NumPy.
"""

import contextlib
import csv
import gzip
import io
import itertools
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import library, one_line

MAIN_FILES = ("u.data", "ratings.dat", "ratings.csv", "ratings.parquet")
"""What the rating file of a folder or an archive is called, unless it is the only one that ends in .inter."""
SEPARATORS = {".csv": ",", ".tsv": "\t", ".inter": "\t"}
STRAY_QUOTE = 'a quote (") opens here and closes in a later line; delete it, or the rows between would be lost'
ROWS, CHARACTERS = 50_000, 2_000_000
"""What is handed on at once: enough that NumPy pays, few enough that 25 million rows fit into memory."""


@dataclass(frozen=True)
class Content:
    """What a file holds, unpacked.

    Attributes:
        name: of the file for messages; of a file in an archive `ARCHIVE/FILE`.
        suffix: its ending without that of the packing, for example `.csv`.
        data: the bytes.
    """

    name: str
    suffix: str
    data: bytes


@dataclass(frozen=True)
class Rows:
    """Consecutive rows of a text that are not blank, of as many fields each as its first one has.

    Attributes:
        lines: the number of the line in which each begins, int64, shape (rows,).
        columns: the fields of each column, all as long.
        short: the first row that had fewer fields, and was filled with empty ones.
        tall: rows that go on in another line, within quotes.
    """

    lines: np.ndarray
    columns: list[list[str]]
    short: int | None = None
    tall: tuple[int, ...] = ()


def main_file(names: Sequence[str]) -> str | None:
    """Of the names of the files in a folder or an archive that of the ratings; None where none alone is."""
    for wanted in (*MAIN_FILES, ".inter"):
        found = [name for name in names if PurePosixPath(name).name == wanted or PurePosixPath(name).suffix == wanted]
        if len(found) == 1:
            return found[0]
    return names[0] if len(names) == 1 else None


def unpacked(path: Path) -> Content:
    """The content of a file; of a gzip file what it packs, of a zip archive its `main_file`.

    Raises:
        InvalidInput: it cannot be read or is damaged, or the archive has no such file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}; give a file that can be read") from error
    if path.suffix == ".zip":
        return _archived(path, data)
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"{path.name} is not a whole gzip file ({error}); fetch it again") from error
    return Content(path.name, Path(path.name.removesuffix(".gz")).suffix, data)


def _archived(path: Path, data: bytes) -> Content:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if not name.startswith("__MACOSX/") and name[-1:] != "/"]
            name = main_file(names)
            content = b"" if name is None else archive.read(name)
    except Exception as error:  # zipfile and what it unpacks with raise many kinds at damaged archives
        raise InvalidInput(f"{path.name} is not a whole zip archive without a password ({one_line(error)})") from error
    if name is None:
        raise InvalidInput(
            f"{path.name} holds {len(names)} files and none alone is {', '.join(MAIN_FILES)} or .inter; unpack it and "
            "give the file"
        )
    return Content(f"{path.name}/{name}", PurePosixPath(name).suffix, content)


def text_of(content: Content) -> str:
    """Text in UTF-8 whose lines end in a line feed.

    Raises:
        InvalidInput: it is something else, or empty, or has a NUL.
    """
    try:
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{content.name} is not text in UTF-8; give delimited text, .parquet, .npy or .json"
        ) from error
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InvalidInput(f"{content.name}, line {line}: a NUL is no character of a text; delete it")
    if not text.strip():
        raise InvalidInput(f"{content.name} is empty; give a header and rows, or at least one user,item,rating")
    return text


def parquet_table(content: Content) -> Any:
    """A Parquet file as a table of PyArrow.

    Raises:
        InvalidInput: it is none, or PyArrow is not installed.
    """
    parquet = library("pyarrow.parquet")
    try:
        table = parquet.read_table(io.BytesIO(content.data))
        table.validate(full=True)
        "".join(table.column_names)  # bytes that are no text are found here
        return table
    except Exception as error:  # pyarrow raises many kinds of its own
        raise InvalidInput(f"{content.name} cannot be read as Parquet ({one_line(error)})") from error


def separator_of(line: str, suffix: str) -> str:
    """The separator of a file's ending if its first line has it, else the first of several that the line has.

    A space, which stands for any white space, if there is none.
    """
    usual = SEPARATORS.get(suffix, "::")
    return next((mark for mark in (usual, "::", "\t", ",", ";") if mark in line), " ")


class Delimited:
    """Delimited text.

    Attributes:
        name: of the file.
        separator: see `separator_of`; that of the file's ending, if it has one, also where the first line has none and
            `spaces` do not separate.
        first: the fields of the first row.
        header: whether that row names the columns: no field of it is a number.

    Raises InvalidInput as `text_of` and `rows` do.
    """

    def __init__(self, content: Content, spaces: bool = True) -> None:
        self.name, self._text = content.name, text_of(content)
        begin = len(self._text) - len(self._text.lstrip())
        end = self._text.find("\n", begin)
        self.separator = separator_of(self._text[begin : end if end > 0 else None], content.suffix)
        if self.separator == " " and not spaces:
            self.separator = SEPARATORS.get(content.suffix, " ")
        batches = (batch for piece in self._pieces() for _, batch in self._parsed(piece, 1, 1))
        first = next((row for batch in batches for row in batch if any(row)), None)
        if first is None:
            raise InvalidInput(f"{self.name} has no field that is not empty; give at least one user,item,rating")
        self.first = [field.strip() for field in first]
        self.header = not any(is_number(field) for field in self.first)

    def rows(self) -> Iterator[Rows]:
        """All rows below the header in batches that are not empty.

        Raises:
            InvalidInput: a row has more fields than the first one, a quote is not closed, or text that is not separated
                by commas or semicolons has a quote that closes in another line; the message names the line.
        """
        below = int(self.header)
        for rows in self._rows():
            short = None if rows.short is None else rows.short - below
            tall = tuple(row - below for row in rows.tall if row >= below)
            if len(rows.lines) > below:
                yield Rows(rows.lines[below:], [column[below:] for column in rows.columns], short, tall)
            below = 0

    def _rows(self) -> Iterator[Rows]:
        """All rows that are not blank in batches that are not empty."""
        begin = 1
        for piece in self._pieces():
            if columns := self._even(piece):
                yield Rows(np.arange(begin, begin + len(columns[0])), columns)
                begin += len(columns[0])
                continue
            for lines, fields in self._parsed(piece, begin, ROWS):
                begin = int(lines[-1])
                if any(map(any, fields)):
                    yield self._filled(lines, fields)

    def _pieces(self) -> Iterator[str]:
        """The text in pieces of whole lines; in one piece where a quote may hold a line's end."""
        begin, step = 0, len(self._text) if '"' in self._text else CHARACTERS
        while begin < len(self._text):
            end = self._text.find("\n", begin + step) + 1 or len(self._text)
            yield self._text[begin:end]
            begin = end

    def _even(self, piece: str) -> list[list[str]] | None:
        """The columns of text without quotes and blank lines in which every line has as many fields; None for other."""
        if self.separator == " " or '"' in piece:
            return None
        mark = "\t" if self.separator == "::" else self.separator
        piece = piece.removesuffix("\n").replace(self.separator, mark)
        letters = np.frombuffer(piece.encode(), np.uint8)
        ends = np.append(letters[(letters == ord(mark)) | (letters == ord("\n"))], ord("\n")) == ord("\n")
        width = len(self.first)
        if len(ends) % width or (ends.reshape(-1, width) != (np.arange(width) == width - 1)).any():
            return None
        fields = piece.replace("\n", mark).split(mark)
        columns = [fields[place::width] for place in range(width)]
        return None if "" in columns[0] else columns

    def _parsed(self, text: str, begin: int, most: int) -> Iterator[tuple[np.ndarray, list[list[str]]]]:
        """Batches of rows of text that begins in a line: the line where each begins and where the last ends; fields."""
        reader = self._reader(text)
        line = begin
        while True:
            try:
                fields = list(itertools.islice(reader, most))
            except csv.Error as error:
                again = self._reader(text)
                with contextlib.suppress(csv.Error):
                    for _ in again:
                        line = begin + again.line_num
                mend = 'give one row per line, and close or delete every quote (")'
                raise InvalidInput(f"{self.name} cannot be read from line {line} on ({error}); {mend}") from error
            if not fields:
                return
            heights = np.ones(len(fields), np.int64)
            if begin + reader.line_num != line + len(fields):
                heights += [sum(field.count("\n") for field in row) for row in fields]
            lines = line + np.append(0, np.cumsum(heights))
            if (heights > 1).any() and self.separator not in ",;":
                raise InvalidInput(f"{self.name}, line {lines[(heights > 1).argmax()]}: {STRAY_QUOTE}")
            yield lines, fields
            line = int(lines[-1])

    def _reader(self, text: str) -> Any:
        lines = io.StringIO(text)
        if self.separator == " ":
            plain = (" ".join(line.split()) for line in lines)
            return csv.reader(plain, delimiter=" ", quoting=csv.QUOTE_NONE)
        if self.separator == "::":
            return csv.reader((line.replace("::", "\t") for line in lines), delimiter="\t", strict=True)
        return csv.reader(lines, delimiter=self.separator, strict=True)

    def _filled(self, lines: np.ndarray, fields: list[list[str]]) -> Rows:
        """A batch without its blank rows, all rows as long as the first of the text."""
        width, heights = len(self.first), np.diff(lines)
        kept = [row for row, parts in enumerate(fields) if any(parts)]
        short = None
        for place, row in enumerate(kept):
            parts = fields[row]
            if len(parts) > width:
                raise InvalidInput(
                    f"{self.name}: Expected {width} fields in line {lines[row]}, saw {len(parts)}; "
                    "give every line the same columns"
                )
            if len(parts) < width:
                short = place if short is None else short
                parts += [""] * (width - len(parts))
        flat = list(itertools.chain.from_iterable(fields[row] for row in kept))
        tall = tuple(place for place, row in enumerate(kept) if heights[row] > 1)
        return Rows(lines[kept], [flat[place::width] for place in range(width)], short, tall)


def is_number(text: str) -> bool:
    """Whether a text is a number, nan and inf among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True
