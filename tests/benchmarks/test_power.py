"""The tables of power: their shape, the promised orders, and the oracle for samples."""

import math
from typing import Any

import numpy as np
import pytest

from dpassay.auditors.fixed_sample import METHODS, Counts, epsilon_lower
from dpassay.benchmarks import power


@pytest.fixture(scope="module")
def samples() -> list[list[Any]]:
    return power.samples_to_refute(True, 0)


def test_fixed_sample_numbers_have_the_stated_power(samples: list[list[Any]]) -> None:
    generator = np.random.default_rng(1)
    for name, epsilon, clopper_pearson, exact, *_ in samples:
        p, q = power.EVENTS[name](epsilon)
        assert exact < clopper_pearson
        n = clopper_pearson // 2
        bounds = [
            epsilon_lower(
                Counts(generator.binomial(n, p), n, generator.binomial(n, q), n),
                failure_probability=power.ALPHA,
                method="clopper-pearson",
            )
            for _ in range(1500)
        ]
        assert np.mean(np.array(bounds) > 0.8 * epsilon) == pytest.approx(0.9, abs=0.04)


def test_betting_needs_fewer_samples_than_clopper_pearson(samples: list[list[Any]]) -> None:
    assert len(samples) == 6
    for _, _, clopper_pearson, _, mean, median, tail, ratio in samples:
        assert median <= mean <= tail
        assert ratio == round(mean / clopper_pearson, 3) < 0.85


def test_slow_samplers_are_refuted_within_few_calls() -> None:
    for _, audits, refuted, median, mean, tail in power.calls_to_refute(4, 1):
        assert refuted == audits == 4
        assert 64 < median <= tail <= 1000
        assert 64 < mean <= tail


def test_exact_sizes_keep_the_level_and_the_score_test_does_not() -> None:
    rows = power.sizes(True)
    for _, _, _, delta, *found in rows:
        sizes = dict(zip(METHODS, found, strict=True))
        assert sizes["exact"] <= power.ALPHA
        assert sizes["clopper-pearson"] <= power.ALPHA
        assert (sizes["conditional"] is None) == (delta > 0)


def test_the_bounds_order_as_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "EVENTS", {"Laplace": power.EVENTS["Laplace"]})
    generator = np.random.default_rng(0)
    p, q = power.EVENTS["Laplace"](1.0)
    means = power._mean_bounds(METHODS, p, q, 4000, 60, 3, generator)
    assert means["clopper-pearson"] < means["conditional"] < means["exact"] < 1.0
    sequential = power._sequential_bound(p, q, 1.0, 4000, 20, generator)
    assert 0.7 < sequential < 1.0
    assert math.isfinite(means["score"])
