"""The formulas of the partition scheme: exact quotas and searches, and every proof and certificate broken once."""

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpassay.core.claims import Context
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings
from dpassay.proofs.notation import formula, instance, proof
from dpassay.proofs.ppns import algorithm1, partition_count, partition_theory, theorem1_repaired
from dpassay.replay import Rejected, check

FORMULAS = {
    "PP-T1-RANGE": partition_theory.range_certificate,
    "PP-MONO": partition_theory.monotone_certificate,
    "PP-EX": partition_theory.example_certificate,
    "PP-B": partition_count.beta_certificate,
    "PP-20": lambda: partition_count.beta_certificate(accuracy=True),
}
CLAIMS = {
    "PP-CHEB": "holds",
    "PP-P": "holds",
    "PP-P1": "refuted",
    "PP-T1-PK": "refuted",
    "PP-T1-RANGE": "refuted",
    "PP-MONO": "holds",
    "PP-EX": "holds",
    "PP-B": "refuted",
    "PP-20": "refuted",
    "PP-T1-REP": "holds",
}


@pytest.mark.parametrize("make", FORMULAS.values(), ids=FORMULAS.keys())
def test_each_formula_is_accepted_and_its_opposite_rejected(make: Callable[[], dict[str, Any]]) -> None:
    inputs = make()["inputs"]
    assert check("formula", inputs)["supports"] == inputs["supports"]
    for index in range(len(inputs["formulas"])):
        changed = [["not", f] if i == index else f for i, f in enumerate(inputs["formulas"])]
        with pytest.raises(Rejected, match="false"):
            check("formula", {**inputs, "formulas": changed})


@pytest.mark.parametrize(
    ("find", "past"),
    [(partition_theory.find_up_to_one, "alpha_ppns < 3 / 2"), (partition_theory.find_gap, "first_ppns > 1")],
)
def test_the_counterexamples_are_exact(find: Callable[[], dict[str, Any] | None], past: str) -> None:
    found = find()
    assert found is not None
    assert check("selection", found)["supports"] == "refuted"
    with pytest.raises(Rejected):
        check("selection", {**found, "condition": formula(past)})


def test_the_failure_of_the_repaired_condition_is_exact_and_smallest() -> None:
    found = theorem1_repaired.find_surplus_failure()
    assert found is not None
    p, k, n = found
    assert check("selection", theorem1_repaired.surplus_failure_certificate(p, k, n))["supports"] == "holds"
    for other in itertools.product(algorithm1.TENTHS, range(2, n), range(3, n)):
        if Fraction(other[1], other[2]) < other[0] <= Fraction(other[1] - 1, other[1]) and other[1] < other[2]:
            surplus = theorem1_repaired.boundary_surplus(*other)
            assert surplus is None or min(surplus) >= 0
    with pytest.raises(ValueError, match="no boundary falls short"):
        theorem1_repaired.surplus_failure_certificate(Fraction(1, 2), 4, 12)


def test_the_boundary_condition_decides_the_comparison_of_accuracies() -> None:
    """Both directions of PP-T1-REP on every 0-1 step list of small settings, with exact accuracies."""
    seen = set()
    for k, n, p in itertools.product((2, 3, 4), range(3, 12), algorithm1.TENTHS):
        surplus = theorem1_repaired.boundary_surplus(p, k, n)
        if surplus is None or n <= k:
            continue
        means = algorithm1.selection_probabilities([Fraction(1)] * n, k, p)
        assert means is not None
        prefixes = list(itertools.accumulate(mu - Fraction(k, n) for mu in means))
        assert (min(surplus) >= 0) == (min(prefixes) >= 0)
        left = n - k * len(algorithm1.quotas(p, k, n))
        assert (min(surplus) >= 0) == (k * left >= n)
        seen.add(min(surplus) >= 0)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("p", "k", "n", "expected"),
    [
        (Fraction(1, 2), 50, 942, (25, 13, 7, 4)),
        (Fraction(9, 10), 50, 942, (45, 4)),
        (Fraction(1, 2), 2, 4, (1,)),
        (Fraction(1, 10), 50, 100, (5, 5)),
    ],
)
def test_quotas_are_capped_ceilings(p: Fraction, k: int, n: int, expected: tuple[int, ...]) -> None:
    assert algorithm1.quotas(p, k, n) == expected


