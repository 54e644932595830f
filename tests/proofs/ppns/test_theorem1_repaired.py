"""How far PP-T1-REP reaches beyond equal weights: recomputed by enumeration and by exact accuracies."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpassay.proofs.ppns.algorithm1 import Instance, selection_probabilities
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities
from dpassay.proofs.ppns.theorem1_repaired import heavy_draws, reach

SETTINGS = [(Fraction(1, 2), 2, 6), (Fraction(3, 5), 3, 9), (Fraction(2, 5), 3, 8)]


@pytest.mark.parametrize("weight", [Fraction(1), Fraction(3, 2), Fraction(7)])
def test_heavy_draws_are_the_exact_means(weight: Fraction) -> None:
    found = heavy_draws(7, 3, float(weight))
    for heavy in range(8):
        means = inclusion_probabilities([weight] * heavy + [Fraction(1)] * (7 - heavy), 3)
        assert found[heavy] == pytest.approx(float(sum(means[:heavy])), abs=1e-12)


@pytest.mark.parametrize(("p", "k", "n"), SETTINGS)
def test_below_the_reach_no_list_is_worse_and_beyond_it_one_is(p: Fraction, k: int, n: int) -> None:
    _, sure, fails = reach(p, k, n)
    assert 0 < sure <= fails
    for ratio, exists in ((0.97 * sure, False), (1.03 * fails, True)):
        root = Fraction(math.exp(ratio / (8 * k))).limit_denominator(1000)
        lists = [  # similarities 0 and 1 keep the weights rational, and one level between them
            (Fraction(1),) * ones + (Fraction(1, 2),) * halves + (Fraction(0),) * (n - ones - halves)
            for ones, halves in itertools.product(range(n + 1), range(n + 1))
            if ones + halves <= n
        ]
        worse = [each for each in lists if gain(each, root**2, k, p) < 0]
        assert bool(worse) == exists


def gain(similarities: tuple[Fraction, ...], square: Fraction, k: int, p: Fraction) -> Fraction:
    """alpha - alpha^, exactly, with weights square^similarity, which are rational at 0, 1/2 and 1."""
    instance = Instance(similarities, square, k, p, "exponential")
    own = selection_probabilities(instance.weights, k, p)
    assert own is not None
    return instance.accuracy(own) - instance.accuracy(instance.rival())


def test_the_papers_settings_are_within_reach() -> None:
    asked, sure, fails = reach(Fraction(1, 2), 50, 942)
    assert 500 < asked < sure < 515
    assert 630 < fails < 645  # eps/RS = 1 is far inside
    assert np.all(np.diff([reach(Fraction(tenth, 10), 50, 942)[1] for tenth in (1, 5, 9)]) > 0)
