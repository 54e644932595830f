"""Exact laws of the benchmark mechanisms on a pair of datasets, and the best bound that any audit could expect of them.

By the Neyman-Pearson lemma the best event of every size collects outputs by descending likelihood ratio. A `PairLaw` is
the pair of output laws grouped by likelihood ratio; `best_bound` is the largest lower bound on epsilon that a test of
so many fresh samples is expected to give over all these events, both ways round: no learner, no selection cost.

Integrals are Gauss-Legendre quadratures in float64, with panels between all kinks of the Laplace densities (relative
error about 1e-12). Continuous outputs are grouped on fine grids, which loses ratio within a cell: grid laws state it.
"""

import itertools
import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from scipy import special, stats

from dpassay.benchmarks.dp_sniper_suite import (
    LaplaceNoise,
    NoisyMaximum,
    Parallel,
    PrefixSum,
    Rappor,
    TruncatedGeometric,
)
from dpassay.benchmarks.sparse_vector import SparseVector

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
TAIL = 45.0  # scales of Laplace noise that are integrated; the rest has probability e^-45
GRID = 0.05  # cell of a continuous output, in units of the query's sensitivity: kinks at multiples of it are met
LEVELS = 100  # likelihood-ratio levels of one shifted Laplace variable between its two extremes


@dataclass(frozen=True)
class PairLaw:
    """Probabilities of groups of outputs under two datasets.

    Attributes:
        p: under dataset1, shape (groups,).
        q: under dataset2.
        method: how they were computed: "exact", "grid" or "Monte Carlo".
    """

    p: np.ndarray
    q: np.ndarray
    method: str = "exact"

    @property
    def epsilon(self) -> float:
        """The largest log-ratio either way round, nats; groups below 1e-15 are left out (rounding)."""
        seen = np.maximum(self.p, self.q) > 1e-15
        with np.errstate(divide="ignore"):
            losses = np.abs(np.log(self.p[seen]) - np.log(self.q[seen]))
        return float(losses.max())

    def events(self, direction: int) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the best events, smallest first, under the likelier and the other dataset, shape (groups,).

        Direction 0: likelier under dataset1; 1: under dataset2.
        """
        p, q = (self.p, self.q) if direction == 0 else (self.q, self.p)
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(-(np.log(p) - np.log(q)), kind="stable")
        return np.cumsum(p[order]), np.cumsum(q[order])


@dataclass(frozen=True)
class Best:
    """The best event of a pair for a test of a given size.

    Attributes:
        bound: expected lower bound on epsilon, nats.
        probability1: of the event under the dataset that makes it likelier.
        probability2: under the other.
        direction: 0 if dataset1 makes it likelier.
    """

    bound: float
    probability1: float
    probability2: float
    direction: int


def best_bound(law: PairLaw, num_test: float, failure_probability: float) -> Best:
    """The best event and the bound it is expected to give.

    The test has `num_test` samples of each dataset.
    """
    from dpassay.auditors.fixed_sample import predicted_lower

    best = Best(0.0, 1.0, 1.0, 0)
    for direction in (0, 1):
        p, q = law.events(direction)
        rows = np.unique(np.linspace(0, len(p) - 1, 4000).astype(int))
        x, y = np.minimum(p[rows], 1.0) * num_test, np.minimum(q[rows], 1.0) * num_test
        bounds = predicted_lower(x, num_test, y, num_test, failure_probability=failure_probability)
        k = int(np.argmax(bounds))
        if bounds[k] > best.bound:
            best = Best(float(bounds[k]), float(x[k] / num_test), float(y[k] / num_test), direction)
    return best


@singledispatch
def pair_law(mechanism: Any, dataset1: Any, dataset2: Any) -> PairLaw:
    """The law of a mechanism's output on two datasets, grouped by likelihood ratio."""
    raise TypeError(f"no exact law of {type(mechanism).__name__}")


@pair_law.register
def _(mechanism: LaplaceNoise, dataset1: Any, dataset2: Any) -> PairLaw:
    shifts = np.repeat(np.ravel(np.asarray(dataset1, float) - np.asarray(dataset2, float)), mechanism.copies)
    return _shifts(np.abs(shifts) / mechanism.scale)


