"""Weighted sampling without replacement: Wallenius' multivariate noncentral hypergeometric distribution.

Lu and Shen, sec. 3.3 and 6.2: sequential sampler (7), mass function (8) and (13), Manly's mean (9); every individual is
its own category, as in the paper's analysis. Wallenius (1963), Chesson (1976), Manly (1974), Fog (2008).

Exponential clocks: individual i rings at an independent time of rate w_i. The order of the rings is the order of
draws (7): rings have no memory, and the next one is i with probability w_i over the sum of what has not rung. All
that follows is a statement about these clocks. Weights are positive; only their ratios matter.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.checks import check_count
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.shapes import Array, Float, Int

MAX_RECURSION = 12
"""Up to this many draws the mass function is a recursion over 2^draws subsets; beyond, an integral."""

MAX_OUTPUTS = 20_000_000
"""Largest number of sets that `combinations` lists (about 800 MB at 5 members)."""

_NODES = 256
_NEGLIGIBLE = 42.0
"""Nats below the largest value at which an integrand is cut off: e^-42 is a hundredth of the float64 rounding error."""


@final
@dataclass(frozen=True)
class WalleniusSampling:
    """Draws `num_draws` of n individuals one by one, each draw in proportion to the weights of those left (7).

    The dataset is the vector of weights, shape (n,), positive (0 is allowed: never drawn). The output is the set
    drawn, as an ascending array of indices. No privacy is claimed: `claim` is infinite.
    """

    num_draws: int = 2

    def __post_init__(self) -> None:
        check_count("num_draws", self.num_draws, 1)

    @property
    def num_neighbors(self) -> int:
        """The number of draws, under the name that every selection mechanism has."""
        return self.num_draws

    @property
    def claim(self) -> PrivacyClaim:
        """Nothing: the distribution by itself is no privacy mechanism."""
        return PrivacyClaim(math.inf)

    @float64
    def sample(self, key: Any, dataset: Any) -> Int[Array, " draws"]:
        """One set, shape (num_draws,), ascending.

        The `num_draws` largest of log w_i + Gumbel_i: minus the logarithm of an exponential time of rate w_i is
        log w_i plus a Gumbel variable, so the largest sums are the first rings, in law the sequential draws (7).

        Raises:
            InvalidInput: fewer than `num_draws` positive weights (not checked under a transformation).
        """
        weights = _weights(dataset, self.num_draws)
        if not isinstance(weights, jax.core.Tracer) and int(jnp.sum(weights > 0)) < self.num_draws:
            raise InvalidInput(f"fewer than {self.num_draws} weights are positive; draw less or give more weights")
        scores = jnp.log(weights) + gumbel(key, weights.shape)
        return jnp.sort(jax.lax.top_k(scores, self.num_draws)[1])

    @float64
    def log_prob(self, output: Any, dataset: Any) -> Float[Array, ""]:
        """log Pr[the set drawn is `output`], nats, shape (); NaN when fewer than `num_draws` weights are positive."""
        weights = _weights(dataset, self.num_draws)
        return log_pmf(weights, output)

    def outputs(self, dataset: Any) -> np.ndarray:
        """All sets, shape (number of sets, num_draws)."""
        return combinations(np.arange(len(dataset)), self.num_draws)


@float64
def log_pmf(weights: Any, subset: Any) -> Float[Array, ""]:
    """log Pr[the first draws are exactly `subset`, in any order], nats, shape (): (8) and (13).

    Weights are not negative, shape (n,); the subset holds distinct indices, shape (draws,).

    Returns:
        -inf when a weight of the subset is 0 or an index is repeated or out of range, NaN when fewer weights than draws
        are positive.

    Raises:
        InvalidInput: more draws than weights, or arrays of the wrong shape.
    """
    subset = jnp.asarray(subset)
    if subset.ndim != 1:
        raise InvalidInput(f"a subset is a list of indices, got shape {subset.shape}")
    weights = _weights(weights, len(subset))
    return _subset_law(weights, subset)


def members_log_prob(
    log_weights: Float[Array, " n"], members: Int[Array, " draws"], start: Int[Array, " n"], stop: Int[Array, " n"]
) -> Float[Array, ""]:
    """log-probability that independent weighted samplings, one per group, draw exactly these members.

    Let f(T) be the probability that the members in T are the next ones drawn in their groups. Some group of T draws
    first; with the group of the lowest member, f(T) = sum_j w_j f(T - j) / (rest + w(T)) over its members j in T, where
    `rest` is what the group leaves undrawn at the end. Nothing is ever subtracted, so nothing cancels.

    The recursion runs on numbers where no product can underflow, else on their logarithms. The choice depends on the
    weights only, so a batch of member lists makes one choice.

    Args:
        log_weights: of everyone, nats; -inf for weight 0.
        members: indices; repeated ones give no meaningful value.
        start: first index of everyone's group; groups are runs of consecutive indices.
        stop: one past the last index of everyone's group.

    Returns:
        Nats; -inf when a member has weight 0.
    """
    draws = len(members)
    possible = jnp.all(log_weights[members] > -jnp.inf)
    if draws > MAX_RECURSION:
        log_rest = _rest(_LOGARITHMS, log_weights, members, start, stop)
        value = _integral(log_weights[members], log_rest, start[members])
    else:
        highest = jnp.max(log_weights)
        lowest = jnp.min(jnp.where(log_weights > -jnp.inf, log_weights, highest))
        underflows = draws * (highest - lowest + math.log(len(log_weights))) > -math.log(np.finfo(float).tiny) - 10
        value = jax.lax.cond(
            underflows,
            lambda: _recursion(_LOGARITHMS, log_weights, members, start, stop),
            lambda: jnp.log(_recursion(_NUMBERS, jnp.exp(log_weights - highest), members, start, stop)),
        )
    return jnp.where(possible, value, -jnp.inf)


@float64
def exact_mean(weights: Any, num_draws: int) -> Float[Array, " n"]:
    """Probability mu_i that individual i is among the first `num_draws`, the exact mean of the distribution.

    With N the number of other clocks that have rung, mu_i = int w_i e^(-w_i x) Pr[N(x) < num_draws] dx. N is a sum of
    independent indicators; its law without i comes from the laws of those before and of those after i, so no division
    by a small number occurs. The integral runs over log x between two points found by Chernoff's bound: before the
    first the factor Pr[...] is 1 and the integral is elementary, after the second it is 0 (both up to e^-42).

    Weights are positive, shape (n,).

    Returns:
        Shape (n,), sums to `num_draws`; error below 1e-10 for n up to 1000.

    Raises:
        InvalidInput: a weight that is not a positive number, or `num_draws` outside 0..n.
    """
    values = _checked_weights(weights, num_draws)
    if num_draws in (0, len(values)):
        return jnp.full(len(values), float(num_draws > 0))
    values = values / values.max()
    start, stop = _ring_range(values, num_draws)
    # The law of log(k-th ring) is about 1/sqrt(k) wide and analytic: 16 Gauss-Legendre nodes resolve two widths.
    # Their number is rounded up to a power of two, so that few shapes are ever compiled.
    panels = 1 << math.ceil(math.log2(max(1.0, (stop - start) / min(0.5, 2 / math.sqrt(num_draws)))))
    nodes, node_weights = np.polynomial.legendre.leggauss(16)
    half = (stop - start) / panels / 2
    centers = start + half * (2 * np.arange(panels) + 1)
    log_times = centers[:, None] + half * nodes
    integral = _mean_integral(jnp.asarray(values), jnp.asarray(log_times), jnp.asarray(half * node_weights), num_draws)
    return -jnp.expm1(-values * math.exp(start)) + integral


@float64
def manly_mean(weights: Any, num_draws: int) -> Float[Array, " n"]:
    """Manly's approximate mean (9), (12): mu_i = 1 - A^(w_i) with A in (0, 1) such that the sum is `num_draws`.

    The one unknown is found by bisection of log(-log A), on which the sum depends monotonically, to the last float.

    Raises:
        InvalidInput: a weight that is not a positive number, or `num_draws` outside 0..n.
    """
    values = _checked_weights(weights, num_draws)
    num = len(values)
    if num_draws in (0, num):
        return jnp.full(num, float(num_draws > 0))
    values = values / values.max()
    # 1 - e^-x <= x bounds the root below; e^(-w_min x) n >= sum e^(-w x) = n - k bounds it above.
    low = math.log(num_draws / values.sum()) - 1e-9
    high = math.log(-math.log1p(-num_draws / num) / values.min()) + 1e-9
    for _ in range(200):
        middle = (low + high) / 2
        below = -np.expm1(-values * math.exp(middle)).sum() < num_draws
        low, high = (middle, high) if below else (low, middle)
    return jnp.asarray(-np.expm1(-values * math.exp((low + high) / 2)))


def uniform(key: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Uniform float64 numbers strictly between 0 and 1, odd multiples of 2^-53.

    Made of 32-bit words: JAX generates 64-bit words wrongly when the program that compiles us has 64-bit types off.
    """
    words = jax.random.bits(key, (2, *shape), jnp.uint32)
    high, low = words[0].astype(jnp.float64), (words[1] >> 12).astype(jnp.float64)
    return (high * 2**20 + low + 0.5) / 2**52


