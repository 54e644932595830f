"""Scores that order outputs by how much likelier dataset 1 makes them: pure functions of a feature array.

Every scorer maps features of shape (n, d) to float32 scores of shape (n,), with NumPy arrays and under `jax.jit`. Its
parameters are small arrays and the leaves of a JAX pytree, so scorers of one shape share one compiled program.
Sums of steps are exact in float32 (the steps are multiples of one power of two), so a score does not depend on the
order in which a program adds, and ties at a cut stay ties. Near-optimal events are level sets of the likelihood ratio
(Neyman and Pearson 1933); nothing here needs the scores to be correct: a bad score costs power, never soundness.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, cast

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors import wording

BLOCK = 8  # steps on one column that are added in one pass over the samples
UNROLLED = 64  # columns up to which sums over them are written out
REACH = 64.0  # nats; scores of refined scorers are cut off there
NETWORK_GRID = 2.0**12  # network scores are rounded to multiples of 1 / this, far above what programs differ by


class Scorer(Protocol):
    """What an event is cut from; higher scores are likelier under dataset 1."""

    @property
    def name(self) -> str:
        """The kind of scorer, for example "threshold"."""

    def __call__(self, features: Any) -> Any:
        """Scores of shape (n,) for features of shape (n, d)."""

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """The event `score >= cut` (`above`) or `score < cut` in words; `names` are those of the d columns."""


@jax.jit
def compiled(scorer: Scorer, features: Any) -> Any:
    """The scores by one program for all scorers of a shape, which for very many samples is much faster."""
    return scorer(features)


@dataclass(frozen=True, eq=False)
class Column:
    """The value of one column, as it is.

    Attributes:
        index: into `columns_of`, shape ().
        derived: whether the index counts differences, sum, max and min too.
    """

    index: Any
    derived: bool = False
    name: str = "threshold"

    def __call__(self, features: Any) -> Any:
        """The column as float32."""
        return _column_reader(features, derived=self.derived)(self.index)

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """For example "output >= 3.25"."""
        name = column_names(names, derived=self.derived)[int(self.index)]
        return wording.threshold(name, cut, above)


@dataclass(frozen=True, eq=False)
class Steps:
    """An additive model: the sum over columns of a step function.

    Attributes:
        columns: int32 of shape (blocks,), the column of each block of BLOCK steps, an index into `columns_of`.
        edges: float32 of shape (blocks, BLOCK); infinite where a block is not full.
        heights: float32 of shape (blocks, BLOCK), added where the column is at least the edge; nats.
        used: blocks that hold steps, shape (); those behind are padding, so that models share compiled programs.
        base: float32 of shape (), the score left of all edges.
    """

    columns: Any
    edges: Any
    heights: Any
    used: Any
    base: Any
    derived: bool
    name: str

    @classmethod
    def build(cls, tables: dict[int, tuple[np.ndarray, np.ndarray]], name: str, *, derived: bool) -> "Steps":
        """Joins step functions.

        Args:
            tables: per column its edges, shape (E,), increasing, and its values, shape (E + 1,), nats.
            name: of the scorer.
            derived: whether the columns count differences, sum, max and min too.
        """
        jumps = {}
        for column, (edges, values) in tables.items():
            rises = np.diff(values)
            jumps[column] = (edges[rises != 0], rises[rises != 0])
        base = float(sum(values[0] for _, values in tables.values()))
        total = abs(base) + sum(float(np.abs(rises).sum()) for _, rises in jumps.values())
        grid = 2.0 ** math.floor(math.log2(2**23 / max(total, 2.0**-80)))
        blocks: list[tuple[int, np.ndarray, np.ndarray]] = []
        for column, (edges, rises) in jumps.items():
            for start in range(0, len(edges), BLOCK):
                blocks.append((column, edges[start : start + BLOCK], rises[start : start + BLOCK]))
        size = max(4, 1 << (len(blocks) - 1).bit_length()) if blocks else 4
        columns, all_edges = np.zeros(size, np.int32), np.full((size, BLOCK), np.inf, np.float32)
        heights = np.zeros((size, BLOCK), np.float32)
        for block, (column, edges, rises) in enumerate(blocks):
            columns[block] = column
            all_edges[block, : len(edges)] = edges
            heights[block, : len(edges)] = np.round(rises * grid) / grid
        rounded = np.float32(np.round(base * grid) / grid)
        return cls(columns, all_edges, heights, np.int32(len(blocks)), rounded, derived, name)

    def __call__(self, features: Any) -> Any:
        """The sum of the steps that each row has passed."""
        read = _column_reader(features, derived=self.derived)
        if isinstance(features, np.ndarray):
            total = np.full(len(features), self.base, np.float32)
            for block in range(int(self.used)):
                row = read(self.columns[block])
                for edge, height in zip(self.edges[block], self.heights[block], strict=True):
                    if height != 0:
                        total += np.where(row >= edge, height, np.float32(0))
            return total

        columns, all_edges, all_heights = (jnp.asarray(part) for part in (self.columns, self.edges, self.heights))

        def add(block: Any, total: Any) -> Any:
            row = read(columns[block])
            for place in range(BLOCK):
                total = total + jnp.where(row >= all_edges[block, place], all_heights[block, place], 0)
            return total

        # Block by block: the samples stay in the cache and the steps in registers, 2-7 times faster than gathers.
        start = jnp.full(features.shape[0], jnp.asarray(self.base, jnp.float32))
        return jax.lax.fori_loop(0, jnp.asarray(self.used, jnp.int32), add, start)

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """The interval for one step, else for example "boosted stumps over 10 columns, score >= 0.0312"."""
        used = np.flatnonzero((np.asarray(self.heights) != 0).any(axis=1))
        columns = sorted({int(self.columns[block]) for block in used})
        all_names = column_names(names, derived=self.derived)
        if len(columns) == 1:
            text = _intervals(self, cut, above, all_names[columns[0]])
            if text is not None:
                return text
            return f"{self.name} of {all_names[columns[0]]}, score {_compare(cut, above)}"
        return f"{self.name} over {len(columns)} columns, score {_compare(cut, above)}"


@dataclass(frozen=True, eq=False)
class Atoms:
    """A table of distinct rows; a row that is not in it scores 0, which is neutral.

    Attributes:
        keys: uint32 of shape (slots,), the hash of the row in each slot; slots is a power of two.
        values: float32 of shape (slots,), log-ratios in nats; 0 in an empty slot.
        multipliers: uint32 of shape (2,), which hash function is used.
        rows: float32 of shape (atoms, d), most frequent first; for descriptions only, not part of the pytree.
        row_values: float32 of shape (atoms,), the score of each of the rows.
    """

    keys: Any
    values: Any
    multipliers: Any
    rows: Any = None
    row_values: Any = None
    name: str = "outcomes"

    @classmethod
    def build(cls, rows: np.ndarray, values: np.ndarray, name: str = "outcomes") -> "Atoms":
        """Puts rows, most important first, into slots; of two rows that share a slot the later one is left out.

        Args:
            rows: distinct, shape (atoms, d).
            values: log-ratios, shape (atoms,), nats.
            name: of the scorer.
        """
        rows, values = np.asarray(rows, np.float32), np.asarray(values, np.float32)
        slots = 1 << (16 * len(rows) - 1).bit_length() if len(rows) > 256 else 1 << 13
        best: tuple[int, np.ndarray, np.ndarray, np.ndarray] | None = None
        for seed in range(16):
            multipliers = np.array([0x9E3779B1 + 2 * 7919 * seed, 0x85EBCA6B + 2 * 104729 * seed], np.uint32)
            hashes = row_hashes(rows, multipliers)
            _, first = np.unique(_slot(hashes, slots), return_index=True)
            if best is None or len(first) > best[0]:
                best = (len(first), multipliers, hashes, first)
            if len(first) == len(rows) or len(rows) > 4096:
                break
        assert best is not None
        _, multipliers, hashes, kept = best
        table, keys = np.zeros(slots, np.float32), np.zeros(slots, np.uint32)
        table[_slot(hashes[kept], slots)] = values[kept]
        keys[_slot(hashes[kept], slots)] = hashes[kept]
        return cls(keys, table, multipliers, rows, values, name)

    def __call__(self, features: Any) -> Any:
        """The log-ratio of each row, 0 where it is not in the table."""
        xp = _numpy_of(features)
        hashes = row_hashes(features, self.multipliers)
        slots = _slot(hashes, len(self.keys))
        keys, values = xp.asarray(self.keys), xp.asarray(self.values)
        return xp.where(keys[slots] == hashes, values[slots], xp.float32(0))

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """The outcomes by name while they are few, else their number and the most frequent ones."""
        if self.rows is None:
            return f"{self.name}, score {_compare(cut, above)}"
        values = np.asarray(self.row_values)
        inside = np.flatnonzero((values >= cut) == above)
        others = (cut <= 0) == above  # whether an unseen outcome is in the event
        outside = np.flatnonzero((values >= cut) != above)
        chosen = outside if others else inside
        if not len(chosen):
            return "any outcome" if others else "no outcome that was seen"
        listed = chosen[: wording.LISTED]
        words = list(dict.fromkeys(wording.outcome(self.rows[index], names) for index in listed))
        return wording.one_of(words, len(chosen) - len(listed), not others)


@dataclass(frozen=True, eq=False)
class Network:
    """Two hidden layers of tanh on standardized columns, each given twice: clipped, and through tanh.

    The clipping keeps markers such as -1000 from drowning the rest; the tanh copy resolves the middle.

    Attributes:
        center: float32 of shape (C,), the median of each derived column.
        scale: float32 of shape (C,), one over its spread.
        layers: weights and offsets ((2C, h1), (h1,), (h1, h2), (h2,), (h2, 1), (1,)).
    """

    center: Any
    scale: Any
    layers: tuple[Any, ...]
    derived: bool
    name: str = "network"

    def __call__(self, features: Any) -> Any:
        """The logit of dataset 1 against dataset 2."""
        if isinstance(features, np.ndarray):
            return self._logit(features.T)
        # XLA would fuse what draws the samples into every unit of the first layer, 14 times slower in all; it does not
        # reach into a branch. Scales are positive: this one is always taken.
        return jax.lax.cond(jnp.asarray(self.scale)[0] > 0, self._logit, lambda rows: rows[0], features.T)

    def _logit(self, rows: Any) -> Any:
        xp = _numpy_of(rows)
        columns = columns_of(rows.T, derived=self.derived)
        units = (columns - xp.asarray(self.center)[:, None]) * xp.asarray(self.scale)[:, None]
        hidden = xp.concatenate([xp.clip(units, -4, 4), xp.tanh(units)], axis=0)
        for weights, offsets in zip(self.layers[0:4:2], self.layers[1:4:2], strict=True):
            hidden = xp.tanh(xp.asarray(weights).T @ hidden + xp.asarray(offsets)[:, None])
        logit = (xp.asarray(self.layers[4]).T @ hidden + xp.asarray(self.layers[5])[:, None])[0]
        return xp.round(logit * NETWORK_GRID) / NETWORK_GRID

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """For example "network over 10 columns, score >= 0.25"."""
        return f"{self.name} over {len(names)} column{'s' if len(names) > 1 else ''}, score {_compare(cut, above)}"


@dataclass(frozen=True, eq=False)
class Stack:
    """A weighted sum of other scorers, rounded to a grid so that programs agree on ties.

    Attributes:
        parts: the scorers.
        weights: float32 of shape (parts,).
    """

    parts: tuple[Any, ...]
    weights: Any
    name: str = "stack"

    def __call__(self, features: Any) -> Any:
        """The weighted sum of the parts' scores."""
        xp = _numpy_of(features)
        total = sum(self.weights[place] * part(features) for place, part in enumerate(self.parts))
        return xp.round(total * NETWORK_GRID) / NETWORK_GRID

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """For example "stack of boosted stumps and network, score >= 0.25"."""
        return f"{self.name} of {' and '.join(part.name for part in self.parts)}, score {_compare(cut, above)}"


