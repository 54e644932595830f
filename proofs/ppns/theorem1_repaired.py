"""Theorem 1 of Lu and Shen (PPNS), repaired: with equal weights, enough picks at every partition boundary."""

from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import formula, identity, proof, smt
from dpassay.proofs.ppns.algorithm1 import NUM_CANDIDATES, NUM_NEIGHBORS, TENTHS, partitioned_selection, quotas


def decide_theorem1_repaired(claim: Claim, context: Context) -> Verdict:
    """PP-T1-REP: Abel summation, both directions, and what it means for Algorithm 1."""
    found = find_surplus_failure()
    failing = None if found is None else surplus_failure_certificate(*found)
    table = Table(
        "The condition for Algorithm 1, k = 50, n = 942 (picks up to each boundary, less jk^2/n)",
        ["p", "quotas", "partitions visited", "unvisited candidates", "smallest surplus", "satisfied"],
        _repair_rows(),
    )
    evidence = [
        shown(
            "Both directions for every list, and the criterion for Algorithm 1.",
            theorem1_repaired_proof(),
            tables=(table,),
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
            shown(
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
        identity("Abel summation, one more candidate", "(B + s * D) + t * x == (B + (s - t) * D) + t * (D + x)"),
        smt(
            "linear between boundaries",
            "start >= 0, end >= 0, 0 <= share, share <= 1",
            "(1 - share) * start + share * end >= 0",
            model="start = 0, end = 1, share = 1/2",
        ),
        smt(
            "each term of Abel's sum keeps it from falling below 0",
            "total >= 0, s >= t, D >= 0",
            "total + (s - t) * D >= 0",
            model="total = 0, s = 1, t = 0, D = 1",
        ),
        smt(
            "conversely the step list turns a deficit into a lower accuracy",
            "D < 0, alpha - alpha_hat == (1 - 0) * D",
            "alpha < alpha_hat",
        ),
        smt(
            "Algorithm 1: falling quotas and no deficit at the last visited boundary leave none before",
            "0 <= j, j <= v, a >= c, c >= b, j * a + (v - j) * b >= 0",
            "j * a >= 0",
            model="j = 1, v = 2, a = 1, b = 0, c = 0",
        ),
        smt(
            "Algorithm 1: no deficit at the last visited boundary exactly when n/k candidates are left",
            "0 < n, vk == n - R",
            "implies((k - 1) - vk * k / n >= 0, k * R >= n) and implies(k * R >= n, (k - 1) - vk * k / n >= 0)",
            model="k = 2, n = 4, R = 2, vk = 2",
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
    found = partitioned_selection(similarities, Fraction(1), k, p, condition, "holds")
    return {**found, "methods": {**found["methods"], "npns": {}}}


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
