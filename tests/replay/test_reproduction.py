"""Reproductions: the rules of every form, on numbers that decide them narrowly."""

import statistics
from typing import Any

import pytest
from flint import fmpq
from scipy import stats

from dpassay.replay import Rejected, check
from dpassay.replay.numbers import precision
from dpassay.replay.reproduction import student_quantile

RUNS = ["0.690", "0.700", "0.710", "0.705"]


@pytest.mark.parametrize(
    ("tail", "degrees"), [(fmpq(1, 40), 1), (fmpq(1, 2000), 3), (fmpq(1, 200), 942), (fmpq(2, 5), 9)]
)
def test_quantiles_agree_with_scipy(tail: fmpq, degrees: int) -> None:
    with precision():
        quantile = student_quantile(tail, degrees)
    expected = stats.t.isf(float(tail.p) / float(tail.q), degrees)
    assert float(quantile.p) / float(quantile.q) == pytest.approx(expected, rel=1e-9)


def cells(printed: str, readings: dict[str, list[Any]], **change: Any) -> dict[str, Any]:
    named = {reading: {"cell": runs} for reading, runs in readings.items()}
    return check(
        "reproduction",
        {"form": "cells", "confidence": "19/20", "printed": {"cell": printed}, "readings": named, **change},
    )


def test_a_printed_number_is_held_against_the_prediction_interval() -> None:
    values = [float(run) for run in RUNS]
    width = stats.t.isf(0.025, 3) * statistics.stdev(values) * (1 + 1 / 4) ** 0.5
    edge = statistics.mean(values) + width
    assert cells(f"{edge - 1e-6:.8f}", {"only": RUNS})["supports"] == "holds"
    assert cells(f"{edge + 1e-6:.8f}", {"only": RUNS})["supports"] == "refuted"
    # Half the last printed digit counts when it is larger, and alone when there is one run.
    assert cells("1", {"only": RUNS})["supports"] == "holds"
    assert cells("0.70", {"only": ["0.705"]})["supports"] == "holds"
    assert cells("0.70", {"only": ["0.7051"]})["supports"] == "refuted"
    # A higher confidence allows more.
    assert cells(f"{edge + 1e-6:.8f}", {"only": RUNS}, confidence="99/100")["supports"] == "holds"


def test_one_reading_suffices_and_all_must_fail() -> None:
    assert cells("0.7000", {"good": RUNS, "bad": ["0.9", "0.91"]})["supports"] == "holds"
    assert cells("0.7000", {"worse": ["0.1", "0.11"], "bad": ["0.9", "0.91"]})["supports"] == "refuted"
    both = {"printed": {"a": "0.70", "b": "0.80"}, "readings": {"half": {"a": RUNS}}}
    inputs = {"form": "cells", "confidence": "19/20", **both}
    assert check("reproduction", inputs)["supports"] == "open"
    inputs["readings"] = {"half": {"a": RUNS}, "whole": {"a": RUNS, "b": ["0.2", "0.21"]}}
    result = check("reproduction", inputs)
    assert result["supports"] == "open"
    assert result["readings"]["whole"]["outside"] == ["b"]


def orderings(*samples: tuple[str, list[Any]], confidence: str = "19/20") -> str:
    comparisons = {
        str(place): {"claimed": claimed, "differences": values} for place, (claimed, values) in enumerate(samples)
    }
    outcome: str = check("reproduction", {"form": "orderings", "confidence": confidence, "comparisons": comparisons})[
        "supports"
    ]
    return outcome


def test_orderings_follow_the_paired_intervals() -> None:
    up, down, unclear = ["1", "2", "3", "2"], ["-1", "-2", "-3", "-2"], ["1", "-1", "2", "-2"]
    assert orderings(("positive", up)) == "holds"
    assert orderings(("negative", up)) == "refuted"
    assert orderings(("positive", up), ("positive", unclear)) == "open"
    assert orderings(("positive", down), ("positive", unclear)) == "refuted"
    assert orderings(("zero", unclear)) == "open"
    assert orderings(("zero", up)) == "refuted"
    # A simultaneous or higher confidence needs wider intervals.
    assert orderings(("positive", up), confidence="999/1000") == "open"
    values = [float(value) for value in up]
    mean, error = statistics.mean(values), statistics.stdev(values) / 2
    level = 1 - 2 * stats.t.sf(mean / error, 3)
    assert orderings(("positive", up), confidence=f"{level - 1e-6:.8f}") == "holds"
    assert orderings(("positive", up), confidence=f"{level + 1e-6:.8f}") == "open"


def test_sums_stand_for_the_differences() -> None:
    listed = {"claimed": "positive", "differences": ["1", "2", "3", "2"]}
    summed = {"claimed": "positive", "count": 4, "sum": "8", "sum_of_squares": "18"}
    inputs = {"form": "orderings", "confidence": "19/20"}
    one, two = (check("reproduction", {**inputs, "comparisons": {"a": record}}) for record in (listed, summed))
    assert one == two
    with pytest.raises(Rejected, match="sum of squares"):
        check("reproduction", {**inputs, "comparisons": {"a": {**summed, "sum_of_squares": "15"}}})


def test_trends() -> None:
    def trend(*printed: str, spread: str = "0.02") -> str:
        row = [{"printed": number, "runs": ["0.7", f"{0.7 + float(spread)}", "0.7"]} for number in printed]
        outcome: str = check("reproduction", {"form": "trend", "confidence": "99/100", "rows": {"knn": row}})[
            "supports"
        ]
        return outcome

    assert trend("0.9", "0.8", "0.7") == "holds"
    assert trend("0.9", "0.7", "0.71") == "open"
    assert trend("0.9", "0.9", "0.7") == "open"
    assert trend("0.9", "0.7", "0.71", spread="0.0001") == "refuted"


@pytest.mark.parametrize(
    "inputs",
    [
        {"form": "table"},
        {"form": "cells", "confidence": "1", "printed": {"a": "1"}, "readings": {"r": {"a": [1]}}},
        {"form": "cells", "confidence": "19/20", "printed": {"a": 1}, "readings": {"r": {"a": [1]}}},
        {"form": "cells", "confidence": "19/20", "printed": {"a": "1e1"}, "readings": {"r": {"a": [1]}}},
        {"form": "cells", "confidence": "19/20", "printed": {"a": "1"}, "readings": {"r": {"b": [1]}}},
        {"form": "cells", "confidence": "19/20", "printed": {"a": "1"}, "readings": {"r": {"a": []}}},
        {"form": "cells", "confidence": "19/20", "printed": {"a": "1"}, "readings": {"r": {"a": [1.5]}}},
        {"form": "cells", "confidence": "19/20", "printed": {"a": "1"}, "readings": {}},
        {"form": "orderings", "confidence": "19/20", "comparisons": {}},
        {"form": "orderings", "confidence": "19/20", "comparisons": {"a": {"claimed": "up", "differences": [1, 2]}}},
        {"form": "orderings", "confidence": "19/20", "comparisons": {"a": {"claimed": "zero", "differences": [1]}}},
        {"form": "trend", "confidence": "19/20", "rows": {"a": [{"printed": "1", "runs": [1, 2]}]}},
        {"form": "trend", "confidence": "19/20", "rows": {"a": [{"printed": "1", "runs": [1]}] * 2}},
    ],
)
def test_unusable_reproductions_are_rejected(inputs: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        check("reproduction", inputs)
