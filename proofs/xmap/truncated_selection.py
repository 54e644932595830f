"""What truncation promises about the chosen neighbors (Guerraoui et al., X-Map, Theorems 3 and 4), step by step.

k of N candidates are drawn without replacement by weight exp(a max(s_j, s_k - w)), a = eps'/(4k SS), where s_k is the
k-th largest similarity, w = min(s_k, L) and L = ln(k(N-k)/rho) / a. Theorem 3: all chosen lie above s_k - w; Theorem 4:
all above s_k + w are chosen; each with probability at least 1 - rho. Theorem 3.1 of Zhu et al. (2014) on PNCF is the
same with users for items (see `selection_accuracy`). `truncated_selection_repair` proves what is true.
"""

from collections.abc import Sequence
from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.notation import identity, instance, possible, proof, smt
from dpassay.proofs.selection import draw_probability, set_probability
from dpassay.proofs.xmap.centered_ratings import CenteredRatings

# Items: t_i, one candidate that both users rate like it, three on which they disagree, three of the source domain.
TWO_USERS = CenteredRatings(((4, 4, 4, 4, 4, 1, 1, 2), (4, 4, 2, 2, 2, 3, 3, 4)))
# k = 2; the first is above s_2 + w = 2 s_2.
SIMILARITIES = ("9/10", "3/10", "1/10", "1/20", "1/20", "1/20", "1/20", "1/20")


decide_lower = established(
    "refuted",
    "The weights divide each similarity by that pair's own SS, the proof by one SS. Take a candidate of similarity "
    "1 with two co-raters (SS = 1) and one of similarity 0.1 with twenty (SS = 1/19), k = 1, eps' = 4, rho = 1/2: "
    "w is 0.69, so 0.1 is below sim_k - w, yet that candidate is chosen with probability above 0.99. With one SS "
    "for all, two defects remain: if sim_k < 0 the minimum makes w negative, and the k-th neighbor itself lies "
    "below sim_k - w; and where the minimum is sim_k > 0 the threshold is 0 and candidates of similarity 0 are "
    "chosen freely (XM-T3-STRICT). With one SS and w = the second term, the theorem is true (XM-T3-REP).",
    evidence=lambda: [
        shown("Two candidates with their own SS, from 2 and 20 co-raters (norms over co-raters).", own_sensitivities()),
        shown("All similarities negative: no choice satisfies the conclusion.", negative_threshold()),
        shown("Threshold 0: a candidate of similarity 0 is chosen nearly half the time.", cut_at_threshold()),
    ],
    repair="XM-T3-REP",
)

decide_upper = established(
    "refuted",
    "The proof needs w at least the second term of the minimum; where the minimum is sim_k, the weights may be nearly "
    "equal, and an item is chosen with probability about k/N however far above sim_k + w it lies. For similarities "
    "0.9, 0.3, 0.1, k = 2, eps' = 0.1, SS = 1, rho = 0.1 the item of 0.9 exceeds sim_k + w = 0.6, yet is chosen with "
    "probability below 0.67, not at least 0.9; three items are the fewest, and at rho = 1/2 five fail (0.403) and "
    "eight give 0.252. This is the normal case: at the released defaults (k = 10, eps' = 0.6, rho = 0.1) with 100 "
    "candidates the second term exceeds 1 unless SS < 1/600. With w = the second term the theorem is true (XM-T4-REP).",
    evidence=lambda: [
        shown("Three items, rho = 1/10.", missed_item(SIMILARITIES[:3], rho="1/10", below="67/100")),
        shown("Five items, rho = 1/2.", missed_item(SIMILARITIES[:5], rho="1/2", below="403/1000")),
        shown("Eight items, rho = 1/2.", missed_item(SIMILARITIES, rho="1/2", below="253/1000")),
        shown("With fewer items it cannot fail like this.", fewest_items_proof()),
        shown(  # the second term exceeds every similarity from SS = 1/600 on
            "At the released defaults the minimum is sim_k.",
            instance(
                {"k": 10, "eps": "3/5", "rho": "1/10", "N": 100, "SS": "1/600"},
                "4 * k * SS / eps * ln(k * (N - k) / rho) > 1",
                supports="refuted",
            ),
        ),
    ],
    repair="XM-T4-REP",
)

