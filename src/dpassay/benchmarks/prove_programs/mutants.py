"""Programs of the corpus with one small change each: nobody says beforehand which of them still hold.

A change halves or doubles a scale, drops noise, turns or weakens a comparison, drops a statement, takes another
variable, moves a constant or a cut-off, turns a plus, or publishes the data. They are the same in every run.
"""

import ast
import copy
import inspect
import linecache
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, zip_longest
from types import FunctionType
from typing import Any

import numpy as np

from dpassay.benchmarks.prove_programs import PROGRAMS
from dpassay.benchmarks.prove_programs.record import Program

STEPS = 20_000
"""Lines that a mutant may run for one output; more is taken for a loop without end."""
_SCALES = {"laplace": 1, "normal": 1, "gumbel": 1, "exponential": 0}
"""Noise, and which positional argument is its scale."""
_TURNED = {ast.GtE: ast.Lt, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_WEAKENED = {ast.GtE: ast.Gt, ast.Gt: ast.GtE, ast.Lt: ast.LtE, ast.LtE: ast.Lt}
_Change = tuple[str, ast.AST]


def mutants(per_program: int = 4, programs: tuple[Program, ...] = PROGRAMS) -> Iterator[Program]:
    """Mutants that run, at most so many of each program that holds; of every kind before a second of one kind.

    Which kind comes first differs from program to program.

    Their outcome is "beyond": it is not known. The source of their functions can be inspected.
    """
    for place, program in enumerate(programs):
        if program.outcome == "holds" and not program.hard:
            first = place % len(_KINDS)
            kinds = _KINDS[first:] + _KINDS[:first]
            yield from islice(filter(runs, _mutants(program, kinds)), per_program)


def runs(program: Program) -> bool:
    """Whether it gives outputs on its pair and on random data, without an error and without end."""
    rng = np.random.default_rng(0)
    datasets = [*program.pair, *(program.random_data(rng, size) for size in (2, 3, 5))]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for data in datasets:
                _within_steps(lambda data=data: program.run(rng, copy.deepcopy(data)))  # type: ignore[misc]
    except Exception:
        return False
    return True


def _within_steps(call: Callable[[], Any]) -> None:
    left = STEPS

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TimeoutError
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)


def _mutants(program: Program, kinds: tuple[Any, ...]) -> Iterator[Program]:
    function = program.function
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    seen, number = {ast.unparse(tree)}, 0
    by_kind = [list(_changes(tree, kind)) for kind in kinds]
    for what, changed in (each for row in zip_longest(*by_kind) for each in row if each is not None):
        text = ast.unparse(changed)
        if text not in seen:
            seen.add(text)
            number += 1
            mutant = _defined(changed, function, f"{function.__name__}_{number}")
            yield replace(program, function=mutant, outcome="beyond", source=f"{function.__name__}: {what}", known="")


def _defined(tree: ast.Module, original: Callable[..., Any], name: str) -> FunctionType:
    """The function, whose source `inspect` finds."""
    tree = copy.deepcopy(tree)
    tree.body[0].name = name  # type: ignore[attr-defined]
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    file = f"<mutant {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = dict(original.__globals__)
    exec(compile(text, file, "exec"), names)
    return names[name]


def _changes(tree: ast.Module, kind: Callable[[ast.AST, ast.FunctionDef], list[_Change]]) -> Iterator[tuple[str, Any]]:
    """The trees with one node changed, and what was."""
    definition: Any = tree.body[0]
    for place, node in enumerate(_nodes(definition)):
        for option in range(len(kind(node, definition))):
            changed = copy.deepcopy(tree)
            inner: Any = changed.body[0]
            old = _nodes(inner)[place]
            what, new = kind(old, inner)[option]
            yield what, _Replace(old, new).visit(changed)


def _nodes(definition: ast.FunctionDef) -> list[ast.AST]:
    """What stands in the body, below the docstring."""
    return [node for statement in definition.body[1:] for node in ast.walk(statement)]


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _noise(node: ast.AST) -> str | None:
    """Which noise a call draws."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SCALES:
        return node.func.attr
    return None


def _scales(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    name = _noise(node)
    if name is None:
        return []
    changes: list[_Change] = []
    for what, operator in (("half the scale", ast.Div), ("twice the scale", ast.Mult)):
        call: Any = copy.deepcopy(node)
        place = _SCALES[name]
        if len(call.args) > place:
            call.args[place] = ast.BinOp(call.args[place], operator(), ast.Constant(2))
        for keyword in call.keywords:
            if keyword.arg == "scale":
                keyword.value = ast.BinOp(keyword.value, operator(), ast.Constant(2))
        changes.append((what, call))
    return changes


def _no_noise(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    return [("no noise", ast.Constant(0))] if _noise(node) else []


def _turned(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    return _compared(node, _TURNED, "turned comparison")


def _weakened(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    return _compared(node, _WEAKENED, "weakened comparison")


def _compared(node: ast.AST, instead: dict[Any, Any], what: str) -> list[_Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in instead:
        return [(what, ast.Compare(node.left, [instead[type(node.ops[0])]()], node.comparators))]
    return []


def _cutoff(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.comparators[0], ast.Name):
        moved = ast.BinOp(node.comparators[0], ast.Add(), ast.Constant(1))
        return [("moved cut-off", ast.Compare(node.left, node.ops, [moved]))]
    return []


def _dropped(node: ast.AST, definition: ast.FunctionDef) -> list[_Change]:
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Break | ast.If | ast.Return):
        last = node is definition.body[-1]
        return [] if last else [(f"no line {node.lineno}", ast.copy_location(ast.Pass(), node))]
    return []


def _constant(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return [(f"{node.value + 1} for {node.value}", ast.Constant(node.value + 1))]
    return []


def _minus(node: ast.AST, _: ast.FunctionDef) -> list[_Change]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return [("turned plus", ast.BinOp(node.left, other, node.right))]
    return []


def _other_name(node: ast.AST, definition: ast.FunctionDef) -> list[_Change]:
    """The variable that follows in the alphabet, among the parameters after the data and those assigned."""
    stored = {
        each.id for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    names = sorted(stored | {each.arg for each in definition.args.args[2:]})
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names and len(names) > 1:
        other = names[(names.index(node.id) + 1) % len(names)]
        return [(f"{other} for {node.id}", ast.Name(other, ast.Load()))]
    return []


def _published(node: ast.AST, definition: ast.FunctionDef) -> list[_Change]:
    if isinstance(node, ast.Return):
        return [("publishes the data", ast.Return(ast.Name(definition.args.args[1].arg, ast.Load())))]
    return []


_KINDS = (
    _scales, _turned, _dropped, _other_name, _constant, _no_noise, _weakened, _minus, _cutoff, _published
)  # fmt: skip
