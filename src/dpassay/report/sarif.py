"""Findings of audits for code-scanning pages: SARIF 2.1.0 (OASIS standard, 2020, with errata 01).

A code-scanning page lists what is wrong, so only refuted claims become results. Audits that refuted nothing are
notifications of the run, which a page does not list as alerts.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from dpassay.report import audit_text
from dpassay.report.schema import validate_audits

__all__ = ["to_sarif"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
NAMES: Mapping[str, str] = {
    "claim-refuted": "ClaimRefuted",
    "representation-leak": "RepresentationLeak",
    "same-stream-leak": "SameStreamLeak",
}
HELP: Mapping[str, str] = {
    "claim-refuted": "Samples of the mechanism on two neighboring datasets differ by more than the claim allows: some "
    "event is likelier on one of them by more than the claimed factor. Common causes are a sensitivity that is too "
    "small, noise that is added once for several answers, and thresholds without noise.",
    "representation-leak": "The outputs' floating-point bits depend on the dataset, although the mechanism may be "
    "private in exact arithmetic. Sample the noise exactly (discrete Laplace or Gaussian), or round the output to a "
    "grid that does not depend on the data before it is released.",
    "same-stream-leak": "Both datasets were run on the same random stream. The output moved by more than the declared "
    "sensitivity, or the amount of randomness used depends on the data. Add noise to whatever depends on the data, and "
    "scale it to the largest change.",
}
NUMBERS = (
    "mechanism", "dataset1", "dataset2", "relation", "representation", "claim", "mode", "failure_probability",
    "parameter_name", "parameter_lower", "epsilon_lower", "events", "samples", "looks", "seconds", "seed", "run",
    "detectable", "ledger", "sandwich", "warnings",
)  # fmt: skip


def to_sarif(content: Mapping[str, Any]) -> dict[str, Any]:
    """The findings of one audit or of a session's list of audits, as a SARIF log.

    Args:
        content: an audit or a list of them, described by `audit.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    audits = validate_audits(content)
    results = [_result(audit) for audit in audits if audit_text.rule(audit) is not None]
    version = audits[0]["program"].partition(" ")[2] if audits else ""
    driver: dict[str, Any] = {
        "name": "dpassay",
        "rules": [_rule(name) for name in audit_text.RULES],
    }
    if version:
        driver["version"] = version
    invocation: dict[str, Any] = {
        "executionSuccessful": True,
        "toolExecutionNotifications": [_notification(audit) for audit in audits if audit_text.rule(audit) is None],
    }
    commands = list(dict.fromkeys(audit["command"] for audit in audits if audit["command"]))
    if len(commands) == 1:
        invocation["commandLine"] = commands[0]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "invocations": [invocation], "results": results}],
    }


def _rule(name: str) -> dict[str, Any]:
    short = audit_text.RULES[name] + "."
    return {
        "id": name,
        "name": NAMES[name],
        "shortDescription": {"text": short},
        "fullDescription": {"text": f"{short} {HELP[name]}"},
        "help": {"text": HELP[name]},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["security", "privacy"], "precision": "very-high", "security-severity": "8.0"},
    }


def _result(audit: Mapping[str, Any]) -> dict[str, Any]:
    name = audit_text.rule(audit)
    assert name is not None, "only findings are results"
    return {
        "ruleId": name,
        "ruleIndex": list(audit_text.RULES).index(name),
        "kind": "fail",
        "level": "error",
        "message": {"text": audit_text.finding(audit)},
        "locations": [_location(audit)],
        "partialFingerprints": {"dpassayAudit/v1": _fingerprint(audit, name)},
        "properties": {key: audit[key] for key in NUMBERS},
    }


def _notification(audit: Mapping[str, Any]) -> dict[str, Any]:
    is_open = audit["verdict"]["outcome"] == "open"
    return {
        "level": "warning" if is_open else "note",
        "message": {"text": f"{audit_text.title(audit)}: {audit_text.headline(audit)}"},
    }


def _location(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Where the mechanism is defined; when that is unknown its name stands for a file, since pages demand one."""
    known = audit.get("location")
    if known is None:
        artifact = {"uri": quote(audit["mechanism"], safe="/.-_~")}
    elif PurePosixPath(known["file"]).is_absolute():
        artifact = {"uri": PurePosixPath(known["file"]).as_uri()}
    else:
        artifact = {"uri": quote(known["file"]), "uriBaseId": "%SRCROOT%"}
    return {
        "physicalLocation": {
            "artifactLocation": artifact,
            "region": {"startLine": 1 if known is None else known["line"]},
        },
        "logicalLocations": [{"fullyQualifiedName": audit["mechanism"], "kind": "function"}],
    }


def _fingerprint(audit: Mapping[str, Any], name: str) -> str:
    """The same for the same finding in every run, whatever the seed, the counts and the lines above it."""
    identity = [name, audit_text.title(audit), audit["mechanism"], audit["claim"]["text"], audit["relation"]]
    identity += [audit["dataset1"], audit["dataset2"]]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()
