"""The moments and Markov steps in the proof of Theorem 3 (Zheng, section 4.3), each line as printed and repaired.

Theta are the true ratings, X the observed ones on s of mn cells, Z the released ones. r = e^(eps/2): the modified
Laplace mechanism keeps a rating with chance r/(1+r) and creates one with chance 1/(1+r), with noise of scale 2/eps. For
randomized response e = e^eps, ratings are 1 to d. Everything is conditional on X, which may be any observation.
"""

import math
from typing import Any

from dpassay.core.records import Table
from dpassay.experiments.rating_collection.bounds import STARS
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import SUM_KEEPS_RATIO
from dpassay.proofs.notation import Step, derivative, identity, instance, proof, smt
from dpassay.proofs.rating_collection.privacy import EPSILONS

NOISE_MOMENT: tuple[Step, ...] = (
    derivative(
        "second moment of the noise",
        "z",
        "-(z ** 2 + 2 * s * z + 2 * s ** 2) * exp(-z / s)",
        "z ** 2 * exp(-z / s) / s",
    ),
    identity("its antiderivative at 0", "-(0 ** 2 + 2 * s * 0 + 2 * s ** 2) * exp(0) == -2 * s ** 2"),
    identity("with s = 2/eps", "2 * (2 / eps) ** 2 == 8 / eps ** 2"),
)

NOISE_AROUND_ZERO: tuple[Step, ...] = (
    identity("noise around 0", "((theta - z) ** 2 + (theta + z) ** 2) / 2 == theta ** 2 + z ** 2"),
)

UNIFORM_SQUARE: tuple[Step, ...] = (
    identity("sum of 1 to d, one more term", "k * (k + 1) / 2 + (k + 1) == (k + 1) * (k + 2) / 2"),
    identity(
        "sum of squares, one more term",
        "k * (k + 1) * (2 * k + 1) / 6 + (k + 1) ** 2 == (k + 1) * (k + 2) * (2 * k + 3) / 6",
    ),
    identity(
        "mean squared error of a uniform rating",
        "(d * theta ** 2 - 2 * theta * (d * (d + 1) / 2) + d * (d + 1) * (2 * d + 1) / 6) / d "
        "== theta ** 2 - (d + 1) * theta + (d + 1) * (2 * d + 1) / 6",
    ),
    smt(
        "at most (d-1)(2d-1)/6",
        "1 <= theta, theta <= d",
        "theta ** 2 - (d + 1) * theta + (d + 1) * (2 * d + 1) / 6 <= (d - 1) * (2 * d - 1) / 6",
        model="theta = 1, d = 1",
    ),
)

SOME_CELLS: tuple[Step, ...] = (
    smt("kept cells", "r >= 1, cells >= 0, noise >= 0", "r / (1 + r) * (cells * noise) <= cells * noise"),
    smt(
        "created cells",
        "r >= 1, 0 <= observed, observed <= cells, bound >= 0",
        "(cells - observed) / (1 + r) * bound <= cells / (1 + r) * bound",
        model="r = 1, observed = 0, cells = 1, bound = 0",
    ),
)

MARKOV: tuple[Step, ...] = (
    smt(
        "Markov's inequality at one outcome",
        "Y >= 0, t > 0, (hit == 1 and Y > t) or hit == 0",
        "t * hit <= Y",
        model="Y = 0, t = 1, hit = 0",
    ),
    smt(
        "at twice the bound over gamma",
        "bound > 0, gamma > 0, mean <= bound, chance * (2 * bound / gamma) <= mean",
        "chance <= gamma / 2",
        model="bound = 1, gamma = 1, mean = 0, chance = 0",
    ),
)

decide_steps = established(
    "refuted",
    "Five printed equalities are strict inequalities: the mean squared error of a created rating is below "
    "(d-1)^2, and each of the four Markov steps ends in '= gamma/2' where the quotient is strictly smaller, "
    "since only some of the ratings are kept and only some cells created. All of them err on the safe side: "
    "with <= every step holds and so does the theorem.",
    evidence=lambda: shown("Each of the five quotients is strictly smaller.", printed_equalities_proof()),
    repair="RC-T3-S-REP",
)

