"""Claims of Chen et al., "Differential Private Knowledge Transfer for Privacy-Preserving Cross-Domain Recommendation"."""

from dpassay.core.claims import Claim, claims_of

TITLE = (
    "Differential Private Knowledge Transfer for Privacy-Preserving Cross-Domain Recommendation "
    "(Chen, Wu, Su, Lyu, Zheng, Wang)"
)

NOTATION: tuple[tuple[str, str], ...] = (
    ("D, D', R, R'", "rating matrices that differ in one rating by at most 1: neighbors (Definition 3.2)"),
    ("n, m", "number of items and of users; R is n x m, as Algorithm 1 multiplies it (elsewhere m x n; n is its n_1)"),
    ("i, j, k", "numbers of rows (items), columns (users) and others"),
    ("r_ij, r, r'", "rating of item i by user j; the differing rating of the two neighbors (in CD-DEF)"),
    ("i0, j0", "row and column of the differing rating (Definition 3.2)"),
    ("e_i, v", "unit vector of row i, and the change of that row, a vector over users"),
    ("eps, delta", "privacy parameters of what is published: nats, a probability"),
    ("eps0, delta0", "the same of one row of the sketch, eps / sqrt(4 r ln(2/delta)) and delta / (2r) (Theorem 5.1)"),
    ("eps', delta', k", "the same of a composition of k mechanisms, and its extra failure probability (Theorem B.1)"),
    ("r, n'", "number of rows of the sketch, the dimension of the reduced item space (the paper's n'_1)"),
    ("U, Sigma, V, sigma_i", "singular value decomposition R = U Sigma V' after centering; the singular values of R"),
    ("w", "strength of the perturbation, a singular value: each becomes sqrt(sigma_i^2 + w^2) (Algorithm 1)"),
    ("||x||_2, ||R||_2, ||R||_F", "Euclidean norm of a vector; largest singular value; Frobenius norm"),
    ("R1, R~", "the lifted matrix U sqrt(Sigma^2 + w^2 I) V', and what is published, M R1 / sqrt(r)"),
    ("M", "random matrix of the sketch, r x n"),
    ("JLT, SJLT", "M with standard Gaussian entries; M = P H D, sparse (Definitions 3.6, 3.7)"),
    ("P, q, sp", "sparse Gaussian matrix, the density of its entries, and the density set in the experiments"),
    ("H, D in M = P H D", "normalized Hadamard matrix; diagonal matrix of random signs (Definition 3.7)"),
    ("row(D), A", "a row of what is published on D; a set of values of it"),
    ("S, S2", "covariances R1'R1 of a row of the sketch on D and on D'; in CD-P53-REP that of R and w"),
    ("N(0, S), N, I", "normal law, and a matrix of independent standard normal entries; identity matrix"),
    ("x, u", "any vectors of the space that is sketched"),
    ("t, c, C", "argument of a moment generating function; constants that do not grow with the sizes"),
    ("Phi, mu, chi^2_r", "normal distribution function; sensitivity over noise; chi-square law with r degrees"),
    ("E, tr", "expectation; trace"),
    ("delta_jk", "1 where j = k, else 0 (in CD-ER)"),
    ("gamma, g", "relative error of a squared norm that a concentration bound allows (Theorem 5.4)"),
    ("S_i, S in CD-INT", "events that the squared norm of column i, or of the whole, is too large (C.2)"),
    ("O, d", "order of growth; length of a vector (sec. 4.3)"),
    ("L, y, p, U_i, V_j", "loss (6), a rating, its prediction U_i'V_j from the embeddings of user and item (sec. 4.4)"),
    ("HR, NDCG, MRR", "hit rate, discounted gain and reciprocal rank of one held-out item, at 5 or 10 (sec. 6.1)"),
    ("dHR, dNDCG, dMRR", "the metric at 10 less the same at 5"),
    ("metric", "any of the six: HR, NDCG and MRR, each at 5 and at 10"),
    ("PriCDR, J, S, SYM", "the paper's recommender: with JLT, with SJLT, with symmetric networks (sec. 6.1)"),
    ("BPR, NeuMF, DMF", "recommenders trained on the target domain alone (sec. 6.1)"),
    ("CDR, CoNet, DDTCDR, DARec, ETL", "cross-domain recommenders, trained on both domains in the clear"),
    ("sd", "share of the source domain's ratings that is kept (sec. 6.3)"),
)


_claim = claims_of("pricdr")

