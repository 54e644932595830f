"""`dp.sensitivity` on functions that were not in view when it was designed: what it decides, and whether rightly.

The truth of each is derived in its docstring and searched for here by brute force, which shares nothing with the
prover: no pair may exceed it, one comes close to it, and a false claim has a pair that exceeds it. A witness counts if
its function, run on it in floats, moves by more than the claim.
"""

import itertools
import math
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.benchmarks.sensitivity_functions import ADDED, QUERIES, Query
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.core.records import Table
from dpassay.core.text import rounded
from dpassay.prover.sensitivity.deciding import Sensitivity, sensitivity
from dpassay.runs.parallel import processors, results_in_parallel

TITLE = "Sensitivities of functions that were not in view when the prover was designed"
FOLDER = f"{Path(__file__).parent}{os.sep}"
QUICK = 8
ROUNDING = 1e-9
"""Relative; of the functions, which run in floats."""
EXHAUSTED = 3000
"""Datasets, times their length, that are all tried; of more some are drawn."""
REACHED, LARGE = 0.99, 30
"""The share of the truth that a pair must show at some length; what counts as unbounded."""
NAMES: Mapping[str, Any] = {
    **{name: getattr(math, name) for name in ("log", "exp", "sqrt", "tanh", "floor")},
    **{"ceiling": math.ceil, "Max": max, "Min": min, "Abs": abs, "oo": math.inf, "__builtins__": {}},
}


@dataclass(frozen=True)
class Answer:
    """What was said of one claim.

    Attributes:
        said: `holds`, `refuted`, `open`, "refused" for Python that was not understood, or "error" for an exception.
        seconds: of the processor.
        why: why it is undecided, or the pair that refutes it.
        confirmed: whether that pair exceeds the claim when the function is run on it.
        mistaken: what brute force says against the truth as we derived it.
    """

    said: str
    seconds: float
    why: str = ""
    confirmed: bool = True
    mistaken: str = ""


def judged(place: int) -> Answer:
    """What `dp.sensitivity` says of a claim, by its place in `QUERIES`, and brute force of its truth."""
    return replace(answered(QUERIES[place]), mistaken=mistaken(QUERIES[place]))


def answered(query: Query) -> Answer:
    """What `dp.sensitivity` says of a claim."""
    begin = cpu_seconds()
    try:
        found = sensitivity(
            query.function, relation=query.relation, bounds=query.bounds, at_most=query.claim, assume=query.assume
        )
    except InvalidInput as refused:
        return Answer("refused", cpu_seconds() - begin, str(refused))
    except Exception as error:
        return Answer("error", cpu_seconds() - begin, f"{type(error).__name__}: {error}")
    seconds, pair = cpu_seconds() - begin, found.witness
    if found.outcome != "refuted" or pair is None:
        return Answer(found.outcome, seconds, found.reason, found.outcome != "refuted")
    given = ", ".join(f"{name} = {value}" for name, value in pair.parameters.items())
    why = f"{_listed(pair.dataset1)} and {_listed(pair.dataset2)}{', ' * bool(given)}{given}"
    return Answer("refuted", seconds, why, exceeds(query, found))


def verdict(query: Query, answer: Answer) -> str:
    """FAIL for a contradiction, a pair that does not exceed the claim, an exception, or a truth that is mistaken."""
    contradicts = answer.said == ("refuted" if query.holds else "holds")
    if contradicts or answer.said == "error" or not answer.confirmed or answer.mistaken:
        return "FAIL"
    return "pass" if answer.said in ("holds", "refuted") else "open"


def table(quick: bool, progress: Callable[[str], None], workers: int | None = None) -> Table:
    """One row for each claim, and one that sums up.

    Args:
        quick: the first few.
        progress: called with a short text as results come.
        workers: processes; as many as there are processors if None, and one in a quick run.
    """
    tasks = [(place,) for place in range(QUICK if quick else len(QUERIES))]
    found: dict[int, Answer] = {}
    for place, answer in results_in_parallel(judged, tasks, workers or (1 if quick else processors())):
        found[place] = answer
        name = QUERIES[place].function.__name__
        said = f"{name}: {answer.said}, {answer.seconds:.1f} s; {len(found)} of {len(tasks)}"
        progress(Step(said, len(found) / len(tasks)))
    rows = [(QUERIES[place], found[place]) for place in sorted(found)]
    cells: dict[str, Callable[[Any], Any]] = {
        "function": lambda row: row[0].function.__name__,
        "relation": lambda row: row[0].relation,
        "claim": lambda row: row[0].claim,
        "true": lambda row: "holds" if row[0].holds else f"refuted: {row[0].truth}",
        "said": lambda row: row[1].said,
        "seconds": lambda row: rounded(row[1].seconds),
        "a pair, or why not": lambda row: (row[1].mistaken or row[1].why).removeprefix(FOLDER)[:200],
        "verdict": lambda row: verdict(*row),
    }
    each = Table.of(TITLE, cells, rows)
    results = [verdict(*row) for row in rows]
    decided, wrong = sum(answer.said in ("holds", "refuted") for _, answer in rows), results.count("FAIL")
    right = sum(query.holds for query, _ in rows)
    summary = [
        f"all {len(rows)}",
        "",
        "",
        f"{right} hold, {len(rows) - right} do not",
        f"{decided} decided ({decided / len(rows):.0%}), {wrong} wrong",
        rounded(sum(answer.seconds for _, answer in rows)),
        "",
        "FAIL" if wrong else "pass" if decided == len(rows) else "open",
    ]
    return Table(each.title, each.columns, [summary, *each.rows])


