"""Evidence from elsewhere is no evidence for a claim, however true it is: nothing forged is accepted.

What a certificate says is held against the evidence that was reviewed for its claim before anything is computed, so
every claim can be tried with every proof and with every kind of trivial truth.
"""

import copy
import dataclasses
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dpassay.commands.main import main
from dpassay.core import registry
from dpassay.core.certificate import Certificate
from dpassay.core.claims import OUTCOMES, Claim, Context
from dpassay.core.registry import all_claims, expected_outcomes, reviewed_evidence
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.replay import Rejected, conclusion, replay, says, seal
from tests.proofs.test_every_proof import modules, proofs_of

TRUE = ["<", 0, 1]
IDENTITY = {"name": "x", "engine": "identity", "left": ["+", "x", 0], "right": "x"}
QUERY: dict[str, Any] = {"name": "x", "engine": "smt", "variables": [], "hypotheses": [], "conclusion": TRUE}
LISTED: dict[str, Any] = {
    "similarities": ["1", "1/2"],
    "num_neighbors": 1,
    "weights": ["2", "1"],
    "methods": {"npns": {}},
}
COMPARED = {"x": {"claimed": "positive", "differences": [1, 1]}}
TRIVIAL: list[tuple[str, dict[str, Any]]] = [
    ("proof", {"argument": "", "steps": [IDENTITY]}),
    ("proof", {"argument": "", "steps": [QUERY]}),
    ("formula", {"values": {}, "formulas": [TRUE]}),
    ("statistics", {"successes": 1, "trials": 2, "failure_probability": "1/2", "outcomes": {"holds": TRUE}}),
    ("reproduction", {"form": "orderings", "confidence": "1/2", "comparisons": COMPARED}),
    ("selection", {**LISTED, "condition": TRUE}),
    ("law", {"mechanism": {"id": "knn", "variant": "paper", "parameters": {}}, "dataset": [[1]], "condition": TRUE}),
    ("determinantal", {"items": 1, "subjects": 1, "jitter": 1, "relation": "", "size": 1, "largest": TRUE}),
    ("profile", {"profiles": {}, "formulas": [TRUE]}),
    ("floating", {"form": "noise"}),
    ("audit", {}),
    ("none", {}),
]


def concluded(claim: Claim, kind: str, inputs: dict[str, Any]) -> str | None:
    """What the certificate would conclude about the claim; None when it is refused."""
    result = {"supports": next(iter(expected_outcomes()[claim.id].values()))}
    try:
        return conclusion(Certificate(claim.id, claim.statement, kind, inputs, result)).concludes
    except Rejected:
        return None


@pytest.fixture(scope="module", autouse=True)
def each_statement_once() -> Iterator[None]:
    """Forgeries differ from their proof in one step; the others need not be put into words again each time."""
    known: dict[str, str] = {}

    def statement(step: dict[str, Any]) -> str:
        key = json.dumps(step)
        if key not in known:
            known[key] = step_statement(step)
        return known[key]

    step_statement = says.statement
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(says, "statement", statement)
        yield


@cache
def proofs() -> list[dict[str, Any]]:
    """The inputs of every proof of the package."""
    found = [{k: v for k, v in proof["inputs"].items() if k != "supports"} for m in modules() for proof in proofs_of(m)]
    assert len(found) > 140
    return found


def mine(claim: Claim) -> list[dict[str, Any]]:
    lines = {entry.says for entry in reviewed_evidence(claim.id) if entry.kind == "proof"}
    return [inputs for inputs in proofs() if said(inputs) in lines]


@cache
def _said(place: int) -> tuple[str, ...]:
    return says.says("proof", proofs()[place])


def said(inputs: dict[str, Any]) -> tuple[str, ...]:
    return _said(next(place for place, each in enumerate(proofs()) if each is inputs))


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_a_trivial_truth_concludes_no_claim(claim: Claim) -> None:
    assert [kind for kind, inputs in TRIVIAL if concluded(claim, kind, inputs) is not None] == []


