"""The best case of Theorem 1 of Lu and Shen (PPNS), PP-BEST: similarities (1^k, 0^(n-k)); means as in `manly_mean`."""

import random
from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import formula, possible, proof, smt
from dpassay.proofs.ppns.manly_mean import POWER, expected_heavy_draws, weighted_selection


def decide_best_case(claim: Claim, context: Context) -> Verdict:
    """PP-BEST: (1^k, 0^(n-k)) has the most expected picks from the first partition, under (12) and exactly."""
    instances = best_case_certificates(4 if context.quick else 8)
    return decided(
        claim,
        "holds",
        "Whatever the list, as long as all weights lie between 1 (the weight of similarity 0) and w_1, raising the "
        "first k similarities to 1 and lowering the others to 0 does not lower the expected number of neighbors from "
        "the first partition, by equation (12) and for the exact sampling law alike.",
        "This is about weighted sampling from all candidates, as (12) has it; for PNCF with the truncation of section "
        "2.2 it is false: of (1, ..., 1, 2/5, 0, ..., 0), with k - 1 ones, the truncation takes the k - 1 ones for "
        "certain, more than (1^k, 0^(n-k)) expects.",
        evidence=(
            shown("Manly's mean and the exact mean, all n and k.", best_case_proof()),
            *(
                shown(
                    f"Exact picks from the first partition, random weights ({', '.join(i['weights'])}).",
                    {"kind": "selection", "inputs": i},
                )
                for i in instances
            ),
            shown(
                "With PNCF's truncation the best case is another list (k = 50, n = 942, eps = 1, RS = 1).",
                truncation_proof(),
            ),
            shown(
                "The same for k = 2, similarities (1, 2/5, 0, 0): more picks from the first partition than Theorem "
                "1's bound leaves the best case.",
                {"kind": "selection", "inputs": truncation_certificate()},
            ),
        ),
    )


def best_case_proof() -> dict[str, Any]:
    """Monotone comparison of the parameters (Manly) and of the ring times (exact)."""
    return proof(
        f"{POWER} All weights lie in [1, w_1]. Manly: let A belong to the list and B to (1^k, 0^(n-k)). "
        "Since A^(w_1) <= A^(w_i) <= A, the first group has at most k(1 - A^(w_1)) and the rest at least (n-k)(1-A), "
        "candidate by candidate (steps 1, 2). If A >= B the first bound is at most k(1 - B^(w_1)); if A < B the "
        "second leaves the first group less than k - (n-k)(1-B); both are what the best case has (step 3). Exact: use "
        "exponential clocks and keep the E_i fixed. Raising a weight makes its candidate ring earlier and lowering it "
        "later (step 4), the others ring as before. A first-group candidate that rings earlier stays among the first "
        "k, stays outside, or enters and pushes out one candidate, of either group; another candidate that rings "
        "later stays, stays outside, or leaves and lets in one candidate, of either group. In no case does the number "
        "of first-group members among the first k fall (steps 5, 6). Moving one weight at a time from the list's to "
        "those of (1^k, 0^(n-k)) never lowers that number, nor its expectation.",
        smt(
            "Manly: the first group has at most k(1 - A^w_1), one candidate at a time",
            "first <= i * (1 - lowest_power), lowest_power <= power",
            "first + (1 - power) <= (i + 1) * (1 - lowest_power)",
            model="first = 0, i = 0, lowest_power = 1/4, power = 1/2",
        ),
        smt(
            "Manly: the others have at least (n-k)(1 - A), one candidate at a time",
            "others >= i * (1 - A), power <= A",
            "others + (1 - power) >= (i + 1) * (1 - A)",
            model="others = 0, i = 0, A = 1/2, power = 1/4",
        ),
        smt(
            "Manly: the first group has no more than in the best case",
            "0 < k, k < n, first + others == k, first <= k * (1 - power_A), others >= (n - k) * (1 - A), "
            "k * (1 - power_B) + (n - k) * (1 - B) == k, implies(A >= B, power_A >= power_B)",
            "first <= k * (1 - power_B)",
            model="k = 1, n = 2, first = 1/2, others = 1/2, A = 1/2, B = 1/2, power_A = 1/2, power_B = 1/2",
        ),
        smt(
            "exact: a larger weight rings earlier",
            "clock > 0, 0 < lower, lower <= higher",
            "clock / higher <= clock / lower",
            model="clock = 1, lower = 1, higher = 2",
        ),
        smt(
            "exact: one of the first group enters, one of either group is pushed out",
            "displaced == 0 or displaced == 1, after == before + 1 - displaced",
            "after >= before",
        ),
        smt(
            "exact: one of the others leaves, one of either group comes in",
            "admitted == 0 or admitted == 1, after == before + admitted",
            "after >= before",
        ),
    )


