"""Whether a name holds the sum of a list where a program divides by it: `total = sum(w)`, and later `x / total`.

It does if a new list is assigned once, and the sum once, in the statements of one block before the one that divides,
and if nothing in the function can change the list or give it another name.
"""

import ast
from collections.abc import Iterator, Sequence

_READERS = ("len", "sum", "max")


def shares(node: ast.expr) -> tuple[ast.Name, str] | None:
    """The list w and the name `total` of [x / total for x in w]."""
    match node:
        case ast.ListComp(
            ast.BinOp(ast.Name(own), ast.Div(), ast.Name(total)),
            [ast.comprehension(ast.Name(each), ast.Name() as weights, [], 0)],
        ) if own == each and each not in (total, weights.id):
            return weights, total
    return None


def sums_of(function: ast.FunctionDef, draw: ast.expr, weights: str, total: str) -> set[str]:
    """What `total` was assigned, as text, if it is still that of the list `weights` as it is in the expression `draw`;
    otherwise nothing.
    """
    if stores(function, weights) != 1 or stores(function, total) != 1 or not only_read(function, weights):
        return set()
    for block in blocks(function):
        made = [at for at, each in enumerate(block) if assigns(each, weights) and _fresh(each)]
        summed = [at for at, each in enumerate(block) if assigns(each, total)]
        drawn = [at for at, each in enumerate(block) if any(node is draw for node in ast.walk(each))]
        if made and summed and drawn and made[0] < summed[0] < drawn[0]:
            found = block[summed[0]]
            assert isinstance(found, ast.Assign)
            return {ast.unparse(found.value)}
    return set()


def stores(function: ast.FunctionDef, name: str) -> int:
    """How often a name gets a value, as a parameter too."""
    names = [
        each.id for each in ast.walk(function) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    ]
    return [*names, *(each.arg for each in ast.walk(function) if isinstance(each, ast.arg))].count(name)


def assigns(node: ast.stmt, name: str) -> bool:
    """Whether a statement assigns to that name and no other."""
    return isinstance(node, ast.Assign) and len(node.targets) == 1 and ast.unparse(node.targets[0]) == name


def _fresh(node: ast.stmt) -> bool:
    """Whether what is assigned is a list that has no other name."""
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.ListComp) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "np.exp")


def blocks(node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """Statements that follow each other, at every depth."""
    for each in ast.walk(node):
        for field in ("body", "orelse"):
            block = getattr(each, field, None)
            if isinstance(block, list):
                yield block


def only_read(function: ast.FunctionDef, name: str) -> bool:
    """Whether each use of a list is one of its length, its sum, an element, or a loop over it: none changes it."""
    uses = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name]
    safe = {id(use) for parent in ast.walk(function) for use in _read_by(parent)}
    return all(id(use) in safe or isinstance(use.ctx, ast.Store) for use in uses)


def _read_by(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression that it reads and no more, if they are lists of numbers."""
    match node:
        case ast.Call(ast.Name(function), [only], []) if function in _READERS:
            return [only]
        case ast.Call(ast.Attribute(ast.Name("np"), "sum" | "max"), [only], []):
            return [only]
        case ast.Call(ast.Attribute(owner, "sum"), [], []):
            return [owner]
        case ast.Subscript(owner, ctx=ast.Load()) if not isinstance(node.slice, ast.Slice):
            return [owner]
        case ast.comprehension() | ast.For():
            return [node.iter]
    return []
