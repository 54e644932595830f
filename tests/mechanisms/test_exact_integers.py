"""The automata branch by branch, the laws that follow, and the samplers against them."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from dpassay.mechanisms.exact_integers import (
    _LANES,
    Automaton,
    _below,
    advance,
    advance_coin,
    discrete_laplace,
    logistic_coin,
    word62,
)

ALPHA = 1e-6
PROPOSE, ACCEPT, COUNT, SIGN, DONE = range(5)
State = tuple[int, int, int, int, int]
Chances = dict[State, dict[State, Fraction]]


def branches(step: Callable[..., Automaton], states: Sequence[State], scale: int) -> Chances:
    """Exact chances of every successor of every state: all uniform integers are tried."""
    rows = [
        (state, words, Fraction(1, scale * state[2] * 2))
        for state in states
        for words in itertools.product(range(scale), range(state[2]), range(2))
    ]
    with jax.enable_x64(True):
        before = Automaton(*jnp.asarray([row[0] for row in rows]).T)
        after = step(before, *jnp.asarray([row[1] for row in rows]).T)
        following = np.stack([np.broadcast_to(np.asarray(each), len(rows)) for each in after], axis=1).tolist()
    chances: Chances = defaultdict(lambda: defaultdict(Fraction))
    for (state, _, chance), new in zip(rows, following, strict=True):
        chances[state][tuple(new)] += chance
    return chances


def absorbed(chances: Chances, start: State, steps: int) -> tuple[dict[int, float], float]:
    """Chance of every value within so many steps, and what is not done by then or left the table."""
    law: dict[int, float] = defaultdict(float)
    mass = {start: 1.0}
    lost = 0.0
    for _ in range(steps):
        following: dict[State, float] = defaultdict(float)
        for state, weight in mass.items():
            for new, chance in chances[state].items():
                if new[0] == DONE:
                    law[new[4]] += weight * float(chance)
                elif new in chances:
                    following[new] += weight * float(chance)
                else:
                    lost += weight * float(chance)
        mass = following
    return law, lost + sum(mass.values())


@pytest.mark.parametrize("scale", [1, 3])
def test_one_step_of_the_noise_has_the_stated_chances(scale: int) -> None:
    states = [
        (phase, u, k, v, 0)
        for phase in (PROPOSE, ACCEPT, COUNT, SIGN)
        for u, k, v in itertools.product(range(scale), range(1, 6), range(3))
    ]
    for (phase, u, k, v, _), after in branches(partial(advance, scale=scale), states, scale).items():
        if phase == PROPOSE:
            assert after == {(ACCEPT, new, 1, 0, 0): Fraction(1, scale) for new in range(scale)}
            continue
        if phase == SIGN:
            magnitude = u + scale * v
            ends = {(DONE, u, 1, v, sign * magnitude) for sign in (1, -1)} if magnitude else {(DONE, u, 1, v, 0)}
            assert {state: chance for state, chance in after.items() if state[0] == DONE} == dict.fromkeys(
                ends, Fraction(1, 2)
            )
            assert sum(chance for state, chance in after.items() if state[0] == PROPOSE) == (0 if magnitude else 0.5)
            continue
        goes_on = Fraction(u if phase == ACCEPT else scale, scale * k)
        won, lost = ((COUNT, v), (PROPOSE, v)) if phase == ACCEPT else ((COUNT, v + 1), (SIGN, v))
        stop, value = won if k % 2 else lost
        expected = {(phase, u, k + 1, v, 0): goes_on, (stop, u, 1, value, 0): 1 - goes_on}
        assert after == {state: chance for state, chance in expected.items() if chance}


@pytest.mark.parametrize("scale", [2])
def test_the_noise_has_the_discrete_laplace_law(scale: int) -> None:
    states = [
        (phase, u, k, v, 0)
        for phase in (PROPOSE, ACCEPT, COUNT, SIGN)
        for u, k, v in itertools.product(range(scale), range(1, 11), range(12))
    ]
    law, missing = absorbed(branches(partial(advance, scale=scale), states, scale), (PROPOSE, 0, 1, 0, 0), 120)
    assert missing < 1e-4
    for value in range(-8, 9):
        ideal = math.tanh(1 / (2 * scale)) * math.exp(-abs(value) / scale)
        assert law[value] - 1e-12 <= ideal <= law[value] + missing + 1e-12
    assert sum(law.values()) + missing == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("numerator", "scale"), [(0, 2), (1, 3), (5, 2)])
def test_the_coin_has_the_logistic_law(numerator: int, scale: int) -> None:
    states = [
        (phase, 0, k, v, 0) for phase in (PROPOSE, ACCEPT, COUNT) for k in range(1, 13) for v in range(numerator + 1)
    ]
    step = partial(advance_coin, numerator=numerator, scale=scale)
    law, missing = absorbed(branches(step, states, scale), (PROPOSE, 0, 1, 0, 0), 150)
    assert missing < 1e-8
    ideal = 1 / (1 + math.exp(-numerator / scale))
    assert law[1] - 1e-12 <= ideal <= law[1] + missing + 1e-12
    assert law[0] - 1e-12 <= 1 - ideal <= law[0] + missing + 1e-12


@pytest.mark.parametrize("bound", range(1, 20))
def test_rejection_leaves_every_integer_equally_likely(bound: int) -> None:
    value, good = _below(np.arange(2**7), 7, bound)
    counts = np.bincount(value[good], minlength=bound)
    assert counts.tolist() == [2**7 // bound] * bound


def draw(function: Callable[..., Any], *arguments: Any) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda key: function(key, *arguments))(jax.random.key(20261121)))


def fit(noise: np.ndarray, scale: int) -> float:
    """p-value of discrete Laplace draws."""
    values = np.arange(-6 * scale, 6 * scale + 1)
    chances = np.tanh(1 / (2 * scale)) * np.exp(-np.abs(values) / scale)
    counts = np.append((noise[:, None] == values).sum(0), (np.abs(noise) > values[-1]).sum())
    return float(chisquare(counts, len(noise) * np.append(chances, 1 - chances.sum())).pvalue)


def test_noise_fits_its_law_wherever_it_is_drawn() -> None:
    # More variables than lanes: the later ones are started when others are done.
    noise = draw(discrete_laplace, (4 * _LANES,), 5)
    for part in (noise, noise[: _LANES // 2], noise[_LANES : 2 * _LANES], noise[-_LANES:]):
        assert fit(part, 5) > ALPHA
        assert fit(part, 6) < ALPHA
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 5 / math.sqrt(len(noise))


@pytest.mark.parametrize(("numerator", "scale"), [(7, 3)])
def test_coin_fits_its_law(numerator: int, scale: int) -> None:
    coins = draw(logistic_coin, (20_000,), numerator, scale)
    assert binomtest(int(coins.sum()), len(coins), 1 / (1 + math.exp(-numerator / scale))).pvalue > ALPHA
    assert binomtest(int(coins.sum()), len(coins), 1 / (1 + math.exp(-numerator / scale - 0.2))).pvalue < ALPHA


def test_words_have_62_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    words = draw(word62, (20_000,))
    assert words.min() >= 0
    for bit in range(62):
        assert binomtest(int((words >> bit & 1).sum()), len(words)).pvalue > ALPHA
    for word, expected in ((0, 0), (2**32 - 1, 2**62 - 1)):
        monkeypatch.setattr(jax.random, "bits", lambda key, shape, dtype, word=word: jnp.full(shape, word, dtype))
        with jax.enable_x64(True):
            assert int(word62(jax.random.key(0), ())) == expected
