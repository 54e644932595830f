"""The experiment `xmap`: what AlterEgos and private neighbors cost when ratings of another domain are predicted.

The readers, users of both domains, have their target ratings hidden (`dpassay.experiments.xmap.domains`). Their source
ratings become AlterEgos by the most similar item (NX-Map) or by PRS, and the hidden ratings are predicted from item
neighbors, the nearest or those of PNSA with PNCF's noise: as printed, as released, and repaired. Neighbors come from
the real target ratings of all others. X-Map's technical report prints no accuracy; its journal version measures other
data (Amazon), so only directions of sweeps can be compared.
"""

import json
import zlib
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack

from dpassay.experiments.cells import without_lists
from dpassay.experiments.request import Request
from dpassay.experiments.xmap.domains import Domains, Split, load_domains, split
from dpassay.experiments.xmap.item_neighbors import (
    Predictions,
    item_means,
    nearest,
    of_the_reader,
    predict,
    profiles,
    replacements,
)
from dpassay.experiments.xmap.meta_paths import direct_similarities, xsim
from dpassay.experiments.xmap.tables import PRIVATE_MEAN, VARIANTS, plots, tables
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.batched_items import item_table, log_weights, noise_scales, race
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

FOLDS, SWEPT = 5, 2  # all folds for the comparison of methods, fewer for the sweeps
EPSILON, NEIGHBORS, RHO = 0.6, 10, 0.1  # the released code's parameters
BASELINES = ("global mean", "global mean with noise", "reader's mean", "item mean", "item mean + reader's deviation")
DEFAULT: dict[str, Any] = {
    "overlap": 1.0,
    "kept": 0,
    "links": "meta-paths",
    "mapping": "nearest",
    "epsilon": None,
    "recommender": "nearest of the item",
    "epsilon_prime": None,
    "k": NEIGHBORS,
}
"""NX-Map on fresh readers, all others linked."""


def run(request: Request) -> dict[str, Any]:
    """Predicts every hidden rating under all methods and sweeps.

    Data may be a folder with the rating files of two domains, MovieLens 100K (cut by genre), or other ratings (cut by
    popularity). Quick: fewer folds, and fewer points of every sweep.

    Raises:
        InvalidInput: unreadable data, or too few users of both domains.
    """
    domains = load_domains(request)
    finished = Kept(request.resume, [part.fingerprint() for part in domains.parts], __name__)
    parts = settings(request.small)
    folds = [parts if fold < SWEPT else parts[:1] for fold in range(SWEPT if request.quick else FOLDS)]
    plan = []
    for fold, chosen in enumerate(folds):
        for part, differing in chosen:
            for each in differing:
                setting = {**DEFAULT, **each, "seed": request.seed, "fold": fold}
                plan.append((part, Planned(setting, (setting,), f"{domains.name}, fold {fold + 1}: {part}")))
    measured = finished.all(
        [run for _, run in plan], PerWorker(_Measuring, domains), request.executor, request.progress
    )
    records = [{"part": part, **run} for (part, _), run in zip(plan, measured, strict=True)]
    shown = {"tables": tables(records, domains.name), "plots": plots(records, domains.name)}
    return {**domains.described, **shown, "runs": without_lists(records)}


class _Measuring:
    """Measures settings; of a fold's worlds the first stays and the last, as all together take much memory."""

    def __init__(self, domains: Domains) -> None:
        self.domains = domains
        self.worlds: dict[tuple[Any, ...], World] = {}

    def __call__(self, setting: dict[str, Any]) -> dict[str, Any]:
        key = tuple(setting[name] for name in ("fold", "seed", "overlap", "kept"))
        if key not in self.worlds:
            for other in [other for other in self.worlds if other[0] != key[0]] or list(self.worlds)[1:]:
                del self.worlds[other]
            self.worlds[key] = World(self.domains, *key)
        return measure(self.worlds[key], setting)


