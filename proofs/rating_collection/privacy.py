"""Differential privacy of both rating collection mechanisms (Zheng, Theorems 1 and 2, sections 4.1 and 4.2).

One entry is a rating in [-1, 1] or missing (?). With r = e^(eps/2), the modified Laplace mechanism reports a number
with chance r/(1+r) for a rating (the rating plus Laplace noise of scale 2/eps) and 1/(1+r) for a missing entry (noise
around 0), else ?. The common factor 1/(1+r) is left out below: a rating has weight r on numbers and 1 on ?, a missing
entry 1 and r. a and b are the chances that x or y plus noise falls into the numbers of an event.
"""

import math
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.lemmas import EXPONENTS_ADD, LAPLACE_DENSITY, PRODUCT_KEEPS_RATIO, SUM_KEEPS_RATIO
from dpassay.proofs.notation import Step, derivative, identity, proof, smt

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
NUM_ITEMS = 1682  # of MovieLens 100K

MONOTONE = "Used fact: the exponential function is positive and increasing."

CASES = {
    "i": ("e^eps", "x = 1, y = -1, S = [1, infinity)"),
    "ii": ("1", "every pair of ratings"),
    "iii": ("u^2 with u^2 + u = 1 + r", "x = 1, y = -1, S = ? and [t, infinity), t = (2/eps) ln u"),
    "iv": ("e^eps", "x = 1, S = [1, infinity)"),
    "v": ("e^(-eps/2)", "every rating x"),
    "vi": ("1", "S = ? and all numbers"),
    "vii": ("1", "y = 1, S = (-infinity, 0]"),
    "viii": ("e^(eps/2)", "every rating y"),
    "ix": ("e^(eps/2)", "S = ? and the number 0; approached by small intervals"),
}

# s: the scale of the noise, s eps = 2; z: the reported number; a, b: ratings, or 0 for a missing entry.
DENSITIES: tuple[Step, ...] = (
    LAPLACE_DENSITY[0],
    smt(
        "two ratings lie at most eps noise scales apart",
        "s > 0, eps > 0, s * eps == 2, abs(a) <= 1, abs(b) <= 1",
        "abs(a - b) <= eps * s",
        model="s = 1, eps = 2, a = 1, b = -1",
    ),
    smt(
        "a rating lies at most eps/2 noise scales from 0",
        "s > 0, eps > 0, s * eps == 2, abs(a) <= 1",
        "abs(a - 0) <= eps / 2 * s",
        model="s = 1, eps = 2, a = 1",
    ),
    identity("e^eps is r^2", "exp(eps) == exp(eps / 2) ** 2"),
    *SUM_KEEPS_RATIO,
)

# What the density ratio gives for chances, once summed over an event.
FROM_DENSITIES = (
    "The noise density at z around a is e^(-|z-a|/s)/(2s) with s = 2/eps. The first steps bound its ratio around two "
    "points by e^(|a-b|/s), so by r^2 for two ratings and by r for a rating and 0, and a sum or integral over an event "
    f"keeps that. {MONOTONE}"
)


def decide_theorem1(claim: Claim, context: Context) -> Verdict:
    """RC-T1: densities for any n, beside the printed nine cases of one entry."""
    return decided(
        claim,
        "holds",
        "Densities on numbers, together with the chance of 'missing', change by at most e^eps per entry, and those "
        "of independent entries multiply. The printed proof treats one entry in nine cases and never takes the step "
        "to n entries (see RC-NFOLD); it also needs fresh noise per entry, which Definition 2 does not write (see "
        "RC-IND2). The bound cannot be lowered: the loss n eps is attained. (For one entry, events that contain ? "
        "lose at most eps/2.)",
        f"What it means: MovieLens 100K has {NUM_ITEMS:,} items, so eps = 1 per entry is {NUM_ITEMS:,} for a user's "
        f"whole vector, a likelihood ratio of up to 10^{NUM_ITEMS / math.log(10):.0f}, which excludes nothing: the "
        "guarantee is one about single entries. A budget of 1 for the vector leaves noise of scale "
        f"{2 * NUM_ITEMS:,} on ratings in [-1, 1] and a chance of {_keep(1 / NUM_ITEMS):.5f} to keep a rating.",
        evidence=(
            shown(
                "Every n, every pair of vectors, every event.",
                theorem1_proof(),
                tables=(_cases_table(), _budget_table()),
            ),
            shown("n eps is attained.", tight_proof()),
        ),
    )


