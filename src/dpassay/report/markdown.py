"""A run as a Markdown page for `docs/`: every verdict with its explanation, and the tables behind it."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["render"]


def render(run: Mapping[str, Any]) -> str:
    """The page, from the mapping that `verify --json` writes.

    Numbers and sentences only: no ratings and no certificates.
    """
    data = run["data"]
    lines = [
        f"# Verdicts on {', '.join(run['papers'].values())}",
        "",
        f"Written by `{_portable(run['command'])}` (dpassay {run['dpassay']}, seed {run['seed']}).",
        f"Ratings: {data['name']}, {data['users']} users, {data['items']} items, {data['ratings']} ratings.",
        "",
        *_table(
            ["claim", "verdict", "evidence", "loss / claimed (nats)", "statement"],
            (
                [
                    f"[{verdict['id']}](#{verdict['id'].lower()})",
                    verdict["outcome"],
                    ", ".join(dict.fromkeys(record["kind"] for record in verdict["evidence"])),
                    _loss(verdict),
                    run["claims"][verdict["id"]]["statement"],
                ]
                for verdict in run["verdicts"]
            ),
        ),
    ]
    for verdict in run["verdicts"]:
        lines += ["", *_section(run["claims"][verdict["id"]], verdict)]
    return "\n".join(lines) + "\n"


def _section(claim: Mapping[str, Any], verdict: Mapping[str, Any]) -> list[str]:
    lines = [f"## {claim['id']}", "", f"{claim['statement']} *({claim['place']})*", "", f"    {claim['formula']}"]
    if claim["predicate"]:
        lines += ["", f"Judged by: {claim['predicate']}"]
    if verdict["assumptions"]:
        lines += ["", f"Assuming: {'; '.join(verdict['assumptions'])}."]
    lines += ["", f"**{verdict['outcome']}.** {_escaped(verdict['explanation'])}"]
    if verdict["repair"]:
        lines += ["", f"Repair: {verdict['repair']}"]
    for record in verdict["evidence"]:
        for table in record["tables"]:
            lines += ["", f"**{_escaped(table['title'])}**", "", *_table(table["columns"], table["rows"])]
    return lines


def _table(columns: Iterable[Any], rows: Iterable[Iterable[Any]]) -> list[str]:
    headings = [_cell(column) for column in columns]
    body = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}", *body]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) and math.isfinite(value) else str(value)
    return _escaped(text).replace("\n", " ")


def _escaped(text: str) -> str:
    return re.sub(r"([|*<>])", r"\\\1", text)


def _loss(verdict: Mapping[str, Any]) -> str:
    if verdict["epsilon_lower"] is None:
        return ""
    shown, claimed = (
        value if isinstance(value, str) else f"{value:.4g}"
        for value in (verdict["epsilon_lower"], verdict["epsilon_claimed"])
    )
    return f"{'infinite' if shown == 'inf' else shown} / {claimed}"


def _portable(command: str) -> str:
    """The command without this machine's folders: a path keeps its last part."""
    return re.sub(r"\S*/(?=[^/\s]+)", "", command)
