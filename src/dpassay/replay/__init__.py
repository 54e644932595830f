"""The trusted base: re-checks a certificate from the file alone, on exact rationals and interval arithmetic.

Nothing here imports JAX, a mechanism, or anything that searched for the evidence. Each kind of certificate has one
checker, a function from the certificate's inputs to a result that says which outcome they support; a certificate is
good when the result computed again equals the one in the file. `seal` makes certificates with the same functions.
"""

import functools
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpassay.core.callable_module import make_callable
from dpassay.core.certificate import Certificate, read
from dpassay.core.errors import InvalidInput
from dpassay.core.extras import explained

if TYPE_CHECKING:
    from dpassay.core.claims import Claim

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
    "audit": "dpassay.replay.audit",
}
AUDIT = "AUDIT"
"""What an audit's certificate is filed under: it is about a user's mechanism, not about a registered claim."""
OUTCOMES = ("holds", "refuted", "vacuous", "not refuted", "open")


class Rejected(Exception):
    """The inputs do not show what the certificate claims; the message says where they fail."""


@dataclass(frozen=True)
class Replay:
    """Outcome of replaying one certificate."""

    path: str
    claim: str
    kind: str
    outcome: str
    checks: bool
    reason: str


def check(kind: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Computes the result for `inputs`; `result["supports"]` is the outcome they establish.

    Raises:
        Rejected: the inputs are malformed or establish nothing.
    """
    if kind not in CHECKERS:
        raise Rejected(f"unknown kind of certificate {kind!r}")
    try:
        text = _checked(kind, json.dumps(inputs, sort_keys=True))  # the order of a file, whoever wrote it
    except Rejected:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise Rejected(f"the inputs cannot be read: {type(error).__name__}: {error}") from error
    result: dict[str, Any] = json.loads(text)
    if result["supports"] not in OUTCOMES:
        raise Rejected(f"supports is {result['supports']!r}: use one of {', '.join(OUTCOMES)}")
    return result


@functools.lru_cache(maxsize=256)
def _checked(kind: str, inputs: str) -> str:
    """A checker is a function of the inputs as they stand in a file; a decider and `seal` often ask it the same."""
    return json.dumps(importlib.import_module(CHECKERS[kind]).compute(json.loads(inputs)))


def seal(claim: str, statement: str, kind: str, inputs: Mapping[str, Any]) -> Certificate:
    """A certificate whose result the trusted checker computed.

    Raises:
        Rejected: the checker finds that the inputs establish nothing.
    """
    result = check(kind, inputs)
    return Certificate(claim, statement, result["supports"], kind, inputs, result)


@explained()
def replay(path: str | Path) -> Replay:
    """Re-checks the certificate in a file, from the file alone.

    It runs here, without limits of time or memory: check files that you do not trust with `dpassay replay`, which has
    them (`dpassay.replay.budget`).

    Raises:
        InvalidInput: the file is not a readable certificate (see `dpassay.core.certificate.read`), or a solver that it
            needs is not installed.
    """
    certificate = read(Path(path))
    try:
        if certificate.kind != "audit":
            _on_subject(_same_statement(certificate), certificate)
        result = check(certificate.kind, certificate.inputs)
        if certificate.kind == "audit" and (certificate.claim, certificate.statement) != (AUDIT, result["statement"]):
            raise Rejected(f"an audit's certificate is filed under {AUDIT}, with the statement of its inputs")
        if result["supports"] != certificate.outcome:
            raise Rejected(f"the file says {certificate.outcome!r}, its inputs support {result['supports']!r}")
        recomputed, stated = _canonical(result), _canonical(certificate.result)
        differing = sorted(key for key in {*recomputed, *stated} if recomputed.get(key) != stated.get(key))
        if differing:
            raise Rejected(f"recomputed values differ from the file's: {', '.join(differing)}")
    except (Rejected, InvalidInput, KeyError, TypeError, ValueError) as rejection:
        return Replay(str(path), certificate.claim, certificate.kind, certificate.outcome, False, str(rejection))
    summary = str(result.get("summary", ""))
    return Replay(str(path), certificate.claim, certificate.kind, certificate.outcome, True, summary)


def _canonical(result: Mapping[str, Any]) -> dict[str, str]:
    return {key: json.dumps(value, sort_keys=True) for key, value in result.items()}


def _same_statement(certificate: Certificate) -> "Claim":
    from dpassay.core.registry import find_claim

    claim = find_claim(certificate.claim)
    if claim is None:
        raise Rejected(f"no registered claim is called {certificate.claim!r}")
    if claim.statement != certificate.statement:
        raise Rejected(f"the statement is not the registered one of {certificate.claim}")
    return claim


def _on_subject(claim: "Claim", certificate: Certificate) -> None:
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


make_callable(__name__, replay)
