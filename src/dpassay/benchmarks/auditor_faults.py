"""Faults that auditors have had, put into ours for a moment: calibration that does not see them is worth nothing.

Each replaces one small part of the pipeline. Either audits of a correct mechanism are then refuted more often than
promised, or the auditor's own checks stop them. Where a fault needs a special setting, such as a learner that
overfits, the setting alone must leave the audits sound: what is caught is the fault.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from unittest import mock

import numpy as np

from dpassay.auditors import audit, calling, one_shot
from dpassay.auditors.betting import EProcess
from dpassay.auditors.calling import Caller
from dpassay.auditors.events import Learned
from dpassay.auditors.rare_events import taken
from dpassay.auditors.sampling import PHASES, Sampler

Patch = Callable[[], AbstractContextManager[Any]]

TRAINING, SELECTION, TEST = range(len(PHASES))
EVENTS = 20


@dataclass(frozen=True)
class Fault:
    """A fault and the audits that show it.

    Attributes:
        patches: context managers that put it in.
        case: the correct mechanism audited, a key of `calibration_cases.CASES`.
        setting: context managers that are no fault.
        slow: left out of quick runs.
    """

    patches: tuple[Patch, ...]
    case: str
    mode: Literal["fixed", "anytime", "looks", "ledger"]
    samples: int
    units: int = 20
    setting: tuple[Patch, ...] = ()
    slow: bool = False


class _Neighbor:
    """An order of outputs that remembers every training output: above 0 next to those of dataset 1."""

    name = "nearest training output"

    def __init__(self, sides: Sequence[np.ndarray]) -> None:
        from scipy.spatial import cKDTree

        self.trees = [cKDTree(side) for side in sides]

    def __call__(self, features: Any) -> np.ndarray:
        near = [tree.query(np.asarray(features))[0] for tree in self.trees]
        return np.asarray(near[1] - near[0], np.float32)

    def describe(self, cut: float, above: bool, names: Sequence[str]) -> str:
        return f"{self.name} {'>=' if above else '<'} {cut:g}"


def _overfitting() -> AbstractContextManager[Any]:
    def learn(features1: np.ndarray, features2: np.ndarray, *_: Any, **__: Any) -> Learned:
        return Learned((_Neighbor((features1, features2)),))

    return mock.patch.object(one_shot, "learn", learn)


@contextmanager
def _training_rows_tested() -> Iterator[None]:
    """The test reads the first training samples again, over and over."""
    original = Sampler.outputs

    def outputs(self: Any, side: int, phase: str, n: int) -> tuple[Any, np.ndarray]:
        seen = self.__dict__.setdefault("seen_in_training", {})
        if phase == "test":
            rows, encoded = seen[side]
            places = np.arange(n) % len(encoded)
            return taken(rows, places), encoded[places]
        return cast(tuple[Any, np.ndarray], seen.setdefault(side, original(self, side, phase, n)))

    def counts(self: Any, side: int, phase: str, n: int, events: Sequence[Any]) -> np.ndarray:
        rows = self.encoder.filled(outputs(self, side, phase, n)[1])
        return np.array([np.count_nonzero(np.asarray(event.contains(rows))) for event in events])

    with mock.patch.object(Sampler, "outputs", outputs), mock.patch.object(Sampler, "counts", counts):
        yield


def _separate_selection() -> AbstractContextManager[Any]:
    """Events are chosen on samples of their own however few there are."""
    return mock.patch.object(one_shot, "SMALL", 0)


def _streams(stream: Callable[[int, int, int], tuple[int, int, int]]) -> Patch:
    """Other random streams than those of (phase, side, chunk)."""

    def batch(self: Caller, side: int, phase: int, chunk: int, n: int) -> np.ndarray:
        generator = np.random.default_rng([self.seed, self.run, *stream(phase, side, chunk)])
        return np.asarray(self.mechanism.function(generator, self.datasets[side], n))

    return lambda: mock.patch.object(Caller, "_batch", batch)


def _short_chunks() -> AbstractContextManager[Any]:
    return mock.patch.object(calling, "_BATCH", 40)


def _nan_dropped() -> AbstractContextManager[Any]:
    """Training keeps NaN as an output, the test draws again until it gets a number."""
    original = Caller._batch

    def batch(self: Caller, side: int, phase: int, chunk: int, n: int) -> np.ndarray:
        if phase != TEST:
            return np.asarray(original(self, side, phase, chunk, n))
        outputs = np.asarray(original(self, side, phase, chunk, 4 * n + 200))
        return outputs[~np.isnan(outputs)][:n]

    return mock.patch.object(Caller, "_batch", batch)


def _peeking() -> AbstractContextManager[Any]:
    """Bets on a batch are placed after its counts were seen, and believe them."""
    original = EProcess.update

    def update(self: Any, *batch: Any) -> None:
        seen = self._seen
        self._seen = tuple(100.0 * np.asarray(value) for value in batch)
        original(self, *batch)
        self._seen = tuple(old + new for old, new in zip(seen, batch, strict=True))

    return mock.patch.object(EProcess, "update", update)


def _many_tests() -> AbstractContextManager[Any]:
    """Twenty events, each tested at the whole failure probability."""
    original = one_shot.run_one_shot

    def run(samplers: Sequence[Sampler], claim: Any, *, failure_probability: float, **options: Any) -> Any:
        one = original([*samplers] * EVENTS, claim, failure_probability=EVENTS * failure_probability, **options)
        return replace(one, tested=tuple(replace(item, pair=0) for item in one.tested))

    return mock.patch.object(one_shot, "run_one_shot", run)


def _p_values_only() -> AbstractContextManager[Any]:
    """Bounds that say no more than whether the claim is refuted: twenty tests take their time."""

    def lower(claim: Any, item: Any, share: float) -> float:
        return float(claim.parameter) + 1.0 if one_shot.value_of(item, share) <= share else 0.0

    return mock.patch.object(one_shot, "_parameter_lower", lower)


def _one_stream_for_all_runs() -> AbstractContextManager[Any]:
    """Every run of a ledger draws the same samples."""
    original = audit._samplers

    def samplers(mechanism: Any, pairs: Any, seed: int, run: int, *more: Any) -> list[Sampler]:
        return original(mechanism, pairs, seed, 0, *more)

    return mock.patch.object(audit, "_samplers", samplers)


FAULTS = {
    "training rows scored as test rows": Fault(
        (_training_rows_tested,), "Laplace", "fixed", 400, setting=(_overfitting,)
    ),
    "training rows bet on": Fault((_training_rows_tested,), "one law for all", "looks", 300, slow=True),
    "test samples that chose the event": Fault(
        (_streams(lambda phase, side, chunk: (min(phase, SELECTION), side, chunk)),),
        "Laplace",
        "fixed",
        400,
        setting=(_separate_selection,),
    ),
    "both datasets on one stream": Fault(
        (_streams(lambda phase, side, chunk: (phase, 0, chunk)),), "one law for all", "fixed", 400
    ),
    "one chunk of samples again and again": Fault(
        (_streams(lambda phase, side, chunk: (phase, side, 0)),), "Laplace", "fixed", 400, setting=(_short_chunks,)
    ),
    "one batch of integers again and again": Fault(
        (_streams(lambda phase, side, chunk: (phase, side, 0)),), "truncated geometric", "looks", 600
    ),
    "NaN dropped from the test only": Fault((_nan_dropped,), "NaN and 1 together", "fixed", 3900),
    "bets placed after the batch": Fault((_peeking,), "Laplace", "looks", 400),
    "20 events at the full probability each": Fault(
        (_many_tests,), "one law for all", "fixed", 400, setting=(_p_values_only,), slow=True
    ),
    "runs of a ledger on one stream": Fault(
        (_one_stream_for_all_runs,), "randomized response", "ledger", 64, units=40, slow=True
    ),
}
"""By name; what each does to the audits of a correct mechanism must not go unseen."""
