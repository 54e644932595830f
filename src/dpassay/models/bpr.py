"""BPR: matrix factorization that ranks what a user has before what the user has not.

Rendle, Freudenthaler, Gantner and Schmidt-Thieme (2009): minimize -ln sigmoid(x_ui - x_uj) + L2 over ratings (u, i) and
drawn items j, x_ui = p_u . q_i + b_i.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dpassay.models.task import Scores, Task
from dpassay.models.training import Feedback, feedback, learned, negatives


@dataclass(frozen=True)
class Settings:
    """Rendle et al. give no values, and Chen et al. (2022) none for BPR. Adam and batches of 128 are what the latter
    state for all models; the other values were chosen on validation items.
    """

    factors: int = 64
    penalty: float = 0.03
    learning_rate: float = 2e-3
    batch_size: int = 128
    epochs: int = 20


class Factors(eqx.Module):
    """Users, shape (users, factors), items, shape (items, factors), and the items' biases, shape (items,)."""

    users: jax.Array
    items: jax.Array
    biases: jax.Array


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch."""
    key_users, key_items, key = jax.random.split(jax.random.key(seed), 3)
    model = Factors(
        0.1 * jax.random.normal(key_users, (task.num_users, settings.factors)),
        0.1 * jax.random.normal(key_items, (task.num_target_items, settings.factors)),
        jnp.zeros(task.num_target_items),
    )
    yield from learned(model, (feedback(task.target), settings), _triples, _loss, _scores, key)


def _triples(key: jax.Array, data: tuple[Feedback, Settings]) -> tuple[jax.Array, jax.Array, jax.Array]:
    ratings, _ = data
    return ratings.users, ratings.items, negatives(key, ratings, ratings.users)


def _loss(
    model: Factors, batch: tuple[jax.Array, jax.Array, jax.Array], key: jax.Array, data: tuple[Feedback, Settings]
) -> jax.Array:
    users, items, others = batch
    lead = _scores(model, users, items) - _scores(model, users, others)
    involved = (model.users[users], model.items[items], model.items[others])
    return jnp.mean(jax.nn.softplus(-lead) + data[1].penalty * sum(jnp.sum(x**2, axis=1) for x in involved))


def _scores(model: Factors, users: jax.Array, items: jax.Array, data: Any = None) -> jax.Array:
    return jnp.sum(model.users[users] * model.items[items], axis=1) + model.biases[items]
