"""Hints by reading alone: habits of code that often cost a mechanism its privacy. Nothing is imported or run.

A hint is no verdict: what it points at may be right, and a file without hints may leak. Each function is read by
itself, from top to bottom; what it does to data is followed through assignments, loops and lists, not into other
functions.
"""

import ast
import importlib.machinery
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpassay.core.errors import InvalidInput
from dpassay.prover.hinted_function import Reader
from dpassay.prover.hints import CLASSICAL, GENERATORS, Hint, Module, functions


def lint(target: str) -> tuple[list[Hint], int]:
    """The hints on a module (named as in `import`), a file or a folder, and how many files were read.

    Raises:
        InvalidInput: there is no such thing, or a file that is not Python.
    """
    files = list(_files(target))
    return [hint for file in files for hint in lint_text(_text(file), _shown(file))], len(files)


def lint_text(text: str, file: str = "<text>") -> list[Hint]:
    """The hints on the text of one module, in order of lines.

    Raises:
        InvalidInput: it is not Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        raise InvalidInput(f"{file}:{line}: this is not Python ({getattr(error, 'msg', error)}); mend it") from None
    try:
        return _hints(tree, text, file)
    except RecursionError:
        raise InvalidInput(f"{file}:1: an expression is nested too deeply; split it") from None


def _hints(tree: ast.Module, text: str, file: str) -> list[Hint]:
    if not any(word in text for word in (*GENERATORS, "random", CLASSICAL)):
        return []
    module = Module(tree, file)
    found = [*module.once(), *(module.gaussians() if CLASSICAL in text else ())]
    for function, name in functions(tree.body):
        found += Reader(module, function, name).hints()
    first: dict[tuple[int, str, str], Hint] = {}
    for hint in sorted(found):  # one of a kind for a line
        first.setdefault((hint.line, hint.rule, hint.function), hint)
    return list(first.values())


def _files(target: str) -> Iterator[Path]:
    path = Path(target)
    if not path.exists():
        path = _module(target)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*.py") if not any(p.startswith(".") for p in each.parts[1:]))
        if not files:
            raise InvalidInput(f"no Python file is in {path}; name a module, a file or a folder")
        yield from files
    else:
        yield path


def _module(name: str) -> Path:
    """Where a module's source lies; neither it nor the packages around it are imported."""
    places: Iterable[str] | None = [str(Path.cwd()), *sys.path]
    found = None
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        found = importlib.machinery.PathFinder.find_spec(".".join(parts[:number]), list(places or ()))
        if found is None:
            break
        places = found.submodule_search_locations
    if found is None or not (found.submodule_search_locations or str(found.origin).endswith(".py")):
        raise InvalidInput(f"no Python source is called {name!r}; name a module, a file or a folder")
    return Path(next(iter(found.submodule_search_locations or [str(found.origin)])))


def _shown(file: Path) -> str:
    """The path from here, if the file is below."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _text(file: Path) -> str:
    try:
        with tokenize.open(file) as opened:
            return opened.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read as Python ({error}); name a module, a file or a folder") from None
