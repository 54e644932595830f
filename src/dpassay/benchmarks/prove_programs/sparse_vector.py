"""The sparse vector technique: the variants of Lyu et al., of CheckDP, ShadowDP and StatDP, and their broken twins.

M. Lyu, D. Su, N. Li: Understanding the Sparse Vector Technique for Differential Privacy (PVLDB 2017). Y. Wang, Z. Ding,
D. Kifer, D. Zhang: CheckDP (CCS 2020). Y. Wang et al.: Proving Differential Privacy with Shadow Execution (PLDI 2019).
Z. Ding et al.: Detecting Violations of Differential Privacy (CCS 2018), whose tool is StatDP; Free Gap Information from
the Differentially Private Sparse Vector and Noisy Max Mechanisms (PVLDB 2019).
"""

import math

from dpassay.benchmarks.prove_programs.record import Program


def above_threshold(rng, queries, epsilon, c: int, threshold):
    """One bit for every query, until c were above."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers = []
    count = 0
    i = 0
    while count < c and i < len(queries):
        if queries[i] + rng.laplace(0, 4 * c / epsilon) >= noisy_threshold:
            answers.append(True)
            count = count + 1
        else:
            answers.append(False)
        i = i + 1
    return answers


def sparse_vector_lyu_1(rng, queries, epsilon, c: int, threshold):
    """Half of the budget for the threshold, half for the answers above it."""
    epsilon_1 = epsilon / 2
    epsilon_2 = epsilon - epsilon_1
    rho = rng.laplace(scale=1 / epsilon_1)
    answers, count = [], 0
    for query in queries:
        nu = rng.laplace(scale=2 * c / epsilon_2)
        if query + nu >= threshold + rho:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def sparse_vector_lyu_2(rng, queries, epsilon, c: int, threshold):
    """The threshold gets fresh noise after every answer above it."""
    epsilon_1 = epsilon / 2
    epsilon_2 = epsilon - epsilon_1
    rho = rng.laplace(0, c / epsilon_1)
    count = 0
    answers = []
    for query in queries:
        nu = rng.laplace(0, 2 * c / epsilon_1)
        if query + nu >= threshold + rho:
            answers.append("above")
            rho = rng.laplace(0, c / epsilon_2)
            count += 1
            if count >= c:
                return answers
        else:
            answers.append("below")
    return answers


def sparse_vector_lyu_3(rng, queries, epsilon, c: int, threshold):
    """Publishes the noisy query that was compared."""
    epsilon_1 = epsilon / 2
    epsilon_2 = epsilon - epsilon_1
    rho = rng.laplace(0, 1 / epsilon_1)
    answers, count = [], 0
    for query in queries:
        noisy = query + rng.laplace(0, c / epsilon_2)
        if noisy >= threshold + rho:
            answers.append(noisy)
            count += 1
            if count >= c:
                break
        else:
            answers.append(None)
    return answers


def sparse_vector_lyu_4(rng, queries, epsilon, c: int, threshold):
    """The noise of the queries does not grow with c."""
    epsilon_1 = epsilon / 4
    epsilon_2 = epsilon - epsilon_1
    rho = rng.laplace(0, 1 / epsilon_1)
    answers, count = [], 0
    for query in queries:
        nu = rng.laplace(0, 1 / epsilon_2)
        if query + nu >= threshold + rho:
            answers.append(1)
            count += 1
            if count >= c:
                break
        else:
            answers.append(0)
    return answers


def sparse_vector_lyu_5(rng, queries, epsilon, threshold):
    """No noise on the queries, and no cut-off."""
    rho = rng.laplace(0, 2 / epsilon)
    return [query >= threshold + rho for query in queries]


def sparse_vector_lyu_6(rng, queries, epsilon, threshold):
    """No cut-off."""
    epsilon_1 = epsilon / 2
    epsilon_2 = epsilon - epsilon_1
    rho = rng.laplace(0, 1 / epsilon_1)
    answers = []
    for query in queries:
        if query + rng.laplace(0, 1 / epsilon_2) >= threshold + rho:
            answers.append(True)
        else:
            answers.append(False)
    return answers


def sparse_vector_lyu_7(rng, queries, epsilon_1, epsilon_2, epsilon_3, c: int, threshold):
    """Budgets for the threshold, the comparisons and the published numbers."""
    rho = rng.laplace(0, 1 / epsilon_1)
    answers, count = [], 0
    for query in queries:
        if query + rng.laplace(0, 2 * c / epsilon_2) >= threshold + rho:
            answers.append(query + rng.laplace(0, c / epsilon_3))
            count += 1
            if count >= c:
                break
        else:
            answers.append(None)
    return answers


def sparse_vector_lyu_7_monotone(rng, queries, epsilon_1, epsilon_2, c: int, threshold):
    """Half of the noise on queries that all move the same way."""
    rho = rng.laplace(0, 1 / epsilon_1)
    answers, count = [], 0
    for query in queries:
        if count == c:
            break
        above = query + rng.laplace(0, c / epsilon_2) >= threshold + rho
        if above:
            count += 1
        answers.append(above)
    return answers


def sparse_vector_once(rng, queries, epsilon, threshold):
    """The index of the first query above the threshold."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    for i, query in enumerate(queries):
        if query + rng.laplace(0, 4 / epsilon) >= noisy_threshold:
            return i
    return None


