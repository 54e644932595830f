"""Each lemma is accepted, and rejected once its bound is tightened or a hypothesis is dropped."""

import re

import pytest

from dpassay.proofs import lemmas
from dpassay.proofs.notation import formula, identity, objections, possible, proof, smt
from dpassay.replay import Rejected, check

LEMMAS = {name: getattr(lemmas, name) for name in lemmas.__all__}


@pytest.mark.parametrize("name", LEMMAS)
def test_lemma_is_proved(name):
    result = check("proof", proof("a lemma", LEMMAS[name]))
    assert [step["name"] for step in result["steps"]] == [step["name"] for step in LEMMAS[name]]


# lemma, position of the step, and a conclusion just beyond the tight one
TOO_STRONG = [
    ("SUM_KEEPS_RATIO", 0, "X + x <= 99 / 100 * (r * (Y + y))"),
    ("PRODUCT_KEEPS_RATIO", 0, "P * p <= g * (Q * q)"),
    ("DRAW_KEEPS_RATIO", 0, "p <= 99 / 100 * r ** 2 * q"),
    ("DRAW_KEEPS_RATIO", 0, "p <= r * q"),
    ("ONE_SCORE_DRAW", 0, "p <= 99 / 100 * r * q"),
    ("ONE_SCORE_DRAW", 1, "p <= 99 / 100 * r * q"),
    ("POST_PROCESSING", 0, "p * kappa <= 99 / 100 * (r * (q * kappa))"),
    ("LAPLACE_DENSITY", 0, "abs(z - b) - abs(z - a) <= 99 / 100 * abs(a - b)"),
    ("LAPLACE_DENSITY", 1, "(abs(z - b) - abs(z - a)) / s <= 99 / 100 * abs(a - b) / s"),
    ("CAUCHY_SCHWARZ", 1, "dot + u * v <= 99 / 100 * M"),
    ("UNION_BOUND", 0, "after <= t * h"),
]


@pytest.mark.parametrize(("name", "position", "conclusion"), TOO_STRONG)
def test_a_constant_beyond_the_tight_one_is_rejected(name, position, conclusion):
    step = {**LEMMAS[name][position], "conclusion": formula(conclusion)}
    with pytest.raises(Rejected, match="not proved"):
        check("proof", proof("too strong", step))


@pytest.mark.parametrize(
    ("name", "position", "dropped"),
    [
        ("SUM_KEEPS_RATIO", 0, "x <= r * y"),
        ("DRAW_KEEPS_RATIO", 0, "Y <= r * X"),
        ("ONE_SCORE_DRAW", 0, "r >= 1"),
        ("ONE_SCORE_DRAW", 1, "y <= r * x"),
        ("POST_PROCESSING", 0, "p <= r * q"),
        ("LAPLACE_DENSITY", 1, "s > 0"),
        ("CAUCHY_SCHWARZ", 1, "0 <= dot <= A * B"),
        ("UNION_BOUND", 0, "0 <= chance <= h"),
    ],
)
def test_every_hypothesis_is_needed(name, position, dropped):
    step = LEMMAS[name][position]
    kept = [hypothesis for hypothesis in step["hypotheses"] if hypothesis != formula(dropped)]
    assert len(kept) == len(step["hypotheses"]) - 1
    with pytest.raises(Rejected, match="not proved"):
        check("proof", proof("a hypothesis less", {**step, "hypotheses": kept}))


def test_false_identities_are_rejected():
    for wrong in ("exp(t + u) == exp(t) + exp(u)", "(A + B) ** 2 == A ** 2 + B ** 2"):
        with pytest.raises(Rejected, match="not an identity"):
            check("proof", proof("false", identity("false", wrong)))


def test_contradicting_hypotheses_prove_nothing():
    with pytest.raises(Rejected, match="satisfiable"):
        check("proof", proof("vacuous", smt("vacuous", ["x > 0", "x < 0"], "x == 1")))


def test_a_model_must_satisfy_its_hypotheses():
    with pytest.raises(Rejected, match="does not satisfy"):
        check("proof", proof("no model", possible("no model", ["x > 1"], {"x": "1"})))


def test_notation():
    assert formula("not (a < b or a == -b)") == ["not", ["or", ["<", "a", "b"], ["=", "a", ["-", "b"]]]]
    assert formula("implies(a < b, x ** 2 <= max(a, 1))") == [
        "=>",
        ["<", "a", "b"],
        ["<=", ["^", "x", 2], ["max", "a", 1]],
    ]
    with pytest.raises(ValueError, match=re.escape("not a formula: a @ b")):
        formula("a @ b")


def test_a_lemma_used_twice_is_stated_once():
    assert proof("twice", lemmas.SUM_KEEPS_RATIO, lemmas.POST_PROCESSING) == proof(
        "twice", lemmas.SUM_KEEPS_RATIO, lemmas.POST_PROCESSING[0]
    )


def test_objections_lists_what_the_checker_rejects():
    good = {"kind": "proof", "inputs": proof("fine", lemmas.SUM_KEEPS_RATIO)}
    bad = {"kind": "proof", "inputs": proof("wrong", identity("wrong", "x == 2 * x"))}
    assert objections(good) == ""
    assert "not an identity" in objections(good, bad)
