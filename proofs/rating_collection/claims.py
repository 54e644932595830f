"""Claims of Zheng, "Two Differentially Private Rating Collection Mechanisms for Recommender Systems"."""

from dpassay.core.claims import Claim, claims_of

TITLE = "Two Differentially Private Rating Collection Mechanisms for Recommender Systems (Zheng)"

NOTATION: tuple[tuple[str, str], ...] = (
    ("x, y, ?", "two users' vectors, or one entry of each; ? is a missing rating (sec. 2)"),
    ("n, i, k", "number of entries of a vector (items); places in it; in RC-T1-TIGHT how many entries differ"),
    ("M(x), S, z", "what a mechanism releases, a set of such values, and one of them"),
    ("eps, r", "privacy parameter of one entry in nats, and e^(eps/2)"),
    ("xi, zeta, s_L", "Laplace noise of scale s_L = 2/eps; coin that keeps a rating, r/(r+1) (Definition 2)"),
    ("Laplace(0, b), Bernoulli(p)", "laws: Laplace of mean 0 and scale b; 1 with probability p, else 0"),
    ("d, xi_i, p_i", "number of stars; what value i is replaced by; the probability of each outcome (Definition 3)"),
    ("keep, create", "probabilities that a rating is released for a rating, and for a missing one"),
    ("q, m2", "share of the cells that are rated, and mean square of the ratings (RC-SLACK-REP)"),
    ("f, clip", "a transform of ratings (sec. 1); the one that cuts numbers to [-1, 1]"),
    ("Theta, m, n, i, j", "matrix of true ratings, m users i and n items j (sec. 3)"),
    (
        "X, Omega_X, s",
        "observed ratings, the cells that have one, their number |Omega_X|; elsewhere X is a rating matrix",
    ),
    ("Z, Omega_Z, p", "released ratings, the cells that have one, their share |Omega_Z|/(mn)"),
    (
        "P_Omega, P_Z, P_ZX, P",
        "keeps the cells of Omega, of Z, of Z and X, of those a claim says; other cells become 0",
    ),
    ("||A||_F, ||A||", "Frobenius norm: the root of the sum of the squared entries"),
    ("rho, rho0", "||P_Omega_Z(Theta - Z)||_F, and rho0 sqrt(s), the bound assumed of ||P_Omega_X(Theta - X)||_F"),
    ("gamma", "probability with which a bound of Theorem 3 may fail"),
    ("t", "threshold of a Markov step"),
    ("E", "expectation; in RC-T3-TIGHT the bound of a squared error"),
    ("A, B", "any matrix (Definition 4); in RC-UNION two events"),
    (
        "alpha, r0, mu",
        "constant of the restricted isometry property, rank up to which it is asked, bound of A's spikes",
    ),
    ("C0, Theta^(Z)", "a constant (eq. 5), and the matrix completed from Z; Z_eps is released at eps"),
    ("MovieLens 100K, RMSE", "100,000 ratings of films, 1 to 5 stars; root of the mean squared error"),
)

_claim = claims_of("rating-collection")

INDEPENDENT = "the noise of every entry is drawn independently of that of the others"
POSITIVE = "eps > 0"
NORMALIZED = "every true rating lies in [-1, 1]: |Theta_ij| <= 1 for all i, j"
STARS = "every true rating lies in [1, d], every observed one in {1, ..., d}, and d >= 2"

