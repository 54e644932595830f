"""The attack on a published sketch against literal densities, the exact profile and cases with a known answer."""

import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.sketch.membership import VARIANTS as ATTACKED
from dpassay.attacks.sketch.membership import (
    PairLaw,
    attack,
    binarized,
    choose_entries,
    exact_rates,
    held_out_advantage,
    independent_items,
    pair_law,
    score,
    sketch_scores,
)
from dpassay.attacks.sketch.report import _inner_product_error, run
from dpassay.attacks.sketch.settings import SketchSettings
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.data.ratings import Ratings, synthetic
from dpassay.mechanisms import mechanism, mechanisms
from dpassay.mechanisms.jlt import bounded, centered, released_centered
from dpassay.mechanisms.sketch_profile import exact_delta, fixed_norm_delta

SMALL: dict[str, Any] = {"rows": 12, "columns": 9, "sketch_rows": 6, "targets": 4, "trials": 40}
VARIANTS = ("paper", "released", "repaired")


def binary(items: int, users: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((items, users)) < 0.4).astype(float)


def gaussian(variant: str, noise: float, num_rows: int, delta: float = 0.01) -> Any:
    """A Gaussian sketch with about this noise, far below what a small epsilon would ask for."""
    low, high = 1e-3, 1e9
    for _ in range(80):  # noise falls with epsilon
        middle = math.sqrt(low * high)
        wide = mechanism("jlt", variant, epsilon=middle, delta=delta, num_rows=num_rows).noise > noise
        low, high = (middle, high) if wide else (low, middle)
    return mechanism("jlt", variant, epsilon=high, delta=delta, num_rows=num_rows)


def uniform_bound(trials: int, alarms: float = 1e-6) -> float:
    """Dvoretzky, Kiefer and Wolfowitz: largest deviation of an empirical distribution function but for `alarms`."""
    return math.sqrt(math.log(2 / alarms) / (2 * trials))


def test_every_registered_sketch_is_attacked():
    registered = {(each["id"], each["variant"]) for each in mechanisms() if each["id"] in ("jlt", "sjlt")}
    assert set(ATTACKED.values()) == registered
    assert tuple(ATTACKED) == SketchSettings.methods()


@pytest.mark.parametrize("variant", VARIANTS)
@float64
def test_score_is_the_ratio_of_the_two_normal_densities(variant: str) -> None:
    sketch_of, matrix = gaussian(variant, 1.3, 4), binary(7, 5)
    entry = choose_entries(sketch_of, matrix, 2, 0)[0]
    absent = matrix.copy()
    absent[tuple(entry)] = 0.0
    candidates = jnp.stack([jnp.asarray(matrix), jnp.asarray(absent)])
    law = pair_law(sketch_of, matrix, entry[None])
    prepare = {"paper": centered, "released": released_centered}.get(variant, lambda m: bounded(m, "rating", 1.0))
    covariances = []
    for each in (matrix, absent):
        prepared = np.asarray(prepare(jnp.asarray(each)))
        covariances.append((prepared.T @ prepared + sketch_of.noise**2 * np.eye(5)) / 4)
    test = (
        law.directions[0],
        np.array([0.5 / (1 + law.present[0]), -0.5 / (1 + law.absent[0])]),
        law.constant(4)[0],
    )
    sketch = np.asarray(sketch_of.sample(jax.random.key(3), matrix))
    literal = [multivariate_normal(np.zeros(5), each).logpdf(sketch).sum() for each in covariances]
    ours = float(score(sketch_of, jnp.asarray(sketch), candidates, test))
    assert ours == pytest.approx(literal[0] - literal[1], rel=1e-9)


def scores_of(sketch_of: Any, matrix: np.ndarray, entries: np.ndarray, trials: int, seed: int) -> np.ndarray:
    return sketch_scores(sketch_of, matrix, entries, pair_law(sketch_of, matrix, entries), trials, seed)[0]


