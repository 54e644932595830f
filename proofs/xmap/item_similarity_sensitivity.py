"""How far one user's leaving moves the similarity of two items (Guerraoui et al., X-Map, Theorem 2), step by step.

The similarity is the cosine of the items' mean-centered ratings, whose norms run over all raters of each item (as the
proof says) or over co-raters. User x leaves; M = |r'_i||r'_j| and N = |r_i||r_j| are the products of the norms without
and with x, dot the dot product with x, p = r_xi r_xj. Nobody else's mean changes. Then
    s - s' = p/M - dot (1/M - 1/N),
and the two terms of SS are the two parts of the right-hand side, each taken alone and without regard to signs.
"""

from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import Step, identity, instance, possible, proof, smt
from dpassay.proofs.xmap.centered_ratings import CenteredRatings

# Everybody's mean is 3 except the last user of UNEQUAL_NORMS; the first two items are t_i and t_j.
AGREE_AND_OPPOSE = CenteredRatings(((4, 4, 1), (5, 1, 3)))  # centered: (1, 1), (2, -2)
ONE_OPPOSED = CenteredRatings(((4, 4, 1), (4, 4, 1), (4, 2, 3)))  # (1, 1), (1, 1), (1, -1)
ONE_ITEM_ONLY = CenteredRatings(((4, 4, 1), (5, None, 1)))  # (1, 1), (2, -)
LONE_CORATER = CenteredRatings(((4, 4, 1), (5, None, 1), (3, 3, 3)))  # (1, 1), (2, -), (0, 0)
UNEQUAL_NORMS = CenteredRatings(((3, 4, 2), (5, 4, 1, 2), (5, 2, 1, 1, 1)))  # (0, 1), (2, 1), (3, 0)
FAMILY_SIZE = 1000


decide_sensitivity = established(
    "refuted",
    "Ratings are taken less the user's mean, so products and the dot product can be negative: with centered "
    "ratings (1, 1) and (2, -2) the similarity is -0.6, and 1 without the second user, a change of 1.6, while SS "
    "is 0.25. Absolute values do not mend it: with three users the similarity moves by 2/3 and the larger "
    "absolute term is 1/2, because losing a product and shortening the vectors add up when their signs differ. "
    "The sum of the two is a bound (XM-T2-REP). Everybody rated both items, so the reading of the norms does not "
    "matter. For ratings that are not negative Theorem 2 is true, with norms over co-raters.",
    evidence=lambda: [
        shown("Two users: the similarity moves by 1.6, SS is 1/4.", sensitivity_fails(AGREE_AND_OPPOSE)),
        shown("Three users: it moves by 2/3, and the larger absolute term is 1/2.", sensitivity_fails(ONE_OPPOSED)),
        shown("Where the signs agree, both branches and Theorem 2 hold.", branches_proof()),
    ],
    repair="XM-T2-REP",
)

decide_sensitivity_repaired = established(
    "holds",
    "The change of the similarity is the difference of two terms, so at most the sum of their absolute values, "
    "and at most the larger one when r_xi r_xj and the dot product have the same sign. The maximum must run over "
    "everybody who rated either item: with norms over all raters a user who rated one of them changes the "
    "similarity too. When the signs differ the bound is attained. It is still computed from the data at hand, a "
    "local sensitivity, which may not stand in the weights of a private selection (XM-T2-MAX).",
    evidence=lambda: shown("The bound, and that it is attained.", bound_proof()),
)


def decide_one_item(claim: Claim, context: Context) -> Verdict:
    """XM-T2-N: false when norms run over all raters of an item, true over co-raters."""
    data = ONE_ITEM_ONLY
    moved = f"abs({data.cosine(1, 2)} - {data.cosine(1, 2, (1,))}) > 1 / 2"
    certificate = data.certificate((1, 2), moved, supports="refuted")
    return decided(
        claim,
        "refuted",
        "The vector of an item holds all its ratings, so a user who rated only t_i lengthens it and lowers the "
        "similarity: here it is 1/sqrt(5) with that user and 1 without. The released code, too, takes norms over all "
        "raters. Over co-raters the sentence is true: neither the dot product nor the norms contain that user's "
        "ratings, and nobody else's mean changes. A user who rated neither item changes nothing in either reading.",
        evidence=shown("Two users, one of whom rated only the first item.", certificate),
        repair="XM-T2-REP",
    )


