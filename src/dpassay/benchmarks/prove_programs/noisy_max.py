"""Report noisy max: Laplace and exponential noise, by loop and by numpy, with gap and value, and broken twins.

C. Dwork, A. Roth: The Algorithmic Foundations of Differential Privacy (2014), section 3.3. Z. Ding et al.: StatDP (CCS
2018), and Free Gap Information (PVLDB 2019). Y. Wang et al.: ShadowDP (PLDI 2019), CheckDP (CCS 2020).
"""

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def noisy_max(rng, queries, epsilon):
    """The index of the largest noisy query, by a loop."""
    best = 0
    largest = 0
    i = 0
    while i < len(queries):
        noisy = queries[i] + rng.laplace(0, 2 / epsilon)
        if noisy > largest or i == 0:
            best = i
            largest = noisy
        i = i + 1
    return best


def noisy_max_argmax(rng, queries, epsilon):
    """By `argmax` of an array."""
    return (np.asarray(queries, dtype=float) + rng.laplace(scale=2.0 / epsilon, size=len(queries))).argmax()


def noisy_max_list(rng, queries, epsilon):
    """By a list of noisy queries, and the index of its maximum."""
    noisy = [query + rng.laplace(0, 2 / epsilon) for query in queries]
    return noisy.index(max(noisy))


def noisy_max_flag(rng, queries, epsilon):
    """A loop that starts from nothing instead of from the first query."""
    best, largest = -1, None
    for i, query in enumerate(queries):
        noisy = query + rng.laplace(0, 2 / epsilon)
        if largest is None or noisy > largest:
            best, largest = i, noisy
    return best


def noisy_max_last(rng, queries, epsilon):
    """The last of equal ones, from the end."""
    largest = -float("inf")
    best = 0
    for i in range(len(queries) - 1, -1, -1):
        noisy = queries[i] + rng.laplace(0, 2 / epsilon)
        if noisy > largest:
            largest = noisy
            best = i
    return best


def noisy_min(rng, queries, epsilon):
    """The index of the smallest noisy query."""
    noise = rng.laplace(0, 2 / epsilon, size=len(queries))
    return int(np.argmin(np.array(queries) + noise))


def noisy_max_exponential(rng, queries, epsilon):
    """One-sided noise, by a loop."""
    best, largest = 0, 0.0
    for i in range(len(queries)):
        noisy = queries[i] + rng.exponential(2 / epsilon)
        if i == 0 or noisy > largest:
            best = i
            largest = noisy
    return best


def noisy_max_exponential_argmax(rng, queries, epsilon):
    """One-sided noise, by `argmax`."""
    return np.argmax(np.asarray(queries) + rng.exponential(scale=2 / epsilon, size=len(queries)))


def noisy_max_monotone(rng, queries, epsilon):
    """Half of the noise, on queries that all move the same way."""
    best = largest = 0
    for i in range(len(queries)):
        noisy = queries[i] + rng.laplace(0, 1 / epsilon)
        if i == 0 or noisy > largest:
            best, largest = i, noisy
    return best


def noisy_max_exponential_monotone(rng, queries, epsilon):
    """Half of the one-sided noise, on queries that all move the same way."""
    return np.argmax([query + rng.exponential(1 / epsilon) for query in queries])


def noisy_max_geometric(rng, counts: list[int], epsilon):
    """Integer counts and two-sided geometric noise; the first of equal ones wins."""
    p = 1 - np.exp(-epsilon / 2)
    best, largest = 0, 0
    for i, count in enumerate(counts):
        noisy = count + rng.geometric(p) - rng.geometric(p)
        if i == 0 or noisy > largest:
            best, largest = i, noisy
    return best


def noisy_max_gap(rng, queries, epsilon):
    """The index, and by how much it beats the second."""
    best, largest, second = 0, -np.inf, -np.inf
    for i, query in enumerate(queries):
        noisy = query + rng.laplace(0, 2 / epsilon)
        if noisy > largest:
            second = largest
            largest = noisy
            best = i
        elif noisy > second:
            second = noisy
    return best, largest - second


