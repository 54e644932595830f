"""Checks proofs: every step is a query rebuilt from its formulas and rerun, or an identity expanded again.

Inputs: {"argument": how the steps make the claim, "steps": [step, ...], "rests_on": [theorem, ...]?}. A step is one of
    {"name", "engine": "smt", "variables": [...], "functions": {name: arity}?, "hypotheses": [formula],
     "conclusion": formula, "model": {variable: rational}?}
    {"name", "engine": "identity", "left": formula, "right": formula}
    {"name", "engine": "derivative", "variable", "antiderivative": formula, "derivative": formula}
    {"name", "engine": "satisfiable", "variables", "hypotheses": [formula], "model"?}   (where existence is the claim)
An smt step holds when z3 and cvc5 both find its negation unsatisfiable; `unknown` or a timeout is a failure. Its
hypotheses must be satisfiable, so that nothing is proved from a contradiction: one solver says sat and the other does
not say unsat, or the step carries a rational "model" that satisfies them when evaluated exactly. Where existence is the
claim, both solvers must say sat, or there must be a model. Its conclusion must not be one of its hypotheses, however
written (`replay.normal_form`).

An identity holds when left - right, put over one denominator, is the zero polynomial in the variables and in their
exponentials, logarithms and roots; a derivative is an identity between SymPy's derivative of the one formula and the
other. Neither side may be the other, and both sides must be defined, and enclose one value, at some point tried.

A theorem that the argument rests on is cited, not checked: {"name", "source", "statement", "hypotheses": {hypothesis:
where}}. Where each hypothesis is met is the name of a step, or "claim: " and words of the claim, which `conclusion`
looks up there.

No step is about undefined terms. Denominators that are not 0, logarithms and roots of what is not negative: these
conditions are derived from the formulas. An identity or derivative states them; in an smt step both solvers must prove
them from the hypotheses (in a query x/0 is some number); what is to exist must meet them too.
"""

import contextlib
import functools
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpassay.replay import Rejected
from dpassay.replay.cvc5_process import answer
from dpassay.replay.formula import Term, conditions, decide, enclose, evaluate, read, smtlib, symbol, text, variables
from dpassay.replay.formula import operand_text as in_parentheses
from dpassay.replay.normal_form import same_shape, says_again
from dpassay.replay.numbers import fields, fraction, precision, rational
from dpassay.replay.operators import NUMBER, TRUTH, FormulaError

TIMEOUT_MILLISECONDS = 60_000


MAX_ARITY = 10
OF_CLAIM = "claim: "
_POINTS = (
    Fraction(7, 5),
    Fraction(2, 7),
    Fraction(13, 3),
    Fraction(101),
    Fraction(1, 97),
    Fraction(3, 4),
    Fraction(-5, 3),
)

