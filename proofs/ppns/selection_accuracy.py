"""What the truncation parameter lambda of PNCF guarantees about the neighbors (Lu and Shen, section 2.2).

k of n candidates are drawn one by one without replacement, with weights exp(eps s_i / (4k RS)). L stands for
(4k RS / eps) ln(k (n-k) / rho); the paper takes lambda = min(s_k, L), from Theorem 3.1 of Zhu et al. (2014), and claims
that with probability at least 1 - rho no neighbor has a similarity below s_k - lambda (the first statement), and with
probability at least 1 - rho every candidate above s_k + lambda is a neighbor (the second).
"""

from collections.abc import Sequence
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.proofs.decisions import checked, decided, established, shown
from dpassay.proofs.lemmas import EXPONENTS_ADD, UNION_BOUND
from dpassay.proofs.notation import identity, instance, proof, smt
from dpassay.proofs.selection import smaller_lambda

decide_lambda = established(
    "refuted",
    "When the minimum picks sim_k, the value of lambda says nothing about the weights, and the second statement "
    "fails: of similarities 0.9, 0.3, 0.1, with k = 2, eps = 0.1, RS = 1, rho = 0.1, lambda is 0.3 and 0.9 exceeds "
    "0.6, yet that candidate is a neighbor with probability below 0.68, not at least 0.9; among eight candidates it "
    "is below 0.26. The first statement is then trivial, since no similarity is below 0. Both hold whenever the "
    "minimum is the other term (PP-LAM-REP). If PNCF takes the candidates above sim_k + lambda without drawing, as "
    "section 2.2 also describes it, they are neighbors by decree, at the cost of differential privacy (PP-PNCF-NOT).",
    evidence=lambda: [
        shown(
            "Three candidates, two neighbors: the exact probability of the best candidate.",
            truncated_lambda(["9/10", "3/10", "1/10"], epsilon="1/10", rho="1/10", probability_below="17/25"),
        ),
        shown(
            "Eight candidates, two neighbors: the best is one of them in about a quarter of draws.",
            truncated_lambda(
                ["9/10", "3/10", "1/10", "1/20", "1/20", "1/20", "1/20", "1/20"],
                epsilon="1/10",
                rho="1/10",
                probability_below="13/50",
            ),
        ),
    ],
    repair="PP-LAM-REP",
)

decide_lambda_repaired = established(
    "holds",
    "Each draw goes wrong with probability at most rho/k, for every n, k and list of similarities of either "
    "sign, so all k draws go right with probability at least 1 - rho. The same proof covers soft truncation "
    "(similarities raised to sim_k - lambda); hard truncation enforces both statements but breaks differential "
    "privacy (PP-PNCF-NOT). One RS for all candidates is needed: with each pair's own RS in the weights, even "
    "the largest of them in lambda does not help. The constant is nearly tight: for one neighbor, "
    "ln((n-1)(1-rho)/rho) in place of ln((n-1)/rho) is already too small.",
    evidence=lambda: [
        shown("Both statements, for every n, k and list.", accuracy_proof()),
        shown("With each pair's own RS in the weights the first statement fails.", each_pair_own_sensitivity()),
        shown("With a slightly smaller lambda the first statement fails.", smaller_lambda()),
    ],
)


def decide_lambda_unachievable(claim: Claim, context: Context) -> Verdict:
    """PP-LAM2: at the paper's settings the minimum is always sim_k."""
    instance, inputs = unachievable("1/2000"), monotone_in_rho_proof()
    smallest = _smallest_sensitivity()
    return decided(
        claim,
        "holds",
        "At k = 50, eps = 1, n = 942 the second term of the minimum is 200 RS ln(44600/rho), above 2141 RS for every "
        "rho in (0, 1): more than any cosine as long as RS >= 1/2000. So lambda is sim_k whatever rho is: nobody is "
        f"cut off below (the cut is at 0), and rho has no effect. RS = {smallest} is the smallest unit fraction for "
        "which this is so; smaller RS need a smaller rho. With lambda = sim_k the cut above, at 2 sim_k, can still "
        "take somebody for certain when sim_k < 1/2, but does not depend on rho either.",
        evidence=(
            shown("The second term at rho = 1 exceeds 1 for RS = 1, and for RS = 1/2000.", instance),
            shown("The second term grows as rho falls.", inputs),
        ),
        assumptions=("similarities are not negative",),
    )


