"""Lists for everybody from item scores: the most popular, ways to spread them, and a private choice.

`top_items` and `exponential_top` look at scores alone, the others also at how similar the items are. Only
`exponential_top` is private, and what is made of it without another look at the data.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.wallenius import gumbel


def top_items(scores: np.ndarray, size: int) -> np.ndarray:
    """The items with the largest scores, shape (size,); of equal ones the first.

    Raises:
        InvalidInput: a size that is not between 1 and the number of items.
    """
    _check_size(size, len(scores))
    return np.argsort(-np.asarray(scores), kind="stable")[:size]


@float64
def marginal_relevance(scores: Any, similarity: Any, size: int, trade_off: float) -> Int[Array, " size"]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998): trade_off * score - (1 - trade_off) * similarity.

    Items are taken one by one; the similarity is the largest to an item taken before, 0 for the first.

    Scores have shape (items,), on the scale of the similarities, which have shape (items, items); lambda, the
    `trade_off`, is in [0, 1], and 1 is `top_items`.

    Raises:
        InvalidInput: a trade-off outside [0, 1], or an impossible size.
    """
    if not 0 <= trade_off <= 1:
        raise InvalidInput(f"trade_off is {trade_off}; it must be between 0 and 1")
    _check_size(size, len(scores))
    return _marginal_relevance(jnp.asarray(scores), jnp.asarray(similarity), size, trade_off)


@float64
def greedy_determinant(kernel: Any, size: int) -> Int[Array, " size"]:
    """Greedy search for the set of largest det(L_Y), by growing a Cholesky factor (Chen, Zhang and Zhou 2018, Alg. 1).

    The kernel L is positive semidefinite, shape (items, items).

    Raises:
        InvalidInput: an impossible size.
    """
    _check_size(size, len(kernel))
    return _greedy_determinant(jnp.asarray(kernel), size)


@float64
def exponential_top(key: Any, scores: Any, size: int, epsilon: float, num_lists: int) -> Int[Array, "lists size"]:
    """Private lists of items with large counts: the exponential mechanism, `size` times without replacement.

    Every list is `epsilon`-DP when one user is added or removed and a score counts each user at most once. Adding a
    user raises every score by a number in [0, 1] (sensitivity 1, all in one direction), so one draw with weights
    exp(epsilon/size * score) has a loss of at most epsilon/size: numerator and denominator of a probability both grow
    by factors in [1, e^(epsilon/size)]. `size` draws, each given the ones before, add up to epsilon (McSherry and
    Talwar 2007; scores that move in one direction need no factor 2). All draws of a list are made at once, by adding
    Gumbel noise.

    Scores say how many users have each item, shape (items,); epsilon is that of one list, nats.

    Returns:
        Item numbers in the order drawn.

    Raises:
        InvalidInput: epsilon that is not > 0, or an impossible size.
    """
    check_positive("epsilon", epsilon)
    check_count("num_lists", num_lists, 1)
    _check_size(size, len(scores))
    return _exponential_top(key, jnp.asarray(scores) * (epsilon / size), size, num_lists)


@float64
def spread(candidates: Any, distances: Any, size: int) -> Int[Array, "lists size"]:
    """From each list of candidates the first, then always the one farthest from all taken (Gonzalez 1985).

    With public distances this costs no privacy. Of equally far ones the earlier candidate is taken.

    Candidates are item numbers, shape (lists, candidates); distances have shape (items, items).

    Raises:
        InvalidInput: a size that is not between 1 and the number of candidates.
    """
    candidates = jnp.asarray(candidates)
    _check_size(size, candidates.shape[1])
    return _spread(candidates, jnp.asarray(distances), size)


def _check_size(size: int, num_items: int) -> None:
    check_count("size", size, 1)
    if size > num_items:
        raise InvalidInput(f"size is {size}, but there are {num_items} items; use a size of at most {num_items}")


@partial(jax.jit, static_argnums=2)
def _marginal_relevance(
    scores: Float[Array, " n"], similarity: Float[Array, "n n"], size: int, trade_off: Any
) -> Int[Array, " size"]:
    def take(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        taken, nearest = state
        value = trade_off * scores - (1 - trade_off) * nearest
        item = jnp.argmax(jnp.where(taken, -jnp.inf, value))
        first = ~jnp.any(taken)
        nearest = jnp.where(first, similarity[item], jnp.maximum(nearest, similarity[item]))
        return (taken.at[item].set(True), nearest), item

    start = (jnp.zeros(len(scores), bool), jnp.zeros(len(scores)))
    return jax.lax.scan(take, start, None, size)[1]


@partial(jax.jit, static_argnums=1)
def _greedy_determinant(kernel: Float[Array, "n n"], size: int) -> Int[Array, " size"]:
    def take(state: tuple[Array, Array, Array], place: Array) -> tuple[tuple[Array, Array, Array], Array]:
        taken, gains, factor = state
        item = jnp.argmax(jnp.where(taken, -jnp.inf, gains))
        pivot = jnp.sqrt(jnp.maximum(gains[item], jnp.finfo(gains.dtype).tiny))
        row = (kernel[item] - factor[:, item] @ factor) / pivot
        return (taken.at[item].set(True), gains - row**2, factor.at[place].set(row)), item

    start = (jnp.zeros(len(kernel), bool), jnp.diagonal(kernel), jnp.zeros((size, len(kernel))))
    return jax.lax.scan(take, start, jnp.arange(size))[1]


@partial(jax.jit, static_argnums=(2, 3))
def _exponential_top(key: Any, logits: Float[Array, " n"], size: int, num_lists: int) -> Int[Array, "lists size"]:
    return jax.lax.top_k(logits + gumbel(key, (num_lists, len(logits))), size)[1]


@partial(jax.jit, static_argnums=2)
def _spread(
    candidates: Int[Array, "lists candidates"], distances: Float[Array, "n n"], size: int
) -> Int[Array, "lists size"]:
    def one(items: Array) -> Array:
        def take(nearest: Array, _: None) -> tuple[Array, Array]:
            place = jnp.argmax(nearest)
            nearest = jnp.minimum(nearest, distances[items[place], items])
            return nearest.at[place].set(-1.0), items[place]

        return jax.lax.scan(take, jnp.full(len(items), jnp.inf), None, size)[1]

    return jax.vmap(one)(candidates)
