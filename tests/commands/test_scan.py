"""`dpassay scan`: exit codes, files, and what a maintainer reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from dpassay.commands.main import main
from dpassay.commands.scan import scan as scan_command
from dpassay.scanning import running
from dpassay.scanning.targets import Module, Target

FINDING: dict[str, Any] = {
    "kind": "mechanism",
    "name": "release.noisy_sum(epsilon=0.5)",
    "where": "release.py:7",
    "source": "read from its parameters",
    "claim": "0.5-DP",
    "relation": "add_or_remove_one:record and replace_one:record",
    "outcome": "violated",
    "engine": "noise formula",
    "explanation": "Laplace noise of scale 2 is added to values that two neighboring datasets move 10 apart",
    "details": ["certified: the smallest epsilon at this delta is 5"],
    "code": "from release import noisy_sum\nprint(1 < 2)",
    "dataset1": "[0.0]",
    "dataset2": "[10.0]",
    "epsilon_lower": 5.0,
    "readings": [
        {"relation": "replace_one:record", "outcome": "refuted", "explanation": "Laplace noise of scale 2 is added"}
    ],
    "notes": ["called with values of ours: epsilon=0.5"],
    "seconds": 0.5,
}
KEPT = {**FINDING, "name": "release.count", "outcome": "not refuted", "code": "", "readings": [], "epsilon_lower": None}
READ_AS = {**FINDING, "name": "release.mean", "outcome": "depends on the reading", "epsilon_lower": "inf"}
NOT_JUDGED = {"name": "release.fit", "where": "release.py:30", "reason": "it needs to be fitted"}
HINT = {"file": "release.py", "line": 3, "rule": "fixed-seed", "function": "f", "code": "seed(0)", "message": "A seed."}


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def with_results(*judged: dict[str, Any]) -> None:
        def scan(package: str, **given: Any) -> running.Scan:
            target = Target(package, "release", "", (Module("release", "release.py"),), 3, True)
            command, seed = given["command"], given["seed"]
            return running.Scan(
                target, "1.2", judged, (NOT_JUDGED,), (HINT,), shares=(0.01,), command=command, seed=seed
            )

        monkeypatch.setattr(running, "scan", scan)

    monkeypatch.chdir(tmp_path)
    return with_results


@pytest.mark.parametrize(
    ("judged", "code"), [((KEPT,), 0), ((READ_AS, KEPT), 0), ((FINDING, READ_AS, KEPT), 1), ((), 2)]
)
def test_exit_codes_and_files(
    scanned: Any, judged: tuple[Any, ...], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scanned(*judged)
    files = {ending: tmp_path / f"scan.{ending}" for ending in ("json", "sarif", "html")}
    options = [f"--{ending}={path}" for ending, path in files.items()]
    assert main(["scan", "release", *options, "--drafts", str(tmp_path / "drafts")]) == code
    content = json.loads(files["json"].read_text())
    assert [each["name"] for each in content["judged"]] == [each["name"] for each in judged]
    run = json.loads(files["sarif"].read_text())["runs"][0]
    errors = [result for result in run["results"] if result["level"] == "error"]
    assert len(errors) == sum(each["outcome"] == "violated" for each in judged)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]][run["results"][-1]["ruleIndex"]] == "fixed-seed"
    drafts = list((tmp_path / "drafts").glob("*.md"))
    assert len(drafts) == len(errors)
    page = files["html"].read_text()
    assert "release.fit" in page
    out = capsys.readouterr().out
    assert "NOT JUDGED\n  release.fit: it needs to be fitted" in out
    assert "at most 0.001 for the whole" in out


def test_a_package_without_claims_is_told_so_and_is_no_success(
    scanned: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = Target("sums", "sums", "", (), 3, True)
    monkeypatch.setattr(running, "scan", lambda package, **given: running.Scan(target, "1.2", (), (), ()))
    assert main(["scan", "sums"]) == 2
    assert "sums 1.2: nothing was found in it that looks like a claim of privacy" in capsys.readouterr().out


def test_a_finding_is_understood_from_the_report_alone(
    scanned: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scanned(FINDING)
    assert main(["scan", "release", "--html", "scan.html", "--drafts", "drafts", "--sarif", "scan.sarif"]) == 1
    said = capsys.readouterr().out
    [draft] = (tmp_path / "drafts").glob("*.md")
    page, log = ((tmp_path / name).read_text() for name in ("scan.html", "scan.sarif"))
    for text in (said, draft.read_text(), page):
        for part in (
            "release.noisy_sum",
            "release.py:7",
            "0.5-DP",
            "[10.0]",
            "epsilon at this delta is 5",
            "noisy_sum\n",
        ):
            assert part in text
    assert "<script" not in page
    assert draft.read_text().startswith("# PRIVATE DRAFT")
    assert "sent to nobody" in draft.read_text()
    [result, _] = json.loads(log)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 7
    assert "10 apart" in result["message"]["text"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "Missing argument"),
        (["no_package_here"], "no package or module"),
        (["no/such/file.py"], "no Python source"),
        (["dpassay.scanning", "--time-limit", "0"], "time_limit"),
        (["dpassay.scanning", "--failure-probability", "1"], "failure_probability"),
        (["dpassay.scanning", "--seed", "-1"], "seed"),
        (["dpassay.scanning", "--json", "missing/a.json"], "cannot write"),
    ],
)
def test_what_cannot_be_used(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", *arguments]) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") <= 1


def test_the_command_has_the_defaults_of_the_call() -> None:
    defaults = {option.name: option.default for option in scan_command.params}
    assert defaults["failure_probability"] == running.DEFAULT_FAILURE_PROBABILITY
    assert defaults["time_limit"] == running.DEFAULT_TIME_LIMIT
