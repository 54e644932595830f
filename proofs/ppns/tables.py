"""Judges Tables 1 to 4 of Lu and Shen (PPNS), section 7, and the trend that the paper reads off Table 3.

The paper leaves most of its protocol open. `Reading` lists what has to be chosen; every table is run under several
readings, and a printed number is compared with the spread of single runs of 10,000 trials, as the registry's predicates
say.
"""

import functools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.ppns.neighborhood import LEAKY, Protocol, predict, select_sets, similarities
from dpassay.experiments.ppns.printed import AXES, METHODS, TABLES
from dpassay.mechanisms.batched_users import NearestNeighbors, Selection, TruncatedNeighbors, descending
from dpassay.mechanisms.ppns import Rule, formula_beta, partition_quotas
from dpassay.proofs.decisions import shown
from dpassay.proofs.ppns.settings import NEIGHBORS, RHO, paper_method
from dpassay.replay import check

TRIALS = 10_000
RUNS = 40
POOL = 10_000
CONFIDENCE = "0.99"


@dataclass(frozen=True)
class Reading:
    """One way to read the protocol of section 7.

    Attributes:
        protocol: hold-out, candidates, similarity, ties.
        average: what a trial is, see `dpassay.experiments.ppns.neighborhood.mean_absolute_error`.
        rule: how PPNS fills its partitions, see `dpassay.mechanisms.ppns.partition_quotas`.
        scored: every method on the pairs it can predict ("own"), or all on those that kNN can ("nearest").
        everywhere: run at every printed column; otherwise at the first, middle and last.
    """

    protocol: Protocol = LEAKY
    average: Literal["trials", "users", "ratings"] = "trials"
    rule: Rule = "algorithm"
    scored: Literal["own", "nearest"] = "own"
    everywhere: bool = False


READINGS: Mapping[str, Reading] = {
    "leaky, all users, Algorithm 1": Reading(everywhere=True),
    "leaky, all users, eqs. 18-19": Reading(rule="formula", everywhere=True),
    "leaky, all users, no special last pick": Reading(rule="original", everywhere=True),
    "leaky, all users, mean per user": Reading(average="users", everywhere=True),
    "leaky, all users, mean per rating": Reading(average="ratings", everywhere=True),
    "leaky, all users, pairs kNN covers": Reading(scored="nearest", everywhere=True),
    "leaky, all users, ties by last index": Reading(Protocol(ties="last")),
    "leaky, all users, ties at random": Reading(Protocol(ties="random")),
    "leaky, all users, full-vector cosine": Reading(Protocol(similarity="full_cosine")),
    "leaky, all users, Pearson": Reading(Protocol(similarity="pearson")),
    "leaky, raters of the item": Reading(Protocol(candidates="raters")),
    "held out, all users": Reading(Protocol(hold_out=True)),
    "held out, raters of the item": Reading(Protocol(hold_out=True, candidates="raters")),
}
"""All with weights at RS = 1 and no noise on the similarities: both hardly matter at eps = 1, k = 50."""
_RULES = [Reading(rule=rule, everywhere=True) for rule in get_args(Rule)]


def decide_table2(claim: Claim, context: Context) -> Verdict:
    """Table 2: beta against p."""
    context.progress("Table 2: counting partitions")
    printed = _cells(2)
    inputs = {
        "form": "cells",
        "confidence": CONFIDENCE,
        "description": f"beta, k = {NEIGHBORS}, leaky co-rated cosine, all users; one run is {TRIALS} random users",
        "printed": printed,
        "readings": _betas(context.data, 10, context.seed),
    }
    result = check("reproduction", inputs)
    evidence = shown(
        f"Table 2: {result['summary']}.", {"kind": "reproduction", "inputs": inputs}, tables=_cell_tables(2, result)
    )
    name, best = max(result["readings"].items(), key=lambda item: item[1]["inside"])
    return Verdict(
        claim.id,
        result["supports"],
        f"{_opening(2, result)} The paper defines beta in two ways that do not agree: Algorithm 1 returns the "
        "partition of its last neighbor, a random number, and equation (19) is a formula that exceeds the 19 "
        f"partitions at p = 0.1. The best reading, {name}, gives {best['inside']} of "
        f"{len(printed)} printed numbers.",
        evidence=(evidence,),
        confidence=float(CONFIDENCE) if result["supports"] == "refuted" else None,
        arithmetic="executed",
    )


