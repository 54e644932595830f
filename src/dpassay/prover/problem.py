"""What is to be proved of a program: which inputs are neighbors, and how much privacy may be lost."""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import FormulaClaim, PrivacyClaim
from dpassay.prover.program_text import Program
from dpassay.replay import Rejected
from dpassay.replay.statement_text import repeated

RELATIONS = {
    "one_query": "one entry of the list changes by at most {radius}",
    "all_queries": "every entry of the list changes by at most {radius}",
    "monotone_queries": "every entry of the list changes by at most {radius}, all up or all down",
    "replace_one:entry": "one entry of the list is replaced",
    "add_or_remove_one:entry": "one entry is added to the list or removed from it",
    "replace_one:user": "the entries of one user, {records} at most, are replaced",
    "add_or_remove_one:user": "the entries of one user, {records} at most, are added to the list or removed from it",
}
"""Relation -> what it says of two neighboring lists."""
_LISTS = {
    "one_query": "of which one entry changes by at most {radius}",
    "all_queries": "of which every entry changes by at most {radius}",
    "monotone_queries": "of which every entry changes by at most {radius}, all up or all down",
    "replace_one:entry": "of which one entry is replaced",
    "add_or_remove_one:entry": "to which one entry is added or from which one is removed",
    "replace_one:user": "of which the entries of one user, {records} at most, are replaced",
    "add_or_remove_one:user": "to which the entries of one user, {records} at most, are added or from which they are "
    "removed",
}
"""The same after "all lists"."""
_ONE_VALUE = {
    **dict.fromkeys(("one_query", "all_queries", "monotone_queries"), "the value changes by at most {radius}"),
    "replace_one:entry": "the value is any other",
}
_VALUES = {"int": "int", "bool": "bool", "float": "real"}
_MAX_EXPONENT = 8
_FUNCTIONS = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "abs": abs, "min": min, "max": max, "len": len}
_PARTS = (
    *(ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare, ast.BoolOp, ast.operator),
    *(ast.unaryop, ast.cmpop, ast.boolop),
)
STATED = "__dpassay_problem__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Problem:
    """A claim about a program `f(rng, data, **parameters)` whose data are a list of numbers, or one number.

    Attributes:
        relation: a key of `RELATIONS`.
        bounds: the least and the largest entry, as texts of numbers or names of parameters; None for any.
        values: what entries are: "real", "int" or "bool".
        radius: how much an entry may change in the first three relations, a number as text.
        records: how many entries one user may have in the last two relations, a number or a parameter as text.
        notion: "epsilon" (pure differential privacy, nats), "zcdp" (Bun and Steinke 2016) or "gaussian" (mu; Dong, Roth
            and Su 2022).
        bound: the claimed parameter, an expression in the public parameters.
        parameters: public parameters -> "int", "real", "bool", "list[int]" or "list[real]".
        assume: conditions on the parameters under which the claim is made.
        single: the data are one number instead of a list.
    """

    relation: str
    bounds: tuple[str, str] | None = None
    values: str = "real"
    radius: str = "1"
    records: str = "1"
    notion: str = "epsilon"
    bound: str = "epsilon"
    parameters: Mapping[str, str] = field(default_factory=dict)
    assume: tuple[str, ...] = ()
    single: bool = False

    def neighbors(self) -> str:
        """In words, which inputs are neighbors."""
        words = (_ONE_VALUE if self.single else RELATIONS)[self.relation].format(
            radius=self.radius, records=self.records
        )
        return f"{words}; {'the data are one of the' if self.single else 'entries are'} {self._values()}"

    def proved_for(self) -> str:
        """The same as what a proof is for."""
        words = _ONE_VALUE if self.single else _LISTS
        change = words[self.relation].format(radius=self.radius, records=self.records)
        return (
            f"{self._values()}, where {change}" if self.single else f"lists of {self._values()} of any length {change}"
        )

    def _values(self) -> str:
        kind = {"int": "integers", "bool": "booleans"}.get(self.values, "numbers")
        return kind if self.bounds is None else f"{kind} between {self.bounds[0]} and {self.bounds[1]}"

    @property
    def accounted(self) -> "Problem":
        """The claim that costs are compared with: what is mu-GDP is (mu^2 / 2)-zCDP, and the costs are the same."""
        if self.notion != "gaussian":
            return self
        return replace(self, notion="zcdp", bound=f"({self.bound})**2 / 2")

    @property
    def by_user(self) -> bool:
        """Whether the neighbors differ in the entries of one user."""
        return self.relation.endswith(":user")

    @property
    def by_entry(self) -> "Problem":
        """A claim about one entry from which this one follows, as a user's entries are changed one after the other."""
        if not self.by_user:
            return self
        power = "**2" if self.notion == "zcdp" else ""
        bound = f"({self.bound}) / ({self.records}){power}"
        return replace(self, relation=self.relation.replace(":user", ":entry"), bound=bound, records="1")

    def by_users(self, bound: str) -> str:
        """What a user's entries lose, where one loses the bound."""
        power = "**2" if self.notion == "zcdp" else ""
        return f"({bound}) * ({self.records}){power}"

    def limits(self, name: str) -> list[Fraction]:
        """Numbers that conditions on a parameter mention, and some on either side of them."""
        trees = [ast.parse(each, mode="eval") for each in self.assume if name in _names(each)]
        said = {
            Fraction(repr(node.value)) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
        }
        whole = self.parameters[name] == "int"
        near = [(each, each + 1, each - 1) if whole else (each, each / 2, each * 2) for each in sorted(said)]
        return [each for some in near for each in some if (each.denominator == 1 if whole else each != 0)]

    def inputs(self, program: Program) -> dict[str, Any]:
        """The fields that every certificate about the program has."""
        return {
            "program": {"text": program.text, "entry": program.entry},
            "parameters": dict(self.parameters),
            "relation": {
                "kind": self.relation,
                "bounds": None if self.bounds is None else list(self.bounds),
                "values": self.values,
                "radius": self.radius,
                **({"records": self.records} if self.by_user else {}),
            },
            "claim": {"notion": self.notion, "bound": self.bound},
            "assume": list(self.assume),
        }


