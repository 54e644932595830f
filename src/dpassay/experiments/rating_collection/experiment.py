"""The experiment `rating-collection`: what collecting perturbed ratings costs in accuracy (Zheng, sec. 3; RC-UTIL).

Protocol: per seed a tenth of the ratings is held out; every user perturbs the others, missing entries included, and the
collector completes what she gets. Errors are those of predictions, clipped to the scale, on the held-out ratings. The
true ratings Theta are unknown on real data: the completion of the clean ratings, clipped to the scale, stands for them
where rho, the bounds and ||Theta^ - Theta||_F need them. A second setting has a known Theta of low rank. Everything is
in stars (1 to 5); the modified Laplace mechanism works on (rating - 3)/2. Seeds are paired over epsilon: the same
ratings are held out and the same key is used.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.cells import grouped, mean_of
from dpassay.experiments.rating_collection.bounds import GAMMA
from dpassay.experiments.rating_collection.collected_ratings import MECHANISMS, METHODS, STARS, Collection, known_truth
from dpassay.experiments.request import Request, check_differing
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

EPSILONS = (0.1, 0.3, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
LIMIT = 1000.0
"""Stands for eps -> infinity: noise of 0.006 stars, and no rating changes its place."""
QUICK = (0.3, 4.0, LIMIT)
SEEDS = 5
REPAIRED = (1.0, 4.0, 10.0)
"""Where the repaired variants are run, on one seed: their law differs by rounding only."""
NAME = "rating-collection"
Group = Sequence[Mapping[str, Any]]


def run(request: Request) -> dict[str, Any]:
    """Errors of the collector's predictions by mechanism, epsilon and method.

    Quick: fewer epsilons, seeds and variants. Of the runs, one for each setting, mechanism, variant, epsilon and seed,
    those of epsilon None are the clean data.

    Raises:
        InvalidInput: unreadable data, or ratings that are not whole stars from 1 to 5, or all equal.
    """
    ratings, quick, seed = request.ratings, request.quick, request.seed
    if not np.isin(ratings.values, np.arange(1, STARS + 1)).all():
        raise InvalidInput("the experiment needs ratings of 1, 2, 3, 4 or 5 stars; round or rescale them")
    check_differing(ratings)
    releases = [("paper", epsilon) for epsilon in (QUICK if quick else (*EPSILONS, LIMIT))]
    repaired = [("repaired", epsilon) for epsilon in (REPAIRED[1:2] if quick else REPAIRED)]
    kept = Kept(request.resume, [ratings.fingerprint()], __name__)
    plan: list[Planned] = []
    for setting in ("ratings", "known truth"):
        for number in range(seed, seed + (2 if quick else SEEDS)):
            chosen = releases + repaired * (setting == "ratings" and number == seed)
            plan += _planned(setting, number, chosen)
    runs = kept.all(plan, PerWorker(_Measuring, ratings, seed), request.executor, request.progress)
    shown = {"tables": _tables(runs, ratings.name), "plots": _plots(runs, ratings.name)}
    return {"inputs": [ratings.described()], **shown, "runs": runs}


def _planned(setting: str, seed: int, releases: Sequence[tuple[str, float]]) -> Iterator[Planned]:
    """The clean run, then every release: pairs of a variant and an epsilon, for both mechanisms."""
    about, name = {"setting": setting, "seed": seed}, f"{setting}, seed {seed}"
    clean = {**about, "mechanism": "none", "variant": "", "epsilon": None}
    yield Planned(clean, (setting, seed), f"{name}: clean ratings")
    for id in MECHANISMS:
        for variant, epsilon in releases:
            settings = {**about, "mechanism": id, "variant": variant, "epsilon": epsilon}
            yield Planned(
                settings, (setting, seed, id, variant, epsilon), f"{name}: {id} ({variant}), epsilon {epsilon:g}"
            )


class _Measuring:
    """Measures what is left of the ratings of one seed after another."""

    def __init__(self, ratings: Ratings, first: int) -> None:
        self.ratings, self.first = ratings, first
        self.collection = functools.lru_cache(maxsize=1)(self._collection)

    def __call__(self, setting: str, seed: int, *release: Any) -> dict[str, Any]:
        collection = self.collection(setting, seed)
        return collection.released(*release) if release else collection.clean()

    def _collection(self, setting: str, seed: int) -> Collection:
        real = setting == "ratings"
        matrix, truth = (self.ratings.dense(), None) if real else known_truth(seed)
        return Collection(matrix, truth, seed, transplant=seed == self.first or not real)


def _series(label: str, runs: list[dict[str, Any]], id: str, key: str) -> Series:
    """Mean, smallest and largest over seeds by epsilon, of the paper's variant, without the limit."""
    own = [run for run in runs if _is(run, "ratings", id) and run["epsilon"] < LIMIT and key in run]
    values = {epsilon: [run[key] for run in group] for (epsilon,), group in grouped(own, ("epsilon",)).items()}
    low, high = ([end(each) for each in values.values()] for end in (min, max))
    return Series(label, list(values), [float(np.mean(each)) for each in values.values()], low=low, high=high)


