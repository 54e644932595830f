"""Exact privacy loss of a mechanism with finitely many outputs: every output enumerated under both datasets.

The privacy profile delta(epsilon) is the hockey-stick divergence, sum over outputs of max(p1 - e^epsilon p2, 0)
(Barthe and Olmedo 2013; Balle, Barthe and Gaboardi 2018); epsilon is the largest log-ratio of probabilities (Dwork et
al. 2006).
"""

import functools
import math
import os
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation
from dpassay.core.protocol import FiniteMechanism
from dpassay.core.text import labeled, nats, probability, shortened, under
from dpassay.data.ratings import Ratings

Direction = Literal["forward", "backward"]

CHUNK = 1 << 16  # outputs whose law is computed at once; bounds the temporaries of a large enumeration
QUICK_COMPILE: dict[str, bool | int] = {"xla_backend_optimization_level": 0, "xla_cpu_parallel_codegen_split_count": 1}
if jax.__version_info__ < (0, 11):  # the plain emitters, which later ones lack, compile in a third of the time
    QUICK_COMPILE["xla_cpu_use_fusion_emitters"] = False
TOLERANCE = 1e-9  # by how much the probabilities may miss 1
SINGLE = 1e-5  # by how much they do in single precision
RELATIONS = ("add_or_remove_one:rating", "replace_one:rating", "add_or_remove_one:user", "replace_one:user")


class Event(NamedTuple):
    """A set of outputs and its probability under the dataset that makes it likelier, and under the other.

    Attributes:
        outputs: first axis the outputs.
        direction: "forward" when dataset1 is the likelier one, "backward" when dataset2 is.
        log_probability_likelier: nats.
        log_probability_other: nats, -inf when impossible.
    """

    outputs: np.ndarray
    direction: Direction
    log_probability_likelier: float
    log_probability_other: float


