"""The experiment `dpp`: lists from determinantal point processes whose jitter meets an epsilon, against their rivals.

Fitzsimons et al. report no experiment; this is the one their section 4 (3 and 4) asks for. The kernel is theirs: L =
X'X + s I, where X says who rated which item (binary) or how often an item counts for a user (counts: the rating). The
jitter s comes from the exact theorem or, beside it, from the paper's own bound (`dpassay.experiments.dpp.jitter`).

Protocol. A fifth of every user's ratings, at random, is held out; everything is computed from the rest, which is the
private dataset (neighbors: one user more or less). One list of 10 items is shown to everybody, as in the paper, nothing
is left out for anybody, and an item is relevant to a user who has it among the held-out ratings, whatever its value. So
precision@10 is also the mean held-out popularity of what is shown. Intervals are t-intervals over random splits; every
split has its own lists.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Float
from dpassay.data.ratings import Ratings
from dpassay.experiments.dpp import list_metrics as metrics
from dpassay.experiments.dpp.jitter import (
    LARGEST_COUNT,
    SIZE,
    Family,
    Features,
    paper_jitter,
    required_jitter,
    true_epsilon,
)
from dpassay.experiments.dpp.tables import FAMILIES, SPREAD, TOP, plots, tables
from dpassay.experiments.request import Data, Request
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.determinantal import Spectrum, log_elementary
from dpassay.mechanisms.determinantal_batches import rejects, sample_fixed_size, sample_process
from dpassay.models.diverse_lists import exponential_top, greedy_determinant, marginal_relevance, spread, top_items
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

EPSILONS = (0.1, 0.3, 1.0, 2.0, 4.0, 10.0)
LOWER_EPSILONS = (0.01, 0.03)
"""For the exponential mechanism, which stays far from uniform over `EPSILONS`."""
CURVE = tuple(float(f"{10 ** (step / 4):.4g}") for step in range(-8, 5))
"""Where exact item probabilities are computed, without sampling."""
CANDIDATES = 3 * SIZE
"""Drawn by the exponential mechanism before the public genres spread them."""
TRADE_OFFS = (0.3, 0.5, 0.7, 0.9)
SPLITS, LISTS, PROCESS_LISTS, SLOW_LISTS = 5, 400, 100, 16


def run(request: Request) -> dict[str, Any]:
    """Measures relevance, diversity and coverage of all methods on random splits.

    A MovieLens folder also gives genres. Quick: fewer splits and values of epsilon.

    Raises:
        InvalidInput: fewer than 20 items, a user with one rating only, or ratings outside (0, 5], which are no counts.
    """
    ratings, quick = request.ratings, request.quick
    genres = item_genres(request.data, ratings)
    if ratings.num_items < 2 * SIZE:
        raise InvalidInput(f"there are {ratings.num_items} items; lists of {SIZE} need at least {2 * SIZE}")
    if not 0 < ratings.values.min() <= ratings.values.max() <= LARGEST_COUNT:
        raise InvalidInput(f"ratings are taken as counts here: give them above 0 and up to {LARGEST_COUNT}")
    inputs = [ratings.described()]
    if genres is not None:
        digest = hashlib.sha256(np.packbits(genres).tobytes()).hexdigest()
        inputs.append({"name": "genres of u.item", "sha256": digest, "items": len(genres)})
    finished = Kept(request.resume, [entry["sha256"] for entry in inputs], __name__)
    chosen = [(_measured, setting._asdict()) for setting in _settings(quick, genres is not None)]
    chosen += [(_exact, curve) for curve in _curves(quick)]
    plan = []
    for split in range(2 if quick else SPLITS):
        for measure, each in chosen:
            settings = {**each, "split": split, "seed": request.seed}
            plan.append(Planned(settings, (measure, settings), f"split {split + 1}"))
    runs = finished.all(plan, PerWorker(_Measuring, ratings, genres), request.executor, request.progress)
    return {"inputs": inputs, "tables": tables(runs, ratings), "plots": plots(runs, ratings.name), "runs": runs}


class _Measuring:
    """Measures settings, those of one split after another."""

    def __init__(self, ratings: Ratings, genres: np.ndarray | None) -> None:
        self.split = lru_cache(maxsize=1)(partial(hold_out, ratings, genres))

    def __call__(self, measure: Callable[..., dict[str, Any]], settings: dict[str, Any]) -> dict[str, Any]:
        return measure(self.split(settings["seed"], settings["split"]), settings)


def item_genres(data: Data, ratings: Ratings) -> np.ndarray | None:
    """Genre flags from `u.item` beside the ratings, bool, shape (items, genres); None where there is no such file.

    Raises:
        InvalidInput: the file does not have one line of flags per item.
    """
    folder = Path(data) if isinstance(data, Path | str) else None
    path = None if folder is None else (folder if folder.is_dir() else folder.parent) / "u.item"
    if path is None or not path.is_file():
        return None
    lines = [line.split("|") for line in path.read_text("latin-1").splitlines() if line]
    flags = [line[5:] for line in sorted(lines, key=lambda line: int(line[0]))]
    if len(flags) != ratings.num_items or {text for line in flags for text in line} - {"0", "1"}:
        raise InvalidInput(f"u.item has {len(flags)} lines for {ratings.num_items} items; give it for the same ratings")
    return np.array(flags) == "1"


@dataclass
class Held:
    """One split: the private dataset and what is held out from it.

    Attributes:
        train: ratings kept, 0 where none, shape (users, items).
        relevant: bool, whether held out, shape (users, items).
        genres: flags, shape (items, genres), or None.
    """

    train: np.ndarray
    relevant: np.ndarray
    genres: np.ndarray | None = None
    spectra: dict[Features, Spectrum] = field(default_factory=dict, repr=False)

    def rows(self, features: Features) -> np.ndarray:
        """X, shape (users, items)."""
        return (self.train > 0).astype(float) if features == "binary" else self.train

    def spectrum(self, features: Features, jitter: float) -> Spectrum:
        """Of X'X + jitter I: one decomposition serves every jitter."""
        if features not in self.spectra:
            self.spectra[features] = mechanism("dpp", jitter=0.0).spectrum(self.rows(features))
        values, vectors = self.spectra[features]
        with jax.enable_x64(True):
            return Spectrum(values + jitter, vectors)

    @cached_property
    def counts(self) -> np.ndarray:
        """Users per item, shape (items,)."""
        return (self.train > 0).sum(axis=0)

    @cached_property
    def cosine(self) -> np.ndarray:
        """Distances of items by who rated them, shape (items, items)."""
        return metrics.cosine_distances(self.rows("binary"))

    @cached_property
    def genre(self) -> np.ndarray | None:
        """Distances of items by genre, shape (items, items)."""
        return None if self.genres is None else metrics.jaccard_distances(self.genres)

    @cached_property
    def volume(self) -> np.ndarray:
        """X'X + I of the binary X, shape (items, items): a yardstick for log det, whatever jitter a method used."""
        rows = self.rows("binary")
        return rows.T @ rows + np.eye(rows.shape[1])

    @cached_property
    def wanted(self) -> np.ndarray:
        """Share of the judged users that have each item among their held-out ratings, shape (items,)."""
        return self.relevant[self.relevant.any(axis=1)].mean(axis=0)

    @cached_property
    def uniform_band(self) -> tuple[float, float]:
        """The central 95% of precision@10 of lists chosen evenly."""
        values = metrics.precision(_uniform(np.random.default_rng(0), self.relevant.shape[1], 4000), self.relevant)
        return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))


