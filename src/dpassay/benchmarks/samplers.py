"""Exact samplers of determinantal point processes against DPPy, and random sketches against scikit-learn.

One task is a kernel and a process on it. Ours and the peer's are timed in turn, several times, and the medians are
compared: both feel the same load of the machine. The eigendecomposition, and our compilation, are done before the
clock starts, as DPPy does its own decomposition with its first sample.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.benchmarks import sketches
from dpassay.benchmarks.peers import available, measure
from dpassay.core.numerics import float64
from dpassay.core.progress import told
from dpassay.core.records import Table
from dpassay.core.text import rounded
from dpassay.mechanisms.determinantal import Spectrum
from dpassay.mechanisms.determinantal_batches import rejects, sample_fixed_size, sample_process

COLUMNS = ("job", "ours", "unit", "peer", "peer's", "ratio", "Gflop/s", "note")


@dataclass(frozen=True)
class Task:
    """One process to sample.

    Attributes:
        items: n.
        rank: of the kernel, a Gram matrix of normal vectors; None is full.
        size: k of a fixed-size process; None is the process of free size.
        batch: samples of one call of ours.
        in_quick: whether it belongs to the quick run.
    """

    items: int
    rank: int | None
    size: int | None
    batch: int
    in_quick: bool = False

    @property
    def name(self) -> str:
        """As in the table."""
        kind = "DPP" if self.size is None else f"k-DPP, k = {self.size}"
        return f"{kind}, n = {self.items}, " + ("full rank" if self.rank is None else f"rank {self.rank}")

    def kernel(self, seed: int) -> np.ndarray:
        """L, shape (n, n): full rank with mean size about 0.38 n, or low rank with nearly all its vectors selected."""
        rng = np.random.default_rng(seed)
        if self.rank is None:
            vectors = rng.normal(size=(self.items, self.items)) / math.sqrt(self.items)
        else:
            vectors = rng.normal(size=(self.items, self.rank)) / math.sqrt(self.items / 10)
        return vectors @ vectors.T


TASKS = (
    Task(100, 10, None, 8192, in_quick=True),
    Task(100, None, None, 4096, in_quick=True),
    Task(100, None, 10, 8192, in_quick=True),
    Task(1000, 10, None, 8192),
    Task(1000, 50, None, 2048),
    Task(1000, None, 10, 8192),
    Task(1000, None, None, 32),
)


def tables(quick: bool, seed: int, python: str, progress: Callable[[str], None]) -> list[Table]:
    """The tables of `dpassay bench samplers`; `python` is the interpreter that has the peers."""
    version = available(python, "dppy")
    rows = []
    for task in told([task for task in TASKS if task.in_quick or not quick], progress, lambda task: task.name):
        rows.append(_row(task, quick, seed, python, version))
    progress("random sketches")
    columns = [column for column in COLUMNS if column != "Gflop/s"]
    return [
        Table("Exact samplers of determinantal point processes", list(COLUMNS), rows),
        Table("Random sketches", columns, sketches.rows(quick, seed, python)),
    ]


def _row(task: Task, quick: bool, seed: int, python: str, version: str | None) -> list[Any]:
    seconds, turns = (0.3, 1) if quick else (1.0, 3)
    kernel = task.kernel(seed)
    spectrum = _decomposed(kernel, task.rank)
    sizes, ours, theirs, failure = _time_ours(task, spectrum, seed, 0.0)[1], [], [], ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.npy"
        np.save(path, kernel)
        for turn in range(turns):
            ours.append(_time_ours(task, spectrum, seed + 1 + turn, seconds)[0])
            if version is not None and not failure:
                asked = {"kernel": str(path), "size": task.size, "seconds": seconds, "seed": seed + turn}
                answer = measure(python, "dppy_peer.py", asked)
                failure = answer.get("error", "")
                if not failure:
                    theirs.append(answer["samples"])
    rate = statistics.median(ours)
    peer = statistics.median(theirs) if theirs else None
    note = f"mean size {sizes:.4g}; " + ("elimination" if _eliminates(task, spectrum) else "rejection")
    if version is None:
        note += "; to compare: pip install dppy, and give --peers the path of that Python"
    elif failure:
        note += f"; DPPy failed: {failure}"
    return [
        task.name,
        _rounded(rate),
        "samples/s",
        "DPPy " + (version or "(absent)"),
        "" if peer is None else _rounded(peer),
        "" if peer is None else _rounded(rate / peer),
        _rounded(rate * _operations(task, spectrum) / 1e9),
        note,
    ]


@float64
def _decomposed(kernel: np.ndarray, rank: int | None) -> Spectrum:
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0.0)
    if rank is not None:
        values[: len(values) - rank] = 0.0
    return Spectrum(jnp.asarray(values), jnp.asarray(vectors))


def _time_ours(task: Task, spectrum: Spectrum, seed: int, seconds: float) -> tuple[float, float]:
    """Samples per second over at least so many seconds, and the mean size of the last batch."""
    start, calls, sizes = time.perf_counter(), 0, 0.0
    while calls == 0 or time.perf_counter() - start < seconds:
        key = jax.random.fold_in(jax.random.key(seed), calls)
        if task.size is None:
            chosen = sample_process(key, spectrum, task.batch)
        else:
            chosen = sample_fixed_size(key, spectrum, task.size, task.batch)
        sizes = float(np.asarray(chosen).sum(axis=1).mean())
        calls += 1
    return calls * task.batch / (time.perf_counter() - start), sizes


def _eliminates(task: Task, spectrum: Spectrum) -> bool:
    return task.size is None and not rejects(spectrum)


def _operations(task: Task, spectrum: Spectrum) -> float:
    """Additions and multiplications that one sample needs by the algorithm that is used, the leading term.

    Elimination: n^3 / 3. Rejection with t of k rows drawn: k / (k - t) proposals of 2 k t each, and once more for the
    residual of the accepted one.
    """
    if _eliminates(task, spectrum):
        return task.items**3 / 3
    values = np.asarray(spectrum.values)
    size = task.size if task.size is not None else round(float((values / (1 + values)).sum()))
    return sum((size / (size - drawn) + 1) * 2 * size * drawn for drawn in range(size))


def _rounded(value: float) -> float:
    """Three significant digits."""
    short = rounded(value)
    return int(short) if short >= 100 else short
