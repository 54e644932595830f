"""How often audits accuse mechanisms that keep their claim exactly, and how often they catch slightly broken ones.

A rate above what is promised fails the run: a row is marked FAIL when the Clopper-Pearson lower bound of its rate
exceeds the promise. A test that never refutes anything would pass, so the same tables show mechanisms whose claim is
too small by a factor, and faults put into the auditor itself (`dpassay.benchmarks.auditor_faults`), which must all be
caught. What the fixed-sample tests err at most is summed exactly by `dpassay bench power`.
"""

import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np

from dpassay.benchmarks.calibration_cases import CASES, Case
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.core.text import rounded
from dpassay.runs.kept import Kept, cache_folder
from dpassay.runs.parallel import processors, results_in_parallel

PROMISE = 0.1
"""Failure probability of every audit: as large as is used, since a small one hides errors."""
CONFIDENCE = 0.9999
"""Of the bounds behind a verdict; so high that no sound row fails by chance."""
RUNS, TESTS = 20, 20  # of one ledger, of one suite
CAUGHT = 0.5  # of broken mechanisms, at least
SEARCH_SECONDS = 0.6
TIME_LIMIT = 3600.0  # makes a run anytime-valid; its samples end first

_BOUND = f"at least ({CONFIDENCE:.2%})"
SOUND_COLUMNS = (
    "mechanism", "outputs", "claim", "test", "samples", "audits", "refuted", "bound above the truth", "stopped", "rate",
    _BOUND, "promised", "verdict",
)  # fmt: skip
FAULT_COLUMNS = (
    "fault", "mechanism", "test", "audits", "false alarms", "stopped by a check", _BOUND, "promised",
    "false alarms without the fault", "verdict",
)  # fmt: skip

Mode = Literal["fixed", "anytime", "looks", "ledger", "suite", "search"]


@dataclass(frozen=True)
class Cell:
    """Audits of one kind; one unit is an audit, or a ledger or a suite of them, or a search.

    Attributes:
        case: a key of `CASES`.
        mode: how it is tested; "looks" is anytime-valid with batches as small as a slow sampler gets, whatever the
            clock says; a suite tests many cases in turn.
        samples: per dataset and audit.
        units: how many.
        factor: the claim is the true parameter divided by it; 1 is the boundary.
        fault: a key of `dpassay.benchmarks.auditor_faults.FAULTS` to put into the auditor.
        control: whether only the fault's setting is put in, not the fault.
    """

    case: str
    mode: Mode
    samples: int
    units: int
    factor: float = 1.0
    fault: str | None = None
    control: bool = False

    @property
    def block(self) -> int:
        """Units that one process runs at a time, and that a killed run loses."""
        return {"fixed": 20, "anytime": 10, "looks": 10, "ledger": 1, "suite": 2, "search": 4}[self.mode]


@dataclass(frozen=True)
class Tally:
    """What came of a number of units.

    Attributes:
        units: how many.
        refuted: units in which a claim was refuted.
        above: units in which a lower bound exceeded the true parameter.
        wrong: units with either.
        stopped: units that ended with an error instead of a verdict.
        errors: the first such error.
    """

    units: int = 0
    refuted: int = 0
    above: int = 0
    wrong: int = 0
    stopped: int = 0
    errors: str = ""

    def __add__(self, other: "Tally") -> "Tally":
        numbers = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return Tally(**numbers, errors=self.errors or other.errors)


_COUNTS = ("units", "refuted", "above", "wrong", "stopped")