@dataclass(frozen=True, eq=False)
class Refined:
    """A scorer whose extreme outputs another one, learned from nothing but such outputs, puts in a better order.

    Attributes:
        base: decides which outputs are extreme.
        end: orders them.
        cut: float32 of shape (), a score of `base`.
        above: whether the scores from the cut on are the extreme ones, else those up to it.
    """

    base: Any
    end: Any
    cut: Any
    above: bool
    name: str = "refined"

    def __call__(self, features: Any) -> Any:
        """The end's score beyond the cut, moved past all others; else the base's."""
        xp = _numpy_of(features)
        scores = xp.clip(self.base(features), -REACH, REACH)
        end = xp.clip(self.end(features), -REACH, REACH)
        if self.above:
            return xp.where(scores >= self.cut, end + xp.float32(4 * REACH), scores)
        return xp.where(scores <= self.cut, end - xp.float32(4 * REACH), scores)

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        """For example "refined stack, score < -256"."""
        return f"{self.name} {self.base.name}, score {_compare(cut, above)}"


def columns_of(features: Any, *, derived: bool) -> Any:
    """The columns as rows, shape (C, n), float32: the d given ones, then differences of neighbors, sum, max and min.

    First differences undo running sums; a sum, maximum or minimum is what many mechanisms with vector outputs leak.
    """
    xp = _numpy_of(features)
    rows = xp.asarray(features.T, xp.float32)
    if not derived or rows.shape[0] == 1:
        return rows
    extremes = [_across(rows, join)[None] for join in (xp.add, xp.maximum, xp.minimum)]
    return xp.concatenate([rows, rows[1:] - rows[:-1], *extremes], axis=0)


