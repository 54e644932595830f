"""diffprivlib's mechanisms, tools and models, audited against the epsilon they are given."""

from typing import Any

import numpy as np
import pytest

from dpassay.adapters.diffprivlib import from_diffprivlib
from dpassay.auditors.audit import run_audit
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim

diffprivlib = pytest.importorskip("diffprivlib")
mechanisms = diffprivlib.mechanisms

OPTIONS: Any = {"num_samples": 3000, "failure_probability": 1e-6}


@pytest.mark.parametrize(
    ("mechanism", "dataset1", "dataset2"),
    [
        (mechanisms.Laplace(epsilon=2.0, sensitivity=1), 1.0, 0.0),
        (mechanisms.Geometric(epsilon=2.0, sensitivity=1), 1, 0),
        (mechanisms.Binary(epsilon=2.0, value0="no", value1="yes"), "yes", "no"),
        (mechanisms.Gaussian(epsilon=0.9, delta=0.05, sensitivity=1), 1.0, 0.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_mechanism_keeps_its_claim(mechanism, dataset1, dataset2):
    adapted = from_diffprivlib(mechanism)
    assert adapted.claim == PrivacyClaim(mechanism.epsilon, mechanism.delta)
    assert run_audit(adapted, dataset1, dataset2, claim=adapted.claim, **OPTIONS).verdict.outcome == "not refuted"
    if mechanism.delta == 0:
        half = PrivacyClaim(mechanism.epsilon / 2)
        assert run_audit(adapted, dataset1, dataset2, claim=half, **OPTIONS).verdict.outcome == "refuted"


def test_runs_repeat_and_the_given_object_is_left_alone():
    mechanism = mechanisms.Laplace(epsilon=1.0, sensitivity=1, random_state=3)
    adapted = from_diffprivlib(mechanism)
    first = adapted.function(np.random.default_rng(5), 0.0)
    assert first == adapted.function(np.random.default_rng(5), 0.0)
    assert first != adapted.function(np.random.default_rng(6), 0.0)
    assert mechanism.randomise(0.0) == mechanisms.Laplace(epsilon=1.0, sensitivity=1, random_state=3).randomise(0.0)


def test_a_function_keeps_its_epsilon_and_breaks_half_of_it():
    mean = from_diffprivlib(diffprivlib.tools.mean, epsilon=2.0, bounds=(0.0, 1.0))
    ones, other = np.ones(3), np.array([1.0, 1.0, 0.0])
    assert mean.claim == PrivacyClaim(2.0)
    assert run_audit(mean, ones, other, claim=mean.claim, **OPTIONS).verdict.outcome == "not refuted"
    assert run_audit(mean, ones, other, claim=PrivacyClaim(1.0), **OPTIONS).verdict.outcome == "refuted"


def test_a_model_releases_what_output_says():
    model = diffprivlib.models.LinearRegression(epsilon=1.0, bounds_X=(0.0, 4.0), bounds_y=(0.0, 1.0))
    adapted = from_diffprivlib(model, output=lambda fitted: fitted.coef_)
    data = (np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    first = adapted.function(np.random.default_rng(1), data)
    assert first.shape == (1,)
    assert first == adapted.function(np.random.default_rng(1), data)
    assert first != adapted.function(np.random.default_rng(2), data)
    assert adapted.claim == PrivacyClaim(1.0)


def test_bad_input_gets_one_line():
    for call, message in [
        (lambda: from_diffprivlib(3), "needs a mechanism, a function or a model, got 3"),
        (lambda: from_diffprivlib(mechanisms.Laplace), "got 'Laplace'"),
        (lambda: from_diffprivlib(diffprivlib.tools.mean), "needs epsilon="),
        (lambda: from_diffprivlib(diffprivlib.models.GaussianNB()), "output=lambda model"),
        (lambda: from_diffprivlib(mechanisms.Laplace(epsilon=1, sensitivity=1), bounds=1), "takes no options here"),
    ]:
        with pytest.raises(InvalidInput, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)
