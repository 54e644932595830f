"""What the neighbor-selection mechanisms share: candidates in order of similarity, groups of ranks, quotas, one law.

Every mechanism of Lu and Shen's paper is one process with different groups. The candidates are sorted by descending
similarity and cut into consecutive groups; from each group a fixed number, its quota, is drawn by weight without
replacement (Wallenius, eqs. 7 and 8); the draws in different groups are independent. k nearest neighbors: the top k
with quota k. Probabilistic selection: one group. Hard truncation: the sure ones, the window, the rest. Partitions:
Algorithm 1.

Relations: the rows of a dataset are accounts, and which accounts exist is public; a user whose ratings are all
missing is still a row, and a candidate unless no_overlap is "exclude".
"""

import abc
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_choices, check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Bool, Float, Int, Real
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.similarity import (
    Similarity,
    as_matrix,
    candidate_rows,
    overlaps,
    sensitivities,
    similarities,
    snap,
)
from dpassay.mechanisms.wallenius import combinations, gumbel, members_log_prob, uniform

Ties = Literal["index", "last", "random"]
NoOverlap = Literal["zero", "exclude"]
Weight = Literal["exponential", "similarity"]
Sensitivity = Literal["local", "local_dot", "pairwise"]

MAX_RANDOM_TIES = 8
"""Largest number of candidates whose orders (8! = 40320) are averaged exactly under random ties."""


class Candidates(NamedTuple):
    """The target's candidates, in row order.

    Attributes:
        score: similarity to the target, equal values snapped, shape (candidates,).
        present: False for a candidate that no_overlap="exclude" removes.
    """

    score: Float[Array, " candidates"]
    present: Bool[Array, " candidates"]


class Plan(NamedTuple):
    """Groups and quotas over the ranks, most similar candidate first; every field has shape (candidates,).

    Attributes:
        start: first rank of this rank's group.
        stop: one past the last rank of this rank's group.
        quota: how many are drawn from this rank's group.
        log_weight: log of the weight with which this rank is drawn; -inf when it never is.
    """

    start: Int[Array, " candidates"]
    stop: Int[Array, " candidates"]
    quota: Int[Array, " candidates"]
    log_weight: Float[Array, " candidates"]

    @classmethod
    def of(cls, log_weight: Float[Array, " candidates"], sizes: Sequence[int], quotas: Sequence[int]) -> "Plan":
        """For consecutive groups of the given sizes; what is left has quota 0."""
        every = np.array([*sizes, len(log_weight) - sum(sizes)])
        stops = np.cumsum(every)
        columns = (stops - every, stops, np.array([*quotas, 0]))
        start, stop, quota = (jnp.asarray(np.repeat(column, every)) for column in columns)
        return cls(start, stop, quota, log_weight)


