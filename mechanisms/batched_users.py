"""Neighbor selections of users for many targets, or many lists of one target, at once, in NumPy.

The mechanisms (`dpassay.mechanisms`) select for one target, with an exact law; experiments need the same selections for
hundreds of thousands of rows, attacks for thousands of readers who are all alike. In a block every row has a law of its
own and is drawn once; its columns are the possible neighbors in tie order: of equal similarities the earlier column
comes first. A `GroupedLaw` is drawn many times: groups of ranks, from each a fixed number by weight.

A weighted draw of k without replacement takes the k smallest of Exp(1) / weight, which has the law (7) of Lu and Shen.
Many draws of one law are made with replacement, keeping the first k distinct ones; those that this leaves incomplete
are completed by the other way, which given the members so far has the law of the remaining draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.ppns import PartitionedSelection, Rule, partition_quotas
from dpassay.mechanisms.similarity import TIE_TOLERANCE

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


class Group(NamedTuple):
    """Ranks start to stop - 1, of which `quota` are drawn."""

    start: int
    stop: int
    quota: int


@dataclass(frozen=True, eq=False)
class GroupedLaw:
    """One law of neighbors as ranks, most similar first: from each group its quota is drawn by weight.

    Attributes:
        groups: consecutive ranks.
        logs: log-weights by rank, shape (ranks,).
    """

    groups: Sequence[Group]
    logs: np.ndarray

    @property
    def deterministic(self) -> bool:
        """Whether every group is taken whole or not at all."""
        return all(group.quota in (0, group.stop - group.start) for group in self.groups)

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Ranks, shape (count, neighbors); fewer than k where weights of 0 leave fewer."""
        parts = [
            group.start + _distinct(self.logs[group.start : group.stop], group.quota, count, generator)
            for group in self.groups
            if group.quota
        ]
        return np.concatenate(parts, axis=1)


def partition_groups(num_neighbors: int, probability: float, num_candidates: int) -> list[Group]:
    """The groups of PPNS, Algorithm 1.

    Raises:
        InvalidInput: too few candidates.
    """
    k = num_neighbors
    quotas = PartitionedSelection(num_neighbors=k, probability=probability).quotas(num_candidates)
    groups = [Group(i * k, (i + 1) * k, quota) for i, quota in enumerate(quotas)]
    return [*groups, Group(len(quotas) * k, num_candidates, 1)]


def truncated_groups(num_neighbors: int, rho: float, scale: float, score: np.ndarray) -> list[Group]:
    """The groups of PNCF, surely chosen, drawn, never chosen; see `TruncatedNeighbors`.

    Args:
        num_neighbors: k.
        rho: failure probability of lambda.
        scale: eps / (4k RS).
        score: by rank, descending, shape (ranks,).

    Raises:
        InvalidInput: the k-th largest similarity is negative.
    """
    k, num = num_neighbors, len(score)
    kth = score[k - 1]
    width = min(kth, truncation_width(k, num, rho, scale)) if num > k else kth
    sure = int(np.sum(score > kth + width + TIE_TOLERANCE))
    possible = int(np.sum(score >= kth - width - TIE_TOLERANCE))
    if not sure <= k <= possible:
        raise InvalidInput(
            f"PNCF is not defined where the {k}-th largest similarity is negative ({kth:.3g}); use fewer neighbors or "
            "a cosine"
        )
    return [Group(0, sure, sure), Group(sure, possible, k - sure), Group(possible, num, 0)]


def noisy_partition_lists(
    score: np.ndarray, groups: Sequence[Group], noise: float, scale: float, count: int, generator: np.random.Generator
) -> np.ndarray:
    """Lists of the repaired PPNS of one target: noise on every score, then partitions of the noisy order, each anew.

    Args:
        score: shape (candidates,).
        groups: of `partition_groups`.
        noise: scale of the Laplace noise.
        scale: eps / (4k GS).
        count: how many lists.
        generator: source of randomness.

    Returns:
        Candidates, shape (count, neighbors).
    """
    shape = (count, len(score))
    noisy = score + generator.laplace(scale=noise, size=shape)
    visited = groups[-1].start
    order = np.argpartition(-noisy, visited - 1, axis=1)
    top = np.take_along_axis(noisy, order[:, :visited], 1)
    order[:, :visited] = np.take_along_axis(order[:, :visited], np.argsort(-top, axis=1), 1)
    races = _arrivals(scale * np.take_along_axis(noisy, order, 1), generator)
    parts = [
        group.start + np.argpartition(races[:, group.start : group.stop], group.quota - 1, axis=1)[:, : group.quota]
        for group in groups
    ]
    return np.take_along_axis(order, np.concatenate(parts, axis=1), 1)


