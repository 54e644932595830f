"""Predicts ratings from users' neighbors under a stated protocol, for every rating of a dataset at once.

Prediction (6) of Lu and Shen: sum sim r / sum |sim| over the chosen neighbors who rated the item. What the paper leaves
open is a parameter of `predict`: whether the rating under prediction takes part in the similarities ("leaky") or is
left out, who the candidates are, the similarity, and how ties are broken.
"""

import functools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix

from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.batched_users import Block, Selection, signed_root
from dpassay.mechanisms.selection import Ties
from dpassay.mechanisms.similarity import Similarity, similarity_matrix

Candidates = Literal["users", "raters"]

CHUNK = 1 << 20  # entries of a block: 8 MB per array, so that a few arrays per thread stay small
THREADS = 2


@dataclass(frozen=True)
class Protocol:
    """How a rating is predicted.

    Attributes:
        hold_out: whether the rating under prediction is removed before similarities are computed.
        candidates: all other users, whatever the item ("users"), or those who rated the item ("raters").
        similarity: "cosine" (5) over co-rated items, "full_cosine" or "pearson" (4).
        ties: which of equal similarities comes first: lower user number ("index"), higher ("last"), or a random order.
    """

    hold_out: bool = False
    candidates: Candidates = "users"
    similarity: Similarity = "cosine"
    ties: Ties = "index"


LEAKY = Protocol()
"""The protocol whose numbers come closest to the paper's: nothing held out, all users, co-rated cosine."""


def predict(
    train: Ratings,
    users: np.ndarray,
    items: np.ndarray,
    selection: Selection,
    protocol: Protocol = LEAKY,
    seed: int = 0,
) -> np.ndarray:
    """Predicts the ratings of the given (user, item) pairs.

    Without hold-out and with all users as candidates a user has one neighbor set for all of the pairs; otherwise every
    pair has its own, drawn independently.

    Neighbors and similarities come from `train`; users and items have shape (pairs,). With `hold_out`, every pair must
    be a rating of `train`.

    Returns:
        Predicted ratings, shape (pairs,); NaN where no chosen neighbor rated the item.

    Raises:
        InvalidInput: a pair to be held out is not a rating of `train`.
    """
    data = _data(train)
    if protocol.hold_out and not data.rated[users, items].all():
        raise InvalidInput("only ratings of the dataset itself can be held out; pass its own users and items")
    if protocol.candidates == "users" and not protocol.hold_out:
        weights = np.where(select_sets(train, selection, protocol, seed), data.similarity(protocol.similarity), 0.0)
        return predict_from_sets(train, users, items, weights)
    predictions = np.full(len(users), np.nan)

    def work(part: tuple[int, np.ndarray]) -> None:
        number, rows = part
        generator = np.random.default_rng([seed, number])
        predictions[rows] = _predict_item(data, users[rows], int(items[rows[0]]), selection, protocol, generator)

    with ThreadPoolExecutor(THREADS) as pool:  # NumPy leaves the interpreter lock while it computes
        list(pool.map(work, _parts(items, train.num_users)))
    return predictions


def select_sets(train: Ratings, selection: Selection, protocol: Protocol, seed: int = 0) -> np.ndarray:
    """One neighbor set for every user, all others being candidates; bool, shape (users, users)."""
    scores = _data(train).similarity(protocol.similarity).copy()
    np.fill_diagonal(scores, -np.inf)
    block = Block(np.arange(len(scores)), scores)
    return _in_tie_order(block, selection, protocol.ties, np.random.default_rng(seed))


def predict_from_sets(
    train: Ratings, users: np.ndarray, items: np.ndarray, weights: np.ndarray, centered: bool = False
) -> np.ndarray:
    """Prediction (6) from one neighbor set per user.

    With `centered`, what is averaged are the neighbors' ratings minus their own means, the user's mean is added, and
    the sum is clipped to the scale.

    Users and items have shape (pairs,); weights are similarities to the neighbors, 0 elsewhere, shape (users, users).

    Returns:
        Predicted ratings, shape (pairs,); NaN where no chosen neighbor rated the item.
    """
    data, sparse, means = _data(train), csr_matrix(weights), user_means(train)
    filled = np.where(data.rated, data.filled - means[:, None], 0.0) if centered else data.filled
    predictions = _quotient((sparse @ filled)[users, items], (abs(sparse) @ data.indicator)[users, items])
    return np.clip(means[users] + predictions, *train.scale) if centered else predictions


