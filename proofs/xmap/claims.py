"""Claims of Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations" (X-Map), technical report of proofs."""

from dpassay.core.claims import Claim, claims_of

TITLE = "Heterogeneous Recommendations: What You Might Like To Read After Watching Interstellar (Guerraoui, Kermarrec, Lin, Patra)"

NOTATION: tuple[tuple[str, str], ...] = (
    ("D, D'", "ratings of all users, and the same when one user has joined or left (proof of Theorem 1)"),
    ("eps, eps'", "privacy parameters in nats: of the replacement (Theorem 1), and of selection with prediction"),
    ("alpha, zCDP", "order of a Renyi divergence D_alpha(D || D'), at most alpha rho in rho-zCDP; not in the paper"),
    ("t_i, t_j, t_k", "items: the one in question, candidates for it"),
    ("i, j", "numbers of items"),
    ("X-SIM(t_i, t_j), q(D, t_i, t_j)", "similarity of items of two domains along paths of common raters, in [-1, 1]"),
    ("I(t_i)", "items of the target domain whose X-SIM to t_i is defined, the candidates (proof of Theorem 1)"),
    ("PRS", "private replacement selection: one item t_j drawn with weight exp(eps X-SIM(t_i, t_j) / (2 GS))"),
    ("GS", "global sensitivity: the largest change of a score between neighboring datasets (Theorem 1)"),
    ("P, Q", "factors of the ratio of probabilities (proof of Theorem 1); in Theorem 2 the sign of P tells two cases"),
    ("AlterEgo, L, y", "a user's profile of L items, each replaced by PRS; y a value of what is released"),
    ("r_xi, r_i, r'_i", "x's rating of t_i less x's mean; the vector of them; the same without a user (Theorem 2)"),
    ("dot, dot'", "inner product r_i . r_j, and r'_i . r'_j"),
    (
        "s, s_j, sim",
        "similarity of t_i and candidate t_j, dot / (|r_i||r_j|): a cosine of centered ratings, in [-1, 1]",
    ),
    ("s', s(D)", "similarity when a user has left, and on dataset D"),
    ("x, U_ij, U_j", "a user; the users who rated both t_i and t_j; those who rated t_j"),
    ("SS, SS(t_i, t_j)", "similarity-based sensitivity of a pair; without arguments the largest (Theorems 2, 3)"),
    ("SS_min, SS_max, c", "range of SS over the pairs, and (4k/eps') ln(k(N-k)/rho), in XM-JOINT-REP"),
    ("M, N in XM-T2-REP", "products of norms |r'_i||r'_j| and |r_i||r_j|"),
    ("S_j, b", "a smooth upper bound of a candidate's sensitivity; it changes by at most a factor e^b (XM-T2-MAX-REP)"),
    ("N, k", "number of candidates and of neighbors chosen, items; the paper has |v| for N"),
    ("N(D), S, M(D)", "set of neighbors chosen on D, and one such set; M(D) the output of any of the mechanisms"),
    ("s_k, sim_k", "k-th largest similarity: the smallest of the true neighbors (Theorem 3)"),
    ("w, rho", "width of the truncation, a similarity, and the probability with which it may fail (Theorems 3, 4)"),
    ("a", "weight per unit of similarity, eps'/(4k SS)"),
    ("|v|, p, P in XM-T3", "largest length of a rating vector; probability of a bad pick in one round (Theorem 3)"),
    ("A, B", "events: an item above sim_k + w is left out; one below sim_k is picked (proof of Theorem 4)"),
    ("C1", "candidates of similarity at least sim_k - w (proof of Theorem 3)"),
    ("PNCF", "prediction from the chosen neighbors, with Laplace noise on their similarities"),
    ("w0, q_j, q_(k)", "constant w of the soft floor, scores, and the k-th largest of them (XM-PNSA-REP)"),
)

_claim = claims_of("xmap")

_SS = "SS = max_x max{ r_xi r_xj / (|r'_i||r'_j|), dot / (|r'_i||r'_j|) - dot / (|r_i||r_j|) }"
_W = "w = min(s_k, (4k SS/eps') ln(k(N-k)/rho))"
_CONSTANT = "one constant SS in all weights and in w"
_ONE_DRAW = "1 <= k < N, 0 < rho < 1"