@pair_law.register
def _(mechanism: PrefixSum, dataset1: Any, dataset2: Any) -> PairLaw:
    shifts = np.asarray(dataset1, float) - np.asarray(dataset2, float)  # differences of the sums give the queries back
    return _shifts(np.abs(shifts) * mechanism.epsilon)


@pair_law.register
def _(mechanism: TruncatedGeometric, dataset1: Any, dataset2: Any) -> PairLaw:
    return PairLaw(_geometric_law(mechanism, dataset1), _geometric_law(mechanism, dataset2))


@pair_law.register
def _(mechanism: Rappor, dataset1: Any, dataset2: Any) -> PairLaw:
    low, high = mechanism.rates
    first, second = mechanism.bloom(dataset1), mechanism.bloom(dataset2)
    only1, only2 = int((first & ~second).sum()), int((second & ~first).sum())
    laws = []
    for rate1, rate2 in ((high, low), (low, high)):
        ones1, ones2 = np.arange(only1 + 1), np.arange(only2 + 1)
        laws.append(np.outer(stats.binom.pmf(ones1, only1, rate1), stats.binom.pmf(ones2, only2, rate2)).ravel())
    return PairLaw(laws[0], laws[1])


@pair_law.register
def _(mechanism: NoisyMaximum, dataset1: Any, dataset2: Any) -> PairLaw:
    if mechanism.publishes == "index":
        return PairLaw(_argmax_law(mechanism, dataset1), _argmax_law(mechanism, dataset2))
    return _maximum_law(mechanism, dataset1, dataset2)


@pair_law.register
def _(mechanism: SparseVector, dataset1: Any, dataset2: Any) -> PairLaw:
    if mechanism.value_scale is None:
        return PairLaw(sequences(mechanism, dataset1)[1], sequences(mechanism, dataset2)[1])
    if mechanism.value_scale > 0:
        return _numerical_law(mechanism, dataset1, dataset2)
    if mechanism.cutoff != 1:
        raise TypeError("the law of several published comparisons is found by Monte Carlo")
    return _published_comparison_law(mechanism, dataset1, dataset2)


@pair_law.register
def _(mechanism: Parallel, dataset1: Any, dataset2: Any) -> PairLaw:
    return _monte_carlo_law(mechanism, dataset1, dataset2)


def sequences(mechanism: SparseVector, dataset: Any) -> tuple[np.ndarray, np.ndarray]:
    """All answers (1 above, 0 below, -1 stopped), shape (outputs, queries), and their probabilities."""
    queries = np.asarray(dataset, float)
    patterns = _patterns(len(queries), mechanism.cutoff)
    if mechanism.resets and mechanism.cutoff != 1:
        return patterns, _with_resets(mechanism, queries, patterns)
    return patterns, _without_resets(mechanism, queries, patterns)


