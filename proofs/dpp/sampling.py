"""Phase 2 of the sampler, SubsetConstruction, and what Algorithm 1 returns (Fitzsimons et al., sections 2.2 and 3.1.2).

V and W are spans of k eigenvectors, K the projection on V; |Proj e_j|^2 is K_jj at the start and K_jj - K_ij^2/K_ii
after item i was drawn. The paper adds d to these weights. That keeps no determinantal law, does not stop after k items,
and its bound looks at the first draw alone; a bound that needs no eigengap exists when one stops after k draws.
"""

from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import PRODUCT_KEEPS_RATIO, SUM_KEEPS_RATIO
from dpassay.proofs.notation import identity, instance, proof, smt

decide_eigenvectors = established(
    "holds",
    "Two items and one reader of the first: L is diagonal, so phase 1 returns V = {e_1} with positive "
    "probability. One more reader, of both items, leaves no eigenvector on an axis, whatever the jitter: V = "
    "{e_1} becomes impossible. No epsilon allows that. So the analysis of phase 1 covers the coins only, and "
    "Algorithm 1 is private only because V stays inside and Y alone is released (DP-EPS-REP).",
    evidence=lambda: shown("For every jitter s > 0.", eigenvectors_proof()),
)

decide_subset_bound = established(
    "refuted",
    "The bound follows the weights of the first draw only. On four items two planes, spanned by (1,1,0,0), "
    "(0,0,1,1) and by (1,0,1,0), (0,1,0,1), give every item the weight 1/2 at the start, so nothing shifts; yet "
    "with d = 1/10 the set {1, 2} is six times likelier on the second, a loss of 1.79, while the bound is 0 for "
    "s = 0 and below 0.37 for s = 1/100. With the loop as printed, which runs until V' is empty, it is worse: on "
    "the first plane {1, 2} is then impossible, so no jitter d helps. Stopping after k draws there is a bound "
    "without any eigengap (DP-SUB-REP).",
    evidence=lambda: shown(
        "Both probabilities, in exact rationals, stopping after two draws.", subset_bound_instance()
    ),
    repair="DP-SUB-REP",
)

decide_instances = established(
    "refuted",
    "The n components of the printed change move by (n-1) A - n C in sum, with A = log(1 + s/((n-1)d)) and C = "
    "log(1 + s/(1 + nd)); n times that ends in -n^2 C, not -n C. In absolute values one change is (n-1)(A - C) + "
    "C, and n of them end in -n(n-2) C, which is -n C for n = 3 only; for n = 2 the printed number is smaller "
    "than two such changes, so it is no bound on them.",
    evidence=lambda: shown("The three expressions differ.", instances_proof()),
    repair="DP-SUB-REP",
)

decide_subset_bound_repaired = established(
    "holds",
    "Every weight lies between d and 1 + d, and after t draws the weights of the items that remain add up to a "
    "number between k - t and k, plus d per item, whatever the eigenvectors are. So one draw changes by at most "
    "(1 + 1/d) k/(k-t) between any two selections of k eigenvectors, and k draws by the product. Davis and "
    "Kahan, and the gaps between eigenvalues, are not needed. The law is no longer determinantal (DP-JIT), and "
    "phase 1 must be paid for separately; without this jitter, phase 2 is free (DP-SUM).",
    evidence=lambda: shown("For every n, k and d.", repaired_bound_proof()),
)

decide_jittered_law = established(
    "refuted",
    "Let V be spanned by e_1. With jitter the first draw can be item 2, which V' does not contain, so V' stays "
    "as it is and the loop goes on: of two items both are returned with probability d/(1 + 2d), though |V| = 1. "
    "With three items, items 2 and 3 appear together more often than independent items would, which is "
    "impossible for a determinantal process with a symmetric kernel, where items repel each other.",
    evidence=lambda: shown("For every d > 0.", jittered_law_proof()),
)


def eigenvectors_proof() -> dict[str, Any]:
    """diag(1 + s, s) against ((2 + s, 1), (1, 1 + s))."""
    return proof(
        "One reader of item 1: L = diag(1 + s, s), with e_1 as the eigenvector of the larger eigenvalue, and V = "
        "{e_1} has probability (1+s)/(2+s) times 1/(1+s), positive (step 1). One more reader of both items: L' = "
        "(2+s, 1; 1, 1+s). An eigenvector (u, v) other than 0 with an eigenvalue l solves the two equations of step "
        "2, and then neither u nor v is 0, so e_1 is no eigenvector and V = {e_1} is impossible.",
        smt("V = {e_1} is possible", "s > 0", "(1 + s) / (2 + s) * (1 / (1 + s)) > 0", model="s = 1"),
        smt(
            "no eigenvector of the neighbor's kernel lies on an axis",
            "(2 + s) * u + v == l * u, u + (1 + s) * v == l * v, u ** 2 + v ** 2 > 0",
            "not (u == 0) and not (v == 0)",
            # no model: eigenvectors are irrational, and the solvers find that the hypotheses contradict nothing
        ),
    )


