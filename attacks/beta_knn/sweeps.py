"""The beta-kNN attack on several recommenders that compare users, side by side."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from dpassay.attacks.beta_knn.recommender import NAMES, Recommender, with_beta
from dpassay.attacks.beta_knn.settings import Attack, Similarity, UserMethod
from dpassay.attacks.beta_knn.users import simulate
from dpassay.core.progress import Step
from dpassay.data.ratings import Ratings
from dpassay.runs.parallel import results_in_parallel

Combination = tuple[Mapping[str, Any], Recommender, Attack]
"""What names it, and the two sides."""


def sweep(
    ratings: Ratings,
    methods: Sequence[UserMethod] = ("knn", "top_beta_k", "npns", "pncf", "ppns", "npns_repaired", "ppns_repaired"),
    betas: Sequence[float] = (1.0, 2.0, 4.0, 8.0),
    similarities: Sequence[Similarity] = ("full_cosine",),
    *,
    recommender: Recommender | None = None,
    attack: Attack | None = None,
    targets: np.ndarray | int | None = None,
    paired: bool = False,
    jobs: int | Executor = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """The attack on every combination of recommender, similarity and beta.

    Args:
        ratings: the dataset.
        methods: see `Recommender`; "top_beta_k" draws from the beta k most similar.
        betas: fakes per neighbor.
        similarities: of the recommender.
        recommender: every other parameter of the recommender.
        attack: every other choice of the attacker.
        targets: rows, shape (targets,), or a number; see `simulate`.
        paired: whether to measure the advantage, too, which takes twice as long.
        jobs: processes, or an executor; several take one combination each at a time. The rows are the same.
        progress: told what was simulated.

    Returns:
        One row per combination: "method", "similarity", "beta", "fakes", "targets", and every metric of `UserOutcome`
        by name as a `Metric`.
    """
    chosen = combinations(methods, betas, similarities, recommender or Recommender(), attack or Attack())
    given = functools.partial(measured, ratings, targets=targets, paired=paired, threads=None if jobs == 1 else 1)
    rows: list[dict[str, Any]] = [{}] * len(chosen)
    order = longest_first(chosen)
    for place, row in results_in_parallel(given, [chosen[number][1:] for number in order], jobs):
        names, base, _ = chosen[order[place]]
        rows[order[place]] = {**names, **row}
        said = f"{NAMES[base.method]}, {base.similarity}, {row['fakes']} fakes"
        progress(Step(said, sum(map(bool, rows)) / len(rows)))
    return rows


def combinations(
    methods: Sequence[UserMethod],
    betas: Sequence[float],
    similarities: Sequence[Similarity],
    recommender: Recommender,
    attack: Attack,
) -> list[Combination]:
    """The combinations of `sweep`, each with "similarity", "method" and "beta"."""
    return [
        (
            {"similarity": similarity, "method": method, "beta": beta},
            with_beta(replace(recommender, method=method, similarity=similarity), beta),
            replace(attack, beta=beta),
        )
        for similarity, method, beta in itertools.product(similarities, methods, betas)
    ]


def longest_first(chosen: Sequence[Combination]) -> list[int]:
    """Their numbers, those with the most queries first, so that no worker is left alone with them at the end."""
    queries = [attack.beta * attack.rounds * attack.restarts for _, _, attack in chosen]
    return sorted(range(len(chosen)), key=lambda number: -queries[number])


def measured(
    ratings: Ratings,
    recommender: Recommender,
    attack: Attack,
    targets: np.ndarray | int | None = None,
    paired: bool = False,
    threads: int | None = None,
) -> dict[str, Any]:
    """A row of `sweep` without the names of its combination.

    Targets are rows, shape (targets,), or a number; `threads` of them are attacked at once. See `simulate`.
    """
    outcome = simulate(ratings, recommender, attack, targets, paired=paired, threads=threads)
    metrics = {metric.name: metric for metric in outcome.metrics() if metric.low is not None}
    return {"fakes": outcome.num_fakes, "targets": len(outcome.targets), **metrics}