_FORMULAS = {
    "smt": {"conclusion": TRUTH},
    "satisfiable": {},
    "identity": {"left": NUMBER, "right": NUMBER},
    "derivative": {"antiderivative": NUMBER, "derivative": NUMBER},
}
_FIELDS = {
    "smt": (("variables", "hypotheses"), ("functions", "model")),
    "satisfiable": (("variables", "hypotheses"), ("model",)),
    "identity": ((), ()),
    "derivative": (("variable",), ()),
}


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Reruns every step; raises `Rejected` at the first that fails."""
    fields(inputs, "a proof", ("argument", "steps"), ("rests_on",))
    if not inputs["steps"]:
        raise Rejected("a proof needs at least one step")
    steps = [read_step(step) for step in inputs["steps"]]
    checks = {"smt": _smt, "identity": _identity, "derivative": _derivative, "satisfiable": _satisfiable}
    checked = []
    for step in steps:
        with precision():
            checks[step["engine"]](step)
            checked.append(_stated(step))
    cited = [_cited(theorem, [step["name"] for step in steps]) for theorem in inputs.get("rests_on", [])]
    return {
        "argument": str(inputs["argument"]),
        **({"rests_on": cited} if cited else {}),
        "steps": checked,
        "summary": f"{len(steps)} step{'s' if len(steps) > 1 else ''} proved again"
        + "".join(f", {theorem['name']} ({theorem['source']}) cited" for theorem in cited)
        + ": "
        + "; ".join(s["name"] for s in steps),
    }


def _cited(theorem: Mapping[str, Any], steps: Sequence[str]) -> Mapping[str, Any]:
    """The theorem as it stands, once each of its hypotheses names a step of the proof, or words of the claim."""
    fields(theorem, "a cited theorem", ("name", "source", "statement", "hypotheses"))
    if not theorem["hypotheses"]:
        raise Rejected(f"{theorem['name']} is cited without the hypotheses that it needs")
    for hypothesis, where in theorem["hypotheses"].items():
        if where not in steps and not where.startswith(OF_CLAIM):
            raise Rejected(f"{theorem['name']} needs that {hypothesis}, which no step checks: {where!r}")
    return theorem


def _stated(step: Mapping[str, Any]) -> dict[str, Any]:
    where = {"defined": [text(condition) for condition in defined(step)] if "hypotheses" not in step else []}
    model = {"model": {name: str(value) for name, value in step.get("model", {}).items()}}
    found = {key: value for key, value in {**where, **model}.items() if value}
    return {"name": step["name"], "statement": statement(step), **found}


def read_step(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step with its formulas and numbers read; what was read before stays as it is.

    Raises:
        Rejected: an unknown engine, missing or unknown fields, or a number that is none.
        FormulaError: a formula that is none (see `formula.read`).
    """
    engine = step.get("engine") if isinstance(step, Mapping) else None
    if engine not in _FIELDS:
        raise Rejected(f"unknown engine {engine!r}: use one of {', '.join(_FIELDS)}")
    required, optional = _FIELDS[engine]
    fields(step, f"a step by {engine}", ("name", "engine", *_FORMULAS[engine], *required), optional)
    made = {**step, "name": str(step["name"])}
    made |= {name: read(step[name], sort) for name, sort in _FORMULAS[engine].items()}
    if "hypotheses" in required:
        made["hypotheses"] = [read(hypothesis, TRUTH) for hypothesis in step["hypotheses"]]
    if "model" in step:
        made["model"] = {
            symbol(n): v if isinstance(v, Fraction) else fraction(rational(v)) for n, v in step["model"].items()
        }
    return made


def defined(step: Mapping[str, Any]) -> list[Term]:
    """What must hold for the terms of a step to be defined, apart from what its hypotheses say."""
    step = read_step(step)
    hypotheses = step.get("hypotheses", [])
    terms = [*hypotheses, *(step[name] for name in _FORMULAS[step["engine"]])]
    needed = dict.fromkeys(condition for term in terms for condition in conditions(term))
    if step["engine"] == "derivative":  # a root has none at 0
        needed = dict.fromkeys(Term(">" if each.head == ">=" else each.head, each.operands) for each in needed)
    needed = dict.fromkeys(each for each in needed if not says_again(hypotheses, each))
    return [each for each in needed if not says_again([other for other in needed if other is not each], each)]


def statement(step: Mapping[str, Any]) -> str:
    """A step as a sentence, from the same formulas as its query."""
    step = read_step(step)
    if step["engine"] in ("identity", "derivative"):
        left, right = (text(step[name]) for name in _FORMULAS[step["engine"]])
        side = left if step["engine"] == "identity" else f"d/d{step['variable']} of {left}"
        where = " and ".join(map(text, defined(step)))
        return f"{side} = {right}" + (f", where {where}" if where else "")
    listed = step["hypotheses"]
    hypotheses = " and ".join(map(_joined, listed)) if len(listed) > 1 else "".join(map(text, listed))
    if step["engine"] == "satisfiable":
        return f"there are reals with {hypotheses}"
    return f"if {hypotheses}, then {text(step['conclusion'])}" if hypotheses else text(step["conclusion"])


