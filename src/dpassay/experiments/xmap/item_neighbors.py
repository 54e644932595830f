"""AlterEgos, private neighbors of items and the predictions made from them, for all hidden ratings at once.

The laws are those of the mechanisms `prs`, `pnsa` and `pnsa_pncf`, whose objects give every constant; the tests compare
them. A draw without replacement by weight is a race: of independent exponential arrival times, divided by the weights,
the k earliest win.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.similarity import TIE_TOLERANCE

__all__ = [
    "Items",
    "Predictions",
    "item_means",
    "item_table",
    "log_weights",
    "nearest",
    "noise_scales",
    "of_the_reader",
    "predict",
    "profiles",
    "race",
    "replacements",
]

Variant = Literal["paper", "released", "repaired"]
Similarity = Literal["cosine", "adjusted_cosine", "normalized"]
TRIPLES = 2_000_000  # (user, item, item) that are looked at together
CELLS = 8_000_000  # numbers in the largest temporary array of a race
SIMILARITY: dict[str, Similarity] = {"paper": "adjusted_cosine", "released": "cosine", "repaired": "normalized"}


@dataclass(frozen=True, eq=False)
class Items:
    """How the items of the target domain compare, under one variant of PNSA.

    Attributes:
        variant: "paper", "released" or "repaired".
        score: similarity of all pairs, shape (items, items); the diagonal means nothing.
        sensitivity: S of the weights: of every pair, infinite where it cannot be used, or one constant.
        common: whether two items share a rater, shape (items, items).
        means: mean rating of every item, the overall mean for one without ratings, shape (items,).
    """

    variant: Variant
    score: np.ndarray
    sensitivity: np.ndarray | float
    common: np.ndarray
    means: np.ndarray


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

    Args:
        xsim: shape (source items, target items); stored where it is quantified.
        sources: source items, shape (draws,).
        variant: of the mechanism `prs`; None takes the most similar item, of equal ones the first.
        epsilon: of one draw, nats.
        generator: source of randomness.

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

    Args:
        source: ratings, shape (accounts, source items).
        target: ratings, shape (accounts, target items); a rating of her own stays.
        accounts: which, shape (readers,).
        replacement_of: function of an array of source items to their replacements, -1 for none.

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
    """Mean rating of every item, the overall mean for one without ratings, and whether it has any.

    Args:
        ratings: shape (accounts, items); all that is stored is a rating.

    Returns:
        Two arrays of shape (items,).
    """
    number = np.bincount(ratings.indices, minlength=ratings.shape[1])
    sums = np.bincount(ratings.indices, ratings.data, ratings.shape[1])
    return np.where(number > 0, sums / np.maximum(number, 1), ratings.data.mean()), number > 0


def item_table(ratings: csr_matrix, variant: Variant) -> Items:
    """Similarities and sensitivities of all pairs of items, as the mechanism `pnsa` has them.

    Args:
        ratings: shape (accounts, items); all that is stored is a rating.
        variant: "paper" is the adjusted cosine and SS of Theorem 2, "released" the weighted cosine and its local
            sensitivity, "repaired" the normalized similarity and its global sensitivity.

    Raises:
        InvalidInput: an unknown variant.
    """
    if variant not in SIMILARITY:
        raise InvalidInput(f"variant is {variant!r}; use {', '.join(SIMILARITY)}")
    selection: Any = mechanism("pnsa", variant)
    rows = np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr))
    counts = np.maximum(np.diff(ratings.indptr), 1)
    totals = np.asarray(ratings.sum(1)).ravel()
    values = ratings.data
    if variant != "released":
        values = (counts[rows] * values - totals[rows]) / counts[rows]

    def matrix(data: np.ndarray) -> csr_matrix:
        return csr_matrix((data, ratings.indices, ratings.indptr), ratings.shape)

    voted, weighed = matrix(np.ones_like(values)), matrix(values)
    dot, common = (np.asarray((part.T @ part).todense()) for part in (weighed, voted))
    means, _ = item_means(ratings)
    if variant == "repaired":
        squares = np.bincount(rows, values**2, ratings.shape[0])[rows]
        scaled = matrix(np.divide(values, squares, out=np.zeros_like(values), where=squares > 0))
        score = np.clip(np.asarray((weighed.T @ scaled).todense()) / selection.threshold, -1.0, 1.0)
        return Items(variant, score.astype(np.float32), selection.global_sensitivity, common > 0, means)
    cap = selection.significance_cap if variant == "released" else 1
    squares = np.bincount(ratings.indices, values**2, ratings.shape[1])
    norms = np.sqrt(np.outer(squares, squares))
    cosine = np.divide(dot, norms, out=np.zeros_like(norms), where=norms > 0)
    score = cosine * np.minimum(common, cap) / cap
    sensitivity = _sensitivities(ratings, values, dot, common, squares, score, None if variant == "paper" else cap)
    return Items(variant, score.astype(np.float32), sensitivity, common > 0, means)


def log_weights(items: Items, rows: np.ndarray, selection: Any) -> np.ndarray:
    """log of the weight with which PNSA draws every other item, -inf for the item itself and for what is no candidate.

    Args:
        items: the similarities.
        rows: the items whose neighbors are drawn.
        selection: a mechanism `pnsa` of the same variant; its `target` is not used.

    Returns:
        Shape (rows, items).

    Raises:
        InvalidInput: more neighbors than other items.
    """
    if selection.num_neighbors > items.score.shape[1] - 1:
        raise InvalidInput(
            f"{selection.num_neighbors} neighbors of {items.score.shape[1] - 1} other items; give ratings of more items"
        )
    score = items.score[rows].astype(float)
    score[np.arange(len(rows)), rows] = -np.inf
    k, others = selection.num_neighbors, score.shape[1] - 1
    candidate = score > -np.inf
    sensitivity = items.sensitivity if isinstance(items.sensitivity, float) else items.sensitivity[rows].astype(float)
    usable = (sensitivity > TIE_TOLERANCE) & np.isfinite(sensitivity)
    if items.variant == "released":
        candidate &= items.common[rows]
    else:
        kth = np.partition(score, -k, axis=1)[:, -k, None]
        if items.variant == "repaired":
            width = selection.width
        elif others == k:
            width = kth
        else:
            own = np.where(candidate, np.maximum(sensitivity, 0.0), 0.0).max(1, keepdims=True)
            width = np.minimum(kth, 4 * k * own / selection.epsilon * np.log(k * (others - k) / selection.rho))
        score = np.maximum(score, kth - width)
    scale = selection.epsilon / (4 * k * np.where(usable, sensitivity, 1.0))
    return np.where(candidate, np.where(usable, scale * np.where(candidate, score, 0.0), 0.0), -np.inf)


def noise_scales(items: Items, rows: np.ndarray, columns: np.ndarray, selection: Any) -> np.ndarray:
    """Scale of the Laplace noise on the similarity of pairs of items, as `pnsa_pncf` has it; the released code's, of
    which no mechanism is registered, is its local sensitivity over epsilon / 2.

    Args:
        items: the similarities.
        rows: items whose ratings are predicted, shape (pairs, 1).
        columns: their neighbors, shape (pairs, neighbors).
        selection: the mechanism `pnsa`.
    """
    if isinstance(items.sensitivity, float):
        return np.full(columns.shape, 2 * selection.num_neighbors * items.sensitivity / selection.epsilon)
    return 2 * np.maximum(items.sensitivity[rows, columns], 0.0).astype(float) / selection.epsilon


def race(logs: np.ndarray, which: np.ndarray, number: int, generator: np.random.Generator) -> np.ndarray:
    """Draws without replacement by weight.

    Args:
        logs: log-weights, shape (laws, items), -inf for never.
        which: law of every draw, shape (draws,).
        number: how many items each draws.
        generator: source of randomness.

    Returns:
        Items, shape (draws, number); -1 where a law has too few.
    """
    with np.errstate(invalid="ignore"):
        # The most likely item has weight 1; one less likely by e^-80 is as good as never drawn.
        delay = np.exp(np.minimum(logs.max(1, keepdims=True) - logs, 80.0)).astype(np.float32)
    delay[np.isneginf(logs)] = np.inf
    result = np.empty((len(which), number), int)
    step = max(1, CELLS // logs.shape[1])
    for start in range(0, len(which), step):
        part = which[start : start + step]
        arrival = generator.standard_exponential((len(part), logs.shape[1]), dtype=np.float32)
        np.maximum(arrival, np.finfo(np.float32).tiny, out=arrival)  # a time of 0 would beat an infinite delay
        arrival *= delay[part]
        chosen = np.argpartition(arrival, number - 1, axis=1)[:, :number]
        result[start : start + step] = np.where(np.isfinite(np.take_along_axis(arrival, chosen, 1)), chosen, -1)
    return result


def nearest(items: Items, rows: np.ndarray, number: int) -> np.ndarray:
    """The most similar items by size of the similarity, as the released code ranks them; -1 where none is left."""
    size = np.where(items.common[rows], np.abs(items.score[rows]), -1.0)
    size[np.arange(len(rows)), rows] = -1.0
    chosen = np.argsort(-size, axis=1, kind="stable")[:, :number]
    return np.where(np.take_along_axis(size, chosen, 1) > 0, chosen, -1)


def of_the_reader(
    similarity: np.ndarray, rows: np.ndarray, rated: np.ndarray, owners: np.ndarray, number: int
) -> np.ndarray:
    """The most similar of the items that the reader rated, by size of the similarity; -1 where none is left.

    Args:
        similarity: of predicted items and items that can be rated, shape (items, others).
        rows: the predicted item of every hidden rating.
        rated: whether each reader rated each of the others, shape (readers, others).
        owners: the reader of every hidden rating.
        number: k.
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
    forms = []
    for by, value, base, fallback in (
        (weight, rest, item_means, item_means),
        (weight, taken, 0.0, reader_means),
        (np.maximum(weight, 0.0), taken, 0.0, reader_means),
    ):
        total = np.abs(by).sum(1)
        mean = np.divide((by * value).sum(1), total, out=np.zeros_like(total), where=total > 0)
        forms.append(np.clip(np.where(total > 0, base + mean, fallback), *scale))
    return Predictions(forms[0], forms[1], forms[2], np.abs(weight).sum(1) > 0)


