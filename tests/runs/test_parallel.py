"""Judging in several processes gives the verdicts of one process, and a dead process is noticed."""

import math
import os
import signal
import subprocess
import sys

import pytest

from dpassay.core.claims import Claim, Context
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging import verification
from dpassay.judging.parallel import judge_in_parallel
from dpassay.runs.parallel import results_in_parallel

CHEAP = ["PP-LAM2", "PP-PMF", "PP-P", "PP-DATA"]


def test_several_processes_give_the_verdicts_of_one():
    begun, ended = [], []
    together = verification.run(
        claims=CHEAP,
        quick=True,
        jobs=2,
        started=lambda claim: begun.append(claim.id),
        finished=lambda item: ended.append(item.claim.id),
    )
    alone = verification.run(claims=CHEAP, quick=True)
    assert [item.verdict for item in together.judged] == [item.verdict for item in alone.judged]
    assert [item.certificates for item in together.judged] == [item.certificates for item in alone.judged]
    assert sorted(begun) == sorted(ended) == sorted(CHEAP)
    assert [item.claim.id for item in together.judged] == [claim.id for claim in select(None, CHEAP)]


def test_dead_process_is_noticed(monkeypatch, tmp_path):
    (tmp_path / "deadly.py").write_text(
        "import os, signal\ndef die(claim, context):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    deadly = Claim("T-1", "test", "nowhere", "s", "f", "deadly:die")
    with pytest.raises(InvalidInput, match="a judging process died"):
        judge_in_parallel([deadly], Context(synthetic()), 2, lambda _: None, lambda _: None)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_belong_to_their_tasks(jobs):
    tasks = [(number, 3) for number in range(20)]
    assert sorted(results_in_parallel(math.comb, tasks, jobs)) == [(n, math.comb(n, 3)) for n in range(20)]
    with pytest.raises(ValueError, match="factorial"):
        list(results_in_parallel(math.factorial, [(3,), (-1,)], jobs))


def test_a_dead_process_ends_the_work():
    with pytest.raises(InvalidInput, match="a working process died"):
        list(results_in_parallel(os._exit, [(1,), (1,)], 2))


PARENT = """
from dpassay.judging.verification import run
run(claims=["PP-DP", "PP-T1"], jobs=2, started=lambda _: print("begun", flush=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_processes_end_with_a_killed_parent():
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"begun\n"
        parent.send_signal(signal.SIGKILL)
        parent.communicate(timeout=60)  # the pipe closes when the last process that inherited it is gone
    assert parent.returncode == -signal.SIGKILL
