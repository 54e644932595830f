"""OpenDP's measurements, audited against their own privacy maps."""

import math
import sys
from typing import Any

import numpy as np
import pytest

from dpassay.adapters.opendp import from_opendp
from dpassay.auditors.audit import run_audit
from dpassay.auditors.stability import check_stability
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim

opendp = pytest.importorskip("opendp.prelude")
opendp.enable_features("contrib")

REALS = (opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float))
INTEGERS = (opendp.atom_domain(T=int), opendp.absolute_distance(T=int))
OPTIONS: Any = {"num_samples": 3000, "failure_probability": 1e-6}


def test_claims_are_the_privacy_maps():
    laplace = opendp.m.make_laplace(*REALS, scale=2.0)
    gaussian = opendp.m.make_gaussian(*REALS, scale=1.0)
    approximate = opendp.c.make_zCDP_to_approxDP(gaussian)
    assert from_opendp(laplace, 1.0).claim == PrivacyClaim(0.5)
    assert from_opendp(laplace, 3.0).claim == PrivacyClaim(1.5)
    assert from_opendp(gaussian, 1.0).claim == PrivacyClaim.zcdp(0.5)
    assert from_opendp(opendp.c.make_fix_delta(approximate, 1e-6), 1.0).claim.delta == 1e-6
    profile: Any = from_opendp(approximate, 1.0).claim
    assert profile.kind == "profile"
    for epsilon, delta in profile.points:  # OpenDP's conversion is never better than ours
        assert PrivacyClaim.zcdp(0.5).delta_at(epsilon) <= delta * (1 + 1e-6)
    response = opendp.m.make_randomized_response_bool(prob=0.75)
    assert from_opendp(response).claim.epsilon == pytest.approx(math.log(3))


def test_composed_blocks_draw_what_single_calls_draw():
    mechanism = from_opendp(opendp.m.make_laplace(*INTEGERS, scale=1.0))
    assert mechanism.batched
    outputs = mechanism.function(np.random.default_rng(0), 5, 3000)
    assert outputs.shape == (3000,)
    assert outputs.dtype == np.int64
    decay = math.exp(-1)
    for distance in range(3):
        p = (1 - decay) / (1 + decay) * decay**distance
        counted = np.count_nonzero(outputs == 5 + distance)
        assert abs(counted - 3000 * p) < 5 * math.sqrt(3000 * p * (1 - p))  # alpha 6e-7


def test_what_does_not_compose_is_called_one_by_one():
    gaussian = opendp.m.make_gaussian(*REALS, scale=1.0)
    mechanism = from_opendp(opendp.c.make_zCDP_to_approxDP(gaussian), 1.0)
    assert not mechanism.batched
    assert isinstance(mechanism.function(np.random.default_rng(0), 0.0), float)


def test_outputs_of_other_kinds_stay_as_they_are():
    words = from_opendp(opendp.m.make_randomized_response(["a", "b"], prob=0.75))
    assert set(words.function(np.random.default_rng(0), "a", 50)) == {"a", "b"}
    vector = opendp.m.make_laplace(
        opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.l1_distance(T=float), scale=1.0
    )
    outputs = from_opendp(vector, 1.0).function(np.random.default_rng(0), [0.0, 1.0], 3)
    assert [len(output) for output in outputs] == [2, 2, 2]


@pytest.mark.parametrize(
    ("measurement", "dataset1", "dataset2", "share"),
    [
        (opendp.m.make_laplace(*REALS, scale=0.5), 0.0, 1.0, 1 / 2),
        (opendp.m.make_randomized_response_bool(prob=0.9), True, False, 1 / 2),
        # Events of a Gaussian show at most about two thirds of its rho, whatever their number.
        (opendp.m.make_gaussian(*REALS, scale=1.0), 0.0, 1.0, 1 / 4),
    ],
    ids=["laplace", "randomized response", "gaussian"],
)
def test_a_measurement_keeps_its_map_and_breaks_a_part_of_it(measurement, dataset1, dataset2, share):
    mechanism = from_opendp(measurement, 1.0 if isinstance(dataset2, float) else 1)
    sound = run_audit(mechanism, dataset1, dataset2, claim=mechanism.claim, **OPTIONS)
    assert sound.verdict.outcome == "not refuted"
    part = mechanism.claim.with_parameter(share * mechanism.claim.parameter)
    assert run_audit(mechanism, dataset1, dataset2, claim=part, **OPTIONS).verdict.outcome == "refuted"


def test_bad_input_gets_one_line():
    laplace = opendp.m.make_laplace(*REALS, scale=1.0)
    for arguments, message in [
        ((lambda x: x,), "from_opendp needs an opendp Measurement, got function"),
        ((laplace, "far"), "the measurement's privacy map refuses d_in='far'"),
        ((laplace, -1.0), "refuses d_in=-1.0"),
    ]:
        with pytest.raises(InvalidInput, match=message) as caught:
            from_opendp(*arguments)
        assert "\n" not in str(caught.value)


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "opendp.mod")
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(InvalidInput, match=r"opendp is not installed: pip install 'dpassay\[opendp\]'"):
        from_opendp(None)


def test_known_unstable_transformations_are_refuted_by_default():
    """opendp issues 2923 and 2925, open in the version at hand."""
    low = 2.0**50
    values = opendp.vector_domain(opendp.atom_domain(bounds=(low, low + 1), nan=False), size=1024)
    deviations = opendp.t.make_sum_of_squared_deviations(values, opendp.symmetric_distance())
    counts = opendp.vector_domain(opendp.atom_domain(T=int), size=2)
    tree = opendp.t.make_b_ary_tree(counts, opendp.l1_distance(T=int), leaf_count=2, branching_factor=2)
    for transformation, claimed, observed in ((deviations, 41, 50), (tree, 2, 2**32)):
        witness: Any = check_stability(transformation, time_limit=60).witness
        assert witness.d_out <= claimed
        assert observed <= witness.distance_out <= 2**32
        assert len(str(witness)) < 1000
        assert witness.certificate().result["supports"] == "refuted"


def test_stable_transformations_are_not_refuted():
    whole = opendp.vector_domain(opendp.atom_domain(bounds=(0, 10)))
    sized = opendp.vector_domain(opendp.atom_domain(bounds=(0.0, 10.0)), size=20)
    symmetric = opendp.symmetric_distance()
    for transformation in (
        opendp.t.make_count(whole, symmetric),
        opendp.t.make_sum(whole, symmetric),
        opendp.t.make_sum(sized, symmetric),
        opendp.t.make_clamp(opendp.vector_domain(opendp.atom_domain(T=int)), symmetric, bounds=(0, 10)),
    ):
        verdict = check_stability(transformation, max_examples=60)
        assert verdict.outcome == "not refuted"
        below = check_stability(transformation, d_out=transformation.map(2) * 0.4, max_examples=60)
        assert below.outcome == "refuted"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: opendp.m.make_randomized_response_bool(prob=0.75), "audit it with"),
        (
            lambda: opendp.t.make_count_by(
                opendp.vector_domain(opendp.atom_domain(T=int)), opendp.symmetric_distance()
            ),
            "is not known here",
        ),
    ],
)
def test_what_stability_does_not_judge_is_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        check_stability(make())