@pytest.mark.parametrize(
    ("variant", "shape"), [("paper", (8, 6)), ("released", (8, 6)), ("repaired", (4, 9)), ("paper", (5, 6))]
)
def test_measured_trade_off_is_the_exact_one(variant: str, shape: tuple[int, int]) -> None:
    sketch_of, matrix, trials = gaussian(variant, 1.0, 6), binary(*shape), 4000
    entries = choose_entries(sketch_of, matrix, 2, 1)
    law = pair_law(sketch_of, matrix, entries)
    scores = scores_of(sketch_of, matrix, entries, trials, seed=5)
    cuts = np.linspace(-4, 4, 81)
    exact = np.stack(exact_rates(law, 6, cuts), axis=1)
    measured = (scores[:, :, :, None] > cuts).mean(axis=2)
    assert np.abs(measured - exact).max() < uniform_bound(trials)
    # With the law of another noise, or present and absent exchanged, the same comparison fails.
    wrong = np.stack(exact_rates(pair_law(gaussian(variant, 2.0, 6), matrix, entries), 6, cuts), axis=1)
    assert np.abs(measured - wrong).max() > uniform_bound(trials)
    assert np.abs(measured - exact[:, ::-1]).max() > uniform_bound(trials)


@pytest.mark.parametrize("raters", [1, 3, 7])
@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_exact_rates_give_the_exact_profile_of_one_item(raters: int, noise: float) -> None:
    # The worst binary dataset with c other raters is one item alone (docs/theorems/gaussian-sketch.md).
    matrix = np.zeros((4, 9))
    matrix[2, : raters + 1] = 1.0
    sketch_of = gaussian("repaired", noise, 8)
    law = pair_law(sketch_of, matrix, np.array([[2, 0]]))
    for epsilon in (0.0, 0.3, 1.0):
        (tpr, fpr), (far_tpr, far_fpr) = (
            [float(rate[0, 0]) for rate in exact_rates(law, 8, np.array([cut]))] for cut in (epsilon, -epsilon)
        )
        removed = tpr - math.exp(epsilon) * fpr
        added = (1 - far_fpr) - math.exp(epsilon) * (1 - far_tpr)
        assert max(removed, added) == pytest.approx(exact_delta(epsilon, 8, sketch_of.noise, raters), rel=1e-7)


def test_advantage_is_below_the_profile_of_any_dataset() -> None:
    sketch_of, matrix = gaussian("repaired", 2.0, 10), binary(8, 6)
    tpr, fpr = exact_rates(pair_law(sketch_of, matrix, choose_entries(sketch_of, matrix, 10, 0)), 10, np.zeros(1))
    assert 0 < (tpr - fpr).min() < (tpr - fpr).max() < exact_delta(0.0, 10, sketch_of.noise)


@pytest.mark.parametrize(("id", "variant"), [("jlt", "released"), ("sjlt", "paper"), ("sjlt", "released")])
def test_fewer_items_than_users_give_every_rating_away(id: str, variant: str) -> None:
    sketch_of, matrix = mechanism(id, variant, num_rows=5), binary(6, 10)
    entries = choose_entries(sketch_of, matrix, 5, 0)
    assert pair_law(sketch_of, matrix, entries).separate.all()
    scores = scores_of(sketch_of, matrix, entries, 20, 0)
    assert (scores[:, 0] == 1e9).all()
    assert (scores[:, 1] == -1e9).all()
    assert not pair_law(mechanism(id, "repaired", num_rows=5), matrix, entries).separate.any()


def test_equal_row_spaces_are_not_taken_for_a_proof() -> None:
    # Five centered items of six users span all centered vectors, with the rating or without.
    sketch_of, matrix = mechanism("jlt", num_rows=5), binary(5, 6)
    entries = choose_entries(sketch_of, matrix, 5, 0)
    assert not pair_law(sketch_of, matrix, entries).separate.any()  # their scores: in the test of the trade-off


