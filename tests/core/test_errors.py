"""What a user is told is one line, whatever was in the file."""

import pickle

import pytest

from dpassay.core.errors import InvalidInput
from dpassay.data.rating_files import load_ratings


@pytest.mark.parametrize("odd", ["\n", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\x1b[31m", "\x00"])
def test_a_message_is_one_line_that_prints(odd: str) -> None:
    error = InvalidInput(f"file: columns are a{odd}b")
    assert len(str(error).splitlines()) == 1
    assert str(error).isprintable()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_header_with_a_control_character_is_shown_in_one_line(tmp_path) -> None:
    (tmp_path / "file.csv").write_bytes(b"\x01\x0bser,item,rating")
    with pytest.raises(InvalidInput, match=r"columns are \\x01\\x0bser, item, rating"):
        load_ratings(tmp_path / "file.csv")
