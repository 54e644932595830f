"""Checks a stated property of a selection's exact law on one dataset.

Inputs (numbers are integers or strings "3", "1/2", "0.25"; a missing rating is null; there are no other fields):
    "mechanism": {"id", "variant", "parameters": {all of them}}
    "dataset": rows of ratings
    "events"?: {name: [output, ...]}, each output the ascending row numbers of one set of neighbors
    "values"?: {name: number}, constants of the condition
    "condition": formula (see `replay.formula`) over the events' probabilities by their names, the constants, and
        sim_<row>, mu_<row> (similarity and selection probability of each candidate), alpha (sum of sim_i mu_i)

The condition is decided on exact rationals where both sides are rational, else by Arb enclosures.
"""

from collections.abc import Mapping
from typing import Any

from flint import fmpq

from dpassay.replay import Rejected
from dpassay.replay.datasets import dataset_text, mechanism_text, read_dataset, read_event, rows_text
from dpassay.replay.formula import decide, read, symbol, text, variables
from dpassay.replay.laws import marginals, signed_root
from dpassay.replay.neighbor_laws import Profile
from dpassay.replay.numbers import bounds, down, fields, precision, rational, show
from dpassay.replay.operators import TRUTH


def compute(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Recomputes the law and decides the condition; raises `Rejected` unless it is certainly true."""
    fields(inputs, "a law", ("mechanism", "dataset", "condition"), ("events", "values"))
    mechanism, condition = inputs["mechanism"], read(inputs["condition"], TRUTH)
    with precision():
        dataset = read_dataset(inputs["dataset"])
        events = {
            symbol(name): read_event(event, mechanism, dataset) for name, event in inputs.get("events", {}).items()
        }
        profile = Profile(mechanism, dataset)
        law = profile.law()
        chances = marginals(law)
        values: dict[str, Any] = {symbol(name): rational(value) for name, value in inputs.get("values", {}).items()}
        known = {name: sum((law[rows] for rows in event if rows in law), fmpq(0)) for name, event in events.items()}
        similarities = {row: signed_root(square) for row, square in profile.squares.items()}
        for row, similarity in similarities.items():
            known |= {f"sim_{row}": similarity, f"mu_{row}": chances.get(row, fmpq(0))}
        known["alpha"] = sum((similarities[row] * chance for row, chance in chances.items()), fmpq(0))
        return {
            "mechanism": mechanism_text(mechanism),
            "dataset": dataset_text(dataset),
            "events": {name: "; ".join(rows_text(rows) for rows in event) for name, event in events.items()},
            **settle(condition, values, known),
        }


def settle(condition: Any, constants: Mapping[str, Any], computed: Mapping[str, Any]) -> dict[str, Any]:
    """Decides a condition; the part of a result that states it, with the numbers that enter it.

    Raises:
        Rejected: the condition is certainly false, or a constant has the name of a computed number.
        FormulaError: undecided, or an unknown name.
    """
    if taken := sorted(constants.keys() & computed.keys()):
        raise Rejected(f"the constants {taken} have names that are taken")
    names = variables(condition)
    values = {**constants, **computed}
    if not decide(condition, values):
        where = ", ".join(f"{name} = {down(values[name], 6)}" for name in sorted(names))
        raise Rejected(f"the condition is false: {text(condition)} at {where}")
    return {
        "condition": text(condition),
        "constants": {name: show(value) for name, value in constants.items()},
        "values": {name: bounds(value) for name, value in computed.items() if name in names},
        "summary": f"certainly true: {text(condition)}",
    }
