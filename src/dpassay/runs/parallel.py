"""Work in several processes at once, or on whatever else is a `concurrent.futures.Executor`."""

import contextlib
import functools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from typing import Any, cast

from dpassay.core.errors import InvalidInput

SPAWN = multiprocessing.get_context("spawn")  # JAX has threads, which a fork would break
AHEAD = 32  # tasks that an executor has before their results are needed
ENDING = 5.0  # seconds at most that processes in the midst of work are waited for
worker: dict[str, Any] = {}


def processors() -> int:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def usable_executor(executor: Any) -> Executor:
    """The executor, where work may be shared out over it.

    Raises:
        InvalidInput: it is none, or it forks this process.
    """
    if not isinstance(executor, Executor):
        hint = ".get_executor()" if hasattr(executor, "get_executor") else ""
        raise InvalidInput(
            f"executor is a {type(executor).__name__}; give a concurrent.futures.Executor"
            + (f", for example what its method {hint} returns" if hint else "")
        )
    context = getattr(executor, "_mp_context", None)
    if isinstance(executor, ProcessPoolExecutor) and context is not None and context.get_start_method() == "fork":
        raise InvalidInput(
            "the executor forks this process, which JAX does not survive; give "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))'
        )
    return executor


def workers_of(executor: Executor) -> int:
    """How many tasks an executor does at once; where it does not say, as many as this machine has processors."""
    said = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return int(said or processors())


class PerWorker:
    """A function that each worker makes once, however many tasks it gets, so that it may keep what takes long to make.

    A worker is a thread of a process: what the function keeps is touched by no other.

    Args:
        make: called with what is given; its result is what calls of this call.
        given: what can be sent.
    """

    def __init__(self, make: Callable[..., Callable[..., Any]], *given: Any) -> None:
        self._make, self._given, self._name = make, given, uuid.uuid4().hex

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        """What this worker's function returns."""
        if getattr(_last, "name", "") != self._name:
            _last.function, _last.name = self._make(*self._given), self._name
        return _last.function(*arguments, **more)


_last = threading.local()  # what was made last


def results_in_parallel(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], workers: int | Executor
) -> Iterator[tuple[int, Any]]:
    """The number and the result of every task, in the order in which they end.

    Args:
        function: called with each task's arguments; sent to each process once, with the data that a partial holds.
        tasks: their arguments; begun in this order.
        workers: how many processes, 1 for this one; or an executor, to which the function goes with every task, and
            which stays open.

    Raises:
        InvalidInput: a process died, or an executor gave work up or back for another.
        Exception: what the function raises.
    """
    if workers == 1 or (len(tasks) < 2 and isinstance(workers, int)):
        for number, task in enumerate(tasks):
            yield number, function(*task)
        return
    with submitting(workers, len(tasks), function=function) as submit:
        call = _call if isinstance(workers, int) else functools.partial(_numbered, function)
        futures = {submit(call, number, *task): number for number, task in enumerate(tasks)}
        for future in as_completed(futures):
            yield futures[future], _of_task(futures[future], future)


def results_in_order(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], executor: Executor | None
) -> Generator[tuple[tuple[Any, ...], Any], None, None]:
    """Every task and its result, in the order of the tasks, which are made as they are needed.

    Whoever leaves early closes this: tasks that are not begun are given up then.

    Args:
        function: called with each task's arguments.
        tasks: their arguments; they may have no end. What they raise is raised after the results of all before it.
        executor: whose workers call; it gets `AHEAD` tasks before the first result is needed. None for this process.

    Raises:
        InvalidInput: a process died, or the executor gave work up or back for another.
        Exception: what the function or the tasks raise.
    """
    if executor is None:
        for task in tasks:
            yield task, function(*task)
        return
    with submitting(executor, 0) as submit:
        waiting: deque[tuple[int, tuple[Any, ...], Future[Any]]] = deque()
        coming, end = enumerate(tasks), None
        while waiting or end is None:
            if end is None and len(waiting) < AHEAD:
                try:
                    number, task = next(coming)
                except Exception as error:  # there are no more, or this one cannot be made
                    end = error
                else:
                    waiting.append((number, task, submit(functools.partial(_numbered, function), number, *task)))
                continue
            number, task, future = waiting.popleft()
            yield task, _of_task(number, future)
    if not isinstance(end, StopIteration):
        raise cast(Exception, end)


def _of_task(number: int, future: Future[Any]) -> Any:
    """The result of a task."""
    given, result = future.result()
    if given != number:
        raise InvalidInput("the executor gave one task's result back for another's; take another executor")
    return result


