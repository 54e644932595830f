"""The trend of the log-ratio along a score: what all samples together say of events that few of them show.

The counts of a rare event hold little, those of a whole order of outputs much: where the log-ratio of two datasets
rises along a score, it goes on to rise, unless the samples show a bend. The trend is a logistic regression of the
dataset on the score, a line with bends at quantiles, each of which must earn its place (Friedman 1991). It only chooses
among events; what decides is the test of the one chosen, on fresh samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

LEAST_BEYOND = 500  # samples of both datasets beyond which the trend stays level
BEND = 5.0  # nats of likelihood that a bend has to gain
STEPS = 30


@dataclass(frozen=True)
class Trend:
    """For each of k cuts: the log-ratio of dataset 1 to dataset 2 on one side of it, nats, and its standard deviation.

    Attributes:
        above: of the scores at or above the cut, (log-ratios, deviations), shape (k,) each.
        below: of the scores below it.
    """

    above: tuple[np.ndarray, np.ndarray]
    below: tuple[np.ndarray, np.ndarray]


def unknown(size: int) -> Trend:
    """The trend that says nothing about `size` cuts."""
    nothing = np.zeros(size), np.full(size, np.inf)
    return Trend(nothing, nothing)


def fit_trend(cuts: np.ndarray, above: Sequence[np.ndarray], sizes: Sequence[int]) -> Trend:
    """Fits the trend to counted scores.

    Args:
        cuts: increasing, shape (k,).
        above: how many scores of each dataset are at or above each cut, shape (k,) each.
        sizes: scores of each dataset in all.
    """
    cells = [-np.diff([size, *counts, 0]) / size for counts, size in zip(above, sizes, strict=True)]
    mass, size = cells[0] + cells[1], 2 / (1 / sizes[0] + 1 / sizes[1])  # both datasets weigh the same
    ends, inner = _places(np.cumsum(mass) / 2, LEAST_BEYOND / (2 * size))
    scores = np.clip(np.concatenate([cuts[:1], cuts]).astype(float), *cuts[np.maximum(ends - 1, 0)])
    if not scores[0] < scores[-1]:
        return unknown(len(cuts))
    units = (scores - scores[0]) / (scores[-1] - scores[0])
    knots = [float(units[place]) for place in inner if 0 < units[place] < 1]
    basis = np.column_stack([np.ones_like(units), units])
    fit = _Fit.of(basis, cells, size)
    while knots:
        tried = [_Fit.of(np.column_stack([basis, np.maximum(units - knot, 0)]), cells, size) for knot in knots]
        best = max(range(len(knots)), key=lambda place: tried[place].likelihood)
        if tried[best].likelihood < fit.likelihood + BEND:
            break
        fit, basis = tried[best], tried[best].basis
        del knots[best]
    return Trend(fit.tail(mass, slice(None, None, -1)), fit.tail(mass, slice(None)))


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
