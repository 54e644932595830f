"""DPriv-Bench: what the benchmark says, our functions, and what is decided of them."""

import json
import math

import pytest

from dpassay.benchmarks import dpriv
from dpassay.benchmarks.dpriv_functions import FUNCTIONS
from dpassay.prover.sensitivity.deciding import sensitivity
from tests.conftest import DATA

FILE = DATA / "dpriv-bench" / "functions.json"
KINDS = [9, 16, 21, 26, 35, 41, 44, 45]  # one of each kind: smooth sums, order, pairs, outer functions, ratios, places


@pytest.mark.realdata
@pytest.mark.skipif(not FILE.exists(), reason="the benchmark's list of functions is not there")
def test_our_sensitivities_are_the_stated_ones():
    stated = {each["function_id"]: each["stated_sensitivity"] for each in json.loads(FILE.read_text())}
    assert sorted(stated) == sorted(FUNCTIONS)
    names = {"n": 7, "e": math.e, "pi": math.pi, "log": math.log, "sqrt": math.sqrt, "exp": math.exp}
    for number, (_, ours) in FUNCTIONS.items():
        theirs = stated[number].replace("e^{-1}", "exp(-1)").replace("\\delta", "delta").replace("2n", "2*n")
        theirs = theirs.replace("2(", "2*(")
        values = [eval(text, {"__builtins__": {}}, {**names, "delta": 2}) for text in (theirs, ours)]
        assert values[0] == pytest.approx(values[1]), number


def test_questions_are_decided_as_labelled_with_a_proof_or_a_witness():
    table = dpriv.run(numbers=KINDS)
    assert (table["questions"], table["decided"], table["wrong"]) == (96, 96, 0)
    assert all(row["because"] and "loss" in row["witness"] for row in table["rows"])


@pytest.mark.parametrize("number", KINDS)
def test_no_bound_is_proved_at_0_97_of_the_true_one(number):
    function, stated = FUNCTIONS[number]
    assert sensitivity(function, at_most=f"0.97*({stated})").outcome == "refuted"


def test_a_pair_short_of_the_sensitivity_refutes_nothing():
    function, _ = FUNCTIONS[1]
    assert not dpriv.attained(sensitivity(function, at_most="2"))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_probabilities_behind_half_the_noise(epsilon):
    """The closed forms beside a numerical integral of the winner's probability."""
    from scipy import integrate, stats

    for template, law in (("ExpoMech_pureDP", stats.gumbel_r), ("LaplaceRNM_pureDP", stats.laplace)):
        wins = [
            integrate.quad(lambda x, s=shift, f=law: f.pdf(x) * f.cdf(x + s) ** 2, -60, 60, points=[0, -shift])[0]
            for shift in (epsilon, -epsilon)
        ]
        e, q = math.exp(epsilon), math.exp(-epsilon)
        if template == "ExpoMech_pureDP":
            closed = [e / (e + 2), 1 / (1 + 2 * e)]
        else:
            closed = [1 - 7 * q / 12 - epsilon * q / 2 - q**2 / 12, 5 * q / 12 - q**2 / 12]
        assert wins == pytest.approx(closed, rel=1e-6)
        assert closed[0] / closed[1] > e
        assert dpriv.half_noise_violates(template)