_AT_MOST_ONE = "ratings differ by at most 1, not by less than 1 as Definition 3.2 prints (CD-DEF)"
_GAUSSIAN = "M has independent standard Gaussian entries (Algorithm 1 with JLT)"
_TRAINED = (
    "Judged on Douban Book to Music, the one of six tasks whose data can be had; five paired seeds, the authors' split and "
    "choice of epochs; intervals at 95% together; two readings, the paper's settings and the released code's."
)
_AT_64 = (
    "At eps = 64 (Table 1's is not printed; sec. 6.3 finds accuracy level from 32 or 2 on), all six metrics of J and S less "
    "those of the others."
)
_ONE_ITEM = "one held-out item per user and the usual HR, NDCG and MRR, averaged over users and runs"

CLAIMS: tuple[Claim, ...] = (
    # Definitions and the algorithm
    _claim(
        id="CD-DEF",
        misprint="|r - r'| < 1 stands for |r - r'| <= 1",
        place="Definition 3.2",
        statement="Neighboring rating matrices differ in exactly one rating, by less than 1, at an inner row and an inner "
        "column; this protects each user-item rating of the binarized data.",
        formula="r != r', |r - r'| < 1, 1 < i0 < n, 1 < j0 < m",
        predicate="Vacuous if the binarized data of section 6.1 have no neighbors at all under the printed definition.",
        decide="sketch_privacy:decide_def",
    ),
    _claim(
        id="CD-CENTRE",
        place="Algorithm 1, line 3; B.1",
        statement="Subtracting the mean keeps neighboring matrices a rank-one change in one row apart, so that the proof may "
        "take R - R' = e_i v'.",
        formula="R - R' = e_i v' with ||v||_2 <= 1 after r_ij <- r_ij - (1/m) sum_k r_ik",
        assumptions=(_AT_MOST_ONE,),
        decide="sketch_privacy:decide_centre",
    ),
    _claim(
        id="CD-WLOG",
        place="B.1",
        statement="The case in which all singular values of both matrices exceed w stands for the general case.",
        formula="sigma_i(R) > w and sigma_i(R') > w for all i, without loss of generality",
        decide="sketch_privacy:decide_wlog",
    ),
    # Privacy of one row
    _claim(
        id="CD-T51",
        place="Theorem 5.1, B.1",
        statement="Each row of the sketch that Algorithm 1 publishes with a Gaussian matrix is (eps0, delta0)-differentially "
        "private.",
        formula="eps0 = eps / sqrt(4 r ln(2/delta)), delta0 = delta / (2r): Pr[row(D) in A] <= e^eps0 Pr[row(D') in A] + delta0",
        assumptions=(_AT_MOST_ONE,),
        about=("jlt",),
        decide="sketch_privacy:decide_t51",
    ),
    _claim(
        id="CD-T51-DET",
        place="B.1, eq. 9",
        statement="The square root of the ratio of the two covariance determinants lies within e^(eps0/2).",
        formula="e^(-eps0/2) <= sqrt(det S2 / det S) <= e^(eps0/2), S and S2 the covariances of a row on D and on D'",
        assumptions=(_AT_MOST_ONE, "n >= m, so that both covariances have full rank"),
        decide="sketch_privacy:decide_t51_det",
    ),
    _claim(
        id="CD-T51-QUAD",
        place="B.1",
        statement="The two quadratic forms of the density differ by at most 2 (1/w + 1/w^2) ln(4/delta0), except with "
        "probability delta0.",
        formula="|x'(S^-1 - S2^-1) x| <= 2 (1/w + 1/w^2) ln(4/delta0) with probability >= 1 - delta0, x ~ N(0, S), S2 on D'",
        assumptions=(_AT_MOST_ONE, "n >= m, so that both covariances have full rank"),
        decide="sketch_privacy:decide_t51_quad",
    ),
    _claim(
        id="CD-T51-W",
        place="B.1",
        statement="The choice of w in the proof solves the inequality that the proof needs.",
        formula="w = 1 / (sqrt(eps0 / (2 ln(4/delta0)) + 1/4) - 1/2) gives 2 (1/w + 1/w^2) ln(4/delta0) <= eps0",
        decide="sketch_composition:decide_t51_w",
    ),
    _claim(
        id="CD-WALG",
        place="Algorithm 1, line 4; B.1",
        statement="The w of Algorithm 1 satisfies the inequality that the proof needs.",
        formula="w = sqrt(32 r ln(2/delta)) ln(4r/delta) / eps gives 2 (1/w + 1/w^2) ln(4/delta0) <= eps0",
        predicate="Holds if true at each eps of section 6.1, each r and each task of Table 3 with delta = 1/m; where it fails beyond "
        "them is reported beside it.",
        decide="sketch_composition:decide_walg",
    ),
    _claim(
        id="CD-SUBG",
        place="B.1",
        statement="The rows of the sparse matrix P are sub-Gaussian, as the transfer of the proof to SJLT uses.",
        formula="P_ij = 0 with probability 1 - q, N(0, 1/q) with probability q: E e^(t P_ij) <= e^(c^2 t^2 / 2) for all t",
        decide="sparse_sketch:decide_subg",
    ),
    # Privacy of the whole sketch
    _claim(
        id="CD-T52",
        place="Theorem 5.2, B.2",
        statement="Algorithm 1 with a Gaussian matrix is (eps, delta)-differentially private with respect to one rating.",
        formula="Pr[R~(D) in A] <= e^eps Pr[R~(D') in A] + delta for all neighbors and all events",
        assumptions=(_AT_MOST_ONE,),
        about=("jlt",),
        decide="sketch_privacy:decide_t52",
    ),
    _claim(
        id="CD-T52-REL",
        source="ours",
        place="Theorem 5.2, released code",
        statement="The released code's Gaussian sketch, with the w it computes, is (eps, delta)-differentially private for the eps "
        "that it is given.",
        formula="w = 1 / (sqrt(eps / (2 ln(4/delta0)) + 1/4) - 1/2), delta0 = delta / (2r), delta = 1/m, r rows published",
        assumptions=(_AT_MOST_ONE,),
        about=("jlt",),
        decide="sketch_privacy:decide_t52_released",
    ),
    _claim(
        id="CD-T52-REP",
        source="ours",
        place="Theorem 5.2, repaired",
        statement="Publishing (M R + w N) / sqrt(r) with a Gaussian M that does not depend on the data and standard Gaussian N has "
        "the privacy profile delta(eps) below, for every number of items and users, and no smaller one holds for all R.",
        formula="delta(eps) = E[Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)], mu^2 w^2 ~ chi^2_r",
        assumptions=(_AT_MOST_ONE,),
        about=("jlt",),
        decide="sketch_privacy:decide_t52_repaired",
    ),
    _claim(
        id="CD-B1",
        place="Theorem B.1",
        statement="k-fold adaptive composition of (eps, delta)-differentially private mechanisms is (eps', k delta + delta')-"
        "differentially private.",
        formula="eps' = sqrt(2k ln(1/delta')) eps + k eps (e^eps - 1)",
        decide="sketch_composition:decide_b1",
    ),
    _claim(
        id="CD-COMP",
        place="B.2, eq. 10",
        statement="Composing r rows with eps0 and delta0 gives at most eps and delta, for every eps used in the experiments.",
        formula="sqrt(2 r ln(2/delta)) eps0 + r eps0 (e^eps0 - 1) <= eps, eps in {0.5, 1, ..., 64}",
        predicate="Holds if true at each eps of section 6.1, each r and each task of Table 3 with delta = 1/m; refuted if one fails.",
        decide="sketch_composition:decide_comp",
    ),
    _claim(
        id="CD-SJLT",
        place="Theorems 5.1, 5.2, B.1",
        statement="The same guarantees hold for the sparse sketch M = P H D with density q = O(1/m), by the same procedure.",
        formula="Pr[R~(D) in A] <= e^eps Pr[R~(D') in A] + delta with M = P H D",
        assumptions=(_AT_MOST_ONE,),
        about=("sjlt",),
        decide="sparse_sketch:decide_sjlt",
    ),
    _claim(
        id="CD-SJLT-REL",
        source="ours",
        place="B.1, released code",
        statement="The released code's sparse sketch, whose matrix takes the values 0 and plus or minus one constant, is (eps, delta)-"
        "differentially private.",
        formula="M_ij in {0, +-1/sqrt(q)}: Pr[R~(D) in A] <= e^eps Pr[R~(D') in A] + delta",
        assumptions=(_AT_MOST_ONE,),
        about=("sjlt",),
        decide="sparse_sketch:decide_sjlt_released",
    ),
    _claim(
        id="CD-SJLT-REP",
        source="ours",
        place="B.1, repaired",
        statement="Publishing (M R + w N) / sqrt(r) with any M that does not depend on the data, sparse or not, whose columns have "
        "norm sqrt(r), is Gaussian-differentially private with mu = sqrt(r) / w.",
        formula="delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sqrt(r) / w",
        assumptions=(_AT_MOST_ONE,),
        about=("sjlt",),
        decide="sparse_sketch:decide_sjlt_repaired",
    ),
    _claim(
        id="CD-HAD",
        place="B.1; Definition 3.7",
        statement="H and D are unitary, for the numbers of items of the paper's datasets.",
        formula="H_ij = n^(-1/2) (-1)^(i-1, j-1): H'H = I and D'D = I at every n of Table 3",
        decide="sparse_sketch:decide_had",
    ),
    _claim(
        id="CD-HAD-REL",
        source="ours",
        place="Definition 3.7, released code",
        statement="The released code's sparse transform is the P H D of Definition 3.7 and preserves squared norms on average.",
        formula="M = P H D, E ||M x / sqrt(r)||^2 = ||x||^2",
        decide="sparse_sketch:decide_had_released",
    ),
    _claim(
        id="CD-ISO",
        place="sec. 5.2",
        statement="Since H and D are unitary, HD preserves the Euclidean norm.",
        formula="||HDx||_2 = ||x||_2",
        decide="sparse_sketch:decide_iso",
    ),
    _claim(
        id="CD-EXE",
        source="ours",
        place="Algorithm 1, executed",
        statement="Algorithm 1 as executed in floating-point arithmetic keeps the guarantee of the ideal one.",
        formula="the outputs reachable on D and on D' are the same",
        about=("jlt", "sjlt"),
        decide="representation:decide_executed",
    ),
    # Utility bounds
    _claim(
        id="CD-ER",
        misprint="1/r stands for the 1/sqrt(r) of Algorithm 1, and E[M_ij M_jk] for E[M_ki M_kj]",
        place="C.1",
        statement="The published matrix R~ = M R1 / r has E[R~'R~] = R1'R1, because E[M_ij M_jk] = delta_jk for a Gaussian "
        "orthogonal ensemble.",
        formula="R~ = M R1 / r: E[R~' R~] = R1' R1; E[M_ij M_jk] = delta_jk",
        assumptions=(_GAUSSIAN,),
        predicate="Judged with the factor 1/r that C.1 prints; the factor 1/sqrt(r) of Algorithm 1 is decided beside it.",
        decide="sketch_distortion:decide_expectation",
    ),
    _claim(
        id="CD-P53",
        place="Proposition 5.3, C.1",
        statement="The mean squared error between the covariance matrices of the input and of the output of Algorithm 1 is at most "
        "w^2 m, which equals 16 r^2 ln(2/delta) ln^2(4r/delta) m / eps^2.",
        formula="E ||R'R - R~'R~||_2^2 <= w^2 m = 16 r^2 ln(2/delta) ln^2(4r/delta) / eps^2 * m",
        assumptions=(_GAUSSIAN,),
        predicate="Refuted only where the inequality fails under both readings of the norm, spectral and Frobenius.",
        decide="sketch_distortion:decide_p53",
    ),
    _claim(
        id="CD-P53-REP",
        source="ours",
        place="Proposition 5.3, repaired",
        statement="The mean squared Frobenius error between the two covariance matrices is exactly the formula below; it bounds the "
        "mean squared spectral error.",
        formula="E ||R~'R~ - R'R||_F^2 = w^4 m + ((tr S)^2 + tr(S^2)) / r, S = R'R + w^2 I",
        assumptions=(_GAUSSIAN, "n >= m and all m singular values lifted, or the additive form (M R + w N) / sqrt(r)"),
        decide="sketch_distortion:decide_p53_repaired",
    ),
    _claim(
        id="CD-PC1",
        place="Proposition C.1",
        statement="For M from JLT or SJLT, the squared norm of M u / sqrt(r) exceeds (1 + gamma) times that of u with probability at "
        "most r^-2, for gamma = O(sqrt(log m / r)).",
        formula="Pr[||M u||^2 / r >= (1 + gamma) ||u||^2] <= r^-2, gamma = C sqrt(ln m / r)",
        predicate="Holds for a transform if one constant C serves all r, m with 2 <= r <= m, all n that are powers of two and all "
        "q <= 1/m; refuted if for every C some of them fail, for one of the two transforms.",
        decide="sketch_concentration:decide_pc1",
    ),
    _claim(
        id="CD-INT",
        place="C.2",
        statement="The event that the squared Frobenius norm is too large lies in the intersection of the events that each column's "
        "norm is, so that its probability is at most the product of theirs.",
        formula="S subset of S_1 and ... and S_m; Pr[S] <= prod_i Pr[S_i]",
        assumptions=(_GAUSSIAN,),
        decide="sketch_concentration:decide_intersection",
    ),
    _claim(
        id="CD-LOW",
        place="C.2",
        statement="The lower tail of the squared Frobenius norm is bounded similarly.",
        formula="Pr[||R~||_F^2 <= (1 - gamma) (||R||_F^2 + w^2 m)] <= r^(-2m), gamma = C sqrt(ln m / r)",
        assumptions=(_GAUSSIAN,),
        predicate="Refuted if for a stated C with gamma < 1 some R, r, m fail.",
        decide="sketch_concentration:decide_lower_tail",
    ),
    _claim(
        id="CD-T54",
        place="Theorem 5.4, C.2",
        statement="The squared Frobenius norm of the published matrix lies within a factor 1 +- gamma of ||R||_F^2 + w^2 m with "
        "probability 1 - 2 r^(-2m).",
        formula="Pr[(1-gamma) (||R||_F^2 + w^2 m) <= ||R~||_F^2 <= (1+gamma) (||R||_F^2 + w^2 m)] >= 1 - 2 r^(-2m), "
        "gamma = C sqrt(ln m / r)",
        assumptions=(_GAUSSIAN,),
        predicate="The paper prints <=, which no reader can want; read as >=. Refuted if for every constant C some R, r, m fail; the "
        "printed direction is decided beside it.",
        decide="sketch_concentration:decide_t54",
    ),
    _claim(
        id="CD-T54-REP",
        source="ours",
        place="Theorem 5.4, repaired",
        statement="For 0 < g <= 1 the squared Frobenius norm of the published matrix lies within a factor 1 +- g of ||R1||_F^2 except "
        "with probability 2 exp(-r g^2 / 8), and all m column norms do at once except with probability 2 m exp(-r g^2 / 8).",
        formula="Pr[| ||R~||_F^2 - ||R1||_F^2 | > g ||R1||_F^2] <= 2 exp(-r g^2 / 8); 2 m exp(-r g^2 / 8) for all columns; "
        "||R1||_F^2 = ||R||_F^2 + w^2 min(n, m)",
        assumptions=(_GAUSSIAN, "0 < g <= 1"),
        decide="sketch_concentration:decide_t54_repaired",
    ),
    _claim(
        id="CD-KEEP",
        place="sec. 4.3",
        statement="Publishing perturbs the singular values and keeps the singular vectors unchanged, which maintains utility.",
        formula="the right singular vectors of R~ are those of R",
        assumptions=(_GAUSSIAN,),
        predicate="Judged on the matrix that is published, whose right singular vectors belong to users.",
        decide="sketch_distortion:decide_singular_vectors",
    ),
    _claim(
        id="CD-L55",
        place="Lemma 5.5, C.3",
        statement="With probability at least 1 - 1/20, no entry of HDx exceeds sqrt(2 ln(40 m n) / n) ||x||_2 for any of m vectors x.",
        formula="Pr[max_x ||HDx||_inf <= (2 ln(40 m n) / n)^(1/2) ||x||_2] >= 19/20",
        assumptions=("the entries of H are +-n^(-1/2); H need not be orthogonal",),
        decide="flattening:decide_l55",
    ),
    _claim(
        id="CD-CPLX",
        place="sec. 4.3",
        statement="SJLT multiplies the random matrix and the rating matrix in O(d log d m) operations, JLT in O(d n m).",
        formula="line 15 with M = P H D costs O(n m log n), with a dense M O(r n m)",
        predicate="Counted in expected multiplications and additions at Algorithm 1's q <= c/m; the densities of the experiments are "
        "reported beside it.",
        decide="flattening:decide_complexity",
    ),
    _claim(
        id="CD-BCE",
        misprint="(6) lacks the minus sign of the cross-entropy",
        place="sec. 4.4, eq. 6",
        statement="Minimizing (6) minimizes the cross-entropy between true and predicted ratings, the predictions being the cosines "
        "U'V of the embeddings.",
        formula="L = sum_ij y log(p) + (1 - y) log(1 - p), p = U_i'V_j",
        decide="cross_entropy_loss:decide_cross_entropy",
    ),
    # Experiments
    _claim(
        id="CD-TAB1",
        place="sec. 6.2, Table 1",
        statement="Table 1: HR, NDCG and MRR at 5 and 10 of ten methods on six tasks. Every printed number is what the described "
        "experiment gives.",
        formula="metric(method, task) for 10 methods, 6 tasks, 6 metrics",
        assumptions=(_ONE_ITEM,),
        predicate="A number holds if ours lies within the larger of half its last printed digit and the 99% interval over seeds; the "
        "table is refuted if a printed row is one that no run of the described experiment can give.",
        decide="printed_table:decide_table1",
    ),
    _claim(
        id="CD-TAB-ID",
        source="ours",
        place="sec. 6.2, Table 1",
        statement="Every row of Table 1 satisfies what the three metrics satisfy for one held-out item.",
        formula="MRR@k <= NDCG@k <= HR@k; dHR/log2(11) <= dNDCG <= dHR/log2(7); dHR/10 <= dMRR <= dHR/6 (d: @10 minus @5)",
        assumptions=(_ONE_ITEM,),
        predicate="Each printed number may be off by half its last digit; refuted if one inequality fails by more than that allows.",
        decide="printed_table:decide_identities",
    ),
    _claim(
        id="CD-ALL",
        place="sec. 6.2 (2)",
        statement='"PriCDR-J and PriCDR-S outperform all the single-domain and cross-domain baseline models in all tasks."',
        formula="metric(J), metric(S) > metric(baseline) for 7 baselines, 6 tasks, 6 metrics",
        predicate="Judged on the printed numbers; equal numbers do not outperform.",
        decide="printed_table:decide_all",
    ),
    _claim(
        id="CD-CDR-SD",
        place="sec. 6.2 (1)",
        statement='"All the cross domain recommendation models perform better than single domain recommendation models."',
        formula="metric(CDR) > metric(single domain) for 7 CDR and 3 single-domain models, 6 tasks, 6 metrics",
        predicate="Judged on the printed numbers; equal numbers are not better.",
        decide="printed_table:decide_cross_domain",
    ),
    _claim(
        id="CD-JS-SYM",
        place="sec. 6.3",
        statement='"Both PriCDR-J and PriCDR-S outperform PriCDR-SYM in all tasks."',
        formula="metric(J), metric(S) > metric(SYM) for 6 tasks, 6 metrics",
        predicate="Judged on the printed numbers; equal numbers do not outperform.",
        decide="printed_table:decide_symmetric",
    ),
    *(
        _claim(
            id=f"CD-RQ{number}",
            place=place,
            statement=statement,
            formula=formula,
            predicate=f"{_TRAINED} {predicate} It holds if in one reading all intervals are on the claimed side, is refuted if "
            "in each reading one is on the other side, else open; printed numbers alone decide nothing here.",
            decide=f"questions:{decide}",
        )
        for number, place, statement, formula, predicate, decide in (
            (
                1,
                "sec. 6.2 (2)",
                "PriCDR recommends better than models trained on the target domain alone.",
                "HR, NDCG, MRR(J, S) > (BPR, NeuMF, DMF)",
                _AT_64,
                "decide_comparison",
            ),
            (
                2,
                "sec. 6.2 (2)",
                "PriCDR recommends better than cross-domain models trained on both plaintext datasets.",
                "HR, NDCG, MRR(J, S) > (CoNet, DDTCDR, DARec, ETL)",
                _AT_64,
                "decide_comparison",
            ),
            (
                3,
                "sec. 6.3",
                "The heterogeneous model suits the sketched source data better than a symmetric one.",
                "HR, NDCG, MRR(J, S) > SYM",
                _AT_64,
                "decide_comparison",
            ),
            (
                4,
                "sec. 6.3, Figs. 2-4",
                "Accuracy rises with eps and then stays level from 32 (Amazon Music to Book) or 2 (Douban Movie "
                "to Book) on, is bell-shaped in the sketch dimension with its best at 400 and 500, and is best at a medium density.",
                "HR(eps), HR(n'), HR(sp)",
                "HR@10 of J at eps = 64 less 0.5, at 400 rows less 100 and less 800; of S at density 0.5 less 0.1 and less 0.9; else "
                "eps = 64. Where accuracy levels off belongs to the two tasks of the figures and is not judged.",
                "decide_trend",
            ),
            (
                5,
                "sec. 6.3, Fig. 5",
                "A sparser source domain lowers the accuracy of both, and less so with the sparse transform.",
                "HR(J, sd), HR(S, sd), sd in {1, 1/2, 1/4, 1/8}",
                "HR@10 at eps = 64 on the whole source less that on an eighth of its ratings, of J and of S; and J's loss less S's.",
                "decide_trend",
            ),
        )
    ),
)
