"""The experiment `ppns`: the tables of section 7 of Lu and Shen, and what the repaired selections cost."""

import math
from dataclasses import asdict
from typing import Any

from dpassay.core.claims import Context
from dpassay.core.records import Table
from dpassay.core.registry import find_claim
from dpassay.experiments.ppns.utility import EPSILONS, FLOORS, repaired_utility, utility_tables
from dpassay.experiments.request import Request

_TABLES = ("PP-DATA", "PP-TAB1", "PP-TAB2", "PP-TAB3", "PP-TAB4", "PP-F1", "PP-F2", "PP-F3", "PP-F4", "PP-TREND")


def run(request: Request) -> dict[str, Any]:
    """Judges the paper's tables on MovieLens 100K, and measures the repaired selections on any ratings.

    Quick: fewer readings of the protocol, draws and settings.
    """
    ratings, quick = request.ratings, request.quick
    context = Context(ratings, quick, request.seed, progress=request.progress)
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
    results = repaired_utility(ratings, epsilons, floors, neighbors, 1 if quick else 2, request.seed, request.progress)
    return {
        "inputs": [ratings.described()],
        "outcomes": outcomes,
        "tables": [*tables, *utility_tables(results, ratings.name)],
        "runs": [{**asdict(each), "epsilon": each.epsilon if each.epsilon < math.inf else None} for each in results],
        "certificates": certificates,
    }
