"""Runs a program's text as Python runs it, on exact symbolic numbers instead of floats.

A tree walk over a whitelist of Python: every node does what Python's own operator does to the same objects, and what
is not in the list is refused. Nothing of the text is executed by Python itself, and sizes are limited, so a text from
a stranger is harmless. Arrays are numpy's, of objects. A float that is not infinite never arises: literals and
quotients of integers are exact, and what comes out of numpy as a float is refused.
"""

import ast
import math
import operator
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpassay.replay import Rejected
from dpassay.replay.linear_forms import Form, constant, number
from dpassay.replay.symbolic_generator import SymbolicGenerator

MAX_SIZE = 4096
"""Of lists, and of integers in bits."""
MAX_DEPTH = 40

_Names = MutableMapping[str, Any]


class Undefined(Exception):
    """The run stops with an error of the program."""


_ERRORS = (
    *(ArithmeticError, AttributeError, IndexError, KeyError, RecursionError, StopIteration, TypeError, ValueError),
    *(AssertionError, RuntimeError, UnboundLocalError),
)


def plain_program(text: str, entry: str) -> tuple[list[str], Callable[..., Any]]:
    """The names of the public parameters, and `run(generator, data, parameters, steps)`, which gives the output.

    Raises:
        Rejected: the text has what is not understood; the run may raise it too.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Rejected(f"the program cannot be read: {error}") from error
    functions: dict[str, ast.FunctionDef] = {}
    constants: list[ast.Assign] = []
    for each in body:
        if isinstance(each, ast.FunctionDef):
            functions[each.name] = each
        elif isinstance(each, ast.Assign):
            constants.append(each)
        elif not (isinstance(each, ast.Import) and ast.unparse(each) in ("import math", "import numpy as np")):
            raise _refused(each, "this statement")
    if entry not in functions:
        raise Rejected(f"the program cannot be read: it has no function {entry}")
    for function in functions.values():
        _check_signature(function)

    def run(generator: SymbolicGenerator, data: Any, parameters: Mapping[str, Any], steps: int) -> Any:
        running = _Running(functions, steps)
        try:
            for each in constants:
                running.statement(each, running.module)
            return plain(running.call(functions[entry], [generator, data], dict(parameters)))
        except _ERRORS as error:
            raise Undefined(f"{type(error).__name__}: {error}") from error

    return [each.arg for each in functions[entry].args.args[2:]], run


def plain(output: Any) -> Any:
    """An output in lists and plain values."""
    if isinstance(output, np.ndarray):
        return plain(output.tolist())
    if isinstance(output, np.generic):
        return output.item()
    return [plain(each) for each in output] if isinstance(output, list | tuple) else output


def _refused(node: ast.AST, what: str = "") -> Rejected:
    place = f"line {getattr(node, 'lineno', 0)}, column {getattr(node, 'col_offset', 0)}"
    return Rejected(f"the program cannot be read: {place}: {what or type(node).__name__} is not understood")


def _check_signature(function: ast.FunctionDef | ast.Lambda) -> None:
    arguments = function.args
    decorators = getattr(function, "decorator_list", ())
    other = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.posonlyargs, *decorators)
    if any(other) or not all(isinstance(each, ast.Constant | ast.UnaryOp) for each in arguments.defaults):
        raise _refused(function, "this signature")


class _Return(Exception):
    def __init__(self, output: Any) -> None:
        self.output = output


class _Break(Exception):
    """Leaves the innermost loop."""


class _Continue(Exception):
    """Goes on with the innermost loop."""


class _Running:
    """One run of the program."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef], steps: int) -> None:
        self.functions, self.steps, self.depth = functions, steps, 0
        self.module: dict[str, Any] = {}
        self.locals: frozenset[str] = frozenset()

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TimeoutError("the run takes too many steps")

    def call(self, function: ast.FunctionDef, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        names = [each.arg for each in function.args.args]
        defaults = zip(names[::-1], function.args.defaults[::-1], strict=False)
        values: dict[str, Any] = {name: self.value(node, {}) for name, node in defaults}
        if len(given) > len(names) or any(name not in names[len(given) :] for name in named):
            raise TypeError(f"{function.name} is called with other arguments")
        values |= dict(zip(names, given, strict=False)) | dict(named)
        if len(values) < len(names):
            raise TypeError(f"{function.name} lacks an argument")
        if self.depth >= MAX_DEPTH:
            raise _refused(function, "so deep a recursion")
        outer, self.locals = self.locals, _assigned(function)
        self.depth += 1
        try:
            self.block(function.body, values)
        except _Return as left:
            return left.output
        finally:
            self.locals = outer
            self.depth -= 1
        return None

    # Statements.

    def block(self, body: Iterable[ast.stmt], names: _Names) -> None:
        for each in body:
            self.statement(each, names)

    def statement(self, node: ast.stmt, names: _Names) -> None:
        self.step()
        found = getattr(self, f"_{type(node).__name__}", None)
        if found is None:
            raise _refused(node)
        found(node, names)

    def _Pass(self, node: ast.Pass, names: _Names) -> None:
        pass

    def _Expr(self, node: ast.Expr, names: _Names) -> None:
        self.value(node.value, names)

    def _Assign(self, node: ast.Assign, names: _Names) -> None:
        value = self.value(node.value, names)
        for target in node.targets:
            self.store(target, value, names)

    def _AnnAssign(self, node: ast.AnnAssign, names: _Names) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value, names), names)

    def _AugAssign(self, node: ast.AugAssign, names: _Names) -> None:
        if isinstance(node.target, ast.Name):
            held = self.name(node.target, names)
            names[node.target.id] = self.updated(held, self.value(node.value, names), node)
        elif isinstance(node.target, ast.Subscript):
            whole = self.value(node.target.value, names)
            place = self.place(whole, node.target.slice, names)
            value = self.updated(whole[place], self.value(node.value, names), node)
            _writable(whole, value, node)[place] = value
        else:
            raise _refused(node.target)

    def updated(self, held: Any, value: Any, node: ast.AugAssign) -> Any:
        """What is held after `held op= value`: lists and arrays are changed where they are."""
        truths = isinstance(held, np.ndarray) and not isinstance(node.op, _LOGICAL) and _of_truths(held)
        if isinstance(held, dict) or truths:
            raise _refused(node)
        if isinstance(held, list) and isinstance(node.op, ast.Add):
            held += value
            result = held
        else:
            result = self.clean(self.joined(node, held, value), node)
        if isinstance(held, np.ndarray):
            _writable(held, result, node)[...] = result
        elif isinstance(held, list):
            held[:] = result
        return self.clean(held if isinstance(held, list | np.ndarray) else result, node)

    def _If(self, node: ast.If, names: _Names) -> None:
        self.block(node.body if self.value(node.test, names) else node.orelse, names)

    def _For(self, node: ast.For, names: _Names) -> None:
        self.loop(node, names, self.each(node.iter, names), lambda entry: self.store(node.target, entry, names))

    def _While(self, node: ast.While, names: _Names) -> None:
        def truths() -> Iterator[None]:
            while self.value(node.test, names):
                yield None

        self.loop(node, names, truths(), lambda _: None)

    def loop(self, node: Any, names: _Names, entries: Iterator[Any], begin: Callable[[Any], None]) -> None:
        for entry in entries:
            self.step()
            begin(entry)
            try:
                self.block(node.body, names)
            except _Continue:
                continue
            except _Break:
                return
        self.block(node.orelse, names)

    def _Break(self, node: ast.Break, names: _Names) -> None:
        raise _Break

    def _Continue(self, node: ast.Continue, names: _Names) -> None:
        raise _Continue

    def _Return(self, node: ast.Return, names: _Names) -> None:
        raise _Return(None if node.value is None else self.value(node.value, names))

    def _Assert(self, node: ast.Assert, names: _Names) -> None:
        if not self.value(node.test, names):
            raise AssertionError

    def _Raise(self, node: ast.Raise, names: _Names) -> None:
        raise ValueError(f"line {node.lineno} raises")

    def store(self, target: ast.expr, value: Any, names: _Names) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in target.elts):
            parts = list(value)
            if len(parts) != len(target.elts):
                raise ValueError("another number of values to unpack")
            for each, part in zip(target.elts, parts, strict=True):
                self.store(each, part, names)
        elif isinstance(target, ast.Subscript):
            whole = self.value(target.value, names)
            _writable(whole, value, target)[self.place(whole, target.slice, names)] = value
        else:
            raise _refused(target)

    # Expressions.

    def value(self, node: ast.expr, names: _Names) -> Any:
        found = getattr(self, f"_{type(node).__name__}", None)
        if found is None:
            raise _refused(node)
        return self.clean(found(node, names), node)

    def clean(self, value: Any, node: ast.AST) -> Any:
        """A value without floats, of a limited size."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, np.ndarray) and value.dtype != object:
            if value.dtype.kind not in "bi":
                raise _refused(node, "an array of floats")
            value = value.astype(object)
        if isinstance(value, Fraction):
            return Form(number(value))
        if isinstance(value, float) and not math.isinf(value):
            raise _refused(node, "a number that is rounded")
        if isinstance(value, int) and value.bit_length() > MAX_SIZE:
            raise _refused(node, "so large an integer")
        if isinstance(value, list | tuple | str | dict | np.ndarray) and _length(value) > MAX_SIZE:
            raise _refused(node, "so long a list")
        return value

    def _Constant(self, node: ast.Constant, names: _Names) -> Any:
        if isinstance(node.value, float):
            return node.value if math.isinf(node.value) else Form(number(Fraction(repr(node.value))))
        if node.value is None or isinstance(node.value, bool | int | str):
            return node.value
        raise _refused(node, repr(node.value))

    def _Name(self, node: ast.Name, names: _Names) -> Any:
        return self.name(node, names)

    def name(self, node: ast.Name, names: _Names) -> Any:
        if node.id in names:
            return names[node.id]
        if node.id in self.locals:
            raise UnboundLocalError(f"{node.id} has no value")
        if node.id in self.module:
            return self.module[node.id]
        if node.id in self.functions:
            function = self.functions[node.id]
            return lambda *given, **named: self.call(function, given, named)
        if node.id in _BUILTINS:
            return _BUILTINS[node.id]
        raise _refused(node, node.id)

    def _BinOp(self, node: ast.BinOp, names: _Names) -> Any:
        return self.joined(node, self.value(node.left, names), self.value(node.right, names))

    def joined(self, node: ast.BinOp | ast.AugAssign, left: Any, right: Any) -> Any:
        """The value of `left op right`."""
        if type(node.op) not in _BINARY or isinstance(left, str) or isinstance(right, str):
            raise _refused(node)
        arrays = any(isinstance(each, np.ndarray) for each in (left, right)) and not isinstance(node.op, _LOGICAL)
        if arrays and _of_truths(left) and _of_truths(right):
            raise _refused(node, "a sum of arrays of truth values")  # which is no number in numpy
        return _BINARY[type(node.op)](left, right)

    def _UnaryOp(self, node: ast.UnaryOp, names: _Names) -> Any:
        value = self.value(node.operand, names)
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, ast.Invert):
            if not isinstance(value, np.ndarray):
                raise _refused(node)
            return np.array([not each for each in value] + [None], dtype=object)[:-1]
        return -value if isinstance(node.op, ast.USub) else +value

    def _BoolOp(self, node: ast.BoolOp, names: _Names) -> Any:
        value = None
        for each in node.values:
            value = self.value(each, names)
            if bool(value) == isinstance(node.op, ast.Or):
                return value
        return value

    def _Compare(self, node: ast.Compare, names: _Names) -> Any:
        left = self.value(node.left, names)
        for place, (operation, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(right_node, names)
            if isinstance(operation, ast.Is | ast.IsNot):
                if left is not None and right is not None:
                    raise _refused(node, "`is` but for None")
                result: Any = (left is right) == isinstance(operation, ast.Is)
            else:
                result = _COMPARED[type(operation)](left, right)
            if place == len(node.ops) - 1 or not result:
                return result
            left = right
        return True

    def _IfExp(self, node: ast.IfExp, names: _Names) -> Any:
        return self.value(node.body if self.value(node.test, names) else node.orelse, names)

    def _NamedExpr(self, node: ast.NamedExpr, names: _Names) -> Any:
        if isinstance(names, ChainMap):
            raise _refused(node, "an assignment in a comprehension")
        names[node.target.id] = value = self.value(node.value, names)
        return value

    def _List(self, node: ast.List, names: _Names) -> Any:
        found: list[Any] = []
        for each in node.elts:
            found += self.each(each.value, names) if isinstance(each, ast.Starred) else [self.value(each, names)]
        return found

    def _Tuple(self, node: ast.Tuple, names: _Names) -> Any:
        return tuple(self._List(node, names))  # type: ignore[arg-type]

    def _Dict(self, node: ast.Dict, names: _Names) -> Any:
        found: dict[Any, Any] = {}
        for key, entry in zip(node.keys, node.values, strict=True):
            if key is None:
                raise _refused(node, "**")
            place = _key(self.value(key, names))
            found[place] = self.value(entry, names)
        return found

    def _ListComp(self, node: ast.ListComp, names: _Names) -> Any:
        return list(self._GeneratorExp(node, names))

    def _GeneratorExp(self, node: Any, names: _Names) -> Any:
        first = self.each(node.generators[0].iter, names)  # which Python does at once, and all else later
        inner = ChainMap({}, names)

        def elements(place: int, entries: Iterator[Any]) -> Iterator[Any]:
            made = node.generators[place]
            for entry in entries:
                self.step()
                self.store(made.target, entry, inner)
                if all(self.value(test, inner) for test in made.ifs):
                    if place + 1 < len(node.generators):
                        yield from elements(place + 1, self.each(node.generators[place + 1].iter, inner))
                    else:
                        yield self.value(node.elt, inner)

        return elements(0, first)

    def each(self, node: ast.expr, names: _Names) -> Iterator[Any]:
        """What a loop over an expression goes over."""
        entries = self.value(node, names)
        if isinstance(entries, str):
            raise _refused(node, "a loop over a text")
        return (self.clean(entry, node) for entry in entries)

    def _Lambda(self, node: ast.Lambda, names: _Names) -> Any:
        _check_signature(node)
        parameters = [each.arg for each in node.args.args]
        return lambda *given: self.value(node.body, ChainMap(dict(zip(parameters, given, strict=True)), names))

    def _Subscript(self, node: ast.Subscript, names: _Names) -> Any:
        whole = self.value(node.value, names)
        if not isinstance(whole, list | tuple | np.ndarray | range | dict):
            raise _refused(node, "an index of this")
        return whole[self.place(whole, node.slice, names)]

    def place(self, whole: Any, node: ast.expr, names: _Names) -> Any:
        """A key of a dict, or an index."""
        return _key(self.value(node, names)) if isinstance(whole, dict) else self.index(node, names)

    def index(self, node: ast.expr, names: _Names) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(None if end is None else _whole(self.value(end, names)) for end in
                           (node.lower, node.upper, node.step)))  # fmt: skip
        place = self.value(node, names)
        if isinstance(place, list | np.ndarray):
            kept = [each if isinstance(each, bool) else _whole(each) for each in place]
            return np.array(kept) if kept else np.array([], dtype=int)
        return _whole(place)

    def _Attribute(self, node: ast.Attribute, names: _Names) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id not in names and node.value.id in _MODULES:
            if node.attr in _MODULES[node.value.id]:
                return _MODULES[node.value.id][node.attr]
            raise _refused(node, ast.unparse(node))
        whole = self.value(node.value, names)
        if isinstance(whole, np.ndarray) and node.attr in ("size", "mean"):
            return whole.size if node.attr == "size" else lambda: _mean(whole)
        for kind, methods in _METHODS.items():
            if isinstance(whole, kind) and node.attr in methods:
                return getattr(whole, node.attr)
        raise _refused(node, f".{node.attr}")

    def _Call(self, node: ast.Call, names: _Names) -> Any:
        if any(each.arg is None for each in node.keywords):
            raise _refused(node, "**")
        function = self.value(node.func, names)
        if not callable(function) or isinstance(function, SymbolicGenerator):
            raise TypeError("this is not called")
        given: list[Any] = []
        for each in node.args:
            given += self.each(each.value, names) if isinstance(each, ast.Starred) else [self.value(each, names)]
        named = {str(each.arg): self.value(each.value, names) for each in node.keywords}
        if any(isinstance(each, int) and abs(each) > 2**64 for each in (*given, *named.values())):
            raise _refused(node, "so large an integer")
        return function(*given, **named)


def _length(value: Any) -> int:
    return value.size if isinstance(value, np.ndarray) else len(value)


def _assigned(function: ast.FunctionDef) -> frozenset[str]:
    """The names that a function assigns, beside those of its comprehensions: they are never global."""
    found = {each.arg for each in function.args.args}
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if isinstance(node, ast.comprehension):
            pending += [node.iter, *node.ifs]
        elif not isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return frozenset(found)


def _writable(whole: Any, value: Any, node: ast.AST) -> Any:
    """What is written to; numpy's arrays of integers take no other numbers as they are."""
    integers = isinstance(whole, np.ndarray) and any(isinstance(each, int) for each in whole.flat)
    if integers and not all(isinstance(each, int) for each in _of_objects(value).flat):
        raise _refused(node, "a number in an array of integers")
    return whole


