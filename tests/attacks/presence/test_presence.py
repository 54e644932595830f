"""The presence attack's laws, limits and simulated runs against the mechanisms and literal enumeration."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.presence import simulation
from dpassay.attacks.presence.laws import (
    coin_advantage,
    jittered_mechanism,
    pair_laws,
    product_advantage,
    pure_advantage,
    worst_advantage,
)
from dpassay.attacks.presence.report import run
from dpassay.attacks.presence.settings import PresenceSettings
from dpassay.attacks.presence.simulation import (
    World,
    drawn_sets,
    observed_advantage,
    observed_auc,
    set_places,
    simulate,
)
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings

NAN = float("nan")
METHODS: tuple[Any, ...] = PresenceSettings.methods()
# Few shapes and parameters, so that little has to be compiled.
PLAN: dict[str, Any] = {"jitter": 0.3, "num_items": 4, "size": 2, "rounds": 8, "targets": 20, "trials": 60}


def binary_rows(users: int, items: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((users, items)) < 0.5).astype(float)


# Sparse, so that the most popular items tell users apart: rows that all agree cannot be seen by a symmetric process.
SMALL = Ratings.from_dense(np.where(binary_rows(40, 10, 5) * binary_rows(40, 10, 6) > 0, 3.0, NAN))


def built(method: str, jitter: float, items: int) -> Any:
    return jittered_mechanism(method, 1.0, jitter, items, 2)


@pytest.mark.parametrize("method", METHODS)
def test_pair_laws_are_those_of_the_two_datasets(method: str) -> None:
    process, rows = built(method, 0.5, 3), binary_rows(5, 3, 7)
    others = np.array([[False, False, True, True, False], [True, False, True, True, True], [False] * 5])
    laws = pair_laws(process, rows, np.array([1, 1, 0]), others)
    for found, added in zip(laws, (True, False), strict=True):
        for law, members, target in zip(found, others.copy(), (1, 1, 0), strict=True):
            members[target] = added
            dataset = rows * members[:, None]
            expected = [float(process.log_prob(output, dataset)) for output in process.outputs(rows)]
            np.testing.assert_allclose(law, expected, atol=1e-9)
            assert np.exp(law).sum() == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
def test_sets_are_drawn_from_the_law(method: str) -> None:
    process, rows = built(method, 0.5, 3), binary_rows(5, 3, 7)
    members = np.array([[True, True, True, False, True], [False, True, False, False, False]])
    codes = drawn_sets(process, rows, members, 2000, seed=1)
    for drawn, present in zip(codes, members, strict=True):
        outputs = process.outputs(rows)
        law = np.exp([float(process.log_prob(output, rows * present[:, None])) for output in outputs])
        counts = np.bincount(set_places(process, 3)[drawn], minlength=len(law))
        assert chisquare(counts, law * len(drawn)).pvalue > 1e-6
    assert chisquare(counts, np.full(len(law), len(drawn) / len(law))).pvalue < 1e-6  # it has power


def test_products_against_enumeration() -> None:
    p, q = np.random.default_rng(1).dirichlet(np.ones(3), 2)
    for rounds in (1, 2, 4):
        every = itertools.product(range(3), repeat=rounds)
        exact = sum(abs(np.prod(p[list(o)]) - np.prod(q[list(o)])) for o in every) / 2
        found = product_advantage(np.log(p)[None], np.log(q)[None], rounds)[0]
        assert exact - 1e-12 <= found <= exact + 1e-5
    assert product_advantage(np.log(p)[None], np.log(p)[None], 4)[0] == 0


@pytest.mark.parametrize("rounds", [1, 5, 20])
def test_one_item_is_the_coin(rounds: int) -> None:
    # An empty database and one reader of the only item: the process is the coin of theorem 3.
    process = built("dpp", 0.4, 1)
    laws = pair_laws(process, np.ones((1, 1)), np.array([0]), np.zeros((1, 1), bool))
    assert product_advantage(*laws, rounds)[0] == pytest.approx(coin_advantage(0.4, 1.0, rounds), abs=1e-6)
    assert coin_advantage(0.4, 1.0, 1) == pytest.approx(1.4 / 2.4 - 0.4 / 1.4)


def test_limits_are_in_order() -> None:
    rows = binary_rows(30, 5, 4)
    targets = np.arange(30)
    others = np.random.default_rng(1).random((30, 30)) < np.linspace(0, 1, 30)[:, None]
    others[targets, targets] = False
    for method, rounds in itertools.product(METHODS[:3], (1, 3, 16)):
        process = built(method, 0.8, 5)
        claimed = process.claim.epsilon
        found = product_advantage(*pair_laws(process, rows, targets, others), rounds)
        worst = worst_advantage(process, claimed, rounds)
        assert found.max() <= worst + 1e-9
        assert worst <= permitted_advantage(rounds * claimed) + 1e-12
        assert found.max() > 0.05 * worst  # the bound means something
    assert pure_advantage(1.0, 1) == pytest.approx(permitted_advantage(1.0))
    assert pure_advantage(1.0, 9) < permitted_advantage(9.0)


@pytest.mark.parametrize("method", METHODS)
def test_observed_stays_below_the_limit(method: str) -> None:
    report = run(SMALL, method=method, others=1, **PLAN)
    assert tuple(metric.name for metric in report.metrics) == tuple(PresenceSettings.metrics)
    low, limit = report.metric("advantage").low, report.metric("advantage-limit").value
    assert low is not None
    assert 0.05 < low <= limit <= report.metric("advantage-worst-case").value + 1e-9
    assert limit <= report.metric("advantage").high  # type: ignore[operator]  # the test is the best there is


def test_a_subject_without_a_row_cannot_be_seen() -> None:
    process, rows = built("dpp", 0.3, 3), binary_rows(6, 3, 2)
    rows[0] = 0
    others = np.ones((1, 6), bool)
    others[0, 0] = False
    world = World(rows, np.array([0]), others, 1)
    laws = pair_laws(process, rows, world.targets, others)
    losses, _ = simulate(process, world, laws[0] - laws[1], [1, 8], 50, 0)
    metric = observed_advantage(losses[..., -1])
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low <= 0 <= metric.high
    np.testing.assert_allclose(observed_auc(losses[..., -1]), 0.5, atol=0.35)
    assert product_advantage(*laws, 8)[0] == pytest.approx(0, abs=1e-9)


def test_the_same_law_on_both_sides_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = run(SMALL, others=1, **PLAN)
    draws = drawn_sets

    def absent(built: Any, rows: Any, members: Any, number: int, seed: int) -> Any:
        half = len(members) // 2
        return draws(built, rows, np.concatenate([members[half:], members[half:]]), number, seed)

    monkeypatch.setattr(simulation, "drawn_sets", absent)
    metric = run(SMALL, others=1, **PLAN).metric("advantage")
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low <= 0 <= metric.high < honest.metric("advantage").low  # type: ignore[operator]


def test_no_jitter_gives_certainty() -> None:
    report = run(SMALL, jitter=1e-6, num_items=3, others=0, rounds=16, targets=10, trials=20)
    assert report.metric("advantage").value > 0.99
    assert report.metric("auc").value > 0.99
    assert any("Three of four guesses were right after" in sentence for sentence in report.summary)


def test_epsilon_sets_the_jitter() -> None:
    for method in METHODS[:3]:
        process = jittered_mechanism(method, 0.7, None, 6, 2)
        assert process.claim.epsilon == pytest.approx(0.7, abs=1e-9)
    assert jittered_mechanism("kdpp", 0.7, None, 12, 2).jitter == jittered_mechanism("kdpp", 0.7, None, 6, 2).jitter


def test_report_is_complete_and_repeatable() -> None:
    report, again = (run(SMALL, seed=3, **PLAN) for _ in range(2))
    assert [m.value for m in report.metrics] == [m.value for m in again.metrics]
    document = report.to_json(limits={"advantage": 2.0})
    json.dumps(document)
    assert document["mechanism"] == "dpp/paper"
    assert not document["checks"][0]["exceeded"]
    assert [row[0] for row in report.tables[0].rows] == [1, 2, 4, 8]
    assert [row[0] for row in report.tables[1].rows] == [0, 1, 3, 10, 30, 39]
    for table in report.tables:
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert not any("Three of four" in sentence for sentence in report.summary)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "pp"}, "method is 'pp'"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"jitter": 0.0}, "jitter"),
        ({"jitter": NAN}, "jitter"),
        ({"num_items": 0}, "num_items"),
        ({"num_items": 15}, "at most 14"),
        ({"method": "dpp_subset_jittered", "num_items": 9}, "at most 8"),
        ({"method": "kdpp", "size": 10}, "size is 10 of 10"),
        ({"others": 40}, "others is 40"),
        ({"others": -1}, "others is -1"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 5000}, "at most 1024"),
        ({"trials": 0}, "trials"),
        ({"targets": 0}, "targets"),
    ],
)
def test_bad_input(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(SMALL, **settings)


def test_more_items_than_there_are() -> None:
    with pytest.raises(InvalidInput, match="the data have 3 items"):
        run(Ratings.from_dense(np.ones((2, 3))), num_items=4)


def test_on_movielens(movielens: Ratings) -> None:
    report = run(movielens, num_items=6, rounds=4, targets=10, trials=10)
    # Nine hundred others hide her far better than the guarantee promises.
    assert report.metric("advantage-limit").value < 0.1 * report.metric("advantage-worst-case").value
    assert report.metric("advantage").low < report.metric("advantage-worst-case").value  # type: ignore[operator]
