"""Theorems 3 and 4 of X-Map: counterexamples, the steps that are true, and what breaks them."""

import itertools
import math

import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import truncated_selection as truncated

OUTCOMES = {
    "XM-T3": "refuted",
    "XM-T4": "refuted",
    "XM-T3-STEP": "holds",
    "XM-T3-V": "refuted",
    "XM-T3-BERN": "holds",
    "XM-T3-RNG": "holds",
    "XM-T3-STRICT": "refuted",
    "XM-T4-AB": "refuted",
    "XM-JOINT": "refuted",
}


@pytest.mark.parametrize(("claim_id", "outcome"), OUTCOMES.items())
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome)


def law(weights, num_draws):
    """Probability of every set, summed over the orders of weighted draws without replacement."""
    chances: dict[frozenset[int], float] = {}
    for order in itertools.permutations(range(len(weights)), num_draws):
        left, chance = set(range(len(weights))), 1.0
        for chosen in order:
            chance *= weights[chosen] / sum(weights[i] for i in left)
            left.remove(chosen)
        chances[frozenset(order)] = chances.get(frozenset(order), 0.0) + chance
    return chances


def inclusion_of_the_first(similarities):
    chances = law([math.exp(s / 80) for s in similarities], 2)
    return sum(chance for chosen, chance in chances.items() if 0 in chosen)


@pytest.mark.parametrize(("size", "rho"), [(3, "1/10"), (5, "1/2"), (8, "1/2")])
def test_the_missed_item_agrees_with_an_enumeration(size, rho):
    similarities = truncated.SIMILARITIES[:size]
    chance = inclusion_of_the_first([eval_fraction(s) for s in similarities])
    above, below = (f"{round((chance + offset) * 10**9)} / {10**9}" for offset in (1e-6, -1e-6))
    assert not objections(truncated.missed_item(similarities, rho=rho, below=above))
    assert "false" in objections(truncated.missed_item(similarities, rho=rho, below=below))


def test_the_leads_number_for_eight_items():
    assert inclusion_of_the_first([0.9, 0.3, 0.1, *[0.05] * 5]) == pytest.approx(0.252, abs=5e-4)


def test_four_items_are_not_enough_at_one_half():
    similarities = truncated.SIMILARITIES[:4]
    assert "false" in objections(truncated.missed_item(similarities, rho="1/2", below="499/1000"))


@pytest.mark.parametrize(
    ("build", "change"),
    [
        (truncated.own_sensitivities, {"agree": 19, "oppose": 1}),  # similarity 0.9 is not below sim_k - w
        (truncated.own_sensitivities, {"eps": 2}),  # the minimum is sim_k
        (truncated.negative_threshold, {"s1": "1/2"}),
        (truncated.cut_at_threshold, {"s2": "1/10"}),
        (truncated.cut_at_threshold, {"rho": "1/2"}),
        (truncated.not_jointly, {"rho": "2/5"}),
        (truncated.not_jointly, {"s4": "1/100"}),
        (truncated.vector_length_fails, {"length": 5}),
        (truncated.vector_length_fails, {"r_2_3": 4}),
    ],
)
def test_a_changed_counterexample_is_rejected(build, change):
    certificate = build()
    assert not objections(certificate)
    certificate["inputs"]["values"] |= change
    assert objections(certificate)


def test_own_sensitivities_agree_with_the_ratings():
    """2 co-raters who agree, 20 of whom 11 agree: similarities and SS by leaving each user out."""

    def similarity(products):
        return sum(products) / len(products)

    def sensitivity(products):
        size = len(products)
        return max(max(p / (size - 1), sum(products) * (1 / (size - 1) - 1 / size)) for p in products)

    good, bad = [1, 1], [1] * 11 + [-1] * 9
    assert (similarity(good), sensitivity(good)) == (1, 1)
    assert similarity(bad) == pytest.approx(0.1)
    assert sensitivity(bad) == pytest.approx(1 / 19)
    width = 4 * math.log(2) / 4
    weights = [math.exp(1), math.exp((1 - width) * 19)]
    assert weights[1] / sum(weights) > 0.99


def eval_fraction(text):
    numerator, _, denominator = text.partition("/")
    return int(numerator) / int(denominator or 1)
