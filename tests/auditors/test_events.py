import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from dpassay.auditors import events as events_module
from dpassay.auditors import learners
from dpassay.auditors.events import Event, learn, learn_few, score, select
from dpassay.auditors.fixed_sample import predicted_lower
from dpassay.auditors.scorers import Column
from dpassay.core.errors import InvalidInput

TEST = 1_000_000  # samples per dataset of the test that the events are chosen for
POINT = ((0.0, 0.0),)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Less training of the slow learners than an audit does."""
    monkeypatch.setattr("dpassay.auditors.learners.NETWORK_STEPS", 200)
    monkeypatch.setattr("dpassay.auditors.learners.NETWORK_BATCH", 256)


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def laplace(generator, side, size, epsilon):
    return (generator.laplace(side, 1 / epsilon, (size, 1))).astype(np.float32)


def response(generator, side, size, epsilon):
    keeps = generator.random(size) < special.expit(epsilon)
    return np.where(keeps, side, 1 - side)[:, None].astype(np.float32)


def with_atom(generator, side, size, epsilon):
    at_atom = generator.random((size, 1)) < (0.2 if side else 0.1)
    return np.where(at_atom, np.float32(0.3), laplace(generator, side, size, epsilon))


def prefix_sums(generator, side, size, epsilon):
    return np.cumsum(generator.laplace(side, 1 / epsilon, (size, 5)), axis=1).astype(np.float32)


def product(generator, side, size, epsilon):
    return generator.laplace(side, 1 / epsilon, (size, 20)).astype(np.float32)


def sparse_vector(generator, side, size, epsilon):
    """Releases the noisy value where it passes the noisy threshold, -1000 before, -2000 after (Lyu, variant 3)."""
    queries = np.array([0, 0, 1, 1]) if side else np.array([1, 1, 0, 0])
    noisy = queries + generator.laplace(0, 2 / epsilon, (size, 4))
    above = noisy >= 1 + generator.laplace(0, 2 / epsilon, (size, 1))
    first = np.where(above.any(axis=1), above.argmax(axis=1), 4)[:, None]
    place = np.arange(4)
    return np.where(place < first, -1000, np.where(place == first, noisy, -2000)).astype(np.float32)


def search(mechanism, epsilon, *, generator, size=10_000, discrete=False, points=POINT, num_events=1, effort="normal"):
    """Learns, selects; returns the events, what they are worth on fresh samples at TEST of them, and the scorers."""
    fresh = 200_000 if mechanism in (laplace, response, with_atom) else 40_000
    draws = [[mechanism(generator, side, count, epsilon) for side in (0, 1)] for count in (size, fresh, fresh)]
    columns = draws[0][0].shape[1]
    names = tuple(f"output[{index}]" for index in range(columns)) if columns > 1 else ("output",)
    scorers, _ = learn(draws[0][0], draws[0][1], names, (discrete,) * columns, effort=effort)
    scores = [np.stack([scorer(side) for scorer in scorers], axis=1) for side in draws[1]]
    events = select(
        scorers,
        scores[0],
        scores[1],
        points=points,
        num_test=TEST,
        failure_probability=0.01,
        num_events=num_events,
        names=names,
    )
    return events, [worth(event, draws[2]) for event in events], scorers


def worth(event, sides):
    """The predicted bound at the probabilities that fresh samples show."""
    p, q = (float(np.mean(event.contains(side))) for side in sides)
    if event.direction == 1:
        p, q = q, p
    return bound(p, q, event.point[1])


def bound(p, q, delta=0.0):
    return float(predicted_lower(p * TEST, TEST, q * TEST, TEST, delta=delta, failure_probability=0.01))


def laplace_oracle(epsilon):
    cuts = np.linspace(-5 / epsilon, 5 / epsilon, 2001)
    law1, law2 = (stats.laplace(loc, 1 / epsilon).sf(cuts) for loc in (1, 0))
    return max(bound(p, q) for p, q in zip(law1, law2, strict=True))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_laplace_event_is_near_the_oracle(generator, epsilon):
    events, worths, _ = search(laplace, epsilon, generator=generator)
    # The worth is measured on 200,000 samples per side, which is noisy itself.
    noise = 5 * math.sqrt(2 * 0.6 / (200_000 * 0.4)) if epsilon < 1 else 5 * math.sqrt(3.7 / (200_000 * 0.4))
    assert worths[0] > 0.97 * laplace_oracle(epsilon) - noise
    assert events[0].description.startswith("output ")
    assert events[0].predicted <= worths[0] + noise


def test_randomized_response_is_exact(generator):
    events, _, scorers = search(response, 1.0, generator=generator, discrete=True)
    assert [scorer.name for scorer in scorers] == ["outcomes"]
    outcome = np.array([[0.0], [1.0]], np.float32)
    np.testing.assert_array_equal(events[0].contains(outcome), [events[0].direction == 0, events[0].direction == 1])


def test_an_atom_in_a_continuous_output_is_found(generator):
    events, worths, _ = search(with_atom, 0.1, generator=generator)
    assert events[0].direction == 1
    np.testing.assert_array_equal(events[0].contains(np.array([[0.3], [0.4]], np.float32)), [True, False])
    assert worths[0] > 0.9 * math.log(2)


def test_prefix_sums_are_told_apart_by_their_differences(generator):
    _, worths, _ = search(prefix_sums, 0.5, generator=generator)
    # One column alone gives at most what its Laplace noise does: 0.5 for the first.
    assert worths[0] > 1.2


def test_a_product_is_told_apart_by_all_of_its_columns(generator):
    _, worths, _ = search(product, 0.05, generator=generator)
    assert worths[0] > 2 * 0.05  # one column gives at most 0.05


def test_a_sparse_vector_is_told_apart_beyond_one_query(generator):
    _, worths, scorers = search(sparse_vector, 1.0, generator=generator)
    sides = [sparse_vector(generator, side, 200_000, 1.0)[:, 0] > -1000 for side in (0, 1)]
    assert worths[0] > bound(float(sides[0].mean()), float(sides[1].mean()))
    assert len(scorers) <= 6


def test_more_scorers_go_on_where_more_samples_can_be_drawn(generator, monkeypatch):
    monkeypatch.setattr(learners, "NETWORK_STEPS", 100)
    monkeypatch.setattr(events_module, "refine", lambda *_, **__: ())
    one, two = sides = [sparse_vector(generator, side, 10_000, 1.0) for side in (0, 1)]
    names, discrete = ("a", "b", "c", "d"), (False,) * 4
    assert len(learn(one, two, names, discrete).scorers) == 6
    more = learn(one, two, names, discrete, more=(lambda side, size: sides[side], 1))
    assert len(more.scorers) > 6
    none = learn(one, two, names, discrete, more=(lambda side, size: sides[side], 0))
    assert len(none.scorers) == 6
    counted = []
    for found in (more, none):
        assert found.additive is not None
        found.additive.fit()
        counted.append([len(side) for side in found.additive.scores()])
    assert counted == 2 * [[10_000, 10_000]]


def test_a_table_of_few_outcomes_is_learned_from_all_samples_that_choose(generator):
    """The first samples do not show which of eleven outcomes tells most; the many that follow do."""
    law1 = np.array([0.9, *[0.01] * 10])
    law2 = np.array([0.9, 0.0085, 0.0115, *[0.01] * 8])

    def draw(side, size):
        return generator.choice(11, (size, 1), p=(law1, law2)[side]).astype(np.float32)

    training = [np.repeat(np.arange(11, dtype=np.float32), 10)[:, None]] * 2
    learned = learn_few(training, [True], draw, 600_000)
    assert learned is not None
    scorers, scores = learned
    assert [len(side) for side in scores] == [600_110] * 2
    np.testing.assert_array_equal(
        np.unique(scores[0], axis=0), np.unique(score(np.arange(11)[:, None], scorers), axis=0)
    )
    (event,) = select(scorers, *scores, points=[(0.0, 0.0)], num_test=10**6, failure_probability=0.1)
    inside = np.flatnonzero(event.contains(np.arange(11, dtype=np.float32)[:, None]))
    assert inside.tolist() == [1 + event.direction]


def test_more_than_few_outcomes_are_no_table(generator):
    def unasked(side, size):
        raise AssertionError

    few = np.zeros((2000, 1), np.float32)
    late = np.maximum(np.arange(2000) - 1900, 0).astype(np.float32)[:, None]
    for sides, discrete in (((few, late), True), ((late[::-1], few), True), ((few, few), False)):
        assert learn_few(sides, [discrete], unasked, 100) is None


def test_outputs_of_few_values_are_learned_from_the_counts_of_all_samples(generator, monkeypatch):
    """The first samples say the opposite of the many that follow."""
    drawn = []

    def bits(side, size):
        rows = generator.integers(0, 2, (size, 3)).astype(np.float32)
        rows[:, 0] = generator.random(size) < (0.6 if side == 0 else 0.4)
        return rows

    def more(side, size):
        drawn.append((side, size))
        return bits(side, size)

    refined = []

    def refine(*arguments, **named):
        refined.append(arguments)
        return ()

    monkeypatch.setattr(events_module, "refine", refine)
    for module in (learners, events_module):
        monkeypatch.setattr(module, "FEW_OUTCOMES", 4)
    monkeypatch.setattr(learners, "DRAWN_ROWS", 30_000)
    scorers, _ = learn(bits(1, 10_000), bits(0, 10_000), tuple("abc"), (True,) * 3, more=(more, 100_000))
    assert sorted(drawn) == [(side, size) for side in (0, 1) for size in (10_000, 30_000, 30_000, 30_000)]
    table = next(scorer for scorer in scorers if scorer.name == "outcomes")
    ones, zeros = table(np.array([[1, 0, 0], [0, 0, 0]], np.float32))
    assert ones == pytest.approx(np.log((0.6 * 10 + 0.4) / (0.4 * 10 + 0.6)), abs=0.05)
    assert zeros == pytest.approx(-ones, abs=0.08)
    assert "stack" in {scorer.name for scorer in scorers}
    assert not refined

    drawn.clear()
    monkeypatch.setattr(events_module, "FEW_OUTCOMES", 8)
    learn(bits(1, 10_000), bits(0, 10_000), tuple("abc"), (True,) * 3, more=(more, 100_000))
    assert not drawn

    monkeypatch.setattr(events_module, "COUNTED", 7)
    learn(bits(1, 10_000), bits(0, 10_000), tuple("abc"), (True,) * 3, more=(more, 100_000))
    assert len(refined) == 1


def test_with_delta_the_event_beats_the_one_for_delta_zero(generator):
    def gaussian(generator, side, size, epsilon):
        return generator.normal(side, 1 / epsilon, (size, 1)).astype(np.float32)

    delta = 0.05
    (event,), _, _ = search(gaussian, 1.0, generator=generator, points=((0.5, delta),))
    cuts = np.linspace(-3, 4, 701)
    oracle = max(bound(p, q, delta) for p, q in zip(stats.norm.sf(cuts - 1), stats.norm.sf(cuts), strict=True))
    grid = np.linspace(-8, 9, 170_001)
    inside = np.asarray(event.contains(grid[:, None].astype(np.float32)))
    shares = [float(np.sum(stats.norm.pdf(grid[inside] - center)) * 1e-4) for center in (0, 1)]
    assert bound(shares[event.direction], shares[1 - event.direction], delta) > 0.97 * oracle
    assert event.point == (0.5, delta)


def test_every_point_of_a_claim_gets_its_best_event(generator):
    points = ((0.1, 0.1), (1.0, 0.01), (2.0, 0.001))
    events, _, _ = search(laplace, 1.0, generator=generator, points=points, num_events=3)
    assert len(events) == 3
    assert {event.point for event in events} == set(points)


def test_equal_laws_promise_nothing(generator):
    def same(generator, side, size, epsilon):
        return generator.laplace(0, 1, (size, 1)).astype(np.float32)

    events, _, _ = search(same, 1.0, generator=generator)
    assert events[0].predicted <= 0.01


def test_small_effort_gives_18_directed_events_of_9_cuts(generator):
    sides = [laplace(generator, side, 32, 1.0) for side in (0, 1)]
    scorers, _ = learn(sides[0], sides[1], ("output",), (False,), effort="small")
    scores = [np.stack([scorer(side) for scorer in scorers], axis=1) for side in sides]
    events = select(
        scorers,
        scores[0],
        scores[1],
        points=POINT,
        num_test=100,
        failure_probability=0.01,
        num_events=18,
        names=("output",),
    )
    assert len(events) == 18
    assert len({event.cut for event in events}) == 9
    pooled = np.concatenate(sides)
    assert max(float(np.mean(event.contains(pooled))) for event in events) <= 0.6
    assert sum(event.direction for event in events) == 9


def test_small_effort_with_two_outcomes_has_both_directions(generator):
    sides = [response(generator, side, 32, 0.1) for side in (0, 1)]
    scorers, _ = learn(sides[0], sides[1], ("output",), (True,), effort="small")
    scores = [np.stack([scorer(side) for scorer in scorers], axis=1) for side in sides]
    events = select(scorers, scores[0], scores[1], points=POINT, num_test=100, failure_probability=0.01, num_events=18)
    assert {event.direction for event in events} == {0, 1}


def test_events_are_diverse_and_distinct(generator):
    events, _, scorers = search(sparse_vector, 1.0, generator=generator, num_events=12)
    assert len({(id(event.scorer), event.cut, event.above, event.direction) for event in events}) == 12
    assert {event.direction for event in events} == {0, 1}
    assert {id(event.scorer) for event in events} == set(map(id, scorers))
    assert events[0].predicted == max(event.predicted for event in events)


def test_ties_stay_together():
    scores = np.repeat(np.arange(4, dtype=np.float32), 250)[:, None]
    likelier = np.repeat(np.arange(4, dtype=np.float32), [100, 100, 100, 700])[:, None]
    (event,) = select((Column(np.int32(0)),), likelier, scores, points=POINT, num_test=1000, failure_probability=0.05)
    assert 2 < event.cut <= 3
    assert event.above
    assert event.direction == 0
    assert event.description == "threshold, score >= 2.5"


def test_a_lucky_small_event_does_not_win_over_a_solid_one():
    """The winner's curse: 3 hits against 0 are a ratio without bound, and mean nothing."""
    generator = np.random.default_rng(1)
    one, two = (laplace(generator, side, 100_000, 0.1) for side in (0, 1))
    one[:3] = -1000
    (event,) = select((Column(np.int32(0)),), one, two, points=POINT, num_test=TEST, failure_probability=0.01)
    assert float(np.mean(event.contains(one))) > 0.2


