"""Refutes a program's privacy claim by two neighboring inputs and an event: both probabilities by exact integration.

Inputs: "program": {"text", "entry"}, "parameters": {name: "int" | "real" | "bool" | "list[...]"}, "relation":
{"kind", "bounds", "values", "radius", "records"}, "claim": {"notion": "epsilon" | "zcdp" | "gaussian", "bound"},
"assume": conditions; what refutes it: "values" of the parameters, "data1", "data2" (exact numbers as text), "output":
the event, and but for epsilon "order", the order of the Renyi divergence that is too large.

An event is a list of events (of a list or tuple of that length), true, false, null, an integer, a text (of an equal
text), or {"between": [low, high]}: a number in the closed interval, whose ends are exact numbers or null.

An interpreter of Python runs the program's text on both inputs with symbolic noise. Shown is P1 > exp(bound) P2, or
for zCDP that the Renyi divergence of (P1, 1 - P1) from (P2, 1 - P2), which is at most that of the outputs, is above
order * bound. What a run left unresolved counts for P2 in full and for P1 not at all.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

from dpassay.replay import Rejected
from dpassay.replay.exact_integration import probability
from dpassay.replay.linear_forms import FLOATS, Form, Path, Run, constant, number, paths, sign
from dpassay.replay.numbers import bounds as enclosed
from dpassay.replay.numbers import fields, precision, rational, show
from dpassay.replay.plain_interpreter import Undefined, plain_program
from dpassay.replay.program_core import RELATIONS
from dpassay.replay.symbolic_generator import SymbolicGenerator

MAX_PATHS = 4096
MAX_ENTRIES = 64
MAX_STEPS = 20_000
FIELDS = ("program", "parameters", "relation", "claim", "assume", "values", "data1", "data2", "output")


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Both probabilities of the event, as enclosures; raises `Rejected` unless they certainly violate the claim."""
    fields(inputs, "a refutation", FIELDS, ("order",))
    fields(inputs["program"], "the program", ("text", "entry"))
    fields(inputs["claim"], "the claim", ("notion", "bound"))
    from dpassay.replay.alignment import statement  # which loads the solvers

    floats = FLOATS.set(False)
    try:
        return _computed(inputs, statement(inputs))
    finally:
        FLOATS.reset(floats)


def _computed(inputs: Mapping[str, Any], said: str) -> dict[str, Any]:
    with precision():
        values = parameter_values(inputs["parameters"], inputs["values"])
        for condition in inputs["assume"]:
            if evaluate(condition, values) is not True:
                raise Rejected(f"the parameters' values do not satisfy {condition}")
        check_neighbors(inputs["relation"], values, inputs["data1"], inputs["data2"])
        parameters, program = plain_program(inputs["program"]["text"], inputs["program"]["entry"])
        single = takes_one_value(inputs["program"]["text"], inputs["program"]["entry"])
        if single and not len(inputs["data1"]) == len(inputs["data2"]) == 1:
            raise Rejected("the program's data are one value each: a list of that value alone")
        if set(values) != set(parameters):
            raise Rejected(f"the program's parameters are {', '.join(parameters)}")
        kind = inputs["relation"]["values"]

        def run(data: Sequence[str]) -> Callable[[Run], Any]:
            entries = [value_of(each, kind) for each in data]
            given = entries[0] if single else entries
            return lambda draws: program(SymbolicGenerator(draws), copied(given), copied(values), MAX_STEPS)

        try:
            first, second = (
                event_probability(paths(run(inputs[data]), MAX_PATHS), inputs["output"]) for data in ("data1", "data2")
            )
        except (Undefined, TimeoutError) as error:
            raise Rejected(f"the program stops with an error on these inputs: {error}") from error
        bound = evaluate(inputs["claim"]["bound"], values)
        return {
            "supports": "refuted",
            "statement": said,
            "summary": f"refuted: {said}",
            "probability1": enclosed(first[0]),
            "probability2": enclosed(second[1]),
            **_violation(inputs, first[0], second[1], constant(bound, "the bound")),
        }


def takes_one_value(text: str, entry: str) -> bool:
    """Whether the data are annotated as a number: such a program is run on one value, not on a list."""
    functions = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef) and each.name == entry]
    annotations = [each.args.args[1].annotation for each in functions]
    return any(each and ast.unparse(each).strip("'\"") in ("int", "float", "bool") for each in annotations)


