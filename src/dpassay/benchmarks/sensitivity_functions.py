"""Functions of data as engineers of private analytics write them, each with its sensitivity and a claim about it.

They were written by someone who had not read the prover, from its documentation alone, after it was designed; neither
functions nor claims were reworded for it. Each docstring derives the sensitivity: "gaps" stands for the argument that
replacing one entry moves the sorted values y_1 <= ... <= y_n up within gaps that add up to the range, so that a sum of
c_k y_k changes by a convex combination of the c_k. `QUERIES` holds all of them.
"""

# ruff: noqa: B905, PT018 - written as they are outside of this project

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Query:
    """A function of a dataset and a claim about its sensitivity.

    Attributes:
        function: of a list and of public parameters; its docstring derives the truth.
        truth: the sensitivity, an expression in n and the parameters: attained or approached at each n, or at some.
        claim: what is asked.
        holds: whether the claim is true.
        relation: of neighboring datasets.
        bounds: of each entry; None for all reals.
        assume: conditions on n and the parameters beside the asserted ones.
        parameters: some that a search for the largest difference tries.
        values: entries that it tries; those between the bounds if empty.
        lengths: of its datasets.
    """

    function: Callable[..., Any]
    truth: str
    claim: str
    holds: bool
    relation: str = "replace_one:entry"
    bounds: tuple[float, float] | None = (0, 1)
    assume: Sequence[str] = ()
    parameters: Sequence[Mapping[str, Any]] = ({},)
    values: Sequence[Any] = ()
    lengths: Sequence[int] = (1, 2, 3, 4)


# Sums and means of clipped values


def clipped_total(data, cap):
    """Each term is in [0, cap]; an added one moves the sum by at most cap."""
    assert cap > 0
    total = 0
    for amount in data:
        total += min(max(amount, 0), cap)
    return total


def clipped_total_two_sided(data, lower, upper):
    """An added term is anywhere in [lower, upper], so the larger of the absolute values counts, not the width."""
    assert lower < upper
    return sum(max(lower, min(x, upper)) for x in data)


def symmetric_clip_sum(data, c):
    """From c to -c: 2c."""
    assert c > 0
    return np.clip(np.asarray(data), -c, c).sum()


def symmetric_clip_mean(data, c):
    """One term moves by 2c, n is public under replacement: 2c/n."""
    assert c > 0
    return np.mean(np.clip(data, -c, c))


def capped_mean(data, cap):
    """Capped above only: a term can fall without limit."""
    assert cap > 0
    return sum(min(x, cap) for x in data) / len(data)


def mean_per_expected_user(data, expected: int):
    """The denominator is public; an added term is at most 10: 10/expected."""
    assert expected >= 1
    return sum(data) / expected


def mean_with_floor(data, floor: int):
    """Below the floor x/floor; above it |n x - S|/(n (n + 1)) <= 1/(n + 1), which is less: 1/floor."""
    assert floor >= 1
    return sum(data) / max(len(data), floor)


def mean_or_zero(data):
    """Empty to [1] is a change of 1; else |n x - S|/(n (n + 1)) <= 2/(n + 1) <= 1."""
    return sum(data) / max(len(data), 1)


def clip_after_the_mean(data):
    """The clip is around the mean: one unbounded entry takes it from 0 to 1."""
    average = sum(data) / len(data)
    return min(max(average, 0.0), 1.0)


def winsorized_mean(data):
    """Gaps: weights 0, 2, 1, ..., 1, 2, 0 over n, so 2/n (n >= 4)."""
    assert len(data) >= 4
    s = sorted(data)
    low, high = s[1], s[-2]
    return sum(min(max(x, low), high) for x in data) / len(data)


def trimmed_mean(data):
    """Gaps: weights 0, 1/(n - 2), ..., 0."""
    assert len(data) >= 3
    kept = sorted(data)[1:-1]
    return sum(kept) / len(kept)


# Transforms


def log_mean(data):
    """log(1 + x) is in [0, log 2]."""
    return sum(math.log(1 + x) for x in data) / len(data)


def log_spend(data, cap):
    """An added term is in [0, log(1 + cap)]."""
    assert cap > 0
    return np.log1p(np.clip(data, 0, cap)).sum()


def decayed(data, rate):
    """exp(-rate x) falls from 1 to exp(-rate)."""
    assert rate > 0
    return sum(math.exp(-rate * x) for x in data)


def exponentials(data):
    """On [-1, 1] from 1/e to e: e - 1/e."""
    return np.exp(np.array(data)).sum()


def root_scores(data):
    """sqrt on [0, 4]: 2."""
    return sum(np.sqrt(np.asarray(data)))


def shifted_roots(data):
    """sqrt(x + 1) on [0, 3]: from 1 to 2."""
    return sum(math.sqrt(x + 1) for x in data)


def sigmoid_total(data):
    """The sigmoid is in (0, 1); the supremum is not attained."""
    return sum(1 / (1 + math.exp(-x)) for x in data)


def sigmoid_mean(data, k):
    """s(2k) - s(-2k) = tanh(k), over n."""
    assert k > 0
    arr = np.asarray(data)
    return np.mean(1.0 / (1.0 + np.exp(-k * arr)))


