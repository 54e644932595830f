"""Neighbors of many items at once against the registered mechanisms, on small data."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import chisquare

from dpassay.mechanisms import batched_items, mechanism
from dpassay.mechanisms.batched_items import (
    Pairs,
    Variant,
    compared_values,
    item_table,
    log_weights,
    noise_scales,
    pair_statistics,
    race,
)
from dpassay.mechanisms.item_similarity import item_sensitivities, released_sensitivities

NAN = float("nan")
NEVER = 1e-6  # chance that a true law fails a test
VARIANTS: tuple[Variant, ...] = ("paper", "released", "repaired")


def ratings_matrix(seed: int, users: int = 12, items: int = 7, density: float = 0.45) -> np.ndarray:
    generator = np.random.default_rng(seed)
    stars = generator.integers(1, 6, (users, items)).astype(float)
    return np.where(generator.random((users, items)) < density, stars, np.nan)


def sparse(matrix: np.ndarray) -> csr_matrix:
    rows, columns = np.nonzero(~np.isnan(matrix))
    return csr_matrix((matrix[rows, columns], (rows, columns)), matrix.shape)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(2))
def test_weights_of_sparse_ratings_are_those_of_the_mechanism(variant: Variant, seed: int) -> None:
    matrix = ratings_matrix(seed)
    items = item_table(sparse(matrix), variant)
    for epsilon, k in ((0.6, 2), (30.0, matrix.shape[1] - 1)):
        for target in (0, 4) if k == 2 else (6,):
            selection = mechanism("pnsa", variant, num_neighbors=k, target=target, epsilon=epsilon)
            ours = np.delete(log_weights(items.at(np.array([target])), np.array([target]), selection)[0], target)
            theirs = np.asarray(selection.log_weights(matrix))
            np.testing.assert_array_equal(np.isneginf(ours), np.isneginf(theirs))
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


def test_sensitivities_are_those_of_the_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched_items, "TRIPLES", 20)  # several groups of users
    matrix = ratings_matrix(3)
    paper, released = item_table(sparse(matrix), "paper"), item_table(sparse(matrix), "released")
    for target in (1, 5):
        for items, function in ((paper, item_sensitivities), (released, released_sensitivities)):
            own = np.delete(np.asarray(items.sensitivity)[target], target)
            np.testing.assert_allclose(own, np.asarray(function(matrix, target)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_noise_is_that_of_the_mechanism(variant: Variant) -> None:
    matrix = ratings_matrix(4)
    items = item_table(sparse(matrix), variant)
    others = np.array([0, 1, 3, 4, 5, 6])
    selection = mechanism("pnsa", variant, num_neighbors=2, target=2, epsilon=0.7)
    filtering = mechanism("pnsa_pncf", variant, num_neighbors=2, target=2, epsilon=0.7)
    ours = noise_scales(items.at(np.array([2]), others).sensitivity, selection)
    np.testing.assert_allclose(ours, np.asarray(filtering.noise_scales(matrix)), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("variant", VARIANTS)
def test_races_follow_the_law_of_the_mechanism(variant: Variant) -> None:
    matrix, draws = ratings_matrix(5, items=5), 20_000
    selection = mechanism("pnsa", variant, num_neighbors=2, target=1, epsilon=20.0)
    items = item_table(sparse(matrix), variant)
    logs = log_weights(items.at(np.array([1])), np.array([1]), selection)
    sets = np.sort(race(logs, np.zeros(draws, int), 2, np.random.default_rng(0)), axis=1)
    outputs = selection.outputs(matrix)
    exact = np.exp([float(selection.log_prob(output, matrix)) for output in outputs])
    counts = np.array([(sets == output).all(1).sum() for output in outputs])
    assert counts.sum() == draws
    assert not counts[exact == 0].any()
    assert chisquare(counts[exact > 0], draws * exact[exact > 0]).pvalue > NEVER
    uniform = np.full((exact > 0).sum(), draws / (exact > 0).sum())
    assert chisquare(counts[exact > 0], uniform).pvalue < NEVER  # the test has power against a law without scores


def test_a_race_without_enough_candidates_says_so() -> None:
    logs = np.array([[-np.inf, 0.0, -np.inf, -np.inf]])
    chosen = race(logs, np.zeros(3, int), 2, np.random.default_rng(0))
    assert np.sort(chosen, axis=1).tolist() == [[-1, 1]] * 3


def with_fakes(matrix: np.ndarray, fakes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix with equal fakes as one row, how many users a row stands for, and all fakes written out."""
    fake = np.full((1, matrix.shape[1]), NAN)
    fake[0, :3] = [5, 2, 4]
    copies = np.append(np.ones(len(matrix)), fakes)
    return np.concatenate([matrix, fake]), copies, np.concatenate([matrix, np.repeat(fake, fakes, axis=0)])


