"""False claims that a careless reading would prove; none of them is."""

import functools
import math

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
