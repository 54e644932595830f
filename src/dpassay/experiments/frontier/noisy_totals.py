"""Sum and number of chosen people's ratings of every item, with Laplace noise: private means, and what they predict.

The repaired neighbor selections make the set of neighbors private, not a prediction from the neighbors' ratings. This
is the missing half: with the set fixed, or with everybody in it, all predictions are computed from the noisy totals.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpassay.core.checks import check_positive
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim

SPREAD, TASTE = 1.0, 0.25
"""Public guesses: variance of ratings of one item, and of item means around a reader's own mean; in squared stars."""


@final
@dataclass(frozen=True)
class NoisyTotals:
    """Releases S_i + Laplace(h/epsilon) and C_i + Laplace(2/epsilon) for every item i: epsilon-DP for one rating.

    C_i is how many of the chosen people rated item i, S_i the sum of their ratings, each clipped to [low, high] and
    less the middle of the scale; h = high - low. Who is chosen does not depend on the ratings that are summed.

    Proof. One rating enters S_i and C_i of its own item only. Added or removed, it moves S_i by at most h/2 and C_i by
    1; changed, it moves S_i by at most h and C_i not at all. The noises are independent, so the log-density moves by
    at most |dS_i| epsilon/h + |dC_i| epsilon/2: epsilon/2 + epsilon/2 in the first case, epsilon in the second, and
    both are attained, by ratings at the ends of the scale. QED. Different items are different ratings, so releasing
    all items costs no more than one of them.

    If the people were chosen by an epsilon1-DP mechanism from *other* ratings (those of the source domain), one rating
    enters either the choice or the totals, and the two together cost max(epsilon1, epsilon), not the sum.

    Attributes:
        epsilon: nats, one rating added, removed or changed; math.inf adds no noise.
        low, high: of the scale, in stars.
    """

    epsilon: float
    low: float = 1.0
    high: float = 5.0

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            check_positive("epsilon", self.epsilon)
        check_positive("high - low", self.high - self.low)

    @property
    def claim(self) -> PrivacyClaim:
        """epsilon for one rating."""
        return PrivacyClaim(self.epsilon, relation=NeighboringRelation("add_or_remove_one", "rating"))

    @property
    def middle(self) -> float:
        """What is subtracted from every rating."""
        return (self.low + self.high) / 2

    @property
    def noise(self) -> tuple[float, float]:
        """Scales of the Laplace noise on S, in stars, and on C; 0 for an infinite epsilon."""
        return (self.high - self.low) / self.epsilon, 2 / self.epsilon

    def loss(self, first: tuple[Any, Any], second: tuple[Any, Any]) -> float:
        """The exact privacy loss between two pairs of totals (S, C): the largest log-ratio of densities, nats."""
        gaps = (float(np.sum(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in zip(first, second, strict=True))
        return sum(gap / scale if gap else 0.0 for gap, scale in zip(gaps, self.noise, strict=True))

    def release(
        self, exact: tuple[np.ndarray, np.ndarray], generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The totals with noise, of the same shapes."""
        one, two = (value + generator.laplace(size=value.shape) * b for value, b in zip(exact, self.noise, strict=True))
        return one, two


def totals(chosen: Any, ratings: np.ndarray, mechanism: NoisyTotals) -> tuple[np.ndarray, np.ndarray]:
    """S and C of every set of people, without noise.

    `chosen` says who is in each set, 0 or 1, shape (sets, people); ratings have shape (people, items), NaN where
    missing.

    Returns:
        Two arrays of shape (sets, items).
    """
    rated = ~np.isnan(ratings)
    clipped = np.where(rated, np.clip(ratings, mechanism.low, mechanism.high) - mechanism.middle, 0.0)
    return chosen @ clipped, chosen @ rated.astype(float)


def predicted(released: tuple[Any, Any], base: Any, mechanism: NoisyTotals) -> np.ndarray:
    """What the totals say of an item's mean, shrunk towards `base` by how little they say; post-processing.

    S - C (base - middle) is C times the mean's distance from the base, plus noise of known variance. Its best linear
    estimate from a prior of variance `TASTE` needs C, for which the released one stands, 0 if that is negative.

    `released` are S and C; `base` is the prediction where nothing is known, in stars; all have one shape.

    Returns:
        Predicted ratings within the scale.
    """
    total, released_count = released
    base, (on_sum, on_count) = np.asarray(base, float), mechanism.noise
    count = np.maximum(released_count, 0.0)
    distance = total - released_count * (base - mechanism.middle)
    noise = 2 * on_sum**2 + 2 * (on_count * (base - mechanism.middle)) ** 2
    weight = count * TASTE / (count**2 * TASTE + count * SPREAD + noise + 1e-12)
    return np.clip(base + weight * distance, mechanism.low, mechanism.high)
