"""Damaged and hostile files of data: one line that says what is wrong, and never a rating lost in silence."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.dataset_files import load_dataset, load_dataset_pair
from dpassay.data.rating_files import load_ratings, load_split

LOADERS: list[Callable[[Path], Any]] = [load_ratings, load_dataset, lambda path: load_dataset_pair(path, path)]
ZIPPED = gzip.compress(b"user,item,rating\n" + b"".join(b"%d,%d,3\n" % (i, i * i) for i in range(99)))


def saved(array: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def archive(**files: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return content.getvalue()


ARCHIVE = archive(ratings="".join(f"{i},{i * i},3\n" for i in range(99)))
ARRAY = saved(np.ones((2, 2)))
SPLIT = b"user\tvalid_item\ttest_item\tnegatives\n1\t2\t3\t4 %s\n"


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.tsv", b'1\t1\t3\n1\t"2\t4\n2\t1\t5\n2\t2"\t4\n', "line 2: a quote"),
        ("u.data", b'1\t1\t3\t0\n1\t2\t4\t"0\n2\t1\t5\t0\n2\t2\t4\t"\n', "line 2"),
        ("r.tsv", b'1\t1\t3\n2\t2\t4\t"0', "quote"),
        ("r.dat", b'1::1::3\n1::"2::4\n2::1::5\n2::2"::4\n', "line 2: a quote"),
        ("r.csv", b'1,1,3\n1,"2,4\n2,1,5\n2,2",4\n', "line 2: a quote"),
        ("r.tsv", b'user\titem\trating\ttitle\n1\t1\t3\t"a\n1\t2\t4\tb"\n', "line 2: a quote"),
        ("r.csv", b"1,1,3\n1,1\0,4\n", "line 2: a NUL"),
        ("r.csv", b"1,1,3,5\n1,2,4,1e30\n", r"line 2: the timestamp 1e\+30"),
        ("r.csv", b"1,1,1" + b"0" * 400 + b"\n", "line 1: the rating '10+' is not a number"),
        ("r.csv.gz", ZIPPED[:30] + b"\xff\xff\xff\xff" + ZIPPED[34:], "not a whole gzip file"),
        ("r.csv.gz", ZIPPED[:-6], "not a whole gzip file"),
        ("r.zip", ARCHIVE[:60] + b"\xff\xff\xff\xff" + ARCHIVE[64:], "not a whole zip archive"),
        ("r.zip", ARCHIVE[:-6], "not a whole zip archive"),
        ("r.zip", archive(a="1,1,1", b="2,2,2"), "holds 2 files and none alone is u.data"),
        ("r.zip", archive(a=""), "r.zip/a is empty"),
        ("r.npy", ARRAY.replace(b"{'descr'", b"{{descr'"), "multi-line|unterminated"),
        ("r.npy", ARRAY.replace(b"'shape': (2, 2), }        ", b"'shape': (99999999, 99999)}"), "allocate"),
        ("r.npy", ARRAY[:-9], "Failed to read all"),
        ("r.npy", b"PK\x03\x04 no archive", "magic string"),
        ("r.npy", saved(np.array([None, 1])), "allow_pickle"),
        ("r.json", b"[[1,%s],[2,3]]" % (b"9" * 400), "integer of 400 digits"),
        ("r.json", b"[[1,-%s],[2,3]]" % (b"9" * 5000), "integer of 5000 digits"),
        ("r.json", b'[["\\ud800", 1]]', "surrogates not allowed"),
        ("r.json", b'{"\\udc00": 1}', "surrogates not allowed"),
        ("r.json", b"[" * 100_000 + b"]" * 100_000, "recursion"),
        ("a\0b.csv", None, "no file"),
        ("a\0b.npy", None, "no file"),
    ],
)
def test_damaged_files_get_one_line(
    tmp_path: Path, load: Callable[[Path], Any], name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_of_binary_files_give_one_line_or_an_array(tmp_path: Path, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for name, content in (("r.npy", ARRAY), ("r.csv.gz", ZIPPED), ("r.zip", ARCHIVE)):
        for _ in range(100):
            damaged = bytearray(content)
            damaged[generator.integers(len(content))] ^= generator.integers(1, 256)
            (tmp_path / name).write_bytes(damaged)
            try:
                load_dataset(tmp_path / name)
            except InvalidInput as error:
                lines = str(error).splitlines()
                if len(lines) != 1:
                    pytest.fail(f"{len(lines)} lines: {error}")


@pytest.mark.parametrize("array", [np.ones((2, 2)) * 1j, np.array([["2020-01-01"]], "datetime64[D]")])
def test_matrices_of_other_things_are_no_ratings(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "r.npy", array)
    with pytest.raises(InvalidInput, match="it holds"):
        load_ratings(tmp_path / "r.npy")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"num_users": 10**300}, "num_users"),
        ({"users": [0, 2**62]}, "does not fit into memory"),
        ({"users": [0, 2**40], "items": [0, 2**40]}, "does not fit into memory"),
    ],
)
def test_matrices_beyond_memory_are_refused(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"users": [0, 1], "items": [0, 1], "values": [1, 2], **more}))
    with pytest.raises(InvalidInput, match=message):
        load_dataset(tmp_path / "r.json")


def test_ids_of_a_split_are_numbers_of_64_bits(tmp_path: Path) -> None:
    for digits in (30, 5000):
        (tmp_path / "s.tsv").write_bytes(SPLIT % (b"9" * digits))
        with pytest.raises(InvalidInput, match="line 2: ids must be whole numbers"):
            load_split(tmp_path / "s.tsv")
    (tmp_path / "s.tsv").write_bytes(SPLIT % b"5")
    assert load_split(tmp_path / "s.tsv").negatives.tolist() == [[4, 5]]


def test_quotes_that_belong_are_read(tmp_path: Path) -> None:
    text = 'user,item,rating,title\n"a,b",1,3,"two\nlines"\n\n"c ""x""",1,4,one\n'
    (tmp_path / "r.csv").write_text(text)
    assert load_ratings(tmp_path / "r.csv").values.tolist() == [3, 4]
    (tmp_path / "r.csv").write_text(text.replace(",4,", ",9,"))
    with pytest.raises(InvalidInput, match="line 5: rating 9"):
        load_ratings(tmp_path / "r.csv")
    (tmp_path / "r.tsv").write_text('"1"\t5"\t3\n"1"\t6\t4\n')
    assert len(load_ratings(tmp_path / "r.tsv")) == 2
