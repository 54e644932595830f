"""Draws that other processes make for a sampler: what is sent to them, and what comes back.

A job names its stream and its place in it, so what it draws depends neither on who draws it, nor when, nor how often:
work that was lost is done again and gives the same. Only the process that began the audit adds up, in the order of the
jobs, and it alone keeps what was seen.

The streams are apart only if the sampler takes all of its randomness from them. One with a generator of its own would
draw the same numbers in every process that begins alike, and no audit could trust their counts. So whoever draws must
first draw again what the process that began drew on a stream of its own, to the bit; and of many jobs, that process
does one, too.
"""

import functools
import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from dpassay.auditors.batches import listed, taken
from dpassay.auditors.calling import PROOF, Caller, key_words, written
from dpassay.auditors.outputs import Encoder
from dpassay.auditors.rare_events import Region
from dpassay.auditors.tracing import SMALL, Traced, trace
from dpassay.core.errors import InvalidInput
from dpassay.runs.fingerprint import contents
from dpassay.runs.parallel import results_in_parallel

T = TypeVar("T")

TASK_SECONDS = 1.0  # of one core: what is handed out at a time
MANY = 20  # jobs, of which one is done by the process that began, too
SHARED = 0.5  # seconds of one core; less is not worth sending
_PROOF_SECONDS, _PROOF_CALLS = 1.0, (4, 64)  # what draws the same there is found out with so many calls
_KNOWN = 8  # samplers, and readings of them, that a process keeps ready


class Job(NamedTuple):
    """The next `size` samples of a stream.

    Attributes:
        side: of the dataset.
        phase: place in `sampling.PHASES`.
        start: a counter of JAX keys, uint32, shape (2,); or the number of a chunk of calls.
    """

    side: int
    phase: int
    start: Any
    size: int


@dataclass(frozen=True, eq=False)
class Reading:
    """What is made of samples.

    Attributes:
        encoder: of the columns.
        kind: rows as the encoder gives them, scores by some scorers, or counts of some events.
        parts: the scorers or events.
        region: of rare outputs, which are kept.
        token: tells readings apart where they were sent more than once.
    """

    encoder: Encoder
    kind: Literal["rows", "scores", "counts"]
    parts: tuple[Any, ...] = ()
    region: Region | None = None
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    def same(self, other: "Reading") -> bool:
        """Whether they are of the same objects."""
        return (
            self.kind == other.kind
            and self.encoder is other.encoder
            and self.region is other.region
            and list(map(id, self.parts)) == list(map(id, other.parts))
        )

    def compiled(self, traced: Traced, side: int) -> Callable[[Job], Any]:
        """Draws and reads a job under one jit."""
        if self.kind == "counts":
            count = traced.counts(side, self.encoder, self.parts, self.region)
            if self.region is None:
                return lambda job: np.asarray(count(job.start, job.size), np.int64)
            return lambda job: [np.asarray(part) for part in count(job.start, job.size)]
        if self.kind == "scores":
            rows = traced.scores(side, self.encoder, self.parts, self.region)
        else:
            rows = traced.encoded(side, self.encoder)
        return lambda job: np.asarray(rows(job.start))[: job.size]

    def read(self, outputs: Any) -> "Part":
        """Reads outputs that were drawn."""
        encoded, rare = np.asarray(self.encoder.encode(outputs)), None
        if (region := self.region) is not None:
            own = encoded if region.encoder is self.encoder else np.asarray(region.encoder.encode(outputs))
            inside = np.flatnonzero(region.holds(own))
            rare = taken(outputs, inside), len(inside), len(own)
        features = self.encoder.filled(encoded)
        return Part(self._of(features), features, rare)

    def _of(self, features: np.ndarray) -> np.ndarray:
        if self.kind == "rows":
            return features
        if self.kind == "scores":
            found = [np.asarray(scorer(features), np.float32) for scorer in self.parts]
            return np.stack(found, axis=1) if found else np.empty((len(features), 0), np.float32)
        return np.array([np.count_nonzero(np.asarray(event.contains(features))) for event in self.parts], np.int64)


class Part(NamedTuple):
    """A chunk of outputs as it was read.

    Attributes:
        result: rows, scores or counts.
        features: shape (samples, columns); None where they were left behind.
        rare: the rare outputs, how many there are, and among how many; None without a region.
        blocks: (digest, bits of chance) of the blocks that may not repeat; what the features were left behind for.
    """

    result: np.ndarray
    features: np.ndarray | None
    rare: tuple[Any, int, int] | None
    blocks: tuple[tuple[bytes, float], ...] = ()


