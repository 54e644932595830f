"""Weighted sampling without replacement behind the accuracy analysis of Lu and Shen (PPNS).

Equations 9, 10 and 12 to 17, Lemma 1, and the first half of the proof of Theorem 1. Two means appear: Manly's
mu_i = 1 - A^(w_i), where A makes the sum k, which the paper computes with; and the exact mean of Wallenius'
distribution, the probability that candidate i is among the first k weighted draws.

A power A^w enters a query as a variable of its own, and its monotonicity (0 <= A < B <= 1 and w > 0 imply A^w < B^w) as
an instance of that fact among the hypotheses. Exponential clocks stand for weighted draws: let candidate i ring at
T_i = E_i / w_i with independent standard exponential E_i; by lack of memory the next to ring is i with probability
w_i over the weight of those still silent, so the first k to ring are the k draws.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.proofs.decisions import decided
from dpassay.proofs.notation import Step, formula, identity, possible, proof, smt
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities

__all__ = [
    "best_case_certificates",
    "best_case_proof",
    "decide_best_case",
    "decide_expectation",
    "decide_lemma1",
    "decide_manly",
    "decide_pmf",
    "decide_theorem1_mu",
    "expectation_proof",
    "expected_heavy_draws",
    "lemma1_misprint_proof",
    "lemma1_proof",
    "lemma1_random_counts_proof",
    "manly_gap_certificates",
    "manly_gap_proof",
    "manly_mean",
    "manly_proof",
    "pmf_proof",
    "theorem1_mu_certificates",
    "theorem1_mu_exact_proof",
    "theorem1_mu_proof",
    "truncation_certificate",
    "truncation_proof",
]

POWER = (
    "Used fact: for w > 0 the power t^w is strictly increasing on [0, 1] and continuous, with 0^w = 0 and 1^w = 1; "
    "for 0 <= t <= 1 it does not grow with w, and falls strictly where 0 < t < 1."
)


def decide_manly(claim: Claim, context: Context) -> Verdict:
    """PP-W9: Manly's mean exists, is unique, and is exact for equal weights; how far it is off otherwise."""
    instances = manly_gap_certificates()
    rows, series, worst = _manly_gaps(quick=context.quick)
    at_paper = rows[0]
    return decided(
        claim,
        "holds",
        "For every n, k and list of positive weights, equation (9) together with the condition that the means sum to "
        "k has exactly one solution, and for equal weights that solution, k/n for everyone, is the exact mean.",
        "For unequal weights it is an approximation: with weights 2 and 1 and a single draw the exact mean is 2/3 "
        f"and Manly's 0.618; on a grid of two weight classes the largest error found is {worst:.4f}, but at the "
        f"paper's eps = 1, RS = 1, k = 50 (weights from 1 to {math.exp(1 / 200):.4f}) only {at_paper[3]}.",
        evidence=(
            Evidence("proof", "Existence, uniqueness and the case of equal weights.", manly_proof()),
            Evidence(
                "proof",
                "Two candidates of weights 2 and 1, one draw: Manly's mean is more than 1/21 below the exact 2/3.",
                manly_gap_proof(),
                tables=(
                    Table(
                        "Largest error of Manly's mean over the share of heavy candidates (two weight "
                        "classes, weight 1 for the light)",
                        ["heavy weight", "n", "k", "largest |mu - mu*|", "heavy candidates there"],
                        rows,
                    ),
                ),
                plots=(
                    Plot(
                        "Error of Manly's mean against the heavy weight, n = 10",
                        "weight of the heavy candidates",
                        "largest |mu - mu*|",
                        series,
                    ),
                ),
            ),
            *(
                Evidence(
                    "certificate",
                    f"Weights ({', '.join(each['weights'])}), {each['num_neighbors']} of them drawn: the means differ "
                    f"by more than {each['condition'][2]}.",
                    {"kind": "selection", "inputs": each},
                )
                for each in instances
            ),
        ),
    )


