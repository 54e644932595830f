"""Text, query, exact value, enclosure and SymPy form of random formulas agree; nothing else is a formula."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import sympy
import z3
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpassay.replay import Rejected, check
from dpassay.replay.formula import FormulaError, conditions, decide, enclose, evaluate, exact, read, smtlib, text
from dpassay.replay.formula import variables as free
from dpassay.replay.numbers import precision
from dpassay.replay.operators import NUMBER, OPERATORS, TRUTH
from dpassay.replay.proof import _symbolic

NAMES = ("x", "y", "z")
HEADS = {sort: [head for head, row in OPERATORS.items() if row.gives == sort and row.exact] for sort in (NUMBER, TRUTH)}
leaves = st.integers(-3, 3) | st.fractions(-3, 3, max_denominator=4).map(str) | st.sampled_from(NAMES)


def grow(sort: str, takes: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def applied(head: str) -> st.SearchStrategy[Any]:
        row = OPERATORS[head]
        if head == "^":
            return st.tuples(st.just(head), inner, st.integers(-2, 3)).map(list)
        operands = st.lists(inner, min_size=row.least, max_size=min(row.most, 4))
        return operands.map(lambda chosen: [head, *chosen])

    return st.sampled_from([head for head in HEADS[sort] if OPERATORS[head].takes == takes]).flatmap(applied)


terms = st.recursive(leaves, lambda inner: grow(NUMBER, NUMBER, inner), max_leaves=8)
truths = st.recursive(grow(TRUTH, NUMBER, terms), lambda inner: grow(TRUTH, TRUTH, inner), max_leaves=4)
assignments = st.fixed_dictionaries(dict.fromkeys(NAMES, st.fractions(-3, 3, max_denominator=5)))

LEVELS = (("implies",), ("or",), ("and",), ("<=", "<", ">=", ">", "=", "!="), ("+", "-"), ("*", "/"))
MEANING: dict[str, Callable[[Any, Any], Any]] = {
    "implies": lambda a, b: b or not a,
    "or": lambda a, b: a or b,
    "and": lambda a, b: a and b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


class Reader:
    """What a person reads: the usual precedence, from left to right, every part evaluated."""

    def __init__(self, sentence: str, values: dict[str, Fraction]) -> None:
        self.tokens = re.findall(r"\d+|\w+|<=|>=|!=|\S", sentence)
        self.values = values

    def value(self, level: int = 0) -> Any:
        if level == 3 and self.tokens[0] == "not":
            self.tokens.pop(0)
            return not self.value(level)
        if level == len(LEVELS):
            return self.power()
        left = self.value(level + 1)
        while self.tokens and self.tokens[0] in LEVELS[level]:
            word = self.tokens.pop(0)
            left = MEANING[word](left, self.value(level + 1))
        return left

    def power(self) -> Any:
        if self.tokens[0] == "-":
            self.tokens.pop(0)
            return -self.power()
        base = self.atom()
        if self.tokens and self.tokens[0] == "^":
            self.tokens.pop(0)
            exponent = self.atom()
            assert exponent.denominator == 1
            return base ** int(exponent)
        return base

    def atom(self) -> Any:
        token = self.tokens.pop(0)
        if token.isdigit():
            return Fraction(token)
        if token in self.values:
            return self.values[token]
        if token == "(":
            inside = self.value()
            assert self.tokens.pop(0) == ")"
            return inside
        assert self.tokens.pop(0) == "("
        operands = [self.value()]
        while self.tokens.pop(0) == ",":
            operands.append(self.value())
        functions: dict[str, Callable[..., Any]] = {
            "max": max,
            "min": min,
            "abs": abs,
            "ceil": math.ceil,
            "floor": math.floor,
        }
        return functions[token](operands) if len(operands) > 1 else functions[token](operands[0])


def exactly(formula: Any, values: dict[str, Fraction]) -> Any:
    """The exact value, None where it is not defined."""
    try:
        return evaluate(formula, values)
    except FormulaError as error:
        reason = str(error)
    assert "not defined" in reason
    return None


def as_read(formula: Any, values: dict[str, Fraction]) -> Any:
    reader = Reader(text(formula), values)
    try:
        value = reader.value()
    except ZeroDivisionError:
        return None
    assert reader.tokens == []
    return value


@settings(deadline=None, max_examples=200)
@given(terms | truths, assignments)
def test_a_text_means_its_formula(formula: Any, values: dict[str, Fraction]) -> None:
    assert as_read(formula, values) == exactly(formula, values)


@settings(deadline=None)
@given(terms, assignments)
def test_an_enclosure_has_the_value(term: Any, values: dict[str, Fraction]) -> None:
    expected = exactly(term, values)
    with precision():
        for known in (values, {name: exact(value) + arb(0, 2.0**-200) for name, value in values.items()}):
            try:
                found = enclose(term, known)
            except FormulaError:  # undecided, as it must be where it is not defined
                assert expected is None or known is not values
            else:
                assert expected is not None
                assert found.overlaps(exact(expected))


@settings(deadline=None)
@given(truths, assignments)
def test_a_decision_is_the_value(truth: Any, values: dict[str, Fraction]) -> None:
    expected = exactly(truth, values)
    with precision():
        for known in (values, {name: exact(value) + arb(0, 2.0**-200) for name, value in values.items()}):
            try:
                assert decide(truth, known) is expected
            except FormulaError:
                assert expected is None or known is not values


@settings(deadline=None, max_examples=100)
@given(truths, assignments)
def test_a_query_means_its_formula(truth: Any, values: dict[str, Fraction]) -> None:
    expected = exactly(truth, values)
    try:
        query = smtlib(truth)
    except FormulaError:
        assert re.search(r"ceil|floor|\^", text(truth))  # no form, or an exponent below 1
        return
    lines = [f"(declare-const {name} Real)(assert (= {name} {smtlib(str(value))}))" for name, value in values.items()]
    solver = z3.Solver()
    solver.from_string("\n".join([*lines, f"(assert {query})"]))
    assert expected is None or str(solver.check()) == ("sat" if expected else "unsat")


@settings(deadline=None, max_examples=100)
@given(terms, assignments)
def test_sympy_means_the_same(term: Any, values: dict[str, Fraction]) -> None:
    expected = exactly(term, values)
    try:
        symbolic = _symbolic(read(term))
    except Rejected:
        return  # abs, max, ...: no identities
    if expected is not None:
        numbers = {name: sympy.Rational(value.numerator, value.denominator) for name, value in values.items()}
        assert symbolic.subs(numbers) == sympy.Rational(expected.numerator, expected.denominator)


@settings(deadline=None, max_examples=200)
@given(terms, assignments)
def test_a_formula_is_defined_where_its_conditions_hold(term: Any, values: dict[str, Fraction]) -> None:
    try:
        hold = all(decide(condition, values) for condition in conditions(term))
    except FormulaError:  # a condition that holds nowhere, or is not defined itself
        hold = False
    assert hold == (exactly(term, values) is not None)


def test_every_operator_is_exercised() -> None:
    assert {head for sort in HEADS.values() for head in sort} | {
        "exp",
        "ln",
        "sqrt",
        "asinh",
        "normal_cdf",
        "chi2_cdf",
    } == set(OPERATORS)


def nested(depth: int) -> Any:
    formula: Any = "x"
    for _ in range(depth):
        formula = ["abs", formula]
    return formula


TRUE, OTHER = ["<", 1, 2], ["<", "x", "y"]
NO_FORMULAS = [
    ["/", 8, 2, 2],
    ["/", 8],
    ["<", "x"],
    ["<", 1, 2, 3],
    ["=", 1, 1, 2],
    ["+"],
    ["+", 1],
    ["*", 1],
    ["-"],
    ["^", 2, 3, 2],
    ["^", 2],
    ["abs", 1, 2],
    ["max", 1],
    ["exp", 1, 2],
    ["chi2_cdf", 1],
    ["=>", TRUE],
    ["=>", TRUE, TRUE, TRUE],
    ["not", TRUE, TRUE],
    ["and", TRUE],
    ["or"],
    ["+", TRUE, 1],
    ["<", TRUE, 3],
    ["=", TRUE, TRUE],
    ["and", "x", "y"],
    ["not", "x"],
    ["exp", TRUE],
    ["call", "f"],
    ["call", "f", TRUE],
    ["call", "max", 1, 2],
    ["forall", [], TRUE],
    ["forall", ["x", "x"], TRUE],
    ["forall", "x", TRUE],
    ["forall", ["x"], "x"],
    ["power", 1, 2],
    [],
    [[]],
    [["+"], 1, 2],
    [1, 2],
    1.5,
    float("nan"),
    float("inf"),
    True,
    None,
    {"x": 1},
    "1e9",
    "1/0",
    "\u0663",
    "9" * 401,
    10**401,
    ["^", "x", 10**10],
    ["^", "x", "-1001"],
    nested(101),
    ["+", *[0] * 10_001],
]


@pytest.mark.parametrize("formula", NO_FORMULAS, ids=lambda formula: repr(formula)[:40])
def test_what_is_no_formula_is_refused_by_all(formula: Any) -> None:
    for use in (read, text, smtlib, free, conditions):
        with pytest.raises(FormulaError):
            use(formula)
    for value in (evaluate, enclose, decide):
        with pytest.raises(FormulaError):
            value(formula, {"x": Fraction(1), "y": Fraction(2)})


@pytest.mark.parametrize("formula", NO_FORMULAS, ids=lambda formula: repr(formula)[:40])
def test_it_is_refused_inside_others(formula: Any) -> None:
    for whole in (["<", 0, formula], ["or", ["<", 0, 1], formula], ["not", formula]):
        with pytest.raises(FormulaError):
            read(whole)


def test_no_theorem_from_a_wrong_number_of_operands() -> None:
    for formula in (["=", ["/", 8, 2, 2], 4], ["<", 0, 1, 0]):
        with pytest.raises(Rejected, match="operands"):
            check("formula", {"values": {}, "formulas": [formula], "supports": "holds"})
    step = {"name": "", "engine": "smt", "variables": ["x"], "hypotheses": [["<", 0, "x"]], "conclusion": ["<", "x", 1]}
    for change in ({"hypotheses": [["<", 0, "x", 0]]}, {"conclusion": ["=>", ["<", "x", 1]]}):
        with pytest.raises(Rejected, match="operands"):
            check("proof", {"supports": "holds", "argument": "", "steps": [{**step, **change}]})


def test_large_powers_are_enclosed() -> None:
    with precision():
        assert decide(["<", 1, ["^", 2, "n"]], {"n": Fraction(10**10)})
        assert decide(["<", ["^", ["/", "n", ["+", "n", 1]], "n"], 1], {"n": Fraction(10**6)})
    with pytest.raises(FormulaError, match="no exact"):
        evaluate(["^", 2, "n"], {"n": Fraction(10**10)})


def test_nothing_undefined_has_a_value() -> None:
    zero = ["-", ["^", ["sqrt", 2], 2], 2]
    with precision():
        for formula in (
            [">=", ["abs", ["/", 1, zero]], 0],
            ["<", ["exp", ["-", ["^", 0, -1]]], 1],
            ["or", ["<", 0, 1], ["<", ["ln", -1], 0]],
            ["<=", ["chi2_cdf", -1, 2], 1],
            ["<=", ["chi2_cdf", 1, 0], 1],
        ):
            with pytest.raises(FormulaError, match=r"undecided|not defined"):
                decide(formula, {})
