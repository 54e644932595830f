"""A DP-SGD step of Opacus with a canary, audited against its accountant."""

from typing import Any

import numpy as np
import pytest

from dpassay.adapters.opacus import from_opacus
from dpassay.auditors.audit import run_audit
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim

pytest.importorskip("opacus")
torch = pytest.importorskip("torch")

OTHERS = (np.array([[0.1, -0.2], [0.3, 0.1]]), np.array([[0.05], [0.1]]))
CANARY = (np.array([[1.0, 0.0]]), np.array([[-40.0]]))  # its clipped gradient has norm 1 along the first weight
WITH = tuple(np.concatenate(parts) for parts in zip(OTHERS, CANARY, strict=True))
DIRECTION = np.array([1.0, 0.0])
OPTIONS: Any = {"num_samples": 2000, "failure_probability": 1e-6}


def linear():
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    return model


def step(**options):
    return from_opacus(linear(), noise_multiplier=0.5, max_grad_norm=1.0, canary=DIRECTION, **options)


def test_the_canary_shifts_the_projection_by_the_clipping_norm():
    rng = np.random.default_rng(0)
    mechanism = from_opacus(linear(), noise_multiplier=1e-6, max_grad_norm=1.0)
    with_it, without = mechanism.function(rng, WITH), mechanism.function(rng, OTHERS)
    assert with_it.shape == (2,)
    np.testing.assert_allclose(with_it - without, DIRECTION, atol=1e-3)


def test_runs_repeat():
    mechanism = step()
    first = mechanism.function(np.random.default_rng(1), WITH)
    assert first == mechanism.function(np.random.default_rng(1), WITH)
    assert first != mechanism.function(np.random.default_rng(2), WITH)


def test_a_step_keeps_its_claim_and_breaks_half_of_it():
    mechanism = step()
    assert mechanism.claim == PrivacyClaim.gaussian(2.0)
    assert run_audit(mechanism, WITH, OTHERS, claim=mechanism.claim, **OPTIONS).verdict.outcome == "not refuted"
    half = PrivacyClaim.gaussian(1.0)
    assert run_audit(mechanism, WITH, OTHERS, claim=half, **OPTIONS).verdict.outcome == "refuted"


def test_noise_that_is_half_as_large_is_refuted():
    broken = step()
    louder = from_opacus(linear(), noise_multiplier=1.0, max_grad_norm=1.0)
    assert run_audit(broken, WITH, OTHERS, claim=louder.claim, **OPTIONS).verdict.outcome == "refuted"


def test_the_accountant_states_the_claim_of_a_sampled_step():
    sampled = step(sample_rate=0.5, delta=1e-3)
    full = step(delta=1e-3)
    assert sampled.claim.delta == full.claim.delta == 1e-3
    assert 0 < sampled.claim.epsilon < full.claim.epsilon
    assert full.claim.epsilon >= PrivacyClaim.gaussian(2.0).epsilon_at(1e-3)
    empty = (np.zeros((0, 2)), np.zeros((0, 1)))
    assert np.isfinite(sampled.function(np.random.default_rng(0), empty))


def test_bad_input_gets_one_line():
    for call, message in [
        (lambda: step(sample_rate=0.5), "give the delta"),
        (lambda: step(sample_rate=0.0), r"sample_rate is 0.0; it must be in \(0, 1\]"),
        (lambda: step(delta=1.0), "delta is 1.0"),
        (lambda: step(delta=1e-3, accountant="none"), "accountant 'none' refuses"),
        (lambda: from_opacus(linear(), noise_multiplier=0, max_grad_norm=1.0), "noise_multiplier is 0"),
        (lambda: from_opacus(linear(), noise_multiplier=1, max_grad_norm=1, canary=[1.0]), "needs 2 numbers"),
        (
            lambda: from_opacus(torch.nn.BatchNorm1d(2), noise_multiplier=1, max_grad_norm=1),
            "Opacus refuses the model",
        ),
    ]:
        with pytest.raises(InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
