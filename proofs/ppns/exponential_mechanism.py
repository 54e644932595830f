"""Selection by the exponential mechanism, Laplace noise, and the repaired PPNS (Lu and Shen, sections 1, 2.2 and 5.2).

k neighbors are drawn one by one without replacement with weights exp(a q_i), where the score q_i of candidate i moves
by at most GS between neighboring datasets. GS is a constant and the candidate list is fixed. `r` is e^(a GS), so that
every weight moves by a factor between 1/r and r. The mechanisms are those of McSherry and Talwar (2007) and Dwork et
al. (2006); the score of the repair is the floor-norm cosine of `similarity_sensitivity`.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.proofs.decisions import decided
from dpassay.proofs.instances import instance, set_probability
from dpassay.proofs.lemmas import (
    DRAW_KEEPS_RATIO,
    EXPONENTS_ADD,
    LAPLACE_DENSITY,
    ONE_SCORE_DRAW,
    POST_PROCESSING,
    PRODUCT_KEEPS_RATIO,
    SUM_KEEPS_RATIO,
)
from dpassay.proofs.notation import identity, proof, smt
from dpassay.proofs.ppns.similarity_sensitivity import floor_cosine_proof

__all__ = [
    "all_scores_instance",
    "all_scores_proof",
    "decide_em_repaired",
    "decide_laplace",
    "decide_ppns_repaired",
    "floor_cosine_instance",
    "laplace_proof",
    "noisy_similarities_proof",
    "one_score_instance",
    "one_score_proof",
]


def decide_em_repaired(claim: Claim, context: Context) -> Verdict:
    """PP-EM-REP: k draws cost 2 k a GS; half of that when only one candidate's score moves."""
    every, one = all_scores_instance(100, 2, "1/2", "49/100"), one_score_instance(2, "1/2", "99/400")
    return decided(
        claim,
        "holds",
        "One draw changes by a factor of at most e^(2t) when every log-weight moves by at most t = eps/(4k), so k "
        "draws by e^(eps/2), and every set of neighbors, summed over the orders in which it can be drawn, by the "
        "same. With weights exp(eps q/(2k GS)) the selection is eps-differentially private. If only one candidate's "
        "score can move (a candidate's rating changes, not the target's), half the budget is spent: eps/4, and "
        "exp(eps q/(k GS)) gives eps. Neither factor can be lowered: they are attained in the limit of long lists, "
        "and of one far heavier candidate.",
        evidence=(
            Evidence("proof", "eps/2 for every n and k, and eps with twice the exponent.", all_scores_proof()),
            Evidence("proof", "Half of it when one candidate's score moves.", one_score_proof()),
            Evidence("certificate", "100 candidates, two draws, eps = 1/2 spent: more than 0.49 of it is lost.", every),
            Evidence("certificate", "One score moves, two draws: more than 0.2475 of 0.25 is lost.", one),
        ),
    )


def decide_ppns_repaired(claim: Claim, context: Context) -> Verdict:
    """PP-DP-REP: bounded scores, then Laplace noise and post-processing, or the exponential selection."""
    return decided(
        claim,
        "holds",
        "One rating moves a floor-norm cosine by at most GS = min(1, R^2/c^2). A candidate's rating moves one of the "
        "n similarities, the target's own can move all n, so Laplace noise of scale n GS/eps makes the noisy list "
        "eps-differentially private, and partitions, quotas, the last pick and beta, computed from it alone, stay "
        "so; drawing with weights exp(eps q/(2k GS)) instead gives the same eps. If the target's ratings need no "
        "protection from this output, noise of scale GS/eps (weights exp(eps q/(k GS))) is enough. This covers the "
        "neighbors of one target; a list for every user, or a prediction from the neighbors' ratings, spends more.",
        evidence=(
            Evidence("proof", "The bound GS on the change of one floor-norm cosine.", floor_cosine_proof()),
            Evidence("proof", "Laplace noise on the n cosines, and post-processing.", noisy_similarities_proof()),
            Evidence("proof", "The exponential selection.", all_scores_proof()),
            Evidence(
                "proof", "The exponential selection when only candidates' ratings are protected.", one_score_proof()
            ),
            *(
                Evidence(
                    "certificate",
                    f"Three candidates, two neighbors, eps = 1: every set, both ways, when the {who}'s rating is "
                    "removed.",
                    floor_cosine_instance(who),
                )
                for who in ("target", "candidate")
            ),
        ),
    )


def decide_laplace(claim: Claim, context: Context) -> Verdict:
    """PP-SAR: the Laplace mechanism is differentially private for any numeric query of bounded sensitivity."""
    return decided(
        claim,
        "refuted",
        "Laplace noise of scale GS/eps on a numeric query, a predicted rating for instance, is eps-differentially "
        "private: the sentence is false as stated. As we read Sarathy and Muralidhar, whom it cites, their point is "
        "another: the noise needed for numeric data is often so large that the answers are of little use, and "
        "repeated answers average it away unless the budget is split among them. Both are about utility and "
        "composition, and for ratings in [1, 5] GS is at most 4. (Ideal arithmetic; floating-point noise has leaks "
        "of its own.)",
        evidence=(Evidence("proof", "The Laplace mechanism is eps-differentially private.", laplace_proof()),),
        assumptions=("GS bounds how far the released number can move between neighboring datasets",),
    )


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
            ["a > 0", "abs(q - other) <= GS"],
            "abs(a * q - a * other) <= a * GS",
            model={"a": "1", "q": "0", "other": "1", "GS": "1"},
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


