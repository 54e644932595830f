"""Positive definiteness and differential privacy (Fitzsimons et al., Theorem 3.1 and the sentences around it).

Only if: one reader of one item makes a set possible that a singular kernel excludes. If: not without a lower bound on
the eigenvalues that holds for all datasets at once; with it, and bounded rows, epsilon is at most log(1 + B^2/s).
"""

from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.dpp.determinants import MONOTONE, ONE_ENTRY, RANK_ONE, SPECTRAL
from dpassay.proofs.notation import cited, proof, smt
from dpassay.proofs.theorems import RANK_PRINCIPAL

decide_zero_eigenvalue = established(
    "holds",
    "Without jitter every dataset with a zero eigenvalue has a neighbor with one more reader of a single item for "
    "which that eigenvalue is positive: a coin that never fell heads now does, and a set of items that was impossible "
    "is possible. The smallest case is one item and an empty database. It needs that the eigenvalue is not 0 on both "
    "neighbors: where it is 0 on every dataset, Delta_u does not count it and privacy can hold (DP-T31-GEN).",
    evidence=lambda: [
        shown("For every singular kernel, one more reader.", singular_proof()),
        shown("One item: impossible without readers, probability 1/2 with one.", one_item_witness()),
    ],
)

decide_theorem = established(
    "holds",
    "If L is singular, take a largest set Y of items with a positive determinant and an item i outside: Y with i has "
    "probability 0, and one more reader of i alone gives it the determinant of L_Y, which is positive. No finite "
    "epsilon allows that. The paper forgets an assumption: that some neighbor has the direction that is missing. "
    "Kernels that are singular on all datasets, two items with equal embeddings for instance, can be private "
    "(DP-T31-GEN), and strict definiteness is not enough either (DP-PD-UNIF); the repair is a common lower bound.",
    evidence=lambda: shown("For every n, every singular L = X'X + S.", singular_proof()),
    repair="DP-T31-REP",
)

decide_theorem_every_kernel = established(
    "refuted",
    "Two items with the same embedding have L = c (1 1; 1 1), where c is a jitter s plus the number of subjects: "
    "always singular, the two items never appear together, and yet one subject more or less changes no "
    "probability by more than a factor 1 + 1/s. An eigenvalue that is 0 on every dataset tells nothing. The "
    "theorem needs a neighbor that makes it positive (DP-T31).",
    evidence=lambda: shown("All ratios of the singular process lie within 1 + 1/s.", equal_items_proof()),
    repair="DP-T31-REP",
)

decide_uniform = established(
    "refuted",
    "Take one item, rows in (0, 1], at least one subject: L = sum of x^2 is strictly positive definite on every "
    "dataset, but a single small x brings it as near to 0 as one likes, and a second subject with x = 1 then "
    "changes the probability of the item by more than any factor. Each eigenvalue must stay above one s > 0 on "
    "all datasets (DP-T31-REP). (Binary rows are an exception: adding rows only raises eigenvalues, and there "
    "are finitely many invertible binary n x n matrices to start from.)",
    evidence=lambda: shown("For every r >= 1 a pair of neighbors whose ratio exceeds r.", unbounded_proof()),
    repair="DP-T31-REP",
)

decide_theorem_repaired = established(
    "holds",
    "With all eigenvalues at least s on every dataset and |x|^2 at most B^2, one subject changes no probability "
    "by more than a factor 1 + B^2/s. For L = X'X + s I the exact value, a little smaller, is DP-EPS-REP; the "
    "kernel need not have this form here, as long as a subject adds xx' to it.",
    evidence=lambda: shown("For every n.", uniform_proof()),
)


def singular_proof() -> dict[str, Any]:
    """A singular positive semidefinite L, and one more reader of one item."""
    return proof(
        "Let r < n be the rank of L and Y a set of r items with det(L_Y) > 0 (a positive semidefinite matrix has a "
        "principal minor of the size of its rank; Y is empty if L = 0). For an item i outside Y the set Z = Y with i "
        "has det(L_Z) = 0, as all minors larger than the rank vanish, so P(Z) = 0. One more subject who read only i "
        "adds 1 to the entry L_ii: det(L'_Z) = det(L_Z) + det(L_Y) > 0 (steps 1 to 3, t = 1, and 4), and det(L' + I) "
        "> 0, so P'(Z) > 0. For the coins: L' has rank r + 1, since L'_Z is invertible, so the eigenvalue number r + "
        "1 was 0 and is now positive. Step 5 is the whole of it for two items, in symbols.",
        *ONE_ENTRY,
        smt(
            "the set becomes possible",
            "minor == 0, below > 0, t == 1, after == minor + t * below, total > 0",
            "minor / total == 0 and after / total > 0",
            model="minor = 0, below = 1, t = 1, after = 1, total = 1",
        ),
        smt(
            "two items of rank one: one of the two readers makes both items possible together",
            "f >= 0, g >= 0, f * g == c ** 2, f + g > 0",
            "(f + 1) * g - c ** 2 > 0 or f * (g + 1) - c ** 2 > 0",
            model="f = 1, g = 1, c = 1",
        ),
        rests_on=[
            cited(*RANK_PRINCIPAL, {"L is symmetric": "claim: kernel X'X + s I over the items, that of a neighbor"})
        ],
    )


