"""Lemma 1 of Lu and Shen (PPNS): more expected draws mean more of every candidate. Means are as in `manly_mean`."""

from typing import Any

from dpassay.proofs.decisions import established, shown
from dpassay.proofs.notation import possible, proof, smt
from dpassay.proofs.ppns.manly_mean import POWER

decide_lemma1 = established(
    "holds",
    "Under equation (12) both selections have one parameter A each, and every mean moves the same way with it; "
    "for the exact means the shorter selection is a prefix of the longer one, so every probability is strictly "
    "larger in the longer.",
    "The printed proof is wrong on the way: it writes A^(1/w) where (12) gives A^w, the weight of the first "
    "candidate for everyone's, and k for n when summing; at weights (2, 2, 1), k = 2, A = 1/2 the printed "
    "expression for the sum 2 is negative.",
    "The lemma needs fixed numbers of draws: with a random number it fails for two candidates of weights 2 and 1, "
    "and Lemma 2 applies it to random numbers.",
    evidence=lambda: [
        shown("The conclusion, for Manly's mean and for the exact one.", lemma1_proof()),
        shown(
            "The printed steps fail on an instance that satisfies (12) exactly, the corrected ones hold there.",
            lemma1_misprint_proof(),
        ),
        shown(
            "Without fixed numbers of draws the lemma is false, so the assumption is needed.",
            lemma1_random_counts_proof(),
        ),
    ],
)


def lemma1_proof() -> dict[str, Any]:
    """Lemma 1 for fixed numbers of draws."""
    return proof(
        f"{POWER} 'Only if' is a sum of strict inequalities (step 1, candidate by candidate). 'If', Manly: the two "
        "selections have parameters A and B; for each candidate, and hence for the sum of the others, the power is "
        "monotone in the parameter; so a larger total forces every single mean to be larger (step 2). 'If', exact: "
        "with j < k draws from the same candidates the first j of the k draws follow the law of j draws, so mu_i(k) - "
        "mu_i(j) is at least the probability that draw j + 1 <= n yields i, a sum over the sets S drawn before, "
        "without i, of Pr(S) w_i / (weight outside S), each positive (step 3; Pr(S) > 0 is PP-PMF); the totals are the "
        "numbers of draws, so a larger total is a larger number of draws and gives every candidate more (step 4).",
        smt(
            "larger means have a larger sum, one candidate at a time",
            "sum_1 >= sum_2, mu_1 > mu_2",
            "sum_1 + mu_1 > sum_2 + mu_2",
        ),
        smt(
            "Manly: a larger total makes each mean larger",
            "implies(A < B, power_A < power_B and others_A <= others_B), implies(A == B, power_A == power_B and "
            "others_A == others_B), implies(A > B, power_A > power_B and others_A >= others_B), (1 - power_A) + (n - "
            "1 - others_A) > (1 - power_B) + (n - 1 - others_B)",
            "1 - power_A > 1 - power_B",
            model="A = 1/4, B = 1/2, power_A = 1/16, power_B = 1/4, others_A = 1/4, others_B = 1/2, n = 2",
        ),
        smt(
            "exact: each set drawn before leaves the candidate a positive chance at the next draw",
            "probability > 0, weight > 0, weight_outside >= weight",
            "probability * weight / weight_outside > 0",
            model="probability = 1, weight = 1, weight_outside = 2",
        ),
        smt(
            "exact: totals are numbers of draws, and more draws mean larger probabilities",
            "implies(k > j, mu_k > mu_j), implies(k == j, mu_k == mu_j), implies(k < j, mu_k < mu_j), total_k == k, "
            "total_j == j",
            "implies(total_k > total_j, mu_k > mu_j) and implies(mu_k > mu_j, total_k > total_j)",
            model="k = 1, j = 1, total_k = 1, total_j = 1, mu_k = 1/2, mu_j = 1/2",
        ),
    )


def lemma1_misprint_proof() -> dict[str, Any]:
    """The printed steps are false where (12) holds exactly, the corrected ones true."""
    instance = ["mu_1 == 3 / 4", "mu_2 == 3 / 4", "mu_3 == 1 / 2", "A == 1 / 2", "k == 2", "n == 3"]
    instance_holds = ["(1 - mu_1) == A ** 2", "(1 - mu_2) == A ** 2", "(1 - mu_3) == A", "mu_1 + mu_2 + mu_3 == k"]
    model = "mu_1 = 3/4, mu_2 = 3/4, mu_3 = 1/2, A = 1/2, k = 2, n = 3"
    return proof(
        "Weights (2, 2, 1) with two draws solve (12) in rationals: A = 1/2 and mu = (3/4, 3/4, 1/2). Write root for "
        "A^(1/w_1) = A^(1/2), the root the paper prints. Its two lines 'mu_i = 1 - A^(1/w_1)' and 'sum mu_i = k - sum "
        "A^(1/w_1)' then give wrong values; 'mu_i = 1 - A^(w_i)' and 'sum mu_i = n - sum A^(w_i)' give the right ones.",
        possible("the instance satisfies (12) and sums to k", [*instance, *instance_holds], model),
        smt(
            "the printed mu_1 = 1 - A^(1/w_1) is false there",
            "A == 1 / 2, root > 0, root ** 2 == A, mu_1 == 3 / 4",
            "1 - root < 3 / 10 and mu_1 > 1 - root",
        ),
        smt(
            "the printed sum k - n A^(1/w_1) is negative where the sum is 2",
            "A == 1 / 2, root > 0, root ** 2 == A, k == 2, n == 3",
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
        "Two candidates of weights 2 and 1. One method draws both with probability q and none otherwise: both means "
        "are q. The other always draws one: the means are 2/3 and 1/3. For q = 3/5 the first method selects more on "
        "average, and yet the first candidate less often. So 'fixed numbers of draws' cannot be dropped.",
        possible(
            "a larger total with a smaller mean of the first candidate",
            "0 <= q, q <= 1, random_1 == q, random_2 == q, fixed_1 == 2 / 3, fixed_2 == 1 / 3, "
            "random_1 + random_2 > fixed_1 + fixed_2, random_1 < fixed_1",
            "q = 3/5, random_1 = 3/5, random_2 = 3/5, fixed_1 = 2/3, fixed_2 = 1/3",
        ),
    )
