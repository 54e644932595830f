"""Selection by the exponential mechanism, Laplace noise, and the repaired PPNS (Lu and Shen, sections 1, 2.2 and 5.2).

k neighbors are drawn as in `dpassay.proofs.selection`; Laplace noise is that of Dwork et al. (2006); the score of the
repair is the floor-norm cosine of `similarity_sensitivity`.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.lemmas import EXPONENTS_ADD, LAPLACE_DENSITY, POST_PROCESSING, SUM_KEEPS_RATIO
from dpassay.proofs.notation import identity, instance, proof, smt
from dpassay.proofs.ppns.similarity_sensitivity import floor_cosine_proof
from dpassay.proofs.selection import (
    all_scores_instance,
    all_scores_proof,
    one_score_instance,
    one_score_proof,
    set_probability,
)

decide_em_repaired = established(
    "holds",
    "One draw changes by a factor of at most e^(2t) when every log-weight moves by at most t = eps/(4k), so k "
    "draws by e^(eps/2), and every set of neighbors, summed over the orders in which it can be drawn, by the "
    "same. With weights exp(eps q/(2k GS)) the selection is eps-differentially private. If only one candidate's "
    "score can move (a candidate's rating changes, not the target's), half the budget is spent: eps/4, and "
    "exp(eps q/(k GS)) gives eps. Neither factor can be lowered: they are attained in the limit of long lists, "
    "and of one far heavier candidate.",
    evidence=lambda: [
        shown("eps/2 for every n and k, and eps with twice the exponent.", all_scores_proof()),
        shown("Half of it when one candidate's score moves.", one_score_proof()),
        shown(
            "100 candidates, two draws, eps = 1/2 spent: more than 0.49 of it is lost.",
            all_scores_instance(100, 2, "1/2", "49/100"),
        ),
        shown("One score moves, two draws: more than 0.2475 of 0.25 is lost.", one_score_instance(2, "1/2", "99/400")),
    ],
)


def proved_ppns_repaired(claim: Claim, context: Context) -> Verdict:
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
            shown("The bound GS on the change of one floor-norm cosine.", floor_cosine_proof()),
            shown("Laplace noise on the n cosines, and post-processing.", noisy_similarities_proof()),
            shown("The exponential selection.", all_scores_proof()),
            shown("The exponential selection when only candidates' ratings are protected.", one_score_proof()),
            *(
                shown(
                    f"Three candidates, two neighbors, eps = 1: every set, both ways, when the {who}'s rating is "
                    "removed.",
                    floor_cosine_instance(who),
                )
                for who in ("target", "candidate")
            ),
        ),
    )


decide_laplace = established(
    "refuted",
    "Laplace noise of scale GS/eps on a numeric query, a predicted rating for instance, is eps-differentially "
    "private: the sentence is false as stated. As we read Sarathy and Muralidhar, whom it cites, their point is "
    "another: the noise needed for numeric data is often so large that the answers are of little use, and repeated "
    "answers average it away unless the budget is split among them. Both are about utility and composition, and "
    "for ratings in [1, 5] GS is at most 4. (Ideal arithmetic; floating-point noise has leaks of its own.)",
    evidence=lambda: shown("The Laplace mechanism is eps-differentially private.", laplace_proof()),
    assumptions=("GS bounds how far the released number can move between neighboring datasets",),
)


def laplace_proof() -> dict[str, Any]:
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
        supports="refuted",
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
            "total <= j * GS, abs(a - b) <= GS",
            "total + abs(a - b) <= (j + 1) * GS",
            model="total = 0, j = 0, GS = 1, a = 0, b = 1",
        ),
        _bounded_exponent(),
        identity("all n similarities move", "n * GS / (n * GS / eps) == eps"),
        identity("one similarity moves", "1 * GS / (GS / eps) == eps"),
        *EXPONENTS_ADD,
        *POST_PROCESSING,
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
        "s > 0, distance <= GS",
        "distance / s <= GS / s",
        model="s = 1, distance = 0, GS = 1",
    )


def _floor_cosine(first: Sequence[str], second: Sequence[str]) -> str:
    """Text of the floor-norm cosine of two rows of names, "" where a rating is missing; floor c."""
    dot = " + ".join(f"{a} * {b}" for a, b in zip(first, second, strict=True) if a and b) or "0"
    norms = [f"max(sqrt({' + '.join(f'{name} ** 2' for name in row if name)}), c)" for row in (first, second)]
    return f"({dot}) / ({norms[0]} * {norms[1]})"
