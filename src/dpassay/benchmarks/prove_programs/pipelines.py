"""Whole releases: clip, count, sum, noise, round; budgets split over parts; adaptive choices; and broken twins.

C. Dwork, A. Roth: The Algorithmic Foundations of Differential Privacy (2014), sections 3.3 and 3.5. R. Rogers et al.:
Privacy Odometers and Filters (NeurIPS 2016). F. McSherry: Privacy Integrated Queries (SIGMOD 2009). R. Wilson et al.:
Differentially Private SQL with Bounded User Contribution (PoPETs 2020). T. Stadler et al.: Synthetic Data (USENIX
Security 2022). Clutch-DP has proofs of `auto_avg`, a privacy filter and a cache, by hand in Rocq.
"""

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def clip_sum_noise_round(rng, values, epsilon, bound):
    """A rounded noisy sum of clipped values."""
    clipped = np.clip(values, 0, bound)
    noisy = clipped.sum() + rng.laplace(0, bound / epsilon)
    return round(float(noisy))


def mean_of_added(rng, values, epsilon, bound):
    """The mean as a noisy sum over a noisy count, when records come and go."""
    total = sum(min(max(value, 0), bound) for value in values) + rng.laplace(0, 2 * bound / epsilon)
    count = len(values) + rng.laplace(0, 2 / epsilon)
    return total / max(count, 1)


def mean_and_variance(rng, values, epsilon, bound):
    """Half of the budget for the sum, half for the sum of squares."""
    half = epsilon / 2
    total = squares = 0.0
    for value in values:
        clipped = max(0, min(value, bound))
        total += clipped
        squares += clipped * clipped
    noisy_total = total + rng.laplace(0, bound / half)
    noisy_squares = squares + rng.laplace(0, bound**2 / half)
    n = max(len(values), 1)
    mean = noisy_total / n
    return mean, noisy_squares / n - mean * mean


def count_then_sum(rng, values, epsilon, bound, least):
    """The sum is only asked for when a noisy count is large enough."""
    count = len(values) + rng.laplace(0, 2 / epsilon)
    if count < least:
        return None
    return np.clip(values, -bound, bound).sum() + rng.laplace(0, 2 * bound / epsilon)


def two_groups(rng, values, epsilon, split):
    """Counts of two disjoint groups: an added record is in one of them."""
    low = sum(1 for value in values if value < split)
    high = len(values) - low
    return low + rng.laplace(0, 1 / epsilon), high + rng.laplace(0, 1 / epsilon)


def large_cells(rng, counts, epsilon, least):
    """Only noisy cells above a public limit are shown."""
    shown = []
    for i, count in enumerate(counts):
        noisy = count + rng.laplace(0, 1 / epsilon)
        if noisy >= least:
            shown.append((i, noisy))
    return shown


def sorted_cells(rng, counts, epsilon):
    """Noisy cells, sorted."""
    return sorted(count + rng.laplace(0, 1 / epsilon) for count in counts)


def normalized_cells(rng, counts, epsilon):
    """Noisy cells without negative ones, as shares."""
    noisy = np.maximum(np.asarray(counts) + rng.laplace(0, 1 / epsilon, size=len(counts)), 0)
    return noisy / max(noisy.sum(), 1)


def largest_cell(rng, counts, epsilon):
    """The largest noisy cell and its value: a post-processed histogram, so both may be told."""
    noisy = np.asarray(counts) + rng.laplace(0, 1 / epsilon, size=len(counts))
    return int(np.argmax(noisy)), noisy.max()


def median_by_bisection(rng, values, epsilon, low, high, steps: int):
    """Bisection by noisy counts below the middle."""
    for _ in range(steps):
        middle = (low + high) / 2
        below = sum(value < middle for value in values) + rng.laplace(0, steps / epsilon)
        if below < len(values) / 2:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def descent(rng, values, epsilon, steps: int, rate):
    """Noisy gradient descent to the median: every step has its share of the budget."""
    place = 0.0
    path = []
    for _ in range(steps):
        gradient = 0
        for value in values:
            gradient += 1 if place > value else -1
        place -= rate * (gradient + rng.laplace(0, 2 * steps / epsilon))
        path.append(place)
    return path


