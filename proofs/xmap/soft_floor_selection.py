"""Private neighbor selection with a soft floor (Guerraoui et al., X-Map, Theorem 3), repaired.

k neighbors are drawn without replacement by weight exp(eps' max(q_j, q_(k) - w0) / (4k GS)), where q_(k) is the k-th
largest score, w0 a constant, and GS a constant that bounds how far any score moves between neighboring datasets. The
floor is computed from the scores, but moves by no more than they do. For one user who joins or leaves, a score with
such a GS is the sum over users of products of entries of normalized rows, clipped to [-1, 1].
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import LAPLACE_DENSITY, POST_PROCESSING, PRODUCT_KEEPS_RATIO, SUM_KEEPS_RATIO
from dpassay.proofs.notation import Step, identity, instance, proof, smt
from dpassay.proofs.selection import all_scores_instance, all_scores_proof, set_probability

decide_pnsa_repaired = established(
    "holds",
    "The k-th largest score, and the larger of two numbers, move by no more than the scores do, so a floor below "
    "the k-th score by a constant costs nothing; the paper's w, computed from the data, would. If only candidates' "
    "ratings are protected, one score moves and with it perhaps the floor, all in one direction, and the cost is "
    "eps'/4. Noise goes on k similarities, all of which may move, so its scale is 2k GS/eps', k times the paper's. "
    "w0 = (4k GS/eps') ln(k(N-k)/rho) is such a constant and keeps the promises of XM-JOINT-REP. For whole users "
    "the cosine has GS = 2; sums of products of normalized rows over tau, clipped, have GS = 1/(2 tau).",
    evidence=lambda: [
        shown("Scores with the floor move by at most GS.", floor_proof()),
        shown("k draws by scores that move by at most GS cost eps'/2.", all_scores_proof()),
        shown(
            "Half of it when only one candidate's score moves, although the floor may move many.", one_direction_proof()
        ),
        shown("Noise on the k similarities, and the whole.", noise_proof()),
        shown("A similarity of items that one whole user moves by at most 1/(2 tau).", row_sensitivity_proof()),
        shown(
            "Four candidates, two neighbors, floor in force: every set, both ways.",
            floor_instance(("9/10", "1/2", "1/5", "0"), ("4/5", "3/5", "3/10", "1/10"), "1/4"),
        ),
        shown(
            "One candidate's score moves and lifts the floor: every set loses at most a quarter of eps'.",
            floor_instance(("9/10", "1/2", "1/5", "0"), ("9/10", "3/5", "1/5", "0"), "1/4", halves=2),
        ),
        shown(
            "Tight for wide floors: 100 candidates, two draws, more than 0.49 of eps'/2 = 0.5 is lost.",
            all_scores_instance(100, 2, "1/2", "49/100"),
        ),
    ],
    assumptions=(
        "the prediction reads the noisy similarities and otherwise only ratings that need no protection from its "
        "reader",
    ),
)


def floor_proof() -> dict[str, Any]:
    """max(q_j, q_(k) - w0) moves by at most GS when every q_j does."""
    return proof(
        "k candidates have a score of at least q_(k) on D; on D' these same k have at least q_(k) - GS (step 1), so "
        "the k-th largest there is no smaller than that. With D and D' exchanged, q_(k) moves by at most GS. So does "
        "q_(k) - w0, w0 being constant, and the larger of two numbers moves by no more than they do (step 2).",
        smt(
            "a score stays above a threshold lowered by GS",
            "abs(q - other) <= GS, q >= t",
            "other >= t - GS",
            model="q = 1, other = 0, GS = 1, t = 1",
        ),
        smt(
            "the larger of two numbers",
            "abs(q - other) <= GS, abs(kth - other_kth) <= GS",
            "abs(max(q, kth - w0) - max(other, other_kth - w0)) <= GS",
            model="q = 1, other = 0, GS = 1, kth = 0, other_kth = 1, w0 = 0",
        ),
    )


def one_direction_proof() -> dict[str, Any]:
    """When one candidate's score moves, k draws cost k t instead of 2 k t, t = eps'/(4k), in spite of the floor."""
    return proof(
        "Let one score rise by at most GS, the others stay. The k-th largest does not fall, and rises by at most GS, "
        "so every score with its floor rises, by at most GS, or stays (step 1): all weights grow by factors between 1 "
        "and r = e^t. So does their sum over those that remain (steps 2 and 3). Numerator and denominator of a draw's "
        "probability both grow, by at most r, so it changes by at most r either way (steps 4 and 5), and k draws by "
        "at most r^k (step 6, with h = r). Sums over orders and sets keep that (step 3). k t = eps'/4 (step 7). A "
        "fall is a rise from D' to D.",
        smt(
            "every score with its floor rises by at most GS",
            "q <= other, other <= q + GS, kth <= other_kth, other_kth <= kth + GS",
            "max(q, kth - w0) <= max(other, other_kth - w0) and max(other, other_kth - w0) <= max(q, kth - w0) + GS",
            model="q = 0, other = 1, GS = 1, kth = 0, other_kth = 1, w0 = 0",
        ),
        smt("the sum does not shrink", "X <= Y, x <= y", "X + x <= Y + y", model="X = 1, Y = 1, x = 1, y = 1"),
        *SUM_KEEPS_RATIO,
        *_one_direction_draw(),
        *PRODUCT_KEEPS_RATIO,
        identity("k draws with exp(eps q / (4k GS))", "k * (eps / (4 * k * GS) * GS) == eps / 4"),
    )


def noise_proof() -> dict[str, Any]:
    """Laplace noise of scale 2k GS/eps' on the k chosen similarities costs eps'/2; with the selection eps' in all."""
    return proof(
        "Given the chosen set, the noisy similarities are independent; the density of each has an exponent that moves "
        "by at most its similarity's change over the scale b (steps 1 and 2), and the k changes add up to at most k "
        "GS (step 3, from 0), so together eps'/2 for b = 2k GS/eps' (step 4). The set itself costs eps'/2, and "
        "probabilities of the set and densities given it multiply (steps 5 and 6): eps' in all. The prediction is "
        "computed from that (steps 7 and 8). With the paper's scale, GS/(eps'/2) for each, the k similarities cost k "
        "eps'/2 (step 9).",
        *LAPLACE_DENSITY,
        smt(
            "one more similarity adds at most GS",
            "total <= j * GS, abs(a - b) <= GS",
            "total + abs(a - b) <= (j + 1) * GS",
            model="total = 0, j = 0, GS = 1, a = 0, b = 1",
        ),
        identity("the noise costs eps/2", "k * GS / (2 * k * GS / eps) == eps / 2"),
        *PRODUCT_KEEPS_RATIO,
        identity("selection and noise", "exp(eps / 2) * exp(eps / 2) == exp(eps)"),
        *POST_PROCESSING,
        identity("the paper's scale", "k * GS / (GS / (eps / 2)) == k * eps / 2"),
    )


