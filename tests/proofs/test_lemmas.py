"""Each lemma is accepted, and rejected once its bound is tightened or a hypothesis is dropped."""

import re

import pytest

from dpassay.proofs import lemmas
from dpassay.proofs.decisions import objections
from dpassay.proofs.notation import formula, identity, possible, proof, smt
from dpassay.replay import Rejected, check


def test_contradicting_hypotheses_prove_nothing():
    with pytest.raises(Rejected, match="satisfiable"):
        check(**proof("vacuous", smt("vacuous", "x > 0, x < 0", "x == 1")))


def test_a_model_must_satisfy_its_hypotheses():
    with pytest.raises(Rejected, match="does not satisfy"):
        check(**proof("no model", possible("no model", "x > 1", "x = 1")))


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
    good = proof("fine", lemmas.SUM_KEEPS_RATIO)
    bad = proof("wrong", identity("wrong", "x == 2 * x"))
    assert objections(good) == ""
    assert "not an identity" in objections(good, bad)
