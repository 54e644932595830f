"""Publishing a rating matrix by a Gaussian sketch: Algorithm 1 of Chen et al. (WWW 2022) with JLT, and our repair.

The dataset is the matrix R of shape (items, users), NaN or 0 where a rating is missing: the orientation that line 15 of
Algorithm 1 multiplies (elsewhere the paper and its code write users x items). The sketch has shape (rows, users): it
compresses the items. Neighboring matrices differ in one rating, by at most 1 (Definition 3.2 prints "less than 1").

Sampling is float64; a Gaussian variable is made of one 32-bit word, so its tails end at 6.2 standard deviations.
"""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_choices, check_count, check_open_unit, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float
from dpassay.mechanisms.sketch_profile import exact_delta as exact_delta  # where the theorem's page says they are
from dpassay.mechanisms.sketch_profile import exact_epsilon as exact_epsilon
from dpassay.mechanisms.sketch_profile import required_noise as required_noise

Protect = Literal["rating", "user"]

CHUNK = 512  # rows of the random matrix that are in memory at once


@dataclass(frozen=True)
class AbstractSketch(abc.ABC):
    """Releases a matrix of shape (rows, users) from a rating matrix of shape (items, users).

    Attributes:
        epsilon: nats, for the whole matrix.
        delta: in (0, 1); the paper takes one over the number of users.
        num_rows: r, the paper's n'_1; `sketch_rows` computes it from eta and mu.
    """

    epsilon: float = 1.0
    delta: float = 1e-4
    num_rows: int = 100

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_open_unit("delta", self.delta)
        check_count("num_rows", self.num_rows, 1)
        check_choices(self)

    @property
    def claim(self) -> PrivacyClaim:
        """(epsilon, delta) for one rating that changes by at most 1."""
        return PrivacyClaim(self.epsilon, self.delta, NeighboringRelation("add_or_remove_one", "rating"))

    @property
    @abc.abstractmethod
    def noise(self) -> float:
        """w, in ratings: what singular values are lifted by, or the scale of the added noise."""

    @float64
    def sample(self, key: Any, dataset: Any) -> Float[Array, "rows users"]:
        """One published matrix.

        Args:
            key: JAX PRNG key.
            dataset: ratings, shape (items, users); NaN counts as 0.

        Raises:
            InvalidInput: not a matrix of finite ratings (values are not checked under a JAX transformation).
        """
        return self._sample(key, read_matrix(dataset))

    @abc.abstractmethod
    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]: ...


@final
@dataclass(frozen=True)
class GaussianSketch(AbstractSketch):
    """Algorithm 1 with JLT: center the items, lift the singular values to sqrt(sigma^2 + w^2), multiply by a Gaussian.

    The claim, Theorem 5.2, fails where there are at least two more users than items: the published rows then lie in the
    row space of the centered matrix, which depends on the data. With at least as many items as users the law is that of
    `AdditiveSketch` on the centered matrix.
    """

    @property
    def noise(self) -> float:
        """Line 4 of Algorithm 1."""
        return algorithm_noise(self.epsilon, self.delta, self.num_rows)

    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]:
        return _gaussian_sketch(key, centered(matrix), self.noise, self.num_rows)


@final
@dataclass(frozen=True)
class ReleasedGaussianSketch(AbstractSketch):
    """What the authors' code computes: its own w for the epsilon it is given, ratings cut to integers, off-center.

    The mean that is subtracted is the sum over users divided by the number of items. The guarantee that the code aims
    at for its epsilon is Theorem 5.1's, for one row of r; `claim` says what a user of the code is told.
    """

    @property
    def noise(self) -> float:
        """w of appendix B.1, with epsilon in the place of epsilon_0."""
        return released_noise(self.epsilon, self.delta, self.num_rows)

    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]:
        return _gaussian_sketch(key, released_centered(matrix), self.noise, self.num_rows)


