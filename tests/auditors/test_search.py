import itertools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpassay.auditors import search as module
from dpassay.auditors.exact import exact
from dpassay.auditors.search import Size, minimize, search, worst_case
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation

ADD = "add_or_remove_one:rating"
REPLACE = "replace_one:rating"


class Ticks:
    """Stands in for `time`: every look at the clock takes a hundredth of a second, however busy the machine is."""

    now = 0.0

    def monotonic(self):
        self.now += 0.01
        return self.now


@pytest.fixture
def ticks(monkeypatch):
    clock = Ticks()
    monkeypatch.setattr(module, "time", clock)
    return clock


@dataclass(frozen=True)
class Exponential:
    """Releases one candidate with probability proportional to exp(scale * dot product with the target's ratings)."""

    scale: float = 0.1
    num_neighbors: int = 1

    def sample(self, key, dataset):
        return self.outputs(dataset)[0]

    def outputs(self, dataset):
        return np.arange(1, dataset.shape[0])[:, None]

    def log_prob(self, output, dataset):
        rated = jnp.where(jnp.isnan(dataset), 0.0, dataset)
        return jax.nn.log_softmax(self.scale * rated[1:] @ rated[0])[output[0] - 1]


@dataclass(frozen=True)
class Nearest:
    """Releases the k candidates with the largest dot product, lower row first: deterministic, so never private."""

    num_neighbors: int = 2

    def sample(self, key, dataset):
        return self.outputs(dataset)[0]

    def outputs(self, dataset):
        return np.array(list(itertools.combinations(range(1, dataset.shape[0]), self.num_neighbors))).reshape(
            -1, self.num_neighbors
        )

    def log_prob(self, output, dataset):
        rated = jnp.where(jnp.isnan(dataset), 0.0, dataset)
        order = jnp.argsort(-(rated[1:] @ rated[0]), stable=True) + 1
        nearest = jnp.sort(order[: self.num_neighbors])
        return jnp.where((nearest == jnp.sort(output)).all(), 0.0, -jnp.inf)


@dataclass(frozen=True)
class Constant:
    """Uniform whatever the data: private at every epsilon."""

    def sample(self, key, dataset):
        return 0

    def outputs(self, dataset):
        return np.arange(3)

    def log_prob(self, output, dataset):
        return -jnp.log(3.0) + 0 * jnp.nansum(dataset)


@dataclass(frozen=True)
class OneCell:
    """Two outputs; tells apart only whether a single cell of an otherwise full matrix holds the highest rating."""

    leak: float = 0.4

    def sample(self, key, dataset):
        return 0

    def outputs(self, dataset):
        return np.arange(2)

    def log_prob(self, output, dataset):
        planted = (dataset[1, 1] == 5) & (dataset[0, 0] == 5)
        chance = jnp.where(planted, 0.5 + self.leak, 0.5)
        return jnp.log(jnp.where(output == 0, chance, 1 - chance))


@pytest.mark.parametrize("relation", [ADD, REPLACE, "add_or_remove_one:user", "replace_one:user"])
def test_deterministic_selection_is_refuted_and_shrunk(relation):
    witness = search(Nearest(), relation, epsilon=3.0, num_users=5, num_items=3)
    assert witness is not None
    assert witness.epsilon == math.inf
    assert witness.changed
    assert "smaller instances" in witness.notes[-1]
    # Two candidates of which one is released are the least for which anything can change, whatever the relation.
    assert witness.dataset1.shape[0] == 3
    assert witness.log_probability1 == 0


