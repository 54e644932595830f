"""The exact epsilon of a determinantal point process, add-or-remove neighbors (the question of sections 3.2 and 4).

Fitzsimons et al. bound phase 1 of the sampler and leave the rest as future work. Here is the answer for the whole
sampler. With L' = L + xx', N = max |x|^2 and the notation of `dpassay.proofs.dpp.claims`,

    P'(Y)/P(Y) = (1 + a_Y)/(1 + b),    0 = a_empty <= a_Y <= a <= N/s,    s/(1+s) a <= b <= N/(1+s),

so that every ratio lies between 1/(1 + N/(1+s)) and (1 + N/s)/(1 + N/(1+s)), and the empty dataset with a longest row
attains both. `docs/theorems/determinantal-privacy.md` has the statements and proofs in full.
"""

import math
from typing import Any

import numpy as np

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.proofs.decisions import decided, established, shown
from dpassay.proofs.dpp.determinants import EIGENVALUES_GROW, FORM_GROWS, MONOTONE, RANK_ONE, SPECTRAL
from dpassay.proofs.lemmas import PRODUCT_KEEPS_RATIO
from dpassay.proofs.notation import cited, derivative, identity, instance, proof, smt
from dpassay.proofs.theorems import ZCDP_COMPOSITION

ITEMS = (10, 100, 1000)
BUDGETS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
SHOWN = 10  # items on a page, for the process of fixed size


def decide_exact_epsilon(claim: Claim, context: Context) -> Verdict:
    """DP-EPS-REP: both branches of eps*, attained, and compared with an exhaustive enumeration."""
    enumerations = [
        enumeration(2, 3, "1/20", "861/61"),
        enumeration(3, 2, "1", "5/2"),
        enumeration(5, 0, "1", "7/2"),
        *([] if context.quick else [enumeration(3, 3, "1/5", "32/7"), enumeration(4, 1, "1/2", "11/3")]),
    ]
    return decided(
        claim,
        "holds",
        "Adding one subject multiplies the probability of a subset Y by (1 + a_Y)/(1 + b), two numbers that the jitter "
        "bounds, so the released subset has a finite epsilon without any look at eigenvectors or eigengaps: the larger "
        "of the two logarithms above, attained when a reader of everything joins an empty database. For s (s + B^2) >= "
        "1, which is every useful jitter, it is log(1 + B^2/(1 + s)). With 5 items and s = 1 that is 1.2528, where the "
        "paper's bound for phase 1 alone is 11.74; the floating-point sampler is a claim of its own (DP-EXE).",
        evidence=(
            shown(
                "Upper bound for every number of items and subjects, and its attainment.",
                exact_epsilon_proof(),
                tables=(_epsilon_table(), _jitter_table(), *_recommendation_tables(context.data)),
            ),
            *(
                shown("All small binary databases, exact rationals: the largest ratio is e^eps*.", each)
                for each in enumerations
            ),
            shown("Five items, s = 1: between 1.25276 and 1.25277.", _five_items()),
        ),
    )


decide_phases_together = established(
    "refuted",
    "For every pair of neighbors the subset Y has exactly the epsilon of the coin flips alone: the largest ratio "
    "is (1 + a)/(1 + b), at the full set and at all heads, the smallest 1/(1 + b), at the empty set and at all "
    "tails. SubsetConstruction adds nothing as long as only Y is released. Adding a cost of its own would even "
    "be useless: given the coins, its law can be possible on one dataset and impossible on a neighbor (DP-EVEC), "
    "so that sum is infinite.",
    evidence=lambda: shown("The same largest and smallest ratio for coins and subsets.", phases_proof()),
    repair="DP-EPS-REP",
)

decide_recommendations = established(
    "holds",
    "Fresh draws from the same data are independent given the data, so their ratios multiply, and one pair of "
    "neighbors and one subset are worst for all of them: T recommendations cost exactly T eps*, more with each. "
    "Showing the same subset again costs nothing. The epsilon of one recommendation, which the paper leaves "
    "open, is DP-EPS-REP; with delta > 0 the cost grows with sqrt(T) (DP-T-REP).",
    evidence=lambda: shown("T draws cost T eps*, and eps* is positive.", recommendations_proof()),
)

