"""ETL: autoencoders of both domains, aligned by an orthogonal map between their latent spaces.

Chen, Zhang, Tsang, Pan and Su (2022), "Towards equivalent transformation of user preferences in cross domain
recommendation": a user's row of each domain is encoded, the user's own embedding is added, and each latent vector is
decoded in its own domain and, mapped by W or W', in the other. Discriminators draw latent vectors towards N(0, I).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from dpassay.models.task import Scores, Task
from dpassay.models.training import dropped, learned, started


@dataclass(frozen=True)
class Settings:
    """Those of the code that the authors released (its `alignment` for Douban Music to Book); the discriminators learn
    with the rest by Adam, one step at a time, not by two steps of plain descent.
    """

    factors: int = 200
    dropout: float = 0.5
    alignment: float = 1.0
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    batch_size: int = 256
    epochs: int = 300


class Domain(eqx.Module):
    """Encoder, decoder and discriminator of one domain."""

    encoder: eqx.nn.MLP
    decoder: eqx.nn.MLP
    discriminator: eqx.nn.MLP

    def __init__(self, num_items: int, factors: int, key: jax.Array) -> None:
        key_encoder, key_decoder, key_discriminator = jax.random.split(key, 3)
        self.encoder = eqx.nn.MLP(num_items, factors, factors, 1, key=key_encoder)
        self.decoder = eqx.nn.MLP(factors, num_items, factors, 1, key=key_decoder)
        self.discriminator = eqx.nn.MLP(factors, "scalar", factors // 2, 1, key=key_discriminator)


class ETL(eqx.Module):
    """The domains, the users' own embeddings, and the map W from source to target."""

    source: Domain
    target: Domain
    users: jax.Array
    bridge: jax.Array

    def __init__(
        self, num_users: int, num_source_items: int, num_target_items: int, settings: Settings, key: jax.Array
    ) -> None:
        key_source, key_target, key_users, key_bridge = jax.random.split(key, 4)
        self.source = Domain(num_source_items, settings.factors, key_source)
        self.target = Domain(num_target_items, settings.factors, key_target)
        self.users = 0.01 * jax.random.normal(key_users, (num_users, settings.factors))
        bound = (6 / settings.factors) ** 0.5
        self.bridge = jax.random.uniform(key_bridge, (settings.factors, settings.factors), minval=-bound, maxval=bound)


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch."""
    model, key = started(ETL, settings, seed, task.num_users, task.num_source_items, task.num_target_items)
    data = (jnp.asarray(task.source.toarray()), jnp.asarray(task.target.toarray()), settings)
    yield from learned(model, data, _users, _loss, _scores, key)


Data = tuple[jax.Array, jax.Array, Settings]


def _users(key: jax.Array, data: Data) -> jax.Array:
    return jnp.arange(len(data[0]))


def _loss(model: ETL, users: jax.Array, key: jax.Array, data: Data) -> jax.Array:
    settings, total = data[2], jnp.zeros(())
    rows = [matrix[users] for matrix in data[:2]]
    keys = jax.random.split(key, 4)
    domains = (model.source, model.target)
    for index, (domain, bridge) in enumerate(zip(domains, (model.bridge, model.bridge.T), strict=True)):
        feature = _feature(model, domain, users, dropped(keys[index], rows[index], settings.dropout))
        latent = jax.nn.relu(feature)
        mapped = latent @ bridge
        other = domains[1 - index]
        total += _entropy(domain.decoder, latent, rows[index]) + _entropy(other.decoder, mapped, rows[1 - index])
        total += settings.alignment * jnp.sum(jnp.abs(latent - mapped @ bridge.T))
        # Each side of the game sees the other as fixed.
        fixed = jax.tree.map(lambda x: jax.lax.stop_gradient(x) if eqx.is_array(x) else x, domain.discriminator)
        prior = jax.random.normal(keys[2 + index], feature.shape)
        total += _entropy(fixed, feature, jnp.ones(len(users)))
        total += _entropy(domain.discriminator, prior, jnp.ones(len(users)))
        total += _entropy(domain.discriminator, jax.lax.stop_gradient(feature), jnp.zeros(len(users)))
    return total


def _feature(model: ETL, domain: Domain, users: jax.Array, rows: jax.Array) -> jax.Array:
    return jax.vmap(domain.encoder)(rows) + model.users[users]


def _entropy(network: eqx.nn.MLP, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.sum(optax.sigmoid_binary_cross_entropy(jax.vmap(network)(inputs), labels))


def _scores(model: ETL, users: jax.Array, items: jax.Array, data: Data) -> jax.Array:
    matrix = data[1]
    everyone = jnp.arange(len(matrix))
    latent = jax.nn.relu(_feature(model, model.target, everyone, matrix))
    return jax.vmap(model.target.decoder)(latent)[users, items]
