"""The experiment `frontier`: accuracy against true epsilon, every recommender of the five papers on the same readers.

Protocol: the domains, folds and readers of the experiment `xmap`. All target ratings of a fold's readers are hidden;
every method predicts the same (at most 10) of each from what is left: all source ratings, all others' target ratings.
Errors are means over each reader's predictions, then over readers. Beside it, lists of 10 from all target items, judged
by all hidden ratings of 4 and more. What every epsilon protects is in `frontier_privacy`.
"""

import copy
import dataclasses
import functools
import math
from typing import Any

import jax
import numpy as np

from dpassay.data.ratings import Ratings
from dpassay.experiments.cells import without_lists
from dpassay.experiments.dpp.experiment import Held, item_chances
from dpassay.experiments.dpp.jitter import required_jitter
from dpassay.experiments.frontier.noisy_totals import NoisyTotals, predicted, totals
from dpassay.experiments.frontier.privacy import FLOOR, Facts, privacy_of, sketch_of
from dpassay.experiments.frontier.tables import points, tables
from dpassay.experiments.ppns.neighborhood import Protocol, predict, predict_from_sets, similarities, user_means
from dpassay.experiments.rating_collection.collected_ratings import coefficients_of, debiased, perturbed
from dpassay.experiments.request import Request
from dpassay.experiments.xmap.domains import Domains, load_domains
from dpassay.experiments.xmap.experiment import BASELINES, DEFAULT, FOLDS, World, dense, generator_of, private
from dpassay.experiments.xmap.tables import VARIANTS
from dpassay.mechanisms.batched_users import (
    Block,
    NearestNeighbors,
    PartitionedNeighbors,
    Selection,
    TruncatedNeighbors,
    WeightedNeighbors,
    exponential_scale,
    noisy_partitions,
)
from dpassay.mechanisms.similarity import floor_norm_cosine_matrix, floor_norm_sensitivity
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

NEIGHBORS, RHO, PROBABILITY = 50, 0.5, 0.5  # of Lu and Shen
LIKED, SIZE, RELEASES = 4.0, 10, 20
AMONG_RATERS = "kNN among the item's raters"
GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
OURS = (0.01, 0.03, *GRID)
CLAIMED = (1.0, 4.0, 16.0, 64.0)
PER_DRAW = (0.01, 0.1, 0.6, 4.0, 16.0, 64.0, 256.0)
PER_ENTRY = (0.3, 1.0, 2.0, 4.0, 6.0, 10.0)


def run(request: Request) -> dict[str, Any]:
    """Measures every method on the same readers.

    Data are MovieLens 100K (cut by genre), or whatever the experiment `xmap` takes. Quick: two folds and fewer
    epsilons. The result also has "domains" and "points" (one per curve point of the picture).

    Raises:
        InvalidInput: unreadable data, or too few users of both domains.
    """
    domains = load_domains(request)
    finished = Kept(request.resume, [part.fingerprint() for part in domains.parts], __name__)
    plan = []
    for number in range(2 if request.small else FOLDS):
        for each in settings(request.small):
            setting = {**each, "fold": number, "seed": request.seed}
            plan.append(Planned(setting, (setting,), _named(number, each)))
    records = finished.all(plan, PerWorker(_Measuring, domains), request.executor, request.progress)
    found = points(records)
    shown = {"tables": tables(records, found, domains.name), "points": found}
    return {**domains.described, **shown, "runs": without_lists(records)}


def _named(fold: int, each: dict[str, Any]) -> str:
    return f"fold {fold + 1}: {each['panel']}, {each['method']} {each['variant']}, {each['epsilon']}"