@dataclass(frozen=True, eq=False)
class ExactLoss:
    """The laws of one mechanism on two datasets, output by output, and every privacy measure of the pair.

    Printed, it is a few lines: both directions, the total variation distance, and the output that attains the loss.

    Attributes:
        outputs: first axis the outputs.
        log_probabilities1: shape (outputs,), nats, float64; -inf for an impossible output.
        log_probabilities2: the same under dataset2.
    """

    outputs: np.ndarray
    log_probabilities1: np.ndarray
    log_probabilities2: np.ndarray
    mechanism: Any = field(default=None, repr=False)
    dataset1: Any = field(default=None, repr=False)
    dataset2: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"ExactLoss(num_outputs={len(self.outputs)}, epsilon={self.epsilon:.6g})"

    def __str__(self) -> str:
        event = self.event(self.epsilon)
        likelier, other = (1, 2) if event.direction == "forward" else (2, 1)
        outputs = shortened(", ".join(str(output) for output in event.outputs[:20].tolist()))
        betrayed = f"the output betrays the dataset with probability {self.delta(math.inf):.4g}"
        rows = [
            ("loss", f"of dataset 1 against 2: {nats(self.epsilon_forward)} nats"),
            ("", f"of dataset 2 against 1: {nats(self.epsilon_backward)} nats"),
            ("distance", f"total variation {self.total_variation:.4g}"),
            *under("", [betrayed if math.isinf(self.epsilon) else ""]),
            ("event", f"the output is {outputs}"),
            (
                "",
                f"probability under dataset {likelier}: {probability(event.log_probability_likelier)}; "
                f"under dataset {other}: {probability(event.log_probability_other)}",
            ),
        ]
        return labeled(f"exact privacy loss {nats(self.epsilon)}, over {len(self.outputs):,} outputs", rows)

    @property
    def epsilon(self) -> float:
        """The smallest epsilon for which the pair is epsilon-indistinguishable, nats; infinite if a support differs."""
        return max(self.epsilon_forward, self.epsilon_backward)

    @property
    def epsilon_forward(self) -> float:
        """max log Pr1 / Pr2 over the outputs, nats."""
        return float(np.max(_losses(self.log_probabilities1, self.log_probabilities2)))

    @property
    def epsilon_backward(self) -> float:
        """max log Pr2 / Pr1 over the outputs, nats."""
        return float(np.max(_losses(self.log_probabilities2, self.log_probabilities1)))

    def delta(self, epsilon: Any) -> Any:
        """The privacy profile: the smallest delta for which the pair is (epsilon, delta)-indistinguishable.

        Args:
            epsilon: nats, a number or an array; infinity gives the probability of outputs that betray the dataset.

        Returns:
            A probability: a float, or an array of the shape of `epsilon`.
        """
        grid = np.asarray(epsilon, float)
        values = np.array([max(self._hockey_stick(value)) for value in grid.ravel()]).reshape(grid.shape)
        return float(values) if grid.ndim == 0 else values

    @property
    def total_variation(self) -> float:
        """The total variation distance of the two laws, a probability."""
        return float(self.delta(0.0))

    def event(self, epsilon: float) -> Event:
        """The set of outputs that attains `delta(epsilon)`; where that set is empty, the outputs of largest loss."""
        forward, backward = self._hockey_stick(epsilon)
        direction: Direction = "forward" if forward > backward else "backward"
        if forward == backward:
            direction = "forward" if self.epsilon_forward >= self.epsilon_backward else "backward"
        one, two = self.log_probabilities1, self.log_probabilities2
        likelier, other = (one, two) if direction == "forward" else (two, one)
        losses = _losses(likelier, other)
        chosen = losses > epsilon if (losses > epsilon).any() else losses >= losses.max()
        return Event(self.outputs[chosen], direction, _log_sum(likelier[chosen]), _log_sum(other[chosen]))

    @property
    def certificate(self) -> dict[str, Any] | None:
        """A `witness` certificate body for the largest loss of this pair, as `dpassay.replay.seal` takes it.

        None when there is nothing the trusted checker could recompute or nothing to witness: the mechanism is not a
        registered one, the datasets are not rating matrices, no neighboring relation joins them, or their laws agree.
        """
        body = registered(self.mechanism)
        relation = relation_between(self.dataset1, self.dataset2)
        if body is None or relation is None or self.epsilon <= TOLERANCE:
            return None
        event = self.event(self.epsilon)
        pair = (self.dataset1, self.dataset2) if event.direction == "forward" else (self.dataset2, self.dataset1)
        # The checker wants a strict excess it can prove: claim a hair less than what was found.
        claimed = max(self.epsilon - 1e-6, 0.0) if math.isfinite(self.epsilon) else 1.0
        impossible = math.isinf(self.epsilon)
        inputs = certificate_inputs(body, relation, *pair, event.outputs, epsilon=claimed, impossible=impossible)
        return {"kind": "witness", "inputs": inputs}

    def _hockey_stick(self, epsilon: float) -> tuple[float, float]:
        one, two = self.log_probabilities1, self.log_probabilities2
        return _divergence(one, two, epsilon), _divergence(two, one, epsilon)


@float64
def exact(mechanism: FiniteMechanism, dataset1: Any, dataset2: Any) -> ExactLoss:
    """Enumerates every output of a mechanism on two datasets and computes its exact privacy loss.

    Args:
        mechanism: anything with `outputs(dataset)` and `log_prob(output, dataset)`. The law is computed by `jax.vmap`
            under one `jax.jit`, compiled once per mechanism and shape; a `log_prob` that JAX cannot trace is called
            output by output.
        dataset1: any dataset the mechanism takes; a `Ratings` becomes a matrix, NaN where a rating is missing.
        dataset2: the other dataset. It need not be a neighbor of the first: the loss is that of this pair.

    Raises:
        InvalidInput: the mechanism has no exact law or is not defined on a dataset, its probabilities do not sum to 1,
            or the enumeration would not fit into memory.

    Example:
        >>> import dpassay as dp
        >>> import jax.numpy as jnp
        >>> class RandomizedResponse:
        ...     def sample(self, key, dataset): ...
        ...     def outputs(self, dataset): return jnp.arange(2)
        ...     def log_prob(self, output, dataset): return jnp.log(jnp.where(output == dataset, 0.75, 0.25))
        >>> loss = dp.exact(RandomizedResponse(), 0, 1)
        >>> round(loss.epsilon, 6), round(loss.total_variation, 6)
        (1.098612, 0.5)
    """
    if not isinstance(mechanism, FiniteMechanism):
        raise InvalidInput(
            f"{type(mechanism).__name__} has no exact law: give it log_prob and outputs, or audit it by its samples"
        )
    first, second = (_plain(dataset) for dataset in (dataset1, dataset2))
    for dataset in (first, second):
        if _selects(mechanism, dataset):  # what they release is known before anything large is allocated
            neighbors = mechanism.num_neighbors  # type: ignore[attr-defined]
            _refuse_beyond_memory(math.comb(max(dataset.shape[0] - 1, 0), neighbors), neighbors)
    outputs = np.asarray(mechanism.outputs(first))
    if not (_selects(mechanism, first) and _selects(mechanism, second) and np.shape(first) == np.shape(second)):
        outputs = _union(outputs, mechanism.outputs(second))
    if len(outputs) == 0:
        raise InvalidInput("the mechanism lists no outputs for these datasets; a law needs at least one")
    with ThreadPoolExecutor(2 if len(outputs) > CHUNK else 1) as pool:
        laws = list(pool.map(partial(float64(_law), mechanism, outputs), (first, second), ("dataset1", "dataset2")))
    return ExactLoss(outputs, laws[0], laws[1], mechanism, first, second)


