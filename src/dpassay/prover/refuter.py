"""Looks for a counterexample to a program's privacy claim: the user's own function runs on symbolic noise.

`SymbolicGenerator` stands in for numpy's generator, so every value is a linear form in the noise and every comparison
forks; the probability of an output is then exact. Pairs of inputs come from simple patterns, and the ones with the
largest loss are varied further. What is found is an input of the certificate "integration", which the trusted checker
has replayed from the program's text before it is returned.
"""

import contextlib
import heapq
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from dpassay.core.text import several
from dpassay.prover.pairs import Data, Neighbors, Pair, Values, assignments
from dpassay.prover.problem import Problem
from dpassay.prover.program_text import program_of
from dpassay.prover.quick_integration import quick_probability
from dpassay.prover.stopping import CLOCK, Endless, stopped
from dpassay.replay import Rejected, computed
from dpassay.replay.integration import (
    MAX_STEPS,
    copied,
    evaluate,
    event_probability,
    loss,
    parameter_values,
    renyi,
    takes_one_value,
    value_of,
)
from dpassay.replay.linear_forms import FLOATS, SUPPORTS, Form, Path, Run, Unsupported, paths
from dpassay.replay.numbers import precision
from dpassay.replay.plain_interpreter import Undefined, plain, plain_program
from dpassay.replay.symbolic_generator import SymbolicGenerator
from dpassay.report.proof_text import shown

_PATHS = 512
_WORDS = 48
_REFINED = 4  # words whose numbers are confined to intervals
_LENGTHS = 5
_ORDERS = (fmpq(3, 2), *(fmpq(2**k) for k in range(1, 8)))
_REACH = (0, 1, -1, 2, -2, 4, -4, 8, -8, 16, -16, 32, -32)  # ends of intervals, in steps of the output
_FAR = 60
_LEAST, _LEAST_BY_FLOATS = (
    fmpq(1, 10**300),
    fmpq(1, 10**6),
)  # probabilities below are left aside, as rounding may be all
_WIDTH = fmpq(1, 8)
_ROUNDED = 10**12  # a denominator as that of a float that stands for another number: its event is an interval
_GLANCE = 0.02  # seconds between two looks at the clock
_REJECTED = 8  # violations that the checker does not confirm, and then no more are looked for
_GRACE = 1.0  # seconds that a run of the function may go on when the time is over
_BOX = "between"

Event = Any


@dataclass(frozen=True)
class Search:
    """What a search for a counterexample found.

    Attributes:
        inputs: of a certificate "integration" that the checker accepts; None when nothing violates the claim.
        loss: the largest privacy loss met, nats (inf where one output is impossible under the other input); for zCDP
            the largest Renyi divergence divided by its order.
        bound: what the claim allows there.
        values, data1, data2, output: where it was met, the event as in the certificate.
        tried: in words, what was searched; why what was seen could not be replayed.
    """

    inputs: dict[str, Any] | None = None
    loss: float = 0.0
    bound: float = float("inf")
    values: Values = field(default_factory=dict)
    data1: Data = ()
    data2: Data = ()
    output: Event = None
    tried: str = ""


def find_refutation(function: Callable[..., Any], problem: Problem, seconds: float = 10.0) -> Search:
    """Searches for a violation of the claim for at most about that many seconds of CPU time, and shrinks it."""
    return Refuter(function, problem).search(seconds)


def largest_loss(function: Callable[..., Any], problem: Problem, seconds: float = 10.0, clock: float = CLOCK) -> Search:
    """The largest loss, relative to the claim, that the same search meets in that time; `clock` as in `search`."""
    return Refuter(function, problem).search(seconds, stop=False, clock=clock)


@dataclass(frozen=True)
class _Found:
    """The most revealing event of a pair: its loss in units of the claim, and the order for zCDP."""

    score: float
    loss: float
    pair: Pair
    event: Event
    order: fmpq | None = None


@dataclass(frozen=True)
class _Path(Path):
    """With the only event of its output, as text, where that has no free numbers."""

    word: str | None = None


def _worded(path: Path) -> _Path:
    word = repr(_event(path.output)) if path.resolved else _BOX
    return _Path(path.run, path.output, path.resolved, None if _BOX in word else word)


