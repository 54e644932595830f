"""Verify: a verdict counts only with a certificate that the trusted checker accepts."""

import json
import sys
import types
from typing import Any

import pytest

import dpassay as dp
from dpassay.core import registry
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.data.ratings import synthetic
from dpassay.judging import judge, verification

STEP = {"name": "square", "engine": "smt", "variables": ["x"], "hypotheses": [], "conclusion": [">=", ["^", "x", 2], 0]}
PADDED = {**STEP, "conclusion": [">", ["^", "x", 2], -1]}
FALSE = {**STEP, "conclusion": [">", ["^", "x", 2], 0]}


def proof(step, supports="holds"):
    return {"kind": "proof", "inputs": {"supports": supports, "argument": "a square", "steps": [step]}}


@pytest.fixture
def claim(monkeypatch):
    """A registered claim whose decider returns what the test puts into `answer`."""
    module: Any = types.ModuleType("fake_decider")
    module.answer = None
    module.decide = lambda claim, context: module.answer(claim) if callable(module.answer) else module.answer
    monkeypatch.setitem(sys.modules, "fake_decider", module)
    fake = Claim("T-1", "test", "nowhere", "Squares are not negative.", "x^2 >= 0", "fake_decider:decide")
    monkeypatch.setitem(registry.papers(), "test", (fake,))
    return fake, module


def verdict(outcome, certificate):
    return Verdict("T-1", outcome, "because", evidence=(Evidence("proof", "a proof", certificate),))


def judged(claim, context=None):
    return judge.judge(claim, context or Context(synthetic()))


def test_accepted_certificate_stands(claim, review):
    fake, module = claim
    review("T-1", **proof(STEP), concludes="holds")
    module.answer = verdict("holds", proof(STEP))
    item = judged(fake)
    assert item.verdict.outcome == "holds"
    assert item.concluded == ("holds",)
    (record,) = item.verdict.evidence
    assert record.summary == "a proof a square"
    assert record.tables[0].rows == [["square", "x^2 >= 0"]]
    run = verification.Run((item,), synthetic(), quick=False, seed=0, seconds=1.0, command="dpassay verify")
    (shown,) = run.to_json()["verdicts"]
    assert shown["certificates"] == ["T-1-1-proof.json"]
    assert shown["evidence"][0]["certificate"] == {
        "file": "T-1-1-proof.json", "concludes": "holds", "lines": [["shown", "1 step proved again"]],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "certificate"),
    [
        ("holds", proof(FALSE)),  # the checker rejects it
        ("refuted", proof(STEP)),  # it concludes the other outcome
        ("holds", proof(PADDED)),  # true, and no reviewed evidence for this claim
        ("holds", None),  # nothing to replay
        ("holds", {"kind": "nonsense", "inputs": {}}),
        ("holds", {"kind": "proof", "inputs": {"supports": "holds"}}),  # no steps
    ],
)
def test_unsupported_verdict_is_reported_open(claim, review, outcome, certificate):
    fake, module = claim
    review("T-1", **proof(STEP), concludes="holds")
    module.answer = verdict(outcome, certificate)
    item = judged(fake)
    assert item.verdict.outcome == "open"
    assert "not replayable" in item.verdict.explanation


def test_broken_check_costs_only_its_own_verdict(claim):
    fake, module = claim

    def broken(claim):
        raise ZeroDivisionError("oops")

    module.answer = broken
    item = judged(fake)
    assert item.verdict.outcome == "open"
    assert "ZeroDivisionError: oops" in item.verdict.explanation
    assert not item.as_expected, "even where the claim is open"


def test_claim_about_absent_data_is_open_and_fails_nothing(claim):
    _fake, module = claim
    module.answer = verdict("holds", proof(STEP))
    needy = Claim("T-2", "test", "", "s", "f", "fake_decider:decide", data="movielens-100k")
    item = judged(needy)
    assert item.verdict.outcome == "open"
    assert "needs movielens-100k" in item.verdict.explanation
    assert item.as_expected


