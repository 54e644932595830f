"""Privacy of PriCDR's Gaussian sketch: where Algorithm 1 fails, where it holds, and the exact profile.

Chen et al. (WWW 2022), Theorems 5.1 and 5.2, appendix B.1; docs/theorems/gaussian-sketch.md for the exact profile. R
has n items as rows and m users as columns. "Profile" certificates enclose the exact delta of the sketch, see
`dpassay.replay.profile`; with at least as many items as users Algorithm 1 has the law of the additive sketch of the
centered ratings, so they speak of Algorithm 1 there.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import Step, Theorem, cited, formula, identity, instance, proof, smt
from dpassay.proofs.pricdr.sketch_composition import ALGORITHM_NOISE, EPSILONS, ROW_EPSILON, TASKS
from dpassay.proofs.pricdr.sketch_concentration import EXPONENTIAL_TAIL
from dpassay.proofs.theorems import GAUSSIAN_MECHANISM, RANK_ONE_DETERMINANT, RAYLEIGH, SCHEFFE, ZERO_SET

# The largest (1 + (x + h)^2) / (1 + x^2) is T^2, where T - 1/T = h.
RATIO_BOUND: tuple[Step, ...] = (
    identity(
        "e^asinh(h/2) solves T - 1/T = h",
        "(h / 2 + sqrt(h ** 2 / 4 + 1)) ** 2 - 1 == h * (h / 2 + sqrt(h ** 2 / 4 + 1))",
    ),
    identity(
        "the gap is a square",
        "T ** 2 * (1 + x ** 2) - 1 - (x + T - 1 / T) ** 2 == (T - 1 / T) / T * (T * x - 1) ** 2",
    ),
    smt(
        "the square has a positive factor",
        "T >= 1, h * T == T ** 2 - 1, gap * T == h * (T * x - 1) ** 2",
        "gap >= 0",
        model="T = 1, h = 0, gap = 0, x = 0",
    ),
)

RELEASED_NOISE = "1 / (sqrt(eps / (2 * ln(8 * r * m)) + 1 / 4) - 1 / 2)"


decide_def = established(
    "vacuous",
    "The paper binarizes its ratings, and two different binary ratings are exactly 1 apart, so under the printed "
    "|r - r'| < 1 no matrix has a neighbor and every guarantee holds of any algorithm. Three more slips: the "
    "first and last users and items are left out (1 < i0 < n), 'changed arbitrarily' contradicts the bound, and "
    "'i != i0, j != j0' fixes only the entries that share neither row nor column with the changed one. All other "
    "claims are judged with the reading that makes sense: one rating of any user and item changes by at most 1.",
    evidence=lambda: shown("No two binary ratings are neighbors.", binary_neighbors_proof()),
)

decide_centre = established(
    "holds",
    "Centering stays within one item's row and even shortens the change, to sqrt(1 - 1/m). It has a side effect "
    "that the paper does not mention: centered rows add up to zero, so the matrix never has full column rank. The "
    "released code divides by the number of items instead of users; that too keeps the change in one row.",
    evidence=lambda: shown("Norm of the change of a centered row.", centering_proof()),
)

decide_wlog = established(
    "refuted",
    "Singular values above w do not help when there are fewer of them than users. One item with a rating of 10 w or "
    "more has its only singular value above w, before lifting and after, and still Algorithm 1 publishes a multiple "
    "of that item's centered row: change one other user's rating and the two outputs lie on different lines. What the "
    "proof needs is that the covariance of a published row has full rank, that is n >= m; given that, no further case "
    "is missing, since lifting makes all singular values at least w (CD-T51-DET, CD-T51-QUAD).",
    evidence=lambda: [
        shown("The row space gives the data away whatever the singular values are.", row_space_proof()),
        shown("One item, three users, its singular value ten times w on both sides.", adjacent_singular_values()),
    ],
)


def decide_t51(claim: Claim, context: Context) -> Verdict:
    """CD-T51: one row of the sketch; delta = 1 for n <= m - 2, and within (eps0, delta0) for n >= m."""
    epsilons = EPSILONS[::7] if context.quick else EPSILONS
    full = [
        _guarantee_certificate(task.users, (100, 800), epsilons, one_row=True) for task in _full_rank(context.quick)
    ]
    return decided(
        claim,
        "refuted",
        "Algorithm 1 lifts the n singular values that there are, so with at least two more users than items each "
        "published row lies in the row space of the centered ratings. Of two users with equal ratings every published "
        "column is the same; one rating makes them differ, and then the published columns differ too: delta = 1 at "
        "every epsilon. The paper's task Amazon Movie to Book (29,476 users, 24,091 items) has that shape. The proof "
        "inverts a covariance matrix that has no inverse there. With at least as many items as users one row is "
        "(eps0, delta0)-private in all experiments, with orders of magnitude to spare.",
        evidence=(
            shown(
                "Two neighbors that Algorithm 1 tells apart with certainty, for every n <= m - 2.", row_space_proof()
            ),
            shown("One task of Table 3 has that shape, the others have n >= m.", _shape_instance()),
            *(
                shown(f"{users} users and n >= m: one row is within delta0 at eps0.", certificate)
                for users, certificate in zip((t.users for t in _full_rank(context.quick)), full, strict=True)
            ),
        ),
        repair="CD-T52-REP",
    )


decide_t51_det = established(
    "holds",
    "The square root of the determinant ratio is at most e^asinh(1/(2w)), attained by a single row, and that is "
    "below e^(eps0/2) as soon as w eps0 >= 1. Both w of the paper satisfy this whatever r, delta and epsilon are: "
    "Algorithm 1's w eps0 is sqrt(8) ln(4r/delta) > 3. The printed argument, Lidskii's theorem alone, does not give "
    "the bound: it says how far singular values move together, not what their product does.",
    evidence=lambda: [
        shown("The exact supremum, and its comparison with e^(eps0/2).", determinant_proof()),
        shown(  # sqrt(8) ln(4r/delta) is least for r = 1 and delta = 1, and 2 ln(4/delta0) for the w of B.1 more
            "w eps0 is above 1 whatever r, delta and epsilon are.",
            instance({}, "sqrt(8) * ln(4) > 1", "2 * ln(4) > 1", supports="holds"),
        ),
    ],
)

decide_t51_quad = established(
    "holds",
    "The difference of the quadratic forms has one positive and one negative eigenvalue, at most 1/p and 1/(p+1) "
    "in size with p (p+1) = w^2, whatever the matrices are. Both parts stay below the printed bound except with "
    "probability delta0/4 each, so the statement is true with delta0/2. It needs a covariance of full rank, which "
    "the printed proof takes for granted.",
    evidence=lambda: shown("Bounds on the two eigenvalues, and the tails.", quadratic_proof()),
)


def decide_t52(claim: Claim, context: Context) -> Verdict:
    """CD-T52: false for n <= m - 2 and for very large epsilon; true in the other experiments, with a vast margin."""
    tasks = _full_rank(context.quick)
    rows = (400,) if context.quick else (100, 400, 800)
    epsilons = EPSILONS[::7] if context.quick else EPSILONS
    full = [_guarantee_certificate(task.users, rows, epsilons) for task in tasks]
    large = profile(
        {"r": 100, "m": 16367, "eps": 300000},
        {"d": _record(100, f"{ALGORITHM_NOISE} / sqrt(1 - 2 / m)", "eps")},
        "d > 99 / 100",
        supports="refuted",
    )
    return decided(
        claim,
        "refuted",
        "With at least two more users than items, as in the paper's task Amazon Movie to Book, the published rows lie "
        "in a space that depends on the data, and one rating is recognized with certainty: delta = 1 at every "
        "epsilon. With at least as many items as users the law is that of M R + w N and the exact delta is known: the "
        "guarantee then holds in every experiment of the paper, although the printed composition proves it only up to "
        "epsilon of about ten (CD-COMP), and needs 30 to 100 times less noise. Even then it is not true of every "
        "epsilon: far outside of the experiments, from 50,000 to 150,000 on, Algorithm 1's w is too small.",
        evidence=(
            shown(
                "Two neighbors that Algorithm 1 tells apart with certainty, for every n <= m - 2.", row_space_proof()
            ),
            shown("One task of Table 3 has that shape, the others have n >= m.", _shape_instance()),
            shown("n >= m, 100 rows, epsilon = 300,000: the exact delta exceeds 0.99.", large),
            *(
                shown(f"{task.users} users and n >= m: the exact delta is below 1/m.", certificate)
                for task, certificate in zip(tasks, full, strict=True)
            ),
        ),
        repair="CD-T52-REP",
    )


def decide_t52_released(claim: Claim, context: Context) -> Verdict:
    """CD-T52-REL: what the epsilon on the released code's command line buys."""
    from dpassay.mechanisms.jlt import released_noise
    from dpassay.mechanisms.sketch_profile import exact_epsilon

    rows, users, items = 204, 924, 3916
    # An item with one huge rating; another user's rating changes. Of the change, centered as the code does it, the part
    # orthogonal to the row has squared norm a - b^2/a with a = 1 - 2/n + m/n^2, |b| <= 2/n: at least 1 - 3/n.
    certificate = profile(
        {"r": rows, "m": users, "n": items, "eps": 8},
        {"d": _record(rows, f"{RELEASED_NOISE} / sqrt(1 - 3 / n)", "eps")},
        "d > 1 / 10",
        supports="refuted",
    )
    labels = (1.0, 8.0) if context.quick else (0.25, 1.0, 4.0, 8.0, 64.0)
    lines = []
    for label in labels:
        noise = released_noise(label, 1 / users, rows)
        composed = label * 2 * math.sqrt(rows * math.log(2 * users))
        exact, binary = (exact_epsilon(1 / users, rows, noise, raters) for raters in (None, users - 1))
        lines.append([label, *(float(f"{value:.4g}") for value in (noise, composed, exact, binary))])
    table = Table(
        "Released code, 204 rows, 924 users, delta = 1/924: what its epsilon means for the whole matrix",
        ["epsilon given", "w", "the code's own total", "exact epsilon", "exact, binary ratings, not centered"],
        lines,
    )
    return decided(
        claim,
        "refuted",
        "The code takes its epsilon for that of one of the 204 published rows. With epsilon = 8 on the command line w "
        "is 4.4; the whole matrix then has delta = 0.14 at epsilon = 8 instead of 1/924, and the epsilon that goes "
        "with delta = 1/924 is 15.1. So the number that the user types is too small by a factor of almost two there, "
        "and by two percent at 0.25; the total that the code prints, 627, is too large by a factor of 40. With binary "
        "ratings, where no item has more than 923 other raters, and before centering, the exact epsilon is 14.9, and "
        "for numbers up to 1 it is below the number typed.",
        evidence=shown("Ratings of any size, epsilon = 8: the exact delta is above 0.1.", certificate, tables=(table,)),
        repair="CD-T52-REP",
    )


