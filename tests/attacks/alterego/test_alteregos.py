"""The attack on AlterEgos against the mechanisms' own laws, literal loops, and cases worked out by hand."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.alterego import alteregos as attack
from dpassay.attacks.alterego.report import run
from dpassay.attacks.alterego.settings import AlterEgoSettings, Method
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic
from dpassay.mechanisms import mechanism as prs_mechanism
from dpassay.mechanisms.alterego import alterego

NAN = float("nan")
PRIVATE: tuple[Method, ...] = ("prs", "prs_released", "prs_repaired")


def random_matrix(seed: int, users: int = 9, items: int = 19) -> np.ndarray:
    generator = np.random.default_rng(seed)
    matrix = generator.integers(1, 6, (users, items)).astype(float)
    matrix[generator.random(matrix.shape) < 0.6] = NAN
    return matrix


def laws_of(matrix: np.ndarray, sources: int, method: Method, epsilon: float) -> np.ndarray:
    cap = 50 if method == "prs_released" else 1
    return attack.replacement_laws(attack.link_table(matrix, sources).similarities(cap), method, epsilon)


@pytest.mark.parametrize("method", PRIVATE)
@pytest.mark.parametrize("seed", [0, 1])
def test_laws_are_those_of_the_mechanism(method: Method, seed: int) -> None:
    matrix, sources, epsilon = random_matrix(seed), 4, 3.0
    laws = laws_of(matrix, sources, method, epsilon)
    for item in range(sources):
        mechanism = prs_mechanism(
            "prs", attack.VARIANTS[method], epsilon=epsilon, source_item=item, num_source_items=sources
        )
        logs = [float(mechanism.log_prob(output, matrix)) for output in mechanism.outputs(matrix)]
        expected = [*np.zeros(len(logs)), 1.0] if np.isnan(logs).all() else [*np.exp(logs), 0.0]
        np.testing.assert_allclose(laws[item], expected, atol=1e-12)


def test_laws_feel_a_changed_rating_and_a_changed_epsilon() -> None:
    matrix = random_matrix(0)
    user, item = np.argwhere(~np.isnan(matrix[:, :4]))[0]
    changed = matrix.copy()
    changed[user, item] = 6 - changed[user, item] + 0.5
    for method in PRIVATE:
        laws = laws_of(matrix, 4, method, 2.0)
        assert np.abs(laws - laws_of(changed, 4, method, 2.0)).max() > 1e-6
        assert np.abs(laws - laws_of(matrix, 4, method, 4.0)).max() > 1e-6


def test_without_privacy_the_most_similar_item_is_taken() -> None:
    similarities = np.array([[0.1, 0.9, NAN, 0.9], [NAN, -0.5, -0.2, NAN], [NAN] * 4])
    laws = attack.replacement_laws(similarities, "alterego")
    np.testing.assert_array_equal(laws, np.eye(5)[[1, 2, 4]])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_table_without_a_user_is_that_of_the_smaller_dataset(seed: int) -> None:
    matrix, sources = random_matrix(seed), 6
    table = attack.link_table(matrix, sources)
    for user in range(len(matrix)):
        rows = np.flatnonzero(~np.isnan(matrix[user, :sources]))
        ours = attack.without_user(table, matrix[user], rows).similarities()
        literal = attack.link_table(np.delete(matrix, user, axis=0), sources).similarities()[rows]
        np.testing.assert_allclose(ours, literal, atol=1e-9)


def test_alteregos_are_those_of_the_building_block() -> None:
    matrix, sources, rounds = random_matrix(3, users=5), 7, 4
    laws = laws_of(matrix, sources, "prs", 1.0)
    profiles = matrix[:, :sources]
    egos = attack.sample_alteregos(laws, profiles, rounds, np.random.default_rng(1))
    for user in range(len(matrix)):
        own = egos.owners == user
        new = np.concatenate([profiles[user], np.full(matrix.shape[1] - sources, NAN)])[None, :]
        for look in range(rounds):
            replacements = np.full(sources, -1)
            drawn = egos.draws[own, look]
            replacements[egos.items[own]] = np.where(drawn == laws.shape[1] - 1, -1, sources + drawn)
            expected = np.asarray(alterego(new, replacements))[0]
            np.testing.assert_array_equal(egos.shown[user, look], ~np.isnan(expected))
            np.testing.assert_allclose(egos.ratings[user, look], np.nan_to_num(expected))


def test_draws_follow_the_law() -> None:
    laws = np.array([[0.0, 0.2, 0.5, 0.3, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    rounds = 20_000
    egos = attack.sample_alteregos(laws, np.array([[3.0, 4.0, 5.0]]), rounds, np.random.default_rng(0))
    counts = np.bincount(egos.draws[0], minlength=5)
    # Binomial with standard deviation below 71: five of them fail with probability below 1e-6.
    np.testing.assert_allclose(counts, rounds * laws[0], atol=360)
    assert counts[0] == counts[4] == 0
    assert (egos.draws[1] == 4).all()
    assert (egos.draws[2] == 0).all()


def literal_beliefs(laws: np.ndarray, shown: np.ndarray, popularity: np.ndarray, size: int) -> list[float]:
    """Bayes' rule for one user and one AlterEgo, with the probability of every pattern of shown items written out."""
    odds = []
    for item in range(len(laws)):
        prior = size * popularity / popularity.sum()
        expected = [sum(prior[o] * laws[o, j] for o in range(len(laws)) if o != item) for j in range(len(shown))]
        chance = [1 - math.exp(-mu) for mu in expected]

        def pattern(skip: int | None, chance: list[float] = chance) -> float:
            parts = [chance[j] if shown[j] else 1 - chance[j] for j in range(len(shown)) if j != skip]
            return math.prod(parts)

        landing = sum(laws[item, j] * pattern(j) for j in range(len(shown)) if shown[j])
        rated = landing + laws[item, -1] * pattern(None)
        odds.append(math.log(prior[item] / (1 - prior[item]) * rated / pattern(None)))
    return odds


