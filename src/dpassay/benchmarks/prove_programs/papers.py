"""The five papers' mechanisms as ordinary Python, each beside the claim of the paper that it decides.

What `dp.prove` says of a program must be what the verdict on the claim says, which was reached by other means (in Rocq,
by exact laws, by both solvers). Scores are in units of their sensitivity where a program says so; a list of them is the
mechanism's data, since how a similarity moves is another claim.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def modified_laplace(rng, ratings, epsilon):
    """Zheng, Definition 2: ratings in [-1, 1]; whatever is above 1 stands for a missing one."""
    released = []
    for rating in ratings:
        rated = rating <= 1
        kept = rng.random() < math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
        noisy = (rating if rated else 0) + rng.laplace(0, 2 / epsilon)
        released.append(noisy if kept == rated else None)
    return released


def modified_laplace_vector(rng, ratings, epsilon, n: int):
    """The same for the first n ratings, all of which may change."""
    released = []
    for rating in ratings[:n]:
        rated = rating <= 1
        kept = rng.random() < math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
        noisy = (rating if rated else 0) + rng.laplace(0, 2 / epsilon)
        released.append(noisy if kept == rated else None)
    return released


def modified_laplace_clipped(rng, ratings, epsilon):
    """Our repair of section 1: what is released is a rating again."""
    released = []
    for rating in ratings:
        rated = rating <= 1
        kept = rng.random() < math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
        noisy = (rating if rated else 0) + rng.laplace(0, 2 / epsilon)
        released.append(min(max(noisy, -1), 1) if kept == rated else None)
    return released


def modified_laplace_once(rng, ratings, epsilon):
    """Definition 2 to the letter: one noise and one coin for all entries."""
    noise = rng.laplace(0, 2 / epsilon)
    kept = rng.random() < math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2))
    return [(rating if rating <= 1 else 0) + noise if kept == (rating <= 1) else None for rating in ratings]


def modified_laplace_always(rng, ratings, epsilon):
    """A number for every entry, rated or not: another pair of chances than Definition 2's."""
    return [(rating if rating <= 1 else 0) + rng.laplace(0, 2 / epsilon) for rating in ratings]


def response_by_entry(rng, ratings: list[int], epsilon, d: int):
    """Zheng, Definition 3: a rating, 0 for missing, is kept or becomes another one of the d, all alike."""
    released = []
    for rating in ratings:
        if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + d):
            released.append(rating)
        else:
            other = rng.integers(d)
            released.append(other + 1 if other >= rating else other)
    return released


def response_by_value(rng, ratings: list[int], epsilon, d: int):
    """Definition 3 to the letter: one response for each value, so that equal ratings have equal ones."""
    responses = []
    for value in range(d + 1):
        if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + d):
            responses.append(value)
        else:
            other = rng.integers(d)
            responses.append(other + 1 if other >= value else other)
    return [responses[rating] for rating in ratings]


def neighbors_by_weight(rng, scores, epsilon, k: int):
    """Lu and Shen, section 2.2, with a constant sensitivity, 1: k draws by weight without replacement."""
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        weights = np.exp([epsilon / (4 * k) * scores[i] for i in left])
        chosen.append(left.pop(rng.choice(len(left), p=weights / weights.sum())))
    return chosen


def neighbor_by_own_sensitivity(rng, ratings, epsilon, similarity):
    """Equation 3 as printed, k = 1: one candidate's sensitivity is read off the common ratings, another's is public."""
    dot = sum(ratings)
    square = sum(rating * rating for rating in ratings)
    cosine = dot / math.sqrt(square * len(ratings))
    moved = max(dot / math.sqrt(square * len(ratings)) - (dot - r) / math.sqrt(max(square - r * r, 1) * len(ratings))
                for r in ratings)  # fmt: skip
    scale = epsilon / (4 * max(moved, 1 / 100))
    weights = np.exp([scale * cosine, scale * similarity])
    return rng.choice(2, p=weights / weights.sum())


def neighbor_truncated(rng, scores, epsilon, width):
    """PNCF's truncation, k = 1: who is more than `width` below the nearest one is no candidate."""
    best = max(scores)
    candidates = [i for i in range(len(scores)) if scores[i] >= best - width]
    weights = np.exp([epsilon / 4 * scores[i] for i in candidates])
    return candidates[rng.choice(len(candidates), p=weights / weights.sum())]


def neighbors_partitioned(rng, scores, epsilon, k: int, first: int):
    """PPNS: `first` of the k nearest by weight, the last neighbors from all others."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    chosen = []
    for start, stop, quota in ((0, k, first), (k, len(order), k - first)):
        left = order[start:stop]
        for _ in range(min(quota, len(left))):
            weights = np.exp([epsilon / (4 * k) * scores[i] for i in left])
            chosen.append(left.pop(rng.choice(len(left), p=weights / weights.sum())))
    return sorted(chosen)


def neighbors_partitioned_originally(rng, scores, epsilon, k: int, first: int):
    """PPNS before the last neighbor's choice was changed: the rest comes from the second partition."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    chosen = []
    for start, stop, quota in ((0, k, first), (k, 2 * k, k - first)):
        left = order[start:stop]
        for _ in range(min(quota, len(left))):
            weights = np.exp([epsilon / (4 * k) * scores[i] for i in left])
            chosen.append(left.pop(rng.choice(len(left), p=weights / weights.sum())))
    return sorted(chosen)