def decide_t52_repaired(claim: Claim, context: Context) -> Verdict:
    """CD-T52-REP: the exact profile of the additive sketch, and how much less noise it asks for."""
    attained = profile(
        {"w": "66.56"},
        {"limit": _record(400, "w", "1"), "bounded": {**_record(400, "w", "1"), "raters": 10**9}},
        "bounded < limit and bounded > 999 / 1000 * limit",
        supports="holds",
    )
    table = _needed_noise_table(context.quick)
    return decided(
        claim,
        "holds",
        "Revealing M to the attacker leaves one Gaussian shifted by ||M e_i||/w, which gives the upper bound; an item "
        "with a very large row reveals its sketch column anyway, which attains it. The loss is the difference A/p - "
        "B/(p+1) of independent Gamma(r/2) variables with p (p+1) = w^2, so delta is a finite sum. No singular value "
        "decomposition and no condition on the shape are needed, and the noise is 39 to 101 times smaller than "
        "Algorithm 1's at the same epsilon and delta. A whole user with ratings d needs ||d|| times as much.",
        evidence=(
            shown("The shift, its monotonicity, the loss as a difference of Gamma variables.", profile_proof()),
            shown(
                "400 rows, delta = 1/16367: this w is enough, one percent less is not.",
                required_noise_certificate(),
                tables=(table,),
            ),
            shown("A billion raters come within 0.1% of the supremum.", attained),
        ),
    )


