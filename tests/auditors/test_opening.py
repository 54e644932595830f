"""Outputs of every ordinary kind are looked at: a loss of 10 nats inside them is found, or they are refused."""

import dataclasses
import datetime as dt
import enum
import json
import types
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpassay as dp
from dpassay.auditors.opening import opened, split_text
from dpassay.auditors.outputs import fit_encoder
from dpassay.core.errors import InvalidInput


@dataclasses.dataclass
class Report:
    total: float
    label: str = "sum"


class Slotted:
    __slots__ = ("total",)

    def __init__(self, total):
        self.total = total


class Plain:
    def __init__(self, total):
        self.inner = types.SimpleNamespace(total=total)

    def __repr__(self):
        return "Plain()"  # hides what it holds


class Answer(enum.Enum):
    YES = "yes"
    NO = "no"


class Attrs:
    """As the attrs library makes them: fields in slots or in the dictionary."""

    __attrs_attrs__ = ()

    def __init__(self, total):
        self.total = total


START = dt.datetime(2026, 1, 1)
KINDS: dict[str, Callable[[float], object]] = {
    "dataclass": Report,
    "slots": Slotted,
    "object": Plain,
    "attrs": Attrs,
    "namespace": lambda x: types.SimpleNamespace(total=x),
    "frame": lambda x: pd.DataFrame({"total": [x]}, index=["all"]),
    "series": lambda x: pd.Series({"total": x}),
    "series of numbers": lambda x: pd.Series([x]),
    "pandas time": lambda x: pd.Timestamp(START) + pd.Timedelta(seconds=x),
    "decimal": lambda x: Decimal(repr(x)),
    "fraction": Fraction,
    "time": lambda x: START + dt.timedelta(seconds=x),
    "aware time": lambda x: (START + dt.timedelta(seconds=x)).replace(tzinfo=dt.UTC),
    "date": lambda x: START.date() + dt.timedelta(days=round(10 * x)),
    "duration": lambda x: dt.timedelta(seconds=x),
    "json": lambda x: json.dumps({"count": x, "tags": ["a"]}),
    "text": lambda x: f"count is {x}",
    "text of a whole number": lambda x: f"count is {round(100 * x)}.",
    "deque": lambda x: deque([x]),
    "nested": lambda x: {"m": {"income": [np.float32(x)]}},
    "bytes": lambda x: str(x).encode(),
    "enum": lambda x: Answer.YES if x > 5 else Answer.NO,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_inside_an_ordinary_output_is_found(kind):
    wrap = KINDS[kind]

    def mechanism(rng, data):
        return wrap(float(data + rng.laplace()))

    assert dp.audit(mechanism, 0, 10, epsilon=1.0, num_samples=1500).outcome == "refuted"


@pytest.mark.parametrize("kind", KINDS)
def test_equal_laws_of_any_kind_are_not_accused(kind):
    wrap = KINDS[kind]
    verdict = dp.audit(lambda rng, data: wrap(float(rng.laplace())), 0, 10, epsilon=0.1, num_samples=1500)
    assert verdict.outcome == "not refuted"


@pytest.mark.parametrize(
    "wrap",
    [lambda x: (value for value in [x]), lambda x: iter([x]), lambda x: lambda: x, lambda x: types, lambda x: object],
    ids=["generator", "iterator", "function", "module", "class"],
)
def test_what_cannot_be_read_is_refused(wrap):
    with pytest.raises(InvalidInput, match="return the values themselves"):
        dp.audit(lambda rng, data: wrap(data + rng.laplace()), 0, 10, epsilon=1.0, num_samples=200)


@pytest.mark.parametrize("wrap", [lambda x: pd.Series([1.0], index=[x]), lambda x: pd.DataFrame({x: [1.0]})])
def test_labels_of_tables_are_outputs_too(wrap):
    assert dp.audit(lambda rng, data: wrap(data), "a", "b", epsilon=1.0, num_samples=500).outcome == "refuted"


def test_an_output_that_holds_itself_is_refused():
    def mechanism(rng, data):
        output = types.SimpleNamespace(total=data + rng.laplace())
        output.parent = output
        return output

    with pytest.raises(InvalidInput, match="holds itself"):
        dp.audit(mechanism, 0, 10, epsilon=1.0, num_samples=200)


def test_events_are_named_by_fields():
    verdict = dp.audit(lambda rng, data: Report(data + rng.laplace()), 0, 10, epsilon=1.0, num_samples=1500)
    assert "output.total" in verdict.explanation


def test_warnings_name_what_has_no_column():
    rng = np.random.default_rng(0)
    from dpassay.auditors.outputs import fit_encoder

    texts = [f"count is {x}" for x in rng.normal(size=200)]
    assert "not by how they are written" in " ".join(fit_encoder(texts, texts).warnings)
    ragged = [[0.0] * size for size in (1, 300)]
    assert "only the first" in " ".join(fit_encoder(ragged, ragged).warnings)


def test_values_are_opened_one_level_deep():
    assert opened(Report(1.5)) == {".total": 1.5, ".label": "sum"}
    assert opened(Slotted(2)) == {".total": 2}
    assert opened(Decimal("0.5")) == 0.5
    assert np.isnan(opened(Decimal("sNaN")))
    assert opened(Fraction(10) ** 400) == float("inf")
    assert opened('{"a": [1, 2]}') == {"a": [1, 2]}
    assert opened("{not json}") == "{not json}"
    assert opened(dt.timedelta(minutes=1)) == 60
    assert opened(deque([1, 2])) == [1, 2]
    assert str(opened(object())) == "is a object"


@pytest.mark.parametrize(
    ("text", "pattern", "numbers"),
    [
        ("count is -12.5e3", "count is #", (-12500.0,)),
        ("2026-11-23", "#-#-#", (2026, 11, 23)),
        ("user12 won", "user# won", (12,)),
        ("no number", "no number", ()),
        ("1e400", "#", (float("inf"),)),
    ],
)
def test_numbers_in_texts(text, pattern, numbers):
    assert split_text(text) == (pattern, numbers)


def test_columns_and_rows_of_tables_are_named_as_one_reaches_them():
    frame = pd.DataFrame({"mean": [1.0, 2.0], "kind": ["x", "y"]}, index=["a", "b"])
    series = pd.Series({"alice": 1.0, "bob": 2.0})
    assert {"output['alice']", "output['bob']"} <= {*fit_encoder([series, series * 2], [series, series]).names}
    moved = frame.set_axis(["a", "c"])
    names = fit_encoder([frame, moved], [frame, frame]).names
    assert {"output['mean'][0]", "output['mean'][1]", "output['kind'][1] is 'y'", "output.index[1] is 'c'"} <= {*names}
