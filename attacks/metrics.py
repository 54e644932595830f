"""Numbers that an attack is measured by, with intervals that take targets, not their ratings, as independent."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from dpassay.core.records import Series

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Metric:
    """One number of the outcome.

    Attributes:
        name: what `--fail-above NAME=VALUE` refers to, lower case with hyphens.
        value: NaN where nothing could be measured.
        low: lower end of the confidence interval; None for a count without sampling error.
        high: upper end.
        trials: independent units behind it, targets as a rule.
        meaning: one sentence for a reader who has not seen the code; in a report that of `AttackSettings.metrics`.
    """

    name: str
    value: float
    meaning: str = ""
    low: float | None = None
    high: float | None = None
    trials: int = 0

    def cell(self) -> str:
        """For tables: the value and its interval, "-" where nothing was measured."""
        if math.isnan(self.value):
            return "-"
        return f"{self.value:.3f}" + ("" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]")

    def surely_above(self, limit: float) -> bool:
        """Whether the whole interval is above the limit; never without one."""
        return self.low is not None and self.low > limit


def by_name(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """The metrics under their names."""
    return {each.name: each for each in metrics}


def explained(metrics: Iterable[Metric], meanings: Mapping[str, str]) -> list[Metric]:
    """The metrics, each with the meaning that the settings of its attack give its name."""
    return [replace(each, meaning=meanings[each.name]) for each in metrics]


def mean_metric(
    name: str,
    values: np.ndarray,
    meaning: str = "",
    weights: np.ndarray | None = None,
    bounds: tuple[float, float] = (0, 1),
) -> Metric:
    """A weighted mean over targets with a 95% interval that treats targets, not their ratings, as independent.

    Where all targets agree the spread says nothing: the interval allows for as large a share of other targets as may
    have been missed in so many trials (Clopper and Pearson), each as different as it can be.

    Args:
        name: see `Metric`.
        values: shape (targets,), NaN where a target has none.
        meaning: see `Metric`.
        weights: shape (targets,), how many ratings stand behind each value (a ratio of sums); equal if None.
        bounds: of the values; (-1, 1) for differences of rates.
    """
    values = np.asarray(values, float)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    kept = ~np.isnan(values) & (weights > 0)
    values, weights = values[kept], weights[kept]
    n = len(values)
    if n == 0:
        return Metric(name, math.nan, meaning)
    mean = float(np.average(values, weights=weights))
    if n == 1:
        return Metric(name, mean, meaning, *bounds, trials=1)
    if np.ptp(values) == 0:
        unseen = 1 - (0.5 - CONFIDENCE / 2) ** (1 / n)  # Clopper and Pearson's upper bound for 0 of n
        return Metric(name, mean, meaning, mean - unseen * (mean - bounds[0]), mean + unseen * (bounds[1] - mean), n)
    # Linearised ratio of means (Cochran, "Sampling Techniques", sec. 2.11).
    residuals = weights / weights.mean() * (values - mean)
    half = float(student.ppf(0.5 + CONFIDENCE / 2, n - 1) * residuals.std(ddof=1) / math.sqrt(n))
    return Metric(name, mean, meaning, max(bounds[0], mean - half), min(bounds[1], mean + half), n)


def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole, which broadcast to the shape of `part`; NaN where there is nothing."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.broadcast_to(whole > 0, np.shape(part)))


def metric_series(label: str, x: Sequence[Any], metrics: Sequence[Metric]) -> Series:
    """A line of a plot through metrics with their intervals, one for each x."""
    low, high = [each.low for each in metrics], [each.high for each in metrics]
    return Series(label, list(x), [each.value for each in metrics], low=low, high=high)


def auc(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Chance that a positive case scores above a negative one of the same target, ties half (Mann and Whitney 1947).

    Args:
        scores: shape (targets, cases).
        positive: which cases are, bool, same shape.

    Returns:
        Shape (targets,), NaN where all cases are of one kind.
    """
    number = positive.sum(1)
    wins = np.where(positive, rankdata(scores, axis=1), 0.0).sum(1) - number * (number + 1) / 2
    pairs = number * (positive.shape[1] - number)
    return np.where(pairs > 0, wins / np.maximum(pairs, 1), np.nan)


def difference_metric(name: str, values: np.ndarray, meaning: str = "") -> Metric:
    """`mean_metric` of differences of two rates, TPR - FPR as a rule; values in [-1, 1], shape (targets,)."""
    return mean_metric(name, values, meaning, bounds=(-1, 1))
