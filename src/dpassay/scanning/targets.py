"""What a scan was pointed at: the modules of a package, a file or a folder, found by reading alone; nothing is run."""

import ast
import importlib.machinery
import importlib.metadata
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpassay.core.errors import InvalidInput

_TELLING = re.compile(
    r"epsilon|\beps\b|privacy|differential|sensitivity|laplace|stability|mechanism|randomi[sz]ed_?response", re.I
)
"""Words of which a module has at least one, or it is not imported."""
_NO_PART = re.compile(r"^(tests?|testing|test_.*|.*_test|conftest|setup|examples?|benchmarks?|docs|__main__)$")


@dataclass(frozen=True)
class Module:
    """A module with its file."""

    name: str
    file: str


@dataclass(frozen=True)
class Target:
    """What is scanned.

    Attributes:
        name: as it was given.
        package: the import name it belongs to; of a folder that is no package, the folder's.
        path: a folder from which it is imported, "" where it is found already.
        modules: those that speak of privacy, in order of names.
        files: how many were read.
        whole: whether it is the whole package.
    """

    name: str
    package: str
    path: str
    modules: tuple[Module, ...]
    files: int
    whole: bool


def target(name: str) -> Target:
    """Finds what is to be scanned.

    Args:
        name: a module or package as in `import`, a distribution as in `pip install`, or a path.

    Raises:
        InvalidInput: there is no such thing, or no Python source in it.
    """
    path, bare = Path(name), "/" not in name and not name.endswith(".py")
    if bare and (named := _spec(name)) is not None and (named.origin is not None or not path.exists()):
        return _of_spec(name, named)
    if path.exists() and (path.suffix == ".py" or path.is_dir()):
        return _of_path(name, path.resolve())
    if path.exists() or "/" in name or name.endswith(".py"):
        raise InvalidInput(f"{name!r} is no Python source; name an installed package, a module, a .py file or a folder")
    spec = _spec(name.replace("-", "_"))
    if spec is None:
        spec = next(filter(None, map(_spec, _imported_names(name))), None)
    if spec is None:
        raise InvalidInput(f"no package or module is called {name!r} here; install it, or give the path of its source")
    return _of_spec(name, spec)


def version(package: str) -> str:
    """The version of the distribution that an import name belongs to; "" where it is not installed."""
    for distribution in importlib.metadata.packages_distributions().get(package, ()):
        return importlib.metadata.version(distribution)
    return ""


def _imported_names(distribution: str) -> list[str]:
    wanted = re.sub(r"[-_.]+", "-", distribution).lower()
    known = importlib.metadata.packages_distributions()
    return [name for name, owners in known.items() if wanted in (re.sub(r"[-_.]+", "-", o).lower() for o in owners)]


def _spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where a module is; neither it nor the packages around it are imported."""
    places: list[str] | None = [str(Path.cwd()), *sys.path]
    spec = None
    for number in range(1, name.count(".") + 2):
        spec = importlib.machinery.PathFinder.find_spec(".".join(name.split(".")[:number]), places)
        if spec is None:
            return None
        places = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
    return spec


def _of_spec(name: str, spec: importlib.machinery.ModuleSpec) -> Target:
    found = spec.name
    if spec.submodule_search_locations is not None:
        roots = [Path(each) for each in spec.submodule_search_locations]
        files = [(module, file) for root in roots for module, file in _in_folder(root, found)]
    elif spec.origin is not None and spec.origin.endswith(".py"):
        files = [(found, Path(spec.origin))]
    else:
        raise InvalidInput(f"{name!r} is compiled: it has no Python source to read; name what wraps it")
    package = found.partition(".")[0]
    return _target(name, package, "", files, found == package)


def _of_path(name: str, path: Path) -> Target:
    root = path if path.is_dir() else path.parent
    outer = root
    while (outer / "__init__.py").exists():
        outer = outer.parent
    prefix = ".".join(root.relative_to(outer).parts)
    if path.is_dir():
        files = list(_in_folder(path, prefix))
    else:
        stem = [] if path.stem == "__init__" else [path.stem]
        files = [(".".join([*filter(None, [prefix]), *stem]), path)]
    if not files:
        raise InvalidInput(f"no Python file is in {name}; name an installed package, a module, a file or a folder")
    package = files[0][0].partition(".")[0] if prefix or not path.is_dir() else path.name
    return _target(name, package, str(outer), files, path.is_dir() and prefix == package)


def _in_folder(root: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        if all(part.isidentifier() and not _NO_PART.match(part) for part in parts):
            inside = parts[:-1] if parts[-1] == "__init__" else parts
            if prefix or inside:
                yield ".".join([*filter(None, [prefix]), *inside]), file


def _target(name: str, package: str, path: str, files: list[tuple[str, Path]], whole: bool) -> Target:
    modules = tuple(Module(module, str(file)) for module, file in files if _speaks_of_privacy(file))
    return Target(name, package, path, modules, len(files), whole)


def _speaks_of_privacy(file: Path) -> bool:
    """Whether a module has a function or class, and a word that speaks of privacy."""
    try:
        with tokenize.open(file) as opened:
            text = opened.read()
        return bool(_TELLING.search(text)) and any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in ast.parse(text).body
        )
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
