"""Tails of the sketch's norm: verdicts, exact chi-squares, simulated weighted sums, and what breaks the proofs."""

import math

import numpy as np
import pytest
import scipy.stats

from dpassay.core.claims import Context
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.notation import formula, proof
from dpassay.proofs.pricdr import sketch_concentration as concentration
from dpassay.replay import Rejected, check

ALPHA = 1e-6


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [
        ("CD-T54", "refuted"),
        ("CD-T54-REP", "holds"),
        ("CD-PC1", "refuted"),
        ("CD-INT", "refuted"),
        ("CD-LOW", "refuted"),
    ],
)
def test_verdicts_are_certified(claim_id, outcome):
    judged = judge(select(None, [claim_id])[0], Context(synthetic()))
    assert judged.verdict.outcome == outcome
    assert {outcome, f"part of {outcome}"} & set(judged.concluded)


def upper_limit(failures, num_samples):
    """One-sided Clopper-Pearson limit of a failure probability."""
    return scipy.stats.beta.ppf(1 - ALPHA, failures + 1, num_samples - failures)


@pytest.mark.parametrize("weights", [(1.0,), (5.0, 1.0, 1.0), (1.0,) * 6])
def test_the_bound_covers_simulated_norms(weights):
    rng = np.random.default_rng(2)
    rows, g, num_samples = 40, 0.5, 40_000
    total = (rng.chisquare(rows, (num_samples, len(weights))) * weights).sum(1) / (rows * sum(weights))
    failures = int((abs(total - 1) > g).sum())
    bound = 2 * math.exp(-rows * g**2 / 8)
    assert upper_limit(failures, num_samples) < bound


@pytest.mark.parametrize(("rows", "g"), [(2, 1.0), (10, 0.5), (100, 0.25), (400, 0.1), (400, 1.0)])
def test_the_bound_lies_above_the_exact_tail(rows, g):
    exact = scipy.stats.chi2.sf(rows * (1 + g), rows) + scipy.stats.chi2.cdf(rows * (1 - g), rows)
    assert exact <= 2 * math.exp(-rows * g**2 / 8)


def test_the_constant_eight_has_little_slack():
    """At g = 1 the exponent of a chi-square variable tends to r / 6.52, so that 6 in place of 8 is false."""
    rows = 2000
    assert scipy.stats.chi2.sf(2 * rows, rows) > 2 * math.exp(-rows / 6)


def test_rank_one_matrices_attain_the_tail_whatever_the_number_of_users():
    """Algorithm 1 on two kinds of users with opposite tastes: one chi-square variable for 4 and for 40 users."""
    rng = np.random.default_rng(8)
    rows, g, w, num_samples = 4, 0.5, 0.01, 20_000
    exact = scipy.stats.chi2.sf(rows * (1 + g), rows) + scipy.stats.chi2.cdf(rows * (1 - g), rows)
    for num_users in (4, 40):
        ratings = np.zeros((50, num_users))
        ratings[:, : num_users // 2] = 1
        centered = ratings - ratings.mean(axis=1, keepdims=True)
        values = np.linalg.svd(centered, compute_uv=False)[:num_users]
        assert (values[1:] < 1e-12).all()
        weights = values**2 + w**2
        norm = (rng.chisquare(rows, (num_samples, num_users)) * weights).sum(1) / rows
        failed = int((abs(norm / weights.sum() - 1) > g).sum())
        assert scipy.stats.binomtest(failed, num_samples, exact).pvalue > ALPHA
        assert failed / num_samples > 2 * rows ** (-2.0 * num_users)


def test_one_nonzero_entry_of_a_sparse_matrix_decides():
    """Proposition C.1 at n = r = m = 8 and q = 1/64, with H and D as in Definition 3.7."""
    rng = np.random.default_rng(4)
    rows, num_samples = 8, 20_000
    hadamard = scipy.linalg.hadamard(8) / math.sqrt(8)
    signs = rng.choice([-1.0, 1.0], (num_samples, 8))
    unit = np.zeros(8)
    unit[2] = 1
    flat = np.einsum("ij,sj->si", hadamard, signs * unit)
    mask = rng.random((num_samples, rows, 8)) < 1 / 64
    sparse = mask * rng.standard_normal(mask.shape) * 8
    norm = (np.einsum("sri,si->sr", sparse, flat) ** 2).sum(1) / rows
    exceeded = int((norm >= 2).sum())
    assert scipy.stats.binomtest(exceeded, num_samples, 1 / 25, alternative="less").pvalue > ALPHA
    assert scipy.stats.binomtest(exceeded, num_samples, 1 / rows**2, alternative="greater").pvalue < ALPHA


def test_a_larger_constant_has_another_slope():
    """g - ln(1+g) >= g^2/3 is false at g = 1; its slope is not the one that is shown to be nonnegative."""
    (step,) = [
        s
        for s in concentration.concentration_proof()["inputs"]["steps"]
        if s["name"].startswith("slope of g - ln(1+g)")
    ]
    mutated = {**step, "antiderivative": formula("g - ln(1 + g) - g ** 2 / 3")}
    assert "not an identity" in objections(proof("false", mutated))
    assert 1 - math.log(2) < 1 / 3


@pytest.mark.parametrize(
    ("instance", "name", "value"),
    [
        (concentration.task_instance, "m", 15),
        (concentration.task_instance, "C", 1000),
        (concentration.intersection_instance, "F", "1/10"),
        (concentration.lower_tail_instance, "g", "9/10"),
        (concentration.sparse_tail_instance, "r", 4),
    ],
)
def test_changed_numbers_invalidate_the_certificates(instance, name, value):
    inputs = instance()["inputs"]
    check("formula", inputs)
    with pytest.raises(Rejected, match=r"false|undecided"):
        check("formula", {**inputs, "values": {**inputs["values"], name: value}})


def test_a_smaller_exponent_is_refused_at_an_instance():
    inputs = concentration.chernoff_instances(((400, "1/10"),))["inputs"]
    check("formula", inputs)
    with pytest.raises(Rejected, match="false"):
        check("formula", {**inputs, "formulas": [formula("1 - chi2_cdf(800, 400) <= 2 * exp(-(400 / 6))")]})
