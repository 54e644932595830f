"""Odd input, drawn by Hypothesis: every case ends, in time, in a true verdict or in one clear line.

No case may end in a traceback, a hang, half a file, or an exit code that lies. The cases are those of the seed.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from dpassay.benchmarks.fuzz_targets import targets
from dpassay.benchmarks.fuzzing import BATCH, LINE, SECONDS, VERDICT, row
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.runs.kept import Kept

BATCHES = 100  # of each target
COLUMNS = ("target", "cases", VERDICT, LINE, "smallest case that fails", "failures")


def tables(
    quick: bool,
    seed: int,
    progress: Callable[[str], None] = lambda _: None,
    seeds: int | None = None,
    parts: Sequence[str] = (),
    resume: Path | None = None,
) -> list[Table]:
    """One row for each target; a failure is shown as the smallest case that fails, and ends the row in FAIL.

    Args:
        quick: one hundred cases of each target.
        seed: the same seed gives the same cases.
        progress: called with a short text before every hundred cases.
        seeds: hundreds of cases of each target, by default 100.
        parts: names of targets; all if empty.
        resume: the file that keeps every hundred cases; None keeps none.

    Raises:
        InvalidInput: an unknown part.
    """
    number = seeds or (1 if quick else BATCHES)
    rows, kept = [], Kept(resume, [], __name__)
    with targets() as known:
        if unknown := [part for part in parts if part not in known]:
            raise InvalidInput(f"there is no part {unknown[0]!r}; choose from {', '.join(known)}")
        chosen = [make for name, make in known.items() if name in parts or not parts]
        for place, make in enumerate(chosen):

            def begun(batch: int, name: str, place: int = place) -> None:
                progress(Step(f"{name}, case {batch * BATCH + 1:,}", (place + batch / number) / len(chosen)))

            target = make()
            rows.append(row(target, number * BATCH, seed, lambda batch: begun(batch, target.name), kept))  # noqa: B023
    title = f"Odd input, {number * BATCH:,} cases of each target from seed {seed}, {SECONDS:g} seconds for each case"
    return [Table(title, COLUMNS, rows)]
