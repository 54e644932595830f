"""Privacy and geometry of PriCDR's sparse sketch M = P H D, of what the authors' code does instead, and a repair.

Chen et al. (WWW 2022), Definition 3.7, appendix B.1, sec. 5.2. R has n items as rows and m users as columns; q is the
density of P. Given the zeros of a row of P, that row of the sketch lies in the span of as many vectors as it has
entries. If fewer than m, the span depends on the data, and if no span of R is one of R' the two are told apart:
delta >= 1 - (1 - p)^r at every epsilon, p = Pr[1 <= Binomial(n, q) <= m - 1].
"""

from collections.abc import Sequence
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.notation import formula, identity, instance, proof, smt
from dpassay.proofs.pricdr.sketch_composition import TASKS
from dpassay.proofs.pricdr.sketch_privacy import profile, shift_steps, shifted_gaussian

_LIFTED = (
    "Ratings (1, 0; 0, 0) and (1, 0; 1, 0), centered: (1/2, -1/2; 0, 0) and (1/2, -1/2; 1/2, -1/2). The nonzero "
    "singular value of the first has square 1/2, its left vectors are e1 and e2, so its lifted rows are a (1, -1) and "
    "b (1, 1), up to signs, with a^2 = (1/2 + w^2)/2 and b^2 = w^2/2. That of the second has square 1 and left "
    "vectors (1, 1) and (1, -1) over sqrt(2): lifted rows A (1, -1) + B (1, 1) and A (1, -1) - B (1, 1) with A^2 = (1 "
    "+ w^2)/4 and B^2 = w^2/4. In the steps a2 stands for a^2, and so on, and W for w^2."
)
DENSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)


decide_subg = established(
    "holds",
    "The entries are sub-Gaussian with variance proxy 1/q, which is m for q = 1/m. The privacy proof cannot use "
    "it: it compares Gaussian densities, and a row of P with zeros has none (CD-SJLT). Sub-Gaussian tails are "
    "what utility bounds need.",
    evidence=lambda: shown("The moment generating function.", subgaussian_proof()),
)

decide_had = established(
    "refuted",
    "Real Hadamard matrices of this kind exist for powers of two only. None of the six numbers of items is one, "
    "and the printed formula then gives a matrix whose columns are not orthogonal: with 2^a the largest power of "
    "two in n, columns 1 and 2^a + 1 have inner product 2^a/n. Padding the items with zero rows to the next power "
    "of two repairs it. D, a diagonal of signs, is unitary.",
    evidence=lambda: shown(
        "The inner product of two columns, counted, for each dataset.",
        hadamard_instance([task.items for task in TASKS]),
        tables=(
            Table(
                "Inner product of two columns of H (0 if orthogonal), for the paper's numbers of items",
                ["task", "n", "columns", "inner product"],
                [
                    [task.name, task.items, f"1 and {_low_bit(task.items) + 1}", f"{_low_bit(task.items)}/{task.items}"]
                    for task in TASKS
                ],
            ),
        ),
    ),
)


def decide_iso(claim: Claim, context: Context) -> Verdict:
    """CD-ISO: HD preserves norms for powers of two, not for the paper's n."""
    certificate = instance(
        {"n": 3},
        # n = 3, x = D (1, 1, 0)': H D x = (2, 0, 2)' / sqrt(3)
        "(1 + 1) ** 2 / n + (1 - 1) ** 2 / n + (1 + 1) ** 2 / n > 1 ** 2 + 1 ** 2",
        supports="refuted",
    )
    return decided(
        claim,
        "refuted",
        "A product of unitary matrices preserves norms, but H is unitary only for powers of two (CD-HAD). For every n "
        "of the paper's datasets, whatever D is, the vector D(e_1 + e_(2^a+1)) of squared norm 2 has an image of "
        "squared norm 2 + 2 2^a/n. The distortion is small for these vectors, and zero after padding to a power of "
        "two.",
        evidence=(
            shown("Three items: a vector whose squared norm grows from 2 to 8/3.", certificate),
            shown(
                "The inner products of columns that these norms come from.",
                hadamard_instance([task.items for task in TASKS]),
            ),
        ),
    )


decide_sjlt = established(
    "refuted",
    "A row of P with few entries makes a published row that lies on one of finitely many lines or planes, and these "
    "depend on the data. With two items and two users, q = 1/2 = 1/m, the lines of the ratings (1, 0; 0, 0) are never "
    "those of (1, 0; 1, 0), for any noise w: half of all rows give the data away, delta >= 1 - 2^-r at every epsilon. "
    "The same happens at any size as long as a row is likely to have between 1 and m - 1 entries; the table gives the "
    "probability that at least one of 400 does, which bounds delta from below where no subspace is shared (to be "
    "checked per dataset; not done). For dense masks, q n well above m, it says nothing, and privacy is not decided "
    "here. That sparse Johnson-Lindenstrauss matrices fail is known from Upadhyay (arXiv 1410.2470).",
    evidence=lambda: [
        shown("Two neighbors whose sets of lines are disjoint, for every w.", sparse_lines_proof()),
        shown(
            "q = 1/2 and eight rows: delta >= 255/256, far above 1/m.",
            subspace_instance(),
            tables=(_disjoint_lines_table(),),
        ),
    ],
    repair="CD-SJLT-REP",
)