def signed_root(dot: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """dot / sqrt(squares), of shapes that broadcast, 0 where `squares` is 0; equal similarities are equal floats.

    One rounded quotient of exact sums, as in `dpassay.mechanisms.similarity`.
    """
    positive = squares > 0
    return np.where(positive, np.sign(dot) * np.sqrt(dot**2 / np.where(positive, squares, 1.0)), 0.0)


def smallest(values: np.ndarray, count: int) -> np.ndarray:
    """Which entries of `values`, shape (rows, columns), are among the `count` smallest of their row; bool, same shape.

    Never those of no candidate.

    Equal entries at the bound are all taken: use it on `descending` scores or on continuous random numbers.
    """
    possible = values < (np.inf if values.dtype.kind == "f" else NO_CANDIDATE)
    if count >= values.shape[1]:
        return possible
    bound = np.partition(values, count - 1, axis=1)[:, count - 1 : count]
    return (values <= bound) & possible


def descending(scores: np.ndarray) -> np.ndarray:
    """Distinct int64 keys of scores, the same shape: the largest score first, of equal ones the lower column.

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


def log_weights(scores: np.ndarray, scale: Any) -> np.ndarray:
    """log of the weights by which candidates are drawn, -inf for one who never is.

    Args:
        scores: similarities, any shape; -inf for no candidate.
        scale: a candidate of similarity s has weight exp(scale s), see `exponential_scale`; it broadcasts. None: weight
            s, and candidates without positive similarity are never drawn.

    Returns:
        The same shape.
    """
    if scale is None:
        positive = scores > 0
        return np.where(positive, np.log(np.where(positive, scores, 1.0)), -np.inf)
    finite = np.isfinite(scores)
    return np.where(finite, scale * np.where(finite, scores, 0.0), -np.inf)


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


def truncation_width(num_neighbors: int, num_candidates: Any, rho: float, scale: Any) -> Any:
    """(4k RS / eps) ln(k(n-k) / rho) with scale = eps / (4k RS), which broadcast; infinite where the scale is 0."""
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
    """Arrivals of every row's candidates; infinite for no candidate."""
    return _arrivals(log_weights(block.scores, None if scale is None else _per_row(scale, block)), generator)


def _arrivals(logs: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """log(Exp(1) / weight), which orders as Exp(1) / weight and does not overflow; infinite where never drawn."""
    return np.log(generator.standard_exponential(logs.shape)) - logs


def _distinct(log_weights: np.ndarray, quota: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """Successive draws by weight without replacement, `count` times over: positions, shape (count, quota)."""
    usable = np.flatnonzero(log_weights > -np.inf)
    size = len(usable)
    if quota >= size:
        return np.tile(usable, (count, 1))
    logs = log_weights[usable]
    if size <= 4 * quota:
        return usable[_completed(logs, np.zeros((count, 0), int), quota, count, generator)]
    extra = 0 if quota == 1 else quota // 4 + 8
    total = np.cumsum(np.exp(logs - logs.max()))
    drawn = np.minimum(_located(total, generator.random((count, quota + extra)) * total[-1]), size - 1)
    if quota == 1:
        return usable[drawn]
    width = quota + extra
    keys = np.sort(drawn * width + np.arange(width), axis=1)
    repeated = np.zeros(drawn.shape, bool)
    row, place = np.nonzero(np.diff(keys // width, axis=1) == 0)
    repeated[row, keys[row, place + 1] % width] = True
    number = np.cumsum(~repeated, axis=1)
    kept = ~repeated & (number <= quota)
    complete = number[:, -1] >= quota
    result = np.empty((count, quota), int)
    result[complete] = drawn[complete][kept[complete]].reshape(-1, quota)
    for short in np.flatnonzero(~complete):
        result[short] = _completed(logs, drawn[short, kept[short]][None, :], quota, 1, generator)
    return usable[result]


def _located(borders: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`np.searchsorted(borders, values, side="right")` of ascending borders and many values from 0 to the last border.

    Each value starts at the first border that some value of its cell of a fine grid can need, and is moved up.
    """
    cells = 8 * len(borders)
    if values.size < cells:
        return np.searchsorted(borders, values, side="right")
    width = borders[-1] / cells
    # The starts are placed a little lower, so that no rounding in a value's cell puts it beyond its border.
    first = np.searchsorted(borders, np.arange(cells + 1) * (width * (1 - 1e-12)), side="right")
    wanted = values.ravel()
    place = np.minimum(first[(wanted / width).astype(np.int64)], len(borders) - 1)
    low = np.flatnonzero(borders[place] <= wanted)
    while len(low):
        place[low] += 1
        low = low[place[low] < len(borders)]
        low = low[borders[place[low]] <= wanted[low]]
    return place.reshape(values.shape)


def _completed(
    logs: np.ndarray, members: np.ndarray, quota: int, count: int, generator: np.random.Generator
) -> np.ndarray:
    """The `quota` earliest of each row of arrivals; `members`, shape (count, any), are in already."""
    times = _arrivals(np.broadcast_to(logs, (count, len(logs))), generator)
    np.put_along_axis(times, members, -np.inf, 1)
    return np.argpartition(times, quota - 1, axis=1)[:, :quota]
