"""Recomputes what a reproduction's runs say about published numbers, orderings and trends.

Inputs (numbers are integers or strings "3", "1/2", "0.25", "2.5e-05"; there are no other fields). All have "form",
"confidence" (of all intervals together, in (0, 1); split evenly, Bonferroni) and may have "description" (the protocol).

form "cells": are printed numbers what the described experiment gives?
    "printed": {cell: "0.6956"}, the digits as printed
    "readings": {reading: {cell: [number of run 1, of run 2, ...]}}, one number per seed; a reading is one way to
        understand the protocol and may lack cells
  A cell is inside when its printed number differs from the mean of the m runs by at most the larger of half its last
  printed digit and the half-width of the prediction interval for one further run, t s sqrt(1 + 1/m) (Student's t,
  m - 1 degrees of freedom; with one run only the half digit counts). Supports "holds" if one reading has every cell and
  all inside, "refuted" if every reading has a cell outside, else "open".

form "orderings": do paired differences lie on the claimed side of 0?
    "comparisons": {name: {"claimed": "positive", "negative" or "zero", and either "differences": [number, ...] or
        "count", "sum", "sum_of_squares" of them}}
  The interval is mean -/+ t s / sqrt(count). Supports "refuted" if one interval lies on the other side of 0 (for
  "zero": on either), "holds" if each lies on the claimed side, else "open"; an interval never shows "zero".
  A comparison without differences lacks runs, and decides nothing. Or "readings": {reading: comparisons}: supports
  "holds" if one reading does, "refuted" if every reading does, else "open".

form "trend": do printed numbers decrease along each row?
    "rows": {row: [{"printed": "0.8065", "runs": [number, ...]}, ...]}, in the claimed order
  Supports "holds" if each row decreases throughout, "refuted" if a rise between successive numbers exceeds what two
  single runs differ by, t sqrt(s1^2 + s2^2) with the smaller number of degrees of freedom, else "open".

The quantiles of Student's t are found by bisection on Arb enclosures of the incomplete beta function, rounded up at 12
places; every comparison is then one of exact rationals.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.numbers import down, fields, integer, precision, rational, root, show, up

_PLACES = 10**12
_SHOWN = 20


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes the summary of every run, and the outcome by the rule of its form."""
    ordered = "readings" if "readings" in inputs else "comparisons"
    forms = {"cells": (_cells, ("printed", "readings")), "orderings": (_orderings, (ordered,))}
    forms["trend"] = (_trend, ("rows",))
    form = inputs["form"]
    if form not in forms:
        raise Rejected(f"unknown form {form!r}; known are {', '.join(forms)}")
    judge, required = forms[form]
    fields(inputs, f"a reproduction of {form}", ("form", "confidence", *required), ("description",))
    confidence = rational(inputs["confidence"])
    if not 0 < confidence < 1:
        raise Rejected("confidence must lie strictly between 0 and 1")
    with precision():
        return {
            **judge(inputs, 1 - confidence),
            "form": form,
            "confidence": show(confidence),
            "description": str(inputs.get("description", "")),
        }


@functools.cache
def student_quantile(tail: fmpq, degrees: int) -> fmpq:
    """Smallest t, to 12 places, with Pr[T > t] certainly at most `tail` (Student's t with `degrees` of freedom)."""

    def certain(place: int) -> bool:
        t = fmpq(place, _PLACES)
        both = arb(degrees / (degrees + t * t)).beta_lower(arb(fmpq(degrees, 2)), arb(fmpq(1, 2)), True)
        return bool(both <= 2 * tail)

    high = _PLACES
    while not certain(high):
        high *= 2
    low = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certain(middle) else (middle, high)
    return fmpq(high, _PLACES)


