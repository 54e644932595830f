"""Metrics of lists, against literal loops, SciPy and scikit-learn."""

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon, pdist, squareform
from sklearn.metrics import jaccard_score, precision_score, recall_score
from sklearn.metrics.pairwise import cosine_distances as sklearn_cosine

from dpassay.core.errors import InvalidInput
from dpassay.experiments.dpp import list_metrics as metrics

GENERATOR = np.random.default_rng(3)
LISTS = np.array([GENERATOR.permutation(12)[:4] for _ in range(6)])
RELEVANT = GENERATOR.random((9, 12)) < 0.3
RELEVANT[4] = False  # a user without anything held out is not judged


def test_relevance_is_scikit_learns() -> None:
    judged = [user for user in RELEVANT if user.any()]
    assert len(judged) < len(RELEVANT)
    for number, chosen in enumerate(LISTS):
        shown = np.isin(np.arange(12), chosen)
        expected = np.mean([precision_score(user, shown, zero_division=0) for user in judged])
        assert metrics.precision(LISTS, RELEVANT)[number] == pytest.approx(expected)
        expected = np.mean([recall_score(user, shown, zero_division=0) for user in judged])
        assert metrics.recall(LISTS, RELEVANT)[number] == pytest.approx(expected)
        share = np.mean([any(user[item] for item in chosen) for user in judged])
        assert metrics.hit_share(LISTS, RELEVANT)[number] == pytest.approx(share)


def test_precision_is_the_held_out_popularity_of_the_list() -> None:
    judged = RELEVANT[RELEVANT.any(axis=1)]
    assert metrics.precision(LISTS, RELEVANT) == pytest.approx(judged.mean(axis=0)[LISTS].mean(axis=1))
    assert metrics.precision(LISTS, RELEVANT) != pytest.approx(RELEVANT.mean(axis=0)[LISTS].mean(axis=1))


def test_diversity_is_that_of_literal_loops() -> None:
    columns = np.where(GENERATOR.random((9, 12)) < 0.5, GENERATOR.integers(1, 6, (9, 12)), 0).astype(float)
    distances = metrics.cosine_distances(columns)
    assert distances == pytest.approx(sklearn_cosine(columns.T), abs=1e-12)
    columns[:, 5] = 0  # nobody has the item: as far as can be from all others
    assert metrics.cosine_distances(columns)[5].tolist() == [1.0] * 5 + [0.0] + [1.0] * 6
    for number, chosen in enumerate(LISTS):
        pairs = [distances[one, two] for one, two in itertools.combinations(chosen, 2)]
        assert metrics.mean_distance(LISTS, distances)[number] == pytest.approx(np.mean(pairs))
        kernel = columns.T @ columns + np.eye(12)
        volume = np.log(np.linalg.det(kernel[np.ix_(chosen, chosen)]))
        assert metrics.log_volume(LISTS, kernel)[number] == pytest.approx(volume)
    assert metrics.log_volume(np.array([[5, 1]]), columns.T @ columns)[0] == -np.inf


def test_genre_distances_are_scipys() -> None:
    flags = GENERATOR.random((12, 5)) < 0.4
    flags[3] = flags[7] = False
    assert metrics.jaccard_distances(flags) == pytest.approx(squareform(pdist(flags, "jaccard")))
    some = np.flatnonzero(flags.any(axis=1))[:2]
    assert metrics.jaccard_distances(flags)[some[0], some[1]] == pytest.approx(1 - jaccard_score(*flags[some]))


def test_coverage_and_inequality() -> None:
    seen = {int(item) for chosen in LISTS for item in chosen}
    assert metrics.coverage(LISTS, 20) == len(seen) / 20
    shares = metrics.exposure(LISTS, 20)
    assert shares.sum() == pytest.approx(1)
    literal = sum(abs(one - two) for one in shares for two in shares) / (2 * 20 * shares.sum())
    assert metrics.gini(shares) == pytest.approx(literal)
    assert metrics.gini(np.full(7, 0.2)) == pytest.approx(0)
    assert metrics.gini(np.array([0.0, 0.0, 3.0, 0.0])) == pytest.approx(0.75)
    even = np.full(20, 0.05)
    assert metrics.total_variation(shares, even) == pytest.approx(np.maximum(shares - even, 0).sum())
    assert metrics.total_variation(shares, even) >= jensenshannon(shares, even, 2) ** 2 / 2


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ([[0, 1], [1, 1]], "item twice"),
        ([[0, 12]], "allowed is 0 to 11"),
        ([[-1, 2]], "allowed is 0 to 11"),
        ([[0.0, 1.0]], "item numbers"),
        ([0, 1], "item numbers"),
    ],
)
def test_malformed_lists_are_refused(lists: list, reason: str) -> None:
    for function in (metrics.precision, metrics.recall, metrics.hit_share):
        with pytest.raises(InvalidInput, match=reason):
            function(np.array(lists), RELEVANT)
    with pytest.raises(InvalidInput, match=reason):
        metrics.mean_distance(np.array(lists), np.zeros((12, 12)))
    with pytest.raises(InvalidInput, match=reason):
        metrics.coverage(np.array(lists), 12)


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nobody has a relevant item"):
        metrics.precision(LISTS, np.zeros((3, 12), bool))
    with pytest.raises(InvalidInput, match="no pairs"):
        metrics.mean_distance(LISTS[:, :1], np.zeros((12, 12)))
    with pytest.raises(InvalidInput, match="not all 0"):
        metrics.gini(np.zeros(3))
