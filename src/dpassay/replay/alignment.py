"""Checks that a mechanism is private by an alignment of two runs; the theorem is in docs/theorems/alignments.md.

Inputs: {"program": {"text", "entry"}, "parameters": {name: "real", "int", "bool" or "list[...]"}, "relation": {"kind",
"bounds", "values", "radius", "records"}, "claim": {"notion": "epsilon", "zcdp" or "gaussian", "bound"}, "assume":
[condition on parameters], and the alignment: "shifts": {draw: [{"when": {branch: outcome}, "shift"}]}, "coins": {draw:
[{"when", "flip"}]}, "selections": {draw: {"low", "high"}}, "loops": {loop: {"invariant": [...]}}, "lists": {list:
[formula about element k]}, "free": [branch], "prophecies": {name: {"variable", "loop", "scope"}}}. Expressions are
texts (`replay.proof_expressions`), positions "line:column".

The text is read anew, both runs are executed symbolically, and every condition goes to z3 and cvc5: both must prove it.
"""

import ast
import functools
import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpassay.replay import Rejected
from dpassay.replay.aligned_runs import HALF, Alignment, Prophecy, Runs
from dpassay.replay.numbers import fields
from dpassay.replay.paired_evaluation import Evaluation, Goal, Path
from dpassay.replay.paired_values import Scalar, Sequence, Truth, Value
from dpassay.replay.program_core import RELATIONS, Block, Branch, Core, Draw, Loop, Refused, Statement
from dpassay.replay.program_flow import Flow, Held
from dpassay.replay.program_reader import read
from dpassay.replay.proof import satisfiable, seems_unsatisfiable, unsatisfiable
from dpassay.replay.proof_expressions import Expressions, parse, variable
from dpassay.replay.statement_text import assumptions, listed, repeated
from dpassay.replay.symbolic_terms import (
    FALSE,
    ONE,
    ZERO,
    Number,
    Symbols,
    both,
    implies,
    literal,
    negation,
    of_symbol,
)

