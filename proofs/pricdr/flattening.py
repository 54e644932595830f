"""Randomized Hadamard flattening and its cost: Lemma 5.5, C.3 and section 4.3 of Chen et al. (PriCDR).

u = HDx with entries H_ij = +-n^(-1/2) and independent fair signs D. The lemma is Ailon and Chazelle's (2009); its proof
is Hoeffding's bound for a signed sum, cosh x <= e^(x^2/2), with a union bound over the n m coordinates.
"""

import math
from typing import Any

from dpassay.core.records import Table
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import EXPONENTS_ADD
from dpassay.proofs.notation import derivative, identity, instance, proof, smt
from dpassay.proofs.pricdr.sketch_composition import TASKS

decide_l55 = established(
    "holds",
    "For every number of vectors and of items. The printed proof needs one correction: its bound e^(t^2 n) / 2 of "
    "the moment generating function should read e^(t^2 n / 2). As printed it is below 1 for small t, which no "
    "moment generating function of a symmetric variable is. The lemma uses only that the entries of H are "
    "+-n^(-1/2): it survives where n is no power of two and H, as defined, is not orthogonal (CD-HAD). But then "
    "'the same Euclidean norm' does not hold (CD-ISO). The vectors must not depend on D.",
    evidence=lambda: [
        shown("Hoeffding's bound and the union bound.", flattening_proof()),
        shown(
            "The printed exponent gives a bound below 1 at t = 1/4, n = 4.",
            instance({"t": "1/4", "n": 4}, "exp(t ** 2 * n) / 2 < 1", supports="holds"),
        ),
    ],
    assumptions=("the vectors do not depend on the signs D",),
)

decide_complexity = established(
    "holds",
    "With Algorithm 1's density q <= c/m and r <= m, the sign flips, the fast Hadamard transform and the product "
    "with the sparse matrix take at most (2 + 2c) n m log2(n) operations on average; a dense matrix takes r n m "
    "multiplications. With the densities of the experiments (0.1 to 0.9) the product with P alone takes 2 q r n "
    "m, which no constant times n m log2(n) covers: at q = 0.5, r = 400 it is 400 n m, against 15 n m for the "
    "transform and 800 n m for a dense matrix. And the SVD of line 5 costs more than either.",
    evidence=lambda: shown(
        "The counts, and that a fixed density breaks the bound.", complexity_proof(), tables=(_cost_table(),)
    ),
    assumptions=("q <= c/m for a constant c, and r <= m", "n is padded to a power of two", "only line 15 is counted"),
)


