"""The floating-point probabilities of the search are the exact ones of the checker, to a float's precision."""

import contextlib
import random

import pytest
from flint import arb, fmpq

from dpassay.prover.quick_integration import _quick, quick_probability
from dpassay.replay.exact_integration import probability
from dpassay.replay.linear_forms import LATTICE, SUPPORTS, Bounds, Noise, Run, Unsupported, paths
from dpassay.replay.numbers import precision

MIXED = ("laplace", "exponential", "uniform")


def region(seed: int, kind: str) -> tuple[list[Noise], Bounds]:
    """Some variables, each compared with an earlier one; integers with the first one."""
    draw = random.Random(seed)
    kinds = [draw.choice(MIXED) if kind == "mixed" else kind for _ in range(draw.randint(2, 4))]
    noises = [
        Noise(each, fmpq(draw.randint(1, 5), 7) if each in LATTICE else fmpq(1) if each == "uniform" else
              fmpq(draw.randint(1, 8), draw.randint(1, 3)))
        for each in kinds
    ]  # fmt: skip
    bounds: Bounds = {}
    for index, each in enumerate(kinds):
        for end, factor in zip(SUPPORTS.get(each, ()), (-1, 1), strict=False):
            if end is not None:
                bounds[((index, factor),)] = fmpq(factor * end)
        if index:
            earlier = 0 if each in LATTICE else draw.randrange(index)
            for _ in range(draw.randint(1, 2)):
                bounds[((earlier, draw.choice((1, -1))), (index, draw.choice((1, -1))))] = fmpq(draw.randint(-5, 9))
            if draw.random() < 0.3:
                bounds.setdefault(((index, 1),), fmpq(draw.randint(1, 5)))
    return noises, bounds


@pytest.mark.parametrize("kind", ["laplace", "exponential", "normal", "geometric", "trials", "mixed"])
def test_agrees_with_the_exact_probability(kind: str) -> None:
    compared = 0
    with precision():
        for seed in range(30):
            noises, bounds = region(seed, kind)
            with contextlib.suppress(Unsupported):  # a Gaussian that hangs on another one than the first
                exact = float(arb(probability(noises, bounds)))
                if exact > 1e-20:
                    assert _quick(noises, bounds) == pytest.approx(exact, rel=1e-11)
                    compared += 1
    assert compared > 8


def test_gumbel_variables_are_ordered() -> None:
    def first(run: Run) -> bool:
        noisy = [score + run.gumbel(2) for score in (1, 0, -3)]
        return all(noisy[0] >= other for other in noisy[1:])

    with precision():
        (won,) = [path for path in paths(first, 10) if path.output]
        exact = float(arb(probability(won.run.noises, won.run.bounds)))
        assert float(arb(quick_probability(won.run.noises, won.run.bounds))) == pytest.approx(exact, rel=1e-11)


def test_far_tails_keep_their_digits() -> None:
    with precision():
        noises = [Noise("laplace", fmpq(1)), Noise("laplace", fmpq(2))]
        bounds: Bounds = {((0, 1), (1, -1)): fmpq(-300)}
        exact = float(arb(probability(noises, bounds)))
        assert 0 < exact < 1e-60
        assert _quick(noises, bounds) == pytest.approx(exact, rel=1e-9)


def test_a_chain_and_a_ring() -> None:
    noises = [Noise("laplace", fmpq(1))] * 4
    chain: Bounds = {((i, 1), (i + 1, -1)): fmpq(0) for i in range(3)}
    assert _quick(noises, chain) == pytest.approx(1 / 24, rel=1e-13)
    ring = {**chain, ((0, -1), (3, 1)): fmpq(2)}
    assert _quick(noises, ring) is None
    with precision():
        assert float(arb(quick_probability(noises, ring))) == float(arb(probability(noises, ring)))