def subset_bound_instance() -> dict[str, Any]:
    """Two planes with equal weights at the start; `c`, `e`: their entries K_12."""

    def probability(entry: str) -> str:
        return f"(2 * ((w + d) / (2 + n * d)) * ((w - {entry} ** 2 / w + d) / (1 + (n - 1) * d)))"

    bound = "n * (n - 1) * ln(1 + s / ((n - 1) * d)) - n * ln(1 + s / (1 + n * d))"
    return instance(
        {"n": 4, "w": "1/2", "c": "1/2", "e": 0, "d": "1/10", "s": "1/100"},
        f"{probability('e')} == 6 * {probability('c')}",
        f"{probability('e')} > exp({bound}) * {probability('c')}",
        f"{bound} < 37 / 100",
        supports="refuted",
    )


def instances_proof() -> dict[str, Any]:
    """n copies of one change, signed and in absolute value."""
    return proof(
        "A = log(1 + s/((n-1)d)) and C = log(1 + s/(1 + nd)) are positive. Component 1 moves by -C, each other by A "
        "- C: (n-1)A - nC in sum (step 1). n of these are not the printed bound (step 2). In absolute values: "
        "(n-1)(A - C) + C; n of these exceed the printed bound for n = 2 (step 3) and are smaller for n > 3 (step 4).",
        identity("one change, signed", "-C + (n - 1) * (A - C) == (n - 1) * A - n * C"),
        smt(
            "n signed changes are less than the printed bound",
            "n >= 2, C > 0",
            "n * ((n - 1) * A - n * C) < n * (n - 1) * A - n * C",
            model="n = 2, C = 1, A = 1",
        ),
        smt(
            "two absolute changes of two items are more than the printed bound",
            "n == 2, C > 0",
            "n * ((n - 1) * (A - C) + C) > n * (n - 1) * A - n * C",
            model="n = 2, C = 1, A = 1",
        ),
        smt(
            "n absolute changes of more than three items are less",
            "n > 3, C > 0",
            "n * ((n - 1) * (A - C) + C) < n * (n - 1) * A - n * C",
            model="n = 4, C = 1, A = 1",
        ),
        supports="refuted",
    )


def repaired_bound_proof() -> dict[str, Any]:
    """k draws with weights |Proj e_i|^2 + d, between any two spans of dimension k."""
    return proof(
        "After t draws V' has a dimension between j = k - t and k (a draw lowers it by at most one) and is "
        "orthogonal to the items drawn, so the squared projections of the m = n - t items that remain add up to that "
        "dimension, and each lies in [0, 1]. With d added, weights lie in [d, 1+d] and totals in [j + md, k + md]. "
        "Step 1: the probability to draw an item next changes by at most (1 + 1/d) k/j between V and W. The "
        "probability of an order of k draws is a product (step 2), that of a set the sum over its orders (step 3). j "
        ">= 1 throughout, so no draw lacks weight.",
        smt(
            "the weight and the total of one draw",
            "d > 0, d <= w <= 1 + d, d <= v <= 1 + d, 1 <= j <= k, m >= 0, X >= j + m * d, 0 < Y <= k + m * d",
            "w * d * j * Y <= (d + 1) * k * v * X",
            model="d = 1, w = 1, v = 1, j = 1, k = 1, m = 0, X = 1, Y = 1",
        ),
        smt(
            "one draw changes by at most (1 + 1/d) k/j",
            "d > 0, w > 0, v > 0, j >= 1, k >= 1, X > 0, Y > 0, p * X == w, q * Y == v, "
            "w * d * j * Y <= (d + 1) * k * v * X",
            "p * (d * j) <= (d + 1) * k * q",
            model="d = 1, w = 1, v = 1, j = 1, k = 1, X = 1, Y = 1, p = 1, q = 1",
        ),
        identity("the factor", "(d + 1) * k / (d * j) == (1 + 1 / d) * (k / j)"),
        *PRODUCT_KEEPS_RATIO,
        *SUM_KEEPS_RATIO,
    )


def jittered_law_proof() -> dict[str, Any]:
    """V = span(e_1): more than |V| items, and items that attract each other."""
    return proof(
        "Weights are 1 + d for item 1 and d for the others, until item 1 is drawn and V' is empty. Two items: both "
        "are returned if item 2 comes first, with probability d/(1+2d) > 0 (step 1), although |V| = 1. Three items: "
        "item 2 is returned if it comes before item 1, at the first draw or after item 3, in sum d/(1+2d) (step 2), "
        "and so is item 3; both are returned in the orders 2, 3, 1 and 3, 2, 1, with probability 2 d/(1+3d) "
        "d/(1+2d), which is more than the product (step 3). For a symmetric kernel K, Pr[2 and 3] = K_22 K_33 - "
        "K_23^2 is at most Pr[2] Pr[3] (step 4).",
        smt("both of two items", "d > 0", "d / (1 + 2 * d) > 0", model="d = 1"),
        identity("item 2 before item 1", "d / (1 + 3 * d) + d / (1 + 3 * d) * (d / (1 + 2 * d)) == d / (1 + 2 * d)"),
        smt(
            "items 2 and 3 attract each other",
            "d > 0",
            "2 * (d / (1 + 3 * d)) * (d / (1 + 2 * d)) > (d / (1 + 2 * d)) ** 2",
            model="d = 1",
        ),
        smt("items of a determinantal process repel each other", "", "f * g - c ** 2 <= f * g"),
        supports="refuted",
    )
