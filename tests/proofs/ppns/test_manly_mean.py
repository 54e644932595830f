"""The theory of weighted draws: exact helpers against brute force, and every proof and certificate broken once."""

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import wallenius
from dpassay.proofs.notation import formula, identity, proof
from dpassay.proofs.ppns import best_case, manly_mean, wallenius_law
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities
from dpassay.replay import Rejected, check

CERTIFICATES = [
    *manly_mean.manly_gap_certificates(),
    *best_case.best_case_certificates(4),
    *manly_mean.theorem1_mu_certificates(4),
    best_case.truncation_certificate(),
]
CLAIMS = {
    "PP-W9": "holds",
    "PP-L1": "holds",
    "PP-BEST": "holds",
    "PP-T1-MU": "holds",
    "PP-E10": "holds",
    "PP-PMF": "holds",
}


def sequential_means(weights: list[Fraction], num_draws: int) -> list[Fraction]:
    """Inclusion probabilities by summing over all ordered draws."""
    means = [Fraction(0)] * len(weights)
    for order in itertools.permutations(range(len(weights)), num_draws):
        probability, left = Fraction(1), sum(weights, Fraction(0))
        for i in order:
            probability, left = probability * weights[i] / left, left - weights[i]
        for i in order:
            means[i] += probability
    return means


def test_equal_weights_break_the_strict_bound_of_theorem_1() -> None:
    first = manly_mean.theorem1_mu_proof()["inputs"]["steps"][0]
    relaxed = [
        formula("implies(0 < A and A < 1, power_A <= A)") if h[0] == "=>" and h[1][0] == "and" else h
        for h in first["hypotheses"]
    ]
    assert relaxed != first["hypotheses"]
    with pytest.raises(Rejected, match="not proved"):
        check(**proof("one step", {**first, "hypotheses": relaxed}))


@pytest.mark.parametrize("inputs", CERTIFICATES)
def test_certificates_are_accepted_and_their_opposites_rejected(inputs: dict[str, Any]) -> None:
    assert check("selection", inputs)["supports"] == "holds"
    with pytest.raises(Rejected):
        check("selection", {**inputs, "condition": ["not", inputs["condition"]]})


def test_the_best_case_bound_is_attained_and_no_smaller_one_accepted() -> None:
    top = Fraction(3)
    best = manly_mean.expected_heavy_draws(2, 2, top, 2)
    inputs = best_case.best_case_certificates(1)[0]
    inputs = {**inputs, "similarities": ["1", "1", "1/3", "1/3"], "weights": ["3", "3", "1", "1"], "num_neighbors": 2}
    check("selection", {**inputs, "condition": ["<=", "first_npns", str(best)]})
    with pytest.raises(Rejected):
        check("selection", {**inputs, "condition": ["<=", "first_npns", str(best - Fraction(1, 1000))]})


def test_two_classes_agree_with_single_candidates_and_with_the_mechanism() -> None:
    weights = [Fraction(5)] * 3 + [Fraction(1)] * 4
    exact = inclusion_probabilities(weights, 3)
    assert manly_mean.expected_heavy_draws(3, 4, Fraction(5), 3) == sum(exact[:3])
    floats = np.array([float(w) for w in weights])
    np.testing.assert_allclose(wallenius.exact_mean(floats, 3), [float(mu) for mu in exact], rtol=1e-10)
    np.testing.assert_allclose(wallenius.manly_mean(floats, 3), manly_mean.manly_mean(floats.tolist(), 3), rtol=1e-10)


def test_manly_mean_solves_the_equation() -> None:
    weights = [7.0, 2.0, 2.0, 1.0, 0.5]
    means = manly_mean.manly_mean(weights, 2)
    parameters = [(1 - mu) ** (1 / w) for mu, w in zip(means, weights, strict=True)]
    assert max(parameters) - min(parameters) < 1e-12
    assert math.fsum(means) == pytest.approx(2, abs=1e-12)


def test_the_mass_function_of_the_proof_is_the_law_of_the_draws() -> None:
    weights = [Fraction(3), Fraction(2), Fraction(1), Fraction(5)]
    probabilities = {}
    for size in (2, 3):
        for chosen in itertools.combinations(range(4), size):
            d = sum((w for i, w in enumerate(weights) if i not in chosen), Fraction(0))
            subsets = [s for r in range(size + 1) for s in itertools.combinations(chosen, r)]
            probabilities[chosen] = sum(
                ((-1) ** len(s) * d / (d + sum((weights[i] for i in s), Fraction(0))) for s in subsets), Fraction(0)
            )
        means = [sum((p for c, p in probabilities.items() if len(c) == size and i in c), Fraction(0)) for i in range(4)]
        assert means == sequential_means(weights, size)
        assert all(p > 0 for p in probabilities.values())


def test_ringing_earlier_never_lowers_the_count_of_the_first_group() -> None:
    """The deterministic step of the coupling, over all orders of five clocks."""

    def count(order: tuple[int, ...], num_draws: int, group: int) -> int:
        return sum(i < group for i in order[:num_draws])

    for order in itertools.permutations(range(5)):
        for position, group, num_draws in itertools.product(range(5), range(1, 5), range(1, 5)):
            for earlier in range(position):
                moved = list(order)
                moved.insert(earlier, moved.pop(position))
                change = count(tuple(moved), num_draws, group) - count(order, num_draws, group)
                assert change >= 0 if order[position] < group else change <= 0


@pytest.mark.parametrize(("name", "outcome"), CLAIMS.items())
def test_deciders(name: str, outcome: str, ratings: Ratings) -> None:
    claim = find_claim(name)
    assert claim is not None
    verdict = claim.judge(Context(data=ratings, quick=True))
    assert verdict.outcome == outcome
    for record in verdict.evidence:
        assert record.certificate is not None
        assert json.loads(json.dumps(record.to_json())) == record.to_json()
        assert json.loads(json.dumps(record.certificate)) == record.certificate


def test_a_false_step_leaves_the_claim_open(monkeypatch: pytest.MonkeyPatch, ratings: Ratings) -> None:
    false = identity("false", "a + b == a - b")
    monkeypatch.setattr(wallenius_law, "expectation_proof", lambda: proof("one step", false))
    claim = find_claim("PP-E10")
    assert claim is not None
    verdict = claim.judge(Context(data=ratings))
    assert verdict.outcome == "open"
    assert "not an identity" in verdict.explanation


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Any ratings: these claims look at none."""
    return Ratings.from_dense(np.array([[1.0, 2.0], [3.0, 4.0]]))
