"""Streams are independent, repeatable and never reused; every form of a mechanism gives the same counts as its law."""

import itertools
import math
import os
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpassay.auditors.events import Event
from dpassay.auditors.sampling import Sampler
from dpassay.auditors.scorers import Column
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.protocol import from_callable

ALPHA = 1e-6


class Laplace:
    """Plain, in the program's own precision."""

    def sample(self, key, dataset):
        return dataset + jax.random.laplace(key)


class DoubleLaplace(Laplace):
    @float64
    def sample(self, key, dataset):
        return dataset + jax.random.laplace(key)


class BatchedLaplace(Laplace):
    def sample_batch(self, key, dataset, num_samples):
        return dataset + jax.random.laplace(key, (num_samples,))


class Branching(Laplace):
    """Looks at the dataset in Python: it must not become an argument of the compiled function."""

    def sample(self, key, dataset):
        return jax.random.laplace(key) + (1.0 if dataset > 0.5 else 0.0)


class Untraceable(Laplace):
    def sample(self, key, dataset):
        return float(dataset + jax.random.laplace(key))


MECHANISMS = {
    "plain": Laplace(),
    "double": DoubleLaplace(),
    "batched": BatchedLaplace(),
    "branching": Branching(),
    "untraceable": Untraceable(),
    "callable": from_callable(lambda rng, dataset: dataset + rng.laplace()),
    "batched callable": from_callable(lambda rng, dataset, n: dataset + rng.laplace(size=n), batched=True),
}


def event(cut, above=True, index=0):
    return Event(Column(np.int32(index)), cut, above, 0, (1.0, 0.0), "", 0.0)


@pytest.mark.parametrize("name", MECHANISMS)
def test_counts_follow_the_law(name):
    sampler = Sampler(MECHANISMS[name], 0.0, 1.0, seed=1)
    events = (event(0.5), event(0.5, above=False), event(3.0))
    n = 300 if name == "untraceable" else 20_000 if not sampler.traced else 150_000  # several chunks, the last not full
    sampler.probe(64)
    for side in (0, 1):
        counts = sampler.counts(side, "test", n, events)
        assert counts.dtype == np.int64
        assert counts[0] + counts[1] == n
        for count, cut in ((counts[0], 0.5), (counts[2], 3.0)):
            assert stats.binomtest(int(count), n, stats.laplace(side).sf(cut)).pvalue > ALPHA
    assert sampler.drawn == {"training": [64, 64], "selection": [0, 0], "test": [n, n]}
    assert 0 < sampler.seconds_per_sample < 0.1
    assert sampler.traced == (name in ("plain", "double", "batched", "branching"))
    assert [text[:4] for text in sampler.warnings] == (["slow"] if name == "untraceable" else [])


@pytest.mark.parametrize("name", MECHANISMS)
def test_streams_repeat_with_the_seed_and_never_otherwise(name):
    def draws(seed, run):
        sampler = Sampler(MECHANISMS[name], 0.0, 0.0, seed=seed, run=run)
        sampler.probe(8)
        return [
            sampler.draw(side, phase, 12)[:, 0]
            for side, phase, _ in itertools.product((0, 1), ("training", "selection", "test"), range(2))
        ]

    first = draws(0, 0)
    np.testing.assert_array_equal(first, draws(0, 0))
    everything = np.concatenate([*first, *draws(0, 1), *draws(1, 0)])
    assert len(np.unique(everything)) == len(everything)


def test_single_samples_do_not_depend_on_the_cut_into_calls():
    whole, parts = (Sampler(Laplace(), 0.0, 1.0) for _ in range(2))
    for sampler in (whole, parts):
        sampler.probe(100)
    pieces = [parts.draw(1, "test", n) for n in (1, 0, 70_000, 29_999)]
    np.testing.assert_array_equal(whole.draw(1, "test", 100_000), np.concatenate(pieces))


def test_features_scores_and_counts_agree():
    scorers = (Column(np.int32(0)), Column(np.int32(0)))
    samplers = [Sampler(Laplace(), 0.0, 1.0, seed=3) for _ in range(3)]
    for sampler in samplers:
        sampler.probe(100)
    features = samplers[0].draw(0, "test", 70_000)
    scores = samplers[1].scores(0, "test", 70_000, scorers)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, np.repeat(features, 2, axis=1))
    events = (event(0.25), event(-1.0, above=False))
    counts = samplers[2].counts(0, "test", 70_000, events)
    assert counts.tolist() == [int(one.contains(features).sum()) for one in events]


def test_no_call_compiles_again():
    sampler = Sampler(Laplace(), 0.0, 1.0)
    sampler.probe(100)
    traced = sampler._traced
    assert traced is not None
    probed = len(traced._compiled)
    sampler.counts(0, "test", 10, (event(0.5),))
    sampler.scores(0, "test", 10, [Column(np.int32(0))])
    assert len(traced._compiled) == probed  # a few are not worth it
    sampler.counts(0, "test", 100_000, (event(0.5),))
    compiled = len(traced._compiled)
    assert compiled > probed
    for side, n, cut in itertools.product((0, 1), (1, 100, 100_000), (0.1, 0.7)):
        sampler.counts(side, "test", n, (event(cut),))
    assert len(traced._compiled) == compiled  # both sides, every number of samples, every cut


