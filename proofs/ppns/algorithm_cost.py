"""What Algorithm 1 of Lu and Shen (PPNS) does step by step: its operations (PP-COST), its end at p = 1 (PP-P-ONE)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.proofs.decisions import decided, shown
from dpassay.proofs.notation import instance, proof, smt
from dpassay.proofs.ppns.algorithm1 import Formula, quota_formulas, quota_values, trace_algorithm1


@dataclass
class OperationCounts:
    """Operations that Algorithm 1 performs."""

    sensitivities: int = 0
    comparisons: int = 0
    exponentials: int = 0
    random_numbers: int = 0


def decide_cost(claim: Claim, context: Context) -> Verdict:
    """PP-COST: operations that Algorithm 1 needs beyond k nearest neighbors."""
    n, items, k, p = 942, 1682, 50, Fraction(1, 2)
    trace = trace_algorithm1(n, k, p)
    count = extra_operations(n, k, p)
    formulas = quota_formulas(len(trace.taken))
    for name, formula in _extra_formulas(len(trace.taken)).items():
        formulas.append(["=", formula, getattr(count, name)])
    values = {"n": str(n), "k": str(k), "p": str(p), **quota_values(trace.taken)}
    certificate = instance(values, *formulas, supports="refuted")
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
        shown(
            "Closed counts of what a literal Algorithm 1 does beyond sorting the similarities: weights, the "
            "sensitivity, draws and loop tests. Each is positive.",
            certificate,
            tables=(table,),
        ),
    )
    return decided(
        claim,
        "refuted",
        "Taken literally there is extra cost: n exponentials, k random numbers and the comparisons of the draws. "
        "With a constant sensitivity it is of lower order than the similarities, which both methods compute: "
        f"{constant:.4f} times the work of k nearest neighbors at n = {n}, {items} items, k = {k}. Line 3 of "
        "Algorithm 1, taken as computing equation (3) from the data, reads all ratings once more and about doubles "
        f"the work ({from_data:.2f} times).",
        evidence=evidence,
    )


def decide_p_one(claim: Claim, context: Context) -> Verdict:
    """PP-P-ONE: at p = 1 Algorithm 1 as written has no last neighbor to choose."""
    rows: list[list[Any]] = []
    for n, k in ((6, 2), (10, 3), (942, 50)):
        written = trace_algorithm1(n, k, Fraction(1), capped=False)
        capped = trace_algorithm1(n, k, Fraction(1))
        rows.append(
            [n, k, written.count, len(written.taken), written.num_partitions - len(written.taken), capped.count]
        )
    table = Table(
        "Algorithm 1 at p = 1, step by step",
        ["n", "k", "count after the loop", "partitions visited", "left for line 16", "count if cut at k - 1"],
        rows,
    )
    # The proof speaks of Algorithm 1; the trace shows that this program's own reading of it does the same.
    traced = all(row[2] == row[1] and row[4] == 0 and row[5] == row[1] - 1 for row in rows)
    evidence = (
        shown(
            "For every k: the loop cannot stop at k - 1, and line 16 is left without users.",
            p_one_proof(),
            tables=(table,),
        ),
    )
    if not traced:
        return Verdict(claim.id, "open", "Our reading of Algorithm 1 does not do what the proof says of it.")
    return decided(
        claim,
        "refuted",
        "Not under Algorithm 1 as written: the loop takes all k users of the first partition, misses its stopping "
        "value k - 1, runs through all partitions, and the final step must select one more user from unvisited "
        "partitions, of which none is left. The same happens for every p above (k-1)/k. A version that stops at k - "
        "1 always adds one user from outside the top k, so it is not k nearest neighbors either. Only the formulas "
        "of sec. 6 (pk = k picks from the first partition) make the sentence true.",
        evidence=evidence,
        repair="The original scheme, without the changed last pick, is k nearest neighbors at p = 1.",
    )


def p_one_proof() -> dict[str, Any]:
    """At p = 1 the loop of Algorithm 1 cannot stop at k - 1, and line 16 is left without users."""
    return proof(
        "At p = 1 line 9 takes k users from the first partition and none later, so the count of line 8 is k and never "
        "k - 1; the loop visits all partitions, and line 16 has no unvisited one to select from. Cutting the quota at "
        "k - 1 instead gives a set with at most k - 1 of the top k.",
        smt("the first quota is k", "p == 1, q == p * k", "q == k"),
        smt("every later quota is 0", "p == 1, q == p * (1 - p) * power * k", "q == 0"),
        smt(
            "the count is never k - 1",
            "before == k, q == 0, after == before + q",
            "after == k and not (after == k - 1)",
        ),
        smt("cut at k - 1, the top k is not reached", "first <= k - 1, top <= first", "top < k"),
        supports="refuted",
    )


def extra_operations(num_candidates: int, num_neighbors: int, probability: Fraction) -> OperationCounts:
    """What a literal Algorithm 1 does beyond k nearest neighbors, in closed form; the sort is the same.

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
