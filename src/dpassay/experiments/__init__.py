"""Experiments: the papers' tables rerun, ours beside theirs; what privacy costs in accuracy; attacks swept."""

import importlib
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import explained, require
from dpassay.data.reading import PLAIN, Reading

if TYPE_CHECKING:
    from dpassay.experiments.request import Data

EXPERIMENTS = {
    "ppns": "dpassay.experiments.ppns.experiment",
    "beta-knn": "dpassay.experiments.attacks.beta_knn",
    "dpp": "dpassay.experiments.dpp.experiment",
    "attacks": "dpassay.experiments.attacks.experiment",
    "pricdr": "dpassay.experiments.pricdr.experiment",
    "pricdr-sweeps": "dpassay.experiments.pricdr.sweeps",
    "pricdr-tasks": "dpassay.experiments.pricdr.tasks",
    "xmap": "dpassay.experiments.xmap.experiment",
    "frontier": "dpassay.experiments.frontier.experiment",
    "rating-collection": "dpassay.experiments.rating_collection.experiment",
}
"""Name -> the module whose `run` does what a `dpassay.experiments.request.Request` asks for."""


def run(
    name: str,
    data: "Data" = None,
    *,
    quick: bool = False,
    seed: int = 0,
    resume: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
    reading: Reading = PLAIN,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Runs one of `EXPERIMENTS`.

    Args:
        name: which.
        data: ratings, or where to read them, of two domains as a pair of paths, the source first; None takes a small
            synthetic set. Numbers of a paper are only rerun on the ratings that the paper used.
        quick: fewer readings of the protocol, draws and settings.
        seed: of everything random.
        resume: the file that keeps finished runs.
        progress: called with a short text when a long step advances.
        reading: how rating files are to be read.
        executor: whose workers measure. What they find does not depend on it.

    Returns:
        A JSON-able result: "format", "version", "experiment", "quick", "seed", "inputs" (name, hash and size of each
        dataset), "tables" ({"title", "columns", "rows"}), "runs" (one record per measured setting and seed), and where
        there are any "plots" and "outcomes" of claims.

    Raises:
        InvalidInput: unknown experiment, unreadable data, or an extra that is not installed.
    """
    if name not in EXPERIMENTS:
        raise InvalidInput(f"no experiment is called {name!r}; choose from {', '.join(EXPERIMENTS)}")
    from dpassay.core.records import plain
    from dpassay.experiments.request import Request
    from dpassay.runs.parallel import usable_executor
    from dpassay.runs.results import FORMAT

    usable = None if executor is None else usable_executor(executor)
    require("papers")
    with explained():
        work = importlib.import_module(EXPERIMENTS[name]).run
    header = {"format": FORMAT, "version": 1, "experiment": name, "quick": quick, "seed": seed}
    return {**header, **plain(work(Request(data, quick, seed, resume, progress, reading, usable)))}
