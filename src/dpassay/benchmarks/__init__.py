"""Power, soundness and speed, side by side with the public implementations of the same task, measured in one run."""

import importlib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.records import plain

BENCHMARKS = {
    "accounting": "certified bounds of a thousand random compositions (peer: dp-accounting)",
    "auditor": "lower bounds on the mechanisms of DP-Sniper's evaluation (peer: DP-Sniper), and rare leaks",
    "calibration": "false-alarm rates of audits of correct mechanisms",
    "distributed": "one audit on one process, on several, and on Dask clusters whose workers are killed",
    "faults": "long commands killed at random moments, full disks, files of other versions: nothing lost",
    "fuzz": "odd input to loaders, commands, certificates, audits and reports: never a traceback",
    "own_mechanisms": "audits of every registered mechanism beside its exact loss and its claim",
    "planted": "whether audits catch the leaks that they say they would have caught",
    "pairs": "violating pairs found and shrunk in drawn datasets: forty broken mechanisms, ten sound ones",
    "prove": "proofs and counterexamples of mechanisms from their Python, mutants and traps (published: CheckDP)",
    "power": "bounds and samples beside Clopper-Pearson's and the best possible",
    "samplers": "exact samplers of determinantal point processes (peer: DPPy) and random sketches (peer: scikit-learn)",
    "scaling": "cost of the sybil attack against users, items and fake accounts",
    "scan": "scans of broken functions of our own and their mended twins, and of other people's packages",
    "throughput": "samples per second of sampling, counting and scoring (peer: NumPy)",
}


def run(
    name: str,
    *,
    quick: bool = False,
    seed: int = 0,
    peers: Path | str | None = None,
    progress: Callable[[str], None] = lambda _: None,
    resume: Path | None = None,
    seeds: int | None = None,
    parts: Sequence[str] = (),
    num_samples: int | None = None,
    environments: Path | None = None,
) -> dict[str, Any]:
    """Measures one group of tasks, ours and a peer's in turn.

    Args:
        name: one of `BENCHMARKS`.
        quick: fewer tasks, shorter runs.
        seed: of everything random.
        peers: a Python interpreter in which the peers are installed; None takes the one that runs us. Absent peers are
            named in the table with how to install them, and their columns stay empty.
        progress: called with a short text before every task.
        seeds: runs of every row, for the benchmarks that average over seeds.
        parts: only these tables, for the benchmarks that have several long ones; all if empty.
        num_samples: of each dataset, for the benchmark that takes any number of them.
        environments: the folder of the environments that `scan` scans other people's packages in.
        resume: the file that keeps finished runs, for the long benchmarks; by default in the cache folder.

    Returns:
        A JSON-able result: "benchmark", "quick", "seed", "tables" ({"title", "columns", "rows"}), and "plots" where
        the benchmark draws its tables.

    Raises:
        InvalidInput: an unknown benchmark, an option that it has no use for, or an interpreter that cannot be run.
    """
    if name not in BENCHMARKS:
        listed = "; ".join(f"{known}: {about}" for known, about in BENCHMARKS.items())
        raise InvalidInput(f"no benchmark is called {name!r}; choose from {listed}")
    from dpassay.benchmarks.peers import interpreter

    module = importlib.import_module(f"{__name__}.{name}")
    tables = module.tables
    accepted = inspect.signature(tables).parameters  # not every benchmark has a peer, or is long enough to be resumed
    if resume is not None and "resume" not in accepted:
        raise InvalidInput(f"the benchmark {name} is short and keeps nothing: leave --resume out")
    if seeds is not None and "seeds" not in accepted:
        raise InvalidInput(f"the benchmark {name} does not average over seeds: leave --seeds out")
    if parts and "parts" not in accepted:
        raise InvalidInput(f"the benchmark {name} has no parts: leave --part out")
    if num_samples is not None and "num_samples" not in accepted:
        raise InvalidInput(f"the benchmark {name} has a number of samples of its own: leave --num-samples out")
    if environments is not None and "environments" not in accepted:
        raise InvalidInput(f"the benchmark {name} scans no packages: leave --environments out")
    given = {"quick": quick, "seed": seed, "python": interpreter(peers), "progress": progress, "resume": resume}
    given |= {"seeds": seeds, "parts": parts, "num_samples": num_samples, "environments": environments}
    arguments = {key: value for key, value in given.items() if key in accepted}
    result = {"benchmark": name, "quick": quick, "seed": seed, "tables": tables(**arguments)}
    return plain({**result, "plots": module.plots(result["tables"])} if hasattr(module, "plots") else result)