def column_names(names: Sequence[str], *, derived: bool) -> tuple[str, ...]:
    """The names of the rows of `columns_of`."""
    if not derived or len(names) == 1:
        return tuple(names)
    plain = [name.removesuffix(wording.TRUTH) for name in names]
    differences = tuple(f"{after} - {before}" for before, after in itertools.pairwise(plain))
    return (*names, *differences, *wording.joined(names))


def row_hashes(features: Any, multipliers: Any) -> Any:
    """A uint32 hash of every row, shape (n,), equal for -0 and 0; the same number in NumPy and JAX."""
    xp = _numpy_of(features)
    rows = xp.asarray(features.T, xp.float32) + xp.float32(0)
    words = rows.view(np.uint32) if xp is np else jax.lax.bitcast_convert_type(rows, jnp.uint32)
    multipliers = xp.asarray(multipliers)
    total = xp.full(words.shape[1:], multipliers[1])
    for word in words:
        # One round of MurmurHash3's mixing (Appleby 2008) per column.
        mixed = word * multipliers[0]
        mixed = (mixed ^ (mixed >> 15)) * multipliers[1]
        total = (total ^ mixed) * xp.uint32(5) + xp.uint32(0xE6546B64)
        total = total ^ (total >> 13)
    return total * multipliers[0]