def hold_out(ratings: Ratings, genres: np.ndarray | None, seed: int, split: int) -> Held:
    """Holds a fifth of every user's ratings out, at random, at least one; the rest is the private dataset.

    Genres have shape (items, genres).

    Raises:
        InvalidInput: a user with one rating, which can be held out or kept, but not both.
    """
    generator = np.random.default_rng([seed, split])
    order = np.lexsort((generator.random(len(ratings)), ratings.users))
    counts = np.bincount(ratings.users, minlength=ratings.num_users)
    if (counts == 1).any():
        raise InvalidInput("a user has one rating only; leave out users with fewer than two")
    users = ratings.users[order]
    place = np.arange(len(order)) - (np.cumsum(counts) - counts)[users]
    out = order[place < np.maximum(np.rint(counts / 5), 1)[users]]
    matrix = np.nan_to_num(ratings.dense())
    relevant = np.zeros(matrix.shape, bool)
    relevant[ratings.users[out], ratings.items[out]] = True
    return Held(np.where(relevant, 0.0, matrix), relevant, genres)


@float64
def item_chances(spectrum: Spectrum, size: int | None) -> np.ndarray:
    """Pr[item in Y], exactly, shape (items,): of the k-DPP for a size, of the DPP for None.

    An item is in Y with probability sum_j v_ij^2 Pr[eigenvector j is selected], which is l/(1 + l) for the DPP and
    l_j e_(k-1)(the other values) / e_k(all values) for the k-DPP (Kulesza and Taskar 2012, secs. 2.4 and 5.2).
    """
    values = np.asarray(spectrum.values)
    if size is None:
        return np.asarray(spectrum.vectors) ** 2 @ (values / (1 + values))
    possible = values > 0
    chances = _vector_chances(jnp.asarray(values[possible]), size)
    return np.asarray(spectrum.vectors)[:, possible] ** 2 @ np.asarray(chances)


