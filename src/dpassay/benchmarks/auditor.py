"""The auditor against DP-Sniper's and StatDP's published lower bounds: a million samples, a tenth of theirs, and all.

Every row is one mechanism on one pair of datasets: the audit in fixed-sample mode (learning, choosing and testing from
one budget of samples), repeated over seeds, beside what the exact law says: the true epsilon of the pair and the best
bound that any event can be expected to give when all samples of the budget test it. Published numbers are those of
DP-Sniper's logs (`dp_sniper_suite.Published`), at confidence 0.9 and with up to 464 million samples for the final pair:
2 x 3 x 10.7 million for its search, 2 x 200 million for its bound.

Finished runs are kept in the user's cache folder, so that an interrupted benchmark goes on where it stopped.
"""

import ast
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.benchmarks import audit_runs
from dpassay.benchmarks.audit_runs import NO_SEED, Task, audit_once, audited, exact
from dpassay.benchmarks.dp_sniper_suite import LYU, SUITE, LaplaceNoise, Row, row
from dpassay.benchmarks.parts import refuse_unknown
from dpassay.benchmarks.peers import available, measure
from dpassay.core.progress import part
from dpassay.core.records import Table
from dpassay.runs.kept import Kept, cache_folder

MILLION, TENTH, FULL = 2_000_000, 46_000_000, 464_000_000  # samples of both datasets and all phases
SEEDS = 10
PARTS = ("million", "tenth", "pairs", "lyu", "searched", "full", "time", "curator")
COLUMNS = (
    "mechanism", "pair", "samples", "median seconds", "learner", "p event", "bound at 0.9", "se", "bound at 0.99",
    "expected", "best event", "share", "exact", "DP-Sniper", "above it", "bar", "above the bar", "remark",
)  # fmt: skip
AGREE = 3  # audits whose median has to reach a bound before a number of samples is called enough for it
QUICK_ROWS = ("Laplace", "ReportNoisyMax1", "SVT5")


