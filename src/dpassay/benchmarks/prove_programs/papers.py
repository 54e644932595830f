"""The five papers' mechanisms as ordinary Python, each beside the claim of the paper that it decides.

What `dp.prove` says of a program must be what the verdict on the claim says, which was reached by other means (in Rocq,
by exact laws, by both solvers). Scores are in units of their sensitivity where a program says so; a list of them is the
mechanism's data, since how a similarity moves is another claim.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpassay.benchmarks.prove_programs.record import Outcome, Program
from dpassay.core.registry import expected_outcomes


def modified_laplace(rng, ratings, epsilon):
    """Zheng, Definition 2: ratings in [-1, 1]; whatever is above 1 stands for a missing one."""
    released = []
    for rating in ratings:
        rated = 1 if rating <= 1 else 0
        shown = rated if rng.random() < math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2)) else 1 - rated
        noisy = (rating if rating <= 1 else 0) + rng.laplace(0, 2 / epsilon)
        if shown == 1:
            released.append(noisy)
        else:
            released.append(None)
    return released


def modified_laplace_clipped(rng, ratings, epsilon):
    """Our repair of section 1: what is released is a rating again."""
    released = []
    for rating in ratings:
        rated = 1 if rating <= 1 else 0
        shown = rated if rng.random() < math.exp(epsilon / 2) / (1 + math.exp(epsilon / 2)) else 1 - rated
        noisy = (rating if rating <= 1 else 0) + rng.laplace(0, 2 / epsilon)
        if shown == 1:
            released.append(min(max(noisy, -1), 1))
        else:
            released.append(None)
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


def response_of_two(rng, ratings: list[int], epsilon):
    """Definition 3 for d = 1: whether an item was rated."""
    return [r if rng.random() < math.exp(epsilon) / (1 + math.exp(epsilon)) else 1 - r for r in ratings]


def neighbors_by_weight(rng, scores, epsilon, k: int):
    """Lu and Shen, section 2.2, with a constant sensitivity, 1: k draws by weight without replacement."""
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        weights = np.exp([epsilon / (4 * k) * scores[i] for i in left])
        place = rng.choice(len(left), p=weights / weights.sum())
        chosen.append(left.pop(place))
    return chosen


def neighbor_by_own_sensitivity(rng, ratings, epsilon, similarity):
    """PNCF as printed, k = 1: one candidate's sensitivity is read off the common ratings, the other one is public."""
    dot, square, largest = sum(ratings), sum(rating * rating for rating in ratings), max(ratings)
    size = math.sqrt(len(ratings))
    cosine = dot / (math.sqrt(square) * size)
    without = (dot - largest) / (math.sqrt(square - largest * largest) * size) if len(ratings) > 1 else 0
    scale = epsilon / (4 * abs(cosine - without))
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


def similarities_with_noise(rng, scores, epsilon):
    """Our repair of PPNS: noise on every similarity; order, partitions and draws are computed from what is returned."""
    return [score + rng.laplace(0, len(scores) / epsilon) for score in scores]


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
    """A profile of `length` items of equal similarities, each replaced with the whole epsilon."""
    replaced = []
    for _ in range(length):
        weights = np.exp([epsilon / 4 * score for score in scores])
        replaced.append(rng.choice(len(scores), p=weights / weights.sum()))
    return replaced


def neighbor_by_soft_floor(rng, scores, epsilon, width):
    """X-Map's neighbor selection repaired, k = 1: a constant width below the largest similarity, a constant GS, 1."""
    floor = max(scores) - width
    return int(np.argmax([max(score, floor) + rng.gumbel(scale=4 / epsilon) for score in scores]))


def neighbor_with_similarity(rng, scores, epsilon, width):
    """The same, and the neighbor's noisy similarity, from which the prediction is made."""
    floor = max(scores) - width
    chosen = int(np.argmax([max(score, floor) + rng.gumbel(scale=4 / epsilon) for score in scores]))
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


@dataclass(frozen=True)
class Judged:
    """A program and the claim of the paper that it decides.

    Attributes:
        program: its `outcome` is what `dp.prove` is to say; `hard` where an `open` is what we expect.
        claim: the claim's id.
        asserts: what the claim, if true, makes of the program: "holds" where it calls it private, "refuted" where it
            says that it is not, or that a bound cannot be smaller.
        part: which part of the claim this is, and in which units.
        radius: how much a score may move.
    """

    program: Program
    claim: str
    asserts: str = "holds"
    part: str = ""
    radius: int | None = None

    @property
    def verdict(self) -> str:
        """The reviewed verdict on the claim."""
        return expected_outcomes()[self.claim][""].split()[0]

    def agrees(self, outcome: str) -> str:
        """Whether an outcome of `dp.prove` agrees with the verdict on the claim: "yes", "no", or "" for an `open`."""
        if outcome not in ("holds", "refuted"):
            return ""
        return "yes" if (outcome == self.asserts) == (self.verdict == "holds") else "no"


_ENTRY, _ALL, _GROWS = "replace_one:entry", "all_queries", "add_or_remove_one:entry"
_RATED, _SYMBOLS, _SCORES = (-1, 2), (0, "d"), (-1, 1)
_D, _K, _WIDTH = ("d >= 1",), ("k >= 1",), ("width >= 0",)
_SPLIT = ("k >= 2", "first >= 1", "first < k")
_ONE_ENTRY = "one of n entries changes"


def _of(function: Any, relation: str, outcome: Outcome, source: str, **more: Any) -> Program:
    return Program(function, relation, outcome, source, **more)


