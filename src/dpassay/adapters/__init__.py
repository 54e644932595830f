"""Mechanisms of other libraries, each with its own claim, in the form that `dpassay.audit` takes.

Each adapter is an extra: `pip install dpassay[opendp]` and so on. All give an `AdaptedMechanism`:

    mechanism = from_opendp(measurement, d_in=1.0)
    dpassay.audit(mechanism, dataset1, dataset2, claim=mechanism.claim)
"""

import importlib
from dataclasses import dataclass, field
from typing import Any

from dpassay.errors import InvalidInput
from dpassay.privacy import PrivacyClaim
from dpassay.protocol import CallableMechanism

__all__ = ["AdaptedMechanism", "library", "one_line"]


@dataclass(frozen=True)
class AdaptedMechanism(CallableMechanism):
    """A sampler of another library and what that library claims about it.

    Attributes:
        claim: by the library's own accounting.
        dp_event: dp-accounting's event of the mechanism, from which an audit's picture takes its upper bound; or None.
    """

    claim: PrivacyClaim = field(kw_only=True)
    dp_event: Any = field(default=None, kw_only=True)


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
