"""Partitioned probabilistic neighbor selection (PPNS): Lu and Shen, sec. 5.2, Algorithm 1; and our private repair.

All counts are exact: the partition parameter is the decimal it is written as, and quotas are computed with fractions.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_choices, check_count, check_open_unit, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.npns import Protect
from dpassay.mechanisms.selection import AbstractWeightedSelection, Candidates, Plan, Ties, drawn_rows, laplace, ranks
from dpassay.mechanisms.similarity import as_matrix, candidate_rows, floor_norm_cosine, floor_norm_sensitivity

Rule = Literal["algorithm", "formula", "original"]
LastPick = Literal["exponential", "uniform"]


@final
@dataclass(frozen=True)
class PartitionedSelection(AbstractWeightedSelection):
    """Draws fixed numbers of neighbors from partitions of k candidates in descending similarity.

    Attributes:
        probability: p in (0, 1).
        rule: "algorithm" (Algorithm 1): ceil(p (1-p)^(i-1) k) from partition i until k - 1 are chosen, the last from
            all partitions not visited; not defined when there is none. "original" (sec. 5.2 before the change): the
            same until k are chosen. "formula" (18)-(19): p (1-p)^(i-1) k rounded half up, at least 1, until k are
            chosen.
        last: whether the last neighbor of "algorithm" is drawn by weight or uniformly; its line 16 does not say.
    """

    probability: float = 0.5
    rule: Rule = "algorithm"
    last: LastPick = "exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_open_unit("probability", self.probability)

    @property
    def claim(self) -> PrivacyClaim:
        """Sec. 5.2: the modified scheme "absolutely keeps" epsilon-differential privacy."""
        return PrivacyClaim(self.epsilon, relation=NeighboringRelation("add_or_remove_one", "rating"))

    def quotas(self, num_candidates: int) -> tuple[int, ...]:
        """How many are drawn from partitions 1, 2, ... (under "algorithm" the last neighbor comes on top).

        Raises:
            InvalidInput: the mechanism is not defined for this number of candidates.
        """
        picks = partition_quotas(self.num_neighbors, self.probability, self.rule)
        k = self.num_neighbors
        # Each visited partition must hold its quota, and the last neighbor needs one candidate beyond them.
        needed = len(picks) * k + 1 if self.rule == "algorithm" else (len(picks) - 1) * k + picks[-1]
        if num_candidates < needed:
            raise InvalidInput(
                f"{num_candidates} candidates are too few for {k} neighbors at probability {self.probability}: "
                f"use at least {needed} candidates or another probability"
            )
        return picks

    @float64
    def last_partition(self, output: Any, dataset: Any) -> Int[Array, ""]:
        """beta as Algorithm 1 returns it (line 17): the number, from 1, of the partition that the last neighbor is in.

        That is the farthest partition in the released set. Under random ties, of the order by index.
        """
        candidates = self._candidates(self._matrix(dataset))
        order = ranks(candidates, "last" if self.ties == "last" else "index")
        rank = jnp.zeros(len(order), int).at[order].set(jnp.arange(len(order)))
        output = jnp.asarray(output)
        return jnp.max(rank[output - (output > self.target)]) // self.num_neighbors + 1

    def _tie_rule(self) -> Ties:
        return self.ties

    def _plan(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        picks = partition_quotas(self.num_neighbors, self.probability, self.rule)
        log_weights = self._log_weights(matrix, candidates)[order]
        if self.rule == "algorithm" and self.last == "uniform":
            unvisited = jnp.arange(len(order)) >= len(picks) * self.num_neighbors
            even = jnp.where(candidates.present[order], 0.0, -jnp.inf)
            log_weights = jnp.where(unvisited, even, log_weights)
        return _partitioned(log_weights, self.num_neighbors, picks, self.rule)


@final
@dataclass(frozen=True)
class NoisyPartitionedSelection:
    """PPNS on floor-norm cosines with Laplace noise; epsilon-DP, since all after the noise is post-processing.

    One rating of one user moves each of the n cosines by at most GS = min(1, R^2/c^2) (n the number of other users,
    all of them candidates), and a rating of a candidate moves one of them only. The noise has scale n GS / epsilon
    with protect="everyone", and GS / epsilon with protect="candidates", where the target's row is the same in both
    datasets; a change of the target's row then costs up to n epsilon. Partitions, quotas (Algorithm 1) and the
    weights exp(epsilon q / (4 k GS)) are computed from the noisy cosines. There is no exact law: sample only.

    Attributes:
        num_neighbors: k.
        target: row of the target user.
        epsilon: nats.
        probability: p in (0, 1).
        norm_floor: c, in ratings.
        max_rating: R; ratings are clipped to [0, R], missing ones count as 0.
        protect: whose ratings may differ between neighboring datasets.
    """

    num_neighbors: int = 2
    target: int = 0
    epsilon: float = 1.0
    probability: float = 0.5
    norm_floor: float = 20.0
    max_rating: float = 5.0
    protect: Protect = "everyone"

    def __post_init__(self) -> None:
        check_count("num_neighbors", self.num_neighbors, 1)
        check_count("target", self.target, 0)
        check_positive("epsilon", self.epsilon)
        check_open_unit("probability", self.probability)
        check_positive("norm_floor", self.norm_floor)
        check_positive("max_rating", self.max_rating)
        check_choices(self)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon with protect="everyone"; else no bound that holds for every number of users (see the class)."""
        epsilon = self.epsilon if self.protect == "everyone" else math.inf
        return PrivacyClaim(epsilon, relation=NeighboringRelation("add_or_remove_one", "rating"))

    @property
    def global_sensitivity(self) -> float:
        """GS = min(1, R^2/c^2), a constant."""
        return floor_norm_sensitivity(self.norm_floor, self.max_rating)

    @float64
    def sample(self, key: Any, dataset: Any) -> Int[Array, " neighbors"]:
        """One set of neighbors, shape (num_neighbors,), row numbers ascending.

        Raises:
            InvalidInput: fewer users than the partitions need, or the target is not a row.
        """
        matrix = as_matrix(dataset)
        num = len(matrix) - 1
        PartitionedSelection(num_neighbors=self.num_neighbors, probability=self.probability).quotas(num)
        candidate_rows(num + 1, self.target)
        return _noisy_draw(self, key, matrix)


