"""Decides whether differential-privacy claims are true. `import dpassay as dp`.

The public names are in `__init__.pyi`. Each is imported when it is first used, so that the command line's help,
`replay` and error paths need no JAX.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

from dpassay.core.extras import explained

_HOME = {
    name.name: node.module
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for name in node.names
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dpassay' has no attribute {name!r}")
    with explained():
        value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
