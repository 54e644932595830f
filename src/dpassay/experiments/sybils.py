"""The beta-kNN attack on every recommender, similarity and beta: what fakes find out, and where beta protects."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpassay.attacks.beta_knn import Attack, sweep
from dpassay.attacks.neighbor_lists import METHODS, Recommender
from dpassay.attacks.outcomes import Metric
from dpassay.data import ratings_or_synthetic
from dpassay.ratings import Ratings

__all__ = ["measure", "records", "run", "tables"]

BETAS = (1.0, 2.0, 4.0, 8.0)
SHOWN = ("yield", "precision", "guess-precision", "exact-value", "advantage", "surrounded", "target-seen")
STOPPED = 0.1
"""Advantage below which an attack is called stopped; the share found out counts what popularity gives away, too."""


def run(
    data: Ratings | Path | str | None = None,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The experiment `beta-knn`; see `measure`."""
    ratings = ratings_or_synthetic(data)
    rows = measure(ratings, quick=quick, seed=seed, progress=progress)
    return {"inputs": [ratings.described()], "tables": tables(rows, ratings.name), "runs": records(rows)}


def measure(
    ratings: Ratings, *, quick: bool = False, seed: int = 0, progress: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Attacks random targets in every combination; see `dpassay.attacks.beta_knn.sweep` for the rows.

    Args:
        ratings: the dataset.
        quick: fewer targets and betas.
        seed: of everything random.
        progress: told what was simulated.
    """
    return sweep(
        ratings,
        METHODS,
        BETAS[::3] if quick else BETAS,
        ("full_cosine", "cosine"),
        recommender=Recommender(
            num_neighbors=max(2, min(50, ratings.num_users // 10)), max_rating=max(ratings.scale[1], 1.0)
        ),
        attack=Attack(seed=seed),
        targets=20 if quick else 100,
        paired=True,
        jobs=1 if quick else os.cpu_count() or 1,
        progress=progress,
    )


def tables(rows: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The rows as a table, and for every recommender the smallest beta from which on the attack is stopped
    (sec. 4.2 of Lu and Shen reads beta as the cost that a recommender forces on the attacker).

    Args:
        rows: of `measure`.
        name: of the dataset.
    """
    targets, known = rows[0]["targets"], Attack().num_known
    columns = ["similarity", "recommender", "beta", "fakes", *SHOWN]
    whole = {
        "title": f"The beta-kNN attack on {name}: {targets} targets, {known} known ratings, predicted ratings shown "
        "(95% intervals)",
        "columns": columns,
        "rows": [
            [
                row["similarity"],
                row["method"],
                f"{row['beta']:g}",
                row["fakes"],
                *(row[m].cell() if m in row else "-" for m in SHOWN),
            ]
            for row in rows
        ],
    }
    safe = []
    for similarity, method in dict.fromkeys((row["similarity"], row["method"]) for row in rows):
        own = [row for row in rows if (row["similarity"], row["method"]) == (similarity, method)]
        failing = [row["beta"] for row in own if not row["advantage"].high < STOPPED]
        stopped = [row["beta"] for row in own if row["beta"] > max(failing, default=0.0)]
        safe.append([similarity, method, f"{min(stopped):g}" if stopped else f"above {max(failing):g}"])
    smallest = {
        "title": f"Smallest beta tried from which on the advantage is certainly below {STOPPED:g} (95% confidence)",
        "columns": ["similarity", "recommender", "beta"],
        "rows": safe,
    }
    return [whole, smallest]


def records(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `measure` as JSON."""
    return [{name: asdict(cell) if isinstance(cell, Metric) else cell for name, cell in row.items()} for row in rows]
