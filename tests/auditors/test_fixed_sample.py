"""The exact test is valid by exact summation and as powerful as an asymptotic one; bad input gets one line."""

import math
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from scipy.optimize import minimize_scalar

from dpassay.auditors import fixed_sample
from dpassay.auditors.fixed_sample import (
    METHODS,
    Counts,
    closest_null,
    delta_lower,
    detectable_epsilon,
    epsilon_lower,
    log_likelihood_ratio,
    p_value,
    predicted_lower,
    rarest_event,
    size,
)
from dpassay.core.errors import InvalidInput

ALPHA = 0.01


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (0.5, 0.05)])
def test_no_false_alarms_beyond_the_level_by_exact_summation(epsilon: float, delta: float) -> None:
    largest = (1 - delta) * math.exp(-epsilon)
    for q in np.linspace(0.02, 1, 15) * largest:
        assert size("exact", 10, 12, epsilon, delta, q, 0.05) <= 0.05
        assert size("clopper-pearson", 40, 30, epsilon, delta, q, 0.05) <= 0.05


def test_the_score_test_is_above_its_level_and_the_summation_sees_it() -> None:
    sizes = [size("score", 100, 100, 0.1, 0.0, q, ALPHA) for q in np.linspace(0.02, 0.9, 40)]
    assert 0.0105 < max(sizes) < 0.02


def test_sizes_agree_with_enumeration() -> None:
    n, m, epsilon, q = 9, 7, 0.5, 0.3
    p = math.exp(epsilon) * q
    for method in METHODS:
        total = 0.0
        for x in range(n + 1):
            for y in range(m + 1):
                bound = epsilon_lower(Counts(x, n, y, m), failure_probability=0.2, method=method)
                if bound > epsilon:
                    total += stats.binom.pmf(x, n, p) * stats.binom.pmf(y, m, q)
        assert size(method, n, m, epsilon, 0.0, q, 0.2) == pytest.approx(total, abs=1e-3), method


@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize(
    ("epsilon", "q", "n", "m"), [(0.3, 0.4, 10**4, 10**4), (1.0, 2e-5, 10**6, 2 * 10**6), (0.1, 0.5, 10**8, 10**8)]
)
def test_simulated_bounds_stay_below_the_truth(epsilon: float, q: float, n: int, m: int, delta: float) -> None:
    generator = np.random.default_rng(1)
    p, runs, level = math.exp(epsilon) * q + delta, 12, 0.02
    above = 0
    for _ in range(runs):
        counts = Counts(generator.binomial(n, p), n, generator.binomial(m, q), m)
        above += p_value(counts, epsilon, delta, failure_probability=level) <= level
    assert stats.binom.sf(above - 1, runs, level) > 1e-6


def naive_p_value(counts: Counts, epsilon: float, delta: float, level: float) -> float:
    """The definition on a fine grid of q, every outcome enumerated; no blocks, no cells."""
    x, n, y, m = counts.successes1, counts.trials1, counts.successes2, counts.trials2
    observed = fixed_sample._meets(counts, lambda value: (value, delta), -30.0, 100.0, level)
    assert observed is not None
    one, other = np.meshgrid(np.arange(n + 1.0), np.arange(m + 1.0), indexing="ij")
    root = fixed_sample._signed_root(one, other, n, m, math.exp(observed), delta)
    region = root >= -special.ndtri(level) - 1e-6
    share = level / 200
    low = max(0.0, (stats.beta.ppf(share / 2, x, n - x + 1) - delta) * math.exp(-epsilon))
    high = stats.beta.ppf(1 - share / 2, y + 1, m - y)
    largest = 0.0
    for q in np.linspace(low, high, 400):
        p = min(1.0, math.exp(epsilon) * q + delta)
        law = np.outer(stats.binom.pmf(np.arange(n + 1), n, p), stats.binom.pmf(np.arange(m + 1), m, q))
        largest = max(largest, float(law[region].sum()))
    return largest + share