decide_composition = established(
    "holds",
    "Pure epsilon adds up without any loss. For an average guarantee the range of the loss counts, not its "
    "maximum: over all subsets it spans at most r = log(1 + B^2/s), which gives r^2/8-zCDP per draw and T r^2/8 "
    "for T draws, hence (rho + 2 sqrt(rho ln(1/delta)), delta)-differential privacy. The exact curve of T draws "
    "is that of T coins (DP-DELTA-REP).",
    evidence=lambda: shown(
        "T eps* is attained; a loss in a range of width r is r^2/8-zCDP.",
        composition_proof(),
        tables=(_composition_table(),),
    ),
)

decide_jitter = established(
    "holds",
    "Both branches of eps* fall strictly as the jitter grows, so more jitter is more private at every level. An "
    "item nobody read is chosen with probability s/(1 + s), independently of everything else, which grows with "
    "the jitter, and so does its share relative to any more popular item that shares no readers with others. The "
    "price is steep: eps = 1 with 100 items needs s = 57, so that an unread item is chosen with probability 0.98.",
    evidence=lambda: shown("Monotone in s, for every n and s.", jitter_proof(), tables=(_jitter_table(),)),
)


def exact_epsilon_proof() -> dict[str, Any]:
    """Both bounds on P'(Y)/P(Y), for all n, and the dataset that attains them."""
    return proof(
        "P(Y) = det(L_Y)/det(L + I) (DP-Z). Steps 1 to 3 prove det(A + xx') = det(A)(1 + x'A^-1 x) by eliminating "
        "one item at a time; with A = L_Y and A = L + I, P'(Y)/P(Y) = (1 + a_Y)/(1 + b). The elimination that starts "
        "with the items of Y shows a_Y as a part of the sum of squares over pivots that is a, so 0 <= a_Y <= a. In "
        "the eigenbasis of L, a is the sum of c_i/l_i and b of c_i/(1 + l_i), with c_i >= 0 adding up to |x|^2 <= N; "
        "from the empty sum, the steps about one eigenvector and about one more give s/(1+s) a <= b, a <= N/s and b "
        "<= N/(1+s). The two steps on ratios turn that into the two branches. The last two: on the empty database, L "
        "= s I, a row with |x|^2 = N has a = N/s and b = N/(1+s), so that the full set has the upper and the empty "
        "set the lower ratio; removing the subject exchanges the two.",
        *RANK_ONE,
        *MONOTONE,
        *SPECTRAL,
        smt(
            "no subset gains more than the full set of the worst pair",
            "s > 0, N >= 0, 0 <= q <= a, a <= N / s, b >= s / (1 + s) * a",
            "(1 + q) * (1 + N / (1 + s)) <= (1 + N / s) * (1 + b)",
            model="s = 1, N = 1, q = 1, a = 1, b = 1",
        ),
        smt(
            "no subset loses more than the empty set of the worst pair",
            "s > 0, N >= 0, q >= 0, b <= N / (1 + s)",
            "1 + b <= (1 + N / (1 + s)) * (1 + q)",
            model="s = 1, N = 1, q = 0, b = 0",
        ),
        smt(
            "which of the two branches is the larger",
            "s > 0, N > 0",
            "(s * (s + N) <= 1 and (1 + N / s) >= (1 + N / (1 + s)) ** 2) or (s * (s + N) > 1 and (1 + N / s) < (1 + "
            "N / (1 + s)) ** 2)",
            model="s = 1, N = 1",
        ),
        identity(
            "the full set, empty database", "(1 + N / s) / (1 + N / (1 + s)) == (s + N) * (1 + s) / (s * (1 + s + N))"
        ),
        identity("the empty set, empty database", "1 / (1 + N / (1 + s)) == (1 + s) / (1 + s + N)"),
    )


