"""Exact numbers of weighted draws without replacement: what several proofs about neighbor selection compute with."""

import functools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dpassay.core.errors import InvalidInput


def inclusion_probabilities(weights: Sequence[Fraction], num_draws: int) -> tuple[Fraction, ...]:
    """Probability that each candidate is among successive weighted draws without replacement, exact.

    Args:
        weights: positive, one per candidate. Candidates of equal weight are counted as one color, so few distinct
            weights keep this fast whatever their number.
        num_draws: from 0 to the number of candidates.

    Raises:
        InvalidInput: a weight is not positive, or there are fewer candidates than draws.
    """
    if any(weight <= 0 for weight in weights) or not 0 <= num_draws <= len(weights):
        raise InvalidInput(
            f"{num_draws} draws from {len(weights)} candidates; need enough candidates, positive weights"
        )
    return _inclusion(tuple(weights), num_draws)


@functools.lru_cache(maxsize=2**12)
def rational_power(base: Fraction, exponent: Fraction) -> Fraction:
    """base^exponent, exact. Cached, since an enumeration takes few powers of few bases.

    Raises:
        InvalidInput: the power is irrational.
    """
    parts = [_integer_root(part, exponent.denominator) for part in (base.numerator, base.denominator)]
    if None in parts:
        raise InvalidInput(
            f"{base}^({exponent}) is irrational; choose a base that is a power of {exponent.denominator}"
        )
    return Fraction(parts[0] or 0, parts[1] or 1) ** exponent.numerator


@functools.lru_cache(maxsize=2**14)
def _inclusion(weights: tuple[Fraction, ...], num_draws: int) -> tuple[Fraction, ...]:
    """Cached, since an enumeration meets the same partition many times."""
    colors = sorted(Counter(weights).items())
    reached = {(0,) * len(colors): Fraction(1)}
    for _ in range(num_draws):
        following: dict[tuple[int, ...], Fraction] = {}
        for drawn, chance in reached.items():
            left = [(count - out) * weight for (weight, count), out in zip(colors, drawn, strict=True)]
            total = sum(left)
            for color, mass in enumerate(left):
                if mass:
                    grown = (*drawn[:color], drawn[color] + 1, *drawn[color + 1 :])
                    following[grown] = following.get(grown, Fraction(0)) + chance * mass / total
        reached = following
    each = {
        weight: sum((chance * drawn[color] for drawn, chance in reached.items()), Fraction(0)) / count
        for color, (weight, count) in enumerate(colors)
    }
    return tuple(each[weight] for weight in weights)


def _integer_root(number: int, degree: int) -> int | None:
    candidate = round(number ** (1 / degree))
    return next((r for r in (candidate - 1, candidate, candidate + 1) if r >= 0 and r**degree == number), None)
