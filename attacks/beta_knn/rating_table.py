"""The ratings behind a user-based recommender, and what it predicts from neighbors, for many lists at once.

All fakes aimed at one target hold the same ratings, so one row of similarities serves them all. No matrix is dense.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.batched_users import signed_root

PACKED_CELLS = 1 << 29  # rows x items up to which sets of items are kept as bits: three times 64 MiB
CACHED_WORDS = 1 << 17  # of item sets gathered at a time: 1 MiB stays in the cache
RESOLUTION = 1e6  # predictions are compared in steps of 1e-6, so that equal ones tie whatever the order of summation


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
        self, ratings: Ratings, further: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None, num_further: int = 0
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
            score = signed_root(dot, norm * self.squares[others])
        else:
            score = signed_root(dot, sums(own[position] ** 2) * sums(theirs**2))
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
            chosen_by = signed_root(dot, floored * np.maximum(self.squares[others], floor))
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
            known: items that are not recommended, shape (m,).
            length: N.

        Returns:
            List, item and predicted rating of every recommendation, shape (recommendations,) each; a list with fewer
            predictable items is shorter.
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
