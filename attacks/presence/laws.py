"""Exact laws of recommended sets with and without a subject, and the largest advantage that they leave an attacker."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpassay.attacks.advantage import composed_advantage
from dpassay.core.checks import check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.mechanisms import describe, mechanism
from dpassay.mechanisms.determinantal import masks
from dpassay.mechanisms.dpp import required_jitter
from dpassay.mechanisms.dpp_subset_jittered import MAX_EXACT_ITEMS

MAX_ITEMS = 14
CELLS = 2**23  # floats held at once
LATTICE = 2**10  # steps of the lattice of losses


def log_laws(built: Any, kernels: np.ndarray) -> np.ndarray:
    """The law of every output in the order of `determinantal.masks`, for many kernels at once, nats.

    All principal minors of L by one elimination, item after item: leaving an item out drops its row and column, taking
    it in multiplies by the pivot and leaves the Schur complement. 2^n steps in place of 2^n factorizations.

    Args:
        built: a "dpp" or "kdpp".
        kernels: L, jitter included, positive definite, shape (kernels, items, items).

    Returns:
        Shape (kernels, outputs).
    """
    num = kernels.shape[-1]
    logs, rest = np.zeros((len(kernels), 1)), kernels[:, None]
    for _ in range(num):
        pivot = rest[..., 0, 0]
        row = rest[..., 0, 1:]
        without = rest[..., 1:, 1:]
        within = without - row[..., :, None] * row[..., None, :] / pivot[..., None, None]
        logs = np.concatenate([logs, logs + np.log(pivot)], axis=1)
        rest = np.concatenate([without, within], axis=1)
    size = getattr(built, "size", None)
    listed = masks(num, size)
    # The elimination numbers a set by its bits, the first item's the lowest.
    logs = logs[:, listed @ (1 << np.arange(num))]
    if size is not None:
        return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))
    return np.asarray(logs - np.linalg.slogdet(kernels + np.eye(num))[1][:, None])


def product_advantage(log_present: np.ndarray, log_absent: np.ndarray, rounds: int) -> np.ndarray:
    """Largest TPR - FPR of any test that sees `rounds` independent outputs: the total variation of the product laws.

    An upper bound that is close (see `composed_advantage`), and exact for one round. The laws are logs, nats, shape
    (pairs, outputs) each; the result has shape (pairs,).
    """
    if rounds == 1:
        return np.asarray(0.5 * np.abs(np.exp(log_present) - np.exp(log_absent)).sum(1))
    losses, chances = log_present - log_absent, np.exp(log_present)
    steps = np.ptp(losses, axis=1) / LATTICE
    pairs = zip(losses, chances, steps, strict=True)
    return np.array([composed_advantage(*pair, rounds) if pair[2] > 0 else 0.0 for pair in pairs])


def coin_advantage(jitter: float, square_norm: float, rounds: int) -> float:
    """Total variation of `rounds` coins with odds s (jitter) of heads and as many with s + B^2: exact for real rows."""
    return _binomial_distance(jitter / (1 + jitter), (jitter + square_norm) / (1 + jitter + square_norm), rounds)


def pure_advantage(epsilon: float, rounds: int) -> float:
    """Largest total variation that `rounds` uses of any epsilon-private mechanism can reach: randomized response's.

    Kairouz, Oh and Viswanath, "The Composition Theorem for Differential Privacy" (2015), Theorem 3.3 at epsilon 0;
    smaller than what permission for rounds * epsilon grants.
    """
    if math.isinf(epsilon):
        return 1.0
    keep = 1 / (1 + math.exp(-epsilon))
    return _binomial_distance(1 - keep, keep, rounds)


def _grams(rows: np.ndarray, picked: np.ndarray) -> np.ndarray:
    num = rows.shape[1]
    return (picked @ (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)).reshape(len(picked), num, num)


def jittered_mechanism(method: str, epsilon: float, jitter: float | None, num_items: int, size: int) -> Any:
    """The mechanism of a method on items that a row says 0 or 1 about.

    Raises:
        InvalidInput: more items than exact laws are computed for, or another impossible setting.
    """
    most = MAX_EXACT_ITEMS if method == "dpp_subset_jittered" else MAX_ITEMS
    check_count("num_items", num_items, 1)
    if num_items > most:
        raise InvalidInput(f"num_items is {num_items}; the exact law of {method} is computed for at most {most} items")
    own: dict[str, Any] = {}
    norm = num_items
    if method == "kdpp":
        check_count("size", size, 1)
        if size >= num_items:
            raise InvalidInput(f"size is {size} of {num_items} items; use less, or every set is the same")
        own, norm = {"size": size}, size
    if jitter is None:
        check_positive("epsilon", epsilon)
        jitter = norm / math.expm1(epsilon) if method == "kdpp" else required_jitter(epsilon, num_items)
    check_positive("jitter", jitter)
    return mechanism(method, jitter=float(jitter), max_square_norm=float(norm), **own)


def with_targets(others: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The users in each target's data, shape (targets, users), with her."""
    present = others.copy()
    present[np.arange(len(targets)), targets] = True
    return present


def pair_laws(built: Any, rows: np.ndarray, targets: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-laws of one output with and without each target, nats, shape (targets, outputs) each.

    Rows of all users have shape (users, items); `others` says who else is in the data, shape (targets, users), bool.
    """
    num = rows.shape[1]
    if describe(built)["id"] not in ("dpp", "kdpp"):
        return _listed_laws(built, rows, with_targets(others, targets)), _listed_laws(built, rows, others)
    own = rows[targets]
    absent = _grams(rows, others) + built.jitter * np.eye(num)
    present = absent + own[:, :, None] * own[:, None, :]
    step = max(1, CELLS // (num << num))

    def laws(kernels: np.ndarray) -> np.ndarray:
        return np.concatenate([log_laws(built, kernels[first : first + step]) for first in range(0, len(own), step)])

    return laws(present), laws(absent)


@float64
def _listed_laws(built: Any, rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The mechanism's own `log_prob` at every output, for the users in each row of `members`."""
    outputs = jnp.asarray(masks(rows.shape[1]))
    return np.asarray(_log_probs(built, outputs, jnp.asarray(rows), jnp.asarray(members)))


@partial(jax.jit, static_argnums=0)
def _log_probs(built: Any, outputs: Any, rows: Any, members: Any) -> Any:
    every = jax.vmap(built.log_prob, in_axes=(0, None))
    return jax.lax.map(lambda present: every(outputs, jnp.where(present[:, None], rows, 0.0)), members)


def _binomial_distance(chance1: float, chance2: float, rounds: int) -> float:
    counts = np.arange(rounds + 1)
    return float(0.5 * np.abs(binom.pmf(counts, rounds, chance1) - binom.pmf(counts, rounds, chance2)).sum())


def worst_advantage(built: Any, claimed: float, rounds: int) -> float:
    """The largest advantage over all data."""
    id = describe(built)["id"]
    if id == "dpp":
        return coin_advantage(built.jitter, built.max_square_norm, rounds)
    bound = pure_advantage(claimed, rounds)
    # One set of fixed size: (sqrt(1 + A) - 1)^2 / A with A = e^epsilon - 1 (theorem 4); distances add up at most.
    return min(bound, rounds * math.tanh(claimed / 4)) if id == "kdpp" else bound
