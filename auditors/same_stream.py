"""Replays both datasets on the same random stream: what differs then differs because of the data alone.

With equal noise, an additive mechanism's outputs differ by exactly the difference of its answers, so two runs show the
sensitivity; an output that no stream changes but the data do is not protected at all. Such leaks need no statistics,
and rare ones that millions of samples miss show up, because some of the streams make rare draws common
(`dpassay.auditors.rare_streams`). Comparing runs whose randomness is frozen is the idea of Re:cord-play (dp-recorder,
2026), which asks for annotations; here only the sampler is needed.

A finding is a statement about the outputs that a correct mechanism does not cause. That the executed lines or the
amount of randomness depend on the data is reported as a note: computing an answer may branch on the data.
"""

import copy
import functools
import itertools
import math
import random
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Literal

import numpy as np

from dpassay.auditors import rare_streams
from dpassay.auditors.rare_streams import Tail, jax_key, numpy_generator
from dpassay.core import numerics, protocol
from dpassay.core.errors import InvalidInput
from dpassay.core.protocol import CallableMechanism, as_mechanism
from dpassay.data.ratings import Ratings

Place = tuple[str, int, int]  # file, line, column at which the code of the function begins
Flow = Literal["same", "depends on noise", "depends on data", "not compared"]

TAILS: tuple[Tail, ...] = ("low", "high", "both", "both")
CONFIRMATIONS = 4  # times as many streams before something is said to carry no noise
TRACED = 8  # streams on which executed lines are compared, ordinary and extreme ones
PATIENCE = 2.0  # seconds in all for runs of JAX programs without jit; one of each kind there is in any case
MOST_LINES = 1_000_000  # of one run that are kept
MOST_CELLS = 100_000  # numbers of one output that are compared one by one
NAMED = 5  # columns that a sentence names
ROUNDING = 16.0  # units of the last place by which a difference may vary and still count as constant
ABSENT = "nothing"


@dataclass(frozen=True)
class StreamReport:
    """What two datasets do to a mechanism whose randomness is frozen.

    Attributes:
        findings: plain sentences, each about something that no correct mechanism does; empty when there are none.
        notes: what a reader should know but what need not be wrong.
        observed_sensitivity: distance of the answers under additive noise, in the norm asked for; None where no part of
            the output is additive.
        sensitivity: as declared.
        without_noise: parts of the output that depend on the data and on no randomness.
        flow: whether the executed lines of the user's code differ between the datasets, and whether noise decides it.
        streams: random streams on which both datasets were run.
    """

    findings: tuple[str, ...]
    notes: tuple[str, ...]
    observed_sensitivity: float | None
    sensitivity: float | None
    without_noise: tuple[str, ...]
    flow: Flow
    streams: int

    @property
    def violates_sensitivity(self) -> bool:
        """Whether the answers are farther apart than declared."""
        if self.sensitivity is None or self.observed_sensitivity is None:
            return False
        return self.observed_sensitivity > self.sensitivity * (1 + 1e-6)

    def __str__(self) -> str:
        return "\n".join(self.findings or ("nothing found on frozen randomness; this does not show privacy",))


def same_stream(
    mechanism: Any,
    dataset1: Any,
    dataset2: Any,
    *,
    sensitivity: float | None = None,
    norm: float = 1,
    num_streams: int = 8,
    seed: int = 0,
) -> StreamReport:
    """Runs a mechanism on both datasets with the same randomness, and reports what differs all the same.

    Args:
        mechanism: has `sample(key, dataset)`, or comes from `dpassay.from_callable`.
        dataset1: anything the mechanism takes.
        dataset2: its neighbor.
        sensitivity: the largest distance of two answers that the noise was made for; None declares nothing.
        norm: in which the sensitivity is measured: 1, 2 or infinity.
        num_streams: ordinary streams, at least 4; as many extreme ones are added.
        seed: of all streams.

    Raises:
        InvalidInput: no mechanism, or a number out of range.
    """
    mechanism = as_mechanism(mechanism)
    if norm not in (1, 2, math.inf):
        raise InvalidInput(f"norm is {norm!r}; use 1, 2 or infinity")
    if num_streams < 4:
        raise InvalidInput(f"num_streams is {num_streams}; use at least 4")
    if sensitivity is not None and not 0 <= sensitivity < math.inf:
        raise InvalidInput(f"sensitivity is {sensitivity!r}; it must be a number >= 0")
    player = _Player(mechanism, (dataset1, dataset2), seed)
    if not player.repeats():
        note = "equal generators give different outputs: the sampler has another source of randomness; nothing compared"
        return StreamReport((), (note,), None, sensitivity, (), "not compared", 0)
    player.play(num_streams)
    if all(isinstance(run.get("output"), _Raised) for side in player.outputs for run in side):
        raise InvalidInput(f"the sampler raises {player.outputs[0][0]['output'].kind} on both datasets on every stream")
    columns = _columns(player)
    if any(_suspicious(column) for column in columns):
        player.play(CONFIRMATIONS * num_streams)
        columns = _columns(player)
    findings, notes, without_noise = _constants(columns, player)
    observed, sentences, more = _additive(columns, player, sensitivity, norm)
    flow, lines = player.compare_flow()
    return StreamReport(
        tuple(findings + sentences),
        tuple(notes + more + lines + player.notes()),
        observed,
        sensitivity,
        tuple(without_noise),
        flow,
        len(player.kinds),
    )


