"""Worst-case neighbors: finds two neighboring rating datasets that a mechanism tells apart by more than it claims.

The search evaluates exact laws only (`dpassay.exact` explains the measures), many datasets in one compiled call: random
datasets with all their neighbors, discrete local search with restarts, and gradient ascent on relaxed ratings rounded
back to the scale. What it finds is shrunk until no smaller instance violates the claim, which is shown by enumerating
all smaller instances. "Smaller" is the componentwise order of `Size`.
"""

import contextlib
import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors.exact import QUICK_COMPILE, ExactLoss, exact, registered
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.core.protocol import FiniteMechanism, Mechanism
from dpassay.core.text import several
from dpassay.data.ratings import Ratings
from dpassay.replay.witness import SELECTIONS_OF_USERS
from dpassay.runs.parallel import PerWorker, results_in_order, usable_executor
from dpassay.runs.steps import Steps

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
MARGIN = 1e-9  # a loss must pass the claim by this much, nats, so that rounding alone never makes a witness
NUM_STARTS = 4  # violating pairs from which shrinking starts
MAX_INSTANCES = 400_000  # the largest enumeration of smaller instances that is attempted
PART = 4096  # instances of one task of the enumeration
BATCH = 256  # datasets of one compiled call: enough for all changes of one small dataset
LAW_ENTRIES = 1 << 20  # log-probabilities computed by one compiled call
Datasets = np.ndarray  # int8 levels, shape (batch, users, items): 0 is a missing rating, j the j-th of the scale


class Size(NamedTuple):
    """How large an instance is; one instance is smaller than another when no component is larger and one is smaller.

    Attributes:
        num_neighbors: k of the mechanism; 0 where the mechanism has none.
        candidates: users other than the target.
        items: columns; of a registered mechanism those that somebody rated.
        ratings: ratings in the dataset that has more.
        largest: the largest rating of either dataset, by its place on the scale (1 is the lowest).
    """

    num_neighbors: int
    candidates: int
    items: int
    ratings: int
    largest: int

    def within(self, other: "Size") -> bool:
        """Whether no component is larger than the other's."""
        return all(mine <= theirs for mine, theirs in zip(self, other, strict=True))


@dataclass(frozen=True)
class Minimality:
    """A witness that was shrunk, and what shows that nothing smaller violates the claim.

    Attributes:
        witness: the smallest found.
        size: its size.
        enumerated: neighboring pairs smaller than it, all evaluated (registered mechanisms: up to the order of items).
        complete: whether these are all the smaller pairs; False when there were too many or time ran out.
        fixed: the components of the size that were kept.
    """

    witness: Witness
    size: Size
    enumerated: int
    complete: bool
    fixed: tuple[str, ...] = ()

    def __str__(self) -> str:
        k, candidates, items, ratings, _ = self.size
        selects_users = self.witness.mechanism.get("id") in SELECTIONS_OF_USERS
        rows = ("candidate", candidates) if selects_users else ("user", candidates + 1)
        counts = (rows, ("item", items), ("rating", ratings))
        shape = ", ".join(several(count, name) for name, count in counts)
        largest = np.nanmax([self.witness.dataset1, self.witness.dataset2])
        shape = f"{f'k = {k}, ' if k else ''}{shape}, the largest {largest:g}"
        if not self.complete:
            return f"{shape}; not shown minimal"
        kept = f" of the same {', '.join(self.fixed)}" if self.fixed else ""
        return f"{shape}; none of the {self.enumerated} smaller instances{kept} violates the claim"


