"""Claims of Fitzsimons et al., "Naturally Private Recommendations with Determinantal Point Processes" (DPP)."""

from dpassay.core.claims import Claim, claims_of

TITLE = (
    "Naturally Private Recommendations with Determinantal Point Processes (Fitzsimons, Pasqualini, Pisarczyk, Usynin)"
)

NOTATION: tuple[tuple[str, str], ...] = (
    ("n, i", "number of items; one item, or one eigenvalue"),
    ("D, D'", "the subjects' rows, and the same with one subject added or removed, or replaced where a claim says so"),
    ("X, x, x_i", "matrix of a row x per subject, 0 or 1 where binary; in DP-PSD the vector of item i (sec. 2.3)"),
    ("L, L', s", "kernel X'X + s I over the items, that of a neighbor, and the jitter s (the paper's sigma, sec. 3.1)"),
    ("S", "a fixed positive semidefinite matrix in place of s I (DP-T31)"),
    ("I, L_Y, x_Y", "identity matrix; rows and columns of L, entries of x, of the items in Y"),
    ("Y, P(Y)", "the recommended set of items; its probability det(L_Y)/det(L + I) (sec. 2.1)"),
    ("K, K_A, A", "marginal kernel L(L + I)^-1, and its part of the items in A (sec. 2.2)"),
    ("l, l_i, l'_i", "eigenvalues of L and of L' in descending order (the paper's lambda); l_min the smallest"),
    ("v, z, e_i", "an eigenvector; any vector; the unit vector of item i"),
    ("RBF, g, c, d and a in DP-PSD", "the kernel exp(-g |x_i - x_j|^2), and the kernels' parameters (sec. 2.3)"),
    ("eps, epsilon", "privacy loss in nats"),
    ("eps*, eps(Y), eps(J)", "smallest epsilon of the whole sampler, of its released set, of its coins"),
    ("u, Delta_u", "score log l_i of an eigenvector, and the change of the scores of all of them (sec. 3.1.1)"),
    (
        "Delta_L",
        "change of L between neighbors, in the Euclidean norm of its entries unless a claim says so (sec. 3.1)",
    ),
    ("ones(n, n)", "the matrix of ones"),
    ("B", "largest norm |x| of a row; B^2 = n for binary rows"),
    ("a_Y, a, b", "x_Y' L_Y^-1 x_Y, the same for all items, and x'(L + I)^-1 x"),
    ("EigenvalueSampling, J", "phase 1 and the set of its coins that fell heads (Algorithm 1)"),
    (
        "SubsetConstruction, d",
        "phase 2, which draws items by |Proj e_i|^2 + d; d its jitter (the paper's delta, sec. 3.1.2)",
    ),
    ("V, W, Proj_V", "selected eigenvectors of L and of a neighbor; projection on what they span"),
    ("s in DP-SUB, DP-SUB2", "total shift of the weights of phase 2 (the paper's s)"),
    ("k, t", "number of selected eigenvectors or of items shown; number of items drawn so far"),
    ("T, eps(T), rho(T), zCDP", "number of recommendations; what all cost, in epsilon and as rho-zCDP"),
    ("r", "log(1 + B^2/s), the range of the losses of one recommendation"),
    ("p in DP-REPLACE-BIN-REP", "number of items in one of two exchanged rows, of which the other has the rest"),
    ("P_k, P'_k, E", "laws of Y given |Y| = k on both datasets; expectation under the first"),
    ("delta(eps)", "smallest delta for which the sampler is (eps, delta)-private: its privacy profile"),
    ("q, j, Bin", "number of items of one reader; how many of them the binomial law Bin selects"),
)

_claim = claims_of("dpp")

_DOT = "L = X'X + s I with s > 0"
_ROWS = "every row has |x|^2 <= B^2 (B^2 = n for binary rows); any number of subjects, none included"
_FROBENIUS = (
    "the norm of L - L' is the Euclidean one of its entries (Frobenius), as the line Delta_L^2 = sum l_i^2 needs"
)
_IDEAL = "ideal arithmetic: eigendecomposition and coins are exact"