def test_difference_from_the_reviewed_file_is_noticed(claim, review, monkeypatch):
    _fake, module = claim
    review("T-1", **proof(STEP), concludes="holds")
    module.answer = verdict("holds", proof(STEP))
    monkeypatch.setattr(judge, "expected_outcomes", lambda: {"T-1": {"": "refuted"}})
    result = verification.run("test")
    assert [item.claim.id for item in result.unexpected] == ["T-1"]


def test_one_part_alone_concludes_nothing_and_a_note_never_does(claim, review):
    fake, module = claim
    review("T-1", **proof(STEP), concludes="holds", part=True)
    review("T-1", **proof(PADDED), concludes="holds", part=True)
    module.answer = verdict("holds", proof(STEP))
    assert judged(fake).verdict.outcome == "open"
    both = (Evidence("proof", "one", proof(STEP)), Evidence("proof", "two", proof(PADDED)))
    module.answer = Verdict("T-1", "holds", "because", evidence=both)
    item = judged(fake)
    assert (item.verdict.outcome, item.concluded) == ("holds", ("part of holds",) * 2)
    review("T-1", **proof({**STEP, "name": "note"}), concludes="")
    module.answer = verdict("holds", proof({**STEP, "name": "note"}))
    item = judged(fake)
    assert (item.verdict.outcome, item.concluded) == ("open", ("note",))


def test_evidence_for_both_outcomes_decides_nothing(claim, review):
    fake, module = claim
    review("T-1", **proof(STEP), concludes="holds")
    review("T-1", **proof(PADDED), concludes="refuted")
    both = (Evidence("proof", "one", proof(STEP)), Evidence("proof", "two", proof(PADDED)))
    module.answer = Verdict("T-1", "holds", "because", evidence=both)
    assert judged(fake).verdict.outcome == "open"


def test_written_certificates_replay_and_tampered_ones_fail(claim, review, tmp_path):
    _fake, module = claim
    review("T-1", **proof(STEP), concludes="holds")
    module.answer = verdict("holds", proof(STEP))
    result = verification.run("test")
    assert result.write_certificates(tmp_path) == 1
    (path,) = tmp_path.glob("*.json")
    assert dp.replay(path).checks
    content = json.loads(path.read_text())
    content["inputs"]["steps"][0]["conclusion"][2] = 1
    from dpassay.core.certificate import checksum

    content["sha256"] = checksum(content)
    path.write_text(json.dumps(content))
    assert not dp.replay(path).checks


def test_every_registered_claim_is_complete():
    ids = [claim.id for claim in registry.all_claims()]
    assert len(ids) == len(set(ids))
    for entry in registry.all_claims():
        assert entry.statement.endswith((".", '"')), entry.id
        assert entry.place, entry.id
        assert entry.formula, entry.id
        assert entry.decide.count(":") == 1


def test_reviewed_verdicts_name_registered_claims_and_outcomes():
    from dpassay.core.claims import OUTCOMES

    expected = registry.expected_outcomes()
    assert set(expected) == {claim.id for claim in registry.all_claims()}
    for claim_id, by_data in expected.items():
        found = registry.find_claim(claim_id)
        assert found is not None
        assert set(by_data) == {found.data}
        assert set(by_data.values()) <= set(OUTCOMES)


@pytest.mark.parametrize(("paper", "claims"), [("nonsense", None), (None, ["PP-NOT-THERE"]), ("ppns", ["XM-T1"])])
def test_unknown_names_are_refused(paper, claims):
    with pytest.raises(dp.InvalidInput):
        registry.select(paper, claims)


@pytest.mark.parametrize("outcome", ["holds", "refuted", "vacuous"])
def test_decided_verdict_needs_evidence(outcome):
    with pytest.raises(ValueError, match="needs evidence"):
        Verdict("T-1", outcome, "because")