def similarities(train: Ratings, protocol: Protocol) -> np.ndarray:
    """The protocol's similarity of all pairs of users, shape (users, users)."""
    return _data(train).similarity(protocol.similarity)


def user_means(train: Ratings) -> np.ndarray:
    """Every user's mean rating, the overall mean for a user without ratings; shape (users,)."""
    sums = np.bincount(train.users, train.values, train.num_users)
    counts = np.bincount(train.users, minlength=train.num_users)
    return np.where(counts > 0, sums / np.maximum(counts, 1), train.values.mean())


@functools.lru_cache(maxsize=2)
def folds(ratings: Ratings, number: int, seed: int = 0) -> tuple[tuple[Ratings, np.ndarray], ...]:
    """Random folds: (the other folds' ratings, indices of this fold's, shape (held,)), a partition of all."""
    parts = []
    order = np.random.default_rng(seed).permutation(len(ratings))
    for part in np.array_split(order, number):
        keep = np.ones(len(ratings), bool)
        keep[part] = False
        rest = (ratings.users[keep], ratings.items[keep], ratings.values[keep])
        train = Ratings(*rest, ratings.num_users, ratings.num_items, ratings.scale, ratings.name)
        parts.append((train, np.sort(part)))
    return tuple(parts)


def mean_absolute_error(
    errors: np.ndarray, users: np.ndarray, average: Literal["trials", "users", "ratings"] = "trials"
) -> float:
    """MAE (22) over the pairs that could be predicted (the errors that are not NaN).

    Errors are absolute, NaN where there is no prediction, shape (ratings,); `users` says whose each is. The average is
    over "trials": a random user, then a random rating of that user, skipped when it cannot be predicted; "users": a
    random user, then a random one of that user's predictable ratings; "ratings": a random rating.
    """
    covered = ~np.isnan(errors)
    if not covered.any():
        return float("nan")
    return float(np.average(errors[covered], weights=trial_weights(covered, users, average)[covered]))


def paired_differences(first: np.ndarray, second: np.ndarray, users: np.ndarray, num_users: int) -> np.ndarray:
    """Every user's mean of first - second error over the pairs and draws that both predict; users without are left out.

    A user's errors share neighbors, so users, not ratings, are the independent units of a paired comparison.

    Both are absolute errors, NaN without a prediction, shape (draws, ratings); one with a single draw is paired with
    every draw of the other. `users` says whose each rating is.
    """
    difference = np.broadcast_to(first - second, (max(len(first), len(second)), len(users)))
    both = ~np.isnan(difference)
    owners = np.broadcast_to(users, difference.shape)[both]
    sums = np.bincount(owners, difference[both], num_users)
    counts = np.bincount(owners, minlength=num_users)
    return sums[counts > 0] / counts[counts > 0]


def trial_weights(covered: np.ndarray, users: np.ndarray, average: str) -> np.ndarray:
    """Probability that a trial takes each pair, up to a factor, shape (ratings,); see `mean_absolute_error`."""
    if average == "ratings":
        return covered.astype(float)
    among = covered if average == "users" else np.ones(len(users), bool)
    counts = np.bincount(users[among], minlength=users.max() + 1)
    return covered / np.maximum(counts[users], 1)