def private(variant: str, epsilon: float) -> dict[str, Any]:
    """The whole of X-Map in a variant, both epsilons alike."""
    both = {"mapping": f"prs/{variant}", "recommender": f"pnsa/{variant}"}
    return {**both, "epsilon": epsilon, "epsilon_prime": epsilon}


def settings(quick: bool) -> list[tuple[str, list[dict[str, Any]]]]:
    """The parts of the experiment, each a list of what differs from `DEFAULT`."""
    epsilons = (0.1, 1.0, 16.0) if quick else (0.1, 0.3, 1.0, 4.0, 16.0, 64.0, 256.0)
    grid = (0.1, 1.0) if quick else (0.1, 0.3, 1.0)
    numbers = (5, 20) if quick else (5, 10, 20, 50, 100)
    shares = (0.25, 1.0) if quick else (0.1, 0.25, 0.5, 1.0)
    remaining = (0, 3) if quick else (0, 2, 10)
    prs = {name: {"mapping": f"prs/{name}", "epsilon": EPSILON} for name in VARIANTS}
    pnsa = [{"recommender": f"pnsa/{name}", "epsilon_prime": EPSILON} for name in VARIANTS]
    both = [private(name, EPSILON) for name in VARIANTS]
    baselines = {name: {"mapping": "none", "recommender": name} for name in BASELINES}
    reader = {"recommender": "nearest of the reader"}
    linked, own = {"mapping": "linked", **reader}, {"mapping": "own", **reader}
    direct, released = {"links": "direct"}, {"links": "meta-paths as released"}
    adjusted = {"recommender": "nearest of the item, adjusted cosine"}
    mean, deviation = baselines["item mean"], baselines["item mean + reader's deviation"]
    methods: list[dict[str, Any]] = [*baselines.values(), linked, {}, reader, adjusted, released, direct]
    methods += [*prs.values(), {**prs["released"], **released}, *pnsa, *both]
    large = [private(name, e) for name in VARIANTS for e in epsilons if e > max(grid)]
    overlapping: list[dict[str, Any]] = [mean, {}, direct, prs["paper"], linked]
    keeping = [mean, deviation, own, reader, linked]
    return [
        ("methods", methods),
        ("epsilon of PRS", [{**each, "epsilon": e} for each in prs.values() for e in epsilons]),
        ("epsilon' of PNSA and PNCF", [{**each, "epsilon_prime": e} for each in pnsa for e in epsilons]),
        ("both epsilons", [{**each, "epsilon": e, "epsilon_prime": f} for each in both for e in grid for f in grid]),
        ("both epsilons, large", large),
        ("neighbors", [{**each, "k": k} for each in ({}, *both) for k in numbers]),
        ("overlap", [{**each, "overlap": share} for share in shares for each in overlapping]),
        ("ratings kept", [{**each, "kept": kept} for kept in remaining for each in keeping]),
    ]


def generator_of(setting: dict[str, Any]) -> np.random.Generator:
    """The source of randomness of one setting, of which "seed" is one."""
    text = json.dumps(setting, sort_keys=True)
    return np.random.default_rng([setting["seed"], zlib.crc32(text.encode())])


