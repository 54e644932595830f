"""The code that modules depend on, found by walking imports: what tells whether a kept number is of this program.

Followed are all imports in the syntax, those inside functions too, and, where a module imports by name
(`import_module`), every module of its own package that one of its strings names in full, as in "package.module" or
"package.module:function", and what its stub imports. Importing a module runs its packages' `__init__` files, but not
the functions in them: of those only what is imported at the top is followed. Installed packages count by the contents
of all their files. Not seen are names of modules that are put together while the program runs, what installed packages
import of each other, and other files that the code reads: whoever keeps runs names those among the runs' inputs.
"""

import ast
import functools
import hashlib
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import NamedTuple

_NAME = re.compile(r"(\w+(?:\.\w+)+)(?::\w+)?")
_BY_NAME = (b"import_module", b"__import__")


Read = tuple[str | None, tuple[tuple[str, bool], ...]]
"""Of a module: a line that tells its code from other code, and what it imports (see `_imported`)."""


@functools.cache
def code_digest(*modules: str) -> str:
    """A hash of all code that the modules reach, and of Python's version. Files are read once, as Python does."""
    lines = [f"python {platform.python_version()}", *code_lines(modules, _read_once)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@functools.cache
def data_digest() -> str:
    """A hash of the JSON files that the package carries: results, expected verdicts, schemas."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(Path(__file__).parents[1], followlinks=True):
        folders.sort()
        for path in (Path(folder, name) for name in sorted(names) if name.endswith(".json")):
            digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def _contents(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def read_module(module: str, whole: bool, digest: Callable[[bytes], str] = _contents) -> Read:
    """What the walk needs of one module.

    Args:
        module: its full name.
        whole: False when only its top is run, since it is a package around what is imported.
        digest: of the text of a file.
    """
    installed = distribution(module)
    if installed is not None:
        return installed, ()
    text = source(module)
    return (None, ()) if text is None else (f"{module} {digest(text)}", tuple(_imported(module, text, whole)))


_read_once = functools.cache(read_module)


def code_lines(
    modules: Iterable[str],
    read: Callable[[str, bool], Read] = read_module,
    counts: Callable[[str], bool] = lambda _: True,
) -> list[str]:
    """The code reached from these modules: a line for each file and each installed package, sorted.

    Args:
        modules: their full names.
        read: `read_module`, or the like.
        counts: whether a module is to be followed; Python's own never are.
    """
    seen, lines = set[tuple[str, bool]](), set[str | None]()
    waiting = [each for name in modules for each in (*_around(name), (name, True))]
    while waiting:
        name, whole = waiting.pop()
        own = name.partition(".")[0] in sys.stdlib_module_names and name != "__main__"
        if own or (name, whole) in seen or not counts(name):
            continue
        seen.add((name, whole))
        line, imported = read(name, whole)
        lines.add(line)
        waiting.extend(imported)
    return sorted(line for line in lines if line is not None)


class _Statement(NamedTuple):
    """One import: `base` with its dots before, `names` that are imported from it (none for `import base`)."""

    level: int
    base: str
    names: tuple[str, ...]
    at_top: bool


def _imported(module: str, text: bytes, whole: bool) -> Iterator[tuple[str, bool]]:
    """The modules that a module imports, each with whether all of it may be used or only its top is run."""
    statements, strings = _parsed(text)
    stub = file_of(module) if whole and any(each in text for each in _BY_NAME) else None
    if stub is not None and (stub := stub.with_suffix(".pyi")).is_file():
        statements += _parsed(stub.read_bytes())[0]
    loaded = sys.modules.get(module)
    package = getattr(loaded, "__package__", None) or _package(module)
    for level, base, names, at_top in statements:
        if not (whole or at_top):
            continue
        if level:
            around = package.split(".")
            base = ".".join([*around[: len(around) - level + 1], *([base] if base else [])])
        yield from _around(base)
        inner = [f"{base}.{name}" for name in names if file_of(f"{base}.{name}") is not None]
        yield from ((name, True) for name in inner)
        yield base, len(inner) < len(names) or not names
    if whole:
        for name in strings:
            if name.partition(".")[0] == module.partition(".")[0]:
                yield from _around(name)
                yield name, True


def _around(module: str) -> Iterator[tuple[str, bool]]:
    parts = module.split(".")
    return ((".".join(parts[:length]), False) for length in range(1, len(parts)))


def _package(module: str) -> str:
    path = file_of(module)
    return module if path is not None and path.name == "__init__.py" else module.rpartition(".")[0]


@functools.lru_cache(maxsize=1024)
def _parsed(text: bytes) -> tuple[tuple[_Statement, ...], tuple[str, ...]]:
    """The imports of a file, and the strings that may name modules if it imports by name."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return (), ()
    strings: set[str] = set()
    if any(each in text for each in _BY_NAME):
        constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        named = (_NAME.fullmatch(value) for value in constants if isinstance(value, str))
        strings = {match[1] for match in named if match is not None}
    return tuple(_statements(tree, True)), tuple(sorted(strings))


def _statements(node: ast.AST, at_top: bool) -> Iterator[_Statement]:
    """Imports are statements: expressions, nine tenths of a tree, hold none."""
    if isinstance(node, ast.Import):
        yield from (_Statement(0, alias.name, (), at_top) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield _Statement(node.level, node.module or "", tuple(alias.name for alias in node.names), at_top)
    at_top = at_top and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for_types = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    for field in ("orelse",) if for_types else ("body", "handlers", "orelse", "finalbody", "cases"):
        inner = getattr(node, field, ())
        for each in inner if isinstance(inner, list) else ():
            yield from _statements(each, at_top)


def source(module: str) -> bytes | None:
    """The contents of a module's file, which may be compiled; None where there is none."""
    path = file_of(module)
    try:
        return None if path is None else path.read_bytes()
    except OSError:
        return None


def file_of(module: str) -> Path | None:
    """The file of a module, found without importing anything."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        name = getattr(loaded, "__file__", None)
    else:
        spec = _spec(module)
        name = spec.origin if spec is not None and spec.has_location else None
    return None if name is None else Path(name)


def _spec(module: str) -> ModuleSpec | None:
    parent = module.rpartition(".")[0]
    try:
        if not parent:
            return importlib.util.find_spec(module)
        if parent in sys.modules:
            folders = getattr(sys.modules[parent], "__path__", None)
        else:
            around = _spec(parent)
            folders = None if around is None else around.submodule_search_locations
        return None if folders is None else PathFinder.find_spec(module, list(folders))
    except (ImportError, ValueError, AttributeError):
        return None


def distribution(module: str) -> str | None:
    """The installed distribution that brought a module, and a hash of all its files.

    Pip writes the list of what it installed, with the hash of every file, beside the package. None for modules that it
    did not install, and for our own, which are followed file by file wherever they are.
    """
    parts = module.split(".")
    path = None if parts[0] == "dpassay" else file_of(module)
    if path is None:
        return None
    depth = len(parts) - (path.stem != "__init__")
    return _recorded(parts[0], path.parents[depth]) if depth < len(path.parents) else None


@functools.cache
def _recorded(package: str, folder: Path) -> str | None:
    records = sorted(
        folder.glob("*.dist-info/RECORD"),
        # Most distributions have their package's name, and reading one list is faster than reading all.
        key=lambda path: (not path.parent.name.lower().startswith(f"{package.lower()}-"), path.parent.name),
    )
    for path in records:
        lines = path.read_text(encoding="utf-8").splitlines()
        if any(line.startswith((f"{package}/", f"{package}.")) for line in lines):
            # Bytecode files come and go with use.
            kept = sorted(line for line in lines if "__pycache__" not in line and "RECORD" not in line)
            return f"{path.parent.name} {hashlib.sha256(chr(10).join(kept).encode()).hexdigest()}"
    return None
