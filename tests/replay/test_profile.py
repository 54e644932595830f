"""Certificates of exact privacy profiles: enclosures against other computations, strictness, tampering."""

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import acb, arb, fmpq

import dpassay as dp
from dpassay.core.certificate import checksum
from dpassay.core.registry import find_claim
from dpassay.replay import Rejected, check, replay, seal
from dpassay.replay.numbers import precision
from dpassay.replay.profile import gaussian_profile, integrated_profile, rater_profile, shift_delta

CLAIM = "CD-T52-REP"
INPUTS: dict[str, Any] = {
    "values": {"w": "66.56", "m": 16367},
    "profiles": {
        "d": {"rows": 400, "noise": "w", "epsilon": "1"},
        "row": {"rows": 1, "noise": ["sqrt", 20], "epsilon": "1/2"},
        "fixed": {"rows": 400, "noise": "w", "epsilon": "1", "columns": "fixed"},
        "few": {"rows": 400, "noise": "w", "epsilon": "1", "raters": 1000},
    },
    "formulas": [["<=", "d", ["/", 1, "m"]], ["<", "fixed", "d"], ["<", "few", "d"], [">", "row", "1/1000"]],
    "supports": "holds",
}


def changed(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(INPUTS), **changes}


def test_result_restates_the_inputs() -> None:
    result = check("profile", INPUTS)
    assert result["supports"] == "holds"
    assert result["values"] == {"w": "1664/25", "m": "16367"}
    assert result["profiles"]["d"] == "400 rows, w = w, epsilon = 1, gaussian columns"
    assert result["formulas"][0] == "d <= 1 / m"
    low, high = map(float, result["enclosures"]["d"])
    assert low <= high
    assert (low, high) == pytest.approx((6.0985199456955e-5, 6.0985199456955e-5), rel=1e-10)


@pytest.mark.parametrize(
    ("rows", "noise", "epsilon"),
    [(1, "2", "0"), (2, "3", "1"), (4, "1/3", "2"), (6, "5", "0"), (50, "20", "1/2"), (400, "66.56", "1")],
)
def test_sum_and_integral_agree(rows: int, noise: str, epsilon: str) -> None:
    with precision():
        values = [arb(fmpq(*map(int, Fraction(text).as_integer_ratio()))) for text in (noise, epsilon)]
        total, integral = gaussian_profile(rows, *values), integrated_profile(rows, *values)
        assert total.overlaps(integral)
        assert integral.rad() < 1e-20


def test_two_rows() -> None:
    with precision():
        rate = ((1 + 4 * arb(9)).sqrt() - 1) / 2
        assert gaussian_profile(2, arb(3), arb(1)).overlaps((-rate).exp() / (2 * rate + 1))


def test_raters_approach_the_supremum_from_below() -> None:
    with precision():
        limit = gaussian_profile(10, arb(2), arb(1))
        values = [rater_profile(10, arb(2), arb(1), raters) for raters in (1, 10, 1000, 10**9)]
        assert all(one < other for one, other in zip(values, [*values[1:], limit], strict=True))
        assert limit - values[-1] < arb(10) ** -7


def test_both_directions_of_raters_below_the_change_of_the_determinant() -> None:
    """At a small epsilon the formula with the other direction is used; delta must be continuous where it changes."""
    with precision():
        square, rows, raters = arb(4), 10, 2
        gain = rows / 2 * (1 + 1 / (square + raters)).log()
        below, above = (
            rater_profile(rows, arb(2), gain + shift, raters) for shift in (-(arb(10) ** -9), arb(10) ** -9)
        )
        assert 0 < below - above < arb(10) ** -8


def test_real_and_complex_shifts_agree() -> None:
    with precision():
        assert shift_delta(acb(1), acb(2)).real.overlaps(shift_delta(arb(1), arb(2)))


@pytest.mark.parametrize(
    "bad",
    [
        changed(formulas=[]),
        changed(profiles={}),
        changed(formulas=[["<=", "d", "1/20000"]]),
        changed(formulas=[["<=", "d", 1]]),  # the other profiles are idle
        changed(values={"w": "66.56", "m": 16367, "d": 1}),
        changed(values={"w": 66.56, "m": 16367}),
        changed(extra=1),
        *(
            changed(profiles={**INPUTS["profiles"], "d": {**INPUTS["profiles"]["d"], **change}})
            for change in (
                {"rows": 0},
                {"rows": 10**9},
                {"noise": 0},
                {"noise": ["-", "w"]},
                {"epsilon": "-1"},
                {"columns": "sparse"},
                {"columns": "fixed", "raters": 4},
                {"rows": 401, "raters": 4},
                {"raters": 0},
                {"noise": "unknown"},
                {"seed": 1},
            )
        ),
    ],
)
def test_rejects(bad: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        check("profile", bad)


def test_a_delta_beyond_the_error_bounds_is_not_decided() -> None:
    """Odd rows are integrated with tails of e^-200; a smaller delta stays undecided instead of being guessed."""
    tiny = {"rows": 1, "noise": 100, "epsilon": 9}
    with pytest.raises(Rejected):
        check("profile", changed(profiles={"d": tiny}, formulas=[[">", "d", ["exp", -10000]]]))


def test_certificate_replays_although_a_file_sorts_its_fields(tmp_path: Path, review: Callable[..., None]) -> None:
    review(CLAIM, "profile", INPUTS, "holds")
    claim = find_claim(CLAIM)
    assert claim is not None
    seal(CLAIM, claim.statement, "profile", INPUTS).write(tmp_path / "c.json")
    assert replay(tmp_path / "c.json").checks


def test_a_changed_digit_does_not_replay(tmp_path: Path, review: Callable[..., None]) -> None:
    review(CLAIM, "profile", INPUTS, "holds")
    claim = find_claim(CLAIM)
    assert claim is not None
    sealed = seal(CLAIM, claim.statement, "profile", INPUTS).to_json()
    path = tmp_path / "certificate.json"

    def replays(content: dict[str, Any]) -> dp.Replay:
        path.write_text(json.dumps({**content, "sha256": checksum(content)}))
        return replay(path)

    assert replays(sealed).checks
    for spot, value in (
        (("inputs", "values", "w"), "66.57"),
        (("inputs", "profiles", "d", "rows"), 399),
        (("inputs", "profiles", "row", "epsilon"), "51/100"),
        (("inputs", "profiles", "few", "raters"), 1001),
        (("inputs", "formulas", 0, 0), "<"),
        (("result", "enclosures", "d", 0), "0.00006"),
        (("result", "summary"), "fine"),
    ):
        tampered = copy.deepcopy(sealed)
        place: Any = tampered
        for step in spot[:-1]:
            place = place[step]
        assert place[spot[-1]] != value
        place[spot[-1]] = value
        assert not replays(tampered).checks, spot