def _key(value: Any) -> Any:
    """A key of a dict; where one is a float in Python, 1.0 is the key 1, and there are none such here."""
    if value is None or isinstance(value, int | str) or (isinstance(value, tuple) and [*map(_key, value)]):
        return value
    if isinstance(value, Form):
        raise Rejected("the program cannot be read: a number as a key that is no integer is not understood")
    raise TypeError("this is no key")


def _whole(value: Any) -> Any:
    """An index: a quotient is none, even where it is whole, as it is a float in Python."""
    if value is None or isinstance(value, int):
        return value
    raise TypeError("an index is no integer")


def _of_truths(value: Any) -> bool:
    return any(isinstance(each, bool) for each in _of_objects(value).flat)


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return Form(number(Fraction(a, b)))
    return (_elementwise(_real)(a) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a) / b


def _real(value: Any) -> Any:
    return Form(number(value)) if isinstance(value, int) else value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        if b > MAX_SIZE or abs(a).bit_length() * b > MAX_SIZE * 4:
            raise Rejected("the program cannot be read: so large a power is not understood")
        return a**b if b >= 0 else _quotient(1, a**-b)
    return Form(number(a)) ** b if isinstance(a, int) else a**b


def _shifted(operation: Callable[[int, int], int]) -> Callable[[Any, Any], int]:
    def shift(a: Any, b: Any) -> int:
        if not isinstance(a, int) or not isinstance(b, int) or b > MAX_SIZE:
            raise Rejected("the program cannot be read: this shift is not understood")
        return operation(a, b)

    return shift