def decide_case(claim: Claim, context: Context) -> Verdict:
    """RC-T1-i to RC-T1-ix: the printed bound, and the exact largest ratio of the case."""
    case = claim.id.removeprefix("RC-T1-")
    supremum, where = CASES[case]
    printed = "which is the bound itself" if supremum == "e^eps" else "below the e^eps that is claimed"
    table = Table(
        f"Case {case}: exact largest ratio of the probabilities, attained at {where}",
        ["eps", "largest ratio", "e^eps", "largest loss (nats)"],
        [
            [
                eps,
                f"{case_supremum(case, eps):.6g}",
                f"{math.exp(eps):.6g}",
                f"{math.log(case_supremum(case, eps)):.4f}",
            ]
            for eps in EPSILONS
        ],
    )
    extra = (
        "The paper gives no argument for this mixed event; it follows from the two pure ones, but they do not give its "
        "exact value."
        if case in ("iii", "vi", "ix")
        else ""
    )
    return decided(
        claim,
        "holds",
        f"The exact supremum of the ratio is {supremum}, {printed}; it is reached at {where}.",
        extra,
        evidence=(
            shown(
                "The bound for all eps > 0, and the event where the exact supremum is reached.",
                case_proof(case),
                tables=(table,),
            ),
        ),
    )


decide_tight = established(
    "holds",
    "Entries that do not differ contribute the factor 1, each one that differs at most e^eps, and there are vectors "
    "and an event for which all factors are e^eps at once. So when one entry changes the loss is exactly eps, and "
    "between two whole vectors of n entries exactly n eps: the two guarantees differ by the number of items.",
    evidence=lambda: shown("Upper bound and attainment for every n and k.", tight_proof(), tables=(_budget_table(),)),
)

decide_theorem2 = established(
    "holds",
    "Each symbol has mass e^eps/(e^eps+d) where it is the true one and 1/(e^eps+d) elsewhere, so a mass changes by "
    "at most e^eps, sums over events keep that, and independent entries multiply. The printed proof covers one "
    "entry; the product is missing there (RC-NFOLD), and Definition 3 as written has one draw per value instead of "
    "per entry, for which the theorem is false (RC-IND3). The bound is attained at z = x where all entries differ.",
    evidence=lambda: shown("Every d, n, pair of vectors and event.", theorem2_proof(), tables=(_budget_table(),)),
)

decide_product = established(
    "holds",
    "With independent noise the density of a vector of outputs is the product of the entries' densities, so n "
    "factors of e^eps make e^(n eps) at every output, and every event, not only those that are products, is a "
    "sum or integral over outputs. The paper never takes this step: its proofs end with one entry. Without "
    "independence it fails, see RC-IND2 and RC-IND3.",
    evidence=lambda: shown("Induction on the number of entries, for every event.", product_proof()),
)


def theorem1_proof() -> dict[str, Any]:
    """Theorem 1 by densities."""
    return proof(
        f"{FROM_DENSITIES} P and Q are the weights of an output under two values of one entry, f and g the noise "
        "densities. For each pair of values (rating or missing) the steps bound the weight of a number and of ? by r^2 "
        "= e^eps, so every output of one entry keeps the ratio. The weight of an output of n independent entries is "
        "the product, with bound e^(eps j) after j entries; events are sums and integrals of it. No step mentions n.",
        *DENSITIES,
        smt("two ratings, a number", "r >= 1, f >= 0, g >= 0, f <= r ** 2 * g", "r * f <= r ** 2 * (r * g)"),
        smt(
            "two ratings, or two missing entries: the same weight of ?", "r >= 1", "1 <= r ** 2 * 1 and r <= r ** 2 * r"
        ),
        smt("rating against missing, a number", "r >= 1, f >= 0, g >= 0, f <= r * g", "r * f <= r ** 2 * g"),
        smt("rating against missing, ?", "r >= 1", "1 <= r ** 2 * r"),
        smt("missing against rating, a number", "r >= 1, f >= 0, g >= 0, f <= r * g", "f <= r ** 2 * (r * g)"),
        smt("missing against rating, ?", "r >= 1", "r <= r ** 2 * 1"),
        *_product(),
    )


