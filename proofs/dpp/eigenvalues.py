"""Phase 1 of the sampler, EigenvalueSampling (Fitzsimons et al., sections 3, 3.1.1 and 3.2).

The paper bounds how far the scores log l_i can move in sum, by Delta_u, and charges 2 Delta_u. Both statements are true
in the Frobenius norm and far from tight: one subject changes L by a matrix of rank one, so the true numbers are
log(1 + B^2/s) for the scores and eps* (`dpp_exact_privacy`) for the coins. Eigenvalues are in descending order.
"""

import math
from typing import Any

from dpassay.core.records import Table
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.dpp.determinants import EIGENVALUES_GROW, FORM_GROWS, RANK_ONE, SPECTRAL
from dpassay.proofs.lemmas import PRODUCT_KEEPS_RATIO
from dpassay.proofs.notation import Step, cited, derivative, identity, instance, proof, smt
from dpassay.proofs.theorems import HOFFMAN_WIELANDT

EIGENVALUE_DISTANCES = cited(
    *HOFFMAN_WIELANDT,
    {
        "L and L' are symmetric": "claim: kernel X'X + s I over the items, that of a neighbor",
        "Delta_L bounds the Frobenius norm": "claim: is the Euclidean one of its entries (Frobenius)",
    },
)

decide_exponential_mechanism = established(
    "holds",
    "With score log l for 'in', 0 for 'out' and the exponent eps u/(2 Delta_u) at eps = 2 Delta_u, the choice "
    "between the two has odds l. It is one independent choice per eigenvector, not one choice among them. The "
    "reading fixes the budget: the sampler has no epsilon to set, it spends what the eigenvalues make it spend.",
    evidence=lambda: shown("The two probabilities are equal.", exponential_mechanism_proof()),
)

decide_kernel_sensitivity = established(
    "holds",
    "A subject adds xx' to L, of norm |x|^2, which is the number of items read: at most n, and n for a reader of "
    "everything. For a matrix of rank one the operator and the Frobenius norm agree; for a replaced subject both "
    "stay at most n too. With counts instead of a binary matrix there is no bound.",
    evidence=lambda: shown("Both norms, both kinds of neighbors, every n.", kernel_sensitivity_proof()),
)

decide_squared_eigenvalues = established(
    "refuted",
    "The eigenvalues of L have nothing to do with how much L can change: on an empty database with two items and "
    "s = 1 their squares add up to 2, while Delta_L^2 = n^2 = 4, and with more readers they grow without bound. "
    "What is true, and what the bound needs, is sum_i (l'_i - l_i)^2 <= |L' - L|^2 in the Frobenius norm "
    "(Hoffman and Wielandt 1953), with equality for L = s I.",
    evidence=lambda: shown(
        "Two items, s = 1, no reader: 2 is not 4; with three readers of item 1 it is 4^2 + 1 = 17.",
        instance({"n": 2, "s": 1, "m": 3}, "n * s ** 2 < n ** 2", "(s + m) ** 2 + s ** 2 > n ** 2", supports="refuted"),
    ),
    repair="DP-DU",
)

decide_score_sensitivity = established(
    "holds",
    "True in the Frobenius norm, though the printed argument (gradients are largest near the jitter) is not a proof: "
    "each score moves by at most log(1 + d_i/s), where d_i is how far the eigenvalue moves, the d_i have a Euclidean "
    "norm of at most Delta_L, and a concave function of them is largest when all are equal. In the operator norm, "
    "which the paper writes, it is false (DP-DU-OP), and for one subject it is far from tight (DP-DU-REP).",
    evidence=lambda: shown(
        "For every n; the Hoffman-Wielandt inequality is cited, and proved here for n = 2.",
        score_sensitivity_proof(),
        tables=(_slack_table(),),
    ),
    repair="DP-DU-REP",
)

decide_score_sensitivity_operator = established(
    "refuted",
    "In the operator norm all n eigenvalues can move by the whole of Delta_L, not by Delta_L/sqrt(n): L = s I "
    "and L' = (s + Delta_L) I. The sum of the changes is then n log(1 + Delta_L/s), the right bound in this "
    "norm. (One subject of a dot-product kernel cannot do this.)",
    evidence=lambda: shown("Four items, s = Delta_L = 1.", operator_norm_instance(4)),
    repair="DP-DU-REP",
)

