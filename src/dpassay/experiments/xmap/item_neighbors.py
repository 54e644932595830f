"""AlterEgos, neighbors of items and the predictions made from them, for all hidden ratings at once.

Replacements have the law of the mechanism `prs`, whose objects give every constant; the tests compare them. Private
neighbors are drawn by `dpassay.mechanisms.batched_items`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dpassay.mechanisms import mechanism
from dpassay.mechanisms.batched_items import CELLS, Pairs, Variant


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predicted ratings of the hidden ones, in three forms.

    Attributes:
        centered: the item's mean plus sum s (r_j - mean_j) / sum |s|, the released code's form; the item's mean where
            the reader rated no neighbor; shape (hidden,).
        own: sum s r_j / sum |s|, the form of the mechanism `pnsa_pncf`, which takes nothing from other users but
            through s; the mean of the reader's profile where she rated no neighbor.
        positive: the same without neighbors of negative (noisy) similarity, which costs no privacy.
        covered: whether she rated one.
    """

    centered: np.ndarray
    own: np.ndarray
    positive: np.ndarray
    covered: np.ndarray


def replacements(
    xsim: csr_matrix, sources: np.ndarray, variant: Variant | None, epsilon: float, generator: np.random.Generator
) -> np.ndarray:
    """A replacement for every given source item, by PRS with fresh randomness for each.

    X-SIM has shape (source items, target items), and is stored where it is quantified; source items have shape
    (draws,). The variant is of the mechanism `prs`, with epsilon nats for one draw; None takes the most similar item,
    of equal ones the first.

    Returns:
        Target items, shape (draws,); -1 where there is no candidate.
    """
    count = np.diff(xsim.indptr)[sources]
    owners = np.repeat(np.arange(len(sources)), count)
    entries = np.arange(len(owners)) + np.repeat(xsim.indptr[sources] - (np.cumsum(count) - count), count)
    items, scores = xsim.indices[entries].astype(int), xsim.data[entries]
    if variant is None:
        keys = -np.round(scores, 12)
    else:
        prs: Any = mechanism("prs", variant, epsilon=epsilon, num_source_items=xsim.shape[0])
        arrival = np.log(generator.standard_exponential(len(owners)))
        keys = arrival - epsilon / (2 * prs.sensitivity) * scores
        if variant == "released":
            size = np.round(np.abs(scores), 12)
            order = np.lexsort((items, -size, owners))
            place = np.empty(len(order), int)
            place[order] = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
            keys = np.where((place < prs.list_size) & (size > 0), keys, np.inf)
    order = np.lexsort((items, keys, owners))
    first = order[np.searchsorted(owners[order], np.flatnonzero(count))]
    first = first[keys[first] < np.inf]
    chosen = np.full(len(sources), -1)
    chosen[owners[first]] = items[first]
    if variant == "repaired":
        # All other items of the catalogue have weight 1: the earliest of them comes after an exponential time.
        best = np.full(len(sources), np.inf)
        best[owners[first]] = keys[first]
        others = xsim.shape[1] - count
        with np.errstate(divide="ignore"):
            elsewhere = np.log(generator.standard_exponential(len(sources)) / others) < best
        listed = np.sort(np.repeat(np.arange(xsim.shape[0]), np.diff(xsim.indptr)) * xsim.shape[1] + xsim.indices)
        open_draws = np.flatnonzero(elsewhere & (others > 0))
        while len(open_draws):  # one of the others at random: again whenever it is not one
            chosen[open_draws] = generator.integers(xsim.shape[1], size=len(open_draws))
            key = sources[open_draws].astype(np.int64) * xsim.shape[1] + chosen[open_draws]
            place = np.minimum(np.searchsorted(listed, key), len(listed) - 1)
            open_draws = open_draws[listed[place] == key] if len(listed) else open_draws[:0]
    return chosen


