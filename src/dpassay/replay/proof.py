"""Checks proofs: every step is a query rebuilt from its formulas and rerun, or an identity expanded again.

Inputs: {"argument": how the steps make the claim, "steps": [step, ...]}. A step is one of
    {"name", "engine": "smt", "variables": [...], "functions": {name: arity}?, "hypotheses": [formula],
     "conclusion": formula, "model": {variable: rational}?}
    {"name", "engine": "identity", "left": formula, "right": formula}
    {"name", "engine": "derivative", "variable", "antiderivative": formula, "derivative": formula}
    {"name", "engine": "satisfiable", "variables", "hypotheses": [formula]}   (used where existence is the claim)
An smt step holds when z3 and cvc5 both find its negation unsatisfiable; `unknown` or a timeout is a failure. Its
hypotheses must be satisfiable, so that nothing is proved from a contradiction: one solver says sat and the other does
not say unsat, or the step carries a rational "model" that satisfies them when evaluated exactly. Where existence is the
claim, both solvers must say sat, or there must be a model. An identity holds when left - right, put over one
denominator, is the zero polynomial in the variables and in their exponentials, logarithms and roots; a derivative is an
identity between SymPy's derivative of the one formula and the other.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpassay.replay import Rejected
from dpassay.replay.cvc5_process import answer
from dpassay.replay.formula import evaluate, is_number, smtlib, symbol, text, variables
from dpassay.replay.numbers import fields

TIMEOUT_MILLISECONDS = 60_000


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Reruns every step; raises `Rejected` at the first that fails."""
    fields(inputs, "a proof", ("argument", "steps"))
    steps: Sequence[Mapping[str, Any]] = inputs["steps"]
    if not steps:
        raise Rejected("a proof needs at least one step")
    engines = {"smt": _smt, "identity": _identity, "derivative": _derivative, "satisfiable": _satisfiable}
    checked = []
    for step in steps:
        if step["engine"] not in engines:
            raise Rejected(f"unknown engine {step['engine']!r}")
        engines[step["engine"]](step)
        model = {name: str(Fraction(value)) for name, value in step.get("model", {}).items()}
        checked.append({"name": step["name"], "statement": statement(step), **({"model": model} if model else {})})
    return {
        "argument": str(inputs.get("argument", "")),
        "steps": checked,
        "summary": f"{len(steps)} step{'s' if len(steps) > 1 else ''} proved again: "
        + "; ".join(s["name"] for s in steps),
    }


def statement(step: Mapping[str, Any]) -> str:
    """A step as a sentence, from the same formulas as its query."""
    if step["engine"] == "identity":
        return f"{text(step['left'])} = {text(step['right'])}"
    if step["engine"] == "derivative":
        return f"d/d{step['variable']} of {text(step['antiderivative'])} = {text(step['derivative'])}"
    hypotheses = " and ".join(text(h) for h in step["hypotheses"])
    if step["engine"] == "satisfiable":
        return f"there are reals with {hypotheses}"
    return f"if {hypotheses}, then {text(step['conclusion'])}" if hypotheses else text(step["conclusion"])


def query(step: Mapping[str, Any], *, negated_conclusion: bool) -> str:
    """The SMT-LIB 2 text: hypotheses, and the negated conclusion when asked for."""
    declared = set(step["variables"])
    formulas = [*step["hypotheses"], *([step["conclusion"]] if negated_conclusion else [])]
    free = frozenset().union(*(variables(f) for f in formulas)) if formulas else frozenset()
    if free - declared:
        raise Rejected(f"undeclared variables {sorted(free - declared)} in {step['name']}")
    functions = step.get("functions", {})
    names = [symbol(name) for name in (*step["variables"], *functions)]
    if len(set(names)) < len(names):
        raise Rejected(f"a name is declared twice in {step['name']}")
    lines = [f"(set-logic {'UFNIRA' if functions else 'QF_NRA' if not _quantified(formulas) else 'NRA'})"]
    lines += [f"(declare-fun {name} ({' '.join(['Real'] * arity)}) Real)" for name, arity in sorted(functions.items())]
    lines += [f"(declare-const {name} Real)" for name in step["variables"]]
    lines += [f"(assert {smtlib(h)})" for h in step["hypotheses"]]
    if negated_conclusion:
        lines.append(f"(assert (not {smtlib(step['conclusion'])}))")
    return "\n".join([*lines, "(check-sat)"])


