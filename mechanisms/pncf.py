"""Private neighbor collaborative filtering (PNCF): Zhu et al. (2014) as described by Lu and Shen, sec. 2.2."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_count, check_open_unit
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.selection import AbstractWeightedSelection, Candidates, Plan, laplace, ranks
from dpassay.mechanisms.similarity import TIE_TOLERANCE, predict

Truncation = Literal["hard", "soft"]
Noise = Literal["similarity", "rating", "prediction", "none"]
Release = Literal["neighbors", "prediction"]


class Thresholds(NamedTuple):
    """Where the candidate list is cut: sim_k, and lambda."""

    kth: Float[Array, ""]
    width: Float[Array, ""]


@final
@dataclass(frozen=True)
class PrivateNeighborFiltering(AbstractWeightedSelection):
    """Draws k neighbors by weight from a list truncated around sim_k, the k-th largest similarity.

    lambda = min(sim_k, (4 k RS / epsilon) ln(k (n - k) / rho)), n the number of candidates, RS the largest over the
    candidates when it differs between them. Comparisons allow `TIE_TOLERANCE`.

    Attributes:
        rho: failure probability in lambda, in (0, 1).
        truncation: "hard": above sim_k + lambda surely chosen, below sim_k - lambda never, the rest of the k drawn by
            weight in between. "soft": similarities are raised to at least sim_k - lambda and all are drawn by weight.
        noise: what gets Laplace noise of scale RS / (epsilon/2) in a prediction: the neighbors' similarities, their
            ratings, the predicted rating, or nothing.
        release: "neighbors", a set with an exact law; or "prediction", the predicted rating (6) of `item`, a float.
        item: column whose rating is predicted.
    """

    rho: float = 0.5
    truncation: Truncation = "hard"
    noise: Noise = "similarity"
    release: Release = "neighbors"
    item: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_open_unit("rho", self.rho)
        check_count("item", self.item, 0)

    @property
    def claim(self) -> PrivacyClaim:
        """Sec. 2.2: epsilon / 2 for the selection, epsilon for the whole."""
        epsilon = self.epsilon if self.release == "prediction" else self.epsilon / 2
        return PrivacyClaim(epsilon, relation=NeighboringRelation("add_or_remove_one", "rating"))

    @float64
    def sample(self, key: Any, dataset: Any) -> Any:
        """One set of neighbors, or one predicted rating, shape ().

        A prediction is NaN when no drawn neighbor rated the item, or when the scale of the noise is infinite.

        Raises:
            InvalidInput: as for every neighbor selection; for a prediction also an unknown item.
        """
        key_selection, key_noise = jax.random.split(key)
        members = super().sample(key_selection, dataset)
        if self.release == "neighbors":
            return members
        matrix = self._matrix(dataset)
        if self.item >= matrix.shape[1]:
            raise InvalidInput(f"item is {self.item}, but the dataset has items 0 to {matrix.shape[1] - 1}")
        return _noisy_prediction(self, key_noise, members, matrix)

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[the released set is `output`], nats, shape ().

        Raises:
            InvalidInput: the mechanism releases a prediction, which has no exact law here.
        """
        self._check_finite()
        return super().log_prob(output, dataset)

    def outputs(self, dataset: Any) -> np.ndarray:
        """All sets of `num_neighbors` candidates, shape (sets, num_neighbors).

        Raises:
            InvalidInput: the mechanism releases a prediction.
        """
        self._check_finite()
        return super().outputs(dataset)

    @float64
    def truncation_thresholds(self, dataset: Any) -> Thresholds:
        """sim_k and lambda on this dataset."""
        matrix = self._matrix(dataset)
        candidates = self._candidates(matrix)
        return self._thresholds(matrix, candidates, ranks(candidates, "index"))

    def _check_finite(self) -> None:
        if self.release != "neighbors":
            raise InvalidInput('a predicted rating has no exact law here; use release="neighbors", or sample')

    def _thresholds(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Thresholds:
        k = self.num_neighbors
        kth = candidates.score[order[k - 1]]
        number = jnp.sum(candidates.present)
        sensitivity = jnp.max(jnp.where(candidates.present, self.candidate_sensitivities(matrix), 0.0))
        pairs = jnp.maximum(k * (number - k), 1)
        bound = 4 * k * sensitivity / self.epsilon * jnp.log(pairs / self.rho)
        # With n = k everyone is chosen, whatever lambda is.
        return Thresholds(kth, jnp.where(number > k, jnp.minimum(kth, bound), kth))

    def _plan(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        kth, width = self._thresholds(matrix, candidates, order)
        num = len(order)
        if self.truncation == "soft":
            floored = Candidates(jnp.maximum(candidates.score, kth - width), candidates.present)
            return Plan.of(self._log_weights(matrix, floored)[order], [num], [self.num_neighbors])
        score, present = candidates.score[order], candidates.present[order]
        sure = jnp.sum(present & (score > kth + width + TIE_TOLERANCE))
        possible = jnp.sum(present & (score >= kth - width - TIE_TOLERANCE))
        rank = jnp.arange(num)
        first, second = rank < sure, rank < possible
        return Plan(
            jnp.where(first, 0, jnp.where(second, sure, possible)),
            jnp.where(first, sure, jnp.where(second, possible, num)),
            jnp.where(first, sure, jnp.where(second, jnp.maximum(self.num_neighbors - sure, 0), 0)),
            jnp.where(first, 0.0, self._log_weights(matrix, candidates)[order]),
        )


@partial(jax.jit, static_argnums=0)
def _noisy_prediction(
    mechanism: PrivateNeighborFiltering,
    key: Any,
    members: Int[Array, " neighbors"],
    matrix: Float[Array, "users items"],
) -> Float[Array, ""]:
    candidate = members - (members > mechanism.target)
    similarity = mechanism._candidates(matrix).score[candidate]
    ratings = matrix[members, mechanism.item]
    sensitivity = mechanism.candidate_sensitivities(matrix)
    scale = 2 * sensitivity[candidate] / mechanism.epsilon
    noise = laplace(key, similarity.shape)
    if mechanism.noise == "similarity":
        return predict(similarity + scale * noise, ratings)
    if mechanism.noise == "rating":
        return predict(similarity, ratings + scale * noise)
    exact = predict(similarity, ratings)
    if mechanism.noise == "none":
        return exact
    return exact + 2 * jnp.max(sensitivity) / mechanism.epsilon * noise[0]
