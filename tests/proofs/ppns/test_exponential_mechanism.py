"""The exponential mechanism, Laplace noise and the repaired PPNS: proofs, tight instances, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs.decisions import objections
from dpassay.proofs.ppns import exponential_mechanism as exponential
from dpassay.replay import Rejected, check


@pytest.mark.parametrize(
    ("claim_id", "outcome"), [("PP-EM-REP", "holds"), ("PP-DP-REP", "holds"), ("PP-SAR", "refuted")]
)
def test_deciders(claim_id, outcome):
    claim = find_claim(claim_id)
    assert claim is not None
    judged = judge(claim, Context(data=synthetic()))
    assert judged.verdict.outcome == outcome
    # The cost of the repair, a reproduction, supports nothing by itself.
    assert set(judged.concluded) <= {outcome, f"part of {outcome}", "note"}


@pytest.mark.parametrize(
    ("certificate", "accepted"),
    [
        (exponential.all_scores_instance(100, 2, "1/2", "49/100"), True),
        (exponential.all_scores_instance(100, 2, "1/2", "1/2"), False),
        (exponential.all_scores_instance(10_000, 2, "1/2", "4999/10000"), True),
        (exponential.one_score_instance(2, "1/2", "99/400"), True),
        (exponential.one_score_instance(2, "1/2", "1/4"), False),
        (exponential.one_score_instance(5, "1/2", "49/200"), True),
    ],
)
def test_how_tight_the_budget_is(certificate, accepted):
    assert (objections(certificate) == "") == accepted


def test_all_scores_moving_spend_more_than_one_score_may():
    """The budget of one moving score, half of the other, is exceeded when all scores move."""
    certificate = exponential.all_scores_instance(100, 2, "1/2", "1/4")
    assert not objections(certificate)


@pytest.mark.parametrize("changed", ["target", "candidate"])
def test_instances_fail_with_a_smaller_bound_or_budget(changed):
    certificate = exponential.floor_cosine_instance(changed)
    assert not objections(certificate)
    inputs = certificate["inputs"]
    halved = {**inputs, "values": {**inputs["values"], "R": 3}}  # ratings up to 4 and 5 exceed this R
    with pytest.raises(Rejected, match="false"):
        check("formula", halved)


def test_instance_agrees_with_an_independent_computation():
    """The loss on these ratings is positive and far below eps: the bound on a fixed dataset is loose."""
    ratings = np.array([[5, 3, 4], [4, 1, 0], [2, 0, 5], [0, 4, 4]], float)
    neighbor = ratings.copy()
    neighbor[0, 0] = 0

    def law(data):
        norms = np.maximum(np.linalg.norm(data, axis=1), 10)
        scores = data[1:] @ data[0] / (norms[1:] * norms[0])
        weights = np.exp(scores / (2 * 2 * 0.25))
        total = weights.sum()
        return {
            (i, j): weights[i] * weights[j] / total * (1 / (total - weights[i]) + 1 / (total - weights[j]))
            for i in range(3)
            for j in range(i + 1, 3)
        }

    one, other = law(ratings), law(neighbor)
    loss = max(abs(math.log(one[key] / other[key])) for key in one)
    assert 0 < loss < 1
    tightened = exponential.floor_cosine_instance("target")["inputs"]
    for budget, accepted in ((loss * 1.001, True), (loss * 0.999, False)):
        formulas = [f for f in tightened["formulas"] if "exp" in str(f)]
        # "allowed" replaces eps in the bound only, so that the weights stay as they are
        replaced = [[f[0], f[1], ["*", ["exp", "allowed"], f[2][2]]] for f in formulas]
        inputs = {**tightened, "formulas": replaced, "values": {**tightened["values"], "allowed": f"{budget:.9f}"}}
        assert (objections({"kind": "formula", "inputs": inputs}) == "") == accepted