@dataclass(frozen=True)
class _Stated:
    """What a decorator said of a mechanism; None where it said nothing."""

    relation: str | None = None
    epsilon: float | str | None = None
    claim: PrivacyClaim | None = None
    assume: Sequence[str] = ()
    bounds: tuple[Any, Any] | None = None
    radius: float | str = 1
    records: int | str | None = None


def mechanism_function(
    *,
    relation: str,
    epsilon: float | str | None = None,
    claim: PrivacyClaim | None = None,
    assume: Sequence[str] = (),
    bounds: tuple[Any, Any] | None = None,
    radius: float | str = 1,
    records: int | str | None = None,
) -> Callable[[_Function], _Function]:
    """Says of a function `f(rng, data, **public parameters)` what `dp.prove` is to prove; it runs as before.

    Args:
        relation: which inputs are neighbors; see `dp.prove`.
        epsilon: the claim, nats: an expression in the parameters, or a number.
        claim: another claim instead, such as `dp.PrivacyClaim.zcdp("rho")`.
        assume: conditions on the parameters, such as "c >= 1".
        bounds: the least and the largest entry: numbers or names of parameters.
        radius: how much an entry may change where the relation speaks of "at most 1".
        records: how many entries one user may have, a number or the name of a parameter.
    """
    stated = _Stated(relation, epsilon, claim, tuple(assume), bounds, radius, records)

    def mark(function: _Function) -> _Function:
        setattr(function, STATED, stated)
        return function

    return mark