def tables(quick: bool, seed: int, progress: Callable[[str], None], resume: Path | None = None) -> list[Table]:
    """Tables {"title", "columns", "rows"}: correct mechanisms, broken ones, faults in the auditor.

    Args:
        quick: few audits, in this process.
        seed: of every audit.
        progress: called with a short text as cells advance.
        resume: file of the finished blocks; by default in the user's cache folder.

    Raises:
        InvalidInput: a process died.
    """
    from dpassay.benchmarks.auditor_faults import FAULTS

    sound, broken = _sound(quick), _broken(quick)
    faults = [
        Cell(fault.case, fault.mode, fault.samples, 10 if quick else fault.units, fault=name, control=control)
        for name, fault in FAULTS.items()
        if not (quick and fault.slow)
        for control in (False, True)
    ]
    cells = [*sound, *broken, *faults]
    path = resume or cache_folder() / "bench-calibration.jsonl"
    found = dict(zip(cells, _run(cells, seed, 1 if quick else processors(), path, progress), strict=True))
    return [
        Table(
            f"Correct mechanisms at the exact boundary: false alarms at failure probability {PROMISE:g} "
            "(what each fixed-sample test errs at most is summed exactly by `dpassay bench power`)",
            list(SOUND_COLUMNS),
            [*(_sound_row(cell, found[cell]) for cell in sound), *_totals(sound, found)],
        ),
        Table(
            f"Claims too small by a factor: how often they are refuted, at least {CAUGHT:g} asked for",
            ["mechanism", "factor", "test", "samples", "audits", "refuted", "rate", "verdict"],
            [_broken_row(cell, found[cell]) for cell in broken],
        ),
        Table(
            "Faults put into the auditor: false alarms on correct mechanisms, which must show",
            list(FAULT_COLUMNS),
            [
                _fault_row(cell, found[cell], found[control])
                for cell, control in zip(faults[::2], faults[1::2], strict=True)
            ],
        ),
    ]


def measure(cell: Cell, seed: int, first: int = 0, units: int | None = None) -> Tally:
    """Runs units `first` to `first + units` of a cell; what unit i does depends on the cell, the seed and i alone.

    Args:
        cell: what to run.
        seed: of everything.
        first: number of the first unit.
        units: how many; None for all of the cell's.
    """
    from dpassay.benchmarks.auditor_faults import FAULTS

    total = Tally()
    with ExitStack() as patches:
        if cell.fault is not None:
            fault = FAULTS[cell.fault]
            for inject in [*fault.setting, *([] if cell.control else fault.patches)]:
                patches.enter_context(inject())
        for number in range(first, first + (cell.units if units is None else units)):
            named = f"{cell.case} {cell.mode} {cell.samples} {cell.factor} {cell.fault}"
            entropy = np.random.SeedSequence([seed, zlib.crc32(named.encode()), number])
            try:
                refuted, above = _UNITS[cell.mode](cell, int(entropy.generate_state(1)[0]))
                total += Tally(1, refuted, above, refuted * (cell.factor == 1) or above)
            except InvalidInput as error:
                total += Tally(1, stopped=1, errors=str(error))
    return total


def exceeds(wrong: int, units: int, promise: float, confidence: float = CONFIDENCE) -> bool:
    """Whether the Clopper-Pearson lower bound of a rate lies above what was promised."""
    return _lower(wrong, units, confidence) > promise


# --- one unit: (whether something was refuted, whether a bound exceeds the truth) -------------------------------------


def _audit(cell: Cell, seed: int) -> tuple[bool, bool]:
    return _one(CASES[cell.case], cell, seed, PROMISE)


def _looks(cell: Cell, seed: int) -> tuple[bool, bool]:
    from dpassay.auditors import anytime

    with mock.patch.object(anytime, "_seconds_per_sample", return_value=1.0):
        return _audit(cell, seed)


def _ledger(cell: Cell, seed: int) -> tuple[bool, bool]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        runs = [_one(CASES[cell.case], cell, seed, PROMISE, ledger=path) for _ in range(RUNS)]
    return any(refuted for refuted, _ in runs), any(above for _, above in runs)


def _suite(cell: Cell, seed: int) -> tuple[bool, bool]:
    cases = [case for case in CASES.values() if case.slow == 1 and case.batched]
    tests = [_one(cases[test % len(cases)], cell, seed + test, PROMISE / TESTS) for test in range(TESTS)]
    return any(refuted for refuted, _ in tests), any(above for _, above in tests)


def _search(cell: Cell, seed: int) -> tuple[bool, bool]:
    from dpassay.auditors.neighbor_search import search_black_box
    from dpassay.core.protocol import from_callable

    case = CASES[cell.case]
    witness = search_black_box(
        from_callable(
            lambda rng, vector, num_samples: case.function(rng, float(vector.sum()), num_samples), batched=True
        ),
        "vector:one",
        claim=case.claimed(cell.factor),
        num_items=2,
        failure_probability=PROMISE,
        time_limit=SEARCH_SECONDS,
        seed=seed,
    )
    above = witness is not None and witness.log_probability1 - witness.log_probability2 > case.claim.parameter
    return witness is not None, above


