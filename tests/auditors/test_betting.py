"""E-processes: mean at most 1 at the boundary by exact summation, no false alarms, the promised power, good manners."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpassay.auditors import betting
from dpassay.auditors.betting import EProcess, epsilon_grid, lower_bound
from dpassay.core.errors import InvalidInput


def mean_factor(slope: float, offset: float, n: int, m: int, q: float, slack: float = 0.0) -> float:
    """The exact mean of the second batch's factor when p = slope q + offset - slack."""
    outcomes = np.array([(x, y) for x in range(n + 1) for y in range(m + 1)])
    num = len(outcomes)  # as many events with one past, each of which meets another outcome
    process = EProcess(np.full((num, 1), math.log(slope)), offset, np.full(num, 1 / num), claim_index=0)
    process.update(np.full(num, n - 1), n, np.ones(num), m)
    before = process.log_e_events[:, 0]
    process.update(outcomes[:, 0], n, outcomes[:, 1], m)
    chance = stats.binom.pmf(outcomes[:, 0], n, slope * q + offset - slack) * stats.binom.pmf(outcomes[:, 1], m, q)
    return float(chance @ np.exp(process.log_e_events[:, 0] - before))


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (1.7, 0.0), (0.6, 0.2), (1.3, 0.1)])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 9), (8, 2)])
def test_no_factor_has_a_mean_above_one_under_the_null(slope: float, offset: float, n: int, m: int) -> None:
    largest = min(1.0, (1 - offset) / slope)
    for q in np.linspace(0, 1, 7) * largest:
        assert mean_factor(slope, offset, n, m, q) <= 1 + 1e-12
    assert mean_factor(slope, offset, n, m, 0.3 * largest, slack=0.5 * offset) <= 1 + 1e-12


def test_a_slope_forgotten_in_the_bet_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = betting._log_e
    monkeypatch.setattr(
        betting, "_log_e", lambda x, n, y, m, s, o, b, q: true(x, n, y, m, 0 * s, o + q * np.expm1(s), b, q)
    )
    assert mean_factor(1.7, 0.0, 5, 5, 0.5) > 1 + 1e-6


def test_at_the_boundary_the_evidence_hardly_ever_reaches_its_threshold() -> None:
    generator = np.random.default_rng(0)
    runs, alpha = 1000, 0.05
    for slope, offset, q, n, m in ((1.0, 0.0, 0.5, 20, 20), (math.e, 0.01, 0.05, 30, 60), (math.e, 0.0, 0.3, 7, 5)):
        process = EProcess(np.full((runs, 1), math.log(slope)), offset, np.full(runs, 1 / runs), claim_index=0)
        ever = np.zeros(runs, bool)
        for look in range(120):
            factor = 1 + look // 30
            process.update(
                generator.binomial(n * factor, slope * q + offset, runs),
                n * factor,
                generator.binomial(m * factor, q, runs),
                m * factor,
            )
            ever |= process.log_e_events[:, 0] >= -math.log(alpha)
        assert stats.binom.sf(ever.sum() - 1, runs, alpha) > 1e-6
        assert ever.sum() > 0.1 * alpha * runs  # and the bets are real


@pytest.mark.parametrize(("epsilon", "allowed"), [(0.1, 0.5 * 271_500), (1.0, 0.6 * 5880), (3.0, 0.7 * 3370)])
def test_claims_a_fifth_too_low_fall_soon(epsilon: float, allowed: float) -> None:
    generator = np.random.default_rng(5)
    runs = 400
    process = EProcess(np.full((runs, 1), 0.8 * epsilon), 0.0, np.full(runs, 1 / runs), claim_index=0)
    taken, seen = np.zeros(runs), 0
    while not taken.all():
        batch = max(16, int(0.03 * seen))
        one, two = generator.binomial(batch, 0.5, runs), generator.binomial(batch, 0.5 * math.exp(-epsilon), runs)
        process.update(one, batch, two, batch)
        seen += batch
        taken[(process.log_e_events[:, 0] >= math.log(100)) & (taken == 0)] = 2 * seen
    assert taken.mean() < allowed + 2 * taken.std() / math.sqrt(runs)