def profiles(
    source: csr_matrix, target: csr_matrix, accounts: np.ndarray, replacement_of: Any
) -> tuple[np.ndarray, int]:
    """The AlterEgos of some accounts, as `dpassay.mechanisms.alterego` makes them.

    Ratings of source and target have shape (accounts, items); a target rating of her own stays. Of the accounts, shape
    (readers,), `replacement_of` maps an array of source items to their replacements, -1 for none.

    Returns:
        Ratings, shape (readers, target items), NaN where missing; and how many ratings were mapped.
    """
    mine = source[accounts].tocoo()
    chosen = replacement_of(mine.col)
    mapped = chosen >= 0
    shape = (len(accounts), target.shape[1])
    places = mine.row[mapped] * np.int64(shape[1]) + chosen[mapped]
    number = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
    total = np.bincount(places, mine.data[mapped], minlength=shape[0] * shape[1]).reshape(shape)
    result = np.divide(total, number, out=np.full(shape, np.nan), where=number > 0)
    own = target[accounts].tocoo()
    result[own.row, own.col] = own.data
    return result, int(mapped.sum())


def item_means(ratings: csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Mean rating of every item, the overall mean for one without ratings, and whether it has any; shapes (items,).

    Ratings have shape (accounts, items); all that is stored is a rating.
    """
    number = np.bincount(ratings.indices, minlength=ratings.shape[1])
    sums = np.bincount(ratings.indices, ratings.data, ratings.shape[1])
    return np.where(number > 0, sums / np.maximum(number, 1), ratings.data.mean()), number > 0


def nearest(items: Pairs, rows: np.ndarray, number: int) -> np.ndarray:
    """The items of largest absolute similarity, shape (rows, number), as the released code ranks; -1 where none is."""
    size = np.where(items.common[rows] > 0, np.abs(items.score[rows]), -1.0)
    size[np.arange(len(rows)), rows] = -1.0
    chosen = np.argsort(-size, axis=1, kind="stable")[:, :number]
    return np.where(np.take_along_axis(size, chosen, 1) > 0, chosen, -1)


def of_the_reader(
    similarity: np.ndarray, rows: np.ndarray, rated: np.ndarray, owners: np.ndarray, number: int
) -> np.ndarray:
    """The most similar of the items that the reader rated, by size of the similarity; -1 where none is left.

    Similarities are of predicted items and items that can be rated, shape (items, others); `rated` says whether each
    reader rated each of the others, shape (readers, others). Rows and owners, shape (hidden,), are the predicted item
    and the reader of every hidden rating; k = `number`.
    """
    chosen = np.empty((len(rows), number), int)
    step = max(1, CELLS // similarity.shape[1])
    for start in range(0, len(rows), step):
        part = np.s_[start : start + step]
        size = np.where(rated[owners[part]], np.abs(similarity[rows[part]]), 0.0)
        place = np.argpartition(-size, min(number, size.shape[1]) - 1, axis=1)[:, :number]
        chosen[part] = np.where(np.take_along_axis(size, place, 1) > 0, place, -1)
    return chosen


def predict(
    neighbors: np.ndarray,
    similarity: np.ndarray,
    ratings: np.ndarray,
    neighbor_means: np.ndarray,
    item_means: np.ndarray,
    reader_means: np.ndarray,
    scale: tuple[float, float],
) -> Predictions:
    """Predicts every hidden rating from its neighbors, clipped to the scale.

    Args:
        neighbors: shape (hidden, k), -1 for none.
        similarity: of the neighbors, shape (hidden, k); infinite noise makes a prediction undefined.
        ratings: the reader's ratings of them, NaN where missing, shape (hidden, k).
        neighbor_means: mean rating of every neighbor, shape (hidden, k).
        item_means: mean rating of the predicted item, shape (hidden,).
        reader_means: mean of the reader's profile, shape (hidden,).
        scale: smallest and largest rating.
    """
    rated = (neighbors >= 0) & ~np.isnan(ratings)
    usable = ~(rated & ~np.isfinite(similarity)).any(1)
    weight = np.where(rated & usable[:, None], similarity, 0.0)
    rest = np.where(rated, ratings - neighbor_means, 0.0)
    taken = np.where(rated, ratings, 0.0)

    def form(by: np.ndarray, value: np.ndarray, base: np.ndarray | float, fallback: np.ndarray) -> np.ndarray:
        total = np.abs(by).sum(1)
        mean = np.divide((by * value).sum(1), total, out=np.zeros_like(total), where=total > 0)
        return np.clip(np.where(total > 0, base + mean, fallback), *scale)

    centered, own = form(weight, rest, item_means, item_means), form(weight, taken, 0.0, reader_means)
    positive = form(np.maximum(weight, 0.0), taken, 0.0, reader_means)
    return Predictions(centered, own, positive, np.abs(weight).sum(1) > 0)
