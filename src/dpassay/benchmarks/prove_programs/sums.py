"""Noisy sums, counts, histograms and their running versions, and broken twins.

C. Dwork, A. Roth: The Algorithmic Foundations of Differential Privacy (2014). T.-H. H. Chan, E. Shi, D. Song: Private
and Continual Release of Statistics (TISSEC 2011). C. Dwork et al.: Differential Privacy under Continual Observation
(STOC 2010). CheckDP, ShadowDP, StatDP: the programs of these names.
"""

import math

import numpy as np

from dpassay.benchmarks.prove_programs.record import Program


def partial_sum(rng, queries, epsilon):
    """The sum."""
    total = 0
    i = 0
    while i < len(queries):
        total = total + queries[i]
        i = i + 1
    return total + rng.laplace(0, 1 / epsilon)


def partial_sum_builtin(rng, queries, epsilon):
    """The sum, as one writes it."""
    return sum(queries) + rng.laplace(scale=1 / epsilon)


def prefix_sum(rng, queries, epsilon):
    """All running sums of noisy entries."""
    answers = []
    total = 0
    for query in queries:
        total += query + rng.laplace(0, 1 / epsilon)
        answers.append(total)
    return answers


def prefix_sum_cumsum(rng, queries, epsilon):
    """The same by `numpy.cumsum`."""
    noisy = np.array(queries) + rng.laplace(0, 1 / epsilon, size=len(queries))
    return np.cumsum(noisy)


def smart_sum(rng, queries, epsilon, block: int):
    """Running sums: noise for every entry, and for every block that is full."""
    answers = []
    total = done = running = 0
    for i, query in enumerate(queries):
        if (i + 1) % block == 0:
            done += total + query + rng.laplace(0, 1 / epsilon)
            running = done
            total = 0
        else:
            running += query + rng.laplace(0, 1 / epsilon)
            total += query
        answers.append(running)
    return answers


def smart_sum_checkdp(rng, queries, epsilon, block: int, last: int):
    """CheckDP's form, for the entries up to a public place."""
    answers = []
    running = 0
    total = 0
    i = 0
    while i <= last and i < len(queries):
        if (i + 1) % block == 0:
            running = total + queries[i] + rng.laplace(0, 1 / epsilon)
            total = 0
            answers.append(running)
        else:
            running = running + queries[i] + rng.laplace(0, 1 / epsilon)
            total = total + queries[i]
            answers.append(running)
        i = i + 1
    return answers


def two_level_sums(rng, queries, epsilon, block: int):
    """A noisy sum for every block of a public length, and every noisy entry."""
    blocks = []
    for start in range(0, len(queries), block):
        total = 0
        for i in range(start, min(start + block, len(queries))):
            total += queries[i]
        blocks.append(total + rng.laplace(0, 2 / epsilon))
    entries = [query + rng.laplace(0, 2 / epsilon) for query in queries]
    return blocks + entries


def tree_counter(rng, queries, epsilon, levels: int):
    """A noisy sum for every dyadic interval of lengths 1, 2, 4, ..."""
    nodes = []
    for level in range(levels):
        width = 2**level
        for start in range(0, len(queries), width):
            nodes.append(sum(queries[start : start + width]) + rng.laplace(0, levels / epsilon))
    return nodes


def tree_counter_online(rng, stream, epsilon, levels: int):
    """The binary mechanism of Chan, Shi and Song: partial sums by the bits of the time."""
    exact = [0] * levels
    noisy = [0] * levels
    answers = []
    for time in range(1, min(len(stream), 2**levels - 1) + 1):
        lowest = 0
        while (time >> lowest) & 1 == 0:
            lowest += 1
        exact[lowest] = stream[time - 1] + sum(exact[:lowest])
        for level in range(lowest):
            exact[level] = 0
            noisy[level] = 0
        noisy[lowest] = exact[lowest] + rng.laplace(0, levels / epsilon)
        answers.append(sum(noisy[level] for level in range(levels) if (time >> level) & 1))
    return answers