@final
@dataclass(frozen=True)
class AdditiveSketch(AbstractSketch):
    """Publishes (M R + w N) / sqrt(r) with Gaussian M and N and the exact w: (epsilon, delta)-private, any shape.

    No singular value decomposition, no condition on the shape, and R may stay sparse. `required_noise` gives w.

    Attributes:
        protect: "rating": ratings are clipped to [0, max_change] and one of them may change. "user": a user's column is
            scaled down to norm `max_change`, and one whole column may appear, vanish, or be so changed that the
            difference has that norm.
        max_change: the norm c of a protected change. Noise is proportional to it: c = sqrt(k) protects k ratings of
            one user.
        max_raters: None, or a number that no item's raters other than one exceed; then ratings above 0 count as 1, and
            less noise will do. The number of users less one is such a number. With protect="rating" only.
    """

    protect: Protect = "rating"
    max_change: float = 1.0
    max_raters: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("max_change", self.max_change)
        if self.max_raters is not None:
            check_count("max_raters", self.max_raters, 1)
            if self.protect != "rating" or self.max_change != 1 or self.num_rows % 2:
                raise InvalidInput("max_raters needs protect='rating', max_change=1 and an even num_rows")

    @property
    def claim(self) -> PrivacyClaim:
        """(epsilon, delta) for one rating or one user added or removed."""
        return PrivacyClaim(self.epsilon, self.delta, NeighboringRelation("add_or_remove_one", self.protect))

    @property
    def noise(self) -> float:
        """The smallest w that the exact profile allows, rounded up."""
        return self.max_change * required_noise(self.epsilon, self.delta, self.num_rows, self.max_raters)

    def _sample(self, key: Any, matrix: Float[Array, "items users"]) -> Float[Array, "rows users"]:
        if self.max_raters is not None and matrix.shape[1] > self.max_raters + 1:
            raise InvalidInput(
                f"{matrix.shape[1]} users can be more than {self.max_raters} other raters of one item; "
                f"set max_raters to {matrix.shape[1] - 1}"
            )
        return _additive_sketch(key, self._bounded(matrix), self.noise, self.num_rows)

    def _bounded(self, matrix: Float[Array, "items users"]) -> Float[Array, "items users"]:
        if self.max_raters is not None:
            return (matrix > 0).astype(matrix.dtype)
        return bounded(matrix, self.protect, self.max_change)


def sketch_rows(eta: float, mu: float) -> int:
    """r = 8 ln(2/mu) / eta^2, rounded up (Algorithm 1, line 4).

    Raises:
        InvalidInput: eta or mu outside (0, 1).
    """
    check_open_unit("eta", eta)
    check_open_unit("mu", mu)
    return math.ceil(8 * math.log(2 / mu) / eta**2)


def algorithm_noise(epsilon: float, delta: float, num_rows: int) -> float:
    """w = sqrt(32 r ln(2/delta)) ln(4r/delta) / epsilon (Algorithm 1, line 4)."""
    return math.sqrt(32 * num_rows * math.log(2 / delta)) * math.log(4 * num_rows / delta) / epsilon


def released_noise(epsilon: float, delta: float, num_rows: int) -> float:
    """w = 1 / (sqrt(epsilon / (2 ln(4/delta0)) + 1/4) - 1/2), delta0 = delta / (2r) (the authors' code; B.1)."""
    excess = epsilon / (2 * math.log(8 * num_rows / delta))
    return (math.sqrt(excess + 0.25) + 0.5) / excess


def read_matrix(dataset: Any) -> Float[Array, "items users"]:
    """The ratings in float64, 0 where missing.

    Raises:
        InvalidInput: not a matrix, empty, or with an infinite rating (not checked under a JAX transformation).
    """
    matrix = jnp.asarray(dataset, float)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InvalidInput(f"the dataset has shape {matrix.shape}; give a matrix of ratings, items x users")
    if not isinstance(matrix, jax.core.Tracer) and bool(jnp.isinf(matrix).any()):
        raise InvalidInput("the dataset has an infinite rating; give finite ones, NaN where missing")
    return jnp.nan_to_num(matrix, nan=0.0)


def centered(matrix: Float[Array, "items users"]) -> Float[Array, "items users"]:
    """Each item's ratings less their mean over the users (Algorithm 1, line 3)."""
    return matrix - jnp.mean(matrix, axis=1, keepdims=True)


def released_centered(matrix: Float[Array, "items users"]) -> Float[Array, "items users"]:
    """What the code subtracts: the sum over users divided by the number of items, of ratings cut to integers."""
    whole = jnp.trunc(matrix)
    return whole - jnp.sum(whole, axis=1, keepdims=True) / matrix.shape[0]


