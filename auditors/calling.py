"""Draws outputs by calling Python: one NumPy generator per chunk, watched for calls that hang, raise or misbehave."""

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpassay.auditors.opening import Raised
from dpassay.core.errors import InvalidInput
from dpassay.core.protocol import CallableMechanism

T = TypeVar("T")

_CALLS = 4096  # of one chunk of a sampler that is called sample by sample
_BATCH = 1 << 16  # largest chunk of a batched sampler
_FIRST = 256  # first large one; a chunk is at most _FACTOR times the largest before it
_FACTOR = 16
_SLOW = 1.0  # seconds of one call, from which on chunks shrink to stay below the limit
_REPEATED, PROOF = 3, 4  # the streams of calls made twice, behind those of the phases
_REPEATS = 2  # calls made twice to see whether the generator decides


class Beat:
    """What the watching thread sees of the working one."""

    def __init__(self) -> None:
        self.calls = 0
        self.stop = False


def watched(work: Callable[[Beat], T], limit: float, subject: str) -> T:
    """Runs `work` in another thread and gives up when no call returned within `limit` seconds.

    `work` adds one to `Beat.calls` after each call and returns early when `Beat.stop` is set; `subject` begins the
    message, for example "the sampler on dataset 1".

    Raises:
        InvalidInput: a call hangs. Its thread cannot be ended; it is a daemon and does not keep the program alive.
    """
    beat = Beat()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work(beat))
        except Exception as error:
            errors.append(error)
        except BaseException as error:  # nothing but the sampler can raise these here, and they would end the program
            what = f"{subject} raised {type(error).__name__}, which ends programs: {_quoted(error)}"
            errors.append(InvalidInput(f"{what}; let it return an output, or raise an exception"))
            errors[0].__cause__ = error
        finally:
            done.set()

    threading.Thread(target=run, daemon=True, name="dpassay-sampler").start()
    seen, since = -1, time.monotonic()
    try:
        while not done.wait(min(limit, 1.0) if seen >= 0 else min(limit, 0.05)):
            now = time.monotonic()
            if beat.calls != seen:
                seen, since = beat.calls, now
            elif now - since > limit:
                raise InvalidInput(
                    f"{subject} did not return within {limit:g} s (call {beat.calls + 1}): "
                    "mend the endless loop, or allow more time per call with call_limit"
                )
    finally:
        beat.stop = True
    if errors:
        raise errors[0]
    return results[0]


def key_words(seed: int, *stream: int) -> np.ndarray:
    """A 64-bit start for the counter of a stream of JAX keys, uint32, shape (2,): high word, low word."""
    return np.random.SeedSequence([seed, *stream]).generate_state(2, np.uint32)


