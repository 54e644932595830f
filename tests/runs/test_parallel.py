"""Judging in several processes gives the verdicts of one process, and a dead process is noticed."""

import contextlib
import itertools
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)

import pytest

from dpassay.core.claims import Claim, Context
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging import verification
from dpassay.judging.parallel import judge_in_parallel
from dpassay.runs.parallel import AHEAD, SPAWN, PerWorker, own_processes, results_in_order, results_in_parallel

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
    with pytest.raises(InvalidInput, match="a working process died"):
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


class Shuffled(Executor):
    """Ends its work in an order of its own, each task done so often; `lose` is given the results on their way back."""

    def __init__(self, seed, times=1, lose=lambda results: results):
        self.order, self.times, self.lose, self.submitted = random.Random(seed), times, lose, 0
        self.waiting: list = []
        self.lock = threading.Lock()

    def submit(self, function, /, *arguments, **more):
        future: Future = Future()
        with self.lock:
            self.submitted += 1
            if not self.waiting:
                threading.Timer(0.05, self.work).start()
            self.waiting.append((future, pickle.dumps((function, arguments, more))))  # as a cluster would send it
        return future

    def work(self):
        with self.lock:
            waiting, self.waiting = self.waiting, []
        self.order.shuffle(waiting)
        begun = [(future, sent) for future, sent in waiting if future.set_running_or_notify_cancel()]
        for (future, _), result in zip(begun, self.lose([self.done(sent) for _, sent in begun]), strict=True):
            (future.set_exception if isinstance(result, BaseException) else future.set_result)(result)

    def done(self, sent):
        try:
            for _ in range(self.times):
                function, arguments, more = pickle.loads(sent)
                result = function(*arguments, **more)
            return pickle.loads(pickle.dumps(result))
        except Exception as error:
            return error


@pytest.fixture(params=["threads", "shuffled"])
def executor(request):
    with ThreadPoolExecutor(3) if request.param == "threads" else contextlib.nullcontext(Shuffled(1)) as given:
        yield given


def test_results_of_any_executor_belong_to_their_tasks(executor):
    tasks = [(number, 3) for number in range(20)]
    found = list(results_in_parallel(math.comb, tasks, executor))
    assert sorted(found) == [(n, math.comb(n, 3)) for n in range(20)]
    if isinstance(executor, Shuffled):
        assert found != sorted(found)
        assert executor.submitted == 20


def test_results_come_in_the_order_of_tasks_that_are_made_as_needed(executor):
    made = []

    def endless():
        for number in itertools.count(3):
            made.append(number)
            yield number, 3

    with contextlib.closing(results_in_order(math.comb, endless(), executor)) as results:
        found = list(itertools.islice(results, 100))
    assert found == [((n, 3), math.comb(n, 3)) for n in range(3, 103)]
    assert len(made) <= 100 + AHEAD


def test_tasks_in_this_process_are_made_one_by_one():
    numbers = iter(range(9))
    results = results_in_order(math.factorial, ((number,) for number in numbers), None)
    assert next(results) == ((0,), 1)
    assert next(numbers) == 1


def test_what_tasks_raise_comes_after_the_results_before_it(executor):
    def broken():
        yield (3,)
        yield (4,)
        raise RuntimeError("no fifth")

    results = results_in_order(math.factorial, broken(), executor)
    assert [next(results), next(results)] == [((3,), 6), ((4,), 24)]
    with pytest.raises(RuntimeError, match="no fifth"):
        next(results)
    with pytest.raises(ValueError, match="factorial"):
        list(results_in_order(math.factorial, [(3,), (-1,), (4,)], executor))
    with pytest.raises(InvalidInput, match="back for another's"):
        list(results_in_order(math.factorial, [(3,), (4,)], Shuffled(1, lose=lambda results: results[::-1])))


