"""Similarities of mean-centered ratings (Guerraoui et al., X-Map, Theorem 2) as texts for certificates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpassay.proofs.notation import instance

Row = Sequence[int | None]


@dataclass(frozen=True)
class CenteredRatings:
    """Ratings of users on items, None where missing, and the texts of similarities of their mean-centered values.

    User x's rating of item i is called r_x_i in the texts, less the mean of x's ratings c_x_i; both count from 1.
    A user who leaves changes nobody else's mean.

    Attributes:
        rows: one row of ratings per user.
    """

    rows: tuple[Row, ...]

    @property
    def users(self) -> tuple[int, ...]:
        """All users, from 1."""
        return tuple(range(1, len(self.rows) + 1))

    def others(self, user: int) -> tuple[int, ...]:
        """All users but one."""
        return tuple(other for other in self.users if other != user)

    def centered(self, user: int, item: int) -> Fraction:
        """c_x_i; 0 when the rating is missing."""
        row = self.rows[user - 1]
        rating = row[item - 1]
        present = [value for value in row if value is not None]
        return Fraction(0) if rating is None else rating - Fraction(sum(present), len(present))

    def certificate(self, items: Iterable[int], *formulas: str, supports: str, **constants: Any) -> dict[str, Any]:
        """A certificate that the formulas are true of these ratings; the centering of `items` is checked with them."""
        values: dict[str, Any] = dict(constants)
        centering = []
        kept = sorted(set(items))
        for user, row in enumerate(self.rows, start=1):
            names = [f"r_{user}_{item}" for item, rating in enumerate(row, start=1) if rating is not None]
            values |= {f"r_{user}_{item}": rating for item, rating in enumerate(row, start=1) if rating is not None}
            for item in kept:
                if row[item - 1] is not None:
                    values[f"c_{user}_{item}"] = str(self.centered(user, item))
                    centering.append(f"c_{user}_{item} == r_{user}_{item} - ({' + '.join(names)}) / {len(names)}")
        return instance(values, *centering, *formulas, supports=supports)

    def raters(self, item: int, users: Iterable[int] | None = None) -> list[int]:
        """Those of the users who rated the item."""
        return [user for user in (self.users if users is None else users) if self.rows[user - 1][item - 1] is not None]

    def dot(self, first: int, second: int, users: Iterable[int] | None = None) -> str:
        """Text of the dot product of two items over the users (all by default)."""
        both = [user for user in self.raters(first, users) if user in self.raters(second, users)]
        return f"({' + '.join(f'c_{user}_{first} * c_{user}_{second}' for user in both) or '0'})"

    def square(self, item: int, users: Iterable[int] | None = None, beside: int | None = None) -> str:
        """Text of an item's squared norm over its raters, or over those who rated `beside` too."""
        own = self.raters(item, users)
        if beside is not None:
            own = [user for user in own if user in self.raters(beside, users)]
        return f"({' + '.join(f'c_{user}_{item} ** 2' for user in own) or '0'})"

    def lengths(self, first: int, second: int, users: Iterable[int] | None = None, *, norms: str = "all raters") -> str:
        """Text of the product of the two norms, over "all raters" of each item or over "co-raters"."""
        beside = (second, first) if norms == "co-raters" else (None, None)
        squares = self.square(first, users, beside[0]), self.square(second, users, beside[1])
        return f"(sqrt({squares[0]}) * sqrt({squares[1]}))"

    def cosine(self, first: int, second: int, users: Iterable[int] | None = None, *, norms: str = "all raters") -> str:
        """Text of the similarity of two items over the users."""
        return f"({self.dot(first, second, users)} / {self.lengths(first, second, users, norms=norms)})"

    def sensitivity(
        self, first: int, second: int, users: Iterable[int] | None = None, *, norms: str = "all raters"
    ) -> str:
        """Text of SS(first, second) of Theorem 2, with the two different norms in both denominators."""
        present = list(self.users if users is None else users)
        terms = []
        for user in (user for user in self.raters(first, present) if user in self.raters(second, present)):
            left = [other for other in present if other != user]
            lengths = self.lengths(first, second, left, norms=norms)
            terms.append(f"c_{user}_{first} * c_{user}_{second} / {lengths}")
            terms.append(
                f"{self.dot(first, second, present)} / {lengths} - {self.cosine(first, second, present, norms=norms)}"
            )
        return f"max({', '.join(terms)})"