def settings(quick: bool) -> list[dict[str, Any]]:
    """Every method at every epsilon (its own parameter, nats), for both panels."""

    def several(method: str, variant: str, epsilons: tuple[float, ...], **more: Any) -> list[dict[str, Any]]:
        kept = epsilons[1::2] if quick else epsilons
        return [{"method": method, "variant": variant, "epsilon": e, "p": None, **more} for e in kept]

    def alone(method: str) -> dict[str, Any]:
        return {"method": method, "variant": "", "epsilon": None, "p": None}

    both = [
        *(several("PPNS", f"{id}/paper", CLAIMED) for id in ("npns", "pncf")),
        *(several("PPNS", "ppns/paper", CLAIMED, p=p) for p in (0.1, PROBABILITY, 0.9)),
        *(several("PPNS", f"{id}/repaired{how}", GRID) for id in ("npns", "ppns") for how in ("", ", noisy means")),
        *(several("PriCDR", f"{id}/paper", CLAIMED) for id in ("jlt", "sjlt")),
        *(several("PriCDR", f"{id}/repaired", GRID) for id in ("jlt", "sjlt")),
        several("PriCDR", "jlt/repaired, noisy means", GRID),
        *(several("rating collection", id, PER_ENTRY) for id in ("modified_laplace", "randomized_response")),
    ]
    shared = [alone("PPNS") | {"variant": "knn/paper"}, alone("NX-Map"), *(each for one in both for each in one)]
    alike = ("reader's mean", "item mean", "item mean + reader's deviation", "constant")
    ratings = [*(alone(name) for name in (*alike, AMONG_RATERS)), *several("noisy item means", "", OURS), *shared]
    ratings += [each for name in VARIANTS for each in several("X-Map", name, PER_DRAW)]
    lists = [alone("random list"), alone("popularity"), *several("noisy popularity", "", OURS), *shared]
    # Hundreds of predictions for every reader: fewer epsilons.
    lists += [each for name in VARIANTS for each in several("X-Map", name, PER_DRAW[1:6:2])]
    lists += several("DPP", "k-DPP", GRID)
    return [{"panel": "ratings", **each} for each in ratings] + [{"panel": "lists", **each} for each in lists]


