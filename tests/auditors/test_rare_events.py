"""Rare and far outputs, NaN, infinities and new categories are seen whenever they first appear, in every mode."""

import itertools
import math
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors import anytime, rare_events
from dpassay.auditors.audit import run_audit
from dpassay.auditors.batches import taken
from dpassay.auditors.outputs import fit_encoder
from dpassay.auditors.rare_events import Census, Region, suggest
from dpassay.auditors.sampling import Sampler
from dpassay.replay import check

CLAIM = dp.PrivacyClaim(1.0)
ANYTIME: dict[str, Any] = {"time_limit": 3600.0}


@pytest.fixture(autouse=True)
def _timeless(monkeypatch):
    """With a time limit the size of a look depends on the machine's speed; here every machine is as fast."""
    ticks = itertools.count(step=0.01)
    monkeypatch.setattr(anytime, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    monkeypatch.setattr(anytime, "_seconds_per_sample", lambda pair: 1e-6)


def leaking(probability, value):
    """Laplace noise of epsilon 1 on the datasets 0 and 1 that outputs `value(dataset)` with a small probability."""

    def sample(rng, dataset, num_samples):
        outputs = dataset + rng.laplace(size=num_samples)
        outputs[rng.random(num_samples) < probability] = value(dataset)
        return outputs

    return dp.from_callable(sample, batched=True)


class Mark:
    """The same in JAX: d + 1000."""

    def sample(self, key, dataset):
        one, two = jax.random.split(key)
        return jnp.where(jax.random.uniform(one) < 0.002, dataset + 1000.0, dataset + jax.random.laplace(two))


FAR = {
    "a far value": (0.002, lambda dataset: dataset + 1000.0, "1000.5"),
    "below all others": (0.002, lambda dataset: -1e6 - dataset, "output < -1"),
    "inf against a number": (0.002, lambda dataset: math.inf if dataset else 1e9, "output"),
    "numbers that float32 merges": (0.002, lambda dataset: 1e9 + dataset, "beyond 24 bits"),
    "NaN": (0.01, lambda dataset: math.nan if dataset else 0.0, "output"),
}


@pytest.mark.parametrize("name", FAR)
def test_a_rare_leak_is_refuted_while_betting(name):
    probability, value, words = FAR[name]
    found = run_audit(leaking(probability, value), 0, 1, claim=CLAIM, num_samples=200_000, **ANYTIME)
    assert found.verdict.outcome == "refuted"
    assert found.samples["total"] <= 65_536
    assert words in found.tested[0].event.description
    assert found.certificate is not None
    assert check("audit", found.certificate["inputs"])["supports"] == "refuted"


@pytest.mark.parametrize("name", FAR)
def test_a_rare_leak_is_refuted_with_a_fixed_number_of_samples(name):
    probability, value, _ = FAR[name]
    found = run_audit(leaking(probability / 2, value), 0, 1, claim=CLAIM, num_samples=200_000)
    assert found.verdict.outcome == "refuted"
    assert found.epsilon_lower is not None
    assert found.epsilon_lower > 3


def test_a_slow_function_with_a_time_limit():
    def sample(rng, dataset):
        return dataset + (1000.0 if rng.random() < 0.02 else rng.laplace())

    assert run_audit(sample, 0, 1, claim=CLAIM, num_samples=20_000, **ANYTIME).verdict.outcome == "refuted"


@pytest.mark.parametrize("limits", [{"num_samples": 50_000}, {"num_samples": 50_000, **ANYTIME}])
def test_new_words(limits):
    def sample(rng, dataset, num_samples):
        words = np.array(["red", "green", "blue"])[rng.integers(3, size=num_samples)].tolist()
        return [f"secret {dataset}" if rng.random() < 0.01 else word for word in words]

    found = run_audit(dp.from_callable(sample, batched=True), 0, 1, claim=CLAIM, **limits)
    assert found.verdict.outcome == "refuted"
    assert "secret" in found.tested[0].event.description


def test_a_compiled_sampler():
    found = run_audit(Mark(), 0.0, 1.0, claim=CLAIM, num_samples=1_000_000, **ANYTIME)
    assert found.verdict.outcome == "refuted"
    assert "1000" in found.tested[0].event.description


def test_what_is_first_seen_after_the_pool_is_full_is_found(monkeypatch):
    """1 in 20,000, of which the pool of 4,000 knows nothing."""
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)  # else a slow machine has larger batches, and a larger pool
    monkeypatch.setattr(anytime, "POOL", 4000)
    for value in (lambda dataset: dataset + 1000.0, lambda dataset: math.nan if dataset else 0.0):
        found = run_audit(leaking(5e-5, value), 0, 1, claim=CLAIM, num_samples=4_000_000, **ANYTIME)
        assert found.verdict.outcome == "refuted"