@dataclass
class _Source:
    """Where pairs come from.

    Attributes:
        rank: of variations: those with the lowest come first.
        varied: whether these are variations of a pair.
        work, pairs_seen: what went into its pairs so far, in regions integrated; how many there were. Patterns whose
            product of the two is least come first: neither long inputs nor short ones take all the time.
    """

    neighbors: Neighbors
    values: Values
    pairs: Iterator[Pair]
    rank: float = 0.0
    varied: bool = False
    work: int = 0
    pairs_seen: int = 0


_Chosen = tuple[_Source, Pair]


class _Late(Exception):
    """The time is over."""


class Refuter:
    """A search for a counterexample, which can be continued."""

    def __init__(self, function: Callable[..., Any], problem: Problem) -> None:
        self.function, self.problem, self.program = function, problem.accounted, program_of(function)
        self.stated = problem
        self.end = self.deadline = self.looked = 0.0
        self.ways = [self._function, self._text, self._rounded]
        self.kept: dict[Any, list[_Path]] = {}
        self.masses: dict[Any, Any] = {}
        self.notes: dict[str, int] = {}
        self.seen: set[Any] = set()
        self.rejected = 0
        self.unreturned = ""
        self.best = Search()
        self.closed: list[list[_Source]] | None = None
        self.lanes: list[Any] = []  # (work, order, source)
        self.waiting: list[Any] = []  # (rank, order, source)
        self.order = itertools.count()
        self.again: list[_Chosen] = []
        self.turns = self.work = 0
        self.worked = {False: 0, True: 0}  # in patterns, in variations

    # The search.

    def search(self, seconds: float, *, stop: bool = True, clock: float = CLOCK) -> Search:
        """Goes on for about that many seconds of CPU time.

        Args:
            seconds: of this call.
            stop: at the first violation that the checker confirms; otherwise the largest loss is looked for.
            clock: times as many seconds by the clock at most.
        """
        self.end, self.deadline = time.process_time() + seconds, time.monotonic() + clock * seconds
        floats = FLOATS.set(True)
        try:
            if self.closed is None:
                self.closed = self._lanes()
            with precision(), contextlib.suppress(_Late):
                while self.rejected < _REJECTED and (chosen := self._chosen()) is not None:
                    violation = self._look(chosen, stop)
                    if violation is not None:
                        return violation
        finally:
            FLOATS.reset(floats)
        return replace(self.best, tried=self._tried())

    def _tried(self) -> str:
        """In words, what was searched and what stood in the way."""
        if not self.seen:
            looked = "no pair of inputs"
        else:
            sizes = sorted({max(map(len, pair)) for _, pair in self.seen})
            looked = f"{several(len(self.seen), 'pair')} of inputs"
            looked += "" if self.problem.single else f" of length {_listed(map(str, sizes))}"
            for name in self.problem.parameters:
                met = {dict(values)[name] for values, _ in self.seen}
                looked += f", {name} {_listed(map(shown, sorted(met, key=_order)))}"
        if self.best.loss > 0:
            looked += f"; the largest loss was {self.best.loss:.4g} of {self.best.bound:.4g} claimed"
        told = sorted(self.notes, key=lambda note: -self.notes[note])[:2]
        looked += f"; {self.unreturned}" if self.unreturned else ""
        return "; ".join([looked, *(f"{self.notes[note]} times: {note}" for note in told)])

    def _note(self, what: Any) -> None:
        text = f"{what}" if isinstance(what, Rejected | str) else f"{type(what).__name__}: {what}"
        self.notes[text] = self.notes.get(text, 0) + 1

    def _chosen(self) -> _Chosen | None:
        """The next pair; a third of the work goes into patterns, the rest into variations of the best pairs so far."""
        while self.again or self.lanes or self.closed or self.waiting:
            if self.again:
                return self.again.pop()
            varied = bool(self.waiting) and (
                self.worked[True] <= 2 * self.worked[False] or not (self.lanes or self.closed)
            )
            source = heapq.heappop(self.waiting if varied else self._opened())[-1]
            pair = next((each for each in source.pairs if source.neighbors.are(each)), None)
            if pair is not None:
                return source, pair
        return None

    def _opened(self) -> list[Any]:
        """The lanes, and from time to time some more: short inputs at simple values first."""
        self.turns += 1
        if self.closed and self.turns > len(self.lanes):
            for lane in self.closed.pop(0):
                heapq.heappush(self.lanes, (0, next(self.order), lane))
            self.turns = 0
        return self.lanes

    def _look(self, chosen: _Chosen, stop: bool) -> Search | None:
        """Looks at one pair; a violation that is confirmed."""
        source, pair = chosen
        neighbors, values = source.neighbors, source.values
        key = (tuple(values.items()), (min(pair), max(pair)))
        before, found = self.work, None
        try:
            self._check_time()
            if key not in self.seen:
                found = self._evaluate(values, pair)
        except _Late:  # it is the first one when the search goes on
            self.again.append(chosen)
            raise
        self.seen.add(key)
        self.worked[source.varied] += self.work - before
        source.work += self.work - before
        source.pairs_seen += 1
        place = source.rank if source.varied else source.work * source.pairs_seen
        heapq.heappush(self.waiting if source.varied else self.lanes, (place, next(self.order), source))
        if found is None:
            return None
        size = len(pair[0])
        if size < _LENGTHS + 3 and found.score > 0:  # a long input must be worth the longer time that it takes
            near = _Source(neighbors, values, neighbors.near(pair), size / 40 - found.score, varied=True)
            heapq.heappush(self.waiting, (near.rank, next(self.order), near))
        if found.score > 1 + 1e-9:
            confirmed = self._replayed(neighbors, values, found)
            if confirmed is None:  # rounding in the quick integration, say: no loss that was met
                return None
            if stop:
                return self._said(values, *confirmed)
        if found.score > self.best.loss / self.best.bound if self.best.bound else found.score > 0:
            self.best = self._said(values, found)
        return None

    def _said(self, values: Values, found: _Found, inputs: dict[str, Any] | None = None) -> Search:
        tried = "" if inputs is None else self._tried()
        return Search(inputs, found.loss, self._bound(values), values, *found.pair, found.event, tried)

    def _lanes(self) -> list[list[_Source]]:
        """Patterns of each length at each value, in the order in which they get their turn."""
        lanes: list[list[_Source]] = [[] for _ in range(24 + _LENGTHS)]
        for place, values in enumerate(assignments(self.problem)[:24]):
            neighbors = Neighbors(self.problem, values)
            for size in range(1, 2 if self.problem.single else _LENGTHS + 1):
                lanes[place + size - 1].append(_Source(neighbors, values, neighbors.simple(size)))
        return [each for each in lanes if each]

    def _check_time(self) -> None:
        now = time.monotonic()
        if now < self.looked + _GLANCE:  # CPU time costs more to look up
            return
        self.looked = now
        if time.process_time() > self.end or now > self.deadline:
            raise _Late

    def _stuck(self) -> bool:
        return time.process_time() > self.end + _GRACE or time.monotonic() > self.deadline + _GRACE

    # One pair.

    def _bound(self, values: Values) -> float:
        return float(arb(evaluate(self.problem.bound, parameter_values(self.problem.parameters, values)).constant))

    def _evaluate(self, values: Values, pair: Pair) -> _Found | None:
        """The most revealing event, in either direction."""
        try:
            both = [self._paths(values, data) for data in pair]
        except _CANNOT as error:
            self._note(error)
            return None
        found = None
        for ordered, runs in ((pair, both), ((pair[1], pair[0]), both[::-1])):
            for each in self._events(values, ordered, runs):
                if found is None or each.score > found.score:
                    found = each
                if found.loss == float("inf"):
                    return found
        return found

    def _events(self, values: Values, pair: Pair, both: Sequence[list[_Path]]) -> Iterator[_Found]:
        words: dict[str, tuple[Event, list[_Path]]] = {}
        for path in both[0]:
            if path.resolved:
                word = _event(path.output)
                words.setdefault(repr(word), (word, []))[1].append(path)
        scored = []
        for word, own in itertools.islice(words.values(), _WORDS):
            self._check_time()
            found = self._score(values, pair, both, word)
            if found is not None:
                yield found
                scored.append((found, own[0]))
        scored.sort(key=lambda each: -each[0].score)
        for found, path in [each for each in scored if _slots(each[1].output)][:_REFINED]:
            yield from self._refined(values, pair, both, found, path)

    def _refined(
        self, values: Values, pair: Pair, both: Sequence[list[_Path]], found: _Found, path: _Path
    ) -> Iterator[_Found]:
        """Confines the numbers of an event, one after the other, to intervals; then all to small ones."""
        slots = _slots(path.output)
        centers = [_center(_at(path.output, place)) for place in slots]
        for place, center in zip(slots, centers, strict=True):
            best = found
            for ends in self._intervals(both, place, center):
                self._check_time()
                each = self._score(values, pair, both, _with(found.event, place, ends))
                if each is not None and each.score > best.score * (1 + 1e-9):
                    best = each
            if best is not found:
                yield best
                found = best
        if len(slots) > 1:
            event = _event(path.output)
            for place, center in zip(slots, centers, strict=True):
                event = _with(event, place, _around(center))
            each = self._score(values, pair, both, event)
            if each is not None:
                yield each

    def _intervals(
        self, both: Sequence[list[_Path]], place: tuple[int, ...], center: fmpq
    ) -> Iterator[list[str | None]]:
        """Half lines that end at what the number would be without noise, or some steps further, or where its noise
        ends; small intervals.
        """
        ends, edges = {center}, set()
        for second, path in [*((False, path) for path in both[0]), *((True, path) for path in both[1])]:
            with contextlib.suppress(LookupError, TypeError, AttributeError):
                form = _at(path.output, place)
                edges |= _edges(form, path.run)
                ends |= {_center(form)} if second else set()
        some = sorted(ends)[:3]
        step = max((b - a for a, b in itertools.pairwise(some)), default=fmpq(0)) or fmpq(1)
        gaussian = any(noise.kind == "normal" for path in both[0] for noise in path.run.noises)
        reach = _REACH if gaussian else _REACH[:3]
        cuts = dict.fromkeys(each + factor * step for factor in reach for each in some)
        for end in (*sorted(edges)[:4], *cuts, *(() if gaussian else (fmpq(-_FAR), fmpq(_FAR)))):
            text = str(_fraction(end))
            yield [None, text]
            yield [text, None]
        yield from map(_around, some)

    def _score(self, values: Values, pair: Pair, both: Sequence[list[_Path]], event: Event) -> _Found | None:
        """How far an event exceeds the claim; None if it is impossible or cannot be integrated."""
        try:
            key = tuple(values.items())
            (p, _), (_, q) = (self._mass((key, data), each, event) for data, each in zip(pair, both, strict=True))
        except (Unsupported, Rejected) as error:
            self._note(error)
            return None
        if not p > (_LEAST_BY_FLOATS if self.ways == [self._rounded] else _LEAST):
            return None
        if q == 0:
            return _Found(float("inf"), float("inf"), pair, event, fmpq(2) if self.problem.notion == "zcdp" else None)
        bound = self._bound(values)
        if self.problem.notion == "zcdp":
            if not p > q:
                return _Found(0, 0, pair, event)
            per_order = {order: float((renyi(p, q, order) / order).lower()) for order in _ORDERS}
            order = max(per_order, key=lambda each: per_order[each])
            return _Found(per_order[order] / bound if bound > 0 else 0, per_order[order], pair, event, order)
        shown = float(arb(loss(p, q)).lower())
        return _Found(shown / bound if bound > 0 else (float("inf") if shown > 0 else 0), shown, pair, event)

    def _mass(self, key: Any, all_paths: list[_Path], event: Event) -> tuple[Any, Any]:
        """Probability of an event under one input, and the same with all that is unresolved."""
        whole = (key, repr(event))
        if whole not in self.masses:
            able = all_paths if _BOX in whole[1] else [path for path in all_paths if path.word in (whole[1], None)]
            self.work += len(able)
            found = event_probability(able, event, quick_probability)
            self.masses[whole] = found if found[1] > 0 else event_probability(able, event)
        return self.masses[whole]

    def _paths(self, values: Values, data: Data) -> list[_Path]:
        """All paths of the function on one input; in another way from now on where the first one does not work."""
        key = (tuple(values.items()), data)
        while key not in self.kept:
            try:
                self.kept[key] = self._run(values, data)
            except (TypeError, AttributeError):
                if len(self.ways) == 1:
                    raise
                del self.ways[0]
            except Rejected:
                if self.ways[0] is not self._text:
                    raise
                del self.ways[0]
        return self.kept[key]

    def _run(self, values: Values, data: Data) -> list[_Path]:
        given = parameter_values(self.problem.parameters, values)
        entries = [value_of(each, self.problem.values) for each in data]

        def once(run: Run) -> Any:
            self._check_time()
            data = entries[0] if self.problem.single else list(entries)
            return stopped(lambda: self.ways[0](SymbolicGenerator(run), data, copied(given)), self._stuck)

        try:
            with np.errstate(all="ignore"):
                found = [_worded(path) for path in paths(once, _PATHS)]
        except Endless:
            told = "".join(f", {name} = {shown(value)}" for name, value in values.items())
            where = f"{data[0] if self.problem.single else shown(data)}{told}"
            self.unreturned = f"{self.program.entry} had not returned when its time was over, on {where}"
            raise _Late from None
        self.work += len(found)
        return found

    # Ways to run the program: the function itself, its text (where the function makes arrays of floats, say), and the
    # function on floats, where it asks for them.

    def _function(self, generator: SymbolicGenerator, data: Any, given: dict[str, Any]) -> Any:
        return plain(self.function(generator, data, **given))

    def _text(self, generator: SymbolicGenerator, data: Any, given: dict[str, Any]) -> Any:
        _, program = plain_program(self.program.text, self.program.entry)
        return program(generator, data, given, MAX_STEPS)

    def _rounded(self, generator: SymbolicGenerator, data: Any, given: dict[str, Any]) -> Any:
        rounded = {name: _float(each) for name, each in given.items()}
        return plain(self.function(generator, _float(data), **rounded))

    # The certificate.

    def _inputs(self, values: Values, found: _Found) -> dict[str, Any]:
        order = {} if found.order is None else {"order": str(_fraction(found.order))}
        data = {"data1": list(found.pair[0]), "data2": list(found.pair[1])}
        return {**self.stated.inputs(self.program), "values": dict(values), **data, "output": found.event, **order}

    def _replayed(self, neighbors: Neighbors, values: Values, found: _Found) -> tuple[_Found, dict[str, Any]] | None:
        """The smallest violation that the checker accepts, from the found one downwards; None if it accepts none."""
        inputs = self._inputs(values, found)
        try:
            computed("integration", inputs)
        except Rejected as error:
            self._note(f"a violation was seen, but not confirmed from the program's text: {error}")
            self.rejected += 1
            return None
        with contextlib.suppress(_Late, Rejected):
            shrunk = self._shrunk(neighbors, values, found)
            smaller = self._inputs(values, shrunk)
            computed("integration", smaller)
            return shrunk, smaller
        return found, inputs

    def _shrunk(self, neighbors: Neighbors, values: Values, found: _Found) -> _Found:
        """Entries left out and made simpler while a violation remains."""
        improved = True
        while improved:
            improved = False
            for pair in neighbors.smaller(found.pair):
                if not neighbors.are(pair):
                    continue
                each = self._evaluate(values, pair)
                if (
                    each is not None
                    and each.score > 1 + 1e-9
                    and (each.loss == float("inf") or found.loss < float("inf"))
                ):
                    found, improved = each, True
                    break
        return found


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _order(value: Any) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, value if isinstance(value, tuple) else (value,)))