def phases_proof() -> dict[str, Any]:
    """The largest and the smallest ratio of the coins are those of the subsets."""
    return proof(
        "Write m_i for the eigenvalues of L' = L + xx'. In descending order m_i >= l_i (Weyl), since xx' is positive "
        "semidefinite. The coins show J with probability prod_J l_i / prod (1 + l_i), so the ratio at J is the "
        "product over J of m_i/l_i, divided by that of (1 + m_i)/(1 + l_i) over all i. The latter is det(L' + "
        "I)/det(L + I) = 1 + b, and the former over all i is det(L')/det(L) = 1 + a, by the first steps. Each factor "
        "is at least 1, so products over J lie between 1 and 1 + a: extremes (1 + a)/(1 + b) at J = all and 1/(1 + "
        "b) at J = none. Subsets have the same extremes, since 0 = a_empty <= a_Y <= a_[n].",
        *RANK_ONE,
        *MONOTONE,
        smt(
            "one more coin multiplies by a factor of at least 1",
            "l > 0, m >= l, A >= 1",
            "A * (m / l) >= A",
            model="l = 1, m = 1, A = 1",
        ),
        identity("one coin shows heads", "(m / (1 + m)) / (l / (1 + l)) == (m / l) / ((1 + m) / (1 + l))"),
        identity("one coin shows tails", "(1 / (1 + m)) / (1 / (1 + l)) == 1 / ((1 + m) / (1 + l))"),
        FORM_GROWS,
        rests_on=[EIGENVALUES_GROW],
        supports="refuted",
    )


def recommendations_proof() -> dict[str, Any]:
    """T draws cost T eps*, which grows with T."""
    return proof(
        "Given the data, draws are independent: the probability of Y_1, ..., Y_T is a product, so its ratio is at "
        "most e^(T eps*) (one more factor, from the empty product) and equal to it when every Y_t is the subset that "
        "attains eps* and the neighbors are the pair that does. eps* is positive because its second branch is.",
        *PRODUCT_KEEPS_RATIO,
        identity("one more draw adds eps*", "exp(T * e) * exp(e) == exp((T + 1) * e)"),
        smt("the second branch is positive", "s > 0, N > 0", "1 + N / (1 + s) > 1", model="s = 1, N = 1"),
    )


def composition_proof() -> dict[str, Any]:
    """T eps* is exact; a loss within a range of width r is r^2/8-zCDP."""
    return proof(
        "Pure epsilon: as in DP-FUT. For zCDP let Z = log P'(Y)/P(Y), Y drawn from P. It lies between -log(1 + b) and "
        "log(1 + a) - log(1 + b), a range of width at most r = log(1 + q) with q = N/s (first step, of e^Z). Let K(t) "
        "= log E[e^(tZ)]: K(0) = K(1) = 0, and K''(t) is the variance of Z under the law tilted by e^(tZ), still "
        "within that range, so at most r^2/4 (the next two steps: the average of (Z - u)(u + r - Z) >= 0 bounds the "
        "variance by (m - u)(u + r - m) for the mean m). Hence F(t) = K(t) - r^2 t(t-1)/8 is concave (the two "
        "derivatives), with F(0) = F(1) = 0, and negative or 0 beyond 1 (the chord from 0 to t passes above 1 "
        "otherwise). So the Renyi divergence K(t)/(t-1) of order t is at most t r^2/8: r^2/8-zCDP. The same with P "
        "and P' exchanged, as the range has the same width. zCDP adds up over draws (Bun and Steinke 2016).",
        smt(
            "the range of one draw",
            "b >= 0, a <= q, high * (1 + b) == 1 + a, low * (1 + b) == 1",
            "high <= (1 + q) * low",
            model="a = 0, b = 0, q = 1, high = 1, low = 1",
        ),
        identity(
            "the average of (Z - u)(u + r - Z)",
            "(m - u) * (u + r - m) - v == (2 * u + r) * m - (v + m ** 2) - u * (u + r)",
        ),
        smt("the largest product of two parts of r", "", "(m - u) * (u + r - m) <= r ** 2 / 4"),
        derivative("the slope of r^2 t(t-1)/8", "t", "r ** 2 * t * (t - 1) / 8", "r ** 2 * (2 * t - 1) / 8"),
        derivative("its second derivative", "t", "r ** 2 * (2 * t - 1) / 8", "r ** 2 / 4"),
        smt(
            "a concave function that is 0 at 0 and at 1 is at most 0 beyond 1",
            "t > 1, one >= later / t + (1 - 1 / t) * zero, one == 0, zero == 0",
            "later <= 0",
            model="t = 2, one = 0, zero = 0, later = 0",
        ),
        smt(
            "dividing by t - 1",
            "t > 1, K - r ** 2 * t * (t - 1) / 8 <= 0",
            "K / (t - 1) <= t * r ** 2 / 8",
            model="t = 2, K = 0, r = 1",
        ),
        *PRODUCT_KEEPS_RATIO,
        identity("one more draw adds eps*", "exp(T * e) * exp(e) == exp((T + 1) * e)"),
        identity("one more draw adds r^2/8", "T * (r ** 2 / 8) + r ** 2 / 8 == (T + 1) * r ** 2 / 8"),
        rests_on=[
            cited(
                *ZCDP_COMPOSITION,
                {
                    "draws are independent": "claim: every recommendation is a fresh, independent draw",
                    "each is r^2/8-zCDP": "dividing by t - 1",
                },
            )
        ],
    )


