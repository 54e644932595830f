"""Moments in the proof of Theorem 3: against sums over all symbols, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.rating_collection import moments

OUTCOMES = {
    "RC-T3-S": "refuted",
    "RC-T3-S-REP": "holds",
    "RC-RANGE": "refuted",
    "RC-RANGE-REP": "holds",
    "RC-EQ": "refuted",
    "RC-EQ-REP": "holds",
    "RC-RRX": "holds",
}


@pytest.mark.parametrize(("claim_id", "outcome"), OUTCOMES.items())
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome)


@pytest.mark.parametrize("stars", [2, 3, 5, 9])
def test_ratings_by_enumeration(stars):
    """Created: (d-1)(2d-1)/6 is the exact maximum, below (d-1)^2. Changed: the printed bound covers every rating."""
    symbols = np.arange(1, stars + 1)
    truths = np.linspace(1, stars, 201)
    created = ((truths[:, None] - symbols) ** 2).mean(axis=1)
    assert created.max() == pytest.approx((stars - 1) * (2 * stars - 1) / 6)
    assert created.max() < (stars - 1) ** 2
    for epsilon in (0.0, 0.5, 4.0):
        e = math.exp(epsilon)
        for x in symbols:
            weights = np.where(symbols == x, e, 1.0)
            changed = (weights * (x - symbols) ** 2).sum() / weights.sum()
            assert changed <= (stars - 1) ** 2 * stars / (e + stars)


def test_second_moment_by_quadrature():
    scale = 0.8
    z = np.linspace(0, 60 * scale, 400_001)
    density = np.exp(-z / scale) / scale
    assert np.trapezoid(z**2 * density, z) == pytest.approx(2 * scale**2, rel=1e-6)


@pytest.mark.parametrize("kind", ["laplace", "response"])
def test_the_theorem_needs_the_range(kind):
    """The violation is gone for a true rating inside the range."""
    certificate = moments.range_instance(kind)
    assert not objections(certificate)
    inside = {**certificate["inputs"], "values": {**certificate["inputs"]["values"], "theta": 1}}
    assert "false" in objections({**certificate, "inputs": inside})
