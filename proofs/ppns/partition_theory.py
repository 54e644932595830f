"""What sections 6.1 to 6.4 of Lu and Shen (PPNS) say of p: Chebyshev's sum, the allowed range, and its ends."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import identity, instance, possible, proof, smt
from dpassay.proofs.ppns.algorithm1 import (
    NUM_CANDIDATES,
    NUM_NEIGHBORS,
    TENTHS,
    accuracy,
    partitioned_selection,
    quotas,
    selection_probabilities,
)

decide_chebyshev = established(
    "holds",
    "The identity is Chebyshev's sum identity and is right as printed, for every k and without any order; the "
    "sign needs both sequences to fall.",
    "The selection probabilities fall along the list when the weights grow with the similarity. They need not "
    "when each candidate is weighted with a sensitivity RS of its own, and then the difference can be negative.",
    evidence=lambda: shown("Identity and sign, for all k.", chebyshev_proof()),
)

decide_p = established(
    "holds",
    "Algorithm 1 takes ceil(pk) >= pk neighbors from the first partition as long as p <= (k-1)/k, and these alone "
    "bring p times the sum of the k largest similarities.",
    "The printed proof shows p <= alpha/sum and turns the inequality round without a reason; the conclusion is "
    "true all the same. It needs similarities that are not negative (a Pearson correlation may be), and weights "
    "that grow with the similarity. The bound is attained when pk is an integer, weights are equal and the other "
    "similarities are 0.",
    evidence=lambda: shown(
        "All k, p <= (k-1)/k; tightness; and why both extra assumptions are needed.",
        p_proof(),
        tables=(_slack_table(),),
    ),
)


def decide_p_up_to_one(claim: Claim, context: Context) -> Verdict:
    """PP-P1: above (k-1)/k Algorithm 1 stops the first partition at k - 1."""
    found = find_up_to_one()
    if found is None:
        return Verdict(
            claim.id, "open", "No counterexample with up to three neighbors and similarities in {0, 1/2, 1}."
        )
    k, p = found["num_neighbors"], found["methods"]["ppns"]["probability"]
    similarities = ", ".join(found["similarities"])
    return decided(
        claim,
        "refuted",
        f"With k = {k}, similarities ({similarities}) and p = {p}, which equation (20) allows for alpha_0 = p times "
        f"the sum of the k largest, alpha is only {_alpha(found)}: Algorithm 1 stops the first partition at k - 1 "
        "members, so no p above (k-1)/k can bring more than (k-1)/k of that sum from it.",
        "Read to the letter, its test 'neighbor number is not k - 1' is never met when ceil(pk) = k, and the loop "
        "selects more than k users. For alpha_0 above the sum of the k largest similarities the printed range is "
        "empty.",
        evidence=shown(
            "Exact accuracy of Algorithm 1 on the smallest list of the search.", {"kind": "selection", "inputs": found}
        ),
        repair="PP-P: p <= (k-1)/k",
    )


def decide_theorem1_pk(claim: Claim, context: Context) -> Verdict:
    """PP-T1-PK: ceil(pk), not pk."""
    found = find_gap()
    if found is None:
        return Verdict(claim.id, "open", "No counterexample with k = 2 or 3 and p in tenths.")
    p = found["methods"]["ppns"]["probability"]
    rows = [
        [k, str(p), str(p * k), quotas(p, k, 20 * k)[0], f"{float(quotas(p, k, 20 * k)[0] - p * k):.2f}"]
        for k in (5, 7, 50, 55)
        for p in (Fraction(1, 10), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10))
    ]
    table = Table("Expected picks from the first partition", ["k", "p", "pk", "Algorithm 1", "gap"], rows)
    return decided(
        claim,
        "refuted",
        f"For k = {found['num_neighbors']}, p = {p} PPNS takes 1 neighbor from the first partition for certain, and "
        "pk is smaller.",
        "The number is ceil(pk) for p <= (k-1)/k, never below pk and less than 1 above it, and equal exactly when pk "
        "is an integer; above (k-1)/k it is k - 1 < pk.",
        "For k = 50 and p in tenths, the settings of the paper's tables, pk is an integer and the equation is exact. "
        "Theorem 1 only needs 'at least pk', which holds for p <= (k-1)/k.",
        evidence=(
            shown("The smallest setting of the search.", {"kind": "selection", "inputs": found}),
            shown("The range of the gap, for all k and p.", pk_proof(), tables=(table,)),
        ),
        repair="sum_{i<=k} mu_i = ceil(pk) for p <= (k-1)/k",
    )


decide_theorem1_range = established(
    "refuted",
    "The range is not empty exactly when ((n-k)/n)^w_1 > 1/k, that is w_1 < ln k / ln(n/(n-k)). It is always "
    "empty for k = 1, and for w_1 = 1 when n <= k + 1 + 1/(k-1), for example n = 3, k = 2.",
    "At the paper's k = 50, eps = 1, RS = 1 it is wide, but the paper takes RS from the data and does not print "
    "it: for n = 942 the range is empty as soon as eps/RS exceeds about 855 (table).",
    evidence=lambda: [
        shown(
            "Settings in which the range is empty: k = 1; n = 3, k = 2; k = 50, n = 942 with eps/RS = 1000.",
            range_certificate(),
        ),
        shown("The exact condition for all n, k and w_1.", range_proof(), tables=(_vanishing_range_table(),)),
    ],
    repair="1 - ((n-k)/n)^w_1 < (k-1)/k iff w_1 < ln k / ln(n/(n-k))",
)


def decide_monotone(claim: Claim, context: Context) -> Verdict:
    """PP-MONO: monotone in theta, and below 0.1 for k in [30, 50] and n > 1000."""
    ratio = 200 * math.log(math.log(0.9) / math.log(951 / 1001))
    return decided(
        claim,
        "holds",
        "The lower end grows strictly with theta = k/n, for every w_1 > 0. At eps = 1, RS = 1 it is below 0.051 for "
        "all k from 30 to 50 and n > 1000.",
        "It is small because RS = 1 makes all weights nearly equal: at k = 50, n = 1001 it exceeds 0.1 once eps/RS "
        f"is above {ratio:.0f}.",
        evidence=(
            shown("Strictly increasing in theta.", monotone_proof()),
            shown(
                "Interval enclosures at n = 1001 for each k from 30 to 50; larger n follow from the monotonicity.",
                monotone_certificate(),
            ),
        ),
    )


decide_example = established(
    "holds",
    "The ends are 0.10047... and 0.98 exactly, which round to the printed ones.",
    "The lower end is above 0.1, so the printed range (0.1, 0.98] contains p from 0.1 to 0.10047 that Theorem 1 "
    "does not allow.",
    "Algorithm 1 cannot be run in all of it: with n = 500 and p up to 0.2 it visits all ten partitions before it "
    "has k - 1 neighbors, and none is left for the last one.",
    evidence=lambda: shown(
        "Interval enclosures of both ends; at p = 1/5 nine of the ten partitions give 48 < k - 1 neighbors.",
        example_certificate(),
        tables=(
            Table(
                "Lower end of p at eps = 1, RS = 1, and the largest p (in thousandths) at which "
                "Algorithm 1 runs out of partitions",
                ["n", "k", "lower end (21)", "undefined up to p ="],
                [
                    [n, k, f"{1 - (1 - k / n) ** math.exp(1 / (4 * k)):.4f}", f"{float(undefined_up_to(k, n)):.3f}"]
                    for n, k in ((500, 50), (942, 50), (1001, 50), (1001, 30))
                ],
            ),
        ),
    ),
)


def chebyshev_proof() -> dict[str, Any]:
    """The double-sum identity for all k by induction, and its sign."""
    return proof(
        "Let S, M and P be the sums of s, mu and s mu over the first k. Claim: kP - SM = sum_{i<j} (s_i - "
        "s_j)(mu_i - mu_j). Adding a pair (s, mu) to the left changes it as in step 1. On the right it adds sum_i "
        "(s_i - s)(mu_i - mu); with each i the partial sums grow as in step 2, so that this is the same change. For k "
        "= 1 both sides are 0. Each term is a product of differences of equal sign (step 3), so kP - SM >= 0, and "
        "dividing by kS > 0 gives the printed form (steps 4, 5). Steps 6 and 7 write the printed identity out for k = "
        "2 and 3. Step 8: without the order of mu the sign fails, for similarities (1, 1/2) and probabilities (1/3, "
        "2/3), as weights 1 and 2 give, possible when RS differs between candidates.",
        identity(
            "what one more pair adds to kP - SM",
            "(k + 1) * (P + s * mu) - (S + s) * (M + mu) - (k * P - S * M) == P + k * s * mu - S * mu - s * M",
        ),
        identity(
            "what one more term adds to the new differences",
            "(P + k * s * mu - S * mu - s * M) + (t - s) * (nu - mu) == (P + t * nu) + (k + 1) * s * mu - (S + t) "
            "* mu - s * (M + nu)",
        ),
        smt(
            "equally ordered differences have a product that is not negative",
            "s_i >= s_j, mu_i >= mu_j",
            "(s_i - s_j) * (mu_i - mu_j) >= 0",
        ),
        smt(
            "the weighted mean is at least the plain one",
            "k > 0, S > 0, k * P - S * M >= 0",
            "P / S - M / k >= 0",
            model="k = 1, S = 1, P = 1, M = 1",
        ),
        identity("the printed form", "P / S - M / k == (k * P - S * M) / (k * S)"),
        identity("printed, k = 2", "(a * x + b * y) / (a + b) - (x + y) / 2 == (a - b) * (x - y) / (2 * (a + b))"),
        identity(
            "printed, k = 3",
            "(a * x + b * y + c * z) / (a + b + c) - (x + y + z) / 3 == ((a - b) * (x - y) + (a - c) * (x - z) + "
            "(b - c) * (y - z)) / (3 * (a + b + c))",
        ),
        possible(
            "without the order of mu the difference can be negative",
            "s_1 == 1, s_2 == 1 / 2, (s_1 * mu_1 + s_2 * mu_2) / (s_1 + s_2) < (mu_1 + mu_2) / 2",
            "s_1 = 1, s_2 = 1/2, mu_1 = 1/3, mu_2 = 2/3",
        ),
    )


def p_proof() -> dict[str, Any]:
    """p >= alpha_0 / S guarantees alpha_0 for p <= (k-1)/k."""
    return proof(
        "Let q = ceil(pk), so pk <= q < pk + 1. For p <= (k-1)/k this is at most k - 1 (step 1; q and k "
        "are integers), so the cap does not cut it, and the first partition, once visited, gives no last neighbor: "
        "the first k probabilities sum to q. With S and P the sums of s and s mu over the first partition, Chebyshev "
        "(PP-CHEB) gives kP >= qS; the rest of the sum is not negative (step 2). Step 3: the bound is attained. Steps "
        "4 and 5: it fails with a negative similarity in the tail, and with probabilities that grow along the list "
        "(weights 1 and 2).",
        smt(
            "the quota of the first partition is at most k - 1",
            "k * p <= k - 1, q < p * k + 1, implies(q < k, q <= k - 1)",
            "q <= k - 1",
            model="k = 2, p = 1/2, q = 1",
        ),
        smt(
            "the first partition alone brings alpha_0",
            "k >= 1, S > 0, q >= p * k, k * P >= q * S, tail >= 0, alpha == P + tail, p >= alpha_0 / S",
            "alpha >= alpha_0",
            model="k = 2, S = 2, p = 1/2, q = 1, P = 1, tail = 0, alpha = 1, alpha_0 = 1",
        ),
        possible(
            "the bound is attained: k = 2, p = 1/2, similarities (1, 1, 0, 0)",
            "P == q * S / k, q == p * k, alpha == P + 0, alpha == p * S",
            "k = 2, S = 2, p = 1/2, q = 1, P = 1, alpha = 1",
        ),
        possible(
            "a negative tail breaks it: k = 2, p = 1/2, similarities (1, 1, -1, -1)",
            "P == q * S / k, q == p * k, alpha == P + tail, alpha < p * S",
            "k = 2, S = 2, p = 1/2, q = 1, P = 1, tail = -1, alpha = 0",
        ),
        possible(
            "growing probabilities break it: k = 2, p = 1/2, similarities (1, 1/2, 0, 0), weights (1, 2)",
            "mu_1 == 1 / 3, mu_2 == 2 / 3, mu_1 + mu_2 == p * 2, 1 * mu_1 + mu_2 / 2 < p * (1 + 1 / 2)",
            "p = 1/2, mu_1 = 1/3, mu_2 = 2/3",
        ),
    )


def pk_proof() -> dict[str, Any]:
    """The range of the gap between the expected picks from the first partition and pk."""
    return proof(
        "For k >= 2 the first partition is visited, so the last neighbor is not from it, and it gives "
        "min(ceil(pk), k - 1). For p <= (k-1)/k that is q = ceil(pk) with pk <= q < pk + 1 (step 1), and q = pk "
        "exactly when pk is an integer. For larger p it is k - 1 < pk (step 2). Gaps arbitrarily near 1 occur: pk = "
        "1/m gives 1 - 1/m (step 3).",
        smt(
            "the gap is at least 0 and below 1",
            "p * k <= q, q < p * k + 1, gap == q - p * k",
            "0 <= gap < 1",
            model="p = 1/2, k = 3, q = 2, gap = 1/2",
        ),
        smt(
            "above (k-1)/k there are fewer than pk",
            "p * k > k - 1, k > 0, p <= 1",
            "(k - 1) - p * k < 0 and (k - 1) - p * k >= 0 - 1",
            model="k = 2, p = 3/4",
        ),
        possible(
            "a gap of 99/100",
            "p * k == 1 / 100, p * k <= q, q < p * k + 1, q == 1, q - p * k == 99 / 100, k * p <= k - 1",
            "p = 1/5000, k = 50, q = 1",
        ),
        supports="refuted",
    )


def range_proof() -> dict[str, Any]:
    """When the interval of Theorem 1 and section 6.2 is not empty."""
    return proof(
        "With z = ((n-k)/n)^w_1 the condition is z > 1/k (step 1), and taking logarithms w_1 < ln k / "
        "ln(n/(n-k)). For w_1 = 1 it reads n(k-1) > k^2 (step 2), and since w_1 >= 1 makes z smaller it can only get "
        "worse. For k = 1 it would need z > 1 (step 3).",
        smt(
            "not empty exactly when the power exceeds 1/k",
            "k > 0",
            "implies(1 - z < (k - 1) / k, z > 1 / k) and implies(z > 1 / k, 1 - z < (k - 1) / k)",
            model="k = 2",
        ),
        smt(
            "equal weights: exactly when n(k-1) > k^2",
            "0 < k, k < n",
            "implies((n - k) / n > 1 / k, n * (k - 1) > k * k) and implies(n * (k - 1) > k * k, (n - k) / n > 1 / k)",
            model="k = 2, n = 5",
        ),
        smt("k = 1: always empty", "k == 1, z <= 1", "1 - z >= (k - 1) / k", model="k = 1, z = 1/2"),
        supports="refuted",
    )


def range_certificate() -> dict[str, Any]:
    """Empty ranges: the smallest n for k = 1 and k = 2 at w_1 = 1 (by search), and k = 50, n = 942 at eps/RS = 1000."""
    settings = []
    for k in (1, 2):
        n = next(n for n in range(k + 1, 100) if 1 - Fraction(n - k, n) >= Fraction(k - 1, k))
        settings.append(f"1 - ({n} - {k}) / {n} >= ({k} - 1) / {k}")
    settings.append("1 - ((942 - 50) / 942) ** exp(1000 / 200) >= (50 - 1) / 50")
    return instance({}, *settings, supports="refuted")


def monotone_proof() -> dict[str, Any]:
    """The lower end of p grows with theta."""
    return proof(
        "For 0 <= theta_1 < theta_2 <= 1 the bases 1 - theta fall (step 1), and t^w_1 is strictly "
        "increasing on [0, 1] for w_1 > 0, used as a hypothesis; so 1 - (1 - theta)^w_1 grows strictly (step 2). The "
        "derivative w_1 (1 - theta)^(w_1 - 1) is positive for theta < 1.",
        smt(
            "a larger theta has the smaller base",
            "0 <= theta_1, theta_1 < theta_2, theta_2 <= 1, base_1 == 1 - theta_1, base_2 == 1 - theta_2",
            "0 <= base_2 < base_1 <= 1",
        ),
        smt(
            "so the lower end is larger",
            "base_2 < base_1, implies(base_2 < base_1, power_2 < power_1)",
            "1 - power_1 < 1 - power_2",
        ),
    )


def monotone_certificate() -> dict[str, Any]:
    """The lower end at n = 1001, eps = 1, RS = 1 is below 0.051, for every k from 30 to 50."""
    bounds = (f"1 - ((1001 - {k}) / 1001) ** exp(1 / (4 * {k})) < 51 / 1000" for k in range(30, 51))
    return instance({}, *bounds, supports="holds")


def example_certificate() -> dict[str, Any]:
    """Example (21): both ends round to the printed numbers, and the lower one lies above 0.1."""
    lower = "1 - ((500 - 50) / 500) ** exp(1 / (4 * 50 * 1))"
    return instance(
        {},
        f"1 / 20 <= {lower} and {lower} < 3 / 20",
        f"10047 / 100000 < {lower} and {lower} < 10048 / 100000",
        "49 / 50 <= 98 / 100 and 49 / 50 >= 98 / 100",
        f"{' + '.join(f'ceil(1 / 5 * (4 / 5) ** {i} * 50)' for i in range(9))} < 50 - 1",
        "50 * 10 >= 500",
        supports="holds",
    )


def undefined_up_to(num_neighbors: int, num_candidates: int) -> Fraction:
    """Largest p in thousandths for which Algorithm 1 has no partition left for the last neighbor; exact quotas."""
    k, n = num_neighbors, num_candidates
    steps = [Fraction(i, 1000) for i in range(1, 1000)]
    return max((p for p in steps if k * len(plan := quotas(p, k, n)) >= n or sum(plan) < k - 1), default=Fraction(0))


def find_up_to_one() -> dict[str, Any] | None:
    """Smallest list with p in ((k-1)/k, 1) for which alpha < p * sum s; k >= 2, since k = 1 visits no partition."""
    base = Fraction(4)
    for k in (2, 3):
        for n in range(k + 1, 2 * k + 1):
            for similarities in _lists(n):
                top = sum(similarities[:k], Fraction(0))
                for p in (Fraction(k, k + 1), Fraction(9, 10)):
                    alpha = accuracy(similarities, base, k, p)
                    if alpha is not None and p > Fraction(k - 1, k) and alpha < p * top:
                        return partitioned_selection(
                            similarities, base, k, p, ["<", "alpha_ppns", str(p * top)], "refuted"
                        )
    return None


def find_gap() -> dict[str, Any] | None:
    """Smallest k >= 2 and p in tenths, p <= (k-1)/k, where the expected picks from the first partition are not pk."""
    for k in (2, 3):
        similarities = [Fraction(1)] * k + [Fraction(0)] * k
        for p in TENTHS:
            means = selection_probabilities([Fraction(1)] * (2 * k), k, p)
            if means is not None and p * k <= k - 1 and sum(means[:k]) != p * k:
                first = sum(means[:k], Fraction(0))
                condition = ["and", [">=", "first_ppns", str(first)], [">", "first_ppns", str(p * k)]]
                return partitioned_selection(similarities, Fraction(4), k, p, condition, "refuted")
    return None


def _alpha(found: Mapping[str, Any]) -> Fraction | None:
    return accuracy(
        [Fraction(s) for s in found["similarities"]],
        Fraction(found["base"]),
        found["num_neighbors"],
        Fraction(found["methods"]["ppns"]["probability"]),
    )


def _lists(length: int) -> Iterator[list[Fraction]]:
    for values in combinations_with_replacement((Fraction(1), Fraction(1, 2), Fraction(0)), length):
        if values[0]:
            yield list(values)


def _slack_table() -> Table:
    similarities = [Fraction(NUM_CANDIDATES - i, NUM_CANDIDATES) for i in range(NUM_CANDIDATES)]
    rows = []
    for p in TENTHS:
        plan = quotas(p, NUM_NEIGHBORS, NUM_CANDIDATES)
        first = sum(similarities[:NUM_NEIGHBORS])
        rest = similarities[NUM_NEIGHBORS * len(plan) :]
        blocks = (similarities[NUM_NEIGHBORS * i : NUM_NEIGHBORS * (i + 1)] for i in range(len(plan)))
        visited = (quota * sum(block) / NUM_NEIGHBORS for quota, block in zip(plan, blocks, strict=True))
        rows.append([str(p), f"{float(p * first):.3f}", f"{float(sum(visited, sum(rest) / len(rest))):.3f}"])
    title = "Slack at k = 50, n = 942, similarities falling evenly from 1 to 0, equal weights"
    return Table(title, ["p", "guaranteed p * sum", "alpha of PPNS"], rows)


def _vanishing_range_table() -> Table:
    rows = []
    for k, n in ((10, 942), (30, 942), (50, 942), (100, 942), (50, 500), (30, 1001), (50, 1001), (50, 5999)):
        limit = math.log(k) / math.log(n / (n - k))
        rows.append([k, n, f"{limit:.2f}", f"{4 * k * math.log(limit):.0f}", f"{1 / (4 * k * math.log(limit)):.2g}"])
    columns = ["k", "n", "w_1 below", "eps/RS below", "RS above"]
    return Table("Where the range of p vanishes: weight, eps/RS, and RS at eps = 1", columns, rows)
