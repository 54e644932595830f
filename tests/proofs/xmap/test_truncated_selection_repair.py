"""What is true of Theorems 3 and 4 of X-Map: proofs, enumerated laws, and what breaks them."""

import itertools
import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import truncated_selection_repair as repair


@pytest.mark.parametrize("claim_id", ["XM-T3-REP", "XM-T4-REP", "XM-JOINT-REP"])
def test_deciders(claim_id, judged_alike):
    judged_alike(claim_id, "holds")


def joint_probability(similarities, exponents, num_neighbors, below, above):
    """That no chosen item lies at or below s_k - below and all above s_k + above are chosen, by enumeration."""
    kth = sorted(similarities, reverse=True)[num_neighbors - 1]
    light = {j for j, s in enumerate(similarities) if s <= kth - below}
    heavy = {j for j, s in enumerate(similarities) if s > kth + above}
    total = 0.0
    for order in itertools.permutations(range(len(similarities)), num_neighbors):
        if light & set(order) or not heavy <= set(order):
            continue
        left, chance = set(range(len(similarities))), 1.0
        for chosen in order:
            chance *= math.exp(exponents[chosen]) / sum(math.exp(exponents[j]) for j in left)
            left.remove(chosen)
        total += chance
    return total


@pytest.mark.parametrize("rho", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("num_neighbors", [1, 2, 3])
def test_both_conclusions_on_enumerated_laws(num_neighbors, rho):
    generator = np.random.default_rng(num_neighbors)
    smallest = 1.0
    for _ in range(40):
        similarities = np.round(generator.uniform(-1, 1, 6), 1)
        log_term = math.log(num_neighbors * (6 - num_neighbors) / rho)
        scale = generator.choice([2.0, 5, 20, 100])
        margin = log_term / scale
        kth = np.sort(similarities)[-num_neighbors]
        exponents = scale * np.maximum(similarities, kth - margin)
        chance = joint_probability(similarities, exponents, num_neighbors, margin, margin)
        smallest = min(smallest, chance)
        assert chance >= 1 - rho - 1e-12  # rounding
    assert smallest < 1


@pytest.mark.parametrize("num_neighbors", [1, 2, 3])
def test_own_sensitivities_on_enumerated_laws(num_neighbors):
    generator = np.random.default_rng(num_neighbors)
    rho, failures = 0.3, 0
    for _ in range(60):
        similarities = np.round(generator.uniform(0, 1, 6), 2)
        own = generator.uniform(0.5, 1.0, 6)
        least, most = own.min(), own.max()
        term = math.log(num_neighbors * (6 - num_neighbors) / rho) / generator.choice([5.0, 20, 100])
        kth = np.sort(similarities)[-num_neighbors]
        below = kth * (1 - least / most) + least * term
        above = kth * (most / least - 1) + most * term
        scale = math.log(num_neighbors * (6 - num_neighbors) / rho) / term
        exponents = scale * np.maximum(similarities, kth - below) / own
        assert joint_probability(similarities, exponents, num_neighbors, below, above) >= 1 - rho - 1e-12
        printed = most * term  # the largest SS in w, as printed
        exponents = scale * np.maximum(similarities, kth - printed) / own
        failures += joint_probability(similarities, exponents, num_neighbors, printed, printed) < 1 - rho
    assert failures > 0


@pytest.mark.parametrize(
    ("build", "change"),
    [
        (repair.smaller_margin, {"margin": "946/1000"}),
        (repair.smaller_margin, {"SS2": 1}),
        (repair.smaller_upper_margin, {"rho": "1/2"}),
        (repair.smaller_upper_margin, {"eps": 5}),
    ],
)
def test_tight_instances_fail_where_the_statement_is_true(build, change):
    certificate = build()
    assert not objections(certificate)
    certificate["inputs"]["values"] |= change
    assert "false" in objections(certificate)
