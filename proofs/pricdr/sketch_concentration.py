"""How far the norms of a Gaussian sketch stray: Theorem 5.4 and Appendix C.2 of Chen et al. (PriCDR), and the repair.

R~ = M R1 / sqrt(r) with an r x n standard Gaussian M. Let lambda_k be the squared singular values of R1. Then
||R~||_F^2 = sum_k lambda_k X_k / r with independent X_k ~ chi^2_r, and the squared norm of column j is that of R1 times
one chi^2_r / r. Algorithm 1 lifts every singular value: lambda_k = sigma_k^2 + w^2. With one large sigma the sum is one
chi-square variable, which is why no bound that improves with the number m of users can hold. The repair is Chernoff's
bound for one such variable, 2 exp(-r g^2 / 8), which covers every weighted sum too; it is the bound behind the
Johnson-Lindenstrauss lemma (Dasgupta and Gupta 2003; Laurent and Massart 2000 for weighted sums). A page for readers:
docs/theorems/sketch-distortion.md.
"""

import math
from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, established, objections, shown
from dpassay.proofs.lemmas import UNION_BOUND
from dpassay.proofs.notation import Step, cited, derivative, formula, identity, instance, proof, smt
from dpassay.proofs.theorems import CHI_SQUARE_TAILS
from dpassay.replay.formula import enclose
from dpassay.replay.numbers import precision

UPPER_TAIL: tuple[Step, ...] = (
    derivative("slope of g - ln(1+g) - g^2/4", "g", "g - ln(1 + g) - g ** 2 / 4", "g * (1 - g) / (2 * (1 + g))"),
    smt("that slope is not negative up to 1", "0 <= g <= 1", "g * (1 - g) / (2 * (1 + g)) >= 0", model="g = 1/2"),
    identity("and it starts at 0", "0 - ln(1 + 0) - 0 ** 2 / 4 == 0"),
)

LOWER_TAIL: tuple[Step, ...] = (
    derivative("slope of -g - ln(1-g) - g^2/2", "g", "-g - ln(1 - g) - g ** 2 / 2", "g ** 2 / (1 - g)"),
    smt("that slope is not negative below 1", "0 <= g, g < 1", "g ** 2 / (1 - g) >= 0", model="g = 1/2"),
    identity("and it starts at 0", "-0 - ln(1 - 0) - 0 ** 2 / 2 == 0"),
)

LOGARITHM: tuple[Step, ...] = (
    derivative("slope of y - 1 - ln y", "y", "y - 1 - ln(y)", "(y - 1) / y"),
    smt(
        "that slope has the sign of y - 1, so that y - 1 - ln y is least, and 0, at y = 1",
        "y > 0, slope * y == y - 1",
        "(y >= 1 or slope < 0) and (y < 1 or slope >= 0)",
        model="y = 1, slope = 0",
    ),
)

# At least one chi-square variable with 2 degrees of freedom: its tail is e^(-x/2), which the others only enlarge.
EXPONENTIAL_TAIL: tuple[Step, ...] = (
    derivative("the density e^(-x/2)/2 of chi^2_2 has the tail e^(-x/2)", "x", "-exp(-x / 2)", "exp(-x / 2) / 2"),
)


# With r = m and s = sqrt(m): gamma = C sqrt(ln m / m), and ln m = 2 ln s <= 2 (s - 1).
GAMMA_AT_MOST_ONE: tuple[Step, ...] = (
    smt(
        "for every C there is an m with gamma at most 1",
        "C >= 0, s >= 5, s >= 2 * C ** 2, 0 <= ln_m, ln_m <= 2 * (s - 1), g >= 0, g ** 2 * s ** 2 == C ** 2 * ln_m",
        "g <= 1 and s ** 2 >= 25",
        model="C = 0, s = 5, ln_m = 1, g = 0",
    ),
)


