"""Literal readings of the definitions, and pairs (keep, create): against enumeration and search."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.rating_collection import definitions

OUTCOMES = {
    "RC-IND2": "refuted",
    "RC-IND3": "refuted",
    "RC-EPS0": "refuted",
    "RC-EPS0-REP": "holds",
    "RC-CONJ": "refuted",
    "RC-CONJ-REP": "holds",
    "RC-SLACK": "refuted",
    "RC-SLACK-REP": "holds",
}


@pytest.mark.parametrize(("claim_id", "outcome"), OUTCOMES.items())
def test_deciders(claim_id, outcome, judged_alike):
    judged = judged_alike(claim_id, outcome)
    if outcome == "refuted":
        assert judged.verdict.repair


def test_one_draw_per_value_by_enumeration():
    """Definition 3 to the letter, e^eps = 3, d = 2, on vectors of two entries: every outcome of (xi_0, xi_1, xi_2)."""
    e, stars = Fraction(3), 2

    def differ(vector):
        total = Fraction(0)
        for drawn in itertools.product(range(stars + 1), repeat=stars + 1):
            chance = math.prod((e if output == value else 1) / (e + stars) for value, output in enumerate(drawn))
            total += chance * (drawn[vector[0]] != drawn[vector[1]])
        return total

    assert differ((0, 0)) == 0
    assert differ((0, 1)) == 1 - (2 * e + stars - 1) / (e + stars) ** 2


def largest_loss(keep, create, epsilon):
    """Privacy loss of one entry with these chances and Laplace noise of scale 2/eps: closed form, nats."""
    half = epsilon / 2
    losses = [epsilon if keep > 0 else 0.0]
    for high, low in ((keep, create), (create, keep)):
        losses.append(math.log(high / low) + half)
        if 1 - high > 0:
            losses.append(math.inf if low == 1 else math.log((1 - high) / (1 - low)))
    return max(losses)


@pytest.mark.parametrize("epsilon", [0.2, 0.7, 1.0, 3.0])
@pytest.mark.parametrize(("density", "mean_square"), [(0.06, 0.4), (0.5, 1.0), (0.95, 0.1)])
def test_the_best_pair_against_a_search(epsilon, density, mean_square):
    r = math.exp(epsilon / 2)
    total = r * r + r + 1
    pairs = [(r * (r + 1) / total, (r + 1) / total), (1.0, 1.0)]
    for pair in pairs:
        assert largest_loss(*pair, epsilon) == pytest.approx(epsilon)
    printed = definitions.reconstruction_error(epsilon, r / (1 + r), 1 / (1 + r), density, mean_square)
    best = min(definitions.reconstruction_error(epsilon, *pair, density, mean_square) for pair in pairs)
    assert best < printed
    grid = np.linspace(0.005, 1, 200)
    found = [
        definitions.reconstruction_error(epsilon, keep, create, density, mean_square)
        for keep in grid
        for create in grid
        if largest_loss(keep, create, epsilon) <= epsilon
    ]
    assert len(found) > 100
    assert best * (1 - 1e-12) <= min(found) < 1.05 * best


def test_the_error_by_enumeration():
    """A noise of two points with the same variance has the same second moments as the Laplace noise."""
    epsilon, keep, create, x = 1.5, 0.7, 0.4, 0.6
    noise = math.sqrt(8) / epsilon

    def error(truth, chance):
        return (1 - chance) * truth**2 + chance * sum(((truth + n) / keep - truth) ** 2 for n in (noise, -noise)) / 2

    expected = 0.25 * error(x, keep) + 0.75 * error(0.0, create)
    assert definitions.reconstruction_error(epsilon, keep, create, 0.25, x**2) == pytest.approx(expected)


def test_golden_ratio():
    """Always reporting a number beats Definition 2 below eps = 2 ln(golden ratio) on sparse data, and not above."""
    threshold = 2 * math.log((1 + math.sqrt(5)) / 2)
    assert threshold == pytest.approx(0.9624, abs=1e-4)
    for epsilon, better in ((threshold - 0.01, True), (threshold + 0.01, False)):
        r = math.exp(epsilon / 2)
        printed = definitions.reconstruction_error(epsilon, r / (1 + r), 1 / (1 + r), 0.0, 0.0)
        assert (definitions.reconstruction_error(epsilon, 1, 1, 0.0, 0.0) < printed) == better


def test_the_instance_of_definition_3_needs_its_numbers():
    certificate = definitions.noise_by_value_instance()
    assert not objections(certificate)
    changed = {**certificate["inputs"], "values": {"eps": 1, "d": 4}}
    assert "false" in objections({**certificate, "inputs": changed})