@dataclass(frozen=True)
class _Sample:
    """Count, mean and variance (with count - 1) of some numbers, exact."""

    count: int
    mean: fmpq
    variance: fmpq

    @classmethod
    def of(cls, numbers: Sequence[Any]) -> "_Sample":
        values = [rational(number) for number in numbers]
        return cls.from_sums(len(values), sum(values, fmpq(0)), sum((value * value for value in values), fmpq(0)))

    @classmethod
    def from_sums(cls, count: int, total: fmpq, squares: fmpq) -> "_Sample":
        if count < 1:
            raise Rejected("a sample needs at least one number")
        variance = (squares - total * total / count) / (count - 1) if count > 1 else fmpq(0)
        if variance < 0:
            raise Rejected("the sum of squares is too small for the sum")
        return cls(count, total / count, variance)

    def text(self) -> dict[str, Any]:
        deviation = root(self.variance)
        return {"count": self.count, "mean": down(self.mean, _SHOWN), "standard_deviation": down(deviation, _SHOWN)}


def _cells(inputs: Mapping[str, Any], failure: fmpq) -> dict[str, Any]:
    printed: Mapping[str, Any] = inputs["printed"]
    if not printed or not inputs["readings"]:
        raise Rejected("needs at least one printed number and one reading")
    tail = failure / (2 * len(printed))
    readings, whole, outside = {}, [], []
    for reading, runs in sorted(inputs["readings"].items()):
        if set(runs) - set(printed):
            raise Rejected(f"reading {reading!r} has cells that are not printed: {sorted(set(runs) - set(printed))}")
        cells = {cell: _cell(printed[cell], numbers, tail) for cell, numbers in runs.items()}
        missed = sorted(cell for cell, entry in cells.items() if not entry["inside"])
        readings[reading] = {"cells": cells, "inside": len(cells) - len(missed), "outside": missed}
        if missed:
            outside.append(reading)
        elif len(cells) == len(printed):
            whole.append(reading)
    supports = "holds" if whole else "refuted" if len(outside) == len(readings) else "open"
    counts = "; ".join(f"{name}: {entry['inside']} of {len(printed)} inside" for name, entry in readings.items())
    return {"supports": supports, "readings": readings, "summary": f"printed numbers against our runs, {counts}"}


def _cell(printed: str, runs: Sequence[Any], tail: fmpq) -> dict[str, Any]:
    if not isinstance(printed, str) or "e" in printed or "/" in printed:
        raise Rejected(f"{printed!r}: write a printed number as a string with the digits printed")
    digits = len(printed.partition(".")[2])
    half = fmpq(1, 2 * 10**digits)
    sample = _Sample.of(runs)
    square = half * half
    if sample.count > 1:
        quantile = student_quantile(tail, sample.count - 1)
        square = max(square, quantile**2 * sample.variance * (1 + fmpq(1, sample.count)))
    inside = bool((rational(printed) - sample.mean) ** 2 <= square)
    return {"printed": printed, **sample.text(), **_interval(sample.mean, square), "inside": inside}


def _interval(mean: fmpq, square: fmpq) -> dict[str, str]:
    """The ends of an interval around a mean, from the square of half its width."""
    width = root(square)
    return {"low": down(mean - width, 10), "high": up(mean + width, 10)}


def _orderings(inputs: Mapping[str, Any], failure: fmpq) -> dict[str, Any]:
    readings: Mapping[str, Mapping[str, Any]] = inputs.get("readings") or {"": inputs["comparisons"]}
    if not all(readings.values()):
        raise Rejected("needs at least one comparison")
    tail = failure / (2 * sum(map(len, readings.values())))
    found = {name: _ordered(comparisons, tail) for name, comparisons in sorted(readings.items())}
    if "readings" not in inputs:
        return found[""]
    for name, entry in found.items():
        if all(each["side"] == "lacks runs" for each in entry["comparisons"].values()):
            raise Rejected(f"no comparison of {name} has two runs")
    outcomes = {entry["supports"] for entry in found.values()}
    return {
        "supports": "holds" if "holds" in outcomes else "refuted" if outcomes == {"refuted"} else "open",
        "readings": found,
        "summary": "; ".join(f"{name}: {entry['summary']}" for name, entry in found.items()),
    }


