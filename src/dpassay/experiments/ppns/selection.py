"""Neighbor selections of many targets at once, for accuracy experiments.

The mechanisms (`dpassay.mechanisms`) select for one target, with an exact law; an experiment needs the same selections
for hundreds of thousands of rows. Here a block holds one row per selection. Its columns are the possible neighbors in
tie order: of equal similarities the earlier column comes first.

A weighted draw of k without replacement takes the k smallest of Exp(1) / weight, which has the law (7) of Lu and Shen.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.ppns import Rule, partition_quotas

__all__ = [
    "Block",
    "NearestNeighbors",
    "PartitionedNeighbors",
    "Selection",
    "TopWeighted",
    "TruncatedNeighbors",
    "WeightedNeighbors",
    "descending",
    "exponential_scale",
    "noisy_partitions",
    "smallest",
    "truncation_width",
]

NO_CANDIDATE = 3 << 61  # above 2^62, the key of similarity -1, with room for a column number


class Block(NamedTuple):
    """Rows to select neighbors for.

    Attributes:
        targets: the target user of each row, shape (rows,).
        scores: similarities, shape (rows, columns); -inf where a column is no candidate of the row's target.
    """

    targets: np.ndarray
    scores: np.ndarray


class Selection(Protocol):
    """How neighbors are chosen."""

    def __call__(self, block: Block, generator: np.random.Generator) -> np.ndarray:
        """Which columns are chosen, bool, shape (rows, columns)."""

    def __hash__(self) -> int:
        """Results are kept by selection."""


@dataclass(frozen=True)
class NearestNeighbors:
    """The k candidates of largest similarity."""

    num_neighbors: int

    def __call__(self, block: Block, generator: np.random.Generator) -> np.ndarray:
        """See `Selection`."""
        return smallest(descending(block.scores), self.num_neighbors)


@dataclass(frozen=True)
class WeightedNeighbors:
    """k of all candidates, drawn by weight without replacement.

    Attributes:
        scale: a candidate of similarity s has weight exp(scale s); one number, or one per target user. None: weight s,
            and candidates without positive similarity are never drawn.
    """

    num_neighbors: int
    scale: float | tuple[float, ...] | None = 0.0

    def __call__(self, block: Block, generator: np.random.Generator) -> np.ndarray:
        """See `Selection`."""
        return smallest(_races(block, self.scale, generator), self.num_neighbors)


@dataclass(frozen=True)
class TopWeighted:
    """k of the `num_candidates` most similar candidates, drawn by weight exp(scale s)."""

    num_neighbors: int
    num_candidates: int
    scale: float | tuple[float, ...] | None = 0.0

    def __call__(self, block: Block, generator: np.random.Generator) -> np.ndarray:
        """See `Selection`."""
        near = smallest(descending(block.scores), self.num_candidates)
        return smallest(np.where(near, _races(block, self.scale, generator), np.inf), self.num_neighbors)


@dataclass(frozen=True)
class TruncatedNeighbors:
    """PNCF: above sim_k + lambda surely, below sim_k - lambda never, the rest of the k drawn by weight in between.

    lambda = min(sim_k, (4k RS / eps) ln(k(n-k) / rho)), sim_k the k-th largest similarity, n the number of candidates.

    Attributes:
        scale: eps / (4k RS), one number or one per target user; 0 stands for an infinite RS.
    """

    num_neighbors: int
    rho: float
    scale: float | tuple[float, ...] = 0.0

    def __call__(self, block: Block, generator: np.random.Generator) -> np.ndarray:
        """See `Selection`."""
        k = self.num_neighbors
        candidates = np.isfinite(block.scores).sum(1)
        if block.scores.shape[1] <= k:
            return np.isfinite(block.scores)
        kth = -np.partition(-block.scores, k - 1, axis=1)[:, k - 1]
        width = np.minimum(kth, truncation_width(k, candidates, self.rho, _per_row(self.scale, block)[:, 0]))
        everyone = candidates <= k
        sure = (block.scores > (kth + width)[:, None]) & ~everyone[:, None]
        never = (block.scores < (kth - width)[:, None]) & ~everyone[:, None]
        races = np.where(never, np.inf, _races(block, self.scale, generator))
        return smallest(np.where(sure, -np.inf, races), k)


@dataclass(frozen=True)
class PartitionedNeighbors:
    """PPNS: the quotas of `dpassay.mechanisms.ppns.partition_quotas` from partitions of k, drawn by weight.

    Under the rule "algorithm" the last neighbor is drawn from all partitions that were not visited. Where candidates
    run out, as many are chosen as there are.

    Attributes:
        scale: a candidate of similarity s has weight exp(scale s); one number, or one per target user.
    """

    num_neighbors: int
    probability: float
    rule: Rule = "algorithm"
    scale: float | tuple[float, ...] = 0.0

    def __call__(self, block: Block, generator: np.random.Generator) -> np.ndarray:
        """See `Selection`."""
        k, (rows, columns) = self.num_neighbors, block.scores.shape
        quotas = partition_quotas(k, self.probability, self.rule)
        order = np.sort(descending(block.scores), axis=1) & _column_mask(columns)
        races = np.take_along_axis(_races(block, self.scale, generator), order, 1)
        chosen = np.zeros((rows, columns), bool)
        for start, quota in zip(range(0, columns, k), quotas, strict=False):
            chosen[:, start : start + k] = smallest(races[:, start : start + k], quota)
        if self.rule == "algorithm":
            rest = slice(len(quotas) * k, None)
            chosen[:, rest] = smallest(races[:, rest], 1)
        result = np.empty_like(chosen)
        np.put_along_axis(result, order, chosen, 1)
        return result


def smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Which entries are among the `count` smallest of their row; never those of no candidate.

    Equal entries at the bound are all taken: use it on `descending` scores or on continuous random numbers.
    """
    possible = values < (np.inf if values.dtype.kind == "f" else NO_CANDIDATE)
    if count >= values.shape[1]:
        return possible
    bound = np.partition(values, count - 1, axis=1)[:, count - 1 : count]
    return (values <= bound) & possible