def registered(mechanism: Any) -> dict[str, Any] | None:
    """{"id", "variant", "parameters"} of a registered mechanism, numbers as rational strings; None for any other."""
    if "dpassay.mechanisms" not in sys.modules:  # then it is the user's own, who need not have the registered ones
        return None
    from dpassay.mechanisms import describe

    described = describe(mechanism)
    if not described:
        return None
    parameters = {name: _rational(value) for name, value in described["parameters"].items()}
    return {"id": described["id"], "variant": described["variant"], "parameters": parameters}


def relation_between(dataset1: Any, dataset2: Any) -> NeighboringRelation | None:
    """The narrowest neighboring relation that joins two rating matrices, None if there is none."""
    for text in RELATIONS:
        relation = NeighboringRelation.parse(text)
        try:
            relation.changed(dataset1, dataset2)
        except (InvalidInput, TypeError, ValueError):
            continue
        return relation
    return None


def certificate_inputs(
    mechanism: dict[str, Any],
    relation: NeighboringRelation,
    dataset1: Any,
    dataset2: Any,
    event: Any,
    *,
    epsilon: float | Fraction,
    delta: float | Fraction = 0,
    impossible: bool = False,
) -> dict[str, Any]:
    """The inputs of a `witness` certificate: Pr1[event] > e^epsilon Pr2[event] + delta, and Pr2 = 0 when `impossible`.

    The mechanism is as `registered` gives it; the datasets are neighbors, shape (users, items), NaN where missing, and
    the event, first axis the outputs, is likelier on the first. A float stands for its shortest decimal. The checker
    demands that the event is impossible on dataset2 if that is said.
    """
    body: dict[str, Any] = {
        "mechanism": mechanism,
        "relation": str(relation),
        "epsilon": _rational(epsilon),
        "delta": _rational(delta),
        "dataset1": _cells(dataset1),
        "dataset2": _cells(dataset2),
        "event": np.asarray(event).tolist(),
    }
    return {**body, "impossible": True} if impossible else body


