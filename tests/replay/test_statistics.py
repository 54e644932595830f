"""Confidence bounds against statsmodels, and their coverage by exact summation."""

from fractions import Fraction
from math import comb
from typing import Any

import pytest
from flint import fmpq
from statsmodels.stats.proportion import proportion_confint

from dpassay.replay import Rejected, check
from dpassay.replay.numbers import precision
from dpassay.replay.statistics import clopper_pearson_lower, clopper_pearson_upper

COUNT: dict[str, Any] = {
    "successes": 60,
    "trials": 100,
    "failure_probability": "1/20",
    "condition": [">", "lower", "49/100"],
    "supports": "holds",
}


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (10, 10), (3, 10), (4, 943), (500_100, 1_000_000)])
def test_bounds_agree_with_statsmodels(successes: int, trials: int) -> None:
    low, high = proportion_confint(successes, trials, alpha=0.01, method="beta")
    with precision():
        lower = clopper_pearson_lower(successes, trials, fmpq(1, 200))
        upper = clopper_pearson_upper(successes, trials, fmpq(1, 200))
    assert float(lower.p) / float(lower.q) == pytest.approx(low, abs=2e-12)
    assert float(upper.p) / float(upper.q) == pytest.approx(high, abs=2e-12)


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(1, 50), Fraction(99, 100)])
def test_the_lower_bound_covers(probability: Fraction) -> None:
    trials, failure = 12, fmpq(1, 20)
    with precision():
        bounds = [clopper_pearson_lower(successes, trials, failure) for successes in range(trials + 1)]
    missed = sum(
        comb(trials, x) * probability**x * (1 - probability) ** (trials - x)
        for x, bound in enumerate(bounds)
        if Fraction(int(bound.p), int(bound.q)) > probability
    )
    assert missed <= Fraction(1, 20)


def test_the_failure_probability_is_split() -> None:
    def lower(**change: Any) -> Fraction:
        inputs = {**COUNT, "condition": [">=", "lower", "0"], **change}
        return Fraction(check("statistics", inputs)["bounds"][0]["lower"])

    assert lower(sides="lower") > lower() > lower(num_looks=2)
    assert lower(num_looks=5) == lower(failure_probability="1/100")
    assert lower(sides="lower", failure_probability="1/40") == lower()
    both = {"a": {"successes": 60, "trials": 100}, "b": {"successes": 1, "trials": 100}}
    inputs = {name: COUNT[name] for name in ("failure_probability", "supports")}
    result = check("statistics", {**inputs, "counts": both, "condition": [">", "lower_a", "upper_b"]})
    assert Fraction(result["bounds"][0]["lower_a"]) == lower(num_looks=2)


def test_the_data_decide_the_outcome() -> None:
    rule = {"holds": [">", "lower", "1/2"], "refuted": ["<", "upper", "1/2"]}
    inputs = {name: COUNT[name] for name in ("trials", "failure_probability")}
    for successes, outcome in ((90, "holds"), (10, "refuted"), (50, "open")):
        assert check("statistics", {**inputs, "successes": successes, "outcomes": rule})["supports"] == outcome
    with pytest.raises(Rejected, match="at once"):
        check("statistics", {**inputs, "successes": 90, "outcomes": {**rule, "refuted": [">", "upper", "1/2"]}})


@pytest.mark.parametrize(
    "change",
    [
        {"condition": [">", "lower", "51/100"]},
        {"successes": 58},
        {"successes": 101},
        {"successes": -1},
        {"successes": "1/2"},
        {"trials": 0},
        {"failure_probability": "0"},
        {"failure_probability": "1/1000"},
        {"num_looks": 0},
        {"num_looks": 100},
        {"sides": "upper"},
        {"outcomes": {}},
        {"values": {"lower": "1"}},
    ],
)
def test_falsified_statistics_are_rejected(change: dict[str, Any]) -> None:
    check("statistics", COUNT)
    with pytest.raises(Rejected):
        check("statistics", {**COUNT, **change})
