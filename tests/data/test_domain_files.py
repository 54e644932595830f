"""Two domains of the same users: from two files or a folder, in either order, with the ids of each."""

from pathlib import Path

import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.domain_files import load_domains, rating_files
from dpassay.data.reading import Reading


def test_users_are_shared_and_items_are_not(tmp_path: Path) -> None:
    (tmp_path / "old_books.csv").write_text("user,item,rating\nbo,1,0.5\nal,2,5\n")
    (tmp_path / "films").mkdir()
    (tmp_path / "films/ratings.csv").write_text("user,item,rating\ncy,1,2\nbo,7,4\nbo,1,3\n")
    source, target = load_domains([tmp_path / "old_books.csv", tmp_path / "films"], Reading(scale=(0.5, 5)))
    assert (source.name, target.name) == ("old-books", "films")
    assert (source.num_users, target.num_users, source.num_items, target.num_items) == (3, 3, 2, 2)
    assert (source.users.tolist(), source.values.tolist()) == ([0, 1], [5, 0.5])
    assert (target.users.tolist(), target.items.tolist(), target.values.tolist()) == ([1, 1, 2], [0, 1, 0], [3, 4, 2])
    with pytest.raises(InvalidInput, match=r"old_books\.csv, line 2: rating 0\.5 is outside the scale"):
        load_domains([tmp_path / "old_books.csv", tmp_path / "films"])
    with pytest.raises(InvalidInput, match="1 rating files are given; the two domains need one each"):
        load_domains([tmp_path / "films"])


def test_what_else_lies_in_a_folder_is_no_domain(tmp_path: Path) -> None:
    for name in ("b.csv.gz", "a_ratings.csv", "a_split.csv.gz", "README", "c.inter"):
        (tmp_path / name).touch()
    assert [file.name for file in rating_files(tmp_path)] == ["a_ratings.csv", "b.csv.gz", "c.inter"]
