"""Exact counterexamples to the accuracy claims of partitioned selection, against literal enumeration."""

import copy
import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Context, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings, synthetic
from dpassay.proofs.ppns.accuracy_metric import accuracy_context
from dpassay.proofs.ppns.algorithm1 import Instance, trace_algorithm1
from dpassay.proofs.ppns.exact_selection import inclusion_probabilities
from dpassay.proofs.ppns.theorem1_counterexamples import search_counterexamples
from dpassay.replay import Rejected, check, conclusion, seal

HALF = Fraction(1, 2)


@functools.cache
def judge(claim_id: str) -> Verdict:
    claim = find_claim(claim_id)
    assert claim is not None
    return claim.judge(Context(synthetic(), quick=True))


def certificates(verdict: Verdict) -> list[Any]:
    return [record.certificate for record in verdict.evidence if record.certificate is not None]


def step_list(ones: int, zeros: int) -> tuple[Fraction, ...]:
    return (Fraction(1),) * ones + (Fraction(0),) * zeros


@pytest.mark.parametrize("last", ["uniform", "exponential"])
def test_selection_is_algorithm_1_drawn_by_hand(last: Any) -> None:
    similarities = tuple(Fraction(s) for s in ("1", "1", "1/2", "1/2", "1/2", "0", "0"))
    instance = Instance(similarities, Fraction(4), 3, Fraction(1, 3), last)
    # ceil(3/3) = 1 from the first three, ceil(3 * 1/3 * 2/3) = 1 from the next, one from the rest.
    assert instance.weights == (4, 4, 2, 2, 2, 1, 1)
    expected = [
        Fraction(4, 10),
        Fraction(4, 10),
        Fraction(2, 10),
        Fraction(2, 5),
        Fraction(2, 5),
        Fraction(1, 5),
        Fraction(1),
    ]
    assert list(instance.selection() or ()) == expected
    rival = instance.rival()
    assert rival == inclusion_probabilities(instance.weights, 3)
    assert instance.accuracy(rival) == sum(s * mu for s, mu in zip(similarities, rival, strict=True))


def test_the_last_pick_is_by_weight_or_uniform() -> None:
    list_ = step_list(4, 1)
    picks = {last: Instance(list_, Fraction(3), 2, HALF, last).selection() for last in ("uniform", "exponential")}
    assert picks["uniform"] == (HALF, HALF, Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    assert picks["exponential"] == (HALF, HALF, Fraction(3, 7), Fraction(3, 7), Fraction(1, 7))


def test_algorithm_1_without_a_partition_for_the_last_pick_is_undefined() -> None:
    assert Instance(step_list(4, 0), Fraction(2), 3, Fraction(1, 10), "uniform").selection() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"similarities": (Fraction(0), Fraction(1), Fraction(1))}, "descend"),
        ({"num_neighbors": 1}, "num_neighbors is 1"),
        ({"num_neighbors": 3}, "num_neighbors is 3"),
        ({"probability": Fraction(3, 2)}, "probability is 3/2"),
        ({"base": Fraction(0)}, "base is 0"),
        ({"last": "first"}, "last is 'first'"),
    ],
)
def test_instance_refuses_bad_input(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "similarities": step_list(2, 1),
        "base": Fraction(2),
        "num_neighbors": 2,
        "probability": HALF,
        "last": "uniform",
    }
    with pytest.raises(InvalidInput, match=message):
        Instance(**(arguments | changes))


def test_irrational_weights_are_refused() -> None:
    instance = Instance((Fraction(1), HALF, Fraction(0)), Fraction(2), 2, HALF, "uniform")
    with pytest.raises(InvalidInput, match="irrational"):
        _ = instance.weights


@pytest.mark.parametrize(
    ("base", "inside"), [("1", True), ("4/3", True), ("27/20", True), ("34/25", False), ("2", False)]
)
def test_range_of_theorem_1_is_decided_exactly(base: str, inside: bool) -> None:
    # 1/2 > 1 - (3/5)^w exactly for w < ln 2 / ln(5/3) = 1.3569...
    assert Instance(step_list(4, 1), Fraction(base), 2, HALF, "uniform").in_range is inside
    assert not Instance(step_list(4, 1), Fraction(base), 2, Fraction(51, 100), "uniform").in_range  # above (k-1)/k


def test_the_smallest_uniform_counterexample_has_five_candidates() -> None:
    first = next(search_counterexamples("uniform"))
    assert (first.num_candidates, first.num_neighbors) == (5, 2)
    instance = first.simplest
    assert instance is not None
    means = instance.selection()
    assert means is not None
    assert instance.in_range
    assert instance.accuracy(means) == Fraction(5, 3) < instance.accuracy(instance.rival()) == Fraction(159, 95)


def test_fewer_than_five_candidates_leave_no_range() -> None:
    for n, k in itertools.product(range(3, 5), (2, 3)):
        if k < n:
            assert not any(
                Instance(step_list(n, 0), Fraction(1), k, Fraction(quota, k), "uniform").in_range
                and trace_algorithm1(n, k, Fraction(quota, k)).defined
                for quota in range(1, k)
            )


