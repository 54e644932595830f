"""Batched replacements, neighbors and predictions against the registered mechanisms, on small data."""

import jax
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import chisquare

from dpassay.attacks.alterego.alteregos import replacement_laws
from dpassay.core.errors import InvalidInput
from dpassay.experiments.xmap import item_neighbors
from dpassay.experiments.xmap.item_neighbors import (
    nearest,
    of_the_reader,
    predict,
    profiles,
    replacements,
)
from dpassay.experiments.xmap.meta_paths import direct_similarities, xsim
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.alterego import alterego
from dpassay.mechanisms.batched_items import item_table
from dpassay.mechanisms.similarity import predict as predict_one

NEVER = 1e-6  # chance that a true law fails a test


def ratings_matrix(seed: int, users: int = 12, items: int = 7, density: float = 0.45) -> np.ndarray:
    generator = np.random.default_rng(seed)
    stars = generator.integers(1, 6, (users, items)).astype(float)
    return np.where(generator.random((users, items)) < density, stars, np.nan)


def test_an_item_without_ratings_has_the_overall_mean() -> None:
    means, known = item_neighbors.item_means(sparse(np.array([[1.0, np.nan, 5.0], [3.0, np.nan, np.nan]])))
    assert means.tolist() == [2.0, 3.0, 5.0]
    assert known.tolist() == [True, False, True]


def sparse(matrix: np.ndarray) -> csr_matrix:
    rows, columns = np.nonzero(~np.isnan(matrix))
    return csr_matrix((matrix[rows, columns], (rows, columns)), matrix.shape)


