"""HeteroCDR (Chen et al., WWW 2022, section 4.4): an auto-encoder on the published source, DMF on the target, aligned.

Two readings. "paper" follows equations (5) to (8); what they leave open is read thus:
- both layers of every network end in ReLU, as in DMF (Xue et al. 2017), except the decoder's last: embeddings are then
  nonnegative, so that the cosine is in [0, 1] and its logarithm in (6) exists; it is clipped to [1e-6, 1 - 1e-6];
- (6) is printed without its minus sign; minimized as printed it would push every prediction to the wrong end;
- F in (5) is the mean over the published columns; the sums of (5) to (7) run over the users of a batch;
- Adam's learning rate, not given, is the released code's.
"released" is the authors' code (github.com/TiliaceaeSU/PriCDR): linear towers, cross-entropy with the cosine as logit,
squared errors summed, dropout on the published input, weight decay, and as alignment one norm over *all pairs* of users
of a batch. That norm is sqrt(B sum|x_i - mean x|^2 + B sum|y_j - mean y|^2 + B^2 |mean x - mean y|^2): of the source
embeddings x only their mean reaches the target embeddings y, so that nothing about a single user can.

PriCDR-SYM replaces DMF by a second auto-encoder. The paper does not give its loss: cross-entropy (6) on the decoder's
logits stays, so that only the architecture differs. In the code a shared embedding of the user is added to both codes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from dpassay.core.checks import check_choices
from dpassay.core.errors import InvalidInput
from dpassay.core.shapes import Array, Float, Int
from dpassay.models.published import RELEASED, Publication, published
from dpassay.models.task import Scores, Task
from dpassay.models.training import adam, dropped, trained

SMALLEST = 1e-6  # probability that (6) takes the logarithm of, as in DMF
TINY = 1e-12  # below every squared norm that matters


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters, the paper's by default; `released` gives the code's.

    Attributes:
        reading: of the losses and layers, see the module.
        target: "dmf", or "autoencoder" for PriCDR-SYM.
        source: what the source domain publishes.
        hidden, embedding: widths of the two layers; the latter is h.
        alpha: weight of the alignment.
        batch: users per step.
        epochs: the paper gives none; validation is best before the 20th with its settings.
        learning_rate, weight_decay: of Adam; the decay is added to the gradient.
        dropout: share of the inputs of auto-encoders that is dropped in training.

    Raises InvalidInput for an unknown reading or target, or a size below 1.
    """

    reading: Literal["paper", "released"] = "paper"
    target: Literal["dmf", "autoencoder"] = "dmf"
    source: Publication = field(default_factory=Publication)
    hidden: int = 500
    embedding: int = 200
    alpha: float = 100.0
    batch: int = 128
    epochs: int = 60
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_choices(self)
        if min(self.hidden, self.embedding, self.batch, self.epochs) < 1:
            raise InvalidInput("hidden, embedding, batch and epochs must be at least 1")


def released(**changed: Any) -> Settings:
    """The settings of the authors' code, with `changed` ones."""
    defaults: dict[str, Any] = {"hidden": 100, "embedding": 100, "epochs": 300, "dropout": 0.5}
    return Settings(**{"reading": "released", "source": RELEASED, "weight_decay": 1e-3, **defaults, **changed})


def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]:
    """Yields what has been learned after each epoch.

    The seed is that of the sketch (drawn once), the initial weights, the batches and the dropout.
    """
    key_source, key_network, key_training = jax.random.split(jax.random.key(seed), 3)
    source = published(task.source, settings.source, seed=int(jax.random.bits(key_source)))
    recipe = replace(settings, source=Publication())  # how the source was published changes no compiled program
    data = _data(source, task.target.toarray(), recipe)
    start, optimizer = _network(data, key_network), adam(settings.learning_rate, settings.weight_decay)
    sizes = {"batch_size": settings.batch, "epochs": settings.epochs}
    for network in trained(start, data, _users, _loss, optimizer, key=key_training, **sizes):
        yield partial(_scores, network, data)


