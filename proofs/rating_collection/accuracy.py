"""Theorem 3 of Zheng: how far the released ratings are from the true ones, and how loose the bounds are.

Notation as in `rating_collection_moments`, where the steps of the proof are; rho is the Frobenius norm of Theta - Z on
the cells that Z rates.
"""

import math
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.experiments.rating_collection.bounds import GAMMA, Shape, excess
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import identity, proof, smt
from dpassay.proofs.rating_collection.moments import (
    MARKOV,
    NOISE_AROUND_ZERO,
    NOISE_MOMENT,
    SOME_CELLS,
    UNIFORM_SQUARE,
    laplace_steps_proof,
    response_steps_proof,
)
from dpassay.proofs.rating_collection.privacy import EPSILONS


def decide_laplace_bound(claim: Claim, context: Context) -> Verdict:
    """RC-T3-ML: (6), and how loose it is."""
    tables, plots, middle = _slack("laplace", context)
    return decided(
        claim,
        "holds",
        "The triangle inequality splits rho into three norms, each noise norm exceeds its bound with probability at "
        "most gamma/2 by Markov's inequality, and both hold at once with probability at least 1 - gamma, for every X.",
        "The paper never says that true ratings lie in [-1, 1]; without it (6) is false (RC-RANGE).",
        f"It is loose: at eps = 1, gamma = {GAMMA} the bound on the noise is {middle:.1f} times the root mean square "
        f"of the noise it bounds ({Shape.of(context.data).label}). Only means enter, so the noise of different cells "
        "need not be independent here.",
        evidence=(
            shown("Splitting rho.", decomposition_proof()),
            shown("Moments, sums and Markov steps.", laplace_steps_proof(), tables=tables, plots=plots),
            shown("Both bounds at once.", union_proof()),
        ),
    )


def decide_response_bound(claim: Claim, context: Context) -> Verdict:
    """RC-T3-RR: (7), and how loose it is."""
    tables, plots, middle = _slack("response", context)
    return decided(
        claim,
        "holds",
        "The same three norms and two Markov steps; the norm on rated cells has the smaller bound since s <= mn, so "
        "twice the other covers both.",
        "The paper never says that true ratings lie between 1 and d; without it (7) is false (RC-RANGE). Its second "
        "step prints an equality that is an inequality (RC-EQ), which does no harm here.",
        f"It is loose: at eps = 1, gamma = {GAMMA}, d = 5 the bound on the noise is {middle:.1f} times the root mean "
        f"square of the noise it bounds ({Shape.of(context.data).label}).",
        evidence=(
            shown("Splitting rho.", decomposition_proof()),
            shown("Moments, sums and Markov steps.", response_steps_proof(), tables=tables, plots=plots),
            shown("Both bounds at once.", union_proof()),
        ),
    )


def decide_sharper_bounds(claim: Claim, context: Context) -> Verdict:
    """RC-T3-TIGHT: one Markov step."""
    return decided(
        claim,
        "holds",
        "The two noise terms live on different cells, so the square of their sum is the sum of their squares, and "
        "one Markov step replaces two and a union bound. With the exact moments the new bounds are smaller than (6) "
        "and (7) whatever eps, gamma, d and the sizes are: by a factor of at least sqrt(2) for (6), and sqrt(48 "
        "(d-1)/(2d-1)), which is 4.6 at d = 5, for (7). What is left is the factor 1/sqrt(gamma) of Markov's "
        "inequality.",
        evidence=(
            shown("Splitting rho.", decomposition_proof()),
            shown(
                "The sharper bounds, and that they are smaller.",
                sharper_proof(),
                tables=(_slack("laplace", context)[0][0], _slack("response", context)[0][0]),
            ),
        ),
    )


decide_decomposition = established(
    "holds",
    "On every released cell the three terms add up to Theta - Z, the Frobenius norm satisfies the triangle "
    "inequality, and restricting a matrix to fewer cells does not lengthen it.",
    evidence=lambda: shown("For any numbers of users and items.", decomposition_proof()),
)

decide_union = established(
    "holds",
    "The probability of at least one of two events is at most the sum of theirs; independence is not needed.",
    evidence=lambda: shown("The union bound, twice gamma/2.", union_proof()),
)


def decomposition_proof() -> dict[str, Any]:
    """Three terms per cell, and Minkowski's inequality by induction on the cells."""
    return proof(
        "Where both are rated, (Theta - X) + (X - Z) = Theta - Z (step 1); where only Z is, the third term is Theta "
        "- Z and the others are 0. Triangle inequality for two matrices, applied twice, by induction on the cells: "
        "A, B are the norms so far with the sum's norm at most A + B, a, b the next entries, C and D the norms with "
        "them (steps 2 to 4). Step 5: a norm over fewer cells is not larger, so the first term is at most the norm "
        "over all observed cells, rho0 sqrt(s).",
        identity("cells rated in both", "(theta - x) + (x - z) == theta - z"),
        smt(
            "Cauchy-Schwarz for one more cell",
            "A >= 0, B >= 0, C >= 0, D >= 0, C ** 2 == A ** 2 + a ** 2, D ** 2 == B ** 2 + b ** 2",
            "C * D >= A * B + a * b",
            model="A = 0, B = 0, C = 0, D = 0, a = 0, b = 0",
        ),
        identity(
            "the square of the sum",
            "(A + B) ** 2 + (a + b) ** 2 == (A ** 2 + a ** 2) + (B ** 2 + b ** 2) + 2 * (A * B + a * b)",
        ),
        smt(
            "the triangle inequality for one more cell",
            "S >= 0, M >= 0, M ** 2 <= c + d + 2 * q, q <= p, S ** 2 == c + d + 2 * p",
            "M <= S",
            model="S = 0, M = 0, c = 0, d = 0, q = 0, p = 0",
        ),
        smt(
            "fewer cells",
            "part >= 0, whole >= 0, whole ** 2 == part ** 2 + rest, rest >= 0",
            "part <= whole",
            model="part = 0, whole = 0, rest = 0",
        ),
    )


