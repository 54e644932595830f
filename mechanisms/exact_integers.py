"""Exact samplers made of integers and bits alone: no float decides anything, so what runs is the law itself.

Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for Differential Privacy", Algorithms 1 and 2: Bernoulli
variables of chance e^(-u/t) from the alternating series of the exponential, and the discrete Laplace law from them.
Rejection makes every draw from 0..m-1 exactly uniform; how often a draw is rejected does not depend on its value. The
bits come from JAX's Threefry generator, which is treated as ideal randomness: that is an assumption, not a theorem.

A batch runs as one loop in which every element is a small automaton; one step of it (`advance`) is a pure function of
two uniform integers, so a test can enumerate its branches.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from dpassay.core.shapes import Array, Bool, Int

MAX_SCALE = 2**31 - 1
"""Largest scale t of `discrete_laplace` and `logistic_coin`: uniform integers below t come from 32-bit words."""

_LANES = 2**14
_PROPOSE, _ACCEPT, _COUNT, _SIGN, _DONE = range(5)


class Automaton(NamedTuple):
    """State of one discrete Laplace variable (or one coin) under construction; all fields of one shape, int64.

    Attributes:
        phase: 0 propose the remainder, 1 accept it with chance e^(-remainder/t), 2 count successes of chance 1/e, 3
            choose the sign, 4 done. A coin: 0 toss a fair coin, 2 count successes, 1 the last factor, 4 done.
        remainder: u, uniform in 0..t-1 until accepted.
        series: k, how far the alternating series of the running Bernoulli variable has come, from 1.
        successes: v, successes of chance 1/e so far.
        value: the result, once done.
    """

    phase: Int[Array, "..."]
    remainder: Int[Array, "..."]
    series: Int[Array, "..."]
    successes: Int[Array, "..."]
    value: Int[Array, "..."]


def discrete_laplace(key: Any, shape: tuple[int, ...], scale: int) -> Int[Array, "..."]:
    """Independent integers z with Pr[z] = tanh(1/(2t)) e^(-|z|/t), t = `scale`: exact, int64."""
    return _run(partial(advance, scale=scale), key, shape, scale)


def logistic_coin(key: Any, shape: tuple[int, ...], numerator: int, scale: int) -> Bool[Array, "..."]:
    """Independent coins, True with chance e^c / (1 + e^c), c = `numerator` / `scale` >= 0: exact.

    A fair coin that shows heads is True. Tails are kept with chance e^-c, else the coin is tossed again; so False has
    chance e^-c / (1 + e^-c).
    """
    return _run(partial(advance_coin, numerator=numerator, scale=scale), key, shape, scale) == 1


def word62(key: Any, shape: tuple[int, ...]) -> Int[Array, "..."]:
    """Independent uniform integers in 0..2^62 - 1, int64 (made of 32-bit words, see `wallenius.uniform`)."""
    words = jax.random.bits(key, (2, *shape), jnp.uint32).astype(jnp.int64)
    return (words[0] >> 1) * 2**31 + (words[1] >> 1)


def advance(state: Automaton, below_scale: Any, below_series: Any, bit: Any, *, scale: int) -> Automaton:
    """One step of a discrete Laplace variable (Algorithm 2 with s = 1).

    `below_scale` is uniform in 0..scale-1, `below_series` in 0..series-1, and `bit` in 0..1.
    """
    phase, remainder, series, successes, value = state
    success, failure, longer = _bernoulli(
        jnp.where(phase == _COUNT, scale, remainder), series, below_scale, below_series
    )
    magnitude = remainder + scale * successes
    signed = jnp.where(bit == 1, -magnitude, magnitude)
    refused = (bit == 1) & (magnitude == 0)  # else 0 would be twice as likely
    after = _by_phase(
        phase,
        {
            _PROPOSE: _ACCEPT,
            _ACCEPT: jnp.where(success, _COUNT, jnp.where(failure, _PROPOSE, _ACCEPT)),
            _COUNT: jnp.where(failure, _SIGN, _COUNT),
            _SIGN: jnp.where(refused, _PROPOSE, _DONE),
        },
    )
    return Automaton(
        after,
        jnp.where(phase == _PROPOSE, below_scale, remainder),
        jnp.where(longer & ((phase == _ACCEPT) | (phase == _COUNT)), series + 1, 1),
        jnp.where(phase == _PROPOSE, 0, jnp.where((phase == _COUNT) & success, successes + 1, successes)),
        jnp.where((phase == _SIGN) & ~refused, signed, value),
    )


def advance_coin(
    state: Automaton, below_scale: Any, below_series: Any, bit: Any, *, numerator: int, scale: int
) -> Automaton:
    """One step of a logistic coin; e^-c is a product of e^-1, floor(c) times, and one last factor."""
    whole, last = divmod(numerator, scale)
    phase, remainder, series, successes, value = state
    success, failure, longer = _bernoulli(jnp.where(phase == _COUNT, scale, last), series, below_scale, below_series)
    heads = bit == 1
    running = (phase == _ACCEPT) | (phase == _COUNT)
    counted = successes + 1
    after = _by_phase(
        phase,
        {
            _PROPOSE: jnp.where(heads, _DONE, _COUNT if whole else _ACCEPT),
            _ACCEPT: jnp.where(success, _DONE, jnp.where(failure, _PROPOSE, _ACCEPT)),
            _COUNT: jnp.where(failure, _PROPOSE, jnp.where(success & (counted == whole), _ACCEPT, _COUNT)),
        },
    )
    return Automaton(
        after,
        remainder,
        jnp.where(longer & running, series + 1, 1),
        jnp.where(phase == _PROPOSE, 0, jnp.where((phase == _COUNT) & success, counted, successes)),
        jnp.where((phase == _PROPOSE) & heads, 1, jnp.where((phase == _ACCEPT) & success, 0, value)),
    )


def _bernoulli(numerator: Any, series: Any, below_scale: Any, below_series: Any) -> tuple[Any, Any, Any]:
    """One term of Algorithm 1 for chance e^-g, g = numerator / scale <= 1: it goes on with chance g / series.

    Where it stops, the variable is a success if `series` is odd.
    """
    longer = (below_scale < numerator) & (below_series == 0)
    odd = series % 2 == 1
    return ~longer & odd, ~longer & ~odd, longer


def _by_phase(phase: Any, after: Mapping[int, Any]) -> Any:
    """The next phase (`jnp.select` asks for a 64-bit index, which a program without 64-bit types cannot compile)."""
    following = phase
    for own, choice in after.items():
        following = jnp.where(phase == own, choice, following)
    return following


def _run(step: Callable[..., Automaton], key: Any, shape: tuple[int, ...], scale: int) -> Int[Array, "..."]:
    """Steps automata until all are done; a rejected uniform integer leaves its automaton where it is.

    At most `_LANES` run at once. A lane that is done takes the next variable nobody works on, so that no lane waits for
    the slowest; which variable a lane works on does not depend on values, and every variable started is finished.
    """
    number = math.prod(shape)
    lanes = min(number, _LANES)
    zero = jnp.zeros(lanes, jnp.int64)
    fresh = Automaton(zero, zero, zero + 1, zero, zero)

    def unfinished(carry: tuple[Any, Automaton, Any, Any, Any]) -> Any:
        return jnp.any(carry[2] < number)

    def move(carry: tuple[Any, Automaton, Any, Any, Any]) -> tuple[Any, Automaton, Any, Any, Any]:
        key, state, mine, started, values = carry
        key, own = jax.random.split(key)
        words = jax.random.bits(own, (2, lanes), jnp.uint32).astype(jnp.int64)
        below_scale, fine = _below(words[0], 32, scale)
        below_series, good = _below(words[1] >> 1, 31, state.series)
        after = step(state, below_scale, below_series, words[1] & 1)
        state = Automaton(*(jnp.where(fine & good, new, old) for new, old in zip(after, state, strict=True)))
        done = state.phase == _DONE
        values = values.at[jnp.where(done, mine, number)].set(state.value, mode="drop")
        following = started + jnp.cumsum(done) - 1
        state = Automaton(*(jnp.where(done, new, old) for new, old in zip(fresh, state, strict=True)))
        return key, state, jnp.where(done, following, mine), started + jnp.sum(done), values

    start = (key, fresh, jnp.arange(lanes), jnp.asarray(lanes, jnp.int64), jnp.zeros(number, jnp.int64))
    return jax.lax.while_loop(unfinished, move, start)[4].reshape(shape)


def _below(word: Any, bits: int, bound: Any) -> tuple[Any, Any]:
    """A uniform integer below `bound` from a uniform one of so many bits, and whether it may be used."""
    return word % bound, word < 2**bits // bound * bound