CLAIMS: tuple[Claim, ...] = (
    _claim(
        id="DP-Z",
        place="sec. 2.1",
        statement="The determinants of all principal submatrices of L add up to det(L + I), the normalization constant.",
        formula="sum over Y of det(L_Y) = det(L + I)",
        decide="kernels:decide_normalization",
    ),
    _claim(
        id="DP-K",
        place="sec. 2.2",
        statement="The marginal kernel K = L(L + I)^-1 has the eigenvectors of L and the eigenvalues l/(1 + l), and its "
        "minors are the inclusion probabilities.",
        formula="L v = l v implies K v = l/(1 + l) v; Pr[A subset of Y] = det(K_A)",
        decide="kernels:decide_marginal_kernel",
    ),
    _claim(
        id="DP-PSD",
        place="sec. 2.3",
        statement="Dot products of count vectors, and the RBF, polynomial and sigmoid functions listed as kernels, give "
        "positive semidefinite matrices L.",
        formula="z'Lz >= 0 for all z, with L_ij = x_i.x_j, exp(-g |x_i - x_j|^2), (x_i.x_j + c)^d, tanh(a x_i.x_j + c)",
        predicate="holds if all four do for all inputs and all g > 0, a > 0, c >= 0, integers d >= 1; refuted by one "
        "that does not",
        decide="kernels:decide_kernels",
    ),
    _claim(
        id="DP-PSD-REP",
        source="ours",
        place="sec. 2.3, repaired",
        statement="Dot products, the RBF function, and polynomials with c >= 0 and an integer exponent give positive "
        "semidefinite matrices; with s I added, their eigenvalues are at least s.",
        formula="z'Lz >= 0 and z'(L + s I)z >= s |z|^2 for all z",
        assumptions=("g > 0, c >= 0, d a positive integer", "the sigmoid is left out"),
        decide="kernels:decide_kernels_repaired",
    ),
    _claim(
        id="DP-EXP",
        place="sec. 3",
        statement="Keeping eigenvector i with probability l_i/(1 + l_i) is the exponential mechanism's choice between "
        "'in' with score log l_i and 'out' with score 0.",
        formula="exp(eps u/(2 Delta_u)) / (exp(eps u/(2 Delta_u)) + 1) = l/(1 + l) for u = log l, eps = 2 Delta_u",
        assumptions=("l_i > 0",),
        decide="eigenvalues:decide_exponential_mechanism",
    ),
    _claim(
        id="DP-DL",
        place="sec. 3, special case",
        statement="For a binary matrix one subject changes L by at most n in norm, and a reader of everything by exactly n.",
        formula="Delta_L = max |L - L'| = |ones(n, n)| = n",
        predicate="judged in both the operator and the Frobenius norm, for a subject added, removed or replaced",
        decide="eigenvalues:decide_kernel_sensitivity",
    ),
    _claim(
        id="DP-INF",
        place="sec. 3.1.1",
        statement="If any eigenvalue is 0, Delta_u is infinite and differential privacy is not achieved.",
        formula="l_i = 0 implies that a neighbor has l'_i > 0, so |log l'_i - log l_i| and the loss are infinite",
        predicate="judged in the paper's special case: L = X'X of binary rows without jitter, all binary rows allowed",
        assumptions=("L = X'X; every binary row may occur",),
        about=("dpp",),
        decide="definiteness:decide_zero_eigenvalue",
    ),
    _claim(
        id="DP-T31",
        place="Theorem 3.1",
        statement="A determinantal point process achieves eps-differential privacy only if L is strictly positive definite.",
        formula="a singular L(D) for some dataset D implies an infinite loss between some neighbors",
        predicate="judged for L = X'X + S with a fixed positive semidefinite S, all binary rows allowed; the explanation says what "
        "happens for other kernels",
        assumptions=("L = X'X + S, S fixed and positive semidefinite; every binary row may occur",),
        decide="definiteness:decide_theorem",
    ),
    _claim(
        id="DP-T31-GEN",
        place="Theorem 3.1, read for every kernel",
        statement="Whatever the kernel, a process whose L is singular is not eps-differentially private.",
        formula="det L(D) = 0 for some D implies an infinite loss",
        predicate="refuted by a kernel that is singular on every dataset and has a finite epsilon",
        decide="definiteness:decide_theorem_every_kernel",
    ),
    _claim(
        id="DP-PD-UNIF",
        place="Theorem 3.1",
        statement='Strict positive definiteness "thereby prevents any eigenvalue from approaching zero", so that it is '
        "enough for a finite epsilon.",
        formula="L(D) positive definite for every D implies inf over D of l_min(L(D)) > 0 and a finite epsilon",
        predicate="judged for dot-product kernels of real bounded rows",
        decide="definiteness:decide_uniform",
    ),
    _claim(
        id="DP-T31-REP",
        source="ours",
        place="Theorem 3.1, repaired",
        statement="If every eigenvalue is at least s > 0 on every dataset and rows are bounded, the process is eps-differentially "
        "private for a finite eps.",
        formula="l_min(L(D)) >= s for all D and |x|^2 <= B^2 imply eps <= log(1 + B^2/s)",
        assumptions=("L' = L + x x'", "every row has |x|^2 <= B^2"),
        decide="definiteness:decide_theorem_repaired",
    ),
    _claim(
        id="DP-L2",
        place="sec. 3.1.1",
        statement='"Delta_L^2 = sum_i l_i^2": the squared sensitivity of L is the sum of its squared eigenvalues.',
        formula="Delta_L^2 = sum_i l_i^2",
        predicate="l_i are the eigenvalues of L, as everywhere in the paper",
        decide="eigenvalues:decide_squared_eigenvalues",
    ),
    _claim(
        id="DP-DU",
        place="sec. 3.1.1",
        statement="Delta_u = n log(1 + Delta_L/(s sqrt n)) bounds the change of the scores log l_i, summed over i.",
        formula="sum_i |log l'_i - log l_i| <= n log(1 + Delta_L/(s sqrt n))",
        assumptions=(_FROBENIUS, "all eigenvalues of L and L' are at least s > 0"),
        decide="eigenvalues:decide_score_sensitivity",
    ),
    _claim(
        id="DP-DU-OP",
        misprint="the printed norm, with index 2, stands for the Frobenius norm (DP-DU)",
        place="sec. 3.1.1, norm as printed",
        statement="The same bound holds when Delta_L bounds |L - L'|_2, the operator norm.",
        formula="sum_i |log l'_i - log l_i| <= n log(1 + |L - L'|_2/(s sqrt n))",
        assumptions=("all eigenvalues of L and L' are at least s > 0",),
        decide="eigenvalues:decide_score_sensitivity_operator",
    ),
    _claim(
        id="DP-DU-REP",
        source="ours",
        place="sec. 3.1.1, sharpened",
        statement="One subject, added or removed, changes the scores log l_i by at most log(1 + B^2/s) in sum, and by no less than that "
        "for one dataset; in the operator norm n log(1 + Delta_L/s) is right for any change of L.",
        formula="sum_i |log l'_i - log l_i| = log(1 + a) <= log(1 + B^2/s); <= n log(1 + |L - L'|_2/s) in general",
        assumptions=(_DOT, _ROWS),
        decide="eigenvalues:decide_score_sensitivity_sharp",
    ),
    _claim(
        id="DP-WORST",
        place="sec. 3.1.1",
        statement="In the worst case one subject moves every eigenvalue from s to s + Delta_L/sqrt n.",
        formula="l_i = s and l'_i = s + Delta_L/sqrt n for i = 1..n",
        predicate="judged for n >= 2 and a subject of a dot-product kernel: some neighboring pair makes this change",
        assumptions=(_DOT,),
        decide="eigenvalues:decide_worst_case",
    ),
    _claim(
        id="DP-EPS",
        place="sec. 3.2",
        statement="EigenvalueSampling, as the vector of coin flips, is eps-differentially private with eps = 2 Delta_u.",
        formula="eps = 2 n log(1 + Delta_L/(s sqrt n))",
        predicate="read as a guarantee; the explanation says how loose it is",
        assumptions=(_FROBENIUS, "coins are numbered by descending eigenvalue; eigenvectors are not released", _IDEAL),
        decide="eigenvalues:decide_phase_one",
    ),
    _claim(
        id="DP-EPS-REP",
        source="ours",
        place="sec. 3.2 and 4, the question left open",
        statement="The whole sampler has exactly this epsilon, both phases and both directions included: no smaller one will do.",
        formula="eps* = max{ log(1 + B^2/s) - log(1 + B^2/(1 + s)), log(1 + B^2/(1 + s)) }",
        assumptions=(_DOT, _ROWS, "one subset is released", _IDEAL),
        decide="exact_privacy:decide_exact_epsilon",
    ),
    _claim(
        id="DP-SUM",
        place="sec. 3",
        statement='"The total privacy budget spent is a combination of both" phases: SubsetConstruction costs something on top of '
        "EigenvalueSampling.",
        formula="eps(Y) > eps(J) for some neighboring pair",
        predicate="refuted if the smallest epsilon of the released subset is that of phase 1 alone, for every neighboring pair",
        assumptions=(_DOT, _ROWS),
        decide="exact_privacy:decide_phases_together",
    ),
    _claim(
        id="DP-EVEC",
        source="ours",
        place="Algorithm 1, EigenvalueSampling",
        statement="EigenvalueSampling as printed returns eigenvectors; publishing them is not differentially private for any epsilon.",
        formula="Pr[V = {e_1}] > 0 on one dataset and 0 on a neighbor, whatever the jitter s",
        decide="sampling:decide_eigenvectors",
    ),
    _claim(
        id="DP-SUB",
        place="sec. 3.1.2",
        statement="When the weights of SubsetConstruction, jittered by d, shift by s in total, the log-probability of its output changes by at "
        "most n(n-1) log(1 + s/((n-1)d)) - n log(1 + s/(1 + nd)).",
        formula="|log Pr[Y | V] - log Pr[Y | W]| <= n(n-1) log(1 + s/((n-1)d)) - n log(1 + s/(1 + nd)), "
        "s = sum_i | |Proj_V e_i|^2 - |Proj_W e_i|^2 |",
        predicate="s is the shift between the weights at the start ('starting with V' = V'), V and W have the same dimension; refuted by one pair",
        decide="sampling:decide_subset_bound",
    ),
    _claim(
        id="DP-SUB2",
        place="sec. 3.1.2",
        statement='The bound is "n instances" of the printed change of the components.',
        formula="n [ (n-1) log(1 + s/((n-1)d)) - n log(1 + s/(1 + nd)) ] = n(n-1) log(1 + s/((n-1)d)) - n log(1 + s/(1 + nd))",
        predicate="one instance is the sum of the n components' changes, signed or in absolute value; refuted if neither times n "
        "gives the printed bound",
        decide="sampling:decide_instances",
    ),
    _claim(
        id="DP-SUB-REP",
        source="ours",
        place="sec. 3.1.2, repaired",
        statement="SubsetConstruction with weights |Proj e_i|^2 + d, stopped after k = |V| draws, changes by at most this factor between any two "
        "selections V, W of k eigenvectors, so no eigengap is needed.",
        formula="|log Pr[Y | V] - log Pr[Y | W]| <= sum_{t<k} [ log(1 + 1/d) + log(k/(k-t)) ]",
        assumptions=("d > 0; exactly k draws without replacement, 1 <= k <= n",),
        decide="sampling:decide_subset_bound_repaired",
    ),
    _claim(
        id="DP-JIT",
        place="sec. 3.1.2",
        statement="With weights |Proj e_i|^2 + d SubsetConstruction still samples a determinantal point process and stops after |V| items.",
        formula="|Y| = |V| and Pr[Y | V] is a determinantal law",
        predicate="refuted if it can return more than |V| items, or a law that no real symmetric kernel has",
        decide="sampling:decide_jittered_law",
    ),
    _claim(
        id="DP-FUT",
        place="sec. 4 (2)",
        statement="On every recommendation more epsilon is consumed.",
        formula="the smallest epsilon of T recommendations grows with T",
        predicate="holds if the smallest epsilon of T fresh draws is strictly increasing in T",
        assumptions=(_DOT, _ROWS, "every recommendation is a fresh, independent draw"),
        decide="exact_privacy:decide_recommendations",
    ),
    _claim(
        id="DP-T-REP",
        source="ours",
        place="sec. 4 (2), made exact",
        statement="T recommendations cost exactly T eps* in pure differential privacy, and are T r^2/8-zCDP with r = log(1 + B^2/s).",
        formula="eps(T) = T eps*; rho(T) <= T r^2/8",
        assumptions=(_DOT, _ROWS, "every recommendation is a fresh, independent draw"),
        decide="exact_privacy:decide_composition",
    ),
    _claim(
        id="DP-JMON",
        place="sec. 4 (4)",
        statement="Increased jitter lowers the epsilon spent, at the cost of selecting more unpopular items.",
        formula="eps* strictly decreases in s; Pr[i in Y] and its share among all selected items strictly increase in s for an item i nobody read",
        predicate="epsilon is eps* of the whole sampler, unpopular means read by nobody, its share is Pr[i in Y] over that of an item "
        "which is an eigenvector with a larger eigenvalue",
        assumptions=(_DOT,),
        decide="exact_privacy:decide_jitter",
    ),
    _claim(
        id="DP-REPLACE-REP",
        source="ours",
        place="extension: a subject replaced",
        statement="When one subject's row is replaced by another, the whole sampler's epsilon is exactly log(1 + B^2/s) for real rows and n >= 2.",
        formula="eps* = log(1 + B^2/s)",
        assumptions=(_DOT, "real rows with |x|^2 <= B^2", "n >= 2"),
        decide="variants:decide_replacement",
    ),
    _claim(
        id="DP-REPLACE-BIN-REP",
        source="ours",
        place="extension: a subject replaced, binary rows",
        statement="When one subject's binary row is replaced by another, epsilon is exactly the largest of n + 1 numbers.",
        formula="eps* = max over p = 0..n of log[ (1 + p/s)(1 + (n-p)/(1+s)) / (1 + p/(1+s)) ]",
        assumptions=(_DOT, "binary rows"),
        decide="variants:decide_binary_replacement",
    ),
    _claim(
        id="DP-KDPP-REP",
        source="ours",
        place="extension: k items are shown",
        statement="Conditioned on |Y| = k, epsilon is exactly log(1 + B^2/s) for real rows and n >= k + 1, and exactly log(1 + k/s) for "
        "binary rows and n >= 2k; no dataset attains these suprema.",
        formula="P'_k(Y)/P_k(Y) = (1 + a_Y)/E[1 + a_Y], 0 <= a_Y <= min(B^2, |x_Y|^2)/s",
        assumptions=(_DOT, "1 <= k < n"),
        decide="variants:decide_fixed_size",
    ),
    _claim(
        id="DP-KDPP-SMALL",
        source="ours",
        place="extension: k items are shown, few others",
        statement="For binary rows and k < n < 2k, epsilon lies between log(1 + max(n - k, k - 2 + 1/(2k - n + 1))/s) and log(1 + k/s).",
        formula="log(1 + max(n - k, k - 2 + 1/(2k - n + 1))/s) <= eps <= log(1 + k/s)",
        assumptions=(_DOT, "binary rows", "k < n < 2k"),
        decide="variants:decide_fixed_size_few_items",
    ),
    _claim(
        id="DP-DELTA",
        source="ours",
        place="extension: delta > 0, first conjecture",
        statement="For binary rows and n <= 3 the largest delta(eps) is that of a dataset without subjects and one reader of q <= n items.",
        formula="delta(eps) = max over q <= n of the binomial pair {Bin(q, s/(1+s)), loss log(1 + j/s) - log(1 + q/(1+s))}",
        predicate="refuted by neighboring binary datasets and an eps with a larger delta than every q <= n gives",
        assumptions=(_DOT, "binary rows"),
        decide="profile:decide_binomial_conjecture",
    ),
    _claim(
        id="DP-DELTA-REP",
        source="ours",
        place="extension: delta > 0",
        statement="The whole sampler has exactly the privacy of one coin that shows heads with odds s on one dataset and odds s + B^2 on the other: "
        "its delta(eps) is this, attained by real rows.",
        formula="delta(eps) = max{0, (s+B^2)/(1+s+B^2) - e^eps s/(1+s), 1/(1+s) - e^eps/(1+s+B^2)}",
        assumptions=(_DOT, _ROWS, "eps >= 0"),
        decide="profile:decide_profile",
    ),
    _claim(
        id="DP-EXE",
        source="ours",
        place="Algorithm 1, as executed",
        statement="In floating-point arithmetic the sampler keeps the epsilon of exact arithmetic.",
        formula="Pr[Y | D] <= e^eps* Pr[Y | D'] for the executed sampler",
        predicate="refuted by a jitter s > 0 and neighboring datasets with an output that the executed sampler gives on one of them only",
        decide="representation:decide_executed",
    ),
)
