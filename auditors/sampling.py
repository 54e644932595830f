"""Fresh samples of a mechanism on two datasets, as features, as scores, or counted in events.

A mechanism that JAX can trace runs with the features, the scores and the counting under one `jax.jit` over chunks, so
that no sample is ever stored: memory does not grow with the number of samples. XLA runs a loop on one core, so chunks
are shared out over threads, which it lets run in parallel. Anything else is called (`dpassay.auditors.calling`).

No random stream is used twice. Sample i of a stream has the 64-bit Threefry key base + i (Salmon, Moraes, Dror and Shaw
2011: keys and counters may be consecutive integers), the base being NumPy's hash of (seed, run, phase, side); a batched
sampler has one key, or one NumPy generator, per chunk.
"""

import functools
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from dpassay.auditors.calling import Caller, key_words
from dpassay.auditors.outputs import Encoder, Representation, fit_encoder, plain
from dpassay.errors import InvalidInput
from dpassay.protocol import CallableMechanism
from dpassay.ratings import Ratings

__all__ = ["PHASES", "Sampler"]

PHASES = ("training", "selection", "test")

_CHUNK = 1 << 16
_SMALL = 256
_DISPATCH = 1 << 10  # chunks of one call into XLA, so that an interruption is noticed
_MEMORY = 128 << 20  # bytes of temporaries of one chunk
_BITS = 100.0  # of entropy that make two equal blocks impossible by chance


