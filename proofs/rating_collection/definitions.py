"""Definitions 1 to 3 of Zheng read to the letter, what "conjugate" can mean, and better chances to keep and create.

r = e^(eps/2), keep = r/(1+r) and create = 1/(1+r) in Definition 2; the Laplace noise has scale s = 2/eps. In Definition
3, e = e^eps and d is the number of stars.
"""

import math
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.experiments.rating_collection.bounds import Shape
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.lemmas import POST_PROCESSING
from dpassay.proofs.notation import Step, derivative, identity, instance, possible, proof, smt
from dpassay.proofs.rating_collection.privacy import DENSITIES, EPSILONS, theorem1_proof, theorem2_proof

decide_one_noise = established(
    "refuted",
    "With one zeta for all entries a rated and a missing entry never turn the same way: the event 'exactly one "
    "of the two is missing' has probability 0 for (0, 0) and 1 for (0, ?), whatever eps, so the loss is "
    "infinite and the release shows which items were rated. With one xi, the differences of the kept ratings "
    "are exact as well. Theorem 1 holds when the noise is fresh for every entry, as its author surely meant.",
    evidence=lambda: shown(
        "For every eps: probability 1 against 0.",
        one_noise_proof(),
        tables=(
            Table(
                "Two entries, one pair (xi, zeta): chance of each pattern",
                ["vector", "number, number", "?, ?", "exactly one ?"],
                [["(0, 0)", "keep", "1 - keep", "0"], ["(0, ?)", "0", "0", "1"]],
            ),
        ),
    ),
    repair="RC-T1: independent noise per entry",
)

decide_noise_by_value = established(
    "refuted",
    "Definition 3 indexes the noise by the value of the entry, so two entries with the same rating always get the "
    "same output. (0 stands for missing.) The event 'the two outputs differ' has probability 0 for (0, 0) and 1 - (2 "
    "e^eps + d - 1)/(e^eps + d)^2 > 0 for (0, 1): the loss is infinite for every eps, and the release shows which "
    "ratings are equal. One entry alone is eps-differentially private; Theorem 2 holds with a fresh draw per entry.",
    evidence=lambda: [
        shown(
            "For every eps and d: probability 0 against a positive one.",
            noise_by_value_proof(),
            tables=(_different_outputs_table(),),
        ),
        shown("At eps = 1, d = 5 the chance is 0 against more than 0.84.", noise_by_value_instance()),
    ],
    repair="RC-T2: an independent draw per entry",
)

decide_epsilon_zero = established(
    "refuted",
    "At eps = 0 the noise of Definition 2 has scale 2/0, which no number is, and there is no limit either: the "
    "chance of every bounded interval tends to 0 with eps. Definition 3 is fine at eps = 0, where it is "
    "uniform, and Definition 1 asks for eps > 0 anyway. The bound (6) divides by eps too.",
    evidence=lambda: shown("No scale exists, and no limit of the laws.", epsilon_zero_proof()),
    repair="RC-EPS0-REP",
)

decide_epsilon_positive = established(
    "holds",
    "For eps > 0 the noise density integrates to 1 and the chances to keep and to turn missing add up to 1; the "
    "masses of randomized response do so for every eps >= 0, and at eps = 0 all d + 1 of them are equal.",
    evidence=lambda: shown("Total mass 1 in each law.", epsilon_positive_proof()),
)

decide_conjugate = established(
    "refuted",
    "The first half is false for the modified Laplace mechanism: a rating of 1 is reported as a number above 1 "
    "with chance keep/2, at least 1/4 for every eps. It is true for randomized response. The second half is false "
    "for any guarantee: the transform to the constant 0, which section 1 itself calls useless, stays in the space "
    "too, and after it every estimator of a rating is off by at least 1 for one of the truths -1 and 1.",
    evidence=lambda: shown(
        "Both halves fail.",
        conjugate_proof(),
        tables=(
            Table(
                "Chance that a report leaves [-1, 1]",
                ["eps", "rating 1, above 1", "rating 0, either side"],
                [[eps, f"{_keep(eps) / 2:.4f}", f"{_keep(eps) * math.exp(-eps / 2):.4f}"] for eps in EPSILONS],
            ),
        ),
    ),
    repair="RC-CONJ-REP",
)