def outputs_of(caller: Caller, traced: Traced | None, job: Job) -> Any:
    """Draws the outputs of a job of at most a chunk: an array or a pytree of arrays, or a list."""
    if traced is None:
        return caller.outputs(job.side, job.phase, job.start, job.size)
    outputs = traced.outputs(job.side, job.start, job.size)
    return outputs if traced.alike else listed(outputs)


def blocks_of(rows: np.ndarray, discrete: Sequence[bool]) -> Iterator[tuple[bytes, Callable[[], float]]]:
    """Digests of blocks of rows, shape (samples, columns), that chance cannot repeat, and their bits of chance."""
    if len(rows) < 8:
        return
    continuous = [index for index, flag in enumerate(discrete) if not flag]
    for block in [rows[:8, continuous], *([rows[:4096]] if len(rows) >= 64 else [])]:
        if block.shape[1]:
            content = hashlib.blake2b(np.ascontiguousarray(block).tobytes(), digest_size=16).digest()
            yield content, functools.partial(entropy, block, bool(continuous))


def entropy(block: np.ndarray, continuous: bool) -> float:
    """Bits of chance in the rows of a block, shape (rows, columns), by their frequencies.

    They are 16 a row where all are distinct real numbers.
    """
    _, counts = np.unique(block, axis=0, return_counts=True)
    if continuous and len(counts) == len(block):
        return 16.0 * len(block)
    return float(-(counts * np.log2(counts / counts.sum())).sum())


@dataclass(frozen=True, eq=False)
class Source:
    """What it takes to draw elsewhere what a sampler would draw here.

    Attributes:
        chunk: of the mechanism under jit, and whether it computes in 64 bits; None where it is called.
        contents: of the datasets, see `runs.fingerprint.contents`.
        calls: that `proof` is of.
        proof: a digest of what was drawn here.
        token: tells sources apart where they were sent more than once.
    """

    mechanism: Any
    datasets: tuple[Any, Any]
    seed: int
    run: int
    limit: float
    chunk: tuple[int, bool] | None
    contents: tuple[str | None, str | None]
    calls: int
    proof: bytes
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    @classmethod
    def of(cls, caller: Caller, traced: Traced | None, held: Sequence[str | None], seconds: float) -> "Source":
        """The source that equals a sampler's own caller and compiled functions; each sample takes so many `seconds`.

        Raises:
            InvalidInput: equal generators do not give equal outputs.
        """
        if traced is None and not all(caller.repeats(side) for side in (0, 1)):
            raise InvalidInput(
                "the sampler has another source of randomness than the generator that it is given, which could draw "
                "the same numbers in several processes; draw all from that generator, or leave the executor out"
            )
        least, most = _PROOF_CALLS
        calls = max(least, min(most, int(_PROOF_SECONDS / seconds))) if traced is None and seconds > 0 else most
        chunk = None if traced is None else (traced.chunk, traced.wide)
        settings = caller.mechanism, caller.datasets, caller.seed, caller.run, caller.limit
        return cls(*settings, chunk, (held[0], held[1]), calls, _proof(caller, traced, calls))


DIFFERS = (
    "a worker draws other outputs than this process from equal generators; let the sampler depend on nothing else (a "
    "generator of its own, the order of a set, files, the process), and give the workers the same versions and kind of "
    "processor"
)


def alike_there(here: Any, there: Any) -> bool:
    """Whether a job gave the same here and there; what of it was rare is not compared."""
    if isinstance(here, Part):
        here, there = here.result, there.result
    pairs = zip(here, there, strict=True) if isinstance(here, list) else [(here, there)]
    return all(np.array_equal(one, two, equal_nan=one.dtype.kind == "f") for one, two in pairs)