@dataclass(frozen=True)
class AbstractNeighborSelection(abc.ABC):
    """A mechanism that releases the set of a target user's k neighbors, as ascending row numbers.

    Attributes:
        num_neighbors: k.
        target: row of the target user; all other rows are candidates.
    """

    num_neighbors: int = 2
    target: int = 0
    _kind: ClassVar = "row"  # what the neighbors are, and what the others are called
    _others: ClassVar = "candidates"

    def __post_init__(self) -> None:
        check_count("num_neighbors", self.num_neighbors, 1)
        check_count("target", self.target, 0)
        check_choices(self)

    @float64
    def sample(self, key: Any, dataset: Any) -> Any:
        """One set of neighbors, shape (num_neighbors,), row numbers ascending.

        Raises:
            InvalidInput: fewer candidates than neighbors; or, unless under a JAX transformation, a dataset on which the
                mechanism is not defined.
        """
        members, defined = _draw(self, key, self._matrix(dataset))
        if not isinstance(defined, jax.core.Tracer) and not bool(defined):
            raise InvalidInput(
                f"the draws need more candidates of row {self.target} than this dataset has; use fewer neighbors or "
                "more users who share items with the target"
            )
        return members

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[the released set is `output`], nats, shape (); NaN where the mechanism is not defined.

        `output` is a set: any order is accepted. Rows that are no candidates, or repeated, give -inf.

        Raises:
            InvalidInput: fewer candidates than neighbors, an output of the wrong length, or ties="random" with more
                than 8 candidates.
        """
        matrix = self._matrix(dataset)
        output = jnp.asarray(output)
        if output.shape != (self.num_neighbors,):
            raise InvalidInput(f"an output is {self.num_neighbors} row numbers, got shape {output.shape}")
        if self._averages_orders() and len(matrix) - 1 > MAX_RANDOM_TIES:
            raise InvalidInput(
                f'the exact law under ties="random" averages over all orders: give at most {MAX_RANDOM_TIES} '
                f"candidates, not {len(matrix) - 1}, or choose another tie rule"
            )
        return _law(self, output, matrix)

    def outputs(self, dataset: Any) -> np.ndarray:
        """All sets of `num_neighbors` rows other than the target's, shape (number of sets, num_neighbors).

        Raises:
            InvalidInput: fewer candidates than neighbors, or more sets than can be listed.
        """
        shape = self._shape(dataset)
        self._check_shape(shape)
        return combinations(np.delete(np.arange(shape[0]), self.target), self.num_neighbors)

    @abc.abstractmethod
    def _candidates(self, matrix: Float[Array, "users items"]) -> Candidates:
        """Scores by which the candidates are ranked."""

    @abc.abstractmethod
    def _plan(
        self, matrix: Float[Array, "users items"], candidates: Candidates, order: Int[Array, " candidates"]
    ) -> Plan:
        """Groups, quotas and weights; `order[r]` is the candidate of rank r, those not present come last."""

    def _tie_rule(self) -> Ties:
        """How the order of equal scores is chosen, when the law depends on it."""
        return "index"

    def _averages_orders(self) -> bool:
        return self._tie_rule() == "random"

    def _shape(self, dataset: Any) -> tuple[int, ...]:
        """How many there are to select from, and by how many entries they are compared."""
        return (dataset.num_users, dataset.num_items) if isinstance(dataset, Ratings) else np.shape(dataset)

    def _matrix(self, dataset: Any) -> Float[Array, "users items"]:
        matrix = as_matrix(dataset)
        self._check_shape(matrix.shape)
        return matrix

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2:
            raise InvalidInput(f"a rating dataset is a matrix of shape (users, items), got shape {shape}")
        last, kind, others = shape[0] - 1, self._kind, self._others
        if self.target > last:
            raise InvalidInput(
                f"target is {kind} {self.target}, but the dataset has {kind}s 0 to {last}; choose one of them"
            )
        if self.num_neighbors > last:
            raise InvalidInput(f"{self.num_neighbors} neighbors of {last} {others}; use at most {last} neighbors")


@dataclass(frozen=True)
class AbstractRankedSelection(AbstractNeighborSelection):
    """Neighbor selection by a similarity of the paper.

    Attributes:
        similarity: "cosine" (5), "full_cosine" or "pearson" (4), see `dpassay.mechanisms.similarity`.
        ties: order of candidates of equal similarity: "index" lower row first, "last" higher row first, "random" every
            order equally likely (where the law depends on it, it averages over all orders of at most 8 candidates).
        no_overlap: a candidate who shares no item with the target has similarity 0 ("zero") or is no candidate
            ("exclude").
    """

    similarity: Similarity = "cosine"
    ties: Ties = "index"
    no_overlap: NoOverlap = "zero"

    def _candidates(self, matrix: Float[Array, "users items"]) -> Candidates:
        scores = snap(similarities(matrix, self.target, self.similarity))
        if self.no_overlap == "zero":
            return Candidates(scores, jnp.ones(len(scores), bool))
        return Candidates(scores, overlaps(matrix, self.target) > 0)


@dataclass(frozen=True)
class AbstractWeightedSelection(AbstractRankedSelection):
    """Ranked selection that draws by the paper's weights.

    Attributes:
        epsilon: nats.
        weight: "exponential", exp(epsilon sim / (4 k RS)) (1), or "similarity", the similarity itself, where candidates
            without positive similarity are never drawn.
        sensitivity: RS (3). "local": the largest RS(target, i) over the candidates, as printed, a number that depends
            on the data. "local_dot": the same with the dot product in the second term. "pairwise": every candidate
            has its own RS(target, i). A number is a constant. Where RS is infinite or 0 the exponent is 0.
    """

    epsilon: float = 1.0
    weight: Weight = "exponential"
    sensitivity: Sensitivity | float = "local"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("epsilon", self.epsilon)
        if isinstance(self.sensitivity, str):
            if self.sensitivity not in get_args(Sensitivity):
                raise InvalidInput(
                    f"sensitivity is {self.sensitivity!r}; use {', '.join(get_args(Sensitivity))} or a positive number"
                )
        else:
            check_positive("sensitivity", self.sensitivity)

    @float64
    def candidate_sensitivities(self, dataset: Any) -> Float[Array, " candidates"]:
        """RS of every candidate, in row order; all equal unless `sensitivity` is "pairwise"."""
        matrix = self._matrix(dataset)
        if not isinstance(self.sensitivity, str):
            return jnp.full(len(matrix) - 1, float(self.sensitivity))
        form: Literal["printed", "dot"] = "dot" if self.sensitivity == "local_dot" else "printed"
        each = sensitivities(matrix, self.target, self.similarity, form)
        return each if self.sensitivity == "pairwise" else jnp.full(len(each), jnp.max(each))

    @float64
    def log_weights(self, dataset: Any) -> Float[Array, " candidates"]:
        """log of every candidate's weight, in row order; -inf for one that is never drawn."""
        matrix = self._matrix(dataset)
        return self._log_weights(matrix, self._candidates(matrix))

    def _log_weights(self, matrix: Float[Array, "users items"], candidates: Candidates) -> Float[Array, " candidates"]:
        score = candidates.score
        if self.weight == "similarity":
            positive = score > 0
            logs = jnp.where(positive, jnp.log(jnp.where(positive, score, 1.0)), -jnp.inf)
        else:
            bound = self.candidate_sensitivities(matrix)
            useful = (bound > 0) & jnp.isfinite(bound)
            scale = self.epsilon / (4 * self.num_neighbors * jnp.where(useful, bound, 1.0))
            logs = jnp.where(useful, scale * score, 0.0)
        return jnp.where(candidates.present, logs, -jnp.inf)