_UNITS: dict[str, Callable[[Cell, int], tuple[bool, bool]]] = {
    "fixed": _audit,
    "anytime": _audit,
    "looks": _looks,
    "ledger": _ledger,
    "suite": _suite,
    "search": _search,
}


def _one(
    case: Case, cell: Cell, seed: int, failure_probability: float, ledger: Path | None = None
) -> tuple[bool, bool]:
    from dpassay.auditors.audit import run_audit
    from dpassay.core.protocol import from_callable

    truth = case.claim.parameter
    mechanism = (
        case.function if hasattr(case.function, "sample") else from_callable(case.function, batched=case.batched)
    )
    audit = run_audit(
        mechanism,
        *case.pairs[0],
        more_pairs=case.pairs[1:],
        claim=case.claimed(cell.factor),
        failure_probability=failure_probability,
        num_samples=cell.samples,
        time_limit=TIME_LIMIT if cell.mode in ("anytime", "looks") else None,
        ledger=ledger,
        seed=seed,
    )
    assert audit.parameter_lower is not None
    return audit.verdict.outcome == "refuted", audit.parameter_lower > truth


# --- which cells ------------------------------------------------------------------------------------------------------


def _sound(quick: bool) -> list[Cell]:
    cells = []
    for number, (name, case) in enumerate(CASES.items()):
        if quick and (case.slow > 10 or number % 2):
            continue
        cells.append(Cell(name, "fixed", 400, 8 if quick else 200 // case.slow))
        cells.append(Cell(name, "anytime", 300, 2 if quick else 120 // case.slow))
        cells.append(Cell(name, "looks", 300, 1 if quick else 60 // case.slow))
    if quick:
        cells += [Cell("Laplace", "suite", 400, 1), Cell("Laplace", "search", 0, 2)]
        return [*cells, Cell("randomized response", "ledger", 64, 1), Cell("Laplace", "fixed", 400, 8, factor=2.0)]
    for name in ("Laplace", "Laplace in one of 8 columns", "leaking response"):
        cells.append(Cell(name, "fixed", 6000, 40))  # events learned and chosen on separate samples
        cells.append(Cell(name, "anytime", 4000, 20))
    for name in ("Laplace in one of 8 columns", "3 columns that share the loss"):
        cells.append(Cell(name, "fixed", 60_000, 40))  # all learners, and events or rules chosen by cross-fitting
    cells.append(Cell("truncated geometric", "fixed", 6000, 200))
    for name in ("Laplace", "clipped Laplace", "leaking response", "response in words"):
        cells += [Cell(name, mode, 400, 60, factor=2.0) for mode in ("fixed", "looks")]
    cells += [Cell("Laplace", "suite", 400, 40), Cell("Laplace", "search", 0, 100)]
    return [*cells, *(Cell(name, "ledger", 64, 20) for name in ("randomized response", "clipped Laplace"))]


def _broken(quick: bool) -> list[Cell]:
    modes: tuple[Mode, ...] = ("fixed", "anytime")
    if quick:
        return [Cell("randomized response", mode, 2000, 4, factor=1.5) for mode in modes]
    samples = {
        "Laplace": 3000,
        "Gaussian": 30_000,
        "randomized response": 2000,
        "truncated geometric": 3000,
        "clipped Laplace": 3000,
        "Laplace in one of 8 columns": 20_000,
        "report noisy max": 10_000,
        "leaking response": 3000,
        "response in NaN and infinity": 2000,
        "Gaussian, a curve": 10_000,
    }
    cells = [Cell(name, mode, number, 20, factor=1.3) for name, number in samples.items() for mode in modes]
    return [*cells, Cell("Laplace", "search", 0, 10, factor=2.0)]


# --- rows ------------------------------------------------------------------------------------------------------------


def _sound_row(cell: Cell, tally: Tally) -> list[Any]:
    case = CASES[cell.case]
    claim = case.claimed(cell.factor)
    failed = exceeds(tally.wrong, tally.units, PROMISE) or tally.stopped
    return [
        "all of one law in turn" if cell.mode == "suite" else cell.case,
        "all" if cell.mode == "suite" else case.outputs,
        "each its own" if cell.mode == "suite" else str(claim) + ("" if cell.factor == 1 else ", below the truth"),
        _described(cell),
        cell.samples or "",
        tally.units,
        tally.refuted if cell.factor == 1 else "",
        tally.above,
        tally.stopped,
        rounded(tally.wrong / tally.units),
        rounded(_lower(tally.wrong, tally.units)),
        PROMISE,
        "FAIL" if failed else "pass",
    ]


def _totals(cells: Sequence[Cell], found: dict[Cell, Tally]) -> Iterator[list[Any]]:
    for mode in ("fixed", "anytime", "looks", None):
        chosen = [cell for cell in cells if mode in (None, cell.mode)]
        if not chosen:
            continue
        total = sum((found[cell] for cell in chosen), Tally())
        refuted = sum(found[cell].refuted for cell in chosen if cell.factor == 1)
        failed = exceeds(total.wrong, total.units, PROMISE) or total.stopped
        test = "every test" if mode is None else _described(Cell("", mode, 0, 0))
        numbers = ["", total.units, refuted, total.above, total.stopped, rounded(total.wrong / total.units)]
        lower = rounded(_lower(total.wrong, total.units))
        yield ["together", "", "", test, *numbers, lower, PROMISE, "FAIL" if failed else "pass"]


def _broken_row(cell: Cell, tally: Tally) -> list[Any]:
    deaf = exceeds(tally.units - tally.refuted, tally.units, 1 - CAUGHT)
    rate = rounded(tally.refuted / tally.units)
    numbers = [cell.samples or "", tally.units, tally.refuted, rate]
    return [cell.case, cell.factor, _described(cell), *numbers, "FAIL" if deaf else "pass"]


def _fault_row(cell: Cell, tally: Tally, control: Tally) -> list[Any]:
    shown = exceeds(tally.wrong, tally.units, PROMISE) or tally.stopped == tally.units
    clean = not exceeds(control.wrong, control.units, PROMISE) and not control.stopped
    numbers = [tally.units, tally.wrong, tally.stopped, rounded(_lower(tally.wrong, tally.units)), PROMISE]
    return [cell.fault, cell.case, _described(cell), *numbers, control.wrong, "caught" if shown and clean else "FAIL"]


def _described(cell: Cell) -> str:
    return {
        "fixed": "fixed-sample",
        "anytime": "anytime-valid",
        "looks": "anytime-valid, many looks",
        "ledger": f"{RUNS} runs of one ledger",
        "suite": f"{TESTS} fixed-sample tests, one rate",
        "search": "pair search",
    }[cell.mode]


def _lower(wrong: int, units: int, confidence: float = CONFIDENCE) -> float:
    from scipy import special

    return float(special.betaincinv(wrong, units - wrong + 1, 1 - confidence)) if wrong else 0.0


# --- running ---------------------------------------------------------------------------------------------------------


def _run(
    cells: Sequence[Cell], seed: int, jobs: int | Executor, path: Path, progress: Callable[[str], None]
) -> list[Tally]:
    """The tally of every cell; finished blocks are appended to the file, and found there again."""
    kept = Kept(path, [], __name__)
    totals = {cell: Tally() for cell in cells}
    missing: list[tuple[Cell, int, int]] = []
    for cell in cells:
        for first in range(0, cell.units, cell.block):
            units = min(cell.block, cell.units - first)
            found = kept.find(_settings(cell, seed, first, units))
            if found is None:
                missing.append((cell, first, units))
            else:
                totals[cell] += Tally(**found["tally"])
    missing.sort(key=lambda item: item[1] / item[0].units)  # all cells advance alike: a killed run tells of each
    tasks = [(cell, seed, first, units) for cell, first, units in missing]
    for done, (place, tally) in enumerate(results_in_parallel(measure, tasks, jobs), 1):
        cell = missing[place][0]
        totals[cell] += tally
        kept.keep(_settings(*tasks[place]), {"tally": asdict(tally)})
        if done % max(1, len(missing) // 200) == 0:
            wrong = f", {tally.wrong} wrong" if tally.wrong else ""
            said = f"{done} of {len(missing)}: {cell.fault or cell.case}, {_described(cell)}: {tally.units} more{wrong}"
            progress(Step(said, done / len(missing)))
    return [totals[cell] for cell in cells]


def _settings(cell: Cell, seed: int, first: int, units: int) -> dict[str, Any]:
    return {"cell": asdict(cell), "seed": seed, "first": first, "units": units}