decide_sjlt_released = established(
    "refuted",
    "The released code multiplies the lifted ratings by a matrix with entries 0 and plus or minus one constant, "
    "so for each dataset only finitely many outputs are possible. Two neighbors share none but those with a zero "
    "row for each zero row of the matrix: on two items and two users the lists are disjoint for every w > 0, so "
    "delta is at least 1 - (1 - q)^(2r) at every epsilon. No density and no amount of lifting helps; noise has to "
    "be added to the output.",
    evidence=lambda: [
        shown("Two neighbors whose possible published rows differ, for every w.", discrete_proof()),
        shown(
            "q = 1/2 and eight rows: delta > 0.999.",
            instance({"q": "1/2", "r": 8}, "1 - (1 - q) ** (2 * r) > 999 / 1000", supports="refuted"),
        ),
    ],
    repair="CD-SJLT-REP",
)

decide_sjlt_repaired = established(
    "holds",
    "With added noise any matrix that does not depend on the data will do. If all its columns have norm sqrt(r), "
    "as those of a count sketch or of k random signs per column, the sketch is exactly as private as one Gaussian "
    "mechanism with mu = sqrt(r)/w, which needs slightly less noise than a Gaussian M (whose columns vary in "
    "norm) and a small part of its multiplications.",
    evidence=lambda: [
        shown("One Gaussian shift of a norm that does not depend on M.", fixed_norm_proof()),
        shown("400 rows, delta = 1/16367: enough noise, and 1% less.", fixed_norm_certificate()),
    ],
)


def decide_had_released(claim: Claim, context: Context) -> Verdict:
    """CD-HAD-REL: neither the construction nor the norm."""
    certificate = instance(
        {"q": "1/10", "r": 204, "square": 1},
        # E M_ij^2 = 2 (q/2) / (q r); r rows, then another division by sqrt(r)
        "r * (2 * (q / 2) * (square / (q * r))) == square",
        "r * (2 * (q / 2) * (square / (q * r))) / r < square / 200",
        supports="refuted",
    )
    return decided(
        claim,
        "refuted",
        "The code has neither H nor D, its entries are signs times a constant where Definition 3.7 has Gaussian "
        "variables, and it divides by sqrt(r) twice: once in the matrix, which already preserves squared norms on "
        "average, and once more. With its 204 rows squared norms shrink by the factor 204. (That the code has no H "
        "and no D was read in it, not computed.)",
        evidence=shown("Mean squared norm of the image of a unit vector: 1/r instead of 1.", certificate),
    )


def fixed_norm_proof() -> dict[str, Any]:
    """One Gaussian shift of a norm that does not depend on M."""
    return proof(
        "Given M, the outputs on neighbors that differ by v in row i differ by the shift (M e_i) v'/w of a standard "
        "Gaussian matrix, of norm |M e_i| |v|/w = sqrt(r) |v|/w <= mu whatever M is. Step 1 is its loss; steps 2 and 3 "
        "show that its delta, Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), grows with mu, so that the mean over M "
        "is at most the delta of mu = sqrt(r)/w. It is attained: |v| = 1, and a row of large norm reveals M e_i.",
        *shift_steps(),
        identity("squared norm of a column of k entries +-sqrt(r/k)", "k * (r / k) == r"),
        rests_on=[shifted_gaussian("claim: with any M that does not depend on the data")],
    )


def subgaussian_proof() -> dict[str, Any]:
    """The moment generating function of a sparse entry is at most a Gaussian one."""
    return proof(
        "E e^(tP) = 1 - q + q e^x with x = t^2/(2q) >= 0, and with X = e^x >= 1 that is at most X (step 1): "
        "sub-Gaussian with c^2 = 1/q. As x grows the left side is at least q e^x, so no smaller c^2 will do for all t.",
        smt("the mixture is at most the Gaussian", "X >= 1, 0 < q, q <= 1", "1 - q + q * X <= X", model="X = 1, q = 1"),
    )


def sparse_lines_proof() -> dict[str, Any]:
    """Two items, two users: the lines of one-entry rows of P H D R1 differ between neighbors, for every w > 0."""
    return proof(
        f"{_LIFTED} A row of P with one entry g gives g/sqrt(2) times the sum or the difference of the two lifted "
        "rows, whatever D is. Call sum and difference of its two coordinates y and z. For the first matrix (y, z) is "
        "a multiple of (+-2b, 2a), and a and b are not 0 (step 1); for the second of (0, 4A) or (4B, 0) (steps 2 and "
        "3). With two entries a row of the first has a density, with none it is 0. So the event 'some row is not 0 "
        "and has y z = 0' has probability 0 on the first and at least 1 - (1 - p)^r on the second, p = 2q(1 - q).",
        smt(
            "neither a nor b is 0",
            "W > 0, 2 * a2 == 1 / 2 + W, 2 * b2 == W",
            "a2 > 0 and b2 > 0",
            model="W = 1, a2 = 3/4, b2 = 1/2",
        ),
        identity("sum of the second's rows: y = 0", "((A + B) + (A - B)) + ((B - A) + (-A - B)) == 0"),
        identity("difference of the second's rows: z = 0", "((A + B) - (A - B)) - ((B - A) - (-A - B)) == 0"),
        supports="refuted",
    )


