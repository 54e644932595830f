"""The benchmark mechanisms against slow NumPy versions, written one sample at a time from the published pseudocode."""

import dataclasses
import functools
import math
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from dpassay.benchmarks.dp_sniper_suite import LYU, SUITE, LaplaceNoise, Rappor, row
from dpassay.benchmarks.exact_losses import sequences
from dpassay.benchmarks.sparse_vector import lyu

ALPHA = 1e-6  # of one comparison, divided by the number of its tests
NUM = 4000
STOPPED, BELOW = -2000.0, -1000.0  # how the originals write these


def laplace_mechanism(rng, value, eps=0.1):
    return [value + rng.laplace(scale=1 / eps)]


def truncated_geometric(rng, count, eps=0.1, n=5):
    """Draws the noise itself: a two-sided geometric variable of ratio 2^k / (2^k + 1), clamped."""
    ratio = 2 ** math.ceil(math.log(2 / eps)) / (2 ** math.ceil(math.log(2 / eps)) + 1)
    noise = (rng.geometric(1 - ratio) - 1) - (rng.geometric(1 - ratio) - 1)
    return [min(max(count + noise, 0), n)]


def noisy_histogram(rng, counts, scale):
    return [count + rng.laplace(scale=scale) for count in counts]


def noisy_maximum(rng, queries, kind, publishes, eps=0.1):
    noisy = [query + getattr(rng, kind)(scale=2 / eps) for query in queries]
    return [int(np.argmax(noisy))] if publishes == "index" else [max(noisy)]


def sparse_vector(rng, queries, algorithm, eps=0.1, c=1, t=1.0):
    """Algorithms 1 to 6 of Lyu et al., line by line."""
    eps1 = eps / 4 if algorithm == 4 else eps / 2
    eps2 = eps - eps1
    threshold_scale = {2: c / eps1}.get(algorithm, 1 / eps1)
    query_scale = {1: 2 * c / eps2, 2: 2 * c / eps1, 3: c / eps2, 4: 1 / eps2, 5: 0.0, 6: 1 / eps2}[algorithm]
    rho, count, answers = rng.laplace(scale=threshold_scale), 0, []
    for query in queries:
        nu = rng.laplace(scale=query_scale) if query_scale else 0.0
        if algorithm <= 4 and count >= c:
            answers.append(STOPPED)
        elif query + nu >= t + rho:
            answers.append(query + nu if algorithm == 3 else 1)
            rho = rng.laplace(scale=threshold_scale) if algorithm == 2 else rho
            count += 1
        else:
            answers.append(BELOW if algorithm == 3 else 0)
    return [-1 if answer == STOPPED and algorithm != 3 else answer for answer in answers]


def numeric_sparse_vector(rng, queries, threshold_scale, query_scale, value_scale, c, t=1.0):
    rho, count, answers = rng.laplace(scale=threshold_scale), 0, []
    for query in queries:
        if count >= c:
            answers.append(STOPPED)
        elif query + rng.laplace(scale=query_scale) >= t + rho:
            answers.append(query + rng.laplace(scale=value_scale))
            count += 1
        else:
            answers.append(BELOW)
    return answers


def rappor(rng, value, f, p, q):
    from sklearn.utils import murmurhash3_32

    bits = [0] * 20
    for seed in range(4):
        bits[murmurhash3_32(str(value), seed=seed) % 20] = 1
    for i in range(20):
        draw = rng.random()
        bits[i] = 1 if draw < f / 2 else 0 if draw < f else bits[i]
    if (p, q) != (0.0, 1.0):
        bits = [int(rng.random() < (q if bit else p)) for bit in bits]
    return bits


def prefix_sum(rng, queries, eps=0.1):
    return list(np.cumsum([query + rng.laplace(scale=1 / eps) for query in queries]))


