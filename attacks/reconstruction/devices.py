"""What a user's device sends to a collector of ratings, for many entries at once.

Samplers and likelihoods are those of `dpassay.mechanisms` in NumPy, for speed; the tests compare the laws. A symbol is
0 for missing and v = 1..d for the v-th level of the rating scale.
"""

import abc
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from dpassay.attacks.settings import registered
from dpassay.mechanisms import DiscreteModifiedLaplace, ModifiedLaplace, mechanism
from dpassay.mechanisms.modified_laplace import rescaled

LATTICE = 2000  # steps per unit of the coin's log-odds when a continuous loss is rounded up


class AbstractDevice(abc.ABC):
    """What a user's device sends for one entry, as arrays of entries.

    Attributes:
        num_levels: d.
    """

    num_levels: int

    @abc.abstractmethod
    def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
        """One fresh answer per entry, in the symbols' shape; what it means is the device's, NaN or 0 is missing."""

    @abc.abstractmethod
    def log_likelihoods(self, answers: np.ndarray) -> np.ndarray:
        """Log-law of each answer given every symbol, nats, shape (*answers, d + 1)."""

    @abc.abstractmethod
    def losses(self, symbol: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Privacy loss of the answer to a rated `symbol` against a missing entry.

        Returns:
            Losses in nats (none below the true one) with their probabilities under `symbol`, shape (outcomes,) each,
            and the step of a lattice that holds them.
        """

    @abc.abstractmethod
    def answered(self) -> tuple[float, float]:
        """Probabilities that the answer is a rating: of a rated entry, and of a missing one."""

    @abc.abstractmethod
    def shown(self, answer: float, levels: np.ndarray) -> str:
        """An answer for a reader, on the rating scale; levels of shape (d,)."""


@final
@dataclass(frozen=True)
class _Laplace(AbstractDevice):
    """Definition 2, and its exact version on a grid.

    Attributes:
        positions: of the levels, shape (d,), ratings in [-1, 1] or grid steps.
        scale: of the noise, in the same unit.
        coin: log-odds that an entry stays rated or missing.
        discrete: positions and noise are integers.
        unit: positions per unit of [-1, 1].
    """

    positions: np.ndarray
    scale: float
    coin: float
    discrete: bool
    unit: float

    @property
    def num_levels(self) -> int:  # type: ignore[override]
        return len(self.positions)

    def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
        if self.discrete:
            stop = -math.expm1(-1 / self.scale)  # the difference of two geometric numbers is discrete Laplace
            noise = (generator.geometric(stop, symbols.shape) - generator.geometric(stop, symbols.shape)).astype(float)
        else:
            noise = generator.laplace(0.0, self.scale, symbols.shape)
        keep = generator.random(symbols.shape) < 1 / (1 + math.exp(-self.coin))
        centers = np.concatenate([[0.0], self.positions])[symbols]
        return np.where(keep == (symbols > 0), centers + noise, np.nan)

    def log_likelihoods(self, answers: np.ndarray) -> np.ndarray:
        missing = np.isnan(answers)
        values = np.where(missing, 0.0, answers)
        keep = -math.log1p(math.exp(-self.coin))
        turn = keep - self.coin
        norm = math.log(math.tanh(0.5 / self.scale)) if self.discrete else -math.log(2 * self.scale)
        logs = np.empty((*answers.shape, self.num_levels + 1))
        logs[..., 0] = np.where(missing, keep, turn + norm - np.abs(values) / self.scale)
        for level, position in enumerate(self.positions, 1):
            logs[..., level] = np.where(missing, turn, keep + norm - np.abs(values - position) / self.scale)
        return logs

    def losses(self, symbol: int) -> tuple[np.ndarray, np.ndarray, float]:
        # By symmetry at x = |position|. The loss of a number y is coin + (|y| - |y - x|) / scale: constant outside
        # (0, x), rising between.
        keep, distance = 1 / (1 + math.exp(-self.coin)), abs(float(self.positions[symbol - 1]))
        if self.discrete:
            points, step = np.arange(distance + 1), 1 / self.scale
            inner = keep * math.tanh(0.5 / self.scale) * np.exp((points - distance) / self.scale)
            ratio = math.exp(-1 / self.scale)
            inner[0] = keep * math.exp(-distance / self.scale) / (1 + ratio)
            inner[-1] = keep / (1 + ratio)
            if distance == 0:
                inner = np.array([keep])
        else:
            # Cells of the loss (of y), each rounded up to its upper end; the last holds everything above x.
            points, step = np.linspace(0, distance, 2 * LATTICE + 1), self.coin / LATTICE
            below = 0.5 * np.exp((points - distance) / self.scale)
            inner = keep * np.diff(np.concatenate([[0.0], below]))
            inner[-1] += keep * 0.5
            if distance == 0:
                points, inner = np.zeros(1), np.array([keep])
        losses = np.concatenate([[-self.coin], self.coin + (2 * points - distance) / self.scale])
        return losses, np.concatenate([[1 - keep], inner]), step

    def answered(self) -> tuple[float, float]:
        keep = 1 / (1 + math.exp(-self.coin))
        return keep, 1 - keep

    def shown(self, answer: float, levels: np.ndarray) -> str:
        if math.isnan(answer):
            return "not rated"
        low, high = levels[0], levels[-1]
        return f"{(low + high) / 2 + answer / self.unit * (high - low) / 2:.1f}"


@final
@dataclass(frozen=True)
class _Response(AbstractDevice):
    """Definition 3: log-probabilities that a symbol is kept, and that one particular other is sent."""

    num_levels: int
    log_keep: float
    log_other: float

    def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
        shifts = generator.integers(1, self.num_levels + 1, symbols.shape, dtype=np.int16)
        shifts[generator.random(symbols.shape) < math.exp(self.log_keep)] = 0
        return np.asarray((symbols + shifts) % (self.num_levels + 1))

    def log_likelihoods(self, answers: np.ndarray) -> np.ndarray:
        return np.where(answers[..., None] == np.arange(self.num_levels + 1), self.log_keep, self.log_other)

    def losses(self, symbol: int) -> tuple[np.ndarray, np.ndarray, float]:
        epsilon, other = self.log_keep - self.log_other, math.exp(self.log_other)
        chances = np.array([other, (self.num_levels - 1) * other, math.exp(self.log_keep)])
        return epsilon * np.array([-1.0, 0.0, 1.0]), chances, epsilon

    def answered(self) -> tuple[float, float]:
        other = math.exp(self.log_other)
        return 1 - other, self.num_levels * other

    def shown(self, answer: float, levels: np.ndarray) -> str:
        return "not rated" if answer == 0 else f"{levels[int(answer) - 1]:g}"


def built_mechanism(method: str, epsilon: float, num_levels: int) -> Any:
    """The registered mechanism of a method; see `device`."""
    id, variant = registered(method)
    own = {"num_ratings": num_levels} if id == "randomized_response" else {}
    return mechanism(id, variant, epsilon=epsilon, **own)


def device(method: str, epsilon: float, levels: np.ndarray) -> AbstractDevice:
    """The device of a method.

    Args:
        method: see `ReconstructionSettings`.
        epsilon: nats, for one entry.
        levels: the rating scale, ascending, shape (d,).

    Raises:
        InvalidInput: no such mechanism, or an epsilon that the mechanism does not allow.
    """
    built = built_mechanism(method, epsilon, len(levels))
    if isinstance(built, ModifiedLaplace | DiscreteModifiedLaplace):
        scale = (float(levels[0]), float(levels[-1]))
        centers = rescaled(levels, scale) if scale[0] < scale[1] else np.zeros(1)
        if isinstance(built, DiscreteModifiedLaplace):
            steps = built.steps
            return _Laplace(np.round(centers * steps), built.scale, steps / built.scale, True, steps)
        return _Laplace(centers, built.scale, epsilon / 2, False, 1.0)
    keep, other = (float(built.log_prob(np.array([answer]), np.array([1]))) for answer in (1, 0))
    return _Response(len(levels), keep, other)
