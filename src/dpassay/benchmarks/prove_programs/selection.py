"""The exponential mechanism and its relatives: by weights, by Gumbel noise, by coins; top k; and broken twins.

F. McSherry, K. Talwar: Mechanism Design via Differential Privacy (FOCS 2007). R. McKenna, D. Sheldon: Permute-and-Flip
(NeurIPS 2020). D. Durfee, R. Rogers: Practical Differentially Private Top-k Selection (NeurIPS 2019). G. Qiao, W. Su,
L. Zhang: Oneshot Differentially Private Top-k Selection (ICML 2021). A. Smith: Privacy-Preserving Statistical
Estimation with Optimal Convergence Rates (STOC 2011), for medians.
"""

import math

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def exponential_mechanism(rng, scores, epsilon):
    """By a table of probabilities."""
    weights = np.exp(epsilon * np.asarray(scores) / 2)
    return rng.choice(len(scores), p=weights / weights.sum())


def exponential_mechanism_list(rng, scores, epsilon):
    """By a list of probabilities."""
    weights = [math.exp(epsilon / 2 * score) for score in scores]
    total = sum(weights)
    return rng.choice(len(scores), p=[weight / total for weight in weights])


def exponential_mechanism_cumulative(rng, scores, epsilon):
    """By one uniform number and running sums of the weights."""
    weights = [math.exp(epsilon / 2 * score) for score in scores]
    left = rng.random() * sum(weights)
    for i, weight in enumerate(weights):
        left -= weight
        if left <= 0:
            return i
    return len(weights) - 1


def exponential_mechanism_gumbel(rng, scores, epsilon):
    """By Gumbel noise and `argmax`."""
    return int(np.argmax(np.asarray(scores) + rng.gumbel(scale=2 / epsilon, size=len(scores))))


def exponential_mechanism_gumbel_loop(rng, scores, epsilon):
    """By Gumbel noise on scaled scores, in a loop."""
    best, largest = 0, 0
    for i, score in enumerate(scores):
        noisy = epsilon / 2 * score + rng.gumbel()
        if i == 0 or noisy > largest:
            best, largest = i, noisy
    return best


def exponential_mechanism_monotone(rng, scores, epsilon):
    """Scores that all move the same way need no factor 2."""
    weights = np.exp(epsilon * np.asarray(scores))
    return rng.choice(len(scores), p=weights / weights.sum())


def permute_and_flip(rng, scores, epsilon):
    """In random order, a coin for each; the best one always accepts."""
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            return int(i)
    return None


def better_of_two(rng, scores, epsilon):
    """A coin that depends on the difference of two scores."""
    if rng.random() < 1 / (1 + math.exp(-epsilon / 2 * (scores[0] - scores[1]))):
        return 0
    return 1


def top_k_peeling(rng, scores, epsilon, k: int):
    """k rounds of noisy max with fresh noise, each among those that are left."""
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        noisy = [scores[i] + rng.laplace(0, 2 * k / epsilon) for i in left]
        chosen.append(left.pop(noisy.index(max(noisy))))
    return chosen


def top_k_without_replacement(rng, scores, epsilon, k: int):
    """k draws of the exponential mechanism without replacement."""
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        weights = np.exp([epsilon / (2 * k) * scores[i] for i in left])
        place = rng.choice(len(left), p=weights / weights.sum())
        chosen.append(left.pop(place))
    return chosen


def top_k_gumbel(rng, scores, epsilon, k: int):
    """One Gumbel noise each, the k largest in order: k draws without replacement."""
    noisy = np.asarray(scores) + rng.gumbel(scale=2 * k / epsilon, size=len(scores))
    return np.argsort(-noisy)[:k]


def top_k_oneshot(rng, scores, epsilon, k: int):
    """One Laplace noise each, the k largest in order."""
    noisy = np.asarray(scores) + rng.laplace(scale=2 * k / epsilon, size=len(scores))
    return np.argsort(-noisy)[:k]


def mode(rng, categories: list[int], epsilon, k: int):
    """The most frequent of k categories, by noisy counts."""
    best, largest = 0, 0
    for category in range(k):
        count = 0
        for each in categories:
            if each == category:
                count += 1
        noisy = count + rng.laplace(0, 2 / epsilon)
        if category == 0 or noisy > largest:
            best, largest = category, noisy
    return best


def median_by_rank(rng, values, epsilon, candidates: list[float]):
    """A public candidate, by how far its rank is from the middle."""
    scores = []
    for candidate in candidates:
        below = sum(1 for value in values if value < candidate)
        scores.append(-abs(below - len(values) / 2))
    weights = np.exp(epsilon / 2 * np.array(scores))
    return candidates[rng.choice(len(candidates), p=weights / weights.sum())]


def random_place(rng, scores):
    """A uniform place knows nothing of the scores."""
    return rng.integers(len(scores))


def bad_exponential_mechanism(rng, scores, epsilon):
    """No factor 2, although scores move both ways."""
    weights = np.exp(epsilon * np.asarray(scores))
    return rng.choice(len(scores), p=weights / weights.sum())


def bad_exponential_mechanism_gumbel(rng, scores, epsilon):
    """Half of the Gumbel noise."""
    return int(np.argmax(np.asarray(scores) + rng.gumbel(scale=1 / epsilon, size=len(scores))))


def bad_exponential_mechanism_unnormalized(rng, scores, epsilon):
    """Weights above 1 are cut, as if each were a probability of its own."""
    for i, score in enumerate(scores):
        if rng.random() < math.exp(epsilon / 2 * score):
            return i
    return -1


