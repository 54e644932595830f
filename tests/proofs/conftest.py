"""What the tests of several proofs share."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

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