def sparse_then_sum(rng, queries, epsilon, threshold):
    """Finds a query above a threshold with half of the budget, and answers it with the rest."""
    limit = threshold + rng.laplace(0, 4 / epsilon)
    for i, query in enumerate(queries):
        if query + rng.laplace(0, 8 / epsilon) >= limit:
            return i, query + rng.laplace(0, 2 / epsilon)
    return None


def privacy_filter(rng, queries, epsilon, costs: list[float]):
    """Answers queries at public prices until the next one cannot be paid."""
    spent = 0.0
    answers = []
    for query, cost in zip(queries, costs, strict=False):
        if cost <= 0 or spent + cost > epsilon:
            break
        spent += cost
        answers.append(query + rng.laplace(0, 1 / cost))
    return answers


def exact_cache(rng, counts, epsilon, asked: list[int]):
    """Every cell has one noisy answer, however often it is asked for."""
    cache = {}
    answers = []
    for cell in asked:
        if cell not in cache:
            cache[cell] = counts[cell] + rng.laplace(0, 1 / epsilon)
        answers.append(cache[cell])
    return answers


def auto_average(rng, values, epsilon, bounds: list[float]):
    """Searches a clipping bound by a sparse vector over sums, then releases a sum and a count with it."""
    limit = len(values) + rng.laplace(0, 6 / epsilon)
    chosen = bounds[-1]
    for bound in bounds:
        inside = sum(1 for value in values if 0 <= value <= bound)
        if inside + rng.laplace(0, 12 / epsilon) >= limit:
            chosen = bound
            break
    total = sum(min(max(value, 0), chosen) for value in values) + rng.laplace(0, 3 * chosen / epsilon)
    return chosen, total


def lower_and_upper(rng, values, epsilon, bound):
    """Sums of the parts below and above zero."""
    upper = lower = 0
    for value in values:
        clipped = max(-bound, min(value, bound))
        if clipped >= 0:
            upper += clipped
        else:
            lower += clipped
    return lower + rng.laplace(0, bound / epsilon), upper + rng.laplace(0, bound / epsilon)


def noise_stops_early(rng, queries, epsilon):
    """Noisy answers until one is negative, which is public by then."""
    answers = []
    for query in queries:
        noisy = query + rng.laplace(0, 1 / epsilon)
        answers.append(noisy)
        if noisy < 0:
            break
    return answers


def public_decision(rng, queries, epsilon, wanted: int):
    """A public parameter decides what is asked."""
    if wanted < len(queries) and wanted >= 0:
        return queries[wanted] + rng.laplace(0, 1 / epsilon)
    return sum(queries) + rng.laplace(0, 1 / epsilon)


def constant(rng, queries, epsilon):
    """Nothing of the data."""
    return rng.laplace(0, 1 / epsilon)


def bad_two_groups(rng, values, epsilon, split):
    """A changed record may move from one group to the other."""
    low = sum(1 for value in values if value < split)
    high = len(values) - low
    return low + rng.laplace(0, 1 / epsilon), high + rng.laplace(0, 1 / epsilon)


def bad_budget_not_split(rng, values, epsilon, bound):
    """Sum and count have the whole budget each."""
    total = np.clip(values, 0, bound).sum() + rng.laplace(0, bound / epsilon)
    return total, len(values) + rng.laplace(0, 1 / epsilon)


def bad_noise_before_clipping(rng, values, epsilon, bound):
    """One noise is added to every value before clipping instead of once after the sum."""
    noise = rng.laplace(0, bound / epsilon)
    return sum(min(max(value + noise, 0), bound) for value in values)


def bad_mean_of_added(rng, values, epsilon, bound):
    """The exact count divides the noisy sum."""
    if len(values) == 0:
        return 0.0
    return (np.clip(values, 0, bound).sum() + rng.laplace(0, bound / epsilon)) / len(values)


def bad_count_then_raw_sum(rng, values, epsilon, bound, least):
    """The check is noisy, the sum is not."""
    if len(values) + rng.laplace(0, 1 / epsilon) < least:
        return None
    return sum(min(max(value, -bound), bound) for value in values)


def bad_noise_when_asked(rng, values, epsilon, threshold):
    """Noise only on small sums: whether there is any tells the rest."""
    total = sum(values)
    if total < threshold:
        return total + rng.laplace(0, 1 / epsilon)
    return total


