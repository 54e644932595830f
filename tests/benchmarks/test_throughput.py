"""The noise of the benchmarks has the law it claims, and the tables say what they say."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats

from dpassay.auditors.sampling import Sampler
from dpassay.benchmarks import noise, throughput

ALPHA = 1e-6


def test_words_are_those_of_threefry():
    key = jax.random.key(3)
    halves = np.asarray(
        threefry_2x32(jax.random.key_data(key), jnp.concatenate([jnp.zeros(8), jnp.arange(8)]).astype(jnp.uint32))
    )
    np.testing.assert_array_equal(noise.words(key, (16,)), halves)
    np.testing.assert_array_equal(noise.words(key, (15,)), halves[:15])
    np.testing.assert_array_equal(noise.words(key, (2, 16))[0], halves)
    assert noise.words(key, ()).shape == ()
    assert len(np.unique(noise.words(key, (7, 1001)))) > 7000


def test_laplace_noise_has_its_law():
    drawn = np.asarray(jax.jit(lambda key: noise.laplace(key, (4, 1 << 18)))(jax.random.key(1)), float).ravel()
    assert drawn.dtype == np.float64
    assert np.isfinite(drawn).all()
    # 2^20 samples in 64 cells of equal probability, then the tails, where a short logarithm would show first.
    edges = stats.laplace.ppf(np.arange(1, 64) / 64)
    cells = np.bincount(np.searchsorted(edges, drawn), minlength=64)
    assert stats.chisquare(cells).pvalue > ALPHA
    for cut in (6.0, 9.0):
        for tail in (drawn > cut, drawn < -cut):
            assert stats.binomtest(int(tail.sum()), len(drawn), stats.laplace.sf(cut)).pvalue > ALPHA
    assert abs(stats.pearsonr(drawn[:-1], drawn[1:]).statistic) < 6e-3
    assert np.abs(drawn).max() < 22.3


def test_the_logarithm_is_good_to_a_few_units_in_the_last_place():
    values = np.exp(-np.linspace(0, 22, 200_001)).astype(np.float32)
    error = np.asarray(noise._log(values), float) - np.log(values.astype(float))
    assert np.abs(error).max() < 4e-7 * 22
    near = np.abs(error)[values > 0.5]
    assert near.max() < 1.2e-7


def test_bernoulli_frequency():
    for probability in (0.0, 0.25, 1.0):
        count = int(noise.bernoulli(jax.random.key(2), probability, (100_000,)).sum())
        assert stats.binomtest(count, 100_000, probability).pvalue > ALPHA


@pytest.mark.parametrize("own", [True, False])
def test_mechanisms_are_what_the_table_says(own):
    dataset = np.zeros((3, 1), np.float32)
    sampler = Sampler(throughput.LaplaceVector(own), dataset, dataset + 1)
    counts = [int(sampler.counts(side, "test", 100_000, [throughput.first_column(0.5)])[0]) for side in (0, 1)]
    assert sampler.encoder.names == ("output[0]", "output[1]", "output[2]")
    for side, count in enumerate(counts):
        assert stats.binomtest(count, 100_000, stats.laplace(side).sf(0.5)).pvalue > ALPHA


def test_numpy_runs_the_same_sparse_vector():
    dataset = np.full((throughput.QUERIES, 1), 0.5, np.float32)
    sampler = Sampler(throughput.SparseVector(), dataset, dataset)
    number = 1 << 17
    ours = int(sampler.counts(0, "test", number, [throughput.first_column(1.0)])[0])
    theirs = throughput._numpy_sparse(np.random.default_rng(0), number)
    assert stats.fisher_exact([[ours, number - ours], [theirs, number - theirs]]).pvalue > ALPHA


def test_threads_change_nothing():
    dataset = np.zeros((1, 1), np.float32)
    found = []
    for threads in (1, 3):
        sampler = Sampler(throughput.LaplaceVector(), dataset, dataset + 1, threads=threads)
        found.append([sampler.counts(0, "test", 1_000_000, [throughput.first_column(0.5)])[0] for _ in range(2)])
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_memory_does_not_grow_with_the_samples():
    few, many = throughput.peak_memory(1 << 16, 1 << 23)
    assert many < 1e9
    assert many - few < 5e7  # a table of 2^23 float32 samples on two sides would take 6.7e7


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot keep a process to one core")
def test_what_is_measured_on_one_core_has_one():
    rows = throughput._kept_to(1, "_sampling", 2, 1 << 20, 0)
    assert [(job, cores) for job, cores, *_ in rows] == [
        ("Laplace above a threshold, NumPy", 1),
        ("Laplace above a threshold, ours", 1),
        ("Laplace above a threshold, jax.random", 1),
        ("sparse vector technique, 11 Laplace draws, NumPy", 1),
        ("sparse vector technique, 11 Laplace draws, ours", 1),
    ]
    assert max(used for *_, used, _ in rows) < 1.1
    assert all(rate > 0 and ratio > 0 for _, _, rate, _, ratio in rows)