def theorem2_proof() -> dict[str, Any]:
    """Theorem 2 for every d, with the equality that makes it tight."""
    masses = "e >= 1, d >= 1, stay * (e + d) == e, move * (e + d) == 1"
    model = "e = 1, d = 1, stay = 1/2, move = 1/2"
    return proof(
        "e stands for e^eps >= 1; stay = e/(e+d), move = 1/(e+d). The masses add up to 1 (step 1). Whatever the "
        "symbol, its masses under two values are among stay and move (step 2), stay = e move being the largest ratio "
        "(step 3). Sums over events keep the ratio, and independent entries multiply it: e^(eps n) for n entries.",
        identity("the masses add up to 1", "e / (e + d) + d * (1 / (e + d)) == 1"),
        smt(
            "any mass is at most e times any other",
            f"{masses}, x == stay or x == move, y == stay or y == move",
            "x <= e * y",
            model=f"{model}, x = 1/2, y = 1/2",
        ),
        smt("the ratio e is attained", masses, "stay == e * move", model=model),
        *_product(),
    )


def product_proof() -> dict[str, Any]:
    """From one entry to n."""
    return proof(
        "P and Q are the densities (or masses) of the first j outputs under the two vectors, p and q those of the "
        "next entry, g the bound so far, h = e^eps. The empty product satisfies P <= 1 * Q. An event is a sum or "
        "integral over outputs.",
        *_product(),
    )


def tight_proof() -> dict[str, Any]:
    """k changed entries cost exactly k eps."""
    return proof(
        f"{MONOTONE} Above: an entry that is the same in both vectors has the factor h = 1, one that differs at most "
        "h = e^eps, so after k changed entries the bound is e^(eps k) (see RC-T1, RC-T2 for one entry). Attained, "
        "modified Laplace: x_i = 1 and y_i = -1 at the changed entries, and the event that these report numbers of "
        "at least 1. There |z+1| - |z-1| = 2, which is eps noise scales, so both the density and the chance of the "
        "event have the ratio r^2 = e^eps per entry: the chances are r/(1+r) times 1/2 and times 1/(2 r^2). "
        "Attained, randomized response: the event z = x at the changed entries.",
        *_product(),
        smt("at and above 1 the two distances differ by 2", "z >= 1", "abs(z + 1) - abs(z - 1) == 2"),
        identity("a distance of 2 is eps noise scales", "2 / (2 / eps) == eps"),
        identity("e^eps is r^2", "exp(eps) == exp(eps / 2) ** 2"),
        derivative("tail of the noise", "z", "-exp(-(z - a) / s) / 2", "exp(-(z - a) / s) / (2 * s)"),
        identity("modified Laplace, one entry", "r / (1 + r) / 2 == r ** 2 * (r / (1 + r) / (2 * r ** 2))"),
        identity("randomized response, one entry", "e / (e + d) == e * (1 / (e + d))"),
    )


def case_proof(case: str) -> dict[str, Any]:
    """The bound of one case, its exact supremum, and where it is reached.

    Args:
        case: "i" to "ix", as the paper numbers them.
    """
    argument, steps = _CASES[case]
    pure = case in ("ii", "v", "viii")
    return proof(argument if pure else f"{FROM_DENSITIES} {argument}", *(() if pure else DENSITIES), *steps)


def case_supremum(case: str, epsilon: float) -> float:
    """The exact supremum of the ratio of probabilities, float64; `epsilon` in nats."""
    r = math.exp(epsilon / 2)
    u = (math.sqrt(5 + 4 * r) - 1) / 2
    return {"i": r**2, "ii": 1, "iii": u**2, "iv": r**2, "v": 1 / r, "vi": 1, "vii": 1, "viii": r, "ix": r}[case]


def _product() -> tuple[Step, ...]:
    return (
        *PRODUCT_KEEPS_RATIO,
        identity("one more entry adds eps to the exponent", "exp(eps * j) * exp(eps) == exp(eps * (j + 1))"),
        *EXPONENTS_ADD,
        *SUM_KEEPS_RATIO,
    )


