"""The rooms of the house: who may import whom, checked over the real files of the four linked root folders."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/dpassay"
LARGEST_HALL = 24  # modules and folders at the top level of the package


@pytest.fixture(scope="module")
def unlinked(tmp_path_factory) -> Path:
    """A folder with a copy of the package in which no folder is a link, which import tools do not follow."""
    folder = tmp_path_factory.mktemp("unlinked")
    shutil.copytree(SOURCE, folder / "dpassay", ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder: Path) -> str:
    """What import-linter says of the package in a folder, by the contracts in its pyproject.toml; "" when all hold."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout if done.returncode else ""


def test_no_module_imports_a_higher_layer_or_in_a_circle(unlinked):
    assert lint(unlinked) == ""


@pytest.mark.parametrize(
    ("module", "statement", "broken"),
    [
        ("core/errors.py", "import dpassay.replay", "lower layers"),
        ("mechanisms/wallenius.py", "import dpassay.auditors.audit", "lower layers"),
        ("replay/formula.py", "def late():\n    from dpassay.mechanisms import ppns", "lower layers"),
        ("core/errors.py", "import dpassay.core.claims", "No circle"),
        (
            "replay/formula.py",
            "def late():\n    from dpassay.mechanisms import ppns",
            "needs none of what judges the papers",
        ),
        (
            "auditors/audit.py",
            "def late():\n    from dpassay.mechanisms import ppns",
            "needs none of what judges the papers",
        ),
        ("proofs/dpp/claims.py", "import dpassay.replay", "Claims are data"),
        ("proofs/xmap/privacy.py", "from dpassay.replay.item_laws import law", "Searches use the mechanisms"),
        ("experiments/ppns/printed.py", "import dpassay.experiments.pricdr.printed", "stand alone"),
    ],
)
def test_a_wrong_import_is_found(unlinked, module, statement, broken):
    file = unlinked / "dpassay" / module
    before = file.read_text()
    try:
        file.write_text(f"{before}\n{statement}\n")
        found = lint(unlinked)
    finally:
        file.write_text(before)
    assert re.search(rf"{broken}.* BROKEN", found)


def test_a_new_room_must_be_given_a_layer(unlinked):
    (unlinked / "dpassay/attic.py").write_text("")
    try:
        assert "dpassay.attic" in lint(unlinked)
    finally:
        (unlinked / "dpassay/attic.py").unlink()


def test_the_table_of_layers_is_the_one_that_is_checked():
    contract, *_ = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = [set(re.findall(r"\w+", layer)) - {"__main__"} for layer in contract["layers"]]
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where things are")[2].partition("\n## ")[0]
    shown = [
        set(re.findall(r"`(?:src/dpassay/)?(\w+)/?`", row.split("|")[1]))
        for row in section.splitlines()
        if "| `" in row
    ]
    assert [layer for layer in checked if layer] == shown


def test_the_hall_stays_small():
    rooms = [
        path.name
        for path in SOURCE.iterdir()
        if (path.suffix == ".py" and path.name != "__init__.py") or (path / "__init__.py").is_file()
    ]
    assert len(rooms) <= LARGEST_HALL, sorted(rooms)
