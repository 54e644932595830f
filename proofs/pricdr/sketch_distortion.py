"""Second moments of a Gaussian sketch: Proposition 5.3 and Appendix C.1 of Chen et al. (PriCDR), and the repair.

R~ = M R1 / sqrt(r) with an r x n standard Gaussian M and S = R1'R1 = R'R + w^2 I, so that r R~'R~ is a Wishart matrix
with r degrees of freedom and scale S. Its mean is r S, and its second moments follow from two integrals, E z^2 = 1 and
E z^4 = 3: E ||R~'R~ - R'R||_F^2 = w^4 m + ((tr S)^2 + tr S^2) / r. The paper bounds the norm of the mean instead of the
mean of the norm, and takes ||w^2 I||^2 for w^2 m. A page for readers: docs/theorems/sketch-distortion.md.
"""

import math
from typing import Any

from dpassay.core.records import Table
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.notation import Step, cited, derivative, identity, instance, possible, proof, smt
from dpassay.proofs.pricdr.sketch_composition import TASKS
from dpassay.proofs.theorems import ISSERLIS, ZERO_SET

# Of z standard Gaussian: each total derivative integrates to 0 over the line, so that the moments are 0, 1, 0 and 3.
GAUSSIAN_MOMENTS: tuple[Step, ...] = (
    derivative("E z = 0", "z", "-exp(-z ** 2 / 2)", "z * exp(-z ** 2 / 2)"),
    derivative("E z^2 = 1", "z", "-z * exp(-z ** 2 / 2)", "(z ** 2 - 1) * exp(-z ** 2 / 2)"),
    derivative("E z^3 = 0", "z", "-(z ** 2 + 2) * exp(-z ** 2 / 2)", "z ** 3 * exp(-z ** 2 / 2)"),
    derivative("E z^4 = 3", "z", "-(z ** 3 + 3 * z) * exp(-z ** 2 / 2)", "(z ** 4 - 3) * exp(-z ** 2 / 2)"),
)

PAIRINGS = cited(
    *ISSERLIS,
    {
        "entries of M are jointly normal of mean 0, uncorrelated": "claim: M has independent standard Gaussian entries",
        "each has variance 1": "E z^2 = 1",
        "so that its fourth moment is that of three pairings": "E z^4 = 3",
    },
)

# v is the variance of one row's contribution, v / r that of the mean of r rows.
ONE_MORE_ROW: tuple[Step, ...] = (
    identity(
        "the variance of the mean of one more row", "(r / (r + 1)) ** 2 * (v / r) + v / (r + 1) ** 2 == v / (r + 1)"
    ),
)

EPSILONS = ("1/2", "1", "2", "4", "8", "16", "32", "64")


def paper_w(epsilon: float, rows: int, users: int) -> float:
    """w of Algorithm 1, line 4, with delta = 1 / users; float64, for tables only."""
    return math.sqrt(32 * rows * math.log(2 * users)) * math.log(4 * rows * users) / epsilon


decide_p53 = established(
    "refuted",
    "The mean squared error is at least w^4 (1 + 2/r) in the spectral norm and at least w^4 m (1 + 2/r) in the "
    "Frobenius norm, for every R with n >= m. The printed bound w^2 m is smaller as soon as w^2 (1 + 2/r) > m "
    "(Frobenius: > 1), as at Douban Movie to Book for each of the paper's privacy parameters eps; the second "
    "printed bound fails there too up to eps = 8. The proof has three gaps: it bounds the norm of the expected "
    "error, not the expected norm (the fluctuation is the larger part); it takes w^2 m for the squared norm of "
    "w^2 I, which is w^4 (Frobenius w^4 m); and 16 r^2 is Algorithm 1's 32 r only for r = 2.",
    evidence=lambda: [
        shown("The lower bound for every R with n >= m, and when the two constants agree.", lower_bound_proof()),
        shown(
            "The lower bound exceeds both printed bounds at the settings of the experiments.",
            task_instance(),
            tables=(_error_table(),),
        ),
    ],
    repair="CD-P53-REP",
)

