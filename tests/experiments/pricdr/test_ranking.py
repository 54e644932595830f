"""Ranking metrics against a literal loop and scikit-learn, and which epoch is tested."""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from dpassay.core.errors import InvalidInput
from dpassay.experiments.pricdr.printed import METRICS
from dpassay.experiments.pricdr.ranking import CUTOFFS, evaluate, metrics, ranks
from dpassay.models.task import Scores, Task, synthetic_task

TASK = synthetic_task(30, 40, 120, 300, 300)


def literal(heldout: float, negatives: list[float], cutoff: int) -> tuple[float, float, float]:
    """HR, NDCG and MRR of one user, the held-out item listed behind whatever scores the same."""
    listed = sorted([(-score, 0) for score in negatives] + [(-heldout, 1)])
    position = listed.index((-heldout, 1))
    if position >= cutoff:
        return 0.0, 0.0, 0.0
    return 1.0, math.log(2) / math.log(position + 2), 1 / (position + 1)


@pytest.mark.parametrize("ties", [False, True])
def test_metrics_against_a_loop(ties: bool) -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(200, 100))
    scores = np.round(2 * scores) if ties else scores
    found = metrics(ranks(scores[:, 0], scores[:, 1:]))
    assert tuple(found) == METRICS
    for cutoff in CUTOFFS:
        expected = np.mean([literal(row[0], row[1:].tolist(), cutoff) for row in scores], axis=0)
        np.testing.assert_allclose([found[f"{name}{cutoff}"] for name in ("HR", "NDCG", "MRR")], expected, rtol=1e-12)


def test_metrics_against_scikit_learn() -> None:
    scores = np.random.default_rng(1).normal(size=(200, 100))
    truth = np.zeros_like(scores)
    truth[:, 0] = 1
    rank = ranks(scores[:, 0], scores[:, 1:])
    for cutoff in CUTOFFS:
        assert metrics(rank)[f"NDCG{cutoff}"] == pytest.approx(ndcg_score(truth, scores, k=cutoff))
    assert np.mean(1 / rank) == pytest.approx(label_ranking_average_precision_score(truth, scores))


def test_what_says_nothing_earns_nothing() -> None:
    assert set(metrics(ranks(np.ones(5), np.ones((5, 99)))).values()) == {0.0}
    assert set(metrics(ranks(np.full(5, np.nan), np.zeros((5, 99)))).values()) == {0.0}
    assert set(metrics(ranks(np.ones(5), np.full((5, 99), np.nan))).values()) == {0.0}
    assert set(metrics(ranks(np.ones(5), np.zeros((5, 99)))).values()) == {1.0}


def staged(validation: list[list[int]], test: list[list[int]]) -> Iterator[Scores]:
    """Epochs in which held-out items have the given ranks, cycled over users."""
    for stage in zip(validation, test, strict=True):

        def scores(items: np.ndarray, stage: tuple[list[int], ...] = stage) -> np.ndarray:
            found = np.zeros(items.shape)
            found[:, 2:] = np.arange(items.shape[1] - 2, 0, -1)
            for column, positions in enumerate(stage):
                found[:, column] = items.shape[1] - 1.5 - (np.resize(positions, len(items)) - 1)
            return found

        yield scores


def test_epochs_are_chosen_on_validation() -> None:
    # Best by HR, by NDCG and by MRR: three users in ten, a rank of 2 and one of 4, a rank of 1.
    validation = [[8, 8, 8], [2, 4, 50], [1, 50, 50], [50, 50, 50]]
    test = [[50, 50, 50], [3, 50, 50], [7, 7, 7], [1, 1, 1]]
    record = evaluate(staged(validation, test), TASK)
    expected = [metrics(np.array(epoch)) for epoch in validation]
    assert [int(np.argmax([epoch[f"{name}10"] for epoch in expected])) + 1 for name in ("HR", "NDCG", "MRR")] == [
        record["epoch_HR"],
        record["epoch_NDCG"],
        record["epoch_MRR"],
    ]
    assert (record["epoch_HR"], record["epoch_NDCG"], record["epochs"]) == (1, 2, 4)
    tested = [metrics(np.resize(epoch, TASK.num_users)) for epoch in test]
    for metric in METRICS:
        chosen = record[f"epoch_{metric.rstrip('0123456789')}"] - 1
        assert record[f"authors_{metric}"] == pytest.approx(tested[chosen][metric])
        assert record[f"clean_{metric}"] == pytest.approx(tested[record["epoch_NDCG"] - 1][metric])
    assert record["validation_NDCG10"] == pytest.approx(expected[1]["NDCG10"])
    better_test = evaluate(staged(validation, [[1, 1, 1], *test[1:]]), TASK)
    assert [better_test[f"epoch_{name}"] for name in ("HR", "NDCG", "MRR")] == [
        record[f"epoch_{name}"] for name in ("HR", "NDCG", "MRR")
    ]
    assert evaluate(staged(validation, test), TASK, limit=1)["epochs"] == 1


def test_each_held_out_item_is_ranked_among_the_negatives_only() -> None:
    swapped = dataclasses.replace(TASK, validation=TASK.test, test=TASK.validation)

    def model(task: Task) -> Iterator[Scores]:
        table = np.random.default_rng(2).normal(size=(task.num_users, task.num_target_items))
        yield lambda items: np.take_along_axis(table, items, axis=1)

    table = np.random.default_rng(2).normal(size=(TASK.num_users, TASK.num_target_items))
    rows = np.arange(TASK.num_users)
    for task in (TASK, swapped):
        expected = metrics(ranks(table[rows, task.test], np.take_along_axis(table, task.negatives, axis=1)))
        record = evaluate(model(task), task)
        assert {name: record[f"clean_{name}"] for name in METRICS} == expected


def test_models_that_cannot_be_evaluated() -> None:
    with pytest.raises(InvalidInput, match="yields no epoch"):
        evaluate(iter(()), TASK)
    with pytest.raises(InvalidInput, match="give one score each"):
        evaluate(iter([lambda items: items[:, :3]]), TASK)
