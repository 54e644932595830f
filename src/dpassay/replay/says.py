"""What the evidence for a claim says, as lines that a person reviews: all that must not differ from run to run.

A certificate counts for a claim only if its kind and these lines are among the evidence that was reviewed for it
(`core.registry.reviewed_evidence`). What a search or a run of the mechanisms finds is left out: the datasets and the
event of a witness, which its checker holds against the claim, and the numbers of runs, which decide by themselves.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from dpassay.replay.formula import text
from dpassay.replay.proof import statement

Inputs = Mapping[str, Any]


def says(kind: str, inputs: Inputs) -> tuple[str, ...]:
    """The reviewed part of a certificate's inputs, in words and formulas; equal lines mean equal content."""
    return tuple(_LINES.get(kind, _everything)(inputs))


def _everything(inputs: Inputs) -> list[str]:
    return [f"{name}: {_written(name, value)}" for name, value in sorted(inputs.items())]


def _written(name: str, value: Any) -> str:
    if name == "condition":
        return text(value)
    if name == "formulas":
        return "; ".join(map(text, value))
    return json.dumps(value, sort_keys=True)


def _proof(inputs: Inputs) -> list[str]:
    """The steps with their engines; the argument that joins them by its digest, since it stands beside its proof."""
    digest = hashlib.sha256(inputs["argument"].encode()).hexdigest()[:32]
    lines = [f"argument {digest}"]
    for theorem in inputs.get("rests_on", []):
        lines.append(f"rests on {theorem['name']} ({theorem['source']}): {theorem['statement']}")
        lines += [f"which needs that {needed}: {where}" for needed, where in sorted(theorem["hypotheses"].items())]
    return [*lines, *(f"{step['engine']}, {step['name']}: {statement(step)}" for step in inputs["steps"])]


def _formula(inputs: Inputs) -> list[str]:
    return [*map(text, inputs["formulas"]), *(f"{name} = {value}" for name, value in sorted(inputs["values"].items()))]


def _witness(inputs: Inputs) -> list[str]:
    mechanism = inputs["mechanism"]
    never = " although impossible there" if inputs.get("impossible") else ""
    return [
        f"an event of {mechanism['id']} ({mechanism['variant']}) too likely beside its neighbor by "
        f"{inputs['relation']}{never}, delta {inputs['delta']}"
    ]


def _reproduction(inputs: Inputs) -> list[str]:
    lines = [f"{name}: {inputs[name]}" for name in ("form", "confidence", "description") if name in inputs]
    lines += [f"printed {cell}: {value}" for cell, value in sorted(inputs.get("printed", {}).items())]
    for reading, entries in sorted({"": inputs.get("comparisons", {}), **inputs.get("readings", {})}.items()):
        lines += [f"reading: {reading}"] if reading else []
        ordered = inputs["form"] == "orderings"  # else the runs of each cell, which are not reviewed
        lines += [f"{name}: {each['claimed']}" for name, each in sorted(entries.items()) if ordered]
    lines += [
        f"{row}: {', '.join(cell['printed'] for cell in cells)}"
        for row, cells in sorted(inputs.get("rows", {}).items())
    ]
    return lines


def _statistics(inputs: Inputs) -> list[str]:
    rules = inputs.get("outcomes") or {"condition": inputs["condition"]}
    counted = ("successes", "trials", "counts", "outcomes", "condition")
    lines = [f"{name}: {json.dumps(value, sort_keys=True)}" for name, value in inputs.items() if name not in counted]
    return [
        *sorted(lines),
        *(f"{name} if {text(rule)}" for name, rule in sorted(rules.items())),
        *sorted(inputs.get("counts", ())),
    ]


def _kernel(inputs: Inputs) -> list[str]:
    """Not the digest of all statements: another theorem's may change."""
    return [f"theorem {inputs['theorem']}", inputs["definition"]]


_LINES: Mapping[str, Callable[[Inputs], list[str]]] = {
    "proof": _proof,
    "formula": _formula,
    "witness": _witness,
    "reproduction": _reproduction,
    "statistics": _statistics,
    "kernel": _kernel,
}
