"""One hash that tells versions of a mechanism apart, so that old evidence never accuses mended code.

It covers the mechanism's parameters and closure, the datasets, the claim, and the code: the syntax (so neither comments
nor formatting) of every file of the user's that the mechanism's modules import, directly or not, and the exact contents
of installed packages that those files import. It cannot see files that the mechanism reads while it runs, environment
variables, or modules imported by a computed name (`dpassay.runs.code` says which).
"""

import ast
import contextlib
import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.runs.code import code_lines, file_of, read_module, source

# Of dpassay only mechanisms and their adapters are what is judged; a new auditor does not void old evidence.
JUDGED = ("dpassay.mechanisms", "dpassay.adapters")


def fingerprint(mechanism: Any, dataset1: Any, dataset2: Any, claim: Any, representation: str = "values") -> str:
    """A hash of everything that an audit judges; two versions with equal hashes are the same for the ledger.

    Args:
        mechanism: an object with `sample`, or a function.
        dataset1: of any type that can be pickled, or made of functions.
        dataset2: its neighbor.
        claim: what is claimed of it.
        representation: `values` or `bits`.

    Raises:
        InvalidInput: the mechanism or a dataset holds something whose contents cannot be read.
    """
    digest = _Digest()
    for part in (mechanism, dataset1, dataset2, claim, representation):
        digest.add(part)
    for line in code_lines(digest.modules, functools.partial(read_module, digest=_syntax), _counts):
        digest.update("code", line)
    return digest.hexdigest()


def contents(value: Any) -> str | None:
    """A hash of what a value holds, to notice that it changed; None where that cannot be read."""
    digest = _Digest()
    try:
        digest.add(value)
    except (InvalidInput, RecursionError):
        return None
    return digest.hexdigest()


def _counts(module: str) -> bool:
    return module.partition(".")[0] != "dpassay" or module.startswith(JUDGED)


class _Digest:
    """Hashes values by their contents, and notes the modules whose code they carry."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self._hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # ids are unique only among living objects

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def update(self, kind: str, content: str | bytes = b"") -> None:
        data = content.encode() if isinstance(content, str) else content
        self._hash.update(f"{kind} {len(data)} ".encode() + data)

    def add(self, value: Any) -> None:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            self.update(type(value).__name__, value if isinstance(value, str | bytes) else repr(value))
            return
        if id(value) in self._seen:
            self.update("again", str(self._seen[id(value)]))
            return
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        if isinstance(value, list | tuple):
            self._items(type(value).__name__, value)
        elif isinstance(value, dict):
            self._items("dict", (each for item in value.items() for each in item))
        elif isinstance(value, set | frozenset):
            self._unordered(value)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self.update("array", f"{value.dtype.str} {value.shape}")
            self.update("bytes", np.ascontiguousarray(value).tobytes())
        elif type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "columns"):
            self._table(value)
        elif isinstance(value, types.ModuleType):
            self._defined("module", value.__name__, "")
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, functools.partial):
            self._items("partial", (value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._items("method", (value.__func__, value.__self__))
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.CodeType):
            self._bytecode(value)
        elif type(value).__name__ == "cython_function_or_method":  # as pandas has it in every table
            self._defined("function", value.__module__ or "", value.__qualname__)
        elif callable(value) and hasattr(value, "__wrapped__"):  # what jax.jit and functools.wraps leave
            self._items("wrapper", (type(value).__name__, value.__wrapped__))
        else:
            self._object(value)

    def _items(self, kind: str, values: Iterable[Any]) -> None:
        self.update("begin", kind)
        for value in values:
            self.add(value)
        self.update("end")

    def _unordered(self, values: Iterable[Any]) -> None:
        parts = []
        for value in values:
            part = _Digest()
            part.add(value)
            self.modules |= part.modules
            parts.append(part.hexdigest())
        self._items("set", sorted(parts))

    def _table(self, frame: Any) -> None:
        """A DataFrame, whose parts can be pickled but not compared."""
        kinds = [str(kind) for kind in frame.dtypes]
        parts = (frame.iloc[:, place].to_numpy() for place in range(frame.shape[1]))
        self._items("table", (list(frame.columns), kinds, frame.index.to_numpy(), *parts))

    def _defined(self, kind: str, module: str, name: str) -> None:
        self.update(kind, f"{module}:{name}")
        self.modules.add(module)

    def _class(self, value: type) -> None:
        self._defined("class", value.__module__, value.__qualname__)
        self.modules.update(base.__module__ for base in value.__mro__)
        if _is_typed(value.__module__):  # typed at a prompt
            members = {name: member for name, member in vars(value).items() if not name.startswith("__")}
            self._items("members", (each for item in members.items() for each in item))

    def _function(self, value: types.FunctionType) -> None:
        self._defined("function", value.__module__ or "", value.__qualname__)
        self._items("defaults", (value.__defaults__, value.__kwdefaults__))
        for cell in value.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:
                self.update("empty cell")
            else:
                self.add(held)
        if value.__name__ == "<lambda>" or source(value.__module__ or "") is None:
            self._bytecode(value.__code__)  # which of a line's lambdas; or nothing else is known of it
        if source(value.__module__ or "") is None:
            used = [name for name in _names(value.__code__) if name in value.__globals__]
            self._items("globals", (each for name in used for each in (name, value.__globals__[name])))
        if hasattr(value, "__wrapped__"):
            self.add(value.__wrapped__)

    def _bytecode(self, code: types.CodeType) -> None:
        self.update("bytecode", code.co_code)
        self._items("names", (code.co_names, code.co_varnames, code.co_freevars, code.co_consts))

    def _object(self, value: Any) -> None:
        if dataclasses.is_dataclass(value):
            self._class(type(value))
            for field in dataclasses.fields(value):
                self.add(field.name)
                self.add(getattr(value, field.name))
            return
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            reason = " ".join(str(error).split())
            raise InvalidInput(
                f"what is kept cannot tell versions of a {type(value).__qualname__} apart ({reason}); "
                "make it inside a function of yours, or keep nothing (no ledger, no file to resume from)"
            ) from error
        self._class(type(value))
        if isinstance(reduced, str):
            self.update("global", reduced)
            return
        function, arguments, *rest = reduced
        state = rest[0] if rest else None
        if isinstance(state, dict):  # what was computed on demand is no parameter
            cached = {name for name in state if isinstance(getattr(type(value), name, None), functools.cached_property)}
            state = {name: each for name, each in state.items() if name not in cached}
        self._items("object", (function, arguments, state, *(list(each) for each in rest[1:3] if each is not None)))


def _is_typed(module: str) -> bool:
    """Whether a module is known to this process only: neither Python's, nor in a file."""
    return file_of(module) is None and (module == "__main__" or module.partition(".")[0] not in sys.stdlib_module_names)


@functools.lru_cache(maxsize=256)
def _syntax(text: bytes) -> str:
    """A hash of the code without its comments and formatting."""
    with contextlib.suppress(SyntaxError, ValueError):
        text = ast.unparse(ast.parse(text)).encode()
    return hashlib.sha256(text).hexdigest()


def _names(code: types.CodeType) -> list[str]:
    """Global names used by a function and the functions inside it."""
    inner = [name for constant in code.co_consts if isinstance(constant, types.CodeType) for name in _names(constant)]
    return sorted({*code.co_names, *inner})
