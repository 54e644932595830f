"""Learns scorers from training samples of two datasets: what orders outputs by their likelihood ratio.

No learner wins everywhere, so several are fitted and the event search chooses among their events on fresh samples:
tables of outcomes, values and histograms of one column, products of per-column histograms (the exact likelihood ratio
of independent columns), boosted stumps (additive models, Friedman 2001), a small network, a stack of them (Wolpert
1992), and an additive model that is smooth along every column and across columns in a row. Where samples abound, the
few outputs that the stack finds most telling are learned once more by themselves: the best event is often so rare that
a fit to all outputs hardly sees it. Outputs of few values are learned from how often each was seen, however many
samples those counts stand for.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from dpassay.auditors.scorers import (
    Atoms,
    Column,
    Network,
    Refined,
    Scorer,
    Stack,
    Steps,
    columns_of,
    compiled,
    row_hashes,
)

MAX_ATOMS = 100_000
FEW_OUTCOMES = 20
DRAWN_ROWS = 250_000  # drawn at a time
COUNTED = 4096  # distinct outputs up to which their counts are what is learned from
MAX_COLUMNS = 48  # derived columns that boosting sees: those that differ most
BINS = 64
TAIL_BINS = 6  # at either end, each half as wide as the one before
LEAST_IN_TAIL = 50
SMALL = 4096  # training samples per side up to which nothing is fitted that could overfit
MANY = 500_000  # training samples per side from which on boosting and the network take more time
LEAST_CURVATURE = 1e-3  # of the loss on either side of a split
STACK_SHRINKAGE = 1e-4
PRECISIONS = 1e5, 1e3, 1e2  # to start from: of a smooth model's bends, those across columns, its heights
LEAST_PRECISION, MOST_PRECISION = 1e-2, 1e9
ROUNDS, STRIDE = 16, 10.0  # in which they are found, and by which factor at most in each
FIRST_BINS = 1024  # by which they are found
FOLDS = 4  # of a smooth model's samples, each of which the models for the others' scores learn from
KEPT_CODES = 1 << 28  # bytes of either side
BOOSTING_ROWS = 100_000  # per side, or MANY
NETWORK_STEPS, NETWORK_STEPS_MANY = 2000, 6000
NETWORK_BATCH = 2048  # per side
COUNTED_STEPS = 300  # of the network on all counts at once; more fit the noise of rare outcomes
NETWORK_RATE = 3e-3
HIDDEN = (32, 16)
END = 0.03  # share of the samples at either end of the scores that `refine` learns from
LEAST_IN_END = 2000  # samples per side
LARGEST_END = 30_000  # samples of them that are kept at either end; ties may make it large


def learn_scorers(
    features1: np.ndarray,
    features2: np.ndarray,
    discrete: Sequence[bool],
    held: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    weights: tuple[np.ndarray, np.ndarray] | None = None,
    seed: int = 0,
) -> tuple[Scorer, ...]:
    """Fits the scorers worth trying on these training samples.

    Args:
        features1: samples under dataset 1, finite, shape (n1, d).
        features2: samples under dataset 2, shape (n2, d).
        discrete: per column, whether it takes few values.
        held: samples of both sides that nothing else is fitted to, by which scorers are weighed against each other;
            boosting and a network are fitted only with them. None: only what takes milliseconds.
        weights: how often each row occurred, shapes (n1,) and (n2,); None: once.
        seed: of everything random.

    Returns:
        At least one scorer.
    """
    one, two = np.asarray(features1, np.float32), np.asarray(features2, np.float32)
    dimension = one.shape[1]
    sizes = [len(one), len(two)] if weights is None else [side.sum() for side in weights]
    small = held is None or min(sizes) <= SMALL
    lowest, highest = np.minimum(one.min(axis=0), two.min(axis=0)), np.maximum(one.max(axis=0), two.max(axis=0))
    single = np.count_nonzero(lowest < highest) <= 1  # one column that says anything: nothing to combine it with
    derived = not single
    binned = Binned(one, two, discrete, derived=derived, weights=weights)
    order = np.argsort(-binned.differences)
    scorers: list[Any] = []
    outcomes = fit_outcomes(one, two, weights)
    if outcomes is not None:
        scorers.append(outcomes)
    if outcomes is None or not all(discrete) or len(outcomes.rows) > 2:
        shown = order[:1] if single else order[: 3 if small else 2]
        scorers += [Column(np.int32(index), bool(index >= dimension)) for index in shown]
    if all(discrete) and outcomes is not None and (single or len(outcomes.rows) <= FEW_OUTCOMES):
        return tuple(scorers)  # a table of few outcomes is the likelihood ratio itself
    if small and sum(sizes) < 512 and single:
        return tuple(scorers)
    scorers.append(fit_product(binned, order[:1], name="histogram"))
    if single:
        return tuple(scorers)
    raw = np.arange(dimension)
    products = [fit_product(binned, raw, name="product of histograms")]
    if not small:
        products.append(fit_product(binned, raw, shared=True, name="product of one shared histogram"))
        differences = np.concatenate([[0], np.arange(dimension, 2 * dimension - 1)])
        products.append(fit_product(binned, differences, name="product of histograms of differences"))
    scorers += products
    if small or held is None:
        return tuple(scorers)
    stumps, network = _fit_both(binned, seed=seed)
    stack = fit_stack([stumps, network, max(products, key=lambda product: _separation(product, *held))], *held)
    scorers += [stumps, network, stack]
    if outcomes is not None and len(outcomes.rows) > 100:
        scorers.append(fit_residual_outcomes(stack, one, two, weights))
    return tuple(scorers)


class Binned:
    """The columns of both sides as small integers: quantile bins of the pooled samples.

    Attributes:
        raw: the samples themselves, shape (n, d), per side.
        weights: how often each of them occurred, shape (n,), per side; None: once.
        edges: per derived column, increasing float32; code j means edges[j - 1] <= value < edges[j].
        codes: uint8 of shape (C, n), per side.
        counts: float64 of shape (C, BINS), per side.
        differences: shape (C,), the G statistic of the two histograms of each column.
    """

    def __init__(
        self,
        one: np.ndarray,
        two: np.ndarray,
        discrete: Sequence[bool],
        *,
        derived: bool,
        weights: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.raw = one, two
        self.weights = weights
        sides = [columns_of(side, derived=derived) for side in (one, two)]
        self.derived = derived
        self.edges, codes, counts = [], ([], []), ([], [])  # type: ignore[var-annotated]
        for pair in zip(*sides, strict=True):
            edges = _edges(np.concatenate([values[:100_000] for values in pair]))
            self.edges.append(edges)
            for side, values in enumerate(pair):
                code = np.searchsorted(edges, values, side="right").astype(np.uint8)
                codes[side].append(code)
                counts[side].append(self.count(side, code, BINS))
        self.codes = tuple(np.array(side) for side in codes)
        self.counts = tuple(np.array(side) for side in counts)
        self.differences = np.array([_g_statistic(a, b) for a, b in zip(*self.counts, strict=True)])

    def count(self, side: int, codes: np.ndarray, size: int) -> np.ndarray:
        """How often one side has each of `size` codes of shape (samples,); float64, shape (size,)."""
        return np.bincount(codes, None if self.weights is None else self.weights[side], size).astype(float)


def tally(
    one: np.ndarray, two: np.ndarray, weights: tuple[np.ndarray, np.ndarray] | None = None
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The distinct rows of both sides, shape (k, d), and how often, or by what weight, each side has them, (k,)."""
    rows = np.concatenate([one, two])
    seeds = (np.array([0x9E3779B1, 0x85EBCA6B], np.uint32), np.array([0xC2B2AE35, 0x27D4EB2F], np.uint32))
    high, low = (row_hashes(rows, multipliers).astype(np.uint64) for multipliers in seeds)
    _, first, inverse = np.unique((high << np.uint64(32)) | low, return_index=True, return_inverse=True)
    places = inverse[: len(one)], inverse[len(one) :]
    by = weights or (None, None)
    counts1, counts2 = (np.bincount(*pair, minlength=len(first)) for pair in zip(places, by, strict=True))
    return rows[first], (counts1.astype(float), counts2.astype(float))