class Caller:
    """Outputs of a Python sampler.

    An exception is an output, too, unless every call on a dataset raises: whoever sees the result sees that there was
    none.
    """

    def __init__(self, mechanism: Any, datasets: tuple[Any, Any], *, seed: int, run: int, call_limit: float) -> None:
        self.mechanism, self.datasets = mechanism, datasets
        self.seed, self.run, self.limit = seed, run, call_limit
        self.batched = isinstance(mechanism, CallableMechanism) and mechanism.batched
        self.raised: list[int] = [0, 0]
        self.called: list[int] = [0, 0]
        self.largest, self.tried = _BATCH, _FIRST
        self.error: list[BaseException | None] = [None, None]
        self.drew = not isinstance(mechanism, CallableMechanism)  # from the generator that it was given

    @property
    def chunk(self) -> int:
        """Largest number of samples of one chunk."""
        return min(self.largest, _FACTOR * self.tried) if self.batched else _CALLS

    @property
    def settled(self) -> bool:
        """Whether chunks grow no more."""
        return not self.batched or self.tried >= self.largest

    def outputs(self, side: int, phase: int, chunk: int, n: int) -> Any:
        """One chunk of outputs: a list, or for a batched sampler what it returned (array, tuple or dict of arrays)."""
        subject = f"the sampler on dataset {side + 1}"
        start = time.monotonic()
        if self.batched:
            result = watched(lambda beat: self._batch(side, phase, chunk, n), self.limit, subject)
            seconds = time.monotonic() - start
            self.tried = max(self.tried, n)
            # Short calls say little about long ones: what they take is mostly spent on starting.
            while seconds > _SLOW and seconds / n * self.largest > self.limit / 4 and self.largest > 1:
                self.largest //= 4
            return result
        return watched(lambda beat: self._calls(side, phase, chunk, n, beat), self.limit, subject)

    def repeats(self, side: int) -> bool:
        """Whether equal generators give equal outputs, on a stream that is used for nothing else."""
        first, second = (self.outputs(side, _REPEATED, 0, _REPEATS) for _ in range(2))
        return written(first) == written(second)

    def _batch(self, side: int, phase: int, chunk: int, n: int) -> Any:
        generator = np.random.default_rng([self.seed, self.run, phase, side, chunk])
        before = None if self.drew else generator.bit_generator.state
        try:
            result = self.mechanism.function(generator, self.datasets[side], n)
            self.drew = self.drew or generator.bit_generator.state != before
        except Exception as error:
            raise InvalidInput(f"the batched sampler raises on dataset {side + 1}: {_quoted(error)}") from error
        result, number = _counted(result, n)
        if number != n:
            what = "one value" if number < 0 else f"{number} outputs"
            raise InvalidInput(
                f"the batched sampler returned {what} on dataset {side + 1} when asked for {n}: "
                "the first axis of what it returns must run over the samples"
            )
        return result

    def _calls(self, side: int, phase: int, chunk: int, n: int, beat: Beat) -> list[Any]:
        generator = np.random.default_rng([self.seed, self.run, phase, side, chunk])
        dataset, call = self.datasets[side], self._caller(generator, side, phase, chunk, n)
        before = None if self.drew else generator.bit_generator.state
        outputs: list[Any] = []
        for index in range(n):
            if beat.stop:
                break
            try:
                output = call(dataset, index)
            except Exception as error:
                self.raised[side] += 1
                self.error[side] = self.error[side] or error
                output = Raised(type(error).__name__)
            outputs.append(output)
            beat.calls += 1
        self.called[side] += len(outputs)
        self.drew = self.drew or generator.bit_generator.state != before
        return outputs

    def _caller(
        self, generator: np.random.Generator, side: int, phase: int, chunk: int, n: int
    ) -> Callable[[Any, int], Any]:
        if isinstance(self.mechanism, CallableMechanism):
            function = self.mechanism.function
            return lambda dataset, index: function(generator, dataset)
        import jax

        start = key_words(self.seed, self.run, phase, side, chunk)
        words = np.stack([np.full(n, start[0]), start[1] + np.arange(n, dtype=np.uint32)], axis=1)
        sample = self.mechanism.sample
        return lambda dataset, index: _numpy(
            sample(jax.random.wrap_key_data(words[index], impl="threefry2x32"), dataset)
        )

    def warnings(self) -> list[str]:
        """What a reader of the verdict should know of the calls so far.

        Raises:
            InvalidInput: every call on one of the datasets raised.
        """
        for side, error in enumerate(self.error):
            if error is not None and self.raised[side] == self.called[side]:
                hint = "; a sampler in JAX is an object with sample(key, dataset)" if "PRNG key" in str(error) else ""
                raise InvalidInput(
                    f"the sampler raises at every call on dataset {side + 1}: {_quoted(error)}{hint}"
                ) from error
        return [
            f"the sampler raised at {self.raised[side]} of {self.called[side]} calls on dataset {side + 1}, "
            f"which counts as an output: {_quoted(error)}"
            for side, error in enumerate(self.error)
            if error is not None
        ]


def _counted(result: Any, n: int) -> tuple[Any, int]:
    """The batch as a list or arrays, and how many samples it holds, -1 for none at all."""
    if isinstance(result, tuple | dict) and not (isinstance(result, tuple) and len(result) == n):
        leaves = list(result.values()) if isinstance(result, dict) else list(result)
        parts = [_counted(leaf, n) for leaf in leaves]
        numbers = {number for _, number in parts}
        if len(numbers) != 1 or not parts:
            return result, len(result)
        values = [part for part, _ in parts]
        whole = dict(zip(result, values, strict=True)) if isinstance(result, dict) else tuple(values)
        return whole, numbers.pop()
    if isinstance(result, list | tuple):
        return list(result), len(result)
    if hasattr(result, "__array__"):
        array = np.asarray(result)
        if array.ndim == 0:
            return array, -1
        return (array if array.dtype.kind in "biufc" else list(array)), len(array)
    return result, -1


def _numpy(output: Any) -> Any:
    """JAX arrays inside an output as NumPy ones, so that an error of a call shows at that call."""
    import jax

    return jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, output)


def written(outputs: Any) -> list[str]:
    """Outputs as texts, which are equal only where the outputs are."""
    from dpassay.auditors.outputs import _record  # the one definition of what an output is

    if isinstance(outputs, tuple | dict):
        import jax

        return [repr(leaf.tolist()) for leaf in jax.tree.leaves(outputs)]
    return [repr(sorted(_record(output).items())) for output in outputs]


def _quoted(error: BaseException) -> str:
    """An exception in one line, with the place that raised it."""
    text = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return (f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__) + place
