"""The checker of floating-point differences: rounding against the machine, reachability against brute force."""

import contextlib
import copy
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpassay.proofs.representation import executed_differences
from dpassay.replay import Rejected, check
from dpassay.replay.floating import FORMATS, nearest, neighbors_of, reaches

SUBJECTS = [
    ("npns", "repaired"),
    ("pnsa", "repaired"),
    ("prs", "repaired"),
    ("dpp", "paper"),
    ("modified_laplace", "paper"),
    ("randomized_response", "paper"),
    ("jlt", "paper"),
    ("sjlt", "repaired"),
]


@given(st.fractions(), st.integers(-1080, 1020))
def test_rounding_is_the_machine_s(value: Fraction, exponent: int) -> None:
    value = value * Fraction(2) ** exponent
    try:
        machine = float(value)
    except OverflowError:
        assert nearest(value, "float64") is None
        return
    assert nearest(value, "float64") == Fraction(machine)
    for neighbor in neighbors_of(value, "float64"):
        assert abs(neighbor - value) < Fraction(np.spacing(abs(machine))) or neighbor == value
    low, high = min(neighbors_of(value, "float64")), max(neighbors_of(value, "float64"))
    assert low <= value <= high


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(width=32, min_value=-2, max_value=2))
def test_single_precision_sums_are_the_machine_s(one: float, two: float) -> None:
    with np.errstate(over="ignore"):
        machine = np.float32(one) + np.float32(two)
    exact = nearest(Fraction(one) + Fraction(two), "float32")
    assert exact == (Fraction(float(machine)) if np.isfinite(machine) else None)


def test_overflow_is_no_float() -> None:
    largest = Fraction(np.finfo(np.float64).max)
    assert nearest(largest, "float64") == largest
    assert nearest(largest * 2, "float64") is None
    assert nearest(largest + Fraction(2) ** 969, "float64") == largest
    assert nearest(largest + Fraction(2) ** 970, "float64") is None  # half a unit: ties to even, which overflows
    with pytest.raises(Rejected, match="range"):
        neighbors_of(largest * 2, "float64")


@pytest.mark.parametrize("form", ["addition", "product"])
def test_reachability_is_brute_force_s_on_a_tiny_format(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three significant bits: every float can be tried."""
    monkeypatch.setitem(FORMATS, "tiny", (3, -4, 2))
    every = sorted({Fraction(sign * k, 16) * 2**e for sign in (1, -1) for k in range(8) for e in range(4)})
    every = [value for value in every if nearest(value, "tiny") == value]
    assert len(every) == 39

    def combined(value: Fraction, noise: Fraction) -> Fraction | None:
        return nearest(value + noise if form == "addition" else value * noise, "tiny")

    undecided = 0
    for value, output in itertools.product(every, every):
        if form == "product" and value == 0:
            continue
        solutions = [noise for noise in every if combined(value, noise) == output]
        try:
            found = reaches(form, value, output, "tiny")
        except Rejected:
            undecided += 1  # the real solution lies beyond the format
            continue
        assert bool(found) == bool(solutions), (value, output)
        assert set(found) <= set(solutions)
    assert undecided < 0.3 * len(every) ** 2


@pytest.fixture(scope="module")
def accepted() -> dict[tuple[str, str], dict[str, Any]]:
    return {subject: executed_differences(*subject)[0]["inputs"] for subject in SUBJECTS}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_differences_are_accepted(
    accepted: dict[tuple[str, str], dict[str, Any]], subject: tuple[str, str]
) -> None:
    result = check("floating", accepted[subject])
    assert result["supports"] == "refuted"
    assert result["epsilon_lower"] == "inf"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_change_is_rejected_or_shows(
    accepted: dict[tuple[str, str], dict[str, Any]], subject: tuple[str, str]
) -> None:
    good = check("floating", accepted[subject])
    tried = 0
    for changed in itertools.islice(changes(accepted[subject]), 60):
        tried += 1
        with contextlib.suppress(Rejected):
            assert check("floating", changed) != good, changed
    assert tried > 10


def changes(inputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Inputs with a field dropped or added, or one number or text inside changed; long rows are changed at one end."""
    for name in inputs:
        yield {key: value for key, value in inputs.items() if key != name}
    yield {**inputs, "note": 1}
    for place in places(inputs):
        changed = copy.deepcopy(inputs)
        inner: Any = changed
        for key in place[:-1]:
            inner = inner[key]
        value = inner[place[-1]]
        inner[place[-1]] = value + 1 if isinstance(value, int) else 1 if value is None else f"{value}1"
        yield changed


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*place, key))
    elif isinstance(value, list):
        for index in sorted({0, len(value) - 1}):
            yield from places(value[index], (*place, index))
    else:
        yield place