def measure(world: "World", setting: dict[str, Any]) -> dict[str, Any]:
    """One method on one fold.

    The setting is as `DEFAULT`, and has "seed".

    Returns:
        Counts; mean absolute errors of the three forms in `item_neighbors.Predictions` ("mae" is that of `centered`),
        and "rounded", of `centered` with the released code's rounding; per reader, as lists, her user number and her
        errors.
    """
    generator, data = generator_of(setting), world.split
    if setting["recommender"] in BASELINES:
        flat = world.baseline(setting["recommender"], generator)
        prediction, mapped = Predictions(flat, flat, flat, np.ones(len(flat), bool)), 0
    else:
        prediction, mapped = world.predicted(setting, generator)
    counted = world.known[data.items]
    forms = {
        "mae": prediction.centered,
        "rounded": np.clip(np.floor(prediction.centered + 0.5), 0, data.scale[1]),
        "own": prediction.own,
        "positive": prediction.positive,
    }
    errors = {name: np.abs(values - data.values)[counted] for name, values in forms.items()}
    owners = data.owners[counted]
    number = np.bincount(owners, minlength=len(data.readers))
    some = number > 0
    by_reader = {
        f"{name}_by_reader": (np.bincount(owners, each, len(number))[some] / number[some]).round(5).tolist()
        for name, each in errors.items()
    }
    return {
        **{name: float(each.mean()) for name, each in errors.items()},
        "covered": float(prediction.covered[counted].mean()),
        "predictions": len(owners),
        "left_out": int((~counted).sum()),
        "readers": int(some.sum()),
        "linked": data.linked,
        "source_ratings": float(np.diff(data.source.indptr)[data.readers].mean()),
        "mapped": mapped / max(1, int(np.diff(data.source.indptr)[data.readers].sum())),
        "predictions_per_reader": len(owners) / max(1, int(some.sum())),
        "readers_list": data.readers[some].tolist(),
        **by_reader,
    }