def best_case_certificates(number: int, seed: int = 0) -> tuple[dict[str, Any], ...]:
    """Random rational weights in [1, w_1]: exact expected picks from the first partition, against the best case.

    They are the same in every run, so that what they say can be reviewed.
    """
    generator = random.Random(seed)
    certificates = []
    for _ in range(number):
        num_candidates = generator.randint(3, 6)
        num_neighbors = generator.randint(1, num_candidates - 1)
        top = Fraction(generator.randint(2, 6))
        drawn = (1 + (top - 1) * Fraction(generator.randint(0, 8), 8) for _ in range(num_candidates - 1))
        weights = [top, *sorted(drawn, reverse=True)]
        best = expected_heavy_draws(num_neighbors, num_candidates - num_neighbors, top, num_neighbors)
        certificates.append(weighted_selection(weights, num_neighbors, ["<=", "first_npns", str(best)]))
    return tuple(certificates)


def truncation_proof() -> dict[str, Any]:
    """PNCF with its truncation selects k - 1 candidates for certain where the 'best case' expects far fewer."""
    return proof(
        "k = 50, n = 942, eps = 1, RS = 1, similarities (1 49 times, 2/5, 0, ...). sim_k = 2/5, and 4k "
        "RS/eps ln(k(n-k)/rho) > 200 for every rho < 1 since k(n-k)/rho > e, so lambda = min(sim_k, ...) = 2/5 and "
        "every candidate above sim_k + lambda = 4/5 is selected for certain: the 49 ones (step 1). For (1^k, 0^(n-k)) "
        "lambda = 1, nothing is above 2 or below 0, and the k neighbors are drawn by weight from all candidates, with "
        "w_1 = e^(1/200) < 21/20; by PP-T1-MU, also for the exact mean, mu_1 < 1 - ((n-k)/n)^w_1, which is at most 1 "
        "- ((n-k)/n)^2, so that the first group expects less than 50 (1 - (892/942)^2) < 49 (step 2).",
        possible(
            "the 49 ones lie above sim_k + lambda",
            "sim_k == 2 / 5, 0 < cutoff, cutoff == min(sim_k, 200), 1 > sim_k + cutoff",
            "sim_k = 2/5, cutoff = 2/5",
        ),
        smt(
            "the best case of the paper expects fewer than 49",
            "k == 50, n == 942, mu_1 < 1 - ((n - k) / n) ** 2",
            "k * mu_1 < 49",
            model="k = 50, n = 942, mu_1 = 1/20",
        ),
    )


def truncation_certificate() -> dict[str, Any]:
    """The same on four candidates, exactly: eps = 1, RS = 1, k = 2, any rho < 1 (4k RS/eps ln(k(n-k)/rho) > 8)."""
    return {
        "supports": "holds",
        "similarities": ["1", "2/5", "0", "0"],
        "rate": "1/8",
        "num_neighbors": 2,
        "methods": {"pncf": {"margin": "8"}},
        "condition": formula("first_pncf > k * theorem_bound"),
    }
