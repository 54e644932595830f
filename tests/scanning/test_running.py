"""Whole scans: whatever a package does to its process, the scan ends, and never with a better outcome."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dpassay as dp
from dpassay.core.privacy import PrivacyClaim
from dpassay.report.schema import validate_scan
from dpassay.scanning import running, worker
from dpassay.scanning.candidates import Accounted, Candidate, Pair
from dpassay.scanning.judging import Found, Judged, Reading
from dpassay.scanning.schedule import ROUNDS

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
    monkeypatch.setattr(running, "IMPORTING", 1.0)
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


def test_the_shares_of_all_that_is_judged_on_samples_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, more than there is time for among them."""
    accountant = Candidate("accountant", "a", "", lambda: Accounted({}, 1.0, 0.0))
    given: dict[int, list[float]] = {}

    def in_fork(judging: Any, place: Path, limits: Any) -> Any:
        candidate, turn, _ = judging.args
        if candidate.kind == "mechanism":
            given.setdefault(turn.number, []).append(turn.share)
        result = Judged(candidate.kind, candidate.name, "", "", "", "", "not refuted", "", "")
        return Found(result, (Reading("", "not refuted", "", "", hope=0.0 if candidate.kind == "mechanism" else None),))

    monkeypatch.setattr(worker, "_in_fork", in_fork)
    monkeypatch.setattr(worker, "can_fork", lambda: True)
    monkeypatch.setattr(worker, "_import_engines", lambda: None)
    monkeypatch.setattr(worker, "_listed", lambda request: [accountant, *map(_mechanism, range(10_000))])
    monkeypatch.setattr(worker, "_end_with_parent", lambda: None)
    request = {"seconds": 20.0, "path": "", "failure_probability": 0.05, "workers": 2, "seed": 0, "probing": False}
    (tmp_path / "request.json").write_text(json.dumps(request))
    here = Path.cwd()
    try:
        worker.main(tmp_path)
    finally:
        os.chdir(here)
    plan = json.loads((tmp_path / "plan.json").read_text())
    mechanisms = len(given[0])
    assert 10 < mechanisms < 100
    assert 2 < len(given) <= ROUNDS
    assert len(plan["not_judged"]) == 10_000 - mechanisms
    assert sum(sum(shares) for shares in given.values()) <= 0.05
    assert sum(given[0]) == pytest.approx(0.025)
    assert json.loads((tmp_path / "shares.json").read_text()) == [shares[0] for shares in given.values()]
    assert "no time" in plan["not_judged"][0]["reason"]


def test_the_worker_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "asleep.py").write_text('"""Privacy."""\nimport time\ntime.sleep(600)\ndef f(data, epsilon): ...\n')
    request = {
        **{"package": "asleep", "path": str(tmp_path), "library": "", "unusable": {}, "seconds": 60.0, "seed": 0},
        **{
            "modules": [["asleep", str(tmp_path / "asleep.py")]],
            "failure_probability": 0.05,
            "workers": 1,
            "probing": True,
        },
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    command = [sys.executable, "-m", "dpassay.scanning.worker", str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=60) == 1