def _panels(breaks: np.ndarray, scale: float, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of a quadrature over the reals, panels of at most `scale` that end at all breaks."""
    edges = np.unique(np.concatenate([breaks, [breaks.min() - TAIL * longest, breaks.max() + TAIL * longest]]))
    fine = [np.linspace(a, b, math.ceil((b - a) / scale) + 1)[:-1] for a, b in itertools.pairwise(edges)]
    edges = np.concatenate([*fine, edges[-1:]])
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def _density(z: np.ndarray, scale: float) -> np.ndarray:
    return np.exp(-np.abs(z) / scale) / (2 * scale)


def _above(z: np.ndarray, scale: float) -> np.ndarray:
    """Pr[Laplace(scale) >= z]; the indicator of z <= 0 when the scale is 0."""
    if scale == 0:
        return (z <= 0).astype(float)
    tail = np.exp(-np.abs(z) / scale) / 2
    return np.where(z > 0, tail, 1 - tail)


def _patterns(num_queries: int, cutoff: int | None) -> np.ndarray:
    if cutoff is None:
        return np.array(list(itertools.product((0, 1), repeat=num_queries)), np.int8)
    found = set()
    for count in range(cutoff + 1):
        for places in itertools.combinations(range(num_queries), count):
            last = places[-1] if count == cutoff else num_queries
            found.add(tuple(-1 if i > last else int(i in places) for i in range(num_queries)))
    return np.array(sorted(found), np.int8)


def _quadrature(mechanism: SparseVector, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes of the threshold noise, weights with its density, Pr[answer i is above | node] (queries, nodes)."""
    breaks = np.concatenate([[0.0], queries - mechanism.threshold])
    shortest = min(s for s in (mechanism.threshold_scale, mechanism.query_scale) if s > 0)
    nodes, weights = _panels(breaks, shortest, mechanism.threshold_scale)
    above = _above(nodes + mechanism.threshold - queries[:, None], mechanism.query_scale)
    return nodes, weights * _density(nodes, mechanism.threshold_scale), above


def _without_resets(mechanism: SparseVector, queries: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    _, weights, above = _quadrature(mechanism, queries)
    below = 1 - above  # exact enough: a rare "below" is never what an event is made of beyond 1e-15
    product = np.broadcast_to(weights, (len(patterns), len(weights))).copy()
    for i, column in enumerate(patterns.T):
        product[column == 1] *= above[i]
        product[column == 0] *= below[i]
    return product.sum(axis=1)


def _with_resets(mechanism: SparseVector, queries: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    _, weights, above = _quadrature(mechanism, queries)
    stretches: dict[tuple[int, int, bool], float] = {}
    for start in range(len(queries) + 1):
        running = weights.copy()
        for end in range(start, len(queries)):
            stretches[start, end, True] = float((running * above[end]).sum())
            running = running * (1 - above[end])
        stretches[start, len(queries), False] = float(running.sum())
    probabilities = []
    for pattern in patterns:
        probability, start = 1.0, 0
        for place in np.flatnonzero(pattern == 1):
            probability *= stretches[start, int(place), True]
            start = int(place) + 1
        if mechanism.cutoff != (pattern == 1).sum():
            probability *= stretches[start, len(queries), False]
        probabilities.append(probability)
    return np.array(probabilities)


def _shift_levels(loss: float, levels: int = LEVELS) -> tuple[np.ndarray, np.ndarray]:
    """A Laplace variable shifted by `loss` scales: the laws of its cells by ascending log-ratio, under both centers.

    The ratio is constant beyond the two centers (first and last cell) and log-linear between them (equal cells).
    """
    edges = np.concatenate([[-np.inf], np.linspace(0.0, loss, levels + 1), [np.inf]])
    return np.diff(_cumulative(edges - loss)), np.diff(_cumulative(edges))


def _cumulative(z: np.ndarray) -> np.ndarray:
    return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)


def _shifts(losses: np.ndarray) -> PairLaw:
    """Independent Laplace variables, each shifted by so many scales: the sum of their log-ratios decides."""
    losses = losses[losses > 0]
    if len(losses) == 1:
        return PairLaw(*_shift_levels(float(losses[0]), 4 * LEVELS))
    if not np.allclose(losses, losses[0]):
        raise TypeError("the shifts must be equal")
    p, q = _shift_levels(float(losses[0]))
    # One lattice for all sums: the levels are -loss, then the middles of equal cells, then loss; each middle is spread
    # over its two lattice neighbors, which keeps the mean log-ratio.
    lattice = [np.zeros(LEVELS + 1), np.zeros(LEVELS + 1)]
    for target, law in zip(lattice, (p, q), strict=True):
        target[0] += law[0]
        target[-1] += law[-1]
        target[:-1] += law[1:-1] / 2
        target[1:] += law[1:-1] / 2
    total1, total2 = lattice
    for _ in range(len(losses) - 1):
        total1, total2 = np.convolve(total1, lattice[0]), np.convolve(total2, lattice[1])
    return PairLaw(total1, total2, "grid")


def _geometric_law(mechanism: TruncatedGeometric, count: int) -> np.ndarray:
    return np.diff(np.array([0, *mechanism.cumulative(count)])) / mechanism.denominator


def _noise_law(mechanism: NoisyMaximum, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Density and cumulative probability of the noise."""
    if mechanism.noise == "laplace":
        return _density(z, mechanism.scale), _cumulative(z / mechanism.scale)
    positive = np.maximum(z, 0.0) / mechanism.scale
    return np.where(z >= 0, np.exp(-positive) / mechanism.scale, 0.0), np.where(z > 0, -np.expm1(-positive), 0.0)


def _argmax_law(mechanism: NoisyMaximum, dataset: Any) -> np.ndarray:
    queries = np.asarray(dataset, float)
    nodes, weights = _panels(queries, mechanism.scale, mechanism.scale)
    return (weights * _largest_law(mechanism, queries, nodes)).sum(axis=1)


def _largest_law(mechanism: NoisyMaximum, queries: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The density of each noisy query at `values`, shape (n,), where it is the largest: shape (queries, n)."""
    density, cumulative = _noise_law(mechanism, values - queries[:, None])
    others = [np.prod(np.delete(cumulative, j, axis=0), axis=0) for j in range(len(queries))]
    return density * np.array(others)


def _maximum_law(mechanism: NoisyMaximum, *datasets: Any) -> PairLaw:
    both = [np.asarray(dataset, float) for dataset in datasets]
    edges = _edges(np.concatenate(both), 20 * mechanism.scale)
    cumulative = [np.prod(_noise_law(mechanism, edges - queries[:, None])[1], axis=0) for queries in both]
    p, q = (np.diff(np.concatenate([[0.0], below, [1.0]])) for below in cumulative)
    return PairLaw(p, q, "grid")


def _edges(values: np.ndarray, reach: float, step: float = GRID) -> np.ndarray:
    """A grid over all values and so far beyond them."""
    return np.arange(math.floor(values.min() - reach), math.ceil(values.max() + reach), step)


def _reach(mechanism: SparseVector) -> float:
    return TAIL / 2 * max(mechanism.threshold_scale, mechanism.query_scale)


def _numerical_law(mechanism: SparseVector, dataset1: Any, dataset2: Any) -> PairLaw:
    """Answers by quadrature; a published number is a Laplace variable of its own, shifted where the query differs."""
    patterns, p = sequences(mechanism, dataset1)
    _, q = sequences(mechanism, dataset2)
    shift = np.abs(np.asarray(dataset1, float) - np.asarray(dataset2, float)) / (mechanism.value_scale or 1.0)
    levels = LEVELS // 2
    laws = []
    for pattern, p_one, q_one in zip(patterns, p, q, strict=True):
        first, second = np.array([p_one]), np.array([q_one])
        for loss in shift[pattern == 1]:
            if loss > 0:
                p_value, q_value = _shift_levels(float(loss), levels)
                first, second = np.outer(first, p_value).ravel(), np.outer(second, q_value).ravel()
        laws.append((first, second))
    p, q = map(np.concatenate, zip(*laws, strict=True))
    return PairLaw(p, q, "grid")


def _published_comparison_law(mechanism: SparseVector, dataset1: Any, dataset2: Any) -> PairLaw:
    """Stops at the first positive answer and publishes the number that was compared: a law of (query, number)."""
    laws = []
    edges = _edges(np.concatenate([np.asarray(dataset1, float), np.asarray(dataset2, float)]), _reach(mechanism))
    for dataset in (dataset1, dataset2):
        queries = np.asarray(dataset, float)
        density = _density(edges - mechanism.threshold, mechanism.threshold_scale)  # of the noisy threshold
        parts = []
        for query in queries:
            reached = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * GRID)])
            published = reached * _density(edges - query, mechanism.query_scale)
            parts.append((published[1:] + published[:-1]) / 2 * GRID)
            density = density * (1 - _above(edges - query, mechanism.query_scale))
        parts.append(np.array([((density[1:] + density[:-1]) / 2 * GRID).sum()]))
        laws.append(np.concatenate(parts))
    return PairLaw(laws[0], laws[1], "grid")