decide_score_sensitivity_sharp = established(
    "holds",
    "One subject raises every eigenvalue, so the sum of the changes is log det L' - log det L = log(1 + x'L^-1 "
    "x), at most log(1 + B^2/s) and equal to it for a longest row on the empty database. With 100 items and s = "
    "1 that is 4.6, where Delta_u is 240.",
    evidence=lambda: shown("For every n; attained.", sharp_sensitivity_proof(), tables=(_slack_table(),)),
)

decide_worst_case = established(
    "refuted",
    "All eigenvalues equal to s means L = s I, all equal to s + c means L' = (s + c) I, and no subject, added, "
    "removed or replaced, changes L by a positive multiple of the identity when there are two items or more: that "
    "needs rank n. For one subject the worst case moves one eigenvalue, from s to s + B^2 (DP-DU-REP). Among all "
    "changes of L with Frobenius norm Delta_L, whoever makes them, the paper's is indeed the worst (DP-DU).",
    evidence=lambda: shown("Two items suffice: their entries contradict each other.", worst_case_proof()),
    repair="DP-DU-REP",
)

decide_phase_one = established(
    "holds",
    "As a guarantee it is true, and loose twice over. The odds of a coin move by l'_i/l_i, so its loss is at "
    "most the change of its score, without the factor 2 (the score of 'out' is always 0); and the sum of the "
    "changes is far below Delta_u (DP-DU-REP). The exact value for phase 1, which is also that of the whole "
    "sampler, is eps* (DP-EPS-REP): 1.25 instead of 11.74 for 5 items and s = 1, 3.93 instead of 480 for 100 "
    "items. It covers which coins fell heads, not their eigenvectors (DP-EVEC).",
    evidence=lambda: shown(
        "The coins are Delta_u-differentially private, so 2 Delta_u too.", phase_one_proof(), tables=(_slack_table(),)
    ),
    repair="DP-EPS-REP",
)


def exponential_mechanism_proof() -> dict[str, Any]:
    """exp(eps u/(2 Delta)) with u = log l and eps = 2 Delta is l."""
    weight = "exp(eps * u / (2 * D))"
    at = weight.replace("eps", "(2 * D)").replace("* u", "* ln(l)")
    return proof(
        "Put eps = 2 D and u = log l into the exponential mechanism's weights of 'in' and 'out'.",
        identity("in", f"{at} / ({at} + 1) == l / (1 + l)"),
        identity("out", f"1 / ({at} + 1) == 1 / (1 + l)"),
    )


def kernel_sensitivity_proof() -> dict[str, Any]:
    """Operator and Frobenius norms of xx' and of xx' - zz' for binary rows."""
    return proof(
        "Let p = |x|^2, at most n as each item adds x_i^2 <= 1 (step 1), and n for ones. The operator norm of xx' is "
        "p: |v'xx'v| = (x.v)^2 <= p|v|^2 with equality at v = x (step 2); its Frobenius norm is p too, since the "
        "squares x_i^2 x_j^2 add up to p^2 (step 3). Replaced: with q = |z|^2 and t = x.z, v'(xx' - zz')v is the "
        "difference of two numbers in [0, n|v|^2] (step 4); the squared Frobenius norm is p^2 - 2t^2 + q^2 (step 5), "
        "and as two sets of p and q items out of n share at least p + q - n, it is at most n^2 (step 6).",
        smt("an item adds at most 1", "x * (1 - x) == 0, A <= m", "A + x ** 2 <= m + 1", model="x = 1, A = 0, m = 0"),
        identity("at v = x", "(p) ** 2 / p == p"),
        identity("the squares of xx', two items", "x ** 4 + 2 * (x * y) ** 2 + y ** 4 == (x ** 2 + y ** 2) ** 2"),
        smt(
            "a difference of two numbers in [0, n w]",
            "0 <= f <= n * w, 0 <= g <= n * w",
            "abs(f - g) <= n * w",
            model="f = 0, g = 0, n = 1, w = 1",
        ),
        identity(
            "the squares of xx' - zz', two items",
            "(x ** 2 - z ** 2) ** 2 + 2 * (x * y - z * w) ** 2 + (y ** 2 - w ** 2) ** 2 == (x ** 2 + y ** 2) ** 2 - "
            "2 * (x * z + y * w) ** 2 + (z ** 2 + w ** 2) ** 2",
        ),
        smt(
            "the Frobenius norm for a replaced subject",
            "0 <= p <= n, 0 <= q <= n, t >= 0, t >= p + q - n",
            "p ** 2 - 2 * t ** 2 + q ** 2 <= n ** 2",
            model="p = 1, q = 0, t = 0, n = 1",
        ),
    )