def centering_proof() -> dict[str, Any]:
    """The norm of the change of a centered row."""
    return proof(
        "The mean is taken within one item's row, so no other row changes. In the row the changed rating moves by "
        "c (1 - 1/m) and the m - 1 others by -c/m, a vector of squared norm c^2 (1 - 1/m) (step 1), at most 1 for "
        "|c| <= 1 (step 2).",
        identity(
            "squared norm of the change", "(c * (1 - 1 / m)) ** 2 + (m - 1) * (c / m) ** 2 == c ** 2 * (1 - 1 / m)"
        ),
        smt("at most 1", "m >= 1, -1 <= c, c <= 1, v * m == c ** 2 * (m - 1)", "v <= 1", model="m = 1, c = 0, v = 0"),
    )


def binary_neighbors_proof() -> dict[str, Any]:
    """No two binary ratings are neighbors."""
    return proof(
        "Binary ratings that differ do so by 1, which is not less than 1; so no pair satisfies the definition.",
        smt(
            "two different binary ratings are not less than 1 apart",
            "r * (r - 1) == 0, q * (q - 1) == 0, r < q or q < r",
            "not abs(r - q) < 1",
            model="r = 0, q = 1",
        ),
        supports="vacuous",
    )


def row_space_proof() -> dict[str, Any]:
    """delta = 1 for Algorithm 1 with a Gaussian M whenever n <= m - 2."""
    return proof(
        "Let item i be rated 1 by user i and nobody else, i = 1..n, n <= m - 2. Centered, a combination sum c_i (row "
        "i) that vanishes has S = sum c_i = 0 from user m's coordinate -S/m, and then c_i = 0 (step 1): the rank is "
        "n, and the lifted matrix is an invertible matrix times the centered one. Let l(x) = x_m - x_(m-1). On every "
        "centered row l is 0 (step 2), hence on every published row. On the neighbor user m rates item 1 too: l of "
        "that row is 1 (step 3). Lifting multiplies squared singular values by (s + w^2)/s >= 1 (step 4), so the n "
        "values of l on the lifted rows have a squared norm v of at least 1, and l of a published row is Gaussian "
        "with variance v/r > 0 (step 5): not 0, almost surely. The event 'l = 0' has probability 1 on the one matrix "
        "and 0 on the other, for one row or for all, and for every w. Multiplying R by any constant changes nothing.",
        smt(
            "the centered rows are independent",
            "m > 0, -S / m == 0, c - S / m == 0",
            "c == 0",
            model="m = 3, S = 0, c = 0",
        ),
        identity("l of a row that neither of the two users is in", "(0 - 1 / m) - (0 - 1 / m) == 0"),
        identity("l of the changed row", "(1 - 2 / m) - (0 - 2 / m) == 1"),
        smt(
            "lifting lengthens",
            "s > 0, w > 0, a >= 0, b * s == a * (s + w ** 2)",
            "b >= a",
            model="s = 1, w = 1, a = 1, b = 2",
        ),
        smt("the variance is positive", "v >= 1, r >= 1", "v / r > 0", model="v = 1, r = 1"),
        rests_on=[
            cited(
                *ZERO_SET,
                {
                    "l of a published row, linear in M, is not 0 for every M": "the variance is positive",
                    "the entries of M have a density": "claim: M with standard Gaussian entries",
                },
            )
        ],
        supports="refuted",
    )


