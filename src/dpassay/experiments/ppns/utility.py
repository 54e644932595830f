"""What the repaired, truly private neighbor selections cost in accuracy.

Protocol: folds; similarities, selections and neighbors' ratings come from the other folds; every other user is a
candidate. What is private is the released neighbor set, at the stated epsilon for the whole set of one target user,
when one rating of one user is added, removed or changed. The prediction that is then made from the neighbors' ratings
is not covered by that epsilon, here as in the paper: it is the same for all methods, which differ by their neighbors
only.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpassay.core.progress import told
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.ppns.neighborhood import (
    Protocol,
    folds,
    mean_absolute_error,
    predict_from_sets,
    similarities,
    user_means,
)
from dpassay.mechanisms.batched_users import (
    Block,
    NearestNeighbors,
    PartitionedNeighbors,
    Selection,
    TruncatedNeighbors,
    WeightedNeighbors,
    exponential_scale,
    noisy_partitions,
)
from dpassay.mechanisms.npns import FloorNormSelection, Protect
from dpassay.mechanisms.ppns import NoisyPartitionedSelection
from dpassay.mechanisms.similarity import floor_norm_cosine_matrix

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
FLOORS = (20.0, 40.0, 80.0)
FLOOR = 40.0
"""The floor shown for the other comparisons; the sweep over `FLOORS` is reported beside it."""
FOLDS = 5
RHO, PROBABILITY = 0.5, 0.5


@dataclass(frozen=True)
class Accuracy:
    """One method's accuracy on held-out ratings.

    Attributes:
        method: what it is.
        epsilon: privacy of the released neighbor set, nats; infinity when it has none, 0 when no data are used.
        norm_floor: c of the floor-norm cosine; None for a method without one.
        num_neighbors: k.
        error: MAE of equation (6) over random trials, pairs that no neighbor rated skipped.
        centered_error: the same with mean-centered ratings.
        covered: share of all ratings that a chosen neighbor rated.
        complete_error: MAE of the mean-centered prediction over all ratings, the user's mean where no neighbor rated.
    """

    method: str
    epsilon: float
    norm_floor: float | None
    num_neighbors: int
    error: float
    centered_error: float
    covered: float
    complete_error: float


def repaired_utility(
    ratings: Ratings,
    epsilons: tuple[float, ...] = EPSILONS,
    floors: tuple[float, ...] = FLOORS,
    num_neighbors: int = 50,
    draws: int = 2,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Accuracy]:
    """Accuracy of the private selections, and of kNN, PPNS and PNCF at the same epsilon.

    The ratings are split into 5 folds. Epsilons, nats, are for the whole neighbor set, `floors` are c of the floor-norm
    cosine, and errors are averaged over `draws` neighbor sets per user and fold.
    """
    plan = methods(epsilons, floors)
    said = told(plan, progress, lambda each: each.text)
    return [accuracy(ratings, each, num_neighbors, draws, seed) for each in said]


class Method(NamedTuple):
    """A way to choose neighbors: its name, its epsilon and c as `Accuracy` has them, and how sets are drawn by it."""

    name: str
    epsilon: float
    norm_floor: float | None
    sets: tuple[Any, ...]

    @property
    def text(self) -> str:
        """What is said when its turn comes."""
        return f"repaired selection: {self.name}, epsilon {self.epsilon:g}"


def methods(epsilons: tuple[float, ...], floors: tuple[float, ...]) -> list[Method]:
    """All that `repaired_utility` measures."""
    best = FLOOR if FLOOR in floors else floors[-1]
    plan = [
        Method("kNN, co-rated cosine", math.inf, None, ("nearest", None)),
        *(Method("kNN, floor-norm cosine", math.inf, c, ("nearest", c)) for c in floors),
        Method("uniform", 0.0, None, ("uniform",)),
    ]
    for e in epsilons:
        plan += [
            Method("PNCF as published (not DP)", e, None, ("pncf", e)),
            Method("PPNS as published (not DP)", e, None, ("ppns", e)),
            *(Method("nPNS repaired", e, c, ("floor", e, c, "everyone")) for c in floors),
            Method("nPNS repaired, target's own row fixed", e, best, ("floor", e, best, "candidates")),
            Method("PPNS repaired", e, best, ("noisy", e, best)),
        ]
    return plan


def accuracy(ratings: Ratings, method: Method, num_neighbors: int, draws: int, seed: int) -> Accuracy:
    """One method's accuracy; see `repaired_utility`."""
    found = errors(ratings, method.sets, num_neighbors, draws, seed)
    plain, centered, complete = (
        np.mean([mean_absolute_error(draw, ratings.users) for draw in each]).item() for each in found
    )
    covered = float(np.mean(~np.isnan(found[0])))
    return Accuracy(method.name, method.epsilon, method.norm_floor, num_neighbors, plain, centered, covered, complete)


