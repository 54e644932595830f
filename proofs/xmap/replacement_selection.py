"""Private Replacement Selection (Guerraoui et al., X-Map, Theorem 1): what its proof needs, and what the text supplies.

The replacement t_j of an item t_i is drawn by weight exp(eps q_j / (2 GS)), q_j = X-SIM(t_i, t_j). The ratio of its
probabilities on two datasets splits into P, the ratio of two weights, and Q, the ratio of two sums of weights. X-SIM is
a weighted mean of path similarities, each a weighted mean of item similarities, so it lies in [-1, 1] where it is
defined. The mechanism and the repair's proof are those of McSherry and Talwar (2007).
"""

from typing import Any

from dpassay.core.records import Table
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import EXPONENTS_ADD, PRODUCT_KEEPS_RATIO, SUM_KEEPS_RATIO
from dpassay.proofs.notation import Step, identity, instance, proof, smt
from dpassay.proofs.selection import draw_probability
from dpassay.proofs.xmap.centered_ratings import CenteredRatings

# Items: t_i, t_j, t_k and three of the source domain; everybody's mean is 3. The third user agrees on t_j, not on t_k.
FIXED_CANDIDATE = CenteredRatings(((4, 4, 4, 2, 2, 2), (4, 4, 4, 2, 2, 2), (4, 5, 2, 2, 2, 3)))
# The third user alone rated both t_i and t_k.
LAST_CORATER = CenteredRatings(((4, 4, None, 2, 2), (5, 4, None, 2, 1), (4, None, 4, 2, 2)))
# Two raters of t_i and t_j: the first rated everything alike, the second holds opposite opinions on the two.
FEW_CORATERS = CenteredRatings(((3, 3, 2, *[3] * 17), (5, 1)))


decide_factors = established(
    "holds",
    "Each weight moves by a factor of at most e^(eps/2); the sum over the candidates keeps that bound, one "
    "candidate after the other, so the number of candidates does not matter. The step needs what the text does "
    "not supply: a GS that bounds every candidate's change for every pair of datasets (XM-GS-DEF), and one "
    "candidate set for both (XM-T1-I). The two bounds cannot be reached together by finitely many candidates, but "
    "they are nearly: with X-SIM in [-1, 1] and GS = 2, a thousand candidates and eps = 1 lose more than 0.998.",
    evidence=lambda: [
        shown("P, Q and their product, for every number of candidates.", factors_proof()),
        shown(
            "1000 candidates: t_j falls from 1 to -1, all others rise from -1 to 1.",
            replacement_loss(1000, "1", "998/1000"),
        ),
    ],
)

decide_sensitivity_definition = established(
    "refuted",
    "The definition fixes the dataset D and the candidate t_j, so it is a local sensitivity of one candidate, "
    "while Q sums over all candidates t_k. Three users suffice: whoever leaves, X-SIM(t_i, t_j) moves by at most "
    "0.058, but when the third leaves X-SIM(t_i, t_k) rises from 1/3 to 1. With that GS and eps = 1 the factor Q "
    "exceeds 3, not e^(1/2) = 1.65, and the probability of t_k changes by a factor above 90, not e = 2.72. (If all "
    "co-raters agree on t_j, the GS so defined is 0 and the weights are not defined at all.) A maximum over D, D' "
    "and all candidates is needed; it is the whole range: one user can move a similarity from 1 to below -0.998.",
    evidence=lambda: [
        shown(
            "Three users, two candidates, a direct link from t_i to each so that X-SIM is their similarity.",
            local_sensitivity_fails(),
        ),
        shown(
            "One user moves the similarity of a pair with two raters by more than 1.998.",
            full_range(supports="refuted"),
        ),
    ],
    repair="XM-T1-REP",
)