def gap_sparse_vector(rng, queries, epsilon, c: int, threshold):
    """Publishes by how much the noisy query passes the noisy threshold."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers = []
    count = i = 0
    while count < c and i < len(queries):
        gap = queries[i] + rng.laplace(0, 4 * c / epsilon) - noisy_threshold
        if gap >= 0:
            answers.append(gap)
            count += 1
        else:
            answers.append(False)
        i += 1
    return answers


def gap_sparse_vector_once(rng, queries, epsilon, threshold):
    """Index and gap of the first query above."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    for i in range(len(queries)):
        noisy = queries[i] + rng.laplace(0, 4 / epsilon)
        if noisy >= noisy_threshold:
            return i, noisy - noisy_threshold
    return -1, 0.0


def numeric_sparse_vector(rng, queries, epsilon, c: int, threshold):
    """A number with fresh noise for every query above."""
    noisy_threshold = threshold + rng.laplace(0, 3 / epsilon)
    answers = []
    count, i = 0, 0
    while count < c and i < len(queries):
        comparison = rng.laplace(0, 6 * c / epsilon)
        if queries[i] + comparison >= noisy_threshold:
            answers.append(queries[i] + rng.laplace(0, 3 * c / epsilon))
            count += 1
        else:
            answers.append(0)
        i += 1
    return answers


def numeric_sparse_vector_once(rng, queries, epsilon, threshold):
    """The first number above, with fresh noise."""
    noisy_threshold = threshold + rng.laplace(0, 3 / epsilon)
    for i in range(len(queries)):
        if queries[i] + rng.laplace(0, 6 / epsilon) >= noisy_threshold:
            return (i, queries[i] + rng.laplace(0, 3 / epsilon))
    return (-1, 0)