def bounded(matrix: Float[Array, "items users"], protect: Protect, max_change: float) -> Float[Array, "items users"]:
    """Ratings clipped to [0, max_change], or columns scaled down to that norm: changes of norm at most `max_change`."""
    if protect == "rating":
        return jnp.clip(matrix, 0.0, max_change)
    norms = jnp.sqrt(jnp.sum(matrix**2, axis=0))
    return matrix * (max_change / jnp.maximum(norms, max_change))


def lifted(matrix: Float[Array, "items users"], noise: Any) -> Float[Array, "items users"]:
    """U sqrt(Sigma^2 + w^2) V' for the thin decomposition U Sigma V' of the matrix (Algorithm 1, lines 5 and 6).

    By the Gram matrix of the shorter side: with B = A V, the columns of B are sigma_i u_i, and the Q of B = Q T is U up
    to signs; where sigma_i is 0 any orthonormal completion is a singular vector.
    """
    if matrix.shape[0] < matrix.shape[1]:
        return lifted(matrix.T, noise).T
    squares, vectors = _spectrum(matrix)
    basis, triangle = jnp.linalg.qr(matrix @ vectors)
    signs = jnp.where(jnp.diag(triangle) < 0, -1.0, 1.0)
    return (basis * (signs * jnp.sqrt(squares + noise**2))) @ vectors.T


def standard_normal(key: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Standard Gaussian float64 variables, each from one 32-bit word.

    JAX generates 64-bit words wrongly when the program that compiles us has 64-bit types off.
    """
    words = jax.random.bits(key, shape, jnp.uint32).astype(jnp.float64)
    return math.sqrt(2) * jax.lax.erf_inv((2 * words + 1) / 2**32 - 1)


def row_chunks(num_rows: int) -> tuple[int, int]:
    """Number and size of the chunks in which rows of a random matrix are drawn."""
    number = -(-num_rows // CHUNK)
    return number, -(-num_rows // number)


def chunked_product(
    key: Any, matrix: Float[Array, "items users"], num_rows: int, entries: Callable[[Any, tuple[int, ...]], Any]
) -> Float[Array, "rows users"]:
    """M R for a random M whose rows are drawn by `entries(key, shape)`, one chunk of them in memory at a time."""
    number, size = row_chunks(num_rows)

    def chunk(key_chunk: Any) -> Float[Array, "size users"]:
        return entries(key_chunk, (size, matrix.shape[0])) @ matrix

    if number == 1:  # a loop of one turn costs a third of the product's time
        return chunk(key)
    rows = jax.lax.map(chunk, jax.random.split(key, number))
    return rows.reshape(number * size, matrix.shape[1])[:num_rows]


def _spectrum(matrix: Float[Array, "items users"]) -> tuple[Float[Array, " users"], Float[Array, "users users"]]:
    """Squared singular values, largest first, and right singular vectors of a matrix with rows >= columns."""
    squares, vectors = jnp.linalg.eigh(matrix.T @ matrix)
    return jnp.maximum(squares[::-1], 0.0), vectors[:, ::-1]


@partial(jax.jit, static_argnames="num_rows")
def _gaussian_sketch(
    key: Any, matrix: Float[Array, "items users"], noise: Any, num_rows: int
) -> Float[Array, "rows users"]:
    """M R1 / sqrt(r) for a Gaussian M; with items >= users, M U is Gaussian itself and U need not be computed."""
    if matrix.shape[0] >= matrix.shape[1]:
        squares, vectors = _spectrum(matrix)
        factor = jnp.sqrt(squares + noise**2)[:, None] * vectors.T
    else:
        factor = lifted(matrix, noise)
    return chunked_product(key, factor, num_rows, standard_normal) / math.sqrt(num_rows)


@partial(jax.jit, static_argnames="num_rows")
def _additive_sketch(
    key: Any, matrix: Float[Array, "items users"], noise: Any, num_rows: int
) -> Float[Array, "rows users"]:
    key_matrix, key_noise = jax.random.split(key)
    added = standard_normal(key_noise, (num_rows, matrix.shape[1]))
    return (chunked_product(key_matrix, matrix, num_rows, standard_normal) + noise * added) / math.sqrt(num_rows)
