"""What a statement repeats of a certificate reads as what was checked."""

from collections.abc import Mapping
from typing import Any

import pytest

import dpassay as dp
from dpassay.prover import proving
from dpassay.replay import Rejected, computed
from dpassay.replay.statement_text import assumptions, listed, repeated


def noisy_total(rng, data, epsilon, c: int):
    return sum(data) + rng.laplace(0, c / epsilon)


def fraction(data, low, high):
    return sum(min(max(x, 0), 1) for x in data) / len(data)


@pytest.mark.parametrize("text", ["epsilon", "2*epsilon/3", "log(1 + epsilon) ** 2", "len(data) >= 1", "ε", 1, 0.5])
def test_expressions_are_repeated_as_they_are(text):
    assert repeated(text) == str(text)


@pytest.mark.parametrize(
    "text",
    [
        "epsilon # / 1000",
        "epsilon\n",
        "epsilon \x1b[1D",
        "ｅpsilon",
        "'epsilon'",
        "a; b",
        "[0]",
        "",
        True,
        None,
        {"0": 1},
    ],
)
def test_what_reads_as_something_else_is_refused(text):
    with pytest.raises(Rejected, match="cannot repeat"):
        repeated(text)


def test_conditions_bind_before_they_are_joined():
    assert assumptions(["True or epsilon < 0", "c >= 1", "0 < a < b"]) == [
        "(True or epsilon < 0)",
        "c >= 1",
        "0 < a < b",
    ]
    for no_list in ("c >= 1", {"c >= 1": 1}, None):
        with pytest.raises(Rejected, match="give a list"):
            listed(no_list, "assume")


@pytest.fixture(scope="module")
def proof() -> Mapping[str, Any]:
    found = proving.run_proof(noisy_total, relation="one_query", assume=["c >= 1"]).certificate
    assert found is not None
    assert found["kind"] == "alignment"
    computed("alignment", found["inputs"])
    inputs: Mapping[str, Any] = found["inputs"]
    return inputs


@pytest.mark.parametrize(
    "changed",
    [
        {"assume": ["epsilon > 0 #", "c >= 1"]},
        {"assume": {"epsilon > 0": 1, "c >= 1": 2}},
        {"claim": {"notion": "epsilon", "bound": "# epsilon/1000)-differentially private\nepsilon"}},
        {"claim": {"notion": "epsilon", "bound": "epsilon # / 1000"}},
        {"claim": {"notion": "epsilon", "bound": "epsilon #\x1b[1D/1000"}},
        {"relation": {"kind": "one_query", "radius": "1", "bounds": {"0": "-100", "1": "100"}}},
        {"relation": {"kind": "one_query", "radius": "1", "bounds": "01"}},
        {"relation": {"kind": "one_query", "radius": 0}},
    ],
)
def test_a_proof_states_no_more_than_was_proved(proof, changed):
    with pytest.raises(Rejected):
        computed("alignment", {**proof, **changed})


def test_an_assumption_with_or_keeps_its_meaning(proof):
    stated = computed("alignment", {**proof, "assume": ["True or epsilon < 0", "c >= 1", "epsilon > 0"]})["statement"]
    assert stated.endswith("if (True or epsilon < 0) and c >= 1 and epsilon > 0")


@pytest.mark.parametrize(
    "changed",
    [
        {"bound": "1/n # / 1000"},
        {"assume": ["low < high # and n > 3"]},
        {"assume": {"low < high": 1}},
        {"relation": {"kind": "replace_one:entry", "bounds": {"0": "-100", "1": "100"}}},
    ],
)
def test_a_sensitivity_states_no_more_than_was_proved(changed):
    found = dp.sensitivity(fraction, relation="replace_one:entry", assume=["low < high"])
    assert found.certificate is not None
    inputs = found.certificate["inputs"]
    computed("sensitivity", inputs)
    with pytest.raises(Rejected):
        computed("sensitivity", {**inputs, **changed})
