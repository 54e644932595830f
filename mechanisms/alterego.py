"""Alter egos: a user's profile carried item by item into another domain (X-Map). A building block, not private."""

from typing import Any

import jax
import jax.numpy as jnp

from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Float
from dpassay.mechanisms.similarity import as_matrix


@float64
def alterego(dataset: Any, replacements: Any) -> Float[Array, "users targets"]:
    """Every user's ratings of source-domain items as ratings of their replacements in the target domain.

    Several rated items with one replacement give their mean rating. Where the user has rated a target-domain item, that
    rating stays.

    Args:
        dataset: ratings, shape (users, items), NaN where missing; the first columns are the source domain.
        replacements: for every source-domain item the number of its replacement, a target-domain item, or -1 for none;
            shape (source-domain items,). One privately drawn replacement costs epsilon, so those of L items cost L
            epsilon.

    Raises:
        InvalidInput: a replacement outside the target domain (not checked under a transformation).
    """
    matrix, mapped = as_matrix(dataset), jnp.asarray(replacements)
    num_sources = len(mapped)
    if mapped.ndim != 1 or not num_sources < matrix.shape[1]:
        raise InvalidInput(
            f"replacements have shape {mapped.shape} for a dataset of {matrix.shape[1]} items; give one for every item "
            "of the source domain, and leave at least one item for the target domain"
        )
    outside = (mapped != -1) & ((mapped < num_sources) | (mapped >= matrix.shape[1]))
    if not isinstance(outside, jax.core.Tracer) and bool(jnp.any(outside)):
        raise InvalidInput(
            f"a replacement is not one of the items {num_sources} to {matrix.shape[1] - 1}; use -1 for no replacement"
        )
    sources, targets = matrix[:, :num_sources], matrix[:, num_sources:]
    lands = (mapped[:, None] - num_sources == jnp.arange(targets.shape[1])).astype(matrix.dtype)
    count = (~jnp.isnan(sources)).astype(matrix.dtype) @ lands
    mean = jnp.nan_to_num(sources) @ lands / jnp.where(count > 0, count, jnp.nan)
    return jnp.where(jnp.isnan(targets), mean, targets)
