"""The sparse vector technique in the seven forms that Lyu, Su and Li (2017) compare, and Wang et al.'s numerical one.

M. Lyu, D. Su, N. Li: Understanding the Sparse Vector Technique for Differential Privacy. PVLDB 10(6), 2017: Algorithms
1 to 7, whose differences are their Figure 2; queries have sensitivity 1. Y. Wang, Z. Ding, G. Wang, D. Kifer, D. Zhang:
Proving Differential Privacy with Shadow Execution. PLDI 2019: NumSVT. Samplers are float32; their laws are computed in
`dpassay.benchmarks.exact_losses`.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from dpassay.benchmarks.noise import Batched, laplace

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class SparseVector(Batched):
    """Answers for every query whether it is above a noisy threshold, up to a number of positive answers.

    Attributes:
        threshold_scale: of the Laplace noise on the threshold.
        query_scale: of the Laplace noise on every query; 0 adds none.
        cutoff: positive answers after which it stops; None never stops.
        threshold: T.
        resets: whether the threshold gets fresh noise after every positive answer.
        value_scale: None answers with one bit. Otherwise a positive answer is a number: 0 publishes the noisy query
            that was compared, more publishes the query with fresh Laplace noise of this scale.
        epsilon_true: the smallest epsilon known to hold for all neighbors, nats; infinity if there is none.
    """

    threshold_scale: float
    query_scale: float
    cutoff: int | None
    threshold: float
    resets: bool = False
    value_scale: float | None = None
    epsilon_true: float = math.inf

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> "Array":
        """Outputs, shape (num_samples, queries).

        Bits: int8 of 1 (above), 0 (below), -1 (stopped before). Numbers: float32, -inf where below, NaN where stopped.
        """
        queries = jnp.asarray(dataset, jnp.float32)
        key_threshold, key_query, key_value = jax.random.split(key, 3)
        draws = len(queries) if self.resets and self.cutoff != 1 else 1
        thresholds = self.threshold + self.threshold_scale * laplace(key_threshold, (draws, num_samples))
        values = jnp.broadcast_to(queries[:, None], (len(queries), num_samples))
        if self.query_scale > 0:
            values = values + self.query_scale * laplace(key_query, (len(queries), num_samples))
        positives = len(queries) if self.cutoff is None else min(self.cutoff, len(queries))
        fresh = (
            laplace(key_value, (positives, num_samples)) if self.value_scale else None
        )  # one for each published number
        threshold, stopped = thresholds[0], jnp.zeros(num_samples, bool)
        found, columns = jnp.zeros(num_samples, jnp.int8), []
        for index in range(len(queries)):
            above = values[index] >= threshold
            if self.value_scale is None:
                columns.append(jnp.where(stopped, -1, above).astype(jnp.int8))
            else:
                number = values[index]
                if fresh is not None:
                    noise = fresh[0]
                    for earlier in range(1, positives):
                        noise = jnp.where(found == earlier, fresh[earlier], noise)
                    number = queries[index] + self.value_scale * noise
                columns.append(jnp.where(stopped, jnp.nan, jnp.where(above, number, -jnp.inf)))
            found = found + above
            if self.cutoff is not None:
                stopped = stopped | (found >= self.cutoff)
            if draws > 1 and index + 1 < len(queries):
                threshold = jnp.where(above, thresholds[index + 1], threshold)
        return jnp.stack(columns).T


def lyu(algorithm: int, *, epsilon: float = 0.1, cutoff: int = 1, threshold: float = 1.0) -> SparseVector:
    """Algorithm 1 to 7 of Lyu et al. at a claimed epsilon, for queries of sensitivity 1.

    1 is theirs, 2 Dwork and Roth's, 3 Roth's lecture notes', 4 Lee and Clifton's, 5 Stoddard et al.'s, 6 Chen et al.'s;
    7 is their standard form that also publishes numbers (epsilon split 1 : 1 : 2 between threshold, comparison and
    numbers here). Algorithms 3 to 6 do not have the privacy they were published with; `epsilon_true` is what they have.
    """
    half, infinite = epsilon / 2, math.inf
    match algorithm:
        case 1:
            return SparseVector(1 / half, 2 * cutoff / half, cutoff, threshold, epsilon_true=epsilon)
        case 2:
            return SparseVector(cutoff / half, 2 * cutoff / half, cutoff, threshold, resets=True, epsilon_true=epsilon)
        case 3:
            return SparseVector(1 / half, cutoff / half, cutoff, threshold, value_scale=0.0, epsilon_true=infinite)
        case 4:
            true = (1 + 6 * cutoff) / 4 * epsilon
            return SparseVector(4 / epsilon, 4 / (3 * epsilon), cutoff, threshold, epsilon_true=true)
        case 5:
            return SparseVector(1 / half, 0.0, None, threshold, epsilon_true=infinite)
        case 6:
            return SparseVector(1 / half, 1 / half, None, threshold, epsilon_true=infinite)
        case 7:
            quarter = epsilon / 4
            return SparseVector(
                1 / quarter, 2 * cutoff / quarter, cutoff, threshold, value_scale=cutoff / half, epsilon_true=epsilon
            )
        case _:
            raise ValueError(f"algorithm {algorithm}: Lyu et al. number them 1 to 7")


def numerical(*, epsilon: float = 0.1, cutoff: int = 2, threshold: float = 1.0) -> SparseVector:
    """NumSVT of Wang et al.: epsilon-private, each third of epsilon for threshold, comparison and numbers."""
    third = epsilon / 3
    return SparseVector(
        1 / third, 2 * cutoff / third, cutoff, threshold, value_scale=cutoff / third, epsilon_true=epsilon
    )