def _sensitivities(
    ratings: csr_matrix,
    values: np.ndarray,
    dot: np.ndarray,
    common: np.ndarray,
    squares: np.ndarray,
    score: np.ndarray,
    cap: int | None,
) -> np.ndarray:
    """The largest change over the co-raters of every pair: SS of Theorem 2; with `cap` the released code's."""
    size = ratings.shape[1]
    result = np.full(size * size, -np.inf, np.float32)
    nonzero = np.bincount(ratings.indices, values != 0, size)
    lengths = np.diff(ratings.indptr).astype(np.int64)
    groups = np.cumsum(lengths**2) // TRIPLES
    for group in np.unique(groups[lengths > 0]):
        users = np.flatnonzero((groups == group) & (lengths > 0))
        # Every pair of ratings of one user.
        length = np.repeat(lengths[users], lengths[users] ** 2)
        start = np.repeat(ratings.indptr[users].astype(np.int64), lengths[users] ** 2)
        place = np.arange(len(length)) - np.repeat(
            np.cumsum(lengths[users] ** 2) - lengths[users] ** 2, lengths[users] ** 2
        )
        left, right = start + place // length, start + place % length
        one, two = ratings.indices[left].astype(np.int64), ratings.indices[right].astype(np.int64)
        value1, value2 = values[left], values[right]
        rest1, rest2 = squares[one] - value1**2, squares[two] - value2**2
        product, whole = value1 * value2, dot[one, two]
        if cap is None:
            # Whether a norm without the user is 0 is a matter of counting.
            finite = (nonzero[one] > (value1 != 0)) & (nonzero[two] > (value2 != 0))
            without = np.sqrt(np.where(finite, rest1 * rest2, 1.0))
            norm = np.sqrt(np.where(finite, squares[one] * squares[two], 1.0))
            change = np.maximum(product / without, whole * (norm - without) / (norm * without))
            change = np.where(finite, change, np.inf)
        else:
            left_over = np.minimum(common[one, two] - 1, cap) / cap
            change = np.zeros_like(product)
            for norms in (rest1 * squares[two], squares[one] * rest2):
                safe = norms > TIE_TOLERANCE
                moved = np.where(safe, (whole - product) / np.sqrt(np.where(safe, norms, 1.0)), 0.0) * left_over
                change = np.maximum(change, np.abs(moved - score[one, two]))
        np.maximum.at(result, one * size + two, change.astype(np.float32))
    table = result.reshape(size, size)
    return np.where(np.isneginf(table), np.float32(0), table)
