"""Black-box search for neighbors that a sampler tells apart by more than it claims.

Candidates come from patterns first (regular rating matrices; for vectors those of StatDP and DP-Sniper: one above, one
below, half half, alternating ...), then from an evolutionary search. Every candidate is judged by the bound that events
learned on a few samples promise on others; those that promise most are judged again on more (successive halving,
Jamieson and Talwalkar 2016). None of this decides. What promises to violate the claim is tested on fresh samples by
two Clopper-Pearson bounds on the probabilities of one event, fixed before. The j-th test of a search has failure
probability failure_probability / (j (j + 1)); these sum to failure_probability, however many tests there are, so

    P(a witness is returned whose pair keeps the claim, or whose bounds are wrong) <= failure_probability.
"""

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dpassay.auditors.batches import head, joined, size_of
from dpassay.core.errors import InvalidInput
from dpassay.core.privacy import NeighboringRelation, PrivacyClaim, Witness
from dpassay.core.protocol import CallableMechanism, as_mechanism
from dpassay.data.ratings import Ratings
from dpassay.runs.parallel import usable_executor
from dpassay.runs.steps import Steps

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
RUNGS = (512, 4096, 32_768)  # samples per dataset with which candidates are judged, fewer where calls are slow
FEWEST = 32  # samples per dataset that judge a candidate at all
AT_LEAST = 8  # candidates that there is time for in the first rung
KEPT = 0.2  # of the candidates of one rung that reach the next
POPULATION = 12
CHILDREN = 24  # new candidates of one generation
SEARCHING = 0.6  # of the time, at most; the rest is for tests and shrinking
MOST_TESTS = 6  # of candidates, before shrinking
LARGEST_TEST = 2_000_000  # samples per dataset of one test
EASY_TEST = 50_000  # samples that find one nat beyond the claim
SMALLEST_TEST = 400
CHUNK = 256  # samples of one compiled call
MEASURED = 4  # compiled calls by which the sampler of a test measures how long they take, or that it does not fill
POINTS = 4  # of a claim that is a curve, while candidates are compared
HOPED_TEST = 200_000  # samples of the test for which candidates are compared


@dataclass(frozen=True)
class VectorRelation:
    """Vectors of numbers, such as answers to counting queries, that neighbors change by at most 1.

    Attributes:
        change: "one": a single entry differs; "all": every entry may.
    """

    change: Literal["one", "all"] = "all"

    def __post_init__(self) -> None:
        if self.change not in ("one", "all"):
            raise InvalidInput(f"vector relation {self.change!r}: use vector:one or vector:all")

    def __str__(self) -> str:
        return f"vector:{self.change}"

    def changed(self, dataset1: Any, dataset2: Any) -> list[tuple[int, int]]:
        """The entries that differ, as (0, index); raises unless the vectors are neighboring.

        Raises:
            InvalidInput: lengths differ, nothing differs, or something by more than this relation allows.
        """
        a, b = np.ravel(np.asarray(dataset1, float)), np.ravel(np.asarray(dataset2, float))
        if a.shape != b.shape:
            raise InvalidInput(f"neighboring vectors have one length, got {len(a)} and {len(b)}")
        places = np.flatnonzero(a != b)
        if not len(places):
            raise InvalidInput("the two vectors are equal; neighboring ones differ")
        if np.abs(a - b).max() > 1 + 1e-12:
            raise InvalidInput(f"entry {np.abs(a - b).argmax()} differs by more than 1; {self} does not allow it")
        if self.change == "one" and len(places) > 1:
            raise InvalidInput(f"the vectors differ in {len(places)} entries; {self} allows one")
        return [(0, int(place)) for place in places]


