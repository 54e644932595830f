"""The proof checker refuses what is false, what follows from a contradiction, and what is not what it says."""

from typing import Any

import pytest

from dpassay.replay import Rejected, check, cvc5_process
from dpassay.replay.formula import text
from dpassay.replay.proof import statement
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


def says(left: Any, right: Any, **changes: Any) -> dict[str, Any]:
    return {"name": "step", "engine": "identity", "left": left, "right": right, **changes}


@pytest.mark.parametrize(
    ("step", "where"),
    [
        (says(["/", "x", "x"], 1), ["x != 0"]),
        (says(["*", ["/", "x", "y"], ["/", "y", "z"]], ["/", "x", "z"]), ["y != 0", "z != 0"]),
        (says(["/", 1, ["/", ["^", "x", 2], "y"]], ["/", "y", ["^", "x", 2]]), ["y != 0", "x != 0"]),
        (says(["^", ["sqrt", "x"], 2], "x"), ["x >= 0"]),
        (says(["exp", ["ln", "x"]], "x"), ["x > 0"]),
        (says(["^", ["^", "x", "a"], 2], ["^", "x", ["*", 2, "a"]]), ["x > 0"]),
        (says(["/", ["+", 1, "x"], ["exp", "x"]], ["*", ["+", "x", 1], ["exp", ["-", "x"]]]), []),
        (says(["/", ["-", ["^", "x", 2], 1], ["-", "x", 1]], ["+", "x", 1]), ["x - 1 != 0"]),
    ],
)
def test_an_identity_states_where_it_is_defined(step: dict[str, Any], where: list[str]) -> None:
    (stated,) = prove(step)["steps"]
    assert stated.get("defined", []) == where
    assert stated["statement"].endswith(f", where {' and '.join(where)}" if where else text(step["right"]))