decide_round = established(
    "holds",
    "With one SS the inequality is true, for any w and any earlier picks, and for w >= 0 even with e^(-aw) / (1 + "
    "e^(-aw)) on the right. The printed reason is not: the k-th neighbor can be picked before (here in the first "
    "round, with probability above 1/4). The true reason is that fewer than k items were picked, so one of the "
    "first k is still there, and weighs at least as much. (The printed exponents also lack parentheses around "
    "sim_k - w.) With each pair's own SS the step fails (XM-T3).",
    evidence=lambda: [
        shown("For every N, k, w and every history of picks.", round_proof()),
        shown("The k-th neighbor is picked first with probability above 1/4.", _threshold_item_drawn()),
    ],
)

decide_vector_length = established(
    "refuted",
    "The length of a rating vector is a number of users; what is counted are candidates. With two users, |v| = 2, "
    "three items lie below sim_k - w. With that |v| Theorem 3 fails even for one constant SS: at rho = 1/4 a bad "
    "item is chosen with probability 3/7. If |v| <= k, ln(k(|v|-k)/rho) is not defined at all. Read as the number "
    "N of candidates the count is right: the first k are not below, so at most N - k are.",
    evidence=lambda: shown("Two users, one good and three bad candidates, k = 1.", vector_length_fails()),
    repair="XM-T3-REP",
)

decide_rounds = established(
    "holds",
    "The rounds are not independent, since what was picked is gone, but the bound on a round holds whatever was "
    "picked before, and that is enough to multiply. Bernoulli's inequality then gives 1 - kP. The printed middle "
    "term [1 - (|v|-k) e^(-aw)]^k is not a lower bound when (|v|-k) e^(-aw) exceeds 2 and k is even, which happens "
    "when the minimum is sim_k; the end of the chain, 1 - k(|v|-k) e^(-aw), then is negative and true for nothing.",
    evidence=lambda: [
        shown("For every k and every P in [0, 1].", rounds_proof()),
        shown("The printed middle term at 3 and k = 2 is 4: the end of the chain still holds.", _middle_of_the_chain()),
    ],
)

decide_range = established(
    "holds",
    "w <= sim_k makes sim_k - w >= 0, so the larger of the two lies in [0, 1]. But nothing had to be ensured: for "
    "every w >= 0 a truncated similarity lies between the item's own similarity and the larger of that and sim_k, so "
    "it stays in any range the similarities have, and for Pearson w <= sim_k + 1 would do. The cut is what voids "
    "Theorem 4 (XM-T4); and if sim_k < 0 it makes w negative, raises every item to 0 and voids Theorem 3 (XM-T3).",
    evidence=lambda: shown("The range with the minimum, and without it.", range_proof()),
)

decide_strict = established(
    "refuted",
    "With w = sim_k the threshold is 0, no item of similarity 0.5 or 0 lies below it, and the statement with >= "
    "is true with certainty; but the item of similarity 0, of which a sparse catalogue is full, is not larger "
    "than the threshold, and is chosen with probability above 0.49 at k = 1, eps' = 0.1, SS = 1, rho = 0.1. With "
    "w = the second term, which is positive, the strict statement is true too (XM-T3-REP).",
    evidence=lambda: shown("Two candidates, similarities 0.5 and 0.", cut_at_threshold()),
    repair="XM-T3-REP",
)

decide_conditional = established(
    "refuted",
    "P(B|A) <= P(B)/P(A) is true, but P(A), the probability that an item was not picked, is not proportional to "
    "the item's weight. With N = k + 1, similarities 1, 0.2, 0.1 and w = the second term, the item of 1 is "
    "missing only if all others are picked, so P(B|A) = 1, while the ratio of the weights is 1/4. For a single "
    "round P(B)/P(A) is above 0.3. What is true, and enough for Theorem 4, is a bound on each round in which the "
    "item is still there (XM-T4-REP).",
    evidence=lambda: shown("Three items, k = 2, eps' = 60, rho = 1/2.", _conditional_fails()),
    repair="XM-T4-REP",
)

decide_joint = established(
    "refuted",
    "With the minimum in w, Theorem 4 alone can fail. And each theorem can be true while they are not true "
    "together: for similarities 0.9, 0.3, 0.1, 0, k = 2, rho = 1/2 each conclusion has probability above 1/2, "
    "both together below 0.36. The report proves them one by one, so a reader could only claim 1 - 2 rho. With w "
    "= the second term more is true: both together have probability at least 1 - rho (XM-JOINT-REP).",
    evidence=lambda: [
        shown("Theorem 4 fails, so both together do.", missed_item(SIMILARITIES, rho="1/2", below="253/1000")),
        shown("Each has probability above 1/2, both below 0.36.", not_jointly()),
    ],
    repair="XM-JOINT-REP",
)


