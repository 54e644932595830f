"""The accuracy of neighbor selections, against a literal prediction, and what the report says about it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpassay.attacks.beta_knn import neighbor_accuracy
from dpassay.attacks.beta_knn.neighbor_accuracy import held_out
from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.attacks.beta_knn.user_report import BLIND, run
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic
from dpassay.mechanisms.similarity import predict, similarities


def grouped(num_users: int = 60, num_items: int = 40) -> Ratings:
    """Two kinds of users: what one kind rates 5 the other rates 1, so that neighbors of one's own kind know all."""
    generator = np.random.default_rng(0)
    matrix = np.where(np.arange(num_users)[:, None] % 2 == np.arange(num_items) % 2, 5.0, 1.0)
    matrix[generator.random(matrix.shape) < 0.3] = np.nan
    users, items = np.nonzero(~np.isnan(matrix))
    return Ratings(users, items, matrix[users, items], num_users, num_items)


def test_neighbors_that_know_are_right_and_random_ones_are_not() -> None:
    knn = Recommender("knn", 10, similarity="full_cosine")
    blind = replace(knn, method="npns", epsilon=BLIND)
    found = held_out(grouped(), {"knn": knn, "blind": blind})
    assert len(found.counts) == 12
    np.testing.assert_array_less(found.errors["knn"], 1e-12)
    assert found.errors["blind"].mean() > 1
    assert found.own_mean.mean() > 1.5
    assert found.covered["knn"].mean() > 0.99


@pytest.mark.parametrize("similarity", ["full_cosine", "cosine", "pearson"])
def test_errors_are_those_of_a_literal_prediction(similarity: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = synthetic(40, 30)
    recommender = Recommender("knn", 6, similarity=similarity, ties="index")
    seen: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    honest = neighbor_accuracy._predicted

    def noted(table: Any, recommender: Any, items: np.ndarray, values: np.ndarray, generator: Any) -> np.ndarray:
        seen.append((items, values, honest(table, recommender, items, values, generator)))
        return seen[-1][2]

    monkeypatch.setattr(neighbor_accuracy, "_predicted", noted)
    found = held_out(ratings, {"knn": recommender}, seed=3)
    matrix = ratings.dense()
    readers = [
        next(u for u in range(40) if all(matrix[u, i] == v for i, v in zip(items, values, strict=True)))
        for items, values, _ in seen
    ]
    community = np.delete(matrix, readers, axis=0)
    assert len(readers) == 8 == len(set(readers))
    for number, (reader, (items, values, predicted)) in enumerate(zip(readers, seen, strict=True)):
        own = np.full(30, np.nan)
        own[items] = values
        whole = np.concatenate([community, own[None]])
        scores = np.array(similarities(whole, 32, similarity))[:32]
        nearest = np.argsort(-np.round(scores, 12), kind="stable")[:6]
        literal = np.array([predict(scores[nearest], community[nearest, item]) for item in range(30)])
        np.testing.assert_allclose(predicted[0], literal, atol=1e-9)
        hidden = np.setdiff1d(np.flatnonzero(~np.isnan(matrix[reader])), items)
        assert len(hidden) == found.counts[number] == (len(hidden) + len(items)) // 5
        filled = np.where(np.isnan(literal), values.mean(), np.clip(literal, 1, 5))[hidden]
        assert found.errors["knn"][number] == pytest.approx(np.abs(filled - matrix[reader, hidden]).mean())


def test_what_cannot_be_used_says_why() -> None:
    ratings = synthetic(30, 20)
    found = held_out(ratings, {"knn": Recommender("knn", 5), "wide": Recommender("knn", 25, num_nearest=25)})
    assert found.errors.keys() == {"knn"}
    assert "25 neighbors of 24 candidates" in found.refused["wide"]
    with pytest.raises(InvalidInput, match="two users with five ratings"):
        held_out(synthetic(4, 10), {"knn": Recommender("knn", 2)})


def test_the_report_says_what_the_repair_costs() -> None:
    report = run(grouped(), method="knn", targets=10, num_neighbors=10, epsilon=0.01)
    assert report.repair is not None
    _, cost = report.repair["tables"]
    assert [row[0] for row in cost.rows] == [
        "k nearest neighbors",
        "nPNS repaired",
        "PPNS repaired",
        "neighbors at random",
        "no neighbors: the user's own mean",
    ]
    assert cost.rows[0][2].startswith("0.000")
    assert "the mean absolute error is 0.000 with k nearest neighbors" in report.repair["text"]
    assert "not measurably better than random" in report.repair["text"]


def test_private_neighbors_beat_random_ones_where_epsilon_is_large() -> None:
    report = run(grouped(), method="npns_repaired", targets=10, num_neighbors=10, epsilon=5000.0, norm_floor=8.0)
    assert report.repair is not None
    assert "not measurably better" not in report.repair["text"]
    assert "This selection is repaired already" in report.repair["text"]


def test_data_too_small_for_the_neighbors_are_reported() -> None:
    report = run(synthetic(), method="knn", targets=5, num_neighbors=110)
    assert report.repair is not None
    text = report.repair["text"]
    assert "PPNS repaired cannot be used on these data: 229 candidates are too few" in text
    assert "It could not be measured with k nearest neighbors: 110 neighbors of 96 candidates" in text
    assert "with the own mean rating of each user" in text  # what can be measured is