def test_a_derivative_is_stated_where_roots_have_one() -> None:
    slope = {"engine": "derivative", "name": "root", "variable": "x", "antiderivative": ["sqrt", "x"]}
    (stated,) = prove({**slope, "derivative": ["/", 1, ["*", 2, ["sqrt", "x"]]]})["steps"]
    assert stated["defined"] == ["x > 0", "sqrt(x) != 0"]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (says(["/", "x", ["-", 2, 2]], ["/", "y", 0]), "defined nowhere|not an identity|not defined"),
        (says(["*", 2, ["ln", ["-", -1, ["^", "x", 2]]]], ["ln", ["-", -1, ["^", "x", 2]]]), "not an identity"),
        (says(["-", ["sqrt", ["-", ["^", "x", 2]]], ["sqrt", ["-", ["^", "x", 2]]]], ["ln", 1]), "nowhere"),
        (says(["+", "x", "y"], ["+", "y", "x"]), "says nothing"),
        (says("x", "x"), "says nothing"),
        (says(["/", 8, 2, 2], 4), "operands"),
        (says(["sqrt", ["^", "x", 2]], "x"), "not an identity"),
        (says("x", ["<", "x", 1]), "truth value"),
    ],
)
def test_identities_about_nothing_are_refused(step: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        prove(step)


@pytest.mark.parametrize(
    ("hypotheses", "conclusion"),
    [
        ([["<", "x", "y"]], ["<", "x", "y"]),
        ([["<", "x", "y"]], [">", "y", "x"]),
        ([["<", "x", "y"]], ["<=", "x", "y"]),
        ([["<", "x", "y"]], ["!=", "x", "y"]),
        ([["<", "x", "y"]], ["not", ["<=", "y", "x"]]),
        ([["<", "x", "y"]], [">", ["-", "y", "x"], 0]),
        ([["<", "x", "y"]], ["<", ["*", 2, "x"], ["+", "y", "y"]]),
        ([["=", "x", "y"]], ["=", "y", "x"]),
        ([["=", "x", "y"]], ["<=", "x", "y"]),
        ([["and", ["<", 0, "x"], ["<", "x", "y"]]], ["and", ["<", "x", "y"], [">", "x", 0]]),
        ([["<", 0, ["*", "x", "y"]]], ["<", 0, ["*", "y", "x"]]),
        ([["<", "x", "y"]], ["or", ["<", "y", 0], ["<", "x", "y"]]),
        ([], ["=>", ["<", "x", "y"], [">", "y", "x"]]),
        ([], ["<", "x", ["+", "x", 1]]),
        ([], ["<", 0, 1]),
        ([["=>", ["<", "x", 0], ["<", "y", 0]]], ["=>", [">=", "y", 0], [">=", "x", 0]]),
    ],
)
def test_a_hypothesis_is_no_conclusion(hypotheses: list[Any], conclusion: Any) -> None:
    step = {**STEP, "hypotheses": hypotheses, "conclusion": conclusion}
    with pytest.raises(Rejected, match="says nothing"):
        prove(step)


def test_terms_without_a_value_prove_nothing() -> None:
    kept = {**STEP, "variables": ["x"], "hypotheses": [[">=", "x", 0]]}
    product = ["=", ["*", "x", ["/", "x", "x"]], "x"]  # in a query true of 0, too
    with pytest.raises(Rejected, match="is defined: x != 0"):
        prove({**kept, "conclusion": product})
    prove({**kept, "hypotheses": [[">", "x", 0]], "conclusion": product})
    absurd = [["=", "x", 0], ["=", ["/", 1, "x"], 5]]
    with pytest.raises(Rejected, match="not shown satisfiable"):
        prove({**EXISTS, "hypotheses": absurd})
    with pytest.raises(Rejected, match="not defined"):
        prove({**EXISTS, "hypotheses": absurd, "model": {"x": "0"}})
    with pytest.raises(Rejected, match="is defined"):
        prove({**kept, "hypotheses": absurd, "conclusion": ["<", ["*", "x", "x"], 1]})


def test_hypotheses_are_told_apart() -> None:
    either = ["or", ["=", "x", 0], ["=", "x", 1]]
    step = {**STEP, "hypotheses": [either, [">", "x", "1/2"]], "variables": ["x"], "conclusion": ["=", "x", 1]}
    assert statement(step) == "if ((x = 0) or (x = 1)) and x > 1/2, then x = 1"
    assert statement({**step, "hypotheses": [either]}) == "if (x = 0) or (x = 1), then x = 1"


@pytest.mark.parametrize(
    "change",
    [
        {"note": "believed"},
        {"model": {"x": 1.5, "y": "2"}},
        {"model": {"x": "1e10000000", "y": "2"}},
        {"hypotheses": ["x"]},
        {"functions": {"f": 10**9}},
        {"functions": {"f": True}},
    ],
)
def test_a_step_holds_what_it_should(change: dict[str, Any]) -> None:
    prove(STEP)
    with pytest.raises(Rejected):
        prove({**STEP, **change})


def test_a_number_is_not_compared_with_itself() -> None:
    for formula in (["=", "x", "x"], ["<=", ["+", "x", 1], ["+", 1, "x"]], ["=", 0, 0]):
        with pytest.raises(Rejected, match="says nothing"):
            check("formula", {"values": {"x": 1}, "formulas": [formula], "supports": "holds"})


THEOREM: dict[str, Any] = {
    "name": "Theorem 1",
    "source": "Somebody 1900",
    "statement": "What is above 1 is above 0.",
    "hypotheses": {"the product is above 1": "square", "x is a number": "claim: numbers"},
}


def cite(**changed: Any) -> dict[str, Any]:
    inputs = {"supports": "holds", "argument": "", "steps": [STEP], "rests_on": [{**THEOREM, **changed}]}
    return check("proof", inputs)


def test_a_cited_theorem_stands_in_the_result() -> None:
    assert cite()["rests_on"] == [THEOREM]
    assert cite()["summary"] == "1 step proved again, Theorem 1 (Somebody 1900) cited: square"
    assert "rests_on" not in prove(STEP)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hypotheses": {"the sum is above 1": "sum"}}, "needs that the sum is above 1, which no step checks: 'sum'"),
        ({"hypotheses": {}}, "cited without the hypotheses"),
        ({"more": ""}, "a cited theorem"),
    ],
)
def test_a_hypothesis_that_no_step_checks_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(Rejected, match=message):
        cite(**changed)