def decide_falling_branch(claim: Claim, context: Context) -> Verdict:
    """XM-T2-P: needs a dot product that is not negative."""
    return _branch(
        claim,
        falling_branch_fails(),
        "The step replaces dot M by dot N, which is larger only if the dot product is not negative. With ratings (1, "
        "1) and (2, -2) about the mean it is -3: when the first user leaves, the similarity falls by 0.4 from -0.6 to "
        "-1, more than r_xi r_xj / M = 0.25. If the dot product is not negative, for non-negative ratings for "
        "instance, the step is right.",
    )


def decide_rising_branch(claim: Claim, context: Context) -> Verdict:
    """XM-T2-M: drops -r_xi r_xj / M, which is positive for a user of opposite opinions."""
    return _branch(
        claim,
        rising_branch_fails(),
        "Exactly, s' - s = dot/M - dot/N - r_xi r_xj / M. The printed chain ends in the first two terms, with an "
        "equality sign; the last term may be dropped only if r_xi r_xj >= 0. With ratings (1, 1) and (2, -2) about "
        "the mean, the second user's leaving raises the similarity by 1.6, while the printed bound is -2.4. If r_xi "
        "r_xj >= 0 it is a bound, though not an equality.",
    )


decide_norms = established(
    "holds",
    "A squared norm is a sum of squares, and the user who leaves takes some away, in either reading of the norms. "
    "This needs that the other users' centered ratings stay as they are, which is so because each is centered by "
    "its own user's mean. If a single rating were removed instead, that user's mean and all of the user's "
    "centered ratings would move.",
    evidence=lambda: shown("For every pair of items and every user.", norms_proof()),
)


def decide_inference(claim: Claim, context: Context) -> Verdict:
    """XM-T2-NN: the conclusion is true, but not because of the premise."""
    readings, lengths = inference_fails()
    return decided(
        claim,
        "refuted",
        "The inequality is true (XM-T2-NORM), because norms are sums of squares, but it does not follow from the "
        "sentence before it. With norms over all raters that sentence is false and the inequality true; and it speaks "
        "only of users who did not rate both items, while the inequality is about one who did. For another length, "
        "the root of the mean square, the premise is true over co-raters and the conclusion false.",
        evidence=(
            shown("Norms over all raters: premise false, conclusion true.", readings),
            shown("Root mean squares over co-raters: premise true, conclusion false.", lengths),
        ),
    )


decide_denominators = established(
    "refuted",
    "If x is the only co-rater, or the others rate the items at exactly their mean, a norm without x is 0 and SS "
    "divides by zero; the similarity s' is undefined as well. Both happen in small corners of any rating matrix. "
    "Besides, the statement prints the norm of t_i twice in the first denominator. Read literally this breaks the "
    "bound even where no centered rating is negative: three users, the similarity falls by 0.39, the printed SS "
    "is 0.32. The proof's last line has both norms.",
    evidence=lambda: [
        shown("Three users: without the first, t_j has norm 0.", undefined()),
        shown("With |r'_i||r'_i| the bound fails for non-negative ratings.", _printed_denominator()),
    ],
    repair="XM-T2-REP",
)

decide_usable = established(
    "refuted",
    "SS is the largest change from the dataset at hand, a local sensitivity, and neighboring datasets have "
    "different ones, so the exponents change even where the similarities do not. Take m users who rate t_i, t_j "
    "and t_l alike: both candidates have similarity 1 and the same SS, and are picked with probability 1/2 each. "
    "One more user who likes t_i and t_j twice as much leaves the similarity of t_j at 1 but multiplies its SS by "
    f"about 4; t_j is now picked with probability below e^(-eps (m-4)/16). At m = {FAMILY_SIZE}, eps = 1, k = 1 "
    "the loss exceeds 60, where 1/2 is claimed, and it grows without bound in m. The exact local sensitivity is no "
    "better: on the first dataset that of t_j is 0.",
    evidence=lambda: [
        shown(f"{FAMILY_SIZE} users and one more: the loss exceeds 60.", own_sensitivity_loss(FAMILY_SIZE, "60")),
        shown("For every m >= 4 the loss is at least eps (m-4)/16 - ln 2.", own_sensitivity_proof()),
    ],
    repair="XM-T2-MAX-REP",
)


