"""Training on implicit ratings: a whole epoch, negatives and batches included, is one compiled call.

What is compiled depends on shapes and settings only, so that runs with other seeds reuse it.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.sparse import csr_array

from dpassay.models.task import Scores

Model = TypeVar("Model", bound=eqx.Module)


class Feedback(NamedTuple):
    """The ratings of one domain in a form that batches are drawn from.

    Attributes:
        users: int32, shape (ratings,).
        items: int32, shape (ratings,), parallel to `users`.
        others: int32, shape (users, items): each row begins with the items that the user has no rating of.
        num_others: int32, shape (users,): how many these are.
    """

    users: jax.Array
    items: jax.Array
    others: jax.Array
    num_others: jax.Array


class Examples(NamedTuple):
    """Labeled pairs, arrays of one shape: user, item, and 1 for a rating or 0 for a negative."""

    users: jax.Array
    items: jax.Array
    labels: jax.Array


def feedback(matrix: csr_array) -> Feedback:
    """The implicit ratings of a matrix of shape (users, items)."""
    seen = matrix.toarray() > 0
    users, items = np.nonzero(seen)
    others = np.argsort(seen, axis=1, kind="stable")
    return Feedback(*(jnp.asarray(x, jnp.int32) for x in (users, items, others, (~seen).sum(axis=1))))


def negatives(key: jax.Array, data: Feedback, users: jax.Array) -> jax.Array:
    """For every entry of `users` an item, of the same shape, drawn uniformly from those that the user has not rated."""
    return data.others[users, jax.random.randint(key, users.shape, 0, data.num_others[users])]


def labeled(key: jax.Array, data: Feedback, num_negatives: int) -> Examples:
    """All ratings, each with new negatives of its user: shape (ratings * (1 + num_negatives),)."""
    users = jnp.repeat(data.users, num_negatives)
    items = jnp.concatenate([data.items, negatives(key, data, users)])
    labels = jnp.concatenate([jnp.ones(len(data.users)), jnp.zeros(len(users))])
    return Examples(jnp.concatenate([data.users, users]), items, labels)


def labeled_examples(key: jax.Array, data: Any) -> Examples:
    """Those of data that begin with the ratings and end with settings, shaped as by `labeled`."""
    return labeled(key, data[0], data[-1].negatives)


def paired_examples(key: jax.Array, data: Any) -> tuple[Examples, Examples]:
    """Those of data that are the ratings of target and source, and settings; shaped as by `paired`."""
    target, source, settings = data
    return paired(key, target, source, settings.negatives)


def paired(key: jax.Array, target: Feedback, source: Feedback, num_negatives: int) -> tuple[Examples, Examples]:
    """`labeled` examples of the target domain, each beside one of the source by the same user, of one shape.

    Labels are independent: a network that saw both pairs could read one label off the other.
    """
    key_target, key_label, key_rated, key_other = jax.random.split(key, 4)
    examples = labeled(key_target, target, num_negatives)
    users, columns = examples.users, source.others.shape[1]
    liked = jax.random.bernoulli(key_label, 1 / (1 + num_negatives), users.shape) & (source.num_others[users] < columns)
    first = jnp.minimum(source.num_others[users], columns - 1)  # where the user's own items begin in `others`
    rated = source.others[users, jax.random.randint(key_rated, users.shape, first, columns)]
    items = jnp.where(liked, rated, negatives(key_other, source, users))
    return examples, Examples(users, items, liked.astype(jnp.float32))


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean binary cross entropy of two arrays of one shape, nats."""
    return jnp.mean(optax.sigmoid_binary_cross_entropy(logits, labels))


def dropped(key: jax.Array, values: jax.Array, rate: float) -> jax.Array:
    """The values, of any shape, a share `rate` of them replaced by 0, the others scaled up to the same mean."""
    return jnp.where(jax.random.bernoulli(key, 1 - rate, values.shape), values / (1 - rate), 0.0)