def _violation(inputs: Mapping[str, Any], p: Any, q: Any, bound: Any) -> dict[str, Any]:
    """What p = P1 at least and q = P2 at most violate; raises `Rejected` if that is not certain."""
    notion = inputs["claim"]["notion"]
    if notion not in ("epsilon", "zcdp", "gaussian"):
        raise Rejected(f"the claim's notion is {notion!r}: use epsilon, zcdp or gaussian")
    if notion == "gaussian":  # what is mu-GDP is (mu^2 / 2)-zCDP (Dong, Roth and Su 2022)
        notion, bound = "zcdp", bound * bound / 2
    if not p > 0:
        raise Rejected("the event is not certainly possible on data1")
    if notion == "zcdp" and "order" not in inputs:
        raise Rejected("a refutation of zCDP needs the order of a Renyi divergence")
    ratio = "inf" if q == 0 else enclosed(loss(p, q))
    if notion == "epsilon":
        if not arb(p) > arb(bound).exp() * arb(q):
            raise Rejected("the event's probabilities do not violate the claim")
        return {"log_ratio": ratio, "bound": enclosed(bound)}
    order = rational(inputs["order"])
    if order <= 1:
        raise Rejected("the order of a Renyi divergence must be above 1")
    if not arb(p) > arb(q):  # else less than what is unresolved could make them equal
        raise Rejected("the event is not certainly likelier on data1")
    if q == 0:
        return {"log_ratio": ratio, "divergence": "inf", "bound": enclosed(bound)}
    divergence = renyi(p, q, order)
    if not divergence > order * arb(bound):
        raise Rejected("the divergence does not violate the claim")
    return {"log_ratio": ratio, "divergence": enclosed(divergence), "bound": enclosed(order * arb(bound))}


def loss(p: Any, q: Any) -> Any:
    """log(p / q)."""
    return fmpq(0) if p is q or (isinstance(p, fmpq) and isinstance(q, fmpq) and p == q) else (arb(p) / arb(q)).log()


def renyi(p: Any, q: Any, order: fmpq) -> arb:
    """Renyi divergence of (p, 1 - p) from (q, 1 - q); at least its first term alone."""
    total, own = arb(0), arb(order)
    for a, b in ((arb(p), arb(q)), (1 - arb(p), 1 - arb(q))):
        if a > 0 and b > 0:
            total += (own * a.log() + (1 - own) * b.log()).exp()
    return total.log() / (own - 1)


def event_probability(found: Iterable[Path], event: Any, measure: Callable[..., Any] = probability) -> tuple[Any, Any]:
    """Probability of an event over all paths of a program, and the same with all that is unresolved."""
    least: Any = fmpq(0)
    unresolved: Any = fmpq(0)
    for path in found:
        run = replace(path.run, bounds=dict(path.run.bounds))
        if path.resolved and not confined(run, path.output, event):
            continue
        mass = run.weight * measure(run.noises, run.bounds)
        least, unresolved = (least + mass, unresolved) if path.resolved else (least, unresolved + mass)
    return least, least + unresolved


def confined(run: Run, output: Any, event: Any) -> bool:
    """Restricts the run's region to where its output is in the event; False if that is impossible.

    Raises:
        Rejected: no such event.
    """
    if isinstance(event, list):
        if not isinstance(output, list | tuple) or len(output) != len(event):
            return False
        return all(confined(run, each, within) for each, within in zip(output, event, strict=True))
    if event is None or isinstance(event, bool | str):
        return type(output) is type(event) and bool(output == event)
    if output is None or isinstance(output, bool | str | list | tuple):
        return False
    form = output if isinstance(output, Form) else Form(constant(output, "the output"))
    low, high = (event, event) if isinstance(event, int) else _ends(event)
    above = low is None or run.confine(rational(low) - form)
    return (high is None or run.confine(form - rational(high))) and above


def _ends(event: Any) -> tuple[Any, Any]:
    fields(event, "a part of the event", ("between",))
    ends = event["between"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise Rejected("between has two ends")
    return ends[0], ends[1]


# Parameters and data.

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "exp": lambda value: Form(constant(value, "an exponent")).exp(),
    "log": lambda value: Form(constant(value, "an argument of log")).log(),
    "sqrt": lambda value: Form(constant(value, "an argument of sqrt")).sqrt(),
    "float": lambda value: value,
    "floor": math.floor,
    "ceil": math.ceil,
}
"""The pure functions of a program that are followed."""

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CALLS: Mapping[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in ("exp", "log", "sqrt")},
    "abs": abs,
    "min": min,
    "max": max,
}


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """A condition on the parameters (a truth value), or a term (a number without noise, as a form).

    Raises:
        Rejected: it is none, or names what is no parameter.
    """
    if not isinstance(text, str):
        raise Rejected(f"{text!r} is no expression")

    def value(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return Form(number(Fraction(repr(node.value))))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "len" and len(node.args) == 1 and not node.keywords:
            listed = values.get(ast.unparse(node.args[0]))
            if isinstance(listed, list):
                return Form(fmpq(len(listed)))
        if isinstance(node, ast.Name) and node.id in values and not isinstance(values[node.id], list):
            held = values[node.id]
            return held if isinstance(held, bool | Form) else Form(number(held))
        if isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in _OPERATORS:
            parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
            return _OPERATORS[type(node.op)](*map(value, parts))
        if isinstance(node, ast.Compare) and all(type(each) in _OPERATORS for each in node.ops):
            parts = [value(each) for each in (node.left, *node.comparators)]
            return all(_OPERATORS[type(op)](a, b) for op, a, b in zip(node.ops, parts, parts[1:], strict=False))
        if isinstance(node, ast.BoolOp):
            return (all if isinstance(node.op, ast.And) else any)(bool(value(each)) for each in node.values)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and not node.keywords
            and node.func.id in _CALLS
        ):
            found = _CALLS[node.func.id](*map(value, node.args))
            return found if isinstance(found, Form) else Form(number(found))
        raise Rejected(f"{text!r} is no expression in the parameters")

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, ValueError, TypeError) as error:
        raise Rejected(f"{text!r} has no value: {error}") from error


