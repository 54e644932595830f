"""From the error on released ratings to the completed matrix (Zheng, section 3, Definition 4, equations 2 to 7).

Z is the released matrix with support Omega_Z, p the share of its cells that are not missing, rho the error on them.
Completion minimizes the nuclear norm subject to an error of at most rho on Omega_Z.
"""

import math
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.experiments.rating_collection.bounds import GAMMA, Shape, excess
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import Step, identity, proof, smt
from dpassay.proofs.rating_collection.accuracy import decomposition_proof
from dpassay.proofs.rating_collection.privacy import EPSILONS, NUM_ITEMS


def decide_monotone(claim: Claim, context: Context) -> Verdict:
    """RC-MON: strictly decreasing, with the stated limit; where the bounds reach the order of rho0 sqrt(s)."""
    shape = Shape.of(context.data)
    rows = []
    for rho0 in (0.1, 0.5, 1.0):
        needed = [_epsilon_at(kind, rho0 * math.sqrt(shape.rated), shape) for kind in ("laplace", "response")]
        rows.append([rho0, *(text for eps in needed for text in (f"{eps:.1f}", f"{eps * NUM_ITEMS:,.0f}"))])
    table = Table(
        f"Where the noise part of a bound is rho0 sqrt(s), gamma = {GAMMA}, {shape.label}",
        ["rho0", "eps, (6)", f"of {NUM_ITEMS:,} entries, (6)", "eps, (7)", f"of {NUM_ITEMS:,} entries, (7)"],
        rows,
    )
    return decided(
        claim,
        "holds",
        "All three noise terms fall strictly with eps and tend to 0.",
        f"The paper advises to choose eps so that the whole bound has the order of rho0 sqrt(s). For {shape.label} "
        f"and rho0 = 0.5, gamma = {GAMMA} that takes eps = {rows[1][1]} per entry for the modified Laplace "
        f"mechanism, {rows[1][2]} for a user's vector: no protection to speak of.",
        evidence=shown("Monotone, with limit rho0 sqrt(s).", monotone_proof(), tables=(table,)),
    )


def decide_isometry(claim: Claim, context: Context) -> Verdict:
    """RC-RIP: no projection on some of the entries satisfies it."""
    shape = Shape.of(context.data)
    rows = []
    for epsilon in EPSILONS:
        r, e = math.exp(epsilon / 2), math.exp(epsilon)
        missing = shape.cells - shape.rated
        laplace = shape.rated * math.log10(r / (1 + r)) - missing * math.log10(1 + r)
        response = shape.rated * math.log10(1 - 1 / (e + 5)) + missing * math.log10(5 / (e + 5))
        rows.append([epsilon, f"{laplace:,.0f}", f"{response:,.0f}"])
    table = Table(
        f"Chance that no released entry is missing, powers of 10 ({shape.label})",
        ["eps", "modified Laplace", "randomized response, d = 5"],
        rows,
    )
    return decided(
        claim,
        "vacuous",
        "No projection that misses an entry satisfies (2): the matrix with a single 1 there has rank 1 and "
        "projection 0, so the left inequality of (2) fails for every alpha < 1; at an observed entry the right one "
        "fails too unless p >= 1/(1+alpha). So (2) holds only when no entry of Z is missing, and then for alpha = "
        "0; completion is not needed there. The chance that the mechanisms release a rating for every entry is nil "
        "(table). The isometry property of [9] is about random measurements that mix all entries, not about seeing "
        "some of them. Work on completion assumes instead that the singular vectors of Theta are spread out "
        "(incoherence), or that no entry dominates, and that entries are drawn at random; see RC-RIP-REP.",
        evidence=shown("Rank-1 matrices that violate either side.", isometry_proof(), tables=(table,)),
        repair="RC-RIP-REP",
    )


def decide_isometry_repaired(claim: Claim, context: Context) -> Verdict:
    """RC-RIP-REP: one fixed matrix without spikes, by Chebyshev's inequality."""
    shape = Shape.of(context.data)
    rows = []
    for epsilon in EPSILONS:
        r = math.exp(epsilon / 2)
        share = (shape.rated * r + shape.cells - shape.rated) / ((1 + r) * shape.cells)
        rows.append([epsilon, f"{r / (1 + r):.4f}", f"{1 / (1 + r):.4f}", f"{share:.4f}", f"{r:.4g}"])
    table = Table(
        f"Chance that a cell is released with a rating, modified Laplace ({shape.label})",
        ["eps", "rated cell", "missing cell", "p", "ratio"],
        rows,
    )
    return decided(
        claim,
        "holds",
        "The mean of the projected square over p is the square itself, and its variance is small when no entry "
        "carries much of it; mu is the largest entry's square relative to the mean square. For a single spike mu = "
        "mn and the bound is void, as it must be.",
        "Even this needs what the paper's release does not have: rated entries stay visible more often than others "
        "become so, by the factor e^(eps/2), and Theta^ - Theta is not fixed before the entries are drawn. A proof "
        "of (5) for such sampling needs incoherence and weights; the paper has neither.",
        evidence=shown("Chebyshev's inequality for the sampled square.", fixed_matrix_proof(), tables=(table,)),
    )


