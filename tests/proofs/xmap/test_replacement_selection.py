"""Private replacement selection: proofs, counterexamples, and what breaks them."""

import math

import numpy as np
import pytest

from dpassay.proofs.decisions import objections
from dpassay.proofs.xmap import replacement_selection as replacement


@pytest.mark.parametrize(
    ("claim_id", "outcome"),
    [("XM-T1-S", "holds"), ("XM-T1-REP", "holds"), ("XM-GS-DEF", "refuted"), ("XM-T1-I", "refuted")],
)
def test_deciders(claim_id, outcome, judged_alike):
    judged_alike(claim_id, outcome)


@pytest.mark.parametrize(
    ("certificate", "accepted"),
    [
        (replacement.replacement_loss(1000, "1", "998/1000"), True),
        (replacement.replacement_loss(1000, "1", "999/1000"), False),
        (replacement.replacement_loss(2, "1", "51/100"), False),  # two candidates: half of eps
        (replacement.replacement_loss(10, "1", "4/5"), True),
    ],
)
def test_how_tight_the_budgets_are(certificate, accepted):
    assert (objections(certificate) == "") == accepted


@pytest.mark.parametrize(
    "change",
    [
        {"GS": "57/1000"},  # below the largest change of t_j
        {"eps": "2"},  # Q stays above 3, but the statement compares with e^(eps/2) at eps = 1
        {"r_3_3": 5},
    ],
)
def test_the_local_sensitivity_certificate_binds_its_numbers(change):
    certificate = replacement.local_sensitivity_fails()
    certificate["inputs"]["values"] |= change
    if change == {"eps": "2"}:
        assert not objections(certificate)  # 3 > e still: the counterexample is stronger at a larger eps
    else:
        assert "false" in objections(certificate)


def test_a_true_bound_on_all_candidates_repairs_the_step():
    """With GS = 2/3, the largest change of either candidate, Q is back below e^(1/2)."""
    certificate = replacement.local_sensitivity_fails()
    certificate["inputs"]["values"]["GS"] = "2/3"
    assert "false" in objections(certificate)
    scores = np.array([4 / math.sqrt(18), 1 / 3]), np.array([1.0, 1.0])
    sums = [np.exp(score / (2 * 2 / 3)).sum() for score in scores]
    assert sums[1] / sums[0] < math.exp(1 / 2)


def test_the_vanishing_candidate_needs_its_only_co_rater():
    certificate = replacement.candidate_vanishes()
    assert not objections(certificate)
    data = replacement.LAST_CORATER
    assert data.raters(3) == [3]
    kept = type(data)((*data.rows[:2], (4, 4, 4, 2, 1)))
    assert "false" not in objections(kept.certificate((1, 3), f"{kept.square(3, beside=1)} > 0", supports="refuted"))