def decide_lemma1(claim: Claim, context: Context) -> Verdict:
    """PP-L1: the conclusion for Manly's and the exact mean; two steps of the printed proof are false."""
    return decided(
        claim,
        "holds",
        "Under equation (12) both selections have one parameter A each, and every mean moves the same way with it; "
        "for the exact means the shorter selection is a prefix of the longer one, so every probability is strictly "
        "larger in the longer.",
        "The printed proof is wrong on the way: it writes A^(1/w) where (12) gives A^w, the weight of the first "
        "candidate for everyone's, and k for n when summing; at weights (2, 2, 1), k = 2, A = 1/2 the printed "
        "expression for the sum 2 is negative.",
        "The lemma needs fixed numbers of draws: with a random number it fails for two candidates of weights 2 and 1, "
        "and Lemma 2 applies it to random numbers.",
        evidence=(
            Evidence(
                "proof",
                "The conclusion, for Manly's mean and for the exact one.",
                lemma1_proof(),
            ),
            Evidence(
                "proof",
                "The printed steps fail on an instance that satisfies (12) exactly, the corrected ones hold there.",
                lemma1_misprint_proof(),
            ),
            Evidence(
                "proof",
                "Without fixed numbers of draws the lemma is false, so the assumption is needed.",
                lemma1_random_counts_proof(),
            ),
        ),
    )


def decide_best_case(claim: Claim, context: Context) -> Verdict:
    """PP-BEST: (1^k, 0^(n-k)) has the most expected picks from the first partition, under (12) and exactly."""
    instances = best_case_certificates(context.seed, 4 if context.quick else 8)
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
            Evidence("proof", "Manly's mean and the exact mean, all n and k.", best_case_proof()),
            *(
                Evidence(
                    "certificate",
                    f"Exact picks from the first partition, random weights ({', '.join(i['weights'])}).",
                    {"kind": "selection", "inputs": i},
                )
                for i in instances
            ),
            Evidence(
                "proof",
                "With PNCF's truncation the best case is another list (k = 50, n = 942, eps = 1, RS = 1).",
                truncation_proof(),
            ),
            Evidence(
                "certificate",
                "The same for k = 2, similarities (1, 2/5, 0, 0): more picks from the first partition than Theorem "
                "1's bound leaves the best case.",
                {"kind": "selection", "inputs": truncation_certificate()},
            ),
        ),
    )


def decide_theorem1_mu(claim: Claim, context: Context) -> Verdict:
    """PP-T1-MU: mu_1 < 1 - ((n-k)/n)^w_1, for Manly's and for the exact mean."""
    instances = theorem1_mu_certificates(3 if context.quick else 6)
    return decided(
        claim,
        "holds",
        "Equation (12) gives A > (n-k)/n, hence mu_1 = 1 - A^(w_1) is below the bound; the printed algebra is right.",
        "The exact mean obeys the same bound, by Jensen's inequality for exponential clocks.",
        "The bound is nearly attained at the paper's settings, where all weights are close to 1, and loose for large "
        "weights (table).",
        evidence=(
            Evidence("proof", "Manly's mean, all n, k and w_1 > 1.", theorem1_mu_proof()),
            Evidence(
                "proof",
                "The exact mean, all n, k and w_1 > 1.",
                theorem1_mu_exact_proof(),
                tables=(
                    Table(
                        "The bound and the means it bounds, at (1^k, 0^(n-k))",
                        ["n", "k", "w_1", "1 - ((n-k)/n)^w_1", "Manly's mu_1", "exact mu_1"],
                        _bound_rows(),
                    ),
                ),
            ),
            *(
                Evidence(
                    "certificate",
                    f"Exact mu_1 at n = {len(i['weights'])}, k = {i['num_neighbors']}, w_1 = {i['weights'][0]}.",
                    {"kind": "selection", "inputs": i},
                )
                for i in instances
            ),
        ),
    )


def decide_expectation(claim: Claim, context: Context) -> Verdict:
    """PP-E10: an exchange of two finite sums."""
    return decided(
        claim,
        "holds",
        "The expectation of a sum of similarities over the random set is the sum of similarity times inclusion "
        "probability, for every selection method and any similarities.",
        "The mu_i in it are exact inclusion probabilities; with Manly's approximation put in their place, as (12) "
        "does, the right-hand side is approximate.",
        evidence=(Evidence("proof", "Both induction steps of the exchange.", expectation_proof()),),
    )