def _times(a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, list | tuple) and isinstance(other, int) and len(one) * other > MAX_SIZE:
            raise Rejected("the program cannot be read: so long a list is not understood")
    return a * b


def _truths(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """& and |, of truth values and of integers."""

    def joined(a: Any, b: Any) -> Any:
        if any(isinstance(each, Form) for each in (a, b)):
            raise Rejected("the program cannot be read: & and | of numbers are not understood")
        return operation(a, b)

    return joined


_BINARY: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: _quotient,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.LShift: _shifted(operator.lshift),
    ast.RShift: _shifted(operator.rshift),
    ast.BitAnd: _truths(operator.and_),
    ast.BitOr: _truths(operator.or_),
    ast.BitXor: _truths(operator.xor),
}
_LOGICAL = (ast.BitAnd, ast.BitOr, ast.BitXor)
_COMPARED: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


# Functions.


def _objects(values: Any, dtype: Any = None) -> np.ndarray:
    """An array of objects, as `np.asarray` makes one of floats."""
    if dtype is not None and dtype is not _float:
        raise Rejected("the program cannot be read: this dtype is not understood")
    if isinstance(values, Iterator):
        raise Rejected("the program cannot be read: an array of a generator is not understood")
    return np.array(list(values) if isinstance(values, range) else values, dtype=object)


