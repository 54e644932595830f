"""The truncation parameter lambda: proof, counterexamples, and what breaks them."""

import itertools
import math

import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.ppns import selection_accuracy as accuracy
from dpassay.replay import Rejected, check


@pytest.mark.parametrize(
    ("claim_id", "outcome"), [("PP-LAM", "refuted"), ("PP-LAM-REP", "holds"), ("PP-LAM2", "holds")]
)
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


def statements(similarities, num_neighbors, scale, margin):
    """Probabilities of the two statements; weights exp(s / scale), `margin` is lambda."""
    ranked = sorted(similarities, reverse=True)
    threshold = ranked[num_neighbors - 1]
    chances = law([math.exp(s / scale) for s in ranked], num_neighbors)
    above = {i for i, s in enumerate(ranked) if s > threshold + margin}
    none_below = sum(p for chosen, p in chances.items() if min(ranked[i] for i in chosen) >= threshold - margin)
    all_above = sum(p for chosen, p in chances.items() if above <= chosen)
    return none_below, all_above


@pytest.mark.parametrize("rho", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("num_neighbors", [1, 2, 3])
def test_both_statements_on_enumerated_laws(num_neighbors, rho):
    lists = ([1.0, 0.9, 0.2, 0.1, 0.0], [0.8, 0.3, 0.3, 0.3, -0.9], [1.0, 0.5, 0.4, 0.05, 0.0])
    for similarities, scale in itertools.product(lists, (0.01, 0.05, 0.2, 1.0)):
        margin = scale * math.log(num_neighbors * (len(similarities) - num_neighbors) / rho)
        assert min(statements(similarities, num_neighbors, scale, margin)) >= 1 - rho - 1e-12  # rounding


def test_closed_form_of_the_counterexample_agrees_with_the_enumerated_law():
    scale = 4 * 2 / 0.1
    none_below, all_above = statements([0.9, 0.3, 0.1], 2, scale, 0.3)
    assert none_below == pytest.approx(1, abs=1e-12)
    assert all_above == pytest.approx(0.66909454, abs=1e-8)


@pytest.mark.parametrize(
    "change", [{"epsilon": "10"}, {"rho": "1/2"}, {"probability_below": "2/3"}, {"probability_below": "91/100"}]
)
def test_a_changed_counterexample_is_rejected(change):
    """With eps = 10 or rho = 1/2 the second statement is true there; 2/3 is below the true probability."""
    settings = {"epsilon": "1/10", "rho": "1/10", "probability_below": "17/25"} | change
    certificate = accuracy.truncated_lambda(["9/10", "3/10", "1/10"], **settings)
    with pytest.raises(Rejected, match="false"):
        check(certificate["kind"], certificate["inputs"])


def test_the_smallest_sensitivity_is_the_smallest():
    assert not objections(accuracy.unachievable("1/2141"))
    assert "false" in objections(accuracy.unachievable("1/2142"))
