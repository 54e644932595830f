"""Whole scans: whatever a package does to its process, the scan ends, and never with a better outcome."""

import contextlib
import json
import math
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import dpassay as dp
from dpassay.core.privacy import PrivacyClaim
from dpassay.report.schema import validate_scan
from dpassay.scanning import package, running, worker
from dpassay.scanning.candidates import Accounted, Candidate, NotJudged, Pair, Stable
from dpassay.scanning.judging import Found, Judged, Reading
from dpassay.scanning.schedule import ROUNDS, Turn

HOSTILE = '''
"""Differential privacy."""
import os, sys, time
print("imported")

def laplace_scale(epsilon):
    return 0.5 / epsilon

def exits(data, epsilon):
    sys.exit(0)

def kills(data, epsilon):
    os._exit(0)

def hangs(data, epsilon):
    time.sleep(600)

def writes(data, epsilon):
    open("left.txt", "w").write("x")
    raise ValueError(os.path.basename(os.path.dirname(os.getcwd())))
'''
DEADLY = '"""Privacy."""\nimport os\nos._exit(0)\ndef release(data, epsilon): ...\n'
RAISING = '"""Privacy."""\nraise SystemExit(0)\ndef release(data, epsilon): ...\n'


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name, text in {"__init__": "", "calls": HOSTILE, "deadly": DEADLY, "raising": RAISING}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return str(folder)


def test_a_hostile_package(hostile: str, tmp_path: Path) -> None:
    found = dp.scan(hostile, time_limit=4)
    content = validate_scan(found.to_json())
    assert {each["name"] for each in found.violated} == {
        f"hostile.calls.laplace_scale(epsilon={epsilon})" for epsilon in (0.1, 1.0, 10.0)
    }
    assert len(found.judged) == 3
    reasons = {each["name"].removeprefix("hostile."): each["reason"] for each in content["not_judged"]}
    assert "exit code 0" in reasons["deadly"]
    assert "SystemExit" in reasons["raising"]
    assert "exit code 1" in reasons["calls.exits(epsilon=0.5)"] or "SystemExit" in reasons["calls.exits(epsilon=0.5)"]
    assert "exit code 0" in reasons["calls.kills(epsilon=0.5)"]
    assert "seconds and was ended" in reasons["calls.hangs(epsilon=0.5)"]
    assert "ValueError: empty" in reasons["calls.writes(epsilon=0.5)"]
    assert not list(tmp_path.rglob("left.txt"))
    assert "3 violated" in str(found)


def test_a_package_that_hangs_when_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asleep.py").write_text('"""Privacy."""\nimport time\ntime.sleep(600)\ndef f(data, epsilon): ...\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(package, "IMPORTING", 1.0)
    found = dp.scan("asleep", time_limit=1)
    assert found.judged == ()
    assert "import the package" in found.not_judged[0]["reason"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"failure_probability": 0.0}, "failure_probability"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"time_limit": float("inf")}, "time_limit"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_used(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(dp.InvalidInput, match=reason):
        dp.scan("dpassay.scanning", **given)


def _mechanism(number: int) -> Candidate:
    return Candidate("mechanism", f"m{number}", "", lambda rng, data: data, PrivacyClaim(1.0), datasets=Pair(0, 1))


class Fake:
    """Stands in for the process of the package: judges nothing, and notes the turns."""

    given: ClassVar[list[Turn]] = []

    def __init__(self, request: dict[str, Any]) -> None:
        accountant = Candidate("accountant", "a", "", lambda: Accounted({}, 1.0, 0.0))
        planned, late = worker._planned([accountant, *map(_mechanism, range(10_000))], request)
        left = [{"name": each.name, "where": "", "reason": "no time"} for each in late]
        self.importing = 0.0
        self.plan = {"planned": [[each.name, "", each.kind] for each in planned], "not_judged": left}

    def judge(self, name: str, where: str, turn: Turn, before: Found | None, left: float) -> Found:
        if name != "a":
            self.given.append(turn)
        kind: Any = "accountant" if name == "a" else "mechanism"
        hope = None if name == "a" else 0.0
        judged = Judged(kind, name, "", "", "", "", "not refuted", "", "")
        return Found(judged, (Reading("", "not refuted", "", "", hope=hope),))

    def close(self) -> None:
        pass


def test_the_shares_of_all_that_is_judged_on_samples_add_up(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, more than there is time for among them."""
    monkeypatch.setattr(running, "Package", Fake)
    monkeypatch.setattr(Fake, "given", [])
    found = dp.scan(hostile, time_limit=20.0, failure_probability=0.05)
    shares = [[turn.share for turn in Fake.given if turn.number == number] for number in range(ROUNDS)]
    mechanisms = len(shares[0])
    assert 10 < mechanisms < 100
    assert sum(map(bool, shares)) > 2
    assert len(found.not_judged) == 10_000 - mechanisms
    assert sum(map(sum, shares)) <= 0.05
    assert sum(shares[0]) == pytest.approx(0.025)
    assert found.shares == tuple(each[0] for each in shares if each)


PATIENT = '''"""Privacy."""
import os

def release(data, epsilon):
    if os.path.exists({end!r}):
        os.kill(os.getppid(), 9)
    return 0
'''


