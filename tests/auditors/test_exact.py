import itertools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.auditors import exact as module
from dpassay.auditors.exact import exact, relation_between
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings


@dataclass(frozen=True)
class RandomizedResponse:
    """Tells the truth with probability `truth`; the dataset is one bit."""

    truth: float = 0.75

    def sample(self, key, dataset):
        return jnp.where(jax.random.bernoulli(key, self.truth), dataset, 1 - dataset)

    def outputs(self, dataset):
        return np.arange(2)

    def log_prob(self, output, dataset):
        return jnp.log(jnp.where(output == dataset, self.truth, 1 - self.truth))


@dataclass(frozen=True)
class Table:
    """A mechanism given by its table of probabilities, one row per dataset."""

    rows: tuple[tuple[float, ...], ...]

    def sample(self, key, dataset):
        return jax.random.categorical(key, jnp.log(jnp.array(self.rows)[dataset]))

    def outputs(self, dataset):
        return np.arange(len(self.rows[0]))

    def log_prob(self, output, dataset):
        return jnp.log(jnp.array(self.rows)[dataset, output])


@dataclass(frozen=True)
class WeightedSelection:
    """k candidates by weight exp(mean rating), without replacement, as Plackett-Luce over all orders."""

    num_neighbors: int = 2

    def sample(self, key, dataset):
        return self.outputs(dataset)[0]

    def outputs(self, dataset):
        return np.array(list(itertools.combinations(range(1, dataset.shape[0]), self.num_neighbors)))

    def log_prob(self, output, dataset):
        weights = jnp.exp(jnp.nanmean(dataset, axis=1)).at[0].set(0.0)
        total = jnp.zeros(())
        for order in itertools.permutations(range(self.num_neighbors)):
            left, chance = weights.sum(), jnp.ones(())
            for place in order:
                weight = weights[output[place]]
                chance, left = chance * weight / left, left - weight
            total += chance
        return jnp.log(total)


def test_randomized_response_by_hand():
    loss = exact(RandomizedResponse(), 0, 1)
    assert loss.epsilon == pytest.approx(math.log(3), abs=1e-15)
    assert loss.epsilon_forward == pytest.approx(loss.epsilon_backward, abs=1e-15)
    assert loss.total_variation == pytest.approx(0.5, abs=1e-15)
    # delta(epsilon) = (3 - e^epsilon)/4 below ln 3, worked out by hand.
    grid = np.array([0.0, 0.5, 1.0, math.log(3), 2.0])
    np.testing.assert_allclose(loss.delta(grid), np.maximum(3 - np.exp(grid), 0) / 4, atol=1e-15)
    assert loss.certificate is None  # not a rating dataset


@pytest.mark.parametrize("truth", [0.6, 0.75, 0.9])
def test_one_sided_law(truth):
    # Pr1 = (t, 1-t, 0), Pr2 = (t, 0, 1-t): infinite loss that betrays the dataset with probability 1 - t.
    loss = exact(Table(((truth, 1 - truth, 0.0), (truth, 0.0, 1 - truth))), 0, 1)
    assert loss.epsilon == loss.epsilon_forward == loss.epsilon_backward == math.inf
    assert loss.delta(math.inf) == pytest.approx(1 - truth, abs=1e-15)
    assert loss.delta(3.0) == pytest.approx(1 - truth, abs=1e-15)
    event = loss.event(math.inf)
    assert event.outputs.tolist() == [1]
    assert (event.direction, event.log_probability_other) == ("forward", -math.inf)


def test_directions_differ():
    loss = exact(Table(((0.5, 0.5), (0.1, 0.9))), 0, 1)
    assert loss.epsilon_forward == pytest.approx(math.log(5), abs=1e-15)
    assert loss.epsilon_backward == pytest.approx(math.log(1.8), abs=1e-15)
    event = loss.event(1.0)
    assert (event.outputs.tolist(), event.direction) == ([0], "forward")
    assert math.exp(event.log_probability_likelier) == pytest.approx(0.5)
    assert math.exp(event.log_probability_other) == pytest.approx(0.1)


