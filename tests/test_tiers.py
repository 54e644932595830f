"""The fast tier: what it leaves out exists, and every folder of tests keeps a part in it."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SLOW = (TESTS / "slow.txt").read_text().split()


def names(file: Path) -> list[str]:
    """The tests of a file, as tests/slow.txt names them."""
    path = file.relative_to(TESTS.parent).as_posix()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    scopes = {"": tree.body} | {f"{node.name}::": node.body for node in tree.body if isinstance(node, ast.ClassDef)}
    return [
        f"{path}::{scope}{node.name}"
        for scope, body in scopes.items()
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


FILES = {file.relative_to(TESTS.parent).as_posix(): names(file) for file in sorted(TESTS.rglob("test_*.py"))}
FOLDERS = sorted({path.rpartition("/")[0] for path in FILES})


def test_every_slow_test_exists_and_is_listed_once() -> None:
    known = {*FILES, *(name for tests in FILES.values() for name in tests)}
    assert [name for name in SLOW if name not in known] == []
    assert sorted(set(SLOW)) == SLOW


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_has_fast_tests(folder: str) -> None:
    tests = {
        name for path, names in FILES.items() if path.startswith(f"{folder}/") and path not in SLOW for name in names
    }
    assert tests - set(SLOW)