def gumbel(key: Any, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Standard Gumbel variables: minus the logarithm of exponential ones."""
    return -jnp.log(-jnp.log(uniform(key, shape)))


def combinations(items: Any, size: int) -> np.ndarray:
    """All subsets of `size` items in lexicographic order, shape (number, size).

    Raises:
        InvalidInput: more subsets than `MAX_OUTPUTS`.
    """
    items = np.asarray(items)
    number = math.comb(len(items), size)
    if number > MAX_OUTPUTS:
        raise InvalidInput(
            f"{len(items)} candidates have {number} subsets of {size}; at most {MAX_OUTPUTS} can be listed, use fewer"
        )
    flat = itertools.chain.from_iterable(itertools.combinations(range(len(items)), size))
    return items[np.fromiter(flat, np.int64, number * size).reshape(number, size)]


@jax.jit
def _subset_law(weights: Float[Array, " n"], subset: Int[Array, " draws"]) -> Float[Array, ""]:
    num, draws = len(weights), len(subset)
    inside = (subset >= 0) & (subset < num)
    distinct = jnp.sum(subset[:, None] == subset[None, :]) == draws
    value = members_log_prob(jnp.log(weights), jnp.clip(subset, 0, num - 1), jnp.zeros(num, int), jnp.full(num, num))
    value = jnp.where(jnp.all(inside) & distinct, value, -jnp.inf)
    return jnp.where(jnp.sum(weights > 0) >= draws, value, jnp.nan)


class _Arithmetic(NamedTuple):
    """Sums, products and quotients of non-negative numbers, written as they are or as logarithms."""

    zero: float
    one: float
    total: Callable[[list[Any]], Any]
    multiply: Callable[[Any, Any], Any]
    divide: Callable[[Any, Any], Any]
    running_sum: Callable[[Any], Any]


_NUMBERS = _Arithmetic(0.0, 1.0, sum, jnp.multiply, jnp.divide, partial(jnp.cumsum, axis=1))
_LOGARITHMS = _Arithmetic(
    -math.inf,
    0.0,
    lambda terms: jax.nn.logsumexp(jnp.stack(terms), axis=0),
    jnp.add,
    jnp.subtract,
    partial(jax.lax.cumlogsumexp, axis=1),
)


def _recursion(
    arithmetic: _Arithmetic,
    weights: Float[Array, " n"],
    members: Int[Array, " draws"],
    start: Int[Array, " n"],
    stop: Int[Array, " n"],
) -> Float[Array, ""]:
    """f of `members_log_prob`, by subsets of growing size; which entries are combined is known at trace time."""
    zero, one, total, multiply, divide, _ = arithmetic
    rest = _rest(arithmetic, weights, members, start, stop)
    together = start[members][:, None] == start[members][None, :]
    # Members outside the group of the lowest member of T do not draw: in row `low` of this table they weigh nothing.
    table = jnp.where(together, weights[members], zero)
    done = jnp.full(1, one)
    for subsets, smaller in _layers(len(members)):
        low = subsets[:, 0]
        drawn = [table[low, member] for member in subsets.T]
        numerator = total([multiply(w, done[without]) for w, without in zip(drawn, smaller.T, strict=True)])
        done = divide(numerator, total([rest[low], *drawn]))
    return done[0]


def _rest(
    arithmetic: _Arithmetic,
    weights: Float[Array, " n"],
    members: Int[Array, " draws"],
    start: Int[Array, " n"],
    stop: Int[Array, " n"],
) -> Float[Array, " draws"]:
    """For every member, the total weight of those in its group that are no members.

    The sums over all runs of consecutive indices are tabulated once (they depend on the weights only); a group without
    its members is a few such runs.
    """
    zero, total = arithmetic.zero, arithmetic.total
    num = len(weights)
    index = jnp.arange(num + 1)
    entries = jnp.where(index[:num] >= index[:, None], weights, zero)
    runs = jnp.concatenate([jnp.full((num + 1, 1), zero), arithmetic.running_sum(entries)], axis=1)
    first, last = start[members], stop[members]
    lower = members[:, None] > members[None, :]
    previous = jnp.max(jnp.where(lower, members[None, :] + 1, 0), axis=1)
    following = jnp.min(jnp.where(lower.T, members[None, :], num), axis=1)
    before = runs[jnp.maximum(first, previous), members]
    after = jnp.where(following < last, zero, runs[members + 1, last])
    mine = first[:, None] == first[None, :]
    return total([jnp.where(same, gap[j], zero) for gap in (before, after) for j, same in enumerate(mine)])


def _layers(draws: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each size its subsets, and for each of their members the index of the subset without it."""
    layers = []
    index: dict[tuple[int, ...], int] = {(): 0}
    for size in range(1, draws + 1):
        subsets = list(itertools.combinations(range(draws), size))
        smaller = [[index[(*subset[:j], *subset[j + 1 :])] for j in range(size)] for subset in subsets]
        layers.append((np.array(subsets), np.array(smaller)))
        index = {subset: position for position, subset in enumerate(subsets)}
    return layers


def _integral(
    log_weights: Float[Array, " draws"], log_rest: Float[Array, " draws"], group: Int[Array, " draws"]
) -> Float[Array, ""]:
    """`members_log_prob` as a product of integrals (13), one per group."""

    def one(first: Int[Array, ""]) -> Float[Array, ""]:
        mine = group == group[first]
        lowest = jnp.all(~mine | (jnp.arange(len(group)) >= first))
        return jnp.where(lowest, _group_integral(log_weights, mine, log_rest[first]), 0.0)

    return jnp.sum(jax.lax.map(one, jnp.arange(len(group))))


def _group_integral(log_weights: Float[Array, " draws"], mine: Array, log_rest: Float[Array, ""]) -> Float[Array, ""]:
    """log int_0^1 prod (1 - t^(w_i/d)) dt over the members of one group, d = e^log_rest.

    With t = e^(-e^u) the integrand is e^(u - e^u) prod (1 - e^(-(w_i/d) e^u)), log-concave in u and analytic in the
    strip |Im u| < pi/2: the trapezoidal rule between the two points where it has lost `_NEGLIGIBLE` nats converges
    exponentially. To the left it falls at least like e^u, to the right like e^-e^u, so the range is at most about 50.
    """
    empty = log_rest == -jnp.inf  # nothing is left undrawn: the set is certain
    ratios = jnp.where(empty | ~mine, 0.0, log_weights - jnp.where(empty, 0.0, log_rest))

    def log_integrand(u: Float[Array, ""]) -> Float[Array, ""]:
        return u - jnp.exp(u) + jnp.sum(jnp.where(mine, _log_one_minus_exp(ratios + u), 0.0))

    mode = _bisect(lambda u: jax.grad(log_integrand)(u) > 0, -800.0, 50.0)
    peak = log_integrand(mode)
    left = _bisect(lambda u: log_integrand(u) < peak - _NEGLIGIBLE, mode - 2 * _NEGLIGIBLE, mode)
    right = _bisect(lambda u: log_integrand(u) > peak - _NEGLIGIBLE, mode, mode + 2 * _NEGLIGIBLE)
    step = (right - left) / (_NODES - 1)
    values = jax.vmap(log_integrand)(left + step * jnp.arange(_NODES))
    return jnp.where(empty, 0.0, jax.nn.logsumexp(values) + jnp.log(step))


def _log_one_minus_exp(log_x: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 - e^-x) from log x, without loss when x is tiny or huge."""
    x = jnp.exp(jnp.minimum(log_x, 100.0))
    tiny = log_x < -30.0  # there log(1 - e^-x) = log x up to x/2
    return jnp.where(tiny, log_x, jnp.log(-jnp.expm1(-jnp.where(tiny, 1.0, x))))


def _bisect(below: Any, low: Any, high: Any) -> Float[Array, ""]:
    """The point where a monotone condition changes from true to false."""

    def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bracket
        middle = (low + high) / 2
        inside = below(middle)
        return jnp.where(inside, middle, low), jnp.where(inside, high, middle)

    low, high = jnp.asarray(low, jnp.float64), jnp.asarray(high, jnp.float64)
    return jax.lax.fori_loop(0, 60, halve, (low, high))[1]


@partial(jax.jit, static_argnames="num_draws")
def _mean_integral(
    weights: Float[Array, " n"],
    log_times: Float[Array, "panels nodes"],
    node_weights: Float[Array, " nodes"],
    num_draws: int,
) -> Float[Array, " n"]:
    def panel(log_time: Float[Array, " nodes"]) -> Float[Array, " n"]:
        time = jnp.exp(log_time)
        rung = -jnp.expm1(-weights[:, None] * time)
        density = weights[:, None] * time * jnp.exp(-weights[:, None] * time)
        none = jnp.zeros((num_draws, len(time))).at[0].set(1.0)

        def add(law: Array, chance: Array) -> tuple[Array, Array]:
            shifted = jnp.concatenate([jnp.zeros((1, law.shape[1])), law[:-1]])
            return law * (1 - chance) + shifted * chance, law

        _, before = jax.lax.scan(add, none, rung)
        _, after = jax.lax.scan(add, none, rung, reverse=True)
        # Pr[N < k] = sum_a Pr[before = a] Pr[after < k - a]
        few = jnp.sum(before * jnp.cumsum(after, axis=1)[:, ::-1], axis=1)
        return (density * few) @ node_weights

    return jnp.sum(jax.lax.map(panel, log_times), axis=0)


def _ring_range(weights: np.ndarray, num_draws: int) -> tuple[float, float]:
    """log-times before which surely fewer, and after which surely at least, `num_draws` other clocks have rung.

    Chernoff: a sum of indicators with mean m is at least a > m with probability at most (m/a)^a e^(a-m). Used for the
    clocks that have rung, and for those that have not.
    """

    def unlikely(mean: float, count: int) -> bool:
        return mean < count and count * math.log(max(mean, 1e-300) / count) + count - mean < -_NEGLIGIBLE

    def early(log_time: float) -> bool:
        return unlikely(float(-np.expm1(-weights * math.exp(log_time)).sum()), num_draws)

    def late(log_time: float) -> bool:
        return unlikely(float(np.exp(-weights * math.exp(log_time)).sum()), len(weights) - num_draws)

    smallest = math.log(weights.min())
    start = _bisect_host(early, -100.0, -smallest + 50.0)
    stop = _bisect_host(lambda u: not late(u), start, -smallest + 50.0)
    return start, max(stop, start + 1e-3)


def _bisect_host(below: Any, low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low


def _weights(weights: Any, num_draws: int) -> Float[Array, " n"]:
    array = jnp.asarray(weights, jnp.float64)
    if array.ndim != 1:
        raise InvalidInput(f"weights are a list of numbers, got shape {array.shape}")
    if num_draws > len(array):
        raise InvalidInput(f"{num_draws} draws from {len(array)} individuals; draw at most {len(array)}")
    if not isinstance(array, jax.core.Tracer) and not bool(jnp.all(jnp.isfinite(array) & (array >= 0))):
        raise InvalidInput("a weight is negative or not a finite number; weights must be >= 0")
    return array


def _checked_weights(weights: Any, num_draws: int) -> np.ndarray:
    array = np.asarray(weights, float)
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInput(f"weights are a list of numbers, got shape {array.shape}")
    if not (np.isfinite(array) & (array > 0)).all():
        raise InvalidInput("a weight is not a positive finite number; leave out individuals that are never drawn")
    if not 0 <= num_draws <= len(array):
        raise InvalidInput(f"{num_draws} draws from {len(array)} individuals; draw between 0 and {len(array)}")
    return array
