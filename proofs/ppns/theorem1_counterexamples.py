"""Where Lemma 2 and Theorem 1 of Lu and Shen (PPNS) fail, with exact rational counterexamples.

Candidates stand in descending similarity s_1 >= ... >= s_n; a candidate of similarity s has weight base^s, so that
base = exp(eps / (4k RS)), that is RS = eps / (4k ln base), and similarity 0 has weight 1 as Theorem 1 assumes. All
means are exact means of the successive draws (the distribution of Wallenius), never Manly's approximation.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import instance
from dpassay.proofs.ppns.algorithm1 import (
    LAST_PICKS,
    Formula,
    Instance,
    LastPick,
    quota_formulas,
    quota_values,
    trace_algorithm1,
)

# Weight of one similarity step, simplest first: a counterexample is reported with the first that gives one.
STEPS = tuple(Fraction(x) for x in ("2", "3", "4", "3/2", "4/3", "5/3", "5/4", "7/6", "9/8", "17/16", "101/100"))


@dataclass(frozen=True)
class Search:
    """Outcome of enumerating all lists of one size.

    Attributes:
        first_quota: ceil(pk); for k <= 4 it fixes every other quota, so p = first_quota/k stands for its whole class.
        tried: lists and bases inside the allowed range of p.
        failing: how many of them have alpha < alpha^.
        simplest: the first failing one, in the order of the grid.
    """

    num_candidates: int
    num_neighbors: int
    first_quota: int
    tried: int
    failing: int
    simplest: Instance | None


def search_counterexamples(
    last: LastPick, max_candidates: int = 10, max_neighbors: int = 4, steps: Sequence[Fraction] = STEPS
) -> Iterator[Search]:
    """Enumerates Theorem 1 from the smallest lists on: all lists with similarities in {0, 1/2, 1} or {0, 1}.

    Every p of the allowed range is covered: for k <= 4 each later quota is ceil(p (1-p)^(i-1) k) = 1, so only ceil(pk)
    matters, and among the p of one class the largest, ceil(pk)/k, lies in the range if any does.

    Yields:
        One `Search` for each n, k and ceil(pk) for which some weight leaves the range non-empty.

    Raises:
        InvalidInput: max_neighbors is above 4, where ceil(pk) no longer fixes all quotas.
    """
    if max_neighbors > 4:
        raise InvalidInput(f"max_neighbors is {max_neighbors}; this enumeration covers every p only up to 4")
    for n in range(3, max_candidates + 1):
        sizes = [(k, quota) for k in range(2, min(max_neighbors, n - 1) + 1) for quota in range(1, k)]
        for k, quota in sizes:
            # Weights are at least 1, so p > k/n is necessary; and one partition must be left.
            if quota * n <= k * k or (k - quota) * k >= n:
                continue
            tried, failing = 0, []
            for levels, step in itertools.product((1, 2), steps):
                for list_ in itertools.combinations_with_replacement(range(levels, -1, -1), n):
                    similarities = tuple(Fraction(level, levels) for level in list_)
                    example = Instance(similarities, step**levels, k, Fraction(quota, k), last)
                    if not example.in_range:
                        continue
                    tried += 1
                    means = example.selection()
                    if means is not None and example.accuracy(means) < example.accuracy(example.rival()):
                        failing.append(example)
            if tried:
                yield Search(n, k, quota, tried, len(failing), failing[0] if failing else None)


def decide_lemma2(claim: Claim, context: Context) -> Verdict:
    """PP-L2: more expected picks from the first partition do not imply a larger alpha."""
    # Two methods that pick one neighbor of three; with two candidates alpha only depends on mu_1 and the lemma is true.
    values = {"s1": "1", "s2": "1", "s3": "0", "mu1": "1/2", "mu2": "0", "mu3": "1/2"}
    values |= {"other1": "2/5", "other2": "3/5", "other3": "0"}
    abstract = instance(values, "mu1 > other1", ["<", _scalar("mu"), _scalar("other")], supports="refuted")
    evidence = [
        shown(
            "Smallest case, k = 1 and similarities (1, 1, 0): one method picks user 1 or user 3 with 1/2 each, the "
            "other user 1 with 2/5 and user 2 with 3/5. The first picks more from the first partition and has the "
            "smaller alpha.",
            abstract,
        )
    ]
    for last in LAST_PICKS:
        example = _smallest(last, context.quick)
        if example is None:
            continue
        condition = ["and", [">", "first_ppns", "first_npns"], ["<", "alpha_ppns", "alpha_npns"]]
        evidence.append(shown(_sentence(example), example.certificate(condition), tables=(_means_table(example),)))
    return decided(
        claim,
        "refuted",
        "More picks from the first partition do not make the similarity sum larger: what also counts is where the "
        "other picks land. Partitioned selection itself is a counterexample against plain weighted selection, under "
        "either reading of its last pick. The printed proof only treats the case in which every later partition "
        "loses picks.",
        evidence=evidence,
        repair="True when, at every partition boundary and not only the first, at least as many picks lie above it.",
    )


def decide_theorem1(claim: Claim, context: Context) -> Verdict:
    """PP-T1: inside its range of p, Algorithm 1 can have the smaller alpha."""
    evidence = []
    one_partition: list[Search] = []
    for last in LAST_PICKS:
        searches = []
        for search in search_counterexamples(last, max_candidates=9 if context.quick else 10):
            searches.append(search)
            context.progress(f"{last} last pick, n = {search.num_candidates}, k = {search.num_neighbors}")
        one_partition = [search for search in searches if search.num_neighbors - search.first_quota == 1]
        found = [search.simplest for search in searches if search.simplest is not None]
        if not found:
            continue
        example = found[0]
        condition = [
            "and",
            ["<", "theorem_bound", "p"],
            ["<=", ["*", "p", "k"], ["-", "k", 1]],
            ["<", "alpha_ppns", "alpha_npns"],
            ["<", "alpha_ppns", "alpha_pncf"],
        ]
        evidence.append(
            shown(
                _sentence(example) + f" No smaller list of the grid fails: {_smaller(searches, example)}",
                example.certificate(condition),
                tables=(_means_table(example), _search_table(last, searches)),
            )
        )
    evidence.append(_paper_weights())
    evidence += [_paper_size(), _movielens_size(), _no_truncation(evidence), _truncating_rival()]
    tried, failing = sum(s.tried for s in one_partition), sum(s.failing for s in one_partition)
    return decided(
        claim,
        "refuted",
        "Inside the stated range of p the partitioned selection can have the smaller expected similarity sum, under "
        "both readings of the last pick, and also at k = 50, eps = 1, RS = 1, p = 0.1. The theorem rests on Lemma "
        "2, which is false. What fails is the end of the list: the last neighbor must come from the few users left "
        "over, however bad, or is drawn from them without regard to similarity. Where the theorem is true: with "
        "equal weights, unless fewer than Jk/(k-1) users are left after the J visited partitions; and with a "
        f"weighted last pick and one visited partition {failing} of {tried} lists of the grid fail.",
        evidence=evidence,
        repair="PP-T1-REP: with equal weights, ask for enough picks at every partition boundary.",
    )


def _paper_weights() -> Evidence:
    """eps = 1 and RS = 1 on a small list: weights exp(s/16) at k = 4."""
    example = Instance(_step_list(8, 1), Fraction(1), 4, Fraction(1, 2), "exponential")
    certificate = example.certificate(
        ["and", ["<", "theorem_bound", "p"], ["<", "alpha_ppns", "alpha_npns"], ["<", "alpha_ppns", "alpha_pncf"]]
    )
    inputs = certificate["inputs"]
    del inputs["base"]
    inputs["rate"] = "1/16"
    return shown(
        "The failure needs no strong weights: with eps = 1 and RS = 1, thus weights exp(s/16), n = 9, k = 4, p = 1/2 "
        "and similarities (1, 1, 1, 1, 1, 1, 1, 1, 0), Algorithm 1 takes two users of the first partition, one of "
        "the second and, the only one left, the user of similarity 0: alpha = 3, and PNCF has more.",
        certificate,
    )


def _truncating_rival() -> Evidence:
    """PNCF whose lambda is sim_k = 0: it takes everyone above 0 surely."""
    example = Instance(_step_list(1, 4), Fraction(4, 3), 2, Fraction(1, 2), "exponential")
    condition = [
        "and",
        ["<", "theorem_bound", "p"],
        ["<=", ["*", "p", "k"], ["-", "k", 1]],
        ["<", "alpha_ppns", "alpha_pncf"],
    ]
    means = example.selection() or ()
    return shown(
        "Where PNCF does truncate, it beats Algorithm 1 more easily: with similarities (1, 0, 0, 0, 0), k = 2 and p "
        "= 1/2, lambda = min(sim_k, ...) = 0, so PNCF surely takes the user of similarity 1, which Algorithm 1 "
        f"takes with probability {example.accuracy(means)} only.",
        example.certificate(condition),
    )


def _paper_size() -> Evidence:
    """k = 50, eps = 1, RS = 1, p = 0.1 and a list that ends one user after the last visited partition."""
    k, p = 50, Fraction(1, 10)
    visited = len(trace_algorithm1(10**4, k, p).taken)
    n = visited * k + 1
    quotas = trace_algorithm1(n, k, p).taken
    bound = ["-", 1, ["^", ["/", ["-", "n", "k"], "n"], ["exp", ["/", "eps", ["*", 4, "k", "RS"]]]]]
    certificate = instance(
        {"n": str(n), "k": str(k), "p": str(p), "eps": "1", "RS": "1", **quota_values(quotas)},
        *quota_formulas(len(quotas)),
        f"n == {len(quotas)} * k + 1",
        ["<", bound, "p"],
        "p * k <= k - 1",
        # alpha = k - 1 against alpha^ >= k (n-1)/n, since a larger weight never lowers a probability of selection.
        "k - 1 < k * (n - 1) / n",
        supports="refuted",
    )
    return shown(
        f"At k = {k}, eps = 1, RS = 1 and the tables' p = 0.1, with n = {n} candidates of whom {n - 1} have "
        f"similarity 1 and one has 0: Algorithm 1 visits {visited} partitions and must take that one, so alpha = "
        f"{k - 1}, whatever the weights and the last pick; weighted selection has alpha^ >= k(n-1)/n = "
        f"{float(Fraction(k * (n - 1), n)):.4f}. The same happens for every n up to {_last_failing(visited, k)}, "
        "with all users beyond the visited partitions at 0.",
        certificate,
        tables=(_equal_weight_table(k),),
    )


def _last_failing(visited: int, k: int) -> int:
    """Largest n with n (k-1) < J k^2: the equal-weight alpha^ of (1^(Jk), 0^(n-Jk)) is above k - 1."""
    return (visited * k * k - 1) // (k - 1)


def _equal_weight_table(k: int) -> Table:
    rows: list[list[Any]] = []
    n = 942
    for p in (Fraction(i, 100) for i in (6, 7, 8, 9, 10, 20, 30, 50, 70, 90, 98)):
        trace = trace_algorithm1(10**4, k, p)
        visited = len(trace.taken)
        own = trace_algorithm1(n, k, p)
        worst = min(
            [sum(own.taken[:j]) - Fraction(j * k * k, n) for j in range(1, len(own.taken) + 1)], default=Fraction(0)
        )
        rows.append(
            [
                str(p),
                visited,
                f"{visited * k + 1} to {_last_failing(visited, k)}",
                f"{float(worst):.2f}" if own.defined else "undefined",
            ]
        )
    return Table(
        f"Equal weights (eps near 0), k = {k}: where Theorem 1 fails, and its margin at n = {n}",
        ["p", "partitions visited", "fails for n", f"smallest alpha - alpha^ over step lists, n = {n}"],
        rows,
    )


def _movielens_size() -> Evidence:
    """n = 942, k = 50, p = 49/50 with a uniform last pick and strong weights."""
    n, k, weight, p = 942, 50, 60, Fraction(49, 50)
    certificate = instance(
        {"n": str(n), "k": str(k), "w": str(weight), "p": str(p)},
        "1 - ((n - k) / n) ** w < p",
        f"1 * ({k} * {p.numerator}) <= {p.denominator} * (k - 1)",
        # The one user of similarity 0 is drawn by PPNS with 1/(n-k), by the rival with at most k/(w(n-k)+1).
        "1 / (n - k) > k / (w * (n - k) + 1)",
        supports="refuted",
    )
    return shown(
        f"With n = {n} candidates, k = {k}, p = 0.98, a uniform last pick and weights 60:1 (eps = 1, RS = 1/(200 ln "
        "60) = 0.0012): one user of similarity 0 among users of similarity 1 is chosen with probability 1/892 by "
        "Algorithm 1, and with less than 50/53521 by weighted selection, since each of its draws takes that user "
        "with at most 1/(60 (n-k) + 1).",
        certificate,
    )


def _no_truncation(evidence: Sequence[Evidence]) -> Evidence:
    """PNCF's truncation does not bind in the small counterexamples, so they are against PNCF itself."""
    formulas = []
    for record in evidence:
        inputs = record.certificate["inputs"] if record.certificate else {}
        if "similarities" in inputs:
            n, k = len(inputs["similarities"]), inputs["num_neighbors"]
            kth = inputs["similarities"][k - 1]
            rate = ["ln", inputs["base"]] if "base" in inputs else inputs["rate"]
            # 4k RS/eps = 1/rate, and ln(k(n-k)/rho) > ln(k(n-k)): lambda = sim_k, and sim_k + lambda >= 1.
            formulas.append([">=", ["/", ["ln", k * (n - k)], rate], kth])
            formulas.append([">=", ["*", 2, kth], 1])
    return shown(
        "In the small counterexamples lambda = sim_k for every rho, and sim_k + lambda covers all similarities: PNCF "
        "truncates nothing and is plain weighted selection.",
        instance({}, *formulas, supports="refuted"),
    )


