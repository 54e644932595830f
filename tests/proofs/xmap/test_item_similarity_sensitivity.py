"""The similarity-based sensitivity of two items: proofs, counterexamples, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import item_similarity_sensitivity as sensitivity

REFUTED = ("XM-T2", "XM-T2-N", "XM-T2-P", "XM-T2-M", "XM-T2-NN", "XM-T2-DEN", "XM-T2-MAX")


@pytest.mark.parametrize("claim_id", [*REFUTED, "XM-T2-REP", "XM-T2-NORM"])
def test_deciders(claim_id):
    claim = find_claim(claim_id)
    assert claim is not None
    judged = judge(claim, Context(data=synthetic()))
    outcome = "refuted" if claim_id in REFUTED else "holds"
    assert judged.verdict.outcome == outcome, judged.verdict.explanation
    assert {outcome, f"part of {outcome}"} & set(judged.concluded)


def change_and_terms(centered, user):
    """How far the similarity moves when a user leaves, and the two terms of SS for that user, with signs."""
    left = np.delete(centered, user, axis=0)
    dot, dot_left = (side[:, 0] @ side[:, 1] for side in (centered, left))
    full, short = (np.prod(np.linalg.norm(side, axis=0)) for side in (centered, left))
    product = centered[user].prod()
    return abs(dot / full - dot_left / short), product / short, dot / short - dot / full


@pytest.mark.parametrize("signs", ["any", "not negative"])
def test_bounds_on_random_ratings(signs):
    """The sum of the absolute terms always is a bound; the printed SS is one for ratings that are not negative."""
    generator = np.random.default_rng(7)
    above_printed = above_larger = 0
    for _ in range(3000):
        centered = generator.integers(-3 if signs == "any" else 0, 4, (int(generator.integers(2, 6)), 2)).astype(float)
        found: list[tuple[float, float, float]] = []
        for user in range(len(centered)):
            if (np.linalg.norm(np.delete(centered, user, axis=0), axis=0) == 0).any():
                found = []
                break
            found.append(change_and_terms(centered, user))
        if not found:
            continue
        for change, first, second in found:
            assert change <= abs(first) + abs(second) + 1e-12
            if first * (centered[:, 0] @ centered[:, 1]) >= 0:
                assert change <= max(abs(first), abs(second)) + 1e-12
        largest = max(change for change, _, _ in found)
        above_printed += largest > max(max(first, second) for _, first, second in found) + 1e-9
        above_larger += largest > max(max(abs(first), abs(second)) for _, first, second in found) + 1e-9
    assert (above_printed > 0, above_larger > 0) == ((True, True) if signs == "any" else (False, False))


def test_two_users_are_needed_and_enough():
    change, first, _ = change_and_terms(np.array([[1.0, 1], [2, -2]]), 1)
    assert change == pytest.approx(1.6)
    assert first == pytest.approx(-4)
    assert not objections(sensitivity.sensitivity_fails(sensitivity.AGREE_AND_OPPOSE))


@pytest.mark.parametrize("rows", [((4, 4, 1), (5, 5, 1, 1)), ((4, 4, 1), (4, 4, 1), (4, 4, 1))])
def test_no_counterexample_where_users_agree(rows):
    certificate = sensitivity.sensitivity_fails(type(sensitivity.AGREE_AND_OPPOSE)(rows))
    assert "false" in objections(certificate)


@pytest.mark.parametrize("number", [100, 1000])
def test_loss_of_own_sensitivities_agrees_with_an_independent_computation(number):
    def sensitivities(rows):
        worst = []
        for item in (1, 2):
            pair = rows[:, [0, item]]
            terms = [change_and_terms(pair, user)[1:] for user in {0, len(rows) - 1}]  # all others are like the first
            worst.append((pair[:, 0] @ pair[:, 1] / np.prod(np.linalg.norm(pair, axis=0)), max(map(max, terms))))
        return worst

    common = np.ones((number, 3))
    chances = []
    for rows in (common, np.vstack([common, [2, 2, 0]])):
        weights = [math.exp(s / (4 * bound)) for s, bound in sensitivities(rows)]
        chances.append(weights[0] / sum(weights))
    loss = math.log(chances[0] / chances[1])
    assert loss >= (number - 4) / 16 - math.log(2)
    assert not objections(sensitivity.own_sensitivity_loss(number, f"{loss * 0.999:.6f}"))
    assert "false" in objections(sensitivity.own_sensitivity_loss(number, f"{loss * 1.001:.6f}"))


def test_certificates_bind_the_ratings():
    for build in (sensitivity.falling_branch_fails, sensitivity.rising_branch_fails, sensitivity.undefined):
        certificate = build()
        assert not objections(certificate)
        certificate["inputs"]["values"]["r_1_1"] = 5
        assert "false" in objections(certificate)
