"""Metrics, intervals, what privacy permits, and the document of a report."""

import json
import math
from typing import get_args

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.alterego import alteregos
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel
from dpassay.attacks.beta_knn import items
from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.attacks.beta_knn.settings import UserMethod
from dpassay.attacks.metrics import Metric, auc, difference_metric, mean_metric
from dpassay.attacks.presence.settings import PresenceSettings
from dpassay.attacks.reconstruction.settings import ReconstructionSettings
from dpassay.attacks.sketch import membership as sketch
from dpassay.attacks.verdicts import CLAIMS, verdicts
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import synthetic
from dpassay.mechanisms import describe


def report(**changes) -> AttackReport:
    given = {
        "attack": "beta-knn",
        "title": "t",
        "mechanism": "knn",
        "parameters": {"num_neighbors": 2},
        "threat_model": ThreatModel("k", "d", "s"),
        "summary": ["One."],
        "settings": {"beta": 1.0},
        "metrics": [Metric("recall", 0.4, "m", 0.3, 0.5, 10), Metric("fakes", 50, "m"), Metric("none", math.nan, "m")],
        "privacy": [Privacy("one rating", math.inf, None, None, "s"), Privacy("one rating", 1.0, 2.0, None, "s", 0.1)],
        "dataset": synthetic(),
    }
    return AttackReport(**{**given, **changes})


def test_permitted_advantage_is_that_of_randomized_response() -> None:
    for epsilon in (0.0, 0.3, 2.0, 50.0):
        truthful = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert permitted_advantage(epsilon) == pytest.approx(2 * truthful - 1, abs=1e-15)
    assert permitted_advantage(0.0, 0.1) == pytest.approx(0.1)
    assert permitted_advantage(1.0, 0.2) == pytest.approx((math.e - 1 + 0.4) / (math.e + 1))
    assert permitted_advantage(3.0, 1.0) == pytest.approx(1.0, abs=1e-15)
    assert permitted_advantage(math.inf) == permitted_advantage(1e6) == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(-0.1, 0.0), (math.nan, 0.0), (1.0, -0.1), (1.0, 1.1), (1.0, math.nan)])
def test_no_permission_for_what_is_no_guarantee(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidInput, match="it must be"):
        permitted_advantage(epsilon, delta)


def test_the_interval_of_a_weighted_mean_covers_as_promised() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        weights = rng.integers(5, 60, 80)
        hits = rng.binomial(weights, rng.beta(2, 3, 80))  # targets differ: their ratings are not independent
        metric = mean_metric("recall", hits / weights, "m", weights)
        assert metric.value == pytest.approx(hits.sum() / weights.sum())
        assert metric.low is not None
        assert metric.high is not None
        covered += metric.low <= 0.4 <= metric.high
    assert 0.93 < covered / 2000 < 0.97


def test_the_interval_of_ratings_as_units_would_be_too_short() -> None:
    rng = np.random.default_rng(1)
    weights = np.full(80, 40)
    hits = rng.binomial(weights, rng.choice([0.05, 0.95], 80))
    metric = mean_metric("recall", hits / weights, "m", weights)
    low, high = proportion_confint(int(hits.sum()), int(weights.sum()), 0.05, method="beta")
    assert metric.low is not None
    assert metric.high is not None
    assert metric.high - metric.low > 2 * (high - low)


@pytest.mark.parametrize("targets", [2, 3, 10, 100, 4321, 10**5])
def test_the_bound_on_what_was_never_seen_is_statsmodels(targets: int) -> None:
    _, high = proportion_confint(0, targets, 0.05, method="beta")
    assert mean_metric("a", np.zeros(targets), "m").high == pytest.approx(high, abs=1e-12)


def test_means_of_equal_targets_keep_an_honest_interval() -> None:
    assert mean_metric("a", np.zeros(100), "m").high == pytest.approx(1 - 0.025 ** (1 / 100))
    assert mean_metric("a", np.ones(100), "m").low == pytest.approx(0.025 ** (1 / 100))
    same = difference_metric("a", np.full(100, 0.5), "m")
    unseen = 1 - 0.025 ** (1 / 100)
    assert (same.low, same.high) == pytest.approx((0.5 - 1.5 * unseen, 0.5 + 0.5 * unseen))
    one = mean_metric("a", np.array([0.3, np.nan]), "m")
    assert (one.low, one.high, one.trials) == (0, 1, 1)
    none = mean_metric("a", np.array([np.nan]), "m")
    assert math.isnan(none.value)
    assert none.trials == 0


def test_the_document_is_json_and_says_what_was_exceeded() -> None:
    document = report().to_json("dpassay attack", {"recall": 0.3, "fakes": 50, "none": 1})
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [(check["metric"], check["exceeded"]) for check in document["checks"]] == [
        ("recall", True),
        ("fakes", False),
        ("none", True),
    ]
    assert document["privacy"][0]["epsilon_claimed"] == "inf"
    assert document["privacy"][0]["permitted_found"] is None
    assert document["privacy"][1]["permitted_claimed"] == permitted_advantage(1.0, 0.1)
    assert document["privacy"][1]["permitted_found"] == permitted_advantage(2.0, 0.1)
    assert document["dataset"]["sha256"] == synthetic().fingerprint()


def test_an_unknown_metric_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="choose from recall, fakes, none"):
        report().to_json("", {"precison": 0.5})


def test_auc_counts_the_pairs_that_are_in_order() -> None:
    rng = np.random.default_rng(2)
    scores, positive = rng.integers(0, 5, (6, 9)).astype(float), rng.random((6, 9)) < 0.4
    positive[0] = False
    for row, kind, found in zip(scores, positive, auc(scores, positive), strict=True):
        pairs = [(a > b) + (a == b) / 2 for a in row[kind] for b in row[~kind]]
        assert found == pytest.approx(np.mean(pairs) if pairs else math.nan, nan_ok=True)


def test_cells_of_tables() -> None:
    cells = [Metric("m", 0.5, "m", 0.25, 0.75).cell(), Metric("m", 2.0, "m").cell(), Metric("m", math.nan, "m").cell()]
    assert cells == ["0.500 [0.250, 0.750]", "2.000", "-"]


def test_every_attacked_mechanism_has_its_claims() -> None:
    for mechanism, claims in CLAIMS.items():
        assert {each["id"] for each in verdicts(mechanism)} == set(claims)
    attacked = {f"{id}/{variant}" for id, variant in sketch.VARIANTS.values()}
    attacked |= {f"pnsa/{variant}" for variant in items.VARIANTS.values()} | {"item_knn", "alterego"}
    attacked |= {f"prs/{variant}" for variant in alteregos.VARIANTS.values()}
    for chosen in get_args(UserMethod):
        built = Recommender(chosen).mechanism()
        attacked.add(chosen if built is None else "{id}/{variant}".format(**describe(built)))
    attacked |= {f"{method}/paper" for method in PresenceSettings.methods()}
    for method in ReconstructionSettings.methods():
        id, repaired, _ = method.partition("_repaired")
        attacked.add(f"{id}/{'repaired' if repaired else 'paper'}")
    assert attacked == CLAIMS.keys()
