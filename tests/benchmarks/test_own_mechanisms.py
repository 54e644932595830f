"""Black-box audits of the registered mechanisms: every one has a row, and audit, exact loss and verdicts agree."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from dpassay.auditors.exact import exact
from dpassay.benchmarks import own_mechanisms
from dpassay.benchmarks.own_mechanisms import CELLS, QUICK, Result, audit_subject, tables
from dpassay.benchmarks.own_pairs import SUBJECTS, Subject
from dpassay.core.registry import expected_outcomes
from dpassay.mechanisms import MECHANISMS

ALPHA = 1e-6
NAMES: dict[tuple[str, str], Subject] = {(subject.name, subject.representation): subject for subject in SUBJECTS}


def test_every_registered_mechanism_has_a_row() -> None:
    listed = {(subject.id, subject.variant) for subject in SUBJECTS if subject.representation == "values"}
    assert listed == {(id, variant) for id, variants in MECHANISMS.items() for variant in variants}
    assert len(NAMES) == len(SUBJECTS)
    assert set(QUICK) <= {subject.name for subject in SUBJECTS}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: f"{subject.name}-{subject.representation}")
def test_rows_are_about_what_they_say(subject: Subject) -> None:
    """Datasets are neighbors under the claimed relation, and the decided claim exists and fits the true value."""
    claim, (first, second) = subject.audited_claim, subject.datasets()
    assert 0 < claim.epsilon < math.inf
    assert np.shape(first) == np.shape(second)
    if claim.relation is not None:
        assert claim.relation.changed(first, second)
    assert subject.decided in expected_outcomes() or not subject.decided
    if subject.decided:
        outcomes = set(expected_outcomes()[subject.decided].values())
        broken = {"holds"} if subject.breaks else {"refuted"}
        truth = math.inf if subject.beyond else subject.truth(subject)[0]
        assert outcomes == (broken if truth > claim.epsilon else {"holds"})


def test_every_refuted_privacy_claim_about_a_mechanism_has_a_row() -> None:
    refuted = {
        *("PP-EM", "PP-DP", "PP-MARG-INF", "XM-T1", "XM-T1-REL", "XM-GS-DEF", "XM-T1-COMP", "XM-T2-MAX", "XM-PNSA"),
        *("XM-PNSA-REL", "RC-IND2", "RC-IND3", "CD-T51", "CD-T52", "CD-T52-REL", "CD-SJLT", "CD-SJLT-REL"),
        *("PP-EXE", "XM-EXE", "RC-EXE", "CD-EXE", "DP-EXE"),
    }
    assert all(set(expected_outcomes()[id].values()) == {"refuted"} for id in refuted)
    assert refuted == {
        subject.decided
        for subject in SUBJECTS
        if subject.decided and set(expected_outcomes()[subject.decided].values()) == {"refuted"}
    }


@pytest.mark.parametrize("name", ["npns", "npns repaired", "prs, the sensitivity as defined", "dpp", "kdpp"])
def test_the_checker_and_the_enumeration_agree(name: str) -> None:
    subject = NAMES[name, "values"]
    epsilon, known_by = subject.truth(subject)
    assert known_by == "trusted checker"
    assert exact(subject.build(), *subject.datasets()).epsilon == pytest.approx(epsilon, rel=1e-9)


REFUTED = ["npns", "ppns", "jlt", "modified_laplace, one noise for all entries"]
SOUND = ["prs repaired", "randomized_response"]


@pytest.mark.parametrize("name", REFUTED + SOUND)
def test_audits_refute_what_is_broken_and_nothing_else(name: str) -> None:
    result = audit_subject(NAMES[name, "values"], failure_probability=ALPHA, num_samples=20_000, seed=1)
    assert result.refuted == (name in REFUTED)
    assert 0 < result.bound <= result.truth
    assert result.agreement == "yes"


def test_a_float_laplace_is_caught_by_its_bits() -> None:
    subject = NAMES["modified_laplace", "bits"]
    result = audit_subject(subject, failure_probability=ALPHA, num_samples=20_000, seed=1)
    assert result.refuted
    assert result.agreement == "yes"


def test_what_samples_cannot_see_is_said() -> None:
    subject = NAMES["dpp, jitter 1e-17", "bits"]
    result = audit_subject(subject, failure_probability=ALPHA, num_samples=5000)
    assert not result.refuted
    assert "beyond samples" in result.agreement
    assert "no event shows that much" in result.agreement
    assert "has 0.001" in dataclasses.replace(result, rarest_event=0.001).agreement


RIGHT = Result(NAMES["npns", "values"], 1.5, 1.6, "closed form", True, "refuted", 1000, 1.0, 0.01)
SOUND_ROW = Result(NAMES["randomized_response", "values"], 0.9, 1.0, "closed form", False, "holds", 1000, 1.0, 0.01)


@pytest.mark.parametrize(
    ("result", "changed", "says"),
    [
        (RIGHT, {}, "yes"),
        (SOUND_ROW, {}, "yes"),
        (RIGHT, {"bound": 1.7}, "NO: the bound exceeds the true value"),
        (RIGHT, {"refuted": False}, "NO: not refuted"),
        (RIGHT, {"verify": "holds"}, "NO: verify and the true value disagree"),
        (SOUND_ROW, {"refuted": True}, "NO: false alarm"),
        (SOUND_ROW, {"verify": "refuted"}, "NO: verify and the true value disagree"),
    ],
)
def test_what_is_wrong_is_called_wrong(result: Result, changed: dict[str, Any], says: str) -> None:
    assert dataclasses.replace(result, **changed).agreement == says


def test_tables_have_one_row_for_each_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_mechanisms, "QUICK", ("dpp_eigen",))
    told: list[str] = []
    values, bits = tables(True, 0, told.append)
    assert [row[0] for row in [*values.rows, *bits.rows]] == told == ["dpp_eigen", "modified_laplace"]
    for table in (values, bits):
        assert table.columns == list(CELLS)
        assert all(len(row) == len(CELLS) and row[-1] == "yes" for row in table.rows)
