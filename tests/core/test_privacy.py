"""Claims as values: constructors, texts, JSON, the constraints they put on one event, bad input."""

import json
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim

CLAIMS = [
    PrivacyClaim(1.0),
    PrivacyClaim(0.5, 1e-5),
    PrivacyClaim.gaussian(1.0),
    PrivacyClaim.zcdp(0.5),
    PrivacyClaim.renyi(2, 1.0),
    PrivacyClaim.profile([(0.1, 0.3), (1.0, 1e-3)]),
]


@pytest.mark.parametrize(
    ("claim", "text", "parameter", "name"),
    [
        (PrivacyClaim(1.0), "1-DP", 1.0, "epsilon"),
        (PrivacyClaim(1.0, 1e-5), "(1, 1e-05)-DP", 1.0, "epsilon"),
        (PrivacyClaim.gaussian(0.7), "0.7-GDP", 0.7, "mu"),
        (PrivacyClaim.zcdp(0.5), "0.5-zCDP", 0.5, "rho"),
        (PrivacyClaim.renyi(4, 1.5), "(4, 1.5)-Renyi-DP", 1.5, "renyi_epsilon"),
        (PrivacyClaim.profile([(2, 0.0), (1, 0.1)]), "(1, 0.1)-DP and (2, 0)-DP", 1.0, "multiplier"),
    ],
)
def test_text_and_parameter(claim, text, parameter, name):
    assert (str(claim), claim.parameter, claim.parameter_name) == (text, parameter, name)
    assert claim.to_json()["text"] == text


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_claims_are_plain_values(claim):
    twin = claim.with_parameter(claim.parameter)
    assert twin == claim
    assert hash(twin) == hash(claim)
    assert pickle.loads(pickle.dumps(claim)) == claim
    assert claim.with_parameter(2 * claim.parameter) != claim
    assert json.loads(json.dumps(claim.to_json()))["kind"] == claim.kind


def test_kinds_differ_and_relations_are_shown():
    relation = NeighboringRelation.parse("replace_one:entry")
    assert len(set(CLAIMS)) == len(CLAIMS)
    assert str(PrivacyClaim.zcdp(1, relation)) == "1-zCDP (replace_one:entry)"
    assert PrivacyClaim.gaussian(1, relation).relation == relation
    assert PrivacyClaim.gaussian(1.0) != PrivacyClaim.zcdp(1.0)
    assert PrivacyClaim(math.inf).to_json()["epsilon"] == "inf"


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_nulls_are_nested_and_follow_the_curve(claim):
    parameters = claim.parameter * np.array([1.0, 0.2, 3.0, 0.0, 1.7])
    log_slopes, offsets = claim.nulls(parameters)
    assert log_slopes.shape == offsets.shape
    assert log_slopes.shape[1] == parameters.size
    order = np.argsort(parameters)
    assert np.all(np.diff(log_slopes[:, order]) >= 0)
    assert np.all(np.diff(offsets[:, order]) >= 0)
    for slope, offset in zip(log_slopes[:, 0], offsets[:, 0], strict=True):
        assert claim.delta_at(slope) <= offset * (1 + 1e-9)
        assert 0 <= offset < 1


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_a_gaussian_keeps_its_claims_on_every_event(mu):
    cuts = np.linspace(-8, 8 + mu, 4001)
    p, q = stats.norm.sf(cuts, mu), stats.norm.sf(cuts)
    for claim in (
        PrivacyClaim.gaussian(mu),
        PrivacyClaim.zcdp(mu**2 / 2),
        PrivacyClaim.renyi(1.5, 1.5 * mu**2 / 2),
        PrivacyClaim.renyi(8, 8 * mu**2 / 2),
    ):
        assert excess(claim, p, q) <= 0


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_a_gaussian_breaks_a_claim_that_is_5_percent_too_low(mu):
    cuts = np.linspace(-8, 8 + mu, 4001)
    p, q = stats.norm.sf(cuts, mu), stats.norm.sf(cuts)
    assert excess(PrivacyClaim.gaussian(0.95 * mu), p, q) > 0


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0, 32.0])
def test_randomized_response_breaks_a_renyi_claim_that_is_5_percent_too_low(order):
    q = 1 / (1 + math.e)
    p = 1 - q
    tight = math.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)
    assert excess(PrivacyClaim.renyi(order, tight), p, q) <= 0
    assert excess(PrivacyClaim.renyi(order, 0.95 * tight), p, q) > 0


