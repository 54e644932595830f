"""The regression loss of HeteroCDR: equation (6) of Chen et al. (PriCDR).

(6) prints L = sum y log p + (1 - y) log(1 - p) with p = U_i'V_j, which is minimized. The cross-entropy has a minus sign
in front, and the inner product is a cosine only of vectors of length 1, which the loss does not enforce; log p needs
p > 0.
"""

from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.notation import derivative, possible, proof, smt

decide_cross_entropy = established(
    "refuted",
    "(6) lacks the minus sign of the cross-entropy: for a positive rating it falls without bound as the prediction "
    "goes to 0, so minimizing it trains the opposite of the ratings. Without lengths normalized to 1 the product U'V "
    "is no cosine, and values at most 0 or at least 1, both possible, leave the logarithms undefined. Meant is: minus "
    "(6), with p a cosine cut off at a small positive number (as in deep matrix factorization) or a sigmoid of it.",
    evidence=lambda: shown(
        "Slope of the printed loss, its true minimum, and vectors outside the domain.", cross_entropy_proof()
    ),
)


def cross_entropy_proof() -> dict[str, Any]:
    """The printed sum has its maximum where the cross-entropy has its minimum."""
    return proof(
        "Step 1 gives the slope of one term of (6) in p; by step 2 it is positive below p = y and negative above, so "
        "the printed term is largest at the true rating p = y, and minimizing drives p away from it, to 0 or 1. Steps "
        "3 and 4 give embeddings whose product is negative, where log p is undefined, and embeddings whose product is "
        "2, where log(1 - p) is undefined and which is not their cosine, 1.",
        derivative("slope of one term", "p", "y * ln(p) + (1 - y) * ln(1 - p)", "(y - p) / (p * (1 - p))"),
        smt(
            "the printed term is largest at p = y",
            "0 < p, p < 1, 0 <= y <= 1, slope * (p * (1 - p)) == y - p",
            "(p >= y or slope > 0) and (p <= y or slope < 0)",
            model="p = 1/2, y = 1, slope = 2",
        ),
        possible(
            "a product of embeddings below 0",
            "product == u1 * v1 + u2 * v2, product < 0",
            model="u1 = 1, u2 = 0, v1 = -1, v2 = 0, product = -1",
        ),
        possible(
            "a product of 2 between parallel embeddings",
            "product == u1 * v1 + u2 * v2, product > 1, u1 * v2 == u2 * v1, cosine == 1, "
            "product ** 2 == cosine ** 2 * (u1 ** 2 + u2 ** 2) * (v1 ** 2 + v2 ** 2)",
            model="u1 = 2, u2 = 0, v1 = 1, v2 = 0, product = 2, cosine = 1",
        ),
        supports="refuted",
    )
