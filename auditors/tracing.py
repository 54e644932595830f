"""A mechanism that JAX can trace, as compiled functions of chunks of keys: outputs, features, scores, or counts.

Sample i of a stream has the 64-bit Threefry key base + i; keys and counters may be consecutive integers (Salmon,
Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"). What is drawn does not depend on how it is
cut into chunks. A mechanism with `sample_batch` has one key per chunk instead.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpassay.auditors.calling import watched
from dpassay.auditors.outputs import Encoder
from dpassay.auditors.rare_events import Region, beyond

SMALL = 256  # samples of the chunk by which cost is measured
FEW = 64 * SMALL  # samples that small chunks suffice for
LARGE = 1 << 16
WATCHED = 1 << 22  # samples of one call that marks each rare output
WORD = 32  # of its marks
_MEMORY = 64 << 20  # bytes of temporaries of one chunk
_SECONDS = 0.05  # of one chunk
# XLA prefers vectors of 256 bits and is half as fast as a CPU with wider ones allows. It splits every step over
# threads, which costs more than it gives where chunks are shared out over threads anyway.
_OPTIONS: Any = {"xla_cpu_prefer_vector_width": 512, "xla_disable_hlo_passes": "cpu-parallel-task-assigner"}

Compiled = Callable[..., Any]


class Traced:
    """Both sides of an audit as compiled functions.

    Attributes:
        chunk: samples that a compiled function draws at a time.
        batched: whether the mechanism draws whole chunks by itself.
        alike: whether outputs have the same structure, shapes and types on both datasets.
        wide: whether it computes in 64 bits.
    """

    def __init__(self, mechanism: Any, datasets: tuple[Any, Any], *, wide: bool, as_argument: bool) -> None:
        """Traces both sides; raises whatever tracing raises."""
        self.mechanism, self.datasets, self.wide, self._as_argument = mechanism, datasets, wide, as_argument
        self.batched = callable(getattr(mechanism, "sample_batch", None))
        self.chunk = LARGE
        self._compiled: dict[Any, Compiled] = {}
        self._lock = threading.Lock()
        shapes = [self._shape(side) for side in (0, 1)]
        self.alike = str(shapes[0]) == str(shapes[1])
        leaves = [jax.tree.leaves(shape) for shape in shapes]
        self._width = max(sum(leaf.size * leaf.dtype.itemsize // SMALL for leaf in side) for side in leaves)

    def stride(self, size: int) -> int:
        """Keys that `size` samples in a row use up."""
        return -(-size // self.chunk) if self.batched else size

    def calibrate(self, limit: float) -> float:
        """Fits `chunk` to the memory, and for single samples to the time, that the mechanism needs.

        A run of a small chunk that takes more than `limit` seconds counts as hanging.

        Returns:
            Seconds per sample, without compilation.

        Raises:
            InvalidInput: it hangs.
        """
        words = np.zeros(2, np.uint32)
        if self.batched:
            while self.chunk > SMALL and self._temporaries(self._outputs(0, self.chunk)) > _MEMORY:
                self.chunk //= 4
            size = self.chunk
        else:
            size = SMALL
        seconds = []
        for side in (0, 1):
            function = self._outputs(side, size)

            def run(beat: Any, function: Compiled = function) -> float:
                best = np.inf
                for _ in range(2):
                    start = time.perf_counter()
                    jax.block_until_ready(function(words))
                    best = min(best, time.perf_counter() - start)
                    beat.calls += 1
                return best

            seconds.append(watched(run, limit, f"the sampler on dataset {side + 1}") / size)
        if not self.batched:
            memory = max(self._temporaries(self._outputs(0, SMALL)) // SMALL, self._width)
            while self.chunk > SMALL and (self.chunk * memory > _MEMORY or self.chunk * max(seconds) > 16 * _SECONDS):
                self.chunk //= 4
        return max(seconds)

    def outputs(self, side: int, words: np.ndarray, size: int) -> Any:
        """`size` outputs, at most a chunk, from a counter of shape (2,): NumPy arrays, their first axis the outputs."""
        if self.batched or size > FEW:
            rows = self._outputs(side, self.chunk)(words)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[:size], rows)
        parts = [
            jax.tree.map(np.asarray, self._outputs(side, SMALL)(advance(words, start)))
            for start in range(0, size, SMALL)
        ]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:size], *parts)

    def picked(self, side: int, starts: Sequence[np.ndarray], places: Sequence[np.ndarray]) -> Any:
        """Single outputs: of each counter, shape (2,), those so many samples, fewer than a chunk, behind it."""
        if self.batched:
            rows = [
                jax.tree.map(lambda leaf, some=some: np.asarray(leaf)[some], self._outputs(side, self.chunk)(words))
                for words, some in zip(starts, places, strict=True)
            ]
            return jax.tree.map(lambda *leaves: np.concatenate(leaves), *rows)
        keys = np.concatenate([_advanced(words, some) for words, some in zip(starts, places, strict=True)])
        function = self._compile(
            ("picked", SMALL), side, lambda data, keys: self._of_keys(side, keys, data), keys=SMALL
        )
        padded = np.concatenate([keys, np.repeat(keys[:1], -len(keys) % SMALL, axis=0)])
        rows = [function(padded[start : start + SMALL]) for start in range(0, len(padded), SMALL)]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(keys)], *rows)

    def encoded(self, side: int, encoder: Encoder) -> Compiled:
        """words -> what `encoder.encode` gives of a chunk, float32, shape (chunk, columns)."""

        def run(data: Any, words: Any) -> Any:
            return encoder.encode(self._sample(side, words, data, self.chunk))

        return self._compile(("encoded", _Same(encoder), self.chunk), side, run)

    def scores(self, side: int, encoder: Encoder, scorers: Sequence[Any], region: Region | None = None) -> Compiled:
        """words -> scores of a chunk, float32, shape (chunk, scorers); with a region, then whether it holds each."""
        arrays, rebuild, name = _split((tuple(scorers), _limits(region)))

        def run(data: Any, words: Any, arrays: Any) -> Any:
            scorers, limits = rebuild(arrays)
            features, rare = self._read(side, words, data, encoder, region, limits)
            scores = [scorer(features).astype(jnp.float32) for scorer in scorers]
            return jnp.stack(scores if rare is None else [*scores, rare.astype(jnp.float32)], axis=1)

        return self._compile(
            ("scores", _Same(encoder), self.chunk, name, _Same(region and region.encoder)), side, run, arrays
        )

    def counts(self, side: int, encoder: Encoder, events: Sequence[Any], region: Region | None = None) -> Compiled:
        """words, size -> how many of the next `size` samples lie in each event, int32; size below 2^31 - chunk.

        With a region, size at most WATCHED or a chunk, also which samples are in it: bits of uint32, shape (words,).
        """
        scorers = list({id(event.scorer): event.scorer for event in events}.values())
        which = [[id(scorer) for scorer in scorers].index(id(event.scorer)) for event in events]
        cuts = np.array([event.cut for event in events], np.float32)
        above = np.array([event.above for event in events], bool)
        arrays, rebuild, name = _split((tuple(scorers), _limits(region)))
        chunk = self.chunk

        def run(data: Any, words: Any, size: Any, arrays: Any, cuts: Any, above: Any) -> Any:
            rebuilt, limits = rebuild(arrays)

            def body(index: Any, carry: Any) -> Any:
                totals, marks = carry
                step = index.astype(jnp.uint32) * np.uint32(1 if self.batched else chunk)
                features, rare = self._read(side, _shifted_in_jit(words, step), data, encoder, region, limits)
                valid = jnp.arange(chunk, dtype=jnp.int32) < size - index * chunk
                scores = [scorer(features).astype(jnp.float32) for scorer in rebuilt]
                # As `Event.contains`: at least the cut, or below it; a score that is NaN is below every cut.
                inside = [(scores[number] >= cuts[place]) == above[place] for place, number in enumerate(which)]
                totals = totals + jnp.stack([jnp.sum(one & valid, dtype=jnp.int32) for one in inside])
                if rare is not None:
                    bits = (rare & valid).reshape(-1, WORD).astype(jnp.uint32) << jnp.arange(WORD, dtype=jnp.uint32)
                    marks = jax.lax.dynamic_update_slice(
                        marks, jnp.sum(bits, axis=1, dtype=jnp.uint32), (index * (chunk // WORD),)
                    )
                return totals, marks

            marks = jnp.zeros(0 if region is None else max(WATCHED, chunk) // WORD, jnp.uint32)
            start = (jnp.zeros(len(which), jnp.int32), marks)
            found = jax.lax.fori_loop(jnp.int32(0), (size + chunk - 1) // chunk, body, start)
            return found[0] if region is None else found

        key = ("counts", _Same(encoder), chunk, name, tuple(which), _Same(region and region.encoder))
        function = self._compile(key, side, run, np.int32(0), arrays, cuts, above, place=1)
        return lambda words, size: function(words, np.int32(size))

    def _read(
        self, side: int, words: Any, data: Any, encoder: Encoder, region: Region | None, limits: Any
    ) -> tuple[Any, Any]:
        """Features of one chunk and, with a region, whether each output is in it. Traced; nothing is drawn twice."""
        outputs = self._sample(side, words, data, self.chunk)
        if region is None:
            return _once(encoder.features(outputs)), None
        if region.encoder is not encoder:
            outputs = jax.lax.optimization_barrier(outputs)
        encoded = _once(encoder.encode(outputs))
        seen = encoded if region.encoder is encoder else _once(region.encoder.encode(outputs))
        return encoder.filled(encoded), beyond(seen, *limits)

    def _sample(self, side: int, words: Any, dataset: Any, chunk: int) -> Any:
        """Outputs of one chunk, leaves of shape (chunk, ...). Traced."""
        if not self.batched:
            low = words[1] + jnp.arange(chunk, dtype=jnp.uint32)
            high = words[0] + (low < words[1]).astype(jnp.uint32)
            return self._of_keys(side, jnp.stack([high, low], axis=1), dataset)
        data = dataset if self._as_argument else self.datasets[side]
        outputs = self.mechanism.sample_batch(jax.random.wrap_key_data(words, impl="threefry2x32"), data, chunk)
        return jax.tree.map(jnp.asarray, tuple(outputs) if isinstance(outputs, list) else outputs)

    def _of_keys(self, side: int, words: Any, dataset: Any) -> Any:
        """One output for each key, words of shape (keys, 2). Traced."""
        data = dataset if self._as_argument else self.datasets[side]
        keys = jax.random.wrap_key_data(words, impl="threefry2x32")
        outputs = jax.vmap(lambda key: self.mechanism.sample(key, data))(keys)
        return jax.tree.map(jnp.asarray, tuple(outputs) if isinstance(outputs, list) else outputs)

    def _shape(self, side: int) -> Any:
        with jax.enable_x64(self.wide):
            result = jax.eval_shape(
                lambda words, data: self._sample(side, words, data, SMALL), np.zeros(2, np.uint32), self._argument(side)
            )
        leaves = jax.tree.leaves(result)
        if not leaves or any(leaf.shape[:1] != (SMALL,) or leaf.dtype.kind not in "biufc" for leaf in leaves):
            raise TypeError("the outputs are not arrays with one row per sample")
        return result

    def _argument(self, side: int) -> Any:
        return self.datasets[side] if self._as_argument else None

    def _outputs(self, side: int, chunk: int) -> Compiled:
        return self._compile(("outputs", chunk), side, lambda data, words: self._sample(side, words, data, chunk))

    def _compile(
        self, name: Any, side: int, function: Callable[..., Any], *rest: Any, place: int = 0, keys: int = 0
    ) -> Compiled:
        """function(dataset, words, *rest), compiled once per name and shapes, with all but words (and what stands in
        the first `place` of rest) filled in; with `keys`, words are so many counters, shape (keys, 2).
        """
        data = self._argument(side)
        key = (name, _signature(data) if self._as_argument else side, _signature(rest))
        words = np.zeros((keys, 2) if keys else 2, np.uint32)
        # JAX's 64-bit types are on per thread: whoever traces or calls enters them.
        with self._lock, jax.enable_x64(self.wide):
            if key not in self._compiled:
                options = _OPTIONS if jax.default_backend() == "cpu" else None
                lowered = jax.jit(function, compiler_options=options).lower(data, words, *rest)
                self._compiled[key] = lowered.compile()
        compiled, fixed = self._compiled[key], rest[place:]

        def call(words: Any, *first: Any) -> Any:
            with jax.enable_x64(self.wide):
                return compiled(data, words, *first, *fixed)

        call.compiled = compiled  # type: ignore[attr-defined]
        return call

    def _temporaries(self, function: Compiled) -> int:
        """Bytes that a compiled function needs besides its arguments."""
        analysis = function.compiled.memory_analysis()  # type: ignore[attr-defined]
        if analysis is None:
            return 0
        return int(analysis.temp_size_in_bytes) + int(analysis.output_size_in_bytes)


def trace(mechanism: Any, datasets: tuple[Any, Any], *, wide: bool | None = None) -> "Traced | Exception":
    """The mechanism under jit, the datasets as arguments where possible; the error when JAX cannot trace it.

    `wide` says whether in 64 bits; None finds out.
    """
    if wide is None:
        wide = bool(jax.config.read("jax_enable_x64")) or _uses_64_bits(mechanism, datasets[0])
    failure: Exception = TypeError("the sampler cannot be traced")
    for as_argument in (True, False) if all(map(_numeric, datasets)) else (False,):
        try:
            return Traced(mechanism, datasets, wide=wide, as_argument=as_argument)
        except Exception as error:
            failure = error
    return failure


def _numeric(data: Any) -> bool:
    kinds = bool | int | float | np.number | np.ndarray | jax.Array
    leaves = jax.tree.leaves(data)
    return all(isinstance(leaf, kinds) and np.asarray(leaf).dtype.kind in "biufc" for leaf in leaves)


def _uses_64_bits(mechanism: Any, dataset: Any) -> bool:
    """Whether the mechanism computes in 64 bits inside a program that has them off."""
    key = jax.random.key(0, impl="threefry2x32")
    try:
        text = str(jax.make_jaxpr(lambda key: mechanism.sample(key, dataset))(key))
    except Exception:
        return True  # mixing widths may be why: trace it with 64 bits on
    return "f64[" in text or "i64[" in text


def _signature(values: Any) -> Any:
    leaves, tree = jax.tree.flatten(values)
    return tree, tuple((np.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in leaves)


def _split(scorers: tuple[Any, ...]) -> tuple[list[Any], Callable[[Any], Any], Any]:
    """Arrays of scorers that are pytrees, how to put them back, and a name for the rest.

    New numbers in the same structure need no new compilation; a scorer that is not a pytree is a constant.
    """
    leaves, tree = jax.tree.flatten(scorers)
    moves = [isinstance(leaf, np.ndarray | np.generic | jax.Array | float) for leaf in leaves]
    rest = [None if moved else leaf for leaf, moved in zip(leaves, moves, strict=True)]

    def rebuild(arrays: Any) -> Any:
        values = iter(arrays)
        return jax.tree.unflatten(
            tree, [next(values) if moved else leaf for leaf, moved in zip(rest, moves, strict=True)]
        )

    name = (tree, tuple(leaf if leaf is None or isinstance(leaf, int | str) else _Same(leaf) for leaf in rest))
    return [np.asarray(leaf) for leaf, moved in zip(leaves, moves, strict=True) if moved], rebuild, name


class _Same:
    """Hashes and compares by identity, and keeps the object alive so that its identity stays its own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


def advance(words: np.ndarray, steps: int) -> np.ndarray:
    """A 64-bit counter, high and low word, shape (2,), some steps on."""
    total = ((int(words[0]) << 32) + int(words[1]) + steps) % (1 << 64)
    return np.array([total >> 32, total & 0xFFFFFFFF], np.uint32)


def _advanced(words: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """`advance` by each of some steps, shape (steps, 2)."""
    low = words[1].astype(np.uint64) + steps.astype(np.uint64)
    high = words[0].astype(np.uint64) + (low >> np.uint64(32))
    return np.stack([high, low], axis=1).astype(np.uint32)  # modulo 2^32


def _limits(region: Region | None) -> tuple[np.ndarray, ...]:
    return () if region is None else (region.low, region.high, region.fill)


def _once(features: Any) -> Any:
    """Keeps XLA from drawing the samples again for every column that a scorer reads; columns lie together."""
    return jax.lax.optimization_barrier(features.T).T


def _shifted_in_jit(words: Any, steps: Any) -> Any:
    low = words[1] + steps
    return jnp.stack([words[0] + (low < steps).astype(jnp.uint32), low])