def _joined(term: Term) -> str:
    """The text of one of several truths joined by `and`: in parentheses unless it is a comparison or an `and`."""
    comparison = term.operator is not None and term.operator.takes == NUMBER
    return text(term) if comparison or term.head == "and" else in_parentheses(term)


def query(step: Mapping[str, Any], *, negated_conclusion: bool) -> str:
    """The SMT-LIB 2 text: hypotheses, and the negated conclusion when asked for."""
    step = read_step(step)
    if negated_conclusion:
        asserted = [*step["hypotheses"], Term("not", (step["conclusion"],))]
    else:
        asserted = [*step["hypotheses"], *(each for term in step["hypotheses"] for each in conditions(term))]
    free = frozenset[str]().union(*map(variables, asserted)) - set(step["variables"])
    if free:
        raise Rejected(f"undeclared variables {sorted(free)} in {step['name']}")
    functions = step.get("functions", {})
    names = [symbol(name) for name in (*step["variables"], *functions)]
    if len(set(names)) < len(names):
        raise Rejected(f"a name is declared twice in {step['name']}")
    if any(type(arity) is not int or not 1 <= arity <= MAX_ARITY for arity in functions.values()):
        raise Rejected(f"a function of {step['name']} takes 1 to {MAX_ARITY} numbers")
    logic = "UFNIRA" if functions else "NRA" if any(map(_quantified, asserted)) else "QF_NRA"
    lines = [f"(set-logic {logic})"]
    lines += [f"(declare-fun {name} ({' '.join(['Real'] * arity)}) Real)" for name, arity in sorted(functions.items())]
    lines += [f"(declare-const {name} Real)" for name in step["variables"]]
    lines += [f"(assert {smtlib(term)})" for term in asserted]
    return "\n".join([*lines, "(check-sat)"])


def solve(text: str) -> dict[str, str]:
    """Each solver's answer to a query: sat, unsat or unknown."""
    return {"z3": _z3(text, TIMEOUT_MILLISECONDS), "cvc5": _cvc5(text, TIMEOUT_MILLISECONDS)}


def seems_unsatisfiable(text: str, milliseconds: int) -> bool:
    """What one solver says: good for a guess, which is then shown."""
    return _z3(text, milliseconds) == "unsat"


def unsatisfiable(text: str, milliseconds: int) -> bool:
    """Whether both solvers say so in that time; the second is asked once the first does."""
    return _z3(text, milliseconds) == "unsat" and _cvc5(text, milliseconds) == "unsat"


def satisfiable(text: str, milliseconds: int) -> bool:
    """Whether one solver says so, and the other does not contradict it."""
    found = {_z3(text, milliseconds), _cvc5(text, milliseconds)}
    return "sat" in found and "unsat" not in found


def _smt(step: Mapping[str, Any]) -> None:
    if says_again(step["hypotheses"], step["conclusion"]):
        raise Rejected(f"{step['name']} says nothing: its conclusion is its hypothesis or true by its form alone")
    _require_proved(step, step["name"])
    if needed := defined(step):
        meant = {**step, "conclusion": needed[0] if len(needed) == 1 else Term("and", tuple(needed))}
        _require_proved(meant, f"{step['name']} is defined: {text(meant['conclusion'])}")
    if step["hypotheses"]:
        _require_satisfiable(step, both=False)


def _require_proved(step: Mapping[str, Any], what: str) -> None:
    answers = solve(query(step, negated_conclusion=True))
    if set(answers.values()) != {"unsat"}:
        raise Rejected(f"not proved: {what} ({', '.join(f'{s}: {a}' for s, a in answers.items())})")


def _satisfiable(step: Mapping[str, Any]) -> None:
    if not step["hypotheses"]:
        raise Rejected(f"{step['name']} says nothing: it has no formula to satisfy")
    _require_satisfiable(step, both=True)