decide_p53_repaired = established(
    "holds",
    "An exact formula for every R, r and w, with R after centering. The first term is the bias that w adds, the rest "
    "the fluctuation of r random directions. At the paper's settings the second dominates: with R = 0 it is (m + 1)/r "
    "times the first, which is 41 times at m = 16,367 and r = 400. More rows do not help, since Algorithm 1's w^2 "
    "grows with r: the standard deviation of an estimated squared distance between two users, (D + 2 w^2) sqrt(2/r), "
    "rises like sqrt(r), and at eps = 1 it is above any distance D <= n that binary ratings can have (second table). "
    "If n < m only n singular values are lifted, and both w^2 I in S and w^4 m lose the part outside the row space.",
    evidence=lambda: shown(
        "Gaussian moments, one pair of entries, the mean of r rows, and bias.",
        second_moment_proof(),
        tables=(_error_table(), _distance_table()),
    ),
)

decide_expectation = established(
    "refuted",
    "With the factor 1/r that C.1 prints the mean is R1'R1 / r, too small by a factor r. With Algorithm 1's "
    "1/sqrt(r) it is R1'R1, as the rest of the proof needs. The moment that is quoted, E[M_ij M_jk] = delta_jk, "
    "is false as well: at i = 1, j = k = 2 it is the product of two independent entries and has mean 0. What is "
    "true and suffices is E[M_ki M_kj] = delta_ij. M is no Gaussian orthogonal ensemble, which is symmetric.",
    evidence=lambda: shown("Both printed forms fail; the true mean.", expectation_proof()),
    repair="CD-P53-REP",
)

decide_singular_vectors = established(
    "refuted",
    "Line 6 of Algorithm 1 keeps the singular vectors, but what it publishes is the product with a random matrix. "
    "Already with two users the right singular vectors of the published matrix are those of R only if a sum of "
    "products of independent Gaussian numbers is exactly 0, an event of probability 0; the entry that would have "
    "to vanish has mean square s1^2 s2^2 / r. Only the mean of R~'R~ keeps them. Where w is far above the "
    "singular values of R, as at the paper's settings, R1 is nearly w times an isometry and the published "
    "directions are nearly random.",
    evidence=lambda: shown("The entry that would have to vanish, and its size.", singular_vector_proof()),
    repair="CD-P53-REP",
)


def second_moment_proof() -> dict[str, Any]:
    """E ||R~'R~ - R'R||_F^2 = w^4 m + ((tr S)^2 + tr S^2) / r."""
    return proof(
        "R~'R~ is the mean of r independent matrices y y', y ~ N(0, S), one for each row of M. Steps 1 to 4 integrate "
        "to the moments of a standard Gaussian z: the antiderivatives vanish at both ends. Write two entries of y as "
        "y_i = a z_1, y_j = b z_1 + c z_2 with S_ii = a^2, S_ij = a b, S_jj = b^2 + c^2. Step 5 expands (y_i y_j)^2; "
        "with the moments, E (y_i y_j)^2 = 3 a^2 b^2 + a^2 c^2 = S_ii S_jj + 2 S_ij^2 (step 6, in which i = j is the "
        "case b = a, c = 0), and E y_i y_j = a b = S_ij. So the entry y_i y_j has variance S_ii S_jj + S_ij^2 (step "
        "7), its mean over r rows 1/r of that (step 8, by induction), and the sum over all i and j is ((tr S)^2 + tr "
        "S^2) / r (step 9 adds one entry of the diagonal to (tr S)^2). The error against R'R = S - w^2 I is the "
        "deviation d from the mean plus a constant; the mixed term has mean 0 (step 10), and the constants' squares "
        "add up to m w^4 (step 11). The squared spectral norm of a symmetric matrix is the largest squared "
        "eigenvalue, at most their sum (step 12). Distances of users: for a fixed u, u'y is Gaussian with variance "
        "u'Su, so by the same steps u'R~'R~u has variance 2 (u'Su)^2 / r.",
        *GAUSSIAN_MOMENTS,
        identity(
            "the square of a product of two entries",
            "(a * z1 * (b * z1 + c * z2)) ** 2 == a ** 2 * b ** 2 * z1 ** 4 + 2 * a ** 2 * b * c * z1 ** 3 * z2 "
            "+ a ** 2 * c ** 2 * z1 ** 2 * z2 ** 2",
        ),
        identity(
            "its mean in terms of S",
            "3 * a ** 2 * b ** 2 + 2 * a ** 2 * b * c * 0 * 0 + a ** 2 * c ** 2 * 1 * 1 "
            "== a ** 2 * (b ** 2 + c ** 2) + 2 * (a * b) ** 2",
        ),
        identity("the variance of that product", "(Sii * Sjj + 2 * Sij ** 2) - Sij ** 2 == Sii * Sjj + Sij ** 2"),
        *ONE_MORE_ROW,
        identity(
            "one more entry of the diagonal adds its products with all others, twice, to (tr S)^2",
            "(T + s) ** 2 == T ** 2 + 2 * T * s + s * s",
        ),
        identity("deviation and bias", "(d + bias) ** 2 == d ** 2 + 2 * bias * d + bias ** 2"),
        identity("one more user adds w^4 of bias", "m * w ** 4 + (w ** 2) ** 2 == (m + 1) * w ** 4"),
        smt(
            "the largest squared eigenvalue is at most the sum",
            "0 <= largest <= total, x >= 0",
            "max(largest, x) <= total + x",
            model="largest = 0, total = 0, x = 0",
        ),
        rests_on=[PAIRINGS],
    )