def test_randomized_response_breaks_a_concentrated_claim_that_is_5_percent_too_low():
    q = 1 / (1 + math.e)
    tight = math.tanh(0.5)  # the Kullback-Leibler divergence: the order 1 decides
    assert excess(PrivacyClaim.zcdp(tight * (1 + 1e-9)), 1 - q, q) <= 0
    assert excess(PrivacyClaim.zcdp(0.95 * tight), 1 - q, q) > 0


def test_a_pure_claim_and_its_profile_say_the_same_of_an_event():
    claim, profile = PrivacyClaim(1.0, 0.01), PrivacyClaim.profile([(1.0, 0.01)])
    np.testing.assert_array_equal(claim.nulls([0.5, 1.0]), profile.nulls([0.5, 1.0]))
    assert claim.delta_at(0.3) == profile.delta_at(0.3)


def excess(claim, p, q):
    """The most by which events with these probabilities break a claim's constraints."""
    log_slopes, offsets = claim.nulls(np.array([claim.parameter]))
    return float((np.asarray(p) - np.exp(log_slopes) * q - offsets).max())


def test_delta_at_and_epsilon_at_are_inverse():
    claim = PrivacyClaim.gaussian(1.0)
    assert claim.delta_at(1.0) == pytest.approx(0.12693673750664397, rel=1e-9)
    assert claim.epsilon_at(0.12693673750664397) == pytest.approx(1.0, abs=1e-6)
    assert claim.epsilon_at(1e-5) == pytest.approx(4.3771780, abs=1e-6)
    assert claim.epsilon_at(0.0) == math.inf
    assert PrivacyClaim(2.0).epsilon_at(0.0) == pytest.approx(2.0, abs=1e-6)
    assert PrivacyClaim(2.0, 1e-3).epsilon_at(1e-4) == math.inf
    assert PrivacyClaim.gaussian(0.0).epsilon_at(0.0) == 0
    assert claim.delta_at(np.array([0.0, 1.0])).shape == (2,)
    assert claim.delta_at(1.0, parameter=2.0) == PrivacyClaim.gaussian(2.0).delta_at(1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PrivacyClaim(-1.0), "epsilon is -1.0; it must be a number >= 0"),
        (lambda: PrivacyClaim(math.nan), "epsilon is nan"),
        (lambda: PrivacyClaim("1"), "epsilon is 1; it must be a number"),  # type: ignore[arg-type]
        (lambda: PrivacyClaim(None), "epsilon is None"),  # type: ignore[arg-type]
        (lambda: PrivacyClaim(1.0, 1.0), r"delta is 1.0; it must be a probability in \[0, 1\)"),
        (lambda: PrivacyClaim(1.0, -0.1), "delta is -0.1"),
        (lambda: PrivacyClaim(1.0, math.nan), "delta is nan"),
        (lambda: PrivacyClaim.gaussian(-0.5), "mu is -0.5"),
        (lambda: PrivacyClaim.gaussian(math.inf), "mu is infinite; it must be finite"),
        (lambda: PrivacyClaim.zcdp(math.nan), "rho is nan"),
        (lambda: PrivacyClaim.renyi(1, 1.0), "order is 1; it must be a finite number above 1"),
        (lambda: PrivacyClaim.renyi(math.inf, 1.0), "order is inf"),
        (lambda: PrivacyClaim.renyi(2, -1.0), "epsilon is -1.0"),
        (lambda: PrivacyClaim.profile([]), "at least one point"),
        (lambda: PrivacyClaim.profile([(1.0, 1.5)]), "delta of a profile's point is 1.5"),
        (lambda: PrivacyClaim.profile([(-1.0, 0.5)]), "epsilon of a profile's point is -1.0"),
        (lambda: PrivacyClaim.profile([1.0]), "pairs"),  # type: ignore[list-item]
        (lambda: PrivacyClaim.profile("nonsense"), "pairs"),  # type: ignore[arg-type]
        (lambda: PrivacyClaim(1.0).epsilon_at(1.0), "delta is 1.0"),
    ],
)
def test_bad_claims_get_one_line(make, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_epsilon_may_be_zero():
    log_slopes, offsets = PrivacyClaim(0.0).nulls([0.0])
    assert (log_slopes.tolist(), offsets.tolist()) == ([[0.0]], [[0.0]])
    assert PrivacyClaim.gaussian(0).delta_at(0.0) == 0
