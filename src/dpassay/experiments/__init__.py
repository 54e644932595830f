"""Experiments that rerun the papers' tables, ours beside theirs."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpassay.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.ratings import Ratings

__all__ = ["EXPERIMENTS", "run"]

EXPERIMENTS = ("ppns", "beta-knn")
_TABLES = ("PP-DATA", "PP-TAB1", "PP-TAB2", "PP-TAB3", "PP-TAB4", "PP-F1", "PP-F2", "PP-F3", "PP-F4", "PP-TREND")


def run(
    name: str,
    data: "Ratings | Path | str | None" = None,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Runs one of `EXPERIMENTS`: a paper's tables, or an attack on everything it can be aimed at.

    Args:
        name: "ppns", or "beta-knn" for the sybil attack by recommender, similarity and beta.
        data: ratings, or where to read them; None takes the small synthetic set. The paper's tables are rerun on
            MovieLens 100K only; the cost of the repaired selections is measured on any ratings.
        quick: fewer readings of the protocol, draws and settings.
        seed: of everything random.
        progress: called with a short text when a long step advances.

    Returns:
        A JSON-able result: "input" with the data's name and hash, "seed", "tables" ({"title", "columns", "rows"}),
        "metrics" with one record per measured method, and of a paper's experiments "outcomes" by claim and "runs".

    Raises:
        InvalidInput: unknown experiment or unreadable data.
    """
    if name not in EXPERIMENTS:
        raise InvalidInput(f"no experiment is called {name!r}; choose from {', '.join(EXPERIMENTS)}")
    from dpassay.claims import Context
    from dpassay.data import load_ratings
    from dpassay.experiments.utility import EPSILONS, FLOORS, repaired_utility, utility_tables
    from dpassay.ratings import Ratings, synthetic
    from dpassay.registry import find_claim

    ratings = synthetic() if data is None else data if isinstance(data, Ratings) else load_ratings(data)
    described = {
        "experiment": name,
        "input": {"name": ratings.name, "sha256": ratings.fingerprint(), "ratings": len(ratings)},
        "quick": quick,
        "seed": seed,
    }
    if name == "beta-knn":
        from dpassay.experiments import sybils

        rows = sybils.measure(ratings, quick=quick, seed=seed, progress=progress)
        return {**described, "tables": sybils.tables(rows, ratings.name), "metrics": sybils.records(rows)}
    context = Context(ratings, quick, seed, progress=progress)
    tables: list[dict[str, Any]] = []
    outcomes: dict[str, str] = {}
    certificates: dict[str, Any] = {}
    for claim_id in _TABLES:
        claim = find_claim(claim_id)
        if claim is None or (claim.data and claim.data != ratings.name):
            continue
        verdict = claim.judge(context)
        outcomes[claim_id] = verdict.outcome
        for number, evidence in enumerate(verdict.evidence):
            tables += [dict(table) for table in evidence.tables]
            certificates[f"{claim_id}-{number + 1}"] = evidence.certificate
    neighbors = min(50, (ratings.num_users - 1) // 4)
    epsilons, floors = (EPSILONS[1::2], FLOORS[2:3]) if quick else (EPSILONS, FLOORS)
    results = repaired_utility(ratings, epsilons, floors, neighbors, 1 if quick else 2, seed, progress)
    tables += utility_tables(results, ratings.name)
    return {
        **described,
        "outcomes": outcomes,
        "tables": tables,
        "metrics": [
            {**asdict(result), "epsilon": result.epsilon if result.epsilon < float("inf") else None}
            for result in results
        ],
        "runs": certificates,
    }