class Sampler:
    """Draws from a mechanism on dataset 1 (side 0) and dataset 2 (side 1).

    Attributes:
        encoder: fitted by `probe`.
        traced: whether sampling, features, scores and counting run under one jit.
        warnings: sentences about the sampler that a reader of a verdict should see.
        drawn: samples so far, by phase and side.
        seconds_per_sample: of the last large enough draw, without compilation; NaN before the first.
    """

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
            call_limit: seconds after which a call of a Python sampler counts as hanging.

        Raises:
            InvalidInput: no mechanism, or unusable numbers.
        """
        if not callable(getattr(mechanism, "sample", None)):
            hint = "; wrap a function with dpassay.from_callable" if callable(mechanism) else ""
            raise InvalidInput(f"{type(mechanism).__name__} has no sample(key, dataset){hint}")
        for name, value in (("seed", seed), ("run", run)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
                raise InvalidInput(f"{name} is {value!r}; give a whole number from 0")
        if not call_limit > 0:
            raise InvalidInput(f"call_limit is {call_limit!r}; give a number of seconds above 0")
        if representation not in ("values", "bits"):
            raise InvalidInput(f"representation is {representation!r}; choose values or bits")
        self._seed, self._run, self._limit = int(seed), int(run), float(call_limit)
        self.representation = representation
        self.warnings: list[str] = []
        self.drawn = {phase: [0, 0] for phase in PHASES}
        self.seconds_per_sample = math.nan
        self.encoder: Encoder | None = None
        self._next = {phase: [0, 0] for phase in PHASES}  # first unused key or chunk of each stream
        self._blocks: set[bytes] = set()
        datasets = (dataset1, dataset2)
        if not isinstance(mechanism, CallableMechanism):
            datasets = tuple(data.dense() if isinstance(data, Ratings) else data for data in datasets)  # type: ignore[assignment]
        self._caller = Caller(
            mechanism, datasets, seed=self._seed, run=self._run, call_limit=self._limit, warnings=self.warnings
        )
        self._jax = None if isinstance(mechanism, CallableMechanism) else _trace(mechanism, datasets)

    @property
    def traced(self) -> bool:
        """Whether sampling, features, scores and counting run together under one jit."""
        return self._jax is not None and self._jax.alike and (self.encoder is None or self.encoder.traceable)

    def probe(self, num: int = 256) -> None:
        """Draws the first training samples of both sides, checks the sampler, and fits `encoder`.

        Args:
            num: samples per dataset, at least 2. A traced sampler draws more of its own accord: they cost nothing.

        Raises:
            InvalidInput: the sampler cannot be used: it raises, hangs, or repeats its random stream.
        """
        if num < 2:
            raise InvalidInput(f"the probe needs at least 2 samples per dataset, got {num}")
        halves = [[self._raw(side, "training", part) for part in (num - num // 2, num // 2)] for side in (0, 1)]
        self._caller.check_raised()
        sides = [_joined(parts) for parts in halves]
        if isinstance(sides[0], list) != isinstance(sides[1], list) or (
            not isinstance(sides[0], list) and _layout(sides[0]) != _layout(sides[1])
        ):
            sides = [_listed(side) for side in sides]
        self.encoder = fit_encoder(sides[0], sides[1], representation=self.representation)
        self._check_probe(sides, halves)

    def draw(self, side: int, phase: str, n: int) -> np.ndarray:
        """Feature vectors of the next n samples of a stream, shape (n, columns)."""
        encoder = self._fitted()
        if self.traced:
            assert self._jax is not None
            return self._rows(side, phase, n, self._jax.features(encoder), len(encoder.names))
        parts = []
        for outputs in self._chunks(side, phase, n):
            parts.append(encoder.features(outputs))
            self._check_block(parts[-1])
        return np.concatenate(parts) if parts else np.zeros((0, len(encoder.names)))

    def scores(self, side: int, phase: str, n: int, scorers: Sequence[Any]) -> np.ndarray:
        """Scores of the next n samples by every scorer, float32, shape (n, scorers)."""
        encoder = self._fitted()
        if self.traced and scorers:
            assert self._jax is not None
            return self._rows(side, phase, n, self._jax.scores(encoder, scorers), len(scorers), np.float32)
        result = np.empty((n, len(scorers)), np.float32)
        start = 0
        for outputs in self._chunks(side, phase, n):
            features = encoder.features(outputs)
            self._check_block(features)
            for column, scorer in enumerate(scorers):
                result[start : start + len(features), column] = np.asarray(scorer(features))
            start += len(features)
        return result

    def counts(self, side: int, phase: str, n: int, events: Sequence[Any]) -> np.ndarray:
        """How many of the next n samples lie in each event, int64, shape (events,)."""
        encoder = self._fitted()
        totals = np.zeros(len(events), np.int64)
        if not events or n == 0:
            return totals
        if self.traced:
            return self._count_traced(side, phase, n, events)
        for outputs in self._chunks(side, phase, n):
            features = encoder.features(outputs)
            self._check_block(features)
            totals += [int(np.count_nonzero(np.asarray(event.contains(features)))) for event in events]
        return totals

    def _fitted(self) -> Encoder:
        if self.encoder is None:
            self.probe()
        assert self.encoder is not None
        return self.encoder

    def _check_probe(self, sides: list[Any], halves: list[list[Any]]) -> None:
        encoder = self._fitted()
        features = [encoder.features(side) for side in sides]
        cut = len(features[0]) - len(features[0]) // 2
        for rows in features:
            self._check_block(rows[:cut])
            self._check_block(rows[cut:])
        constant = [bool((rows == rows[0]).all()) for rows in features]
        if all(constant):
            same = np.array_equal(features[0][0], features[1][0])
            self.warnings.append(
                "the sampler is deterministic: it gave one and the same output at every probe call"
                + (" on both datasets" if same else " on each dataset, and the two differ")
            )
        elif any(constant):
            side = constant.index(True) + 1
            self.warnings.append(f"the sampler gave the same output at every probe call on dataset {side}")
        if self._jax is None and not all(constant) and not all(self._caller.repeats(side) for side in (0, 1)):
            self.warnings.append(
                "the sampler is not repeatable: equal generators give different outputs; it has another source"
            )
        for side, outputs in enumerate(sides):
            if isinstance(outputs, list) and plain(outputs) is None and _shapes(outputs) > 1:
                self.warnings.append(
                    f"outputs on dataset {side + 1} change shape or type; they are compared by length and position"
                )

    def _check_block(self, rows: np.ndarray) -> None:
        """Raises when a block of outputs was seen before although chance cannot repeat it."""
        if len(rows) < 8:
            return
        discrete = self._fitted().discrete
        continuous = [index for index, flag in enumerate(discrete) if not flag]
        for block in [rows[:8, continuous], *([rows[:4096]] if len(rows) >= 64 else [])]:
            if block.shape[1] == 0:
                continue
            content = hashlib.blake2b(block.tobytes(), digest_size=16).digest()
            if content in self._blocks and _entropy(block, block.shape[1] == len(continuous)) >= _BITS:
                raise InvalidInput(
                    "the sampler repeats its random stream: two chunks of outputs are identical; "
                    "draw all randomness from the generator or key that is passed in"
                )
            self._blocks.add(content)

    # Drawing

    def _raw(self, side: int, phase: str, n: int) -> Any:
        """The outputs themselves: an array or a pytree of arrays, or a list."""
        if n == 0:
            return []
        parts = list(self._chunks(side, phase, n))
        return _joined(parts)

    def _chunks(self, side: int, phase: str, n: int) -> Iterator[Any]:
        number = PHASES.index(phase)
        done = 0
        while done < n:
            start = time.perf_counter()
            if self._jax is not None:
                size = min(n - done, self._jax.chunk)
                step = self._jax.stride(size)
                words = _advance(key_words(self._seed, self._run, number, side), self._next[phase][side])
                outputs = self._jax.outputs(side, words, size)
                outputs = outputs if self._jax.alike else _listed(outputs)
            else:
                size, step = min(n - done, self._caller.chunk), 1
                outputs = self._caller.outputs(side, number, self._next[phase][side], size)
                self._caller.check_raised()
            self._next[phase][side] += step
            self.drawn[phase][side] += size
            done += size
            self.seconds_per_sample = (time.perf_counter() - start) / size
            yield outputs

    def _plan(self, side: int, phase: str, n: int) -> list[tuple[np.ndarray, int]]:
        """The start of every chunk of the next n samples and how many of it count."""
        assert self._jax is not None
        base, chunk = key_words(self._seed, self._run, PHASES.index(phase), side), self._jax.chunk
        plan = []
        for start in range(0, n, chunk):
            size = min(chunk, n - start)
            plan.append((_advance(base, self._next[phase][side]), size))
            self._next[phase][side] += self._jax.stride(size)
        self.drawn[phase][side] += n
        return plan

    def _rows(self, side: int, phase: str, n: int, function: Any, width: int, dtype: Any = None) -> np.ndarray:
        """Runs a jitted function of chunks on several threads and keeps its rows."""
        assert self._jax is not None
        plan = self._plan(side, phase, n)
        result: list[Any] = [None] * len(plan)

        def one(index: int) -> None:
            words, size = plan[index]
            rows = np.asarray(function(side, words))[:size]
            result[index] = rows if dtype is None else rows.astype(dtype, copy=False)

        start = time.perf_counter()
        _parallel(one, range(len(plan)))
        if n >= self._jax.chunk:
            self.seconds_per_sample = (time.perf_counter() - start) / n
        if not result:
            return np.zeros((0, width), dtype or np.float64)
        return np.concatenate(result) if len(result) > 1 else result[0]

    def _count_traced(self, side: int, phase: str, n: int, events: Sequence[Any]) -> np.ndarray:
        assert self._jax is not None
        base, chunk = key_words(self._seed, self._run, PHASES.index(phase), side), self._jax.chunk
        function = self._jax.counts(self._fitted(), events)
        chunks = -(-n // chunk)
        per_job = min(_DISPATCH, -(-chunks // _threads()))
        jobs = []
        for first in range(0, chunks, per_job):
            size = min(per_job * chunk, n - first * chunk)
            jobs.append((_advance(base, self._next[phase][side]), size))
            self._next[phase][side] += self._jax.stride(size)
        self.drawn[phase][side] += n
        results: list[Any] = [0] * len(jobs)

        def one(index: int) -> None:
            results[index] = np.asarray(function(side, *jobs[index]), np.int64)

        start = time.perf_counter()
        _parallel(one, range(len(jobs)))
        if n >= chunk:
            self.seconds_per_sample = (time.perf_counter() - start) / n
        return np.asarray(np.sum(results, axis=0), np.int64)


class _Traced:
    """A mechanism as functions of chunks of keys, jitted."""

    def __init__(self, mechanism: Any, datasets: tuple[Any, Any], *, wide: bool, as_argument: bool) -> None:
        self.mechanism, self.datasets, self.wide, self.as_argument = mechanism, datasets, wide, as_argument
        self.batched = callable(getattr(mechanism, "sample_batch", None))
        self.chunk = _CHUNK
        shapes = [self.shape(side) for side in (0, 1)]
        self.alike = str(shapes[0]) == str(shapes[1])
        self._cache: dict[Any, Any] = {}

    def context(self) -> AbstractContextManager[Any]:
        """JAX's 64-bit types are per thread: every thread that calls enters them."""
        import jax

        return jax.enable_x64(self.wide)

    def stride(self, size: int) -> int:
        """Keys that a run of `size` samples uses up."""
        return -(-size // self.chunk) if self.batched else size

    def sample(self, side: int, words: Any, dataset: Any, chunk: int) -> Any:
        """Outputs of one chunk, leaves of shape (chunk, ...). Traced."""
        import jax
        import jax.numpy as jnp

        data = dataset if self.as_argument else self.datasets[side]
        if self.batched:
            key = jax.random.wrap_key_data(words, impl="threefry2x32")
            outputs = self.mechanism.sample_batch(key, data, chunk)
        else:
            low = words[1] + jnp.arange(chunk, dtype=jnp.uint32)
            high = words[0] + (low < words[1]).astype(jnp.uint32)
            keys = jax.random.wrap_key_data(jnp.stack([high, low], axis=1), impl="threefry2x32")
            outputs = jax.vmap(lambda key: self.mechanism.sample(key, data))(keys)
        outputs = tuple(outputs) if isinstance(outputs, list) else outputs
        return jax.tree.map(jnp.asarray, outputs)

    def argument(self, side: int) -> Any:
        """The dataset, when it is an argument of the jitted functions."""
        return self.datasets[side] if self.as_argument else None

    def shape(self, side: int) -> Any:
        """Shapes and types of the outputs; raises whatever tracing raises."""
        import jax

        with self.context():
            words = np.zeros(2, np.uint32)
            result = jax.eval_shape(
                lambda words, data: self.sample(side, words, data, _SMALL), words, self.argument(side)
            )
        leaves = jax.tree.leaves(result)
        if not leaves or any(leaf.shape[:1] != (_SMALL,) or leaf.dtype.kind not in "biufc" for leaf in leaves):
            raise TypeError("the outputs are not arrays with one row per sample")
        return result

    def call(self, name: Any, side: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls the jitted function (side, dataset, *arguments), compiled once per name."""
        import jax

        key = (name, 0 if self.as_argument and self.alike else side)
        if key not in self._cache:
            self._cache[key] = jax.jit(functools.partial(function, side))
        with self.context():
            return self._cache[key](self.argument(side), *arguments)

    def outputs(self, side: int, words: np.ndarray, size: int) -> Any:
        import jax

        chunk = self.chunk if self.batched or size > _SMALL else _SMALL

        def run(side: int, data: Any, words: Any) -> Any:
            return self.sample(side, words, data, chunk)

        outputs = self.call(("outputs", chunk), side, run, words)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[:size], outputs)

    def features(self, encoder: Encoder) -> Callable[..., Any]:
        def run(side: int, data: Any, words: Any) -> Any:
            return encoder.features(self.sample(side, words, data, self.chunk))

        return lambda side, words: self.call(("features", id(encoder), self.chunk), side, run, words)

    def scores(self, encoder: Encoder, scorers: Sequence[Any]) -> Callable[..., Any]:
        import jax.numpy as jnp

        arrays, rebuild, name = _frozen(tuple(scorers))

        def run(side: int, data: Any, words: Any, arrays: Any) -> Any:
            features = encoder.features(self.sample(side, words, data, self.chunk))
            return jnp.stack([scorer(features).astype(jnp.float32) for scorer in rebuild(arrays)], axis=1)

        return lambda side, words: self.call(("scores", id(encoder), self.chunk, name), side, run, words, arrays)

    def counts(self, encoder: Encoder, events: Sequence[Any]) -> Callable[..., Any]:
        """A function (side, words, size) that counts in any number of chunks under one jit."""
        import jax
        import jax.numpy as jnp

        scorers = list({id(event.scorer): event.scorer for event in events}.values())
        which = [[id(scorer) for scorer in scorers].index(id(event.scorer)) for event in events]
        above = np.array([bool(event.above) for event in events])
        cuts = np.array([float(event.cut) for event in events])
        arrays, rebuild, name = _frozen(tuple(scorers))
        chunk = self.chunk

        def run(side: int, data: Any, words: Any, size: Any, arrays: Any, cuts: Any) -> Any:
            rebuilt = rebuild(arrays)
            lanes = jnp.arange(chunk, dtype=jnp.int32)

            def body(index: Any, totals: Any) -> Any:
                step = index.astype(jnp.uint32) * jnp.uint32(1 if self.batched else chunk)
                low = words[1] + step
                start = jnp.stack([words[0] + (low < step).astype(jnp.uint32), low])
                features = encoder.features(self.sample(side, start, data, chunk))
                valid = lanes < size - index * chunk
                scores = [scorer(features).astype(jnp.float32) for scorer in rebuilt]
                inside = [(scores[number] >= cuts[event]) == bool(above[event]) for event, number in enumerate(which)]
                return totals + jnp.stack([jnp.sum(one & valid, dtype=jnp.int32) for one in inside])

            zero = jnp.zeros(len(which), jnp.int32)
            return jax.lax.fori_loop(jnp.int32(0), (size + chunk - 1) // chunk, body, zero)

        full = ("counts", id(encoder), chunk, name, tuple(which), above.tobytes())
        return lambda side, words, size: self.call(
            full, side, run, words, np.int32(size), arrays, cuts.astype(np.float32)
        )


def _trace(mechanism: Any, datasets: tuple[Any, Any]) -> _Traced | None:
    """The mechanism under jit, the dataset an argument where possible; None when JAX cannot trace it."""
    import jax

    wide = bool(jax.config.read("jax_enable_x64")) or _uses_64_bits(mechanism, datasets[0])
    numeric = all(
        isinstance(leaf, bool | int | float | np.number | np.ndarray | jax.Array)
        and np.asarray(leaf).dtype.kind in "biufc"
        for data in datasets
        for leaf in jax.tree.leaves(data)
    )
    for as_argument in (True, False) if numeric else (False,):
        try:
            return _Traced(mechanism, datasets, wide=wide, as_argument=as_argument)
        except Exception:
            continue
    return None


def _uses_64_bits(mechanism: Any, dataset: Any) -> bool:
    """Whether the mechanism itself computes in 64 bits inside a program that has them off."""
    import jax

    try:
        key = jax.random.key(0, impl="threefry2x32")
        jaxpr = jax.make_jaxpr(lambda key: mechanism.sample(key, dataset))(key)
    except Exception:
        return True
    return "f64[" in str(jaxpr) or "i64[" in str(jaxpr)


def _frozen(scorers: tuple[Any, ...]) -> tuple[list[Any], Callable[[Any], Any], Any]:
    """Arrays of scorers that are pytrees, how to put them back, and a name for all the rest.

    New numbers in the same structure then need no new compilation; a scorer that is not a pytree is a constant.
    """
    import jax

    leaves, tree = jax.tree.flatten(scorers)
    dynamic = [isinstance(leaf, np.ndarray | jax.Array | float) for leaf in leaves]
    fixed = [None if moves else leaf for leaf, moves in zip(leaves, dynamic, strict=True)]

    def rebuild(arrays: Any) -> Any:
        rest = iter(arrays)
        return jax.tree.unflatten(
            tree, [next(rest) if moves else leaf for leaf, moves in zip(fixed, dynamic, strict=True)]
        )

    names = tuple(None if leaf is None else leaf if isinstance(leaf, int | str) else _Same(leaf) for leaf in fixed)
    return [leaf for leaf, moves in zip(leaves, dynamic, strict=True) if moves], rebuild, (tree, names)


class _Same:
    """Hashes and compares by identity, and keeps the object alive so that its identity stays its own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def _entropy(block: np.ndarray, continuous: bool) -> float:
    """Bits of chance in the rows of a block, by their frequencies; 16 a row where all are distinct real numbers."""
    _, counts = np.unique(block, axis=0, return_counts=True)
    if continuous and len(counts) == len(block):
        return 16.0 * len(block)
    return float(-(counts * np.log2(counts / counts.sum())).sum())


def _advance(words: np.ndarray, steps: int) -> np.ndarray:
    total = ((int(words[0]) << 32) + int(words[1]) + steps) % (1 << 64)
    return np.array([total >> 32, total & 0xFFFFFFFF], np.uint32)


def _threads() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), thread_name_prefix="dpassay-chunks")


