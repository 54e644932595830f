"""Neighboring datasets of any Python type, made of nothing but what a Hypothesis strategy of datasets draws.

A dataset is taken apart into its records: elements of a list, tuple or set, items of a dict, characters of a text, rows
of an array or a table, ratings, or the whole of a value that has no parts. A neighbor is a drawn dataset in which the
records of one place, or of one user, are taken away or give way to others that the strategy drew, too. So values never
leave their domain, integers stay integers, and what all drawn datasets have in common is kept: their least and largest
size, records that occur once, their order, and of a strategy with few datasets the datasets themselves.
"""

import copy
import dataclasses
import datetime as dt
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from uuid import UUID

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.report.dataset_code import dataset_code

if TYPE_CHECKING:
    from hypothesis import strategies as st

COLLECTIONS = (list, dict, set, frozenset, deque, Ratings)
DRAWS = 100  # datasets from which is learned what they have in common
SIMPLEST = 4  # datasets that pairs are made of more often than of others
EXTREMES = 4  # records at least that pairs are made of more often than of others
USERS = ("user", "user_id", "userid", "uid")  # names of the field that says whose a record is
NO_RATINGS = "a rating is one of dpassay.Ratings, or a cell of a matrix, NaN where it is missing; use :entry instead"
SEEN_TO_HOLD = 5  # datasets of two records or more, from which on what all have in common is no accident


@dataclass(frozen=True)
class RecordRelation:
    """Datasets of any type that differ by one record, one entry of a record, or all records of one user.

    Attributes:
        kind: what is there on one side only was added or removed; else it was replaced.
        unit: "record"; "entry" (a field of a record; the value of an item of a dict); "user" (records with the same
            field or column `user`, key of a dict, or first element; row of a matrix; the whole of a value without
            parts); "rating" (a record of ratings, or a cell of a matrix in which NaN is a missing one).
    """

    kind: Literal["add_or_remove_one", "replace_one"]
    unit: Literal["record", "entry", "user", "rating"]

    def __post_init__(self) -> None:
        if self.kind not in get_args(RecordRelation.__annotations__["kind"]):
            raise InvalidInput(f"relation kind {self.kind!r}: use add_or_remove_one or replace_one")
        if self.unit not in get_args(RecordRelation.__annotations__["unit"]):
            raise InvalidInput(f"relation unit {self.unit!r}: use record, entry, user or rating")
        if self.unit == "entry" and self.kind == "add_or_remove_one":
            raise InvalidInput("an entry is always present: use replace_one:entry, or add_or_remove_one:record")

    @classmethod
    def parse(cls, text: str) -> "RecordRelation":
        """Reads `KIND:UNIT`, for example `add_or_remove_one:record`."""
        kind, colon, unit = str(text).partition(":")
        if not colon:
            raise InvalidInput(f"relation {text!r}: write KIND:UNIT, for example add_or_remove_one:record")
        return cls(kind, unit)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.kind}:{self.unit}"


class DrawnPair(NamedTuple):
    """Two neighboring datasets."""

    first: Any
    second: Any

    @property
    def key(self) -> str:
        """Equal for equal pairs, in either order."""
        return " | ".join(sorted(map(dataset_key, self)))


def dataset_key(dataset: Any) -> str:
    """Equal for equal datasets of one type."""
    return dataset_code(dataset)[0]


# --- what datasets are made of ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Container:
    """How datasets of one type come apart into records.

    Attributes:
        records: of a dataset, in its order.
        build: a dataset of records, otherwise like the given one; None where there is no such dataset.
        fields: the entries of a record.
        with_field: a record with one entry replaced, by its place.
        user: whose a record is; None where that is not known.
        fixed: datasets always have the same number of records.
        matrix: records are users, in a matrix whose missing ratings are NaN: who leaves, leaves a row of NaN.
    """

    records: Callable[[Any], list[Any]]
    build: Callable[[Sequence[Any], Any], Any]
    fields: Callable[[Any], list[Any]]
    with_field: Callable[[Any, int, Any], Any]
    user: Callable[[Any], Any] | None = None
    fixed: bool = False
    matrix: bool = False


class Row(NamedTuple):
    """A row of a table: its label and its values."""

    label: Any
    values: tuple[Any, ...]