def test_what_is_reachable_is_not_called_unreachable(accepted: dict[tuple[str, str], dict[str, Any]]) -> None:
    inputs = accepted["modified_laplace", "paper"]
    for change, says in (
        ({"output": "1/2", "noise": "1/2"}, "reaches the output too"),
        ({"noise": "1/2"}, "does not give the output"),
        ({"noise": "1/3"}, "not a float64"),
        ({"format": "float16"}, "format"),
        ({"dataset2": [[0]]}, "equal"),
        ({"dataset1": [[0, 1]], "dataset2": [[1, 1]]}, "one entry"),
        ({"form": "product"}, "factors"),
        ({"form": "guess"}, "use one of"),
    ):
        with pytest.raises(Rejected, match=says):
            check("floating", {**inputs, **change})


def test_what_is_within_reach_is_not_called_out_of_reach(accepted: dict[tuple[str, str], dict[str, Any]]) -> None:
    selection = accepted["npns", "repaired"]
    for change, says in (
        ({"dataset2": selection["dataset1"], "dataset1": selection["dataset2"]}, "dataset1 too"),
        ({"bits": 60}, "within reach under dataset2"),
        ({"slack": "0"}, "not covered"),
        ({"slack": "1"}, "dataset1 too"),
        ({"output": [1]}, "within reach"),
    ):
        with pytest.raises(Rejected, match=says):
            check("floating", {**selection, **change})
    coin = accepted["dpp", "paper"]
    larger = copy.deepcopy(coin["mechanism"])
    larger["parameters"]["jitter"] = "1/1000"
    for change, says in (
        ({"mechanism": larger}, "within reach under dataset2"),
        ({"dataset1": coin["dataset2"], "dataset2": coin["dataset1"]}, "within reach under dataset2"),
        ({"bits": 60}, "within reach under dataset2"),
        ({"output": []}, "one item"),
    ):
        with pytest.raises(Rejected, match=says):
            check("floating", {**coin, **change})
    response = accepted["randomized_response", "paper"]
    smaller = copy.deepcopy(response["mechanism"])
    smaller["parameters"]["epsilon"] = "20"
    for change, says in (
        ({"mechanism": smaller}, "not the keep probability"),
        ({"threshold": "1/2"}, "not the keep probability"),
        ({"threshold": "1/3"}, "not a float64"),
    ):
        with pytest.raises(Rejected, match=says):
            check("floating", {**response, **change})
    sketch = accepted["jlt", "paper"]
    for change, says in (
        ({"factors": [sketch["factors"][0]] * 2}, "not the entry of the lifted matrix"),
        ({"factors": sketch["factors"][:1]}, "one factor per dataset"),
        ({"output": sketch["factors"][0]}, "does not give the output"),
        ({"dataset2": [[1, None]]}, "replace_one"),
    ):
        with pytest.raises(Rejected, match=says):
            check("floating", {**sketch, **change})
    column = accepted["sjlt", "repaired"]
    with pytest.raises(Rejected, match="reaches the output too"):
        check("floating", {**column, "output": "3", "noise": "3"})
    wider = copy.deepcopy(column["mechanism"])
    wider["parameters"]["num_rows"] = 2
    with pytest.raises(Rejected, match="nothing is known"):
        check("floating", {**column, "mechanism": wider})