def tanh_total(data):
    """tanh is in (-1, 1): 2 in the supremum."""
    return sum(math.tanh(x) for x in data)


def softplus_mean(data):
    """log(1 + e) - log(1 + 1/e) = 1, over n."""
    return sum(math.log(1 + math.exp(x)) for x in data) / len(data)


def truncated_log_mean(data, eps):
    """log of [eps, 1]: -log(eps), over n."""
    assert 0 < eps < 1
    return np.log(np.maximum(data, eps)).mean()


def smoothed_log(data, eps):
    """log(1 + eps) - log(eps): more than log(1/eps)."""
    assert 0 < eps < 1
    return sum(math.log(x + eps) for x in data)


def entropy_terms(data):
    """-x log x is 0 at 1 and largest at 1/e, where it is 1/e."""
    return -sum(p * math.log(p) for p in data)


def second_legendre(data):
    """(3x^2 - 1)/2 is -1/2 at 0 and 1 at the ends."""
    return sum((3 * x**2 - 1) / 2 for x in data)


def cubes(data):
    """From -1 to 1."""
    return sum(x**3 for x in data)


def fourier_feature(data, k: int):
    """The cosine takes -1 and 1: 2/n."""
    assert k >= 1
    return np.mean(np.cos(2 * np.pi * k * np.asarray(data)))


def leaky(data, slope):
    """From -slope to 1."""
    assert 0 < slope < 1
    total = 0.0
    for x in data:
        if x > 0:
            total += x
        else:
            total += slope * x
    return total


def progressive_tax(data):
    """0.1 of the first 10 and 0.2 of the next 40: from 0 to 9."""
    revenue = 0.0
    for income in data:
        tax = 0.1 * income if income <= 10 else 1 + 0.2 * (income - 10)
        revenue += tax
    return revenue


def loyalty_points(data):
    """Tiers of 0, 1 and 3 points: 3."""
    points = 0
    for spend in data:
        if spend < 20:
            continue
        elif spend < 50:
            points += 1
        else:
            points += 3
    return points


