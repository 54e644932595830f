"""Exact distances, and certificates of pairs that break a declared stability."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpassay.core.certificate import Certificate, checksum
from dpassay.replay import Rejected, check, replay, seal_own
from dpassay.replay.distances import METRICS, NoDistance, distance
from dpassay.replay.stability import decoded, encoded
from dpassay.report.schema import validate_certificate

NAN, INF = math.nan, math.inf
INPUTS: dict[str, Any] = {
    "map": "total",
    "input_metric": "insert_delete",
    "output_metric": "absolute",
    "d_in": "1",
    "d_out": "4",
    "dataset1": [1],
    "dataset2": [1, 5],
    "output1": 1,
    "output2": 6,
}


@pytest.mark.parametrize(
    ("metric", "one", "two", "expected"),
    [
        ("symmetric", [1, 2, 2], [2, 3], 3),
        ("symmetric", [1, 2], [2, 1], 0),
        ("insert_delete", [1, 2], [2, 1], 2),
        ("insert_delete", [1, 2, 3, 4, 5], [1, 9, 2, 3, 5], 2),
        ("change_one", [1, 2, 3], [3, 1, 4], 1),
        ("change_one", [1], [1, 2], INF),
        ("hamming", [1, 2, 3], [3, 2, 1], 2),
        ("hamming", [1], [], INF),
        ("entries", [[1, 2], [3, 4]], [[1, 2], [3, 5]], 1),
        ("users_added", [["a", 1], ["b", 2]], [["b", 2]], 1),
        ("users_added", [["a", 1], ["a", 2]], [["a", 1]], INF),
        ("users_replaced", [["a", 1], ["b", 2]], [["a", 3], ["b", 2]], 1),
        ("users_replaced", [["a", 1]], [], INF),
        ("absolute", 0.1, Fraction(1, 10), abs(Fraction(0.1) - Fraction(1, 10))),
        ("absolute", 2**53, 2.0**53 + 2, 2),
        ("absolute", 5e-324, 0.0, Fraction(1, 2**1074)),
        ("absolute", NAN, NAN, 0),
        ("absolute", NAN, 0.0, INF),
        ("absolute", INF, INF, 0),
        ("absolute", INF, -INF, INF),
        ("absolute", None, 0, INF),
        ("l1", [1, 2], [3, 0.5], Fraction(7, 2)),
        ("l1", [1, [2]], [1, [4]], 2),
        ("l1", [1], [1, 0], INF),
        ("l1", {"a": 1}, {"b": 2}, 3),
        ("l2", [0, 0], [3, 4], 25),
        ("linf", [0, 0], [3, -4], 4),
        ("linf_monotonic", [0, 0], [3, 4], 4),
        ("linf_monotonic", [0, 0], [3, -4], INF),
        ("discrete", "a", "b", 1),
    ],
)
def test_distances_are_exact_and_symmetric(metric, one, two, expected):
    assert metric in METRICS
    assert distance(metric, one, two) == distance(metric, two, one) == expected


@pytest.mark.parametrize(
    ("metric", "one", "two"), [("absolute", "a", 1), ("absolute", [1], [2]), ("symmetric", 1, 2), ("nonsense", 1, 1)]
)
def test_what_has_no_distance(metric, one, two):
    with pytest.raises(NoDistance):
        distance(metric, one, two)


@pytest.mark.parametrize(
    "value", [None, True, 3, -0.0, 0.1, 5e-324, INF, -INF, NAN, Fraction(1, 3), "a", [1, ["b"]], {"k": 1.5, 2: "x"}]
)
def test_values_survive_a_file(value):
    assert repr(decoded(json.loads(json.dumps(encoded(value))))) == repr(value)


def replays(content: dict[str, Any], folder: Path) -> Any:
    content["sha256"] = checksum(content)
    (folder / "certificate.json").write_text(json.dumps(content))
    return replay(folder / "certificate.json")


def sealed() -> dict[str, Any]:
    return seal_own("stability", INPUTS).to_json()


def test_a_certificate_replays_and_says_what_it_cannot_show(tmp_path):
    content = sealed()
    validate_certificate(content)
    found = replays(content, tmp_path)
    assert (found.checks, found.outcome) == (True, "refuted")
    assert "5 apart" in found.reason
    assert "only the map itself can show" in found.reason


@pytest.mark.parametrize(
    "change",
    [
        {"d_out": "5"},  # no violation any longer
        {"d_in": "0"},  # no neighbors
        {"d_in": "2"},  # another claim than the statement's
        {"dataset1": []},  # two records apart
        {"output2": 7},  # another distance than stated
        {"output2": 5},
        {"map": "another"},
        {"output_metric": "l2"},
        {"input_metric": "hamming"},
        {"d_out": "-1"},
        {"output1": {"float": "1/3"}},
        {"output1": {"raises": "ValueError"}},
        {"more": 1},
    ],
)
def test_a_changed_certificate_does_not_check(change, tmp_path):
    content = sealed()
    content["inputs"] = {**content["inputs"], **change}
    assert not replays(content, tmp_path).checks


@pytest.mark.parametrize(
    ("change", "message"),
    [({"d_out": 5}, "outputs are 5 apart, no more"), ({"dataset1": []}, "datasets are 2 apart, more than 1")],
)
def test_a_pair_that_refutes_nothing_is_refused(change, message):
    with pytest.raises(Rejected, match=message):
        check("stability", {**INPUTS, **change})


def test_it_is_filed_under_no_other_claim(tmp_path):
    other = Certificate("AUDIT", check("stability", INPUTS)["statement"], "stability", INPUTS, sealed()["result"])
    assert not replays(other.to_json(), tmp_path).checks


def test_an_exception_on_both_sides_tells_nothing():
    raised = {"raises": "ValueError"}
    assert check("stability", {**INPUTS, "output1": raised})["distance_out"] == "inf"
    with pytest.raises(Rejected, match="no more than"):
        check("stability", {**INPUTS, "output1": raised, "output2": raised})
