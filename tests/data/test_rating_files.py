"""Loaders: each real format on a small file, each kind of unusable input, and the real files where they lie."""

import csv
import gzip
import hashlib
import io
import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpassay.data.rating_files
import dpassay.data.text_files
from dpassay.core.errors import InvalidInput
from dpassay.data.rating_files import MOVIELENS_100K, fetch_movielens, load_ratings, load_split
from dpassay.data.ratings import Ratings
from dpassay.data.reading import Duplicates, Format

NAN = float("nan")
EXPECTED = np.array([[3.0, NAN, 1.0], [NAN, 5.0, 2.0]])  # users 7 and 20, items 2, 11 and 101


def test_movielens_100k_layout(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("20\t101\t2\t881250949\n7\t2\t3\t5\n7\t101\t1\t6\n20\t11\t5\t7\n")
    ratings = load_ratings(tmp_path)
    np.testing.assert_array_equal(ratings.dense(), EXPECTED)
    assert ratings.timestamps is not None
    assert ratings.timestamps.tolist() == [881250949, 5, 6, 7]
    assert ratings.name == f"custom-{ratings.fingerprint()[:8]}"


def test_movielens_1m_layout(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text("7::2::3::978300760\n7::101::1::978302109\n20::11::5::1\n20::101::2::2\n")
    np.testing.assert_array_equal(load_ratings(tmp_path).dense(), EXPECTED)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", "user,item,rating\n7,2,3\n7,101,1\n20,11,5\n20,101,2\n"),
        ("r.csv", "7,2,3\n7,101,1.0\n20,11,5\n20,101,2"),
        ("r.csv", "itemId,rating,userId,extra\n2,3,7,a\n101,1,7,\n11,5,20,b\n101,2,20,c\n"),
        (
            "r.csv",
            '"user","item","rating","timestamp"\r\n"7","2","3","1"\r\n"7","101","1","2"\r\n20,11,5,3\r\n20,101,2,4\r\n',
        ),
        ("r.tsv", "user_id\titem_id\trating\n7\t2\t3\n7\t101\t1\n20\t11\t5\n20\t101\t2\n"),
        ("r.txt", "7 2 3\n7 101 1\n20  11  5\n20 101 2\n\n"),
        ("r.csv", "7;2;3\n7;101;1\n20;11;5\n20;101;2\n"),
        ("r.txt", "7;2;3\n\n7;101;1\n20;11;5\n20;101;2\n"),
        ("r.dat", "7\t2\t3\n7\t101\t1\n20\t11\t5\n20\t101\t2\n"),
        ("r.csv", "\ufeffuser,item,rating\n7,2,3\n7,101,1\n20,11,5\n20,101,2\n"),
    ],
)
def test_delimited_text(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    np.testing.assert_array_equal(load_ratings(tmp_path / name).dense(), EXPECTED)
    with gzip.open(tmp_path / f"{name}.gz", "wt", encoding="utf-8", newline="") as file:
        file.write(text)
    np.testing.assert_array_equal(load_ratings(tmp_path / f"{name}.gz").dense(), EXPECTED)


HALF_STARS = "userId,movieId,rating,timestamp\n7,2,3.5,1\n7,101,0.5,2\n20,11,5.0,3\n20,101,2.0,4\n"
RECBOLE = (
    "user_id:token\titem_id:token\trating:float\ttimestamp:float\n7\t2\t3\t1\n7\t101\t1\t2\n20\t11\t5\t3\n20\t101\t2\t4"
)


def test_half_stars_are_read_from_a_folder_or_an_archive(tmp_path: Path) -> None:
    (tmp_path / "ml").mkdir()
    (tmp_path / "ml/ratings.csv").write_text(HALF_STARS)
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as archive:
        archive.writestr("ml/", "")
        archive.writestr("ml/movies.csv", "movieId,title\n2,a\n")
        archive.writestr("ml/ratings.csv", HALF_STARS)
    folder, archived = (load_ratings(tmp_path / name, (0.5, 5)) for name in ("ml", "ml.zip"))
    assert sorted(folder.values) == [0.5, 2, 3.5, 5]
    assert folder.name == archived.name
    with pytest.raises(InvalidInput, match=r"ml\.zip/ml/ratings\.csv, line 3: rating 0\.5 is outside the scale"):
        load_ratings(tmp_path / "ml.zip")


def test_recbole(tmp_path: Path) -> None:
    (tmp_path / "r.inter").write_text(RECBOLE)
    (tmp_path / "r.inter.gz").write_bytes(gzip.compress(RECBOLE.encode()))
    for path in (tmp_path, tmp_path / "r.inter", tmp_path / "r.inter.gz"):
        np.testing.assert_array_equal(load_ratings(path).dense(), EXPECTED)


@pytest.mark.parametrize(
    ("text", "format", "pairs", "note"),
    [
        ("user,item\n1,2\n3,4\n", "auto", 2, "a rating of 1"),
        ("user,item,timestamp\n1,2,9\n3,4,8\n", "auto", 2, "a rating of 1"),
        ("user,item,plays\n1,2,12\n3,4,0\n", "auto", 1, "a rating of 1; 1 rows of 0 plays left out"),
        ("1,2\n3,4\n", "implicit", 2, "a rating of 1"),
        ("1,2,30\n3,4,0\n", "implicit", 1, "1 rows of 0 plays"),
        ("user,item,rating\n1,2,5\n3,4,1\n", "implicit", 2, "a rating of 1"),
    ],
)
def test_implicit_feedback_is_read_as_such_and_says_so(
    tmp_path: Path, text: str, format: Format, pairs: int, note: str
) -> None:
    (tmp_path / "r.csv").write_text(text)
    ratings = load_ratings(tmp_path / "r.csv", format=format)
    assert ratings.values.tolist() == [1.0] * pairs
    assert ratings.scale == (0, 1)
    assert "implicit feedback" in ratings.note
    assert note in ratings.note


def test_plays_are_ratings_for_whoever_says_so(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,item,plays\n1,2,12\n3,4,0\n")
    ratings = load_ratings(tmp_path / "r.csv", (0, 100), format="ratings")
    assert (ratings.values.tolist(), ratings.note) == ([12, 0], "")
    with pytest.raises(InvalidInput, match="has no scale"):
        load_ratings(tmp_path / "r.csv", (0, 100))
    (tmp_path / "r.csv").write_text("user,item,plays\n1,2,12\n3,4,-1\n")
    with pytest.raises(InvalidInput, match="line 3: -1 plays"):
        load_ratings(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_text("user,item\n1,2\n")
    with pytest.raises(InvalidInput, match="one each of user, item, rating"):
        load_ratings(tmp_path / "r.csv", format="ratings")


@pytest.mark.parametrize(("duplicates", "kept"), [("first", [1, 2, 5]), ("last", [1, 3, 4]), ("mean", [1, 3, 4.5])])
def test_repeated_pairs_become_one(tmp_path: Path, duplicates: Duplicates, kept: list[float]) -> None:
    (tmp_path / "r.csv").write_text("1,1,5\n2,1,2\n1,1,4\n2,2,1\n2,1,4\n2,1,3\n")
    ratings = load_ratings(tmp_path / "r.csv", duplicates=duplicates)
    assert sorted(ratings.values) == kept
    assert ratings.dense()[0, 0] == kept[-1]
    assert ratings.note == f"3 ratings repeat a pair: kept is the {duplicates}"
    with pytest.raises(InvalidInput, match="line 3: user 1 rated item 1 before, in line 1"):
        load_ratings(tmp_path / "r.csv")


def test_uneven_text_is_read_as_even_text_is(tmp_path: Path) -> None:
    lines = [f"{user};{user % 7};{1 + user % 5}" for user in range(300)]
    (tmp_path / "even.csv").write_text("\n".join(lines))
    (tmp_path / "uneven.csv").write_text(
        "\r\n".join([*lines[:9], "", *lines[9:99], '"99";"1";"5"', ";;", *lines[100:]])
    )
    even, uneven = (load_ratings(tmp_path / name) for name in ("even.csv", "uneven.csv"))
    assert even.fingerprint() == uneven.fingerprint()


def test_batches_are_read_as_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "user,item,rating\n" + "".join(f"{u},{u * u % 97},{1 + u % 5}\n" for u in range(200))
    (tmp_path / "r.csv").write_text(text)
    (tmp_path / "q.csv").write_text(text.replace("\n150,", '\n"150",'))
    whole = [load_ratings(tmp_path / name).fingerprint() for name in ("r.csv", "q.csv")]
    monkeypatch.setattr(dpassay.data.text_files, "CHARACTERS", 50)
    monkeypatch.setattr(dpassay.data.text_files, "ROWS", 7)
    assert [load_ratings(tmp_path / name).fingerprint() for name in ("r.csv", "q.csv")] == whole == whole[:1] * 2
    for name in ("r.csv", "q.csv"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "200,1,six\n")
        with pytest.raises(InvalidInput, match="line 202: the rating 'six'"):
            load_ratings(tmp_path / name)


def test_a_short_cut_for_even_text_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.csv"
    path.write_text("1,2,3\n,,\n1,3,4\n")
    assert load_ratings(path).values.tolist() == [3, 4]
    path.write_text("1,2,3\n1,3,4,5\n1,4\n")  # as many fields as three rows of three
    with pytest.raises(InvalidInput, match="Expected 3 fields in line 2, saw 4"):
        load_ratings(path)
    monkeypatch.setattr(dpassay.data.text_files, "CHARACTERS", 5)
    path.write_text('user,item,rating,title\n1,1,3,"a\nb\nc"\n1,2,4,d\n')
    assert load_ratings(path).values.tolist() == [3, 4]


def test_a_million_ratings_take_seconds(tmp_path: Path) -> None:
    text = "".join(f"{u}::{i}::{1 + (u + i) % 5}::{978300000 + u}\n" for u in range(1000) for i in range(200))
    (tmp_path / "ratings.dat").write_text(text)
    begin = time.process_time()
    assert len(list(csv.reader(text.replace("::", ",").splitlines()))) == 200_000
    plain = time.process_time() - begin
    assert len(load_ratings(tmp_path / "ratings.dat")) == 200_000
    assert time.process_time() - begin - plain < 3 * plain  # 1.3 times Python's reader; 5 times line by line


def test_numeric_ids_sort_by_number_and_text_ids_by_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("b10,9,1\na2,10,2\nb9,10,3\n")
    np.testing.assert_array_equal(load_ratings(tmp_path / "r.csv").dense(), [[NAN, 2], [1, NAN], [NAN, 3]])


def test_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": [7, 7, 20, 20], "item": [2, 101, 11, 101], "rating": [3, 1, 5, 2.0]})
    frame.to_parquet(tmp_path / "r.parquet")
    np.testing.assert_array_equal(load_ratings(tmp_path / "r.parquet").dense(), EXPECTED)
    frame.loc[1, "rating"] = None
    frame.to_parquet(tmp_path / "r.parquet")
    with pytest.raises(InvalidInput, match=r"r\.parquet, row 2: the rating 'nan' is not a number"):
        load_ratings(tmp_path / "r.parquet")


def test_matrices(tmp_path: Path) -> None:
    np.save(tmp_path / "r.npy", EXPECTED)
    (tmp_path / "r.json").write_text(json.dumps([[3, None, 1], [None, 5, 2]]))
    for name in ("r.npy", "r.json"):
        np.testing.assert_array_equal(load_ratings(tmp_path / name).dense(), EXPECTED)
    assert load_ratings(tmp_path / "r.npy").fingerprint() == load_ratings(tmp_path / "r.json").fingerprint()


def test_scale(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("1,1,-1\n1,2,0.5\n")
    assert load_ratings(tmp_path / "r.csv", scale=(-1, 1)).scale == (-1.0, 1.0)
    with pytest.raises(
        InvalidInput, match=r"line 1: rating -1 is outside the scale 1 to 5; correct it or set the scale"
    ):
        load_ratings(tmp_path / "r.csv")
    with pytest.raises(InvalidInput, match="smallest rating first"):
        load_ratings(tmp_path / "r.csv", scale=(5, 1))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.csv", "", "empty"),
        ("r.csv", " \n\n", "empty"),
        ("r.csv", "user,item,rating\n", "has no ratings"),
        ("r.csv", "user,rating\n1,2\n", "columns are user, rating; there must be one each of user, item, rating"),
        ("r.csv", "user,item,liking\n1,2,5\n", "columns are user, item, liking; there must be one each"),
        ("r.csv", "user,item,rating,stars\n1,2,3,4\n", "one each"),
        ("r.csv", "1,2\n1,3\n", "2 columns and no header"),
        ("r.csv", "1,2,3,4,5\n", "5 columns and no header"),
        ("r.csv", "1,2,3\n1,3,nan\n", "r.csv, line 2: the rating 'nan' is not a number"),
        ("r.csv", "user,item,rating\n1,2,3\n\n1,3,four\n", "r.csv, line 4: the rating 'four' is not a number"),
        ("r.csv", "1,2,inf\n", "line 1: the rating 'inf' is not a number"),
        ("r.csv", "user,item,rating\n1,2,3\n1,3,6\n", "line 3: rating 6 is outside the scale 1 to 5"),
        ("r.csv", "1,2,3\n1,3,4\n1,2,5\n", "line 3: user 1 rated item 2 before, in line 1; keep one"),
        ("r.csv", "1,2,3\n1,3\n", "line 2: a column is missing"),
        ("r.csv", "1,2,3\n,3,4\n", "line 2: a column is missing"),
        ("r.csv", "1,2,3\nnan,3,4\n", "line 2: the user is missing"),
        ("r.csv", "1,2,3\n1,3,4,5,6\n", "Expected 3 fields in line 2, saw 5; give every line the same columns"),
        ("r.csv", "1\n", "1 columns"),
        ("r.json", "[[1, 2], [3]]", "not a matrix of numbers"),
        ("r.json", '{"a": 1}', "not a matrix of numbers"),
        ("r.json", "[[null, null]]", "holds no rating"),
        ("r.json", "[[1, 2], [3, 9]]", "row 2, column 2: rating 9 is outside the scale"),
        ("r.npy", "no array", "not a matrix of numbers"),
        ("r.parquet", "no parquet", "cannot be read as Parquet"),
        ("r.csv.gz", "no gzip", "not a whole gzip file"),
    ],
)
def test_unusable_files_say_what_is_wrong_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        load_ratings(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no file .*nowhere"):
        load_ratings(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match=r"has none of u\.data"):
        load_ratings(tmp_path)
    (tmp_path / "r.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InvalidInput, match="not text in UTF-8"):
        load_ratings(tmp_path / "r.csv")


def test_split(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "split.csv.gz", "wt") as file:
        file.write("user,valid_item,test_item,negatives99\n0,2,4,7 8 9\n1,3,5,6 8 2\n")
    split = load_split(tmp_path / "split.csv.gz")
    assert split.users.tolist() == [0, 1]
    assert split.validation_items.tolist() == [2, 3]
    assert split.test_items.tolist() == [4, 5]
    assert split.negatives.tolist() == [[7, 8, 9], [6, 8, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,test_item,negatives\n0,1,2 3\n", "columns are user, test_item, negatives"),
        ("user,valid_item,test_item,negatives\n", "no line below its header"),
        ("user,valid_item,test_item,negatives\n0,2,4,7 x\n", "line 2: ids must be whole numbers"),
        ("user,valid_item,test_item,negatives\n0,2,4,7 8\n1,2,4,7\n", "line 3: 1 negatives, 2 in the first"),
        ("user,valid_item,test_item,negatives\n0,2,4,7 4\n", "line 2: validation item, test item and negatives"),
        ("user,valid_item,test_item,negatives\n0,2,4,7\n0,3,4,7\n", "more than one line"),
    ],
)
def test_unusable_splits(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "split.csv").write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_split(tmp_path / "split.csv")


def test_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("ml-100k/u.data", "1\t1\t5\t0\n")
    (tmp_path / "official.zip").write_bytes(archive.getvalue())
    address = (tmp_path / "official.zip").as_uri()
    checksum = hashlib.md5(archive.getvalue(), usedforsecurity=False).hexdigest()

    monkeypatch.setitem(dpassay.data.rating_files.ARCHIVES, "100k", (address, "0" * 32))
    with pytest.raises(InvalidInput, match=f"has the MD5 sum {checksum}, published is 0+; nothing was unpacked"):
        fetch_movielens(tmp_path / "data")
    assert not (tmp_path / "data").exists()

    monkeypatch.setitem(dpassay.data.rating_files.ARCHIVES, "100k", (address, checksum))
    assert len(load_ratings(fetch_movielens(tmp_path / "data"))) == 1

    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["ml-100k"]
    (tmp_path / "half/ml-100k").mkdir(parents=True)
    (tmp_path / "half/ml-100k/README").touch()
    with pytest.raises(InvalidInput, match="cannot unpack into"):
        fetch_movielens(tmp_path / "half")
    assert [path.name for path in (tmp_path / "half").iterdir()] == ["ml-100k"]

    (tmp_path / "official.zip").unlink()
    assert fetch_movielens(tmp_path / "data") == tmp_path / "data" / "ml-100k", "a second call needs no connection"
    with pytest.raises(InvalidInput, match=r"cannot download .* fetch it elsewhere"):
        fetch_movielens(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="choose from 100k, 1m"):
        fetch_movielens(tmp_path, "32m")


def test_import_is_cheap() -> None:
    code = "import dpassay.data.rating_files, sys; assert not {'jax', 'pandas', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.realdata
def test_movielens_100k(movielens: Ratings) -> None:
    assert (movielens.name, movielens.num_users, movielens.num_items, len(movielens)) == (
        MOVIELENS_100K,
        943,
        1682,
        10**5,
    )
    changed = movielens.values.copy()
    changed[5] = 6 - changed[5] if changed[5] != 3 else 2
    other = Ratings(movielens.users, movielens.items, changed, 943, 1682)
    assert dpassay.data.rating_files._named(other).name.startswith("custom-"), "one changed rating is another dataset"


@pytest.mark.realdata
def test_real_split(real_data: Path) -> None:
    split = load_split(real_data / "douban-book-music" / "book_split.csv.gz")
    assert split.negatives.shape == (924, 99)
    books = load_ratings(real_data / "douban-book-music" / "book_ratings.csv.gz")
    assert (books.num_users, books.num_items, len(books)) == (924, 3916, 50_429)
    assert len(load_ratings(real_data / "douban-raw" / "douban_music.ratings.dat")) == 69_709