def test_a_rare_event_that_one_side_never_shows_is_worth_its_rarity():
    """40 of a million outputs that only dataset 1 gives: a ratio far above the e that all other events show."""
    generator = np.random.default_rng(1)
    one, two = (laplace(generator, side, 1_000_000, 1.0) for side in (0, 1))
    one[:40] = -1000
    (event,) = select((Column(np.int32(0)),), one, two, points=POINT, num_test=3_000_000, failure_probability=0.05)
    assert 40 <= event.contains(one).sum() <= 43
    assert event.contains(two).sum() == 0
    assert 1 < event.predicted < math.log(40)


@given(
    st.integers(30, 10**5),
    st.integers(0, 10**5),
    st.integers(10**6, 10**7),
    st.integers(10**6, 10**7),
    st.sampled_from([0.0, 0.2, 0.9]),
)
def test_the_doubted_ratio_is_nearly_the_least_that_the_counts_allow(
    hits: int, other: int, trials: int, other_trials: int, part: float
) -> None:
    delta, z = part * hits / trials, -special.ndtri(events_module.CAUTION)
    assume(z * np.sqrt(hits) < 0.6 * (1 - part) * hits)
    rows = (np.array([count]) for count in (0, 0, 0, 0, 0, hits, trials, other, other_trials, 0, np.inf))
    (likelier,), (rarer,) = events_module._doubted(events_module._Candidates(*rows), delta)
    assert 0 <= likelier <= hits / trials
    assert other / other_trials <= rarer <= 1

    turn = np.linspace(0, np.pi / 2, 1001)
    p, q = (np.arcsin(np.sqrt(share)) for share in (hits / (trials + 1), (other + 1) / (other_trials + 1)))
    lower = np.sin(np.maximum(p - z * np.cos(turn) / (2 * np.sqrt(trials + 1)), 0)) ** 2
    upper = np.sin(q + z * np.sin(turn) / (2 * np.sqrt(other_trials + 1))) ** 2
    estimate, least = np.log((lower[-1] - delta) / upper[0]), np.log(np.min((lower - delta) / upper))
    assert least - 1e-9 <= np.log((likelier - delta) / rarer) <= least + 0.1 * (estimate - least)