def row_sensitivity_proof() -> dict[str, Any]:
    """clip(sum_u z_ui z_uj / tau, -1, 1), every row of norm at most 1, moves by at most 1/(2 tau) with one user."""
    return proof(
        "A user's row has norm at most 1, so two of its entries satisfy z_i^2 + z_j^2 <= 1 and |z_i z_j| <= 1/2 (step "
        "1): the sum over users moves by at most 1/2 when a user joins or leaves, over tau by at most 1/(2 tau) (step "
        "2), and clipping to [-1, 1] moves nothing further (step 3). Both entries 1/sqrt(2), on an empty sum, attain "
        "it for tau >= 1/2 (step 4). No item's norm is used: dividing by norms computed from the data is what makes "
        "the cosine's GS its whole range.",
        smt("a user's product", "z_i ** 2 + z_j ** 2 <= 1", "abs(z_i * z_j) <= 1 / 2", model="z_i = 0, z_j = 0"),
        smt(
            "over tau",
            "tau > 0, abs(p) <= 1 / 2, move * tau == p, bound * (2 * tau) == 1",
            "abs(move) <= bound",
            model="tau = 1, p = 1/2, move = 1/2, bound = 1/2",
        ),
        smt(
            "clipping",
            "abs(x - y) <= GS",
            "abs(max(-1, min(1, x)) - max(-1, min(1, y))) <= GS",
            model="x = 0, y = 1, GS = 1",
        ),
        smt(
            "attained", "z > 0, 2 * z ** 2 == 1, tau >= 1 / 2, q * tau == z * z", "max(-1, min(1, q)) * (2 * tau) == 1"
        ),
    )


def floor_instance(scores: Sequence[str], others: Sequence[str], width: str, *, halves: int = 1) -> dict[str, Any]:
    """Every pair of four candidates, eps' = 1, GS = 1/10: its probabilities differ by at most e^(eps'/(2 halves)).

    Args:
        scores: on D, descending; the second is the k-th.
        others: on D', descending.
        width: w0.
        halves: 2 when one candidate's score moves.
    """
    names, other_names = ([f"{letter}{place}" for place in range(1, 5)] for letter in ("q", "p"))
    weights, other_weights = (
        [f"exp(eps * max({name}, {side[1]} - w0) / (4 * k * GS))" for name in side] for side in (names, other_names)
    )
    formulas = [f"abs({q} - {p}) <= GS" for q, p in zip(names, other_names, strict=True)]
    formulas += [f"{a} >= {b}" for side in (names, other_names) for a, b in pairwise(side)]
    formulas.append("q2 - w0 > q3")
    for pair in combinations(range(4), 2):
        one, other = set_probability(weights, pair), set_probability(other_weights, pair)
        formulas += [f"{a} <= exp(eps / {2 * halves}) * {b}" for a, b in ((one, other), (other, one))]
    values = dict(zip((*names, *other_names), (*scores, *others), strict=True))
    return instance({**values, "eps": 1, "k": 2, "GS": "1/10", "w0": width}, *formulas, supports="holds")


def _one_direction_draw() -> tuple[Step, ...]:
    grown = "0 < x, x <= y, y <= r * x, x <= X, X <= Y, Y <= r * X, y <= Y, p * X == x, q * Y == y"
    model = "x = 1, y = 1, X = 2, Y = 2, r = 1, p = 1/2, q = 1/2"
    return (
        smt("a draw falls by at most r when all weights grow by at most r", grown, "p <= r * q", model=model),
        smt("a draw rises by at most r when all weights grow by at most r", grown, "q <= r * p", model=model),
    )
