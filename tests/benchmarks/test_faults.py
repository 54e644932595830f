"""Kills and accidents: whatever is lost, counted twice, cut off or left running makes a row fail."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpassay.auditors.ledger import Ledger, LedgerRun
from dpassay.benchmarks import accidents, faults, kills, suite
from dpassay.benchmarks.accidents import Accident
from dpassay.benchmarks.kills import OUTPUT, Work
from dpassay.core.errors import InvalidInput

LINT = Work(("lint", "mechanisms.py", "--json", OUTPUT), 2)


class Early(random.Random):
    """Kills long before a command can be done."""

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) / 20


def row() -> list[Any]:
    """Of a command that is killed twice."""
    return kills._row(LINT, 2, Early(0), lambda _: None)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_command_is_killed_and_ends_on_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row() == [str(LINT), 2, 1, 0, "whole, and the same", "ok"]
    read: list[Path] = []

    def changing(folder: Path) -> int:
        read.append(folder)
        return len(read)

    monkeypatch.setattr(kills, "content", changing)
    assert row()[-1] == "FAIL"


def test_a_part_of_an_output_is_seen(tmp_path: Path) -> None:
    whole = {"hints": [], "seconds": 1.0}
    assert kills._problems(kills.content, tmp_path, (None, {"hints": []}), "now") == []
    (tmp_path / OUTPUT).write_text('{"hints": [], "seconds": 2.0}')
    assert kills._problems(kills.content, tmp_path, (None, {"hints": []}), "now") == []
    assert kills._problems(kills.content, tmp_path, (whole,), "now") == ["another result now"]
    (tmp_path / OUTPUT).write_text('{"hints": []')
    assert kills._problems(kills.content, tmp_path, (None, {"hints": []}), "now") == ["a part of a result now"]


def test_what_a_ledger_loses_or_counts_twice_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger"
    for log_e in ([1.0, 2.0], [0.5, 0.25]):
        Ledger(path).begin("laplace", "first", [0.0, 1.0]).commit(log_e, samples=5)
    recorded = kills.recorded(path)
    assert recorded == {1: (5, 1), 2: (5, 1)}
    assert kills.lost(recorded, recorded) == []
    assert kills.lost(recorded, {1: (5, 1)}) == ["run 2 had 5 samples and has 0"]
    assert kills.lost(recorded, {1: (4, 1), 2: (5, 2)}) == ["run 1 had 5 samples and has 4"]
    assert kills.miscounted(path) == []
    monkeypatch.setattr(LedgerRun, "past", property(lambda self: np.array([2.5, 4.25])))
    assert kills.miscounted(path) == ["the evidence on laplace is not the sum over runs"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_process_that_is_left_running_is_seen() -> None:
    command, pipe = [sys.executable, "-c", "print(flush=True); input()"], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={kills._MARK: "here"}) as left:
        assert left.stdout is not None
        left.stdout.readline()  # before it runs, it has no environment yet
        assert list(kills._marked("here")) == [left.pid]
        assert not kills._is_worker(left.pid)
        left.communicate(b"\n")
    assert list(kills._marked("here")) == []


@pytest.mark.parametrize(
    ("accident", "outcome"),
    [
        (Accident("none", ("lint", "absent.py")), "ok"),
        (Accident("none", ("lint", "mechanisms.py")), "FAIL: exit code 0, 0 lines of ours"),
        (Accident("none", ("lint", "absent.py"), ends=(0,)), "FAIL: exit code 2"),
        (Accident("none", ("lint", "absent.py"), lambda folder: None), "left out"),
    ],
    ids=["refused", "nothing happens", "no result", "not to be made here"],
)
def test_an_accident_is_told_in_one_line_or_the_row_fails(accident: Accident, outcome: str) -> None:
    assert accidents._row(accident)[-1] == outcome


@pytest.mark.skipif(os.name == "nt", reason="has no modes of folders")
def test_an_accident_that_changes_what_was_there_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    writes = Accident("none", ("lint", "absent.py", "--json", OUTPUT))
    real = accidents._run

    def run(command: Any, folder: Path, *given: Any) -> Any:
        (folder / OUTPUT).write_text("half")
        return real(command, folder, *given)

    monkeypatch.setattr(accidents, "_run", run)
    assert accidents._row(writes)[-1] == "FAIL: files changed"


def test_a_folder_that_may_not_be_written_to_and_a_full_disk_are_that(tmp_path: Path) -> None:
    lint = ("lint", "mechanisms.py", "--json", OUTPUT)

    def closed(folder: Path) -> dict[str, str]:
        folder.chmod(0o555)
        return {}

    ended = [accidents._row(Accident("", lint, closed, accidents._as_user))]
    ended.append(accidents._row(Accident("", (*lint[:2], "--sarif", OUTPUT), limit=accidents._full)))
    assert [each[-1] for each in ended] == ["ok", "ok"], ended
    assert "may not" in ended[0][3] or "denied" in ended[0][3]
    assert "too large" in ended[1][3]


def test_kills_add_up_and_parts_have_names() -> None:
    assert sum(work.times(quick=False) for work in (kills.LEDGER, *kills.WORKS)) >= 200
    assert all(work.times(quick=True) >= 2 for work in kills.WORKS)
    with pytest.raises(InvalidInput, match="no part is called 'other'"):
        faults.tables(parts=["other"])


class Session:
    """Instead of a session of 4 audits, of which those numbered 0 and 2 are broken: what it leaves in its folder."""

    red, shares = (0, 2), 4

    def __init__(self, work: Work, folder: Path) -> None:
        self.folder, self.names = folder, [f"test_suite.py::test_release[{number}]" for number in range(4)]

    def killed(self, after: float) -> bool:
        return self.finished(0) == 1

    def finished(self, seconds: float) -> int:
        ledger = Ledger(self.folder / "kept")
        ledger.enroll(dict.fromkeys(self.names[: self.shares]))
        for name in self.names:
            ledger.begin(name, "first", [0.0, 1.0]).commit([1.0, 2.0], samples=5)
        outcomes = {name: "refuted" if number in self.red else "not refuted" for number, name in enumerate(self.names)}
        audits = [{"verdict": {"id": name, "outcome": outcome}} for name, outcome in outcomes.items()]
        (self.folder / "report").mkdir(exist_ok=True)
        (self.folder / "report" / "audits.json").write_text(json.dumps({"audits": audits}))
        return 1

    def left(self) -> int:
        return 0


def test_a_session_that_loses_anything_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(**changes: Any) -> list[Any]:
        monkeypatch.setattr(suite, "QUICK", 4)
        monkeypatch.setattr(suite, "EVERY", (100, 2))
        monkeypatch.setattr(suite, "Started", type("Changed", (Session,), changes))
        (table,) = suite.suite(True, 0, lambda _: None)
        return list(table.rows[0])

    assert told() == [4, 1, 1, 0, "8 runs, none lost or counted twice; red are the 2 broken", "ok"]
    for changes, problem in (
        ({"red": (0, 2, 3)}, "red were 2 of 2 broken and 1 sound"),
        ({"red": (0,)}, "red were 1 of 2 broken and 0 sound"),
        ({"shares": 3}, "3 tests share"),
        ({"finished": lambda self, _: Session.finished(self, 0) + 1}, "a session ended with exit code 2"),
        ({"left": lambda self: 1}, "red are the 2 broken"),
    ):
        *_, found, verdict = told(**changes)
        assert problem in found
        assert verdict == "FAIL"
    monkeypatch.setattr(suite, "recorded", lambda _, kept=[{1: (5, 1)}, {}]: kept.pop(0))
    assert "run 1 had 5 samples and has 0" in told()[-2]
    monkeypatch.undo()
    monkeypatch.setattr(suite, "_shares", lambda _, kept=[0.1, 0.2]: dict.fromkeys(map(str, range(4)), kept.pop(0)))
    assert "another share of 0" in told()[-2]
    monkeypatch.undo()
    monkeypatch.setattr(LedgerRun, "past", property(lambda self: np.array([0.5, 0.25])))
    assert "is not the sum over runs" in told()[-2]