def problem_of(
    function: Callable[..., Any],
    program: Program,
    *,
    relation: str | None = None,
    epsilon: float | str | None = None,
    claim: PrivacyClaim | None = None,
    assume: Sequence[str] = (),
    bounds: tuple[Any, Any] | None = None,
    radius: float | str | None = None,
    records: int | str | None = None,
) -> Problem:
    """What is to be proved; what is not given here is what the function's decorator says.

    Raises:
        InvalidInput: no relation, an unknown one, or a claim that is none.
    """
    stated = getattr(function, STATED, _Stated())
    relation = relation or stated.relation
    if relation not in RELATIONS:
        said = f"relation {relation!r} is not known" if relation else "no relation is given"
        raise InvalidInput(f"{said}; choose {', '.join(RELATIONS)}")
    if program.single and relation not in _ONE_VALUE:
        raise InvalidInput(f"the data of {program.entry} are one value: nothing can be added; say replace_one:entry")
    if epsilon is None and claim is None:
        epsilon, claim = stated.epsilon, stated.claim
    notion, bound = _claimed(epsilon, claim, program)
    bounds = stated.bounds if bounds is None else bounds
    within = None if bounds is None else (_text(bounds[0], program), _text(bounds[1], program))
    reach = _text(stated.radius if radius is None else radius, program)
    if (size := _literal(reach)) is not None and size <= 0:
        raise InvalidInput(f"radius {reach}: an entry changes by more than 0")
    many, least = _records(relation, stated.records if records is None else records, program)
    ends = [_literal(end) for end in within or ()]
    if None not in ends and ends != sorted(ends):  # type: ignore[type-var]
        raise InvalidInput(f"bounds {ends[0]} to {ends[1]}: no entry is in them; give the least first")
    given = [assume] if isinstance(assume, str) else assume
    return Problem(
        relation,
        within,
        "bool" if bounds is not None and set(map(type, bounds)) == {bool} else _VALUES.get(program.entries, "real"),
        reach,
        many,
        notion,
        bound,
        program.parameters,
        (*_assumed((*stated.assume, *given), bound, program), *least),
        program.single,
    )


def _records(relation: str, given: int | str | None, program: Program) -> tuple[str, tuple[str, ...]]:
    """How many entries a user has, and what is assumed of it."""
    if not relation.endswith(":user"):
        if given is not None:
            raise InvalidInput(f"records is given, but {relation} is about entries; say {relation.split(':')[0]}:user")
        return "1", ()
    if given is None:
        raise InvalidInput(
            f"{relation}: say with records= how many entries one user may have, such as 3 or a parameter"
        )
    records = _text(given, program)
    number = _literal(records)
    if number is None and program.parameters.get(records) != "int":
        raise InvalidInput(f"records {records!r}: give a whole number or the name of an int parameter")
    if number is not None and not (number >= 1 and number.denominator == 1):
        raise InvalidInput(f"records {records}: give a whole number from 1 on")
    return records, (f"{records} >= 1",) if number is None else ()


def _assumed(given: Sequence[str], bound: str, program: Program) -> tuple[str, ...]:
    """The conditions on the parameters; a real parameter of the bound, and the parameter `epsilon`, is positive unless
    they bound it from below.
    """
    conditions = [expression(each, program, condition=True) for each in dict.fromkeys(given)]
    said = {name for each in conditions for name in _names(each) if not _may_be_negative(each, name)}
    unsaid = [
        name
        for name in dict.fromkeys((*_names(bound), "epsilon"))
        if program.parameters.get(name) == "real" and name not in said
    ]
    return (*(f"{name} > 0" for name in unsaid), *conditions)


def _may_be_negative(condition: str, name: str) -> bool:
    """Whether a condition on one parameter alone leaves room for -1."""
    try:
        return _names(condition) == [name] and bool(value_of(condition, {name: -1.0}))
    except (ArithmeticError, TypeError, ValueError):
        return False


def _literal(text: str) -> Fraction | None:
    """The number that a text is; None for an expression."""
    try:
        return Fraction(text.replace(" ", ""))
    except (ValueError, ZeroDivisionError):
        return None


def _names(text: str) -> list[str]:
    found = [node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)]
    return sorted(set(found), key=found.index)