def adaptive_sparse_vector(rng, queries, epsilon, c: int, threshold):
    """Queries far above the threshold cost half; stops when another answer might not be paid."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    spent = epsilon / 2
    answers = []
    i = 0
    while i < len(queries):
        far = queries[i] + rng.laplace(0, 8 * c / epsilon) - noisy_threshold
        if far >= 16:
            answers.append(far)
            spent = spent + epsilon / (4 * c)
        else:
            near = queries[i] + rng.laplace(0, 4 * c / epsilon) - noisy_threshold
            if near >= 0:
                answers.append(near)
                spent = spent + epsilon / (2 * c)
            else:
                answers.append(0)
        i = i + 1
        if spent > epsilon - epsilon / (2 * c):
            break
    return answers


def sparse_vector_increasing(rng, queries, epsilon, c: int, threshold):
    """Half of the noise on monotone queries (CheckDP's precondition INCREASING)."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers, count, i = [], 0, 0
    while count < c and i < len(queries):
        noisy = queries[i] + rng.laplace(0, 2 * c / epsilon)
        if noisy >= noisy_threshold:
            answers.append(1)
            count = count + 1
        else:
            answers.append(0)
        i = i + 1
    return answers


def sparse_vector_decreasing(rng, queries, epsilon, c: int, threshold):
    """The same, written with a for loop and the comparison turned (CheckDP's precondition DECREASING)."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers = []
    left = c
    for i in range(len(queries)):
        if left <= 0:
            break
        if noisy_threshold <= queries[i] + rng.laplace(0, 2 * c / epsilon):
            answers.append(1)
            left -= 1
        else:
            answers.append(0)
    return answers


def below_threshold(rng, queries, epsilon, threshold):
    """How many queries come before the first one below the threshold."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    seen = 0
    for query in queries:
        if query + rng.laplace(0, 4 / epsilon) < limit:
            break
        seen += 1
    return seen


def sparse_vector_of_thresholds(rng, queries, epsilon, thresholds: list[float]):
    """A public threshold for every query, one noise for all thresholds."""
    rho = rng.laplace(0, 2 / epsilon)
    answers = []
    for query, threshold in zip(queries, thresholds, strict=False):
        if query + rng.laplace(0, 4 / epsilon) >= threshold + rho:
            answers.append(True)
            break
        answers.append(False)
    return answers


def _noisy(rng, value, scale):
    return value + rng.laplace(0, scale)


def sparse_vector_with_helper(rng, queries, epsilon, c: int, threshold):
    """All noise is drawn by a helper."""
    limit = _noisy(rng, threshold, 2 / epsilon)
    count = 0
    positives = []
    for i, query in enumerate(queries):
        if _noisy(rng, query, 4 * c / epsilon) > limit:
            positives.append(i)
            count += 1
        if count >= c:
            break
    return positives


def sparse_vector_exponential(rng, queries, epsilon, c: int, threshold):
    """One-sided noise: every shift of the proof is at least 0, so it serves as well."""
    limit = threshold + rng.exponential(2 / epsilon)
    answers, count = [], 0
    for query in queries:
        if query + rng.exponential(4 * c / epsilon) >= limit:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def sparse_vector_geometric(rng, queries: list[int], epsilon, threshold: int):
    """Integer queries and two-sided geometric noise; stops at the first query above."""
    p = 1 - math.exp(-epsilon / 2)
    q = 1 - math.exp(-epsilon / 4)
    limit = threshold + rng.geometric(p) - rng.geometric(p)
    for i in range(len(queries)):
        if queries[i] + rng.geometric(q) - rng.geometric(q) >= limit:
            return i
    return len(queries)


def sparse_vector_two_passes(rng, queries, epsilon, threshold):
    """Two runs with half of the budget each."""
    found = []
    for _ in range(2):
        limit = threshold + rng.laplace(0, 4 / epsilon)
        place = -1
        for i, query in enumerate(queries):
            if query + rng.laplace(0, 8 / epsilon) >= limit:
                place = i
                break
        found.append(place)
    return tuple(found)


def bad_sparse_vector_threshold_without_noise(rng, queries, epsilon, c: int, threshold):
    """All the budget for the queries: what is below is no longer free."""
    answers, count = [], 0
    for query in queries:
        if query + rng.laplace(0, 2 * c / epsilon) >= threshold:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def bad_sparse_vector_without_cutoff(rng, queries, epsilon, threshold):
    """Noise for one answer above, but it never stops."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers = []
    for query in queries:
        answers.append(query + rng.laplace(0, 4 / epsilon) >= noisy_threshold)
    return answers


def bad_sparse_vector_count_is_reset(rng, queries, epsilon, c: int, threshold):
    """Counts answers above in a row instead of all."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    answers, count = [], 0
    for query in queries:
        if query + rng.laplace(0, 4 * c / epsilon) >= limit:
            answers.append(True)
            count += 1
            if count >= c + 1:
                break
        else:
            answers.append(False)
            count = 0
    return answers


def bad_sparse_vector_half_noise(rng, queries, epsilon, c: int, threshold):
    """The noise for monotone queries, on queries that are not."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers, count = [], 0
    for query in queries:
        if query + rng.laplace(0, 2 * c / epsilon) >= noisy_threshold:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def bad_sparse_vector_raw_value(rng, queries, epsilon, threshold):
    """The first query above is published as it is."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    for query in queries:
        if query + rng.laplace(0, 4 / epsilon) >= limit:
            return query
    return None


def bad_sparse_vector_noise_reused(rng, queries, epsilon, c: int, threshold):
    """One noise for all queries: only the threshold is blurred."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    nu = rng.laplace(0, 4 * c / epsilon)
    answers, count = [], 0
    for query in queries:
        if query + nu >= limit:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def bad_gap_sparse_vector(rng, queries, epsilon, c: int, threshold):
    """Publishes the noisy query, which was compared, instead of the gap."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    answers = []
    count = i = 0
    while count < c and i < len(queries):
        noisy = queries[i] + rng.laplace(0, 4 * c / epsilon)
        if noisy >= noisy_threshold:
            answers.append(noisy)
            count += 1
        else:
            answers.append(False)
        i += 1
    return answers


def bad_adaptive_sparse_vector(rng, queries, epsilon, c: int, threshold):
    """The first branch publishes the noisy query instead of the gap."""
    noisy_threshold = threshold + rng.laplace(0, 2 / epsilon)
    spent = epsilon / 2
    answers = []
    for query in queries:
        far = query + rng.laplace(0, 8 * c / epsilon)
        if far - noisy_threshold >= 16:
            answers.append(far)
            spent += epsilon / (4 * c)
        else:
            near = query + rng.laplace(0, 4 * c / epsilon) - noisy_threshold
            if near >= 0:
                answers.append(near)
                spent += epsilon / (2 * c)
            else:
                answers.append(0)
        if spent > epsilon - epsilon / (2 * c):
            break
    return answers


def bad_adaptive_sparse_vector_unpaid(rng, queries, epsilon, c: int, threshold):
    """Answers near the threshold are not paid for."""
    limit = threshold + rng.laplace(0, 2 / epsilon)
    spent = epsilon / 2
    answers = []
    for query in queries:
        if query + rng.laplace(0, 8 * c / epsilon) - limit >= 16:
            answers.append(2)
            spent += epsilon / (4 * c)
        elif query + rng.laplace(0, 4 * c / epsilon) - limit >= 0:
            answers.append(1)
        else:
            answers.append(0)
        if spent > epsilon - epsilon / (2 * c):
            break
    return answers


def bad_numeric_sparse_vector(rng, queries, epsilon, c: int, threshold):
    """The published numbers have noise for one answer, however many there are."""
    limit = threshold + rng.laplace(0, 3 / epsilon)
    answers, count = [], 0
    for query in queries:
        if count >= c:
            break
        if query + rng.laplace(0, 6 * c / epsilon) >= limit:
            answers.append(query + rng.laplace(0, 3 / epsilon))
            count += 1
        else:
            answers.append(None)
    return answers


_LYU = "Lyu et al. 2017, Algorithm {}"
_CHECKDP = "CheckDP (2020), {}"
_ONE = {"epsilon": 1.0, "c": 1, "threshold": 0.0}
_C = ("c >= 1",)
_PAIR = ([0, 0, 0, 0, 1], [1, 1, 1, 1, 0])
"""Four queries below a threshold that moves with them, one above that moves against it."""

PROGRAMS = (
    Program(above_threshold, "all_queries", "holds", _CHECKDP.format("sparsevector; ShadowDP; DPGen; StatDP's SVT"),
            assume=_C, parameters=_ONE, pair=_PAIR, known="CheckDP: proved; loss found .997 of epsilon"),
    Program(sparse_vector_lyu_1, "all_queries", "holds", _LYU.format(1), assume=_C, parameters=_ONE, pair=_PAIR),
    Program(sparse_vector_lyu_2, "all_queries", "holds", _LYU.format("2, Dwork and Roth 2014"), assume=_C,
            parameters=_ONE, pair=_PAIR),
    Program(sparse_vector_lyu_3, "all_queries", "refuted", _LYU.format("3, Roth 2011; StatDP's iSVT4"), assume=_C,
            parameters=_ONE, pair=([0, 0, 0, 0], [1, 1, 1, -1]),
            known="no finite epsilon; 1.161 epsilon found at few queries"),
    Program(sparse_vector_lyu_4, "all_queries", "refuted",
            _LYU.format("4, Lee and Clifton 2014; CheckDP badsparsevector3"), assume=_C, parameters={**_ONE, "c": 3},
            pair=([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]), known="(1 + 6 c)/4 epsilon exactly"),
    Program(sparse_vector_lyu_4, "all_queries", "holds", _LYU.format("4 at its own bound"),
            claim="(1 + 6 * c) / 4 * epsilon", assume=_C, parameters={**_ONE, "c": 1}, pair=_PAIR),
    Program(sparse_vector_lyu_5, "all_queries", "refuted",
            _LYU.format("5, Stoddard et al. 2014; CheckDP badsparsevector1; StatDP's iSVT1"),
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([0, 1], [1, 0]), known="no finite epsilon"),
    Program(sparse_vector_lyu_6, "all_queries", "refuted",
            _LYU.format("6, Chen et al. 2015; CheckDP badsparsevector2; StatDP's iSVT2"),
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]),
            known="no finite epsilon; 1.077 epsilon found at few queries"),
    Program(sparse_vector_lyu_7, "all_queries", "holds", _LYU.format(7), claim="epsilon_1 + epsilon_2 + epsilon_3",
            assume=_C, parameters={"epsilon_1": 0.3, "epsilon_2": 0.5, "epsilon_3": 0.2, "c": 1, "threshold": 0.0},
            pair=_PAIR),
    Program(sparse_vector_lyu_7_monotone, "monotone_queries", "holds", "Lyu et al. 2017, section 4.3", assume=_C,
            claim="epsilon_1 + epsilon_2", parameters={"epsilon_1": 0.5, "epsilon_2": 0.5, "c": 1, "threshold": 0.0},
            pair=([0, 0, 0, 0], [1, 1, 1, 1])),
    Program(sparse_vector_once, "all_queries", "holds",
            "ShadowDP (2019), sparse vector with N = 1; Dwork and Roth 2014, Algorithm 1",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=_PAIR),
    Program(gap_sparse_vector, "all_queries", "holds", _CHECKDP.format("gapsparsevector; Ding et al. 2019"),
            assume=_C, parameters=_ONE, pair=_PAIR),
    Program(gap_sparse_vector_once, "all_queries", "holds", "ShadowDP (2019), gap sparse vector",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=_PAIR),
    Program(numeric_sparse_vector, "all_queries", "holds",
            _CHECKDP.format("numsparsevector; ShadowDP; DPGen; Dwork and Roth 2014, Algorithm 3"), assume=_C,
            parameters=_ONE, pair=_PAIR, known="loss found .986 of epsilon"),
    Program(numeric_sparse_vector_once, "all_queries", "holds", "ShadowDP (2019), numerical sparse vector with N = 1",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=_PAIR),
    Program(adaptive_sparse_vector, "all_queries", "holds",
            _CHECKDP.format("adaptivesparsevector; DPGen; Ding et al. 2019"), assume=_C, parameters=_ONE, pair=_PAIR,
            known="loss found .857 of epsilon"),
    Program(sparse_vector_increasing, "monotone_queries", "holds", _CHECKDP.format("svt_increasing"), assume=_C,
            parameters=_ONE, pair=([0, 0, 0, 0], [1, 1, 1, 1])),
    Program(sparse_vector_decreasing, "monotone_queries", "holds", _CHECKDP.format("svt_decreasing"), assume=_C,
            parameters=_ONE, pair=([1, 1, 1, 1], [0, 0, 0, 0])),
    Program(below_threshold, "all_queries", "holds", "Dwork and Roth 2014, Algorithm 1 mirrored",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([1, 1, 1, 1, 0], [0, 0, 0, 0, 1])),
    Program(sparse_vector_of_thresholds, "all_queries", "holds", "Lyu et al. 2017, Algorithm 1 with T_i",
            parameters={"epsilon": 1.0, "thresholds": [0, 1, 0, 1, 0]}, pair=_PAIR),
    Program(sparse_vector_with_helper, "all_queries", "holds", _LYU.format("1, with a helper"), assume=_C,
            parameters=_ONE, pair=_PAIR),
    Program(sparse_vector_exponential, "all_queries", "holds", "ours; shifts of Lyu et al. 2017 are at least 0",
            assume=_C, parameters=_ONE, pair=_PAIR),
    Program(sparse_vector_geometric, "all_queries", "holds",
            "Dwork and Roth 2014, Algorithm 1 with the noise of Ghosh et al. 2009",
            parameters={"epsilon": 1.0, "threshold": 0}, pair=_PAIR),
    Program(sparse_vector_two_passes, "all_queries", "holds", "composition (Dwork and Roth 2014, Theorem 3.16)",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=_PAIR),
    Program(bad_sparse_vector_threshold_without_noise, "all_queries", "refuted",
            "ours, after Lyu et al. 2017, section 3", assume=_C, parameters=_ONE, pair=([0] * 4, [1] * 4),
            known="n/2 epsilon for n queries"),
    Program(bad_sparse_vector_without_cutoff, "all_queries", "refuted", "ours, after Lyu et al. 2017, Algorithm 6",
            parameters={"epsilon": 2.0, "threshold": 0.0}, pair=([0] * 6 + [1] * 6, [1] * 6 + [0] * 6),
            known="no finite epsilon; 1.011 epsilon found at n = 5"),
    Program(bad_sparse_vector_count_is_reset, "all_queries", "refuted", "ours", assume=_C,
            parameters={**_ONE, "epsilon": 4.0}, pair=([0, -9, 1, -9] * 8, [1, -9, 0, -9] * 8)),
    Program(bad_sparse_vector_half_noise, "all_queries", "refuted", "ours, after Lyu et al. 2017, section 4.3",
            assume=_C, parameters={**_ONE, "epsilon": 2.0}, pair=([0, 0, 0, 0, 1], [1, 1, 1, 1, 0]),
            known="3/2 epsilon"),
    Program(bad_sparse_vector_raw_value, "all_queries", "refuted", "ours",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([0], [1]), known="no finite epsilon"),
    Program(bad_sparse_vector_noise_reused, "all_queries", "refuted", "ours, after Lyu et al. 2017, Algorithm 5",
            assume=_C, parameters=_ONE, pair=([0, 1], [1, 0]), known="no finite epsilon"),
    Program(bad_gap_sparse_vector, "all_queries", "refuted", _CHECKDP.format("badgapsparsevector"), assume=_C,
            parameters={**_ONE, "epsilon": 2.0}, pair=([0] * 6 + [1], [1] * 6 + [0]), known="1.080 epsilon found"),
    Program(bad_adaptive_sparse_vector, "all_queries", "refuted", _CHECKDP.format("badadaptivesparsevector"),
            assume=_C, parameters={**_ONE, "epsilon": 2.0}, pair=([0] * 6 + [1], [1] * 6 + [0]),
            known="1.25 epsilon found at n = 4"),
    Program(bad_adaptive_sparse_vector_unpaid, "all_queries", "refuted", "ours", assume=_C,
            parameters={**_ONE, "epsilon": 2.0}, pair=([0] * 6 + [1] * 6, [1] * 6 + [0] * 6)),
    Program(bad_numeric_sparse_vector, "all_queries", "refuted", "ours", assume=_C,
            parameters={**_ONE, "c": 9, "threshold": -90.0}, pair=([0] * 9, [1] * 9), known="(2 + c)/3 epsilon"),
)  # fmt: skip