def search_black_box(
    mechanism: Any,
    relation: NeighboringRelation | VectorRelation | str,
    *,
    claim: PrivacyClaim,
    start: Any = None,
    num_users: int = 4,
    num_items: int = 3,
    scale: Sequence[float] | None = None,
    failure_probability: float = 0.05,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    executor: Executor | None = None,
    resume: Path | str | None = None,
) -> Witness | None:
    """Looks for neighboring datasets on which samples refute a claim, and shrinks them.

    Arguments are those of `dpassay.search`, and: a claim of any kind, whose own relation is not looked at; and the
    failure probability, of returning a pair that keeps the claim. Vectors have `num_items` entries.

    Returns:
        A witness whose event is a description and whose log-probabilities are confidence bounds, as its notes say; or
        None when no test refuted the claim in time, which is no proof of privacy. The event is likelier on dataset1.
        Vectors are given as matrices of one row.

    Raises:
        InvalidInput: no mechanism, an argument out of range, or a mechanism that is defined on no dataset tried.
    """
    mechanism = as_mechanism(mechanism)
    if not 0 < failure_probability < 1:
        raise InvalidInput(f"failure_probability is {failure_probability}; it must lie between 0 and 1")
    if not time_limit > 0:
        raise InvalidInput(f"time_limit is {time_limit}; give a number of seconds above 0")
    space = _space(relation, start, num_users, num_items, scale)
    if math.isinf(claim.parameter):
        raise InvalidInput("the claim is infinite, which claims nothing; give a finite number")
    claim = dataclasses.replace(claim, relation=None)
    about = [str(relation), failure_probability, seed, repr(space)]
    steps = Steps(resume, mechanism, claim, about, __name__)
    search = Search(mechanism, space, claim, failure_probability, seed, executor, steps)
    say = progress or (lambda _: None)
    found = search.find(SEARCHING * time_limit, time_limit, say)
    if found is None:
        return None
    return search.shrink(found, time_limit, say)


# --- datasets --------------------------------------------------------------------------------------------------------


class _Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray

    @property
    def key(self) -> bytes:
        # NaN has many bit patterns and 0 two; both directions are one pair.
        parts = sorted((np.nan_to_num(side, nan=-1e9) + 0.0).tobytes() for side in self)
        return b"|".join(parts)