def test_no_step_is_split_over_threads():
    """Chunks are: two threads that each split their steps take each other's time."""
    sampler = Sampler(Laplace(), 0.0, 1.0)
    sampler.counts(0, "test", 100_000, (event(0.5),))
    traced = sampler._traced
    assert traced is not None
    assert traced._compiled
    for compiled in traced._compiled.values():
        text = compiled.as_text()  # type: ignore[attr-defined]
        assert "outer_dimension_partitions" not in text


def test_the_first_draw_fits_the_encoder_and_wastes_nothing():
    calls = []

    def sampler(rng, dataset):
        calls.append(dataset)
        return dataset + rng.laplace()

    audited = Sampler(from_callable(sampler), 0, 1)
    rows = [audited.draw(side, "training", 50) for side in (0, 1)]
    assert [len(part) for part in rows] == [50, 50]
    assert audited.drawn["training"] == [50, 50]
    assert len(calls) <= 108  # and a few to see whether it repeats
    assert len(np.unique(np.concatenate([rows[0], audited.draw(0, "training", 50)])[:, 0])) == 100


def test_host_program_keeps_its_precision():
    for wide in (False, True):
        with jax.enable_x64(wide):
            for mechanism in (Laplace(), DoubleLaplace()):
                sampler = Sampler(mechanism, 0.0, 1.0)
                sampler.counts(0, "test", 100, (event(0.5),))
                assert jnp.zeros(1).dtype == (jnp.float64 if wide else jnp.float32)
                traced = sampler._traced
                assert traced is not None
                assert traced.wide == (wide or isinstance(mechanism, DoubleLaplace))


def test_large_numbers_of_samples_are_counted_in_64_bits(monkeypatch):
    sampler = Sampler(Laplace(), 0.0, 1.0)
    sampler.probe(100)
    jobs: list[int] = []
    huge = 5 * 2**31

    def count(words, size):
        jobs.append(size)
        return np.array([size], np.int32)

    monkeypatch.setattr(sampler._traced, "counts", lambda *_: count)
    assert sampler.counts(0, "test", huge, (event(0.0),)).tolist() == [huge]
    assert max(jobs) < 2**30
    assert sampler.drawn["test"][0] == huge


def test_bits_are_sampled_outside_the_jit():
    sampler = Sampler(Laplace(), 0.0, 1.0, representation="bits")
    sampler.probe(100)
    assert not sampler.traced
    rows = sampler.draw(0, "test", 300)
    assert rows.shape == (300, len(sampler.encoder.names))
    assert sampler.counts(1, "test", 300, (event(0.5),))[0] > 100


def test_outputs_of_different_shapes_are_compared_by_length():
    class Rows:
        def sample(self, key, dataset):
            return dataset + jax.random.laplace(key, dataset.shape)

    sampler = Sampler(Rows(), np.zeros(2), np.zeros(3))
    sampler.probe(20)
    assert not sampler.traced
    column = sampler.encoder.names.index("len(output)")
    assert [set(sampler.draw(side, "test", 10)[:, column]) for side in (0, 1)] == [{2.0}, {3.0}]


def test_structures_and_expensive_mechanisms_are_traced():
    @dataclass(frozen=True)
    class Costly:
        def sample(self, key, dataset):
            noise = jax.random.normal(key, (100, 100))
            return {"sum": (noise @ noise).sum() + dataset, "sign": noise[0, 0] > 0}

    sampler = Sampler(Costly(), 0.0, 1.0)
    sampler.probe(10)
    assert sampler.encoder.names == ("output['sign'] is True", "output['sum']")
    assert sampler._traced is not None
    assert sampler._traced.chunk <= 4096  # 65,536 of them would take 5 GB
    assert sampler.counts(0, "test", 10, (event(0.5),))[0] <= 10


@pytest.mark.parametrize(
    ("function", "batched", "message"),
    [
        (lambda rng, dataset: 1 / 0, False, "raises at every call on dataset 1: ZeroDivisionError"),
        (lambda key, dataset: jax.random.laplace(key), False, "a sampler in JAX is an object with sample"),
        (lambda rng, dataset, n: 1 / 0, True, "batched sampler raises on dataset 1: ZeroDivisionError"),
        (lambda rng, dataset, n: np.zeros(3), True, "returned 3 outputs on dataset 1 when asked for 256"),
        (lambda rng, dataset, n: 3.0, True, "returned one value on dataset 1 when asked for 256"),
        (lambda rng, dataset, n: np.random.default_rng(0).laplace(size=n), True, "repeats its random stream"),
        (
            lambda rng, dataset: time.sleep(60),
            False,
            r"the sampler on dataset 1 did not return within 0.2 s \(call 1\)",
        ),
        (lambda rng, dataset, n: time.sleep(60), True, "did not return within 0.2 s"),
    ],
)
def test_an_unusable_sampler_gets_one_line(function, batched, message):
    limit = 0.2 if "within" in message else 60.0  # on a busy machine any call may take that long
    sampler = Sampler(from_callable(function, batched=batched), 0, 1, call_limit=limit)
    with pytest.raises(InvalidInput, match=message) as caught:
        sampler.probe(512)
    assert "\n" not in str(caught.value)


