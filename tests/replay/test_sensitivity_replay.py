"""Sensitivities proved again from the text: what is true is, what is false or undefined or not understood is not."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import dpassay as dp
from dpassay.core.certificate import read
from dpassay.replay import PROGRAM, Rejected, computed, replay, seal

REPLACE, ADD = "replace_one:entry", "add_or_remove_one:entry"
TOTAL = "return sum(data)"
CLIPPED = "return sum(min(max(x, low), high) for x in data) / len(data)"
VARIANCE = """m = sum(data) / len(data)
    return sum((x - m) ** 2 for x in data) / len(data)"""
LARGEST = """best = data[0]
    for x in data:
        if x > best:
            best = x
    return best"""
COUNTED = """count = 0
    for i, x in enumerate(data):
        if i == 0:
            continue
        if x > 0.5:
            count += 1
    return count"""
PAIRS = """total = 0
    for i in range(len(data) - 1):
        total += data[i] * data[i + 1]
    return total"""
HELPED = """return part(data) + part(data)


def part(values):
    if len(values) < 2:
        return 0
    return max(values) / 2"""
SHARE = """if len(data) == 0:
        return 0
    return sum(x > 0.5 for x in data) / len(data)"""


def inputs(body: str, bound: str, kind: str = REPLACE, bounds: Any = ("0", "1"), **more: Any) -> dict[str, Any]:
    """Of a function f(data, ...) with this body."""
    parameters = more.get("parameters", {})
    text = f"import math\nimport numpy as np\n\n\ndef f({', '.join(['data', *parameters])}):\n    {body}\n"
    return {
        "program": {"text": text, "entry": "f", "data": more.get("data", "list")},
        "parameters": parameters,
        "relation": {"kind": kind, "bounds": bounds},
        "assume": more.get("assume", []),
        "bound": bound,
    }


CLIPS: dict[str, Any] = {"bounds": None, "parameters": {"low": "real", "high": "real"}, "assume": ["low < high"]}
TRUE: list[tuple[str, str, dict[str, Any]]] = [
    (TOTAL, "1", {}),
    (TOTAL, "3", {"bounds": ("-2", "3"), "kind": ADD}),
    (CLIPPED, "(high - low)/n", CLIPS),
    (VARIANCE, "(n - 1)/n**2", {}),
    (LARGEST, "1", {}),
    (COUNTED, "1", {}),
    (PAIRS, "2", {}),
    (HELPED, "1", {}),
    ("return max(data) - min(data)", "1", {"kind": ADD, "assume": ["n >= 1"]}),
    ("return sorted(data)[len(data) // 2]", "1", {}),
    ("return sorted(data)[0]", "1", {"kind": ADD, "assume": ["n >= 1"]}),
    ("return math.sqrt(sum(x * x for x in data))", "1", {}),
    ("return sum(math.exp(x) for x in data)", "E - 1", {}),
    ("return sum(k * x for x in data)", "Abs(k)", {"parameters": {"k": "int"}}),
    ("return sum(data[2 * i] for i in range(len(data) // 2))", "1", {}),
    ("return math.prod(1 - x for x in data)", "1", {"kind": ADD}),
    ("return (data * data).sum()", "1", {"data": "array"}),
    (SHARE, "1", {"kind": ADD}),
]


@pytest.mark.parametrize(("body", "bound", "more"), TRUE)
def test_a_true_bound_is_proved_and_no_smaller_one(body: str, bound: str, more: dict[str, Any]) -> None:
    result = computed("sensitivity", inputs(body, bound, **more))
    assert result["supports"] == "holds"
    assert f"at most {bound} " in result["statement"]
    with pytest.raises(Rejected, match="not proved"):
        computed("sensitivity", inputs(body, f"0.97*({bound})", **more))


_K: dict[str, Any] = {"parameters": {"k": "int"}}
FALSE: list[tuple[str, str, dict[str, Any]]] = [
    (SHARE, "1/2", {"kind": ADD}),  # no entry beside one
    ("return sum(data) + data[0]", "1", {}),
    ("return data[-1] + sum(data)", "1", {}),
    ("return sum(data[i - i // 2] for i in range(len(data)))", "1", {}),  # one entry twice
    ("return sum(data[i] + data[len(data) - 1 - i] for i in range(len(data)))", "1", {}),
    ("return sum(x for x in data) * len(data)", "n", {"kind": ADD}),
    ("return sum(i * x for i, x in enumerate(data))", "1", {}),
    (LARGEST, "0", {}),
    ("return 1 / sum(data)", "1000*n", {}),
    ("return math.log(sum(data))", "1000*n", {}),
    ("return sum(x / x for x in data) * 0", "1", {}),
    ("return data[len(data)]", "1", {}),
    ("return data[1]", "1", {}),
    ("return max(data)", "1", {"kind": ADD}),
    ("assert sum(data) > 0\n    return 1", "1", {}),
    ("unused = 1 / sum(data)\n    return 1", "1", {}),
    ("if data[0] > 0.5:\n        return 1 / (data[0] - 0.25)\n    return 1 / data[0]", "1000", {}),
    ("return sum(data) % 1", "0.9", {}),
    ("return 1", "1/(n - 1)", {}),
    ("return sum(data)", "(n - 1)/(n - 1)", {}),
    ("return sum(data)", "1", {"bounds": None}),
    # numpy's truth values add up to a truth value
    ("p = data > 0.5\n    return np.sum(p + p - 2 * p)", "0", {"data": "array"}),
    ("p = data > 0.5\n    q = p * p\n    return np.sum(q + q - 2 * q)", "0", {"data": "array"}),
    ("q = np.abs(data > 0.5)\n    return np.sum(q + q - 2 * q)", "0", {"data": "array"}),
    ("p = np.max(data > 0.5)\n    return p + p - 2 * p", "0", {"data": "array"}),
    ("p = np.max(data > 0.5)\n    q = p if k > 0 else 3\n    return q + q - 2 * q", "0", {"data": "array", **_K}),
    # a sum of less than no terms, where it is not reached
    ("if k >= 0:\n        return sum(math.sqrt(i) for i in np.arange(k))\n    return sum(data)", "0", _K),
    ("return np.where(sum(data) > 0, 1 / sum(data), 0) * 0", "0", {}),
]


@pytest.mark.parametrize(("body", "bound", "more"), FALSE)
def test_what_is_false_or_undefined_is_not_proved(body: str, bound: str, more: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        computed("sensitivity", inputs(body, bound, **more))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"assume": ["n > 3", "n < 2"]}, "nothing is known"),
        ({"assume": ["n / 2"]}, "no condition"),
        ({"assume": ["m > 1"]}, "not understood"),
        ({"bound": "sum(data)"}, "not understood"),
        ({"relation": {"kind": "replace_one:entry", "bounds": ["1", "1"]}}, "neighbors"),
        ({"relation": {"kind": "other", "bounds": None}}, "unknown relation"),
        ({"parameters": {"x": "real"}}, "parameters"),
        (
            {"program": {"text": "def f(data):\n    data.sort()\n    return data[0]", "entry": "f", "data": "list"}},
            "understood",
        ),
        ({"program": {"text": TOTAL, "entry": "f", "data": "list"}}, "understood"),
        ({"norm": "l2"}, "unknown fields"),
    ],
)
def test_inputs_that_say_something_else(change: dict[str, Any], words: str) -> None:
    with pytest.raises(Rejected, match=words):
        computed("sensitivity", {**inputs(TOTAL, "1"), **change})


def halves(data, weight):
    total = 0
    for x in data:
        if x > 0.5:
            total += weight
    return total / 2


def test_a_certificate_replays_and_none_of_its_parts_can_be_changed(tmp_path: Path) -> None:
    found = dp.sensitivity(halves, assume=["weight >= 0"])
    assert (found.outcome, found.level, found.unchecked) == ("holds", "whole", "")
    assert "proved again from the source" in str(found)
    path = tmp_path / "certificate.json"
    found.write_certificate(path)
    replayed = replay(path)
    assert (replayed.checks, replayed.outcome, replayed.claim) == (True, "holds", PROGRAM)
    written = read(path)
    given = written.inputs
    changes = [
        (
            "program",
            {**given["program"], "text": given["program"]["text"].replace("/ 2", "/ 1")},
        ),
        ("relation", {"kind": REPLACE, "bounds": ["0", "1/4"]}),
        ("bound", "weight/4"),
        ("bound", "weight"),
        ("assume", []),
        ("assume", ["weight >= 1"]),
    ]
    for name, value in changes:
        dataclasses.replace(written, inputs={**given, name: value}).write(path)
        assert not replay(path).checks, name
    for name, value in (changes[0], changes[2], changes[4]):  # nor where all else is made to agree
        with pytest.raises(Rejected, match="not proved"):
            seal(PROGRAM, written.statement, "sensitivity", {**given, name: value})


def by_key(data):
    return sum(sorted(data)[1:-1])


def test_what_is_not_proved_again_says_so(tmp_path: Path) -> None:
    found = dp.sensitivity(by_key)
    assert (found.outcome, found.level) == ("holds", "steps")
    assert "not proved again from the source" in str(found)
    with pytest.raises(dp.InvalidInput, match="no certificate"):
        found.write_certificate(tmp_path / "certificate.json")
