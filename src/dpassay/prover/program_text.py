"""A function's source as one self-contained text: what everybody who reads a user's program reads it from.

The text holds the function, the helper functions it calls, the constants and the imports it uses, and nothing else.
Every global name in it means what it meant in the user's module when the text was made; a name that cannot be pinned
down that way is refused. The text compiles to the very code that the function runs.
"""

import ast
import builtins
import dis
import inspect
import math
import operator
import statistics
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput

_MODULES = {"math": math, "statistics": statistics, "np": np}
_SORTS = {"int": "int", "float": "real", "bool": "bool"}
_PUBLIC = {**_SORTS, "list[int]": "list[int]", "list[float]": "list[real]"}
_MAX_BITS, _MAX_LENGTH = 2**20, 10**6  # of constants: a run cannot be stopped while Python makes a larger one
_COMPARED = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_kwonlyargcount")


class Refused(InvalidInput):
    """The program has something that is not understood; the message says where and what."""


@dataclass(frozen=True)
class Program:
    """A mechanism's program.

    Attributes:
        text: Python; imports and constants first, then helper functions, the mechanism last.
        entry: the mechanism's name in it.
        parameters: its public parameters in order, with "int", "real", "bool", "list[int]" or "list[real]" by their
            annotation ("real" without).
        entries: what the annotation of the data says its entries are: "int", "bool", "float" or "".
        single: the data are one such value, not a list.
        places: for each piece of the text its first line there, the file it is from and its first line in that file.
    """

    text: str
    entry: str
    parameters: dict[str, str]
    entries: str
    places: tuple[tuple[int, str, int], ...]
    single: bool = False

    def place(self, line: int) -> str:
        """FILE:LINE of a line of the text."""
        first, file, there = max(place for place in self.places if place[0] <= max(line, self.places[0][0]))
        return f"{file}:{there + line - first}"


@dataclass(frozen=True)
class _Piece:
    function: FunctionType
    node: ast.FunctionDef
    text: str
    file: str
    line: int

    def refused(self, node: ast.AST, reason: str) -> Refused:
        line = self.line + getattr(node, "lineno", self.node.lineno) - 1
        return Refused(f"{self.file}:{line}: {reason}")


def program_of(function: Callable[..., Any], *, noisy: bool = True) -> Program:
    """The program of a mechanism `function(rng, data, *public parameters)`, or of a function without `rng`.

    Raises:
        Refused: its source cannot be had, or a name in it does not stand for a number, a plain function of the same
            kind, `math`, `np` or a builtin.
    """
    names: dict[str, str] = {}
    pieces: dict[str, _Piece] = {}
    _collect(piece_of(function), names, pieces)
    head = "".join(
        f"{line}\n" for line in sorted(names.values(), key=lambda line: (not line.startswith("import"), line))
    )
    text, places = head, []
    for piece in reversed(pieces.values()):  # helpers before their callers, where that is possible
        text += "\n\n" * bool(text)
        places.append((text.count("\n") + 1, piece.file, piece.line))
        text += piece.text.rstrip() + "\n"
    entry = next(iter(pieces.values()))
    parameters, (entries, single) = _parameters(entry, noisy), _entries(entry, noisy)
    return Program(text, entry.node.name, parameters, entries, tuple(places), single)


def _collect(piece: _Piece, names: dict[str, str], pieces: dict[str, _Piece]) -> None:
    """Adds a function and all that its global names stand for."""
    pieces[piece.node.name] = piece
    if piece.node.args.posonlyargs:
        raise piece.refused(piece.node, f"leave out the / in the parameters of {piece.node.name}: it is not understood")
    if (node := huge_constant(piece.node, piece.function.__globals__)) is not None:
        raise piece.refused(node, f"{ast.unparse(node)} is too large to be computed")
    for node in _global_names(piece):
        name, scope = node.id, piece.function.__globals__
        if name not in scope:
            if not hasattr(builtins, name):
                raise piece.refused(node, f"{name} is not defined")
            continue
        value = scope[name]
        if isinstance(value, FunctionType):
            helper = piece_of(value, name)
            if name in pieces and pieces[name].function is not value:
                raise piece.refused(node, f"two functions are called {name}; give one of them another name")
            if name not in pieces:
                _collect(helper, names, pieces)
            continue
        line = _defining_line(name, value)
        if line is None:
            raise piece.refused(
                node, f"{name} is {_kind(value)}; use numbers, plain functions, `import math`, `import numpy as np`"
            )
        if names.setdefault(name, line) != line:
            raise piece.refused(node, f"{name} means different things in two modules; give one another name")
        if name in pieces:
            raise piece.refused(node, f"{name} is a function elsewhere; give one of them another name")
    if clash := set(names) & set(pieces):
        raise piece.refused(piece.node, f"{clash.pop()} means different things in two modules; give one another name")