def own_sensitivities() -> dict[str, Any]:
    """k = 1; similarity 1 from two co-raters who agree, similarity 1/10 from 11 who agree and 9 who do not.

    All are one above or below their mean, norms run over co-raters; the second term is the smaller in w.
    """
    raters = "(agree + oppose)"
    own = "max(1 / (2 - 1), 2 / (2 - 1) - 1)"
    other = f"max(1 / ({raters} - 1), (agree - oppose) / ({raters} - 1) - (agree - oppose) / {raters})"
    similarity = f"((agree - oppose) / {raters})"
    bound = f"4 * k * max({own}, {other}) / eps * ln(k * (2 - k) / rho)"
    weights = [f"exp(eps * 1 / (4 * k * {own}))", f"exp(eps * max({similarity}, 1 - {bound}) / (4 * k * {other}))"]
    return instance(
        {"agree": 11, "oppose": 9, "eps": 4, "rho": "1/2", "k": 1},
        f"{bound} < 1",
        f"{similarity} < 1 - {bound}",
        f"{draw_probability(weights, 1)} > 99 / 100",
        "99 / 100 > rho",
        supports="refuted",
    )


def negative_threshold() -> dict[str, Any]:
    """k = 1, both similarities negative: w = s_1, and no candidate lies above s_1 - w = 0."""
    return instance(
        {"s1": "-1/2", "s2": "-1", "eps": 1, "SS": 1, "rho": "1/2", "k": 1},
        "s1 < 4 * k * SS / eps * ln(k * (2 - k) / rho)",
        "s1 < s1 - s1",
        "s2 < s1 - s1",
        supports="refuted",
    )


def cut_at_threshold() -> dict[str, Any]:
    """k = 1, similarities 1/2 and 0: w = s_1, nothing lies below 0, and the second is not above it."""
    weights = [f"exp(eps * max({s}, s1 - s1) / (4 * k * SS))" for s in ("s1", "s2")]
    return instance(
        {"s1": "1/2", "s2": 0, "eps": "1/10", "SS": 1, "rho": "1/10", "k": 1},
        "s1 < 4 * k * SS / eps * ln(k * (2 - k) / rho)",
        "s2 >= s1 - s1 and not s2 > s1 - s1",
        f"{draw_probability(weights, 1)} > 49 / 100",
        "49 / 100 > rho",
        supports="refuted",
    )


def missed_item(similarities: Sequence[str], *, rho: str, below: str) -> dict[str, Any]:
    """k = 2, eps' = 1/10, SS = 1: w = s_2, the first item exceeds s_2 + w and is chosen with probability below 1 - rho.

    Args:
        similarities: descending, none negative, so that the truncation at s_2 - w = 0 changes nothing.
        rho: failure probability that Theorem 4 allows.
        below: a number above the exact probability.
    """
    names = [f"s{place}" for place in range(1, len(similarities) + 1)]
    weights = [f"exp(eps * max({name}, s2 - s2) / (4 * k * SS))" for name in names]
    chosen = " + ".join(set_probability(weights, (0, other)) for other in range(1, len(names)))
    return instance(
        {**dict(zip(names, similarities, strict=True)), "eps": "1/10", "SS": 1, "rho": rho, "k": 2},
        f"s2 < 4 * k * SS / eps * ln(k * ({len(names)} - k) / rho)",
        "s1 > s2 + s2",
        f"{chosen} < {below}",
        f"{below} < 1 - rho",
        supports="refuted",
    )


def not_jointly() -> dict[str, Any]:
    """k = 2 of four, w = s_2: the conclusions of Theorem 3 (no item of similarity 0), of Theorem 4, and of both."""
    names = ["s1", "s2", "s3", "s4"]
    weights = [f"exp(eps * max({name}, s2 - s2) / (4 * k * SS))" for name in names]
    lower, upper, both = (
        " + ".join(set_probability(weights, pair) for pair in pairs)
        for pairs in (((0, 1), (0, 2), (1, 2)), ((0, 1), (0, 2), (0, 3)), ((0, 1), (0, 2)))
    )
    return instance(
        {"s1": "9/10", "s2": "3/10", "s3": "1/10", "s4": 0, "eps": "1/10", "SS": 1, "rho": "1/2", "k": 2},
        "s2 < 4 * k * SS / eps * ln(k * (4 - k) / rho)",
        "s1 > s2 + s2 and s3 > s2 - s2 and not s4 > s2 - s2",
        f"{lower} >= 1 - rho",
        f"{upper} >= 1 - rho",
        f"{both} < 36 / 100",
        "36 / 100 < 1 - rho",
        supports="refuted",
    )


