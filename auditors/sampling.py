"""Fresh samples of a mechanism on two datasets, as features, as scores, or counted in events.

A mechanism that JAX can trace runs with the features, the scores and the counting under one `jax.jit` over chunks
(`dpassay.auditors.tracing`), so that no sample is ever stored: memory does not grow with the number of samples. XLA
takes the steps of a loop one after another and leaves cores idle, so chunks are shared out over threads, which it lets
run in parallel. Anything else is called, output by output or in batches (`dpassay.auditors.calling`).

No random stream is used twice: every (seed, run, phase, side) has its own, by NumPy's hash of these numbers, and every
call continues it. Workers of an executor may share large draws, which changes nothing of what is drawn
(`dpassay.auditors.shared_draws`). Blocks of outputs that repeat although chance cannot repeat them are an error, within
a run and, through `Sampler.stamp`, between the runs of a ledger.
"""

import functools
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np

from dpassay.auditors.batches import alike, head, joined, size_of, taken
from dpassay.auditors.calling import Caller, key_words
from dpassay.auditors.independence import COLUMNS, KEPT, dependence
from dpassay.auditors.outputs import Encoder, Representation, fit_encoder, plain
from dpassay.auditors.rare_events import Census, Region
from dpassay.auditors.shared_draws import (
    DIFFERS,
    MANY,
    SHARED,
    TASK_SECONDS,
    Job,
    Part,
    Reading,
    Source,
    alike_there,
    blocks_of,
    draw_shared,
    entropy,
    outputs_of,
    unchanged,
)
from dpassay.auditors.tracing import FEW, WATCHED, WORD, Traced, advance, trace
from dpassay.core.errors import InvalidInput
from dpassay.core.protocol import CallableMechanism, as_mechanism
from dpassay.data.ratings import Ratings
from dpassay.runs.fingerprint import contents
from dpassay.runs.parallel import processors, usable_executor

PHASES = ("training", "selection", "test")

_PROBE = 1 << 14  # training samples that the columns are learned from
_PROBE_BITS = 1 << 15  # holes of floating-point noise take more
_DISPATCH = 1 << 26  # samples of one call into XLA: bounds 32-bit counts, and the wait after Ctrl-C
_BITS = 100.0  # of entropy that make two equal blocks impossible by chance
_STAMP_BITS = 50.0  # of a stamp: a run of its own has the same rows with probability 2^-50 at most, since no law of
# independent discrete rows makes them likelier than their own frequencies do
_STAMP_SIZES = (16, 32, 64, 256, 1024, 4096)  # rows of each side that may make it; outputs that hardly vary have none
_STAMPED = _STAMP_SIZES[-1]