def test_weighted_last_pick_needs_nine_candidates_and_two_visited_partitions() -> None:
    searches = list(
        search_counterexamples("exponential", max_candidates=9, steps=(Fraction(2), Fraction(4, 3), Fraction(7, 6)))
    )
    failing = {(s.num_candidates, s.num_neighbors, s.first_quota) for s in searches if s.failing}
    assert failing == {(9, 4, 2)}
    assert sum(s.tried for s in searches) > 500


def test_search_covers_every_p_only_up_to_four_neighbors() -> None:
    # Later quotas are 1 for k <= 4, whatever p is ...
    for k, p in itertools.product((2, 3, 4), (Fraction(i, 200) for i in range(1, 200))):
        assert all(math.ceil(p * (1 - p) ** i * k) == 1 for i in range(1, 6))
    # ... and not for k = 5.
    assert math.ceil(HALF * HALF * 5) == 2
    with pytest.raises(InvalidInput, match="only up to 4"):
        next(search_counterexamples("uniform", max_neighbors=5))


def test_equal_weights_fail_exactly_with_too_few_users_left() -> None:
    seen = {True: 0, False: 0}
    for k, n in itertools.product(range(2, 5), range(4, 15)):
        for p in (Fraction(i, 20) for i in range(1, 20)):
            trace = trace_algorithm1(n, k, p)
            if k >= n or p * k > k - 1 or not trace.defined:
                continue
            visited = len(trace.taken)
            lists = [step_list(ones, n - ones) for ones in range(1, n)]
            instances = [Instance(list_, Fraction(1), k, p, "uniform") for list_ in lists]
            fails = any(i.accuracy(i.selection() or ()) < i.accuracy(i.rival()) for i in instances)
            assert fails == (n * (k - 1) < visited * k * k)
            seen[fails] += 1
    assert min(seen.values()) >= 8


def test_quotas_at_the_tables_smallest_p() -> None:
    trace = trace_algorithm1(942, 50, Fraction(1, 10))
    assert trace.taken == (5, 5, 5, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2)
    assert trace.defined
    assert trace.count == 49


def test_p_equal_to_one_jumps_over_the_stopping_value() -> None:
    trace = trace_algorithm1(10, 3, Fraction(1), capped=False)
    assert trace.taken == (3, 0, 0, 0)
    assert not trace.defined
    assert trace_algorithm1(10, 3, Fraction(1)).taken == (2,)
    # The same for any p above (k-1)/k, and not at (k-1)/k.
    assert not trace_algorithm1(10, 3, Fraction(7, 10), capped=False).defined
    assert trace_algorithm1(10, 3, Fraction(2, 3), capped=False).taken == (2,)


@pytest.mark.parametrize("claim_id", ["PP-L2", "PP-T1", "PP-ACC", "PP-COST", "PP-P-ONE"])
def test_claims_are_refuted_by_certificates_that_replay(claim_id: str) -> None:
    claim = find_claim(claim_id)
    assert claim is not None
    verdict = judge(claim_id)
    assert verdict.outcome == "refuted"
    sealed = [seal(claim.id, claim.statement, c["kind"], c["inputs"]) for c in certificates(verdict)]
    assert sealed
    assert {conclusion(certificate).concludes or "note" for certificate in sealed} <= {"refuted", "note"}


def test_mutated_selection_certificates_are_rejected() -> None:
    *selections, truncating = [c for c in certificates(judge("PP-T1")) if c["kind"] == "selection"]
    with pytest.raises(Rejected):  # once sim_k is positive PNCF cuts nothing off here
        check("selection", {**truncating["inputs"], "similarities": ["1", "1/2", "0", "0", "0"], "base": "16/9"})
    assert {c["inputs"]["methods"]["ppns"]["last"] for c in selections} == {"uniform", "exponential"}
    for certificate in selections:
        n = len(certificate["inputs"]["similarities"])
        mutations: list[dict[str, Any]] = [
            {"similarities": ["1", "1", *["0"] * (n - 2)]},
            {"condition": [">", "alpha_ppns", "alpha_npns"]},
            {"num_neighbors": 3},
        ]
        for mutation in mutations:
            with pytest.raises(Rejected):
                check("selection", {**certificate["inputs"], **mutation})
        outside = copy.deepcopy(certificate["inputs"])
        outside["methods"]["ppns"]["probability"] = "9/20"  # below the bound, or no longer the p of the condition
        outside["condition"] = ["and", ["<", "theorem_bound", "p"], ["<", "alpha_ppns", "alpha_npns"]]
        with pytest.raises(Rejected):
            check("selection", outside)