def laplace_proof(supports: str = "refuted") -> dict[str, Any]:
    """Laplace noise of scale GS/eps on a number is eps-DP."""
    return proof(
        "The density at z of a + noise is e^(-|z-a|/s) / (2s). Its ratio to that of b + noise has the exponent "
        "(|z-b| - |z-a|) / s, at most |a-b| / s (steps 1 and 2), at most GS / s (step 3), which is eps for s = "
        "GS/eps (step 4); so the densities differ by at most e^eps everywhere (step 5), and an integral over an "
        "event keeps that, as a limit of sums (step 6).",
        *LAPLACE_DENSITY,
        _bounded_exponent(),
        identity("the scale GS / eps", "GS / (GS / eps) == eps"),
        *EXPONENTS_ADD,
        *SUM_KEEPS_RATIO,
        supports=supports,
    )


def noisy_similarities_proof() -> dict[str, Any]:
    """Laplace noise of scale n GS / eps on n similarities, then anything computed from the noisy list alone."""
    return proof(
        "The density of the noisy list is a product over the n similarities, so exponents add up: each is at most "
        "|a_i - b_i| / s (steps 1 and 2), and the sum of |a_i - b_i| is at most j GS when j similarities move (step "
        "3, from 0). With s = n GS / eps and j = n, the target's own rating, the sum over s is at most eps (steps 4 "
        "and 5); with j = 1, one candidate's rating, and s = GS / eps too (step 6). Equal exponents mean equal "
        "ratios (step 7). Sorting, partitions of size k, quotas, draws by the noisy values, the last pick and beta "
        "read the noisy list and no other data, so they are post-processing: each output of it keeps the ratio, and "
        "so do sums (steps 8 and 9).",
        *LAPLACE_DENSITY,
        smt(
            "one more similarity that moves adds at most GS",
            ["total <= j * GS", "abs(a - b) <= GS"],
            "total + abs(a - b) <= (j + 1) * GS",
            model={"total": "0", "j": "0", "GS": "1", "a": "0", "b": "1"},
        ),
        _bounded_exponent(),
        identity("all n similarities move", "n * GS / (n * GS / eps) == eps"),
        identity("one similarity moves", "1 * GS / (GS / eps) == eps"),
        *EXPONENTS_ADD,
        *POST_PROCESSING,
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


def floor_cosine_instance(changed: str) -> dict[str, Any]:
    """The exponential selection on ratings of four users, one rating removed: all sets, both directions.

    Args:
        changed: whose rating of the first item is removed, "target" or "candidate".
    """
    ratings: tuple[tuple[int | None, ...], ...] = ((5, 3, 4), (4, 1, None), (2, None, 5), (None, 4, 4))
    names = [[f"r{u}{i}" if r is not None else "" for i, r in enumerate(row)] for u, row in enumerate(ratings)]
    values: dict[str, Any] = {
        f"r{u}{i}": r for u, row in enumerate(ratings) for i, r in enumerate(row) if r is not None
    }
    user = {"target": 0, "candidate": 1}[changed]
    neighbor = [["", *row[1:]] if number == user else row for number, row in enumerate(names)]
    bound = "min(1, R ** 2 / c ** 2)"
    scores, others = ([_floor_cosine(rows[0], row) for row in rows[1:]] for rows in (names, neighbor))
    weights, other_weights = ([f"exp(eps * ({q}) / (2 * k * {bound}))" for q in side] for side in (scores, others))
    formulas = [f"abs({q} - ({other})) <= {bound}" for q, other in zip(scores, others, strict=True)]
    for subset in combinations(range(3), 2):
        one, other = set_probability(weights, subset), set_probability(other_weights, subset)
        formulas += [f"{one} <= exp(eps) * ({other})", f"{other} <= exp(eps) * ({one})"]
    return instance({**values, "R": 5, "c": 10, "eps": 1, "k": 2}, *formulas, supports="holds")


def _bounded_exponent() -> Any:
    return smt(
        "over the scale, a distance of at most GS is at most GS / s",
        ["s > 0", "distance <= GS"],
        "distance / s <= GS / s",
        model={"s": "1", "distance": "0", "GS": "1"},
    )


def _floor_cosine(first: Sequence[str], second: Sequence[str]) -> str:
    """Text of the floor-norm cosine of two rows of names, "" where a rating is missing; floor c."""
    dot = " + ".join(f"{a} * {b}" for a, b in zip(first, second, strict=True) if a and b) or "0"
    norms = [f"max(sqrt({' + '.join(f'{name} ** 2' for name in row if name)}), c)" for row in (first, second)]
    return f"({dot}) / ({norms[0]} * {norms[1]})"


def _top_set(num_candidates: int, num_neighbors: int, weight: str) -> str:
    """Text of the probability that the k candidates of this weight are drawn, the others weighing 1."""
    rest = num_candidates - num_neighbors
    draws = [f"({weight} / ({left} * {weight} + {rest}))" for left in range(num_neighbors, 0, -1)]
    return " * ".join([str(math.factorial(num_neighbors)), *draws])