def decide_t54(claim: Claim, context: Context) -> Verdict:
    """CD-T54: one large singular value, for every constant C; and at the size of a task."""
    for_all, example = no_exponent_proof(), task_instance()
    values = example["inputs"]["values"]
    return decided(
        claim,
        "refuted",
        "The theorem promises a failure probability that shrinks like r^(-2m), faster with every further user. If half "
        "of the users like the same items, the centered matrix has rank one and the squared norm of the sketch is one "
        "chi-square variable with r degrees of freedom, however many users there are: it fails with probability at "
        "least e^(-r(1+g)), far more. That refutes every constant in gamma = C sqrt(ln m / r), with gamma <= 1, and "
        f"already at the size of Douban Movie to Book (m = {values['m']}, n = {values['n']}, eps = {values['eps']}) "
        f"and C = {values['C']}. The proof multiplies the probabilities of events that share one random matrix "
        "(CD-INT) and takes S inside an intersection it is not in. As printed, with <= in place of >=, the statement "
        "is true of gamma = 0 and promises nothing. It also says w^2 m where only min(n, m) singular values are "
        "lifted. Both forms that are true, for the whole matrix and for all columns at once, are CD-T54-REP.",
        evidence=(
            shown("For every constant C some R, r and m fail.", for_all),
            shown(
                "At a task's true size the failure probability of a rank-one matrix exceeds the promised one; both in "
                "logarithms.",
                example,
                tables=(_failure_table(),),
            ),
        ),
        repair="CD-T54-REP",
    )


def decide_t54_repaired(claim: Claim, context: Context) -> Verdict:
    """CD-T54-REP: Chernoff's bound for weighted sums of chi-squares, and exact values beside it."""
    settings = ((10, "1/2"), (400, "1/10")) if context.quick else ((10, "1/2"), (10, "1"), (100, "1/4"), (400, "1/10"))
    return decided(
        claim,
        "holds",
        "For every matrix, every w and every number of users. The weighted sum of chi-squares that the Frobenius norm "
        "is has no heavier tails than a single one, so the bound of one vector covers the matrix. For all m columns "
        "at once (that is, all users' norms) the union bound costs a factor m, not a power. With r = 400 and m = "
        f"16,367 users every norm is within {math.sqrt(math.log(40 * 16367) / 50):.0%} of its mean with probability "
        "0.95. Note what is preserved: the norm of R1, which is mostly w^2 m at the paper's w, and if all users have "
        "the same ratings, centering leaves R = 0. The exponent cannot grow with m: a rank-one R attains the tail of "
        "one chi-square variable.",
        evidence=(
            shown("Both tails, the weighted sum, and the union bound.", concentration_proof()),
            shown(
                "Exact chi-square tails, attained by rank-one matrices as w tends to 0, lie below the bound.",
                chernoff_instances(settings),
                tables=(_slack_table(settings),),
            ),
        ),
    )


def decide_pc1(claim: Claim, context: Context) -> Verdict:
    """CD-PC1: the sparse half fails for every C; the Gaussian half holds with C = 16."""
    sparse, example, gaussian = sparse_tail_proof(), sparse_tail_instance(), gaussian_tail_proof()
    gaussian_failed = objections(gaussian)
    return decided(
        claim,
        "refuted",
        "For the sparse transform it fails for every constant: with density q = 1/(n r), which Algorithm 1's q = "
        "O(1/m) allows, the whole matrix P has exactly one nonzero entry with probability at least 1/e, and then the "
        "squared norm is that of one Gaussian number: it exceeds (1 + gamma) with probability above 1/25 for every "
        "gamma <= 1, while r^-2 is smaller from r = 5 on. "
        + (
            "For the Gaussian transform it holds with gamma = 16 sqrt(ln m / r) when 2 <= r <= m; without r <= m it "
            "fails there too (m = 1 gives gamma = 0). "
            if not gaussian_failed
            else f"The Gaussian half was not proved: {gaussian_failed}. "
        )
        + "The printed shape n_1 x n'_1 of M is transposed.",
        evidence=(
            shown("The probability that one nonzero entry exceeds the bound, and r^-2.", example),
            shown("For every C there are such r, m, n and q.", sparse),
            *(
                ()
                if gaussian_failed
                else (shown("What is left true: the Gaussian half, with C = 16 and 2 <= r <= m.", gaussian),)
            ),
        ),
        repair="CD-T54-REP",
    )