@pytest.mark.parametrize(
    ("variant", "shape", "size", "density"), [("paper", (8, 8), 8, 0.1), ("released", (20, 12), 20, 0.05)]
)
def test_sparse_masks_prove_the_answer(variant: str, shape: tuple[int, int], size: int, density: float) -> None:
    matrix = binary(*shape)
    sketch_of = mechanism("sjlt", variant, num_rows=4, density=density)
    entries = choose_entries(sketch_of, matrix, 4, 0)
    scores = scores_of(sketch_of, matrix, entries, 100, 0)
    right = scores * np.array([1.0, -1.0])[:, None]
    assert right.min() > -1e9  # no proof is wrong
    single = binom.pmf(1, size, density)
    expected = 1 - (1 - single) ** 4  # one entry in the mask of some row
    proved = (right == 1e9).mean()
    assert proved > expected - uniform_bound(right.size)


def test_identical_datasets_cannot_be_told_apart() -> None:
    matrix = binary(8, 6)
    missing = np.argwhere(matrix == 0)[:4]  # leaving these ratings out changes nothing
    sketch_of, trials = gaussian("paper", 1.0, 6), 2000
    scores = scores_of(sketch_of, matrix, missing, trials, 0)
    assert np.abs(scores).max() < 1e-12  # rounding errors of sums that are 0
    np.testing.assert_array_equal(held_out_advantage(scores.round(9))[0], 0.0)
    # And with the real test, when the world holds no secret: both sides are sketches without the rating.
    entries = choose_entries(sketch_of, matrix, 4, 0)
    scores = scores_of(sketch_of, matrix, entries, trials, 0)
    assert held_out_advantage(scores)[0].mean() > 0.1
    secretless = np.stack([scores_of(sketch_of, matrix, entries, trials, 1)[:, 1], scores[:, 1]], axis=1)
    assert abs(held_out_advantage(secretless)[0].mean()) < 2 * uniform_bound(4 * trials // 2)


def test_threshold_comes_from_the_first_half_only() -> None:
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(5, 2, 200))
    scores[:, 0, :100] += 3  # a signal that is gone in the second half
    advantage, right = held_out_advantage(scores)
    assert abs(advantage.mean()) < 2 * uniform_bound(500)
    np.testing.assert_allclose(right.sum(axis=1) - 1, advantage)
    separated = np.concatenate([np.ones((3, 1, 40)), np.zeros((3, 1, 40))], axis=1)
    np.testing.assert_array_equal(held_out_advantage(separated)[0], 1.0)
    np.testing.assert_array_equal(held_out_advantage(1 - separated)[0], 0.0)  # it guesses one answer, never worse


def test_separate_laws_are_told_apart_at_every_threshold() -> None:
    one = np.ones(1)
    law = PairLaw(np.zeros((1, 2, 3)), one, one, one, np.ones(1, bool))
    tpr, fpr = exact_rates(law, 4, np.array([-2.0, 0.0, 2.0]))
    np.testing.assert_array_equal(tpr, 1.0)
    np.testing.assert_array_equal(fpr, 0.0)


@pytest.mark.parametrize("method", SketchSettings.methods())
def test_report(method: str) -> None:
    report = run(synthetic(), method=method, shape="full_rank", **SMALL)
    assert tuple(metric.name for metric in report.metrics) == tuple(SketchSettings.metrics)
    document = json.dumps(report.to_json(limits={"advantage": 0.9}), allow_nan=False)
    assert "NaN" not in document
    for metric in report.metrics:
        assert metric.low is not None
        assert metric.high is not None
        assert metric.low <= metric.value <= metric.high
        assert metric.trials == report.settings["targets"]
    (privacy,) = report.privacy
    assert privacy.delta == pytest.approx(1 / report.settings["users"])
    if method.endswith("_repaired"):
        assert privacy.epsilon_found is not None
        assert privacy.epsilon_found <= 1.0 + 1e-9
        assert report.metrics[0].low < permitted_advantage(1.0, privacy.delta)  # type: ignore[operator]
    if method == "sjlt_repaired":
        noise = mechanism("sjlt", "repaired", epsilon=1.0, delta=privacy.delta, num_rows=6).noise
        assert fixed_norm_delta(privacy.epsilon_found or 0.0, 6, noise) == pytest.approx(privacy.delta, rel=1e-6)