decide_error_bound = established(
    "vacuous",
    "The premise (2) fails whenever an entry of Z is missing (RC-RIP), so (5) says nothing about any rating "
    "matrix with missing entries, and Theorem 3 combined with it assures nothing. Without the premise (5) is "
    "false for every C0 (RC-5-REP). That the analysis carries over to all methods is judged in RC-5-ALL.",
    evidence=lambda: shown("The premise is never met.", isometry_proof()),
    repair="RC-5-REP",
)

decide_error_bound_repaired = established(
    "holds",
    "With every entry released, Theta and its estimate are both within rho of Z, so within 2 rho of each other. "
    "With one missing, let Theta be 1 there and 0 elsewhere, and Z = Theta where released: rho = 0, the zero "
    "matrix is feasible and has the least nuclear norm, so the estimate is 0 and its error 1.",
    evidence=lambda: [
        shown("Both halves.", error_bound_proof()),
        shown("The triangle inequality for matrices.", decomposition_proof()),
    ],
)

decide_all_methods = established(
    "refuted",
    "Predicting every rating by the item's mean is a method in use, and it has an error even if every entry is "
    "released without noise: for two users who rate one item 1 and -1, rho = 0 and the error is sqrt(2). No C0 "
    "gives (5). The bound is a property of a method, to be proved for each one.",
    evidence=lambda: shown("rho = 0 and a positive error.", all_methods_proof()),
)


def proved_utility(claim: Claim, context: Context) -> Verdict:
    """RC-UTIL: open; the limit is proved for bounded errors, the decrease needs an experiment."""
    shape = Shape.of(context.data)
    rows = []
    for epsilon in (10.0, 20.0, 30.0, 40.0):
        chances = (shape.cells / (1 + math.exp(epsilon / 2)), shape.cells * 5 / (math.exp(epsilon) + 5))
        rows.append([epsilon, *(f"{min(1.0, chance):.3g}" for chance in chances), f"{8 / epsilon**2:.4f}"])
    table = Table(
        f"Bounds on how the release differs from the clean data ({shape.label})",
        [
            "eps",
            "chance that the missing entries differ (modified Laplace), at most",
            "chance of any change (randomized response, d = 5), at most",
            "variance of the noise (modified Laplace)",
        ],
        rows,
    )
    return decided(
        claim,
        "open",
        "Not decided: whether the error of the completion falls from each eps to the next is a matter of trained "
        "completions on real ratings, which belong to the accuracy experiments. Tried by proof: (5) with (6) and (7) "
        "cannot show it, since the premise of (5) is never met (RC-RIP). What is proved: as eps tends to infinity the "
        "release equals the clean data except with a chance that tends to 0 (randomized response), or has the same "
        "missing entries and noise of variance 8/eps^2 (modified Laplace), so an error that is bounded and continuous "
        "in the data tends to that of the clean data; and for randomized response the best possible error, over all "
        "estimators, never grows with eps, since a smaller eps is a larger one followed by more response noise.",
        evidence=shown("The limit, and the order of randomized responses.", utility_limit_proof(), tables=(table,)),
    )


