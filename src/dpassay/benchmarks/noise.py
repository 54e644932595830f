"""Fast float32 Laplace noise for benchmarks: Threefry words of which none is thrown away, and a short logarithm.

`jax.random` takes one 32-bit word from each Threefry block of two; half the work is lost. Here a block yields both
(Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3": Threefry-2x32, 20 rounds; equal to
JAX's own block, which a test compares).
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_SQRT_HALF = np.float32(math.sqrt(0.5)).view(np.int32)  # mantissas are taken from [sqrt(1/2), sqrt(2))


class Batched:
    """A sampler that draws many outputs at once: one output is a batch of one."""

    def sample(self, key: Any, dataset: Any) -> jax.Array:
        """One output; its shape is that of a batch without the axis of samples."""
        return self.sample_batch(key, dataset, 1)[0]

    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> jax.Array:
        """Outputs, shape (num_samples, ...)."""
        raise NotImplementedError


def words(key: Any, shape: tuple[int, ...]) -> jax.Array:
    """Uniform 32-bit words, uint32, of the given shape.

    The last axis should be the long one: blocks run along it.
    """
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        key = jax.random.key_data(key)
    rows, length = math.prod(shape[:-1]), shape[-1] if shape else 1
    half = -(-length // 2)
    # The block's counter is (row, position), both below 2^32.
    position = jnp.broadcast_to(jnp.arange(half, dtype=jnp.uint32), (rows, half))
    row = jnp.broadcast_to(jnp.arange(rows, dtype=jnp.uint32)[:, None], (rows, half))
    both = jnp.concatenate(_threefry(key[0], key[1], row, position), axis=1)
    return both[:, :length].reshape(shape)


def laplace(key: Any, shape: tuple[int, ...] = (), dtype: Any = jnp.float32) -> jax.Array:
    """Standard Laplace noise of the given shape, float32.

    A 32-bit word gives the sign and 31 bits of a uniform number u in (0, 1], -log u is the magnitude. So the largest
    magnitude is 32 log 2 = 22.2, every event beyond is missing (its probability is 2^-32), and near the largest ones
    only a lattice of numbers occurs: audit its values, not its bits.
    """
    bits = words(key, shape)
    # The conversion rounds numbers above 2^24 to the nearest float, u = 1 included.
    uniform = (lax.convert_element_type((bits >> 1).astype(jnp.int32), jnp.float32) + np.float32(0.5)) * np.float32(
        2**-31
    )
    magnitude = lax.bitcast_convert_type(-_log(uniform), jnp.uint32)
    return lax.bitcast_convert_type(magnitude ^ (bits << 31), jnp.float32).astype(dtype)


def bernoulli(key: Any, probability: Any, shape: tuple[int, ...] = ()) -> jax.Array:
    """True with the given probability (rounded to a multiple of 2^-32), bool, of the given shape."""
    limit = jnp.clip(jnp.round(jnp.asarray(probability, jnp.float32) * np.float32(2**31)), 0, 2.0**31)
    return (words(key, shape) >> 1) < limit.astype(jnp.uint32)


def _threefry(key0: Any, key1: Any, x0: Any, x1: Any) -> tuple[jax.Array, jax.Array]:
    """One block of Threefry-2x32 with 20 rounds per pair of counters."""
    schedule = (key0, key1, key0 ^ key1 ^ _PARITY)
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for step in range(5):
        for distance in _ROTATIONS[step % 2]:
            x0 = x0 + x1
            x1 = ((x1 << distance) | (x1 >> (32 - distance))) ^ x0
        x0 = x0 + schedule[(step + 1) % 3]
        x1 = x1 + schedule[(step + 2) % 3] + np.uint32(step + 1)
    return x0, x1


def _coefficients() -> list[np.float32]:
    """Of a polynomial P of degree 8 with log(1 + x) = x P(x) to 2e-8 on [sqrt(1/2) - 1, sqrt(2) - 1]."""
    x = np.linspace(math.sqrt(0.5) - 1, math.sqrt(2) - 1, 4000)  # 0 is not among them
    fit = np.polynomial.Chebyshev.fit(x, np.log1p(x) / x, 8)
    return [np.float32(value) for value in fit.convert(kind=np.polynomial.Polynomial).coef]


_LOG = _coefficients()


def _log(u: Any) -> Any:
    """Natural logarithm of normal positive float32 numbers to about two units in the last place, without branches."""
    bits = lax.bitcast_convert_type(u, jnp.int32)
    exponent = (bits - _SQRT_HALF) >> 23
    x = lax.bitcast_convert_type(bits - (exponent << 23), jnp.float32) - np.float32(1)
    value = jnp.full_like(x, _LOG[-1])
    for coefficient in _LOG[-2::-1]:
        value = value * x + coefficient
    return exponent.astype(jnp.float32) * np.float32(math.log(2)) + value * x