def brute_force(mechanism, relation, epsilon, users, items, size):
    """Every neighboring pair of a shape below a size, with none of the search's code: those that violate."""
    relation = NeighboringRelation.parse(relation)
    found, seen = [], set()
    cells = [np.nan, 1.0, 2.0, 3.0, 4.0, 5.0]
    for values in itertools.product(cells, repeat=users * items):
        first = np.array(values).reshape(users, items)
        if (~np.isnan(first)).sum() > size.ratings or np.nan_to_num(first).max() > size.largest:
            continue
        for user, item in np.ndindex(first.shape):
            for value in cells:
                second = first.copy()
                second[user, item] = value
                try:
                    relation.changed(first, second)
                except InvalidInput:
                    continue
                ratings = max((~np.isnan(first)).sum(), (~np.isnan(second)).sum())
                largest = np.nan_to_num([first, second]).max()
                below = (size.num_neighbors, users - 1, items, ratings, largest)
                if ratings > size.ratings or largest > size.largest or below == tuple(size):
                    continue
                key = frozenset([first.tobytes(), second.tobytes()])
                if key not in seen:
                    seen.add(key)
                    if exact(mechanism, first, second).epsilon > epsilon + 1e-9:
                        found.append((first, second))
    return found, len(seen)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_minimality_against_brute_force(relation):
    mechanism = Exponential(0.3)
    witness = search(mechanism, relation, epsilon=1.0, num_users=3, num_items=2)
    assert witness is not None
    shrunk = minimize(mechanism, relation, witness.dataset1, witness.dataset2, epsilon=1.0)
    assert shrunk.complete
    np.testing.assert_array_equal(shrunk.witness.dataset1, witness.dataset1)
    assert shrunk.size.items == 1
    counts = {}
    # The witness has two candidates: smaller ones have two, or one.
    assert shrunk.size.candidates == 2
    for users in (2, 3):
        found, counts[users] = brute_force(mechanism, relation, 1.0, users, 1, shrunk.size)
        assert not found
    assert shrunk.enumerated == sum(counts.values())


def test_size_is_a_partial_order():
    assert Size(1, 3, 1, 2, 3).within(Size(2, 3, 1, 2, 3))
    assert not Size(2, 2, 1, 2, 3).within(Size(1, 3, 1, 2, 3))


@pytest.mark.parametrize("seed", range(20))
def test_every_seed_finds_the_planted_violation(seed, ticks):
    witness = search(OneCell(), REPLACE, epsilon=1.0, num_users=2, num_items=2, seed=seed, time_limit=10)
    assert witness is not None
    assert witness.epsilon == pytest.approx(math.log(0.5 / 0.1), abs=1e-12)
    assert witness.notes[-1].startswith("2 users, ")


def test_nothing_is_found_where_nothing_is_lost(ticks):
    assert search(Constant(), ADD, epsilon=0.0, time_limit=0.3) is None
    assert worst_case(Constant(), ADD, epsilon=0.0, time_limit=0.3) is None


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_claim_above_the_true_loss_is_not_refuted(relation, ticks):
    # One rating up to 5, against ratings up to 5, moves a score by at most 25 (added) or 20 (changed), one candidate's
    # or all at once; the loss is below twice the move.
    mechanism = Exponential(0.1)
    worst = worst_case(mechanism, relation, epsilon=0.0, num_users=4, num_items=2, time_limit=1.5)
    assert worst is not None
    bound = 0.1 * (25 if relation == ADD else 20)
    assert 0.6 * bound < worst.epsilon < 2 * bound
    assert search(mechanism, relation, epsilon=2 * bound, num_users=4, num_items=2, time_limit=0.5) is None
    found = search(mechanism, relation, epsilon=0.6 * bound, num_users=4, num_items=2, time_limit=5)
    assert found is not None
    assert found.epsilon > 0.6 * bound


def test_delta_absorbs_rare_outcomes(ticks):
    # Pr[output 1] falls from 0.5 to 0.1: the hockey-stick divergence at e is 0.5 - 0.1e = 0.228.
    assert search(OneCell(), REPLACE, epsilon=1.0, delta=0.25, num_users=2, num_items=2, time_limit=0.5) is None
    witness = search(OneCell(), REPLACE, epsilon=1.0, delta=0.2, num_users=2, num_items=2, time_limit=10)
    assert witness is not None
    assert math.exp(witness.log_probability1) - math.e * math.exp(witness.log_probability2) > 0.2


def test_gradient_ascent_climbs_real_ratings():
    # A narrow ridge that single-cell random changes meet rarely is reached along the slope.
    problem = module._problem(Exponential(0.05), REPLACE, 0.0, 0.0, None, 3, 2, module.SCALE)
    first = np.array([[2, 2], [2, 2], [2, 2]], np.int8)
    second = first.copy()
    second[1, 0] = 3
    with jax.enable_x64(True):
        score = float(problem.score(1, first[None], second[None])[0])
        pair, better = module._ascend(problem, module._Pair(1, first, second), score)
    assert better > score + 0.05
    assert pair.first[0].sum() > first[0].sum()


def test_start_fixes_the_shape_and_extends_the_scale(ticks):
    start = np.array([[7.0, 7.0], [7.0, 1.0], [1.0, np.nan]])
    witness = worst_case(Exponential(0.1), REPLACE, epsilon=0.0, start=start, time_limit=0.3)
    assert witness is not None
    assert witness.dataset1.shape == (3, 2)
    assert 7.0 in witness.dataset1