MILLISECONDS = 5000
_ALIGNMENT = ("shifts", "coins", "selections", "loops", "lists", "free", "prophecies")
_NOTIONS = {
    "epsilon": "differentially private",
    "zcdp": "zero-concentrated differentially private",
    "gaussian": "Gaussian differentially private",
}
_FUNCTIONS = {"abs", "min", "max", "exp", "log", "sqrt"}
_KINDS = {"real": "real", "int": "int", "bool": "truth"}
_LISTS = {"list[real]": "real", "list[int]": "int"}


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Proves the claim anew; raises `Rejected` where a condition is not proved."""
    fields(inputs, "an alignment", ("program", "parameters", "relation", "claim", "assume"), _ALIGNMENT)
    fields(inputs["program"], "a program", ("text", "entry"))
    fields(inputs["relation"], "a relation", ("kind",), ("bounds", "values", "radius", "records"))
    fields(inputs["claim"], "a claim", ("notion", "bound"))
    if inputs["claim"]["notion"] not in _NOTIONS:
        raise Rejected("the notion is epsilon, zcdp or gaussian")
    try:
        core = read(inputs["program"]["text"], inputs["program"]["entry"])
    except Refused as refusal:
        raise Rejected(f"the program is not understood: {refusal}") from None
    if set(inputs["parameters"]) != set(core.parameters):
        raise Rejected(f"the parameters are {', '.join(core.parameters)}")
    alignment = _alignment(inputs, core)
    proof = _Proof(inputs, core, alignment)
    proof.run()
    return proof.result()


def _alignment(inputs: Mapping[str, Any], core: Core) -> Alignment:
    """The proof object, parsed; every position in it must name what is there."""
    draws, branches, loops = _positions(core.body)
    zcdp = inputs["claim"]["notion"] != "epsilon"
    shifts = {at: _cases(at, cases, "shift", zcdp) for at, cases in inputs.get("shifts", {}).items()}
    coins = {at: _cases(at, cases, "flip", zcdp) for at, cases in inputs.get("coins", {}).items()}
    selections = {}
    for at, said in inputs.get("selections", {}).items():
        fields(said, f"the selection {at}", ("low", "high"))
        selections[at] = _moved(said["low"]), _moved(said["high"])
    invariants = {}
    for at, said in inputs.get("loops", {}).items():
        fields(said, f"the loop {at}", ("invariant",))
        invariants[at] = tuple(map(parse, said["invariant"]))
    lists = {_list_name(name): tuple(map(parse, said)) for name, said in inputs.get("lists", {}).items()}
    prophecies = []
    for name, said in inputs.get("prophecies", {}).items():
        fields(said, f"the prophecy {name}", ("variable", "loop"), ("scope",))
        scope = said.get("scope")
        if [around for at, around in loops if at == said["loop"]] != [scope]:
            raise Rejected(f"the prophecy {name} is about one loop directly within {scope or 'the program'}")
        prophecies.append(Prophecy(name, _list_name(said["variable"]), said["loop"], scope))
    if zcdp and prophecies:
        raise Rejected("zCDP has no prophecies: a shift may depend on what comes before its draw alone")
    free = frozenset(inputs.get("free", []))
    named: dict[str, tuple[Collection[str], Collection[str]]] = {
        "shift": (shifts, draws),
        "coin": (coins, draws),
        "selection": (selections, draws),
        "loop": (invariants, {at for at, _ in loops}),
        "free branch": (free, branches),
    }
    for what, (given, there) in named.items():
        if unknown := set(given) - set(there):
            raise Rejected(f"there is no {what} at {sorted(unknown)[0]}")
    return Alignment(shifts, coins, invariants, lists, selections, free, tuple(prophecies))


def _cases(at: str, cases: Any, what: str, zcdp: bool) -> tuple[tuple[Mapping[str, bool], ast.expr], ...]:
    found = []
    for case in cases:
        fields(case, f"a case of the draw {at}", (what,), ("when",))
        when = dict(case.get("when", {}))
        if any(outcome not in (True, False) for outcome in when.values()):
            raise Rejected(f"a branch of the draw {at} is true or false")
        if when and zcdp:
            raise Rejected("zCDP: a shift may depend on what comes before its draw alone")
        found.append((when, _moved(case[what])))
    return tuple(found)


def _moved(text: Any) -> ast.expr:
    """What a draw moves by: its variables hold what they do when it is drawn, so it knows no noise that comes later."""
    node = parse(text)
    if any(isinstance(inner, ast.Call) and ast.unparse(inner.func) == "cost" for inner in ast.walk(node)):
        raise Rejected(f"a shift may not depend on the cost: {text}")
    return node


def _list_name(text: Any) -> str:
    """The variable that "out", 'at("5:3")' or 'best("5:3")' names."""
    name = variable(parse(text))
    if name is not None:
        return name
    raise Rejected(f"{text!r} names no variable")


def _positions(
    statements: tuple[Statement, ...], loop: str | None = None
) -> tuple[set[str], set[str], list[tuple[str, str | None]]]:
    """The draws, the branches, and the loops with the loop around each; `xs.cumsum().sum()` are two at one place."""
    draws, branches, loops = set[str](), set[str](), list[tuple[str, str | None]]()
    for each in statements:
        inner: list[tuple[tuple[Statement, ...], str | None]] = []
        if isinstance(each, Draw):
            draws.add(each.position)
        elif isinstance(each, Branch):
            branches.add(each.position)
            inner = [(each.then, loop), (each.otherwise, loop)]
        elif isinstance(each, Loop):
            loops.append((each.position, loop))
            inner = [(each.head, each.position), (each.body, each.position)]
        elif isinstance(each, Block):
            inner = [(each.body, loop)]
        for body, around in inner:
            more = _positions(body, around)
            draws, branches, loops = draws | more[0], branches | more[1], loops + more[2]
    return draws, branches, loops


@dataclass
class _Proof:
    """One check of an alignment."""

    inputs: Mapping[str, Any]
    core: Core
    alignment: Alignment
    conditions: int = 0
    paths: int = 0
    returns: list[list[str]] = field(default_factory=list)

    def run(self) -> None:
        """Shows everything, in both directions where they differ: run one or run two has the added entry."""
        for extra in ("one", "two") if self.adding else ("",):
            self.run_from(extra)

    def run_from(self, extra: str) -> None:
        self.symbols, self.returns = Symbols(), []
        evaluation = Evaluation(self.symbols)
        start = Path({name: self.parameter(name) for name in self.core.parameters}, [])
        original = dict(start.values)
        given = self.relation(evaluation, start, Expressions(evaluation, {}, original), extra)
        said = Expressions(evaluation, given, original)
        start.known += [said.formula(start, self.public(each)) for each in self.inputs["assume"]]
        bound = said.number(start, self.public(self.inputs["claim"]["bound"]))
        flow = self.flow()
        notion = self.inputs["claim"]["notion"]
        assumed = list(start.known)
        if self.by_user:
            bound = self.of_one_entry(said, start, bound)
        if notion == "gaussian":  # its costs are those of zCDP, and sum to mu^2 / 2 at most
            start.show(self.symbols.compare(">=", bound), "a mu that is at least 0", "the claim")
            bound = self.symbols.without_roots(bound * bound) * HALF

        @functools.cache
        def sign(name: str) -> int:
            for found in (1, -1):
                negated = self.symbols.compare("<=", literal(found) * of_symbol(name))
                if seems_unsatisfiable(self.symbols.query([*assumed, negated]), MILLISECONDS):
                    return found
            return 0

        runs = Runs(evaluation, flow, self.alignment, given, notion, bound, self.finish, extra, sign)
        start.prophecies = {each.name: runs.prophecy(each) for each in self.alignment.prophecies if each.scope is None}
        for left, label in runs.block(start, self.core.body):
            if label != "return":
                raise Rejected(f"the program may end without a return ({left.taken[-1:]})")
        self.require_a_run()

    def of_one_entry(self, said: Expressions, start: Path, bound: Number) -> Number:
        """What one entry may lose so that a user's entries, changed one after the other, lose at most the bound."""
        records = said.number(start, self.public(str(self.inputs["relation"].get("records"))))
        start.show(self.symbols.compare(">=", records - ONE), "a user has one record or more", "the relation")
        share = self.symbols.inverse(records)
        return bound * share * share if self.inputs["claim"]["notion"] == "zcdp" else bound * share

    def public(self, text: str) -> ast.expr:
        """An expression in the parameters, and the length of the data where it is the same in both runs."""
        node = parse(text)
        public = set(self.core.parameters)
        lengths = {f"len({name})" for name, kind in self.inputs["parameters"].items() if kind in _LISTS}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and ast.unparse(inner) == f"len({self.core.data})" and not self.adding:
                public.add(self.core.data)
            elif isinstance(inner, ast.Call) and ast.unparse(inner) in lengths:
                continue
            elif isinstance(inner, ast.Call) and ast.unparse(inner.func) not in _FUNCTIONS:
                raise Rejected(f"{ast.unparse(inner)} is not public: {text}")
        for inner in ast.walk(node):
            if isinstance(inner, ast.Subscript) or (
                isinstance(inner, ast.Name) and inner.id not in public | _FUNCTIONS | {"len"}
            ):
                raise Rejected(f"{ast.unparse(inner)} is no public parameter: {text}")
        return node

    @property
    def adding(self) -> bool:
        """Whether one run's data have an entry more."""
        return self.kind == "add_or_remove_one:entry"

    def parameter(self, name: str) -> Value:
        kind = self.inputs["parameters"].get(name)
        if kind in _LISTS:
            return self.public_list(name, _LISTS[kind])
        if kind not in _KINDS:
            raise Rejected(f"the parameter {name} is real, int, bool, list[real] or list[int]")
        if kind == "bool":
            truth = self.symbols.symbol(name, "b")
            return Truth(truth, truth)
        return Scalar(self.symbols.fresh(name, "i" if kind == "int" else "r"))

    def public_list(self, name: str, kind: str) -> Sequence:
        """A list of any length and any numbers, the same in both runs."""
        length = self.symbols.symbol(f"length{name}", "i")
        self.symbols.axioms[length].append(self.symbols.compare(">=", of_symbol(length)))
        elements = self.symbols.function(name, kind[0])
        return Sequence(
            Scalar(of_symbol(length)), lambda index: Scalar(self.symbols.element(elements, index, lambda _: ()))
        )

    def flow(self) -> Flow:
        shifted = frozenset((*self.alignment.shifts, *self.alignment.coins))
        entries = Held(_KINDS[self.values], differs=True)
        parameters = {
            name: Held("list", parts=(Held(_LISTS[kind]),)) if kind in _LISTS else Held(_KINDS[kind])
            for name, kind in self.inputs["parameters"].items()
        }
        return Flow(self.core, entries, parameters, self.adding, self.alignment.free, shifted)

    @property
    def kind(self) -> str:
        """The relation; of one user's entries that of one entry, since one is changed after the other."""
        return str(self.inputs["relation"]["kind"]).replace(":user", ":entry")

    @property
    def by_user(self) -> bool:
        """Whether several entries may change, those of one user."""
        return str(self.inputs["relation"]["kind"]).endswith(":user")

    @property
    def values(self) -> str:
        values = self.inputs["relation"].get("values") or "real"
        if values not in _KINDS:
            raise Rejected("values are real, int or bool")
        return str(values)

    # The relation.

    def relation(self, evaluation: Evaluation, start: Path, said: Expressions, extra: str) -> dict[str, Number]:
        """Puts the data into the start; what `changed`, `delta` and `sign` stand for."""
        symbols = self.symbols
        if self.inputs["relation"]["kind"] not in RELATIONS:
            raise Rejected(f"unknown relation {self.inputs['relation']['kind']!r}")
        sort = "r" if self.values == "real" else "i"
        length, entries = symbols.fresh("length", "i"), symbols.function("entry", sort)
        said_radius = self.inputs["relation"].get("radius")
        radius = said.number(start, self.public("1" if said_radius is None else str(said_radius)))
        if radius.constant is not None and radius.constant <= 0:
            raise Rejected("the radius is above 0: nothing is proved of lists that have no neighbors")
        inside = self.inside(start, said)
        if self.core.single:
            if self.by_user:
                raise Rejected("data that are one value are not several records")
            return self.one_value(evaluation, start, radius, sort, inside)
        start.known.append(symbols.compare(">=", length))
        given: dict[str, Number] = {}
        gap, changed, delta = symbols.function("gap", sort), symbols.fresh("changed", "i"), symbols.fresh("delta", sort)

        def entry(index: Number) -> Number:
            return symbols.element(entries, index, inside)

        def valued(value: Scalar) -> Value:
            return evaluation.pairs.compared("==", value, Scalar(ONE)) if self.values == "bool" else value

        def element(index: Number) -> Value:
            if self.kind in ("one_query", "replace_one:entry"):
                change = symbols.choice(symbols.equal(index, changed), delta, ZERO)
            elif extra:
                shorter = entry(symbols.choice(symbols.compare("<", index - changed), index, index + ONE))
                pair = (entry(index), shorter) if extra == "one" else (shorter, entry(index))
                return valued(Scalar(pair[0], pair[1] - pair[0]))
            else:
                change = symbols.element(gap, index, lambda d: self.near(d, radius, given.get("sign")))
            one = symbols.element(entries, index, lambda x: (*inside(x), *inside(x + change)))
            return valued(Scalar(one, change))

        if self.kind not in ("all_queries", "monotone_queries"):
            given = {"changed": changed, "delta": delta}
            start.known += [symbols.compare(">=", changed), symbols.compare("<", changed - length)]
            start.known += [*inside(entry(changed)), *(() if extra else inside(entry(changed) + delta))]
        if self.kind == "one_query":
            start.known.append(symbols.compare("<=", symbols.absolute(delta) - radius))
        if self.kind == "monotone_queries":
            given = {"sign": symbols.fresh("sign", "i")}
            start.known.append(symbols.equal(symbols.absolute(given["sign"]), ONE))
        data = Sequence(Scalar(length), element)
        if extra:
            given = {"changed": changed, "delta": entry(changed), "sign": -ONE if extra == "one" else ONE}
            both_lengths = Scalar(length, -ONE) if extra == "one" else Scalar(length - ONE, ONE)
            data = Sequence(both_lengths, element, lambda index: valued(Scalar(entry(index))))
        start.values[self.core.data] = data
        return given

    def one_value(
        self, evaluation: Evaluation, start: Path, radius: Number, sort: str, inside: Callable[[Number], list[str]]
    ) -> dict[str, Number]:
        """Data that are one value: `delta` is its difference, which the relation confines as an entry's."""
        if self.adding:
            raise Rejected("data that are one value cannot have an entry more")
        value = Scalar(self.symbols.fresh("value", sort), self.symbols.fresh("delta", sort))
        given = {"delta": value.gap}
        if self.kind == "monotone_queries":
            given["sign"] = self.symbols.fresh("sign", "i")
            start.known.append(self.symbols.equal(self.symbols.absolute(given["sign"]), ONE))
        start.known += [*inside(value.one), *inside(value.two)]
        if self.kind != "replace_one:entry":
            start.known += self.near(value.gap, radius, given.get("sign"))
        boolean = self.values == "bool"
        start.values[self.core.data] = evaluation.pairs.compared("==", value, Scalar(ONE)) if boolean else value
        return given

    def near(self, gap: Number, radius: Number, sign: Number | None) -> list[str]:
        """|gap| <= radius; with a sign, gap has it or is 0."""
        symbols = self.symbols
        up, down = symbols.compare("<=", gap - radius), symbols.compare(">=", gap + radius)
        if sign is None:
            return [up, down]
        rising = symbols.equal(sign, ONE)
        return [
            implies(rising, both(up, symbols.compare(">=", gap))),
            implies(negation(rising), both(down, symbols.compare("<=", gap))),
        ]

    def inside(self, start: Path, said: Expressions) -> Any:
        """The conditions on an entry, a function of it."""
        bounds = self.inputs["relation"].get("bounds")
        if self.values == "bool":
            bounds = ("0", "1")
        if bounds is None:
            return lambda entry: ()
        low, high = (said.number(start, self.public(str(each))) for each in bounds)
        return lambda entry: (self.symbols.compare("<=", low - entry), self.symbols.compare("<=", entry - high))

    # The conditions.

    def finish(self, path: Path, where: str) -> None:
        """Shows the goals of a path to both solvers."""
        self.paths += 1
        goals = list(dict.fromkeys(path.goals))
        self.conditions += len(goals)
        if where == "return":
            self.returns.append(list(path.known))
        if FALSE in path.known:
            return
        if not goals or self.proved(path, *goals, milliseconds=MILLISECONDS // 5):
            return
        for goal in goals:
            if not self.proved(path, goal, milliseconds=MILLISECONDS):
                raise Rejected(f"not proved at {goal.position}: {goal.what}{self.example(path, goal)}")

    def proved(self, path: Path, *goals: Goal, milliseconds: int) -> bool:
        """Whether all goals follow from what is known on the path."""
        negated = negation(both(*(goal.formula for goal in goals)))
        return negated == FALSE or unsatisfiable(self.symbols.query([*path.known, negated]), milliseconds)

    def example(self, path: Path, goal: Goal) -> str:
        return f" (after {', '.join(f'{at} {outcome}' for at, outcome in path.taken)})" if path.taken else ""

    def require_a_run(self) -> None:
        """Raises unless some path to a return can be taken: nothing is proved of nothing."""
        if not any(satisfiable(self.symbols.query(known), MILLISECONDS) for known in self.returns):
            raise Rejected("no run of the program meets the assumptions")

    def result(self) -> dict[str, Any]:
        return {
            "supports": "holds",
            "statement": statement(self.inputs),
            "assumes": list(self.inputs["assume"]),
            "conditions": self.conditions,
            "paths": self.paths,
            "summary": f"{self.conditions} conditions on {self.paths} paths proved again by z3 and cvc5",
        }


def statement(inputs: Mapping[str, Any]) -> str:
    """The claim about a program, as certificates of its proofs and of its counterexamples state it."""
    program, relation, claim = inputs["program"], inputs["relation"], inputs["claim"]
    digest = hashlib.sha256(program["text"].encode()).hexdigest()
    notion = _NOTIONS[claim["notion"]]
    sorts = "".join(f", {name}: {sort}" for name, sort in inputs["parameters"].items())
    details = [
        f"{name} {listed(relation[name], name) if name == 'bounds' else repeated(relation[name])}"
        for name in ("bounds", "values", "radius", "records")
        if relation.get(name) is not None
    ]
    assumed = f", if {' and '.join(assumptions(inputs['assume']))}" if inputs["assume"] else ""
    return (
        f"{program['entry']}(rng, data{sorts}) of the program with SHA-256 {digest} is "
        f"({repeated(claim['bound'])})-{notion} "
        f"for {relation['kind']} ({', '.join(details)}){assumed}"
    )
