"""CoNet: one perceptron in each domain, whose hidden layers also read the other's layer below through shared matrices.

Hu, Zhang and Yang (2018), eq. 8: a target pair and a source pair of the same user go through both networks together. As
in the code they released, users share one embedding, and a network is tested alone, without the cross connections, for
which it is trained alone, too: they do so on the surplus of the larger domain, here on every pair.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from dpassay.models.task import Scores, Task
from dpassay.models.training import Examples, cross_entropy, feedback, learned, paired_examples, started

SCALE = 0.01
"""Standard deviation of initial embeddings."""


@dataclass(frozen=True)
class Settings:
    """Those of the code that Hu et al. released; `layers` begins with the width of the joined embeddings, and `crossed`
    counts the layers with cross connections. Layers start at Glorot's scale: at theirs, 0.01, so small a set of ratings
    teaches them nothing.
    """

    layers: tuple[int, ...] = (64, 32, 16, 8)
    crossed: int = 2
    negatives: int = 1
    learning_rate: float = 1e-3
    clip: float = 10.0
    batch_size: int = 128
    epochs: int = 50


class Network(eqx.Module):
    """Item embeddings and layers of one domain."""

    items: jax.Array
    weights: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]

    def __init__(self, num_items: int, layers: tuple[int, ...], key: jax.Array) -> None:
        key_items, *keys = jax.random.split(key, 1 + len(layers))
        widths = (*layers, 1)
        self.items = SCALE * jax.random.normal(key_items, (num_items, layers[0] // 2))
        self.weights = tuple(
            SCALE * jax.random.normal(k, shape) for k, shape in zip(keys, itertools.pairwise(widths), strict=True)
        )
        self.biases = tuple(jnp.zeros(size) for size in widths[1:])


class CoNet(eqx.Module):
    """The users' embedding, the two networks, and the matrices between them."""

    users: jax.Array
    target: Network
    source: Network
    crossings: tuple[jax.Array, ...]

    def __init__(
        self, num_users: int, num_target_items: int, num_source_items: int, settings: Settings, key: jax.Array
    ) -> None:
        key_users, key_target, key_source, *keys = jax.random.split(key, 3 + settings.crossed)
        self.users = SCALE * jax.random.normal(key_users, (num_users, settings.layers[0] // 2))
        self.target = Network(num_target_items, settings.layers, key_target)
        self.source = Network(num_source_items, settings.layers, key_source)
        shapes = zip(keys, settings.layers, settings.layers[1:], strict=False)
        self.crossings = tuple(_glorot(*shape) for shape in shapes)


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch."""
    model, key = started(CoNet, settings, seed, task.num_users, task.num_target_items, task.num_source_items)
    data = (feedback(task.target), feedback(task.source), settings)
    yield from learned(model, data, paired_examples, _loss, _logits, key)


def _loss(model: CoNet, batch: tuple[Examples, Examples], key: jax.Array, data: Any) -> jax.Array:
    networks = (model.target, model.source)
    joined = [_joined(model, net, pairs.users, pairs.items) for net, pairs in zip(networks, batch, strict=True)]
    logits = (*_run(networks, joined, model.crossings), *_run(networks, joined, ()))
    return sum((cross_entropy(x, pairs.labels) for x, pairs in zip(logits, batch * 2, strict=True)), jnp.zeros(()))


def _run(networks: tuple[Network, ...], hidden: list[jax.Array], crossings: tuple[jax.Array, ...]) -> list[jax.Array]:
    """The logits of each network, side by side; `hidden` are the inputs, shape (n, layers[0]) each."""
    depth = len(networks[0].weights)
    for level in range(depth):
        own = [h @ net.weights[level] + net.biases[level] for h, net in zip(hidden, networks, strict=True)]
        if level < len(crossings):
            own = [o + h @ crossings[level] for o, h in zip(own, reversed(hidden), strict=True)]
        hidden = own if level == depth - 1 else [jax.nn.relu(o) for o in own]
    return [h[:, 0] for h in hidden]


def _glorot(key: jax.Array, inputs: int, outputs: int) -> jax.Array:
    return (2 / (inputs + outputs)) ** 0.5 * jax.random.normal(key, (inputs, outputs))


def _joined(model: CoNet, network: Network, users: jax.Array, items: jax.Array) -> jax.Array:
    return jnp.concatenate([model.users[users], network.items[items]], axis=1)


def _logits(model: CoNet, users: jax.Array, items: jax.Array, data: Any = None) -> jax.Array:
    (logits,) = _run((model.target,), [_joined(model, model.target, users, items)], ())
    return logits
