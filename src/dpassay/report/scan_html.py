"""A scan as one HTML file that needs nothing else: no server, network or script."""

from collections.abc import Mapping
from typing import Any

from dpassay.report import scan_text
from dpassay.report.html import environment, printable
from dpassay.report.schema import validate_scan

BADGES = {"violated": "refuted", "depends on the reading": "open", "not refuted": "not refuted", "holds": "holds"}
"""Outcome -> the mark that stands for it on all pages."""


def render_scan(content: Mapping[str, Any]) -> str:
    """The report as the text of one HTML file; equal scans give equal bytes.

    Args:
        content: described by `scan.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    scan = printable(validate_scan(content))
    findings = [each for each in scan["judged"] if each["outcome"] in ("violated", "depends on the reading")]
    return (
        environment()
        .get_template("scan.html.j2")
        .render(
            scan=scan,
            title=scan_text.title(scan),
            counts=scan_text.counts(scan),
            guarantee=scan_text.guarantee(scan),
            findings=[(each, scan_text.rows(each)) for each in findings],
            others=[each for each in scan["judged"] if each not in findings],
            badges=BADGES,
            meanings=list(scan_text.MEANINGS.items()),
        )
    )
