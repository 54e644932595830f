"""Decides whether differential-privacy claims are true. `import dpassay as dp`.

Names are imported when they are first used, so that the command line's help, `replay` and error paths need no JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` finds, for type checkers and editors
    from dpassay.auditors.audit import Audit as Audit
    from dpassay.auditors.audit import audit as audit
    from dpassay.auditors.audit import run_audit as run_audit
    from dpassay.auditors.exact import ExactLoss as ExactLoss
    from dpassay.auditors.exact import exact as exact
    from dpassay.auditors.search import search as search
    from dpassay.certificate import Certificate as Certificate
    from dpassay.claims import Claim as Claim
    from dpassay.claims import Evidence as Evidence
    from dpassay.claims import Verdict as Verdict
    from dpassay.data import load_ratings as load_ratings
    from dpassay.errors import InvalidInput as InvalidInput
    from dpassay.ledger import Ledger as Ledger
    from dpassay.mechanisms import mechanism as mechanism
    from dpassay.mechanisms import mechanisms as mechanisms
    from dpassay.privacy import NeighboringRelation as NeighboringRelation
    from dpassay.privacy import PrivacyClaim as PrivacyClaim
    from dpassay.privacy import Witness as Witness
    from dpassay.protocol import CallableMechanism as CallableMechanism
    from dpassay.protocol import FiniteMechanism as FiniteMechanism
    from dpassay.protocol import Mechanism as Mechanism
    from dpassay.protocol import from_callable as from_callable
    from dpassay.ratings import Ratings as Ratings
    from dpassay.ratings import synthetic as synthetic
    from dpassay.replay import Replay as Replay
    from dpassay.replay import replay as replay
    from dpassay.verification import verify as verify

__version__ = "0.1.0"

_HOME = {
    "Audit": "dpassay.auditors.audit",
    "CallableMechanism": "dpassay.protocol",
    "Certificate": "dpassay.certificate",
    "Claim": "dpassay.claims",
    "Evidence": "dpassay.claims",
    "ExactLoss": "dpassay.auditors.exact",
    "FiniteMechanism": "dpassay.protocol",
    "InvalidInput": "dpassay.errors",
    "Ledger": "dpassay.ledger",
    "Mechanism": "dpassay.protocol",
    "NeighboringRelation": "dpassay.privacy",
    "PrivacyClaim": "dpassay.privacy",
    "Ratings": "dpassay.ratings",
    "Replay": "dpassay.replay",
    "Verdict": "dpassay.claims",
    "Witness": "dpassay.privacy",
    "audit": "dpassay.auditors.audit",
    "exact": "dpassay.auditors.exact",
    "from_callable": "dpassay.protocol",
    "load_ratings": "dpassay.data",
    "mechanism": "dpassay.mechanisms",
    "mechanisms": "dpassay.mechanisms",
    "replay": "dpassay.replay",
    "run_audit": "dpassay.auditors.audit",
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