def adjacent_singular_values() -> dict[str, Any]:
    """One item, three users, ratings (c, 0, 0) and (c, 1, 0) with c = 100 w: different centered directions."""
    rows = (("c", "0", "0"), ("c", "1", "0"))
    centered = [[f"({value} - ({' + '.join(row)}) / 3)" for value in row] for row in rows]
    return instance(
        {"w": 1, "c": 100},
        *(f"{' + '.join(f'{value} ** 2' for value in row)} > (10 * w) ** 2" for row in centered),
        supports="refuted",
    )


def determinant_proof() -> dict[str, Any]:
    """sqrt(det S2 / det S) <= e^asinh(h/2) <= e^(eps0/2) for h = 1/w <= eps0."""
    return proof(
        "With K the covariance of the other rows plus w^2 I >= w^2 I, det S = det K (1 + |p|^2) and det S2 = det K (1 "
        "+ |q|^2), p and q the row before and after, multiplied by K^(-1/2), so |p - q| <= h = 1/w. With x = |p| the "
        "ratio is at most (1 + (x + h)^2)/(1 + x^2). Let T = e^asinh(h/2), the positive root of T - 1/T = h (step 1). "
        "T^2 (1 + x^2) - 1 - (x + h)^2 = (h/T) (T x - 1)^2 >= 0 (steps 2 and 3), so the ratio is at most T^2, "
        "attained at x = 1/T when the other rows are 0. Exchanging the two matrices gives the lower bound. f(e) = "
        "e^(e/2) - e^(-e/2) - e has f(0) = 0 and 2 f' = E + 1/E - 2 >= 0 with E = e^(e/2) (step 4), so E - 1/E >= "
        "eps0 >= h = T - 1/T and T <= E (step 5).",
        *RATIO_BOUND,
        smt("E + 1/E is at least 2", "E > 0", "E ** 2 + 1 >= 2 * E", model="E = 1"),
        smt(
            "T - 1/T grows with T", "T > 0, E > 0, (T ** 2 - 1) * E <= (E ** 2 - 1) * T", "T <= E", model="T = 1, E = 1"
        ),
        rests_on=[cited(*RANK_ONE_DETERMINANT, {"K is invertible": "claim: both covariances have full rank"})],
    )


