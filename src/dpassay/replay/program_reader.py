"""Reads a mechanism's Python into the core language: a whitelist; what is not on it is refused with line and column.

The text has `import math`, `import numpy as np`, constants, helper functions and the mechanism `f(rng, data, ...)`.
Helpers are inlined. A draw, a loop or a branch is named by line and column of its node, `"6:4"`; within a helper the
call's name comes first, `"9:8>2:4"`. Reductions (`sum`, `max`, `np.argmax`, ...) and sized draws are loops, named by
the call. `acc@`, `best@`, `at@` and `index@` before such a name are their variables.
"""

import ast
import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from dpassay.replay.named_sums import shares, sums_of
from dpassay.replay.program_core import (
    Append,
    Assign,
    Block,
    Branch,
    Constant,
    Core,
    Draw,
    Elementwise,
    Expression,
    Leave,
    Loop,
    Operation,
    Refused,
    Return,
    Statement,
    Variable,
    assigned,
)
from dpassay.replay.random_order import flips

SCALAR, LIST, ARRAY, TUPLE, GENERATOR = "a number", "a list", "an array", "a tuple", "the generator"
FILTERED = "a filtered list"
LISTS = (LIST, ARRAY)
_MAX_TEXT = 50_000
_MAX_DEPTH = 12
_MAX_EXPONENT = 8

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PURE = {
    "math": {"exp", "log", "sqrt", "floor", "ceil", "fabs", "log2", "log10", "log1p", "expm1", "tanh", "atan"},
    "np": {
        "exp",
        "log",
        "sqrt",
        "floor",
        "ceil",
        "abs",
        "absolute",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "tanh",
        "round",
    },
    "": {"abs", "round", "int", "float", "bool"},
}
_FLOATS = {"math": {"fabs"}, "np": {"floor", "ceil", "round"}}
"""Of these, those whose whole numbers are floats, and so no indices."""
_SPELLED = {"fabs": "abs", "absolute": "abs", "maximum": "max", "minimum": "min", "amax": "max", "amin": "min"}
_NOISELESS = {
    ("math", "prod"): ("prod", SCALAR),
    ("np", "prod"): ("prod", SCALAR),
    ("np", "sort"): ("sorted", ARRAY),
    ("np", "median"): ("median", SCALAR),
    ("statistics", "median"): ("median", SCALAR),
}
"""What functions without noise may use besides: an operator, and the shape of what it gives."""
_CURVES = {"sin", "cos", "atan", "arctan"}
_REDUCTIONS = {"sum", "max", "min", "mean", "argmax", "argmin", "cumsum"}
_NOISE = {"laplace": ("loc", "scale"), "normal": ("loc", "scale"), "gumbel": ("loc", "scale")}
_ONE_SIDED = {"exponential": ("scale",)}
_GIVEN_LISTS = ("list[int]", "list[float]")
"""Annotations of public parameters that are lists."""
_ONE_VALUE = ("int", "float", "bool")
"""Annotations of data that are no list."""
_Node = TypeVar("_Node", bound=ast.AST)
Read = tuple[Expression, str]
"""What was read, and its shape."""


def read(text: str, entry: str, data: str = "") -> Core:
    """The core program of the function `entry` in a module's text.

    Args:
        text: imports, constants and functions.
        entry: f(rng, data, ...).
        data: "list" or "array" for a function f(data, ...) without noise, which may sort and assert besides.

    Raises:
        Refused: something in it is not on the whitelist.
    """
    if len(text) > _MAX_TEXT:
        raise Refused(1, 0, "the text is too long")
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(getattr(error, "lineno", 1) or 1, 0, f"no Python: {error}") from None
    names = _Module(module)
    if entry not in names.functions:
        raise Refused(1, 0, f"there is no function {entry}")
    return _Reader(names, data).program(names.functions[entry])


def _refuse(node: ast.AST, reason: str) -> Refused:
    return Refused(getattr(node, "lineno", 1), getattr(node, "col_offset", 0), reason)


class _Module:
    """The functions, constants and imports of a text, each defined once."""

    def __init__(self, module: ast.Module) -> None:
        self.functions: dict[str, ast.FunctionDef] = {}
        self.constants: dict[str, Constant] = {}
        self.imports: set[str] = set()
        for node in module.body:
            name = self._defined(node)
            if sum(name in names for names in (self.functions, self.constants, self.imports)) != 1:
                raise _refuse(node, f"{name} is defined twice")

    def _defined(self, node: ast.stmt) -> str:
        if isinstance(node, ast.FunctionDef) and node.name not in self.functions:
            self.functions[node.name] = node
            return node.name
        if isinstance(node, ast.Import) and ast.unparse(node) in (
            "import math",
            "import statistics",
            "import numpy as np",
        ):
            name = node.names[0].asname or node.names[0].name
            self.imports.add(name)
            return name
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name not in self.constants:
                self.constants[name] = _literal(node.value)
                return name
        raise _refuse(node, "a module's text has imports of math and numpy, constants and functions, each once")


