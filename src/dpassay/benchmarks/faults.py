"""Processes killed at random moments, full disks, files of other versions: `dpassay bench faults`."""

from collections.abc import Callable, Sequence
from functools import partial

from dpassay.benchmarks.accidents import accidents
from dpassay.benchmarks.kills import kills
from dpassay.benchmarks.parts import tables_of
from dpassay.benchmarks.suite import suite
from dpassay.core.records import Table


def tables(
    quick: bool = False, seed: int = 0, progress: Callable[[str], None] = lambda _: None, parts: Sequence[str] = ()
) -> list[Table]:
    """The parts, in turn.

    Raises:
        InvalidInput: an unknown part.
    """
    known: dict[str, Callable[[], list[Table]]] = {
        "kills": partial(kills, quick, seed, progress),
        "accidents": partial(accidents, progress),
        "suite": partial(suite, quick, seed, progress),
    }
    return tables_of(parts, known)
