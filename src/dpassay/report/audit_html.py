"""Audits as one HTML file that needs nothing else: no server, no network, no script.

Everything an audit says is escaped, and the page forbids itself every outside resource and every script.
"""

from collections.abc import Mapping
from typing import Any

from dpassay.core.text import several
from dpassay.report import audit_text
from dpassay.report.html import OUTCOME_MEANINGS, environment, page_plot, page_table, printable
from dpassay.report.plots import render_sandwich
from dpassay.report.schema import validate_audits

OUTCOMES = ("refuted", "not refuted", "open")
RELATIONS_SAID = "this pair of datasets only; no neighboring relation was stated"


def render_audits(content: Mapping[str, Any]) -> str:
    """The report as the text of one HTML file; equal audits give equal bytes.

    Args:
        content: an audit or a list of them, described by `audit.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    audits = [printable(audit) for audit in validate_audits(content)]
    pages = [_page(audit, f"audit-{index}") for index, audit in enumerate(audits, start=1)]
    counts = [(outcome, sum(audit["verdict"]["outcome"] == outcome for audit in audits)) for outcome in OUTCOMES]
    templates = environment()
    templates.filters["number"] = audit_text.number
    return templates.get_template("audit.html.j2").render(
        pages=pages,
        program=audits[0]["program"] if audits else "dpassay",
        heading=_heading(audits, counts),
        outcomes=[(outcome, number, OUTCOME_MEANINGS[outcome]) for outcome, number in counts],
    )


def _heading(audits: list[Any], counts: list[tuple[str, int]]) -> str:
    if len(audits) == 1:
        return f"{audit_text.title(audits[0])}: {audits[0]['verdict']['outcome']}"
    said = ", ".join(f"{number} {outcome}" for outcome, number in counts if number)
    return f"{several(len(audits), 'audit')}: {said}" if audits else "No audit was made"


def _page(audit: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What one audit's section shows, computed beforehand so that the template only places it."""
    event_tables, seen = [], audit_text.seen(audit)
    headline = dict(zip(("label", "event", "counts"), seen[-1], strict=True)) if seen else None
    if audit["events"]:
        event_tables = [page_table(_event_table(audit))]
    others = [table for table in audit["tables"] if table["columns"][:1] != ["event"]]  # ours of events says more
    return {
        "name": name,
        "audit": audit,
        "title": audit_text.title(audit),
        "outcome": audit["verdict"]["outcome"],
        "headline": audit_text.headline(audit),
        "explanation": _beyond(audit),
        "bound": audit_text.at_least(audit),
        "claimed": audit_text.claimed(audit),
        "sandwich": render_sandwich(audit["sandwich"], audit["parameter_name"], f"{name}-sandwich"),
        "seen": seen,
        "shown": headline if audit["verdict"]["outcome"] == "refuted" else None,
        "guarantee": audit_text.guarantee(audit),
        "blind_spots": [] if audit["verdict"]["outcome"] == "refuted" else audit_text.blind_spots(audit),
        "next_steps": audit_text.next_steps(audit),
        "relation": audit["relation"] or RELATIONS_SAID,
        "samples": audit_text.drawn(audit),
        "ledger": _ledger(audit),
        "event_tables": event_tables,
        "tables": [page_table(table) for table in others],
        "plots": [page_plot(plot, f"{name}-plot-{index}") for index, plot in enumerate(audit["plots"], start=1)],
        "summaries": [record["summary"] for record in audit["verdict"]["evidence"]],
        "assumptions": audit["verdict"].get("assumptions", []),
    }


def _event_table(audit: Mapping[str, Any]) -> dict[str, Any]:
    pairs = len({event["pair"] for event in audit["events"]}) > 1
    curve = len({(event["epsilon"], event["delta"]) for event in audit["events"]}) > 1
    betting = any(event["log_e_value"] is not None for event in audit["events"])
    columns = ["event", "likelier under", "dataset 1", "rate 1", "dataset 2", "rate 2", "loss as counted, nats"]
    columns += ["judged at (epsilon, delta)"] * curve + ["pair"] * pairs + ["weight"] * betting
    columns.append("log e-value, nats" if betting else "p-value")
    rows = []
    for event in sorted(audit["events"], key=audit_text.evidence, reverse=True):
        row: list[Any] = [event["description"], event["direction"].replace("dataset", "dataset ")]
        for side in (1, 2):
            count, samples = event[f"count{side}"], event[f"samples{side}"]
            row += [f"{count:,} of {samples:,}", f"{count / samples:.3g}" if samples else ""]
        loss = audit_text.event_loss(event)
        row.append("" if loss != loss else audit_text.number(loss, 3))
        if curve:
            row.append(f"({audit_text.number(event['epsilon'])}, {audit_text.number(event['delta'])})")
        row += [event["pair"] + 1] * pairs + [f"{event['weight']:.3g}"] * betting
        value = event["log_e_value"] if betting else event["p_value"]
        by = " (guesses)" if event.get("guesses") else ""
        row.append("" if value is None else audit_text.number(value, 3) + by)
        rows.append(row)
    return {"title": "Events, counted in samples that had no part in choosing them", "columns": columns, "rows": rows}


def _ledger(audit: Mapping[str, Any]) -> str:
    ledger = audit["ledger"]
    if ledger is None:
        return ""
    number = audit_text.number
    return (
        f"{ledger['path']}: {several(ledger['runs'], 'run')}, together evidence of "
        f"{number(ledger['log_e_value'])} nats; {number(ledger['log_threshold'])} nats refute"
    )


def _beyond(audit: Mapping[str, Any]) -> str:
    """The verdict's explanation, where what stands beside it does not say it already."""
    outcome, explanation = audit["verdict"]["outcome"], str(audit["verdict"]["explanation"])
    counted = outcome == "refuted" and audit["events"] and audit["representation"] == "values"
    return "" if counted or outcome == "not refuted" or explanation in audit_text.headline(audit) else explanation
