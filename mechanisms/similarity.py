"""Similarities of users, the recommendation-aware sensitivity, and the predicted rating.

Lu and Shen, "An Accuracy-Assured Privacy-Preserving Recommender System for Internet Commerce": Pearson correlation (4),
cosine over co-rated items (5), sensitivity RS (3), prediction (6). The floor-norm cosine is ours.

A dataset is a matrix of shape (users, items), NaN where a rating is missing. Functions of one target give one number
per candidate, that is per row other than the target's, in row order; the all-pairs forms are a few matrix products.

Ties decide which sets are possible, so equal similarities should be equal floats. Every similarity is therefore
computed as sign * sqrt(dot^2 / (A B)) from sums that are exact for integer ratings: one correctly rounded quotient of
exact numbers depends on their ratio only (the Pearson correlation is multiplied by both counts first, which keeps it
to integers). `snap` catches what remains for other ratings.
"""

from functools import partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp

from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Bool, Float, Int
from dpassay.data.ratings import Ratings

Similarity = Literal["cosine", "full_cosine", "pearson"]
SensitivityForm = Literal["printed", "dot"]

TIE_TOLERANCE = 1e-12
"""Similarities closer than this are equal: far above the rounding error of one quotient and one square root in [-1, 1]
(about 1e-16), and far below the distance of different cosines of a few small integers."""


def as_matrix(dataset: Any) -> Float[Array, "users items"]:
    """The dataset as a float64 matrix of shape (users, items), NaN where a rating is missing.

    Call it inside `dpassay.core.numerics.float64`.

    Raises:
        InvalidInput: not a matrix.
    """
    matrix = jnp.asarray(dataset.dense() if isinstance(dataset, Ratings) else dataset, jnp.float64)
    if matrix.ndim != 2:
        raise InvalidInput(f"a rating dataset is a matrix of shape (users, items), got shape {matrix.shape}")
    return matrix


def candidate_rows(num_users: int, target: int) -> Int[Array, " candidates"]:
    """The rows other than the target's, ascending.

    Raises:
        InvalidInput: the target is not a row.
    """
    if not 0 <= target < num_users:
        raise InvalidInput(f"target is row {target}, but the dataset has rows 0 to {num_users - 1}; choose one of them")
    candidate = jnp.arange(num_users - 1)
    return candidate + (candidate >= target)


@float64
def similarities(dataset: Any, target: int = 0, similarity: Similarity = "cosine") -> Float[Array, " candidates"]:
    """Similarity of the target to every candidate, in [-1, 1]; 0 without a co-rated item or when a norm is 0.

    Args:
        dataset: ratings, shape (users, items), NaN where missing.
        target: row of the target user.
        similarity: "cosine" (5), over co-rated items; "full_cosine", with each norm over all of a user's own ratings;
            "pearson" (4), each user's mean taken over all of the user's ratings, the sums over co-rated items.

    Raises:
        InvalidInput: unknown similarity, or the target is not a row.
    """
    matrix = as_matrix(dataset)
    rows = candidate_rows(matrix.shape[0], target)
    return _similarity(matrix[target : target + 1], matrix, similarity)[0, rows]


@float64
def similarity_matrix(dataset: Any, similarity: Similarity = "cosine") -> Float[Array, "users users"]:
    """`similarities` of all pairs of users, by matrix products; the diagonal is a user's similarity to itself."""
    matrix = as_matrix(dataset)
    return _similarity(None, matrix, similarity)


@float64
def floor_norm_cosine(
    dataset: Any, target: int = 0, *, norm_floor: float, max_rating: float = 5.0
) -> Float[Array, " candidates"]:
    """<a, i> / (max(|a|, c) max(|i|, c)) over full rating vectors, c = `norm_floor`; in [0, 1].

    Ratings are first clipped to [0, max_rating], so that `floor_norm_sensitivity` bounds the change whatever the data
    are. Missing ratings count as 0.
    """
    matrix = as_matrix(dataset)
    rows = candidate_rows(matrix.shape[0], target)
    return _floor_norm(matrix[target : target + 1], matrix, norm_floor, max_rating)[0, rows]


@float64
def floor_norm_cosine_matrix(
    dataset: Any, *, norm_floor: float, max_rating: float = 5.0
) -> Float[Array, "users users"]:
    """`floor_norm_cosine` of all pairs of users."""
    matrix = as_matrix(dataset)
    return _floor_norm(matrix, matrix, norm_floor, max_rating)


