"""Work in several processes at once: judging claims, and any function of many tasks.

The claims of one module of deciders go to one process, one after the other, since they share what the module computed.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from dpassay.core.errors import InvalidInput

__all__ = ["SPAWN", "process_pool", "processors", "results_in_parallel", "worker"]

SPAWN = multiprocessing.get_context("spawn")  # JAX has threads, which a fork would break
worker: dict[str, Any] = {}


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
    pool = process_pool(min(jobs, len(tasks)), function=function)
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


def process_pool(jobs: int, **shared: Any) -> ProcessPoolExecutor:
    """Processes that hold the shared values and end with this one."""
    return ProcessPoolExecutor(jobs, mp_context=SPAWN, initializer=_begin, initargs=(shared,))


def _begin(shared: dict[str, Any]) -> None:
    worker.update(shared)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes: each ends itself, or it would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(*task: Any) -> Any:
    return worker["function"](*task)
