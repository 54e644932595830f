"""Private neighbor selection of items (PNSA) for many items and draws at once, in NumPy.

The laws are those of `dpassay.mechanisms.pnsa`, whose objects give every constant; the tests compare them. Similarities
and sensitivities come from dense ratings for some items (`pair_statistics`), or from sparse ones for all pairs of
thousands of items (`item_table`). A draw without replacement by weight is a race: of independent exponential arrival
times, divided by the weights, the k earliest win.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.pnsa import ConstantSensitivitySelection, ReleasedItemSelection
from dpassay.mechanisms.similarity import TIE_TOLERANCE

Variant = Literal["paper", "released", "repaired"]
VARIANTS = ("paper", "released", "repaired")
TRIPLES = 2_000_000  # (user, item, item) that are looked at together
CELLS = 8_000_000  # numbers in the largest temporary array of a race


@dataclass(frozen=True, eq=False)
class Pairs:
    """What a selection is computed from, for some items (rows) and every item.

    Attributes:
        score: similarity, shape (rows, items); that of an item to itself means nothing.
        sensitivity: S of the weights, shape (rows, items), infinite or 0 where it cannot divide; or one constant.
        common: number of users who rated both, or whether there is one, shape (rows, items).
    """

    score: np.ndarray
    sensitivity: np.ndarray | float
    common: np.ndarray

    def at(self, *place: np.ndarray) -> "Pairs":
        """Those at an index (of rows, or of rows and columns), in double precision."""
        return Pairs(
            *(np.asarray(part[place], float) if isinstance(part, np.ndarray) else part for part in self._parts())
        )

    def patched(self, rows: np.ndarray, new: "Pairs") -> "Pairs":
        """These numbers with rows and, all being symmetric, columns of some items, shape (rows,), replaced."""
        arrays = []
        for part, own in zip(self._parts(), new._parts(), strict=True):
            if isinstance(part, np.ndarray):
                part = part.copy()
                part[rows], part[:, rows] = own, np.transpose(own)
            arrays.append(part)
        return Pairs(*arrays)

    def _parts(self) -> list[Any]:
        return [getattr(self, each.name) for each in fields(self)]


def compared_values(matrix: np.ndarray, variant: Variant | None) -> tuple[np.ndarray, np.ndarray]:
    """What items are compared by, and where there are ratings.

    Args:
        matrix: ratings, shape (users, items), NaN where missing.
        variant: of PNSA; None for the cosine, which compares ratings as the released code does.

    Returns:
        Values, 0 where missing, and 1 where there is a rating; each computed row by row, shape (users, items).
    """
    rated = ~np.isnan(matrix)
    values = np.nan_to_num(matrix)
    if variant in ("paper", "repaired"):
        number = np.maximum(rated.sum(1, keepdims=True), 1)
        # A rating that equals the user's mean gives exactly 0.
        values = np.where(rated, (number * values - values.sum(1, keepdims=True)) / number, 0.0)
    if variant == "repaired":
        norm = np.sqrt((values**2).sum(1, keepdims=True))
        values = np.divide(values, norm, out=np.zeros_like(values), where=norm > 0)
    return values, rated.astype(float)


def pair_statistics(
    values: np.ndarray, voted: np.ndarray, copies: np.ndarray, rows: np.ndarray, variant: Variant | None
) -> Pairs:
    """Similarities of some items to all, with their sensitivities.

    Args:
        values: see `compared_values`, shape (users, items).
        voted: the same.
        copies: how many users each row stands for, shape (users,).
        rows: the items.
        variant: of PNSA; None has the cosine with norms over all raters, and sensitivity 1.
    """
    weight = np.asarray(copies, float)[:, None]
    common = (weight * voted[:, rows]).T @ voted
    dot = (weight * values[:, rows]).T @ values
    if variant == "repaired":
        repaired = mechanism("pnsa", "repaired")
        return Pairs(np.clip(dot / repaired.threshold, -1.0, 1.0), float(repaired.global_sensitivity), common)
    squares = copies @ values**2
    product = squares[rows][:, None] * squares
    score = np.divide(dot, np.sqrt(product), out=np.zeros_like(dot), where=product > 0)
    if variant is None:
        return Pairs(score, 1.0, common)
    cap = mechanism("pnsa", "released").significance_cap if variant == "released" else 1
    score *= np.minimum(common, cap) / cap
    counts = copies @ (values != 0)
    sensitivity = np.zeros_like(score)
    for place, item in enumerate(rows):
        raters = np.flatnonzero(voted[:, item] * copies)
        own, others = values[raters, item][:, None], values[raters]
        if variant == "paper":
            each = _printed_change(own, others, squares[item], squares, counts[item], counts, dot[place])
        else:
            each = _released_change(own, others, squares[item], squares, dot[place], common[place], cap)
        sensitivity[place] = np.where(voted[raters] > 0, each, -np.inf).max(0, initial=-np.inf)
    return Pairs(score, np.where(common > 0, sensitivity, 0.0), common)


def item_table(ratings: csr_matrix, variant: Variant) -> Pairs:
    """Similarities and sensitivities of all pairs of items, in single precision.

    Args:
        ratings: shape (accounts, items); all that is stored is a rating.
        variant: "paper" is the adjusted cosine and SS of Theorem 2, "released" the weighted cosine and its local
            sensitivity, "repaired" the normalized similarity and its global sensitivity.

    Raises:
        InvalidInput: an unknown variant.
    """
    if variant not in VARIANTS:
        raise InvalidInput(f"variant is {variant!r}; use {', '.join(VARIANTS)}")
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
    if variant == "repaired":
        squares = np.bincount(rows, values**2, ratings.shape[0])[rows]
        scaled = matrix(np.divide(values, squares, out=np.zeros_like(values), where=squares > 0))
        score = np.clip(np.asarray((weighed.T @ scaled).todense()) / selection.threshold, -1.0, 1.0)
        return Pairs(score.astype(np.float32), float(selection.global_sensitivity), common > 0)
    cap = selection.significance_cap if variant == "released" else 1
    squares = np.bincount(ratings.indices, values**2, ratings.shape[1])
    norms = np.sqrt(np.outer(squares, squares))
    cosine = np.divide(dot, norms, out=np.zeros_like(norms), where=norms > 0)
    score = cosine * np.minimum(common, cap) / cap
    sensitivity = _sensitivities(ratings, values, dot, common, squares, None if variant == "paper" else cap)
    return Pairs(score.astype(np.float32), sensitivity, common > 0)


def log_weights(pairs: Pairs, rows: np.ndarray, selection: Any) -> np.ndarray:
    """log of the weight with which PNSA draws every other item, -inf for the item itself and for what is no candidate.

    Args:
        pairs: of the items whose neighbors are drawn, with all items.
        rows: their numbers, shape (rows,).
        selection: a mechanism `pnsa` of the variant that the pairs are for; its `target` is not used.

    Returns:
        Shape (rows, items).

    Raises:
        InvalidInput: more neighbors than other items.
    """
    k, others = selection.num_neighbors, pairs.score.shape[1] - 1
    if k > others:
        raise InvalidInput(f"{k} neighbors of {others} other items; give ratings of more items")
    candidate = np.ones(pairs.score.shape, bool)
    candidate[np.arange(len(rows)), rows] = False
    score = np.where(candidate, pairs.score, -np.inf)
    sensitivity = np.asarray(pairs.sensitivity)
    usable = (sensitivity > TIE_TOLERANCE) & np.isfinite(sensitivity)
    if isinstance(selection, ReleasedItemSelection):
        candidate &= pairs.common > 0
    else:
        kth = np.partition(score, -k, axis=1)[:, -k, None]
        if isinstance(selection, ConstantSensitivitySelection):
            width: Any = selection.width
        elif others == k:
            width = kth
        else:
            largest = np.where(candidate, np.maximum(sensitivity, 0.0), 0.0).max(1, keepdims=True)
            bound = 4 * k * largest / selection.epsilon * np.log(k * (others - k) / selection.rho)
            width = np.minimum(kth, bound)
        score = np.maximum(score, kth - width)
    scale = selection.epsilon / (4 * k * np.where(usable, sensitivity, 1.0))
    return np.where(candidate, np.where(usable, scale * np.where(candidate, score, 0.0), 0.0), -np.inf)


def noise_scales(sensitivity: np.ndarray | float, selection: Any) -> Any:
    """Scale of the Laplace noise on similarities, as `pnsa_pncf` has it; that of the released code, of which no such
    mechanism is registered, is its local sensitivity over epsilon / 2.

    Args:
        sensitivity: of the pairs, any shape, or one constant, of which the repaired filtering spends k.
        selection: the mechanism `pnsa`.

    Returns:
        The same shape.
    """
    spent = selection.num_neighbors if isinstance(selection, ConstantSensitivitySelection) else 1
    return 2 * spent * np.maximum(sensitivity, 0.0) / selection.epsilon


def race(
    logs: np.ndarray, which: np.ndarray, number: int, generator: np.random.Generator, dtype: Any = np.float32
) -> np.ndarray:
    """Draws without replacement by weight.

    Args:
        logs: log-weights, shape (laws, items), -inf for never.
        which: law of every draw, shape (draws,).
        number: how many items each draws.
        generator: source of randomness.
        dtype: of the arrival times, np.float32 or np.float64; decides how small a weight can be told from others.

    Returns:
        Items in no useful order, shape (draws, number); -1 where a law has too few.
    """
    longest = 80.0 if dtype == np.float32 else 700.0
    with np.errstate(invalid="ignore"):
        # The most likely item has weight 1; one less likely by e^-80 (e^-700) is as good as never drawn.
        delay = np.exp(np.minimum(logs.max(1, keepdims=True) - logs, longest)).astype(dtype)
    delay[np.isneginf(logs)] = np.inf
    result = np.empty((len(which), number), int)
    step = max(1, CELLS // logs.shape[1])
    for start in range(0, len(which), step):
        part = which[start : start + step]
        arrival = generator.standard_exponential((len(part), logs.shape[1]), dtype=dtype)
        np.maximum(arrival, np.finfo(dtype).tiny, out=arrival)  # a time of 0 would beat an infinite delay
        arrival *= delay[part]
        chosen = np.argpartition(arrival, number - 1, axis=1)[:, :number]
        result[start : start + step] = np.where(np.isfinite(np.take_along_axis(arrival, chosen, 1)), chosen, -1)
    return result


def _sensitivities(
    ratings: csr_matrix, values: np.ndarray, dot: np.ndarray, common: np.ndarray, squares: np.ndarray, cap: int | None
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
        parts = (values[left], values[right], squares[one], squares[two])
        if cap is None:
            change = _printed_change(*parts, nonzero[one], nonzero[two], dot[one, two])
        else:
            change = _released_change(*parts, dot[one, two], common[one, two], cap)
        np.maximum.at(result, one * size + two, change.astype(np.float32))
    table = result.reshape(size, size)
    return np.where(np.isneginf(table), np.float32(0), table)


def _printed_change(
    value1: np.ndarray,
    value2: np.ndarray,
    square1: np.ndarray,
    square2: np.ndarray,
    count1: np.ndarray,
    count2: np.ndarray,
    dot: np.ndarray,
) -> np.ndarray:
    """The change of Theorem 2 that a co-rater makes; infinite where a norm without her is 0.

    All arguments broadcast: her two values, the items' sums of squares, how many of their values are not 0 (which alone
    decides whether a norm is 0), and their dot product.
    """
    finite = (count1 > (value1 != 0)) & (count2 > (value2 != 0))
    without = np.sqrt(np.where(finite, (square1 - value1**2) * (square2 - value2**2), 1.0))
    whole = np.sqrt(np.where(finite, square1 * square2, 1.0))
    change = np.maximum(value1 * value2 / without, dot * (whole - without) / (whole * without))
    return np.where(finite, change, np.inf)


def _released_change(
    value1: np.ndarray,
    value2: np.ndarray,
    square1: np.ndarray,
    square2: np.ndarray,
    dot: np.ndarray,
    common: np.ndarray,
    cap: int,
) -> np.ndarray:
    """The change of the weighted cosine that a co-rater makes in the released code; arguments broadcast as above."""

    def weighted(dot: np.ndarray, product: np.ndarray, common: np.ndarray) -> np.ndarray:
        safe = product > TIE_TOLERANCE
        return np.where(safe, dot / np.sqrt(np.where(safe, product, 1.0)), 0.0) * np.minimum(common, cap) / cap

    whole, rest = weighted(dot, square1 * square2, common), dot - value1 * value2
    first = weighted(rest, (square1 - value1**2) * square2, common - 1)
    second = weighted(rest, square1 * (square2 - value2**2), common - 1)
    return np.maximum(np.abs(first - whole), np.abs(second - whole))
