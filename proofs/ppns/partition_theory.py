"""The partition scheme of Lu and Shen (PPNS): formulas of sections 6.1 to 6.4, and Theorem 1 repaired.

Algorithm 1 is read as: from partition i (k candidates, in descending similarity) take ceil(p (1-p)^(i-1) k) members,
capped at what is still missing to k - 1; then one last neighbor from all partitions not visited. `quotas` is that rule
in exact arithmetic.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.proofs.decisions import decided
from dpassay.proofs.notation import formula, identity, possible, proof, smt
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities, rational_power

__all__ = [
    "accuracy",
    "beta_certificate",
    "boundary_surplus",
    "chebyshev_proof",
    "decide_beta",
    "decide_chebyshev",
    "decide_equation20",
    "decide_example",
    "decide_monotone",
    "decide_p",
    "decide_p_up_to_one",
    "decide_theorem1_pk",
    "decide_theorem1_range",
    "decide_theorem1_repaired",
    "example_certificate",
    "find_gap",
    "find_surplus_failure",
    "find_up_to_one",
    "formula_beta",
    "monotone_certificate",
    "monotone_proof",
    "p_proof",
    "pk_proof",
    "quotas",
    "range_certificate",
    "range_proof",
    "selection_probabilities",
    "surplus_failure_certificate",
    "theorem1_repaired_proof",
    "undefined_up_to",
]

TENTHS = tuple(Fraction(tenth, 10) for tenth in range(1, 10))
TABLE_2 = (15, 13, 10, 8, 7, 6, 5, 3, 2)
NUM_NEIGHBORS, NUM_CANDIDATES = 50, 942  # the paper's k, and the users of MovieLens 100K without the target


def decide_chebyshev(claim: Claim, context: Context) -> Verdict:
    """PP-CHEB: the identity by induction on the partition, the sign term by term."""
    return decided(
        claim,
        "holds",
        "The identity is Chebyshev's sum identity and is right as printed, for every k and without any order; the "
        "sign needs both sequences to fall.",
        "The selection probabilities fall along the list when the weights grow with the similarity. They need not "
        "when each candidate is weighted with a sensitivity RS of its own, and then the difference can be negative.",
        evidence=(Evidence("proof", "Identity and sign, for all k.", chebyshev_proof()),),
    )


def decide_p(claim: Claim, context: Context) -> Verdict:
    """PP-P: ceil(pk) picks from the first partition, Chebyshev, and a tail that is not negative."""
    rows = []
    for p in TENTHS:
        similarities = [Fraction(NUM_CANDIDATES - i, NUM_CANDIDATES) for i in range(NUM_CANDIDATES)]
        plan = quotas(p, NUM_NEIGHBORS, NUM_CANDIDATES)
        first = sum(similarities[:NUM_NEIGHBORS])
        rest = similarities[NUM_NEIGHBORS * len(plan) :]
        blocks = (similarities[NUM_NEIGHBORS * i : NUM_NEIGHBORS * (i + 1)] for i in range(len(plan)))
        visited = (quota * sum(block) / NUM_NEIGHBORS for quota, block in zip(plan, blocks, strict=True))
        rows.append(
            [str(p), f"{float(p * first):.3f}", f"{float(sum(visited, sum(rest) / len(rest))):.3f}"],
        )
    return decided(
        claim,
        "holds",
        "Algorithm 1 takes ceil(pk) >= pk neighbors from the first partition as long as p <= (k-1)/k, and these alone "
        "bring p times the sum of the k largest similarities.",
        "The printed proof shows p <= alpha/sum and turns the inequality round without a reason; the conclusion is "
        "true all the same. It needs similarities that are not negative (a Pearson correlation may be), and weights "
        "that grow with the similarity. The bound is attained when pk is an integer, weights are equal and the other "
        "similarities are 0.",
        evidence=(
            Evidence(
                "proof",
                "All k, p <= (k-1)/k; tightness; and why both extra assumptions are needed.",
                p_proof(),
                tables=(
                    Table(
                        "Slack at k = 50, n = 942, similarities falling evenly from 1 to 0, equal weights",
                        ["p", "guaranteed p * sum", "alpha of PPNS"],
                        rows,
                    ),
                ),
            ),
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
        evidence=(
            Evidence(
                "certificate",
                "Exact accuracy of Algorithm 1 on the smallest list of the search.",
                {"kind": "selection", "inputs": found},
            ),
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
            Evidence("certificate", "The smallest setting of the search.", {"kind": "selection", "inputs": found}),
            Evidence(
                "proof",
                "The range of the gap, for all k and p.",
                pk_proof(),
                tables=(
                    Table("Expected picks from the first partition", ["k", "p", "pk", "Algorithm 1", "gap"], rows),
                ),
            ),
        ),
        repair="sum_{i<=k} mu_i = ceil(pk) for p <= (k-1)/k",
    )


def decide_theorem1_range(claim: Claim, context: Context) -> Verdict:
    """PP-T1-RANGE: empty for k = 1, for small n, and for weights above ln k / ln(n/(n-k))."""
    rows = []
    for k, n in ((10, 942), (30, 942), (50, 942), (100, 942), (50, 500), (30, 1001), (50, 1001), (50, 5999)):
        limit = math.log(k) / math.log(n / (n - k))
        rows.append([k, n, f"{limit:.2f}", f"{4 * k * math.log(limit):.0f}", f"{1 / (4 * k * math.log(limit)):.2g}"])
    return decided(
        claim,
        "refuted",
        "The range is not empty exactly when ((n-k)/n)^w_1 > 1/k, that is w_1 < ln k / ln(n/(n-k)). It is always "
        "empty for k = 1, and for w_1 = 1 when n <= k + 1 + 1/(k-1), for example n = 3, k = 2.",
        "At the paper's k = 50, eps = 1, RS = 1 it is wide, but the paper takes RS from the data and does not print "
        "it: for n = 942 the range is empty as soon as eps/RS exceeds about 855 (table).",
        evidence=(
            Evidence(
                "certificate",
                "Settings in which the range is empty: k = 1; n = 3, k = 2; k = 50, n = 942 with eps/RS = 1000.",
                {"kind": "formula", "inputs": range_certificate()},
            ),
            Evidence(
                "proof",
                "The exact condition for all n, k and w_1.",
                range_proof(),
                tables=(
                    Table(
                        "Where the range of p vanishes: weight, eps/RS, and RS at eps = 1",
                        ["k", "n", "w_1 below", "eps/RS below", "RS above"],
                        rows,
                    ),
                ),
            ),
        ),
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
            Evidence("proof", "Strictly increasing in theta.", monotone_proof()),
            Evidence(
                "certificate",
                "Interval enclosures at n = 1001 for each k from 30 to 50; larger n follow from the monotonicity.",
                {"kind": "formula", "inputs": monotone_certificate()},
            ),
        ),
    )


def decide_example(claim: Claim, context: Context) -> Verdict:
    """PP-EX: both ends of example (21)."""
    rows = [
        [n, k, f"{1 - (1 - k / n) ** math.exp(1 / (4 * k)):.4f}", f"{float(undefined_up_to(k, n)):.3f}"]
        for n, k in ((500, 50), (942, 50), (1001, 50), (1001, 30))
    ]
    return decided(
        claim,
        "holds",
        "The ends are 0.10047... and 0.98 exactly, which round to the printed ones.",
        "The lower end is above 0.1, so the printed range (0.1, 0.98] contains p from 0.1 to 0.10047 that Theorem 1 "
        "does not allow.",
        "Algorithm 1 cannot be run in all of it: with n = 500 and p up to 0.2 it visits all ten partitions before it "
        "has k - 1 neighbors, and none is left for the last one.",
        evidence=(
            Evidence(
                "certificate",
                "Interval enclosures of both ends; at p = 1/5 nine of the ten partitions give 48 < k - 1 neighbors.",
                {"kind": "formula", "inputs": example_certificate()},
                tables=(
                    Table(
                        "Lower end of p at eps = 1, RS = 1, and the largest p (in thousandths) at which "
                        "Algorithm 1 runs out of partitions",
                        ["n", "k", "lower end (21)", "undefined up to p ="],
                        rows,
                    ),
                ),
            ),
        ),
    )


def decide_beta(claim: Claim, context: Context) -> Verdict:
    """PP-B: equation (19) against the partitions that Algorithm 1 visits."""
    rows, rises = _beta_rows(), _beta_rises()
    beta = float(formula_beta(Fraction(1, 10), NUM_NEIGHBORS)[1])
    above, differing = sum(float(row[2]) > row[4] for row in rows), sum(row[3] != row[5] for row in rows)
    returned, printed = float(rows[0][9]), TABLE_2[0]
    return decided(
        claim,
        "refuted",
        f"At p = 0.1, k = 50, n = 942 the formula gives beta = {beta:.2f}, more than the 19 partitions there are; "
        f"Algorithm 1 takes its neighbors from {rows[0][4]}, and Table 2 prints {printed}. Over p = 0.1 to 0.9 it is "
        f"above the number of partitions that Algorithm 1 uses at {above} of 9 values and below it at {9 - above}.",
        "Equation (18) stops at 3/2 as if quotas were rounded, Algorithm 1 takes the ceiling, and (19) counts "
        f"partitions that do not exist. Rounded up, (19) differs from Table 2 at {differing} of 9 values.",
        "Line 17 of Algorithm 1 returns the partition of the last neighbor, a random number and yet another quantity "
        f"({returned:.1f} on average at p = 0.1). (19) {_rise_text(rises)}; at p = 0.02 its j is "
        f"{formula_beta(Fraction(1, 50), NUM_NEIGHBORS)[0]}.",
        evidence=(
            Evidence(
                "certificate",
                "j and beta at p = 0.1, k = 50 by interval arithmetic.",
                {"kind": "formula", "inputs": beta_certificate()},
                tables=(
                    Table(
                        "Number of partitions, k = 50, n = 942 (19 partitions)",
                        [
                            "p",
                            "j (18)",
                            "beta (19)",
                            "beta rounded up",
                            "Algorithm 1: partitions used",
                            "Table 2",
                            "quotas rounded half up, at least 1",
                            "Algorithm 1: returned index, from",
                            "to",
                            "mean (equal weights)",
                            "ceilings reach k - 1 exactly",
                        ],
                        rows,
                    ),
                ),
                plots=(
                    Plot(
                        "Number of partitions against p (k = 50, n = 942)",
                        "p",
                        "partitions",
                        [
                            Series("beta (19)", list(_floats()), [float(row[2]) for row in rows]),
                            Series("Algorithm 1, used", list(_floats()), [row[4] for row in rows]),
                            Series("Algorithm 1, returned (mean)", list(_floats()), [float(row[9]) for row in rows]),
                            Series("Table 2", list(_floats()), list(TABLE_2)),
                        ],
                    ),
                ),
            ),
        ),
        repair="the number of partitions is that of Algorithm 1's exact quotas, plus the one of the last neighbor",
    )


def decide_equation20(claim: Claim, context: Context) -> Verdict:
    """PP-20: its beta can exceed the number of partitions inside the allowed range of p."""
    return decided(
        claim,
        "refuted",
        "p = 0.1 lies in the range of (20) for every alpha_0 up to a tenth of the sum of the 50 largest similarities, "
        "and above Theorem 1's bound for n = 942; its beta of 26 is more than the 19 partitions, so no attack with "
        "beta k fake users corresponds to it.",
        "Where beta is reachable, all neighbors but the last come from fewer partitions than beta, at every p from "
        "0.1 to 0.9 (k = 50). At p = 1, which (20) allows, ln(1-p) is undefined, and for p above (k-1)/k the accuracy "
        "is not guaranteed either (PP-P1).",
        evidence=(
            Evidence(
                "certificate",
                "beta above the number of partitions at an allowed p.",
                {"kind": "formula", "inputs": beta_certificate(accuracy=True)},
            ),
        ),
        repair="p in [alpha_0 / sum s, (k-1)/k] (PP-P), with the partitions counted from Algorithm 1's quotas",
    )


def decide_theorem1_repaired(claim: Claim, context: Context) -> Verdict:
    """PP-T1-REP: Abel summation, both directions, and what it means for Algorithm 1."""
    found = find_surplus_failure()
    failing = None if found is None else surplus_failure_certificate(*found)
    evidence = [
        Evidence(
            "proof",
            "Both directions for every list, and the criterion for Algorithm 1.",
            theorem1_repaired_proof(),
            tables=(
                Table(
                    "The condition for Algorithm 1, k = 50, n = 942 (picks up to each boundary, less jk^2/n)",
                    [
                        "p",
                        "quotas",
                        "partitions visited",
                        "unvisited candidates",
                        "smallest surplus",
                        "satisfied",
                    ],
                    _repair_rows(),
                ),
            ),
        )
    ]
    example = ""
    if failing is not None and found is not None:
        p, k, n = found
        example = (
            f"It can fail inside Theorem 1's range: with k = {k}, n = {n}, p = {p} and equal weights the list of "
            f"{failing['similarities'].count('1')} ones followed by zeros makes PPNS the less accurate."
        )
        evidence.append(
            Evidence(
                "certificate",
                "The smallest setting within Theorem 1's range of p where the condition fails, by exact accuracies.",
                {"kind": "selection", "inputs": failing},
            )
        )
    return decided(
        claim,
        "holds",
        "With equal weights PPNS is at least as accurate for every similarity list exactly when at every partition "
        "boundary the expected number of picks so far is at least what a uniform choice would give.",
        "Since Algorithm 1's quotas fall, it meets the condition exactly when at least n/k candidates are left "
        "unvisited for the last pick, whatever p; at k = 50, n = 942 it does at every p for which it is defined, as "
        "even 18 visited partitions leave 42 candidates.",
        example,
        evidence=tuple(evidence),
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
            ["s_i >= s_j", "mu_i >= mu_j"],
            "(s_i - s_j) * (mu_i - mu_j) >= 0",
        ),
        smt(
            "the weighted mean is at least the plain one",
            ["k > 0", "S > 0", "k * P - S * M >= 0"],
            "P / S - M / k >= 0",
            model={"k": "1", "S": "1", "P": "1", "M": "1"},
        ),
        identity("the printed form", "P / S - M / k == (k * P - S * M) / (k * S)"),
        identity(
            "printed, k = 2",
            "(a * x + b * y) / (a + b) - (x + y) / 2 == (a - b) * (x - y) / (2 * (a + b))",
        ),
        identity(
            "printed, k = 3",
            "(a * x + b * y + c * z) / (a + b + c) - (x + y + z) / 3 == ((a - b) * (x - y) + (a - c) * (x - z) + "
            "(b - c) * (y - z)) / (3 * (a + b + c))",
        ),
        possible(
            "without the order of mu the difference can be negative",
            ["s_1 == 1", "s_2 == 1 / 2", "(s_1 * mu_1 + s_2 * mu_2) / (s_1 + s_2) < (mu_1 + mu_2) / 2"],
            {"s_1": "1", "s_2": "1/2", "mu_1": "1/3", "mu_2": "2/3"},
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
            ["k * p <= k - 1", "q < p * k + 1", "implies(q < k, q <= k - 1)"],
            "q <= k - 1",
            model={"k": "2", "p": "1/2", "q": "1"},
        ),
        smt(
            "the first partition alone brings alpha_0",
            [
                "k >= 1",
                "S > 0",
                "q >= p * k",
                "k * P >= q * S",
                "tail >= 0",
                "alpha == P + tail",
                "p >= alpha_0 / S",
            ],
            "alpha >= alpha_0",
            model={
                "k": "2",
                "S": "2",
                "p": "1/2",
                "q": "1",
                "P": "1",
                "tail": "0",
                "alpha": "1",
                "alpha_0": "1",
            },
        ),
        possible(
            "the bound is attained: k = 2, p = 1/2, similarities (1, 1, 0, 0)",
            ["P == q * S / k", "q == p * k", "alpha == P + 0", "alpha == p * S"],
            {"k": "2", "S": "2", "p": "1/2", "q": "1", "P": "1", "alpha": "1"},
        ),
        possible(
            "a negative tail breaks it: k = 2, p = 1/2, similarities (1, 1, -1, -1)",
            ["P == q * S / k", "q == p * k", "alpha == P + tail", "alpha < p * S"],
            {"k": "2", "S": "2", "p": "1/2", "q": "1", "P": "1", "tail": "-1", "alpha": "0"},
        ),
        possible(
            "growing probabilities break it: k = 2, p = 1/2, similarities (1, 1/2, 0, 0), weights (1, 2)",
            ["mu_1 == 1 / 3", "mu_2 == 2 / 3", "mu_1 + mu_2 == p * 2", "1 * mu_1 + mu_2 / 2 < p * (1 + 1 / 2)"],
            {"p": "1/2", "mu_1": "1/3", "mu_2": "2/3"},
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
            ["p * k <= q", "q < p * k + 1"],
            "0 <= q - p * k < 1",
            model={"p": "1/2", "k": "3", "q": "2"},
        ),
        smt(
            "above (k-1)/k there are fewer than pk",
            ["p * k > k - 1", "k > 0", "p <= 1"],
            "(k - 1) - p * k < 0 and (k - 1) - p * k >= 0 - 1",
            model={"k": "2", "p": "3/4"},
        ),
        possible(
            "a gap of 99/100",
            [
                "p * k == 1 / 100",
                "p * k <= q",
                "q < p * k + 1",
                "q == 1",
                "q - p * k == 99 / 100",
                "k * p <= k - 1",
            ],
            {"p": "1/5000", "k": "50", "q": "1"},
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
            ["k > 0"],
            "implies(1 - z < (k - 1) / k, z > 1 / k) and implies(z > 1 / k, 1 - z < (k - 1) / k)",
            model={"k": "2"},
        ),
        smt(
            "equal weights: exactly when n(k-1) > k^2",
            ["0 < k", "k < n"],
            "implies((n - k) / n > 1 / k, n * (k - 1) > k * k) and implies(n * (k - 1) > k * k, (n - k) / n > 1 / k)",
            model={"k": "2", "n": "5"},
        ),
        smt(
            "k = 1: always empty",
            ["k == 1", "z <= 1"],
            "1 - z >= (k - 1) / k",
            model={"k": "1", "z": "1/2"},
        ),
        supports="refuted",
    )


def range_certificate() -> dict[str, Any]:
    """Empty ranges: the smallest n for k = 1 and k = 2 at w_1 = 1 (by search), and k = 50, n = 942 at eps/RS = 1000."""
    settings = []
    for k in (1, 2):
        n = next(n for n in range(k + 1, 100) if 1 - Fraction(n - k, n) >= Fraction(k - 1, k))
        settings.append(f"1 - ({n} - {k}) / {n} >= ({k} - 1) / {k}")
    settings.append("1 - ((942 - 50) / 942) ** exp(1000 / 200) >= (50 - 1) / 50")
    return {"supports": "refuted", "values": {}, "formulas": [formula(text) for text in settings]}


def monotone_proof() -> dict[str, Any]:
    """The lower end of p grows with theta."""
    return proof(
        "For 0 <= theta_1 < theta_2 <= 1 the bases 1 - theta fall (step 1), and t^w_1 is strictly "
        "increasing on [0, 1] for w_1 > 0, used as a hypothesis; so 1 - (1 - theta)^w_1 grows strictly (step 2). The "
        "derivative w_1 (1 - theta)^(w_1 - 1) is positive for theta < 1.",
        smt(
            "a larger theta has the smaller base",
            ["0 <= theta_1", "theta_1 < theta_2", "theta_2 <= 1"],
            "0 <= 1 - theta_2 and 1 - theta_2 < 1 - theta_1 and 1 - theta_1 <= 1",
        ),
        smt(
            "so the lower end is larger",
            ["base_2 < base_1", "implies(base_2 < base_1, power_2 < power_1)"],
            "1 - power_1 < 1 - power_2",
        ),
    )


def monotone_certificate() -> dict[str, Any]:
    """The lower end at n = 1001, eps = 1, RS = 1 is below 0.051, for every k from 30 to 50."""
    return {
        "supports": "holds",
        "values": {},
        "formulas": [formula(f"1 - ((1001 - {k}) / 1001) ** exp(1 / (4 * {k})) < 51 / 1000") for k in range(30, 51)],
    }


def example_certificate() -> dict[str, Any]:
    """Example (21): both ends round to the printed numbers, and the lower one lies above 0.1."""
    lower = "1 - ((500 - 50) / 500) ** exp(1 / (4 * 50 * 1))"
    return {
        "supports": "holds",
        "values": {},
        "formulas": [
            formula(text)
            for text in (
                f"1 / 20 <= {lower} and {lower} < 3 / 20",
                f"10047 / 100000 < {lower} and {lower} < 10048 / 100000",
                "49 / 50 <= 98 / 100 and 49 / 50 >= 98 / 100",
                f"{' + '.join(f'ceil(1 / 5 * (4 / 5) ** {i} * 50)' for i in range(9))} < 50 - 1",
                "50 * 10 >= 500",
            )
        ],
    }


def beta_certificate(*, accuracy: bool = False) -> dict[str, Any]:
    """Equation (20) at the first p in tenths whose beta exceeds the number of partitions (k = 50, n = 942).

    Args:
        accuracy: adds that p is allowed: alpha_0 / sum s <= p for 50 similarities of 1 and alpha_0 = 5, and p is
            above Theorem 1's bound and at most (k-1)/k.
    """
    k, n = NUM_NEIGHBORS, NUM_CANDIDATES
    partitions = math.ceil(n / k)
    p, j = next((p, formula_beta(p, k)[0]) for p in TENTHS if formula_beta(p, k)[1] > partitions)
    text = f"ceil(1 + (ln(3 / 2) - ln({p} * {k})) / ln(1 - {p}))"
    formulas = [
        f"{text} >= {j} and {text} <= {j}",
        f"({j} - 1) + (1 - {p}) ** ({j} - 1) * {k} > {math.floor(formula_beta(p, k)[1])}",
        f"ceil({n} / {k}) < {math.floor(formula_beta(p, k)[1])}",
    ]
    if accuracy:
        formulas += [
            f"5 / 50 <= {p}",
            f"1 - (({n} - {k}) / {n}) ** exp(1 / (4 * {k})) < {p}",
            f"{p} <= ({k} - 1) / {k}",
        ]
    return {"supports": "refuted", "values": {}, "formulas": [formula(each) for each in formulas]}


def theorem1_repaired_proof() -> dict[str, Any]:
    """Abel summation, both directions, and when Algorithm 1 satisfies the condition."""
    return proof(
        "Let x_i = mu_i - k/n, and D_i = x_1 + ... + x_i, so alpha - alpha^ = sum_i s_i x_i and D_n = 0. "
        "Abel: sum_{i<=m} s_i x_i = sum_{i<m} (s_i - s_{i+1}) D_i + s_m D_m, by induction (step 1). With equal "
        "weights mu_i is constant inside a partition, so D is linear between boundaries and not negative if it is so "
        "at both ends (step 2); D at the boundary jk is Q_1 + ... + Q_j - jk^2/n, and D_0 = D_n = 0. If all are >= 0, "
        "every term of Abel's sum is (step 3). Conversely a boundary with D_jk < 0 is refuted by the list of jk ones "
        "followed by zeros, for which alpha - alpha^ = D_jk (step 4). Algorithm 1: its ceilings do not grow with i, "
        "and the cap only shortens the last, so the quotas fall; then D is concave over the v visited partitions, and "
        "D >= 0 there if D at vk is (step 5: a is the mean increment of the first j partitions, b that of the other v "
        "- j, c between them). At vk the picks are k - 1, with R = n - vk candidates left, and D >= 0 exactly when kR "
        ">= n (step 6). Over the unvisited candidates each has the same chance 1/R, so D runs linearly to D_n = 0.",
        identity(
            "Abel summation, one more candidate",
            "(B + s * D) + t * x == (B + (s - t) * D) + t * (D + x)",
        ),
        smt(
            "linear between boundaries",
            ["start >= 0", "end >= 0", "0 <= share", "share <= 1"],
            "(1 - share) * start + share * end >= 0",
            model={"start": "0", "end": "1", "share": "1/2"},
        ),
        smt(
            "each term of Abel's sum keeps it from falling below 0",
            ["total >= 0", "s >= t", "D >= 0"],
            "total + (s - t) * D >= 0",
            model={"total": "0", "s": "1", "t": "0", "D": "1"},
        ),
        smt(
            "conversely the step list turns a deficit into a lower accuracy",
            ["D < 0", "alpha - alpha_hat == (1 - 0) * D"],
            "alpha < alpha_hat",
        ),
        smt(
            "Algorithm 1: falling quotas and no deficit at the last visited boundary leave none before",
            ["0 <= j", "j <= v", "a >= c", "c >= b", "j * a + (v - j) * b >= 0"],
            "j * a >= 0",
            model={"j": "1", "v": "2", "a": "1", "b": "0", "c": "0"},
        ),
        smt(
            "Algorithm 1: no deficit at the last visited boundary exactly when n/k candidates are left",
            ["0 < n", "vk == n - R"],
            "implies((k - 1) - vk * k / n >= 0, k * R >= n) and implies(k * R >= n, (k - 1) - vk * k / n >= 0)",
            model={"k": "2", "n": "4", "R": "2", "vk": "2"},
        ),
    )


def surplus_failure_certificate(p: Fraction, num_neighbors: int, num_candidates: int) -> dict[str, Any]:
    """Equal weights: at the boundary of the largest deficit the step list has the smaller accuracy under PPNS.

    The condition also says that p lies in Theorem 1's range.
    """
    k, n = num_neighbors, num_candidates
    surplus = boundary_surplus(p, k, n)
    if surplus is None or min(surplus) >= 0:
        raise ValueError(f"no boundary falls short at p = {p}, k = {k}, n = {n}")
    ones = min(n, k * (surplus.index(min(surplus)) + 1))
    similarities = [Fraction(1)] * ones + [Fraction(0)] * (n - ones)
    condition = formula("alpha_ppns < alpha_npns and theorem_bound < p and p <= (k - 1) / k")
    found = _selection(similarities, Fraction(1), k, p, condition, "holds")
    return {**found, "methods": {**found["methods"], "npns": {}}}


def quotas(p: Fraction, num_neighbors: int, num_candidates: int) -> tuple[int, ...]:
    """How many neighbors Algorithm 1 takes from each partition that it visits, before the last one; exact.

    Fewer than k - 1 in total means that the candidates run out, and Algorithm 1 is undefined; so it is when the visited
    partitions cover all candidates.
    """
    taken: list[int] = []
    start = 0
    while sum(taken) < num_neighbors - 1 and start < num_candidates:
        size = min(num_neighbors, num_candidates - start)
        taken.append(min(_ceiling(p, num_neighbors, len(taken)), num_neighbors - 1 - sum(taken), size))
        start += num_neighbors
    return tuple(taken)


def selection_probabilities(
    weights: Sequence[Fraction], num_neighbors: int, p: Fraction
) -> tuple[Fraction, ...] | None:
    """Exact probability that Algorithm 1 selects each candidate, candidates in descending similarity.

    The last neighbor is drawn by weight. None where Algorithm 1 is undefined.
    """
    k = num_neighbors
    plan = quotas(p, k, len(weights))
    visited = k * len(plan)
    if sum(plan) < k - 1 or visited >= len(weights):
        return None
    means: list[Fraction] = []
    for i, quota in enumerate(plan):
        means += inclusion_probabilities(weights[k * i : k * (i + 1)], quota)
    return (*means, *inclusion_probabilities(weights[visited:], 1))


def accuracy(similarities: Sequence[Fraction], base: Fraction, num_neighbors: int, p: Fraction) -> Fraction | None:
    """Exact alpha of Algorithm 1 with weights base^similarity, where these are rational."""
    weights = [rational_power(base, similarity) for similarity in similarities]
    means = selection_probabilities(weights, num_neighbors, p)
    if means is None:
        return None
    return sum((s * mu for s, mu in zip(similarities, means, strict=True)), Fraction(0))


def formula_beta(p: Fraction, num_neighbors: int) -> tuple[int, Fraction]:
    """j of equation (18) and beta of (19), exact: j is the least integer with p(1-p)^(j-1) k <= 3/2, also below 1."""
    j = 1
    while p * (1 - p) ** (j - 1) * num_neighbors > Fraction(3, 2):
        j += 1
    while p * (1 - p) ** (j - 2) * num_neighbors <= Fraction(3, 2):
        j -= 1
    return j, (j - 1) + (1 - p) ** (j - 1) * num_neighbors


def undefined_up_to(num_neighbors: int, num_candidates: int) -> Fraction:
    """Largest p in thousandths for which Algorithm 1 has no partition left for the last neighbor; exact quotas."""
    k, n = num_neighbors, num_candidates
    steps = [Fraction(i, 1000) for i in range(1, 1000)]
    return max((p for p in steps if k * len(plan := quotas(p, k, n)) >= n or sum(plan) < k - 1), default=Fraction(0))


def boundary_surplus(p: Fraction, num_neighbors: int, num_candidates: int) -> tuple[Fraction, ...] | None:
    """Expected picks up to each boundary jk, less jk^2/n, under equal weights; None where Algorithm 1 is undefined."""
    k, n = num_neighbors, num_candidates
    plan = quotas(p, k, n)
    left = n - k * len(plan)
    if sum(plan) < k - 1 or left <= 0:
        return None
    expected = [Fraction(quota) for quota in plan]
    expected += [Fraction(min(k, n - start), left) for start in range(k * len(plan), n, k)]
    return tuple(sum(expected[:j], Fraction(0)) - Fraction(min(j * k, n) * k, n) for j in range(1, len(expected) + 1))


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
                        return _selection(similarities, base, k, p, ["<", "alpha_ppns", str(p * top)], "refuted")
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
                return _selection(similarities, Fraction(4), k, p, condition, "refuted")
    return None


def find_surplus_failure() -> tuple[Fraction, int, int] | None:
    """Smallest (p, k, n), p in tenths with k/n < p <= (k-1)/k, for which Algorithm 1 has a negative boundary surplus.

    n <= 12 and k <= 6, which the checker of selections recomputes exactly.
    """
    for n in range(3, 13):
        for k in range(2, min(n, 7)):
            for p in TENTHS:
                if Fraction(k, n) < p <= Fraction(k - 1, k):
                    surplus = boundary_surplus(p, k, n)
                    if surplus is not None and min(surplus) < 0:
                        return p, k, n
    return None


def _selection(
    similarities: Sequence[Fraction], base: Fraction, num_neighbors: int, p: Fraction, condition: Any, supports: str
) -> dict[str, Any]:
    return {
        "supports": supports,
        "similarities": [str(s) for s in similarities],
        "base": str(base),
        "num_neighbors": num_neighbors,
        "methods": {"ppns": {"probability": str(p), "rule": "algorithm", "last": "exponential"}},
        "condition": condition,
    }


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


def _ceiling(p: Fraction, num_neighbors: int, partition: int) -> int:
    return math.ceil(p * (1 - p) ** partition * num_neighbors)


def _floats() -> Iterator[float]:
    return (float(p) for p in TENTHS)


def _rounded_partitions(p: Fraction, num_neighbors: int, num_partitions: int) -> int:
    """Partitions used when quotas are rounded half up and at least 1, as (18) and (19) have it."""
    taken = used = 0
    while taken < num_neighbors and used < num_partitions:
        taken += max(1, math.floor(p * (1 - p) ** used * num_neighbors + Fraction(1, 2)))
        used += 1
    return used


def _beta_rows() -> list[list[Any]]:
    k, n = NUM_NEIGHBORS, NUM_CANDIDATES
    partitions = math.ceil(n / k)
    rows: list[list[Any]] = []
    for p, printed in zip(TENTHS, TABLE_2, strict=True):
        j, beta = formula_beta(p, k)
        plan = quotas(p, k, n)
        sizes = {i: min(k, n - k * (i - 1)) for i in range(len(plan) + 1, partitions + 1)}
        mean = Fraction(sum(i * size for i, size in sizes.items()), sum(sizes.values()))
        total = 0
        ceilings = 0
        while total < k - 1:
            total += _ceiling(p, k, ceilings)
            ceilings += 1
        rows.append(
            [
                str(p),
                j,
                f"{float(beta):.3f}",
                math.ceil(beta),
                len(plan) + 1,
                printed,
                _rounded_partitions(p, k, partitions),
                min(sizes),
                max(sizes),
                f"{float(mean):.2f}",
                "yes" if total == k - 1 else "no, they reach k",
            ]
        )
    return rows


def _beta_rises() -> list[Fraction]:
    """Values of p, in hundredths, at which (19) is larger than at the hundredth before."""
    steps = [Fraction(i, 100) for i in range(3, 98)]
    values = [formula_beta(p, NUM_NEIGHBORS)[1] for p in steps]
    return [p for p, before, after in zip(steps[1:], values[:-1], values[1:], strict=True) if after > before]


def _rise_text(rises: Sequence[Fraction]) -> str:
    if not rises:
        return "falls with p throughout (checked in hundredths)"
    before, after = float(rises[0] - Fraction(1, 100)), float(rises[0])
    return f"is not monotone in p, for example it rises from p = {before:.2f} to {after:.2f}"


def _repair_rows() -> list[list[Any]]:
    k, n = NUM_NEIGHBORS, NUM_CANDIDATES
    rows: list[list[Any]] = []
    for p in (Fraction(1, 100), Fraction(1, 20), Fraction(3, 50), *TENTHS, Fraction(49, 50)):
        plan = quotas(p, k, n)
        surplus = boundary_surplus(p, k, n)
        text = ", ".join(map(str, plan))
        if surplus is None:
            rows.append([str(p), text, len(plan), max(0, n - k * len(plan)), "Algorithm 1 undefined", "no"])
        else:
            worst = min(surplus[:-1])
            rows.append(
                [str(p), text, len(plan), n - k * len(plan), f"{float(worst):.3f}", "yes" if worst >= 0 else "no"]
            )
    return rows
