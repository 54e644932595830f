"""Datasets and neighbors at which stable maps break: values at the edges of their type, few of them, often repeated.

A dataset of one value, of two in turn, or of one that is unlike all others shows what rounding, overflow and order do,
at any size, and takes few decisions of Hypothesis, so that it shrinks quickly. Neighbors are what edits make of them.
Candidates may lie too far apart or outside the domain: whoever judges them measures.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpassay.auditors.drawn_datasets import DrawnPair

if TYPE_CHECKING:
    from hypothesis import strategies as st

MOST = 1000  # records, where the domain has no largest size
FEW = 5  # records that are drawn one by one
_POWERS = tuple(2**bits + by for bits in (7, 8, 15, 16, 24, 31, 32, 53, 63) for by in (-1, 0, 1))
_INTEGERS = (0, 1, 2, -1, 3, 10, 100, *_POWERS, *(-power for power in _POWERS))
_FLOATS = (
    *(0.0, 1.0, -1.0, 0.5, 0.1, 3.0, 10.0, 1 / 3, -0.0, 1e-9, 1e9, 2.0**24 + 1, 2.0**52 + 0.5, 2.0**53, 2.0**53 + 2),
    *(5e-324, -5e-324, 2.0**-1022, 2.0**-53, 1e16, 1e100, 2.0**1023, 1.7976931348623157e308, -1.7976931348623157e308),
)
_SHARES = (0.5, 0.25, 0.75, 1 / 3, 0.1, 0.9)
_ORDERS: tuple[Callable[[list[Any]], list[Any]], ...] = (
    lambda records: records[::-1],
    lambda records: records[1:] + records[:1],
    lambda records: sorted(records, key=repr),
)


@dataclass(frozen=True)
class Sizes:
    """How many records a dataset has."""

    least: int = 0
    most: int = MOST

    def strategy(self) -> "st.SearchStrategy[int]":
        """The least and few more often, the most and powers of ten between more rarely: large datasets take long."""
        from hypothesis import strategies as st

        near = sorted({size for size in range(self.least, self.least + 4) if size <= self.most})
        far = [size for size in (10, 100, self.most) if near[-1] < size <= self.most]
        return st.one_of(st.sampled_from(near), st.sampled_from([*near, *dict.fromkeys(far)]))


def integers(low: int, high: int) -> "st.SearchStrategy[int]":
    """Integers from low to high: the ends and their neighbors, powers of two and theirs, and any other."""
    from hypothesis import strategies as st

    ends = (low, high, low + 1, high - 1, (low + high) // 2)
    inside = [value for value in (*_INTEGERS, *ends) if low <= value <= high]
    return _often(inside, [low, high], st.integers(low, high))


def floats(low: float = -math.inf, high: float = math.inf, *, nan: bool = False) -> "st.SearchStrategy[float]":
    """Floats from low to high: the ends and their neighbors, shares of the way, subnormals, where integers end."""
    from hypothesis import strategies as st

    ends = [low, high, math.nextafter(low, high), math.nextafter(high, low)]
    between = [low + (high - low) * share for share in _SHARES] if math.isfinite(high - low) else []
    inside = [value for value in (*between, *ends, *_FLOATS) if low <= value <= high]
    finite = {"min_value": None if low == -math.inf else low, "max_value": None if high == math.inf else high}
    drawn = st.floats(**finite, allow_nan=nan and low == -math.inf and high == math.inf)  # type: ignore[arg-type]
    return _often(inside, [low, high, *[math.nan] * nan], drawn)


def texts() -> "st.SearchStrategy[str]":
    """Texts: the empty one, letters of both cases, a space, a zero byte, a long one, and any other short one."""
    from hypothesis import strategies as st

    return st.one_of(st.sampled_from(["a", "b", "A", "", " ", "0", "\x00", "\u00e9", "a" * 100]), st.text(max_size=3))


@dataclass(frozen=True)
class Neighbors:
    """Pairs of lists of records, or of vectors of numbers, that may be neighbors.

    Attributes:
        element: of a record, or of a number.
        sizes: of the lists.
        metric: in which both are `d_in` apart at most.
    """

    element: "st.SearchStrategy[Any]"
    sizes: Sizes
    metric: str
    d_in: Fraction

    def lists(self) -> "st.SearchStrategy[list[Any]]":
        """Lists of few different records."""
        from hypothesis import strategies as st

        @st.composite
        def patterned(draw: Any) -> list[Any]:
            size = draw(self.sizes.strategy())
            if size <= FEW and draw(st.booleans()):
                return [draw(self.element) for _ in range(size)]
            one = draw(self.element)
            pattern = draw(st.integers(0, 4)) if size > 1 else 0
            if pattern == 0:
                return [one] * size
            two = draw(self.element)
            if pattern in (1, 2):  # one unlike the others, first or last
                return [two, *[one] * (size - 1)][:: 1 if pattern == 1 else -1]
            if pattern == 3:
                return list(itertools.islice(itertools.cycle([one, two]), size))
            return [one] * (size // 2) + [two] * (size - size // 2)

        return patterned()

    def pairs(self) -> "st.SearchStrategy[DrawnPair]":
        """Two lists, the second made from the first."""
        from hypothesis import strategies as st

        of_records = self.metric in ("symmetric", "insert_delete", "change_one", "hamming", "entries")
        change = self._edited if of_records else self._moved
        lists = self.lists()

        @st.composite
        def pair(draw: Any) -> DrawnPair:
            first = draw(lists)
            return DrawnPair(first, draw(lists) if self.metric == "discrete" else change(draw, first))

        return pair()

    def _edited(self, draw: Any, first: list[Any]) -> list[Any]:
        """Records inserted, deleted or replaced at one place, and the order changed where it does not count."""
        from hypothesis import assume
        from hypothesis import strategies as st

        replaces = self.metric in ("change_one", "hamming", "entries")
        fixed = self.sizes.least == self.sizes.most
        edits = int(self.d_in) if self.d_in < 2 or draw(st.booleans()) else draw(st.integers(1, int(self.d_in)))
        kind = "replace" if replaces or fixed else draw(st.sampled_from(["insert", "delete", "replace"]))
        if kind == "replace" and not replaces:
            edits //= 2
        place = draw(st.sampled_from([0, len(first), len(first) // 2]))
        new = [draw(self.element)] * edits if kind != "delete" and edits else []
        start = place if kind == "insert" else min(place, max(len(first) - edits, 0))
        second = first[:start] + new + first[start + (0 if kind == "insert" else edits) :]
        if self.metric in ("symmetric", "change_one") and draw(st.integers(0, 2)) == 2:
            second = draw(st.sampled_from(_ORDERS))(draw(st.sampled_from([first, second])))
        assume(self.sizes.least <= len(second) <= self.sizes.most)
        return second

    def _moved(self, draw: Any, first: list[Any]) -> list[Any]:
        """Numbers moved by `d_in` together: one of them, all equally, or to another value that is near enough."""
        from hypothesis import strategies as st

        if not first:
            return first
        way = draw(st.sampled_from(["one", "one", "one", "all", "in turn", "value"]))
        step = draw(st.sampled_from([1, -1])) * self.d_in / self._spread(len(first))
        if way in ("all", "in turn") and abs(step) < 1 and isinstance(first[0], int):
            way = "one"  # a whole number has no smaller step
        if way == "value":
            place = draw(st.integers(0, len(first) - 1))
            return [*first[:place], draw(self.element), *first[place + 1 :]]
        if way == "one":
            place = draw(st.sampled_from([0, len(first) - 1]))
            whole = self.d_in if step > 0 else -self.d_in
            return [_near(each, whole) if at == place else each for at, each in enumerate(first)]
        return [_near(each, -step if way == "in turn" and at % 2 else step) for at, each in enumerate(first)]

    def _spread(self, size: int) -> Fraction:
        """How much more one entry may move than each of all; of l2 the root of their number, rounded up."""
        if self.metric.startswith("linf"):
            return Fraction(1)
        scale = 2**32
        return Fraction(math.isqrt(size * scale**2 - 1) + 1, scale) if self.metric == "l2" else Fraction(size)


def _near(value: Any, step: Fraction) -> Any:
    """The number farthest in the direction of a step, of the value's own type, that is no farther than the step."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return value
    if isinstance(value, int):
        return value + int(step)
    target = Fraction(value) + step
    try:
        moved = float(target)
    except OverflowError:
        return value
    beyond = (Fraction(moved) - target) * (1 if step > 0 else -1) > 0 if math.isfinite(moved) else True
    return math.nextafter(moved, value) if beyond else moved