class _Data:
    """A dataset in the dense forms that blocks are cut from."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        matrix = ratings.dense()
        self.rated = ~np.isnan(matrix)
        self.filled = np.nan_to_num(matrix)
        self.count = self.rated.sum(1).astype(float)
        self.total, self.norm = self.filled.sum(1), (self.filled**2).sum(1)
        self.indicator = self.rated.astype(float)
        self.similarity = functools.cache(lambda kind: np.asarray(similarity_matrix(matrix, kind)))

    def held_out(self, users: np.ndarray, item: int, columns: np.ndarray, kind: Similarity) -> np.ndarray:
        """Similarity of the rows' users to the columns' users as if the rows' users had not rated the item."""
        own = self.filled[users, item][:, None]
        theirs, both = self.filled[columns, item][None, :], self.rated[columns, item][None, :]
        cells = np.ix_(users, columns)
        dot, squares = self._cosine_sums
        products = dot[cells] - own * theirs
        squares1, squares2 = squares[cells] - both * own**2, squares.T[cells] - theirs**2
        if kind == "cosine":
            return signed_root(products, squares1 * squares2)
        if kind == "full_cosine":
            return signed_root(products, (self.norm[users][:, None] - own**2) * self.norm[columns][None, :])
        # Sums of products of deviations from each user's mean, times both numbers of ratings, which keeps to integers.
        overlap, sums = self._pearson_sums
        count1, total1 = self.count[users][:, None] - 1, self.total[users][:, None] - own
        count2, total2 = self.count[columns][None, :], self.total[columns][None, :]
        number = overlap[cells] - both
        sum1, sum2 = sums[cells] - both * own, sums.T[cells] - theirs
        covariance = (
            count1 * count2 * products - count2 * total1 * sum2 - count1 * total2 * sum1 + total1 * total2 * number
        )
        variance1 = count1**2 * squares1 - 2 * count1 * total1 * sum1 + total1**2 * number
        variance2 = count2**2 * squares2 - 2 * count2 * total2 * sum2 + total2**2 * number
        return signed_root(covariance, np.maximum(variance1, 0.0) * np.maximum(variance2, 0.0))

    @functools.cached_property
    def _cosine_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """r_u . r_v, and the sum of r_u^2 over the items that u and v both rated; shapes (users, users)."""
        return self.filled @ self.filled.T, self.filled**2 @ self.indicator.T

    @functools.cached_property
    def _pearson_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """How many items u and v both rated, and the sum of u's ratings of them; shapes (users, users)."""
        return self.indicator @ self.indicator.T, self.filled @ self.indicator.T


@functools.lru_cache(maxsize=8)
def _data(ratings: Ratings) -> _Data:
    """The dense forms; some are kept, for the folds of an experiment."""
    return _Data(ratings)


def _parts(items: np.ndarray, num_users: int) -> Iterator[tuple[int, np.ndarray]]:
    """Numbered groups of pairs that share an item, small enough for a block."""
    order = np.argsort(items, kind="stable")
    starts = np.flatnonzero(np.diff(items[order], prepend=-1))
    size, number = max(1, CHUNK // num_users), 0
    for rows in np.split(order, starts[1:]):
        for start in range(0, len(rows), size):
            yield number, rows[start : start + size]
            number += 1


def _predict_item(
    data: _Data, users: np.ndarray, item: int, selection: Selection, protocol: Protocol, generator: np.random.Generator
) -> np.ndarray:
    """Predictions of one item for the given users, each from neighbors of its own."""
    raters = np.flatnonzero(data.rated[:, item])
    every = protocol.candidates == "users"
    columns = np.arange(data.ratings.num_users) if every else raters
    kind = protocol.similarity
    if not protocol.hold_out:
        similarity = data.similarity(kind)[np.ix_(users, columns)]
    elif every and kind == "cosine":  # only users who rated the item share it with the target
        similarity = data.similarity(kind)[users]
        similarity[:, raters] = data.held_out(users, item, raters, kind)
    else:
        similarity = data.held_out(users, item, columns, kind)
    scores = np.where(columns[None, :] == users[:, None], -np.inf, similarity)
    chosen = _in_tie_order(Block(users, scores), selection, protocol.ties, generator)
    if every:
        chosen, similarity = chosen[:, raters], similarity[:, raters]
    weights = np.where(chosen, similarity, 0.0)
    return _quotient(weights @ data.filled[raters, item], np.abs(weights).sum(1))


def _in_tie_order(block: Block, selection: Selection, ties: Ties, generator: np.random.Generator) -> np.ndarray:
    """Applies a selection to the block with its columns in the order that breaks ties."""
    if ties == "index":
        return selection(block, generator)
    if ties == "last":
        return selection(Block(block.targets, block.scores[:, ::-1]), generator)[:, ::-1]
    order = np.argsort(generator.random(block.scores.shape), axis=1)
    chosen = selection(Block(block.targets, np.take_along_axis(block.scores, order, 1)), generator)
    result = np.empty_like(chosen)
    np.put_along_axis(result, order, chosen, 1)
    return result


def _quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    covered = denominator > 0
    return np.where(covered, numerator / np.where(covered, denominator, 1.0), np.nan)