def test_mutated_formula_certificates_are_rejected() -> None:
    formulas = [c for c in certificates(judge("PP-T1")) if c["kind"] == "formula"]
    paper_size = next(c for c in formulas if "RS" in c["inputs"]["values"])
    for mutation in ({"n": "851"}, {"quota1": "6"}, {"p": "1/5"}, {"RS": "1/1000"}, {"k": "49"}):
        values = {**paper_size["inputs"]["values"], **mutation}
        with pytest.raises(Rejected):
            check("formula", {**paper_size["inputs"], "values": values})
    strong = next(c for c in formulas if "w" in c["inputs"]["values"])
    for weight in ("40", "80"):  # too weak to fail; too strong for the range of p
        with pytest.raises(Rejected):
            check("formula", {**strong["inputs"], "values": {**strong["inputs"]["values"], "w": weight}})


def test_paper_size_list_fails_with_exact_means_too() -> None:
    instance = Instance(step_list(800, 1), Fraction(201, 200), 50, Fraction(1, 10), "exponential")
    means = instance.selection()
    assert means is not None
    assert instance.accuracy(means) == 49
    assert instance.accuracy(inclusion_probabilities((Fraction(1),) * 801, 50)) == Fraction(50 * 800, 801)


def test_lemma_2_is_true_for_two_candidates_and_its_certificate_can_fail() -> None:
    (smallest,) = [c for c in certificates(judge("PP-L2")) if c["kind"] == "formula"]
    for mutation in ({"s2": "0"}, {"other1": "3/5", "other2": "2/5"}, {"mu2": "1/2", "mu3": "0"}):
        with pytest.raises(Rejected):
            check("formula", {**smallest["inputs"], "values": {**smallest["inputs"]["values"], **mutation}})


def test_accuracy_metric_certificate_fails_when_the_ratings_are_swapped() -> None:
    (certificate,) = certificates(judge("PP-ACC"))
    for mutation in ({"near_rating": "5", "far_rating": "1"}, {"far1": "1", "far2": "2"}, {"truth": "3"}):
        values = {**certificate["inputs"]["values"], **mutation}
        with pytest.raises(Rejected):
            check("formula", {**certificate["inputs"], "values": values})


def test_accuracy_context_agrees_with_a_literal_computation() -> None:
    generator = np.random.default_rng(4)
    matrix = generator.integers(1, 6, (9, 5)).astype(float)
    matrix[generator.random(matrix.shape) < 0.2] = np.nan
    data = Ratings.from_dense(matrix)
    measured = accuracy_context(data, num_ratings=10**6, num_sets=4, num_neighbors=2)
    assert measured is not None
    errors: dict[bool, list[float]] = {True: [], False: []}
    for user, item in zip(data.users, data.items, strict=True):
        candidates = []
        for other in range(9):
            shared = [s for s in range(5) if s != item and not np.isnan(matrix[[user, other], s]).any()]
            if other != user and shared and not np.isnan(matrix[other, item]):
                a, b = matrix[user, shared], matrix[other, shared]
                candidates.append((a @ b / math.sqrt((a @ a) * (b @ b)), matrix[other, item]))
        if len(candidates) <= 4:
            continue
        for best in (True, False):
            near = sorted(candidates, key=lambda pair: pair[0], reverse=best)[:2]
            prediction = sum(s * r for s, r in near) / sum(s for s, _ in near)
            errors[best].append(abs(prediction - matrix[user, item]))
    assert measured.ratings == len(errors[True]) > 10
    assert measured.best_error == pytest.approx(np.mean(errors[True]))
    assert measured.worst_error == pytest.approx(np.mean(errors[False]))


def test_accuracy_context_sees_the_direction_of_the_relation() -> None:
    # Two groups that agree inside and differ between: larger sums have smaller errors. Then the ratings are shuffled.
    shared = np.array([[1, 2]] * 7 + [[2, 1]] * 6, float)
    rating = np.array([[5]] * 7 + [[1]] * 6, float)
    agreeing = accuracy_context(Ratings.from_dense(np.hstack([shared, rating])), num_sets=30, num_neighbors=2)
    assert agreeing is not None
    assert agreeing.correlation < -0.5
    assert agreeing.reversed_pairs < 0.3
    assert agreeing.best_error < agreeing.worst_error
    mixed = np.hstack([shared, np.random.default_rng(1).permutation(rating)])
    shuffled = accuracy_context(Ratings.from_dense(mixed), num_sets=30, num_neighbors=2)
    assert shuffled is not None
    assert shuffled.correlation > agreeing.correlation
    assert shuffled.reversed_pairs > agreeing.reversed_pairs


def test_accuracy_context_needs_enough_raters() -> None:
    assert accuracy_context(Ratings.from_dense(np.ones((4, 3))), num_neighbors=10) is None


def test_mutated_cost_certificates_are_rejected() -> None:
    (cost,) = certificates(judge("PP-COST"))
    for mutation in ({"n": "941"}, {"p": "1/3"}, {"quota4": "3"}):
        with pytest.raises(Rejected):
            check("formula", {**cost["inputs"], "values": {**cost["inputs"]["values"], **mutation}})