def decide_pmf(claim: Claim, context: Context) -> Verdict:
    """PP-PMF: the integral is the probability of drawing the set, and is positive."""
    return decided(
        claim,
        "holds",
        "The integral, expanded term by term, satisfies the recursion of sequential weighted draws and starts with "
        "the same value, so it is the probability of the set for all k < n and all positive weights; by the same "
        "recursion it is positive.",
        "Equations (13) to (17) are right as printed: the binomial factor of (8) is 1 when every candidate is a "
        "category of its own; k = n has to be excluded, since then d = 0.",
        evidence=(Evidence("proof", "Recursion, start and sign, for every size of the set.", pmf_proof()),),
    )


def manly_proof() -> dict[str, Any]:
    """Existence and uniqueness of Manly's mean, and its exactness for equal weights."""
    return proof(
        f"{POWER} (1 - mu_i)^(1/w_i) = A for all i means mu_i = 1 - A^(w_i) with A in [0, 1]. Let f(A) be "
        "the sum of these means. Adding candidates one by one (step 1) shows f strictly decreasing, so A is unique "
        "(step 2). f(0) = n >= k and f(1) = 0 <= k, and f is continuous, so by the intermediate value theorem A "
        "exists. For equal weights all A^(w_i) agree, so n mu = k (step 3), at A^w = (n-k)/n (step 4); exchanging two "
        "candidates of equal weight does not change the law of the draws, so the exact means agree too and also sum "
        "to k (step 3). With the m_i of equation (9) larger than 1 the same holds for mu_i / m_i.",
        smt(
            "the sum of the means falls strictly with A, one candidate at a time",
            [
                "implies(A < B, f_A >= f_B)",
                "A < B",
                "implies(A < B, power_A < power_B)",
            ],
            "f_A + (1 - power_A) > f_B + (1 - power_B)",
        ),
        smt(
            "at most one parameter A gives the sum k",
            ["implies(A < B, f_A > f_B)", "implies(B < A, f_B > f_A)", "f_A == k", "f_B == k"],
            "A == B",
        ),
        smt(
            "equal means that sum to k are k/n, Manly's and the exact ones alike",
            ["n > 0", "n * manly == k", "n * exact == k"],
            "manly == exact and exact == k / n",
            model={"n": "3", "k": "1", "manly": "1/3", "exact": "1/3"},
        ),
        identity("the parameter A^w = (n-k)/n gives the mean k/n", "1 - (n - k) / n == k / n"),
    )


def manly_gap_proof() -> dict[str, Any]:
    """Weights 2 and 1, one draw: Manly's mean is not the exact one."""
    return proof(
        "With weights 2 and 1 and one draw (9) reads (1 - A^2) + (1 - A) = 1. The exact mean of the first "
        "candidate is its share of the weight, 2/3. So 'for equal weights' cannot be dropped.",
        smt(
            "Manly's mean is too small by more than 1/21",
            ["(1 - A ** 2) + (1 - A) == 1", "exact == 2 / 3"],
            "exact - (1 - A ** 2) > 1 / 21",
        ),
    )


def lemma1_proof() -> dict[str, Any]:
    """Lemma 1 for fixed numbers of draws."""
    return proof(
        f"{POWER} 'Only if' is a sum of strict inequalities (step 1, candidate by candidate). 'If', "
        "Manly: the two selections have parameters A and B; for each candidate, and hence for the sum of the others, "
        "the power is monotone in the parameter; so a larger total forces every single mean to be larger (step 2). "
        "'If', exact: with j < k draws from the same candidates the first j of the k draws follow the law of j draws, "
        "so mu_i(k) - mu_i(j) is at least the probability that draw j + 1 <= n yields i, a sum over the sets S drawn "
        "before, without i, of Pr(S) w_i / (weight outside S), each positive (step 3; Pr(S) > 0 is PP-PMF); the "
        "totals are the numbers of draws, so a larger total is a larger number of draws and gives every candidate "
        "more (step 4).",
        smt(
            "larger means have a larger sum, one candidate at a time",
            ["sum_1 >= sum_2", "mu_1 > mu_2"],
            "sum_1 + mu_1 > sum_2 + mu_2",
        ),
        smt(
            "Manly: a larger total makes each mean larger",
            [
                "implies(A < B, power_A < power_B and others_A <= others_B)",
                "implies(A == B, power_A == power_B and others_A == others_B)",
                "implies(A > B, power_A > power_B and others_A >= others_B)",
                "(1 - power_A) + (n - 1 - others_A) > (1 - power_B) + (n - 1 - others_B)",
            ],
            "1 - power_A > 1 - power_B",
            model={
                "A": "1/4",
                "B": "1/2",
                "power_A": "1/16",
                "power_B": "1/4",
                "others_A": "1/4",
                "others_B": "1/2",
                "n": "2",
            },
        ),
        smt(
            "exact: each set drawn before leaves the candidate a positive chance at the next draw",
            ["probability > 0", "weight > 0", "weight_outside >= weight"],
            "probability * weight / weight_outside > 0",
            model={"probability": "1", "weight": "1", "weight_outside": "2"},
        ),
        smt(
            "exact: totals are numbers of draws, and more draws mean larger probabilities",
            [
                "implies(k > j, mu_k > mu_j)",
                "implies(k == j, mu_k == mu_j)",
                "implies(k < j, mu_k < mu_j)",
                "total_k == k",
                "total_j == j",
            ],
            "implies(total_k > total_j, mu_k > mu_j) and implies(mu_k > mu_j, total_k > total_j)",
            model={"k": "1", "j": "1", "total_k": "1", "total_j": "1", "mu_k": "1/2", "mu_j": "1/2"},
        ),
    )


