"""The report of an attack: its threat model, what it reached, what privacy would permit, and the document of it all."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.metrics import Metric, by_name
from dpassay.attacks.verdicts import verdicts
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import json_number
from dpassay.core.records import Plot, Table, plain
from dpassay.core.version import __version__
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import describe


@dataclass(frozen=True)
class ThreatModel:
    """One line each."""

    knows: str
    does: str
    sees: str


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
        metrics = by_name(self.metrics)
        if name not in metrics:
            raise InvalidInput(f"no metric is called {name!r}; choose from {', '.join(metrics)}")
        return metrics[name]

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


def described(mechanism: Any, *hidden: str) -> dict[str, Any]:
    """A registered mechanism as a report names it: "mechanism" and, without the hidden ones, "parameters"."""
    about = describe(mechanism)
    parameters = {name: value for name, value in about["parameters"].items() if name not in hidden}
    return {"mechanism": f"{about['id']}/{about['variant']}", "parameters": parameters}


def rated_rows(ratings: Iterable[float]) -> list[list[str]]:
    """Rows of a worked example: of every item whether user A rated it, and how; a rating that is missing is NaN."""
    texts = ("" if math.isnan(rating) else f"{rating:g}" for rating in ratings)
    return [[f"item {place}", "yes" if text else "no", text] for place, text in enumerate(texts, 1)]


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