def _case_iii() -> tuple[str, tuple[Step, ...]]:
    hypotheses = "r >= 1, u >= 1, u ** 2 + u == 1 + r"
    model = "r = 5, u = 2"
    return (
        "Let S be T and ?; the ratio is (1 + r a)/(1 + r b). Put x at h and y at -h, 0 < h <= 1 (a shift or "
        "reflection changes nothing), and let D = e^(h/s) <= r, as h <= 1. For g >= 1, among all T the difference a "
        "- g^2 b is largest where the density around x exceeds g^2 times that around y: elsewhere the integrand is "
        "not positive. That is z >= t with e^(t/s) = g, if t <= h; there a = 1 - g/(2D) and b = 1/(2 D g) (tails of "
        "the noise), so a - g^2 b <= 1 - g/D, which grows with D to 1 - g/r. If t > h no such z exists and the "
        "difference is at most 0. With g = u, the root of u^2 + u = 1 + r, it follows that the ratio is at most "
        "u^2, and at h = 1 the event z >= t attains it. u >= 1, so u^2 = 1 + r - u <= r <= e^eps.",
        (
            smt(
                "where the likelihood ratio is high: right of t",
                "h > 0, 0 <= t, t <= h, z >= t",
                "abs(z + h) - abs(z - h) >= 2 * t",
                model="h = 1, t = 0, z = 0",
            ),
            smt(
                "and nowhere else",
                "h > 0, 0 <= t, t <= h, z < t",
                "abs(z + h) - abs(z - h) < 2 * t",
                model="h = 1, t = 0, z = -1",
            ),
            smt(
                "any other event gains nothing",
                "0 <= kappa, kappa <= 1, positive >= 0, value <= positive",
                "kappa * value <= positive",
                model="kappa = 1, positive = 0, value = 0",
            ),
            derivative("tail above the center", "z", "-exp(-(z - a) / s) / 2", "exp(-(z - a) / s) / (2 * s)"),
            derivative("tail below the center", "z", "exp((z - a) / s) / 2", "exp((z - a) / s) / (2 * s)"),
            identity("tail around x", "exp((t - h) / s) / 2 == exp(t / s) / (2 * exp(h / s))"),
            identity("tail around y", "exp(-(t + h) / s) / 2 == 1 / (2 * exp(h / s) * exp(t / s))"),
            identity("the largest difference", "1 - g / (2 * D) - g ** 2 * (1 / (2 * D * g)) == 1 - g / D"),
            smt(
                "it grows with the distance",
                "g >= 0, 0 < D, D <= r",
                "1 - g / D <= 1 - g / r",
                model="g = 1, D = 1, r = 1",
            ),
            smt(
                "the ratio is at most u^2",
                f"{hypotheses}, r * (a - u ** 2 * b) <= r - u",
                "1 + r * a <= u ** 2 * (1 + r * b)",
                model=f"{model}, a = 0, b = 0",
            ),
            smt(
                "u^2 is attained",
                f"{hypotheses}, 2 * r * (1 - a) == u, 2 * r * u * b == 1",
                "1 + r * a == u ** 2 * (1 + r * b)",
                model=f"{model}, a = 4/5, b = 1/20",
            ),
            smt("u^2 is at most e^(eps/2)", hypotheses, "u <= r and u ** 2 <= r and r <= r ** 2", model=model),
        ),
    )


def _keep(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon / 2))


def _cases_table() -> Table:
    return Table(
        "The nine cases of one entry: exact largest ratio of probabilities (claimed: e^eps)",
        ["case", "supremum", "reached at", "eps = 0.1", "eps = 1", "eps = 5"],
        [
            [case, supremum, where, *(f"{case_supremum(case, eps):.5g}" for eps in (0.1, 1.0, 5.0))]
            for case, (supremum, where) in CASES.items()
        ],
    )