decide_steps_repaired = established(
    "holds",
    "The second moment of the noise is 8/eps^2, the noise of a created cell is centered at 0, so its error is "
    "Theta^2 more; for randomized response every error is at most d - 1 stars. Sums over cells, the chance to "
    "create, and Markov's inequality give each line of section 4.3 as an inequality.",
    evidence=lambda: [
        shown("Modified Laplace.", laplace_steps_proof()),
        shown("Randomized response.", response_steps_proof()),
    ],
)

decide_range = established(
    "refuted",
    "Something more is needed, a range: section 3 bounds Theta only where a rating is observed. A created rating has "
    "noise around 0, so its mean squared error is Theta^2 + 8/eps^2, which exceeds the bound when |Theta| > 1. The "
    "theorem falls with it: one user, one item, no observed rating and Theta = 100 break (6) and (7) with probability "
    "above 0.37 and 0.64 at eps = 1, gamma = 1/4. With ratings in [-1, 1], or in [1, d], everything holds.",
    evidence=lambda: [
        shown("The moment bounds fail for every larger Theta.", range_violation_proof()),
        *(
            shown(f"eps = 1, gamma = 1/4: ({number}) fails with a larger probability.", range_instance(kind))
            for kind, number in (("laplace", 6), ("response", 7))
        ),
    ],
    repair="RC-RANGE-REP",
)

decide_range_repaired = established(
    "holds",
    "A true rating in [-1, 1] has a square of at most 1, and two numbers between 1 and d differ by at most d - "
    "1. The range is natural for ratings, but a low-rank matrix plus noise need not stay in it: it is an "
    "assumption of Theorem 3.",
    evidence=lambda: shown("Both moment bounds.", range_proof()),
)

decide_created_rating = established(
    "refuted",
    "A created rating is uniform on 1 to d, so its mean squared error is at most (d-1)(2d-1)/6, for 5 stars 6 "
    "instead of 16, and never (d-1)^2. The = should be <=, which is all the proof needs.",
    evidence=lambda: shown(
        "Strictly below (d-1)^2 for every d >= 2 and every true rating.",
        created_rating_proof("refuted"),
        tables=(_created_table(),),
    ),
    repair="RC-EQ-REP",
)

decide_created_rating_repaired = established(
    "holds",
    "The mean of (Theta - j)^2 over j = 1, ..., d is a convex function of Theta, so it is largest at the ends "
    "of the scale, where it is (d-1)(2d-1)/6. For large d that is a third of the printed bound.",
    evidence=lambda: shown(
        "Exact maximum, for every d >= 2.", created_rating_proof("holds"), tables=(_created_table(),)
    ),
)

decide_changed_rating = established(
    "holds",
    "Given that a rating stays a rating, each of the d - 1 other symbols has chance 1/(e^eps + d - 1) and an "
    "error of at most d - 1 stars. The printed factor d/(e^eps + d) is the chance to change without that "
    "condition, missing included; it is larger, so the bound holds although it is not derived. It is at least "
    "2.2 times too large at 5 stars.",
    evidence=lambda: shown(
        "For every d >= 2, eps >= 0 and observed rating.", changed_rating_proof(), tables=(_changed_rating_table(),)
    ),
)


