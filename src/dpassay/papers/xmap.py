"""Claims of Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations" (X-Map), technical report of proofs."""

from functools import partial

from dpassay.claims import Claim

__all__ = ["CLAIMS", "TITLE"]

TITLE = "Heterogeneous Recommendations: What You Might Like To Read After Watching Interstellar (Guerraoui, Kermarrec, Lin, Patra)"

_claim = partial(Claim, paper="xmap")

CLAIMS: tuple[Claim, ...] = ()