def _monte_carlo_law(mechanism: Parallel, dataset1: Any, dataset2: Any, num_samples: int = 2_000_000) -> PairLaw:
    """Outputs drawn from both laws with their true log-ratio: group i weighs as in the mixture of the two laws."""
    import jax

    losses = []
    for side, dataset in enumerate((dataset1, dataset2)):
        draw = jax.jit(mechanism.sample_batch, static_argnums=2)
        outputs = np.asarray(draw(jax.random.key(side), np.asarray(dataset, np.float32), num_samples))
        losses.append(log_density(mechanism, outputs, dataset1) - log_density(mechanism, outputs, dataset2))
    loss = np.concatenate(losses)
    order = np.argsort(loss)
    weight = special.expit(loss[order]) / num_samples, special.expit(-loss[order]) / num_samples
    return PairLaw(*weight, "Monte Carlo")


@singledispatch
def log_density(mechanism: Any, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    """The log-density of every output, first axis of `outputs`, up to what all datasets share; nats, shape (n,)."""
    raise TypeError(f"no density of {type(mechanism).__name__}")


@log_density.register
def _(mechanism: LaplaceNoise, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    values = np.repeat(np.ravel(np.asarray(dataset, float)), mechanism.copies)
    return _laplaces(outputs.reshape(len(outputs), -1) - values, mechanism.scale)


@log_density.register
def _(mechanism: PrefixSum, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    return _laplaces(np.diff(outputs, axis=1, prepend=0.0) - np.asarray(dataset, float), 1 / mechanism.epsilon)


@log_density.register
def _(mechanism: TruncatedGeometric, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    return _logs(_geometric_law(mechanism, dataset))[outputs]


@log_density.register
def _(mechanism: Rappor, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    low, high = mechanism.rates
    rates = np.where(mechanism.bloom(dataset), high, low)
    return (np.log(rates) * (outputs == 1) + np.log1p(-rates) * (outputs == 0)).sum(axis=1)


@log_density.register
def _(mechanism: NoisyMaximum, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    if mechanism.publishes == "index":
        return _logs(_argmax_law(mechanism, dataset))[outputs]
    return _logs(_largest_law(mechanism, np.asarray(dataset, float), outputs).sum(axis=0))


@log_density.register
def _(mechanism: SparseVector, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    if mechanism.value_scale is None:
        return _answers_density(mechanism, outputs.astype(np.int8), dataset)
    queries = np.asarray(dataset, float)
    codes = np.where(np.isnan(outputs), -1, np.where(np.isneginf(outputs), 0, 1)).astype(np.int8)
    noise = np.where(codes == 1, outputs - queries, 0.0)
    if mechanism.value_scale > 0:
        return _answers_density(mechanism, codes, dataset) + _laplaces(noise, mechanism.value_scale)
    patterns = _patterns(outputs.shape[1], mechanism.cutoff)
    place, lowest = _places(codes, patterns), np.where(codes == 1, outputs, np.inf).min(axis=1)
    nodes, reached = _reached(mechanism, queries, patterns)
    result = _laplaces(noise, mechanism.query_scale)
    for index in range(len(patterns)):
        rows = place == index
        result[rows] += np.log(np.interp(np.minimum(lowest[rows], nodes[-1]), nodes, reached[index]))
    return result


@log_density.register
def _(mechanism: Parallel, outputs: np.ndarray, dataset: Any) -> np.ndarray:
    parts = np.split(outputs, len(mechanism.parts), axis=1)
    return np.sum([log_density(*pair, dataset) for pair in zip(mechanism.parts, parts, strict=True)], axis=0)


def _answers_density(mechanism: SparseVector, codes: np.ndarray, dataset: Any) -> np.ndarray:
    """The log-probability of answers as `sequences` codes them, shape (n, queries)."""
    patterns, probabilities = sequences(mechanism, dataset)
    found: np.ndarray = _logs(probabilities)[_places(codes, patterns)]
    return found


def _logs(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def _laplaces(noise: np.ndarray, scale: float) -> np.ndarray:
    """The log-density of independent Laplace variables, shape (n, d), without its constant."""
    result: np.ndarray = -np.abs(noise).sum(axis=1) / scale
    return result


def _places(codes: np.ndarray, patterns: np.ndarray) -> np.ndarray:
    powers = 3 ** np.arange(codes.shape[1])
    keys = (patterns.astype(np.int64) + 1) @ powers
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], (codes.astype(np.int64) + 1) @ powers)]


def _reached(mechanism: SparseVector, queries: np.ndarray, patterns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pr[noisy threshold <= v, all "below" answers hold] on a grid of v for every pattern, shape (patterns, grid)."""
    edges = _edges(queries, _reach(mechanism), 10 * GRID)
    density = _density(edges - mechanism.threshold, mechanism.threshold_scale)
    below = 1 - _above(edges - queries[:, None], mechanism.query_scale)
    tables = []
    for pattern in patterns:
        running = density * np.prod(below[pattern == 0], axis=0)
        tables.append(np.concatenate([[0.0], np.cumsum((running[1:] + running[:-1]) / 2 * 10 * GRID)]))
    return edges, np.maximum(np.array(tables), 1e-300)