@partial(jax.jit, static_argnums=1)
def _vector_chances(values: Float[Array, " n"], size: int) -> Float[Array, " n"]:
    """Sums over how many of the other vectors come before and how many after: all terms positive, nothing cancels."""
    logs = jnp.log(values)
    before, after = log_elementary(logs, size), log_elementary(logs[::-1], size)[::-1]
    others = jax.nn.logsumexp(before[:-1, :size] + after[1:, size - 1 :: -1], axis=1)
    return jnp.exp(logs + others - before[-1, size])


class _Setting(NamedTuple):
    """One row of the main table.

    Attributes:
        method: what makes the list.
        features: of the kernel, where there is one.
        theorem: which bound the jitter was chosen by: "exact" or "paper".
        asked: the epsilon it was chosen for; None is no privacy.
        lists: how many are drawn.
    """

    method: str
    features: Features | None = None
    theorem: str | None = None
    asked: float | None = None
    lists: int = LISTS


def _settings(quick: bool, genres: bool) -> Iterator[_Setting]:
    epsilons = EPSILONS[::2] if quick else EPSILONS
    yield _Setting("uniform")
    yield _Setting("top-N", lists=1)
    yield from (_Setting(f"MMR {trade_off:g}", lists=1) for trade_off in TRADE_OFFS)
    features: tuple[Features, ...] = ("binary", "counts")
    for kind in features:
        yield _Setting("greedy MAP", kind, lists=1)
        yield _Setting("k-DPP", kind)
        yield from (_Setting("k-DPP", kind, "exact", epsilon) for epsilon in epsilons)
    yield from (_Setting("k-DPP", "binary", "paper", epsilon) for epsilon in epsilons)
    yield _Setting("DPP", "binary", lists=SLOW_LISTS)
    for epsilon in epsilons:
        yield _Setting("DPP", "binary", "exact", epsilon, SLOW_LISTS if epsilon > 9 else PROCESS_LISTS)
    yield from (_Setting(TOP, asked=epsilon) for epsilon in (*LOWER_EPSILONS, *epsilons))
    if genres:
        yield from (_Setting(SPREAD, asked=epsilon) for epsilon in (*LOWER_EPSILONS, *epsilons))


def _curves(quick: bool) -> Iterator[dict[str, Any]]:
    grid = CURVE[::4] if quick else CURVE
    for family, features in FAMILIES:
        base = {"method": f"{family}, exact law", "features": features}
        yield {**base, "theorem": None, "asked": None}
        yield from ({**base, "theorem": theorem, "asked": at} for theorem in ("exact", "paper") for at in grid)


def _jitter(family: Family, features: Features, num_items: int, theorem: str | None, asked: float | None) -> float:
    if asked is None:
        return 0.0
    if theorem == "paper":
        return paper_jitter(features, num_items, asked)
    return required_jitter(family, features, num_items, asked)


def _exact(held: Held, settings: dict[str, Any]) -> dict[str, Any]:
    """What needs no sampling: the item probabilities of the process, and all that is linear in them."""
    family: Family = settings["method"].removesuffix(", exact law")
    features, num = settings["features"], held.train.shape[1]
    jitter = _jitter(family, features, num, settings["theorem"], settings["asked"])
    chances = item_chances(held.spectrum(features, jitter), SIZE if family == "k-DPP" else None)
    shown = chances / chances.sum()
    return {
        "epsilon": true_epsilon(family, features, num, jitter) if jitter else None,
        "jitter": jitter,
        "expected_size": float(chances.sum()),
        "precision": float(shown @ held.wanted),
        "uniform_precision": float(held.wanted.mean()),
        "total_variation": metrics.total_variation(shown, np.full(num, 1 / num)),
        "gini": metrics.gini(shown),
    }


