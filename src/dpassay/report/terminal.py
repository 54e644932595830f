"""What the command line prints: the verdicts, an audit, an attack."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import rich.box
import rich.console
import rich.padding
import rich.table
import rich.text

from dpassay.core.text import finding, first_sentence, loss
from dpassay.report import attack_text, audit_text, summary

if TYPE_CHECKING:
    from dpassay.judging.verification import Run

STYLES = {"holds": "green", "refuted": "red", "vacuous": "magenta", "not refuted": "cyan", "open": "yellow"}
CHECK_STYLES = {"exceeded": "red", "kept": "green", "not measured": "red"}
LONGEST_NAME = 24  # characters of a table's cell that is not broken into lines
LONGEST_LINE = 60  # of one that is
TABLE_WIDTH = 120  # columns of a terminal that show the table of verdicts; narrower ones have lines


def print_audit(audit: Mapping[str, Any]) -> None:
    """One audit, as JSON: the verdict, what it rests on, and what it could not have seen."""
    console, outcome = _console(), audit["verdict"]["outcome"]
    console.print(
        rich.text.Text.assemble((outcome.upper(), f"bold {STYLES[outcome]}"), "  ", audit_text.headline(audit))
    )
    console.print(_labeled(audit_text.rows(audit)), highlight=False)


def print_attack(attack: Mapping[str, Any]) -> None:
    """One attack, as JSON: who attacks, what was measured, what privacy permits, and the limits that were set."""
    console, threat = _console(), attack["threat_model"]
    console.print(rich.text.Text(attack["title"], style="bold"))
    console.print(rich.text.Text(" ".join(attack["summary"])))
    rows = [(f"attacker {key}", threat[key]) for key in ("knows", "does", "sees")]
    hint = " Give --data PATH to attack your own." if attack_text.is_synthetic(attack) else ""
    rows.append(("data", attack_text.dataset_sentence(attack) + hint))
    console.print(_labeled(rows), highlight=False)
    table = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    for column in ("value", "95% interval", "trials"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("what it means", ratio=1)
    for metric in attack["metrics"]:
        trials = f"{metric['trials']:,}" if metric["trials"] else ""
        cells = (metric["name"], attack_text.quantity(metric["value"]), attack_text.interval(metric), trials)
        table.add_row(*map(rich.text.Text, (*cells, metric["meaning"])))
    console.print(table)
    rows = [("privacy", f"{each['what']}: {attack_text.privacy_sentence(each)}") for each in attack["privacy"]]
    rows += [("claims", attack_text.verdicts_sentence(attack))] * bool(attack["verdicts"])
    rows += [("repair", attack["repair"]["text"])] if attack["repair"] else []
    rows.append(("run", f"{attack['mechanism']}, {attack['seconds']:.3g} s, seed {attack['seed']}"))
    console.print(_labeled(rows), highlight=False)
    for check in attack["checks"]:
        state = attack_text.state(check)
        mark = (state.upper(), f"bold {CHECK_STYLES[state]}")
        console.print(rich.text.Text.assemble(mark, "  ", attack_text.check_sentence(attack, check)))


def print_verdicts(run: "Run") -> None:
    """The table of verdicts, and one line that sums it up."""
    console = _console()
    wide = console.width >= TABLE_WIDTH
    table = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("evidence", max_width=12)
    table.add_column("loss / claim", max_width=14)
    table.add_column("why", ratio=1)
    for item in run.judged:
        verdict = item.verdict
        kinds = " ".join(dict.fromkeys(record.kind for record in verdict.evidence))
        mark = "" if item.as_expected else f" (expected {item.expected})"
        found = rich.text.Text(finding(verdict.outcome, verdict.misprint) + mark, style=STYLES[verdict.outcome])
        level = f"{verdict.level or ''}{', cites' if verdict.rests_on else ''}"
        lost = loss(verdict.epsilon_lower, verdict.epsilon_claimed)
        why = rich.text.Text(first_sentence(verdict.explanation))
        if wide:
            table.add_row(item.claim.id, found, level, kinds, lost, why)
        else:
            rest = "; ".join(filter(None, (level, kinds.replace(" ", ", "), lost and f"loss / claim {lost}")))
            console.print(rich.text.Text.assemble((item.claim.id, "bold"), "  ", found, f"  {rest}"))
            console.print(rich.padding.Padding(why, (0, 0, 0, 4)))
    if wide:
        console.print(table)
    verdicts = [item.verdict.to_json() for item in run.judged]
    tally = summary.tally({item.claim.id: {"source": item.claim.source} for item in run.judged}, verdicts)
    console.print(f"{tally}. Proved at the level {summary.levels(verdicts)}.", highlight=False)
    console.print(f"Judged on {run.data.name} ratings in {run.seconds:.0f} s.", highlight=False)
    differing = ", ".join(item.claim.id for item in run.unexpected)
    console.print(
        f"[red]Differs from the reviewed verdicts: {differing}[/red]"
        if differing
        else "All as in the reviewed verdicts.",
        highlight=False,
    )


def print_tables(tables: Iterable[Mapping[str, Any]]) -> None:
    """Evidence tables, as the report shows them."""
    console = _console()
    for content in tables:
        table = rich.table.Table(
            title=content["title"], title_justify="left", box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
        )
        rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in content["rows"]]
        for column, *cells in zip(content["columns"], *rows, strict=True):
            longest = max(map(len, cells), default=0)
            # Numbers and names stay whole: headings and sentences are what is broken into lines.
            heading = "\n".join(textwrap.wrap(str(column), max(longest, 8), break_long_words=False))
            whole = longest <= LONGEST_NAME
            table.add_column(rich.text.Text(heading), no_wrap=whole, max_width=LONGEST_LINE, overflow="fold")
        for row in rows:
            table.add_row(*map(rich.text.Text, row))
        if not console.is_terminal:
            unbounded = console.options.update(max_width=10_000)
            console.width = max(console.width, console.measure(table, options=unbounded).maximum)
        console.print(table)


def _labeled(rows: Iterable[tuple[str, str]]) -> rich.table.Table:
    grid = rich.table.Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(ratio=1)
    for label, text in rows:
        grid.add_row(label, rich.text.Text(text))
    return grid


def _console() -> rich.console.Console:
    console = rich.console.Console()
    return console if console.is_terminal else rich.console.Console(width=160)  # a log has no width to fit
