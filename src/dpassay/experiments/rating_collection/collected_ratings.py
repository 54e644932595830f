"""What a collector makes of perturbed ratings, and how far off it is (Zheng, sec. 3); in stars, 1 to 5.

The modified Laplace mechanism works on (rating - 3)/2. Errors are those of predictions, clipped to the scale, on
held-out ratings. Theta, the true ratings, are unknown on real data: the completion of the clean ratings, clipped to the
scale, stands for them where rho, the bounds and ||Theta^ - Theta||_F need them.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpassay.experiments.rating_collection.bounds import Shape, excess
from dpassay.mechanisms import NuclearNormCompletion, mechanism

PENALTIES = (10.0, 12.5, 15.0, 20.0)
MECHANISMS = ("modified_laplace", "randomized_response")
METHODS = {
    "constrained": "completion (4), rho as in (3)",
    "penalized": "completion, penalty from rho",
    "transplanted": "completion, penalty of clean data",
    "debiased": "debiased completion",
    "mean": "mean of the released ratings",
    "item_mean": "item means of the released ratings",
    "debiased_item_mean": "debiased item means",
}
STARS, MIDDLE = 5, 3.0
_SOLVER: dict[str, Any] = {"tolerance": 2e-3, "precision": "single"}


def known_truth(seed: int, num_users: int = 120, num_items: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Observed ratings, NaN where missing, and the true ones of rank 3, both of shape (users, items), in stars.

    Two fifths of the cells are observed, at random, as the true rating plus noise of deviation 0.5, rounded to a star.
    """
    generator = np.random.default_rng([seed, 1])
    users, items = generator.uniform(-1, 1, (num_users, 2)), generator.uniform(-1, 1, (num_items, 2))
    truth = MIDDLE + users @ items.T  # within 1 and 5
    stars = np.clip(np.round(truth + 0.5 * generator.normal(size=truth.shape)), 1, STARS)
    return np.where(generator.random(truth.shape) < 0.4, stars, np.nan), truth


def perturbed(id: str, variant: str, epsilon: float, matrix: np.ndarray, seed: int) -> np.ndarray:
    """What the collector gets, shape (users, items), in stars, NaN where missing.

    `id` is `modified_laplace` or `randomized_response`, epsilon in nats per entry, the seed that of the users' coins;
    the matrix is in stars, too.
    """
    built = mechanism(id, variant=variant, epsilon=epsilon)
    key = jax.random.key(seed)
    if id == "modified_laplace":
        return MIDDLE + 2 * np.asarray(built.sample(key, (matrix - MIDDLE) / 2))
    symbols = np.asarray(built.sample(key, matrix), float)
    return np.where(symbols == 0, np.nan, symbols)


