"""The 49 functions of DPriv-Bench (Wang et al. 2026, arXiv:2604.15851; Apache-2.0) as Python, with their sensitivity.

`FUNCTIONS` maps the benchmark's number to a function of a list with entries in [0, 1] and its sensitivity under
replacement, a formula in n and the parameters. Where the benchmark leaves a parameter open, its range is asserted.
"""

import math
import statistics
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np


def _total(x):
    return sum(x)


def _product(x):
    return math.prod(x)


def _largest(x):
    return max(x)


def _smallest(x):
    return min(x)


def _mean(x):
    return sum(x) / len(x)


def _euclidean_norm(x):
    return math.sqrt(sum(v**2 for v in x))


def _absolute_differences(x):
    return sum(abs(a - b) for a, b in pairwise(x))


def _absolute_deviations(x):
    m = sum(x) / len(x)
    return sum(abs(v - m) for v in x)


def _squared_deviations(x):
    m = sum(x) / len(x)
    return sum((v - m) ** 2 for v in x)


def _squared_distances(x, mu):
    assert 0 <= mu <= 1
    return sum((v - mu) ** 2 for v in x)


def _squares(x):
    return sum(v**2 for v in x)


def _cubes(x):
    return sum(v**3 for v in x)


def _roots(x):
    return sum(math.sqrt(v) for v in x)


def _logarithms(x):
    return np.sum(np.log1p(x))


def _exponentials(x):
    return np.exp(x).sum()


def _sines(x):
    return sum(math.sin(math.pi * v) for v in x)


def _cosines(x):
    return sum(math.cos(math.pi * v) for v in x)


def _arctangents(x):
    return np.sum(np.arctan(x))


def _logistic_products(x):
    return sum(v * (1 - v) for v in x)


def _squared_logistic_products(x):
    return sum(v**2 * (1 - v) ** 2 for v in x)


def _median(x):
    return statistics.median(x)


def _interquartile_range(x):
    return np.percentile(x, 75) - np.percentile(x, 25)


def _above_half(x):
    return sum(1 for v in x if v > 0.5)


def _within(x, a, b):
    return sum(a <= v <= b for v in x)


def _neighboring_products(x):
    return sum(x[i] * x[i + 1] for i in range(len(x) - 1))


def _pair_products(x):
    t = 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            t += x[i] * x[j]
    return t


def _alternating_pairs(x):
    return sum(x[2 * i] - x[2 * i + 1] for i in range(len(x) // 2))


def _squared_total(x):
    return sum(x) ** 2


def _ranked_weights(x):
    return sum(i * v for i, v in enumerate(x, 1))


def _majority(x):
    return 1 if sum(x) > len(x) / 2 else 0


def _above_seven_tenths(x):
    return sum(v > 0.7 for v in x)


def _all_above(x, tau):
    return math.prod(1 if v > tau else 0 for v in x)


def _first_is_larger(x):
    return int(x[0] > x[1])


def _parity(x):
    return sum(v > 0.5 for v in x) % 2


def _log_of_squares(x):
    return math.log(1 + sum(v**2 for v in x))


def _circular_norm(x):
    return math.sqrt(sum((x[i] - x[(i + 1) % len(x)]) ** 2 for i in range(len(x))))


def _ratio(x):
    return sum(v**2 for v in x) / (1 + sum(x))


def _exponential_of_squares(x):
    return math.exp(-sum(v**2 for v in x))


def _reciprocals(x):
    return sum(1 / (1 + v**2) for v in x)


def _sigmoids(x):
    return sum(1 / (1 + math.exp(-v)) for v in x)


def _softmax_mean(x):
    t = sum(math.exp(v) for v in x)
    return sum(math.exp(v) / t * v for v in x)


def _distances_to_half(x):
    return sum(abs(v - 0.5) for v in x)


def _squared_differences(x):
    return sum((a - b) ** 2 for a, b in pairwise(x))


def _permuted_total(x, order):
    assert sorted(order) == list(range(len(x)))
    return sum(x[i] for i in order)


def _rank(x, k: int):
    assert 0 <= k < len(x)
    return sum(v <= x[k] for v in x)


def _even_places(x):
    return sum(x[1::2])


def _harmonic_weights(x):
    return sum(v / i for i, v in enumerate(x, start=1))


def _entropy_like(x, delta):
    assert delta > 1
    return -sum(v * math.log(v + delta) for v in x)


def _distances_to_grid(x):
    return sum(abs(v - i / len(x)) for i, v in enumerate(x, start=1))


FUNCTIONS: Mapping[int, tuple[Callable[..., Any], str]] = {
    1: (_total, "1"),
    2: (_product, "1"),
    3: (_largest, "1"),
    4: (_smallest, "1"),
    5: (_mean, "1/n"),
    6: (_euclidean_norm, "1"),
    7: (_absolute_differences, "2"),
    8: (_absolute_deviations, "2*(n-1)/n"),
    9: (_squared_deviations, "(n-1)/n"),
    10: (_squared_distances, "1"),
    11: (_squares, "1"),
    12: (_cubes, "1"),
    13: (_roots, "1"),
    14: (_logarithms, "log(2)"),
    15: (_exponentials, "e-1"),
    16: (_sines, "1"),
    17: (_cosines, "2"),
    18: (_arctangents, "pi/4"),
    19: (_logistic_products, "1/4"),
    20: (_squared_logistic_products, "1/16"),
    21: (_median, "1"),
    22: (_interquartile_range, "1"),
    23: (_above_half, "1"),
    24: (_within, "1"),
    25: (_neighboring_products, "2"),
    26: (_pair_products, "n-1"),
    27: (_alternating_pairs, "1"),
    28: (_squared_total, "2*n-1"),
    29: (_ranked_weights, "n"),
    30: (_majority, "1"),
    31: (_above_seven_tenths, "1"),
    32: (_all_above, "1"),
    33: (_first_is_larger, "1"),
    34: (_parity, "1"),
    35: (_log_of_squares, "log(2)"),
    36: (_circular_norm, "sqrt(2)"),
    37: (_ratio, "1/2"),
    38: (_exponential_of_squares, "1-exp(-1)"),
    39: (_reciprocals, "1/2"),
    40: (_sigmoids, "(1-exp(-1))/(2*(1+exp(-1)))"),
    41: (_softmax_mean, "e/(e+n-1)"),
    42: (_distances_to_half, "1/2"),
    43: (_squared_differences, "2"),
    44: (_permuted_total, "1"),
    45: (_rank, "n-1"),
    46: (_even_places, "1"),
    47: (_harmonic_weights, "1"),
    48: (_entropy_like, "log(1+delta)"),
    49: (_distances_to_grid, "1"),
}
