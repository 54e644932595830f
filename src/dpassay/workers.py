"""Work in several processes at once: judging claims, and any function of many tasks.

The claims of one module of deciders go to one process, one after the other, since they share what the module computed.
"""

import itertools
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpassay.claims import Claim, Context
from dpassay.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.verification import Judged

__all__ = ["judge_in_parallel", "processors", "results_in_parallel"]

_SECONDS_BETWEEN_LOOKS = 0.5
_SPAWN = multiprocessing.get_context("spawn")  # JAX has threads, which a fork would break
_worker: dict[str, Any] = {}


def processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def results_in_parallel(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Iterator[tuple[int, Any]]:
    """The number and the result of every task, in the order in which they end.

    Args:
        function: called with each task's arguments; sent to each process once, with the data that a partial holds.
        tasks: their arguments; begun in this order.
        jobs: processes; 1 for this one.

    Raises:
        InvalidInput: a process died.
        Exception: what the function raises.
    """
    if jobs == 1 or len(tasks) < 2:
        for number, task in enumerate(tasks):
            yield number, function(*task)
        return
    pool = _pool(min(jobs, len(tasks)), function=function)
    try:
        futures = {pool.submit(_call, *task): number for number, task in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], future.result()
        pool.shutdown()
    except BrokenProcessPool as error:
        raise InvalidInput(
            "a working process died: for want of memory (run it again; what was kept is not done twice), or because "
            'a script that starts processes lacks the guard if __name__ == "__main__"'
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def judge_in_parallel(
    claims: Sequence[Claim],
    context: Context,
    jobs: int,
    started: Callable[[Claim], None],
    finished: Callable[["Judged"], None],
) -> None:
    """Judges the claims in `jobs` processes; the callbacks run in this one, in the order in which the claims end.

    Raises:
        InvalidInput: a process died.
    """
    # Claims about the data at hand rerun experiments and take longest: they go first.
    ordered = sorted(claims, key=lambda claim: (not claim.data, _module(claim)))
    groups = [list(group) for _, group in itertools.groupby(ordered, key=_module)]
    events = _SPAWN.Queue()
    missing = len(claims)
    pool = _pool(min(jobs, len(groups)), events=events, context=replace(context, progress=_silent))
    try:
        futures: list[Future[None]] = [pool.submit(_judge, group) for group in groups]
        while missing:
            try:
                kind, value = events.get(timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                for future in wait(futures, timeout=0).done:
                    future.result()
                continue
            (finished if kind == "finished" else started)(value)
            missing -= kind == "finished"
    except BrokenProcessPool as error:
        raise InvalidInput("a judging process died, perhaps for want of memory; go on with --jobs 1") from error
    finally:
        pool.shutdown(wait=not missing, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()


def _module(claim: Claim) -> str:
    return claim.decide.partition(":")[0]


def _silent(_: str) -> None: ...


def _pool(jobs: int, **shared: Any) -> ProcessPoolExecutor:
    """Processes that hold the shared values and end with this one."""
    return ProcessPoolExecutor(jobs, mp_context=_SPAWN, initializer=_begin, initargs=(shared,))


def _begin(shared: dict[str, Any]) -> None:
    _worker.update(shared)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes: each ends itself, or it would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(*task: Any) -> Any:
    return _worker["function"](*task)


def _judge(claims: Sequence[Claim]) -> None:
    from dpassay.verification import judge

    for claim in claims:
        _worker["events"].put(("started", claim))
        _worker["events"].put(("finished", judge(claim, _worker["context"])))
