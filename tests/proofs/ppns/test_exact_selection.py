"""Exact inclusion probabilities against every order of draws; powers that are rational, and those that are not."""

import itertools
from fractions import Fraction
from typing import Any

import pytest

from dpassay.core.errors import InvalidInput
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities, rational_power


def literal_inclusion(weights: list[Fraction], draws: int) -> list[Fraction]:
    """Sums over every order of draws."""
    means = [Fraction(0)] * len(weights)
    for order in itertools.permutations(range(len(weights)), draws):
        chance, left = Fraction(1), sum(weights)
        for i in order:
            chance, left = chance * weights[i] / left, left - weights[i]
        for i in order:
            means[i] += chance
    return means


@pytest.mark.parametrize(
    ("weights", "draws"), [([1, 1, 2, 3], 2), ([5, 1, 1, 1, "1/2"], 3), ([2, 2, 7], 3), ([1, 4], 0)]
)
def test_inclusion_is_that_of_every_order_of_draws(weights: list[Any], draws: int) -> None:
    exact = [Fraction(weight) for weight in weights]
    assert list(inclusion_probabilities(exact, draws)) == literal_inclusion(exact, draws)


@pytest.mark.parametrize(("weights", "draws"), [([1, 0], 1), ([1, 1], 3), ([1, -1], 1)])
def test_inclusion_refuses_what_it_cannot_draw(weights: list[int], draws: int) -> None:
    with pytest.raises(InvalidInput, match="positive weights"):
        inclusion_probabilities([Fraction(weight) for weight in weights], draws)


@pytest.mark.parametrize(
    ("base", "exponent", "power"), [("4/9", "3/2", "8/27"), ("5", "2", "25"), ("27", "1/3", "3"), ("2", "0", "1")]
)
def test_rational_powers_are_exact(base: str, exponent: str, power: str) -> None:
    assert rational_power(Fraction(base), Fraction(exponent)) == Fraction(power)


def test_irrational_power_is_refused() -> None:
    with pytest.raises(InvalidInput, match="irrational"):
        rational_power(Fraction(2), Fraction(1, 2))