def decide_trend(claim: Claim, context: Context) -> Verdict:
    """Whether the printed rows of Table 3 decrease."""
    name = "leaky, all users, Algorithm 1"
    runs = _runs(3, name, context)
    axis, values = AXES[3]
    rows = {
        method: [
            {"printed": number, "runs": runs[f"{method} {axis}={value}"]}
            for value, number in zip(values, TABLES[3][method], strict=True)
        ]
        for method in METHODS
    }
    inputs = {"form": "trend", "confidence": CONFIDENCE, "description": f"Table 3; spread: {name}", "rows": rows}
    result = check("reproduction", inputs)
    table = Table(
        "Table 3 as printed, and the standard deviation of one of our runs",
        ["method", *(f"k={value}" for value in values)],
        [
            row
            for method in METHODS
            for row in (
                [method, *TABLES[3][method]],
                [f"{method}, spread", *(f"{float(cell['standard_deviation']):.4f}" for cell in result["rows"][method])],
            )
        ],
    )
    evidence = shown(
        f"Printed rows of Table 3: {result['summary']}.", {"kind": "reproduction", "inputs": inputs}, tables=(table,)
    )
    total = sum(len(row) - 1 for row in rows.values())
    return Verdict(
        claim.id,
        result["supports"],
        f"Of the {total} steps in Table 3, {len(result['rises'])} do not decrease ({', '.join(result['rises'])}, "
        f"counting steps from 1), {len(result['excessive'])} of them by more than two runs of {TRIALS} trials differ "
        "by chance. So the table's first steps do show the trend, and its last ones are within the noise of the "
        "experiment.",
        evidence=(evidence,),
        confidence=float(CONFIDENCE),
    )


def _decide_mae_table(number: int, claim: Claim, context: Context) -> Verdict:
    names = tuple(READINGS)  # also in a quick run: fewer readings could only weaken "under none of them"
    printed = _cells(number)
    inputs = {
        "form": "cells",
        "confidence": CONFIDENCE,
        "description": f"Table {number}; MAE of {RUNS} runs of {TRIALS} trials, pairs without a prediction skipped",
        "printed": printed,
        "readings": {name: _runs(number, name, context) for name in names},
    }
    result = check("reproduction", inputs)
    evidence = shown(
        f"Table {number}: {result['summary']}.",
        {"kind": "reproduction", "inputs": inputs},
        tables=_cell_tables(number, result),
        plots=(_plot(number, result),),
    )
    missed = sorted({cell.split()[0] for cell in result["readings"][_best(result)]["outside"]})
    leaky = [name for name in result["readings"] if name.startswith("leaky, all users")]
    others = [name for name in result["readings"] if name not in leaky]
    most = max(
        (result["readings"][name]["inside"] / len(result["readings"][name]["cells"]) for name in others), default=0.0
    )
    partitioned = {
        name: [entry["inside"] for cell, entry in result["readings"][name]["cells"].items() if cell.startswith("PPNS ")]
        for name in READINGS
        if name in result["readings"] and READINGS[name] in _RULES
    }
    rules = ", ".join(f"{sum(inside)} of {len(inside)} ({name})" for name, inside in partitioned.items())
    return Verdict(
        claim.id,
        result["supports"],
        f"{_opening(number, result)} Best reading: {_best(result)}"
        + (f" (outside: some numbers of {', '.join(missed)})" if missed else "")
        + ". Readings in which the predicted rating is held out, or only raters of the item are candidates, meet "
        f"at most {most:.0%} of the numbers tried. Numbers of PPNS met, by rule: {rules}.",
        evidence=(evidence,),
        confidence=float(CONFIDENCE) if result["supports"] == "refuted" else None,
        arithmetic="executed",
    )


def _opening(number: int, result: Mapping[str, Any]) -> str:
    readings = result["readings"]
    whole = [
        name for name, entry in readings.items() if not entry["outside"] and len(entry["cells"]) == len(_cells(number))
    ]
    if whole:
        met = "; ".join(whole)
        return f"Of {len(readings)} readings of the protocol, every number of Table {number} is met by: {met}."
    return f"Under none of {len(readings)} readings of the protocol is every printed number of Table {number} met."


def _best(result: Mapping[str, Any]) -> str:
    return max(result["readings"], key=lambda name: result["readings"][name]["inside"])


def _cells(number: int) -> dict[str, str]:
    axis, values = AXES[number]
    return {
        f"{method} {axis}={value}": printed
        for method, row in TABLES[number].items()
        for value, printed in zip(values, row, strict=True)
    }