def _literal(node: ast.expr) -> Constant:
    """A number with its sign, or a truth value."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        if isinstance(inner.value, int | Fraction) and not isinstance(inner.value, bool):
            return Constant(-inner.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Constant(node.value)
    if isinstance(node, ast.Constant) and type(node.value) is float and abs(node.value) < float("inf"):
        return Constant(Fraction(repr(node.value)))
    raise _refuse(node, "a number belongs here")


@dataclass
class _Scope:
    """The names of a function that is read: parameters, local variables, and how positions within it begin."""

    function: ast.FunctionDef
    prefix: str = ""
    names: dict[str, Read] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)
    result: str = ""


class _Reader:
    def __init__(self, module: _Module, noiseless: str = "") -> None:
        self.module, self.noiseless = module, noiseless
        self.scopes: list[_Scope] = []
        self.statements: list[Statement] = []
        self.shapes: dict[str, str] = {}
        self.appended: dict[str, ast.AST] = {}
        self.aliases: list[tuple[str, str]] = []
        self.handed: list[tuple[str, str]] = []
        self.loops = 0
        self.pure = False
        self.data = ""
        self.given: set[str] = set()
        self.shared: set[str] = set()

    # Functions and statements.

    def program(self, function: ast.FunctionDef) -> Core:
        parameters, defaults = _signature(function)
        if self.noiseless:
            parameters = ["", *parameters]
        if len(parameters) < 2:
            raise _refuse(function, "write def f(rng, data, ...)")
        rng, self.data = parameters[:2]
        public = {name: _annotation(function, name) for name in parameters[2:]}
        scope = self._scope(function, "")
        single = _annotation(function, self.data) in _ONE_VALUE and not self.noiseless
        self.shapes[self.data] = SCALAR if single else ARRAY if self.noiseless == "array" else LIST
        scope.names |= {rng: (Variable(rng), GENERATOR), self.data: (Variable(self.data), self.shapes[self.data])}
        if not set(defaults) <= set(public):
            raise _refuse(function, "the generator and the data have no default")
        self.shapes.update(
            (name, LIST if annotation in _GIVEN_LISTS else SCALAR) for name, annotation in public.items()
        )
        scope.names.update((name, (Variable(name), self.shapes[name])) for name in public)
        self.given = {name for name in (self.data, *public) if self.shapes[name] == LIST}
        if {rng, self.data} & _stored(function):
            raise _refuse(function, f"{rng} and {self.data} may not be assigned")
        self.scopes.append(scope)
        self.block(function.body)
        self._check_aliases()
        return Core(self.data, tuple(public), dict(defaults), tuple(self.statements), single)

    def _scope(self, function: ast.FunctionDef, prefix: str) -> _Scope:
        if function.decorator_list:
            raise _refuse(function, "no decorators")
        return _Scope(function, prefix, local=_stored(function))

    def block(self, nodes: Sequence[ast.stmt]) -> None:
        for place, node in enumerate(nodes):
            kind = type(node).__name__
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if docstring and place == 0 and isinstance(node.value.value, str):  # type: ignore[attr-defined]
                continue
            handler: Callable[[Any], None] | None = getattr(self, f"read_{kind}", None)
            if handler is None:
                raise _refuse(node, f"{_said(node)} is not understood")
            handler(node)

    def captured(self, nodes: Sequence[ast.stmt]) -> tuple[Statement, ...]:
        with self.capture() as found:
            self.block(nodes)
        return tuple(found)

    @contextlib.contextmanager
    def capture(self) -> Iterator[list[Statement]]:
        """Statements that are made inside go to a list of their own."""
        outer, self.statements = self.statements, []
        try:
            yield self.statements
        finally:
            self.statements = outer

    def read_Pass(self, node: ast.Pass) -> None:
        pass

    def read_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            self._parallel(node.targets[0], node.value)
            return
        value, shape = self._value_or_popped(node.value)
        if len(node.targets) > 1:
            if shape != SCALAR or not all(isinstance(target, ast.Name) for target in node.targets):
                raise _refuse(node, "a chained assignment is for numbers")
            value = self.kept("value", value, node, shape)
        for target in node.targets:
            self.assign(target, value, shape, node.value)

    def read_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or not node.simple:
            raise _refuse(node, "give the variable a value where its type is said")
        value, shape = self.value(node.value)
        self.assign(node.target, value, shape, node.value)

    def read_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            owner, shape = self.own_elements(node.target.value)
            index = self.kept("place", self.index(node.target), node, SCALAR)
            changed = self.binary(node, self.operation("item", (owner, index), node), self.number(node.value))
            self.element_changed(node, owner, shape, index, changed)
            return
        if not isinstance(node.target, ast.Name):
            raise _refuse(node, "only a variable or an element can be changed")
        (left, old), (right, new) = self.value(_loaded(node.target)), self.value(node.value)
        if (old, new) != (SCALAR, SCALAR):
            raise _refuse(node, "a list or an array may not be changed in place")
        self.assign(node.target, self.binary(node, left, right), SCALAR, node)

    def assign(self, target: ast.expr, value: Expression, shape: str, source: ast.AST) -> None:
        if isinstance(target, ast.Tuple):
            self._unpack(target, value, shape, source)
            return
        if isinstance(target, ast.Subscript):
            if shape not in (SCALAR, TUPLE):
                raise _refuse(target, "a list holds numbers, truth values, texts, None, or tuples of them")
            owner, kind = self.own_elements(target.value)
            if kind == ARRAY and shape != SCALAR:
                raise _refuse(target, "an array holds numbers")
            self.element_changed(target, owner, kind, self.index(target), value)
            return
        if not isinstance(target, ast.Name):
            raise _refuse(target, "only variables and elements of lists can be assigned to")
        if shape not in (SCALAR, LIST, ARRAY, TUPLE, FILTERED):
            raise _refuse(target, f"{shape} may not be assigned to a variable")
        name = self.bind(target.id, shape, target)
        if shape in LISTS and isinstance(value, Variable):
            self.aliases.append((name, value.name))
        if shape == ARRAY and not (isinstance(value, Operation) and value.operator == "repeat"):
            self.shared.add(name)
        self.add(Assign(name, value, self.at(source)))

    def own_list(self, node: ast.expr) -> Variable:
        """A list of the program's own, which may be changed, but not what was given."""
        owner, shape = self.value(node)
        if shape != LIST or not isinstance(owner, Variable) or owner.name in self.given or self.pure:
            raise _refuse(node, "only a list of the program's own can be changed")
        return owner

    def own_elements(self, node: ast.expr) -> tuple[Variable, str]:
        """A list of the program's own, or an array that was made by np.zeros or np.ones, and so holds real numbers."""
        owner, shape = self.value(node)
        if shape != ARRAY or not isinstance(owner, Variable) or self.pure:
            return self.own_list(node), LIST
        return owner, ARRAY

    def element_changed(self, node: ast.AST, owner: Variable, shape: str, index: Expression, value: Expression) -> None:
        """An array takes truth values as numbers."""
        value = self.operation("float", (value,), node) if shape == ARRAY else value
        self.change(node, owner, self.operation("replaced", (owner, index, value), node))

    def change(self, node: ast.AST, owner: Variable, value: Expression) -> None:
        """The list becomes another one: it must have no other name."""
        self.appended[owner.name] = node
        self.add(Assign(owner.name, value, self.at(node)))

    def index(self, node: ast.Subscript) -> Expression:
        """An index, of which -1 is the last."""
        index = self.number(node.slice)
        if isinstance(index, Operation) and index.operator == "negate":
            if index.operands[0] != Constant(1):
                raise _refuse(node, "of the negative indices only -1 is understood")
            value, _ = self.value(node.value)
            return self.operation("-", (self.operation("length", (value,), node), Constant(1)), node)
        return index

    def _value_or_popped(self, node: ast.expr) -> Read:
        popped = self._popped(node)
        return self.value(node) if popped is None else (popped, SCALAR)

    def _popped(self, node: ast.expr) -> Expression | None:
        """The element that `xs.pop()` or `xs.pop(i)` takes out, if that is what stands there."""
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop"
        if not called:
            return None
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Attribute)
        owner = self.own_list(node.func.value)
        if node.keywords or len(node.args) > 1:
            raise _refuse(node, "pop takes an index")
        place = node.args[0] if node.args else ast.UnaryOp(ast.USub(), ast.Constant(1))
        subscript = ast.copy_location(ast.Subscript(node.func.value, place), node)
        index = self.kept("place", self.index(ast.fix_missing_locations(subscript)), node, SCALAR)
        found = self.kept("popped", self.operation("item", (owner, index), node), node, SCALAR)
        self.change(node, owner, self.operation("without", (owner, index), node))
        return found

    def _parallel(self, target: ast.Tuple, source: ast.Tuple) -> None:
        """`a, b = x, y`: all values are there before a variable changes."""
        if len(target.elts) != len(source.elts):
            raise _refuse(target, "the tuple has another length")
        values = [self.value(each) for each in source.elts]
        kept = []
        for place, (value, shape) in enumerate(values):
            if shape in LISTS and isinstance(value, Variable):
                raise _refuse(source, "lists and arrays with names are assigned one by one")
            kept.append(self.kept(f"part{place}", value, target, shape))
        for each, part, (_, shape) in zip(target.elts, kept, values, strict=True):
            self.assign(each, part, shape, source)

    def _unpack(self, target: ast.Tuple, value: Expression, shape: str, source: ast.AST) -> None:
        if shape != TUPLE:
            raise _refuse(target, "only a tuple can be unpacked")
        whole = self.kept("tuple", value, target, TUPLE)
        parts = [self.operation("part", (whole, Constant(i)), target) for i in range(len(target.elts))]
        count = self.operation("parts", (whole, Constant(len(parts))), target)
        self.add(Assign(f"count@{self.at(target)}", count, self.at(target)))
        for each, part in zip(target.elts, parts, strict=True):
            self.assign(each, part, SCALAR, source)

    def bind(self, name: str, shape: str, node: ast.AST) -> str:
        """The variable of a name that is assigned; it keeps its shape for good."""
        scope = self.scopes[-1]
        known = scope.names.get(name)
        if name in self.module.functions or name in self.module.constants or name in self.module.imports:
            raise _refuse(node, f"{name} is a name of the module")
        if known is not None and known[1] != shape:
            raise _refuse(node, f"{name} is {known[1]} and {shape}")
        if known is None:
            scope.names[name] = (Variable(scope.prefix + name), shape)
        elif not isinstance(known[0], Variable) or known[1] == GENERATOR or known[0].name == self.data:
            raise _refuse(node, f"{name} may not be assigned")
        self.shapes[scope.prefix + name] = shape
        return scope.prefix + name

    def read_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append":
            self.plain(call, 1)
            owner = self.own_list(call.func.value)
            value, inner = self._value_or_popped(call.args[0])
            if inner not in (SCALAR, TUPLE):
                raise _refuse(node, "a list holds numbers, truth values, texts, None, or tuples of them")
            self.appended[owner.name] = node
            self.add(Append(owner.name, value, self.at(node)))
            return
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self.module.functions:
            self.value(call)
            return
        if self._popped(call) is None:
            raise _refuse(node, "an expression alone does nothing")

    def read_If(self, node: ast.If) -> None:
        test = self.truth(node.test)
        self.add(Branch(test, self.captured(node.body), self.captured(node.orelse), self.at(node)))

    def read_Assert(self, node: ast.Assert) -> None:
        if not self.noiseless:
            raise _refuse(node, "assert is not understood")
        error = Return(Constant("a failing assertion", "error"), self.at(node))
        self.add(Branch(self.truth(node.test), (), (error,), self.at(node)))

    def read_While(self, node: ast.While) -> None:
        if node.orelse:
            raise _refuse(node, "no else after a loop")
        with self.capture() as head:
            test = self.truth(node.test)
        self.loop(node, tuple(head), test, node.body, ())

    def read_For(self, node: ast.For) -> None:
        if node.orelse:
            raise _refuse(node, "no else after a loop")
        if self._is_draw(node.iter, "permutation"):
            self.flipped(node)
            return
        names, sources = self.iterated(node, node.target, node.iter)
        lists = [source for source, shape in sources if shape in LISTS]
        test = self.counted(node, self.length(sources, node))
        with self.capture() as first:
            for name, item in zip(names, self.items(sources, node), strict=True):
                self.assign(name, item, SCALAR, node)
        made = self.loop(node, (), test, node.body, tuple(lists), tuple(first), started=True)
        changed = assigned(made.body)
        if any(name in changed for each in lists for name in _variables(each) if self.shapes.get(name) in LISTS):
            raise _refuse(node, "the list changes while the loop runs over it")

    def flipped(self, node: ast.For) -> None:
        """Permute-and-flip: the place that is accepted is a draw by itself."""
        found = flips(self.scopes[-1].function, node)
        if isinstance(found, str):
            raise _refuse(node, f"a loop in random order is understood as permute-and-flip: {found}")
        own = self._is_draw(found.uniform, "random") and self._module_of(found.exponential)
        if not own or not all(map(self.is_builtin, ("len", "max"))):
            raise _refuse(node, "in permute-and-flip, rng is the generator, and len, max and exp are Python's")
        scores, shape = self.value(ast.copy_location(ast.Name(found.scores, ast.Load()), node))
        if shape not in LISTS:
            raise _refuse(node, f"scores are a list, not {shape}")
        self.nonempty(node, scores)
        factor = self.kept("factor", self.operation("positive", (self.number(found.factor),), node), node, SCALAR)
        exponents, _ = self.lifted(node, "*", (factor, SCALAR), (scores, ARRAY))
        chosen = self.drawn(node, "flips", self.kept("exponents", exponents, node, ARRAY), None)
        self.assign(node.target, *chosen, node)
        self.block(found.accepted)

    def loop(
        self,
        node: ast.AST,
        head: tuple[Statement, ...],
        test: Expression,
        nodes: Sequence[ast.stmt],
        over: tuple[Expression, ...],
        first: tuple[Statement, ...] = (),
        started: bool = False,
    ) -> Loop:
        if not started:
            self.add(Assign(f"index@{self.at(node)}", Constant(0), self.at(node)))
        self.loops += 1
        body = (*first, *self.captured(nodes))
        self.loops -= 1
        made = Loop(head, test, body, (self.counting(node),), over, self.at(node))
        self.add(made)
        return made

    def counting(self, node: ast.AST) -> Assign:
        index = Variable(f"index@{self.at(node)}")
        return Assign(index.name, self.operation("+", (index, Constant(1)), node), self.at(node))

    def counted(self, node: ast.AST, limit: Expression) -> Expression:
        """The test of a loop that runs `limit` times; its counter and limit are made here."""
        index, bound = f"index@{self.at(node)}", f"limit@{self.at(node)}"
        self.add(Assign(bound, limit, self.at(node)))
        self.add(Assign(index, Constant(0), self.at(node)))
        return self.operation("<", (Variable(index), Variable(bound)), node)

    def read_Break(self, node: ast.Break) -> None:
        self.add(Leave("break"))

    def read_Continue(self, node: ast.Continue) -> None:
        self.add(Leave("continue"))

    def read_Return(self, node: ast.Return) -> None:
        scope = self.scopes[-1]
        value, shape = self.returned(node.value) if node.value else (Constant(None), SCALAR)
        if not scope.result:
            if shape == FILTERED:
                raise _refuse(
                    node, "how long a filtered list is may be private: return its sum or its length with noise"
                )
            self.add(Return(value, self.at(node)))
            return
        if self.shapes.setdefault(scope.result, shape) != shape or shape == GENERATOR:
            raise _refuse(node, f"{scope.function.name} returns {self.shapes[scope.result]} and {shape}")
        if shape in LISTS and isinstance(value, Variable):
            own = value.name in {scope.prefix + name for name in scope.local - scope.parameters}
            (self.handed if own else self.aliases).append((scope.result, value.name))
        self.add(Assign(scope.result, value, self.at(node)))
        self.add(Leave(scope.result))

    def returned(self, node: ast.expr) -> Read:
        """The output, of which nobody can tell whether it is a list or, by `tuple(...)`, a tuple of the same."""
        plain = isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1 and not self.scopes[-1].result
        if not plain or ast.unparse(node.func) != "tuple" or not self.is_builtin("tuple"):  # type: ignore[attr-defined]
            return self.value(node)
        inner = node.args[0]  # type: ignore[attr-defined]
        value, shape = self.comprehension(inner, inner) if isinstance(inner, ast.GeneratorExp) else self.value(inner)
        if shape not in (LIST, FILTERED):
            raise _refuse(node, f"a tuple of {shape} is not understood")
        return value, shape

    def _check_aliases(self) -> None:
        """Two names of one list, one of which grows, would have to be followed; here each list has its own value.

        What a helper made is known by one name alone after it is returned, unless it had another one there.
        """
        named = {name for pair in self.aliases for name in pair}
        while more := [pair for pair in self.handed if pair[1] in named and pair not in self.aliases]:
            self.aliases += more
            named |= {name for pair in more for name in pair}
        groups: dict[str, set[str]] = {}
        for one, two in self.aliases:
            joined = groups.get(one, {one}) | groups.get(two, {two})
            groups.update(dict.fromkeys(joined, joined))
        for name, node in self.appended.items():
            if sum("@" not in each for each in groups.get(name, ())) > 1:
                raise _refuse(node, "a list with two names is changed")
            if name in self.shared:
                raise _refuse(node, "an array that is changed is made by np.zeros or np.ones, and is known by one name")

    # Iteration.

    def iterated(
        self, node: ast.AST, target: ast.expr, iterable: ast.expr, also: str = ""
    ) -> tuple[list[ast.expr], list[Read]]:
        """The targets of a loop and what they iterate over: lists (one of shape `also`), or counters."""
        called = iterable.func.id if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) else ""
        if called and self.is_builtin(called) and called in ("enumerate", "zip"):
            assert isinstance(iterable, ast.Call)
            keywords = {each.arg: each.value for each in iterable.keywords}
            strict = keywords.pop("strict", None) if called == "zip" else None
            if strict is not None and ast.unparse(strict) not in ("True", "False"):
                raise _refuse(iterable, "strict is True or False")
            if not isinstance(target, ast.Tuple):
                raise _refuse(target, f"unpack what {called} gives")
            if called == "zip" and not keywords and len(iterable.args) == len(target.elts):
                sources = [self.source(each, node, i) for i, each in enumerate(iterable.args)]
                if strict is not None and ast.unparse(strict) == "True":
                    self.alike_lengths(node, sources)
                return target.elts, sources
            start = keywords.pop("start", iterable.args[1] if len(iterable.args) == 2 else ast.Constant(0))
            if called == "enumerate" and not keywords and len(target.elts) == 2 and iterable.args[:1]:
                first = self.kept("begun", self.number(start), node, SCALAR)
                return target.elts, [
                    (Operation("counter", (first, Constant(1)), self.at(node)), "counter"),
                    self.source(iterable.args[0], node, 1),
                ]
            raise _refuse(iterable, f"{called} is not understood here")
        return [target], [self.source(iterable, node, 0, also)]

    def alike_lengths(self, node: ast.AST, sources: Sequence[Read]) -> None:
        """What zip raises at the end unless all are of one length."""
        lengths = [self.length([each], node) for each in sources]
        for place, other in enumerate(lengths[1:]):
            alike = self.operation("alike", (lengths[0], other), node)
            self.add(Assign(f"alike{place}@{self.at(node)}", alike, self.at(node)))

    def source(self, node: ast.expr, loop: ast.AST, place: int, also: str = "") -> Read:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "range"
            and self.is_builtin("range")
        ):
            return self._range(node, loop, place)
        value, shape = self.value_List(node) if isinstance(node, ast.Tuple) else self.value(node)
        if shape not in (*LISTS, also):
            raise _refuse(node, f"a loop runs over lists, not over {shape}")
        return (value if isinstance(value, Variable) else self.kept(f"iter{place}", value, loop, shape)), shape

    def _range(self, node: ast.Call, loop: ast.AST, place: int) -> Read:
        arguments = [self.number(each) for each in node.args]
        if node.keywords or not 1 <= len(arguments) <= 3:
            raise _refuse(node, "range has one to three numbers")
        start, stop = (Constant(0), arguments[0]) if len(arguments) == 1 else arguments[:2]
        step: Expression = Constant(1)
        if len(arguments) == 3:
            step = self._step(node.args[2], arguments[2], loop, place)
        start = self.kept(f"start{place}", start, loop, SCALAR)
        falling = isinstance(step, Constant) and isinstance(step.value, int) and step.value < 0
        size = Constant(-step.value) if falling else step  # type: ignore[union-attr,operator]
        span = self.operation("-", (start, stop) if falling else (stop, start), node)
        if size != Constant(1):
            more = self.operation("-", (size, Constant(1)), node)
            span = self.operation("//", (self.operation("+", (span, more), node), size), node)
        count = self.operation("max", (Constant(0), span), node)
        return Operation("counter", (start, step, count), self.at(node)), "counter"

    def _step(self, node: ast.expr, value: Expression, loop: ast.AST, place: int) -> Expression:
        """A literal other than 0, or a number that is to be above 0."""
        try:
            step = _literal(node)
        except Refused:
            return self.kept(f"step{place}", self.operation("step", (value,), node), loop, SCALAR)
        if not isinstance(step.value, int) or isinstance(step.value, bool) or step.value == 0:
            raise _refuse(node, "the step of a range is a whole number other than 0")
        return step

    def length(self, sources: Sequence[Read], node: ast.AST) -> Expression:
        """How often a loop over them runs."""
        counts: list[Expression] = []
        for source, shape in sources:
            if shape in (*LISTS, FILTERED):
                counts.append(self.operation("length", (source,), node))
            elif isinstance(source, Operation) and len(source.operands) == 3:
                counts.append(source.operands[2])
        return counts[0] if len(counts) == 1 else self.operation("min", tuple(counts), node)

    def items(self, sources: Sequence[Read], node: ast.AST) -> list[Expression]:
        """The elements at the loop's index."""
        index = Variable(f"index@{self.at(node)}")
        found: list[Expression] = []
        for source, shape in sources:
            if shape in (*LISTS, FILTERED):
                found.append(self.operation("item", (source, index), node))
                continue
            assert isinstance(source, Operation)
            start, step = source.operands[:2]
            walked = index if step == Constant(1) else self.operation("*", (index, step), node)
            found.append(walked if start == Constant(0) else self.operation("+", (start, walked), node))
        return found

    # Expressions.

    def at(self, node: ast.AST) -> str:
        return f"{self.scopes[-1].prefix}{node.lineno}:{node.col_offset}"  # type: ignore[attr-defined]

    def add(self, statement: Statement) -> None:
        self.statements.append(statement)

    def operation(self, operator: str, operands: tuple[Expression, ...], node: ast.AST) -> Operation:
        return Operation(operator, operands, self.at(node))

    def kept(self, what: str, value: Expression, node: ast.AST, shape: str) -> Expression:
        """The value in a variable of the reader's, so that it stays what it is now."""
        if isinstance(value, Constant):
            return value
        name = f"{what}@{self.at(node)}"
        self.shapes[name] = shape
        self.add(Assign(name, value, self.at(node)))
        return Variable(name)

    def is_builtin(self, name: str) -> bool:
        known = (self.module.functions, self.module.constants, self.module.imports, self.scopes[-1].local)
        return not any(name in names for names in known) and name not in self.scopes[-1].names

    def value(self, node: ast.expr) -> Read:
        handler: Callable[[Any], Read] | None = getattr(self, f"value_{type(node).__name__}", None)
        if handler is None:
            raise _refuse(node, f"{_said(node)} is not understood")
        return handler(node)

    def number(self, node: ast.expr) -> Expression:
        value, shape = self.value(node)
        if shape != SCALAR:
            raise _refuse(node, f"a number belongs here, not {shape}")
        return value

    def truth(self, node: ast.expr) -> Expression:
        """What an `if` or `while` tests; an empty list is no truth value here."""
        return self.number(node)

    def value_Constant(self, node: ast.Constant) -> Read:
        if node.value is None or type(node.value) is str:
            return Constant(node.value), SCALAR
        return _literal(node), SCALAR

    def value_Name(self, node: ast.Name) -> Read:
        scope = self.scopes[-1]
        if node.id in scope.names:
            return scope.names[node.id]
        if node.id in self.module.constants and node.id not in scope.local:
            return self.module.constants[node.id], SCALAR
        raise _refuse(node, f"{node.id} has no value here")

    def value_Attribute(self, node: ast.Attribute) -> Read:
        if ast.unparse(node) in ("math.inf", "np.inf") and self._module_of(node):
            return Constant(None, "inf"), SCALAR
        if self.noiseless and ast.unparse(node) in ("math.pi", "np.pi", "math.e", "np.e") and self._module_of(node):
            operands = () if node.attr == "pi" else (Constant(1),)
            return self.operation("exp" if operands else "pi", operands, node), SCALAR
        raise _refuse(node, f"{ast.unparse(node)} is not understood")

    def _module_of(self, node: ast.expr) -> str:
        """The module whose function is meant, else ""."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return ""
        name = node.value.id
        return (
            name
            if name in self.module.imports and name not in self.scopes[-1].local | set(self.scopes[-1].names)
            else ""
        )

    def value_Tuple(self, node: ast.Tuple) -> Read:
        parts = [self.value(each) for each in node.elts]
        if any(shape in (GENERATOR, FILTERED) for _, shape in parts):
            raise _refuse(node, "the generator and filtered lists may not be in a tuple")
        nested = any(shape != SCALAR for _, shape in parts)
        return self.operation("tuple", tuple(part for part, _ in parts), node), "a nested tuple" if nested else TUPLE

    def value_List(self, node: ast.List | ast.Tuple) -> Read:
        parts = tuple(self.element(each) for each in node.elts)
        return self.operation("list", parts, node), LIST

    def element(self, node: ast.expr) -> Expression:
        value, shape = self.value(node)
        if shape not in (SCALAR, TUPLE):
            raise _refuse(node, f"{shape} may not be in a list")
        return value

    def value_UnaryOp(self, node: ast.UnaryOp) -> Read:
        value, shape = self.value(node.operand)
        if isinstance(node.op, ast.Not) and shape == SCALAR:
            return self.operation("not", (value,), node), SCALAR
        if isinstance(node.op, ast.USub):
            if isinstance(value, Constant) and value.special:
                return Constant(None, "-inf" if value.special == "inf" else "inf"), SCALAR
            return self.lifted(node, "negate", (value, shape))
        if isinstance(node.op, ast.Invert) and shape == ARRAY:
            return self.lifted(node, "invert", (value, shape))
        raise _refuse(node, f"{_said(node)} is not understood")

    def value_BinOp(self, node: ast.BinOp) -> Read:
        if (two_sided := self._geometric(node)) is not None:
            return two_sided
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Mult) and left[1] == LIST and right[1] == SCALAR:
            return self.repeated(node, left[0], right[0])
        if type(node.op) not in _BINARY:
            raise _refuse(node, f"{_said(node)} is not understood")
        if (left[1], right[1]) == (SCALAR, SCALAR):
            return self.binary(node, left[0], right[0]), SCALAR
        if (left[1], right[1]) == (LIST, LIST) and isinstance(node.op, ast.Add):
            return self.operation("joined", (left[0], right[0]), node), LIST
        if ARRAY in (left[1], right[1]) and _BINARY[type(node.op)] in "+-*/":
            return self.lifted(node, _BINARY[type(node.op)], left, right)
        raise _refuse(node, f"{left[1]} and {right[1]} cannot be combined so")

    def binary(self, node: ast.BinOp | ast.AugAssign, left: Expression, right: Expression) -> Expression:
        operator = _BINARY.get(type(node.op))
        if operator is None:
            raise _refuse(node, f"{_said(node)} is not understood")
        if operator == "**":
            small = isinstance(right, Constant) and type(right.value) is int and 0 <= right.value <= _MAX_EXPONENT
            if not small:
                raise _refuse(node, f"an exponent is a literal from 0 to {_MAX_EXPONENT}")
        return self.operation(operator, (left, right), node)

    def repeated(self, node: ast.BinOp, listed: Expression, count: Expression) -> Read:
        if not isinstance(listed, Operation) or listed.operator != "list" or len(listed.operands) != 1:
            raise _refuse(node, "only [x] * n is understood")
        return self.operation("repeat", (listed.operands[0], count), node), LIST

    def lifted(self, node: ast.AST, operator: str, *operands: Read) -> Read:
        """An operator on numbers, or element by element where there are arrays."""
        if all(shape == SCALAR for _, shape in operands):
            return self.operation(operator, tuple(value for value, _ in operands), node), SCALAR
        if any(shape not in (SCALAR, ARRAY) for _, shape in operands):
            raise _refuse(node, f"{operator} on {', '.join(shape for _, shape in operands)} is not understood")
        places = [f"element{i}@{self.at(node)}" for i, (_, shape) in enumerate(operands) if shape == ARRAY]
        names = iter(places)
        self.evaluated(node, *operands)
        inner = tuple(Variable(next(names)) if shape == ARRAY else value for value, shape in operands)
        sources = tuple(value for value, shape in operands if shape == ARRAY)
        return Elementwise(tuple(places), sources, self.operation(operator, inner, node), self.at(node)), ARRAY

    def evaluated(self, node: ast.AST, *operands: Read) -> None:
        """Numbers that Python evaluates here, even if they are not used for any element."""
        for place, (value, shape) in enumerate(operands):
            if shape == SCALAR and not isinstance(value, Constant | Variable):
                self.add(Assign(f"operand{place}@{self.at(node)}", value, self.at(node)))

    def value_Compare(self, node: ast.Compare) -> Read:
        if (coin := self._coin(node)) is not None:
            return coin
        sides = [self.value(each) for each in (node.left, node.comparators[0])]
        with self.capture() as later:  # which Python does not always come to
            sides += [self.value(each) for each in node.comparators[1:]]
        if later:
            raise _refuse(node, "a chained comparison draws nothing and calls nothing behind its first sign")
        made = []
        for operator, one, two in zip(node.ops, sides, sides[1:], strict=False):
            made.append(self._compared(node, operator, one, two))
        if len(made) == 1:
            return made[0]
        if any(shape != SCALAR for _, shape in made):
            raise _refuse(node, "a chained comparison is for numbers")
        return self.operation("and", tuple(value for value, _ in made), node), SCALAR

    def _compared(self, node: ast.Compare, operator: ast.cmpop, one: Read, two: Read) -> Read:
        if isinstance(operator, ast.Is | ast.IsNot):
            if two != (Constant(None), SCALAR) or one[1] != SCALAR:
                raise _refuse(node, "`is` is for None")
            is_none = self.operation("is_none", (one[0],), node)
            return (is_none if isinstance(operator, ast.Is) else self.operation("not", (is_none,), node)), SCALAR
        if type(operator) not in _COMPARED:
            raise _refuse(node, f"{_said(node)} is not understood")
        return self.lifted(node, _COMPARED[type(operator)], one, two)

    def value_BoolOp(self, node: ast.BoolOp) -> Read:
        """`and`, `or`; a branch where a later operand draws or loops, since it is then not always reached."""
        operator = "and" if isinstance(node.op, ast.And) else "or"
        values = [self.number(node.values[0])]
        for place, each in enumerate(node.values[1:], 1):
            with self.capture() as inner:
                value = self.number(each)
            if not inner:
                values.append(value)
                continue
            so_far = self.operation(operator, tuple(values), node) if len(values) > 1 else values[0]
            name = f"and{place}@{self.at(node)}"
            self.add(Assign(name, self.operation("and", (so_far,), node), self.at(node)))
            then = (*inner, Assign(name, self.operation("and", (value,), node), self.at(node)))
            arms = (then, ()) if operator == "and" else ((), then)
            self.add(Branch(Variable(name), arms[0], arms[1], self.at(node)))
            values = [Variable(name)]
        return (self.operation(operator, tuple(values), node) if len(values) > 1 else values[0]), SCALAR

    def value_IfExp(self, node: ast.IfExp) -> Read:
        test = self.truth(node.test)
        if self.pure:
            return self.operation("if", (test, self.number(node.body), self.number(node.orelse)), node), SCALAR
        name = f"value@{self.at(node)}"
        arms, shapes = [], []
        for each in (node.body, node.orelse):
            with self.capture() as inner:
                value, shape = self.value(each)
                self.add(Assign(name, value, self.at(node)))
            arms.append(tuple(inner))
            shapes.append(shape)
        if shapes[0] != shapes[1] or shapes[0] not in (SCALAR, TUPLE):
            raise _refuse(node, "both values must be numbers")
        self.add(Branch(test, arms[0], arms[1], self.at(node)))
        return Variable(name), shapes[0]

    def value_Subscript(self, node: ast.Subscript) -> Read:
        value, shape = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._slice(node, node.slice, value, shape)
        if shape == TUPLE:
            return self.operation("part", (value, _literal(node.slice)), node), SCALAR
        if shape not in LISTS:
            raise _refuse(node, f"{shape} has no elements")
        return self.operation("item", (value, self.index(node)), node), SCALAR

    def _slice(self, node: ast.Subscript, part: ast.Slice, value: Expression, shape: str) -> Read:
        """`xs[a:b]`, a list of its own."""
        if shape not in LISTS:
            raise _refuse(node, f"{shape} has no slices")
        if part.step is not None:
            raise _refuse(node, "no slices with a step")
        if shape == ARRAY:  # which shares its numbers with the slice
            self.shared |= _variables(value)
        first = Constant(0) if part.lower is None else self.number(part.lower)
        end = Constant(None) if part.upper is None else self.number(part.upper)
        return self.operation("slice", (value, first, end), node), shape

    def value_ListComp(self, node: ast.ListComp) -> Read:
        return self.comprehension(node, node)

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, loop: ast.expr) -> Read:
        """A list element by element; a loop that appends where an element draws.

        A filtered list has a place for every element of its source, with a pair: whether the element is kept, and
        it or 0. So both runs have equally many places even where its length is private, and its sum and length are
        sums over all places; nothing else is understood of it.
        """
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise _refuse(node, "a comprehension has one `for`")
        generator = node.generators[0]
        names, sources = self.iterated(loop, generator.target, generator.iter, FILTERED)
        if any(not isinstance(name, ast.Name) for name in names):
            raise _refuse(node, "a comprehension's targets are names")
        targets, listed = [name.id for name in names], f"at@{self.at(loop)}"  # type: ignore[attr-defined]
        items = inner_items = self.items(sources, loop)
        parameter = f"index@{self.at(loop)}"
        over: Expression = self.operation("range", (self.length(sources, loop),), loop)
        tests: list[Expression] = []
        if len(sources) == 1 and sources[0][1] in (*LISTS, FILTERED):  # element by element, without a counter
            parameter, over = f"element0@{self.at(loop)}", sources[0][0]
            inner_items = [Variable(parameter)]
            if sources[0][1] == FILTERED:
                pair = Variable(parameter)
                tests.append(self.operation("part", (pair, Constant(0)), loop))
                inner_items = [self.operation("part", (pair, Constant(1)), loop)]
        with self.inner_names(dict(zip(targets, inner_items, strict=True))):
            pure, self.pure = self.pure, True
            with self.capture() as inner:
                tests += [self.operation("bool", (self.truth(each),), loop) for each in generator.ifs]
                body = self.number(node.elt) if tests else self.element(node.elt)
            self.pure = pure
            if tests and inner:
                raise _refuse(node, "a filtered comprehension draws nothing and calls nothing that loops")
            if tests:
                kept = self.operation("and", tuple(tests), loop) if len(tests) > 1 else tests[0]
                body = self.operation("tuple", (kept, self.operation("if", (kept, body, Constant(0)), loop)), loop)
            if not inner:
                return Elementwise((parameter,), (over,), body, self.at(loop)), FILTERED if tests else LIST
        with self.inner_names(dict(zip(targets, items, strict=True))):
            test = self.counted(loop, self.length(sources, loop))
            with self.capture() as steps:
                self.add(Append(listed, self.element(node.elt), self.at(loop)))
        self._append_loop(
            loop, listed, test, tuple(steps), tuple(source for source, shape in sources if shape in LISTS)
        )
        return Variable(listed), LIST

    def _append_loop(
        self,
        node: ast.AST,
        listed: str,
        test: Expression,
        body: tuple[Statement, ...],
        over: tuple[Expression, ...] = (),
    ) -> None:
        self.shapes[listed] = LIST
        self.add(Assign(listed, self.operation("list", (), node), self.at(node)))
        self.add(Loop((), test, body, (self.counting(node),), over, self.at(node)))

    @contextlib.contextmanager
    def inner_names(self, names: dict[str, Expression]) -> Iterator[None]:
        """Names of a comprehension, which hide others inside it alone."""
        scope = self.scopes[-1]
        hidden = dict(scope.names)
        scope.names.update((name, (value, SCALAR)) for name, value in names.items())
        try:
            yield
        finally:
            scope.names = {
                **{k: v for k, v in scope.names.items() if k not in names},
                **{k: v for k, v in hidden.items() if k in names},
            }

    # Calls.

    def value_Call(self, node: ast.Call) -> Read:
        function = node.func
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise _refuse(node, "no starred arguments")
        if isinstance(function, ast.Name):
            if function.id in self.module.functions and function.id not in self.scopes[-1].local | set(
                self.scopes[-1].names
            ):
                return self.helper(node, self.module.functions[function.id])
            if self.is_builtin(function.id):
                return self.builtin(node, function.id)
        elif isinstance(function, ast.Attribute):
            if module := self._module_of(function):
                return self.library(node, module, function.attr)
            if (
                isinstance(function.value, ast.Name)
                and self.scopes[-1].names.get(function.value.id, ("", ""))[1] == GENERATOR
            ):
                return self.draw(node, function.attr)
            return self.method(node, function)
        raise _refuse(node, f"{ast.unparse(function)} is not understood")

    def plain(self, node: ast.Call, count: int) -> None:
        if node.keywords or len(node.args) != count:
            raise _refuse(node, f"{ast.unparse(node.func)} takes {count} plain argument{'s' * (count != 1)} here")

    def builtin(self, node: ast.Call, name: str) -> Read:
        if name == "len":
            self.plain(node, 1)
            value, shape = self.value(node.args[0])
            if shape == FILTERED:
                return self.reduce(node, "sum", self.of_filtered(node, value, 0))
            if shape not in LISTS:
                raise _refuse(node, f"{shape} has no length")
            return self.operation("length", (value,), node), SCALAR
        if (
            name == "float"
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Constant)
            and node.args[0].value in ("inf", "-inf")
        ):
            return Constant(None, node.args[0].value), SCALAR
        if name in ("max", "min") and len(node.args) > 1:
            if node.keywords:
                raise _refuse(node, f"{name} has no keywords here")
            return self.operation(name, tuple(map(self.number, node.args)), node), SCALAR
        if name in ("sum", "max", "min"):
            self.plain(node, 1)
            return self.reduction(node, name, node.args[0])
        if name == "sorted":
            return self.of_list(node, "sorted", LIST) if self.noiseless else self._sorted(node)
        if name == "list":
            self.plain(node, 1)
            value, shape = self.source(node.args[0], node, 0)
            if shape == "counter":
                return Elementwise(
                    (f"index@{self.at(node)}",),
                    (self.operation("range", (self.length([(value, shape)], node),), node),),
                    self.items([(value, shape)], node)[0],
                    self.at(node),
                ), LIST
            return self._copied(value, node), LIST
        if name in _PURE[""] and not node.keywords and 1 <= len(node.args) <= (2 if name == "round" else 1):
            return self.operation(name, tuple(map(self.number, node.args)), node), SCALAR
        raise _refuse(node, f"{name} is not understood")

    def _sorted(self, node: ast.Call) -> Read:
        self.plain(node, 1)
        inner = node.args[0]
        value, shape = self.comprehension(inner, inner) if isinstance(inner, ast.GeneratorExp) else self.value(inner)
        if shape not in LISTS or self.pure:
            raise _refuse(node, f"sorted is understood of a list, by itself, not of {shape} in a comprehension")
        return self.operation("sorted", (value,), node), LIST

    def _copied(self, value: Expression, node: ast.AST) -> Expression:
        """A list of its own with the same elements."""
        name = f"element0@{self.at(node)}"
        return Elementwise((name,), (value,), Variable(name), self.at(node))

    def library(self, node: ast.Call, module: str, name: str) -> Read:
        spelled = _SPELLED.get(name, name)
        if self.noiseless and (module, name) in _NOISELESS:
            operator, shape = _NOISELESS[module, name]
            return (
                self.reduction(node, operator, node.args[0])
                if operator == "prod"
                else self.of_list(node, operator, shape)
            )
        if self.noiseless and name in _CURVES:
            self.plain(node, 1)
            return self.lifted(node, spelled, self.as_array(self.value(node.args[0])))
        if spelled in ("mean", "fmean") and module == "statistics":
            self.plain(node, 1)
            return self.reduction(node, "mean", node.args[0])
        if module == "np" and spelled in _REDUCTIONS and name not in ("maximum", "minimum"):
            self.plain(node, 1)
            return self.reduction(node, spelled, node.args[0])
        if name in _PURE.get(module, ()):
            self.plain(node, 1)
            read = (self.number(node.args[0]), SCALAR) if module == "math" else self.as_array(self.value(node.args[0]))
            made = self.lifted(node, spelled, read)
            return self.lifted(node, "float", made) if name in _FLOATS[module] else made
        if module == "np":
            return self.numpy(node, name)
        raise _refuse(node, f"{module}.{name} is not understood")

    def of_list(self, node: ast.Call, operator: str, shape: str) -> Read:
        self.plain(node, 1)
        value, given = self.value(node.args[0])
        if given not in LISTS:
            raise _refuse(node, f"{operator} of {given} is not understood")
        return self.operation(operator, (value,), node), shape

    def as_array(self, read: Read) -> Read:
        return (read[0], ARRAY) if read[1] == LIST else read

    def numpy(self, node: ast.Call, name: str) -> Read:
        if name in ("array", "asarray"):
            if (
                any(each.arg != "dtype" or ast.unparse(each.value) != "float" for each in node.keywords)
                or len(node.args) != 1
            ):
                raise _refuse(node, f"np.{name} takes a list, and dtype=float")
            value, shape = self.value(node.args[0])
            if shape not in LISTS:
                raise _refuse(node, f"np.{name} of {shape} is not understood")
            if shape == ARRAY:
                self.shared |= _variables(value)
            if node.keywords:
                return self.lifted(node, "float", (value, ARRAY))
            copied = value if isinstance(value, Elementwise) else self._copied(value, node)
            return self.textless(node, (copied, ARRAY))
        if name in ("zeros", "ones", "arange"):
            self.plain(node, 1)
            count = self.operation("size", (self.number(node.args[0]),), node)
            if name == "arange":
                return self.operation("range", (count,), node), ARRAY
            return self.operation("repeat", (Constant(Fraction(name == "ones")), count), node), ARRAY
        arguments = [self.as_array(self.value(each)) for each in node.args]
        if node.keywords:
            raise _refuse(node, f"np.{name} has no keywords here")
        if name == "where" and len(arguments) == 3:
            self.evaluated(node, *arguments)
            return self.lifted(node, "if", arguments[0], *(self.textless(node, each) for each in arguments[1:]))
        if name in ("maximum", "minimum") and len(arguments) == 2:
            return self.lifted(node, _SPELLED[name], *arguments)
        if name == "clip" and len(arguments) == 3:
            return self.lifted(node, "min", self.lifted(node, "max", *arguments[:2]), arguments[2])
        raise _refuse(node, f"np.{name} is not understood")

    def textless(self, node: ast.AST, read: Read) -> Read:
        """Values without a text, next to which numpy makes texts of numbers: such as have a smallest."""
        return read if self.noiseless else self.lifted(node, "min", read)

    def method(self, node: ast.Call, function: ast.Attribute) -> Read:
        name = function.attr
        if name == "index":
            return self._index_of_extreme(node, function)
        value, shape = self.value(function.value)
        if shape == ARRAY and name in _REDUCTIONS:
            self.plain(node, 0)
            return self.reduce(node, name, value)
        if shape == ARRAY and name in ("tolist", "copy"):
            self.plain(node, 0)
            return self._copied(value, node), LIST if name == "tolist" else ARRAY
        if shape == LIST and name == "copy" and value != Variable(self.data):
            self.plain(node, 0)
            return self._copied(value, node), LIST
        raise _refuse(node, f".{name} of {shape} is not understood")

    def _index_of_extreme(self, node: ast.Call, function: ast.Attribute) -> Read:
        """`xs.index(max(xs))`: the first place of the largest element."""
        inner = node.args[0] if len(node.args) == 1 and not node.keywords else None
        if (
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Name)
            and inner.func.id in ("max", "min")
            and self.is_builtin(inner.func.id)
            and len(inner.args) == 1
            and not inner.keywords
            and isinstance(function.value, ast.Name)
            and ast.dump(inner.args[0]) == ast.dump(function.value)
        ):
            value, shape = self.value(function.value)
            if shape == LIST:
                return self.reduce(node, f"arg{inner.func.id}", value)
        raise _refuse(node, ".index is understood in xs.index(max(xs))")

    def reduction(self, node: ast.Call, name: str, argument: ast.expr) -> Read:
        if isinstance(argument, ast.GeneratorExp):
            value, shape = self.comprehension(argument, argument)
        else:
            value, shape = self.value(argument)
        if shape == FILTERED and name == "sum":
            value = self.of_filtered(node, value, 1)
        elif shape not in LISTS:
            raise _refuse(node, f"{name} of {shape} is not understood")
        return self.reduce(node, name, value)

    def of_filtered(self, node: ast.AST, value: Expression, place: int) -> Expression:
        """For each place of a filtered list 1 where the element is kept (place 0), or the element or 0 (place 1)."""
        name = f"kept@{self.at(node)}"
        part = self.operation("part", (Variable(name), Constant(place)), node)
        counted = part if place else self.operation("if", (part, Constant(1), Constant(0)), node)
        return Elementwise((name,), (value,), counted, self.at(node))

    def reduce(self, node: ast.Call, name: str, source: Expression) -> Read:
        """A loop over a list that keeps a sum, the largest so far, or the first place of it."""
        at = self.at(node)
        acc, best, index, listed = (Variable(f"{what}@{at}") for what in ("acc", "best", "index", "at"))
        source = source if isinstance(source, Variable) else self.kept("iter0", source, node, LIST)
        item = self.operation("item", (source, index), node)
        begun = self.operation("==", (index, Constant(0)), node)
        test = self.counted(node, self.operation("length", (source,), node))
        body: list[Statement] = []
        self.add(Assign(acc.name, Constant(int(name == "prod")), at))
        if name == "prod":
            body = [Assign(acc.name, self.operation("*", (acc, item), node), at)]
        elif name in ("sum", "mean", "cumsum"):
            body = [Assign(acc.name, self.operation("+", (acc, item), node), at)]
        else:
            self.nonempty(node, source)
            larger = self.operation("<" if name.endswith("min") else ">", (item, acc), node)
            wins = self.operation("or", (begun, larger), node)
            if name.startswith("arg"):
                self.add(Assign(best.name, Constant(0), at))
                body = [Assign(best.name, self.operation("if", (wins, index, best), node), at)]
            body.append(Assign(acc.name, self.operation("if", (wins, item, acc), node), at))
        if name == "cumsum":
            self._append_loop(node, listed.name, test, (*body, Append(listed.name, acc, at)), (source,))
            return listed, ARRAY
        self.add(Loop((), test, tuple(body), (self.counting(node),), (source,), at))
        if name == "mean":
            return self.operation("/", (acc, self.operation("length", (source,), node)), node), SCALAR
        return best if name.startswith("arg") else acc, SCALAR

    # Noise.

    def draw(self, node: ast.Call, name: str) -> Read:
        if name in ("choice", "integers"):
            return self.selection(node, name)
        arguments = self._arguments(node, {**_NOISE, **_ONE_SIDED}.get(name))
        scale, shape = self.value(arguments["scale"]) if "scale" in arguments else (Constant(1), SCALAR)
        loc, located = self.value(arguments["loc"]) if "loc" in arguments else (Constant(0), SCALAR)
        if shape != SCALAR or located == GENERATOR:
            raise _refuse(node, "a scale is one number")
        size = arguments.get("size")
        if size is None and located in LISTS:
            count: Expression | None = self.operation("length", (loc,), node)
        else:
            count = None if size is None or ast.unparse(size) == "None" else self.number(size)
        made = self.drawn(node, name, scale, count)
        if loc == Constant(0):
            return made
        loc, located = self.as_array((loc, located))
        return self.lifted(node, "+", (loc, located), made)

    def selection(self, node: ast.Call, name: str) -> Read:
        """`rng.integers(n)`, `rng.choice(n)`, or `rng.choice(n, p=w / w.sum())`: an index, uniform or by weights."""
        weighted = len(node.keywords) == 1 and node.keywords[0].arg == "p" and name == "choice"
        if len(node.args) != 1 or (node.keywords and not weighted):
            raise _refuse(node, f"rng.{name} is understood with one number, and choice with p=w / w.sum()")
        count = self.number(node.args[0])
        if weighted:
            weights, shape = self.value(self._weights(node, node.keywords[0].value))
            if shape not in LISTS:
                raise _refuse(node, "weights are an array")
            length = self.operation("length", (weights,), node)
            self.add(Assign(f"count@{self.at(node)}", self.operation("alike", (count, length), node), self.at(node)))
        else:
            weights = self.operation("repeat", (Constant(1), count), node)
        weights = self.kept("weights", weights, node, ARRAY)
        self.nonempty(node, weights)
        return self.drawn(node, "choice", weights, None)

    def _weights(self, draw: ast.Call, node: ast.expr) -> ast.expr:
        """The w of w / w.sum(), w / np.sum(w) or w / sum(w), or of [x / total for x in w] after total = sum(w)."""
        match node:
            case ast.BinOp(ast.Name() as weights, ast.Div(), right) if ast.unparse(right) in self._sums(weights.id):
                return weights
        weights, total = shares(node) or (ast.Name(""), "")
        if sums_of(self.scopes[-1].function, draw, weights.id, total) & self._sums(weights.id):
            return weights
        raise _refuse(node, "probabilities are understood as p=w / w.sum()")

    def _sums(self, name: str) -> set[str]:
        """How the sum of a list may be written."""
        if "np" in self.scopes[-1].local | set(self.scopes[-1].names):
            return set()
        sums = {f"{name}.sum()"} | ({f"np.sum({name})"} if self.module.imports & {"np"} else set())
        return sums | ({f"sum({name})"} if self.is_builtin("sum") else set())

    def nonempty(self, node: ast.AST, source: Expression) -> None:
        """What follows raises an error for an empty list."""
        some = self.operation("<", (Constant(0), self.operation("length", (source,), node)), node)
        error = Return(Constant("of an empty list", "error"), self.at(node))
        self.add(Branch(some, (), (error,), f"empty@{self.at(node)}"))

    def drawn(self, node: ast.AST, kind: str, scale: Expression, count: Expression | None) -> Read:
        if self.pure:  # a comprehension's element is read again as a loop
            self.add(Leave("draw"))
        name, listed = f"draw@{self.at(node)}", f"at@{self.at(node)}"
        if count is None:
            self.add(Draw(name, kind, scale, self.at(node)))
            return Variable(name), SCALAR
        scale = self.kept("scale", scale, node, SCALAR)
        test = self.counted(node, self.operation("size", (count,), node))
        body = (Draw(name, kind, scale, self.at(node)), Append(listed, Variable(name), self.at(node)))
        self._append_loop(node, listed, test, body)
        return Variable(listed), ARRAY

    def _arguments(self, node: ast.Call, names: tuple[str, ...] | None) -> dict[str, ast.expr]:
        """The arguments of a draw by name."""
        if names is None:
            raise _refuse(node, f"the draw {ast.unparse(node.func)} is not understood here")
        names = (*names, "size")
        given = dict(zip(names, node.args, strict=False))
        for each in node.keywords:
            if each.arg not in names or each.arg in given:
                raise _refuse(node, f"{each.arg} is not understood")
            given[each.arg] = each.value
        if len(node.args) > len(names):
            raise _refuse(node, "too many arguments")
        return given

    def _is_draw(self, node: ast.expr, name: str) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == name
            and isinstance(node.func.value, ast.Name)
            and self.scopes[-1].names.get(node.func.value.id, ("", ""))[1] == GENERATOR
        )

    def _coin(self, node: ast.Compare) -> Read | None:
        """`rng.random() < p` and its mirror images: a coin."""
        left, right = node.left, node.comparators[0]
        if not (self._is_draw(left, "random") or self._is_draw(right, "random")):
            return None
        operator = _COMPARED.get(type(node.ops[0]), "")
        if len(node.ops) > 1 or operator not in _MIRRORED:
            raise _refuse(node, "rng.random() is understood in rng.random() < p")
        call, other = (left, right) if self._is_draw(left, "random") else (right, left)
        assert isinstance(call, ast.Call)
        below = (operator if call is left else _MIRRORED[operator])[0] == "<"
        arguments = self._arguments(call, ())
        count = self.number(arguments["size"]) if "size" in arguments else None
        heads = self.drawn(call, "coin", self.number(other), count)
        return heads if below else self.lifted(node, "not", heads)

    def _geometric(self, node: ast.BinOp) -> Read | None:
        """`x + rng.geometric(p) - rng.geometric(p)`: two-sided geometric noise, named by the first of the draws."""
        if not isinstance(node.op, ast.Sub) or not self._is_draw(node.right, "geometric"):
            return None
        inner, added = node.left, None
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add):
            added, inner = self.number(inner.left), inner.right
        if not self._is_draw(inner, "geometric"):
            raise _refuse(node, "geometric draws are understood in rng.geometric(p) - rng.geometric(p)")
        assert isinstance(inner, ast.Call)
        assert isinstance(node.right, ast.Call)
        one, two = self._arguments(inner, ("p",)), self._arguments(node.right, ("p",))
        if set(one) != {"p"} or set(two) != {"p"} or ast.dump(one["p"]) != ast.dump(two["p"]):
            raise _refuse(node, "both geometric draws have the same p, and no size")
        with self.capture() as again:
            p = self.number(one["p"])
        if again:
            raise _refuse(node, "p must be a plain expression")
        noise = self.drawn(inner, "geometric", p, None)
        return noise if added is None else (self.operation("+", (added, noise[0]), node), SCALAR)

    # Helper functions.

    def helper(self, node: ast.Call, function: ast.FunctionDef) -> Read:
        if any(scope.function is function for scope in self.scopes) or len(self.scopes) > _MAX_DEPTH:
            raise _refuse(node, f"{function.name} calls itself")
        if self.pure:
            self.add(Leave("call"))
        names, defaults = _signature(function)
        given = dict(zip(names, (self.value(each) for each in node.args), strict=False))
        for each in node.keywords:
            if each.arg not in names or each.arg in given:
                raise _refuse(node, f"{each.arg} is not understood")
            given[each.arg] = self.value(each.value)
        missing = [name for name in names if name not in given and name not in defaults]
        if missing or len(node.args) > len(names):
            raise _refuse(node, f"{function.name} is called with other arguments than it has")
        prefix = f"{self.at(node)}>"
        scope = self._scope(function, prefix)
        scope.result, scope.parameters = f"result@{self.at(node)}", set(names)
        self.shapes.pop(scope.result, None)
        for name in names:
            self._pass(scope, name, given.get(name, (defaults.get(name, Constant(None)), SCALAR)), node)
        self.scopes.append(scope)
        body = self.captured(function.body)
        self.scopes.pop()
        if not _ends(function.body):
            if self.shapes.setdefault(scope.result, SCALAR) != SCALAR:
                raise _refuse(function, f"{function.name} may end without a return")
            body = (*body, Assign(scope.result, Constant(None), self.at(node)))
        local = tuple(
            sorted(prefix + name for name in scope.local if prefix + name in self.shapes and name not in names)
        )
        self.add(Block(scope.result, body, local))
        return Variable(scope.result), self.shapes[scope.result]

    def _pass(self, scope: _Scope, name: str, given: Read, node: ast.AST) -> None:
        value, shape = given
        if shape == GENERATOR:
            if name in scope.local:
                raise _refuse(node, "the generator may not be assigned")
            scope.names[name] = (value, shape)
            return
        if shape not in (SCALAR, LIST, ARRAY, TUPLE, FILTERED):
            raise _refuse(node, f"{shape} may not be passed")
        if value == Variable(self.data) and name not in scope.local:
            scope.names[name] = (value, shape)
            return
        inner = scope.prefix + name
        if shape in LISTS and isinstance(value, Variable):
            self.aliases.append((inner, value.name))
        if shape == ARRAY:
            self.shared.add(inner)
        scope.names[name] = (Variable(inner), shape)
        self.shapes[inner] = shape
        self.add(Assign(inner, value, self.at(node)))


def _signature(function: ast.FunctionDef) -> tuple[list[str], dict[str, Expression]]:
    """The parameters' names, and the defaults of those that have one."""
    arguments = function.args
    if arguments.vararg or arguments.kwarg:
        raise _refuse(function, "no starred parameters")
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [*zip(with_default, arguments.defaults, strict=True)]
    pairs += [(name, each) for name, each in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if each]
    names = [each.arg for each in (*positional, *arguments.kwonlyargs)]
    return names, {name.arg: _literal(each) for name, each in pairs}