_CONCAVITY: tuple[Step, ...] = (
    derivative(
        "the tangent of log(1 + y) at m, less log(1 + y)",
        "y",
        "ln(1 + m) + (y - m) / (1 + m) - ln(1 + y)",
        "1 / (1 + m) - 1 / (1 + y)",
    ),
    smt(
        "it falls before m and rises after m",
        "y > -1, m > -1",
        "(y <= m and 1 / (1 + m) - 1 / (1 + y) <= 0) or (y >= m and 1 / (1 + m) - 1 / (1 + y) >= 0)",
        model="y = 0, m = 0",
    ),
)


def score_sensitivity_proof() -> dict[str, Any]:
    """sum |log l' - log l| <= n log(1 + Delta/(s sqrt n)) in the Frobenius norm."""
    return proof(
        "Let d_i = |l'_i - l_i| and y_i = d_i/s. Step 1, with the two eigenvalues exchanged as well: each score "
        "moves by at most log(1 + y_i). Hoffman and Wielandt: the squares of the d_i add up to at most Delta_L^2 "
        "(step 2 is the heart of it for two items, in the eigenbasis of L: the diagonal f, g of L' has the trace of "
        "L' and no entry above its largest eigenvalue; in general the squared entries of an orthogonal matrix are "
        "doubly stochastic). Hence, by Cauchy-Schwarz (step 3, from no items), the y_i add up to at most sqrt(n) "
        "Delta_L/s = n m with m = Delta_L/(s sqrt n) (step 4). The tangent of log(1 + y) at m lies above it (steps 5 "
        "and 6: their difference is 0 and least at m), so the sum of log(1 + y_i) is at most n log(1 + m) plus (sum "
        "of y_i - n m)/(1 + m) <= 0 (step 7).",
        smt(
            "one score moves by at most log(1 + d/s)",
            "s > 0, l >= s, m >= s, d >= abs(m - l)",
            "m <= l * (1 + d / s)",
            model="s = 1, l = 1, m = 1, d = 0",
        ),
        smt(
            "Hoffman-Wielandt for two items: the trace of LL' is at most that of the ordered eigenvalues",
            "l1 >= l2, f + g == m1 + m2, f <= m1",
            "l1 * f + l2 * g <= l1 * m1 + l2 * m2",
            model="l1 = 1, l2 = 0, f = 0, g = 1, m1 = 1, m2 = 0",
        ),
        smt(
            "one more item keeps the squared sum below the number of items times the sum of squares",
            "m >= 1, A ** 2 <= m * Q, Q >= 0",
            "(A + y) ** 2 <= (m + 1) * (Q + y ** 2)",
            model="m = 1, A = 0, Q = 0",
        ),
        identity("n m", "n * (D / (s * sqrt(n))) == sqrt(n) * D / s"),
        *_CONCAVITY,
        smt(
            "what the tangents leave is at most 0",
            "A <= n * m, m >= 0",
            "(A - n * m) / (1 + m) <= 0",
            model="A = 0, n = 1, m = 0",
        ),
        rests_on=[EIGENVALUE_DISTANCES],
    )


def sharp_sensitivity_proof() -> dict[str, Any]:
    """One subject: log(1 + a) in sum. Operator norm: n log(1 + Delta/s)."""
    return proof(
        "L' = L + xx' has l'_i >= l_i for all i (Weyl), so the sum of |log l'_i - log l_i| is the logarithm of the "
        "product of l'_i/l_i, which is det(L')/det(L) = 1 + a (first steps). In the eigenbasis of L, a is the sum of "
        "c_i/l_i with c_i >= 0 adding up to |x|^2 <= N, at most N/s; L = s I and |x|^2 = N give equality. Operator "
        "norm: |l'_i - l_i| <= Delta_L for each i (Weyl), so each score moves by at most log(1 + Delta_L/s), with "
        "equality for L = s I and L' = (s + Delta_L) I.",
        *RANK_ONE,
        *SPECTRAL,
        identity("on the empty database", "N / s == N * (1 / s)"),
        smt(
            "one score moves by at most log(1 + d/s)",
            "s > 0, l >= s, m >= s, d >= abs(m - l)",
            "m <= l * (1 + d / s)",
            model="s = 1, l = 1, m = 1, d = 0",
        ),
        identity("and by that much from s to s + d", "(s + d) / s == 1 + d / s"),
        FORM_GROWS,
        rests_on=[EIGENVALUES_GROW],
    )


