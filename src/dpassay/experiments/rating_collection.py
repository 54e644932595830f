"""The experiment `rating-collection`: what collecting perturbed ratings costs in accuracy (Zheng, sec. 3; RC-UTIL).

Protocol: per seed a tenth of the ratings is held out; every user perturbs the others, missing entries included, and the
collector completes what she gets. Errors are those of predictions, clipped to the scale, on the held-out ratings. The
true ratings Theta are unknown on real data: the completion of the clean ratings, clipped to the scale, stands for them
where rho, the bounds and ||Theta^ - Theta||_F need them. A second setting has a known Theta of low rank. Everything is
in stars (1 to 5); the modified Laplace mechanism works on (rating - 3)/2. Seeds are paired over epsilon: the same
ratings are held out and the same key is used.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpassay.claims import Claim, Context, Evidence, Verdict
from dpassay.data import ratings_or_synthetic
from dpassay.errors import InvalidInput
from dpassay.experiments.results import FinishedRuns, committed, described
from dpassay.mechanisms import NuclearNormCompletion, mechanism
from dpassay.proofs import rating_collection_recovery
from dpassay.proofs.rating_collection_accuracy import GAMMA, Shape, excess
from dpassay.ratings import Ratings
from dpassay.replay import check

__all__ = ["EPSILONS", "LIMIT", "METHODS", "debiased", "decide_utility", "known_truth", "perturbed", "run"]

EPSILONS = (0.1, 0.3, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
LIMIT = 1000.0
"""Stands for eps -> infinity: noise of 0.006 stars, and no rating changes its place."""
SEEDS = 5
PENALTIES = (10.0, 12.5, 15.0, 20.0)
MECHANISMS = ("modified_laplace", "randomized_response")
METHODS = {
    "constrained": "completion (4), rho as in (3)",
    "penalized": "completion, penalty from rho",
    "transplanted": "completion, penalty of clean data",
    "debiased": "debiased completion",
    "mean": "mean of the released ratings",
    "item_mean": "item means of the released ratings",
    "debiased_item_mean": "debiased item means",
}
STARS, MIDDLE = 5, 3.0
NAME = "rating-collection"
_SOLVER: dict[str, Any] = {"tolerance": 2e-3, "precision": "single"}
_MODULES = (__name__, "dpassay.mechanisms.nuclear_norm_completion")


def run(
    data: Ratings | Path | str | None = None,
    *,
    quick: bool = False,
    seed: int = 0,
    resume: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Errors of the collector's predictions by mechanism, epsilon and method.

    Args:
        data: ratings of 1 to 5 stars, or where to read them; None takes the small synthetic set.
        quick: fewer epsilons, seeds and variants.
        seed: the first of the seeds.
        resume: the file that keeps finished runs.
        progress: called with a short text when a long step advances.

    Returns:
        "inputs", "tables", "plots", "runs" (one record per setting, mechanism, variant, epsilon and seed; epsilon None
        is the clean data).

    Raises:
        InvalidInput: unreadable data, or ratings that are not whole stars from 1 to 5.
    """
    ratings = ratings_or_synthetic(data)
    if not np.isin(ratings.values, np.arange(1, STARS + 1)).all():
        raise InvalidInput("the experiment needs ratings of 1, 2, 3, 4 or 5 stars; round or rescale them")
    seeds = tuple(range(seed, seed + (2 if quick else SEEDS)))
    epsilons = (0.3, 2.0, 8.0, LIMIT) if quick else (*EPSILONS, LIMIT)
    runs: list[dict[str, Any]] = []
    for setting in ("ratings", "known truth"):
        for number in seeds:
            matrix, truth = (ratings.dense(), None) if setting == "ratings" else known_truth(number)
            # The shape decides what is compiled; the variants differ by rounding only, so one seed compares them.
            variants = ("paper", "repaired") if number == seeds[0] and setting == "ratings" else ("paper",)
            kept = FinishedRuns(resume, (ratings.fingerprint(),), _MODULES)
            runs += _seed_runs(setting, matrix, truth, number, epsilons, variants, kept, progress)
    return {
        "inputs": [described(ratings)],
        "tables": _tables(runs, ratings),
        "plots": _plots(runs, ratings.name),
        "runs": runs,
    }


