# mypy: disable-error-code="var-annotated, assignment"
"""False claims that a careless reading would prove; none of them is."""

import functools
import importlib
import itertools
import math
import operator
import sys

import numpy as np
import pytest

import dpassay as dp


def sum_(x):
    return 2 * math.fsum(x)


def _sum_and_first(data):
    return sum(data) + data[0]


def _keyword_start(data):
    return sum(data, start=0) + max(data)


def _two_loops(data):
    s = 0
    for x in data:
        s += x
    for x in data:
        s += x
    return s


def _alias(data):
    b = data
    return sum(b) + sum(data)


def _remainder(data):
    return sum(x % 0.5 for x in data)


def _free_factor(data, v):
    return sum(v * x for x in data)


def _zero_maximum(data):
    return sum(data) / max(data)


def _zero_sum(data):
    return 1 / sum(data)


def _cancelled(data):
    return sum(x / x for x in data) * 0 + sum(data)


def _twice(data):
    return sum(1 for x in data if x > 0.5) * 2


def _both_ends(data):
    return data[-1] + data[0] + sum(data)


def _negative_index_wraps(data):
    return sum(data[i - 1] + data[i] for i in range(len(data)))


def _two_slices(data):
    return sum(data[1:]) + sum(data[:-1])


def _ranked(data):
    return sum(sorted(data)[i] * (i + 1) for i in range(len(data)))


def _unused_inner_loop(data):
    return sum(x for x in data for y in data) / 1


def _late_closure(data):
    f = [lambda x: x * k for k in (1, 2, 3)]  # noqa: B023
    return sum(f[0](x) for x in data)


def _helper(data):
    return sum_(data)


def _arrays(data):
    return np.sum(data * np.asarray(data) * 2)


def _equality(data):
    return sum(1 if x == data[0] else 0 for x in data)


def _repeated_list(data):
    return sum(data * 2)