class World:
    """A split, and what is computed from it once.

    Of the training users, the share `overlap` has two accounts that are linked; a reader keeps `kept` target ratings.
    """

    def __init__(self, domains: Domains, fold: int, seed: int, overlap: float, kept: int) -> None:
        self.split: Split = split(domains, fold, FOLDS, seed, overlap, kept)
        self.means, self.known = item_means(self.split.target)
        """Items that somebody rated; the released code leaves out the others, too."""
        self.overall = float(self.split.target.data.mean())
        self.rows, self.which = np.unique(self.split.items, return_inverse=True)
        self.links = cache(partial(_links, self.split))
        """X-SIM by its name in settings."""
        self.items = cache(partial(item_table, self.split.target))
        """Similarities of target items by variant."""

    def baseline(self, name: str, generator: np.random.Generator) -> np.ndarray:
        """Predictions without any neighbor, shape (hidden,)."""
        data = self.split
        mine = hstack([data.source[data.readers], data.target[data.readers]]).tocsr()
        own = np.asarray(mine.sum(1)).ravel() / np.diff(mine.indptr)
        if name == "global mean":
            return np.full(len(data.items), self.overall)
        if name == "global mean with noise":
            # One number per user, her mean in the target domain, moves the sum by at most half the scale's width and
            # the count by 1: each is released with half of epsilon.
            size = np.diff(data.target.indptr)
            each = np.asarray(data.target.sum(1)).ravel()[size > 0] / size[size > 0]
            low, high = data.scale
            noise = generator.laplace(scale=2 / PRIVATE_MEAN, size=2)
            total = (each - (low + high) / 2).sum() + noise[0] * (high - low) / 2
            mean = (low + high) / 2 + total / max(1.0, len(each) + noise[1])
            return np.full(len(data.items), float(np.clip(mean, low, high)))
        if name == "reader's mean":
            return own[data.owners]
        if name == "item mean":
            return self.means[data.items]
        both, number = np.concatenate([item_means(data.source)[0], self.means]), np.diff(mine.indptr)
        expected = np.bincount(np.repeat(np.arange(len(own)), number), both[mine.indices], len(own)) / number
        return np.clip(self.means[data.items] + (own - expected)[data.owners], *data.scale)

    def predicted(self, setting: dict[str, Any], generator: np.random.Generator) -> tuple[Predictions, int]:
        """Predictions from neighbors, and how many of the readers' ratings were mapped."""
        data, k = self.split, setting["k"]
        if setting["mapping"] == "linked":
            return self._linked(k), 0
        if setting["mapping"] == "own":
            profile, mapped = dense(data.target[data.readers]), 0
        else:
            variant = None if setting["mapping"] == "nearest" else setting["mapping"].removeprefix("prs/")
            links, epsilon = self.links(setting["links"]), setting["epsilon"] or 1.0
            drawn = partial(replacements, links, variant=variant, epsilon=epsilon, generator=generator)
            profile, mapped = profiles(data.source, data.target, data.readers, drawn)
        recommender = setting["recommender"]
        if recommender.startswith("pnsa/"):
            variant = recommender.removeprefix("pnsa/")
            items = self.items(variant)
            more = {"rho": RHO} if variant == "paper" else {}
            selection = mechanism("pnsa", variant, num_neighbors=k, epsilon=setting["epsilon_prime"], **more)
            logs = log_weights(items.at(self.rows), self.rows, selection)
            neighbors = race(logs, self.which, k, generator)
            part = items.at(data.items[:, None], neighbors)
            scales = noise_scales(part.sensitivity, selection)
            with np.errstate(invalid="ignore"):  # no noise times an infinite scale
                similarity = part.score + scales * generator.laplace(size=part.score.shape)
        else:
            items = self.items("paper" if recommender.endswith("adjusted cosine") else "released")
            if recommender == "nearest of the reader":
                rated = ~np.isnan(profile)
                neighbors = of_the_reader(items.score, data.items, rated, data.owners, k)
            else:
                neighbors = nearest(items, self.rows, k)[self.which]
            similarity = items.score[data.items[:, None], neighbors].astype(float)
        return self._from(neighbors, similarity, self.means, profile), mapped

    def _linked(self, k: int) -> Predictions:
        """Neighbors among all that the reader rated, of both domains, by the released code's weighted cosine."""
        data = self.split
        joined = hstack([data.source, data.target]).tocsr()
        norms = np.sqrt(np.asarray(joined.multiply(joined).sum(0)).ravel())
        places = data.source.shape[1] + self.rows
        columns = joined[:, places]
        common = (_voted(columns.tocsr()).T @ _voted(joined)).toarray()
        dots = (columns.T @ joined).toarray()
        size = norms[places][:, None] * norms
        cap = mechanism("pnsa", "released").significance_cap
        cosine = np.divide(dots, size, out=np.zeros_like(dots), where=size > 0) * np.minimum(common, cap) / cap
        cosine[np.arange(len(self.rows)), places] = 0.0
        profile = dense(joined[data.readers])
        neighbors = of_the_reader(cosine, self.which, ~np.isnan(profile), data.owners, k)
        return self._from(neighbors, cosine[self.which[:, None], neighbors], item_means(joined)[0], profile)

    def _from(
        self, neighbors: np.ndarray, similarity: np.ndarray, means: np.ndarray, profile: np.ndarray
    ) -> Predictions:
        """Of the readers' profiles, in which the neighbors' columns have the given means."""
        data = self.split
        number = (~np.isnan(profile)).sum(1)
        middle = (data.scale[0] + data.scale[1]) / 2
        own = np.where(number > 0, np.nansum(profile, 1) / np.maximum(number, 1), middle)
        ratings, centers = profile[data.owners[:, None], neighbors], (self.means[data.items], own[data.owners])
        return predict(neighbors, similarity, ratings, means[neighbors], *centers, data.scale)


def _links(data: Split, name: str) -> csr_matrix:
    if name == "direct":
        return direct_similarities(data.source, data.target)
    return xsim(data.source, data.target, variant="released" if "released" in name else "paper")


def _voted(matrix: csr_matrix) -> csr_matrix:
    """1 for every stored rating."""
    return csr_matrix((np.ones_like(matrix.data), matrix.indices, matrix.indptr), matrix.shape)


def dense(matrix: csr_matrix) -> np.ndarray:
    """The stored ratings as a matrix of the same shape, NaN where none is stored."""
    return np.where(_voted(matrix).toarray() > 0, matrix.toarray(), np.nan)
