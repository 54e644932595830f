"""Randomized response over ratings 0..d, 0 for missing (Zheng, Definition 3), and the same with integer thresholds."""

import abc
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
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
from dpassay.core.shapes import Array, Float, Int
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.exact_integers import word62
from dpassay.mechanisms.wallenius import MAX_OUTPUTS, uniform

Indexing = Literal["entry", "value"]

WORD_BITS = 62
_LEAST_EPSILON = 2.0**-40
_LARGEST_EXPONENT = 100.0  # e^100 is beyond 2^62: the thresholds no longer change


@dataclass(frozen=True)
class AbstractRandomizedResponse(abc.ABC):
    """Every entry keeps its symbol with chance e^epsilon / (e^epsilon + d), else takes another one, all alike.

    Attributes:
        epsilon: nats, for one entry; a user's vector of n entries costs n epsilon.
        num_ratings: d; the symbols are 0 (missing), 1, ..., d.
    """

    epsilon: float = 1.0
    num_ratings: int = 5

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_count("num_ratings", self.num_ratings, 1)
        check_choices(self)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon for any two symbols of one entry (Theorem 2: n epsilon for a user's vector)."""
        return PrivacyClaim(self.epsilon, relation=NeighboringRelation("replace_one", "entry"))

    @float64
    def sample(self, key: Any, dataset: Any) -> Int[Array, "..."]:
        """The perturbed symbols, integers of the dataset's shape.

        Args:
            key: JAX PRNG key.
            dataset: one user's symbols, shape (items,), or many users', shape (users, items); 0 or NaN where missing.

        Raises:
            InvalidInput: not an integer in 0..d (not checked under a JAX transformation).
        """
        return _draw(self, key, self._symbols(dataset))

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[M(dataset) = output], nats, shape (); -inf when impossible.

        Raises:
            InvalidInput: the output's shape is not the dataset's.
        """
        symbols, output = self._symbols(dataset), jnp.asarray(output)
        if output.shape != symbols.shape:
            raise InvalidInput(f"an output has the dataset's shape {symbols.shape}, got {output.shape}")
        return _law(self, output, symbols)

    def outputs(self, dataset: Any) -> np.ndarray:
        """All (d+1)^entries outputs, shape (outputs, users, items).

        Raises:
            InvalidInput: more outputs than can be listed.
        """
        shape = np.shape(self._symbols(dataset))
        entries = math.prod(shape)
        number = (self.num_ratings + 1) ** entries
        if number * entries > MAX_OUTPUTS:
            raise InvalidInput(
                f"{entries} entries of {self.num_ratings + 1} symbols have {number} outputs; give fewer entries"
            )
        every = itertools.product(range(self.num_ratings + 1), repeat=entries)
        return np.fromiter(itertools.chain.from_iterable(every), np.int64, number * entries).reshape(number, *shape)

    def claim_for(self, num_items: int) -> PrivacyClaim:
        """n epsilon for any two whole vectors of `num_items` entries."""
        check_count("num_items", num_items, 1)
        return PrivacyClaim(num_items * self.epsilon, relation=NeighboringRelation("replace_one", "user"))

    @abc.abstractmethod
    def _log_chances(self) -> tuple[float, float]:
        """log-probabilities that a symbol is kept, and that one particular other takes its place."""

    @abc.abstractmethod
    def _shifts(self, key: Any, shape: tuple[int, ...]) -> Int[Array, "..."]:
        """Independent places 0..d, 0 with the chance of keeping and all others alike."""

    def _by_value(self) -> bool:
        return False

    def _symbols(self, dataset: Any) -> Int[Array, "..."]:
        raw = dataset.dense() if isinstance(dataset, Ratings) else dataset
        with jax.enable_x64(True):
            matrix = jnp.nan_to_num(jnp.asarray(raw, jnp.float64))
            if matrix.ndim not in (1, 2) or matrix.size == 0:
                raise InvalidInput(
                    f"give one user's ratings or a matrix (users, items), got an array of shape {matrix.shape}"
                )
            legal = (matrix >= 0) & (matrix <= self.num_ratings) & (matrix == jnp.round(matrix))
            if not isinstance(matrix, jax.core.Tracer) and not bool(jnp.all(legal)):
                raise InvalidInput(
                    f"a rating is not an integer in 0 to {self.num_ratings}; round the ratings or set num_ratings"
                )
            return matrix.astype(jnp.int64)


@final
@dataclass(frozen=True)
class RandomizedResponse(AbstractRandomizedResponse):
    """The paper's law with the ordinary sampler: a float64 uniform number against a float64 threshold.

    Attributes:
        indexing: "entry": every entry has its own response. "value": Definition 3 to the letter, M(x_k) = xi_{x_k}: one
            response per symbol and user, so that entries with one symbol all get the same output.
    """

    indexing: Indexing = "entry"

    @property
    def keep_probability(self) -> float:
        """e^epsilon / (e^epsilon + d)."""
        return 1 / (1 + self.num_ratings * math.exp(-self.epsilon))

    def _log_chances(self) -> tuple[float, float]:
        keep = -math.log1p(self.num_ratings * math.exp(-self.epsilon))
        return keep, keep - self.epsilon

    def _shifts(self, key: Any, shape: tuple[int, ...]) -> Int[Array, "..."]:
        key_keep, key_other = jax.random.split(key)
        other = 1 + jnp.floor(self.num_ratings * uniform(key_other, shape)).astype(jnp.int64)
        return jnp.where(uniform(key_keep, shape) < self.keep_probability, 0, other)

    def _by_value(self) -> bool:
        return self.indexing == "value"


@final
@dataclass(frozen=True)
class IntegerRandomizedResponse(AbstractRandomizedResponse):
    """Randomized response from 62 random bits per entry, compared with integers; epsilon-DP per entry as executed.

    Let B = ceil(2^62 / (e^epsilon + d)) and A = 2^62 - d B. A uniform integer below 2^62 keeps the symbol when it is
    below A, and B integers lead to each other symbol. Why epsilon: 2^62 <= B (e^epsilon + d), so A/B <= e^epsilon; and
    A >= B for epsilon >= 2^-40. No float decides a draw, so this is about the code; JAX's generator is taken as ideal
    randomness. The loss ln(A/B) falls short of epsilon by about 2^-60 (e^epsilon + d).
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon < _LEAST_EPSILON or self.num_ratings > 1000:
            raise InvalidInput("62 bits per entry need epsilon >= 2^-40 and num_ratings <= 1000; use other values")

    @property
    def thresholds(self) -> tuple[int, int]:
        """A and B, whose sum A + d B is 2^62."""
        other = _ceiling(self.epsilon, self.num_ratings)
        return 2**WORD_BITS - self.num_ratings * other, other

    def _log_chances(self) -> tuple[float, float]:
        keep, other = self.thresholds
        return math.log(keep) - WORD_BITS * math.log(2), math.log(other) - WORD_BITS * math.log(2)

    def _shifts(self, key: Any, shape: tuple[int, ...]) -> Int[Array, "..."]:
        keep, other = self.thresholds
        word = word62(key, shape)
        return jnp.where(word < keep, 0, 1 + (word - keep) // other)


def _ceiling(epsilon: float, num_ratings: int) -> int:
    """ceil(2^62 / (e^epsilon + d)), or one more when 60 digits cannot tell."""
    with localcontext(prec=60):
        exponential = Fraction(Decimal(min(epsilon, _LARGEST_EXPONENT)).exp()) * (1 - Fraction(1, 10**55))
    return math.ceil(2**WORD_BITS / (exponential + num_ratings))


@partial(jax.jit, static_argnums=0)
def _draw(mechanism: AbstractRandomizedResponse, key: Any, symbols: Int[Array, "..."]) -> Int[Array, "..."]:
    number = mechanism.num_ratings + 1
    if not mechanism._by_value():
        return _moved(symbols, mechanism._shifts(key, symbols.shape), number)
    every = jnp.broadcast_to(jnp.arange(number), (*symbols.shape[:-1], number))
    responses = _moved(every, mechanism._shifts(key, every.shape), number)
    return jnp.take_along_axis(responses, symbols, axis=-1)


def _moved(symbols: Int[Array, "..."], shifts: Int[Array, "..."], number: int) -> Int[Array, "..."]:
    return (symbols + shifts) % number


@partial(jax.jit, static_argnums=0)
def _law(
    mechanism: AbstractRandomizedResponse, output: Int[Array, "..."], symbols: Int[Array, "..."]
) -> Float[Array, ""]:
    keep, other = mechanism._log_chances()
    logs = jnp.where(output == symbols, keep, other)
    legal = jnp.all((output >= 0) & (output <= mechanism.num_ratings))
    if not mechanism._by_value():
        return jnp.where(legal, jnp.sum(logs), -jnp.inf)
    same = symbols[..., :, None] == symbols[..., None, :]
    agree = jnp.all(~same | (output[..., :, None] == output[..., None, :]))
    # Entries with one symbol share one response: each carries its part of the logarithm.
    return jnp.where(legal & agree, jnp.sum(logs / jnp.sum(same, axis=-1)), -jnp.inf)
