"""Neighbor lists of the fakes aimed at one target, as many independent draws from one law.

The law is the mechanism's (`dpassay.mechanisms.selection`): candidates in descending order of similarity, consecutive
groups of ranks, a fixed number drawn from each by weight without replacement (`dpassay.mechanisms.batched_users`).
Members of a group that are equally similar have equal weights, so who of them holds which rank matters only where
equally similar candidates are divided between groups; only those are shuffled, separately for every list.
"""

import numpy as np

from dpassay.attacks.beta_knn.rating_table import Candidates
from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.core.errors import InvalidInput
from dpassay.mechanisms.batched_users import (
    Group,
    GroupedLaw,
    exponential_scale,
    log_weights,
    noisy_partition_lists,
    partition_groups,
    truncated_groups,
)
from dpassay.mechanisms.similarity import TIE_TOLERANCE


class SelectionPlan:
    """Draws neighbor lists of the fakes of one target.

    Args:
        recommender: how neighbors are chosen.
        candidates: whom from.

    Raises:
        InvalidInput: fewer candidates than the method needs, or a PNCF that is not defined here.
    """

    def __init__(self, recommender: Recommender, candidates: Candidates) -> None:
        self.recommender, self.candidates = recommender, candidates
        k, num = recommender.num_neighbors, len(candidates.rows)
        if k > num:
            raise InvalidInput(f"{k} neighbors of {num} candidates; use fewer neighbors or more fakes")
        self.order, run = self._ranks()
        score = candidates.chosen_by[self.order]
        self.law = GroupedLaw(_groups(recommender, score), _log_weights(recommender, score))
        self.shuffled = [] if self._noisy else self._divided(run)

    @property
    def _noisy(self) -> bool:
        """Whether candidates are ranked after noise, for each list anew."""
        return self.recommender.method == "ppns_repaired"

    @property
    def deterministic(self) -> bool:
        """Whether all lists are the same for everyone who reads recommendations."""
        return self.law.deterministic and not self.shuffled and not self._noisy

    def draw(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """Positions of the chosen candidates, shape (count, neighbors); fewer than k where weights of 0 leave fewer."""
        if self._noisy:
            noise = self.recommender.floor_sensitivity * len(self.order) / self.recommender.epsilon
            scale = _scale(self.recommender)
            return noisy_partition_lists(self.candidates.chosen_by, self.law.groups, noise, scale, count, generator)
        ranks = self.law.draw(count, generator)
        for start, stop in self.shuffled:
            moved = np.argsort(generator.random((count, stop - start)), axis=1)
            inside = (ranks >= start) & (ranks < stop)
            row, _ = np.nonzero(inside)
            ranks[inside] = start + moved[row, ranks[inside] - start]
        return self.order[ranks]

    def weighed(self, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Drawn positions, shape (count, neighbors), and these candidates' weights in a prediction, noise included."""
        chosen, scale = self.draw(count, generator), self.recommender.noise_scale
        weights = self.candidates.similarity[chosen]
        return chosen, weights + generator.laplace(scale=scale, size=weights.shape) if scale else weights

    def chance(self, rank: int) -> float:
        """With what probability a list contains the candidate of this rank, if all weights are equal."""
        if self._noisy:  # ranked by noise, mostly
            return self.recommender.num_neighbors / len(self.order)
        group = next(group for group in self.law.groups if group.start <= rank < group.stop)
        return group.quota / (group.stop - group.start)

    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Candidates by rank, and the number of the run of equals that each rank belongs to."""
        score, method = self.candidates.chosen_by, self.recommender.method
        index = np.arange(len(score))
        if method in ("npns", "npns_repaired", "ppns_repaired"):  # one group, or ranked after the noise
            return index, index
        order = np.argsort(-score, kind="stable")
        new = np.diff(-score[order], prepend=-np.inf) > TIE_TOLERANCE
        run = np.cumsum(new)
        level = np.empty_like(index)
        level[order] = run
        if self.recommender.ties == "fakes_first":
            second = (index < self.candidates.num_real).astype(int)
        else:
            second = index if self.recommender.ties == "index" else np.zeros_like(index)
        order = np.lexsort((index, second, level))
        changes = (np.diff(level[order], prepend=-1) != 0) | (np.diff(second[order], prepend=-1) != 0)
        return order, np.cumsum(changes)

    def _divided(self, run: np.ndarray) -> list[tuple[int, int]]:
        """Runs of equals that a border between groups divides and whose members are not all alike."""
        candidates = self.candidates
        # Whoever has similarity 0 contributes to no prediction, as fellow fakes do.
        silent = (candidates.similarity == 0) & (self.recommender.noise_scale == 0)
        silent[candidates.target] = False
        silent[len(silent) - candidates.num_fellows :] = True
        kind = np.where(silent, -1, candidates.rows)[self.order]
        found = {}
        for group in self.law.groups[1:]:
            border = group.start
            if 0 < border < len(run) and run[border - 1] == run[border]:
                start, stop = np.searchsorted(run, [run[border], run[border] + 1])
                if np.ptp(kind[start:stop]):
                    found[int(start)] = int(stop)
        return sorted(found.items())


def _groups(recommender: Recommender, score: np.ndarray) -> list[Group]:
    """Groups of ranks and their quotas; `score` is in order of rank."""
    k, num = recommender.num_neighbors, len(score)
    match recommender.method:
        case "knn":
            return [Group(0, k, k), Group(k, num, 0)]
        case "top_beta_k":
            nearest = min(recommender.num_nearest, num)
            return [Group(0, nearest, k), Group(nearest, num, 0)]
        case "npns" | "npns_repaired":
            return [Group(0, num, k)]
        case "pncf":
            return truncated_groups(k, recommender.rho, _scale(recommender), score)
    return partition_groups(k, recommender.probability, num)


def _log_weights(recommender: Recommender, score: np.ndarray) -> np.ndarray:
    if recommender.method in ("knn", "top_beta_k"):
        return np.zeros(len(score))
    by_similarity = recommender.weight == "similarity" and not recommender.repaired
    return log_weights(score, None if by_similarity else _scale(recommender))


def _scale(recommender: Recommender) -> float:
    """What multiplies a similarity in the exponent of its weight."""
    k, epsilon = recommender.num_neighbors, recommender.epsilon
    if not recommender.repaired:
        return exponential_scale(k, epsilon, recommender.sensitivity)
    scale = exponential_scale(k, epsilon, recommender.floor_sensitivity)
    return 2 * scale if recommender.method == "npns_repaired" else scale  # which spends nothing on noise
