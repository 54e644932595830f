"""Lemma 5.5 and the operation counts: verdicts, exact small cases, and what breaks the proofs."""

import math
from itertools import product

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import select
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.notation import formula, proof
from dpassay.proofs.pricdr import flattening


@pytest.mark.parametrize(("claim_id", "outcome"), [("CD-L55", "holds"), ("CD-CPLX", "holds")])
def test_verdicts_are_certified(claim_id, outcome):
    judged = judge(select(None, [claim_id])[0], Context(synthetic()))
    assert judged.verdict.outcome == outcome
    assert set(judged.concluded) <= {outcome, f"part of {outcome}", "note"}


@pytest.mark.parametrize("num_items", [5, 8, 12])
def test_all_signs_of_small_cases(num_items):
    """Every D, for n that are and are not powers of two; only the size of H's entries matters."""
    rng = np.random.default_rng(num_items)
    entries = rng.choice([-1.0, 1.0], (num_items, num_items)) / math.sqrt(num_items)
    vectors = np.vstack([np.eye(num_items)[0], np.ones(num_items), rng.standard_normal((2, num_items))])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    signs = np.array(list(product([-1.0, 1.0], repeat=num_items)))
    largest = np.abs(np.einsum("ij,sj,vj->svi", entries, signs, vectors, optimize=True)).max(axis=2)
    for a in (0.3, 0.6, 0.9):
        assert ((largest > a).mean(axis=0) <= 2 * num_items * math.exp(-(a**2) * num_items / 2)).all()
    threshold = math.sqrt(2 * math.log(40 * len(vectors) * num_items) / num_items)
    assert (largest.max(axis=1) > threshold).mean() <= 1 / 20


def test_the_printed_moment_bound_is_below_the_true_one():
    t, num_items = 0.25, 4
    true = math.cosh(t * math.sqrt(num_items))  # of a unit vector with one entry
    assert math.exp(t**2 * num_items) / 2 < 1 < true <= math.exp(t**2 * num_items / 2)


def test_a_smaller_exponent_has_another_slope():
    """cosh x <= e^(x^2/3) is false near 0."""
    (step,) = [s for s in flattening.flattening_proof()["inputs"]["steps"] if s["name"] == "slope of x^2/2 - ln cosh x"]
    mutated = {**step, "antiderivative": formula("x ** 2 / 3 - ln((exp(x) + exp(-x)) / 2)")}
    assert "not an identity" in objections(proof("false", mutated))
    assert math.cosh(0.5) > math.exp(0.25 / 3)