def lemma1_misprint_proof() -> dict[str, Any]:
    """The printed steps are false where (12) holds exactly, the corrected ones true."""
    instance = ["mu_1 == 3 / 4", "mu_2 == 3 / 4", "mu_3 == 1 / 2", "A == 1 / 2", "k == 2", "n == 3"]
    instance_holds = ["(1 - mu_1) == A ** 2", "(1 - mu_2) == A ** 2", "(1 - mu_3) == A", "mu_1 + mu_2 + mu_3 == k"]
    model = {"mu_1": "3/4", "mu_2": "3/4", "mu_3": "1/2", "A": "1/2", "k": "2", "n": "3"}
    return proof(
        "Weights (2, 2, 1) with two draws solve (12) in rationals: A = 1/2 and mu = (3/4, 3/4, 1/2). "
        "Write root for A^(1/w_1) = A^(1/2), the root the paper prints. Its two lines 'mu_i = 1 - A^(1/w_1)' and 'sum "
        "mu_i = k - sum A^(1/w_1)' then give wrong values; 'mu_i = 1 - A^(w_i)' and 'sum mu_i = n - sum A^(w_i)' give "
        "the right ones.",
        possible("the instance satisfies (12) and sums to k", [*instance, *instance_holds], model),
        smt(
            "the printed mu_1 = 1 - A^(1/w_1) is false there",
            ["A == 1 / 2", "root > 0", "root ** 2 == A", "mu_1 == 3 / 4"],
            "1 - root < 3 / 10 and mu_1 > 1 - root",
        ),
        smt(
            "the printed sum k - n A^(1/w_1) is negative where the sum is 2",
            ["A == 1 / 2", "root > 0", "root ** 2 == A", "k == 2", "n == 3"],
            "k - n * root < 0",
        ),
        smt(
            "the corrected lines hold there",
            [h for h in instance if h != "k == 2"],
            "mu_1 == 1 - A ** 2 and mu_2 == 1 - A ** 2 and mu_3 == 1 - A and mu_1 + mu_2 + mu_3 == n - (A ** 2 + "
            "A ** 2 + A)",
            model=model,
        ),
    )


