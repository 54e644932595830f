"""Mechanisms that leak more than they declare, each in its own way; randomness comes from the generator `rng`."""

import math

import numpy as np

from dpassay.benchmarks.scan_corpus.declared import private

DIGITS = range(10)


def _clipped(values: list[int], low: int, high: int) -> list[int]:
    return [min(max(value, low), high) for value in values]


@private(epsilon=1)
def scale_without_sensitivity(rng: np.random.Generator, values: list[int]) -> float:
    """A sum of values in [0, 5] with the noise of a count."""
    return sum(_clipped(values, 0, 5)) + rng.laplace(scale=1.0)


@private(epsilon=0.2)
def scale_upside_down(rng: np.random.Generator, values: list[int]) -> float:
    """A count with noise of scale epsilon, not 1 / epsilon."""
    return len(values) + rng.laplace(scale=0.2)


@private(epsilon=1)
def seed_fixed(rng: np.random.Generator, values: list[int]) -> float:
    """A count whose noise is the same in every call."""
    return len(values) + np.random.default_rng(0).laplace()


@private(epsilon=1)
def noise_reused(rng: np.random.Generator, values: list[int]) -> list[float]:
    """A histogram with one noise for all bins: differences of bins are exact."""
    noise = rng.laplace()
    return [sum(abs(value) % 10 == digit for value in values) + noise for digit in DIGITS]


@private(epsilon=1)
def domain_from_data(rng: np.random.Generator, values: list[int]) -> dict[int, float]:
    """A histogram of the digits that occur: its keys have no noise."""
    digits = [abs(value) % 10 for value in values]
    return {digit: digits.count(digit) + rng.laplace() for digit in sorted(set(digits))}


@private(epsilon=1)
def budget_not_split(rng: np.random.Generator, values: list[int]) -> list[float]:
    """Ten sums that all depend on every record, each with the whole epsilon."""
    return [len(values) + rng.laplace() for _ in DIGITS]


@private(epsilon=1)
def bounds_from_data(rng: np.random.Generator, values: list[int]) -> float:
    """A sum clipped to [-5, the largest], with noise to the scale of the bounds, which are the data's own."""
    largest = max([abs(value) for value in _clipped(values, -5, 5)], default=0)
    return sum(_clipped(values, -5, 5)) + rng.laplace(scale=max(largest, 1e-9))


@private(epsilon=1)
def threshold_without_noise(rng: np.random.Generator, values: list[int]) -> int:
    """The first prefix of which at least three values are positive, compared without noise."""
    positive = np.cumsum([value > 0 for value in values])
    return next((place for place, count in enumerate(positive) if count >= 3), -1)


@private(epsilon=1)
def no_half_in_exponent(rng: np.random.Generator, values: list[int]) -> int:
    """The exponential mechanism of the commonest digit, with epsilon where half of it belongs, and twice counted."""
    counts = np.array([2 * sum(abs(value) % 10 == digit for value in values) for digit in DIGITS], float)
    weights = np.exp(counts - counts.max())
    return int(rng.choice(10, p=weights / weights.sum()))


@private(epsilon=1, relation="replace_one:record")
def response_of_two_for_ten(rng: np.random.Generator, answer: int) -> int:
    """Randomized response of ten answers with the probabilities of two."""
    truth = abs(answer) % 10
    if rng.random() < math.e / (math.e + 1):
        return truth
    return int((truth + rng.integers(1, 10)) % 10)


@private(epsilon=1, delta=1e-5)
def gaussian_without_two(rng: np.random.Generator, values: list[int]) -> float:
    """A count with a Gaussian scale that lacks the factor 2 under the root, and half of it."""
    return len(values) + rng.normal(scale=0.5 * math.sqrt(math.log(1.25 / 1e-5)))


@private(epsilon=1)
def size_released(rng: np.random.Generator, values: list[int]) -> tuple[int, float]:
    """A noisy sum of values in [0, 1] beside the exact number of records."""
    return len(values), sum(_clipped(values, 0, 1)) + rng.laplace()


@private(epsilon=1, relation="replace_one:record")
def half_of_replacing(rng: np.random.Generator, values: list[int]) -> float:
    """A sum of values in [-3, 3] with the noise for adding one, said of replacing one."""
    return sum(_clipped(values, -3, 3)) + rng.laplace(scale=3.0)


@private(epsilon=1)
def noise_on_some(rng: np.random.Generator, values: list[int]) -> float:
    """A count with noise, but not of an empty dataset."""
    return len(values) + rng.laplace() if values else 0.0