def known_truth(seed: int, num_users: int = 120, num_items: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Observed ratings, NaN where missing, and the true ones of rank 3, both of shape (users, items), in stars.

    Two fifths of the cells are observed, at random, as the true rating plus noise of deviation 0.5, rounded to a star.
    """
    generator = np.random.default_rng([seed, 1])
    users, items = generator.uniform(-1, 1, (num_users, 2)), generator.uniform(-1, 1, (num_items, 2))
    truth = MIDDLE + users @ items.T  # within 1 and 5
    stars = np.clip(np.round(truth + 0.5 * generator.normal(size=truth.shape)), 1, STARS)
    return np.where(generator.random(truth.shape) < 0.4, stars, np.nan), truth


def perturbed(id: str, variant: str, epsilon: float, matrix: np.ndarray, seed: int) -> np.ndarray:
    """What the collector gets, shape (users, items), in stars, NaN where missing.

    Args:
        id: `modified_laplace` or `randomized_response`.
        variant: of the mechanism.
        epsilon: nats per entry.
        matrix: stars, NaN where missing.
        seed: of the users' coins.
    """
    built = mechanism(id, variant=variant, epsilon=epsilon)
    key = jax.random.key(seed)
    if id == "modified_laplace":
        return MIDDLE + 2 * np.asarray(built.sample(key, (matrix - MIDDLE) / 2))
    symbols = np.asarray(built.sample(key, matrix), float)
    return np.where(symbols == 0, np.nan, symbols)


def _seed_runs(
    setting: str,
    matrix: np.ndarray,
    truth: np.ndarray | None,
    seed: int,
    epsilons: tuple[float, ...],
    variants: tuple[str, ...],
    kept: FinishedRuns,
    progress: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """The clean run of one seed, then every release."""
    cells = np.argwhere(~np.isnan(matrix))
    held = tuple(np.random.default_rng([seed, 2]).permutation(cells)[: len(cells) // 10].T)
    train = matrix.copy()
    train[held] = np.nan
    theta = truth
    penalty = math.nan

    def clean() -> tuple[np.ndarray, float]:
        nonlocal theta, penalty
        if math.isnan(penalty):
            penalty = _chosen_penalty(train, seed)
            done = NuclearNormCompletion(penalty=penalty, center=True, **_SOLVER).complete(train)
            theta = np.clip(np.asarray(done.matrix, float), 1, STARS) if truth is None else truth
        assert theta is not None
        return theta, penalty

    def measure(release: np.ndarray, coefficients: tuple[float, ...], epsilon: float, bound: float) -> dict[str, Any]:
        true, least = clean()
        return _measured(release, true, least, coefficients, epsilon, bound, train, matrix, held)

    def known() -> float:
        true, _ = clean()
        return float(np.sqrt(np.nansum((train - true) ** 2)))

    progress(f"{setting}, seed {seed}: clean ratings")
    about = {"setting": setting, "seed": seed}
    yield kept.get(
        {**about, "mechanism": "none", "variant": "", "epsilon": None},
        lambda: measure(train, (1.0, 1.0, 0.0), math.inf, known()),
    )
    for id in MECHANISMS:
        for variant in variants:
            for epsilon in epsilons:
                progress(f"{setting}, seed {seed}: {id} ({variant}), epsilon {epsilon:g}")
                yield kept.get(
                    {**about, "mechanism": id, "variant": variant, "epsilon": epsilon},
                    lambda id=id, variant=variant, epsilon=epsilon: measure(
                        perturbed(id, variant, epsilon, train, seed),
                        _coefficients(id, epsilon),
                        epsilon,
                        known() + _noise_bound(id, epsilon, train),
                    ),
                )


def _measured(
    release: np.ndarray,
    theta: np.ndarray,
    penalty: float,
    coefficients: tuple[float, ...],
    epsilon: float,
    bound: float,
    train: np.ndarray,
    matrix: np.ndarray,
    held: tuple[np.ndarray, ...],
) -> dict[str, Any]:
    """One record: the release against the bound, and every method's errors."""
    users, items = release.shape
    share = float(np.mean(~np.isnan(release)))
    rho = float(np.sqrt(np.nansum((release - theta) ** 2)))
    spread = 1 / math.sqrt(users) + 1 / math.sqrt(items)
    solver = functools.partial(NuclearNormCompletion, center=True, **_SOLVER)
    completions = {
        "constrained": solver(radius=rho).complete(release),
        "penalized": solver(penalty=rho * spread).complete(release),
        "transplanted": solver(penalty=penalty).complete(release),
    }
    predictions = {name: np.asarray(done.matrix, float) for name, done in completions.items()}
    predictions["mean"] = np.full_like(release, np.nanmean(release))
    predictions["item_mean"] = np.broadcast_to(_item_means(release), release.shape)
    predictions |= debiased(release, coefficients)
    record: dict[str, Any] = {
        "user_epsilon": None if math.isinf(epsilon) else items * epsilon,
        "share_released": share,
        "rho": rho,
        "bound": bound,
        "bound_on_error": bound / math.sqrt(share),
        "clean_penalty": penalty,
    }
    for name, done in completions.items():
        record |= {
            f"{name}_penalty": float(done.penalty),
            f"{name}_rank": int(np.sum(np.asarray(done.singular_values) > 0)),
        }
    for name in METHODS:
        estimate = np.clip(predictions[name], 1, STARS)
        error = estimate[held] - matrix[held]
        record |= {
            f"{name}_rmse": float(np.sqrt(np.mean(error**2))),
            f"{name}_mae": float(np.mean(np.abs(error))),
            f"{name}_frobenius": float(np.linalg.norm(estimate - theta)),
        }
    return record


def _chosen_penalty(train: np.ndarray, seed: int) -> float:
    """Of `PENALTIES`, scaled from MovieLens 100K's shape to this one, the best on a tenth of the training ratings."""
    cells = np.argwhere(~np.isnan(train))
    held = tuple(np.random.default_rng([seed, 3]).permutation(cells)[: len(cells) // 10].T)
    rest = train.copy()
    rest[held] = np.nan
    typical = (math.sqrt(train.shape[0]) + math.sqrt(train.shape[1])) * math.sqrt(len(cells) / train.size)
    unit = typical / ((math.sqrt(943) + math.sqrt(1682)) * math.sqrt(0.9 * 100_000 / (943 * 1682)))

    def error(penalty: float) -> float:
        done = NuclearNormCompletion(penalty=penalty, center=True, **_SOLVER).complete(rest)
        return float(np.mean((np.clip(np.asarray(done.matrix)[held], 1, STARS) - train[held]) ** 2))

    return min((unit * penalty for penalty in PENALTIES), key=error)


def _item_means(release: np.ndarray) -> np.ndarray:
    """Per item, shape (items,), the mean of the released ratings; the overall one where there are none."""
    counts = np.sum(~np.isnan(release), axis=0)
    return np.where(counts > 0, np.nansum(release, axis=0) / np.maximum(counts, 1), np.nanmean(release))


def _coefficients(id: str, epsilon: float) -> tuple[float, float, float]:
    """(alpha, beta, gamma): E[(z - 3) 1{z is a number} | rated x] = alpha (x - 3), the chance of a number from a
    rating, and from a missing entry; both mechanisms create ratings with mean 3."""
    if id == "modified_laplace":
        keep = 1 / (1 + math.exp(-epsilon / 2))
        return keep, keep, 1 - keep
    keep = 1 / (1 + STARS * math.exp(-epsilon))
    other = (1 - keep) / STARS
    return keep - other, keep + (STARS - 1) * other, STARS * other


def debiased(release: np.ndarray, coefficients: tuple[float, ...]) -> dict[str, np.ndarray]:
    """What a collector gets from the same release who knows the mechanism's law; post-processing, at no privacy.

    (z - 3)/alpha on numbers and (1{number} - gamma)/(beta - gamma) have the means (x - 3) 1{rated} and 1{rated}. Their
    sums give means of items and counts of users and items, each shrunk by its share of signal. A released number is
    genuine with a chance that the counts estimate; a is what it keeps of x - 3 in the mean, so 3 + (z - 3)/a has the
    mean x, and the weight a^2 in the completion makes the noise of all cells alike. At eps -> infinity, a = 1.

    Args:
        release: stars, NaN where missing, shape (users, items).
        coefficients: alpha, beta, gamma of the mechanism.

    Returns:
        "debiased_item_mean" and "debiased", shape (users, items).
    """
    alpha, beta, gamma = coefficients
    users, items = release.shape
    number = ~np.isnan(release)
    value = np.where(number, release - MIDDLE, 0.0) / alpha
    rated = (number - gamma) / (beta - gamma)

    def shrunk(total: Any, count: Any, cells: int, variance: float, prior: float) -> Any:
        """Best linear estimate of a mean from a noisy total and count, for means of the given variance around 0."""
        count = np.maximum(count, 0.0)
        return prior * count * total / (prior * count**2 + cells * variance + 1e-12)

    def counts(axis: int) -> np.ndarray:
        raw = rated.sum(axis=axis)
        noise = rated.shape[axis] * rated.var()
        signal = max(0.0, 1 - noise / max(raw.var(), 1e-12)) if gamma > 0 else 1.0
        return np.maximum(raw.mean() + signal * (raw - raw.mean()), 0.0)

    middle = shrunk(value.sum(), rated.sum(), release.size, float(np.mean(value**2)), 1.0)
    centered = value - middle * rated
    offsets = middle + shrunk(centered.sum(axis=0), counts(0), users, float(np.mean(centered**2)), 0.25)
    means = np.broadcast_to(np.clip(MIDDLE + offsets, 1, STARS), release.shape)
    if gamma > 0:
        by_item, by_user = counts(0), counts(1)
        chance = np.outer(by_user, by_item) / max(by_item.sum(), 1.0)
        chance = np.clip(chance, 0.1 * by_item.sum() / release.size, 1.0)
        part = chance * alpha / (chance * beta + (1 - chance) * gamma)
    else:
        part = np.ones_like(release)
    if not part.max() > 0:
        return {"debiased_item_mean": means, "debiased": means}
    part = np.maximum(part, 1e-6)
    target = np.where(number, (release - MIDDLE) / part + MIDDLE - means, np.nan)
    noise = math.sqrt(np.nansum((part**2 * target) ** 2 / part**2))
    penalty = noise * (1 / math.sqrt(users) + 1 / math.sqrt(items))
    done = NuclearNormCompletion(penalty=penalty, **_SOLVER).complete(target, part**2)
    return {"debiased_item_mean": means, "debiased": means + np.asarray(done.matrix, float)}


def _noise_bound(id: str, epsilon: float, train: np.ndarray) -> float:
    """What (6) or (7) adds to rho0 sqrt(s) at failure probability GAMMA, in stars."""
    shape = Shape(train.size, int(np.sum(~np.isnan(train))), 1.0, 30.0, "")
    if id == "modified_laplace":
        return 2 * excess("laplace", epsilon, shape)[0]  # a unit of [-1, 1] is two stars
    return excess("response", min(epsilon, 700.0), shape)[0]


def _series(runs: list[dict[str, Any]], id: str, key: str, setting: str = "ratings") -> dict[str, list[float]]:
    """Mean, smallest and largest over seeds by epsilon, of the paper's variant, without the limit."""
    values: dict[float, list[float]] = {}
    for entry in runs:
        chosen = (entry["mechanism"], entry["variant"], entry["setting"]) == (id, "paper", setting)
        if chosen and entry["epsilon"] < LIMIT:
            values.setdefault(entry["epsilon"], []).append(entry[key])
    return {
        "x": list(values),
        "y": [float(np.mean(v)) for v in values.values()],
        "low": [min(v) for v in values.values()],
        "high": [max(v) for v in values.values()],
    }


def _plots(runs: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    plots = []
    for id in MECHANISMS:
        clean = [entry["constrained_rmse"] for entry in runs if _is(entry, "ratings", "none")]
        series = [{"label": label, **_series(runs, id, f"{key}_rmse")} for key, label in METHODS.items()]
        x = series[0]["x"]
        series.append({"label": "completion of the clean ratings", "x": x, "y": [float(np.mean(clean))] * len(x)})
        plots.append(
            {
                "title": f"Error on held-out ratings, {id}, {name}",
                "x_label": "eps of one entry (nats)",
                "y_label": "RMSE (stars)",
                "x_scale": "log",
                "series": series,
            }
        )
    return plots


def _is(entry: dict[str, Any], setting: str, id: str, variant: str = "paper") -> bool:
    same = entry["setting"] == setting and entry["mechanism"] == id
    return same and (id == "none" or entry["variant"] == variant)


def _tables(runs: list[dict[str, Any]], ratings: Ratings) -> list[dict[str, Any]]:
    tables = []
    for setting, name, key in (
        ("ratings", f"{ratings.name}, RMSE on held-out ratings", "rmse"),
        ("ratings", f"{ratings.name}, MAE on held-out ratings", "mae"),
        ("known truth", "a known truth of low rank, error of the completion ||Theta^ - Theta||_F", "frobenius"),
    ):
        rows = [
            [*_named(group[0], ratings), *(_spread([entry[f"{m}_{key}"] for entry in group]) for m in METHODS)]
            for group in _groups(runs, setting)
        ]
        columns = ["mechanism", "variant", "eps of an entry", "eps of a user", *METHODS.values()]
        tables.append({"title": f"{name} (mean over seeds, standard deviation)", "columns": columns, "rows": rows})
    for setting, name in (("ratings", ratings.name), ("known truth", "a known truth of low rank")):
        rows = [
            [
                *_named(group[0], ratings),
                f"{_mean(group, 'share_released'):.4f}",
                f"{_mean(group, 'rho'):,.1f}",
                f"{_mean(group, 'bound'):,.1f}",
                f"{_mean(group, 'bound') / _mean(group, 'rho'):.2f}",
                f"{_mean(group, 'bound_on_error'):,.1f}",
                f"{_mean(group, 'constrained_frobenius'):,.1f}",
                f"{_mean(group, 'constrained_rank'):.1f}",
            ]
            for group in _groups(runs, setting)
            if group[0]["variant"] == "paper"
        ]
        columns = ["mechanism", "variant", "eps of an entry", "eps of a user", "p", "rho", "bound (6) or (7)", "ratio"]
        columns += ["bound p^(-1/2)", "error of (4)", "its rank"]
        tables.append(
            {
                "title": f"Theorem 3 at gamma = {GAMMA} and (5) with C0 = 1, Frobenius norms in stars, {name}",
                "columns": columns,
                "rows": rows,
            }
        )
    return tables


def _groups(runs: list[dict[str, Any]], setting: str) -> list[list[dict[str, Any]]]:
    """Runs that differ by the seed only."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for entry in runs:
        if entry["setting"] == setting:
            groups.setdefault((entry["mechanism"], entry["variant"], entry["epsilon"]), []).append(entry)
    return list(groups.values())


def _named(entry: dict[str, Any], ratings: Ratings) -> list[str]:
    if entry["epsilon"] is None:
        return ["none", "", "", ""]
    return [entry["mechanism"], entry["variant"], f"{entry['epsilon']:g}", f"{entry['user_epsilon']:,.0f}"]


def _mean(group: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([entry[key] for entry in group]))


def _spread(values: list[float]) -> str:
    deviation = f" ({np.std(values, ddof=1):.4f})" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{deviation}"


def comparisons(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Paired differences of the error of (4) between successive eps, and between the limit and the clean ratings.

    Args:
        runs: of a result of `run`.

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
        pairs = [*zip(levels, levels[1:], strict=False), (None, levels[-1])]
        for before, after in pairs:
            name = f"{id}, eps {after:g} against {'clean ratings' if before is None else f'eps {before:g}'}"
            compared[name] = {
                "claimed": "zero" if before is None else "negative",
                "differences": [f"{errors[after][s] - errors[before][s]:.8f}" for s in sorted(errors[after])],
            }
    return compared


def decide_utility(claim: Claim, context: Context) -> Verdict:
    """RC-UTIL: by the committed result on MovieLens 100K, beside the proof of the limit."""
    proved = rating_collection_recovery.decide_utility(claim, context)
    result = committed(NAME)
    if result is None or result["inputs"][0]["name"] != "movielens-100k" or result["quick"]:
        command = (
            "dpassay experiment rating-collection --data ml-100k --output src/dpassay/results/rating-collection.json"
        )
        return dataclasses.replace(
            proved, explanation=f"{proved.explanation} The runs that decide it are missing: {command} makes them."
        )
    return judged(proved, result)


def judged(proved: Verdict, result: dict[str, Any]) -> Verdict:
    """The verdict on RC-UTIL from a result of `run`, with the evidence of `proved`.

    Args:
        proved: what is proved without an experiment.
        result: of `run` on MovieLens 100K.
    """
    compared = comparisons(result["runs"])
    inputs = {
        "form": "orderings",
        "confidence": "0.95",
        "description": f"{result['inputs'][0]['name']}, a tenth held out per seed, RMSE (stars) of completion (4) with "
        "rho as in (3), differences paired by seed",
        "comparisons": compared,
    }
    found = check("reproduction", inputs)["comparisons"]
    falls = [name for name, entry in found.items() if entry["claimed"] == "negative" and entry["side"] == "negative"]
    rises = [name for name, entry in found.items() if entry["claimed"] == "negative" and entry["side"] == "positive"]
    flat = [name for name, entry in found.items() if entry["claimed"] == "negative" and entry["side"] == "undecided"]
    apart = [name for name, entry in found.items() if entry["claimed"] == "zero" and entry["side"] != "undecided"]
    outcome: Any = "refuted" if rises or apart else "open" if flat else "holds"
    if outcome == "holds":  # an interval never shows that a difference is 0: the certificate carries the falls
        inputs |= {"comparisons": {name: compared[name] for name in falls}}
    explanation = (
        f"Between successive eps the error certainly falls in {len(falls)} of {len(falls) + len(rises) + len(flat)} "
        f"comparisons and certainly rises in {len(rises)} (simultaneous 95%); at eps = {LIMIT:g} it differs from that "
        f"of the clean ratings in {len(apart)} of {len(found) - len(falls) - len(rises) - len(flat)} mechanisms."
    )
    for names, text in ((rises, "It rises: "), (flat, "Not decided: ")):
        explanation += f" {text}{'; '.join(names)}." if names else ""
    evidence = Evidence(
        "reproduction",
        explanation,
        {"kind": "reproduction", "inputs": inputs},
        tables=tuple(result["tables"]),
        plots=tuple(result["plots"]),
    )
    rest = proved.explanation[proved.explanation.index("What is proved") :]
    return dataclasses.replace(
        proved, outcome=outcome, explanation=f"{explanation} {rest}", evidence=(evidence, *proved.evidence)
    )