def quadratic_proof() -> dict[str, Any]:
    """|x'(S^-1 - S2^-1) x| <= 2 (h + h^2) ln(4/delta0) except with probability delta0/2."""
    return proof(
        "Under x ~ N(0, S) the form is (1 - t1) g1^2 + (1 - t2) g2^2 with standard Gaussian g and t1 >= 1 >= t2 the "
        "eigenvalues of S2^-1 S that are not 1. For a vector y of norm 1 after multiplying by K^(1/2), t lies between "
        "the extremes of (1 + a^2)/(1 + b^2) with |a - b| <= h, which are T^2 and T^-2, T - 1/T = h (CD-T51-DET). "
        "With p = 1/(h T) one has p (p+1) = w^2, T^2 - 1 = 1/p and 1 - T^-2 = 1/(p+1) (steps 1 to 3). The form's "
        "parts have opposite signs, so that it is at most the larger one. Pr[g^2 > z] <= e^(-z/2), the tail of a sum "
        "of two such squares (last step), so each part exceeds y = 2 (h + h^2) L, L = ln(4/delta0), with "
        "probability at most e^(-p y/2); p (h + h^2) >= 1 (step 4), hence at most e^-L = delta0/4, and both together "
        "delta0/2.",
        identity("p (p + 1) = 1/h^2", "1 / ((T - 1 / T) * T) * (1 / ((T - 1 / T) * T) + 1) == 1 / (T - 1 / T) ** 2"),
        identity("T^2 - 1 = 1/p", "T ** 2 - 1 == (T - 1 / T) * T"),
        identity("1 - T^-2 = 1/(p + 1)", "(1 - 1 / T ** 2) * (1 / ((T - 1 / T) * T) + 1) == 1"),
        smt(
            "p (h + h^2) is at least 1",
            "p > 0, h > 0, p * (p + 1) * h ** 2 == 1",
            "4 * p * (h + h ** 2) >= 4",
            model="p = 1/3, h = 3/2",
        ),
        *RATIO_BOUND,
        *EXPONENTIAL_TAIL,
        rests_on=[
            cited(
                *RAYLEIGH,
                {
                    "S^(1/2) S2^-1 S^(1/2), which has the same eigenvalues as S2^-1 S, exists": "claim: both "
                    "covariances have full rank",
                    "its form on unit vectors is at most T^2, and at least T^-2 with both matrices exchanged": "the "
                    "square has a positive factor",
                },
            )
        ],
    )


