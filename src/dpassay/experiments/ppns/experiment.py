"""The experiment `ppns`: the tables of section 7 of Lu and Shen, and what the repaired selections cost."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from dpassay.core.claims import Claim, Context
from dpassay.core.progress import Say, silent
from dpassay.core.records import plain
from dpassay.core.registry import find_claim
from dpassay.data.ratings import Ratings
from dpassay.experiments.ppns.utility import EPSILONS, FLOORS, Accuracy, Method, accuracy, methods, utility_tables
from dpassay.experiments.request import Request
from dpassay.runs.code import data_digest
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker

_TABLES = ("PP-DATA", "PP-TAB1", "PP-TAB2", "PP-TAB3", "PP-TAB4", "PP-F1", "PP-F2", "PP-F3", "PP-F4", "PP-TREND")


def run(request: Request) -> dict[str, Any]:
    """Judges the paper's tables on MovieLens 100K, and measures the repaired selections on any ratings.

    Quick: fewer readings of the protocol, draws and settings.
    """
    ratings, quick, seed = request.ratings, request.quick, request.seed
    claims = [claim for claim in map(find_claim, _TABLES) if claim and claim.data in ("", ratings.name)]
    plan = [Planned({"claim": claim.id, "quick": quick, "seed": seed}, (claim,), claim.id) for claim in claims]
    effort = {"num_neighbors": min(50, (ratings.num_users - 1) // 4), "draws": 1 if quick else 2, "seed": seed}
    for method in methods(*((EPSILONS[1::2], FLOORS[2:3]) if quick else (EPSILONS, FLOORS))):
        about = {"method": method.name, "epsilon": method.epsilon, "norm_floor": method.norm_floor}
        plan.append(Planned(_finite(about | effort), (method,), method.text))
    deciders = [claim.decide.partition(":")[0] for claim in claims]
    finished = Kept(request.resume, [ratings.fingerprint(), data_digest()], __name__, *deciders)
    work = PerWorker(_Measuring, ratings, quick, effort)
    found = finished.all(plan, work, request.executor, request.progress, tells=True)
    judged, runs = found[: len(claims)], found[len(claims) :]
    measured = list(map(_accuracy, runs))
    return {
        "inputs": [ratings.described()],
        "outcomes": {each["claim"]: each["outcome"] for each in judged},
        "tables": [*itertools.chain(*(each["tables"] for each in judged)), *utility_tables(measured, ratings.name)],
        "runs": runs,
        "certificates": {
            f"{each['claim']}-{number}": body for each in judged for number, body in enumerate(each["bodies"], start=1)
        },
    }


class _Measuring:
    """Judges claims and measures methods on the same ratings, whose folds and similarities are kept."""

    def __init__(self, ratings: Ratings, quick: bool, effort: Mapping[str, int]) -> None:
        self.context, self.effort = Context(ratings, quick, effort["seed"]), effort

    def __call__(self, task: Claim | Method, progress: Say = silent) -> dict[str, Any]:
        if isinstance(task, Method):
            return _finite(asdict(accuracy(self.context.data, task, **self.effort)))
        verdict = task.judge(replace(self.context, progress=progress))
        tables = list(itertools.chain.from_iterable(each.tables for each in verdict.evidence))
        bodies = [each.certificate for each in verdict.evidence]
        return {"outcome": verdict.outcome, "tables": plain(tables), "bodies": plain(bodies)}


def _finite(run: Mapping[str, Any]) -> dict[str, Any]:
    """JSON-able: no epsilon where there is no privacy."""
    return {**run, "epsilon": None if run["epsilon"] == math.inf else run["epsilon"]}


def _accuracy(run: Mapping[str, Any]) -> Accuracy:
    known = {each.name: run[each.name] for each in fields(Accuracy)}
    return Accuracy(**{**known, "epsilon": math.inf if run["epsilon"] is None else run["epsilon"]})