def vector_length_fails() -> dict[str, Any]:
    """Two users: |v| = 2, three candidates below s_1 - w; with |v| for N, k = 1 and SS = 1, Theorem 3 fails."""
    data, source, good, bad = TWO_USERS, 1, 2, (3, 4, 5)
    bound = "4 * k * SS / eps * ln(k * (length - k) / rho)"
    similarities = [data.cosine(source, item) for item in (good, *bad)]
    floor = f"1 - {bound}"
    weights = ["exp(eps / (4 * k * SS))", *[f"exp(eps * max({s}, {floor}) / (4 * k * SS))" for s in similarities[1:]]]
    chances = " + ".join(draw_probability(weights, place) for place in (1, 2, 3))
    return data.certificate(
        (source, good, *bad),
        f"abs({similarities[0]} - 1) < 1 / 1000000",
        f"{bound} < 1",
        *(f"{s} < {floor}" for s in similarities[1:]),
        "3 > length",
        f"abs({chances} - 3 / 7) < 1 / 1000000",
        "3 / 7 - 1 / 1000000 > rho",
        supports="refuted",
        length=2,
        k=1,
        SS=1,
        eps=40,
        rho="1/4",
    )


def round_proof() -> dict[str, Any]:
    """One light item is picked with probability at most e^(-aw), whatever was picked before."""
    return proof(
        "y = e^(a s_k) and h = e^(-aw), so an item below s_k - w, truncated, weighs x = e^(a (s_k - w)) = y h (steps "
        "1 and 2). For w < 0 there is nothing to show, since then h > 1. For w >= 0 the item is not among the first "
        "k. Before each round fewer than k items are gone, so one of the first k is left (step 3); its similarity is "
        "at least s_k, its weight at least y. All that is left weighs at least that and x together, so the item is "
        "picked with probability at most x / (y + x) = h / (1 + h) <= h (step 4).",
        identity("the exponent of the floor", "a * (s_k - w) == a * s_k + -(a * w)"),
        identity("the weight of the floor", "exp(a * s_k - a * w) == exp(a * s_k) * exp(-(a * w))"),
        smt(
            "one of the first k is left",
            "picked <= k - 1, picked_of_first_k <= picked, left == k - picked_of_first_k",
            "left >= 1",
            model="picked = 1, k = 2, picked_of_first_k = 1, left = 1",
        ),
        smt(
            "the chance of a light item",
            "y > 0, h > 0, x == y * h, top >= y, total >= top + x, p * total == x",
            "p <= h and p * (1 + h) <= h",
            model="y = 1, h = 1, x = 1, top = 1, total = 2, p = 1/2",
        ),
    )


def rounds_proof() -> dict[str, Any]:
    """k rounds go right with probability at least (1-P)^k >= 1 - kP."""
    return proof(
        "Let right be the probability that the first j rounds go right, B = (1-P)^j. Given any picks so far the next "
        "round goes wrong with probability at most P, so averaged over those that went right the next factor is at "
        "least 1 - P (step 1, from right = B = 1 at j = 0). Bernoulli's inequality by induction (step 2, from 1 >= 1 "
        "- 0 P). Independence is not used.",
        smt(
            "one more round",
            "0 <= P <= 1, B >= 0, right >= B, next_right >= 1 - P, after == right * next_right",
            "after >= B * (1 - P)",
            model="P = 1/2, B = 1, right = 1, next_right = 1/2, after = 1/2",
        ),
        smt(
            "Bernoulli's inequality, one more factor",
            "0 <= P <= 1, j >= 0, B >= 1 - j * P",
            "B * (1 - P) >= 1 - (j + 1) * P",
            model="P = 1/2, j = 0, B = 1",
        ),
    )


