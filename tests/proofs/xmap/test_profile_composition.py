"""What a whole profile costs: two budgets, how tight they are, and what breaks the proofs."""

import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import profile_composition as profile


@pytest.mark.parametrize(("claim_id", "outcome"), [("XM-T1-COMP", "refuted"), ("XM-T1-COMP-REP", "holds")])
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome)


@pytest.mark.parametrize(
    ("certificate", "accepted"),
    [
        (profile.profile_loss(2, "1", "1996/1000", supports="refuted"), True),
        (profile.profile_loss(2, "1", "2", supports="refuted"), False),
        (profile.profile_loss(1, "1", "998/1000", supports="refuted"), False),  # one item stays within eps
        (profile.profile_budget(50, "1", "1/1000000", "249/10"), True),
        (profile.profile_budget(50, "1", "1/1000000", "248/10"), False),
        (profile.profile_budget(2, "1", "1/1000000", "2"), False),
    ],
)
def test_how_tight_the_budgets_are(certificate, accepted):
    assert (objections(certificate) == "") == accepted


def test_bounded_range_on_an_enumerated_mechanism():
    """Renyi divergences of random exponential mechanisms stay below alpha eps^2 / 8, and exceed half of it."""
    generator = np.random.default_rng(3)
    largest = 0.0
    for _ in range(300):
        eps, size = generator.uniform(0.1, 3), int(generator.integers(2, 6))
        before, after = generator.choice([-1.0, 1.0], (2, size))
        laws = [np.exp(eps * q / 4) / np.exp(eps * q / 4).sum() for q in (before, after)]
        for alpha in (1.01, 2.0, 10.0):
            divergence = math.log((laws[0] ** alpha * laws[1] ** (1 - alpha)).sum()) / (alpha - 1)
            largest = max(largest, divergence / (alpha * eps**2 / 8))
    assert 0.5 < largest <= 1
