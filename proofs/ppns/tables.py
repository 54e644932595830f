"""Judges the experiments of Lu and Shen, section 7: Tables 1 to 4, the four findings, and what is said of the data.

The paper leaves most of its protocol open. `Reading` lists what has to be chosen; every table is run under several
readings, and a printed number is compared with the spread of single runs of 10,000 trials, as the registry's predicates
say. The findings are judged without the leak: similarities come from the ratings of four folds, errors from the fifth,
candidates are all other users as in Algorithm 1.
"""

import functools
import itertools
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.ppns.neighborhood import (
    LEAKY,
    Protocol,
    folds,
    paired_differences,
    predict,
    select_sets,
    similarities,
    trial_weights,
)
from dpassay.experiments.ppns.printed import AXES, METHODS, TABLES
from dpassay.mechanisms.batched_users import (
    NearestNeighbors,
    PartitionedNeighbors,
    Selection,
    TopWeighted,
    TruncatedNeighbors,
    WeightedNeighbors,
    descending,
    exponential_scale,
)
from dpassay.mechanisms.ppns import Rule, formula_beta, partition_quotas
from dpassay.mechanisms.similarity import overlap_matrix, sensitivity_matrix
from dpassay.replay import Rejected, check

__all__ = [
    "READINGS",
    "Reading",
    "decide_data",
    "decide_finding1",
    "decide_finding2",
    "decide_finding3",
    "decide_finding4",
    "decide_table1",
    "decide_table2",
    "decide_table3",
    "decide_table4",
    "decide_trend",
    "held_out_errors",
]

TRIALS = 10_000
RUNS = 40
EPSILON, RHO, NEIGHBORS, PROBABILITY = 1.0, 0.5, 50, 0.5
FOLDS = 5
POOL = 10_000
CONFIDENCE_TABLES, CONFIDENCE_ORDERINGS = "0.99", "0.95"


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


def decide_table1(claim: Claim, context: Context) -> Verdict:
    """Table 1: MAE against p."""
    return _decide_mae_table(1, claim, context)


def decide_table3(claim: Claim, context: Context) -> Verdict:
    """Table 3: MAE against k."""
    return _decide_mae_table(3, claim, context)


def decide_table4(claim: Claim, context: Context) -> Verdict:
    """Table 4: MAE against rho."""
    return _decide_mae_table(4, claim, context)


def decide_table2(claim: Claim, context: Context) -> Verdict:
    """Table 2: beta against p."""
    context.progress("Table 2: counting partitions")
    printed = _cells(2)
    inputs = {
        "form": "cells",
        "confidence": CONFIDENCE_TABLES,
        "description": f"beta, k = {NEIGHBORS}, leaky co-rated cosine, all users; one run is {TRIALS} random users",
        "printed": printed,
        "readings": _betas(context.data, 10, context.seed),
    }
    result = check("reproduction", inputs)
    evidence = Evidence(
        "reproduction",
        f"Table 2: {result['summary']}.",
        {"kind": "reproduction", "inputs": inputs},
        tables=_cell_tables(2, result),
    )
    best = max(result["readings"].values(), key=lambda entry: entry["inside"])
    return Verdict(
        claim.id,
        result["supports"],
        f"{_opening(2, result)} The paper defines beta in two ways that do not agree: Algorithm 1 returns the "
        "partition of its last neighbor, a random number, and equation (19) is a formula that exceeds the 19 "
        f"partitions at p = 0.1. The best reading, {_name_of(best, result)}, gives {best['inside']} of "
        f"{len(printed)} printed numbers.",
        (evidence,),
        confidence=float(CONFIDENCE_TABLES) if result["supports"] == "refuted" else None,
        arithmetic="executed",
    )


def decide_finding1(claim: Claim, context: Context) -> Verdict:
    """PPNS against PNCF and nPNS for p above the bound of Theorem 1."""
    count = context.data.num_users - 1
    bound = (
        1 - (1 - NEIGHBORS / count) ** math.exp(exponential_scale(NEIGHBORS, EPSILON, 1.0)) if count > NEIGHBORS else 1
    )
    columns = [p for p in AXES[1][1][:9] if float(p) > bound]
    pairs = {
        f"PPNS p={p} - {other}": (_method("PPNS", probability=float(p)), _method(other))
        for p in columns
        for other in ("PNCF", "nPNS")
    }
    evidence, supports, sides = _orderings(1, context, pairs, "negative")
    right = sum(side == "negative" for side in sides.values())
    wrong = [name.split()[1] for name, side in sides.items() if side == "positive"]
    nearest, uniform = (
        _mae(held_out_errors(context.data, _method(name), LEAKY, 1, context.seed), context.data)
        for name in ("kNN", "PNCF")
    )
    explanation = (
        f"All p from {columns[0]} on are above the bound {bound:.3f}; held out, PPNS is certainly more "
        f"accurate in {right} of {len(sides)} comparisons and certainly less accurate in "
        f"{len(wrong)}{', from p = ' + min(p.removeprefix('p=') for p in wrong) + ' up' if wrong else ''}. Held out, "
        f"kNN itself has MAE {nearest:.4f} and PNCF's nearly uniform selection {uniform:.4f}: once the rating under "
        "prediction no longer leaks into the similarities, the users of largest co-rated cosine, who mostly share a "
        f"single item, are {'worse' if nearest > uniform else 'better'} neighbors than random "
        f"ones.{_raters_sentence(evidence)} {_clean_protocol()}"
    )
    return _ordering_verdict(claim, supports, explanation, evidence)


