"""One Ctrl-C ends `verify`, also while a solver works, and no half-judged claim is kept."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dpassay.judging.verification import run

CLAIMS = ("PP-LAM2", "XM-T1-REP", "PP-DP-REP")  # the latter two take seconds, which the solvers spend
PROGRAM = """
import os, signal, sys, threading, time
import dpassay
from dpassay.commands.main import main
from dpassay.replay import proof

z3_answer = proof._z3

class Interrupted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

def deleting(text, milliseconds):  # Python drops what is raised while an object is deleted
    Interrupted()
    return "unsat"

def slow(text, milliseconds):  # a problem that no solver decides in the time
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    variables = "".join(f"(declare-const {name} Int)(assert (> {name} 10))" for name in "xy")
    return z3_answer(variables + "(declare-const z Int)(assert (= (+ (* x x x) (* y y y) (* z z z)) 114))",
                     milliseconds)

proof._z3 = {solver}
begin = time.monotonic()
"""
VERIFY = """
sys.exit(main(["verify", "--jobs", "1", "--claim", "XM-T1-REP"]))
"""
REPLAY = """
try:
    dpassay.replay(sys.argv[1])
except KeyboardInterrupt:
    print(time.monotonic() - begin)
"""


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def kept(cache: Path) -> list[dict]:
    """The verdicts that a run left, by claim."""
    lines = [line for path in cache.glob("dpassay/verify-*") for line in path.read_text().split("\n")[:-1] if line]
    return [json.loads(line)["run"]["judged"]["verdict"] for line in lines]


@pytest.mark.parametrize("solver", ["slow", "deleting"])
def test_ctrl_c_during_a_solvers_work_ends_verify(tmp_path: Path, solver: str) -> None:
    command = [sys.executable, "-c", PROGRAM.replace("{solver}", solver) + VERIFY]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith("dpassay: interrupted; what verify had judged is kept")
    assert kept(tmp_path) == []


def test_ctrl_c_during_a_solvers_work_ends_replay_at_once(tmp_path: Path) -> None:
    run(claims=["RC-UNION"]).write_certificates(tmp_path)
    (path,) = tmp_path.glob("*-proof.json")
    command = [sys.executable, "-c", PROGRAM.replace("{solver}", "slow") + REPLAY, str(path)]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert float(done.stdout) < 10, done.stderr  # the solver has a minute


def test_ctrl_c_while_a_dataclass_is_made_ends_with_3_too(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text('exec("raise KeyboardInterrupt")')
    (tmp_path / "a.json").write_text("1")
    files = ("--dataset1", "a.json", "--dataset2", "a.json", "--epsilon", "1")
    command = [sys.executable, "-m", "dpassay", "audit", "interrupted:mechanism", *files]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (3, "dpassay: interrupted; nothing was written")


def test_ctrl_c_after_the_work_leaves_the_exit_code(tmp_path: Path) -> None:
    program = "import atexit, os, signal, sys; atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
    program += "sys.argv = ['dpassay', '--version']; from dpassay.commands.main import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("after", [0.0, 0.9, 2.5])
def test_ctrl_c_at_any_moment_ends_verify(tmp_path: Path, after: float) -> None:
    claims = [word for claim in CLAIMS for word in ("--claim", claim)]
    command = [sys.executable, "-m", "dpassay", "verify", "--quick", "--jobs", "1", *claims]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(tmp_path), **pipes) as process:
        while process.poll() is None and not kept(tmp_path):  # the first claim is judged
            time.sleep(0.02)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=60)
    said = [line.partition(" ")[0] for line in shown.splitlines()]
    last = "dpassay: interrupted; what verify had judged is kept, and the same command goes on from it"
    interrupted = errors.splitlines()[-1:] == [last]
    if process.returncode == 0:  # a fast machine is done
        assert not interrupted
        assert set(CLAIMS) <= set(said)
    else:
        assert (process.returncode, interrupted) == (3, True), errors
        assert kept(tmp_path)
    assert not any("rejected" in verdict["explanation"] for verdict in kept(tmp_path))