def equal_items_proof() -> dict[str, Any]:
    """L = c (1 1; 1 1) with c = s + number of subjects."""
    return proof(
        "det(L_Y) is 1 for the empty set, c for one item, 0 for both; they add up to 1 + 2c. One subject more turns "
        "c into c + 1. The three steps bound the ratios for the empty set and for one item by 1 + 1/s in either "
        "direction, for every c >= s > 0; the pair of items is impossible throughout. So log(1 + 1/s) is a finite "
        "epsilon although det L = 0 for every dataset.",
        smt(
            "the empty set loses at most a factor 1 + 1/s",
            "s > 0, c >= s",
            "1 / (1 + 2 * c) <= (1 + 1 / s) * (1 / (1 + 2 * (c + 1)))",
            model="s = 1, c = 1",
        ),
        smt(
            "one item gains at most a factor 1 + 1/s",
            "s > 0, c >= s",
            "(c + 1) / (1 + 2 * (c + 1)) <= (1 + 1 / s) * (c / (1 + 2 * c))",
            model="s = 1, c = 1",
        ),
        smt(
            "the empty set never gains, one item never loses",
            "c > 0",
            "1 / (1 + 2 * (c + 1)) <= 1 / (1 + 2 * c) and c / (1 + 2 * c) <= (c + 1) / (1 + 2 * (c + 1))",
            model="c = 1",
        ),
        supports="refuted",
    )


def unbounded_proof() -> dict[str, Any]:
    """L = t = x^2 for one subject, t + 1 after another with x = 1."""
    return proof(
        "One item: P({1}) = L/(1 + L), with L = t = x^2 before and t + 1 after a subject with x = 1 joins. For any r "
        ">= 1 take t = 1/(3r): the ratio exceeds r, though L is positive on both datasets.",
        smt(
            "the ratio exceeds r",
            "r >= 1, 3 * r * t == 1",
            "t > 0 and (t + 1) / (2 + t) > r * (t / (1 + t))",
            model="r = 1, t = 1/3",
        ),
        supports="refuted",
    )


def uniform_proof() -> dict[str, Any]:
    """Both ratios are at most 1 + N/s when all eigenvalues are at least s."""
    return proof(
        "As in DP-EPS-REP: P'(Y)/P(Y) = (1 + a_Y)/(1 + b) with 0 <= a_Y <= a <= N/s and 0 <= b <= N/(1+s), which "
        "uses only that the eigenvalues of L are at least s and that L' = L + xx'. The last step bounds both ratios "
        "by 1 + N/s.",
        *RANK_ONE,
        *MONOTONE,
        *SPECTRAL,
        smt(
            "both ratios are at most 1 + N/s",
            "s > 0, N >= 0, 0 <= q <= N / s, 0 <= b <= N / (1 + s)",
            "(1 + q) <= (1 + N / s) * (1 + b) and 1 + b <= (1 + N / s) * (1 + q)",
            model="s = 1, N = 1, q = 0, b = 0",
        ),
    )


def one_item_witness(jitter: str = "0") -> dict[str, Any]:
    """One item and one reader of it, added to the empty database."""
    parameters = {"jitter": jitter, "kernel": "dot", "scale": "1", "degree": 2, "offset": "0", "max_square_norm": None}
    inputs = {
        "mechanism": {"id": "dpp", "variant": "paper", "parameters": parameters},
        "relation": "add_or_remove_one:user",
        "epsilon": "inf",
        "delta": "0",
        "dataset1": [[1]],
        "dataset2": [[None]],
        "event": [[0]],
        "supports": "holds",
    }
    return {"kind": "witness", "inputs": inputs}
