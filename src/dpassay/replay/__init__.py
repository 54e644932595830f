"""The trusted base: re-checks a certificate from the file alone, on exact rationals and interval arithmetic.

Nothing here imports JAX, a mechanism, or anything that searched for the evidence. Each kind of certificate has one
checker, a function from the certificate's inputs to a result; a certificate is good when the result computed again
equals the one in the file, and when what it says is among the evidence that was reviewed for its claim: from there
comes what it concludes, never from the file. `seal` makes certificates with the same functions.
"""

import contextlib
import functools
import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpassay.core.callable_module import make_callable
from dpassay.core.certificate import Certificate, read
from dpassay.core.claims import Claim
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import explained
from dpassay.core.registry import Reviewed, expected_outcomes, find_claim, notation, papers, reviewed_evidence

# kind -> module with `compute(inputs) -> result`; imported one by one, since the solvers are slow to load.
CHECKERS: Mapping[str, str] = {
    "witness": "dpassay.replay.witness",
    "law": "dpassay.replay.law_property",
    "selection": "dpassay.replay.selection",
    "floating": "dpassay.replay.floating",
    "formula": "dpassay.replay.instance",
    "determinantal": "dpassay.replay.determinantal_pairs",
    "profile": "dpassay.replay.profile",
    "proof": "dpassay.replay.proof",
    "statistics": "dpassay.replay.statistics",
    "reproduction": "dpassay.replay.reproduction",
    "kernel": "dpassay.replay.kernel",
    "audit": "dpassay.replay.audit",
    "integration": "dpassay.replay.integration",
    "alignment": "dpassay.replay.alignment",
    "accounting": "dpassay.replay.accounting",
    "stability": "dpassay.replay.stability",
    "sensitivity": "dpassay.replay.sensitivity",
}
AUDIT = "AUDIT"
"""What an audit's certificate is filed under: it is about a user's mechanism, not about a registered claim."""
PROGRAM = "PROGRAM"
"""What a certificate about a user's program is filed under."""
OWN = {
    "audit": AUDIT,
    "alignment": PROGRAM,
    "integration": PROGRAM,
    "accounting": "ACCOUNTING",
    "stability": "STABILITY",
    "sensitivity": PROGRAM,
}
"""Kinds of certificates about no registered claim, whose inputs make the statement -> what they are filed under."""
OUTCOMES = ("holds", "refuted", "vacuous", "not refuted", "open")


class Rejected(Exception):
    """The inputs do not show what the certificate claims; the message says where they fail."""


@dataclass(frozen=True)
class Replay:
    """Outcome of replaying one certificate.

    Attributes:
        outcome: what the evidence concludes about the claim, as the checker derives it; "note" when it shows something
            beside the claim, "" when it does not check.
        part: it concludes that only together with the other parts of the evidence.
        reason: what was computed, or why the certificate fails.
        id: of a note or a part, as the checker derives it from the content; "" for all else.
        shows: the statement of that note or part.
    """

    path: str
    claim: str
    kind: str
    outcome: str
    checks: bool
    reason: str
    part: bool = False
    id: str = ""
    shows: str = ""