# --- playing ---------------------------------------------------------------------------------------------------------


class _Player:
    """Runs of both datasets on numbered streams; `outputs[side][stream]` flattened into {path: value}."""

    def __init__(self, mechanism: Any, datasets: tuple[Any, Any], seed: int) -> None:
        self.seed = seed
        self.python = isinstance(mechanism, CallableMechanism)
        self.kinds: list[Tail | None] = []
        self.outputs: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
        self.states: tuple[list[Any], list[Any]] = ([], [])
        self.extreme = True
        self.mechanism, self.datasets = mechanism, datasets
        self.compiled = False
        self.players: list[Callable[[Any], Any]] = []
        if not self.python:
            one, two = (data.dense() if isinstance(data, Ratings) else data for data in datasets)
            self.datasets = one, two
            self._prepare_jax()

    def _prepare_jax(self) -> None:
        """Chooses the fastest way to run the sampler that works, and extreme keys if it takes them."""
        import jax

        shared = jax.jit(self.mechanism.sample)  # one compilation for both datasets, unless Python looks into them
        closed = [self._closed(side, self.mechanism.sample) for side in (0, 1)]
        ways: list[list[Callable[[Any], Any]]]
        ways = [[self._closed(side, shared) for side in (0, 1)], [jax.jit(function) for function in closed], closed]
        for players in ways:
            for self.extreme in (True, False):
                if not any(isinstance(_attempt(function, self._key(None, 0)), _Raised) for function in players):
                    self.players, self.compiled = players, players is not closed
                    return
        self.players, self.extreme = closed, True

    def _closed(self, side: int, sample: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda key: sample(key, self.datasets[side])

    def _key(self, kind: Tail | None, stream: int) -> Any:
        import jax

        return (
            jax_key(self.seed, stream, kind) if self.extreme else jax.random.fold_in(jax.random.key(self.seed), stream)
        )

    def repeats(self) -> bool:
        """Whether equal streams give equal outputs; also the warm-up that fills caches before lines are compared."""
        return all(_equal(*(_flat(self.run(side, None, 0)[0]) for _ in range(2))) for side in (0, 1))

    def play(self, number: int) -> None:
        """Plays `number` more ordinary streams, and thrice as many extreme ones."""
        start = len(self.kinds)
        kinds: list[Tail | None] = [None] * number
        if self.extreme:
            kinds += [TAILS[place % len(TAILS)] for place in range(3 * number)]
        for place, kind in enumerate(kinds):
            for side in (0, 1):
                output, state = self.run(side, kind, start + place)
                self.outputs[side].append(_flat(output))
                self.states[side].append(state)
        self.kinds += kinds

    def run(self, side: int, kind: Tail | None, stream: int) -> tuple[Any, Any]:
        """The output, or the exception as an output, and the generator's final state."""
        with _global_seeds(stream):
            if self.python:
                data = copy.deepcopy(self.datasets[side])
                words = [self.seed, stream]
                generator = np.random.default_rng(words) if kind is None else numpy_generator(words, kind)
                arguments = (generator, data, 1) if self.mechanism.batched else (generator, data)
                output = _attempt(self.mechanism.function, *arguments)
                if self.mechanism.batched and not isinstance(output, _Raised):
                    output = output[0]
                return output, str(generator.bit_generator.state)
            import jax

            output = _attempt(self.players[side], self._key(kind, stream))
            return jax.tree.map(lambda leaf: np.asarray(leaf) if _is_array(leaf) else leaf, output), None

    def compare_flow(self) -> tuple[Flow, list[str]]:
        """Compares the lines that were executed in the user's own files, stream by stream."""
        number = TRACED
        if self.compiled:
            begin = time.perf_counter()
            self._lines(0, 0)
            number = max(1, min(TRACED, int(PATIENCE / (4 * (time.perf_counter() - begin)))))
        lines: list[tuple[Any, ...]] = []
        for ordinary in (True, False):
            places = [place for place, kind in enumerate(self.kinds) if (kind is None) == ordinary]
            lines += [tuple(self._lines(side, place) for side in (0, 1)) for place in places[:number]]
        if not any(run for pair in lines for run in pair):
            return "not compared", []
        different = [pair for pair in lines if pair[0] != pair[1]]
        if not different:
            return "same", []
        where = _first_difference(*different[0])
        if all(len(set(side)) == 1 for side in zip(*lines, strict=True)):
            note = f"the executed lines depend on the data, whatever the noise: they part {where}"
            return "depends on data", [note]
        return "depends on noise", [f"the executed lines depend on the noise; on one stream the datasets part {where}"]

    def _lines(self, side: int, place: int) -> tuple[Place, ...]:
        if not self.compiled:
            with _traced() as executed:
                self.run(side, self.kinds[place], place)
            return tuple(executed)
        import jax

        # Without jit, branches and loops of JAX are executed like Python's, one operation after the other.
        with jax.disable_jit(), _traced() as executed:
            _attempt(self.mechanism.sample, self._key(self.kinds[place], place), self.datasets[side])
        return tuple(executed)

    def notes(self) -> list[str]:
        """What was not compared, and different use of the generator."""
        notes = []
        if not self.extreme:
            notes.append("the sampler does not take keys of other generators: rare draws were not provoked")
        differ = [one != two for one, two in zip(*self.states, strict=True)]
        if self.python and all(differ) and all(len(set(map(str, side))) > 1 for side in self.states):
            notes.append("the two datasets use different amounts of randomness on every stream")
        return notes


@dataclass(frozen=True)
class _Raised:
    kind: str

    def __str__(self) -> str:
        return f"the exception {self.kind}"


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return _Raised(type(error).__name__)


@contextmanager
def _global_seeds(stream: int) -> Iterator[None]:
    """Freezes the global generators too, which samplers should not but do use."""
    before, numpy_before = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(stream)
    np.random.seed(stream)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numpy_before)  # noqa: NPY002


