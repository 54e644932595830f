"""Sensitivity of ordinary functions: proved for every length, or exceeded by an exact pair; and what is refused."""

import functools
import itertools
import math
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

import dpassay as dp
from dpassay.prover.sensitivity import deciding, lengths
from dpassay.replay import proof

n = sympy.Symbol("n")
SCALE = 3


def total(data):
    return sum(data)


def mean_of_clipped(data, lower, upper):
    assert lower < upper
    return sum(min(max(x, lower), upper) for x in data) / len(data)


def variance_in_one_pass(data):
    count, s, q = len(data), 0, 0
    for x in data:
        s += x
        q += x * x
    return q / count - (s / count) ** 2


def median(data):
    ordered = sorted(data)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def trimmed(data):
    return np.mean(np.sort(data)[1:-1])


def norm(data):
    return np.sqrt(np.sum((data - np.mean(data)) ** 2))


def spread(data):
    return max(data) - min(data)


def largest_jump(data):
    return max(abs(a - b) for a, b in zip(data, data[1:]))  # noqa: B905, RUF007


def log_sum_exp(data):
    return math.log(sum(math.exp(x) for x in data))


def softmax_mean(data):
    weights = np.exp(data)
    return np.sum(weights * data) / np.sum(weights)


def gini(data):
    return sum(abs(x - y) for x, y in itertools.combinations(data, 2)) / len(data)


def rises(data):
    count = 0
    previous = data[0]
    for x in data[1:]:
        if x > previous:
            count += 1
        previous = x
    return count


def ever_high(data):
    for x in data:
        if x > 0.9:
            return 1
    return 0


def running_high(data):
    return max(itertools.accumulate(data))


def entropy(data):
    return sum(-x * math.log(x) if x > 0 else 0 for x in data)


def weighted(data, w):
    return sum(w * x for x in data)


def scaled(data):
    return SCALE * _inner(data)


def _inner(values):
    return sum(values)


def quantile_range(data):
    high, low = np.percentile(data, [75, 25])
    return high - low


def with_a_guard(data):
    if len(data) < 2:
        return 0
    return statistics.variance(data)


def kept_rounds(data):
    return sum(round(4 * x) for x in data if x > 0.5)


def power_mean(data, p):
    assert p >= 1
    return sum(x**p for x in data) / len(data)


PROVED: list[tuple[Callable[..., Any], str, dict[str, Any]]] = [
    (total, "1", {}),
    (total, "5", {"bounds": (-2, 3)}),
    (total, "3", {"bounds": (-2, 3), "relation": "add_or_remove_one:entry"}),
    (mean_of_clipped, "(upper - lower)/n", {"bounds": None}),
    (variance_in_one_pass, "(n-1)/n**2", {}),
    (median, "1", {}),
    (trimmed, "1/(n-2)", {}),
    (norm, "sqrt((n-1)/n)", {}),
    (spread, "1", {}),
    (largest_jump, "1", {}),
    (log_sum_exp, "log((n - 1 + e)/n)", {}),
    (softmax_mean, "e/(e + n - 1)", {}),
    (gini, "(n-1)/n", {}),
    (rises, "1", {}),
    (ever_high, "1", {}),
    (running_high, "1", {}),
    (entropy, "exp(-1)", {}),
    (weighted, "abs(w)", {}),
    (scaled, "3", {}),
    (quantile_range, "1", {}),
    (with_a_guard, "1/n", {}),
    (kept_rounds, "4", {}),
    (power_mean, "1/n", {}),
    (spread, "1", {"relation": "add_or_remove_one:entry"}),
]


@pytest.mark.parametrize(("function", "bound", "given"), PROVED)
def test_a_true_bound_is_proved_and_a_smaller_one_never(function, bound, given):
    found = dp.sensitivity(function, at_most=bound, **given)
    assert found.outcome == "holds", found
    assert found.upper is not None
    assert found.reason == ""
    assert found.witness is not None
    if function not in (trimmed,):  # what is defined from n = 3 on has no pair at the bound in few tries
        false = dp.sensitivity(function, at_most=f"0.97*({bound})", **given)
        assert false.outcome != "holds", false


