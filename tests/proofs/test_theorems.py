"""Proofs whose hard step is a published theorem say so, and where its hypotheses are met."""

import copy
from typing import Any

import pytest

from dpassay.core.certificate import Certificate
from dpassay.core.claims import Context, level_in_words
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import judge
from dpassay.proofs import theorems
from dpassay.replay import Rejected, check, conclusion, seal

CITING = {
    "CD-B1": ["BLACKWELL", "ADVANCED_COMPOSITION"],
    "CD-ER": ["ISSERLIS"],
    "CD-KEEP": ["ZERO_SET", "ISSERLIS"],
    "CD-SJLT-REP": ["GAUSSIAN_MECHANISM"],
    "CD-T51-DET": ["RANK_ONE_DETERMINANT"],
    "CD-T51-QUAD": ["RAYLEIGH"],
    "CD-T52-REP": ["GAUSSIAN_MECHANISM", "SCHEFFE"],
    "CD-T54-REP": ["CHI_SQUARE_TAILS"],
    "DP-DU": ["HOFFMAN_WIELANDT"],
    "DP-INF": ["RANK_PRINCIPAL"],
    "DP-T-REP": ["ZCDP_COMPOSITION"],
    "PP-W9": ["INTERMEDIATE_VALUES"],
}


def proof_of(name: str) -> Certificate:
    """The first certificate of the claim that cites a theorem."""
    item = judged(name)
    return next(each for each in item.certificates if each.result.get("rests_on"))


def judged(name: str) -> Any:
    claim = find_claim(name)
    assert claim is not None
    return judge(claim, Context(synthetic(), quick=True))


@pytest.mark.parametrize("name", CITING)
def test_a_verdict_that_rests_on_a_theorem_says_so_first(name: str) -> None:
    verdict = judged(name).verdict
    if verdict.level != "steps":  # a kernel checks it now
        assert verdict.rests_on == ()
        return
    cited = [getattr(theorems, each) for each in CITING[name]]
    assert [(each["name"], each["source"], each["statement"]) for each in verdict.rests_on] == cited
    first, *others = level_in_words("steps", verdict.rests_on)
    assert first.startswith(f"the hard step is {cited[0][0]} ({cited[0][1]})")
    assert "cited, not checked here" in first
    assert "steps: the hard step is" in str(verdict)
    for told, theorem in zip(others, verdict.rests_on, strict=True):
        assert all(f"{hypothesis} ({where})" in told for hypothesis, where in theorem["hypotheses"].items())


@pytest.mark.parametrize("name", CITING)
def test_a_changed_or_dropped_citation_is_no_reviewed_evidence(name: str) -> None:
    sealed = proof_of(name)
    conclusion(sealed)
    for change in (_drop, _drop_hypothesis, _another_source):
        inputs = copy.deepcopy(dict(sealed.inputs))
        change(inputs)
        with pytest.raises(Rejected, match=r"not among the evidence that was reviewed|without the hypotheses"):
            conclusion(seal(sealed.claim, sealed.statement, "proof", inputs))


@pytest.mark.parametrize("name", CITING)
def test_a_hypothesis_that_no_step_checks_is_refused(name: str) -> None:
    inputs = copy.deepcopy(dict(proof_of(name).inputs))
    theorem = inputs["rests_on"][0]
    hypothesis = next(iter(theorem["hypotheses"]))
    theorem["hypotheses"][hypothesis] = "a step that is not there"
    with pytest.raises(Rejected, match="which no step checks"):
        check("proof", inputs)


def test_words_that_the_claim_does_not_say_are_refused() -> None:
    import dpassay.replay as replaying

    sealed = proof_of("CD-ER")
    conclusion(sealed)
    claim = find_claim("CD-ER")
    assert claim is not None
    inputs = copy.deepcopy(dict(sealed.inputs))
    hypotheses = inputs["rests_on"][0]["hypotheses"]
    moved = next(each for each, where in hypotheses.items() if where.startswith("claim: "))
    hypotheses[moved] = "claim: M has any entries"
    other = seal(sealed.claim, sealed.statement, "proof", inputs)
    with pytest.raises(Rejected, match="which CD-ER does not say: 'claim: M has any entries'"):
        replaying._words_of_claim(claim, other)


def _drop(inputs: dict[str, Any]) -> None:
    del inputs["rests_on"]


def _drop_hypothesis(inputs: dict[str, Any]) -> None:
    inputs["rests_on"][0]["hypotheses"].popitem()


def _another_source(inputs: dict[str, Any]) -> None:
    inputs["rests_on"][0]["source"] = "Nobody 2001"
