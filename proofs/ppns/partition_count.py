"""How many partitions beta the scheme of Lu and Shen (PPNS) uses: equations (18) to (20) against Algorithm 1."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import instance
from dpassay.proofs.ppns.algorithm1 import NUM_CANDIDATES, NUM_NEIGHBORS, TENTHS, quotas

TABLE_2 = (15, 13, 10, 8, 7, 6, 5, 3, 2)


def decide_beta(claim: Claim, context: Context) -> Verdict:
    """PP-B: equation (19) against the partitions that Algorithm 1 visits."""
    rows, rises = _beta_rows(), _beta_rises()
    beta = float(formula_beta(Fraction(1, 10), NUM_NEIGHBORS)[1])
    above, differing = sum(float(row[2]) > row[4] for row in rows), sum(row[3] != row[5] for row in rows)
    returned, printed = float(rows[0][9]), TABLE_2[0]
    table = Table(
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
    )
    plot = Plot(
        "Number of partitions against p (k = 50, n = 942)",
        "p",
        "partitions",
        [
            Series("beta (19)", list(_floats()), [float(row[2]) for row in rows]),
            Series("Algorithm 1, used", list(_floats()), [row[4] for row in rows]),
            Series("Algorithm 1, returned (mean)", list(_floats()), [float(row[9]) for row in rows]),
            Series("Table 2", list(_floats()), list(TABLE_2)),
        ],
    )
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
        evidence=shown(
            "j and beta at p = 0.1, k = 50 by interval arithmetic.", beta_certificate(), tables=(table,), plots=(plot,)
        ),
        repair="the number of partitions is that of Algorithm 1's exact quotas, plus the one of the last neighbor",
    )


decide_equation20 = established(
    "refuted",
    "p = 0.1 lies in the range of (20) for every alpha_0 up to a tenth of the sum of the 50 largest similarities, "
    "and above Theorem 1's bound for n = 942; its beta of 26 is more than the 19 partitions, so no attack with "
    "beta k fake users corresponds to it.",
    "Where beta is reachable, all neighbors but the last come from fewer partitions than beta, at every p from "
    "0.1 to 0.9 (k = 50). At p = 1, which (20) allows, ln(1-p) is undefined, and for p above (k-1)/k the accuracy "
    "is not guaranteed either (PP-P1).",
    evidence=lambda: shown("beta above the number of partitions at an allowed p.", beta_certificate(accuracy=True)),
    repair="p in [alpha_0 / sum s, (k-1)/k] (PP-P), with the partitions counted from Algorithm 1's quotas",
)


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
    return instance({}, *formulas, supports="refuted")


def formula_beta(p: Fraction, num_neighbors: int) -> tuple[int, Fraction]:
    """j of equation (18) and beta of (19), exact: j is the least integer with p(1-p)^(j-1) k <= 3/2, also below 1."""
    j = 1
    while p * (1 - p) ** (j - 1) * num_neighbors > Fraction(3, 2):
        j += 1
    while p * (1 - p) ** (j - 2) * num_neighbors <= Fraction(3, 2):
        j -= 1
    return j, (j - 1) + (1 - p) ** (j - 1) * num_neighbors


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
            total += math.ceil(p * (1 - p) ** ceilings * k)
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