def _require_satisfiable(step: Mapping[str, Any], *, both: bool) -> None:
    if "model" in step:
        false = [text(h) for h in step["hypotheses"] if evaluate(h, step["model"]) is not True]
        if false:
            raise Rejected(f"the model of {step['name']} does not satisfy {false[0]}")
        return
    answers = solve(query(step, negated_conclusion=False))
    allowed = {"sat"} if both else {"sat", "unknown"}
    if "sat" not in answers.values() or not set(answers.values()) <= allowed:
        raise Rejected(f"hypotheses not shown satisfiable: {step['name']} ({answers})")


def _identity(step: Mapping[str, Any]) -> None:
    if same_shape(step["left"], step["right"]):
        raise Rejected(f"{step['name']} says nothing: both sides are the same")
    _require_zero(step, _symbolic(step["left"]) - _symbolic(step["right"]))
    left, right = _somewhere(step, "left", "right")
    if not left.overlaps(right):
        raise Rejected(f"not an identity: {step['name']} (at some numbers {left.str(6)} is not {right.str(6)})")


def _derivative(step: Mapping[str, Any]) -> None:
    import sympy

    variable = sympy.Symbol(symbol(step["variable"]))
    antiderivative = _symbolic(step["antiderivative"])
    if variable not in antiderivative.free_symbols:
        raise Rejected(f"{step['name']}: the antiderivative does not contain {step['variable']}")
    _require_zero(step, antiderivative.diff(variable) - _symbolic(step["derivative"]))
    _somewhere(step, "antiderivative", "derivative")


def _somewhere(step: Mapping[str, Any], *sides: str) -> list[Any]:
    """Enclosures of the sides where all is defined, at the first point found.

    Raises:
        Rejected: no point tried will do: the step may be about nothing.
    """
    names, needed = sorted(frozenset[str]().union(*(variables(step[side]) for side in sides))), defined(step)
    for stride, shift in itertools.product(range(1, len(_POINTS)), range(len(_POINTS))):
        point = {name: _POINTS[(place * stride + shift) % len(_POINTS)] for place, name in enumerate(names)}
        with contextlib.suppress(FormulaError):
            if all(decide(condition, point) for condition in needed):
                return [enclose(step[side], point) for side in sides]
    raise Rejected(f"{step['name']} is defined nowhere that was tried")


def _require_zero(step: Mapping[str, Any], difference: Any) -> None:
    import sympy

    numerator, denominator = sympy.fraction(sympy.together(difference))
    if sympy.expand(denominator) == 0 or sympy.expand(numerator) != 0:
        raise Rejected(f"not an identity: {step['name']} (the difference is {sympy.factor(numerator)})")


def _symbolic(term: Term) -> Any:
    """The formula in SymPy, its variables complex: nothing holds by an assumption about them."""
    import sympy

    if term.value is not None:
        return sympy.Rational(term.value.numerator, term.value.denominator)
    if not term.head:
        return sympy.Symbol(term.names[0])
    if term.operator is None or term.operator.sympy is None:
        raise Rejected(f"{term.head!r} cannot stand in an identity")
    return term.operator.sympy(sympy, *map(_symbolic, term.operands))


def _quantified(term: Term) -> bool:
    return term.head in ("forall", "exists") or any(map(_quantified, term.operands))


@functools.lru_cache(maxsize=2048)  # proofs share lemmas
def _z3(text: str, milliseconds: int) -> str:
    import z3

    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    try:
        solver.from_string(text)
    except z3.Z3Exception as error:
        raise Rejected(f"z3 cannot read the query: {error}") from error
    return asked(solver)


def asked(solver: Any) -> str:
    """What a solver of z3's says; z3 takes a Ctrl-C for itself while it works, which is passed on."""
    found = str(solver.check())
    if found == "unknown" and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    return found


@functools.lru_cache(maxsize=2048)
def _cvc5(text: str, milliseconds: int) -> str:
    output = answer(text, milliseconds / 1000)
    if output.startswith("(error"):
        raise Rejected(f"cvc5 cannot read the query: {output}")
    return output
