"""Publishing a rating matrix by a sparse sketch: Algorithm 1 of Chen et al. (WWW 2022) with SJLT, and our repair.

Dataset, orientation and neighbors are those of `dpassay.mechanisms.jlt`. The paper's random matrix is M = P H D: D
random signs, H the Hadamard matrix, P sparse with Gaussian entries (Definition 3.7). Its privacy proof "follows the
same procedure" as for a Gaussian M, but given the zeros of a row of P that row of the sketch lies in a subspace that
depends on the data.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Float
from dpassay.mechanisms.jlt import (
    AbstractSketch,
    algorithm_noise,
    bounded,
    centered,
    chunked_product,
    lifted,
    released_centered,
    released_noise,
    standard_normal,
)
from dpassay.mechanisms.sketch_profile import fixed_norm_noise
from dpassay.mechanisms.wallenius import uniform

Hadamard = Literal["padded", "formula"]


@dataclass(frozen=True)
class _SparseSketch(AbstractSketch):
    """A sketch whose random matrix has many zeros.

    Attributes:
        density: q in (0, 1], the chance that an entry of the sparse matrix is not 0. Algorithm 1 asks for q = O(1/m),
            m users; the experiments take sp in {0.1, ..., 0.9}.
    """

    density: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("density", self.density)
        if self.density > 1:
            raise InvalidInput(f"density is {self.density}; it must be at most 1")


@final
@dataclass(frozen=True)
class SparseAwareSketch(_SparseSketch):
    """Algorithm 1 with SJLT: center, lift the singular values, multiply by P H D / sqrt(r).

    Attributes:
        hadamard: "padded": items are padded with zero rows to a power of two, where H is orthogonal. "formula": the
            printed n x n matrix n^(-1/2) (-1)^(i-1, j-1), orthogonal for powers of two only.
    """

    hadamard: Hadamard = "padded"

    @property
    def noise(self) -> float:
        """Line 4 of Algorithm 1."""
        return algorithm_noise(self.epsilon, self.delta, self.num_rows)

    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]:
        return _hadamard_sketch(key, centered(matrix), self.noise, self.density, self.num_rows, self.hadamard)


@final
@dataclass(frozen=True)
class ReleasedSparseSketch(_SparseSketch):
    """What the authors' code computes: entries 0 and +-1/sqrt(q r), no H, no D, and a second division by sqrt(r)."""

    @property
    def noise(self) -> float:
        """w of appendix B.1, with epsilon in the place of epsilon_0."""
        return released_noise(self.epsilon, self.delta, self.num_rows)

    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]:
        return _sign_sketch(key, released_centered(matrix), self.noise, self.density, self.num_rows)


@final
@dataclass(frozen=True)
class ColumnSketch(AbstractSketch):
    """Publishes (M R + w N) / sqrt(r), every column of M with k entries +-sqrt(r/k): Gaussian-DP with mu = sqrt(r)/w.

    The rows are cut into k blocks; a column has one entry in each, at a random place with a random sign. All columns
    have norm sqrt(r), which makes the profile that of one Gaussian shift. Multiplying costs k additions per rating.

    Attributes:
        num_nonzeros: k, a divisor of `num_rows`; 1 is the count sketch.
        max_change: the norm of a protected change of one row, as one rating that changes by so much; ratings are
            clipped to [0, max_change]. (A whole user changes many rows: use `AdditiveSketch`.)
    """

    num_nonzeros: int = 1
    max_change: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("num_nonzeros", self.num_nonzeros, 1)
        check_positive("max_change", self.max_change)
        if self.num_rows % self.num_nonzeros:
            raise InvalidInput(f"num_nonzeros is {self.num_nonzeros}; it must divide num_rows = {self.num_rows}")

    @property
    def noise(self) -> float:
        """The smallest w that the exact profile allows, rounded up."""
        return self.max_change * fixed_norm_noise(self.epsilon, self.delta, self.num_rows)

    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]:
        limited = bounded(matrix, "rating", self.max_change)
        return _column_sketch(key, limited, self.noise, self.num_rows, self.num_nonzeros)


