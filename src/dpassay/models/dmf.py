"""DMF: two towers that map a user's row and an item's column of the rating matrix into one space, where cosine scores.

Xue, Dai, Zhang, Huang and Chen (2017): the cosine, cut off below at 1e-6, is trained by their normalized cross entropy
(eq. 13), which for implicit ratings is the binary one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp

from dpassay.models.task import Scores, Task
from dpassay.models.training import Examples, Feedback, feedback, labeled_examples, learned, started

FLOOR = 1e-6


@dataclass(frozen=True)
class Settings:
    """Layers and negatives of the code that Xue et al. released. That trains batches of 256 at a rate of 1e-4; here
    every step computes the towers of all users and items, whatever the batch, so that a batch is 64 times larger and
    the rate 10 times, about its square root. Weight decay was chosen on validation items. The best epochs on Douban
    are the first, so that 6 do instead of 50.
    """

    user_layers: tuple[int, int] = (512, 64)
    item_layers: tuple[int, int] = (1024, 64)
    negatives: int = 7
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    batch_size: int = 256 * 64
    epochs: int = 6


class Tower(eqx.Module):
    """A linear layer without bias, then one with bias and ReLU."""

    first: jax.Array
    second: jax.Array
    bias: jax.Array

    def __init__(self, inputs: int, layers: tuple[int, int], key: jax.Array) -> None:
        key_first, key_second = jax.random.split(key)
        self.first = 0.01 * jax.random.truncated_normal(key_first, -2, 2, (inputs, layers[0]))
        self.second = 0.01 * jax.random.truncated_normal(key_second, -2, 2, layers)
        self.bias = jnp.zeros(layers[1])

    def __call__(self, rows: jax.Array) -> jax.Array:
        """Unit vectors, shape (n, layers[1]), of rows of shape (n, inputs)."""
        # The product of the two layers first: a tenth of the work, since nothing nonlinear is between them.
        out = jax.nn.relu(rows @ (self.first @ self.second) + self.bias)
        return out / jnp.sqrt(jnp.sum(out**2, axis=1, keepdims=True) + 1e-12)


class DMF(eqx.Module):
    """The towers of users and items."""

    users: Tower
    items: Tower

    def __init__(self, num_users: int, num_items: int, settings: Settings, key: jax.Array) -> None:
        key_users, key_items = jax.random.split(key)
        self.users = Tower(num_items, settings.user_layers, key_users)
        self.items = Tower(num_users, settings.item_layers, key_items)


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch."""
    model, key = started(DMF, settings, seed, task.num_users, task.num_target_items)
    data = (feedback(task.target), jnp.asarray(task.target.toarray()), settings)
    yield from learned(model, data, labeled_examples, _loss, _cosines, key)


Data = tuple[Feedback, jax.Array, Settings]


def _loss(model: DMF, batch: Examples, key: jax.Array, data: Data) -> jax.Array:
    cosine = jnp.clip(_cosines(model, batch.users, batch.items, data), FLOOR, 1 - FLOOR)
    return -jnp.mean(jnp.where(batch.labels > 0, jnp.log(cosine), jnp.log1p(-cosine)))


def _cosines(model: DMF, users: jax.Array, items: jax.Array, data: Data) -> jax.Array:
    _, matrix, _ = data
    return jnp.sum(model.users(matrix)[users] * model.items(matrix.T)[items], axis=1)
