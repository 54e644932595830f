"""The noise scales and totals of privacy loss of `broken.formulas`, large enough."""

import math


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism, with the factor 2, where that is proved."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / min(epsilon, 1.0)


def log10_gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism, with the natural logarithm."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / min(epsilon, 1.0)


def gaussian_std(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism, the root of the variance."""
    return math.sqrt(sensitivity**2 * 2 * math.log(1.25 / delta) / min(epsilon, 1.0) ** 2)


def classical_gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Of the Gaussian mechanism by its first theorem, for epsilon up to 1."""
    if epsilon > 1:
        raise ValueError("the theorem is about epsilon up to 1")
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def laplace_scale(epsilon: float, sensitivity: float = 1.0) -> float:
    """Of the Laplace mechanism."""
    return sensitivity / epsilon


def laplace_noise_std(epsilon: float, sensitivity: float = 1.0) -> float:
    """The b of Laplace noise for a sensitivity."""
    return sensitivity / epsilon


def geometric_noise_scale(epsilon: float, sensitivity: int = 1) -> float:
    """Of two-sided geometric noise."""
    return sensitivity / epsilon


def advanced_composition(epsilon: float, k: int, delta: float) -> float:
    """Total epsilon of k releases (Dwork and Roth 2014, theorem 3.20)."""
    return epsilon * math.sqrt(2 * k * math.log(1 / delta)) + k * epsilon * math.expm1(epsilon)


def basic_composition(epsilon: float, k: int) -> float:
    """Total epsilon of k releases."""
    return epsilon * k


def compute_epsilon(sigma: float, steps: int, delta: float) -> float:
    """Epsilon of Gaussian noise in differential privacy, by its zCDP of all steps."""
    rho = steps / (2 * sigma**2)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def privacy_spent(noise_multiplier: float, num_steps: int, delta: float) -> tuple[float, float]:
    """Epsilon and delta of a Gaussian training."""
    rho = num_steps / (2 * noise_multiplier**2)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta)), delta
