"""The report of a run as one HTML file that needs nothing else: no server, no network, no script to be complete.

Everything a run says is escaped; the page forbids itself every outside resource, and runs only the script it ships.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, get_args

import jinja2
from markupsafe import Markup, escape

from dpassay.core.claims import LEVELS, OUTCOMES, SOURCES, EvidenceKind, level_in_words
from dpassay.core.text import listed, nats, probability, scientific, several
from dpassay.report import summary
from dpassay.report.mathml import mathml
from dpassay.report.plots import render_key, render_plot
from dpassay.report.schema import validate_run

FOLDER = Path(__file__).parent

OUTCOME_MEANINGS: Mapping[str, str] = {
    "holds": "The sentence is true as stated, under the assumptions listed with the verdict.",
    "refuted": "The sentence is false as stated: a concrete case shows it.",
    "vacuous": "The sentence can never apply: its own assumptions cannot be met in the paper's setting.",
    "not refuted": "A test looked for a violation and found none. This is not a proof; the verdict says what the test "
    "would have found, and how surely.",
    "open": "Not decided. The verdict says what was tried, or which data were missing.",
}
EVIDENCE_MEANINGS: Mapping[str, str] = {
    "proof": "Steps that two independent solvers or exact algebra check; the level says whether text joins them.",
    "certificate": "A calculation on one stated finite case, in exact fractions or in intervals that hold the value.",
    "witness": "Two datasets that differ in one allowed way and an event whose two probabilities break the claim.",
    "statistics": "Counts from repeated random runs, with the test, its error probability and the number of looks.",
    "reproduction": "The paper's published number beside ours, the spread over random seeds, and how it was run.",
}
ARITHMETIC_MEANINGS: Mapping[str, str] = {
    "ideal": "exact real numbers: about the mathematics, not about a program's rounding",
    "executed": "the floating-point program as it runs",
}
RELATION_MEANINGS: Mapping[str, str] = {
    "add_or_remove_one:rating": "one rating is added or removed",
    "replace_one:rating": "one rating changes its value",
    "replace_one:entry": "one entry changes its value",
    "add_or_remove_one:user": "one user, with all their ratings, is added or removed",
    "replace_one:user": "the ratings of one user change",
}
# Control characters, those that make text run the other way (a hostile name must not rearrange a sentence), and halves
# of surrogate pairs, which are no characters: nothing can draw them.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def render(run: Mapping[str, Any]) -> str:
    """The report as the text of one HTML file; equal runs give equal bytes.

    Args:
        run: what `verify --json` writes, described by `verdicts.schema.json`.

    Raises:
        InvalidInput: the run does not follow the schema.
    """
    run = printable(validate_run(run))
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    verdicts = run["verdicts"]
    names = ["", *(verdict["id"] for verdict in verdicts), ""]
    pages = [
        _page(run, verdict) | {"position": position, "previous": names[position - 1], "next": names[position + 1]}
        for position, verdict in enumerate(verdicts, start=1)
    ]
    titles = summary.papers(run)
    apart = summary.by_source(run["claims"], verdicts)
    return (
        _environment(run)
        .get_template("report.html.j2")
        .render(
            run=run,
            pages=pages,
            titles=titles,
            groups=[(paper, [page for page in pages if page["claim"]["paper"] == paper]) for paper in titles],
            counts=[
                (source, meaning, len(apart[source]), summary.counts(apart[source]))
                for source, meaning in SOURCES.items()
                if source in apart
            ],
            numbers=summary.counts(verdicts),
            tally=summary.tally(run["claims"], verdicts),
            sources=SOURCES,
            outcome_meanings=OUTCOME_MEANINGS,
            evidence_meanings=EVIDENCE_MEANINGS,
            arithmetic_meanings=ARITHMETIC_MEANINGS,
            level_meanings=LEVELS,
            levels=summary.levels(run["verdicts"]),
            kinds=[kind for kind in get_args(EvidenceKind) if any(kind in page["kinds"] for page in pages)],
            agreement=summary.agreement(run),
            differs=bool(summary.differing(run)),
            datasets=summary.datasets(run),
            unjudged=summary.unjudged(run),
            replay=summary.replay_command(run),
            num_certificates=sum(len(verdict["certificates"]) for verdict in verdicts),
            script=Markup(script),
            script_digest=digest,
        )
    )


def factor(value: float | str | None) -> str:
    """e to the privacy loss: how many times likelier an event may become."""
    if value is None:
        return ""
    number = float(value)
    if number == math.inf:
        return "no bound"
    if number > math.log(1e6):
        return scientific(number)
    value = math.exp(number)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def duration(seconds: float) -> str:
    """A time span for people."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def cell(value: Any) -> str:
    """A table cell as text; None is a dash, floats have six digits."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _page(run: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """What one claim's section shows, computed beforehand so that the template only places it."""
    claim = run["claims"][verdict["id"]]
    plots = count(1)
    evidence = [
        {
            **record,
            "tables": [page_table(table) for table in record["tables"]],
            "plots": [page_plot(plot, f"plot-{verdict['id']}-{next(plots)}") for plot in record["plots"]],
        }
        for record in verdict["evidence"]
    ]
    return {
        "claim": claim,
        "verdict": verdict,
        "kinds": list(dict.fromkeys(record["kind"] for record in verdict["evidence"])),
        "differs": verdict["expected"] is not None and verdict["expected"] != verdict["outcome"],
        "judged_on": summary.judged_on(claim, verdict),
        "level": level_in_words(verdict["level"], verdict["rests_on"]),
        "loss": verdict["epsilon_lower"] is not None or verdict["epsilon_claimed"] is not None,
        "evidence": evidence,
        "witness": None if verdict["witness"] is None else _witness(verdict["witness"]),
        "replay": summary.replay_command(run, verdict["certificates"]),
        "text": " ".join([claim["id"], claim["statement"], claim["place"], verdict["explanation"]]).lower(),
    }