ORIGINALS: dict[str, Any] = {
    "Laplace": laplace_mechanism,
    "TruncatedGeometric": truncated_geometric,
    "NoisyHist1": lambda rng, a: noisy_histogram(rng, a, 10.0),
    "NoisyHist2": lambda rng, a: noisy_histogram(rng, a, 0.1),
    "ReportNoisyMax1": lambda rng, a: noisy_maximum(rng, a, "laplace", "index"),
    "ReportNoisyMax2": lambda rng, a: noisy_maximum(rng, a, "exponential", "index"),
    "ReportNoisyMax3": lambda rng, a: noisy_maximum(rng, a, "laplace", "value"),
    "ReportNoisyMax4": lambda rng, a: noisy_maximum(rng, a, "exponential", "value"),
    "SVT1": lambda rng, a: sparse_vector(rng, a, 1, t=0.5),
    **{f"SVT{i}": functools.partial(sparse_vector, algorithm=i) for i in range(2, 7)},
    "Rappor": lambda rng, a: rappor(rng, a, 0.75, 0.45, 0.55),
    "OneTimeRappor": lambda rng, a: rappor(rng, a, 0.95, 0.0, 1.0),
    "LaplaceParallel": lambda rng, a: [a + rng.laplace(scale=200.0) for _ in range(20)],
    "SVT34Parallel": lambda rng, a: sparse_vector(rng, a, 3, c=2) + sparse_vector(rng, a, 4, c=2),
    "PrefixSum": prefix_sum,
    "NumericalSVT": lambda rng, a: numeric_sparse_vector(rng, a, 30.0, 120.0, 60.0, 2),
    "SVT1, c = 2": lambda rng, a: sparse_vector(rng, a, 1, c=2),
    "SVT2, c = 2": lambda rng, a: sparse_vector(rng, a, 2, c=2),
    "SVT4, c = 2": lambda rng, a: sparse_vector(rng, a, 4, c=2),
    "SVT7": lambda rng, a: numeric_sparse_vector(rng, a, 40.0, 80.0, 20.0, 1),
}


def original(name, dataset, num, seed=0):
    """Samples of the slow version, shape (num, columns)."""
    rng = np.random.default_rng(seed)
    return np.array([ORIGINALS[name](rng, dataset) for _ in range(num)], float)


def ours(mechanism, dataset, num, seed=0):
    """Samples of the fast version in the originals' encoding."""
    outputs = np.asarray(mechanism.sample_batch(jax.random.key(seed), dataset, num), float).reshape(num, -1)
    return np.where(np.isnan(outputs), STOPPED, np.where(np.isneginf(outputs), BELOW, outputs))


def smallest_p_value(first, second):
    """Of all comparisons of two samples, corrected for their number: joint patterns, every column, sums, neighbors."""
    whole = [(side == np.round(side)) & (side <= 9) for side in (first, second)]  # codes, not numbers
    kinds = [np.where(mask, side, 99) for mask, side in zip(whole, (first, second), strict=True)]
    features = []
    for side in (first, second):
        numbers = np.where(side < -900, 0.0, side)
        features.append(np.column_stack([side, numbers.sum(axis=1), np.diff(numbers, axis=1)]))
    p_values = [pattern_p_value(kinds[0], kinds[1])]
    for one, two in zip(features[0].T, features[1].T, strict=True):
        p_values.append(stats.ks_2samp(one, two, method="asymp").pvalue)
    return min(p_values) * len(p_values)