def utility_tables(results: list[Accuracy], name: str) -> tuple[Table, ...]:
    """The accuracies as one table."""
    cells: dict[str, Callable[[Accuracy], Any]] = {
        "method": lambda each: each.method,
        "epsilon of the set": lambda each: "none" if each.epsilon == math.inf else f"{each.epsilon:g}",
        "c": lambda each: "-" if each.norm_floor is None else f"{each.norm_floor:g}",
        "k": lambda each: each.num_neighbors,
        "MAE, eq. 6": lambda each: f"{each.error:.4f}",
        "MAE, mean-centered": lambda each: f"{each.centered_error:.4f}",
        "covered": lambda each: f"{each.covered:.0%}",
        "MAE, all ratings": lambda each: f"{each.complete_error:.4f}",
    }
    return (Table.of(f"Accuracy of private neighbor selection on {name}, held out", cells, results),)


@functools.lru_cache(maxsize=256)
def errors(
    ratings: Ratings, sets: tuple[Any, ...], num_neighbors: int, draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Absolute errors of eq. (6), of the mean-centered prediction, and of that with the user's mean in its gaps.

    Each of shape (draws, ratings), NaN where there is no prediction.
    """
    draws = 1 if sets[0] == "nearest" else draws
    plain, centered, complete = (np.full((draws, len(ratings)), np.nan, np.float32) for _ in range(3))
    for number, (train, test) in enumerate(folds(ratings, FOLDS, seed)):
        users, items, values = ratings.users[test], ratings.items[test], ratings.values[test]
        weights, means = similarities(train, Protocol()), user_means(train)
        for draw in range(draws):
            chosen = _sets(train, sets, num_neighbors, np.random.default_rng([seed, draw, number]))
            kept = np.where(chosen, weights, 0.0)
            plain[draw, test] = np.abs(predict_from_sets(train, users, items, kept) - values)
            prediction = predict_from_sets(train, users, items, kept, centered=True)
            centered[draw, test] = np.abs(prediction - values)
            complete[draw, test] = np.abs(np.where(np.isnan(prediction), means[users], prediction) - values)
    return plain, centered, complete


def _sets(train: Ratings, sets: tuple[Any, ...], k: int, generator: np.random.Generator) -> np.ndarray:
    """One neighbor set per user by the method `sets` names, bool, shape (users, users)."""
    selection: Selection
    match sets:
        case ("nearest", floor):
            scores, selection = _scores(train, floor), NearestNeighbors(k)
        case ("uniform",):
            scores, selection = _scores(train, None), WeightedNeighbors(k)
        case ("pncf", epsilon):
            scores, selection = _scores(train, None), TruncatedNeighbors(k, RHO, exponential_scale(k, epsilon, 1.0))
        case ("ppns", epsilon):
            scores = _scores(train, None)
            selection = PartitionedNeighbors(k, PROBABILITY, scale=exponential_scale(k, epsilon, 1.0))
        case ("floor", epsilon, floor, protect):
            scores, selection = _scores(train, floor), _floor_norm(train, k, epsilon, floor, protect)
        case ("noisy", epsilon, floor):
            scores, selection = _noisy(train, k, epsilon, floor, generator)
        case _:
            raise ValueError(f"unknown method {sets!r}")
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    return selection(Block(np.arange(len(scores)), scores), generator)


def _floor_norm(train: Ratings, k: int, epsilon: float, floor: float, protect: Protect) -> WeightedNeighbors:
    mechanism = FloorNormSelection(k, epsilon=epsilon, norm_floor=floor, max_rating=train.scale[1], protect=protect)
    sides = 2 if protect == "everyone" else 1
    return WeightedNeighbors(k, epsilon / (sides * k * mechanism.global_sensitivity))


def _noisy(
    train: Ratings, k: int, epsilon: float, floor: float, generator: np.random.Generator
) -> tuple[np.ndarray, PartitionedNeighbors]:
    mechanism = NoisyPartitionedSelection(k, epsilon=epsilon, norm_floor=floor, max_rating=train.scale[1])
    bound = mechanism.global_sensitivity
    noise = bound / epsilon * (train.num_users - 1)
    return noisy_partitions(_scores(train, floor), k, PROBABILITY, epsilon, bound, noise, generator)


@functools.lru_cache(maxsize=64)
def _scores(train: Ratings, floor: float | None) -> np.ndarray:
    """The paper's cosine, or the floor-norm cosine, of all pairs of users."""
    if floor is None:
        return similarities(train, Protocol())
    return np.asarray(floor_norm_cosine_matrix(train, norm_floor=floor, max_rating=train.scale[1]))
