"""The experiment `ppns`: the tables of section 7 of Lu and Shen, and what the repaired selections cost."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dpassay.core.claims import Context
from dpassay.core.records import Table
from dpassay.core.registry import find_claim
from dpassay.data.rating_files import ratings_or_synthetic
from dpassay.data.ratings import Ratings
from dpassay.experiments.ppns.utility import EPSILONS, FLOORS, repaired_utility, utility_tables

_TABLES = ("PP-DATA", "PP-TAB1", "PP-TAB2", "PP-TAB3", "PP-TAB4", "PP-F1", "PP-F2", "PP-F3", "PP-F4", "PP-TREND")


def run(
    data: Ratings | Path | str | None = None,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Judges the paper's tables on MovieLens 100K, and measures the repaired selections on any ratings.

    Arguments are those of `dpassay.experiments.run`. Quick: fewer readings of the protocol, draws and settings.
    """
    ratings = ratings_or_synthetic(data)
    context = Context(ratings, quick, seed, progress=progress)
    tables: list[Table] = []
    outcomes: dict[str, str] = {}
    certificates: dict[str, Any] = {}
    for claim_id in _TABLES:
        claim = find_claim(claim_id)
        if claim is None or (claim.data and claim.data != ratings.name):
            continue
        verdict = claim.judge(context)
        outcomes[claim_id] = verdict.outcome
        for number, evidence in enumerate(verdict.evidence):
            tables += evidence.tables
            certificates[f"{claim_id}-{number + 1}"] = evidence.certificate
    neighbors = min(50, (ratings.num_users - 1) // 4)
    epsilons, floors = (EPSILONS[1::2], FLOORS[2:3]) if quick else (EPSILONS, FLOORS)
    results = repaired_utility(ratings, epsilons, floors, neighbors, 1 if quick else 2, seed, progress)
    return {
        "inputs": [ratings.described()],
        "outcomes": outcomes,
        "tables": [*tables, *utility_tables(results, ratings.name)],
        "runs": [
            {**asdict(result), "epsilon": result.epsilon if result.epsilon < float("inf") else None}
            for result in results
        ],
        "certificates": certificates,
    }