def parameter_values(sorts: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as the program gets them.

    Raises:
        Rejected: one is absent, unknown, or not of its sort.
    """
    fields(given, "the values", sorts)
    return {name: _parameter(given[name], sort) for name, sort in sorts.items()}


def copied(value: Any) -> Any:
    """A value whose lists are of its own, as a program may change them."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return list(value) if isinstance(value, list) else value


def _parameter(given: Any, sort: str) -> Any:
    """A public parameter's value; of a sort "list[...]" a list of such."""
    if not sort.startswith("list["):
        return value_of(given, sort)
    if not isinstance(given, list | tuple) or len(given) > MAX_ENTRIES:
        raise Rejected(f"a list is one of at most {MAX_ENTRIES} numbers")
    return [value_of(each, sort[5:-1]) for each in given]


def value_of(text: Any, sort: str) -> Any:
    """A number as a program gets it: an int, a bool, or a form without noise.

    Raises:
        Rejected: it is not of that sort.
    """
    exact = rational(text)
    if sort == "real":
        return Form(exact)
    if sort not in ("int", "bool") or exact.q != 1 or (sort == "bool" and exact not in (0, 1)):
        raise Rejected(f"{show(exact)} is no value of sort {sort!r}")
    return int(exact) if sort == "int" else bool(exact == 1)


def check_neighbors(relation: Mapping[str, Any], values: Mapping[str, Any], data1: Any, data2: Any) -> None:
    """Raises `Rejected` unless both inputs are of the relation's kind, and neighbors."""
    fields(relation, "the relation", ("kind", "bounds", "values", "radius"), ("records",))
    kind, radius = relation["kind"], constant(evaluate(relation["radius"], values), "the radius")
    if kind not in RELATIONS:
        raise Rejected(f"the relation is {kind!r}: use one of {', '.join(RELATIONS)}")
    records = constant(evaluate(relation["records"], values), "the records") if kind.endswith(":user") else fmpq(1)
    first, second = (_entries(relation, values, data) for data in (data1, data2))
    if kind.startswith("add_or_remove_one"):
        longer, shorter = (first, second) if len(first) > len(second) else (second, first)
        if not 0 < len(longer) - len(shorter) <= records or not _within(shorter, longer):
            raise Rejected(f"neither input is the other one with {_entries_said(records)} more")
        return
    if len(first) != len(second):
        raise Rejected("the inputs have different lengths")
    steps = [b - a for a, b in zip(first, second, strict=True)]
    if kind not in ("all_queries", "monotone_queries") and sum(step != 0 for step in steps) > records:
        raise Rejected(f"the inputs differ in more than {_entries_said(records)}")
    if not kind.startswith("replace_one") and any(sign(abs(step) - radius) > 0 for step in steps):
        raise Rejected(f"an entry changes by more than {relation['radius']}")
    if kind == "monotone_queries" and min(steps, default=0) < 0 < max(steps, default=0):
        raise Rejected("some entries go up and some go down")


def _entries_said(records: Any) -> str:
    """How many entries, in words."""
    return "one entry" if records == 1 else f"{show(records)} entries"


def _within(shorter: Sequence[Any], longer: Sequence[Any]) -> bool:
    """Whether a list is another one with some entries left out."""
    rest = iter(longer)
    return all(any(each == other for other in rest) for each in shorter)


def _entries(relation: Mapping[str, Any], values: Mapping[str, Any], data: Any) -> list[fmpq]:
    if not isinstance(data, list) or len(data) > MAX_ENTRIES:
        raise Rejected(f"an input is a list of at most {MAX_ENTRIES} numbers")
    entries = [rational(each) for each in data]
    for entry in data:
        value_of(entry, relation["values"])
    if relation["bounds"] is not None:
        low, high = (constant(evaluate(each, values), "a bound") for each in relation["bounds"])
        if any(sign(entry - low) < 0 or sign(entry - high) > 0 for entry in entries):
            raise Rejected("an entry is outside the bounds")
    return entries
