"""Whether audits catch what they say they would have caught: leaks planted in a mechanism that keeps its claim.

An audit of Laplace noise, or of words, at the exact boundary of its claim says which probability of a leak, or which
loss, it would have caught. The same mechanism with a leak of that very probability, at a random place, far or near and
with a random gap between the datasets, or of another kind, is then audited with other seeds. A row whose leaks are
caught less often than promised, beyond chance, is marked FAIL.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpassay.benchmarks.calibration import exceeds
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.core.text import rounded
from dpassay.runs.parallel import processors, results_in_parallel

CLAIM, FAILURE_PROBABILITY = 1.0, 0.05
TIME_LIMIT = 3600.0  # makes a run anytime-valid; its samples end first
BLOCK = 10
WORDS = ("red", "green", "blue")
COLUMNS = ("leak", "test", "samples", "stated, median", "audits", "caught", "rate", "promised", "verdict")


@dataclass(frozen=True)
class Cell:
    """Audits of one kind.

    Attributes:
        leak: "far" value, "NaN", "word" that is never said otherwise, or "loss" of all outputs.
        mode: "fixed" or "anytime".
        samples: of each dataset.
        units: audits.
    """

    leak: Literal["far", "NaN", "word", "loss"]
    mode: Literal["fixed", "anytime"]
    samples: int
    units: int


def cells(quick: bool) -> list[Cell]:
    """1,000 audits, or a few."""
    chosen = []
    for mode in ("fixed", "anytime"):
        if quick:
            chosen += [Cell("far", mode, 3000, 2), Cell("loss", mode, 3000, 2)]
            continue
        for leak, samples, units in (
            ("far", 8000, 200), ("far", 100_000, 50), ("NaN", 3000, 100), ("word", 3000, 50), ("loss", 8000, 100)
        ):  # fmt: skip
            chosen.append(Cell(leak, mode, samples, units))  # type: ignore[arg-type]
    return chosen


def tables(quick: bool, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """One table: every kind of leak in both modes, and all of them together."""
    every = cells(quick)
    tasks = [
        (cell, seed, first, min(BLOCK, cell.units - first)) for cell in every for first in range(0, cell.units, BLOCK)
    ]
    found: dict[Cell, list[tuple[float, bool]]] = {cell: [] for cell in every}
    for place, results in results_in_parallel(measure, tasks, 1 if quick else processors()):
        cell = tasks[place][0]
        found[cell] += results
        said = f"{cell.leak}, {cell.mode}, {cell.samples:,} samples: {len(found[cell])} of {cell.units}"
        progress(Step(said, sum(map(len, found.values())) / sum(each.units for each in every)))
    rows = [_row(cell.leak, cell.mode, cell.samples, found[cell]) for cell in every]
    rows.append(_row("together", "", "", [result for results in found.values() for result in results]))
    title = (
        f"Leaks of the probability, or the loss, that an audit says it would have caught, planted; claim {CLAIM:g}, "
        f"failure probability {FAILURE_PROBABILITY:g}"
    )
    return [Table(title, list(COLUMNS), rows), _late(quick, seed, progress)]


@dataclass(frozen=True)
class Mark:
    """Laplace noise on 0 or 1, drawn one by one in a compiled program, that is d + 1000 with a small probability."""

    probability: float

    def sample(self, key: Any, dataset: Any) -> Any:
        """One number."""
        import jax
        import jax.numpy as jnp

        leak, noise = jax.random.split(key)
        marked = jax.random.uniform(leak) < self.probability
        return jnp.where(marked, dataset + 1000.0, dataset + jax.random.laplace(noise))


def _late(quick: bool, seed: int, progress: Callable[[str], None]) -> Table:
    """Leaks that show first when samples of a compiled sampler are only counted."""
    from dpassay.auditors.audit import run_audit

    rows = []
    for probability, samples, runs in ((1e-3, 100_000, 1),) if quick else ((1e-4, 2_000_000, 5), (1e-5, 10_000_000, 5)):
        progress(f"leaks of probability {probability:g} in {samples:,} samples of a compiled sampler")
        caught, taken = 0, []
        for run in range(runs):
            audit = run_audit(
                Mark(probability),
                0.0,
                1.0,
                claim=PrivacyClaim(CLAIM),
                failure_probability=FAILURE_PROBABILITY,
                num_samples=samples,
                time_limit=TIME_LIMIT,
                seed=seed + run,
            )
            caught += audit.verdict.outcome == "refuted"
            taken.append(audit.samples["total"])
        rows.append(
            [f"{probability:g}", samples, runs, caught, int(np.median(taken)), "pass" if caught == runs else "FAIL"]
        )
    columns = ["probability of d + 1000", "samples at most", "audits", "caught", "samples taken, median", "verdict"]
    return Table("A compiled sampler, betting: leaks first seen when samples are only counted", columns, rows)


def measure(cell: Cell, seed: int, first: int, units: int) -> list[tuple[float, bool]]:
    """What was stated, and whether that leak was then caught, of some audits of a cell."""
    return [_unit(cell, seed, number) for number in range(first, first + units)]


def mechanism(leak: str, size: float, rng: np.random.Generator) -> Callable[[Any, int, int], Any]:
    """A batched sampler on datasets 0 and 1 that keeps the claim but for a leak of that probability, or of that loss.

    `rng` draws where the leak is.
    """
    place, gap = rng.choice([-1, 1]) * 10 ** rng.uniform(1.5, 9), 10 ** rng.uniform(-1, 3)

    def numbers(generator: Any, dataset: int, num_samples: int) -> np.ndarray:
        scale = size if leak == "loss" else CLAIM
        outputs = dataset * scale + generator.laplace(size=num_samples)
        if leak != "loss":
            value = place + gap * dataset if leak == "far" else math.nan if dataset else 0.0
            outputs[generator.random(num_samples) < size] = value
        return np.asarray(outputs)

    def words(generator: Any, dataset: int, num_samples: int) -> list[str]:
        said = generator.integers(len(WORDS), size=num_samples).tolist()
        leaks = generator.random(num_samples) < size
        return [f"secret {dataset}" if leaked else WORDS[word] for leaked, word in zip(leaks, said, strict=True)]

    return words if leak == "word" else numbers


def _unit(cell: Cell, seed: int, number: int) -> tuple[float, bool]:
    entropy = np.random.SeedSequence([seed, zlib.crc32(repr(cell).encode()), number])
    rng, seeds = np.random.default_rng(entropy), entropy.generate_state(2)
    sound = CLAIM if cell.leak == "loss" else 0.0
    before = _audit(cell, mechanism(cell.leak, sound, rng), int(seeds[0]))
    stated = before.detectable["smallest_epsilon" if cell.leak == "loss" else "rarest_event"]
    if stated is None or before.verdict.outcome == "refuted":
        return math.nan, True
    after = _audit(cell, mechanism(cell.leak, stated, rng), int(seeds[1]))
    return stated, after.verdict.outcome == "refuted"


def _audit(cell: Cell, function: Callable[..., Any], seed: int) -> Any:
    from dpassay.auditors.audit import run_audit
    from dpassay.core.protocol import from_callable

    return run_audit(
        from_callable(function, batched=True),
        0,
        1,
        claim=PrivacyClaim(CLAIM),
        failure_probability=FAILURE_PROBABILITY,
        num_samples=cell.samples,
        time_limit=TIME_LIMIT if cell.mode == "anytime" else None,
        seed=seed,
    )


def _row(leak: str, mode: str, samples: Any, results: Sequence[tuple[float, bool]]) -> list[Any]:
    from dpassay.auditors.detectable import POWER

    stated = [(size, caught) for size, caught in results if not math.isnan(size)]
    if not stated:
        return [leak, mode, samples, "nothing", 0, "", "", POWER, "pass"]
    caught, units = sum(caught for _, caught in stated), len(stated)
    middle = f"{np.median([size for size, _ in stated]):.2g}" if samples else ""
    verdict = "FAIL" if exceeds(units - caught, units, 1 - POWER) else "pass"
    return [leak, mode, samples, middle, units, caught, rounded(caught / units), POWER, verdict]
