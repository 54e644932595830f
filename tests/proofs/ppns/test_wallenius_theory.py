"""The theory of weighted draws: exact helpers against brute force, and every proof and certificate broken once."""

import itertools
import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import wallenius
from dpassay.proofs.notation import formula, identity
from dpassay.proofs.ppns import wallenius_theory as theory
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities
from dpassay.replay import Rejected, check
from dpassay.replay.proof import query, solve

PROOFS: dict[str, Callable[[], dict[str, Any]]] = {
    "PP-W9": theory.manly_proof,
    "PP-W9 gap": theory.manly_gap_proof,
    "PP-L1": theory.lemma1_proof,
    "PP-L1 misprint": theory.lemma1_misprint_proof,
    "PP-L1 random counts": theory.lemma1_random_counts_proof,
    "PP-BEST": theory.best_case_proof,
    "PP-BEST truncation": theory.truncation_proof,
    "PP-T1-MU": theory.theorem1_mu_proof,
    "PP-T1-MU exact": theory.theorem1_mu_exact_proof,
    "PP-E10": theory.expectation_proof,
    "PP-PMF": theory.pmf_proof,
}
STEPS = [(name, step) for name, make in PROOFS.items() for step in make()["steps"]]
SMT_STEPS = [pytest.param(step, id=f"{name}: {step['name']}") for name, step in STEPS if step["engine"] == "smt"]
OTHER_STEPS = [pytest.param(step, id=f"{name}: {step['name']}") for name, step in STEPS if step["engine"] != "smt"]
CERTIFICATES = [
    *theory.manly_gap_certificates(),
    *theory.best_case_certificates(0, 4),
    *theory.theorem1_mu_certificates(4),
    theory.truncation_certificate(),
]
CLAIMS = {
    "PP-W9": "holds",
    "PP-L1": "holds",
    "PP-BEST": "holds",
    "PP-T1-MU": "holds",
    "PP-E10": "holds",
    "PP-PMF": "holds",
}


def alone(step: Mapping[str, Any]) -> dict[str, Any]:
    return {"supports": "holds", "argument": "one step", "steps": [dict(step)]}


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


@pytest.mark.parametrize("make", PROOFS.values(), ids=PROOFS.keys())
def test_every_proof_is_accepted(make: Callable[[], dict[str, Any]]) -> None:
    assert check("proof", make())["supports"] == "holds"


@pytest.mark.parametrize("step", SMT_STEPS)
def test_a_step_without_one_of_its_hypotheses_is_not_proved(step: dict[str, Any]) -> None:
    for index in range(len(step["hypotheses"])):
        fewer = {**step, "hypotheses": [h for i, h in enumerate(step["hypotheses"]) if i != index]}
        assert "unsat" not in solve(query(fewer, negated_conclusion=True)).values()


@pytest.mark.parametrize("step", SMT_STEPS)
def test_the_opposite_conclusion_is_rejected(step: dict[str, Any]) -> None:
    with pytest.raises(Rejected, match="not proved"):
        check("proof", alone({**step, "conclusion": ["not", step["conclusion"]]}))


@pytest.mark.parametrize("step", OTHER_STEPS)
def test_changed_identities_and_models_are_rejected(step: dict[str, Any]) -> None:
    if step["engine"] == "identity":
        changed = {**step, "right": ["+", step["right"], "1/1000"]}
    else:
        first = next(iter(step["model"]))
        moved = str(Fraction(step["model"][first]) + Fraction(1, 2))
        changed = {**step, "model": {**step["model"], first: moved}}
    with pytest.raises(Rejected):
        check("proof", alone(changed))