def test_a_proof_concludes_only_the_claims_it_was_reviewed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {id(inputs): said(inputs) for inputs in proofs()}
    monkeypatch.setattr(says, "says", lambda kind, inputs: texts[id(inputs)])
    accepted = {
        (claim.id, texts[id(inputs)])
        for claim in all_claims()
        for inputs in proofs()
        if concluded(claim, "proof", inputs) is not None
    }
    reviewed = {
        (claim.id, entry.says)
        for claim in all_claims()
        for entry in reviewed_evidence(claim.id)
        if entry.kind == "proof"
    }
    assert accepted == reviewed  # so `tests/proofs/test_every_proof.py` falsifies every registered proof, and no other
    assert set(texts.values()) == {lines for _, lines in reviewed}
    assert len(reviewed) > 150


def changes(inputs: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The proof as a forger would change it."""
    yield "argument", {**inputs, "argument": inputs["argument"] + "."}
    yield "padded", {**inputs, "steps": [*inputs["steps"], IDENTITY]}
    for place, step in enumerate(inputs["steps"]):
        others = copy.deepcopy(inputs["steps"])
        del others[place]
        yield f"step {place} deleted", {**inputs, "steps": others}
        for name, changed in changed_steps(step):
            steps = copy.deepcopy(inputs["steps"])
            steps[place] = changed
            yield f"step {place}: {name}", {**inputs, "steps": steps}


def changed_steps(step: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "renamed", {**step, "name": step["name"] + "!"}
    if step["engine"] == "smt":
        yield "vacuous", {**step, "hypotheses": [*step["hypotheses"], [">", 0, 1]]}
        yield (
            "both changed",
            {**step, "hypotheses": [*step["hypotheses"], TRUE], "conclusion": ["or", TRUE, step["conclusion"]]},
        )
        yield "negated", {**step, "conclusion": ["not", step["conclusion"]]}
        if step["hypotheses"]:
            yield "hypothesis dropped", {**step, "hypotheses": step["hypotheses"][1:]}
    if step["engine"] == "identity":
        yield "both changed", {**step, "left": 0, "right": 0}
        yield (
            "as a query",
            {
                "name": step["name"],
                "engine": "smt",
                "variables": [],
                "hypotheses": [],
                "conclusion": ["=", step["left"], step["right"]],
            },
        )


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_a_changed_proof_concludes_nothing(claim: Claim) -> None:
    survivors = [
        name
        for inputs in mine(claim)
        for name, changed in changes(inputs)
        if concluded(claim, "proof", changed) is not None
    ]
    assert survivors == []


def test_another_claims_certificate_does_not_replay_under_this_one(tmp_path) -> None:
    claim, other = (registry.find_claim(name) for name in ("RC-UNION", "RC-DEC"))
    assert claim is not None
    assert other is not None
    (inputs,) = mine(claim)
    seal(claim.id, claim.statement, "proof", inputs).write(tmp_path / "right.json")
    found = replay(tmp_path / "right.json")
    assert (found.checks, found.outcome) == (True, "holds")
    seal(other.id, other.statement, "proof", inputs).write(tmp_path / "wrong.json")
    found = replay(tmp_path / "wrong.json")
    assert (found.checks, found.outcome) == (False, "")
    assert found.reason == "this is not among the evidence that was reviewed for RC-DEC"


def test_evidence_against_the_reviewed_verdict_is_said_to_be_that(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = registry.find_claim("RC-UNION")
    assert claim is not None
    (inputs,) = mine(claim)
    (entry,) = (entry for entry in reviewed_evidence(claim.id) if entry.kind == "proof")
    monkeypatch.setattr(
        "dpassay.replay.reviewed_evidence", lambda _: (dataclasses.replace(entry, concludes="refuted"),)
    )
    seal(claim.id, claim.statement, "proof", inputs).write(tmp_path / "c.json")
    found = replay(tmp_path / "c.json")
    assert not found.checks
    assert found.reason.startswith(
        "the evidence checks, but it concludes 'refuted' and contradicts the reviewed verdict"
    )


@pytest.mark.parametrize("claim", all_claims(), ids=lambda claim: claim.id)
def test_what_was_reviewed_fits_the_reviewed_verdict(claim: Claim) -> None:
    entries = reviewed_evidence(claim.id)
    (outcome,) = set(expected_outcomes()[claim.id].values())
    concluding = {entry.concludes for entry in entries} - {"", "measured"}
    assert concluding <= {outcome}
    assert concluding <= set(OUTCOMES)
    assert outcome == "open" or [entry for entry in entries if entry.concludes]
    parts = [entry for entry in entries if entry.part]
    assert len(parts) != 1
    assert len({(entry.kind, entry.says) for entry in entries}) == len(entries)


def test_every_note_and_part_can_be_cited_and_says_what_it_shows() -> None:
    entries = [(claim, entry) for claim in all_claims() for entry in reviewed_evidence(claim.id)]
    named = [(claim, entry) for claim, entry in entries if entry.part or not entry.concludes]
    assert len(named) > 100
    assert [entry for _claim, entry in entries if bool(entry.id) != (entry.part or not entry.concludes)] == []
    assert len({entry.id for _claim, entry in named}) == len(named)
    for claim, entry in named:
        assert re.fullmatch(rf"{claim.id}/[a-z0-9][a-z0-9./-]*", entry.id)
        assert entry.shows.endswith(".")
        assert entry.shows not in {claim.statement, *(other.shows for _, other in named if other.says != entry.says)}
        assert len(entry.id + entry.shows) < 240  # `dpassay replay` cuts lines at 300 characters


def test_a_note_is_printed_as_what_it_shows_and_a_forged_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = registry.find_claim("CD-L55")
    assert claim is not None
    judged = judge(claim, Context(synthetic()))
    note = dict(zip(judged.concluded, judged.certificates, strict=True))["note"]
    (entry,) = (entry for entry in reviewed_evidence(claim.id) if not entry.concludes)
    note.write(tmp_path / "note.json")
    found = replay(tmp_path / "note.json")
    assert (found.checks, found.outcome, found.id, found.shows) == (True, "note", entry.id, entry.shows)
    assert (entry.id, entry.shows) in judged.shows
    assert main(["replay", str(tmp_path / "note.json")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"checks  {entry.id} shows    note.json: {entry.shows}"
    inputs = {**note.inputs, "values": {**note.inputs["values"], "t": "1/5"}}
    seal(claim.id, claim.statement, note.kind, inputs).write(tmp_path / "forged.json")
    found = replay(tmp_path / "forged.json")
    assert (found.checks, found.outcome, found.id) == (False, "", "")


@pytest.mark.parametrize("name", ["statement", "formula", "assumptions", "predicate", "allows"])
def test_a_claim_that_reads_otherwise_has_no_evidence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = registry.find_claim("RC-UNION")
    assert claim is not None
    (inputs,) = mine(claim)
    other: Any = ("2",) if name == "assumptions" else "2"
    changed = dataclasses.replace(claim, **{name: other})
    monkeypatch.setattr("dpassay.replay.find_claim", lambda _: changed)
    monkeypatch.setattr(registry, "find_claim", lambda _: changed)
    monkeypatch.setattr("dpassay.replay.reviewed_evidence", registry.reviewed_evidence.__wrapped__)
    assert concluded(changed, "proof", inputs) is None
    monkeypatch.setattr(registry, "find_claim", lambda _: claim)
    monkeypatch.setattr("dpassay.replay.find_claim", lambda _: claim)
    assert concluded(claim, "proof", inputs) == "holds"


def test_a_side_or_a_comparison_of_a_reading_cannot_be_exchanged() -> None:
    claim = registry.find_claim("CD-RQ1")
    assert claim is not None
    (record,) = claim.judge(Context(synthetic())).evidence
    assert record.certificate is not None
    inputs = record.certificate["inputs"]
    assert concluded(claim, "reproduction", inputs) == "refuted"
    name, entry = next(iter(inputs["readings"]["paper"].items()))
    for changed in ({name: {**entry, "claimed": "negative"}}, {name + "!": entry}, {}):
        others = {other: each for other, each in inputs["readings"]["paper"].items() if other != name}
        readings = {**inputs["readings"], "paper": {**others, **changed}}
        assert concluded(claim, "reproduction", {**inputs, "readings": readings}) is None
