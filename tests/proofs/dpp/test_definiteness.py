"""Definiteness and privacy: both directions of Theorem 3.1, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import definiteness
from dpassay.proofs.dpp.determinants import subsets


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [
        ("DP-INF", "holds"),
        ("DP-T31", "holds"),
        ("DP-T31-GEN", "refuted"),
        ("DP-PD-UNIF", "refuted"),
        ("DP-T31-REP", "holds"),
    ],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


def test_with_jitter_the_witness_fails():
    assert not objections(definiteness.one_item_witness())
    assert "possible under dataset2" in objections(definiteness.one_item_witness("1/1000"))


def test_every_singular_database_has_the_neighbor():
    """Independent of the proof: a reader of one item makes a set possible, for random binary databases."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        rows = rng.integers(0, 2, (2, 3))
        kernel = rows.T @ rows
        assert round(np.linalg.det(kernel)) == 0
        impossible = [y for y in subsets(3) if y and round(np.linalg.det(kernel[np.ix_(y, y)])) == 0]
        added = [kernel + np.outer(e, e) for e in np.eye(3, dtype=int)]
        assert any(round(np.linalg.det(after[np.ix_(y, y)])) > 0 for after in added for y in impossible)


def test_equal_items_are_private_and_singular():
    jitter = 0.5

    def law(count):
        level = jitter + count
        return np.array([1, level, level]) / (1 + 2 * level)

    losses = [np.abs(np.log(law(count + 1) / law(count))).max() for count in range(50)]
    assert 0 < max(losses) <= math.log1p(1 / jitter)
