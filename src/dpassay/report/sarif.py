"""Findings of audits and attacks, and hints, for code-scanning pages: SARIF 2.1.0 (OASIS standard, 2020, errata 01).

A code-scanning page lists what is wrong, so only refuted claims and exceeded limits become results. Audits that refuted
nothing, or what their tests expect, and limits that were kept, are notifications of the run, no alerts.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from dpassay.report import attack_text, audit_text
from dpassay.report.schema import validate_attack, validate_audits, validate_scan

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
SCAN_HELP = (
    "The pair of datasets, event or formula in the message breaks what the function, map or accountant claims. The "
    "properties have code that shows it again."
)
ATTACK_HELP = (
    "A simulated attacker reached more than the limit of --fail-above. The report (`--html`) has the threat model, the "
    "settings, a worked example, and what repairs the mechanism and costs; the command line of the run repeats it."
)
ATTACK_NUMBERS = (
    "attack", "mechanism", "parameters", "dataset", "threat_model", "settings", "metrics", "privacy", "verdicts",
    "seed", "seconds",
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
    notifications = [_notification(audit) for audit in audits if audit_text.rule(audit) is None]
    rules = [_rule(name, NAMES[name], short + ".", HELP[name]) for name, short in audit_text.RULES.items()]
    commands = list(dict.fromkeys(audit["command"] for audit in audits if audit["command"]))
    return _log(version, rules, results, notifications, commands[0] if len(commands) == 1 else "")


def attack_to_sarif(content: Mapping[str, Any]) -> dict[str, Any]:
    """The exceeded limits of one attack as a SARIF log.

    Args:
        content: described by `attack.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    attack = validate_attack(content)
    name = f"attack-{attack['attack']}"
    short = f"{attack_text.ATTACKS[attack['attack']]}, more often than the limit allows."
    notifications = [
        {"level": "note", "message": {"text": f"{attack['title']}: {attack_text.check_sentence(attack, check)}"}}
        for check in attack["checks"]
        if not check["exceeded"]
    ]
    if not attack["checks"]:
        said = f"{attack['title']}: {attack_text.checks_sentence(attack)} {' '.join(attack['summary'])}"
        notifications.append({"level": "note", "message": {"text": said}})
    results = [_exceeded(attack, check, name) for check in attack["checks"] if check["exceeded"]]
    rules = [_rule(name, _title(name), short, ATTACK_HELP)]
    return _log(attack["program"].partition(" ")[2], rules, results, notifications, attack["command"])


def hints_to_sarif(
    hints: Sequence[Mapping[str, Any]], rules: Mapping[str, tuple[str, str]], program: str, command: str
) -> dict[str, Any]:
    """Hints of `dpassay lint` as a SARIF log: notes, never errors.

    Args:
        hints: each with "file", "line", "rule", "function", "code" and "message".
        rules: of each rule what is seen and how to mend it.
        program: name and version of what wrote them.
        command: the command line.
    """
    names = list(rules)
    described = [_rule(name, _title(name), f"Hint: {what}.", mend, hint=True) for name, (what, mend) in rules.items()]
    results = []
    for hint in hints:
        place = {"mechanism": hint["function"] or hint["file"], "location": hint}
        identity = [hint["rule"], hint["file"], hint["function"], hint["code"]]  # not the line, which moves
        results.append(
            {
                "ruleId": hint["rule"],
                "ruleIndex": names.index(hint["rule"]),
                "level": "note",
                "message": {"text": f"Hint, no verdict: {hint['message']}"},
                "locations": [_location(place)],
                "partialFingerprints": {"dpassayHint/v1": _digest(identity)},
                "properties": dict(hint),
            }
        )
    return _log(program.partition(" ")[2], described, results, [], command)


def scan_to_sarif(content: Mapping[str, Any], rules: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """What a scan found violated, as errors; its hints as notes; what depends on the reading as notifications.

    Args:
        content: described by `scan.schema.json`.
        rules: of hints, as in `hints_to_sarif`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    scan = validate_scan(content)
    hints = hints_to_sarif(scan["hints"], rules, scan["program"], scan["command"])["runs"][0]
    results = [_violated(scan, found) for found in scan["judged"] if found["outcome"] == "violated"]
    for result in hints["results"]:
        result["ruleIndex"] += 1
    notifications = [
        {"level": "warning", "message": {"text": f"{found['name']}: {found['outcome']}; {found['explanation']}"}}
        for found in scan["judged"]
        if found["outcome"] == "depends on the reading"
    ]
    notifications += [
        {"level": "note", "message": {"text": f"{each['name']} was not judged: {each['reason']}"}}
        for each in scan["not_judged"]
    ]
    named = "claim-refuted"
    rule = _rule(named, NAMES[named], "A claim about privacy is false.", SCAN_HELP)
    listed = [rule, *hints["tool"]["driver"]["rules"]]
    version = scan["program"].partition(" ")[2]
    return _log(version, listed, [*results, *hints["results"]], notifications, scan["command"])


def _violated(scan: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    file, _, line = found["where"].rpartition(":")
    place = {"mechanism": found["name"]} | ({"location": {"file": file, "line": int(line)}} if file else {})
    identity = ["scan", scan["package"], found["kind"], found["name"], found["claim"], found["relation"]]
    return {
        "ruleId": "claim-refuted",
        "ruleIndex": 0,
        "kind": "fail",
        "level": "error",
        "message": {"text": " ".join([f"{found['name']}: {found['explanation']}.", *found["details"]])},
        "locations": [_location(place)],
        "partialFingerprints": {"dpassayScan/v1": _digest(identity)},
        "properties": dict(found),
    }


def _log(version: str, rules: list[Any], results: list[Any], notifications: list[Any], command: str) -> dict[str, Any]:
    driver = {"name": "dpassay", "rules": rules, **({"version": version} if version else {})}
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": notifications}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [{**invocation, **({"commandLine": command} if command else {})}],
                "results": results,
            }
        ],
    }


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


def _rule(name: str, title: str, short: str, advice: str, hint: bool = False) -> dict[str, Any]:
    precision = {"precision": "low"} if hint else {"precision": "very-high", "security-severity": "8.0"}
    return {
        "id": name,
        "name": title,
        "shortDescription": {"text": short},
        "fullDescription": {"text": f"{short} {advice}"},
        "help": {"text": advice},
        "defaultConfiguration": {"level": "note" if hint else "error"},
        "properties": {"tags": ["security", "privacy"], **precision},
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


def _exceeded(attack: Mapping[str, Any], check: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One exceeded limit; its fingerprint is the same in every run, whatever the seed, the data and the numbers."""
    metric = next(each for each in attack["metrics"] if each["name"] == check["metric"])
    identity = [name, attack["mechanism"], attack["parameters"], attack["settings"].get("method"), check["metric"]]
    words = [attack_text.check_sentence(attack, check), metric["meaning"], *attack["summary"]]
    return {
        "ruleId": name,
        "ruleIndex": 0,
        "kind": "fail",
        "level": "error",
        "message": {"text": " ".join(words)},
        "locations": [_location(attack)],
        "partialFingerprints": {"dpassayAttack/v1": _digest(identity)},
        "properties": {"check": check, "metric": metric, **{key: attack[key] for key in ATTACK_NUMBERS}},
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
        artifact = {"uri": quote(audit["mechanism"], safe="/.-_~", errors="replace")}
    elif PurePosixPath(known["file"]).is_absolute():
        artifact = {"uri": f"file://{quote(known['file'], errors='replace')}"}
    else:
        artifact = {"uri": quote(known["file"], errors="replace"), "uriBaseId": "%SRCROOT%"}
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
    return _digest(identity)


def _digest(identity: list[Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