class _Data(NamedTuple):
    source: Float[Array, "users columns"]
    ratings: Float[Array, "users items"]
    raters: Int[Array, " ratings"]  # the user of each rating, in the order of items
    rated: Int[Array, " ratings"]  # its item
    settings: Settings


def _data(source: np.ndarray, ratings: np.ndarray, settings: Settings) -> _Data:
    rated, raters = (jnp.asarray(places, jnp.int32) for places in np.nonzero(ratings.T))
    return _Data(jnp.asarray(source, jnp.float32), jnp.asarray(ratings, jnp.float32), raters, rated, settings)


class _Hetero(eqx.Module):
    """Auto-encoder on the source, DMF on the target."""

    encoder: eqx.nn.MLP
    decoder: eqx.nn.MLP
    user_tower: eqx.nn.MLP
    item_tower: eqx.nn.MLP

    def loss(self, users: Int[Array, " batch"], key: Any, data: _Data) -> Float[Array, ""]:
        """Equation (8) on the users of a batch."""
        settings = data.settings
        source, ratings = data.source[users], data.ratings[users]
        source_code = jax.vmap(self.encoder)(_dropped(source, key, settings.dropout))
        target_code = jax.vmap(self.user_tower)(ratings)
        cosine = _unit(target_code) @ _unit(self._items(data)).T
        if settings.reading == "paper":
            reconstructed = jax.vmap(self.decoder)(source_code)
            errors = jnp.mean((reconstructed - source) ** 2, axis=1)
            probability = jnp.clip(cosine, SMALLEST, 1 - SMALLEST)
            regression = -jnp.sum(jnp.log(jnp.where(ratings > 0, probability, 1 - probability)), axis=1)
            alignment = jnp.sum((source_code - target_code) ** 2)
        else:
            reconstructed = jax.vmap(self.decoder)(jax.nn.relu(source_code))
            errors = jnp.sum((reconstructed - source) ** 2, axis=1)
            regression = jnp.sum(optax.sigmoid_binary_cross_entropy(cosine, ratings), axis=1)
            alignment = _all_pairs_norm(source_code, target_code)
        return jnp.sum(errors + regression) + settings.alpha * alignment

    def predict(self, data: _Data) -> Float[Array, "users items"]:
        """Cosines of all users with all items."""
        return _unit(jax.vmap(self.user_tower)(data.ratings)) @ _unit(self._items(data)).T

    def _items(self, data: _Data) -> Float[Array, "items embedding"]:
        """The item tower on every item's column of ratings, of which its first layer adds up the raters' weights."""
        first, second = self.item_tower.layers
        sums = jax.ops.segment_sum(first.weight.T[data.raters], data.rated, data.ratings.shape[1], True)
        assert first.bias is not None
        hidden = self.item_tower.activation(sums + first.bias)
        return self.item_tower.final_activation(jax.vmap(second)(hidden))


class _Symmetric(eqx.Module):
    """PriCDR-SYM: an auto-encoder on each domain."""

    encoder: eqx.nn.MLP
    decoder: eqx.nn.MLP
    target_encoder: eqx.nn.MLP
    target_decoder: eqx.nn.MLP
    shared: Float[Array, "users embedding"] | None  # the released code's

    def loss(self, users: Int[Array, " batch"], key: Any, data: _Data) -> Float[Array, ""]:
        """Equation (8), with (6) on the logits of the target's decoder."""
        settings = data.settings
        key_source, key_target = jax.random.split(key)
        source, ratings = data.source[users], data.ratings[users]
        source_code = self._code(self.encoder, _dropped(source, key_source, settings.dropout), users)
        target_code = self._code(self.target_encoder, _dropped(ratings, key_target, settings.dropout), users)
        squares = (jax.vmap(self.decoder)(jax.nn.relu(source_code)) - source) ** 2
        logits = jax.vmap(self.target_decoder)(jax.nn.relu(target_code))
        errors = jnp.mean(squares, axis=1) if settings.reading == "paper" else jnp.sum(squares, axis=1)
        regression = jnp.sum(optax.sigmoid_binary_cross_entropy(logits, ratings), axis=1)
        alignment = jnp.sum((source_code - target_code) ** 2)
        if settings.reading == "released":
            alignment = jnp.sqrt(alignment + TINY)
        return jnp.sum(errors + regression) + settings.alpha * alignment

    def predict(self, data: _Data) -> Float[Array, "users items"]:
        """Logits of all users and items."""
        codes = self._code(self.target_encoder, data.ratings, jnp.arange(len(data.ratings)))
        return jax.vmap(self.target_decoder)(jax.nn.relu(codes))

    def _code(self, encoder: eqx.nn.MLP, rows: Float[Array, "users columns"], users: Int[Array, " users"]) -> Any:
        codes = jax.vmap(encoder)(rows)
        return codes if self.shared is None else codes + self.shared[users]


