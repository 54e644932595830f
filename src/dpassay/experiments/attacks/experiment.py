"""What the attacks beside `beta-knn` find out, method by method, and sybils where items are compared."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.alterego import measurement
from dpassay.attacks.beta_knn import item_report
from dpassay.attacks.beta_knn.settings import ItemSettings
from dpassay.attacks.metrics import Metric
from dpassay.attacks.presence import report as presence_report
from dpassay.attacks.presence.settings import PresenceSettings
from dpassay.attacks.reconstruction import report as reconstruction_report
from dpassay.attacks.reconstruction.settings import ReconstructionSettings
from dpassay.attacks.settings import AttackSettings
from dpassay.attacks.sketch import report as sketch_report
from dpassay.attacks.sketch.settings import SketchSettings
from dpassay.core.progress import Say, silent
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.request import Request
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

REPORTS: Mapping[str, tuple[type[AttackSettings], ModuleType]] = {
    "items": (ItemSettings, item_report),
    "sketch": (SketchSettings, sketch_report),
    "reconstruction": (ReconstructionSettings, reconstruction_report),
    "presence": (PresenceSettings, presence_report),
}
"""Attacks whose report is about one method; AlterEgos are compared by `measurement.compare`."""

EPSILON = 1.0
Settings = Mapping[str, Any]


def run(request: Request) -> dict[str, Any]:
    """The experiment `attacks`: every method under the attack that fits it, at epsilon 1.

    Quick: fewer methods, targets and trials.
    """
    ratings = request.ratings
    finished = Kept(request.resume, [ratings.fingerprint()], __name__)
    plan = []
    for attack, settings in _plan(ratings, request.quick):
        told = f"{attack}: {', '.join(str(value) for value in settings.values())}"
        about = {"attack": attack, **settings, "seed": request.seed}
        plan.append(Planned(about, (attack, settings, request.seed), told))
    found = finished.all(plan, PerWorker(partial, _measured, ratings), request.executor, request.progress, tells=True)
    runs = [{**run, **method} for run in found for method in run.pop("methods")]
    return {"inputs": [ratings.described()], "tables": _tables(runs, ratings.name), "runs": runs}


def _plan(ratings: Ratings, quick: bool) -> list[tuple[str, Settings]]:
    """Every attack with its settings; methods side by side get the same."""
    sketches = {"targets": 10, "trials": 40} if quick else {"targets": 20, "trials": 100}
    crowds = (10,) if quick else (10, ratings.num_users - 1)
    seen = {"rounds": 4, "targets": 10, "trials": 20} if quick else {"rounds": 16, "targets": 20, "trials": 40}
    answers = {"rounds": 1, "targets": 20 if quick else 50}
    # The public lists of similar items, read once and before and after the target's ratings arrive; then fakes.
    looks = ({"looks": "once"}, {"looks": "twice"}, {"looks": "twice", "turnover": 0.0})
    told = [{"channel": "similar_scores", "beta": 0.0, **look} for look in looks]
    told += [{"channel": channel, "beta": 1.0, "looks": "once"} for channel in ("ratings", "top_n")]
    plan: list[tuple[str, Settings]] = []
    for method in _methods("items"):
        for channel in told[:2] if quick else told:
            plan.append(("items", {"method": method, "turnover": 0.05, **channel, "targets": 5 if quick else 20}))
    for shape in ("full_rank",) if quick else ("full_rank", "rank_deficient"):
        for method in ("jlt", "jlt_repaired") if quick else _methods("sketch"):
            plan.append(("sketch", {"method": method, "shape": shape, **sketches}))
    plan += [("reconstruction", {"method": method, **answers}) for method in _methods("reconstruction")]
    for others in crowds:
        for method in ("dpp", "kdpp") if quick else _methods("presence"):
            plan.append(("presence", {"method": method, "others": others, **seen}))
    plan.append(("alterego", {"rounds": 4 if quick else 10, "targets": 10 if quick else 30}))
    return plan


def _methods(attack: str) -> tuple[str, ...]:
    kind, _ = REPORTS[attack]
    return kind.methods()


def _measured(ratings: Ratings, attack: str, settings: Settings, seed: int, progress: Say = silent) -> dict[str, Any]:
    measure = _alteregos if attack == "alterego" else partial(_reported, REPORTS[attack][1])
    return measure(ratings, {**settings, "epsilon": EPSILON, "seed": seed, "progress": progress})


def _reported(module: ModuleType, ratings: Ratings, settings: Settings) -> dict[str, Any]:
    """One method's metrics, and what its claim permits in place of `advantage`."""
    report = module.run(ratings, **settings)
    claim = report.privacy[0]
    permitted = permitted_advantage(claim.epsilon_claimed, claim.delta)
    size = {name: report.settings[name] for name in ("items", "users", "num_items") if name in report.settings}
    return {"methods": [{**size, "permitted": permitted, **_numbers(report.metrics)}]}


