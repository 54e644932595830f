"""One audit of a fixed number of samples on one process, on processes, and on Dask clusters whose workers are killed.

The verdict, every count and every bound must be the same on all. Seconds by the clock depend on what else the machine
does; CPU seconds are of this process and of all that it began and that ended.
"""

import contextlib
import json
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpassay.auditors.audit import run_audit
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import absent
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.protocol import from_callable
from dpassay.core.records import Table
from dpassay.runs.parallel import own_processes, processors
from dpassay.runs.schedulers import DaskExecutor, local_cluster

SAMPLES, QUICK = 10_000_000_000, 2_000_000
CALLED = 10_000_000  # samples at most of what is called; under jit there are ten times as many, or more
SECONDS_BETWEEN_KILLS = 10.0  # a worker that took its place must come to work, or Dask blames the tasks
KILLS = 20


@dataclass(frozen=True)
class NoisySum:
    """The sum of a vector with Laplace noise of scale 1, under jit."""

    def sample(self, key: Any, dataset: Any) -> Any:
        """One noisy sum."""
        return dataset.sum() + jax.random.laplace(key)


def noisy_sum(generator: np.random.Generator, dataset: np.ndarray) -> float:
    """The same of a dataset of shape (n,), called once for each sample."""
    return float(dataset.sum() + generator.laplace())


def tables(
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    num_samples: int | None = None,
) -> list[Table]:
    """Seconds of each, and whether all found the same; a row that did not says FAIL.

    `num_samples` are those of the mechanism under jit, by default 10^10.
    """
    size = num_samples or (QUICK if quick else SAMPLES)
    rows = []
    for title, mechanism, samples in (
        ("under jit", NoisySum(), size),
        ("called", from_callable(noisy_sum), min(size // 10, CALLED)),
    ):
        alone = None
        for name, begin in _executors().items():
            progress(f"{title}, {samples:,} samples per dataset: {name}")
            cpu = _cpu_seconds()
            killed: list[int] = []
            wall: float | None
            try:
                with begin(killed) as executor:
                    found, wall = _audited(mechanism, samples, seed, executor)
            except InvalidInput as problem:  # the rows before are measured all the same
                found, wall = str(problem), None
            alone = alone or found
            same = "same" if found == alone else "FAIL"
            rows.append(
                [title, samples, name, len(killed), wall and round(wall, 1), round(_cpu_seconds() - cpu, 1), same]
            )
    columns = ["mechanism", "samples per dataset", "on", "workers killed", "seconds", "CPU seconds", "what it found"]
    return [Table(f"One audit, {processors()} processors", columns, rows)]


def _audited(mechanism: Any, samples: int, seed: int, executor: Executor | None) -> tuple[str, float]:
    """What an audit found, without how long it took; and how long it took, the workers' imports and compiling too."""
    pair = np.array([5.0, 4.0], np.float32), np.array([5.0, 3.0], np.float32)
    audit = run_audit(mechanism, *pair, claim=PrivacyClaim(0.99), num_samples=samples, seed=seed, executor=executor)
    content = audit.to_json()
    return json.dumps({**content, "seconds": None}, sort_keys=True), float(content["seconds"])


Begin = Callable[[list[int]], contextlib.AbstractContextManager[Executor | None]]


def _executors() -> dict[str, Begin]:
    begins: dict[str, Begin] = {
        "this process, a thread per processor": lambda _: contextlib.nullcontext(),
        f"{processors()} processes": lambda _: own_processes(),
    }
    if absent("distributed") is None:
        begins[f"Dask, {processors()} workers"] = lambda _: _dask(None)
        begins[f"Dask, {processors()} workers, killed one after another"] = _dask
    return begins


@contextlib.contextmanager
def _dask(killed: list[int] | None) -> Iterator[Executor]:
    """A local cluster; with a list, its workers are killed one after another and their numbers put there."""
    over = threading.Event()
    with local_cluster() as client:

        def kill() -> None:
            assert killed is not None
            while len(killed) < KILLS and not over.wait(SECONDS_BETWEEN_KILLS):
                workers = list(client.cluster.workers.values())
                worker = workers[len(killed) % len(workers)]
                with contextlib.suppress(ProcessLookupError, TypeError):  # it is just being started again
                    os.kill(worker.pid, signal.SIGKILL)
                    killed.append(worker.pid)

        killer = threading.Thread(target=kill, daemon=True)
        if killed is not None:
            killer.start()
        try:
            yield DaskExecutor(client)
        finally:
            over.set()
            if killed is not None:
                killer.join()


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
