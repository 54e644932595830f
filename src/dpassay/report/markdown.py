"""A run as Markdown: for each paper a page of verdicts with their tables, and one map from claims to code."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dpassay.core.text import loss

__all__ = ["mapping", "pages", "tables_page"]

AREAS = ("mechanisms", "auditors", "attacks", "proofs")


def pages(run: Mapping[str, Any]) -> dict[str, str]:
    """Paper -> its page, from the mapping that `verify --json` writes.

    Numbers and sentences only: no ratings and no certificates.
    """
    return {paper: _page(run, paper) for paper in run["papers"]}


def mapping(run: Mapping[str, Any]) -> str:
    """Which file and function decides which claim, and how it came out."""
    lines = ["# From the papers' claims to the code", "", f"Written by `{_portable(run['command'])}`."]
    for paper, title in run["papers"].items():
        rows = []
        for verdict in _verdicts(run, paper):
            claim = run["claims"][verdict["id"]]
            module, _, function = claim["decide"].partition(":")
            rows.append([claim["id"], claim["place"], _path(module), function, verdict["outcome"], _kinds(verdict)])
        columns = ["claim", "place in the paper", "file", "function", "verdict", "evidence"]
        lines += ["", f"## {title}", "", *_table(columns, rows)]
    return "\n".join(lines) + "\n"


def tables_page(
    title: str, tables: Iterable[Mapping[str, Any]], command: str = "", images: Mapping[str, str] | None = None
) -> str:
    """Tables of any result ({"title", "columns", "rows"}) as one page, below its images (file name -> title)."""
    lines = [f"# {title}"]
    if command:
        lines += ["", f"Written by `{_portable(command)}`."]
    for name, caption in (images or {}).items():
        lines += ["", f"![{_escaped(caption)}]({name})"]
    for table in tables:
        lines += ["", f"**{_escaped(table['title'])}**", "", *_table(table["columns"], table["rows"])]
    return "\n".join(lines) + "\n"


def _page(run: Mapping[str, Any], paper: str) -> str:
    data = run["data"]
    lines = [
        f"# Verdicts on {run['papers'][paper]}",
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
                    _kinds(verdict),
                    loss(verdict["epsilon_lower"], verdict["epsilon_claimed"]),
                    run["claims"][verdict["id"]]["statement"],
                ]
                for verdict in _verdicts(run, paper)
            ),
        ),
    ]
    for verdict in _verdicts(run, paper):
        lines += ["", *_section(run["claims"][verdict["id"]], verdict)]
    return "\n".join(lines) + "\n"


def _verdicts(run: Mapping[str, Any], paper: str) -> list[Mapping[str, Any]]:
    return [verdict for verdict in run["verdicts"] if run["claims"][verdict["id"]]["paper"] == paper]


def _kinds(verdict: Mapping[str, Any]) -> str:
    return ", ".join(dict.fromkeys(record["kind"] for record in verdict["evidence"]))


def _path(module: str) -> str:
    """The file of a module, from the root of the repository."""
    _, *parts = module.split(".")
    return "/".join(parts if parts[0] in AREAS else ["src", "dpassay", *parts]) + ".py"


def _section(claim: Mapping[str, Any], verdict: Mapping[str, Any]) -> list[str]:
    lines = [f"## {claim['id']}", "", f"{claim['statement']} *({claim['place']})*", "", f"    {claim['formula']}"]
    if claim["predicate"]:
        lines += ["", f"Judged by: {claim['predicate']}"]
    if verdict["assumptions"]:
        lines += ["", f"Assuming: {'; '.join(verdict['assumptions'])}."]
    lines += ["", f"**{verdict['outcome']}.** {_escaped(verdict['explanation'])}"]
    if verdict["arithmetic"] == "executed":
        lines += ["", "About the floating-point program as it runs, not the ideal law."]
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


def _portable(command: str) -> str:
    """The command without this machine's folders: a path keeps its last part."""
    return re.sub(r"\S*/(?=[^/\s]+)", "", command)