def running_sums(rng, stream, epsilon):
    """Fresh noise for every running sum, scaled to their number."""
    n = len(stream)
    total, answers = 0, []
    for value in stream:
        total += value
        answers.append(total + rng.laplace(0, n / epsilon))
    return answers


def moving_sums(rng, stream, epsilon):
    """Every entry together with the one before: in two sums each."""
    return [stream[i] + stream[i - 1] + rng.laplace(0, 2 / epsilon) for i in range(1, len(stream))]


def differences(rng, stream, epsilon):
    """Differences of consecutive entries."""
    answers = []
    for before, after in zip(stream[:-1], stream[1:], strict=True):
        answers.append(after - before + rng.laplace(0, 2 / epsilon))
    return answers


def harmonic_answers(rng, queries, epsilon):
    """Later entries have more noise than one that may change needs."""
    return [query + rng.laplace(0, (i + 1) / epsilon) for i, query in enumerate(queries)]


def histogram(rng, counts, epsilon):
    """Noisy cells, by a list comprehension."""
    return [count + rng.laplace(0, 1 / epsilon) for count in counts]


def histogram_vector(rng, counts, epsilon):
    """Noisy cells, by numpy."""
    return np.asarray(counts) + rng.laplace(scale=1 / epsilon, size=len(counts))


def histogram_first(rng, counts, epsilon):
    """The first noisy cell."""
    noisy = np.asarray(counts, dtype=float) + rng.laplace(scale=1.0 / epsilon, size=len(counts))
    return noisy[0] if len(counts) else None


def histogram_geometric(rng, counts: list[int], epsilon):
    """Integer cells with two-sided geometric noise."""
    p = 1 - math.exp(-epsilon)
    answers = []
    for count in counts:
        answers.append(count + rng.geometric(p) - rng.geometric(p))
    return answers


def histogram_replaced(rng, categories: list[int], epsilon, k: int):
    """Counts of k categories; a changed record changes two of them."""
    counts = [0] * k
    for category in categories:
        counts[category] += 1
    return [count + rng.laplace(0, 2 / epsilon) for count in counts]


def histogram_added(rng, categories: list[int], epsilon, k: int):
    """Counts of k categories; an added record changes one of them."""
    answers = []
    for category in range(k):
        count = sum(1 for each in categories if each == category)
        answers.append(count + rng.laplace(0, 1 / epsilon))
    return answers


def cumulative_counts(rng, values, epsilon, edges: list[float]):
    """How many values are below each public edge; every count may change."""
    scale = len(edges) / epsilon
    return [sum(value < edge for value in values) + rng.laplace(0, scale) for edge in edges]


def count_above(rng, values, epsilon, threshold):
    """How many values are above a public threshold."""
    count = 0
    for value in values:
        if value > threshold:
            count += 1
    return count + rng.laplace(0, 1 / epsilon)


def count_above_geometric(rng, values, epsilon, threshold):
    """An integer count with two-sided geometric noise."""
    p = 1 - math.exp(-epsilon)
    count = int(np.sum(np.array(values) > threshold))
    return count + rng.geometric(p) - rng.geometric(p)


def clipped_sum(rng, values, epsilon, bound):
    """Values clipped to [0, bound]."""
    total = 0
    for value in values:
        total += min(max(value, 0), bound)
    return total + rng.laplace(0, bound / epsilon)


def clipped_sum_numpy(rng, values, epsilon, bound):
    """The same by numpy."""
    return np.clip(np.asarray(values), 0, bound).sum() + rng.laplace(scale=bound / epsilon)


def clipped_sum_symmetric(rng, values, epsilon, bound):
    """Values clipped to [-bound, bound]; a changed one moves the sum by twice that."""
    return sum(max(-bound, min(bound, value)) for value in values) + rng.laplace(0, 2 * bound / epsilon)


