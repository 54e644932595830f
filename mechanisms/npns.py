"""Naive probabilistic neighbor selection (nPNS), and our private repair of it.

nPNS: Adamopoulos and Tuzhilin (2014) as described by Lu and Shen, secs. 1 and 2.2, with the weights (1) to (3).
"""

from dataclasses import dataclass
from typing import Literal, final

import jax.numpy as jnp

from dpassay.core.checks import check_positive
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.selection import AbstractNeighborSelection, AbstractWeightedSelection, Candidates, Plan
from dpassay.mechanisms.similarity import floor_norm_cosine, floor_norm_sensitivity

Protect = Literal["everyone", "candidates"]


@final
@dataclass(frozen=True)
class NaiveSelection(AbstractWeightedSelection):
    """Draws k of all candidates by weight, without replacement. How ties are ordered does not matter."""

    @property
    def claim(self) -> PrivacyClaim:
        """What sec. 2.2 says of the selection step: epsilon / 2 (false with a sensitivity computed from the data)."""
        return PrivacyClaim(self.epsilon / 2, relation=NeighboringRelation("add_or_remove_one", "rating"))

    def _plan(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        return Plan.of(self._log_weights(matrix, candidates)[order], [len(order)], [self.num_neighbors])


@final
@dataclass(frozen=True)
class FloorNormSelection(AbstractNeighborSelection):
    """Draws k of all other users by weight exp(b q) without replacement, q the floor-norm cosine; epsilon-DP.

    One rating of one user added, removed or changed moves every q by at most GS = min(1, R^2/c^2). A draw picks j with
    probability w_j / sum w, and there are k draws given the earlier ones.

    protect="everyone": the rating may be the target's own, so numerator and sum can move in opposite directions, each
    by the factor e^(b GS); with b = epsilon / (2 k GS) a draw loses at most 2 b GS = epsilon/k.

    protect="candidates": the target's row is the same in both datasets (the target herself reads the output, say).
    Then one weight changes, by the factor f <= e^(b GS); the sum moves the same way and by no more, so that every
    ratio w_j / sum w changes by at most f, and b = epsilon / (k GS) suffices: half the noise. When the target's
    rating changes the loss is up to 2 epsilon, which is what `claim` then says, since its relation allows that pair
    too.

    Every other row is always a candidate. Ratings are clipped to [0, R], missing ones count as 0.

    Attributes:
        epsilon: nats, for the selection as a whole.
        norm_floor: c, in ratings; larger means less noise and less normalization.
        max_rating: R.
        protect: whose ratings may differ between neighboring datasets.
    """

    epsilon: float = 1.0
    norm_floor: float = 20.0
    max_rating: float = 5.0
    protect: Protect = "everyone"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("epsilon", self.epsilon)
        check_positive("norm_floor", self.norm_floor)
        check_positive("max_rating", self.max_rating)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon; 2 epsilon for protect="candidates", since the relation includes the target's ratings."""
        factor = 1 if self.protect == "everyone" else 2
        return PrivacyClaim(factor * self.epsilon, relation=NeighboringRelation("add_or_remove_one", "rating"))

    @property
    def global_sensitivity(self) -> float:
        """GS = min(1, R^2/c^2), a constant."""
        return floor_norm_sensitivity(self.norm_floor, self.max_rating)

    def _candidates(self, matrix: Float[Array, "users items"]) -> Candidates:
        scores = floor_norm_cosine(matrix, self.target, norm_floor=self.norm_floor, max_rating=self.max_rating)
        return Candidates(scores, jnp.ones(len(scores), bool))

    def _plan(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        sides = 2 if self.protect == "everyone" else 1
        scale = self.epsilon / (sides * self.num_neighbors * self.global_sensitivity)
        return Plan.of(scale * candidates.score[order], [len(order)], [self.num_neighbors])
