"""Whose sentence each claim is, and which are misprints."""

import re
from dataclasses import replace

import pytest

from dpassay.core.claims import Context, Evidence, Verdict
from dpassay.core.registry import all_claims, expected_outcomes, find_claim
from dpassay.data.ratings import synthetic


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
