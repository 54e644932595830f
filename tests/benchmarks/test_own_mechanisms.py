"""Black-box audits of the registered mechanisms: every one has a row, and audit, exact loss and verdicts agree."""

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpassay as dp
from dpassay.auditors.exact import exact
from dpassay.benchmarks.own_mechanisms import COLUMNS, QUICK, audit_subject, tables
from dpassay.benchmarks.own_pairs import SUBJECTS, Subject
from dpassay.mechanisms import MECHANISMS
from dpassay.verification import expected_outcomes

ALPHA = 1e-6
NAMES = {(subject.name, subject.representation): subject for subject in SUBJECTS}


def named(name: str, representation: str = "values") -> Subject:
    return NAMES[name, representation]


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
        *("PP-EM", "PP-DP", "PP-MARG", "XM-T1", "XM-T1-REL", "XM-GS-DEF", "XM-T1-COMP", "XM-T2-MAX", "XM-PNSA"),
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
    subject = named(name)
    epsilon, known_by = subject.truth(subject)
    assert known_by == "trusted checker"
    assert exact(subject.build(), *subject.datasets()).epsilon == pytest.approx(epsilon, rel=1e-9)


REFUTED = ["npns", "ppns", "prs released", "jlt", "sjlt released", "modified_laplace, one noise for all entries"]
SOUND = ["prs repaired", "randomized_response", "dpp_eigen"]


@pytest.mark.parametrize("name", REFUTED + SOUND)
def test_audits_refute_what_is_broken_and_nothing_else(name: str) -> None:
    result = audit_subject(named(name), failure_probability=ALPHA, num_samples=20_000, seed=1)
    assert result.refuted == (name in REFUTED)
    assert 0 < result.bound <= result.truth
    assert result.agreement == "yes"


def test_a_float_laplace_is_caught_by_its_bits() -> None:
    result = audit_subject(named("modified_laplace", "bits"), failure_probability=ALPHA, num_samples=20_000, seed=1)
    assert result.refuted
    assert result.agreement == "yes"


@pytest.mark.parametrize(
    ("name", "says"),
    [("dpp, jitter 1e-17", "no event shows that much"), ("npns repaired", "rarest that would be caught")],
)
def test_what_samples_cannot_see_is_said(name: str, says: str) -> None:
    result = audit_subject(named(name, "bits"), failure_probability=ALPHA, num_samples=5000)
    assert not result.refuted
    assert "beyond samples" in result.agreement
    assert says in result.agreement


class TestMutations:
    """What is wrong is called wrong."""

    @staticmethod
    def agreement(name: str, **changed: Any) -> str:
        subject = dataclasses.replace(named(name), **changed)
        return audit_subject(subject, failure_probability=ALPHA, num_samples=10_000).agreement

    def test_a_bound_above_the_truth(self) -> None:
        stated = partial(lambda subject: (1.1, "closed form"))
        assert "exceeds" in self.agreement("npns", truth=stated)

    def test_a_false_alarm(self) -> None:
        weak = dp.PrivacyClaim(0.2)
        stated = partial(lambda subject: (0.2, "proof: at most"))
        assert "NO" in self.agreement("randomized_response", claim=weak, truth=stated, decided="")

    def test_a_violation_that_is_missed(self) -> None:
        stated = partial(lambda subject: (math.inf, "proof"))
        assert self.agreement("randomized_response", truth=stated, decided="") == "NO: not refuted"

    def test_a_verdict_that_contradicts(self) -> None:
        assert "verify" in self.agreement("randomized_response", decided="PP-DP")


def test_tables_have_one_row_for_each_audit() -> None:
    told: list[str] = []
    values, bits = tables(True, 0, told.append)
    assert [row[0] for row in values["rows"]] == [
        name for name in dict.fromkeys(s.name for s in SUBJECTS) if name in QUICK
    ]
    assert len(bits["rows"]) == 1
    assert told == [row[0] for row in values["rows"] + bits["rows"]]
    for table in (values, bits):
        assert table["columns"] == list(COLUMNS)
        assert all(len(row) == len(COLUMNS) and row[-1] == "yes" for row in table["rows"])
