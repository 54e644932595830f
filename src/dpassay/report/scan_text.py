"""A scan in words: what a terminal shows, and the private drafts for a package's maintainers."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from dpassay.core.text import labeled, shortened

Scan = Mapping[str, Any]
MEANINGS: Mapping[str, str] = {
    "violated": "What it claims is false: the pair, event or formula shown breaks it, under every usual reading.",
    "depends on the reading": "False if one kind of neighbors is meant, not refuted for the other. The package does "
    "not say which it means.",
    "not refuted": "No violation was found in the time there was. That is no proof of privacy.",
    "holds": "Proved, or certified for the call shown.",
}
_MOST_HINTS = 10
_WHOLE: Mapping[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def title(scan: Scan) -> str:
    """What was scanned."""
    version = f" {scan['package_version']}" if scan["package_version"] else ""
    about = "" if scan["target"] in (scan["package"], "") else f", {scan['target']}"
    return f"{scan['package']}{version}{about}"


def counts(scan: Scan) -> str:
    """How many of each outcome."""
    outcomes = [each["outcome"] for each in scan["judged"]]
    told = [f"{outcomes.count(name)} {name}" for name in MEANINGS if name in outcomes]
    if not scan["judged"] and not scan["not_judged"]:
        return "nothing was found in it that looks like a claim of privacy"
    return ", ".join([*told, f"{len(scan['not_judged'])} not judged"])


def guarantee(scan: Scan) -> str:
    """What the failure probability is about."""
    shares = [f"{share:.3g}" for share in scan["shares"]]
    rounds = f" ({', '.join(shares)} for each mechanism in the rounds that judge it)" if shares else ""
    return (
        f"The probability that samples accuse anything that keeps its claim is at most {scan['failure_probability']:g} "
        f"for the whole scan{rounds}; formulas, accountants, maps and proofs are judged without sampling."
    )


def rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What stands below the name of something judged: (label, sentence)."""
    shown = [
        ("where", found["where"]),
        ("claim", f"{found['claim']} ({found['source']})"),
        ("found", found["explanation"]),
    ]
    shown += [("", text) for text in found["details"]]
    shown += [(f"dataset {number}", shortened(found[f"dataset{number}"], 300)) for number in (1, 2)]
    shown += [
        ("reading", f"{each['relation']}: {each['outcome']}; {each['explanation']}") for each in found["readings"]
    ]
    shown += [("note", text) for text in found["notes"]]
    return [(label, text) for label, text in shown if text]


def plain_text(scan: Scan) -> str:
    """All of it for a terminal: findings first, with code that repeats each."""
    parts = [f"{title(scan)}: {counts(scan)}"]
    for found in scan["judged"]:
        if found["outcome"] in ("violated", "depends on the reading"):
            heading = f"{found['outcome'].upper()}  {found['name']}"
            parts.append(f"{labeled(heading, rows(found))}\n{_code(found)}")
    for outcome in ("not refuted", "holds"):
        parts.append(_listed(outcome.upper(), (_line(each) for each in scan["judged"] if each["outcome"] == outcome)))
    parts.append(_listed("NOT JUDGED", (f"{each['name']}: {each['reason']}" for each in scan["not_judged"])))
    parts.append(_listed("HINTS, no verdicts (dpassay lint)", _hints(scan)))
    parts.append("\n".join(textwrap.wrap(guarantee(scan), 100)))
    return "\n\n".join(filter(None, parts))


def _line(found: Mapping[str, Any]) -> str:
    return f"{found['name']}: {found['claim']}; {found['engine']}: {found['explanation']}"


def _listed(heading: str, lines: Iterable[str]) -> str:
    shown = [textwrap.fill(line, 100, initial_indent="  ", subsequent_indent="    ", **_WHOLE) for line in lines]
    return "\n".join([heading, *shown]) if shown else ""


def _hints(scan: Scan) -> list[str]:
    hints = [f"{each['file']}:{each['line']}: {each['rule']}: {each['message']}" for each in scan["hints"]]
    more = len(hints) - _MOST_HINTS
    return [*hints[:_MOST_HINTS], *([f"and {more} more: dpassay lint {scan['target']}"] if more > 0 else [])]


def _code(found: Mapping[str, Any]) -> str:
    return "\n" + textwrap.indent(found["code"], "    ") if found["code"] else ""


def drafts(scan: Scan) -> dict[str, str]:
    """A private draft for the maintainers of each finding: file name -> Markdown. They are sent by nobody."""
    found = [each for each in scan["judged"] if each["outcome"] == "violated"]
    return {f"{number:02}-{_slug(each['name'])}.md": draft(scan, each) for number, each in enumerate(found, 1)}


def draft(scan: Scan, found: Mapping[str, Any]) -> str:
    """One finding, for whoever maintains the package."""
    pair = [f"Dataset {number}: `{found[f'dataset{number}']}`\n" for number in (1, 2) if found[f"dataset{number}"]]
    details = [f"- {text}" for text in (*found["details"], *found["notes"])]
    version = f" {scan['package_version']}" if scan["package_version"] else ""
    command = f", `{scan['command']}`" if scan["command"] else ""
    relation = f", neighbors: {found['relation']}" if found["relation"] else ""
    parts = [
        f"# PRIVATE DRAFT: {found['name']} does not keep its claim",
        "Private draft, written by a program and sent to nobody. Before you report it: run the code, check that the "
        "claim and the neighbors are what the documentation promises, and use the package's private channel for "
        "security reports.",
        f"Package: {scan['package']}{version}. Where: `{found['where'] or found['name']}`.",
        f"Claim: {found['claim']} ({found['source']}{relation}).",
        f"## What was found\n\n{found['explanation']}.",
        "\n".join(pair),
        "\n".join(details),
        f"## To see it again\n\n```python\n{found['code']}\n```" if found["code"] else "",
        f"Found by {scan['program']}{command}. {guarantee(scan)}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _slug(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-").lower()[:80]