def bad_median_by_bisection(rng, values, epsilon, low, high, steps: int):
    """Every step has the whole budget."""
    for _ in range(steps):
        middle = (low + high) / 2
        if sum(value < middle for value in values) + rng.laplace(0, 1 / epsilon) < len(values) / 2:
            low = middle
        else:
            high = middle
    return low, high


def bad_privacy_filter(rng, queries, epsilon, costs: list[float]):
    """The price is checked after it was paid."""
    spent = 0.0
    answers = []
    for query, cost in zip(queries, costs, strict=False):
        if spent > epsilon or cost <= 0:
            break
        answers.append(query + rng.laplace(0, 1 / cost))
        spent += cost
    return answers


def bad_cache(rng, counts, epsilon, asked: list[int]):
    """Nothing is kept: asking again averages the noise away."""
    return [counts[cell] + rng.laplace(0, 1 / epsilon) for cell in asked]


def bad_scale_from_data(rng, values, epsilon):
    """The noise is scaled to the largest value, which is nobody's business."""
    largest = max([abs(value) for value in values] + [1])
    return sum(values) + rng.laplace(0, 2 * largest / epsilon)


def bad_best_of_two(rng, queries, epsilon):
    """Draws two noises and keeps the one that is nearer to the truth."""
    total = sum(queries)
    first = total + rng.laplace(0, 1 / epsilon)
    second = total + rng.laplace(0, 1 / epsilon)
    return first if abs(first - total) < abs(second - total) else second


def bad_difference_of_two(rng, queries, epsilon):
    """The same noise on two sums: their difference is exact."""
    noise = rng.laplace(0, 2 / epsilon)
    return sum(queries) + noise, 2 * sum(queries) + noise


def bad_noise_stops_on_raw(rng, queries, epsilon):
    """Stops where the raw query is negative: the length of the output tells."""
    answers = []
    for query in queries:
        if query < 0:
            break
        answers.append(query + rng.laplace(0, 1 / epsilon))
    return answers


_BOUND = {"epsilon": 1.0, "bound": 2.0}
_POSITIVE = ("bound > 0",)
_ONE = ([0, 0, 0], [1, 0, 0])
_COSTS = {"epsilon": 1.0, "costs": [0.5, 0.25, 0.25, 0.5]}
_MEDIAN = {"epsilon": 1.0, "low": 0.0, "high": 8.0, "steps": 3}