JUDGED = (
    Judged(_of(modified_laplace, _ENTRY, "holds", "Definition 2", bounds=_RATED), "RC-T1", part=_ONE_ENTRY),
    Judged(_of(modified_laplace, _ENTRY, "refuted", "Definition 2", bounds=_RATED, claim="9 * epsilon / 10"),
           "RC-T1-TIGHT", "refuted", "nine tenths of epsilon"),
    Judged(_of(modified_laplace_clipped, _ENTRY, "holds", "section 1, repaired", bounds=_RATED), "RC-CONJ-REP",
           part=_ONE_ENTRY),
    Judged(_of(modified_laplace_once, _ENTRY, "refuted", "Definition 2, read literally", bounds=_RATED,
               claim="2 * epsilon"), "RC-IND2", part="n = 2"),
    Judged(_of(modified_laplace_always, _ENTRY, "holds", "Definition 2", bounds=_RATED), "RC-SLACK", "refuted",
           "another pair of chances is private"),
    Judged(_of(response_of_two, _ENTRY, "holds", "Definition 3", bounds=(0, 1)), "RC-T2", part="d = 1"),
    Judged(_of(response_by_entry, _ENTRY, "holds", "Definition 3", bounds=_SYMBOLS, assume=_D, hard=True), "RC-T2",
           part=_ONE_ENTRY),
    Judged(_of(response_by_value, _ENTRY, "refuted", "Definition 3, read literally", bounds=_SYMBOLS, assume=_D,
               claim="2 * epsilon"), "RC-IND3", part="n = 2"),
    Judged(_of(neighbors_by_weight, _ALL, "holds", "section 2.2, repaired", claim="epsilon / 2", assume=_K),
           "PP-EM-REP", part="GS = 1"),
    Judged(_of(neighbor_by_own_sensitivity, _ENTRY, "refuted", "section 2.2, equations 1 to 3", claim="epsilon / 2",
               bounds=(1, 5), assume=("0 <= similarity <= 1",), hard=True), "PP-EM", part="k = 1, two candidates"),
    Judged(_of(neighbor_truncated, _ALL, "refuted", "section 2.2", claim="epsilon / 2"), "PP-PNCF-NOT", "refuted",
           "k = 1, RS = 1"),
    Judged(_of(neighbors_partitioned, _ALL, "refuted", "section 5.2", assume=_SPLIT), "PP-DP", part="RS = 1"),
    Judged(_of(neighbors_partitioned_originally, _ALL, "refuted", "section 5.2", assume=_SPLIT), "PP-ORIG", "refuted",
           "RS = 1"),
    Judged(_of(similarities_with_noise, _ALL, "holds", "section 5.2, repaired"), "PP-DP-REP", part="GS = 1"),
    Judged(_of(replacement_of_linked, _GROWS, "refuted", "Theorem 1", bounds=(0, "m - 1"), assume=("m >= 1",)), "XM-T1",
           part="GS = 2"),
    Judged(_of(replacement_of_listed, _ALL, "refuted", "Theorem 1, as released", bounds=_SCORES,
               assume=("size >= 1",)), "XM-T1-REL", part="GS = 2", radius=2),
    Judged(_of(replacement_of_catalogue, _ALL, "holds", "Theorem 1, repaired", bounds=_SCORES), "XM-T1-REP",
           part="GS = 2", radius=2),
    Judged(_of(alter_ego, _ALL, "refuted", "Theorem 1", bounds=_SCORES, assume=("length >= 1",)), "XM-T1-COMP",
           radius=2),
    Judged(_of(alter_ego, _ALL, "holds", "Theorem 1, repaired", bounds=_SCORES, assume=("length >= 1",),
               claim="length * epsilon"), "XM-T1-COMP-REP", part="pure privacy, equal similarities", radius=2),
    Judged(_of(neighbor_by_soft_floor, _ALL, "holds", "Theorem 3, repaired", claim="epsilon / 2", assume=_WIDTH),
           "XM-PNSA-REP", part="k = 1, GS = 1"),
    Judged(_of(neighbor_with_similarity, _ALL, "holds", "Theorem 3, repaired", assume=_WIDTH), "XM-PNSA-REP",
           part="k = 1, GS = 1, with the prediction"),
    Judged(_of(item_of_determinantal, _GROWS, "refuted", "section 3.1.1", claim="10"), "DP-INF", "refuted",
           "one item, ten nats"),
    Judged(_of(item_of_determinantal_jittered, _GROWS, "holds", "section 3.2, repaired", hard=True,
               claim="max(log(1 + 1/s) - log(1 + 1/(1 + s)), log(1 + 1/(1 + s)))"), "DP-EPS-REP", part="one item"),
    Judged(_of(sketch, "one_query", "holds", "B.1, repaired", claim="r / (2 * w**2)", zcdp=True, assume=("r >= 1",)),
           "CD-SJLT-REP", part="dense signs, r rows; zCDP, which mu-GDP implies"),
)  # fmt: skip

BEYOND = {
    "XM-T2, XM-T2-REP, PP-RS, PP-RS-REP": "how far a cosine of two rows moves: no noise, and a matrix of ratings",
    "XM-PNSA, XM-PNSA-REP for k > 1": "the k-th largest of private scores",
    "DP-EPS, DP-T31-REP, DP-KDPP-REP, DP-DELTA-REP": "a determinantal point process: coins by eigenvalues of the data",
    "CD-T51, CD-T52, CD-SJLT, CD-T52-REP": "(epsilon, delta) of a singular value decomposition and a Gaussian matrix",
    "RC-EXE, XM-EXE, PP-EXE, DP-EXE, CD-EXE": "floating-point leaks: a proof is about real numbers",
}
"""Privacy claims that `dp.prove` cannot be asked about, and why."""
