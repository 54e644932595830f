"""Functions that were not in view of the prover: the corpus, what brute force says of it, and what counts as wrong."""

import inspect
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from dpassay.benchmarks import prove, sensitivity
from dpassay.benchmarks.sensitivity import QUERIES, Answer, answered, mistaken, verdict
from dpassay.benchmarks.sensitivity_functions import ADDED, Query, clip_after_the_mean, distinct, imbalance, median

BY_NAME = {query.function.__name__: query for query in QUERIES}
OF_EACH_KIND = ("mean_or_zero", "clipped_total_two_sided", "trimmed_mean", "seen_once", "harmonic_mean", "growth")
DATASETS = 60


def test_there_are_enough_functions_and_three_in_five_claims_hold():
    assert len(BY_NAME) == len(QUERIES) >= 64
    assert 0.55 < sum(query.holds for query in QUERIES) / len(QUERIES) < 0.65
    assert {ADDED, "replace_one:entry"} == {query.relation for query in QUERIES}
    assert all(inspect.getdoc(query.function) for query in QUERIES)
    assert all((query.claim == query.truth) == query.holds for query in QUERIES)


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_what_is_decided_is_decided_rightly(name):
    query = BY_NAME[name]
    assert mistaken(query, DATASETS) == ""
    answer = answered(query)
    assert (answer.said, verdict(query, answer)) == ("holds" if query.holds else "refuted", "pass")


def test_brute_force_finds_mistaken_truths_and_labels():
    right = Query(distinct, "1", "1", True)
    assert mistaken(right, DATASETS) == ""
    assert "more than 1/2" in mistaken(replace(right, truth="1/2"), DATASETS)
    assert "does not reach 2" in mistaken(replace(right, truth="2"), DATASETS)
    assert "does not exceed" in mistaken(replace(right, holds=False), DATASETS)
    assert "brute force exceeds" in mistaken(Query(imbalance, "2", "1", True, parameters=({"t": 0.5},)), DATASETS)


def test_contradictions_crashes_and_pairs_that_exceed_nothing_fail():
    true, false = BY_NAME["trimmed_mean"], BY_NAME["winsorized_mean"]
    assert verdict(true, Answer("refuted", 0)) == verdict(false, Answer("holds", 0)) == "FAIL"
    assert verdict(true, Answer("error", 0)) == verdict(false, Answer("refuted", 0, confirmed=False)) == "FAIL"
    assert verdict(true, Answer("holds", 0, mistaken="a pair")) == "FAIL"
    assert verdict(true, Answer("refused", 0)) == verdict(false, Answer("open", 0)) == "open"


def test_a_witness_is_run():
    def found(*entries):
        one, other = ([Fraction(entry) for entry in data] for data in entries)
        return SimpleNamespace(witness=SimpleNamespace(dataset1=one, dataset2=other, parameters={}))

    assert sensitivity.exceeds(Query(median, "1", "1/n", False), found([0, 0, 1], [0, 1, 1]))
    assert not sensitivity.exceeds(Query(median, "1", "1/n", False), found([0, 0], [0, "1/2"]))
    assert sensitivity.exceeds(Query(clip_after_the_mean, "1", "1/n", False, bounds=None), found([0, 0], [0, 2]))


def test_an_exception_or_a_refusal_is_no_answer(monkeypatch):
    query = BY_NAME["trimmed_mean"]
    for raised, said in ((sensitivity.InvalidInput("no"), "refused"), (ValueError("bad"), "error")):
        monkeypatch.setattr(sensitivity, "sensitivity", lambda *_, raised=raised, **__: (_ for _ in ()).throw(raised))
        assert answered(query).said == said


def test_the_table_counts_what_is_wrong(monkeypatch):
    said = {
        0: Answer("holds", 1.0),
        1: Answer("holds", 2.0),
        2: Answer("open", 0.5, f"{sensitivity.FOLDER}here:3: not"),
    }
    monkeypatch.setattr(sensitivity, "QUICK", 3)
    monkeypatch.setattr(sensitivity, "judged", said.get)
    (table,) = prove.tables(True, 0, lambda _: None, ("sensitivity",))
    assert [row[-1] for row in table.rows] == ["FAIL", "pass", "FAIL", "open"]
    assert table.rows[0][:6] == ["all 3", "", "", "1 hold, 2 do not", "2 decided (67%), 1 wrong", 3.5]
    assert table.rows[3][6] == "here:3: not"
