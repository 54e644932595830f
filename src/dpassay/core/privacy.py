"""What a privacy claim says and about which pairs of datasets: pure values, no mechanism and no JAX.

Definitions: (epsilon, delta)-differential privacy, Dwork et al. (2006); Renyi, Mironov (2017); zero-concentrated, Bun
and Steinke (2016); Gaussian, Dong, Roth and Su (2022). What each says about one event is in `dpassay.core.divergences`.
Epsilon is in nats; delta is a probability.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dpassay.core.divergences import gaussian_delta, profile_delta, renyi_delta, zcdp_delta
from dpassay.core.errors import InvalidInput
from dpassay.core.text import nats, shortened

RelationKind = Literal["add_or_remove_one", "replace_one"]
Unit = Literal["user", "rating", "entry"]

_TANGENTS = 16  # points of a curve at which a claim is judged
_SHOWN = 12  # users, and items, of a printed witness


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

        A vector counts as one column: each of its numbers is a user's.

        Raises:
            InvalidInput: the shapes differ, nothing differs, or the difference is not the one this relation allows.
        """
        a, b = (_rows(dataset) for dataset in (dataset1, dataset2))
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

    `gaussian`, `zcdp`, `renyi` and `profile` make claims of other kinds. Their `epsilon` is infinite: as an (epsilon,
    delta) statement alone they are given no weight, and code that knows only these two never judges them wrongly.

    Attributes:
        epsilon: in nats, >= 0; infinity claims nothing.
        delta: a probability in [0, 1).
        relation: None when the claim is to be judged on one given pair of datasets.
    """

    epsilon: float
    delta: float = 0.0
    relation: NeighboringRelation | None = None

    kind: ClassVar[str] = "dp"
    parameter_name: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        _checked("epsilon", self.epsilon)
        _checked_probability("delta", self.delta)

    def __str__(self) -> str:
        return self.text if self.relation is None else f"{self.text} ({self.relation})"

    @classmethod
    def gaussian(cls, mu: float | str, relation: NeighboringRelation | None = None) -> "PrivacyClaim":
        """mu-Gaussian differential privacy (Dong, Roth and Su 2022): a Gaussian's with sensitivity / sigma = mu.

        Text is an expression in a program's parameters, for `dp.prove`.
        """
        return FormulaClaim("gaussian", mu) if isinstance(mu, str) else _GaussianClaim(mu, relation=relation)

    @classmethod
    def zcdp(cls, rho: float | str, relation: NeighboringRelation | None = None) -> "PrivacyClaim":
        """rho-zero-concentrated privacy (Bun and Steinke 2016): Renyi divergence of every order a at most a rho.

        Text is an expression in a program's parameters, for `dp.prove`.
        """
        return FormulaClaim("zcdp", rho) if isinstance(rho, str) else _ZcdpClaim(rho, relation=relation)

    @classmethod
    def renyi(cls, order: float, epsilon: float, relation: NeighboringRelation | None = None) -> "PrivacyClaim":
        """(order, epsilon)-Renyi differential privacy (Mironov 2017); order > 1."""
        return _RenyiClaim(order, epsilon, relation=relation)

    @classmethod
    def profile(
        cls, points: Iterable[tuple[float, float]], relation: NeighboringRelation | None = None
    ) -> "PrivacyClaim":
        """(epsilon, delta)-differential privacy at every one of the points [(epsilon, delta), ...]."""
        try:
            pairs = tuple(sorted((float(epsilon), float(delta)) for epsilon, delta in points))
        except (TypeError, ValueError):
            raise InvalidInput("a profile's points are pairs of numbers (epsilon, delta)") from None
        return _ProfileClaim(pairs, relation=relation)

    @property
    def text(self) -> str:
        """The claim without its relation, for humans."""
        return f"{self.epsilon:g}-DP" if self.delta == 0 else f"({self.epsilon:g}, {self.delta:g})-DP"

    @property
    def parameter(self) -> float:
        """The number that an audit bounds from below, `parameter_name`; larger claims less."""
        return float(getattr(self, self.parameter_name))

    def with_parameter(self, parameter: float) -> "PrivacyClaim":
        """The same kind of claim with another parameter."""
        changed: dict[str, Any] = {self.parameter_name: parameter}
        return replace(self, **changed)

    def delta_at(self, epsilon: Any, parameter: Any = None) -> Any:
        """The smallest delta for which the claim, with this parameter, implies (epsilon, delta)-privacy; rounded up.

        Args:
            epsilon: nats, >= 0; an array gives an array.
            parameter: the claim's own when None; broadcasts with epsilon.
        """
        curve = self._curve(np.asarray(epsilon, float), np.asarray(self.parameter if parameter is None else parameter))
        return float(curve) if curve.ndim == 0 else curve

    def epsilon_at(self, delta: float, parameter: float | None = None) -> float:
        """The smallest epsilon, nats, for which the claim implies (epsilon, delta)-privacy; infinite when none does."""
        _checked_probability("delta", delta)
        return self._first(delta, parameter, rounds=6)

    def nulls(self, parameters: Any) -> tuple[np.ndarray, np.ndarray]:
        """What the claim says about one event's probabilities p and q under two neighboring datasets.

        Args:
            parameters: values of the parameter, shape (G,).

        Returns:
            log_slopes and offsets, each of shape (T, G): the claim with parameter g implies p <= e^slope q + offset for
            every t. Offsets are rounded up; both are monotone in the parameter, so the nulls are nested.
        """
        parameters = np.asarray(parameters, float)
        return parameters[None].copy(), np.full((1, parameters.size), self.delta)

    @property
    def own_nulls(self) -> list[tuple[float, float]]:
        """`nulls` at the claim's own parameter, as pairs (log slope, offset)."""
        slopes, offsets = self.nulls(np.array([self.parameter]))
        return [(float(slope), float(offset)) for slope, offset in zip(slopes[:, 0], offsets[:, 0], strict=True)]

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping: kind, text and the constants; infinity is the string "inf"."""
        return {"kind": self.kind, "text": self.text, "epsilon": json_number(self.epsilon), "delta": self.delta}

    def _first(self, delta: float, parameter: float | None, rounds: int) -> float:
        """The first epsilon at which the curve is down to delta, within a bracket that each round divides by 64."""
        grid = np.concatenate([[0.0], np.geomspace(1e-3, 1e6, 64)])
        for _ in range(rounds):
            allowed = self.delta_at(grid, parameter) <= delta
            first = int(np.argmax(allowed))
            if not allowed[first]:
                return math.inf
            if first == 0:
                return float(grid[0])
            grid = np.linspace(grid[first - 1], grid[first], 65)
        return float(grid[-1])

    def _curve(self, epsilon: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        curve = np.vectorize(lambda e, own: profile_delta(e, [(own, self.delta)]), otypes=[float])
        return curve(epsilon, parameter)


@dataclass(frozen=True)
class _CurveClaim(PrivacyClaim):
    """A claim that is a curve delta(epsilon) with one parameter: judged at fixed points of the curve."""

    epsilon: float = field(default=math.inf, init=False, repr=False)
    delta: float = field(default=0.0, init=False, repr=False)
    relation: NeighboringRelation | None = field(default=None, kw_only=True)

    form: ClassVar[str] = ""  # of the text, by the claim's own fields

    def __post_init__(self) -> None:
        _checked(self.parameter_name, self.parameter, finite=True)

    @property
    def text(self) -> str:
        return self.form.format(self)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, self.parameter_name: self.parameter}

    def nulls(self, parameters: Any) -> tuple[np.ndarray, np.ndarray]:
        # Evenly spaced up to the slope beyond which an event as rare as 1e-6 would decide. Even spacing is even in the
        # log-likelihood ratio, so a Gaussian's tangents are evenly spaced in its output.
        slopes = np.linspace(0.0, self._first(1e-6, None, rounds=2), _TANGENTS)
        parameters = np.asarray(parameters, float)
        offsets = self._curve(slopes[:, None], parameters[None, :])
        order = np.argsort(parameters, kind="stable")  # rounding must not break the nesting
        offsets[:, order] = np.maximum.accumulate(offsets[:, order], axis=1)
        return np.broadcast_to(slopes[:, None], offsets.shape).copy(), offsets


@dataclass(frozen=True)
class _GaussianClaim(_CurveClaim):
    mu: float

    kind: ClassVar[str] = "gaussian"
    parameter_name: ClassVar[str] = "mu"
    form: ClassVar[str] = "{0.mu:g}-GDP"

    def _curve(self, epsilon: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        return gaussian_delta(epsilon, parameter)


@dataclass(frozen=True)
class _ZcdpClaim(_CurveClaim):
    rho: float

    kind: ClassVar[str] = "zcdp"
    parameter_name: ClassVar[str] = "rho"
    form: ClassVar[str] = "{0.rho:g}-zCDP"

    def _curve(self, epsilon: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        return zcdp_delta(epsilon, parameter)


@dataclass(frozen=True)
class FormulaClaim(PrivacyClaim):
    """A claim whose parameter is an expression in a program's parameters: for proofs, no number to audit.

    Attributes:
        notion: "zcdp" or "gaussian".
        formula: the parameter, as text.
    """

    epsilon: float = field(default=math.inf, init=False, repr=False)
    delta: float = field(default=0.0, init=False, repr=False)
    relation: NeighboringRelation | None = field(default=None, init=False, repr=False)
    notion: str
    formula: str

    def __post_init__(self) -> None:
        pass

    @property
    def text(self) -> str:
        """The claim for humans."""
        return f"({self.formula})-{'GDP' if self.notion == 'gaussian' else 'zCDP'}"

    @property
    def parameter(self) -> float:
        """There is none.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(f"{self.text} is a formula, which only dp.prove takes; give a number here")


