"""Witnesses: what counts as neighboring, what counts as a violation, and what counts as minimal."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation
from dpassay.replay import Rejected, check
from dpassay.replay.datasets import read_dataset
from dpassay.replay.witness import neighboring_cells

PPNS: dict[str, Any] = {
    "id": "ppns",
    "variant": "paper",
    "parameters": {
        "num_neighbors": 2,
        "target": 0,
        "similarity": "cosine",
        "ties": "index",
        "no_overlap": "zero",
        "epsilon": "1",
        "weight": "exponential",
        "sensitivity": "local",
        "probability": "1/2",
        "rule": "algorithm",
        "last": "exponential",
    },
}
WITNESS: dict[str, Any] = {
    "mechanism": PPNS,
    "relation": "add_or_remove_one:rating",
    "epsilon": "inf",
    "delta": "0",
    "dataset1": [[None], [None], [None], [1]],
    "dataset2": [[1], [None], [None], [1]],
    "event": [[1, 3]],
}
RELATIONS = [
    "add_or_remove_one:rating",
    "replace_one:rating",
    "add_or_remove_one:user",
    "replace_one:user",
    "replace_one:entry",
]
datasets = st.lists(st.lists(st.sampled_from([None, 1, 2]), min_size=2, max_size=2), min_size=2, max_size=2)


@given(datasets, datasets, st.sampled_from(RELATIONS))
def test_neighbors_are_those_of_the_public_relation(one: Any, two: Any, relation: str) -> None:
    matrices = [np.array([[np.nan if v is None else v for v in row] for row in rows], float) for rows in (one, two)]
    try:
        expected = NeighboringRelation.parse(relation).changed(*matrices)
    except InvalidInput:
        with pytest.raises(Rejected):
            neighboring_cells(read_dataset(one), read_dataset(two), relation)
        return
    assert neighboring_cells(read_dataset(one), read_dataset(two), relation) == expected


def test_an_impossible_set_refutes_every_epsilon() -> None:
    result = check("witness", WITNESS)
    assert result["supports"] == "refuted"
    assert (result["probability1"], result["probability2"]) == (["1/2", "1/2"], ["0", "0"])
    assert result["epsilon_lower"] == "inf"
    assert result["impossible_output"] == [1, 3]
    assert "no finite epsilon" in result["summary"]
    assert check("witness", {**WITNESS, "epsilon": "3", "impossible": True})["epsilon_lower"] == "inf"
    assert check("witness", {**WITNESS, "supports": "holds"})["supports"] == "holds"
    assert check("witness", {**WITNESS, "epsilon": "1000", "delta": "49/100"})["epsilon_lower"] == "inf"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset1": WITNESS["dataset2"], "dataset2": WITNESS["dataset1"]}, "possible under dataset2"),
        ({"delta": "1/2"}, "no violation"),
        ({"delta": "1"}, "delta"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"event": [[2, 3]]}, "possible under dataset2"),
        ({"event": [[1, 3], [1, 3]]}, "distinct"),
        ({"event": []}, "distinct"),
        ({"event": [[3, 1]]}, "not an output"),
        ({"event": [[0, 1]]}, "not an output"),
        ({"event": [[1, 4]]}, "not an output"),
        ({"event": [[1]]}, "not an output"),
        ({"relation": "replace_one:rating"}, "does not allow"),
        ({"relation": "swap:rating"}, "relation"),
        ({"dataset2": WITNESS["dataset1"]}, "equal"),
        ({"dataset2": [[1], [2], [None], [1]]}, "does not allow"),
        ({"dataset2": [[1], [None], [None]]}, "shape"),
        ({"dataset2": [[1], [None], [None], [1, 1]]}, "matrix"),
        ({"dataset2": [[1.0], [None], [None], [1]]}, "not an exact number"),
        ({"scale": [2, 3]}, "scale"),
        ({"impossible": "yes"}, "impossible"),
        ({"minimality": {}}, "scale"),
        ({"minimality": {"scale": [1], "fixed": ["size"]}}, "fixed"),
        (
            {"mechanism": {**PPNS, "parameters": {**PPNS["parameters"], "probability": "9/10", "rule": "formula"}}},
            "possible under dataset2",
        ),
    ],
)
def test_what_does_not_show_a_violation_is_rejected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        check("witness", {**WITNESS, **change})


def test_a_finite_loss_is_bounded_from_below() -> None:
    parameters = {name: PPNS["parameters"][name] for name in ("target", "similarity", "ties", "no_overlap", "weight")}
    mechanism = {
        "id": "npns",
        "variant": "paper",
        "parameters": {**parameters, "num_neighbors": 1, "epsilon": "1", "sensitivity": "1/100"},
    }
    inputs = {
        **WITNESS,
        "mechanism": mechanism,
        "relation": "replace_one:rating",
        "epsilon": "1",
        "dataset1": [[1, 2], [1, 2], [2, 1]],
        "dataset2": [[1, 2], [5, 2], [2, 1]],
        "event": [[1]],
    }
    result = check("witness", inputs)
    lower = result["epsilon_lower"]
    # Tight: no violation is left at the next digit.
    check("witness", {**inputs, "epsilon": lower})
    with pytest.raises(Rejected, match="no violation"):
        check("witness", {**inputs, "epsilon": str(float(lower) + 1e-9)})
    with pytest.raises(Rejected, match="possible under dataset2"):
        check("witness", {**inputs, "impossible": True})
    low, high = (float(bound) for bound in result["probability2"])
    assert 0 < low <= high < low + 1e-15


def test_minimality_is_enumerated_again() -> None:
    result = check("witness", {**WITNESS, "scale": [1, 2], "minimality": {}})["minimality"]
    assert result["size"] == {"num_neighbors": "2", "candidates": "3", "items": "1", "ratings": "2", "largest": "1"}
    assert result["pairs"] > 50
    # The same violation with one more rating, item, or a larger rating is not minimal.
    larger: list[dict[str, Any]] = [
        {"dataset1": [[None], [None], [None], [2]], "dataset2": [[1], [None], [None], [2]]},
        {"dataset1": [[1], [1], [1], [1]], "dataset2": [[1], [None], [1], [1]], "event": [[2, 3]]},
        {
            "dataset1": [[None, None], [None, None], [None, None], [1, None]],
            "dataset2": [[1, None], [None, None], [None, None], [1, None]],
        },
    ]
    for change in larger:
        inputs = {**WITNESS, **change, "scale": [1, 2]}
        check("witness", inputs)
        with pytest.raises(Rejected, match="not minimal"):
            check("witness", {**inputs, "minimality": {}})
    # Kept at its own numbers of ratings and candidates, the second is minimal again.
    inputs = {**WITNESS, **larger[1], "scale": [1, 2], "minimality": {"fixed": ["ratings"]}}
    assert "same ratings" in check("witness", inputs)["minimality"]["statement"]


def test_minimality_at_a_finite_epsilon() -> None:
    parameters = {name: PPNS["parameters"][name] for name in ("target", "similarity", "ties", "no_overlap", "weight")}
    mechanism = {
        "id": "npns",
        "variant": "paper",
        "parameters": {**parameters, "num_neighbors": 1, "epsilon": "4", "sensitivity": "1"},
    }
    inputs = {
        **WITNESS,
        "mechanism": mechanism,
        "epsilon": "1/2",
        "scale": [1],
        "minimality": {},
        "dataset1": [[1], [1], [None]],
        "dataset2": [[1], [None], [None]],
        "event": [[1]],
    }
    # One weight of e^1 against 1: e/(1+e) against 1/2 is a loss of 0.38; the other set loses 0.62.
    with pytest.raises(Rejected, match="no violation"):
        check("witness", inputs)
    inputs |= {"dataset1": inputs["dataset2"], "dataset2": inputs["dataset1"], "event": [[2]]}
    assert check("witness", inputs)["minimality"]["pairs"] > 0
    with pytest.raises(Rejected, match="not minimal"):
        check("witness", {**inputs, "scale": [1, 2], "dataset1": [[2], [None], [None]], "dataset2": [[2], [1], [None]]})


def test_too_large_a_box_is_refused() -> None:
    wide: dict[str, Any] = {
        "dataset1": [[None] * 4] * 3 + [[1, 2, 3, 4]],
        "dataset2": [[5, None, None, None]] + [[None] * 4] * 2,
    }
    wide["dataset2"].append([1, 2, 3, 4])
    with pytest.raises(Rejected, match="datasets below the witness"):
        check(
            "witness", {**WITNESS, **wide, "scale": [1, 2, 3, 4, 5], "minimality": {"fixed": ["items", "candidates"]}}
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12))
def test_scaling_every_rating_changes_no_probability(numerator: int, denominator: int) -> None:
    factor = f"{numerator}/{denominator}"
    scaled = {
        name: [[None if value is None else factor for value in row] for row in WITNESS[name]]
        for name in ("dataset1", "dataset2")
    }
    assert check("witness", {**WITNESS, **scaled})["probability1"] == ["1/2", "1/2"]
