"""Public docstrings say what a reader cannot see in a signature: the shapes of arrays."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AREAS = ("attacks", "auditors", "mechanisms", "proofs", "src/dpassay")
ARRAY = re.compile(r"\b(ndarray|Array)\b")
SHAPED = re.compile(r"\b(Float|Int|Integer|Bool|Real|Num|Shaped|UInt|Key)\w*\[")
"""jaxtyping's annotations, which say the shape themselves."""


def public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Functions, and methods of classes, that do not begin with an underscore."""
    for statement in body:
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
            yield from public_functions(statement.body)
        elif isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
            yield statement


def takes_or_returns_arrays(function: ast.FunctionDef) -> bool:
    arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    annotations = [each.annotation for each in arguments] + [function.returns]
    texts = [ast.unparse(each) for each in annotations if each is not None]
    return any(ARRAY.search(text) and not SHAPED.search(text) for text in texts)


@pytest.mark.parametrize("area", AREAS)
def test_docstrings_of_array_functions_say_shapes(area):
    silent = []
    for path in sorted((ROOT / area).rglob("*.py")):
        for function in public_functions(ast.parse(path.read_text()).body):
            if takes_or_returns_arrays(function) and "shape" not in (ast.get_docstring(function) or "").lower():
                silent.append(f"{path.relative_to(ROOT)}:{function.lineno} {function.name}")
    assert silent == []
