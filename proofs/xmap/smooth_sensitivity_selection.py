"""When a pair's own sensitivity may stand in the weights (repair of Guerraoui et al., X-Map, Theorem 2).

Weights exp(eps' s_j / (8k S_j)), |s_j| <= 1, keep the selection of k neighbors (eps'/2)-differentially private if S_j
is a b-smooth upper bound of the local sensitivity of s_j (Nissim, Raskhodnikova and Smith 2007) and never below
e^b - 1: the ratio s_j / S_j then moves by at most 2 between neighboring datasets. For the cosine of items with norms
over all raters, entries in [-R, R] and n the smaller of the two squared norms, one user moves it by at most
2 R^2 / (n - R^2), and
    S = max(e^b - 1, max_{t >= 0} e^(-bt) min(2, 2 R^2 / (n - (t+1) R^2)))
is such a bound (2 where the denominator is not positive).
"""

from typing import Any

from dpassay.core.records import Table
from dpassay.proofs.decisions import established, shown
from dpassay.proofs.lemmas import CAUCHY_SCHWARZ
from dpassay.proofs.notation import identity, instance, proof, smt
from dpassay.proofs.selection import all_scores_proof

decide_usable_repaired = established(
    "holds",
    "A sensitivity computed from the data may divide the similarity if it changes slowly between neighboring "
    "datasets, by a factor of at most e^b, and is never below e^b - 1. Then s_j / S_j moves by at most 2, one "
    "part for the similarity and one for its divisor, so the exponent is halved. For the cosine of items with "
    "many raters the bound is small: with norms as of 100 users of the most extreme opinion and b = 1/20 it is "
    "below 0.0513, so the exponents are 19 times those of GS = 2. Each S_j must be computed from the pair's own "
    "ratings by this formula; X-Map's SS is neither smooth nor bounded below.",
    evidence=lambda: [
        shown("The ratio moves by at most 2.", ratio_proof()),
        shown("One user moves the cosine by at most 2 R^2/(n - R^2), and the bound is smooth.", cosine_bound_proof()),
        shown("k draws by scores that move by at most 2, with the exponent eps'/(8k).", all_scores_proof()),
        shown(
            "The bound at n = 100 R^2, b = 1/20.", smooth_bound_instance(100, "1/20", "513/10000"), tables=(_bounds(),)
        ),
    ],
)


def ratio_proof() -> dict[str, Any]:
    """|s/S - s'/S'| <= 2."""
    gap = "f > 0, S >= f, T >= f, S <= (1 + f) * T, T <= (1 + f) * S"
    return proof(
        "f = e^b - 1, S and T the bounds on D and D', s and s' the similarities. The ratio changes by (s - s')/S + s' "
        "(1/S - 1/T) (step 1). The first part is at most 1, since S bounds the local sensitivity on D (step 2). In "
        "the second the gap |S - T| is at most f times the smaller, so |1/S - 1/T| = |S - T| / (S T) is at most f "
        "over the larger, at most 1 (steps 3 and 4). Together 2 (step 5), so with exponent eps'/(8k) a weight moves "
        "by e^t, t = eps'/(4k), and k draws cost 2kt = eps'/2 (step 6). The larger of a smooth bound and a constant "
        "is smooth (step 7), and a soft floor below the k-th ratio by a constant changes nothing (XM-PNSA-REP).",
        identity("the change of the ratio", "s / S - other / T == (s - other) / S + other * (1 / S - 1 / T)"),
        smt(
            "the similarity's part",
            "S > 0, abs(s - other) <= S, part * S == s - other",
            "abs(part) <= 1",
            model="S = 1, s = 1, other = 0, part = 1",
        ),
        smt("the gap", gap, "abs(S - T) <= f * S and abs(S - T) <= f * T", model="f = 1, S = 1, T = 1"),
        smt(
            "the divisor's part",
            "f > 0, S >= f, T >= f, abs(other) <= 1, abs(gap) <= f * S, abs(gap) <= f * T, "
            "part * (S * T) == other * gap",
            "abs(part) <= 1",
            model="f = 1, S = 1, T = 1, other = 1, gap = 1, part = 1",
        ),
        smt("both parts", "abs(x) <= 1, abs(y) <= 1", "abs(x + y) <= 2", model="x = 0, y = 0"),
        identity("the budget", "2 * k * (eps / (8 * k) * 2) == eps / 2"),
        smt(
            "the larger of a smooth bound and a constant",
            "r >= 1, c >= 0, S <= r * T",
            "max(S, c) <= r * max(T, c)",
            model="r = 1, c = 0, S = 1, T = 1",
        ),
    )


