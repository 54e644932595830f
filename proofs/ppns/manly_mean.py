"""Manly's mean and the exact one of weighted draws without replacement: PP-W9 and PP-T1-MU of Lu and Shen (PPNS).

Manly's mean is mu_i = 1 - A^(w_i), where A makes the sum k, which the paper computes with (equations 9 and 12); the
exact mean, that of Wallenius' distribution, is the probability that candidate i is among the first k weighted draws.

A power A^w enters a query as a variable of its own, and its monotonicity (0 <= A < B <= 1 and w > 0 imply A^w < B^w) as
an instance of that fact among the hypotheses. Exponential clocks stand for weighted draws: let candidate i ring at
T_i = E_i / w_i with independent standard exponential E_i; by lack of memory the next to ring is i with probability
w_i over the weight of those still silent, so the first k to ring are the k draws.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import cited, derivative, identity, proof, smt
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities
from dpassay.proofs.theorems import INTERMEDIATE_VALUES, JENSEN

POWER = (
    "Used fact: for w > 0 the power t^w is strictly increasing on [0, 1] and continuous, with 0^w = 0 and 1^w = 1; "
    "for 0 <= t <= 1 it does not grow with w, and falls strictly where 0 < t < 1."
)


def decide_manly(claim: Claim, context: Context) -> Verdict:
    """PP-W9: Manly's mean exists, is unique, and is exact for equal weights; how far it is off otherwise."""
    instances = manly_gap_certificates()
    rows, series, worst = _manly_gaps(quick=context.quick)
    at_paper = rows[0]
    table = Table(
        "Largest error of Manly's mean over the share of heavy candidates (two weight classes, weight 1 for the light)",
        ["heavy weight", "n", "k", "largest |mu - mu*|", "heavy candidates there"],
        rows,
    )
    plot = Plot(
        "Error of Manly's mean against the heavy weight, n = 10",
        "weight of the heavy candidates",
        "largest |mu - mu*|",
        series,
    )
    return decided(
        claim,
        "holds",
        "For every n, k and list of positive weights, equation (9) together with the condition that the means sum to "
        "k has exactly one solution, and for equal weights that solution, k/n for everyone, is the exact mean.",
        "For unequal weights it is an approximation: with weights 2 and 1 and a single draw the exact mean is 2/3 "
        f"and Manly's 0.618; on a grid of two weight classes the largest error found is {worst:.4f}, but at the "
        f"paper's eps = 1, RS = 1, k = 50 (weights from 1 to {math.exp(1 / 200):.4f}) only {at_paper[3]}.",
        evidence=(
            shown("Existence, uniqueness and the case of equal weights.", manly_proof()),
            shown(
                "Two candidates of weights 2 and 1, one draw: Manly's mean is more than 1/21 below the exact 2/3.",
                manly_gap_proof(),
                tables=(table,),
                plots=(plot,),
            ),
            *(
                shown(
                    f"Weights ({', '.join(each['weights'])}), {each['num_neighbors']} of them drawn: the means differ "
                    f"by more than {each['condition'][2]}.",
                    {"kind": "selection", "inputs": each},
                )
                for each in instances
            ),
        ),
    )


def decide_theorem1_mu(claim: Claim, context: Context) -> Verdict:
    """PP-T1-MU: mu_1 < 1 - ((n-k)/n)^w_1, for Manly's and for the exact mean."""
    instances = theorem1_mu_certificates(3 if context.quick else 6)
    table = Table(
        "The bound and the means it bounds, at (1^k, 0^(n-k))",
        ["n", "k", "w_1", "1 - ((n-k)/n)^w_1", "Manly's mu_1", "exact mu_1"],
        _bound_rows(),
    )
    return decided(
        claim,
        "holds",
        "Equation (12) gives A > (n-k)/n, hence mu_1 = 1 - A^(w_1) is below the bound; the printed algebra is right.",
        "The exact mean obeys the same bound, by Jensen's inequality for exponential clocks.",
        "The bound is nearly attained at the paper's settings, where all weights are close to 1, and loose for large "
        "weights (table).",
        evidence=(
            shown("Manly's mean, all n, k and w_1 > 1.", theorem1_mu_proof()),
            shown("The exact mean, all n, k and w_1 > 1.", theorem1_mu_exact_proof(), tables=(table,)),
            *(
                shown(
                    f"Exact mu_1 at n = {len(i['weights'])}, k = {i['num_neighbors']}, w_1 = {i['weights'][0]}.",
                    {"kind": "selection", "inputs": i},
                )
                for i in instances
            ),
        ),
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
            "implies(A < B, f_A >= f_B), A < B, implies(A < B, power_A < power_B)",
            "f_A + (1 - power_A) > f_B + (1 - power_B)",
        ),
        smt(
            "at most one parameter A gives the sum k",
            "implies(A < B, f_A > f_B), implies(B < A, f_B > f_A), f_A == k, f_B == k",
            "A == B",
        ),
        smt(
            "equal means that sum to k are k/n, Manly's and the exact ones alike",
            "n > 0, n * manly == k, n * exact == k",
            "manly == exact and exact == k / n",
            model="n = 3, k = 1, manly = 1/3, exact = 1/3",
        ),
        identity("the parameter A^w = (n-k)/n gives the mean k/n", "1 - (n - k) / n == k / n"),
        derivative("slope of t^w = e^(w ln t)", "t", "exp(w * ln(t))", "w * exp(w * ln(t)) / t"),
        smt("which is positive", "w > 0, t > 0, power > 0", "w * power / t > 0", model="w = 1, t = 1, power = 1"),
        smt(
            "k lies between f(1) and f(0)",
            "0 <= k <= n, f_0 == n * (1 - 0), f_1 == n * (1 - 1)",
            "f_1 <= k and k <= f_0",
            model="k = 1, n = 1, f_0 = 1, f_1 = 0",
        ),
        rests_on=[
            cited(
                *INTERMEDIATE_VALUES,
                {
                    "f, a sum of powers of A, is continuous, since they have slopes": "slope of t^w = e^(w ln t)",
                    "k is a value between those at the ends": "k lies between f(1) and f(0)",
                },
            )
        ],
    )