def jitter_proof() -> dict[str, Any]:
    """eps* falls and the chance of an unread item rises with the jitter."""
    return proof(
        "Steps 1 and 2: both branches of e^eps* are strictly smaller for the jitter t than for s < t, so their "
        "maximum is. An item nobody read has the row (0, ..., s, ..., 0) in L, so L is block diagonal, P is a "
        "product and the item is in Y with probability s/(1+s) (steps 3 and 4). An item whose readers read nothing "
        "else, m of them, is in Y with probability (m + s)/(1 + m + s); the ratio of the two is 1 - m/((1+s)(m+s)), "
        "which rises as the denominator does (steps 5 and 6).",
        smt(
            "the branch of the empty set falls",
            "0 < s < t, N > 0",
            "1 + N / (1 + t) < 1 + N / (1 + s)",
            model="s = 1, t = 2, N = 1",
        ),
        smt(
            "the branch of the full set falls",
            "0 < s < t, N > 0",
            "(t + N) * (1 + t) * (s * (1 + s + N)) < (s + N) * (1 + s) * (t * (1 + t + N))",
            model="s = 1, t = 2, N = 1",
        ),
        identity("an unread item is in Y with odds s, whatever the others do", "s * D / ((1 + s) * D) == s / (1 + s)"),
        smt("its probability rises", "0 < s < t", "s / (1 + s) < t / (1 + t)", model="s = 1, t = 2"),
        identity(
            "the share beside an item with m readers",
            "(s / (1 + s)) / ((m + s) / (1 + m + s)) == 1 - m / ((1 + s) * (m + s))",
        ),
        smt(
            "the share rises", "0 < s < t, m > 0", "(1 + s) * (m + s) < (1 + t) * (m + t)", model="s = 1, t = 2, m = 1"
        ),
    )


def enumeration(
    items: int,
    subjects: int,
    jitter: str,
    largest: str,
    *,
    relation: str = "add_or_remove_one",
    size: int = 0,
    supports: str = "holds",
) -> dict[str, Any]:
    """A certificate that `largest` is the largest ratio over all small binary databases; see `replay`'s checker."""
    inputs = {
        "items": items,
        "subjects": subjects,
        "jitter": jitter,
        "relation": relation,
        "size": size,
        "largest": largest,
        "supports": supports,
    }
    return {"kind": "determinantal", "inputs": inputs}


def _five_items() -> dict[str, Any]:
    branches = "max(ln(1 + N / s) - ln(1 + N / (1 + s)), ln(1 + N / (1 + s)))"
    paper = "2 * N * ln(1 + sqrt(N) / s)"
    return instance(
        {"N": 5, "s": 1, "low": "1.25276", "high": "1.25277"},
        f"{branches} > low and {branches} < high",
        f"{paper} > 11743 / 1000 and {paper} < 11744 / 1000",
        supports="holds",
    )


def _epsilon_table() -> Table:
    from dpassay.mechanisms.dpp import exact_epsilon  # JAX is slow to load

    rows = [
        [
            items,
            jitter,
            round(exact_epsilon(items, jitter), 4),
            round(2 * items * math.log1p(math.sqrt(items) / jitter), 2),
        ]
        for items in (2, 3, 5, *ITEMS)
        for jitter in (0.05, 1.0, 5.0, 100.0)
    ]
    columns = ["items", "jitter s", "exact eps* of the whole sampler", "the paper's 2 Delta_u for phase 1 alone"]
    return Table("Exact epsilon, binary rows", columns, rows)


def _jitter_table() -> Table:
    from dpassay.mechanisms.dpp import required_jitter  # JAX is slow to load

    rows = [
        [
            budget,
            *(float(f"{required_jitter(budget, n):.4g}") for n in ITEMS),
            float(f"{SHOWN / math.expm1(budget):.4g}"),
        ]
        for budget in BUDGETS
    ]
    columns = [
        "epsilon",
        *(f"s, {n} items" for n in ITEMS),
        f"s, exactly {SHOWN} of at least {2 * SHOWN} items shown (k-DPP)",
    ]
    return Table("Jitter that gives epsilon, binary rows", columns, rows)