def lemma1_random_counts_proof() -> dict[str, Any]:
    """A random number of draws breaks Lemma 1."""
    return proof(
        "Two candidates of weights 2 and 1. One method draws both with probability q and none otherwise: "
        "both means are q. The other always draws one: the means are 2/3 and 1/3. For q = 3/5 the first method "
        "selects more on average, and yet the first candidate less often. So 'fixed numbers of draws' cannot be "
        "dropped.",
        possible(
            "a larger total with a smaller mean of the first candidate",
            [
                "0 <= q",
                "q <= 1",
                "random_1 == q",
                "random_2 == q",
                "fixed_1 == 2 / 3",
                "fixed_2 == 1 / 3",
                "random_1 + random_2 > fixed_1 + fixed_2",
                "random_1 < fixed_1",
            ],
            {"q": "3/5", "random_1": "3/5", "random_2": "3/5", "fixed_1": "2/3", "fixed_2": "1/3"},
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
            ["first <= i * (1 - lowest_power)", "lowest_power <= power"],
            "first + (1 - power) <= (i + 1) * (1 - lowest_power)",
            model={"first": "0", "i": "0", "lowest_power": "1/4", "power": "1/2"},
        ),
        smt(
            "Manly: the others have at least (n-k)(1 - A), one candidate at a time",
            ["others >= i * (1 - A)", "power <= A"],
            "others + (1 - power) >= (i + 1) * (1 - A)",
            model={"others": "0", "i": "0", "A": "1/2", "power": "1/4"},
        ),
        smt(
            "Manly: the first group has no more than in the best case",
            [
                "0 < k",
                "k < n",
                "first + others == k",
                "first <= k * (1 - power_A)",
                "others >= (n - k) * (1 - A)",
                "k * (1 - power_B) + (n - k) * (1 - B) == k",
                "implies(A >= B, power_A >= power_B)",
            ],
            "first <= k * (1 - power_B)",
            model={
                "k": "1",
                "n": "2",
                "first": "1/2",
                "others": "1/2",
                "A": "1/2",
                "B": "1/2",
                "power_A": "1/2",
                "power_B": "1/2",
            },
        ),
        smt(
            "exact: a larger weight rings earlier",
            ["clock > 0", "0 < lower", "lower <= higher"],
            "clock / higher <= clock / lower",
            model={"clock": "1", "lower": "1", "higher": "2"},
        ),
        smt(
            "exact: one of the first group enters, one of either group is pushed out",
            ["displaced == 0 or displaced == 1", "after == before + 1 - displaced"],
            "after >= before",
        ),
        smt(
            "exact: one of the others leaves, one of either group comes in",
            ["admitted == 0 or admitted == 1", "after == before + admitted"],
            "after >= before",
        ),
    )


def best_case_certificates(seed: int, number: int) -> tuple[dict[str, Any], ...]:
    """Random rational weights in [1, w_1]: the exact expected picks from the first partition, against the best case."""
    generator = random.Random(seed)
    certificates = []
    for _ in range(number):
        num_candidates = generator.randint(3, 6)
        num_neighbors = generator.randint(1, num_candidates - 1)
        top = Fraction(generator.randint(2, 6))
        drawn = (1 + (top - 1) * Fraction(generator.randint(0, 8), 8) for _ in range(num_candidates - 1))
        weights = [top, *sorted(drawn, reverse=True)]
        best = expected_heavy_draws(num_neighbors, num_candidates - num_neighbors, top, num_neighbors)
        certificates.append(
            _selection(weights, num_neighbors, ["<=", "first_npns", str(best)]),
        )
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
            ["sim_k == 2 / 5", "0 < cutoff", "cutoff == min(sim_k, 200)", "1 > sim_k + cutoff"],
            {"sim_k": "2/5", "cutoff": "2/5"},
        ),
        smt(
            "the best case of the paper expects fewer than 49",
            ["k == 50", "n == 942", "mu_1 < 1 - ((n - k) / n) ** 2"],
            "k * mu_1 < 49",
            model={"k": "50", "n": "942", "mu_1": "1/20"},
        ),
    )


def manly_gap_certificates() -> tuple[dict[str, Any], ...]:
    """Rational instances on which the exact mean differs from Manly's by more than a stated amount."""
    certificates = []
    for weights, num_draws in (((2, 1), 1), ((4, 2, 1), 2), ((16, 1, 1, 1), 2)):
        exact = inclusion_probabilities([Fraction(w) for w in weights], num_draws)
        errors = [float(a) - b for a, b in zip(exact, manly_mean(weights, num_draws), strict=True)]
        worst = max(range(len(errors)), key=lambda i: abs(errors[i]))
        first, second = ("exact", "manly") if errors[worst] > 0 else ("manly", "exact")
        certificates.append(
            {
                **_selection([Fraction(w) for w in weights], num_draws, None),
                "methods": {"exact": {"kind": "npns"}, "manly": {"kind": "npns", "mean": "manly"}},
                "condition": [
                    ">",
                    ["-", f"mu_{first}_{worst + 1}", f"mu_{second}_{worst + 1}"],
                    str(Fraction(math.floor(1000 * abs(errors[worst])), 1000)),
                ],
            }
        )
    return tuple(certificates)


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


