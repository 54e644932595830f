"""dp-accounting's events as claims, and simulations of events audited against its accountants."""

import math
import sys
from typing import Any

import numpy as np
import pytest

from dpassay.adapters.dp_accounting import claim_of, from_dp_event
from dpassay.auditors.audit import run_audit
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim

accounting = pytest.importorskip("dp_accounting")

GAUSSIAN, LAPLACE = accounting.GaussianDpEvent(2.0), accounting.LaplaceDpEvent(0.5)
OPTIONS: Any = {"num_samples": 20_000, "failure_probability": 1e-6}


def test_an_event_states_its_own_kind_of_claim():
    assert claim_of(GAUSSIAN) == PrivacyClaim.gaussian(0.5)
    assert claim_of(accounting.SelfComposedDpEvent(GAUSSIAN, 4)) == PrivacyClaim.gaussian(1.0)
    mixed = accounting.ComposedDpEvent([GAUSSIAN, accounting.GaussianDpEvent(1.0)])
    assert claim_of(mixed).parameter == pytest.approx(math.sqrt(1.25))
    assert claim_of(accounting.ZCDpEvent(0.3)) == PrivacyClaim.zcdp(0.3)
    assert claim_of(LAPLACE) == PrivacyClaim(2.0)
    assert claim_of(accounting.RandomizedResponseDpEvent(0.5, 2)).epsilon == pytest.approx(math.log(3))


def test_an_event_at_a_delta():
    claim = claim_of(GAUSSIAN, 1e-5)
    assert claim.delta == 1e-5
    assert claim.epsilon == pytest.approx(PrivacyClaim.gaussian(0.5).epsilon_at(1e-5), rel=1e-3)
    assert claim.epsilon >= PrivacyClaim.gaussian(0.5).epsilon_at(1e-5) * (1 - 1e-9)
    profile: Any = claim_of(GAUSSIAN, [1e-2, 1e-5])
    assert [delta for _, delta in profile.points] == [1e-2, 1e-5]
    assert profile.points[1][0] == claim.epsilon


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (LAPLACE, None),
        (accounting.RandomizedResponseDpEvent(0.2, 2), None),
        (accounting.dp_event.DiscreteLaplaceDpEvent(2.0, 1), None),
        (accounting.GaussianDpEvent(0.5), None),
        (accounting.PoissonSampledDpEvent(0.5, accounting.LaplaceDpEvent(0.25)), None),
    ],
    ids=["laplace", "response", "discrete laplace", "gaussian", "sampled laplace"],
)
def test_a_simulated_event_keeps_its_claim_and_breaks_half_of_it(event, delta):
    mechanism = from_dp_event(event, delta)
    assert run_audit(mechanism, 1, 0, claim=mechanism.claim, **OPTIONS).verdict.outcome == "not refuted"
    half = mechanism.claim.with_parameter(mechanism.claim.parameter / 2)
    assert run_audit(mechanism, 1, 0, claim=half, **OPTIONS).verdict.outcome == "refuted"


def test_composed_events_give_one_column_each():
    event = accounting.ComposedDpEvent([accounting.SelfComposedDpEvent(LAPLACE, 2), GAUSSIAN])
    outputs = from_dp_event(event, 1e-5).function(np.random.default_rng(0), 1, 4000)
    assert outputs.shape == (4000, 3)
    assert np.all(np.abs(outputs.mean(0) - 1) < 5 * np.array([0.71, 0.71, 2.0]) / math.sqrt(4000))


def test_bad_input_gets_one_line():
    for call, message in [
        (lambda: claim_of(3), "needs a dp_accounting DpEvent, got int"),
        (lambda: claim_of(accounting.PoissonSampledDpEvent(0.1, GAUSSIAN)), "no finite epsilon at delta = 0"),
        (lambda: claim_of(GAUSSIAN, 1.0), "delta is 1.0"),
        (lambda: claim_of(accounting.UnsupportedDpEvent()), "no accountant of dp-accounting supports Unsupported"),
        (lambda: from_dp_event(accounting.ZCDpEvent(0.5)), "ZCDpEvent is not simulated"),
        (lambda: from_dp_event(accounting.NoOpDpEvent()), "releases nothing"),
        (lambda: from_dp_event(LAPLACE).function(np.random.default_rng(0), 7, 2), "datasets 0 and 1, got 7"),
    ]:
        with pytest.raises(InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InvalidInput, match=r"dp-accounting is not installed: pip install 'dpassay\[dp-accounting\]'"):
        claim_of(LAPLACE)
