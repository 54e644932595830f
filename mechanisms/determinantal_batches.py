"""Many exact samples of a determinantal point process at once, from one eigendecomposition.

Two algorithms, both exact; `sample_process` takes the cheaper one for the expected size of Y.

Few items (a low rank, or a small jitter): phase 1 selects k eigenvectors, and phase 2 draws the items by rejection. An
item is proposed with the probability it had at the beginning of the phase, |row i of V|^2 / k, by choosing one of the
k vectors evenly and an item by the squares of its entries; it is accepted with probability |residual of row i|^2 /
|row i|^2, the residual being what is orthogonal to the rows drawn so far. That is the chain rule of Algorithm 1,
because residuals only shrink, and it touches one row per proposal, k (1 + 1/2 + ... + 1/k) of them on average, instead
of all n at every step (Barthelme, Tremblay and Amblard 2023).

Many items: the items are decided one after another. Given the decisions so far, item i is in Y with probability p_i,
the pivot of an elimination on the marginal kernel K in which the pivot of an item left out is p_i - 1 (Launay, Galerne
and Desolneux 2018; Poulson 2019). In blocks of items, almost all of the n^3 / 3 operations are products of matrices.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Bool, Float, Int
from dpassay.mechanisms.determinantal import Spectrum, log_elementary
from dpassay.mechanisms.wallenius import uniform

CACHE = 2**21
"""Bytes that the working arrays of samples processed together should take, so that they stay in a core's cache."""

REJECTION_SHARE = 1 / 8
"""Rejection is used while the expected size of Y is at most this share of the items."""


_QUEUE = 16
"""Samples per lane of the rejection sampler."""


@float64
def sample_process(key: Any, spectrum: Spectrum, num_samples: int) -> Bool[Array, "samples items"]:
    """Samples of the determinantal point process with this spectrum, as masks; by the cheaper algorithm."""
    return (sample_by_rejection if rejects(spectrum) else sample_by_elimination)(key, spectrum, num_samples)


def rejects(spectrum: Spectrum) -> bool:
    """Whether `sample_process` uses rejection: the expected size of Y is at most `REJECTION_SHARE` of the items."""
    values = np.asarray(spectrum.values)
    return bool((values / (1 + values)).sum() <= REJECTION_SHARE * len(values))


@float64
def sample_by_rejection(key: Any, spectrum: Spectrum, num_samples: int) -> Bool[Array, "samples items"]:
    """Samples by phase 1 and a rejection sampler of phase 2."""
    values, vectors, sums = _possible(spectrum)
    if len(values) == 0:
        return jnp.zeros((num_samples, len(spectrum.values)), bool)
    chances = np.asarray(values) / (1 + np.asarray(values))
    lanes = _lanes(math.ceil(chances.sum() + 3 * math.sqrt((chances * (1 - chances)).sum())), num_samples)
    found = []
    for key_chunk, size in _chunks(key, num_samples, _QUEUE * lanes):
        key_flips, key_items = jax.random.split(key_chunk)
        columns, counts = _flipped(key_flips, values, size)
        width = _rounded(int(counts.max()), len(values))
        found.append(_by_rejection(key_items, vectors, sums, columns[:, :width], counts, min(lanes, size)))
    return jnp.concatenate(found)[:num_samples]


@float64
def sample_fixed_size(key: Any, spectrum: Spectrum, size: int, num_samples: int) -> Bool[Array, "samples items"]:
    """Samples of the process conditioned on `size` items, which must not exceed the rank."""
    values, vectors, sums = _possible(spectrum)
    table = _elementary_table(values, size)
    lanes = _lanes(size, num_samples)
    found = []
    for key_chunk, number in _chunks(key, num_samples, _QUEUE * lanes):
        key_vectors, key_items = jax.random.split(key_chunk)
        columns = _selected(key_vectors, table, number)
        counts = jnp.full(number, size)
        found.append(_by_rejection(key_items, vectors, sums, columns, counts, min(lanes, number)))
    return jnp.concatenate(found)[:num_samples]


