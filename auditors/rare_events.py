"""Rare outputs: which ones are kept however many samples are only counted, and the events that they suggest.

A leak may show first after millions of samples: a value far beyond all others, NaN, a category that was never there.
So a region of rare outputs is fixed on the first samples: beyond the extremes of each column, and whatever no column
tells. Every later output in it is kept, the others are only counted. Events inside the region have therefore been
counted on all samples, and they, or the columns that the kept outputs bring, are what the next samples test.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from dpassay.auditors.batches import taken
from dpassay.auditors.events import Event
from dpassay.auditors.fixed_sample import closest_null, log_likelihood_ratio
from dpassay.auditors.outputs import Encoder
from dpassay.auditors.scorers import Column

SHARE = 2e-4  # of the samples that the region may take, over all columns
TAIL = 0.01  # of the samples, in either tail of a column, of which events are suggested while all samples are kept
TRIED = (
    60  # events a column, about: two tails, two directions, and as many nested events as there are octaves of counts
)
MOST, MOST_BYTES = 20_000, 1 << 28  # outputs kept of each dataset, after which no more are
COLUMNS_FROM = 4096  # outputs that columns are learned from again, with all that no column tells
SORTED = 50_000_000  # numbers that the extremes of the columns are learned from


@dataclass(frozen=True, eq=False)
class Region:
    """Outputs of which some column is beyond its limits, or NaN where that is rare.

    Attributes:
        encoder: of the columns.
        low: shape (columns,), float32; what is below is in the region.
        high: shape (columns,), float32; what is above is in the region.
        fill: shape (columns,), float32, what NaN counts as.
    """

    encoder: Encoder
    low: np.ndarray
    high: np.ndarray
    fill: np.ndarray

    @classmethod
    def fit(cls, encoder: Encoder, sides: Sequence[np.ndarray], share: float) -> "Region":
        """Learns the limits from what `encoder.encode` gave for both datasets, shapes (samples, columns).

        `share` of the samples lie beyond each limit.
        """
        some = [rows[: max(1, SORTED // (2 * rows.shape[1]))] for rows in sides]
        rows = np.concatenate(some)
        beyond = min(max(1, int(share * len(rows))), len(rows) - 1)
        missing = np.isnan(rows)
        rows = np.where(missing, encoder.blanks, rows)
        ordered = np.partition(rows, [beyond, len(rows) - 1 - beyond], axis=0)
        fill = np.where(missing.sum(axis=0) > beyond, encoder.blanks, np.float32(np.inf)).astype(np.float32)
        return cls(encoder, ordered[beyond], ordered[len(rows) - 1 - beyond], fill)

    def holds(self, encoded: Any) -> Any:
        """Whether each row of what `encoder.encode` gave, shape (samples, columns), is in the region."""
        return beyond(encoded, self.low, self.high, self.fill)


def beyond(encoded: Any, low: Any, high: Any, fill: Any) -> Any:
    """`Region.holds` with the limits given, shapes (columns,) each; traceable by JAX."""
    xp: Any = np if isinstance(encoded, np.ndarray) else jax.numpy
    values = xp.where(xp.isnan(encoded), fill, encoded)
    return ((values < low) | (values > high)).any(axis=1)


@dataclass
class Census:
    """The outputs of a region, of all samples since it was fixed.

    Attributes:
        kept: of each dataset, parts: outputs as arrays, pytrees of arrays or lists.
        trials: samples of each dataset that they come from.
    """

    region: Region
    kept: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))
    trials: list[int] = field(default_factory=lambda: [0, 0])
    _room: list[float] = field(default_factory=lambda: [1.0, 1.0])

    def add(self, side: int, outputs: Any, number: int, trials: int) -> None:
        """Takes in all outputs of the region, `number` of them, among so many samples; none once there are too many."""
        if self._room[side] <= 0:
            return
        if number:
            self.kept[side].append(outputs)
            leaves = [] if isinstance(outputs, list) else jax.tree.leaves(outputs)
            self._room[side] -= max(number / MOST, sum(leaf.nbytes for leaf in leaves) / MOST_BYTES)
        self.trials[side] += trials

    def add_all(self, side: int, outputs: Any, encoded: np.ndarray) -> None:
        """Takes in those outputs that are in the region; `encoded` are their columns, shape (samples, columns)."""
        inside = np.flatnonzero(self.region.holds(encoded))
        self.add(side, taken(outputs, inside), len(inside), len(encoded))


def but_rare(rows: Sequence[np.ndarray], tails: Region) -> list[np.ndarray]:
    """Rows, shape (samples, columns) each, in which columns that hardly ever vary do not, where only one does.

    Orders of outputs by many columns take long; what the others show is tried by itself.
    """
    if np.count_nonzero(tails.low < tails.high) != 1:
        return list(rows)
    return [np.where(tails.low == tails.high, tails.low, side) for side in rows]


def untold(encoder: Encoder, outputs: Any) -> Any:
    """Those outputs that hold what no column tells."""
    return taken(outputs, np.flatnonzero(encoder.misses(np.asarray(encoder.encode(outputs)))))


@dataclass(frozen=True)
class Suggested:
    """An event in a tail of one column, and what suggests it.

    Attributes:
        counts: (hits, samples) of the event's likelier dataset, then of the other; they are no evidence.
        strength: log-likelihood ratio of the counts against the closest law that the claim allows, nats.
    """

    event: Event
    counts: tuple[int, int, int, int]
    strength: float


def suggest(
    encoder: Encoder,
    sides: Sequence[np.ndarray],
    trials: Sequence[int],
    inner: tuple[np.ndarray, np.ndarray],
    points: Sequence[tuple[float, float]],
) -> list[Suggested]:
    """The event of each tail and direction that its counts speak for most, the strongest first.

    Args:
        encoder: of the columns.
        sides: features of both datasets, shape (samples, columns): all that lie beyond `inner`, of so many `trials`.
        trials: samples of each dataset.
        inner: shapes (columns,), (columns,): events are below the first or above the second.
        points: (epsilon, delta) pairs at which the claim is judged.
    """
    found = []
    for column in range(len(encoder.names)):
        for above in (True, False):
            limit = inner[above][column]
            tails = [rows[:, column][rows[:, column] > limit if above else rows[:, column] < limit] for rows in sides]
            if sum(map(len, tails)) < 2:
                continue
            # From the far end inwards: the event of all values up to each.
            sign = -1 if above else 1
            values = np.unique(sign * np.concatenate(tails))
            hits = [np.searchsorted(np.sort(sign * tail), values, side="right") for tail in tails]
            for direction in (0, 1):
                best = _strongest(
                    hits[direction], trials[direction], hits[1 - direction], trials[1 - direction], points
                )
                if best is None:
                    continue
                place, point, strength = best
                end = limit if place + 1 == len(values) else sign * values[place + 1]
                cut = _between(float(sign * values[place]), float(end), above)
                scorer = Column(np.int32(column))
                words = scorer.describe(cut, above, encoder.names)
                event = Event(scorer, cut, above, direction, point, words, 0.0)
                one, two = (int(hits[other][place]) for other in (direction, 1 - direction))
                found.append(Suggested(event, (one, trials[direction], two, trials[1 - direction]), strength))
    return sorted(found, key=lambda item: -item.strength)


def _strongest(
    x: np.ndarray, n: int, y: np.ndarray, m: int, points: Sequence[tuple[float, float]]
) -> tuple[int, tuple[float, float], float] | None:
    """Which of nested events speaks most against which point, and how much; None when none does."""
    best: tuple[int, tuple[float, float], float] | None = None
    for epsilon, delta in points:
        p, q, slope = x / n, y / m, np.exp(min(epsilon, 100.0))
        null = closest_null(p, q, n, m, slope, delta)
        ratio = np.where(p > slope * q + delta, log_likelihood_ratio(p, q, n, m, slope, delta, null), 0.0)
        place = int(np.argmax(ratio))
        if ratio[place] > 0 and (best is None or ratio[place] > best[2]):
            best = (place, (float(epsilon), float(delta)), float(ratio[place]))
    return best


def _between(last: float, end: float, above: bool) -> float:
    """A cut that holds the last value and not the end, as far from both as can be, for values still to come."""
    middle = float(np.float32(last / 2 + end / 2))
    inside = end < middle <= last if above else last < middle <= end
    return middle if inside else last if above else float(np.nextafter(np.float32(last), np.float32(np.inf)))
