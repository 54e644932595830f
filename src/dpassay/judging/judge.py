"""Judges one claim: runs its decider and seals its certificates with the trusted checker."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpassay.core.certificate import Certificate
from dpassay.core.claims import Claim, Context, Evidence, Level, Verdict
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Table
from dpassay.core.registry import Reviewed, expected_outcomes, reviewed_evidence, reviewed_level
from dpassay.replay import Rejected, conclusion, seal
from dpassay.replay.kernel import STATEMENTS, definitions

NOT_REVIEWED = "not reviewed"
DECIDED = ("holds", "refuted", "vacuous")
A_VERDICT = "a verdict"
"""What is expected of a check that broke off."""


@dataclass(frozen=True)
class Judged:
    """A verdict with its sealed certificates, the reviewed outcome (None: not reviewed; `A_VERDICT` where
    the check broke off), and the seconds it took.

    What each certificate concludes is an outcome, "part of" one, "note", or "not reviewed"; of a part or a note there
    are its id and its statement, of others two empty texts.
    """

    claim: Claim
    verdict: Verdict
    certificates: tuple[Certificate, ...]
    concluded: tuple[str, ...]
    shows: tuple[tuple[str, str], ...]
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
            "concluded": list(self.concluded),
            "shows": list(map(list, self.shows)),
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
        verdict = replace(verdict, evidence=evidence)
        said = tuple(content["concluded"]), tuple((name, text) for name, text in content["shows"])
        return cls(claim, verdict, certificates, *said, content["expected"], content["seconds"])


def judge(claim: Claim, context: Context) -> Judged:
    """Decides one claim and seals its certificates with the trusted checker.

    A verdict that says more than `open` must be concluded by certificates that the checker accepts and whose content
    was reviewed as evidence for this claim; otherwise it is reported `open`, since nobody could replay it.
    """
    begin = time.perf_counter()
    expected = expected_outcomes().get(claim.id, {}).get(claim.data if context.data.name == claim.data else "")
    try:
        verdict = claim.judge(context)
    except InvalidInput:
        raise
    except Exception as error:  # one broken check must not cost the other verdicts; it shows as unexpected
        verdict = Verdict(claim.id, "open", f"the check broke off: {type(error).__name__}: {error}")
        expected = A_VERDICT  # also where a check that ends finds the claim open
    verdict = replace(verdict, evidence=(*_theorem(claim, verdict.outcome), *verdict.evidence))
    certificates: list[Certificate] = []
    shown: list[Reviewed | Rejected] = []
    evidence = list(verdict.evidence)
    for place, record in enumerate(verdict.evidence):
        if record.certificate is None:
            continue
        try:
            sealed = seal(claim.id, claim.statement, record.certificate["kind"], record.certificate["inputs"])
        except Rejected as rejection:
            verdict = _unreplayable(verdict, f"its {record.kind} was rejected by the checker: {rejection}")
            certificates, shown = [], []
            break
        certificates.append(sealed)
        shown.append(_shown(sealed))
        if sealed.kind == "proof":
            evidence[place] = _with_argument(record, sealed)
    verdict = replace(verdict, evidence=tuple(evidence))
    if unreviewed := [str(each) for each in shown if isinstance(each, Rejected)]:
        verdict = _unreplayable(verdict, unreviewed[0])
    elif verdict.outcome in DECIDED and not _concluded(claim.id, verdict.outcome, shown):
        verdict = _unreplayable(verdict, "its certificates do not conclude that outcome")
    level = _level(claim.id, verdict.outcome, shown)
    rests_on = _rests_on(verdict.outcome, certificates, shown) if level == "steps" else ()
    verdict = replace(verdict, level=level, rests_on=rests_on)
    return Judged(
        claim,
        verdict,
        tuple(certificates),
        tuple(map(_said, shown)),
        tuple((each.id, each.shows) if isinstance(each, Reviewed) else ("", "") for each in shown),
        expected,
        time.perf_counter() - begin,
    )


def _theorem(claim: Claim, outcome: str) -> tuple[Evidence, ...]:
    """The theorem in Rocq that is named like the claim, as evidence for a decided verdict."""
    name = claim.id.replace("-", "_")
    definition = definitions().get(name) if outcome in DECIDED else None
    if definition is None:
        return ()
    inputs = {"theorem": name, "definition": definition, "statements": STATEMENTS, "supports": outcome}
    said = f"The whole statement is a theorem that Rocq's kernel checks: {name} of proofs/rocq."
    return (Evidence("proof", said, {"kind": "kernel", "inputs": inputs}),)


def _level(claim_id: str, outcome: str, shown: Sequence[Reviewed | Rejected]) -> Level | None:
    """How far the machine goes: as far as the best single piece of evidence, else as its weakest part."""
    concluding = [each for each in shown if isinstance(each, Reviewed) and each.concludes == outcome]
    if outcome not in DECIDED or any(each.kind in ("reproduction", "statistics") for each in concluding):
        return None
    if any(each.kind == "kernel" for each in concluding):
        return "kernel"
    if any(each.kind != "proof" and not each.part for each in concluding):
        return "whole"
    return reviewed_level(claim_id) if any(each.kind == "proof" for each in concluding) else "whole"


def _rests_on(
    outcome: str, certificates: Sequence[Certificate], shown: Sequence[Reviewed | Rejected]
) -> tuple[Mapping[str, Any], ...]:
    """The theorems that the concluding proofs cite, each once."""
    pairs = zip(certificates, shown, strict=True)
    concluding = [sealed for sealed, each in pairs if isinstance(each, Reviewed) and each.concludes == outcome]
    found = [theorem for sealed in concluding for theorem in sealed.result.get("rests_on", [])]
    return tuple(theorem for place, theorem in enumerate(found) if theorem not in found[:place])


def _shown(certificate: Certificate) -> Reviewed | Rejected:
    try:
        return conclusion(certificate)
    except Rejected as rejection:
        return rejection


def _said(shown: Reviewed | Rejected) -> str:
    if isinstance(shown, Rejected):
        return NOT_REVIEWED
    return f"part of {shown.concludes}" if shown.part else shown.concludes or "note"


def _concluded(claim_id: str, outcome: str, shown: Sequence[Reviewed | Rejected]) -> bool:
    """Whether one piece of evidence concludes the outcome, or all its parts do together; and none another one."""
    known = [each for each in shown if isinstance(each, Reviewed)]
    alone = {each.concludes for each in known if each.concludes in DECIDED and not each.part}
    parts = [each for each in reviewed_evidence(claim_id) if each.part and each.concludes == outcome]
    return alone == {outcome} or (not alone and bool(parts) and all(each in shown for each in parts))


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