def test_the_grid_holds_the_claim_and_the_bound_walks_it() -> None:
    for claimed in (1e-3, 0.1, 1.0, math.pi, 40.0):
        grid = epsilon_grid(claimed)
        assert claimed in grid
        assert grid[0] == pytest.approx(claimed / 64, rel=0.01)
        assert grid[-1] >= max(64 * claimed, 50) * 0.999
        assert np.all(np.diff(grid) > 0)
        assert np.all(grid[1:] / grid[:-1] < 1.00401)
        assert np.array_equal(grid, epsilon_grid(claimed))
    assert epsilon_grid(0.0)[0] == 0
    grid = np.array([1.0, 2.0, 3.0, 4.0])
    assert lower_bound(grid, np.array([9.0, 9.0, 1.0, 9.0]), 5.0) == 2.0
    assert lower_bound(grid, np.array([1.0, 9.0, 9.0, 9.0]), 5.0) == 0.0
    assert lower_bound(grid, np.array([9.0, 9.0, 9.0, 5.0]), 5.0) == 4.0
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(InvalidInput, match="finite claim"):
            epsilon_grid(bad)


@pytest.mark.parametrize(("claimed", "truth"), [(1.0, 1.5), (1.0, 0.5), (0.1, 2.0), (0.0, 0.4)])
def test_the_bound_approaches_the_truth_from_below(claimed: float, truth: float) -> None:
    generator = np.random.default_rng(7)
    grid = epsilon_grid(claimed)
    process = EProcess(np.tile(grid, (2, 1)), 0.0, [0.5, 0.5], claim_index=int(np.argmin(np.abs(grid - claimed))))
    for _ in range(60):
        one, two = generator.binomial(2000, [0.5, 0.1]), generator.binomial(2000, [0.5 * math.exp(-truth), 0.1])
        process.update(one, 2000, two, 2000)
    bound = lower_bound(grid, process.log_e, math.log(1e6))
    assert 0.8 * truth < bound <= truth


def test_epochs_and_copies_carry_the_capital_on() -> None:
    first = EProcess([[0.0, 0.5]], 0.0, [1.0], claim_index=1)
    for _ in range(5):
        first.update([15], 20, [4], 20)
    kept = first.copy()
    second = EProcess([[0.0, 0.5]] * 2, 0.0, [0.5, 0.5], log_wealth=first.log_e, prior=([15, 3], 20, [4, 3], 20))
    assert np.allclose(second.log_e, first.log_e)
    second.update([14, 3], 20, [3, 3], 20)
    first.update([15], 20, [4], 20)
    assert second.log_e[0] > first.log_wealth[0] + kept.log_e[0]
    assert kept.log_e[0] < first.log_e[0]
    assert len(kept.certificate_inputs()[0]["looks"]) == 5


def test_extreme_counts_and_slopes_stay_finite_and_do_not_warn() -> None:
    grid = np.concatenate([epsilon_grid(1.0), [200.0, 1000.0]])
    for offset in (0.0, 1e-9, 0.3):
        process = EProcess(np.tile(grid, (4, 1)), offset, np.full(4, 0.25), claim_index=100)
        for one, two in (([0, 50, 50, 0], [0, 0, 70, 70]), ([50, 50, 0, 0], [70, 0, 0, 70])):
            for _ in range(3):
                process.update(one, 50, two, 70)
        assert not np.isnan(process.log_e).any()
        assert process.log_e[-1] == pytest.approx(0.0, abs=1e-12)  # nothing is staked against the steepest


def test_a_strong_effect_is_seen_at_every_smaller_parameter() -> None:
    grid = epsilon_grid(1.0)
    process = EProcess(grid[None], 0.0, [1.0], claim_index=int(np.argmin(np.abs(grid - 1))))
    for _ in range(20):
        process.update([50], 100, [2], 100)
    below = grid <= 1
    assert np.all(process.log_e[below] > math.log(20))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EProcess([[0.0]], 0.0, [1.1]), "weights"),
        (lambda: EProcess([[0.0]], 0.0, [0.5, 0.5]), "weights"),
        (lambda: EProcess([[0.0]], -0.1, [1.0]), "offsets"),
        (lambda: EProcess([[0.0]], 0.0, [1.0], log_wealth=[0.0, 0.0]), "log_wealth"),
        (lambda: EProcess([[0.0]], 0.0, [1.0]).update([3], 2, [0], 2), "between 0"),
        (lambda: EProcess([[0.0]], 0.0, [1.0]).update([0], 0, [0], 2), "one trial"),
        (lambda: EProcess([[0.0]], 0.0, [1.0]).update([0, 0], 2, [0, 0], 2), "one per event"),
        (lambda: EProcess([[0.0]], 0.0, [1.0]).certificate_inputs(), "claim_index"),
    ],
)
def test_bad_input_gets_one_line(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
