"""Is this subject in the data? An attack on recommendations from a determinantal point process (DPP).

Fitzsimons, Pasqualini, Pisarczyk and Usynin, "Naturally Private Recommendations with Determinantal Point Processes".
The attacker knows every other subject's row and the target's, sees T recommended sets, each a fresh draw, and decides
by the likelihood ratio whether the target's row is in the kernel L = X'X + s I. No test on these sets does better.

What the guarantee leaves is known exactly: for rows with |x|^2 <= B^2 the process hides a subject as well as a coin
whose odds of heads are s without her and s + B^2 with her, and T sets as well as T coins ("Exact privacy of
determinantal point processes", theorem 3, in the documentation of this package).
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from dpassay.attacks.outcomes import (
    AttackReport,
    Metric,
    Privacy,
    ThreatModel,
    auc,
    difference_metric,
    mean_metric,
    permitted_advantage,
)
from dpassay.attacks.reconstruction import composed_advantage
from dpassay.core.checks import check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import describe, mechanism
from dpassay.mechanisms.determinantal import masks
from dpassay.mechanisms.dpp import required_jitter
from dpassay.mechanisms.dpp_subset_jittered import MAX_EXACT_ITEMS

__all__ = ["METHODS", "METRICS", "coin_advantage", "log_laws", "product_advantage", "pure_advantage", "run"]

METHODS = ("dpp", "kdpp", "dpp_eigen", "dpp_subset_jittered")
"""The sampler of Algorithm 1, the one of a fixed number of items, phase 1 alone, and jittered weights in phase 2."""

METRICS = ("advantage", "auc", "advantage-limit", "advantage-worst-case", "guess-advantage")

MAX_ITEMS = 14
CROWD_TARGETS = 20
OTHERS = (0, 1, 3, 10, 30, 100, 300)
CELLS = 2**23  # floats held at once
DRAWS = 2**9  # sets drawn together
LATTICE = 2**10  # steps of the lattice of losses
PLAIN_JITTER = 1e-6  # stands for none, and keeps every probability positive
MAX_ROUNDS = 1024
NOTICEABLE = 0.5
"""Advantage at which three of four guesses are right."""


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

    An upper bound that is close (see `reconstruction.composed_advantage`), and exact for one round.

    Args:
        log_present: log P, nats, shape (pairs, outputs).
        log_absent: log Q, same shape.
        rounds: T.

    Returns:
        Shape (pairs,).
    """
    if rounds == 1:
        return np.asarray(0.5 * np.abs(np.exp(log_present) - np.exp(log_absent)).sum(1))
    losses, chances = log_present - log_absent, np.exp(log_present)
    steps = np.ptp(losses, axis=1) / LATTICE
    pairs = zip(losses, chances, steps, strict=True)
    return np.array([composed_advantage(*pair, rounds) if pair[2] > 0 else 0.0 for pair in pairs])


def coin_advantage(jitter: float, square_norm: float, rounds: int) -> float:
    """Total variation of `rounds` coins with odds s of heads and as many with odds s + B^2: exact for real rows.

    Args:
        jitter: s.
        square_norm: B^2.
        rounds: T.
    """
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


