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

from dpassay.errors import InvalidInput
from dpassay.ratings import Ratings

__all__ = ["FORMAT", "FinishedRuns", "committed", "described"]

FORMAT = "dpassay-experiment"


def described(ratings: Ratings, name: str = "") -> dict[str, Any]:
    """One entry of a result's "inputs": the dataset by name, hash and size.

    Args:
        ratings: the dataset.
        name: what it is called instead of its own name.
    """
    return {"name": name or ratings.name, "sha256": ratings.fingerprint(), "ratings": len(ratings)}


def committed(experiment: str) -> dict[str, Any] | None:
    """The result of an experiment on real ratings that the package carries; None if there is none.

    Raises:
        InvalidInput: the file is not a result of this experiment.
    """
    file = resources.files("dpassay").joinpath("results", f"{experiment}.json")
    if not file.is_file():
        return None
    result: dict[str, Any] = json.loads(file.read_text())
    if result.get("format") != FORMAT or result.get("experiment") != experiment:
        raise InvalidInput(f"{file.name} is no result of the experiment {experiment}: write it again with dpassay")
    return result


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
        self.kept: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                try:
                    run = json.loads(line)
                    self.kept[run["key"]] = run["run"]
                except (ValueError, KeyError, TypeError):
                    continue

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
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a+") as file:
                    file.seek(0)
                    cut_off = (text := file.read()) and not text.endswith("\n")
                    file.write("\n" * bool(cut_off) + json.dumps({"key": key, "run": run}) + "\n")
        return dict(self.kept[key])