@dataclass(frozen=True)
class _Matrices:
    """Pairs of rating matrices under a neighboring relation."""

    relation: NeighboringRelation
    values: np.ndarray
    shape: tuple[int, int]
    start: tuple[np.ndarray, ...]

    def patterns(self, rng: np.random.Generator) -> Iterator[_Pair]:
        """Regular matrices, each with changes of different kinds."""
        yield from _in_turn([list(self._changes(base, rng)) for base in [*self.start, *self._bases()]])

    def mutate(self, pair: _Pair, rng: np.random.Generator) -> _Pair | None:
        """Changes the common part of a pair, or what differs."""
        first, second = pair.first.copy(), pair.second.copy()
        if rng.random() < 0.25:
            return self._changed(first if rng.random() < 0.5 else second, rng)
        user, item = (int(rng.integers(size)) for size in self.shape)
        choice = rng.random()
        for side in (first, second):
            if choice < 0.7:
                continue
            if choice < 0.85:
                side[:, [item, 0]] = side[:, [0, item]]
            else:
                side[[user, 0]] = side[[0, user]]
        if choice < 0.7:
            same = bool(first[user, item] == second[user, item]) or bool(
                np.isnan(first[user, item]) and np.isnan(second[user, item])
            )
            if not same:
                return self._changed(first, rng)
            value = self._any_value(rng)
            first[user, item] = second[user, item] = value
        return self._checked(first, second)

    def smaller(self, pair: _Pair) -> Iterator[_Pair]:
        """Pairs with a user, an item or a rating less, the largest reductions first."""
        first, second = pair
        for axis in (0, 1):
            for place in range(first.shape[axis]):
                if first.shape[axis] > 1:
                    yield from self._valid(*(np.delete(side, place, axis) for side in pair))
        rated = ~np.isnan(first) & ~np.isnan(second) & (self.relation.unit != "entry")
        above = (first == second) & (first > self.values[0])
        for cells, value in ((rated, math.nan), (above, self.values[0])):
            for user, item in np.argwhere(cells):
                one, two = first.copy(), second.copy()
                one[user, item] = two[user, item] = value
                yield from self._valid(one, two)

    def _bases(self) -> Iterator[np.ndarray]:
        users, items = self.shape
        low, high = self.values[0], self.values[-1]
        middle = self.values[len(self.values) // 2]
        row, column = np.indices(self.shape)
        full = [np.full(self.shape, value) for value in (high, low, middle)]
        full += [np.where(row == 0, high, low), np.where((row + column) % 2 == 0, high, low)]
        full += [self.values[(row + column) % len(self.values)], np.where(column == 0, high, low)]
        yield from full
        if self.relation.unit == "entry":
            return
        masks = [column == row % items, column <= row, row == 0, column == 0, (row + column) % 2 == 0]
        masks += [(row == 0) & (column == 0), (row == 0) != (column == 0), row < users - 1, column > row]
        for mask in masks:
            for value in (high, low):
                yield np.where(mask, value, math.nan)

    def _changes(self, base: np.ndarray, rng: np.random.Generator) -> Iterator[_Pair]:
        """The first, the last and one random change of each user of interest."""
        users, items = self.shape
        low, high = self.values[0], self.values[-1]
        for user in dict.fromkeys((0, users - 1)):
            if self.relation.unit == "user":
                rows = [np.full(items, math.nan)] if self.relation.kind == "add_or_remove_one" else []
                if not rows:
                    rows = [np.full(items, low), np.full(items, high), np.where(base[user] == high, low, high)]
                for new in rows:
                    second = base.copy()
                    second[user] = new
                    yield from self._valid(base, second)
                continue
            for item in dict.fromkeys((0, items - 1, int(rng.integers(items)))):
                news = [low, high]
                if self.relation.kind == "add_or_remove_one":
                    news = [low, high] if math.isnan(base[user, item]) else [math.nan]
                for value in news:
                    second = base.copy()
                    second[user, item] = value
                    yield from self._valid(base, second)

    def _changed(self, base: np.ndarray, rng: np.random.Generator) -> _Pair | None:
        second = base.copy()
        user, item = (int(rng.integers(size)) for size in base.shape)
        if self.relation.unit == "user":
            removes = self.relation.kind == "add_or_remove_one"
            second[user] = math.nan if removes else [self._any_value(rng) for _ in second[user]]
        elif self.relation.kind == "add_or_remove_one":
            second[user, item] = rng.choice(self.values) if math.isnan(base[user, item]) else math.nan
        else:
            second[user, item] = rng.choice(self.values)
        return self._checked(base, second)

    def _any_value(self, rng: np.random.Generator) -> float:
        if self.relation.unit != "entry" and rng.random() < 0.4:
            return math.nan
        return float(rng.choice(self.values))

    def _checked(self, first: np.ndarray, second: np.ndarray) -> _Pair | None:
        return next(self._valid(first, second), None)

    def _valid(self, first: np.ndarray, second: np.ndarray) -> Iterator[_Pair]:
        try:
            self.relation.changed(first, second)
        except InvalidInput:
            return
        if self.relation.unit != "entry" or not np.isnan(first).any():
            yield _Pair(first, second)

    def shown(self, dataset: np.ndarray) -> np.ndarray:
        """As a witness holds it."""
        return dataset


@dataclass(frozen=True)
class _Vectors:
    """Pairs of vectors whose entries differ by at most 1."""

    relation: VectorRelation
    length: int
    start: tuple[np.ndarray, ...]
    values: np.ndarray | None = None  # that entries may have; None: any number

    def patterns(self, rng: np.random.Generator) -> Iterator[_Pair]:
        """The neighbors of StatDP (Ding et al. 2018, Table 1), on flat, separated and rising vectors."""
        n = self.length
        place = np.arange(n)
        first, last, half, even = place == 0, place == n - 1, place < n // 2, place % 2 == 0
        changes = [np.eye(n)[0], -np.eye(n)[0], np.eye(n)[-1], np.eye(n)[n // 2]]
        if self.relation.change == "all":
            kinds = [(first, 1, -1), (first, -1, 1), (half, 1, -1), (half, -1, 1), (half, 0, 1), (even, 1, -1)]
            kinds += [(first, 0, 1), (last, 0, 1)]
            changes += [np.ones(n), -np.ones(n), *(np.where(where, float(a), float(b)) for where, a, b in kinds)]
        bases = [*self.start, np.ones(n), np.zeros(n), place.astype(float), 10.0 * first]
        bases += [half.astype(float), even.astype(float), last.astype(float)]
        if self.values is not None:
            bases += [np.full(n, value) for value in self.values] + [rng.choice(self.values, n) for _ in range(n)]
        pairs = [[_Pair(base, base + change) for base in bases] for change in changes]
        yield from _in_turn([[pair for pair in group if self._has(pair)] for group in pairs])

    def _has(self, pair: _Pair) -> bool:
        """Whether all entries are in their domain."""
        return self.values is None or bool(np.isin(np.concatenate(pair), self.values).all())

    def mutate(self, pair: _Pair, rng: np.random.Generator) -> _Pair | None:
        """Moves an entry of both vectors, or changes how much an entry differs."""
        first, change = pair.first.copy(), pair.second - pair.first
        place = int(rng.integers(self.length))
        choice = rng.random()
        if choice < 0.5 and self.values is not None:
            first[place] = rng.choice(self.values)
        elif choice < 0.5:
            first[place] += rng.choice([-1.0, 1.0, -0.5, 0.5, 5.0, -5.0])
        elif choice < 0.6:
            first = np.full(self.length, first[place])
        elif self.relation.change == "one":
            change = np.zeros(self.length)
            change[place] = rng.choice([-1.0, 1.0])
        else:
            change[place] = rng.choice([-1.0, 0.0, 1.0])
        mutated = _Pair(first, first + change)
        return mutated if change.any() and self._has(mutated) else None

    def smaller(self, pair: _Pair) -> Iterator[_Pair]:
        """Shorter vectors, then fewer changes, then entries closer to 0."""
        return filter(self._has, self._reduced(pair))

    def _reduced(self, pair: _Pair) -> Iterator[_Pair]:
        first, second = pair
        for place in range(len(first)):
            one, two = np.delete(first, place), np.delete(second, place)
            if len(one) and (one != two).any():
                yield _Pair(one, two)
        for place in np.flatnonzero(first != second).tolist():
            two = second.copy()
            two[place] = first[place]
            if (first != two).any():
                yield _Pair(first, two)
        for place in np.flatnonzero(np.minimum(first, second) != 0).tolist():
            lower = min(first[place], second[place], key=abs)
            one, two = first.copy(), second.copy()
            one[place] -= lower
            two[place] -= lower
            yield _Pair(one, two)

    def shown(self, dataset: np.ndarray) -> np.ndarray:
        """A matrix of one row, as a witness holds it."""
        return dataset[None]


def _in_turn(groups: Sequence[Sequence[_Pair]]) -> Iterator[_Pair]:
    """One of each group, then another of each: time may end early."""
    for row in itertools.zip_longest(*groups):
        yield from (pair for pair in row if pair is not None)


def _space(
    relation: Any, start: Any, num_users: int, num_items: int, scale: Sequence[float] | None
) -> "_Matrices | _Vectors":
    if isinstance(relation, str) and relation.startswith("vector:"):
        relation = VectorRelation(relation.removeprefix("vector:"))  # type: ignore[arg-type]
    elif isinstance(relation, str):
        relation = NeighboringRelation.parse(relation)
    base = None if start is None else np.asarray(start.dense() if isinstance(start, Ratings) else start, float)
    if isinstance(relation, VectorRelation):
        if base is not None and base.ndim != 1:
            raise InvalidInput(f"start is a vector for {relation}, got shape {base.shape}")
        length = num_items if base is None else len(base)
        if length < 1:
            raise InvalidInput(f"num_items is {num_items}; vectors need at least one entry")
        allowed = None if scale is None else np.unique(np.asarray(scale, float))
        vectors = _Vectors(relation, length, () if base is None else (base,), allowed)
        if next(vectors.patterns(np.random.default_rng(0)), None) is None:
            raise InvalidInput(
                f"no two vectors with entries in {tuple(scale or ())} differ by 1; give a scale that has both"
            )
        return vectors
    if base is not None and base.ndim != 2:
        raise InvalidInput(f"start is a matrix (users, items) for {relation}, got shape {base.shape}")
    shape = (num_users, num_items) if base is None else (base.shape[0], base.shape[1])
    scale = SCALE if scale is None else scale
    values = np.unique(np.asarray(scale, float))
    if base is not None:
        values = np.unique(np.concatenate([values, base[~np.isnan(base)]]))
    if min(shape) < 1 or not len(values) or not np.isfinite(values).all():
        raise InvalidInput(f"shape {shape} and scale {tuple(scale)}: need users, items and finite ratings")
    return _Matrices(relation, values, shape, () if base is None else (base,))


# --- searching -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidate:
    """A pair, and what it promises.

    Attributes:
        pair: two datasets, and a `key` that is equal for equal pairs.
        promise: nats above what the claim allows.
        samples: of each dataset, on which it was judged.
    """

    pair: Any
    promise: float
    samples: int


class Changed(InvalidInput):
    """The mechanism writes into its dataset: nothing that was drawn is worth anything."""


class Search:
    """Candidates, their outputs so far, and the tests that were made."""

    def __init__(
        self,
        mechanism: Any,
        space: Any,
        claim: PrivacyClaim,
        failure_probability: float,
        seed: int,
        executor: Executor | None,
        steps: Steps,
    ) -> None:
        """Prepares a search.

        The `space` makes pairs and has a `relation`, the `executor` shares the tests' draws, `steps` were made before.
        """
        self.steps = steps
        self.executor = None if executor is None else usable_executor(executor)
        self.mechanism, self.space, self.claim = mechanism, space, claim
        self.failure_probability, self.seed = failure_probability, seed
        self.rng = np.random.default_rng([seed, 0x5EA2C4])
        # Candidates are compared at a few points of a curve; tests look at all of them.
        points = claim.own_nulls
        self.points = [points[place] for place in np.unique(np.linspace(0, len(points) - 1, POINTS).astype(int))]
        self.outputs: dict[Any, list[Any]] = {}
        self.streams = 0
        self.tests = self.steps.count("test")  # of all runs: the failure probability is spent once
        self.learning = 0.0  # seconds of the last test that were not for samples
        self.easiest = 1.0  # nats beyond the claim, more of which make a test no smaller
        self.problem: Exception | None = None
        self.rungs: tuple[int, ...] = RUNGS
        self.fewest = FEWEST
        self.overhead = 0  # samples that a test draws beyond those it counts
        self.seconds = 1e-6  # per sample
        self._batched: Any = None
        # Imported here: seconds that are not to be taken from the search.
        from dpassay.auditors import events, one_shot, outputs  # noqa: F401

    def find(self, search_end: float, end: float, say: Callable[[str], None]) -> Witness | None:
        """Searches until something promises a violation that a test confirms."""
        best: dict[Any, Candidate] = {}
        tested: set[bytes] = set()
        patterns = self.space.patterns(self.rng)
        first = next(self.space.patterns(np.random.default_rng(0)), None)
        if first is not None:
            self._fit_rungs(search_end - self.steps.now(), first.first)
        self._check_time(end)
        while not best and (some := list(itertools.islice(patterns, CHILDREN))):
            self._judge_all(some, best, search_end)
        if not best:
            raise InvalidInput(f"the mechanism gave no outputs on any dataset tried: {self.problem}")
        while True:
            ranked = sorted(best.values(), key=lambda candidate: -candidate.promise)
            say(
                f"{len(best)} pairs tried; the best promises {ranked[0].promise:+.3g} nats beyond the claim on "
                f"{ranked[0].samples} samples"
            )
            for candidate in ranked[:2]:
                if candidate.promise > 0 and candidate.pair.key not in tested and len(tested) < MOST_TESTS:
                    tested.add(candidate.pair.key)
                    witness = self.test(candidate.pair, candidate.promise, end, 1 / 3, say)
                    if witness is not None:
                        return witness
            if not self._in_time(self.rungs[0], search_end) or len(tested) >= MOST_TESTS:
                return None
            some = list(itertools.islice(patterns, CHILDREN)) or list(self._children(ranked[:POPULATION]))
            self._judge_all(some, best, search_end)

    def shrink(self, witness: Witness, end: float, say: Callable[[str], None]) -> Witness:
        """Takes away what is not needed, then tests the smallest pair that still promises a violation."""
        pair = self._pair_of(witness)
        chain = [(pair, 1.0)]
        half = self.steps.now() + (end - self.steps.now()) / 2
        seen = {pair.key}
        while self.steps.now() < half:
            for smaller in self.space.smaller(chain[-1][0]):
                if smaller.key in seen or self.steps.now() > half:
                    continue
                seen.add(smaller.key)
                # The cheap judgment first: most reductions lose the violation.
                promise = math.inf
                for rung in self.rungs[:2]:
                    in_time = self._in_time(rung, half)
                    promise = min(promise, self._promise(smaller, rung) or 0.0) if in_time and promise > 0 else 0.0
                if promise > 0:
                    chain.append((smaller, promise))
                    break
            else:
                break
        say(f"shrunk in {len(chain) - 1} steps")
        place = len(chain) - 1
        while place > 0 and self.steps.now() < end:
            smaller_witness = self.test(*chain[place], end, 1 / 2, say)
            if smaller_witness is not None:
                return smaller_witness
            place //= 2
        return witness

    def test(self, pair: Any, promise: float, end: float, part: float, say: Callable[[str], None]) -> Witness | None:
        """One test on fresh samples, the fewer the more is promised; None when it does not refute the claim.

        It takes a part of the time left; all of it where the smallest test takes longer, and none where that is more.
        One that was made in an earlier run counts as it did then: one that refuted draws the same samples again.
        """
        made = self.steps.find("test", pair.key)
        if made is not None:
            return self._tested(pair, made["number"], made["size"], say)[0] if made["refuted"] else None
        end -= self.learning
        size = self._test_size(promise, end, part)
        drawn = size + self.overhead
        if not self._in_time(drawn, end):
            say(f"no time for a test: {2 * drawn} calls take some {2 * drawn * self.seconds:.0f} s")
            return None
        self.tests += 1
        witness, seconds = self._tested(pair, self.tests, size, say)
        self.learning = max(0.0, seconds - 2 * drawn * self.seconds)
        self.steps.keep("test", pair.key, {"number": self.tests, "size": size, "refuted": witness is not None})
        return witness

    def _test_size(self, promise: float, end: float, part: float) -> int:
        """Samples per dataset of a test."""
        needed = min(LARGEST_TEST, EASY_TEST / min(promise, self.easiest) ** 2)
        affordable = part * (end - self.steps.now()) / 3 / self.seconds - self.overhead
        return int(max(SMALLEST_TEST, min(needed, affordable)))

    def _tested(self, pair: Any, number: int, size: int, say: Callable[[str], None]) -> tuple[Witness | None, float]:
        """The test of this number, and the seconds that it took."""
        from dpassay.auditors.fixed_sample import proportion_lower, proportion_upper
        from dpassay.auditors.one_shot import run_one_shot
        from dpassay.auditors.sampling import Sampler

        begin = time.monotonic()
        share = self.failure_probability / (number * (number + 1))
        # Another seed than the search's: nothing that chose this pair is counted again.
        sampler = Sampler(self.mechanism, *pair, seed=self.seed, run=1_000_000 + number, executor=self.executor)
        run = run_one_shot(
            [sampler], self.claim, failure_probability=share, num_samples=size, seed=self.seed, progress=lambda _: None
        )
        seconds = time.monotonic() - begin
        if void := sampler.dependence():
            say(f"test {number}: nothing was decided, as {void}")
            return None, seconds
        item = run.tested[0]
        counts, (epsilon, delta) = item.counts, item.event.point
        low = float(proportion_lower(counts.successes1, counts.trials1, share / 2))
        high = float(proportion_upper(counts.successes2, counts.trials2, share / 2))
        refuted = low - delta > math.exp(min(epsilon, 700.0)) * high
        say(f"test {number}, {counts.trials1} fresh samples per dataset: {'refuted' if refuted else 'not refuted'}")
        if not refuted:
            return None, seconds
        likelier, other = pair if item.event.direction == 0 else pair[::-1]
        point = PrivacyClaim(epsilon, delta)
        notes = [
            f"log-probabilities are confidence bounds: the first from below, the second from above, both right with "
            f"probability {1 - share:.6g}",
            f"the event happened in {counts.successes1} of {counts.trials1} fresh samples on dataset 1 and in "
            f"{counts.successes2} of {counts.trials2} on dataset 2",
            f"test {number} of a search; the probability that any of its tests is wrong is at most "
            f"{self.failure_probability:g}",
        ]
        if self.claim.kind != "dp":
            notes.append(f"{point} is what {self.claim} implies")
        from dpassay.auditors.exact import registered

        witness = self._witness(
            mechanism=registered(self.mechanism) or {},
            relation=self.space.relation,
            dataset1=likelier,
            dataset2=other,
            event=(item.event.description,),
            log_probability1=math.log(low),
            log_probability2=math.log(high),
            claim=dataclasses.replace(point, relation=self.space.relation),
            notes=tuple(notes),
        )
        return witness, seconds

    def _witness(self, **found: Any) -> Witness:
        shown = {name: self.space.shown(found[name]) for name in ("dataset1", "dataset2")}
        return Witness(**{**found, **shown})

    def _pair_of(self, witness: Witness) -> _Pair:
        sides = (witness.dataset1, witness.dataset2)
        return _Pair(*(side[0] for side in sides)) if isinstance(self.space, _Vectors) else _Pair(*sides)

    def _children(self, parents: Sequence[Candidate]) -> Iterator[_Pair]:
        made = 0
        for _ in range(8 * CHILDREN):
            # Better parents more often: the rank is geometric.
            rank = min(int(self.rng.geometric(0.25)) - 1, len(parents) - 1)
            child: _Pair | None = parents[rank].pair
            for _ in range(int(self.rng.geometric(0.6))):
                child = child and self.space.mutate(child, self.rng)
            if child is not None:
                yield child
                made += 1
                if made == CHILDREN:
                    return

    def _judge_all(self, pairs: Any, best: dict[Any, Candidate], end: float) -> None:
        """All on few samples, then the most promising on more."""
        current: list[Candidate] = []
        for pair in pairs:
            if pair.key in best or (best and not self._in_time(self.rungs[0], end)):
                continue
            promise = self._promise(pair, self.rungs[0])
            if promise is not None:
                best[pair.key] = Candidate(pair, promise, self.rungs[0])
                current.append(best[pair.key])
        self._halve(current, best, end)

    def _halve(self, current: list[Candidate], best: dict[Any, Candidate], end: float) -> None:
        """Successive halving of candidates that were judged on few samples."""
        for rung in self.rungs[1:]:
            current = sorted(current, key=lambda candidate: -candidate.promise)[
                : max(2, math.ceil(KEPT * len(current)))
            ]
            for place, candidate in enumerate(current):
                if not self._in_time(rung, end):
                    return
                promise = self._promise(candidate.pair, rung)
                if promise is not None:
                    current[place] = best[candidate.pair.key] = Candidate(candidate.pair, promise, rung)

    def _check_time(self, end: float) -> None:
        if not self._in_time(self.fewest, end):
            raise InvalidInput(
                f"a call takes {self.seconds:.2g} s, and one pair is judged by {2 * self.fewest} calls at least; "
                f"give a time limit above {2 * self.fewest * self.seconds / SEARCHING:.0f} s"
            )

    def _in_time(self, size: int, end: float) -> bool:
        """Whether so many samples of both datasets are drawn before `end`."""
        return self.steps.now() + 2 * size * self.seconds <= end

    def _fit_rungs(self, seconds: float, dataset: Any) -> None:
        """Fewer samples for each candidate where they take long; as many as in an earlier run."""
        try:
            self._measure(dataset)
        except Exception:  # not defined there; whether it is elsewhere shows when candidates are judged
            return
        first = seconds / AT_LEAST / 2 / self.seconds
        rungs = [max(self.fewest, int(rung * min(1.0, first / RUNGS[0]))) for rung in RUNGS]
        before = self.steps.find("rungs", ()) or self.steps.keep("rungs", (), {"sizes": rungs})
        self.rungs = tuple(before["sizes"])

    def _measure(self, dataset: Any) -> None:
        """How long a sample takes, and how many are drawn at least."""
        if isinstance(self.mechanism, CallableMechanism):
            size = CHUNK if self.mechanism.batched else 1
            self.seconds = min(self._fresh(dataset, size)[1] for _ in range(2))
        else:
            self._sample(dataset, 1, 0)  # compiles; no other sample is of stream 0
            size = 1 if self._batched is False else CHUNK
            self.fewest, self.overhead = max(size, FEWEST), MEASURED * size
            self.seconds = self._timed(dataset, size, 0)[1]

    def _promise(self, pair: Any, size: int) -> float | None:
        """How far, in nats, the best event is expected to exceed the claim; None where the sampler fails."""
        judged = self.steps.find("promise", (pair.key, size))
        if judged is None:
            judged = self.steps.keep("promise", (pair.key, size), {"nats": self._promised_now(pair, size)})
        promise: float | None = judged["nats"]
        return promise

    def _promised_now(self, pair: Any, size: int) -> float | None:
        from dpassay.auditors.events import find_events, score
        from dpassay.auditors.outputs import fit_encoder

        try:
            sides = [self._draw(dataset, size) for dataset in pair]
        except Changed:
            raise
        except Exception as error:
            self.problem = error
            return None
        encoder = fit_encoder(sides[0], sides[1])
        features = [np.asarray(encoder.features(side)) for side in sides]
        cut = size // 2
        event, *_ = find_events(
            [rows[:cut] for rows in features],
            encoder,
            lambda side, scorers: score(features[side][cut:], scorers),
            points=self.points,
            num_test=HOPED_TEST,
            failure_probability=self.failure_probability,
            effort="small",
        )
        return event.predicted - event.point[0]

    def _draw(self, dataset: Any, size: int) -> Any:
        """The first `size` search samples of a dataset, kept: most candidates share a dataset with another."""
        parts = self.outputs.setdefault(self._key(dataset), [])
        have = sum(map(size_of, parts))
        if have < size:
            fresh, per_sample = self._fresh(dataset, size - have)
            parts.append(fresh)
            self.seconds = per_sample if self.seconds == 1e-6 else 0.8 * self.seconds + 0.2 * per_sample
        if len(parts) > 1:
            parts[:] = [joined(parts)]
        return head(parts[0], size)

    def _key(self, dataset: Any) -> Any:
        return np.nan_to_num(dataset, nan=-1e9).tobytes() + str(dataset.shape).encode()

    def _fresh(self, dataset: Any, size: int) -> tuple[Any, float]:
        """Samples of a stream of their own, and the seconds that each took."""
        self.streams += 1
        return self._timed(dataset, size, self.streams)

    def _timed(self, dataset: Any, size: int, stream: int) -> tuple[Any, float]:
        """Samples of a stream, and the seconds that each took."""
        begin = time.perf_counter()
        outputs = self._sample(dataset, size, stream)
        return outputs, (time.perf_counter() - begin) / size

    def _sample(self, dataset: Any, size: int, stream: int) -> Any:
        from dpassay.auditors.outputs import plain

        if isinstance(self.mechanism, CallableMechanism):
            rng = np.random.default_rng([self.seed, 0x5EA2C4, stream])
            if self.mechanism.batched:
                return self.mechanism.function(rng, dataset.copy(), size)
            return [self.mechanism.function(rng, dataset.copy()) for _ in range(size)]
        import jax

        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(self.seed), 0x5EA2C4), stream)
        if self._batched is None:
            self._batched = jax.jit(jax.vmap(self.mechanism.sample, (0, None)))
        keys = jax.random.split(key, -(-size // CHUNK) * CHUNK).reshape(-1, CHUNK)
        if self._batched is not False:
            try:
                chunks = [jax.tree.map(np.asarray, self._batched(chunk, dataset)) for chunk in keys]
                return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:size], *chunks)
            except InvalidInput:
                raise
            except Exception:
                self._batched = False
        outputs = [jax.tree.map(np.asarray, self.mechanism.sample(key, dataset)) for key in keys.reshape(-1)[:size]]
        stacked = plain(outputs)
        return outputs if stacked is None else stacked