def lower_bound_proof() -> dict[str, Any]:
    """For every R the mean squared error is at least w^4 (1 + 2/r), above w^2 m once w^2 (1 + 2/r) > m."""
    return proof(
        "Let n >= m, so that all m directions are lifted. Take one diagonal entry of R~'R~ - R'R: with s = S_11 >= "
        "w^2 it is (s/r) sum_k z_k^2 - (s - w^2). A matrix's spectral norm is at least each of its entries, so its "
        "mean square is at least E of the square of this entry; the squared Frobenius norm is at least the sum over "
        "the m diagonal entries. By steps 1 to 4 z^2 has mean 1 and variance 3 - 1, so the entry has mean w^2 and "
        "variance 2 s^2 / r (steps 5, 6): mean square w^4 + 2 s^2 / r >= w^4 (1 + 2/r) (step 7). Steps 8 and 9: that "
        "exceeds w^2 m when w^2 (1 + 2/r) > m, and summed over m users when w > 1. With R = 0 and m = 1 nothing is "
        "lost, and the error is exactly w^4 (1 + 2/r). Step 10: the two printed forms of w^2 m agree only for r = 2.",
        *GAUSSIAN_MOMENTS,
        identity("the variance of z^2", "3 - 1 ** 2 == 2"),
        *ONE_MORE_ROW,
        smt(
            "the entry's mean square is at least w^4 (1 + 2/r)",
            "r >= 1, w > 0, s >= w ** 2, square * r == w ** 4 * r + 2 * s ** 2",
            "square * r >= w ** 4 * (r + 2)",
            model="r = 1, w = 1, s = 1, square = 3",
        ),
        smt(
            "which exceeds w^2 m in the spectral norm",
            "r >= 1, w > 0, m >= 1, w ** 2 * (r + 2) > m * r, square * r >= w ** 4 * (r + 2)",
            "square > w ** 2 * m",
            model="r = 1, w = 1, m = 1, square = 3",
        ),
        smt(
            "and in the Frobenius norm",
            "r >= 1, w > 1, m >= 1, square * r >= m * (w ** 4 * (r + 2))",
            "square > w ** 2 * m",
            model="r = 1, w = 2, m = 1, square = 48",
        ),
        smt(
            "32 r = 16 r^2 only for r = 2",
            "r > 0, L > 0, 32 * r * L == 16 * r ** 2 * L",
            "r == 2",
            model="r = 2, L = 1",
        ),
        rests_on=[PAIRINGS],
        supports="refuted",
    )


def task_instance() -> dict[str, Any]:
    """Both printed bounds at Douban Movie to Book (m = 1,574 users), r = 400, delta = 1/m."""

    def w_squared(factor: str, epsilon: str) -> str:
        return f"({factor} * ln(2 * m) * ln(4 * r * m) ** 2 / ({epsilon}) ** 2)"

    texts = [
        f"{w_squared('32 * r', epsilon)} ** 2 * (1 + 2 / r) > {w_squared('32 * r', epsilon)} * m"
        for epsilon in EPSILONS
    ]
    texts += [
        f"{w_squared('32 * r', epsilon)} ** 2 * (1 + 2 / r) > {w_squared('16 * r ** 2', epsilon)} * m"
        for epsilon in EPSILONS[:5]
    ]
    return instance({"m": 1574, "r": 400}, *texts, supports="refuted")


