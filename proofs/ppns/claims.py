"""Claims of Lu and Shen, "An Accuracy-Assured Privacy-Preserving Recommender System for Internet Commerce" (PPNS)."""

from dpassay.core.claims import Claim, claims_of

TITLE = "An Accuracy-Assured Privacy-Preserving Recommender System for Internet Commerce (Lu and Shen)"

NOTATION: tuple[tuple[str, str], ...] = (
    ("D, D'", "ratings of all users, and the same after one rating is added, removed or changed"),
    ("eps, rho", "privacy parameter in nats; probability with which the accuracy of PNCF may fail (sec. 2.2)"),
    ("n, k, i", "number of candidates and of neighbors chosen, users; i a candidate"),
    ("r_is, r_i, r'_i", "user i's rating of item s; the vector of them; the same without that item (eq. 3)"),
    ("sim, s_i", "cosine or Pearson correlation of the target user with candidate i over common items (eqs. 4, 5)"),
    ("s_1 >= ... >= s_n", "the candidates' similarities in descending order"),
    ("s_k, sim_k", "similarity of the k-th nearest candidate"),
    ("RS", "recommendation-aware sensitivity: a bound of how far a similarity moves, from the ratings (eq. 3)"),
    ("GS, R, c, q", "a constant bound in place of RS; largest rating; floor of the norms; cosine with that floor"),
    ("w_i", "weight of candidate i in the selection, exp(eps s_i / (4k RS)) (eqs. 1, 2); that of similarity 0 is 1"),
    ("lambda", "width of PNCF's truncation around sim_k, a similarity (sec. 2.2)"),
    ("N(D), N, S", "set of neighbors chosen on D, and one such set"),
    ("kNN, nPNS, PNCF, PPNS", "the k nearest; k drawn by weight; the same truncated (Zhu et al.); the paper's own"),
    ("x_i, mu_i, mu^_i", "whether candidate i is chosen; its probability; that under another method (sec. 3.3, 5.1)"),
    ("alpha, alpha^, alpha_0", "accuracy sum_i s_i mu_i of a method, of another, and a wanted one (eq. 10, sec. 6.1)"),
    ("r_ax, r^_ax, r^^_ax", "user a's rating of item x, and its prediction by each of two methods (eq. 6)"),
    ("p", "share of the open places that PPNS fills from each partition of k candidates (Algorithm 1)"),
    ("j, Q_j", "number of a partition; expected number of neighbors from it"),
    ("beta", "number of partitions of k candidates that neighbors come from: what an attacker must beat (sec. 4.2)"),
    ("m, fake", "number of the target's ratings that an attacker knows; a user account he made up (sec. 4.1)"),
    ("theta", "k/n (sec. 6.4)"),
    ("t, d", "variable of integration, and the sum of the weights of those not chosen (eq. 13)"),
    ("cost", "running time, as its order of growth"),
    ("I_u, U_i", "the films that user u rated; the users who rated film i"),
    ("MovieLens 100K", "100,000 ratings of 943 users and 1,682 films, 1 to 5 stars (sec. 7)"),
    ("MAE", "mean absolute error of predicted ratings, stars (sec. 7)"),
)

ML100K = "movielens-100k"
_claim = claims_of("ppns")

