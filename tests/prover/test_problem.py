"""What is to be proved, from the call and from the decorator."""

from typing import Any

import pytest

import dpassay as dp
from dpassay.prover.problem import RELATIONS, Problem, mechanism_function, problem_of
from dpassay.prover.program_text import program_of


@mechanism_function(relation="all_queries", epsilon="2 * epsilon", assume=["c >= 1"])
def decorated(rng: Any, queries: list[int], epsilon: float, c: int) -> Any:
    return queries[0] + rng.laplace(0, c / epsilon)


def _stated(**given: Any) -> Problem:
    return problem_of(decorated, program_of(decorated), **given)


def test_the_call_goes_before_the_decorator() -> None:
    parameters = {"epsilon": "real", "c": "int"}
    stated = Problem(
        "all_queries", values="int", bound="2 * epsilon", parameters=parameters, assume=("epsilon > 0", "c >= 1")
    )
    assert _stated() == stated
    other = _stated(relation="replace_one:entry", epsilon=0.1, bounds=(0, "c"), assume="epsilon <= 1")
    assert (other.relation, other.bound, other.bounds) == ("replace_one:entry", "1/10", ("0", "c"))
    assert other.assume == ("epsilon > 0", "c >= 1", "epsilon <= 1")  # epsilon is positive where the bound is a number
    assert _stated(assume="epsilon >= 1/10").assume == ("c >= 1", "epsilon >= 1/10")
    assert _stated(assume="(epsilon # the budget\n>= 1/10)").assume == ("c >= 1", "epsilon >= 1 / 10")
    assert _stated(assume="epsilon <= 1/10").assume == ("epsilon > 0", "c >= 1", "epsilon <= 1/10")
    assert other.neighbors() == "one entry of the list is replaced; entries are integers between 0 and c"


def test_claims_of_other_notions() -> None:
    claimed = _stated(claim=dp.PrivacyClaim.zcdp("epsilon * epsilon / 2"))
    assert (claimed.notion, claimed.bound) == ("zcdp", "epsilon * epsilon / 2")
    assert _stated(claim=dp.PrivacyClaim.zcdp(0.5)).bound == "1/2"
    claimed = _stated(claim=dp.PrivacyClaim.gaussian("2 * epsilon"))
    assert (claimed.notion, claimed.bound) == ("gaussian", "2 * epsilon")
    assert (claimed.accounted.notion, claimed.accounted.bound) == ("zcdp", "(2 * epsilon)**2 / 2")
    assert str(dp.PrivacyClaim.gaussian("mu")) == "(mu)-GDP"
    assert _stated(claim=dp.PrivacyClaim.gaussian(0.5)).bound == "1/2"
    with pytest.raises(dp.InvalidInput, match=r"only dp\.prove takes"):
        dp.audit(decorated, [1], [0], claim=dp.PrivacyClaim.zcdp("epsilon"))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"relation": "some"}, "choose one_query"),
        ({"epsilon": "x"}, "x is no public parameter"),
        ({"epsilon": "c > 1"}, "a number or a formula"),
        ({"epsilon": "print(c)"}, "print is no public parameter"),
        ({"epsilon": "[c]"}, "use numbers"),
        ({"epsilon": "c c"}, "no expression"),
        ({"epsilon": "True"}, "no number"),
        ({"epsilon": float("nan")}, "no finite number"),
        ({"assume": "c"}, "a condition"),
        ({"claim": dp.PrivacyClaim(1.0, 1e-5)}, "not proved yet"),
        ({"claim": dp.PrivacyClaim(1.0), "epsilon": 1.0}, "both given"),
    ],
)
def test_what_is_no_problem_is_refused(given: Any, reason: str) -> None:
    with pytest.raises(dp.InvalidInput, match=reason):
        _stated(**given)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"radius": 0}, "more than 0"),
        ({"radius": "-1"}, "more than 0"),
        ({"relation": "replace_one:entry", "bounds": (1, 0)}, "least first"),
        ({"epsilon": "9 ** 9 ** 9 ** 9"}, "exponent"),
        ({"epsilon": "epsilon ** 99999999999"}, "exponent"),
        ({"epsilon": "1 / 0"}, "1 / 0 has no value"),
        ({"epsilon": "epsilon * sqrt(0 - 1)"}, "no value"),
        ({"epsilon": "exp(exp(100000))"}, "no value"),
        ({"epsilon": "1e400 * epsilon"}, "no value"),
    ],
)
def test_what_leaves_nothing_to_prove_is_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(dp.InvalidInput, match=reason):
        _stated(**given)


def test_what_a_proof_is_for_is_a_sentence() -> None:
    assert (
        Problem("all_queries").proved_for()
        == "lists of numbers of any length of which every entry changes by at most 1"
    )
    added = Problem("add_or_remove_one:entry", bounds=("0", "1")).proved_for()
    assert (
        added
        == "lists of numbers between 0 and 1 of any length to which one entry is added or from which one is removed"
    )
    assert Problem("replace_one:entry", single=True).proved_for() == "numbers, where the value is any other"
    for relation in RELATIONS:
        assert "{" not in Problem(relation).proved_for()
