"""What replacing a whole profile costs (Guerraoui et al., X-Map, Theorem 1 and AlterEgos).

An AlterEgo replaces each of the L items of a profile by its own run of PRS. The items' losses add up in pure
differential privacy. The exponential mechanism moreover has a bounded range: over all outputs its loss stays within an
interval of length eps (Durfee and Rogers 2019), which makes it (eps^2/8)-zCDP (Cesar and Rogers 2021; the mean loss of
bounded range is from Dong, Durfee and Rogers 2020). Zero-concentrated differential privacy: Bun and Steinke (2016).
"""

import math
from typing import Any

from dpassay.core.records import Table
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import EXPONENTS_ADD, PRODUCT_KEEPS_RATIO, SUM_KEEPS_RATIO
from dpassay.proofs.notation import derivative, identity, instance, proof, smt
from dpassay.proofs.xmap.replacement_selection import replacement_ratio

DELTA = 1e-6


decide_profile = established(
    "refuted",
    "Theorem 1 is about one replaced item; an AlterEgo holds one replacement per item of the profile, all "
    "computed from the same users' ratings. Two items with a thousand candidates each lose more than 1.996 at eps "
    "= 1, and L items more than 0.998 L. The report never says so: the cost of a profile of L items is L eps "
    "(XM-T1-COMP-REP). Whose privacy it is matters too: the number of replaced items, and a profile that only "
    "exists because its owner does, are not protected at all.",
    evidence=lambda: shown(
        "Two items, 1000 candidates each: the loss exceeds 1.996, not 1.",
        profile_loss(2, "1", "1996/1000", supports="refuted"),
    ),
    repair="XM-T1-COMP-REP",
)

decide_profile_repaired = established(
    "holds",
    "Probabilities of independent replacements multiply, so exponents add up to L eps, and nearly all of it can "
    "be lost: fifty items at eps = 1 lose more than 49.9. If a failure probability delta is allowed, the bounded "
    "range of the exponential mechanism gives (L eps^2/8)-zCDP: fifty items at eps = 1 are (24.9, "
    "1e-6)-differentially private instead of 50. For long profiles the cost grows with sqrt(L) instead of L, as "
    "long as L eps^2 is small. A profile that repeats an item and reuses its replacement pays for it once.",
    evidence=lambda: [
        shown("L eps: the bounds of the items multiply.", pure_composition_proof()),
        shown("Fifty items at eps = 1: between 49.9 and 50.", profile_loss(50, "1", "499/10", supports="holds")),
        shown(
            "Bounded range eps, hence Renyi divergence at most alpha eps^2/8, hence L times that.", concentrated_proof()
        ),
        shown(
            "The conversion to (eps, delta) at L = 50.",
            profile_budget(50, "1", "1/1000000", "249/10"),
            tables=(_budgets(),),
        ),
    ],
)


def pure_composition_proof() -> dict[str, Any]:
    """L independent replacements are L eps-DP."""
    return proof(
        "Given the ratings, the L replacements are independent, so the probability of a list is the product of those "
        "of its items, each at most e^eps times its counterpart; step 1, from the empty product, gives (e^eps)^L, and "
        "step 2 says that one more item adds eps to the exponent. An event is a set of lists, and sums keep the bound "
        "(step 3).",
        *PRODUCT_KEEPS_RATIO,
        identity("one more item adds eps", "exp(eps * j) * exp(eps) == exp(eps * (j + 1))"),
        *SUM_KEEPS_RATIO,
    )