def decide_finding2(claim: Claim, context: Context) -> Verdict:
    """PPNS against weighted selection from the top beta k, at the beta of (19)."""
    pairs = {}
    limit = (context.data.num_users - 1) / NEIGHBORS
    for p in AXES[1][1][:9]:
        beta = min(formula_beta(NEIGHBORS, float(p)), limit)
        near = TopWeighted(
            NEIGHBORS, max(NEIGHBORS, round(beta * NEIGHBORS)), exponential_scale(NEIGHBORS, EPSILON, 1.0)
        )
        pairs[f"PPNS p={p} - top {beta:.2f} k"] = (_method("PPNS", probability=float(p)), near)
    evidence, supports, sides = _orderings(2, context, pairs, "negative")
    wrong = sum(side == "positive" for side in sides.values())
    right = sum(side == "negative" for side in sides.values())
    explanation = (
        f"Against drawing the same number of neighbors by weight from the top beta k users, with "
        f"the beta that equation (19) gives for the same p (at most the {limit:.1f} partitions there are), PPNS is "
        f"certainly more accurate at {right} of {len(sides)} values of p and certainly less accurate at "
        f"{wrong}.{_raters_sentence(evidence)} {_clean_protocol()}"
    )
    return _ordering_verdict(claim, supports, explanation, evidence)


def decide_finding3(claim: Claim, context: Context) -> Verdict:
    """MAE at successive k, for every method."""
    columns = [int(k) for k in AXES[3][1]]
    steps = columns[::3] if context.quick else columns
    pairs = {
        f"{name} k={b} - k={a}": (_method(name, num_neighbors=b), _method(name, num_neighbors=a))
        for name in METHODS
        for a, b in itertools.pairwise(steps)
    }
    evidence, supports, sides = _orderings(3, context, pairs, "negative")
    by_method = {name: [side for pair, side in sides.items() if pair.startswith(f"{name} ")] for name in METHODS}
    counts = ", ".join(f"{name} {sides.count('negative')}/{len(sides)}" for name, sides in by_method.items())
    rises = [pair for pair, side in sides.items() if side == "positive"]
    explanation = (
        f"Steps of k at which the held-out error certainly falls: {counts}. It certainly rises at "
        f"{', '.join(rises) or 'none'}. {_clean_protocol()}"
    )
    return _ordering_verdict(claim, supports, explanation, evidence)


