"""Equation (3) in all its readings, and the floor-norm cosine: proofs, counterexamples, and what breaks them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.proofs.ppns import similarity_sensitivity as sensitivity
from dpassay.replay import Rejected, check

PRINTED = [(norms, "printed") for norms in sensitivity.NORMS]
ALL = [(norms, form) for norms in sensitivity.NORMS for form in sensitivity.FORMS]


def judge(claim_id):
    claim = find_claim(claim_id)
    assert claim is not None
    return claim.judge(Context(data=synthetic()))


def find(change, cases):
    example = sensitivity.find_counterexample(change, cases)
    assert example is not None
    return example


def test_decide_rs():
    verdict = judge("PP-RS")
    assert verdict.outcome == "refuted"
    (table,) = [table for evidence in verdict.evidence for table in evidence.tables]
    outcomes = {(change, norms, form): outcome for change, norms, form, outcome, *_ in table.rows}
    assert len(outcomes) == 12
    assert {case for case, outcome in outcomes.items() if outcome == "holds"} == {
        ("removed", "co-rated", "dot product"),
        ("removed", "full", "dot product"),
    }
    assert "open" not in outcomes.values()


def test_decide_rs_repaired():
    assert judge("PP-RS-REP").outcome == "holds"


@pytest.mark.parametrize(
    ("change", "cases", "num_items"), [("removed", PRINTED, 3), ("changed", ALL, 4), ("added", ALL, 4)]
)
def test_counterexamples_have_the_fewest_items_and_are_certified(change, cases, num_items):
    example = find(change, cases)
    assert len(example.pair.first) == num_items
    certificate = sensitivity.certificate(example)
    assert len(check(certificate["kind"], certificate["inputs"])["formulas"]) == len(cases)


def test_no_small_counterexample_to_the_proved_form():
    assert sensitivity.find_counterexample("removed", [("co-rated", "dot product")]) is None
    assert sensitivity.find_counterexample("removed", [("full", "dot product")]) is None


def test_certificate_agrees_with_an_independent_computation():
    """The first user's ratings (3, 1, 1) against (1, 5, 5): by hand, 13 / sqrt(11 * 51) and 10 / sqrt(2 * 50)."""
    example = find("removed", PRINTED)
    assert example.pair == sensitivity.Pair((3, 1, 1), (1, 5, 5))
    moved = 1 - 13 / math.sqrt(11 * 51)
    bound = max(3 * 1 / (math.sqrt(2) * math.sqrt(50)), 1 * 5 / (math.sqrt(10) * math.sqrt(26)))
    assert example.values["co-rated", "printed"] == pytest.approx((moved, bound), rel=1e-12)
    full = abs(10 / math.sqrt(2 * 51) - 13 / math.sqrt(11 * 51))
    assert example.values["full", "printed"] == pytest.approx((full, bound), rel=1e-12)


def test_a_changed_rating_invalidates_the_certificate():
    certificate = sensitivity.certificate(find("removed", PRINTED))
    certificate["inputs"]["values"]["i1"] = 1
    with pytest.raises(Rejected, match="false"):
        check("formula", certificate["inputs"])


def test_the_flipped_inequality_is_rejected():
    certificate = sensitivity.certificate(find("added", ALL))
    certificate["inputs"]["formulas"] = [["<=", *comparison[1:]] for comparison in certificate["inputs"]["formulas"]]
    with pytest.raises(Rejected, match="false"):
        check("formula", certificate["inputs"])


def test_floor_cosine_bound_on_random_vectors_and_its_tightness():
    rng = np.random.default_rng(7)
    num_trials, num_items, largest_rating, floor = 20_000, 4, 5.0, 6.0
    first, second = (
        rng.uniform(0, largest_rating, (num_trials, num_items)) * (rng.random((num_trials, num_items)) < 0.6)
        for _ in range(2)
    )
    other = first.copy()
    other[:, 0] = rng.uniform(0, largest_rating, num_trials)

    def score(a, b):
        norms = np.maximum(np.linalg.norm(a, axis=1), floor) * np.maximum(np.linalg.norm(b, axis=1), floor)
        return (a * b).sum(1) / norms

    bound = largest_rating * np.abs(other - first).sum(1) / floor**2
    assert (np.abs(score(first, second) - score(other, second)) <= np.minimum(1, bound) + 1e-12).all()
    single = np.array([[largest_rating]])
    assert score(single, single)[0] - score(0 * single, single)[0] == pytest.approx(float(Fraction(25, 36)))