def test_rare_events_of_many_scorers_do_not_win_by_luck():
    """Beside one column that tells something, the tails of eight that say nothing have many chances to look telling."""
    lucky = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        noise = generator.laplace(0, 10, (2, 20_000, 8)).astype(np.float32)
        sides = [np.hstack([laplace(generator, side, 20_000, 0.05), noise[side]]) for side in (0, 1)]
        scorers = tuple(Column(np.int32(index)) for index in range(9))
        (event,) = select(scorers, *sides, points=POINT, num_test=2_000_000, failure_probability=0.1)
        lucky += event.scorer is not scorers[0]
    assert lucky <= 2


def test_an_event_counts_the_same_in_a_compiled_program(generator):
    events, _, _ = search(sparse_vector, 1.0, generator=generator, size=5000, num_events=6)
    rows = sparse_vector(generator, 0, 20_000, 1.0)
    for event in events:
        compiled = jax.jit(event.contains)(jnp.asarray(rows))
        assert abs(int(np.sum(event.contains(rows))) - int(compiled.sum())) <= 2


def test_scores_that_never_differ_give_the_sure_event():
    ones = np.ones((50, 1), np.float32)
    (event,) = select((Column(np.int32(0)),), ones, ones, points=POINT, num_test=100, failure_probability=0.05)
    assert event.predicted <= 0
    assert isinstance(event, Event)


