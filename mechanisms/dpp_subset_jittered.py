"""Algorithm 1 with the weights |Proj_V' e_i|^2 + delta in SubsetConstruction (Fitzsimons et al., sec. 3.1.2).

With delta > 0 the output is no determinantal point process any more, and its size is not that of the selected basis: an
item orthogonal to V' can be drawn, which shortens nothing, and the loop goes on until V' is empty. When an
eigenvalue is repeated the law also depends on which basis of its eigenspace the decomposition returns.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Bool, Float, Int
from dpassay.mechanisms.determinantal import AbstractDeterminantal, Spectrum, chain_rule, coin_flips, masks

MAX_EXACT_ITEMS = 8
"""Up to this many items the exact law is computed; it sums over 2^n bases and, for each, over 2^n sets on the way."""


@final
@dataclass(frozen=True)
class JitteredSubsets(AbstractDeterminantal):
    """Both phases of Algorithm 1, the second with jittered weights; releases a mask of shape (items,).

    Attributes:
        delta: added to every weight of phase 2, > 0; with 0 it would be the exact sampler.
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("delta", self.delta)

    @property
    def claim(self) -> PrivacyClaim:
        """Nothing finite: the paper leaves open how far the weights move, and no theorem of ours bounds it."""
        return PrivacyClaim(math.inf, relation=NeighboringRelation("add_or_remove_one", "user"))

    def _sample(self, key: Any, spectrum: Spectrum) -> Bool[Array, " items"]:
        key_flips, key_items = jax.random.split(key)
        return chain_rule(key_items, spectrum.vectors, coin_flips(key_flips, spectrum.values), self.delta)

    def _log_prob(
        self, output: Bool[Array, " items"], kernel: Float[Array, "items items"], spectrum: Spectrum
    ) -> Float[Array, ""]:
        """Sums over the selected bases; for each the chance to pass through every set, by sets of growing size."""
        num = len(output)
        if num > MAX_EXACT_ITEMS:
            raise InvalidInput(
                f"the exact law sums over all bases and sets: give at most {MAX_EXACT_ITEMS} items, not {num}"
            )
        every = jnp.asarray(masks(num))
        weights = spectrum.values / (1 + spectrum.values)
        chances = jnp.prod(jnp.where(every, weights, 1 - weights), axis=1)
        place = jnp.sum(jnp.where(output, 2 ** jnp.arange(num), 0))
        laws = jax.lax.map(lambda selected: _stops(spectrum.vectors, selected, self.delta), every)
        return jnp.log(chances @ laws[:, place])


def _stops(vectors: Float[Array, "n n"], selected: Bool[Array, " n"], delta: float) -> Float[Array, " subsets"]:
    """Probability that SubsetConstruction with this basis ends with each set, indexed by the set's binary number."""
    num = len(selected)
    listed = masks(num)  # by growing size, so that every set comes after those it is reached from
    bits = 2 ** jnp.arange(num)
    basis = jnp.where(selected, vectors, 0.0)

    def visit(reached: Array, chosen: Array) -> tuple[Array, Array]:
        here = reached[jnp.sum(jnp.where(chosen, bits, 0))]
        rest, dimension = _orthogonal_part(basis, chosen, jnp.sum(selected))
        ends = (dimension == 0) | jnp.all(chosen)
        weights = jnp.where(chosen, 0.0, jnp.sum(rest**2, axis=1) + delta)
        moves = jnp.where(ends, 0.0, here * weights / jnp.where(ends, 1.0, jnp.sum(weights)))
        following = jnp.where(chosen, 0, jnp.sum(jnp.where(chosen, bits, 0)) + bits)
        return reached.at[following].add(jnp.where(chosen, 0.0, moves)), jnp.where(ends, here, 0.0)

    start = jnp.zeros(len(listed)).at[0].set(1.0)
    _, ended = jax.lax.scan(visit, start, jnp.asarray(listed))
    numbers = jnp.asarray((listed * (1 << jnp.arange(num))).sum(axis=1))
    return jnp.zeros(len(listed)).at[numbers].set(ended)


def _orthogonal_part(
    basis: Float[Array, "n n"], chosen: Bool[Array, " n"], size: Int[Array, ""]
) -> tuple[Float[Array, "n n"], Int[Array, ""]]:
    """The rows e_i seen in the part of the basis' span that is orthogonal to every chosen e_j, and its dimension."""
    rows = jnp.where(chosen[:, None], basis, 0.0)
    _, lengths, turned = jnp.linalg.svd(rows)
    spanned = lengths**2 > len(chosen) * jnp.finfo(basis.dtype).eps
    rest = basis @ jnp.where(spanned, 0.0, turned.T)
    return rest, size - jnp.sum(spanned)
