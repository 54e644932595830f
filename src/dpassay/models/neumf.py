"""NeuMF: generalized matrix factorization and a multilayer perceptron side by side.

He, Liao, Zhang, Nie, Hu and Chua (2017), eq. 12, trained from the start by binary cross entropy on ratings and drawn
negatives.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dpassay.models.task import Scores, Task
from dpassay.models.training import Examples, Feedback, cross_entropy, feedback, labeled_examples, learned, started


@dataclass(frozen=True)
class Settings:
    """Those of He et al. and of the code they released; `layers` begins with the width of the joined embeddings."""

    factors: int = 8
    layers: tuple[int, ...] = (64, 32, 16, 8)
    negatives: int = 4
    learning_rate: float = 1e-3
    batch_size: int = 256
    epochs: int = 20


class NeuMF(eqx.Module):
    """Embeddings of both halves in one table each (the first `factors` columns for the product), then the layers."""

    users: jax.Array
    items: jax.Array
    layers: tuple[eqx.nn.Linear, ...]
    output: eqx.nn.Linear
    factors: int = eqx.field(static=True)

    def __init__(self, num_users: int, num_items: int, settings: Settings, key: jax.Array) -> None:
        key_users, key_items, key_output, *keys = jax.random.split(key, 2 + len(settings.layers))
        self.factors, width = settings.factors, settings.factors + settings.layers[0] // 2
        self.users = 0.01 * jax.random.normal(key_users, (num_users, width))
        self.items = 0.01 * jax.random.normal(key_items, (num_items, width))
        sizes = zip(settings.layers, settings.layers[1:], keys, strict=False)
        self.layers = tuple(eqx.nn.Linear(inner, outer, key=k) for inner, outer, k in sizes)
        self.output = eqx.nn.Linear(settings.factors + settings.layers[-1], "scalar", key=key_output)

    def __call__(self, user: jax.Array, item: jax.Array) -> jax.Array:
        """The logit of one pair."""
        u, i, f = self.users[user], self.items[item], self.factors
        hidden = jnp.concatenate([u[f:], i[f:]])
        for layer in self.layers:
            hidden = jax.nn.relu(layer(hidden))
        return self.output(jnp.concatenate([u[:f] * i[:f], hidden]))


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch."""
    model, key = started(NeuMF, settings, seed, task.num_users, task.num_target_items)
    yield from learned(model, (feedback(task.target), settings), labeled_examples, _loss, _logits, key)


def _loss(model: NeuMF, batch: Examples, key: jax.Array, data: tuple[Feedback, Settings]) -> jax.Array:
    return cross_entropy(_logits(model, batch.users, batch.items), batch.labels)


def _logits(model: NeuMF, users: jax.Array, items: jax.Array, data: Any = None) -> jax.Array:
    return jax.vmap(model)(users, items)