def neighbors_partitioned_after_noise(rng, scores, epsilon, k: int, first: int, n: int):
    """Our repair: Laplace noise on n similarities, and partitions of the noisy order."""
    noisy = [score + rng.laplace(0, n / epsilon) for score in scores[:n]]
    order = np.argsort(noisy)
    chosen = []
    for start, stop, quota in ((n - k, n, first), (0, n - k, k - first)):
        left = list(order[start:stop])
        for _ in range(min(quota, len(left))):
            weights = np.exp([epsilon / (4 * k) * noisy[i] for i in left])
            chosen.append(left.pop(rng.choice(len(left), p=weights / weights.sum())))
    return chosen


def replacement_of_linked(rng, links: list[int], epsilon, m: int):
    """X-Map, Theorem 1 as printed: every user links t_i with one item of m; candidates are the linked items."""
    similarity = [math.sqrt(sum(1 for link in links if link == j) / max(len(links), 1)) for j in range(m)]
    candidates = [j for j in range(m) if similarity[j] > 0]
    if not candidates:
        return None
    weights = np.exp([epsilon / 4 * similarity[j] for j in candidates])
    return candidates[rng.choice(len(candidates), p=weights / weights.sum())]


def replacement_of_listed(rng, scores, epsilon, size: int):
    """As released: candidates are the items of largest absolute similarity, `size` of them."""
    listed = sorted(range(len(scores)), key=lambda j: -abs(scores[j]))[:size]
    weights = np.exp([epsilon / 4 * scores[j] for j in listed])
    return listed[rng.choice(len(listed), p=weights / weights.sum())]


def replacement_of_catalogue(rng, scores, epsilon):
    """Our repair: the whole catalogue, similarities in [-1, 1], which move by at most GS = 2."""
    weights = np.exp([epsilon / 4 * score for score in scores])
    return rng.choice(len(scores), p=weights / weights.sum())


def alter_ego(rng, scores, epsilon, length: int):
    """A profile of `length` items, each replaced with the whole epsilon; the similarities of item i are a block."""
    size = len(scores) // max(length, 1)
    replaced = []
    for i in range(length):
        weights = np.exp([epsilon / 4 * scores[i * size + j] for j in range(size)])
        replaced.append(rng.choice(size, p=weights / weights.sum()))
    return replaced


def neighbor_by_soft_floor(rng, scores, epsilon, width):
    """X-Map's neighbor selection repaired, k = 1: a constant width below the largest similarity, a constant GS, 1."""
    floor = max(scores) - width
    weights = np.exp([epsilon / 4 * max(score, floor) for score in scores])
    return rng.choice(len(scores), p=weights / weights.sum())


def neighbor_with_similarity(rng, scores, epsilon, width):
    """The same, and the neighbor's noisy similarity, from which the prediction is made."""
    floor = max(scores) - width
    weights = np.exp([epsilon / 4 * max(score, floor) for score in scores])
    chosen = rng.choice(len(scores), p=weights / weights.sum())
    return chosen, scores[chosen] + rng.laplace(0, 2 / epsilon)


def item_of_determinantal(rng, raters: list[bool], epsilon):
    """Fitzsimons et al., one item: the eigenvalue is how many rated it, and its coin decides."""
    eigenvalue = sum(raters)
    return rng.random() < eigenvalue / (1 + eigenvalue)


def item_of_determinantal_jittered(rng, raters: list[bool], s):
    """The same kernel plus s."""
    eigenvalue = sum(raters) + s
    return rng.random() < eigenvalue / (1 + eigenvalue)


def sketch(rng, ratings, r: int, w):
    """Chen et al., repaired: r public rows of random signs times the ratings, plus Gaussian noise."""
    published = []
    for _ in range(r):
        total = 0.0
        for rating in ratings:
            total += rating if rng.random() < 0.5 else -rating
        published.append(total + rng.normal(0, w))
    return published


def sketch_without_noise(rng, ratings, epsilon):
    """One row of a sparse sketch without noise: it lies on lines that the data choose."""
    return [rating if rng.random() < 0.5 else -rating for rating in ratings]


@dataclass(frozen=True)
class Judged:
    """A program and the claim of the paper that it decides.

    Attributes:
        claim: its id.
        asserts: what the claim, if true, makes of the program: "holds" where it calls it private, "refuted" where it
            says that it is not, or that no other is.
        stated: arguments of `dp.prove` that `Program` does not have.
        how: which part of the claim this is.
    """

    program: Program
    claim: str
    asserts: str = "holds"
    stated: dict[str, Any] = field(default_factory=dict)
    how: str = ""
