"""The beta-kNN attack on every recommender, similarity and beta: what fakes find out, and where beta protects."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from typing import Any, get_args

from dpassay.attacks.beta_knn import sweeps
from dpassay.attacks.beta_knn.recommender import Recommender, with_beta
from dpassay.attacks.beta_knn.settings import Attack, UserMethod
from dpassay.attacks.beta_knn.sweeps import Combination
from dpassay.attacks.metrics import Metric
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.request import Request
from dpassay.runs.kept import Kept, Planned
from dpassay.runs.parallel import PerWorker, own_processes

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


def run(request: Request) -> dict[str, Any]:
    """Attacks random targets in every combination, and the two attacks of `ATTACKED` with one thing changed at a time.

    Quick: fewer targets, betas and variations.
    """
    ratings, combined, changed = request.ratings, combinations(request), variations(request)
    chosen = [*combined, *changed]
    finished = Kept(request.resume, [ratings.fingerprint()], __name__)
    targets, alone = TARGETS[request.quick], request.executor is None and request.quick
    order, plan = sweeps.longest_first(chosen), []
    for number in order:
        names, recommender, attack = chosen[number]
        about = {"recommender": asdict(recommender), "attack": asdict(attack), "targets": targets}
        plan.append(Planned(about, (recommender, attack), ", ".join(map(str, names.values()))))
    work = PerWorker(partial, _measured, ratings, targets, None if alone else 1)
    with nullcontext(request.executor) if alone or request.executor else own_processes() as executor:
        found = dict(zip(order, finished.all(plan, work, executor, request.progress), strict=True))
    runs = [{**names, **found[number]["found"]} for number, (names, _, _) in enumerate(chosen)]
    rows = [{name: _cell(value) for name, value in run.items()} for run in runs]
    return {
        "inputs": [ratings.described()],
        "tables": [*tables(rows[: len(combined)], ratings.name), variation_table(rows[len(combined) :])],
        "runs": runs,
    }


def combinations(request: Request) -> list[Combination]:
    """Every recommender, similarity and beta. Quick: fewer betas."""
    betas = BETAS[::3] if request.quick else BETAS
    base, attack = _recommender(request.ratings), Attack(seed=request.seed)
    return sweeps.combinations(get_args(UserMethod), betas, ("full_cosine", "cosine"), base, attack)


def variations(request: Request) -> list[Combination]:
    """The two attacks of `ATTACKED` with one thing changed at a time, and what it is. Quick: fewer variations."""
    base = _recommender(request.ratings)
    chosen: list[Combination] = []
    for method, beta in ATTACKED:
        for variation, changes in list(VARIATIONS.items())[:: 7 if request.quick else 1]:
            if method != "ppns" and ("probability" in changes or "rounds" in changes):
                continue  # the nearest neighbors are the same in every round, but for ties
            ours = {name: value for name, value in changes.items() if name in Recommender.__dataclass_fields__}
            theirs = {name: value for name, value in changes.items() if name not in ours}
            recommender = with_beta(replace(base, method=method, **ours), beta)
            names = {"variation": variation, "similarity": recommender.similarity, "method": method, "beta": beta}
            chosen.append((names, recommender, Attack(beta=beta, seed=request.seed, **theirs)))
    return chosen


def _measured(
    ratings: Ratings, targets: int, threads: int | None, recommender: Recommender, attack: Attack
) -> dict[str, Any]:
    """What an attack finds, JSON-able."""
    row = sweeps.measured(ratings, recommender, attack, targets, paired=True, threads=threads)
    return {"found": {name: asdict(cell) if isinstance(cell, Metric) else cell for name, cell in row.items()}}


def _cell(value: Any) -> Any:
    return Metric(**value) if isinstance(value, Mapping) else value


def variation_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows of `variations` as a table."""
    title = "What makes the attack stronger or weaker, one thing changed at a time (95% intervals)"
    return Table.of(title, _columns("method", "beta", "variation", "targets", without="surrounded"), rows)


def _recommender(ratings: Ratings) -> Recommender:
    return Recommender(num_neighbors=max(2, min(50, ratings.num_users // 10)), max_rating=max(ratings.scale[1], 1.0))


def _columns(*about: str, without: str = "") -> dict[str, Callable[[Mapping[str, Any]], Any]]:
    """Fields that name a row, then the metrics."""

    def cell(name: str, row: Mapping[str, Any]) -> Any:
        value = row.get(name, "-")
        return value.cell() if isinstance(value, Metric) else f"{value:g}" if name == "beta" else value

    titles = {"method": "recommender", "variation": "change"}
    shown = [*about, *(name for name in SHOWN if name != without)]
    return {titles.get(name, name): partial(cell, name) for name in shown}


def tables(rows: Sequence[dict[str, Any]], name: str) -> list[Table]:
    """The rows as a table, and for every recommender the smallest beta from which on the attack is stopped
    (sec. 4.2 of Lu and Shen reads beta as the cost that a recommender forces on the attacker).
    """
    targets, known = rows[0]["targets"], Attack().num_known
    about = f"{targets} targets, {known} known ratings, predicted ratings shown (95% intervals)"
    columns = _columns("similarity", "method", "beta", "fakes")
    whole = Table.of(f"The beta-kNN attack on {name}: {about}", columns, rows)
    safe = []
    for similarity, method in dict.fromkeys((row["similarity"], row["method"]) for row in rows):
        own = [row for row in rows if (row["similarity"], row["method"]) == (similarity, method)]
        failing = [row["beta"] for row in own if not row["advantage"].high < STOPPED]
        stopped = [row["beta"] for row in own if row["beta"] > max(failing, default=0.0)]
        safe.append([similarity, method, f"{min(stopped):g}" if stopped else f"above {max(failing):g}"])
    title = f"Smallest beta tried from which on the advantage is certainly below {STOPPED:g} (95% confidence)"
    return [whole, Table(title, ["similarity", "recommender", "beta"], safe)]