def test_a_bound_is_found_without_a_claim():
    for function, wanted in ((total, 1), (variance_in_one_pass, (n - 1) / n**2), (log_sum_exp, None)):
        found = dp.sensitivity(function)
        assert found.outcome == "holds"
        if wanted is not None:
            assert sympy.simplify(found.upper - wanted) == 0
        else:
            assert float(found.upper.subs("n", 4)) == pytest.approx(math.log((3 + math.e) / 4))


def test_a_refutation_shows_an_exact_pair_that_the_function_itself_confirms():
    found = dp.sensitivity(variance_in_one_pass, at_most="(n-1)/n**2 - 1/1000")
    assert found.outcome == "refuted"
    pair = found.witness
    assert pair is not None
    assert sum(a != b for a, b in zip(pair.dataset1, pair.dataset2, strict=True)) == 1
    values = [variance_in_one_pass([Fraction(x) for x in data]) for data in (pair.dataset1, pair.dataset2)]
    assert sympy.Rational(abs(values[0] - values[1])) == found.lower
    assert found.lower > sympy.Rational(pair.n - 1, pair.n**2) - sympy.Rational(1, 1000)


def test_the_steps_of_a_proof_are_what_replay_checks_with_both_solvers():
    found = dp.sensitivity(variance_in_one_pass, at_most="(n-1)/n**2")
    steps = found.certificate["steps"]
    assert steps
    checked = proof.compute({"argument": "all cases of one changed entry", "steps": steps})
    assert len(checked["steps"]) == len(steps)
    assert len(found.certificate["digest"]) == 64


def share(data):
    if len(data) == 0:
        return 0
    return sum(x > 0.5 for x in data) / len(data)


def default_at_first(data):
    if len(data) == 0:
        return 100
    return sum(data)


def test_no_entry_beside_one_counts_where_entries_are_added():
    added = "add_or_remove_one:entry"
    for function, false, true in ((share, "1/2", "1"), (default_at_first, "1", "100")):
        found = dp.sensitivity(function, relation=added, at_most=false)
        assert (found.outcome, found.witness and found.witness.n) == ("refuted", 0)
        found = dp.sensitivity(function, relation=added, at_most=true)
        assert found.outcome == "holds"
        assert "n >= 0 entries, and one more" in found.assumptions
    assert "n >= 1 entries, and one more" in dp.sensitivity(mean, relation=added).assumptions


def mean(data):
    return sum(data) / len(data)


