"""Upper bounds from dp-accounting against closed forms, and the picture of lower bound, exact value and claim."""

import json
import math
import sys

import pytest

import dpassay as dp
from dpassay.auditors.upper_bounds import sandwich, upper_bound, upper_delta
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.records import plain

accounting = pytest.importorskip("dp_accounting")

GAUSSIAN, LAPLACE = accounting.GaussianDpEvent(1.0), accounting.LaplaceDpEvent(1.0)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (LAPLACE, 1.0),
        (accounting.SelfComposedDpEvent(accounting.LaplaceDpEvent(10.0), 30), 3.0),
        (accounting.ComposedDpEvent([LAPLACE, accounting.LaplaceDpEvent(2.0)]), 1.5),
        (accounting.dp_event.DiscreteLaplaceDpEvent(0.7, 2), 1.4),
        (accounting.RandomizedResponseDpEvent(0.25, 2), math.log(7)),
        (accounting.PoissonSampledDpEvent(0.1, LAPLACE), math.log1p(0.1 * math.expm1(1.0))),
        (accounting.NoOpDpEvent(), 0.0),
        (accounting.NonPrivateDpEvent(), math.inf),
        (GAUSSIAN, math.inf),
        (accounting.LaplaceDpEvent(0.0), math.inf),
    ],
    ids=str,
)
def test_without_delta(event, expected):
    assert upper_bound(event) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_with_delta(delta):
    exact = PrivacyClaim.gaussian(1.0).epsilon_at(delta)
    assert exact * (1 - 1e-9) <= upper_bound(GAUSSIAN, delta) <= exact * (1 + 1e-3)
    laplace = 1 + 2 * math.log1p(-delta)  # the trade-off curve of one Laplace
    assert laplace - 1e-9 <= upper_bound(LAPLACE, delta) <= laplace + 2e-4


def test_delta_of_an_epsilon():
    assert upper_delta(GAUSSIAN, 1.0) == pytest.approx(PrivacyClaim.gaussian(1.0).delta_at(1.0), rel=1e-4)
    assert upper_delta(LAPLACE, 1.0) <= 1e-12
    assert upper_delta(LAPLACE, 0.5) == pytest.approx(-math.expm1(-0.25), rel=1e-3)


def test_a_replaced_record_counts_twice():
    doubled = upper_bound(GAUSSIAN, 1e-3, relation="replace_one")
    assert doubled == pytest.approx(PrivacyClaim.gaussian(2.0).epsilon_at(1e-3), rel=1e-3)


def test_repeated_responses_count_each_time():
    response = accounting.RandomizedResponseDpEvent(0.5, 2)
    for count in (1, 10, 2000):
        event = accounting.SelfComposedDpEvent(response, count)
        certified = dp.check_accounting(
            event, claim=PrivacyClaim(1.0, 1e-9), relation="replace_one", accountants=False
        ).epsilon_lower
        assert certified is not None
        assert certified <= upper_bound(event, 1e-9) <= count * math.log(3) * (1 + 1e-9)
    mixed = accounting.SelfComposedDpEvent(accounting.ComposedDpEvent([response, GAUSSIAN]), 3)
    assert upper_bound(mixed, 1e-9) > upper_bound(accounting.SelfComposedDpEvent(response, 3), 1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: upper_bound(3), "needs a dp_accounting DpEvent, got int"),
        (lambda: upper_bound(GAUSSIAN, 1.0), "delta is 1.0"),
        (lambda: upper_bound(GAUSSIAN, math.nan), "delta is nan"),
        (lambda: upper_delta(GAUSSIAN, -1.0), "epsilon is -1.0"),
        (lambda: upper_bound(GAUSSIAN, relation="none"), "relation 'none': use one of add_or_remove_one, replace_one"),
        (lambda: upper_bound(accounting.UnsupportedDpEvent()), "no accountant of dp-accounting supports"),
        (lambda: sandwich(PrivacyClaim(1.0), 0.5, curves={"middle": [(0, 0)]}), "no curve is called 'middle'"),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(InvalidInput, match=r"pip install 'dpassay\[dp-accounting\]'"):
        upper_bound(GAUSSIAN)


def test_the_sandwich_without_and_with_curves():
    claim = PrivacyClaim.gaussian(1.0)
    assert sandwich(claim, 0.8) == {"lower": 0.8, "exact": None, "upper": None, "claim": 1.0}
    upper = [(epsilon, upper_delta(GAUSSIAN, epsilon)) for epsilon in (2.0, 0.0, 1.0)]
    picture = sandwich(claim, 0.8, 1.0, curves={"lower": [(0.0, 0.3)], "upper": upper})
    shown, proved, stated = picture["plot"].series
    assert (shown.label, proved.label, stated.label) == ("shown, at least", "proved, at most", "claim 1-GDP")
    assert proved.x == [0.0, 1.0, 2.0]
    assert stated.x[-1] == 2.0
    assert shown.y[0] <= stated.y[0]
    assert all(p >= claim.delta_at(e) * (1 - 1e-6) for e, p in zip(proved.x, proved.y, strict=True))
    json.dumps(plain(picture))
