"""The trend of the log-ratio along a score: what all samples together say of events that few of them show.

The counts of a rare event hold little, those of a whole order of outputs much: where the log-ratio of two datasets
rises along a score, it goes on to rise, unless the samples show a bend. The trend is a logistic regression of the
dataset on the score, a line with bends at quantiles, each of which must earn its place (Friedman 1991). It only chooses
among events; what decides is the test of the one chosen, on fresh samples.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

LEAST_BEYOND = 100  # samples of both datasets beyond which the trend stays level
BEND = 10.0  # nats of likelihood that a bend has to gain
LEVEL = 4.0  # nats that being level beyond some quantiles has to gain
STEPS, LINE_STEPS = 30, 6


@dataclass(frozen=True)
class Trend:
    """For each of k cuts: the log-ratio of dataset 1 to dataset 2 on one side of it, nats, and its standard deviation.

    Attributes:
        above: of the scores at or above the cut, (log-ratios, deviations), shape (k,) each.
        below: of the scores below it.
        cells: the same between neighboring cuts, those below the first and above the last included, shape (k + 1,).
        evidence: that there is a trend at all, nats of likelihood beyond what it cost.
    """

    above: tuple[np.ndarray, np.ndarray]
    below: tuple[np.ndarray, np.ndarray]
    cells: tuple[np.ndarray, np.ndarray]
    evidence: float


def unknown(size: int) -> Trend:
    """The trend that says nothing about `size` cuts."""
    nothing = np.zeros(size), np.full(size, np.inf)
    return Trend(nothing, nothing, (np.zeros(size + 1), np.full(size + 1, np.inf)), 0.0)


def fit_trend(scores: np.ndarray, above: Sequence[np.ndarray], sizes: Sequence[int]) -> Trend:
    """Fits the trend to counted scores.

    Args:
        scores: a score below all cuts, then the cuts; increasing, shape (k + 1,).
        above: how many scores of each dataset are at or above each cut, shape (k,) each.
        sizes: scores of each dataset in all.
    """
    cells = [-np.diff([size, *counts, 0]) / size for counts, size in zip(above, sizes, strict=True)]
    mass, size = cells[0] + cells[1], 2 / (1 / sizes[0] + 1 / sizes[1])  # both datasets weigh the same
    ends, inner = _places(np.cumsum(mass) / 2, LEAST_BEYOND / (2 * size))
    levels = np.unique(scores[[ends[0], *inner, ends[1]]].astype(float))
    if len(levels) < 2:
        return unknown(len(scores) - 1)
    ranges = np.array(list(itertools.combinations(levels, 2)))
    all_of_it = (ranges == levels[[0, -1]]).all(axis=1)
    gains = size * _likelihoods(scores, ranges, cells) - np.where(all_of_it, 0.0, LEVEL)
    found = []
    for place in {int(np.argmax(all_of_it)), int(np.argmax(gains))}:
        line = _Fit.of(_line(scores, *ranges[place]), cells, size)
        found.append(_bent(line, inner, cells, size, float(gains[place])))
    fit, gain = max(found, key=lambda each: each[1])
    return Trend(
        fit.tail(mass, slice(None, None, -1)),
        fit.tail(mass, slice(None)),
        fit.cells(),
        gain + 2 * size * float(np.log(2)),
    )


def _line(scores: np.ndarray, low: float, high: float) -> np.ndarray:
    """The basis of a line that is level below one score and above another."""
    return np.column_stack([np.ones(len(scores)), (np.clip(scores, low, high) - low) / (high - low)])


def _likelihoods(scores: np.ndarray, ranges: np.ndarray, cells: Sequence[np.ndarray]) -> np.ndarray:
    """Of the best line for every range beyond which it is level, shape (ranges,), for one sample of each dataset."""
    units = np.clip((scores - ranges[:, :1]) / np.diff(ranges, axis=1), 0, 1)
    one, both = cells[0], cells[0] + cells[1]
    start, slope = np.zeros((2, len(ranges), 1))
    for _ in range(LINE_STEPS):
        share = special.expit(start + slope * units)
        weight, lack = both * share * (1 - share), one - both * share
        a, b, c = weight.sum(axis=1), (weight * units).sum(axis=1), (weight * units**2).sum(axis=1)
        d, e = lack.sum(axis=1), (lack * units).sum(axis=1)
        determinant = np.maximum(a * c - b * b, 1e-300)
        start = start + ((c * d - b * e) / determinant)[:, None]
        slope = slope + ((a * e - b * d) / determinant)[:, None]
    margin = start + slope * units
    result: np.ndarray = -(one * np.logaddexp(0, -margin) + cells[1] * np.logaddexp(0, margin)).sum(axis=1)
    return np.where(np.isfinite(result), result, -np.inf)


def _bent(
    fit: "_Fit", inner: np.ndarray, cells: Sequence[np.ndarray], size: float, gain: float
) -> tuple["_Fit", float]:
    """A line with the bends that earn their place, and what its likelihood gains beyond their cost."""
    basis, units = fit.basis, fit.basis[:, 1]
    knots = [float(units[place]) for place in inner if 0 < units[place] < 1]
    while knots:
        tried = [_Fit.of(np.column_stack([basis, np.maximum(units - knot, 0)]), cells, size) for knot in knots]
        best = max(range(len(knots)), key=lambda place: tried[place].likelihood)
        more = tried[best].likelihood - fit.likelihood - BEND
        if more < 0:
            break
        fit, basis, gain = tried[best], tried[best].basis, gain + more
        del knots[best]
    return fit, gain


def _places(ranks: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """The cells where the trend ends, and those where it may bend: the middle, ever rarer quantiles towards the ends.

    Args:
        ranks: the share of samples up to each cell.
        least: the share beyond an end.
    """
    tails = np.array([0.25, *10.0 ** -np.arange(1, 7, 0.5)])
    tails = tails[tails > least]
    shares = np.array([least, 1 - least]), np.unique([*tails, 0.5, *(1 - tails)])
    ends, inner = (np.minimum(np.searchsorted(ranks, share), len(ranks) - 1) for share in shares)
    return ends, np.unique(inner)


@dataclass(frozen=True)
class _Fit:
    """A logistic regression on k + 1 counted cells: its basis (k + 1, b), its layer (b,) and the covariance of that."""

    basis: np.ndarray
    layer: np.ndarray
    covariance: np.ndarray
    likelihood: float

    @classmethod
    def of(cls, basis: np.ndarray, cells: Sequence[np.ndarray], size: float) -> "_Fit":
        """Newton's method; `cells` are shares of either dataset, each of `size` samples."""
        layer = np.zeros(basis.shape[1])
        for _ in range(STEPS):
            share = special.expit(basis @ layer)
            curvature = (basis * ((cells[0] + cells[1]) * share * (1 - share))[:, None]).T @ basis
            slope = basis.T @ (cells[0] * (1 - share) - cells[1] * share)
            step = np.linalg.solve(curvature + 1e-12 * np.eye(len(layer)), slope)
            layer = layer + step
            if np.abs(step).max() < 1e-9:
                break
        margin = basis @ layer
        likelihood = -size * (cells[0] @ np.logaddexp(0, -margin) + cells[1] @ np.logaddexp(0, margin))
        return cls(basis, layer, np.linalg.pinv(curvature * size), float(likelihood))

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The log-ratio in each cell and its standard deviation."""
        variance = np.einsum("ij,jk,ik->i", self.basis, self.covariance, self.basis)
        return self.basis @ self.layer, np.sqrt(np.maximum(variance, 0))

    def tail(self, mass: np.ndarray, order: slice) -> tuple[np.ndarray, np.ndarray]:
        """The log-ratio beyond each cut and its standard deviation, of cells summed up in this order."""
        share = special.expit(self.basis @ self.layer)
        one, two = (np.cumsum((mass * part)[order])[:-1][order] for part in (share, 1 - share))
        told = np.minimum(one, two) > 1e-12  # else the datasets are as good as apart, which counts show better
        one, two = np.where(told, one, 1), np.where(told, two, 1)
        moved = np.cumsum((self.basis * (mass * share * (1 - share))[:, None])[order], axis=0)[:-1][order]
        gradient = moved * (1 / one + 1 / two)[:, None]
        variance = np.einsum("ij,jk,ik->i", gradient, self.covariance, gradient)
        return np.log(one / two), np.where(told, np.sqrt(np.maximum(variance, 0)), np.inf)
