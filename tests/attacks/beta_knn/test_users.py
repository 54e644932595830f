"""The simulator against exact laws and a literal attack: fakes appended as rows, the mechanism itself, plain loops."""

import itertools
import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from dpassay.attacks.beta_knn.neighbor_lists import SelectionPlan
from dpassay.attacks.beta_knn.outcome import Outcome
from dpassay.attacks.beta_knn.premise import attack_premise
from dpassay.attacks.beta_knn.rating_table import RatingTable, top_items
from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.attacks.beta_knn.settings import Attack, UserSettings
from dpassay.attacks.beta_knn.sweeps import sweep
from dpassay.attacks.beta_knn.user_report import run
from dpassay.attacks.beta_knn.users import Scene, popularity_shares, simulate
from dpassay.attacks.metrics import by_name
from dpassay.benchmarks.literal_sybils import shares_shown, with_fakes
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic
from dpassay.mechanisms.batched_users import (
    Block,
    PartitionedNeighbors,
    TruncatedNeighbors,
    WeightedNeighbors,
    _located,
)
from dpassay.mechanisms.similarity import predict

NAN = float("nan")
FIVE_SIGMA = 5.0  # type I error below 1e-6


def small() -> tuple[Ratings, np.ndarray, np.ndarray, int]:
    """Five users, eight items; the fakes of user 2 rate items 0 and 1."""
    generator = np.random.default_rng(5)
    matrix = generator.integers(1, 6, (5, 8)).astype(float)
    matrix[generator.random(matrix.shape) < 0.3] = NAN
    matrix[2] = [5, 2, NAN, 4, 5, NAN, 1, 3]
    return Ratings.from_dense(matrix), np.array([0, 1]), np.array([5.0, 2.0]), 2


def plan_of(recommender: Recommender, num_fakes: int) -> SelectionPlan:
    ratings, items, values, target = small()
    return SelectionPlan(recommender, RatingTable(ratings).candidates(recommender, items, values, target, num_fakes))


def literal_rows(ratings: Ratings, num_fakes: int) -> np.ndarray:
    """Row, in the matrix with all fakes appended, of every candidate of the first fake."""
    return np.delete(np.arange(ratings.num_users + num_fakes), ratings.num_users)


LAWS = [
    {"method": "knn"},
    {"method": "knn", "similarity": "cosine"},
    {"method": "knn", "similarity": "cosine", "ties": "index"},
    {"method": "npns", "epsilon": 30.0},
    {"method": "npns", "weight": "similarity"},
    {"method": "pncf", "epsilon": 40.0},
    {"method": "pncf", "epsilon": 3000.0},
    {"method": "pncf", "epsilon": 40.0, "similarity": "cosine"},
    {"method": "ppns", "epsilon": 20.0},
    {"method": "ppns", "epsilon": 20.0, "similarity": "cosine"},
    {"method": "npns_repaired", "epsilon": 9.0, "norm_floor": 8.0},
    {"method": "npns_repaired", "epsilon": 300.0, "norm_floor": 8.0, "similarity": "pearson"},
]


@pytest.mark.parametrize("options", LAWS, ids=str)
def test_lists_have_the_exact_law_of_the_mechanism(options: dict[str, Any]) -> None:
    ratings, items, values, _ = small()
    # The exact law under random ties averages over all orders: only five users and one fellow fake.
    fakes, draws = 2, 20_000
    recommender = Recommender(**{"num_neighbors": 2, "num_nearest": 2, **options})
    law = recommender.mechanism(target=ratings.num_users)
    matrix = with_fakes(ratings, items, values, fakes)
    sets = law.outputs(matrix)
    expected = np.exp([float(law.log_prob(each, matrix)) for each in sets])
    assert expected.sum() == pytest.approx(1)
    plan = plan_of(recommender, fakes)
    drawn = plan.draw(draws, np.random.default_rng(1))
    found = np.sort(literal_rows(ratings, fakes)[drawn], axis=1)
    # The fakes of a plan come last, and so do they in the matrix.
    counts = np.array([np.sum((found == each).all(1)) for each in sets])
    assert counts.sum() == draws
    spread = np.sqrt(draws * expected * (1 - expected)) + 1e-9
    assert np.all(np.abs(counts - draws * expected) <= FIVE_SIGMA * spread + 0.5)
    assert plan.deterministic == bool(expected.max() > 1 - 1e-9)


