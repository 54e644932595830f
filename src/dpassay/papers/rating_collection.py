"""Claims of Zheng, "Two Differentially Private Rating Collection Mechanisms for Recommender Systems"."""

from functools import partial

from dpassay.claims import Claim

__all__ = ["CLAIMS", "TITLE"]

TITLE = "Two Differentially Private Rating Collection Mechanisms for Recommender Systems (Zheng)"

_claim = partial(Claim, paper="rating-collection")

CLAIMS: tuple[Claim, ...] = ()