@pytest.mark.parametrize(
    ("make", "name", "conclusion"),
    [
        (theory.manly_gap_proof, "more than 1/21", "exact - (1 - A ** 2) > 1 / 20"),
        (theory.theorem1_mu_proof, "exceeds", "A * n > n - k + 1 / 100"),
        (theory.best_case_proof, "no more than in the best case", "first <= k * (1 - power_B) - 1 / 100"),
        (theory.lemma1_proof, "each mean larger", "1 - power_A > 1 - power_B + 1 / 100"),
        (theory.lemma1_misprint_proof, "printed sum", "k - n * root > 0"),
        (theory.truncation_proof, "fewer than 49", "k * mu_1 < 5"),
        (theory.theorem1_mu_exact_proof, "smallest of n", "mean_X > (n - k) / n"),
    ],
)
def test_a_constant_past_its_tight_value_is_rejected(
    make: Callable[[], dict[str, Any]], name: str, conclusion: str
) -> None:
    (step,) = [s for s in make()["steps"] if name in s["name"]]
    with pytest.raises(Rejected, match="not proved"):
        check("proof", alone({**step, "conclusion": formula(conclusion)}))


def test_equal_weights_break_the_strict_bound_of_theorem_1() -> None:
    first = theory.theorem1_mu_proof()["steps"][0]
    relaxed = [
        formula("implies(0 < A and A < 1, power_A <= A)") if h[0] == "=>" and h[1][0] == "and" else h
        for h in first["hypotheses"]
    ]
    assert relaxed != first["hypotheses"]
    with pytest.raises(Rejected, match="not proved"):
        check("proof", alone({**first, "hypotheses": relaxed}))


def test_a_sign_error_in_the_recursion_is_rejected() -> None:
    (step,) = [s for s in theory.pmf_proof()["steps"] if s["name"].endswith("set of 2")]
    wrong = {**step, "right": ["-", 0, *step["right"][2:]]}
    with pytest.raises(Rejected, match="not an identity"):
        check("proof", alone(wrong))


@pytest.mark.parametrize("inputs", CERTIFICATES)
def test_certificates_are_accepted_and_their_opposites_rejected(inputs: dict[str, Any]) -> None:
    assert check("selection", inputs)["supports"] == "holds"
    with pytest.raises(Rejected):
        check("selection", {**inputs, "condition": ["not", inputs["condition"]]})


def test_the_best_case_bound_is_attained_and_no_smaller_one_accepted() -> None:
    top = Fraction(3)
    best = theory.expected_heavy_draws(2, 2, top, 2)
    inputs = theory.best_case_certificates(0, 1)[0]
    inputs = {**inputs, "similarities": ["1", "1", "1/3", "1/3"], "weights": ["3", "3", "1", "1"], "num_neighbors": 2}
    check("selection", {**inputs, "condition": ["<=", "first_npns", str(best)]})
    with pytest.raises(Rejected):
        check("selection", {**inputs, "condition": ["<=", "first_npns", str(best - Fraction(1, 1000))]})


def test_two_classes_agree_with_single_candidates_and_with_the_mechanism() -> None:
    weights = [Fraction(5)] * 3 + [Fraction(1)] * 4
    exact = inclusion_probabilities(weights, 3)
    assert theory.expected_heavy_draws(3, 4, Fraction(5), 3) == sum(exact[:3])
    floats = np.array([float(w) for w in weights])
    np.testing.assert_allclose(wallenius.exact_mean(floats, 3), [float(mu) for mu in exact], rtol=1e-10)
    np.testing.assert_allclose(wallenius.manly_mean(floats, 3), theory.manly_mean(floats.tolist(), 3), rtol=1e-10)


def test_manly_mean_solves_the_equation() -> None:
    weights = [7.0, 2.0, 2.0, 1.0, 0.5]
    means = theory.manly_mean(weights, 2)
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
    monkeypatch.setattr(theory, "expectation_proof", lambda: alone(false))
    claim = find_claim("PP-E10")
    assert claim is not None
    verdict = claim.judge(Context(data=ratings))
    assert verdict.outcome == "open"
    assert "not an identity" in verdict.explanation


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Any ratings: these claims look at none."""
    return Ratings.from_dense(np.array([[1.0, 2.0], [3.0, 4.0]]))
