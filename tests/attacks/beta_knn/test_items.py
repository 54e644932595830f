"""The sybil attack on item-based recommenders against the mechanisms themselves and cases worked out by hand."""

import math
from typing import Any

import numpy as np
import pytest

from dpassay.attacks.beta_knn import items as attack
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic
from dpassay.mechanisms import mechanism

NAN = float("nan")
PRIVATE: tuple[attack.Method, ...] = ("pnsa", "pnsa_released", "pnsa_repaired")


def random_matrix(seed: int, users: int = 8, items: int = 7) -> np.ndarray:
    generator = np.random.default_rng(seed)
    matrix = generator.integers(1, 6, (users, items)).astype(float)
    matrix[generator.random(matrix.shape) < 0.4] = NAN
    return matrix


def with_fakes(matrix: np.ndarray, fakes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix with equal fakes as one row, how many users a row stands for, and all fakes written out."""
    fake = np.full((1, matrix.shape[1]), NAN)
    fake[0, :3] = [5, 2, 4]
    copies = np.append(np.ones(len(matrix)), fakes)
    return np.concatenate([matrix, fake]), copies, np.concatenate([matrix, np.repeat(fake, fakes, axis=0)])


@pytest.mark.parametrize("method", PRIVATE)
def test_weights_are_those_of_the_mechanism(method: attack.Method) -> None:
    for seed in range(3):  # one shape, one compilation
        check_weights(method, seed)


def check_weights(method: attack.Method, seed: int) -> None:
    matrix, copies, literal = with_fakes(random_matrix(seed), 3)
    k, epsilon = 2, 3.0
    items = np.arange(matrix.shape[1])
    pairs = attack.pair_statistics(matrix, copies, items, method)
    logs = attack.log_weights(pairs, items, method, k, epsilon)
    for item in (1,):  # rated by the fakes, as some of the others are
        selection = mechanism("pnsa", attack.VARIANTS[method], target=int(item), num_neighbors=k, epsilon=epsilon)
        others = items != item
        np.testing.assert_allclose(logs[item, others], selection.log_weights(literal), atol=1e-9)
        assert logs[item, item] == -np.inf
        if method != "pnsa_repaired":
            theirs = selection.candidate_sensitivities(literal)
            np.testing.assert_allclose(pairs.sensitivity[item, others], theirs, atol=1e-9)


@pytest.mark.parametrize("method", attack.METHODS)
def test_statistics_of_some_items_are_those_of_all(method: attack.Method) -> None:
    matrix, copies, _ = with_fakes(random_matrix(3), 3)
    whole = attack.pair_statistics(matrix, copies, np.arange(7), method)
    some = attack.pair_statistics(matrix, copies, np.array([4, 1]), method)
    order = np.random.default_rng(0).permutation(len(matrix))
    moved = attack.pair_statistics(matrix[order], copies[order], np.arange(7), method)
    for name in ("score", "sensitivity", "common"):
        array = getattr(whole, name)
        np.testing.assert_allclose(getattr(some, name), array[[4, 1]], atol=1e-12)
        np.testing.assert_allclose(getattr(moved, name), array, atol=1e-12)
        np.testing.assert_allclose(array, array.T, atol=1e-12)
    changed = matrix.copy()
    changed[np.flatnonzero(~np.isnan(matrix[:, 4]))[0], 4] = NAN
    renewed = attack.pair_statistics(changed, copies, np.arange(7), method)
    assert np.abs(renewed.score - whole.score).max() > 1e-6
    rows = np.flatnonzero(~np.isnan(matrix[np.flatnonzero(~np.isnan(matrix[:, 4]))[0]]))
    patched = whole.patched(rows, attack.pair_statistics(changed, copies, rows, method))
    np.testing.assert_allclose(patched.score, renewed.score, atol=1e-12)
    np.testing.assert_allclose(patched.sensitivity, renewed.sensitivity, atol=1e-12)


def test_drawn_lists_have_the_mechanisms_law() -> None:
    matrix = random_matrix(4, items=5)
    selection = mechanism("pnsa", target=0, num_neighbors=2, epsilon=6.0)
    items = np.array([0])
    pairs = attack.pair_statistics(matrix, np.ones(len(matrix)), items, "pnsa")
    logs = attack.log_weights(pairs, items, "pnsa", 2, 6.0)
    draws = 20_000
    lists = attack.draw_neighbors(np.repeat(logs, draws, axis=0), 2, False, np.random.default_rng(0))
    lists = np.sort(lists, axis=1)
    for output in selection.outputs(matrix):
        expected = math.exp(float(selection.log_prob(output, matrix)))
        observed = (lists == np.asarray(output)).all(1).mean()
        # Five standard deviations of at most 0.0036: each fails with probability below 1e-6.
        assert observed == pytest.approx(expected, abs=0.018)


def test_without_privacy_the_most_similar_items_are_listed() -> None:
    logs = np.array([[-np.inf, 0.2, 0.9, 0.2, -np.inf], [-np.inf, -np.inf, 0.3, -np.inf, -np.inf]])
    lists = attack.draw_neighbors(logs, 2, True, np.random.default_rng(0))
    np.testing.assert_array_equal(lists, [[2, 1], [2, -1]])


def secluded() -> Ratings:
    """User 0 alone rated items 0 to 5; six others rated items 6 to 11, and among them item 0 is unknown."""
    matrix = np.full((7, 12), NAN)
    matrix[0, :6] = [5, 3, 4, 5, 4, 3]
    matrix[1:, 6:] = np.random.default_rng(0).integers(1, 6, (6, 6))
    return Ratings.from_dense(matrix)


@pytest.mark.parametrize("channel", ["similar_items", "similar_scores", "ratings", "top_n", "both"])
def test_a_user_with_items_of_her_own_is_read_completely(channel: attack.Channel) -> None:
    data = secluded()
    report = attack.run(data, channel=channel, num_known=2, num_neighbors=5, targets=7, guesses=4, seed=1)
    # Every user shares all items with herself only (user 0) or with five others who rated the same ones.
    assert report.metric("precision").value == 1
    assert report.metric("yield").value == 1
    assert report.metric("advantage").value > 0
    assert report.metric("precision").value > report.metric("guess-precision").value


def test_the_secluded_user_without_a_rating_does_not_show_it() -> None:
    data = secluded()
    settings = scene_settings(channel="similar_items", num_known=2, num_neighbors=5, guesses=4, targets=7)
    scene = attack._Scene(data, settings)
    number = int(np.flatnonzero(scene.targets == 0)[0])
    known = scene.known[number]
    hidden = np.setdiff1d(np.arange(6), known)
    evidence, _, _ = scene.observe(number, hidden)
    np.testing.assert_array_equal(np.sort(scene.infer(evidence, known)), hidden)
    without, _, _ = scene.observe(number, hidden[1:])
    np.testing.assert_array_equal(np.sort(scene.infer(without, known)), hidden[1:])


def scene_settings(**changes: Any) -> attack._Settings:
    defaults: dict[str, Any] = {
        "method": "item_knn",
        "epsilon": 1.0,
        "num_neighbors": 3,
        "beta": 1.0,
        "num_known": 3,
        "choice": "random",
        "channel": "ratings",
        "list_length": 3,
        "guesses": 5,
        "looks": "once",
        "turnover": 0.2,
        "rounds": 1,
        "targets": 5,
        "wrong": 0.0,
        "seed": 0,
    }
    return attack._Settings(**{**defaults, **changes})


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
    scene = attack._Scene(data, scene_settings(seed=seed, wrong=wrong, beta=4 / 3))
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
    scene = attack._Scene(data, scene_settings(channel="similar_scores", looks="twice", turnover=0.0))
    for number, target in enumerate(scene.targets):
        hidden = np.setdiff1d(np.flatnonzero(~np.isnan(scene.matrix[target])), scene.known[number])
        evidence, _, _ = scene.observe(number, hidden)
        nothing, _, _ = scene.observe(number, hidden[:0])
        assert not nothing.any()
        assert evidence.any()
    # Where others' ratings arrive meanwhile, something is new without the target.
    scene = attack._Scene(data, scene_settings(channel="similar_scores", looks="twice", turnover=0.5))
    nothing, _, _ = scene.observe(0, hidden[:0])
    assert nothing.any()


@pytest.mark.parametrize("method", attack.METHODS)
@pytest.mark.parametrize("channel", ["similar_items", "both"])
def test_report_on_synthetic_ratings(method: attack.Method, channel: attack.Channel) -> None:
    settings: dict[str, Any] = {"method": method, "channel": channel, "targets": 4, "num_neighbors": 4, "guesses": 6}
    report = attack.run(synthetic(60, 40), **settings)
    document = report.to_json()
    assert {**document, "seconds": 0} == {**attack.run(synthetic(60, 40), **settings).to_json(), "seconds": 0}
    assert tuple(metric.name for metric in report.metrics) == attack.METRICS
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
            attack._Scene(synthetic(), scene_settings(method=method, channel="similar_items"))
            .outcome(lambda _: None)
            .kept
        )
        for method in ("item_knn", "pnsa_repaired")
    }
    assert kept["item_knn"] == 1
    assert kept["pnsa_repaired"] < 0.4


def test_bad_input_is_refused() -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"method": "knn"}, "method 'knn'"),
        ({"channel": "mail"}, "channel 'mail'"),
        ({"choice": "best"}, "choice 'best'"),
        ({"looks": "thrice"}, "looks 'thrice'"),
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
            attack.run(synthetic(20, 30), **settings)


@pytest.mark.realdata
def test_only_what_is_new_shows_a_users_own_ratings_on_movielens(movielens: Ratings) -> None:
    public: dict[str, Any] = {"channel": "similar_scores", "num_neighbors": 50, "beta": 0.0, "num_known": 8}
    once = attack._Scene(movielens, scene_settings(**public)).outcome(lambda _: None)
    assert (once.present == once.absent).all()
    twice = attack._Scene(movielens, scene_settings(**public, looks="twice", turnover=0.0)).outcome(lambda _: None)
    assert (twice.hits == twice.inferred).all()
    assert twice.hits.sum() > once.hits.sum()
