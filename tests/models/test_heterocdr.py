"""HeteroCDR: its losses against literal loops, what reaches the target and what cannot, what the source publishes."""

import tracemalloc
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse import csr_array

from dpassay.core.errors import InvalidInput
from dpassay.data.pricdr_tasks import TASKS
from dpassay.experiments.pricdr.ranking import metrics, ranks
from dpassay.models import heterocdr
from dpassay.models.heterocdr import Settings, released, train
from dpassay.models.published import Publication, published
from dpassay.models.task import synthetic_task

SKETCH = Publication(num_rows=6, epsilon=64.0)
SMALL = Settings(source=SKETCH, hidden=64, embedding=32, epochs=16, learning_rate=3e-3)
TINY: dict[str, Any] = {"hidden": 8, "embedding": 4, "dropout": 0.0}
READINGS = pytest.mark.parametrize("settings", [Settings(**TINY), released(**TINY)], ids=["paper", "released"])


@pytest.fixture(scope="module")
def task():
    return synthetic_task()


def items(task):
    return np.column_stack([task.validation, task.test, task.negatives])


def scores(task, settings, seed=0):
    """Those after the last epoch."""
    return list(train(task, settings, seed=seed))[-1](items(task))


def a_batch(settings):
    """Data of 7 users, a network, and a batch of 5 users."""
    generator = np.random.default_rng(0)
    data = heterocdr._data(generator.normal(size=(7, 6)), generator.random((7, 9)) < 0.3, settings)
    return data, heterocdr._network(data, jax.random.key(1)), np.array([4, 0, 6, 2, 1])


def layers(mlp, row, outer):
    """An MLP by hand; the last activation is `outer`."""
    first, last = mlp.layers
    inner = (lambda x: x) if mlp.activation is heterocdr._identity else (lambda x: np.maximum(x, 0))
    hidden = inner(np.asarray(first.weight, float) @ row + np.asarray(first.bias, float))
    return outer(np.asarray(last.weight, float) @ hidden + np.asarray(last.bias, float))


def relu(x):
    return np.maximum(x, 0)


def same(x):
    return x


@READINGS
def test_the_loss_is_the_literal_one(settings):
    data, network, users = a_batch(settings)
    source, ratings = np.asarray(data.source, float), np.asarray(data.ratings, float)
    paper = settings.reading == "paper"
    code = relu if paper else same
    x = [layers(network.encoder, source[user], code) for user in users]
    y = [layers(network.user_tower, ratings[user], code) for user in users]
    v = [layers(network.item_tower, column, code) for column in ratings.T]
    total = 0.0
    for place, user in enumerate(users):
        errors = (layers(network.decoder, relu(x[place]), same) - source[user]) ** 2
        total += errors.mean() if paper else errors.sum()
        for item, vector in enumerate(v):
            cosine = y[place] @ vector / (np.linalg.norm(y[place]) * np.linalg.norm(vector) + 1e-30)
            p = np.clip(cosine, 1e-6, 1 - 1e-6) if paper else 1 / (1 + np.exp(-cosine))
            total -= np.log(p if ratings[user, item] else 1 - p)
    codes, targets = np.array(x), np.array(y)
    pairs = codes - targets if paper else codes - targets[:, None, :]
    total += 100 * float((pairs**2).sum() if paper else np.linalg.norm(pairs))
    assert float(eqx.filter_jit(heterocdr._loss)(network, users, jax.random.key(0), data)) == pytest.approx(
        total, rel=1e-4
    )


@READINGS
def test_the_symmetric_loss_is_the_literal_one(settings):
    settings = replace(settings, target="autoencoder")
    data, network, users = a_batch(settings)
    sources, rated = np.asarray(data.source, float), np.asarray(data.ratings, float)
    paper = settings.reading == "paper"
    total, alignment = 0.0, 0.0
    for user in users:
        source, ratings = sources[user], rated[user]
        x, y = layers(network.encoder, source, same), layers(network.target_encoder, ratings, same)
        if paper:
            x, y = relu(x), relu(y)
        else:
            x, y = (code + np.asarray(network.shared, float)[user] for code in (x, y))
        errors = (layers(network.decoder, relu(x), same) - source) ** 2
        total += errors.mean() if paper else errors.sum()
        logits = layers(network.target_decoder, relu(y), same)
        total += np.sum(np.log1p(np.exp(logits)) - ratings * logits)
        alignment += ((x - y) ** 2).sum()
    total += 100 * (alignment if paper else np.sqrt(alignment))
    assert float(eqx.filter_jit(heterocdr._loss)(network, users, jax.random.key(0), data)) == pytest.approx(
        total, rel=1e-4
    )


def test_the_released_alignment_cannot_tell_users_apart():
    """Swapping the users' source embeddings changes nothing for the target; of the printed alignment it does."""
    generator = np.random.default_rng(2)
    x, y = (jnp.asarray(generator.normal(size=(5, 3)), jnp.float32) for _ in range(2))

    def pull(alignment, source):
        return jax.grad(lambda target: alignment(source, target))(y)

    def printed(source, target):
        return jnp.sum((source - target) ** 2)

    np.testing.assert_allclose(pull(heterocdr._all_pairs_norm, x), pull(heterocdr._all_pairs_norm, x[::-1]), rtol=1e-5)
    assert not np.allclose(pull(printed, x), pull(printed, x[::-1]))