def manly_gap_proof() -> dict[str, Any]:
    """Weights 2 and 1, one draw: Manly's mean is not the exact one."""
    return proof(
        "With weights 2 and 1 and one draw (9) reads (1 - A^2) + (1 - A) = 1. The exact mean of the first "
        "candidate is its share of the weight, 2/3. So 'for equal weights' cannot be dropped.",
        smt(
            "Manly's mean is too small by more than 1/21",
            "(1 - A ** 2) + (1 - A) == 1, exact == 2 / 3",
            "exact - (1 - A ** 2) > 1 / 21",
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
                **weighted_selection([Fraction(w) for w in weights], num_draws, None),
                "methods": {"exact": {"kind": "npns"}, "manly": {"kind": "npns", "mean": "manly"}},
                "condition": [
                    ">",
                    ["-", f"mu_{first}_{worst + 1}", f"mu_{second}_{worst + 1}"],
                    str(Fraction(math.floor(1000 * abs(errors[worst])), 1000)),
                ],
            }
        )
    return tuple(certificates)


def theorem1_mu_proof() -> dict[str, Any]:
    """mu_1 < 1 - ((n-k)/n)^w_1 for Manly's mean."""
    return proof(
        f"{POWER} With A = 1 - mu_n and power_A = A^(w_1) = 1 - mu_1. As w_1 > 1, power_A < A unless A is "
        "0 or 1, which the sum excludes; so A > (n-k)/n (step 1), and the power of A is above that of (n-k)/n (step "
        "2). Step 3 is the printed intermediate line.",
        smt(
            "the parameter A exceeds (n-k)/n",
            "0 < k, k < n, 0 <= A, k * (1 - power_A) + (n - k) * (1 - A) == k, implies(0 < A and A < 1, power_A < A), "
            "implies(A == 0, power_A == 0)",
            "A * n > n - k",
            model="k = 3, n = 5, A = 2/3, power_A = 2/9",
        ),
        smt(
            "hence mu_1 is below the bound",
            "A > base, implies(A > base, power_A > power_base), mu_1 == 1 - power_A",
            "mu_1 < 1 - power_base",
            model="A = 2/3, base = 2/5, power_A = 4/9, power_base = 4/25, mu_1 = 5/9",
        ),
        smt(
            "the printed line: mu_1 = k/n + (n-k)(mu_1 - mu_n)/n",
            "n > 0, k * mu_1 + (n - k) * mu_n == k",
            "mu_1 == k / n + (n - k) * (mu_1 - mu_n) / n",
            model="n = 2, k = 1, mu_1 = 1/2, mu_n = 1/2",
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
            "n > 0, n * smallest <= total, total == k, mean_X == 1 - smallest",
            "mean_X >= (n - k) / n",
            model="n = 2, k = 1, total = 1, smallest = 1/2, mean_X = 1/2",
        ),
        smt(
            "Jensen and monotonicity of the power",
            "mean_X >= base, implies(mean_X >= base, power_mean_X >= power_base), mean_power_X > power_mean_X, "
            "1 - mu_1 == mean_power_X",
            "mu_1 < 1 - power_base",
        ),
        identity(
            "Jensen for a square and two values of probability q and 1 - q",
            "q * x ** 2 + (1 - q) * y ** 2 - (q * x + (1 - q) * y) ** 2 == q * (1 - q) * (x - y) ** 2",
        ),
        derivative(
            "second derivative of X^w = e^(w ln X)",
            "X",
            "w * exp(w * ln(X)) / X",
            "w * (w - 1) * exp(w * ln(X)) / X ** 2",
        ),
        smt(
            "which is positive for w > 1",
            "w > 1, X > 0, power > 0",
            "w * (w - 1) * power / X ** 2 > 0",
            model="w = 2, X = 1, power = 1",
        ),
        rests_on=[cited(*JENSEN, {"X^w is strictly convex for w > 1": "which is positive for w > 1"})],
    )


def theorem1_mu_certificates(number: int) -> tuple[dict[str, Any], ...]:
    """Exact rationals at (1^k, 0^(n-k)) for small n, k and integer w_1."""
    grid = ((n, k, w) for w in (2, 3, 5) for n, k in ((3, 1), (3, 2), (5, 2), (6, 3)))
    return tuple(
        weighted_selection(
            [Fraction(w)] * k + [Fraction(1)] * (n - k), k, ["<", "mu_npns_1", str(1 - Fraction(n - k, n) ** w)]
        )
        for (n, k, w), _ in zip(grid, range(number), strict=False)
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


def weighted_selection(weights: Sequence[Fraction], num_neighbors: int, condition: Any) -> dict[str, Any]:
    """Inputs of a `selection` certificate about weighted draws from all candidates."""
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
