"""Normalization, marginal kernel and kernels: proofs, the indefinite sigmoid, and what breaks them."""

import numpy as np
import pytest

from dpassay.proofs.dpp import kernels
from dpassay.proofs.dpp.determinants import subsets
from dpassay.proofs.notation import identity, objections, proof


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [("DP-Z", "holds"), ("DP-K", "holds"), ("DP-PSD", "refuted"), ("DP-PSD-REP", "holds")],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


@pytest.mark.parametrize(
    "wrong",
    [
        "1 - 1 / (1 + l) == l / (2 + l)",
        "l11 * l22 - l12 ** 2 + l11 + l22 + 2 == (l11 + 1) * (l22 + 1) - l12 ** 2",  # det(L + I), one too many
        "exp(-g * (x - y) ** 2) == exp(-g * x ** 2) * exp(-g * y ** 2) * exp(g * x * y)",
    ],
)
def test_wrong_identities_are_rejected(wrong):
    assert "not an identity" in objections({"kind": "proof", "inputs": proof("wrong", identity("wrong", wrong))})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a constant adds a multiple of a square", {"dropped": "c >= 0"}),
        ("jitter bounds z'Lz from below", {"conclusion": "A + s * y >= s * y + 1"}),
        ("one more row adds a square", {"dropped": "A >= 0"}),
    ],
)
def test_false_variants_are_not_proved(objections_to_variant, name, change):
    assert "not proved" in objections_to_variant(kernels.kernels_proof(), name, change)


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