def partition_quotas(num_neighbors: int, probability: float, rule: Rule = "algorithm") -> tuple[int, ...]:
    """How many neighbors the partitions supply, in order, until the rule stops; exact arithmetic.

    "algorithm" stops at k - 1 (the last neighbor comes from elsewhere), "original" and "formula" at k. A quota is
    capped at what is missing.
    """
    p = Fraction(str(probability))
    missing = num_neighbors - 1 if rule == "algorithm" else num_neighbors
    share = p * num_neighbors
    picks: list[int] = []
    while missing:
        quota = max(1, math.floor(share + Fraction(1, 2))) if rule == "formula" else math.ceil(share)
        picks.append(min(quota, missing))
        missing -= picks[-1]
        # Once a quota is 1 all later ones are, and the fractions need not grow any further.
        share = share * (1 - p) if quota > 1 else share
    return tuple(picks)


def formula_beta(num_neighbors: int, probability: float) -> float:
    """beta of (19), (j-1) + (1-p)^(j-1) k, with j = ceil(1 + (ln(3/2) - ln(pk)) / ln(1-p)) of (18), (20).

    j is the smallest integer with p (1-p)^(j-1) k <= 3/2, found exactly; it is below 1 when pk (1-p)^-1 <= 3/2.
    """
    check_count("num_neighbors", num_neighbors, 1)
    check_open_unit("probability", probability)
    p, bound = Fraction(str(probability)), Fraction(3, 2)
    j = math.ceil(1 + (math.log(1.5) - math.log(p * num_neighbors)) / math.log(1 - p))
    while p * (1 - p) ** (j - 1) * num_neighbors > bound:
        j += 1
    while p * (1 - p) ** (j - 2) * num_neighbors <= bound:
        j -= 1
    return float(j - 1 + (1 - p) ** (j - 1) * num_neighbors)


def _partitioned(log_weights: Float[Array, " candidates"], k: int, picks: tuple[int, ...], rule: Rule) -> Plan:
    num = len(log_weights)
    sizes = [max(0, min(k, num - i * k)) for i in range(len(picks))]
    last = rule == "algorithm"  # one more, from all partitions that were not visited
    return Plan.of(log_weights, [*sizes, *[num - sum(sizes)] * last], [*picks, *[1] * last])


@partial(jax.jit, static_argnums=0)
def _noisy_draw(
    mechanism: NoisyPartitionedSelection, key: Any, matrix: Float[Array, "users items"]
) -> Int[Array, " neighbors"]:
    key_noise, key_draw = jax.random.split(key)
    k, bound = mechanism.num_neighbors, mechanism.global_sensitivity
    exact = floor_norm_cosine(
        matrix, mechanism.target, norm_floor=mechanism.norm_floor, max_rating=mechanism.max_rating
    )
    num = len(exact)
    scale = bound / mechanism.epsilon * (num if mechanism.protect == "everyone" else 1)
    noisy = exact + scale * laplace(key_noise, exact.shape)
    order = jnp.argsort(-noisy)
    picks = partition_quotas(k, mechanism.probability)
    plan = _partitioned(mechanism.epsilon / (4 * k * bound) * noisy[order], k, picks, "algorithm")
    return drawn_rows(mechanism, key_draw, plan, order)