def test_without_the_census_it_is_not(monkeypatch):
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)  # else a slow machine has larger batches, and a larger pool
    monkeypatch.setattr(anytime, "POOL", 4000)
    monkeypatch.setattr(Census, "add", lambda *_: None)
    found = run_audit(
        leaking(5e-5, lambda dataset: dataset + 1000.0), 0, 1, claim=CLAIM, num_samples=2_000_000, **ANYTIME
    )
    assert found.verdict.outcome == "not refuted"


def test_what_was_not_staked_is_not_lost():
    """At the boundary the main account shrinks, the other one waits."""
    runs = []
    original = anytime.run_anytime

    def run(*arguments: Any, **options: Any) -> Any:
        runs.append(original(*arguments, **options))
        return runs[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anytime, "run_anytime", run)
        found = run_audit(leaking(0.0, float), 0, 1, claim=CLAIM, num_samples=100_000, **ANYTIME)
    assert found.verdict.outcome == "not refuted"
    wagers = runs[0].wagers
    assert wagers[0].purse == pytest.approx(math.log(anytime.RARE))
    assert wagers[-1].purse > math.log(anytime.RARE) - 2
    for wager in wagers:
        process = wager.process
        assert np.all(process.weights.sum(axis=0) + process.cash <= 1)
    assert found.certificate is not None
    assert check("audit", found.certificate["inputs"])["supports"] == "not refuted"


# Parts


def test_misses_are_what_no_column_tells():
    values = np.random.default_rng(0).laplace(size=(2, 1000))
    encoder = fit_encoder(values[0], values[1])
    new = np.array([0.0, 1000.0, 1e9, np.nan, np.inf, -np.inf])
    assert encoder.misses(np.asarray(encoder.encode(new))).tolist() == [False, False, True, True, True, True]
    again = fit_encoder(np.concatenate([values[0], new]), values[1])
    assert not again.misses(np.asarray(again.encode(new))).any()
    assert np.isfinite(again.features(new)).all()
    near = again.features(np.array([1e9, 1e9 + 1]))
    assert near[1, again.names.index("output, beyond 24 bits")] - near[0, 1] == 1
    counts = fit_encoder(np.arange(10), np.arange(10))
    assert counts.misses(np.asarray(counts.encode(np.array([3, 10**9])))).tolist() == [False, True]
    words = fit_encoder(["a", "b"], ["a", "a"])
    assert words.misses(words.encode(["a", "c"])).tolist() == [False, True]
    records = fit_encoder([{"x": 1.5}, {"x": 2.5, "y": "a"}] * 9, [{"x": 0.5}] * 9)
    rows = records.encode([{"x": math.nan}, {"x": 1.0}, {"x": 2.0, "z": 1}])
    assert records.misses(rows).tolist() == [True, False, True]


def test_a_split_column_is_the_same_in_a_compiled_program():
    with jax.enable_x64(True):
        values = np.concatenate([np.random.default_rng(1).laplace(size=1000), [1e9, 1e9 + 1, 3e9 + 0.25]])
        encoder = fit_encoder(values, values)
        compiled = jax.jit(encoder.features)(jnp.asarray(values))
        assert np.array_equal(encoder.features(values), np.asarray(compiled))
        assert len(np.unique(encoder.features(values[-3:]), axis=0)) == 3


def test_the_region_holds_the_extremes_and_what_is_rarely_missing():
    rng = np.random.default_rng(0)
    sides = [np.stack([rng.normal(size=10_000), np.zeros(10_000)], axis=1).astype(np.float32) for _ in (0, 1)]
    sides[0][:5, 1] = np.nan
    encoder = fit_encoder(*sides)
    region = Region.fit(encoder, [np.asarray(encoder.encode(side), np.float32) for side in sides], 1e-3)
    held = [region.holds(np.asarray(encoder.encode(side))) for side in sides]
    assert held[0].sum() + held[1].sum() == 2 * 20 + 5
    assert held[0][:5].all()
    assert region.holds(np.asarray(encoder.encode(np.array([[0.0, 1.0], [9.0, 0.0], [0.0, 0.0]])))).tolist() == [
        True,
        True,
        False,
    ]
    often = [np.where(rng.random((10_000, 2)) < 0.3, np.nan, side) for side in sides]
    encoder = fit_encoder(*often)
    region = Region.fit(encoder, [np.asarray(encoder.encode(side)) for side in often], 1e-3)
    assert not region.holds(np.asarray(encoder.encode(np.full((1, 2), np.nan))))[0]


