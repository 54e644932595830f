"""The exact L-ensemble sampler (Fitzsimons et al., Algorithm 1), and what one recommendation of it costs exactly.

The paper bounds phase 1 by 2 n log(1 + Delta_L / (sigma sqrt n)) and leaves phase 2 open. The law of what is released,
P(Y) = det(L_Y) / det(L + I), needs neither: a user x added to L gives, by the matrix determinant lemma,

    P'(Y) / P(Y) = (1 + x_Y' L_Y^-1 x_Y) / (1 + x' (L + I)^-1 x),

and `exact_epsilon` is the supremum of its absolute logarithm over all data.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp

from dpassay.core.checks import check_count, check_not_negative, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.shapes import Array, Bool, Float
from dpassay.mechanisms.determinantal import AbstractDeterminantal, Spectrum, chain_rule, coin_flips, log_minor
from dpassay.mechanisms.determinantal_batches import sample_process


@final
@dataclass(frozen=True)
class DeterminantalPointProcess(AbstractDeterminantal):
    """Releases a set Y of items with probability det(L_Y) / det(L + I), as a mask of shape (items,)."""

    @property
    def claim(self) -> PrivacyClaim:
        """`exact_epsilon` per user added or removed, for the dot kernel and rows bounded by `max_square_norm`."""
        return self._claim(lambda bound: exact_epsilon(bound, self.jitter))

    @float64
    def sample_batch(self, key: Any, dataset: Any, num_samples: int) -> Bool[Array, "samples items"]:
        """Many independent outputs, of the law of `sample`, with one eigendecomposition for all.

        The algorithm is chosen by the expected size of Y, see `dpassay.mechanisms.determinantal_batches`. Not for use
        under a JAX transformation.

        Raises:
            InvalidInput: as `sample`.
        """
        check_count("num_samples", num_samples, 1)
        _, spectrum = self._checked(dataset)
        return sample_process(key, spectrum, num_samples)

    @float64
    def marginal_kernel(self, dataset: Any) -> Float[Array, "items items"]:
        """K = L (L + I)^-1: Pr[A is a subset of Y] = det(K_A) (sec. 2.2)."""
        values, vectors = self.spectrum(dataset)
        return (vectors * (values / (1 + values))) @ vectors.T

    def _sample(self, key: Any, spectrum: Spectrum) -> Bool[Array, " items"]:
        key_flips, key_items = jax.random.split(key)
        return chain_rule(key_items, spectrum.vectors, coin_flips(key_flips, spectrum.values))

    def _log_prob(
        self, output: Bool[Array, " items"], kernel: Float[Array, "items items"], spectrum: Spectrum
    ) -> Float[Array, ""]:
        values = spectrum.values
        return log_minor(kernel, output, self._floor(), values[-1]) - jnp.sum(jnp.log1p(values))


def exact_epsilon(num_items: float, jitter: float) -> float:
    """The exact privacy loss of one recommendation when one user is added or removed, nats; infinite without jitter.

    max{log(1 + n/s) - log(1 + n/(1+s)), log(1 + n/(1+s))} with n = `num_items` and s = `jitter`. The loss of Y = all
    items is the first, that of the empty Y the second; both are attained (a maximum, not only a supremum) when a user
    of all ones is added to a dataset of zero rows. The same number is exact for real rows of squared norm at most n,
    and for phase 1 alone.

    In general `num_items` is the bound on a row's squared norm; both numbers are >= 0.

    Raises:
        InvalidInput: a negative or not finite argument.
    """
    _check_bounds(num_items, jitter)
    if num_items == 0:
        return 0.0
    if jitter == 0:
        return math.inf
    return max(_gain(num_items, jitter), math.log1p(num_items / (1 + jitter)))


def replacement_epsilon(num_items: int, jitter: float) -> float:
    """The largest known privacy loss when one binary row is replaced by another, nats; infinite without jitter.

    max over p = 0..n of log[(1 + p/s) (1 + (n-p)/(1+s)) / (1 + p/(1+s))], attained on a dataset of zero rows by a row
    of p ones that takes the place of the row of the n - p others, at Y = the p items. That no pair does worse has been
    checked for small n only; log(1 + n/s) is a proved upper bound for every n, and exact for real rows of squared norm
    at most n (n >= 2 items).

    Raises:
        InvalidInput: a negative or not finite argument, or a number of items that is not an integer.
    """
    check_count("num_items", num_items, 0)
    _check_bounds(num_items, jitter)
    if num_items == 0:
        return 0.0
    if jitter == 0:
        return math.inf
    return max(
        (_gain(own, jitter) if own else 0.0) + math.log1p((num_items - own) / (1 + jitter))
        for own in range(num_items + 1)
    )


def required_jitter(epsilon: float, num_items: float) -> float:
    """The smallest jitter, up to one rounding upward, at which `exact_epsilon(num_items, jitter)` <= `epsilon`.

    Both branches of `exact_epsilon` fall as the jitter s grows: the second is at most epsilon from
    n/(e^epsilon - 1) - 1 on, the first from the positive root of s^2 + (1 + n) s = n/(e^epsilon - 1) on.

    Raises:
        InvalidInput: an epsilon that is not a finite number > 0, or a negative number of items.

    Example:
        >>> round(required_jitter(1.0, num_items=10), 3)
        4.82
    """
    check_positive("epsilon", epsilon)
    check_positive("num_items", num_items)
    target = num_items / math.expm1(epsilon) if epsilon < 700 else num_items * math.exp(-epsilon)
    if target == 0:
        raise InvalidInput(
            f"epsilon is {epsilon}: no jitter above 0 is small enough to spend it; use a smaller epsilon"
        )
    root = 2 * target / (math.hypot(1 + num_items, 2 * math.sqrt(target)) + (1 + num_items))
    high = low = max(root, target - 1)
    while exact_epsilon(num_items, high) > epsilon:
        high += math.ulp(high) + 1e-14 * high
    low *= 1 - 1e-13
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if exact_epsilon(num_items, middle) <= epsilon else (middle, high)
    return high


def _gain(square_norm: float, jitter: float) -> float:
    """log(1 + b/s) - log(1 + b/(1+s)) = log(1 + b / (s (1 + s + b))), without cancellation and without overflow."""
    ratio = square_norm / (1 + jitter + square_norm) / jitter
    if math.isfinite(ratio):
        return math.log1p(ratio)
    return math.log(square_norm / (1 + jitter + square_norm)) - math.log(jitter)


def _check_bounds(num_items: float, jitter: float) -> None:
    check_not_negative("num_items", num_items)
    check_not_negative("jitter", jitter)
