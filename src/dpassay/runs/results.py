"""Result files: what a long experiment found, as numbers per run.

A result file is the JSON that `dpassay experiment NAME --output FILE` writes. Those of real ratings are kept in the
package (`dpassay/results`): they hold hashes of their inputs, seeds and numbers, never ratings. A claim that needs
training is judged from the runs in such a file, and its certificate carries the runs that the verdict rests on.
"""

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput

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
