"""Speed, side by side with the public implementations of the same task, measured in one run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpassay.errors import InvalidInput

__all__ = ["BENCHMARKS", "run"]

BENCHMARKS = ("samplers",)


def run(
    name: str,
    *,
    quick: bool = False,
    seed: int = 0,
    peers: Path | str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measures one group of tasks, ours and a peer's in turn.

    Args:
        name: "samplers", exact samplers of determinantal point processes (peer: DPPy) and random sketches (peer:
            scikit-learn).
        quick: fewer tasks, shorter runs.
        seed: of everything random.
        peers: a Python interpreter in which the peers are installed; None takes the one that runs us. Absent peers are
            named in the table with how to install them, and their columns stay empty.
        progress: called with a short text before every task.

    Returns:
        A JSON-able result: "benchmark", "quick", "seed", "tables" ({"title", "columns", "rows"}).

    Raises:
        InvalidInput: an unknown benchmark, or an interpreter that cannot be run.
    """
    if name not in BENCHMARKS:
        raise InvalidInput(f"no benchmark is called {name!r}; choose from {', '.join(BENCHMARKS)}")
    from dpassay.benchmarks.peers import interpreter
    from dpassay.benchmarks.samplers import tables

    return {
        "benchmark": name,
        "quick": quick,
        "seed": seed,
        "tables": tables(quick, seed, interpreter(peers), progress),
    }
