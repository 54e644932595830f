"""Simulated runs of the attack: who is in the data, the sets that are drawn, and what the attacker makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.attacks.metrics import Metric, auc, difference_metric
from dpassay.attacks.presence.laws import pair_laws, product_advantage, with_targets
from dpassay.attacks.presence.settings import PresenceSettings
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.determinantal import masks

CROWD_TARGETS = 20
OTHERS = (0, 1, 3, 10, 30, 100, 300)
DRAWS = 2**9  # sets drawn together


@dataclass(frozen=True)
class World:
    """The catalogue's rows and who is attacked.

    Attributes:
        rows: 1 where a user rated an item, shape (users, items).
        targets: rows, shape (targets,).
        others: which users these are, shape (targets, users), bool.
        silent: number of users without any of the items.
    """

    rows: np.ndarray
    targets: np.ndarray
    others: np.ndarray
    silent: int

    @property
    def others_each(self) -> int:
        """How many other users are in the data of each target."""
        return int(self.others[0].sum())


def catalogue_world(ratings: Ratings, num_items: int, targets: int, others: int | None, seed: int) -> World:
    """The catalogue of the most popular items, and who is attacked in which crowd.

    Raises:
        InvalidInput: more items or other users than there are.
    """
    if num_items > ratings.num_items:
        raise InvalidInput(f"num_items is {num_items}, but the data have {ratings.num_items} items; use fewer")
    if others is not None and not (isinstance(others, int) and 0 <= others < ratings.num_users):
        raise InvalidInput(f"others is {others}; use 0 to {ratings.num_users - 1}, the number of other users")
    counts = np.bincount(ratings.items, minlength=ratings.num_items)
    catalogue = np.argsort(-counts, kind="stable")[:num_items]
    place = np.full(ratings.num_items, -1)
    place[catalogue] = np.arange(num_items)
    inside = place[ratings.items] >= 0
    rows = np.zeros((ratings.num_users, num_items))
    rows[ratings.users[inside], place[ratings.items[inside]]] = 1.0
    active = np.flatnonzero(rows.any(1))
    generator = np.random.default_rng([seed, 0])
    chosen = np.sort(generator.permutation(active)[:targets])
    picked = _others(generator, len(rows), chosen, others)
    return World(rows, chosen, picked, len(rows) - len(active))


def _others(generator: np.random.Generator, users: int, targets: np.ndarray, number: int | None) -> np.ndarray:
    """For each target a random choice of `number` other users, all if None; shape (targets, users), bool."""
    order = generator.random((len(targets), users))
    order[np.arange(len(targets)), targets] = np.inf
    number = users - 1 if number is None else number
    return np.asarray(order.argsort(1).argsort(1) < number)


def simulate(
    built: Any, world: World, table: np.ndarray, looks: Sequence[int], trials: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Simulated runs; world 0 has the target.

    The sets are drawn by the mechanism itself; what each says is looked up among the exact laws.

    Returns:
        Log-likelihood ratios, shape (worlds, targets, trials, looks); and the sets, as binary numbers, of each target's
        first run in world 0, shape (targets, rounds).
    """
    rounds = looks[-1]
    present = with_targets(world.others, world.targets)
    codes = drawn_sets(built, world.rows, np.concatenate([present, world.others]), trials * rounds, seed)
    codes = codes.reshape(2, len(present), trials * rounds)
    steps = np.take_along_axis(table[None], set_places(built, world.rows.shape[1])[codes], axis=2)
    losses = steps.reshape(2, -1, trials, rounds).cumsum(3)[..., [look - 1 for look in looks]]
    return losses, codes[0, :, :rounds]


def set_places(built: Any, num_items: int) -> np.ndarray:
    """Place of each binary number's set among the outputs, the first item's bit the lowest; shape (2^items,)."""
    listed = masks(num_items, getattr(built, "size", None))
    places = np.full(1 << num_items, -1)
    places[listed @ (1 << np.arange(num_items))] = np.arange(len(listed))
    return places


@float64
def drawn_sets(built: Any, rows: np.ndarray, members: np.ndarray, number: int, seed: int) -> np.ndarray:
    """`number` sets as binary numbers, for the users in each row of `members`; shape (members, number)."""
    width = min(number, DRAWS)
    chunks = -(-number // width)
    codes = _drawn(built, jax.random.key(seed), jnp.asarray(rows), jnp.asarray(members), width, chunks)
    return np.asarray(codes).reshape(len(members), chunks * width)[:, :number]


@partial(jax.jit, static_argnums=(0, 4, 5))
def _drawn(built: Any, key: Any, rows: Any, members: Any, width: int, chunks: int) -> Any:
    bits = 1 << jnp.arange(rows.shape[1])

    def draw(job: Any) -> Any:
        key_job, present = job
        dataset = jnp.where(present[:, None], rows, 0.0)
        # The dataset is the same for all keys, so that its eigendecomposition is made once.
        sets = jax.vmap(lambda each: built.sample(each, dataset))(jax.random.split(key_job, width))
        return (sets * bits).sum(1).astype(jnp.int32)

    keys = jax.random.split(key, len(members) * chunks)
    return jax.lax.map(draw, (keys, jnp.repeat(members, chunks, axis=0)))


def observed_advantage(losses: np.ndarray) -> Metric:
    """From runs of shape (worlds, targets, trials); the exact likelihood ratio needs no threshold but 1."""
    found, missed = (losses > 0).mean(2)
    return difference_metric("advantage", found - missed, PresenceSettings.metrics["advantage"])


def observed_auc(losses: np.ndarray) -> np.ndarray:
    """Per target, from runs of shape (worlds, targets, trials)."""
    scores = np.concatenate([losses[0], losses[1]], axis=1)
    return auc(scores, np.broadcast_to(np.arange(scores.shape[1]) < losses.shape[2], scores.shape))


def crowd_limits(built: Any, world: World, rounds: int, seed: int) -> dict[int, np.ndarray]:
    """The exact limit after one and after all rounds, by how many others are in the data; shape (targets, 2)."""
    users, targets = len(world.rows), world.targets[:CROWD_TARGETS]
    crowds = {}
    for number in [*(each for each in OTHERS if each < users - 1), users - 1]:
        others = _others(np.random.default_rng([seed, 1 + number]), users, targets, number)
        laws = pair_laws(built, world.rows, targets, others)
        crowds[number] = np.stack([product_advantage(*laws, look) for look in (1, rounds)], axis=1)
    return crowds