def check(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What `computed` finds, with the outcome that it supports as `result["supports"]`.

    Where the numbers do not decide that by themselves it is the one that whoever made the inputs has in mind,
    `inputs["supports"]`. A certificate does not carry it: `conclusion` derives it.

    Raises:
        Rejected: the inputs are malformed or establish nothing.
    """
    meant = inputs.get("supports", "refuted" if kind == "witness" else None) if isinstance(inputs, Mapping) else None
    result = {"supports": meant, **computed(kind, _bare(inputs))}
    if result["supports"] not in OUTCOMES:
        raise Rejected(f"supports is {result['supports']!r}: use one of {', '.join(OUTCOMES)}")
    return result


def computed(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The result of the inputs of a certificate, by the checker of its kind.

    Raises:
        Rejected: the inputs are malformed or establish nothing.
    """
    if kind not in CHECKERS:
        raise Rejected(f"unknown kind of certificate {kind!r}")
    with _reading():
        result: dict[str, Any] = json.loads(_computed(kind, json.dumps(inputs, sort_keys=True)))  # as in a file
    return result


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Whatever inputs of the wrong shape provoke is a rejection."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Rejected(f"the inputs cannot be read: {type(error).__name__}: {error}") from error


@functools.lru_cache(maxsize=256)
def _computed(kind: str, inputs: str) -> str:
    """A checker is a function of the inputs as they stand in a file; a decider and `seal` often ask it the same."""
    return json.dumps(importlib.import_module(CHECKERS[kind]).compute(json.loads(inputs)))


def _bare(inputs: Any) -> Any:
    return (
        {name: each for name, each in inputs.items() if name != "supports"} if isinstance(inputs, Mapping) else inputs
    )


def seal(claim: str, statement: str, kind: str, inputs: Mapping[str, Any]) -> Certificate:
    """A certificate whose result the trusted checker computed. What it concludes is not in it: see `conclusion`.

    Raises:
        Rejected: the checker finds that the inputs establish nothing.
    """
    bare = _bare(inputs)
    return Certificate(claim, statement, kind, bare, computed(kind, bare))


def seal_own(kind: str, inputs: Mapping[str, Any]) -> Certificate:
    """A certificate about no registered claim, of a kind in `OWN`: the checker makes its statement of the inputs.

    Raises:
        Rejected: the checker finds that the inputs establish nothing.
    """
    bare = _bare(inputs)
    result = computed(kind, bare)
    return Certificate(OWN[kind], result["statement"], kind, bare, result)


def conclusion(certificate: Certificate) -> Reviewed:
    """What a certificate, once it checks, concludes about its claim: `concludes` is an outcome, or "" for a note.

    Raises:
        Rejected: the claim is not registered or reads otherwise, or this is not among its reviewed evidence.
    """
    claim = find_claim(certificate.claim)
    if claim is None:
        raise Rejected(f"no registered claim is called {certificate.claim!r}")
    if claim.statement != certificate.statement:
        raise Rejected(f"the statement is not the registered one of {certificate.claim}")
    lines = _says(certificate)
    for entry in reviewed_evidence(claim.id):
        if (entry.kind, entry.says) == (certificate.kind, lines):
            with _reading():
                _on_subject(claim, certificate)
                _words_of_claim(claim, certificate)
            return replace(entry, concludes=certificate.result["supports"]) if entry.concludes == "measured" else entry
    raise Rejected(f"this is not among the evidence that was reviewed for {claim.id}")


def _says(certificate: Certificate) -> tuple[str, ...]:
    from dpassay.replay.says import says

    with _reading():
        return says(certificate.kind, certificate.inputs)


@explained()
def replay(path: str | Path) -> Replay:
    """Re-checks the certificate in a file, from the file alone, and derives what it concludes about its claim.

    It runs here, without limits of time or memory: check files that you do not trust with `dpassay replay`, which has
    them (`dpassay.replay.budget`).

    Raises:
        InvalidInput: the file is not a readable certificate (see `dpassay.core.certificate.read`), or a solver or
            the papers' claims, which it needs, are not installed.
    """
    certificate = read(Path(path))
    filed = OWN.get(certificate.kind)
    if filed is None:
        papers()  # where they are not installed it can neither check nor fail
    try:
        shown = None if filed else conclusion(certificate)
        result = computed(certificate.kind, certificate.inputs)
        if shown is None and (certificate.claim, certificate.statement) != (filed, result["statement"]):
            raise Rejected(f"such a certificate is filed under {filed}, with the statement of its inputs")
        recomputed, stated = _canonical(result), _canonical(certificate.result)
        differing = sorted(key for key in {*recomputed, *stated} if recomputed.get(key) != stated.get(key))
        if differing:
            raise Rejected(f"recomputed values differ from the file's: {', '.join(differing)}")
        outcome = result["supports"] if shown is None else shown.concludes or "note"
        reviewed = tuple(expected_outcomes().get(certificate.claim, {}).values())
        if shown is not None and reviewed and outcome not in ("note", *reviewed):
            raise Rejected(
                f"the evidence checks, but it concludes {outcome!r} and contradicts the reviewed verdict on "
                f"{certificate.claim}: {' or '.join(reviewed)}"
            )
    except (Rejected, InvalidInput, KeyError, TypeError, ValueError) as rejection:
        return Replay(str(path), certificate.claim, certificate.kind, "", False, " ".join(str(rejection).split()))
    summary = str(result.get("summary", ""))
    own = shown or Reviewed(certificate.kind, (), outcome)
    return Replay(str(path), certificate.claim, certificate.kind, outcome, True, summary, own.part, own.id, own.shows)


def _canonical(result: Mapping[str, Any]) -> dict[str, str]:
    return {key: json.dumps(value, sort_keys=True) for key, value in result.items()}


def _on_subject(claim: Claim, certificate: Certificate) -> None:
    """A true witness against something else, or of a smaller loss than the claim allows, is no witness here."""
    mechanism = certificate.inputs.get("mechanism")
    if mechanism is None or not claim.about:
        return
    parameters = mechanism["parameters"]
    properties = (mechanism["variant"], *parameters.values())
    subjects = {mechanism["id"], *(f"{mechanism['id']}/{value}" for value in properties)}
    if not subjects & set(claim.about):
        raise Rejected(f"{claim.id} is about {' or '.join(claim.about)}, the certificate about {mechanism['id']}")
    exceeded = certificate.inputs.get("epsilon", "inf")
    if exceeded != "inf" and Fraction(exceeded) < Fraction(claim.allows) * Fraction(parameters["epsilon"]):
        raise Rejected(f"{claim.id} allows a loss of {claim.allows} times epsilon, the witness exceeds {exceeded} only")


def _words_of_claim(claim: Claim, certificate: Certificate) -> None:
    """What a cited theorem takes from the claim must be there, or in the meaning of the paper's symbols."""
    symbols = (meaning for _, meaning in notation().get(claim.paper, ()))
    said = "\n".join((claim.statement, claim.formula, *claim.assumptions, *symbols))
    for theorem in certificate.result.get("rests_on", []) if certificate.kind == "proof" else []:
        for hypothesis, where in theorem["hypotheses"].items():
            if where.startswith("claim: ") and where.removeprefix("claim: ") not in said:
                raise Rejected(f"{theorem['name']} needs that {hypothesis}, which {claim.id} does not say: {where!r}")


make_callable(__name__, replay)