decide_conjugate_repaired = established(
    "holds",
    "Clipping reads only the released number, so it costs no privacy, and it maps every report into the space "
    "of ratings; randomized response stays there by itself. It is a statement about types only: clipped reports "
    "are biased towards 0, for a rating of 1 by (1 - e^(-eps))/eps, so the moments of section 4.3 do not apply "
    "to them as they stand.",
    evidence=lambda: [
        shown(
            "Clipped reports lie in [-1, 1] and keep the ratio.",
            clipped_proof(),
            tables=(
                Table(
                    "Bias of the clipped report of a rating of 1, given that it is kept",
                    ["eps", "bias"],
                    [[eps, f"{(math.exp(-eps) - 1) / eps:.4f}"] for eps in EPSILONS],
                ),
            ),
        ),
        shown("Modified Laplace before clipping.", theorem1_proof()),
        shown("Randomized response.", theorem2_proof()),
    ],
)

decide_forced = established(
    "refuted",
    "Not forced, since Definition 2 leaves slack: its loss on the event ? is only eps/2. The pair keep = "
    "r(r+1)/(r^2+r+1), create = (r+1)/(r^2+r+1) is eps-differentially private for one entry with the same "
    "Laplace noise, keeps strictly more ratings, and uses the whole budget on both sides. Reporting a noisy "
    "number always (keep = create = 1) is eps-differentially private too.",
    evidence=lambda: shown("Two other pairs satisfy all conditions, for every eps > 0.", other_pair_proof()),
    repair="RC-SLACK-REP",
)


def decide_best_pair(claim: Claim, context: Context) -> Verdict:
    """RC-SLACK-REP: the best pair for the unbiased reconstruction, and what it gains."""
    shape = Shape.of(context.data)
    rows, curves = [], []
    for epsilon in EPSILONS:
        pairs = _pairs(epsilon)
        errors = [reconstruction_error(epsilon, *pair, shape.density, shape.mean_square) for pair in pairs]
        best = min(errors)
        rows.append(
            [
                epsilon,
                *(f"{chance:.4f}" for chance in (*pairs[0], *pairs[1])),
                *(f"{error:.4g}" for error in errors),
                f"{100 * (1 - best / errors[0]):.1f}%",
            ]
        )
    grid = [10 ** (step / 20 - 1) for step in range(41)]
    for index, label in enumerate(("Definition 2", "r(r+1)/(r^2+r+1)", "always a number")):
        curves.append(
            Series(
                label,
                grid,
                [
                    reconstruction_error(eps, *_pairs(eps)[index], shape.density, shape.mean_square)
                    / reconstruction_error(eps, *_pairs(eps)[0], shape.density, shape.mean_square)
                    for eps in grid
                ],
            )
        )
    table = Table(
        f"Chances and squared error per cell, {shape.label}",
        [
            "eps",
            "keep (Def. 2)",
            "create (Def. 2)",
            "keep (best pair)",
            "create (best pair)",
            "error (Def. 2)",
            "error (best pair)",
            "error (always a number)",
            "saved",
        ],
        rows,
    )
    plot = Plot(
        "Squared reconstruction error relative to Definition 2",
        "eps per entry",
        "error / error of Definition 2",
        curves,
    )
    return decided(
        claim,
        "holds",
        "The squared error before the constant q m2 falls by the factor (r^2+r+1)/(r+1)^2, a quarter less for small "
        "eps, at no cost in privacy, and for small eps even that is beaten by reporting a noisy number for every "
        "cell: half the error of Definition 2 as eps tends to 0. Definition 2 is worse than always reporting a "
        "number for eps below about 0.96 (where r is the golden ratio, for sparse data).",
        "By the paper's own measure, the mean of rho^2 over p, all pairs with keep = r create tie, so that measure "
        f"does not single out Definition 2 either. The table is for {shape.label}. The scale 2/eps is the least that "
        "two ratings allow and is kept fixed; larger scales, which might help very sparse data at large eps, were "
        "not examined.",
        evidence=shown(
            "The minimum over all eps-differentially private pairs, for every eps, density and rating variance.",
            best_pair_proof(),
            tables=(table,),
            plots=(plot,),
        ),
    )


