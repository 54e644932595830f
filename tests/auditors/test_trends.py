import numpy as np
import pytest
from scipy import special, stats

from dpassay.auditors import events
from dpassay.auditors.events import select
from dpassay.auditors.scorers import Column
from dpassay.auditors.trends import LEAST_BEYOND, fit_trend

SIZE = 200_000
TURNS = 40  # of a score that adds up so many answers


def fitted(one, two):
    """The trend of two sorted scores at every value that occurs in both."""
    scores = np.intersect1d(one, two)
    cuts = scores[1:]
    above = [len(side) - np.searchsorted(side, cuts) for side in (one, two)]
    return cuts, above, fit_trend(scores, above, [len(one), len(two)])


def sums(seed, loss=0.02):
    """Scores whose log-ratio grows by the same at every step, sorted, of both datasets."""
    generator = np.random.default_rng(seed)
    return [np.sort(generator.binomial(TURNS, special.expit(sign * loss), SIZE)) for sign in (1, -1)]


def test_a_trend_knows_rare_events_better_than_their_counts():
    errors, deviations, counted = [], [], []
    rare = 29
    for seed in range(16):
        cuts, above, trend = fitted(*sums(seed))
        (place,) = np.flatnonzero(cuts == rare)
        true = np.subtract(*(stats.binom.logsf(rare - 1, TURNS, special.expit(sign * 0.02)) for sign in (1, -1)))
        errors.append(trend.above[0][place] - true)
        deviations.append(trend.above[1][place])
        counted.append(np.log(above[0][place] / above[1][place]) - true)
    assert np.std(errors) < np.std(counted) / 3
    assert np.std(errors) == pytest.approx(np.mean(deviations), rel=0.4)
    assert -0.06 * true < np.mean(errors) < 0.01 * true  # level at the ends, it promises a little too little


def test_what_is_below_a_cut_mirrors_what_is_above():
    one, two = sums(0)
    cuts, _, trend = fitted(one, two)
    other_cuts, _, mirrored = fitted(np.sort(-two), np.sort(-one))
    (place,), (other,) = np.flatnonzero(cuts == 22), np.flatnonzero(other_cuts == -21)
    assert trend.above[0][place] == pytest.approx(-mirrored.below[0][other], abs=1e-3)
    assert trend.above[1][place] == pytest.approx(mirrored.below[1][other], rel=0.1)


def test_a_trend_bends_where_the_samples_do():
    """The log-ratio rises in the middle and is level in the tails, as Laplace noise has it."""
    generator = np.random.default_rng(0)
    one, two = (np.sort(generator.laplace(center, 5.0, SIZE)) for center in (1, 0))
    cuts, _, trend = fitted(np.round(one, 1), np.round(two, 1))
    far = np.flatnonzero((cuts > 10) & (cuts < 25))
    assert np.abs(trend.above[0][far] - 0.2).max() < 0.03  # a line would promise four times as much


def test_equal_laws_have_a_level_trend():
    generator = np.random.default_rng(0)
    _, _, trend = fitted(*(np.sort(generator.normal(size=SIZE).round(1)) for _ in range(2)))
    assert (np.abs(trend.above[0]) < 4 * trend.above[1] + 1e-9).all()


def test_scores_that_hardly_differ_have_no_trend():
    one = two = np.sort(np.repeat([0.0, 1.0], [SIZE - LEAST_BEYOND // 10, LEAST_BEYOND // 10]))
    _, _, trend = fitted(one, two)
    assert np.isinf(trend.above[1]).all()


def test_datasets_that_are_apart_have_no_trend():
    generator = np.random.default_rng(0)
    one, two = (np.sort(generator.normal(center, 1, 2000).round(2)) for center in (0, 60))
    scores = np.unique(np.concatenate([one, two]))
    trend = fit_trend(scores, [len(side) - np.searchsorted(side, scores[1:]) for side in (one, two)], [2000, 2000])
    for log_ratios, deviations in (trend.above, trend.below):
        assert (np.isfinite(log_ratios) & ~np.isnan(deviations)).all()
        assert np.isinf(deviations[np.abs(log_ratios) > 30]).all()


def test_a_rare_event_is_chosen_where_the_trend_promises_more(monkeypatch):
    one, two = (side[:, None].astype(np.float32) for side in sums(0))

    def bound():
        """What the chosen event can be expected to show."""
        scorers = (Column(np.int32(0)),)
        (event,) = select(scorers, one, two, points=((0.0, 0.0),), num_test=10**6, failure_probability=0.1)
        p, q = (stats.binom.sf(np.ceil(event.cut) - 1, TURNS, special.expit(sign * 0.02)) for sign in (1, -1))
        p, q = (p, q) if event.above else (1 - q, 1 - p)
        return abs(np.log(p / q)) - 1.28 * np.sqrt((1 / p + 1 / q) / 10**6)

    with_trend = bound()
    monkeypatch.setattr(events, "fit_trend", lambda scores, above, sizes: events.unknown(len(scores) - 1))
    assert with_trend > 1.1 * bound()