def _measured(held: Held, settings: dict[str, Any]) -> dict[str, Any]:
    """Lists of one method and their metrics."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).digest()
    generator = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    num, (method, features) = held.train.shape[1], (settings["method"], settings["features"])
    epsilon, jitter = settings["asked"], None
    if method in ("k-DPP", "DPP"):
        jitter = _jitter(method, features, num, settings["theorem"], epsilon)
        epsilon = true_epsilon(method, features, num, jitter) if jitter else None
        lists = _process(generator, held.spectrum(features, jitter), method, settings["lists"])
    else:
        lists = _lists(generator, held, method, features, epsilon, settings["lists"])
    if method == "uniform":
        epsilon = 0.0
    return {"epsilon": epsilon, "jitter": jitter, **_metrics(held, lists)}


def _lists(
    generator: np.random.Generator, held: Held, method: str, features: Features | None, epsilon: float | None, num: int
) -> np.ndarray:
    """Lists of the rivals, shape (lists, SIZE)."""
    if method == "uniform":
        return _uniform(generator, held.train.shape[1], num)
    if epsilon is not None:
        drawn = SIZE if method == TOP else CANDIDATES
        items = exponential_top(_key(generator), held.counts, drawn, epsilon, num)
        return np.asarray(items if method == TOP else spread(items, held.genre, SIZE))
    if method == "top-N":
        one = top_items(held.counts, SIZE)
    elif features is not None:
        rows = held.rows(features)
        one = np.asarray(greedy_determinant(rows.T @ rows, SIZE))
    else:
        trade_off = float(method.removeprefix("MMR "))
        one = np.asarray(marginal_relevance(held.counts / held.counts.max(), 1 - held.cosine, SIZE, trade_off))
    return np.tile(one, (num, 1))


def _process(generator: np.random.Generator, spectrum: Spectrum, family: str, num: int) -> np.ndarray:
    """Lists of a k-DPP, or of a DPP, of whose items SIZE are shown, chosen evenly, which costs no privacy."""
    if family == "k-DPP":
        return np.nonzero(np.asarray(sample_fixed_size(_key(generator), spectrum, SIZE, num)))[1].reshape(num, SIZE)
    values = np.asarray(spectrum.values)
    with jax.enable_x64(True):  # what is left out of Y is a DPP, too, with kernel L^-1: few items under a large jitter
        left = Spectrum(1 / spectrum.values, spectrum.vectors) if values.min() > 0 else None
    if left is not None and rejects(left):
        masks = ~np.asarray(sample_process(_key(generator), left, num))
    else:
        masks = np.asarray(sample_process(_key(generator), spectrum, num))
    if masks.sum(axis=1).min() < SIZE:
        raise InvalidInput(f"the process can return fewer than {SIZE} items here; use more items or users")
    return np.argsort(-generator.random(masks.shape) * masks, axis=1)[:, :SIZE]


def _uniform(generator: np.random.Generator, num_items: int, num: int) -> np.ndarray:
    return np.argsort(generator.random((num, num_items)), axis=1)[:, :SIZE]


def _metrics(held: Held, lists: np.ndarray) -> dict[str, Any]:
    num = held.train.shape[1]
    hits = metrics.precision(lists, held.relevant)
    low, high = held.uniform_band
    spread = lists[:PROCESS_LISTS]  # coverage grows with the number of lists: the same number for all, or none
    comparable = len(lists) == 1 or len(lists) >= PROCESS_LISTS
    return {
        **_summary("precision", hits),
        "like_uniform": float(((hits >= low) & (hits <= high)).mean()),
        "recall": float(metrics.recall(lists, held.relevant).mean()),
        "hit_share": float(metrics.hit_share(lists, held.relevant).mean()),
        "raters": float(held.counts[lists].mean()),
        **_summary("cosine_distance", metrics.mean_distance(lists, held.cosine)),
        "genre_distance": None if held.genre is None else float(metrics.mean_distance(lists, held.genre).mean()),
        "log_volume": float(metrics.log_volume(lists, held.volume).mean()),
        "coverage": metrics.coverage(spread, num) if comparable else None,
        "gini": metrics.gini(metrics.exposure(spread, num)) if comparable else None,
    }


def _summary(name: str, values: np.ndarray) -> dict[str, float]:
    ends = {"low": 0.025, "high": 0.975}
    return {name: float(values.mean()), **{f"{name}_{end}": float(np.quantile(values, q)) for end, q in ends.items()}}


def _key(generator: np.random.Generator) -> Any:
    return jax.random.key(int(generator.integers(2**31)))
