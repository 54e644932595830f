"""Result files: what a long experiment found, as numbers per run, and the runs it had finished when it was interrupted.

A result file is the JSON that `dpassay experiment NAME --output FILE` writes. Those of real ratings are kept in the
package (`dpassay/results`): they hold hashes of their inputs, seeds and numbers, never ratings. A claim that needs
training is judged from the runs in such a file, and its certificate carries the runs that the verdict rests on.
"""

import hashlib
import importlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.runs.kept_lines import append_line, read_lines

__all__ = ["FORMAT", "FinishedRuns", "committed", "mean_interval"]

FORMAT = "dpassay-experiment"


def committed(experiment: str, dataset: str = "") -> dict[str, Any] | None:
    """The result of an experiment on real ratings that the package carries; None if there is none.

    Args:
        experiment: its name.
        dataset: which result, of an experiment that has one for each of several datasets.

    Raises:
        InvalidInput: the file is not a result of this experiment.
    """
    file = resources.files("dpassay").joinpath("results", f"{experiment}{dataset and '-'}{dataset}.json")
    if not file.is_file():
        return None
    result: dict[str, Any] = json.loads(file.read_text())
    if result.get("format") != FORMAT or result.get("experiment") != experiment:
        raise InvalidInput(f"{file.name} is no result of the experiment {experiment}: write it again with dpassay")
    return result


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean of the runs' values and its 95% t-interval; the interval of one value is the value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean, mean
    from statsmodels.stats.weightstats import DescrStatsW  # a second that who only reads results does not pay

    low, high = DescrStatsW(values).tconfint_mean()
    return mean, float(low), float(high)


class FinishedRuns:
    """The runs of an experiment that are finished, one JSON line each, so that a killed experiment goes on from there.

    A run is found again by its settings, its inputs and the source of the modules that made it: changed code or data
    never meets an old number. A line cut off by a kill is skipped.

    Args:
        path: the file; None keeps nothing.
        inputs: hashes of the data.
        modules: names of the modules whose source the runs depend on.
    """

    def __init__(self, path: Path | None, inputs: Sequence[str] = (), modules: Sequence[str] = ()) -> None:
        self.path = path
        self.about = [*inputs, *(inspect.getsource(importlib.import_module(name)) for name in modules)]
        self.kept: dict[str, dict[str, Any]] = {
            line["key"]: line["run"] for line in read_lines(path) if {"key", "run"} <= line.keys()
        }

    def get(self, settings: Mapping[str, Any], work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """The settings and what `work` returns for them, from the file where they were run before.

        Args:
            settings: JSON-able; says everything that the run depends on, its seed included.
            work: computes the run's numbers, a JSON-able mapping.
        """
        key = hashlib.sha256(json.dumps([settings, self.about], sort_keys=True).encode()).hexdigest()[:32]
        if key not in self.kept:
            run = {**settings, **work()}
            self.kept[key] = run
            if self.path is not None:
                append_line(self.path, {"key": key, "run": run})
        return dict(self.kept[key])
