"""Violating pairs found in the datasets of a strategy: what share of broken mechanisms, and how often of sound ones.

Each broken mechanism is searched once, its pair not told, and the pair found is shrunk; each sound one again and again
with other seeds, where every witness is a false accusation. Finished searches are kept, so that an interrupted
benchmark goes on where it stopped.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpassay.benchmarks.pair_mechanisms import BROKEN, CASES, SOUND, Case
from dpassay.benchmarks.parts import refuse_unknown
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.core.text import shortened
from dpassay.runs.kept import Kept, cache_folder

PARTS = ("broken", "sound")
FAILURE_PROBABILITY = 0.05
SECONDS = 60.0  # of the search of a broken mechanism
SOUND_SECONDS = 3.0
SEARCHES = 20  # of each sound mechanism
QUICK = 3  # mechanisms of each kind
SHOWN = 150  # characters of a pair


def tables(
    quick: bool,
    seed: int,
    progress: Callable[[str], None] = lambda _: None,
    resume: Path | None = None,
    seeds: int | None = None,
    parts: Sequence[str] = (),
) -> list[Table]:
    """The tables of `dpassay bench pairs`; a row of a mechanism that was falsely accused too often ends in FAIL.

    Args:
        quick: few mechanisms, short searches.
        seed: of the first search of each mechanism.
        progress: called with a short text before every search.
        resume: file of the kept searches; by default in the user's cache folder.
        seeds: searches of each sound mechanism, by default 20.
        parts: which tables, of `PARTS`; both if empty.

    Raises:
        InvalidInput: an unknown part.
    """
    refuse_unknown(parts, PARTS)
    kept = Kept(resume or cache_folder() / "bench-pairs.jsonl", [], __name__)
    some = slice(QUICK if quick else None)
    found = []
    if not parts or "broken" in parts:
        found.append(_broken(BROKEN[some], 5.0 if quick else SECONDS, seed, kept, progress))
    if not parts or "sound" in parts:
        number = seeds or (2 if quick else SEARCHES)
        found.append(_sound(SOUND[some], 1.0 if quick else SOUND_SECONDS, number, seed, kept, progress))
    return found


def searched(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """One search, JSON-able: the bound found or None, the pair as code, the pairs tried and the seconds it took."""
    from dpassay.auditors.strategy_search import search_strategy
    from dpassay.core.privacy import PrivacyClaim

    case = CASES[name]
    begin, wall = os.times(), time.monotonic()
    result = search_strategy(
        case.function,
        case.relation,
        case.datasets(),
        claim=PrivacyClaim(case.epsilon, case.delta),
        failure_probability=FAILURE_PROBABILITY,
        time_limit=seconds,
        seed=seed,
        remember=False,
    )
    end, witness = os.times(), result.witness
    from dpassay.auditors.drawn_datasets import dataset_key

    return {
        "epsilon": None if witness is None else witness.epsilon,
        "pair": "" if witness is None else " / ".join(map(dataset_key, (witness.dataset1, witness.dataset2))),
        "pairs": result.tried,
        "cpu": end.user + end.system - begin.user - begin.system,
        "wall": time.monotonic() - wall,
    }


def _kept_search(case: Case, seconds: float, seed: int, kept: Kept) -> dict[str, Any]:
    settings = {"mechanism": case.name, "seconds": seconds, "seed": seed}
    return kept.get(settings, lambda: searched(case.name, seconds, seed))


def _broken(cases: Sequence[Case], seconds: float, seed: int, kept: Kept, progress: Callable[[str], None]) -> Table:
    rows, found = [], 0
    for number, case in enumerate(cases):
        progress(Step(f"{number + 1} of {len(cases)}: {case.name}", number / len(cases)))
        run = _kept_search(case, seconds, seed, kept)
        found += run["epsilon"] is not None
        bound = "not found" if run["epsilon"] is None else f"{run['epsilon']:.3g}"
        claim = f"{case.epsilon:g}" if not case.delta else f"({case.epsilon:g}, {case.delta:g})"
        cells = [case.name, case.relation, claim, bound, shortened(run["pair"], SHOWN), run["pairs"]]
        rows.append([*cells, round(run["cpu"], 1), round(run["wall"], 1)])
    columns = ["mechanism", "neighbors", "claim", "at least", "pair found and shrunk", "pairs tried", "CPU s", "s"]
    return Table(
        f"Broken mechanisms, the pair not told: {found} of {len(cases)} refuted, one search of {seconds:g} s each",
        columns,
        rows,
    )


def _sound(
    cases: Sequence[Case], seconds: float, searches: int, seed: int, kept: Kept, progress: Callable[[str], None]
) -> Table:
    from scipy import stats

    # Accused more often than this by chance: less than once in a million benchmarks.
    most = int(stats.binom.isf(1e-6 / len(cases), searches, FAILURE_PROBABILITY))
    rows, total = [], 0
    for number, case in enumerate(cases):
        runs = []
        for place in range(searches):
            said = f"{number + 1} of {len(cases)}: {case.name}, search {place + 1} of {searches}"
            progress(Step(said, (number * searches + place) / (len(cases) * searches)))
            runs.append(_kept_search(case, seconds, seed + place, kept))
        accused = sum(run["epsilon"] is not None for run in runs)
        total += accused
        pairs = round(sum(run["pairs"] for run in runs) / searches)
        cpu = round(sum(run["cpu"] for run in runs) / searches, 1)
        rows.append([case.name, case.relation, searches, accused, pairs, cpu, "ok" if accused <= most else "FAIL"])
    title = (
        f"Mechanisms that keep their claim: {total} accused in {searches * len(cases)} searches of {seconds:g} s, at a "
        f"failure probability of {FAILURE_PROBABILITY:g} each"
    )
    columns = ["mechanism", "neighbors", "searches", "accused", "pairs tried, mean", "CPU s, mean", "verdict"]
    return Table(title, columns, rows)