def clipped_sum_added(rng, values, epsilon, bound):
    """Values clipped to [-bound, bound]; an added one moves the sum by that."""
    return np.clip(values, -bound, bound).sum() + rng.laplace(0, bound / epsilon)


def clipped_sum_branches(rng, values, epsilon, low, high):
    """Clipping by branches on the private value."""
    total = 0
    for value in values:
        if value < low:
            total += low
        elif value > high:
            total += high
        else:
            total += value
    return total + rng.laplace(0, (high - low) / epsilon)


def clipped_mean(rng, values, epsilon, bound):
    """The mean of values in [0, bound]; their number is public."""
    n = len(values)
    if n == 0:
        return 0.0
    total = sum(min(max(value, 0), bound) for value in values)
    return total / n + rng.laplace(0, bound / (n * epsilon))


def bounded_mean(rng, values, epsilon, bound):
    """The mean of entries that are known to lie in [0, bound]."""
    if len(values) == 0:
        return None
    return np.mean(values) + rng.laplace(scale=bound / (len(values) * epsilon))


def sum_of_squares(rng, values, epsilon, bound):
    """The squares of clipped values lie in [0, bound^2]."""
    total = sum(np.clip(value, -bound, bound) ** 2 for value in values)
    return total + rng.laplace(0, bound**2 / epsilon)


def sum_of_doubles(rng, queries, epsilon):
    """A public factor."""
    total = 0
    for query in queries:
        total += 2 * query
    return total + rng.laplace(0, 2 / epsilon)


def floored_sum(rng, queries, epsilon):
    """A sum of numbers, rounded down: it moves by 1 at most when its argument does; so geometric noise fits."""
    p = 1 - math.exp(-epsilon)
    return math.floor(sum(queries)) + rng.geometric(p) - rng.geometric(p)


def largest_clipped(rng, values, epsilon, bound):
    """The largest of clipped values."""
    largest = 0
    for value in values:
        largest = max(largest, min(value, bound))
    return largest + rng.laplace(0, bound / epsilon)


def bad_partial_sum(rng, queries, epsilon):
    """Half of the noise."""
    total = 0
    for query in queries:
        total = total + query
    return total + rng.laplace(0, 1 / (2 * epsilon))


def bad_smart_sum(rng, queries, epsilon, block: int, last: int):
    """No noise where a block ends."""
    answers = []
    running, total, i = 0, 0, 0
    while i <= last and i < len(queries):
        if (i + 1) % block == 0:
            running = total + queries[i]
            total = 0
        else:
            running = running + queries[i] + rng.laplace(0, 1 / epsilon)
            total = total + queries[i]
        answers.append(running)
        i = i + 1
    return answers


def bad_running_sums(rng, stream, epsilon):
    """Noise for one sum, on every running sum."""
    total, answers = 0, []
    for value in stream:
        total += value
        answers.append(total + rng.laplace(0, 1 / epsilon))
    return answers


def bad_tree_counter(rng, queries, epsilon, levels: int):
    """The budget is not split over the levels."""
    nodes = []
    for level in range(levels):
        for start in range(0, len(queries), 2**level):
            nodes.append(sum(queries[start : start + 2**level]) + rng.laplace(0, 1 / epsilon))
    return nodes


def bad_histogram(rng, counts, epsilon):
    """Noise of scale epsilon instead of 1/epsilon."""
    return np.asarray(counts, dtype=float) + rng.laplace(scale=epsilon, size=len(counts))


def bad_histogram_first(rng, counts, epsilon):
    """The same, of which the first cell is published."""
    noisy = np.asarray(counts, dtype=float) + rng.laplace(scale=epsilon, size=len(counts))
    return noisy[0] if len(counts) else None


def bad_histogram_one_noise(rng, counts, epsilon):
    """One noise for all cells: their differences are exact."""
    noise = rng.laplace(0, 1 / epsilon)
    return [count + noise for count in counts]


def bad_histogram_replaced(rng, categories: list[int], epsilon, k: int):
    """The noise for an added record, where one is changed."""
    counts = [0] * k
    for category in categories:
        counts[category] += 1
    return [count + rng.laplace(0, 1 / epsilon) for count in counts]


