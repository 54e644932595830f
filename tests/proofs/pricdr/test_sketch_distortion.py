"""Second moments of the Gaussian sketch: verdicts, simulation against the exact formula, and what breaks the proofs."""

import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.mechanisms.jlt import algorithm_noise
from dpassay.proofs.pricdr import sketch_distortion as distortion
from dpassay.replay import Rejected, check

Z_LIMIT = 5.0  # two-sided alpha below 1e-6


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [("CD-P53", "refuted"), ("CD-P53-REP", "holds"), ("CD-ER", "refuted"), ("CD-KEEP", "refuted")],
)
def test_verdicts_are_certified(claim_id, outcome):
    judged = judge(select(None, [claim_id])[0], Context(synthetic()))
    assert judged.verdict.outcome == outcome
    assert set(judged.concluded) <= {outcome, f"part of {outcome}", "note"}


def lifted(ratings, w):
    """Algorithm 1, lines 3 to 6, with at least as many items as users; returns the centered matrix and R1."""
    centered = ratings - ratings.mean(axis=1, keepdims=True)
    left, values, right = np.linalg.svd(centered, full_matrices=False)
    return centered, left * np.sqrt(values**2 + w**2) @ right


def squared_errors(centered, lifted_matrix, rows, num_samples, rng):
    """||R~'R~ - R'R|| squared, Frobenius and spectral, of independent sketches."""
    sketch = rng.standard_normal((num_samples, rows, len(lifted_matrix))) @ lifted_matrix / math.sqrt(rows)
    error = np.swapaxes(sketch, 1, 2) @ sketch - centered.T @ centered
    return (error**2).sum((1, 2)), np.linalg.norm(error, 2, axis=(1, 2)) ** 2


@pytest.mark.parametrize(("w", "rows"), [(2.0, 1), (2.0, 3), (5.0, 8)])
def test_exact_formula_on_simulated_sketches(w, rows):
    rng = np.random.default_rng(11)
    centered, lifted_matrix = lifted(rng.integers(0, 2, (7, 4)).astype(float), w)
    num_users = centered.shape[1]
    scale = centered.T @ centered + w**2 * np.eye(num_users)
    exact = w**4 * num_users + (np.trace(scale) ** 2 + np.trace(scale @ scale)) / rows
    frobenius, spectral = squared_errors(centered, lifted_matrix, rows, 100_000, rng)
    error = frobenius.std() / math.sqrt(len(frobenius))
    assert abs(frobenius.mean() - exact) < Z_LIMIT * error
    # The test can tell the formula from its nearest mistakes.
    for wrong in (
        exact - w**4 * num_users + w**2 * num_users,
        exact - np.trace(scale @ scale) / rows,
        w**4 * num_users + (np.trace(scale) ** 2 + 2 * np.trace(scale @ scale)) / rows,
    ):
        assert abs(frobenius.mean() - wrong) > Z_LIMIT * error
    # The lower bound that refutes the printed proposition, and the spectral norm below the Frobenius norm.
    assert w**4 * (1 + 2 / rows) < spectral.mean() + Z_LIMIT * spectral.std() / math.sqrt(len(spectral))
    assert (spectral <= frobenius * (1 + 1e-12)).all()


def test_the_mean_needs_the_root_in_the_factor():
    rng = np.random.default_rng(3)
    matrix, rows = rng.standard_normal((5, 3)), 4
    sketch = rng.standard_normal((50_000, rows, 5)) @ matrix / math.sqrt(rows)
    mean = (np.swapaxes(sketch, 1, 2) @ sketch).mean(axis=0)
    np.testing.assert_allclose(mean, matrix.T @ matrix, atol=0.15)
    assert np.abs(mean / rows - matrix.T @ matrix).max() > 1


def test_sketch_changes_the_singular_vectors():
    rng = np.random.default_rng(5)
    matrix, rows = np.diag([3.0, 2.0]), 6
    sketch = rng.standard_normal((20_000, rows, 2)) @ matrix / math.sqrt(rows)
    entry = (np.swapaxes(sketch, 1, 2) @ sketch)[:, 0, 1]
    square = entry**2
    assert abs(square.mean() - 9 * 4 / rows) < Z_LIMIT * square.std() / math.sqrt(len(square))


def test_paper_w():
    """By hand for eps = 1, r = 400, m = 16,367: sqrt(12800 ln 32734) ln(26187200)."""
    assert distortion.paper_w(1, 400, 16367) == pytest.approx(math.sqrt(12800 * 10.396171) * 17.0807, rel=1e-4)
    assert distortion.paper_w(1, 400, 16367) == pytest.approx(algorithm_noise(1.0, 1 / 16367, 400), rel=1e-12)


def test_the_instance_is_tied_to_its_numbers():
    inputs = distortion.task_instance()["inputs"]
    assert len(check("formula", inputs)["formulas"]) == 13
    with pytest.raises(Rejected, match="false"):  # so many users that w^2 m is the larger one
        check("formula", {**inputs, "values": {**inputs["values"], "m": 10**12}})