def solve(text: str) -> dict[str, str]:
    """Each solver's answer to a query: sat, unsat or unknown."""
    return {"z3": _z3(text), "cvc5": _cvc5(text)}


def _smt(step: Mapping[str, Any]) -> None:
    answers = solve(query(step, negated_conclusion=True))
    if set(answers.values()) != {"unsat"}:
        raise Rejected(f"not proved: {step['name']} ({', '.join(f'{s}: {a}' for s, a in answers.items())})")
    if step["hypotheses"]:
        _require_satisfiable(step, both=False)


def _satisfiable(step: Mapping[str, Any]) -> None:
    if not step["hypotheses"]:
        raise Rejected(f"{step['name']} says nothing: it has no formula to satisfy")
    _require_satisfiable(step, both=True)


def _require_satisfiable(step: Mapping[str, Any], *, both: bool) -> None:
    if "model" in step:
        model = {name: Fraction(value) for name, value in step["model"].items()}
        false = [text(h) for h in step["hypotheses"] if evaluate(h, model) is not True]
        if false:
            raise Rejected(f"the model of {step['name']} does not satisfy {false[0]}")
        return
    answers = solve(query(step, negated_conclusion=False))
    allowed = {"sat"} if both else {"sat", "unknown"}
    if "sat" not in answers.values() or not set(answers.values()) <= allowed:
        raise Rejected(f"hypotheses not shown satisfiable: {step['name']} ({answers})")


def _identity(step: Mapping[str, Any]) -> None:
    _require_zero(step, _symbolic(step["left"]) - _symbolic(step["right"]))


def _derivative(step: Mapping[str, Any]) -> None:
    import sympy

    variable = sympy.Symbol(symbol(step["variable"]))
    antiderivative = _symbolic(step["antiderivative"])
    if variable not in antiderivative.free_symbols:
        raise Rejected(f"{step['name']}: the antiderivative does not contain {step['variable']}")
    _require_zero(step, antiderivative.diff(variable) - _symbolic(step["derivative"]))


def _require_zero(step: Mapping[str, Any], difference: Any) -> None:
    import sympy

    numerator, denominator = sympy.fraction(sympy.together(difference))
    if sympy.expand(denominator) == 0 or sympy.expand(numerator) != 0:
        raise Rejected(f"not an identity: {step['name']} (the difference is {sympy.factor(numerator)})")


def _symbolic(formula: Any) -> Any:
    """The formula in SymPy, its variables complex: nothing holds by an assumption about them."""
    import sympy

    if isinstance(formula, int):
        return sympy.Integer(formula)
    if isinstance(formula, str):
        return sympy.Rational(formula) if is_number(formula) else sympy.Symbol(symbol(formula))
    head, *arguments = formula
    parts = [_symbolic(argument) for argument in arguments]
    if head == "+":
        return sympy.Add(*parts)
    if head == "*":
        return sympy.Mul(*parts)
    if head == "-":
        return -parts[0] if len(parts) == 1 else parts[0] - sympy.Add(*parts[1:])
    if head == "/":
        return parts[0] / parts[1]
    if head == "^":
        return parts[0] ** parts[1]
    if head in ("exp", "ln", "sqrt"):
        return {"exp": sympy.exp, "ln": sympy.log, "sqrt": sympy.sqrt}[head](parts[0])
    raise Rejected(f"{head!r} cannot stand in an identity")


def _quantified(formulas: Sequence[Any]) -> bool:
    return any(isinstance(f, list | tuple) and (f[0] in ("forall", "exists") or _quantified(f[1:])) for f in formulas)


def _z3(text: str) -> str:
    import z3

    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MILLISECONDS)
    try:
        solver.from_string(text)
    except z3.Z3Exception as error:
        raise Rejected(f"z3 cannot read the query: {error}") from error
    return str(solver.check())


def _cvc5(text: str) -> str:
    output = answer(text, TIMEOUT_MILLISECONDS / 1000)
    if output.startswith("(error"):
        raise Rejected(f"cvc5 cannot read the query: {output}")
    return output
