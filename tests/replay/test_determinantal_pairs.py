"""The enumeration of all small binary databases of a determinantal process."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpassay.replay import Rejected, check

INPUTS: dict[str, Any] = {
    "items": 2,
    "subjects": 2,
    "jitter": "1/2",
    "relation": "add_or_remove_one",
    "size": 0,
    "largest": "7/3",
    "supports": "holds",
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**INPUTS, **fields}


def test_by_hand() -> None:
    """Two items, s = 1/2, nobody else: the empty set has probability 4/9, 4/21 after a reader of both joined."""
    result = check("determinantal", INPUTS)
    assert Fraction(result["largest"]) == Fraction(4, 9) / Fraction(4, 21)
    assert result["attained"]["row"] == [1, 1]
    assert result["attained"]["common_rows"] == []
    assert result["datasets"] == 10
    assert result["pairs"] == 30
    assert result["supports"] == "holds"


@pytest.mark.parametrize(("relation", "size"), [("add_or_remove_one", 0), ("replace_one", 0), ("replace_one", 2)])
def test_agrees_with_numpy(relation: str, size: int) -> None:
    items, jitter = 3, 0.25
    rows = list(itertools.product((0, 1), repeat=items))
    outputs = [y for k in range(items + 1) for y in itertools.combinations(range(items), k) if not size or k == size]

    def law(dataset: list[tuple[int, ...]]) -> np.ndarray:
        data = np.array(dataset, float).reshape(-1, items)
        kernel = data.T @ data + jitter * np.eye(items)
        weights = np.array([np.linalg.det(kernel[np.ix_(y, y)]) if y else 1.0 for y in outputs])
        return weights / weights.sum()

    others = [rows[0]] if relation == "add_or_remove_one" else rows
    largest = max(
        float(np.max(law([common, row]) / law([common, other])))
        for common, row, other in itertools.product(rows, rows, others)
    )
    if relation == "add_or_remove_one":
        largest = max(
            largest,
            *(float(np.max(law([common]) / law([common, row]))) for common, row in itertools.product(rows, rows)),
        )
    inputs = changed(items=items, subjects=1, jitter="1/4", relation=relation, size=size, largest="0")
    with pytest.raises(Rejected, match="the largest ratio is") as rejected:
        check("determinantal", inputs)
    assert float(Fraction(str(rejected.value).split()[4].rstrip(","))) == pytest.approx(largest)


@pytest.mark.parametrize(
    "fields",
    [
        {"largest": "22/10"},
        {"largest": "7/4"},
        {"jitter": "3/5"},
        {"items": 3},
        {"size": 1},
        {"relation": "replace_one"},
        {"subjects": -1},
        {"jitter": "0"},
        {"jitter": 0.5},
        {"size": 3},
        {"relation": "replace_two"},
        {"items": 9},
        {"items": 5, "subjects": 5},
        {"more": 1},
    ],
)
def test_a_changed_input_is_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        check("determinantal", changed(**fields))


@pytest.mark.parametrize("fields", [{"subjects": 1}, {"supports": "open"}])
def test_a_change_that_keeps_the_ratio_shows_in_the_result(fields: dict[str, Any]) -> None:
    assert check("determinantal", changed(**fields)) != check("determinantal", INPUTS)
