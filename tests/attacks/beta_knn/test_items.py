"""The sybil attack on item-based recommenders against the mechanisms themselves and cases worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest

from dpassay.attacks.beta_knn.item_report import run
from dpassay.attacks.beta_knn.items import ItemScene, nearest_items
from dpassay.attacks.beta_knn.settings import ItemMethod, ItemSettings
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic

NAN = float("nan")


def random_matrix(seed: int, users: int = 8, items: int = 7) -> np.ndarray:
    generator = np.random.default_rng(seed)
    matrix = generator.integers(1, 6, (users, items)).astype(float)
    matrix[generator.random(matrix.shape) < 0.4] = NAN
    return matrix


def test_without_privacy_the_most_similar_items_are_listed() -> None:
    score = np.array([[1.0, 0.2, 0.9, 0.2, 0.0], [0.2, 1.0, 0.3, -0.1, 0.0]])
    np.testing.assert_array_equal(nearest_items(score, np.array([0, 1]), 2), [[2, 1], [2, 0]])
    np.testing.assert_array_equal(nearest_items(-score, np.array([0, 1]), 2), [[-1, -1], [3, -1]])


def secluded() -> Ratings:
    """User 0 alone rated items 0 to 5; six others rated items 6 to 11, and among them item 0 is unknown."""
    matrix = np.full((7, 12), NAN)
    matrix[0, :6] = [5, 3, 4, 5, 4, 3]
    matrix[1:, 6:] = np.random.default_rng(0).integers(1, 6, (6, 6))
    return Ratings.from_dense(matrix)


@pytest.mark.parametrize("channel", ["similar_items", "similar_scores", "ratings", "top_n", "both"])
def test_a_user_with_items_of_her_own_is_read_completely(channel: Any) -> None:
    data = secluded()
    report = run(data, channel=channel, num_known=2, num_neighbors=5, targets=7, guesses=4, seed=1)
    # Every user shares all items with herself only (user 0) or with five others who rated the same ones.
    assert report.metric("precision").value == 1
    assert report.metric("yield").value == 1
    assert report.metric("advantage").value > 0
    assert report.metric("precision").value > report.metric("guess-precision").value


def test_the_secluded_user_without_a_rating_does_not_show_it() -> None:
    data = secluded()
    settings = scene_settings(channel="similar_items", num_known=2, num_neighbors=5, guesses=4, targets=7)
    scene = ItemScene(data, settings)
    number = int(np.flatnonzero(scene.targets == 0)[0])
    known = scene.known[number]
    hidden = np.setdiff1d(np.arange(6), known)
    evidence = scene.observe(number, hidden).evidence
    np.testing.assert_array_equal(np.sort(scene.infer(evidence, known)), hidden)
    without = scene.observe(number, hidden[1:]).evidence
    np.testing.assert_array_equal(np.sort(scene.infer(without, known)), hidden[1:])


def scene_settings(**changes: Any) -> ItemSettings:
    defaults: dict[str, Any] = {"num_neighbors": 3, "num_known": 3, "channel": "ratings", "list_length": 3}
    defaults |= {"guesses": 5, "turnover": 0.2, "targets": 5}
    return ItemSettings(**{**defaults, **changes})


def literal_predictions(matrix: np.ndarray, fake: np.ndarray, fakes: int, k: int) -> dict[int, float]:
    """Ratings predicted for a fake by item kNN, with every fake written out and one pair of items at a time."""
    everyone = np.nan_to_num(np.concatenate([matrix, np.repeat(fake[None, :], fakes, axis=0)]))
    predictions = {}
    for item in np.flatnonzero(np.isnan(fake)):
        scores: list[tuple[float, int]] = []
        for other in range(matrix.shape[1]):
            norms = math.sqrt(sum(everyone[:, item] ** 2) * sum(everyone[:, other] ** 2))
            if other != item and norms > 0 and everyone[:, item] @ everyone[:, other] > 0:
                scores.append((-round(float(everyone[:, item] @ everyone[:, other]) / norms, 12), other))
        chosen = [(-score, other) for score, other in sorted(scores)[:k] if not math.isnan(fake[other])]
        if chosen:
            predictions[int(item)] = sum(s * fake[j] for s, j in chosen) / sum(s for s, _ in chosen)
    return predictions


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wrong", [0.0, 1.0])
def test_predictions_are_those_of_a_literal_recommender(seed: int, wrong: float) -> None:
    data = Ratings.from_dense(random_matrix(seed, users=9, items=10))
    scene = ItemScene(data, scene_settings(seed=seed, wrong=wrong, beta=4 / 3))
    for number, target in enumerate(scene.targets):
        known = scene.known[number]
        assert (np.abs(scene.told[number] - scene.matrix[target, known]) == wrong).all()
        fake = np.full(10, NAN)
        fake[known] = scene.told[number]
        hidden = np.setdiff1d(np.flatnonzero(~np.isnan(scene.matrix[target])), known)
        for items in (hidden, hidden[1:]):
            world = scene.matrix.copy()
            world[target] = NAN
            world[target, known] = scene.matrix[target, known]
            world[target, items] = scene.matrix[target, items]
            expected = literal_predictions(world, fake, 4, 3)
            evidence, values, _ = scene.observe(number, items)
            assert values is not None
            np.testing.assert_array_equal(np.flatnonzero(~np.isnan(values)), sorted(expected))
            for item, value in expected.items():
                assert values[item] == pytest.approx(value)
                assert evidence[item] == pytest.approx(math.sqrt((~np.isnan(world[:, item])).sum())) or (
                    evidence[item] == 0 and np.isnan(world[:, item]).all()
                )


def test_two_looks_count_what_is_new() -> None:
    data = Ratings.from_dense(random_matrix(5, users=12, items=12))
    scene = ItemScene(data, scene_settings(channel="similar_scores", looks="twice", turnover=0.0))
    for number, target in enumerate(scene.targets):
        hidden = np.setdiff1d(np.flatnonzero(~np.isnan(scene.matrix[target])), scene.known[number])
        evidence = scene.observe(number, hidden).evidence
        nothing = scene.observe(number, hidden[:0]).evidence
        assert not nothing.any()
        assert evidence.any()
    # Where others' ratings arrive meanwhile, something is new without the target.
    scene = ItemScene(data, scene_settings(channel="similar_scores", looks="twice", turnover=0.5))
    nothing = scene.observe(0, hidden[:0]).evidence
    assert nothing.any()


@pytest.mark.parametrize("method", ItemSettings.methods())
@pytest.mark.parametrize("channel", ["similar_items", "both"])
def test_report_on_synthetic_ratings(method: ItemMethod, channel: Any) -> None:
    settings: dict[str, Any] = {"method": method, "channel": channel, "targets": 4, "num_neighbors": 4, "guesses": 6}
    report = run(synthetic(60, 40), **settings)
    document = report.to_json()
    assert {**document, "seconds": 0} == {**run(synthetic(60, 40), **settings).to_json(), "seconds": 0}
    assert tuple(metric.name for metric in report.metrics) == tuple(ItemSettings.metrics)
    assert report.metric("fakes").value == 4
    assert report.metric("queries").value == (8 if channel == "similar_items" else 4)
    assert math.isnan(report.metric("exact-value").value) == (channel == "similar_items")
    (entry,) = report.privacy
    if method == "item_knn":
        assert math.isinf(entry.epsilon_claimed)
    elif channel == "similar_items":
        assert entry.epsilon_claimed == 8 * 0.5
    else:
        assert entry.epsilon_claimed == 4 * 32
    low = report.metric("advantage").low
    assert low is not None
    assert low < report.metric("advantage").value


def test_private_lists_hold_fewer_true_neighbors() -> None:
    kept = {
        method: np.mean(
            ItemScene(synthetic(), scene_settings(method=method, channel="similar_items")).outcome(lambda _: None).kept
        )
        for method in ("item_knn", "pnsa_repaired")
    }
    assert kept["item_knn"] == 1
    assert kept["pnsa_repaired"] < 0.4


def test_bad_input_is_refused() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"method": "knn"}, "method is 'knn'"),
        ({"channel": "mail"}, "channel is 'mail'"),
        ({"choice": "best"}, "choice is 'best'"),
        ({"looks": "thrice"}, "looks is 'thrice'"),
        ({"epsilon": -1.0}, "epsilon is -1.0"),
        ({"beta": -1.0}, "beta is -1.0"),
        ({"num_known": 0}, "num_known is 0"),
        ({"wrong": 1.5}, "wrong is 1.5"),
        ({"turnover": -0.1}, "turnover is -0.1"),
        ({"channel": "ratings", "beta": 0.0}, "needs a fake account"),
        ({"num_neighbors": 30}, "num_neighbors is 30"),
        ({"num_known": 30}, "more than 30 ratings"),
    )
    for settings, message in cases:
        with pytest.raises(InvalidInput, match=message):
            run(synthetic(20, 30), **settings)


@pytest.mark.realdata
def test_only_what_is_new_shows_a_users_own_ratings_on_movielens(movielens: Ratings) -> None:
    public: dict[str, Any] = {"channel": "similar_scores", "num_neighbors": 50, "beta": 0.0, "num_known": 8}
    once = ItemScene(movielens, scene_settings(**public)).outcome(lambda _: None)
    assert (once.found_present == once.found_absent).all()
    twice = ItemScene(movielens, scene_settings(**public, looks="twice", turnover=0.0)).outcome(lambda _: None)
    assert (twice.hits == twice.inferred).all()
    assert twice.hits.sum() > once.hits.sum()
