"""The law of weighted draws without replacement: PP-PMF and PP-E10 of Lu and Shen (PPNS), equations 10 and 13 to 17."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.notation import Step, identity, proof, smt

decide_expectation = established(
    "holds",
    "The expectation of a sum of similarities over the random set is the sum of similarity times inclusion "
    "probability, for every selection method and any similarities.",
    "The mu_i in it are exact inclusion probabilities; with Manly's approximation put in their place, as (12) "
    "does, the right-hand side is approximate.",
    evidence=lambda: shown("Both induction steps of the exchange.", expectation_proof()),
)

decide_pmf = established(
    "holds",
    "The integral, expanded term by term, satisfies the recursion of sequential weighted draws and starts with "
    "the same value, so it is the probability of the set for all k < n and all positive weights; by the same "
    "recursion it is positive.",
    "Equations (13) to (17) are right as printed: the binomial factor of (8) is 1 when every candidate is a "
    "category of its own; k = n has to be excluded, since then d = 0.",
    evidence=lambda: shown("Recursion, start and sign, for every size of the set.", pmf_proof()),
)


def expectation_proof() -> dict[str, Any]:
    """Exchange of the sum over outcomes and the sum over candidates."""
    return proof(
        "E sum_{i in N} s_i is a sum over the finitely many outcomes of Pr(outcome) times sum_i s_i x_i, "
        "x_i = 1 if the outcome holds i. Step 1, over candidates: the probability distributes over one more "
        "candidate. Step 2, over outcomes: one more outcome adds the same to s times mean as to the mean of s times "
        "indicator. By both inductions the double sum is sum_i s_i E x_i = sum_i s_i mu_i. Step 3 is the case of "
        "three outcomes and two candidates written out.",
        identity("one more candidate", "probability * (total + s * x) == probability * total + s * (probability * x)"),
        identity("one more outcome", "s * mu + s * (probability * x) == s * (mu + probability * x)"),
        identity(
            "three outcomes, two candidates",
            "p_1 * (s * x_1 + t * y_1) + p_2 * (s * x_2 + t * y_2) + p_3 * (s * x_3 + t * y_3) == s * (p_1 * x_1 "
            "+ p_2 * x_2 + p_3 * x_3) + t * (p_1 * y_1 + p_2 * y_2 + p_3 * y_3)",
        ),
    )


def pmf_proof() -> dict[str, Any]:
    """The integral obeys the recursion of the draws, for every size of the set by the termwise steps."""
    return proof(
        "Let d be the weight outside S and g(S) the integral. Expanding the product (step 1, factor by "
        "factor) and integrating t^(w(A)/d) termwise, which gives 1/(w(A)/d + 1) (step 2), g(S) = sum over the "
        "subsets A of S of (-1)^|A| d/(d + w(A)). Conditioning on the first draw, the probability that the first |S| "
        "draws are S is P(S) = sum_{i in S} w_i/(w(S) + d) P(S without i), where d stays the same, and P(empty) = 1 = "
        "g(empty). It remains that (w(S) + d) g(S) = sum_{i in S} w_i g(S without i). On the right a subset A "
        "collects the weights w(S) - w(A) outside it, and d (w(S) - w(A))/(d + w(A)) = (w(S) + d) d/(d + w(A)) - d "
        "(step 3); the terms -d (-1)^|A| cancel in pairs A, A with one fixed element (step 4). So g = P by induction "
        "on |S|. Steps 5 to 7 write the recursion out for |S| = 1, 2, 3. Positivity follows from the recursion, term "
        "by term (steps 8, 9), as d > 0 for k < n.",
        identity("one more factor of the product", "P * (1 - x) == P - P * x"),
        identity("the integral of t^(w/d) over [0, 1]", "1 / (w / d + 1) == d / (d + w)"),
        identity("the weight outside a subset", "d * (W - w) / (d + w) == (W + d) * (d / (d + w)) - d"),
        identity("subsets with and without one element cancel", "sign * d + (0 - sign) * d == 0"),
        *(_recursion(size) for size in (1, 2, 3)),
        smt(
            "one more term keeps the sum of the recursion positive",
            "total >= 0, weight > 0, smaller_set > 0",
            "total + weight * smaller_set > 0",
        ),
        smt(
            "a positive sum over a positive weight is positive",
            "d > 0, weight_S > 0, total > 0, probability * (weight_S + d) == total",
            "probability > 0",
            model="d = 1, weight_S = 1, total = 1, probability = 1/2",
        ),
    )


def _recursion(size: int) -> Step:
    """(w(S) + d) g(S) = sum_i w_i g(S without i), written out for a set of this size."""
    names = [f"w_{i}" for i in range(1, size + 1)]

    def g(members: Sequence[str]) -> Any:
        terms = [
            ["*", (-1) ** number, ["/", "d", ["+", "d", *subset] if subset else "d"]]
            for number in range(len(members) + 1)
            for subset in combinations(members, number)
        ]
        return ["+", *terms] if len(terms) > 1 else terms[0]

    return {
        "name": f"the recursion for a set of {size}",
        "engine": "identity",
        "left": ["*", ["+", "d", *names], g(names)],
        "right": ["+", 0, *(["*", name, g([other for other in names if other != name])] for name in names)],
    }