def _budget_table() -> Table:
    budgets = (1 / NUM_ITEMS, 0.01, 0.1, 1.0, 5.0, 10.0)
    return Table(
        f"One entry against a user's vector of {NUM_ITEMS:,} entries (MovieLens 100K)",
        ["eps per entry", "eps of the vector", "ratio, powers of 10", "Laplace scale", "chance to keep a rating"],
        [
            [
                f"{eps:.4g}",
                f"{NUM_ITEMS * eps:,.4g}",
                f"{NUM_ITEMS * eps / math.log(10):,.1f}",
                f"{2 / eps:,.4g}",
                f"{_keep(eps):.5f}",
            ]
            for eps in budgets
        ],
    )


_CASES: dict[str, tuple[str, tuple[Step, ...]]] = {
    "i": (
        "The chance to keep the rating is the same on both sides. For x = 1, y = -1 the ratio of the densities is "
        "r^2 at every z >= 1, so S = [1, infinity) attains the bound.",
        (
            smt("the chance to keep cancels", "r >= 1, a <= r ** 2 * b", "r * a <= r ** 2 * (r * b)"),
            smt("attained at and above 1", "z >= 1", "abs(z + 1) - abs(z - 1) == 2"),
            identity("a distance of 2 is eps noise scales", "2 / (2 / eps) == eps"),
        ),
    ),
    "ii": (
        "Both ratings turn missing with the same chance, so the ratio is 1.",
        (smt("the ratio is 1", "r >= 1, x == 1 / (1 + r), y == 1 / (1 + r)", "x == y and x <= r ** 2 * y"),),
    ),
    "iii": _case_iii(),
    "iv": (
        "x plus noise is at most r times as dense as the noise, and a rating reports a number r times as often as a "
        "missing entry. For x = 1 both factors are attained at every z >= 1.",
        (
            smt("the two factors", "r >= 1, a <= r * b", "r * a <= r ** 2 * b"),
            smt("attained at and above 1", "z >= 1", "abs(z) - abs(z - 1) == 1"),
            identity("a distance of 1 is eps/2 noise scales", "1 / (2 / eps) == eps / 2"),
        ),
    ),
    "v": (
        "A rating turns missing with chance 1/(1+r), a missing entry stays so with chance r/(1+r).",
        (
            smt(
                "the ratio is e^(-eps/2)",
                "r >= 1, x == 1 / (1 + r), y == r / (1 + r)",
                "x == 1 / r * y and x <= r ** 2 * y",
            ),
        ),
    ),
    "vi": (
        "The ratio is (1 + r a)/(r + b). The complement of T keeps the ratio bound too: 1 - b <= r (1 - a). So the "
        "ratio is at most 1, and it is 1 when T is all numbers.",
        (
            smt("the ratio is at most 1", "r >= 1, 1 - b <= r * (1 - a)", "1 + r * a <= r + b"),
            identity("attained by all numbers", "1 + r * 1 == r + 1"),
            smt("1 is at most e^eps", "r >= 1", "1 <= r ** 2"),
        ),
    ),
    "vii": (
        "The noise is at most r times as dense as y plus noise, and a missing entry reports a number r times more "
        "rarely: the factors cancel. For y = 1 this is attained at every z <= 0.",
        (
            smt("the factors cancel", "r >= 1, b >= 0, a <= r * b", "a <= 1 * (r * b) and a <= r ** 2 * (r * b)"),
            smt("attained at and below 0", "z <= 0", "abs(z - 1) - abs(z) == 1"),
            identity("a distance of 1 is eps/2 noise scales", "1 / (2 / eps) == eps / 2"),
        ),
    ),
    "viii": (
        "A missing entry stays so with chance r/(1+r), a rating turns missing with chance 1/(1+r).",
        (
            smt(
                "the ratio is e^(eps/2)", "r >= 1, x == r / (1 + r), y == 1 / (1 + r)", "x == r * y and x <= r ** 2 * y"
            ),
        ),
    ),
    "ix": (
        "The ratio is (r + a)/(1 + r b) with a <= r b: at most r, attained by an event whose numbers have "
        "probability 0, such as ? and a single number.",
        (
            smt("the ratio is at most r", "r >= 1, b >= 0, a <= r * b", "r + a <= r * (1 + r * b)"),
            identity("attained by ? and one number", "r + 0 == r * (1 + r * 0)"),
            smt("r is at most e^eps", "r >= 1", "r <= r ** 2"),
        ),
    ),
}
"""What joins the steps of each case, and the steps."""
