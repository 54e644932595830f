"""Reads an ordinary Python function of a dataset into an expression over aggregates: a whitelist, all else is refused.

Arithmetic is that of the reals: a decimal in the source is the number that it writes. Whatever must hold for a term to
be defined (denominators, roots, positions in a list) is kept as an obligation, to be proved of every dataset.
"""

import ast
import builtins
import inspect
import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from sympy import And, Dummy, Eq, Ge, Le, Lt, Max, Min, Ne, Not, Or, S, floor

from dpassay.core.errors import InvalidInput
from dpassay.prover.program_text import Refused, huge_constant, piece_of
from dpassay.prover.sensitivity.aggregates import (
    INDEX,
    Choice,
    Sequence,
    aggregate,
    entry,
    is_private,
    new_index,
    number,
)
from dpassay.prover.sensitivity.library import called
from dpassay.prover.sensitivity.queries import certain
from dpassay.prover.sensitivity.values import Growing, Local, Method, NeedsArray, NotUnderstood, Permutation

MAX_DEPTH = 8
MAX_FORKS = 64


REWRITTEN = "@pytest_ar"
"""A name in functions whose assertions pytest has rewritten; their code is not that of their text."""


@dataclass(frozen=True)
class Obligation:
    """A condition that makes a term defined, with what is known where it stands."""

    condition: Any
    path: tuple[Any, ...]
    line: int | None


@dataclass
class Read:
    """A function as it was read.

    Attributes:
        value: what it returns, an expression over entries, aggregates, n and the parameters.
        n: the number of entries.
        parameters: name -> Dummy.
        obligations: what must be proved for the value to be defined.
        assumed: public conditions that the source itself states (assert, or a guard that raises).
        notes: what was taken for granted in reading, in words.
        kind: "list" or "array".
    """

    value: Any
    n: Any
    parameters: dict[str, Any]
    obligations: list[Obligation]
    assumed: list[Any]
    notes: list[str]
    kind: str


def source_of(function: Any) -> tuple[ast.FunctionDef, str, str, int]:
    """The definition, its text, file and first line.

    Raises:
        InvalidInput: not a Python function whose source can be read.
    """
    if not inspect.isfunction(function):
        raise InvalidInput(f"{function!r} is not a Python function: give one that is written with def")
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError) as error:
        raise InvalidInput(f"the source of {function.__name__} cannot be read: {error}") from None
    definition = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__name__:
        raise InvalidInput(f"{function.__name__} is not written with def: a lambda or coroutine is not read")
    file, first = inspect.getsourcefile(function) or "?", function.__code__.co_firstlineno
    if (huge := huge_constant(definition, function.__globals__)) is not None:
        raise InvalidInput(f"{file}:{first + huge.lineno - 1}: {ast.unparse(huge)} is too large to be computed")
    return definition, text, file, first


def read(function: Any, kind: str, named: Several[str] = (), *, length: int | None = None) -> Read:
    """Reads a function whose dataset is a list or an array.

    Args:
        function: of the dataset and of public parameters.
        kind: "list" or "array".
        named: parameters that stay free although they have a default.
        length: of the dataset; any from 1 on if None.

    Raises:
        NotUnderstood: with the line and the reason.
    """
    definition, _, _, first = source_of(function)
    n = Dummy("n", integer=True, positive=True) if length is None else sympy.Integer(length)
    reader = _Reader(function, kind, first - 1, n)
    try:
        return reader.whole(definition, named)
    except ZeroDivisionError:
        raise NotUnderstood("a remainder of a division by 0", reader.line) from None


def _stores(nodes: Several[ast.AST]) -> list[str]:
    found = []
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del):
                found.append(each.id)
            elif isinstance(each, ast.FunctionDef):
                found.append(each.name)
    return found


def _contains(nodes: Several[ast.AST], kinds: Any) -> bool:
    return any(isinstance(each, kinds) for node in nodes for each in ast.walk(node))


