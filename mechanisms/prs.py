"""Private replacement selection (PRS): X-Map's technical report, Theorem 1; as released; and our private repair.

A source-domain item is replaced by a target-domain item drawn by weight exp(epsilon q / (2 GS)), q = X-SIM. Here q is
the X-SIM of items that are linked directly and by no other path, which is their (weighted) adjusted cosine; for
meta-paths see `dpassay.mechanisms.xsim`. The first `num_source_items` columns are the source domain, all others the
catalogue of the target domain. One draw: an alter ego of L items costs L epsilon, which the paper does not say.
"""

import abc
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, final

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_choices, check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.item_similarity import ItemSimilarity, Norms, check_item, item_similarities, quantified_items
from dpassay.mechanisms.similarity import TIE_TOLERANCE, as_matrix, snap
from dpassay.mechanisms.wallenius import gumbel

RANGE = 2.0
"""How far a similarity in [-1, 1] can move: a global sensitivity, whatever the data are."""


@dataclass(frozen=True)
class AbstractReplacementSelection(abc.ABC):
    """Draws the replacement of one source-domain item; the output is its item number, shape (1,).

    Attributes:
        epsilon: nats.
        source_item: t_i.
        num_source_items: how many columns, the first ones, are the source domain.
        similarity: "adjusted_cosine" (of ratings less the user's mean) or "cosine".
        norms: over all raters of each item, or over the co-raters of the pair.
        significance_cap: c in the factor min(co-raters, c) / c of the similarity; 1 weights nothing.
    """

    epsilon: float = 1.0
    source_item: int = 0
    num_source_items: int = 1
    similarity: ItemSimilarity = "adjusted_cosine"
    norms: Norms = "all"
    significance_cap: int = 1

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("source_item", self.source_item, 0)
        check_count("num_source_items", self.num_source_items, 1)
        check_count("significance_cap", self.significance_cap, 1)
        check_choices(self)
        check_item("source_item", self.source_item, 0, self.num_source_items)

    @property
    def claim(self) -> PrivacyClaim:
        """Theorem 1: epsilon, for one replaced item, when one user joins or leaves."""
        return PrivacyClaim(self.epsilon, relation=NeighboringRelation("add_or_remove_one", "user"))

    @property
    def num_neighbors(self) -> Literal[1]:
        """The number of items drawn, under the name that every selection mechanism has."""
        return 1

    @float64
    def sample(self, key: Any, dataset: Any) -> Int[Array, " 1"]:
        """One replacement, shape (1,).

        Raises:
            InvalidInput: no target-domain item; or, unless under a JAX transformation, no candidate.
        """
        item, defined = _draw(self, key, self._matrix(dataset))
        if not isinstance(defined, jax.core.Tracer) and not bool(defined):
            raise InvalidInput(
                f"item {self.source_item} has no replacement in this dataset; choose an item that shares raters with "
                "the target domain"
            )
        return item

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[the replacement is `output`], nats, shape (); NaN where there is no candidate.

        Raises:
            InvalidInput: an output that is not one item number, or no target-domain item.
        """
        matrix = self._matrix(dataset)
        output = jnp.asarray(output)
        if output.shape != (1,):
            raise InvalidInput(f"an output is one item number, got shape {output.shape}")
        return _law(self, output[0], matrix)

    def outputs(self, dataset: Any) -> np.ndarray:
        """Every item of the target domain, shape (target-domain items, 1)."""
        num_items = dataset.num_items if isinstance(dataset, Ratings) else np.shape(dataset)[-1]
        return np.arange(self.num_source_items, num_items)[:, None]

    @float64
    def log_weights(self, dataset: Any) -> Float[Array, " items"]:
        """log of the weight of every target-domain item; -inf for one that is no candidate."""
        return self._log_weights(self._matrix(dataset))

    @abc.abstractmethod
    def _log_weights(self, matrix: Float[Array, "users items"]) -> Float[Array, " targets"]: ...

    def _similarities(self, matrix: Float[Array, "users items"]) -> Float[Array, " targets"]:
        each = item_similarities(matrix, self.source_item, self.similarity, self.norms, self.significance_cap)
        return each[self.num_source_items - 1 :]

    def _quantified(self, matrix: Float[Array, "users items"]) -> Float[Array, " targets"]:
        each = quantified_items(matrix, self.source_item, self.similarity, self.norms)
        return each[self.num_source_items - 1 :]

    def _matrix(self, dataset: Any) -> Float[Array, "users items"]:
        matrix = as_matrix(dataset)
        if matrix.shape[1] <= self.num_source_items:
            raise InvalidInput(
                f"num_source_items is {self.num_source_items}, but the dataset has {matrix.shape[1]} items; leave at "
                "least one item for the target domain"
            )
        return matrix


@final
@dataclass(frozen=True)
class ReplacementSelection(AbstractReplacementSelection):
    """Theorem 1 as printed: candidates are the target-domain items with a quantified X-SIM, a set read off the data.

    Attributes:
        sensitivity: GS.
    """

    sensitivity: float = RANGE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("sensitivity", self.sensitivity)

    def _log_weights(self, matrix: Float[Array, "users items"]) -> Float[Array, " targets"]:
        logs = self.epsilon / (2 * self.sensitivity) * self._similarities(matrix)
        return jnp.where(self._quantified(matrix), logs, -jnp.inf)


@final
@dataclass(frozen=True)
class ReleasedReplacementSelection(AbstractReplacementSelection):
    """As released: candidates are the `list_size` items of largest |X-SIM| other than 0, ties by lower item number.

    GS is 1 for the cosine and 2 for the adjusted cosine. The released code exchanges the domains, drawing a source item
    for every target item; the law of one draw is this one.

    Attributes:
        significance_cap: 50 in the released parameters.
        list_size: 10 in the released code.
    """

    significance_cap: int = 50
    list_size: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("list_size", self.list_size, 1)

    @property
    def sensitivity(self) -> float:
        """GS of the released code."""
        return 1.0 if self.similarity == "cosine" else RANGE

    def _log_weights(self, matrix: Float[Array, "users items"]) -> Float[Array, " targets"]:
        scores = self._similarities(matrix)
        size = _magnitudes(scores)
        place = jnp.argsort(jnp.argsort(-size, stable=True), stable=True)
        listed = self._quantified(matrix) & (size > 0) & (place < self.list_size)
        return jnp.where(listed, self.epsilon / (2 * self.sensitivity) * scores, -jnp.inf)


@final
@dataclass(frozen=True)
class CatalogueReplacementSelection(AbstractReplacementSelection):
    """Our repair: every item of the public catalogue is a candidate, an undefined X-SIM is 0, and GS = 2."""

    @property
    def sensitivity(self) -> float:
        """The range of a similarity."""
        return RANGE

    def _log_weights(self, matrix: Float[Array, "users items"]) -> Float[Array, " targets"]:
        return self.epsilon / (2 * self.sensitivity) * self._similarities(matrix)


def _magnitudes(scores: Float[Array, " targets"]) -> Float[Array, " targets"]:
    """|score|, equal where it differs by rounding only; exactly 0 where it is 0 up to rounding."""
    size = jnp.abs(scores)
    size = jnp.where(size > TIE_TOLERANCE, size, 0.0)
    return snap(size)


@partial(jax.jit, static_argnums=0)
def _draw(mechanism: AbstractReplacementSelection, key: Any, matrix: Array) -> tuple[Int[Array, " 1"], Array]:
    logs = mechanism._log_weights(matrix)
    _, place = jax.lax.top_k(logs + gumbel(key, logs.shape), 1)
    return mechanism.num_source_items + place, jnp.any(logs > -jnp.inf)


@partial(jax.jit, static_argnums=0)
def _law(mechanism: AbstractReplacementSelection, item: Array, matrix: Array) -> Float[Array, ""]:
    logs = mechanism._log_weights(matrix)
    place = item - mechanism.num_source_items
    chance = logs[jnp.clip(place, 0, len(logs) - 1)] - jax.nn.logsumexp(logs)
    possible = (place >= 0) & (place < len(logs)) | jnp.isnan(chance)
    return jnp.where(possible, chance, -jnp.inf)