def _floor_of_negative(data):
    return sum(-x // 1 for x in data) * -2


def _stride(data):
    return sum(data[::2]) * 2


def _concatenated(data):
    return sum(data + data)


def _mapped(data):
    return sum(map(lambda x: x + x, data))


def _length_ratio(data):
    return sum(x * len(data) for x in data) / (len(data) - 1)


def _log_of_zero(data):
    return math.log(sum(data))


def _switched_by_first(data):
    return sum(data) if data[0] > 0.5 else 0


def _order_weights(data):
    return sum(np.sort(data) * np.arange(len(data)))


def _jump(data):
    return sum(x if x > 0.5 else -x for x in data)


def _not_joint(data):
    return sum(x**0.5 for x in data) + sum(x**2 for x in data)


def _zero_denominator(data):
    return np.sum(np.exp(data)) / np.sum(data)


def _folded(data):
    return functools.reduce(lambda a, b: a * 2 + b, data)


def _zero_ratio(data):
    return min(data) / max(data)


def _truncated(data):
    return sum(int(x + 0.5) * 2 for x in data)


CLAIMS = [
    (_sum_and_first, "1"),
    (_keyword_start, "1"),
    (_two_loops, "1"),
    (_alias, "1"),
    (_remainder, "1/4"),
    (_free_factor, "1"),
    (_zero_maximum, "2"),
    (_zero_sum, "1"),
    (_cancelled, "1"),
    (_twice, "1"),
    (_both_ends, "1"),
    (_negative_index_wraps, "1"),
    (_two_slices, "1"),
    (_ranked, "2"),
    (_unused_inner_loop, "1"),
    (_late_closure, "1"),
    (_helper, "1"),
    (_arrays, "1"),
    (_equality, "1"),
    (_repeated_list, "1"),
    (_floor_of_negative, "1"),
    (_stride, "1"),
    (_concatenated, "1"),
    (_mapped, "1"),
    (_length_ratio, "1"),
    (_log_of_zero, "1"),
    (_switched_by_first, "1"),
    (_order_weights, "2"),
    (_jump, "1/2"),
    (_not_joint, "1"),
    (_zero_denominator, "1"),
    (_folded, "1"),
    (_zero_ratio, "0.9"),
    (_truncated, "1"),
]


@pytest.mark.parametrize(("function", "claim"), CLAIMS)
def test_a_false_claim_is_not_proved(function, claim):
    found = dp.sensitivity(function, at_most=claim)
    assert found.outcome != "holds", found
    if found.outcome == "refuted":
        assert float(found.lower) > 0


def test_there_are_enough_traps():
    assert len(CLAIMS) >= 30


# What follows goes wrong for numbers just above 0.31415 alone, so that no run of it shows a wrong reading.


def _seldom(x):
    return 0.31415 < x < 0.31416


_factor = 1


def _inner_function_of_a_later_name(data):
    def times(x):
        return _factor * x

    if len(data) > 3:
        pass
    _factor = 100
    return sum(times(x) if _seldom(x) else 0 for x in data)


def _helper_with_an_inner_function(data):
    return _total_of_products(data)


def _total_of_products(data):
    factor = 1

    def times(x):
        return factor * x

    if len(data) > 3:
        pass
    factor = 100
    return sum(times(x) if _seldom(x) else 0 for x in data)


def _closure_over_a_list(data):
    found = []

    def count():
        return len(found)

    if len(data) > 3:
        pass
    for x in data:
        if _seldom(x):
            found.append(x)
    return count()


def _returns_the_loop_variable(data):
    x = 0
    for x in data:
        if _seldom(x):
            return 100 * x
    return 0


def _loop_variable_behind_the_loop(data):
    x = 0
    for x in data:
        if x > 2:
            return 0
    return 100 if _seldom(x) else 0


def _iterator_in_a_tuple(data):
    held = ((x for x in data if _seldom(x)), 1)
    return sum(held[0]) - sum(held[0])


def _iterator_by_keyword(data):
    return _difference(values=(100 for x in data if _seldom(x)))


def _difference(values):
    return sum(values) - sum(values)


def _iterator_in_an_argument(data):
    return (lambda held: sum(held[0]) - sum(held[0]))(((100 for x in data if _seldom(x)), 1))


def _alias_by_tuple(data):
    found = []
    other, zero = found, 0
    for x in data:
        if _seldom(x):
            found.append(x)
    return len(other) + zero


def _alias_by_place(data):
    found = []
    held = (found, 0)
    other = held[0]
    for x in data:
        if _seldom(x):
            found.append(x)
    return len(other)


def _list_made_anew(data):
    found = []
    for x in data:
        found.append(x)
        if _seldom(x):
            found = []
    return len(found)


def _list_becomes_a_number(data):
    found = []
    for x in data:
        if _seldom(x):
            found = 0
    return len(found)


def _masks_added(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return np.sum(2 * seen - (seen + seen))


def _masks_added_by_numpy(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return np.sum(2 * seen - np.add(seen, seen))


def _mask_without_sign_added(data):
    seen = np.abs((np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416))
    return np.sum(2 * seen - (seen + seen))


def _chosen_masks_added(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    chosen = np.where(seen, seen, seen)
    return np.sum(2 * chosen - (chosen + chosen))


def _mask_times_itself(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return np.sum(seen) - np.dot(seen, seen)


def _running_sum_of_a_mask(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return sum(np.cumsum(seen)) - sum(itertools.accumulate(seen))


def _reduced_mask(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return np.sum(seen) - functools.reduce(operator.add, seen)


def _differences_of_a_mask(data):
    return np.sum(np.diff((np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)))


def _sum_from_true(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return sum(seen, True) - sum(seen)


def _sum_from_false(data):
    total = False
    for x in data:
        total += (x > 0.31415) & (x < 0.31416)
    return total - np.sum((data * 1.0 > 0.31415) & (data * 1.0 < 0.31416))


def _fraction_of_a_total(data):
    total = 0
    for x in data:
        total = 1000 * (total - math.floor(total)) + (x if _seldom(x) else 0)
    return total


def _remainder_of_a_total(data):
    total = 0
    for x in data:
        total = 1000 * (total % 1) + (x if _seldom(x) else 0)
    return total


def _integer_reciprocal(data):
    seen = (np.asarray(data) > 0.31415) & (np.asarray(data) < 0.31416)
    return np.sum(np.reciprocal(1 + seen))


SELDOM_WRONG = [
    _inner_function_of_a_later_name,
    _helper_with_an_inner_function,
    _closure_over_a_list,
    _returns_the_loop_variable,
    _loop_variable_behind_the_loop,
    _iterator_in_a_tuple,
    _iterator_by_keyword,
    _iterator_in_an_argument,
    _alias_by_tuple,
    _alias_by_place,
    _list_made_anew,
    _list_becomes_a_number,
    _masks_added,
    _masks_added_by_numpy,
    _mask_without_sign_added,
    _chosen_masks_added,
    _mask_times_itself,
    _running_sum_of_a_mask,
    _reduced_mask,
    _differences_of_a_mask,
    _sum_from_true,
    _sum_from_false,
    _fraction_of_a_total,
    _remainder_of_a_total,
    _integer_reciprocal,
]


@pytest.mark.parametrize("function", SELDOM_WRONG)
def test_a_function_whose_reading_no_run_contradicts_has_no_bound(function):
    found = dp.sensitivity(function)
    assert (found.outcome, found.upper) == ("open", None), found


def _fractions_of_totals(data):
    total = fractions = 0
    for x in data:
        fractions = fractions + 1000 * (total - int(total))
        total = total + (x if _seldom(x) else 0)
    return fractions


def test_what_begins_as_an_integer_need_not_stay_one():
    assert dp.sensitivity(_fractions_of_totals, at_most=0).outcome != "holds"
    assert dp.sensitivity(_fractions_of_totals, at_most="300*(n - 1)").outcome != "holds"


def _applied(function, data):
    """Another module's function takes its place."""


def _inner_function_elsewhere(data):
    return _applied(lambda x: _factor * x, data)


def test_an_inner_function_is_read_with_the_names_of_its_own_module(monkeypatch, tmp_path):
    text = "_factor = 0.5\n\n\ndef applied(function, data):\n    return sum(function(x) for x in data)\n"
    (tmp_path / "module_of_applied.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(globals(), "_applied", importlib.import_module("module_of_applied").applied)
    try:
        assert dp.sensitivity(_inner_function_elsewhere).upper == 1
    finally:
        del sys.modules["module_of_applied"]


def _apart_where_empty(data):
    if len(data) == 0:
        return -1
    seen = [1 if _seldom(x) else 0 for x in data]
    return sum(a * b for a, b in zip(seen, reversed(seen), strict=True))


def _distinct(data):
    return len(set(data))


@pytest.mark.parametrize(("function", "least"), [(_apart_where_empty, 2), (_distinct, 1)])
def test_a_bound_for_one_entry_and_more_is_none_for_the_empty_list(function, least):
    found = dp.sensitivity(function, relation="add_or_remove_one:entry")
    assert found.outcome == "holds"
    assert found.upper.subs("n", 0) >= least


def _numbered_from_below(data):
    return sum(i * x for i, x in enumerate(data, start=-1)) / len(data)


def _rotated(data):
    return sum(a * b for a, b in zip(data, data[1:] + data[:1], strict=True))


def _remainder_of_nothing(data):
    return data[0] % 0


@pytest.mark.parametrize("function", [_numbered_from_below, _rotated, _remainder_of_nothing])
def test_a_division_by_zero_in_a_reading_raises_nothing(function):
    for relation in ("replace_one:entry", "add_or_remove_one:entry"):
        found = dp.sensitivity(function, relation=relation)
        assert "report" not in found.reason


def _quotient_of_a_count(data):
    few = sum(1 for x in data if _seldom(x))
    return 1 / few if few > 0 else 5


def _entropy_of_positive_entries(data):
    return sum(x * math.log(x) if x > 0 else 0 for x in data)


@pytest.mark.parametrize(
    ("function", "bounds", "least"),
    [(_quotient_of_a_count, (0, 1), 4), (_entropy_of_positive_entries, (-5, 5), 5 * math.log(5))],
)
def test_what_is_undefined_beyond_a_case_raises_nothing(function, bounds, least):
    found = dp.sensitivity(function, bounds=bounds)
    assert found.upper is None or float(found.upper) >= least