def flattening_proof() -> dict[str, Any]:
    """Pr[max ||HDx||_inf > sqrt(2 ln(40 m n) / n) ||x||_2] <= 1/20 for m fixed vectors."""
    return proof(
        "Scale x to norm 1 (x = 0 is trivial). A coordinate is u_j = n^(-1/2) sum_i s_i x_i with independent fair "
        "signs s_i. (1) cosh x <= e^(x^2/2): for x >= 0 the difference x^2/2 - ln cosh x starts at 0 with slope x - "
        "tanh x, which itself starts at 0 with slope tanh^2 x >= 0; and both sides are even (steps 1 to 5). (2) E "
        "e^(t n u_j) = prod_i cosh(t sqrt(n) x_i) <= prod_i e^(t^2 n x_i^2 / 2) = e^(t^2 n / 2), as the x_i^2 add up "
        "to 1 (steps 6, 7). (3) Markov's inequality at t = a: Pr[u_j >= a] <= e^(-t n a + t^2 n / 2) = e^(-a^2 n / "
        "2), and twice that for |u_j| (step 8). (4) At a^2 = 2 ln(40 m n) / n that is 1/(20 m n), and n coordinates "
        "of m vectors add up to 1/20 (steps 9, 10). (5) A symmetric variable's moment generating function is at least "
        "1, by e^y + e^(-y) >= 2 (step 11), so the printed e^(t^2 n) / 2 is wrong wherever it is below 1.",
        derivative(
            "slope of x^2/2 - ln cosh x",
            "x",
            "x ** 2 / 2 - ln((exp(x) + exp(-x)) / 2)",
            "x - (exp(x) - exp(-x)) / (exp(x) + exp(-x))",
        ),
        identity("which starts at 0", "0 ** 2 / 2 - ln((exp(0) + exp(-0)) / 2) == 0"),
        derivative(
            "slope of x - tanh x",
            "x",
            "x - (exp(x) - exp(-x)) / (exp(x) + exp(-x))",
            "((exp(x) - exp(-x)) / (exp(x) + exp(-x))) ** 2",
        ),
        identity("which starts at 0 too", "0 - (exp(0) - exp(-0)) / (exp(0) + exp(-0)) == 0"),
        smt("a square is not negative", "", "tanh ** 2 >= 0"),
        identity("one factor's exponent", "(t * n * (x / sqrt(n))) ** 2 / 2 == t ** 2 * n * x ** 2 / 2"),
        *EXPONENTS_ADD,
        identity("the exponent at t = a", "-a * n * a + a ** 2 * n / 2 == -(a ** 2) * n / 2"),
        identity("at the lemma's threshold", "2 * exp(-(2 * ln(40 * m * n) / n) * n / 2) == 1 / (20 * m * n)"),
        identity("all coordinates together", "n * m * (1 / (20 * m * n)) == 1 / 20"),
        smt("e^y + e^(-y) >= 2", "u > 0, v > 0, u * v == 1", "u + v >= 2", model="u = 1, v = 1"),
    )


def complexity_proof() -> dict[str, Any]:
    """(2 + 2c) n m log2(n) operations at q <= c/m; no constant covers a fixed density."""
    return proof(
        "Per user: n sign changes, n log2(n) additions of the fast Hadamard transform (n a power of two, n >= 2, so "
        "that L = log2(n) >= 1), and q r n nonzero entries of P on average, a multiplication and an addition each. A "
        "transform of twice the length is two of them and 2n additions (step 4). "
        "With q <= c/m and r <= m, q r <= c (step 1), so a user costs at most (2 + 2c) n L (step 2). Step 3: with q "
        "fixed, r above K L / (2 q) makes the product with P alone exceed K n L per user, for every constant K.",
        smt(
            "few nonzero entries per column",
            "m >= 1, 0 < r <= m, 0 <= q, q * m <= c",
            "q * r <= c",
            model="m = 1, r = 1, q = 0, c = 0",
        ),
        smt(
            "the operations per user",
            "n >= 2, L >= 1, c >= 0, 0 <= entries <= c, cost == n + n * L + 2 * (entries * n)",
            "cost <= (2 + 2 * c) * (n * L)",
            model="n = 2, L = 1, c = 0, entries = 0, cost = 4",
        ),
        smt(
            "a fixed density exceeds every constant",
            "n >= 2, L >= 1, K > 0, q > 0, 2 * (q * r) > K * L, cost >= 2 * (q * r) * n",
            "cost > K * (n * L)",
            model="n = 2, L = 1, K = 1, q = 1, r = 1, cost = 4",
        ),
        identity("n log2(n) additions for twice the length", "2 * (n * L) + 2 * n == (2 * n) * (L + 1)"),
    )


def _cost_table() -> Table:
    """Operations per rating-matrix entry (divide by n m), r = 400, n padded for the transform."""
    rows = [
        [t.name, t.items, math.ceil(math.log2(t.items)) + 1, *(round(2 * q * 400) for q in (0.1, 0.5, 0.9)), 800]
        for t in TASKS
    ]
    return Table(
        "Operations of line 15 per entry of R, r = 400",
        ["task", "n", "HD", "P at sp 0.1", "P at sp 0.5", "P at sp 0.9", "dense M"],
        rows,
    )
