"""What an attack achieved: metrics with intervals, what privacy would permit, and the report around them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata
from scipy.stats import t as student

from dpassay.attacks.verdicts import verdicts
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import json_number
from dpassay.core.records import Plot, Table, plain
from dpassay.core.version import __version__
from dpassay.data.ratings import Ratings

__all__ = [
    "AttackReport",
    "Metric",
    "Privacy",
    "ThreatModel",
    "auc",
    "difference_metric",
    "mean_metric",
    "permitted_advantage",
]

CONFIDENCE = 0.95


@dataclass(frozen=True)
class ThreatModel:
    """One line each."""

    knows: str
    does: str
    sees: str


@dataclass(frozen=True)
class Metric:
    """One number of the outcome.

    Attributes:
        name: what `--fail-above NAME=VALUE` refers to, lower case with hyphens.
        value: NaN where nothing could be measured.
        low: lower end of the confidence interval; None for a count without sampling error.
        high: upper end.
        trials: independent units behind it, targets as a rule.
        meaning: one sentence for a reader who has not seen the code.
    """

    name: str
    value: float
    meaning: str
    low: float | None = None
    high: float | None = None
    trials: int = 0

    def cell(self) -> str:
        """For tables: the value and its interval, "-" where nothing was measured."""
        if math.isnan(self.value):
            return "-"
        return f"{self.value:.3f}" + ("" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]")


@dataclass(frozen=True)
class Privacy:
    """What a privacy guarantee permits an attacker, beside what this one reached.

    Attributes:
        what: whose guarantee, and for which neighboring datasets.
        epsilon_claimed: nats, infinity where nothing is claimed.
        epsilon_found: the loss that this project has shown (lower bound or exact), None where it has shown none.
        advantage: observed TPR - FPR between neighboring datasets, a `Metric`; None where it was not measured.
        delta: of both.
        says: one sentence that draws the conclusion.
    """

    what: str
    epsilon_claimed: float
    epsilon_found: float | None
    advantage: Metric | None
    says: str
    delta: float = 0.0


@dataclass(frozen=True)
class AttackReport:
    """Everything a security review needs; `to_json` follows `attack.schema.json`.

    Attributes:
        attack: the subcommand: beta-knn, sketch, reconstruction, presence or alterego.
        title: one line.
        mechanism: "id" or "id/variant".
        parameters: of the mechanism.
        summary: two to four sentences for a manager, with the numbers in them.
        settings: what the attacker and the experiment chose, JSON-able.
        tables, plots: all that was measured.
        victim: one worked example: {"story": [sentences], "tables": [...]}; real ids replaced by "user A", "item 1".
        repair: what fixes it and what that costs: {"text", "tables"}.
        limits: what this experiment cannot say, one sentence each.
    """

    attack: str
    title: str
    mechanism: str
    parameters: Mapping[str, Any]
    threat_model: ThreatModel
    summary: Sequence[str]
    settings: Mapping[str, Any]
    metrics: Sequence[Metric]
    dataset: Ratings | None = None
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    victim: Mapping[str, Any] | None = None
    privacy: Sequence[Privacy] = ()
    repair: Mapping[str, Any] | None = None
    limits: Sequence[str] = ()
    seed: int = 0
    seconds: float = field(default=0.0, compare=False)

    def metric(self, name: str) -> Metric:
        """The metric of this name.

        Raises:
            InvalidInput: there is none.
        """
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise InvalidInput(f"no metric is called {name!r}; choose from {', '.join(each.name for each in self.metrics)}")

    def to_json(self, command: str = "", limits: Mapping[str, float] | None = None) -> dict[str, Any]:
        """The document behind every output.

        Args:
            command: the command line that reproduces it.
            limits: per metric, the value above which the attack counts as too successful (`--fail-above`).
        """
        checks = [
            {
                "metric": name,
                "limit": limit,
                "value": json_number(self.metric(name).value),
                "exceeded": not self.metric(name).value <= limit,  # what could not be measured does not pass
            }
            for name, limit in (limits or {}).items()
        ]
        return {
            "program": f"dpassay {__version__}",
            "schema_version": 1,
            "command": command,
            "attack": self.attack,
            "title": self.title,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "dataset": None if self.dataset is None else _dataset(self.dataset),
            "threat_model": vars(self.threat_model).copy(),
            "summary": list(self.summary),
            "settings": dict(self.settings),
            "metrics": [_metric(metric) for metric in self.metrics],
            "tables": plain(self.tables),
            "plots": plain(self.plots),
            "victim": plain(self.victim),
            "privacy": [_privacy(entry) for entry in self.privacy],
            "verdicts": verdicts(self.mechanism),
            "repair": plain(self.repair),
            "limits": list(self.limits),
            "checks": checks,
            "seed": self.seed,
            "seconds": self.seconds,
        }


def permitted_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Largest TPR - FPR of any test between neighboring datasets: (e^eps - 1 + 2 delta) / (e^eps + 1).

    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy" (2015), region (4).

    Raises:
        InvalidInput: a negative epsilon, or a delta that is no probability.
    """
    if not epsilon >= 0:
        raise InvalidInput(f"epsilon is {epsilon}; it must be 0 or more")
    if not 0 <= delta <= 1:
        raise InvalidInput(f"delta is {delta}; it must be a probability")
    if math.isinf(epsilon):
        return 1.0
    return math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1)


def mean_metric(
    name: str, values: np.ndarray, meaning: str, weights: np.ndarray | None = None, bounds: tuple[float, float] = (0, 1)
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


def difference_metric(name: str, values: np.ndarray, meaning: str) -> Metric:
    """`mean_metric` of differences of two rates, TPR - FPR as a rule; values in [-1, 1], shape (targets,)."""
    return mean_metric(name, values, meaning, bounds=(-1, 1))


def _metric(metric: Metric) -> dict[str, Any]:
    numbers = {key: _number(getattr(metric, key)) for key in ("value", "low", "high")}
    return {"name": metric.name, **numbers, "trials": metric.trials, "meaning": metric.meaning}


def _privacy(entry: Privacy) -> dict[str, Any]:
    found = entry.epsilon_found
    return {
        "what": entry.what,
        "epsilon_claimed": _number(entry.epsilon_claimed),
        "epsilon_found": _number(found),
        "delta": entry.delta,
        "permitted_claimed": permitted_advantage(entry.epsilon_claimed, entry.delta),
        "permitted_found": None if found is None else permitted_advantage(found, entry.delta),
        "advantage": None if entry.advantage is None else _metric(entry.advantage),
        "says": entry.says,
    }


def _number(value: float | None) -> float | str | None:
    return None if value is None else json_number(float(value))


def _dataset(ratings: Ratings) -> dict[str, Any]:
    return {
        "name": ratings.name,
        "users": ratings.num_users,
        "items": ratings.num_items,
        "ratings": len(ratings),
        "sha256": ratings.fingerprint(),
    }
