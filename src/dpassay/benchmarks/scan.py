"""`dpassay scan` by its default settings: a corpus of broken functions of our own, each beside its mended twin; other
people's packages; and controls that keep their claims.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dpassay.benchmarks import scan_controls, scan_packages
from dpassay.benchmarks.parts import tables_of
from dpassay.benchmarks.scan_corpus import SPECIMENS, Specimen
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.scanning.running import DEFAULT_TIME_LIMIT, Scan, scan

MODULES = ("maps", "mechanisms", "formulas", "undeclared")
_QUICK = 15.0  # seconds
_LOOP = 0.5  # seconds of a processor


def tables(
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    parts: Sequence[str] = (),
    seeds: int | None = None,
    environments: Path | None = None,
) -> list[Table]:
    """The parts, in turn; other people's packages only where a folder of environments is given.

    Raises:
        InvalidInput: an unknown part, or no folder for the packages.
    """
    repeated = seeds or (scan_controls.QUICK if quick else scan_controls.SEEDS)
    known: dict[str, Callable[[], list[Table]]] = {
        "corpus": partial(corpus, quick, seed, progress),
        "packages": partial(_packages, environments, seed, progress),
        "controls": partial(scan_controls.controls, repeated, progress),
    }
    return tables_of(parts or [name for name in known if name != "packages" or environments is not None], known)


def _packages(environments: Path | None, seed: int, progress: Callable[[str], None]) -> list[Table]:
    if environments is None:
        raise InvalidInput("the part packages needs --environments FOLDER; what is missing there is installed by pip")
    return scan_packages.packages(environments.resolve(), seed, progress)


def corpus(quick: bool, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """Every broken function found, no twin accused, given nothing but the module."""
    limit = (_QUICK if quick else DEFAULT_TIME_LIMIT) * slowness()
    scans: dict[tuple[str, str], Scan] = {}
    seconds: dict[tuple[str, str], float] = {}
    for module in MODULES:
        for side in ("broken", "mended"):
            name = f"dpassay.benchmarks.scan_corpus.{side}.{module}"
            progress(Step(name, len(scans) / (2 * len(MODULES))))
            begin = _children()
            scans[side, module] = scan(name, time_limit=limit, seed=seed)
            seconds[side, module] = _children() - begin
    rows = [_row(specimen, scans) for specimen in SPECIMENS]
    columns = ["function", "what is wrong", "outcome", "found by", "CPU seconds", "its twin", "CPU seconds, twin", ""]
    found = sum(row[-1] == "ok" for row in rows)
    title = f"{found} of {len(rows)} broken functions found and their twins not accused, given nothing but the module"
    whole = Table(
        "Scans of the corpus's modules",
        ["module", "judged", "violated", "not judged", "CPU seconds, all"],
        [
            [".".join(key), len(done.judged), len(done.violated), len(done.not_judged), f"{seconds[key]:.0f}"]
            for key, done in scans.items()
        ],
    )
    return [Table(title, columns, rows), whole]


def slowness() -> float:
    """How much longer than alone work takes on this machine now: limits are times by the clock."""
    clock, own = time.monotonic(), time.process_time()
    while time.process_time() < own + _LOOP:
        pass
    return max(1.0, (time.monotonic() - clock) / _LOOP)


def _children() -> float:
    """Seconds of a processor that processes took which this one started and saw end."""
    times = os.times()
    return times.children_user + times.children_system


def of_specimen(specimen: Specimen, done: Scan) -> list[Mapping[str, Any]]:
    """What a scan judged of a specimen: one function may be several candidates, for several arguments."""
    return [each for each in done.judged if specimen.name in each["name"].partition("(")[0].split(".")]


def _row(specimen: Specimen, scans: Mapping[tuple[str, str], Scan]) -> list[Any]:
    broken, mended = (of_specimen(specimen, scans[side, specimen.module]) for side in ("broken", "mended"))
    worst = next((each for each in broken if each["outcome"] == "violated"), broken[0] if broken else None)
    twin = [each["outcome"] for each in mended]
    said = next(
        (outcome for outcome in ("violated", "depends on the reading", "not refuted") if outcome in twin), "holds"
    )
    good = worst is not None and worst["outcome"] == "violated" and twin and "violated" not in twin
    return [
        specimen.name,
        specimen.kind,
        worst["outcome"] if worst else "not judged",
        worst["engine"] if worst else "",
        f"{sum(each['seconds'] for each in broken):.1f}",
        said if twin else "not judged",
        f"{sum(each['seconds'] for each in mended):.1f}",
        "ok" if good else "FAIL",
    ]
