"""Executors by name: processes of this machine, a Dask cluster on it, or the Dask scheduler at an address."""

import contextlib
import functools
import importlib.util
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line, require
from dpassay.core.progress import Say, silent
from dpassay.runs.parallel import Sent, own_processes, processors

PROCESSES, LOCAL = "processes", "local"
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|ws|wss)://)?[^/\s]*[^/\s:]:([0-9]{1,5})")
_SECONDS = 10  # that a scheduler has to answer
_FIRST = 15  # seconds that its first worker has to appear
_GONE = 60.0  # seconds without any worker until they are taken to be gone for good
_LOOK = 5.0  # seconds between looks at them
_MUTE = 1.0  # seconds that one waits without a word
_STARTS = 3  # of a local cluster


@contextlib.contextmanager
def executor_of(scheduler: str, *, progress: Say = silent) -> Iterator[Executor]:
    """The executor that a name stands for, until the block ends; a scheduler at an address goes on.

    Args:
        scheduler: "processes", "local", or an address such as "tcp://host:8786".
        progress: is told what is waited for.

    Raises:
        InvalidInput: another word, no Dask installed, nobody answers at the address, or it has no workers.
    """
    if scheduler == PROCESSES:
        with own_processes() as pool:
            yield pool
        return
    if scheduler != LOCAL and not _is_address(scheduler):
        raise InvalidInput(
            f"scheduler is {scheduler!r}; give {PROCESSES}, {LOCAL}, or the address of a Dask scheduler such as "
            "tcp://host:8786"
        )
    require("distributed")
    if scheduler == LOCAL:
        with local_cluster() as client:
            yield DaskExecutor(client)
        return
    with _client(scheduler, progress) as client, _watched(DaskExecutor(client), scheduler) as executor:
        yield executor


def _is_address(text: str) -> bool:
    """Whether Dask can read it; what it cannot read leaves a client that blocks for 20 s when it is collected."""
    found = _ADDRESS.fullmatch(text)
    return found is not None and 0 < int(found[1]) < 2**16


class DaskExecutor(Executor):
    """A Dask client's cluster; a result that is lost with the worker that holds it is computed again."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tasks: dict[Future[Any], Any] = {}  # what is not done yet
        self._problem: Exception | None = None

    @property
    def workers(self) -> int:
        """How many tasks are done at once, now."""
        return sum(self._client.nthreads().values())

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        """Sends a call to the scheduler; equal calls are not one."""
        promised: Future[Any] = Future()
        task = self._client.submit(Sent.by(self, function, *arguments, **more), pure=False)
        self._tasks[promised] = task
        promised.add_done_callback(self._tasks.pop)
        task.add_done_callback(functools.partial(self._pass_on, promised))
        promised.add_done_callback(lambda future: task.cancel() if future.cancelled() else None)
        return promised

    def give_up(self, problem: Exception) -> None:
        """Ends whatever is waited for with an error."""
        self._problem = problem
        self._client.cancel(list(self._tasks.values()))

    def _pass_on(self, promised: Future[Any], task: Any) -> None:
        """Hands over how a task ended, once its result is here."""
        if task.cancelled() and self._problem is None:
            promised.cancel()
        if promised.set_running_or_notify_cancel():
            try:
                promised.set_result(task.result())
            except BaseException as error:  # Dask's cancellation is asyncio's, and nobody would answer for it
                promised.set_exception(self._problem or error if task.cancelled() else error)


@contextlib.contextmanager
def _watched(executor: DaskExecutor, address: str) -> Iterator[DaskExecutor]:
    """Gives up when no worker is left and none comes: Dask would wait forever."""
    over = threading.Event()

    def watch() -> None:
        seen = time.monotonic()
        while not over.wait(_LOOK):
            with contextlib.suppress(Exception):  # without a scheduler Dask itself gives up
                if executor.workers:
                    seen = time.monotonic()
                elif time.monotonic() - seen > _GONE:
                    executor.give_up(
                        InvalidInput(f"all workers of {address} are gone; start some with: dask worker {address}")
                    )

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield executor
    finally:
        over.set()
        watching.join(_LOOK)


@contextlib.contextmanager
def local_cluster() -> Iterator[Any]:
    """A client of a new Dask cluster on this machine, one worker with one thread per processor.

    Raises:
        InvalidInput: it does not start, tried several times: Dask gives up when a worker dies before it is ready.
    """
    from distributed import Client

    with contextlib.ExitStack() as ending:
        cluster = _started()
        ending.callback(_close, cluster)
        yield ending.enter_context(Client(cluster))


def _started() -> Any:
    import distributed

    settings: Any = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    for _ in range(_STARTS):
        try:
            return distributed.LocalCluster(n_workers=processors(), **settings)
        except RuntimeError as error:
            problem = error
    raise InvalidInput(
        f"no Dask cluster starts on this machine ({one_line(problem)}); run it again, in a script of "
        'your own behind the guard if __name__ == "__main__"'
    ) from problem


def _close(cluster: Any) -> None:
    """Ends a cluster of this machine, also while Dask starts a worker of it anew."""
    from distributed.core import Status

    try:
        cluster.close()
    except AssertionError:  # Dask cannot wait for a process that it has not started yet, and leaves all half closed
        cluster.status = Status.failed  # a state that it closes from
        cluster.close()


@contextlib.contextmanager
def _client(address: str, progress: Say) -> Iterator[Any]:
    from distributed import Client

    try:
        with _told(progress, f"connecting to the Dask scheduler at {address}"):
            client = Client(address, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"no Dask scheduler answers at {address} ({one_line(error)}); start one with: dask scheduler"
        ) from error
    with client:
        try:
            with _told(progress, f"waiting for the first worker of the Dask scheduler at {address}"):
                client.wait_for_workers(1, timeout=_FIRST)
        except TimeoutError as error:
            raise InvalidInput(
                f"the scheduler at {address} has no workers; start some with: dask worker {address}"
            ) from error
        _check_workers(client, address)
        yield client


@contextlib.contextmanager
def _told(progress: Say, text: str) -> Iterator[None]:
    """Says what is waited for, where it takes long."""
    saying = threading.Timer(_MUTE, progress, [text])
    saying.daemon = True
    saying.start()
    try:
        yield
    finally:
        saying.cancel()


def _check_workers(client: Any, address: str) -> None:
    """Makes sure that the workers have this package: Dask waits forever for one that cannot read what it was sent."""
    try:
        missing = [name for name, found in client.run(importlib.util.find_spec, __name__).items() if found is None]
    except ImportError:
        missing = ["one of them"]
    if missing:
        raise InvalidInput(
            f"the workers of {address} lack this dpassay ({missing[0]}); install there what is installed here"
        )
