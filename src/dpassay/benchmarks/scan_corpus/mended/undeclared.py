"""The mechanisms of `broken.undeclared`, for differential privacy, whichever datasets count as neighbors."""

import math
from typing import Any

import numpy as np

_GENERATOR = np.random.default_rng(20200901)


def noisy_sum(data: Any, epsilon: float, lower: float = 0.0, upper: float = 10.0, rng: Any = None) -> float:
    """Sum of bounded values, with noise to the scale of the bounds."""
    rng = np.random.default_rng(rng)
    return float(
        np.clip(data, lower, upper).sum() + rng.laplace(scale=max(abs(lower), abs(upper), upper - lower) / epsilon)
    )


def noisy_mean(data: Any, epsilon: float, bounds: tuple[float, float], random_state: int | None = None) -> float:
    """Mean of bounded values: a noisy sum over a noisy count, each with half of epsilon."""
    low, high = bounds
    rng = np.random.default_rng(random_state)
    total = np.clip(data, low, high).sum() + rng.laplace(scale=2 * max(abs(low), abs(high), high - low) / epsilon)
    return float(total / max(len(data) + rng.laplace(scale=2 / epsilon), 1.0))


def laplace_mechanism(value: float, sensitivity: float, epsilon: float) -> float:
    """Noise of scale sensitivity over epsilon."""
    return float(value + np.random.laplace(0, sensitivity / epsilon))  # noqa: NPY002


def gaussian_mechanism(value: float, sensitivity: float, epsilon: float, delta: float, seed: int = 0) -> float:
    """Noise by the first theorem on Gaussian noise at epsilon 1, and no less for larger ones."""
    scale = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / min(epsilon, 1.0)
    return value + float(np.random.default_rng(seed).normal(0, scale))


def randomized_response(value: bool, epsilon: float) -> bool:
    """One bit, with local differential privacy."""
    return bool(value) if _GENERATOR.random() < 1 / (1 + math.exp(-epsilon)) else not value


def exponential_mechanism(scores: list[float], epsilon: float, sensitivity: float = 1.0) -> int:
    """Index of a high score, with half of epsilon in the exponent."""
    weights = np.exp(epsilon / 2 * (np.asarray(scores) - np.max(scores)) / sensitivity)
    return int(_GENERATOR.choice(len(scores), p=weights / weights.sum()))


def report_noisy_max(scores: list[float], epsilon: float, rng: Any = None) -> int:
    """Largest of noisy scores for private selection: its index."""
    noisy = np.asarray(scores) + np.random.default_rng(rng).laplace(scale=2 / epsilon, size=len(scores))
    return int(np.argmax(noisy))


class HistogramRelease:
    """Histogram under differential privacy: all bins are released."""

    def __init__(self, epsilon: float, bins: int = 4) -> None:
        self.epsilon, self.bins = epsilon, bins

    def release(self, data: Any) -> dict[int, float]:
        """Noisy counts."""
        counts = np.bincount(np.asarray(data, int) % self.bins, minlength=self.bins)
        noisy = counts + _GENERATOR.laplace(scale=2 / self.epsilon, size=self.bins)
        return {place: float(noisy[place]) for place in range(self.bins)}


class TruncatedCount:
    """Count with noise for privacy in both directions."""

    def __init__(self, epsilon: float, random_state: int | None = None) -> None:
        self.epsilon, self.rng = epsilon, np.random.default_rng(random_state)

    def randomise(self, value: int) -> int:
        """The value and noise."""
        stop = -math.expm1(-self.epsilon)
        return int(value + self.rng.geometric(stop) - self.rng.geometric(stop))
