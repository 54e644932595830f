"""Theorem 1 of Lu and Shen (PPNS), repaired: with equal weights, enough picks at every partition boundary.

Beyond equal weights, an argument in text. Let D_i be the expected picks from the first i candidates under PPNS, less
those under plain weighted selection. By Abel's sum D_i >= 0 for all i gives alpha >= alpha^. Whatever the similarities
in [0, 1], the weights differ by a factor of at most w = e^(eps/(4k RS)). Then PPNS has at least the picks L_i that lie
on the chord between two partition boundaries, since inside a partition its probabilities fall along the list; and plain
selection at most E_i(w), what i candidates of weight w get beside n - i of weight 1, by the exchange of PP-BEST. So
L_i >= E_i(w) for every i is enough; after a visited partition, i = jk, it is needed too, for jk ones and then zeros.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

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
    settings = TENTHS[::4] if context.quick else TENTHS[::2]
    reached = {p: reach(p, NUM_NEIGHBORS, NUM_CANDIDATES) for p in settings}
    beyond = Table(
        "Unequal weights, k = 50, n = 942: for which eps/RS PPNS is at least as accurate (float64; argument in text)",
        ["p", "Theorem 1 asks eps/RS below", "true for every list up to", "false for some list from"],
        [[str(p), *(float(f"{each:.4g}") for each in row)] for p, row in reached.items()],
    )
    sure, fails = (", ".join(f"{row[column]:.0f}" for row in reached.values()) for column in (1, 2))
    evidence = [
        shown(
            "Both directions for every list, and the criterion for Algorithm 1.",
            theorem1_repaired_proof(),
            tables=(table, beyond),
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
        "Equal weights are what exp(eps s/(4k RS)) tends to for small eps/RS; at the paper's eps = RS = 1 and k = 50 "
        "they differ by a factor of 1.005. For unequal ones a sufficient condition is known, by text and in float64: "
        f"at k = 50, n = 942 and p = {', '.join(map(str, reached))} the conclusion is true of every list up to eps/RS "
        f"= {sure}, and false of some list from {fails} on (table). The paper takes RS from the data and prints none.",
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


@cache
def heavy_draws(num_candidates: int, num_neighbors: int, weight: float) -> np.ndarray:
    """E_i(w): how many of i candidates of this weight, beside n - i of weight 1, are among k weighted draws.

    Shape (n + 1,), for i = 0, ..., n; float64. The number of heavy ones drawn is a Markov chain.
    """
    heavy, drawn = np.arange(num_candidates + 1)[:, None], np.arange(num_neighbors + 1)[None, :]
    law = np.zeros((num_candidates + 1, num_neighbors + 1))
    law[:, 0] = 1
    for draw in range(num_neighbors):
        mass = np.maximum(heavy - drawn, 0) * weight
        total = mass + np.maximum(num_candidates - heavy - (draw - drawn), 0)
        moved = law * np.divide(mass, total, out=np.zeros_like(total), where=total > 0)
        law -= moved
        law[:, 1:] += moved[:, :-1]
    return law @ np.arange(num_neighbors + 1)


def reach(p: Fraction, num_neighbors: int, num_candidates: int) -> tuple[float, float, float]:
    """Up to which eps/RS the conclusion of Theorem 1 holds, float64, where Algorithm 1 is defined.

    Returns:
        The eps/RS below which Theorem 1 makes its promise for this p; that up to which PPNS is certainly at least as
        accurate as plain weighted selection, whatever the similarities; and that from which it is not for some list.
    """
    k, n = num_neighbors, num_candidates
    surplus = boundary_surplus(p, k, n)
    if surplus is None:
        raise ValueError(f"Algorithm 1 is not defined at p = {p}, k = {k}, n = {n}")
    boundaries = np.minimum(np.arange(len(surplus) + 1) * k, n)
    picks = np.array([0.0, *map(float, surplus)]) + boundaries * k / n
    chord = np.interp(np.arange(n + 1), boundaries, picks)

    def short(ratio: float) -> np.ndarray:
        return chord < heavy_draws(n, k, math.exp(ratio / (4 * k))) - 1e-9

    asked = 4 * k * math.log(math.log1p(-float(p)) / math.log1p(-k / n))
    sure = _threshold(lambda ratio: bool(short(ratio).any()), k)
    visited = boundaries[: len(quotas(p, k, n)) + 1]
    fails = _threshold(lambda ratio: bool(short(ratio)[visited].any()), k)
    return asked, sure, fails


def _threshold(fails: Callable[[float], bool], num_neighbors: int) -> float:
    """The eps/RS from which a condition fails that fails for all larger ones; weights differ by at most e^16."""
    low, high = 0.0, 64.0 * num_neighbors
    for _ in range(18):
        middle = (low + high) / 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return low


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