def sharper_proof() -> dict[str, Any]:
    """One Markov step on the sum of both noise terms."""
    return proof(
        "The two noise terms have no cell in common, so a cell's entry is in one of them (step 1), and the squared "
        "norm of their sum has the mean E, exactly as in section 4.3 but with the chances to keep and create. For "
        "randomized response a rated cell x that is released as another rating adds the sum of (x-j)^2 over j = "
        "1..d, divided by e+d, a created one the same with Theta for x, so each at most (d-1) d (2d-1)/6/(e+d) "
        "(created_rating steps). Markov with t = E/gamma: failure at most gamma. Smaller than (6): with a, b the "
        "bounds on the two means, (sqrt(2a/gamma) + sqrt(2b/gamma))^2 >= 2 (a+b)/gamma >= 2 E/gamma. Smaller than "
        "(7): compare squares.",
        identity("different cells", "(a + 0) ** 2 + (0 + b) ** 2 == a ** 2 + b ** 2"),
        *NOISE_MOMENT,
        *NOISE_AROUND_ZERO,
        *SOME_CELLS,
        *UNIFORM_SQUARE,
        identity(
            "a released cell of randomized response",
            "d * ((d - 1) * (2 * d - 1) / 6) / (e + d) == (d - 1) * (2 * d - 1) / 6 * (d / (e + d))",
        ),
        *MARKOV[:1],
        smt(
            "failure at most gamma",
            "E > 0, gamma > 0, chance * (E / gamma) <= E",
            "chance <= gamma",
            model="E = 1, gamma = 1, chance = 0",
        ),
        smt(
            "smaller than (6) by sqrt(2) at least",
            "x >= 0, y >= 0, x ** 2 == 2 * a, y ** 2 == 2 * b, E <= a + b",
            "(x + y) ** 2 >= 2 * E",
            model="x = 0, y = 0, a = 0, b = 0, E = 0",
        ),
        identity(
            "the ratio of (7) to it, squared",
            "(4 * (d - 1) ** 2 * 2 * c) / ((d - 1) * (2 * d - 1) / 6 * c) == 48 * (d - 1) / (2 * d - 1)",
        ),
        smt("which is above 1", "d >= 2", "48 * (d - 1) > 2 * d - 1"),
    )


def union_proof() -> dict[str, Any]:
    """The union bound for two events."""
    return proof(
        "a, b, both and neither are the probabilities of the four combinations of two events of probability at most "
        "gamma/2 each.",
        smt(
            "neither fails with probability at least 1 - gamma",
            "a >= 0, b >= 0, both >= 0, a + b + both + neither == 1, a + both <= gamma / 2, b + both <= gamma / 2",
            "neither >= 1 - gamma",
            model="a = 0, b = 0, both = 0, neither = 1, gamma = 0",
        ),
    )


def _slack(kind: str, context: Context) -> tuple[tuple[Table], tuple[Plot], float]:
    """Table and plot of a bound against what it bounds, and their ratio at eps = 1."""
    shape = Shape.of(context.data)
    number = {"laplace": "(6)", "response": "(7)"}[kind]
    rows = []
    for epsilon in EPSILONS:
        printed, sharper, exact = excess(kind, epsilon, shape)
        rows.append([epsilon, f"{printed:,.0f}", f"{sharper:,.0f}", f"{exact:,.0f}", f"{printed / exact:.2f}"])
    grid = [10 ** (step / 20 - 1) for step in range(41)]
    labels = (f"bound {number}", "sharper bound", "root mean square of the noise")
    curves = [excess(kind, epsilon, shape) for epsilon in grid]
    table = Table(
        f"Noise part of rho, gamma = {GAMMA}, {shape.label}; sqrt(s) = {math.sqrt(shape.rated):.0f}",
        ["eps", f"bound {number}", "sharper bound", "exact root mean square", "bound / exact"],
        rows,
    )
    plot = Plot(
        f"What {number} adds to rho0 sqrt(s), and the noise itself ({shape.label})",
        "eps per entry",
        "Frobenius norm",
        [Series(label, grid, [values[index] for values in curves]) for index, label in enumerate(labels)],
    )
    printed, _, exact = excess(kind, 1.0, shape)
    return (table,), (plot,), printed / exact
