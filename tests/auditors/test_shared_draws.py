"""Whoever draws, in whatever order, the counts are those of one process; who draws something else is noticed."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors import sampling, shared_draws
from dpassay.auditors.audit import run_audit
from dpassay.auditors.events import Event
from dpassay.auditors.rare_events import Census, Region
from dpassay.auditors.sampling import Sampler
from dpassay.auditors.scorers import Column
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.protocol import from_callable
from dpassay.experiments import run as run_experiment
from dpassay.runs.parallel import SPAWN
from tests.runs.test_parallel import Shuffled


class Laplace:
    def sample(self, key, dataset):
        return dataset + jax.random.laplace(key)


class BatchedLaplace(Laplace):
    def sample_batch(self, key, dataset, num_samples):
        return dataset + jax.random.laplace(key, (num_samples,))[::-1]  # another size has no common part


def called(rng, dataset):
    return dataset + rng.laplace()


def batched(rng, dataset, num_samples):
    return dataset + rng.laplace(size=num_samples)


def written(rng, dataset):
    """Its outputs are no arrays."""
    return {"film": str(rng.choice(["a", "b", "c"])), "noise": dataset + rng.laplace()}


MECHANISMS = {
    "jit": Laplace(),
    "batched jit": BatchedLaplace(),
    "called": from_callable(called),
    "batched": from_callable(batched, batched=True),
    "written": from_callable(written),
}
SIZES = {"jit": 300_000, "batched jit": 300_000, "called": 20_000, "batched": 200_000, "written": 10_000}
EVENTS = tuple(Event(Column(np.int32(0)), cut, True, 0, (1.0, 0.0), "", 0.0) for cut in (0.0, 0.5, 3.0))


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Everything is shared out, a chunk at a time."""
    monkeypatch.setattr(sampling, "SHARED", 0.0)
    monkeypatch.setattr(sampling, "TASK_SECONDS", 0.0)
    monkeypatch.setattr(shared_draws, "TASK_SECONDS", 0.0)


