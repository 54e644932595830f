"""The maps of `broken.maps`, with a declared stability that is true."""

import itertools
from fractions import Fraction

from dpassay.benchmarks.scan_corpus.declared import stable


@stable(d_out=10)
def clipped_sum(values: list[int]) -> int:
    """Values clipped to [-10, 5]; the bound farther from 0 is the sensitivity."""
    return sum(min(max(value, -10), 5) for value in values)


@stable(d_out=2**30)
def total(values: list[int]) -> int:
    """Values clipped to [0, 2^30] and added without a limit, then cut to 32 bits."""
    return min(sum(min(max(value, 0), 2**30) for value in values), 2**31 - 1)


@stable(d_out=2, input_metric="l1")
def tree_counts(counts: list[int]) -> list[int]:
    """Counts and their sum, so that every count has two places; the sum is cut to 32 bits."""
    leaves = [min(max(count, -(2**31)), 2**31 - 1) for count in counts]
    return [min(max(sum(leaves), -(2**31)), 2**31 - 1), *leaves]


@stable(d_out=1, input_metric="l1")
def balance(changes: list[float]) -> Fraction:
    """By what changes in [-1000, 1000] move a balance, in rationals."""
    clipped = (min(max(change, -1000.0), 1000.0) if change == change else 0.0 for change in changes)
    return sum(map(Fraction, clipped), Fraction(0))


@stable(d_out=1)
def unit_sum(values: list[float]) -> float:
    """Values clipped to [0, 1] in steps of 1/8, which floats add exactly; NaN counts as 0."""
    return sum(1.0 if value > 1 else value * 8 // 1 / 8 if value > 0 else 0.0 for value in values)


@stable(d_out=1)
def mean_sign(values: list[int]) -> float:
    """Mean of signs; 0 of nobody."""
    return float(Fraction(sum((value > 0) - (value < 0) for value in values), max(len(values), 1)))


@stable(d_out=1)
def scaled_sum(values: list[int]) -> float:
    """Values brought to [0, 1] by public bounds, 0 and 100."""
    return float(sum(min(max(value, 0), 100) * 8 // 100 for value in values)) / 8


@stable(d_out=2)
def last_votes(votes: list[int]) -> int:
    """One vote, 1 or -1, of each of ten voters, the last if there are several: it replaces the one before."""
    return sum({abs(vote) % 10: 1 if vote > 0 else -1 for vote in votes}.values())


@stable(d_out=2)
def first_ten(votes: list[int]) -> int:
    """Votes of 1 or -1, the first ten of them: who comes first pushes another out."""
    return sum(1 if vote > 0 else -1 for vote in votes[:10])


@stable(d_out=2, input_metric="hamming")
def histogram(values: list[int]) -> list[int]:
    """Counts of last digits: a record replaced leaves one and enters another."""
    return [sum(abs(value) % 10 == digit for value in values) for digit in range(10)]


@stable(d_out=2, input_metric="hamming")
def net_votes(votes: list[int]) -> int:
    """Votes of 1 or -1, of which one is replaced."""
    return sum(1 if vote > 0 else -1 for vote in votes)


@stable(d_out=1)
def seen_counts(values: list[int]) -> list[int]:
    """Counts of all ten last digits."""
    digits = [abs(value) % 10 for value in values]
    return [digits.count(digit) for digit in range(10)]


@stable(d_out=1, input_metric="insert_delete")
def rises(values: list[int]) -> int:
    """How often a value exceeds the one before it, said of a sequence, whose order is public."""
    return sum(one < two for one, two in itertools.pairwise(values))


@stable(d_out=20)
def longest_text(texts: list[str]) -> int:
    """Length of the longest text, of which 20 letters count."""
    return min(max(map(len, texts), default=0), 20)


@stable(d_out=2)
def rounded_share(values: list[int]) -> float:
    """Twice the share of positive values; of one person it is 0 or 2."""
    return 2.0 * sum(value > 0 for value in values) / max(len(values), 1)
