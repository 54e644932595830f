"""The privacy curve: the coin that dominates, the conjecture that fails, and what breaks the proof."""

import itertools
import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.mechanisms.dpp import exact_epsilon
from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import profile
from dpassay.proofs.dpp.determinants import subsets


@pytest.mark.parametrize(("claim_id", "outcome"), [("DP-DELTA", "refuted"), ("DP-DELTA-REP", "holds")])
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


def test_the_conjecture_fails_only_with_many_readers_and_enough_jitter():
    assert not objections(profile.conjecture_instance())
    assert "false" in objections(profile.conjecture_instance(readers=10))
    assert "false" in objections(profile.conjecture_instance(jitter=2))


def hockey_stick(one, other, ratio):
    return max(np.maximum(p - ratio * q, 0).sum() for p, q in ((one, other), (other, one)))


def law(kernel):
    weights = np.array([np.linalg.det(kernel[np.ix_(y, y)]) if y else 1.0 for y in subsets(len(kernel))])
    return weights / weights.sum()


def test_no_random_database_exceeds_the_coin():
    """Independent of the proof; the empty database with one item attains it."""
    rng = np.random.default_rng(9)
    for number in range(60):
        items, jitter, norm = 1 + number % 4, float(rng.uniform(0.05, 5)), float(rng.uniform(0.1, 9))
        rows = rng.normal(size=(number % 3, items)) * 10 ** rng.uniform(-1, 1.5)
        x = rng.normal(size=items)
        x *= math.sqrt(norm) / np.linalg.norm(x)
        kernel = rows.T @ rows + jitter * np.eye(items)
        laws = law(kernel), law(kernel + np.outer(x, x))
        coins = law(np.array([[jitter]])), law(np.array([[jitter + norm]]))
        for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
            allowed = profile.coin_delta(epsilon, jitter, norm)
            assert hockey_stick(*laws, math.exp(epsilon)) <= allowed + 1e-12
            assert hockey_stick(*coins, math.exp(epsilon)) == pytest.approx(allowed, abs=1e-12)


@pytest.mark.parametrize("jitter", [0.1, 1.0, 20.0])
def test_the_curve_ends_at_the_exact_epsilon(jitter):
    epsilon = exact_epsilon(7, jitter)
    assert profile.coin_delta(epsilon * 1.0001, jitter, 7) == 0
    assert profile.coin_delta(epsilon * 0.999, jitter, 7) > 0


def test_several_draws_are_several_coins():
    """Against all sequences of three coins, written out."""
    jitter, norm = 0.7, 2.0
    laws = [
        np.array(list(map(math.prod, itertools.product([1 / (1 + odds), odds / (1 + odds)], repeat=3))))
        for odds in (jitter, jitter + norm)
    ]
    for epsilon in (0.0, 0.4, 1.0, 2.5):
        found = profile.recommendations_delta(epsilon, jitter, norm, 3)
        assert found == pytest.approx(hockey_stick(laws[0], laws[1], math.exp(epsilon)), abs=1e-12)


def test_coins_spend_less_than_the_general_bounds():
    claim = find_claim("DP-DELTA-REP")
    assert claim is not None
    table = profile.decide_profile(claim, Context(synthetic(), quick=True)).evidence[0].tables[0]
    for _, draws, pure, zcdp, coins in table.rows:
        assert coins <= min(pure, zcdp) * 1.001
        assert draws < 100 or coins < 0.3 * min(pure, zcdp)
