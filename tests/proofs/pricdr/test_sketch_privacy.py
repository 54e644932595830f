"""Verdicts on PriCDR's privacy theorems, their certificates, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.pricdr import sketch_composition as composition
from dpassay.proofs.pricdr import sketch_privacy as privacy
from dpassay.proofs.pricdr import sparse_sketch as sparse

OUTCOMES = {
    "CD-B1": "holds",
    "CD-CENTRE": "holds",
    "CD-COMP": "refuted",
    "CD-DEF": "vacuous",
    "CD-HAD": "refuted",
    "CD-HAD-REL": "refuted",
    "CD-ISO": "refuted",
    "CD-SJLT": "refuted",
    "CD-SJLT-REL": "refuted",
    "CD-SJLT-REP": "holds",
    "CD-SUBG": "holds",
    "CD-T51": "refuted",
    "CD-T51-DET": "holds",
    "CD-T51-QUAD": "holds",
    "CD-T51-W": "holds",
    "CD-T52": "refuted",
    "CD-T52-REL": "refuted",
    "CD-T52-REP": "holds",
    "CD-WALG": "holds",
    "CD-WLOG": "refuted",
}


@pytest.mark.parametrize(("claim_id", "outcome"), OUTCOMES.items())
def test_deciders(claim_id, outcome):
    claim = find_claim(claim_id)
    assert claim is not None
    judged = judge(claim, Context(data=synthetic(), quick=True))
    assert judged.verdict.outcome == outcome
    assert judged.concluded[0] in (outcome, f"part of {outcome}")


def test_row_space_of_random_neighbors():
    """The proof's pair, by floating-point rank: one more user than allowed and the trick is gone."""
    for items, users in ((1, 3), (4, 6), (4, 9)):
        one = np.eye(items, users)
        two = one.copy()
        two[0, -1] = 1
        centered = [matrix - matrix.mean(1, keepdims=True) for matrix in (one, two)]
        assert np.linalg.matrix_rank(centered[0]) == items
        assert np.linalg.matrix_rank(np.vstack(centered)) == items + 1
    square = np.eye(3, 4)  # n = m - 1: all centered rows of users fill the same space
    assert np.linalg.matrix_rank(square - square.mean(1, keepdims=True)) == 3


def test_determinant_bound_is_attained_and_kept():
    generator = np.random.default_rng(3)
    noise = 0.7
    bound = math.exp(math.asinh(1 / (2 * noise)))
    largest = 0.0
    for _ in range(2000):
        matrix = generator.normal(size=(3, 3)) * generator.choice([0.0, 0.3, 2.0])
        other = matrix.copy()
        step = generator.normal(size=3)
        other[0] += step / np.linalg.norm(step)
        dets = [np.linalg.det(m.T @ m + noise**2 * np.eye(3)) for m in (matrix, other)]
        largest = max(largest, math.sqrt(dets[1] / dets[0]))
    assert largest < bound
    root = math.exp(-math.asinh(1 / (2 * noise))) * noise  # the row before the change, along its direction
    attained = math.sqrt(((root + 1) ** 2 + noise**2) / (root**2 + noise**2))
    assert attained == pytest.approx(bound, rel=1e-12)


def test_quadratic_form_fails_rarely():
    """At delta0 = 0.2 the bound is exceeded with probability at most 0.1, and not never."""
    generator = np.random.default_rng(5)
    noise, delta = 2.0, 0.2
    one, two = (noise**2 * np.eye(2) + np.outer(row, row) for row in ((1e4, 0.0), (1e4, 1.0)))
    drawn = generator.multivariate_normal(np.zeros(2), one, size=100_000)
    forms = np.abs(np.einsum("si,ij,sj->s", drawn, np.linalg.inv(one) - np.linalg.inv(two), drawn))
    exceeded = (forms > 2 * (1 / noise + 1 / noise**2) * math.log(4 / delta)).mean()
    assert 0.001 < exceeded < delta / 2


def test_composition_threshold_decides():
    for rows, users in ((100, 924), (400, 16367), (800, 29476)):
        threshold = composition.composition_threshold(rows, users)
        assert composition._eval_total(threshold, rows, users) == pytest.approx(threshold, rel=1e-12)
    assert objections(composition.composition_instance(last_covered="12"))
    assert composition.composition_threshold(10**9, 16367) == pytest.approx(
        (4 - 8**0.5) * math.log(2 * 16367), rel=1e-3
    )


def test_sufficient_noise_has_a_range():
    assert not objections(composition.sufficient_noise_instance("64"))
    assert objections(composition.sufficient_noise_instance("4000"))
    assert objections(composition.sufficient_noise_instance("64", fails=True))


def test_a_smaller_noise_is_rejected():
    certificate = privacy.required_noise_certificate()
    certificate["inputs"]["values"]["w1"] = "66.5"
    assert "the formula is false" in objections(certificate)


def test_hadamard_counts():
    for size in (3, 12, 924):
        assert not objections(sparse.hadamard_instance([size]))
    assert objections(sparse.hadamard_instance([64]))  # a power of two


@pytest.mark.parametrize("noise", [0.3, 5.0])
def test_lines_of_the_sparse_sketch(noise):
    """The lifted rows that the proof writes down are those of a singular value decomposition."""
    for matrix, axis in (([[1, 0], [0, 0]], False), ([[1, 0], [1, 0]], True)):
        rows = np.array(matrix) - np.mean(matrix, axis=1, keepdims=True)
        left, values, right = np.linalg.svd(rows)
        lifted = (left * np.sqrt(values**2 + noise**2)) @ right
        for signs in ((1, 1), (1, -1)):
            x, y = signs @ lifted
            assert (min(abs(x + y), abs(x - y)) < 1e-9) == axis


def test_short_masks():
    assert sparse.short_mask_probability(2, 2, 0.5) == pytest.approx(0.5)
    assert sparse.short_mask_probability(3, 9, 0.25) == pytest.approx(1 - 0.75**3)
    assert sparse.short_mask_probability(9471, 1574, 0.9) < 1e-9
