"""Files of commands: tried before the work begins, and one that fails costs neither another nor the result."""

import importlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpassay.auditors.audit
import dpassay.auditors.search
import dpassay.benchmarks
import dpassay.experiments
import dpassay.judging.verification
from dpassay.commands.main import main

MODULE = """
import numpy as np

def broken(rng, data):
    return float(np.sum(data)) + rng.laplace(scale=1.0)

def sound(rng, data):
    return float(np.sum(data)) + rng.laplace(scale=4.0)
"""
NAME = "mine_to_write"
AUDIT = ("--dataset1", "a.json", "--dataset2", "b.json", "--epsilon", "1", "--num-samples", "4000")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    (tmp_path / "a.json").write_text("[5, 4]")
    (tmp_path / "b.json").write_text("[5, 2]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop(NAME, None)


def run(capsys: Any, *arguments: Any) -> tuple[int, str, list[str]]:
    """Exit code, standard output, and the lines of ours on standard error."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, [line for line in captured.err.splitlines() if line.startswith("dpassay: ")]


PATHS = [
    *(("audit", f"{NAME}:sound", *AUDIT, f"--{kind}") for kind in ("json", "sarif", "junit", "html", "certificate")),
    ("audit", f"{NAME}:sound", *AUDIT, "--ledger"),
    ("search", "ppns", "--relation", "add_or_remove_one:rating", "--epsilon", "1", "--json"),
    *(("attack", "presence", f"--{kind}") for kind in ("json", "sarif", "html")),
    *(("experiment", "attacks", f"--{kind}") for kind in ("output", "resume", "runs")),
    *(("bench", "samplers", f"--{kind}") for kind in ("output", "resume")),
    *(("verify", "--claim", "PP-EX", f"--{kind}") for kind in ("json", "html", "mapping", "certificates", "markdown")),
]
UNUSABLE = ("no/folder", "a.json/below", "socket")


@pytest.mark.parametrize("arguments", PATHS, ids=lambda path: f"{path[0]} {path[-1]}")
@pytest.mark.parametrize("place", UNUSABLE)
def test_every_file_is_tried_before_the_work(
    capsys: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], place: str
) -> None:
    if place == "no/folder" and arguments[-1] in ("--certificates", "--markdown"):
        return  # folders are made
    begun: list[str] = []
    real = importlib.import_module

    def imported(name: str, *more: Any) -> Any:
        return begun.append("work") if name.endswith(".report") else real(name, *more)  # an attack's work

    for module, work in (
        (dpassay.auditors.audit, "run_audit"),
        (dpassay.auditors.search, "search"),
        (dpassay.benchmarks, "run"),
        (dpassay.experiments, "run"),
        (dpassay.judging.verification, "run"),
    ):
        monkeypatch.setattr(module, work, lambda *_, **__: begun.append("work"))
    monkeypatch.setattr(importlib, "import_module", imported)
    os.mknod("socket", stat.S_IFSOCK | 0o600)
    before = sorted(folder.iterdir())
    code, out, lines = run(capsys, *arguments, place)
    assert (code, len(lines), out, begun) == (2, 1, "", []), lines
    assert place.partition("/")[0] in lines[0]
    assert sorted(folder.iterdir()) == before


def test_a_page_that_cannot_be_written_is_noticed_before_the_work(
    capsys: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dpassay.experiments, "run", lambda *_, **__: pytest.fail("the work began"))
    (folder / "numbers.md").mkdir()
    code, _, lines = run(capsys, "experiment", "attacks", "--output", "numbers.json")
    assert code == 2
    assert "numbers.md: it is a folder" in lines[0]


@pytest.mark.parametrize("other", ["kept", "./kept"])
@pytest.mark.parametrize(
    "command",
    [
        ("audit", f"{NAME}:broken", *AUDIT, "--ledger", "kept", "--json"),
        ("search", f"{NAME}:broken", "--relation", "vector:one", "--epsilon", "1", "--resume", "kept", "--json"),
    ],
)
def test_no_file_is_written_over_another(command: tuple[str, ...], other: str, folder: Path, capfd: Any) -> None:
    (folder / "kept").write_text("")
    assert main([*command, other]) == 2
    assert "is named twice" in capfd.readouterr().err
    assert (folder / "kept").read_text() == ""


@pytest.mark.parametrize(("mechanism", "expected", "outcome"), [("sound", 2, "NOT REFUTED"), ("broken", 1, "REFUTED")])
def test_a_file_that_fails_costs_neither_another_nor_the_result(
    capsys: Any, folder: Path, mechanism: str, expected: int, outcome: str
) -> None:
    os.mkfifo("pipe")  # seems writable until somebody should read it
    files = ("--json", "pipe", "--html", "audit.html", "--certificate", "audit.certificate")
    code, out, lines = run(capsys, "audit", f"{NAME}:{mechanism}", *AUDIT, *files)
    assert code == expected
    assert out.startswith(outcome)
    assert lines == ["dpassay: cannot write pipe: nobody reads the pipe; choose a writable place"]
    assert Path("pipe").is_fifo()
    assert "</html>" in Path("audit.html").read_text()
    assert json.loads(Path("audit.certificate").read_text())["kind"] == "audit"


def test_certificates_that_fail_cost_no_other(capsys: Any, folder: Path) -> None:
    (folder / "certificates/PP-LAM-1-formula.json").mkdir(parents=True)
    claims = ("--claim", "PP-LAM", "--claim", "PP-LAM2")
    code, out, lines = run(capsys, "verify", *claims, "--jobs", 1, "--certificates", "certificates", "--json", "v.json")
    written = {path.name for path in Path("certificates").iterdir() if path.is_file()}
    verdicts = json.loads(Path("v.json").read_text())["verdicts"]
    wanted = {name for verdict in verdicts for name in verdict["certificates"]}
    assert "2 claims" in out
    assert wanted - written == {"PP-LAM-1-formula.json"}
    assert written
    assert code == 2
    assert len(lines) == 1
    assert "1 certificates are missing: cannot write certificates/PP-LAM-1-formula.json: it is a folder" in lines[0]


def test_tables_on_standard_output_are_json_alone(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    result = {"tables": [{"title": "t", "columns": ["a"], "rows": [["1"]]}], "runs": []}
    monkeypatch.setattr(dpassay.experiments, "run", lambda *_, **__: result)
    Path("out").symlink_to("/dev/stdout")
    before = sorted(folder.iterdir())
    assert main(["experiment", "attacks", "--output", "out"]) == 0
    assert json.dumps(result, indent=1) in capfd.readouterr().out
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(("mechanism", "expected"), [("sound", 2), ("broken", 1)])
def test_a_result_that_cannot_be_printed_is_written(folder: Path, mechanism: str, expected: int) -> None:
    command = [sys.executable, "-m", "dpassay", "audit", f"{NAME}:{mechanism}", *AUDIT, "--json", "audit.json"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == expected
    assert "dpassay: cannot print the result" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(Path("audit.json").read_text())["verdict"]


def test_an_unread_list_is_not_called_a_violation(folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "dpassay", "verify", "--list"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 2
    assert done.stderr.startswith("dpassay: stopped")
