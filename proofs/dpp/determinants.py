"""What the proofs on determinantal point processes share: determinants as formulas, and four lemmas as steps.

Notation as in `claims`. L is symmetric and positive definite, x the row of one subject, a_Y = x_Y' L_Y^-1 x_Y.
Eliminating the items of L one by one (the decomposition L = T D T' with unit triangular T) turns determinants into
products of pivots and x' L^-1 x into a sum of squares over pivots, so that statements about n items become one step of
an induction: the elimination of one item.

    RANK_ONE   det(L + xx') = det(L) (1 + x' L^-1 x), the matrix determinant lemma
    MONOTONE   a_Y grows with Y, from a_empty = 0
    SPECTRAL   a <= N/s, s/(1+s) a <= b <= N/(1+s) when L >= s I and |x|^2 <= N
    ONE_ENTRY  det is affine in one diagonal entry, with the minor as its slope
"""

from collections.abc import Sequence
from itertools import combinations

from dpassay.proofs.notation import Step, cited, identity, smt
from dpassay.proofs.theorems import WEYL

Matrix = Sequence[Sequence[str]]


def subsets(num_items: int) -> list[tuple[int, ...]]:
    """All subsets of the items 0, ..., num_items - 1, small ones first."""
    return [chosen for size in range(num_items + 1) for chosen in combinations(range(num_items), size)]


def symmetric(num_items: int, name: str = "l") -> Matrix:
    """A symmetric matrix of variables l11, l12, ...; at most nine items."""
    return [[f"{name}{min(i, j)}{max(i, j)}" for j in range(1, num_items + 1)] for i in range(1, num_items + 1)]


def plus_identity(matrix: Matrix, scale: str = "1") -> Matrix:
    """matrix + scale I, as texts."""
    return [[f"({cell} + {scale})" if i == j else cell for j, cell in enumerate(row)] for i, row in enumerate(matrix)]


def plus_row(matrix: Matrix, row: Sequence[str]) -> Matrix:
    """matrix + xx' for the row x, as texts."""
    return [[f"({cell} + {row[i]} * {row[j]})" for j, cell in enumerate(cells)] for i, cells in enumerate(matrix)]


def minor(matrix: Matrix, items: Sequence[int]) -> str:
    """Text of the determinant of the submatrix on `items`."""
    return determinant([[matrix[i][j] for j in items] for i in items])


def determinant(matrix: Matrix) -> str:
    """Text of a determinant, expanded along the first row; 1 for the empty matrix."""
    if not matrix:
        return "1"
    terms = []
    for column, cell in enumerate(matrix[0]):
        if cell == "0":
            continue
        rest = determinant([[*row[:column], *row[column + 1 :]] for row in matrix[1:]])
        terms.append(f"{'-' if column % 2 else '+'} {cell}" + (f" * {rest}" if rest != "1" else ""))
    return f"({' '.join(terms).removeprefix('+ ')})" if terms else "0"


# p: the pivot L_11; f: x_1; c, e: L_1i, L_1j; d: L_ij; y, z: x_i, x_j; q: the quadratic form of the items that remain;
# (g, v) solves L (g, v) = x, where cv and yv stand for the dot products of v with the row L_1. and with the rest of x.
RANK_ONE: tuple[Step, ...] = (
    identity(
        "eliminating one item from L + xx' leaves the rest of L plus a multiple of ww'",
        "d + y * z - (c + f * y) * (e + f * z) / (p + f ** 2) == d - c * e / p + p / (p + f ** 2) * (y - f * c / p) "
        "* (z - f * e / p)",
    ),
    identity(
        "its quadratic form is that of the first item plus that of w",
        "f * ((f - cv) / p) + yv == f ** 2 / p + (yv - f * cv / p)",
    ),
    identity(
        "one more item keeps det(L + xx') = det(L) (1 + x' L^-1 x)",
        "(p + f ** 2) * (1 + p / (p + f ** 2) * q) == p * (1 + (f ** 2 / p + q))",
    ),
    *(
        identity(
            f"the same for {number} item{'s' if number > 1 else ''}, all entries symbolic",
            f"{determinant(plus_row(symmetric(number), _row))} - {determinant(symmetric(number))} == "
            + " + ".join(
                f"{_row[i]} * {_row[j]} * {'-1 * ' if (i + j) % 2 else ''}"
                + determinant(
                    [[symmetric(number)[r][c] for c in range(number) if c != j] for r in range(number) if r != i]
                )
                for i in range(number)
                for j in range(number)
            ),
        )
        for number, _row in ((1, ("x1",)), (2, ("x1", "x2")), (3, ("x1", "x2", "x3")))
    ),
)

MONOTONE: tuple[Step, ...] = (
    smt(
        "one more item adds a square over a positive pivot to a_Y",
        "p > 0, q >= 0",
        "0 <= q and q <= q + w ** 2 / p",
        model="p = 1, q = 0",
    ),
)

# l: an eigenvalue; c: the squared component of x along its eigenvector; A, B: the sums so far; k, h: their bounds.
SPECTRAL: tuple[Step, ...] = (
    smt(
        "along one eigenvector, b keeps at least s/(1+s) of a",
        "s > 0, l >= s, c >= 0",
        "s / (1 + s) * (c / l) <= c / (1 + l)",
        model="s = 1, l = 1, c = 1",
    ),
    smt(
        "along one eigenvector, a is at most c/s",
        "s > 0, l >= s, c >= 0",
        "c / l <= c / s",
        model="s = 1, l = 1, c = 1",
    ),
    smt(
        "along one eigenvector, b is at most c/(1+s)",
        "s > 0, l >= s, c >= 0",
        "c / (1 + l) <= c / (1 + s)",
        model="s = 1, l = 1, c = 1",
    ),
    smt("one more eigenvector keeps a bound between two sums", "A <= k * B, u <= k * v", "A + u <= k * (B + v)"),
)


def _one_entry(number: int) -> Step:
    matrix = symmetric(number)
    last = number - 1
    raised = [
        [f"({cell} + t)" if i == j == last else cell for j, cell in enumerate(row)] for i, row in enumerate(matrix)
    ]
    return identity(
        f"det(L + t e e') = det(L) + t det(L without that item), {number} items",
        f"{determinant(raised)} == {determinant(matrix)} + t * {minor(matrix, range(last))}",
    )


ONE_ENTRY: tuple[Step, ...] = tuple(_one_entry(number) for number in (1, 2, 3))

# old, new: the quadratic forms of L and L + xx' at a vector v; dot: x.v.
FORM_GROWS: Step = smt("one more subject adds a square to the quadratic form", "new == old + dot ** 2", "new >= old")
EIGENVALUES_GROW = cited(
    *WEYL,
    {
        "L is symmetric": "claim: kernel X'X + s I over the items, that of a neighbor",
        "xx' is positive semidefinite": "one more subject adds a square to the quadratic form",
    },
)
