"""The beta-kNN attack on several recommenders that compare users, side by side."""

import functools
import itertools
import time
from collections.abc import Callable, Sequence
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
        One row per combination: "method", "similarity", "beta", "fakes", "targets", every metric of `UserOutcome` by
        name as a `Metric`, and "seconds".
    """
    tasks = list(itertools.product(similarities, methods, betas))
    base, how = recommender or Recommender(), attack or Attack()
    settings = [
        (with_beta(replace(base, method=method, similarity=similarity), beta), replace(how, beta=beta))
        for similarity, method, beta in tasks
    ]
    rows = compare(ratings, settings, targets, paired=paired, jobs=jobs, progress=progress)
    named = [dict(zip(("similarity", "method", "beta"), task, strict=True)) for task in tasks]
    return [names | row for names, row in zip(named, rows, strict=True)]


def compare(
    ratings: Ratings,
    settings: Sequence[tuple[Recommender, Attack]],
    targets: np.ndarray | int | None = None,
    *,
    paired: bool = False,
    jobs: int | Executor = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Several recommenders and attacks on the same ratings; see `sweep`; `jobs` may be an executor.

    Targets are rows, shape (targets,), or a number.

    Returns:
        One row per setting: "fakes", "targets", every metric of `UserOutcome` by name as a `Metric`, and "seconds".
    """
    given = functools.partial(_row, ratings, targets, paired, None if jobs == 1 else 1)
    # The most queries take longest: they go first, so that no process is left alone with them at the end.
    queries = [attack.beta * attack.rounds * attack.restarts for _, attack in settings]
    order = sorted(range(len(settings)), key=lambda number: -queries[number])
    rows: list[dict[str, Any]] = [{}] * len(settings)
    for place, row in results_in_parallel(given, [settings[number] for number in order], jobs):
        recommender, _ = settings[order[place]]
        rows[order[place]] = row
        said = f"{NAMES[recommender.method]}, {recommender.similarity}, {row['fakes']} fakes: {row['seconds']:.1f} s"
        progress(Step(said, sum(map(bool, rows)) / len(rows)))
    return rows


def _row(
    ratings: Ratings,
    targets: np.ndarray | int | None,
    paired: bool,
    threads: int | None,
    recommender: Recommender,
    attack: Attack,
) -> dict[str, Any]:
    start = time.perf_counter()
    outcome = simulate(ratings, recommender, attack, targets, paired=paired, threads=threads)
    row: dict[str, Any] = {"fakes": outcome.num_fakes, "targets": len(outcome.targets)}
    row |= {metric.name: metric for metric in outcome.metrics() if metric.low is not None}
    return row | {"seconds": time.perf_counter() - start}