def page_plot(plot: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The plot with its drawing and the key of each series; `name` prefixes its ids."""
    series = [{**one, "key": render_key(plot, index)} for index, one in enumerate(plot["series"])]
    return {**plot, "series": series, "drawing": render_plot(plot, name)}


def page_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table with its cells as text, and which columns are set flush right."""
    columns = [[row[index] for row in table["rows"]] for index in range(len(table["columns"]))]
    texts = [_column(values) for values in columns]
    numeric = [bool(values) and all(map(_is_numeric, values)) for values in columns]
    rows = [[column[index] for column in texts] for index in range(len(table["rows"]))]
    return {**table, "numeric": numeric, "rows": rows}


def _column(values: Sequence[Any]) -> list[str]:
    """A column's cells; floats get the same number of decimals where that stays short."""
    texts = [cell(value) for value in values]
    floats = [text for text, value in zip(texts, values, strict=True) if isinstance(value, float)]
    decimals = max((len(text.partition(".")[2]) for text in floats), default=0)
    digits = max((len(text.partition(".")[0].lstrip("-")) for text in floats), default=0)
    if any(not re.fullmatch(r"-?\d+(\.\d+)?", text) for text in floats) or digits + decimals > 8:
        return texts
    return [f"{v:.{decimals}f}" if isinstance(v, float) else t for t, v in zip(texts, values, strict=True)]


def _is_numeric(value: Any) -> bool:
    """Numbers, perhaps with units, signs or intervals."""
    if isinstance(value, str):
        return bool(re.match(r"[-+(\[<>]?\s*\.?\d", value)) or value in ("inf", "-inf", "")
    return not isinstance(value, bool)


def _witness(witness: Mapping[str, Any]) -> dict[str, Any]:
    first, second = witness["dataset1"], witness["dataset2"]
    changed = {tuple(place) for place in witness["changed"]}
    parameters = witness["mechanism"].get("parameters", {})
    target = parameters.get("target")
    rows = [
        {
            "user": user,
            "target": str(target) == str(user),
            "changed": any(place[0] == user for place in changed),
            "cells": [
                {"before": _rating(value), "after": _rating(second[user][item]), "changed": (user, item) in changed}
                for item, value in enumerate(row)
            ],
        }
        for user, row in enumerate(first)
    ]
    return {
        **witness,
        "rows": rows,
        "items": range(len(first[0])),
        "has_target": any(row["target"] for row in rows),
        "parameters": [
            (name, cell(value) if not isinstance(value, list | dict) else json.dumps(value))
            for name, value in sorted(parameters.items())
        ],
        "relation_meaning": RELATION_MEANINGS[witness["relation"]],
        "difference": _difference(witness),
        "events": [_output(output, parameters) for output in witness["event"]],
        "breaks": _breaks(witness),
    }


def _rating(value: float | None) -> str:
    return "missing" if value is None else f"{value:g}"


def _output(output: Any, parameters: Mapping[str, Any]) -> str:
    """One output of the event; rows released by a neighbor selection are named as users."""
    rows = output if isinstance(output, list) else None
    if rows and "num_neighbors" in parameters and all(isinstance(row, int) for row in rows):
        plural = "neighbor is" if len(rows) == 1 else "neighbors are"
        return f"the released {plural} {listed([f'user {row}' for row in rows])}"
    return f"the output is {output if isinstance(output, str) else json.dumps(output)}"


def _difference(witness: Mapping[str, Any]) -> str:
    """The one difference between the datasets, in words."""
    first, second, changed = witness["dataset1"], witness["dataset2"], witness["changed"]
    users = sorted({user for user, _ in changed})
    if len(changed) == 1:
        ((user, item),) = changed
        before, after = first[user][item], second[user][item]
        rating = f"the rating of item {item} by user {user}"
        if after is None:
            return f"{rating}, {before:g} in the first dataset, is missing in the second"
        if before is None:
            return f"{rating}, missing in the first dataset, is {after:g} in the second"
        return f"{rating} is {before:g} in the first dataset and {after:g} in the second"
    who = listed([f"user {user}" for user in users])
    if all(value is None for user in users for value in second[user]):
        return f"{who}, present in the first dataset, is absent from the second"
    if all(value is None for user in users for value in first[user]):
        return f"{who}, absent from the first dataset, is present in the second"
    return f"{len(changed)} ratings of {who} differ between the two datasets"


def _breaks(witness: Mapping[str, Any]) -> str:
    """What the witness shows, in one sentence or two."""
    log1, log2 = float(witness["log_probability1"]), float(witness["log_probability2"])
    epsilon, delta = float(witness["epsilon_claimed"]), witness["delta_claimed"]
    claim = f"({epsilon:g}, {delta:g})" if delta else f"{epsilon:g}"
    seen = f"On the first dataset the event has probability {probability(log1)}, on the second {probability(log2)}"
    if log1 >= 0:
        seen = f"On the first dataset the event is certain, on the second it has probability {probability(log2)}"
    if log2 == -math.inf:
        start = "is certain" if log1 >= 0 else f"has probability {probability(log1)}"
        seen = f"On the first dataset the event {start}, on the second it cannot happen"
        if delta == 0:
            return (
                f"{seen}: whoever sees it knows which of the two datasets was used, and no finite epsilon allows that."
            )
    lifted = math.exp(log1) - delta
    if float(witness["epsilon"]) <= epsilon or lifted <= 0:
        return f"{seen}; {claim}-differential privacy allows this."
    least = probability(math.log(lifted) - epsilon)
    return f"{seen}; {claim}-differential privacy would need at least {least} there."


def _formula(text: str, display: str = "inline") -> str:
    """A formula typeset; a text that is none, from a file of somebody else's, as it stands."""
    try:
        return Markup(mathml(text, display))
    except (ValueError, RecursionError):
        return text


def environment() -> jinja2.Environment:
    """The templates beside this module, with the filters that the macros use."""
    created = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    created.filters |= {
        "cell": cell,
        "duration": duration,
        "factor": factor,
        "formula": _formula,
        "nats": nats,
        "probability": probability,
        "slug": lambda outcome: outcome.replace(" ", "-"),
    }
    created.globals["style"] = Markup((FOLDER / "style.css").read_text(encoding="utf-8"))
    return created


def _environment(run: Mapping[str, Any]) -> jinja2.Environment:
    names = sorted(run["claims"], key=len, reverse=True)
    mention = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w-])") if names else None
    judged = {verdict["id"] for verdict in run["verdicts"]}

    def linked(text: str, own: str = "") -> Markup:
        """The text with each mention of another claim as a link to it."""
        if mention is None:
            return escape(text)
        parts = mention.split(text)
        return Markup("").join(
            Markup('<a href="#{0}">{0}</a>').format(part) if position % 2 and part != own and part in judged else part
            for position, part in enumerate(parts)
        )

    created = environment()
    created.filters["linked"] = linked
    created.filters["several"] = several
    created.globals["outcome_names"] = OUTCOMES
    return created


def printable(value: Any) -> Any:
    """The same JSON with a visible sign in place of characters that are not printed or that turn the text around."""
    if isinstance(value, str):
        return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {printable(key): printable(content) for key, content in value.items()}
    return [printable(content) for content in value] if isinstance(value, list) else value
