"""What a release promises: pinned workflows, a public API that is the documented one, the versions of file formats."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import dpassay
from dpassay.auditors import ledger
from dpassay.core import certificate

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs/reference"
STABLE = (REFERENCE / "stability.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w/-]+@[0-9a-f]{40}")


def steps(path: Path) -> list[dict[str, Any]]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [step for job in content["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_actions_and_begin_with_no_rights_to_write(path: Path) -> None:
    assert [step["uses"] for step in steps(path) if "uses" in step and not PINNED.fullmatch(step["uses"])] == []
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}


def test_a_tag_is_not_pinned() -> None:
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "nightly.yml", "release.yml"}
    assert not PINNED.fullmatch("actions/checkout@v4")


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name)
def test_issue_templates_are_read(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert "contact_links" in content or {"name", "description", "body"} <= content.keys()


def test_the_public_names_are_those_of_the_reference() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    documented = set(re.findall(r"^::: dpassay\.(\w+)$", pages, re.MULTILINE))
    modules = {"adapters", "pytest_plugin"}
    assert documented - modules == {name for name in dpassay.__all__ if not name.startswith("_")}


def test_the_versions_of_formats_are_those_in_use() -> None:
    told = dict(re.findall(r"^\| [^|]+ \| `([\w-]+)` \| (\d+) \|", STABLE, re.MULTILINE))
    used = {"dpassay-certificate": certificate.VERSION, "user_version": ledger.VERSION}
    for schema in (ROOT / "src/dpassay/report").glob("*.schema.json"):
        text = schema.read_text(encoding="utf-8")
        used |= re.findall(r'"format": \{"const": "([\w-]+)"\},\s*"version": \{"const": (\d+)\}', text)
        used |= re.findall(r'"(schema_version)": \{"const": (\d+)\}', text)
    for result in (ROOT / "src/dpassay/results").glob("*.json"):
        content = json.loads(result.read_text(encoding="utf-8"))
        used[content["format"]] = content["version"]
    assert {name: str(version) for name, version in used.items()} == told


@pytest.mark.skipif(shutil.which("git") is None or shutil.which("bash") is None, reason="needs git and bash")
def test_every_night_is_recorded_red_ones_too(tmp_path: Path) -> None:
    clone, origin = tmp_path / "clone", tmp_path / "origin.git"

    def git(*arguments: str, folder: Path = clone) -> str:
        named = ("-c", "user.name=a", "-c", "user.email=a@invalid", "-c", "init.defaultBranch=main")
        return subprocess.run(
            ["git", *named, *arguments], cwd=folder, check=True, capture_output=True, text=True
        ).stdout

    clone.mkdir()
    git("init", "--quiet", "--bare", str(origin), folder=tmp_path)
    git("init", "--quiet")
    (clone / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/nightly", clone / ".ci/nightly")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    git("remote", "add", "origin", str(origin))
    bench = tmp_path / "bench"
    bench.write_text(
        "#!/bin/bash\n"
        'while [ $# -gt 0 ]; do [ "$1" = --seed ] && seed=$2; [ "$1" = --output ] && output=$2; shift; done\n'
        '[ "$seed" = 3 ] && exit 2\necho "{\\"seed\\": $seed}" > "$output"\nexit $((seed - 1))\n'
    )
    bench.chmod(0o755)
    for seed in (1, 2, 3):
        environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(tmp_path), "DPASSAY": str(bench)}
        done = subprocess.run(["bash", ".ci/nightly", str(seed)], cwd=clone, env=environment, capture_output=True)
        assert done.returncode == seed - 1, done.stderr
    record = git("show", "calibration-record:calibration.jsonl", folder=origin).splitlines()
    assert [(night["exit"], night.get("seed")) for night in map(json.loads, record)] == [(0, 1), (1, 2), (2, None)]
    assert git("status", "--porcelain") == ""