def expectation_proof() -> dict[str, Any]:
    """E[R~'R~] = S / r with the factor 1/r; E[M_12 M_22] = 0."""
    return proof(
        "Steps 1 to 4: E z = 0 and E z^2 = 1. Entries of M are independent, so E[M_ki M_kj] is 1 for i = j and E z E "
        "z = 0 else, and E[M'M] = r I. Then R1' M'M R1 has mean r S: times (1/r)^2 that is S / r, times (1/sqrt(r))^2 "
        "it is S (steps 5, 6). Step 7: S / r is not S for r >= 2. At i = 1, j = k = 2 the quoted moment is E M_12 E "
        "M_22 = 0, and delta_22 = 1 (step 8).",
        *GAUSSIAN_MOMENTS,
        identity("with the factor 1/r of C.1", "r * s * (1 / r) ** 2 == s / r"),
        identity("with the factor 1/sqrt(r) of Algorithm 1", "r * s * (1 / sqrt(r)) ** 2 == s"),
        smt(
            "the printed factor is wrong for r >= 2",
            "r >= 2, s > 0, mean * r == s",
            "mean < s",
            model="r = 2, s = 2, mean = 1",
        ),
        smt(
            "the quoted moment is wrong",
            "first == 0, second == 0, moment == first * second, delta_22 == 1",
            "moment < delta_22",
            model="first = 0, second = 0, moment = 0, delta_22 = 1",
        ),
        rests_on=[PAIRINGS],
        supports="refuted",
    )


def singular_vector_proof() -> dict[str, Any]:
    """In the basis of R's right singular vectors, R~'R~ has an off-diagonal entry that is 0 with probability 0."""
    return proof(
        "Two users, singular values s1 >= s2 > 0 of R1 (line 6 makes both at least w > 0), coordinates in the basis "
        "of R's right singular vectors, in which row k of M U is (x_k, z_k), independent standard Gaussian. The "
        "off-diagonal entry of R~'R~ is s1 s2 p / r with p = sum_k x_k z_k. R's vectors are singular vectors of R~ "
        "only if that entry is 0, so only if p = 0 (step 1): a polynomial that is not 0 everywhere (last step) of "
        "variables with a density, so the probability is 0. By steps 2 to 5 each product x_k z_k has mean 0 and mean "
        "square 1; r of them add up to mean square r (step 6), so the entry has mean square s1^2 s2^2 / r (step 7).",
        smt(
            "the entry vanishes only with p",
            "s1 > 0, s2 > 0, r >= 1, entry * r == s1 * s2 * p, p > 0 or p < 0",
            "entry > 0 or entry < 0",
            model="s1 = 1, s2 = 1, r = 1, p = 1, entry = 1",
        ),
        *GAUSSIAN_MOMENTS,
        identity("one more product", "P + 2 * Q * 0 + 1 * 1 == P + 1"),
        identity("the entry's mean square", "(s1 * s2 / r) ** 2 * r == s1 ** 2 * s2 ** 2 / r"),
        possible("p is not 0 everywhere", "p == x * z, p > 0", model="x = 1, z = 1, p = 1"),
        rests_on=[
            cited(
                *ZERO_SET,
                {
                    "p is a polynomial that is not 0 everywhere": "p is not 0 everywhere",
                    "its variables have a density": "claim: M has independent standard Gaussian entries",
                },
            ),
            PAIRINGS,
        ],
        supports="refuted",
    )


def _error_table() -> Table:
    """Orders of magnitude at R = 0, where nothing but the noise is in the error."""
    rows = []
    for task, users, epsilon in (
        ("Douban Movie to Book", 1574, 1),
        ("Douban Movie to Book", 1574, 64),
        ("Amazon Music to Book", 16367, 1),
        ("Amazon Music to Book", 16367, 64),
    ):
        w = paper_w(epsilon, 400, users)
        exact = w**4 * users * (1 + (users + 1) / 400)
        printed = 16 * 400**2 / (32 * 400) * w**2 * users
        rows.append([task, epsilon, round(w, 1), f"{w**2 * users:.2e}", f"{printed:.2e}", f"{exact:.2e}"])
    return Table(
        "Mean squared Frobenius error at R = 0, r = 400, delta = 1/m",
        ["task", "eps", "w", "printed w^2 m", "printed 16 r^2 ... m", "exact"],
        rows,
    )


def _distance_table() -> Table:
    """The standard deviation (D + 2 w^2) sqrt(2/r) of a squared distance D of two users, at D = 0."""
    rows = []
    for task in TASKS:
        for epsilon in (1, 64):
            noise = [2 * paper_w(epsilon, rank, task.users) ** 2 * math.sqrt(2 / rank) for rank in (100, 400, 800)]
            rows.append([task.name, task.items, epsilon, *(f"{value:.3g}" for value in noise)])
    return Table(
        "Standard deviation of the squared distance of two equal users (D = 0), with Algorithm 1's w",
        ["task", "largest D (n)", "eps", "r = 100", "r = 400", "r = 800"],
        rows,
    )
