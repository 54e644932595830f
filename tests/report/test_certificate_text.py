"""A certificate is shown by what the trusted checker computed, in lines."""

from dpassay.core.certificate import Certificate
from dpassay.replay import seal
from dpassay.report.certificate_text import rows

STEP = {"name": "square", "engine": "smt", "variables": ["x"], "hypotheses": [], "conclusion": [">=", ["^", "x", 2], 0]}
COUNTS = {
    "description": "runs that found it",
    "failure_probability": "1/100",
    "outcomes": {"holds": [">", "lower", "1/2"], "refuted": ["<", "upper", "1/2"]},
    "successes": 90,
    "trials": 100,
}
SELECTION = {
    "similarities": ["1", "1/2"],
    "num_neighbors": 1,
    "weights": ["2", "1"],
    "methods": {"npns": {}},
    "condition": ["<", "mu_npns_1", "3/4"],
}


def shown(kind: str, inputs: dict) -> list[tuple[str, str]]:
    return rows(seal("T-1", "A sentence.", kind, inputs))


def test_formulas_come_before_the_numbers_that_enter_them() -> None:
    inputs = {"values": {"x": "1/3", "y": 2}, "formulas": [["<", "x", "y"], [">", "y", 0]]}
    assert shown("formula", inputs) == [("certainly true", "x < y; y > 0"), ("where", "x = 1/3; y = 2")]


def test_a_proof_says_how_many_steps_stand_in_the_table_beside_it() -> None:
    assert shown("proof", {"argument": "", "steps": [STEP]}) == [("shown", "1 step proved again")]


def test_counts_are_shown_with_the_outcome_they_decide() -> None:
    label, text = shown("statistics", COUNTS)[0]
    assert (label, text) == ("decides", "holds if lower > 1/2; refuted if upper < 1/2")


def test_a_list_of_two_numbers_is_no_interval_and_a_computed_number_is_one() -> None:
    lines = shown("selection", SELECTION)
    assert ("certainly true", "mu_npns_1 < 3/4") in lines
    assert ("where", "mu_npns_1 = 2/3") in lines
    assert ("similarities", "1; 1/2") in lines


def test_long_certificates_are_cut_and_say_so() -> None:
    result = {
        "summary": "x" * 1000,
        "values": {f"a_name_that_is_quite_long_{index}": ["1/3", "2/5"] for index in range(100)},
    }
    lines = rows(Certificate("T-1", "A sentence.", "law", {}, result))
    assert len(lines) == 20
    assert lines[-1] == ("", "and 82 more")
    assert lines[1] == ("where", "a_name_that_is_quite_long_0 in [1/3, 2/5]")
    assert lines[2][0] == ""
    assert len(lines[0][1]) < 310
