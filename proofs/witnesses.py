"""Witnesses of privacy claims: pairs of datasets, their events, and their laws side by side."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb

from dpassay.auditors.exact import ExactLoss, certificate_inputs, exact, registered
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.core.records import Table
from dpassay.replay.datasets import read_dataset
from dpassay.replay.laws import law_module
from dpassay.replay.numbers import precision

NEARLY_INFINITE = 50.0
"""A loss so large that only an event impossible on one side exceeds it, nats."""
PATIENCE = 600.0
"""Seconds: searches are bounded by their work, so that a verdict does not depend on the machine's load."""


def pair_witness(
    selection: Any,
    relation: str,
    pair: tuple[np.ndarray, np.ndarray],
    epsilon: float,
    shape: tuple[int, ...] | None = None,
) -> Witness:
    """The event with the largest loss of a registered mechanism on a pair of neighbors, against a claim of `epsilon`.

    With `shape` the laws are computed at that shape, with users or items that have no rating, which must change
    nothing: then a whole family of pairs is compiled once.
    """
    missing = [(0, more - size) for more, size in zip(shape or pair[0].shape, pair[0].shape, strict=True)]
    loss = exact(selection, *(np.pad(matrix, missing, constant_values=np.nan) for matrix in pair))
    event = loss.event(loss.epsilon)
    first, second = pair if event.direction == "forward" else pair[::-1]
    return Witness(
        registered(selection) or {},
        NeighboringRelation.parse(relation),
        first,
        second,
        tuple(event.outputs.tolist()),
        event.log_probability_likelier,
        event.log_probability_other,
        PrivacyClaim(epsilon, relation=NeighboringRelation.parse(relation)),
    )


def claiming(witness: Witness, epsilon: float) -> Witness:
    """The same witness against a claim of `epsilon`, nats."""
    return dataclasses.replace(witness, claim=dataclasses.replace(witness.claim, epsilon=epsilon))


def checker_loss(witness: Witness) -> ExactLoss:
    """The pair's two laws as the trusted checker has them, for tables and plots: nothing to compile."""
    inputs = certificate_inputs(
        witness.mechanism, witness.relation, witness.dataset1, witness.dataset2, witness.event, epsilon=0.0
    )
    law = law_module(witness.mechanism).law
    with precision():
        laws = [law(witness.mechanism, read_dataset(inputs[name], None)) for name in ("dataset1", "dataset2")]
    outputs = sorted({*laws[0], *laws[1]})
    chances = np.array([[float(arb(each.get(output, 0))) for output in outputs] for each in laws])
    logs = np.where(chances > 0, np.log(np.where(chances > 0, chances, 1.0)), -np.inf)
    return ExactLoss(np.array(outputs), logs[0], logs[1])


def laws_table(witness: Witness, limit: int = 12) -> Table:
    """The two laws side by side, the likeliest sets first."""
    loss = checker_loss(witness)
    event = {tuple(output) for output in witness.event}
    chances = np.exp(np.stack([loss.log_probabilities1, loss.log_probabilities2], axis=1))
    order = np.argsort(-chances.max(axis=1), kind="stable")[:limit]
    rows = [
        [
            released_set(loss.outputs[i]),
            *(float(round(c, 9)) for c in chances[i]),
            "yes" if tuple(loss.outputs[i]) in event else "",
        ]
        for i in order
    ]
    more = f" (the {limit} likeliest of {len(loss.outputs)} sets)" if len(loss.outputs) > limit else ""
    return Table(
        f"The two exact laws{more}",
        ["released set", "probability, dataset 1", "probability, dataset 2", "in the event"],
        rows,
    )


def released_set(output: Sequence[int]) -> str:
    """An output in words."""
    return "{" + ", ".join(str(int(row)) for row in output) + "}"