def sensitivity_fails(data: CenteredRatings) -> dict[str, Any]:
    """The similarity of the first two items moves by more than SS, in both readings of the norms, when the last leaves.

    For three users or more, also by more than the larger absolute value of the two terms.
    """
    leaver = data.users[-1]
    formulas = []
    for norms in ("all raters", "co-raters"):
        before = data.cosine(1, 2, norms=norms)
        change = f"abs({before} - {data.cosine(1, 2, data.others(leaver), norms=norms)})"
        formulas.append(f"{change} > {data.sensitivity(1, 2, norms=norms)}")
    if len(data.rows) > 2:
        formulas.append(f"{change} > {_larger_absolute_term(data)}")
    return data.certificate((1, 2), *dict.fromkeys(formulas), supports="refuted")


def falling_branch_fails() -> dict[str, Any]:
    """The first of two users leaves: P >= 0, and the fall exceeds the first term."""
    data, left = AGREE_AND_OPPOSE, (2,)
    shorter, full = data.lengths(1, 2, left), data.lengths(1, 2)
    return data.certificate(
        (1, 2),
        f"{data.dot(1, 2)} * {shorter} > {data.dot(1, 2, left)} * {full}",
        f"{data.cosine(1, 2)} - {data.cosine(1, 2, left)} > c_1_1 * c_1_2 / {shorter}",
        supports="refuted",
    )


def rising_branch_fails() -> dict[str, Any]:
    """The second of two users leaves: P <= 0, and the rise exceeds the second term, which is negative."""
    data, left = AGREE_AND_OPPOSE, (1,)
    shorter, full = data.lengths(1, 2, left), data.lengths(1, 2)
    second = f"{data.dot(1, 2)} / {shorter} - {data.dot(1, 2)} / {full}"
    return data.certificate(
        (1, 2),
        f"{data.dot(1, 2)} * {shorter} < {data.dot(1, 2, left)} * {full}",
        f"{data.cosine(1, 2, left)} - {data.cosine(1, 2)} > {second}",
        f"{second} < 0",
        supports="refuted",
    )


def inference_fails() -> tuple[dict[str, Any], dict[str, Any]]:
    """Premise false, conclusion true (norms over all raters); premise true, conclusion false (root mean squares)."""
    data = ONE_ITEM_ONLY
    readings = data.certificate(
        (1, 2),
        f"abs({data.cosine(1, 2)} - {data.cosine(1, 2, (1,))}) > 1 / 2",
        f"{data.lengths(1, 2, (1,))} <= {data.lengths(1, 2)}",
        supports="refuted",
    )
    # (1, 1), (2, 2), (2, -) about the mean: the third is no co-rater, the first leaves.
    other = CenteredRatings(((4, 4, 1), (5, 5, 1, 1), (5, None, 1)))
    both = [user for user in other.users if user in other.raters(2)]
    mean_square = f"({other.square(1, both)} / {len(both)} * ({other.square(2, both)} / {len(both)}))"
    lengths = other.certificate(
        (1, 2),
        f"{other.square(1, (2,))} * {other.square(2, (2,))} > {mean_square}",
        supports="refuted",
    )
    return readings, lengths


def undefined() -> dict[str, Any]:
    """The only other ratings of t_j lie at their user's mean, so its norm without the first user is 0."""
    data = LONE_CORATER
    left = data.others(1)
    return data.certificate(
        (1, 2),
        f"{data.lengths(1, 2)} > 0",
        f"{data.square(2, left)} == 0",
        f"{data.square(2, left, beside=1)} == 0",
        supports="refuted",
    )


def bound_proof() -> dict[str, Any]:
    """|s - s'| <= |p|/M + |dot| (1/M - 1/N), the larger of the two when the signs agree; attained when they differ."""
    return proof(
        "Let x leave. Every other user's centered ratings stay as they are, so dot' = dot - p with p = r_xi r_xj (0 "
        "if x did not rate both), and the norms of s' are those without x: M. Step 1 gives M <= N. Step 2 splits the "
        "change into two terms, so it is at most the sum of their absolute values (step 3), and if p and dot have the "
        "same sign at most the larger of them (step 4). The maximum over all users who rated t_i or t_j covers "
        "whoever leaves; one who rated neither changes nothing, and with norms over co-raters neither does one who "
        "rated one of them. Step 5: three users (1,1), (1,1), (1,-1) about the mean attain the sum, 1/2 + 1/6 = 2/3, "
        "when the third leaves.",
        *_norms(),
        identity("the change of the similarity", "dot / N - (dot - p) / M == p / M - dot * (1 / M - 1 / N)"),
        smt("at most the sum of the absolute terms", _CHANGE, "abs(before - after) <= first + second", model=_MODEL),
        smt(
            "at most the larger of them when the signs agree",
            f"{_CHANGE}, p * dot >= 0",
            "abs(before - after) <= max(first, second)",
            model=_MODEL,
        ),
        possible(
            "the sum is attained",
            f"{_CHANGE}, abs(before - after) == first + second, p * dot < 0",
            "M = 2, N = 3, dot = 1, p = -1, before = 1/3, after = 1, first = 1/2, second = 1/6",
        ),
    )