def ranks(
    candidates: Candidates, ties: Literal["index", "last"], shuffle: Real[Array, " candidates"] | None = None
) -> Int[Array, " candidates"]:
    """The candidates in descending order of score, those not present last; `shuffle` orders equal scores if given."""
    index = jnp.arange(len(candidates.score))
    key = shuffle if shuffle is not None else (index if ties == "index" else -index)
    return jnp.lexsort((key, jnp.where(candidates.present, -candidates.score, jnp.inf)))


def drawn_rows(mechanism: Any, key: Any, plan: Plan, order: Int[Array, " candidates"]) -> Int[Array, " neighbors"]:
    """Carries out a plan: in every group the largest log-weights + Gumbel (see `wallenius`); ascending rows."""
    num = len(order)
    scores = plan.log_weight + gumbel(key, (num,))
    by_score = jnp.lexsort((-scores, plan.start))  # groups are consecutive ranks, so each keeps its slots
    chosen = jnp.zeros(num, bool).at[order[by_score]].set(jnp.arange(num) - plan.start < plan.quota)
    ascending = jnp.sort(jnp.where(chosen, jnp.arange(num), num))[: mechanism.num_neighbors]
    return candidate_rows(num + 1, mechanism.target)[ascending]


def laplace(key: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Standard Laplace variables."""
    key_size, key_sign = jax.random.split(key)
    return jnp.log(uniform(key_size, shape)) * jnp.where(uniform(key_sign, shape) < 0.5, 1.0, -1.0)


@partial(jax.jit, static_argnums=0)
def _draw(
    mechanism: AbstractNeighborSelection, key: Any, matrix: Float[Array, "users items"]
) -> tuple[Int[Array, " neighbors"], Bool[Array, ""]]:
    """One set, and whether the mechanism is defined; per group the largest log-weights + Gumbel (`wallenius`)."""
    candidates = mechanism._candidates(matrix)
    ties = mechanism._tie_rule()
    shuffle = None
    if ties == "random":
        key_ties, key = jax.random.split(key)
        shuffle = uniform(key_ties, candidates.score.shape)
    order = ranks(candidates, "last" if ties == "last" else "index", shuffle)
    plan = mechanism._plan(matrix, candidates, order)
    return drawn_rows(mechanism, key, plan, order), _defined(plan, mechanism.num_neighbors)


@partial(jax.jit, static_argnums=0)
def _law(
    mechanism: AbstractNeighborSelection, output: Int[Array, " neighbors"], matrix: Float[Array, "users items"]
) -> Float[Array, ""]:
    candidates = mechanism._candidates(matrix)
    num = len(candidates.score)
    member = output - (output > mechanism.target)
    real = jnp.all((output >= 0) & (output <= num) & (output != mechanism.target))
    distinct = jnp.sum(output[:, None] == output[None, :]) == len(output)

    def given(order: Int[Array, " candidates"]) -> Float[Array, ""]:
        plan = mechanism._plan(matrix, candidates, order)
        rank = jnp.zeros(num, int).at[order].set(jnp.arange(num))
        value = _plan_log_prob(plan, rank[jnp.clip(member, 0, num - 1)])
        return jnp.where(_defined(plan, mechanism.num_neighbors), value, jnp.nan)

    ties = mechanism._tie_rule()
    if ties != "random":
        value = given(ranks(candidates, ties))
    else:
        shuffles = np.array(list(itertools.permutations(range(num))))
        blocks = jnp.asarray(shuffles.reshape(-1, min(len(shuffles), math.factorial(7)), num))

        def add(total: Array, block: Array) -> tuple[Array, None]:
            logs = jax.vmap(lambda shuffle: given(ranks(candidates, "index", shuffle)))(block)
            return jnp.logaddexp(total, jax.nn.logsumexp(logs)), None

        total, _ = jax.lax.scan(add, jnp.asarray(-jnp.inf, jnp.float64), blocks)
        value = total - math.log(len(shuffles))
    return jnp.where(real & distinct | jnp.isnan(value), value, -jnp.inf)


def _plan_log_prob(plan: Plan, rank: Int[Array, " neighbors"]) -> Float[Array, ""]:
    """log-probability that the members have exactly these ranks."""
    start = plan.start[rank]
    together = jnp.sum(start[:, None] == start[None, :], axis=1)
    value = members_log_prob(plan.log_weight, rank, plan.start, plan.stop)
    return jnp.where(jnp.all(together == plan.quota[rank]), value, -jnp.inf)


def _defined(plan: Plan, num_neighbors: int) -> Bool[Array, ""]:
    """Whether every group can supply its quota and the quotas add up to the number of neighbors."""
    usable = jnp.concatenate([jnp.zeros(1, int), jnp.cumsum(plan.log_weight > -jnp.inf)])
    enough = jnp.all(usable[plan.stop] - usable[plan.start] >= plan.quota)
    first = jnp.arange(len(plan.start)) == plan.start
    return enough & (jnp.sum(jnp.where(first, plan.quota, 0)) == num_neighbors)