def test_the_ceiling_is_exact_where_floats_round_up() -> None:
    assert math.ceil(0.1 * 3 * 10 * 10) == 31
    assert algorithm1.quotas(Fraction(3, 10), 100, 1000)[0] == 30


def test_formula_beta_is_the_printed_formula() -> None:
    for p in algorithm1.TENTHS:
        for k in (2, 10, 50):
            j, beta = partition_count.formula_beta(p, k)
            printed = math.ceil(1 + (math.log(3 / 2) - math.log(p * k)) / math.log(1 - p))
            assert j == printed
            assert float(beta) == pytest.approx((j - 1) + (1 - float(p)) ** (j - 1) * k, rel=1e-12)


def test_beta_exceeds_the_partitions_visited_before_the_last_neighbor() -> None:
    for p in algorithm1.TENTHS:
        assert len(algorithm1.quotas(p, 50, 942)) < partition_count.formula_beta(p, 50)[1]


def test_the_repaired_condition_holds_wherever_the_algorithm_is_defined_at_the_papers_size() -> None:
    surpluses = [theorem1_repaired.boundary_surplus(Fraction(i, 100), 50, 942) for i in range(1, 99)]
    assert sum(surplus is None for surplus in surpluses) == 8
    assert all(min(surplus) >= 0 for surplus in surpluses if surplus is not None)


def test_the_undefined_part_of_the_range_is_an_interval() -> None:
    assert partition_theory.undefined_up_to(50, 500) == Fraction(1, 5)
    assert algorithm1.selection_probabilities([Fraction(1)] * 500, 50, Fraction(1, 5)) is None
    assert theorem1_repaired.boundary_surplus(Fraction(201, 1000), 50, 500) is not None


def test_expected_picks_from_the_first_partition_are_the_ceiling() -> None:
    for k, p in itertools.product((2, 3, 4), algorithm1.TENTHS):
        means = algorithm1.selection_probabilities([Fraction(3)] * k + [Fraction(1)] * (3 * k), k, p)
        if means is not None:
            assert sum(means) == k
            assert sum(means[:k]) == min(math.ceil(p * k), k - 1)


def test_a_dropped_assumption_breaks_the_accuracy_guarantee() -> None:
    """With the tail held at 0 or more, the model that breaks the guarantee no longer exists."""
    (step,) = [s for s in partition_theory.p_proof()["inputs"]["steps"] if "negative tail" in s["name"]]
    check(**proof("one step", step))
    with pytest.raises(Rejected):
        check(**proof("one step", {**step, "hypotheses": [*step["hypotheses"], formula("tail >= 0")]}))


@pytest.mark.parametrize(("name", "outcome"), CLAIMS.items())
def test_deciders(name: str, outcome: str, ratings: Ratings) -> None:
    claim = find_claim(name)
    assert claim is not None
    verdict = claim.judge(Context(data=ratings, quick=True))
    assert verdict.outcome == outcome
    for record in verdict.evidence:
        assert record.certificate is not None
        assert json.loads(json.dumps(record.to_json())) == record.to_json()
        assert json.loads(json.dumps(record.certificate)) == record.certificate


def test_a_false_certificate_leaves_the_claim_open(monkeypatch: pytest.MonkeyPatch, ratings: Ratings) -> None:
    false = instance({}, "1 / 10 > 2 / 10", supports="holds")
    monkeypatch.setattr(partition_theory, "example_certificate", lambda: false)
    claim = find_claim("PP-EX")
    assert claim is not None
    assert claim.judge(Context(data=ratings)).outcome == "open"


def test_no_counterexample_means_open(monkeypatch: pytest.MonkeyPatch, ratings: Ratings) -> None:
    monkeypatch.setattr(partition_theory, "find_up_to_one", lambda: None)
    claim = find_claim("PP-P1")
    assert claim is not None
    assert claim.judge(Context(data=ratings)).outcome == "open"


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Any ratings: these claims look at none."""
    return Ratings.from_dense(np.array([[1.0, 2.0], [3.0, 4.0]]))