def test_an_executor_stays_open_and_is_left_no_work():
    with ThreadPoolExecutor(1) as executor:
        begun, hold = [], threading.Event()

        def work(number):
            begun.append(number)
            if number == 1:
                hold.wait()
            return number

        results = results_in_parallel(work, [(number,) for number in range(50)], executor)
        assert next(results) == (0, 0)
        results.close()  # type: ignore[attr-defined]
        hold.set()
        assert executor.submit(math.comb, 4, 2).result() == 6
        assert len(begun) <= 2
        with pytest.raises(ValueError, match="factorial"):
            list(results_in_parallel(math.factorial, [(-1,)], executor))
        assert executor.submit(math.comb, 4, 2).result() == 6


def test_an_executor_that_broke_is_told():
    class Broken(ThreadPoolExecutor):
        def submit(self, *_, **__):
            raise BrokenExecutor

    with pytest.raises(InvalidInput, match="died"):
        list(results_in_parallel(math.comb, [(4, 2)], Broken(1)))


def test_what_is_done_twice_counts_once_and_what_is_lost_or_swapped_is_told():
    tasks = [(number, 3) for number in range(20)]
    found = sorted(results_in_parallel(math.comb, tasks, Shuffled(1, times=2)))
    assert found == [(n, math.comb(n, 3)) for n in range(20)]
    with pytest.raises(InvalidInput, match="one task's result back for another's"):
        list(results_in_parallel(math.comb, tasks, Shuffled(1, lose=lambda results: results[::-1])))
    with pytest.raises(InvalidInput, match="one task's result back for another's"):
        list(results_in_parallel(math.comb, tasks, Shuffled(1, lose=lambda results: [results[0], *results[:-1]])))
    with pytest.raises(InvalidInput, match="cancelled work that it was given"):
        list(results_in_parallel(math.comb, tasks, Shuffled(1, lose=lambda results: [CancelledError(), *results[1:]])))


def test_what_cannot_be_sent_is_told_in_one_line():
    local = lambda number: number  # noqa: E731
    with (
        ProcessPoolExecutor(1, mp_context=SPAWN) as executor,
        pytest.raises(InvalidInput, match="cannot be sent to a worker"),
    ):
        list(results_in_parallel(local, [(1,), (2,)], executor))
    for error, said in (
        (ModuleNotFoundError("No module named 'mine'"), "install on the workers"),
        (type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})("t"), "gave a task up"),
    ):
        with pytest.raises(InvalidInput, match=said):
            list(results_in_parallel(math.comb, [(4, 2)], Shuffled(1, lose=lambda _, error=error: [error])))


def test_ctrl_c_is_the_parents_to_answer():
    """A terminal sends it to all processes; one that waits for work would end with a traceback."""
    with own_processes() as pool:
        assert pool.submit(signal.raise_signal, signal.SIGINT).exception() is None
        assert pool.submit(math.comb, 4, 2).result() == 6


def test_an_executor_judges():
    begun, ended = [], []
    together = verification.run(
        claims=CHEAP,
        quick=True,
        jobs=Shuffled(2),  # not of threads: the solvers bear none
        started=lambda claim: begun.append(claim.id),
        finished=lambda item: ended.append(item.claim.id),
    )
    alone = verification.run(claims=CHEAP, quick=True)
    assert [item.verdict for item in together.judged] == [item.verdict for item in alone.judged]
    assert sorted(begun) == sorted(ended) == sorted(CHEAP)


INTERRUPTED = """
import time
from dpassay.runs.parallel import results_in_parallel
if __name__ == "__main__":
    try:
        for number, _ in results_in_parallel(time.sleep, [(0,), (600,), (600,)], 2):
            print("begun", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_an_interrupted_parent_does_not_wait_for_its_processes(tmp_path):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    command = [sys.executable, str(tmp_path / "script.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"begun\n"
        parent.send_signal(signal.SIGINT)
        told, _ = parent.communicate(timeout=60)  # the pipe closes with the last process
    assert told == b"interrupted\n"


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


def test_a_worker_makes_its_function_once_and_takes_no_other_for_it():
    made = []

    def make(factor):
        made.append((factor, threading.get_ident()))
        return lambda number: factor * number

    with ThreadPoolExecutor(2) as executor:
        for factor in (2, 3):
            found = dict(results_in_parallel(PerWorker(make, factor), [(number,) for number in range(20)], executor))
            assert found == {number: factor * number for number in range(20)}
    assert len(made) == len(set(made)) <= 4
