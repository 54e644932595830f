"""Mechanisms of other libraries, each with its own claim, in the form that `dpassay.audit` takes.

Each adapter is an extra: `pip install dpassay[opendp]` and so on. All give an `AdaptedMechanism`:

    mechanism = from_opendp(measurement, d_in=1.0)
    dpassay.audit(mechanism, dataset1, dataset2, claim=mechanism.claim)
"""

from dataclasses import dataclass, field
from typing import Any

from dpassay.core.privacy import PrivacyClaim
from dpassay.core.protocol import CallableMechanism


@dataclass(frozen=True)
class AdaptedMechanism(CallableMechanism):
    """A sampler of another library and what that library claims about it.

    Attributes:
        claim: by the library's own accounting.
        dp_event: dp-accounting's event of the mechanism, from which an audit's picture takes its upper bound; or None.
    """

    claim: PrivacyClaim = field(kw_only=True)
    dp_event: Any = field(default=None, kw_only=True)