@float64
def search(
    mechanism: Mechanism | Callable[..., Any],
    relation: NeighboringRelation | str,
    *,
    epsilon: float,
    delta: float = 0.0,
    datasets: Any = None,
    start: Any = None,
    time_limit: float = 20.0,
    seed: int = 0,
    num_users: int = 6,
    num_items: int = 4,
    scale: Sequence[float] | None = None,
    patterns: bool = False,
    fixed: Sequence[str] = (),
    minimal: bool = True,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    resume: Path | str | None = None,
) -> Witness | None:
    """Looks for neighboring datasets that refute (epsilon, delta)-differential privacy, and shrinks them.

    With `datasets` they are of any type, and a witness prints as code (`dpassay.auditors.strategy_search`). Otherwise
    they are ratings or vectors, and a mechanism without an exact law is searched as a black box
    (`dpassay.auditors.neighbor_search`). Either way a witness on samples keeps the claim with probability at most 0.05;
    `patterns`, `fixed` and `minimal` are for exact laws only.

    Args:
        mechanism: defined on datasets that the strategy draws; without one on matrices of shape (users, items), NaN
            where a rating is missing. Smaller numbers of neighbors are tried with
            `dataclasses.replace(mechanism, num_neighbors=...)` where it has that field.
        relation: or its text: "add_or_remove_one:record" or "replace_one:record" (also `:entry`, `:user`) with
            `datasets`, for example "add_or_remove_one:rating" without.
        epsilon: the claimed loss, nats.
        delta: the claimed probability of a larger loss.
        datasets: a Hypothesis strategy that draws datasets; neighbors are made of what it draws, and of nothing else.
        start: a dataset to begin from; fixes the shape.
        time_limit: seconds; shrinking gets what the search left, and at least a quarter.
        seed: of everything random.
        num_users: rows of the datasets tried, where no `start` is given.
        num_items: columns, likewise.
        scale: the ratings that may occur, lowest first, by default 1 to 5; entries of vectors, by default any.
        patterns: also begin from regular matrices (constant, diagonal, staircase) that know nothing of the mechanism.
        fixed: components of `Size` that shrinking keeps, for example "num_neighbors".
        minimal: enumerate all smaller instances; without it the witness is shrunk step by step and may not be minimal.
        progress: called with one line when a stage ends.
        executor: whose workers share the restarts and the smaller instances of an exact search, or the draws of the
            tests on samples, whose candidates are compared here. What is found is what one process finds in that many
            restarts.
        resume: a file that keeps restarts, judged pairs and tests, so that the same search, killed, goes on from them
            with the time it had left; with a larger limit, a search that found nothing goes on, too.

    Returns:
        A witness with notes on its minimality, or None when nothing was found in time. None is no proof of privacy.

    Raises:
        InvalidInput: the mechanism lists no outputs or is defined nowhere, an argument is out of range, or the start is
            not made of numbers.
    """
    options: Any = {
        "time_limit": time_limit,
        "seed": seed,
        "progress": progress,
        "executor": executor,
        "resume": resume,
    }
    if datasets is not None:
        from dpassay.auditors.strategy_search import search_strategy

        if start is not None or scale is not None:
            raise InvalidInput("a strategy says itself what is in its datasets: leave start and scale out")
        claim = PrivacyClaim(float(epsilon), float(delta))
        return search_strategy(mechanism, str(relation), datasets, claim=claim, **options).witness
    start = None if start is None else start_numbers(start)
    if not isinstance(mechanism, FiniteMechanism) or str(relation).startswith("vector:"):
        from dpassay.auditors.neighbor_search import search_black_box

        return search_black_box(
            mechanism,
            relation,
            claim=PrivacyClaim(float(epsilon), float(delta)),
            start=start,
            num_users=num_users,
            num_items=num_items,
            scale=scale,
            **options,
        )
    scale = SCALE if scale is None else scale
    problem = _problem(mechanism, relation, epsilon, delta, start, num_users, num_items, scale, fixed)
    starts = [levels.tolist() for levels in problem.start]
    settings = [seed, problem.values.tolist(), problem.users, problem.items, starts, patterns]
    steps = Steps(resume, mechanism, problem.claim, settings, __name__)
    begin = time.monotonic() - steps.seconds
    shared = _Shared(problem, executor)
    pairs = _find(shared, seed, begin + time_limit, patterns, progress, stop=True, steps=steps)
    if not pairs or not problem.violates(pairs[0]):
        return None
    end = max(begin + time_limit, time.monotonic() + time_limit / 4)
    found = _minimize(shared, pairs, end, progress, minimal=minimal)
    return dataclasses.replace(found.witness, notes=(*found.witness.notes, str(found)))


