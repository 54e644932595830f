"""Checks runs, audits, attacks and certificates against their JSON Schemas (2020-12), which ship beside this module."""

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dpassay.core.errors import InvalidInput
from dpassay.core.extras import one_line

REPAIR: Mapping[str, str] = {
    "attack": "attack --json",
    "audit": "audit --json",
    "certificate": "verify",
    "proof": "prove --json",
    "scan": "scan --json",
    "verdicts": "verify",
}


def schema(name: str) -> dict[str, Any]:
    """The schema `verdicts`, `certificate`, `audit`, `attack`, `proof` or `scan`, as JSON.

    Raises:
        InvalidInput: no schema has this name.
    """
    if name not in REPAIR:
        raise InvalidInput(f"no schema is called {name!r}; choose one of {', '.join(REPAIR)}")
    content: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}.schema.json").read_text(encoding="utf-8"))
    return content


def validate_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """The run as plain JSON values (tuples become lists), once it follows `verdicts.schema.json`.

    Beyond the schema: each verdict is about a claim of the run, no claim has two, each claim is filed under its own
    id, rows are as long as their headings, and both datasets of a witness have one shape.

    Raises:
        InvalidInput: the run does not; the one line names the place.
    """
    content = _validated("verdicts", run, "the run")
    identities = [verdict["id"] for verdict in content["verdicts"]]
    _reject("the run has verdicts on claims it does not describe", sorted({*identities} - {*content["claims"]}))
    _reject("the run has several verdicts on", sorted({name for name in identities if identities.count(name) > 1}))
    _reject("the run files claims under other ids", [k for k, claim in content["claims"].items() if claim["id"] != k])
    for verdict in content["verdicts"]:
        for record in verdict["evidence"]:
            _rectangular(verdict["id"], record)
        if verdict["witness"] is not None:
            _neighboring(verdict["id"], verdict["witness"])
    return content


