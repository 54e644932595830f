"""Ratings of two domains by the same users: a pair of rating files, or a folder of two."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.data.rating_files import rating_file, ratings_together
from dpassay.data.ratings import Ratings
from dpassay.data.reading import PLAIN, Reading
from dpassay.data.text_files import unpacked

ENDINGS = ("ratings", ".dat", ".csv", ".tsv", ".parquet", ".inter", ".zip")


def rating_files(folder: Path) -> list[Path]:
    """The rating files that lie in a folder, by name; files of splits are none."""
    names = {file: file.name.removesuffix(".gz") for file in sorted(folder.iterdir()) if file.is_file()}
    return [file for file, name in names.items() if name.endswith(ENDINGS) and not domain_name(file).endswith("split")]


def domain_name(path: Path) -> str:
    """What a file's domain is called: the name of the file, or of its folder if it is that of any domain."""
    name = path.name.split(".")[0]
    return path.parent.name if name in ("ratings", "u") else name


def load_domains(paths: Sequence[Path], reading: Reading = PLAIN) -> tuple[Ratings, Ratings]:
    """Source and target: the same number is the same user in both, whose ids are common to both files.

    Item ids are one domain's own: what one file has under an id of the other's is another item. Ratings are in the
    order of users and items, without timestamps, and named after their files or folders.

    Raises:
        InvalidInput: there are not two files, or one is missing, empty or malformed.
    """
    if len(paths) != 2:
        raise InvalidInput(f"{len(paths)} rating files are given; the two domains need one each, the source first")
    files = [rating_file(path) for path in paths]
    source, target = (
        _sorted(ratings, domain_name(file).replace("_", "-"))
        for file, ratings in zip(
            files, ratings_together([unpacked(file) for file in files], reading, same_items=False), strict=True
        )
    )
    return source, target


def _sorted(ratings: Ratings, name: str) -> Ratings:
    order = np.lexsort((ratings.items, ratings.users))
    columns = {column: getattr(ratings, column)[order] for column in ("users", "items", "values")}
    return replace(ratings, name=name, timestamps=None, **columns)