def tables(
    quick: bool,
    seed: int,
    python: str,
    progress: Callable[[str], None],
    resume: Path | None = None,
    seeds: int | None = None,
    parts: Sequence[str] = (),
) -> list[Table]:
    """The tables of `dpassay bench auditor`.

    Args:
        quick: three rows and a hundredth of the samples.
        seed: of the first run of every row; the others follow it.
        python: the interpreter that has DP-Sniper.
        progress: called with a short text before every run.
        resume: file of the kept results; by default in the user's cache folder.
        seeds: runs of every row of the first table, by default 10; the other tables have a third of them, and those at
            DP-Sniper's number of samples one.
        parts: which tables, of `PARTS`; all if empty.

    Raises:
        InvalidInput: an unknown part.
    """
    from dpassay.benchmarks import curator

    refuse_unknown(parts, PARTS)
    seeds = SEEDS if seeds is None else seeds
    fewer = max(1, math.ceil(seeds / 3))

    kept = Kept(resume or cache_folder() / "bench-auditor.jsonl", [], audit_runs.__name__)
    if quick:
        few = [(row(name), 0) for name in QUICK_ROWS]
        found = [_table("Lower bounds, a quick look", few, TENTH // 100, 2, seed, kept, progress)]
    else:
        main: list[tuple[Row, int | None]] = [(entry, 0) for entry in SUITE]
        others = [(entry, place) for entry in SUITE for place in range(1, len(entry.pairs))]
        lyu = [(entry, place) for entry in LYU for place in range(len(entry.pairs))]
        # Noise alone moves with the answer, and all pairs are alike.
        searched = [(entry, None) for entry in SUITE if not isinstance(entry.mechanism, LaplaceNoise)]
        plan = {
            "million": ("DP-Sniper's 20 mechanisms with a million samples of each dataset", main, MILLION, seeds),
            "tenth": ("DP-Sniper's 20 mechanisms at a tenth of its samples", main, TENTH, seeds),
            "pairs": ("The same on other pairs", others, TENTH, fewer),
            "lyu": ("More of Lyu et al.'s sparse vectors", lyu, TENTH, fewer),
            "searched": ("The pair searched for within the budget", searched, FULL, 1),
            "full": ("At DP-Sniper's number of samples", main, FULL, 1),
        }
        chosen = [each for part, each in plan.items() if part in (parts or PARTS)]
        found = [
            _table(title, rows, total, number, seed, kept, part(progress, place, len(chosen)))  # type: ignore[arg-type]
            for place, (title, rows, total, number) in enumerate(chosen)
        ]
    if not parts or "time" in parts:
        found.append(_time_table(quick, seed, python, progress))
    return found + (curator.tables(quick, seed, progress) if not parts or "curator" in parts else [])


def _table(
    title: str,
    chosen: Sequence[tuple[Row, int | None]],
    total: int,
    seeds: int,
    seed: int,
    kept: Kept,
    progress: Callable[[str], None],
) -> Table:
    rows: list[Any] = []
    for entry, place in chosen:
        results = []
        for number in range(seeds):
            task = Task(entry.name, place, total, seed + number)
            which = "searched" if place is None else place + 1
            own = part(progress, len(rows) * seeds + number, len(chosen) * seeds)
            own(f"{entry.name}, pair {which}, seed {number + 1} of {seeds}")
            results.append(kept.get(task.settings, lambda task=task, own=own: _cleared(task, own)))  # type: ignore[misc]
        pair = entry.pairs[0 if place is None else place]
        task = Task(entry.name, entry.pairs.index(pair), total, NO_SEED)
        law = kept.get(task.settings, lambda entry=entry, pair=pair: exact(entry, pair, total))  # type: ignore[misc]
        shown = pair.found_by if place is not None else _written(results[0]["datasets"])
        rows.append(_cells(entry, shown, total, results, law))
    note = f"{title}; {total:,} samples in all, {seeds} {'seed' if seeds == 1 else 'seeds'}"
    if judged := [cell for cells in rows if (cell := cells[COLUMNS.index("above the bar")])]:
        note += f"; above the bar on {judged.count('yes')} of {len(judged)} rows"
    return Table(note, list(COLUMNS), rows)


def _written(datasets: Sequence[str]) -> str:
    """Two datasets as they are kept, in as few letters as possible."""
    values = [np.atleast_1d(ast.literal_eval(dataset)) for dataset in datasets]
    return " / ".join(" ".join(f"{value:g}" for value in each) for each in values)


def _cells(entry: Row, found_by: str, total: int, results: Sequence[dict[str, Any]], law: dict[str, Any]) -> list[Any]:
    bound, strict = ([result["bounds"][i] for result in results] for i in (0, 1))
    mean, published = statistics.fmean(bound), entry.published
    spread = statistics.stdev(bound) / math.sqrt(len(bound)) if len(bound) > 1 else ""
    probability = statistics.fmean(result["counts"][0] / result["counts"][1] for result in results)
    remarks = [entry.note] if entry.note else []
    compared: list[Any] = [""] * 4
    if published is not None:
        bars = published.dp_sniper, published.bar
        compared = [cell for bar in bars for cell in (bar, "yes" if mean > bar else "no")]
        if published.bar > law["epsilon"]:
            remarks.append("bar above the truth")
        elif published.bar > law["best"]:
            remarks.append("bar above the best event")
        if published.dp_sniper > law["best"]:
            remarks.append("DP-Sniper's above the best event")
    seconds = round(statistics.median(result["seconds"] for result in results), 1)
    learner = statistics.mode(result["scorer"] for result in results)
    expected = statistics.fmean(result["expected"] for result in results)
    share = f"{expected / law['best']:.3f}" if law["best"] else ""
    bounds = [mean, spread, statistics.fmean(strict), expected, law["best"], share]
    true = law["epsilon"] if math.isfinite(law["epsilon"]) else "inf"
    run = [entry.name, found_by, total, seconds, learner, f"{probability:.2g}"]
    return [*run, *bounds, true, *compared, "; ".join(remarks)]


def _cleared(task: Task, progress: Callable[[str], None]) -> dict[str, Any]:
    """One audit, after which the compiled programs are forgotten: hundreds of rows must not fill the memory."""
    import jax

    result = audit_once(task, progress)
    jax.clear_caches()
    return result


@dataclass(frozen=True)
class Race:
    """A bound to be reached, and how DP-Sniper is run for it.

    Attributes:
        title: in the table.
        entry: the mechanism and the pairs, of which the first is used.
        bound: what DP-Sniper reached with these settings in an earlier run here; ours has to reach what it reaches now.
        peer: the task of `dp_sniper_peer.py`.
    """

    title: str
    entry: Row
    bound: float
    peer: dict[str, Any]


def _races() -> Iterable[Race]:
    from dpassay.benchmarks.sparse_vector import lyu

    vector: dict[str, Any] = {"dimensions": 10, "componentwise": True}
    codes: dict[str, Any] = {**vector, "flags": [-1], "num_outputs": 20}
    large, small = {"train": 1_000_000, "final": 20_000_000}, {"train": 100_000, "final": 2_000_000}
    scalar = {"dimensions": 1, "componentwise": False, "flags": None, "num_outputs": 1}
    one = {"eps": 0.1, "c": 1, "t": 1}
    peer = {"mechanism": "LaplaceMechanism", "parameters": {"eps": 0.1}, **scalar, **large}
    yield Race("Laplace, 0.1", row("Laplace"), 0.0928, peer)
    peer = {"mechanism": "SparseVectorTechnique4", "parameters": one, **codes, **large}
    yield Race("SVT4, 0.1", row("SVT4"), 0.1352, peer)
    peer = {"mechanism": "SparseVectorTechnique6", "parameters": one, **vector, "flags": None, "num_outputs": 10,
            "train": 300_000, "final": 5_000_000}  # fmt: skip
    yield Race("SVT6, 0.1", row("SVT6"), 0.240, peer)
    peer = {"mechanism": "SparseVectorTechnique4", "parameters": {**one, "eps": 0.5}, **codes, **small}
    yield Race("SVT4, 0.5", Row("SVT4, 0.5", lyu(4, epsilon=0.5), row("SVT4").pairs), 0.822, peer)


def _time_table(quick: bool, seed: int, python: str, progress: Callable[[str], None]) -> Table:
    version = available(python, "dpsniper")
    columns = ["mechanism", "bound at 0.9", "our seconds", "with compilation", "our samples", "DP-Sniper's bound",
               "its seconds", "ratio", "its seconds on the pair it found", "ratio on one pair", "note"]  # fmt: skip
    rows = []
    for race in list(_races())[: 1 if quick else None]:
        target, answer = race.bound, {}
        if version is not None and not quick:
            progress(f"DP-Sniper on {race.title}")
            answer = measure(python, "dp_sniper_peer.py", {**race.peer, "seed": seed})
            target = answer.get("bound", target)
        progress(f"{race.title} until {target:.4g}")
        total, compiled, seconds, bound = _raced(race, target, seed)
        theirs = [answer.get(name, math.nan) for name in ("seconds", "seconds_on_pair")]
        notes = [answer.get("error", "")]
        if version is None:
            notes.append("pip install its repository, give --peers the path of that Python")
        if bound < target:
            notes.append("its bound was not reached")
        compared = ("" if math.isnan(cell) else round(cell, 1) for each in theirs for cell in (each, each / seconds))
        own = [race.title, bound, round(seconds, 2), round(compiled, 2), total]
        rows.append([*own, target, *compared, "; ".join(filter(None, notes))])
    title = (
        "Time to DP-Sniper's bound. Its numbers of samples are set by hand; ours is the smallest, in steps of sqrt(2), "
        f"with which the medians of {AGREE} audits and of {AGREE} others that are timed reach it. Compiled programs "
        "are kept by an equal audit before the one timed, so `our seconds` hold none. Ours has one pair given; "
        "DP-Sniper tries up to 16, and then that one again"
    )
    return Table(title, columns, rows)


def _raced(race: Race, target: float, seed: int) -> tuple[int, float, float, float]:
    """The least number of samples that is enough, and medians of the audits timed with it.

    Enough is what lets the median audit reach the bound, and the median of those that are timed afterwards too: the
    first alone is what luck chose among many numbers.
    """
    totals = [round(2 ** (17 + step / 2)) for step in range(24)]
    for step, total in enumerate([*(total for total in totals if total < FULL), FULL]):
        first = seed * 10_000 + step * 2 * AGREE  # no seed is used twice: luck that chose is not reported
        chosen = (_bound(race.entry, total, first + repeat) for repeat in range(AGREE))
        if total < FULL and statistics.median(chosen) < target:
            continue
        timed = [_timed(race, total, first + AGREE + repeat) for repeat in range(AGREE)]
        compiled, seconds, bound = (statistics.median(column) for column in zip(*timed, strict=True))
        if bound >= target:
            break
    return total, compiled, seconds, bound


def _bound(entry: Row, total: int, seed: int) -> float:
    return audited(entry, entry.pairs[0], total, seed).epsilon_lower or 0.0


def _timed(race: Race, total: int, seed: int) -> tuple[float, float, float]:
    """Seconds of the first and of the second of two equal audits in a process of their own, and their bound."""
    code = f"from dpassay.benchmarks import auditor; auditor.audit_twice({race.title!r}, {total}, {seed})"
    with tempfile.TemporaryDirectory() as folder:
        kept = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        run = [sys.executable, "-c", code]
        answer = subprocess.run(run, capture_output=True, text=True, check=True, env={**os.environ, **kept})
    first, second, bound = json.loads(answer.stdout.splitlines()[-1])
    return first, second, bound


def audit_twice(title: str, total: int, seed: int) -> None:
    """Audits a mechanism of the race twice and prints [seconds, seconds, bound]."""
    entry = next(each.entry for each in _races() if each.title == title)
    seconds, bound = [], 0.0
    for _ in range(2):
        start = time.perf_counter()
        bound = _bound(entry, total, seed)
        seconds.append(time.perf_counter() - start)
    sys.stdout.write(json.dumps([*seconds, bound]) + "\n")
