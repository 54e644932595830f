"""What a user-based recommender tells fake users, for many fakes at once and without a dense rating matrix.

All fakes aimed at one target hold the same ratings, so one row of similarities serves them all, and their neighbor
lists are independent draws from one law. That law is the mechanism's (`dpassay.mechanisms.selection`): candidates in
descending order of similarity, consecutive groups of ranks, a fixed number drawn from each by weight without
replacement. Members of a group that are equally similar have equal weights, so who of them holds which rank matters
only where equally similar candidates are divided between groups; only those are shuffled, separately for every list.

Successive draws by weight are made in one of two exact ways: with replacement, keeping the first k distinct ones; or
as the k smallest of Exp(1) / weight. Lists that the first way leaves incomplete are completed by the second, which
given the members so far has the law of the remaining draws.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse import csc_array, csr_array

from dpassay.attacks.beta_knn.premise import Similarity
from dpassay.core.checks import check_choices, check_count, check_open_unit, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.ppns import PartitionedSelection
from dpassay.mechanisms.similarity import TIE_TOLERANCE, floor_norm_sensitivity

__all__ = [
    "METHODS",
    "Candidates",
    "Method",
    "Noise",
    "Predictions",
    "RatingTable",
    "Recommender",
    "SelectionPlan",
    "Ties",
    "Weight",
    "top_items",
]

Method = Literal["knn", "top_beta_k", "npns", "pncf", "ppns", "npns_repaired", "ppns_repaired"]
Ties = Literal["random", "index", "fakes_first"]
Noise = Literal["similarity", "none"]
Weight = Literal["exponential", "similarity"]
METHODS: tuple[Method, ...] = get_args(Method)

PACKED_CELLS = 1 << 29  # rows x items up to which sets of items are kept as bits: three times 64 MiB
CACHED_WORDS = 1 << 17  # of item sets gathered at a time: 1 MiB stays in the cache
RESOLUTION = 1e6  # predictions are compared in steps of 1e-6, so that equal ones tie whatever the order of summation


@dataclass(frozen=True)
class Recommender:
    """A user-based recommender: how a user's neighbors are chosen, and the prediction (6) made from them.

    Lu and Shen, secs. 2.2, 3.1 and 5.2, as in `dpassay.mechanisms`; "top_beta_k" is sec. 4.2: k drawn uniformly from
    the `num_nearest` most similar. Raises InvalidInput for a value out of range.

    Attributes:
        method: one of `METHODS`.
        num_neighbors: k.
        similarity: "full_cosine", "cosine" (5) or "pearson" (4).
        ties: who of equally similar candidates comes first: "random" for every list, "index" the older account,
            "fakes_first" fake users (random among them and among real ones).
        epsilon: of the private selections, nats.
        sensitivity: RS of the weights exp(epsilon sim / (4 k RS)) (1), a constant.
        weight: "exponential", or "similarity", where candidates without positive similarity are never drawn.
        probability: p of Algorithm 1.
        rho: of PNCF's truncation.
        noise: whether PNCF adds Laplace noise of scale 2 RS / epsilon to the neighbors' similarities in a prediction,
            drawn once per neighbor and list.
        num_nearest: size of the set that "top_beta_k" draws from.
        norm_floor: c of the floor-norm cosine, in ratings; of the repaired methods.
        max_rating: R, largest rating; of the repaired methods.
        min_overlap: a similarity over fewer co-rated items counts as 0.
        significance: g; similarities are multiplied by min(co-rated items, g) / g unless it is 0. The repaired
            methods' choice is not affected by these two, the prediction is.
    """

    method: Method = "knn"
    num_neighbors: int = 50
    similarity: Similarity = "full_cosine"
    ties: Ties = "random"
    epsilon: float = 1.0
    sensitivity: float = 1.0
    weight: Weight = "exponential"
    probability: float = 0.5
    rho: float = 0.5
    noise: Noise = "similarity"
    num_nearest: int = 50
    norm_floor: float = 40.0
    max_rating: float = 5.0
    min_overlap: int = 0
    significance: int = 0

    def __post_init__(self) -> None:
        check_choices(self)
        check_count("num_neighbors", self.num_neighbors, 2)
        check_count("num_nearest", self.num_nearest, self.num_neighbors)
        check_count("min_overlap", self.min_overlap, 0)
        check_count("significance", self.significance, 0)
        for name in ("epsilon", "sensitivity", "norm_floor", "max_rating"):
            check_positive(name, getattr(self, name))
        check_open_unit("probability", self.probability)
        check_open_unit("rho", self.rho)

    @property
    def repaired(self) -> bool:
        """Whether neighbors are chosen by the floor-norm cosine."""
        return self.method in ("npns_repaired", "ppns_repaired")

    @property
    def noise_scale(self) -> float:
        """Scale of the Laplace noise on the similarities of a prediction; 0 for none."""
        return 2 * self.sensitivity / self.epsilon if self.method == "pncf" and self.noise == "similarity" else 0.0

    @property
    def floor_sensitivity(self) -> float:
        """GS = min(1, R^2/c^2) of the floor-norm cosine."""
        return floor_norm_sensitivity(self.norm_floor, self.max_rating)

    def mechanism(self, target: int = 0) -> Any:
        """The registered mechanism that chooses the neighbors; None for "top_beta_k", which is none of the paper's."""
        k = self.num_neighbors
        ties = "index" if self.ties == "index" else "random"
        ranked: dict[str, Any] = {"num_neighbors": k, "target": target, "similarity": self.similarity, "ties": ties}
        weighted = {**ranked, "epsilon": self.epsilon, "sensitivity": self.sensitivity, "weight": self.weight}
        floor: dict[str, Any] = {"num_neighbors": k, "target": target, "epsilon": self.epsilon}
        floor |= {"norm_floor": self.norm_floor, "max_rating": self.max_rating}
        match self.method:
            case "knn":
                return mechanism("knn", **ranked)
            case "npns":
                return mechanism("npns", **weighted)
            case "pncf":
                return mechanism("pncf", **weighted, rho=self.rho)
            case "ppns":
                return mechanism("ppns", **weighted, probability=self.probability)
            case "npns_repaired":
                return mechanism("npns", "repaired", **floor)
            case "ppns_repaired":
                return mechanism("ppns", "repaired", **floor, probability=self.probability)
        return None


