"""Gaussian noise under zero-concentrated privacy, whose claim is rho, and broken twins.

M. Bun, T. Steinke: Concentrated Differential Privacy (TCC 2016). Y. Zhu, Y.-X. Wang: Improving Sparse Vector Technique
with Renyi Differential Privacy (NeurIPS 2020).
"""

import math

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def gaussian_sum(rng, queries, rho):
    """The sum."""
    return sum(queries) + rng.normal(0, 1 / math.sqrt(2 * rho))


def gaussian_histogram(rng, counts, rho):
    """Noisy cells, by numpy."""
    return np.asarray(counts) + rng.normal(scale=np.sqrt(1 / (2 * rho)), size=len(counts))


def gaussian_prefix_sums(rng, stream, rho):
    """Running sums of noisy entries."""
    sigma = math.sqrt(1 / (2 * rho))
    total, answers = 0, []
    for value in stream:
        total += value + rng.normal(0, sigma)
        answers.append(total)
    return answers


def gaussian_all_answers(rng, queries, rho):
    """Every answer may change by 1: together they move by sqrt(n)."""
    sigma = math.sqrt(len(queries) / (2 * rho))
    return [query + rng.normal(0, sigma) for query in queries]


def gaussian_tree(rng, stream, rho, levels: int):
    """Noisy dyadic sums."""
    sigma = math.sqrt(levels / (2 * rho))
    nodes = []
    for level in range(levels):
        for start in range(0, len(stream), 2**level):
            nodes.append(sum(stream[start : start + 2**level]) + rng.normal(0, sigma))
    return nodes


def gaussian_clipped_sum(rng, values, rho, bound):
    """Values clipped to [-bound, bound]; a changed one moves the sum by twice that."""
    total = sum(max(-bound, min(bound, value)) for value in values)
    return total + rng.normal(0, 2 * bound / math.sqrt(2 * rho))


def gaussian_sum_and_count(rng, values, rho, bound):
    """Half of the budget for the sum of clipped values, half for their number."""
    total = np.clip(values, 0, bound).sum() + rng.normal(0, bound / math.sqrt(rho))
    count = len(values) + rng.normal(0, 1 / math.sqrt(rho))
    return total, count


def gaussian_descent(rng, values, rho, steps: int, rate):
    """Noisy gradient descent to the mean: every step sees clipped differences to where it is."""
    sigma = 2 * math.sqrt(steps / (2 * rho))
    place = 0.0
    for _ in range(steps):
        gradient = 0.0
        for value in values:
            gradient += min(max(place - value, -1), 1)
        place = place - rate * (gradient + rng.normal(0, sigma))
    return place


def gaussian_adaptive(rng, queries, rho):
    """The second answer's noise is chosen by the sign of the first; both choices have half of the budget, or less."""
    first = sum(queries) + rng.normal(0, 1 / math.sqrt(rho))
    second = sum(queries) + rng.normal(0, 1 / math.sqrt(rho) if first > 0 else 2 / math.sqrt(rho))
    return first, second


def laplace_sum_concentrated(rng, queries, epsilon):
    """epsilon-DP is epsilon^2/2-zCDP."""
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def gaussian_above_threshold(rng, queries, rho, threshold):
    """Above threshold with Gaussian noise: whether it is rho-zCDP nobody has proved."""
    sigma = math.sqrt(1 / rho)
    limit = threshold + rng.normal(0, sigma)
    for i, query in enumerate(queries):
        if query + rng.normal(0, 2 * sigma) >= limit:
            return i
    return -1


def gaussian_noisy_max(rng, queries, rho):
    """The index of the largest query with Gaussian noise."""
    return int(np.argmax(np.asarray(queries) + rng.normal(0, math.sqrt(2 / rho), size=len(queries))))


def bad_gaussian_sum_variance(rng, queries, rho):
    """The variance is taken for the standard deviation."""
    return sum(queries) + rng.normal(0, 1 / (2 * rho))


def bad_gaussian_sum_pure(rng, queries, epsilon):
    """No Gaussian noise has a finite epsilon."""
    return sum(queries) + rng.normal(0, 1 / epsilon)


def bad_gaussian_two_sums(rng, queries, rho):
    """Both sums have the whole budget."""
    sigma = 1 / math.sqrt(2 * rho)
    return sum(queries) + rng.normal(0, sigma), sum(queries) + rng.normal(0, sigma)