def decide_finding4(claim: Claim, context: Context) -> Verdict:
    """Whether PNCF's truncation, the only place where rho enters, ever binds."""
    context.progress("finding 4: sensitivities of all pairs of users")
    smallest, infinite = _smallest_sensitivity(context.data)
    bound = math.floor(smallest * 10**6) / 10**6
    count = context.data.num_users - 1
    values = {
        "RS": f"{round(bound * 10**6)}/1000000",
        "k": str(NEIGHBORS),
        "n": str(count),
        "eps": "1",
        "rho": "9/10",
        "largest_similarity": "1",
    }
    width = ["*", ["/", ["*", ["*", "4", "k"], "RS"], "eps"], ["ln", ["/", ["*", "k", ["-", "n", "k"]], "rho"]]]
    formulas = [[">=", width, "largest_similarity"]]
    inputs = {"values": values, "formulas": formulas, "supports": "holds"}
    try:
        supports = check("formula", inputs)["supports"]
    except Rejected:
        supports = "open"
    needed = (
        float(1 / (4 * NEIGHBORS * math.log(NEIGHBORS * (count - NEIGHBORS) / 0.9))) if count > NEIGHBORS else math.inf
    )
    evidence = Evidence(
        "certificate",
        f"With the smallest RS of any target user on these data, {bound:g}, lambda is cut at sim_k for every rho up "
        "to 0.9.",
        {"kind": "formula", "inputs": inputs},
        tables=(
            Table(
                "When does rho matter? (k = 50, eps = 1)",
                ["quantity", "value"],
                [
                    ["smallest RS of a target, eq. 3, full vectors, largest over its candidates", f"{smallest:.6f}"],
                    ["RS below which the bound could be less than a similarity of 1, rho = 0.9", f"{needed:.6f}"],
                    ["targets whose RS over co-rated items is infinite (some candidate shares one item)", infinite],
                ],
            ),
        ),
    )
    return Verdict(
        claim.id,
        supports,
        "Rho enters PNCF only through lambda = min(sim_k, (4k RS/eps) ln(k(n-k)/rho)). The second term is at least "
        f"1, the largest similarity there is, whenever RS is at least {needed:.5f}; the smallest RS (3) of any "
        f"target user on these data is {bound:g} over full vectors, and over co-rated items it is infinite for "
        f"{infinite} of {count + 1} targets. So lambda is sim_k for every rho, the law of the selection is the same, "
        "and so is its accuracy. The finding says nothing about other data sizes or larger eps.",
        (evidence,),
        assumptions=("RS is the largest over the target's candidates, or a constant of at least that size",),
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
    inputs = {"form": "trend", "confidence": CONFIDENCE_TABLES, "description": f"Table 3; spread: {name}", "rows": rows}
    result = check("reproduction", inputs)
    evidence = Evidence(
        "reproduction",
        f"Printed rows of Table 3: {result['summary']}.",
        {"kind": "reproduction", "inputs": inputs},
        tables=(
            Table(
                "Table 3 as printed, and the standard deviation of one of our runs",
                ["method", *(f"k={value}" for value in values)],
                [
                    row
                    for method in METHODS
                    for row in (
                        [method, *TABLES[3][method]],
                        [
                            f"{method}, spread",
                            *(f"{float(cell['standard_deviation']):.4f}" for cell in result["rows"][method]),
                        ],
                    )
                ],
            ),
        ),
    )
    total = sum(len(row) - 1 for row in rows.values())
    return Verdict(
        claim.id,
        result["supports"],
        f"Of the {total} steps in Table 3, {len(result['rises'])} do not decrease ({', '.join(result['rises'])}, "
        f"counting steps from 1), {len(result['excessive'])} of them by more than two runs of {TRIALS} trials differ "
        "by chance. So the table's first steps do show the trend, and its last ones are within the noise of the "
        "experiment.",
        (evidence,),
        confidence=float(CONFIDENCE_TABLES),
    )


def decide_data(claim: Claim, context: Context) -> Verdict:
    """Counts of ratings by user and by film."""
    users = np.bincount(context.data.users, minlength=context.data.num_users)
    films = np.bincount(context.data.items, minlength=context.data.num_items)
    few, many = int((films < 20).sum()), int((films > 250).sum())
    values = {
        "least_of_a_user": int(users.min()),
        "least_of_a_film": int(films.min()),
        "most_of_a_film": int(films.max()),
    }
    says = {
        "user": [">", "least_of_a_user", "20"],
        "lower": [">=", "least_of_a_film", "20"],
        "upper": ["<=", "most_of_a_film", "250"],
    }
    true = ["and", says["user"], says["lower"], says["upper"]]
    holds = values["least_of_a_user"] > 20 and values["least_of_a_film"] >= 20 and values["most_of_a_film"] <= 250
    inputs = {
        "values": values,
        "formulas": [true if holds else ["not", true]],
        "supports": "holds" if holds else "refuted",
    }
    supports = check("formula", inputs)["supports"]
    evidence = Evidence(
        "certificate",
        "Smallest and largest numbers of ratings, counted.",
        {"kind": "formula", "inputs": inputs},
        tables=(
            Table(
                f"Counts in {context.data.name} ({context.data.fingerprint()[:12]})",
                ["quantity", "paper", "counted"],
                [
                    ["ratings", "100,000", f"{len(context.data):,}"],
                    ["users, films", "943, 1682", f"{context.data.num_users}, {context.data.num_items}"],
                    ["fewest ratings of a user", "more than 20", values["least_of_a_user"]],
                    ["users with exactly 20", "0", int((users == 20).sum())],
                    ["fewest ratings of a film", "20", values["least_of_a_film"]],
                    ["most ratings of a film", "250", values["most_of_a_film"]],
                    ["films with fewer than 20 / more than 250", "0 / 0", f"{few} / {many}"],
                ],
            ),
        ),
    )
    return Verdict(
        claim.id,
        supports,
        f"Counted: every user rated at least {values['least_of_a_user']} films ({int((users == 20).sum())} users "
        f"exactly 20), and films received {values['least_of_a_film']} to {values['most_of_a_film']} ratings; {few} "
        f"films have fewer than 20 and {many} more than 250.",
        (evidence,),
    )


def held_out_errors(
    ratings: Ratings, selection: Selection, protocol: Protocol = LEAKY, draws: int = 1, seed: int = 0
) -> np.ndarray:
    """Absolute error of every rating, predicted from the other folds; NaN without a prediction; (draws, ratings)."""
    return _held_out(ratings, selection, protocol, draws, seed)


def _decide_mae_table(number: int, claim: Claim, context: Context) -> Verdict:
    names = tuple(READINGS)  # also in a quick run: fewer readings could only weaken "under none of them"
    printed = _cells(number)
    inputs = {
        "form": "cells",
        "confidence": CONFIDENCE_TABLES,
        "description": f"Table {number}; MAE of {RUNS} runs of {TRIALS} trials, pairs without a prediction skipped",
        "printed": printed,
        "readings": {name: _runs(number, name, context) for name in names},
    }
    result = check("reproduction", inputs)
    evidence = Evidence(
        "reproduction",
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
        (evidence,),
        confidence=float(CONFIDENCE_TABLES) if result["supports"] == "refuted" else None,
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


def _name_of(entry: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    return next(name for name, other in result["readings"].items() if other is entry)


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


def _method(
    name: str,
    num_neighbors: int = NEIGHBORS,
    probability: float = PROBABILITY,
    rho: float = RHO,
    rule: Rule = "algorithm",
) -> Selection:
    """A method at the paper's settings, with RS = 1."""
    scale = exponential_scale(num_neighbors, EPSILON, 1.0)
    if name == "kNN" or (name == "PPNS" and probability >= 1):  # sec. 7 says that PPNS at p = 1 is kNN
        return NearestNeighbors(num_neighbors)
    if name == "PPNS":
        return PartitionedNeighbors(num_neighbors, probability, rule, scale)
    if name == "nPNS":
        return WeightedNeighbors(num_neighbors, None)
    return TruncatedNeighbors(num_neighbors, rho, scale)


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
            selection = _method(method, rule=reading.rule, **settings)
            nearest = _method("kNN", num_neighbors=settings.get("num_neighbors", NEIGHBORS))
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


@functools.lru_cache(maxsize=512)
def _held_out(ratings: Ratings, selection: Selection, protocol: Protocol, draws: int, seed: int) -> np.ndarray:
    if isinstance(selection, NearestNeighbors):
        draws = 1
    errors = np.full((draws, len(ratings)), np.nan, np.float32)
    for draw in range(draws):
        for number, (train, test) in enumerate(folds(ratings, FOLDS, seed)):
            users, items = ratings.users[test], ratings.items[test]
            own = int(np.random.default_rng([seed, draw, number]).integers(2**32))
            errors[draw, test] = np.abs(predict(train, users, items, selection, protocol, own) - ratings.values[test])
    return errors


def _orderings(
    number: int, context: Context, pairs: Mapping[str, tuple[Selection, Selection]], claimed: str
) -> tuple[Evidence, str, dict[str, str]]:
    """Paired comparisons under the clean protocol: evidence, the outcome it supports, the side of each interval."""
    ratings, draws = context.data, 1 if context.quick else 2
    comparisons = {}
    rows: dict[str, list[str]] = {}
    for name, (first, second) in pairs.items():
        context.progress(f"finding {number}: {name}")
        errors = [held_out_errors(ratings, selection, LEAKY, draws, context.seed) for selection in (first, second)]
        differences = paired_differences(errors[0], errors[1], ratings.users, ratings.num_users)
        comparisons[name] = {"claimed": claimed, "differences": [f"{value:.6f}" for value in differences]}
        covered = [f"{float(np.mean(~np.isnan(part))):.0%}" for part in errors]
        rows[name] = [f"{_mae(part, ratings):.4f}" for part in errors] + covered
    inputs = {
        "form": "orderings",
        "confidence": CONFIDENCE_ORDERINGS,
        "description": f"{FOLDS} folds, co-rated cosine of the other folds, all users candidates, {draws} draws; "
        "differences of mean absolute error by user over pairs that both methods predict",
        "comparisons": comparisons,
    }
    result = check("reproduction", inputs)
    entries = result["comparisons"]
    table = Table(
        f"Finding {number}, held out: differences of MAE, paired by user (simultaneous 95% intervals)",
        [
            "comparison",
            "first MAE",
            "second MAE",
            "first covers",
            "second covers",
            "difference",
            "low",
            "high",
            "side",
        ],
        [
            [
                name,
                *rows[name],
                *(f"{float(entries[name][part]):.4f}" for part in ("mean", "low", "high")),
                entries[name]["side"],
            ]
            for name in pairs
        ],
    )
    tables = [table]
    if not context.quick and number in (1, 2):
        tables.append(_raters_table(number, context, pairs))
    evidence = Evidence(
        "reproduction",
        f"Held-out comparisons: {result['summary']}.",
        {"kind": "reproduction", "inputs": inputs},
        tables=tuple(tables),
    )
    return evidence, result["supports"], {name: entries[name]["side"] for name in pairs}


def _raters_table(number: int, context: Context, pairs: Mapping[str, tuple[Selection, Selection]]) -> Table:
    """The same comparisons with the raters of the item as candidates: reported, not judged."""
    ratings, protocol = context.data, Protocol(candidates="raters")
    chosen = {name: pair for name, pair in pairs.items() if any(f"p={p} " in name for p in ("0.1", "0.5", "0.9"))}
    rows = []
    for name, pair in chosen.items():
        context.progress(f"finding {number}, raters only: {name}")
        errors = [held_out_errors(ratings, selection, protocol, 1, context.seed) for selection in pair]
        differences = paired_differences(errors[0], errors[1], ratings.users, ratings.num_users)
        spread = 1.96 * differences.std(ddof=1) / math.sqrt(len(differences))
        rows.append(
            [name, *(f"{_mae(part, ratings):.4f}" for part in errors), f"{differences.mean():.4f}", f"{spread:.4f}"]
        )
    return Table(
        f"Finding {number}, held out, only raters of the item as candidates (not judged)",
        ["comparison", "first MAE", "second MAE", "difference", "+/- (95%, single)"],
        rows,
    )


def _raters_sentence(evidence: Evidence) -> str:
    """What the comparisons among the raters of the item say, where they were run."""
    if len(evidence.tables) < 2:
        return ""
    rows = [(str(row[0]), float(row[3]), float(row[4])) for row in evidence.tables[1].rows]
    better = [name for name, difference, spread in rows if difference < -spread]
    worse = [name for name, difference, spread in rows if difference > spread]
    return (
        " With only the raters of the item as candidates, which is another method than the paper's, PPNS is better "
        f"in {len(better)} of {len(rows)} comparisons ({'; '.join(better) or 'none'}) and worse in {len(worse)} "
        f"({'; '.join(worse) or 'none'})."
    )


def _mae(errors: np.ndarray, ratings: Ratings) -> float:
    """Mean over draws of the MAE of random trials."""
    values = []
    for part in errors:
        covered = ~np.isnan(part)
        values.append(np.average(part[covered], weights=trial_weights(covered, ratings.users, "trials")[covered]))
    return float(np.mean(values))


def _clean_protocol() -> str:
    return (
        f"Judged on held-out ratings ({FOLDS} folds; similarities see the other folds only; all users are "
        "candidates, as in Algorithm 1; errors are compared on pairs that both methods can predict, user by user)."
    )


def _ordering_verdict(claim: Claim, supports: str, explanation: str, evidence: Evidence) -> Verdict:
    confidence = None if supports == "open" else float(CONFIDENCE_ORDERINGS)
    return Verdict(claim.id, supports, explanation, (evidence,), confidence=confidence, arithmetic="executed")  # type: ignore[arg-type]


def _betas(ratings: Ratings, runs: int, seed: int) -> dict[str, dict[str, list[str]]]:
    """Readings of Table 2: cell -> runs. A run is the mean over 10,000 random users; a formula has one run."""
    readings: dict[str, dict[str, list[str]]] = {}
    columns = AXES[2][1]
    for rule, words in (("algorithm", "Algorithm 1"), ("formula", "eqs. 18-19"), ("original", "no special last pick")):
        for method in METHODS:
            for p in columns if method == "PPNS" else columns[:1]:
                selection = _method(method, probability=float(p), rule=rule)  # type: ignore[arg-type]
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


@functools.lru_cache(maxsize=2)
def _smallest_sensitivity(ratings: Ratings) -> tuple[float, int]:
    """Smallest over target users of the largest RS (3) over their candidates, with full-vector norms; and for how many
    targets it is infinite with norms over co-rated items.
    """
    matrix = np.array(sensitivity_matrix(ratings.dense(), "full_cosine"))
    np.fill_diagonal(matrix, -np.inf)
    shared = np.array(overlap_matrix(ratings.dense()))
    np.fill_diagonal(shared, 0)
    return float(matrix.max(1).min()), int((shared == 1).any(1).sum())
