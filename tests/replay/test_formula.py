"""A formula's text, query, exact value and enclosure agree; names cannot be read as anything else."""

import re
from fractions import Fraction
from typing import Any

import pytest
import z3
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.replay import Rejected, check
from dpassay.replay.formula import FormulaError, decide, enclose, evaluate, smtlib, text, variables
from dpassay.replay.numbers import precision

NAMES = ("x", "y")
numbers = st.integers(-4, 4) | st.fractions(-4, 4, max_denominator=5).map(str)
rationals = st.fractions(-3, 3, max_denominator=7)


def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.tuples(inner, inner)
    return (
        st.tuples(st.sampled_from(["+", "*", "-", "max", "min"]), pair).map(lambda t: [t[0], *t[1]])
        | inner.map(lambda a: ["-", a])
        | inner.map(lambda a: ["abs", a])
        | st.tuples(inner, st.integers(1, 3)).map(lambda t: ["^", *t])
        | st.tuples(inner, st.integers(1, 5)).map(lambda t: ["/", *t])
    )


terms = st.recursive(numbers | st.sampled_from(NAMES), grow, max_leaves=8)
comparisons = st.tuples(st.sampled_from(["<=", "<", ">=", ">", "="]), terms, terms).map(list)
formulas = st.recursive(
    comparisons,
    lambda inner: (
        st.tuples(st.sampled_from(["and", "or", "=>"]), inner, inner).map(list) | inner.map(lambda a: ["not", a])
    ),
    max_leaves=4,
)
assignments = st.fixed_dictionaries(dict.fromkeys(NAMES, rationals))


def as_python(sentence: str) -> str:
    """What `text` writes, as a Python expression in which every number is a fraction."""
    exact = re.sub(r"(?<![\w.])(\d+)(?![\w(])", r"F(\1)", sentence.replace("^", "**"))
    return re.sub(r"(?<![<>=])=(?!=)", "==", exact)


@settings(deadline=None)
@given(terms, assignments)
def test_enclosure_text_and_exact_value_agree(term: Any, values: dict[str, Fraction]) -> None:
    expected = evaluate(term, values)
    with precision():
        enclosure = enclose(term, values)
        assert arb(fmpq(expected.numerator, expected.denominator)).overlaps(enclosure)
        balls = {name: arb(fmpq(value.numerator, value.denominator)) for name, value in values.items()}
        assert arb(fmpq(expected.numerator, expected.denominator)).overlaps(enclose(term, balls))
    # The exponents in the text are small integers, so the fractions stay exact.
    read = eval(as_python(text(term)), {"F": Fraction, "max": max, "min": min, "abs": abs, **values})
    assert read == expected


@settings(deadline=None, max_examples=60)
@given(formulas, assignments)
def test_query_and_exact_value_agree(formula: Any, values: dict[str, Fraction]) -> None:
    expected = evaluate(formula, values)
    lines = [f"(declare-const {name} Real)" for name in NAMES]
    lines += [f"(assert (= {name} {smtlib(str(value))}))" for name, value in values.items()]
    solver = z3.Solver()
    solver.from_string("\n".join([*lines, f"(assert {smtlib(formula)})"]))
    assert str(solver.check()) == ("sat" if expected else "unsat")


@settings(deadline=None)
@given(formulas, assignments)
def test_decisions_are_exact_on_rationals(formula: Any, values: dict[str, Fraction]) -> None:
    assert decide(formula, values) is bool(evaluate(formula, values))
    assert variables(formula) <= set(NAMES)


def test_decisions_on_enclosures() -> None:
    with precision():
        assert decide(["<", ["exp", 1], "27183/10000"], {})
        assert not decide([">", ["exp", 1], "27183/10000"], {})
        assert not decide(["=", ["exp", 1], "27183/10000"], {})
        assert decide(["=>", ["<", ["ln", "x"], "0"], ["<", "x", "1"]], {"x": Fraction(1, 2)})
        assert decide(["=", ["ceil", ["*", "p", 10]], 1], {"p": Fraction(1, 10)})
        assert decide(["<", ["max", ["sqrt", 2], 1, "3/2"], "8/5"], {})
        for undecided in (["<=", ["^", ["sqrt", 2], 2], 2], ["<", ["-", ["exp", 1], ["exp", 1]], 0]):
            with pytest.raises(FormulaError, match="undecided"):
                decide(undecided, {})
        with pytest.raises(FormulaError, match="undecided"):
            enclose(["floor", ["^", ["sqrt", 2], 2]], {})


@pytest.mark.parametrize(
    "formula",
    [
        ["+", "x", 1],
        ["<", "z", 1],
        ["<", ["call", "f", "x"], 1],
        ["power", 1, 2],
        ["<", ["<", 1, 2], 1],
        ["<", True, 1],
    ],
)
def test_what_is_no_comparison_is_refused(formula: Any) -> None:
    with pytest.raises(FormulaError):
        decide(formula, {"x": Fraction(1)})


@pytest.mark.parametrize(
    "name", ["x Real) (assert false) (declare-const y", "true", "and", "1x", "", "x y", "|x|", "é", "exp", "x\n"]
)
def test_a_query_cannot_be_smuggled_in_a_name(name: str) -> None:
    with pytest.raises(FormulaError):
        smtlib(["<", name, 1])
    with pytest.raises(FormulaError):
        smtlib(["forall", [name], ["<", 0, 1]])
    with pytest.raises(FormulaError):
        smtlib(["<", ["call", name, 1], 1])


def test_instances_are_certain_or_rejected() -> None:
    inputs: dict[str, Any] = {"values": {"k": 50}, "formulas": [["<", ["ln", "k"], 4]], "supports": "holds"}
    assert check("formula", inputs)["supports"] == "holds"
    changes: list[dict[str, Any]] = [
        {"values": {"k": 55}},
        {"values": {}},
        {"values": {"k": 50.0}},
        {"formulas": []},
        {"formulas": [["<", ["ln", "k"], 4], [">", "k", 50]]},
        {"formulas": [["<", ["/", 1, ["-", "k", 50]], 4]]},
        {"formulas": [["<", ["ln", ["-", 0, "k"]], 4]]},
    ]
    for change in changes:
        with pytest.raises(Rejected):
            check("formula", {**inputs, **change})
