"""Wrong mechanisms are refuted with small witnesses from the function itself; right ones are not, at any loss."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpassay.core.errors import InvalidInput
from dpassay.prover.problem import Problem
from dpassay.prover.refuter import Refuter, find_refutation, largest_loss, reproduction_code
from dpassay.replay import Rejected, check, computed
from dpassay.replay.linear_forms import Form, Run, Unsupported, number, paths
from dpassay.replay.symbolic_generator import SymbolicGenerator

SECONDS = 3.0


def sparse_vector(rng, queries, epsilon, c: int, factor):
    answers = []
    count = 0
    limit = rng.laplace(0, 2 / epsilon)
    for query in queries:
        if query + rng.laplace(0, factor * c / epsilon) >= limit:
            answers.append(True)
            count += 1
            if count >= c:
                break
        else:
            answers.append(False)
    return answers


def noisy_argmax(rng, scores, epsilon):
    return int(np.argmax(np.asarray(scores) + rng.laplace(scale=1 / epsilon, size=len(scores))))


def two_sums(rng, values, epsilon):
    noise = rng.laplace(0, 2 / epsilon)
    return sum(values) + noise, 2 * sum(values) + noise


def randomized_response(rng, bits: list[int], epsilon):
    p = 1 - math.exp(-epsilon) / 4
    return [bit if rng.random() < p else 1 - bit for bit in bits]


def counted(rng, values, epsilon):
    p = 1 - math.exp(-2 * epsilon)
    return len(values) + (rng.geometric(p) - rng.geometric(p))


def gaussian_sum(rng, values, rho):
    return sum(values) + rng.normal(0, 1 / (2 * math.sqrt(rho)))


def clipped_sum(rng, values, epsilon, bound):
    return np.clip(values, -bound, bound).sum() + rng.laplace(0, bound / epsilon)


def noisy_sum(rng, values, epsilon):
    return sum(values) + rng.laplace(0, 1 / epsilon)


def exact(rng, values, epsilon):
    return sum(values)


def of(function: Callable[..., Any], relation: str, **fields: Any) -> tuple[Callable[..., Any], Problem]:
    names = list(function.__annotations__ and function.__code__.co_varnames[: function.__code__.co_argcount])
    names = names or list(function.__code__.co_varnames[: function.__code__.co_argcount])
    sorts = {name: "int" if function.__annotations__.get(name) is int else "real" for name in names[2:]}
    return function, Problem(relation, **{"parameters": sorts, "assume": (f"{names[2]} > 0",), **fields})


REFUTED = {
    "half noise": (*of(noisy_argmax, "all_queries"), 1.0),
    "same noise": (*of(two_sums, "one_query"), math.inf),
    "loud coin": (*of(randomized_response, "replace_one:entry", bounds=("0", "1"), values="int"), 1.0),
    "integers": (*of(counted, "add_or_remove_one:entry"), 1.0),
    "zcdp": (*of(gaussian_sum, "one_query", notion="zcdp", bound="rho"), 1.0),
    "gaussian": (*of(gaussian_sum, "one_query", notion="gaussian", bound="rho"), 0.25),
    "clipped": (*of(clipped_sum, "replace_one:entry", assume=("epsilon > 0", "bound > 0")), 1.0),
    "no noise": (*of(exact, "one_query"), math.inf),
}


@pytest.mark.parametrize("name", REFUTED)
def test_wrong_mechanisms_are_refuted(name: str) -> None:
    function, problem, least = REFUTED[name]
    found = find_refutation(function, problem, SECONDS)
    assert found.inputs is not None, found.tried
    result = check("integration", found.inputs)
    assert result["supports"] == "refuted"
    assert found.loss > found.bound or found.loss == math.inf
    assert found.loss >= least
    assert max(len(found.data1), len(found.data2)) <= 2  # the smallest there is
    if problem.notion == "epsilon" and found.loss < math.inf:
        assert float(result["log_ratio"][0]) == pytest.approx(found.loss)


def test_sparse_vector_at_the_right_and_at_half_the_noise() -> None:
    parameters = {"epsilon": "real", "c": "int", "factor": "real"}
    assume = ("epsilon > 0", "c >= 1")
    wrong = Problem("all_queries", parameters=parameters, assume=(*assume, "factor == 2"))
    found = find_refutation(sparse_vector, wrong, SECONDS)
    assert found.inputs is not None
    assert len(found.data1) == 3
    right = Problem("all_queries", parameters=parameters, assume=(*assume, "factor == 2"), bound="2 * epsilon")
    held = largest_loss(sparse_vector, right, 1)
    assert held.inputs is None
    assert 0.5 < held.loss / held.bound <= 1
    assert "pairs of inputs of length" in held.tried


def test_right_mechanisms_reach_their_claim_and_no_more() -> None:
    function, problem = of(noisy_sum, "one_query")
    found = largest_loss(function, problem, 0.3)
    assert found.inputs is None
    assert found.loss == pytest.approx(found.bound)
    assert find_refutation(function, problem, 0.3).inputs is None


def test_a_loss_above_the_claim_that_the_checker_does_not_confirm_was_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    def rejected(kind: str, inputs: Any) -> Any:
        raise Rejected("not today")

    monkeypatch.setattr("dpassay.prover.refuter.computed", rejected)
    function, problem, _ = REFUTED["half noise"]
    found = largest_loss(function, problem, 0.5)
    assert "not confirmed from the program's text: not today" in found.tried
    assert found.inputs is None
    assert found.loss <= found.bound


def test_outputs_that_floats_round_are_one_output() -> None:
    def unbiased(rng, bits: list[int], epsilon):
        p = 1 / (1 + math.exp(-epsilon))
        count = 0
        for bit in bits:
            count += bit if rng.random() < p else 1 - bit
        return (count - len(bits) * (1 - p)) / (2 * p - 1)

    found = largest_loss(*of(unbiased, "replace_one:entry", bounds=("0", "1"), values="int"), 1)
    assert "not confirmed" not in found.tried
    assert found.loss == pytest.approx(found.bound)


def test_noise_that_divides_leaves_the_other_paths() -> None:
    def shares(rng, counts, epsilon):
        noisy = np.maximum(np.asarray(counts) + rng.laplace(0, 1 / (2 * epsilon), size=len(counts)), 0)
        return noisy / max(noisy.sum(), 1)

    def mean(rng, values, epsilon):
        return sum(min(max(value, 0), 1) for value in values) / max(len(values) + rng.laplace(0, 2 / epsilon), 1)

    for function, relation in ((shares, "one_query"), (mean, "add_or_remove_one:entry")):
        found = find_refutation(*of(function, relation), SECONDS)
        assert found.inputs is not None
        assert computed("integration", found.inputs)["log_ratio"]


def test_noise_divides_its_own_multiples_alone() -> None:
    run = Run()
    one, two = run.laplace(1), run.laplace(1)
    assert [(3 * one) / one, Form(number(0)) / two, (2 * one + 4) / (one + 2)] == [3, 0, 2]
    for numerator, divisor in ((one, two), (1, one), (one + 1, one), (one + two, one)):
        with pytest.raises(Unsupported, match="divides"):
            numerator / divisor

    def ratio(run: Run) -> Any:
        noise = run.two_sided_geometric(number(Fraction(1, 2)))
        try:
            return 2 * noise / noise
        except ZeroDivisionError:
            return "zero"

    assert {str(path.output) for path in paths(ratio, 9)} == {"2", "zero"}  # integers may be 0


def test_a_loss_at_small_claims_alone() -> None:
    def lying(rng, bits: list[int], epsilon):
        return [bit if rng.random() < math.exp(epsilon) / (2 + math.exp(epsilon)) else 1 - bit for bit in bits]

    found = find_refutation(*of(lying, "replace_one:entry", bounds=("0", "1"), values="int"), SECONDS)
    assert found.values == {"epsilon": "1/10"}


def test_a_cache_that_forgets_its_noise_is_refuted() -> None:
    def cached(rng, counts, epsilon, asked: list[int]):
        cache = {}
        for cell in asked:
            if cell not in cache:
                cache[cell] = counts[cell] + rng.laplace(0, 1 / (2 * epsilon))
        return [cache.get(cell, 0) for cell in asked]

    parameters = {"epsilon": "real", "asked": "list[int]"}
    problem = Problem("one_query", parameters=parameters, assume=("epsilon > 0",))
    assert find_refutation(cached, problem, SECONDS).inputs is not None


def test_what_cannot_be_followed_is_said() -> None:
    def squares(rng, values, epsilon):
        return rng.laplace(0, 1 / epsilon) ** 2

    found = find_refutation(*of(squares, "one_query"), 0.2)
    assert found.inputs is None
    assert "not a number without noise" in found.tried


def test_the_code_counts_the_event() -> None:
    function, problem, _ = REFUTED["half noise"]
    inputs = find_refutation(function, problem, SECONDS).inputs
    assert inputs is not None
    code = reproduction_code(inputs)
    printed: list[Any] = []
    exec(
        code.replace("100_000", "3_000"), {"noisy_argmax": noisy_argmax, "print": lambda *words: printed.append(words)}
    )
    (_, first), (_, second) = printed
    result = check("integration", inputs)
    assert first == pytest.approx(float(Fraction(result["probability1"][0])), abs=0.06)
    assert second == pytest.approx(float(Fraction(result["probability2"][0])), abs=0.06)


def test_floats_are_read_in_the_search_only() -> None:
    assert number(0.5) is None
    find_refutation(*REFUTED["loud coin"][:2], SECONDS)
    assert number(0.5) is None


def test_numpy_runs_on_symbolic_noise() -> None:
    def program(run: Run) -> Any:
        rng = SymbolicGenerator(run)
        noisy = np.array([0, 1]) + rng.laplace(0, [1, 2], size=2)
        sums = np.cumsum(noisy)
        clipped = np.clip(sums, 0, 1)
        return int(np.argmax(noisy)), np.where(clipped > 0, 1, 0).tolist(), bool(np.sort(noisy)[0] == noisy[0])

    found = [path.output for path in paths(program, 100)]
    assert len(found) > 4
    assert {output[0] for output in found} == {0, 1}


def test_values_are_taken_from_the_assumptions() -> None:
    function, problem = of(noisy_sum, "one_query", bound="epsilon / 2", assume=("epsilon > 0", "epsilon <= 0.01"))
    inputs = find_refutation(function, problem, SECONDS).inputs
    assert inputs is not None
    assert Fraction(inputs["values"]["epsilon"]) <= Fraction(1, 100)


def test_a_claim_without_a_value_is_said() -> None:
    with pytest.raises(InvalidInput, match="no value: division by zero, at epsilon = 1"):
        find_refutation(*of(noisy_sum, "one_query", bound="1 / (epsilon - epsilon)"))


def test_a_search_goes_on_where_it_stopped() -> None:
    refuter = Refuter(*of(sparse_vector, "all_queries", assume=("epsilon > 0", "c >= 1", "factor >= 4")))
    first = refuter.search(0.1)
    pairs = len(refuter.seen)
    assert first.inputs is None
    refuter.search(0.1)
    assert len(refuter.seen) > pairs > 0


def zeroed(rng, values, epsilon):
    out = np.zeros(len(values))
    out += np.asarray(values) + rng.laplace(0, 1 / (2 * epsilon), size=len(values))
    return out.tolist()


def two_failures(rng, counts: list[int], epsilon):
    p = 1 - math.exp(-epsilon)
    return sum(counts) + rng.geometric(p) + rng.geometric(p)


def test_arrays_of_floats_and_single_geometric_draws_are_followed() -> None:
    assert find_refutation(*of(zeroed, "one_query"), SECONDS).loss == pytest.approx(2)
    assert find_refutation(*of(two_failures, "one_query", values="int"), SECONDS).inputs is not None