def laplace_steps_proof() -> dict[str, Any]:
    """Moments, sums and Markov steps for modified Laplace, with <=."""
    return proof(
        "The noise is symmetric, so its second moment is the integral of z^2 e^(-z/s)/s over z > 0: the "
        "antiderivative goes from -2 s^2 to 0 (steps 1 and 2), with s = 2/eps (step 3). A created cell releases "
        "noise around 0: averaging over z and -z its squared error is Theta^2 + z^2 (step 4), so at most 1 + "
        "8/eps^2 (step 5). Of s rated cells each is kept with chance r/(1+r) <= 1, of mn - s others each is created "
        "with chance 1/(1+r); sums over cells by induction (steps 6 to 8). Markov: where Y > t the number t is "
        "below Y, else 0 is (step 9), so t Pr[Y > t] <= E Y; with t = 2 bound/gamma that is gamma/2 at most (step "
        "10). The roots in (6) are those thresholds (step 11).",
        *NOISE_MOMENT,
        *NOISE_AROUND_ZERO,
        smt("a true rating's square", "-1 <= theta, theta <= 1", "theta ** 2 + noise <= 1 + noise"),
        smt(
            "one more cell adds at most the bound",
            "total <= j * bound, value <= bound",
            "total + value <= (j + 1) * bound",
            model="total = 0, j = 0, bound = 0, value = 0",
        ),
        *SOME_CELLS,
        *MARKOV,
        smt(
            "the threshold on rated cells is 4/eps sqrt(s/gamma)",
            "eps > 0, gamma > 0, w >= 0, w ** 2 == observed / gamma",
            "(4 / eps * w) ** 2 == 16 * observed / (eps ** 2 * gamma)",
            model="eps = 1, gamma = 1, w = 1, observed = 1",
        ),
    )


def response_steps_proof() -> dict[str, Any]:
    """Moments, sums and Markov steps for randomized response, with <=."""
    return proof(
        "Of ratings that stay ratings, each of the d - 1 others has chance 1/(e+d-1) (see RC-RRX), of created ones "
        "each of d has chance 1/d; every squared error is at most (d-1)^2 (step 1). A cell is changed to a rating "
        "or created with chance at most d/(e+d), so sums over s or mn cells are at most that times (d-1)^2. Markov "
        "as for modified Laplace. In (7) the norm over s rated cells has a threshold of at most that over mn cells, "
        "so twice the latter covers both (last two steps).",
        *_response_moments(),
        smt(
            "one more cell adds at most the bound",
            "total <= j * bound, value <= bound",
            "total + value <= (j + 1) * bound",
            model="total = 0, j = 0, bound = 0, value = 0",
        ),
        smt(
            "created cells",
            "e >= 1, d >= 2, 0 <= observed, observed <= cells, bound >= 0, create * (e + d) == d",
            "(cells - observed) * create * bound <= cells * create * bound",
            model="e = 1, d = 2, observed = 0, cells = 1, bound = 0, create = 2/3",
        ),
        *MARKOV,
        smt(
            "the threshold is (d-1) sqrt(2mnd/((e+d) gamma))",
            "d >= 2, w >= 0, w ** 2 == 2 * cells * d / ((e + d) * gamma), e >= 1, gamma > 0",
            "((d - 1) * w) ** 2 == 2 * cells * d * (d - 1) ** 2 / ((e + d) * gamma)",
            model="d = 2, w = 2, cells = 3, e = 1, gamma = 1",
        ),
        smt(
            "twice the larger threshold covers both",
            "0 <= t, 0 <= w, t ** 2 <= w ** 2",
            "t + w <= 2 * w",
            model="t = 0, w = 0",
        ),
    )