def cosine_bound_proof() -> dict[str, Any]:
    """One user moves the cosine by at most 2 R^2/(n - R^2), and the maximum over distances is b-smooth."""
    return proof(
        "Let x leave, A and B the norms without x, u and v the ratings of x, |u|, |v| <= R (0 where missing), M = AB "
        "and N the product with x, n' = n - R^2 > 0, so A^2, B^2 >= n', and rho = R^2/n'. By XM-T2-REP the change is "
        "at most |p|/M + |dot| (1/M - 1/N). The first term is at most R^2/n' = rho (step 1). By Cauchy-Schwarz for "
        "the absolute values |dot| <= N (steps 2 and 3). Each squared norm grows by a factor of at most 1 + rho (step "
        "4), so N <= (1 + rho) M (step 5), and the second term is at most N/M - 1 <= rho (step 6). A user who joins "
        "leaves the other dataset, where n' is the n of this one; no cosine moves by more than 2. So the local "
        "sensitivity is at most h(n) = min(2, 2 R^2/(n - R^2)), 2 if n <= R^2, which falls as n grows (step 7). One "
        "user changes n by at most R^2, so h(n - t R^2) <= h(m - (t+1) R^2) for a neighbor with m >= n - R^2 or more: "
        "each term of the maximum on D is at most e^b times the next term on D' (step 8), and the maximum is "
        "b-smooth. Its term t = 0 bounds the local sensitivity.",
        smt(
            "the first term",
            "n > 0, M >= n, abs(p) <= square, rho * n == square, first * M == abs(p)",
            "first <= rho",
            model="n = 1, M = 1, p = 1, square = 1, rho = 1, first = 1",
        ),
        *CAUCHY_SCHWARZ,
        smt(
            "a squared norm grows by at most 1 + rho",
            "n > 0, A ** 2 >= n, u ** 2 <= square, rho * n == square",
            "A ** 2 + u ** 2 <= A ** 2 * (1 + rho)",
            model="n = 1, A = 1, u = 1, square = 1, rho = 1",
        ),
        smt(
            "the product of the norms grows by at most 1 + rho",
            "x >= 0, y >= 0, A > 0, B > 0, q >= 1, x ** 2 <= A ** 2 * q, y ** 2 <= B ** 2 * q",
            "x * y <= A * B * q",
            model="x = 1, y = 1, A = 1, B = 1, q = 1",
        ),
        smt(
            "the second term",
            "M > 0, M <= N, N <= (1 + rho) * M, abs(dot) <= N, second * (M * N) == abs(dot) * (N - M)",
            "second <= rho",
            model="M = 1, N = 1, rho = 0, dot = 0, second = 0",
        ),
        smt(
            "h falls",
            "0 < x <= y, square >= 0, g * x == square, h * y == square",
            "h <= g",
            model="x = 1, y = 1, square = 1, g = 1, h = 1",
        ),
        identity("the next term", "exp(-(b * t)) == exp(b) * exp(-(b * (t + 1)))"),
    )


def smooth_bound(users: int) -> str:
    """Text of S at n = users * R^2, by its finitely many terms; those after the last are smaller."""
    terms = [f"exp(-({distance} * b)) * min(2, 2 / {users - distance - 1})" for distance in range(users - 1)]
    return f"max(exp(b) - 1, exp(-({users - 1} * b)) * 2, {', '.join(terms)})"


def smooth_bound_instance(users: int, rate: str, bound: str) -> dict[str, Any]:
    """S at n = users * R^2 is at most `bound`, and eps' s/(8k S) at least 19 times eps' s/(4k GS), GS = 2."""
    return instance(
        {"b": rate, "bound": bound},
        f"{smooth_bound(users)} <= bound",
        "1 / (8 * bound) >= 19 * (1 / (4 * 2))",
        supports="holds",
    )


def _bounds() -> Table:
    """S in float64, over sizes and rates."""
    import math

    def value(users: int, rate: float) -> float:
        terms = [math.exp(-rate * t) * min(2, 2 / (users - t - 1) if users - t > 1 else 2) for t in range(users)]
        return max(math.expm1(rate), *terms)

    rates = (0.02, 0.05, 0.1, 0.2)
    return Table(
        "S by the smaller squared norm in units of R^2; GS is 2",
        ["n / R^2", *(f"b = {rate}" for rate in rates)],
        [[users, *(f"{value(users, rate):.4f}" for rate in rates)] for users in (10, 30, 100, 300, 1000)],
    )