@pytest.mark.parametrize("variant", ["paper", "released", "repaired"])
@pytest.mark.parametrize("shape", ["full_rank", "rank_deficient"])
def test_the_error_of_the_repair_is_the_exact_one(variant: str, shape: Any) -> None:
    matrix = binarized(synthetic(), 12, 10, shape)
    sketch_of = mechanism("jlt", variant, epsilon=4.0, delta=0.1, num_rows=20)
    matrix = independent_items(sketch_of, matrix)
    entries = choose_entries(sketch_of, matrix, 5, 0)
    measured = attack(sketch_of, matrix, entries, 0, 200).error
    # Half of the sketches are of the matrix without the entry.
    assert measured == pytest.approx(_inner_product_error(sketch_of, matrix), rel=0.05)


def test_rank_deficient_report_says_so_and_repeats() -> None:
    settings = SMALL | {"rows": 20, "columns": 30, "shape": "rank_deficient"}
    ratings = synthetic()
    first, second = (run(ratings, method="jlt", seed=7, **settings) for _ in range(2))
    assert first == second
    assert first.metric("advantage").value == 1.0
    assert first.metric("told-with-certainty").value == 1.0
    assert first.privacy[0].epsilon_found == math.inf
    assert "breaks it" in " ".join(first.summary)
    story = first.victim
    assert story is not None
    assert "proof" in " ".join(story["story"])


def test_data_decide_their_own_shape() -> None:
    tall, wide = synthetic(40, 60), synthetic(60, 40)
    assert binarized(tall, 12, 20).shape == (12, 12)
    assert binarized(wide, 20, 15).shape == (12, 15)
    assert binarized(wide, 20, 12, "full_rank").shape == (20, 12)
    assert binarized(tall, 20, 15, "rank_deficient").shape == (12, 15)


def test_binarized_keeps_positive_ratings_of_random_users_and_their_popular_items() -> None:
    dense = np.full((6, 7), np.nan)
    dense[:, :5] = 4.0
    dense[0, :3] = 2.0  # below the middle of 1 to 5
    dense[0, 6] = 5.0
    ratings = Ratings.from_dense(dense)
    np.testing.assert_array_equal(binarized(ratings, 7, 6), np.where(dense >= 3, 1.0, 0.0).T)
    np.testing.assert_array_equal(binarized(ratings, 5, 6, "full_rank", positive_from=1.0), 1.0)  # seldom rated: out
    chosen = {binarized(ratings, 5, 5, positive_from=3.0, seed=seed).tobytes() for seed in range(20)}
    assert len(chosen) == 2  # user 0 in or out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "fjlt"}, "method is 'fjlt'; use one of jlt"),
        ({"shape": "square"}, "shape is 'square'; use one of data"),
        ({"targets": 1}, "targets is 1"),
        ({"trials": 10}, "trials is 10"),
        ({"rows": 3}, "rows is 3"),
        ({"columns": 2}, "columns is 2"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.5}, "delta"),
        ({"sketch_rows": 0}, "num_rows"),
        ({"method": "sjlt", "density": 1.5}, "density"),
        ({"positive_from": 6.0}, "no rating counts as positive"),
    ],
)
def test_bad_input_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        run(synthetic(), **(SMALL | settings))
    assert "\n" not in str(refused.value)


def test_nothing_to_attack_is_refused() -> None:
    matrix = np.zeros((5, 5))
    matrix[1, 1] = 1.0
    with pytest.raises(InvalidInput, match="fewer than 2 positive ratings"):
        choose_entries(mechanism("jlt"), matrix, 5, 0)


@pytest.mark.realdata
def test_movielens_cut_to_fewer_items_than_users(movielens: Ratings) -> None:
    settings = SMALL | {"rows": 30, "columns": 40, "shape": "rank_deficient"}
    assert run(movielens, method="jlt", **settings).metric("advantage").value == 1.0