def bad_clipped_sum_symmetric(rng, values, epsilon, bound):
    """The noise for an added record, where one is changed."""
    return np.clip(values, -bound, bound).sum() + rng.laplace(0, bound / epsilon)


def bad_clipped_sum_after(rng, values, epsilon, bound):
    """The noisy sum is clipped, its terms are not."""
    noisy = sum(values) + rng.laplace(0, bound / epsilon)
    return min(max(noisy, -100 * bound), 100 * bound)


def bad_clipped_sum_own_range(rng, values, epsilon):
    """Noise scaled to the range that the data show."""
    if len(values) < 2:
        return 0.0
    low, high = min(values), max(values)
    return sum(values) + rng.laplace(0, (high - low + 1) / epsilon)


def bad_mean(rng, values, epsilon, bound):
    """The sensitivity of a mean of values in [0, 1], for values in [0, bound]."""
    if len(values) == 0:
        return None
    return np.mean(np.clip(values, 0, bound)) + rng.laplace(0, 1 / (len(values) * epsilon))


def bad_mean_added(rng, values, epsilon, bound):
    """The exact number of records scales the noise, and adding a record changes it."""
    n = max(len(values), 1)
    return sum(min(max(value, 0), bound) for value in values) / n + rng.laplace(0, bound / (n * epsilon))


def bad_sum_exponential(rng, queries, epsilon):
    """One-sided noise tells that the sum is at most the output."""
    return sum(queries) + rng.exponential(1 / epsilon)


def bad_cumulative_counts(rng, values, epsilon, edges: list[float]):
    """Noise for one count, on every count."""
    return [sum(value < edge for value in values) + rng.laplace(0, 1 / epsilon) for edge in edges]


def bad_differences(rng, stream, epsilon):
    """Every entry is in two differences."""
    return [stream[i + 1] - stream[i] + rng.laplace(0, 1 / epsilon) for i in range(len(stream) - 1)]


def bad_count_beside_exact_length(rng, values, epsilon, threshold):
    """A noisy count, and exactly how many records there are, one of which may be added."""
    count = sum(1 for value in values if value > threshold)
    return count + rng.laplace(0, 1 / epsilon), len(values)


def bad_rounded_sum(rng, queries, epsilon):
    """Rounded to even before the noise: from 1/2 to 3/2 it moves by 2."""
    return round(sum(queries)) + rng.laplace(0, 1 / epsilon)


_ONE = ([0, 0, 0, 0], [1, 0, 0, 0])
_BLOCK = {"epsilon": 1.0, "block": 2}
_BOUND = {"epsilon": 1.0, "bound": 2.0}
_POSITIVE = ("bound > 0",)