def test_selection_of_millions_is_fast(generator):
    import time

    scores = [generator.normal(side, 1, (1_000_000, 2)).astype(np.float32) for side in (0, 1)]
    scorers = (Column(np.int32(0)), Column(np.int32(1)))
    start = time.process_time()
    select(scorers, scores[0], scores[1], points=POINT, num_test=TEST, failure_probability=0.05, num_events=16)
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features1": np.zeros((3, 2))}, "equal columns"),
        ({"features2": np.zeros((0, 1))}, "no training samples"),
        ({"names": ("a", "b")}, "as many names"),
        ({"effort": "huge"}, "small or normal"),
        ({"features1": np.full((3, 1), np.nan)}, "finite"),
    ],
)
def test_bad_training_input(change, message):
    arguments: dict[str, Any] = {
        "features1": np.zeros((3, 1)),
        "features2": np.zeros((3, 1)),
        "names": ("a",),
        "discrete": (False,),
    }
    with pytest.raises(InvalidInput, match=message):
        learn(**{**arguments, **change})


def test_bad_selection_input():
    scorers, scores = (Column(np.int32(0)),), np.zeros((3, 1))
    with pytest.raises(InvalidInput, match="scores have shapes"):
        select(scorers, np.zeros((3, 2)), scores, points=POINT, num_test=9, failure_probability=0.1)
    with pytest.raises(InvalidInput, match="at least one"):
        select(scorers, scores, scores, points=(), num_test=9, failure_probability=0.1)