def _alteregos(ratings: Ratings, settings: Settings) -> dict[str, Any]:
    found = []
    for method, metrics in measurement.compare(ratings, **settings).items():
        promised = math.inf if method == "alterego" else settings["rounds"] * EPSILON
        found.append({"method": method, "permitted": permitted_advantage(promised), **_numbers(metrics)})
    return {"methods": found}


def _numbers(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Every metric as value, low, high and trials, without those that could not be measured."""
    measured = [metric for metric in metrics if not math.isnan(metric.value)]
    return {each.name: {name: getattr(each, name) for name in ("value", "low", "high", "trials")} for each in measured}


class _Shown(NamedTuple):
    """The table of one attack; `about` are the settings it names, `columns` the metrics and what they are called."""

    attack: str
    title: str
    about: Sequence[str]
    columns: Mapping[str, str]


TABLES = (
    _Shown(
        "items",
        "Sybils and public lists where items are compared: {name}, {targets} users, 8 known ratings, epsilon 1",
        ("method", "channel", "read", "beta"),
        {
            "yield": "found out",
            "precision": "right when named",
            "guess-precision": "by popularity",
            "advantage": "advantage on one rating (guessing: 0)",
            "permitted": "permitted",
        },
    ),
    _Shown(
        "sketch",
        "Is one rating in a published sketch? {name}, {targets} ratings, {trials} sketches with and without each, "
        "epsilon 1",
        ("shape", "items", "users", "method"),
        {
            "advantage": "advantage (guessing: 0)",
            "permitted": "permitted",
            "auc": "auc (guessing: 1/2)",
            "tpr-at-fpr-1-percent": "recognized at 1% false alarms (guessing: 0.01)",
            "told-with-certainty": "told with certainty",
        },
    ),
    _Shown(
        "reconstruction",
        "What a collector of noisy ratings learns: {name}, {targets} users, one collection, epsilon 1 for each rating",
        ("method",),
        {
            "value-accuracy": "values right",
            "guess-value-accuracy": "without collecting",
            "auc": "which items are rated (auc)",
            "guess-auc": "by popularity",
            "advantage": "advantage on one rating (guessing: 0)",
            "permitted": "permitted",
            "profile-advantage": "advantage on all of a user's ratings",
        },
    ),
    _Shown(
        "presence",
        "Is a person in the data behind recommended sets? {name}, {targets} persons, {rounds} sets, epsilon 1 for "
        "each set",
        ("others", "num_items", "method"),
        {
            "advantage": "advantage (guessing: 0)",
            "permitted": "permitted",
            "advantage-limit": "best test on these data",
            "advantage-worst-case": "best test on any data",
            "auc": "auc (guessing: 1/2)",
        },
    ),
    _Shown(
        "alterego",
        "What {rounds} mapped profiles tell of the original ratings: {name}, {targets} users, epsilon 1 for each "
        "replaced rating",
        ("method",),
        {
            "source-precision": "named items right",
            "guess-precision": "by popularity",
            "source-recall": "items found",
            "advantage": "which of two items, advantage (guessing: 0)",
            "join-advantage": "a user behind the similarities, advantage",
            "permitted": "permitted",
            "value-advantage": "which of two values, advantage",
        },
    ),
)
"""What each attack reached, what epsilon permits, and the best guess without it."""


def _tables(runs: Sequence[Mapping[str, Any]], name: str) -> list[Table]:
    found = []
    for attack, title, about, columns in TABLES:
        own = [each for each in runs if each["attack"] == attack]
        heads = [*(key.replace("_", " ") for key in about), *columns.values()]
        rows = [[*(_setting(each, key) for key in about), *(_cell(each, key) for key in columns)] for each in own]
        found.append(Table(f"{title.format(name=name, **own[0])} (95% intervals)", heads, rows))
    return found


def _setting(run: Mapping[str, Any], key: str) -> Any:
    if key != "read":
        return run[key]
    if run["looks"] == "once":
        return "once"
    return f"twice, {run['turnover']:.0%} of others' ratings new" if run["turnover"] else "twice, nothing of others new"


def _cell(record: Mapping[str, Any], key: str) -> str:
    found = record.get(key)
    if found is None:
        return "-"
    if isinstance(found, Mapping):
        return Metric(key, found["value"], "", found["low"], found["high"]).cell()
    return f"{found:.3f}"
