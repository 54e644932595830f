"""Symbolic execution of a program text in two runs at once: the paths between its cut points.

A path is executed from the program's start; at a loop's head the variables that the loop assigns become fresh
symbols, and the path goes on through the body once, or past the loop. Choices are replayed, so that a path is one plain
recursive evaluation of the syntax tree. Nothing here needs to be sound: the certificate's checker has its own executor.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeGuard

from dpassay.prover.calls import call, flips
from dpassay.prover.expressions import evaluate
from dpassay.prover.problem import Problem
from dpassay.prover.terms import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Poly,
    apply,
    at_most,
    both,
    choose,
    either,
    equal,
    less,
    negate,
    poly,
    same_truth,
    symbol,
    truth_symbol,
)
from dpassay.prover.values import (
    INFINITY,
    NOTHING,
    Branch,
    Constant,
    Draw,
    Env,
    Explored,
    Foreseen,
    Items,
    Leaf,
    Maybe,
    Number,
    Owed,
    Sequence_,
    Truth,
    Unsupported,
    _Break,
    _Continue,
    _Ended,
    _Return,
    arithmetic,
    as_number,
    as_truth,
    compared,
    constant,
    differences,
    lifted,
    literal_list,
    maybe,
    merge,
    nameless_element,
    of_both,
    parallel,
    written,
)

MAX_PATHS = 400


def assigned_names(nodes: Sequence[ast.AST]) -> list[str]:
    """The variables that statements assign or append to, in order."""
    names: dict[str, None] = {}
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                names[inner.id] = None
            elif (
                isinstance(inner, ast.Call)
                and isinstance(inner.func, ast.Attribute)
                and inner.func.attr in ("append", "pop")
                and isinstance(inner.func.value, ast.Name)
            ):
                names[inner.func.value.id] = None
            elif (changed := changed_list(inner)) is not None:
                names[changed] = None
    for node in nodes:  # a comprehension's variable is its own
        for inner in ast.walk(node):
            if isinstance(inner, ast.ListComp):
                for generator in inner.generators:
                    for name in ast.walk(generator.target):
                        if isinstance(name, ast.Name):
                            names.pop(name.id, None)
    return list(names)


def changed_list(node: ast.AST) -> str | None:
    """The list of which an element is assigned, or that an element is taken from."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop")):
            return name
    return None


def scalar_arms(node: ast.If) -> bool:
    """Whether the arms of a branch do nothing but assign scalars without noise."""
    statements = [*node.body, *node.orelse]
    for statement in statements:
        if isinstance(statement, ast.If):
            if not scalar_arms(statement):
                return False
        elif not (isinstance(statement, ast.Assign | ast.AugAssign | ast.Pass) or _appends(statement)) or any(
            isinstance(inner, ast.Name) and inner.id == "rng" for inner in ast.walk(statement)
        ):
            return False
    return True


def _appends(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "append"), [_], [])):
            return True
    return False


class Explorer:
    """Enumerates the paths of a program's text.

    Args:
      text: the module's text.
      entry: the function's name.
      problem: relation, parameters, assumptions.
      free: positions of branches in which the runs may part.
      reals: variables that are not integers although they begin as such, by (loop, name).
      prophecies: for each loop, the variable that is known on leaving it.
    """

    def __init__(
        self,
        text: str,
        entry: str,
        problem: Problem,
        free: frozenset[str] = frozenset(),
        reals: frozenset[tuple[str, str]] = frozenset(),
        prophecies: dict[str, Foreseen] | None = None,
        numeric: frozenset[str] = frozenset(),
    ):
        tree = ast.parse(text)
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.constants = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        self.entry, self.problem, self.free, self.reals = self.functions[entry], problem, free, reals
        self.prophecies, self.numeric = prophecies or {}, set(numeric)
        self.leaves: list[Leaf] = []
        self.arrived: set[tuple[Any, ...]] = set()
        self.loops: dict[str, list[Env]] = {}
        self.all_draws: dict[str, Draw] = {}
        self.lists: dict[str, bool] = {}
        self.branches: dict[str, Branch] = {}
        self.magnitudes: dict[str, None] = {}
        self.reductions: dict[str, str] = {}
        self.loop_of: dict[str, tuple[str, ...]] = {}
        self.uses: list[tuple[Poly, Poly]] = []
        self.tuples: set[str] = set()
        self.summands: dict[str, tuple[Poly, Number]] = {}
        self.changing = {name for node in ast.walk(tree) if (name := changed_list(node)) is not None}
        self.resized = {
            node.value.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr in ("append", "pop") and isinstance(node.value, ast.Name)
        }
        self.changes: dict[str, dict[str, tuple[Poly, Poly, Number]]] = {}

    def composed(self, name: str, value: Any) -> None:
        """Remembers a list of tuples or truths, whose elements have no difference that formulas could speak of."""
        if isinstance(value, Items) or (isinstance(value, Truth) and value.first is not value.second):
            self.tuples.add(name)

    def explore(self) -> Explored:
        """All segments.

        Raises:
          Unsupported: a construct is not understood, or there are too many paths.
        """
        pending: list[tuple[bool, ...]] = [()]
        runs = 0
        entry_env: Env = {}
        base: tuple[Formula, ...] = ()
        while pending:
            runs += 1
            if runs > MAX_PATHS:
                raise Unsupported("too many paths")
            path = Path(self, pending.pop())
            path.run()
            entry_env, base = path.entry_env, tuple(path.base)
            taken = path.taken
            for at in range(len(path.given), len(taken)):
                pending.append((*taken[:at], not taken[at]))
        return Explored(
            self.leaves,
            self.loops,
            self.all_draws,
            self.lists,
            self.branches,
            entry_env,
            base,
            list(self.magnitudes),
            self.reductions,
            self.loop_of,
            self.uses,
            self.numeric,
            self.tuples,
            self.summands,
            self.changes,
        )


ONE_CHANGED = ("one_query", "replace_one:entry")
ADDED = "add_or_remove_one:entry"