def branches_proof() -> dict[str, Any]:
    """The two branches of the printed proof, each under the sign it needs."""
    return proof(
        "p = r_xi r_xj, before = s, after = s'. If the dot product is not negative, the fall is at most p/M (step 2). "
        "If p is not negative, the rise is at most dot (1/M - 1/N) (step 3), and M <= N by step 1. Ratings that are "
        "not negative satisfy both, so the larger of the two terms bounds the change when a co-rater leaves; with "
        "norms over co-raters nobody else changes anything.",
        *_norms(),
        smt("the falling branch", f"{_SIMILARITIES}, dot >= 0", "(before - after) * M <= p", model=_BRANCH_MODEL),
        smt(
            "the rising branch",
            f"{_SIMILARITIES}, p >= 0, rise == dot * (1 / M - 1 / N)",
            "after - before <= rise",
            model=f"{_BRANCH_MODEL}, rise = 1/2",
        ),
    )


def norms_proof() -> dict[str, Any]:
    """M <= N."""
    return proof(
        "A and B are the norms of the two items without x, u and v the centered ratings of x, 0 where x did not rate "
        "the item (or is no co-rater). The other users' means, and so A and B, do not depend on x.",
        *_norms(),
    )


def own_sensitivity_loss(num_users: int, loss: str) -> dict[str, Any]:
    """m users (1, 1, 1) about the mean on t_i, t_j, t_l, and one more with (2, 2, 0): the loss of picking t_j, k = 1.

    Everybody rates all three items, so norms over all raters and over co-raters are the same.
    """
    own, others = "1 / (m - 1)", "(m / (m - 1) - 1)"
    share = "sqrt(m / (m + 4))"  # s_l with the user
    without_x = ("4 / m", "((m + 4) / m - 1)"), ("0", f"(1 - {share})")
    root = "sqrt((m + 3) * (m - 1))"
    without_other = ("1 / (m + 3)", "((m + 4) / (m + 3) - 1)"), (f"1 / {root}", f"(m / {root} - {share})")
    before = f"exp(eps / (4 * max({own}, {others})))"
    bounds = [f"max({', '.join((*x, *other))})" for x, other in zip(without_x, without_other, strict=True)]
    weights = [f"exp(eps * {s} / (4 * {bound}))" for s, bound in zip(("1", share), bounds, strict=True)]
    return instance(
        {"m": num_users, "eps": 1, "rho": "1/2", "loss": loss},
        # The ratings: (4, 4, 4, 1, 2) for each of the m users, (5, 5, 3, 1, 1) for the one more.
        "4 - (4 + 4 + 4 + 1 + 2) / 5 == 1",
        "5 - (5 + 5 + 3 + 1 + 1) / 5 == 2",
        "3 - (5 + 5 + 3 + 1 + 1) / 5 == 0",
        # s_l is not below s_1 - w, so the truncation changes nothing.
        f"{share} >= 1 - min(1, 4 * max({', '.join(bounds)}) / eps * ln((2 - 1) / rho))",
        f"{before} / ({before} + {before}) > exp(loss) * ({weights[0]} / ({weights[0]} + {weights[1]}))",
        "loss > eps / 2",
        supports="refuted",
    )