def test_selection_law_by_hand():
    # Weights 2, 1, 1 (as ratings ln 2, 0, 0): {1,2} comes as 1,2 with 1/2 * 1/2 or 2,1 with 1/4 * 2/3.
    first = np.array([[0.0], [math.log(2)], [0.0], [0.0]])
    loss = exact(WeightedSelection(), first, np.zeros((4, 1)))
    by_set = dict(zip(map(tuple, loss.outputs.tolist()), np.exp(loss.log_probabilities1), strict=True))
    assert by_set[1, 2] == pytest.approx(1 / 4 + 1 / 6, abs=1e-15)
    assert by_set[2, 3] == pytest.approx(1 / 6, abs=1e-15)
    np.testing.assert_allclose(np.exp(loss.log_probabilities2), 1 / 3, atol=1e-15)
    assert loss.epsilon == pytest.approx(math.log(2), abs=1e-14)


def test_many_outputs_come_in_chunks(monkeypatch):
    generator = np.random.default_rng(1)
    first, second = generator.uniform(1, 5, (2, 14, 3))
    whole = exact(WeightedSelection(3), first, second)
    assert len(whole.outputs) == math.comb(13, 3)
    monkeypatch.setattr(module, "CHUNK", 64)  # 286 sets: five chunks, two threads
    chunked = exact(WeightedSelection(3), first, second)
    np.testing.assert_array_equal(whole.log_probabilities1, chunked.log_probabilities1)
    np.testing.assert_array_equal(whole.log_probabilities2, chunked.log_probabilities2)


def test_one_compilation_for_equal_shapes():
    calls = []

    @dataclass(frozen=True)
    class Counting(RandomizedResponse):
        def log_prob(self, output, dataset):
            calls.append(1)
            return super().log_prob(output, dataset)

    for _ in range(3):
        exact(Counting(), 0, 1)
    assert len(calls) == 1


def test_plain_python_law_and_unhashable_mechanism():
    class Plain(dict):
        def sample(self, key, dataset):
            return "yes"

        def outputs(self, dataset):
            return [0, 1]

        def log_prob(self, output, dataset):
            return math.log(0.75 if int(output) == dataset["bit"] else 0.25)

    loss = exact(Plain(), {"bit": 0}, {"bit": 1})
    assert loss.epsilon == pytest.approx(math.log(3))


def test_supports_are_united():
    @dataclass(frozen=True)
    class Neighborhood:
        def sample(self, key, dataset):
            return dataset

        def outputs(self, dataset):
            return np.array([dataset, dataset + 1])

        def log_prob(self, output, dataset):
            return jnp.where((output == dataset) | (output == dataset + 1), math.log(0.5), -jnp.inf)

    loss = exact(Neighborhood(), 3, 4)
    assert loss.outputs.tolist() == [3, 4, 5]
    assert loss.total_variation == pytest.approx(0.5)
    assert loss.epsilon == math.inf


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 6).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 20), min_size=n, max_size=n).filter(any) for _ in range(2)])
    ),
    st.floats(0, 3),
    st.floats(0, 3),
)
def test_profile_properties(counts, a, b):
    rows = tuple(tuple(count / sum(row) for count in row) for row in counts)
    loss = module.ExactLoss(
        np.arange(len(rows[0])),
        *(np.log(np.where(np.array(r) > 0, r, 1)) + np.where(np.array(r) > 0, 0, -np.inf) for r in rows),
    )
    low, high = sorted((a, b))
    profile = loss.delta(np.array([0.0, low, high, math.inf]))
    assert (np.diff(profile) <= 1e-15).all()
    assert (profile >= 0).all()
    assert (profile <= 1 + 1e-12).all()
    # Against the definition, summed in the other order.
    p, q = np.array(rows)
    for epsilon in (low, high):
        direct = max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum())
        assert loss.delta(epsilon) == pytest.approx(direct, abs=1e-12)
    assert loss.total_variation == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-12)
    # Convex in e^epsilon.
    x, y = math.exp(low), math.exp(high)
    middle = loss.delta(math.log((x + y) / 2))
    assert middle <= (profile[1] + profile[2]) / 2 + 1e-12
    # epsilon is where the profile reaches 0, and not before.
    if math.isfinite(loss.epsilon):
        assert loss.delta(loss.epsilon) <= 1e-15
        if loss.epsilon > 0.01:
            assert loss.delta(loss.epsilon - 0.005) > 0
    else:
        assert loss.delta(math.inf) > 0
    # The event attains the profile.
    event = loss.event(low)
    if profile[1] > 1e-12:
        gap = math.exp(event.log_probability_likelier) - math.exp(low + event.log_probability_other)
        assert gap == pytest.approx(profile[1], abs=1e-12)


