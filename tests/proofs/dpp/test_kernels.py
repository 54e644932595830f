"""Normalization, marginal kernel and kernels: proofs, the indefinite sigmoid, and what breaks them."""

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import kernels
from dpassay.proofs.dpp.determinants import subsets


@pytest.mark.parametrize(
    ("claim_id", "outcome"), [("DP-Z", "holds"), ("DP-K", "holds"), ("DP-PSD", "refuted"), ("DP-PSD-REP", "holds")]
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


@pytest.mark.parametrize(("constant", "items", "refuted"), [(0, (1, 2), True), (1, (1, 2), True), (0, (1, 1), False)])
def test_where_the_sigmoid_is_indefinite(constant, items, refuted):
    x = np.array(items, float)
    eigenvalues = np.linalg.eigvalsh(np.tanh(np.outer(x, x) + constant))
    assert (eigenvalues[0] < -1e-9) == refuted
    assert (objections(kernels.sigmoid_instance(constant, *items)) == "") == refuted


def test_normalization_and_inclusion_by_numpy():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 4))
    kernel = rows.T @ rows
    weights = {y: np.linalg.det(kernel[np.ix_(y, y)]) if y else 1.0 for y in subsets(4)}
    total = sum(weights.values())
    assert total == pytest.approx(np.linalg.det(kernel + np.eye(4)))
    marginal = kernel @ np.linalg.inv(kernel + np.eye(4))
    for items in subsets(4):
        included = sum(weight for y, weight in weights.items() if set(items) <= set(y)) / total
        minor = np.linalg.det(marginal[np.ix_(items, items)]) if items else 1.0
        assert included == pytest.approx(minor)