def own_sensitivity_proof() -> dict[str, Any]:
    """Along the family of `own_sensitivity_loss` the loss is at least eps (m-4)/16 - ln 2."""
    roots = "m >= 4, t > 0, t ** 2 * (m + 4) == m"
    other = "m >= 4, g > 0, g ** 2 == (m + 3) * (m - 1)"
    return proof(
        "Without the one more user x both candidates weigh the same, so t_j has probability 1/2. With x, s_j = 1 and "
        "its SS is at least 4/m (the first term for x), so its exponent (k = 1) is at most eps / (4 * 4/m) = eps m/16 "
        "(step 1). The similarity of t_l is t = sqrt(m/(m+4)) >= 1 - 2/m (step 2). Its SS is at most 2/m: the terms "
        "for x are 0 and 1 - t, those for another user 1/g and m/g - t, g = sqrt((m+3)(m-1)) (steps 2 to 4). So the "
        "exponent of t_l is at least eps (m-2)/8, larger by eps (m-4)/16 or more (steps 5 and 6), and t_j is picked "
        "with probability at most e^(-eps (m-4)/16). The soft truncation can only raise t_l. As m grows the loss "
        "grows without bound, for every eps.",
        smt(
            "the exponent of t_j",
            "m >= 4, eps > 0, SS >= 4 / m, exponent * (4 * SS) == eps",
            "exponent <= eps * m / 16",
            model="m = 4, eps = 1, SS = 1, exponent = 1/4",
        ),
        smt("the similarity of t_l", roots, "t * m >= m - 2 and t <= 1"),
        smt("the first term for another user", f"{other}, first * g == 1", "first * m <= 2"),
        smt("the second term for another user", f"{other}, ratio * g == m, t * m >= m - 2", "(ratio - t) * m <= 2"),
        smt(
            "the exponent of t_l",
            "m >= 4, eps > 0, 0 < SS, SS * m <= 2, t * m >= m - 2, exponent * (4 * SS) == eps * t",
            "exponent >= eps * (m - 2) / 8",
            model="m = 4, eps = 1, SS = 1/2, t = 1, exponent = 1/2",
        ),
        identity("the difference of the exponents", "eps * (m - 2) / 8 - eps * m / 16 == eps * (m - 4) / 16"),
        supports="refuted",
    )


_SIMILARITIES = "0 < M, M <= N, before * N == dot, after * M == dot - p"
_CHANGE = f"{_SIMILARITIES}, first * M == abs(p), second * M * N == abs(dot) * (N - M)"
_BRANCH_MODEL = "M = 1, N = 2, dot = 1, p = 1, before = 1/2, after = 0"
_MODEL = f"{_BRANCH_MODEL}, first = 1, second = 1/2"


def _norms() -> tuple[Step, ...]:
    return (
        smt(
            "a user who leaves does not lengthen the vectors",
            "A >= 0, B >= 0, norm_i >= 0, norm_j >= 0, norm_i ** 2 == A ** 2 + u ** 2, norm_j ** 2 == B ** 2 + v ** 2",
            "A * B <= norm_i * norm_j",
            model="A = 3, u = -4, norm_i = 5, B = 3, v = 4, norm_j = 5",
        ),
    )


def _branch(claim: Claim, certificate: dict[str, Any], explanation: str) -> Verdict:
    """A branch refuted by an instance; that it holds under a condition on signs is shown too."""
    return decided(
        claim,
        "refuted",
        explanation,
        evidence=(
            shown("Two users, one of whom leaves.", certificate),
            shown("Both branches, each under the sign it needs.", branches_proof()),
        ),
        repair="XM-T2-REP",
    )


def _larger_absolute_term(data: CenteredRatings) -> str:
    """Text of SS with the absolute value of both terms."""
    terms = []
    for user in data.users:
        lengths = data.lengths(1, 2, data.others(user))
        terms.append(f"abs(c_{user}_1 * c_{user}_2 / {lengths})")
        terms.append(f"abs({data.dot(1, 2)} / {lengths} - {data.cosine(1, 2)})")
    return f"max({', '.join(terms)})"


def _printed_denominator() -> dict[str, Any]:
    """SS with |r'_i||r'_i| in its first term, as the statement has it, is below the change when the second leaves."""
    data = UNEQUAL_NORMS
    terms = []
    for user in data.users:
        left = data.others(user)
        terms.append(f"c_{user}_1 * c_{user}_2 / {data.square(1, left)}")
        terms.append(f"{data.dot(1, 2)} / {data.lengths(1, 2, left)} - {data.cosine(1, 2)}")
    return data.certificate(
        (1, 2),
        f"abs({data.cosine(1, 2)} - {data.cosine(1, 2, data.others(2))}) > max({', '.join(terms)})",
        supports="refuted",
    )
