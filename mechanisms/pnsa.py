"""Private neighbor selection (PNSA): X-Map's technical report, Theorems 2 to 4; as released; and our private repair.

k neighbors of an item are drawn without replacement by weight exp(epsilon score / (4 k S)), epsilon being the report's
eps'. Claimed for the selection: epsilon/2, when one user joins or leaves. The three variants differ in score and S.
"""

import abc
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import jax.numpy as jnp

from dpassay.core.checks import check_count, check_open_unit, check_positive
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.item_similarity import (
    AbstractItemSelection,
    ItemSimilarity,
    Norms,
    co_rated_items,
    item_sensitivities,
    item_similarities,
    normalized_similarities,
    released_sensitivities,
    usable_sensitivities,
)
from dpassay.mechanisms.selection import Candidates, Plan

RANGE = 2.0
"""How far a similarity in [-1, 1] can move."""


class SoftFloor(NamedTuple):
    """Where similarities are cut from below: sim_k, and w."""

    kth: Float[Array, ""]
    width: Float[Array, ""]


@dataclass(frozen=True)
class _AbstractItemNeighbors(AbstractItemSelection):
    """What the three variants share: one group, k draws by weight.

    Attributes:
        num_neighbors: k.
        target: the item; all others are candidates.
        epsilon: the report's eps', nats.
    """

    epsilon: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("epsilon", self.epsilon)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon / 2, when one user joins or leaves."""
        return PrivacyClaim(self.epsilon / 2, relation=NeighboringRelation("add_or_remove_one", "user"))

    @float64
    def log_weights(self, dataset: Any) -> Float[Array, " candidates"]:
        """log of every candidate's weight, in item order; -inf for one that is never drawn."""
        by_item = self._matrix(dataset)
        return self._log_weights(by_item, self._candidates(by_item))

    def _plan(
        self, matrix: Float[Array, "items users"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        return Plan.of(self._log_weights(matrix, candidates)[order], [len(order)], [self.num_neighbors])

    @abc.abstractmethod
    def _log_weights(self, matrix: Float[Array, "items users"], candidates: Candidates) -> Float[Array, " candidates"]:
        """log-weights of the candidates."""

    def _exponents(
        self, score: Float[Array, " candidates"], sensitivity: Float[Array, " candidates"]
    ) -> Float[Array, " candidates"]:
        """epsilon score / (4 k S); 0 where S cannot divide, being infinite or not positive."""
        usable = usable_sensitivities(sensitivity)
        scale = self.epsilon / (4 * self.num_neighbors * jnp.where(usable, sensitivity, 1.0))
        return jnp.where(usable, scale * score, 0.0)


@final
@dataclass(frozen=True)
class ItemNeighborSelection(_AbstractItemNeighbors):
    """As printed: score max(sim, sim_k - w), S = SS(target, j) of Theorem 2, both computed from the data.

    w = min(sim_k, (4 k SS / epsilon) ln(k (N - k) / rho)) with the largest SS, and N the number of candidates (the
    report's |v|). Every other item is a candidate, with similarity 0 where it shares no rater with the target.

    Attributes:
        rho: failure probability in w, in (0, 1).
        similarity: "adjusted_cosine", on which Theorem 2 is stated, or "cosine".
        norms: over all raters of each item, or over the co-raters of the pair.
    """

    rho: float = 0.5
    similarity: ItemSimilarity = "adjusted_cosine"
    norms: Norms = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_open_unit("rho", self.rho)

    @float64
    def candidate_sensitivities(self, dataset: Any) -> Float[Array, " candidates"]:
        """SS of every candidate, in item order."""
        return item_sensitivities(self._matrix(dataset).T, self.target, self.similarity, self.norms)

    @float64
    def soft_floor(self, dataset: Any) -> SoftFloor:
        """sim_k and w on this dataset."""
        by_item = self._matrix(dataset)
        return self._soft_floor(self._candidates(by_item).score, self.candidate_sensitivities(by_item.T))

    def _soft_floor(self, score: Float[Array, " candidates"], sensitivity: Float[Array, " candidates"]) -> SoftFloor:
        k, number = self.num_neighbors, len(score)
        kth = jnp.sort(score)[number - k]
        if number == k:  # everyone is drawn, whatever w is
            return SoftFloor(kth, kth)
        bound = 4 * k * jnp.max(jnp.maximum(sensitivity, 0.0)) / self.epsilon * jnp.log(k * (number - k) / self.rho)
        return SoftFloor(kth, jnp.minimum(kth, bound))

    def _candidates(self, matrix: Float[Array, "items users"]) -> Candidates:
        score = item_similarities(matrix.T, self.target, self.similarity, self.norms)
        return Candidates(score, jnp.ones(len(score), bool))

    def _log_weights(self, matrix: Float[Array, "items users"], candidates: Candidates) -> Float[Array, " candidates"]:
        sensitivity = item_sensitivities(matrix.T, self.target, self.similarity, self.norms)
        kth, width = self._soft_floor(candidates.score, sensitivity)
        return self._exponents(jnp.maximum(candidates.score, kth - width), sensitivity)


@final
@dataclass(frozen=True)
class ReleasedItemSelection(_AbstractItemNeighbors):
    """As released: plain cosine weighted by co-raters, never truncated, and a local sensitivity by one-sided removals.

    The code computes max(sim, sim - w) = sim. Candidates are the items that share a rater with the target. The code
    draws by repeated draws with replacement; the law without replacement is taken here.

    Attributes:
        significance_cap: c in the factor min(co-raters, c) / c; 50 in the released parameters.
    """

    significance_cap: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("significance_cap", self.significance_cap, 1)

    @float64
    def candidate_sensitivities(self, dataset: Any) -> Float[Array, " candidates"]:
        """The local sensitivity of every candidate, in item order."""
        return released_sensitivities(self._matrix(dataset).T, self.target, self.significance_cap)

    def _candidates(self, matrix: Float[Array, "items users"]) -> Candidates:
        score = item_similarities(matrix.T, self.target, "cosine", "all", self.significance_cap)
        return Candidates(score, co_rated_items(matrix.T, self.target))

    def _log_weights(self, matrix: Float[Array, "items users"], candidates: Candidates) -> Float[Array, " candidates"]:
        sensitivity = released_sensitivities(matrix.T, self.target, self.significance_cap)
        return jnp.where(candidates.present, self._exponents(candidates.score, sensitivity), -jnp.inf)


@final
@dataclass(frozen=True)
class ConstantSensitivitySelection(_AbstractItemNeighbors):
    """Our repair: score max(sim, sim_k - w0) with a constant w0, and one constant true global sensitivity GS.

    A score moves by at most GS when every similarity does, since sim_k and the maximum are 1-Lipschitz in the largest
    change. A draw then loses at most epsilon / (2k), so k draws lose epsilon / 2.

    Attributes:
        similarity: "normalized", a sum of products of normalized rows (`normalized_similarities`), where GS is
            min(2, 1 / (2 threshold)); or a cosine, where it is 2.
        threshold: tau of the normalized similarity.
        width: w0.
    """

    similarity: Literal["normalized", "adjusted_cosine", "cosine"] = "normalized"
    threshold: float = 10.0
    width: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("threshold", self.threshold)
        check_positive("width", self.width)

    @property
    def global_sensitivity(self) -> float:
        """GS, a constant."""
        return min(RANGE, 1 / (2 * self.threshold)) if self.similarity == "normalized" else RANGE

    def _candidates(self, matrix: Float[Array, "items users"]) -> Candidates:
        if self.similarity == "normalized":
            score = normalized_similarities(matrix.T, self.target, self.threshold)
        else:
            score = item_similarities(matrix.T, self.target, self.similarity)
        return Candidates(score, jnp.ones(len(score), bool))

    def _log_weights(self, matrix: Float[Array, "items users"], candidates: Candidates) -> Float[Array, " candidates"]:
        score = candidates.score
        floor = jnp.sort(score)[len(score) - self.num_neighbors] - self.width
        return self._exponents(jnp.maximum(score, floor), jnp.full(len(score), self.global_sensitivity))
