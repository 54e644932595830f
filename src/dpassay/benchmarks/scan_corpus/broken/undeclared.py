"""Mechanisms for differential privacy that declare nothing: what they promise is read from their parameters.

Each leaks more than its epsilon, whichever datasets count as neighbors.
"""

import math
from typing import Any

import numpy as np

_GENERATOR = np.random.default_rng(20200901)


def noisy_sum(data: Any, epsilon: float, lower: float = 0.0, upper: float = 10.0, rng: Any = None) -> float:
    """Sum of bounded values, with the noise of a count."""
    rng = np.random.default_rng(rng)
    return float(np.clip(data, lower, upper).sum() + rng.laplace(scale=1 / epsilon))


def noisy_mean(data: Any, epsilon: float, bounds: tuple[float, float], random_state: int | None = None) -> float:
    """Mean of bounded values; the noise is divided by their number twice."""
    low, high = bounds
    noise = np.random.default_rng(random_state).laplace(scale=(high - low) / len(data) / epsilon)
    return float(np.mean(np.clip(data, low, high)) + noise / len(data))


def laplace_mechanism(value: float, sensitivity: float, epsilon: float) -> float:
    """Noise of scale sensitivity times epsilon."""
    return float(value + np.random.laplace(0, sensitivity * epsilon))  # noqa: NPY002


def gaussian_mechanism(value: float, sensitivity: float, epsilon: float, delta: float, seed: int = 0) -> float:
    """Noise by the first theorem on Gaussian noise, whatever epsilon is."""
    scale = sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return value + float(np.random.default_rng(seed).normal(0, scale))


def randomized_response(value: bool, epsilon: float) -> bool:
    """One bit; local differential privacy with twice the epsilon."""
    return bool(value) if _GENERATOR.random() < 1 / (1 + math.exp(-2 * epsilon)) else not value


def exponential_mechanism(scores: list[float], epsilon: float, sensitivity: float = 1.0) -> int:
    """Index of a high score; epsilon is taken four times."""
    weights = np.exp(2 * epsilon * (np.asarray(scores) - np.max(scores)) / sensitivity)
    return int(_GENERATOR.choice(len(scores), p=weights / weights.sum()))


def report_noisy_max(scores: list[float], epsilon: float, rng: Any = None) -> float:
    """Largest of noisy scores for private selection: the score itself is released, without noise."""
    noisy = np.asarray(scores) + np.random.default_rng(rng).laplace(scale=2 / epsilon, size=len(scores))
    return float(scores[int(np.argmax(noisy))])


class HistogramRelease:
    """Histogram under differential privacy: bins without records are left out."""

    def __init__(self, epsilon: float, bins: int = 4) -> None:
        self.epsilon, self.bins = epsilon, bins

    def release(self, data: Any) -> dict[int, float]:
        """Noisy counts."""
        counts = np.bincount(np.asarray(data, int) % self.bins, minlength=self.bins)
        noisy = counts + _GENERATOR.laplace(scale=2 / self.epsilon, size=self.bins)
        return {place: float(noisy[place]) for place in np.flatnonzero(counts).tolist()}


class TruncatedCount:
    """Count with noise for privacy that never takes anything away, so that the least output tells the count."""

    def __init__(self, epsilon: float, random_state: int | None = None) -> None:
        self.epsilon, self.rng = epsilon, np.random.default_rng(random_state)

    def randomise(self, value: int) -> int:
        """The value and noise."""
        return int(value + self.rng.geometric(-math.expm1(-self.epsilon)))