class Sampler:
    """Draws from a mechanism on dataset 1 (side 0) and dataset 2 (side 1).

    Attributes:
        encoder: fitted by `probe`, or with the first samples drawn.
        representation: "values" or "bits".
        warnings: sentences about the sampler that a reader of a verdict should see.
        drawn: samples so far, by phase and side, those that are being drawn included.
        done: samples that were drawn and read, of both sides together.
        seconds_per_sample: of the last draw, without compilation; NaN before the first.
        census: keeps the rare outputs of whatever is drawn while it is set.
        stamp: a digest of the first samples drawn as feature vectors, which only a run that drew the same samples has
            too; empty while they hold too little chance to tell.
    """

    encoder: Encoder

    def __init__(
        self,
        mechanism: Any,
        dataset1: Any,
        dataset2: Any,
        *,
        seed: int = 0,
        run: int = 0,
        representation: Representation = "values",
        call_limit: float = 60.0,
        threads: int | None = None,
        executor: Executor | None = None,
    ) -> None:
        """Prepares the streams of (seed, run); draws nothing.

        Args:
            mechanism: has `sample(key, dataset)`, optionally `sample_batch(key, dataset, num_samples)`; or the result
                of `dpassay.from_callable`.
            dataset1: anything the mechanism takes.
            dataset2: likewise.
            seed: a whole number from 0.
            run: number of the run of this seed; another number gives other streams.
            representation: "values" or "bits", see `dpassay.auditors.outputs`.
            call_limit: seconds after which a call of a sampler counts as hanging.
            threads: that share the chunks of a traced sampler; None takes one per core. Counts do not depend on it.
            executor: whose workers share large draws. Nothing that is drawn depends on it.

        Raises:
            InvalidInput: no mechanism, unusable numbers, or an executor that forks.
        """
        mechanism = as_mechanism(mechanism)
        for name, value in (("seed", seed), ("run", run)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
                raise InvalidInput(f"{name} is {value!r}; give a whole number from 0")
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads is {threads}; give a whole number from 1")
        if not call_limit > 0:
            raise InvalidInput(f"call_limit is {call_limit!r}; give a number of seconds above 0")
        if representation not in ("values", "bits"):
            raise InvalidInput(f"representation is {representation!r}; choose values or bits")
        self.representation = representation
        self.warnings: list[str] = []
        self.drawn = {phase: [0, 0] for phase in PHASES}
        self.done = 0
        self.seconds_per_sample = math.nan
        self._threads = threads or processors()
        self._executor = None if executor is None else usable_executor(executor)
        self._source: Source | None = None  # what the executor's workers draw from, once it is used
        self._last: Reading | None = None
        self._cost = math.nan  # seconds per sample of one core
        self._seed, self._run, self._limit = int(seed), int(run), float(call_limit)
        self._next = {phase: [0, 0] for phase in PHASES}  # first unused key or chunk of each stream
        self._kept: list[Any] = [None, None]  # training outputs drawn before they were asked for
        self.census: Census | None = None
        self._blocks: set[bytes] = set()
        self.stamp = ""
        self._first: tuple[list[np.ndarray], ...] | None = ([], [])  # rows of each side, until the stamp is decided
        self._watched: tuple[list[np.ndarray], ...] = ([], [])  # rows of each side, to see whether they depend
        python = isinstance(mechanism, CallableMechanism)
        datasets = (dataset1, dataset2) if python else (_dense(dataset1), _dense(dataset2))
        self._contents = [contents(dataset) for dataset in datasets]
        if None in self._contents:
            self.warnings.append(
                "the datasets cannot be compared with themselves later, should the sampler change them"
            )
        self._caller = Caller(mechanism, datasets, seed=self._seed, run=self._run, call_limit=self._limit)
        traced = None if python else trace(mechanism, datasets)
        self._traced = traced if isinstance(traced, Traced) else None
        if isinstance(traced, Exception):
            reason = " ".join(str(traced).split())[:160]
            self.warnings.append(
                f"slow: JAX cannot trace the sampler, so it is called ({type(traced).__name__}: {reason})"
            )

    @property
    def traced(self) -> bool:
        """Whether sampling, features, scores and counting run together under one jit."""
        return self._traced is not None and self._traced.alike and (not self._fitted or self.encoder.traceable)

    def probe(self, num: int = 256) -> list[np.ndarray]:
        """Draws the first training samples of both sides, checks the sampler, and fits `encoder`.

        Without it the first draw does the same, and returns these samples first.

        Returns:
            The feature vectors of both sides, each of shape (num, columns).

        Raises:
            InvalidInput: the sampler cannot be used: it raises, hangs, or repeats its random stream.
        """
        if num < 1:
            raise InvalidInput(f"the probe needs at least 1 sample per dataset, got {num}")
        return self._probe(num)[1]

    def _probe(self, num: int) -> tuple[list[Any], list[np.ndarray]]:
        """What `probe` draws, as outputs and as features."""
        if self._traced is not None and not self._fitted:
            self.seconds_per_sample = self._cost = self._traced.calibrate(self._limit)
        halves = [[self._raw(side, "training", part) for part in (num - num // 2, num // 2)] for side in (0, 1)]
        self.check_datasets()
        self.warnings += self._caller.warnings()
        sides = alike([joined(parts) for parts in halves])
        self.encoder = fit_encoder(sides[0], sides[1], representation=self.representation)
        self.warnings += self.encoder.warnings
        features = [np.asarray(self.encoder.features(side)) for side in sides]
        for rows in features:
            self._check_block(rows[: num - num // 2])
            self._check_block(rows[num - num // 2 :])
        self._describe(sides, features)
        return sides, features

    def refit(self, outputs: Sequence[Any]) -> None:
        """Learns the columns again, from outputs of both datasets none of which is evidence still to come.

        What is drawn from now on has the new columns.
        """
        self.encoder = self.refitted(outputs)
        self.warnings += [warning for warning in self.encoder.warnings if warning not in self.warnings]
        self._watched = ([], [])
        if self._first is not None:
            self._first = ([], [])

    def refitted(self, outputs: Sequence[Any]) -> Encoder:
        """What `refit` would set."""
        sides = alike(outputs)
        return fit_encoder(sides[0], sides[1], representation=self.representation)

    def dependence(self) -> str:
        """A sentence about draws so far that are not independent, "" where none was seen."""
        if not all(self._watched):
            return ""
        one, two = (np.concatenate(parts)[:KEPT] for parts in self._watched)
        return dependence((one, two))

    def check_datasets(self) -> None:
        """Makes sure that the sampler left the datasets as they were.

        Raises:
            InvalidInput: it did not.
        """
        for side, before in enumerate(self._contents):
            unchanged(side, before, self._caller.datasets[side])

    def draw(self, side: int, phase: str, n: int) -> np.ndarray:
        """Feature vectors of the next n samples of a stream, float32, shape (n, columns)."""
        self._fit(n if phase == "training" else 256)
        kept = self._unasked(side, phase, n)
        n -= sum(map(size_of, kept))
        parts = [self.encoder.features(outputs) for outputs in kept]
        if self.traced and n > FEW:  # a few are not worth compiling for
            assert self._traced is not None
            jobs = self._starts(side, phase, n, self._traced.chunk)
            drawn = self._run_jobs(self._reading("rows"), jobs)
            if self.census is not None:
                self._pick(side, jobs, [self.census.region.holds(rows) for rows in drawn])
            drawn = [self.encoder.filled(rows) for rows in drawn]
            self._check_block(drawn[0])
            parts += drawn
        else:
            parts += self._read(side, phase, n, self._reading("rows", region=self._region))
        empty = np.zeros((0, len(self.encoder.names)), np.float32)
        rows = parts[0] if len(parts) == 1 else np.concatenate([empty, *parts])
        self._saw(side, rows)
        return rows

    def outputs(self, side: int, phase: str, n: int) -> tuple[Any, np.ndarray]:
        """The next n outputs of a stream, and what `encoder.encode` gives of them, float32, shape (n, columns).

        Outputs are a pytree of arrays, first axis the samples, or a list.
        """
        self._fit(n if phase == "training" else 256)
        kept = self._unasked(side, phase, n)
        checked = sum(map(size_of, kept))
        n -= checked
        if (traced := self._traced) is not None and traced.alike and n > FEW:
            jobs = self._starts(side, phase, n, traced.chunk)
            outputs = joined([*kept, *self._in_threads(lambda job: traced.outputs(side, job.start, job.size), jobs)])
        else:
            outputs = joined([*kept, *self._chunks(side, phase, n)])
        encoded = np.asarray(self.encoder.encode(outputs))
        rows = self.encoder.filled(encoded)
        self._check_block(rows[checked:])
        self._saw(side, rows)
        return outputs, encoded

    def _unasked(self, side: int, phase: str, n: int) -> list[Any]:
        """Up to n training outputs that the probe drew before they were asked for, as one part or none."""
        kept = self._kept[side] if phase == "training" else None
        if kept is None:
            return []
        size = size_of(kept)
        self._kept[side] = taken(kept, np.arange(n, size)) if size > n else None
        return [head(kept, n)]

    def _saw(self, side: int, rows: np.ndarray) -> None:
        """Keeps the first rows that show whether draws repeat or depend on each other."""
        if sum(map(len, self._watched[side])) < KEPT:
            self._watched[side].append(rows[:KEPT, :COLUMNS].copy())
        if self._first is not None:
            self._first[side].append(rows[:_STAMPED])
            self._stamp(self._first)

    def scores(self, side: int, phase: str, n: int, scorers: Sequence[Any]) -> np.ndarray:
        """Scores of the next n samples by every scorer, float32, shape (n, scorers)."""
        self._fit()
        if self.traced and scorers and n > FEW:
            assert self._traced is not None
            region = self._region
            jobs = self._starts(side, phase, n, self._traced.chunk)
            parts = self._run_jobs(self._reading("scores", scorers, region), jobs)
            if region is not None:
                self._pick(side, jobs, [rows[:, -1] > 0 for rows in parts])
            return np.concatenate([rows[:, : len(scorers)] for rows in parts])
        empty = np.empty((0, len(scorers)), np.float32)
        return np.concatenate([empty, *self._read(side, phase, n, self._reading("scores", scorers, self._region))])

    def counts(self, side: int, phase: str, n: int, events: Sequence[Any]) -> np.ndarray:
        """How many of the next n samples lie in each event, int64, shape (events,)."""
        self._fit()
        if self.traced and len(events) and n > FEW:
            return self._count(side, phase, n, events)
        reading = self._reading("counts", events, self._region)
        return np.sum([np.zeros(len(events), np.int64), *self._read(side, phase, n, reading)], axis=0)

    @property
    def _fitted(self) -> bool:
        return hasattr(self, "encoder")

    def _fit(self, n: int = 256) -> None:
        """Probes with as many training samples as will be asked for anyway."""
        if not self._fitted:
            most = _PROBE if self.representation == "values" else _PROBE_BITS
            self._kept = self._probe(max(1, min(n, most)))[0]

    def _describe(self, sides: list[Any], features: list[np.ndarray]) -> None:
        """Adds warnings about what the probe showed."""
        if all(isinstance(side, list) and all(output is None for output in side) for side in sides):
            self.warnings.append("the sampler returned None at every call: is its return missing?")
        constant = [len(rows) > 1 and bool((rows == rows[0]).all()) for rows in features]
        if all(constant):
            same = np.array_equal(features[0][0], features[1][0])
            self.warnings.append(
                "the sampler is deterministic: it gave one and the same output at every probe call"
                + (" on both datasets" if same else " on each dataset, and the two differ")
            )
        elif not self._caller.drew:
            self.warnings.append("the sampler drew nothing from the generator that it was given")
        if any(constant) and not all(constant):
            side = constant.index(True) + 1
            self.warnings.append(f"the sampler gave the same output at every probe call on dataset {side}")
        if self._traced is None and not all(self._caller.repeats(side) for side in (0, 1)):
            self.warnings.append(
                "the sampler is not repeatable: equal generators give different outputs; it has another source"
            )
        for side, outputs in enumerate(sides):
            if isinstance(outputs, list) and _kinds(outputs) > 1 and plain(outputs) is None:
                self.warnings.append(
                    f"outputs on dataset {side + 1} change shape or type; they are compared by length and position"
                )

    def _check_block(self, rows: np.ndarray) -> None:
        """Raises when a block of outputs was seen before although chance cannot repeat it."""
        for content, bits in blocks_of(rows, self.encoder.discrete):
            self._check_content(content, bits)

    def _check_content(self, content: bytes, bits: Callable[[], float]) -> None:
        if content in self._blocks and bits() >= _BITS:
            raise InvalidInput(
                "the sampler repeats its random stream: two chunks of outputs are identical; "
                "draw all randomness from the generator or key that is passed in"
            )
        self._blocks.add(content)

    def _stamp(self, drawn: tuple[list[np.ndarray], ...]) -> None:
        """Sets the stamp once the first rows of both sides hold enough chance, each by itself."""
        if not all(drawn):
            return
        first = [np.ascontiguousarray(np.concatenate(parts)[:_STAMPED]) for parts in drawn]
        continuous = not all(self.encoder.discrete)
        for size in _STAMP_SIZES:
            if min(map(len, first)) < size:
                return
            if sum(entropy(rows[:size], continuous) for rows in first) >= _STAMP_BITS:
                content = b"".join(rows[:size].tobytes() for rows in first)
                self.stamp = hashlib.blake2b(content, digest_size=16).hexdigest()
                break
        self._first = None

    # Drawing

    def _raw(self, side: int, phase: str, n: int) -> Any:
        """The outputs themselves: an array or a pytree of arrays, or a list."""
        return joined(list(self._chunks(side, phase, n)))

    def _read(self, side: int, phase: str, n: int, reading: Reading) -> Iterator[np.ndarray]:
        """What is read of the next n samples, chunk by chunk, none of which repeats another."""
        jobs = self._chunk_jobs(side, phase, n)
        while n > 0:
            if self._shares(n) and self._caller.settled:
                for part in self._shared(reading, list(jobs), compiled=False):
                    for content, bits in part.blocks:
                        self._check_content(content, functools.partial(float, bits))
                    yield self._kept_part(side, part)
                return
            job = next(jobs)
            part = reading.read(self._outputs(job))
            assert part.features is not None
            self._check_block(part.features)
            yield self._kept_part(side, part)
            n -= job.size

    def _kept_part(self, side: int, part: Part) -> np.ndarray:
        if self.census is not None and part.rare is not None:
            self.census.add(side, *part.rare)
        return part.result

    def _chunks(self, side: int, phase: str, n: int) -> Iterator[Any]:
        """Outputs, chunk by chunk."""
        return map(self._outputs, self._chunk_jobs(side, phase, n))

    def _outputs(self, job: Job) -> Any:
        start = time.perf_counter()
        outputs = outputs_of(self._caller, self._traced, job)
        if self._traced is None:
            self.seconds_per_sample = self._cost = (time.perf_counter() - start) / job.size
        self._finished(job.size)
        return outputs

    def _chunk_jobs(self, side: int, phase: str, n: int) -> Iterator[Job]:
        """The jobs that draw the next n samples, each at most a chunk, which for some samplers grows as they draw."""
        while n > 0:
            if self._traced is not None:
                (job,) = self._starts(side, phase, min(n, self._traced.chunk), self._traced.chunk)
            else:
                size = min(n, self._caller.chunk)
                job = Job(side, PHASES.index(phase), self._next[phase][side], size)
                self._next[phase][side] += 1
                self.drawn[phase][side] += size
            n -= job.size
            yield job

    @property
    def _region(self) -> Region | None:
        return None if self.census is None else self.census.region

    def _reading(self, kind: Any, parts: Sequence[Any] = (), region: Region | None = None) -> Reading:
        """A reading of the columns; the last one, where it is of the same objects, so that workers know it."""
        reading = Reading(self.encoder, kind, tuple(parts), region)
        if self._last is None or not self._last.same(reading):
            self._last = reading
        return self._last

    def _shares(self, n: int) -> bool:
        """Whether so many samples are worth sending to the executor's workers."""
        return self._executor is not None and n * self._cost >= SHARED

    def _shared(self, reading: Reading, jobs: Sequence[Job], *, compiled: bool) -> list[Any]:
        assert self._executor is not None
        if self._source is None:
            self._source = Source.of(self._caller, self._traced, self._contents, self._cost)
        begin, size = time.perf_counter(), sum(job.size for job in jobs)
        results, self._cost = draw_shared(
            self._executor,
            self._source,
            reading,
            jobs,
            compiled=compiled,
            seconds=self._cost,
            finished=self._finished,
        )
        self.seconds_per_sample = (time.perf_counter() - begin) / size
        if len(jobs) >= MANY:
            self._check_shared(reading, jobs[len(jobs) // 2], results[len(jobs) // 2], compiled)
        return results

    def _check_shared(self, reading: Reading, job: Job, there: Any, compiled: bool) -> None:
        """Does one job here, too."""
        if compiled:
            assert self._traced is not None
            here = reading.compiled(self._traced, job.side)(job)
        else:
            here = reading.read(outputs_of(self._caller, self._traced, job))
        if not alike_there(here, there):
            raise InvalidInput(DIFFERS)

    def _words(self, side: int, phase: str) -> np.ndarray:
        return key_words(self._seed, self._run, PHASES.index(phase), side)

    def _starts(self, side: int, phase: str, n: int, per_job: int) -> list[Job]:
        """The jobs of a traced sampler that draw the next n samples."""
        assert self._traced is not None
        base, jobs = self._words(side, phase), []
        for start in range(0, n, per_job):
            size = min(per_job, n - start)
            jobs.append(Job(side, PHASES.index(phase), advance(base, self._next[phase][side]), size))
            self._next[phase][side] += self._traced.stride(size)
        self.drawn[phase][side] += n
        return jobs

    def _count(self, side: int, phase: str, n: int, events: Sequence[Any]) -> np.ndarray:
        assert self._traced is not None
        region, chunk = self._region, self._traced.chunk
        chunks, most = -(-n // chunk), _DISPATCH if region is None else WATCHED
        each = -(-chunks // self._threads)
        if self._cost > 0:  # else it is not known yet
            task = max(1, int(TASK_SECONDS / (self._cost * chunk)))
            each = task if self._shares(n) else min(each, task)
        jobs = self._starts(side, phase, n, chunk * min(each, max(1, most // chunk)))
        found = self._run_jobs(self._reading("counts", events, region), jobs)
        if region is not None:
            self._pick(side, jobs, [_unpacked(marks, job.size) for (_, marks), job in zip(found, jobs, strict=True)])
            found = [counts for counts, _ in found]
        return np.asarray(np.sum(found, axis=0, dtype=np.int64), np.int64)

    def _pick(self, side: int, jobs: list[Job], rare: list[np.ndarray]) -> None:
        """Draws the rare ones of a compiled function's samples again, for the census."""
        assert self._traced is not None
        assert self.census is not None
        traced = self._traced
        starts: list[np.ndarray] = []
        places: list[np.ndarray] = []
        for job, marks in zip(jobs, rare, strict=True):
            found = np.flatnonzero(marks)
            for chunk in np.unique(found // traced.chunk):
                starts.append(advance(job.start, traced.stride(int(chunk) * traced.chunk)))
                places.append(found[found // traced.chunk == chunk] % traced.chunk)
        number, trials = sum(map(len, places)), sum(job.size for job in jobs)
        self.census.add(side, traced.picked(side, starts, places) if number else None, number, trials)

    def _run_jobs(self, reading: Reading, jobs: list[Job]) -> list[Any]:
        """What is read of each job under one jit."""
        assert self._traced is not None
        if self._shares(sum(job.size for job in jobs)):
            return self._shared(reading, jobs, compiled=True)
        return self._in_threads(reading.compiled(self._traced, jobs[0].side), jobs)

    def _in_threads(self, work: Callable[[Job], Any], jobs: list[Job]) -> list[Any]:
        assert self._traced is not None
        start, results = time.perf_counter(), []
        there = map(work, jobs) if len(jobs) == 1 else _pool(os.getpid(), self._threads).map(work, jobs)
        for job, result in zip(jobs, there, strict=True):
            results.append(result)
            self._finished(job.size)
        chunks = sum(-(-job.size // self._traced.chunk) for job in jobs)
        self.seconds_per_sample = (time.perf_counter() - start) / (chunks * self._traced.chunk)
        return results

    def _finished(self, size: int) -> None:
        self.done += size


def _unpacked(marks: np.ndarray, size: int) -> np.ndarray:
    """The first bits of uint32 words, the lowest of each first; shape (size,)."""
    some = marks[: -(-size // WORD)].astype("<u4").view(np.uint8)
    return np.unpackbits(some, bitorder="little")[:size]


@functools.cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    """One pool per process (a forked one has no threads), kept."""
    return ThreadPoolExecutor(threads, thread_name_prefix="dpassay-chunks")


def _kinds(outputs: list[Any]) -> int:
    """How many kinds of arrays and sequences there are."""
    shaped = [output for output in outputs if hasattr(output, "shape") or isinstance(output, list | tuple)]
    return len(
        {
            (type(output), getattr(output, "shape", None) or len(output))
            for output in shaped
            if getattr(output, "ndim", 1)
        }
    )


def _dense(dataset: Any) -> Any:
    """Ratings as the matrix that mechanisms take, NaN where missing."""
    return dataset.dense() if isinstance(dataset, Ratings) else dataset