def _cell_tables(number: int, result: Mapping[str, Any]) -> tuple[Table, ...]:
    """Every printed number beside ours, and how many of each row each reading meets."""
    axis, values = AXES[number]
    readings = result["readings"]

    def ours(name: str, cell: str) -> str:
        entry = readings[name]["cells"].get(cell)
        return "-" if entry is None else f"{float(entry['mean']):.4g}{'' if entry['inside'] else ' *'}"

    whole = [name for name in readings if len(readings[name]["cells"]) > len(_cells(number)) / 2]
    shown = sorted(whole, key=lambda name: -readings[name]["inside"])[:4]
    beside = Table(
        f"Table {number}: printed and ours, mean of the runs (* outside the 99% interval of one run)",
        ["method", axis, "printed", *shown],
        [
            [method, value, printed, *(ours(name, f"{method} {axis}={value}") for name in shown)]
            for method in METHODS
            for value, printed in zip(values, TABLES[number][method], strict=True)
        ],
    )

    def met(name: str, method: str) -> str:
        cells = [entry for cell, entry in readings[name]["cells"].items() if cell.startswith(f"{method} ")]
        return f"{sum(entry['inside'] for entry in cells)} of {len(cells)}" if cells else "-"

    verdicts = Table(
        f"Table {number}: printed numbers met, by reading",
        ["reading", *METHODS],
        [[name, *(met(name, method) for method in METHODS)] for name in readings],
    )
    return verdicts, beside


def _plot(number: int, result: Mapping[str, Any]) -> Plot:
    axis, values = AXES[number]
    name = _best(result)
    cells = result["readings"][name]["cells"]
    series = []
    for method in METHODS:
        series.append(
            Series(f"{method}, printed", [float(v) for v in values], [float(t) for t in TABLES[number][method]])
        )
        own = [(float(v), cells[f"{method} {axis}={v}"]) for v in values if f"{method} {axis}={v}" in cells]
        series.append(
            Series(
                f"{method}, ours",
                [x for x, _ in own],
                [float(entry["mean"]) for _, entry in own],
                low=[float(entry["low"]) for _, entry in own],
                high=[float(entry["high"]) for _, entry in own],
            )
        )
    return Plot(f"Table {number}, {name}", axis, "MAE", series)


