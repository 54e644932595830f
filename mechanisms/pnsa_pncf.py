"""Private neighbor selection followed by a prediction with noisy similarities (PNSA and PNCF of X-Map's report).

Half of epsilon (the report's eps') is for drawing the k neighbors of an item, half for Laplace noise on their
similarities. The reader, one user, combines the noisy similarities with ratings of her own; the other users are to be
protected from her, and nothing is defined on a dataset without her. The report does not say how PNCF predicts; this is
the weighted mean sum s r / sum |s|.
"""

import abc
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_count, check_open_unit, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Float, Int
from dpassay.mechanisms.item_similarity import ItemSimilarity, Norms
from dpassay.mechanisms.pnsa import ConstantSensitivitySelection, ItemNeighborSelection
from dpassay.mechanisms.selection import laplace
from dpassay.mechanisms.similarity import as_matrix, predict


@dataclass(frozen=True)
class _AbstractItemFiltering(abc.ABC):
    """What both variants share.

    Attributes:
        num_neighbors: k.
        target: the item whose rating is predicted.
        user: row of the reader.
        epsilon: the report's eps', nats, for selection and noise together.
    """

    num_neighbors: int = 2
    target: int = 0
    user: int = 0
    epsilon: float = 1.0

    def __post_init__(self) -> None:
        check_count("num_neighbors", self.num_neighbors, 1)
        check_count("target", self.target, 0)
        check_count("user", self.user, 0)
        check_positive("epsilon", self.epsilon)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon, when a user other than the reader joins or leaves."""
        return PrivacyClaim(self.epsilon, relation=NeighboringRelation("add_or_remove_one", "user"))

    @property
    @abc.abstractmethod
    def selection(self) -> Any:
        """The selection of the neighbors, which is to lose epsilon / 2."""

    @float64
    def sample(self, key: Any, dataset: Any) -> Float[Array, ""]:
        """One predicted rating of the target by the reader, shape ().

        NaN when the reader rated no drawn neighbor, or when a neighbor's noise has infinite scale.

        Raises:
            InvalidInput: an unknown item or user, or fewer other items than neighbors.
        """
        matrix = as_matrix(dataset)
        if self.user >= matrix.shape[0]:
            raise InvalidInput(f"user is row {self.user}, but the dataset has rows 0 to {matrix.shape[0] - 1}")
        key_selection, key_noise = jax.random.split(key)
        members = self.selection.sample(key_selection, matrix)
        return _prediction(self, key_noise, members, matrix)

    @float64
    def noise_scales(self, dataset: Any) -> Float[Array, " candidates"]:
        """Scale of the Laplace noise on every other item's similarity, in item order."""
        return self._scales(as_matrix(dataset))

    @abc.abstractmethod
    def _scales(self, matrix: Float[Array, "users items"]) -> Float[Array, " candidates"]:
        """See `noise_scales`."""


@final
@dataclass(frozen=True)
class ItemFiltering(_AbstractItemFiltering):
    """As printed: PNSA as printed, and noise of scale SS(target, j) / (epsilon/2), SS being computed from the data.

    Attributes:
        rho: as in `ItemNeighborSelection`, like `similarity` and `norms`.
    """

    rho: float = 0.5
    similarity: ItemSimilarity = "adjusted_cosine"
    norms: Norms = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_open_unit("rho", self.rho)
        _ = self.selection  # checks the rest

    @property
    def selection(self) -> ItemNeighborSelection:
        """PNSA."""
        return ItemNeighborSelection(
            self.num_neighbors, self.target, self.epsilon, self.rho, self.similarity, self.norms
        )

    def _scales(self, matrix: Float[Array, "users items"]) -> Float[Array, " candidates"]:
        return 2 * jnp.maximum(self.selection.candidate_sensitivities(matrix), 0.0) / self.epsilon


@final
@dataclass(frozen=True)
class ConstantSensitivityFiltering(_AbstractItemFiltering):
    """Our repair: the repaired selection, and noise of scale GS / (epsilon / (2k)) on each of the k similarities.

    Attributes:
        similarity: as in `ConstantSensitivitySelection`, like `threshold` and `width`.
    """

    similarity: Literal["normalized", "adjusted_cosine", "cosine"] = "normalized"
    threshold: float = 10.0
    width: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.selection

    @property
    def selection(self) -> ConstantSensitivitySelection:
        """The repaired PNSA."""
        return ConstantSensitivitySelection(
            self.num_neighbors, self.target, self.epsilon, self.similarity, self.threshold, self.width
        )

    def _scales(self, matrix: Float[Array, "users items"]) -> Float[Array, " candidates"]:
        scale = 2 * self.num_neighbors * self.selection.global_sensitivity / self.epsilon
        return jnp.full(matrix.shape[1] - 1, scale)


@partial(jax.jit, static_argnums=0)
def _prediction(
    mechanism: _AbstractItemFiltering, key: Any, members: Int[Array, " neighbors"], matrix: Float[Array, "users items"]
) -> Float[Array, ""]:
    place = members - (members > mechanism.target)
    similarity = mechanism.selection._candidates(matrix.T).score[place]
    noisy = similarity + mechanism._scales(matrix)[place] * laplace(key, similarity.shape)
    return predict(noisy, matrix[mechanism.user, members])
