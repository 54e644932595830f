import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors import neighbor_search, tracing
from dpassay.auditors.neighbor_search import VectorRelation, _Matrices, _Pair, _space, _Vectors, search_black_box
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim
from dpassay.runs import steps

ADD = "add_or_remove_one:rating"
RELATIONS = [f"add_or_remove_one:{unit}" for unit in ("rating", "user")]
RELATIONS += [f"replace_one:{unit}" for unit in ("rating", "user", "entry")]
ALPHA = 1e-6


def count(rng, ratings, num_samples):
    return (~np.isnan(ratings)).sum() + rng.laplace(0, 1, num_samples)


def lonely(rng, ratings, num_samples):
    """A noisy count that jumps when a user has exactly one rating."""
    alone = ((~np.isnan(ratings)).sum(axis=1) == 1).any()
    return count(rng, ratings, num_samples) + 6.0 * alone


def find(function, relation=ADD, epsilon=1.0, **options):
    options = {"failure_probability": ALPHA, "time_limit": 60.0, **options}
    wrapped = dp.from_callable(function, batched=True)
    return search_black_box(wrapped, relation, claim=PrivacyClaim(epsilon), **options)


def test_finds_a_planted_pattern_and_shrinks_it():
    lines: list[str] = []
    witness = find(lonely, num_users=3, progress=lines.append)
    assert witness is not None
    assert witness.epsilon > 1.5
    assert witness.relation.changed(witness.dataset1, witness.dataset2)
    alone = [(~np.isnan(data)).sum(axis=1) == 1 for data in (witness.dataset1, witness.dataset2)]
    assert bool(alone[0].any()) != bool(alone[1].any())
    # The smallest violation is one user with one rating, against none or two.
    assert len(witness.dataset1) == 1
    assert max((~np.isnan(data)).sum() for data in (witness.dataset1, witness.dataset2)) <= 2
    assert any("confidence bounds" in note for note in witness.notes)
    assert any("output" in str(event) for event in witness.event)
    assert lines
    assert witness.to_json()["relation"] == ADD


def test_the_witness_holds_bounds_of_the_event():
    witness = find(lonely, num_users=2, num_items=2, seed=4)
    assert witness is not None
    low, high = math.exp(witness.log_probability1), math.exp(witness.log_probability2)
    assert 0 < high < low < 1
    event = witness.event[0]
    rng = np.random.default_rng(99)
    cut = float(event.split()[-1])
    shares = []
    for dataset in (witness.dataset1, witness.dataset2):
        values = lonely(rng, dataset, 400_000)
        shares.append(float((values >= cut).mean() if ">=" in event else (values < cut).mean()))
    assert shares[0] > low - 0.01
    assert shares[1] < high + 0.01


def test_finds_nothing_against_a_sound_mechanism():
    assert find(count, time_limit=4.0) is None


def test_false_witnesses_are_as_rare_as_stated():
    """Randomized response exactly at the boundary of its claim, again and again, at failure probability 0.2."""

    def respond(rng, vector, num_samples):
        truth = vector[0] > 0.5
        return (rng.random(num_samples) < 1 / (1 + math.exp(-1.0))) == truth

    options = {"num_items": 1, "time_limit": 0.25, "failure_probability": 0.2}
    found = [find(respond, "vector:one", seed=seed, **options) is not None for seed in range(24)]
    # 24 runs of probability 0.2: more than 18 have probability below 1e-6.
    assert sum(found) <= 18


def test_evolution_follows_a_gradient():
    """The loss grows with every cell of the first item that holds a 5: no pattern has all and the right change."""

    def climbing(rng, ratings, num_samples):
        fives = (ratings[:, 0] == 5).sum() * (ratings[:, 1] == 1).sum()
        return 0.3 * fives + rng.laplace(0, 1, num_samples)

    witness = find(climbing, "replace_one:rating", epsilon=0.85, num_users=3, num_items=2)
    assert witness is not None
    assert witness.epsilon > 0.85


def test_vectors_shrink_to_what_matters():
    def largest(rng, vector, num_samples):
        return (vector + rng.laplace(0, 2, (num_samples, len(vector)))).max(axis=1)

    witness = find(largest, "vector:all", epsilon=1.0, num_items=5)
    assert witness is not None
    assert witness.dataset1.shape[0] == 1
    # A single value is released with half of the budget: two or more are needed.
    assert 3 <= witness.dataset1.size <= 5
    assert np.abs(witness.dataset1 - witness.dataset2).max() <= 1


