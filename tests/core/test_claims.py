"""Every registered claim comes out as reviewed, and its verdict and certificates can be read again."""

import json
import re
from dataclasses import replace

import pytest

from dpassay.core.claims import Context, Evidence, Verdict
from dpassay.core.registry import all_claims, expected_outcomes, find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import Judged, judge
from dpassay.replay import replay
from dpassay.report import validate_certificate


@pytest.mark.parametrize("claim", [pytest.param(claim, id=claim.id) for claim in all_claims() if not claim.data])
def test_claim_comes_out_as_reviewed_and_replays(claim, tmp_path):
    item = judge(claim, Context(synthetic(), quick=True))
    assert item.verdict.outcome == expected_outcomes()[claim.id][""], item.verdict.explanation
    written = json.dumps(item.to_json())
    assert json.dumps(Judged.from_json(claim, json.loads(written)).to_json()) == written
    for name, certificate in zip(item.file_names(), item.certificates, strict=True):
        certificate.write(tmp_path / name)
        validate_certificate(certificate.to_json())
        outcome = replay(tmp_path / name)
        assert outcome.checks, f"{name}: {outcome.reason}"


def test_what_no_paper_says_is_ours() -> None:
    for claim in all_claims():
        if claim.id.endswith(("-REP", "-EXE", "-REL")) or claim.place.startswith("extension"):
            assert claim.source == "ours", claim.id
        if '"' in claim.statement:  # a quotation
            assert claim.source == "paper", claim.id


def test_whose_claim_it_is_changes_nothing_that_was_reviewed() -> None:
    claim = all_claims()[0]
    assert replace(claim, source="ours", misprint="x").digest() == claim.digest()


def test_a_misprint_is_of_a_paper_and_what_is_meant_holds() -> None:
    misprinted = [claim for claim in all_claims() if claim.misprint]
    assert {"CD-ER", "RC-EQ"} <= {claim.id for claim in misprinted}
    for claim in misprinted:
        assert claim.source == "paper"
        assert {*expected_outcomes()[claim.id].values()} <= {"refuted", "vacuous"}
        for name in re.findall(r"\(([A-Z]+-[A-Z0-9-]+)\)", claim.misprint):
            assert find_claim(name) is not None
            assert {*expected_outcomes()[name].values()} == {"holds"}


def test_a_misprint_is_said_where_the_printed_sentence_fails_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = find_claim("CD-ER")
    assert claim is not None
    found = {o: Verdict("CD-ER", o, "Why.", (Evidence("proof", "E."),)) for o in ("refuted", "holds")}
    module = "dpassay.proofs.pricdr.sketch_distortion.decide_expectation"
    for outcome, shown in (("refuted", "CD-ER: refuted (a misprint)"), ("holds", "CD-ER: holds")):
        monkeypatch.setattr(module, lambda *_, verdict=found[outcome]: verdict)
        verdict = claim.judge(Context(synthetic(), quick=True))
        assert str(verdict).splitlines()[0] == shown
        assert verdict.misprint == (claim.misprint if outcome == "refuted" else "")