def test_probabilities_must_sum_to_one():
    with pytest.raises(InvalidInput, match=r"dataset2 sum to 1\.1 instead of 1; log_prob or outputs is wrong"):
        exact(Table(((0.5, 0.5), (0.5, 0.6))), 0, 1)
    exact(Table(((0.5, 0.5), (0.5, 0.5 + 1e-12))), 0, 1)


def test_undefined_dataset():
    with pytest.raises(InvalidInput, match="not defined on dataset1: log_prob of output 0 is NaN"):
        exact(Table(((math.nan, 0.5), (0.5, 0.5))), 0, 1)


def test_no_exact_law():
    class Sampler:
        def sample(self, key, dataset):
            return 0

    with pytest.raises(InvalidInput, match="Sampler has no exact law"):
        exact(Sampler(), 0, 1)  # type: ignore[arg-type]


def test_refuses_beyond_memory_before_allocating(monkeypatch):
    class Huge(WeightedSelection):
        def outputs(self, dataset):
            raise AssertionError("outputs were listed before the size was checked")

    dataset = np.ones((201, 1))
    with pytest.raises(InvalidInput, match=r"22,451,004,309,013,280 outputs.*GiB of memory.*smaller num_neighbors"):
        exact(Huge(10), dataset, dataset)
    monkeypatch.setattr(module, "available_memory", lambda: 1 << 10)
    with pytest.raises(InvalidInput, match="2 outputs, whose laws need"):
        exact(RandomizedResponse(), 0, 1)


def test_available_memory_is_that_of_this_machine():
    assert 1 << 26 < module.available_memory() < 1 << 46


def test_relation_between():
    base = np.array([[1.0, np.nan], [2.0, 3.0]])
    removed, changed, gone, other = base.copy(), base.copy(), base.copy(), base.copy()
    removed[0, 0] = np.nan
    changed[1, 1] = 4
    gone[1] = np.nan
    other[1] = [3, 4]
    pairs = {
        "add_or_remove_one:rating": removed,
        "replace_one:rating": changed,
        "add_or_remove_one:user": gone,
        "replace_one:user": other,
    }
    for text, dataset in pairs.items():
        assert str(relation_between(base, dataset)) == text
    assert relation_between(base, base) is None
    assert relation_between(removed, other) is None
    assert relation_between(0, 1) is None


def test_ratings_are_taken_as_matrices():
    matrix = np.array([[0.0], [1.0], [2.0], [3.0]])
    ratings = Ratings.from_dense(matrix, scale=(0, 5))
    one, two = exact(WeightedSelection(), ratings, matrix), exact(WeightedSelection(), matrix, matrix)
    np.testing.assert_array_equal(one.log_probabilities1, two.log_probabilities1)


class FavoriteItem:
    """Its arguments have names of their own, which type checkers accept; it computes in the type of its dataset."""

    def sample(self, key: jax.Array, ratings: jax.Array) -> jax.Array:
        return jax.random.categorical(key, ratings.sum(axis=0))

    def outputs(self, ratings: jax.Array) -> jax.Array:
        return jnp.arange(ratings.shape[1])

    def log_prob(self, item: jax.Array, ratings: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(ratings.sum(axis=0))[item]


class Single(FavoriteItem):
    def log_prob(self, item, ratings):
        return super().log_prob(item, jnp.asarray(ratings, jnp.float32))


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
def test_the_law_of_a_dataset_in_single_precision_is_computed_in_double(array):
    one, two = (np.array([[1, 2, last]], np.float32) for last in (3, 3.5))
    expected = exact(FavoriteItem(), one.astype(float), two.astype(float))
    assert exact(FavoriteItem(), array(one), array(two)).epsilon == expected.epsilon
    with pytest.raises(InvalidInput, match="log_prob rounds: let it compute in float64"):
        exact(Single(), one, two)
