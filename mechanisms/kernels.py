"""Kernels over items for determinantal point processes (Fitzsimons et al., sec. 2.3), and where they are no kernels.

A dataset is a matrix of shape (users, items), NaN where a user has nothing to do with an item, which counts as 0. The
features of an item are its column: which users read it, or how often. The dot product, the RBF and, with an offset
>= 0, the polynomial kernel are positive semidefinite on all data; the sigmoid kernel is not, although the paper lists
it with the others (of one user who read two items, once and three times, it has a negative eigenvalue).
"""

from typing import Any, Literal, get_args

import jax.numpy as jnp

from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Float
from dpassay.mechanisms.similarity import as_matrix

Kernel = Literal["dot", "rbf", "polynomial", "sigmoid"]


@float64
def kernel_matrix(
    dataset: Any, kernel: Kernel = "dot", *, scale: float = 1.0, degree: int = 2, offset: float = 1.0
) -> Float[Array, "items items"]:
    """The kernel between every two items, without jitter.

    Args:
        dataset: shape (users, items), NaN where missing.
        kernel: "dot", x.y; "rbf", exp(-scale |x - y|^2); "polynomial", (x.y + offset)^degree; "sigmoid",
            tanh(scale x.y + offset).
        scale: gamma of the RBF kernel, alpha of the sigmoid kernel.
        degree: d of the polynomial kernel.
        offset: c of the polynomial and the sigmoid kernel.

    Raises:
        InvalidInput: an unknown kernel, or a dataset that is not a matrix.
    """
    columns = features(dataset)
    product = columns.T @ columns
    if kernel == "dot":
        return product
    if kernel == "rbf":
        square = jnp.diagonal(product)
        return jnp.exp(-scale * jnp.maximum(square[:, None] + square[None, :] - 2 * product, 0.0))
    if kernel == "polynomial":
        return (product + offset) ** degree
    if kernel == "sigmoid":
        return jnp.tanh(scale * product + offset)
    raise InvalidInput(f"kernel is {kernel!r}; use one of {', '.join(get_args(Kernel))}")


def always_semidefinite(kernel: Kernel, *, offset: float = 1.0) -> bool:
    """Whether the kernel is positive semidefinite on every dataset, for all its other parameters."""
    return kernel in ("dot", "rbf") or (kernel == "polynomial" and offset >= 0)


@float64
def features(dataset: Any) -> Float[Array, "users items"]:
    """The dataset with 0 for what is missing.

    Raises:
        InvalidInput: not a matrix.
    """
    matrix = as_matrix(dataset)
    return jnp.where(jnp.isnan(matrix), 0.0, matrix)