decide_candidate_set = established(
    "refuted",
    "I(t_i) is computed from the ratings. Here one user alone rated both t_i and t_k; without that user no path "
    "leads to t_k, its X-SIM is not quantified, and it cannot be drawn, while on D it is drawn with probability "
    "above 1/3. An output that is possible on one dataset and impossible on the other means an infinite privacy "
    "loss, so Theorem 1 fails whatever GS is (XM-T1). The catalogue of the target domain, taken as public, is the "
    "same for both datasets (XM-T1-REP).",
    evidence=lambda: shown("Three users, two candidates, one of which disappears.", candidate_vanishes()),
    repair="XM-T1-REP",
)

decide_repaired = established(
    "holds",
    "X-SIM lies in [-1, 1] whenever it is defined, and is set to 0 otherwise, so GS = 2 bounds every change by "
    "one user or by any number of them: the guarantee comes from the range alone. It cannot be had much cheaper, "
    "since one user can move a similarity by more than 1.998. The price is accuracy: the best candidate is at "
    "most e^(eps/2) times as likely as the worst, so among N candidates it is drawn with probability at most "
    "e^(eps/2) / (e^(eps/2) + N - 1).",
    evidence=lambda: [
        shown("For every catalogue, every t_i and every pair of datasets.", public_catalogue_proof()),
        shown("The budget is nearly spent: more than 0.998 of 1.", replacement_loss(1000, "1", "998/1000")),
        shown("No constant GS below 1.998 is a bound.", full_range(supports="holds"), tables=(_chances_of_the_best(),)),
    ],
)


def factors_proof() -> dict[str, Any]:
    """P <= e^(eps/2), Q <= e^(eps/2) and P Q <= e^eps for every number of candidates."""
    return proof(
        "Let a = eps / (2 GS) and r = e^(a GS) = e^(eps/2) (step 1). A change of at most GS in a score moves its "
        "exponent by at most a GS (step 2), hence its weight by a factor of at most r, since e^(t+u) = e^t e^u and "
        "exp grows (step 3); for t_j itself this factor is P. Adding the candidates one by one, from the empty sum, "
        "keeps X' <= r X (step 4), so Q = X'/X <= r (step 5). The product is at most r^2 = e^eps (steps 6 and 7). No "
        "step mentions the number of candidates; all use the same GS and the same candidates on both sides.",
        *_factors(),
    )


def public_catalogue_proof() -> dict[str, Any]:
    """X-SIM with 0 for undefined values moves by at most 2; with GS = 2 PRS is eps-DP."""
    return proof(
        "A path similarity is a mean of item similarities in [-1, 1], weighted by significances >= 0; X-SIM is a mean "
        "of path similarities weighted by certainties >= 0. Both lie in [-1, 1] (steps 1 and 2, one term after the "
        "other); an undefined value is 0. Two numbers of [-1, 1] differ by at most 2 = GS (step 3). The remaining "
        "steps are those of the two factors P and Q: with a = eps / (2 GS) = eps/4 and r = e^(eps/2), weights move by "
        "at most r, sums too, and the probability of any t_j by at most r^2 = e^eps. The candidates are the public "
        "catalogue on both sides.",
        smt(
            "one more term keeps a weighted sum within the sum of its weights",
            "abs(A) <= W, w >= 0, abs(q) <= 1",
            "abs(A + w * q) <= W + w",
            model="A = 0, W = 0, w = 1, q = 1",
        ),
        smt("a weighted mean", "abs(A) <= W, W > 0, x * W == A", "abs(x) <= 1", model="A = 1, W = 1, x = 1"),
        smt("the range is the sensitivity", "abs(q) <= 1, abs(other) <= 1", "abs(q - other) <= 2"),
        *_factors(),
    )


def replacement_ratio(num_candidates: int) -> str:
    """Text of Pr[t_j | D] / Pr[t_j | D']: t_j has X-SIM 1 on D, -1 on D', all others the reverse; GS = 2."""
    high, low = "exp(eps / 4)", "exp(-eps / 4)"
    others = num_candidates - 1
    return f"({high} / ({high} + {others} * {low})) / ({low} / ({low} + {others} * {high}))"


