"""Tables of a user's own columns: read whole, of the same types in both files, never ratings in silence."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.dataset_files import load_dataset, load_dataset_pair, read_dataset, read_dataset_pair
from dpassay.data.reading import Format, Reading
from dpassay.runs.fingerprint import contents

TEXT = 'age,income,city\n30,100,"ulm, old\ntown"\n41,250.1,NA\n'


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_table_is_what_pandas_reads(tmp_path: Path) -> None:
    table = load_dataset(written(tmp_path, "a.csv", TEXT))
    pd.testing.assert_frame_equal(table, pd.read_csv(tmp_path / "a.csv"))
    table.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(load_dataset(tmp_path / "a.parquet"), table)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT.replace(",", ";").encode()))
    assert load_dataset(tmp_path / "a.csv.gz")["income"].tolist() == table["income"].tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_two_tables_have_the_same_types(tmp_path: Path, ending: str) -> None:
    texts = {"a": "age,name\n30,bo\n41,al\n", "b": "age,name\n30,bo\n,7\n"}
    for name, text in texts.items():
        path = written(tmp_path, f"{name}.csv", text)
        if ending == "parquet":
            pd.read_csv(path).to_parquet(tmp_path / f"{name}.parquet")
    one, two = load_dataset_pair(tmp_path / f"a.{ending}", tmp_path / f"b.{ending}")
    assert (one.dtypes == two.dtypes).all()
    assert one["age"].tolist() == [30, 41]
    assert np.isnan(two["age"][1])
    assert list(two.index) == [0, 1]


def test_a_table_without_rows_is_a_neighbor_of_one_row(tmp_path: Path) -> None:
    one, two = load_dataset_pair(written(tmp_path, "a.csv", "age\n30\n"), written(tmp_path, "b.csv", "age\n"))
    assert (len(one), len(two)) == (1, 0)
    assert (one.dtypes == two.dtypes).all()


@pytest.mark.parametrize(
    ("text", "format", "read_as"),
    [
        ("user,item,rating\n1,2,3\n", "auto", "ratings: 1, in a matrix"),
        ("userId,movieId,rating,timestamp\n1,2,3,4\n", "auto", "ratings: 1, in a matrix"),
        ("user,item,rating,age\n1,2,3,4\n", "auto", "a table of 1 rows: user (int64), item"),
        ("user,item,rating,age\n1,2,3,4\n", "ratings", "ratings: 1, in a matrix"),
        ("user,rating\n1,2\n", "auto", "a table of 1 rows"),
        ("user,item\n1,2\n", "auto", "ratings: 1, in a matrix (users, items) of shape (1, 1); implicit feedback"),
        ("user,item\n1,2\n", "table", "a table of 1 rows: user (int64), item (int64)"),
        ("1,2,3\n4,5,6\n", "auto", "ratings: 2, in a matrix (users, items) of shape (2, 2)"),
        ("1,2,3\n4,5,6\n", "table", "a table of 2 rows: 0 (int64), 1 (int64), 2 (int64)"),
        ("1,2\n3,4\n", "implicit", "implicit feedback"),
        ("full name\nann lee\n", "auto", "a table of 1 rows: full name ("),
    ],
)
def test_the_rule_is_the_header_and_the_format(tmp_path: Path, text: str, format: Format, read_as: str) -> None:
    path = written(tmp_path, "a.csv", text)
    assert read_as in read_dataset(path, Reading(format=format)).read_as
    assert len({each.read_as for each in read_dataset_pair(path, path, Reading(format=format))}) == 1


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("1,2\n3,4\n", None, "2 columns and no header; .* or, in an audit, table"),
        ("user,item,rating\n1,2,3\n", "age\n3\n", "a.csv as ratings and b.csv as a table would be no pair"),
        ("age,name\n1,a\n", "name,age\na,1\n", "a.csv has columns age, name, b.csv name, age"),
        ("age,age\n1,2\n", None, "two columns called age"),
        ("age,name\n1,a\n2\n", None, "line 3: fewer than 2 fields"),
        ("age,name\n1,a\n2,b,c\n", None, "Expected 2 fields in line 3, saw 3"),
        ('age,name\n1,"a\n2,b\n', None, "cannot be read from line 2 on"),
        ("age,name\n1,a\0\n", None, "line 2: a NUL"),
        (f"age,name\n1,a\n1{'0' * 400}.5,b\n", None, "the age of row 2 is infinite or beyond"),
        (f"age,name\n1,a\n1{'0' * 400},b\n", None, "the age of row 2 is infinite or beyond"),
        ("age\n1\n-inf\n", None, "the age of row 2 is infinite"),
    ],
)
def test_unusable_tables_get_one_line(tmp_path: Path, first: str, second: str | None, message: str) -> None:
    paths = written(tmp_path, "a.csv", first), written(tmp_path, "b.csv", second or first)
    with pytest.raises(InvalidInput, match=message) as caught:
        read_dataset_pair(*paths)
    assert "\n" not in str(caught.value)


def test_options_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    table, array = written(tmp_path, "a.csv", TEXT), written(tmp_path, "a.json", "[1]")
    for reading in (Reading(scale=(1, 5)), Reading(duplicates="mean")):
        with pytest.raises(InvalidInput, match=r"a\.csv is a table; scale and duplicates are for ratings"):
            read_dataset(table, reading)
    with pytest.raises(InvalidInput, match="for delimited text and Parquet"):
        read_dataset(array, Reading(format="table"))


def test_options_reach_the_ratings_of_an_audit(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "user,item,rating\n1,1,2\n1,1,9\n")
    assert read_dataset(path, Reading(duplicates="mean")).value.tolist() == [[5.5]]
    with pytest.raises(InvalidInput, match="line 3: rating 9 is outside the scale 0 to 5"):
        read_dataset(path, Reading(scale=(0, 5), duplicates="mean"))


def test_equal_tables_have_equal_contents(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", TEXT)
    whole, again = load_dataset(path), load_dataset(path)
    assert contents(whole) == contents(again) is not None
    again.loc[0, "age"] = 31
    assert contents(whole) != contents(again)
    assert contents(whole) != contents(whole.rename(columns={"age": "years"}))
    assert contents(whole) != contents(whole.set_axis([1, 0]))
