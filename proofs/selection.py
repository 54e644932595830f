"""Selection of k candidates by weighted draws without replacement, the exponential mechanism over scores q_i.

Weights are exp(a q_i), where a score moves by at most GS between neighboring datasets and the candidate list is fixed;
`r` is e^(a GS), so that every weight moves by a factor between 1/r and r. The mechanism is that of McSherry and Talwar
(2007).
"""

import math
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

from dpassay.proofs.lemmas import DRAW_KEEPS_RATIO, ONE_SCORE_DRAW, PRODUCT_KEEPS_RATIO, SUM_KEEPS_RATIO
from dpassay.proofs.notation import identity, instance, proof, smt


def all_scores_proof() -> dict[str, Any]:
    """k draws with exp(eps q/(4k GS)) are eps/2-DP, with exp(eps q/(2k GS)) eps-DP, when all scores may move."""
    return proof(
        "Every weight moves by a factor of at most r = e^t, t = a GS. Adding up those of the candidates that remain "
        "(step 1, from the empty sum) shows that their total moves by at most r too, so a draw, given those before "
        "it, changes by at most r^2 (step 2). The chance of one order of draws is a product of k such factors; step "
        "3, from the empty product, with g the bound so far and h = r^2, gives r^(2k) = e^(2kt). A set can be drawn "
        "in k! orders, and an event is made of sets: step 1 again, with r^(2k) for r, adds them up. Steps 4 to 7 "
        "give the exponents. No step mentions n or k.",
        *SUM_KEEPS_RATIO,
        *DRAW_KEEPS_RATIO,
        *PRODUCT_KEEPS_RATIO,
        identity("one more draw adds 2t to the exponent", "exp(2 * t * j) * exp(2 * t) == exp(2 * t * (j + 1))"),
        identity("k draws with exp(eps q / (4k GS))", "2 * k * (eps / (4 * k * GS) * GS) == eps / 2"),
        identity("k draws with exp(eps q / (2k GS))", "2 * k * (eps / (2 * k * GS) * GS) == eps"),
        smt(
            "the exponent moves by at most t when the score moves by at most GS",
            "a > 0, abs(q - other) <= GS",
            "abs(a * q - a * other) <= a * GS",
            model="a = 1, q = 0, other = 1, GS = 1",
        ),
    )


def one_score_proof() -> dict[str, Any]:
    """When one candidate's score moves, k draws cost k t instead of 2 k t."""
    return proof(
        "One weight moves by a factor of at most r = e^t, the others keep theirs. Drawing that candidate changes by "
        "at most r (step 1); drawing another, whose weight stays while the total moves by at most r, too (step 2); "
        "once the candidate has been drawn, nothing changes. So an order of k draws changes by at most r^k (step 3, "
        "with h = r), and sums over orders and sets keep that (step 4).",
        *ONE_SCORE_DRAW,
        *PRODUCT_KEEPS_RATIO,
        *SUM_KEEPS_RATIO,
        identity("one more draw adds t to the exponent", "exp(t * j) * exp(t) == exp(t * (j + 1))"),
        identity("k draws with exp(eps q / (4k GS))", "k * (eps / (4 * k * GS) * GS) == eps / 4"),
        identity("k draws with exp(eps q / (k GS))", "k * (eps / (k * GS) * GS) == eps"),
    )


def all_scores_instance(num_candidates: int, num_neighbors: int, budget: str, loss: str) -> dict[str, Any]:
    """The bound is tight: k candidates rise by GS, the others fall by GS, and the k are drawn.

    Args:
        num_candidates: n.
        num_neighbors: k.
        budget: 2 k t, what the draws are allowed to cost, nats.
        loss: what they certainly cost more than, nats.

    Returns:
        A certificate {"kind", "inputs"} over the exact probabilities.
    """
    t = f"(budget / {2 * num_neighbors})"
    high, low = (
        _top_set(num_candidates, num_neighbors, f"exp({t})"),
        _top_set(num_candidates, num_neighbors, f"exp(-{t})"),
    )
    return instance(
        {"budget": budget, "loss": loss},
        f"{high} > exp(loss) * ({low})",
        f"{high} <= exp(budget) * ({low})",
        supports="holds",
    )


def one_score_instance(num_neighbors: int, budget: str, loss: str) -> dict[str, Any]:
    """The bound for one moving score is tight: k + 1 candidates, a far heavier one grows and is not drawn.

    Args:
        num_neighbors: k.
        budget: 2 k t as in `all_scores_instance`, nats; half of it is what may be spent here.
        loss: what is certainly spent, nats.
    """
    weight, heavier = "1000", f"(1000 * exp(budget / {2 * num_neighbors}))"

    def without(heavy: str) -> str:
        return " * ".join(f"({number} / ({number} + {heavy}))" for number in range(num_neighbors, 0, -1))

    return instance(
        {"budget": budget, "loss": loss},
        f"{without(weight)} > exp(loss) * ({without(heavier)})",
        f"{without(weight)} <= exp(budget / 2) * ({without(heavier)})",
        supports="holds",
    )


def smaller_lambda() -> dict[str, Any]:
    """One neighbor of two: with ln((n-1)(1-rho)/rho) less 1/100 for ln((n-1)/rho) the first statement fails."""
    level = "4 * k * RS / eps * (ln(k * (n - k) * (1 - rho) / rho) - 1 / 100)"
    return instance(
        {"s1": 1, "s2": "1/2", "RS": 1, "eps": "588/25", "rho": "1/20", "k": 1, "n": 2},
        f"s2 < s1 - {level}",
        "exp(eps * s2 / (4 * k * RS)) / (exp(eps * s1 / (4 * k * RS)) + exp(eps * s2 / (4 * k * RS))) > rho",
        supports="holds",
    )


def draw_probability(weights: Sequence[str], chosen: int, drawn: Iterable[int] = ()) -> str:
    """Text of the probability that `chosen` is drawn next, by weight, when `drawn` are gone."""
    gone = set(drawn)
    total = " + ".join(weight for index, weight in enumerate(weights) if index not in gone)
    return f"({weights[chosen]} / ({total}))"


def set_probability(weights: Sequence[str], subset: Sequence[int]) -> str:
    """Text of the probability that draws without replacement yield exactly this set: the sum over its orders."""
    orders = [
        " * ".join(draw_probability(weights, chosen, order[:place]) for place, chosen in enumerate(order))
        for order in permutations(subset)
    ]
    return f"({' + '.join(orders)})"


def _top_set(num_candidates: int, num_neighbors: int, weight: str) -> str:
    """Text of the probability that the k candidates of this weight are drawn, the others weighing 1."""
    rest = num_candidates - num_neighbors
    draws = [f"({weight} / ({left} * {weight} + {rest}))" for left in range(num_neighbors, 0, -1)]
    return " * ".join([str(math.factorial(num_neighbors)), *draws])