def entry_facts(problem: Problem, value: Poly, change: Poly, env: Env) -> list[Formula]:
    """What the relation says of an entry and its change."""
    facts = []
    if problem.relation not in ONE_CHANGED:
        radius = evaluate(problem.radius, env).first
        up = equal(symbol("sign", integer=True), 1)
        if problem.relation == "all_queries":
            facts = [at_most(change, radius), at_most(-change, radius)]
        elif problem.relation == "monotone_queries":
            facts = [
                either(negate(up), both(at_most(0, change), at_most(change, radius))),
                either(up, both(at_most(change, 0), at_most(-radius, change))),
            ]
    bounds = ("0", "1") if problem.bounds is None and problem.values == "bool" else problem.bounds
    if bounds is not None:
        low, high = (evaluate(str(bound), env).first for bound in bounds)
        facts += [f for x in (value, value + change) for f in (at_most(low, x), at_most(x, high))]
    return facts


def read_facts(problem: Problem, support: frozenset[Atom], env: Env) -> list[Formula]:
    """What the relation says of the entries that terms speak of."""
    facts = []
    for atom in sorted(support, key=lambda atom: atom.number):
        if atom.kind == "read" and atom.args[0] == "change":
            value = poly(Atom("read", "data", atom.args[1], integer=atom.integer, role="data"))
            facts += entry_facts(problem, value, poly(atom), env)
    return facts


def relation_facts(problem: Problem) -> list[Formula]:
    """What holds of the relation's own symbols."""
    size, where = symbol("n", integer=True), symbol("changed", integer=True)
    facts = [at_most(0, size)]
    if problem.relation in ("one_query", "replace_one:entry", "add_or_remove_one:entry"):
        facts += [at_most(0, where), less(where, size)]
    if problem.relation in ("monotone_queries", "add_or_remove_one:entry"):
        sign = symbol("sign", integer=True)
        facts += [either(equal(sign, 1), equal(sign, -1))]
    return facts


