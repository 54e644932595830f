"""Samples per second: sampling and counting on one core and on all, against NumPy's Generator in the same run.

Every job is timed in turns with its rival, several times, and the fastest turn of each counts: both feel the same load
of the machine. Compilation is done before the clock starts. XLA's own threads use every core that a process may use, so
what is measured on one core runs in a process that is kept to one, its rival with it; where a system cannot do that
(macOS), the number of cores in the table shows it.
"""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors.events import Event, learn
from dpassay.auditors.sampling import Sampler
from dpassay.auditors.scorers import Column
from dpassay.benchmarks.noise import Batched, laplace
from dpassay.core.records import Table
from dpassay.core.text import rounded
from dpassay.runs.parallel import processors

QUERIES = 10
_SLICE = 1 << 16  # samples that NumPy draws at a time, which is where it is fastest
_MEMORY = """
import resource, sys
import numpy as np
from dpassay.benchmarks.throughput import LaplaceVector, first_column
from dpassay.auditors.sampling import Sampler
sampler = Sampler(LaplaceVector(), np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32))
for number in sys.argv[1:]:
    for side in (0, 1):
        sampler.counts(side, "test", int(number), [first_column(0.5)])
    try:  # since this program was loaded; the other figure counts what the process was before, a copy of its parent
        status = open("/proc/self/status").read().splitlines()
        print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")))
    except OSError:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""
# Before JAX starts its threads.
_KEPT_TO = """
import json, os, sys
cores, function, *arguments = sys.argv[1:]
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
from dpassay.benchmarks import throughput
print(json.dumps(getattr(throughput, function)(*map(int, arguments))))
"""


@dataclass(frozen=True)
class LaplaceVector(Batched):
    """Answers of sensitivity 1 plus Laplace noise; the dataset has shape (answers, 1), float32.

    With `own` the noise is that of `dpassay.benchmarks.noise`, else that of `jax.random`.
    """

    own: bool = True

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> jax.Array:
        """Outputs of shape (num_samples, answers); noise is drawn with the samples along the last axis."""
        shape = (len(dataset), num_samples)
        noise = laplace(key, shape) if self.own else jax.random.laplace(key, shape, jnp.float32)
        return (dataset + noise).T


@dataclass(frozen=True)
class SparseVector(Batched):
    """The index of the first of ten noisy answers above a noisy threshold, 10 when none is: 11 Laplace draws."""

    threshold: float = 1.0

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> jax.Array:
        """Outputs of shape (num_samples,), int32."""
        noise = laplace(key, (QUERIES + 1, num_samples))
        above = dataset + 4 * noise[1:] >= self.threshold + 2 * noise[0]
        first = jnp.full(num_samples, QUERIES, jnp.int32)
        for query in reversed(range(QUERIES)):
            first = jnp.where(above[query], query, first)
        return first


def first_column(cut: float) -> Event:
    """The event that the first number of the output is at least `cut`."""
    return Event(Column(np.int32(0)), cut, True, 0, (1.0, 0.0), f"output >= {cut:g}", 0.0)


def tables(quick: bool, seed: int, python: str, progress: Callable[[str], None]) -> list[Table]:
    """The tables of `dpassay bench throughput`; NumPy is always there, so `python` is not asked for a peer."""
    turns, size = (3, 1 << 21) if quick else (15, 1 << 27)
    progress("sampling and counting")
    sampling = Table(
        "Sampling and counting, millions of samples per second",
        ["job", "cores", "samples/s (M)", "cores used", "against NumPy on one of them"],
        [row for cores in sorted({1, processors()}) for row in _kept_to(cores, "_sampling", turns, size, seed)],
    )
    progress("scoring")
    scoring = Table(
        "Scoring of learned events on one core, millions of samples per second",
        ["mechanism", "scorer", "sampled, scored and counted/s (M)", "scored/s (M)", "scoring against sampling"],
        _kept_to(1, "_scoring", turns, size // 8, seed),
    )
    progress("memory")
    numbers = (1 << 16, 1 << (24 if quick else 30))
    memory = Table(
        "Peak memory of a process that samples and counts, both datasets together",
        ["samples", "peak memory (MB)"],
        [[f"{number:,}", round(peak / 1e6)] for number, peak in zip(numbers, peak_memory(*numbers), strict=True)],
    )
    return [sampling, scoring, memory]


def peak_memory(*numbers: int) -> list[int]:
    """Peak bytes of one fresh process that draws and counts so many Laplace samples per dataset, one after another."""
    command = [sys.executable, "-c", _MEMORY, *map(str, numbers)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=3600)
    return [int(line) for line in answer.stdout.split()]


def _kept_to(cores: int, function: str, *arguments: int) -> list[list[Any]]:
    """What a function of this module gives in a fresh process that may use so many cores."""
    command = [sys.executable, "-c", _KEPT_TO, str(cores), function, *map(str, arguments)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=3600)
    rows: list[list[Any]] = json.loads(answer.stdout.splitlines()[-1])
    return rows


def _sampling(turns: int, size: int, seed: int) -> list[list[Any]]:
    rows, cores = [], processors()
    groups = (
        (
            "Laplace above a threshold",
            _numpy_laplace,
            size // 8,
            (("ours", LaplaceVector()), ("jax.random", LaplaceVector(False))),
            np.zeros((1, 1), np.float32),
        ),
        (
            "sparse vector technique, 11 Laplace draws",
            _numpy_sparse,
            size // 64,
            (("ours", SparseVector()),),
            np.full((QUERIES, 1), 0.5, np.float32),
        ),
    )
    for title, rival, rival_size, mechanisms, dataset in groups:
        counts = sorted({1, cores})  # the measure, and NumPy on all cores where there are more
        jobs = [("NumPy", _spread(rival, rival_size, threads, seed), rival_size) for threads in counts]
        for name, mechanism in mechanisms:
            number = size if name == "ours" and mechanism != SparseVector() else size // 4
            sampler = Sampler(mechanism, dataset, dataset + 1, seed=seed, threads=cores)
            jobs.append((name, _counting(sampler, number), number))
        best = _fastest([job for _, job, _ in jobs], turns)
        rates = [number / seconds for (_, _, number), (seconds, _) in zip(jobs, best, strict=True)]
        for (name, _, _), rate, (_, used) in list(zip(jobs, rates, best, strict=True))[len(counts) - 1 :]:
            rows.append([f"{title}, {name}", cores, rounded(rate / 1e6), rounded(used), rounded(rate / rates[0])])
    return rows


def _scoring(turns: int, size: int, seed: int) -> list[list[Any]]:
    """Scorers learned on mechanisms whose answers all move by 1."""
    rows: list[list[Any]] = []
    groups = ((f"{QUERIES} Laplace answers", LaplaceVector(), 0.0), ("sparse vector technique", SparseVector(), 0.5))
    for title, mechanism, answer in groups:
        pair = (np.full((QUERIES, 1), answer + side, np.float32) for side in (0, 1))
        sampler = Sampler(mechanism, *pair, seed=seed)
        one, two = (sampler.draw(side, "training", 20_000) for side in (0, 1))
        scorers, _ = learn(one, two, sampler.encoder.names, sampler.encoder.discrete, seed=seed)
        events = [Event(scorer, 0.1, True, 0, (1.0, 0.0), "", 0.0) for scorer in scorers]
        jobs = [_counting(sampler, size, event) for event in (first_column(0.5), *events)]
        best = [seconds for seconds, _ in _fastest(jobs, turns)]
        rows.append([title, "(sampling and one threshold)", rounded(size / best[0] / 1e6), "", ""])
        for scorer, seconds in zip(scorers, best[1:], strict=True):
            own = max(seconds - best[0], 1e-3 * best[0])
            rates = (size / seconds / 1e6, size / own / 1e6, best[0] / own)
            rows.append([title, scorer.name, *map(rounded, rates)])
    return rows


def _counting(sampler: Sampler, size: int, event: Event | None = None) -> Callable[[], Any]:
    chosen = event or first_column(0.5)
    sampler.counts(0, "training", 1, [chosen])  # compiles
    return lambda: sampler.counts(0, "test", size, [chosen])


def _fastest(jobs: Sequence[Callable[[], Any]], turns: int) -> list[tuple[float, float]]:
    """Seconds of the fastest turn of every job, and the cores it used."""
    best = [(math.inf, 0.0)] * len(jobs)
    for _ in range(turns):
        for index, job in enumerate(jobs):
            start, used = time.perf_counter(), time.process_time()
            job()
            seconds, used = time.perf_counter() - start, time.process_time() - used
            if seconds < best[index][0]:
                best[index] = seconds, used / seconds
    return best


def _numpy_laplace(generator: np.random.Generator, size: int) -> int:
    return sum(int(np.count_nonzero(generator.laplace(size=_SLICE) > 0.5)) for _ in range(size // _SLICE))


def _numpy_sparse(generator: np.random.Generator, size: int) -> int:
    found = 0
    slice_size = _SLICE // 8
    for _ in range(size // slice_size):
        noise = generator.laplace(size=(QUERIES + 1, slice_size))
        above = 0.5 + 4 * noise[1:] >= 1.0 + 2 * noise[0]
        first = np.where(above.any(axis=0), above.argmax(axis=0), QUERIES)
        found += int(np.count_nonzero(first >= 1))
    return found


def _spread(rival: Callable[[np.random.Generator, int], int], size: int, threads: int, seed: int) -> Callable[[], Any]:
    """NumPy releases the interpreter while it draws, so threads with a generator each run in parallel."""
    generators = [np.random.default_rng([seed, thread]) for thread in range(threads)]
    if threads == 1:
        return lambda: rival(generators[0], size)
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(rival, generators, [size // threads] * threads))
