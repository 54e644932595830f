"""What the tests of several proofs share."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dpassay.core.claims import Context, Outcome
from dpassay.core.registry import find_claim
from dpassay.data.ratings import synthetic
from dpassay.judging.judge import Judged, judge
from dpassay.proofs.notation import formula, objections, proof

Variant = Callable[[Mapping[str, Any], str, Mapping[str, str]], str]


@pytest.fixture
def objections_to_variant() -> Variant:
    """What the checker says when one step of a proof is falsified: a hypothesis dropped, or another conclusion."""

    def judged(inputs: Mapping[str, Any], name: str, change: Mapping[str, str]) -> str:
        (original,) = [step for step in inputs["steps"] if step["name"] == name]
        if "dropped" in change:
            kept = [hypothesis for hypothesis in original["hypotheses"] if hypothesis != formula(change["dropped"])]
            assert len(kept) == len(original["hypotheses"]) - 1
            mutated = {**original, "hypotheses": kept}
        else:
            mutated = {**original, "conclusion": formula(change["conclusion"])}
        return objections({"kind": "proof", "inputs": proof("false", mutated)})

    return judged


@pytest.fixture
def judged_alike() -> Callable[..., Judged]:
    """Judges a claim, and expects this outcome of it and of every certificate behind it."""

    def judged(claim_id: str, outcome: Outcome, *, quick: bool = False) -> Judged:
        claim = find_claim(claim_id)
        assert claim is not None
        item = judge(claim, Context(data=synthetic(), quick=quick))
        assert item.verdict.outcome == outcome, item.verdict.explanation
        assert {certificate.outcome for certificate in item.certificates} == {outcome}
        return item

    return judged