@float64
def sample_by_elimination(key: Any, spectrum: Spectrum, num_samples: int) -> Bool[Array, "samples items"]:
    """Samples by deciding the items one after another."""
    values, vectors = spectrum
    num = len(values)
    marginal = (vectors * (values / (1 + values))) @ vectors.T
    chunks = _chunks(key, num_samples, _power(min(max(CACHE // (2 * num**2), 8), 1024)))
    return jnp.concatenate([_by_elimination(key_chunk, marginal, size) for key_chunk, size in chunks])[:num_samples]


def _possible(spectrum: Spectrum) -> tuple[Array, Array, Array]:
    """The positive eigenvalues, their vectors as columns, and the running sums of the squares of each vector."""
    possible = np.asarray(spectrum.values) > 0
    values, vectors = spectrum.values[possible], spectrum.vectors[:, possible]
    return values, vectors, jnp.cumsum(vectors.T**2, axis=1)


def _chunks(key: Any, num_samples: int, most: int) -> list[tuple[Any, int]]:
    """A key and a size, a power of two, for every chunk of samples; of one size, so that there is one compilation."""
    size = min(most, 1 << (num_samples - 1).bit_length())
    return [(jax.random.fold_in(key, chunk), size) for chunk in range(-(-num_samples // size))]


def _lanes(width: int, num_samples: int) -> int:
    """How many samples the rejection sampler works at side by side: their bases fill the cache, within limits."""
    return _power(min(max(CACHE // (8 * width**2), 16), 256, num_samples))


def _power(number: int) -> int:
    """The largest power of two that is at most the number."""
    return 1 << number.bit_length() - 1


def _rounded(width: int, most: int) -> int:
    """A width that is at least the given one, out of few, so that few shapes are compiled."""
    step = max(4, 1 << max(0, width.bit_length() - 3))
    return min(most, max(1, -(-width // step) * step))


@partial(jax.jit, static_argnums=2)
def _flipped(
    key: Any, values: Float[Array, " rank"], num_samples: int
) -> tuple[Int[Array, "samples rank"], Int[Array, " samples"]]:
    """Phase 1: for each sample the selected vectors first, and how many they are."""
    heads = uniform(key, (num_samples, len(values))) * (1 + values) < values
    return jnp.argsort(~heads, axis=1, stable=True), jnp.sum(heads, axis=1)


@partial(jax.jit, static_argnums=1)
def _elementary_table(values: Float[Array, " rank"], size: int) -> Float[Array, "rows columns"]:
    return log_elementary(jnp.log(values), size)


@partial(jax.jit, static_argnums=2)
def _selected(key: Any, table: Float[Array, "rows columns"], num_samples: int) -> Int[Array, "samples size"]:
    """Phase 1 at a fixed size, by inversion.

    With M vectors open and l to be selected, the last one is number m with probability value_m e_(l-1)(m - 1) / e_l(M),
    which is (e_l(m) - e_l(m - 1)) / e_l(M): column l of the table is its cumulative law.
    """
    size = table.shape[1] - 1
    logs = jnp.log(uniform(key, (size, num_samples)))

    def select(opened: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        column, log = step
        last = jnp.searchsorted(column, column[opened] + log) - 1
        return last, last

    _, columns = jax.lax.scan(select, jnp.full(num_samples, len(table) - 1), (table.T[:0:-1], logs))
    return columns.T


@partial(jax.jit, static_argnums=5)
def _by_rejection(
    key: Any,
    vectors: Float[Array, "items rank"],
    sums: Float[Array, "rank items"],
    columns: Int[Array, "samples width"],
    counts: Int[Array, " samples"],
    lanes: int,
) -> Bool[Array, "samples items"]:
    """Phase 2: the first `counts` of the columns are the selected vectors of each sample.

    Every lane makes one proposal per round and works off its own queue of samples, so that a lane whose sample is done
    goes on with the next and does not wait for the slowest. The queues are fixed beforehand: how long a sample takes
    decides nothing about which samples there are.
    """
    (number, width), num = columns.shape, len(vectors)
    queue = number // lanes
    first, slots = jnp.arange(lanes) * queue, jnp.arange(width)
    flat = sums.ravel()

    def propose(key: Any, chosen: Array, count: Array) -> tuple[Array, Array]:
        points = uniform(key, (2, lanes))
        scaled = points[0] * count
        vector = jnp.minimum(scaled.astype(int), jnp.maximum(count - 1, 0))
        start = jnp.take_along_axis(chosen, vector[:, None], axis=1)[:, 0] * num
        target = (scaled - vector) * flat[start + num - 1]

        def halve(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = bracket
            middle = (low + high) // 2
            above = flat[start + middle] > target
            return jnp.where(above, low, middle + 1), jnp.where(above, middle, high)

        bracket = (jnp.zeros(lanes, int), jnp.full(lanes, num - 1))
        return jax.lax.fori_loop(0, num.bit_length(), halve, bracket)[0], points[1]

    def more(state: _Progress) -> Array:
        return jnp.any(state.place < queue)

    def step(state: _Progress) -> _Progress:
        sample = first + jnp.minimum(state.place, queue - 1)
        chosen, count = columns[sample], counts[sample]
        item, point = propose(jax.random.fold_in(key, state.round), chosen, count)
        row = jnp.where(slots < count[:, None], vectors[item[:, None], chosen], 0.0)
        parts = jnp.einsum("lbw,lw->lb", state.basis, row)
        parts = jnp.where(slots < state.drawn[:, None], parts, 0.0)  # beyond stand vectors of an earlier sample
        square = jnp.sum(row**2, axis=1)
        left = square - jnp.sum(parts**2, axis=1)
        accept = (point * square < left) & (state.drawn < count) & (state.place < queue)
        residual = row - jnp.einsum("lbw,lb->lw", state.basis, parts)
        residual /= jnp.sqrt(jnp.where(accept, left, 1.0))[:, None]
        slot = jnp.where(accept, state.drawn, width)
        drawn = state.drawn + accept
        done = drawn >= count
        return _Progress(
            state.round + 1,
            state.place + done,
            jnp.where(done, 0, drawn),
            state.basis.at[jnp.arange(lanes), slot].set(residual, mode="drop"),
            state.items.at[sample, slot].set(item, mode="drop"),
        )

    start = _Progress(
        jnp.asarray(0),
        jnp.zeros(lanes, int),
        jnp.zeros(lanes, counts.dtype),
        jnp.zeros((lanes, width, width)),
        jnp.full((number, width), num),
    )
    items = jax.lax.while_loop(more, step, start).items
    return jnp.zeros((number, num), bool).at[jnp.arange(number)[:, None], items].set(True, mode="drop")


class _Progress(NamedTuple):
    """Where the lanes of the rejection sampler are.

    Attributes:
        round: number of proposals made by each lane.
        place: place in its queue of the sample that each lane works at.
        drawn: how many items of that sample are drawn.
        basis: orthonormal basis of the rows drawn, one vector per slot.
        items: the items drawn of every sample; the number of items where none is.
    """

    round: Int[Array, ""]
    place: Int[Array, " lanes"]
    drawn: Int[Array, " lanes"]
    basis: Float[Array, "lanes width width"]
    items: Int[Array, "samples width"]


@partial(jax.jit, static_argnums=2)
def _by_elimination(key: Any, marginal: Float[Array, "n n"], num_samples: int) -> Bool[Array, "samples n"]:
    """Left-looking elimination by blocks of columns: K = U D U', of which only the current block is ever formed."""
    num = len(marginal)
    points = uniform(key, (num_samples, num))
    width = max(10, -(-num // 16))
    factors: list[tuple[int, Array, Array]] = []
    decided = []
    for first in range(0, num, width):
        last = min(first + width, num)
        block = jnp.broadcast_to(marginal[first:, first:last], (num_samples, num - first, last - first))
        if factors:
            before = jnp.concatenate([factor[:, first - start :] for start, factor, _ in factors], axis=2)
            pivots = jnp.concatenate([pivot for _, _, pivot in factors], axis=1)
            block -= jnp.einsum("srj,scj->src", before * pivots[:, None, :], before[:, : last - first])
        chosen, pivot, inverse = _decide(block[:, : last - first], points[:, first:last])
        factors.append((first, jnp.einsum("src,skc->srk", block, inverse) / pivot[:, None, :], pivot))
        decided.append(chosen)
    return jnp.concatenate(decided, axis=1)


def _decide(
    block: Float[Array, "samples b b"], points: Float[Array, "samples b"]
) -> tuple[Bool[Array, "samples b"], Float[Array, "samples b"], Float[Array, "samples b b"]]:
    """Decides the items of a diagonal block; also the pivots, and the inverse of the unit lower triangular factor."""
    width = points.shape[1]

    def step(item: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        block, inverse, pivots, decided = state
        chance = block[:, item, item]
        chosen = points[:, item] < chance
        pivot = jnp.where(chosen, chance, chance - 1)
        column = jnp.where(jnp.arange(width) > item, block[:, :, item] / pivot[:, None], 0.0)
        block -= column[:, :, None] * block[:, item, None, :]
        inverse -= column[:, :, None] * inverse[:, item, None, :]
        return block, inverse, pivots.at[:, item].set(pivot), decided.at[:, item].set(chosen)

    identity = jnp.broadcast_to(jnp.eye(width), block.shape)
    start = (block, identity, jnp.zeros(points.shape), jnp.zeros(points.shape, bool))
    _, inverse, pivots, decided = jax.lax.fori_loop(0, width, step, start)
    return decided, pivots, inverse
