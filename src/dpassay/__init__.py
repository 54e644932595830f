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
    from dpassay.auditors.ledger import Ledger as Ledger
    from dpassay.auditors.search import search as search
    from dpassay.core.certificate import Certificate as Certificate
    from dpassay.core.claims import Claim as Claim
    from dpassay.core.claims import Evidence as Evidence
    from dpassay.core.claims import Verdict as Verdict
    from dpassay.core.errors import InvalidInput as InvalidInput
    from dpassay.core.privacy import NeighboringRelation as NeighboringRelation
    from dpassay.core.privacy import PrivacyClaim as PrivacyClaim
    from dpassay.core.privacy import Witness as Witness
    from dpassay.core.protocol import CallableMechanism as CallableMechanism
    from dpassay.core.protocol import FiniteMechanism as FiniteMechanism
    from dpassay.core.protocol import Mechanism as Mechanism
    from dpassay.core.protocol import from_callable as from_callable
    from dpassay.data.rating_files import load_ratings as load_ratings
    from dpassay.data.ratings import Ratings as Ratings
    from dpassay.data.ratings import synthetic as synthetic
    from dpassay.judging.verification import verify as verify
    from dpassay.mechanisms import mechanism as mechanism
    from dpassay.mechanisms import mechanisms as mechanisms
    from dpassay.replay import Replay as Replay
    from dpassay.replay import replay as replay

from dpassay.core.version import __version__

_HOME = {
    "Audit": "dpassay.auditors.audit",
    "CallableMechanism": "dpassay.core.protocol",
    "Certificate": "dpassay.core.certificate",
    "Claim": "dpassay.core.claims",
    "Evidence": "dpassay.core.claims",
    "ExactLoss": "dpassay.auditors.exact",
    "FiniteMechanism": "dpassay.core.protocol",
    "InvalidInput": "dpassay.core.errors",
    "Ledger": "dpassay.auditors.ledger",
    "Mechanism": "dpassay.core.protocol",
    "NeighboringRelation": "dpassay.core.privacy",
    "PrivacyClaim": "dpassay.core.privacy",
    "Ratings": "dpassay.data.ratings",
    "Replay": "dpassay.replay",
    "Verdict": "dpassay.core.claims",
    "Witness": "dpassay.core.privacy",
    "audit": "dpassay.auditors.audit",
    "exact": "dpassay.auditors.exact",
    "from_callable": "dpassay.core.protocol",
    "load_ratings": "dpassay.data.rating_files",
    "mechanism": "dpassay.mechanisms",
    "mechanisms": "dpassay.mechanisms",
    "replay": "dpassay.replay",
    "run_audit": "dpassay.auditors.audit",
    "search": "dpassay.auditors.search",
    "synthetic": "dpassay.data.ratings",
    "verify": "dpassay.judging.verification",
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