def noisy_max_then_value(rng, queries, epsilon):
    """Half of the budget for the index, half for a fresh value of that query."""
    noisy = np.array(queries) + rng.laplace(0, 4 / epsilon, size=len(queries))
    best = np.argmax(noisy)
    return best, queries[best] + rng.laplace(0, 2 / epsilon)


def noisy_max_of_two_halves(rng, queries, epsilon):
    """The noisy max of those at even and of those at odd places; no query is in both."""
    answers = []
    for start in (0, 1):
        best = -1
        largest = 0
        for i in range(start, len(queries), 2):
            noisy = queries[i] + rng.laplace(0, 4 / epsilon)
            if best == -1 or noisy > largest:
                best = i
                largest = noisy
        answers.append(best)
    return answers


def noisy_max_or_none(rng, queries, epsilon, threshold):
    """The index of the largest noisy query, or -1 if a public candidate with the same noise is larger."""
    noisy = [query + rng.laplace(0, 2 / epsilon) for query in queries]
    best = -1
    largest = threshold + rng.laplace(0, 2 / epsilon)
    for i, value in enumerate(noisy):
        if value > largest:
            best, largest = i, value
    return best


def bad_noisy_max(rng, queries, epsilon):
    """Publishes the largest noisy query instead of its index."""
    largest = 0
    i = 0
    while i < len(queries):
        noisy = queries[i] + rng.laplace(0, 2 / epsilon)
        if noisy > largest or i == 0:
            largest = noisy
        i = i + 1
    return largest


def bad_noisy_max_exponential(rng, queries, epsilon):
    """Publishes the largest query with one-sided noise, which tells where it begins."""
    return max(np.asarray(queries) + rng.exponential(scale=2 / epsilon, size=len(queries)))


def bad_noisy_max_half_noise(rng, queries, epsilon):
    """Half of the noise, on queries that move both ways."""
    return np.argmax(np.asarray(queries) + rng.laplace(scale=1 / epsilon, size=len(queries)))


def bad_noisy_max_exponential_half_noise(rng, queries, epsilon):
    """Half of the one-sided noise, on queries that move both ways."""
    best, largest = 0, 0.0
    for i in range(len(queries)):
        noisy = queries[i] + rng.exponential(1 / epsilon)
        if i == 0 or noisy > largest:
            best, largest = i, noisy
    return best


def bad_noisy_max_one_noise(rng, queries, epsilon):
    """One noise for all queries changes no comparison."""
    noise = rng.laplace(0, 2 / epsilon)
    best = 0
    for i in range(len(queries)):
        if queries[i] + noise > queries[best] + noise:
            best = i
    return best


def bad_noisy_max_first_without_noise(rng, queries, epsilon):
    """The loop starts from the first query as it is."""
    best = 0
    largest = queries[0] if len(queries) > 0 else 0
    for i in range(1, len(queries)):
        noisy = queries[i] + rng.laplace(0, 2 / epsilon)
        if noisy > largest:
            best, largest = i, noisy
    return best


def bad_noisy_max_same_value(rng, queries, epsilon):
    """Publishes the value that won beside its index, with no fresh noise."""
    noisy = np.array(queries) + rng.laplace(0, 2 / epsilon, size=len(queries))
    best = np.argmax(noisy)
    return best, noisy[best]


def bad_noisy_max_raw_challenger(rng, queries, epsilon):
    """Only the leader has noise; who challenges it is compared raw."""
    best = 0
    largest = -np.inf
    for i, query in enumerate(queries):
        if query > largest:
            best = i
            largest = query + rng.laplace(0, 2 / epsilon)
    return best


def bad_noisy_max_or_none(rng, queries, epsilon, threshold):
    """The public candidate has no noise: that nobody beats it tells something of every query."""
    best = -1
    largest = threshold
    for i, query in enumerate(queries):
        value = query + rng.laplace(0, 2 / epsilon)
        if value > largest:
            best, largest = i, value
    return best


_TOP = ([0, 0, 0], [1, -1, -1])
_UP = ([0, 0, 0], [1, 1, 1])

