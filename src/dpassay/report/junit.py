"""Audits as test results: JUnit XML, one test case per audit, as continuous-integration services read it."""

import math
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from dpassay.report import audit_text
from dpassay.report.schema import validate_audits

UNREPRESENTABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2
NUMBERS = (
    "parameter_name", "parameter_lower", "epsilon_lower", "failure_probability", "mode", "representation", "looks",
    "seed", "run", "command",
)  # fmt: skip


def to_junit(content: Mapping[str, Any]) -> str:
    """One audit, or a session's list of audits, as the text of a JUnit XML file.

    A refuted claim is a failure, unless its test expects it. An open verdict is a skipped test, since nothing was
    decided. A test that passes says what it does not show.

    Args:
        content: an audit or a list of them, described by `audit.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    audits = validate_audits(content)
    outcomes = [audit["verdict"]["outcome"] for audit in audits]
    counts = {
        "tests": str(len(audits)),
        "failures": str(sum(audit_text.rule(audit) is not None for audit in audits)),
        "errors": "0",
        "skipped": str(outcomes.count("open")),
        "time": f"{math.fsum(audit['seconds'] for audit in audits):.3f}",
    }
    root = ET.Element("testsuites", {"name": "dpassay", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "dpassay", **counts})
    for audit in audits:
        suite.append(_case(audit))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(audit: Mapping[str, Any]) -> ET.Element:
    names = {
        "classname": f"dpassay.{audit['mechanism']}",
        "name": f"{audit_text.title(audit)} is {audit['claim']['text']}",
    }
    known = audit.get("location")
    if known is not None:
        names |= {"file": known["file"], "line": str(known["line"])}
    case = ET.Element("testcase", {key: _text(value) for key, value in names.items()})
    case.set("time", f"{audit['seconds']:.3f}")
    properties = ET.SubElement(case, "properties")
    listed = {key: audit[key] for key in NUMBERS}
    listed |= {f"samples.{key}": value for key, value in audit["samples"].items()}
    listed |= {f"claim.{key}": value for key, value in audit["claim"].items()}
    event = audit_text.best_event(audit)
    if event is not None:
        listed |= {f"event.{key}": value for key, value in event.items()}
    for key, value in listed.items():
        if value is not None:
            ET.SubElement(properties, "property", {"name": key, "value": _text(str(value))})
    kind, headline = audit_text.rule(audit), _text(audit_text.headline(audit))
    if kind is not None:
        ET.SubElement(case, "failure", {"message": headline, "type": kind}).text = _text(
            "\n".join([audit_text.finding(audit), *audit_text.next_steps(audit), audit["command"]])
        )
    elif audit["verdict"]["outcome"] == "open":
        explanation = _text(f"{headline} {audit['verdict']['explanation']}")
        ET.SubElement(case, "skipped", {"message": explanation})
    else:
        unseen = [] if audit["verdict"]["outcome"] == "refuted" else audit_text.blind_spots(audit)
        ET.SubElement(case, "system-out").text = _text(
            "\n".join([audit_text.headline(audit), audit_text.guarantee(audit), *unseen])
        )
    return case


def _text(value: str) -> str:
    return UNREPRESENTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