def _ordered(comparisons: Mapping[str, Any], tail: fmpq) -> dict[str, Any]:
    entries = {name: _comparison(name, record, tail) for name, record in sorted(comparisons.items())}
    open_sides = ("undecided", "lacks runs")
    wrong = [name for name, e in entries.items() if e["side"] not in open_sides and e["side"] != e["claimed"]]
    right = [name for name, e in entries.items() if e["side"] == e["claimed"]]
    supports = "refuted" if wrong else "holds" if len(right) == len(entries) else "open"
    named = f" ({', '.join(wrong[:4])}{', ...' if len(wrong) > 4 else ''})" if wrong else ""
    return {
        "supports": supports,
        "comparisons": entries,
        "summary": f"of {len(entries)} intervals {len(right)} on the claimed side of 0, {len(wrong)} on another{named}",
    }


def _comparison(name: str, record: Mapping[str, Any], tail: fmpq) -> dict[str, Any]:
    sums = ("count", "sum", "sum_of_squares")
    fields(record, f"comparison {name}", ("claimed", *(sums if "count" in record else ("differences",))))
    if record["claimed"] not in ("positive", "negative", "zero"):
        raise Rejected(f"claimed is {record['claimed']!r}: use positive, negative or zero")
    if not record.get("differences", True):
        return {"claimed": record["claimed"], "side": "lacks runs"}
    if "count" in record:
        count = integer(record["count"], "count", at_least=2)
        sample = _Sample.from_sums(count, rational(record["sum"]), rational(record["sum_of_squares"]))
    else:
        sample = _Sample.of(record["differences"])
    if sample.count < 2:
        raise Rejected(f"comparison {name} needs at least two differences")
    square = student_quantile(tail, sample.count - 1) ** 2 * sample.variance / sample.count
    side = "undecided"
    if sample.mean * sample.mean > square:
        side = "positive" if sample.mean > 0 else "negative"
    return {"claimed": record["claimed"], "side": side, **sample.text(), **_interval(sample.mean, square)}


def _trend(inputs: Mapping[str, Any], failure: fmpq) -> dict[str, Any]:
    rows: Mapping[str, Sequence[Mapping[str, Any]]] = inputs["rows"]
    steps = sum(len(row) - 1 for row in rows.values())
    if not rows or any(len(row) < 2 for row in rows.values()):
        raise Rejected("needs at least one row, each of at least two numbers")
    tail = failure / (2 * steps)
    entries: dict[str, Any] = {}
    rises, excessive = [], []
    for name, row in sorted(rows.items()):
        for cell in row:
            fields(cell, f"a cell of row {name}", ("printed", "runs"))
        samples = [_Sample.of(cell["runs"]) for cell in row]
        if any(sample.count < 2 for sample in samples):
            raise Rejected(f"row {name} needs at least two runs of each number")
        numbers = [rational(cell["printed"]) for cell in row]
        for place in range(1, len(row)):
            rise = numbers[place] - numbers[place - 1]
            before, after = samples[place - 1], samples[place]
            allowed = student_quantile(tail, min(before.count, after.count) - 1) ** 2 * (
                before.variance + after.variance
            )
            if rise >= 0:
                rises.append(f"{name} {place}")
                if rise * rise > allowed:
                    excessive.append(f"{name} {place}")
        entries[name] = [
            {"printed": show(number), **sample.text()} for number, sample in zip(numbers, samples, strict=True)
        ]
    supports = "refuted" if excessive else "open" if rises else "holds"
    return {
        "supports": supports,
        "rows": entries,
        "rises": rises,
        "excessive": excessive,
        "summary": f"of {steps} steps {len(rises)} do not decrease, {len(excessive)} by more than two runs differ",
    }
