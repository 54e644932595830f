"""DDTCDR: a perceptron in each domain; users are also scored by their embeddings from the other, mapped orthogonally.

Li and Tuzhilin (2020), eqs. 4 to 8: score = (1 - alpha) f(u, v) + alpha f(X u', v), u' of the other domain, X in one
direction and X' in the other, with a penalty that keeps X orthogonal.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dpassay.models.task import Scores, Task
from dpassay.models.training import Examples, Feedback, dropped, feedback, learned, paired_examples, started


@dataclass(frozen=True)
class Settings:
    """Those of Li and Tuzhilin and of the code they released, but for what cannot be had here: their embeddings come
    from texts and profiles, ours are trained with the rest, for which stochastic descent at a rate of 0.01 is too slow
    (Adam, as Chen et al. 2022 state for all models).
    """

    factors: int = 8
    layers: tuple[int, ...] = (64, 8)
    dropout: float = 0.1
    alpha: float = 0.03
    orthogonality: float = 1e-6
    negatives: int = 1
    learning_rate: float = 5e-3
    batch_size: int = 1024
    epochs: int = 50


class Domain(eqx.Module):
    """Embeddings and perceptron of one domain."""

    users: jax.Array
    items: jax.Array
    layers: tuple[eqx.nn.Linear, ...]
    output: eqx.nn.Linear

    def __init__(self, num_users: int, num_items: int, settings: Settings, key: jax.Array) -> None:
        key_users, key_items, key_output, *keys = jax.random.split(key, 3 + len(settings.layers))
        self.users = 0.1 * jax.random.normal(key_users, (num_users, settings.factors))
        self.items = 0.1 * jax.random.normal(key_items, (num_items, settings.factors))
        sizes = (2 * settings.factors, *settings.layers)
        self.layers = tuple(
            eqx.nn.Linear(*shape, key=k) for shape, k in zip(itertools.pairwise(sizes), keys, strict=True)
        )
        self.output = eqx.nn.Linear(sizes[-1], "scalar", key=key_output)

    def __call__(self, user: jax.Array, item: jax.Array, dropout: float, key: jax.Array | None) -> jax.Array:
        """The score of one user, given by its embedding, and one item; without a key nothing is dropped."""
        hidden = jnp.concatenate([user, self.items[item]])
        for number, layer in enumerate(self.layers):
            hidden = jax.nn.relu(layer(hidden))
            if key is not None:
                hidden = dropped(jax.random.fold_in(key, number), hidden, dropout)
        return self.output(hidden)


class DDTCDR(eqx.Module):
    """The two domains and the map between their users, shape (factors, factors), from source to target."""

    target: Domain
    source: Domain
    bridge: jax.Array

    def __init__(
        self, num_users: int, num_target_items: int, num_source_items: int, settings: Settings, key: jax.Array
    ) -> None:
        key_target, key_source, key_bridge = jax.random.split(key, 3)
        self.target = Domain(num_users, num_target_items, settings, key_target)
        self.source = Domain(num_users, num_source_items, settings, key_source)
        self.bridge = jax.random.orthogonal(key_bridge, settings.factors)


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch."""
    model, key = started(DDTCDR, settings, seed, task.num_users, task.num_target_items, task.num_source_items)
    data = (feedback(task.target), feedback(task.source), settings)
    yield from learned(model, data, paired_examples, _loss, _scores, key)


Data = tuple[Feedback, Feedback, Settings]


def _loss(model: DDTCDR, batch: tuple[Examples, Examples], key: jax.Array, data: Data) -> jax.Array:
    settings, (target, source) = data[2], batch
    key_target, key_source = jax.random.split(key)
    ours = _mixed(model, model.target, target, model.source.users @ model.bridge.T, settings, key_target)
    theirs = _mixed(model, model.source, source, model.target.users @ model.bridge, settings, key_source)
    product = model.bridge @ model.bridge.T
    penalty = jnp.sum(jnp.abs(product - jnp.eye(len(product))))
    errors = jnp.mean((ours - target.labels) ** 2) + jnp.mean((theirs - source.labels) ** 2)
    return errors + settings.orthogonality * penalty


def _mixed(
    model: DDTCDR, domain: Domain, pairs: Any, mapped: jax.Array, settings: Settings, key: jax.Array | None
) -> jax.Array:
    """The scores of pairs in one domain, from the users' own embeddings and those mapped from the other domain."""

    def score(embedding: jax.Array, other: jax.Array, item: jax.Array, key: jax.Array | None) -> jax.Array:
        own = domain(embedding, item, settings.dropout, key)
        return (1 - settings.alpha) * own + settings.alpha * domain(other, item, settings.dropout, key)

    keys = None if key is None else jax.random.split(key, len(pairs.users))
    return jax.vmap(score, in_axes=(0, 0, 0, None if key is None else 0))(
        domain.users[pairs.users], mapped[pairs.users], pairs.items, keys
    )


def _scores(model: DDTCDR, users: jax.Array, items: jax.Array, data: Data) -> jax.Array:
    pairs = Examples(users, items, jnp.zeros(len(users)))
    return _mixed(model, model.target, pairs, model.source.users @ model.bridge.T, data[2], None)