@dataclass(frozen=True)
class Leaky:
    """Laplace noise made for sensitivity 1 on the sum of ratings."""

    def sample(self, key, dataset):
        return jnp.nansum(dataset) + jax.random.laplace(key)


def test_jax_mechanisms_and_dispatch_from_search():
    witness = dp.search(Leaky(), ADD, epsilon=1.0, num_users=2, num_items=2, time_limit=60.0)
    assert witness is not None
    assert witness.epsilon > 1.5
    assert np.nansum(witness.dataset1) != np.nansum(witness.dataset2)


def test_slow_callables_of_single_samples():
    def single(rng, ratings):
        return "many" if np.nansum(ratings) + rng.laplace() > 3 else None

    witness = search_black_box(
        dp.from_callable(single), ADD, claim=PrivacyClaim(0.5), num_users=2, num_items=1, time_limit=60.0
    )
    assert witness is not None
    assert "output" in str(witness.event[0])


class Clock:
    """Stands in for `time`; only calls of a sampler take time."""

    now = 0.0

    def monotonic(self):
        return self.now

    perf_counter = monotonic


def stands_in(clock, monkeypatch):
    for module in (neighbor_search, steps):
        monkeypatch.setattr(module, "time", clock)


@pytest.mark.parametrize(
    ("seconds", "limit", "scale", "found"),
    [(0.001, 60.0, 0.3, True), (0.02, 60.0, 1.0, False), (0.2, 60.0, 0.3, False)],
)
def test_the_time_limit_holds_however_long_a_call_takes(monkeypatch, seconds, limit, scale, found):
    def single(rng, vector):
        clock.now += seconds
        return vector[0] + rng.laplace(0, scale)

    clock = Clock()
    stands_in(clock, monkeypatch)
    witness = search_black_box(
        dp.from_callable(single), "vector:one", claim=PrivacyClaim(1.0), num_items=2, time_limit=limit
    )
    assert (witness is not None) == found
    assert 0.3 * limit < clock.now < 1.1 * limit


class Ticking:
    """A sampler for JAX whose clock goes on with every sample, as a compiled program or called one by one."""

    def __init__(self, clock, seconds, scale, compiled):
        self.clock, self.seconds, self.scale, self.compiled = clock, seconds, scale, compiled

    def sample(self, key, vector):
        if self.compiled:
            zero = jax.ShapeDtypeStruct((), np.float32)
            late = jax.pure_callback(self._wait, zero, jax.random.uniform(key), vmap_method="sequential")
        else:
            late = self._wait(0)
            vector = np.asarray(vector)  # no tracer becomes an array
        return vector[0] + late + self.scale * jax.random.laplace(key)

    def _wait(self, _):
        self.clock.now += self.seconds
        return np.float32(0)


@pytest.mark.parametrize(
    ("compiled", "seconds", "limit", "scale", "found"),
    [(True, 0.002, 60.0, 0.3, True), (True, 0.02, 60.0, 0.3, False), (False, 0.2, 60.0, 1.0, False)],
)
def test_the_time_limit_holds_for_slow_samplers_of_jax(monkeypatch, compiled, seconds, limit, scale, found):
    clock = Clock()
    stands_in(clock, monkeypatch)
    monkeypatch.setattr(tracing, "time", clock)
    slow = Ticking(clock, seconds, scale, compiled)
    witness = search_black_box(slow, "vector:one", claim=PrivacyClaim(1.0), num_items=2, time_limit=limit)
    assert (witness is not None) == found
    assert 0.1 * limit < clock.now < 1.1 * limit


def test_a_compiled_sampler_is_refused_a_time_limit_below_one_pair(monkeypatch):
    clock = Clock()
    stands_in(clock, monkeypatch)
    slow = Ticking(clock, 0.01, 0.3, True)
    with pytest.raises(InvalidInput, match=r"a call takes 0.01 s, and one pair is judged by 512 calls"):
        search_black_box(slow, "vector:one", claim=PrivacyClaim(1.0), time_limit=7.0)