def range_proof() -> dict[str, Any]:
    """max(s, s_k - w) is in [0, 1] for w = min(s_k, L), and in [-1, 1] for every w >= 0."""
    inside = "abs(s) <= 1, abs(s_k) <= 1"
    return proof(
        "Step 1: with the minimum. Step 2: with any w >= 0 a truncated similarity is no smaller than the similarity "
        "and no larger than it or s_k, so it has their range without any cut. Step 3: with the minimum and s_k < 0, w "
        "is negative and the floor lies above s_k.",
        smt(
            "the range with the minimum",
            f"{inside}, L >= 0, w == min(s_k, L)",
            "0 <= max(s, s_k - w) and max(s, s_k - w) <= 1",
            model="s = 0, s_k = 1, L = 1, w = 1",
        ),
        smt(
            "the range without it",
            f"{inside}, w >= 0",
            "s <= max(s, s_k - w) and max(s, s_k - w) <= max(s, s_k) and abs(max(s, s_k - w)) <= 1",
            model="s = 0, s_k = 1, w = 1",
        ),
        possible(
            "a floor above s_k", "abs(s_k) <= 1, L >= 0, w == min(s_k, L), s_k - w > s_k", "s_k = -1/2, L = 1, w = -1/2"
        ),
    )


def fewest_items_proof() -> dict[str, Any]:
    """With fewer items than the counterexample has, Theorem 4 does not fail like it."""
    return proof(
        "An item above s_k + w, w >= 0, is above s_k, so among the first k - 1: for k = 1 there is none (step 1), and "
        "N > k, so N >= 3. For k = 2 it is the first item, the heaviest, so in a draw from m items it is taken with "
        "probability at least 1/m (step 2) and missed in both draws with probability at most (N-1)/N (N-2)/(N-1) = "
        "(N-2)/N (step 3): Theorem 4 can fail for k = 2 only if 2/N < 1 - rho, at rho = 1/2 only from five items on "
        "(step 4).",
        smt("nothing exceeds the largest", "w >= 0, s <= s_1", "not s > s_1 + w", model="w = 0, s = 0, s_1 = 0"),
        smt(
            "the heaviest of m items",
            "m >= 1, heaviest > 0, total > 0, total <= m * heaviest, p * total == heaviest",
            "p >= 1 / m",
            model="m = 2, heaviest = 1, total = 2, p = 1/2",
        ),
        identity("missed twice", "(N - 1) / N * ((N - 2) / (N - 1)) == (N - 2) / N"),
        smt("at rho = 1/2", "N >= 3, 2 / N < 1 / 2", "N > 4", model="N = 5"),
        supports="refuted",
    )


def _threshold_item_drawn() -> dict[str, Any]:
    weights = [f"exp(eps * {s} / (4 * k * SS))" for s in ("s1", "s2", "s3")]
    return instance(
        {"s1": "1/2", "s2": "3/10", "s3": "1/10", "eps": 1, "SS": 1, "k": 2},
        f"{draw_probability(weights, 1)} > 1 / 4",
        supports="holds",
    )


def _middle_of_the_chain() -> dict[str, Any]:
    return instance(
        {"P": "1/2", "x": 3, "k": 2},
        "P <= x",
        "(1 - P) ** 2 < (1 - x) ** 2",
        "(1 - P) ** 2 >= 1 - k * P and 1 - k * P >= 1 - k * x",
        supports="holds",
    )


def _conditional_fails() -> dict[str, Any]:
    """A: the first item is not chosen; B: the third, below s_2, is. For the whole selection, then for one round."""
    bound = "4 * k * SS / eps * ln(k * (3 - k) / rho)"
    weights = [f"exp(eps * max({s}, s2 - {bound}) / (4 * k * SS))" for s in ("s1", "s2", "s3")]
    missed = set_probability(weights, (1, 2))
    third = f"({missed} + {set_probability(weights, (0, 2))})"
    ratio = f"exp(-(eps * {bound}) / (4 * k * SS))"
    first_round = f"{draw_probability(weights, 2)} / (1 - {draw_probability(weights, 0)})"
    return instance(
        {"s1": 1, "s2": "1/5", "s3": "1/10", "eps": 60, "SS": 1, "rho": "1/2", "k": 2},
        f"{bound} < s2 and s1 > s2 + {bound}",
        f"abs({ratio} - 1 / 4) < 1 / 1000000",
        f"{third} > {missed}",
        f"{first_round} > 3 / 10",
        supports="refuted",
    )