def shift_steps() -> tuple[Step, ...]:
    """delta_GM grows with its shift: (d/dmu) of its two arguments, whose densities agree up to e^epsilon."""
    return (
        identity("loss of a shift by mu", "(x ** 2 - (x - mu) ** 2) / 2 == mu * x - mu ** 2 / 2"),
        identity(
            "e^epsilon times the one density is the other",
            "eps - (mu / 2 + eps / mu) ** 2 / 2 == -((mu / 2 - eps / mu) ** 2) / 2",
        ),
        identity(
            "difference of the two derivatives of the arguments",
            "(1 / 2 + eps / mu ** 2) - (-1 / 2 + eps / mu ** 2) == 1",
        ),
    )


def profile_proof() -> dict[str, Any]:
    """The steps of the exact profile that solvers check; docs/theorems/gaussian-sketch.md has the proof around them."""
    return proof(
        "The other items add the same independent Gaussian matrix to both outputs, so dropping them only helps the "
        "attacker, and so does revealing the sketch column g = M e_i: what is left is w N shifted by g v', a Gaussian "
        "shift by mu = |g| |v|/w, whose loss is step 1 and whose delta is Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - "
        "eps/mu). By steps 2 and 3 its derivative in mu is the density phi(mu/2 - eps/mu) > 0, so |v| = 1 is the "
        "worst; the mean over g gives the upper bound. Attained: other rows 0, row i = a u with u orthogonal to v; "
        "the u-coordinates over a tend to g in law, densities converge, so total variation does (Scheffe, last "
        "two steps), in both "
        "directions. Given g the loss is normal with mean g^2/(2 w^2) and variance g^2/w^2 per row, so its moment "
        "generating function is (1 - (t + t^2)/w^2)^(-r/2), which is step 4 at p (p + 1) = w^2: that of A/p - B/(p + "
        "1). For two rows the finite sum is e^(-p eps)/(2 p + 1) (step 5). A column d changed as a whole shifts by |M "
        "d|/w, |M d| ~ |d| chi_r: the same profile at w/|d|.",
        *shift_steps(),
        identity(
            "the moments of the loss factor", "1 - (t + t ** 2) / (p * (p + 1)) == (1 - t / p) * (1 + t / (p + 1))"
        ),
        identity(
            "two rows",
            "p * (p + 1) / (2 * p + 1) * exp(-p * eps) * (1 / p - 1 / (p + 1)) == exp(-p * eps) / (2 * p + 1)",
        ),
        smt(
            "the variance of the u-coordinates over a tends to that of g",
            "w > 0, a ** 2 * e >= w ** 2, v * a ** 2 == a ** 2 + w ** 2",
            "1 <= v and v <= 1 + e",
            model="a = 1, w = 1, e = 1, v = 2",
        ),
        identity(
            "the limit's covariance, of g and g + w z, has a determinant above 0", "1 * (1 + w ** 2) - 1 == w ** 2"
        ),
        rests_on=[
            shifted_gaussian("claim: with a Gaussian M that does not depend on the data"),
            cited(
                *SCHEFFE,
                {
                    "the densities converge": "the variance of the u-coordinates over a tends to that of g",
                    "the limit has a density": "the limit's covariance, of g and g + w z, has a determinant above 0",
                },
            ),
        ],
    )


def shifted_gaussian(independent: str) -> Theorem:
    """The exact delta of w N shifted by M (R - R'), given M; where the claim says that M does not depend on R."""
    return cited(
        *GAUSSIAN_MECHANISM,
        {
            "M and the noise do not depend on the data": independent,
            "its loss is that of two normal laws mu apart": "loss of a shift by mu",
            "the largest shift has the largest delta": "difference of the two derivatives of the arguments",
        },
    )


