"""The checker's reading of a program gives what the program gives from the same noise."""

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


@pytest.mark.parametrize("function", [noisy_places, arrays, helpers])
def test_the_reading_gives_what_the_function_gives(function):
    program = program_of(function)
    problem = Problem("all_queries", parameters=program.parameters)
    rng = np.random.default_rng(5)
    for data, parameters in inputs_like(problem, rng, 40):
        assert conforms(function, program, data, parameters, rng) == ""


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
