"""Claims of Chen et al., "Differential Private Knowledge Transfer for Privacy-Preserving Cross-Domain Recommendation" (PriCDR)."""

from functools import partial

from dpassay.claims import Claim

__all__ = ["CLAIMS", "TITLE"]

TITLE = "Differential Private Knowledge Transfer for Privacy-Preserving Cross-Domain Recommendation (Chen, Wu, Su, Lyu, Zheng, Wang)"

_claim = partial(Claim, paper="pricdr")

CLAIMS: tuple[Claim, ...] = ()
