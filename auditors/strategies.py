"""Hypothesis strategies for rating datasets and neighboring pairs, so that users can test their own mechanisms.

A dataset is a matrix of shape (users, items), NaN where a rating is missing; see `dpassay.NeighboringRelation`.
"""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
Range = int | tuple[int, int]


def rating_matrices(
    users: Range = (2, 6),
    items: Range = (1, 4),
    *,
    scale: Sequence[float] = SCALE,
    min_ratings: int = 0,
    missing: bool = True,
) -> st.SearchStrategy[np.ndarray]:
    """Rating matrices, shape (users, items), NaN where missing; they shrink to few users, items and low ratings.

    Args:
        users: how many rows: a number, or the smallest and the largest.
        items: how many columns, likewise.
        scale: the ratings that may occur, lowest first.
        min_ratings: how many ratings every user has at least.
        missing: whether ratings may be missing.

    Raises:
        InvalidInput: an empty scale or range, or more ratings asked for than there are items.

    Example:
        >>> from hypothesis import find
        >>> find(rating_matrices(users=2, items=1), lambda matrix: np.isnan(matrix).sum() == 1)
        array([[nan],
               [ 1.]])
    """
    (fewest_users, most_users), (fewest_items, most_items) = _range("users", users), _range("items", items)
    if len(scale) == 0:
        raise InvalidInput("the rating scale is empty; give at least one rating")
    if min_ratings > fewest_items:
        raise InvalidInput(
            f"min_ratings is {min_ratings} with {fewest_items} items; ask for no more ratings than items"
        )
    rating = st.sampled_from(list(scale))
    # Missing first: Hypothesis shrinks towards the first alternative.
    cell = st.one_of(st.just(np.nan), rating) if missing else rating

    @st.composite
    def matrix(draw: st.DrawFn) -> np.ndarray:
        shape = draw(st.integers(fewest_users, most_users)), draw(st.integers(fewest_items, most_items))
        cells = [[draw(cell) for _ in range(shape[1])] for _ in range(shape[0])]
        for row in cells:
            absent = [item for item, value in enumerate(row) if np.isnan(value)]
            excess = min_ratings - (shape[1] - len(absent))
            for item in absent[: max(excess, 0)]:
                row[item] = draw(rating)
        return np.array(cells, float).reshape(shape)

    return matrix()


@st.composite
def neighboring_pairs(
    draw: st.DrawFn,
    relation: NeighboringRelation | str,
    users: Range = (2, 6),
    items: Range = (1, 4),
    *,
    scale: Sequence[float] = SCALE,
    min_ratings: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Two rating matrices that are neighbors under `relation`; either may be the one with more ratings.

    Both have shape (users, items). `min_ratings` holds in the first of the two before they are put in random order.

    Raises:
        InvalidInput: the relation replaces ratings, but the scale has only one.

    Example:
        >>> from hypothesis import find
        >>> find(neighboring_pairs("add_or_remove_one:rating", users=2, items=1), lambda pair: True)
        (array([[ 1.],
               [nan]]), array([[nan],
               [nan]]))
    """
    if isinstance(relation, str):
        relation = NeighboringRelation.parse(relation)
    if relation.kind == "replace_one" and len(set(scale)) < 2:
        raise InvalidInput("the scale has one rating only, so none can be replaced; give at least two")
    missing = relation.unit != "entry"
    first = draw(rating_matrices(users, items, scale=scale, min_ratings=min_ratings, missing=missing))
    user, item = draw(st.integers(0, first.shape[0] - 1)), draw(st.integers(0, first.shape[1] - 1))
    second = first.copy()
    if relation.unit == "user":
        rated = rating_matrices(1, first.shape[1], scale=scale, min_ratings=max(min_ratings, 1))
        if np.isnan(first[user]).all():
            first[user] = draw(rated)[0]
        if relation.kind == "add_or_remove_one":
            second[user] = np.nan
        else:
            second[user] = draw(rated.filter(lambda row: not np.array_equal(row[0], first[user], equal_nan=True)))[0]
    else:
        if np.isnan(first[user, item]):
            first[user, item] = draw(st.sampled_from(list(scale)))
        others = [value for value in scale if value != first[user, item]]
        second[user, item] = np.nan if relation.kind == "add_or_remove_one" else draw(st.sampled_from(others))
    return (second, first) if draw(st.booleans()) else (first, second)


def _range(name: str, value: Range) -> tuple[int, int]:
    low, high = (value, value) if isinstance(value, int) else value
    if not 1 <= low <= high:
        raise InvalidInput(f"{name} runs from {low} to {high}; give a number >= 1, or the smallest and the largest")
    return low, high
