"""The determinantal point process of a fixed size k (Kulesza and Taskar 2012, sec. 5): a recommender shows k items.

P(Y) = det(L_Y) / e_k(L) for |Y| = k, with e_k the elementary symmetric polynomial of the eigenvalues, in log space.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_count, check_not_negative
from dpassay.core.numerics import float64
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.shapes import Array, Bool, Float
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.determinantal import (
    AbstractDeterminantal,
    Spectrum,
    chain_rule,
    log_elementary,
    log_minor,
    masks,
)
from dpassay.mechanisms.determinantal_batches import sample_fixed_size
from dpassay.mechanisms.wallenius import uniform


@final
@dataclass(frozen=True)
class FixedSizeProcess(AbstractDeterminantal):
    """Releases a set Y of `size` items with probability proportional to det(L_Y), as a mask of shape (items,).

    Here `max_square_norm` bounds the sum of a row's `size` largest squares: it is `size` for binary rows, however many
    items there are.

    Attributes:
        size: k.
    """

    size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("size", self.size, 1)

    @property
    def claim(self) -> PrivacyClaim:
        """log(1 + `max_square_norm` / jitter) per user added, removed or replaced, for the dot kernel.

        P'(Y)/P(Y) = (1 + a_Y) / E[1 + a_Y'] with 0 <= a_Y = x_Y' L_Y^-1 x_Y <= max_square_norm / jitter.
        """
        return self._claim(lambda bound: math.log1p(bound / self.jitter))

    @float64
    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> Bool[Array, "samples items"]:
        """Many independent outputs, of the law of `sample`, with one eigendecomposition for all.

        Not for use under a JAX transformation.

        Raises:
            InvalidInput: as `sample`.
        """
        check_count("num_samples", num_samples, 1)
        _, spectrum = self._checked(dataset)
        return sample_fixed_size(key, spectrum, self.size, num_samples)

    def outputs(self, dataset: Any) -> np.ndarray:
        """All masks with `size` items, shape (number of them, items)."""
        num = dataset.num_items if isinstance(dataset, Ratings) else np.shape(dataset)[-1]
        self._check_items(num)
        return masks(num, self.size)

    def _square_norms(self, rows: Float[Array, "users items"]) -> Float[Array, " users"]:
        return jnp.sum(jax.lax.top_k(rows**2, min(self.size, rows.shape[1]))[0], axis=1)

    def _sample(self, key: Any, spectrum: Spectrum) -> Bool[Array, " items"]:
        key_vectors, key_items = jax.random.split(key)
        selected = select_vectors(key_vectors, spectrum.values, self.size)
        return chain_rule(key_items, spectrum.vectors, selected)

    def _log_prob(
        self, output: Bool[Array, " items"], kernel: Float[Array, "items items"], spectrum: Spectrum
    ) -> Float[Array, ""]:
        total = log_elementary(jnp.log(spectrum.values), self.size)[-1, -1]
        value = log_minor(kernel, output, self._floor(), spectrum.values[-1]) - total
        value = jnp.where(jnp.sum(output) == self.size, value, -jnp.inf)
        return jnp.where(total == -jnp.inf, jnp.nan, value)

    @property
    def _required_rank(self) -> int:
        return self.size


def exact_epsilon(num_items: int, size: int, jitter: float) -> float:
    """Privacy loss of one recommendation of `size` items when one binary row is added or removed, nats.

    log(1 + k/s) with k = `size` and s = `jitter`. For n = `num_items` >= 2k it is the supremum over all datasets, which
    no dataset attains. For k < n < 2k it is a proved upper bound, and for n = k, where one set is certain, the loss
    is 0. Unlike that of the process of free size, it does not grow with the number of items.

    Raises:
        InvalidInput: a size that is not between 1 and the number of items, or a jitter that is not finite and >= 0.
    """
    check_count("size", size, 1)
    check_count("num_items", num_items, size)
    check_not_negative("jitter", jitter)
    if num_items == size:
        return 0.0
    return math.log1p(size / jitter) if jitter > 0 and math.isfinite(size / jitter) else math.inf


def select_vectors(key: Any, values: Float[Array, " n"], size: int) -> Bool[Array, " n"]:
    """Phase 1 at a fixed size: `size` eigenvectors with probability proportional to the product of their values.

    From the last value to the first, value m is kept with probability value_m e_(l-1)(m - 1) / e_l(m), where l are
    still to be kept (Kulesza and Taskar, Algorithm 8).
    """
    log_values = jnp.log(values)
    table = log_elementary(log_values, size)

    def decide(left: Array, step: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        log_value, before, after, point = step
        chance = log_value + before[jnp.maximum(left - 1, 0)] - after[left]
        keep = (left > 0) & (jnp.log(point) < chance)
        return left - keep, keep

    steps = (log_values, table[:-1], table[1:], uniform(key, values.shape))
    return jax.lax.scan(decide, jnp.asarray(size), steps, reverse=True)[1]