decide_intersection = established(
    "refuted",
    "Both halves fail with two users. The sum of two norms can be too large because one of them is: the event "
    "lies in the union of the columns' events, not in their intersection. And the columns of the sketch share the "
    "random matrix: for users with opposite centered ratings their norms are nearly one number, so that the "
    "probability of the sum being too large is near that of one column, not near its square. The independent rows "
    "that the proof mentions do not help, since each column's norm adds up all rows.",
    evidence=lambda: shown("Two users, r = 4, exact chi-square probabilities.", intersection_instance()),
    repair="CD-T54-REP",
)

decide_lower_tail = established(
    "refuted",
    "The lower tail fails like the upper one. Two users with opposite centered ratings, r = 4, gamma = 1/2 (that "
    f"is C = {0.5 / math.sqrt(math.log(2) / 4):.2f}): the squared norm falls below half its mean with probability "
    "at least 0.15, where 4^(-4) = 0.004 is promised. A lower tail does exist, e^(-r g^2 / 4), without m "
    "(CD-T54-REP).",
    evidence=lambda: shown("Exact chi-square probabilities of two independent parts.", lower_tail_instance()),
    repair="CD-T54-REP",
)


def concentration_proof() -> dict[str, Any]:
    """Both tails of sum_k lambda_k X_k / r, for any weights, and the union bound over columns."""
    return proof(
        "R~ = M R1 / sqrt(r). Along the right singular vectors of R1 the columns of M U are independent Gaussian, so "
        "||R~||_F^2 = sum_k lambda_k X_k / r with independent X_k ~ chi^2_r. Put p_k = lambda_k / sum lambda, so that "
        "the p_k add up to 1, and Q = sum_k p_k X_k; the claim is about Q / r, and Q = X_1 for a single column. A "
        "function that starts at 0 and has no negative slope is not negative. (1) The Gaussian integral gives E "
        "e^(tX_k) = (1-2t)^(-r/2) for 2t < 1: e^(tz^2) only changes the variance to 1/(1-2t). (2) For 0 <= p <= 1 and "
        "2t < 1, with y = 1 - 2tp > 0: ln x <= x - 1 at x = 1/y and at x = (1-2t)/y, weighted 1-p and p, gives p "
        "ln(1-2t) <= ln y. Summed over k, E e^(tQ) = prod_k (1 - 2t p_k)^(-r/2) <= (1-2t)^(-r/2). (3) Markov's "
        "inequality at t = g/(2(1+g)) gives Pr[Q >= r(1+g)] <= exp(-(r/2)(g - ln(1+g))), at t = -g/(2(1-g)) Pr[Q <= "
        "r(1-g)] <= exp((r/2)(g + ln(1-g))). (4) g - ln(1+g) >= g^2/4 on [0, 1] and -g - ln(1-g) >= g^2/2 on [0, 1) "
        "give e^(-r g^2/8) and e^(-r g^2/4) <= e^(-r g^2/8), together at most 2 e^(-r g^2/8); at g = 1 the lower "
        "event has probability 0. (5) Each column is the case of one weight, and the union bound adds m columns up. "
        "(6) Both tails follow from Lemma 1 of Laurent and Massart too, at x = r g^2/8: the weights p_k, each r times, "
        "have |a|_2^2 = r sum p_k^2 <= r and |a|_inf <= 1 (last steps).",
        identity(
            "the exponent in the Gaussian integral of e^(tz^2)", "t * z ** 2 - z ** 2 / 2 == -(1 - 2 * t) * z ** 2 / 2"
        ),
        *LOGARITHM,
        identity(
            "the two logarithm bounds, weighted, cancel",
            "(1 - p) * (1 / (1 - 2 * t * p) - 1) + p * ((1 - 2 * t) / (1 - 2 * t * p) - 1) == 0",
        ),
        smt(
            "so a weighted factor is at most the weighted power",
            "0 <= p <= 1, -log_y <= b, log_all - log_y <= c, (1 - p) * b + p * c == 0",
            "p * log_all <= log_y",
            model="p = 0, b = 0, c = 0, log_y = 0, log_all = 0",
        ),
        smt(
            "one more weight keeps the bound, and the weights add up to 1",
            "P * all <= sum_of_logs, p * all <= log_y, P + p == total",
            "total * all <= sum_of_logs + log_y",
            model="P = 0, p = 0, all = 0, sum_of_logs = 0, log_y = 0, total = 0",
        ),
        identity("Markov's factor of the upper tail", "1 - 2 * (g / (2 * (1 + g))) == 1 / (1 + g)"),
        identity(
            "the exponent of the upper tail",
            "r / 2 * ln(1 + g) - g / (2 * (1 + g)) * (r * (1 + g)) == -r / 2 * (g - ln(1 + g))",
        ),
        identity("Markov's factor of the lower tail", "1 - 2 * (-g / (2 * (1 - g))) == 1 / (1 - g)"),
        identity(
            "the exponent of the lower tail",
            "r / 2 * ln(1 - g) + g / (2 * (1 - g)) * (r * (1 - g)) == -r / 2 * (-g - ln(1 - g))",
        ),
        *UPPER_TAIL,
        *LOWER_TAIL,
        smt(
            "both tails stay below e^(-r g^2 / 8)",
            "r > 0, g >= 0, upper >= g ** 2 / 4, lower >= g ** 2 / 2",
            "-r / 2 * upper <= -(r * g ** 2) / 8 and -r / 2 * lower <= -(r * g ** 2) / 8",
            model="r = 1, g = 0, upper = 0, lower = 0",
        ),
        *UNION_BOUND,
        smt(
            "the squares of weights add up to at most the square of their sum",
            "squares <= total ** 2, total >= 0, p >= 0",
            "squares + p ** 2 <= (total + p) ** 2",
            model="squares = 0, total = 0, p = 1",
        ),
        smt(
            "Laurent and Massart's upper threshold at x = r g^2 / 8",
            "0 <= g <= 1, x == r * g ** 2 / 8, norm ** 2 <= r, root ** 2 == x, largest <= 1",
            "2 * norm * root + 2 * largest * x <= r * g",
            model="r = 2, g = 1, x = 1/4, norm = 1, root = 1/2, largest = 1",
        ),
        smt(
            "Laurent and Massart's lower threshold at x = r g^2 / 8",
            "g >= 0, x == r * g ** 2 / 8, norm ** 2 <= r, root ** 2 == x",
            "-2 * norm * root >= -(r * g)",
            model="r = 2, g = 1, x = 1/4, norm = 1, root = 1/2",
        ),
        rests_on=[
            cited(
                *CHI_SQUARE_TAILS,
                {
                    "the r n variables are independent standard normal": "claim: M has independent standard Gaussian "
                    "entries",
                    "the weights p_k, r times each, have squares that add up to at most r, and none exceeds 1": "the "
                    "squares of weights add up to at most the square of their sum",
                    "its upper threshold is at most r g": "Laurent and Massart's upper threshold at x = r g^2 / 8",
                    "its lower threshold is at least -r g": "Laurent and Massart's lower threshold at x = r g^2 / 8",
                },
            )
        ],
    )


