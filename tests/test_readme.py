"""What the README and the pages say can be run is run, and the commands and options that they name exist."""

import linecache
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import pytest

from dpassay.commands.main import commands
from dpassay.core.registry import papers

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
TOLD_IN = [README, *(page for page in DOCS if "```python" in page.read_text(encoding="utf-8"))]
COMMAND = re.compile(r"(?:\bdpassay|dev\.py run|dev\.py(?= verify)) ([a-z]+(?: [a-z][a-z-]+)?)([^`\n]*)")


def examples(page: Path) -> list[str]:
    """The page's Python, less what imports a project of the reader's: tests/test_examples.py runs that."""
    found = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [example for example in found if "from mechanisms." not in example]


def test_the_readme_can_be_read_to_its_end():
    assert len(README.read_text(encoding="utf-8")) <= 7000


@pytest.mark.parametrize("page", TOLD_IN, ids=lambda page: page.name)
def test_examples_run(page):
    names = {"__name__": page.stem}
    for number, example in enumerate(examples(page)):
        name = f"{page.name}, example {number}"
        linecache.cache[name] = (len(example), None, example.splitlines(keepends=True), name)  # its source, for proofs
        exec(compile(example, name, "exec"), names)


def test_the_readmes_test_is_red(pytester):
    pytester.makepyfile("\n".join(examples(README)))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*noisy_sum is not 1-DP: epsilon is *"])


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"])
def test_links_lead_somewhere(page):  # those of the pages under docs/ are checked when the site is built
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_a_package_page_has_web_addresses_for_the_same_files():
    command = [sys.executable, "setup.py", "--quiet", "--long-description"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    links, addresses = (re.findall(r"\]\(([^)]+)\)", page) for page in (README.read_text(encoding="utf-8"), text))
    assert all(address.startswith("https://") for address in addresses)
    assert [address.partition("/main/")[2] for address in addresses] == links


def options_of(words: str) -> set[str] | None:
    """Every option of the command that the words begin with; None if there is no such command."""
    name, _, part = words.partition(" ")
    command = commands.get_command(click.Context(commands), name)
    if isinstance(command, click.Group) and part:
        command = command.get_command(click.Context(command), part)
    return None if command is None else {"--help", *(option for each in command.params for option in each.opts)}


def test_verdicts_are_counted_as_on_the_pages():
    index = (ROOT / "docs/verdicts/index.md").read_text(encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    counted = re.findall(r"\]\(docs/verdicts/([a-z-]+\.md)\).*\| ([^|]+) \| ([^|]+) \|$", readme, re.M)
    assert len(counted) == len(papers())
    words = {"hold": "holds", "misprints": "misprint"}
    total = Counter[str]()
    for page, *told in counted:
        for source, numbers in zip(("paper", "ours"), told, strict=True):
            row = rf"^\| \[[\w-]+\]\({page}#[^)]*\) \| {source} \| [^|]+ \| (\w+)(?: \(a (\w+)\))? \|"
            outcomes = Counter(misprint or outcome for outcome, misprint in re.findall(row, index, re.M))
            found = {words.get(word, word): int(number) for number, word in re.findall(r"(\d+) (\w+)", numbers)}
            assert found == outcomes, (page, source)
            total[source] += outcomes.total()
    assert f"{total['paper']} claims of theirs, and {total['ours']} of ours" in " ".join(readme.split())


@pytest.mark.parametrize("page", [README, ROOT / "CONTRIBUTING.md", *DOCS], ids=lambda page: page.name)
def test_every_command_and_option_that_is_shown_exists(page):
    for words, rest in COMMAND.findall(page.read_text(encoding="utf-8").replace("\\\n", " ")):
        known = options_of(words)
        shown = set(re.findall(r"(?<=\s)--[a-z][a-z0-9-]+", rest))
        assert known is None or shown <= known, f"dpassay {words}: {shown - known}"
        assert known is not None or not shown, f"there is no command {words}"


def test_commands_are_found_where_they_are_shown():
    text = README.read_text(encoding="utf-8")
    assert {words.split()[0] for words, _ in COMMAND.findall(text)} >= {"verify", "replay"}
    assert options_of("attack beta-knn")
    assert options_of("atack") is None