@float64
def worst_case(
    mechanism: FiniteMechanism,
    relation: NeighboringRelation | str,
    *,
    epsilon: float,
    delta: float = 0.0,
    start: Any = None,
    time_limit: float = 5.0,
    seed: int = 0,
    num_users: int = 6,
    num_items: int = 4,
    scale: Sequence[float] = SCALE,
    patterns: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Witness | None:
    """The pair with the largest loss found in `time_limit` seconds, not shrunk; None if every pair loses nothing.

    Arguments and errors as in `search`; an infinite loss ends it early. The witness need not violate the claim.
    """
    problem = _problem(mechanism, relation, epsilon, delta, start, num_users, num_items, scale)
    end = time.monotonic() + time_limit
    pairs = _find(_Shared(problem), seed, end, patterns, progress, stop=False, steps=Steps(None))
    return problem.witness(pairs[0]) if pairs else None


@float64
def minimize(
    mechanism: FiniteMechanism,
    relation: NeighboringRelation | str,
    dataset1: Any,
    dataset2: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    time_limit: float = 20.0,
    scale: Sequence[float] = SCALE,
    fixed: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Minimality:
    """Shrinks a violating pair until nothing smaller violates the claim, shown by enumerating all smaller instances.

    Raises:
        InvalidInput: the datasets are not neighbors, or this pair does not violate the claim.
    """
    first, second = (_matrix(dataset) for dataset in (dataset1, dataset2))
    problem = _problem(mechanism, relation, epsilon, delta, np.stack([first, second]), 0, 0, scale, fixed)
    problem.relation.changed(first, second)
    pair = _Pair(problem.num_neighbors, problem.levels(first), problem.levels(second))
    if not problem.violates(pair):
        raise InvalidInput(f"this pair does not violate {problem.claim}: give one that does, as `search` finds them")
    return _minimize(_Shared(problem), [pair], time.monotonic() + time_limit, progress, minimal=True)


class _Pair(NamedTuple):
    num_neighbors: int
    first: np.ndarray
    second: np.ndarray

    @property
    def total(self) -> int:
        return int(self.first.sum(dtype=int) + self.second.sum(dtype=int))


@dataclass(frozen=True)
class _Problem:
    """A mechanism, what it claims, and the laws of its instances, evaluated in batches of fixed compiled shapes.

    `inert` says that an item nobody rated changes nothing and that items are exchangeable, as for every registered
    selection of users; then all instances with fewer items share the shape of the widest.
    """

    mechanism: Any
    claim: PrivacyClaim
    values: np.ndarray
    users: int
    items: int
    start: tuple[np.ndarray, ...]
    inert: bool
    fixed: tuple[str, ...] = ()
    outputs: dict[tuple[int, int, int], np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def relation(self) -> NeighboringRelation:
        assert self.claim.relation is not None
        return self.claim.relation

    @property
    def num_neighbors(self) -> int:
        return int(getattr(self.mechanism, "num_neighbors", 0))

    def levels(self, matrix: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(matrix), 0, np.searchsorted(self.values, np.nan_to_num(matrix)) + 1).astype(np.int8)

    def ratings(self, levels: np.ndarray) -> np.ndarray:
        return np.concatenate([[np.nan], self.values])[levels]

    def at(self, num_neighbors: int) -> Any:
        if num_neighbors == self.num_neighbors:
            return self.mechanism
        return dataclasses.replace(self.mechanism, num_neighbors=num_neighbors)

    def laws(self, num_neighbors: int, datasets: Datasets) -> np.ndarray:
        """Log-probabilities, shape (batch, outputs)."""
        if self.inert and datasets.shape[2] < self.items:
            datasets = np.pad(datasets, ((0, 0), (0, 0), (0, self.items - datasets.shape[2])))
        key = (num_neighbors, *datasets.shape[1:])
        if key not in self.outputs:
            try:
                self.outputs[key] = np.asarray(self.at(num_neighbors).outputs(np.zeros(datasets.shape[1:])))
            except InvalidInput:  # a shape the mechanism does not take, such as fewer candidates than neighbors
                self.outputs[key] = np.zeros(0)
        outputs = self.outputs[key]
        if len(outputs) < 2:  # nothing to tell apart, so nothing to compile
            return np.full((len(datasets), 1), 0.0 if len(outputs) else np.nan)
        batch = max(1, min(BATCH, LAW_ENTRIES // len(outputs)))
        compute = _compiled(self.at(num_neighbors))
        logs = np.empty((len(datasets), len(outputs)))
        for begin in range(0, len(datasets), batch):
            chunk = datasets[begin : begin + batch]
            padded = np.concatenate([chunk, np.broadcast_to(chunk[:1], (batch - len(chunk), *chunk.shape[1:]))])
            logs[begin : begin + batch] = np.asarray(compute(self.ratings(padded), outputs))[: len(chunk)]
        return logs

    def score(self, num_neighbors: int, first: Datasets, second: Datasets) -> np.ndarray:
        """How bad each pair is, shape (batch,): its loss, or delta(epsilon) if a delta is claimed; NaN: undefined.

        An infinite loss is scored above every finite one, by the probability that betrays the dataset.
        """
        distinct, place = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
        logs = self.laws(num_neighbors, distinct)
        one, two = logs[place.ravel()[: len(first)]], logs[place.ravel()[len(first) :]]
        undefined = np.isnan(one).any(axis=1) | np.isnan(two).any(axis=1)
        with np.errstate(invalid="ignore"):
            forward, backward = (np.where(np.isneginf(p), -np.inf, p - q) for p, q in ((one, two), (two, one)))
            loss = np.maximum(forward.max(axis=1), backward.max(axis=1))
            if self.claim.delta == 0:
                surely = [
                    np.where(np.isposinf(r), np.exp(p), 0).sum(axis=1) for r, p in ((forward, one), (backward, two))
                ]
                score = np.where(np.isposinf(loss), 1e6 + np.maximum(*surely), loss)
            else:
                factor = math.exp(self.claim.epsilon)
                p, q = np.exp(one), np.exp(two)
                excess = [np.maximum(a - factor * b, 0).sum(axis=1) for a, b in ((p, q), (q, p))]
                divergence = np.maximum(*excess)
                score = np.where(divergence > 0, divergence, np.minimum(loss - self.claim.epsilon, 0))
        return np.where(undefined, np.nan, score)

    def bad(self, scores: np.ndarray) -> np.ndarray:
        """Which scores violate the claim."""
        limit = self.claim.epsilon if self.claim.delta == 0 else self.claim.delta
        return np.nan_to_num(scores, nan=-np.inf) > limit + MARGIN

    def size(self, pair: _Pair) -> Size:
        return Size(*self.sizes(pair.num_neighbors, pair.first[None], pair.second[None])[0].tolist())

    def sizes(self, num_neighbors: int, first: Datasets, second: Datasets) -> np.ndarray:
        """The components of `Size`, shape (batch, 5)."""
        batch, users, columns = first.shape
        items = (first | second).any(axis=1).sum(axis=1) if self.inert else np.full(batch, columns)
        ratings = np.maximum((first > 0).sum(axis=(1, 2)), (second > 0).sum(axis=(1, 2)))
        largest = np.maximum(first, second).max(axis=(1, 2))
        return np.stack([np.full(batch, num_neighbors), np.full(batch, users - 1), items, ratings, largest], axis=1)

    def violates(self, pair: _Pair) -> bool:
        return bool(self.bad(self.score(pair.num_neighbors, pair.first[None], pair.second[None]))[0])

    def witness(self, pair: _Pair) -> Witness:
        first, second = (self.ratings(levels) for levels in (pair.first, pair.second))
        mechanism = self.at(pair.num_neighbors)
        one, two = self.laws(pair.num_neighbors, np.stack([pair.first, pair.second]))
        width = self.items if self.inert else first.shape[1]
        loss = ExactLoss(self.outputs[pair.num_neighbors, len(first), width], one, two)
        event = loss.event(loss.epsilon if self.claim.delta == 0 else self.claim.epsilon)
        if event.direction == "backward":
            first, second = second, first
        return Witness(
            mechanism=registered(mechanism) or {},
            relation=self.relation,
            dataset1=first,
            dataset2=second,
            event=tuple(np.asarray(event.outputs).tolist()),
            log_probability1=event.log_probability_likelier,
            log_probability2=event.log_probability_other,
            claim=self.claim,
        )


def _problem(
    mechanism: Any,
    relation: NeighboringRelation | str,
    epsilon: float,
    delta: float,
    start: Any,
    num_users: int,
    num_items: int,
    scale: Sequence[float],
    fixed: Sequence[str] = (),
) -> _Problem:
    if not isinstance(mechanism, FiniteMechanism):
        raise InvalidInput(
            f"{type(mechanism).__name__} has no exact law to search on: give it log_prob and outputs, or audit it"
        )
    relation = NeighboringRelation.parse(relation) if isinstance(relation, str) else relation
    claim = PrivacyClaim(float(epsilon), float(delta), relation)
    if math.isinf(claim.epsilon):
        raise InvalidInput("epsilon is infinite, which claims nothing; give a finite number")
    values = np.unique(np.asarray(scale, float))
    if not np.isfinite(values).all() or not 1 <= len(values) <= 100:
        raise InvalidInput(f"the scale {tuple(scale)} must hold 1 to 100 finite ratings")
    datasets: tuple[np.ndarray, ...] = ()
    if start is not None:
        stacked = _matrix(start) if not isinstance(start, np.ndarray) else np.asarray(start, float)
        datasets = tuple(stacked) if stacked.ndim == 3 else (_matrix(stacked),)
        if len(datasets) == 1:
            exact(mechanism, datasets[0], datasets[0])  # refuses ratings on which the mechanism is not defined
        num_users, num_items = datasets[0].shape
        values = np.unique(np.concatenate([values, *(matrix[~np.isnan(matrix)] for matrix in datasets)]))
    if unknown := sorted(set(fixed) - set(Size._fields)):
        raise InvalidInput(f"fixed names {', '.join(unknown)}; choose from {', '.join(Size._fields)}")
    if num_users < 2 or num_items < 1:
        raise InvalidInput(f"{num_users} users and {num_items} items are too few; take at least 2 users and 1 item")
    inert = (registered(mechanism) or {}).get("id") in SELECTIONS_OF_USERS
    problem = _Problem(mechanism, claim, values, num_users, num_items, (), inert, tuple(fixed))
    outputs = np.asarray(mechanism.outputs(np.zeros((num_users, num_items))))
    if len(outputs) == 0:
        raise InvalidInput(f"the mechanism lists no outputs for {num_users} users; take more users")
    return dataclasses.replace(problem, start=tuple(problem.levels(matrix) for matrix in datasets))


@functools.lru_cache(maxsize=256)
def _compiled(mechanism: Any) -> Callable[[Any, Any], jax.Array]:
    def law(dataset: Any, outputs: Any) -> jax.Array:
        return jax.vmap(lambda output: jnp.asarray(mechanism.log_prob(output, dataset), float))(outputs)

    # One search meets many small shapes: they are compiled quickly rather than run quickly.
    return jax.jit(jax.vmap(law, in_axes=(0, None)), compiler_options=QUICK_COMPILE)


# --- finding ---------------------------------------------------------------------------------------------------------


class _Shared:
    """A problem whose parts this process works on, or the workers of an executor."""

    def __init__(self, problem: _Problem, executor: Executor | None = None) -> None:
        self.problem = problem
        self._executor = None if executor is None else usable_executor(executor)
        self._work = PerWorker(_bound, problem)  # what a worker compiles, it keeps

    def each(
        self, step: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]
    ) -> contextlib.closing[Generator[tuple[Any, ...], None, None]]:
        """Every task with what `step(problem, *task)` returns, in the order of the tasks."""
        named = ((step, *task) for task in tasks)
        results = results_in_order(self._work, named, self._executor)
        return contextlib.closing((task[1:], result) for task, result in results)


def _bound(problem: _Problem) -> Callable[..., Any]:
    """Does any step on the problem."""
    return float64(lambda step, *task: step(problem, *task))


def _find(
    shared: _Shared,
    seed: int,
    deadline: float,
    patterns: bool,
    progress: Callable[[str], None] | None,
    *,
    stop: bool,
    steps: Steps,
) -> list[_Pair]:
    """The worst pair found, if any; with `stop`, the first few that violate the claim."""
    problem, worst = shared.problem, -math.inf
    pairs: list[_Pair] = []
    done = steps.count("restart")
    tasks = itertools.islice(_restarts(problem, seed, deadline, patterns, stop), done, None)
    with shared.each(_restart, tasks) as results:
        for restart, score, found in itertools.chain(_kept(steps), _noted(steps, results)):
            if score > worst:
                worst, pairs = score, found
                if progress is not None:
                    progress(f"search: restart {restart}, worst score {worst:.4g}")
            over = restart >= done and time.monotonic() > deadline
            if over or worst >= 1e6 or (stop and problem.bad(np.array([worst]))[0]):
                break
    return pairs if worst > MARGIN else []


Restarted = tuple[int, float, list[_Pair]]  # its number, the worst score, and pairs that have it


def _kept(steps: Steps) -> Iterator[Restarted]:
    """The restarts of earlier runs."""
    for restart in range(steps.count("restart")):
        found = steps.find("restart", restart)
        assert found is not None
        pairs = [_Pair(k, np.array(one, np.int8), np.array(two, np.int8)) for k, one, two in found["pairs"]]
        yield restart, found["score"], pairs


def _noted(steps: Steps, results: Iterable[tuple[Any, ...]]) -> Iterator[Restarted]:
    """The restarts of this run, kept as they end."""
    for (restart, *_), (score, pairs) in results:
        listed = [(k, first.tolist(), second.tolist()) for k, first, second in pairs]
        steps.keep("restart", restart, {"score": score, "pairs": listed})
        yield restart, score, pairs


def _restarts(
    problem: _Problem, seed: int, deadline: float, patterns: bool, stop: bool
) -> Iterator[tuple[int, Datasets, Datasets, float, bool]]:
    """What each restart begins from, without end."""
    generator = np.random.default_rng(seed)
    starts = [*problem.start, *(_patterns(problem) if patterns else ())]
    for restart in itertools.count():
        bases = [*starts, *_random(problem, generator, 16)] if restart == 0 else _random(problem, generator, 24)
        firsts, seconds = zip(*(_neighbors(problem, base, generator) for base in bases), strict=True)
        yield restart, np.concatenate(firsts), np.concatenate(seconds), deadline - time.monotonic(), stop


def _restart(
    problem: _Problem, restart: int, first: Datasets, second: Datasets, left: float, stop: bool
) -> tuple[float, list[_Pair]]:
    """The worst score that is reached from these pairs in `left` seconds, and the pairs that have it.

    With `stop`, where some violate the claim at once: the few of them with the fewest ratings.
    """
    deadline, k = time.monotonic() + left, problem.num_neighbors
    scores = problem.score(k, first, second)
    bad = problem.bad(scores)
    if stop and bad.any():
        ratings = (first > 0).sum(axis=(1, 2)) + (second > 0).sum(axis=(1, 2))
        few = sorted(np.flatnonzero(bad).tolist(), key=lambda place: int(ratings[place]))[:NUM_STARTS]
        return float(scores[few].max()), [_Pair(k, first[place], second[place]) for place in few]
    if not np.isfinite(scores).any():
        return -math.inf, []
    place = int(np.nanargmax(scores))
    pair, score = _Pair(k, first[place], second[place]), float(scores[place])
    pair, score = _climb(problem, pair, score, deadline, stop)
    # Compiling the gradient costs more than a few restarts.
    if score < 1e6 and (not stop or (restart >= 2 and not problem.bad(np.array([score]))[0])):
        pair, score = _ascend(problem, pair, score)
    return score, [pair]


def _random(problem: _Problem, generator: np.random.Generator, count: int) -> list[np.ndarray]:
    """Datasets of many densities, some on the whole scale and some on two of its ratings, so that ties occur."""
    top = len(problem.values)
    datasets = []
    for _ in range(count):
        density = 1.0 if problem.relation.unit == "entry" else generator.choice([0.3, 0.5, 0.7, 0.9, 1.0])
        few = generator.choice(top, size=min(top, int(generator.choice([2, top]))), replace=False) + 1
        levels = generator.choice(few, size=(problem.users, problem.items))
        datasets.append(np.where(generator.random(levels.shape) < density, levels, 0).astype(np.int8))
    return datasets


def _patterns(problem: _Problem) -> list[np.ndarray]:
    users, items, top = problem.users, problem.items, len(problem.values)
    row, column = np.indices((users, items))
    fill = 1 if problem.relation.unit == "entry" else 0
    shapes = (np.ones((users, items), bool), row % items == column, row >= column, row <= column)
    return [np.where(shape, level, fill).astype(np.int8) for shape in shapes for level in (1, top)]


def _neighbors(problem: _Problem, base: np.ndarray, generator: np.random.Generator) -> tuple[Datasets, Datasets]:
    """All neighbors of one dataset; of the many that replace a whole user, some."""
    relation, top = problem.relation, len(problem.values)
    changed = []
    if relation.unit == "user":
        for user in range(problem.users):
            leaves = relation.kind == "add_or_remove_one" and base[user].any()
            rows = [np.zeros(problem.items)] if leaves else generator.integers(0, top + 1, (8, problem.items))
            changed += [_with(base, user, row) for row in rows]
    else:
        for user, item in np.ndindex(base.shape):
            changed += [_with(base, (user, item), level) for level in range(top + 1) if level != base[user, item]]
    second = np.array(changed, np.int8)
    first = np.broadcast_to(base, second.shape)
    keep = _related(relation, first, second)
    if not keep.any():
        return np.zeros((0, *base.shape), np.int8), np.zeros((0, *base.shape), np.int8)
    return first[keep], second[keep]


def _climb(problem: _Problem, pair: _Pair, score: float, deadline: float, stop: bool) -> tuple[_Pair, float]:
    """Steepest ascent over all changes of one cell; ends at a local maximum."""
    while time.monotonic() < deadline and score < 1e6:
        first, second = _changes(problem, pair, range(len(problem.values) + 1))
        if len(first) == 0:
            break
        scores = np.nan_to_num(problem.score(pair.num_neighbors, first, second), nan=-np.inf)
        place = int(scores.argmax())
        if not scores[place] > score + MARGIN:
            break
        pair, score = _Pair(pair.num_neighbors, first[place], second[place]), float(scores[place])
        if stop and problem.bad(scores)[place]:
            break
    return pair, score


def _changes(problem: _Problem, pair: _Pair, levels: Any) -> tuple[Datasets, Datasets]:
    """Every pair that differs from `pair` in one cell, still of neighbors: changed in both datasets, or in one."""
    firsts, seconds = [], []
    for user, item in np.ndindex(pair.first.shape):
        one, two = pair.first[user, item], pair.second[user, item]
        for level in levels:
            if level != one or level != two:
                moved1, moved2 = (_with(matrix, (user, item), level) for matrix in (pair.first, pair.second))
                if one == two:
                    firsts += [moved1]
                    seconds += [moved2]
                else:
                    firsts += [moved1, pair.first]
                    seconds += [pair.second, moved2]
    first, second = np.array(firsts, np.int8), np.array(seconds, np.int8)
    keep = _related(problem.relation, first, second)
    return first[keep], second[keep]


def _ascend(problem: _Problem, pair: _Pair, score: float, steps: int = 40) -> tuple[_Pair, float]:
    """Gradient ascent on the loss over real ratings; the path is rounded to the scale and its best point kept."""
    if len(problem.values) < 2:
        return pair, score
    mechanism = problem.at(pair.num_neighbors)
    outputs = np.asarray(mechanism.outputs(np.zeros(pair.first.shape)))
    try:
        sides = problem.ratings(pair.first), problem.ratings(pair.second)
        path = np.asarray(_ascent(mechanism, steps)(*sides, outputs, problem.values[0], problem.values[-1]))
    except (jax.errors.JAXTypeError, TypeError, NotImplementedError):  # a law that JAX cannot differentiate
        return pair, score
    middles = (problem.values[1:] + problem.values[:-1]) / 2
    rounded = np.searchsorted(middles, path) + 1
    first = np.where(pair.first > 0, rounded[:, 0], 0).astype(np.int8)
    second = np.where(pair.second > 0, rounded[:, 1], 0).astype(np.int8)
    keep = _related(problem.relation, first, second)
    if not keep.any():
        return pair, score
    scores = np.nan_to_num(problem.score(pair.num_neighbors, first[keep], second[keep]), nan=-np.inf)
    place = int(scores.argmax())
    if not scores[place] > score:
        return pair, score
    return _Pair(pair.num_neighbors, first[keep][place], second[keep][place]), float(scores[place])


@functools.lru_cache(maxsize=64)
def _ascent(mechanism: Any, steps: int) -> Callable[..., jax.Array]:
    def loss(relaxed: jax.Array, first: jax.Array, second: jax.Array, outputs: jax.Array) -> jax.Array:
        same = first == second
        one = jnp.where(jnp.isnan(first), jnp.nan, relaxed[0])
        two = jnp.where(jnp.isnan(second), jnp.nan, jnp.where(same, relaxed[0], relaxed[1]))
        law1, law2 = (jax.vmap(lambda o, d=d: mechanism.log_prob(o, d))(outputs) for d in (one, two))
        possible = jnp.isfinite(law1) & jnp.isfinite(law2)
        return jnp.max(jnp.where(possible, jnp.abs(jnp.where(possible, law1 - law2, 0.0)), 0.0))

    def path(first: jax.Array, second: jax.Array, outputs: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
        def step(relaxed: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            slope = jnp.nan_to_num(jax.grad(loss)(relaxed, first, second, outputs), posinf=0.0, neginf=0.0)
            longest = jnp.max(jnp.abs(slope))
            moved = relaxed + 0.25 * slope / jnp.where(longest > 0, longest, 1.0)
            moved = jnp.clip(moved, low, high)
            shared = jnp.where(first == second, moved[0], moved[1])
            return moved, jnp.stack([moved[0], shared])

        begin = jnp.stack([jnp.nan_to_num(first, nan=low), jnp.nan_to_num(second, nan=low)])
        return jax.lax.scan(step, begin, None, length=steps)[1]

    return jax.jit(path)


# --- shrinking -------------------------------------------------------------------------------------------------------


def _minimize(
    shared: _Shared, pairs: Sequence[_Pair], deadline: float, progress: Callable[[str], None] | None, *, minimal: bool
) -> Minimality:
    problem = shared.problem
    with shared.each(_greedy, ((pair, deadline - time.monotonic()) for pair in pairs)) as results:
        shrunk = [pair for _, pair in results]
    pair = min(shrunk, key=lambda pair: (sum(problem.size(pair)[:3]), problem.size(pair), pair.total))
    if progress is not None:
        progress(f"shrink: down to {problem.size(pair)}")
    pair, smaller, complete = _enumerate(shared, pair, deadline) if minimal else (pair, 0, False)
    if problem.inert:
        used = (pair.first | pair.second).any(axis=0)
        pair = _Pair(pair.num_neighbors, pair.first[:, used], pair.second[:, used])
    return Minimality(problem.witness(pair), problem.size(pair), smaller, complete, problem.fixed)


def _greedy(problem: _Problem, pair: _Pair, left: float) -> _Pair:
    """Takes away neighbors, users, items and ratings and lowers ratings while the pair still violates the claim."""
    deadline = time.monotonic() + left
    while time.monotonic() < deadline:
        for moves in (_fewer_users, _fewer_items, _fewer_ratings):
            size = problem.size(pair)
            allowed = [
                move
                for move in moves(problem, pair)
                if all(getattr(problem.size(move), name) == getattr(size, name) for name in problem.fixed)
            ]
            smaller = _first_bad(problem, allowed)
            if smaller is not None:
                break
        else:
            return pair
        pair = smaller
    return pair


def _first_bad(problem: _Problem, pairs: Sequence[_Pair]) -> _Pair | None:
    """The smallest of the pairs that violates the claim; pairs of one shape are evaluated together."""
    for _, alike in itertools.groupby(pairs, key=lambda pair: (pair.num_neighbors, pair.first.shape)):
        group = sorted(alike, key=lambda pair: (problem.size(pair).ratings, pair.total))
        first, second = np.stack([pair.first for pair in group]), np.stack([pair.second for pair in group])
        keep = _related(problem.relation, first, second)
        if keep.any():
            bad = problem.bad(problem.score(group[0].num_neighbors, first, second)) & keep
            if bad.any():
                return group[int(bad.argmax())]
    return None


def _fewer_users(problem: _Problem, pair: _Pair) -> list[_Pair]:
    k, first, second = pair
    users = range(len(first) if len(first) > 2 else 0)
    fewer = [_Pair(k, np.delete(first, user, axis=0), np.delete(second, user, axis=0)) for user in users]
    # Only a mechanism that names its target would be changed by taking the target's row away.
    target = getattr(problem.mechanism, "target", None)
    fewer = [smaller for user, smaller in zip(users, fewer, strict=True) if target is None or user > target]
    return [*([_Pair(k - 1, first, second)] if k > 1 else []), *fewer]


def _fewer_items(problem: _Problem, pair: _Pair) -> list[_Pair]:
    k, first, second = pair
    if problem.inert:
        rated = np.flatnonzero((first | second).any(axis=0))
        return [_Pair(k, *(np.where(np.arange(first.shape[1]) == i, 0, m) for m in (first, second))) for i in rated]
    items = range(first.shape[1] if first.shape[1] > 1 else 0)
    return [_Pair(k, np.delete(first, item, axis=1), np.delete(second, item, axis=1)) for item in items]


def _fewer_ratings(problem: _Problem, pair: _Pair) -> list[_Pair]:
    first, second = _changes(problem, pair, range(len(problem.values) + 1))
    pairs = [_Pair(pair.num_neighbors, one, two) for one, two in zip(first, second, strict=True)]
    bound = problem.size(pair)
    return [smaller for smaller in pairs if smaller.total < pair.total and problem.size(smaller).within(bound)]


def _enumerate(shared: _Shared, pair: _Pair, deadline: float) -> tuple[_Pair, int, bool]:
    """The first violation among all instances within the size of `pair`, in an order that puts smaller ones first.

    Groups of equal (k, candidates, items) come by the sum of the three, and pairs in a group by (ratings, largest): an
    extension of the order of sizes, so that whatever is smaller than the result was seen before it.
    """
    problem = shared.problem
    bound = problem.size(pair)
    seen: list[np.ndarray] = []
    with contextlib.suppress(_Unfinished), shared.each(_violations, _parts(problem, bound, deadline)) as results:
        for (k, first, second), bad in results:
            seen.append(problem.sizes(k, first, second))
            if bad.any():
                place = int(bad.argmax())
                found = _Pair(k, first[place], second[place])
                return found, _count(seen, problem.size(found)), True
        return pair, _count(seen, bound), True
    return pair, 0, False


class _Unfinished(Exception):
    """Not all smaller instances can be looked at: they are too many, or the time is over."""


def _parts(problem: _Problem, bound: Size, deadline: float) -> Iterator[tuple[int, Datasets, Datasets]]:
    """All instances within a size, the smallest first, some thousands at a time.

    Raises:
        _Unfinished: after the last part there was time or room for.
    """
    neighbors = range(1, bound.num_neighbors + 1) if bound.num_neighbors else range(1)
    shapes = itertools.product(neighbors, range(1, bound.candidates + 1), range(1, bound.items + 1))
    budget = MAX_INSTANCES
    kept = [(Size._fields.index(name), getattr(bound, name)) for name in problem.fixed]
    for k, candidates, items in sorted(shapes, key=lambda shape: (sum(shape), shape)):
        if any((k, candidates, items)[place] != value for place, value in kept if place < 3):
            continue
        generated = _instances(problem, k, candidates, items, bound, budget)
        if generated is None:
            raise _Unfinished
        first, second = generated
        budget -= len(first)
        for begin in range(0, len(first), PART):
            if time.monotonic() > deadline:
                raise _Unfinished
            yield k, first[begin : begin + PART], second[begin : begin + PART]


def _violations(problem: _Problem, k: int, first: Datasets, second: Datasets) -> np.ndarray:
    """Which of the pairs violate the claim, shape (batch,)."""
    return problem.bad(problem.score(k, first, second))


def _count(seen: list[np.ndarray], size: Size) -> int:
    sizes = np.concatenate(seen)
    return int(((sizes <= np.array(size)).all(axis=1) & (sizes != np.array(size)).any(axis=1)).sum())


def _instances(
    problem: _Problem, k: int, candidates: int, items: int, bound: Size, budget: int
) -> tuple[Datasets, Datasets] | None:
    """All neighboring pairs of one shape within `bound`, smallest first; None when there are more than `budget`.

    Each unordered pair once: the second dataset has the rating less, or the higher rating. For an inert mechanism up to
    the order of the items, and only with items that somebody rated (fewer items are another shape).
    """
    users, top, relation = candidates + 1, bound.largest, problem.relation
    bases = list(itertools.islice(_matrices(problem, users, items, bound.ratings, top), budget + 1))
    if len(bases) > budget:
        return None
    firsts, seconds = [np.zeros((0, users, items), np.int8)], [np.zeros((0, users, items), np.int8)]
    base = np.array(bases, np.int8).reshape(-1, users, items)
    count = 0
    for first, second in _all_changes(relation, base, top):
        keep = _related(relation, first, second)
        if problem.inert:
            keep &= (first | second).any(axis=1).all(axis=1)
        sizes = problem.sizes(k, first, second)
        keep &= (sizes <= np.array(bound)).all(axis=1)
        for name in problem.fixed:
            keep &= sizes[:, Size._fields.index(name)] == getattr(bound, name)
        firsts.append(first[keep])
        seconds.append(second[keep])
        count += int(keep.sum())
        if count > budget:
            return None
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    sizes = problem.sizes(k, first, second)
    # Among equal sizes the lowest ratings first: not part of the order, only easier to read.
    total = first.sum(axis=(1, 2), dtype=int) + second.sum(axis=(1, 2), dtype=int)
    order = np.lexsort((total, sizes[:, 4], sizes[:, 3]))
    return first[order], second[order]


def _all_changes(relation: NeighboringRelation, base: Datasets, top: int) -> Iterator[tuple[Datasets, Datasets]]:
    """Datasets and their neighbors, one change at a time."""
    _, users, items = base.shape
    removes = relation.kind == "add_or_remove_one"
    for user in range(users):
        if relation.unit == "user":
            present = base[base[:, user].any(axis=1)]
            rows = [(0,) * items] if removes else itertools.product(range(top + 1), repeat=items)
            for levels in rows:
                yield _replaced(present, np.s_[:, user], levels)
        else:
            for item in range(items):
                own = base[:, user, item]
                for level in (0,) if removes else range(2, top + 1):
                    yield _replaced(base[(own > 0) & ((own < level) | (level == 0))], np.s_[:, user, item], level)


def _replaced(first: Datasets, place: Any, levels: Any) -> tuple[Datasets, Datasets]:
    """The datasets, and the same with other levels at a place."""
    second = first.copy()
    second[place] = levels
    return first, second


def _matrices(problem: _Problem, users: int, items: int, most: int, top: int) -> Iterator[list[list[int]]]:
    """Matrices of levels up to `top` with at most `most` ratings; if inert, one of each reordering of the items."""
    lowest = 1 if problem.relation.unit == "entry" else 0
    columns = [
        (column, rated)
        for column in itertools.product(range(lowest, top + 1), repeat=users)
        if (rated := sum(map(bool, column))) <= most
    ]

    def extend(chosen: list[int], ratings: int) -> Iterator[list[int]]:
        if len(chosen) == items:
            yield chosen
            return
        for index in range(chosen[-1] if chosen and problem.inert else 0, len(columns)):
            if ratings + columns[index][1] <= most:
                yield from extend([*chosen, index], ratings + columns[index][1])

    for chosen in extend([], 0):
        yield list(map(list, zip(*(columns[index][0] for index in chosen), strict=True)))


# --- datasets --------------------------------------------------------------------------------------------------------


def start_numbers(start: Any) -> np.ndarray:
    """The dataset that a search starts from as an array of the same shape.

    Raises:
        InvalidInput: it is not made of numbers.
    """
    try:
        return start.dense() if isinstance(start, Ratings) else np.asarray(start, float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"start is a {type(start).__name__}, of which no array of numbers can be made; "
            "give a matrix (users, items) with NaN for missing ratings, or a vector for relations of vectors"
        ) from error


def _matrix(dataset: Any) -> np.ndarray:
    matrix = dataset.dense() if isinstance(dataset, Ratings) else np.asarray(dataset, float)
    if matrix.ndim != 2:
        raise InvalidInput(f"a rating dataset is a matrix of shape (users, items), got {matrix.shape}")
    return matrix


def _related(relation: NeighboringRelation, first: Datasets, second: Datasets) -> np.ndarray:
    """Which pairs are neighbors, shape (batch,); the vectorized twin of `NeighboringRelation.changed`."""
    differs = first != second
    if relation.unit == "user":
        one_user = differs.any(axis=2).sum(axis=1) == 1
        if relation.kind == "replace_one":
            return one_user
        gone = (differs.any(axis=2) & ~(first.any(axis=2) & second.any(axis=2))).any(axis=1)
        return one_user & gone
    appears = (differs & ((first == 0) != (second == 0))).any(axis=(1, 2))
    one_cell = differs.sum(axis=(1, 2)) == 1
    allowed = one_cell & (appears == (relation.kind == "add_or_remove_one"))
    return allowed & ((first > 0).all(axis=(1, 2)) if relation.unit == "entry" else True)


def _with(base: np.ndarray, place: int | tuple[int, int], levels: Any) -> np.ndarray:
    """A copy with other levels at a place, a user's row or one cell."""
    changed = base.copy()
    changed[place] = levels
    return changed