def _smallest(last: LastPick, quick: bool) -> Instance | None:
    searches = search_counterexamples(last, max_candidates=9 if quick else 10)
    return next((search.simplest for search in searches if search.simplest is not None), None)


def _smaller(searches: Sequence[Search], example: Instance) -> str:
    size = (len(example.similarities), example.num_neighbors)
    before = [s for s in searches if (s.num_candidates, s.num_neighbors) < size]
    if not before:
        return f"for n below {size[0]}, or k below {size[1]}, the range of p is empty."
    tried, failing = sum(s.tried for s in before), sum(s.failing for s in before)
    return f"of {tried} lists and bases with smaller n, or this n and smaller k, {failing} fail."


def _sentence(example: Instance) -> str:
    means = example.selection()
    if means is None:
        raise InvalidInput("Algorithm 1 is not defined on this list; choose a larger p")
    alpha, other = example.accuracy(means), example.accuracy(example.rival())
    how = "uniform" if example.last == "uniform" else "weighted"
    return (
        f"n = {len(means)}, k = {example.num_neighbors}, p = {example.probability}, {how} last pick, weights "
        f"{example.base}^similarity, similarities ({', '.join(map(str, example.similarities))}): alpha = {alpha} = "
        f"{float(alpha):.4f} against alpha^ = {other} = {float(other):.4f}."
    )


def _means_table(example: Instance) -> Table:
    means = example.selection() or ()
    rows = [
        [i, str(s), str(w), str(mu), str(other)]
        for i, (s, w, mu, other) in enumerate(
            zip(example.similarities, example.weights, means, example.rival(), strict=True), start=1
        )
    ]
    return Table(
        f"Probabilities of selection, {example.last} last pick",
        ["candidate", "similarity", "weight", "PPNS", "weighted selection"],
        rows,
    )


def _search_table(last: LastPick, searches: Sequence[Search]) -> Table:
    return Table(
        f"Theorem 1 on every list of the grid, {last} last pick",
        ["n", "k", "ceil(pk)", "partitions visited", "lists in range", "alpha < alpha^"],
        [
            [s.num_candidates, s.num_neighbors, s.first_quota, s.num_neighbors - s.first_quota, s.tried, s.failing]
            for s in searches
        ],
    )


def _step_list(ones: int, zeros: int) -> tuple[Fraction, ...]:
    return (Fraction(1),) * ones + (Fraction(0),) * zeros


def _scalar(name: str) -> Formula:
    return ["+", *(["*", f"s{i}", f"{name}{i}"] for i in (1, 2, 3))]