@pytest.mark.parametrize(
    ("counts", "epsilon", "delta"),
    [
        (Counts(60, 100, 40, 100), 0.05, 0.0),
        (Counts(60, 100, 30, 90), 0.1, 0.05),
        (Counts(9, 200, 0, 150), 0.3, 0.0),
        (Counts(79, 80, 20, 40), 0.2, 0.0),
    ],
)
def test_certified_p_values_are_just_above_the_definition(counts: Counts, epsilon: float, delta: float) -> None:
    certified, naive = p_value(counts, epsilon, delta), naive_p_value(counts, epsilon, delta, ALPHA)
    # The blocks of x cost up to 6%, the cells of q up to 2%; both upward.
    assert naive * (1 - 1e-6) <= certified <= 1.1 * naive


def test_too_few_cells_or_blocks_never_lower_a_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(4100, 10**4, 3700, 10**4)
    fine = p_value(counts, 0.06)
    monkeypatch.setattr(fixed_sample, "STEP", 0.5)
    monkeypatch.setattr(fixed_sample, "TOLERANCE", 0.5)
    fixed_sample._region.cache_clear()
    coarse = p_value(counts, 0.06)
    fixed_sample._region.cache_clear()
    assert fine < coarse < 10 * fine


@pytest.mark.parametrize(
    ("x", "n", "y", "m"),
    [
        (560, 1000, 500, 1000),
        (41_000, 10**5, 37_000, 10**5),
        (300, 10**8, 200, 10**8),
        (82 * 10**6, 2 * 10**8, 8 * 10**7, 2 * 10**8),
    ],
)
def test_the_bound_is_about_the_score_bound_and_above_the_older_ones(x: int, n: int, y: int, m: int) -> None:
    counts = Counts(x, n, y, m)
    bounds = {method: epsilon_lower(counts, failure_probability=ALPHA, method=method) for method in METHODS}
    deviation = math.sqrt((1 - x / n) / x + (1 - y / m) / y)
    assert abs(bounds["exact"] - bounds["score"]) < 0.06 * deviation
    assert bounds["exact"] > bounds["conditional"] >= bounds["clopper-pearson"]
    assert float(predicted_lower(x, n, y, m, failure_probability=ALPHA)) == pytest.approx(
        bounds["exact"], abs=0.06 * deviation
    )


@pytest.mark.parametrize("hits", [10, 30, 49_000])
def test_an_event_of_one_dataset_only_is_bounded_by_its_count(hits: int) -> None:
    counts = Counts(hits, 10**6, 0, 10**6)
    conditional = epsilon_lower(counts, failure_probability=ALPHA, method="conditional")
    assert conditional == pytest.approx(math.log(1 / (ALPHA ** (-1 / hits) - 1)), abs=1e-9)  # about log(hits / 4.6)
    assert epsilon_lower(counts, failure_probability=ALPHA) > conditional


def test_the_p_value_grows_with_the_claim_and_meets_the_bound() -> None:
    counts = Counts(300, 1000, 200, 1200)
    values = [p_value(counts, epsilon, delta) for delta in (0.0, 0.01) for epsilon in np.linspace(0, 0.8, 9)]
    for start in (0, 9):
        assert all(np.diff(values[start : start + 9]) >= 0)
        assert values[start] < 1e-4
        assert values[start + 8] > 0.9
    for delta in (0.0, 0.01):
        bound = epsilon_lower(counts, delta=delta, failure_probability=ALPHA)
        assert ALPHA * 0.99 < p_value(counts, bound, delta) <= ALPHA
    bound = delta_lower(counts, epsilon=0.1, failure_probability=ALPHA)
    assert 0 < bound < 0.3 - math.exp(0.1) / 6
    assert epsilon_lower(counts, delta=bound, failure_probability=ALPHA) == pytest.approx(0.1, abs=0.01)


def test_nothing_seen_bounds_nothing() -> None:
    for counts in (Counts(0, 10, 0, 10), Counts(0, 10, 10, 10), Counts(5, 10, 5, 10), Counts(10, 10, 10, 10)):
        for method in METHODS:
            assert epsilon_lower(counts, failure_probability=ALPHA, method=method) == 0
        assert delta_lower(counts, epsilon=0.0, failure_probability=ALPHA) == 0
        assert p_value(counts, 0.0) > 0.3