class _Reader:
    """One reading of one function."""

    def __init__(self, function: Any, kind: str, offset: int, n: Any):
        self.function, self.kind, self.offset, self.n = function, kind, offset, n
        self.obligations: list[Obligation] = []
        self.assumed: list[Any] = []
        self.notes: list[str] = []
        self.path: list[Any] = []
        self.line: int | None = None
        self.depth = 0
        self.forks = 0
        self.running: set[Any] = set()
        self.stores: Counter[str] = Counter()
        self.parameters: dict[str, Any] = {}
        self.truths: set[Any] = set()

    def refuse(self, reason: str) -> Any:
        raise NotUnderstood(reason, self.line)

    def require(self, condition: Any) -> None:
        """Keeps a condition to be proved where it stands; what is plainly true is dropped."""
        condition = sympy.sympify(condition)
        if condition is sympy.true:
            return
        self.obligations.append(Obligation(condition, tuple(self.path), self.line))

    # The whole function

    def whole(self, definition: ast.FunctionDef, named: Several[str]) -> Read:
        self.check_text(self.function)
        arguments = definition.args
        if arguments.vararg or arguments.kwarg or (arguments.posonlyargs and len(arguments.posonlyargs) > 1):
            self.refuse("parameters with * or ** are not read")
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if not names or names[0] in arguments.kwonlyargs:
            self.refuse("the function has no dataset as its first parameter")
        given = inspect.signature(self.function).parameters
        scope: dict[str, Any] = {names[0].arg: self.dataset()}
        assigned = _stores(definition.body)
        for argument in names[1:]:
            name = argument.arg
            default = given[name].default
            if default is not inspect.Parameter.empty and name not in named:
                scope[name] = self.constant(default)
                self.notes.append(f"{name} = {default!r}, its default")
            elif self.is_permutation(definition, name):
                scope[name] = Permutation(sympy.Function(f"position_{name}", integer=True, nonnegative=True))
                self.notes.append(f"{name} holds each of 0, ..., n - 1 once")
            else:
                whole = isinstance(argument.annotation, ast.Name) and argument.annotation.id == "int"
                scope[name] = self.parameters[name] = Dummy(name, integer=True) if whole else Dummy(name, real=True)
        if "n" in self.parameters:
            self.refuse("a parameter is called n, which is the number of entries in the result: rename it")
        self.space = _names(self.function)
        self.locals_of = set(assigned) | {argument.arg for argument in names}
        self.stores = Counter(_stores(definition.body)) + Counter(argument.arg for argument in names)
        value = self.run(definition.body, scope)
        value = self.scalar(value)
        if any(term.free_symbols & self.running for term in (value, *(each.condition for each in self.obligations))):
            self.refuse("a running extreme or flag that is used before the loop ends")
        return Read(value, self.n, self.parameters, self.obligations, self.assumed, self.notes, self.kind)

    def check_text(self, function: Any) -> None:
        """Refuses text that the function does not run: that of a function it wraps, or of an edited file."""
        if inspect.unwrap(function) is not function:
            self.refuse(f"{function.__name__} wraps another function, whose source stands for it; give that function")
        if not function.__closure__ and REWRITTEN not in function.__code__.co_names:
            try:
                piece_of(function)
            except Refused as refused:
                self.refuse(str(refused))

    def dataset(self) -> Sequence:
        index = new_index()
        return Sequence(((index, self.n),), entry(index), kind=self.kind)

    def is_permutation(self, definition: ast.FunctionDef, name: str) -> bool:
        """Whether the function asserts that a parameter is a permutation: sorted(p) == list(range(len(data)))."""
        data = (definition.args.posonlyargs + definition.args.args)[0].arg
        wanted = {f"sorted({name}) == list(range(len({data})))", f"list(range(len({data}))) == sorted({name})"}
        return any(isinstance(node, ast.Assert) and ast.unparse(node.test) in wanted for node in definition.body)

    def constant(self, value: Any) -> Any:
        import numpy as np

        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool | np.bool_):
            return sympy.true if value else sympy.false
        if isinstance(value, int | np.integer):
            return sympy.Integer(int(value))
        if isinstance(value, Fraction):
            return sympy.Rational(value.numerator, value.denominator)
        if isinstance(value, float):
            known = {math.pi: sympy.pi, math.e: sympy.E, math.tau: 2 * sympy.pi, math.inf: S.Infinity}
            known[-math.inf] = S.NegativeInfinity
            if value in known:
                return known[value]
            if math.isnan(value):
                self.refuse("a value that is not a number")
            return sympy.Rational(repr(float(value)))
        if isinstance(value, tuple) or (isinstance(value, list) and all(isinstance(v, int | float) for v in value)):
            return tuple(self.constant(each) for each in value)
        if callable(value) or inspect.ismodule(value):
            return value
        return self.refuse(f"a value of type {type(value).__name__}")

    # Statements

    def run(self, statements: Several[ast.stmt], scope: dict[str, Any]) -> Any:
        """What a block returns: an `if` is read twice, each time with all that follows it."""
        scope = dict(scope)
        for place, node in enumerate(statements):
            self.line = node.lineno + self.offset
            rest = statements[place + 1 :]
            if isinstance(node, ast.Return):
                return None if node.value is None else self.value(node.value, scope)
            if isinstance(node, ast.If):
                return self.fork(node, rest, scope)
            if isinstance(node, ast.Raise):
                return _Raised
            if isinstance(node, ast.For) and _contains(node.body, ast.Return):
                return self.search_loop(node, rest, scope)
            self.statement(node, scope, statements)
        return None

    def fork(self, node: ast.If, rest: Several[ast.stmt], scope: dict[str, Any]) -> Any:
        condition = self.truth(self.value(node.test, scope))
        values = []
        self.forks += 1
        if self.forks > MAX_FORKS:
            self.refuse("too many branches")
        line = self.line
        for taken, branch in ((condition, node.body), (Not(condition), node.orelse)):
            if taken is sympy.false:
                values.append(_Never)
                continue
            self.path.append(taken)
            values.append(self.run([*branch, *rest], scope))
            self.path.pop()
        self.line = line
        for value, against in zip(values, (Not(condition), condition), strict=True):
            if value is _Raised:
                self.assume(against)
        alive = [value for value in values if value is not _Never and value is not _Raised]
        if not alive:
            return _Raised
        if len(alive) == 1:
            return alive[0]
        return self.joined(condition, *alive)

    def joined(self, condition: Any, yes: Any, no: Any) -> Any:
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            return tuple(self.joined(condition, *pair) for pair in zip(yes, no, strict=True))
        if yes is None or no is None:
            self.refuse("a branch that returns nothing")
        if isinstance(yes, Sequence) or isinstance(no, Sequence):
            self.refuse("branches that give different lists")
        if isinstance(yes, sympy.logic.boolalg.Boolean) and isinstance(no, sympy.logic.boolalg.Boolean):
            return Or(And(condition, yes), And(Not(condition), no))
        made = Choice(condition, self.scalar(yes), self.scalar(no))
        return self.as_truth(made) if self.is_truth(yes) or self.is_truth(no) else made

    def statement(self, node: ast.stmt, scope: dict[str, Any], block: Several[ast.stmt]) -> None:
        """One statement that returns nothing; changes the scope."""
        self.line = node.lineno + self.offset
        match node:
            case ast.Pass():
                return
            case ast.Expr(value=ast.Constant(value=str())):
                return
            case ast.Assign(targets=targets, value=value):
                held = self.value(value, scope)
                if len(targets) > 1 and not isinstance(held, sympy.Basic):
                    self.refuse("several names for one list")
                for target in targets:
                    self.assign(target, held, scope)
            case ast.AnnAssign(target=ast.Name() as target, value=value) if value is not None:
                self.assign(target, self.value(value, scope), scope)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                held = self.name(name, scope)
                if isinstance(held, Sequence | Growing | tuple):
                    self.refuse("a list that is changed in place")
                scope[name] = self.arithmetic(op, held, self.value(value, scope))
            case ast.For():
                self.loop(node, scope)
            case ast.Assert(test=test):
                self.asserted(test, scope)
            case ast.Import() | ast.ImportFrom():
                self.imported(node, scope)
            case ast.FunctionDef():
                self.define(node, scope)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=a, keywords=[])
            ):
                self.changed_in_place(name, method, a, scope)
            case _:
                self.refuse(f"a statement of this kind ({type(node).__name__})")

    def assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                self.refuse("an assignment to several names from something else than as many values")
            for part, each in zip(target.elts, value, strict=True):
                self.assign(part, each, scope)
            return
        if not isinstance(target, ast.Name):
            self.refuse("an assignment to a part of a list or object")
        if any(_holds_iterator(each) for each in _parts(value)):
            self.refuse("an iterator that is kept under a name: it can be read only once; make it a list")
        held = {id(each) for known in scope.values() for each in _parts(known)}
        if any(isinstance(each, Growing) and id(each) in held for each in _parts(value)):
            self.refuse("a second name for a list that changes")
        scope[target.id] = value  # type: ignore[attr-defined]

    def asserted(self, test: ast.expr, scope: dict[str, Any]) -> None:
        if "sorted(" in ast.unparse(test) and any(isinstance(held, Permutation) for held in scope.values()):
            return
        condition = self.truth(self.value(test, scope))
        if is_private(condition) or not self.public(condition):
            self.require(condition)
        elif condition is not sympy.true:
            self.assume(condition)

    def public(self, condition: Any) -> bool:
        """Whether a condition is on n and the parameters alone."""
        return not is_private(condition) and condition.free_symbols <= {self.n, *self.parameters.values()}

    def assume(self, condition: Any) -> None:
        """Takes a condition on n and the parameters for granted where the path leads here."""
        if not all(map(self.public, (condition, *self.path))):
            self.refuse("a condition that depends on the data or on a loop")
        self.assumed.append(sympy.Implies(And(*self.path), condition))

    def imported(self, node: Any, scope: dict[str, Any]) -> None:
        import importlib

        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
        if any(name not in ("math", "numpy", "statistics", "itertools", "functools", "operator") for name in names):
            self.refuse(f"an import of {names[0]}")
        for alias in node.names:
            if isinstance(node, ast.Import):
                scope[alias.asname or alias.name] = importlib.import_module(alias.name)
            else:
                scope[alias.asname or alias.name] = getattr(importlib.import_module(str(node.module)), alias.name)

    def define(self, node: ast.FunctionDef, scope: dict[str, Any]) -> None:
        if node.decorator_list:
            self.refuse("decorators are not read")
        scope[node.name] = Local(node.args, node.body, scope, self.space, self.stores)

    def changed_in_place(self, name: str, method: str, arguments: list[ast.expr], scope: dict[str, Any]) -> None:
        held = scope.get(name)
        if method == "append" and isinstance(held, Growing) and len(arguments) == 1 and not held.items:
            value = self.value(arguments[0], scope)
            if isinstance(value, Sequence | Growing | tuple):
                self.refuse("a list of lists")
            held.items.append((value, sympy.true))
            return
        self.refuse(f"{name}.{method}(...): a list or object that is changed in place")

    # Loops

    def loop(self, node: ast.For, scope: dict[str, Any]) -> None:
        if node.orelse or _contains(node.body, ast.Break | ast.While | ast.Return | ast.Raise | ast.FunctionDef):
            self.refuse("a loop with else, break, return, raise, while or def in it")
        over = self.iterable(self.value(node.iter, scope))
        stored = set(_stores(node.body)) | self.appended(node.body)
        targets = set(_stores([node.target]))
        if targets & stored or targets & set(scope):
            self.refuse("a loop variable that is assigned elsewhere")
        if isinstance(over, tuple):
            for value in over:
                self.assign(node.target, value, scope)
                scope.update(self.body(node.body, scope))
            for name in targets:
                scope.pop(name, None)
            return
        if len(over.binders) != 1:
            self.refuse("a loop over pairs: write two loops")
        over = self.renamed(over)
        (index, length), where = over.binders[0], over.where
        states: dict[str, Any] = {}
        growing: dict[str, Growing] = {}
        for name in sorted(stored & set(scope)):
            held = scope[name]
            if isinstance(held, Growing):
                if held.items:
                    self.refuse("a list that several loops append to")
            elif isinstance(held, sympy.Basic):
                states[name] = Dummy(name, real=True, integer=self.scalar(held).is_integer or None)
            else:
                self.refuse(f"{name}, which is no number, changes in a loop")
        before = len(self.obligations)
        while True:  # again where a number that was taken for an integer turns out to be none
            del self.obligations[before:]
            for name, state in states.items():
                if self.is_truth(scope[name]):
                    self.as_truth(state)
            growing = {n: Growing() for n in sorted(stored & set(scope)) if isinstance(scope[n], Growing)}
            inner = {**scope, **states, **growing}
            self.path += [Ge(index, 0), Lt(index, length), where]
            self.assign(node.target, over.body, inner)
            after = self.body(node.body, inner)
            self.same_lists(growing, after)
            if where is not sympy.true:
                after = {
                    n: self.joined(where, after[n], s) if n in states else after[n]
                    for n, s in {**after, **states}.items()
                }
            del self.path[-3:]
            updates = {name: self.scalar(after[name]) for name in states}
            broken = [name for name, state in states.items() if state.is_integer and not updates[name].is_integer]
            if not broken:
                break
            states.update((name, Dummy(name, real=True)) for name in broken)
        truths = {name for name in states if self.is_truth(after[name])}
        current, final = self.solved(states, updates, scope, index, length)
        self._substitute(before, current, growing)
        for name in list(scope):
            if name in states:
                scope[name] = self.as_truth(final[name]) if name in truths else final[name]
        for name, made in growing.items():
            if len(made.items) != 1:
                self.refuse("a list that does not get one value in each round")
            value, condition = made.items[0]
            value = value.subs(current) if isinstance(value, sympy.Basic) else value
            condition = And(condition.subs(current), where)
            scope[name] = Sequence(((index, length),), value, condition)
        for name in stored - set(states) - set(growing):
            scope.pop(name, None)  # set in the loop alone: not known after it

    def _substitute(self, before: int, current: dict[Any, Any], growing: dict[str, Growing]) -> None:
        for place in range(before, len(self.obligations)):
            old = self.obligations[place]
            path = tuple(each.subs(current) for each in old.path)
            self.obligations[place] = Obligation(old.condition.subs(current), path, old.line)
        for made in growing.values():
            made.items = [
                (v.subs(current) if isinstance(v, sympy.Basic) else v, c.subs(current)) for v, c in made.items
            ]

    def appended(self, statements: Several[ast.stmt]) -> set[str]:
        return {
            each.func.value.id
            for node in statements
            for each in ast.walk(node)
            if isinstance(each, ast.Call)
            and isinstance(each.func, ast.Attribute)
            and isinstance(each.func.value, ast.Name)
            and each.func.attr in ("append", "extend", "insert", "pop", "remove", "sort", "reverse", "clear")
        }

    def body(self, statements: Several[ast.stmt], scope: dict[str, Any]) -> dict[str, Any]:
        """The scope after one round of a loop; branches are joined name by name."""
        scope = dict(scope)
        for place, node in enumerate(statements):
            self.line = node.lineno + self.offset
            if isinstance(node, ast.Continue):
                return scope
            if not isinstance(node, ast.If):
                self.statement(node, scope, statements)
                continue
            condition = self.truth(self.value(node.test, scope))
            skips = _contains([node], ast.Continue)
            rest = statements[place + 1 :] if skips else []
            made = []
            grown = {name: held for name, held in scope.items() if isinstance(held, Growing)}
            for taken, branch in ((condition, node.body), (Not(condition), node.orelse)):
                self.path.append(taken)
                copies = {name: Growing(list(held.items)) for name, held in grown.items()}
                made.append(self.body([*branch, *rest], {**scope, **copies}))
                self.same_lists(copies, made[-1])
                self.path.pop()
            yes, no = made
            for name in set(yes) | set(no):
                if name in grown:
                    new = [(v, And(condition, c)) for v, c in yes[name].items[len(grown[name].items) :]]
                    new += [(v, And(Not(condition), c)) for v, c in no[name].items[len(grown[name].items) :]]
                    grown[name].items.extend(new)
                elif name not in yes or name not in no:
                    scope.pop(name, None)
                elif yes[name] is no[name] or yes[name] == no[name]:
                    scope[name] = yes[name]
                else:
                    scope[name] = self.joined(condition, yes[name], no[name])
            if skips:
                return scope
        return scope

    def same_lists(self, lists: Mapping[str, Growing], scope: Mapping[str, Any]) -> None:
        """Refuses a list that grows whose name stands for something else now."""
        for name, made in lists.items():
            if scope.get(name) is not made:
                self.refuse(f"{name}, a list that changes, is assigned anew in a loop")

    def solved(
        self, states: dict[str, Any], updates: dict[str, Any], scope: dict[str, Any], index: Any, length: Any
    ) -> tuple[dict[Any, Any], dict[str, Any]]:
        """What each state is when round `index` begins, and after the last round."""
        current: dict[Any, Any] = {}
        final: dict[str, Any] = {}
        left = dict(states)
        while left:
            ready = next(
                (n for n, s in left.items() if not (updates[n].free_symbols & (set(left.values()) - {s}))), None
            )
            if ready is None:
                self.refuse(f"{', '.join(sorted(left))} depend on each other from round to round")
            assert ready is not None
            state = left.pop(ready)
            start = self.scalar(scope[ready])
            current[state], final[ready] = self.recurrence(
                ready, state, updates[ready].subs(current), start, index, length
            )
        return current, final

    def recurrence(self, name: str, s: Any, update: Any, start: Any, index: Any, length: Any) -> tuple[Any, Any]:
        if update == s:
            return start, start
        before = new_index()
        upto = ((before, index),)
        full = ((index, length),)

        def earlier(term: Any) -> Any:
            return term.subs(index, before)

        if s not in update.free_symbols:
            previous = update.subs(index, index - 1)
            now = previous if sympy.simplify(previous.subs(index, 0) - start) == 0 else None
            now = Choice(Eq(index, 0), start, previous) if now is None else now
            return now, self.unless_empty(length, start, update.subs(index, length - 1))
        step = _increment(update, s)
        if step is not None:
            return start + aggregate("sum", upto, earlier(step)), start + aggregate("sum", full, step)
        factor = _factor(update, s)
        if factor is not None and (factor.has(index) or is_private(factor)):
            return start * aggregate("prod", upto, earlier(factor)), start * aggregate("prod", full, factor)
        found = _extreme(update, s)
        if found:
            kind, other = found
            join = Max if kind == "max" else Min
            infinite = S.NegativeInfinity if kind == "max" else S.Infinity
            if start == infinite:
                self.require(Ge(length, 1))
                return self.unsolved(name), aggregate(kind, full, other)
            return self.unsolved(name), self.unless_empty(length, start, join(start, aggregate(kind, full, other)))
        flag = _flag(update, s)
        if flag:
            value, condition = flag
            if is_private(value) or value.has(index):
                self.refuse(f"{name} is set to something that changes from round to round")
            ever = Eq(aggregate("max", full, number(condition)), 1)
            return self.unsolved(name), self.unless_empty(length, start, Choice(ever, value, start))
        if factor is None:
            linear = sympy.Poly(update, s) if update.is_polynomial(s) else None
            if linear is not None and linear.degree() == 1:
                a, b = linear.all_coeffs()
                if not is_private(a) and not a.has(index):
                    self.require(Ne(a, 0))
                    last = aggregate("sum", full, a ** (length - 1 - index) * b)
                    now = aggregate("sum", upto, a ** (index - 1 - before) * earlier(b))
                    return a**index * start + now, a**length * start + last
        elif not is_private(factor):
            return start * factor**index, start * factor**length
        return self.refuse(f"how {name} changes from round to round")

    def unsolved(self, name: str) -> Any:
        """Stands for a running extreme or flag inside its own loop; where it is left in the end, nothing is read."""
        self.running.add(made := Dummy(name, real=True))
        return made

    def unless_empty(self, length: Any, start: Any, value: Any) -> Any:
        if Ge(length, 1) == True:  # noqa: E712
            return value
        return Choice(Le(length, 0), start, value)

    def search_loop(self, node: ast.For, rest: Several[ast.stmt], scope: dict[str, Any]) -> Any:
        """for x in data: if condition: return a constant. That is: whether the condition ever holds."""
        match node:
            case ast.For(body=[ast.If(test=test, body=[ast.Return(value=ast.expr() as value)], orelse=[])], orelse=[]):
                over = self.iterable(self.value(node.iter, scope))
                if isinstance(over, tuple):
                    self.refuse("a loop that returns")
                if set(_stores([node.target])) & set(scope):
                    self.refuse("a loop variable that is assigned elsewhere")
                over = self.renamed(over)
                inner = dict(scope)
                self.assign(node.target, over.body, inner)
                condition = self.under(over, lambda: self.truth(self.value(test, inner)))
                found = self.scalar(self.value(value, scope))
                ever = Eq(aggregate("max", over.binders, number(And(condition, over.where))), 1)
                if Ge(over.binders[0][1], 1) != True:  # noqa: E712
                    ever = And(Ge(over.binders[0][1], 1), ever)
                return self.joined(ever, found, self.run(rest, scope))
        return self.refuse("a loop that returns (only `if condition: return constant` is read)")

    def under(self, over: Sequence, evaluate: Callable[[], Any]) -> Any:
        """Evaluates an element's expression, with what is known of the indices on the path."""
        known = [fact for index, length in over.binders for fact in (Ge(index, 0), Lt(index, length))]
        self.path += [*known, over.where]
        value = evaluate()
        del self.path[-len(known) - 1 :]
        return value

    # Expressions

    def name(self, name: str, scope: dict[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if name in self.locals_of:
            self.refuse(f"{name} may have no value here")
        if name not in self.space:
            self.refuse(f"{name} is not known")
        found = self.space[name]
        if isinstance(found, int | float | Fraction) and not isinstance(found, bool):
            self.notes.append(f"{name} = {found!r}, a global when it was read")
        return self.constant(found)

    def value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        self.line = getattr(node, "lineno", 0) + self.offset
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.name(name, scope)
            case ast.Attribute(value=inner, attr=attribute):
                return self.attribute(self.value(inner, scope), attribute)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.value(operand, scope))
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.value(left, scope), self.value(right, scope))
            case ast.BoolOp(op=op, values=values):
                return self.connective(op, values, scope)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [self.value(side, scope) for side in (left, *comparators)]
                parts = [self.compared(op, *pair) for op, *pair in zip(ops, sides, sides[1:])]  # noqa: B905
                if len(parts) > 1 and any(isinstance(part, Sequence) for part in parts):
                    self.refuse("a chain of comparisons of arrays")
                return parts[0] if len(parts) == 1 else And(*parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.truth(self.value(test, scope))
                branches: list[Any] = []
                for taken, branch in ((condition, body), (Not(condition), orelse)):
                    self.path.append(taken)
                    branches.append(None if taken is sympy.false else self.value(branch, scope))
                    self.path.pop()
                if condition in (sympy.true, sympy.false):
                    return branches[0] if condition is sympy.true else branches[1]
                return self.joined(condition, *branches)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                if not elements and isinstance(node, ast.List):
                    return Growing()
                return tuple(self.value(each, scope) for each in elements)
            case ast.Lambda(args=arguments, body=body):
                return Local(arguments, body, scope, self.space, self.stores)
            case ast.ListComp() | ast.GeneratorExp():
                return self.comprehension(node, scope)
            case ast.Subscript(value=inner, slice=place):
                return self.subscript(self.value(inner, scope), place, scope)
            case ast.Call():
                return self.call(node, scope)
        return self.refuse(f"an expression of this kind ({type(node).__name__})")

    def scalar(self, value: Any) -> Any:
        if isinstance(value, sympy.Basic):
            return number(value)
        if isinstance(value, Sequence):
            return self.refuse("a list or array where one number belongs")
        return self.refuse(f"{'nothing' if value is None else type(value).__name__} where one number belongs")

    def truth(self, value: Any) -> Any:
        if isinstance(value, sympy.logic.boolalg.Boolean) and not isinstance(value, sympy.Symbol):
            return value
        if isinstance(value, Sequence) and value.kind == "list":
            return Ne(self.count(value), 0)
        return Ne(self.scalar(value), 0)

    def attribute(self, held: Any, attribute: str) -> Any:
        if inspect.ismodule(held):
            return self.constant(getattr(held, attribute, None))
        if isinstance(held, Sequence) and held.kind == "array":
            if attribute == "size":
                return self.count(held)
            if attribute == "shape":
                return (self.count(held),)
        return Method(held, attribute)

    def unary(self, op: ast.unaryop, value: Any) -> Any:
        if isinstance(value, Sequence):
            self.array_only(value)
            if isinstance(op, ast.Invert):
                return self.mapped(lambda x: Not(self.boolean(x)), value)
            return self.mapped(lambda x: self.unary(op, x), value)
        if isinstance(op, ast.Not):
            return Not(self.truth(value))
        if isinstance(op, ast.USub):
            return -self.scalar(value)
        if isinstance(op, ast.UAdd):
            return self.scalar(value)
        return self.refuse("~ of a number")

    def boolean(self, value: Any) -> Any:
        if isinstance(value, sympy.logic.boolalg.Boolean) and not isinstance(value, sympy.Symbol):
            return value
        return self.refuse("&, | or ~ of numbers")

    def connective(self, op: ast.boolop, values: list[ast.expr], scope: dict[str, Any]) -> Any:
        parts: list[Any] = []
        for node in values:  # the later are reached only if the earlier do not decide
            part = self.value(node, scope)
            if not isinstance(part, sympy.logic.boolalg.Boolean) or isinstance(part, sympy.Symbol):
                self.refuse("`and` or `or` of something else than truth values")
            parts.append(part)
            self.path.append(part if isinstance(op, ast.And) else Not(part))
        del self.path[-len(values) :]
        return (And if isinstance(op, ast.And) else Or)(*parts)

    def array_only(self, value: Sequence) -> None:
        if value.kind != "array":
            raise NeedsArray("arithmetic with a list", self.line)

    def mapped(self, function: Callable[..., Any], *values: Any) -> Any:
        """A function of numbers, of arrays element by element, or of both."""
        arrays = [value for value in values if isinstance(value, Sequence)]
        if not arrays:
            return function(*(self.scalar_or_truth(value) for value in values))
        first = self.renamed(arrays[0])
        bodies: list[Any] = []
        for value in values:
            if not isinstance(value, Sequence):
                bodies.append(self.scalar_or_truth(value))
                continue
            if len(value.binders) != 1 or len(first.binders) != 1:
                if len(arrays) > 1:
                    self.refuse("arrays of pairs")
                bodies.append(first.body)
                continue
            (index, length), (shared, wanted) = value.binders[0], first.binders[0]
            if sympy.simplify(length - wanted) != 0:
                self.refuse(f"arrays of different lengths ({length} and {wanted})")
            if value.where.subs(index, shared) != first.where:
                self.refuse("arrays that were selected differently")
            bodies.append(value.body.subs(index, shared))
        body = self.under(first, lambda: function(*bodies))
        return Sequence(first.binders, body, first.where, "array")

    def scalar_or_truth(self, value: Any) -> Any:
        return value if isinstance(value, sympy.Basic) else self.scalar(value)

    def arithmetic(self, op: ast.operator, left: Any, right: Any) -> Any:
        for value in (left, right):
            if isinstance(value, Sequence):
                other = right if value is left else left
                if value.kind == "list" and isinstance(op, ast.Add) and isinstance(other, Sequence | tuple | Growing):
                    return self.concatenated(left, right)
                if value.kind == "list" and isinstance(other, Sequence) and other.kind == "array":
                    continue  # numpy takes a list beside an array
                self.array_only(value)
        if isinstance(left, tuple | Growing) or isinstance(right, tuple | Growing):
            self.refuse("arithmetic with a list or tuple of fixed length")
        return self.mapped(lambda a, b: self.operation(op, a, b), left, right)

    def concatenated(self, left: Any, right: Any) -> Any:
        """data[k:] + data[:k], the dataset turned round; other sums of lists are not read."""
        if isinstance(left, Sequence) and isinstance(right, Sequence) and len(left.binders) == len(right.binders) == 1:
            (i, first), (j, second) = left.binders[0], right.binders[0]
            turned = left.body.has(entry) and left.body.func == entry and right.body == entry(j)
            plain = left.where is sympy.true and right.where is sympy.true
            if turned and plain and left.body == entry(i + second) and sympy.simplify(first + second - self.n) == 0:
                return Sequence(((i, self.n),), entry(sympy.Mod(i + second, self.n)))
        raise NeedsArray("lists put together", self.line)

    def operation(self, op: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(op, ast.BitAnd | ast.BitOr):
            return (And if isinstance(op, ast.BitAnd) else Or)(self.boolean(a), self.boolean(b))
        if self.is_truth(a) and self.is_truth(b):
            self.refuse("arithmetic of two truth values, which numpy does otherwise than Python")
        a, b = number(a), number(b)
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.Div():
                self.require(Ne(b, 0))
                return a / b
            case ast.FloorDiv():
                self.require(Ne(b, 0))
                return floor(a / b)
            case ast.Mod():
                self.require(Ne(b, 0))
                return sympy.Mod(a, b)
            case ast.Pow():
                return self.power(a, b)
        return self.refuse("an operator of this kind")

    def is_truth(self, value: Any) -> bool:
        """Whether it is a truth value, or a number that stands for one."""
        if not isinstance(value, sympy.Basic):
            return False
        return value in self.truths or (isinstance(value, sympy.logic.boolalg.Boolean) and not value.is_Symbol)

    def as_truth(self, value: Any) -> Any:
        """A number that may stand for a truth value; two of them are not to be added."""
        if not value.is_number:
            self.truths.add(value)
        return value

    def power(self, a: Any, b: Any) -> Any:
        if b.is_integer and b.is_nonnegative:
            return a**b
        if b.is_integer:
            self.require(Or(Ne(a, 0), Ge(b, 0)))
        elif b.is_Rational and b > 0:
            self.require(Ge(a, 0))
        else:
            self.require(Or(sympy.Gt(a, 0), And(Ge(a, 0), Ge(b, 0))))
        return a**b

    def compared(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        kinds = {ast.Lt: sympy.Lt, ast.LtE: Le, ast.Gt: sympy.Gt, ast.GtE: Ge, ast.Eq: Eq, ast.NotEq: Ne}
        if type(op) in (ast.Is, ast.IsNot) and b is None:
            return sympy.true if (a is None) == isinstance(op, ast.Is) else sympy.false
        if type(op) not in kinds:
            self.refuse("a comparison of this kind")
        for value in (a, b):
            if isinstance(value, Sequence):
                self.array_only(value)
        return self.mapped(lambda x, y: kinds[type(op)](number(x), number(y)), a, b)

    # Lists

    def renamed(self, value: Sequence) -> Sequence:
        """The same with indices of its own."""
        binders, body, where = [], value.body, value.where
        swap: dict[Any, Any] = {}
        for index, length in value.binders:
            swap[index] = new_index()
            binders.append((swap[index], length.subs({k: v for k, v in swap.items() if k is not index})))
        return Sequence(tuple(binders), _subs(body, swap), where.subs(swap), value.kind)

    def iterable(self, value: Any) -> Any:
        if isinstance(value, Sequence | tuple):
            return value
        if isinstance(value, Permutation):
            index = new_index()
            return Sequence(((index, self.n),), value.symbol(index))
        return self.refuse("a loop over something else than a list, array or range")

    def comprehension(self, node: Any, scope: dict[str, Any]) -> Sequence | tuple[Any, ...]:
        inner, where = dict(scope), sympy.true
        binders: list[Any] = []
        pushed = 0
        for generator in node.generators:
            if generator.is_async:
                self.refuse("async")
            over = self.iterable(self.value(generator.iter, inner))
            if isinstance(over, tuple):
                del self.path[len(self.path) - pushed :]
                if len(node.generators) > 1 or generator.ifs:
                    self.refuse("a comprehension over a fixed list with conditions")
                values = []
                for value in over:
                    self.assign(generator.target, value, inner)
                    values.append(self.value(node.elt, inner))
                return tuple(values)
            over = self.renamed(over)
            binders += over.binders
            self.assign(generator.target, over.body, inner)
            known = [fact for index, length in over.binders for fact in (Ge(index, 0), Lt(index, length))]
            self.path += [*known, over.where]
            pushed += len(known) + 1
            where = And(where, over.where)
            for test in generator.ifs:
                condition = self.truth(self.value(test, inner))
                where = And(where, condition)
                self.path.append(condition)
                pushed += 1
        body = self.value(node.elt, inner)
        del self.path[len(self.path) - pushed :]
        if isinstance(body, Sequence | Growing):
            self.refuse("a list of lists")
        return Sequence(tuple(binders), body, where, "iterator" if isinstance(node, ast.GeneratorExp) else "list")

    def count(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return sympy.Integer(len(value))
        if isinstance(value, Growing) and not value.items:
            return S.Zero
        if not isinstance(value, Sequence):
            return self.refuse("the length of something else than a list")
        return aggregate("sum", value.binders, number(value.where))

    def subscript(self, held: Any, place: ast.expr, scope: dict[str, Any]) -> Any:
        if isinstance(place, ast.Slice):
            return self.sliced(held, place, scope)
        position = self.value(place, scope)
        if isinstance(position, Permutation) and isinstance(held, Sequence) and held.kind == "array":
            index = new_index()
            return Sequence(((index, self.n),), self.at(held, position.symbol(index)), kind="array")
        if isinstance(position, Sequence):
            if not isinstance(held, Sequence) or held.kind != "array" or position.kind != "array":
                raise NeedsArray("a list that is indexed by a list", self.line)
            self.boolean(position.body)
            made = self.mapped(lambda a, b: sympy.Tuple(number(a), b), held, position)
            return Sequence(made.binders, made.body[0], And(made.where, made.body[1]), "array")
        position = self.scalar(position)
        if isinstance(held, tuple):
            if not position.is_Integer or not -len(held) <= position < len(held):
                self.refuse("a position in a tuple that is not known")
            return held[int(position)]
        if isinstance(held, Permutation):
            return held.symbol(position)
        if not isinstance(held, Sequence) or held.kind == "iterator":
            self.refuse("an index of something else than a list")
        return self.at(held, position)

    def at(self, held: Sequence, position: Any) -> Any:
        """An element; a negative position counts from the end, as in Python."""
        if len(held.binders) != 1 or held.where is not sympy.true:
            self.refuse("an index into a list of selected elements")
        if is_private(position):
            self.refuse("a position that depends on the data")
        if not position.is_integer:
            self.refuse("a position that is no integer")
        (index, length) = held.binders[0]
        low = "inside" if self.is_place(position, length) else self.sign(position, length)
        if low == "negative":
            position = position + length
            self.require(Ge(position, 0))
        elif low == "wraps":
            position = sympy.Mod(position, length)
        elif low == "nonnegative":
            self.require(Lt(position, length))
            self.require(Ge(position, 0))
        return _subs(held.body, {index: position})

    def is_place(self, position: Any, length: Any) -> bool:
        """Whether it is an element of a permutation of 0, ..., n - 1."""
        return isinstance(position, sympy.core.function.AppliedUndef) and length == self.n

    def sign(self, position: Any, length: Any) -> str:
        """Whether a position is never negative, always, or both (it wraps round once)."""
        if position.is_nonnegative or (position.has(sympy.Function) and not position.has(floor, sympy.Mod)):
            return "nonnegative"
        facts = [*self.path, *self.assumed, Ge(self.n, 1)]
        if certain(Ge(position, 0), facts):
            return "nonnegative"
        if certain(Lt(position, 0), facts):
            return "negative"
        bound = [each for each in position.free_symbols if each.name == INDEX]
        if bound and certain(And(Ge(position, -length), Lt(position, length)), facts):
            return "wraps"
        return "nonnegative"  # to be proved, or assumed of a parameter

    def sliced(self, held: Any, place: ast.Slice, scope: dict[str, Any]) -> Any:
        if isinstance(held, tuple):
            self.refuse("a slice of a tuple")
        if not isinstance(held, Sequence) or len(held.binders) != 1 or held.where is not sympy.true:
            return self.refuse("a slice of something else than a list")
        if held.kind == "iterator":
            self.refuse("a slice of an iterator")
        (index, length) = held.binders[0]
        step = S.One if place.step is None else self.scalar(self.value(place.step, scope))
        if step == -1 and place.lower is None and place.upper is None:
            return Sequence(((index, length),), _subs(held.body, {index: length - 1 - index}), kind=held.kind)
        if not step.is_Integer or step < 1:
            self.refuse("a slice with this step")
        low = self.edge(place.lower, S.Zero, length, scope)
        high = self.edge(place.upper, length, length, scope)
        if all(each.is_Integer for each in (low, high, length)):
            low, high = (Min(Max(each, 0), length) for each in (low, high))
            high = Max(low, high)
        self.require(Ge(low, 0))
        self.require(Le(low, high))
        self.require(Le(high, length))
        taken = high - low if step == 1 else floor((high - low + step - 1) / step)
        return Sequence(((index, taken),), _subs(held.body, {index: low + step * index}), kind=held.kind)

    def edge(self, node: ast.expr | None, default: Any, length: Any, scope: dict[str, Any]) -> Any:
        if node is None:
            return default
        value = self.value(node, scope)
        if value is None:
            return default
        value = self.scalar(value)
        if is_private(value) or not value.is_integer:
            self.refuse("a slice that depends on the data or is no integer")
        return value + length if self.sign(value, length) == "negative" else value

    # Calls

    def call(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        line = self.line
        function = self.value(node.func, scope)
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            self.refuse("* or ** in a call")
        arguments = [self.value(argument, scope) for argument in node.args]
        keywords = {str(keyword.arg): self.value(keyword.value, scope) for keyword in node.keywords}
        self.line = line
        return called(self, function, arguments, keywords)

    def apply(self, function: Any, arguments: list[Any], keywords: dict[str, Any] | None = None) -> Any:
        """Reads the body of a function of the user's with these arguments."""
        keywords = keywords or {}
        given_parts = [part for each in (*arguments, *keywords.values()) for part in _parts(each)]
        if any(isinstance(each, Growing) for each in given_parts):
            self.refuse("a list that changes, given to another function")
        if any(map(_holds_iterator, given_parts)):
            self.refuse("an iterator given to another function: make it a list")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse("functions that call each other too deeply")
        kept = self.space, self.locals_of, self.stores, self.offset, self.line
        if isinstance(function, Local):
            names, defaults = function.arguments, {}
            body = function.body
            nodes = body if isinstance(body, list) else [body]
            used = {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
            own = {each.arg for each in (*names.posonlyargs, *names.args, *names.kwonlyargs)} | set(_stores(nodes))
            scope = {name: held for name, held in function.scope.items() if name not in own}
            if any(function.stores[name] > 1 for name in used - own):
                self.refuse("an inner function that uses a name which is assigned more than once")
            if any(isinstance(part, Growing) for name in used - own for part in _parts(scope.get(name))):
                self.refuse("an inner function that uses a list that changes")
            self.space, self.locals_of = function.space, {*own, *function.stores}
            self.stores = function.stores + Counter(_stores(nodes)) + Counter(own)
            if function.arguments.defaults or function.arguments.kw_defaults:
                self.refuse("defaults of an inner function")
        else:
            definition, _, _, first = source_of(function)
            self.check_text(function)
            names, body, scope = definition.args, definition.body, {}
            given = inspect.signature(function).parameters.values()
            defaults = {p.name: self.constant(p.default) for p in given if p.default is not inspect.Parameter.empty}
            self.space, self.offset = _names(function), first - 1
            parameters = [each.arg for each in (*names.posonlyargs, *names.args, *names.kwonlyargs)]
            self.stores = Counter(_stores(body)) + Counter(parameters)
            self.locals_of = set(self.stores)
        if names.vararg or names.kwarg:
            self.refuse("parameters with * or **")
        wanted = [argument.arg for argument in (*names.posonlyargs, *names.args, *names.kwonlyargs)]
        if len(arguments) > len(wanted) or set(keywords) - set(wanted) or set(keywords) & set(wanted[: len(arguments)]):
            self.refuse("a call with other parameters than the function has")
        bound = {**defaults, **dict(zip(wanted, arguments)), **keywords}  # noqa: B905
        if set(bound) != set(wanted):
            self.refuse("a call with other parameters than the function has")
        scope.update(bound)
        value = self.run(body, scope) if isinstance(body, list) else self.value(body, scope)
        if value is _Raised:
            self.refuse("a function that only raises")
        self.space, self.locals_of, self.stores, self.offset, self.line = kept
        self.depth -= 1
        return value


def _names(function: Any) -> dict[str, Any]:
    """What the free names of a function stand for."""
    return {**vars(builtins), **function.__globals__, **inspect.getclosurevars(function).nonlocals}


_Raised, _Never = object(), object()


def _parts(value: Any) -> Iterator[Any]:
    """A value, or what is in a tuple of values."""
    if isinstance(value, tuple):
        for each in value:
            yield from _parts(each)
    else:
        yield value


def _holds_iterator(value: Any) -> bool:
    return isinstance(value, Sequence) and value.kind == "iterator"


def _subs(body: Any, swap: dict[Any, Any]) -> Any:
    if isinstance(body, tuple):
        return tuple(_subs(each, swap) for each in body)
    return body.subs(swap, simultaneous=True) if isinstance(body, sympy.Basic) else body


def _increment(update: Any, s: Any) -> Any:
    """What is added to a state in one round, None if it is not simply added to."""
    if isinstance(update, Choice):
        condition, *branches = update.args
        steps = [_increment(value, s) for value in branches]
        if any(step is None for step in steps) or s in condition.free_symbols:
            return None
        return Choice(condition, *steps)
    if isinstance(update, sympy.Add):
        held = [term for term in update.args if s in term.free_symbols]
        if len(held) == 1 and held[0] != update and (step := _increment(held[0], s)) is not None:
            return update - held[0] + step
    step = sympy.expand(update - s)
    return None if s in step.free_symbols else step


def _factor(update: Any, s: Any) -> Any:
    if isinstance(update, Choice):
        condition, *branches = update.args
        parts = [_factor(value, s) for value in branches]
        if any(part is None for part in parts) or s in condition.free_symbols:
            return None
        return Choice(condition, *parts)
    coefficient = sympy.cancel(update / s) if update.is_polynomial(s) else update / s
    return None if s in coefficient.free_symbols else coefficient


def _extreme(update: Any, s: Any) -> tuple[str, Any] | None:
    """("max", g) for max(s, g), however written."""
    if isinstance(update, Max | Min) and s in update.args:
        others = [each for each in update.args if each != s]
        if all(s not in each.free_symbols for each in others):
            return ("max" if isinstance(update, Max) else "min", update.func(*others))
    if isinstance(update, Choice):
        condition, yes, no = update.args
        other = yes if no == s else no if yes == s else None
        if (
            other is not None
            and s not in other.free_symbols
            and isinstance(condition, sympy.core.relational.Relational)
        ):
            larger = {(sympy.Gt, 0), (Ge, 0), (sympy.Lt, 1), (Le, 1)}
            if {condition.lhs, condition.rhs} == {s, other} and not isinstance(condition, Eq | Ne):
                other_is_larger = (condition.func, 0 if condition.lhs == other else 1) in larger
                return "max" if other_is_larger == (yes == other) else "min", other
    return None


def _flag(update: Any, s: Any) -> tuple[Any, Any] | None:
    if isinstance(update, Choice):
        condition, yes, no = update.args
        if s not in condition.free_symbols:
            if no == s and s not in yes.free_symbols:
                return yes, condition
            if yes == s and s not in no.free_symbols:
                return no, Not(condition)
    return None
