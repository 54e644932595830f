"""Modified Laplace mechanism (Zheng, Definition 2, eq. 1) and our safe repair of it.

Every user perturbs her own ratings, scaled to [-1, 1], before they leave her machine; missing entries are perturbed
too. The paper's law is a mixture of a density and the chance of `missing`; its ordinary sampler adds a float to a
float, which betrays the rating (Mironov 2012). The repair draws from integers and bits only.
"""

import abc
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal, final

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_choices, check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.core.shapes import Array, Bool, Float
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.exact_integers import MAX_SCALE, discrete_laplace, logistic_coin
from dpassay.mechanisms.selection import laplace
from dpassay.mechanisms.wallenius import uniform

Coupling = Literal["independent", "shared"]


@dataclass(frozen=True)
class AbstractModifiedLaplace(abc.ABC):
    """A rated entry is released with noise or turned missing; a missing one stays so or becomes noise around 0.

    Attributes:
        epsilon: nats, for one entry; a user's vector of n entries costs n epsilon.
    """

    epsilon: float = 1.0

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_choices(self)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon for any two values of one entry, `missing` among them (Theorem 1: n epsilon for a user's vector)."""
        return PrivacyClaim(self.epsilon, relation=NeighboringRelation("replace_one", "entry"))

    @float64
    def sample(self, key: Any, dataset: Any) -> Float[Array, "..."]:
        """The perturbed ratings, of the dataset's shape, NaN where missing; real numbers, not only those of [-1, 1].

        Args:
            key: JAX PRNG key.
            dataset: one user's ratings, shape (items,), or many users', shape (users, items), in [-1, 1], NaN where
                missing; a `Ratings` with that scale.

        Raises:
            InvalidInput: a rating outside [-1, 1] (not checked under a JAX transformation).
        """
        return self._perturb(key, _ratings(dataset))

    def claim_for(self, num_items: int) -> PrivacyClaim:
        """n epsilon for any two whole vectors of `num_items` entries."""
        check_count("num_items", num_items, 1)
        return PrivacyClaim(num_items * self.epsilon, relation=NeighboringRelation("replace_one", "user"))

    @abc.abstractmethod
    def _perturb(self, key: Any, ratings: Float[Array, "..."]) -> Float[Array, "..."]:
        """One draw."""


@final
@dataclass(frozen=True)
class ModifiedLaplace(AbstractModifiedLaplace):
    """The paper's law: a rated x becomes x + xi if zeta = 1, else missing; a missing entry becomes xi if zeta = 0.

    xi is Laplace of scale 2/epsilon and zeta is 1 with chance e^(epsilon/2) / (1 + e^(epsilon/2)). The sampler is the
    ordinary one in float64; its law is the paper's only up to rounding, and its privacy is not (see
    `dpassay.proofs.representation`).

    Attributes:
        coupling: "independent": every entry has its own (xi, zeta), as the proof of Theorem 1 needs. "shared":
            Definition 2 to the letter, one (xi, zeta) for all entries of a user; differences of ratings are then
            released as they are.
    """

    coupling: Coupling = "independent"

    @property
    def scale(self) -> float:
        """Scale 2/epsilon of the noise, in ratings."""
        return 2 / self.epsilon

    @property
    def keep_probability(self) -> float:
        """Pr[zeta = 1] = e^(epsilon/2) / (1 + e^(epsilon/2))."""
        return 1 / (1 + math.exp(-self.epsilon / 2))

    @float64
    def log_density(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """Log-density of `output`, nats, shape (): per entry a log-probability where missing, else of a density.

        Raises:
            InvalidInput: the output's shape is not the dataset's; or coupling="shared", whose law has no density.
        """
        if self.coupling == "shared":
            raise InvalidInput('one noise for all entries has no density; use coupling="independent", or sample')
        ratings, output = _ratings(dataset), jnp.asarray(output, jnp.float64)
        if output.shape != ratings.shape:
            raise InvalidInput(f"an output has the dataset's shape {ratings.shape}, got {output.shape}")
        center = jnp.nan_to_num(ratings)
        noise = -jnp.abs(output - center) / self.scale - math.log(2 * self.scale)
        return jnp.sum(_mixture(ratings, output, self.epsilon / 2, noise))

    def _perturb(self, key: Any, ratings: Float[Array, "..."]) -> Float[Array, "..."]:
        return _float_draw(self, key, ratings)


@final
@dataclass(frozen=True)
class DiscreteModifiedLaplace(AbstractModifiedLaplace):
    """The same idea on a public grid of step 2^-`grid_bits`, drawn exactly; epsilon-DP per entry as executed.

    Let G = 2^grid_bits and t = ceil(2G/epsilon), integers. A rating becomes the nearest grid point k/G, |k| <= G; the
    noise is z/G with Pr[z] = tanh(1/(2t)) e^(-|z|/t); the coin keeps with chance e^c / (1 + e^c), c = G/t <= epsilon/2.

    Why epsilon: between two ratings Pr[k + z = y] changes by e^(||y-k| - |y-k'||/t) <= e^(2G/t), and missing not at
    all. Between a rating and `missing`, a number y has chances keep * p(y - k) and (1 - keep) * p(y): the ratio is
    e^c e^((|y| - |y-k|)/t) <= e^(G/t) e^(G/t), its inverse at most e^(-G/t) e^(G/t) = 1, and missing changes by e^c. So
    everything is within e^(2G/t), and 2G/t <= epsilon. Rounding the rating happens before, turning integers into
    floats after: neither can add loss. Entries are independent, so n of them lose at most n 2G/t.

    No float decides a draw (see `exact_integers`), so the argument is about the code; JAX's generator is taken as ideal
    randomness, and the running time, which depends on the draws, is not protected.

    Attributes:
        grid_bits: the grid has 2^grid_bits steps per unit, that is half of [-1, 1].
    """

    grid_bits: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("grid_bits", self.grid_bits, 0)
        if self.scale > MAX_SCALE:
            raise InvalidInput(
                f"epsilon {self.epsilon} at grid_bits {self.grid_bits} needs noise of {self.scale} steps; use a larger "
                "epsilon or fewer grid_bits"
            )

    @property
    def steps(self) -> int:
        """G = 2^grid_bits: grid steps per unit."""
        return int(2**self.grid_bits)

    @property
    def scale(self) -> int:
        """t = ceil(2G/epsilon), in grid steps, exactly."""
        return math.ceil(2 * self.steps / Fraction(self.epsilon))

    @property
    def loss(self) -> Fraction:
        """2G/t, the exact loss of one entry in nats, at most epsilon."""
        return Fraction(2 * self.steps, self.scale)

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[M(dataset) = output], nats, shape (); -inf off the grid.

        Raises:
            InvalidInput: the output's shape is not the dataset's.
        """
        ratings, output = _ratings(dataset), jnp.asarray(output, jnp.float64)
        if output.shape != ratings.shape:
            raise InvalidInput(f"an output has the dataset's shape {ratings.shape}, got {output.shape}")
        distance = output * self.steps - jnp.round(jnp.nan_to_num(ratings) * self.steps)
        noise = math.log(math.tanh(0.5 / self.scale)) - jnp.abs(distance) / self.scale
        on_grid = jnp.isnan(output) | (output * self.steps == jnp.round(output * self.steps))
        logs = _mixture(ratings, output, self.steps / self.scale, noise)
        return jnp.where(jnp.all(on_grid), jnp.sum(logs), -jnp.inf)

    def _perturb(self, key: Any, ratings: Float[Array, "..."]) -> Float[Array, "..."]:
        return _integer_draw(self, key, ratings)


def rescaled(values: Any, scale: tuple[float, float] = (1.0, 5.0)) -> np.ndarray:
    """Ratings of a scale, low to high, mapped affinely to [-1, 1], in their shape; NaN stays. The paper leaves it open.

    Raises:
        InvalidInput: a value outside the scale.
    """
    values = np.asarray(values, float)
    low, high = scale
    if ((values < low) | (values > high)).any():
        raise InvalidInput(f"a rating lies outside the scale {low:g} to {high:g}; correct it or give the right scale")
    return (2 * values - (low + high)) / (high - low)


def _ratings(dataset: Any) -> Float[Array, "..."]:
    matrix = jnp.asarray(dataset.dense() if isinstance(dataset, Ratings) else dataset, jnp.float64)
    if matrix.ndim not in (1, 2) or matrix.size == 0:
        raise InvalidInput(f"give one user's ratings or a matrix (users, items), got an array of shape {matrix.shape}")
    if not isinstance(matrix, jax.core.Tracer) and bool(jnp.any(jnp.abs(matrix) > 1)):
        raise InvalidInput("a rating lies outside [-1, 1]; map the ratings there first, for example with `rescaled`")
    return matrix


def _mixture(ratings: Any, output: Any, coin: float, noise: Any) -> Float[Array, "..."]:
    """Log-law per entry; `coin` is the log-odds of keeping, `noise` the log-law of a released number."""
    keep, turn = -math.log1p(math.exp(-coin)), -coin - math.log1p(math.exp(-coin))
    same = jnp.isnan(ratings) == jnp.isnan(output)
    return jnp.where(same, keep, turn) + jnp.where(jnp.isnan(output), 0.0, noise)


def _release(ratings: Any, keep: Bool[Array, "..."], noisy: Any, noise: Any) -> Float[Array, "..."]:
    """Eq. 1."""
    missing = jnp.isnan(ratings)
    return jnp.where(keep == missing, jnp.nan, jnp.where(missing, noise, noisy))


@partial(jax.jit, static_argnums=0)
def _float_draw(mechanism: ModifiedLaplace, key: Any, ratings: Float[Array, "..."]) -> Float[Array, "..."]:
    key_noise, key_coin = jax.random.split(key)
    shape = ratings.shape if mechanism.coupling == "independent" else (*ratings.shape[:-1], 1)
    noise = mechanism.scale * laplace(key_noise, shape)
    keep = uniform(key_coin, shape) < mechanism.keep_probability
    return _release(ratings, keep, ratings + noise, jnp.broadcast_to(noise, ratings.shape))


@partial(jax.jit, static_argnums=0)
def _integer_draw(mechanism: DiscreteModifiedLaplace, key: Any, ratings: Float[Array, "..."]) -> Float[Array, "..."]:
    key_noise, key_coin = jax.random.split(key)
    steps, scale = mechanism.steps, mechanism.scale
    noise = discrete_laplace(key_noise, ratings.shape, scale)
    keep = logistic_coin(key_coin, ratings.shape, steps, scale)
    points = jnp.round(jnp.nan_to_num(ratings) * steps).astype(jnp.int64)
    # The step is a power of two: the products are exact, and what they round beyond 2^53 is no longer data.
    noisy, alone = ((integers.astype(jnp.float64) * (1 / steps)) for integers in (points + noise, noise))
    return _release(ratings, keep, noisy, alone)