def theorem1_mu_proof() -> dict[str, Any]:
    """mu_1 < 1 - ((n-k)/n)^w_1 for Manly's mean."""
    return proof(
        f"{POWER} With A = 1 - mu_n and power_A = A^(w_1) = 1 - mu_1. As w_1 > 1, power_A < A unless A is "
        "0 or 1, which the sum excludes; so A > (n-k)/n (step 1), and the power of A is above that of (n-k)/n (step "
        "2). Step 3 is the printed intermediate line.",
        smt(
            "the parameter A exceeds (n-k)/n",
            [
                "0 < k",
                "k < n",
                "0 <= A",
                "k * (1 - power_A) + (n - k) * (1 - A) == k",
                "implies(0 < A and A < 1, power_A < A)",
                "implies(A == 0, power_A == 0)",
            ],
            "A * n > n - k",
            model={"k": "3", "n": "5", "A": "2/3", "power_A": "2/9"},
        ),
        smt(
            "hence mu_1 is below the bound",
            [
                "A > base",
                "implies(A > base, power_A > power_base)",
                "mu_1 == 1 - power_A",
            ],
            "mu_1 < 1 - power_base",
            model={"A": "2/3", "base": "2/5", "power_A": "4/9", "power_base": "4/25", "mu_1": "5/9"},
        ),
        smt(
            "the printed line: mu_1 = k/n + (n-k)(mu_1 - mu_n)/n",
            ["n > 0", "k * mu_1 + (n - k) * mu_n == k"],
            "mu_1 == k / n + (n - k) * (mu_1 - mu_n) / n",
            model={"n": "2", "k": "1", "mu_1": "1/2", "mu_n": "1/2"},
        ),
    )


def theorem1_mu_exact_proof() -> dict[str, Any]:
    """The same bound for the exact mean, for all other weights at least 1."""
    return proof(
        "Exponential clocks: candidate 1 is not drawn exactly when it rings after tau, the k-th ring "
        "among the other n - 1 candidates, so 1 - mu_1 = E e^(-w_1 tau). With X = e^(-tau) and w_1 > 1, Jensen's "
        "inequality gives E X^(w_1) > (E X)^(w_1), strictly since tau is not constant. E X = E e^(-tau) is the chance "
        "that candidate 1 is not drawn when its weight is 1 instead of w_1, the smallest weight of all; a smaller "
        "weight has a smaller inclusion probability (exchange the two clocks), so its inclusion probability is at "
        "most the average k/n (step 1). Raising to the power w_1 keeps the order (step 2). Step 3 is Jensen's "
        "inequality for w_1 = 2 and two values, an identity whose right-hand side is a square.",
        smt(
            "the smallest of n probabilities that sum to k leaves at least (n-k)/n",
            ["n > 0", "n * smallest <= total", "total == k", "mean_X == 1 - smallest"],
            "mean_X >= (n - k) / n",
            model={"n": "2", "k": "1", "total": "1", "smallest": "1/2", "mean_X": "1/2"},
        ),
        smt(
            "Jensen and monotonicity of the power",
            [
                "mean_X >= base",
                "implies(mean_X >= base, power_mean_X >= power_base)",
                "mean_power_X > power_mean_X",
                "1 - mu_1 == mean_power_X",
            ],
            "mu_1 < 1 - power_base",
        ),
        identity(
            "Jensen for a square and two values of probability q and 1 - q",
            "q * x ** 2 + (1 - q) * y ** 2 - (q * x + (1 - q) * y) ** 2 == q * (1 - q) * (x - y) ** 2",
        ),
    )


def theorem1_mu_certificates(number: int) -> tuple[dict[str, Any], ...]:
    """Exact rationals at (1^k, 0^(n-k)) for small n, k and integer w_1."""
    grid = ((n, k, w) for w in (2, 3, 5) for n, k in ((3, 1), (3, 2), (5, 2), (6, 3)))
    return tuple(
        _selection([Fraction(w)] * k + [Fraction(1)] * (n - k), k, ["<", "mu_npns_1", str(1 - Fraction(n - k, n) ** w)])
        for (n, k, w), _ in zip(grid, range(number), strict=False)
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
            ["total >= 0", "weight > 0", "smaller_set > 0"],
            "total + weight * smaller_set > 0",
        ),
        smt(
            "a positive sum over a positive weight is positive",
            ["d > 0", "weight_S > 0", "total > 0", "probability * (weight_S + d) == total"],
            "probability > 0",
            model={"d": "1", "weight_S": "1", "total": "1", "probability": "1/2"},
        ),
    )