def dense_statistics(matrix: np.ndarray, copies: np.ndarray, rows: np.ndarray, variant: Variant | None) -> Pairs:
    return pair_statistics(*compared_values(matrix, variant), copies, rows, variant)


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_of_dense_ratings_are_those_of_the_mechanism(variant: Variant) -> None:
    for seed in range(3):  # one shape, one compilation
        check_weights(variant, seed)


def check_weights(variant: Variant, seed: int) -> None:
    matrix, copies, literal = with_fakes(ratings_matrix(seed, users=8, density=0.6), 3)
    items = np.arange(matrix.shape[1])
    pairs = dense_statistics(matrix, copies, items, variant)
    for item in (1,):  # rated by the fakes, as some of the others are
        selection = mechanism("pnsa", variant, target=int(item), num_neighbors=2, epsilon=3.0)
        logs = log_weights(pairs, items, selection)
        others = items != item
        np.testing.assert_allclose(logs[item, others], selection.log_weights(literal), atol=1e-9)
        assert logs[item, item] == -np.inf
        if variant != "repaired":
            theirs = selection.candidate_sensitivities(literal)
            np.testing.assert_allclose(np.asarray(pairs.sensitivity)[item, others], theirs, atol=1e-9)


@pytest.mark.parametrize("variant", [None, *VARIANTS])
def test_statistics_of_some_items_are_those_of_all(variant: Variant | None) -> None:
    matrix, copies, _ = with_fakes(ratings_matrix(3, users=8, density=0.6), 3)
    whole = dense_statistics(matrix, copies, np.arange(7), variant)
    some = dense_statistics(matrix, copies, np.array([4, 1]), variant)
    order = np.random.default_rng(0).permutation(len(matrix))
    moved = dense_statistics(matrix[order], copies[order], np.arange(7), variant)
    for name in ("score", "sensitivity", "common"):
        array = np.broadcast_to(getattr(whole, name), whole.score.shape)
        np.testing.assert_allclose(np.broadcast_to(getattr(some, name), (2, 7)), array[[4, 1]], atol=1e-12)
        np.testing.assert_allclose(getattr(moved, name), array, atol=1e-12)
        np.testing.assert_allclose(array, array.T, atol=1e-12)
    changed = matrix.copy()
    changed[np.flatnonzero(~np.isnan(matrix[:, 4]))[0], 4] = NAN
    renewed = dense_statistics(changed, copies, np.arange(7), variant)
    assert np.abs(renewed.score - whole.score).max() > 1e-6
    rows = np.flatnonzero(~np.isnan(matrix[np.flatnonzero(~np.isnan(matrix[:, 4]))[0]]))
    patched = whole.patched(rows, dense_statistics(changed, copies, rows, variant))
    np.testing.assert_allclose(patched.score, renewed.score, atol=1e-12)
    np.testing.assert_allclose(patched.sensitivity, renewed.sensitivity, atol=1e-12)


def test_lists_drawn_in_double_precision_have_the_mechanisms_law() -> None:
    matrix, draws = ratings_matrix(4, users=8, items=5, density=0.6), 20_000
    selection = mechanism("pnsa", target=0, num_neighbors=2, epsilon=6.0)
    pairs = dense_statistics(matrix, np.ones(len(matrix)), np.array([0]), "paper")
    logs = log_weights(pairs, np.array([0]), selection)
    lists = np.sort(race(logs, np.zeros(draws, int), 2, np.random.default_rng(0), np.float64), axis=1)
    for output in selection.outputs(matrix):
        expected = math.exp(float(selection.log_prob(output, matrix)))
        observed = (lists == np.asarray(output)).all(1).mean()
        # Five standard deviations of at most 0.0036: each fails with probability below 1e-6.
        assert observed == pytest.approx(expected, abs=0.018)


def test_double_precision_tells_small_weights_apart() -> None:
    logs = np.array([[0.0, -100.0, -200.0, -300.0]])
    lists = race(logs, np.zeros(50, int), 3, np.random.default_rng(0), np.float64)
    assert (np.sort(lists, axis=1) == [0, 1, 2]).all()
