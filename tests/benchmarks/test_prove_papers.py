"""The papers' mechanisms as programs: what `dp.prove` says agrees with the reviewed verdicts on the claims."""

import dataclasses

import pytest

import dpassay as dp
from dpassay.benchmarks import prove as bench
from dpassay.benchmarks.prove_programs.papers import BEYOND, JUDGED
from dpassay.core.registry import expected_outcomes

QUICK = ("RC-IND2", "RC-IND3", "PP-DP", "PP-PNCF-NOT", "XM-T1", "XM-T1-REL", "XM-T1-COMP", "DP-INF")
PROVED = ("RC-T1", "RC-SLACK", "PP-DP-REP", "XM-T1-REP", "CD-SJLT-REP")


def first(claim):
    return next(judged for judged in JUDGED if judged.claim == claim)


@pytest.mark.parametrize("claim", QUICK)
def test_programs_are_refuted_as_the_verdict_on_the_claim_says(claim):
    agrees(claim)


@pytest.mark.parametrize("claim", PROVED)
def test_programs_are_proved_as_the_verdict_on_the_claim_says(claim):
    agrees(claim)


def agrees(claim):
    judged = first(claim)
    said = dp.prove(judged.program.function, **bench._stated(judged.program), radius=judged.radius)
    assert said.outcome == judged.program.outcome
    assert judged.agrees(said.outcome) == "yes"


@pytest.mark.parametrize("judged", JUDGED, ids=lambda judged: f"{judged.claim}-{judged.program.name}")
def test_one_outcome_agrees_and_the_other_contradicts(judged):
    assert judged.verdict in ("holds", "refuted")
    assert {judged.agrees("holds"), judged.agrees("refuted")} == {"yes", "no"}
    assert judged.agrees(judged.program.outcome) == "yes"
    assert judged.agrees("open") == ""


def test_a_verdict_that_contradicts_fails():
    rows = [
        (judged.program, bench.Measured({"holds": "refuted", "refuted": "holds"}[judged.program.outcome], 1.0))
        for judged in JUDGED
    ]
    assert {row[-1] for row in bench._papers_table(rows).rows} == {"FAIL"}
    opened = [(program, dataclasses.replace(measured, outcome="open")) for program, measured in rows]
    assert {row[-1] for row in bench._papers_table(opened).rows} == {"open"}


def test_what_cannot_be_asked_names_claims_that_there_are():
    known = expected_outcomes()
    for names in BEYOND:
        for name in names.partition(" for ")[0].split(", "):
            assert name in known