@dataclass(frozen=True, eq=False)
class Collection:
    """The ratings of one seed, a tenth of them held out; what is computed of them is, once a run needs it.

    Attributes:
        matrix: in stars, NaN where missing, shape (users, items).
        truth: the true ratings, where they are known, same shape.
        seed: of what is held out, and of the users' coins.
        transplant: whether every release is completed with the penalty of the clean data too, whose many singular
            values take most of the time.
    """

    matrix: np.ndarray
    truth: np.ndarray | None
    seed: int
    transplant: bool

    @functools.cached_property
    def parts(self) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """What is left of the matrix, shape (users, items), and the places of what is held out."""
        return _hold_out(self.matrix, [self.seed, 2])

    @functools.cached_property
    def penalty(self) -> float:
        """Of the completion of the clean ratings."""
        return _chosen_penalty(self.parts[0], self.seed)

    @functools.cached_property
    def theta(self) -> np.ndarray:
        """The true ratings or what stands for them, shape (users, items)."""
        if self.truth is not None:
            return self.truth
        done = NuclearNormCompletion(penalty=self.penalty, center=True, **_SOLVER).complete(self.parts[0])
        return np.clip(np.asarray(done.matrix, float), 1, STARS)

    def clean(self) -> dict[str, Any]:
        """The record of the ratings as they are."""
        return self._measured(self.parts[0], (1.0, 1.0, 0.0), math.inf, 0.0)

    def released(self, id: str, variant: str, epsilon: float) -> dict[str, Any]:
        """The record of one release, see `perturbed`."""
        train, _ = self.parts
        release = perturbed(id, variant, epsilon, train, self.seed)
        return self._measured(release, coefficients_of(id, epsilon), epsilon, _noise_bound(id, epsilon, train))

    def _measured(
        self, release: np.ndarray, coefficients: tuple[float, ...], epsilon: float, noise: float
    ) -> dict[str, Any]:
        """One record: the release against the bound, to which noise adds, and every method's errors."""
        (train, held), (users, items) = self.parts, release.shape
        bound = float(np.sqrt(np.nansum((train - self.theta) ** 2))) + noise
        share = float(np.mean(~np.isnan(release)))
        rho = float(np.sqrt(np.nansum((release - self.theta) ** 2)))
        spread = 1 / math.sqrt(users) + 1 / math.sqrt(items)
        solver = functools.partial(NuclearNormCompletion, center=True, **_SOLVER)
        completions = {
            "constrained": solver(radius=rho).complete(release),
            "penalized": solver(penalty=rho * spread).complete(release),
        }
        if self.transplant or math.isinf(epsilon):
            completions["transplanted"] = solver(penalty=self.penalty).complete(release)
        predictions = {name: np.asarray(done.matrix, float) for name, done in completions.items()}
        predictions["mean"] = np.full_like(release, np.nanmean(release))
        predictions["item_mean"] = np.broadcast_to(_item_means(release), release.shape)
        predictions |= debiased(release, coefficients)
        record: dict[str, Any] = {
            "user_epsilon": None if math.isinf(epsilon) else items * epsilon,
            "share_released": share,
            "rho": rho,
            "bound": bound,
            "bound_on_error": bound / math.sqrt(share),
            "clean_penalty": self.penalty,
        }
        for name, done in completions.items():
            record[f"{name}_penalty"] = float(done.penalty)
            record[f"{name}_rank"] = int(np.sum(np.asarray(done.singular_values) > 0))
        for name, prediction in predictions.items():
            estimate = np.clip(prediction, 1, STARS)
            error = estimate[held] - self.matrix[held]
            record[f"{name}_rmse"] = float(np.sqrt(np.mean(error**2)))
            record[f"{name}_mae"] = float(np.mean(np.abs(error)))
            record[f"{name}_frobenius"] = float(np.linalg.norm(estimate - self.theta))
        return record