_CANNOT = (  # the last are the user's function's
    *(Unsupported, Rejected, TypeError, ValueError, AttributeError, ArithmeticError, LookupError, RecursionError),
    *(NameError, AssertionError, NotImplementedError, Undefined, TimeoutError, MemoryError),
)


def _float(value: Any) -> Any:
    if isinstance(value, list):
        return [_float(each) for each in value]
    return float(_fraction(value.constant)) if isinstance(value, Form) else value


def _event(output: Any) -> Event:
    """The event of an output's discrete part: numbers with noise are free, those without are what they are."""
    if isinstance(output, list):
        return [_event(each) for each in output]
    if isinstance(output, bool | str | int) or output is None:
        return output
    form = output if isinstance(output, Form) else Form(fmpq(0)) + output
    if form.terms:
        return {"between": [None, None]}
    value = form.constant
    if isinstance(value, fmpq) and value.q < _ROUNDED:
        return {"between": [str(_fraction(value))] * 2}
    exact = value if isinstance(value, fmpq) else value.mid().fmpq()
    near, slack = Fraction(round(_fraction(exact) * 10**9), 10**9), Fraction(1, 10**8)
    return {"between": [str(near - slack), str(near + slack)]}


def _slots(output: Any) -> list[tuple[int, ...]]:
    """Where an output has numbers with noise."""
    if isinstance(output, list):
        return [(i, *rest) for i, each in enumerate(output) for rest in _slots(each)]
    return [()] if isinstance(output, Form) and output.terms else []


