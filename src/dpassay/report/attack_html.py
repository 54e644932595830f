"""An attack as one HTML file for a security review that needs nothing else: no server, no network, no script.

Everything an attack says is escaped, and the page forbids itself every outside resource and every script.
"""

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from dpassay.report import attack_text
from dpassay.report.html import cell, environment, page_plot, page_table, printable
from dpassay.report.plots import bars, name_beside, number_beside, reach
from dpassay.report.schema import validate_attack

NUM_HEADLINES = 4
MARKS: Mapping[str, str] = {"exceeded": "refuted", "kept": "holds", "not measured": "refuted"}
WORDS: Mapping[str, str] = {  # the worst first
    "exceeded": "above the limit",
    "not measured": "not passed",
    "kept": "within limits",
    "": "no limit set",
}
THREAT: Mapping[str, str] = {"knows": "The attacker knows", "does": "The attacker does", "sees": "The attacker sees"}


def render_attack(content: Mapping[str, Any]) -> str:
    """The report as the text of one HTML file; equal attacks give equal bytes.

    Args:
        content: described by `attack.schema.json`.

    Raises:
        InvalidInput: the content does not follow the schema.
    """
    attack = printable(validate_attack(content))
    states = [attack_text.state(check) for check in attack["checks"]]
    worst = next((each for each in WORDS if each in states), "")
    templates = environment()
    templates.filters |= {"quantity": attack_text.quantity, "interval": attack_text.interval}
    return templates.get_template("attack.html.j2").render(
        attack=attack,
        headlines=attack["metrics"][:NUM_HEADLINES],
        mark_name=MARKS.get(worst, "open"),
        verdict_word=WORDS[worst],
        verdict=attack_text.checks_sentence(attack),
        checks=[
            {"state": each, "mark": MARKS[each], "sentence": attack_text.check_sentence(attack, check)}
            for each, check in zip(states, attack["checks"], strict=True)
        ],
        synthetic=attack_text.is_synthetic(attack),
        dataset=attack_text.dataset_sentence(attack),
        threats=[(label, attack["threat_model"][key]) for key, label in THREAT.items()],
        settings=[
            (title, [(name, _value(value)) for name, value in attack[key].items()])
            for title, key in (("Its parameters", "parameters"), ("Attacker and experiment", "settings"))
        ],
        metrics=_metric_table(attack),
        tables=[page_table(table) for table in attack["tables"]],
        plots=[page_plot(plot, f"plot-{index}") for index, plot in enumerate(attack["plots"], start=1)],
        victim_tables=_tables(attack["victim"]),
        privacy=[_privacy(entry, index) for index, entry in enumerate(attack["privacy"], start=1)],
        repair_tables=_tables(attack["repair"]),
    )


def _metric_table(attack: Mapping[str, Any]) -> dict[str, Any]:
    quantity = attack_text.quantity
    limits = {check["metric"]: quantity(check["limit"]) for check in attack["checks"]}
    columns = ["metric", "value", "95% interval", "trials", *["limit"] * bool(limits), "what it means"]
    rows = [
        [
            metric["name"],
            quantity(metric["value"]),
            attack_text.interval(metric),
            metric["trials"] or None,
            *[limits.get(metric["name"], "")] * bool(limits),
            metric["meaning"],
        ]
        for metric in attack["metrics"]
    ]
    table = page_table({"title": "All that was measured", "columns": columns, "rows": rows})
    return {**table, "numeric": [False, *[True] * (len(columns) - 2), False]}  # also beside a "not measured"


def _privacy(entry: Mapping[str, Any], index: int) -> dict[str, Any]:
    """One guarantee: a table of losses and advantages, and the drawing where an advantage was measured."""
    seen, quantity = entry["advantage"], attack_text.quantity
    claimed = "nothing" if entry["epsilon_claimed"] == "inf" else attack_text.loss(entry["epsilon_claimed"])
    rows = [["claimed", claimed, f"at most {quantity(entry['permitted_claimed'])}"]]
    found = entry["permitted_found"]
    limit = "\N{EN DASH}" if found is None else f"at most {quantity(found)}"
    rows.append(["shown by this project", attack_text.loss(entry["epsilon_found"]), limit])
    rows.append(["seen in this attack", "", "not measured" if seen is None else attack_text.measured(seen)])
    table = {"title": "", "columns": ["", "epsilon, nats", "advantage of an attacker"], "rows": rows}
    drawn = None if seen is None or seen["value"] == "nan" else _drawing(entry, f"privacy-{index}")
    return {"entry": entry, "table": page_table(table), "drawing": drawn, "judgment": attack_text.judgment(entry)}


def _drawing(entry: Mapping[str, Any], name: str) -> Markup:
    """What was seen and what is permitted as bars from guessing to certainty, in one `<svg>` element."""
    seen, claimed, found = entry["advantage"], float(entry["permitted_claimed"]), entry["permitted_found"]
    left, width, top, pitch = 150, 290, 30, 30
    rows = [
        ("no claim, permits" if entry["epsilon_claimed"] == "inf" else "claim permits", claimed),
        *([] if found is None else [("shown loss permits", float(found))]),
    ]

    def place(value: float | str) -> float:
        return round(left + width * min(max(float(value), 0.0), 1.0), 1)

    bottom = top + pitch * (1 + len(rows))
    color = "var(--refuted)" if attack_text.is_above(entry) else "var(--series-1)"
    parts = [
        f'<line x1="{x}" y1="{top - 6}" x2="{x}" y2="{bottom}" stroke="var(--rule)"/>'
        f'<text x="{x}" y="{top - 12}" text-anchor="middle" fill="var(--ink-soft)">{label}</text>'
        for x, label in ((left, "0: guessing"), (left + width, "1: certainty"))
    ]
    parts.append(
        f'<rect x="{left}" y="{top + 5}" width="{max(place(seen["value"]) - left, 1):.1f}" height="16" fill="{color}"/>'
    )
    if seen["low"] is not None:
        low, high = place(seen["low"]), place(seen["high"])
        middle = top + 13
        parts.append(
            f'<path d="M{low} {middle}H{high}M{low} {middle - 5}v10M{high} {middle - 5}v10" fill="none" '
            'stroke="var(--ink)" stroke-width="1.6"/>'
        )
    for row, (_, value) in enumerate(rows, start=1):
        parts.append(reach(left, place(value), top + pitch * row + 13, "var(--ink-soft)"))
    ends = [max(place(seen["value"]), place(seen["high"] or 0)), *(place(value) for _, value in rows)]
    labels = [("seen", seen["value"]), *rows]
    for row, ((label, value), end) in enumerate(zip(labels, ends, strict=True)):
        base = top + pitch * row + 17
        parts += [name_beside(left, base, label), number_beside(end, base, attack_text.quantity(value))]
    said = "; ".join(f"{label} {attack_text.quantity(value)}" for label, value in labels)
    return bars(name, "Advantage seen, beside what is permitted", f"{said}.", bottom + 4, parts)


def _tables(record: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return [] if record is None else [page_table(table) for table in record.get("tables", [])]


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else cell(value)