def _annotation(function: ast.FunctionDef, name: str) -> str:
    """What a parameter's annotation says, "" without one."""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    annotation = next(each.annotation for each in arguments if each.arg == name)
    return "" if annotation is None else ast.unparse(annotation).strip("'\"")


def _stored(function: ast.FunctionDef) -> set[str]:
    """The names that a function assigns outside its comprehensions; nothing in it may define other scopes."""
    found: set[str] = set()
    inner: set[int] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            inner.update(id(each) for generator in node.generators for each in ast.walk(generator.target))
    for node in itertools.chain.from_iterable(map(ast.walk, function.body)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and id(node) not in inner:
            found.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.NamedExpr | ast.Global | ast.Nonlocal):
            raise _refuse(node, f"{_said(node)} is not understood")
    return found


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through the statements returns."""
    last = body[-1]
    return isinstance(last, ast.Return) or (
        isinstance(last, ast.If) and bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    )


def _variables(expression: Expression) -> set[str]:
    if isinstance(expression, Variable):
        return {expression.name}
    inner: tuple[Expression, ...] = ()
    if isinstance(expression, Operation):
        inner = expression.operands
    elif isinstance(expression, Elementwise):
        inner = (*expression.sources, expression.body)
    return set[str]().union(*map(_variables, inner))


def _loaded(target: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)


_SAID = {
    "Starred": "a star",
    "Lambda": "lambda",
    "ListComp": "a comprehension",
    "NamedExpr": "an assignment in an expression",
}


def _said(node: ast.AST) -> str:
    name = type(node).__name__
    text = ast.unparse(node).splitlines()[0] if isinstance(node, ast.expr) else ""
    return _SAID.get(name, name.lower()) + (f" ({text[:60]})" if text else "")