def container_of(drawn: Sequence[Any], unit: str) -> Container:
    """How the datasets that a strategy drew come apart.

    Raises:
        InvalidInput: they are of several types, or nothing is known of theirs.
    """
    kinds = {type(dataset) for dataset in drawn}
    one = drawn[0]
    single = Container(lambda dataset: [dataset], lambda records, like: records[0], _fields, _with_field, None, True)
    if all(_is_value(dataset) for dataset in drawn) or (unit == "user" and kinds <= {str, bytes}):
        return dataclasses.replace(single, user=lambda record: 0)
    if len(kinds) > 1:
        listed = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidInput(f"the strategy gives datasets of several types ({listed}); give one strategy for each")
    if isinstance(one, dict | tuple) and _holds_collections(drawn):
        raise InvalidInput(
            f"the strategy gives a {type(one).__name__} of collections, of which one would be a record: give a "
            "strategy of one collection, for example a list of records or a DataFrame"
        )
    if isinstance(one, Ratings):
        return Container(_ratings, _build_ratings, lambda record: [record[2]], _with_value, lambda record: record[0])
    if unit == "rating" and not hasattr(one, "__array__"):
        raise InvalidInput(NO_RATINGS)
    if isinstance(one, str | bytes):
        return Container(_characters, _build_text, lambda record: [record], lambda record, place, new: new)
    if isinstance(one, dict):
        return Container(
            lambda dataset: list(dataset.items()),
            _build_dict,
            lambda record: _fields(record[1]),
            lambda record, place, new: (record[0], _with_field(record[1], place, new)),
            lambda record: record[0],
        )
    if isinstance(one, list | tuple | set | frozenset | deque):
        records = _sorted if isinstance(one, set | frozenset) else list
        users = [user for dataset in drawn for record in dataset for user in [_user(record)]]
        known = users and all(user is not None for user in users)
        build = _build_set if isinstance(one, set | frozenset) else lambda records, like: type(like)(records)
        return Container(records, build, _fields, _with_field, _user if known else None)
    if hasattr(one, "iloc"):
        return _table(one)
    if hasattr(one, "__array__") and np.ndim(one):
        return _array(drawn, unit)
    raise InvalidInput(
        f"the strategy gives datasets of the type {type(one).__name__}, of which no records are known; give lists, "
        "tuples, sets, dicts, texts, arrays, tables of pandas, ratings, or single values"
    )


def _is_value(dataset: Any) -> bool:
    """Whether a dataset is one value that holds no records: what one person says.

    An object of which this is not known is none: were it a collection, any two of them would count as neighbors.
    """
    if dataset is None or isinstance(dataset, int | float | complex | np.generic | Enum | Decimal | Fraction):
        return True
    if isinstance(dataset, dt.date | dt.time | dt.timedelta | UUID):
        return True
    is_record = dataclasses.is_dataclass(dataset) or (isinstance(dataset, tuple) and hasattr(dataset, "_fields"))
    return is_record and all(isinstance(field, str | bytes) or _is_value(field) for field in _fields(dataset))


def _holds_collections(drawn: Sequence[Any]) -> bool:
    """Whether datasets are a fixed few collections, such as columns, under their places or names."""
    is_dict = isinstance(drawn[0], dict)
    shapes = {frozenset(dataset) if is_dict else len(dataset) for dataset in drawn}
    parts = [part for dataset in drawn for part in (dataset.values() if is_dict else dataset)]
    return len(shapes) == 1 and any(
        isinstance(part, COLLECTIONS) or (hasattr(part, "__array__") and np.ndim(part) > 0) for part in parts
    )


def _fields(record: Any) -> list[Any]:
    if isinstance(record, dict):
        return list(record.values())
    if isinstance(record, Row):
        return list(record.values)
    if isinstance(record, list | tuple):
        return list(record)
    if dataclasses.is_dataclass(record):
        return [getattr(record, field.name) for field in dataclasses.fields(record)]
    if isinstance(record, np.ndarray):
        return list(record.ravel())
    return [record]


