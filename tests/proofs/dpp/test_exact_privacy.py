"""The exact epsilon of the whole sampler: proofs, enumerations, tables, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.mechanisms.dpp import exact_epsilon, required_jitter
from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import exact_privacy as exact
from dpassay.proofs.dpp.determinants import subsets


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [("DP-EPS-REP", "holds"), ("DP-SUM", "refuted"), ("DP-FUT", "holds"), ("DP-T-REP", "holds"), ("DP-JMON", "holds")],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


@pytest.mark.parametrize("largest", ["860/61", "862/61"])
def test_an_enumeration_fails_for_any_other_ratio(largest):
    assert not objections(exact.enumeration(2, 1, "1/20", "861/61"))
    assert "largest ratio is 861/61" in objections(exact.enumeration(2, 1, "1/20", largest))


@pytest.mark.parametrize("jitter", [0.05, 0.7, 5.0])
def test_exact_epsilon_is_the_largest_loss_of_random_databases(jitter):
    """Independent of the certificates: NumPy determinants of real rows; the worst pair of the theorem attains it."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for number in range(40):
        items = 1 + number % 4
        rows = rng.normal(size=(number % 3, items))
        x = rng.normal(size=items)
        x *= math.sqrt(items) / np.linalg.norm(x)
        kernel = rows.T @ rows + jitter * np.eye(items)
        worst = max(worst, largest_loss(kernel, x) - exact_epsilon(items, jitter))
    assert worst < 1e-9
    assert largest_loss(jitter * np.eye(3), np.ones(3)) == pytest.approx(exact_epsilon(3, jitter))


def test_coins_cost_what_subsets_cost():
    """DP-SUM, pair by pair: the largest ratio of phase 1 is that of the subset."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        rows, x = rng.integers(0, 2, (3, 4)).astype(float), rng.integers(0, 2, 4).astype(float)
        kernel = rows.T @ rows + 0.4 * np.eye(4)
        coins = [np.linalg.eigvalsh(matrix) for matrix in (kernel, kernel + np.outer(x, x))]
        losses = [
            np.log(coins[1][list(heads)]).sum()
            - np.log(coins[0][list(heads)]).sum()
            - np.log1p(coins[1]).sum()
            + np.log1p(coins[0]).sum()
            for heads in subsets(4)
        ]
        assert np.abs(losses).max() == pytest.approx(largest_loss(kernel, x), abs=1e-9)


def test_zcdp_bound_holds_on_the_worst_pair():
    jitter, items = 1.0, 3
    one, other = law(jitter * np.eye(items)), law(jitter * np.eye(items) + np.ones((items, items)))
    for order in (1.5, 2.0, 10.0):
        for p, q in ((one, other), (other, one)):
            renyi = np.log((p**order * q ** (1 - order)).sum()) / (order - 1)
            assert 0 < renyi <= order * math.log1p(items / jitter) ** 2 / 8


def test_tables_agree_with_the_theorem():
    claim = find_claim("DP-EPS-REP")
    assert claim is not None
    epsilons, jitters, synthetic_table = (
        exact.decide_exact_epsilon(claim, Context(synthetic(), quick=True)).evidence[0].tables
    )
    five = next(row for row in epsilons.rows if row[:2] == [5, 1.0])
    assert five[2:] == [1.2528, 11.74]
    for budget, *found in jitters.rows:
        for items, jitter in zip((10, 100, 1000), found[:3], strict=True):
            assert exact_epsilon(items, jitter) == pytest.approx(budget, rel=1e-3)
            assert jitter == pytest.approx(required_jitter(budget, items), rel=1e-3)
    shares = [row[-1] for row in synthetic_table.rows]
    assert shares[0] == 1
    assert shares == sorted(shares, reverse=True)


def test_fixed_size_inclusion_is_that_of_the_law():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6, 5))
    kernel = rows.T @ rows
    found = exact._fixed_size_inclusion(*np.linalg.eigh(kernel), 2)
    pairs = [items for items in subsets(5) if len(items) == 2]
    weights = np.array([np.linalg.det(kernel[np.ix_(items, items)]) for items in pairs])
    expected = [sum(w for w, items in zip(weights, pairs, strict=True) if i in items) / weights.sum() for i in range(5)]
    assert found == pytest.approx(expected)


def law(kernel):
    weights = np.array([np.linalg.det(kernel[np.ix_(y, y)]) if y else 1.0 for y in subsets(len(kernel))])
    return weights / weights.sum()


def largest_loss(kernel, x):
    return np.abs(np.log(law(kernel + np.outer(x, x)) / law(kernel))).max()