def _filled(entry: Any) -> Callable[..., np.ndarray]:
    def filled(shape: Any, dtype: Any = None) -> np.ndarray:
        if not isinstance(shape, int) or shape > MAX_SIZE or dtype not in (None, _float, bool):
            raise Rejected("the program cannot be read: an array of this shape is not understood")
        return np.full(shape, bool(entry) if dtype is bool else entry, dtype=object)

    return filled


def _elementwise(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def applied(values: Any) -> Any:
        if not isinstance(values, list | tuple | np.ndarray):
            return function(values)
        return np.array([*map(function, _objects(values).ravel()), None], dtype=object)[:-1].reshape(np.shape(values))

    return applied


def _exponential(value: Any) -> Form:
    return Form(constant(value, "an exponent")).exp()


def _logarithm(value: Any) -> Form:
    return Form(constant(value, "an argument of log")).log()


def _root(value: Any) -> Form:
    return Form(constant(value, "an argument of sqrt")).sqrt()


def _float(value: Any = 0) -> Any:
    if isinstance(value, str):
        return float(value) if math.isinf(float(value)) else Form(number(Fraction(value)))
    return Form(number(int(value))) if isinstance(value, int) else value


def _int(value: Any = 0) -> Any:
    return value if isinstance(value, Form) and value.terms and value.integral() else int(value)


def _mean(values: Any) -> Any:
    values = _objects(values)
    return _quotient(sum(values.tolist()), len(values))


def _integers(*ends: Any) -> Any:
    if not all(isinstance(end, int) for end in ends):
        raise TypeError("a range of what is no integer")
    return range(*ends)


def _arange(*ends: Any) -> Any:
    return _objects(_bounded(_integers(*ends)))


def _bounded(values: Any) -> list[Any]:
    found = []
    for each in values:
        found.append(each)
        if len(found) > MAX_SIZE:
            raise Rejected("the program cannot be read: so long a list is not understood")
    return found


def _where(condition: Any, then: Any, otherwise: Any) -> Any:
    return np.where(np.array([bool(each) for each in np.ravel(_objects(condition))]).reshape(np.shape(condition)),
                    _of_objects(then), _of_objects(otherwise))  # fmt: skip


def _of_objects(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=object)


def _numpy(name: str) -> Callable[..., Any]:
    """A function of numpy's, on arrays of objects."""

    def applied(values: Any, *more: Any) -> Any:
        return getattr(np, name)(_objects(values), *map(_of_objects, more))

    return applied


def _pairwise(name: str) -> Callable[[Any, Any], Any]:
    return lambda one, two: getattr(np, name)(_of_objects(one), _of_objects(two))


def _order(values: Any) -> np.ndarray:
    """`np.argsort`; without ties its order is the only one."""
    found = _objects(values)
    return np.array(sorted(range(len(found)), key=lambda i: found[i]), dtype=int)


_BUILTINS: Mapping[str, Any] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "divmod": divmod,
    "enumerate": enumerate,
    "float": _float,
    "int": _int,
    "len": len,
    "list": lambda values=(): _bounded(values),
    "max": max,
    "min": min,
    "range": _integers,
    "reversed": reversed,
    "round": round,
    "sorted": lambda values, key=None, reverse=False: sorted(_bounded(values), key=key, reverse=reverse),
    "sum": sum,
    "tuple": lambda values=(): tuple(_bounded(values)),
    "zip": lambda *lists, strict=False: zip(*lists, strict=strict),
}
_SHARED: Mapping[str, Callable[[Any], Any]] = {
    "exp": _exponential,
    "log": _logarithm,
    "sqrt": _root,
    "floor": math.floor,
    "ceil": math.ceil,
}
_MODULES: Mapping[str, Mapping[str, Any]] = {
    "math": {**_SHARED, "inf": math.inf, "fabs": abs},
    "np": {
        **{name: _elementwise(function) for name, function in _SHARED.items()},
        "abs": _elementwise(abs),
        **{name: _numpy(name) for name in ("argmax", "argmin", "sum", "cumsum", "max", "min", "clip")},
        **{name: _pairwise(name) for name in ("maximum", "minimum")},
        "absolute": _elementwise(abs),
        "arange": _arange,
        "argsort": _order,
        "array": _objects,
        "asarray": _objects,
        "diff": _numpy("diff"),
        "full": lambda shape, entry: _filled(entry)(shape),
        "inf": math.inf,
        "mean": _mean,
        "ones": _filled(Form(number(1))),
        "sort": lambda values: _objects(sorted(_objects(values))),
        "where": _where,
        "zeros": _filled(Form(number(0))),
    },
}
_METHODS: Mapping[Any, frozenset[str]] = {
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("append", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort")),
    np.ndarray: frozenset(("all", "any", "argmax", "argmin", "clip", "copy", "cumsum", "max", "min", "sum", "tolist")),
    SymbolicGenerator: frozenset(name for name in vars(SymbolicGenerator) if not name.startswith("_")),
}