def descending(scores: np.ndarray) -> np.ndarray:
    """Distinct int64 keys, ascending where scores descend and, at equal scores, where the column number ascends.

    The low bits hold the column, the others the score in steps of 2^-52 for up to 1024 columns (a double in [1/2, 1] is
    not rounded at all), 2^-42 for a million. Scores lie in [-1, 1]; -inf gets a key of at least `NO_CANDIDATE`.
    """
    columns = scores.shape[1]
    bits = int(_column_mask(columns)).bit_length()
    possible = scores > -np.inf
    steps = np.rint(np.where(possible, scores, 0.0) * -(2.0 ** (62 - bits))).astype(np.int64)
    return np.where(possible, steps << bits, NO_CANDIDATE) + np.arange(columns)


def exponential_scale(num_neighbors: int, epsilon: float, sensitivity: float) -> float:
    """eps / (4k RS), the exponent of (1) per unit of similarity; 0 where RS is infinite or 0."""
    if not epsilon > 0:
        raise InvalidInput(f"epsilon is {epsilon}; it must be > 0")
    return epsilon / (4 * num_neighbors * sensitivity) if 0 < sensitivity < np.inf else 0.0


def noisy_partitions(
    similarity: np.ndarray,
    num_neighbors: int,
    probability: float,
    epsilon: float,
    bound: float,
    noise: float,
    generator: np.random.Generator,
) -> tuple[np.ndarray, PartitionedNeighbors]:
    """All rows of the repaired PPNS at once: noisy similarities, and the partitions over them.

    The similarities are scaled into [-1, 1], which changes neither order nor law.

    Args:
        similarity: shape (rows, candidates).
        num_neighbors: k.
        probability: p.
        epsilon: nats, of the selection; all after the noise is post-processing.
        bound: global sensitivity of one similarity.
        noise: scale of the Laplace noise on every similarity.
        generator: of the noise.
    """
    scores = similarity + generator.laplace(scale=noise, size=similarity.shape)
    largest = float(np.abs(scores).max())
    scale = largest * epsilon / (4 * num_neighbors * bound)
    return scores / largest, PartitionedNeighbors(num_neighbors, probability, scale=scale)


def truncation_width(num_neighbors: int, num_candidates: np.ndarray, rho: float, scale: np.ndarray) -> np.ndarray:
    """(4k RS / eps) ln(k(n-k) / rho) with scale = eps / (4k RS); infinite where the scale is 0."""
    pairs = np.maximum(num_neighbors * (num_candidates - num_neighbors), 1)
    with np.errstate(divide="ignore"):
        return np.log(pairs / rho) / scale


def _column_mask(columns: int) -> int:
    """The low bits that a column number needs."""
    return (1 << max(1, columns - 1).bit_length()) - 1


def _per_row(scale: float | tuple[float, ...], block: Block) -> np.ndarray:
    """Shape (rows, 1)."""
    if isinstance(scale, tuple):
        return np.asarray(scale)[block.targets][:, None]
    return np.full((len(block.targets), 1), scale)


def _races(block: Block, scale: float | tuple[float, ...] | None, generator: np.random.Generator) -> np.ndarray:
    """log(Exp(1) / weight), which orders as Exp(1) / weight and does not overflow; infinite for no candidate."""
    times = np.log(generator.standard_exponential(block.scores.shape))
    if scale is None:
        positive = block.scores > 0
        return np.where(positive, times - np.log(np.where(positive, block.scores, 1.0)), np.inf)
    finite = np.isfinite(block.scores)
    return np.where(finite, times - _per_row(scale, block) * np.where(finite, block.scores, 0.0), np.inf)