def median_by_length(data):
    return sorted(data)[len(data) // 2] / len(data)


def second(data):
    return data[1]


def without_ends(data):
    return sum(data[1:-1]) if len(data) != 1 else 7 * data[0]


def test_lengths_that_the_proof_leaves_out_are_proved_by_themselves_or_fail():
    found = dp.sensitivity(median_by_length, at_most="1/2")
    assert (found.outcome, found.witness and found.witness.n) == ("refuted", 1)
    assert dp.sensitivity(median_by_length, at_most="1").assumptions[0] == "n >= 1 entries"
    assert "n >= 2" in dp.sensitivity(second, at_most="1").assumptions
    assert dp.sensitivity(without_ends, at_most="1").outcome == "refuted"
    assert dp.sensitivity(without_ends, at_most="1", assume=["n >= 2"]).outcome == "holds"


def test_a_length_at_which_the_function_runs_unproved_leaves_it_open(monkeypatch):
    monkeypatch.setattr(lengths, "LONGEST_READ", 0)
    found = dp.sensitivity(median_by_length, at_most="1")
    assert (found.outcome, found.upper) == ("open", None)
    assert "runs for n = 1" in found.reason


def test_a_claim_about_what_is_not_understood_may_have_its_parameters():
    found = dp.sensitivity(_while_limited, at_most="2*limit")
    assert (found.outcome, str(found.at_most)) == ("open", "2*limit")
    assert "not understood" in found.reason


def _while_limited(data, limit):
    while limit < 1:
        limit += 1
    return sum(data)


def test_it_prints_as_a_few_readable_lines():
    text = str(dp.sensitivity(weighted, at_most="w", bounds=(0, 2), assume=["w > 0"]))
    assert "refuted" in text
    assert "x' = [" in text
    assert "w > 0" in text
    assert len(text.splitlines()) <= 6


# What is refused, with the place


def _while(data):
    t = 0
    while t < 1:
        t += 1
    return t + sum(data)


def _sorted_in_place(data):
    data.sort()
    return data[0]


def _generator_twice(data):
    g = (x for x in data)
    return sum(g) + sum(g)


def _for_else(data):
    t = 0
    for x in data:
        t += x
    else:
        t += sum(data)
    return t


def _late_closure(data):
    k = 1
    scale = lambda x: k * x  # noqa: E731
    k = 3
    return sum(scale(x) for x in data)


def _key(data):
    return max(data, key=lambda x: -x)


def _decorated_inner(data):
    @functools.cache
    def inner(x):
        return x

    return sum(inner(x) for x in data)


def _changes_two_lists(data):
    kept: list[float] = []
    other = kept
    for x in data:
        other.append(x)
    return sum(kept)


@pytest.mark.parametrize(
    "function",
    [
        _while,
        _sorted_in_place,
        _generator_twice,
        _for_else,
        _late_closure,
        _key,
        _decorated_inner,
        _changes_two_lists,
    ],
)
def test_what_is_not_understood_is_refused_with_file_and_line(function):
    found = dp.sensitivity(function, at_most="1000*n")
    assert (found.outcome, found.upper) == ("open", None)
    assert f"{__file__}:" in found.reason
    line = int(found.reason.split(":")[1])
    assert function.__code__.co_firstlineno <= line <= function.__code__.co_firstlineno + 9


def ratio(data):
    return sum(data) / max(data)


def reciprocal(data):
    return 1 / (len(data) - sum(data))


def cancelled(data):
    return sum(x * x / x for x in data)


def logarithm(data):
    return math.log(data[0])


def beyond(data):
    return data[len(data)]


@pytest.mark.parametrize("function", [ratio, reciprocal, cancelled, logarithm, beyond])
def test_what_may_be_undefined_has_no_bound(function):
    found = dp.sensitivity(function, at_most="1000*n")
    assert (found.outcome, found.upper) == ("open", None)


def test_what_is_defined_for_some_lengths_says_so():
    found = dp.sensitivity(lambda_free_second, at_most="1")
    assert found.outcome == "holds"
    assert "n >= 2" in found.assumptions


def lambda_free_second(data):
    return data[1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"relation": "one"}, "relation"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"at_most": "m + 1"}, "m"),
        ({"at_most": "n +"}, "expression"),
        ({"assume": ["n + 1"]}, "condition"),
    ],
)
def test_unusable_input(given, words):
    with pytest.raises(dp.InvalidInput, match=words):
        dp.sensitivity(total, **given)


@pytest.mark.parametrize("function", [sum, lambda data: sum(data), 3])
def test_not_a_function_with_source(function):
    with pytest.raises(dp.InvalidInput):
        dp.sensitivity(function)


# A reading that is wrong does not get through


def test_a_reading_that_disagrees_with_the_function_is_an_error_of_ours(monkeypatch):
    from dpassay.prover.sensitivity import library

    monkeypatch.setitem(library._TABLE, sum, lambda reader, values, /: sympy.Integer(0))
    found = dp.sensitivity(total, at_most="1")
    assert found.outcome == "open"
    assert "report" in found.reason


def test_a_proof_that_a_pair_contradicts_is_an_error_of_ours(monkeypatch):
    monkeypatch.setattr(deciding._Decision, "proof", lambda self: (deciding.Proof(sympy.Rational(1, 2)), ""))
    found = dp.sensitivity(total, at_most="1")
    assert (found.outcome, found.upper) == ("open", None)
    assert "report" in found.reason


def _unchanged(function):
    return function


