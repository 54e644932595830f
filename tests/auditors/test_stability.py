"""Maps that are less stable than they declare are refuted by an exact pair; stable ones never."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpassay as dp
from dpassay.auditors import drawing, stability
from dpassay.replay import replay
from dpassay.replay.distances import distance

DIGITS = st.lists(st.integers(0, 5))
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)))
REPLACE: Any = {"relation": "replace_one:record"}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(drawing, "DRAWS", 25)


def total(values):
    return sum(values)


def mean(values):
    return sum(values) / len(values)


def judged(function, d_out, datasets=DIGITS, max_examples=80, **given):
    return dp.check_stability(function, d_out=d_out, datasets=datasets, max_examples=max_examples, **given)


def test_a_wrong_sensitivity_is_refuted_by_the_smallest_pair(tmp_path):
    verdict = judged(total, 4)
    witness: Any = verdict.witness
    assert verdict.outcome == "refuted"
    assert sorted((witness.dataset1, witness.dataset2)) == [[], [5]]
    assert (witness.distance_in, witness.distance_out, witness.d_out) == (1, 5, 4)
    assert {witness.output1, witness.output2} == {0, 5}
    witness.certificate().write(tmp_path / "pair.json")
    assert replay(tmp_path / "pair.json").outcome == "refuted"


def test_the_code_of_a_witness_runs(capsys):
    witness: Any = judged(total, 4).witness
    exec(str(witness).replace("from test_stability import total", ""), {"total": total})
    assert sorted(capsys.readouterr().out.split()) == ["0", "5"]


def test_at_the_true_sensitivity_nothing_is_found_and_nothing_is_promised():
    verdict = judged(total, 5)
    assert verdict.outcome == "not refuted"
    assert verdict.witness is None
    assert "That is no proof" in verdict.explanation
    assert "was 5" in verdict.explanation  # it came that near


@pytest.mark.parametrize(
    ("function", "true", "given"),
    [
        (total, 5, REPLACE),
        (lambda pairs: sum(map(sum, pairs)), 3, {"datasets": PAIRS, "relation": "replace_one:entry"}),
        (lambda pairs: len({user for user, _ in pairs}), 1, {"datasets": PAIRS, "relation": "add_or_remove_one:user"}),
        (lambda array: array.sum(), 5, {"datasets": arrays(np.int8, 3, elements=st.integers(0, 5)), **REPLACE}),
        (lambda values: [values.count(digit) for digit in range(6)], 2, REPLACE),
        (lambda values: [min(value, 3) for value in values], 1, {"output_metric": "symmetric"}),
        (lambda x: 2 * x, 2, {"datasets": st.integers(-9, 9), "input_metric": "absolute"}),
        (sum, 3, {"datasets": st.lists(st.integers(-9, 9), min_size=3, max_size=3), "input_metric": "linf"}),
    ],
)
def test_a_claim_is_refuted_below_the_true_distance_and_not_at_it(function, true, given):
    given = {"datasets": DIGITS, "max_examples": 70, **given}
    assert judged(function, true, **given).outcome == "not refuted"
    verdict = judged(function, true - Fraction(1, 4), **given)
    assert verdict.outcome == "refuted"
    witness: Any = verdict.witness
    assert witness.distance_out >= true - Fraction(1, 4)
    assert witness.distance_in <= given.get("d_in", 1)


def test_vectors_are_moved_in_all_entries_at_once():
    """Where one entry moves alone, no two sums are farther apart than claimed."""
    bits = st.lists(st.integers(0, 1), min_size=4, max_size=4)
    found = dp.check_stability(sum, d_in=2, d_out=2, input_metric="l2", datasets=bits)
    assert found.outcome == "refuted"
    witness: Any = found.witness
    assert (witness.distance_in, witness.distance_out) == (2, 4)


def test_l2_is_compared_without_a_root():
    def both(values):
        return [sum(values), sum(values)]

    verdict = judged(both, Fraction(707, 100), output_metric="l2")  # 5 sqrt(2) = 7.0710...
    witness: Any = verdict.witness
    assert verdict.outcome == "refuted"
    assert 7.07 < witness.distance_out < 5 * 2**0.5 + 1e-15
    assert "sqrt(50)" in witness.certificate().result["distance_out"]
    assert judged(both, Fraction(70711, 10000), output_metric="l2").outcome == "not refuted"


def test_rounding_is_seen_to_the_last_bit():
    def tenths(values):
        return 0.1 * len(values)

    witness: Any = judged(tenths, 0.1).witness
    assert Fraction(0.1) < witness.distance_out < Fraction(0.1) + Fraction(1, 2**40)
    assert judged(tenths, 0.1 + 1e-9).outcome == "not refuted"


def test_nan_empty_data_and_other_lengths_are_infinitely_far():
    clipped: Any = judged(lambda xs: sum(min(max(x, 0), 1) for x in xs), 1, st.lists(st.floats()))
    assert clipped.witness.distance_out == float("inf")
    assert "nan" in str(clipped.witness)
    seen: Any = judged(lambda xs: sorted(set(xs)), 100)
    assert seen.witness.distance_out == float("inf")


def test_an_exception_on_one_side_is_a_finding_of_its_own():
    verdict = judged(mean, 5)
    witness: Any = verdict.witness
    assert "exception on one of the two, ZeroDivisionError" in verdict.explanation
    assert {"raises": "ZeroDivisionError"} in (witness.output1, witness.output2)
    assert [] in (witness.dataset1, witness.dataset2)
    assert "exception" in witness.certificate().result["summary"]


def test_a_distance_outranks_an_exception():
    witness: Any = judged(lambda values: 9 * sum(values) / len(values), 5).witness
    assert witness.distance_out > 5
    assert not isinstance(witness.output1, dict)


def test_order_counts_only_where_the_claim_says_so():
    given: Any = {"datasets": st.lists(st.integers(0, 5), min_size=2, max_size=2)}
    given["max_examples"] = 200
    assert judged(lambda pair: pair[0] - pair[1], 5, input_metric="change_one", **given).outcome == "refuted"
    assert judged(lambda pair: pair[0] - pair[1], 5, input_metric="hamming", **given).outcome == "not refuted"


def test_long_data_print_by_their_runs():
    verdict = judged(lambda values: len(values) > 99, 0, max_examples=300)
    assert verdict.outcome == "refuted"
    assert len(str(verdict.witness)) < 500
    code = stability._dataset_code([1.5] * 9 + [1, 2] * 8 + [3])[0]
    assert code == "[1.5] * 9 + [1, 2] * 8 + [3]"
    assert eval(code) == [1.5] * 9 + [1, 2] * 8 + [3]


def test_keys_that_only_one_neighbor_has_are_warned_of():
    verdict = judged(lambda values: {value: values.count(value) for value in values}, 1)
    assert verdict.outcome == "not refuted"
    assert "different keys" in verdict.warnings[0]


def test_datasets_come_from_the_annotation():
    def count(values: list[float]) -> int:
        return len(values)

    def doubled(x: int) -> int:
        return 2 * x

    assert dp.check_stability(count, d_out=1, max_examples=60).outcome == "not refuted"
    assert dp.check_stability(count, d_out=0, max_examples=60).outcome == "refuted"
    assert dp.check_stability(doubled, d_out=1, input_metric="absolute", max_examples=60).outcome == "refuted"


class Turning:
    """Gives another output from one call on."""

    def __init__(self, turn):
        self.calls, self.turn = 0, turn

    def __call__(self, values):
        self.calls += 1
        return len(values) + (self.calls >= self.turn)


def changes(values):
    values.append(1)
    return 0


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (3, {}, "needs a function"),
        (total, {"d_out": None}, "d_out is missing"),
        (total, {"d_out": -1}, "d_out is -1"),
        (total, {"d_out": float("inf")}, "d_out is inf"),
        (total, {"d_out": float("nan")}, "d_out is nan"),
        (total, {"d_in": "x"}, "d_in is 'x'"),
        (total, {"datasets": [1]}, "Hypothesis strategy"),
        (total, {"datasets": None}, "which datasets the function takes is not known"),
        (total, {"relation": "nonsense"}, "KIND:UNIT"),
        (total, {"relation": "replace_one:record", "input_metric": "hamming"}, "give one of them"),
        (total, {"input_metric": "nonsense"}, "use one of"),
        (total, {"output_metric": "nonsense"}, "use one of"),
        (total, {"output_metric": "symmetric"}, "lists of records"),
        (total, {"max_examples": 0}, "max_examples"),
        (total, {"time_limit": float("inf")}, "time_limit"),
        (total, {"relation": "replace_one:entry", "d_in": 2}, "d_in=1"),
        (lambda values: "text", {}, "output_metric="),
        (lambda values: 1 / 0, {}, "fails on every dataset"),
        (lambda values: random.random(), {}, "different outputs"),
        (Turning(40), {"d_out": 0.5, "relation": "replace_one:record"}, "different outputs"),
        (changes, {}, "changes its dataset"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_line(function, given, message):
    with pytest.raises(dp.InvalidInput, match=message) as caught:
        judged(function, **{"d_out": 1, **given})
    assert "\n" not in str(caught.value)


def test_no_neighbors_are_open():
    verdict = judged(total, 1, input_metric="insert_delete", d_in=0, max_examples=20)
    assert verdict.outcome == "open"
    assert "no two neighboring datasets" in verdict.explanation


def test_a_run_repeats_by_its_seed():
    one, two = (str(judged(total, 3, seed=3, max_examples=60)) for _ in range(2))
    assert one == two


def test_a_sound_map_is_silent_over_a_hundred_seeds():
    def clipped(values: list[int]) -> int:
        return sum(min(max(value, 0), 5) for value in values)

    found = {dp.check_stability(clipped, d_out=5, seed=seed, max_examples=8).outcome for seed in range(100)}
    assert found == {"not refuted"}


@pytest.mark.parametrize("fault", [0, 2])
def test_a_wrong_distance_does_not_pass_the_checker(monkeypatch, fault):
    """The trusted checker measures for itself what the search proposes."""
    monkeypatch.setattr(stability, "distance", lambda *given: distance(*given) + (given[0] == "absolute") * fault)
    assert judged(total, 6).outcome == ("open" if fault else "not refuted")
