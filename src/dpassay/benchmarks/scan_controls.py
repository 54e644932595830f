"""What keeps its claim, judged again and again as `dpassay scan` does: hardly ever may it be accused."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from scipy.stats import binom

from dpassay.core.records import Table
from dpassay.scanning.candidates import Candidate
from dpassay.scanning.judging import Judged, judge
from dpassay.scanning.libraries import candidates
from dpassay.scanning.running import DEFAULT_FAILURE_PROBABILITY
from dpassay.scanning.schedule import LEAST
from dpassay.scanning.signatures import candidates as by_signature

SEEDS, QUICK = 100, 3
_IMPROBABLE = 0.01  # so many accusations, at the rate that is promised
_OPENDP = tuple(f"opendp.measurements.make_{each}" for each in ("laplace(", "gaussian(", "randomized_response"))
_LOCAL = ("randomized_response(", "response_of_two_for_ten")


def controls(seeds: int, progress: Callable[[str], None]) -> list[Table]:
    """How often each control was accused, in so many runs of different seeds.

    A row fails where that is more than the failure probability explains, or where a run judged nothing.
    OpenDP draws from the system: its runs differ by that, not by the seed.
    """
    rows: list[list[Any]] = []
    chosen = list(listed())  # one seed of all is one scan
    share = DEFAULT_FAILURE_PROBABILITY / max(1, sum(each.kind == "mechanism" for each in chosen))
    for candidate in chosen:
        progress(candidate.name)
        outcomes = [judge(candidate, share, LEAST, seed) for seed in range(seeds)]
        judged = [each.outcome for each in outcomes if isinstance(each, Judged)]
        accused = sum(outcome in ("violated", "depends on the reading") for outcome in judged)
        engines = sorted({each.engine for each in outcomes if isinstance(each, Judged)})
        promised = share if candidate.kind == "mechanism" else 0.0  # the others are judged without samples
        good = len(judged) == seeds and binom.sf(accused - 1, seeds, promised) >= _IMPROBABLE
        rows.append([candidate.name, ", ".join(engines), len(judged), accused, "ok" if good else "FAIL"])
    title = f"Controls that keep their claims, {seeds} seeds each: {sum(row[3] for row in rows)} accused"
    return [Table(title, ["control", "judged by", "runs judged", "accused", ""], rows)]


def listed() -> Iterator[Candidate]:
    """OpenDP's noise, dp-accounting's PLD accountant, and the corpus's randomized responses."""
    mended = [
        *by_signature(import_module("dpassay.benchmarks.scan_corpus.mended.undeclared")),
        *by_signature(import_module("dpassay.benchmarks.scan_corpus.mended.mechanisms")),
    ]
    for each in (*candidates("opendp"), *candidates("dp_accounting"), *mended):
        if isinstance(each, Candidate) and (
            each.name.startswith(_OPENDP)
            or each.name.startswith("dp_accounting.pld.PLDAccountant")
            or (each in mended and any(name in each.name for name in _LOCAL))
        ):
            yield each