def run(
    ratings: Ratings,
    *,
    method: str = "dpp",
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    epsilon: float = 1.0,
    jitter: float | None = None,
    num_items: int | None = None,
    size: int = 3,
    others: int | None = None,
    rounds: int = 32,
    targets: int = 50,
    trials: int = 40,
) -> AttackReport:
    """Attacks targets in a catalogue of the most popular items; a row says which of them a user rated.

    Args:
        ratings: the data; only who rated what is used.
        method: one of `METHODS`.
        seed: of all randomness.
        progress: told what is being done.
        epsilon: nats, for one recommendation; the jitter is the smallest that gives it by the exact theorem.
        jitter: s itself, in place of epsilon.
        num_items: n, the most popular items are the catalogue; 12 if None (5 for dpp_subset_jittered), at most 14.
        size: number of items shown by kdpp.
        others: how many other users are in the data, drawn at random; all if None.
        rounds: T, recommendations seen.
        targets: how many users are attacked, drawn at random among those who rated an item of the catalogue.
        trials: runs per target with her in the data, and as many without.

    Raises:
        InvalidInput: an unknown method or an impossible setting.
    """
    start = time.perf_counter()
    if num_items is None:
        num_items = min(5 if method == "dpp_subset_jittered" else 12, ratings.num_items)
    built = _mechanism(method, epsilon, jitter, num_items, size)
    for name, value in (("rounds", rounds), ("targets", targets), ("trials", trials)):
        check_count(name, value, 1)
    if rounds > MAX_ROUNDS:
        raise InvalidInput(f"rounds is {rounds}; the exact limits are computed for at most {MAX_ROUNDS}")
    world = _world(ratings, num_items, targets, others, seed)
    claimed = built.claim.epsilon

    progress(f"exact laws of {method} for {len(world.targets)} targets")
    laws = _pair_laws(built, world.rows, world.targets, world.others)
    looks = sorted({*(2**power for power in range(rounds.bit_length())), rounds})
    progress(f"{2 * len(world.targets) * trials * rounds} sets drawn by {method}")
    losses, shown = _simulate(built, world, laws[0] - laws[1], looks, trials, seed)
    progress("exact limits")
    limits = {look: product_advantage(*laws, look) for look in looks}
    crowds = _crowds(built, world, rounds, seed)

    found = {look: _advantage(losses[..., place]) for place, look in enumerate(looks)}
    head = found[rounds]
    loss = float(np.abs(laws[0] - laws[1]).max())
    worst = {look: _worst(built, claimed, look) for look in looks}
    metrics = [
        head,
        mean_metric(
            "auc",
            _auc(losses[..., -1]),
            "Chance that a run with the subject looks more like her than one without; 1/2 is blind.",
        ),
        Metric("advantage-limit", float(limits[rounds].mean()), "The most that any test could reach on these targets."),
        Metric(
            "advantage-worst-case",
            worst[rounds],
            "The most that any attacker could reach on any data with this jitter and number of recommendations.",
        ),
        Metric("guess-advantage", 0.0, "Without recommendations presence is a coin flip."),
    ]
    described = describe(built)
    return AttackReport(
        attack="presence",
        title="Whether recommendations betray that a person is in the data",
        mechanism=f"{described['id']}/{described['variant']}",
        parameters=described["parameters"],
        threat_model=ThreatModel(
            knows="the mechanism and its jitter, every other user's row, and the target's row if she is there",
            does="nothing but wait; compares the exact probability of what it saw with and without her",
            sees=f"{rounds} recommended sets, each drawn afresh",
        ),
        summary=_summary(world, found, float(limits[rounds].mean()), worst, claimed, rounds, crowds, shown),
        settings={
            "method": method,
            "epsilon": None if jitter is not None else epsilon,
            "jitter": float(built.jitter),
            "num_items": num_items,
            "others": world.others_each,
            "rounds": rounds,
            "targets": len(world.targets),
            "trials": trials,
        },
        metrics=metrics,
        dataset=ratings,
        tables=[_by_rounds(found, limits, worst, claimed), _by_crowd(crowds, rounds)],
        plots=_plots(found, limits, worst, claimed, crowds, rounds),
        victim=_victim(built, world, laws, limits[rounds], shown),
        privacy=_privacy(head, float(limits[rounds].mean()), worst[rounds], claimed, loss, rounds, method == "dpp"),
        repair=_repair(built, world, rounds),
        limits=[
            f"The catalogue is cut to the {num_items} most popular items, so that every probability is exact; a larger "
            "one shows more of a user and needs a larger jitter for the same epsilon.",
            "The attacker is the strongest there is: it knows all other users' rows. A real one knows less.",
            f"Targets have rated at least one of these items; {world.silent} of {ratings.num_users} users have not, "
            "and nothing can tell whether they are there.",
            "The probabilities are those of exact arithmetic; what rounding betrays comes on top.",
        ],
        seed=seed,
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True)
class _World:
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
        return int(self.others[0].sum())


def _world(ratings: Ratings, num_items: int, targets: int, others: int | None, seed: int) -> _World:
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
    return _World(rows, chosen, picked, len(rows) - len(active))


def _others(generator: np.random.Generator, users: int, targets: np.ndarray, number: int | None) -> np.ndarray:
    """For each target a random choice of `number` other users, all if None; shape (targets, users), bool."""
    order = generator.random((len(targets), users))
    order[np.arange(len(targets)), targets] = np.inf
    number = users - 1 if number is None else number
    return np.asarray(order.argsort(1).argsort(1) < number)


