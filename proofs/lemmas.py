"""Lemmas that several proofs use by name: ratio bounds of differential privacy, Cauchy-Schwarz, the union bound.

A lemma is a tuple of small steps without quantifiers. Sums and products over candidates, items, draws and orders enter
through their induction step, so that a finite query covers every length: the step says that one more term keeps a
bound, and the empty sum or product satisfies it.

The ratio lemmas are the textbook ones of differential privacy (Dwork and Roth, "The Algorithmic Foundations of
Differential Privacy", 2014: Theorems 3.6 and 3.10, Proposition 2.1); `r` stands for e^t, a bound on likelihood ratios.
"""

from dpassay.proofs.notation import Step, identity, smt

SUM_KEEPS_RATIO: tuple[Step, ...] = (
    smt("one more term keeps the ratio bound between two sums", "X <= r * Y, x <= r * y", "X + x <= r * (Y + y)"),
)

PRODUCT_KEEPS_RATIO: tuple[Step, ...] = (
    smt(
        "one more factor multiplies the ratio bounds of two products",
        "0 <= P, 0 <= p, 0 <= Q, 0 <= q, 0 <= g, 0 <= h, P <= g * Q, p <= h * q",
        "P * p <= (g * h) * (Q * q)",
        model="P = 1, p = 1, Q = 1, q = 1, g = 1, h = 1",
    ),
)

# x, X: the weight of the candidate drawn and of all that remain, on one dataset; y, Y: on the other.
DRAW_KEEPS_RATIO: tuple[Step, ...] = (
    smt(
        "a draw by weight changes by at most r^2 when every weight changes by at most r",
        "0 < x <= X, 0 < y <= Y, x <= r * y, Y <= r * X, p * X == x, q * Y == y, r >= 1",
        "p <= r ** 2 * q",
        model="x = 1, X = 2, y = 1, Y = 2, r = 1, p = 1/2, q = 1/2",
    ),
)

# x, y: the weight of the one candidate whose score changes; z: of another candidate; Z: of all the others that remain.
ONE_SCORE_DRAW: tuple[Step, ...] = (
    smt(
        "when one weight changes by at most r, the chance to draw that candidate changes by at most r",
        "x > 0, y > 0, Z >= 0, r >= 1, x <= r * y, p * (Z + x) == x, q * (Z + y) == y",
        "p <= r * q",
        model="x = 1, y = 1, Z = 1, r = 1, p = 1/2, q = 1/2",
    ),
    smt(
        "when one weight changes by at most r, the chance to draw another candidate changes by at most r",
        "x > 0, y > 0, 0 < z <= Z, r >= 1, y <= r * x, p * (Z + x) == z, q * (Z + y) == z",
        "p <= r * q",
        model="x = 1, y = 1, z = 1, Z = 1, r = 1, p = 1/2, q = 1/2",
    ),
)

# p, q: chances of one output of the mechanism on the two datasets; kappa: chance that the processing maps it into S.
POST_PROCESSING: tuple[Step, ...] = (
    smt(
        "processing one output keeps the ratio bound",
        "0 <= p, 0 <= q, 0 <= kappa <= 1, p <= r * q",
        "p * kappa <= r * (q * kappa)",
        model="p = 1/2, q = 1/2, kappa = 1/2, r = 1",
    ),
    *SUM_KEEPS_RATIO,
)

EXPONENTS_ADD: tuple[Step, ...] = (identity("e^(t + u) = e^t e^u", "exp(t + u) == exp(t) * exp(u)"),)

# z: the released number; a, b: the true values; s: the scale of the noise.
LAPLACE_DENSITY: tuple[Step, ...] = (
    smt("the two exponents differ by no more than the two values", "", "abs(z - b) - abs(z - a) <= abs(a - b)"),
    smt(
        "dividing by the scale",
        "s > 0, abs(z - b) - abs(z - a) <= abs(a - b)",
        "(abs(z - b) - abs(z - a)) / s <= abs(a - b) / s",
        model="s = 1, z = 0, a = 0, b = 1",
    ),
)

# dot: of the items so far; A, B: their squared norms' square roots; u, v: the next item's ratings.
CAUCHY_SCHWARZ: tuple[Step, ...] = (
    identity(
        "Lagrange's identity for one more item",
        "(A ** 2 + u ** 2) * (B ** 2 + v ** 2) == (A * B + u * v) ** 2 + (A * v - B * u) ** 2",
    ),
    smt(
        "one more item keeps the dot product at most the product of the norms",
        "A >= 0, B >= 0, u >= 0, v >= 0, 0 <= dot <= A * B, M >= 0, "
        "M ** 2 == (A * B + u * v) ** 2 + (A * v - B * u) ** 2",
        "dot + u * v <= M",
        model="A = 1, B = 1, u = 1, v = 1, dot = 1, M = 2",
    ),
)

UNION_BOUND: tuple[Step, ...] = (
    smt(
        "one more draw adds at most its own chance of failure",
        "0 <= failed <= t * h, 0 <= chance <= h, after <= failed + (1 - failed) * chance, failed <= 1",
        "after <= (t + 1) * h",
        model="failed = 0, chance = 0, h = 0, after = 0, t = 0",
    ),
)