class Group(NamedTuple):
    """Ranks start to stop - 1, of which `quota` are drawn."""

    start: int
    stop: int
    quota: int


class Predictions(NamedTuple):
    """Numerator and denominator of (6) for every list and item; no prediction where the denominator is 0.

    Both have shape (lists, items).
    """

    weighted: np.ndarray
    weights: np.ndarray

    def values(self) -> np.ndarray:
        """Predicted ratings, NaN where there is none, shape (lists, items)."""
        covered = self.weights > 0
        return np.where(covered, self.weighted / np.where(covered, self.weights, 1.0), np.nan)


@dataclass(frozen=True)
class Candidates:
    """The possible neighbors of the fakes aimed at one target; all arrays have shape (candidates,).

    Real users come first, then other attackers' fakes, then the fellow fakes.

    Attributes:
        rows: whose ratings they hold, rows of the `RatingTable`; its empty row for fellow fakes, who rated nothing but
            the known items.
        similarity: to the fakes; weighs the ratings in a prediction.
        chosen_by: the score that the choice goes by: the similarity, or the floor-norm cosine.
        target: position of the target.
        num_real: how many are real users.
        num_fellows: how many are fellow fakes.
    """

    rows: np.ndarray
    similarity: np.ndarray
    chosen_by: np.ndarray
    target: int
    num_real: int
    num_fellows: int