def everything(name, executor):
    """What a sampler gives, of every phase and kind, and the rare outputs that it kept."""
    sampler, n = Sampler(MECHANISMS[name], 0.0, 1.0, seed=3, executor=executor), SIZES[name]
    sampler.probe(64)
    rows = [sampler.draw(side, "training", n) for side in (0, 1)]
    census = sampler.census = Census(Region.fit(sampler.encoder, rows, 0.001))
    scores = [sampler.scores(side, "selection", n, [event.scorer for event in EVENTS]) for side in (0, 1)]
    counts = [sampler.counts(side, "test", n, EVENTS) for side in (0, 1)]
    sampler.census = None
    more = [sampler.counts(side, "test", n // 3, EVENTS) for side in (0, 1)]
    return [rows, scores, counts, more, census.kept, census.trials, sampler.drawn, sampler.stamp, sampler.warnings]


@pytest.mark.parametrize("name", MECHANISMS)
def test_counts_are_those_of_one_process(name):
    alone = everything(name, None)
    shuffled = Shuffled(1, times=2)  # and what is done twice counts once
    with ThreadPoolExecutor(3) as threads:
        for executor in (shuffled, threads):
            np.testing.assert_equal(everything(name, executor), alone)
    assert shuffled.submitted > 10


def test_the_work_is_handed_out():
    executor = Shuffled(1)
    Sampler(MECHANISMS["called"], 0.0, 1.0, executor=executor).counts(0, "test", 9000, EVENTS)
    assert executor.submitted == 3  # of 4096 calls at most


@pytest.mark.parametrize("name", ["jit", "written"])
def test_an_audit_is_that_of_one_process(name):
    settings: Any = {"claim": PrivacyClaim(0.5), "num_samples": 60_000 if name == "jit" else 8000}
    alone = run_audit(MECHANISMS[name], 0.0, 1.0, **settings).to_json()
    together = run_audit(MECHANISMS[name], 0.0, 1.0, executor=Shuffled(5), **settings).to_json()
    assert alone.pop("seconds") > 0 < together.pop("seconds")
    assert together == alone


class Lucky:
    """Pickled like any other; the workers' copy draws from a generator of its own."""

    def __init__(self):
        self.own = np.random.default_rng(0)
        self.here = True

    def __getstate__(self):
        return {"own": np.random.default_rng(0), "here": False}

    def __call__(self, rng, dataset):
        return dataset + (rng if self.here else self.own).laplace()


def test_a_worker_that_draws_otherwise_is_noticed():
    sampler = Sampler(from_callable(Lucky()), 0.0, 1.0, executor=Shuffled(1))
    with pytest.raises(InvalidInput, match="a worker draws other outputs than this process"):
        sampler.counts(0, "test", 20_000, EVENTS)


class Rarely:
    """Differs in other processes, but so rarely that a few draws do not show it."""

    def __init__(self):
        self.here = True

    def __getstate__(self):
        return {"here": False}

    def __call__(self, rng, dataset, num_samples):
        outputs = dataset + rng.laplace(size=num_samples)
        return outputs if self.here else np.where(outputs > 8, 8, outputs)


def test_a_worker_that_rarely_draws_otherwise_is_noticed():
    sampler = Sampler(from_callable(Rarely(), batched=True), 0.0, 1.0, executor=Shuffled(1))
    with pytest.raises(InvalidInput, match="a worker draws other outputs than this process"):
        sampler.scores(0, "test", 1_500_000, [EVENTS[0].scorer])


own = np.random.default_rng(0)


@pytest.mark.filterwarnings("ignore")
def test_a_sampler_with_a_generator_of_its_own_is_not_shared_out():
    sampler = Sampler(from_callable(lambda _, dataset: dataset + own.laplace()), 0.0, 1.0, executor=Shuffled(1))
    with pytest.raises(InvalidInput, match="another source of randomness"):
        sampler.counts(0, "test", 20_000, EVENTS)


class Repeating:
    """Other processes give the same chunk every time, but for the few draws by which they are known."""

    def __init__(self):
        self.here = True

    def __getstate__(self):
        return {"here": False}

    def __call__(self, rng, dataset, num_samples):
        own = rng if self.here or num_samples < 1000 else np.random.default_rng(1)
        return dataset + own.laplace(size=num_samples)


def test_chunks_that_repeat_are_noticed_across_workers():
    sampler = Sampler(from_callable(Repeating(), batched=True), 0.0, 1.0, executor=Shuffled(1))
    with pytest.raises(InvalidInput, match="repeats its random stream"):
        sampler.counts(0, "test", 400_000, EVENTS)


class Changing:
    """In other processes it counts its calls in the dataset, which its outputs do not show yet."""

    def __init__(self):
        self.here = True

    def __getstate__(self):
        return {"here": False}

    def __call__(self, rng, dataset):
        dataset["calls"] += 0 if self.here else 1
        return dataset["value"] + rng.laplace()


def test_a_dataset_that_workers_change_is_noticed():
    pair = {"value": 0.0, "calls": 0}, {"value": 1.0, "calls": 0}
    with pytest.raises(InvalidInput, match="changes dataset 1"):
        dp.audit(Changing(), *pair, epsilon=1.0, num_samples=20_000, executor=Shuffled(1))


def test_workers_draw_by_the_chunks_of_this_process():
    def counts(executor):
        sampler = Sampler(BatchedLaplace(), 0.0, 1.0, executor=executor)
        sampler.probe(64)
        assert sampler._traced is not None
        sampler._traced.chunk = 4096  # as where memory is short; each chunk has a key of its own
        return sampler.counts(0, "test", 200_000, EVENTS)

    assert counts(Shuffled(1)).tolist() == counts(None).tolist()


def test_unusable_executors_are_told():
    class Client:
        def get_executor(self): ...

    for wrong, said in ((2, "executor is a int"), (Client(), r"its method .get_executor\(\) returns")):
        with pytest.raises(InvalidInput, match=said):
            dp.audit(called, 0.0, 1.0, epsilon=1.0, num_samples=1000, executor=wrong)  # type: ignore[arg-type]
    if "fork" in multiprocessing.get_all_start_methods():
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as forks:
            for work in (
                lambda: dp.audit(called, 0.0, 1.0, epsilon=1.0, num_samples=1000, executor=forks),
                lambda: dp.verify(claims=["PP-LAM2"], executor=forks),
                lambda: run_experiment("beta-knn", quick=True, executor=forks),
            ):
                with pytest.raises(InvalidInput, match="forks this process"):
                    work()


def test_processes_give_the_counts_of_one():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as processes:
        for name in ("jit", "called"):
            np.testing.assert_equal(everything(name, processes), everything(name, None))
