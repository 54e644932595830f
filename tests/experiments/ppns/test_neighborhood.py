"""Predictions of whole datasets against a slow literal implementation, the mechanisms' laws, and Surprise."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from dpassay.core.errors import InvalidInput
from dpassay.core.protocol import FiniteMechanism
from dpassay.data.ratings import Ratings, synthetic
from dpassay.experiments.ppns.neighborhood import (
    LEAKY,
    Protocol,
    folds,
    mean_absolute_error,
    paired_differences,
    predict,
    predict_from_sets,
    select_sets,
    user_means,
)
from dpassay.mechanisms import mechanism as mechanism_of
from dpassay.mechanisms.batched_users import (
    Block,
    NearestNeighbors,
    PartitionedNeighbors,
    Selection,
    TopWeighted,
    TruncatedNeighbors,
    WeightedNeighbors,
    descending,
    exponential_scale,
    smallest,
)
from dpassay.mechanisms.similarity import similarities as similarities_of_target

ALPHA = 1e-6
PROTOCOLS = [
    Protocol(hold_out, candidates, similarity, ties)  # type: ignore[arg-type]
    for hold_out, candidates, similarity, ties in itertools.product(
        (False, True), ("users", "raters"), ("cosine", "full_cosine", "pearson"), ("index", "last")
    )
]


def random_ratings(seed: int, users: int = 14, items: int = 9) -> Ratings:
    generator = np.random.default_rng(seed)
    matrix = generator.integers(1, 6, (users, items)).astype(float)
    matrix[generator.random(matrix.shape) < 0.45] = np.nan
    matrix[:, 0] = np.where(np.isnan(matrix[:, 0]), 3.0, matrix[:, 0])  # nobody is without ratings
    return Ratings.from_dense(matrix)


def literal_prediction(ratings: Ratings, user: int, item: int, k: int, protocol: Protocol) -> float:
    """kNN as one would write it by hand for one pair."""
    matrix = ratings.dense()
    raters = ~np.isnan(matrix[:, item])
    if protocol.hold_out:
        matrix[user, item] = np.nan
    sims = np.insert(np.asarray(similarities_of_target(matrix, user, protocol.similarity)), user, np.nan)
    candidates = [
        other for other in range(len(matrix)) if other != user and (protocol.candidates == "users" or raters[other])
    ]
    sign = 1 if protocol.ties == "index" else -1
    chosen = sorted(candidates, key=lambda other: (-round(float(sims[other]), 12), sign * other))[:k]
    useful = [other for other in chosen if raters[other]]
    weight = sum(abs(sims[other]) for other in useful)
    return sum(sims[other] * matrix[other, item] for other in useful) / weight if weight > 1e-12 else math.nan


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_nearest_neighbors_agree_with_a_literal_implementation(protocol: Protocol) -> None:
    for seed, k in ((1, 3), (2, 5)):
        ratings = random_ratings(seed)
        ours = predict(ratings, ratings.users, ratings.items, NearestNeighbors(k), protocol)
        literal = [
            literal_prediction(ratings, user, item, k, protocol)
            for user, item in zip(ratings.users.tolist(), ratings.items.tolist(), strict=True)
        ]
        np.testing.assert_allclose(ours, literal, atol=1e-9)


def test_holding_out_matters() -> None:
    ratings = random_ratings(1)
    leaky, clean = (
        predict(ratings, ratings.users, ratings.items, NearestNeighbors(3), Protocol(hold_out))
        for hold_out in (False, True)
    )
    assert np.nanmax(np.abs(leaky - clean)) > 0.1


def test_only_ratings_of_the_dataset_can_be_held_out() -> None:
    ratings = Ratings.from_dense(np.array([[1, np.nan], [2, 3]]))
    with pytest.raises(InvalidInput, match="can be held out"):
        predict(ratings, np.array([0]), np.array([1]), NearestNeighbors(1), Protocol(hold_out=True))


@pytest.mark.parametrize("hold_out", [False, True])
@pytest.mark.parametrize("candidates", ["users", "raters"])
def test_nothing_depends_on_the_order_of_ratings_or_items(hold_out: bool, candidates: str) -> None:
    ratings = random_ratings(5)
    protocol = Protocol(hold_out, candidates)  # type: ignore[arg-type]
    order = np.random.default_rng(0).permutation(len(ratings))
    renamed = np.random.default_rng(1).permutation(ratings.num_items)
    shuffled = Ratings(
        ratings.users[order], renamed[ratings.items[order]], ratings.values[order], ratings.num_users, ratings.num_items
    )
    for k in (2, 6):
        first = predict(ratings, ratings.users, ratings.items, NearestNeighbors(k), protocol)
        second = predict(shuffled, shuffled.users, shuffled.items, NearestNeighbors(k), protocol)
        np.testing.assert_allclose(first[order], second, atol=1e-12)


def test_random_ties_choose_every_tied_candidate_equally_often() -> None:
    matrix = np.array([[4.0, 2.0], [4, 2], [4, 2], [4, 2], [5, 1]])
    ratings = Ratings.from_dense(matrix)
    protocol = Protocol(ties="random")
    counts = sum(select_sets(ratings, NearestNeighbors(1), protocol, seed)[0].astype(int) for seed in range(3000))
    assert counts[0] == counts[4] == 0
    assert scipy.stats.chisquare(counts[1:4]).pvalue > ALPHA


SELECTIONS: list[tuple[Selection, Callable[[], object]]] = [
    (NearestNeighbors(3), lambda: mechanism_of("knn", num_neighbors=3)),
    (
        WeightedNeighbors(3, exponential_scale(3, 40.0, 1.0)),
        lambda: mechanism_of("npns", num_neighbors=3, epsilon=40.0, sensitivity=1.0),
    ),
    (WeightedNeighbors(3, None), lambda: mechanism_of("npns", num_neighbors=3, weight="similarity")),
    (
        TruncatedNeighbors(3, 0.5, exponential_scale(3, 900.0, 1.0)),
        lambda: mechanism_of("pncf", num_neighbors=3, epsilon=900.0, rho=0.5, sensitivity=1.0),
    ),
    (
        PartitionedNeighbors(3, 0.4, "algorithm", exponential_scale(3, 40.0, 1.0)),
        lambda: mechanism_of("ppns", num_neighbors=3, epsilon=40.0, probability=0.4, sensitivity=1.0),
    ),
    (
        PartitionedNeighbors(3, 0.4, "formula", exponential_scale(3, 40.0, 1.0)),
        lambda: mechanism_of("ppns", num_neighbors=3, epsilon=40.0, probability=0.4, rule="formula", sensitivity=1.0),
    ),
]


@pytest.mark.parametrize(
    ("selection", "mechanism"), SELECTIONS, ids=lambda value: "law" if callable(value) else str(value)[:60]
)
def test_selections_have_the_laws_of_the_mechanisms(
    selection: Selection, mechanism: Callable[[], FiniteMechanism]
) -> None:
    ratings = random_ratings(3, users=9, items=6)
    model = mechanism()
    outputs = np.asarray(model.outputs(ratings))
    law = np.exp([float(model.log_prob(output, ratings)) for output in outputs])
    assert law.sum() == pytest.approx(1)
    draws = 20_000
    scores = np.insert(np.asarray(similarities_of_target(ratings, 0)), 0, -np.inf)
    chosen = selection(Block(np.zeros(draws, int), np.tile(scores, (draws, 1))), np.random.default_rng(8))
    assert (chosen.sum(1) == 3).all()
    members = np.nonzero(chosen)[1].reshape(draws, 3)
    index = {tuple(output): number for number, output in enumerate(outputs.tolist())}
    counts = np.bincount([index[tuple(row)] for row in members.tolist()], minlength=len(outputs))
    assert counts[law < 1e-12].sum() == 0, "a set that the mechanism cannot release"
    likely = law * draws >= 5
    observed, expected = np.append(counts[likely], counts[~likely].sum()), law[likely] * draws
    expected = np.append(expected, draws - expected.sum())
    if len(expected) > 2 and expected[-1] > 0:
        assert scipy.stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > ALPHA


def test_top_weighted_stays_in_the_top() -> None:
    scores = np.random.default_rng(0).random((50, 20))
    chosen = TopWeighted(3, 7)(Block(np.arange(50), scores), np.random.default_rng(1))
    assert (chosen.sum(1) == 3).all()
    rank = np.argsort(np.argsort(-scores, 1), 1)
    assert rank[chosen].max() == 6
    assert len(np.unique(rank[chosen])) == 7


def test_descending_keys_break_ties_by_column() -> None:
    scores = np.array([[0.5, 1.0, 0.5, -np.inf, 1.0, -1.0, 0.0]])
    assert np.argsort(descending(scores))[0].tolist() == [1, 4, 0, 2, 6, 5, 3]
    assert np.flatnonzero(smallest(descending(scores), 3)[0]).tolist() == [0, 1, 4]
    assert np.flatnonzero(smallest(descending(scores), 99)[0]).tolist() == [0, 1, 2, 4, 5, 6], "never a non-candidate"
    near = np.nextafter(np.full((1, 2), 0.75), [0.0, 1.0])
    assert np.argsort(descending(near))[0].tolist() == [1, 0], "neighboring doubles keep their order"


def test_averages() -> None:
    errors = np.array([1.0, np.nan, 3.0, 2.0, 2.0, 5.0])
    users = np.array([0, 0, 1, 1, 1, 1])
    assert mean_absolute_error(errors, users, "ratings") == pytest.approx(13 / 5)
    assert mean_absolute_error(errors, users, "users") == pytest.approx((1 + 3) / 2)
    assert mean_absolute_error(errors, users, "trials") == pytest.approx((0.5 * 1 + 3) / 1.5)
    assert math.isnan(mean_absolute_error(np.array([np.nan]), np.array([0])))


def test_paired_differences_use_common_pairs_only() -> None:
    first = np.array([[1.0, np.nan, 3.0, 1.0], [2.0, 1.0, 5.0, np.nan]])
    second = np.array([[0.5, 7.0, np.nan, np.nan]])
    assert paired_differences(first, second, np.array([0, 0, 1, 2]), 3).tolist() == [pytest.approx((0.5 + 1.5 - 6) / 3)]


def test_folds_partition_the_ratings() -> None:
    ratings = synthetic()
    parts = folds(ratings, 5, 3)
    assert np.array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(len(ratings)))
    for train, test in parts:
        assert len(train) + len(test) == len(ratings)
        assert np.isnan(train.dense()[ratings.users[test], ratings.items[test]]).all()


def test_centered_predictions() -> None:
    ratings = Ratings.from_dense(np.array([[2.0, np.nan, 2.0], [5, 4, 3], [1, 5, 3]]))
    weights = np.array([[0, 0.5, 0.25], [0, 0, 0], [0, 0, 0]])
    ours = predict_from_sets(ratings, np.array([0]), np.array([1]), weights, centered=True)
    assert ours[0] == pytest.approx(2 + (0.5 * 0 + 0.25 * 2) / 0.75)
    assert user_means(ratings).tolist() == [2, 4, 3]


def surprise_predictions(train: Ratings, users: np.ndarray, items: np.ndarray, k: int) -> np.ndarray:
    surprise = pytest.importorskip("surprise")
    order = np.lexsort((train.items, train.users))  # ties go to the user met first
    frame = pd.DataFrame({"user": train.users[order], "item": train.items[order], "rating": train.values[order]})
    loaded = surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=train.scale)).build_full_trainset()
    model = surprise.KNNBasic(k=k, sim_options={"name": "cosine", "user_based": True}, verbose=False)
    model.fit(loaded)
    return np.array([model.predict(u, i).est for u, i in zip(users.tolist(), items.tolist(), strict=True)])


def split(ratings: Ratings, size: int) -> tuple[Ratings, np.ndarray]:
    test = np.random.default_rng(0).choice(len(ratings), size, replace=False)
    keep = np.ones(len(ratings), bool)
    keep[test] = False
    rest = (ratings.users[keep], ratings.items[keep], ratings.values[keep])
    return Ratings(*rest, ratings.num_users, ratings.num_items), test


@pytest.mark.parametrize("k", [10, 40])
def test_agrees_with_surprise_on_every_prediction(k: int) -> None:
    ratings = synthetic()
    train, test = split(ratings, 400)
    users, items = ratings.users[test], ratings.items[test]
    ours = predict(train, users, items, NearestNeighbors(k), Protocol(candidates="raters"))
    ours = np.where(np.isnan(ours), train.values.mean(), ours)
    np.testing.assert_allclose(ours, surprise_predictions(train, users, items, k), atol=1e-9)


@pytest.mark.realdata
def test_agrees_with_surprise_on_movielens(movielens: Ratings) -> None:
    train, test = split(movielens, 10_000)
    users, items, values = movielens.users[test], movielens.items[test], movielens.values[test]
    ours = predict(train, users, items, NearestNeighbors(50), Protocol(candidates="raters"))
    ours = np.where(np.isnan(ours), train.values.mean(), ours)
    theirs = surprise_predictions(train, users, items, 50)
    error = float(np.abs(theirs - values).mean())
    assert float(np.abs(ours - values).mean()) == pytest.approx(error, abs=1e-4)
    assert error == pytest.approx(0.805, abs=5e-3)
    assert (np.abs(ours - theirs) > 1e-9).sum() <= 20, "only pairs whose ties Surprise's rounding splits"


@pytest.mark.realdata
def test_anchors_on_movielens(movielens: Ratings) -> None:
    expected = {10: (0.7880, 0.8057, 0.7108), 50: (0.6873, 0.7038, 0.6556), 100: (0.6657, 0.6768, 0.6655)}
    for k, values in expected.items():
        predictions = predict(movielens, movielens.users, movielens.items, NearestNeighbors(k), LEAKY)
        errors = np.abs(predictions - movielens.values)
        for average, value in zip(("trials", "users", "ratings"), values, strict=True):
            measured = mean_absolute_error(errors, movielens.users, average)  # type: ignore[arg-type]
            assert measured == pytest.approx(value, abs=1e-3)
