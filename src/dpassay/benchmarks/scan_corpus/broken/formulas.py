"""Noise scales and totals of privacy loss that are too small; what they promise is in their names and parameters."""

import math


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism; the factor 2 under the root is missing."""
    return sensitivity * math.sqrt(math.log(1.25 / delta)) / epsilon


def log10_gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism; the logarithm is to base 10."""
    return sensitivity * math.sqrt(2 * math.log10(1.25 / delta)) / epsilon


def gaussian_std(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism; it is the variance that is returned."""
    return sensitivity**2 * 2 * math.log(1.25 / delta) / epsilon**2


def classical_gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism by its first theorem, whatever epsilon is."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def laplace_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """Of the Laplace mechanism, upside down."""
    return epsilon / sensitivity


def laplace_noise_std(epsilon: float, sensitivity: float = 1.0) -> float:
    """The b of Laplace noise for a sensitivity, taken for half of it."""
    return sensitivity / (2 * epsilon)


def geometric_noise_scale(epsilon: float, sensitivity: int = 1) -> float:
    """Of two-sided geometric noise; the sensitivity under a root."""
    return math.sqrt(sensitivity) / (1.5 * epsilon)


def advanced_composition(epsilon: float, k: int, delta: float) -> float:
    """Total epsilon of k releases; the term linear in k is missing."""
    return epsilon * math.sqrt(2 * k * math.log(1 / delta))


def basic_composition(epsilon: float, k: int) -> float:
    """Total epsilon of k releases, as if losses were independent errors."""
    return epsilon * math.sqrt(k)


def compute_epsilon(sigma: float, steps: int, delta: float) -> float:
    """Epsilon of Gaussian noise in differential privacy, by its zCDP; the number of steps is forgotten."""
    rho = 1 / (2 * sigma**2)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def privacy_spent(noise_multiplier: float, num_steps: int, delta: float) -> tuple[float, float]:
    """Epsilon and delta of a Gaussian training; zCDP becomes epsilon without the factor 2 before the root."""
    rho = num_steps / (2 * noise_multiplier**2)
    return rho + math.sqrt(rho * math.log(1 / delta)), delta
