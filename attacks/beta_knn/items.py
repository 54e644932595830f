"""The sybil attack on recommenders that compare items: plain item kNN, and X-Map's private neighbor selection (PNSA).

Calandrino, Kilzer, Narayanan, Felten and Shmatikov, "You Might Also Like: Privacy Risks of Collaborative Filtering"
(S&P 2011): the active attack gives beta k fake users m known ratings of a target and reads what they are told; the
passive attack reads the lists of similar items of the m known items, at one time or at two. Guerraoui, Kermarrec, Lin
and Patra, "Heterogeneous Recommendations" (X-Map), report of proofs: the k neighbors of an item are drawn by weight
exp(epsilon score / (4 k S)), predictions combine their noisy similarities with the reader's own ratings.

Where items are compared, fakes who repeat known ratings do not come close to the target as they do where users are
compared: they add to the norms of the known items, and otherwise only let the attacker read.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpassay.attacks.beta_knn.knowledge import Catalogue, told_values
from dpassay.attacks.beta_knn.outcome import Judged, Outcome, columns
from dpassay.attacks.beta_knn.premise import known_items
from dpassay.attacks.beta_knn.settings import ItemMethod, ItemSettings
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.batched_items import (
    Pairs,
    Variant,
    compared_values,
    log_weights,
    noise_scales,
    pair_statistics,
    race,
)
from dpassay.mechanisms.similarity import TIE_TOLERANCE

VARIANTS: dict[ItemMethod, Variant] = {"pnsa": "paper", "pnsa_released": "released", "pnsa_repaired": "repaired"}
NAMES: dict[str, str] = {
    "item_knn": "item kNN without privacy",
    "pnsa": "PNSA as printed",
    "pnsa_released": "PNSA as released",
    "pnsa_repaired": "PNSA repaired",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ItemOutcome(Outcome):
    """What became of every target; arrays have shape (targets,).

    Attributes:
        kept: share of the true k nearest (without privacy, on the same data) in a list.
        named: the items named, surest first, of every target.
    """

    kept: np.ndarray
    named: Sequence[np.ndarray]


class World(NamedTuple):
    """What items are compared by at one time, where there are ratings, and how many users each row stands for.

    The first two come from `compared_values`, shape (users + 2, items); the last two rows are the target as she is in
    this world, in place of her own row, and the fakes.
    """

    values: np.ndarray
    voted: np.ndarray
    copies: np.ndarray


class Reading(NamedTuple):
    """What was read of a target.

    Attributes:
        evidence: for every item, shape (items,).
        ratings: shown for it, on average, NaN where none was, shape (items,); None if the channel shows none.
        kept: the share of its true neighbors that a list keeps.
    """

    evidence: np.ndarray
    ratings: np.ndarray | None
    kept: float


class _Seen(NamedTuple):
    """What belongs to one target beside the inferences; see `ItemOutcome`."""

    found_present: float
    found_absent: float
    kept: float


class ItemScene:
    """One dataset and attack, with what all targets share."""

    def __init__(self, ratings: Ratings, settings: ItemSettings) -> None:
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
        self.catalogue = Catalogue(ratings)
        own = self.matrix[self.targets[:, None], self.known]
        self.told = told_values(own, settings.wrong, ratings.scale, generator)
        self.variant = VARIANTS.get(settings.method)
        self.selection: Any = None
        if self.variant is not None:
            given = {"num_neighbors": settings.num_neighbors, "epsilon": settings.epsilon}
            self.selection = mechanism("pnsa", self.variant, **given)
        spare = np.full((2, ratings.num_items), np.nan)
        self.compared = {False: compared_values(np.concatenate([self.matrix, spare]), self.variant)}
        if settings.looks == "twice":
            early = np.where(generator.random(self.matrix.shape) < settings.turnover, np.nan, self.matrix)
            self.compared[True] = compared_values(np.concatenate([early, spare]), self.variant)
        self.full: dict[bool, Pairs] = {}

    def outcome(self, progress: Callable[[str], None]) -> ItemOutcome:
        """Attacks all targets."""
        settings, records = self.settings, []
        for number in range(len(self.targets)):
            said = f"{NAMES[settings.method]}: target {number + 1} of {len(self.targets)}"
            progress(Step(said, number / len(self.targets)))
            records.append(self.attack_one(number))
        judged, seen, named = zip(*records, strict=True)
        read = settings.num_known if settings.public else 1
        return ItemOutcome(
            targets=self.targets,
            num_fakes=settings.num_fakes,
            num_queries=settings.num_looks * settings.lists * read,
            named=named,
            **columns(judged),
            **columns(seen),
        )

    def attack_one(self, number: int) -> tuple[Judged, _Seen, np.ndarray]:
        """The columns of `ItemOutcome` for one target, and the items named, shape (named,)."""
        known = self.known[number]
        own = np.flatnonzero(~np.isnan(self.matrix[self.targets[number]]))
        hidden = np.setdiff1d(own, known)
        reading = self.observe(number, hidden)
        named = self.infer(reading.evidence, known)
        inferred = np.zeros(self.matrix.shape[1], bool)
        inferred[named] = True
        ratings = reading.ratings
        shown = None if ratings is None else (lambda items: self.catalogue.nearest(ratings[items]))
        secret = int(np.random.default_rng([self.settings.seed, 11, number]).choice(hidden))
        without = self.infer(self.observe(number, hidden[hidden != secret]).evidence, known)
        judged = self.catalogue.judged(own, self.matrix[self.targets[number], own], known, inferred, shown)
        return judged, _Seen(float(secret in named), float(secret in without), reading.kept), named

    def infer(self, evidence: np.ndarray, known: np.ndarray) -> np.ndarray:
        """The unknown items of most evidence, if it is above 0, surest first; of equal ones the more popular.

        Evidence has shape (items,), known items (m,), the result (at most `guesses`,).
        """
        evidence = evidence.copy()
        evidence[known] = 0.0
        order = np.lexsort((-self.catalogue.popularity, -np.round(evidence, 12)))[: self.settings.guesses]
        return order[evidence[order] > 1e-12]

    def observe(self, number: int, hidden: np.ndarray) -> Reading:
        """What is read of a target who has rated the known and hidden items, shape (hidden,), in all looks."""
        # Both worlds of the paired experiment get the same randomness, which cancels in their difference.
        generator = np.random.default_rng([self.settings.seed, 12, int(self.targets[number])])
        reading = self.read(number, hidden, False, generator)
        if self.settings.looks == "twice":
            before = self.read(number, hidden[:0], True, generator)
            return reading._replace(evidence=np.maximum(reading.evidence - before.evidence, 0.0))
        return reading

    def read(self, number: int, hidden: np.ndarray, early: bool, generator: np.random.Generator) -> Reading:
        """What is read in one world with hidden items, shape (hidden,): neighbors of known items, or predictions."""
        settings, known = self.settings, self.known[number]
        world = self.world(number, hidden, early)
        num_items = world.values.shape[1]
        raters = world.copies[:-1] @ world.voted[:-1]
        if settings.public:
            rows, pairs = known, pair_statistics(*world, known, self.variant)
        else:
            rows = np.setdiff1d(np.arange(num_items), known)
            pairs = self.all_pairs(number, world, early).at(rows)
        best = nearest_items(pairs.score, rows, settings.num_neighbors)
        logs = None if self.selection is None else log_weights(pairs, rows, self.selection)
        evidence, shown, times = np.zeros((3, num_items))
        overlap: list[float] = []
        for _ in range(1 if logs is None else settings.lists):
            every = np.arange(len(rows))
            lists = best if logs is None else race(logs, every, settings.num_neighbors, generator, np.float64)
            overlap.append(_overlap(lists, best, num_items))
            score = self._noisy_scores(pairs.at(every[:, None], np.maximum(lists, 0)), generator)
            if settings.public:
                evidence += self._listed(lists, score, raters, known)
                continue
            items, predicted = self._predicted(number, rows, lists, score, generator)
            evidence[items] += np.sqrt(raters[items])
            shown[items] += predicted
            times[items] += 1
        ratings = None
        if settings.channel in ("ratings", "both"):
            ratings = np.divide(shown, times, out=np.full_like(shown, np.nan), where=times > 0)
        kept = float(np.nanmean(overlap)) if not np.isnan(overlap).all() else math.nan
        return Reading(evidence, ratings, kept)

    def world(self, number: int, hidden: np.ndarray, early: bool) -> World:
        """The world where the target has rated the known and the hidden items, shape (hidden,)."""
        target, known = self.targets[number], self.known[number]
        mine = np.concatenate([known, hidden])
        rows = np.full((2, self.matrix.shape[1]), np.nan)
        rows[0, mine] = self.matrix[target, mine]
        rows[1, known] = self.told[number]
        values, voted = self.compared[early]
        values[-2:], voted[-2:] = compared_values(rows, self.variant)
        copies = np.ones(len(values))
        copies[target] = 0.0
        copies[-1] = self.settings.num_fakes
        return World(values, voted, copies)

    def all_pairs(self, number: int, world: World, early: bool) -> Pairs:
        """Statistics of all items: those of the real data, renewed where this world differs."""
        if early not in self.full:
            real = np.ones(len(world.values))
            real[-2:] = 0.0
            items = np.arange(world.values.shape[1])
            self.full[early] = pair_statistics(world.values, world.voted, real, items, self.variant)
        # Whatever the target or a fake rates, before or now, including the target's mean, is seen in these items only.
        renewed = np.flatnonzero(world.voted[[self.targets[number], -2, -1]].any(0))
        return self.full[early].patched(renewed, pair_statistics(*world, renewed, self.variant))

    def _noisy_scores(self, chosen: Pairs, generator: np.random.Generator) -> np.ndarray:
        """Similarities of the listed items, with noise where the recommender is private."""
        noise = generator.laplace(size=chosen.score.shape)
        if self.selection is None:
            return chosen.score
        # Where the sensitivity is infinite there is no noise that would do.
        finite = np.where(np.isfinite(chosen.sensitivity), chosen.sensitivity, 1.0)
        return chosen.score + noise_scales(finite, self.selection) * noise

    def _listed(self, lists: np.ndarray, score: np.ndarray, raters: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Evidence of public lists, shape (items,).

        The cosine of items with a and b raters is about (common raters) / sqrt(a b). So a score times sqrt(a / b) is
        about the chance that one of the b raters of a known item, taken at random, has rated the other; these are added
        up. Where no score is shown, all listed items count alike.
        """
        place = np.maximum(lists, 0)
        weight = np.sqrt(raters[place] / np.maximum(raters[known], 1.0)[:, None])
        if self.settings.channel == "similar_scores":
            weight = weight * np.maximum(score, 0.0)
        return np.bincount(place.ravel(), np.where(lists >= 0, weight, 0.0).ravel(), len(raters))

    def _predicted(
        self, number: int, rows: np.ndarray, lists: np.ndarray, score: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Items whose predicted ratings a fake is shown, and these ratings."""
        own = np.full(self.matrix.shape[1], np.nan)
        own[self.known[number]] = self.told[number]
        rating = np.where(lists >= 0, own[np.maximum(lists, 0)], np.nan)
        counted = np.where(np.isnan(rating), 0.0, score)
        below = np.abs(counted).sum(1)
        seen = np.flatnonzero(below > 0)
        predicted = (counted * np.nan_to_num(rating)).sum(1)[seen] / below[seen]
        if self.settings.channel != "ratings":
            top = np.lexsort((generator.random(len(seen)), -predicted))[: self.settings.list_length]
            seen, predicted = seen[top], predicted[top]
        return rows[seen], predicted


def nearest_items(score: np.ndarray, rows: np.ndarray, num_neighbors: int) -> np.ndarray:
    """The items most similar to each row, by positive similarity, of equal ones the lower; -1 where none is left.

    Args:
        score: similarities, shape (rows, items).
        rows: the items' own numbers, which are no neighbors, shape (rows,).
        num_neighbors: k.

    Returns:
        Shape (rows, k), most similar first.
    """
    score = np.where(score > TIE_TOLERANCE, score, -np.inf)
    score[np.arange(len(rows)), rows] = -np.inf
    order = np.argsort(-np.round(score, 12), axis=1, kind="stable")[:, :num_neighbors]
    return np.where(np.isneginf(np.take_along_axis(score, order, axis=1)), -1, order)


def _overlap(lists: np.ndarray, best: np.ndarray, num_items: int) -> float:
    """Share of the entries of `best` that the lists hold; NaN if it has none."""
    marks = np.zeros((len(lists), num_items + 1), bool)
    np.put_along_axis(marks, lists, True, axis=1)
    real = best >= 0
    return float(np.take_along_axis(marks, best, axis=1)[real].mean()) if real.any() else math.nan
