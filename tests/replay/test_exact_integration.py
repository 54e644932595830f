"""Probabilities of noise regions against values by hand; the paths of any program have total probability one."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.replay.exact_integration import probability
from dpassay.replay.linear_forms import Form, Path, Run, Unsupported, paths
from dpassay.replay.numbers import precision

Program = Callable[[Run], Any]


def mass(path: Path) -> Any:
    return path.run.weight * probability(path.run.noises, path.run.bounds)


def chance(program: Program, output: Any = True) -> Any:
    """Probability of an output."""
    with precision():
        return sum((mass(path) for path in paths(program, 4096) if path.output == output), fmpq(0))


def near(value: Any, expected: float) -> bool:
    with precision():
        return float(arb(value)) == pytest.approx(expected, rel=1e-12) and float(arb(value).rad()) < 1e-20


def test_one_variable() -> None:
    assert near(chance(lambda run: 3 + run.laplace(2) <= 5), 1 - math.exp(-1) / 2)
    assert near(chance(lambda run: run.laplace(2) > 80), math.exp(-40) / 2)
    assert near(chance(lambda run: run.exponential(2) > 3), math.exp(-1.5))
    assert near(chance(lambda run: run.normal(2) > 40), math.erfc(20 / math.sqrt(2)) / 2)
    assert near(chance(lambda run: run.gumbel(2) <= 1), math.exp(-math.exp(-0.5)))
    assert chance(lambda run: run.uniform() < Fraction(1, 3)) == fmpq(1, 3)
    assert chance(lambda run: run.choice([1, 2, 3]), 2) == fmpq(1, 2)
    # Two-sided geometric of ratio 1/3: P(0) = 1/2, P(k) = 3^-|k| / 2.
    geometric: Program = lambda run: run.geometric(Fraction(2, 3)) - run.geometric(Fraction(2, 3))  # noqa: E731
    assert chance(lambda run: geometric(run) == 0) == fmpq(1, 2)
    assert chance(lambda run: geometric(run) > 1) == fmpq(1, 12)
    assert chance(lambda run: geometric(run) >= 1) == chance(lambda run: geometric(run) <= -1) == fmpq(1, 4)
    shifted: Program = lambda run: 2 - run.geometric(Fraction(2, 3)) + run.geometric(Fraction(2, 3))  # noqa: E731
    assert chance(lambda run: shifted(run) == 3) == fmpq(1, 6)
    assert chance(lambda run: run.laplace(1) == 0) == 0  # values with continuous noise are never equal


def test_geometric_draws_by_themselves() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert chance(lambda run: run.geometric(half) <= 0) == 0
    assert chance(lambda run: run.geometric(third) > 2) == fmpq(4, 9)
    assert chance(lambda run: 2 * run.geometric(half) == 3) == 0
    assert near(chance(lambda run: run.geometric(half) + run.geometric(half) == 3), 1 / 4)
    assert near(chance(lambda run: run.geometric(half) - run.geometric(third) == 0), 1 / 4)
    assert chance(lambda run: run.geometric(1)) == 1
    assert chance(lambda run: isinstance(round(run.geometric(half) + 1), Form)) == 1

    def twice(run: Run) -> bool:  # two variables would agree with probability below one
        one, two = run.geometric(half), run.geometric(half)
        return bool(5 + one - two == 5 - two + one)

    assert chance(twice) == 1


def difference_and_one(run: Run) -> Any:
    one = run.geometric(Fraction(1, 2))
    return one - run.geometric(Fraction(1, 2)) + one


def test_several_variables_by_hand() -> None:
    # X - Y of two Laplace(b) exceeds d > 0 with probability e^(-d/b) (1/2 + d / (4 b)).
    assert near(chance(lambda run: run.laplace(2) - run.laplace(2) > 3), math.exp(-1.5) * (0.5 + 3 / 8))
    # Scales a and b: (a^2 e^(-d/a) - b^2 e^(-d/b)) / (2 (a^2 - b^2)).
    expected = (16 * math.exp(-0.75) - 4 * math.exp(-1.5)) / (2 * 12)
    assert near(chance(lambda run: run.laplace(4) - run.laplace(2) > 3), expected)
    assert near(chance(lambda run: run.exponential(1) + run.exponential(1) > 2), 3 * math.exp(-2))
    assert chance(lambda run: run.uniform() + run.uniform() + run.uniform() < 1) == fmpq(1, 6)
    assert chance(lambda run: sum((run.laplace(1) for _ in range(4)), Form(fmpq(0))) < 0) == fmpq(1, 2)
    # Winner of 5 equal candidates, and a softmax by Gumbel noise.
    for draw in ("laplace", "exponential", "gumbel"):
        assert near(chance(partial(winner, scores=[0] * 5, draw=draw), 3), 0.2)
    assert near(chance(partial(winner, scores=[0, 2, 4], draw="gumbel"), 1), math.e / (1 + math.e + math.exp(2)))


def winner(run: Run, scores: list[int], draw: str) -> int:
    noisy = [score + getattr(run, draw)(2) for score in scores]
    return noisy.index(max(noisy))


def test_gaussian_variables() -> None:
    assert near(chance(lambda run: run.normal(3) + 2 * run.normal(2) > 5), math.erfc(1 / math.sqrt(2)) / 2)
    smallest: Program = lambda run: (z := run.normal(2)) < run.normal(2) and z < run.normal(2)  # noqa: E731
    assert near(chance(smallest), 1 / 3)
    assert chance(lambda run: run.normal(Form(fmpq(2)).sqrt()) > 0) == fmpq(1, 2)  # an irrational scale

    def chain(run: Run) -> bool:
        a, b, c = (run.normal(1) for _ in range(3))
        return bool(a < b and b < c and a + c < 1 and a + b < 1)

    with pytest.raises(Unsupported, match="more than one way"):
        chance(chain)


def test_integers_beside_reals() -> None:
    # K > X, X Laplace(1): both are symmetric.
    def above(run: Run) -> bool:
        return bool(run.two_sided_geometric(Fraction(1, 2)) > run.laplace(1))

    assert near(chance(above), 0.5)

    def equal(run: Run) -> bool:
        return bool(run.two_sided_geometric(Fraction(1, 2)) == run.two_sided_geometric(Fraction(1, 2)))

    # Sum of squares of (1/3) 2^-|k|: (1/9) (1 + 2 / 3).
    assert near(chance(equal), 5 / 27)


_scales = st.sampled_from([1, 2, Fraction(1, 2), 3])
_draws = st.tuples(st.sampled_from(["laplace", "exponential", "uniform", "laplace"]), _scales)
_tests = st.lists(st.tuples(st.lists(st.integers(-2, 2), min_size=4, max_size=4), st.integers(-3, 3)), max_size=4)


@given(st.lists(_draws, min_size=4, max_size=4), _tests)
@settings(max_examples=12, deadline=None)
def test_all_paths_together_are_certain(draws: Any, tests: Any) -> None:
    def program(run: Run) -> tuple[bool, ...]:
        noise = [run.uniform() if kind == "uniform" else getattr(run, kind)(scale) for kind, scale in draws]
        return tuple(
            bool(sum((a * each for a, each in zip(factors, noise, strict=True)), Form(fmpq(0))) < bound)
            for factors, bound in tests
        )

    with precision():
        total = sum((mass(path) for path in paths(program, 64)), arb(0))
        assert total.contains(1)
        assert float(total.rad()) < 1e-40


def test_integers_and_gaussians_together_are_certain() -> None:
    def integers(run: Run) -> tuple[bool, ...]:
        limit = run.two_sided_geometric(Fraction(1, 2))
        return tuple(bool(score + run.two_sided_geometric(Fraction(1, 3)) >= limit) for score in (0, 1))

    def gaussians(run: Run) -> tuple[bool, ...]:
        limit = run.normal(1)
        return tuple(bool(score + run.normal(2) >= limit) for score in (0, 1))

    with precision():
        for program in (integers, gaussians):
            total = sum((mass(path) for path in paths(program, 64)), arb(0))
            assert total.contains(1)
            assert float(total.rad()) < 1e-20


def test_impossible_answers_are_not_followed() -> None:
    def twice(run: Run) -> tuple[bool, bool]:
        noisy = run.laplace(1)
        return bool(noisy > 0), bool(2 * noisy > -1)

    assert [path.output for path in paths(twice, 9)] == [(True, True), (False, True), (False, False)]
    with pytest.raises(Unsupported, match="more than 2 paths"):
        list(paths(twice, 2))


def test_endless_loops_are_left_unresolved() -> None:
    def endless(run: Run) -> int:
        count = 0
        while run.laplace(1) < 0:
            count += 1
        return count

    with precision():
        found = list(paths(endless, 1000))
        assert [path.resolved for path in found].count(False) == 1
        assert found[0].resolved is False
        assert sum((mass(path) for path in found), arb(0)).contains(1)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda run: run.laplace(1) * run.laplace(1), "multiplied"),
        (lambda run: 1 / run.laplace(1), "divides"),
        (lambda run: run.laplace(run.laplace(1)), "not a number without noise"),
        (lambda run: run.laplace(1).exp(), "not a number without noise"),
        (lambda run: difference_and_one(run) > 0, "in two ways"),
        (lambda run: Form(fmpq(2)).sqrt() * run.laplace(1) < 1, "irrational"),
        (lambda run: Form(fmpq(2)).sqrt() ** 2 > 2, "too close"),
        (lambda run: run.laplace(1) + run.normal(1) > 0, "depend on each other"),
    ],
)
def test_what_is_not_integrated_is_said(program: Program, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        chance(program)