def replacement_loss(num_candidates: int, epsilon: str, loss: str) -> dict[str, Any]:
    """The probability of one replacement changes by more than e^loss, by at most e^epsilon."""
    ratio = replacement_ratio(num_candidates)
    return instance({"eps": epsilon, "loss": loss}, f"{ratio} > exp(loss)", f"{ratio} <= exp(eps)", supports="holds")


def local_sensitivity_fails() -> dict[str, Any]:
    """GS of one candidate on one dataset, then Q and the probability of the other candidate."""
    data, first, second, third = FIXED_CANDIDATE, 1, 2, 3
    left = data.others(3)
    changes = [f"abs({data.cosine(first, second)} - {data.cosine(first, second, data.others(x))})" for x in data.users]
    weights, after = (
        [f"exp(eps * {data.cosine(first, item, users)} / (2 * GS))" for item in (second, third)]
        for users in (None, left)
    )
    return data.certificate(
        (first, second, third),
        f"max({', '.join(changes)}) <= GS",
        f"abs({data.cosine(first, third)} - 1 / 3) < 1 / 1000000",
        f"abs({data.cosine(first, third, left)} - 1) < 1 / 1000000",
        f"({' + '.join(after)}) / ({' + '.join(weights)}) > 3",
        "3 > exp(eps / 2)",
        f"{draw_probability(after, 1)} > 90 * {draw_probability(weights, 1)}",
        "90 > exp(eps)",
        supports="refuted",
        eps=1,
        GS="29/500",
    )


def candidate_vanishes() -> dict[str, Any]:
    """t_k has a rater in common with t_i on D, none without the third user; its probability on D (eps = 1, GS = 2)."""
    data, source, kept, lost = LAST_CORATER, 1, 2, 3
    left = data.others(3)
    weights = [f"exp(eps * {data.cosine(source, item)} / (2 * GS))" for item in (kept, lost)]
    return data.certificate(
        (source, kept, lost),
        f"{data.square(lost, beside=source)} > 0",
        f"{data.square(kept, left, beside=source)} > 0",
        f"{draw_probability(weights, 1)} > 1 / 3",
        supports="refuted",
        eps=1,
        GS=2,
    )


def full_range(*, supports: str) -> dict[str, Any]:
    """The similarity of the first two items with and without the second user."""
    data = FEW_CORATERS
    return data.certificate(
        (1, 2),
        f"{data.cosine(1, 2, norms='co-raters')} < -998 / 1000",
        f"abs({data.cosine(1, 2, data.others(2), norms='co-raters')} - 1) < 1 / 1000000",
        supports=supports,
    )


def _factors() -> tuple[Step, ...]:
    return (
        identity("the exponent of r", "eps / (2 * GS) * GS == eps / 2"),
        smt(
            "the exponent moves by at most a GS",
            "a > 0, abs(q - other) <= GS",
            "a * q - a * other <= a * GS",
            model="a = 1, q = 1, other = 0, GS = 1",
        ),
        *EXPONENTS_ADD,
        *SUM_KEEPS_RATIO,
        smt("Q", "X > 0, Y <= r * X, Q * X == Y", "Q <= r", model="X = 1, Y = 1, Q = 1, r = 1"),
        *PRODUCT_KEEPS_RATIO,
        identity("the product of the two bounds", "exp(eps / 2) * exp(eps / 2) == exp(eps)"),
    )


def _chances_of_the_best() -> Table:
    import math

    rows = [
        [size, *(f"{math.exp(eps / 2) / (math.exp(eps / 2) + size - 1):.5f}" for eps in (0.5, 1, 5, 20))]
        for size in (10, 100, 1000, 10_000)
    ]
    return Table(
        "Largest possible probability of the best candidate: X-SIM 1, all others -1",
        ["candidates", "eps = 0.5", "eps = 1", "eps = 5", "eps = 20"],
        rows,
    )