def _often(values: list[Any], ends: list[Any], others: Any) -> Any:
    """The two simplest values and the ends most of all: what wraps or rounds needs two of them at once."""
    from hypothesis import strategies as st

    simplest = _simplest(values)
    return st.one_of(st.sampled_from(_simplest([*simplest[:2], *ends])), st.sampled_from(simplest), others)


def _simplest(values: Any) -> list[Any]:
    """Each value once, as it prints, in the order given, which Hypothesis shrinks towards."""
    return list({repr(value): value for value in values}.values())


def of_type(name: str, bounds: Sequence[Any] | None = None, *, nan: bool = False) -> "st.SearchStrategy[Any] | None":
    """Values of a type, by its name in Rust or Python ("i32", "f64", "int", "str"); None for an unknown one."""
    from hypothesis import strategies as st

    if name in ("f64", "float", "f32"):
        low, high = bounds or (-math.inf, math.inf)
        drawn = floats(low, high, nan=nan)
        return drawn.map(_single).filter(lambda value: not low > value and not value > high) if name == "f32" else drawn
    if name in ("bool", "str", "String"):
        return st.booleans() if name == "bool" else texts()
    if name == "int" or (name[:1] in "iu" and name[1:].isdigit()):
        bits = 64 if name == "int" else int(name[1:])
        low, high = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return integers(*(bounds or (low, high)))
    return None


def _single(value: float) -> float:
    """The nearest float of 32 bits."""
    import numpy as np

    with np.errstate(over="ignore"):
        return float(np.float32(value))