def no_exponent_proof() -> dict[str, Any]:
    """For every C there are R, r and m with gamma <= 1 whose failure probability exceeds 2 r^(-2m)."""
    return proof(
        "Half of the m users rate n items 1, the others 0: after centering every entry is +-1/2, a matrix of rank one "
        "with F = ||R||_F^2 = n m / 4. With n >= 4 w^2 this is at least w^2 m. The first singular value alone gives "
        "||R~||_F^2 >= (F + w^2) X / r with X ~ chi^2_r, so the upper event has probability at least Pr[X >= r (1+g) "
        "(F + w^2 m) / (F + w^2)] >= Pr[X >= 2 r (1+g)] (step 1). X is a chi^2_2 variable plus one that is not "
        "negative, so this is at least e^(-r(1+g)) (step 2), and e^(-2r) for g <= 1. The theorem wants at most 2 "
        "r^(-2m) = e^(-(2 m ln r - ln 2)). For 8 <= r <= m that is less (last step; the certificate beside decides ln "
        "8 > 2 and ln 2 < 1). For every C there are such r and m with g = C sqrt(ln m / r) <= 1: r = m, s = sqrt(m) "
        "and ln m = 2 ln s <= 2 (s - 1) (steps 3 to 5).",
        smt(
            "a large first singular value leaves at most a factor 2",
            "a >= total_lift, total_lift >= lift, lift > 0, factor * (a + lift) == a + total_lift",
            "factor <= 2",
            model="a = 2, total_lift = 2, lift = 1, factor = 4/3",
        ),
        *EXPONENTIAL_TAIL,
        *LOGARITHM,
        *GAMMA_AT_MOST_ONE,
        smt(
            "the failure probability exceeds the promised one",
            "8 <= r, r <= m, 0 <= g <= 1, ln_r >= 2, ln2 <= 1",
            "r * (1 + g) < 2 * m * ln_r - ln2",
            model="r = 8, m = 8, g = 0, ln_r = 2, ln2 = 1",
        ),
        supports="refuted",
    )