@contextmanager
def _traced() -> Iterator[list[Place]]:
    """What is executed in files that belong to no library."""
    executed: list[Place] = []

    def local(frame: Any, event: str, _: Any) -> Any:
        if event == "line" and len(executed) < MOST_LINES:
            executed.append((frame.f_code.co_filename, frame.f_lineno, _begins(frame.f_code)))
        return local

    def enter(frame: Any, event: str, _: Any) -> Any:
        return local if _own(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield executed
    finally:
        sys.settrace(before)


_PATHS = sysconfig.get_paths()
_LIBRARIES = tuple(str(Path(_PATHS[name]).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OURS = {
    str(Path(__file__).resolve()),
    *(str(Path(str(module.__file__)).resolve()) for module in (protocol, numerics, rare_streams)),
}


@functools.cache
def _own(file: str) -> bool:
    """Whether a file is the user's: no library, not the code that calls it; cells of notebooks are."""
    if file.startswith("<"):
        return file.startswith("<ipython")
    path = str(Path(file).resolve())
    return not path.startswith(_LIBRARIES) and "site-packages" not in path and path not in _OURS


def _first_difference(one: Sequence[Place], two: Sequence[Place]) -> str:
    for place, (a, b) in enumerate(itertools.zip_longest(one, two)):
        if a != b:
            file, line, _ = one[place - 1] if place else (a or b)
            ends = [_shown(end) for end in (a, b)]
            if ends[0] == ends[1]:
                ends = [_shown(end, column=True) for end in (a, b)]
            return f"after line {line} of {Path(file).name} (dataset 1: {ends[0]}; dataset 2: {ends[1]})"
    return "nowhere"


def _shown(place: Place | None, *, column: bool = False) -> str:
    if place is None:
        return "the end"
    return f"line {place[1]}{f', column {place[2]},' if column else ''} of {Path(place[0]).name}"


@functools.cache
def _begins(code: CodeType) -> int:
    """Where a function's code begins in its line: two lambdas may share one line."""
    return next((column + 1 for _, _, column, _ in code.co_positions() if column), 1)


# --- outputs as columns ----------------------------------------------------------------------------------------------


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _flat(output: Any, path: str = "output") -> dict[str, Any]:
    """{path: number, array or anything hashable}, with the lengths, shapes and types as parts of their own."""
    if isinstance(output, Mapping):
        parts: dict[str, Any] = {f"keys of {path}": tuple(sorted(map(repr, output)))}
        for key in output:
            parts |= _flat(output[key], f"{path}[{key!r}]")
        return parts
    if isinstance(output, np.bool_ | np.integer | np.float64):
        return {path: output.item()}  # a number like Python's: which of the two a branch returns says nothing
    if _is_array(output) and np.asarray(output).dtype.kind in "biuf":
        array = np.asarray(output)
        return {f"shape of {path}": array.shape, path: array} if array.ndim else {path: array}
    if isinstance(output, list | tuple):
        parts = {f"length of {path}": len(output)}
        for place, value in enumerate(output):
            parts |= _flat(value, f"{path}[{place}]")
        return parts
    if isinstance(output, bool | int | float):
        return {path: output}
    if isinstance(output, AbstractSet):
        return {path: tuple(sorted(map(repr, output)))}
    return {path: output if isinstance(output, str | bytes | _Raised | None) else repr(output)}


def _equal(one: dict[str, Any], two: dict[str, Any]) -> bool:
    if one.keys() != two.keys():
        return False
    return all(np.array_equal(one[path], two[path], equal_nan=np.asarray(one[path]).dtype.kind == "f") for path in one)


@dataclass(frozen=True)
class _Column:
    """One part of the output on all streams; `numbers` (streams,) float where all values are numbers."""

    name: str
    values: tuple[list[Any], list[Any]]
    numbers: tuple[np.ndarray, np.ndarray] | None
    ordinary: np.ndarray  # which streams are ordinary ones
    unit: float  # relative rounding unit of the numbers

    def constant(self, side: int) -> bool:
        return len(set(map(_token, self.values[side]))) == 1

    def varies(self, side: int) -> bool:
        """Whether ordinary streams change it often: no single value has more than three quarters of them."""
        tokens = [_token(value) for value, kept in zip(self.values[side], self.ordinary, strict=True) if kept]
        return max(map(tokens.count, set(tokens))) <= 0.75 * len(tokens)


def _token(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else (type(value).__name__ in ("str",), value)


def _columns(player: _Player) -> list[_Column]:
    ordinary = np.array([kind is None for kind in player.kinds])
    runs = [*player.outputs[0], *player.outputs[1]]
    half = len(player.outputs[0])
    paths = dict.fromkeys(path for run in runs for path in run)
    columns: list[_Column] = []
    for path in paths:
        values = [run.get(path, ABSENT) for run in runs]
        arrays = all(isinstance(value, np.ndarray) for value in values)
        if arrays and len({value.shape for value in values}) == 1:
            table = np.stack([value.ravel() for value in values])[:, :MOST_CELLS]
            unit = float(np.finfo(table.dtype).eps) if table.dtype.kind == "f" else 0.0
            for place, index in enumerate(itertools.islice(np.ndindex(values[0].shape), table.shape[1])):
                name = f"{path}[{','.join(map(str, index))}]" if index else path
                columns.append(_column(name, table[:, place].tolist(), half, ordinary, unit))
        elif any(isinstance(value, np.ndarray) for value in values):
            # Shapes differ between runs: their own part says so; what they hold is compared as a whole.
            texts = [value.tobytes() if isinstance(value, np.ndarray) else value for value in values]
            columns.append(_column(path, texts, half, ordinary, 0.0))
        else:
            unit = float(np.finfo(float).eps) if any(isinstance(value, float) for value in values) else 0.0
            columns.append(_column(path, values, half, ordinary, unit))
    return columns


def _column(name: str, values: list[Any], half: int, ordinary: np.ndarray, unit: float) -> _Column:
    numbers = None
    if all(isinstance(value, bool | int | float) for value in values):
        table = np.array(values, float)
        numbers = table[:half], table[half:]
    return _Column(name, (values[:half], values[half:]), numbers, ordinary, unit)


# --- judging ---------------------------------------------------------------------------------------------------------


def _suspicious(column: _Column) -> bool:
    one, two = column.constant(0), column.constant(1)
    return (one or two) and not (one and two and _token(column.values[0][0]) == _token(column.values[1][0]))


def _constants(columns: Sequence[_Column], player: _Player) -> tuple[list[str], list[str], list[str]]:
    """Parts that no stream changes although the data do, and parts that carry noise under one dataset only."""
    both = [column for column in columns if _suspicious(column) and column.constant(0) and column.constant(1)]
    streams = f"on each of {len(player.kinds)} random streams"
    sentences = [
        f"{column.name} is {_show(column.values[0][0])} on dataset 1 and {_show(column.values[1][0])} on dataset 2 "
        f"{streams}: it carries no noise"
        for column in both
    ]
    findings = _first_of(sentences, "parts of the output depend on the data and carry no noise")
    for side in (0, 1):
        sentences = [
            f"{column.name} is {_show(column.values[side][0])} on dataset {side + 1} {streams}, while on dataset "
            f"{2 - side} it is random: the noise is missing on dataset {side + 1}"
            for column in columns
            if column.constant(side) and not column.constant(1 - side) and column.varies(1 - side)
        ]
        findings += _first_of(sentences, f"parts of the output carry no noise on dataset {side + 1}")
    findings, notes = findings + _atoms(columns), []
    if not player.extreme and findings:
        # Without extreme streams a likely outcome cannot be told from a certain one.
        notes = [f"{sentence} (or hardly any)" for sentence in findings if "random streams" in sentence]
        findings = [sentence for sentence in findings if "random streams" not in sentence]
    return findings, notes, [column.name for column in both]


def _first_of(sentences: list[str], others: str) -> list[str]:
    """The first sentences, and one that says how many more there are."""
    more = len(sentences) - NAMED
    return sentences[:NAMED] + ([f"{more} more {others}"] if more > 0 else [])


def _atoms(columns: Sequence[_Column]) -> list[str]:
    """Continuous parts with one exact value per dataset on several streams: answers released bare there."""
    found = []
    for column in columns:
        if column.numbers is None or column.unit == 0:
            continue
        plain = [numbers[column.ordinary] for numbers in column.numbers]
        if any(len(np.unique(side)) < 0.9 * len(side) for side in plain):
            continue
        pairs: dict[tuple[float, float], int] = {}
        for pair in zip(*(numbers.tolist() for numbers in column.numbers), strict=True):
            pairs[pair] = pairs.get(pair, 0) + 1
        (one, two), count = max(pairs.items(), key=lambda item: item[1])
        # A bound that clips both is one number, and noise at the end of its range lies beyond ordinary outputs.
        inside = all(side.min() < value < side.max() for side, value in zip(plain, (one, two), strict=True))
        if count >= 3 and one != two and inside:
            found.append(
                f"{column.name} is exactly {_show(one)} on dataset 1 and {_show(two)} on dataset 2 on {count} of "
                f"{len(column.ordinary)} random streams, although it is continuous: there it carries no noise"
            )
    return found


def _additive(
    columns: Sequence[_Column], player: _Player, sensitivity: float | None, norm: float
) -> tuple[float | None, list[str], list[str]]:
    """The distance of the answers where equal noise leaves a constant difference."""
    shifts, scaled = [], []
    for column in columns:
        if (
            column.numbers is None
            or (column.constant(0) and column.constant(1))
            or not column.name.startswith("output")
        ):
            continue
        one, two = (numbers[column.ordinary] for numbers in column.numbers)
        if not (np.isfinite(one).all() and np.isfinite(two).all()) or len(np.unique(one)) < 3:
            continue
        slack = ROUNDING * column.unit * max(float(np.abs(one).max()), float(np.abs(two).max()))
        difference = one - two
        if np.ptp(difference) <= slack:
            shifts.append(float(np.median(difference)))
            continue
        slope = np.cov(one, two)[0, 1] / max(float(np.var(one, ddof=1)), 1e-300)
        rest = two - two.mean() - slope * (one - one.mean())
        if column.unit and slope > 0 and np.abs(rest).max() <= 64 * slack:
            scaled.append(f"the noise on {column.name} is {slope:.6g} times as large on dataset 2 as on dataset 1")
    more = len(scaled) - NAMED
    notes = scaled[:NAMED] + ([f"so it is on {more} more parts of the output"] if more > 0 else [])
    if not shifts:
        return None, [], notes
    observed = float(np.linalg.norm(shifts, norm))
    name = "L1" if norm == 1 else "L2" if norm == 2 else "largest"
    text = f"under equal noise the outputs differ by {observed:.6g} ({name} distance)"
    if sensitivity is not None and observed > sensitivity * (1 + 1e-6):
        return observed, [f"{text}, but the declared sensitivity is {sensitivity:g}"], notes
    return observed, [], [*notes, text]


def _show(value: Any) -> str:
    text = str(value) if isinstance(value, _Raised) else f"{value:.10g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