CLAIMS: tuple[Claim, ...] = (
    _claim(
        id="XM-T1",
        place="Theorem 1",
        statement="Private Replacement Selection, which draws the replacement t_j of an item t_i by weight "
        "exp(eps X-SIM(t_i, t_j) / (2 GS)), is eps-differentially private.",
        formula="Pr[PRS(D) = t_j] <= e^eps Pr[PRS(D') = t_j], I(t_i) the items with a quantified X-SIM",
        about=("prs/paper",),
        decide="privacy:decide_prs",
    ),
    _claim(
        id="XM-T1-REL",
        source="ours",
        place="Theorem 1, as released",
        statement="The released replacement selection, which draws among the ten candidates of largest |X-SIM|, is "
        "eps-differentially private.",
        formula="Pr[PRS(D) = t_j] <= e^eps Pr[PRS(D') = t_j], candidates the top 10 by |X-SIM|",
        about=("prs/released",),
        decide="privacy:decide_prs_released",
    ),
    _claim(
        id="XM-T1-REP",
        source="ours",
        place="Theorem 1, repaired",
        statement="Replacement selection over the whole public catalogue of the target domain, an undefined X-SIM counting as "
        "0 and GS = 2, is eps-differentially private when one user joins or leaves, for every number of candidates.",
        formula="Pr[PRS(D) = t_j] <= e^eps Pr[PRS(D') = t_j], weights exp(eps X-SIM(t_i, t_j) / 4)",
        assumptions=("the catalogue is public", "similarities of items lie in [-1, 1], so that X-SIM does"),
        decide="replacement_selection:decide_repaired",
    ),
    _claim(
        id="XM-T1-S",
        place="proof of Theorem 1",
        statement="The two factors P and Q of the ratio of probabilities are each at most exp(eps/2), for any number of candidates.",
        formula="P = exp(eps (q(D,t_j) - q(D',t_j)) / (2 GS)) <= e^(eps/2); "
        "Q = sum_k exp(eps q(D',t_k) / (2 GS)) / sum_k exp(eps q(D,t_k) / (2 GS)) <= e^(eps/2)",
        assumptions=(
            "GS bounds the change of every candidate's X-SIM between any two neighboring datasets",
            "the candidates are the same on both datasets",
        ),
        decide="replacement_selection:decide_factors",
    ),
    _claim(
        id="XM-GS-DEF",
        place="proof of Theorem 1",
        statement="The sensitivity as the proof defines it, the largest change of one candidate's X-SIM from the given dataset, "
        "suffices for the step from P and Q to exp(eps/2).",
        formula="GS = max_D' |q(D,t_i,t_j) - q(D',t_i,t_j)|, D and t_j fixed, implies P <= e^(eps/2) and Q <= e^(eps/2)",
        predicate="D' ranges over D without one user, the relation of Theorem 2; a sensitivity over the single pair compared.",
        decide="replacement_selection:decide_sensitivity_definition",
    ),
    _claim(
        id="XM-T1-I",
        place="Theorem 1",
        statement="The same candidate set I(t_i) stands in the numerator and the denominator, for D and for D'.",
        formula="I(t_i) = {t_k: X-SIM(t_i, t_k) is quantified} is equal on D and D'",
        decide="replacement_selection:decide_candidate_set",
    ),
    _claim(
        id="XM-T1-COMP",
        source="ours",
        place="Theorem 1, never stated",
        statement="The eps of Theorem 1 is the cost of an AlterEgo: replacing all L items of a profile by PRS is "
        "eps-differentially private.",
        formula="Pr[(PRS(t_1), ..., PRS(t_L))(D) = y] <= e^eps Pr[(PRS(t_1), ..., PRS(t_L))(D') = y]",
        assumptions=("each PRS by itself is eps-differentially private, as in XM-T1-REP",),
        decide="profile_composition:decide_profile",
    ),
    _claim(
        id="XM-T1-COMP-REP",
        source="ours",
        place="Theorem 1, repaired",
        statement="One AlterEgo of L items costs L eps in pure differential privacy and is (L eps^2/8)-zCDP.",
        formula="Pr[y | D] <= e^(L eps) Pr[y | D'] and D_alpha(D || D') <= alpha L eps^2/8 for all alpha > 1",
        assumptions=(
            "each item is replaced as in XM-T1-REP, with its own randomness",
            "L and the profile's items are public",
        ),
        decide="profile_composition:decide_profile_repaired",
    ),
    _claim(
        id="XM-T2",
        place="Theorem 2",
        statement="The similarity-based sensitivity SS(t_i, t_j) bounds the change of the cosine of two items' mean-centered "
        "ratings when one user leaves.",
        formula=f"|s(D) - s(D')| <= {_SS}",
        decide="item_similarity_sensitivity:decide_sensitivity",
    ),
    _claim(
        id="XM-T2-REP",
        source="ours",
        place="Theorem 2, repaired",
        statement="The sum of the two terms of SS, taken absolute and over all users who rated either item, bounds the change of "
        "the similarity when one user leaves; the larger of the two does when the user's product has the sign of dot.",
        formula="|s(D) - s(D')| <= max_x ( |r_xi r_xj| + |dot| (1 - M/N) ) / M, M = |r'_i||r'_j|, N = |r_i||r_j|",
        assumptions=("M > 0", "a missing rating counts as 0; norms over all raters or over co-raters"),
        decide="item_similarity_sensitivity:decide_sensitivity_repaired",
    ),
    _claim(
        id="XM-T2-N",
        place="proof of Theorem 2",
        statement="Removing a user who rated one or none of the two items does not change their similarity.",
        formula="x not in U_ij implies s(D) = s(D')",
        predicate="The vector of an item holds all its ratings, as the proof says; norms over co-raters are reported beside it.",
        decide="item_similarity_sensitivity:decide_one_item",
    ),
    _claim(
        id="XM-T2-P",
        place="proof of Theorem 2",
        statement="If P >= 0, the similarity falls by at most r_xi r_xj / (|r'_i||r'_j|) when user x leaves.",
        formula="dot |r'_i||r'_j| >= dot' |r_i||r_j| implies s - s' <= r_xi r_xj / (|r'_i||r'_j|)",
        decide="item_similarity_sensitivity:decide_falling_branch",
    ),
    _claim(
        id="XM-T2-M",
        place="proof of Theorem 2",
        statement="If P <= 0, the similarity rises by at most dot / (|r'_i||r'_j|) - dot / (|r_i||r_j|) when user x leaves.",
        formula="dot |r'_i||r'_j| <= dot' |r_i||r_j| implies s' - s <= dot / (|r'_i||r'_j|) - dot / (|r_i||r_j|)",
        decide="item_similarity_sensitivity:decide_rising_branch",
    ),
    _claim(
        id="XM-T2-NORM",
        place="proof of Theorem 2",
        statement="The product of the two norms does not grow when a user leaves.",
        formula="|r'_i||r'_j| <= |r_i||r_j|",
        decide="item_similarity_sensitivity:decide_norms",
    ),
    _claim(
        id="XM-T2-NN",
        place="proof of Theorem 2",
        statement='The inequality of the norms follows ("hence") from the similarity not depending on users who rated one of the '
        "items or none.",
        formula="XM-T2-N implies |r'_i||r'_j| <= |r_i||r_j|",
        predicate="Judged as an inference: holds if it is valid for every way to measure the length of a vector of co-raters' "
        "ratings, refuted by a length for which the premise is true and the conclusion false.",
        decide="item_similarity_sensitivity:decide_inference",
    ),
    _claim(
        id="XM-T2-DEN",
        place="Theorem 2",
        statement="SS is defined: its denominators are never zero.",
        formula="|r'_i||r'_j| > 0 for every x in U_ij (the statement prints |r'_i||r'_i|)",
        decide="item_similarity_sensitivity:decide_denominators",
    ),
    _claim(
        id="XM-T2-MAX",
        place="Theorem 2; Theorem 3",
        statement="SS(t_i, t_j) is a sensitivity that can stand in the weights of the exponential mechanism.",
        formula="weights exp(eps' s_j / (4k SS(t_i,t_j))) give Pr[N(D) = S] <= e^(eps'/2) Pr[N(D') = S]",
        decide="item_similarity_sensitivity:decide_usable",
    ),
    _claim(
        id="XM-T2-MAX-REP",
        source="ours",
        place="Theorem 2, repaired",
        statement="A pair's own sensitivity may stand in the weights if it is a smooth upper bound of the local one and not "
        "below e^b - 1: with half the exponent the selection is (eps'/2)-differentially private.",
        formula="|s_j| <= 1, |s_j(D) - s_j(D')| <= S_j(D), S_j(D) <= e^b S_j(D'), S_j >= e^b - 1: weights "
        "exp(eps' s_j / (8k S_j)) give Pr[N(D) = S] <= e^(eps'/2) Pr[N(D') = S]",
        assumptions=("b > 0 is a constant; the candidate list does not depend on the data",),
        decide="smooth_sensitivity_selection:decide_usable_repaired",
    ),
    _claim(
        id="XM-T3",
        place="Theorem 3",
        statement="With probability at least 1 - rho all k chosen items have a similarity larger than sim_k - w.",
        formula=f"Pr[s_j > s_k - w for all chosen j] >= 1 - rho, {_W}, SS the largest SS(t_i,t_j)",
        predicate="|v| read as the number N of candidates, the only reading in which the proof's count is right (XM-T3-V); weights "
        "exp(eps' max(s_j, s_k - w) / (4k SS(t_i,t_j))), as the proof recalls them.",
        decide="truncated_selection:decide_lower",
    ),
    _claim(
        id="XM-T4",
        place="Theorem 4",
        statement="With probability at least 1 - rho all items with a similarity greater than sim_k + w are chosen.",
        formula=f"Pr[every j with s_j > s_k + w is chosen] >= 1 - rho, {_W}",
        predicate="|v| read as the number N of candidates, and one SS in all weights: the readings most favorable to the theorem.",
        decide="truncated_selection:decide_upper",
    ),
    _claim(
        id="XM-T3-STEP",
        place="proof of Theorem 3",
        statement="In each round an item with similarity below sim_k - w is picked with probability at most "
        'exp(-eps\' w / (4k SS)), "due to the fact that the k-th neighbor is still present".',
        formula="p <= exp(-eps' w / (4k SS)) given any earlier picks",
        assumptions=(_CONSTANT,),
        predicate="The inequality is judged; whether its printed reason is true is reported.",
        decide="truncated_selection:decide_round",
    ),
    _claim(
        id="XM-T3-V",
        place="Theorem 3",
        statement="At most |v| items have a similarity below sim_k - w, where |v| is the largest length of a rating vector.",
        formula="#{j: s_j < s_k - w} <= |v|, |v| = max_j |U_j|; then used as |v| - k",
        decide="truncated_selection:decide_vector_length",
    ),
    _claim(
        id="XM-T3-BERN",
        place="proof of Theorem 3, eq. 1",
        statement="If a round goes wrong with probability at most P, all k rounds go right with probability at least (1-P)^k, "
        "which is at least 1 - kP.",
        formula="Pr[k rounds right] >= (1-P)^k >= 1 - kP",
        assumptions=("P is in [0, 1] and bounds the chance given any earlier picks",),
        decide="truncated_selection:decide_rounds",
    ),
    _claim(
        id="XM-T3-RNG",
        place="end of the proof of Theorem 3",
        statement="With w = min(sim_k, bound) the truncated similarities stay in the range of the similarity: at least 0 for cosine, "
        "at least -1 for Pearson correlation.",
        formula="w <= s_k implies max(s_j, s_k - w) >= 0, hence >= -1, and at most 1",
        assumptions=("similarities lie in [-1, 1]; the second term of the minimum is not negative",),
        decide="truncated_selection:decide_range",
    ),
    _claim(
        id="XM-T3-STRICT",
        place="Theorem 3",
        statement='"Larger than sim_k - w" (the theorem) is shown by bounding the picks below sim_k - w (the proof, whose C1 has '
        ">=): the strict statement holds whenever the other does.",
        formula="Pr[s_j >= s_k - w for all chosen j] >= 1 - rho implies Pr[s_j > s_k - w for all chosen j] >= 1 - rho",
        assumptions=(_CONSTANT,),
        decide="truncated_selection:decide_strict",
    ),
    _claim(
        id="XM-T4-AB",
        place="proof of Theorem 4",
        statement="The probability of picking an item below sim_k, given that one above sim_k + w was not picked, is at most the "
        "ratio of the weights of the two similarities.",
        formula="P(B|A) <= P(B)/P(A) = exp(-eps' w / (4k SS))",
        assumptions=(_CONSTANT,),
        decide="truncated_selection:decide_conditional",
    ),
    _claim(
        id="XM-JOINT",
        source="ours",
        place="Theorems 3 and 4",
        statement="The conclusions of Theorems 3 and 4 hold together with probability at least 1 - rho.",
        formula=f"Pr[all chosen above s_k - w, and all above s_k + w chosen] >= 1 - rho, {_W}",
        predicate="|v| read as the number N of candidates, and one SS in all weights.",
        decide="truncated_selection:decide_joint",
    ),
    _claim(
        id="XM-T3-REP",
        source="ours",
        place="Theorem 3, repaired",
        statement="With w = (4k SS/eps') ln(k(N-k)/rho), not cut at sim_k, all k chosen items have a similarity larger than "
        "sim_k - w with probability at least 1 - rho; for any other w >= 0 at least 1 - k(N-k) exp(-eps' w/(4k SS)).",
        formula="Pr[s_j > s_k - w for all chosen j] >= 1 - k(N-k) e^(-a w), which is 1 - rho at w = ln(k(N-k)/rho) / a",
        assumptions=(_CONSTANT, _ONE_DRAW, "w > 0 for the strict inequality"),
        decide="truncated_selection_repair:decide_lower_repaired",
    ),
    _claim(
        id="XM-T4-REP",
        source="ours",
        place="Theorem 4, repaired",
        statement="With w = (4k SS/eps') ln(k(N-k)/rho), not cut at sim_k, every item above sim_k + w is chosen with probability "
        "at least 1 - rho; for any other w >= 0 at least 1 - k(N-k) exp(-eps' w/(4k SS)).",
        formula="Pr[every j with s_j > s_k + w is chosen] >= 1 - k(N-k) e^(-a w), which is 1 - rho at w = ln(k(N-k)/rho) / a",
        assumptions=(_CONSTANT, _ONE_DRAW),
        decide="truncated_selection_repair:decide_upper_repaired",
    ),
    _claim(
        id="XM-JOINT-REP",
        source="ours",
        place="Theorems 3 and 4, repaired",
        statement="With w = (4k SS/eps') ln(k(N-k)/rho) both conclusions hold together with probability at least 1 - rho, not only "
        "1 - 2 rho; with each pair's own SS in [SS_min, SS_max] they do with a larger w on either side.",
        formula="Pr[both] >= 1 - rho; with c = (4k/eps') ln(k(N-k)/rho) and own SS: below s_k by s_k (1 - SS_min/SS_max) + SS_min c, "
        "above by s_k (SS_max/SS_min - 1) + SS_max c",
        assumptions=(_ONE_DRAW, "with each pair's own SS: similarities are not negative, SS_min > 0"),
        decide="truncated_selection_repair:decide_joint_repaired",
    ),
    _claim(
        id="XM-PNSA",
        place="implied by the weights of Theorem 3",
        statement="Private neighbor selection is (eps'/2)-differentially private, and with PNCF's noise eps'-differentially private.",
        formula="Pr[N(D) = S] <= e^(eps'/2) Pr[N(D') = S], weights exp(eps' max(s_j, s_k - w) / (4k SS(t_i,t_j)))",
        about=("pnsa/paper",),
        allows="1/2",
        decide="privacy:decide_pnsa",
    ),
    _claim(
        id="XM-PNSA-REL",
        source="ours",
        place="Theorem 3, as released",
        statement="The released neighbor selection, whose truncation has no effect, is (eps'/2)-differentially private.",
        formula="Pr[N(D) = S] <= e^(eps'/2) Pr[N(D') = S], weights exp(eps' s_j / (4k SS(t_i,t_j)))",
        about=("pnsa/released",),
        allows="1/2",
        decide="privacy:decide_pnsa_released",
    ),
    _claim(
        id="XM-PNSA-REP",
        source="ours",
        place="Theorem 3, repaired",
        statement="With one constant GS in all weights and a constant w0 in the soft floor, private neighbor selection is "
        "(eps'/2)-differentially private, eps'/4 when only candidates' ratings are protected; noise of scale 2k "
        "GS/eps' on each neighbor's similarity makes the prediction eps'-differentially private.",
        formula="weights exp(eps' max(q_j, q_(k) - w0) / (4k GS)), |q_j(D) - q_j(D')| <= GS for every candidate",
        assumptions=(
            "GS and w0 are constants, not computed from the data",
            "the candidate list does not depend on the data",
        ),
        decide="soft_floor_selection:decide_pnsa_repaired",
    ),
    _claim(
        id="XM-EXE",
        source="ours",
        place="all mechanisms, as executed",
        statement="The floating-point samplers of X-Map's mechanisms keep the privacy that their repaired forms have in ideal "
        "arithmetic.",
        formula="Pr[executed M(D) = y] <= e^eps Pr[executed M(D') = y]",
        decide="representation:decide_executed",
    ),
)
