"""A run as Markdown: a page of verdicts for each paper, an index over them, and one map from claims to code."""

import html
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dpassay.core.claims import LEVELS, SOURCES, level_in_words
from dpassay.core.text import finding, first_sentence, loss
from dpassay.report import summary

READING_ORDER = ("refuted", "vacuous", "not refuted", "open", "holds")  # what a reader looks for first
LONGEST_TABLE = 12  # rows of a table that is shown without being asked for
AREAS = ("mechanisms", "auditors", "attacks", "proofs")


def pages(run: Mapping[str, Any]) -> dict[str, str]:
    """Paper -> its page, from the mapping that `verify --json` writes.

    Numbers and sentences only: no ratings, and of certificates the names.
    """
    return {paper: _page(run, paper) for paper in run["papers"]}


def index(run: Mapping[str, Any]) -> str:
    """Every claim of the run, with a link to its place in its paper's page."""
    lines = [
        "# Verdicts",
        "",
        f"Written by {_code(_portable(run['command']))}.",
        "",
        f"{summary.tally(run['claims'], run['verdicts'])}. Proved at the level {summary.levels(run['verdicts'])}.",
        "",
        *[f"- `{level}`: {meaning}" for level, meaning in LEVELS.items()],
        "- no level: nothing is proved (statistics, reproductions, open claims)",
        "",
        "Whose claim each is:",
        "",
        *[f"- `{source}`: {meaning}" for source, meaning in SOURCES.items()],
        "",
        *_table(
            ["paper", "verdicts"],
            (
                [f"[{title}]({paper}.md)", summary.tally(run["claims"], _verdicts(run, paper))]
                for paper, title in run["papers"].items()
            ),
        ),
    ]
    for paper, title in run["papers"].items():
        rows = []
        for verdict in _verdicts(run, paper):
            claim = run["claims"][verdict["id"]]
            statement = first_sentence(claim["statement"])
            said, level = finding(verdict["outcome"], verdict["misprint"]), verdict["level"]
            rows.append([_link(claim["id"], f"{paper}.md"), claim["source"], claim["place"], said, level, statement])
        columns = ["claim", "whose", "place", "verdict", "level", "statement"]
        lines += ["", f"## {_escaped(title)}", "", *_table(columns, rows)]
    return "\n".join(lines) + "\n"


def mapping(run: Mapping[str, Any]) -> str:
    """Which file and function decides which claim, and how it came out."""
    lines = ["# From the papers' claims to the code", "", f"Written by {_code(_portable(run['command']))}."]
    lines += ["", f"{summary.tally(run['claims'], run['verdicts'])}."]
    for paper, title in run["papers"].items():
        rows = []
        for verdict in _verdicts(run, paper):
            claim = run["claims"][verdict["id"]]
            module, _, function = claim["decide"].partition(":")
            said = finding(verdict["outcome"], verdict["misprint"])
            whose, place = claim["source"], claim["place"]
            rows.append([claim["id"], whose, place, _path(module), function, said, _kinds(verdict)])
        columns = ["claim", "whose", "place in the paper", "file", "function", "verdict", "evidence"]
        lines += ["", f"## {_escaped(title)}", "", *_table(columns, rows)]
    return "\n".join(lines) + "\n"


def tables_page(
    title: str, tables: Iterable[Mapping[str, Any]], command: str = "", images: Mapping[str, str] | None = None
) -> str:
    """Tables of any result ({"title", "columns", "rows"}) as one page, below its images (file name -> title)."""
    lines = [f"# {title}"]
    if command:
        lines += ["", f"Written by {_code(_portable(command))}."]
    for name, caption in (images or {}).items():
        lines += ["", f"![{_escaped(caption)}]({name})"]
    for table in tables:
        lines += ["", f"**{_escaped(table['title'])}**", "", *_table(table["columns"], table["rows"])]
    return "\n".join(lines) + "\n"


