"""Certified bounds of random compositions: how near they are to each other, and what accountants say beside them."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpassay.accounting.accountants import answers
from dpassay.accounting.checking import ACCURACY, check_accounting
from dpassay.accounting.events import Tree, dp_event, event_tree
from dpassay.core.privacy import PrivacyClaim
from dpassay.core.progress import Step
from dpassay.core.records import Table

TREES = 1000
QUICK = 30
ASKED = 100  # trees that the accountants are asked about, which takes longer than the bounds
_SMALL = 1e-3  # nats: an epsilon below it is compared by differences


def tables(*, quick: bool, seed: int, progress: Callable[[str], None]) -> list[Table]:
    """Random event trees under both relations; a row fails when a tree misses the accuracy.

    A tree that is not enclosed ends the run: none of these may.
    """
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(QUICK if quick else TREES):
        runs.append(_run(*random_case(rng), ask=number < ASKED))
        if number % 20 == 19:
            progress(Step(f"{number + 1} trees", (number + 1) / (QUICK if quick else TREES)))
    rows = [_row(relation, [run for run in runs if run["relation"] == relation]) for relation in _RELATIONS]
    columns = [
        "relation", "trees", "within 1%", "largest ratio", "seconds, mean", "seconds, most", "accountants' answers",
        "below the lower bound", "above the upper bound", "above it, median", "result",
    ]  # fmt: skip
    return [Table("Compositions of random events, certified bounds of epsilon", columns, rows)]


_RELATIONS = ("add_or_remove_one", "replace_one")


def random_case(rng: np.random.Generator) -> tuple[Tree, str, float]:
    """A tree of depth at most 3 with 1 to 5 leaves, a relation, and a delta from 10^-9 to 10^-3."""
    relation = str(rng.choice(_RELATIONS))
    delta = 10 ** rng.uniform(-9, -3)
    size = int(rng.integers(1, 6))
    parts: list[Any] = [_leaf(rng, relation) for _ in range(size)]
    while len(parts) > 1:  # two or more neighbors become one composition
        taken = int(rng.integers(2, len(parts) + 1))
        parts = [{"kind": "composed", "events": parts[:taken]}, *parts[taken:]]
        if rng.random() < 0.2:
            parts[0] = {"kind": "self_composed", "event": parts[0], "count": int(rng.integers(2, 5))}
    return event_tree(parts[0]), relation, delta


def _leaf(rng: np.random.Generator, relation: str) -> Tree:
    """One kind of noise, up to 2000 times; the more often, the more noise."""
    count = int(10 ** rng.uniform(0, 3.3))
    noise = math.sqrt(count) * 10 ** rng.uniform(-0.3, 1)
    kinds = ["gaussian", "laplace", "sampled gaussian", "sampled laplace"]
    kinds += ["randomized_response"] if relation == "replace_one" else ["geometric"]
    kind = str(rng.choice(kinds))
    if kind == "randomized_response":
        bias = min(1 / noise, 0.9)
        leaf: Tree = {"kind": kind, "noise_parameter": 1 - bias, "num_buckets": int(rng.integers(2, 6))}
    elif kind == "geometric":
        leaf = {"kind": kind, "scale": noise, "sensitivity": 1}
    elif kind.startswith("sampled"):
        rate = 10 ** rng.uniform(-3, -0.3)
        own = {"kind": kind.split()[1], "noise_multiplier": max(noise * rate, 0.5)}
        leaf = {"kind": "poisson_sampled", "sampling_probability": rate, "event": own}
    else:
        leaf = {"kind": kind, "noise_multiplier": noise}
    return {"kind": "self_composed", "event": leaf, "count": count}


def _run(tree: Tree, relation: str, delta: float, *, ask: bool) -> dict[str, Any]:
    start = time.process_time()
    verdict = check_accounting(tree, claim=PrivacyClaim(0.0, delta), relation=relation, accountants=False)
    seconds = time.process_time() - start
    lower, upper = verdict.epsilon_lower, verdict.epsilon_upper
    assert lower is not None
    assert upper is not None
    told = answers(dp_event(tree), relation, delta, lower, upper) if ask else []
    ratio = 1.0 if upper - lower <= _SMALL else upper / lower if lower else math.inf
    given = [answer for answer in told if answer.epsilon is not None]
    return {"relation": relation, "ratio": ratio, "seconds": seconds, "told": given, "upper": upper}


def _row(relation: str, runs: list[dict[str, Any]]) -> list[Any]:
    within = sum(run["ratio"] <= 1 + ACCURACY for run in runs)
    told = [(answer, run["upper"]) for run in runs for answer in run["told"]]
    loose = [answer.epsilon / upper - 1 for answer, upper in told if answer.judgement.startswith("loose") and upper]
    seconds = [run["seconds"] for run in runs]
    return [
        relation,
        len(runs),
        within,
        f"{max(run['ratio'] for run in runs):.5f}",
        f"{np.mean(seconds):.2f}",
        f"{max(seconds):.2f}",
        len(told),
        sum(answer.wrong for answer, _ in told),
        len(loose),
        f"{np.median(loose):.1%}" if loose else "-",
        "ok" if within == len(runs) else "FAIL",
    ]