def bad_gaussian_all_answers(rng, queries, rho):
    """The noise for one answer, on every answer."""
    return np.asarray(queries) + rng.normal(0, math.sqrt(1 / (2 * rho)), size=len(queries))


def bad_gaussian_clipped_sum(rng, values, rho, bound):
    """The noise for an added record, where one is changed."""
    return np.clip(values, -bound, bound).sum() + rng.normal(0, bound / math.sqrt(2 * rho))


_RHO = {"rho": 0.5}
_ONE = ([0, 0], [1, 0])
_BUN = "Bun and Steinke 2016, {}"

PROGRAMS = (
    Program(gaussian_sum, "one_query", "holds", _BUN.format("Proposition 1.6"), claim="rho", zcdp=True,
            parameters=_RHO, pair=_ONE),
    Program(gaussian_histogram, "one_query", "holds", _BUN.format("Proposition 1.6"), claim="rho", zcdp=True,
            parameters=_RHO, pair=_ONE),
    Program(gaussian_prefix_sums, "one_query", "holds", _BUN.format("Proposition 1.6"), claim="rho", zcdp=True,
            parameters=_RHO, pair=_ONE),
    Program(gaussian_all_answers, "all_queries", "holds", _BUN.format("Proposition 1.6"), claim="rho", zcdp=True,
            parameters=_RHO, pair=([0, 0], [1, 1])),
    Program(gaussian_tree, "one_query", "holds", _BUN.format("composition"), claim="rho", zcdp=True,
            assume=("levels >= 1",), parameters={**_RHO, "levels": 2}, pair=_ONE),
    Program(gaussian_clipped_sum, "replace_one:entry", "holds", _BUN.format("Proposition 1.6"), claim="rho",
            zcdp=True, assume=("bound > 0",), parameters={**_RHO, "bound": 2.0}, pair=([-5, 0], [5, 0])),
    Program(gaussian_sum_and_count, "add_or_remove_one:entry", "holds", _BUN.format("composition"), claim="rho",
            zcdp=True, assume=("bound > 0",), parameters={**_RHO, "bound": 2.0}, pair=([0], [0, 5])),
    Program(gaussian_descent, "replace_one:entry", "holds", _BUN.format("composition"), claim="rho", zcdp=True,
            assume=("steps >= 1",), parameters={**_RHO, "steps": 3, "rate": 0.1}, pair=([-5, 0], [5, 0])),
    Program(gaussian_adaptive, "one_query", "holds", _BUN.format("composition"), claim="rho", zcdp=True,
            parameters=_RHO, pair=_ONE),
    Program(laplace_sum_concentrated, "one_query", "holds", _BUN.format("Proposition 1.4"), claim="epsilon**2 / 2",
            zcdp=True, pair=_ONE),
    Program(gaussian_above_threshold, "all_queries", "beyond", "Zhu and Wang 2020", claim="rho", zcdp=True,
            parameters={**_RHO, "threshold": 0.0}, pair=([0, 0, 1], [1, 1, 0]), hard=True,
            known="Renyi bounds that grow with the number of queries, or with c only"),
    Program(gaussian_noisy_max, "all_queries", "beyond", "report noisy max with Gaussian noise", claim="rho",
            zcdp=True, parameters=_RHO, pair=([0, 0], [1, -1]), hard=True),
    Program(bad_gaussian_sum_variance, "one_query", "refuted", "ours", claim="rho", zcdp=True,
            parameters={"rho": 2.0}, pair=_ONE, known="2 rho^2, above rho for rho > 1/2"),
    Program(bad_gaussian_sum_pure, "one_query", "refuted", "ours", pair=_ONE, parameters={"epsilon": 2.0},
            known="no finite epsilon"),
    Program(bad_gaussian_two_sums, "one_query", "refuted", "ours", claim="rho", zcdp=True, parameters=_RHO, pair=_ONE,
            known="2 rho"),
    Program(bad_gaussian_all_answers, "all_queries", "refuted", "ours", claim="rho", zcdp=True, parameters=_RHO,
            pair=([0] * 4, [1] * 4), known="n rho"),
    Program(bad_gaussian_clipped_sum, "replace_one:entry", "refuted", "ours", claim="rho", zcdp=True,
            assume=("bound > 0",), parameters={**_RHO, "bound": 2.0}, pair=([-5, 0], [5, 0]), known="4 rho"),
)  # fmt: skip
