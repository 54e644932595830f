"""What not every installation has, and the extras of `pip install` that bring it: libraries, and rooms of our own."""

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

from dpassay.core.errors import InvalidInput

ROOMS = ("attacks", "experiments", "judging", "mechanisms", "models", "proofs", "results")
"""The folders of dpassay that judge the papers: a distribution of their own, `dpassay-papers`."""
PAPERS = tuple(f"dpassay.{room}" for room in ROOMS)
PROVE = ("cvc5", "sympy", "z3")
SEARCH = ("hypothesis",)
EXTRAS = {
    "prove": PROVE,
    "search": SEARCH,
    "papers": (*PAPERS, *PROVE, *SEARCH, "statsmodels"),
    "models": ("equinox", "optax"),
    "plots": ("matplotlib",),
    "parquet": ("pyarrow",),
    "tables": ("pandas",),
    "distributed": ("distributed",),
    "dp-accounting": ("dp_accounting",),
    "opendp": ("opendp",),
    "diffprivlib": ("diffprivlib",),
    "opacus": ("opacus", "torch"),
}
"""Extra -> the modules that we import of it."""


def absent(extra: str) -> str | None:
    """What to install for an extra, in one line; None when it is there. Imports nothing."""
    return next((_line(package, extra) for package in EXTRAS[extra] if not _installed(package)), None)


def require(extra: str) -> None:
    """Stops long work before it begins.

    Raises:
        InvalidInput: the extra is not installed; the message says what to install.
    """
    if line := absent(extra):
        raise InvalidInput(line)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turns the import of a library that is not installed into `InvalidInput` that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        named = [(package, extra) for extra, packages in EXTRAS.items() for package in packages]
        missed = next((each for each in named if f"{error.name}.".startswith(f"{each[0]}.")), None)
        if missed is None or _installed(missed[0]):
            raise
        raise InvalidInput(_line(*missed)) from None


def library(module: str) -> Any:
    """Imports a library of an extra, or a module of it.

    Raises:
        InvalidInput: it is not installed (the message says what to install), or it cannot be imported.
    """
    try:
        with explained():
            return importlib.import_module(module)
    except ImportError as error:
        raise InvalidInput(f"{module.partition('.')[0]} cannot be imported: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    """An exception of another library in one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _line(package: str, extra: str) -> str:
    name = "dpassay-papers" if package in PAPERS else package.replace("_", "-")
    return f"{name} is not installed: pip install 'dpassay[{extra}]'"
