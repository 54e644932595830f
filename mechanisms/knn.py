"""k nearest neighbors, the deterministic baseline without privacy (Lu and Shen, sec. 3.1)."""

import math
from dataclasses import dataclass
from typing import final

import jax.numpy as jnp

from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.selection import AbstractRankedSelection, Candidates, Plan, Ties


@final
@dataclass(frozen=True)
class NearestNeighbors(AbstractRankedSelection):
    """Releases the k most similar candidates: a point mass, or a mixture of them under random ties."""

    @property
    def claim(self) -> PrivacyClaim:
        """Nothing: the paper's attack is aimed at this mechanism."""
        return PrivacyClaim(math.inf, relation=NeighboringRelation("add_or_remove_one", "rating"))

    def _tie_rule(self) -> Ties:
        return self.ties

    def _plan(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        logs = jnp.where(candidates.present[order], 0.0, -jnp.inf)
        return Plan.of(logs, [self.num_neighbors], [self.num_neighbors])