class Path:
    """One path, from the program's start to a loop's head reached again or a return."""

    def __init__(self, explorer: Explorer, given: tuple[bool, ...]):
        self.explorer, self.problem, self.given = explorer, explorer.problem, given
        self.taken: list[bool] = []
        self.env: Env = {}
        self.facts: list[Formula] = []
        self.heads: list[tuple[str, Env]] = []
        self.reads: list[tuple[str, Poly, Env]] = []
        self.draws: list[Draw] = []
        self.obligations: list[Owed] = []
        self.appends: list[tuple[str, Poly, Any, Env]] = []
        self.outcomes: list[tuple[str, bool]] = []
        self.segment = 0
        self.counter = 0
        self.prefix = ""
        self.loop_stack: list[str] = []
        self.generic = 0
        self.base: list[Formula] = []
        self.entry_env: Env = {}
        self.depth = 0
        self.hidden: set[str] = set()
        self.alone = ""

    # -- the start

    def run(self) -> None:
        """Executes the path and records its arrivals."""
        self.begin()
        try:
            self.block(self.explorer.entry.body)
            self.finish(Constant(None))
        except _Return as returned:
            self.finish(returned.value)
        except _Ended:
            pass

    def begin(self) -> None:
        """The parameters, the data, what is assumed."""
        arguments = self.explorer.entry.args.args
        self.rng, self.data = arguments[0].arg, arguments[1].arg
        self.env[self.data] = None  # the first of the lists
        for argument in (*arguments[2:], *self.explorer.entry.args.kwonlyargs):
            sort = self.problem.parameters.get(argument.arg, "real")
            if sort.startswith("list"):
                self.env[argument.arg] = self.public_list(argument.arg, sort == "list[int]")
            elif sort == "bool":
                flag = truth_symbol(argument.arg)
                self.env[argument.arg] = Truth(flag, flag)
            else:
                self.env[argument.arg] = Number(symbol(argument.arg, integer=sort == "int", role="parameter"), NOTHING)
        self.facts += relation_facts(self.problem)
        if self.problem.relation == "one_query" and not self.problem.single:
            radius = evaluate(self.problem.radius, self.env).first
            change = self.delta()
            self.facts += [at_most(change, radius), at_most(-change, radius)]
        if self.problem.single:
            self.env[self.data] = self.one_value()
            self.assume()
            return
        size, sign = symbol("n", integer=True), symbol("sign", integer=True)
        length = Number(size, NOTHING)
        if self.problem.relation == ADDED:  # n is the longer list's length; run 2 has that list if the sign is 1
            length = Number(size - (sign + 1) / 2, sign)
        self.env[self.data] = Sequence_(length, self.entry, self.data)
        self.assume()

    def assume(self) -> None:
        """What is known at the start."""
        for condition in self.problem.assume:
            self.facts.append(evaluate(condition, self.env).first)
        self.entry_env = dict(self.env)
        if self.problem.relation == ADDED:
            self.facts.append(equal(self.delta(), self.entry(symbol("changed", integer=True)).first))
        self.base = list(self.facts)

    def one_value(self) -> Number:
        """Data that are one number: delta is its change."""
        whole = self.problem.values != "real"
        value, change = symbol("value", integer=whole, role="data"), self.delta()
        radius = evaluate(self.problem.radius, self.env).first
        if self.problem.relation != "replace_one:entry":
            self.facts += [at_most(change, radius), at_most(-change, radius)]
        self.facts += entry_facts(replace(self.problem, relation="replace_one:entry"), value, change, self.env)
        return Number(value, change)

    def public_list(self, name: str, whole: bool) -> Sequence_:
        """A public list of any length."""
        length = symbol(f"len {name}", integer=True)
        self.facts.append(at_most(0, length))
        return Sequence_(
            Number(length, NOTHING),
            lambda index: Number(poly(Atom("read", f"public {name}", index, integer=whole)), NOTHING),
            name,
        )

    def delta(self) -> Poly:
        """The changed entry's change."""
        return symbol("delta", integer=self.problem.values != "real")

    def entry(self, index: Poly) -> Number:
        """An entry of the data, its change, and what the relation says of them."""
        whole = self.problem.values != "real"
        value = poly(Atom("read", "data", index, integer=whole, role="data"))
        if self.problem.relation in ONE_CHANGED:
            change = choose(equal(index, symbol("changed", integer=True)), self.delta(), NOTHING)
        elif self.problem.relation == ADDED:  # the iterations of the two runs are aligned, but for one
            change = NOTHING
        else:
            change = poly(Atom("read", "change", index, integer=whole, role="data"))
        self.know(*entry_facts(self.problem, value, change, self.entry_env))
        return Number(value, change)

    def know(self, *facts: Formula) -> None:
        """Adds facts once."""
        for fact in facts:
            if fact is not TRUE and fact not in self.facts:
                self.facts.append(fact)

    # -- cut points

    def leaf(self, target: str | None, result: Any = None) -> None:
        """Records an arrival, once for each sequence of choices."""
        for draw in self.draws:
            if draw.segment == self.segment:
                draw.when = tuple(self.outcomes[draw.start :])
        key = (tuple(self.taken), self.segment, target)
        if key not in self.explorer.arrived:
            self.explorer.arrived.add(key)
            self.explorer.leaves.append(
                Leaf(
                    tuple(self.facts),
                    tuple(self.heads),
                    tuple(self.reads),
                    tuple(replace(draw) for draw in self.draws),
                    tuple(self.obligations),
                    self.segment,
                    target,
                    dict(self.env),
                    result,
                    tuple(self.outcomes),
                    tuple(self.appends),
                )
            )

    def finish(self, value: Any) -> None:
        """The program returns."""
        self.owe("return", value)
        self.leaf(None, value)

    def owe(self, position: str, value: Any) -> None:
        """Run 2 must release the same value."""
        if isinstance(value, Number):
            if value.change.terms:
                changes = tuple(differences(value.first, value.second))
                self.obligations.append(Owed(position, equal(value.change, 0), changes, True))
        elif isinstance(value, Truth):
            if value.first is not value.second:
                changes = tuple(parallel(value.first, value.second))
                self.obligations.append(Owed(position, same_truth(value.first, value.second), changes))
        elif isinstance(value, Items):
            for item in value.items:
                self.owe(position, item)
        elif isinstance(value, Sequence_):
            self.owe(position, value.length)
            if value.name != self.data or not value.built:
                index = symbol(f"k#{self.segment}", integer=True)
                owed = len(self.obligations)
                self.owe(position, value.get(index))
                if len(self.obligations) > owed:  # else of a list that is always empty all would be known
                    self.know(at_most(0, index), less(index, value.length.first))

    def fresh(self, name: str, loop: str, value: Any) -> Any:
        """An unknown value of the same shape."""
        label = f"{name}@{loop}#{self.segment}{'r' * ((loop, name) in self.explorer.reals)}"  # a symbol has one sort
        if isinstance(value, Number):
            whole = (loop, name) not in self.explorer.reals and value.first.integer
            steps = (loop, name) not in self.explorer.reals and value.change.integer
            return Number(symbol(label, integer=whole), symbol(f"d {label}", integer=steps and whole))
        if isinstance(value, Truth):
            return Truth(truth_symbol(label), truth_symbol(f"other {label}"))
        if isinstance(value, Maybe) or (isinstance(value, Constant) and (loop, name) in self.explorer.reals):
            absent = Truth(truth_symbol(f"no {label}"), truth_symbol(f"other no {label}"))
            special = value.special if isinstance(value, Maybe) else value.value
            return Maybe(special, absent, Number(symbol(label), symbol(f"d {label}")))
        if isinstance(value, Items):
            return Items(tuple(self.fresh(f"{name}.{i}", loop, item) for i, item in enumerate(value.items)))
        if isinstance(value, Sequence_) and self.changes(name):
            return self.changing_list(name, label, value)
        if isinstance(value, Sequence_) and value.built:
            length = Number(symbol(f"len {label}", integer=True), symbol(f"d len {label}", integer=True))
            self.know(at_most(0, length.first), at_most(0, length.second))
            return replace(value, length=length)
        return value

    def changes(self, key: str) -> bool:
        """Whether elements of the list with that key change."""
        return key.rpartition(">")[2] in self.explorer.changing

    def changing_list(self, name: str, label: str, value: Sequence_) -> Sequence_:
        """A list whose elements change, at a loop's head: of each element its formulas are known."""
        length, head = value.length, len(self.heads)
        if name.rpartition(">")[2] in self.explorer.resized:
            length = Number(symbol(f"len {label}", integer=True), NOTHING)
        self.know(at_most(0, length.first))
        if not isinstance(element := value.get(NOTHING), Number | None):
            raise Unsupported(f"elements of {name} are no numbers")
        whole = element is not None and element.first.integer and element.change.integer

        def get(index: Poly) -> Number:
            self.reads.append((written(name), index, self.heads[head][1]))
            one, change = (
                poly(Atom("read", what, index, integer=whole)) for what in (f"item {label}", f"d item {label}")
            )
            return Number(one, change)

        return replace(value, length=length, get=get, label=label)

    def arrive(self, position: str, names: Sequence[str]) -> None:
        """Records an arrival, with an arbitrary element of each list whose elements the loop changes."""
        for name in names:
            value = self.env.get(name)
            if isinstance(value, Sequence_) and self.changes(name):
                text = written(name)
                self.explorer.numeric.add(text)
                place = symbol(f"k {name}#{self.segment}", integer=True)
                self.know(at_most(0, place), less(place, value.length.first))
                element = as_number(value.get(place))
                self.appends.append((text, place, element, dict(self.env)))
                if self.heads and self.heads[-1][0] == position:
                    before = self.heads[-1][1][name].get(place)
                    index = self.heads[-1][1][f"index:{position}"].first
                    grown = Number(element.first - before.first, element.change - before.change)
                    self.explorer.changes.setdefault(text, {}).setdefault(position, (place, index, grown))
        self.leaf(position)

    def loop(
        self,
        position: str,
        names: Sequence[str],
        test: Callable[[Poly], Truth],
        body: Callable[[Poly], None],
        start: Env | None = None,
        bound: Callable[[Poly], list[Formula]] | None = None,
        skips: bool = False,
    ) -> None:
        """A loop: arrival, an arbitrary later state, and either the body once or what comes after.

        Where it `skips`, it goes over the data, one run's entry is missing in the other, and the longer list counts.
        """
        if skips:
            size = symbol("n", integer=True)
            test, bound = (lambda index: Truth(less(index, size), less(index, size))), lambda i: [at_most(i, size)]
        self.env.update(start or {})
        names = list(map(self.key, names))
        index_key = f"index:{position}"
        self.env[index_key] = Number(poly(0), NOTHING)
        self.arrive(position, names)
        self.segment += 1
        for name in names:
            if name in self.env:
                self.env[name] = self.fresh(name, position, self.env[name])
        index = symbol(f"index:{position}#{self.segment}", integer=True)
        self.env[index_key] = Number(index, NOTHING)
        self.know(at_most(0, index), *(bound(index) if bound else []))
        self.heads.append((position, dict(self.env)))
        self.explorer.loops.setdefault(position, []).append(dict(self.env))
        self.obligations, self.appends = [], []
        self.loop_stack.append(position)
        self.explorer.loop_of[position] = tuple(self.loop_stack)
        if self.branch(position, test(index), named=False):
            try:
                if skips:
                    self.skip(index, body)
                else:
                    body(index)
            except _Continue:
                pass
            except _Break:
                self.leave(position)
                return
            self.env[index_key] = Number(index + 1, NOTHING)
            self.arrive(position, names)
            raise _Ended
        self.leave(position)

    def skip(self, index: Poly, body: Callable[[Poly], None]) -> None:
        """An iteration over the data: of both runs, or of the one alone whose list has the entry more."""
        here = equal(index, symbol("changed", integer=True))
        if not self.pick():
            self.know(negate(here))
            body(index)
            return
        longer = 1 if self.pick() else -1
        self.know(here, equal(symbol("sign", integer=True), longer))
        before, self.alone = dict(self.env), "second" if longer == 1 else "first"
        try:
            body(index)
        except _Continue:
            pass
        except _Break:
            raise Unsupported("one run alone would leave the loop") from None
        finally:
            self.alone = ""
        both_ways = ((before[name], self.env[name]) for name in before)
        merged = [self.merged(one, two) if longer == 1 else self.merged(two, one) for one, two in both_ways]
        self.env = dict(zip(before, merged, strict=True))

    def leave(self, position: str) -> None:
        """After a loop: its prophecy is resolved."""
        self.loop_stack.pop()
        for name, said in self.explorer.prophecies.items():
            if said.loop == position:
                known = symbol(f"prophecy {name}", integer=True)
                value = self.env.get(said.variable)
                if isinstance(value, Number):
                    self.know(equal(value.first, known))
                    self.env[said.variable] = Number(known, value.second - known)
                    self.obligations.append(Owed(position, equal(value.second, known), ()))

    # -- branches

    def pick(self) -> bool:
        """The next choice."""
        at = len(self.taken)
        choice = self.given[at] if at < len(self.given) else True
        self.taken.append(choice)
        return choice

    def branch(self, position: str, test: Truth, named: bool = True) -> bool:
        """Which way run 1 goes; run 2 owes the same."""
        if self.alone:
            own = getattr(test, self.alone)
            test, named = Truth(own, own), False
        if test.first in (TRUE, FALSE) and test.second in (TRUE, FALSE):
            return test.first is TRUE
        if test.first in self.facts:
            outcome = True
        elif negate(test.first) in self.facts:
            outcome = False
        else:
            outcome = self.pick()
            self.know(test.first if outcome else negate(test.first))
        owed = test.second if outcome else negate(test.second)
        if test.second is not test.first:
            self.obligations.append(Owed(position, owed, tuple(parallel(test.first, test.second))))
        if named:
            self.outcomes.append((position, outcome))
        return outcome

    # -- statements

    def key(self, name: str) -> str:
        """A variable's key in the state: a helper's is not its caller's."""
        return f"inner:{self.prefix}{name}" if self.prefix and ":" not in name else name

    def at(self, node: ast.AST) -> str:
        """A node's position."""
        return f"{self.prefix}{node.lineno}:{node.col_offset}"  # type: ignore[attr-defined]

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Executes statements in order."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Executes one statement."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item])):
                self.append(name, self.value_or_popped(item))
            case ast.Assign(targets=targets, value=value):
                result = self.value_or_popped(value)
                for target in targets:
                    self.assign(target, result)
            case ast.AnnAssign(target=ast.Name() as target, value=value) if value is not None:
                self.assign(target, self.value(value))
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=index), op=op, value=value):
                old = self.subscript(self.env[self.key(name)], index)
                self.store(name, self.number(index), self.binary(op, old, self.value(value), node))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=args)):
                self.pop(name, args)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                key = self.key(name)
                self.env[key] = self.binary(op, self.env[key], self.value(value), node)
            case ast.If():
                self.conditional(node)
            case ast.For():
                self.for_loop(node)
            case ast.While(test=test, body=body):
                position = self.at(node)
                self.loop(
                    position,
                    assigned_names([node]),
                    lambda _: self.test(test),
                    lambda _: self.block(body),
                )
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case ast.Return(value=value):
                raise _Return(Constant(None) if value is None else self.value(value))
            case _:
                raise Unsupported(f"line {node.lineno}: {type(node).__name__}")

    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds a name or names."""
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            self.store(target.value.id, self.number(target.slice), value)
        elif isinstance(target, ast.Name) and isinstance(value, Sequence_) and target.id in self.explorer.changing:
            key = self.key(target.id)
            self.explorer.changes.setdefault(written(key), {})
            self.env[key] = replace(value, name=written(key), built=True)
        elif isinstance(target, ast.Name):
            if isinstance(value, Sequence_) and value.name is not None and value.name.startswith("at("):
                self.explorer.lists.setdefault(value.name, value.draws)
            if isinstance(value, Sequence_) and value.built and value.name is None:
                value = self.named_list(written(self.key(target.id)), value)
            self.env[self.key(target.id)] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, Items) and len(value.items) == len(target.elts):
            for part, item in zip(target.elts, value.items, strict=True):
                self.assign(part, item)
        else:
            raise Unsupported(f"line {target.lineno}: assignment")

    def named_list(self, name: str, value: Sequence_) -> Sequence_:
        """A list that is appended to: its elements are known by its formulas alone."""
        self.explorer.lists[name] = True
        return replace(value, get=lambda index: self.element(name, index), name=name)

    def element(self, name: str, index: Poly) -> Any:
        """An element of a list of which only formulas are known."""
        self.reads.append((name, index, dict(self.env)))
        return nameless_element(name).get(index) if name in self.explorer.numeric else Constant("an item")

    def store(self, name: str, index: Number, value: Any) -> None:
        """`name[index] = value`."""
        key = self.key(name)
        items, literal = self.env[key], index.first.constant
        if not isinstance(items, Sequence_):
            raise Unsupported(f"an element of {name}")
        place = arithmetic(ast.Add(), items.length, index) if literal is not None and literal < 0 else index
        if literal is None:
            inside = both(at_most(0, place.first), less(place.first, items.length.first))
            self.obligations.append(Owed(f"index {name}", inside, ()))

        grown = self.growth(items, place, value)

        def get(k: Poly) -> Any:
            here, old = Truth(equal(k, place.first), equal(k, place.second)), items.get(k)
            if grown is None:
                return merge(here, value, old)
            return arithmetic(ast.Add(), old, merge(here, grown, Number(NOTHING, NOTHING)))

        self.env[key] = replace(items, get=get, label=None)

    def growth(self, items: Sequence_, place: Number, value: Any) -> Number | None:
        """By how much an element grows, where that does not depend on the list."""
        if not isinstance(value, Number) or not isinstance(old := self.element_at(items, place), Number):
            return None
        grown = arithmetic(ast.Sub(), value, old)
        read = {atom.args[0] for atom in grown.first.support | grown.change.support if atom.kind == "read"}
        return None if any(items.label and str(each).endswith(f"item {items.label}") for each in read) else grown

    def value_or_popped(self, node: ast.expr) -> Any:
        """A value that is assigned or appended, which `xs.pop(i)` may give."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=args):
                return self.pop(name, args)
        return self.value(node)

    def pop(self, name: str, args: Sequence[ast.expr]) -> Any:
        """`name.pop(index)`: the element, which is no longer in the list."""
        items = self.env[self.key(name)]
        if self.alone or not isinstance(items, Sequence_):
            raise Unsupported(f"pop from {name}")
        last = Number(items.length.first - 1, items.length.change)
        place = self.number(args[0]) if args and ast.unparse(args[0]) != "-1" else last
        for inside in (at_most(0, place.first), less(place.first, items.length.first)):
            self.obligations.append(Owed(f"index {name}", inside, ()))

        def get(k: Poly) -> Any:
            before = Truth(less(k, place.first), less(k, place.second))
            return items.get(k) if place is last else merge(before, items.get(k), items.get(k + 1))

        self.env[self.key(name)] = replace(items, length=last, get=get, label=None)
        return self.element_at(items, place)

    def element_at(self, items: Sequence_, place: Number) -> Any:
        """The element at a place, which differs between the runs where the data say it; what noise says is owed."""
        one = items.get(place.first)
        private = self.delta().support & place.change.support or any(a.role == "data" for a in place.change.support)
        return self.merged(one, items.get(place.second)) if private else one

    def append(self, name: str, value: Any) -> None:
        """`name.append(value)`."""
        key = self.key(name)
        items = self.env[key]
        if self.changes(key) and isinstance(items, Sequence_) and not self.alone:
            length = items.length.first

            def get(k: Poly) -> Any:
                here = equal(k, length)
                return value if here is TRUE else merge(Truth(here, here), value, items.get(k))

            grown = Number(length + 1, items.length.change)
            self.env[key] = replace(items, length=grown, get=get, label=None)
            return
        if self.alone or not isinstance(items, Sequence_) or not items.built:
            raise Unsupported(f"append to {name}")
        if isinstance(value, Number):
            self.explorer.numeric.add(items.name or name)
            self.appends.append((items.name or name, items.length.first, value, dict(self.env)))
        else:
            self.explorer.composed(items.name or name, value)
            self.owe("append", value)
        self.env[self.key(name)] = replace(items, length=Number(items.length.first + 1, items.length.change))

    def conditional(self, node: ast.If) -> None:
        """`if`: a branch of the trace, or one in which the runs may part."""
        position = self.at(node)
        test = self.test(node.test)
        known = self.explorer.branches.setdefault(
            position, Branch(scalar_arms(node), tuple(map(self.key, assigned_names([node]))), tuple(self.loop_stack))
        )
        if test not in known.conditions:
            known.conditions.append(test)
        if position not in self.explorer.free:
            self.block(node.body if self.branch(position, test) else node.orelse)
            return
        before, appended = dict(self.env), self.append
        arms: list[tuple[Env, list[tuple[str, Any]]]] = []
        for body in (node.body, node.orelse):
            added: list[tuple[str, Any]] = []
            self.env = dict(before)
            self.append = _recorder(added)  # type: ignore[assignment, method-assign]
            self.block(body)
            arms.append((self.env, added))
        self.append = appended  # type: ignore[method-assign]
        first, second = (self.pick() for _ in range(2))
        self.know(test.first if first else negate(test.first), test.second if second else negate(test.second))
        (env1, added1), (env2, added2) = arms[not first], arms[not second]
        self.env = {name: self.merged(env1.get(name), env2.get(name)) for name in env1 if name in env2}
        if [name for name, _ in added1] != [name for name, _ in added2]:
            raise Unsupported("the arms of a free branch append differently")
        for (name, one), (_, two) in zip(added1, added2, strict=True):
            self.append(name, self.merged(one, two))

    def merged(self, first: Any, second: Any) -> Any:
        """Run 1's value from one arm and run 2's from another."""
        if first == second:
            return first
        if isinstance(first, Sequence_) and isinstance(second, Sequence_) and first.length == second.length:
            return replace(first, get=lambda k: self.merged(first.get(k), second.get(k)), label=None)
        if isinstance(first, Number) and isinstance(second, Number):
            return Number(first.first, second.second - first.first)
        if isinstance(first, Maybe) or isinstance(second, Maybe):
            special = (first if isinstance(first, Maybe) else second).special
            one, two = maybe(first, special), maybe(second, special)
            return Maybe(special, self.merged(one.absent, two.absent), self.merged(one.number, two.number))
        if isinstance(first, Constant) or isinstance(second, Constant):
            special = (first if isinstance(first, Constant) else second).value
            return self.merged(maybe(first, special), second)
        if isinstance(first, Truth) and isinstance(second, Truth):
            return Truth(first.first, second.second)
        raise Unsupported("the arms of a free branch")

    def for_loop(self, node: ast.For) -> None:
        """`for target in items`."""
        if node.orelse:
            raise Unsupported(f"line {node.lineno}: for-else")
        if (chosen := flips(self, node)) is not None:
            self.assign(node.target, chosen)
            self.accepted(node)
            return
        count, item = self.iteration(node.iter)
        targets = [self.key(name.id) for name in ast.walk(node.target) if isinstance(name, ast.Name)]
        for name in targets:
            self.env.pop(name, None)

        def body(index: Poly) -> None:
            self.assign(node.target, item(index))
            self.block(node.body)

        names = [name for name in assigned_names(node.body) if self.key(name) not in targets]
        self.loop(
            self.at(node),
            names,
            lambda index: Truth(less(index, count.first), less(index, count.second)),
            body,
            bound=lambda index: [either(at_most(index, count.first), equal(index, 0))],
            skips=self.skips(count),
        )
        for name in targets:
            self.env.pop(name, None)

    def accepted(self, node: ast.For) -> None:
        """What a loop in random order does at the place that it ends with."""
        (branch,) = node.body
        try:
            self.block(branch.body)  # type: ignore[attr-defined]
        except _Break:
            return
        raise Unsupported(f"line {node.lineno}: a loop in random order that goes on")

    def skips(self, count: Number) -> bool:
        """Whether so many iterations are those over data of which one run has an entry more."""
        return self.problem.relation == ADDED and count.change == symbol("sign", integer=True)

    def iteration(self, node: ast.expr) -> tuple[Number, Callable[[Poly], Any]]:
        """How many items there are and the item at an index."""
        items = self.iterable(node)
        if items.kept is not None:
            raise Unsupported(f"line {node.lineno}: a loop over a filtered list")
        return items.length, items.get

    def iterable(self, node: ast.expr) -> Sequence_:
        """What a loop runs over."""
        match node:
            case ast.Tuple(elts=[_, *_] as elements):
                return literal_list([self.value(element) for element in elements])
            case ast.Call(func=ast.Name(id="enumerate"), args=[items]):
                count, item = self.iteration(items)
                if self.skips(count):
                    raise Unsupported("places in data of differing length")
                return Sequence_(count, lambda index: Items((Number(index, NOTHING), item(index))))
            case ast.Call(func=ast.Name(id="zip"), args=[one, two]):
                (count, item), (_, other) = self.iteration(one), self.iteration(two)
                return Sequence_(count, lambda index: Items((item(index), other(index))))
            case ast.Call(func=ast.Name(id="range"), args=args):
                numbers = [self.number(arg) for arg in args]
                if any(map(self.skips, numbers)):
                    raise Unsupported("a range of private length")
                start, stop = (Number(NOTHING, NOTHING), numbers[0]) if len(numbers) == 1 else numbers[:2]
                step = numbers[2].first.constant if len(numbers) == 3 else Fraction(1)
                if step is None and numbers[2].change == NOTHING:
                    return self.steps(start, stop, numbers[2].first)
                if not step or step.denominator != 1:
                    raise Unsupported("a range's step")
                way, size = int(step), abs(int(step))
                span = Number((stop.first - start.first) * (way // size), (stop.change - start.change) * (way // size))
                rounded = Number(span.first + (size - 1), span.change)
                count = span if size == 1 else arithmetic(ast.FloorDiv(), rounded, Number(poly(size), NOTHING))
                return Sequence_(count, lambda index: Number(start.first + index * way, start.change))
        items = self.value(node)
        if isinstance(items, Sequence_):
            return items
        raise Unsupported(f"line {node.lineno}: a loop over this")

    def steps(self, start: Number, stop: Number, step: Poly) -> Sequence_:
        """A range with a public step, which is to be above 0."""
        span = Number(stop.first - start.first + step - 1, stop.change - start.change)
        count = arithmetic(ast.FloorDiv(), span, Number(step, NOTHING))
        first = choose(at_most(0, span.first - step + 1), count.first, NOTHING)
        return Sequence_(
            Number(first, NOTHING if span.change == NOTHING else count.change),
            lambda index: Number(start.first + index * step, start.change),
        )

    # -- expressions

    def number(self, node: ast.expr) -> Number:
        """An expression that is a number."""
        return as_number(self.value(node))

    def test(self, node: ast.expr) -> Truth:
        """An expression as a condition."""
        return as_truth(self.value(node))

    def value(self, node: ast.expr) -> Any:
        """An expression's value."""
        match node:
            case ast.Constant(value=value):
                return constant(value)
            case ast.Name(id=name):
                if self.key(name) in self.env:
                    return self.env[self.key(name)]
                if name in self.explorer.constants:
                    return self.value(self.explorer.constants[name])
                raise Unsupported(f"line {node.lineno}: {name} is not known here")
            case ast.BinOp(left=ast.List(elts=[element]), op=ast.Mult(), right=right):
                filled = self.value(element)
                return Sequence_(self.number(right), lambda _: filled)
            case ast.BinOp(left=left, op=op, right=right):
                found = self.geometric(node)
                return found if found is not None else self.binary(op, self.value(left), self.value(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.value(operand)
                if isinstance(inner, Constant) and inner.value in (INFINITY, -INFINITY):
                    return Constant(-inner.value)
                return lifted(lambda a: Number(-as_number(a).first, -as_number(a).change), inner)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                test = self.test(operand)
                return Truth(negate(test.first), negate(test.second))
            case ast.BoolOp(op=op, values=values):
                tests = []
                for each in values:
                    tests.append(self.test(each))
                    if tests[-1].first is tests[-1].second is (FALSE if isinstance(op, ast.And) else TRUE):
                        break
                join = both if isinstance(op, ast.And) else either
                return Truth(join(*(t.first for t in tests)), join(*(t.second for t in tests)))
            case ast.Compare():
                return self.comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(node, test, body, orelse)
            case ast.Tuple(elts=elements):
                return Items(tuple(self.value(element) for element in elements))
            case ast.List(elts=[]):
                return Sequence_(Number(NOTHING, NOTHING), lambda _: None, built=True)
            case ast.List(elts=elements):
                return literal_list([self.value(element) for element in elements])
            case ast.Subscript(value=items, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                return self.slice(self.value(items), lower, upper)
            case ast.Subscript(value=items, slice=index):
                return self.subscript(self.value(items), index)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node)
            case ast.Call():
                return call(self, node)
            case ast.Attribute(value=ast.Name(id="math" | "np"), attr="pi" | "e" as name):
                return Number(apply(name), NOTHING)
            case ast.Attribute(value=ast.Name(id="math" | "np"), attr="inf"):
                return Constant(INFINITY)
            case ast.Attribute(value=items, attr="size"):
                return self.value(items).length
            case _:
                raise Unsupported(f"line {node.lineno}: {type(node).__name__}")

    def choice(self, node: ast.IfExp, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Any:
        """`a if c else b`: a branch, but no branch inside the element of a list."""
        position, condition = self.at(node), self.test(test)
        quiet = not (self.draws_noise(body) or self.draws_noise(orelse))
        if self.generic:
            return merge(condition, self.value(body), self.value(orelse))
        known = self.explorer.branches.setdefault(position, Branch(quiet, (), tuple(self.loop_stack)))
        if condition not in known.conditions:
            known.conditions.append(condition)
        if position in self.explorer.free:
            return merge(condition, self.value(body), self.value(orelse))
        return self.value(body if self.branch(position, condition) else orelse)

    def geometric(self, node: ast.BinOp) -> Number | None:
        """`rng.geometric(p) - rng.geometric(p)`: one two-sided geometric draw."""
        match node:  # x + geometric - geometric
            case ast.BinOp(ast.BinOp(rest, ast.Add(), one), ast.Sub(), two) if _are_geometric(one, two):
                before = self.number(rest)
                noise = self.geometric(ast.BinOp(one, ast.Sub(), two))
                assert noise is not None
                return arithmetic(ast.Add(), before, noise)
        if isinstance(node.op, ast.Sub) and _are_geometric(node.left, node.right):
            assert isinstance(node.left, ast.Call)
            arguments = [*node.left.args, *(keyword.value for keyword in node.left.keywords)]
            if len(arguments) == 1:
                return self.draw("geometric", self.at(node.left), self.number(arguments[0]), whole=True)
        return None

    def binary(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        """Arithmetic, elementwise on lists."""
        both_lists = isinstance(left, Sequence_) and isinstance(right, Sequence_) and isinstance(op, ast.Add)
        if both_lists and ({left.name, right.name} & set(self.explorer.lists) or left.built or right.built):
            return self.joined(left, right)
        return lifted(lambda a, b: arithmetic(op, as_number(a), as_number(b)), left, right)

    def comparison(self, node: ast.Compare) -> Any:
        """A chain of comparisons; with `rng.random()` on one side a coin."""
        sides = [node.left, *node.comparators]
        if len(sides) == 2:
            for at, side in enumerate(sides):
                if _is_uniform(side, self.rng):
                    below = isinstance(node.ops[0], ast.Lt | ast.LtE) == (at == 0)
                    return self.coin(side, self.number(sides[1 - at]), below)
        values = [self.value(side) for side in sides]
        results = [
            lifted(lambda a, b, op=op: compared(op, a, b), one, two)
            for op, one, two in zip(node.ops, values, values[1:], strict=False)
        ]
        result = results[0]
        for other in results[1:]:
            result = Truth(both(result.first, other.first), both(result.second, other.second))
        return result

    def coin(self, draw: ast.Call, chance: Number, below: bool) -> Any:
        """`rng.random() < p`, or its mirror image; with a size a list of them."""
        size = [*draw.args, *(keyword.value for keyword in draw.keywords)]
        if size:
            coins = self.sized_draw("coin", self.at(draw), chance, self.number(size[0]), whole=True)

            def get(k: Poly) -> Truth:
                element = coins.get(k)
                heads, stays = equal(element.first, 1), negate(equal(element.change, 1))
                first, second = heads, Formula("iff", heads, stays)
                return Truth(first, second) if below else Truth(negate(first), negate(second))

            return replace(coins, get=get)
        label = self.label(self.at(draw))
        value, flip = truth_symbol(f"coin {label}"), truth_symbol(f"flip {label}")
        if chance.change.terms:  # the data are in its probability: it falls the same way, which costs
            self.event("bias", self.at(draw), flip.args[0], chance, value)
            return Truth(value, value) if below else Truth(negate(value), negate(value))
        event = self.event("coin", self.at(draw), flip.args[0], chance, value)
        del event
        first, second = value, Formula("iff", value, negate(flip))
        return Truth(first, second) if below else Truth(negate(first), negate(second))

    def slice(self, items: Any, lower: ast.expr | None, upper: ast.expr | None) -> Sequence_:
        """`items[lower:upper]`."""
        if not isinstance(items, Sequence_):
            raise Unsupported("a slice")
        size = items.length

        def place(number: Poly, length: Poly) -> Poly:
            back = choose(at_most(0, number + length), number + length, NOTHING)
            return choose(at_most(0, number), choose(at_most(number, length), number, length), back)

        nought = Number(NOTHING, NOTHING)
        first = nought if lower is None else of_both(place, self.number(lower), size)
        end = size if upper is None else of_both(place, self.number(upper), size)
        span = of_both(lambda a, b: choose(at_most(a, b), b - a, NOTHING), first, end) if lower is not None else end

        return Sequence_(span, lambda index: self.element_at(items, Number(index + first.first, first.change)))

    def joined(self, one: Sequence_, two: Sequence_) -> Sequence_:
        """`one + two`."""
        size = one.length

        def get(index: Poly) -> Any:
            before = Truth(less(index, size.first), less(index, size.second))
            return merge(before, one.get(index), two.get(index - size.first))

        return Sequence_(arithmetic(ast.Add(), size, two.length), get)

    def subscript(self, items: Any, index: ast.expr) -> Any:
        """`items[index]`."""
        where = self.value(index)
        if isinstance(items, Items) and (at := where.first.constant) is not None:
            return items.items[int(at)]
        if not isinstance(items, Sequence_) or not isinstance(where, Number):
            raise Unsupported(f"line {index.lineno}: an index")
        at = where.first.constant
        place = items.length.first + where.first if at is not None and at < 0 else where.first
        if at is None:
            inside = both(at_most(0, place), less(place, items.length.first))
            self.obligations.append(Owed(f"index {self.at(index)}", inside, ()))
        return self.element_at(items, Number(place, where.change))

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Sequence_:
        """A list comprehension: composed where it draws nothing, else a loop that appends."""
        (generator,) = node.generators
        source = self.iterable(generator.iter)
        count, item, position = source.length, source.get, self.at(node)

        def bind(index: Poly, wanted: ast.expr = node.elt) -> Any:
            saved = dict(self.env)
            self.assign(generator.target, item(index))
            value = self.value(wanted)
            targets = {self.key(name.id) for name in ast.walk(generator.target) if isinstance(name, ast.Name)}
            self.env = {k: v for k, v in self.env.items() if k not in targets} | {
                k: v for k, v in saved.items() if k in targets
            }
            return value

        if not self.draws_noise(node.elt):

            def compose(index: Poly, wanted: ast.expr = node.elt) -> Any:
                self.generic += 1
                try:
                    return bind(index, wanted)
                finally:
                    self.generic -= 1

            if not generator.ifs and source.kept is None:
                return Sequence_(count, compose)

            def kept(index: Poly) -> Truth:
                tests = [as_truth(compose(index, test)) for test in generator.ifs]
                tests += [] if source.kept is None else [source.kept(index)]
                return Truth(both(*(t.first for t in tests)), both(*(t.second for t in tests)))

            nought = Number(NOTHING, NOTHING)
            return Sequence_(count, lambda index: merge(kept(index), compose(index), nought), kept=kept)
        if generator.ifs or source.kept is not None:
            raise Unsupported(f"line {node.lineno}: a filtered list of draws")
        name = f'at("{position}")'

        targets = list(map(self.key, assigned_names([generator.target])))

        def body(index: Poly) -> None:
            self.assign(generator.target, item(index))
            self.hidden |= set(targets)
            value = self.value(node.elt)
            if isinstance(value, Number):
                self.explorer.numeric.add(name)
                self.appends.append((name, index, value, dict(self.env)))
            else:
                self.explorer.composed(name, value)
                self.owe("append", value)

        saved = dict(self.env)
        self.loop(
            position,
            [],
            lambda index: Truth(less(index, count.first), less(index, count.second)),
            body,
            bound=lambda index: [either(at_most(index, count.first), equal(index, 0))],
            skips=self.skips(count),
        )
        self.hidden -= set(targets)
        self.env = {k: v for k, v in self.env.items() if k not in targets} | {
            k: v for k, v in saved.items() if k in targets
        }
        self.explorer.lists[name] = True
        return Sequence_(count, lambda index: self.element(name, index), name)

    def draws_noise(self, node: ast.AST) -> bool:
        """Whether the generator occurs in it."""
        return any(isinstance(inner, ast.Name) and inner.id == self.rng for inner in ast.walk(node))

    # -- draws

    def label(self, position: str) -> str:
        """A name for a draw's symbols, its own on each path."""
        if self.alone:
            raise Unsupported("a draw for an entry that one run alone has")
        self.counter += 1
        return f"{position}#{self.segment}.{self.counter}"

    def event(self, kind: str, position: str, shift: Atom, scale: Any, value: Any, index: Poly | None = None) -> Draw:
        """Records a draw."""
        seen = {name: item for name, item in self.env.items() if name not in self.hidden}
        draw = Draw(position, kind, shift, scale, seen, len(self.outcomes), value, (), self.segment, index)
        draw.loops = tuple(self.loop_stack)
        self.draws.append(draw)
        if isinstance(scale, Number) and scale.change.terms and kind != "bias":
            self.obligations.append(Owed(position, equal(scale.change, 0), ()))
        if kind == "exponential":
            self.obligations.append(Owed(position, at_most(0, poly(shift)), ()))
        self.explorer.all_draws.setdefault(position, draw)
        return draw

    def draw(self, kind: str, position: str, scale: Number, whole: bool = False) -> Number:
        """A draw: noise in run 1, and the unknown shift."""
        label = self.label(position)
        noise, shift = symbol(f"noise {label}", whole, "noise"), symbol(f"shift {label}", whole, "shift")
        atom = shift.atom()
        assert atom is not None
        self.event(kind, position, atom, scale, noise)
        if kind == "exponential":
            self.know(at_most(0, noise))
        return Number(noise, shift)

    def sized_draw(self, kind: str, position: str, scale: Number, size: Number, whole: bool = False) -> Sequence_:
        """A list of independent draws: a loop that draws, whose element k has its own shift."""
        name = f'at("{position}")'

        def body(index: Poly) -> None:
            label = self.label(position)
            shift = Atom("read", f"shift {position}", index, integer=whole, role="shift")
            self.event(kind, position, shift, scale, symbol(f"noise {label}", whole, "noise"), index)

        self.loop(
            position,
            [],
            lambda index: Truth(less(index, size.first), less(index, size.second)),
            body,
            bound=lambda index: [either(at_most(index, size.first), equal(index, 0))],
        )
        return Sequence_(
            size,
            lambda index: Number(
                poly(Atom("read", f"noise {position}", index, integer=whole, role="noise")),
                poly(Atom("read", f"shift {position}", index, integer=whole, role="shift")),
            ),
            name,
            draws=True,
        )


def _is_uniform(node: ast.expr, rng: str) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("random", "uniform")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == rng
        and (node.func.attr == "random" or not (node.args or node.keywords))
    )


def _are_geometric(*nodes: ast.expr) -> bool:
    return all(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "geometric"
        for node in nodes
    )


def _recorder(added: list[tuple[str, Any]]) -> Callable[[str, Any], None]:
    return lambda name, value: added.append((name, value))