PROGRAMS = (
    Program(partial_sum, "one_query", "holds", "CheckDP partialsum; ShadowDP; DPGen", pair=_ONE,
            known="loss found 1.0 of epsilon"),
    Program(partial_sum_builtin, "one_query", "holds", "Dwork and Roth 2014, section 3.3", pair=_ONE),
    Program(prefix_sum, "one_query", "holds", "ShadowDP (2019), prefix sum", pair=_ONE),
    Program(prefix_sum_cumsum, "one_query", "holds", "ShadowDP (2019), prefix sum", pair=_ONE),
    Program(smart_sum, "one_query", "holds", "Chan et al. 2011, two-level counter; ShadowDP", claim="2 * epsilon",
            assume=("block >= 1",), parameters=_BLOCK, pair=_ONE),
    Program(smart_sum_checkdp, "one_query", "holds", "CheckDP smartsum; ShadowDP; DPGen; Chan et al. 2011",
            claim="2 * epsilon", assume=("block >= 1",), parameters={**_BLOCK, "last": 3}, pair=_ONE,
            known="inferred 2 epsilon"),
    Program(two_level_sums, "one_query", "holds", "Chan et al. 2011", assume=("block >= 1",), parameters=_BLOCK,
            pair=_ONE),
    Program(tree_counter, "one_query", "holds", "Dwork et al. 2010; Chan et al. 2011", assume=("levels >= 1",),
            parameters={"epsilon": 1.0, "levels": 2}, pair=_ONE),
    Program(tree_counter_online, "one_query", "holds", "Chan et al. 2011, binary mechanism", assume=("levels >= 1",),
            parameters={"epsilon": 1.0, "levels": 3}, pair=_ONE, hard=True),
    Program(running_sums, "one_query", "holds", "Chan et al. 2011, simple counter", pair=_ONE),
    Program(moving_sums, "one_query", "holds", "ours", pair=([0, 0, 0], [0, 1, 0])),
    Program(differences, "one_query", "holds", "ours", pair=([0, 0, 0], [0, 1, 0])),
    Program(harmonic_answers, "one_query", "holds", "ours", pair=_ONE),
    Program(histogram, "one_query", "holds", "StatDP histogram; Dwork and Roth 2014, Example 3.2", pair=_ONE),
    Program(histogram_vector, "one_query", "holds", "StatDP histogram", pair=_ONE),
    Program(histogram_first, "one_query", "holds", "StatDP histogram", pair=_ONE),
    Program(histogram_geometric, "one_query", "holds", "Ghosh, Roughgarden and Sundararajan 2009", pair=_ONE),
    Program(histogram_replaced, "replace_one:entry", "holds", "Dwork and Roth 2014, Example 3.2", assume=("k >= 1",),
            bounds=(0, "k - 1"), parameters={"epsilon": 1.0, "k": 3}, pair=([0, 1, 2], [1, 1, 2])),
    Program(histogram_added, "add_or_remove_one:entry", "holds", "Dwork and Roth 2014, Example 3.2",
            assume=("k >= 1",), bounds=(0, "k - 1"), parameters={"epsilon": 1.0, "k": 3}, pair=([0, 1], [0, 1, 1])),
    Program(cumulative_counts, "replace_one:entry", "holds", "composition (Dwork and Roth 2014, Theorem 3.16)",
            parameters={"epsilon": 1.0, "edges": [0.0, 1.0]}, pair=([-1, 0.5], [2, 0.5])),
    Program(count_above, "replace_one:entry", "holds", "Dwork and Roth 2014, Example 3.1",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([-1, 0.5], [2, 0.5])),
    Program(count_above_geometric, "add_or_remove_one:entry", "holds", "Ghosh et al. 2009",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([0.5], [2, 0.5])),
    Program(clipped_sum, "replace_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3", assume=_POSITIVE,
            parameters=_BOUND, pair=([-1, 0], [5, 0])),
    Program(clipped_sum_numpy, "replace_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3", assume=_POSITIVE,
            parameters=_BOUND, pair=([-1, 0], [5, 0])),
    Program(clipped_sum_symmetric, "replace_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3",
            assume=_POSITIVE, parameters=_BOUND, pair=([-5, 0], [5, 0])),
    Program(clipped_sum_added, "add_or_remove_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3",
            assume=_POSITIVE, parameters=_BOUND, pair=([0.5], [0.5, 5])),
    Program(clipped_sum_branches, "replace_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3",
            assume=("high > low",), parameters={"epsilon": 1.0, "low": -1.0, "high": 2.0}, pair=([-5, 0], [5, 0])),
    Program(clipped_mean, "replace_one:entry", "holds", "Li, Lyu, Su and Yang 2016", assume=_POSITIVE,
            parameters=_BOUND, pair=([-5, 0], [5, 0])),
    Program(bounded_mean, "replace_one:entry", "holds", "Li, Lyu, Su and Yang 2016", assume=_POSITIVE,
            bounds=(0, "bound"), parameters=_BOUND, pair=([0, 0], [2, 0])),
    Program(sum_of_squares, "replace_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3", assume=_POSITIVE,
            parameters=_BOUND, pair=([0, 0], [5, 0])),
    Program(sum_of_doubles, "one_query", "holds", "Dwork and Roth 2014, Definition 3.3", pair=_ONE),
    Program(floored_sum, "one_query", "holds", "ours", pair=_ONE),
    Program(largest_clipped, "replace_one:entry", "holds", "Dwork and Roth 2014, Definition 3.3", assume=_POSITIVE,
            parameters=_BOUND, pair=([-5, 0], [5, 0])),
    Program(bad_partial_sum, "one_query", "refuted", "CheckDP badpartialsum", pair=_ONE, known="2 epsilon"),
    Program(bad_smart_sum, "one_query", "refuted", "CheckDP badsmartsum", claim="2 * epsilon", assume=("block >= 1",),
            parameters={**_BLOCK, "last": 3}, pair=_ONE, known="no finite epsilon"),
    Program(bad_running_sums, "one_query", "refuted", "Chan et al. 2011", pair=_ONE, known="n epsilon"),
    Program(bad_tree_counter, "one_query", "refuted", "after Chan et al. 2011", assume=("levels >= 1",),
            parameters={"epsilon": 1.0, "levels": 3}, pair=_ONE, known="levels times epsilon"),
    Program(bad_histogram, "one_query", "refuted", "StatDP histogram_eps", parameters={"epsilon": 0.5}, pair=_ONE,
            known="1/epsilon"),
    Program(bad_histogram_first, "one_query", "refuted", "StatDP histogram_eps", parameters={"epsilon": 0.5},
            pair=_ONE, known="1/epsilon"),
    Program(bad_histogram_one_noise, "one_query", "refuted", "ours", pair=_ONE, known="no finite epsilon"),
    Program(bad_histogram_replaced, "replace_one:entry", "refuted", "ours", assume=("k >= 1",), bounds=(0, "k - 1"),
            parameters={"epsilon": 1.0, "k": 2}, pair=([0, 1], [1, 1]), known="2 epsilon"),
    Program(bad_clipped_sum_symmetric, "replace_one:entry", "refuted", "ours", assume=_POSITIVE, parameters=_BOUND,
            pair=([-5, 0], [5, 0]), known="2 epsilon"),
    Program(bad_clipped_sum_after, "replace_one:entry", "refuted", "ours", assume=_POSITIVE, parameters=_BOUND,
            pair=([0], [50]), known="200 epsilon"),
    Program(bad_clipped_sum_own_range, "replace_one:entry", "refuted", "ours, after Stadler et al. 2022",
            pair=([0, 0, 0], [0, 0, 50]), known="no finite epsilon"),
    Program(bad_mean, "replace_one:entry", "refuted", "ours", assume=_POSITIVE, parameters=_BOUND,
            pair=([-5, 0], [5, 0]), known="bound times epsilon"),
    Program(bad_mean_added, "add_or_remove_one:entry", "refuted", "ours, after Wilson et al. 2020", assume=_POSITIVE,
            parameters=_BOUND, pair=([0], [0, 2]), known="no finite epsilon: scales differ"),
    Program(bad_sum_exponential, "one_query", "refuted", "ours", pair=_ONE, known="no finite epsilon"),
    Program(bad_cumulative_counts, "replace_one:entry", "refuted", "ours",
            parameters={"epsilon": 1.0, "edges": [0.0, 1.0, 2.0]}, pair=([-1, 0.5], [3, 0.5]),
            known="number of edges times epsilon"),
    Program(bad_differences, "one_query", "refuted", "ours", pair=([0, 0, 0], [0, 1, 0]), known="2 epsilon"),
    Program(bad_count_beside_exact_length, "add_or_remove_one:entry", "refuted", "ours",
            parameters={"epsilon": 1.0, "threshold": 0.0}, pair=([], [1]), known="no finite epsilon"),
    Program(bad_rounded_sum, "one_query", "refuted", "ours", pair=([0.5], [1.5]), known="2 epsilon"),
)  # fmt: skip
