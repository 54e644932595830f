"""What a privacy claim says and about which pairs of datasets: pure values, no mechanism and no JAX.

Definitions: (epsilon, delta)-differential privacy, Dwork et al. (2006); hockey-stick divergence, Balle et al. (2018).
Epsilon is in nats; delta is a probability.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dpassay.errors import InvalidInput

__all__ = ["NeighboringRelation", "PrivacyClaim", "Witness"]

RelationKind = Literal["add_or_remove_one", "replace_one"]
Unit = Literal["user", "rating", "entry"]


@dataclass(frozen=True)
class NeighboringRelation:
    """Which two datasets count as neighboring.

    A dataset is a matrix of shape (users, items), NaN where a rating is missing. `kind` says how the two differ, `unit`
    in what: one rating (a cell that may be missing), one entry (a cell that is always present), or one user (a row; a
    user who is not there is a row of NaN, so both matrices keep one shape).
    """

    kind: RelationKind
    unit: Unit

    def __post_init__(self) -> None:
        if self.kind not in get_args(RelationKind):
            raise InvalidInput(f"relation kind {self.kind!r}: use one of {', '.join(get_args(RelationKind))}")
        if self.unit not in get_args(Unit):
            raise InvalidInput(f"relation unit {self.unit!r}: use one of {', '.join(get_args(Unit))}")
        if self.unit == "entry" and self.kind == "add_or_remove_one":
            raise InvalidInput("an entry is always present: use replace_one:entry, or add_or_remove_one:rating")

    @classmethod
    def parse(cls, text: str) -> "NeighboringRelation":
        """Reads the command line's form `KIND:UNIT`, for example `add_or_remove_one:rating`."""
        kind, colon, unit = text.partition(":")
        if not colon:
            raise InvalidInput(f"relation {text!r}: write KIND:UNIT, for example add_or_remove_one:rating")
        return cls(kind, unit)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.kind}:{self.unit}"

    def changed(self, dataset1: Any, dataset2: Any) -> list[tuple[int, int]]:
        """The (user, item) cells in which two matrices differ; raises unless they are neighboring.

        Raises:
            InvalidInput: the shapes differ, nothing differs, or the difference is not the one this relation allows.
        """
        a, b = np.asarray(dataset1, float), np.asarray(dataset2, float)
        if a.ndim != 2 or a.shape != b.shape:
            raise InvalidInput(f"neighboring datasets are matrices of one shape, got {a.shape} and {b.shape}")
        missing1, missing2 = np.isnan(a), np.isnan(b)
        cells = [(int(u), int(i)) for u, i in np.argwhere(~((a == b) | (missing1 & missing2)))]
        if not cells:
            raise InvalidInput("the two datasets are equal; neighboring datasets differ in one " + self.unit)
        if self.unit == "user":
            users = {u for u, _ in cells}
            if len(users) > 1:
                raise InvalidInput(f"the datasets differ in users {sorted(users)}; {self} allows one")
            (user,) = users
            if self.kind == "add_or_remove_one" and not (missing1[user].all() or missing2[user].all()):
                raise InvalidInput(f"user {user} is present in both datasets; {self} adds or removes one whole user")
            return cells
        if len(cells) > 1:
            raise InvalidInput(f"the datasets differ in {len(cells)} cells; {self} allows one")
        (cell,) = cells
        appears = bool(missing1[cell] != missing2[cell])
        if appears != (self.kind == "add_or_remove_one"):
            verb = "added or removed" if appears else "changed"
            raise InvalidInput(
                f"the {self.unit} of user {cell[0]}, item {cell[1]} was {verb}; {self} does not allow it"
            )
        return cells


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta)-differential privacy under a stated neighboring relation.

    Attributes:
        epsilon: in nats, >= 0; infinity claims nothing.
        delta: a probability in [0, 1).
        relation: None when the claim is to be judged on one given pair of datasets.
    """

    epsilon: float
    delta: float = 0.0
    relation: NeighboringRelation | None = None

    def __post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise InvalidInput(f"epsilon is {self.epsilon}; it must be a number >= 0")
        if not 0 <= self.delta < 1:
            raise InvalidInput(f"delta is {self.delta}; it must be a probability in [0, 1)")

    def __str__(self) -> str:
        text = f"{self.epsilon:g}-DP" if self.delta == 0 else f"({self.epsilon:g}, {self.delta:g})-DP"
        return text if self.relation is None else f"{text} ({self.relation})"


@dataclass(frozen=True)
class Witness:
    """Two neighboring datasets and an event that a mechanism tells apart by more than it claims.

    Attributes:
        mechanism: {"id", "variant", "parameters"}; an empty mapping for a mechanism outside the registry.
        dataset1: matrix of shape (users, items), NaN where missing; the event is the likelier one here.
        dataset2: its neighbor.
        event: the outputs that make up the event.
        log_probability1: log Pr[M(dataset1) in event], nats, float64 (the certificate holds rigorous enclosures).
        log_probability2: the same under dataset2; -inf when impossible.
    """

    mechanism: dict[str, Any]
    relation: NeighboringRelation
    dataset1: np.ndarray
    dataset2: np.ndarray
    event: tuple[Any, ...]
    log_probability1: float
    log_probability2: float
    claim: PrivacyClaim
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """log (Pr1[event] - delta) - log Pr2[event] in nats: the smallest epsilon this pair and event allow."""
        lifted = math.exp(self.log_probability1) - self.claim.delta
        if lifted <= 0:
            return -math.inf
        if self.log_probability2 == -math.inf:
            return math.inf
        return math.log(lifted) - self.log_probability2

    @property
    def changed(self) -> list[tuple[int, int]]:
        """The (user, item) cells that differ."""
        return self.relation.changed(self.dataset1, self.dataset2)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping; missing ratings are null, infinities the strings "inf" and "-inf"."""
        return {
            "mechanism": self.mechanism,
            "relation": str(self.relation),
            "dataset1": _matrix(self.dataset1),
            "dataset2": _matrix(self.dataset2),
            "event": [_plain(output) for output in self.event],
            "log_probability1": _number(self.log_probability1),
            "log_probability2": _number(self.log_probability2),
            "epsilon": _number(self.epsilon),
            "epsilon_claimed": _number(self.claim.epsilon),
            "delta_claimed": self.claim.delta,
            "changed": [list(cell) for cell in self.changed],
            "notes": list(self.notes),
        }


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _plain(output: Any) -> Any:
    array = np.asarray(output)
    return array.tolist() if array.dtype != object else str(output)


def _matrix(matrix: np.ndarray) -> list[list[float | int | None]]:
    def cell(value: float) -> float | int | None:
        if math.isnan(value):
            return None
        return int(value) if float(value).is_integer() else float(value)

    return [[cell(float(value)) for value in row] for row in np.asarray(matrix, float)]