PROGRAMS = (
    Program(noisy_max, "all_queries", "holds", "CheckDP noisymax; ShadowDP; DPGen; StatDP's noisy_max_v1a",
            parameters={"epsilon": 1.0}, pair=_TOP, known="loss found .995 of epsilon"),
    Program(noisy_max_argmax, "all_queries", "holds", "StatDP noisy_max_v1a", pair=_TOP),
    Program(noisy_max_list, "all_queries", "holds", "Dwork and Roth 2014, section 3.3", pair=_TOP),
    Program(noisy_max_flag, "all_queries", "holds", "Dwork and Roth 2014, section 3.3", pair=_TOP),
    Program(noisy_max_last, "all_queries", "holds", "Dwork and Roth 2014, section 3.3", pair=_TOP),
    Program(noisy_min, "all_queries", "holds", "Dwork and Roth 2014, section 3.3 mirrored",
            pair=([1, 1, 1], [0, 2, 2])),
    Program(noisy_max_exponential, "all_queries", "holds", "StatDP noisy_max_v2a; Dwork and Roth 2014", pair=_TOP),
    Program(noisy_max_exponential_argmax, "all_queries", "holds", "StatDP noisy_max_v2a", pair=_TOP),
    Program(noisy_max_monotone, "monotone_queries", "holds", "Dwork and Roth 2014, Claim 3.9",
            pair=([0, 0, 0], [1, 0, 0])),
    Program(noisy_max_exponential_monotone, "monotone_queries", "holds",
            "McKenna and Sheldon 2020 (permute-and-flip)", pair=([0, 0, 0], [1, 0, 0])),
    Program(noisy_max_geometric, "all_queries", "holds",
            "Dwork and Roth 2014, section 3.3, with the noise of Ghosh et al. 2009", pair=_TOP),
    Program(noisy_max_gap, "all_queries", "holds", "Ding et al. 2019, Algorithm 1 (k = 1)", pair=_TOP, hard=True),
    Program(noisy_max_then_value, "all_queries", "holds", "composition; Ding et al. 2019", pair=_TOP),
    Program(noisy_max_of_two_halves, "all_queries", "holds", "composition over a public partition",
            pair=([0] * 4, [1, 1, -1, -1])),
    Program(noisy_max_or_none, "all_queries", "holds", "Dwork and Roth 2014, section 3.3, with a public candidate",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=_TOP),
    Program(bad_noisy_max, "all_queries", "refuted", "CheckDP badnoisymax; StatDP noisy_max_v1b",
            pair=([0] * 6, [1] * 6), known="1.119 epsilon found at n = 3; n/2 epsilon at most"),
    Program(bad_noisy_max_exponential, "all_queries", "refuted", "StatDP noisy_max_v2b", pair=_UP,
            known="no finite epsilon"),
    Program(bad_noisy_max_half_noise, "all_queries", "refuted", "StatDP; Dwork and Roth 2014",
            pair=([0] * 4, [1, -1, -1, -1]), parameters={"epsilon": 2.0},
            known="1.425 epsilon found; 2 epsilon as n grows"),
    Program(bad_noisy_max_exponential_half_noise, "all_queries", "refuted", "McKenna and Sheldon 2020",
            parameters={"epsilon": 2.0}, pair=([0] * 4, [1, -1, -1, -1]), known="at most 2 epsilon"),
    Program(bad_noisy_max_one_noise, "all_queries", "refuted", "ours", pair=([0, 1], [1, 0]),
            known="no finite epsilon"),
    Program(bad_noisy_max_first_without_noise, "all_queries", "refuted", "ours", parameters={"epsilon": 2.0},
            pair=([1, 0, 0, 0], [0, 1, 1, 1]), known="n - 1 times epsilon"),
    Program(bad_noisy_max_or_none, "all_queries", "refuted", "ours", parameters={"epsilon": 1.0, "threshold": 0.0},
            pair=([0] * 4, [1] * 4), known="n/2 epsilon"),
    Program(bad_noisy_max_same_value, "all_queries", "refuted", "after StatDP noisy_max_v1b", pair=([0] * 8, [1] * 8),
            parameters={"epsilon": 1.0}, known="n/2 epsilon"),
    Program(bad_noisy_max_raw_challenger, "all_queries", "refuted", "ours", pair=([3, 0, 3], [4, -1, 4]),
            known="2 epsilon at n = 3"),
)  # fmt: skip
