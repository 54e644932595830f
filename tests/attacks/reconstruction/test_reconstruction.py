"""The collector's likelihoods, priors and limits against the mechanisms and literal enumeration."""

import itertools
import json
import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

from dpassay.attacks.advantage import composed_advantage, permitted_advantage
from dpassay.attacks.reconstruction import devices
from dpassay.attacks.reconstruction.collector import log_priors
from dpassay.attacks.reconstruction.devices import device
from dpassay.attacks.reconstruction.report import run
from dpassay.attacks.reconstruction.settings import ReconstructionSettings
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings, synthetic
from dpassay.mechanisms import mechanism

METHODS = ReconstructionSettings.methods()
LEVELS = np.arange(1.0, 6.0)
NAN = float("nan")
SMALL = synthetic(40, 30)


def registered(method: str, epsilon: float) -> tuple[Any, np.ndarray, float]:
    """The mechanism, its inputs for the symbols 0..5, and its outputs per unit of the device's answers."""
    id, variant = method.removesuffix("_repaired"), "repaired" if method.endswith("_repaired") else "paper"
    if id == "randomized_response":
        return mechanism(id, variant, epsilon=epsilon, num_ratings=5), np.arange(6), 1.0
    built = mechanism(id, variant, epsilon=epsilon)
    return built, np.array([NAN, -1, -0.5, 0, 0.5, 1]), 1 / built.steps if variant == "repaired" else 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_likelihoods_are_the_mechanisms(method: str, epsilon: float) -> None:
    built, inputs, unit = registered(method, epsilon)
    sender = device(method, epsilon, LEVELS)
    missing = NAN if method.startswith("modified") else 0
    answers = np.array([missing, 1, 3, 5] if missing == 0 else [missing, 0, 17, -400, 1024])
    law = getattr(built, "log_density", None) or built.log_prob
    expected = [[float(law(np.array([answer * unit]), np.array([each]))) for each in inputs] for answer in answers]
    np.testing.assert_allclose(sender.log_likelihoods(answers), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("symbol", [0, 2])
def test_samples_have_the_mechanisms_law(method: str, symbol: int) -> None:
    built, inputs, unit = registered(method, 1.0)
    number = 5_000
    ours = device(method, 1.0, LEVELS).sample(np.random.default_rng(1), np.full(number, symbol)) * unit
    theirs = np.asarray(built.sample(jax.random.key(1), np.full(number, inputs[symbol])), float)
    assert ks_2samp(np.nan_to_num(ours, nan=1e9), np.nan_to_num(theirs, nan=1e9)).pvalue > 1e-6
    other = np.asarray(built.sample(jax.random.key(2), np.full(number, inputs[3])), float)
    assert ks_2samp(np.nan_to_num(ours, nan=1e9), np.nan_to_num(other, nan=1e9)).pvalue < 1e-6  # it has power


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_one_answer_has_the_known_total_variation(epsilon: float) -> None:
    laplace, response = (device(method, epsilon, LEVELS) for method in METHODS[::2])
    for level in range(1, 6):
        # P(number) - Q(number) = tanh(eps/4), for every rating: numbers always speak for her.
        assert composed_advantage(*laplace.losses(level), 1) == pytest.approx(math.tanh(epsilon / 4), abs=1e-3)
        expected = math.expm1(epsilon) / (math.exp(epsilon) + 5)
        assert composed_advantage(*response.losses(level), 1) == pytest.approx(expected, abs=1e-12)
        for sender in (laplace, response):
            losses, chances, _ = sender.losses(level)
            assert chances.sum() == pytest.approx(1)
            assert losses.max() <= epsilon + 1e-9


def test_repeated_answers_against_enumeration() -> None:
    sender, rounds = device("randomized_response", 0.7, LEVELS), 4
    law = np.exp(sender.log_likelihoods(np.arange(6)))
    product = [
        abs(math.prod(law[a, 2] for a in answers) - math.prod(law[a, 0] for a in answers))
        for answers in itertools.product(range(6), repeat=rounds)
    ]
    assert composed_advantage(*sender.losses(2), rounds) == pytest.approx(sum(product) / 2, abs=1e-12)
    # A rating of 0 is told from a missing one by the coin alone.
    for method in METHODS[:2]:
        middle = device(method, 0.7, LEVELS)
        keep = middle.answered()[0]
        counts = np.arange(rounds + 1)
        expected = np.abs(binom.pmf(counts, rounds, keep) - binom.pmf(counts, rounds, 1 - keep)).sum() / 2
        assert composed_advantage(*middle.losses(3), rounds) == pytest.approx(expected, abs=1e-9)


def test_grid_and_continuum_have_the_same_limits() -> None:
    for level, rounds in ((1, 3), (2, 10)):
        limits = [composed_advantage(*device(m, 1.0, LEVELS).losses(level), rounds) for m in METHODS[:2]]
        assert limits[0] == pytest.approx(limits[1], abs=2e-3)
        assert limits[0] <= permitted_advantage(rounds)


def test_splitting_losses_bounds_from_above() -> None:
    generator = np.random.default_rng(3)
    p, q = generator.dirichlet(np.ones(3), 2)
    every = itertools.product(range(3), repeat=3)
    exact = sum(abs(np.prod(p[list(o)]) - np.prod(q[list(o)])) for o in every) / 2
    for step, close in ((0.3, 0.05), (1e-3, 1e-6)):
        found = composed_advantage(np.log(p / q), p, step, 3)
        assert exact - 1e-12 <= found <= exact + close


def test_priors_use_the_other_users_only() -> None:
    symbols = np.array([[1, 0, 2], [1, 1, 0], [0, 2, 0]])
    prior = np.exp(log_priors(symbols, np.array([0]), 2)[0])
    np.testing.assert_allclose(prior.sum(1), 1)
    # Others: item 0 rated once (1), item 1 twice (1 and 2), item 2 never; whole catalogue: 1, 1, 2.
    np.testing.assert_allclose(prior[:, 0], [1.5 / 3, 0.5 / 3, 2.5 / 3])
    np.testing.assert_allclose(prior[0, 1] / (1 - prior[0, 0]), (1 + 5 * 3 / 5) / 6)
    np.testing.assert_allclose(prior[2, 1] / (1 - prior[2, 0]), 3 / 5)
    changed = symbols.copy()
    changed[0] = [0, 2, 1]
    np.testing.assert_array_equal(np.exp(log_priors(changed, np.array([0]), 2)[0]), prior)
    changed[1] = 2
    assert (np.exp(log_priors(changed, np.array([0]), 2)[0]) != prior).any()


@pytest.mark.parametrize("method", METHODS)
def test_no_more_than_the_limit_and_certainty_at_the_end(method: str) -> None:
    for epsilon, rounds in ((0.5, 1), (2.0, 3)):
        report = run(SMALL, method=method, epsilon=epsilon, rounds=rounds)
        low, limit = report.metric("advantage").low, report.metric("advantage-limit").value
        assert low is not None
        assert low <= limit <= permitted_advantage(rounds * epsilon)
        assert tuple(metric.name for metric in report.metrics) == tuple(ReconstructionSettings.metrics)
    certain = run(SMALL, method=method, epsilon=200.0)
    for name in ("value-accuracy", "rated-tpr", "advantage", "profile-advantage", "auc", "list-precision"):
        assert certain.metric(name).value == pytest.approx(1.0, abs=1e-3), name
    assert certain.metric("rated-fpr").value < 1e-3


@pytest.mark.parametrize("method", METHODS[::2])
def test_hardly_any_epsilon_leaves_the_guess(method: str) -> None:
    report = run(SMALL, method=method, epsilon=1e-4)
    advantage = report.metric("advantage")
    assert advantage.low is not None
    assert advantage.high is not None
    assert advantage.low <= 0 <= advantage.high
    assert report.metric("value-accuracy").value == pytest.approx(report.metric("guess-value-accuracy").value, abs=0.02)
    # Noise now breaks the ties of equally popular items, which moves the AUC, but not on average.
    prior = report.metric("guess-auc")
    assert prior.low <= report.metric("auc").value <= prior.high  # type: ignore[operator]


def test_the_same_world_on_both_sides_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Mute(devices._Response):  # type: ignore[misc]
        def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
            return super().sample(generator, np.zeros_like(symbols))

    honest = run(SMALL, method="randomized_response", epsilon=3.0)
    monkeypatch.setattr(devices, "_Response", Mute)
    mute = run(SMALL, method="randomized_response", epsilon=3.0)
    low, high = mute.metric("advantage").low, mute.metric("advantage").high
    assert low is not None
    assert high is not None
    assert low <= 0 <= high
    assert honest.metric("advantage").low > high  # type: ignore[operator]
    assert mute.metric("auc").value < mute.metric("guess-auc").value + 0.02 < honest.metric("auc").value


def test_report_is_complete_and_repeatable() -> None:
    report, again = (run(SMALL, rounds=2, targets=20, seed=3) for _ in range(2))
    assert [m.value for m in report.metrics] == [m.value for m in again.metrics]
    assert report.metrics != run(SMALL, rounds=2, targets=20, seed=4).metrics
    document = report.to_json(limits={"advantage": 0.0})
    json.dumps(document)
    assert document["mechanism"] == "modified_laplace/paper"
    assert document["checks"][0]["exceeded"]
    assert report.metric("advantage").trials == 20
    assert [row[0] for row in report.tables[0].rows] == [0, 1, 2, 5, 10]
    assert {len(row) for row in report.tables[0].rows} == {len(report.tables[0].columns)}
    assert report.victim is not None
    assert all(row[0].startswith("item ") for row in report.victim["tables"][0].rows)


def test_more_collections_tell_more() -> None:
    report = run(SMALL, method="randomized_response", rounds=40)
    once = run(SMALL, method="randomized_response")
    for name in ("value-accuracy", "advantage", "auc"):
        assert report.metric(name).low > once.metric(name).high, name  # type: ignore[operator]


def test_half_stars_and_missing_levels() -> None:
    matrix = np.array([[0.5, 4.5, NAN], [2.0, NAN, 5.0], [NAN, 3.5, 1.0]])
    report = run(Ratings.from_dense(matrix, scale=(0.5, 5.0)), method="randomized_response", epsilon=60.0)
    assert report.metric("value-accuracy").value == 1.0
    assert report.parameters["num_ratings"] == 6  # 0.5, 1, 2, 3.5, 4.5, 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "laplace"}, "method is 'laplace'"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": NAN}, "epsilon"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 10_000}, "at most 1000"),
        ({"targets": 0}, "targets"),
    ],
)
def test_bad_input(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(SMALL, **settings)


def test_bad_data() -> None:
    with pytest.raises(InvalidInput, match="one user"):
        run(Ratings.from_dense(np.array([[1.0, 2.0]])))
    many = np.linspace(1, 5, 202).reshape(2, 101)
    with pytest.raises(InvalidInput, match="202 different values"):
        run(Ratings.from_dense(many))


def test_on_movielens(movielens: Ratings) -> None:
    report = run(movielens, method="randomized_response", targets=60)
    assert report.metric("advantage").low <= report.metric("advantage-limit").value  # type: ignore[operator]
    assert report.metric("guess-auc").value > 0.8  # popularity alone
    assert report.metric("profile-advantage").value > 0.8  # one epsilon for each of her ratings