@dataclass(frozen=True)
class _RenyiClaim(_CurveClaim):
    order: float
    renyi_epsilon: float

    kind: ClassVar[str] = "renyi"
    parameter_name: ClassVar[str] = "renyi_epsilon"
    form: ClassVar[str] = "({0.order:g}, {0.renyi_epsilon:g})-Renyi-DP"

    def __post_init__(self) -> None:
        if not _holds(lambda: 1 < self.order < math.inf):
            raise InvalidInput(f"the Renyi order is {self.order}; it must be a finite number above 1")
        _checked("epsilon", self.renyi_epsilon, finite=True)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, "order": self.order, "epsilon": self.renyi_epsilon}

    def _curve(self, epsilon: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        return renyi_delta(epsilon, self.order, parameter)


@dataclass(frozen=True)
class _ProfileClaim(_CurveClaim):
    points: tuple[tuple[float, float], ...]
    multiplier: float = 1.0  # of every epsilon: the parameter

    kind: ClassVar[str] = "profile"
    parameter_name: ClassVar[str] = "multiplier"

    def __post_init__(self) -> None:
        if not self.points:
            raise InvalidInput("a profile needs at least one point (epsilon, delta)")
        for epsilon, delta in self.points:
            _checked("epsilon of a profile's point", epsilon, finite=True)
            _checked_probability("delta of a profile's point", delta)
        _checked("the multiplier", self.multiplier, finite=True)

    @property
    def text(self) -> str:
        factor = "" if self.multiplier == 1 else f"{self.multiplier:g} x "
        return " and ".join(f"({factor}{epsilon:g}, {delta:g})-DP" for epsilon, delta in self.points)

    def nulls(self, parameters: Any) -> tuple[np.ndarray, np.ndarray]:
        parameters = np.asarray(parameters, float)
        epsilons, deltas = np.asarray(self.points, float).T
        return epsilons[:, None] * parameters, np.repeat(deltas[:, None], parameters.size, axis=1)

    def to_json(self) -> dict[str, Any]:
        points = [list(point) for point in self.points]
        return {"kind": self.kind, "text": self.text, "points": points, "multiplier": self.multiplier}

    def _curve(self, epsilon: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        def at(epsilon: float, multiplier: float) -> np.ndarray:
            return profile_delta(epsilon, [(multiplier * own, delta) for own, delta in self.points])

        return np.vectorize(at, otypes=[float])(epsilon, parameter)


@dataclass(frozen=True)
class Witness:
    """Two neighboring datasets and an event that a mechanism tells apart by more than it claims.

    Printed, it is the ratings with the changed ones marked, the event and its two probabilities; of large datasets
    the changed rows and columns before others.

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
    dataset1: np.ndarray = field(repr=False)
    dataset2: np.ndarray = field(repr=False)
    event: tuple[Any, ...] = field(repr=False)
    log_probability1: float
    log_probability2: float
    claim: PrivacyClaim
    notes: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        what, shown = self._shown()
        sampled = all(isinstance(output, str) and " " in output for output in self.event)  # a black box: bounds
        least, most = ("at least ", "at most ") if sampled else ("", "")
        event = shortened(", ".join(str(_plain(output)) for output in self.event), 200)
        return "\n".join(
            [
                f"violates {self.claim}: privacy loss {least}{nats(self.epsilon)} on these neighboring {what}",
                "",
                *shown,
                "",
                f"event: {event}" if sampled else f"event: the output is {event}",
                f"  probability {least}{_probability(self.log_probability1)} before the change, "
                f"{most}{_probability(self.log_probability2)} after it",
                *(f"  {note}" for note in self.notes),
            ]
        )

    def _shown(self) -> tuple[str, list[str]]:
        """What the datasets are called, and both as one table, the changed cells as [before -> after]."""
        vectors = str(self.relation).startswith("vector:")
        changed = set(self.changed)
        users, items = (_first(size, {cell[axis] for cell in changed}) for axis, size in enumerate(self.dataset1.shape))
        columns = [["", *("" if vectors else f"user {user}" for user in users)]]
        for item in items:
            column = [f"{'entry' if vectors else 'item'} {item}"]
            for user in users:
                before, after = _stars(self.dataset1[user, item]), _stars(self.dataset2[user, item])
                column.append(f"[{before} -> {after}]" if (user, item) in changed else before)
            columns.append(column)
        widths = [max(map(len, column)) for column in columns]
        rows = zip(*columns, strict=True)
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        if (len(users), len(items)) != (shape := self.dataset1.shape):
            lines.append(f"({len(users)} of {shape[0]} users and {len(items)} of {shape[1]} items are shown)")
        return "vectors" if vectors else "ratings", lines

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
            "log_probability1": json_number(self.log_probability1),
            "log_probability2": json_number(self.log_probability2),
            "epsilon": json_number(self.epsilon),
            "epsilon_claimed": json_number(self.claim.epsilon),
            "delta_claimed": self.claim.delta,
            "changed": [list(cell) for cell in self.changed],
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Witness":
        """The witness that `to_json` wrote, against an (epsilon, delta) claim under its own relation."""
        relation = NeighboringRelation.parse(content["relation"])
        return cls(
            content["mechanism"],
            relation,
            np.array(content["dataset1"], float),
            np.array(content["dataset2"], float),
            tuple(content["event"]),
            float(content["log_probability1"]),
            float(content["log_probability2"]),
            PrivacyClaim(float(content["epsilon_claimed"]), content["delta_claimed"], relation),
            tuple(content["notes"]),
        )


def _checked(name: str, value: Any, *, finite: bool = False) -> None:
    if not _holds(lambda: value >= 0):
        raise InvalidInput(f"{name} is {value}; it must be a number >= 0")
    if finite and value == math.inf:
        raise InvalidInput(f"{name} is infinite; it must be finite")


def _checked_probability(name: str, value: Any) -> None:
    if not _holds(lambda: 0 <= value < 1):
        raise InvalidInput(f"{name} is {value}; it must be a probability in [0, 1)")


def _holds(comparison: Callable[[], Any]) -> bool:
    try:
        return bool(comparison())
    except (TypeError, ValueError):  # not a number, or more than one
        return False


def json_number(value: float) -> float | str:
    """As everywhere in our JSON: infinities become strings."""
    return value if math.isfinite(value) else str(value)


def _plain(output: Any) -> Any:
    array = np.asarray(output)
    return array.tolist() if array.dtype != object else str(output)


def _first(size: int, needed: set[int]) -> list[int]:
    """The positions to show: the needed ones before the others, no more than there is room for."""
    return sorted(sorted(range(size), key=lambda position: position not in needed)[:_SHOWN])


def _probability(log_probability: float) -> str:
    return "0 (impossible)" if log_probability == -math.inf else f"{math.exp(log_probability):.6g}"


def _stars(value: float) -> str:
    return "missing" if math.isnan(value) else f"{value:g}"


def _rows(dataset: Any) -> np.ndarray:
    try:
        array = np.asarray(dataset, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "relations are checked on matrices and vectors of numbers; leave the relation out"
        ) from error
    return array[:, None] if array.ndim == 1 else array


def _matrix(matrix: np.ndarray) -> list[list[float | int | None]]:
    def cell(value: float) -> float | int | None:
        if math.isnan(value):
            return None
        return int(value) if float(value).is_integer() else float(value)

    return [[cell(float(value)) for value in row] for row in np.asarray(matrix, float)]
