"""DARec: features that both domains' rating rows share, made by a classifier that must not tell the domains apart.

Yuan, Yao and Benatallah (2019), the user-based variant: autoencoders (AutoRec) of both domains are trained first; one
extractor then reads either's code of a user, and each domain's predictor gives that domain's ratings from it. The
gradient of the domain classifier enters the extractor reversed.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from dpassay.models.task import Scores, Task
from dpassay.models.training import adam, learned, trained


@dataclass(frozen=True)
class Settings:
    """No code was released. Widths, rate and batches are those that Chen et al. (2022) state for all models; missing
    ratings are zeros of a binary cross entropy, since ratings are implicit here; `reversal` weights the classifier.
    """

    factors: int = 200
    features: int = 200
    reversal: float = 1.0
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    batch_size: int = 128
    pretraining: int = 30
    epochs: int = 50


class AutoRec(eqx.Module):
    """Code and reconstruction of a rating row (Sedhain et al. 2015)."""

    encoder: eqx.nn.Linear
    decoder: eqx.nn.Linear

    def __init__(self, num_items: int, factors: int, key: jax.Array) -> None:
        key_encoder, key_decoder = jax.random.split(key)
        self.encoder = eqx.nn.Linear(num_items, factors, key=key_encoder)
        self.decoder = eqx.nn.Linear(factors, num_items, key=key_decoder)

    def codes(self, rows: jax.Array) -> jax.Array:
        """Shape (n, factors), of rows of shape (n, items)."""
        return jax.nn.sigmoid(jax.vmap(self.encoder)(rows))


class DARec(eqx.Module):
    """The extractor, a predictor for each domain, and the classifier of domains."""

    extractor: eqx.nn.MLP
    source: eqx.nn.MLP
    target: eqx.nn.MLP
    classifier: eqx.nn.MLP

    def __init__(self, sizes: tuple[int, int], settings: Settings, key: jax.Array) -> None:
        keys, width = jax.random.split(key, 4), settings.features
        self.extractor = eqx.nn.MLP(settings.factors, width, width, 1, final_activation=jax.nn.relu, key=keys[0])
        self.source = eqx.nn.MLP(width, sizes[0], width, 1, key=keys[1])
        self.target = eqx.nn.MLP(width, sizes[1], width, 1, key=keys[2])
        self.classifier = eqx.nn.MLP(width, "scalar", width // 2, 1, key=keys[3])


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields the scores after every epoch, those of the autoencoders not counted."""
    key_source, key_target, key_model, key = jax.random.split(jax.random.key(seed), 4)
    optimizer = adam(settings.learning_rate, settings.weight_decay)
    matrices = tuple(jnp.asarray(matrix.toarray()) for matrix in (task.source, task.target))
    codes = []
    for matrix, key_own in zip(matrices, (key_source, key_target), strict=True):
        key_weights, key_training = jax.random.split(key_own)
        autorec = eqx.filter_jit(AutoRec)(matrix.shape[1], settings.factors, key_weights)
        steps = {"batch_size": settings.batch_size, "epochs": settings.pretraining, "key": key_training}
        last = deque(trained(autorec, matrix, _rows, _reconstruction, optimizer, **steps), maxlen=1).pop()
        codes.append(last.codes(matrix))
    model = eqx.filter_jit(DARec)((task.num_source_items, task.num_target_items), settings, key_model)
    data = (*codes, *matrices, settings)
    yield from learned(model, data, _examples, _loss, _scores, key)


Data = tuple[jax.Array, jax.Array, jax.Array, jax.Array, Settings]


def _rows(key: jax.Array, matrix: jax.Array) -> jax.Array:
    return matrix


def _reconstruction(model: AutoRec, rows: jax.Array, key: jax.Array, matrix: jax.Array) -> jax.Array:
    return _entropy(jax.vmap(model.decoder)(model.codes(rows)), rows)


def _examples(key: jax.Array, data: Data) -> tuple[jax.Array, ...]:
    return data[:4]


def _loss(model: DARec, batch: tuple[jax.Array, ...], key: jax.Array, data: Data) -> jax.Array:
    (source_codes, target_codes, source_rows, target_rows), settings = batch, data[4]
    total = jnp.zeros(())
    for codes, domain in ((source_codes, 0.0), (target_codes, 1.0)):
        features = jax.vmap(model.extractor)(codes)
        total += _entropy(jax.vmap(model.source)(features), source_rows)
        total += _entropy(jax.vmap(model.target)(features), target_rows)
        reversed_features = 2 * jax.lax.stop_gradient(features) - features
        guesses = jax.vmap(model.classifier)(reversed_features)
        total += settings.reversal * _entropy(guesses, jnp.full(len(codes), domain))
    return total


def _entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    return jnp.sum(optax.sigmoid_binary_cross_entropy(logits, labels))


def _scores(model: DARec, users: jax.Array, items: jax.Array, data: Data) -> jax.Array:
    return jax.vmap(model.target)(jax.vmap(model.extractor)(data[1]))[users, items]
