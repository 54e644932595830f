"""The proof checker refuses what is false, what follows from a contradiction, and what is not what it says."""

from typing import Any

import pytest

from dpassay.replay import Rejected, check, cvc5_process
from dpassay.replay.worker import Worker

STEP: dict[str, Any] = {
    "name": "square",
    "engine": "smt",
    "variables": ["x", "y"],
    "hypotheses": [[">", "x", "1"], [">", "y", "1"]],
    "conclusion": [">", ["*", "x", "y"], "1"],
}
IDENTITY: dict[str, Any] = {
    "name": "binomial",
    "engine": "identity",
    "left": ["^", ["+", "a", "b"], 2],
    "right": ["+", ["^", "a", 2], ["*", 2, "a", "b"], ["^", "b", 2]],
}
EXISTS: dict[str, Any] = {
    "name": "root",
    "engine": "satisfiable",
    "variables": ["x"],
    "hypotheses": [["=", ["^", "x", 2], "2"], [">", "x", "0"]],
}


def prove(*steps: dict[str, Any]) -> dict[str, Any]:
    return check("proof", {"supports": "holds", "argument": "", "steps": list(steps)})


def test_true_statements_are_proved() -> None:
    result = prove(STEP, IDENTITY, EXISTS)
    assert [step["statement"] for step in result["steps"]] == [
        "if x > 1 and y > 1, then x * y > 1",
        "(a + b)^2 = (a^2) + (2 * a * b) + (b^2)",
        "there are reals with x^2 = 2 and x > 0",
    ]
    prove({**STEP, "model": {"x": "2", "y": "3/2"}})
    prove({**STEP, "hypotheses": [], "conclusion": [">=", ["^", "x", 2], "0"]})
    monotone = {
        "name": "monotone",
        "engine": "smt",
        "variables": ["u", "v"],
        "functions": {"f": 1},
        "hypotheses": [["=>", ["<=", "u", "v"], ["<=", ["call", "f", "u"], ["call", "f", "v"]]], ["<=", "u", "v"]],
        "conclusion": ["<=", ["call", "f", "u"], ["call", "f", "v"]],
    }
    prove(monotone)
    with pytest.raises(Rejected, match="not proved"):
        prove({**monotone, "hypotheses": [["<=", "u", "v"]]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conclusion": [">", ["*", "x", "y"], "2"]}, "not proved"),
        ({"conclusion": ["<", ["*", "x", "y"], "1"]}, "not proved"),
        ({"hypotheses": [[">", "x", "1"]]}, "not proved"),
        ({"hypotheses": [[">", "x", "1"], [">", "y", "-1"]]}, "not proved"),
        ({"hypotheses": [[">", "x", "1"], ["<", "x", "1"]]}, "satisfiable"),
        ({"variables": ["x"]}, "undeclared"),
        ({"variables": ["x", "y", "x"]}, "twice"),
        ({"variables": ["x", "y", "z Real) (assert false) (declare-const w"]}, "cannot name"),
        ({"functions": {"x": 1}}, "twice"),
        ({"model": {"x": "1", "y": "2"}}, "model"),
        ({"model": {"x": "2"}}, "no value"),
        ({"hypotheses": [[">", "x", "1"], ["<", "x", "1"]], "model": {"x": "1", "y": "1"}}, "model"),
        ({"conclusion": [">", ["call", "g", "x"], "1"]}, "cannot read|not proved"),
        ({"conclusion": [">", ["exp", "x"], "1"]}, "SMT-LIB"),
        ({"engine": "trust"}, "unknown engine"),
    ],
)
def test_false_and_vacuous_statements_are_rejected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        prove({**STEP, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"right": ["+", ["^", "a", 2], ["*", 3, "a", "b"], ["^", "b", 2]]},
        {"right": ["+", ["^", "a", 2], ["*", 2, "a", "b"]]},
        {"left": ["/", "a", ["-", "b", "b"]], "right": ["/", "a", ["-", "b", "b"]]},
        {"left": ["sqrt", ["^", "a", 2]], "right": "a"},
        {"left": ["max", "a", "b"], "right": ["max", "a", "b"]},
    ],
)
def test_wrong_identities_are_rejected(change: dict[str, Any]) -> None:
    prove(IDENTITY)
    with pytest.raises(Rejected):
        prove({**IDENTITY, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"hypotheses": [["=", ["^", "x", 2], "-2"]]},
        {"hypotheses": []},
        {"model": {"x": "7/5"}},
        {"variables": []},
    ],
)
def test_what_does_not_exist_is_rejected(change: dict[str, Any]) -> None:
    prove(EXISTS)
    with pytest.raises(Rejected):
        prove({**EXISTS, **change})


def test_a_proof_has_steps() -> None:
    with pytest.raises(Rejected, match="at least one step"):
        prove()


def test_cvc5_out_of_time_is_unknown_and_the_next_query_is_answered(monkeypatch):
    question = "(set-logic QF_NRA)(declare-const x Real)(assert (> (* x x) 2.0))(check-sat)"
    assert cvc5_process.answer(question, 60) == "sat"
    with monkeypatch.context() as patched:
        patched.setattr(cvc5_process, "_worker", Worker("import time; time.sleep(600)"))
        assert cvc5_process.answer(question, 0.2) == "unknown"
        patched.setattr(cvc5_process, "_worker", Worker("raise SystemExit"))
        assert cvc5_process.answer(question, 60) == "unknown"
    assert cvc5_process.answer(question, 60) == "sat"