def law(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize("variant", ["paper", "released", "repaired"])
def test_replacements_follow_the_law_of_the_mechanism(variant: str) -> None:
    matrix, draws, sources = ratings_matrix(6, items=16, density=0.3), 20_000, 4
    cap, epsilon = (50, 400.0) if variant == "released" else (1, 8.0)  # three co-raters of 50: similarities are small
    scores = direct_similarities(sparse(matrix[:, :sources]), sparse(matrix[:, sources:]), cap)
    prs = mechanism("prs", variant, epsilon=epsilon, source_item=2, num_source_items=sources)
    exact = np.exp([float(prs.log_prob(output, matrix)) for output in prs.outputs(matrix)])
    which, generator = np.full(draws, 2), np.random.default_rng(1)
    chosen = replacements(scores, which, variant, epsilon, generator)  # type: ignore[arg-type]
    counts = np.bincount(chosen, minlength=len(exact))
    assert not counts[exact == 0].any()
    assert (variant == "repaired") == (exact > 0).all()
    assert chisquare(counts[exact > 0], draws * exact[exact > 0]).pvalue > NEVER
    assert chisquare(counts[exact > 0]).pvalue < NEVER


@pytest.mark.parametrize("variant", ["paper", "released", "repaired"])
def test_replacements_by_meta_paths_follow_the_law_of_the_attack(variant: str) -> None:
    matrix = ratings_matrix(7, users=14, items=17, density=0.2)
    matrix[:6, 9:], matrix[8:, :9] = np.nan, np.nan
    scores = xsim(sparse(matrix[:, :9]), sparse(matrix[:, 9:]), significance_cap=2)
    dense = np.full(scores.shape, np.nan)
    dense[scores.tocoo().row, scores.tocoo().col] = scores.data
    laws = replacement_laws(dense, f"prs_{variant}" if variant != "paper" else "prs", 6.0)  # type: ignore[arg-type]
    draws = 4_000
    sources = np.repeat(np.arange(9), draws)
    chosen = replacements(scores, sources, variant, 6.0, np.random.default_rng(2))  # type: ignore[arg-type]
    for source in range(9):
        counts = np.bincount(chosen[sources == source] % (dense.shape[1] + 1), minlength=dense.shape[1] + 1)
        exact = laws[source]
        assert not counts[exact == 0].any()
        assert (exact > 0).sum() == 1 or chisquare(counts[exact > 0], draws * exact[exact > 0]).pvalue > NEVER / 9


def test_without_privacy_the_most_similar_item_replaces() -> None:
    scores = csr_matrix(([0.2, 0.9, 0.9, 0.0], ([0, 0, 0, 2], [0, 1, 3, 2])), (4, 5))
    chosen = replacements(scores, np.arange(4), None, 1.0, np.random.default_rng(0))
    assert chosen.tolist() == [1, -1, 2, -1]  # a tie by lower item; a similarity of 0 is one


def test_profiles_are_the_mechanisms_alter_egos() -> None:
    matrix = ratings_matrix(8, items=9)
    mapping = np.array([1, -1, 1, 0])
    ours, mapped = profiles(sparse(matrix[:, :4]), sparse(matrix[:, 4:]), np.arange(12), mapping.__getitem__)
    theirs = np.asarray(alterego(matrix, np.where(mapping >= 0, mapping + 4, -1)))
    np.testing.assert_allclose(ours, theirs)
    assert mapped == (~np.isnan(matrix[:, [0, 2, 3]])).sum()


def test_predictions_are_the_mechanisms() -> None:
    generator = np.random.default_rng(9)
    similarity, ratings = generator.normal(size=(50, 3)), generator.integers(1, 6, (50, 3)).astype(float)
    ratings[generator.random((50, 3)) < 0.4] = np.nan
    neighbors = np.zeros((50, 3), int)
    flat = {
        "neighbor_means": np.full((50, 3), 3.0),
        "item_means": np.full(50, 3.5),
        "reader_means": np.full(50, 2.5),
    }
    result = predict(neighbors, similarity, ratings, **flat, scale=(-9.0, 9.0))
    with jax.enable_x64(True):
        exact = np.array([float(predict_one(s, r)) for s, r in zip(similarity, ratings, strict=True)])
    assert (result.covered == ~np.isnan(exact)).all()
    np.testing.assert_allclose(result.own, np.where(result.covered, exact, 2.5))
    centered = np.where(np.isnan(ratings), 0.0, ratings - 3) * similarity
    weight = np.where(np.isnan(ratings), 0.0, np.abs(similarity)).sum(1)
    expected = np.where(result.covered, 3.5 + centered.sum(1) / np.where(weight > 0, weight, 1), 3.5)
    np.testing.assert_allclose(result.centered, expected)
    positive = predict(neighbors, np.maximum(similarity, 0.0), ratings, **flat, scale=(-9.0, 9.0)).own
    np.testing.assert_allclose(result.positive, positive)
    infinite = similarity.copy()
    infinite[0, 0], ratings[0, 0] = np.inf, 4.0
    assert not predict(neighbors, infinite, ratings, **flat, scale=(1.0, 5.0)).covered[0]
    assert predict(neighbors, similarity, ratings, **flat, scale=(1.0, 5.0)).own.max() <= 5.0


def test_nearest_items_with_and_without_the_reader() -> None:
    matrix = ratings_matrix(10)
    items = item_table(sparse(matrix), "released")
    rows = np.arange(7)
    chosen = nearest(items, rows, 3)
    for row in rows:
        size = np.where(np.arange(7) == row, -1, np.abs(items.score[row]))
        assert set(chosen[row]) - {-1} <= set(np.argsort(-size)[:3])
    rated = ~np.isnan(matrix)
    mine = of_the_reader(items.score, np.array([0, 0]), rated, np.array([0, 1]), 2)
    for owner, found in zip((0, 1), mine, strict=True):
        size = np.where(rated[owner], np.abs(items.score[0]), 0.0)
        assert set(found) - {-1} == set(np.argsort(-size)[:2]) & set(np.flatnonzero(size))


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use paper, released, repaired"):
        item_table(sparse(ratings_matrix(0)), "improved")  # type: ignore[arg-type]
