"""`check_accounting` and `check_noise`: public bugs found, random compositions near, wrong formulas named."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpassay as dp
from dpassay.accounting import accountants, checking
from dpassay.accounting.accountants import Answer
from dpassay.accounting.checking import check_accounting, check_noise
from dpassay.accounting.events import dp_event, event_tree
from dpassay.benchmarks.accounting import random_case
from dpassay.core.claims import Verdict
from dpassay.core.errors import InvalidInput

LAPLACE = {"kind": "laplace", "noise_multiplier": 5.0}


def enclosure(verdict: Verdict) -> tuple[float, float]:
    assert verdict.epsilon_lower is not None
    assert verdict.epsilon_upper is not None
    return verdict.epsilon_lower, verdict.epsilon_upper


def test_the_sensitivity_of_a_replacement_is_counted() -> None:
    """Issue 378 of google/differential-privacy: an accountant says 4.73 where 9.997 is lost."""
    accounting = pytest.importorskip("dp_accounting")
    event, claim = accounting.GaussianDpEvent(1.0), dp.PrivacyClaim(4.73, 1e-5)
    verdict = dp.check_accounting(event, claim=claim, relation="replace_one")
    assert verdict.outcome == "refuted"
    assert verdict.epsilon_lower == pytest.approx(9.99726, abs=1e-5)
    assert verdict.epsilon_upper == pytest.approx(9.99726, abs=1e-5)
    (warning,) = verdict.warnings
    assert warning.startswith("RdpAccountant is wrong: 4.729 is below the certified lower bound 9.997")
    assert dp.check_accounting(event, claim=claim, relation="add_or_remove_one:user").outcome == "holds"


def test_training_is_enclosed_beside_every_accountant() -> None:
    accounting = pytest.importorskip("dp_accounting")
    step = accounting.PoissonSampledDpEvent(0.01, accounting.GaussianDpEvent(1.0))
    event = accounting.SelfComposedDpEvent(step, 1000)
    verdict = check_accounting(event, claim=dp.PrivacyClaim(2.0, 1e-5), relation="add_or_remove_one")
    assert verdict.outcome == "holds"
    assert verdict.warnings == ()
    low, high = enclosure(verdict)
    assert 1.81 < low < 1.82825 < high < 1.01 * low
    (table,) = verdict.evidence[0].tables
    assert [(row[0], row[2].split()[0]) for row in table.rows] == [
        ("PLDAccountant", "within"),
        ("RdpAccountant", "loose"),
    ]


@pytest.mark.parametrize("seed", range(12))
def test_random_compositions_are_within_one_percent(seed: int) -> None:
    tree, relation, delta = random_case(np.random.default_rng(seed))
    claim = dp.PrivacyClaim(1.0, delta)
    verdict = check_accounting(tree, claim=claim, relation=relation, accountants=False)
    low, high = enclosure(verdict)
    assert low <= high <= 1.01 * low + 1e-4


def test_claims_on_both_sides_of_the_bounds_are_told_apart(tmp_path: Path) -> None:
    tree = {"kind": "self_composed", "event": LAPLACE, "count": 30}

    def judged(epsilon: float, **more: Any) -> Verdict:
        return check_accounting(tree, claim=dp.PrivacyClaim(epsilon, 1e-5), relation="replace_one", **more)

    first = judged(3.0)
    low, high = enclosure(first)
    assert judged(low * 0.999).outcome == "refuted"
    assert judged(high * 1.001, certificate=tmp_path / "kept.json").outcome == "holds"
    assert dp.replay(tmp_path / "kept.json").outcome == "holds"
    assert Verdict.from_json(first.to_json()).epsilon_upper == first.epsilon_upper
    assert "nats proved" in str(first)


def test_a_claim_between_rough_bounds_is_refined_until_it_is_decided() -> None:
    tree = {"kind": "self_composed", "event": LAPLACE, "count": 30}
    rough = check_accounting(tree, claim=dp.PrivacyClaim(9.0, 1e-5), relation="add_or_remove_one", accuracy=0.2)
    low, high = enclosure(rough)
    middle = dp.PrivacyClaim(low + 0.3 * (high - low), 1e-5)
    found = check_accounting(tree, claim=middle, relation="add_or_remove_one", accuracy=0.2)
    assert found.outcome in ("holds", "refuted")


@pytest.mark.parametrize(
    ("epsilon", "judgement", "wrong"),
    [
        (0.99, "wrong: 0.99 is below the certified lower bound 1 by 0.0101 times itself", True),
        (0.0, "wrong: 0 is below the certified lower bound 1", True),
        (1.0, "within the certified bounds", False),
        (1.1, "loose by 0.000%", False),
        (1.21, "loose by 10.000%", False),
        (math.inf, "loose: infinite", False),
    ],
)
def test_accountants_are_judged_by_the_bounds(epsilon: float, judgement: str, wrong: bool) -> None:
    upper = 1.1 if epsilon != 1.1 else 1.1 - 1e-8
    assert accountants._judged("X", epsilon, 1.0, upper) == Answer("X", epsilon, judgement, wrong)


def test_events_survive_the_way_there_and_back() -> None:
    accounting = pytest.importorskip("dp_accounting")
    parts = [
        accounting.GaussianDpEvent(1.5),
        accounting.LaplaceDpEvent(0.3),
        accounting.RandomizedResponseDpEvent(0.25, 4),
        accounting.dp_event.DiscreteLaplaceDpEvent(0.5, 2),
        accounting.NonPrivateDpEvent(),
        accounting.PoissonSampledDpEvent(0.125, accounting.GaussianDpEvent(2.0)),
        accounting.SelfComposedDpEvent(accounting.NoOpDpEvent(), 3),
    ]
    tree = event_tree(accounting.ComposedDpEvent(parts))
    assert event_tree(dp_event(tree)) == tree
    with pytest.raises(InvalidInput, match="SampledWithReplacementDpEvent is not enclosed"):
        event_tree(accounting.SampledWithReplacementDpEvent(10, 2, parts[0]))


def test_without_dp_accounting_the_bounds_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dpassay.accounting.events", "dpassay.accounting.accountants"):
        monkeypatch.setattr(f"{module}.absent", lambda extra: "not installed")
    verdict = check_accounting(LAPLACE, claim=dp.PrivacyClaim(0.2), relation="add_or_remove_one")
    assert verdict.outcome == "holds"
    assert verdict.evidence[0].tables == ()


@pytest.mark.parametrize(
    ("epsilon", "delta", "count", "claimed", "said"),
    [
        (2.0, 0.0, 10, 2 * math.sqrt(20 * math.log(10)), "lacks the term k epsilon (e^epsilon - 1)"),
        (2.0, 0.001, 10, 2 * math.sqrt(20 * math.log(1 / 0.09)), "lacks the term k epsilon (e^epsilon - 1)"),
        (0.1, 0.0, 100, 1.0, "is no theorem"),
    ],
)
def test_missing_terms_of_advanced_composition_are_named(
    epsilon: float, delta: float, count: int, claimed: float, said: str
) -> None:
    tree = {"kind": "self_composed", "event": {"kind": "private", "epsilon": epsilon, "delta": delta}, "count": count}
    verdict = check_accounting(tree, claim=dp.PrivacyClaim(claimed, 0.1), relation="replace_one")
    assert verdict.outcome == "refuted"
    assert said in verdict.explanation


def test_the_whole_of_advanced_composition_holds() -> None:
    tree = {"kind": "self_composed", "event": {"kind": "private", "epsilon": 0.5, "delta": 0.0001}, "count": 20}
    total = 0.5 * math.sqrt(40 * math.log(1 / 0.098)) + 20 * 0.5 * math.expm1(0.5)
    assert check_accounting(tree, claim=dp.PrivacyClaim(total, 0.1), relation="replace_one").outcome == "holds"


CLASSICAL = math.sqrt(2 * math.log(1.25e5))
NOISE: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "gaussian", "scale": CLASSICAL / 0.5, "epsilon": 0.5, "delta": 1e-5}, "holds", ""),
    ({"kind": "gaussian", "scale": CLASSICAL / 40, "epsilon": 40.0, "delta": 1e-5}, "refuted", "epsilon below 1 alone"),
    ({"kind": "gaussian", "scale": CLASSICAL / 2, "epsilon": 0.5, "delta": 1e-5}, "refuted", ""),
    (
        {
            "kind": "gaussian",
            "scale": 3 * CLASSICAL / math.sqrt(2) / 0.5,
            "sensitivity": 3,
            "epsilon": 0.5,
            "delta": 1e-5,
        },
        "refuted",
        "lacks the 2",
    ),
    (
        {"kind": "discrete_gaussian", "scale": CLASSICAL / math.sqrt(2) / 0.5, "epsilon": 0.5, "delta": 1e-5},
        "refuted",
        "lacks",
    ),
    ({"kind": "laplace", "scale": 1 / 0.7, "epsilon": 0.7}, "holds", ""),
    ({"kind": "laplace", "scale": 0.3, "epsilon": 0.3}, "refuted", "reciprocal"),
    ({"kind": "laplace", "scale": 0.0, "epsilon": 0.3}, "refuted", ""),
    ({"kind": "geometric", "scale": 2.0, "sensitivity": 3, "epsilon": 1.5}, "holds", ""),
    ({"kind": "geometric", "scale": 2.0, "sensitivity": 3, "epsilon": 1.49}, "refuted", ""),
    ({"kind": "staircase", "scale": 1.0, "epsilon": 1.0}, "holds", ""),
    ({"kind": "staircase", "scale": 1.0, "sensitivity": 2.0, "width": 1.0, "epsilon": 1.0}, "refuted", ""),
    ({"kind": "randomized_response", "probability": 0.75, "num_values": 2, "epsilon": math.log(3)}, "holds", ""),
    ({"kind": "randomized_response", "probability": 0.75, "num_values": 3, "epsilon": math.log(3)}, "refuted", ""),
    ({"kind": "local_hashing", "probability": 0.75, "num_values": 2, "epsilon": math.log(3)}, "holds", ""),
    ({"kind": "local_hashing", "probability": 0.8, "num_values": 2, "epsilon": math.log(3)}, "refuted", ""),
]


@pytest.mark.parametrize(("given", "outcome", "named"), NOISE)
def test_noise_is_judged_and_its_formula_named(given: dict[str, Any], outcome: str, named: str) -> None:
    verdict = check_noise(**given)
    assert verdict.outcome == outcome
    assert named in verdict.explanation
    assert (verdict.warnings, verdict.witness) == ((), None)
    if verdict.repair:
        enough = float(verdict.repair.split()[2])
        assert enough > given["scale"]
        assert check_noise(**{**given, "scale": enough}).outcome == "holds"
        assert check_noise(**{**given, "scale": enough * 0.999}).outcome == "refuted"


def test_the_classical_formula_out_of_its_range_is_named_where_it_happens_to_be_enough() -> None:
    verdict = check_noise("gaussian", scale=CLASSICAL / 4, epsilon=4.0, delta=1e-5)
    assert verdict.outcome == "holds"
    assert "proved for epsilon below 1 alone" in verdict.warnings[0]


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "uniform", "scale": 1.0},
        {"kind": "laplace"},
        {"kind": "laplace", "scale": math.nan},
        {"kind": "laplace", "scale": -1.0},
        {"kind": "laplace", "scale": 1.0, "sensitivity": 0.0},
        {"kind": "laplace", "scale": 1.0, "gamma": 0.5},
        {"kind": "gaussian", "scale": 1.0, "epsilon": math.inf},
        {"kind": "geometric", "scale": 1.0, "sensitivity": 0.5},
        {"kind": "randomized_response", "probability": 0.1, "num_values": 4},
        {"kind": "randomized_response", "probability": 0.9, "num_values": 1},
        {"kind": "staircase", "scale": 1.0, "gamma": 2.0},
        {"kind": "discrete_gaussian", "scale": 1e9},
    ],
)
def test_bad_noise_is_refused_in_one_line(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_noise(**{"epsilon": 1.0, **given})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("event", "claim", "relation"),
    [
        (3, dp.PrivacyClaim(1.0, 1e-5), "replace_one"),
        (LAPLACE, dp.PrivacyClaim(1.0, 1e-5), "replace"),
        (LAPLACE, dp.PrivacyClaim(1.0, 1e-5), None),
        (LAPLACE, dp.PrivacyClaim.gaussian(1.0), "replace_one"),
        (LAPLACE, dp.PrivacyClaim(math.inf, 1e-5), "replace_one"),
        ({"kind": "composed", "events": LAPLACE}, dp.PrivacyClaim(1.0, 1e-5), "replace_one"),
        ({"kind": "laplace", "noise_multiplier": "many"}, dp.PrivacyClaim(1.0, 1e-5), "replace_one"),
        (
            {"kind": "randomized_response", "noise_parameter": 0.5, "num_buckets": 2},
            dp.PrivacyClaim(1.0),
            "add_or_remove_one",
        ),
    ],
)
def test_bad_events_are_refused_in_one_line(event: Any, claim: dp.PrivacyClaim, relation: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_accounting(event, claim=claim, relation=relation)
    assert "\n" not in str(caught.value)


def test_too_fine_a_grid_is_made_coarser(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {"kind": "self_composed", "event": LAPLACE, "count": 30}
    monkeypatch.setattr("dpassay.replay.composition.MAX_POINTS", 300)
    monkeypatch.setattr(checking, "_REFINEMENTS", 2)
    from dpassay.replay import _computed

    _computed.cache_clear()
    verdict = check_accounting(tree, claim=dp.PrivacyClaim(9.0, 1e-5), relation="add_or_remove_one", accountants=False)
    _computed.cache_clear()
    low, high = enclosure(verdict)
    assert low < 4.39 < high