def _grams(rows: np.ndarray, picked: np.ndarray) -> np.ndarray:
    num = rows.shape[1]
    return (picked @ (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)).reshape(len(picked), num, num)


def _mechanism(method: str, epsilon: float, jitter: float | None, num_items: int, size: int) -> Any:
    if method not in METHODS:
        raise InvalidInput(f"no method is called {method!r}; choose from {', '.join(METHODS)}")
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


def _pair_laws(built: Any, rows: np.ndarray, targets: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-laws of one output with and without each target, shape (targets, outputs) each."""
    num = rows.shape[1]
    if describe(built)["id"] not in ("dpp", "kdpp"):
        present = others.copy()
        present[np.arange(len(targets)), targets] = True
        return _listed_laws(built, rows, present), _listed_laws(built, rows, others)
    own = rows[targets]
    absent = _grams(rows, others) + built.jitter * np.eye(num)
    present = absent + own[:, :, None] * own[:, None, :]
    step = max(1, CELLS // (num << num))
    with_her, without = (
        np.concatenate([log_laws(built, kernels[first : first + step]) for first in range(0, len(own), step)])
        for kernels in (present, absent)
    )
    return with_her, without


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


def _worst(built: Any, claimed: float, rounds: int) -> float:
    """The largest advantage over all data."""
    id = describe(built)["id"]
    if id == "dpp":
        return coin_advantage(built.jitter, built.max_square_norm, rounds)
    bound = pure_advantage(claimed, rounds)
    # One set of fixed size: (sqrt(1 + A) - 1)^2 / A with A = e^epsilon - 1 (theorem 4); distances add up at most.
    return min(bound, rounds * math.tanh(claimed / 4)) if id == "kdpp" else bound


def _simulate(
    built: Any, world: _World, table: np.ndarray, looks: Sequence[int], trials: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Simulated runs; world 0 has the target.

    The sets are drawn by the mechanism itself; what each says is looked up among the exact laws.

    Returns:
        Log-likelihood ratios, shape (worlds, targets, trials, looks); and the sets, as binary numbers, of each target's
        first run in world 0, shape (targets, rounds).
    """
    rounds = looks[-1]
    present = world.others.copy()
    present[np.arange(len(present)), world.targets] = True
    codes = _draws(built, world.rows, np.concatenate([present, world.others]), trials * rounds, seed)
    codes = codes.reshape(2, len(present), trials * rounds)
    steps = np.take_along_axis(table[None], _places(built, world.rows.shape[1])[codes], axis=2)
    losses = steps.reshape(2, -1, trials, rounds).cumsum(3)[..., [look - 1 for look in looks]]
    return losses, codes[0, :, :rounds]


def _places(built: Any, num_items: int) -> np.ndarray:
    """Where the set with a binary number, the first item's bit the lowest, stands in the list of outputs."""
    listed = masks(num_items, getattr(built, "size", None))
    places = np.full(1 << num_items, -1)
    places[listed @ (1 << np.arange(num_items))] = np.arange(len(listed))
    return places


@float64
def _draws(built: Any, rows: np.ndarray, members: np.ndarray, number: int, seed: int) -> np.ndarray:
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


def _advantage(losses: np.ndarray) -> Metric:
    """From runs of shape (worlds, targets, trials); the exact likelihood ratio needs no threshold but 1."""
    found, missed = (losses > 0).mean(2)
    meaning = "TPR - FPR of telling the data with the subject from the data without her, the mean over targets."
    return difference_metric("advantage", found - missed, meaning)


def _auc(losses: np.ndarray) -> np.ndarray:
    """Per target, from runs of shape (worlds, targets, trials)."""
    scores = np.concatenate([losses[0], losses[1]], axis=1)
    return auc(scores, np.broadcast_to(np.arange(scores.shape[1]) < losses.shape[2], scores.shape))


def _crowds(built: Any, world: _World, rounds: int, seed: int) -> dict[int, np.ndarray]:
    """The exact limit after one and after all rounds, by how many others are in the data; shape (targets, 2)."""
    users, targets = len(world.rows), world.targets[:CROWD_TARGETS]
    crowds = {}
    for number in [*(each for each in OTHERS if each < users - 1), users - 1]:
        others = _others(np.random.default_rng([seed, 1 + number]), users, targets, number)
        laws = _pair_laws(built, world.rows, targets, others)
        crowds[number] = np.stack([product_advantage(*laws, look) for look in (1, rounds)], axis=1)
    return crowds


def _summary(
    world: _World,
    found: dict[int, Metric],
    limit: float,
    worst: dict[int, float],
    claimed: float,
    rounds: int,
    crowds: dict[int, np.ndarray],
    shown: np.ndarray,
) -> list[str]:
    num, alone = world.rows.shape[1], float(crowds[0][:, 1].mean())
    sentences = [
        f"Somebody who knows everybody's data saw {rounds} recommended sets and said whether one person is in the "
        f"database beside {world.others_each} others: {_right(found[rounds].value)} of the guesses were right, where a "
        f"coin has 50%. In the long run no attacker can have more than {_right(limit)} on these persons.",
        f"With nobody else in the data it could be {_right(alone)}: the crowd protects, which the guarantee does not "
        "count on.",
    ]
    soon = next((look for look, metric in found.items() if metric.value > NOTICEABLE), None)
    if soon is not None:
        sentences.insert(1, f"Three of four guesses were right after {soon} set{'s' * (soon > 1)} already.")
    if math.isfinite(claimed):
        sentences.append(
            f"The privacy that is promised (epsilon {claimed:.3g} for one set, {rounds * claimed:.3g} for {rounds}) "
            f"allows {_right(permitted_advantage(rounds * claimed))}; on no data can an attacker have more than "
            f"{_right(worst[rounds])}."
        )
    else:
        sentences.append("This sampler promises nothing: no number bounds the attacker on other data.")
    number = float(np.mean([code.bit_count() for code in shown.ravel().tolist()]))
    sentences.append(f"A recommended set holds {number:.1f} of the {num} items on average.")
    return sentences


def _right(advantage: float) -> str:
    """The share of right guesses when she is there in half of the cases."""
    return f"{(1 + advantage) / 2:.1%}"


def _by_rounds(
    found: dict[int, Metric], limits: dict[int, np.ndarray], worst: dict[int, float], claimed: float
) -> Table:
    return Table(
        "Advantage by the number of recommendations seen",
        ["recommendations", "attacker", "most of any test", "on any data", "permitted"],
        [
            [
                look,
                metric.cell(),
                f"{limits[look].mean():.3f}",
                f"{worst[look]:.3f}",
                f"{permitted_advantage(look * claimed):.3f}",
            ]
            for look, metric in found.items()
        ],
    )


def _by_crowd(crowds: dict[int, np.ndarray], rounds: int) -> Table:
    return Table(
        "Most of any test, by the number of other users in the data, mean and largest of the targets",
        ["other users", "1 recommendation", "largest", f"{rounds} recommendations", "largest"],
        [
            [
                number,
                *(f"{value:.4f}" for place in (0, 1) for value in (limits[:, place].mean(), limits[:, place].max())),
            ]
            for number, limits in crowds.items()
        ],
    )


def _plots(
    found: dict[int, Metric],
    limits: dict[int, np.ndarray],
    worst: dict[int, float],
    claimed: float,
    crowds: dict[int, np.ndarray],
    rounds: int,
) -> list[Plot]:
    looks, metrics = list(found), list(found.values())
    attacker = Series(
        "attacker",
        looks,
        [metric.value for metric in metrics],
        low=[metric.low for metric in metrics],
        high=[metric.high for metric in metrics],
    )
    lines = {
        "most of any test here": [float(limits[look].mean()) for look in looks],
        "most on any data": [worst[look] for look in looks],
        "permitted by epsilon": [permitted_advantage(look * claimed) for look in looks],
    }
    sizes = [str(number) for number in crowds]
    return [
        Plot(
            "Is she in the data? By recommendations seen",
            "recommendations",
            "advantage (TPR - FPR)",
            [attacker, *(Series(label, looks, line) for label, line in lines.items())],
            x_scale="log",
        ),
        Plot(
            "The crowd's protection: most of any test",
            "other users in the data",
            "advantage (TPR - FPR)",
            [
                Series(label, sizes, [float(limits[:, place].mean()) for limits in crowds.values()])
                for place, label in enumerate(("1 recommendation", f"{rounds} recommendations"))
            ],
        ),
    ]


def _victim(
    built: Any, world: _World, laws: tuple[np.ndarray, np.ndarray], limits: np.ndarray, sets: np.ndarray
) -> dict[str, Any]:
    """The target with the median limit: what the sets of one run with her in the data say."""
    who = int(np.argsort(limits, kind="stable")[len(limits) // 2])
    own, codes, rounds = world.rows[world.targets[who]], sets[who], sets.shape[1]
    table = laws[0][who] - laws[1][who]
    total = table[_places(built, len(own))[codes]].cumsum()
    shown = (codes[:, None] >> np.arange(len(own))) & 1
    rows = [
        [
            number + 1,
            int(shown[number].sum()),
            f"{int(shown[number] @ own)} of {int(own.sum())}",
            f"{100 / (1 + math.exp(-total[number])):.1f}%",
        ]
        for number in sorted({0, 1, 2, 3, *(2**power - 1 for power in range(3, 20)), rounds - 1})
        if number < rounds
    ]
    return {
        "story": [
            f"User A rated {int(own.sum())} of {len(own)} items and is in the data with {world.others_each} others.",
            f"An attacker who holds her presence for an even bet believes in it with {rows[0][3]} after one "
            f"recommended set and with {rows[-1][3]} after {rounds}; no test can do better than an advantage of "
            f"{limits[who]:.3f} over a coin flip on her.",
        ],
        "tables": [
            Table(
                "What the attacker believes about user A",
                ["set", "items shown", "of user A's items", "belief that she is in the data"],
                rows,
            )
        ],
    }


def _privacy(
    head: Metric, limit: float, worst: float, claimed: float, loss: float, rounds: int, tight: bool
) -> list[Privacy]:
    permitted = permitted_advantage(rounds * claimed)
    broken = head.low is not None and head.low > permitted
    says = f"The attacker reached {head.value:.3f}; any test on these users stays within {limit:.3f}"
    if math.isfinite(claimed):
        says += f", the worst data allow {worst:.3f}, and epsilon permits {permitted:.3f}."
    else:
        says += "; no epsilon is claimed."
    if tight:
        says += f" That epsilon is exact: some data attain it; on these the loss is {rounds * loss:.3g}."
    else:
        says += " The loss shown is that on these data; others may have more."
    return [
        Privacy(
            what=f"one subject's row, there or not, after {rounds} recommendation{'s' if rounds > 1 else ''}",
            epsilon_claimed=rounds * claimed,
            epsilon_found=rounds * (claimed if tight else loss),
            advantage=head,
            says=says + (" THIS IS MORE THAN THE GUARANTEE PERMITS." if broken else ""),
        )
    ]


def _repair(built: Any, world: _World, rounds: int) -> dict[str, Any]:
    """The jitter that keeps all recommendations together within an epsilon, and how much it changes them."""
    num = world.rows.shape[1]
    size = getattr(built, "size", None)
    method = "kdpp" if size else "dpp"
    gram = (world.rows.T @ world.rows)[None]

    def law(jitter: float) -> np.ndarray:
        other = mechanism(method, jitter=jitter, **({"size": size} if size else {}))
        return log_laws(other, gram + jitter * np.eye(num))[0]

    plain = law(PLAIN_JITTER)
    rows = []
    for total in (0.1, 0.5, 1.0, 2.0, 5.0):
        fit = _mechanism(method, total / rounds, None, num, size or 1)
        changed = 0.5 * np.abs(np.exp(law(fit.jitter)) - np.exp(plain)).sum()
        rows.append(
            [
                f"{total:g}",
                f"{total / rounds:.4g}",
                f"{fit.jitter:.4g}",
                f"{permitted_advantage(total):.3f}",
                f"{_worst(fit, total / rounds, rounds):.3f}",
                f"{changed:.1%}",
            ]
        )
    price = next(row[-1] for row in rows if row[0] == "1")
    return {
        "text": f"Choose the jitter for all {rounds} recommendations together, or draw one set and show it again until "
        "the budget allows another: the epsilons of fresh sets add up exactly.\nThe price is that jitter drowns the "
        f"differences between items. For epsilon 1 in all, {price} of the sets that would be recommended without "
        "jitter become others.",
        "tables": [
            Table(
                f"Jitter for {rounds} recommendations by {method}, all users of these data",
                [
                    "epsilon in all",
                    "epsilon each",
                    "jitter",
                    "permitted advantage",
                    "most on any data",
                    "sets changed",
                ],
                rows,
            )
        ],
    }
