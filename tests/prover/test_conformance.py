"""The checker's reading of a program gives what the program gives from the same noise."""

import contextlib
import math

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.prover.conformance import conforms, inputs_like
from dpassay.prover.problem import Problem
from dpassay.prover.program_text import Program, program_of


def noisy_places(rng, queries, epsilon, c: int):
    places, count, best = [], 0, None
    limit = rng.laplace(1, 2 / epsilon)
    for i, query in enumerate(queries, 1):
        if query + rng.laplace(scale=4 * c / epsilon) >= limit and (i > 2 or rng.random() > 0.25):
            places.append((i, round(query) % 3))
            count += 1
        if best is None or query > best:
            best = query
        if count >= c:
            break
        if i // 2 == 1:
            continue
        count = abs(count)
    return places, best, math.floor(limit)


def arrays(rng, queries, epsilon):
    noisy = np.asarray(queries) + rng.exponential(1 / epsilon, size=len(queries))
    coins = rng.random(len(queries)) < 1 / 2
    running = np.cumsum(np.where(coins, noisy, -1)).tolist()
    largest = np.argmax(noisy) if len(queries) > 0 else -1
    return largest, [x + rng.normal(0, 1) for x in running], sum(x > 0 for x in queries), np.clip(noisy, 0, 2).sum()


def _half(rng, x, scale=0.5):
    if x < 0:
        return -x * scale
    for i in range(3, 0, -1):
        x = x / i if i != 2 else x - i
    return x + rng.gumbel(0, scale)


def helpers(rng, values, epsilon):
    total = rng.geometric(1 / 3) - rng.geometric(1 / 3)
    for value in values:
        total += _half(rng, value) + _half(scale=epsilon, x=value, rng=rng)
    return total if total != 0 else float("inf")


def slices(rng, xs, epsilon, k: int):
    half, out, array = len(xs) // 2, [], np.asarray(xs)
    for one, two in zip(xs[:-1], xs[1:], strict=True):  # noqa: RUF007
        out.append(two - one)
    parts = xs[1:] + xs[-2:k] + xs[k:1] + xs[:] + xs[-9:half]
    blocks = [sum(xs[start : start + k]) for start in range(0, len(xs), k)]
    return parts, sorted(out), np.sum(array[half:]), blocks, [i for i in range(2, 2 * k, k + 1)]


def filters(rng, xs, epsilon, t):
    x = 7
    kept = [2 * x for x in xs if x > 0 and x < 2 if x != 1]
    again = [x + 1 for x in kept if x < 3]
    inverse = sum(1 / x for x in xs if x != 0)
    return sum(kept) + rng.laplace(), len(kept), sum(again), len(again), inverse, len([y for y in xs if y > t]), x


def changed(rng, xs, epsilon, k: int):
    counts = [0] * (k + 1)
    noisy = np.zeros(3)
    for i, x in enumerate(xs):
        counts[i % (k + 1)] += x
        counts[-1] -= 1
    counts[0], counts[-1] = counts[-1], counts[0]
    for i in range(3):
        noisy[i] = counts[0] > i
        noisy[i] += rng.laplace()
    first = counts.pop(0)
    counts.append(9)
    counts.pop()
    return counts, noisy, first, tuple_of(rng, xs)


def tuple_of(rng, xs):
    return sum([x for x in xs if x > 1]) + rng.laplace(), len(xs)


def public_lists(rng, xs, epsilon, edges: list[float], places: list[int]):
    out = [sum(x < edge for x in xs) + rng.laplace(0, 1) for edge in edges]
    for place in places:
        if 0 <= place < len(xs):
            out.append(xs[place])
    return out, len(places), sum(edges)


def one_value(rng, bit: int, epsilon, k: int):
    coins = rng.random(k) < 0.25
    return bit if rng.random() < 0.5 else 1 - bit, np.where(coins, bit, 0)


FORMS = [noisy_places, arrays, helpers, slices, filters, changed, public_lists, one_value]


@pytest.mark.parametrize("function", FORMS)
def test_the_reading_gives_what_the_function_gives(function):
    program = program_of(function)
    problem = Problem("all_queries", parameters=program.parameters, single=program.single)
    rng = np.random.default_rng(5)
    failed = 0
    for data, parameters in inputs_like(problem, rng, 40):
        assert conforms(function, program, data, parameters, rng) == ""
        with contextlib.suppress(Exception):
            function(rng, data, **parameters)
            failed -= 1
    assert failed < -10, "the function hardly ever runs"


def test_another_text_is_noticed():
    program = program_of(noisy_places)
    rng = np.random.default_rng(5)
    said = []
    for before, after in (
        (">= limit", "< limit"),
        ("4 * c", "2 * c"),
        ("% 3", "% 2"),
        (", 1)", ", 2)"),
        ("        if count >= c:\n            break\n", ""),
        ("return places, best", "return best, places"),
        ("rng.random() > 0.25", "rng.random() > 0.75"),
    ):
        assert before in program.text
        other = Program(program.text.replace(before, after), program.entry, program.parameters, "", program.places)
        runs = [conforms(noisy_places, other, [2.0, -1.0, 3.0], {"epsilon": 1.0, "c": 2}, rng) for _ in range(30)]
        assert any(runs), before
        said += runs
    assert any("draw" in each for each in said)
    assert any("returns" in each for each in said)


def test_a_run_that_fails_conforms_to_a_reading_that_fails():
    def third(rng, data):
        return data[2]

    program = Program("def third(rng, data):\n    return data[2]\n", "third", {}, "", ())
    assert conforms(third, program, [1], {}, np.random.default_rng(0)) == ""
    assert conforms(third, program, [1, 2, 3], {}, np.random.default_rng(0)) == ""
    longer = Program("def third(rng, data):\n    return data[3]\n", "third", {}, "", ())
    assert "IndexError" in conforms(third, longer, [1, 2, 3], {}, np.random.default_rng(0))


def test_inputs_meet_the_assumptions_and_bounds():
    problem = Problem(
        "all_queries",
        bounds=("0", "k - 1"),
        values="int",
        parameters={"k": "int", "x": "real"},
        assume=("k >= 3", "x < 1"),
    )
    found = list(inputs_like(problem, np.random.default_rng(1), 50))
    assert all(each["k"] >= 3 and each["x"] < 1 for _, each in found)
    assert {value for data, _ in found for value in data} == {0, 1, 2, 3}
    with pytest.raises(InvalidInput, match="k < 0"):
        list(
            inputs_like(Problem("all_queries", parameters={"k": "int"}, assume=("k < 0",)), np.random.default_rng(1), 1)
        )


def test_small_parameters_are_tried_too():
    """A claim for small epsilon alone, as many are, is no error."""
    problem = Problem("one_query", parameters={"epsilon": "real"}, assume=("epsilon > 0", "epsilon <= 1/100"))
    assert len(list(inputs_like(problem, np.random.default_rng(1), 20))) == 20