def expected_heavy_draws(num_heavy: int, num_light: int, weight: Any, num_draws: int) -> Any:
    """Expected number of heavy candidates (of this weight, the light ones of weight 1) among the draws.

    Exact for a Fraction, rounded for a float; the number of heavy ones drawn is a Markov chain.
    """
    law = {0: weight / weight}
    for draw in range(num_draws):
        following: dict[int, Any] = {}
        for heavy, probability in law.items():
            mass_heavy = (num_heavy - heavy) * weight
            mass = mass_heavy + (num_light - (draw - heavy))
            for count, part in ((heavy + 1, mass_heavy), (heavy, mass - mass_heavy)):
                if part:
                    following[count] = following.get(count, 0) + probability * part / mass
        law = following
    return sum(heavy * probability for heavy, probability in law.items())


def manly_mean(weights: Sequence[float], num_draws: int) -> tuple[float, ...]:
    """Manly's approximate mean, equation (12), by bisection of A in float64."""
    low, high = 0.0, 1.0
    multiplicities = Counter(weights)
    for _ in range(200):
        middle = (low + high) / 2
        total = math.fsum(-count * math.expm1(w * math.log(middle)) for w, count in multiplicities.items())
        if total > num_draws:
            low = middle
        else:
            high = middle
    return tuple(-math.expm1(w * math.log(high)) for w in weights)


def _selection(weights: Sequence[Fraction], num_neighbors: int, condition: Any) -> dict[str, Any]:
    return {
        "supports": "holds",
        "similarities": [str(w / weights[0]) for w in weights],
        "weights": [str(w) for w in weights],
        "num_neighbors": num_neighbors,
        "methods": {"npns": {}},
        "condition": condition,
    }


def _manly_gaps(*, quick: bool) -> tuple[list[list[Any]], list[Series], float]:
    """Rows, plot series and maximum of |exact - Manly| over numbers of heavy candidates; float64."""

    def gap(num_heavy: int, num_light: int, weight: float, num_draws: int) -> float:
        approximate = manly_mean([weight] * num_heavy + [1.0] * num_light, num_draws)
        heavy = expected_heavy_draws(num_heavy, num_light, weight, num_draws)
        light = (num_draws - heavy) / num_light
        return max(abs(heavy / num_heavy - approximate[0]), abs(light - approximate[-1]))

    def largest(n: int, k: int, weight: float) -> tuple[float, int]:
        stride = max(1, n // (6 if quick else 20))
        return max((gap(heavy, n - heavy, weight, k), heavy) for heavy in {1, n - 1, *range(stride, n, stride)})

    rows: list[list[Any]] = []
    for weight, n, k in (
        (math.exp(1 / 200), 942, 50),
        *product((1.5, 2.0, 4.0, 16.0, 64.0), (2,), (1,)),
        *product((2.0, 4.0, 16.0, 64.0), (10,), (1, 3, 5)),
        *product((2.0, 16.0), (50,), (5, 25)),
    ):
        error, heavy = largest(n, k, weight)
        rows.append([f"{weight:.4g}", n, k, f"{error:.2g}", heavy])
    weights = [1.0 + 0.5 * step for step in range(1, 31, 3 if quick else 1)]
    series = [Series(f"k = {k}", weights, [largest(10, k, weight)[0] for weight in weights]) for k in (1, 3, 5, 8)]
    return rows, series, max(float(row[3]) for row in rows)


def _bound_rows() -> list[list[Any]]:
    rows = []
    for n, k, weight in (
        (942, 50, math.exp(1 / 200)),
        (500, 50, math.exp(1 / 200)),
        (10, 3, 2.0),
        (10, 3, 8.0),
        (10, 8, 2.0),
    ):
        bound = -math.expm1(weight * math.log1p(-k / n))
        manly = manly_mean([weight] * k + [1.0] * (n - k), k)[0]
        exact = expected_heavy_draws(k, n - k, weight, k) / k
        rows.append([n, k, f"{weight:.4f}", f"{bound:.6f}", f"{manly:.6f}", f"{exact:.6f}"])
    return rows


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
