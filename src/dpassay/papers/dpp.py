"""Claims of Fitzsimons et al., "Naturally Private Recommendations with Determinantal Point Processes"."""

from functools import partial

from dpassay.claims import Claim

__all__ = ["CLAIMS", "TITLE"]

TITLE = (
    "Naturally Private Recommendations with Determinantal Point Processes (Fitzsimons, Pasqualini, Pisarczyk, Usynin)"
)

_claim = partial(Claim, paper="dpp")

CLAIMS: tuple[Claim, ...] = ()