CLAIMS: tuple[Claim, ...] = (
    _claim(
        id="PP-RS",
        place="eq. 3",
        statement="The recommendation-aware sensitivity RS bounds the change of the similarity of two users when one rating "
        "of one co-rated item changes.",
        formula="|sim(D) - sim(D')| <= RS = max_s max{ r_is r_js / (|r'_i||r'_j|), "
        "r_is r_js (|r_i||r_j| - |r'_i||r'_j|) / (|r_i||r_j||r'_i||r'_j|) }",
        decide="similarity_sensitivity:decide_rs",
    ),
    _claim(
        id="PP-RS-REP",
        source="ours",
        place="eq. 3, repaired",
        statement="The floor-norm cosine of ratings in [0, R] changes by at most min(1, R^2/c^2) when one rating of one user "
        "is added, removed or changed.",
        formula="q = <r_a, r_i> / (max(|r_a|, c) max(|r_i|, c)); |q(D) - q(D')| <= min(1, R^2/c^2)",
        assumptions=("ratings lie in [0, R]", "floor c > 0"),
        decide="similarity_sensitivity:decide_rs_repaired",
    ),
    _claim(
        id="PP-EM",
        place="sec. 2.2, eqs. 1-3",
        statement="Selecting k neighbors without replacement with weights exp(eps sim / (4k RS)) is eps/2-differentially "
        "private, and the whole of PNCF is eps-differentially private.",
        formula="Pr[N(D) = S] <= e^(eps/2) Pr[N(D') = S]",
        about=("npns", "pncf"),
        allows="1/2",
        decide="privacy:decide_em",
    ),
    _claim(
        id="PP-EM-REP",
        source="ours",
        place="sec. 2.2, repaired",
        statement="Selecting k neighbors without replacement with weights exp(eps q / (4k GS)), where GS bounds how far every "
        "score can move between neighboring datasets, is eps/2-differentially private for every number of candidates.",
        formula="|q(D) - q(D')| <= GS for every candidate implies Pr[N(D) = S] <= e^(eps/2) Pr[N(D') = S]",
        assumptions=("GS is a constant, not computed from the data", "the candidate list does not depend on the data"),
        decide="exponential_mechanism:decide_em_repaired",
    ),
    _claim(
        id="PP-LAM",
        place="sec. 2.2",
        statement="With lambda = min(sim_k, (4k RS/eps) ln(k(n-k)/rho)), with probability at least 1 - rho no neighbor has "
        "similarity below sim_k - lambda and every candidate above sim_k + lambda is a neighbor.",
        formula="Pr[min_{i in N} s_i >= s_k - lambda] >= 1 - rho and Pr[{i: s_i > s_k + lambda} subset N] >= 1 - rho",
        assumptions=("weights exp(eps sim / (4k RS)) with one RS for all candidates",),
        decide="selection_accuracy:decide_lambda",
    ),
    _claim(
        id="PP-LAM-REP",
        source="ours",
        place="sec. 2.2, repaired",
        statement="With lambda = (4k RS/eps) ln(k(n-k)/rho), not cut at sim_k, both accuracy statements hold with probability "
        "at least 1 - rho, for every n, k and similarity list.",
        formula="lambda = (4k RS/eps) ln(k(n-k)/rho)",
        assumptions=("one constant RS for all candidates", "1 <= k < n"),
        decide="selection_accuracy:decide_lambda_repaired",
    ),
    _claim(
        id="PP-LAM2",
        place="sec. 2.2; sec. 7 (4)",
        statement='"The value of lambda may not be achievable": at the paper\'s settings lambda is sim_k for every rho, so the '
        "truncation cuts nobody off below and rho has no effect.",
        formula="k = 50, eps = 1, RS = 1, n = 942: (4k RS/eps) ln(k(n-k)/rho) >= 1 >= sim_k for every rho in (0, 1)",
        assumptions=("similarities lie in [0, 1]", "RS >= 1/2000; the paper does not print its RS"),
        decide="selection_accuracy:decide_lambda_unachievable",
    ),
    _claim(
        id="PP-PNCF-NOT",
        place="sec. 2.2",
        statement="PNCF's truncation of the candidate list at sim_k - lambda and sim_k + lambda breaks differential privacy.",
        formula="there are neighboring D, D' and a set S with Pr[N(D) = S] > 0 = Pr[N(D') = S]",
        about=("pncf/hard",),
        decide="privacy:decide_pncf_truncation",
    ),
    _claim(
        id="PP-DP",
        place="sec. 1 (2), sec. 5.2",
        statement='Partitioned Probabilistic Neighbour Selection "absolutely keeps" eps-differential privacy.',
        formula="Pr[N(D) = S] <= e^eps Pr[N(D') = S] for all neighboring D, D' and all sets S",
        about=("ppns/algorithm", "ppns/formula"),
        decide="privacy:decide_ppns",
    ),
    _claim(
        id="PP-DP-REP",
        source="ours",
        place="sec. 5.2, repaired",
        statement="PPNS on floor-norm cosine similarities with Laplace noise of scale n GS/eps, and the private exponential "
        "selection, are eps-differentially private when one rating is added, removed or changed.",
        formula="GS = min(1, R^2/c^2); partitions and quotas are post-processing of the noisy similarities",
        assumptions=("ratings lie in [0, R]", "every other user is a candidate"),
        decide="utility:decide_ppns_repaired",
    ),
    _claim(
        id="PP-MARG",
        place="sec. 5.2",
        statement='"No matter how we change the dataset, every candidate\'s probability of selection cannot be zero".',
        formula="mu_i > 0 for every candidate i",
        assumptions=("0 < p <= (k-1)/k, the range of sec. 6.3",),
        about=("ppns/algorithm",),
        decide="privacy:decide_marginals",
    ),
    _claim(
        id="PP-MARG-INF",
        place="sec. 5.2",
        statement="PPNS keeps differential privacy \"because no matter how we change the dataset, every candidate's probability "
        'of selection cannot be zero".',
        formula="mu_i > 0 for every candidate i implies mu_i(D) <= e^eps mu_i(D')",
        predicate="Judged as an inference: refuted by neighboring datasets on which every candidate's probability is positive "
        "and that of one, the least that privacy needs, changes by more than a factor e^eps.",
        about=("ppns/algorithm",),
        decide="privacy:decide_marginals_inference",
    ),
    _claim(
        id="PP-ORIG",
        place="sec. 5.2",
        statement="The original partition scheme, without the changed choice of the last neighbor, breaks differential privacy.",
        formula="there are neighboring D, D' and a set S with Pr[N(D) = S] > 0 = Pr[N(D') = S]",
        about=("ppns/original",),
        decide="privacy:decide_original",
    ),
    _claim(
        id="PP-COST",
        place="sec. 5.2",
        statement="The partition scheme introduces no extra computational cost over k nearest neighbors.",
        formula="cost(PPNS) = cost(kNN)",
        predicate="Counted in similarity evaluations, comparisons, exponentials and random numbers of a literal "
        "implementation: holds if no count is larger; refuted otherwise, with the ratio stated.",
        decide="algorithm_cost:decide_cost",
    ),
    _claim(
        id="PP-W9",
        place="sec. 3.3, eq. 9",
        statement="Manly's mean solves equation (9), and is the exact mean of Wallenius' distribution when all weights are equal.",
        formula="(1 - mu_i)^(1/w_i) is the same for all i, sum mu_i = k; w_1 = ... = w_n implies mu_i = E x_i",
        decide="manly_mean:decide_manly",
    ),
    _claim(
        id="PP-L1",
        place="Lemma 1",
        statement="For two selections from the same candidates with the same weights, every mu_i is larger in one exactly when "
        "the sum of the mu_i is larger.",
        formula="(mu_i > mu^_i for all i) iff sum mu_i > sum mu^_i",
        assumptions=("fixed numbers of draws; all weights positive",),
        decide="lemma1:decide_lemma1",
    ),
    _claim(
        id="PP-L2",
        place="Lemma 2",
        statement="The method that is expected to select more candidates from the first partition has the larger accuracy alpha.",
        formula="sum_{i<=k} mu_i > sum_{i<=k} mu^_i implies alpha >= alpha^",
        decide="theorem1_counterexamples:decide_lemma2",
    ),
    _claim(
        id="PP-T1",
        place="Theorem 1",
        statement="If p > 1 - ((n-k)/n)^w_1 then PPNS has an accuracy alpha at least that of PNCF and of probabilistic neighbor "
        "selection.",
        formula="p > 1 - ((n-k)/n)^w_1 implies alpha >= alpha^",
        assumptions=("p <= (k-1)/k, the range of sec. 6.3", "weights scaled so that similarity 0 has weight 1"),
        decide="theorem1_counterexamples:decide_theorem1",
    ),
    _claim(
        id="PP-T1-REP",
        source="ours",
        place="Theorem 1, repaired",
        statement="With equal weights, PPNS has alpha >= alpha^ for every similarity list exactly when at each partition boundary "
        "jk the expected picks so far are at least jk^2/n.",
        formula="alpha >= alpha^ for all s_1 >= ... >= s_n >= 0 iff Q_1 + ... + Q_j >= jk * k/n for every j",
        assumptions=("equal weights for both methods",),
        decide="theorem1_repaired:decide_theorem1_repaired",
    ),
    _claim(
        id="PP-T1-MU",
        place="proof of Theorem 1",
        statement="In the best case for PNCF, mu_1 < 1 - ((n-k)/n)^w_1.",
        formula="k mu_1 + (n-k) mu_n = k, (1-mu_1)^(1/w_1) = 1-mu_n, w_1 > 1 imply mu_1 < 1 - ((n-k)/n)^w_1",
        assumptions=("0 < k < n", "w_1 > 1, w_n = 1"),
        decide="manly_mean:decide_theorem1_mu",
    ),
    _claim(
        id="PP-T1-PK",
        place="proof of Theorem 1",
        statement="In PPNS the expected number of neighbors from the first partition is pk.",
        formula="sum_{i<=k} mu_i = pk",
        decide="partition_theory:decide_theorem1_pk",
    ),
    _claim(
        id="PP-T1-RANGE",
        place="sec. 6.3",
        statement="The range of p in which PPNS is both accurate and secure is not empty.",
        formula="1 - ((n-k)/n)^w_1 < (k-1)/k",
        assumptions=("1 <= k < n", "w_1 >= 1"),
        decide="partition_theory:decide_theorem1_range",
    ),
    _claim(
        id="PP-BEST",
        place="proof of Theorem 1",
        statement="Among similarity lists with the same w_1, (1^k, 0^(n-k)) maximizes the expected number of neighbors from the "
        "first partition under PNCF and nPNS.",
        formula="sum_{i<=k} mu^_i is largest at s = (1^k, 0^(n-k))",
        assumptions=(
            "similarities in [0, 1]",
            "mu^ from equation (12), as in the paper, which knows no truncation; the exact mean is reported too",
        ),
        decide="best_case:decide_best_case",
    ),
    _claim(
        id="PP-E10",
        place="eq. 10",
        statement="The expected sum of similarities of the selected neighbors is the sum of similarity times selection probability.",
        formula="E sum_{i in N} s_i = sum_i s_i mu_i",
        decide="wallenius_law:decide_expectation",
    ),
    _claim(
        id="PP-ACC",
        place="sec. 5.1.1",
        statement="The larger the sum of the selected neighbors' similarities, the better the predicted rating.",
        formula="alpha > alpha^ implies |r_ax - r^_ax| <= |r_ax - r^^_ax|",
        decide="accuracy_metric:decide_accuracy_metric",
    ),
    _claim(
        id="PP-PMF",
        place="sec. 6.2, eqs. 13-17",
        statement="The probability that weighted sampling without replacement yields a given set is the integral (13), and that "
        "of the top k is positive.",
        formula="Pr[N = S] = int_0^1 prod_{i in S} (1 - t^(w_i/d)) dt, d = sum_{i not in S} w_i; Pr[N = top k] > 0",
        assumptions=("all weights positive", "1 <= k < n"),
        decide="wallenius_law:decide_pmf",
    ),
    _claim(
        id="PP-CHEB",
        place="sec. 6.1",
        statement="The difference of the weighted and the plain mean of the first k selection probabilities is the stated double "
        "sum, and is not negative.",
        formula="sum s mu / sum s - sum mu / k = sum_{i<j} (s_i - s_j)(mu_i - mu_j) / (k sum s) >= 0",
        assumptions=(
            "s_1 >= ... >= s_k >= 0, not all 0",
            "mu_1 >= ... >= mu_k, true for weights that grow with similarity",
        ),
        decide="partition_theory:decide_chebyshev",
    ),
    _claim(
        id="PP-P",
        place="sec. 6.1",
        statement="p >= alpha_0 / (s_1 + ... + s_k) guarantees an accuracy of at least alpha_0.",
        formula="p >= alpha_0 / sum_{i<=k} s_i implies alpha >= alpha_0",
        assumptions=(
            "p <= (k-1)/k, and Algorithm 1 has a partition left for the last neighbor",
            "selection probabilities do not grow along the list",
            "similarities are not negative",
        ),
        decide="partition_theory:decide_p",
    ),
    _claim(
        id="PP-P1",
        place="sec. 6.1; eq. 20",
        statement="Every p in [alpha_0 / (s_1 + ... + s_k), 1] guarantees an accuracy of at least alpha_0.",
        formula="alpha >= alpha_0 for all p in [alpha_0 / sum_{i<=k} s_i, 1]",
        decide="partition_theory:decide_p_up_to_one",
    ),
    _claim(
        id="PP-20",
        place="eq. 20",
        statement="Equation (20) guarantees accuracy alpha_0 against the beta-kNN attack with its beta.",
        formula="p >= alpha_0 / sum s, j = ceil(1 + (ln(3/2) - ln(pk)) / ln(1-p)), beta = (j-1) + (1-p)^(j-1) k",
        predicate="Needs the beta of (20) to be a number of partitions that Algorithm 1 can reach: holds if for every p it is "
        "at most the number of partitions, refuted by one p in the allowed range where it is not.",
        decide="partition_count:decide_equation20",
    ),
    _claim(
        id="PP-SEC",
        place="sec. 6.2",
        statement='For p <= (k-1)/k the probability of selecting exactly the top k is 0, which gives "absolute security against '
        'the kNN attack".',
        formula="p <= (k-1)/k implies Pr[N = top k] = 0; and a fake user's list then does not contain the target",
        predicate="The second half is refuted by an attack configuration in which a fake user's list contains the target with "
        "probability above 1/2.",
        about=("ppns/algorithm",),
        decide="sybil_attack:decide_security",
    ),
    _claim(
        id="PP-SEC2",
        place="sec. 6.2",
        statement="Pr[N = top k] = 0 implies absolute security against the kNN attack.",
        formula="Pr[N = top k] = 0 implies Pr[some fake user's list contains the target] = 0",
        about=("ppns/algorithm",),
        decide="sybil_attack:decide_security_inference",
    ),
    _claim(
        id="PP-SUCC",
        place="secs. 1, 8",
        statement="PNCF and nPNS preserve users' privacy against the kNN attack successfully.",
        formula="Pr[some fake user's list contains the target] is small for PNCF and nPNS",
        predicate="Judged at k = 50 fake users, n = 942 further candidates, eps = 1, RS = 1: refuted if the probability that at "
        "least one fake user's list contains the target is above 1/2 for PNCF or nPNS, holds if below 1/2 for both.",
        decide="sybil_attack:decide_success",
    ),
    _claim(
        id="PP-ATK",
        place="sec. 4.1",
        statement="With high probability each of k fake users who share about 8 ratings with the target has the other k - 1 fake "
        "users and the target as its k nearest neighbors, and so learns the target's whole rating list.",
        formula="Pr[N_k(fake) = other fakes and target] > 1/2 at m = 8",
        predicate="Premise judged on MovieLens 100K, all users with more than m ratings, known items drawn at random, co-rated "
        "cosine (eq. 5), ties broken at random, k = 50: holds if the lower 99% bound of the probability exceeds 1/2, refuted "
        "if the upper one is below. Other similarities and tie rules are reported beside it.",
        data=ML100K,
        decide="sybil_attack:decide_attack_premise",
    ),
    _claim(
        id="PP-BATK",
        place="sec. 4.2",
        statement="Against selection from the top beta k, beta k fake users restore the attack; beta measures its cost.",
        formula="Pr[some fake's list = other fakes and target | uniform k of the top beta k, beta k fakes] > 1/2",
        predicate='"With a high probability" judged on MovieLens 100K as in PP-ATK (co-rated cosine, random ties, k = 50, m = 8 '
        "random known items), for beta = 1, 2, 4, 8, fresh randomness for every fake: holds if every lower bound (99% for all "
        "together) exceeds 1/2, refuted if an upper one is below. Other similarities and fakes that win ties are reported beside it.",
        data=ML100K,
        decide="sybil_attack:decide_beta_attack",
    ),
    _claim(
        id="PP-B",
        place="sec. 6.2, eqs. 18-20",
        statement="The number of partitions from which PPNS selects is beta = (j-1) + (1-p)^(j-1) k with j from (18).",
        formula="j = ceil(1 + (ln(3/2) - ln(pk)) / ln(1-p)), beta = (j-1) + (1-p)^(j-1) k",
        decide="partition_count:decide_beta",
    ),
    _claim(
        id="PP-EX",
        place="sec. 6.4, eq. 21",
        statement="For k = 50, n = 500, eps = 1, RS = 1 the range of p is (0.1, 0.98].",
        formula="1 - (450/500)^exp(1/200) ~ 0.1 and 49/50 = 0.98",
        predicate="Holds if both ends round to the printed numbers.",
        decide="partition_theory:decide_example",
    ),
    _claim(
        id="PP-MONO",
        place="sec. 6.4",
        statement="The lower end of the range of p grows with theta = k/n, and is very small for k in [30, 50] and n > 1000.",
        formula="d/dtheta (1 - (1-theta)^w_1) > 0; 1 - (1-k/n)^w_1 small",
        predicate="'Very small' is below 0.1, at the paper's eps = 1 and RS = 1.",
        decide="partition_theory:decide_monotone",
    ),
    _claim(
        id="PP-P-ONE",
        place="sec. 7 (1), Tables 1-2",
        statement="When p = 1, PPNS is the same as kNN.",
        formula="p = 1 implies N = top k",
        assumptions=("PPNS as Algorithm 1 is written",),
        decide="algorithm_cost:decide_p_one",
    ),
    _claim(
        id="PP-SAR",
        place="sec. 1",
        statement="Adding Laplace noise to the predicted rating releases users' privacy, because the Laplace mechanism does not "
        "work for numeric data.",
        formula="the Laplace mechanism with scale GS/eps on a numeric query is not eps-DP",
        decide="exponential_mechanism:decide_laplace",
    ),
    _claim(
        id="PP-EXE",
        source="ours",
        place="secs. 2.2 and 5.2, as executed",
        statement="The floating-point samplers of the neighbor selections keep the privacy that their repaired forms have in ideal "
        "arithmetic.",
        formula="Pr[executed N(D) = S] <= e^eps Pr[executed N(D') = S]",
        predicate="Refuted by one output that the code can give on one of two neighboring datasets and never on the other, while its "
        "ideal chance is positive on both; JAX's generator is treated as ideal randomness.",
        about=("npns", "pncf", "ppns"),
        decide="representation:decide_executed",
    ),
    _claim(
        id="PP-DATA",
        place="sec. 7",
        statement="In MovieLens 100K each user rated more than 20 films, and each film received 20 to 250 ratings.",
        formula="min_u |I_u| > 20 and 20 <= |U_i| <= 250 for every film i",
        data=ML100K,
        decide="findings:decide_data",
    ),
    *(
        _claim(
            id=f"PP-TAB{number}",
            place=f"sec. 7, Table {number}",
            statement=f"Table {number}: {what}. Every printed number is what the described experiment gives.",
            formula=formula,
            predicate="A number holds if it lies within the larger of half its last printed digit and the 99% interval of one run of "
            "10,000 trials, taken over seeds; the table holds if under one of the named readings of the protocol every number "
            "holds at a simultaneous 99%, is refuted if under none of them.",
            data=ML100K,
            decide=f"tables:decide_table{number}",
        )
        for number, what, formula in (
            (1, "MAE of kNN, PPNS, nPNS and PNCF against p", "MAE(method, p), k = 50, eps = 1, rho = 0.5"),
            (2, "beta of the four methods against p", "beta(method, p), k = 50, 19 partitions"),
            (3, "MAE of the four methods against k", "MAE(method, k), p = 0.5, eps = 1, rho = 0.5"),
            (4, "MAE of the four methods against rho", "MAE(method, rho), k = 50, p = 0.5, eps = 1"),
        )
    ),
    _claim(
        id="PP-F1",
        place="sec. 7 (1)",
        statement="For p > 1 - ((n-k)/n)^w_1 PPNS is always more accurate than PNCF and nPNS, and close to kNN as p nears 1.",
        formula="MAE(PPNS, p) < MAE(PNCF), MAE(nPNS) for p in {0.1..0.9} above the bound",
        predicate="Held-out MAE on MovieLens 100K (5 folds, k = 50, candidates all other users as in Algorithm 1, paired by user over "
        "the pairs that both methods predict): holds if every paired 95% interval (simultaneous) lies on the claimed side, "
        "refuted if one lies on the other, else open.",
        data=ML100K,
        decide="findings:decide_finding1",
    ),
    _claim(
        id="PP-F2",
        place="sec. 7 (2)",
        statement="PPNS yields a better trade-off between accuracy and security.",
        formula="MAE(PPNS, p) < MAE(weighted selection from the top beta(p) k) at the same beta",
        predicate="Same security means the same beta by the paper's definition: choosing the k neighbors from the top beta k. "
        "Held-out MAE on MovieLens 100K at p in {0.1..0.9}: holds if every paired 95% interval (simultaneous) favors PPNS, refuted "
        "if one favors the other, else open.",
        data=ML100K,
        decide="findings:decide_finding2",
    ),
    _claim(
        id="PP-F3",
        place="sec. 7 (3)",
        statement="A larger neighbor set gives better accuracy, for all of the methods.",
        formula="MAE(method, k) decreases in k from 10 to 100",
        predicate="Held-out MAE on MovieLens 100K at k = 10, 20, ..., 100: holds if every paired 95% interval (simultaneous) between "
        "successive k favors the larger, refuted if one favors the smaller, else open.",
        data=ML100K,
        decide="findings:decide_finding3",
    ),
    _claim(
        id="PP-F4",
        place="sec. 7 (4)",
        statement="The value of rho does not affect the accuracy of PNCF.",
        formula="MAE(PNCF, rho) is the same for rho in {0.1..0.9}",
        predicate="Holds if the law of the selection is the same for every rho because the truncation binds for no target; else the "
        "paired 95% intervals (simultaneous) decide.",
        data=ML100K,
        decide="findings:decide_finding4",
    ),
    _claim(
        id="PP-TREND",
        place="sec. 7 (3), Table 3",
        statement='Table 3 shows that "a large k yields a better accuracy".',
        formula="each row of Table 3 decreases in k",
        predicate="Judged on the printed numbers of Table 3: holds if each row decreases throughout, refuted if one rises by more than "
        "the 99% spread of two runs of 10,000 trials allows, else open.",
        data=ML100K,
        decide="tables:decide_trend",
    ),
)