@functools.cache
def adam(learning_rate: float, weight_decay: float = 0.0, clip: float | None = None) -> optax.GradientTransformation:
    """Adam with the L2 penalty in the gradient and the gradient's norm cut off at `clip`."""
    steps = [optax.clip_by_global_norm(clip)] if clip is not None else []
    steps += [optax.add_decayed_weights(weight_decay)] if weight_decay else []
    return optax.chain(*steps, optax.adam(learning_rate))


def trained(
    model: Model,
    data: Any,
    draw: Callable[[jax.Array, Any], Any],
    loss: Callable[[Model, Any, jax.Array, Any], jax.Array],
    optimizer: optax.GradientTransformation,
    *,
    batch_size: int,
    epochs: int,
    key: jax.Array,
) -> Iterator[Model]:
    """Yields the model after every epoch.

    The model's inexact arrays are trained. Data are arrays and hashable settings, in tuples. `draw` makes of a key and
    the data a pytree of an epoch's examples, arrays with one leading axis; `loss`, shape (), is of the model, a batch,
    a key and the data. To be compiled once, these two and the optimizer, of optax, have to be the same objects in every
    call. A step takes `batch_size` examples without replacement; those that fill no batch are left out of the epoch.
    """
    state = jax.jit(optimizer.init)(eqx.filter(model, eqx.is_inexact_array))
    for key_epoch in jax.random.split(key, epochs):
        model, state = _epoch(model, state, data, key_epoch, draw, loss, optimizer, batch_size)
        yield model


@eqx.filter_jit
def _epoch(model, state, data, key, draw, loss, optimizer, batch_size):
    key_draw, key_order, key_loss = jax.random.split(key, 3)
    examples = draw(key_draw, data)
    number = jax.tree.leaves(examples)[0].shape[0]
    size = min(batch_size, number)
    order = jax.random.permutation(key_order, number)[: number // size * size].reshape(-1, size)
    weights, fixed = eqx.partition(model, eqx.is_inexact_array)

    def step(carry, this):
        weights, state = carry
        rows, key = this
        batch = jax.tree.map(lambda x: x[rows], examples)
        gradient = jax.grad(lambda w: loss(eqx.combine(w, fixed), batch, key, data))(weights)
        updates, state = optimizer.update(gradient, state, weights)
        return (optax.apply_updates(weights, updates), state), None

    (weights, state), _ = jax.lax.scan(step, (weights, state), (order, jax.random.split(key_loss, len(order))))
    return eqx.combine(weights, fixed), state


def started(kind: Callable[..., Model], settings: Any, seed: int, *sizes: int) -> tuple[Model, jax.Array]:
    """A model made from its sizes, the settings and a key; and the key, shape (), of what comes after."""
    key_model, key = jax.random.split(jax.random.key(seed))
    return eqx.filter_jit(kind)(*sizes, settings, key_model), key


def learned(
    model: Model,
    data: Any,
    draw: Callable[[jax.Array, Any], Any],
    loss: Callable[[Model, Any, jax.Array, Any], jax.Array],
    score: Callable[[Model, jax.Array, jax.Array, Any], jax.Array],
    key: jax.Array,
) -> Iterator[Scores]:
    """Yields the scores after every epoch of `trained` by Adam.

    The last of the data are the model's settings; `score` takes users and items of one shape (n,).
    """
    settings = data[-1]
    sizes = {"batch_size": settings.batch_size, "epochs": settings.epochs}
    optimizer = adam(settings.learning_rate, getattr(settings, "weight_decay", 0.0), getattr(settings, "clip", None))
    for each in trained(model, data, draw, loss, optimizer, key=key, **sizes):
        yield scored(each, score, data)


def scored(model: Model, score: Callable[[Model, jax.Array, jax.Array, Any], jax.Array], data: Any = None) -> Scores:
    """The scores of the model as it is now; `score` takes it, users and items of one shape (n,), and the data."""

    def scores(items: np.ndarray) -> np.ndarray:
        users = np.repeat(np.arange(len(items)), items.shape[1])
        found = _score(model, jnp.asarray(users), jnp.asarray(items.ravel()), data, score)
        return np.asarray(found).reshape(items.shape)

    return scores


@eqx.filter_jit
def _score(model, users, items, data, score):
    return score(model, users, items, data)
