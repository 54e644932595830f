"""The sybil attack on recommenders that compare items: plain item kNN, and X-Map's private neighbor selection (PNSA).

Calandrino, Kilzer, Narayanan, Felten and Shmatikov, "You Might Also Like: Privacy Risks of Collaborative Filtering"
(S&P 2011): the active attack gives beta k fake users m known ratings of a target and reads what they are told; the
passive attack reads the lists of similar items of the m known items, at one time or at two. Guerraoui, Kermarrec, Lin
and Patra, "Heterogeneous Recommendations" (X-Map), report of proofs: the k neighbors of an item are drawn by weight
exp(epsilon score / (4 k S)), predictions combine their noisy similarities with the reader's own ratings.

Where items are compared, fakes who repeat known ratings do not come close to the target as they do where users are
compared: they add to the norms of the known items, and otherwise only let the attacker read.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dpassay.attacks.beta_knn.premise import CHOICES, KnownItems, known_items
from dpassay.attacks.outcomes import (
    AttackReport,
    Metric,
    Privacy,
    ThreatModel,
    difference_metric,
    mean_metric,
    permitted_advantage,
)
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import describe, mechanism
from dpassay.mechanisms.similarity import TIE_TOLERANCE

__all__ = [
    "METHODS",
    "METRICS",
    "Channel",
    "Method",
    "Pairs",
    "draw_neighbors",
    "log_weights",
    "pair_statistics",
    "run",
]

Method = Literal["item_knn", "pnsa", "pnsa_released", "pnsa_repaired"]
Channel = Literal["similar_items", "similar_scores", "ratings", "top_n", "both"]
METHODS: tuple[Method, ...] = get_args(Method)
METRICS = (
    "yield",
    "precision",
    "guess-precision",
    "advantage",
    "exact-value",
    "guess-exact-value",
    "inferred",
    "fakes",
    "queries",
)
VARIANTS = {"pnsa": "paper", "pnsa_released": "released", "pnsa_repaired": "repaired"}
NAMES = {
    "item_knn": "item kNN without privacy",
    "pnsa": "PNSA as printed",
    "pnsa_released": "PNSA as released",
    "pnsa_repaired": "PNSA repaired",
}
PUBLIC: tuple[Channel, ...] = ("similar_items", "similar_scores")


@dataclass(frozen=True, eq=False)
class Pairs:
    """What a selection is computed from, for some items (rows) and every item; shape (rows, items).

    Attributes:
        score: similarity.
        sensitivity: what divides the score in the weight; infinite or 0 where nothing can.
        common: number of users who rated both.
    """

    score: np.ndarray
    sensitivity: np.ndarray
    common: np.ndarray

    def patched(self, rows: np.ndarray, new: "Pairs") -> "Pairs":
        """These numbers of all items, with the rows (and, all being symmetric, the columns) of some items replaced."""
        arrays = []
        for name in ("score", "sensitivity", "common"):
            array = getattr(self, name).copy()
            array[rows] = getattr(new, name)
            array[:, rows] = getattr(new, name).T
            arrays.append(array)
        return Pairs(*arrays)


def pair_statistics(matrix: np.ndarray, copies: np.ndarray, rows: np.ndarray, method: Method) -> Pairs:
    """Similarities of some items to all, with their sensitivities, as `dpassay.mechanisms.pnsa` defines them.

    Args:
        matrix: ratings, shape (users, items), NaN where missing.
        copies: how many users each row stands for, shape (users,): fakes are equal, so one row serves all of them.
        rows: the items.
        method: item_knn has the cosine with norms over all raters.
    """
    return _statistics(*_compared(matrix, method), copies, rows, method)


def _compared(matrix: np.ndarray, method: Method) -> tuple[np.ndarray, np.ndarray]:
    """What items are compared by, 0 where missing, and 1 where there is a rating; both computed row by row."""
    rated = ~np.isnan(matrix)
    values = np.nan_to_num(matrix)
    if method in ("pnsa", "pnsa_repaired"):
        number = np.maximum(rated.sum(1, keepdims=True), 1)
        # A rating that equals the user's mean gives exactly 0.
        values = np.where(rated, (number * values - values.sum(1, keepdims=True)) / number, 0.0)
    if method == "pnsa_repaired":
        norm = np.sqrt((values**2).sum(1, keepdims=True))
        values = np.divide(values, norm, out=np.zeros_like(values), where=norm > 0)
    return values, rated.astype(float)


def _statistics(values: np.ndarray, voted: np.ndarray, copies: np.ndarray, rows: np.ndarray, method: Method) -> Pairs:
    weight = np.asarray(copies, float)[:, None]
    common = (weight * voted[:, rows]).T @ voted
    dot = (weight * values[:, rows]).T @ values
    if method == "pnsa_repaired":
        repaired = mechanism("pnsa", "repaired")
        score = np.clip(dot / repaired.threshold, -1.0, 1.0)
        return Pairs(score, np.full(score.shape, repaired.global_sensitivity), common)
    squares = copies @ values**2
    product = squares[rows][:, None] * squares
    score = np.divide(dot, np.sqrt(product), out=np.zeros_like(dot), where=product > 0)
    if method == "item_knn":
        return Pairs(score, np.ones_like(score), common)
    if method == "pnsa_released":
        cap = mechanism("pnsa", "released").significance_cap
        score *= np.minimum(common, cap) / cap
    counts = copies @ (values != 0)
    sensitivity = np.zeros_like(score)
    for place, item in enumerate(rows):
        raters = np.flatnonzero(voted[:, item] * copies)
        both, own, others = voted[raters] > 0, values[raters, item][:, None], values[raters]
        if method == "pnsa":
            each = _printed_sensitivity(own, others, squares[item], squares, counts[item], counts, dot[place])
        else:
            each = _released_sensitivity(own, others, squares[item], squares, dot[place], common[place], cap)
        sensitivity[place] = np.where(both, each, -np.inf).max(0, initial=-np.inf)
    return Pairs(score, np.where(common > 0, sensitivity, 0.0), common)


def log_weights(pairs: Pairs, rows: np.ndarray, method: Method, num_neighbors: int, epsilon: float) -> np.ndarray:
    """log of the weight with which every item is drawn as a neighbor of each row; -inf for the item itself.

    Plain item kNN takes items of positive similarity, which here are their own logarithms.

    Args:
        pairs: see `pair_statistics`.
        rows: the items.
        method: one of METHODS.
        num_neighbors: k.
        epsilon: the report's eps', nats.
    """
    itself = np.zeros(pairs.score.shape, bool)
    itself[np.arange(len(rows)), rows] = True
    if method == "item_knn":
        return np.where(itself | (pairs.score <= TIE_TOLERANCE), -np.inf, pairs.score)
    score = pairs.score
    if method != "pnsa_released":
        candidates = score.shape[1] - 1
        kept = np.where(itself, -np.inf, score)
        kth = np.partition(kept, candidates + 1 - num_neighbors, axis=1)[:, candidates + 1 - num_neighbors]
        if method == "pnsa_repaired":
            width = np.full(len(rows), mechanism("pnsa", "repaired").width)
        elif candidates == num_neighbors:
            width = kth
        else:
            largest = np.where(itself, 0.0, np.maximum(pairs.sensitivity, 0.0)).max(1)
            factor = math.log(num_neighbors * (candidates - num_neighbors) / mechanism("pnsa").rho)
            width = np.minimum(kth, 4 * num_neighbors * largest / epsilon * factor)
        score = np.maximum(score, (kth - width)[:, None])
    usable = (pairs.sensitivity > TIE_TOLERANCE) & np.isfinite(pairs.sensitivity)
    scale = epsilon / (4 * num_neighbors * np.where(usable, pairs.sensitivity, 1.0))
    logs = np.where(usable, scale * score, 0.0)
    absent = itself | (pairs.common == 0) if method == "pnsa_released" else itself
    return np.where(absent, -np.inf, logs)


def draw_neighbors(
    logs: np.ndarray, num_neighbors: int, deterministic: bool, generator: np.random.Generator
) -> np.ndarray:
    """One list of neighbors of every row, drawn by weight without replacement; -1 where there are too few candidates.

    The k first of independent exponential arrivals of rates exp(logs); those of largest `logs` if deterministic, of
    equal ones the lower.

    Returns:
        Shape (rows, num_neighbors); item kNN's lists in descending order of similarity, drawn ones in no useful order.
    """
    if deterministic:
        order = np.argsort(-np.round(logs, 12), axis=1, kind="stable")[:, :num_neighbors]
    else:
        # Rates e^-700 of the largest would never win; cutting there avoids dividing by 0.
        rates = np.exp(np.maximum(logs - logs.max(1, keepdims=True), -700.0))
        arrivals = np.where(np.isneginf(logs), np.inf, generator.standard_exponential(logs.shape) / rates)
        order = np.argpartition(arrivals, num_neighbors - 1, axis=1)[:, :num_neighbors]
    possible = ~np.isneginf(np.take_along_axis(logs, order, axis=1))
    return np.where(possible, order, -1)


@dataclass(frozen=True)
class _Settings:
    method: Method
    epsilon: float
    num_neighbors: int
    beta: float
    num_known: int
    choice: KnownItems
    channel: Channel
    list_length: int
    guesses: int
    looks: Literal["once", "twice"]
    turnover: float
    rounds: int
    targets: int
    wrong: float
    seed: int

    def __post_init__(self) -> None:
        choices: tuple[tuple[str, Sequence[str]], ...] = (
            ("method", METHODS),
            ("choice", CHOICES),
            ("channel", get_args(Channel)),
            ("looks", ("once", "twice")),
        )
        for name, allowed in choices:
            if getattr(self, name) not in allowed:
                raise InvalidInput(f"{name} {getattr(self, name)!r}: use one of {', '.join(allowed)}")
        for name in ("num_neighbors", "num_known", "list_length", "guesses", "rounds", "targets"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 < self.epsilon < math.inf:
            raise InvalidInput(f"epsilon is {self.epsilon}; it must be above 0 and finite")
        if not 0 <= self.beta < math.inf:
            raise InvalidInput(f"beta is {self.beta}; it must be 0 or more")
        for name in ("wrong", "turnover"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"{name} is {getattr(self, name)}; it is a share, from 0 to 1")
        if self.channel not in PUBLIC and self.num_fakes == 0:
            raise InvalidInput(f"channel {self.channel} needs a fake account to read with; use a larger beta")

    @property
    def num_fakes(self) -> int:
        return round(self.beta * self.num_neighbors)

    @property
    def lists(self) -> int:
        """Draws of every neighbor list that the attacker sees: anyone can read public lists, one account will do."""
        return self.rounds if self.channel in PUBLIC else self.rounds * self.num_fakes


def run(
    ratings: Ratings,
    *,
    method: Method = "item_knn",
    epsilon: float = 1.0,
    num_neighbors: int = 10,
    beta: float = 1.0,
    num_known: int = 8,
    choice: KnownItems = "random",
    channel: Channel = "similar_items",
    list_length: int = 10,
    guesses: int = 20,
    looks: Literal["once", "twice"] = "once",
    turnover: float = 0.05,
    rounds: int = 1,
    targets: int = 20,
    wrong: float = 0.0,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> AttackReport:
    """Attacks users of an item-based recommender, each alone.

    Args:
        ratings: the dataset.
        method: item_knn (k most similar items, no privacy), pnsa (as printed), pnsa_released, or pnsa_repaired.
        epsilon: the report's eps', nats: half for drawing one item's neighbors, half for noise on their similarities.
        num_neighbors: k.
        beta: there are beta k fakes, rounded; 0 for none, where the channel is public.
        num_known: m, ratings of the target that the attacker knows.
        choice: whether these are random, the most popular or the rarest of her items.
        channel: similar_items: the lists of k similar items of the known items; similar_scores: these with scores;
            ratings: predicted ratings for every fake; top_n: the fakes' lists of recommendations; both: with ratings.
        list_length: N of top_n.
        guesses: items that the attacker names, at most.
        looks: once, or twice: the same is read before the target's unknown ratings arrive, and what is new counts.
        turnover: share of all other users' ratings that arrive between the two looks.
        rounds: how often everything is read, with fresh randomness.
        targets: users attacked.
        wrong: share of the known ratings that are off by one.
        seed: of everything random.
        progress: told now and then how far it is.

    Raises:
        InvalidInput: a setting out of range, or a dataset too small for it.
    """
    started = time.perf_counter()
    settings = _Settings(
        method, epsilon, num_neighbors, beta, num_known, choice, channel, list_length, guesses, looks, turnover, rounds,
        targets, wrong, seed,
    )  # fmt: skip
    scene = _Scene(ratings, settings)
    result = scene.outcome(progress)
    others: dict[str, _Outcome] = {}
    if method != "pnsa_repaired":
        others["pnsa_repaired"] = _Scene(ratings, dataclasses.replace(settings, method="pnsa_repaired")).outcome(
            progress
        )
    if channel in PUBLIC and settings.num_fakes:
        others["without fakes"] = _Scene(ratings, dataclasses.replace(settings, beta=0.0)).outcome(progress)
    metrics = result.metrics()
    value = {metric.name: metric.value for metric in metrics}
    difference = value["precision"] - value["guess-precision"]
    margin = mean_metric("", result.lead, "", result.inferred, bounds=(-1, 1))
    works = margin.low is not None and margin.low > 0
    fakes = f"{settings.num_fakes} fake accounts and " if settings.num_fakes else ""
    summary = [
        f"With {fakes}{num_known} known ratings of each of {len(result.inferred)} users, the attacker named "
        f"{value['inferred']:.0f} further items per user: {value['precision']:.0%} were right, which found "
        f"{value['yield']:.1%} of the ratings that he did not know.",
        f"Naming the most popular items instead is right in {value['guess-precision']:.0%}.",
        _conclusion(works, difference, next(metric for metric in metrics if metric.name == "advantage")),
    ]
    if "without fakes" in others:
        bare = next(m.value for m in others["without fakes"].metrics() if m.name == "precision")
        summary.append(f"Without any fake accounts, reading the same public lists, {bare:.0%} are right.")
    parameters: dict[str, Any] = {"num_neighbors": num_neighbors}
    if method != "item_knn":
        built = mechanism("pnsa", VARIANTS[method], epsilon=epsilon, num_neighbors=num_neighbors)
        parameters = {name: part for name, part in describe(built)["parameters"].items() if name != "target"}
    table = _comparison({method: result, **others})
    repaired = others.get("pnsa_repaired", result)
    return AttackReport(
        attack="beta-knn",
        title=f"Fake accounts in a recommender that compares items ({NAMES[method]})",
        mechanism="item_knn" if method == "item_knn" else f"pnsa/{VARIANTS[method]}",
        parameters=parameters,
        threat_model=ThreatModel(
            knows=f"{num_known} of the target's ratings ({choice}), how many users rated every item, and its mean",
            does=f"creates {settings.num_fakes} accounts that hold exactly these ratings"
            if settings.num_fakes
            else "nothing",
            sees=_sees(settings),
        ),
        summary=summary,
        settings=dataclasses.asdict(settings) | {"targets": len(result.inferred), "fakes": settings.num_fakes},
        metrics=metrics,
        dataset=ratings,
        tables=[table],
        victim=scene.victim(result),
        privacy=[_privacy(settings, ratings.num_items, next(m for m in metrics if m.name == "advantage"))],
        repair={
            "text": "Draw neighbors by normalized similarities with a constant sensitivity (PNSA repaired), which "
            "makes the claim true for one list.\nThe price: a list keeps "
            f"{np.nanmean(repaired.kept):.1%} of the k most similar items of positive similarity, where "
            f"{NAMES[method]} keeps {np.nanmean(result.kept):.1%}.",
            "tables": [],
        },
        limits=[
            "All fakes hold the same known ratings; fakes that hold one known item each could tell which of them a "
            "prediction comes from.",
            "The attacker ranks items by simple sums of evidence, not by an exact posterior: a failure here is no "
            "proof of safety.",
            "Each target is attacked alone, and the shop is taken to recompute similarities after the fakes arrive.",
        ],
        seed=seed,
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True, eq=False)
class _Outcome:
    """Per target, shape (targets,); NaN where not measured."""

    hidden: np.ndarray
    inferred: np.ndarray
    hits: np.ndarray
    exact: np.ndarray
    guess_hits: np.ndarray
    guess_exact: np.ndarray
    present: np.ndarray
    absent: np.ndarray
    kept: np.ndarray  # share of the true k nearest (without privacy, on the same data) in a list
    named: Sequence[np.ndarray]
    fakes: int
    queries: int

    @property
    def lead(self) -> np.ndarray:
        """Precision less that of the guess."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.inferred > 0, (self.hits - self.guess_hits) / self.inferred, np.nan)

    def metrics(self) -> tuple[Metric, ...]:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(self.hidden > 0, self.hits / self.hidden, np.nan)
            precision = np.where(self.inferred > 0, self.hits / self.inferred, np.nan)
            guess = np.where(self.inferred > 0, self.guess_hits / self.inferred, np.nan)
            exact = np.where(self.hits > 0, self.exact / self.hits, np.nan)
            guess_exact = np.where(self.hits > 0, self.guess_exact / self.hits, np.nan)
        most = float(np.max(self.inferred, initial=1.0))
        return (
            mean_metric("yield", share, "Share of a target's unknown ratings that were inferred."),
            mean_metric("precision", precision, "Share of the inferred items that the target did rate.", self.inferred),
            mean_metric(
                "guess-precision",
                guess,
                "Without the attack: share of as many most popular items that the target did rate.",
                self.inferred,
            ),
            difference_metric(
                "advantage",
                self.present - self.absent,
                "How much likelier a rating is inferred when it is there than when it is not.",
            ),
            mean_metric(
                "exact-value",
                exact,
                "Share of the correctly inferred items whose rating was inferred exactly.",
                self.hits,
            ),
            mean_metric(
                "guess-exact-value",
                guess_exact,
                "Without the attack: share of the same items whose rounded average rating is the target's.",
                self.hits,
            ),
            mean_metric("inferred", self.inferred, "Items inferred per target.", bounds=(0, most)),
            Metric("fakes", float(self.fakes), "Fake accounts per target."),
            Metric("queries", float(self.queries), "Lists or predictions that are read per target."),
        )