@pytest.mark.parametrize("batched", [False, True])
def test_a_compiled_loop_marks_exactly_the_rare_outputs(batched):
    class Noise:
        def sample(self, key, dataset):
            return dataset + jax.random.laplace(key)

    class Batch(Noise):
        def sample_batch(self, key, dataset, num_samples):
            return dataset + jax.random.laplace(key, (num_samples,))

    number = 150_000
    drawn: dict[bool, Any] = {}
    for watched in (False, True):
        sampler = Sampler(Batch() if batched else Noise(), 0.0, 1.0)
        first = [sampler.outputs(side, "training", 20_000) for side in (0, 1)]
        region = Region.fit(sampler.encoder, [encoded for _, encoded in first], 1e-3)
        event = suggest(
            sampler.encoder, [encoded for _, encoded in first], [20_000] * 2, (region.low, region.high), [(0.1, 0.0)]
        )[0].event
        if watched:
            sampler.census = Census(region)
            count = sampler.counts(1, "test", number, (event,))
            assert sampler.census.trials == [0, number]
            drawn[watched] = np.concatenate(sampler.census.kept[1])
            scores = sampler.scores(1, "selection", 70_000, (event.scorer,))
            assert scores.shape == (70_000, 1)
            assert sampler.census.trials == [0, number + 70_000]
        else:
            outputs, encoded = sampler.outputs(1, "test", number)
            drawn[watched] = taken(outputs, np.flatnonzero(region.holds(encoded)))
            expected = np.count_nonzero(event.contains(sampler.encoder.filled(encoded)))
    assert len(drawn[True]) > 100
    assert np.array_equal(drawn[True], drawn[False])
    assert count[0] == expected


def test_suggestions_are_the_tails_that_speak_against_the_claim():
    rng = np.random.default_rng(0)
    one, two = (rng.normal(size=(1000, 3)).astype(np.float32) for _ in range(2))
    one[:20, 1], two[:30, 2] = 50.0, -70.0
    encoder = fit_encoder(one, two)
    best, second = suggest(encoder, [one, two], [1000, 1000], (np.full(3, -9.0), np.full(3, 9.0)), [(1.0, 0.0)])
    assert (best.event.direction, best.event.above, best.counts) == (1, False, (30, 1000, 0, 1000))
    assert (second.event.direction, second.event.above, second.counts) == (0, True, (20, 1000, 0, 1000))
    assert second.strength == pytest.approx(20 * math.log1p(math.exp(-1)), rel=0.02)
    assert 9 < second.event.cut < 50
    assert not suggest(encoder, [one, two], [1000, 1000], (np.full(3, -99.0), np.full(3, 99.0)), [(1.0, 0.0)])


def test_the_census_stops_when_it_is_full(monkeypatch):
    monkeypatch.setattr(rare_events, "MOST", 10)
    census = Census(
        Region.fit(fit_encoder(np.arange(9.0), np.arange(9.0)), [np.arange(9.0)[:, None].astype(np.float32)] * 2, 0.1)
    )
    for _ in range(5):
        census.add(0, np.ones(4), 4, 1000)
    assert census.trials == [3000, 0]
    assert sum(map(len, census.kept[0])) == 12


@pytest.mark.parametrize("limits", [{"num_samples": 5000}, {"num_samples": 5000, **ANYTIME}])
def test_what_would_have_been_caught_is_caught(limits):
    found = run_audit(leaking(0.0, float), 0, 1, claim=CLAIM, seed=50, **limits)
    rarest, smallest = found.detectable["rarest_event"], found.detectable["smallest_epsilon"]
    assert rarest is not None
    for seed in range(3):
        leak = leaking(rarest, lambda dataset, seed=seed: -(10.0 ** (2 + seed)) + dataset)
        assert run_audit(leak, 0, 1, claim=CLAIM, seed=seed, **limits).verdict.outcome == "refuted"
    larger = dp.from_callable(lambda rng, dataset, size: dataset * smallest + rng.laplace(size=size), batched=True)
    assert run_audit(larger, 0, 1, claim=CLAIM, seed=1, **limits).verdict.outcome == "refuted"
    fewer = leaking(rarest / 20, lambda dataset: dataset + 1000.0)  # and the statement is not empty
    outcomes = [run_audit(fewer, 0, 1, claim=CLAIM, seed=seed, **limits).verdict.outcome for seed in range(3)]
    assert outcomes.count("not refuted") >= 2