class _Drawer:
    """A source made ready to draw in this process."""

    def __init__(self, source: Source) -> None:
        """Raises InvalidInput where it draws something else than the process that sent it."""
        self.source = source
        self.caller = Caller(
            source.mechanism, source.datasets, seed=source.seed, run=source.run, call_limit=source.limit
        )
        self.traced: Traced | None = None
        # No sampler of the user's is called by two threads at once: it may keep something between calls.
        self.turn = threading.Lock()
        if source.chunk is not None:
            size, wide = source.chunk
            traced = trace(source.mechanism, source.datasets, wide=wide)
            if isinstance(traced, Exception):
                raise InvalidInput(f"JAX cannot trace the sampler on a worker: {traced}")
            traced.chunk, self.traced = size, traced
        if _proof(self.caller, self.traced, source.calls) != source.proof:
            raise InvalidInput(DIFFERS)

    def results(self, reading: Reading, compiled: bool, jobs: Sequence[Job]) -> tuple[float, list[Any]]:
        """Seconds, and what `draw_shared` gives for each job."""
        if compiled:
            assert self.traced is not None
            work = reading.compiled(self.traced, jobs[0].side)
            begin = time.perf_counter()
            parts = [work(job) for job in jobs]
            return time.perf_counter() - begin, parts
        with self.turn:
            begin = time.perf_counter()
            parts = [self._part(reading, job) for job in jobs]
            for side in {job.side for job in jobs}:
                unchanged(side, self.source.contents[side], self.source.datasets[side])
            return time.perf_counter() - begin, parts

    def _part(self, reading: Reading, job: Job) -> Part:
        part = reading.read(outputs_of(self.caller, self.traced, job))
        assert part.features is not None
        blocks = tuple((content, bits()) for content, bits in blocks_of(part.features, reading.encoder.discrete))
        return part._replace(features=None, blocks=blocks)


def unchanged(side: int, before: str | None, dataset: Any) -> None:
    """Makes sure that a sampler left a dataset as it was.

    Raises:
        InvalidInput: it did not.
    """
    if before is not None and contents(dataset) != before:
        raise InvalidInput(
            f"the sampler changes dataset {side + 1}, so that later calls are about other data; "
            "let it work on a copy, for example copy.deepcopy(dataset)"
        )


def draw_shared(
    executor: Executor,
    source: Source,
    reading: Reading,
    jobs: Sequence[Job],
    *,
    compiled: bool,
    seconds: float,
    finished: Callable[[int], None],
) -> tuple[list[Any], float]:
    """What the executor's workers draw and read of each job, in the order of the jobs.

    Args:
        executor: of threads or processes anywhere.
        source: of the draws.
        reading: what to make of them.
        jobs: of one side.
        compiled: whether drawing and reading run under one jit; the results are then arrays, else `Part`s.
        seconds: that one sample takes; decides how many jobs are sent together.
        finished: called with the samples of every task that came back.

    Returns:
        The results, and the seconds that one sample took a worker.

    Raises:
        InvalidInput: a worker draws something else, died, or cannot be sent what it needs.
    """
    together = max(1, int(TASK_SECONDS / (max(seconds, 1e-12) * max(job.size for job in jobs))))
    tasks = [(compiled, jobs[start : start + together]) for start in range(0, len(jobs), together)]
    found: list[Any] = [None] * len(tasks)
    spent = 0.0
    for number, (took, results) in results_in_parallel(functools.partial(_drawn, source, reading), tasks, executor):
        found[number], spent = results, spent + took
        finished(sum(job.size for job in tasks[number][1]))
    return [result for results in found for result in results], spent / sum(job.size for job in jobs)


def _drawn(source: Source, reading: Reading, compiled: bool, jobs: Sequence[Job]) -> tuple[float, list[Any]]:
    drawer = _known(source.token, lambda: _Drawer(source))
    return drawer.results(_known(reading.token, lambda: reading), compiled, jobs)


def _proof(caller: Caller, traced: Traced | None, calls: int) -> bytes:
    """A digest of outputs of both datasets on a stream that is used for nothing else."""
    digest = hashlib.blake2b(digest_size=16)
    for side in (0, 1):
        if traced is None:
            lines = written(caller.outputs(side, PROOF, 1, calls))
        else:
            import jax

            outputs = traced.outputs(side, key_words(caller.seed, caller.run, PROOF, side), SMALL)
            lines = [f"{leaf.dtype}{leaf.shape}{leaf.tobytes().hex()}" for leaf in jax.tree.leaves(outputs)]
        digest.update("\n".join(lines).encode())
    return digest.digest()


_kept: OrderedDict[str, Any] = OrderedDict()
_keeping = threading.RLock()


def _known(token: str, make: Callable[[], T]) -> T:
    """What this process made for the token, the last few are kept: compiling takes longer than many a task."""
    with _keeping:
        if token not in _kept:
            _kept[token] = make()
        _kept.move_to_end(token)
        while len(_kept) > _KNOWN:
            _kept.popitem(last=False)
        result: T = _kept[token]
        return result