def _at(output: Any, place: Sequence[int]) -> Any:
    for i in place:
        output = output[i]
    return output


def _center(form: Any) -> fmpq:
    """About what a number is where the noise is zero."""
    value = form.constant
    exact = value if isinstance(value, fmpq) else value.mid().fmpq()
    near = Fraction(int(exact.p), int(exact.q)).limit_denominator(64)
    return fmpq(near.numerator, near.denominator)


def _edges(form: Form, run: Run) -> set[fmpq]:
    """The least and the largest value that a number may have, where there are such."""
    found = set()
    for side in (0, 1):
        total = form.constant
        for index, factor in form.terms.items():
            end = SUPPORTS.get(run.noises[index].kind, (None, None))[side if factor > 0 else 1 - side]
            total = None if total is None or end is None else total + factor * end
        if isinstance(total, fmpq) and form.terms:
            found.add(total)
    return found


def _around(center: fmpq) -> list[str | None]:
    return [str(_fraction(center + side * _WIDTH)) for side in (-1, 1)]


def _with(event: Event, place: Sequence[int], ends: list[str | None]) -> Event:
    if not place:
        return {"between": ends}
    return [_with(each, place[1:], ends) if i == place[0] else each for i, each in enumerate(event)]


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def reproduction_code(inputs: Mapping[str, Any]) -> str:
    """Python that runs the user's function on both inputs of a refutation and counts the event."""
    entry = inputs["program"]["entry"]
    sorts = inputs["parameters"]
    arguments = "".join(f", {name}={_literal(value, sorts[name])}" for name, value in inputs["values"].items())
    kind = inputs["relation"]["values"]
    data1, data2 = (", ".join(_literal(each, kind) for each in inputs[data]) for data in ("data1", "data2"))
    single = takes_one_value(inputs["program"]["text"], entry)
    listed, data = (f"{data1}, {data2}", "data") if single else (f"[{data1}], [{data2}]", "list(data)")
    return (
        f"import numpy as np\n\nrng = np.random.default_rng(0)\n"
        f"for data in ({listed}):\n"
        f"    outputs = ({entry}(rng, {data}{arguments}) for _ in range(100_000))\n"
        f"    print(data, sum({_condition('out', inputs['output'])} for out in outputs) / 100_000)\n"
    )


def _literal(text: Any, sort: str) -> str:
    if sort.startswith("list["):
        return f"[{', '.join(_literal(each, sort[5:-1]) for each in text)}]"
    value = Fraction(text)
    if sort == "bool":
        return str(value == 1)
    if sort == "int" or value.denominator == 1:
        return str(value)
    return str(float(value)) if Fraction(float(value)) == value else f"({value})"


def _condition(name: str, event: Event) -> str:
    """Python's test of an output for an event."""
    if isinstance(event, list):
        parts = [_condition(f"{name}[{i}]", each) for i, each in enumerate(event)]
        return " and ".join([f"len({name}) == {len(event)}", *(part for part in parts if part != "True")])
    if not isinstance(event, dict):
        return f"{name} is None" if event is None else f"{name} == {event!r}"
    low, high = (None if end is None else _literal(end, "real") for end in event["between"])
    if low is None and high is None:
        return "True"
    if low == high:
        return f"{name} == {low}"
    return " <= ".join(each for each in (low, name, high) if each is not None)