def _column_reader(features: Any, *, derived: bool) -> Callable[[Any], Any]:
    """index -> that row of `columns_of`, shape (n,); under jit the index may be traced and no other row is computed."""
    if isinstance(features, np.ndarray):
        return columns_of(features, derived=derived).__getitem__
    rows = jnp.asarray(features.T, jnp.float32)
    number = rows.shape[0]
    if not derived or number == 1:
        return lambda index: jnp.take(rows, index, axis=0)
    kinds: list[Callable[[Any], Any]] = [
        lambda index: jnp.take(rows, index, axis=0),
        lambda index: jnp.take(rows, index - number + 1, axis=0) - jnp.take(rows, index - number, axis=0),
        *(lambda _, join=join: _across(rows, join) for join in (jnp.add, jnp.maximum, jnp.minimum)),
    ]
    return lambda index: jax.lax.switch(jnp.clip(index - (2 * number - 2), 0, 3) + (index >= number), kinds, index)


def _across(rows: Any, join: Any) -> Any:
    """The sum, maximum or minimum of each sample's columns."""
    # Row by row: XLA fuses this with what reads it, as it does not a reduction over the first axis; and the sums come
    # out the same in NumPy.
    return functools.reduce(join, list(rows)) if len(rows) <= UNROLLED else join.reduce(rows, axis=0)


def _slot(hashes: Any, slots: int) -> Any:
    return hashes >> np.uint32(32 - (slots.bit_length() - 1))


def _numpy_of(features: Any) -> Any:
    return np if isinstance(features, np.ndarray) else jnp


def _compare(cut: float, above: bool) -> str:
    return f"{'>=' if above else '<'} {cut:.4g}"


def _intervals(steps: Steps, cut: float, above: bool, name: str) -> str | None:
    """The level set of a step function of one column so called, None when it has more than three pieces."""
    edges = np.asarray(steps.edges)[: int(steps.used)].ravel()
    rises = np.asarray(steps.heights)[: int(steps.used)].ravel()
    edges, rises = edges[rises != 0], rises[rises != 0]
    values = float(steps.base) + np.concatenate([[0.0], np.cumsum(rises, dtype=float)])
    inside = (values >= cut) == above
    ends = np.concatenate([[-np.inf], edges, [np.inf]])
    starts = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    stops = np.flatnonzero(inside & ~np.concatenate([inside[1:], [False]]))
    if not 1 <= len(starts) <= 3:
        return None
    pieces = [(float(ends[start]), float(ends[stop + 1])) for start, stop in zip(starts, stops, strict=True)]
    return " or ".join(wording.interval(name, low, high) for low, high in pieces)


def _register(kind: type, static: tuple[str, ...], dropped: tuple[str, ...] = ()) -> None:
    """Makes a scorer a pytree; what only describes it is dropped on the way into a compiled program."""
    leaves = [field.name for field in fields(cast(Any, kind)) if field.name not in static + dropped]
    jax.tree_util.register_dataclass(kind, leaves, static, dropped)


_register(Column, ("derived", "name"))
_register(Steps, ("derived", "name"))
_register(Atoms, ("name",), ("rows", "row_values"))
_register(Network, ("derived", "name"))
_register(Stack, ("name",))
_register(Refined, ("above", "name"))
