"""A pair's own sensitivity in the weights: when it is private, and what breaks the proof."""

import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import smooth_sensitivity_selection as smooth


def test_decider():
    claim = find_claim("XM-T2-MAX-REP")
    assert claim is not None
    judged = judge(claim, Context(data=synthetic()))
    assert judged.verdict.outcome == "holds", judged.verdict.explanation
    assert set(judged.concluded) <= {"holds", "part of holds", "note"}


def ratio_and_parts(centered, rate, largest):
    """s / S, s, and the bound on the local sensitivity without smoothing."""
    size = (centered**2).sum(axis=0).min() / largest**2
    terms = [min(2, 2 / (size - t - 1)) if size - t > 1 else 2 for t in range(math.ceil(size) + 1)]
    bound = max(math.expm1(rate), *(math.exp(-rate * t) * term for t, term in enumerate(terms)))
    cosine = centered.prod(axis=1).sum() / np.sqrt((centered**2).sum(axis=0).prod())
    return cosine / bound, cosine, terms[0]


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_the_ratio_moves_by_at_most_two(rate):
    generator = np.random.default_rng(11)
    moved = []
    for _ in range(400):
        centered = generator.uniform(-2, 2, (int(generator.integers(4, 60)), 2))
        centered[0] = generator.choice([-2.0, 2.0], 2)
        before, after = (ratio_and_parts(rows, rate, 2.0) for rows in (centered, centered[1:]))
        assert abs(before[1] - after[1]) <= before[2] + 1e-12
        moved.append(abs(before[0] - after[0]))
    assert 0.01 < max(moved) <= 2


@pytest.mark.parametrize(("bound", "accepted"), [("513/10000", True), ("512/10000", False), ("1/10", False)])
def test_the_bound_of_one_hundred_users(bound, accepted):
    assert (objections(smooth.smooth_bound_instance(100, "1/20", bound)) == "") == accepted