class RatingTable:
    """Sparse ratings: the real users' rows, then `further` rows that a recommender may hold instead, then an empty one.

    Args:
        ratings: the dataset.
        further: (rows, items, values) of the further ratings, rows counted from 0; each has shape (ratings,).
        num_further: how many further rows.
    """

    def __init__(
        self,
        ratings: Ratings,
        further: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
        num_further: int = 0,
    ) -> None:
        rows, items, values = ratings.users, ratings.items, ratings.values
        if further is not None:
            rows = np.concatenate([rows, ratings.num_users + further[0]])
            items, values = np.concatenate([items, further[1]]), np.concatenate([values, further[2]])
        self.num_users, self.num_items = ratings.num_users, ratings.num_items
        self.empty = ratings.num_users + num_further
        shape = (self.empty + 1, self.num_items)
        # Imaginary part 1: one product gives numerator and denominator of (6).
        self.by_row = csr_array((values + 1j, (rows, items)), shape=shape)
        self.by_item = csc_array((values, (rows, items)), shape=shape)
        popularity = np.bincount(ratings.items, minlength=self.num_items)
        self.by_popularity = np.argsort(-popularity, kind="stable")
        self.rank = np.argsort(self.by_popularity)
        self.best = float(values.max())
        self.packed = self._packed(rows, items, values) if shape[0] * self.num_items <= PACKED_CELLS else None
        self.count = np.bincount(rows, minlength=shape[0]).astype(float)
        self.total = np.bincount(rows, values, shape[0])
        self.squares = np.bincount(rows, values**2, shape[0])

    def candidates(
        self,
        recommender: Recommender,
        items: np.ndarray,
        values: np.ndarray,
        target: int,
        num_fakes: int,
        rivals: np.ndarray | None = None,
        replacement: int | None = None,
    ) -> Candidates:
        """Everyone whom a fake can get as a neighbor.

        Similarities are those of `dpassay.mechanisms.similarity`, from sums that are exact where ratings are multiples
        of a power of 2, so that equal ones are equal floats.

        Args:
            recommender: whose similarity it is.
            items: what the fakes rated, shape (m,).
            values: how, shape (m,).
            target: row of the target.
            num_fakes: fakes aimed at this target; the fake itself is no candidate.
            rivals: rows of other attackers' fakes, `num_fakes` of each.
            replacement: the row that stands in the target's place, if another one.
        """
        real = np.arange(self.num_users)
        if replacement is not None:
            real[target] = replacement
        others = real if rivals is None else np.concatenate([real, np.repeat(rivals, num_fakes)])
        m, size = len(items), self.empty + 1
        spans = [slice(self.by_item.indptr[item], self.by_item.indptr[item + 1]) for item in items]
        raters = np.concatenate([self.by_item.indices[span] for span in spans])
        theirs = np.concatenate([self.by_item.data[span] for span in spans])
        position = np.repeat(np.arange(m), [span.stop - span.start for span in spans])

        def sums(each: np.ndarray) -> np.ndarray:
            return np.bincount(raters, each, size)[others]

        own = values
        if recommender.similarity == "pearson":  # deviations times the number of ratings, which keeps them to integers
            own = m * values - values.sum()
            theirs = self.count[raters] * theirs - self.total[raters]
        norm = float(np.sum(own**2))
        dot = sums(own[position] * theirs)
        if recommender.similarity == "full_cosine":
            score = _cosine(dot, norm * self.squares[others])
        else:
            score = _cosine(dot, sums(own[position] ** 2) * sums(theirs**2))
        score = np.append(score, np.full(num_fakes - 1, float(norm > 0)))
        if recommender.min_overlap or recommender.significance:
            shared = np.append(np.bincount(raters, minlength=size)[others], np.full(num_fakes - 1, m))
            score = np.where(shared < recommender.min_overlap, 0.0, score)
            cap = max(recommender.significance, 1)
            score = score * np.minimum(shared, cap) / cap
        chosen_by = score
        if recommender.repaired:
            floor, full = recommender.norm_floor**2, float(np.sum(values**2))
            if recommender.similarity == "pearson":
                dot = sums(values[position] * np.concatenate([self.by_item.data[span] for span in spans]))
            floored = max(full, floor)
            chosen_by = _cosine(dot, floored * np.maximum(self.squares[others], floor))
            chosen_by = np.append(chosen_by, np.full(num_fakes - 1, full / floored))
        rows = np.append(others, np.full(num_fakes - 1, self.empty))
        return Candidates(rows, score, chosen_by, target, self.num_users, num_fakes - 1)

    def predict(self, rows: np.ndarray, weights: np.ndarray) -> Predictions:
        """Prediction (6) of every item from each list's neighbors.

        Args:
            rows: the neighbors' rows, shape (lists, neighbors).
            weights: their similarities, the same shape; who has weight 0 counts for nothing.
        """
        positive = self._products(rows, np.maximum(weights, 0.0))
        if not np.any(weights < 0):
            return Predictions(positive.real, positive.imag)
        negative = self._products(rows, np.maximum(-weights, 0.0))
        return Predictions(positive.real - negative.real, positive.imag + negative.imag)

    def recommend(
        self, rows: np.ndarray, weights: np.ndarray, known: np.ndarray, length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Every list's N items of highest prediction, of equal ones the more popular first, then the lower number.

        Most lists have N items that everyone of positive weight rated best and nobody else rated. These have the
        highest prediction there is, and are found with a few operations on sets of items, 64 items at a time; only
        the other lists need predictions.

        Args:
            rows: see `predict`.
            weights: see `predict`.
            known: items that are not recommended.
            length: N.

        Returns:
            List, item and predicted rating of every recommendation; a list with fewer predictable items is shorter.
        """
        if self.packed is None:
            return self._recommend(rows, weights, known, length)
        added, removed = (np.where(weights * sign > 0, rows, self.empty).T for sign in (1, -1))
        liked, disliked = _united(self.packed, added)
        if np.any(weights < 0):
            disliked |= np.bitwise_or.reduce(_united(self.packed, removed))
        surest = liked & ~disliked
        barred = np.zeros(8 * surest.shape[1], np.uint8)
        np.bitwise_or.at(barred, self.rank[known] // 8, (1 << (self.rank[known] % 8)).astype(np.uint8))
        surest &= ~barred.view(np.uint64)
        found = np.cumsum(np.bitwise_count(surest), axis=1, dtype=np.int32)
        enough = found[:, -1] >= length
        needed = enough[:, None] & (surest > 0)
        needed[:, 1:] &= found[:, :-1] < length
        number, word = np.nonzero(needed)
        bits = np.unpackbits(surest[number, word].view(np.uint8), bitorder="little")
        cell, bit = np.divmod(np.flatnonzero(bits), 64)
        number = number[cell]
        kept = np.arange(len(number)) - np.searchsorted(number, np.arange(len(rows)))[number] < length
        lists, items = number[kept], self.by_popularity[64 * word[cell[kept]] + bit[kept]]
        others = np.flatnonzero(~enough & ((weights != 0) & (rows != self.empty)).any(1))
        further, further_items, predicted = self._recommend(rows[others], weights[others], known, length)
        return (
            np.concatenate([lists, others[further]]),
            np.concatenate([items, further_items]),
            np.concatenate([np.full(len(items), self.best), predicted]),
        )

    def _recommend(
        self, rows: np.ndarray, weights: np.ndarray, known: np.ndarray, length: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if len(rows) == 0:
            return np.empty(0, int), np.empty(0, int), np.empty(0)
        predictions = self.predict(rows, weights)
        predictions.weights[:, known] = 0.0
        lists, items = top_items(predictions, length, self.rank)
        return lists, items, predictions.weighted[lists, items] / predictions.weights[lists, items]

    def _packed(self, rows: np.ndarray, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Per row the sets of items rated best and rated otherwise, shape (rows, 2, words); bits by popularity."""
        words = -(-self.num_items // 64)
        sets = np.zeros((self.empty + 1, 2, words * 8), np.uint8)
        place = self.rank[items]
        cell = (rows, (values < self.best).astype(int), place // 8)
        np.bitwise_or.at(sets, cell, (1 << (place % 8)).astype(np.uint8))
        return sets.view(np.uint64)

    def _products(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        kept = (weights != 0) & (rows != self.empty)
        starts = np.concatenate([[0], np.cumsum(kept.sum(1))])
        chosen = csr_array((weights[kept], rows[kept], starts), shape=(len(rows), self.empty + 1))
        return (chosen @ self.by_row).toarray()


class SelectionPlan:
    """Draws neighbor lists of the fakes of one target.

    Args:
        recommender: how neighbors are chosen.
        candidates: whom from.

    Raises:
        InvalidInput: fewer candidates than the method needs, or a PNCF that is not defined here.
    """

    def __init__(self, recommender: Recommender, candidates: Candidates) -> None:
        self.recommender, self.candidates = recommender, candidates
        k, num = recommender.num_neighbors, len(candidates.rows)
        if k > num:
            raise InvalidInput(f"{k} neighbors of {num} candidates; use fewer neighbors or more fakes")
        self.order, run = self._ranks()
        score = candidates.chosen_by[self.order]
        self.groups = _groups(recommender, score)
        self.log_weights = self._log_weights(score)
        self.shuffled = [] if recommender.method == "ppns_repaired" else self._divided(run)

    @property
    def deterministic(self) -> bool:
        """Whether all lists are the same for everyone who reads recommendations."""
        whole = all(group.quota in (0, group.stop - group.start) for group in self.groups)
        return whole and not self.shuffled and self.recommender.method != "ppns_repaired"

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Positions of the chosen candidates, shape (count, neighbors); fewer than k where weights of 0 leave fewer."""
        if self.recommender.method == "ppns_repaired":
            return self._draw_noisy(count, generator)
        ranks = np.concatenate(
            [
                group.start + _distinct(self.log_weights[group.start : group.stop], group.quota, count, generator)
                for group in self.groups
                if group.quota
            ],
            axis=1,
        )
        for start, stop in self.shuffled:
            moved = np.argsort(generator.random((count, stop - start)), axis=1)
            inside = (ranks >= start) & (ranks < stop)
            row, _ = np.nonzero(inside)
            ranks[inside] = start + moved[row, ranks[inside] - start]
        return self.order[ranks]

    def chance(self, rank: int) -> float:
        """With what probability a list contains the candidate of this rank, if all weights are equal."""
        if self.recommender.method == "ppns_repaired":  # ranked by noise, mostly
            return self.recommender.num_neighbors / len(self.order)
        group = next(group for group in self.groups if group.start <= rank < group.stop)
        return group.quota / (group.stop - group.start)

    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Candidates by rank, and the number of the run of equals that each rank belongs to."""
        score, method = self.candidates.chosen_by, self.recommender.method
        index = np.arange(len(score))
        if method in ("npns", "npns_repaired", "ppns_repaired"):  # one group, or ranked after the noise
            return index, index
        order = np.argsort(-score, kind="stable")
        new = np.diff(-score[order], prepend=-np.inf) > TIE_TOLERANCE
        run = np.cumsum(new)
        level = np.empty_like(index)
        level[order] = run
        if self.recommender.ties == "fakes_first":
            second = (index < self.candidates.num_real).astype(int)
        else:
            second = index if self.recommender.ties == "index" else np.zeros_like(index)
        order = np.lexsort((index, second, level))
        changes = (np.diff(level[order], prepend=-1) != 0) | (np.diff(second[order], prepend=-1) != 0)
        return order, np.cumsum(changes)

    def _divided(self, run: np.ndarray) -> list[tuple[int, int]]:
        """Runs of equals that a border between groups divides and whose members are not all alike."""
        candidates = self.candidates
        # Whoever has similarity 0 contributes to no prediction, as fellow fakes do.
        silent = (candidates.similarity == 0) & (self.recommender.noise_scale == 0)
        silent[candidates.target] = False
        silent[len(silent) - candidates.num_fellows :] = True
        kind = np.where(silent, -1, candidates.rows)[self.order]
        found = {}
        for group in self.groups[1:]:
            border = group.start
            if 0 < border < len(run) and run[border - 1] == run[border]:
                start, stop = np.searchsorted(run, [run[border], run[border] + 1])
                if np.ptp(kind[start:stop]):
                    found[int(start)] = int(stop)
        return sorted(found.items())

    def _log_weights(self, score: np.ndarray) -> np.ndarray:
        recommender = self.recommender
        k = recommender.num_neighbors
        if recommender.method in ("knn", "top_beta_k"):
            return np.zeros(len(score))
        if recommender.method == "npns_repaired":
            return recommender.epsilon / (2 * k * recommender.floor_sensitivity) * score
        if recommender.method == "ppns_repaired":
            return recommender.epsilon / (4 * k * recommender.floor_sensitivity) * score
        if recommender.weight == "similarity":
            with np.errstate(divide="ignore"):
                return np.log(np.maximum(score, 0.0))
        return recommender.epsilon / (4 * k * recommender.sensitivity) * score

    def _draw_noisy(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """The repaired PPNS: noise on every score, then partitions of the noisy order, for each list anew."""
        recommender, num = self.recommender, len(self.order)
        scale = recommender.floor_sensitivity * num / recommender.epsilon
        noisy = self.candidates.chosen_by + generator.laplace(scale=scale, size=(count, num))
        weight = recommender.epsilon / (4 * recommender.num_neighbors * recommender.floor_sensitivity)
        visited = self.groups[-1].start
        order = np.argpartition(-noisy, visited - 1, axis=1)
        top = np.take_along_axis(noisy, order[:, :visited], 1)
        order[:, :visited] = np.take_along_axis(order[:, :visited], np.argsort(-top, axis=1), 1)
        races = np.log(generator.standard_exponential((count, num))) - weight * np.take_along_axis(noisy, order, 1)
        parts = [
            group.start + np.argpartition(races[:, group.start : group.stop], group.quota - 1, axis=1)[:, : group.quota]
            for group in self.groups
        ]
        return np.take_along_axis(order, np.concatenate(parts, axis=1), 1)


def _united(packed: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Unions of the packed sets of each column of rows, shape (neighbors, lists) -> (2, lists, words)."""
    words = packed[0].size
    union = np.zeros((rows.shape[1], *packed.shape[1:]), packed.dtype)
    for start in range(0, len(rows), step := max(1, CACHED_WORDS // max(1, rows.shape[1] * words))):
        union |= np.bitwise_or.reduce(packed[rows[start : start + step]], axis=0)
    return np.moveaxis(union, 1, 0)


def top_items(predictions: Predictions, length: int, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The N items of highest predicted rating; of equal ones (in steps of 1e-6) the item of lower rank goes first.

    Args:
        predictions: see `Predictions`.
        length: N.
        rank: a number for every item, all different, from 0; shape (items,).

    Returns:
        List and item of every recommendation, list by list, in order of the items; a list with fewer than N
        predictable items is shorter.
    """
    num_lists, num_items = predictions.weights.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        key = np.rint(predictions.weighted * -RESOLUTION / predictions.weights) * num_items + rank
    key[predictions.weights == 0] = np.inf
    bound = np.full((num_lists, 1), np.finfo(float).max)
    if length < num_items:
        bound = np.minimum(bound, np.partition(key, length - 1, axis=1)[:, length - 1, None])
    lists, items = np.divmod(np.flatnonzero(key <= bound), num_items)
    return lists, items


def _groups(recommender: Recommender, score: np.ndarray) -> list[Group]:
    """Groups of ranks and their quotas; `score` is in order of rank."""
    k, num = recommender.num_neighbors, len(score)
    match recommender.method:
        case "knn":
            return [Group(0, k, k), Group(k, num, 0)]
        case "top_beta_k":
            nearest = min(recommender.num_nearest, num)
            return [Group(0, nearest, k), Group(nearest, num, 0)]
        case "npns" | "npns_repaired":
            return [Group(0, num, k)]
        case "pncf":
            return _truncated(recommender, score)
    quotas = PartitionedSelection(num_neighbors=k, probability=recommender.probability).quotas(num)
    groups = [Group(i * k, (i + 1) * k, quota) for i, quota in enumerate(quotas)]
    return [*groups, Group(len(quotas) * k, num, 1)]


def _truncated(recommender: Recommender, score: np.ndarray) -> list[Group]:
    """PNCF: surely chosen, drawn, never chosen (`dpassay.mechanisms.pncf`)."""
    k, num = recommender.num_neighbors, len(score)
    kth = score[k - 1]
    pairs = max(k * (num - k), 1)
    bound = 4 * k * recommender.sensitivity / recommender.epsilon * np.log(pairs / recommender.rho)
    width = min(kth, bound) if num > k else kth
    sure = int(np.sum(score > kth + width + TIE_TOLERANCE))
    possible = int(np.sum(score >= kth - width - TIE_TOLERANCE))
    if not sure <= k <= possible:
        raise InvalidInput(
            f"PNCF is not defined where the {k}-th largest similarity is negative ({kth:.3g}); use fewer neighbors or "
            "a cosine"
        )
    return [Group(0, sure, sure), Group(sure, possible, k - sure), Group(possible, num, 0)]


def _distinct(log_weights: np.ndarray, quota: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """Successive draws by weight without replacement, `count` times over: positions, shape (count, quota)."""
    usable = np.flatnonzero(log_weights > -np.inf)
    size = len(usable)
    if quota >= size:
        return np.tile(usable, (count, 1))
    logs = log_weights[usable]
    if size <= 4 * quota:
        return usable[_races(logs, np.zeros((count, 0), int), quota, count, generator)]
    extra = 0 if quota == 1 else quota // 4 + 8
    total = np.cumsum(np.exp(logs - logs.max()))
    drawn = np.minimum(_located(total, generator.random((count, quota + extra)) * total[-1]), size - 1)
    if quota == 1:
        return usable[drawn]
    width = quota + extra
    keys = np.sort(drawn * width + np.arange(width), axis=1)
    repeated = np.zeros(drawn.shape, bool)
    row, place = np.nonzero(np.diff(keys // width, axis=1) == 0)
    repeated[row, keys[row, place + 1] % width] = True
    number = np.cumsum(~repeated, axis=1)
    kept = ~repeated & (number <= quota)
    complete = number[:, -1] >= quota
    result = np.empty((count, quota), int)
    result[complete] = drawn[complete][kept[complete]].reshape(-1, quota)
    for short in np.flatnonzero(~complete):
        result[short] = _races(logs, drawn[short, kept[short]][None, :], quota, 1, generator)
    return usable[result]


def _located(borders: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`np.searchsorted(borders, values, side="right")` of ascending borders and many values from 0 to the last border.

    Each value starts at the first border that some value of its cell of a fine grid can need, and is moved up.
    """
    cells = 8 * len(borders)
    if values.size < cells:
        return np.searchsorted(borders, values, side="right")
    width = borders[-1] / cells
    # The starts are placed a little lower, so that no rounding in a value's cell puts it beyond its border.
    first = np.searchsorted(borders, np.arange(cells + 1) * (width * (1 - 1e-12)), side="right")
    wanted = values.ravel()
    place = np.minimum(first[(wanted / width).astype(np.int64)], len(borders) - 1)
    low = np.flatnonzero(borders[place] <= wanted)
    while len(low):
        place[low] += 1
        low = low[place[low] < len(borders)]
        low = low[borders[place[low]] <= wanted[low]]
    return place.reshape(values.shape)


def _races(
    log_weights: np.ndarray, members: np.ndarray, quota: int, count: int, generator: np.random.Generator
) -> np.ndarray:
    """The `quota` smallest of Exp(1) / weight in each row; `members`, shape (count, any), are in already."""
    times = np.log(generator.standard_exponential((count, len(log_weights)))) - log_weights
    np.put_along_axis(times, members, -np.inf, 1)
    return np.argpartition(times, quota - 1, axis=1)[:, :quota]


def _cosine(dot: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """dot / sqrt(squares), 0 where that is 0; one rounded quotient of exact sums, as in `mechanisms.similarity`."""
    positive = squares > 0
    return np.where(positive, np.sign(dot) * np.sqrt(dot**2 / np.where(positive, squares, 1.0)), 0.0)