def _parallel(work: Callable[[int], None], jobs: Sequence[int]) -> None:
    """Every job on the threads; the first alone, so that it compiles once."""
    if len(jobs) > 0:
        work(jobs[0])
    if len(jobs) > 1:
        for _ in _pool(os.getpid()).map(work, jobs[1:]):
            pass


def _joined(parts: list[Any]) -> Any:
    """Chunks of outputs as one."""
    parts = [part for part in parts if not (isinstance(part, list) and not part)]
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, list) for part in parts) or len({_layout(part) for part in parts}) > 1:
        return [output for part in parts for output in _listed(part)]
    import jax

    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _layout(outputs: Any) -> str:
    import jax

    return str(jax.tree.map(lambda leaf: (leaf.shape[1:], leaf.dtype.kind), outputs))


def _listed(outputs: Any) -> list[Any]:
    """One Python object per sample."""
    if isinstance(outputs, list):
        return outputs
    import jax

    if isinstance(outputs, np.ndarray):
        return list(outputs)
    leaves, tree = jax.tree.flatten(outputs)
    return [jax.tree.unflatten(tree, row) for row in zip(*leaves, strict=True)]


def _shapes(outputs: list[Any]) -> int:
    return len({(np.shape(output), np.asarray(output).dtype.kind) for output in outputs if hasattr(output, "shape")})