PROGRAMS = (
    Program(clip_sum_noise_round, "replace_one:entry", "holds",
            "Dwork and Roth 2014, Proposition 2.1 (post-processing)", assume=_POSITIVE, parameters=_BOUND,
            pair=([-5, 0], [5, 0])),
    Program(mean_of_added, "add_or_remove_one:entry", "holds", "Li, Lyu, Su and Yang 2016", assume=_POSITIVE,
            parameters=_BOUND, pair=([0, 0], [0, 0, 5])),
    Program(mean_and_variance, "replace_one:entry", "holds", "composition", assume=_POSITIVE, parameters=_BOUND,
            pair=([0, 0], [5, 0])),
    Program(count_then_sum, "add_or_remove_one:entry", "holds",
            "adaptive composition (Dwork and Roth 2014, Theorem 3.16)", assume=_POSITIVE,
            parameters={**_BOUND, "least": 2.0}, pair=([0, 0], [0, 0, 5])),
    Program(two_groups, "add_or_remove_one:entry", "holds", "parallel composition (McSherry 2009, Theorem 4)",
            parameters={"epsilon": 1.0, "split": 0.0}, pair=([1], [1, -1])),
    Program(large_cells, "one_query", "holds", "post-processing", parameters={"epsilon": 1.0, "least": 0.5},
            pair=_ONE),
    Program(sorted_cells, "one_query", "holds", "post-processing", pair=([0], [1])),
    Program(normalized_cells, "one_query", "holds", "post-processing", pair=([5], [4])),
    Program(largest_cell, "one_query", "holds", "post-processing", pair=([3, 0, 0], [4, 0, 0])),
    Program(median_by_bisection, "replace_one:entry", "holds", "adaptive composition", assume=("steps >= 1",),
            parameters=_MEDIAN, pair=([0, 5, 5], [7.9, 5, 5])),
    Program(descent, "replace_one:entry", "holds", "adaptive composition", assume=("steps >= 1",),
            parameters={"epsilon": 1.0, "steps": 2, "rate": 0.1}, pair=([-5, 0], [5, 0])),
    Program(sparse_then_sum, "all_queries", "holds", "composition", parameters={"epsilon": 1.0, "threshold": 0.0},
            pair=([0, 0, 0, 1], [1, 1, 1, 0])),
    Program(privacy_filter, "all_queries", "holds", "Rogers et al. 2016; Clutch-DP", parameters=_COSTS,
            pair=([0] * 4, [1] * 4)),
    Program(exact_cache, "one_query", "holds", "Clutch-DP, exact cache",
            parameters={"epsilon": 1.0, "asked": [0, 1, 0, 0]}, pair=([0, 0], [1, 0])),
    Program(auto_average, "add_or_remove_one:entry", "holds", "after Clutch-DP, auto_avg",
            parameters={"epsilon": 1.0, "bounds": [1.0, 2.0, 4.0]}, pair=([0.5, 0.5, 9], [0.5, 0.5]), hard=True),
    Program(lower_and_upper, "add_or_remove_one:entry", "holds", "parallel composition", assume=_POSITIVE,
            parameters=_BOUND, pair=([5], [5, -5])),
    Program(noise_stops_early, "one_query", "holds", "post-processing", pair=_ONE),
    Program(public_decision, "one_query", "holds", "Dwork and Roth 2014, section 3.3",
            parameters={"epsilon": 1.0, "wanted": 0}, pair=_ONE),
    Program(constant, "all_queries", "holds", "ours", claim="0", pair=([0], [1]), known="0"),
    Program(bad_two_groups, "replace_one:entry", "refuted", "after McSherry 2009",
            parameters={"epsilon": 1.0, "split": 0.0}, pair=([1, 1], [1, -1]), known="2 epsilon"),
    Program(bad_budget_not_split, "add_or_remove_one:entry", "refuted", "ours", assume=_POSITIVE, parameters=_BOUND,
            pair=([0], [0, 5]), known="2 epsilon"),
    Program(bad_noise_before_clipping, "replace_one:entry", "refuted", "ours", assume=_POSITIVE, parameters=_BOUND,
            pair=([9], [-9]), known="no finite epsilon"),
    Program(bad_mean_of_added, "add_or_remove_one:entry", "refuted", "ours, after Wilson et al. 2020",
            assume=_POSITIVE, parameters=_BOUND, pair=([0], [0, 2]), known="no finite epsilon: scales differ"),
    Program(bad_count_then_raw_sum, "add_or_remove_one:entry", "refuted", "ours", assume=_POSITIVE,
            parameters={**_BOUND, "least": 2.0}, pair=([0, 0], [0, 0, 1]), known="no finite epsilon"),
    Program(bad_noise_when_asked, "one_query", "refuted", "ours", parameters={"epsilon": 1.0, "threshold": 0.5},
            pair=([0], [1]), known="no finite epsilon"),
    Program(bad_median_by_bisection, "replace_one:entry", "refuted", "ours", assume=("steps >= 1",),
            parameters=_MEDIAN, pair=([9, 9], [-9, 9]), known="steps times epsilon"),
    Program(bad_privacy_filter, "all_queries", "refuted", "after Rogers et al. 2016",
            parameters={"epsilon": 1.0, "costs": [0.9, 0.9, 0.9]}, pair=([0] * 4, [1] * 4),
            known="epsilon and the last price"),
    Program(bad_cache, "one_query", "refuted", "after Clutch-DP", parameters={"epsilon": 1.0, "asked": [0, 1, 0, 0]},
            pair=([0, 0], [1, 0]), known="epsilon times the largest number of equal questions"),
    Program(bad_scale_from_data, "one_query", "refuted", "ours", pair=([1, 0], [2, 0]),
            known="no finite epsilon: scales differ"),
    Program(bad_best_of_two, "one_query", "refuted", "ours", parameters={"epsilon": 1.0}, pair=_ONE,
            known="2 epsilon"),
    Program(bad_difference_of_two, "one_query", "refuted", "ours", pair=_ONE, known="no finite epsilon"),
    Program(bad_noise_stops_on_raw, "one_query", "refuted", "ours", pair=([0, 0], [-1, 0]),
            known="no finite epsilon"),
)  # fmt: skip