def discrete_proof() -> dict[str, Any]:
    """Two items, two users: the possible rows of the released sketch differ between neighbors, for every w > 0."""
    return proof(
        f"{_LIFTED} With as many items as users the code's mean is the right one. A row of its matrix has entries in "
        f"{{-c, 0, c}} and gives, up to sign, c times one lifted row, their sum, or their difference. Call sum and "
        "difference of its coordinates y and z. Up to signs (y, z)/2c is (0, a), (b, 0) or (b, a) for the first "
        "matrix, and (B, A), (0, 2A) or (2B, 0) for the second. Equal ones would have a = 2A, b = 2B, or a = A; none "
        "is possible (all steps). So a published row that is not 0 tells the two apart; a row of the matrix is 0 "
        "with probability (1 - q)^2.",
        *(
            smt(
                name,
                "W > 0, 2 * a2 == 1 / 2 + W, 2 * b2 == W, 4 * A2 == 1 + W, 4 * B2 == W",
                conclusion,
                model="W = 1, a2 = 3/4, b2 = 1/2, A2 = 1/2, B2 = 1/4",
            )
            for name, conclusion in (
                ("a is not 2A", "a2 < 4 * A2"),
                ("b is not 2B", "b2 < 4 * B2"),
                ("a is not A", "a2 > A2"),
            )
        ),
        supports="refuted",
    )


def hadamard_instance(sizes: Sequence[int]) -> dict[str, Any]:
    """#{i < n: bit a of i is 0} - #{i < n: bit a is 1} = 2^a, the inner product of columns 1 and 2^a + 1 times n."""
    values: dict[str, Any] = {}
    formulas = []
    for index, size in enumerate(sizes):
        values |= {f"n{index}": size, f"b{index}": _low_bit(size)}
        n, b = f"n{index}", f"b{index}"
        formulas += [f"{_inner_product(n, b)} == {b} / {n}", f"{b} < {n}", f"{_inner_product(n, b)} > 0"]
    return instance(values, *formulas, supports="refuted")


def subspace_instance() -> dict[str, Any]:
    """q = 1/2 = 1/m, eight rows: 1 - (1 - 2q(1-q))^8 against delta = 1/2."""
    return instance(
        {"q": "1/2", "r": 8, "delta": "1/2"},
        "1 - (1 - 2 * q * (1 - q)) ** r == 255 / 256",
        "1 - (1 - 2 * q * (1 - q)) ** r > delta",
        supports="refuted",
    )


def fixed_norm_certificate() -> dict[str, Any]:
    """r = 400, delta = 1/16367 with columns of norm 20: noise that suffices, and 1% less that does not."""
    noise = {"1/2": "122.97", "1": "66.15", "8": "11.115", "64": "2.4466"}
    values: dict[str, Any] = {"m": 16367}
    profiles, formulas = {}, []
    for index, (epsilon, enough) in enumerate(noise.items()):
        values |= {f"e{index}": epsilon, f"w{index}": enough}
        for name, text in (("enough", f"w{index}"), ("less", f"99 / 100 * w{index}")):
            profiles[f"{name}{index}"] = {
                "rows": 400,
                "noise": formula(text),
                "epsilon": formula(f"e{index}"),
                "columns": "fixed",
            }
        formulas += [f"enough{index} <= 1 / m", f"less{index} > 1 / m"]
    return profile(values, profiles, *formulas, supports="holds")


def short_mask_probability(num_items: int, num_users: int, density: float) -> float:
    """Pr[1 <= Binomial(n, q) <= m - 1]."""
    from scipy.special import bdtr

    return float(bdtr(min(num_users - 1, num_items), num_items, density) - (1 - density) ** num_items)


def _inner_product(n: str, b: str) -> str:
    """Text of #{i < n: the bit b of i is 0} - #{i < n: it is 1}, over n."""
    left = f"({n} - 2 * {b} * floor({n} / (2 * {b})))"  # rows after the last full period of the bit
    zeros = f"({b} * floor({n} / (2 * {b})) + min({left}, {b}))"
    return f"({zeros} - ({n} - {zeros})) / {n}"


def _low_bit(number: int) -> int:
    """The largest power of two that divides the number."""
    return number & -number


def _disjoint_lines_table() -> Table:
    rows = []
    for task in TASKS:
        chances = [short_mask_probability(task.items, task.users, q) for q in (1 / task.users, *DENSITIES)]
        rows.append([task.name, task.items, task.users, *(f"{1 - (1 - p) ** 400:.4g}" for p in chances)])
    title = "1 - (1 - p)^400, a lower bound on delta wherever no subspace is shared by the neighbors"
    return Table(title, ["task", "n", "m", "q = 1/m", *(f"q = {density}" for density in DENSITIES)], rows)