def printed_equalities_proof() -> dict[str, Any]:
    """The five printed equalities are strict inequalities."""
    return proof(
        "Modified Laplace: the mean on rated cells is r/(1+r) s 8/eps^2, on the others at most (mn-s)/(1+r) "
        "(1+8/eps^2); divided by the squared thresholds both are below gamma/2 (steps 1 and 2). Randomized response: a "
        "rated cell adds at most (d-1) (d-1)^2/(e+d), as only d - 1 symbols differ, the others (mn-s) d/(e+d) (d-1)^2 "
        "(steps 3 and 4). A created rating: see RC-EQ (the remaining steps). All assume some observed rating, s > 0.",
        smt(
            "Markov step 1",
            "r >= 1, observed > 0, noise > 0, gamma > 0, kept * (1 + r) == r, "
            "quotient * (2 * observed * noise / gamma) == kept * observed * noise",
            "quotient < gamma / 2",
            model="r = 1, observed = 1, noise = 1, gamma = 1, kept = 1/2, quotient = 1/4",
        ),
        smt(
            "Markov step 2",
            "create > 0, 0 < observed, observed < cells, bound > 0, gamma > 0, "
            "mean <= (cells - observed) * create * bound, quotient * (2 * cells * create * bound / gamma) == mean",
            "quotient < gamma / 2",
            model="create = 1/2, observed = 1, cells = 2, bound = 1, gamma = 1, mean = 1/2, quotient = 1/4",
        ),
        smt(
            "Markov step 3",
            "d >= 2, e >= 1, observed > 0, square > 0, gamma > 0, share * (e + d) == 1, mean <= observed * (d - 1) * "
            "share * square, quotient * (2 * observed * d * share * square / gamma) == mean",
            "quotient < gamma / 2",
            model="d = 2, e = 1, observed = 1, square = 1, gamma = 1, share = 1/3, mean = 1/3, quotient = 1/4",
        ),
        smt(
            "Markov step 4",
            "share > 0, 0 < observed, observed < cells, square > 0, gamma > 0, "
            "mean <= (cells - observed) * share * square, quotient * (2 * cells * share * square / gamma) == mean",
            "quotient < gamma / 2",
            model="share = 1/2, observed = 1, cells = 2, square = 1, gamma = 1, mean = 1/2, quotient = 1/4",
        ),
        *UNIFORM_SQUARE,
        _strictly_below(),
        supports="refuted",
    )


def range_violation_proof() -> dict[str, Any]:
    """Moments beyond the printed bounds for true ratings outside the range."""
    return proof(
        "A created cell has mean squared error Theta^2 + 8/eps^2 (noise around 0), which exceeds 1 + 8/eps^2 for "
        "every |Theta| > 1. With randomized response every created rating is at most d, so a true rating of 2d has "
        "an error of at least d every time, and d^2 > (d-1)^2.",
        *NOISE_AROUND_ZERO,
        smt("modified Laplace", "abs(theta) > 1", "theta ** 2 + noise > 1 + noise"),
        smt(
            "randomized response",
            "d >= 2, theta == 2 * d, 1 <= z, z <= d",
            "(theta - z) ** 2 > (d - 1) ** 2",
            model="d = 2, theta = 4, z = 1",
        ),
        supports="refuted",
    )


def range_instance(kind: str) -> dict[str, Any]:
    """One cell, no rating observed, Theta = 100: the bound fails with probability above gamma.

    Args:
        kind: "laplace" for (6), "response" for (7) with 5 stars.
    """
    if kind == "laplace":
        bound = "sqrt(2 / ((exp(eps / 2) + 1) * gamma) * (1 + 8 / eps ** 2))"
        failure = f"1 / (exp(eps / 2) + 1) * (1 - exp(-(theta - {bound}) * eps / 2) / 2)"
        formulas = [f"{bound} < theta", f"{failure} > gamma", f"{failure} > 37 / 100"]
        values: dict[str, Any] = {"eps": 1, "gamma": "1/4", "theta": 100}
    else:
        bound = "2 * (d - 1) * sqrt(2 * d / ((exp(eps) + d) * gamma))"
        formulas = [f"theta - d > {bound}", "d / (exp(eps) + d) > gamma", "d / (exp(eps) + d) > 64 / 100"]
        values = {"eps": 1, "gamma": "1/4", "theta": 100, "d": STARS}
    return instance(values, *formulas, supports="refuted")