def reconstruction_error(epsilon: float, keep: float, create: float, density: float, mean_square: float) -> float:
    """Mean squared error per cell of release / keep (0 where missing) against the true vector, float64.

    Args:
        epsilon: nats, per entry; the Laplace scale is 2/epsilon.
        keep: chance that a rating is reported as a number.
        create: chance that a missing entry is.
        density: share of rated cells.
        mean_square: of the ratings, which lie in [-1, 1].
    """
    noise = 8 / epsilon**2
    rated = (mean_square + noise) / keep - mean_square
    return density * rated + (1 - density) * create * noise / keep**2


def one_noise_proof() -> dict[str, Any]:
    """One zeta for all entries: probability 0 against 1."""
    coin = "zeta == 0 or zeta == 1"
    return proof(
        "first and second are 1 where an entry is reported missing. A rated entry is missing exactly when zeta = 0, "
        "a missing one exactly when zeta = 1. So 'exactly one of two is missing' never happens for two rated "
        "entries (step 1) and always for a rated and a missing one (step 2), and no factor bounds 1 by a multiple "
        "of 0 (step 3). Step 4: one xi cancels in the difference of two kept ratings.",
        smt(
            "two rated entries are missing together",
            [coin, "first == 1 - zeta", "second == 1 - zeta"],
            "not first + second == 1",
            model="zeta = 1, first = 0, second = 0",
        ),
        smt(
            "a rated and a missing entry never are",
            [coin, "first == 1 - zeta", "second == zeta"],
            "first + second == 1",
            model="zeta = 1, first = 0, second = 1",
        ),
        smt("no factor helps", "factor >= 1", "not 1 <= factor * 0"),
        identity("one xi cancels", "(x1 + xi) - (x2 + xi) == x1 - x2"),
        supports="refuted",
    )


def noise_by_value_proof() -> dict[str, Any]:
    """One draw per value: equal entries never differ, unequal ones do with positive probability."""
    return proof(
        "For (0, 0) both outputs are xi_0: they never differ. For (0, 1) they are the independent xi_0 and xi_1, equal "
        "with probability 2 e/(e+d)^2 (both 0 or both 1) + (d-1)/(e+d)^2 (both another symbol) = (2e+d-1)/(e+d)^2, "
        "below 1 for all e = e^eps >= 1, d >= 1. No factor bounds a positive probability by a multiple of 0.",
        identity(
            "chance that the two outputs agree",
            "2 * (e / (e + d)) * (1 / (e + d)) + (d - 1) * (1 / (e + d)) ** 2 == (2 * e + d - 1) / (e + d) ** 2",
        ),
        smt(
            "it is below 1",
            "e >= 1, d >= 1, agree * (e + d) ** 2 == 2 * e + d - 1",
            "1 - agree > 0",
            model="e = 1, d = 1, agree = 1/2",
        ),
        smt("no factor helps", "factor >= 1, differ > 0", "not differ <= factor * 0"),
        supports="refuted",
    )


def noise_by_value_instance() -> dict[str, Any]:
    """Definition 3 to the letter at eps = 1, d = 5."""
    agree = "(2 * exp(eps) + d - 1) / (exp(eps) + d) ** 2"
    return instance({"eps": 1, "d": 5}, f"1 - {agree} > 84 / 100", f"1 - {agree} < 85 / 100", supports="refuted")