CLAIMS: tuple[Claim, ...] = (
    # Privacy
    _claim(
        id="RC-T1",
        place="Theorem 1",
        statement="The modified Laplace mechanism is n eps-differentially private.",
        formula="Pr[M(x) in S] <= e^(n eps) Pr[M(y) in S] for all x, y in ([-1, 1] or ?)^n and all measurable S",
        assumptions=(POSITIVE, INDEPENDENT),
        about=("modified_laplace",),
        decide="privacy:decide_theorem1",
    ),
    *(
        _claim(
            id=f"RC-T1-{case}",
            place=f"sec. 4.1, case {case})",
            statement=f"One entry under the modified Laplace mechanism: for {inputs} and {event}, the probabilities differ by a "
            f"factor of at most {printed}.",
            formula=f"Pr[M(x) in S] / Pr[M(y) in S] <= {printed}",
            assumptions=(POSITIVE,),
            about=("modified_laplace",),
            decide="privacy:decide_case",
        )
        for case, inputs, event, printed in (
            ("i", "two ratings x, y", "an event S of numbers", "e^eps"),
            ("ii", "two ratings x, y", "S = {?}", "e^eps"),
            ("iii", "two ratings x, y", "an event S of ? and numbers", "e^eps"),
            ("iv", "a rating x and a missing y", "an event S of numbers", "e^eps"),
            ("v", "a rating x and a missing y", "S = {?}", "e^eps"),
            ("vi", "a rating x and a missing y", "an event S of ? and numbers", "e^eps"),
            ("vii", "a missing x and a rating y", "an event S of numbers", "e^eps"),
            ("viii", "a missing x and a rating y", "S = {?}", "e^eps"),
            ("ix", "a missing x and a rating y", "an event S of ? and numbers", "e^eps"),
        )
    ),
    _claim(
        id="RC-T1-TIGHT",
        source="ours",
        place="Theorems 1 and 2, made exact",
        statement="For both mechanisms the privacy loss of vectors that differ in k entries is at most k eps, and k eps is attained: "
        "no constant below eps holds for one changed entry, none below n eps for whole vectors.",
        formula="max over S and x, y with k differing entries of ln(Pr[M(x) in S] / Pr[M(y) in S]) = k eps",
        assumptions=(POSITIVE, INDEPENDENT),
        about=("modified_laplace", "randomized_response"),
        decide="privacy:decide_tight",
    ),
    _claim(
        id="RC-T2",
        place="Theorem 2",
        statement="The randomized response mechanism is n eps-differentially private.",
        formula="Pr[M(x) in S] <= e^(n eps) Pr[M(y) in S] for all x, y in {0, ..., d}^n and all S",
        assumptions=("eps >= 0", INDEPENDENT),
        about=("randomized_response",),
        decide="privacy:decide_theorem2",
    ),
    _claim(
        id="RC-NFOLD",
        place="proofs of Theorems 1 and 2",
        statement="A mechanism that is eps-differentially private for one entry is n eps-differentially private for a vector of n "
        "entries to which it is applied entry by entry.",
        formula="Pr[M(x_i) in S] <= e^eps Pr[M(y_i) in S] for every i implies Pr[M(x) in S] <= e^(n eps) Pr[M(y) in S]",
        assumptions=(INDEPENDENT,),
        decide="privacy:decide_product",
    ),
    _claim(
        id="RC-EXE",
        source="ours",
        place="Definitions 2 and 3, as executed",
        statement="The textbook floating-point samplers of the two mechanisms keep the privacy of the ideal ones.",
        formula="Pr[executed M(x) = z] <= e^eps Pr[executed M(y) = z] for one entry",
        about=("modified_laplace", "randomized_response"),
        decide="representation:decide_executed",
    ),
    _claim(
        id="RC-EXE-REP",
        source="ours",
        place="Definitions 2 and 3, as executed, repaired",
        statement="The samplers on integers and on a grid that this package runs keep the privacy of the ideal mechanisms.",
        formula="Pr[executed M(x) = z] <= e^eps Pr[executed M(y) = z] for one entry",
        about=("modified_laplace", "randomized_response"),
        decide="representation:decide_executed_repaired",
    ),
    # Definitions
    _claim(
        id="RC-IND2",
        misprint="one pair (xi, zeta) stands for a fresh one for each entry (RC-T1)",
        place="Definition 2, read literally",
        statement="With one pair (xi, zeta) for all entries, as Definition 2 writes it, the modified Laplace mechanism is n "
        "eps-differentially private.",
        formula="M(x_i) = zeta (x_i + xi) + (1 - zeta) ? with the same xi, zeta for all i; Pr[M(x) in S] <= e^(n eps) Pr[M(y) in S]",
        assumptions=(POSITIVE, "n >= 2"),
        decide="definitions:decide_one_noise",
    ),
    _claim(
        id="RC-IND3",
        misprint="the noise's index, the value x_k, stands for the entry k (RC-T2)",
        place="Definition 3, read literally",
        statement="With one random variable xi_i per value i, as Definition 3 writes it (M(x_k) = xi_(x_k)), the randomized response "
        "mechanism is n eps-differentially private.",
        formula="M(x_k) = xi_(x_k) with xi_0, ..., xi_d drawn once; Pr[M(x) in S] <= e^(n eps) Pr[M(y) in S]",
        assumptions=("n >= 2",),
        decide="definitions:decide_noise_by_value",
    ),
    _claim(
        id="RC-EPS0",
        misprint="eps >= 0 stands for eps > 0 in Definition 2 (RC-EPS0-REP)",
        place="Definitions 2 and 3",
        statement="Both mechanisms are defined for every eps >= 0.",
        formula="for every eps >= 0 the laws Laplace(0, 2/eps), Bernoulli(e^(eps/2)/(e^(eps/2)+1)) and p_i exist",
        decide="definitions:decide_epsilon_zero",
    ),
    _claim(
        id="RC-EPS0-REP",
        source="ours",
        place="Definitions 2 and 3, repaired",
        statement="The modified Laplace mechanism is defined for every eps > 0, and randomized response for every eps >= 0.",
        formula="the masses and densities are nonnegative and add up to 1",
        decide="definitions:decide_epsilon_positive",
    ),
    _claim(
        id="RC-CONJ",
        place="sec. 1",
        statement='The transform f is "conjugate" (it does not change the space where the ratings lie), and so every successful '
        "algorithm can be transplanted seamlessly.",
        formula="f maps ([-1, 1] or ?)^n, or {0, ..., d}^n, into itself; this implies the algorithm's guarantee on f(X)",
        predicate="Two parts: both mechanisms map their space into itself with probability 1; and a transform that does so keeps an "
        "algorithm's guarantee. Refuted if either part fails.",
        decide="definitions:decide_conjugate",
    ),
    _claim(
        id="RC-CONJ-REP",
        source="ours",
        place="sec. 1, repaired",
        statement="The modified Laplace mechanism with its numbers clipped to [-1, 1], and randomized response, map the space of "
        "ratings into itself, and stay n eps-differentially private.",
        formula="clip(M(x)) in ([-1, 1] or ?)^n; Pr[clip(M(x)) in S] <= e^(n eps) Pr[clip(M(y)) in S]",
        assumptions=(POSITIVE, INDEPENDENT),
        decide="definitions:decide_conjugate_repaired",
    ),
    _claim(
        id="RC-SLACK",
        source="ours",
        place="Definition 2",
        statement="The probability e^(eps/2)/(1 + e^(eps/2)) with which a rating is kept is forced: with Laplace noise of scale 2/eps "
        "no other pair (keep, create) gives eps-differential privacy for one entry.",
        formula="M eps-DP for one entry implies keep = r/(1+r), create = 1/(1+r), r = e^(eps/2)",
        assumptions=(POSITIVE,),
        decide="definitions:decide_forced",
    ),
    _claim(
        id="RC-SLACK-REP",
        source="ours",
        place="Definition 2, improved",
        statement="Among all pairs (keep, create) that are eps-differentially private for one entry with Laplace noise of scale 2/eps, "
        "the squared error of the unbiased reconstruction (release / keep, 0 where missing) is least at keep = "
        "r(r+1)/(r^2+r+1), create = (r+1)/(r^2+r+1) or at keep = create = 1, and strictly below that of Definition "
        "2.",
        formula="error per cell = q (m2 + 2 s_L^2)/keep + (1-q) 2 s_L^2 create/keep^2 - q m2; q: share of rated cells, m2: mean square rating",
        assumptions=(POSITIVE, "0 <= q <= 1", "the missing entries of the true vector count as 0"),
        decide="definitions:decide_best_pair",
    ),
    # Theorem 3
    _claim(
        id="RC-T3-ML",
        place="Theorem 3, eq. 6",
        statement="With probability at least 1 - gamma, the release of the modified Laplace mechanism satisfies (6).",
        formula="rho <= rho0 sqrt(s) + (4/eps) sqrt(s/gamma) + sqrt(2mn/((e^(eps/2)+1) gamma) (1 + 8/eps^2))",
        assumptions=(POSITIVE, "0 < gamma < 1", "||P_Omega_X(Theta - X)||_F <= rho0 sqrt(s)", NORMALIZED),
        decide="accuracy:decide_laplace_bound",
    ),
    _claim(
        id="RC-T3-RR",
        place="Theorem 3, eq. 7",
        statement="With probability at least 1 - gamma, the release of the randomized response mechanism satisfies (7).",
        formula="rho <= rho0 sqrt(s) + 2(d-1) sqrt(2mnd/((e^eps+d) gamma))",
        assumptions=("eps >= 0", "0 < gamma < 1", "||P_Omega_X(Theta - X)||_F <= rho0 sqrt(s)", STARS),
        decide="accuracy:decide_response_bound",
    ),
    _claim(
        id="RC-T3-TIGHT",
        source="ours",
        place="Theorem 3, sharpened",
        statement="One Markov step on the sum of both noise terms, which live on different cells, gives smaller bounds than (6) and (7) "
        "with the same probability.",
        formula="rho <= rho0 sqrt(s) + sqrt(E/gamma); Laplace: E = r/(r+1) s 8/eps^2 + (mn-s)/(r+1) (1 + 8/eps^2); "
        "response: E = (d-1)(2d-1)/6 mn d/(e^eps+d)",
        assumptions=(POSITIVE, "0 < gamma < 1", "||P_Omega_X(Theta - X)||_F <= rho0 sqrt(s)", NORMALIZED, STARS),
        decide="accuracy:decide_sharper_bounds",
    ),
    _claim(
        id="RC-T3-S",
        misprint="= stands for <= in five places (RC-T3-S-REP)",
        place="sec. 4.3",
        statement="Each expectation and each Markov step of the proof of Theorem 3 holds as printed.",
        formula='E||P(X-Z)||^2 <= 8s/eps^2, ..., Pr[||P(X-Z)|| > t] <= E||P(X-Z)||^2 / t^2 "= gamma/2", ...',
        predicate="An = means equality. Refuted by one printed equality that fails under the theorem's own assumptions.",
        assumptions=(POSITIVE, "s > 0", NORMALIZED, STARS),
        decide="moments:decide_steps",
    ),
    _claim(
        id="RC-T3-S-REP",
        source="ours",
        place="sec. 4.3, repaired",
        statement="Each expectation and each Markov step of the proof of Theorem 3 holds with <= in place of the five false equalities.",
        formula="E||P(X-Z)||^2 <= 8s/eps^2, ..., Pr[||P(X-Z)|| > t] <= E||P(X-Z)||^2 / t^2 <= gamma/2, ...",
        assumptions=(POSITIVE, NORMALIZED, STARS),
        decide="moments:decide_steps_repaired",
    ),
    _claim(
        id="RC-RANGE",
        place="sec. 4.3",
        statement="The moment bounds for created ratings, and Theorem 3 with them, need nothing of Theta beyond what section 3 assumes "
        "(low rank, and closeness to X where a rating is observed).",
        formula="E[(Theta-Z)^2] <= 1 + 8/eps^2 and E[(Theta-Z)^2] <= (d-1)^2 for every Theta",
        predicate="Judged on the assumptions printed in section 3, where Theta is any real matrix of low rank.",
        decide="moments:decide_range",
    ),
    _claim(
        id="RC-RANGE-REP",
        source="ours",
        place="sec. 4.3, repaired",
        statement="The moment bounds for created ratings hold when true ratings lie in the range of the observed ones.",
        formula="|Theta| <= 1 implies E[(Theta-Z)^2] <= 1 + 8/eps^2; 1 <= Theta <= d implies E[(Theta-Z)^2] <= (d-1)^2",
        assumptions=(POSITIVE, NORMALIZED, STARS),
        decide="moments:decide_range_repaired",
    ),
    _claim(
        id="RC-EQ",
        misprint="= stands for <= (RC-EQ-REP)",
        place="sec. 4.3",
        statement="For randomized response, the mean squared error of a created rating is (d-1)^2.",
        formula="E[(Theta_ij - Z_ij)^2 | Omega_X, Omega_Z] = (d-1)^2 for all (i, j) in Omega_Z but not Omega_X",
        assumptions=(STARS,),
        decide="moments:decide_created_rating",
    ),
    _claim(
        id="RC-EQ-REP",
        source="ours",
        place="sec. 4.3, repaired",
        statement="For randomized response, the mean squared error of a created rating is at most (d-1)(2d-1)/6, and equal to that for a "
        "true rating of 1 or d.",
        formula="E[(Theta_ij - Z_ij)^2 | Omega_X, Omega_Z] <= (d-1)(2d-1)/6 <= (d-1)^2",
        assumptions=(STARS,),
        decide="moments:decide_created_rating_repaired",
    ),
    _claim(
        id="RC-RRX",
        place="sec. 4.3",
        statement="For randomized response, the mean squared change of a rating that stays a rating is at most (d-1)^2 d/(e^eps+d).",
        formula="E[(X_ij - Z_ij)^2 | Omega_X, Omega_Z] <= (d-1)^2 d/(e^eps+d) for all (i, j) in Omega_X and Omega_Z",
        assumptions=("eps >= 0", STARS),
        decide="moments:decide_changed_rating",
    ),
    _claim(
        id="RC-DEC",
        place="sec. 4.3",
        statement="rho is at most the sum of three Frobenius norms: Theta - X and X - Z where both are rated, Theta - Z where only Z is.",
        formula="||P_Z(Theta-Z)|| <= ||P_ZX(Theta-X)|| + ||P_ZX(X-Z)|| + ||P_(Z without X)(Theta-Z)||, the first <= rho0 sqrt(s)",
        decide="accuracy:decide_decomposition",
    ),
    _claim(
        id="RC-UNION",
        place="sec. 4.3",
        statement="Two failures of probability at most gamma/2 each leave probability at least 1 - gamma for both bounds.",
        formula="Pr[A] <= gamma/2, Pr[B] <= gamma/2 implies Pr[not A and not B] >= 1 - gamma",
        decide="accuracy:decide_union",
    ),
    # Recovery
    _claim(
        id="RC-MON",
        place="sec. 3",
        statement="As eps increases to infinity, the bounds (6) and (7) decrease to rho0 sqrt(s).",
        formula="(6) and (7) are strictly decreasing in eps > 0, with limit rho0 sqrt(s)",
        assumptions=("s > 0", "d >= 2"),
        decide="recovery:decide_monotone",
    ),
    _claim(
        id="RC-RIP",
        place="Definition 4, eq. 2",
        statement="The projection on the entries of Z that are not missing satisfies the restricted isometry property for every matrix "
        "of sufficiently small rank, with a small alpha < 1.",
        formula="(1-alpha) ||A||^2 <= ||P_Omega_Z(A)||^2 / p <= (1+alpha) ||A||^2 for every A with rank(A) <= r0, r0 >= 1, alpha < 1",
        assumptions=("some entry of Z is missing, as in every recommender",),
        decide="recovery:decide_isometry",
    ),
    _claim(
        id="RC-RIP-REP",
        source="ours",
        place="Definition 4, repaired",
        statement="For one fixed matrix A without spikes, and entries observed independently with one probability p, (2) holds with "
        "probability at least 1 - (1-p) mu / (p alpha^2 mn).",
        formula="max A_ij^2 <= mu ||A||_F^2/(mn) implies Pr[| ||P_Omega(A)||^2/p - ||A||^2 | > alpha ||A||^2] <= (1-p) mu/(p alpha^2 mn)",
        assumptions=(
            "every entry is observed independently with the same probability p > 0",
            "A is fixed before the entries are drawn",
        ),
        decide="recovery:decide_isometry_repaired",
    ),
    _claim(
        id="RC-5",
        place="sec. 3, eq. 5",
        statement="Under the restricted isometry property, the completion error is at most C0 p^(-1/2) rho.",
        formula="(2) implies ||Theta^ - Theta||_F <= C0 p^(-1/2) rho",
        assumptions=("some entry of Z is missing, as in every recommender",),
        decide="recovery:decide_error_bound",
    ),
    _claim(
        id="RC-5-REP",
        source="ours",
        place="sec. 3, eq. 5, repaired",
        statement="When no entry of Z is missing, the completion error is at most 2 rho; when one is missing, no constant C0 bounds it by "
        "C0 p^(-1/2) rho for all matrices of rank 1.",
        formula="p = 1 implies ||Theta^ - Theta||_F <= 2 rho; p < 1: Theta of rank 1 with rho = 0 and ||Theta^ - Theta||_F = 1",
        decide="recovery:decide_error_bound_repaired",
    ),
    _claim(
        id="RC-5-ALL",
        place="sec. 3",
        statement='"The analysis can be generalized to all methods" of completion.',
        formula="for every completion method there is C0 with ||Theta^ - Theta||_F <= C0 p^(-1/2) rho",
        predicate="A method is any map from Z to a completed matrix; refuted by a method in use, the mean rating of each item, for which no "
        "C0 exists even with every entry observed.",
        decide="recovery:decide_all_methods",
    ),
    _claim(
        id="RC-UTIL",
        place="sec. 3",
        statement="The completion error falls as eps grows and tends to that of the clean data.",
        formula="||Theta^ (Z_eps) - Theta||_F decreases in eps, with limit ||Theta^ (X) - Theta||_F",
        predicate="Needs a trained completion per eps on real ratings: holds if every paired 95% interval between successive eps is on the "
        "claimed side and the last contains the error on clean data; refuted if one lies on the other side; else open. Fixed before the "
        "run: MovieLens 100K; the error is the RMSE on a tenth of the ratings, held out anew for each of 5 seeds; completion (4) of the "
        "released ratings less their mean, with rho as in (3) and the clean completion for the unknown Theta; both mechanisms as "
        "published; eps = 0.1, 0.3, 1, 2, 4, 6, 8, 10, and 1000 for the limit; differences paired by seed, all intervals together at 95%.",
        decide="utility:decide_utility",
    ),
)