def test_repaired_partitions_are_drawn_like_the_mechanism() -> None:
    ratings, items, values, _ = small()
    recommender = Recommender("ppns_repaired", 2, epsilon=60.0, norm_floor=9.0)
    fakes, draws = 3, 6000
    law = recommender.mechanism(target=ratings.num_users)
    matrix = with_fakes(ratings, items, values, fakes)
    exact = np.asarray(jax.vmap(lambda key: law.sample(key, matrix))(jax.random.split(jax.random.key(0), draws)))
    ours = literal_rows(ratings, fakes)[plan_of(recommender, fakes).draw(draws, np.random.default_rng(1))]
    shares = [np.bincount(each.ravel(), minlength=len(matrix)) / draws for each in (exact, ours)]
    spread = np.sqrt(sum(share * (1 - share) for share in shares) / draws)
    assert np.all(np.abs(shares[0] - shares[1]) <= FIVE_SIGMA * spread + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_values_are_located_exactly(seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = generator.random(50) ** 8 * (generator.random(50) < 0.7)  # some are 0, which makes equal borders
    borders = np.cumsum(weights)
    values = np.concatenate([generator.random(5000) * borders[-1], borders[:-1], np.nextafter(borders[:-1], 0)])
    values = np.clip(values, 0, np.nextafter(borders[-1], 0)).reshape(-1, 2)
    assert values.size > 8 * len(borders)  # else the fine grid is not used
    np.testing.assert_array_equal(_located(borders, values), np.searchsorted(borders, values, side="right"))


@pytest.mark.parametrize("method", ["npns", "pncf", "ppns"])
def test_lists_are_drawn_like_those_of_the_accuracy_experiments(method: Any) -> None:
    draws, k = 5000, 6
    generator = np.random.default_rng(3)
    ratings = Ratings.from_dense(np.where(generator.random((60, 20)) < 0.5, generator.integers(1, 6, (60, 20)), NAN))
    items = np.flatnonzero(~np.isnan(ratings.dense()[0]))[:4]
    recommender = Recommender(method, k, epsilon=300.0, noise="none", ties="index")
    candidates = RatingTable(ratings).candidates(recommender, items, ratings.dense()[0, items], 0, k)
    scale = recommender.epsilon / (4 * k)
    theirs: Any = {
        "npns": WeightedNeighbors(k, scale),
        "pncf": TruncatedNeighbors(k, 0.5, scale),
        "ppns": PartitionedNeighbors(k, 0.5, scale=scale),
    }[method]
    block = Block(np.zeros(draws, int), np.tile(candidates.chosen_by, (draws, 1)))
    expected = theirs(block, np.random.default_rng(1)).mean(0)
    ours = SelectionPlan(recommender, candidates).draw(draws, np.random.default_rng(2))
    found = np.bincount(ours.ravel(), minlength=len(expected)) / draws
    spread = np.sqrt((expected * (1 - expected) + found * (1 - found)) / draws)
    assert np.all(np.abs(found - expected) <= FIVE_SIGMA * spread + 1e-9)


@pytest.mark.parametrize("method", ["knn", "npns", "pncf", "ppns", "npns_repaired", "ppns_repaired"])
def test_fakes_are_shown_what_a_literal_attack_is_shown(method: Any) -> None:
    ratings, runs = small()[0], 1500
    recommender = Recommender(
        method, 3, similarity="cosine", epsilon=8.0, norm_floor=8.0, num_nearest=3, probability=0.6
    )
    scene = Scene(ratings, recommender, Attack(num_known=2, rounds=runs), np.array([2]), False)
    known = (scene.known[0, 0], scene.told[0, 0])
    matrix = with_fakes(ratings, *known, 3)
    law = recommender.mechanism(target=ratings.num_users)
    lists = np.asarray(jax.vmap(lambda key: law.sample(key, matrix))(jax.random.split(jax.random.key(7), runs)))
    for channel, length in (("ratings", 99), ("top_n", 3)):
        scene.attack = Attack(num_known=2, channel=channel, list_length=length, rounds=runs)  # type: ignore[arg-type]
        evidence = scene.observe(0, False)
        assert evidence.lists == 3 * runs
        found = evidence.votes / evidence.lists
        expected = shares_shown(ratings, matrix, recommender, length, lists)
        spread = np.sqrt((expected * (1 - expected) + found * (1 - found) / 3) / runs)
        assert np.all(np.abs(found - expected) <= FIVE_SIGMA * spread + 5 / runs)


def lone_target() -> Ratings:
    """User 0 shares items 0 and 1 with nobody; her others are hers or popular."""
    matrix = np.full((9, 12), NAN)
    matrix[0, [0, 1, 2, 3, 4]] = [5, 1, 4, 2, 3]
    matrix[1:, 3:] = 3
    matrix[1:, 5] = NAN
    return Ratings.from_dense(matrix)


def popular(**options: Any) -> Attack:
    return Attack(**{"num_known": 2, "choice": "rare", **options})


def test_everything_is_recovered_where_the_fakes_surround_the_target() -> None:
    ratings = lone_target()
    # Her rarest items are 0, 1 and 2, each rated by her alone: two known, three hidden.
    for rule in ("seen", "votes"):
        outcome = simulate(ratings, Recommender("knn", 3), popular(rule=rule), np.array([0]), paired=True)
        found = {metric.name: metric.value for metric in outcome.metrics()}
        assert (found["yield"], found["precision"], found["exact-value"]) == (1, 1, 1)
        assert (found["surrounded"], found["target-seen"], found["inferred"], found["advantage"]) == (1, 1, 3, 1)
        assert outcome.hidden == [3]


def test_nothing_is_recovered_where_fakes_crowd_the_target_out() -> None:
    # With 2 k fakes, every fake's k nearest are fakes, who rated nothing else.
    outcome = simulate(lone_target(), Recommender("knn", 3), popular(beta=2), np.array([0]), paired=True)
    found = {metric.name: metric.value for metric in outcome.metrics()}
    assert (found["yield"], found["inferred"], found["target-seen"], found["advantage"]) == (0, 0, 0, 0)
    assert math.isnan(found["precision"])
    advantage = next(each for each in outcome.metrics() if each.name == "advantage")
    assert advantage.low == -1
    # A minimum overlap that nobody reaches makes all similarities 0: lists are drawn, but nothing is predicted.
    outcome = simulate(lone_target(), Recommender("knn", 3, min_overlap=3), popular(rule="seen"), np.array([0]))
    assert outcome.inferred == [0]


def test_a_list_of_recommendations_by_hand() -> None:
    table = RatingTable(lone_target())
    # Users 1 and 0, weights 1 and 3: item 3 is predicted (3 + 6) / 4, item 4 is 3, item 2 is 4 of user 0 alone.
    predictions = table.predict(np.array([[1, 0]]), np.array([[1.0, 3.0]]))
    values = predictions.weighted[0] / np.where(predictions.weights[0] > 0, predictions.weights[0], NAN)
    np.testing.assert_allclose(values[:6], [5, 1, 4, 2.25, 3, NAN])
    _, items = top_items(predictions, 3, np.arange(12)[::-1])
    assert items.tolist() == [0, 2, 11]  # of the many 3s the one of lowest rank
    mixed = table.predict(np.array([[1, 0]]), np.array([[-1.0, 3.0]]))
    expected = float(predict(np.array([-1.0, 3.0]), np.array([3.0, 2.0])))
    assert mixed.weighted[0, 3] / mixed.weights[0, 3] == pytest.approx(expected)


@pytest.mark.parametrize("signed", [False, True])
def test_sets_of_items_give_the_same_recommendations_as_predictions(signed: bool) -> None:
    generator = np.random.default_rng(8)
    table = RatingTable(synthetic())
    rows = np.argsort(generator.random((300, 120)), axis=1)[:, :5]
    rows[:50, 1:] = table.empty  # a single neighbor: too few items rated best
    weights = generator.random((300, 5)) - (0.3 if signed else 0.0)
    known = np.array([0, 3, 17])
    answers = []
    for packed in (table.packed, None):
        table.packed = packed
        lists, items, values = table.recommend(rows, weights, known, 3)
        order = np.lexsort((items, lists))
        answers.append((lists[order], items[order], values[order]))
    for fast, slow in zip(*answers, strict=True):
        np.testing.assert_allclose(fast, slow)
    surest = answers[0][2] == 5
    assert surest.any()
    assert not surest.all()


def renumbered(ratings: Ratings, seed: int) -> tuple[Ratings, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    users, items = generator.permutation(ratings.num_users), generator.permutation(ratings.num_items)
    order = generator.permutation(len(ratings))
    moved = (users[ratings.users][order], items[ratings.items][order], ratings.values[order])
    return Ratings(*moved, ratings.num_users, ratings.num_items), users, items


@pytest.mark.parametrize(("method", "channel"), [("knn", "ratings"), ("ppns", "ratings"), ("npns", "both")])
def test_names_and_order_of_users_and_items_do_not_matter(method: Any, channel: Any) -> None:
    ratings = synthetic()
    values = []
    for data in (ratings, renumbered(ratings, 1)[0]):
        outcome = simulate(data, Recommender(method, 12), Attack(channel=channel, rule="seen"))
        values.append(outcome.hits / outcome.hidden)
    difference = values[0].mean() - values[1].mean()
    spread = math.sqrt(sum(value.var(ddof=1) / len(value) for value in values))
    assert abs(difference) <= FIVE_SIGMA * spread


def test_a_deterministic_attack_on_renumbered_data_is_the_same_target_by_target() -> None:
    # Known items are the rarest: with distinct popularities nothing is left to chance but ties.
    generator = np.random.default_rng(2)
    matrix = generator.integers(1, 6, (25, 10)).astype(float)
    for item in range(10):
        matrix[generator.permutation(25)[: 2 * item + 3], item] = NAN
    ratings = Ratings.from_dense(matrix)
    moved, users, _ = renumbered(ratings, 4)
    attack = Attack(num_known=3, choice="rare", rule="votes")
    first, second = (simulate(data, Recommender("knn", 4), attack) for data in (ratings, moved))
    place = np.argsort(users[first.targets])
    assert np.array_equal(users[first.targets][place], second.targets)
    for name in ("hidden", "inferred", "hits", "exact", "surrounded"):
        np.testing.assert_allclose(getattr(first, name)[place], getattr(second, name))


@pytest.mark.parametrize("similarity", ["full_cosine", "cosine", "pearson"])
@pytest.mark.parametrize("ties", ["random", "index", "fakes_first"])
def test_surrounded_is_the_premise(similarity: Any, ties: Any) -> None:
    ratings = synthetic(60, 40)
    recommender = Recommender("knn", 5, similarity=similarity, ties=ties)
    scene = Scene(ratings, recommender, Attack(num_known=3), None, False)
    expected = attack_premise(ratings, scene.known[0], scene.targets, similarity).probability(5, ties)
    found = [scene.surrounded(scene.observe(number, False).candidates) for number in range(len(scene.targets))]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("method", ["npns_repaired", "ppns_repaired"])
def test_a_strong_guarantee_leaves_no_advantage(method: Any) -> None:
    def advantage(recommender: Recommender) -> Any:
        outcome = simulate(synthetic(), recommender, Attack(), paired=True)
        return next(each for each in outcome.metrics() if each.name == "advantage")

    metric = advantage(Recommender(method, 12, epsilon=0.01))
    assert metric.low <= 0 <= metric.high
    assert metric.high < advantage(Recommender("knn", 12)).low


def test_more_wrong_ratings_rivals_and_defenses_weaken_the_attack() -> None:
    ratings, knn = synthetic(), Recommender("knn", 12)

    def found(recommender: Recommender = knn, **options: Any) -> float:
        return simulate(ratings, recommender, Attack(**options)).metrics()[0].value

    plain = found()
    assert found(wrong=1.0) < plain
    assert found(num_known=3) < plain - 0.1
    assert found(Recommender("knn", 12, min_overlap=9)) == 0
    assert found(Recommender("knn", 12, similarity="cosine")) < plain - 0.05
    assert found(other_attackers=12, num_known=16) <= found(num_known=16) + 0.02


def test_repeating_the_same_answers_teaches_nothing_and_fresh_ones_do() -> None:
    ratings, recommender = synthetic(), Recommender("ppns", 12)
    outcomes = {
        (rounds, fresh): simulate(
            ratings, recommender, Attack(beta=2, rounds=rounds, fresh=fresh, channel="both", rule="seen")
        )
        for rounds, fresh in ((1, True), (5, False), (5, True))
    }
    once, same, fresh = outcomes.values()
    np.testing.assert_array_equal(once.hits, same.hits)
    assert (once.num_queries, same.num_queries) == (24, 120)
    assert fresh.hits.sum() > once.hits.sum()


def test_restarts_join_their_votes() -> None:
    outcome = simulate(synthetic(), Recommender("knn", 12), Attack(restarts=3, num_known=6, rule="seen"), 30)
    once = simulate(synthetic(), Recommender("knn", 12), Attack(num_known=6, rule="seen"), 30)
    assert np.array_equal(outcome.targets, once.targets)
    assert (outcome.lists == 3 * once.lists).all()
    assert (outcome.hidden < once.hidden).any()


def test_popularity_explains_lists_of_a_given_length() -> None:
    popularity = np.array([0.0, 0.1, 0.5, 0.9])
    for length in (0.2, 1.5, 2.5):
        shares = popularity_shares(popularity, length)
        assert shares.sum() == pytest.approx(length)
        assert np.all(np.diff(shares) > 0)
    # 1 - (1 - p)^h with one h for all items.
    with np.errstate(divide="ignore", invalid="ignore"):
        users = np.log1p(-popularity_shares(popularity, 1.5)) / np.log1p(-popularity)
    assert np.ptp(users[1:]) < 1e-9


@pytest.mark.parametrize("method", UserSettings.methods())
def test_report(method: Any) -> None:
    report = run(synthetic(), method=method, targets=20)
    document = report.to_json()
    assert document["attack"] == "beta-knn"
    assert tuple(metric["name"] for metric in document["metrics"]) == tuple(UserSettings.metrics)
    assert len(document["repair"]["tables"][0]["rows"]) == (2 if method.endswith("repaired") else 3)
    assert document == run(synthetic(), method=method, targets=20).to_json() | {"seconds": document["seconds"]}


def test_sweep() -> None:
    both: Any = ("full_cosine", "cosine")
    rows = sweep(synthetic(), ("knn", "ppns"), (1.0, 2.0), both, recommender=Recommender("knn", 12))
    assert [(row["similarity"], row["method"], row["beta"]) for row in rows] == list(
        itertools.product(both, ("knn", "ppns"), (1.0, 2.0))
    )
    again = sweep(synthetic(), ("knn", "ppns"), (1.0, 2.0), both, recommender=Recommender("knn", 12), jobs=2)
    assert [{**row, "seconds": 0} for row in again] == [{**row, "seconds": 0} for row in rows]
    # Twice as many fakes as neighbors crowd the target out of the nearest.
    assert rows[0]["yield"].value > 0.5
    assert rows[1]["yield"].value == 0


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"num_known": 0}, "num_known"),
        ({"num_known": 1000}, "no user has more than 1000"),
        ({"beta": 0.05}, "at least 2"),
        ({"beta": 1e9}, "memory"),
        ({"method": "nothing"}, "method"),
        ({"channel": "mail"}, "channel"),
        ({"wrong": 1.5}, "wrong"),
        ({"targets": 0}, "at least 1"),
        ({"other_attackers": 500}, "other_attackers"),
        ({"num_neighbors": 119, "method": "ppns"}, "candidates"),
        ({"num_neighbors": 500, "beta": 0.1}, "500 neighbors of 169 candidates"),
    ],
)
def test_bad_settings_get_one_line(options: dict[str, Any], part: str) -> None:
    with pytest.raises(InvalidInput, match=part) as raised:
        run(synthetic(), **options)
    assert "\n" not in str(raised.value)


