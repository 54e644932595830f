"""What a scan found in a package and is going to judge, or cannot judge and says why."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import PrivacyClaim
from dpassay.prover.problem import STATED

Kind = Literal["mechanism", "map", "accountant", "formula"]
Source = Literal["declared by the library", "read from its parameters"]
DECLARED: Source = "declared by the library"
READ: Source = "read from its parameters"

USUAL = ("add_or_remove_one:record", "replace_one:record")
"""Readings of a claim that does not say which datasets are neighbors; a violation must break it under each."""


@dataclass(frozen=True)
class Stable:
    """A map's claim, as `dpassay.check_stability` takes it; of an OpenDP Transformation, which states its own, empty.

    Attributes:
        d_out: distance of outputs of datasets `d_in` apart.
        input_metric, output_metric: names in `dpassay.replay.distances`; the candidate's relation may take the place
            of the first.
    """

    d_out: Any = None
    d_in: Any = None
    input_metric: str | None = None
    output_metric: str | None = None


class Accounted(NamedTuple):
    """What an accountant says of an event: epsilon in nats at a probability delta.

    Attributes:
        event: a `DpEvent` of dp-accounting or a tree, as `dpassay.check_accounting` takes it.
        relation: add_or_remove_one or replace_one; "" where the accountant does not say.
    """

    event: Any
    epsilon: float
    delta: float
    relation: str = ""


def mechanism_of(code: str) -> Callable[..., Any]:
    """The function `mechanism` that code of ours defines: what is judged is what the report shows."""
    made: dict[str, Any] = {}
    exec(code, made)
    found: Callable[..., Any] = made["mechanism"]
    return found


class Pair(NamedTuple):
    """Two neighboring datasets, in place of a strategy."""

    dataset1: Any
    dataset2: Any


@dataclass(frozen=True)
class Candidate:
    """Something with a claim, in the form that an engine takes.

    Attributes:
        kind: which engines judge it.
        name: what a reader calls it, with its arguments, for example "package.noisy_mean(epsilon=1.0)". Unique.
        where: file:line of its definition; "" where that is not known.
        subject: of a mechanism what `dpassay.audit` takes: `fn(rng, dataset)`, or anything with `sample`; of a map a
            deterministic function of one dataset, or an OpenDP Transformation; of an accountant a function without
            arguments that asks it, and gives an `Accounted`; of a formula one that gives keyword arguments of
            `dpassay.check_noise`, `kind` among them. It is called in a process of its own, with a limit of time, in
            an empty folder.
        claim: of a mechanism a `PrivacyClaim`, of a map `Stable`; None of the others, whose subjects state it.
        relation: which datasets are neighbors, such as "add_or_remove_one:record" (with a pair: for the reader); None
            where the package does not say: then a violation must break the claim under every usual reading.
        datasets: a Hypothesis strategy, or a `Pair`; None where the subject says which (maps), or there are none.
        source: how the claim is known.
        code: Python that makes the call again, for the report, imports included: of a mechanism or a map it ends with
            a definition of `mechanism` (a function of rng and dataset) or `transformation`, to which the report adds
            the pair of datasets and the audit; of the others it prints what is judged.
        notes: of the reader's interest, such as "epsilon=1.0 is a value of ours".
        representation: "bits" also judges the floating-point form; only where the library claims that it is safe.
    """

    kind: Kind
    name: str
    where: str
    subject: Any = field(repr=False)
    claim: PrivacyClaim | Stable | None = None
    relation: str | None = None
    datasets: Any = field(default=None, repr=False)
    source: Source = READ
    code: str = field(default="", repr=False)
    notes: tuple[str, ...] = ()
    representation: Literal["values", "bits"] = "values"

    def __post_init__(self) -> None:
        expected: dict[str, type] = {"mechanism": PrivacyClaim, "map": Stable}
        if self.kind in expected and not isinstance(self.claim, expected[self.kind]):
            raise InvalidInput(f"{self.name}: the claim of a {self.kind} is a {expected[self.kind].__name__}")
        if self.kind == "mechanism" and self.datasets is None and not hasattr(self.subject, STATED):
            raise InvalidInput(f"{self.name}: a mechanism needs a strategy of datasets, or a Pair")


@dataclass(frozen=True)
class NotJudged:
    """Something that looks like a candidate and cannot be judged, with the reason in one line."""

    name: str
    where: str
    reason: str


def place(thing: Callable[..., Any] | type) -> str:
    """file:line of a definition; "" where it has no source, as what is compiled."""
    try:
        inner = inspect.unwrap(thing)
        if inspect.isfunction(inner):
            return f"{inner.__code__.co_filename}:{inner.__code__.co_firstlineno}"
        return f"{inspect.getsourcefile(inner)}:{inspect.getsourcelines(inner)[1]}"
    except (TypeError, OSError, ValueError):
        return ""


def shown_place(where: str) -> str:
    """The same with a path from here, if the file is below."""
    file, colon, line = where.rpartition(":")
    path, here = Path(file), Path.cwd()
    return f"{path.relative_to(here)}{colon}{line}" if colon and path.is_relative_to(here) else where
