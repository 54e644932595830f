"""EigenvalueSampling, phase 1 of Algorithm 1, as a mechanism of its own (Fitzsimons et al., secs. 3, 3.1.1 and 3.2).

The output is the vector of coin flips, in ascending order of the eigenvalues, as the paper analyzes it. Algorithm 1's
procedure returns the chosen eigenvectors instead. Publishing those is not private at all: the eigenvectors of two
neighboring datasets are different real vectors, so that one look tells them apart.
"""

from dataclasses import dataclass
from typing import Any, final

import jax.numpy as jnp

from dpassay.core.privacy import PrivacyClaim
from dpassay.core.shapes import Array, Bool, Float
from dpassay.mechanisms.determinantal import AbstractDeterminantal, Spectrum, coin_flips
from dpassay.mechanisms.dpp import exact_epsilon


@final
@dataclass(frozen=True)
class EigenvalueSampling(AbstractDeterminantal):
    """Releases one coin flip per eigenvalue, ascending, True with probability value / (1 + value), shape (items,)."""

    @property
    def claim(self) -> PrivacyClaim:
        """`dpassay.mechanisms.dpp.exact_epsilon`: phase 1 alone costs what the whole sampler does.

        A user added raises every eigenvalue (Weyl), so that all heads gain most and all tails lose most; those are the
        events {all items} and {} of the whole sampler, with the same probabilities.
        """
        return self._claim(lambda bound: exact_epsilon(bound, self.jitter))

    def _sample(self, key: Any, spectrum: Spectrum) -> Bool[Array, " items"]:
        return coin_flips(key, spectrum.values)

    def _log_prob(
        self, output: Bool[Array, " items"], kernel: Float[Array, "items items"], spectrum: Spectrum
    ) -> Float[Array, ""]:
        return jnp.sum(jnp.where(output, jnp.log(spectrum.values), 0.0) - jnp.log1p(spectrum.values))