def task_instance() -> dict[str, Any]:
    """Douban Movie to Book with half of the users liking every film, in logarithms: a lower bound against the claim."""
    w_squared = "(32 * r * ln(2 * m) * ln(4 * r * m) ** 2 / eps ** 2)"
    gamma = "C * sqrt(ln(m) / r)"
    return instance(
        {"m": 1574, "n": 9471, "r": 400, "eps": 64, "C": 7},
        f"r * (1 + {gamma}) / 2 * (1 + 4 * {w_squared} / n) < 2 * m * ln(r) - ln(2)",
        f"{gamma} < 1 and ln(8) > 2 and ln(2) < 1",
        supports="refuted",
    )


def intersection_instance() -> dict[str, Any]:
    """Two users, r = 4, gamma = 1/2; F = ||R||_F^2 of one singular value, lifted by w^2."""
    one = "(1 - chi2_cdf(r * (1 + g), r))"
    return instance(
        {"r": 4, "m": 2, "g": "1/2", "F": 1000, "w2": 1, "a": 4, "b": 0},
        # Two columns of mean 1 with squared norms a and b: S happens, S_2 does not. With R1 = w I they are independent.
        "a + b >= (1 + g) * 2 and b < 1 + g",
        "(1 - chi2_cdf(2 * r * (1 + g), r)) * chi2_cdf(r * (1 + g), r) > 0",
        # One large singular value: Pr[S] against the product; every column alone has exactly the probability `one`.
        f"1 - chi2_cdf(r * (1 + g) * (F + m * w2) / (F + w2), r) > {one} ** m",
        supports="refuted",
    )


def lower_tail_instance() -> dict[str, Any]:
    """Two users, r = 4: both singular values' parts are small at once with a probability far above r^(-2m)."""
    first = "((1 - g) * r * (F + m * w2) - w2 * r * (m - 1)) / (F + w2)"
    return instance(
        {"r": 4, "m": 2, "g": "1/2", "F": 1000, "w2": 1},
        f"chi2_cdf({first}, r) * chi2_cdf(r * (m - 1), r * (m - 1)) > 15 / 100",
        "15 / 100 > 1 / r ** (2 * m)",
        supports="refuted",
    )


def chernoff_instances(settings: tuple[tuple[int, str], ...]) -> dict[str, Any]:
    """Exact two-sided chi-square tails at (r, g) against 2 exp(-r g^2 / 8)."""
    texts = [
        f"1 - chi2_cdf({r} * (1 + {g}), {r}) + chi2_cdf({r} * (1 - {g}), {r}) <= 2 * exp(-({r} * ({g}) ** 2 / 8))"
        for r, g in settings
    ]
    return instance({}, *texts, supports="holds")


def sparse_tail_proof() -> dict[str, Any]:
    """For every C there are r = m, n and q = 1/(n r) at which one nonzero entry decides."""
    return proof(
        "u is a unit vector e_1 and n a power of two, so every entry of HDu is +-n^(-1/2). Put N = n r and q = 1/N, "
        "which is at most 1/m when r = m. The N entries of P are nonzero independently; exactly one is, with "
        "probability (1 - 1/N)^(N-1) >= 1/e, since (N-1) ln(N/(N-1)) <= 1 (steps 1 to 3). Then ||v||^2 = Z^2 / (q n "
        "r) = Z^2 with Z standard Gaussian (step 4), and Pr[Z^2 >= 1 + g] >= Pr[Z^2 >= 2] for g <= 1. The formula "
        "certificate gives the product above 1/25 >= r^-2 from r = 5 on. For every C such m exist with g = C sqrt(ln "
        "m / m) <= 1: ln m = 2 ln s <= 2 (s - 1) with s = sqrt(m), and s >= 2 C^2 suffices (step 5).",
        *LOGARITHM,
        smt(
            "(N-1) ln(N/(N-1)) <= 1",
            "N > 1, logarithm <= N / (N - 1) - 1",
            "(N - 1) * logarithm <= 1",
            model="N = 2, logarithm = 0",
        ),
        identity("the squared norm with one nonzero entry", "(Z * sqrt(n * r)) ** 2 * (1 / n) / r == Z ** 2"),
        *GAMMA_AT_MOST_ONE,
        supports="refuted",
    )