def cpu_seconds() -> float:
    """Of this process and of those that it started and that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def exceeds(query: Query, found: Sensitivity) -> bool:
    """Whether the function, run in floats on the witness, moves by more than the claim."""
    pair = found.witness
    assert pair is not None
    given = {name: _number(value, name in _integers(query)) for name, value in pair.parameters.items()}
    lists = [[_number(value) for value in data] for data in (pair.dataset1, pair.dataset2)]
    limit = value_of(query.claim, min(map(len, lists)), given)
    _, largest = _distances(*(query.function(data, **given) for data in lists))
    return largest > limit + ROUNDING * abs(limit)


def value_of(expression: str, n: int, parameters: Mapping[str, Any]) -> float:
    """An expression in n and the parameters, as a number."""
    return float(eval(expression, dict(NAMES), {"n": n, **parameters}))


def mistaken(query: Query, datasets: int = EXHAUSTED) -> str:
    """What brute force says against a truth: exceeded, out of reach at every length, or not what the label says.

    A result that is a list is within the truth in the norm that adds its coordinates, and exceeds the claim in one of
    them, so that no norm is meant in particular.
    """
    reached = exceeded = False
    for n, parameters, total, largest in largest_differences(query, datasets):
        truth, claim = value_of(query.truth, n, parameters), value_of(query.claim, n, parameters)
        if total > truth + ROUNDING * abs(truth):
            return f"brute force finds {total}, more than {query.truth}, for n = {n}, {parameters}"
        reached |= total >= REACHED * truth or (truth == math.inf and total > LARGE)
        exceeded |= largest > claim + ROUNDING * abs(claim)
    if not reached:
        return f"brute force does not reach {query.truth}"
    return "" if exceeded != query.holds else f"brute force {'exceeds' if exceeded else 'does not exceed'} the claim"


def largest_differences(
    query: Query, datasets: int, seed: int = 0
) -> Iterator[tuple[int, Mapping[str, Any], float, float]]:
    """What brute force finds: a length n (of the smaller dataset), parameters, and the largest differences of a pair.

    The differences are the largest sum over the coordinates and the largest coordinate: they agree for numbers.
    """
    draw = random.Random(seed)
    low, high = query.bounds or (-1.0, 1.0)
    values = query.values or [low + (high - low) * k / 8 for k in range(9)]
    for parameters, n in itertools.product(query.parameters, query.lengths):
        best = [0.0, 0.0]
        for data in _datasets(values, n, draw, datasets):
            here = query.function(list(data), **parameters)
            for other in _neighbors(data, values, query.relation):
                there = _distances(here, query.function(other, **parameters))
                best = [max(pair) for pair in zip(best, there, strict=True)]
        yield n, parameters, best[0], best[1]


def _datasets(values: Sequence[Any], n: int, draw: random.Random, datasets: int) -> Iterable[tuple[Any, ...]]:
    """All, or else some of few different values, where extremes are, and some of many."""
    if len(values) ** n * n <= datasets:
        yield from itertools.product(values, repeat=n)
        return
    yield from itertools.product((values[0], values[len(values) // 2], values[-1]), repeat=n)
    for number in range(datasets // (10 * n)):
        some = draw.sample(list(values), 2 if number % 2 else len(values))
        yield tuple(draw.choice(some) for _ in range(n))


def _neighbors(data: tuple[Any, ...], values: Sequence[Any], relation: str) -> Iterator[list[Any]]:
    for place in range(len(data) + (relation == ADDED)):
        for value in values:
            yield [*data[:place], value, *data[place + (relation != ADDED) :]]


def _distances(one: Any, other: Any) -> tuple[float, float]:
    moved = np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float))
    return float(moved.sum()), float(moved.max())


def _integers(query: Query) -> set[str]:
    return {name for name, kind in query.function.__annotations__.items() if kind is int}


def _number(value: Any, whole: bool = False) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_number, value))
    return int(value) if whole else float(value)


def _listed(data: Iterable[Any]) -> str:
    return f"[{', '.join(map(str, data))}]"
