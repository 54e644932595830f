"""Phase 1 and its printed bounds: proofs, counterexamples, slack, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.dpp import eigenvalues


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [
        ("DP-EXP", "holds"),
        ("DP-DL", "holds"),
        ("DP-L2", "refuted"),
        ("DP-DU", "holds"),
        ("DP-DU-OP", "refuted"),
        ("DP-DU-REP", "holds"),
        ("DP-WORST", "refuted"),
        ("DP-EPS", "holds"),
    ],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome, quick=True)


@pytest.mark.parametrize(("items", "refuted"), [(1, False), (2, True), (100, True)])
def test_the_operator_norm_fails_from_two_items_on(items, refuted):
    assert (objections(eigenvalues.operator_norm_instance(items)) == "") == refuted


@pytest.mark.parametrize("kind", ["one subject", "any symmetric change"])
def test_the_frobenius_bound_on_random_kernels(kind):
    """Independent of the proof, and how far from tight the bound is for one subject."""
    rng = np.random.default_rng(4)
    jitter, slack = 0.3, []
    for _ in range(50):
        items = int(rng.integers(1, 6))
        rows = rng.normal(size=(3, items))
        change = np.outer(x := rng.normal(size=items), x) if kind == "one subject" else np.diag(rng.random(items))
        one = np.linalg.eigvalsh(rows.T @ rows + jitter * np.eye(items))
        two = np.linalg.eigvalsh(rows.T @ rows + jitter * np.eye(items) + change)
        moved = np.abs(np.log(two / one)).sum()
        bound = items * math.log1p(np.linalg.norm(change) / (jitter * math.sqrt(items)))
        assert moved <= bound + 1e-9
        if kind == "one subject":
            assert moved <= math.log1p(np.trace(change) / jitter) + 1e-9
            slack.append(bound / moved)
    assert kind != "one subject" or min(slack) > 1


def test_binary_rows_change_the_kernel_by_at_most_n():
    rows = np.array([[int(bit) for bit in f"{code:04b}"] for code in range(16)])
    changes = [np.outer(x, x) - np.outer(z, z) for x in rows for z in rows]
    for norm in (2, "fro"):
        assert max(np.linalg.norm(change, norm) for change in changes) == pytest.approx(4)