def test_a_process_that_dies_later_loses_no_result_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = tmp_path / "end"
    (tmp_path / "patient.py").write_text(PATIENT.format(end=str(end)))
    monkeypatch.syspath_prepend(tmp_path)
    request = _request(tmp_path, "patient", seconds=60.0, probing=False)
    turn = Turn(0, 0.01, 1.0, 0)
    with contextlib.closing(package.Package(request)) as process:
        assert process.plan is not None
        (name, where, kind), *_ = process.plan["planned"]
        assert kind == "mechanism"
        first = process.judge(name, where, turn, None, 60.0)
        assert process.judge("patient.other", "there", turn, None, 60.0).result == NotJudged(
            "patient.other", "there", "this process does not find it in the package"
        )
        end.touch()
        assert process.judge(name, where, turn, first, 60.0) == Found(first.result)
        last = process.judge(name, where, turn, None, 60.0).result
        assert isinstance(last, NotJudged)
        assert "with signal 9" in last.reason
    assert process._process.poll() is not None


def test_what_is_found_is_told_whole() -> None:
    reading = Reading(
        "add_or_remove_one:record", "refuted", "search", "so", ("a", "b"), "code", "1", "2", math.inf, 0.5
    )
    content = {"relation": "r", "outcome": "refuted", "explanation": "so"}
    judged = Judged("mechanism", "m", "f:1", "", "1-DP", "r", "violated", "e", "x", ("a",), readings=(content,))
    for found in (Found(judged, (reading,)), Found(NotJudged("m", "f:1", "why"))):
        assert Found.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_workers_of_an_executor_judge(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of them as it has, each in one process of its own, however many turns they get."""
    began = []

    class Noted(package.Package):
        def __init__(self, request: dict[str, Any]) -> None:
            began.append(request["workers"])
            super().__init__(request)

    monkeypatch.setattr(package, "Package", Noted)
    monkeypatch.setattr(running, "Package", Noted)
    calls = Path(hostile) / "calls.py"
    calls.write_text(HOSTILE.replace("time.sleep(600)", "input()"))
    for name in ("deadly", "raising"):
        (calls.parent / f"{name}.py").unlink()
    with ThreadPoolExecutor(3) as executor:
        found = dp.scan(hostile, time_limit=4, executor=executor)
    assert len(found.violated) == len(found.judged) == 3
    reasons = {each["name"].removeprefix("hostile.calls."): each["reason"] for each in found.not_judged}
    assert "exit code 0" in reasons["kills(epsilon=0.5)"]
    assert "ValueError: empty" in reasons["writes(epsilon=0.5)"]
    assert "EOFError" in reasons["hangs(epsilon=0.5)"]  # what is told on standard input is not the package's to read
    assert 1 < len(began) <= 4  # one here, which lists
    assert set(began) == {3}
    with pytest.raises(dp.InvalidInput, match=r"concurrent\.futures\.Executor"):
        dp.scan(hostile, executor=3)  # type: ignore[arg-type]


def test_a_workers_time_begins_with_its_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its later turns waited for others, before they were sent, is no time of theirs."""
    given = []

    class Noted(Fake):
        def judge(self, name: str, where: str, turn: Turn, before: Found | None, left: float) -> Found:
            given.append(left)
            return super().judge(name, where, turn, before, left)

    clock = iter([100.0, 100.0, 108.0, 129.0])
    monkeypatch.setattr(package, "Package", Noted)
    monkeypatch.setattr(package, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    judge = package.elsewhere(_request(Path(), "any", seconds=20.0, probing=False))
    for left in (25.0, 25.0, 1.0):
        judge("a", "", Turn(0, 0.01, 1.0, 0), None, left)
    assert given == [20.0, 12.0, -9.0]


def test_neither_maps_nor_mechanisms_crowd_the_others_out() -> None:
    def planned(maps: int, mechanisms: int, seconds: float = 15.0) -> tuple[int, int, int]:
        listed = [_mechanism(number) for number in range(mechanisms)]
        listed += [Candidate("map", f"map{number}", "", sum, Stable()) for number in range(maps)]
        kept, late = worker._planned(listed, {"seconds": seconds, "workers": 1})
        assert {each.name for each in (*kept, *late)} == {each.name for each in listed}
        assert [each.kind for each in kept] == sorted(each.kind for each in kept)
        return sum(each.kind == "map" for each in kept), sum(each.kind == "mechanism" for each in kept), len(late)

    assert planned(100, 100) == (5, 5, 190)
    assert planned(2, 100) == (2, 8, 92)
    assert planned(100, 3) == (7, 3, 93)
    assert planned(0, 3) == (0, 3, 0)
    assert planned(4, 4, 0.1) == (0, 1, 7)
    assert planned(4, 0, 0.1) == (1, 0, 3)


def test_ctrl_c_waits_for_no_thread() -> None:
    hold = threading.Event()

    def judge(number: int) -> Any:
        return hold.wait() if number else number

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        results = running._in_threads(judge, [(0,), (1,), (2,), (3,)], 2)
        assert next(results) == (0, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            next(results)
    finally:
        signal.signal(signal.SIGALRM, before)
        hold.set()


def test_what_a_thread_raises_ends_the_scan() -> None:
    with pytest.raises(ZeroDivisionError):
        list(running._in_threads(lambda number: 1 // number, [(0,), (0,)], 2))


def _request(folder: Path, module: str, *, seconds: float, probing: bool) -> dict[str, Any]:
    return {
        **{"package": module, "path": str(folder), "library": "", "unusable": {}, "seconds": seconds, "seed": 0},
        **{"modules": [[module, str(folder / f"{module}.py")]], "failure_probability": 0.05, "workers": 1},
        "probing": probing,
    }


def test_the_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "asleep.py").write_text('"""Privacy."""\nimport time\ntime.sleep(600)\ndef f(data, epsilon): ...\n')
    request = _request(tmp_path, "asleep", seconds=60.0, probing=True)
    (tmp_path / "request.json").write_text(json.dumps(request))
    command = [sys.executable, "-m", "dpassay.scanning.worker", str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=60) == 1