def test_patterns_are_optional_starts():
    assert search(Nearest(1), ADD, epsilon=1.0, patterns=True, num_users=3, num_items=2) is not None


def test_time_limit_is_kept(ticks):
    search(Constant(), REPLACE, epsilon=1.0, time_limit=0.5)
    assert 0.5 < ticks.now < 1.0


def test_same_seed_same_witness():
    one, two = (search(Nearest(), REPLACE, epsilon=1.0, seed=5, num_users=5, num_items=2) for _ in range(2))
    assert one is not None
    assert two is not None
    np.testing.assert_array_equal(one.dataset1, two.dataset1)
    assert one.event == two.event


@pytest.mark.parametrize("relation", [ADD, "replace_one:user"])
@pytest.mark.parametrize("mechanism", [Nearest(), Exponential(), OneCell()])
def test_workers_find_what_one_process_finds(mechanism, relation):
    found = search(mechanism, relation, epsilon=0.3, num_users=4, num_items=2, time_limit=600)
    with ThreadPoolExecutor(3) as executor:
        shared = search(mechanism, relation, epsilon=0.3, num_users=4, num_items=2, time_limit=600, executor=executor)
    assert found is not None
    assert shared is not None
    assert "none of the" in found.notes[-1]
    assert shared.to_json() == found.to_json()


def test_workers_take_restarts_and_smaller_instances(monkeypatch):
    done = []

    def noted(name, step):
        def run(*task):
            done.append((name, threading.get_ident()))
            return step(*task)

        return run

    for name in ("_restart", "_greedy", "_violations"):
        monkeypatch.setattr(module, name, noted(name, getattr(module, name)))
    with ThreadPoolExecutor(1) as executor:
        search(OneCell(), ADD, epsilon=0.3, num_users=3, num_items=2, time_limit=600, executor=executor)
    assert {name for name, _ in done} == {"_restart", "_greedy", "_violations"}
    assert threading.get_ident() not in {thread for _, thread in done}


def test_a_search_wants_an_executor():
    with pytest.raises(InvalidInput, match=r"concurrent\.futures\.Executor"):
        search(OneCell(), ADD, epsilon=0.3, executor=3)  # type: ignore[arg-type]


def test_minimize_wants_a_violating_pair_of_neighbors():
    first = np.array([[1.0], [1.0], [2.0]])
    second, far = first.copy(), first.copy()
    second[1, 0], far[1:] = 3, 3
    with pytest.raises(InvalidInput, match="differ in 2 cells"):
        minimize(Nearest(1), REPLACE, first, far, epsilon=1.0)
    with pytest.raises(InvalidInput, match="does not violate 1-DP"):
        minimize(Exponential(0.01), REPLACE, first, second, epsilon=1.0)
    shrunk = minimize(Nearest(1), REPLACE, first, second, epsilon=1.0)
    assert shrunk.complete
    assert str(shrunk).startswith("k = 1, 3 users, 1 item")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": -1.0}, "epsilon is -1"),
        ({"epsilon": math.inf}, "claims nothing"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta is 1"),
        ({"epsilon": 1.0, "scale": ()}, "scale"),
        ({"epsilon": 1.0, "num_users": 1}, "too few"),
        ({"epsilon": 1.0, "num_users": 2}, "lists no outputs"),
        ({"epsilon": 1.0, "start": np.ones(3)}, "matrix"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        search(Nearest(2), ADD, **arguments)


def test_needs_an_exact_law():
    class Sampler:
        def sample(self, key, dataset):
            return 0

    with pytest.raises(InvalidInput, match="Sampler has no exact law"):
        worst_case(Sampler(), ADD, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="write KIND:UNIT"):
        search(Nearest(), "rating", epsilon=1.0)


@pytest.mark.parametrize("relation", ["replace_one:rating", "vector:one"])
@pytest.mark.parametrize("start", [{"a": 1}, "abc", ["a"], [[1, 2], [3]], 5])
def test_a_start_that_is_no_array_is_one_line(start, relation):
    def count(rng: np.random.Generator, data: np.ndarray) -> float:  # a plain function, for the type checker too
        return float(len(data))

    with pytest.raises(InvalidInput, match="start is a "):
        search(count, relation, epsilon=1.0, start=start)