def _network(data: _Data, key: Any) -> _Hetero | _Symmetric:
    """Weights and biases uniform in +-1/sqrt(inputs), the shared embedding Gaussian with deviation 0.01."""
    settings, (users, items) = data.settings, data.ratings.shape
    *keys, key_shared = jax.random.split(key, 5)
    paper, sizes = settings.reading == "paper", (settings.hidden, settings.embedding)
    relu, linear = jax.nn.relu, _identity
    code = relu if paper else linear

    def layers(place: int, inputs: int, outputs: int, inner: Any, outer: Any) -> eqx.nn.MLP:
        return eqx.nn.MLP(inputs, outputs, sizes[0], 1, inner, outer, key=keys[place])

    columns = data.source.shape[1]
    encoder, decoder = layers(0, columns, sizes[1], relu, code), layers(1, sizes[1], columns, relu, linear)
    if settings.target == "dmf":
        towers = (layers(2 + place, inputs, sizes[1], code, code) for place, inputs in enumerate((items, users)))
        return _Hetero(encoder, decoder, *towers)
    shared = None if paper else 0.01 * jax.random.normal(key_shared, (users, sizes[1]))
    target = (layers(2, items, sizes[1], relu, code), layers(3, sizes[1], items, relu, linear))
    return _Symmetric(encoder, decoder, *target, shared)


def _users(key: Any, data: _Data) -> Int[Array, " users"]:
    """The examples of an epoch."""
    return jnp.arange(len(data.ratings))


def _loss(network: _Hetero | _Symmetric, users: Int[Array, " batch"], key: Any, data: _Data) -> Float[Array, ""]:
    return network.loss(users, key, data)


@eqx.filter_jit
def _predicted(network: Any, data: _Data) -> Float[Array, "users items"]:
    return network.predict(data)


def _scores(network: Any, data: _Data, candidates: np.ndarray) -> np.ndarray:
    return np.take_along_axis(np.asarray(_predicted(network, data)), candidates, axis=1)


def _identity(value: Any) -> Any:
    return value


def _unit(rows: Float[Array, "rows embedding"]) -> Float[Array, "rows embedding"]:
    return rows * jax.lax.rsqrt(jnp.maximum(jnp.sum(rows**2, axis=1, keepdims=True), TINY))


def _dropped(rows: Float[Array, "users columns"], key: Any, share: float) -> Float[Array, "users columns"]:
    return dropped(key, rows, share) if share else rows


def _all_pairs_norm(
    source: Float[Array, "users embedding"], target: Float[Array, "users embedding"]
) -> Float[Array, ""]:
    """sqrt(sum_ij |x_i - y_j|^2): what broadcasting (B, E) against (B, 1, E) makes of the norm of a difference."""
    count, mean_source, mean_target = len(source), jnp.mean(source, axis=0), jnp.mean(target, axis=0)
    within = jnp.sum((source - mean_source) ** 2) + jnp.sum((target - mean_target) ** 2)
    return jnp.sqrt(count * within + count**2 * jnp.sum((mean_source - mean_target) ** 2) + TINY)