def _doubled(function):
    @functools.wraps(function)
    def doubled(data):
        return 2 * function(data)

    return doubled


@_unchanged
def rounded_sum(data):
    return round(sum(data))


@_doubled
def plain_sum(data):
    return sum(data)


def mean_of_large(data):
    large = [x for x in data if x > 0.5]
    return sum(large) / len(large) if large else 0.0


def alternating(data):
    return sum(x if i % 2 == 0 else -x for i, x in enumerate(data))


@pytest.mark.parametrize(("function", "upper"), [(rounded_sum, 2), (mean_of_large, 1)])
def test_rounding_empty_filters_and_decorators_that_change_nothing(function, upper):
    found = dp.sensitivity(function, relation="replace_one:entry", bounds=(0, 1))
    assert (found.outcome, str(found.upper)) == ("holds", str(upper))


def test_what_depends_on_places():
    found = dp.sensitivity(alternating, relation="replace_one:entry", bounds=(0, 1), at_most="1")
    assert found.outcome == "holds"
    assert dp.sensitivity(alternating, relation="replace_one:entry", bounds=(0, 1), at_most="0.9").outcome == "refuted"


@functools.wraps(total)
def large_seldom(data):
    return sum(data) + (1000 if len(data) > 40 and data[7] == 0.123 else 0)


def _seldom(function):
    @functools.wraps(function)
    def large(data):
        return function(data) + (1000 if len(data) > 40 and data[7] == 0.123 else 0)

    return large


def helped(data):
    return large_seldom(data)


@pytest.mark.parametrize("function", [plain_sum, large_seldom, _seldom(total), helped])
def test_text_that_the_function_does_not_run_is_refused(function):
    found = dp.sensitivity(function, relation="replace_one:entry", bounds=(0, 1))
    assert (found.outcome, found.upper) == ("open", None)
    assert "wraps another function" in found.reason


def never_returns(data):
    total = 0
    while True:
        try:
            total += sum(data)
        except Exception:
            return 0


def test_a_function_that_does_not_return_is_stopped_in_one_line(monkeypatch):
    monkeypatch.setattr("dpassay.prover.sensitivity.search.RUN_SECONDS", 0.01)
    with pytest.raises(
        dp.InvalidInput, match=r"^never_returns had not returned after 0.01 s for n = 1, so nothing .*$"
    ):
        dp.sensitivity(never_returns)


def between(data, low, high):
    return min(max(sum(data), low), high)


def test_a_condition_may_stand_alone():
    found = dp.sensitivity(between, bounds=None, at_most="high - low # of the range", assume="low < high")
    assert (found.outcome, str(found.upper)) == ("holds", "high - low")


def clipped_mean(data):
    return min(max(sum(data) / len(data), 0.2), 0.8)


def root_of_count(data):
    return math.sqrt(sum(1 for x in data if x > 0.3))


@pytest.mark.parametrize(
    ("function", "relation", "bound"),
    [(clipped_mean, "add_or_remove_one:entry", "2/5"), (root_of_count, "replace_one:entry", "1")],
)
def test_extremes_of_what_may_be_undefined_and_roots_of_counts(function, relation, bound):
    found = dp.sensitivity(function, relation=relation)
    assert (found.outcome, str(found.upper)) == ("holds", bound)


def recurrence(data):
    t = 0.0
    for x in data:
        t = -0.5 * t + x
    return t


def test_the_search_for_a_bound_ends_in_time(monkeypatch):
    monkeypatch.setattr("dpassay.prover.sensitivity.deciding.SECONDS", 0.5)
    found = dp.sensitivity(recurrence, relation="add_or_remove_one:entry")
    assert (found.outcome, found.upper, found.reason) == ("open", None, "no bound was proved in 0.5 s")
    assert found.witness is not None


def huge_constant(data):
    return sum(data) + 2 ** (2**2**2**4)


def test_constants_that_cannot_be_computed_are_refused():
    with pytest.raises(dp.InvalidInput, match=r"test_sensitivity.py:\d+: .* is too large to be computed$"):
        dp.sensitivity(huge_constant)
