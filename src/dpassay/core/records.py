"""What a reader is shown beside a text: tables and plots, as plain records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal


class _Record:
    """A record whose JSON has its fields by name, those that differ from their default."""

    def to_json(self) -> dict[str, Any]:
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}  # type: ignore[arg-type]
        return {name: plain(value) for name, (value, default) in values.items() if value != default}


@dataclass(frozen=True)
class Table(_Record):
    """A table.

    Attributes:
        title: what it shows, in words.
        columns: their names.
        rows: cells of each, strings or numbers, as many as there are columns.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, title: str, cells: Mapping[str, Callable[[Any], Any]], records: Iterable[Any]) -> "Table":
        """One row for each record; `cells` says under the name of every column what the record shows there."""
        return cls(title, list(cells), [[cell(record) for cell in cells.values()] for record in records])


@dataclass(frozen=True)
class Series(_Record):
    """A line or points of a plot, one entry of each list a point.

    Attributes:
        label: what it is, in words.
        x: numbers, or names when one of them is no number.
        y: numbers; None or infinity leaves a gap.
        low, high: ends of the intervals around y.
        shape: "steps" for a histogram by its left edges, the last one closing it.
    """

    label: str
    x: Sequence[Any]
    y: Sequence[Any]
    low: Sequence[Any] | None = None
    high: Sequence[Any] | None = None
    shape: Literal["steps"] | None = None


@dataclass(frozen=True)
class Plot(_Record):
    """A plot.

    Attributes:
        title, x_label, y_label: what it shows, in words.
        series: its lines.
        x_scale, y_scale: "log" for a logarithmic axis.
        marks: lines across, each {"axis", "at", "label"}.
        shaded: ranges of x, each {"low", "high", "label"}.
    """

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_scale: Literal["log"] | None = None
    y_scale: Literal["log"] | None = None
    marks: Sequence[Mapping[str, Any]] = ()
    shaded: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Plot":
        """The plot that `to_json` wrote."""
        return cls(**{**content, "series": [Series(**one) for one in content["series"]]})


def plain(value: Any) -> Any:
    """The value with every record in its mappings, lists and tuples as JSON."""
    if isinstance(value, _Record):
        return value.to_json()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