def huge_constant(tree: ast.AST, scope: Mapping[str, Any]) -> ast.expr | None:
    """An integer or a list, made of constants alone, that takes too long or too much memory; None without one.

    Constants are literals, global names, and names that are assigned once.
    """
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    own = {*names, *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))}
    known = {name: value for name, value in scope.items() if type(value) is int and name not in own}
    try:
        for node in sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)):
            value = _constant(node.value if isinstance(node, ast.Assign) else node, known)
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if value is not None and names.count(name) == 1:
                    known[name] = value
    except _Huge as huge:
        return huge.node
    return None


class _Huge(Exception):
    def __init__(self, node: ast.expr) -> None:
        self.node = node


def _constant(node: ast.AST, known: Mapping[str, int]) -> int | None:
    """The integer that an expression of constants is; None for others.

    Raises:
        _Huge: it is too large, or the list that is repeated so often.
    """
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name):
            return known.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            positive = _constant(operand, known)
            return None if positive is None else -positive
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _constant(left, known), _constant(right, known)
            if isinstance(op, ast.Mult):
                many = [times for one, times in ((left, b), (right, a)) if isinstance(one, ast.List | ast.Tuple)]
                if many and (many[0] or 0) > _MAX_LENGTH:
                    raise _Huge(node)
            if a is None or b is None:
                return None
            powers = {ast.Pow: a.bit_length() * b if abs(a) > 1 else 0, ast.LShift: b if a else 0}
            if powers.get(type(op), a.bit_length() + b.bit_length()) > _MAX_BITS:
                raise _Huge(node)
            return _INTEGERS[type(op)](a, b) if type(op) in _INTEGERS and b >= 0 else None
    return None


_INTEGERS: Mapping[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}


def _defining_line(name: str, value: Any) -> str | None:
    """What defines a global name that is no function."""
    if isinstance(value, ModuleType):
        known = _MODULES.get(name) is value
        return (f"import numpy as {name}" if name == "np" else f"import {name}") if known else None
    if type(value) in (int, bool) or (type(value) is float and math.isfinite(value)):
        return f"{name} = {value!r}"
    return None