def test_a_jax_sampler_that_hangs_gets_one_line():
    code = """if True:
        import jax, sys
        from dpassay.auditors.sampling import Sampler
        class Endless:
            def sample(self, key, dataset):
                noise = jax.random.laplace(key)
                return jax.lax.while_loop(lambda x: x < 100.0, lambda x: noise, noise)
        try:
            Sampler(Endless(), 0.0, 1.0, call_limit=0.5).probe()
        except Exception as error:
            print(type(error).__name__, error, flush=True)
        import os
        os._exit(0)
    """
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ})
    assert "InvalidInput the sampler on dataset 1 did not return within 0.5 s" in done.stdout, done.stderr


def test_a_hang_that_comes_later_names_the_dataset_and_the_call():
    calls = itertools.count()

    def slow(rng, dataset):
        if dataset == 1 and next(calls) >= 20:
            time.sleep(60)
        return dataset + rng.laplace()

    with pytest.raises(InvalidInput, match=r"on dataset 2 did not return within 1 s"):
        Sampler(from_callable(slow), 0, 1, call_limit=1.0).probe(100)


def test_a_repeated_stream_is_found_in_any_phase():
    state = np.random.default_rng(5)

    def shared(rng, dataset, n):
        source = np.random.default_rng(7) if n == 77 else rng  # test rows repeat each other
        return dataset + source.laplace(size=n)

    sampler = Sampler(from_callable(shared, batched=True), 0.0, 1.0)
    sampler.probe(256)
    sampler.counts(0, "test", 77, (event(0.5),))
    with pytest.raises(InvalidInput, match="repeats its random stream"):
        sampler.counts(0, "test", 77, (event(0.5),))

    def global_stream(rng, dataset):
        return dataset + state.laplace()

    warned = Sampler(from_callable(global_stream), 0.0, 1.0)
    warned.probe(64)
    assert ["drew nothing" in text or "not repeatable" in text for text in warned.warnings] == [True, True]


def test_a_jax_batch_that_ignores_its_key_is_found():
    class Stuck(Laplace):
        def sample_batch(self, key, dataset, num_samples):
            return dataset + jax.random.laplace(jax.random.key(0), (num_samples,))

    with pytest.raises(InvalidInput, match="repeats its random stream"):
        Sampler(Stuck(), 0.0, 1.0).probe(256)


def test_fair_coins_are_not_called_repeats():
    sampler = Sampler(from_callable(lambda rng, dataset: bool(rng.random() < 0.5)), 0, 1)
    sampler.probe(40)
    for _ in range(40):
        sampler.counts(0, "test", 10, (event(0.5),))
    constant = Sampler(from_callable(lambda rng, dataset: dataset), 0, 1)
    constant.probe(200)
    assert constant.draw(1, "test", 300)[:, 0].tolist() == [1.0] * 300
    assert constant.warnings == [
        "the sampler is deterministic: it gave one and the same output at every probe call on each dataset, "
        "and the two differ"
    ]


def test_an_exception_now_and_then_is_an_output():
    def fragile(rng, dataset):
        if dataset and rng.random() < 0.3:
            raise ValueError("odd\nline")
        return rng.random()

    sampler = Sampler(from_callable(fragile), 0, 1)
    sampler.probe(100)
    index = sampler.encoder.names.index("output raised ValueError")
    counts = [sampler.counts(side, "test", 300, (event(0.5, index=index),))[0] for side in (0, 1)]
    assert counts[0] == 0
    assert 40 < counts[1] < 150
    assert any("ValueError: odd line" in text and "of 100 calls on dataset 2" in text for text in sampler.warnings)


def test_changing_shapes_and_strange_outputs_are_warned_of_or_taken():
    sampler = Sampler(from_callable(lambda rng, dataset: np.zeros(rng.integers(1, 4))), 0, 1)
    sampler.probe(50)
    assert any("change shape or type" in text for text in sampler.warnings)
    strange = Sampler(from_callable(lambda rng, dataset: [object(), {rng.integers(2).item()}, "text", math.nan]), 0, 1)
    strange.probe(50)
    assert np.isfinite(strange.draw(0, "test", 20)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": int}, "int is a class; give an instance"),
        ({"mechanism": 3}, "int is no mechanism"),
        ({"seed": -1}, "seed is -1"),
        ({"run": 1.5}, "run is 1.5"),
        ({"call_limit": 0}, "call_limit is 0"),
        ({"threads": 0}, "threads is 0"),
        ({"representation": "raw"}, "choose values or bits"),
    ],
)
def test_bad_arguments_get_one_line(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        Sampler(**{"mechanism": Laplace(), "dataset1": 0.0, "dataset2": 1.0, **arguments})