def sparse_tail_instance() -> dict[str, Any]:
    """e^-1 Pr[Z^2 >= 2] > 1/25 >= r^-2 from r = 5 on."""
    return instance({"r": 5}, "exp(-1) * (1 - chi2_cdf(2, 1)) > 1 / 25", "1 / 25 >= 1 / r ** 2", supports="refuted")


def gaussian_tail_proof() -> dict[str, Any]:
    """The Gaussian half of Proposition C.1: gamma = 16 sqrt(ln m / r) gives at most r^-2 when 2 <= r <= m."""
    return proof(
        "Pr[X >= r(1+g)] <= exp(-(r/2)(g - ln(1+g))) for X ~ chi^2_r by Chernoff's bound (CD-T54-REP). With s = "
        "sqrt(ln r / r) <= 1 and g >= 16 s, since m >= r, the exponent (r/2) f with f = g - ln(1+g) must be at least "
        "2 ln r = 2 r s^2. Up to g = 1, f >= g^2/4; beyond, f >= g/4, since its slope g/(1+g) is at least 1/2 there "
        "and f(1) = 1 - ln 2 >= 1/4 by the first bound.",
        *UPPER_TAIL,
        derivative("slope of g - ln(1+g) - g/4", "g", "g - ln(1 + g) - g / 4", "g / (1 + g) - 1 / 4"),
        smt("that slope is not negative from 1 on", "g >= 1", "g / (1 + g) - 1 / 4 >= 0", model="g = 1"),
        *LOGARITHM,
        smt(
            "the exponent is at least 2 ln r",
            "0 <= s <= 1, r > 0, g >= 16 * s, g > 1 or f >= g ** 2 / 4, g < 1 or f >= g / 4",
            "r / 2 * f >= 2 * (r * s ** 2)",
            model="s = 0, r = 1, g = 0, f = 0",
        ),
    )


def _failure_table() -> Table:
    """log10 of the failure probability of one chi-square variable (a lower bound), the repair, and the claim."""
    rows = []
    for task, users in (("Douban Book to Music", 924), ("Douban Movie to Book", 1574), ("Amazon Music to Book", 16367)):
        log10 = 1 / math.log(10)
        rows.append(
            [
                task,
                users,
                round(-400 * 1.5 * log10, 1),
                round((math.log(2) - 400 * 0.25 / 8) * log10, 1),
                round((math.log(2) - 2 * users * math.log(400)) * log10, 1),
            ]
        )
    return Table(
        "log10 of the failure probability at r = 400, gamma = 1/2",
        ["task", "m", "rank one, at least", "CD-T54-REP, at most", "claimed, at most"],
        rows,
    )


def _slack_table(settings: tuple[tuple[int, str], ...]) -> Table:
    """The exact two-sided tail of one chi-square variable and the bound, for the reader."""
    tail, bound = (
        formula("1 - chi2_cdf(r * (1 + g), r) + chi2_cdf(r * (1 - g), r)"),
        formula("2 * exp(-(r * g ** 2 / 8))"),
    )
    rows = []
    with precision():
        for r, g in settings:
            values = {"r": Fraction(r), "g": Fraction(g)}
            exact, claimed = (float(enclose(side, values).mid()) for side in (tail, bound))
            rows.append([r, float(Fraction(g)), f"{exact:.3g}", f"{claimed:.3g}"])
    return Table("Two-sided tail of one chi-square variable and its bound", ["r", "g", "exact tail", "bound"], rows)
