"""Libraries that not every installation has."""

import importlib
from typing import Any

from dpassay.core.errors import InvalidInput

__all__ = ["library", "one_line"]


def library(module: str, extra: str) -> Any:
    """Imports the library of an adapter.

    Raises:
        InvalidInput: it is not installed (the message says what to install), or it cannot be imported.
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name == package:
            raise InvalidInput(f"{extra} is not installed: pip install 'dpassay[{extra}]'") from None
        raise InvalidInput(f"{extra} cannot be imported: {one_line(error)}") from error
    except ImportError as error:
        raise InvalidInput(f"{extra} cannot be imported: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """An exception of another library in one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