def monotone_proof() -> dict[str, Any]:
    """(6) and (7) fall strictly to rho0 sqrt(s)."""
    return proof(
        "eps1 < eps2, with r1 < r2 for e^(eps/2) and e1 < e2 for e^eps (the exponential is increasing), w = "
        "sqrt(s/gamma), c = 2mn/gamma or 2mnd/gamma; roots keep the order. Limits: with e^x >= 1 + x each term is "
        "below any target > 0 from some eps on (steps 4 to 6). What is left is rho0 sqrt(s).",
        smt(
            "the first noise term of (6) falls",
            "0 < eps1, eps1 < eps2, w > 0",
            "4 / eps2 * w < 4 / eps1 * w",
            model="eps1 = 1, eps2 = 2, w = 1",
        ),
        smt(
            "the second noise term of (6) falls: its chance",
            "1 <= r1, r1 < r2, c > 0, u > 0",
            "c / (r2 + 1) * u < c / (r1 + 1) * u",
            model="r1 = 1, r2 = 2, c = 1, u = 1",
        ),
        smt(
            "and its moment",
            "0 < eps1, eps1 < eps2",
            "1 + 8 / eps2 ** 2 < 1 + 8 / eps1 ** 2",
            model="eps1 = 1, eps2 = 2",
        ),
        smt(
            "the noise term of (7) falls",
            "1 <= e1, e1 < e2, c > 0, d >= 2",
            "c / (e2 + d) < c / (e1 + d)",
            model="e1 = 1, e2 = 2, c = 1, d = 2",
        ),
        smt("roots keep the order", "x >= 0, y >= 0, x ** 2 < y ** 2", "x < y", model="x = 0, y = 1"),
        smt(
            "the first noise term of (6) tends to 0",
            "w > 0, target > 0, eps > 4 * w / target",
            "4 / eps * w < target",
            model="w = 1, target = 4, eps = 2",
        ),
        smt(
            "the second noise term of (6) tends to 0",
            "c > 0, target > 0, eps >= 1, eps > 18 * c / target, r >= 1 + eps / 2, moment <= 9",
            "c / (r + 1) * moment < target",
            model="c = 1, target = 18, eps = 2, r = 2, moment = 9",
        ),
        smt("its moment from eps = 1 on", "eps >= 1", "1 + 8 / eps ** 2 <= 9"),
        smt(
            "the noise term of (7) tends to 0",
            "c > 0, target > 0, eps > 0, eps > c / target, e >= 1 + eps, d >= 2",
            "c / (e + d) < target",
            model="c = 1, target = 1, eps = 2, e = 3, d = 2",
        ),
    )


def isometry_proof() -> dict[str, Any]:
    """Both sides of (2) fail on matrices of rank 1 unless nothing is missing."""
    return proof(
        "A is 1 at one entry and 0 elsewhere: rank 1, norm 1. At a missing entry its projection is 0, and (1-alpha) "
        "<= 0/p is false for alpha < 1 (step 1). At an observed one the square over p is 1/p, and 1/p <= 1 + alpha "
        "is false for p < 1/(1+alpha) (step 2). So (2) with any alpha < 1 means that no entry is missing; then p = "
        "1, the projection is the identity and (2) holds with alpha = 0 (step 3).",
        smt("a missing entry", "alpha < 1, p > 0", "not (1 - alpha) * 1 <= 1 / p * 0"),
        smt(
            "an observed entry",
            "alpha > 0, p > 0, p * (1 + alpha) < 1",
            "not 1 / p * 1 <= (1 + alpha) * 1",
            model="alpha = 1/2, p = 1/2",
        ),
        identity("nothing missing", "1 / 1 * square == square"),
        supports="vacuous",
    )


def fixed_matrix_proof() -> dict[str, Any]:
    """Chebyshev for a fixed matrix and independent sampling with one probability."""
    return proof(
        "Each cell adds a^2/p with chance p: mean a^2 (step 1), variance (1-p)/p a^4 (step 2); independent variances "
        "add up. With every a^2 at most M = mu F/(mn), F = ||A||^2, the sum of fourth powers is at most M F (step 3, "
        "by induction). Chebyshev: where |Y - F| > alpha F the number (alpha F)^2 is below (Y - F)^2 (step 4), so the "
        "chance of that is at most the variance over (alpha F)^2, which is (1-p) mu/(p alpha^2 mn) (step 5).",
        identity("mean of a cell", "p * (a ** 2 / p) == a ** 2"),
        identity("variance of a cell", "p * (a ** 2 / p) ** 2 - (a ** 2) ** 2 == (1 - p) / p * a ** 4"),
        smt(
            "fourth powers, one more cell",
            "fourth <= M * total, 0 <= square, square <= M",
            "fourth + square ** 2 <= M * (total + square)",
            model="fourth = 0, total = 0, square = 0, M = 1",
        ),
        smt(
            "Chebyshev's inequality at one outcome",
            "t > 0, (hit == 1 and abs(Y - F) > t) or hit == 0",
            "t ** 2 * hit <= (Y - F) ** 2",
            model="t = 1, hit = 0, Y = 0, F = 0",
        ),
        smt(
            "the chance of a deviation",
            "0 < p, p <= 1, alpha > 0, F > 0, cells > 0, mu > 0, "
            "chance * (alpha * F) ** 2 <= (1 - p) / p * (mu * F / cells * F)",
            "chance <= (1 - p) * mu / (p * alpha ** 2 * cells)",
            model="p = 1/2, alpha = 1, F = 1, cells = 1, mu = 1, chance = 0",
        ),
    )