def _plots(runs: list[dict[str, Any]], name: str) -> list[Plot]:
    plots = []
    for id in MECHANISMS:
        clean = [entry["constrained_rmse"] for entry in runs if _is(entry, "ratings", "none")]
        series = [_series(label, runs, id, f"{key}_rmse") for key, label in METHODS.items()]
        x = series[0].x
        series.append(Series("completion of the clean ratings", x, [float(np.mean(clean))] * len(x)))
        title = f"Error on held-out ratings, {id}, {name}"
        plots.append(Plot(title, "eps of one entry (nats)", "RMSE (stars)", series, x_scale="log"))
    return plots


def _is(entry: dict[str, Any], setting: str, id: str) -> bool:
    same = entry["setting"] == setting and entry["mechanism"] == id
    return same and (id == "none" or entry["variant"] == "paper")


def _tables(runs: list[dict[str, Any]], name: str) -> list[Table]:
    named: dict[str, Callable[[Group], str]] = {
        "mechanism": lambda group: group[0]["mechanism"],
        "variant": lambda group: group[0]["variant"],
        "eps of an entry": lambda group: "" if group[0]["epsilon"] is None else f"{group[0]['epsilon']:g}",
        "eps of a user": lambda group: "" if group[0]["epsilon"] is None else f"{group[0]['user_epsilon']:,.0f}",
    }
    tables = []
    for setting, error, key in (
        ("ratings", f"{name}, RMSE on held-out ratings", "rmse"),
        ("ratings", f"{name}, MAE on held-out ratings", "mae"),
        ("known truth", "a known truth of low rank, error of the completion ||Theta^ - Theta||_F", "frobenius"),
    ):
        errors = {title: functools.partial(_spread, f"{method}_{key}") for method, title in METHODS.items()}
        title = f"{error} (mean over seeds, standard deviation; one seed where there is none)"
        tables.append(Table.of(title, {**named, **errors}, _groups(runs, setting)))
    bounds: dict[str, Callable[[Group], str]] = {
        "p": lambda group: f"{mean_of(group, 'share_released'):.4f}",
        "rho": lambda group: f"{mean_of(group, 'rho'):,.1f}",
        "bound (6) or (7)": lambda group: f"{mean_of(group, 'bound'):,.1f}",
        "ratio": lambda group: f"{mean_of(group, 'bound') / mean_of(group, 'rho'):.2f}",
        "bound p^(-1/2)": lambda group: f"{mean_of(group, 'bound_on_error'):,.1f}",
        "error of (4)": lambda group: f"{mean_of(group, 'constrained_frobenius'):,.1f}",
        "its rank": lambda group: f"{mean_of(group, 'constrained_rank'):.1f}",
    }
    for setting, about in (("ratings", name), ("known truth", "a known truth of low rank")):
        title = f"Theorem 3 at gamma = {GAMMA} and (5) with C0 = 1, Frobenius norms in stars, {about}"
        printed = [group for group in _groups(runs, setting) if group[0]["variant"] == "paper"]
        tables.append(Table.of(title, {**named, **bounds}, printed))
    return tables


def _groups(runs: list[dict[str, Any]], setting: str) -> list[Group]:
    """Runs that differ by the seed only."""
    own = (entry for entry in runs if entry["setting"] == setting)
    return list(grouped(own, ("mechanism", "variant", "epsilon")).values())


def _spread(key: str, group: Group) -> str:
    values = [entry[key] for entry in group if key in entry]
    if not values:
        return ""
    deviation = f" ({np.std(values, ddof=1):.4f})" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{deviation}"


def comparisons(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Paired differences of the error of (4) between successive eps, and between the limit and the clean ratings.

    Returns:
        {name: {"claimed": "negative" or "zero", "differences": [one number per seed]}}.
    """
    compared = {}
    for id in MECHANISMS:
        errors: dict[float | None, dict[int, float]] = {}
        for entry in runs:
            if _is(entry, "ratings", id) or _is(entry, "ratings", "none"):
                errors.setdefault(entry["epsilon"], {})[entry["seed"]] = entry["constrained_rmse"]
        levels = sorted(level for level in errors if level is not None)
        pairs = [*itertools.pairwise(levels), (None, levels[-1])]
        for before, after in pairs:
            name = f"{id}, eps {after:g} against {'clean ratings' if before is None else f'eps {before:g}'}"
            compared[name] = {
                "claimed": "zero" if before is None else "negative",
                "differences": [f"{errors[after][s] - errors[before][s]:.8f}" for s in sorted(errors[after])],
            }
    return compared