def validate_audits(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The audits of a file as plain JSON values, once it follows `audit.schema.json`: one audit, or a list of them.

    Beyond the schema: no event counts more than was sampled, and rows are as long as their headings.

    Raises:
        InvalidInput: the content does not; the one line names the place.
    """
    listed = content.get("format") == "dpassay-audits" if isinstance(content, Mapping) else False
    branch = "audits" if listed else "audit"  # a failure is then explained by the branch that was meant
    valid = _validated("audit", content, "the file of audits" if listed else "the audit", f"#/$defs/{branch}")
    audits: list[dict[str, Any]] = valid["audits"] if listed else [valid]
    for audit in audits:
        _rectangular(audit["mechanism"], audit)
        for event in audit["events"]:
            if event["count1"] > event["samples1"] or event["count2"] > event["samples2"]:
                raise InvalidInput(
                    f"{audit['mechanism']}: event {event['description']!r} counts more than was sampled; "
                    "write it again with audit --json"
                )
    return audits


def validate_attack(content: Mapping[str, Any]) -> dict[str, Any]:
    """An attack's report as plain JSON values, once it follows `attack.schema.json`.

    Beyond the schema: metrics have different names, each check is of one of them and says what their numbers say,
    no interval is upside down, and rows are as long as their headings.

    Raises:
        InvalidInput: the content does not; the one line names the place.
    """
    valid = _validated("attack", content, "the attack")
    name = valid["title"]
    values = {metric["name"]: metric["value"] for metric in valid["metrics"]}
    if len(values) < len(valid["metrics"]):
        raise InvalidInput(f"{name}: two metrics have the same name; rename one")
    for metric in (*valid["metrics"], *(entry["advantage"] for entry in valid["privacy"] if entry["advantage"])):
        low, high = metric["low"], metric["high"]
        if (low is None) != (high is None) or (low is not None and float(low) > float(high)):
            raise InvalidInput(f"{name}: metric {metric['name']!r} has the interval {low} to {high}; mend the attack")
    for check in valid["checks"]:
        told = check["metric"] in values and check["value"] == values[check["metric"]]
        if not told or check["exceeded"] == (float(check["value"]) <= check["limit"]):
            raise InvalidInput(f"{name}: the check of {check['metric']!r} does not fit the metrics; run it again")
    for record in (valid, valid["victim"], valid["repair"]):
        _rectangular(name, {"tables": [], "plots": [], **(record or {})})
    return valid


def validate_proof(content: Mapping[str, Any]) -> dict[str, Any]:
    """A proof's report as plain JSON values, once it follows `proof.schema.json`.

    Beyond the schema: what the proof says of the program's lines can be read.

    Raises:
        InvalidInput: the content does not; the one line names the place.
    """
    from dpassay.report.proof_text import notes

    valid = _validated("proof", content, "the proof")
    try:
        notes(valid)
    except (AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:
        raise InvalidInput(
            f"the proof does not fit its program ({one_line(error)}); write it again with {REPAIR['proof']}"
        ) from error
    return valid


def validate_scan(content: Mapping[str, Any]) -> dict[str, Any]:
    """A scan's report as plain JSON values, once it follows `scan.schema.json`.

    Raises:
        InvalidInput: the content does not; the one line names the place.
    """
    return _validated("scan", content, "the scan")


def validate_certificate(content: Mapping[str, Any]) -> dict[str, Any]:
    """A certificate file's content as plain JSON values, once it follows `certificate.schema.json`.

    This is a check of form: whether the certificate shows anything is for `dpassay.replay` to say.

    Raises:
        InvalidInput: it does not; the one line names the place.
    """
    return _validated("certificate", content, "the certificate")


def _validated(name: str, content: Mapping[str, Any], what: str, part: str = "") -> dict[str, Any]:
    from jsonschema.exceptions import best_match  # the command line's help and error paths must not pay for it

    try:
        plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False), parse_int=_drawable)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what} is not JSON ({error}); write infinities as strings and arrays as lists") from error
    failure = best_match(_validator(name, part).iter_errors(plain))
    if failure is not None:
        place = "/".join(str(step) for step in failure.absolute_path) or "the top level"
        message = " ".join(failure.message.split())
        short = message if len(message) <= 160 else f"{message[:60]} ... {message[-90:]}"
        raise InvalidInput(
            f"{what} does not follow {name}.schema.json at {place}: {short}; write it again with {REPAIR[name]}"
        )
    return plain


def _drawable(digits: str) -> int:
    """An integer that a plot can draw."""
    if math.isinf(float(digits)):
        raise ValueError(f"an integer of {len(digits.lstrip('-'))} digits is beyond what a number can be")
    return int(digits)


@cache
def _validator(name: str, part: str) -> Any:
    from jsonschema import Draft202012Validator

    whole = schema(name)
    return Draft202012Validator({"$ref": part, "$defs": whole["$defs"]} if part else whole)


def _reject(problem: str, names: Iterable[str]) -> None:
    listed = ", ".join(names)
    if listed:
        raise InvalidInput(f"{problem}: {listed}; write it again with verify --json")


def _rectangular(claim: str, record: Mapping[str, Any]) -> None:
    for table in record["tables"]:
        if any(len(row) != len(table["columns"]) for row in table["rows"]):
            raise InvalidInput(
                f"{claim}: table {table['title']!r} has rows longer or shorter than its headings; mend it"
            )
    for plot in record["plots"]:
        for series in plot["series"]:
            if len({len(series[key]) for key in ("x", "y", "low", "high") if key in series}) > 1:
                raise InvalidInput(
                    f"{claim}: series {series['label']!r} of plot {plot['title']!r} has x, y, low and high of unequal "
                    "lengths; give one of each per point"
                )


def _neighboring(claim: str, witness: Mapping[str, Any]) -> None:
    first, second = witness["dataset1"], witness["dataset2"]
    if len({len(row) for row in (*first, *second)}) > 1 or len(first) != len(second):
        raise InvalidInput(f"{claim}: the witness's datasets must be two matrices of one shape; mend the auditor")
    differing = [[u, i] for u, row in enumerate(first) for i, value in enumerate(row) if value != second[u][i]]
    if differing != sorted(witness["changed"]):
        raise InvalidInput(
            f"{claim}: the witness's datasets differ in {differing}, not in its 'changed'; mend the auditor"
        )