def accuracy_proof() -> dict[str, Any]:
    """Both statements for lambda = L: chance rho/k per draw, then the union bound over the draws."""
    return proof(
        "Let a = eps / (4k RS), candidate i weigh e^(a s_i), w be the weight of the k-th, and v = w rho / (k (n-k)) "
        "that of a similarity exactly L lower (steps 1 to 3; e^(-ln x) = 1/x). First statement: fewer than k "
        "candidates were drawn before, so one of the first k remains, and what remains weighs at least w. Candidates "
        "below s_k - L are not among the first k: they are at most n - k, each of weight below v, so together at "
        "most w rho / k (steps 4 and 5), and the draw is one of them with probability at most rho / k (step 6). "
        "Second statement: a candidate above s_k + L weighs at least w k (n-k) / rho (step 3 read from it) and is "
        "among the first k, so if it is missing at the end, some draw took one of the n - k others, of weight at "
        "most w each, while it was still there; per draw that has probability at most rho / k (step 7). Adding the "
        "chances of the k draws (step 8, from 0, then step 9) gives rho for either statement. Raising similarities "
        "to s_k - L (soft truncation) leaves every weight that was used within its bound.",
        identity(
            "the exponent of a similarity lower by L", "eps / (4 * k * RS) * (4 * k * RS / eps * log_term) == log_term"
        ),
        *EXPONENTS_ADD,
        identity("the weight of a similarity lower by L", "w * (1 / (k * (n - k) / rho)) == w * rho / (k * (n - k))"),
        smt(
            "the weight of several light candidates, one more at a time",
            "total <= j * v, b <= v",
            "total + b <= (j + 1) * v",
        ),
        smt(
            "all light candidates together",
            "1 <= k < n, rho > 0, w > 0, v * (k * (n - k)) == w * rho, j <= n - k, bad <= j * v, v >= 0",
            "bad * k <= w * rho",
            model="k = 1, n = 2, rho = 1, w = 1, v = 1, j = 1, bad = 1",
        ),
        smt(
            "the chance to draw a light candidate",
            "k >= 1, rho > 0, w > 0, bad >= 0, rest >= w, bad * k <= w * rho, chance * (bad + rest) == bad",
            "chance <= rho / k",
            model="k = 1, rho = 1, w = 1, bad = 1, rest = 1, chance = 1/2",
        ),
        smt(
            "the chance to draw another while a heavy candidate is there",
            "1 <= k < n, rho > 0, w > 0, 0 <= others, others <= (n - k) * w, heavy * rho >= w * (k * (n - k)), "
            "rest >= heavy, heavy > 0, chance * (others + rest) == others",
            "chance <= rho / k",
            model="k = 1, n = 2, rho = 1, w = 1, others = 1, heavy = 1, rest = 1, chance = 1/2",
        ),
        *UNION_BOUND,
        identity("k draws", "k * (rho / k) == rho"),
    )


def monotone_in_rho_proof() -> dict[str, Any]:
    """What holds for rho = 1 holds for every rho in (0, 1)."""
    return proof(
        "K = k (n-k). For rho < 1 the argument K / rho of the logarithm exceeds K (step 1), and the logarithm "
        "increases; so c ln(K / rho) >= c ln K >= 1 >= s_k for c = 4k RS / eps > 0, and the minimum is s_k (step 2). "
        "A larger RS means a larger c.",
        smt("a smaller rho makes the argument larger", "0 < rho < 1, K > 0", "K / rho > K", model="rho = 1/2, K = 1"),
        smt(
            "the minimum is s_k",
            "c > 0, log_K_over_rho >= log_K, c * log_K >= 1, s_k <= 1",
            "min(s_k, c * log_K_over_rho) == s_k",
            model="c = 1, log_K_over_rho = 1, log_K = 1, s_k = 1",
        ),
    )


def truncated_lambda(similarities: Sequence[str], *, epsilon: str, rho: str, probability_below: str) -> dict[str, Any]:
    """Two neighbors: lambda is s_2, the first candidate is above s_2 + lambda, and is chosen too rarely.

    Returns:
        A certificate {"kind", "inputs"} with the exact probability of the first candidate in closed form.
    """
    names = [f"s{i}" for i in range(1, len(similarities) + 1)]
    values = {**dict(zip(names, similarities, strict=True)), "eps": epsilon, "RS": 1, "rho": rho, "k": 2}
    level = f"4 * k * RS / eps * ln(k * ({len(names)} - k) / rho)"
    chance = _first_of_two([f"exp(eps * {name} / (4 * k * RS))" for name in names])
    return instance(
        values,
        f"{level} > s2",
        "s1 > s2 + s2",
        f"{chance} < {probability_below}",
        f"{probability_below} < 1 - rho",
        supports="refuted",
    )


def each_pair_own_sensitivity() -> dict[str, Any]:
    """One neighbor of two candidates, weights by each pair's own RS: the worse one is nearly always chosen.

    Even with the larger RS in lambda, s_2 lies below s_1 - L.
    """
    return instance(
        {"s1": 1, "s2": "1/10", "RS1": 1, "RS2": "1/100", "eps": 40, "rho": "1/10", "k": 1, "n": 2},
        "s2 < s1 - 4 * k * max(RS1, RS2) / eps * ln(k * (n - k) / rho)",
        "exp(eps * s2 / (4 * k * RS2)) / (exp(eps * s1 / (4 * k * RS1)) + exp(eps * s2 / (4 * k * RS2))) > rho",
        "exp(eps * s2 / (4 * k * RS2)) / (exp(eps * s1 / (4 * k * RS1)) + exp(eps * s2 / (4 * k * RS2))) > 999 / 1000",
        supports="holds",
    )


def unachievable(sensitivity: str) -> dict[str, Any]:
    """k = 50, n = 942, eps = 1, rho = 1: the second term of the minimum is at least 1, for RS = 1 and `sensitivity`."""
    level = "4 * k * {} / eps * ln(k * (n - k))"
    return instance(
        {"k": 50, "n": 942, "eps": 1, "RS": 1, "RS_least": sensitivity},
        f"{level.format('RS')} >= 2141",
        f"{level.format('RS_least')} >= 1",
        supports="holds",
    )


def _smallest_sensitivity() -> str:
    """The smallest 1/m for which `unachievable` is certain, by bisection."""
    low, high = 1, 10_000  # 1/low passes, 1/high does not
    while high - low > 1:
        middle = (low + high) // 2
        if checked(unachievable(f"1/{middle}")):
            low = middle
        else:
            high = middle
    return f"1/{low}"


def _first_of_two(weights: Sequence[str]) -> str:
    """Probability that the first candidate is among two draws without replacement."""
    total = " + ".join(weights)
    second = [f"{other} / ({total}) * ({weights[0]} / ({total} - {other}))" for other in weights[1:]]
    return " + ".join([f"{weights[0]} / ({total})", *second])