def error_bound_proof() -> dict[str, Any]:
    """2 rho when nothing is missing; no constant otherwise."""
    return proof(
        "Complete Z: the estimate is feasible, so within rho of Z, and rho is the distance of Theta; the triangle "
        "inequality adds them (step 1). A missing entry: Theta, 1 there and 0 elsewhere, agrees with Z = 0 on the "
        "released cells, rho = 0; 0 is the only matrix of nuclear norm 0, so it is the estimate, its squared error "
        "is 1 (step 2), and 1 <= C0 p^(-1/2) 0 is false for every C0 (step 3; inverse_root stands for p^(-1/2)).",
        smt(
            "nothing missing",
            "estimate <= rho, truth == rho, error <= estimate + truth",
            "error <= 2 * rho",
            model="estimate = 0, truth = 0, rho = 0, error = 0",
        ),
        identity("the error at the missing entry", "(1 - 0) ** 2 == 1"),
        smt("no constant", "C0 > 0, inverse_root >= 1", "not 1 <= C0 * inverse_root * 0"),
    )


def all_methods_proof() -> dict[str, Any]:
    """Item means on two exact ratings."""
    return proof(
        "Two users, one item, ratings 1 and -1, all released without noise: rho = 0, p = 1. The item's mean is 0, "
        "its squared error 2, and no C0 makes 2 <= (C0 0)^2.",
        smt("the error of the mean", "2 * mean == 1 + -1", "(1 - mean) ** 2 + (-1 - mean) ** 2 == 2", model="mean = 0"),
        smt("no constant", "C0 > 0", "not 2 <= (C0 * 0) ** 2"),
        supports="refuted",
    )


def utility_limit_proof() -> dict[str, Any]:
    """What can be proved of RC-UTIL without an experiment."""
    return proof(
        "A cell changes (randomized response) with chance d/(e+d), its missingness changes (modified Laplace) with "
        "chance 1/(1+r); the union over mn cells tends to 0 (steps 1 and 2, with e^x >= 1 + x). An error of at most "
        "L then differs in mean by at most L times that chance (step 3). Randomized response with a chance a to "
        "keep, followed by one with b, keeps with chance a b + (1-a)(1-b)/d (a detour back has chance 1/d) and "
        "treats all other symbols alike; every chance k from 1/(d+1) to a is reached by a b in [0, 1] (step 4), so "
        "the smaller eps is a post-processing of the larger one, and whatever is computed from it can be computed "
        "from the larger one too.",
        *_vanishing(),
        smt(
            "an error of at most L",
            "L >= 0, 0 <= chance, abs(clean - private) <= L * chance, chance <= target",
            "abs(clean - private) <= L * target",
            model="L = 1, chance = 0, clean = 0, private = 0, target = 0",
        ),
        smt(
            "a smaller eps by more noise",
            "d >= 1, a * (d + 1) > 1, a <= 1, k * (d + 1) >= 1, k <= a, a * b + (1 - a) * (1 - b) / d == k",
            "0 <= b and b <= 1",
            model="d = 1, a = 1, k = 1/2, b = 1/2",
        ),
        supports="open",
    )


def _vanishing() -> tuple[Step, ...]:
    return (
        smt(
            "a change somewhere, randomized response",
            "cells > 0, d >= 1, target > 0, eps > cells * d / target, e >= 1 + eps, chance * (e + d) <= cells * d",
            "chance < target",
            model="cells = 1, d = 1, target = 1, eps = 2, e = 3, chance = 0",
        ),
        smt(
            "a change of missingness, modified Laplace",
            "cells > 0, target > 0, eps > 2 * cells / target, r >= 1 + eps / 2, chance * (1 + r) <= cells",
            "chance < target",
            model="cells = 1, target = 1, eps = 3, r = 3, chance = 0",
        ),
    )


def _epsilon_at(kind: str, target: float, shape: Shape) -> float:
    """The eps at which the noise part of the bound is `target`, by bisection; float64."""
    low, high = 1e-3, 1e3
    while high - low > 1e-6 * high:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(kind, middle, shape)[0] > target else (low, middle)
    return high
