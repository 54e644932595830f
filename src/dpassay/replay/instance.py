"""Checks formulas at stated numbers.

Inputs:
    "values": {name: number}, integers or strings "3", "1/2", "0.25"
    "formulas": [formula, ...] (see `replay.formula`), each a comparison or a combination of comparisons

Each formula must be certainly true: decided on exact rationals where both its sides are rational, else by enclosures.
None may compare a number with itself.
"""

from collections.abc import Mapping
from typing import Any

from dpassay.replay import Rejected
from dpassay.replay.formula import decide, read, symbol, text
from dpassay.replay.normal_form import same_shape
from dpassay.replay.numbers import fields, precision, rational, show
from dpassay.replay.operators import NUMBER, TRUTH


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluates every formula again; raises `Rejected` at the first that is not certainly true."""
    fields(inputs, "a formula instance", ("values", "formulas"))
    values = {symbol(name): rational(value) for name, value in inputs["values"].items()}
    if not inputs["formulas"]:
        raise Rejected("an instance needs at least one formula")
    formulas = [read(formula, TRUTH) for formula in inputs["formulas"]]
    with precision():
        for formula in formulas:
            if formula.operator and formula.operator.takes == NUMBER and same_shape(*formula.operands):
                raise Rejected(f"the formula says nothing, both sides are the same: {text(formula)}")
            if not decide(formula, values):
                raise Rejected(f"the formula is false: {text(formula)}")
    statements = [text(formula) for formula in formulas]
    where = ", ".join(f"{name} = {show(value)}" for name, value in sorted(values.items()))
    return {
        "values": {name: show(value) for name, value in values.items()},
        "formulas": statements,
        "summary": f"certainly true{f' at {where}' if where else ''}: " + "; ".join(statements),
    }