def test_a_reference_fixed_beforehand_is_allowed() -> None:
    counts = Counts(60, 100, 40, 100)
    best = epsilon_lower(counts, failure_probability=ALPHA)
    assert 0 < epsilon_lower(counts, failure_probability=ALPHA, reference=0.0) < best
    assert p_value(counts, best, reference=best) == pytest.approx(ALPHA, rel=0.1)


def test_predictions_are_vectorized_and_use_delta() -> None:
    generator = np.random.default_rng(0)
    x, y = generator.integers(1, 5000, 3000), generator.integers(0, 2000, 3000)
    many = predicted_lower(x, 10**4, y, 10**4, delta=1e-3, failure_probability=ALPHA)
    assert many.shape == (3000,)
    assert np.all(many >= 0)
    assert float(predicted_lower(x[5], 10**4, y[5], 10**4, delta=1e-3, failure_probability=ALPHA)) == pytest.approx(
        many[5], rel=1e-4
    )
    assert np.all(many <= predicted_lower(x, 10**4, y, 10**4, failure_probability=ALPHA) + 1e-6)


@pytest.mark.parametrize("offset", [0.0, 0.03])
def test_the_closest_null_minimizes_the_divergence(offset: float) -> None:
    for p, q, n, m, slope in ((0.5, 0.2, 10, 30, 1.2), (0.1, 0.3, 5, 5, 2.0), (0.9, 0.0, 100, 7, 3.0)):

        def distance(null: float, p=p, q=q, n=n, m=m, slope=slope) -> float:
            return float(log_likelihood_ratio(p, q, n, m, slope, offset, null))

        found = float(closest_null(p, q, n, m, slope, offset))
        best = minimize_scalar(
            distance, bounds=(1e-12, (1 - offset) / slope - 1e-12), method="bounded", options={"xatol": 1e-12}
        )
        assert distance(found) <= best.fun + 1e-9


def test_tails_agree_with_arb() -> None:
    generator = np.random.default_rng(3)
    with ctx.workprec(80):
        for n in (100, 10**5, 2 * 10**8):
            for _ in range(8):
                p = float(generator.uniform(0.001, 0.999))
                k = int(np.clip(round(n * p + generator.normal() * 3 * math.sqrt(n * p * (1 - p))), 0, n - 1))
                exact = float(arb(1 - p).beta_lower(n - k, k + 1, True).mid())
                assert special.betainc(n - k, k + 1, 1 - p) == pytest.approx(exact, rel=fixed_sample.SAFETY)