def pattern_p_value(first, second):
    patterns, places = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    counts = np.array([np.bincount(part, minlength=len(patterns)) for part in np.split(places.ravel(), [len(first)])])
    common = counts.sum(axis=0) >= 20
    table = np.column_stack([counts[:, common], counts[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return stats.chi2_contingency(table).pvalue if table.shape[1] > 1 else 1.0


@pytest.mark.parametrize("entry", [*SUITE, *LYU], ids=lambda entry: entry.name)
def test_sampler_has_the_law_of_the_original(entry):
    dataset = entry.pairs[-1].arrays()[1]
    assert smallest_p_value(ours(entry.mechanism, dataset, NUM), original(entry.name, dataset, NUM)) > ALPHA


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("NoisyHist1", {"scale": 13.0}),
        ("ReportNoisyMax1", {"epsilon": 0.8}),
        ("SVT1", {"query_scale": 20.0}),
        ("SVT1", {"cutoff": 2}),
        ("NumericalSVT", {"value_scale": 30.0}),
        ("NumericalSVT", {"threshold_scale": 300.0}),
        ("OneTimeRappor", {"flip": 0.9}),
        ("PrefixSum", {"epsilon": 0.075}),
    ],
)
def test_comparison_notices_a_broken_sampler(name, broken):
    entry = row(name)
    dataset = entry.pairs[-1].arrays()[1]
    mechanism = dataclasses.replace(entry.mechanism, **broken)
    assert smallest_p_value(ours(mechanism, dataset, NUM), original(name, dataset, NUM)) < ALPHA


@pytest.mark.parametrize(("algorithm", "cutoff"), [(1, 1), (1, 2), (2, 2), (4, 1), (4, 2), (5, 1), (6, 1)])
def test_sparse_vector_has_its_exact_law(algorithm, cutoff):
    mechanism, num = lyu(algorithm, cutoff=cutoff), 200_000
    dataset = np.array([0.0, 1.0, -3.0, 2.0, 1.5, 0.5])
    patterns, probabilities = sequences(mechanism, dataset)
    outputs = ours(mechanism, dataset.astype(np.float32), num)
    powers = 3.0 ** np.arange(len(dataset))
    counts = np.array([(outputs @ powers == key).sum() for key in patterns @ powers])
    assert counts.sum() == num
    assert (counts[probabilities == 0] == 0).all()
    common = probabilities * num > 10
    observed, expected = counts[common], probabilities[common] * num
    rest = num - observed.sum(), num - expected.sum()
    statistic = ((observed - expected) ** 2 / expected).sum() + (rest[0] - rest[1]) ** 2 / max(rest[1], 1.0)
    assert stats.chi2.sf(statistic, common.sum()) > ALPHA


def test_pairs_are_neighbors_in_the_domain_of_the_evaluation():
    for entry in (*SUITE, *LYU):
        for pair in entry.pairs:
            first, second = (np.asarray(dataset, float) for dataset in (pair.dataset1, pair.dataset2))
            assert np.abs(first - second).max() == 1
            assert max(np.abs(first).max(), np.abs(second).max()) <= 10
            if entry.name in ("Laplace", "NoisyHist1", "NoisyHist2", "LaplaceParallel", "Rappor", "OneTimeRappor"):
                assert (first != second).sum() == 1


def test_one_sample_is_a_batch_of_one():
    for entry in (*SUITE, *LYU):
        dataset = entry.pairs[0].arrays()[0]
        one = jax.eval_shape(entry.mechanism.sample, jax.random.key(0), dataset)
        draw = functools.partial(entry.mechanism.sample_batch, dataset=dataset, num_samples=3)
        batch = jax.eval_shape(draw, jax.random.key(0))
        assert batch.shape == (3, *one.shape)
        assert batch.dtype == one.dtype


def test_true_losses_of_the_definitions():
    assert row("TruncatedGeometric").mechanism.epsilon_true == pytest.approx(math.log(1 + 2**-3))
    assert row("Rappor").mechanism.epsilon_true == pytest.approx(0.4001, abs=1e-4)
    assert row("SVT4").mechanism.epsilon_true == pytest.approx(0.175)
    assert Rappor(0.95, 1.0, 0.0).rates == pytest.approx((0.475, 0.525))
    assert LaplaceNoise(200.0, 0.1, copies=20).copies / 200 == pytest.approx(0.1)


def test_an_unknown_algorithm_is_named():
    with pytest.raises(ValueError, match="number them 1 to 7"):
        lyu(8)