def test_beliefs_after_one_alterego_are_bayes_rule() -> None:
    generator = np.random.default_rng(5)
    laws = np.concatenate([generator.dirichlet(np.ones(4), 6), np.zeros((6, 1))], axis=1)
    laws[2] = [0, 0, 0, 0, 1]
    profiles = np.array([[5, NAN, 3, NAN, 1, NAN], [NAN, 2, NAN, 4, NAN, NAN]])
    egos = attack.sample_alteregos(laws, profiles, 1, generator)
    popularity = np.array([1.0, 2, 3, 4, 5, 6])
    odds, _ = attack.source_beliefs(laws, egos, popularity)
    for user, size in enumerate((3, 2)):
        expected = literal_beliefs(laws, egos.shown[user, 0], popularity, size)
        np.testing.assert_allclose(odds[user], expected, rtol=1e-9)


def test_a_one_to_one_map_gives_everything_away() -> None:
    laws = np.eye(5)[[3, 1, 0, 2]]  # every source item has a replacement of its own
    profiles = np.array([[5, NAN, NAN, 1], [NAN, 4, NAN, NAN], [2, NAN, 3, NAN]])
    egos = attack.sample_alteregos(laws, profiles, 2, np.random.default_rng(0))
    popularity = np.array([1.0, 50, 50, 1])
    odds, supposed = attack.source_beliefs(laws, egos, popularity)
    rated = ~np.isnan(profiles)
    np.testing.assert_array_equal(attack.best_guess(odds, rated.sum(1)), rated)
    np.testing.assert_allclose(supposed[rated], profiles[rated])
    assert (odds[~rated] == -np.inf).all()
    # The same profiles behind a constant law tell nothing: popularity decides.
    blind = np.full((4, 5), 0.25)
    blind[:, -1] = 0
    egos = attack.sample_alteregos(blind, profiles, 2, np.random.default_rng(0))
    odds, _ = attack.source_beliefs(blind, egos, popularity)
    assert attack.best_guess(odds, np.ones(3, int))[:, [1, 2]].any(1).all()


def test_beliefs_do_not_depend_on_the_order_of_users() -> None:
    matrix, sources = random_matrix(4, users=12), 8
    laws = laws_of(matrix, sources, "prs", 1.0)
    order = np.random.default_rng(0).permutation(12)
    np.testing.assert_allclose(laws_of(matrix[order], sources, "prs", 1.0), laws, atol=1e-12)
    egos = attack.sample_alteregos(laws, matrix[:, :sources], 3, np.random.default_rng(1))
    owners = np.argsort(order)[egos.owners]
    moved = attack.AlterEgos(owners, egos.items, egos.values, egos.draws, egos.shown[order], egos.ratings[order])
    popularity = 1.0 + (~np.isnan(matrix[:, :sources])).sum(0)
    for ours, theirs in zip(
        attack.source_beliefs(laws, egos, popularity), attack.source_beliefs(laws, moved, popularity), strict=True
    ):
        np.testing.assert_allclose(ours[order], theirs)