def whole_buckets(data, width):
    """x // width on [0, 10] goes from 0 to floor(10/width)."""
    assert width > 0
    return sum(x // width for x in data)


# Losses and gradients


def huber_loss(data, delta):
    """Even and increasing in |x|: from 0 to delta (10 - delta/2)."""
    assert 0 < delta <= 10
    loss = 0
    for r in data:
        if abs(r) <= delta:
            loss += r**2 / 2
        else:
            loss += delta * (abs(r) - delta / 2)
    return loss


def huber_gradient(data, mu, delta):
    """Each clipped residual is in [-delta, delta]: 2 delta."""
    assert delta > 0
    return sum(max(-delta, min(delta, x - mu)) for x in data)


def hinge_loss(data, margin):
    """max(0, margin - x) on [-1, 1]: from 0 to margin + 1."""
    assert 0 < margin <= 1
    return sum(max(0, margin - x) for x in data)


def log_loss(data, p):
    """Linear in the label x: |log p - log(1 - p)|."""
    assert 0 < p < 1
    return -sum(x * math.log(p) + (1 - x) * math.log(1 - p) for x in data)


def absolute_error(data, mu):
    """|x - mu| on [0, 1] goes from 0 to max(mu, 1 - mu)."""
    assert 0 <= mu <= 1
    return np.mean(np.abs(np.array(data) - mu))


def logistic_gradient(data, theta, limit):
    """g = -x s(-theta x) is unbounded above and at least -w/theta with w = W(1/e) = 0.27846."""
    assert theta > 0 and limit > 0
    gradient = 0.0
    for x in data:
        g = x * (1 / (1 + math.exp(-theta * x)) - 1)
        gradient += min(max(g, -limit), limit)
    return gradient


def normed_gradient(data, theta, limit):
    """g/max(1, |g|/limit) is g clipped to [-limit, limit]; one more moves the sum by limit."""
    assert limit > 0
    total = 0
    for x in data:
        g = theta - x
        total += g / max(1.0, abs(g) / limit)
    return total


def row_gradient(rows, theta, limit):
    """The clipped gradient of (theta x - y)^2 takes both signs without limit: 2 limit."""
    assert limit > 0
    total = 0.0
    for x, y in rows:
        g = 2 * x * (theta * x - y)
        total += max(min(g, limit), -limit)
    return total


def covariance_entry(rows):
    """A row's product is in [0, 1]."""
    return sum(x * y for x, y in rows)


def kernel_density(data, center, width):
    """The kernel is in (0, 1]; divided by n width: 1/(n width)."""
    assert width > 0
    return sum(math.exp(-(((x - center) / width) ** 2) / 2) for x in data) / (len(data) * width)


def soft_neighbors(data, center):
    """An added kernel is in (0, 1]."""
    return sum(math.exp(-((x - center) ** 2)) for x in data)


def parabolic_kernel(data, center, h):
    """The Epanechnikov kernel goes from 0 to 3/(4h)."""
    assert h > 0
    u = (np.asarray(data) - center) / h
    return np.sum(np.maximum(0, 1 - u**2)) * 3 / (4 * h)


# Counts


def range_count(data, low, high):
    """One record is counted or not."""
    return sum(1 for x in data if low <= x < high)


def two_thresholds(data, a, b):
    """A record above both counts twice: 2."""
    assert a < b
    arr = np.asarray(data)
    return np.sum(arr > a) + np.sum(arr > b)


def revenue_between(data, low, high):
    """A record in the range is replaced by one outside, which counts 0: high, not high - low."""
    assert 0 < low < high
    return sum(x for x in data if low <= x <= high)


def revenue_between_added(data, low, high):
    """An added record counts between 0 and high."""
    assert 0 < low < high
    arr = np.asarray(data)
    return arr[(arr >= low) & (arr <= high)].sum()


def histogram(data, bins: int):
    """An added record is in at most one cell: 1 in every norm."""
    assert bins >= 1
    return [sum(1 for x in data if k / bins <= x < (k + 1) / bins) for k in range(bins)]


def histogram_peak(data):
    """A cell changes by at most 1, and so does the largest; five unit cells."""
    return max(sum(1 for x in data if b <= x < b + 1) for b in range(5))


def histogram_by_index(data):
    """The same, as counts are kept in a list."""
    counts = [0] * 4
    for x in data:
        counts[min(int(x * 4), 3)] += 1
    return max(counts)


def imbalance(data, t):
    """Low counts one less, high one more: 2."""
    low = sum(1 for x in data if x < t)
    high = len(data) - low
    return abs(low - high)


def above_average(data):
    """All equal but the last lowered: nobody is above the mean, then n - 1 are."""
    mean = sum(data) / len(data)
    return sum(1 for x in data if x > mean)


def fraction_above(data, t):
    """Empty to one record above: 1."""
    if len(data) == 0:
        return 0.0
    return sum(1 for x in data if x > t) / len(data)


def smoothed_rate(data, t, a):
    """The count moves by 1, the denominator is n + 2a."""
    assert a > 0
    hits = sum(1 for x in data if x > t)
    return (hits + a) / (len(data) + 2 * a)


def smoothed_log_odds(data, t, a):
    """Convex at the ends: from k = 0 to 1, log((1 + a)/a) + log((n + a)/(n - 1 + a))."""
    assert a > 0
    k = sum(1 for x in data if x > t)
    return math.log((k + a) / (len(data) - k + a))


def distinct(data):
    """Replacement removes one value at most and adds one at most: 1."""
    return len(set(data))


def seen_once(data):
    """[a, a] to [a, b]: from 0 values seen once to 2; no more, since the old and new value alone change."""
    return sum(1 for x in data if sum(1 for y in data if y == x) == 1)


def most_common_count(data):
    """One count falls by 1, another rises by 1: the largest changes by 1."""
    return Counter(data).most_common(1)[0][1]


def mode_frequency(data):
    """The same, compared with each."""
    return max(sum(1 for y in data if y == x) for x in data)


def anyone_above(data, t):
    """From 0 to 1."""
    assert 0 <= t < 1
    return 1 if any(x > t for x in data) else 0


def gini_impurity(data, t):
    """2k(n - k)/n^2 changes most from k = 0 to 1: 2(n - 1)/n^2."""
    assert 0 <= t < 1
    p = sum(1 for x in data if x > t) / len(data)
    return 1 - p**2 - (1 - p) ** 2


def binary_entropy(data, t):
    """Concave: most from k = 0 to 1, log(n) - (n - 1)/n log(n - 1) (n >= 2)."""
    assert 0 <= t < 1 and len(data) >= 2
    p = sum(1 for x in data if x > t) / len(data)
    if p == 0 or p == 1:
        return 0.0
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def mixed_pairs(data, t):
    """k(n - k) changes by |n - 1 - 2k|: n - 1."""
    assert 0 <= t < 1
    above = sum(1 for x in data if x > t)
    below = len(data) - above
    return above * below


# Pairs


def close_pairs(data, t):
    """A record is in n - 1 pairs."""
    assert 0 <= t < 1
    return sum(1 for a, b in combinations(data, 2) if abs(a - b) <= t)


def inversions(data):
    """A record is in n - 1 pairs; the first one, raised above all others, makes all of them inversions."""
    count = 0
    for i in range(len(data)):
        for j in range(i + 1, len(data)):
            if data[i] > data[j]:
                count += 1
    return count


def inversion_rate(data):
    """(n - 1)/(n (n - 1)/2) = 2/n."""
    n = len(data)
    assert n >= 2
    swapped = sum(1 for i in range(n) for j in range(i + 1, n) if data[i] > data[j])
    return swapped / (n * (n - 1) / 2)


def mean_difference(data):
    """n - 1 pairs move by 1 each, of n (n - 1)/2: 2/n."""
    n = len(data)
    assert n >= 2
    return sum(abs(a - b) for a, b in combinations(data, 2)) / (n * (n - 1) / 2)


# Order


def value_range(data):
    """The range is between 0 and 2; [1, 1] to [1, -1] is 2."""
    assert len(data) >= 2
    return max(data) - min(data)


def second_largest(data):
    """Gaps: 1 (others half 1, half 0)."""
    assert len(data) >= 2
    return sorted(data)[-2]


def winning_gap(data):
    """Gaps: weights 1 and -1."""
    assert len(data) >= 2
    ranked = np.sort(data)
    return ranked[-1] - ranked[-2]


def midrange(data):
    """1/2 for n >= 2, but one record is both the largest and the smallest: 1."""
    return (max(data) + min(data)) / 2


def median(data):
    """Gaps: 1 for odd n, 1/2 for even n."""
    return statistics.median(data)


def upper_median(data):
    """Gaps: 1 for every n."""
    return sorted(data)[len(data) // 2]


def interquartile_range(data):
    """Gaps: weights of numpy's two quantiles are at most 1 in absolute value, and are 1 for n = 5."""
    q1 = np.quantile(data, 0.25)
    q3 = np.quantile(data, 0.75)
    return q3 - q1


def top_k_mean(data, k: int):
    """Gaps: weights 1/k."""
    assert k >= 1
    return sum(sorted(data, reverse=True)[:k]) / k


def quantile_score(data, t, q):
    """Below: count moves by 1 and q n by q; above: q n alone: max(q, 1 - q)."""
    assert 0 < q < 1
    return -abs(sum(1 for x in data if x <= t) - q * len(data))


def quantile_score_low(data, t, q):
    """The same sensitivity: a record below the threshold moves it by 1 - q."""
    assert 0 < q < 1
    rank = sum(x < t for x in data)
    return -abs(rank - q * len(data))


def split_score(data, t):
    """min(k, n - k) moves by 1 with k."""
    below = sum(1 for x in data if x < t)
    return min(below, len(data) - below)


def place_of_largest(data):
    """From the first place to the last: n - 1."""
    return data.index(max(data))


def first_above(data, t):
    """The first record alone is above, then none is: from 0 to n."""
    assert 0 <= t < 1
    for i, x in enumerate(data):
        if x > t:
            return i
    return len(data)


# Squares, norms, spreads


def clipped_squares(data, c):
    """A square is in [0, c^2]."""
    assert c > 0
    return np.sum(np.clip(data, -c, c) ** 2)


def squares_below_and_above_zero(data):
    """On [-1, 2] from 0 to 4."""
    return sum(x * x for x in data)


def sample_variance(data):
    """n/(n - 1) times the largest change (n - 1)/n^2 of the population variance, times the squared width 16."""
    assert len(data) >= 2
    return np.var(data, ddof=1)


def standard_deviation(data):
    """A norm of the centered data over sqrt(n); the centered unit vector has norm sqrt(1 - 1/n)."""
    return np.std(data)


def root_mean_square(data):
    """A norm over sqrt(n): 1/sqrt(n), from all zeros."""
    return math.sqrt(sum(x**2 for x in data) / len(data))


def norm_of_signed(data):
    """A norm of [-1, 1]^n: it lies between the others' norm and 1 more."""
    return np.linalg.norm(data)


# Means of other kinds, ratios


def geometric_mean(data):
    """P^(1/n) is largest with the others at 4: 4 - 4^(1 - 1/n)."""
    return math.exp(sum(math.log(x) for x in data) / len(data))


def harmonic_mean(data):
    """n/(s + u) with u in [1/2, 1], s >= (n - 1)/2: 2 - 2n/(n + 1)."""
    return len(data) / sum(1 / x for x in data)


def exponential_of_mean(data):
    """Convex: the others at 1, e - e^(1 - 1/n)."""
    return math.exp(sum(data) / len(data))


def log_sum_exp(data):
    """The others at 0: from log n to log(n - 1 + e)."""
    return math.log(sum(math.exp(x) for x in data))


def soft_maximum(data, t):
    """The others at 0: t log((n - 1 + exp(1/t))/n)."""
    assert t > 0
    return t * math.log(sum(math.exp(x / t) for x in data) / len(data))


def growth(data):
    """A factor goes from 1 to 2, the others are at most 2 each."""
    return math.prod(1 + x for x in data)


def largest_share(data):
    """On [1, 2] from all ones, 1/n, to 2/(n + 1)."""
    total = sum(data)
    return max(x / total for x in data)


def share_of_first(data):
    """s/((1 + s)(2 + s)) with s >= n - 1 the sum of the others, decreasing (n >= 3)."""
    return data[0] / sum(data)


def mean_of_those_above(data, t):
    """A single record at 1 is above, then none: from 1 to 0."""
    assert 0 <= t < 1
    chosen = [x for x in data if x > t]
    return sum(chosen) / max(len(chosen), 1)


# Votes


def weighted_vote(data, w):
    """From w to -w."""
    assert w > 0
    return sum(w if x > 0.5 else -w for x in data)


def borda_points(data, m: int):
    """A rank from 0 to m - 1 gives m - 1 to 0 points."""
    assert m >= 2
    return sum(m - 1 - min(max(rank, 0), m - 1) for rank in data)


def net_promoter_score(data):
    """A promoter becomes a detractor: 200/n."""
    promoters = sum(1 for x in data if x >= 9)
    detractors = sum(1 for x in data if x <= 6)
    return 100 * (promoters - detractors) / len(data)


# Series


def time_weighted(data):
    """The last entry has weight n - 1."""
    return sum(i * x for i, x in enumerate(data))


def time_weighted_from_one(data):
    """The last entry has weight n."""
    return sum(day * x for day, x in enumerate(data, start=1))


def public_weights(data, weights):
    """Weights in [-1, 1], one each: 1."""
    assert all(-1 <= w <= 1 for w in weights)
    return sum(w * x for w, x in zip(weights, data))


def scored_by_weights(data, weights, cap):
    """On [-1, 1] an entry moves by 2, its weight is up to cap: 2 cap."""
    assert cap > 0 and all(abs(w) <= cap for w in weights)
    return np.dot(weights, data)


def discounted(data, discount):
    """The first has weight 1."""
    assert 0 < discount < 1
    value = 0.0
    for t, reward in enumerate(data):
        value += discount**t * reward
    return value


def moving_average(data, alpha):
    """The last entry has weight alpha, the earlier ones less."""
    assert 0 < alpha < 1
    level = 0.0
    for x in data:
        level = (1 - alpha) * level + alpha * x
    return level


def moving_average_from_first(data, alpha):
    """The first entry is the start and has weight (1 - alpha)^(n - 1), the last alpha (n >= 2)."""
    assert 0 < alpha < 1
    level = data[0]
    for x in data[1:]:
        level = (1 - alpha) * level + alpha * x
    return level


def best_window(data, w: int):
    """A mean of w entries moves by 1/w."""
    assert 1 <= w <= len(data)
    return max(sum(data[i : i + w]) / w for i in range(len(data) - w + 1))


def smoothed_total(data):
    """An entry is in up to three windows of weight 1/3 each: 1 (n >= 5)."""
    return sum((a + b + c) / 3 for a, b, c in zip(data, data[1:], data[2:]))


def lagged_product(data):
    """x_i (x_(i-1) + x_(i+1)): 2 (n >= 3)."""
    return sum(data[i] * data[i + 1] for i in range(len(data) - 1))


def lagged_product_signed(data):
    """On [-1, 1] x_i moves by 2, its neighbors add up to 2: 4."""
    return sum(a * b for a, b in pairwise(data))


def squared_steps(data):
    """Both steps beside an entry go from 0 to 1: 2 (n >= 3)."""
    return np.sum(np.diff(data) ** 2)


def clipped_steps(data, c):
    """Both steps beside an entry go from 0 to c: 2c (n >= 3)."""
    assert 0 < c < 1
    return sum(min(abs(b - a), c) for a, b in pairwise(data))


def largest_jump(data):
    """A maximum of values in [0, 1], from 0 to 1."""
    assert len(data) >= 2
    return max(abs(data[i + 1] - data[i]) for i in range(len(data) - 1))


def curvature(data):
    """An entry has weights 1, 2 and 1 in three terms: 4 (n >= 5)."""
    return sum(abs(a - 2 * b + c) for a, b, c in zip(data, data[1:], data[2:]))


def sum_of_prefixes(data):
    """The first entry is in all n prefixes."""
    return np.cumsum(data).sum()


def mean_of_prefixes(data):
    """The first entry is in all n prefixes: n/n."""
    return sum(np.cumsum(data)) / len(data)


def prefix_counts(data, t):
    """The first entry is in every count: 1 in the largest coordinate, n in the sum."""
    assert 0 <= t < 1
    return np.cumsum(np.asarray(data) > t)


def best_prefix(data):
    """On [-1, 1] a prefix moves by at most 2; [-1, 1, 1] to [1, 1, 1] is 1 to 3."""
    best = running = data[0]
    for x in data[1:]:
        running += x
        best = max(best, running)
    return best


def best_stretch(data):
    """On [-1, 1] [1, -1, 1] to [1, 1, 1]: from 1 to 3."""
    best = current = 0.0
    for x in data:
        current = max(0.0, current + x)
        best = max(best, current)
    return best


def alarm_level(data, drift):
    """From a level that is high enough an entry counts in full: 1, 1 - drift only for n = 1."""
    assert 0 < drift < 1
    level = 0.0
    for x in data:
        level = max(0.0, level + x - drift)
    return level


def crossings(data, t):
    """An entry is in two pairs, and both cross or neither: 2 (n >= 3)."""
    assert 0 <= t < 1
    return sum(1 for a, b in pairwise(data) if (a > t) != (b > t))


def longest_run(data, t):
    """An entry in the middle of a run of n leaves ceil((n - 1)/2) = n - ceil(n/2)."""
    assert 0 <= t < 1
    best = run = 0
    for x in data:
        run = run + 1 if x > t else 0
        best = max(best, run)
    return best


def peaks(data):
    """Raised to the level of two peaks beside it, an entry makes plateaus of both: 2 (n >= 5)."""
    return sum(1 for a, b, c in zip(data, data[1:], data[2:]) if a < b and b > c)


def busiest_weekday(data):
    """A maximum of sums that an added entry would shift; a replaced one moves a single sum by 1."""
    return max(sum(data[day::7]) for day in range(7))


ADDED = "add_or_remove_one:entry"
WIDE = (-40.0, -3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 5.0, 40.0)
FINE = tuple(k / 20 for k in range(21))
SIGNED = (-1.0, -0.5, 0.0, 0.5, 1.0)
ROWS = ((0.0, 0.0), (1.0, 1.0), (1.0, -9.0), (1.0, 9.0), (-1.0, 3.0))
THRESHOLDS = ({"t": 0.0}, {"t": 0.4})
THREE, FIVE = (1, 2, 3, 4, 5), (5, 6)

QUERIES = (
    Query(clipped_total, "cap", "cap", True, ADDED, None, parameters=({"cap": 0.5}, {"cap": 3}), values=WIDE),
    Query(clipped_total_two_sided, "Max(Abs(lower), Abs(upper))", "upper - lower", False, ADDED, None,
          parameters=({"lower": 1, "upper": 2}, {"lower": -1, "upper": 3}), values=WIDE),
    Query(symmetric_clip_sum, "2*c", "c", False, bounds=None, parameters=({"c": 0.5}, {"c": 2}), values=WIDE),
    Query(symmetric_clip_mean, "2*c/n", "2*c/n", True, bounds=None, parameters=({"c": 0.5}, {"c": 2}), values=WIDE),
    Query(capped_mean, "oo", "cap/n", False, bounds=None, parameters=({"cap": 1},), values=WIDE),
    Query(mean_per_expected_user, "10/expected", "10/expected", True, ADDED, (0, 10),
          parameters=({"expected": 1}, {"expected": 7})),
    Query(mean_with_floor, "1/floor", "1/floor", True, ADDED, parameters=({"floor": 1}, {"floor": 3})),
    Query(mean_or_zero, "1", "1", True, ADDED, (-1, 1)),
    Query(clip_after_the_mean, "1", "1/n", False, bounds=None, values=WIDE),
    Query(winsorized_mean, "2/n", "1/n", False, lengths=(4, 5)),
    Query(trimmed_mean, "1/(n - 2)", "1/(n - 2)", True, lengths=(3, 4, 5)),
    Query(log_mean, "log(2)/n", "log(2)/n", True),
    Query(log_spend, "log(1 + cap)", "log(1 + cap)", True, ADDED, None, parameters=({"cap": 2},), values=WIDE),
    Query(decayed, "1 - exp(-rate)", "1 - exp(-rate)", True, parameters=({"rate": 0.3}, {"rate": 4})),
    Query(exponentials, "exp(1) - exp(-1)", "exp(1) - 1", False, bounds=(-1, 1)),
    Query(root_scores, "2", "2", True, bounds=(0, 4)),
    Query(shifted_roots, "1", "1", True, bounds=(0, 3)),
    Query(sigmoid_total, "1", "1", True, bounds=None, values=WIDE),
    Query(sigmoid_mean, "tanh(k)/n", "tanh(k)/n", True, bounds=(-2, 2), parameters=({"k": 0.5}, {"k": 2})),
    Query(tanh_total, "2", "1", False, bounds=None, values=WIDE),
    Query(softplus_mean, "1/n", "1/n", True, bounds=(-1, 1)),
    Query(truncated_log_mean, "-log(eps)/n", "-log(eps)/n", True, parameters=({"eps": 0.01}, {"eps": 0.5})),
    Query(smoothed_log, "log(1 + eps) - log(eps)", "-log(eps)", False, parameters=({"eps": 0.01}, {"eps": 0.5})),
    Query(entropy_terms, "exp(-1)", "exp(-1)", True, bounds=(0.01, 1), values=(0.01, 0.3, math.exp(-1), 0.6, 1.0)),
    Query(second_legendre, "3/2", "3/2", True, bounds=(-1, 1)),
    Query(cubes, "2", "1", False, bounds=(-1, 1)),
    Query(fourier_feature, "2/n", "2/n", True, bounds=None, parameters=({"k": 1}, {"k": 3}),
          values=(0.0, 0.5, 0.25, 1 / 6)),
    Query(leaky, "1 + slope", "1 + slope", True, bounds=(-1, 1), parameters=({"slope": 0.1},)),
    Query(progressive_tax, "9", "9", True, bounds=(0, 50)),
    Query(loyalty_points, "3", "2", False, bounds=(0, 100)),
    Query(whole_buckets, "floor(10/width)", "floor(10/width)", True, bounds=(0, 10),
          parameters=({"width": 3}, {"width": 20})),
    Query(huber_loss, "delta*(10 - delta/2)", "delta*(10 - delta/2)", True, bounds=(-10, 10),
          parameters=({"delta": 1}, {"delta": 10})),
    Query(huber_gradient, "2*delta", "delta", False, bounds=None, parameters=({"mu": 1, "delta": 2},), values=WIDE),
    Query(hinge_loss, "margin + 1", "margin + 1", True, bounds=(-1, 1), parameters=({"margin": 0.5}, {"margin": 1})),
    Query(log_loss, "Abs(log(p/(1 - p)))", "-log(p)", False, parameters=({"p": 0.9}, {"p": 0.2})),
    Query(absolute_error, "Max(mu, 1 - mu)/n", "Max(mu, 1 - mu)/n", True,
          parameters=({"mu": 0.0}, {"mu": 0.5}, {"mu": 0.8}), values=(*FINE[::4], 0.5)),
    Query(logistic_gradient, "limit + Min(limit, 0.27846454276107375/theta)", "limit", False, bounds=None,
          parameters=({"theta": 1, "limit": 0.1}, {"theta": 1, "limit": 1}), values=(*WIDE, 1.2784645427610738)),
    Query(normed_gradient, "limit", "limit", True, ADDED, None, parameters=({"theta": 1, "limit": 2},), values=WIDE),
    Query(row_gradient, "2*limit", "2*limit", True, bounds=None, parameters=({"theta": 1, "limit": 2},), values=ROWS),
    Query(covariance_entry, "1", "1", True, values=((0.0, 1.0), (0.5, 0.5), (1.0, 1.0))),
    Query(kernel_density, "1/(n*width)", "1/n", False, bounds=None,
          parameters=({"center": 0.5, "width": 0.5}, {"center": 0, "width": 2}), values=WIDE),
    Query(soft_neighbors, "1", "1", True, ADDED, None, parameters=({"center": 2},), values=WIDE),
    Query(parabolic_kernel, "3/(4*h)", "3/(4*h)", True, bounds=None, parameters=({"center": 2, "h": 0.5},),
          values=WIDE),
    Query(range_count, "1", "1", True, ADDED, None, parameters=({"low": 0, "high": 2},), values=WIDE),
    Query(two_thresholds, "2", "1", False, bounds=None, parameters=({"a": 0, "b": 2},), values=WIDE),
    Query(revenue_between, "high", "high - low", False, bounds=None, parameters=({"low": 1, "high": 5},), values=WIDE),
    Query(revenue_between_added, "high", "high", True, ADDED, None, parameters=({"low": 1, "high": 5},), values=WIDE),
    Query(histogram, "1", "1", True, ADDED, parameters=({"bins": 1}, {"bins": 3})),
    Query(histogram_peak, "1", "1", True, bounds=(0, 5)),
    Query(histogram_by_index, "1", "1", True, ADDED),
    Query(imbalance, "2", "1", False, parameters=({"t": 0.5},)),
    Query(above_average, "n - 1", "1", False, lengths=THREE),
    Query(fraction_above, "1", "1/2", False, ADDED, parameters=THRESHOLDS, lengths=(0, 1, 2)),
    Query(smoothed_rate, "1/(n + 2*a)", "1/(n + 2*a)", True, parameters=({"t": 0.5, "a": 1}, {"t": 0.5, "a": 0.1})),
    Query(smoothed_log_odds, "log((1 + a)*(n + a)/(a*(n - 1 + a)))", "log((1 + a)/a)", False,
          parameters=({"t": 0.5, "a": 1}, {"t": 0.5, "a": 0.1})),
    Query(distinct, "1", "1", True, bounds=None, values=WIDE),
    Query(seen_once, "2", "1", False, values=FINE[::4]),
    Query(most_common_count, "1", "1", True, values=FINE[::4]),
    Query(mode_frequency, "1", "1", True, ADDED, lengths=(2, 3, 4), assume=["n >= 2"], values=FINE[::4]),
    Query(anyone_above, "1", "1", True, parameters=THRESHOLDS),
    Query(gini_impurity, "2*(n - 1)/n**2", "2*(n - 1)/n**2", True, parameters=THRESHOLDS),
    Query(binary_entropy, "log(n) - (n - 1)*log(n - 1)/n", "log(n)/n", False, parameters=THRESHOLDS, lengths=(2, 3, 4)),
    Query(mixed_pairs, "n - 1", "n - 1", True, parameters=THRESHOLDS),
    Query(close_pairs, "n - 1", "n - 1", True, parameters=THRESHOLDS),
    Query(inversions, "n - 1", "n - 1", True, values=SIGNED, bounds=None),
    Query(inversion_rate, "2/n", "1/n", False, values=FINE[::4], lengths=(2, 3, 4)),
    Query(mean_difference, "2/n", "2/n", True, lengths=(2, 3, 4)),
    Query(value_range, "2", "1", False, bounds=(-1, 1), lengths=(2, 3, 4)),
    Query(second_largest, "1", "1", True, lengths=(2, 3, 4)),
    Query(winning_gap, "1", "1", True, lengths=(2, 3, 4)),
    Query(midrange, "1 if n == 1 else 1/2", "1/2", False),
    Query(median, "1 if n % 2 else 1/2", "1/n", False, lengths=THREE),
    Query(upper_median, "1", "1", True, lengths=THREE),
    Query(interquartile_range, "1", "1", True, lengths=THREE),
    Query(top_k_mean, "1/k", "1/k", True, assume=["n >= k"], parameters=({"k": 1}, {"k": 2}), lengths=(2, 3, 4)),
    Query(quantile_score, "Max(q, 1 - q)", "Max(q, 1 - q)", True, ADDED,
          parameters=({"t": 0.5, "q": 0.5}, {"t": 0.5, "q": 0.1}, {"t": 0.5, "q": 0.8})),
    Query(quantile_score_low, "Max(q, 1 - q)", "q", False, ADDED, parameters=({"t": 0.5, "q": 0.1},)),
    Query(split_score, "1", "1", True, parameters=({"t": 0.5},)),
    Query(place_of_largest, "n - 1", "1", False),
    Query(first_above, "n", "n", True, parameters=THRESHOLDS),
    Query(clipped_squares, "c**2", "c**2", True, bounds=None, parameters=({"c": 0.5}, {"c": 3}), values=WIDE),
    Query(squares_below_and_above_zero, "4", "3", False, bounds=(-1, 2)),
    Query(sample_variance, "16/n", "16/n", True, bounds=(0, 4), lengths=(2, 3, 4)),
    Query(standard_deviation, "sqrt(n - 1)/n", "sqrt(n - 1)/n", True),
    Query(root_mean_square, "1/sqrt(n)", "1/n", False),
    Query(norm_of_signed, "1", "1", True, bounds=(-1, 1)),
    Query(geometric_mean, "4 - 4**(1 - 1/n)", "4 - 4**(1 - 1/n)", True, bounds=(1, 4)),
    Query(harmonic_mean, "2/(n + 1)", "2/(n + 1)", True, bounds=(1, 2)),
    Query(exponential_of_mean, "exp(1) - exp(1 - 1/n)", "exp(1) - exp(1 - 1/n)", True),
    Query(log_sum_exp, "log((n - 1 + exp(1))/n)", "1/n", False),
    Query(soft_maximum, "t*log((n - 1 + exp(1/t))/n)", "t*log((n - 1 + exp(1/t))/n)", True,
          parameters=({"t": 0.3}, {"t": 2})),
    Query(growth, "2**(n - 1)", "2**(n - 1)", True),
    Query(largest_share, "(n - 1)/(n*(n + 1))", "(n - 1)/(n*(n + 1))", True, bounds=(1, 2), lengths=THREE),
    Query(share_of_first, "(n - 1)/(n*(n + 1))", "1/(2*n)", False, bounds=(1, 2), assume=["n >= 3"],
          lengths=(3, 4, 5)),
    Query(mean_of_those_above, "1", "1/n", False, parameters=THRESHOLDS),
    Query(weighted_vote, "2*w", "w", False, parameters=({"w": 0.5}, {"w": 3})),
    Query(borda_points, "m - 1", "m - 1", True, bounds=None, parameters=({"m": 2}, {"m": 5}), values=WIDE),
    Query(net_promoter_score, "200/n", "100/n", False, bounds=(0, 10)),
    Query(time_weighted, "n - 1", "n - 1", True),
    Query(time_weighted_from_one, "n", "n - 1", False),
    Query(public_weights, "1", "1", True, parameters=({"weights": (1, -0.5, 0.25, -1)},)),
    Query(scored_by_weights, "2*cap", "cap", False, bounds=(-1, 1),
          parameters=({"weights": (3, -3), "cap": 3},), lengths=(2,)),
    Query(discounted, "1", "1", True, parameters=({"discount": 0.9},)),
    Query(moving_average, "alpha", "alpha", True, parameters=({"alpha": 0.2}, {"alpha": 0.9})),
    Query(moving_average_from_first, "Max(alpha if n > 1 else 0, (1 - alpha)**(n - 1))", "alpha", False,
          parameters=({"alpha": 0.2}, {"alpha": 0.9})),
    Query(best_window, "1/w", "1/w", True, parameters=({"w": 1}, {"w": 3}), lengths=(3, 4)),
    Query(smoothed_total, "1", "1/3", False, lengths=FIVE),
    Query(lagged_product, "2", "2", True, lengths=(3, 4)),
    Query(lagged_product_signed, "4", "2", False, bounds=(-1, 1), lengths=(3, 4)),
    Query(squared_steps, "2", "2", True, lengths=(3, 4)),
    Query(clipped_steps, "2*c", "c", False, parameters=({"c": 0.5},), lengths=(3, 4)),
    Query(largest_jump, "1", "1", True, lengths=(2, 3, 4)),
    Query(curvature, "4", "4", True, lengths=FIVE),
    Query(sum_of_prefixes, "n", "n", True),
    Query(mean_of_prefixes, "1", "1/n", False),
    Query(prefix_counts, "n", "1/2", False, parameters=THRESHOLDS),
    Query(best_prefix, "2", "2", True, bounds=(-1, 1)),
    Query(best_stretch, "2", "2", True, bounds=(-1, 1), lengths=(1, 2, 3, 4)),
    Query(alarm_level, "1", "1 - drift", False, parameters=({"drift": 0.3},), lengths=(1, 2, 3, 4)),
    Query(crossings, "2", "2", True, parameters=THRESHOLDS, lengths=(3, 4)),
    Query(longest_run, "ceiling(n/2)", "1", False, parameters=THRESHOLDS, lengths=THREE),
    Query(peaks, "2", "1", False, lengths=FIVE),
    Query(busiest_weekday, "1", "1", True),
)  # fmt: skip
