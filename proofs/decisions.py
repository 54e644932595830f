"""From the evidence for a claim to its verdict: the trusted checker has the last word."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from dpassay.core.claims import Claim, Context, Evidence, EvidenceKind, Outcome, Verdict
from dpassay.core.records import Plot, Table
from dpassay.replay import Rejected, check

Certificate = Mapping[str, Any]  # {"kind", "inputs"}
Decider = Callable[[Claim, Context], Verdict]


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


def shown(
    summary: str, certificate: Certificate, *, tables: tuple[Table, ...] = (), plots: tuple[Plot, ...] = ()
) -> Evidence:
    """What a certificate shows, under the kind of evidence that the certificate's own kind implies."""
    kind: EvidenceKind = certificate["kind"] if certificate["kind"] in get_args(EvidenceKind) else "certificate"
    return Evidence(kind, summary, certificate, tables, plots)


def decided(
    claim: Claim,
    outcome: Outcome,
    *sentences: str,
    evidence: Evidence | Sequence[Evidence],
    assumptions: Sequence[str] = (),
    repair: str = "",
) -> Verdict:
    """The verdict if the trusted checker accepts every certificate of the evidence, else `open` with its objections."""
    records = (evidence,) if isinstance(evidence, Evidence) else tuple(evidence)
    failed = objections(*(record.certificate for record in records if record.certificate))
    if failed:
        return Verdict(claim.id, "open", f"Not established: {failed}.")
    explanation = " ".join(sentence for sentence in sentences if sentence)
    return Verdict(claim.id, outcome, explanation, evidence=records, assumptions=tuple(assumptions), repair=repair)


def established(
    outcome: Outcome,
    *sentences: str,
    evidence: Callable[[], Evidence | Sequence[Evidence]],
    assumptions: Sequence[str] = (),
    repair: str = "",
) -> Decider:
    """A claim's decider where no data move the verdict: `decided` on evidence that is built when it is called."""

    def decide(claim: Claim, context: Context) -> Verdict:
        return decided(claim, outcome, *sentences, evidence=evidence(), assumptions=assumptions, repair=repair)

    return decide
