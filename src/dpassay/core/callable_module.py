"""A package that is also a function: `dpassay.replay(path)` and `dpassay.mechanisms()`.

Importing a sub-package binds its name on `dpassay` to the module, whatever stood there; making the module callable
keeps the public function of the same name.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def make_callable(module_name: str, function: Callable[..., Any]) -> None:
    """Lets the imported module be called like `function`."""

    class CallableModule(ModuleType):
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named)

    sys.modules[module_name].__class__ = CallableModule
