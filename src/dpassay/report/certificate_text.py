"""What a certificate says, as lines for people: what the trusted checker computed, and on which numbers."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpassay.core.certificate import Certificate
from dpassay.core.text import shortened

MOST_ROWS = 20
LONGEST = 300  # characters of a row
SHORT = 30  # of parts that share one

# In this order, what a label leaves open first; then the rest by its own name.
LABELS: Mapping[str, str] = {
    "condition": "certainly true",
    "formulas": "certainly true",
    "bounds": "bounds",
    "enclosures": "computed",
    "values": "where",
    "constants": "where",
    "probability1": "on the first dataset",
    "probability2": "on the second dataset",
    "epsilon_lower": "loss at least",
    "claimed": "claimed",
    "event": "event",
    "mechanism": "mechanism",
    "dataset1": "first dataset",
    "dataset2": "second dataset",
}
INTERVALS = ("probability1", "probability2", "ideal")  # results that are one, where they have two ends
LEFT_OUT = (
    "argument",
    "rests_on",
    "steps",
    "summary",
    "supports",
    "changed",
    "form",
)  # said by the summary, or by a table beside it


def rows(certificate: Certificate) -> list[tuple[str, str]]:
    """(label, text) for each thing compared, in the checker's words; a label "" goes on with the one before it.

    A dataset is written row by row, "|" between them, "." for a missing rating; a number that is not rational by the
    interval in which it certainly lies. Long texts and long lists are cut: the file has everything.
    """
    result = certificate.result
    summary = str(result["summary"])
    shown = summary.partition(":")[0] if "steps" in result else summary
    found = [] if {"condition", "formulas"} & {*result} else [("shown", shown)]
    for name in sorted(result, key=lambda name: [*LABELS].index(name) if name in LABELS else len(LABELS)):
        if name not in LEFT_OUT and result[name] not in ("", [], {}, None):
            decided = name == "formulas" and isinstance(result[name], Mapping)  # several, each for one outcome
            label = "decides" if decided else LABELS.get(name, name.replace("_", " "))
            found += [(label, line) for line in _lines(name, result[name])]
    kept = (
        found if len(found) <= MOST_ROWS else [*found[: MOST_ROWS - 1], ("", f"and {len(found) - MOST_ROWS + 1} more")]
    )
    labels = ["", *(label for label, _ in kept)]
    return [
        ("" if label == before else label, shortened(text, LONGEST))
        for before, (label, text) in zip(labels, kept, strict=False)
    ]


def _lines(name: str, value: Any) -> Iterator[str]:
    if name == "formulas" and isinstance(value, Mapping):
        parts = [f"{outcome} if {formula}" for outcome, formula in value.items()]
    elif isinstance(value, Mapping):
        parts = [_equation(inner, one) for inner, one in value.items()]
    elif isinstance(value, list) and not (name in INTERVALS and _is_interval(value)):
        parts = [_text(one) for one in value]
    else:
        parts = [_text(value)]
    yield from ["; ".join(parts)] if all(len(part) < SHORT for part in parts) else parts


def _equation(name: str, value: Any) -> str:
    if value == "":
        return name
    if isinstance(value, Mapping):
        return f"{name}: {_text(value)}"
    return f"{name} {_text(value)}" if _is_interval(value) else f"{name} = {_text(value)}"


def _text(value: Any) -> str:
    if _is_interval(value):
        low, high = value
        return f"= {low}" if low == high else f"in [{low}, {high}]"
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_text(one)}" for name, one in value.items())
    return (", ".join(map(_text, value)) or "none") if isinstance(value, list) else str(value)


def _is_interval(value: Any) -> bool:
    """Ends as `numbers.bounds` writes them."""
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(end, str) for end in value)):
        return False
    try:
        low, high = (Fraction(end) for end in value)
    except ValueError:
        return False
    return low <= high