def test_paired_experiment_reaches_the_exact_advantage() -> None:
    first = np.array([[0.5, 0.5, 0, 0], [0.7, 0.1, 0.1, 0.1], [0.25] * 4, [1, 0, 0, 0]])
    second = np.array([[0, 0.5, 0.5, 0], [0.4, 0.4, 0.1, 0.1], [0.25] * 4, [0, 1, 0, 0]])
    observed, exact, loss = attack.distinguish(first, second, 1, np.random.default_rng(0))
    np.testing.assert_allclose(exact, [0.5, 0.3, 0, 1])
    np.testing.assert_allclose(loss, [math.inf, math.log(4), 0, math.inf])
    # 200 runs in either world: standard deviation of a difference of shares below 0.05.
    np.testing.assert_allclose(observed, exact, atol=0.25)
    assert observed[3] == 1
    # Two draws of the first pair: undecided only if neither shows outputs 0 or 2, so with probability 1/4.
    twice, _, _ = attack.distinguish(first, second, 2, np.random.default_rng(1))
    np.testing.assert_allclose(twice[0], 0.75, atol=0.25)
    many, _, _ = attack.distinguish(first, second, 60, np.random.default_rng(1))
    assert many[1] > 0.9
    assert abs(many[2]) < 0.25


@pytest.mark.parametrize("method", AlterEgoSettings.methods())
def test_report_on_synthetic_ratings(method: Method) -> None:
    report = run(synthetic(), method=method, targets=30, rounds=6, epsilon=2.0)
    document = report.to_json()
    by_name = {metric.name: metric.value for metric in report.metrics}
    assert tuple(by_name) == tuple(AlterEgoSettings.metrics)
    assert all(-1 <= value <= 1 for value in by_name.values())
    exact = [entry for entry in report.privacy if entry.what.endswith("one draw seen")]
    assert len(exact) == 2
    if method == "alterego":
        assert by_name["source-precision"] > by_name["guess-precision"] + 0.1
        assert by_name["advantage"] > 0.9
    elif method == "prs_repaired":
        assert abs(by_name["source-precision"] - by_name["guess-precision"]) < 0.05
        for entry in exact:
            assert entry.epsilon_found is not None
            assert entry.epsilon_found <= 2.0
            assert entry.advantage is not None
            assert entry.advantage.value <= permitted_advantage(entry.epsilon_found)
    elif method == "prs_released":
        assert exact[0].epsilon_found == math.inf
        assert by_name["auc"] > by_name["guess-auc"] + 0.05
    assert by_name["value-advantage"] > 0.5
    again = run(synthetic(), method=method, targets=30, rounds=6, epsilon=2.0).to_json()
    assert {**document, "seconds": 0} == {**again, "seconds": 0}


def test_values_are_told_apart_exactly_where_the_entry_can_be_seen() -> None:
    # Identical users: whatever the draws are, the mean shown is 4 or, with the changed value, nearer to that.
    matrix = np.full((20, 12), 4.0)
    matrix[:, ::2] = np.tile([1.0, 2.0, 3.0, 5.0, 5.0, 1.0], (20, 1))
    matrix[:, 3] = NAN
    report = run(Ratings.from_dense(matrix), method="prs_repaired", rounds=1, targets=10)
    assert 0.3 < report.metric("value-advantage").value <= 1


def test_meta_paths_can_replace_direct_links() -> None:
    direct = run(synthetic(), method="prs", targets=20, rounds=1)
    paths = run(synthetic(), method="prs", targets=20, rounds=1, links="xsim")
    assert direct.metric("advantage").value != paths.metric("advantage").value
    assert math.isnan(paths.metric("join-advantage").value)
    assert not any("one user more or less" in entry.what for entry in paths.privacy)


def test_bad_input_is_refused() -> None:
    data = synthetic(20, 12)
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"method": "pnsa"}, "method is 'pnsa'"),
        ({"links": "both"}, "links is 'both'"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"rounds": 0}, "rounds is 0"),
        ({"targets": 1}, "targets is 1"),
        ({"source_share": 1.0}, "source_share is 1.0"),
        ({"source_share": 0.01}, "leave at least two items"),
    )
    for settings, message in cases:
        with pytest.raises(InvalidInput, match=message):
            run(data, **settings)
    lonely = Ratings.from_dense(np.array([[1.0, 2, 3, 4], [NAN, NAN, NAN, 1]]))
    with pytest.raises(InvalidInput, match="fewer than two users"):
        run(lonely)


@pytest.mark.realdata
def test_released_selection_on_movielens(movielens: Ratings) -> None:
    report = run(movielens, method="prs_released", targets=4, rounds=1)
    assert report.metric("advantage").value > 0.7
    assert report.privacy[0].epsilon_found == math.inf


def test_profiles_that_show_nothing_are_said_to_show_nothing() -> None:
    shown = synthetic()
    report = run(replace(shown, values=np.full(len(shown), 4.0)), targets=10, rounds=2)
    assert report.summary[0].startswith("No mapped profile held an item")
    assert "nan" not in " ".join(report.summary)