def available_memory() -> int:
    """Bytes that an enumeration may use: what the system reports as available, else its physical memory."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _plain(dataset: Any) -> Any:
    if isinstance(dataset, Ratings):
        return dataset.dense()
    if isinstance(dataset, list):
        return np.asarray(dataset, float)
    kind = getattr(dataset, "dtype", None)  # float32 would have JAX compute the law in float32
    single = kind is not None and np.issubdtype(kind, np.floating) and kind.itemsize < 8
    return np.asarray(dataset, float) if single else dataset


def _selects(mechanism: Any, dataset: Any) -> bool:
    """Whether this is a selection of neighbors, whose outputs are known from the shape of the dataset."""
    neighbors = getattr(mechanism, "num_neighbors", None)
    return isinstance(neighbors, int) and neighbors > 0 and getattr(dataset, "ndim", 0) == 2


def _refuse_beyond_memory(num_outputs: int, width: int) -> None:
    # The outputs (8 bytes an entry) and one copy, two laws, and their temporaries in float64.
    needed = num_outputs * (16 * width + 48) + min(num_outputs, CHUNK) * 8 * 512
    memory = available_memory()
    if needed > memory:
        raise InvalidInput(
            f"the mechanism has {num_outputs:,} outputs, whose laws need {needed / 2**30:,.1f} GiB of memory and "
            f"{memory / 2**30:,.1f} GiB are available; take fewer users or a smaller num_neighbors"
        )


def _union(first: Any, second: Any) -> np.ndarray:
    one, two = np.asarray(first), np.asarray(second)
    if one.shape == two.shape and (one == two).all():
        return one
    if one.shape[1:] != two.shape[1:]:
        raise InvalidInput(f"the outputs have shapes {one.shape[1:]} and {two.shape[1:]}; pad them to one shape")
    return np.unique(np.concatenate([one, two]), axis=0)


def _law(mechanism: FiniteMechanism, outputs: np.ndarray, dataset: Any, name: str) -> np.ndarray:
    _refuse_beyond_memory(len(outputs), max(1, outputs[:1].size))
    size = min(CHUNK, 1 << (len(outputs) - 1).bit_length())
    logs = np.empty(len(outputs))
    try:
        compute = _compiled(cast(Hashable, mechanism), len(outputs) > size)
    except TypeError:  # a mechanism that cannot be hashed is compiled for this call only
        compute = _compiled.__wrapped__(mechanism, len(outputs) > size)
    try:
        for start in range(0, len(outputs), size):
            chunk = outputs[start : start + size]
            padded = np.concatenate([chunk, np.broadcast_to(chunk[:1], (size - len(chunk), *chunk.shape[1:]))])
            logs[start : start + size] = np.asarray(compute(padded, dataset))[: len(chunk)]
    except (jax.errors.JAXTypeError, TypeError):
        logs[:] = [float(mechanism.log_prob(output, dataset)) for output in outputs]
    if np.isnan(logs).any():
        raise InvalidInput(
            f"the mechanism is not defined on {name}: log_prob of output {outputs[np.isnan(logs)][0].tolist()} is NaN; "
            "give it enough candidates and a target with co-rated items"
        )
    total = _log_sum(logs)
    if not abs(math.expm1(total)) <= TOLERANCE:
        raise InvalidInput(
            f"the probabilities on {name} sum to {math.exp(total):.12g} instead of 1; log_prob "
            + ("rounds: let it compute in float64" if abs(math.expm1(total)) < SINGLE else "or outputs is wrong")
        )
    return logs


@functools.lru_cache(maxsize=64)
def _compiled(mechanism: Any, large: bool) -> Callable[[Any, Any], jax.Array]:
    def law(outputs: Any, dataset: Any) -> jax.Array:
        return jax.vmap(lambda output: jnp.asarray(mechanism.log_prob(output, dataset), float))(outputs)

    # A law of one chunk runs in no time, compiling it does not.
    return jax.jit(law, compiler_options=None if large else QUICK_COMPILE)


def _losses(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """log p1/p2 per output; -inf where p1 = 0, since such outputs never count against the pair."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(one), -np.inf, one - two)


def _divergence(one: np.ndarray, two: np.ndarray, epsilon: float) -> float:
    losses = _losses(one, two)
    above = losses > epsilon if math.isfinite(epsilon) else np.isposinf(losses)
    # p1 - e^epsilon p2 = p1 (1 - e^(epsilon - loss)), without the cancellation.
    with np.errstate(invalid="ignore"):
        gain = np.where(np.isposinf(losses[above]), 1.0, -np.expm1(epsilon - losses[above]))
    return math.fsum(np.exp(one[above]) * gain)


def _log_sum(logs: np.ndarray) -> float:
    top = float(np.max(logs, initial=-math.inf))
    return top if math.isinf(top) else top + math.log(math.fsum(np.exp(logs - top)))


def _rational(value: Any) -> Any:
    """A number as the rational string of its shortest decimal, everything else unchanged."""
    if isinstance(value, bool) or value is None or isinstance(value, str | int):
        return value
    return str(Fraction(str(value)))


def _cells(matrix: Any) -> list[list[Any]]:
    def cell(value: float) -> Any:
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else str(Fraction(str(value)))

    return [[cell(float(value)) for value in row] for row in np.asarray(matrix, float)]
