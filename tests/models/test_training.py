"""What every trained model is made of, and the recommenders that need no training."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import cosine_similarity

from dpassay.core.errors import InvalidInput
from dpassay.models import cosine, popularity, puresvd
from dpassay.models.task import Scores, Task, synthetic_task
from dpassay.models.training import adam, dropped, feedback, labeled, negatives, paired, trained

TASK = synthetic_task(30, 40, 120, 300, 300)


def test_negatives_are_drawn_uniformly_from_what_a_user_has_not() -> None:
    matrix = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 1]], np.float32)
    drawn = np.asarray(negatives(jax.random.key(0), feedback(csr_array(matrix)), jnp.repeat(jnp.arange(2), 6000)))
    for user, allowed in enumerate(([1, 3, 4], [0, 1, 2, 3])):
        counts = np.bincount(drawn[6000 * user :][:6000], minlength=5)
        assert set(np.flatnonzero(counts)) == set(allowed)
        expected = 6000 / len(allowed)
        # Chi-square, 2 or 3 degrees of freedom: above 31 with probability below 1e-6.
        assert ((counts[allowed] - expected) ** 2 / expected).sum() < 31


def test_examples_are_all_ratings_and_new_negatives() -> None:
    seen = TASK.target.toarray() > 0
    first, second = (labeled(jax.random.key(seed), feedback(TASK.target), 2) for seed in (0, 1))
    users, items, labels = (np.asarray(x) for x in first)
    np.testing.assert_array_equal(seen[users, items], labels > 0)
    assert labels.sum() == seen.sum() == len(labels) / 3
    assert (first.items != second.items).any()


def test_pairs_are_of_one_user_and_of_independent_labels() -> None:
    source = TASK.source.toarray().copy()
    source[4] = 0  # has nothing in the source: nothing is pretended
    target, other = paired(jax.random.key(0), feedback(TASK.target), feedback(csr_array(source)), 1)
    users, items, labels = (np.asarray(x) for x in other)
    np.testing.assert_array_equal(users, target.users)
    np.testing.assert_array_equal(source[users, items], labels)
    assert labels[users == 4].sum() == 0
    both = np.asarray(target.labels)[users != 4], labels[users != 4]
    assert abs(both[1].mean() - 0.5) < 5 * 0.5 / len(both[1]) ** 0.5
    assert abs(np.corrcoef(*both)[0, 1]) < 5 / len(both[1]) ** 0.5


def test_dropout_keeps_the_mean() -> None:
    values = np.asarray(dropped(jax.random.key(0), jnp.ones(40_000), 0.5))
    assert set(values) == {0.0, 2.0}
    assert abs(values.mean() - 1) < 5 / 200


class Line(eqx.Module):
    weights: jax.Array


def _identity(key: jax.Array, data: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    return data


def _squares(model: Line, batch: tuple[jax.Array, ...], key: jax.Array, data: object) -> jax.Array:
    inputs, outputs = batch
    return jnp.mean((inputs @ model.weights - outputs) ** 2)


def test_training_solves_a_regression_and_compiles_once() -> None:
    generator, weights = np.random.default_rng(0), np.array([1.0, -2.0, 0.5], np.float32)
    inputs = generator.normal(size=(1000, 3)).astype(np.float32)
    data = (jnp.asarray(inputs), jnp.asarray(inputs @ weights))
    traces = []

    def loss(model: Line, batch: tuple[jax.Array, ...], key: jax.Array, data: object) -> jax.Array:
        traces.append(1)
        return _squares(model, batch, key, data)

    for seed in (0, 1):
        *_, model = trained(
            Line(jnp.zeros(3)), data, _identity, loss, adam(0.01), batch_size=64, epochs=60, key=jax.random.key(seed)
        )
        np.testing.assert_allclose(model.weights, weights, atol=1e-2)
    assert len(traces) == 1
    assert adam(0.01) is adam(0.01)


def test_weight_decay_and_clipping_act() -> None:
    data = (jnp.eye(3), jnp.ones(3))
    ends = {}
    for name, optimizer in (("plain", adam(0.1)), ("decayed", adam(0.1, 1.0)), ("clipped", adam(0.1, clip=1e-12))):
        *_, model = trained(
            Line(jnp.zeros(3)), data, _identity, _squares, optimizer, batch_size=3, epochs=50, key=jax.random.key(0)
        )
        ends[name] = float(model.weights.mean())
    assert ends["plain"] == pytest.approx(1, abs=0.05)
    assert ends["decayed"] == pytest.approx(0.4, abs=0.05)  # (w - 1) 2/3 + w = 0
    assert abs(ends["clipped"]) < 0.05


def test_popularity_counts_training_ratings() -> None:
    items = np.array([[0, 5, 7]] * 30)
    np.testing.assert_array_equal(next(popularity.train(TASK))(items), TASK.target.toarray().sum(axis=0)[items])


@pytest.mark.parametrize("similarity", ["item", "user", "source"])
def test_cosines_against_scikit_learn(similarity: str) -> None:
    target, source = TASK.target.toarray(), TASK.source.toarray()
    rows = {"item": target.T, "user": target, "source": source}[similarity]
    weights = cosine_similarity(rows) * (1 - np.eye(len(rows)))
    expected = target @ weights if similarity == "item" else weights @ target
    items = np.tile(np.arange(120), (30, 1))
    found = next(cosine.train(TASK, cosine.Settings(similarity)))(items)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_puresvd_is_the_best_approximation_of_its_rank() -> None:
    target = TASK.target.toarray()
    left, values, right = np.linalg.svd(target, full_matrices=False)
    expected = (left[:, :4] * values[:4]) @ right[:4]
    found = next(puresvd.train(TASK, puresvd.Settings(4)))(np.tile(np.arange(120), (30, 1)))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_settings_that_cannot_be(grouped: Task) -> None:
    with pytest.raises(InvalidInput, match="use one of item, user, source"):
        cosine.Settings("pearson")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="give 1 to 29"):
        next(puresvd.train(TASK, puresvd.Settings(30)))


def _table_model(fault: str) -> SimpleNamespace:
    """A model made up from what is true of the groups, with a fault that the check of every model must find."""

    def train(task: Task, settings: SimpleNamespace, *, seed: int = 0) -> Iterator[Scores]:
        noise = np.random.default_rng(0 if fault == "no seed" else seed).normal(size=task.target.shape)
        source = np.zeros((0, 0)) if fault == "no source" else task.source.toarray()
        table = next(cosine.train(task))(np.tile(np.arange(task.num_target_items), (task.num_users, 1)))
        table = table + 0.01 * noise + 0.001 * source.sum()
        table += 0.001 * np.resize(source, table.shape) if source.size else 0
        for epoch in range(settings.epochs):
            if fault == "reads the test item":
                np.put_along_axis(table, task.test[:, None], 99.0, axis=1)
            if fault == "learns nothing":
                table = noise.copy()
            step = 0.0 if fault == "stands still" else 0.1
            table = table + step * (epoch + 1) * noise / np.abs(noise).max()
            yield lambda items, table=table: np.take_along_axis(table, items, axis=1)  # type: ignore[misc]

    return SimpleNamespace(train=train)


def test_the_check_of_models_passes_an_honest_one(learns: Callable[..., None]) -> None:
    learns(_table_model("none"), SimpleNamespace(epochs=3), uses_source=True)


@pytest.mark.parametrize("fault", ["no seed", "no source", "reads the test item", "learns nothing", "stands still"])
def test_the_check_of_models_finds(fault: str, learns: Callable[..., None]) -> None:
    with pytest.raises(AssertionError):
        learns(_table_model(fault), SimpleNamespace(epochs=3), uses_source=True)