@contextlib.contextmanager
def own_processes() -> Iterator[Executor]:
    """An executor of one process per processor; they end with the block, in the midst of work where it raises."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processors(), mp_context=SPAWN, initializer=_begin, initargs=({},))
    try:
        yield pool
    except BaseException:
        _end(pool, others)
        raise
    pool.shutdown()


def _end(pool: ProcessPoolExecutor, others: set[Any]) -> None:
    """Ends a pool in the midst of its work; `others` are processes that were there before it.

    Its last words are waited for, but not forever: Ctrl-C may have broken what its threads wait for.
    """
    for process in set(multiprocessing.active_children()) - others:
        process.terminate()
    ending = threading.Thread(target=pool.shutdown, kwargs={"cancel_futures": True}, daemon=True)
    ending.start()
    ending.join(ENDING)


@contextlib.contextmanager
def submitting(workers: int | Executor, tasks: int, **shared: Any) -> Iterator[Callable[..., Future[Any]]]:
    """What hands work out: to processes that end with the block, or to an executor of the caller's.

    Work that is not begun when the block is left is given up; processes of ours that still work then are ended.

    Args:
        workers: how many processes, or an executor.
        tasks: how many there are: more processes are not begun.
        shared: what each process finds in `worker`; an executor gets none of it.

    Raises:
        InvalidInput: a process died, or an executor cannot do what it was given.
    """
    others = set(multiprocessing.active_children())
    own = None
    if isinstance(workers, int):
        own = ProcessPoolExecutor(min(workers, tasks), mp_context=SPAWN, initializer=_begin, initargs=(shared,))
    pool = own or cast(Executor, workers)
    futures: list[Future[Any]] = []

    def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        futures.append(pool.submit(Sent.by(pool, function, *arguments)))
        return futures[-1]

    try:
        yield submit
    except BrokenExecutor as error:
        raise InvalidInput(
            "a working process died: for want of memory (run it again, with fewer jobs; what was kept is not done "
            'twice), or because a script that starts processes lacks the guard if __name__ == "__main__"'
        ) from error
    except Exception as error:
        if isinstance(workers, Executor) and (reason := _refused(error)):
            raise InvalidInput(reason) from error
        raise
    finally:
        given_up = [future for future in futures if future.cancel() or not future.done()]
        if own is not None and given_up:
            _end(own, others)
        elif own is not None:
            own.shutdown()


class Sent:
    """A call that is unpickled where it is made: what a worker cannot import is then an error of the call.

    A worker that met it on arrival would die of it (processes), or be waited for forever (Dask).
    """

    def __init__(self, call: Callable[[], Any], pickling: Any) -> None:
        self._call, self._pickling = call, pickling
        self.__name__ = "dpassay"  # which Dask's dashboard shows

    @staticmethod
    def by(executor: Executor, function: Callable[..., Any], *arguments: Any, **more: Any) -> "Sent":
        """What the executor is to call with no arguments; a call that is one already stays."""
        if isinstance(function, Sent):
            return function
        # Dask's pickling sends what a script defines by value; processes of this machine have the script.
        pickling = pickle if isinstance(executor, ProcessPoolExecutor) else sys.modules.get("cloudpickle", pickle)
        return Sent(functools.partial(function, *arguments, **more), pickling)

    def __call__(self) -> Any:
        """Calls it, where nothing was pickled."""
        return self._call()

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial, (_arrived, self._pickling.dumps(self._call))


def _arrived(content: bytes) -> Any:
    try:
        call = pickle.loads(content)
    except (ImportError, AttributeError) as error:
        raise ImportError(str(error)) from error
    return call()


def _refused(error: Exception) -> str:
    """Why an executor did not do what it was given, where the error is the executor's; else ""."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    if isinstance(error, CancelledError):
        return "the executor cancelled work that it was given; run it again"
    if isinstance(error, ImportError):
        return (
            f"a worker cannot import what it was sent ({text}); install on the workers what this process imports, or "
            "put the folder that holds it on their PYTHONPATH"
        )
    if "distributed" in {module.partition(".")[0] for module in (type(error).__module__, _raised_in(error))}:
        needs = "scheduler and workers need all that this process imports; else see their logs, and run it again"
        return f"the scheduler gave a task up ({text}); {needs}"
    # As Python says it up to 3.12, and from 3.13 on.
    pickled = any(words in str(error).lower() for words in ("pickle", "local object"))
    if isinstance(error, pickle.PicklingError | AttributeError | TypeError) and pickled:
        return f"this cannot be sent to a worker ({text}); define what is run at the top of a module"
    return ""


def _raised_in(error: Exception) -> str:
    """The module whose code raised it."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(modules[-1]) if modules else ""


def _begin(shared: dict[str, Any]) -> None:
    worker.update(shared)
    # Ctrl-C reaches all processes; the parent answers, and ends these. What they start does not inherit a function.
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that was killed cannot end its processes: each ends itself, or it would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(number: int, *task: Any) -> tuple[int, Any]:
    return number, worker["function"](*task)


def _numbered(function: Callable[..., Any], number: int, *task: Any) -> tuple[int, Any]:
    return number, function(*task)