def _page(run: Mapping[str, Any], paper: str) -> str:
    data, claims, verdicts = run["data"], run["claims"], _verdicts(run, paper)
    lines = [
        f"# Verdicts on {_escaped(run['papers'][paper])}",
        "",
        f"Written by {_code(_portable(run['command']))} (dpassay {_escaped(run['dpassay'])}, seed {run['seed']}).",
        f"Ratings: {_escaped(data['name'])}, {data['users']} users, {data['items']} items, {data['ratings']} ratings.",
        "With `--certificates FOLDER` the same command writes the certificates, which `dpassay replay` checks again.",
        "",
        f"{summary.tally(claims, verdicts)}. [What the symbols mean](#notation).",
    ]
    for source, group in summary.by_source(claims, verdicts).items():
        for name, chosen in summary.by_finding(group, READING_ORDER).items():
            rows = []
            for each in chosen:
                losses = loss(each["epsilon_lower"], each["epsilon_claimed"])
                rows.append([_link(each["id"]), each["level"], _kinds(each), losses, claims[each["id"]]["statement"]])
            columns = ["claim", "level", "evidence", "loss / claimed (nats)", "statement"]
            heading = name.capitalize() if source == "paper" else f"Ours, {name}"
            lines += ["", f"## {heading}: {len(chosen)}", "", *_table(columns, rows)]
    notation = run.get("notation", {}).get(paper, [])
    lines += ["", "## Notation", "", *_table(["symbol", "meaning"], notation)] if notation else []
    for verdict in verdicts:
        lines += ["", *_section(claims[verdict["id"]], verdict)]
    return "\n".join(lines) + "\n"


def _link(claim: str, page: str = "") -> str:
    return f"[{claim}]({page}#{claim.lower()})"


def _verdicts(run: Mapping[str, Any], paper: str) -> list[Mapping[str, Any]]:
    return [verdict for verdict in run["verdicts"] if run["claims"][verdict["id"]]["paper"] == paper]


def _kinds(verdict: Mapping[str, Any]) -> str:
    return ", ".join(dict.fromkeys(record["kind"] for record in verdict["evidence"]))


def _path(module: str) -> str:
    """The file of a module, from the root of the repository."""
    _, *parts = module.split(".")
    return "/".join(parts if parts[0] in AREAS else ["src", "dpassay", *parts]) + ".py"


def _section(claim: Mapping[str, Any], verdict: Mapping[str, Any]) -> list[str]:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", claim["formula"])), default=0))
    lines = [
        f"## {_escaped(claim['id'])}",
        "",
        f"{_escaped(claim['statement'])} *({_escaped(claim['place'])})*",
        "",
        f"{fence}formula",
        claim["formula"],
        fence,
    ]
    if claim["predicate"]:
        lines += ["", f"Judged by: {_escaped(claim['predicate'])}"]
    if verdict["assumptions"]:
        lines += ["", f"Assuming: {_escaped('; '.join(verdict['assumptions']))}."]
    if claim["source"] != "paper":
        lines += ["", f"A claim of ours; {SOURCES[claim['source']]}."]
    lines += ["", f"**{finding(verdict['outcome'], verdict['misprint'])}.** {_escaped(verdict['explanation'])}"]
    lines += ["", f"Misprint: {_escaped(verdict['misprint'])}."] if verdict["misprint"] else []
    for place, told in enumerate(level_in_words(verdict["level"], verdict["rests_on"])):
        lines += ["", f"- {_escaped(told)}" if place else f"Level {_code(verdict['level'])}: {_escaped(told)}."]
    if verdict["arithmetic"] == "executed":
        lines += ["", "About the floating-point program as it runs, not the ideal law."]
    if verdict["repair"]:
        lines += ["", f"Repair: {_escaped(verdict['repair'])}"]
    for record in verdict["evidence"]:
        for table in record["tables"]:
            lines += ["", *_folded(table)]
    if verdict["certificates"]:
        lines += ["", f"Certificates: {', '.join(map(_code, verdict['certificates']))}"]
    lemmas = [certificate for record in verdict["evidence"] if "id" in (certificate := record.get("certificate", {}))]
    if lemmas:
        lines += ["", *(f"- {_code(lemma['id'])}: {_escaped(lemma['shows'])}" for lemma in lemmas)]
    return lines


def _folded(table: Mapping[str, Any]) -> list[str]:
    """A table below its title; one of many rows is folded away."""
    body = _table(table["columns"], table["rows"])
    if len(table["rows"]) <= LONGEST_TABLE:
        return [f"**{_escaped(table['title'])}**", "", *body]
    title = f"{html.escape(table['title'])} ({len(table['rows'])} rows)"
    return ['<details markdown="1">', f"<summary>{title}</summary>", "", *body, "", "</details>"]


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
    """The text as it stands, to GitHub's renderer and Python-Markdown, which share no escape for all of these."""
    return re.sub(r"([|*{])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;").replace("~", "&#126;")


def _code(text: str) -> str:
    """The text as code in a line."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def _portable(command: str) -> str:
    """The command without this machine's folders: a path keeps its last part."""
    return re.sub(r"\S*/(?=[^/\s]+)", "", command)
