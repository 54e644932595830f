"""Decides whether differential-privacy claims are true. `import dpassay as dp`.

Names are imported when they are first used, so that the command line's help, `replay` and error paths need no JAX.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "CallableMechanism": "dpassay.protocol",
    "Certificate": "dpassay.certificate",
    "Claim": "dpassay.claims",
    "Evidence": "dpassay.claims",
    "ExactLoss": "dpassay.auditors.exact",
    "FiniteMechanism": "dpassay.protocol",
    "InvalidInput": "dpassay.errors",
    "Mechanism": "dpassay.protocol",
    "NeighboringRelation": "dpassay.privacy",
    "PrivacyClaim": "dpassay.privacy",
    "Ratings": "dpassay.ratings",
    "Replay": "dpassay.replay",
    "Verdict": "dpassay.claims",
    "Witness": "dpassay.privacy",
    "exact": "dpassay.auditors.exact",
    "from_callable": "dpassay.protocol",
    "load_ratings": "dpassay.data",
    "mechanism": "dpassay.mechanisms",
    "mechanisms": "dpassay.mechanisms",
    "replay": "dpassay.replay",
    "search": "dpassay.auditors.search",
    "synthetic": "dpassay.ratings",
    "verify": "dpassay.verification",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dpassay' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