def _claimed(epsilon: float | str | None, claim: PrivacyClaim | None, program: Program) -> tuple[str, str]:
    """The notion and the bound of a claim; epsilon-DP for the parameter `epsilon` where nothing is said."""
    if claim is not None and epsilon is not None:
        raise InvalidInput("epsilon and claim are both given; leave one out")
    if isinstance(claim, FormulaClaim):
        return claim.notion, claim.formula
    if claim is not None:
        if claim.kind not in ("dp", "zcdp", "gaussian") or claim.delta:
            raise InvalidInput(f"{claim} is not proved yet; claim pure epsilon-DP, zCDP, or Gaussian DP")
        return ("epsilon" if claim.kind == "dp" else claim.kind), _text(claim.parameter, program)
    if epsilon is None and "epsilon" not in program.parameters:
        raise InvalidInput(f"{program.entry} has no parameter epsilon; say what is claimed, such as epsilon='2 * eps'")
    return "epsilon", _text("epsilon" if epsilon is None else epsilon, program)


def expression(text: str, program: Program, *, condition: bool = False) -> str:
    """An expression in the public parameters, or a condition on them, checked for its form.

    Raises:
        InvalidInput: it is no Python expression of that kind.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise InvalidInput(f"{text!r} is no expression; write it in Python") from None
    lists = {name for name, sort in program.parameters.items() if sort.startswith("list")}
    measured = {id(each.args[0]) for each in ast.walk(tree) if isinstance(each, ast.Call) and _is_length(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id in lists) != (id(node) in measured):
            raise InvalidInput(
                f"{text!r}: of {node.id} {'only len() is used' if node.id in lists else 'there is no len()'}"
            )
    logical = isinstance(tree, ast.Compare | ast.BoolOp)
    if logical != condition:
        raise InvalidInput(f"{text!r}: write {'a condition, such as c >= 1' if condition else 'a number or a formula'}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in {*program.parameters, *_FUNCTIONS}:
            raise InvalidInput(f"{text!r}: {node.id} is no public parameter of {program.entry}")
        if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or not isinstance(node.value, int | float)):
            raise InvalidInput(f"{text!r}: {node.value!r} is no number")
        exponent = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else None
        if exponent and ast.unparse(exponent) not in map(str, range(_MAX_EXPONENT + 1)):
            raise InvalidInput(f"{text!r}: an exponent is a whole number from 0 to {_MAX_EXPONENT}")
        if not isinstance(node, _PARTS):
            raise InvalidInput(f"{text!r}: use numbers, parameters, + - * / **, and {', '.join(_FUNCTIONS)}")
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.Call | ast.Constant):
            _require_a_value(node, text)
    try:
        return repeated(text.strip())
    except Rejected:  # comments, lines
        return ast.unparse(tree)


def _is_length(node: ast.Call) -> bool:
    return ast.unparse(node.func) == "len" and len(node.args) == 1 and not node.keywords


def value_of(text: str, parameters: Mapping[str, Any]) -> Any:
    """The value of an expression or a condition of a problem, whose form was checked, in floats.

    Raises:
        ArithmeticError, TypeError, ValueError: it has none.
    """
    return eval(text, {"__builtins__": {}, **_FUNCTIONS}, dict(parameters))


def _require_a_value(node: ast.expr, text: str) -> None:
    """Raises `InvalidInput` for a part without parameters that is no finite number."""
    if any(isinstance(each, ast.Name) and each.id not in _FUNCTIONS for each in ast.walk(node)):
        return
    floats = _Floats().visit(ast.parse(ast.unparse(node), mode="eval"))
    try:
        finite = math.isfinite(value_of(ast.unparse(floats), {}))
    except (ArithmeticError, TypeError, ValueError):
        finite = False
    if not finite:
        raise InvalidInput(f"{text!r}: {ast.unparse(node)} has no value")


class _Floats(ast.NodeTransformer):
    """Numbers as floats, so that powers of powers are infinite instead of endless."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(float(node.value))  # type: ignore[arg-type]


def _text(value: Any, program: Program) -> str:
    """A number, exactly as it is written, or an expression in the parameters.

    Raises:
        InvalidInput: it is neither.
    """
    if isinstance(value, str):
        return expression(value, program)
    try:
        return str(Fraction(str(value)) if not isinstance(value, bool) else int(value))
    except ValueError:
        raise InvalidInput(f"{value!r} is no finite number") from None