@float64
def hadamard_transform(matrix: Any, kind: Hadamard = "padded") -> Float[Array, "rows columns"]:
    """H A by the fast transform, O(n log n) per column.

    Args:
        matrix: A, shape (n, columns).
        kind: "padded": the orthonormal matrix of the next power of two, so as many rows come back; "formula": the
            n x n matrix n^(-1/2) (-1)^(i-1, j-1) of Definition 3.7, (i, j) the inner product of bits.
    """
    matrix = jnp.asarray(matrix, float)
    rows, columns = matrix.shape
    size = 1 << (rows - 1).bit_length()
    values = jnp.zeros((size, columns), matrix.dtype).at[:rows].set(matrix)
    step = 1
    while step < size:
        pairs = values.reshape(-1, 2, step, columns)
        values = jnp.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size, columns)
        step *= 2
    return values / math.sqrt(size) if kind == "padded" else values[:rows] / math.sqrt(rows)


@partial(jax.jit, static_argnames=("num_rows", "hadamard"))
def _hadamard_sketch(
    key: Any, matrix: Float[Array, "items users"], noise: Any, density: Any, num_rows: int, hadamard: Hadamard
) -> Float[Array, "rows users"]:
    key_signs, key_sparse = jax.random.split(key)
    signs = _signs(key_signs, (matrix.shape[0], 1))
    mixed = hadamard_transform(signs * lifted(matrix, noise), hadamard)

    def entries(key_chunk: Any, shape: tuple[int, ...]) -> Float[Array, "size items"]:
        key_mask, key_values = jax.random.split(key_chunk)
        kept = uniform(key_mask, shape) < density
        return jnp.where(kept, standard_normal(key_values, shape) / jnp.sqrt(density), 0.0)

    return chunked_product(key_sparse, mixed, num_rows, entries) / math.sqrt(num_rows)


@partial(jax.jit, static_argnames="num_rows")
def _sign_sketch(
    key: Any, matrix: Float[Array, "items users"], noise: Any, density: Any, num_rows: int
) -> Float[Array, "rows users"]:
    def entries(key_chunk: Any, shape: tuple[int, ...]) -> Float[Array, "size items"]:
        key_mask, key_signs = jax.random.split(key_chunk)
        kept = uniform(key_mask, shape) < density
        return jnp.where(kept, _signs(key_signs, shape) / jnp.sqrt(density * num_rows), 0.0)

    return chunked_product(key, lifted(matrix, noise), num_rows, entries) / math.sqrt(num_rows)


@partial(jax.jit, static_argnames=("num_rows", "num_nonzeros"))
def _column_sketch(
    key: Any, matrix: Float[Array, "items users"], noise: Any, num_rows: int, num_nonzeros: int
) -> Float[Array, "rows users"]:
    key_noise, *key_blocks = jax.random.split(key, num_nonzeros + 1)
    size = num_rows // num_nonzeros

    def block(key_block: Any) -> Float[Array, "size users"]:
        key_places, key_signs = jax.random.split(key_block)
        places = jax.random.randint(key_places, matrix.shape[:1], 0, size, jnp.int32)
        return jax.ops.segment_sum(_signs(key_signs, (matrix.shape[0], 1)) * matrix, places, size)

    blocks = jax.lax.map(block, jnp.stack(key_blocks)).reshape(num_rows, matrix.shape[1])
    added = standard_normal(key_noise, (num_rows, matrix.shape[1]))
    return blocks / math.sqrt(num_nonzeros) + noise / math.sqrt(num_rows) * added


def _signs(key: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    return 1.0 - 2.0 * (jax.random.bits(key, shape, jnp.uint32) >> 31).astype(jnp.float64)
