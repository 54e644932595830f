"""The mechanisms of `broken.mechanisms`, as private as they declare in exact arithmetic.

Noise is floating-point noise, whose bits leak: audits of `representation="values"` have nothing to find.
"""

import math

import numpy as np

from dpassay.benchmarks.scan_corpus.declared import private

DIGITS = range(10)


def _clipped(values: list[int], low: int, high: int) -> list[int]:
    return [min(max(value, low), high) for value in values]


@private(epsilon=1)
def scale_without_sensitivity(rng: np.random.Generator, values: list[int]) -> float:
    """A sum of values in [0, 5] with noise of scale 5."""
    return sum(_clipped(values, 0, 5)) + rng.laplace(scale=5.0)


@private(epsilon=0.2)
def scale_upside_down(rng: np.random.Generator, values: list[int]) -> float:
    """A count with noise of scale 1 / epsilon."""
    return len(values) + rng.laplace(scale=5.0)


@private(epsilon=1)
def seed_fixed(rng: np.random.Generator, values: list[int]) -> float:
    """A count with noise of its own in every call."""
    return len(values) + rng.laplace()


@private(epsilon=1)
def noise_reused(rng: np.random.Generator, values: list[int]) -> list[float]:
    """A histogram with a noise for every bin."""
    return [sum(abs(value) % 10 == digit for value in values) + rng.laplace() for digit in DIGITS]


@private(epsilon=1)
def domain_from_data(rng: np.random.Generator, values: list[int]) -> dict[int, float]:
    """A histogram of all ten digits."""
    digits = [abs(value) % 10 for value in values]
    return {digit: digits.count(digit) + rng.laplace() for digit in DIGITS}


@private(epsilon=1)
def budget_not_split(rng: np.random.Generator, values: list[int]) -> list[float]:
    """Ten sums that all depend on every record, each with a tenth of epsilon."""
    return [len(values) + rng.laplace(scale=10.0) for _ in DIGITS]


@private(epsilon=1)
def bounds_from_data(rng: np.random.Generator, values: list[int]) -> float:
    """A sum clipped to [-5, 5], with noise to the scale of these."""
    return sum(_clipped(values, -5, 5)) + rng.laplace(scale=5.0)


@private(epsilon=1)
def threshold_without_noise(rng: np.random.Generator, values: list[int]) -> int:
    """The first of ten digits that at least three values have, by the sparse vector technique: noise 2 and 4.

    Counts change in one direction when a record is added, by 1 at most; a nonmonotone stream would need no more.
    """
    threshold = 3 + rng.laplace(scale=2.0)
    digits = [abs(value) % 10 for value in values]
    return next((digit for digit in DIGITS if digits.count(digit) + rng.laplace(scale=4.0) >= threshold), -1)


@private(epsilon=1)
def no_half_in_exponent(rng: np.random.Generator, values: list[int]) -> int:
    """The exponential mechanism of the commonest digit, whose count has sensitivity 1."""
    counts = np.array([sum(abs(value) % 10 == digit for value in values) for digit in DIGITS], float)
    weights = np.exp((counts - counts.max()) / 2)
    return int(rng.choice(10, p=weights / weights.sum()))


@private(epsilon=1, relation="replace_one:record")
def response_of_two_for_ten(rng: np.random.Generator, answer: int) -> int:
    """Randomized response of ten answers with the probabilities of ten."""
    truth = abs(answer) % 10
    if rng.random() < math.e / (math.e + 9):
        return truth
    return int((truth + rng.integers(1, 10)) % 10)


@private(epsilon=1, delta=1e-5)
def gaussian_without_two(rng: np.random.Generator, values: list[int]) -> float:
    """A count with the scale of Dwork and Roth, theorem 3.22, which holds for epsilon up to 1."""
    return len(values) + rng.normal(scale=math.sqrt(2 * math.log(1.25 / 1e-5)))


@private(epsilon=1)
def size_released(rng: np.random.Generator, values: list[int]) -> tuple[float, float]:
    """A noisy sum of values in [0, 1] beside a noisy number of records, each with half of epsilon."""
    return len(values) + rng.laplace(scale=2.0), sum(_clipped(values, 0, 1)) + rng.laplace(scale=2.0)


@private(epsilon=1, relation="replace_one:record")
def half_of_replacing(rng: np.random.Generator, values: list[int]) -> float:
    """A sum of values in [-3, 3] with the noise for replacing one."""
    return sum(_clipped(values, -3, 3)) + rng.laplace(scale=6.0)


@private(epsilon=1)
def noise_on_some(rng: np.random.Generator, values: list[int]) -> float:
    """A count with noise, also of an empty dataset."""
    return len(values) + rng.laplace()