def test_what_is_detectable_is_detected_with_the_stated_probability() -> None:
    generator, n, q = np.random.default_rng(2), 2000, 0.2
    smallest = detectable_epsilon(n, n, q, epsilon=0.5, failure_probability=ALPHA)
    assert smallest is not None
    p = math.exp(smallest) * q
    x, y = generator.binomial(n, p, 4000), generator.binomial(n, q, 4000)
    caught = np.mean(predicted_lower(x, n, y, n, failure_probability=ALPHA) > 0.5)
    assert caught == pytest.approx(0.9, abs=0.03)
    assert detectable_epsilon(20, 20, 0.9, epsilon=0.5, failure_probability=ALPHA) is None
    rarest = rarest_event(n, n, epsilon=0.5, failure_probability=ALPHA)
    assert rarest is not None
    least = int(stats.binom.ppf(0.1, n, rarest)) + 1  # reached with probability 0.9
    assert epsilon_lower(Counts(least, n, 0, n), failure_probability=ALPHA) > 0.5
    assert epsilon_lower(Counts(least - 1, n, 0, n), failure_probability=ALPHA) <= 0.5
    assert rarest_event(3, 3, epsilon=0.5, failure_probability=ALPHA) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Counts(11, 10, 0, 10), "successes"),
        (lambda: Counts(1, 0, 0, 10), "trials"),
        (lambda: Counts(1.5, 10, 0, 10), "whole"),  # type: ignore[arg-type]
        (lambda: p_value(Counts(1, 2, 1, 2), -1.0), "epsilon is -1"),
        (lambda: p_value(Counts(1, 2, 1, 2), math.nan), "epsilon"),
        (lambda: p_value(Counts(1, 2, 1, 2), 0.0, 1.0), "delta"),
        (lambda: epsilon_lower(Counts(1, 2, 1, 2), failure_probability=0.0), "failure_probability"),
        (lambda: epsilon_lower(Counts(1, 2, 1, 2), failure_probability=0.1, method="wald"), "choose from"),
        (
            lambda: epsilon_lower(Counts(1, 2, 1, 2), failure_probability=0.1, delta=0.1, method="conditional"),
            "delta = 0",
        ),
        (lambda: size("exact", 10, 10, 1.0, 0.0, 0.9, 0.1), "<= 1"),
    ],
)
def test_bad_input_gets_one_line(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rare", [0, 1, 5, 50])
def test_a_frequent_event_that_the_other_dataset_hardly_gives_loses_nothing(rare):
    """Blocks of outcomes are then far wider than the spread of the frequent count."""
    counts = Counts(4_000_000, 18_200_000, rare, 18_200_000)
    exact, pearson, conditional = (
        epsilon_lower(counts, failure_probability=0.1, method=method)
        for method in ("exact", "clopper-pearson", "conditional")
    )
    assert pearson < exact
    assert exact == pytest.approx(conditional, abs=0.02)


@pytest.mark.parametrize("trials", [100, 29_334, 30_000_000])
@pytest.mark.parametrize("delta", [1e-6, 1e-4, 0.2])
def test_always_against_never_is_bounded_by_the_corner_of_the_null(trials: int, delta: float) -> None:
    # The least favorable null has p = 1, where (1 - q)^trials is all that is left.
    rarest = -math.expm1(math.log(0.001) / trials)
    bound = epsilon_lower(Counts(trials, trials, 0, trials), delta=delta, failure_probability=0.001)
    assert math.log((1 - delta) / rarest) - 0.005 <= bound <= math.log((1 - delta) / rarest)


@pytest.mark.parametrize(
    "counts", [Counts(60, 1000, 10, 1000), Counts(1000, 1000, 0, 1000), Counts(5, 10**6, 0, 10**6)]
)
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_p_values_with_fewer_cells_are_larger_never_smaller(
    counts: Counts, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = [p_value(counts, epsilon, delta, failure_probability=0.01) for epsilon in (0.5, 1.5, 3.0)]
    monkeypatch.setattr(fixed_sample, "MOST_CELLS", 0)
    whole = [p_value(counts, epsilon, delta, failure_probability=0.01) for epsilon in (0.5, 1.5, 3.0)]
    assert all(many <= few for many, few in zip(split, whole, strict=True))
    assert whole[-1] <= 1


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 10**7),
    st.integers(1, 10**7),
    st.integers(0, 3),
    st.integers(0, 3),
    st.floats(1e-9, 0.5),
    st.floats(0.0, 12.0),
)
def test_the_observed_outcome_is_in_its_own_region(
    trials1: int, trials2: int, misses: int, hits: int, delta: float, slope: float
) -> None:
    x, y = max(trials1 - misses, 0), min(hits, trials2)
    region = fixed_sample._region(Counts(x, trials1, y, trials2), slope, delta)
    assert region.limits[np.searchsorted(region.edges, x)] >= y


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 10**7), st.integers(0, 3), st.integers(0, 3), st.floats(1e-9, 0.5), st.floats(0.0, 12.0))
def test_the_closest_null_does_not_depend_on_its_company(
    trials: int, misses: int, hits: int, delta: float, log_slope: float
) -> None:
    # Points near a corner converge slowly; others beside them must not end their search or change it.
    slope = math.exp(log_slope)
    misses, hits = min(misses, trials), min(hits, trials)
    alone = fixed_sample._signed_root(np.array(trials - misses), np.array(hits), trials, trials, slope, delta)
    many = fixed_sample._signed_root(
        np.array([trials - misses, trials // 2, 0]), np.array([hits, trials // 3, trials]), trials, trials, slope, delta
    )
    assert many[0] == pytest.approx(float(alone), abs=5e-8 * (1 + abs(float(alone))))
