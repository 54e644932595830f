"""Random sketches of a rating matrix, ours in seconds against scikit-learn's random projections on the same matrix.

The matrix has the size of the largest source domain of Douban in Chen et al. (2022, Table 3): 9,471 items, 1,574 users,
5% ones; the sketch has 400 rows. Ours publishes with privacy noise, the peer only projects. Ours works on the dense
matrix, the peer on its compressed form, each as it is fastest; compilation is done before the clock starts.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import scipy.sparse

from dpassay.benchmarks.peers import available, interpreter, measure
from dpassay.core.numerics import float64
from dpassay.mechanisms import mechanism

ROWS, DENSITY = 400, 0.05
JOBS = (
    ("Gaussian sketch with noise (jlt, repaired)", {"id": "jlt", "variant": "repaired"}, "gaussian"),
    ("Count sketch with noise (sjlt, repaired)", {"id": "sjlt", "variant": "repaired"}, "sparse"),
    ("Algorithm 1, JLT: Gram matrix and eigenvectors (jlt, paper)", {"id": "jlt", "variant": "paper"}, None),
)


def rows(quick: bool, seed: int, peers: Path | str | None = None) -> list[list[Any]]:
    """Table rows: job, ours, unit, peer, the peer's, ratio (above 1: ours is faster), note.

    Quick: a tenth of the items and users, one repetition. `peers` is a Python interpreter with scikit-learn, by default
    the one that runs us; an absent peer is named.
    """
    python = interpreter(peers)
    version = available(python, "sklearn")
    shape, turns = ((947, 157), 1) if quick else ((9471, 1574), 5)
    dataset = ratings(shape, seed)
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.npz"
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(dataset.T))
        for name, described, method in JOBS:
            ours = _seconds(described, dataset, seed, turns)
            answer: dict[str, Any] = {}
            if method is not None and version is not None:
                task = {"ratings": str(path), "method": method, "rows": ROWS, "seed": seed, "turns": turns}
                answer = measure(python, "sketches_peer.py", task)
            measured.append(_row(name, ours, answer, method, version))
    return measured


def ratings(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Binary ratings, shape (items, users), 5% ones."""
    return (np.random.default_rng(seed).random(shape) < DENSITY).astype(np.float64)


def _row(name: str, ours: float, answer: dict[str, Any], method: str | None, version: str | None) -> list[Any]:
    theirs = answer.get("seconds")
    if method is None:
        peer, note = "", "no public implementation but the authors', which decomposes the whole matrix"
    elif version is None:
        peer = "scikit-learn (absent)"
        note = "to compare: pip install scikit-learn, give --peers the path of that Python"
    elif theirs is None:
        peer, note = "scikit-learn", f"failed: {answer.get('error', '')}"
    else:
        peer = f"scikit-learn {answer['version']}, {method}"
        note = "the peer: fit and transform, no noise"
    shown = "" if theirs is None else round(theirs, 4)
    return [name, round(ours, 4), "seconds", peer, shown, "" if theirs is None else round(theirs / ours, 2), note]


@float64
def _seconds(described: dict[str, str], dataset: np.ndarray, seed: int, turns: int) -> float:
    """Median seconds of one sketch, the matrix on the device already."""
    built = mechanism(described["id"], described["variant"], num_rows=ROWS, delta=1e-4)
    placed = jax.device_put(dataset)
    draw = jax.jit(built.sample)
    jax.block_until_ready(draw(jax.random.key(seed), placed))
    times = []
    for turn in range(turns):
        start = time.perf_counter()
        jax.block_until_ready(draw(jax.random.key(seed + turn + 1), placed))
        times.append(time.perf_counter() - start)
    return statistics.median(times)
