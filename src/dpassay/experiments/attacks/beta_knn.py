"""The beta-kNN attack on every recommender, similarity and beta: what fakes find out, and where beta protects."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.attacks.beta_knn.settings import Attack, UserMethod
from dpassay.attacks.beta_knn.sweeps import compare, sweep
from dpassay.attacks.metrics import Metric
from dpassay.core.records import Table
from dpassay.data.rating_files import ratings_or_synthetic
from dpassay.data.ratings import Ratings
from dpassay.runs.parallel import processors

BETAS = (1.0, 2.0, 4.0, 8.0)
SHOWN = ("yield", "precision", "guess-precision", "exact-value", "advantage", "surrounded", "target-seen")
TARGETS = {False: 100, True: 20}  # by whether it is a quick run
ATTACKED: tuple[tuple[UserMethod, float], ...] = (("knn", 1.0), ("ppns", 4.0))
"""Where the attack works best: what else matters is tried on these recommenders and betas."""
VARIATIONS: dict[str, dict[str, Any]] = {
    "as in the first table": {},
    "p = 0.3": {"probability": 0.3},
    "p = 0.7": {"probability": 0.7},
    "p = 0.9": {"probability": 0.9},
    "every fake asks twice": {"rounds": 2},
    "every fake asks 4 times": {"rounds": 4},
    "every fake asks 8 times": {"rounds": 8},
    "every fake asks 8 times, neighbors kept": {"rounds": 8, "fresh": False},
    "4 ratings known": {"num_known": 4},
    "16 ratings known": {"num_known": 16},
    "the most popular items known": {"choice": "popular"},
    "the rarest items known": {"choice": "rare"},
    "a quarter of what is known is wrong": {"wrong": 0.25},
    "three attacks, each with other known items": {"restarts": 3},
    "10 others are attacked at the same time": {"other_attackers": 10},
    "top-10 lists shown": {"channel": "top_n"},
    "top-10 lists and predictions shown": {"channel": "both"},
    "ties: the older account first": {"ties": "index"},
    "ties: fakes first": {"ties": "fakes_first"},
    "defense: overlap of at least 4": {"min_overlap": 4},
    "defense: overlap of at least 12": {"min_overlap": 12},
    "defense: significance weight of 20": {"significance": 20},
}
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
    varied = vary(ratings, quick=quick, seed=seed, progress=progress)
    return {
        "inputs": [ratings.described()],
        "tables": [*tables(rows, ratings.name), variation_table(varied)],
        "runs": records([*rows, *varied]),
    }


def measure(
    ratings: Ratings, *, quick: bool = False, seed: int = 0, progress: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Attacks random targets in every combination; see `dpassay.attacks.beta_knn.sweeps.sweep` for the rows.

    Args:
        ratings: the dataset.
        quick: fewer targets and betas.
        seed: of everything random.
        progress: told what was simulated.
    """
    return sweep(
        ratings,
        get_args(UserMethod),
        BETAS[::3] if quick else BETAS,
        ("full_cosine", "cosine"),
        recommender=_recommender(ratings),
        attack=Attack(seed=seed),
        targets=TARGETS[quick],
        paired=True,
        jobs=_jobs(quick),
        progress=progress,
    )


def vary(
    ratings: Ratings, *, quick: bool = False, seed: int = 0, progress: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """The two attacks of `ATTACKED` with one thing changed at a time.

    Args:
        ratings: the dataset.
        quick: fewer targets and variations.
        seed: of everything random.
        progress: told what was simulated.

    Returns:
        The rows of `dpassay.attacks.beta_knn.sweeps.compare` with "variation", "similarity", "method" and "beta".
    """
    base, named, settings = _recommender(ratings), [], []
    for method, beta in ATTACKED:
        for variation, changes in list(VARIATIONS.items())[:: 7 if quick else 1]:
            if method != "ppns" and ("probability" in changes or "rounds" in changes):
                continue  # the nearest neighbors are the same in every round, but for ties
            ours = {name: value for name, value in changes.items() if name in Recommender.__dataclass_fields__}
            theirs = {name: value for name, value in changes.items() if name not in ours}
            recommender = replace(base, method=method, **ours)
            named.append({"variation": variation, "similarity": recommender.similarity, "method": method, "beta": beta})
            settings.append((recommender, Attack(beta=beta, seed=seed, **theirs)))
    rows = compare(ratings, settings, TARGETS[quick], paired=True, jobs=_jobs(quick), progress=progress)
    return [names | row for names, row in zip(named, rows, strict=True)]


def variation_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows of `vary` as a table."""
    shown = [name for name in SHOWN if name != "surrounded"]
    return Table(
        "What makes the attack stronger or weaker, one thing changed at a time (95% intervals)",
        ["recommender", "beta", "change", "targets", *shown],
        [
            [
                row["method"],
                f"{row['beta']:g}",
                row["variation"],
                row["targets"],
                *_cells(row, shown),
            ]
            for row in rows
        ],
    )


def _recommender(ratings: Ratings) -> Recommender:
    return Recommender(num_neighbors=max(2, min(50, ratings.num_users // 10)), max_rating=max(ratings.scale[1], 1.0))


def _jobs(quick: bool) -> int:
    return 1 if quick else processors()


def _cells(row: dict[str, Any], names: Sequence[str]) -> list[str]:
    return [row[name].cell() if name in row else "-" for name in names]


def tables(rows: Sequence[dict[str, Any]], name: str) -> list[Table]:
    """The rows as a table, and for every recommender the smallest beta from which on the attack is stopped
    (sec. 4.2 of Lu and Shen reads beta as the cost that a recommender forces on the attacker).

    Args:
        rows: of `measure`.
        name: of the dataset.
    """
    targets, known = rows[0]["targets"], Attack().num_known
    columns = ["similarity", "recommender", "beta", "fakes", *SHOWN]
    whole = Table(
        f"The beta-kNN attack on {name}: {targets} targets, {known} known ratings, predicted ratings shown "
        "(95% intervals)",
        columns,
        [
            [
                row["similarity"],
                row["method"],
                f"{row['beta']:g}",
                row["fakes"],
                *_cells(row, SHOWN),
            ]
            for row in rows
        ],
    )
    safe = []
    for similarity, method in dict.fromkeys((row["similarity"], row["method"]) for row in rows):
        own = [row for row in rows if (row["similarity"], row["method"]) == (similarity, method)]
        failing = [row["beta"] for row in own if not row["advantage"].high < STOPPED]
        stopped = [row["beta"] for row in own if row["beta"] > max(failing, default=0.0)]
        safe.append([similarity, method, f"{min(stopped):g}" if stopped else f"above {max(failing):g}"])
    smallest = Table(
        f"Smallest beta tried from which on the advantage is certainly below {STOPPED:g} (95% confidence)",
        ["similarity", "recommender", "beta"],
        safe,
    )
    return [whole, smallest]


def records(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `measure` and `vary` as JSON."""
    return [{name: asdict(cell) if isinstance(cell, Metric) else cell for name, cell in row.items()} for row in rows]
