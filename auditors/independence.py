"""Whether the draws of a sampler look independent: each of the others of its dataset, and of those of the other one.

A test, not a proof: it sees noise that is used for several calls in a row, that comes back after some calls, or that
both datasets share call by call.
"""

import numpy as np
from scipy.stats import norm, rankdata

FALSE_ALARM = 1e-6  # of a sampler whose draws are independent
LEAST = 64  # rows, below which nothing is said
KEPT = 4096  # rows of each dataset that are looked at
COLUMNS = 8
_LAGS = tuple(range(1, 9))
_VARIED = 32  # rows apart from the commonest value, below which chance alone makes extreme correlations


def dependence(sides: tuple[np.ndarray, np.ndarray]) -> str:
    """A sentence about draws that are not independent, "" where none was seen.

    Args:
        sides: feature vectors of both datasets in the order they were drawn, each of shape (samples, columns).
    """
    ranks = [_ranks(rows) for rows in sides]
    tests = 2 * len(_LAGS) * COLUMNS + COLUMNS
    threshold = float(norm.isf(FALSE_ALARM / tests / 2))
    for side, columns in enumerate(ranks):
        for lag in _LAGS:
            if len(columns) > LEAST and _largest(columns[:-lag], columns[lag:]) > threshold:
                calls = "one call and the next" if lag == 1 else f"calls that are {lag} apart"
                return f"the outputs of {calls} on dataset {side + 1} depend on each other"
    size = min(map(len, ranks))
    if size > LEAST and _largest(ranks[0][:size], ranks[1][:size]) > threshold:
        return "the outputs of the same calls on the two datasets depend on each other"
    if period := next(filter(None, map(_period, sides)), 0):
        return f"outputs come back after {period} calls, again and again"
    return ""


def _ranks(rows: np.ndarray) -> np.ndarray:
    """Centered ranks of the columns that vary enough, the first few of them; a column that does not is 0."""
    chosen = rows[:KEPT, :COLUMNS].astype(float)
    if len(chosen) <= LEAST:
        return np.zeros_like(chosen)
    for column in chosen.T:
        _, counts = np.unique(column, return_counts=True)
        column[:] = rankdata(column) - (len(column) + 1) / 2 if len(column) - counts.max() >= _VARIED else 0.0
    return chosen


def _largest(first: np.ndarray, second: np.ndarray) -> float:
    """The largest correlation of a column with itself in the other rows, in standard deviations of independent ones."""
    width = min(first.shape[1], second.shape[1])
    first, second = first[:, :width], second[:, :width]
    scale = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    products = np.abs((first * second).sum(axis=0))
    correlations = np.divide(products, scale, out=np.zeros(width), where=scale > 0)
    return float(correlations.max(initial=0.0) * np.sqrt(len(first)))


def _period(rows: np.ndarray) -> int:
    """After how many rows the whole sequence repeats itself, 0 where it does not; by chance it cannot."""
    rows = rows[:KEPT]
    values = [row.tobytes() for row in np.ascontiguousarray(rows)]
    if len(values) <= LEAST or len(set(values[:LEAST])) < LEAST // 2:  # too few values to call a repetition impossible
        return 0
    start = values[:LEAST]
    for at in range(1, len(values) - LEAST):
        if values[at] == start[0] and values[at : at + LEAST] == start:
            return at
    return 0
