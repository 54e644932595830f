"""Bounds (6) and (7) of Zheng and our sharper ones, as numbers: what noise adds to the error of a completion."""

import math
from dataclasses import dataclass

import numpy as np

from dpassay.data.ratings import Ratings

STARS = 5  # of MovieLens
GAMMA = 0.05  # failure probability of the tables


@dataclass(frozen=True)
class Shape:
    """What the bounds need of a dataset.

    Attributes:
        cells: users times items, mn.
        rated: observed ratings, s.
        mean_square: of the ratings scaled to [-1, 1].
        spread: mean over the ratings x in 1..5 of the sum of (x - j)^2 over the five stars j.
        label: for titles.
    """

    cells: int
    rated: int
    mean_square: float
    spread: float
    label: str

    @property
    def density(self) -> float:
        """Share of rated cells."""
        return self.rated / self.cells

    @classmethod
    def of(cls, data: Ratings) -> "Shape":
        """MovieLens 100K when it is given; else its published size, with the ratings that are worst."""
        if data.name == "movielens-100k":
            values = np.asarray(data.values, float)
            spread = ((values[:, None] - np.arange(1, STARS + 1)) ** 2).sum(axis=1).mean()
            square = float((((values - 3) / 2) ** 2).mean())
            return cls(data.num_users * data.num_items, len(data), square, float(spread), "MovieLens 100K")
        return cls(943 * 1682, 100_000, 1.0, 30.0, "the shape of MovieLens 100K, ratings at the ends of the scale")


def excess(kind: str, epsilon: float, shape: Shape, gamma: float = GAMMA) -> tuple[float, float, float]:
    """What (6) or (7) adds to rho0 sqrt(s), the sharper bound on it, and the root mean square of the noise; float64.

    `kind` is "laplace" or "response" (5 stars), epsilon in nats per entry, `gamma` the failure probability; true
    ratings of missing cells are taken at the end of the scale, the worst case.
    """
    cells, rated = shape.cells, shape.rated
    if kind == "laplace":
        r, noise = math.exp(epsilon / 2), 8 / epsilon**2
        printed = 4 / epsilon * math.sqrt(rated / gamma) + math.sqrt(2 * cells / ((r + 1) * gamma) * (1 + noise))
        mean = worst = r / (r + 1) * rated * noise + (cells - rated) / (r + 1) * (1 + noise)
    else:
        d, e = STARS, math.exp(epsilon)
        printed = 2 * (d - 1) * math.sqrt(2 * cells * d / ((e + d) * gamma))
        worst = (d - 1) * (2 * d - 1) / 6 * cells * d / (e + d)
        mean = (rated * shape.spread + (cells - rated) * d * (d - 1) * (2 * d - 1) / 6) / (e + d)
    return printed, math.sqrt(worst / gamma), math.sqrt(mean)