def worst_case_proof() -> dict[str, Any]:
    """xx' and xx' - zz' are no positive multiples of the identity, for two items or more."""
    return proof(
        "Suppose L' - L = c I with c > 0. Look at two items. Added: x_1^2 = x_2^2 = c and x_1 x_2 = 0, impossible "
        "(step 1); removed: -x_1^2 = c (step 2). Replaced: with t = x_1 x_2 = z_1 z_2, c^2 = (x_1^2 - z_1^2)(x_2^2 - "
        "z_2^2) = 2t^2 - (x_1 z_2)^2 - (x_2 z_1)^2 (step 3), and the product of the two squares is t^4, so their sum "
        "is at least 2t^2 and c^2 <= 0 (step 4).",
        smt("a subject added", "x * y == 0, c > 0", "not (x ** 2 == c and y ** 2 == c)", model="x = 0, y = 0, c = 1"),
        smt("a subject removed", "c > 0", "not (-(x ** 2) == c)", model="c = 1, x = 0"),
        identity(
            "the product of the two diagonal entries",
            "(x ** 2 - z ** 2) * (y ** 2 - w ** 2) == (x * y) ** 2 + (z * w) ** 2 - (x * w) ** 2 - (y * z) ** 2",
        ),
        smt(
            "it is not positive when the entries beside the diagonal are 0",
            "f * g == t * t",
            "2 * t * t - f ** 2 - g ** 2 <= 0",
            model="f = 0, g = 0, t = 0",
        ),
        supports="refuted",
    )


def phase_one_proof() -> dict[str, Any]:
    """The vector of coins is Delta_u-differentially private."""
    return proof(
        "Let r_i = max(l'_i/l_i, l_i/l'_i), so that |log l'_i - log l_i| = log r_i. Either face of coin i changes "
        "its probability by at most r_i (steps 1 and 2). The coins are independent: the probability of J changes by "
        "at most the product of the r_i (step 3, from no coins), which is e^Delta_u at most by DP-DU, whose steps "
        "follow; an event is a set of such J. Then 2 Delta_u will do too (last step, r = e^Delta_u >= 1).",
        smt(
            "heads",
            "l > 0, m > 0, r >= 1, m <= r * l, l <= r * m",
            "m / (1 + m) <= r * (l / (1 + l))",
            model="l = 1, m = 1, r = 1",
        ),
        smt(
            "tails",
            "l > 0, m > 0, r >= 1, m <= r * l, l <= r * m",
            "1 / (1 + m) <= r * (1 / (1 + l))",
            model="l = 1, m = 1, r = 1",
        ),
        *PRODUCT_KEEPS_RATIO,
        *score_sensitivity_proof()["inputs"]["steps"],
        smt("a factor 2 is not needed", "q >= 0, r >= 1, p <= r * q", "p <= r ** 2 * q", model="q = 1, r = 1, p = 1"),
        rests_on=[EIGENVALUE_DISTANCES],
    )


def operator_norm_instance(items: int) -> dict[str, Any]:
    """L = s I and L' = (s + D) I with s = D = 1."""
    return instance(
        {"n": items, "s": 1, "D": 1}, "n * ln((s + D) / s) > n * ln(1 + D / (s * sqrt(n)))", supports="refuted"
    )


def _slack_table() -> Table:
    from dpassay.mechanisms.dpp import exact_epsilon  # JAX is slow to load

    rows = []
    for items in (2, 5, 10, 100, 1000):
        for jitter in (0.1, 1.0, 100.0):
            printed = items * math.log1p(math.sqrt(items) / jitter)
            numbers = (printed, math.log1p(items / jitter), 2 * printed, exact_epsilon(items, jitter))
            rows.append([items, jitter, *(float(f"{number:.4g}") for number in numbers)])
    columns = ["items", "jitter s", "Delta_u", "exact change of the scores", "2 Delta_u", "exact epsilon"]
    return Table("How loose the bounds are, one subject, binary rows", columns, rows)