def tally_more(
    rows: np.ndarray, counts: tuple[np.ndarray, np.ndarray], draw: Callable[[int, int], np.ndarray], num_samples: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Adds further samples of either side to a tally, shapes as `tally` gives; `draw`, `num_samples` as in `refine`."""
    for sides in _drawn(draw, num_samples):
        weights = [np.concatenate([count, np.ones(len(side))]) for count, side in zip(counts, sides, strict=True)]
        one, two = (np.concatenate([rows, side]) for side in sides)
        rows, counts = tally(one, two, (weights[0], weights[1]))
    return rows, counts


def fit_outcomes(
    one: np.ndarray, two: np.ndarray, weights: tuple[np.ndarray, np.ndarray] | None = None
) -> Atoms | None:
    """A table of log-ratios of the outcomes, shape (n, d) a side, that repeat; None when hardly any do.

    The log-ratios are shrunk to 0 by empirical Bayes: the rarer an outcome, the less its counts say (Robbins 1956).
    """
    repeated = _repeated(one, two, weights)
    if repeated is None:
        return None
    rows, (counts1, counts2), sizes = repeated
    log_ratios, variances = _log_ratios(counts1, counts2, *sizes)
    return Atoms.build(rows, _shrunk(log_ratios, variances, counts1 + counts2))


def fit_residual_outcomes(
    base: Any, one: np.ndarray, two: np.ndarray, weights: tuple[np.ndarray, np.ndarray] | None = None
) -> Stack | Any:
    """Corrects a scorer where the counts of an outcome contradict it; outcomes of shape (n, d) a side."""
    repeated = _repeated(one, two, weights)
    if repeated is None:
        return base
    rows, (counts1, counts2), sizes = repeated
    log_ratios, variances = _log_ratios(counts1, counts2, *sizes)
    errors = log_ratios - base(rows)
    atoms = Atoms.build(rows, _shrunk(errors, variances, counts1 + counts2))
    return Stack((base, atoms), np.ones(2, np.float32), "corrected stack")


def fit_product(binned: Binned, columns: Any, *, name: str, shared: bool = False) -> Steps:
    """The sum over columns of log-ratios of histograms: the likelihood ratio if the columns are independent.

    Neighboring bins are merged unless their ratios differ more than chance explains, which keeps the noise of many
    columns below the signal. `shared` fits one histogram to all columns together, for exchangeable outputs.
    """
    tables = {}
    if shared:
        some = max(1, 200_000 // len(columns))
        edges = _edges(np.concatenate([side[:some, column] for side in binned.raw for column in columns]))
        counts = [np.zeros(len(edges) + 1) for _ in range(2)]
        for side, total in enumerate(counts):
            for column in columns:
                codes = np.searchsorted(edges, binned.raw[side][:, column], side="right")
                total += binned.count(side, codes, len(total))
        values = _merged_log_ratios(counts[0], counts[1])
        return Steps.build({int(column): (edges, values) for column in columns}, name, derived=binned.derived)
    for column in columns:
        edges = binned.edges[column]
        used = len(edges) + 1
        values = _merged_log_ratios(binned.counts[0][column][:used], binned.counts[1][column][:used])
        tables[int(column)] = (edges, values)
    return Steps.build(tables, name, derived=binned.derived)


def fit_stumps(binned: Binned, columns: np.ndarray) -> Steps:
    """Boosted stumps on binned columns, shape (c,): an additive model, since every stump reads one column."""
    many = binned.counts[0][0].sum() >= MANY
    sides = [codes[columns, : MANY if many else BOOSTING_ROWS] for codes in binned.codes]
    lengths = [side.shape[1] for side in sides]
    parts = [np.ones(length) for length in lengths] if binned.weights is None else binned.weights
    values = _boost(
        np.concatenate(sides, axis=1),
        np.repeat([True, False], lengths),
        np.concatenate([part * (lengths[0] / part.sum()) for part in parts]),
        least=20 if binned.weights is None else 1,
        rounds=150 if many else 80,
        rate=0.15 if many else 0.25,
    )
    tables = {
        int(column): (binned.edges[column], heights[: len(binned.edges[column]) + 1] - heights[0])
        for column, heights in zip(columns, values, strict=True)
        if np.any(heights != heights[0])
    }
    return Steps.build(tables, "boosted stumps", derived=binned.derived)


def _boost(
    codes: np.ndarray, first: np.ndarray, weights: np.ndarray, *, least: int, rounds: int, rate: float
) -> np.ndarray:
    """Boosts stumps by Newton steps on the logistic loss (Friedman 2001).

    Args:
        codes: uint8 below BINS, shape (C, n).
        first: whether a row is of side 1, shape (n,).
        weights: of the rows, shape (n,).
        least: rows on either side of a split.
        rounds: stumps.
        rate: share of each Newton step that is taken.

    Returns:
        What each code of each column adds to the log-odds of side 1, shape (C, BINS).
    """
    even = np.pad(codes, ((0, len(codes) % 2), (0, 0)))
    pairs = [one.astype(np.intp) * BINS + two for one, two in zip(even[::2], even[1::2], strict=True)]

    def below(values: np.ndarray) -> np.ndarray:
        """Sums over the rows up to each code of each column, (C, BINS); one pass counts two columns at once."""
        tables = np.array([np.bincount(pair, values, BINS**2).reshape(BINS, BINS) for pair in pairs])
        sums = np.stack([tables.sum(axis=2), tables.sum(axis=1)], axis=1).reshape(-1, BINS)
        return sums[: len(codes)].cumsum(axis=1)

    rows = below(np.ones(len(first)))
    enough = (rows >= least) & (len(first) - rows >= least)
    heights = np.zeros((len(codes), BINS))
    log_odds = np.full(len(first), np.log(weights[first].sum() / weights[~first].sum()))
    for _ in range(rounds):
        shares = expit(log_odds)
        slopes, curvatures = below((first - shares) * weights), below(shares * (1 - shares) * weights)
        slopes2, curvatures2 = slopes[0, -1] - slopes, curvatures[0, -1] - curvatures
        usable = enough & (curvatures >= LEAST_CURVATURE) & (curvatures2 >= LEAST_CURVATURE)
        steps, steps2 = (
            np.divide(slope, curvature, out=np.zeros_like(slope), where=usable)
            for slope, curvature in ((slopes, curvatures), (slopes2, curvatures2))
        )
        gains = slopes * steps + slopes2 * steps2
        column, cut = np.unravel_index(gains.argmax(), gains.shape)
        if not gains[column, cut] > 0:
            break
        stump = rate * np.where(np.arange(BINS) <= cut, steps[column, cut], steps2[column, cut])
        heights[column] += stump
        log_odds += stump[codes[column]]
    return heights


def fit_network(
    one: np.ndarray, two: np.ndarray, *, weights: tuple[np.ndarray, np.ndarray] | None = None, seed: int
) -> Network:
    """Trains the network by logistic regression with Adam; one compiled scan, one shape for any number of samples.

    Weighted rows are learned from all at once, others in batches.
    """
    derived = 1 < one.shape[1] <= 10
    sides = [np.ascontiguousarray(columns_of(side, derived=derived).T) for side in (one, two)]
    sample = np.concatenate([side[:50_000] for side in sides])
    center, spread = np.transpose([_location(values) for values in sample.T])
    center, scale = center.astype(np.float32), (1.0 / spread).astype(np.float32)
    size = 1 << (max(len(side) for side in sides) - 1).bit_length()
    padded = [np.zeros((size, 2 * side.shape[1]), np.float32) for side in sides]
    for target, side in zip(padded, sides, strict=True):
        units = np.clip((side - center) * scale, -4, 4)
        # Columns before and after tanh, as `Network` computes them; tanh of the clipped differs by less than 1e-3.
        target[: len(side)] = np.concatenate([units, np.tanh(units)], axis=1)
    if weights is None:
        steps = NETWORK_STEPS_MANY if len(one) >= MANY else NETWORK_STEPS
        train = _trainer(2 * sample.shape[1], steps, NETWORK_BATCH)
        layers = train(jax.random.key(seed), padded[0], padded[1], len(one), len(two))
    else:
        shares = [np.zeros(size, np.float32) for _ in sides]
        for target, weight in zip(shares, weights, strict=True):
            target[: len(weight)] = weight / weight.sum()
        train = _trainer(2 * sample.shape[1], COUNTED_STEPS, None)
        layers = train(jax.random.key(seed), padded[0], padded[1], shares[0], shares[1])
    return Network(center, scale, tuple(np.asarray(layer, np.float32) for layer in layers), derived)


def fit_stack(parts: Sequence[Any], one: np.ndarray, two: np.ndarray) -> Stack:
    """Weighs scorers by logistic regression on fresh samples, shape (n, d) a side; both sides weigh the same."""
    scores = np.stack([np.concatenate([part(one), part(two)]) for part in parts], axis=1).astype(float)
    spread = np.maximum(scores.std(axis=0), 1e-12)
    units = np.column_stack([scores / spread, np.ones(len(scores))])
    signs = np.repeat([1.0, -1.0], [len(one), len(two)])
    weights = np.repeat([0.5 / len(one), 0.5 / len(two)], [len(one), len(two)])
    shrinkage = np.append(np.full(len(parts), STACK_SHRINKAGE / len(scores)), 0.0)  # the last is the intercept

    def loss(layer: np.ndarray) -> tuple[float, np.ndarray]:
        margins = signs * (units @ layer)
        slopes = weights * signs * -expit(-margins)
        return weights @ np.logaddexp(0, -margins) + shrinkage @ layer**2 / 2, slopes @ units + shrinkage * layer

    found = minimize(loss, np.zeros(units.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-4})
    return Stack(tuple(parts), (found.x[:-1] / spread).astype(np.float32))


def refine(
    base: Any, draw: Callable[[int, int], np.ndarray], num_samples: int, discrete: Sequence[bool], *, seed: int = 0
) -> tuple[Refined, ...]:
    """Learns the order of the outputs at either end of a scorer's scores from samples of the ends alone.

    Args:
        base: the scorer.
        draw: gives fresh samples, shape (n, d), from a side (0 or 1) and n.
        num_samples: to draw of either side, maybe none; only those at the ends are kept.
        discrete: per column, whether it takes few values.
        seed: of everything random.

    Returns:
        A scorer for either end of which enough samples were found.
    """
    cuts: np.ndarray | None = None
    ends: tuple[tuple[list[np.ndarray], ...], ...] = (([], []), ([], []))
    for sides in _drawn(draw, num_samples):
        scores = [np.asarray(compiled(base, rows)) for rows in sides]
        if cuts is None:
            cuts = np.quantile(np.concatenate(scores), [END, 1 - END], method="lower").astype(np.float32)
        for side, rows in enumerate(sides):
            for end, extreme in zip(ends, (scores[side] <= cuts[0], scores[side] >= cuts[1]), strict=True):
                end[side].append(rows[extreme][:LARGEST_END])
    if cuts is None:
        return ()
    found = []
    for above, kept in enumerate(ends):
        one, two = (np.concatenate(parts) for parts in kept)
        if min(len(one), len(two)) < LEAST_IN_END:
            continue
        held = [rows[: len(rows) // 5] for rows in (one, two)]
        one, two = one[len(held[0]) :], two[len(held[1]) :]
        stumps, network = _fit_both(Binned(one, two, discrete, derived=True), seed=seed)
        found.append(Refined(base, fit_stack([base, stumps, network], held[0], held[1]), cuts[above], bool(above)))
    return tuple(found)


class SmoothAdditive:
    """An additive model whose steps are smooth along each column, from how often its bins meet in the samples.

    P-splines (Eilers and Marx 1996) by least squares: where log-ratios are far below 1, the dataset regressed on the
    bins of all columns together is the logistic regression, and needs no more of the samples than how often two bins
    meet. The heights of neighboring bins are held to a line, at each place along the columns as firmly as all of them
    bear out: tails too rare to be learned go on as what is next to them goes, and steps stay steps. So are those that
    three columns in a row have at one value: what a mechanism leaks at one place of a sequence says what it leaks at
    the next. It reads the first MAX_COLUMNS columns that vary and that no other tells.

    Samples are kept as the numbers of their bins while there is room, so that each can be scored by a model of the
    others (cross-fitting): such scores tell what the order is worth, without flattery, from the samples it is made of.

    Attributes:
        columns: that it reads, indices into those of the samples.
        steps: the model of what was counted when it was last fitted.
    """

    def __init__(self, one: np.ndarray, two: np.ndarray) -> None:
        """Sets the bins by training samples, shape (n, d) a side, and counts them; nothing is fitted yet."""
        self.columns: list[int] = []
        self._edges: list[np.ndarray] = []
        self._curves: list[_Curve] = []
        ends, codes = [0], list[np.ndarray]()
        for place in range(one.shape[1]):
            values = np.concatenate([one[:, place], two[:, place]])
            ordered = np.sort(values)
            edges = _edges(ordered)
            code = _codes(edges, values)
            if len(edges) == 0 or (len(edges) == 1 and any(_tells(other, code) for other in codes)):
                continue
            self.columns.append(place)
            self._edges.append(edges)
            self._curves.append(_Curve.of(ordered, edges, ends[-1]))
            ends.append(ends[-1] + len(edges) + 1)
            codes.append(code)
            if len(codes) == MAX_COLUMNS:
                break
        self._spans = [slice(*pair) for pair in itertools.pairwise(ends)]  # of each column's bins among all
        self._rows = np.full((ends[-1], one.shape[1]), -np.inf, np.float32)  # one of every bin, else in the first ones
        for place, edges, span in zip(self.columns, self._edges, self._spans, strict=True):
            self._rows[span.start + 1 : span.stop, place] = edges
        self._met, self._excess = np.zeros((FOLDS, ends[-1], ends[-1])), np.zeros((FOLDS, ends[-1]))
        self._kept: list[list[list[np.ndarray]]] = [[[] for _ in range(FOLDS)] for _ in (0, 1)]
        self._room = [KEPT_CODES, KEPT_CODES]
        both = np.array(codes, np.uint8).reshape(len(codes), len(one) + len(two))
        self._count(0, both[:, : len(one)])
        self._count(1, both[:, len(one) :])

    def add(self, side: int, rows: np.ndarray) -> None:
        """Counts further samples of a side, of the columns that are read: shape (n, len(columns))."""
        self._count(side, np.array([_codes(edges, values) for values, edges in zip(rows.T, self._edges, strict=True)]))

    def _count(self, side: int, codes: np.ndarray) -> None:
        """Counts samples of a side by their bins, uint8 of shape (columns, n), and keeps them while there is room."""
        keeps = codes.nbytes <= self._room[side]
        self._room[side] -= codes.nbytes if keeps else 0
        sizes = [span.stop - span.start for span in self._spans]
        for fold, (met, excess) in enumerate(zip(self._met, self._excess, strict=True)):
            part = codes[:, fold::FOLDS]
            if keeps:
                self._kept[side][fold].append(part.copy())
            wide = part.astype(np.intp)
            for first, (one, span, size) in enumerate(zip(wide, self._spans, sizes, strict=True)):
                excess[span] += (0.5 - side) * np.bincount(one, minlength=size)
                for two, other, width in zip(wide[: first + 1], self._spans, sizes, strict=False):
                    block = np.bincount(one * width + two, minlength=size * width).reshape(size, width)
                    met[span, other] += block
                    if other != span:
                        met[other, span] += block.T

    def fit(self) -> Steps:
        """The model of all that was counted, with the precisions that make the first bins likeliest."""
        met, excess = self._met.sum(axis=0), self._excess.sum(axis=0)
        rows, kinds = self._penalties()
        size = min(len(excess), FIRST_BINS)
        within = rows[:, size:].count_nonzero(axis=1) == 0
        precisions = _precisions(met[:size, :size], excess[:size], rows[within, :size], kinds[within])
        self._prior = _prior(rows, kinds, precisions)
        self.steps = self._model(met, excess)
        return self.steps

    def _model(self, met: np.ndarray, excess: np.ndarray) -> Steps:
        """Of these counts, with the precisions found last."""
        heights = cho_solve(cho_factor(met / 4 + self._prior), excess)  # at even odds the curvature is 1/4
        used = zip(self.columns, self._edges, self._spans, strict=True)
        tables = {place: (edges, heights[span]) for place, edges, span in used}
        return Steps.build(tables, "smooth additive model", derived=False)

    def scores(self) -> list[np.ndarray]:
        """Of the samples that are kept, by the model: float32, of either side, shape (n,)."""
        return [np.concatenate([self._scored(self.steps, part) for part in side]) for side in self._kept]

    def crossed(self) -> list[np.ndarray]:
        """The same scores, shape (n,) of either side, by models with the same precisions that have not counted them."""
        met, excess = self._met.sum(axis=0), self._excess.sum(axis=0)
        models = [self._model(met - own, excess - other) for own, other in zip(self._met, self._excess, strict=True)]
        return [np.concatenate([self._scored(*pair) for pair in zip(models, side, strict=True)]) for side in self._kept]

    def _scored(self, model: Steps, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Kept samples' scores, which sums of multiples of one power of two give exactly."""
        heights = model(self._rows)
        base = heights[0]
        found = []
        for codes in parts:
            total = np.full(codes.shape[1], base)
            for span, code in zip(self._spans, codes, strict=True):
                total += (heights[span] - base)[code]
            found.append(total)
        return np.concatenate(found)

    def _penalties(self) -> tuple[sparse.csr_array, np.ndarray]:
        """What is held near 0, as sums of heights, shape (m, bins), and the kind of each, whose precision it has, (m,).

        Bends between neighboring bins, whose kind is how far along their column they are, below BINS; bends across
        three columns in a row, at the means of the middle one's bins, of kind BINS; all heights, of kind BINS + 1.
        """
        size = self._met.shape[1]
        heights = sparse.eye_array(size, format="csr")
        rows, kinds = [heights], [np.full(size, BINS + 1)]
        curves = [curve for curve in self._curves if len(curve.bins) > 1]
        for curve in curves:
            bend = np.diff(np.eye(len(curve.bins)), 2, axis=0)
            rows.append(bend @ heights[curve.bins])
            kinds.append(np.arange(len(bend)) * BINS // len(bend))
        for before, here, after in zip(curves, curves[1:], curves[2:], strict=False):
            parts = -before.at(here.means), 2 * np.eye(len(here.bins)), -after.at(here.means)
            bend, bins = np.concatenate(parts, axis=1), np.concatenate([before.bins, here.bins, after.bins])
            rows.append(bend @ heights[bins])
            kinds.append(np.full(len(bend), BINS))
        return sparse.csr_array(sparse.vstack(rows)), np.concatenate(kinds)


def _prior(rows: sparse.csr_array, kinds: np.ndarray, precisions: np.ndarray) -> np.ndarray:
    """The precision of all heights, (bins, bins), from that of each kind of penalty."""
    return (rows.T @ (precisions[kinds][:, None] * rows)).toarray()


def _precisions(met: np.ndarray, excess: np.ndarray, rows: sparse.csr_array, kinds: np.ndarray) -> np.ndarray:
    """The precision of each kind of penalty that makes the counts likeliest (Wood and Fasiolo 2017).

    Each is as large as what the counts leave open of its kind is to what they tell of it: where a curve is straight in
    all columns it becomes a line, and where they have a step or a kink at the same place this costs little.
    """
    found, dense = np.repeat(PRECISIONS, [BINS, 1, 1]), rows.T.toarray()

    def variances(factor: np.ndarray) -> np.ndarray:
        """Of what is penalized: triangular solves tell them of the stiffest from 0, which an inverse does not."""
        return (solve_triangular(factor, dense, lower=True) ** 2).sum(axis=0)

    for _ in range(ROUNDS):
        prior = _prior(rows, kinds, found)
        before, after = cholesky(prior, lower=True), cholesky(met / 4 + prior, lower=True)
        told = rows @ cho_solve((after, True), excess)
        gained = np.bincount(kinds, variances(before) - variances(after), len(found))
        spent = np.bincount(kinds, told**2, len(found))
        ratios = np.divide(gained, spent, where=spent > 0, out=np.ones(len(found)))
        found = np.clip(found * np.clip(ratios, 1 / STRIDE, STRIDE), LEAST_PRECISION, MOST_PRECISION)
    return found


def _tells(codes: np.ndarray, flags: np.ndarray) -> bool:
    """Whether no code, uint8 of shape (n,), is of samples with either flag, 0 or 1, as of a column that marks NaN."""
    marked, rest = (np.bincount(codes[flags == flag], minlength=BINS) for flag in (1, 0))
    return not np.any((marked > 0) & (rest > 0))


def _codes(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The numbers of values' bins, uint8 of shape (n,)."""
    return np.searchsorted(edges, values, side="right").astype(np.uint8)


@dataclass(frozen=True)
class _Curve:
    """The bins of a column that hold no single frequent value, shape (k,), and the means of their samples, (k,)."""

    bins: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, ordered: np.ndarray, edges: np.ndarray, start: int) -> "_Curve":
        """From the sorted column, its edges and the number of its first bin."""
        distinct, heavy, rest = _without_heavy(ordered)
        codes = np.searchsorted(edges, rest, side="right")
        sums, sizes = np.bincount(codes, rest), np.bincount(codes)
        sizes[np.intersect1d(np.searchsorted(edges, distinct[heavy], side="right"), codes)] = 0
        bins = np.flatnonzero(sizes)
        return cls(start + bins, sums[bins] / sizes[bins])

    def at(self, values: np.ndarray) -> np.ndarray:
        """What gives the heights at `values`, shape (n,), by interpolating linearly between the bins: shape (n, k)."""
        return np.transpose([np.interp(values, self.means, row) for row in np.eye(len(self.means))])


def _drawn(draw: Callable[[int, int], np.ndarray], num_samples: int) -> Iterator[list[np.ndarray]]:
    """Samples of both sides, in parts that fit into memory."""
    for size in parts_of(num_samples, DRAWN_ROWS):
        yield [draw(side, size) for side in (0, 1)]


def parts_of(num_samples: int, most: int) -> Iterator[int]:
    """Sizes of parts of so many samples."""
    for start in range(0, num_samples, most):
        yield min(most, num_samples - start)


def _fit_both(binned: Binned, *, seed: int) -> tuple[Steps, Network]:
    """Stumps and a network at once: boosting keeps to one core."""
    columns = np.sort(np.argsort(-binned.differences)[:MAX_COLUMNS])
    with ThreadPoolExecutor(1) as other:
        boosted = other.submit(fit_stumps, binned, columns)
        network = fit_network(*binned.raw, weights=binned.weights, seed=seed)
        return boosted.result(), network


@functools.lru_cache(maxsize=8)
def _trainer(width: int, steps: int, batch: int | None) -> Any:
    """Trains on random batches of both sides, whose sizes follow; without `batch` on all rows, whose weights follow."""
    widths = (width, *HIDDEN, 1)

    def loss(layers: Any, one: Any, two: Any, weights1: Any, weights2: Any) -> Any:
        def logits(units: Any) -> Any:
            hidden = units
            for place in (0, 2):
                hidden = jnp.tanh(hidden @ layers[place] + layers[place + 1])
            return (hidden @ layers[4] + layers[5])[:, 0]

        return jnp.sum(weights1 * jax.nn.softplus(-logits(one))) + jnp.sum(weights2 * jax.nn.softplus(logits(two)))

    @jax.jit
    def train(key: Any, one: Any, two: Any, size1: Any, size2: Any) -> Any:
        start, order = jax.random.split(key)
        parameters = _start(start, widths)

        def step(carry: Any, index: Any) -> Any:
            parameters, means, squares = carry
            if batch is None:
                some = one, two, size1, size2
            else:
                key1, key2 = jax.random.split(jax.random.fold_in(order, index))
                first = one[jax.random.randint(key1, (batch,), 0, size1)]
                second = two[jax.random.randint(key2, (batch,), 0, size2)]
                some = first, second, 1 / batch, 1 / batch
            # Adam (Kingma and Ba 2015), its steps falling along half a cosine
            slopes = jax.grad(loss)(parameters, *some)
            means = jax.tree.map(lambda mean, slope: 0.9 * mean + 0.1 * slope, means, slopes)
            squares = jax.tree.map(lambda square, slope: 0.999 * square + 0.001 * slope**2, squares, slopes)
            count = index.astype(jnp.float32)
            rate = NETWORK_RATE * (1 + jnp.cos(jnp.pi * count / steps)) / 2 / (1 - 0.9 ** (count + 1))
            size = 1 - 0.999 ** (count + 1)
            parameters = jax.tree.map(
                lambda parameter, mean, square: parameter - rate * mean / (jnp.sqrt(square / size) + 1e-8),
                parameters,
                means,
                squares,
            )
            return (parameters, means, squares), None

        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return jax.lax.scan(step, (parameters, zeros, zeros), jnp.arange(steps))[0][0]

    return train


def _start(key: Any, widths: Sequence[int]) -> tuple[Any, ...]:
    """Weights, (fan in, fan out), and offsets, (fan out,), of each layer; 0 in the last: no output is preferred yet."""
    layers = []
    for place, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        bound = 0.0 if place == len(widths) - 2 else (1.0 / fan_in) ** 0.5
        draw = jax.random.normal(jax.random.fold_in(key, place), (fan_in, fan_out), jnp.float32)
        layers += [draw * jnp.float32(bound), jnp.zeros(fan_out, jnp.float32)]
    return tuple(layers)


def _separation(scorer: Any, one: np.ndarray, two: np.ndarray) -> float:
    """How far apart the scores of two sides are, in standard deviations of one score."""
    scores1, scores2 = scorer(one), scorer(two)
    return float((scores1.mean() - scores2.mean()) / max(1e-12, np.sqrt(scores1.var() + scores2.var())))


def _edges(values: np.ndarray) -> np.ndarray:
    """At most BINS - 1 increasing edges: all distinct values but the least while they are few, else quantiles.

    Values that fill a bin by themselves (what stands for a missing number, say) get one and are set aside: the others
    keep their resolution, with ever narrower bins towards both ends.
    """
    ordered = np.sort(values)
    distinct, heavy, rest = _without_heavy(ordered)
    if len(distinct) > BINS:
        atoms = np.flatnonzero(heavy)
        around = distinct[np.concatenate([atoms, np.minimum(atoms + 1, len(distinct) - 1)])]
        most = BINS - 1 - len(np.unique(around))
        tails = [2.0**-k for k in range(6, 6 + TAIL_BINS) if len(rest) * 2.0**-k >= LEAST_IN_TAIL]
        middle = np.arange(1, most - 2 * len(tails) + 1) / (most - 2 * len(tails) + 1)
        places = np.concatenate([tails, middle, 1 - np.array(tails)])
        quantiles = rest[(places * len(rest)).astype(int)]
        distinct = np.unique(np.concatenate([ordered[:1], around, quantiles]))
    return distinct[1:].astype(np.float32)


def _without_heavy(ordered: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct values of a sorted column, which of them would fill a bin alone, and the column without these."""
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    repeats = np.diff(np.append(first, len(ordered)))
    heavy = repeats > len(ordered) // BINS
    return ordered[first], heavy, ordered[~np.repeat(heavy, repeats)]


def _location(values: np.ndarray) -> tuple[float, float]:
    """Median and half the width of the middle 68% of a column, without what stands for a missing number."""
    ordered = np.sort(values)
    _, _, rest = _without_heavy(ordered)
    if not len(rest):
        rest = ordered
    low, center, high = rest[[int(0.16 * len(rest)), len(rest) // 2, int(0.84 * len(rest))]]
    if not low < high:
        return float(center), float(ordered.std(dtype=float)) or 1.0
    return float(center), float(high - low) / 2


def _repeated(
    one: np.ndarray, two: np.ndarray, weights: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], tuple[float, float]] | None:
    """The rows that repeat, most frequent first, their counts per side, all samples per side; None: < 0.1% repeat."""
    rows, (counts1, counts2) = tally(one, two, weights)
    total, sizes = counts1 + counts2, (float(counts1.sum()), float(counts2.sum()))
    least = 2 if sum(sizes) < 1000 else 4
    order = np.argsort(-total, kind="stable")[:MAX_ATOMS]
    order = order[total[order] >= least]
    seen = total[order].sum()
    if seen < max(1e-3 * sum(sizes), 4) or (sum(sizes) < 1000 and seen < 0.2 * sum(sizes)):
        return None
    return rows[order], (counts1[order], counts2[order]), sizes


def _log_ratios(counts1: np.ndarray, counts2: np.ndarray, size1: float, size2: float) -> tuple[np.ndarray, np.ndarray]:
    """Smoothed log-ratios of frequencies (Haldane 1956), nats, and their variances."""
    log_ratios = np.log((counts1 + 0.5) / (counts2 + 0.5)) - np.log(size1 / size2)
    return log_ratios, 1 / (counts1 + 0.5) + 1 / (counts2 + 0.5)


def _shrunk(log_ratios: np.ndarray, variances: np.ndarray, weights: np.ndarray) -> np.ndarray:
    spread = max(float(np.average(log_ratios**2 - variances, weights=weights)), 1e-12)
    return log_ratios * spread / (spread + variances)


def _g_statistic(counts1: np.ndarray, counts2: np.ndarray) -> float:
    """Twice the log-likelihood ratio of different against equal histograms, less what chance gives on average."""

    def entropy(counts: np.ndarray) -> float:
        positive = counts[counts > 0]
        return float((positive * np.log(positive)).sum())

    both = counts1 + counts2
    g = entropy(counts1) + entropy(counts2) - entropy(both)
    g -= float(counts1.sum() * np.log(counts1.sum()) + counts2.sum() * np.log(counts2.sum()))
    g += float(both.sum() * np.log(both.sum()))
    return 2 * g - float((both > 0).sum() - 1)


def _merged_log_ratios(counts1: np.ndarray, counts2: np.ndarray, threshold: float = 6.0) -> np.ndarray:
    """Piecewise constant log-ratios of histograms, split where the G statistic exceeds `threshold`; shape (bins,)."""
    size1, size2 = counts1.sum(), counts2.sum()
    values = np.zeros(len(counts1))
    total1, total2 = np.concatenate([[0], np.cumsum(counts1)]), np.concatenate([[0], np.cumsum(counts2)])

    def information(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        both = a + b
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = a * np.log(a / both) + b * np.log(b / both)
        return np.where((a > 0) & (b > 0), terms, 0.0)

    pending = [(0, len(counts1))]
    while pending:
        start, stop = pending.pop()
        a, b = total1[stop] - total1[start], total2[stop] - total2[start]
        cuts = np.arange(start + 1, stop)
        if len(cuts):
            left1, left2 = total1[cuts] - total1[start], total2[cuts] - total2[start]
            gains = 2 * (information(left1, left2) + information(a - left1, b - left2) - information(a, b))
            best = int(np.argmax(gains))
            if gains[best] > threshold + 2 * np.log(len(cuts)):
                pending += [(start, int(cuts[best])), (int(cuts[best]), stop)]
                continue
        values[start:stop] = np.log((a + 0.5) / (b + 0.5)) - np.log(size1 / size2)
    return values
