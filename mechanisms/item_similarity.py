"""Similarities of items, and how far they move when one user leaves (X-Map's technical report, Theorem 2).

Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations: What You Might Like To Read After Watching
Interstellar". Items are compared as `dpassay.mechanisms.similarity` compares users, on the transposed matrix: the
adjusted cosine is the cosine of ratings less each user's mean, taken over both domains. Norms run over all raters of an
item, as in the released code, or over the co-raters of a pair, without which Theorem 2's remark on users who rated one
of the two items is false.

A dataset is a matrix of shape (users, items), NaN where a rating is missing. Functions of one target item give one
number per other item, in item order.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, Literal, ParamSpec, TypeVar

import jax
import jax.numpy as jnp

from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Bool, Float
from dpassay.mechanisms.selection import AbstractNeighborSelection
from dpassay.mechanisms.similarity import TIE_TOLERANCE, as_matrix, candidate_rows, overlaps, similarities, snap

P = ParamSpec("P")
T = TypeVar("T")
ItemSimilarity = Literal["adjusted_cosine", "cosine"]
Norms = Literal["all", "co_raters"]


class AbstractItemSelection(AbstractNeighborSelection):
    """A selection of k neighbors of an item: a selection of rows of the transposed matrix.

    `target` is the item; outputs are ascending item numbers.
    """

    _kind: ClassVar = "item"
    _others: ClassVar = "other items"

    def _shape(self, dataset: Any) -> tuple[int, ...]:
        return super()._shape(dataset)[::-1]

    def _matrix(self, dataset: Any) -> Float[Array, "items users"]:
        return super()._matrix(as_matrix(dataset).T)


def check_item(name: str, item: int, first: int, stop: int) -> None:
    """Raises InvalidInput unless first <= item < stop."""
    if not first <= item < stop:
        raise InvalidInput(f"{name} is item {item}, but it must be one of the items {first} to {stop - 1}")


def _compiled(function: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Compiles a function of a dataset; its other arguments are constants."""
    constants = list(inspect.signature(function).parameters)[1:]
    inner: Any = jax.jit(function, static_argnames=constants)

    @functools.wraps(function)
    def wrapped(dataset: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = inner(as_matrix(dataset), *args, **kwargs)
        return result

    return float64(wrapped)


@_compiled
def ratings_by_item(dataset: Any, similarity: ItemSimilarity = "adjusted_cosine") -> Float[Array, "items users"]:
    """What items are compared by: their ratings, less the user's mean for the adjusted cosine; NaN where missing."""
    matrix = as_matrix(dataset)
    if similarity == "adjusted_cosine":
        # A rating that equals the mean gives exactly 0, which decides what is defined.
        count = jnp.maximum(jnp.sum(~jnp.isnan(matrix), axis=1, keepdims=True), 1)
        matrix = (count * matrix - jnp.nansum(matrix, axis=1, keepdims=True)) / count
    return matrix.T


@_compiled
def item_similarities(
    dataset: Any,
    target: int = 0,
    similarity: ItemSimilarity = "adjusted_cosine",
    norms: Norms = "all",
    significance_cap: int = 1,
) -> Float[Array, " candidates"]:
    """Similarity of an item to every other, in [-1, 1]; 0 without a co-rater or when a norm is 0.

    Args:
        dataset: ratings, shape (users, items), NaN where missing.
        target: the item.
        similarity: of ratings less the user's mean ("adjusted_cosine"), or of the ratings ("cosine").
        norms: over all raters of each item, or over the co-raters of the pair.
        significance_cap: c in the factor min(co-raters, c) / c; 1 weights nothing, the released code has 50.
    """
    by_item = ratings_by_item(dataset, similarity)
    weight = jnp.minimum(overlaps(by_item, target), significance_cap) / significance_cap
    return snap(weight * similarities(by_item, target, _kind(norms)))


@_compiled
def co_rated_items(dataset: Any, target: int = 0) -> Bool[Array, " candidates"]:
    """Which other items share a rater with the target."""
    return overlaps(as_matrix(dataset).T, target) > 0


@_compiled
def quantified_items(
    dataset: Any, target: int = 0, similarity: ItemSimilarity = "adjusted_cosine", norms: Norms = "all"
) -> Bool[Array, " candidates"]:
    """Which other items have a similarity to the target: a common rater, and both norms positive."""
    own, others, both = _beside(ratings_by_item(dataset, similarity), target)
    counted = both if norms == "co_raters" else True
    nonzero = [jnp.any((jnp.nan_to_num(values) != 0) & counted, axis=-1) for values in (own, others)]
    return jnp.any(both, axis=1) & nonzero[0] & nonzero[1]


@_compiled
def item_sensitivities(
    dataset: Any, target: int = 0, similarity: ItemSimilarity = "adjusted_cosine", norms: Norms = "all"
) -> Float[Array, " candidates"]:
    """SS(target, j) of Theorem 2 for every other item j, a number computed from the data.

    The maximum over co-raters x of r_xi r_xj / (|r'_i| |r'_j|) and of dot / (|r'_i| |r'_j|) - dot / (|r_i| |r_j|),
    where r' is a vector without x.

    Returns:
        Infinity where some r' is 0, 0 without a co-rater; negative where all products and the dot product are.
    """
    own, others, both = _beside(ratings_by_item(dataset, similarity), target)
    counted = both if norms == "co_raters" else jnp.ones_like(both)
    values = [jnp.where(counted, jnp.nan_to_num(each), 0.0) for each in (own, others)]
    squares = [jnp.sum(each**2, axis=1, keepdims=True) for each in values]
    # Whether a norm without x is 0 is a matter of counting; the difference of squares may miss it by rounding.
    lefts = [jnp.sum(each != 0, axis=1, keepdims=True) - (each != 0) for each in values]
    finite = (lefts[0] > 0) & (lefts[1] > 0)
    rests = [square - each**2 for square, each in zip(squares, values, strict=True)]
    without = jnp.sqrt(jnp.where(finite, rests[0] * rests[1], 1.0))
    whole = jnp.sqrt(jnp.where(finite, squares[0] * squares[1], 1.0))
    product = jnp.where(both, values[0] * values[1], 0.0)
    dot = jnp.sum(product, axis=1, keepdims=True)
    change = jnp.maximum(product / without, dot * (whole - without) / (whole * without))
    largest = jnp.max(jnp.where(both, jnp.where(finite, change, jnp.inf), -jnp.inf), axis=1)
    return jnp.where(jnp.any(both, axis=1), largest, 0.0)


@_compiled
def released_sensitivities(dataset: Any, target: int = 0, significance_cap: int = 50) -> Float[Array, " candidates"]:
    """The released code's local sensitivity of the plain cosine with norms over all raters.

    The largest change of the weighted similarity when one co-rater's product is dropped, and her rating from one of the
    two norms only; a similarity over a zero norm is 0. 0 without a co-rater.
    """
    own, others, both = _beside(ratings_by_item(dataset, "cosine"), target)
    value1, value2 = jnp.broadcast_to(jnp.nan_to_num(own), others.shape), jnp.nan_to_num(others)
    squares1, squares2 = jnp.sum(value1**2, 1, keepdims=True), jnp.sum(value2**2, 1, keepdims=True)
    product = jnp.where(both, value1 * value2, 0.0)
    dot, count = jnp.sum(product, 1, keepdims=True), jnp.sum(both, 1, keepdims=True)

    def weighted(dot: Array, squares: Array, count: Array) -> Array:
        safe = jnp.where(squares > 0, squares, 1.0)
        return jnp.where(squares > 0, dot / jnp.sqrt(safe), 0.0) * jnp.minimum(count, significance_cap)

    whole = weighted(dot, squares1 * squares2, count)
    without = [
        weighted(dot - product, (squares1 - value1**2) * squares2, count - 1),
        weighted(dot - product, squares1 * (squares2 - value2**2), count - 1),
    ]
    change = jnp.max(jnp.abs(jnp.stack(without) - whole), axis=0) / significance_cap
    return jnp.max(jnp.where(both, change, 0.0), axis=1)


@_compiled
def normalized_similarities(dataset: Any, target: int = 0, threshold: float = 10.0) -> Float[Array, " candidates"]:
    """sum_u z_ui z_uj / threshold, clipped to [-1, 1], where z_u is user u's row less its mean, scaled to norm 1.

    A row of norm 1 has |z_ui z_uj| <= 1/2, so a user who joins or leaves moves every one of these similarities by at
    most 1 / (2 threshold).
    """
    values = jnp.nan_to_num(ratings_by_item(dataset, "adjusted_cosine"))
    squares = jnp.sum(values**2, axis=0)
    weighted = values[target] / jnp.where(squares > 0, squares, 1.0)
    rows = candidate_rows(len(values), target)
    return jnp.clip(values[rows] @ weighted / threshold, -1.0, 1.0)


def _beside(by_item: Float[Array, "items users"], target: int) -> tuple[Array, Array, Bool[Array, "candidates users"]]:
    """The target's row, those of all others, and who rated both."""
    own, others = by_item[target], by_item[candidate_rows(len(by_item), target)]
    return own, others, ~jnp.isnan(own) & ~jnp.isnan(others)


def usable_sensitivities(values: Float[Array, " candidates"]) -> Bool[Array, " candidates"]:
    """Where a sensitivity can divide: positive by more than rounding, and finite."""
    return (values > TIE_TOLERANCE) & jnp.isfinite(values)


def _kind(norms: Norms) -> Literal["cosine", "full_cosine"]:
    return "cosine" if norms == "co_raters" else "full_cosine"
