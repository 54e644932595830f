"""Judges one claim: runs its decider and seals its certificates with the trusted checker."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpassay.core.certificate import Certificate
from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.core.registry import expected_outcomes
from dpassay.replay import Rejected, seal

DECIDED = ("holds", "refuted", "vacuous")


@dataclass(frozen=True)
class Judged:
    """A verdict with its sealed certificates, the reviewed outcome (None: not reviewed), and the seconds it took."""

    claim: Claim
    verdict: Verdict
    certificates: tuple[Certificate, ...]
    expected: str | None
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the reviewed one; a claim never reviewed with these data cannot differ."""
        return self.expected is None or self.expected == self.verdict.outcome

    def file_names(self) -> list[str]:
        """One file name per certificate."""
        return [f"{self.claim.id}-{index}-{c.kind}.json" for index, c in enumerate(self.certificates, start=1)]

    def to_json(self) -> dict[str, Any]:
        """Everything but the claim, JSON-able."""
        return {
            "verdict": self.verdict.to_json(),
            "bodies": [record.certificate for record in self.verdict.evidence],
            "certificates": [certificate.to_json() for certificate in self.certificates],
            "expected": self.expected,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, claim: Claim, content: Mapping[str, Any]) -> "Judged":
        """What `to_json` wrote of this claim."""
        verdict = Verdict.from_json(content["verdict"])
        pairs = zip(verdict.evidence, content["bodies"], strict=True)
        evidence = tuple(replace(record, certificate=body) for record, body in pairs)
        certificates = tuple(map(Certificate.from_json, content["certificates"]))
        return cls(claim, replace(verdict, evidence=evidence), certificates, content["expected"], content["seconds"])


def judge(claim: Claim, context: Context) -> Judged:
    """Decides one claim and seals its certificates with the trusted checker.

    A verdict that says more than `open` must be backed by a certificate that the checker accepts and that supports the
    same outcome; otherwise it is reported `open`, since nobody could replay it.
    """
    begin = time.perf_counter()
    expected = expected_outcomes().get(claim.id, {}).get(claim.data if context.data.name == claim.data else "")
    try:
        verdict = claim.judge(context)
    except InvalidInput:
        raise
    except Exception as error:  # one broken check must not cost the other verdicts; it shows as unexpected
        verdict = Verdict(claim.id, "open", f"the check broke off: {type(error).__name__}: {error}")
    certificates: list[Certificate] = []
    evidence = list(verdict.evidence)
    for place, record in enumerate(verdict.evidence):
        if record.certificate is None:
            continue
        try:
            sealed = seal(claim.id, claim.statement, record.certificate["kind"], record.certificate["inputs"])
        except Rejected as rejection:
            verdict = _unreplayable(verdict, f"its {record.kind} was rejected by the checker: {rejection}")
            certificates = []
            break
        certificates.append(sealed)
        if sealed.kind == "proof":
            evidence[place] = _with_argument(record, sealed)
    verdict = replace(verdict, evidence=tuple(evidence))
    if verdict.outcome in DECIDED and not any(c.outcome == verdict.outcome for c in certificates):
        verdict = _unreplayable(verdict, "no certificate supports that outcome")
    return Judged(claim, verdict, tuple(certificates), expected, time.perf_counter() - begin)


def _unreplayable(verdict: Verdict, reason: str) -> Verdict:
    return replace(verdict, outcome="open", explanation=f"not replayable ({verdict.outcome}, but {reason})")


def _with_argument(record: Evidence, proof: Certificate) -> Evidence:
    """The evidence with what a reader of the report needs: the argument and the steps that the solvers checked."""
    steps = Table(
        "Steps, each proved by z3 and cvc5 or expanded exactly",
        ["step", "statement"],
        [[step["name"], step["statement"]] for step in proof.result["steps"]],
    )
    summary = " ".join(filter(None, (record.summary, proof.result["argument"])))
    return replace(record, summary=summary, tables=(*record.tables, steps))