def bad_permute_and_flip(rng, scores, epsilon):
    """No factor 2, although scores move both ways."""
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(epsilon * (scores[i] - best)):
            return int(i)
    return None


def bad_flip_in_order(rng, scores, epsilon):
    """Without the permutation the first one that is best hides all others."""
    best = max(scores)
    for i in range(len(scores)):
        if rng.random() < math.exp(epsilon / 2 * (scores[i] - best)):
            return i
    return None


def bad_top_k(rng, scores, epsilon, k: int):
    """Every round has the whole budget."""
    left = list(range(len(scores)))
    chosen = []
    for _ in range(min(k, len(scores))):
        noisy = [scores[i] + rng.laplace(0, 2 / epsilon) for i in left]
        chosen.append(left.pop(noisy.index(max(noisy))))
    return chosen


def bad_top_k_without_replacement(rng, scores, epsilon, k: int):
    """Every draw has the whole budget."""
    weights = np.exp(epsilon / 2 * np.asarray(scores))
    return rng.choice(len(scores), size=min(k, len(scores)), replace=False, p=weights / weights.sum())


def bad_argmax(rng, scores, epsilon):
    """Noise is drawn and not used."""
    noise = rng.gumbel(scale=2 / epsilon, size=len(scores))
    return int(np.argmax(scores)) if len(noise) else 0


_FAR = ([0, 0, 0], [1, -1, -1])
_K = {"epsilon": 1.0, "k": 2}
_ASSUME = ("k >= 1",)

PROGRAMS = (
    Program(exponential_mechanism, "all_queries", "holds", "McSherry and Talwar 2007, Theorem 6", pair=_FAR),
    Program(exponential_mechanism_list, "all_queries", "holds", "McSherry and Talwar 2007, Theorem 6", pair=_FAR),
    Program(exponential_mechanism_cumulative, "all_queries", "holds", "McSherry and Talwar 2007, Theorem 6",
            pair=_FAR, hard=True),
    Program(exponential_mechanism_gumbel, "all_queries", "holds", "Durfee and Rogers 2019", pair=_FAR),
    Program(exponential_mechanism_gumbel_loop, "all_queries", "holds", "Durfee and Rogers 2019", pair=_FAR),
    Program(exponential_mechanism_monotone, "monotone_queries", "holds",
            "McSherry and Talwar 2007; Dwork and Roth 2014, section 3.4", pair=([0, 0, 0], [1, 0, 0])),
    Program(permute_and_flip, "all_queries", "holds", "McKenna and Sheldon 2020", pair=_FAR),
    Program(better_of_two, "all_queries", "holds", "McSherry and Talwar 2007 with two candidates",
            pair=([0, 0], [1, -1])),
    Program(top_k_peeling, "all_queries", "holds", "Durfee and Rogers 2019", assume=_ASSUME, parameters=_K,
            pair=_FAR),
    Program(top_k_without_replacement, "all_queries", "holds", "Durfee and Rogers 2019", assume=_ASSUME,
            parameters=_K, pair=_FAR),
    Program(top_k_gumbel, "all_queries", "holds", "Durfee and Rogers 2019", assume=_ASSUME, parameters=_K, pair=_FAR),
    Program(top_k_oneshot, "all_queries", "holds", "Qiao et al. 2021", assume=_ASSUME, parameters=_K, pair=_FAR),
    Program(mode, "replace_one:entry", "holds", "Dwork and Roth 2014, section 3.3", assume=_ASSUME,
            bounds=(0, "k - 1"), parameters=_K, pair=([0, 0, 1], [0, 1, 1])),
    Program(median_by_rank, "replace_one:entry", "holds", "Smith 2011; McSherry and Talwar 2007",
            pair=([0, 0, 2], [0, 2, 2]), parameters={"epsilon": 1.0, "candidates": [0.0, 1.0, 2.0]}),
    Program(random_place, "all_queries", "holds", "ours", claim="0", parameters={}, pair=_FAR),
    Program(bad_exponential_mechanism, "all_queries", "refuted", "after McSherry and Talwar 2007",
            pair=([0] * 6, [1] + [-1] * 5),
            known="log(e^epsilon (1 + 2 e^epsilon) / (e^epsilon + 2)) at n = 3, 2 epsilon as n grows"),
    Program(bad_exponential_mechanism_gumbel, "all_queries", "refuted", "after Durfee and Rogers 2019",
            pair=([0] * 6, [1] + [-1] * 5), known="2 epsilon as n grows"),
    Program(bad_exponential_mechanism_unnormalized, "all_queries", "refuted", "ours", pair=([0, 0], [-1, 0]),
            known="no finite epsilon"),
    Program(bad_permute_and_flip, "all_queries", "refuted", "after McKenna and Sheldon 2020", pair=([0, 0], [1, -1]),
            known="log(2 e^epsilon - 1) at n = 2"),
    Program(bad_flip_in_order, "all_queries", "refuted", "after McKenna and Sheldon 2020", pair=([0, 0], [-1, 0]),
            known="no finite epsilon"),
    Program(bad_top_k, "all_queries", "refuted", "ours", assume=_ASSUME, parameters=_K,
            pair=([0] * 6, [1, 1] + [-1] * 4), known="k epsilon as n grows"),
    Program(bad_top_k_without_replacement, "all_queries", "refuted", "ours", assume=_ASSUME, parameters=_K,
            pair=([0] * 6, [1, 1] + [-1] * 4), known="k epsilon as n grows"),
    Program(bad_argmax, "all_queries", "refuted", "ours", pair=([0, 1], [1, 0]), known="no finite epsilon"),
)  # fmt: skip
