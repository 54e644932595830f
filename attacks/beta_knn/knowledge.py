"""What the attacker knows: of every item its popularity and mean, of a target some ratings, some of them wrong."""

from collections.abc import Callable

import numpy as np

from dpassay.attacks.beta_knn.outcome import Judged
from dpassay.data.ratings import Ratings

MAX_LEVELS = 101  # rating values told apart


class Catalogue:
    """What is public of the items, and what can be guessed from it without any attack.

    Attributes:
        popularity: number of raters, shape (items,).
        levels: rating values, ascending, shape (levels,).
    """

    def __init__(self, ratings: Ratings) -> None:
        self.popularity = np.bincount(ratings.items, minlength=ratings.num_items)
        self._sums = np.bincount(ratings.items, ratings.values, ratings.num_items)
        self._mean = ratings.values.mean()
        levels = np.unique(ratings.values)
        self.levels = levels if len(levels) <= MAX_LEVELS else np.linspace(*ratings.scale, MAX_LEVELS)

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """Number of the level that is closest to each value, of two equally close ones the lower; the same shape."""
        return np.searchsorted((self.levels[1:] + self.levels[:-1]) / 2, values)

    def judged(
        self,
        own: np.ndarray,
        values: np.ndarray,
        known: np.ndarray,
        inferred: np.ndarray,
        shown: Callable[[np.ndarray], np.ndarray] | None,
    ) -> Judged:
        """Compares what was inferred about a target with the truth, and with a guess from popularity and means.

        Args:
            own: the target's items, shape (ratings,).
            values: her ratings of them, shape (ratings,).
            known: items that the attacker knew.
            inferred: whether the attacker takes an item for rated, shape (items,).
            shown: function of items to the numbers of their inferred levels; None if none are shown.
        """
        is_known, is_own = (np.zeros(len(self.popularity), bool) for _ in range(2))
        is_known[known], is_own[own] = True, True
        hidden = ~is_known[own]
        hit = hidden & inferred[own]
        true = self.nearest(values[hit])
        number = int(inferred.sum())
        popular = np.where(is_known, -1, self.popularity - is_own)
        guessed = np.argsort(-popular, kind="stable")[:number]
        others = self.popularity[own] - 1
        means = np.where(others > 0, (self._sums[own] - values) / np.maximum(others, 1), self._mean)
        return Judged(
            hidden=float(hidden.sum()),
            inferred=float(number),
            hits=float(hit.sum()),
            exact=np.nan if shown is None else float(np.sum(shown(own[hit]) == true)),
            guess_hits=float(is_own[guessed].sum()),
            guess_exact=float(np.sum(self.nearest(means[hit]) == true)),
        )


def told_values(
    values: np.ndarray, wrong: float, scale: tuple[float, float], generator: np.random.Generator
) -> np.ndarray:
    """The ratings that fakes give the known items: a share of each target's is wrong by one star, within the scale.

    From true ratings of shape (targets, m); the result has the same shape.
    """
    low, high = scale
    mistaken = np.argsort(generator.random(values.shape), axis=1) < round(wrong * values.shape[1])
    step = np.where(generator.random(values.shape) < 0.5, 1.0, -1.0)
    step = np.where((values + step > high) | (values + step < low), -step, step)
    return np.clip(np.where(mistaken, values + step, values), low, high)