class _Scene:
    """One dataset and attack, with what all targets share."""

    def __init__(self, ratings: Ratings, settings: _Settings) -> None:
        self.settings = settings
        self.matrix = ratings.dense()
        if settings.num_neighbors >= ratings.num_items:
            raise InvalidInput(
                f"num_neighbors is {settings.num_neighbors}, but an item has {ratings.num_items - 1} others; use fewer"
            )
        eligible, known = known_items(self.matrix, settings.num_known, settings.choice, settings.seed)
        generator = np.random.default_rng([settings.seed, 10])
        chosen = np.sort(generator.permutation(len(eligible))[: settings.targets])
        self.targets, self.known = eligible[chosen], known[chosen]
        self.levels = np.unique(ratings.values)
        self.told = self._told(generator, ratings.scale)
        self.raters = (~np.isnan(self.matrix)).sum(0)
        self.sums = np.nansum(self.matrix, 0)
        spare = np.full((2, ratings.num_items), np.nan)
        self.compared = {False: _compared(np.concatenate([self.matrix, spare]), settings.method)}
        if settings.looks == "twice":
            early = np.where(generator.random(self.matrix.shape) < settings.turnover, np.nan, self.matrix)
            self.compared[True] = _compared(np.concatenate([early, spare]), settings.method)
        self.full: dict[bool, Pairs] = {}

    def outcome(self, progress: Callable[[str], None]) -> _Outcome:
        records, named = [], []
        for number in range(len(self.targets)):
            progress(f"{NAMES[self.settings.method]}: target {number + 1} of {len(self.targets)}")
            record, inferred = self.attack_one(number)
            records.append(record)
            named.append(inferred)
        settings = self.settings
        read = settings.num_known if settings.channel in PUBLIC else 1
        looks = 2 if settings.looks == "twice" else 1
        queries = looks * settings.lists * read
        fields = ("hidden", "inferred", "hits", "exact", "guess_hits", "guess_exact", "present", "absent", "kept")
        columns = dict(zip(fields, np.array(records, float).T, strict=True))
        return _Outcome(**columns, named=named, fakes=settings.num_fakes, queries=queries)

    def attack_one(self, number: int) -> tuple[tuple[float, ...], np.ndarray]:
        target, known = self.targets[number], self.known[number]
        row = self.matrix[target]
        hidden = np.setdiff1d(np.flatnonzero(~np.isnan(row)), known)
        evidence, values, kept = self.observe(number, hidden)
        inferred = self.infer(evidence, known)
        hits = np.intersect1d(inferred, hidden)
        popular = self.raters - ~np.isnan(row)
        order = np.argsort(-np.where(np.isin(np.arange(len(row)), known), -1, popular), kind="stable")
        means = self._nearest(self._means_without(target))
        exact = math.nan if values is None else float((self._nearest(values[hits]) == row[hits]).sum())
        secret = int(np.random.default_rng([self.settings.seed, 11, number]).choice(hidden))
        without, _, _ = self.observe(number, hidden[hidden != secret])
        return (
            float(len(hidden)),
            float(len(inferred)),
            float(len(hits)),
            exact,
            float(np.isin(order[: len(inferred)], hidden).sum()),
            float((means[hits] == row[hits]).sum()),
            float(secret in inferred),
            float(secret in self.infer(without, known)),
            kept,
        ), inferred

    def infer(self, evidence: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The unknown items of most evidence, if it is above 0; of equal ones the more popular."""
        evidence = evidence.copy()
        evidence[known] = 0.0
        order = np.lexsort((-self.raters, -np.round(evidence, 12)))[: self.settings.guesses]
        return order[evidence[order] > 1e-12]

    def observe(self, number: int, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, float]:
        """Evidence for every item, the ratings shown for it, and the share of its true neighbors that a list keeps."""
        # Both worlds of the paired experiment get the same randomness, which cancels in their difference.
        generator = np.random.default_rng([self.settings.seed, 12, int(self.targets[number])])
        evidence, values, kept = self.read(number, hidden, False, generator)
        if self.settings.looks == "twice":
            before, _, _ = self.read(number, hidden[:0], True, generator)
            evidence = np.maximum(evidence - before, 0.0)
        return evidence, values, kept

    def read(
        self, number: int, hidden: np.ndarray, early: bool, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None, float]:
        """What is read in one world, where the target has rated the known and the hidden items.

        The cosine of items with a and b raters is about (common raters) / sqrt(a b). So a score times sqrt(a / b) is
        about the chance that one of the b raters of a known item, taken at random, has rated the other; these are added
        up. Where no score is shown, all listed items count alike.
        """
        settings, known = self.settings, self.known[number]
        method = settings.method
        values, voted, copies = self.world(number, hidden, early)
        items = np.arange(values.shape[1])
        raters = copies[:-1] @ voted[:-1]
        rows = known
        if settings.channel in PUBLIC:
            pairs = _statistics(values, voted, copies, known, method)
        else:
            rows = np.setdiff1d(items, known)
            pairs = self.all_pairs(number, values, voted, copies, early)
        logs = log_weights(pairs, rows, method, settings.num_neighbors, settings.epsilon)
        scales = np.zeros_like(pairs.score)
        if method != "item_knn":
            # As in `dpassay.mechanisms.pnsa_pncf`: the repaired filtering spends its half on k similarities.
            spent = settings.num_neighbors if method == "pnsa_repaired" else 1
            scales = 2 * spent * np.where(np.isfinite(pairs.sensitivity), np.maximum(pairs.sensitivity, 0.0), 1.0)
            scales /= settings.epsilon
        evidence = np.zeros(len(items))
        shown, times = np.zeros(len(items)), np.zeros(len(items))
        overlap: list[float] = []
        best = draw_neighbors(
            log_weights(pairs, rows, "item_knn", settings.num_neighbors, settings.epsilon),
            settings.num_neighbors, True, generator,
        )  # fmt: skip
        for _ in range(1 if method == "item_knn" else settings.lists):
            lists = draw_neighbors(logs, settings.num_neighbors, method == "item_knn", generator)
            overlap.append(_overlap(lists, best, len(items)))
            place = np.maximum(lists, 0)
            score = np.take_along_axis(pairs.score, place, axis=1)
            score = score + np.take_along_axis(scales, place, axis=1) * generator.laplace(size=score.shape)
            if settings.channel in PUBLIC:
                weight = np.sqrt(raters[place] / np.maximum(raters[known], 1.0)[:, None])
                if settings.channel == "similar_scores":
                    weight = weight * np.maximum(score, 0.0)
                weight = np.where(lists >= 0, weight, 0.0)
                evidence += np.bincount(place.ravel(), weight.ravel(), len(items))
                continue
            own = np.full(len(items), np.nan)
            own[known] = self.told[number]
            rating = np.where(lists >= 0, own[place], np.nan)
            counted = np.where(np.isnan(rating), 0.0, score)
            below = np.abs(counted).sum(1)
            seen = np.flatnonzero(below > 0)
            predicted = (counted * np.nan_to_num(rating)).sum(1)[seen] / below[seen]
            if settings.channel != "ratings":
                top = np.lexsort((generator.random(len(seen)), -predicted))[: settings.list_length]
                seen, predicted = seen[top], predicted[top]
            evidence[rows[seen]] += np.sqrt(raters[rows[seen]])
            shown[rows[seen]] += predicted
            times[rows[seen]] += 1
        told = None
        if settings.channel in ("ratings", "both"):
            told = np.divide(shown, times, out=np.full_like(shown, np.nan), where=times > 0)
        return evidence, told, float(np.nanmean(overlap)) if not np.isnan(overlap).all() else math.nan

    def world(self, number: int, hidden: np.ndarray, early: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What items are compared by, where there are ratings, and how many users each row stands for.

        The last two rows are the target as she is in this world, in place of her own row, and the fakes.
        """
        target, known = self.targets[number], self.known[number]
        mine = np.concatenate([known, hidden])
        rows = np.full((2, self.matrix.shape[1]), np.nan)
        rows[0, mine] = self.matrix[target, mine]
        rows[1, known] = self.told[number]
        values, voted = self.compared[early]
        values[-2:], voted[-2:] = _compared(rows, self.settings.method)
        copies = np.ones(len(values))
        copies[target] = 0.0
        copies[-1] = self.settings.num_fakes
        return values, voted, copies

    def all_pairs(self, number: int, values: np.ndarray, voted: np.ndarray, copies: np.ndarray, early: bool) -> Pairs:
        """Statistics of all unknown items to all: those of the real data, renewed where this world differs."""
        items, method = np.arange(values.shape[1]), self.settings.method
        if early not in self.full:
            real = np.ones(len(values))
            real[-2:] = 0.0
            self.full[early] = _statistics(values, voted, real, items, method)
        # Whatever the target or a fake rates, before or now, including the target's mean, is seen in these items only.
        renewed = np.flatnonzero(voted[[self.targets[number], -2, -1]].any(0))
        patched = self.full[early].patched(renewed, _statistics(values, voted, copies, renewed, method))
        rows = np.setdiff1d(items, self.known[number])
        return Pairs(patched.score[rows], patched.sensitivity[rows], patched.common[rows])

    def victim(self, outcome: _Outcome) -> dict[str, Any]:
        """The target with the median number of right names."""
        number = int(np.argsort(outcome.hits, kind="stable")[len(outcome.hits) // 2])
        row = self.matrix[self.targets[number]]
        rows = [
            [
                f"item {place}",
                "no" if math.isnan(row[item]) else "yes",
                "" if math.isnan(row[item]) else f"{row[item]:g}",
            ]
            for place, item in enumerate(outcome.named[number][:8], 1)
        ]
        return {
            "story": [
                f"The attacker knows {self.settings.num_known} ratings of user A, who has "
                f"{outcome.hidden[number]:.0f} more.",
                f"He names {outcome.inferred[number]:.0f} items; {outcome.hits[number]:.0f} are right, and "
                f"{outcome.guess_hits[number]:.0f} of as many popular ones would be.",
            ],
            "tables": [Table("Items named first", ["item", "rated by user A", "her rating"], rows)],
        }

    def _told(self, generator: np.random.Generator, scale: tuple[float, float]) -> np.ndarray:
        """The values that the fakes give the known items, shape (targets, m)."""
        values = self.matrix[self.targets[:, None], self.known]
        mistaken = np.argsort(generator.random(values.shape), axis=1) < round(self.settings.wrong * values.shape[1])
        step = np.where(generator.random(values.shape) < 0.5, 1.0, -1.0)
        step = np.where((values + step > scale[1]) | (values + step < scale[0]), -step, step)
        return np.clip(np.where(mistaken, values + step, values), *scale)

    def _means_without(self, target: int) -> np.ndarray:
        """Every item's mean rating by the other users; that of all ratings where nobody else rated it."""
        own = self.matrix[target]
        count = self.raters - ~np.isnan(own)
        overall = self.sums.sum() / self.raters.sum()
        return np.where(count > 0, (self.sums - np.nan_to_num(own)) / np.maximum(count, 1), overall)

    def _nearest(self, values: np.ndarray) -> np.ndarray:
        """The rating value that is closest; of two equally close ones the lower."""
        borders = (self.levels[1:] + self.levels[:-1]) / 2
        return self.levels[np.searchsorted(borders, values)]


def _printed_sensitivity(
    own: np.ndarray,
    others: np.ndarray,
    square: float,
    squares: np.ndarray,
    count: float,
    counts: np.ndarray,
    dot: np.ndarray,
) -> np.ndarray:
    """The change of Theorem 2 that each rater of an item makes, shape (raters, items); infinite over a zero norm."""
    finite = (count - (own != 0) > 0) & (counts - (others != 0) > 0)
    rest = np.where(finite, (square - own**2) * (squares - others**2), 1.0)
    whole = np.sqrt(np.where(finite, square * squares, 1.0))
    without = np.sqrt(rest)
    change = np.maximum(own * others / without, dot * (whole - without) / (whole * without))
    return np.where(finite, change, np.inf)


def _released_sensitivity(
    own: np.ndarray,
    others: np.ndarray,
    square: float,
    squares: np.ndarray,
    dot: np.ndarray,
    common: np.ndarray,
    cap: int,
) -> np.ndarray:
    """The change of the weighted cosine that each rater of an item makes, shape (raters, items)."""

    def weighted(dot: np.ndarray, product: np.ndarray, common: np.ndarray) -> np.ndarray:
        safe = np.sqrt(np.where(product > 0, product, 1.0))
        return np.where(product > 0, dot / safe, 0.0) * np.minimum(common, cap) / cap

    whole = weighted(dot, square * squares, common)
    rest = dot - own * others
    first = weighted(rest, (square - own**2) * squares, common - 1)
    second = weighted(rest, square * (squares - others**2), common - 1)
    return np.maximum(np.abs(first - whole), np.abs(second - whole))


def _overlap(lists: np.ndarray, best: np.ndarray, num_items: int) -> float:
    """Share of the entries of `best` that the lists hold; NaN if it has none."""
    marks = np.zeros((len(lists), num_items + 1), bool)
    np.put_along_axis(marks, lists, True, axis=1)
    real = best >= 0
    return float(np.take_along_axis(marks, best, axis=1)[real].mean()) if real.any() else math.nan


def _sees(settings: _Settings) -> str:
    what = {
        "similar_items": f"the public lists of {settings.num_neighbors} similar items of the known items",
        "similar_scores": f"the public lists of {settings.num_neighbors} similar items of the known items, with scores",
        "ratings": "the ratings predicted for the fakes",
        "top_n": f"the {settings.list_length} items recommended to each fake",
        "both": f"the {settings.list_length} items recommended to each fake, with predicted ratings",
    }[settings.channel]
    when = "before and after the target's unknown ratings arrive" if settings.looks == "twice" else "at one time"
    return f"{what}, {when}, {settings.rounds} time{'s' if settings.rounds > 1 else ''}"


def _conclusion(works: bool, difference: float, advantage: Metric) -> str:
    if not works:
        return f"So the attack does not work here: it is not shown to beat the guess ({difference:+.0%})."
    if advantage.low is not None and advantage.low > 0:
        return (
            "The attack beats that guess, and it reads the user's own data: the chance that an item is named is higher "
            f"by {advantage.value:.0%} when her rating is there than when it is not."
        )
    return (
        "The attack beats that guess, but is not shown to read the user's own data: the same items are named whether "
        f"or not her rating is there (difference {advantage.value:+.0%}), so it may only know what such users like."
    )


def _comparison(outcomes: dict[str, _Outcome]) -> Table:
    names = ("yield", "precision", "guess-precision", "advantage")
    rows = []
    for label, outcome in outcomes.items():
        values = {metric.name: metric.value for metric in outcome.metrics()}
        numbers = [*(values[name] for name in names), float(np.nanmean(outcome.kept))]
        rows.append([NAMES.get(label, label), *(f"{number:.3f}" for number in numbers)])
    return Table(
        "The same attack on the repaired selection, and without fake accounts",
        ["recommender", *names, "share of the true neighbors in a list"],
        rows,
    )


def _privacy(settings: _Settings, num_items: int, advantage: Metric) -> Privacy:
    what = "one of the target's ratings, present or absent, all lists together"
    if settings.method == "item_knn":
        says = f"Nothing is claimed; the attacker's advantage is {advantage.value:.3f} of at most 1."
        return Privacy(what, math.inf, None, advantage, says)
    lists = settings.lists * (2 if settings.looks == "twice" else 1)
    if settings.channel in PUBLIC:
        total = lists * settings.num_known * settings.epsilon * (1.0 if settings.channel == "similar_scores" else 0.5)
    else:
        total = lists * (num_items - settings.num_known) * settings.epsilon
    permitted = permitted_advantage(total)
    above = advantage.low is not None and advantage.low > permitted
    says = (
        f"The claim is for one item's list; all that were read add up to epsilon {total:g}, which permits "
        f"{permitted:.3f}. The observed {advantage.value:.3f} is {'above' if above else 'not shown to be above'} it."
    )
    return Privacy(what, total, None, advantage, says)
