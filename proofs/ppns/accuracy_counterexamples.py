"""Where the accuracy claims for partitioned neighbor selection fail, with exact rational counterexamples.

Lu and Shen, "An Accuracy-Assured Privacy-Preserving Recommender System for Internet Commerce": Lemma 2, Theorem 1,
Algorithm 1, equations (6) and (11), and what secs. 5.1.1, 5.2 and 7 (1) say in words.

Candidates stand in descending similarity s_1 >= ... >= s_n; a candidate of similarity s has weight base^s, so that
base = exp(eps / (4k RS)), that is RS = eps / (4k ln base), and similarity 0 has weight 1 as Theorem 1 assumes. All
means are exact means of the successive draws (the distribution of Wallenius), never Manly's approximation.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.proofs.notation import proof, smt
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities, rational_power
from dpassay.replay import Rejected, check

__all__ = [
    "AccuracyContext",
    "Instance",
    "OperationCounts",
    "Search",
    "Trace",
    "accuracy_context",
    "count_nearest_neighbors",
    "count_partitioned",
    "decide_accuracy_metric",
    "decide_cost",
    "decide_lemma2",
    "decide_p_one",
    "decide_theorem1",
    "extra_operations",
    "search_counterexamples",
    "trace_algorithm1",
]

LastPick = Literal["uniform", "exponential"]
Formula = Any

# Weight of one similarity step, simplest first: a counterexample is reported with the first that gives one.
STEPS = tuple(Fraction(x) for x in ("2", "3", "4", "3/2", "4/3", "5/3", "5/4", "7/6", "9/8", "17/16", "101/100"))
LAST_PICKS: tuple[LastPick, ...] = ("uniform", "exponential")


@dataclass(frozen=True)
class Instance:
    """One candidate list with the parameters of Algorithm 1.

    Attributes:
        similarities: descending, in [0, 1].
        base: weight of similarity 1; base^s must be rational for every similarity s.
        num_neighbors: k >= 2.
        probability: p in (0, 1].
        last: how the last neighbor is drawn from the unvisited partitions; line 16 does not say.
    """

    similarities: tuple[Fraction, ...]
    base: Fraction
    num_neighbors: int
    probability: Fraction
    last: LastPick

    def __post_init__(self) -> None:
        s, k = self.similarities, self.num_neighbors
        if list(s) != sorted(s, reverse=True) or not s or not 0 <= s[-1] <= s[0] <= 1:
            raise InvalidInput("similarities must descend and lie in [0, 1]; sort and scale them")
        if not 2 <= k < len(s):
            raise InvalidInput(
                f"num_neighbors is {k}; choose it from 2 to {len(s) - 1}, below the number of candidates"
            )
        if not 0 < self.probability <= 1:
            raise InvalidInput(f"probability is {self.probability}; it must lie in (0, 1]")
        if self.base <= 0:
            raise InvalidInput(f"base is {self.base}; a weight base^similarity needs a positive base")
        if self.last not in LAST_PICKS:
            raise InvalidInput(f"last is {self.last!r}; use one of {', '.join(LAST_PICKS)}")

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """base^similarity of every candidate.

        Raises:
            InvalidInput: a weight is irrational.
        """
        return tuple(rational_power(self.base, s) for s in self.similarities)

    @property
    def in_range(self) -> bool:
        """Whether 1 - ((n-k)/n)^w_1 < p <= (k-1)/k, the range of Theorem 1 and sec. 6.3, decided on integers."""
        n, k, p, first = len(self.similarities), self.num_neighbors, self.probability, self.weights[0]
        # (1-k/n)^(a/b) > 1-p, both sides raised to the power b.
        above = Fraction(n - k, n) ** first.numerator > (1 - p) ** first.denominator
        return above and p * k <= k - 1

    def selection(self) -> tuple[Fraction, ...] | None:
        """mu_i under Algorithm 1, or None where it leaves no unvisited partition for the last neighbor."""
        k, weights = self.num_neighbors, self.weights
        trace = trace_algorithm1(len(weights), k, self.probability)
        if not trace.defined:
            return None
        means = [Fraction(0)] * len(weights)
        for partition, taken in enumerate(trace.taken):
            block = slice(partition * k, (partition + 1) * k)
            means[block] = inclusion_probabilities(weights[block], taken)
        unvisited = slice(len(trace.taken) * k, None)
        pool = weights[unvisited] if self.last == "exponential" else (Fraction(1),) * len(weights[unvisited])
        means[unvisited] = inclusion_probabilities(pool, 1)
        return tuple(means)

    def rival(self) -> tuple[Fraction, ...]:
        """mu^_i of drawing k from all candidates with the same weights: PNCF without truncation."""
        return inclusion_probabilities(self.weights, self.num_neighbors)

    def accuracy(self, means: Sequence[Fraction]) -> Fraction:
        """alpha of equation (11), the sum of similarity times probability of selection."""
        return sum((s * mu for s, mu in zip(self.similarities, means, strict=True)), Fraction(0))

    def certificate(self, condition: Formula) -> dict[str, Any]:
        """The `selection` certificate that recomputes both means and checks `condition`."""
        return {
            "kind": "selection",
            "inputs": {
                "similarities": [str(s) for s in self.similarities],
                "base": str(self.base),
                "num_neighbors": self.num_neighbors,
                "methods": {
                    "ppns": {"probability": str(self.probability), "last": self.last},
                    "npns": {},
                    "pncf": {"rho": "1/2"},
                },
                "condition": condition,
                "supports": "refuted",
            },
        }


@dataclass(frozen=True)
class Trace:
    """What Algorithm 1 takes from each visited partition, lines 7 to 16.

    Attributes:
        taken: picks from partition 1, 2, ... until the loop ends.
        defined: the loop stopped at k - 1 neighbors and an unvisited partition is left for the last one.
        count: neighbors chosen before line 16.
        num_partitions: ceil(n/k).
    """

    taken: tuple[int, ...]
    defined: bool
    count: int
    num_partitions: int


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


@dataclass
class OperationCounts:
    """Operations that a literal implementation performed."""

    similarities: int = 0
    sensitivities: int = 0
    comparisons: int = 0
    exponentials: int = 0
    random_numbers: int = 0
    neighbors: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class AccuracyContext:
    """How the sum of similarities and the error of equation (6) go together on real or synthetic ratings.

    Attributes:
        ratings: predicted ratings, each with several random neighbor sets.
        correlation: mean over ratings of the correlation of alpha and absolute error.
        reversed_pairs: share of pairs of sets, differing in both, whose larger alpha has the larger error.
        best_error: mean absolute error of the k most similar raters of the item.
        worst_error: of the k least similar ones.
    """

    ratings: int
    correlation: float
    reversed_pairs: float
    best_error: float
    worst_error: float


def trace_algorithm1(num_candidates: int, num_neighbors: int, probability: Fraction, *, capped: bool = True) -> Trace:
    """Quotas that lines 7 to 15 of Algorithm 1 take, with exact ceilings.

    Args:
        num_candidates: n.
        num_neighbors: k.
        probability: p in (0, 1].
        capped: cut a quota at what is missing to k - 1. As printed nothing is cut: the test "!= k-1" of line 8 can then
            be jumped over, and the loop ends only with the partitions.
    """
    k, sizes = num_neighbors, [num_neighbors] * (num_candidates // num_neighbors)
    if num_candidates % k:
        sizes.append(num_candidates % k)
    taken: list[int] = []
    count = 0
    for index, size in enumerate(sizes):
        if count == k - 1:
            break
        quota = math.ceil(probability * (1 - probability) ** index * k)
        quota = min(quota, size, k - 1 - count) if capped else min(quota, size)
        taken.append(quota)
        count += quota
    return Trace(tuple(taken), count == k - 1 and len(taken) < len(sizes), count, len(sizes))


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
                    instance = Instance(similarities, step**levels, k, Fraction(quota, k), last)
                    if not instance.in_range:
                        continue
                    tried += 1
                    means = instance.selection()
                    if means is not None and instance.accuracy(means) < instance.accuracy(instance.rival()):
                        failing.append(instance)
            if tried:
                yield Search(n, k, quota, tried, len(failing), failing[0] if failing else None)


def decide_lemma2(claim: Claim, context: Context) -> Verdict:
    """PP-L2: more expected picks from the first partition do not imply a larger alpha."""
    # Two methods that pick one neighbor of three; with two candidates alpha only depends on mu_1 and the lemma is true.
    abstract = {
        "kind": "formula",
        "inputs": {
            "values": {"s1": "1", "s2": "1", "s3": "0"}
            | {"mu1": "1/2", "mu2": "0", "mu3": "1/2"}
            | {"other1": "2/5", "other2": "3/5", "other3": "0"},
            "formulas": [
                [">", "mu1", "other1"],
                ["<", _scalar("mu"), _scalar("other")],
            ],
            "supports": "refuted",
        },
    }
    evidence = [
        Evidence(
            "certificate",
            "Smallest case, k = 1 and similarities (1, 1, 0): one method picks user 1 or user 3 with 1/2 each, the "
            "other user 1 with 2/5 and user 2 with 3/5. The first picks more from the first partition and has the "
            "smaller alpha.",
            abstract,
        )
    ]
    for last in LAST_PICKS:
        instance = _smallest(last, context.quick)
        if instance is None:
            continue
        condition = ["and", [">", "first_ppns", "first_npns"], ["<", "alpha_ppns", "alpha_npns"]]
        evidence.append(
            Evidence("certificate", _sentence(instance), instance.certificate(condition), (_means_table(instance),))
        )
    supported = _supported(evidence)
    return Verdict(
        claim.id,
        "refuted" if "refuted" in supported else "open",
        "More picks from the first partition do not make the similarity sum larger: what also counts is where the "
        "other picks land. Partitioned selection itself is a counterexample against plain weighted selection, under "
        "either reading of its last pick. The printed proof only treats the case in which every later partition "
        "loses picks.",
        tuple(evidence),
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
        instance = found[0]
        condition = [
            "and",
            ["<", "theorem_bound", "p"],
            ["<=", ["*", "p", "k"], ["-", "k", 1]],
            ["<", "alpha_ppns", "alpha_npns"],
            ["<", "alpha_ppns", "alpha_pncf"],
        ]
        evidence.append(
            Evidence(
                "certificate",
                _sentence(instance) + f" No smaller list of the grid fails: {_smaller(searches, instance)}",
                instance.certificate(condition),
                (_means_table(instance), _search_table(last, searches)),
            )
        )
    evidence.append(_paper_weights())
    evidence += [_paper_size(), _movielens_size(), _no_truncation(evidence), _truncating_rival()]
    supported = _supported(evidence)
    tried, failing = sum(s.tried for s in one_partition), sum(s.failing for s in one_partition)
    return Verdict(
        claim.id,
        "refuted" if "refuted" in supported else "open",
        "Inside the stated range of p the partitioned selection can have the smaller expected similarity sum, under "
        "both readings of the last pick, and also at k = 50, eps = 1, RS = 1, p = 0.1. The theorem rests on Lemma "
        "2, which is false. What fails is the end of the list: the last neighbor must come from the few users left "
        "over, however bad, or is drawn from them without regard to similarity. Where the theorem is true: with "
        "equal weights, unless fewer than Jk/(k-1) users are left after the J visited partitions; and with a "
        f"weighted last pick and one visited partition {failing} of {tried} lists of the grid fail.",
        tuple(evidence),
        repair="PP-T1-REP: with equal weights, ask for enough picks at every partition boundary.",
    )


def decide_accuracy_metric(claim: Claim, context: Context) -> Verdict:
    """PP-ACC: a larger similarity sum with a larger error, and how often that happens."""
    # Co-rated cosine with two co-rated items; with one all similarities are 1, so no smaller matrix can do.
    values = {"target1": 1, "target2": 2, "near1": 1, "near2": 2, "far1": 2, "far2": 1}
    values |= {"truth": 5, "near_rating": 1, "far_rating": 5}

    def cosine(user: str) -> Formula:
        product = ["+", ["*", "target1", f"{user}1"], ["*", "target2", f"{user}2"]]
        norms = [["sqrt", ["+", ["^", f"{name}1", 2], ["^", f"{name}2", 2]]] for name in ("target", user)]
        return ["/", product, ["*", *norms]]

    def error(user: str) -> Formula:
        prediction = ["/", ["*", cosine(user), f"{user}_rating"], ["abs", cosine(user)]]
        return ["abs", ["-", "truth", prediction]]

    certificate = {
        "kind": "formula",
        "inputs": {
            "values": {name: str(value) for name, value in values.items()},
            "formulas": [[">", cosine("near"), cosine("far")], [">", error("near"), error("far")]],
            "supports": "refuted",
        },
    }
    evidence = [
        Evidence(
            "certificate",
            "Three users, three items, k = 1. The target rated (1, 2) and will give the third item 5. The neighbor "
            "who rated (1, 2, 1) has similarity 1 and predicts 1; the one who rated (2, 1, 5) has similarity 4/5 and "
            "predicts 5.",
            certificate,
        )
    ]
    measured = accuracy_context(context.data, seed=context.seed, num_ratings=100 if context.quick else 400)
    if measured is not None:
        evidence.append(_measured(measured, context.data.name))
    supported = _supported(evidence)
    on_data = (
        ""
        if measured is None
        else f" On {context.data.name} the larger sum has the larger error in {measured.reversed_pairs:.0%} of the "
        f"pairs of neighbor sets for the same rating (mean correlation of sum and error {measured.correlation:+.2f})."
    )
    return Verdict(
        claim.id,
        "refuted" if "refuted" in supported else "open",
        "A larger sum of similarities does not imply a better prediction: two neighbors can rank one way in "
        "similarity and "
        "the other way in how well their rating of the item fits. It is a heuristic about averages at best." + on_data,
        tuple(evidence),
    )


def decide_cost(claim: Claim, context: Context) -> Verdict:
    """PP-COST: operations that Algorithm 1 needs beyond k nearest neighbors."""
    n, items, k, p = 942, 1682, 50, Fraction(1, 2)
    trace = trace_algorithm1(n, k, p)
    count = extra_operations(n, k, p)
    formulas = _quota_formulas(len(trace.taken))
    for name, formula in _extra_formulas(len(trace.taken)).items():
        formulas += [["=", formula, getattr(count, name)], [">", formula, 0]]
    certificate = {
        "kind": "formula",
        "inputs": {
            "values": {"n": str(n), "k": str(k), "p": str(p), **_quota_values(trace.taken)},
            "formulas": formulas,
            "supports": "refuted",
        },
    }
    # A merge sort needs at most this many comparisons; both methods sort the same list.
    rounds = math.ceil(math.log2(n))
    sorting = n * rounds - 2**rounds + 1
    base = n * items + sorting
    added = count.comparisons + count.exponentials + count.random_numbers
    constant, from_data = 1 + added / base, 1 + (added + n * items) / base
    table = Table(
        f"Operations at n = {n} candidates, {items} items, k = {k}, p = {p}",
        ["operation", "k nearest neighbors", "Algorithm 1"],
        [
            ["similarities", n, n],
            ["sensitivities RS (3), if computed from the data", 0, count.sensitivities],
            ["comparisons", sorting, sorting + count.comparisons],
            ["exponentials", 0, count.exponentials],
            ["random numbers", 0, count.random_numbers],
            ["all, with one step per item of a similarity; RS a constant", "1", f"{constant:.4f}"],
            ["all, RS computed from the data in one more pass over the items", "1", f"{from_data:.4f}"],
        ],
    )
    evidence = (
        Evidence(
            "certificate",
            "Closed counts of what a literal Algorithm 1 does beyond sorting the similarities: weights, the "
            "sensitivity, draws and loop tests. Each is positive.",
            certificate,
            (table,),
        ),
    )
    supported = _supported(evidence)
    return Verdict(
        claim.id,
        "refuted" if "refuted" in supported else "open",
        "Taken literally there is extra cost: n exponentials, k random numbers and the comparisons of the draws. "
        "With a constant sensitivity it is of lower order than the similarities, which both methods compute: "
        f"{constant:.4f} times the work of k nearest neighbors at n = {n}, {items} items, k = {k}. Line 3 of "
        "Algorithm 1, taken as computing equation (3) from the data, reads all ratings once more and about doubles "
        f"the work ({from_data:.2f} times).",
        evidence,
    )


def decide_p_one(claim: Claim, context: Context) -> Verdict:
    """PP-P-ONE: at p = 1 Algorithm 1 as written has no last neighbor to choose."""
    steps = proof(
        "At p = 1 line 9 takes k users from the first partition and none later, so the count of line 8 is k and never "
        "k - 1; the loop visits all partitions, and line 16 has no unvisited one to select from. Cutting the quota at "
        "k - 1 instead gives a set with at most k - 1 of the top k.",
        smt("the first quota is k", ["p == 1", "q == p * k"], "q == k"),
        smt("every later quota is 0", ["p == 1", "q == p * (1 - p) * power * k"], "q == 0"),
        smt(
            "the count is never k - 1",
            ["before == k", "q == 0", "after == before + q"],
            "after == k and not (after == k - 1)",
        ),
        smt("cut at k - 1, the top k is not reached", ["first <= k - 1", "top <= first"], "top < k"),
        supports="refuted",
    )
    rows: list[list[Any]] = []
    for n, k in ((6, 2), (10, 3), (942, 50)):
        written = trace_algorithm1(n, k, Fraction(1), capped=False)
        capped = trace_algorithm1(n, k, Fraction(1))
        rows.append(
            [n, k, written.count, len(written.taken), written.num_partitions - len(written.taken), capped.count]
        )
    table = Table(
        "Algorithm 1 at p = 1, step by step",
        [
            "n",
            "k",
            "count after the loop",
            "partitions visited",
            "left for line 16",
            "count if cut at k - 1",
        ],
        rows,
    )
    # The proof speaks of Algorithm 1; the trace shows that this program's own reading of it does the same.
    traced = all(row[2] == row[1] and row[4] == 0 and row[5] == row[1] - 1 for row in rows)
    evidence = (
        Evidence(
            "proof",
            "For every k: the loop cannot stop at k - 1, and line 16 is left without users.",
            steps,
            (table,),
        ),
    )
    refuted = traced and "refuted" in _supported(evidence)
    return Verdict(
        claim.id,
        "refuted" if refuted else "open",
        "Not under Algorithm 1 as written: the loop takes all k users of the first partition, misses its stopping "
        "value k - 1, runs through all partitions, and the final step must select one more user from unvisited "
        "partitions, of which none is left. The same happens for every p above (k-1)/k. A version that stops at k - "
        "1 always adds one user from outside the top k, so it is not k nearest neighbors either. Only the formulas "
        "of sec. 6 (pk = k picks from the first partition) make the sentence true.",
        evidence,
        repair="The original scheme, without the changed last pick, is k nearest neighbors at p = 1.",
    )


def accuracy_context(
    data: Ratings, *, seed: int = 0, num_ratings: int = 400, num_sets: int = 40, num_neighbors: int = 10
) -> AccuracyContext | None:
    """Measures alpha against the absolute error of equation (6) over random neighbor sets of the same rating.

    The predicted rating is left out of the co-rated cosine (5); neighbors are drawn among the item's other raters with
    a co-rated item. Memory: about num_sets * num_ratings * users * 8 bytes.

    Returns:
        None when no rating has more than twice `num_neighbors` such raters.
    """
    generator = np.random.default_rng(seed)
    matrix = data.dense()
    rated = ~np.isnan(matrix)
    values = np.where(rated, matrix, 0.0)
    chosen = generator.permutation(len(data))[: 4 * num_ratings]
    users, items, truth = data.users[chosen], data.items[chosen], data.values[chosen]
    own, own_rated = values[users].copy(), rated[users].astype(float)
    row = np.arange(len(chosen))
    own[row, items] = own_rated[row, items] = 0.0
    norms = np.sqrt((own**2 @ rated.T.astype(float)) * (own_rated @ (values**2).T))
    similarity = np.divide(own @ values.T, norms, out=np.zeros_like(norms), where=norms > 0)
    eligible = rated[:, items].T & (similarity > 0) & (np.arange(data.num_users) != users[:, None])
    keep = np.flatnonzero(eligible.sum(1) > 2 * num_neighbors)[:num_ratings]
    if len(keep) == 0:
        return None
    similarity, eligible, truth = similarity[keep], eligible[keep], truth[keep]
    theirs = values[:, items[keep]].T

    def outcome(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        taken = np.argpartition(np.where(eligible, order, np.inf), num_neighbors, axis=-1)[..., :num_neighbors]
        rows = np.arange(len(keep))[:, None]
        near, ratings = similarity[rows, taken], theirs[rows, taken]
        return near.sum(-1), np.abs((near * ratings).sum(-1) / near.sum(-1) - truth)

    alphas, errors = outcome(generator.random((num_sets, *eligible.shape)))
    first, second = np.triu_indices(num_sets, 1)
    direction = np.sign(alphas[first] - alphas[second]) * np.sign(errors[first] - errors[second])
    centered = alphas - alphas.mean(0), errors - errors.mean(0)
    spread = np.sqrt((centered[0] ** 2).sum(0) * (centered[1] ** 2).sum(0))
    varied = spread > 1e-12
    correlation = (centered[0] * centered[1]).sum(0)[varied] / spread[varied]
    return AccuracyContext(
        len(keep),
        float(correlation.mean()) if varied.any() else 0.0,
        float((direction > 0).sum() / max(1, (direction != 0).sum())),
        float(outcome(-similarity)[1].mean()),
        float(outcome(similarity)[1].mean()),
    )


def count_nearest_neighbors(dataset: np.ndarray, target: int, num_neighbors: int) -> OperationCounts:
    """Runs k nearest neighbors literally (similarities, merge sort, first k) and counts what it does.

    Args:
        dataset: ratings, shape (users, items), NaN where missing; similarity is the cosine of equation (5).
        target: row of the target user.
        num_neighbors: k.
    """
    counts = OperationCounts()
    order, _ = _sorted_candidates(dataset, target, counts)
    counts.neighbors = order[:num_neighbors]
    return counts


def count_partitioned(
    dataset: np.ndarray, target: int, num_neighbors: int, probability: Fraction, seed: int = 0
) -> OperationCounts:
    """Runs Algorithm 1 literally, with eps = 1 and RS = 1 in the weights, and counts what it does.

    A weighted draw scans its whole pool once: one random number and one comparison per remaining candidate. One
    sensitivity (3) per candidate is counted, though its value is not used.
    """
    counts = OperationCounts()
    k, generator = num_neighbors, np.random.default_rng(seed)
    order, similarity = _sorted_candidates(dataset, target, counts)
    counts.sensitivities += len(order)
    weights = {user: math.exp(similarity[user] / (4 * k)) for user in order}
    counts.exponentials += len(order)

    def draw(pool: list[int]) -> None:
        threshold = generator.random() * sum(weights[user] for user in pool)
        counts.random_numbers += 1
        chosen, running = pool[-1], 0.0
        for user in reversed(pool):
            running += weights[user]
            counts.comparisons += 1
            if running <= threshold:
                continue
            chosen, threshold = user, math.inf
        counts.neighbors.append(chosen)
        pool.remove(chosen)

    blocks = [order[start : start + k] for start in range(0, len(order), k)]
    visited = 0
    while True:
        counts.comparisons += 1
        if len(counts.neighbors) == k - 1:
            break
        quota = math.ceil(probability * (1 - probability) ** visited * k)
        pool = list(blocks[visited])
        for _ in range(min(quota, len(pool), k - 1 - len(counts.neighbors))):
            draw(pool)
        visited += 1
    draw([user for block in blocks[visited:] for user in block])
    return counts


def extra_operations(num_candidates: int, num_neighbors: int, probability: Fraction) -> OperationCounts:
    """What `count_partitioned` counts beyond `count_nearest_neighbors`, in closed form; the sort is the same.

    Raises:
        InvalidInput: Algorithm 1 leaves no candidate for its last pick.
    """
    trace = trace_algorithm1(num_candidates, num_neighbors, probability)
    if not trace.defined:
        raise InvalidInput(f"p = {probability} leaves no unvisited partition; choose p between k/n and (k-1)/k")
    scans = sum(taken * num_neighbors - taken * (taken - 1) // 2 for taken in trace.taken)
    unvisited = num_candidates - len(trace.taken) * num_neighbors
    return OperationCounts(
        sensitivities=num_candidates,
        comparisons=len(trace.taken) + 1 + scans + unvisited,
        exponentials=num_candidates,
        random_numbers=num_neighbors,
    )


def _sorted_candidates(dataset: np.ndarray, target: int, counts: OperationCounts) -> tuple[list[int], dict[int, float]]:
    similarity = {}
    for user in range(len(dataset)):
        if user != target:
            shared = ~np.isnan(dataset[target]) & ~np.isnan(dataset[user])
            a, b = dataset[target, shared], dataset[user, shared]
            norms = math.sqrt(float(a @ a) * float(b @ b))
            similarity[user] = float(a @ b) / norms if norms else 0.0
            counts.similarities += 1

    def merge_sort(rows: list[int]) -> list[int]:
        if len(rows) < 2:
            return rows
        left, right = merge_sort(rows[: len(rows) // 2]), merge_sort(rows[len(rows) // 2 :])
        merged = []
        while left and right:
            counts.comparisons += 1
            merged.append((left if similarity[left[0]] >= similarity[right[0]] else right).pop(0))
        return merged + left + right

    return merge_sort(list(similarity)), similarity


def _quota_values(taken: Sequence[int]) -> dict[str, str]:
    return {f"quota{index}": str(quota) for index, quota in enumerate(taken, start=1)}


def _quota_formulas(visited: int) -> list[Formula]:
    """Lines 8 and 9 of Algorithm 1 for the visited partitions, and that k - 1 neighbors are reached with the last."""
    names = [f"quota{index}" for index in range(1, visited + 1)]
    formulas: list[Formula] = []
    for index, name in enumerate(names):
        quota = ["ceil", ["*", "p", ["^", ["-", 1, "p"], index], "k"]]
        missing = ["-", "k", 1, *names[:index]]
        formulas.append(["=", name, ["min", quota, missing]])
    return [*formulas, ["=", ["+", *names], ["-", "k", 1]]]


def _extra_formulas(visited: int) -> Mapping[str, Formula]:
    """Closed counts of `extra_operations`."""
    quotas = [f"quota{index}" for index in range(1, visited + 1)]
    scans = [["-", ["*", quota, "k"], ["/", ["*", quota, ["-", quota, 1]], 2]] for quota in quotas]
    return {
        "sensitivities": "n",
        "comparisons": ["+", visited, 1, *scans, ["-", "n", ["*", visited, "k"]]],
        "exponentials": "n",
        "random_numbers": ["+", *quotas, 1],
    }


def _paper_weights() -> Evidence:
    """eps = 1 and RS = 1 on a small list: weights exp(s/16) at k = 4."""
    instance = Instance(_step_list(8, 1), Fraction(1), 4, Fraction(1, 2), "exponential")
    certificate = instance.certificate(
        ["and", ["<", "theorem_bound", "p"], ["<", "alpha_ppns", "alpha_npns"], ["<", "alpha_ppns", "alpha_pncf"]]
    )
    inputs = certificate["inputs"]
    del inputs["base"]
    inputs["rate"] = "1/16"
    return Evidence(
        "certificate",
        "The failure needs no strong weights: with eps = 1 and RS = 1, thus weights exp(s/16), n = 9, k = 4, p = 1/2 "
        "and similarities (1, 1, 1, 1, 1, 1, 1, 1, 0), Algorithm 1 takes two users of the first partition, one of "
        "the second and, the only one left, the user of similarity 0: alpha = 3, and PNCF has more.",
        certificate,
    )


def _truncating_rival() -> Evidence:
    """PNCF whose lambda is sim_k = 0: it takes everyone above 0 surely."""
    instance = Instance(_step_list(1, 4), Fraction(4, 3), 2, Fraction(1, 2), "exponential")
    condition = [
        "and",
        ["<", "theorem_bound", "p"],
        ["<=", ["*", "p", "k"], ["-", "k", 1]],
        ["<", "alpha_ppns", "alpha_pncf"],
    ]
    means = instance.selection() or ()
    return Evidence(
        "certificate",
        "Where PNCF does truncate, it beats Algorithm 1 more easily: with similarities (1, 0, 0, 0, 0), k = 2 and p "
        "= 1/2, lambda = min(sim_k, ...) = 0, so PNCF surely takes the user of similarity 1, which Algorithm 1 "
        f"takes with probability {instance.accuracy(means)} only.",
        instance.certificate(condition),
    )


def _paper_size() -> Evidence:
    """k = 50, eps = 1, RS = 1, p = 0.1 and a list that ends one user after the last visited partition."""
    k, p = 50, Fraction(1, 10)
    visited = len(trace_algorithm1(10**4, k, p).taken)
    n = visited * k + 1
    quotas = trace_algorithm1(n, k, p).taken
    bound = ["-", 1, ["^", ["/", ["-", "n", "k"], "n"], ["exp", ["/", "eps", ["*", 4, "k", "RS"]]]]]
    formulas = [
        *_quota_formulas(len(quotas)),
        ["=", "n", ["+", ["*", len(quotas), "k"], 1]],
        ["<", bound, "p"],
        ["<=", ["*", "p", "k"], ["-", "k", 1]],
        # alpha = k - 1 against alpha^ >= k (n-1)/n, since a larger weight never lowers a probability of selection.
        ["<", ["-", "k", 1], ["/", ["*", "k", ["-", "n", 1]], "n"]],
    ]
    certificate = {
        "kind": "formula",
        "inputs": {
            "values": {"n": str(n), "k": str(k), "p": str(p), "eps": "1", "RS": "1", **_quota_values(quotas)},
            "formulas": formulas,
            "supports": "refuted",
        },
    }
    return Evidence(
        "certificate",
        f"At k = {k}, eps = 1, RS = 1 and the tables' p = 0.1, with n = {n} candidates of whom {n - 1} have "
        f"similarity 1 and one has 0: Algorithm 1 visits {visited} partitions and must take that one, so alpha = "
        f"{k - 1}, whatever the weights and the last pick; weighted selection has alpha^ >= k(n-1)/n = "
        f"{float(Fraction(k * (n - 1), n)):.4f}. The same happens for every n up to {_last_failing(visited, k)}, "
        "with all users beyond the visited partitions at 0.",
        certificate,
        (_equal_weight_table(k),),
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
    certificate = {
        "kind": "formula",
        "inputs": {
            "values": {"n": str(n), "k": str(k), "w": str(weight), "p": str(p)},
            "formulas": [
                ["<", ["-", 1, ["^", ["/", ["-", "n", "k"], "n"], "w"]], "p"],
                ["<=", ["*", 1, ["*", k, p.numerator]], ["*", p.denominator, ["-", "k", 1]]],
                # The one user of similarity 0 is drawn by PPNS with 1/(n-k), by the rival with at most k/(w(n-k)+1).
                [">", ["/", 1, ["-", "n", "k"]], ["/", "k", ["+", ["*", "w", ["-", "n", "k"]], 1]]],
            ],
            "supports": "refuted",
        },
    }
    return Evidence(
        "certificate",
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
    return Evidence(
        "certificate",
        "In the small counterexamples lambda = sim_k for every rho, and sim_k + lambda covers all similarities: PNCF "
        "truncates nothing and is plain weighted selection.",
        {"kind": "formula", "inputs": {"values": {}, "formulas": formulas, "supports": "refuted"}},
    )


def _measured(measured: AccuracyContext, name: str) -> Evidence:
    table = Table(
        f"Similarity sum and error on {name}, {measured.ratings} ratings, random neighbor sets of 10",
        ["quantity", "value"],
        [
            ["mean correlation of alpha and absolute error", f"{measured.correlation:+.3f}"],
            ["pairs of sets whose larger alpha has the larger error", f"{measured.reversed_pairs:.3f}"],
            ["mean absolute error of the 10 most similar raters", f"{measured.best_error:.3f}"],
            ["mean absolute error of the 10 least similar raters", f"{measured.worst_error:.3f}"],
        ],
    )
    return Evidence(
        "statistics",
        f"Context, not part of the proof: on {name}, among random neighbor sets for the same rating, alpha and the "
        f"absolute error have mean correlation {measured.correlation:+.2f}.",
        None,
        (table,),
    )


def _supported(evidence: Sequence[Evidence]) -> set[str]:
    """Outcomes that the trusted checker grants; empty when it rejects any piece."""
    supported = set()
    for record in evidence:
        if record.certificate is not None:
            try:
                supported.add(check(record.certificate["kind"], record.certificate["inputs"])["supports"])
            except Rejected:
                return set()
    return supported


def _smallest(last: LastPick, quick: bool) -> Instance | None:
    searches = search_counterexamples(last, max_candidates=9 if quick else 10)
    return next((search.simplest for search in searches if search.simplest is not None), None)


def _smaller(searches: Sequence[Search], instance: Instance) -> str:
    size = (len(instance.similarities), instance.num_neighbors)
    before = [s for s in searches if (s.num_candidates, s.num_neighbors) < size]
    if not before:
        return f"for n below {size[0]}, or k below {size[1]}, the range of p is empty."
    tried, failing = sum(s.tried for s in before), sum(s.failing for s in before)
    return f"of {tried} lists and bases with smaller n, or this n and smaller k, {failing} fail."


def _sentence(instance: Instance) -> str:
    means = instance.selection()
    if means is None:
        raise InvalidInput("Algorithm 1 is not defined on this list; choose a larger p")
    alpha, other = instance.accuracy(means), instance.accuracy(instance.rival())
    how = "uniform" if instance.last == "uniform" else "weighted"
    return (
        f"n = {len(means)}, k = {instance.num_neighbors}, p = {instance.probability}, {how} last pick, weights "
        f"{instance.base}^similarity, similarities ({', '.join(map(str, instance.similarities))}): alpha = {alpha} = "
        f"{float(alpha):.4f} against alpha^ = {other} = {float(other):.4f}."
    )


def _means_table(instance: Instance) -> Table:
    means = instance.selection() or ()
    rows = [
        [i, str(s), str(w), str(mu), str(other)]
        for i, (s, w, mu, other) in enumerate(
            zip(instance.similarities, instance.weights, means, instance.rival(), strict=True), start=1
        )
    ]
    return Table(
        f"Probabilities of selection, {instance.last} last pick",
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
