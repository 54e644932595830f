"""Phase 1 and its printed bounds: proofs, counterexamples, slack, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.proofs.dpp import eigenvalues
from dpassay.proofs.notation import identity, objections, proof


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


MUTATIONS = [
    (eigenvalues.kernel_sensitivity_proof, "an item adds at most 1", {"dropped": "x * (1 - x) == 0"}),
    (eigenvalues.kernel_sensitivity_proof, "the Frobenius norm for a replaced subject", {"dropped": "t >= p + q - n"}),
    (
        eigenvalues.kernel_sensitivity_proof,
        "the Frobenius norm for a replaced subject",
        {"conclusion": "p ** 2 - 2 * t ** 2 + q ** 2 <= 99 / 100 * n ** 2"},
    ),
    (eigenvalues.score_sensitivity_proof, "one score moves by at most log(1 + d/s)", {"dropped": "l >= s"}),
    (
        eigenvalues.score_sensitivity_proof,
        "one score moves by at most log(1 + d/s)",
        {"conclusion": "m <= l * (1 + 99 / 100 * d / s)"},
    ),
    (
        eigenvalues.score_sensitivity_proof,
        "Hoffman-Wielandt for two items: the trace of LL' is at most that of the ordered eigenvalues",
        {"dropped": "f <= m1"},
    ),
    (
        eigenvalues.score_sensitivity_proof,
        "one more item keeps the squared sum below the number of items times the sum of squares",
        {"conclusion": "(A + y) ** 2 <= m * (Q + y ** 2)"},
    ),
    (eigenvalues.worst_case_proof, "a subject added", {"dropped": "x * y == 0"}),
    (
        eigenvalues.worst_case_proof,
        "it is not positive when the entries beside the diagonal are 0",
        {"dropped": "f * g == t * t"},
    ),
    (eigenvalues.phase_one_proof, "heads", {"conclusion": "m / (1 + m) <= 99 / 100 * r * (l / (1 + l))"}),
    (eigenvalues.phase_one_proof, "heads", {"dropped": "m <= r * l"}),
]


@pytest.mark.parametrize(("build", "name", "change"), MUTATIONS)
def test_false_variants_are_not_proved(objections_to_variant, build, name, change):
    assert "not proved" in objections_to_variant(build(), name, change)


@pytest.mark.parametrize(
    "wrong",
    [
        "exp(2 * D * ln(l) / D) / (exp(2 * D * ln(l) / D) + 1) == l / (1 + l)",  # eps = 4 Delta_u
        "(x ** 2 - z ** 2) * (y ** 2 - w ** 2) == (x * y) ** 2 + (z * w) ** 2",
        "n * (D / (s * sqrt(n))) == D / s",
    ],
)
def test_wrong_identities_are_rejected(wrong):
    assert "not an identity" in objections({"kind": "proof", "inputs": proof("wrong", identity("wrong", wrong))})


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