def _hold_out(matrix: np.ndarray, seeds: list[int]) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """The matrix without a tenth of its entries, and their places."""
    cells = np.argwhere(~np.isnan(matrix))
    held = tuple(np.random.default_rng(seeds).permutation(cells)[: len(cells) // 10].T)
    rest = matrix.copy()
    rest[held] = np.nan
    return rest, held


def _chosen_penalty(train: np.ndarray, seed: int) -> float:
    """Of `PENALTIES`, scaled from MovieLens 100K's shape to this one, the best on a tenth of the training ratings."""
    rest, held = _hold_out(train, [seed, 3])
    typical = (math.sqrt(train.shape[0]) + math.sqrt(train.shape[1])) * math.sqrt(np.mean(~np.isnan(train)))
    unit = typical / ((math.sqrt(943) + math.sqrt(1682)) * math.sqrt(0.9 * 100_000 / (943 * 1682)))

    def error(penalty: float) -> float:
        done = NuclearNormCompletion(penalty=penalty, center=True, **_SOLVER).complete(rest)
        return float(np.mean((np.clip(np.asarray(done.matrix)[held], 1, STARS) - train[held]) ** 2))

    return min((unit * penalty for penalty in PENALTIES), key=error)


def _item_means(release: np.ndarray) -> np.ndarray:
    """Per item, shape (items,), the mean of the released ratings; the overall one where there are none."""
    counts = np.sum(~np.isnan(release), axis=0)
    return np.where(counts > 0, np.nansum(release, axis=0) / np.maximum(counts, 1), np.nanmean(release))


def coefficients_of(id: str, epsilon: float) -> tuple[float, float, float]:
    """alpha, beta, gamma: E[(z - 3) 1{z is a number}] = alpha (x - 3) for a rating x, the chance of a number from a
    rating, and from a missing entry. Both mechanisms create ratings with mean 3.
    """
    if id == "modified_laplace":
        keep = 1 / (1 + math.exp(-epsilon / 2))
        return keep, keep, 1 - keep
    keep = 1 / (1 + STARS * math.exp(-epsilon))
    other = (1 - keep) / STARS
    return keep - other, keep + (STARS - 1) * other, STARS * other


def debiased(release: np.ndarray, coefficients: tuple[float, ...]) -> dict[str, np.ndarray]:
    """What a collector gets from the same release who knows the mechanism's law; post-processing, at no privacy.

    (z - 3)/alpha on numbers and (1{number} - gamma)/(beta - gamma) have the means (x - 3) 1{rated} and 1{rated}. Their
    sums give means of items and counts of users and items, each shrunk by its share of signal. A released number is
    genuine with a chance that the counts estimate; a is what it keeps of x - 3 in the mean, so 3 + (z - 3)/a has the
    mean x, and the weight a^2 in the completion makes the noise of all cells alike. At eps -> infinity, a = 1.

    The release is in stars, NaN where missing, shape (users, items); the coefficients are alpha, beta, gamma.

    Returns:
        "debiased_item_mean" and "debiased", shape (users, items).
    """
    alpha, beta, gamma = coefficients
    users, items = release.shape
    number = ~np.isnan(release)
    value = np.where(number, release - MIDDLE, 0.0) / alpha
    rated = (number - gamma) / (beta - gamma)

    noise = gamma * (1 - gamma) / (beta - gamma) ** 2  # variance of `rated` at a missing entry

    def shrunk(total: Any, count: Any, cells: int, variance: float, prior: float) -> Any:
        """Best linear estimate of a mean from a noisy total and count, for means of the given variance around 0."""
        count = np.maximum(count, 0.0)
        return prior * count * total / (prior * (count**2 + cells * noise) + cells * variance + 1e-12)

    def counts(axis: int) -> np.ndarray:
        raw = rated.sum(axis=axis)
        signal = max(0.0, 1 - rated.shape[axis] * noise / max(raw.var(), 1e-12))
        return np.maximum(raw.mean() + signal * (raw - raw.mean()), 0.0)

    middle = shrunk(value.sum(), rated.sum(), release.size, float(np.mean(value**2)), 1.0)
    centered = value - middle * rated
    offsets = middle + shrunk(centered.sum(axis=0), counts(0), users, float(np.mean(centered**2)), 0.25)
    means = np.broadcast_to(np.clip(MIDDLE + offsets, 1, STARS), release.shape)
    if gamma > 0:
        by_item, by_user = counts(0), counts(1)
        chance = np.outer(by_user, by_item) / max(by_item.sum(), 1.0)
        chance = np.clip(chance, 0.1 * by_item.sum() / release.size, 1.0)
        part = chance * alpha / (chance * beta + (1 - chance) * gamma)
    else:
        part = np.ones_like(release)
    if not part.max() > 0:
        return {"debiased_item_mean": means, "debiased": means}
    part = np.maximum(part, 1e-6)
    target = np.where(number, (release - MIDDLE) / part + MIDDLE - means, np.nan)
    # The spectral norm that independent noise of this Frobenius norm has: nothing below it is told from noise.
    penalty = math.sqrt(np.nansum((part * target) ** 2)) * (1 / math.sqrt(users) + 1 / math.sqrt(items))
    done = NuclearNormCompletion(penalty=penalty, **_SOLVER).complete(target, part**2)
    return {"debiased_item_mean": means, "debiased": means + np.asarray(done.matrix, float)}


def _noise_bound(id: str, epsilon: float, train: np.ndarray) -> float:
    """What (6) or (7) adds to rho0 sqrt(s) at failure probability GAMMA, in stars."""
    shape = Shape(train.size, int(np.sum(~np.isnan(train))), 1.0, 30.0, "")
    if id == "modified_laplace":
        return 2 * excess("laplace", epsilon, shape)[0]  # a unit of [-1, 1] is two stars
    return excess("response", min(epsilon, 700.0), shape)[0]
