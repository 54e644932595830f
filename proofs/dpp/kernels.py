"""General facts on L-ensembles (Fitzsimons et al., section 2): normalization, marginal kernel, positive kernels.

The first two are theorems 2.1 and 2.2 of Kulesza and Taskar, "Determinantal point processes for machine learning"
(2012); the proofs here are short enough to check. The third is false for one of the four functions listed.
"""

from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.dpp.determinants import ONE_ENTRY, determinant, minor, plus_identity, subsets, symmetric
from dpassay.proofs.notation import identity, instance, proof, smt

decide_normalization = established(
    "holds",
    "A determinant is linear in each diagonal entry, with the minor without that item as slope, so adding 1 to all of "
    "them one after the other gives the sum over all subsets. This is a known theorem, true for every square matrix L.",
    evidence=lambda: shown("The induction step, and three items in symbols.", normalization_proof()),
)

decide_marginal_kernel = established(
    "holds",
    "K is L(L + I)^-1 = I - (L + I)^-1: it has the eigenvectors of L with eigenvalues l/(1 + l), and its minors are "
    "the probabilities that given items are all chosen. Known (Macchi 1975); true for every positive semidefinite L.",
    evidence=lambda: shown("Eigenvalues for every n; inclusion probabilities in symbols.", marginal_kernel_proof()),
)

decide_kernels = established(
    "refuted",
    "The sigmoid tanh(a x.y + c) is no positive semidefinite kernel: on the two items 1 and 2, with a = 1 and c "
    "= 0, its matrix has a negative determinant, so the process would give both items together a negative "
    "probability; c = 1 fails as well. Dot products of count vectors and the RBF and polynomial functions are "
    "positive semidefinite (DP-PSD-REP). The word 'positive definite' of section 2.1 is too strong for all of "
    "them: equal items make L singular.",
    evidence=lambda: [
        shown("tanh(1) tanh(4) < tanh(2)^2.", sigmoid_instance(0, 1, 2)),
        shown("The same with c = 1: tanh(2) tanh(5) < tanh(3)^2.", sigmoid_instance(1, 1, 2)),
    ],
    repair="DP-PSD-REP",
)

decide_kernels_repaired = established(
    "holds",
    "A dot product gives a sum of squares; a constant c >= 0, sums, entrywise products, and limits of positive "
    "semidefinite kernels are positive semidefinite, which yields polynomials and, by the power series of exp, "
    "the RBF function. Adding s I raises every eigenvalue by s.",
    evidence=lambda: shown(
        "Sums of squares, products of kernels, and the factors of the RBF function.", kernels_proof()
    ),
)


def normalization_proof() -> dict[str, Any]:
    """det(L + T) for a diagonal T, expanded."""
    names = ("t1", "t2", "t3")
    matrix = symmetric(3)
    shifted = [
        [f"({cell} + {names[i]})" if i == j else cell for j, cell in enumerate(row)] for i, row in enumerate(matrix)
    ]
    terms = [
        " * ".join([minor(matrix, items), *(names[i] for i in range(3) if i not in items)]) for items in subsets(3)
    ]
    return proof(
        "One diagonal entry at a time: det(L + t e_i e_i') = det(L) + t det(L without item i), since a determinant "
        "is linear in row i and the second part, expanded along that row, is the minor (steps 1 to 3; the same "
        "expansion for every n). Doing this for i = 1, ..., n turns det(L + diag(t)) into the sum over Y of det(L_Y) "
        "times the product of t_i over the items outside Y (step 4, all three items); t = (1, ..., 1) is the claim.",
        *ONE_ENTRY,
        identity("three items with three different jitters", f"{determinant(shifted)} == {' + '.join(terms)}"),
    )


def marginal_kernel_proof() -> dict[str, Any]:
    """Eigenvalues of K for every n, inclusion probabilities for two and three items."""
    return proof(
        "If Lv = lv then (L + I)v = (1 + l)v, so (L + I)^-1 v = v/(1 + l) and Kv = v - v/(1 + l) (step 1). The "
        "subsets that contain A have the determinants of DP-Z with t_i = 0 on A and 1 elsewhere, which add up to "
        "det(L + I - I_A); divided by det(L + I) that is det(I - I_A (L + I)^-1) = det(K_A). The other steps check "
        "this with symbolic entries, K written by cofactors.",
        identity("eigenvalue of K", "1 - 1 / (1 + l) == l / (1 + l)"),
        *(_inclusion(items, number) for number, items in ((2, (0,)), (2, (0, 1)), (3, (0,)), (3, (0, 1)))),
    )


def kernels_proof() -> dict[str, Any]:
    """Dot products, constants, products, RBF, jitter."""
    return proof(
        "Dot products: z'X'Xz adds (x.z)^2 for each row x (step 1, from 0). A constant c >= 0 adds c (z_1 + ... + "
        "z_n)^2 (step 2). Entrywise products (Schur 1911): a positive semidefinite matrix is a sum of matrices vv', "
        "and (uu')(vv'), multiplied entry by entry, is ww' with w_i = u_i v_i, again a square (step 3); so all "
        "powers (x.y + c)^d are positive semidefinite. exp(-g|x-y|^2) is exp(-g|x|^2) exp(-g|y|^2) exp(2g x.y) (step "
        "4), and the last factor is a limit of sums of products with coefficients (2g)^m/m! >= 0. Jitter: z'(L + s "
        "I)z = z'Lz + s|z|^2 (step 5).",
        smt("one more row adds a square", "A >= 0", "A + y ** 2 >= 0"),
        smt("a constant adds a multiple of a square", "A >= 0, c >= 0", "A + c * y ** 2 >= 0"),
        identity("an entry of the product of two rank-one matrices", "(f * g) * (u * v) == (f * u) * (g * v)"),
        identity(
            "the RBF function as a product",
            "exp(-g * (x - y) ** 2) == exp(-g * x ** 2) * exp(-g * y ** 2) * exp(2 * g * x * y)",
        ),
        smt("jitter bounds z'Lz from below", "A >= 0, jittered == A + s * y", "jittered >= s * y"),
    )


def sigmoid_instance(constant: int, first: int, second: int) -> dict[str, Any]:
    """The 2 x 2 matrix tanh(x_i x_j + c) on two items has a negative determinant."""

    def tanh(argument: str) -> str:
        return f"((exp(2 * ({argument})) - 1) / (exp(2 * ({argument})) + 1))"

    diagonal = f"{tanh('x * x + c')} * {tanh('y * y + c')}"
    return instance(
        {"c": constant, "x": first, "y": second}, f"{diagonal} < {tanh('x * y + c')} ** 2", supports="refuted"
    )


def _inclusion(items: tuple[int, ...], number: int) -> Any:
    """Pr[items in Y] = det(K_A), with symbolic entries."""
    matrix = symmetric(number)
    shifted = plus_identity(matrix)
    total = determinant(shifted)
    above = " + ".join(minor(matrix, chosen) for chosen in subsets(number) if set(items) <= set(chosen))

    def inverse(i: int, j: int) -> str:
        rest = [[shifted[r][c] for c in range(number) if c != i] for r in range(number) if r != j]
        return f"{'-1 * ' if (i + j) % 2 else ''}{determinant(rest)} / {total}"

    kernel = [[f"({'1' if i == j else '0'} - {inverse(i, j)})" for j in range(number)] for i in range(number)]
    names = ", ".join(str(i + 1) for i in items)
    return identity(f"Pr[{{{names}}} in Y] for {number} items", f"({above}) / {total} == {minor(kernel, items)}")