def epsilon_zero_proof() -> dict[str, Any]:
    """No Laplace law of scale 2/0."""
    return proof(
        "The scale of the noise is the number with scale * eps = 2: at eps = 0 there is none (step 1). The density "
        "is at most eps/4 (step 2, as e^(-|z|/scale) <= 1), so an interval of length w has a chance of at most w "
        "eps/4, below any chance > 0 for small eps (step 3): mass escapes to infinity and the laws have no limit.",
        smt("no scale at eps = 0", "eps == 0", "not scale * eps == 2"),
        identity("height of the density", "1 / (2 * (2 / eps)) == eps / 4"),
        smt(
            "every interval loses its mass",
            "w > 0, chance > 0, 0 < eps, eps < 4 * chance / w, mass <= w * eps / 4",
            "mass < chance",
            model="w = 1, chance = 1, eps = 1, mass = 0",
        ),
        supports="refuted",
    )


def epsilon_positive_proof() -> dict[str, Any]:
    """All laws have total mass 1."""
    return proof(
        "The noise is symmetric, and its density right of 0 has the antiderivative -e^(-z/s)/2, which goes from -1/2 "
        "to 0: both sides together have mass 1, for every s = 2/eps > 0. The chances to keep and to turn missing add "
        "up to 1, as do the masses of randomized response for every e = e^eps >= 1; at e = 1 they are equal.",
        derivative("mass of the noise right of 0", "z", "-exp(-z / s) / 2", "exp(-z / s) / (2 * s)"),
        identity("both sides", "2 * (0 - (-exp(0) / 2)) == 1"),
        smt("the scale is positive", "eps > 0, s * eps == 2", "s > 0"),
        smt("the chance to keep", "r >= 1, keep * (1 + r) == r", "1 / 2 <= keep and keep < 1"),
        identity("keep and missing", "r / (1 + r) + 1 / (1 + r) == 1"),
        identity("randomized response", "e / (e + d) + d * (1 / (e + d)) == 1"),
        identity("randomized response at eps = 0", "1 / (1 + d) + d * (1 / (1 + d)) == 1"),
    )


def conjugate_proof() -> dict[str, Any]:
    """Modified Laplace leaves [-1, 1]; a constant transform does not, and destroys everything."""
    return proof(
        "A rating of 1 is kept with chance keep = r/(1+r) >= 1/2 and then gets positive noise with chance 1/2: "
        "above 1 with chance at least 1/4 (step 1). The transform to 0 maps the space into itself, and an estimator "
        "that sees only 0 answers the same for the truths -1 and 1: off by at least 1 for one of them (step 2), "
        "however little noise its guarantee allows for.",
        smt("a rating of 1 is reported above 1", "r >= 1, keep * (1 + r) == r", "keep * (1 / 2) >= 1 / 4"),
        smt("after a constant transform", "", "abs(answer - 1) >= 1 or abs(answer - (-1)) >= 1"),
        possible("the constant lies in the space", "-1 <= constant <= 1, constant == 0", "constant = 0"),
        supports="refuted",
    )


def clipped_proof() -> dict[str, Any]:
    """Clipping maps into [-1, 1], leaves ratings there alone, and is post-processing."""
    return proof(
        "Clipping maps numbers into [-1, 1] and leaves ? alone; it reads the release only, so each of its outputs "
        "keeps the ratio of Theorem 1 (kappa is the chance that an output is mapped into the event), and so do "
        "sums. Randomized response has its outputs in {0, ..., d}. The bias at a rating of 1 is minus the integral "
        "from 0 to 2 of the tail e^(-t/s)/2, that is (s/2)(1 - e^(-2/s)), with s = 2/eps.",
        smt("a clipped number is a rating", "", "-1 <= max(-1, min(1, z)) and max(-1, min(1, z)) <= 1"),
        smt("ratings are left alone", "-1 <= z, z <= 1", "max(-1, min(1, z)) == z"),
        *POST_PROCESSING,
        derivative("the bias at 1", "t", "-s * exp(-t / s) / 2", "exp(-t / s) / 2"),
        identity("with s = 2/eps", "2 / eps / 2 * (1 - exp(-2 / (2 / eps))) == (1 - exp(-eps)) / eps"),
    )