def required_noise_certificate() -> dict[str, Any]:
    """r = 400, delta = 1/16367: noise that suffices, 1% less that does not, and Algorithm 1's many times larger."""
    from dpassay.mechanisms.sketch_profile import required_noise

    values: dict[str, Any] = {"m": 16367, "r": 400}
    profiles, formulas = {}, []
    for index, (epsilon, factor) in enumerate((("1/2", 100), ("1", 93), ("8", 69), ("64", 38))):
        enough = Fraction(required_noise(float(Fraction(epsilon)), 1 / 16367, 400)).limit_denominator(10**6)
        enough += Fraction(1, 10**5)
        values |= {f"e{index}": epsilon, f"w{index}": str(enough)}
        profiles[f"enough{index}"] = _record(400, f"w{index}", f"e{index}")
        profiles[f"less{index}"] = _record(400, f"99 / 100 * w{index}", f"e{index}")
        algorithm = ALGORITHM_NOISE.replace("eps", f"e{index}")
        formulas += [f"enough{index} <= 1 / m", f"less{index} > 1 / m", f"{algorithm} > {factor} * w{index}"]
    return profile(values, profiles, *formulas, supports="holds")


def profile(
    values: Mapping[str, Any], profiles: Mapping[str, Mapping[str, Any]], *formulas: str, supports: str
) -> dict[str, Any]:
    """A certificate {"kind", "inputs"} about exact profiles (see `dpassay.replay.profile`)."""
    return {
        "kind": "profile",
        "inputs": {
            "values": dict(values),
            "profiles": {name: dict(record) for name, record in profiles.items()},
            "formulas": [formula(text) for text in formulas],
            "supports": supports,
        },
    }


def _record(rows: int, noise: str, epsilon: str) -> dict[str, Any]:
    return {"rows": rows, "noise": formula(noise), "epsilon": formula(epsilon)}


def _guarantee_certificate(
    users: int, rows: Iterable[int], epsilons: Iterable[str], *, one_row: bool = False
) -> dict[str, Any]:
    """Algorithm 1's w keeps the exact delta below 1/m, or one row's below delta0 at eps0, at every epsilon and r."""
    values: dict[str, Any] = {"m": users}
    profiles, formulas = {}, []
    for i, number in enumerate(rows):
        values[f"r{i}"] = number
        for j, epsilon in enumerate(epsilons):
            values[f"e{j}"] = epsilon
            noise, row_epsilon = (
                text.replace("* r *", f"* r{i} *").replace("eps", f"e{j}") for text in (ALGORITHM_NOISE, ROW_EPSILON)
            )
            name = f"d{i}_{j}"
            profiles[name] = _record(1, noise, row_epsilon) if one_row else _record(number, noise, f"e{j}")
            formulas.append(f"{name} <= 1 / (2 * r{i} * m)" if one_row else f"{name} <= 1 / m")
    return profile(values, profiles, *formulas, supports="holds")


def _shape_instance() -> dict[str, Any]:
    """Which tasks have n <= m - 2, and which n >= m."""
    values: dict[str, Any] = {}
    formulas = []
    for index, task in enumerate(TASKS):
        values |= {f"n{index}": task.items, f"m{index}": task.users}
        short = task.items <= task.users - 2
        formulas.append(f"n{index} <= m{index} - 2" if short else f"n{index} >= m{index}")
    return instance(values, *formulas, supports="refuted")


def _full_rank(quick: bool) -> tuple[Any, ...]:
    tasks = tuple(task for task in TASKS if task.items >= task.users)
    return tasks[:1] if quick else tasks


def _needed_noise_table(quick: bool) -> Table:
    from dpassay.mechanisms.jlt import algorithm_noise
    from dpassay.mechanisms.sketch_profile import fixed_norm_noise, required_noise

    rows, users = 400, 16367
    lines = []
    for epsilon in (0.5, 1.0, 8.0, 64.0) if quick else (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0):
        algorithm, needed = algorithm_noise(epsilon, 1 / users, rows), required_noise(epsilon, 1 / users, rows)
        bounded = required_noise(epsilon, 1 / users, rows, max_raters=users - 1)
        fixed = fixed_norm_noise(epsilon, 1 / users, rows)
        lines.append(
            [epsilon, *(float(f"{value:.5g}") for value in (algorithm, needed, algorithm / needed, bounded, fixed))]
        )
    return Table(
        "Noise w for 400 rows and delta = 1/16367",
        ["epsilon", "Algorithm 1", "exact profile", "ratio", "binary ratings of 16,367 users", "columns of fixed norm"],
        lines,
    )