def _with_field(record: Any, place: int, new: Any) -> Any:
    if isinstance(record, dict):
        return {key: new if at == place else value for at, (key, value) in enumerate(record.items())}
    if isinstance(record, Row):
        return record._replace(values=_replaced(record.values, place, new))
    if isinstance(record, tuple) and hasattr(record, "_replace"):
        return record._replace(**{record._fields[place]: new})  # type: ignore[attr-defined]
    if isinstance(record, list | tuple):
        return type(record)(_replaced(record, place, new))
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return dataclasses.replace(record, **{dataclasses.fields(record)[place].name: new})
    if isinstance(record, np.ndarray):
        changed = record.copy()
        changed.ravel()[place] = new
        return changed
    return new


def _replaced(values: Sequence[Any], place: int, new: Any) -> tuple[Any, ...]:
    return (*values[:place], new, *values[place + 1 :])


def _user(record: Any) -> Any:
    """Whose a record is, by its field `user` or its first element; None where neither is there."""
    if isinstance(record, dict):
        return next((value for key, value in record.items() if str(key).lower() in USERS), None)
    named = next((name for name in USERS if hasattr(record, name)), None)
    if named is not None:
        return getattr(record, named)
    return record[0] if isinstance(record, tuple) and len(record) > 1 else None


def _characters(text: Any) -> list[Any]:
    return [text[place : place + 1] for place in range(len(text))]


def _build_text(records: Sequence[Any], like: Any) -> Any:
    return like[:0].join(records)


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=dataset_key)  # the order of a set is that of its hashes, not the same in every process


def _build_set(records: Sequence[Any], like: Any) -> Any:
    built = type(like)(records)
    return built if len(built) == len(records) else None


def _build_dict(records: Sequence[Any], like: Any) -> Any:
    if len({key for key, _ in records}) < len(records):
        return None
    built = copy.copy(like)  # a defaultdict keeps its factory
    built.clear()
    built.update(dict(records))
    return built


def _ratings(ratings: Ratings) -> list[Any]:
    stamps: Any = ratings.timestamps if ratings.timestamps is not None else [0] * len(ratings)
    return list(zip(ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist(), list(stamps), strict=True))


def _with_value(record: Any, place: int, new: Any) -> Any:
    return (*record[:2], new, *record[3:])


def _build_ratings(records: Sequence[Any], like: Ratings) -> Any:
    if not records:
        return None
    users, items, values, stamps = zip(*records, strict=True)
    try:
        return dataclasses.replace(
            like,
            users=np.array(users, like.users.dtype),
            items=np.array(items, like.items.dtype),
            values=np.array(values, like.values.dtype),
            timestamps=None if like.timestamps is None else np.array(stamps, like.timestamps.dtype),
        )
    except InvalidInput:  # a second rating of the same item, or a user beyond those of this dataset
        return None


def _table(one: Any) -> Container:
    """Rows of a DataFrame, or values of a Series."""
    is_frame = hasattr(one, "columns")
    names = [str(name).lower() for name in one.columns] if is_frame else []
    place = next((names.index(name) for name in USERS if name in names), None)

    def records(table: Any) -> list[Any]:
        if not is_frame:
            return [Row(label, (value,)) for label, value in zip(table.index, table.tolist(), strict=True)]
        columns = [table.iloc[:, at].tolist() for at in range(table.shape[1])]
        rows = zip(*columns, strict=True) if columns else [()] * len(table)
        return [Row(label, tuple(row)) for label, row in zip(table.index, rows, strict=True)]

    user = None if place is None else lambda record: record.values[place]
    return Container(records, _build_frame if is_frame else _build_series, _fields, _with_field, user)


def _build_frame(records: Sequence[Any], like: Any) -> Any:
    import pandas as pd

    index = _labels(records, like.index)
    if index is None:
        return None
    columns = {}
    for place, dtype in enumerate(like.dtypes):
        column = _typed([record.values[place] for record in records], dtype, index)
        if column is None:
            return None
        columns[place] = column
    built = pd.DataFrame(columns, index=index)
    built.columns = like.columns
    return built


def _build_series(records: Sequence[Any], like: Any) -> Any:
    index = _labels(records, like.index)
    built = None if index is None else _typed([record.values[0] for record in records], like.dtype, index)
    return None if built is None else built.rename(like.name)