def other_pair_proof() -> dict[str, Any]:
    """Conditions under which a pair (keep, create) is eps-DP for one entry, and two pairs that satisfy them."""
    return proof(
        "Six comparisons make one entry eps-differentially private: numbers between two ratings, a rating and a "
        "missing entry, and back (f, g: noise densities, bounded as in RC-T1), and ? likewise. Four conditions "
        "imply them. Both pairs satisfy the conditions, and the first keeps more than r/(1+r).",
        *DENSITIES,
        *_private_pairs(),
        smt("the pair is another one", _pair("keep", "create"), "keep * (1 + r) > r", model=_PAIR_MODEL),
        supports="refuted",
    )


def best_pair_proof() -> dict[str, Any]:
    """The least reconstruction error over all eps-DP pairs with Laplace scale 2/eps."""
    pair = "(r ** 2 + r + 1) / (r * (r + 1))"
    return proof(
        "Error: a rated cell with rating x reports (x + noise)/keep with chance keep, else 0: unbiased, with mean "
        "square (x^2 + 2 s^2)/keep, so the squared error is that minus x^2; a missing one has the error create 2 "
        "s^2/keep^2. With w = 1/keep >= 1, A = q (m2 + 2 s^2) > 0 and B = (1-q) 2 s^2 >= 0 the mean error is A w + "
        "B create w^2 - q m2. Necessary for eps-differential privacy: a rating 1 and a missing entry report a "
        "number of at least 1 with chances keep/2 and create/(2r), so keep <= r create; and 1 - create <= r^2 (1 - "
        "keep) for the event ?. Hence create w^2 is at least w/r and at least r^2 w - (r^2-1) w^2. Let v = "
        "(r^2+r+1)/(r(r+1)). For w >= v the first bound gives at least v (A + B/r); for 1 <= w <= v the second one "
        "gives a concave function of w, so at least the smaller of its ends, A + B at w = 1 and v (A + B/r) at w = "
        "v. Both ends are attained by private pairs (create = 1 and create = keep/r). Definition 2 has create = "
        "keep/r and w = (1+r)/r > v, so a larger error. Last step: mean of rho^2 over p, with K = 8/eps^2 for a "
        "kept and W for a created cell, does not depend on create when keep = r create.",
        identity("the reconstruction is unbiased", "keep * (x / keep) == x"),
        identity(
            "a rated cell",
            "keep * (x ** 2 + 2 * s ** 2) / keep ** 2 - 2 * x * x + x ** 2 == (x ** 2 + 2 * s ** 2) / keep - x ** 2",
        ),
        identity("tails of a rating 1 and of a missing entry", "exp(-1 / (2 / eps)) / 2 == 1 / (2 * exp(eps / 2))"),
        smt(
            "necessary: numbers of at least 1", "r >= 1, keep / 2 <= r ** 2 * (create / (2 * r))", "keep <= r * create"
        ),
        smt(
            "bounds on create",
            "r >= 1, 0 < keep, keep <= 1, w * keep == 1, keep <= r * create, 1 - create <= r ** 2 * (1 - keep)",
            "w >= 1 and create * w ** 2 >= w / r and create * w ** 2 >= r ** 2 * w - (r ** 2 - 1) * w ** 2",
            model="r = 1, keep = 1, create = 1, w = 1",
        ),
        smt(
            "beyond v",
            "r >= 1, A > 0, B >= 0, w >= v, v > 0, c >= w / r",
            "A * w + B * c >= v * (A + B / r)",
            model="r = 1, A = 1, B = 0, w = 1, v = 1, c = 1",
        ),
        identity(
            "up to v: a concave function lies above its chord",
            "(v - 1) * (a * w - b * w ** 2) - (v - w) * (a - b) - (w - 1) * (a * v - b * v ** 2) "
            "== b * (v - 1) * (w - 1) * (v - w)",
        ),
        smt(
            "so above the smaller end",
            "v > 1, 1 <= w, w <= v, least <= first, least <= last, extra >= 0, "
            "(v - 1) * value == (v - w) * first + (w - 1) * last + extra",
            "value >= least",
            model="v = 2, w = 1, least = 0, first = 0, last = 0, extra = 0, value = 0",
        ),
        identity("the end w = 1", "(A + B * r ** 2) - B * (r ** 2 - 1) == A + B"),
        identity(
            "the end w = v", f"(A + B * r ** 2) * ({pair}) - B * (r ** 2 - 1) * ({pair}) ** 2 == ({pair}) * (A + B / r)"
        ),
        *_private_pairs(),
        smt("the pair has create = keep/r", _pair("keep", "create"), "keep == r * create", model=_PAIR_MODEL),
        smt(
            "Definition 2 has a larger error",
            "r >= 1, A > 0, B >= 0, v * (r * (r + 1)) == r ** 2 + r + 1, w * r == 1 + r",
            "v * (A + B / r) < w * (A + B / r)",
            model="r = 1, A = 1, B = 0, v = 3/2, w = 2",
        ),
        identity(
            "the paper's own measure ties",
            "(S * (r * c) * K + (N - S) * c * W) / (S * (r * c) + (N - S) * c) == (S * r * K + (N - S) * W) / (S * "
            "r + N - S)",
        ),
    )