def test_training_learns_and_repeats(task):
    trained = [epoch(items(task)) for epoch in train(task, SMALL)]
    heldout, negatives = trained[-1][:, 1], trained[-1][:, 2:]
    assert metrics(ranks(heldout, negatives))["HR10"] > 0.2  # by chance 0.1; standard error 0.03
    again = train(task, SMALL)
    first = next(again)
    assert np.array_equal(first(items(task)), trained[0])
    next(again)
    assert np.array_equal(first(items(task)), trained[0])  # stays valid while training goes on
    assert not np.array_equal(next(train(task, SMALL, seed=1))(items(task)), trained[0])


def test_heldout_items_are_not_read(task):
    other = replace(task, validation=task.test, test=task.validation, negatives=task.negatives[:, ::-1])
    assert np.array_equal(scores(task, SMALL), list(train(other, SMALL))[-1](items(task)))


def test_the_source_reaches_the_target_by_alignment_only(task, caplog):
    def by_source(alpha):
        sources = (replace(SKETCH, epsilon=1e6, ratings=ratings) for ratings in (True, False))
        return [scores(task, replace(SMALL, alpha=alpha, source=source)) for source in sources]

    scores(task, SMALL)
    with jax.log_compiles():
        assert not np.array_equal(*by_source(SMALL.alpha))
        assert "Compiling" not in caplog.text  # how the source is published compiles nothing again
        assert np.array_equal(*by_source(0.0))
        assert "Compiling" in caplog.text  # what the line above would have seen


def test_sketches_keep_inner_products_of_users(task):
    clear = Publication(variant="repaired", epsilon=1e4, num_rows=2000)
    rows = published(task.source, clear)
    assert rows.shape == (task.num_users, 2000)
    assert rows.dtype == np.float32
    true = (task.source @ task.source.T).toarray()
    assert np.corrcoef(true.ravel(), (rows @ rows.T).ravel())[0, 1] > 0.95


@pytest.mark.parametrize(("transform", "variant"), [("jlt", "paper"), ("sjlt", "released"), ("jlt", "repaired")])
def test_noise_knows_nothing_of_the_source(task, transform, variant):
    noise = Publication(transform, variant, num_rows=30, ratings=False)
    rows = published(task.source, noise, seed=3)
    assert np.array_equal(rows, published(task.source[::-1], noise, seed=3))
    assert not np.array_equal(rows, published(task.source, noise, seed=4))
    # The code divides by sqrt(r) twice.
    scale = noise.mechanism(task.num_users).noise / np.sqrt(30) / (np.sqrt(30) if variant == "released" else 1)
    assert rows.std() == pytest.approx(scale, rel=0.15)


@pytest.mark.parametrize("epsilon", [3e4, 1.0])  # where the ratings dominate, where the noise does
@pytest.mark.parametrize("variant", ["paper", "repaired"])
def test_sparse_sketches_have_the_law_of_the_mechanism(task, variant, epsilon):
    # Columns are independent Gaussian vectors in both: their second moments are all there is to compare.
    number, source = 4_000, task.source[:10]
    sparse = Publication(variant=variant, epsilon=epsilon, num_rows=number)
    matrix = source.toarray().T
    dense = np.asarray(sparse.mechanism(10).sample(jax.random.key(1), matrix)).T
    moments = [rows @ rows.T for rows in (published(source, sparse, seed=2), dense)]
    expected = (matrix - matrix.mean(axis=1, keepdims=True) if variant == "paper" else matrix).T
    expected = expected @ expected.T + sparse.mechanism(10).noise ** 2 * np.eye(10)
    diagonal = np.diag(expected)
    deviation = np.sqrt((np.outer(diagonal, diagonal) + expected**2) / number)  # of a mean of products of Gaussians
    for found in moments:
        assert np.abs((found - expected) / deviation).max() < 6
    uncentered = matrix.T @ matrix + sparse.mechanism(10).noise ** 2 * np.eye(10)
    assert (np.abs((moments[0] - uncentered) / deviation).max() > 6) == (
        variant == "paper" and epsilon > 1
    )  # the check can fail


def test_sources_of_the_papers_size_are_published():
    sizes = TASKS["Amazon Movie to Music"]
    generator = np.random.default_rng(0)
    places = generator.integers(sizes.users, size=10**6), generator.integers(sizes.source_items, size=10**6)
    source = csr_array((np.ones(10**6, np.float32), places), shape=(sizes.users, sizes.source_items))
    source.data[:] = 1
    tracemalloc.start()
    rows = published(source, Publication(num_rows=100))
    assert tracemalloc.get_traced_memory()[1] < 200e6  # a dense matrix would take 2.5 GB
    tracemalloc.stop()
    assert rows.shape == (sizes.users, 100)
    assert np.isfinite(rows).all()


def test_controls(task):
    assert np.array_equal(published(task.source, Publication("plaintext")), task.source.toarray())
    zeros = published(task.source, Publication("zero", num_rows=5))
    assert zeros.shape == (task.num_users, 5)
    assert not zeros.any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Publication("fjlt"), "use one of jlt, sjlt, plaintext, zero"),  # type: ignore[arg-type]
        (lambda: Publication("zero").mechanism(9), "without a mechanism"),
        (lambda: Settings(reading="official"), "use one of paper, released"),  # type: ignore[arg-type]
        (lambda: Settings(batch=0), "at least 1"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