def _composition_table() -> Table:
    from dpassay.mechanisms.dpp import exact_epsilon  # JAX is slow to load

    rows, log_delta = [], math.log(1e6)
    for jitter in (100.0, 1_000.0, 10_000.0):
        for draws in (1, 10, 100, 1000):
            rho = draws * math.log1p(100 / jitter) ** 2 / 8
            average = rho + 2 * math.sqrt(rho * log_delta)
            pure = draws * exact_epsilon(100, jitter)
            rows.append([jitter, draws, round(pure, 3), float(f"{rho:.4g}"), round(average, 3)])
    columns = ["jitter s", "recommendations T", "T eps*", "zCDP rho", "epsilon at delta = 1e-6 from zCDP"]
    return Table("T recommendations, 100 items, binary rows", columns, rows)


def _recommendation_tables(data: Ratings) -> tuple[Table, ...]:
    """What the jitter does to recommendations: on synthetic readers, and on the ratings of the user, if any."""
    chances = 0.5 / np.arange(1, 101) ** 0.7
    synthetic_readers = (np.random.default_rng(0).random((300, 100)) < chances).astype(float)
    made_up = _recommendation_table(
        "300 synthetic readers who read item i with probability 0.5/i^0.7", synthetic_readers
    )
    if data.name == "synthetic":
        return (made_up,)
    read = np.zeros((data.num_users, data.num_items))
    read[np.asarray(data.users), np.asarray(data.items)] = 1
    popular = np.argsort(-read.sum(axis=0), kind="stable")[:100]
    return made_up, _recommendation_table(f"the {len(popular)} most rated items of {data.name}", read[:, popular])


def _recommendation_table(name: str, read: np.ndarray) -> Table:
    """Expected sizes and numbers of readers; `read` is binary, users by items."""
    from dpassay.mechanisms.dpp import required_jitter  # JAX is slow to load

    items = read.shape[1]
    shown = min(SHOWN, items // 2)
    kernel = read.T @ read
    values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0)
    readers = np.diag(kernel)
    best = _fixed_size_inclusion(values, vectors, shown) @ readers
    rows: list[list[Any]] = []
    for budget in (None, *reversed(BUDGETS)):
        jitter = 0.0 if budget is None else required_jitter(budget, items)
        fixed = 0.0 if budget is None else shown / math.expm1(budget)
        inclusion = vectors**2 @ ((values + jitter) / (1 + values + jitter))
        noise = items * jitter / (values.sum() + items * jitter)
        kept = _fixed_size_inclusion(values + fixed, vectors, shown) @ readers / best
        numbers = (jitter, inclusion.sum(), noise, inclusion @ readers / inclusion.sum(), fixed, kept)
        rows.append(["no jitter" if budget is None else budget, *(float(f"{number:.4g}") for number in numbers)])
    uniform = shown * readers.mean() / best
    rows.append(["items at random", "", "", "", float(f"{readers.mean():.4g}"), "", float(f"{uniform:.4g}")])
    columns = [
        "epsilon",
        "s",
        "expected size",
        "jitter's share of trace L",
        "readers per item chosen",
        f"s, {shown} items shown",
        f"readers of {shown} items shown, share of no jitter",
    ]
    return Table(f"What jitter costs: {items} items, {name}", columns, rows)


def _fixed_size_inclusion(values: np.ndarray, vectors: np.ndarray, size: int) -> np.ndarray:
    """Pr[i in Y] when |Y| = size: elementary symmetric polynomials of the eigenvalues, scaled to stay finite."""
    scaled = values / max(values.max(), 1e-300)

    def elementary(numbers: np.ndarray) -> np.ndarray:
        sums = np.zeros(size + 1)
        sums[0] = 1
        for number in numbers:
            sums[1:] = sums[1:] + number * sums[:-1]
        return sums

    total = elementary(scaled)[size]
    kept = [scaled[i] * elementary(np.delete(scaled, i))[size - 1] / total for i in range(len(scaled))]
    inclusion: np.ndarray = vectors**2 @ np.array(kept)
    return inclusion