def _labels(records: Sequence[Any], like: Any) -> Any:
    """The index of the rows: counted where it was, else the rows' own labels, if they stay distinct."""
    import pandas as pd

    if isinstance(like, pd.RangeIndex):
        return pd.RangeIndex(like.start, like.start + len(records) * like.step, like.step, name=like.name)
    labels = [record.label for record in records]
    index = pd.Index(labels, dtype=like.dtype, name=like.name) if like.nlevels == 1 else None
    return index if index is not None and (index.is_unique or not like.is_unique) else None


def _typed(values: list[Any], dtype: Any, index: Any) -> Any:
    """A column of this type; None where a value does not fit, so that it would be changed."""
    import pandas as pd

    try:
        column = pd.Series(values, index=index, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    return column if list(map(dataset_key, column.tolist())) == list(map(dataset_key, values)) else None


def _array(drawn: Sequence[Any], unit: str) -> Container:
    """Rows along the first axis; of a matrix with NaN for missing ratings the users, or the ratings."""
    missing = any(np.asarray(one).dtype.kind == "f" and np.isnan(np.asarray(one)).any() for one in drawn)
    is_jax = type(drawn[0]).__module__.startswith("jax")

    def build(records: Sequence[Any], like: Any) -> Any:
        array = np.asarray(like)
        if any(np.shape(record) != array.shape[1:] for record in records):
            return None
        built = np.array(list(records), array.dtype).reshape(len(records), *array.shape[1:])
        if is_jax:
            import jax.numpy as jnp

            return jnp.asarray(built)
        return built

    matrix = missing and np.ndim(drawn[0]) == 2 and unit in ("user", "rating")
    if unit == "rating" and not matrix:
        raise InvalidInput(NO_RATINGS)
    if unit == "user" and np.ndim(drawn[0]) != 2:
        raise InvalidInput("a user is a row of a matrix, and these are none; use replace_one:record instead")
    return Container(lambda dataset: list(np.array(dataset)), build, _fields, _with_field, fixed=matrix, matrix=matrix)


# --- neighbors -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbors:
    """What is known of a strategy's datasets, and the strategy of neighboring pairs made of them.

    Attributes:
        sizes: least and largest number of records drawn.
        distinct: functions of a record that never gave the same twice in a dataset.
        ordered: the records of every dataset were sorted.
        extremes: records that hold the least, the largest or the longest that was drawn of an entry; where all datasets
            have one size, of each place.
        simplest: the smallest datasets drawn, that pairs are made of more often than of others.
        everything: keys of all datasets, where the strategy gives no others.
    """

    datasets: "st.SearchStrategy[Any]"
    relation: RecordRelation
    container: Container
    sizes: tuple[int, int]
    distinct: tuple[Callable[[Any], Any], ...]
    ordered: bool
    extremes: tuple[tuple[Any, ...], ...]
    simplest: tuple[Any, ...]
    everything: frozenset[str] | None = None

    @classmethod
    def of(
        cls, datasets: "st.SearchStrategy[Any]", relation: RecordRelation, drawn: Sequence[Any], complete: bool
    ) -> "Neighbors":
        """Learns from datasets drawn, all that there are where they are `complete`.

        Raises:
            InvalidInput: the relation has no meaning for datasets like these.
        """
        container = container_of(drawn, relation.unit)
        taken = [container.records(dataset) for dataset in drawn]
        sizes = min(map(len, taken)), max(map(len, taken))
        several = [records for records in taken if len(records) > 1]
        held = len(several) >= SEEN_TO_HOLD
        tests: list[Callable[[Any], Any]] = [_content]
        tests += [container.user] if container.user is not None and relation.unit != "user" else []
        tests += [_entry(container, at) for at in range(_width(container, taken))]
        distinct = tuple(test for test in tests if held and all(_is_distinct(records, test) for records in several))
        longer = [records for records in taken if len(records) > 2]
        ordered = len(longer) >= SEEN_TO_HOLD and all(_is_sorted(records) for records in longer)
        places = list(zip(*taken, strict=True)) if sizes[0] == sizes[1] else [[r for each in taken for r in each]]
        known = cls(
            datasets,
            relation,
            dataclasses.replace(container, fixed=container.fixed or sizes[0] == sizes[1]),
            sizes,
            distinct,
            ordered,
            tuple(_extremes(container, records) for records in places),
            tuple(sorted(drawn, key=lambda each: (len(container.records(each)), len(dataset_key(each))))[:SIMPLEST]),
            frozenset(map(dataset_key, drawn)) if complete else None,
        )
        known._check(drawn[0])
        return known

    def _check(self, drawn: Any) -> None:
        if self.sizes[1] == 0:
            raise InvalidInput("the strategy gave no dataset but empty ones; give one that draws records")
        unknown = self.container.user is None and not hasattr(drawn, "__array__")
        if self.relation.unit == "user" and unknown:
            raise InvalidInput(
                "which records are one user's is not known: give them a field or column `user`, or tuples whose first "
                "element is the user, or a dict by users"
            )
        if self.relation.kind == "add_or_remove_one" and self.container.fixed and not self.container.matrix:
            raise InvalidInput(
                f"all datasets of the strategy have {self.sizes[0]} record{'s' * (self.sizes[0] != 1)}, so none "
                f"can be added or removed: use replace_one:{self.relation.unit}, or let their size vary"
            )

    def pairs(self, begun: Callable[[], None] = lambda: None) -> "st.SearchStrategy[DrawnPair]":
        """Neighboring pairs; they shrink as the datasets do. `begun` is called before each is drawn."""
        from hypothesis import assume
        from hypothesis import strategies as st

        @st.composite
        def pair(draw: Any) -> DrawnPair:
            begun()
            like = draw(st.one_of(self.datasets, st.sampled_from(self.simplest)))
            of_user = self.relation.unit == "user" and self.container.user is not None
            change = self._user_change if of_user else self._record_change
            sides = []
            for records in change(draw, self.container.records(like)):
                dataset = self.built(records, like)
                assume(dataset is not None)
                sides.append(dataset)
            assume(dataset_key(sides[0]) != dataset_key(sides[1]))
            return DrawnPair(*sides)

        return pair()

    def _record_change(self, draw: Any, base: list[Any]) -> Iterable[list[Any]]:
        from hypothesis import assume
        from hypothesis import strategies as st

        if self.relation.kind == "add_or_remove_one" and not self.container.matrix:
            if draw(st.booleans()):
                place = draw(st.integers(0, len(base)))
                return base, [*base[:place], self.donor(draw, place), *base[place:]]
            assume(base)
            place = draw(st.integers(0, len(base) - 1))
            return base, [*base[:place], *base[place + 1 :]]
        assume(base)
        place = draw(st.integers(0, len(base) - 1))
        one, two = base[place], self.donor(draw, place)
        # Both records may be extreme: strategies rarely draw two extremes at once.
        one = self.donor(draw, place) if draw(st.booleans()) else one
        if self.container.matrix and self.relation.kind == "add_or_remove_one" and self.relation.unit == "user":
            assume(not np.isnan(one).all())
            two = np.full_like(one, np.nan)
        elif self.relation.unit in ("entry", "rating"):
            olds, news = self.container.fields(one), self.container.fields(two)
            at = draw(st.integers(0, max(min(len(olds), len(news)) - 1, 0)))
            assume(at < min(len(olds), len(news)))
            new = news[at]
            if self.container.matrix:
                removes = self.relation.kind == "add_or_remove_one"
                new = np.nan if removes else new
                assume(not np.isnan(olds[at]) and (removes or not np.isnan(new)))
            two = self.container.with_field(one, at, new)
        return [*base[:place], one, *base[place + 1 :]], [*base[:place], two, *base[place + 1 :]]

    def _user_change(self, draw: Any, base: list[Any]) -> Iterable[list[Any]]:
        from hypothesis import assume
        from hypothesis import strategies as st

        assume(base)
        user = self.container.user
        assert user is not None
        if self.container.fixed and len(base) == 1:  # a value is one user's
            return base, [self.donor(draw, 0)]
        whose = user(base[draw(st.integers(0, len(base) - 1))])
        rest = [record for record in base if user(record) != whose]
        if self.relation.kind == "add_or_remove_one":
            return base, rest
        other = self.container.records(draw(self.datasets))
        theirs = user(other[draw(st.integers(0, len(other) - 1))]) if other else assume(False)
        new = [_owned(record, user, whose, self.container) for record in other if user(record) == theirs]
        assume(all(record is not None for record in new))
        mine = [record for record in base if user(record) == whose]
        # Together on both sides: where they stood among the others' records is not replaced.
        place = next(at for at, record in enumerate(base) if user(record) == whose)
        return [*rest[:place], *mine, *rest[place:]], [*rest[:place], *new, *rest[place:]]

    def donor(self, draw: Any, place: int) -> Any:
        """A record that the strategy drew for this place."""
        from hypothesis import assume
        from hypothesis import strategies as st

        same_place = self.sizes[0] == self.sizes[1]
        if draw(st.integers(0, 1)):  # Hypothesis shrinks a choice of alternatives, as it takes this for
            known = place if same_place else 0
            assume(known < len(self.extremes))  # of the first datasets that were drawn, all may be short by chance
            return draw(st.sampled_from(self.extremes[known]))
        other = self.container.records(draw(self.datasets))
        assume(other)
        at = place if same_place else draw(st.integers(0, len(other) - 1))
        assume(at < len(other))
        return other[at]

    def built(self, records: list[Any], like: Any) -> Any:
        """The dataset of these records; None where the strategy is not known to give it."""
        if not self.sizes[0] <= len(records) <= self.sizes[1]:
            return None
        if any(not _is_distinct(records, test) for test in self.distinct):
            return None
        if self.ordered:
            try:
                records = sorted(records, key=_content)
            except TypeError:
                return None
        dataset = self.container.build(records, like)
        if self.everything is not None and dataset is not None and dataset_key(dataset) not in self.everything:
            return None
        return dataset


def _entry(container: Container, place: int) -> Callable[[Any], Any]:
    return lambda record: container.fields(record)[place]


def _width(container: Container, taken: Sequence[Sequence[Any]]) -> int:
    """How many entries every record has, 0 where they differ or there is one only, which is the record."""
    widths = {len(container.fields(record)) for records in taken for record in records}
    width = widths.pop() if len(widths) == 1 else 0
    return width if width > 1 else 0


def _content(record: Any) -> Any:
    """A record without its label: which place it has is no part of it."""
    return record.values if isinstance(record, Row) else record


def _is_distinct(records: Sequence[Any], test: Callable[[Any], Any]) -> bool:
    return len({dataset_key(test(record)) for record in records}) == len(records)


def _is_sorted(records: Sequence[Any]) -> bool:
    try:
        return all(bool(_content(one) <= _content(two)) for one, two in itertools.pairwise(records))
    except (TypeError, ValueError):
        return False


def _extremes(container: Container, records: Sequence[Any]) -> tuple[Any, ...]:
    """Records with the least, the largest or the longest of an entry that can be compared; the simplest first."""
    by_key = {dataset_key(_content(record)): record for record in records}
    chosen: dict[str, Any] = {}
    width = min((len(container.fields(record)) for record in by_key.values()), default=0)
    for place in range(width):
        sized = [(_size(container.fields(record)[place]), key) for key, record in by_key.items()]
        kept = [(size, key) for size, key in sized if size is not None]
        for _, key in (min(kept), max(kept)) if kept else ():
            chosen.setdefault(key, by_key[key])
    for key in sorted(by_key, key=lambda key: (len(key), key))[: max(EXTREMES - len(chosen), 0)]:
        chosen.setdefault(key, by_key[key])
    return tuple(chosen[key] for key in sorted(chosen, key=lambda key: (len(key), key)))


def _size(value: Any) -> float | None:
    """By which values are compared: numbers themselves, texts and collections by their length."""
    if isinstance(value, str | bytes | list | tuple | dict | set | frozenset):
        return float(len(value))
    try:
        size = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if np.isnan(size) else size


def _owned(record: Any, user: Callable[[Any], Any], whose: Any, container: Container) -> Any:
    """A record given to another user; None where its user is no entry that can be replaced."""
    if isinstance(record, tuple) and not hasattr(record, "_fields"):
        return (whose, *record[1:])
    if user(record) == whose:
        return record
    owned = (container.with_field(record, place, whose) for place in range(len(container.fields(record))))
    return next((changed for changed in owned if user(changed) == whose), None)
