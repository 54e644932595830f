"""The language in which proofs are written: formulas in Python's notation, steps, and certificates made of them.

A step has the format of `dpassay.replay.proof`. Nothing here is trusted: what these functions build is checked there.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpassay.replay.formula import variables

Step = Mapping[str, Any]
Theorem = Mapping[str, Any]


def formula(text: str) -> Any:
    """A formula for a certificate, from Python's notation: + - * / **, comparisons, and, or, not, implies(a, b).

    >>> formula("0 < p <= 1 and p * k >= 3 / 2")
    ['and', ['<', 0, 'p'], ['<=', 'p', 1], ['>=', ['*', 'p', 'k'], ['/', 3, 2]]]
    """
    return _convert(ast.parse(text, mode="eval").body)


def formulas(texts: str | Iterable[str]) -> list[Any]:
    """The formulas of a text, or of several, separated by commas.

    >>> formulas("0 < p, p < 1")
    [['<', 0, 'p'], ['<', 'p', 1]]
    """
    listed = ast.parse(f"[{texts if isinstance(texts, str) else ', '.join(texts)}]", mode="eval").body
    assert isinstance(listed, ast.List)
    return [_convert(each) for each in listed.elts]


def smt(name: str, hypotheses: str | Iterable[str], conclusion: str, model: str = "") -> Step:
    """A step that z3 and cvc5 must both prove.

    Args:
        name: what it says, in words.
        hypotheses: formulas, separated by commas.
        conclusion: a formula.
        model: rationals that satisfy the hypotheses, so that they contradict nothing, as in "p = 1/2, k = 3".
    """
    read, concluded = formulas(hypotheses), formula(conclusion)
    step = {
        "name": name,
        "engine": "smt",
        "variables": _names([*read, concluded]),
        "hypotheses": read,
        "conclusion": concluded,
    }
    return {**step, "model": _numbers(model)} if model else step


def identity(name: str, equation: str) -> Step:
    """A step `left == right` that SymPy must expand to 0 = 0."""
    _, left, right = formula(equation)
    return {"name": name, "engine": "identity", "left": left, "right": right}


def derivative(name: str, variable: str, antiderivative: str, of: str) -> Step:
    """A step that says d/d`variable` of `antiderivative` is `of`, checked by SymPy."""
    return {
        "name": name,
        "engine": "derivative",
        "variable": variable,
        "antiderivative": formula(antiderivative),
        "derivative": formula(of),
    }


def possible(name: str, hypotheses: str | Iterable[str], model: str) -> Step:
    """A step that exhibits rationals with the stated properties, as `smt` writes them."""
    read = formulas(hypotheses)
    step = {"name": name, "engine": "satisfiable", "variables": _names(read), "hypotheses": read}
    return {**step, "model": _numbers(model)}


def cited(name: str, source: str, statement: str, hypotheses: Mapping[str, str]) -> Theorem:
    """A published theorem that an argument rests on: cited, not checked.

    Args:
        name: as in the literature, with its number there if it has one.
        source: authors and year.
        statement: the theorem in one sentence.
        hypotheses: what it needs -> the name of the step that checks it, or "claim: " and words of the claim.
    """
    return {"name": name, "source": source, "statement": statement, "hypotheses": dict(hypotheses)}


def proof(
    argument: str, *parts: Step | Sequence[Step], rests_on: Sequence[Theorem] = (), supports: str = "holds"
) -> dict[str, Any]:
    """A certificate {"kind", "inputs"} from steps and lemmas; a lemma used twice is stated once."""
    steps: list[Step] = []
    for part in parts:
        for step in [part] if isinstance(part, Mapping) else part:
            if step not in steps:
                steps.append(step)
    inputs = {"supports": supports, "argument": argument, "steps": [dict(step) for step in steps]}
    cited = {"rests_on": [dict(theorem) for theorem in rests_on]} if rests_on else {}
    return {"kind": "proof", "inputs": {**inputs, **cited}}


def instance(values: Mapping[str, Any], *formulas: Any, supports: str) -> dict[str, Any]:
    """A certificate {"kind", "inputs"} that these formulas, as texts or read, are true at these numbers."""
    read = [formula(each) if isinstance(each, str) else each for each in formulas]
    return {"kind": "formula", "inputs": {"values": dict(values), "formulas": read, "supports": supports}}


_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "^"}
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "="}


def _convert(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return [_OPERATORS[type(operator)], _convert(left), _convert(right)]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ["-", _convert(operand)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ["not", _convert(operand)]
        case ast.BoolOp(op=ast.And(), values=values):
            parts = [_convert(value) for value in values]
            return ["and", *(p for part in parts for p in (part[1:] if part[0] == "and" else [part]))]
        case ast.BoolOp(op=ast.Or(), values=values):
            return ["or", *(_convert(value) for value in values)]
        case ast.Compare(left=left, ops=operators, comparators=comparators):
            ends = [_convert(end) for end in (left, *comparators)]
            pairs = zip(operators, ends[:-1], ends[1:], strict=True)
            compared = [[_COMPARISONS[type(operator)], a, b] for operator, a, b in pairs]
            return compared[0] if len(compared) == 1 else ["and", *compared]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return ["=>" if name == "implies" else name, *(_convert(argument) for argument in arguments)]
    raise ValueError(f"not a formula: {ast.unparse(node)}")


def _names(read: Sequence[Any]) -> list[str]:
    return sorted(frozenset().union(*(variables(each) for each in read)))


def _numbers(model: str) -> dict[str, str]:
    name_and_number = (assignment.split(" = ") for assignment in model.split(", "))
    return {name: number for name, number in name_and_number}
