"""From the evidence for a claim to its verdict: the trusted checker has the last word."""

from collections.abc import Sequence

from dpassay.core.claims import Claim, Evidence, Outcome, Verdict
from dpassay.proofs.notation import objections

__all__ = ["decided"]


def decided(
    claim: Claim,
    outcome: Outcome,
    *sentences: str,
    evidence: Sequence[Evidence],
    assumptions: Sequence[str] = (),
    repair: str = "",
) -> Verdict:
    """The verdict if the trusted checker accepts every certificate of the evidence, else `open` with its objections."""
    failed = objections(*(record.certificate for record in evidence if record.certificate))
    if failed:
        return Verdict(claim.id, "open", f"Not established: {failed}.")
    explanation = " ".join(sentence for sentence in sentences if sentence)
    return Verdict(claim.id, outcome, explanation, tuple(evidence), assumptions=tuple(assumptions), repair=repair)
