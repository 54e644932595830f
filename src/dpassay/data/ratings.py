"""A rating dataset, and the small synthetic one that stands in when no data are given."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings as three parallel arrays, one row each.

    Attributes:
        users: int64, shape (ratings,), in [0, num_users).
        items: int64, shape (ratings,), in [0, num_items).
        values: float64, shape (ratings,).
        scale: smallest and largest rating allowed.
        name: what verdicts call this dataset.
        timestamps: int64, shape (ratings,), when the source has them.
        note: what a reader must know of how they were read, "" where they are what the file says.
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    num_users: int
    num_items: int
    scale: tuple[float, float] = (1.0, 5.0)
    name: str = "custom"
    timestamps: np.ndarray | None = field(default=None, repr=False)
    note: str = ""

    def __post_init__(self) -> None:
        if not len(self.users) == len(self.items) == len(self.values):
            raise InvalidInput(
                f"users, items and values have lengths {len(self.users)}, {len(self.items)}, {len(self.values)}; "
                "give one of each per rating"
            )
        if len(self.users) == 0:
            raise InvalidInput("the rating dataset is empty; give at least one user,item,rating")
        for name, index, bound in (("user", self.users, self.num_users), ("item", self.items, self.num_items)):
            if index.min() < 0 or index.max() >= bound:
                raise InvalidInput(
                    f"{name} indices run from {index.min()} to {index.max()}; allowed is 0 to {bound - 1}"
                )
        if np.isnan(self.values).any():
            row = int(np.isnan(self.values).argmax())
            raise InvalidInput(f"rating {row + 1} is not a number; leave missing ratings out")
        low, high = self.scale
        outside = (self.values < low) | (self.values > high)
        if outside.any():
            row = int(outside.argmax())
            raise InvalidInput(
                f"rating {row + 1} is {self.values[row]:g}, outside the scale {low:g} to {high:g}; "
                "correct it or set the scale"
            )
        cells = np.sort(self._cells())
        if (repeated := cells[1:] == cells[:-1]).any():
            cell = cells[1:][repeated][0]
            user, item = divmod(int(cell), self.num_items)
            raise InvalidInput(f"user {user} rated item {item} {np.sum(cells == cell)} times; keep one rating per pair")

    def _cells(self) -> np.ndarray:
        """The number of each rating's place in the matrix, row by row."""
        return np.asarray(self.users, np.int64) * self.num_items + self.items

    def __len__(self) -> int:
        return len(self.values)

    def dense(self) -> np.ndarray:
        """Matrix of shape (num_users, num_items), NaN where a rating is missing.

        Raises:
            InvalidInput: it does not fit into memory.
        """
        try:
            matrix = np.full((self.num_users, self.num_items), np.nan)
        except (ValueError, MemoryError) as error:
            raise InvalidInput(
                f"a matrix of {self.num_users} users and {self.num_items} items does not fit into memory; "
                "number users and items without gaps"
            ) from error
        matrix[self.users, self.items] = self.values
        return matrix

    @classmethod
    def from_dense(cls, matrix: np.ndarray, scale: tuple[float, float] = (1.0, 5.0), name: str = "custom") -> "Ratings":
        """Ratings from a matrix of shape (users, items), NaN where missing."""
        matrix = np.asarray(matrix, float)
        if matrix.ndim != 2:
            raise InvalidInput(f"a rating matrix has shape (users, items), got {matrix.shape}")
        users, items = np.nonzero(~np.isnan(matrix))
        num_users, num_items = matrix.shape
        return cls(users, items, matrix[users, items], num_users, num_items, scale=scale, name=name)

    def described(self, name: str = "") -> dict[str, Any]:
        """What a result says of its input, JSON-able: name (another one if given), hash and number of ratings."""
        return {"name": name or self.name, "sha256": self.fingerprint(), "ratings": len(self)}

    def fingerprint(self) -> str:
        """SHA-256 of the ratings in (user, item) order, so that a result file can name its input."""
        order = np.argsort(self._cells())
        rows = np.stack([self.users[order], self.items[order], np.round(self.values[order] * 1000)]).astype("<i8")
        return hashlib.sha256(rows.tobytes()).hexdigest()


def synthetic(num_users: int = 120, num_items: int = 80, seed: int = 20261121) -> Ratings:
    """Ratings drawn from a seeded low-rank preference model with long-tail item popularity; not real people.

    Every user has at least 20 ratings, as in MovieLens 100K, on the scale 1..5.
    """
    generator = np.random.default_rng(seed)
    taste = generator.normal(size=(num_users, 3)) @ generator.normal(size=(3, num_items)) / np.sqrt(3)
    quality = generator.normal(scale=0.4, size=num_items)
    bias = generator.normal(scale=0.4, size=(num_users, 1))
    noise = generator.normal(scale=0.7, size=taste.shape)
    stars = np.clip(np.round(3.5 + 0.7 * taste + quality + bias + noise), 1, 5)
    popularity = 1 / np.arange(1, num_items + 1) ** 0.7
    matrix = np.full((num_users, num_items), np.nan)
    for user, count in enumerate(np.minimum(20 + generator.geometric(0.08, num_users), num_items)):
        chosen = generator.choice(num_items, size=count, replace=False, p=popularity / popularity.sum())
        matrix[user, chosen] = stars[user, chosen]
    return Ratings.from_dense(matrix, name="synthetic")
