"""Executors by name: processes of this machine, a Dask cluster on it, or the Dask scheduler at an address."""

import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line, require
from dpassay.runs.parallel import own_processes, processors

PROCESSES, LOCAL = "processes", "local"
_SECONDS = 20  # that a scheduler has to answer


@contextlib.contextmanager
def executor_of(scheduler: str) -> Iterator[Executor]:
    """The executor that a name stands for, until the block ends; a scheduler at an address goes on.

    Args:
        scheduler: "processes", "local", or an address such as "tcp://host:8786".

    Raises:
        InvalidInput: another word, no Dask installed, or nobody answers at the address.
    """
    if scheduler == PROCESSES:
        with own_processes() as pool:
            yield pool
        return
    if scheduler != LOCAL and ":" not in scheduler:
        raise InvalidInput(
            f"scheduler is {scheduler!r}; give {PROCESSES}, {LOCAL}, or the address of a Dask scheduler such as "
            "tcp://host:8786"
        )
    require("distributed")
    with local_cluster() if scheduler == LOCAL else _client(scheduler) as client:
        yield client.get_executor()


@contextlib.contextmanager
def local_cluster() -> Iterator[Any]:
    """A client of a new Dask cluster on this machine, one worker with one thread per processor."""
    from distributed import Client, LocalCluster

    settings: Any = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=processors(), **settings) as cluster, Client(cluster) as client:
        yield client


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    from distributed import Client

    try:
        client = Client(address, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"no Dask scheduler answers at {address} ({one_line(error)}); start one with: dask scheduler"
        ) from error
    with client:
        yield client