def _kind(value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    return f"a {type(value).__name__}"


def piece_of(function: Any, name: str = "") -> _Piece:
    """A function with its source, which is checked to be what it runs."""
    said = name or getattr(function, "__name__", repr(function))
    if not isinstance(function, FunctionType):
        raise Refused(
            f"{said} is a {type(function).__name__}; give a plain Python function (def) with its source at hand"
        )
    try:
        lines, line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise Refused(f"no source of {said}: write it in a file or a notebook cell and import it from there") from None
    file = _file(function)
    source = textwrap.dedent("".join(lines))
    try:
        module = ast.parse(source)
    except SyntaxError:
        raise Refused(f"{file}:{line}: {said} is not a `def` of its own; write it as one") from None
    node = module.body[0]
    if len(module.body) != 1 or not isinstance(node, ast.FunctionDef):
        raise Refused(f"{file}:{line}: {said} is not a `def` of its own; write it as one")
    if name and node.name != name:
        raise Refused(f"{file}:{line}: {name} is another name of {node.name}; call it by its own")
    skipped = node.lineno - 1
    text = "".join(source.splitlines(keepends=True)[skipped:])
    piece = _Piece(function, ast.parse(text).body[0], text, file, line + skipped)  # type: ignore[arg-type]
    _check_code(piece)
    return piece


def _file(function: FunctionType) -> str:
    file = function.__code__.co_filename
    return file.rpartition("/")[2] if file.startswith("/") else file


def _check_code(piece: _Piece) -> None:
    """Raises unless the text compiles to what the function runs, with the defaults that it shows."""
    function, node = piece.function, piece.node
    if function.__closure__:
        free = ", ".join(function.__code__.co_freevars)
        raise piece.refused(node, f"{node.name} uses {free} of the function around it; pass them as parameters")
    # Python compiles calls of what a module imports at its top in another way.
    held = {name: function.__globals__.get(name) for name in _globals_of(function.__code__)}
    imports = "".join(
        f"import {name}\n" for name, value in held.items() if isinstance(value, ModuleType) and name.isidentifier()
    )
    flags = _future(function.__code__)
    compiled = [_inner(compile(text + piece.text, piece.file, "exec", flags, True)) for text in (imports, "")]
    if not any(_same_code(code, function.__code__) for code in compiled):
        raise piece.refused(
            node,
            f"{node.name} does not run its source (a decorator, or an edited file); import it anew, undecorated",
        )
    arguments = node.args
    shown = [_literal(default) for default in (*arguments.defaults, *(each for each in arguments.kw_defaults if each))]
    kept = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for default, value in zip((*arguments.defaults, *filter(None, arguments.kw_defaults)), kept, strict=True):
        if type(value) not in (int, float, bool, type(None)):
            raise piece.refused(default, f"a default of {node.name} is {_kind(value)}; use a number")
    if len(shown) != len(kept) or any(
        a is not _UNKNOWN and (a, type(a)) != (b, type(b)) for a, b in zip(shown, kept, strict=True)
    ):
        raise piece.refused(node, f"the defaults of {node.name} are not those of its source; import it anew")


_UNKNOWN = object()


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _UNKNOWN


def _future(code: CodeType) -> int:
    """The compiler flags of `from __future__` imports that a code object was made with."""
    import __future__

    return sum(
        feature.compiler_flag & code.co_flags
        for name in __future__.all_feature_names
        if (feature := getattr(__future__, name))
    )


def _inner(module: CodeType) -> CodeType:
    return [const for const in module.co_consts if isinstance(const, CodeType)][-1]


def _same_code(one: CodeType, two: CodeType) -> bool:
    """Whether two code objects run alike: instructions, names and constants, those of inner functions included."""
    if any(getattr(one, name) != getattr(two, name) for name in _COMPARED) or len(one.co_consts) != len(two.co_consts):
        return False
    pairs = zip(one.co_consts, two.co_consts, strict=True)
    return all(
        _same_code(a, b) if isinstance(a, CodeType) and isinstance(b, CodeType) else (a, type(a)) == (b, type(b))
        for a, b in pairs
    )


def _global_names(piece: _Piece) -> Iterator[ast.Name]:
    """The names that the function takes from its module or from Python."""
    for node in ast.walk(piece.node):
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom):
            raise piece.refused(node, "no global, nonlocal or import inside the function; move it out")
    body = piece.node.body
    annotations = {id(name) for node in ast.walk(piece.node) for name in _annotation_names(node)}
    wanted = _globals_of(piece.function.__code__)
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and id(node) not in annotations and node.id in wanted:
                yield node


def _annotation_names(node: ast.AST) -> list[ast.AST]:
    annotation = getattr(node, "annotation", None)
    return list(ast.walk(annotation)) if isinstance(annotation, ast.AST) else []


def _globals_of(code: CodeType) -> set[str]:
    """Names that are looked up outside the function, which `co_names` mixes with those of attributes."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    own = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*map(_globals_of, inner))


def _parameters(entry: _Piece, noisy: bool) -> dict[str, str]:
    """The public parameters and their sorts.

    Raises:
        Refused: no (rng, data, ...), or parameters that are no numbers.
    """
    arguments = entry.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    own = 2 if noisy else 1
    if len(positional) < own or arguments.vararg or arguments.kwarg:
        raise entry.refused(
            entry.node,
            f"write def {entry.node.name}(rng, data, ...): the generator, the private data, public parameters",
        )
    sorts = {}
    for argument in (*positional[own:], *arguments.kwonlyargs):
        named = "float" if argument.annotation is None else _unquoted(argument.annotation)
        if named not in _PUBLIC:
            raise entry.refused(
                argument,
                f"parameter {argument.arg} is a {named}; public parameters are {', '.join(_PUBLIC)}",
            )
        sorts[argument.arg] = _PUBLIC[named]
    return sorts


def _entries(entry: _Piece, noisy: bool) -> tuple[str, bool]:
    """The entries' type where the data are annotated as a list or another sequence of one, or as one value."""
    arguments = entry.node.args
    annotation = [*arguments.posonlyargs, *arguments.args][int(noisy)].annotation
    said = "" if annotation is None else _unquoted(annotation)
    if said in _SORTS:
        return said, True
    named = said.partition("[")[2].rstrip("]")
    return named if named in _SORTS else "", False


def _unquoted(annotation: ast.expr) -> str:
    return ast.unparse(annotation).strip("'\"")