def concentrated_proof() -> dict[str, Any]:
    """One replacement has range eps and is (eps^2/8)-zCDP; L of them are (L eps^2/8)-zCDP."""
    return proof(
        "Range. Let a = eps / (2 GS). The loss at output t_j is l_j = a (q_j - q'_j) + ln(Z'/Z); the second term is "
        "the same for all j, and the first lies in [-a GS, a GS], so any two losses differ by at most 2 a GS = eps "
        "(steps 1 and 2). Write l for the loss, in [b, b + eps]. Variance. Under any distribution, (l - b)(b + eps - "
        "l) >= 0 in the mean gives m2 <= (2b + eps) m - b (b + eps) for the mean m and second moment m2, so the "
        "variance m2 - m^2 is at most eps^2/4 (step 3). Renyi divergence. Let Q be the law on D' and K(alpha) = ln "
        "E_Q[e^(alpha l)], so D_alpha(D || D') = K(alpha) / (alpha - 1), and K(0) = K(1) = 0, since E_Q[e^l] = 1. "
        "Differentiating each term of the sum (step 4) twice, K'' = M2/M0 - (M1/M0)^2 with Mi = E_Q[l^i e^(alpha l)] "
        "(step 5, with M0' = M1 and M1' = M2): the variance of l under the law tilted by e^(alpha l), at most "
        "eps^2/4. So h(alpha) = K(alpha) - eps^2/8 alpha (alpha - 1), with second derivative K'' - eps^2/4 <= 0 "
        "(steps 6 and 7), is concave and vanishes at 0 and 1. For alpha > 1 the point 1 lies between 0 and alpha, so "
        "h(alpha) <= 0 (step 8): K(alpha) <= (eps^2/8) alpha (alpha - 1), that is D_alpha <= alpha eps^2/8 (step 9). "
        "The same with D and D' exchanged. Composition. For independent replacements E[e^(alpha l)] multiplies, so K "
        "and the divergence add up (steps 10 and 11).",
        identity("the range of the exponent", "2 * (eps / (2 * GS) * GS) == eps"),
        smt(
            "two outputs' losses differ by at most 2 a GS",
            "a > 0, GS >= 0, abs(d) <= GS, abs(e) <= GS, l == a * d + z, other == a * e + z",
            "abs(l - other) <= 2 * a * GS",
            model="a = 1, GS = 1, d = 1, e = -1, z = 0, l = 1, other = -1",
        ),
        smt(
            "the variance of a number in an interval of length eps is at most eps^2/4",
            "m2 <= (2 * b + eps) * m - b * (b + eps)",
            "m2 - m ** 2 <= eps ** 2 / 4",
            model="m2 = 0, m = 0, b = 0, eps = 1",
        ),
        derivative("one term of the moment sum", "alpha", "q * exp(alpha * l)", "q * l * exp(alpha * l)"),
        derivative(
            "the second derivative of ln M0 along M0 + M1 t + M2 t^2/2, at t = 0 the variance",
            "t",
            "(M1 + M2 * t) / (M0 + M1 * t + M2 * t ** 2 / 2)",
            "M2 / (M0 + M1 * t + M2 * t ** 2 / 2) - ((M1 + M2 * t) / (M0 + M1 * t + M2 * t ** 2 / 2)) ** 2",
        ),
        derivative(
            "the first derivative of the parabola",
            "alpha",
            "eps ** 2 / 8 * alpha * (alpha - 1)",
            "eps ** 2 / 8 * (2 * alpha - 1)",
        ),
        derivative("the second derivative of the parabola", "alpha", "eps ** 2 / 8 * (2 * alpha - 1)", "eps ** 2 / 4"),
        smt(
            "a concave function that vanishes at 0 and 1 is not positive beyond 1",
            "alpha > 1, h0 == 0, h1 == 0, h1 >= (1 - 1 / alpha) * h0 + 1 / alpha * h",
            "h <= 0",
            model="alpha = 2, h0 = 0, h1 = 0, h = -1",
        ),
        smt(
            "the Renyi divergence",
            "alpha > 1, K <= eps ** 2 / 8 * alpha * (alpha - 1), D * (alpha - 1) == K",
            "D <= alpha * (eps ** 2 / 8)",
            model="alpha = 2, K = 0, D = 0, eps = 1",
        ),
        *EXPONENTS_ADD,
        smt(
            "one more item adds its divergence",
            "total <= alpha * (j * c), D <= alpha * c",
            "total + D <= alpha * ((j + 1) * c)",
            model="total = 0, D = 0, alpha = 2, c = 1, j = 0",
        ),
    )


def profile_loss(num_items: int, epsilon: str, loss: str, *, supports: str) -> dict[str, Any]:
    """L replacements, 1000 candidates each: their probability changes by more than e^loss, at most e^(L eps)."""
    ratio = f"({replacement_ratio(1000)}) ** {num_items}"
    return instance(
        {"eps": epsilon, "loss": loss, "L": num_items},
        f"{ratio} > exp(loss)",
        f"{ratio} <= exp(L * eps)",
        "loss > eps",
        supports=supports,
    )


def profile_budget(num_items: int, epsilon: str, delta: str, total: str) -> dict[str, Any]:
    """(L eps^2/8)-zCDP gives (total, delta)-DP by the conversion rho + 2 sqrt(rho ln(1/delta)) of Bun and Steinke."""
    return instance(
        {"eps": epsilon, "delta": delta, "L": num_items, "total": total},
        "L * eps ** 2 / 8 + 2 * sqrt(L * eps ** 2 / 8 * ln(1 / delta)) <= total",
        "total < L * eps",
        supports="holds",
    )


def _budgets() -> Table:
    def approximate(size: int, eps: float) -> float:
        rho = size * eps**2 / 8
        return rho + 2 * math.sqrt(rho * math.log(1 / DELTA))

    rows = [
        [
            size,
            eps,
            round(size * eps, 1),
            round(size * eps**2 / 8, 3),
            round(min(size * eps, approximate(size, eps)), 2),
        ]
        for size in (10, 50, 200)
        for eps in (0.1, 0.6, 1.0)
    ]
    return Table(
        "Budget of one AlterEgo; the last column at delta = 1e-6, the smaller of the two",
        ["items L", "eps per item", "L eps", "zCDP", "(eps, delta)"],
        rows,
    )
