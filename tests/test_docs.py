"""The site builds without a warning, needs nothing from outside, and its generated pages are what the data say."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dpassay
from dpassay.core.registry import papers
from dpassay.report.markdown import tables_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RESULTS = sorted((ROOT / "src/dpassay/results").glob("*.json"))
WRITTEN = sorted({*DOCS.glob("verdicts/*.md"), *DOCS.glob("*/tables/*.md")})
OUTSIDE = re.compile(r"""<(?:link|script|img|iframe|source)\b[^>]*\b(?:href|src)=["']?(?:https?:)?//""")
BY = re.compile(r"^Written by `(dpassay [^`]+)`", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder))
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(command, cwd=ROOT, env=variables, check=True)
    return folder


def test_site_needs_nothing_from_outside(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    assert [str(page) for page in pages if OUTSIDE.search(page.read_text(encoding="utf-8"))] == []
    assert OUTSIDE.search('<script async src="https://example.org/a.js">')
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert not re.search(r"""(@import|url\()\s*["']?(https?:)?//""", styles)


@pytest.mark.parametrize("paper", papers())
def test_the_formula_of_every_claim_is_typeset(site: Path, paper: str) -> None:
    page = (site / "verdicts" / f"{paper}.html").read_text(encoding="utf-8")
    assert page.count("<math ") == len(papers()[paper])


def test_reference_has_every_public_name_and_every_command(site: Path) -> None:
    names = {f"dpassay.{name}" for name in dpassay.__all__ if not name.startswith("_")}
    told = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    assert [name for name in sorted(names) if f'id="{name}"' not in told] == []
    assert [name for name in ("verify", "attack-beta-knn", "replay") if f'id="dpassay-{name}"' not in told] == []
    assert "Tests a privacy claim on samples of a mechanism" in told


def _said(tree: ast.AST) -> list[str]:
    """The texts of a module that are no docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings]
    return [node.value for node in constants if isinstance(node.value, str)]


@pytest.mark.parametrize("folder", ["commands", "core", "prover", "report", "scanning"])
def test_messages_name_pages_by_addresses_that_are_there(folder: str) -> None:
    for file in (ROOT / "src/dpassay" / folder).rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        assert [text for text in _said(tree) if re.search(r"(?<!main/)docs/\S+\.md", text)] == [], file
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "page"
                and isinstance(node.args[0], ast.Constant)
            ):
                assert (DOCS / str(node.args[0].value)).is_file(), file


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_written_pages_say_by_which_command(page: Path) -> None:
    assert BY.search(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_tables_of_experiments_are_those_of_the_kept_results(file: Path) -> None:
    result = json.loads(file.read_text())
    page = DOCS / "experiments/tables" / f"{file.stem}.md"
    text = page.read_text(encoding="utf-8")
    command = BY.search(text)
    assert command
    images = {
        f"{file.stem}-{number}.svg": plot["title"] for number, plot in enumerate(result.get("plots", ()), start=1)
    }
    assert text == tables_page(f"Experiment {result['experiment']}", result["tables"], command[1], images)
    assert [image for image in images if not page.with_name(image).is_file()] == []