def range_proof() -> dict[str, Any]:
    """Bounded true ratings give the printed moment bounds."""
    return proof(
        "Noise around 0 has mean squared error Theta^2 + 8/eps^2; two numbers between 1 and d differ by at most d - 1.",
        *NOISE_AROUND_ZERO,
        *NOISE_MOMENT,
        smt("modified Laplace", "-1 <= theta, theta <= 1", "theta ** 2 + noise <= 1 + noise"),
        _error_in_stars(),
    )


def created_rating_proof(supports: str) -> dict[str, Any]:
    """Mean squared error of a uniform rating: at most (d-1)(2d-1)/6, below (d-1)^2."""
    return proof(
        "A created rating is uniform on 1, ..., d: given that it is not missing, each has chance 1/d. Sums of j and "
        "j^2 by induction give its mean squared error as a polynomial in the true rating, which for 1 <= Theta <= d "
        "is at most (d-1)(2d-1)/6, with equality at 1 and d, and that is below (d-1)^2 for d >= 2.",
        identity("created ratings are uniform", "(1 / (e + d)) / (d / (e + d)) == 1 / d"),
        *UNIFORM_SQUARE,
        identity("equality at 1", "1 - (d + 1) + (d + 1) * (2 * d + 1) / 6 == (d - 1) * (2 * d - 1) / 6"),
        identity("equality at d", "d ** 2 - (d + 1) * d + (d + 1) * (2 * d + 1) / 6 == (d - 1) * (2 * d - 1) / 6"),
        _strictly_below(),
        supports=supports,
    )


def changed_rating_proof() -> dict[str, Any]:
    """RC-RRX for every d, eps and rating."""
    return proof(
        "Given that a rating stays a rating, each of the d - 1 other symbols has chance 1/(e+d-1) (step 1) and a "
        "squared error of at most (d-1)^2 (step 2), so the mean is at most (d-1)/(e+d-1) (d-1)^2, and (d-1)/(e+d-1) "
        "<= d/(e+d) (step 3). Sums over symbols keep bounds (step 4).",
        *_response_moments(),
        *SUM_KEEPS_RATIO,
    )


def _error_in_stars() -> Step:
    return smt(
        "an error in stars",
        "1 <= theta, theta <= d, 1 <= z, z <= d",
        "(theta - z) ** 2 <= (d - 1) ** 2",
        model="theta = 1, d = 1, z = 1",
    )


def _response_moments() -> tuple[Step, ...]:
    return (
        identity(
            "given that it stays a rating", "(1 / (e + d)) / (e / (e + d) + (d - 1) / (e + d)) == 1 / (e + d - 1)"
        ),
        _error_in_stars(),
        smt(
            "the chance to change",
            "e >= 1, d >= 2, given * (e + d - 1) == d - 1, printed * (e + d) == d",
            "given <= printed",
            model="e = 1, d = 2, given = 1/2, printed = 2/3",
        ),
    )


def _strictly_below() -> Step:
    return smt("strictly below (d-1)^2", "d >= 2", "(d - 1) * (2 * d - 1) / 6 < (d - 1) ** 2")


def _created_table() -> Table:
    rows = []
    for stars in (2, 3, 5, 10):
        squares = [sum((true - star) ** 2 for star in range(1, stars + 1)) / stars for true in (1, (stars + 1) / 2)]
        rows.append([stars, *(f"{value:.4g}" for value in squares), (stars - 1) ** 2])
    return Table(
        "Mean squared error of a created rating",
        ["d", "true rating 1 or d", "true rating in the middle", "printed value"],
        rows,
    )


def _changed_rating_table() -> Table:
    rows = []
    for epsilon in EPSILONS:
        e = math.exp(epsilon)
        exact, bound = 30 / (e + 4), 16 * 5 / (e + 5)
        rows.append([epsilon, f"{exact:.4f}", f"{bound:.4f}", f"{bound / exact:.2f}"])
    title = "Mean squared change of a rating that stays a rating, d = 5, worst rating"
    return Table(title, ["eps", "exact", "printed bound", "ratio"], rows)
