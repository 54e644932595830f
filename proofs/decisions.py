"""From the evidence for a claim to its verdict: the trusted checker has the last word."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpassay.core.claims import Claim, Evidence, Outcome, Verdict
from dpassay.replay import Rejected, check

Certificate = Mapping[str, Any]  # {"kind", "inputs"}


def checked(certificate: Certificate) -> Mapping[str, Any] | None:
    """What the trusted checker finds in the certificate, None when it rejects it."""
    try:
        return check(certificate["kind"], certificate["inputs"])
    except Rejected:
        return None


def supported(certificate: Certificate) -> Outcome:
    """The outcome that the trusted checker grants to the certificate, `open` when it rejects it."""
    found: Outcome = (checked(certificate) or {"supports": "open"})["supports"]
    return found


def objections(*certificates: Certificate) -> str:
    """What the trusted checker objects to in these certificates; empty when it accepts them all."""
    found = []
    for certificate in certificates:
        try:
            check(certificate["kind"], certificate["inputs"])
        except Rejected as rejection:
            found.append(str(rejection))
    return "; ".join(found)


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
    return Verdict(
        claim.id, outcome, explanation, evidence=tuple(evidence), assumptions=tuple(assumptions), repair=repair
    )