def floor_norm_sensitivity(norm_floor: float, max_rating: float = 5.0) -> float:
    """min(1, R^2/c^2): how far one floor-norm cosine moves when one rating appears, disappears or changes."""
    return min(1.0, max_rating**2 / norm_floor**2)


@float64
def overlaps(dataset: Any, target: int = 0) -> Int[Array, " candidates"]:
    """How many items the target and each candidate have both rated."""
    matrix = as_matrix(dataset)
    rows = candidate_rows(matrix.shape[0], target)
    return jnp.sum(~jnp.isnan(matrix[rows]) & ~jnp.isnan(matrix[target]), axis=1)


@float64
def overlap_matrix(dataset: Any) -> Int[Array, "users users"]:
    """How many items each pair of users has both rated."""
    rated = _rated(as_matrix(dataset))
    return jnp.rint(rated @ rated.T).astype(int)


@float64
def sensitivities(
    dataset: Any, target: int = 0, similarity: Similarity = "cosine", form: SensitivityForm = "printed"
) -> Float[Array, " candidates"]:
    """Recommendation-aware sensitivity RS(target, i) (3) of every candidate; a number computed from the data.

    The maximum over co-rated items s of r_as r_is / (|r'_a| |r'_i|) and of
    x (|r_a| |r_i| - |r'_a| |r'_i|) / (|r_a| |r_i| |r'_a| |r'_i|), where r' is the vector without item s.

    Args:
        dataset: ratings, shape (users, items), NaN where missing.
        target: row of the target user.
        similarity: decides the norms: over all of a user's own ratings for "full_cosine", else over co-rated items.
        form: x is r_as r_is as printed, or the dot product r_a . r_i ("dot", the form in the X-Map paper).

    Returns:
        Infinity where some r' is 0 (a single co-rated item), 0 where no item is co-rated.

    Raises:
        InvalidInput: unknown similarity or form, or the target is not a row.
    """
    matrix = as_matrix(dataset)
    rows = candidate_rows(matrix.shape[0], target)
    return _sensitivity(matrix[target], matrix[rows], similarity, form)


@float64
def sensitivity_matrix(
    dataset: Any, similarity: Similarity = "cosine", form: SensitivityForm = "printed"
) -> Float[Array, "users users"]:
    """`sensitivities` of all pairs of users, one target at a time (the maximum over items is no matrix product)."""
    matrix = as_matrix(dataset)
    return _every_sensitivity(matrix, similarity, form)


@float64
def predict(similarity: Any, ratings: Any) -> Float[Array, ""]:
    """Predicted rating (6): sum sim r / sum |sim| over the neighbors who rated the item.

    Args:
        similarity: of the neighbors to the target, shape (neighbors,).
        ratings: the neighbors' ratings of the item, shape (neighbors,), NaN where missing; who has none counts in
            neither sum.

    Returns:
        NaN when no neighbor rated the item or all who did have similarity 0.
    """
    similarity, ratings = jnp.asarray(similarity, jnp.float64), jnp.asarray(ratings, jnp.float64)
    rated = ~jnp.isnan(ratings)
    numerator = jnp.sum(jnp.where(rated, similarity * jnp.where(rated, ratings, 0.0), 0.0))
    denominator = jnp.sum(jnp.where(rated, jnp.abs(similarity), 0.0))
    return jnp.where(denominator > 0, numerator / jnp.where(denominator > 0, denominator, 1.0), jnp.nan)


def snap(values: Float[Array, " candidates"], tolerance: float = TIE_TOLERANCE) -> Float[Array, " candidates"]:
    """Makes equal what differs by rounding: each run of values at most `tolerance` apart becomes its largest value.

    A run is closed under "at most `tolerance` apart", unlike the cells of a rounding grid, whose borders separate
    values that are arbitrarily close.
    """
    order = jnp.argsort(-values)
    descending = values[order]
    starts = jnp.concatenate([jnp.ones(1, bool), descending[:-1] - descending[1:] > tolerance])
    first = jax.lax.cummax(jnp.where(starts, jnp.arange(len(values)), 0))
    return jnp.zeros_like(values).at[order].set(descending[first])


