"""PP-COST: the closed counts of operations are those of literal implementations."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.proofs.ppns.algorithm_cost import OperationCounts, extra_operations


@dataclass
class Counts(OperationCounts):
    """Operations that a literal implementation performed, and what it found."""

    similarities: int = 0
    neighbors: list[int] = field(default_factory=list)


def count_nearest_neighbors(dataset: np.ndarray, target: int, num_neighbors: int) -> Counts:
    """Runs k nearest neighbors literally (similarities, merge sort, first k) and counts what it does.

    Args:
        dataset: ratings, shape (users, items), NaN where missing; similarity is the cosine of equation (5).
        target: row of the target user.
        num_neighbors: k.
    """
    counts = Counts()
    order, _ = _sorted_candidates(dataset, target, counts)
    counts.neighbors = order[:num_neighbors]
    return counts


def count_partitioned(
    dataset: np.ndarray, target: int, num_neighbors: int, probability: Fraction, seed: int = 0
) -> Counts:
    """Runs Algorithm 1 literally, with eps = 1 and RS = 1 in the weights, and counts what it does.

    The dataset has the shape (users, items). A weighted draw scans its whole pool once: one random number and one
    comparison per remaining candidate. One sensitivity (3) per candidate is counted, though its value is not used.
    """
    counts = Counts()
    k, generator = num_neighbors, np.random.default_rng(seed)
    order, similarity = _sorted_candidates(dataset, target, counts)
    counts.sensitivities += len(order)
    weights = {user: math.exp(similarity[user] / (4 * k)) for user in order}
    counts.exponentials += len(order)

    def draw(pool: list[int]) -> None:
        threshold = generator.random() * sum(weights[user] for user in pool)
        counts.random_numbers += 1
        chosen, running = pool[-1], 0.0
        for user in reversed(pool):
            running += weights[user]
            counts.comparisons += 1
            if running <= threshold:
                continue
            chosen, threshold = user, math.inf
        counts.neighbors.append(chosen)
        pool.remove(chosen)

    blocks = [order[start : start + k] for start in range(0, len(order), k)]
    visited = 0
    while True:
        counts.comparisons += 1
        if len(counts.neighbors) == k - 1:
            break
        quota = math.ceil(probability * (1 - probability) ** visited * k)
        pool = list(blocks[visited])
        for _ in range(min(quota, len(pool), k - 1 - len(counts.neighbors))):
            draw(pool)
        visited += 1
    draw([user for block in blocks[visited:] for user in block])
    return counts


def _sorted_candidates(dataset: np.ndarray, target: int, counts: Counts) -> tuple[list[int], dict[int, float]]:
    similarity = {}
    for user in range(len(dataset)):
        if user != target:
            shared = ~np.isnan(dataset[target]) & ~np.isnan(dataset[user])
            a, b = dataset[target, shared], dataset[user, shared]
            norms = math.sqrt(float(a @ a) * float(b @ b))
            similarity[user] = float(a @ b) / norms if norms else 0.0
            counts.similarities += 1

    def merge_sort(rows: list[int]) -> list[int]:
        if len(rows) < 2:
            return rows
        left, right = merge_sort(rows[: len(rows) // 2]), merge_sort(rows[len(rows) // 2 :])
        merged = []
        while left and right:
            counts.comparisons += 1
            merged.append((left if similarity[left[0]] >= similarity[right[0]] else right).pop(0))
        return merged + left + right

    return merge_sort(list(similarity)), similarity


@pytest.mark.parametrize(
    ("users", "k", "p"), [(8, 2, "1/2"), (13, 3, "1/3"), (13, 3, "2/3"), (30, 5, "2/5"), (61, 10, "3/10")]
)
def test_closed_operation_counts_are_those_of_a_literal_run(users: int, k: int, p: str) -> None:
    generator = np.random.default_rng(users)
    dataset = generator.integers(1, 6, (users, 6)).astype(float)
    dataset[generator.random(dataset.shape) < 0.3] = np.nan
    plain, partitioned = count_nearest_neighbors(dataset, 0, k), count_partitioned(dataset, 0, k, Fraction(p))
    extra = extra_operations(users - 1, k, Fraction(p))
    assert plain.similarities == partitioned.similarities == users - 1
    assert partitioned.comparisons - plain.comparisons == extra.comparisons
    assert partitioned.exponentials == extra.exponentials > plain.exponentials == 0
    assert partitioned.sensitivities == extra.sensitivities
    assert partitioned.random_numbers == extra.random_numbers == k
    assert len(set(partitioned.neighbors)) == len(plain.neighbors) == k
    assert not set(partitioned.neighbors) >= set(plain.neighbors)


def test_literal_draws_follow_the_weights() -> None:
    # With p = 1/2 and k = 2, one of the two most similar users and one of the rest; the law is close to uniform.
    dataset = np.array([[1, 2], [1, 2], [2, 3], [2, 1], [5, 1]], float)
    runs = [tuple(count_partitioned(dataset, 0, 2, Fraction(1, 2), seed).neighbors) for seed in range(400)]
    assert set(runs) == {(1, 3), (1, 4), (2, 3), (2, 4)}
    # Binomial(400, about 1/2): outside 140..260 with probability below 1e-8.
    assert 140 < sum(run[0] == 1 for run in runs) < 260
    assert 140 < sum(run[1] == 3 for run in runs) < 260


def test_operations_are_undefined_where_algorithm_1_is() -> None:
    with pytest.raises(InvalidInput, match="leaves no unvisited partition"):
        extra_operations(6, 3, Fraction(1, 10))