_CONDITIONS = (
    "0 <= keep <= 1 and 0 <= create <= 1 and keep <= r * create and create <= r * keep "
    "and 1 - keep <= r ** 2 * (1 - create) and 1 - create <= r ** 2 * (1 - keep)"
)
_PAIR_MODEL = "r = 1, keep = 2/3, create = 2/3"


def _pair(keep: str, create: str) -> list[str]:
    return ["r >= 1", f"{keep} * (r ** 2 + r + 1) == r * (r + 1)", f"{create} * (r ** 2 + r + 1) == r + 1"]


def _private_pairs() -> tuple[Step, ...]:
    """Conditions that make a pair private, and the two pairs that satisfy them."""
    return (
        *_sufficient(),
        smt("the pair satisfies the conditions", _pair("keep", "create"), _CONDITIONS, model=_PAIR_MODEL),
        smt("a number always", "r >= 1, keep == 1, create == 1", _CONDITIONS),
    )


def _sufficient() -> tuple[Step, ...]:
    chances = "r >= 1, 0 <= keep, 0 <= create, f >= 0, g >= 0"
    model = "r = 1, keep = 1, create = 1, f = 0, g = 0"
    return (
        smt("two ratings", f"{chances}, f <= r ** 2 * g", "keep * f <= r ** 2 * (keep * g)", model=model),
        smt(
            "rating against missing",
            f"{chances}, f <= r * g, keep <= r * create",
            "keep * f <= r ** 2 * (create * g)",
            model=model,
        ),
        smt(
            "missing against rating",
            f"{chances}, f <= r * g, create <= r * keep",
            "create * f <= r ** 2 * (keep * g)",
            model=model,
        ),
    )


def _keep(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon / 2))


def _pairs(epsilon: float) -> tuple[tuple[float, float], ...]:
    """(keep, create) of Definition 2, of the better pair, and of always reporting a number."""
    r = math.exp(epsilon / 2)
    total = r**2 + r + 1
    return (r / (1 + r), 1 / (1 + r)), (r * (r + 1) / total, (r + 1) / total), (1.0, 1.0)


def _different_outputs_table() -> Table:
    grown = {epsilon: math.exp(epsilon) for epsilon in EPSILONS}
    rows = [[epsilon, 0, f"{1 - (2 * e + 4) / (e + 5) ** 2:.6f}"] for epsilon, e in grown.items()]
    return Table(
        "Chance that two entries get different outputs, d = 5", ["eps", "vector (0, 0)", "vector (0, 1)"], rows
    )