def test_a_time_limit_below_the_calls_for_one_pair_is_refused(monkeypatch):
    def single(rng, vector):
        clock.now += 2.0
        return vector[0] + rng.laplace(0, 0.3)

    clock = Clock()
    stands_in(clock, monkeypatch)
    with pytest.raises(InvalidInput, match=r"a call takes 2 s, and one pair .* give a time limit above 213 s"):
        search_black_box(dp.from_callable(single), "vector:one", claim=PrivacyClaim(1.0), time_limit=60.0)
    assert clock.now < 10


def test_other_kinds_of_claims():
    def shifted(rng, vector, num_samples):
        return vector.sum() + rng.normal(0, 1, num_samples)

    wrapped = dp.from_callable(shifted, batched=True)
    claim = PrivacyClaim.gaussian(1.0)
    witness = search_black_box(
        wrapped, "vector:all", claim=claim, num_items=2, time_limit=60.0, failure_probability=ALPHA
    )
    assert witness is not None
    assert any("1-GDP" in note for note in witness.notes)


@pytest.mark.parametrize("relation", RELATIONS)
def test_patterns_and_mutations_are_neighbors(relation):
    space = _space(relation, None, 4, 3, (1.0, 3.0, 5.0))
    assert isinstance(space, _Matrices)
    rng = np.random.default_rng(0)
    pairs = list(space.patterns(rng))
    assert len({pair.key for pair in pairs}) > 20
    for pair in pairs[:: max(1, len(pairs) // 40)]:
        for _ in range(5):
            child = space.mutate(pair, rng)
            if child is not None:
                pair = child
            space.relation.changed(*pair)
        for smaller in space.smaller(pair):
            space.relation.changed(*smaller)
            assert smaller.key != pair.key


@pytest.mark.parametrize("change", ["one", "all"])
def test_vector_pairs_are_neighbors(change):
    space = _space(f"vector:{change}", None, 0, 5, None)
    assert isinstance(space, _Vectors)
    rng = np.random.default_rng(0)
    for pair in space.patterns(rng):
        space.relation.changed(*pair)
        for other in [space.mutate(pair, rng), *space.smaller(pair)]:
            if other is not None:
                space.relation.changed(*other)


def test_relation_of_vectors():
    relation = VectorRelation("one")
    assert str(relation) == "vector:one"
    assert relation.changed([1.0, 2.0], [1.0, 3.0]) == [(0, 1)]
    for one, two, message in (
        ([1.0], [1.0, 2.0], "one length"),
        ([1.0], [1.0], "equal"),
        ([0.0], [2.0], "more than 1"),
    ):
        with pytest.raises(InvalidInput, match=message):
            relation.changed(one, two)
    with pytest.raises(InvalidInput, match="allows one"):
        relation.changed([0.0, 0.0], [1.0, 1.0])
    with pytest.raises(InvalidInput, match="vector:one or vector:all"):
        VectorRelation("both")  # type: ignore[arg-type]


def test_both_directions_are_one_pair():
    one, two = np.array([[1.0, math.nan]]), np.array([[1.0, 2.0]])
    assert _Pair(one, two).key == _Pair(two, one).key
    assert NeighboringRelation.parse(ADD).changed(one, two)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"failure_probability": 0.0}, "between 0 and 1"),
        ({"time_limit": 0.0}, "above 0"),
        ({"relation": "rating"}, "write KIND:UNIT"),
        ({"epsilon": math.inf}, "claims nothing"),
        ({"start": np.ones(3)}, "start is a matrix"),
        ({"relation": "vector:one", "start": np.ones((2, 2))}, "start is a vector"),
        ({"relation": "vector:one", "num_items": 0}, "at least one entry"),
        ({"scale": ()}, "finite ratings"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InvalidInput, match=message):
        find(count, **options)


def test_a_mechanism_that_is_defined_nowhere():
    def broken(rng, ratings, num_samples):
        raise ZeroDivisionError("no ratings, please")

    with pytest.raises(InvalidInput, match="no outputs on any dataset tried: no ratings, please"):
        find(broken, time_limit=5.0)
    with pytest.raises(InvalidInput, match="int is no mechanism"):
        search_black_box(3, ADD, claim=PrivacyClaim(1.0))