class Fold:
    """One fold: what is left of the ratings in every form that a method wants."""

    def __init__(self, domains: Domains, number: int, seed: int) -> None:
        self.world = World(domains, number, seed, 1.0, 0)
        data = self.split = self.world.split
        people = domains.source.num_users  # nobody is unlinked, so that the accounts beyond are empty
        self.readers, self.neighbors = data.readers, min(NEIGHBORS, (people - 1) // 4)
        self.source, self.target = (dense(part[:people]) for part in (data.source, data.target))
        self.matrix = np.hstack([self.source, self.target])
        self.joint = Ratings.from_dense(self.matrix, data.scale)
        self.hidden = self.readers[data.owners], self.source.shape[1] + data.items
        """Users and items of `joint` whose ratings are predicted."""
        self.own = user_means(self.joint)[self.readers]
        self.relevant = np.nan_to_num(domains.target.dense()[self.readers]) >= LIKED
        self.counted = self.world.known[data.items]
        self.likes = (np.nan_to_num(self.target) >= LIKED).astype(float)
        asked = np.bincount(data.owners, minlength=len(self.readers))
        rated = (~np.isnan(self.source[self.readers])).sum(1)
        self.facts = Facts(people, self.source.shape[1], self.target.shape[1], rated, asked)

    @functools.cached_property
    def cosine(self) -> np.ndarray:
        """Co-rated cosine of the readers (who have source ratings only) to everybody, shape (readers, people)."""
        return similarities(self.joint, Protocol())[self.readers]

    @functools.cached_property
    def floor_norm(self) -> np.ndarray:
        """Floor-norm cosine over source ratings, shape (readers, people)."""
        every = floor_norm_cosine_matrix(self.source, norm_floor=FLOOR, max_rating=self.split.scale[1])
        return np.asarray(every)[self.readers]

    @functools.cached_property
    def every_item(self) -> Any:
        """The X-Map world that asks every reader for every target item."""
        world, items = copy.copy(self.world), self.target.shape[1]
        world.split = dataclasses.replace(
            self.split,
            owners=np.repeat(np.arange(len(self.readers)), items),
            items=np.tile(np.arange(items), len(self.readers)),
            values=np.zeros(len(self.readers) * items),
        )
        world.rows, world.which = np.unique(world.split.items, return_inverse=True)
        return world


def measure(fold: Fold, setting: dict[str, Any]) -> dict[str, Any]:
    """One method on one fold.

    The setting is one of `settings`, with "fold" and "seed".

    Returns:
        "value", the mean over readers of the mean absolute error or of the precision at 10; "other_form", the same for
        another form where a method has one (see `predictions`); both by reader, as lists; "spread", the standard
        deviation of "value" between the `RELEASES` whose errors are averaged, where one small release serves all
        readers, so that they err together; "readers", their number and their user numbers; and the fields of
        `dpassay.experiments.frontier.privacy.Privacy`.
    """
    generator = generator_of(setting)
    asked = np.bincount(fold.split.owners[fold.counted], minlength=len(fold.readers))
    some = asked > 0 if setting["panel"] == "ratings" else fold.relevant.any(1)
    number = RELEASES if setting["method"] in ("noisy item means", "noisy popularity") else 1
    draws = [_by_reader(fold, setting, generator) for _ in range(number)]
    values = {name: np.mean([each[name][some] for each in draws], axis=0) for name in draws[0]}
    spread = [float(each["value"][some].mean()) for each in draws]
    return {
        **{name: float(each.mean()) for name, each in values.items()},
        "spread": float(np.std(spread, ddof=1)) if number > 1 else None,
        "readers": int(some.sum()),
        **privacy_of(setting, fold.facts).record(),
        "readers_list": fold.readers[some].tolist(),
        **{f"{name}_by_reader": each.round(5).tolist() for name, each in values.items()},
    }


def _by_reader(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Errors or precisions from one draw, shape (readers,)."""
    if setting["panel"] == "lists":
        return {"value": _precision(fold, setting, generator)}
    owners, true = fold.split.owners[fold.counted], fold.split.values[fold.counted]
    number = np.maximum(np.bincount(owners, minlength=len(fold.readers)), 1)
    return {
        name: np.bincount(owners, np.abs(one[fold.counted] - true), len(number)) / number
        for name, one in predictions(fold, setting, generator).items()
    }


class _Measuring:
    """Measures settings, those of one fold after another."""

    def __init__(self, domains: Domains) -> None:
        self.fold = functools.lru_cache(maxsize=1)(functools.partial(Fold, domains))

    def __call__(self, setting: dict[str, Any]) -> dict[str, Any]:
        return measure(self.fold(setting["fold"], setting["seed"]), setting)


def predictions(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Predicted ratings of the hidden ones, shape (hidden,), as "value".

    "other_form" is Lu and Shen's (6), without centering, for the neighbors as printed; the item's mean plus the
    neighbors' deviations for the repaired X-Map, and sum s r / sum |s| for the others.
    """
    data, method, variant, epsilon = fold.split, setting["method"], setting["variant"], setting["epsilon"]
    base, low, high = fold.own[data.owners], *data.scale
    if method == "constant":
        return {"value": np.full(len(data.items), (low + high) / 2)}
    if method in BASELINES:
        return {"value": fold.world.baseline(method, generator)}
    if method == AMONG_RATERS:
        protocol, nearest = Protocol(candidates="raters"), NearestNeighbors(fold.neighbors)
        made = predict(fold.joint, *fold.hidden, nearest, protocol, setting["seed"])
        return {"value": np.where(np.isnan(made), base, np.clip(made, low, high))}
    if method == "noisy item means":
        return {"value": _item_means(fold, NoisyTotals(epsilon, low, high), generator)[data.owners, data.items]}
    if method == "NX-Map" or method == "X-Map":
        found, _ = fold.world.predicted(_xmap(setting), generator)
        # What is private is the form that takes nothing but noisy similarities from others.
        value, other = (found.positive, found.centered) if variant == "repaired" else (found.centered, found.own)
        return {"value": value, "other_form": other}
    if method == "rating collection":
        release = _collected(fold, setting, generator)
        made = np.clip(debiased(release, coefficients_of(variant, epsilon))["debiased"], low, high)
        return {"value": made[fold.hidden]}
    if variant.startswith(("knn", "npns/paper", "pncf", "ppns/paper")):
        weights = np.zeros((len(fold.source), len(fold.source)))
        weights[fold.readers] = np.where(_as_published(fold, setting, generator), fold.cosine, 0.0)
        forms = [predict_from_sets(fold.joint, *fold.hidden, weights, centered) for centered in (True, False)]
        centered, plain = (np.where(np.isnan(each), base, each) for each in forms)
        return {"value": centered, "other_form": plain}
    means = NoisyTotals(epsilon if variant.endswith("noisy means") else math.inf, low, high)
    released = means.release(totals(_chosen(fold, setting, generator), fold.target, means), generator)
    total, count = (each[data.owners, data.items] for each in released)
    return {"value": predicted((total, count), base, means)}


def list_scores(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> np.ndarray:
    """What a method orders the target items by, shape (readers, items): how many (of her neighbors) like an item.

    X-Map has nothing but predicted ratings; rating collection estimates the sum of all ratings less the middle.
    """
    method, variant, epsilon = setting["method"], setting["variant"], setting["epsilon"]
    likes, shape = fold.likes, (len(fold.readers), fold.target.shape[1])
    if method in ("popularity", "noisy popularity"):
        return np.broadcast_to(_noisy(likes.sum(0), epsilon, generator), shape)
    if method == "rating collection":
        release = _collected(fold, setting, generator)
        middle = sum(fold.split.scale) / 2
        return np.broadcast_to(np.nansum(release[:, fold.source.shape[1] :] - middle, axis=0), shape)
    if method in ("X-Map", "NX-Map"):
        made, _ = fold.every_item.predicted(_xmap(setting), generator)
        return (made.positive if variant == "repaired" else made.centered).reshape(shape)
    if variant.startswith(("knn", "npns/paper", "pncf", "ppns/paper")):
        return np.where(_as_published(fold, setting, generator), fold.cosine, 0.0) @ likes
    noise = epsilon if variant.endswith("noisy means") else None
    return _noisy(_chosen(fold, setting, generator) @ likes, noise, generator)


def _precision(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> np.ndarray:
    """Share of a list of `SIZE` that a reader likes, by reader; its expectation where the law of the list is known."""
    relevant, items = fold.relevant, fold.target.shape[1]
    if setting["method"] == "random list":
        return relevant.mean(1)
    if setting["method"] == "DPP":
        jitter = required_jitter("k-DPP", "counts", items, setting["epsilon"])
        held = Held(np.nan_to_num(fold.target), relevant)
        return relevant @ item_chances(held.spectrum("counts", jitter), SIZE) / SIZE
    scores = list_scores(fold, setting, generator)
    ties = generator.permuted(np.broadcast_to(np.arange(items), scores.shape), axis=1)
    lists = np.lexsort((ties, -scores), axis=1)[:, :SIZE]
    return np.take_along_axis(relevant, lists, 1).mean(1)


def _xmap(setting: dict[str, Any]) -> dict[str, Any]:
    return DEFAULT if setting["method"] == "NX-Map" else DEFAULT | private(setting["variant"], setting["epsilon"])


def _collected(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> np.ndarray:
    """Everybody's perturbed ratings of both domains, in stars, NaN where missing."""
    seed = int(generator.integers(2**31))
    return perturbed(setting["variant"], "repaired", setting["epsilon"], fold.matrix, seed)


def _item_means(fold: Fold, means: NoisyTotals, generator: np.random.Generator) -> np.ndarray:
    """Every reader's prediction of every target item from noisy totals over everybody, plus her mean deviation."""
    matrix = fold.matrix
    released = means.release(totals(np.ones(len(matrix)), matrix, means), generator)
    overall = float(np.clip(means.middle + released[0].sum() / max(released[1].sum(), 1.0), means.low, means.high))
    by_item = predicted(released, np.full(matrix.shape[1], overall), means)
    split = fold.source.shape[1]
    deviation = np.nanmean(fold.source[fold.readers] - by_item[:split], axis=1)
    return np.clip(by_item[split:] + deviation[:, None], means.low, means.high)


def _as_published(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> np.ndarray:
    """Neighbors on the co-rated cosine, RS = 1; bool, shape (readers, people)."""
    k, scale = fold.neighbors, exponential_scale(fold.neighbors, setting["epsilon"] or 1.0, 1.0)
    by_name: dict[str, Selection] = {
        "knn": NearestNeighbors(k),
        "npns": WeightedNeighbors(k, scale),
        "pncf": TruncatedNeighbors(k, RHO, scale),
        "ppns": PartitionedNeighbors(k, setting["p"] or PROBABILITY, scale=scale),
    }
    return _selected(fold, fold.cosine, by_name[setting["variant"].split("/")[0]], generator)


def _chosen(fold: Fold, setting: dict[str, Any], generator: np.random.Generator) -> np.ndarray:
    """Neighbors by a repaired selection from source ratings, or by a sketch of them; bool, shape (readers, people)."""
    k, epsilon, name = fold.neighbors, setting["epsilon"], setting["variant"].split(",")[0]
    if name.split("/")[0] in ("jlt", "sjlt"):
        sketch = sketch_of(name, epsilon, fold.facts)
        key, rated = jax.random.key(int(generator.integers(2**31))), ~np.isnan(fold.source)
        published = np.asarray(sketch.sample(key, rated.T.astype(float)))
        inner = published[:, fold.readers].T @ published
        return _selected(fold, inner / np.abs(inner).max(), NearestNeighbors(k), generator)
    bound = floor_norm_sensitivity(FLOOR, fold.split.scale[1])
    if name == "npns/repaired":  # as `FloorNormSelection` with protect="candidates"
        return _selected(fold, fold.floor_norm, WeightedNeighbors(k, epsilon / (k * bound)), generator)
    # As `NoisyPartitionedSelection` with protect="candidates".
    noisy = noisy_partitions(fold.floor_norm, k, PROBABILITY, epsilon, bound, bound / epsilon, generator)
    return _selected(fold, *noisy, generator)


def _selected(fold: Fold, scores: np.ndarray, selection: Selection, generator: np.random.Generator) -> np.ndarray:
    """Neighbors among all others."""
    others = np.where(np.arange(scores.shape[1]) == fold.readers[:, None], -np.inf, scores)
    return selection(Block(fold.readers, others), generator)


def _noisy(counts: np.ndarray, epsilon: float | None, generator: np.random.Generator) -> np.ndarray:
    """How many like an item, which one rating moves by at most 1, at that item only."""
    return counts if epsilon is None else counts + generator.laplace(scale=1 / epsilon, size=counts.shape)