@partial(jax.jit, static_argnames="similarity")
def _similarity(
    targets: Float[Array, "targets items"] | None, users: Float[Array, "users items"], similarity: Similarity
) -> Float[Array, "targets users"]:
    """Similarity of every target to every user; no targets means all users, which saves a matrix product."""
    if similarity not in get_args(Similarity):
        raise InvalidInput(f"similarity {similarity!r}: use one of {', '.join(get_args(Similarity))}")
    clean = _centered if similarity == "pearson" else jnp.nan_to_num
    values2 = clean(users)
    values1 = values2 if targets is None else clean(targets)
    dot = values1 @ values2.T
    if similarity == "full_cosine":
        squares1, squares2 = jnp.sum(values1**2, 1)[:, None], jnp.sum(values2**2, 1)[None, :]
    else:
        squares1 = values1**2 @ _rated(users).T
        squares2 = squares1.T if targets is None else _rated(targets) @ (values2**2).T
    return _quotient(dot, squares1 * squares2)


@jax.jit
def _floor_norm(
    targets: Float[Array, "targets items"], users: Float[Array, "users items"], norm_floor: float, max_rating: float
) -> Float[Array, "targets users"]:
    values1 = jnp.clip(jnp.nan_to_num(targets), 0.0, max_rating)
    values2 = jnp.clip(jnp.nan_to_num(users), 0.0, max_rating)
    squares1 = jnp.maximum(jnp.sum(values1**2, 1), norm_floor**2)
    squares2 = jnp.maximum(jnp.sum(values2**2, 1), norm_floor**2)
    return _quotient(values1 @ values2.T, squares1[:, None] * squares2[None, :])


@partial(jax.jit, static_argnames=("similarity", "form"))
def _every_sensitivity(
    matrix: Float[Array, "users items"], similarity: Similarity, form: SensitivityForm
) -> Float[Array, "users users"]:
    return jax.lax.map(lambda row: _sensitivity(row, matrix, similarity, form), matrix)


@partial(jax.jit, static_argnames=("similarity", "form"))
def _sensitivity(
    target: Float[Array, " items"], users: Float[Array, "users items"], similarity: Similarity, form: SensitivityForm
) -> Float[Array, " users"]:
    if similarity not in get_args(Similarity):
        raise InvalidInput(f"similarity {similarity!r}: use one of {', '.join(get_args(Similarity))}")
    if form not in get_args(SensitivityForm):
        raise InvalidInput(f"sensitivity form {form!r}: use one of {', '.join(get_args(SensitivityForm))}")
    both = ~jnp.isnan(target) & ~jnp.isnan(users)
    own1 = jnp.broadcast_to(jnp.nan_to_num(target) ** 2, users.shape)
    own2 = jnp.nan_to_num(users) ** 2
    if similarity != "full_cosine":
        own1, own2 = jnp.where(both, own1, 0.0), jnp.where(both, own2, 0.0)
    squares1, squares2 = jnp.sum(own1, 1, keepdims=True), jnp.sum(own2, 1, keepdims=True)
    norms = jnp.sqrt(squares1 * squares2)
    norms_without = jnp.sqrt((squares1 - own1) * (squares2 - own2))
    product = jnp.where(both, jnp.nan_to_num(target) * jnp.nan_to_num(users), 0.0)
    second = product if form == "printed" else jnp.sum(product, 1, keepdims=True)
    finite = norms_without > 0
    safe = jnp.where(finite, norms_without, 1.0)
    whole = jnp.where(norms > 0, norms, 1.0)
    larger = jnp.maximum(product / safe, second * (norms - norms_without) / (whole * safe))
    largest = jnp.max(jnp.where(both, jnp.where(finite, larger, jnp.inf), -jnp.inf), 1)
    return jnp.where(jnp.any(both, 1), largest, 0.0)


def _rated(matrix: Float[Array, "users items"]) -> Float[Array, "users items"]:
    return (~jnp.isnan(matrix)).astype(matrix.dtype)


def _centered(matrix: Float[Array, "users items"]) -> Float[Array, "users items"]:
    """Ratings minus the user's mean, times the user's number of ratings; 0 where missing."""
    rated: Bool[Array, "users items"] = ~jnp.isnan(matrix)
    filled = jnp.nan_to_num(matrix)
    count = jnp.sum(rated, 1, keepdims=True)
    return jnp.where(rated, count * filled - jnp.sum(filled, 1, keepdims=True), 0.0)


def _quotient(dot: Float[Array, "..."], squares: Float[Array, "..."]) -> Float[Array, "..."]:
    """dot / sqrt(squares), 0 where `squares` is 0; see the module's note on ties."""
    return jnp.where(squares > 0, jnp.sign(dot) * jnp.sqrt(dot**2 / jnp.where(squares > 0, squares, 1.0)), 0.0)
