"""Maps whose stability is not what they declare, each in its own way; none adds noise."""

import itertools

import numpy as np

from dpassay.benchmarks.scan_corpus.declared import stable

BALANCE = 2.0**53


@stable(d_out=5)
def clipped_sum(values: list[int]) -> int:
    """Values clipped to [-10, 5]; the upper bound is taken for the sensitivity, whatever the lower one is."""
    return sum(min(max(value, -10), 5) for value in values)


@stable(d_out=2**30)
def total(values: list[int]) -> int:
    """Values clipped to [0, 2^30] and added in 32 bits, which wrap."""
    clipped = np.array([min(max(value, 0), 2**30) for value in values], np.int32)
    return int(np.add.reduce(clipped, dtype=np.int32))


@stable(d_out=2, input_metric="l1")
def tree_counts(counts: list[int]) -> list[int]:
    """Counts and their sum, so that every count has two places; the sum is kept in 32 bits, which wrap."""
    leaves = [min(max(count, -(2**31)), 2**31 - 1) for count in counts]
    return [(sum(leaves) + 2**31) % 2**32 - 2**31, *leaves]


@stable(d_out=1, input_metric="l1")
def balance(changes: list[float]) -> float:
    """By what changes in [-1000, 1000] move a balance of 2^53, where floats have even numbers only."""
    moved = BALANCE
    for change in changes:
        moved += min(max(change, -1000.0), 1000.0) if change == change else 0.0
    return moved - BALANCE


@stable(d_out=1)
def unit_sum(values: list[float]) -> float:
    """Values clipped to [0, 1] in steps of 1/8; NaN is neither above nor below."""
    return sum(1.0 if value > 1 else 0.0 if value < 0 else value * 8 // 1 / 8 for value in values)


@stable(d_out=1)
def mean_sign(values: list[int]) -> float:
    """Mean of signs; of nobody there is none, and the division says so."""
    return sum((value > 0) - (value < 0) for value in values) / len(values)


@stable(d_out=1)
def scaled_sum(values: list[int]) -> float:
    """Values brought to [0, 1] by the least and the largest of them, so that one record moves all."""
    low, high = min(values, default=0), max(values, default=0)
    return float(sum((value - low) * 8 // max(high - low, 1) for value in values)) / 8


@stable(d_out=1)
def last_votes(votes: list[int]) -> int:
    """One vote, 1 or -1, of each of ten voters, the last if there are several: it replaces the one before."""
    return sum({abs(vote) % 10: 1 if vote > 0 else -1 for vote in votes}.values())


@stable(d_out=1)
def first_ten(votes: list[int]) -> int:
    """Votes of 1 or -1, the first ten of them: who comes first pushes another out."""
    return sum(1 if vote > 0 else -1 for vote in votes[:10])


@stable(d_out=1, input_metric="hamming")
def histogram(values: list[int]) -> list[int]:
    """Counts of last digits: a record replaced leaves one and enters another."""
    return [sum(abs(value) % 10 == digit for value in values) for digit in range(10)]


@stable(d_out=1, input_metric="hamming")
def net_votes(votes: list[int]) -> int:
    """Votes of 1 or -1: what adding one changes is declared for replacing one."""
    return sum(1 if vote > 0 else -1 for vote in votes)


@stable(d_out=1)
def seen_counts(values: list[int]) -> list[int]:
    """Counts of the last digits that occur, and of no others: the length tells which."""
    digits = [abs(value) % 10 for value in values]
    return [digits.count(digit) for digit in sorted(set(digits))]


@stable(d_out=1, input_metric="symmetric")
def rises(values: list[int]) -> int:
    """How often a value exceeds the one before it, said of a set of records, which has no order."""
    return sum(one < two for one, two in itertools.pairwise(values))


@stable(d_out=1)
def longest_text(texts: list[str]) -> int:
    """Length of the longest text, which nothing bounds: one huge record is enough."""
    return max(map(len, texts), default=0)


@stable(d_out=1)
def rounded_share(values: list[int]) -> float:
    """Twice the share of positive values, at most 1 for everybody else's; of one person it is 0 or 2."""
    return 2.0 * sum(value > 0 for value in values) / max(len(values), 1)