def test_a_target_with_too_few_ratings_is_named() -> None:
    ratings = lone_target()
    with pytest.raises(InvalidInput, match="user 0 does not have more than 8"):
        simulate(ratings, Recommender("knn", 3), Attack(), np.array([0]))


@pytest.mark.realdata
def test_on_movielens_the_nearest_neighbors_give_a_target_away(movielens: Ratings) -> None:
    outcome = simulate(movielens, Recommender("knn"), Attack(), 100)
    found = {metric.name: metric for metric in outcome.metrics()}
    low = found["yield"].low
    assert low is not None
    assert low > 0.5
    assert found["precision"].value > found["guess-precision"].value


@pytest.mark.parametrize(
    ("lead", "advantage", "words"),
    [
        (0.5, 0.5, "beats that guess, and reads"),
        (0.5, 0.0, "is not shown to read the user's own data"),
        (0.0, 0.5, "not shown to beat that guess (+0%), but it reads"),
        (0.0, 0.0, "the attack does not work here"),
        (-0.5, 0.0, "not shown to beat the guess (-50%)"),
    ],
)
def test_the_attacker_stands_beside_guessing(lead, advantage, words):
    targets = 200
    found = np.resize([1.0, 0.0], targets)
    many = np.full(targets, 10.0)
    outcome = Outcome(
        targets=np.arange(targets), num_fakes=4, num_queries=4,
        hidden=2 * many, inferred=many, hits=5 + many * lead / 2, exact=many,
        guess_hits=5 - many * lead / 2, guess_exact=many,
        found_present=found, found_absent=found * (advantage == 0),
    )  # fmt: skip
    metrics = by_name(outcome.metrics())
    assert words in outcome.beside_guess(metrics["advantage"])
    assert metrics["yield"].value - metrics["guess-yield"].value == pytest.approx(lead / 2)


def test_no_error_is_reported_of_ratings_that_are_all_equal() -> None:
    shown = synthetic(40, 30)
    flat = replace(shown, values=np.full(len(shown), 4.0))
    repair = run(flat, targets=10).to_json()["repair"]["text"]
    assert "all ratings are equal" in repair
    assert "0.000" not in repair