def _runs(number: int, name: str, context: Context) -> dict[str, list[str]]:
    """MAE of single runs of 10,000 trials for every cell that the reading covers."""
    reading = READINGS[name]
    axis, values = AXES[number]
    columns = values if reading.everywhere else (values[0], values[len(values) // 2 - 1 + len(values) % 2], values[-1])
    context.progress(f"Table {number}: {name}")
    draws = 2
    cells: dict[str, list[str]] = {}
    for method in METHODS:
        for value in columns:
            settings: dict[str, Any] = {{"p": "probability", "k": "num_neighbors", "rho": "rho"}[axis]: float(value)}
            if axis == "k":
                settings["num_neighbors"] = int(value)
            selection = paper_method(method, rule=reading.rule, **settings)
            nearest = paper_method("kNN", num_neighbors=settings.get("num_neighbors", NEIGHBORS))
            cells[f"{method} {axis}={value}"] = _mae_runs(
                context.data, _plain(selection, method), nearest, reading, draws, context.seed
            )
    return cells


def _plain(selection: Selection, method: str) -> Selection:
    """PNCF at RS = 1 is the same for every rho (finding 4), so that one computation serves all columns."""
    if method == "PNCF" and isinstance(selection, TruncatedNeighbors):
        return TruncatedNeighbors(selection.num_neighbors, RHO, selection.scale)
    return selection


@functools.lru_cache(maxsize=2048)
def _mae_runs(
    ratings: Ratings, selection: Selection, nearest: Selection, reading: Reading, draws: int, seed: int
) -> list[str]:
    """One MAE per run, each run on a sample of trials of its own, from the errors of `draws` draws of neighbors."""
    pairs = _pairs(ratings, reading.protocol, seed)
    users = ratings.users[pairs]
    draws = draws if len(pairs) == len(ratings) else 1
    fixed = isinstance(selection, NearestNeighbors) and reading.protocol.ties != "random"
    seeds = [seed if fixed else seed + draw for draw in range(draws)]
    with ThreadPoolExecutor(draws) as pool:  # NumPy leaves the interpreter lock while it sorts
        every = list(pool.map(lambda own: _errors(ratings, selection, reading.protocol, own), dict.fromkeys(seeds)))
    runs = []
    for draw in range(draws):
        errors = every[0 if fixed else draw]
        if reading.scored == "nearest":
            shared = _errors(ratings, nearest, reading.protocol, seed)
            errors = np.where(np.isnan(shared), np.nan, errors)
        generator = np.random.default_rng([seed, draw, 7])
        trials = _trials(users, ~np.isnan(errors), reading.average, RUNS // draws, generator)
        runs += [f"{value:.6f}" for value in np.nanmean(errors[trials], axis=1)]
    return runs


def _trials(
    users: np.ndarray, covered: np.ndarray, average: str, runs: int, generator: np.random.Generator
) -> np.ndarray:
    """The pairs of each run's 10,000 trials, some of them not covered unless the average is "users"; (runs, trials)."""
    if average == "ratings":
        return generator.integers(len(users), size=(runs, TRIALS))
    possible = np.flatnonzero(covered) if average == "users" else np.arange(len(users))
    order = possible[np.argsort(users[possible], kind="stable")]
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    counts = np.diff(starts, append=len(order))
    user = generator.integers(len(starts), size=(runs, TRIALS))
    return order[starts[user] + (generator.random((runs, TRIALS)) * counts[user]).astype(int)]


def _pairs(ratings: Ratings, protocol: Protocol, seed: int) -> np.ndarray:
    """The ratings that are predicted: all, or a fixed sample where every pair has neighbors of its own."""
    cheap = protocol.candidates == "users" and not protocol.hold_out
    if cheap or len(ratings) <= POOL:
        return np.arange(len(ratings))
    return np.sort(np.random.default_rng([seed, 11]).choice(len(ratings), POOL, replace=False))


@functools.lru_cache(maxsize=512)
def _errors(ratings: Ratings, selection: Selection, protocol: Protocol, seed: int) -> np.ndarray:
    pairs = _pairs(ratings, protocol, seed)
    predictions = predict(ratings, ratings.users[pairs], ratings.items[pairs], selection, protocol, seed)
    return np.abs(predictions - ratings.values[pairs]).astype(np.float32)


def _betas(ratings: Ratings, runs: int, seed: int) -> dict[str, dict[str, list[str]]]:
    """Readings of Table 2: cell -> runs. A run is the mean over 10,000 random users; a formula has one run."""
    readings: dict[str, dict[str, list[str]]] = {}
    columns = AXES[2][1]
    for rule, words in (("algorithm", "Algorithm 1"), ("formula", "eqs. 18-19"), ("original", "no special last pick")):
        for method in METHODS:
            for p in columns if method == "PPNS" else columns[:1]:
                selection = paper_method(method, probability=float(p), rule=rule)  # type: ignore[arg-type]
                measures = _partition_measures(ratings, selection, runs, seed)
                for measure, values in measures.items():
                    cells = readings.setdefault(f"{measure}, {words}", {})
                    for column in [p] if method == "PPNS" else columns:
                        cells[f"{method} p={column}"] = values
    visited: dict[str, list[str]] = {}
    for p in columns[:9]:
        readings.setdefault("equation (19)", {})[f"PPNS p={p}"] = [f"{formula_beta(NEIGHBORS, float(p)):.6f}"]
        visited[f"PPNS p={p}"] = [str(len(partition_quotas(NEIGHBORS, float(p))))]
    readings["partitions visited by Algorithm 1"] = visited
    return readings


@functools.lru_cache(maxsize=64)
def _partition_measures(ratings: Ratings, selection: Selection, runs: int, seed: int) -> dict[str, list[str]]:
    """Partition numbers of the chosen neighbors: the farthest (mean, median), the mean, and how many different ones."""
    protocol = LEAKY
    partition = _partitions(ratings)
    number = int(partition.max()) + 1
    kept: dict[str, list[str]] = {}
    for run in range(runs):
        chosen = select_sets(ratings, selection, protocol, seed + run)
        users, neighbors = np.nonzero(chosen)
        places = users * number + partition[users, neighbors]
        present = np.bincount(places, minlength=len(chosen) * number).reshape(len(chosen), number)
        farthest = number - np.argmax(present[:, ::-1] > 0, axis=1)
        different = (present > 0).sum(1)
        mean = present @ np.arange(1, number + 1) / present.sum(1)
        sample = np.random.default_rng([seed, run]).integers(ratings.num_users, size=TRIALS)
        for measure, value in (
            ("mean farthest partition", farthest[sample].mean()),
            ("median farthest partition", np.median(farthest[sample])),
            ("different partitions", different[sample].mean()),
            ("different partitions, rounded down", np.floor(different[sample].mean())),
            ("mean partition of a neighbor", mean[sample].mean()),
        ):
            kept.setdefault(measure, []).append(f"{value:.6f}")
    return kept


@functools.lru_cache(maxsize=2)
def _partitions(ratings: Ratings) -> np.ndarray:
    """The number, from 0, of the partition of each target's list that each user is in; shape (users, users)."""
    scores = similarities(ratings, LEAKY).copy()
    np.fill_diagonal(scores, -np.inf)
    return np.argsort(np.argsort(descending(scores), axis=1), axis=1) // NEIGHBORS


decide_table1, decide_table3, decide_table4 = (functools.partial(_decide_mae_table, number) for number in (1, 3, 4))
