"""The report of `dpassay attack beta-knn` on item-based recommenders; the attack itself is in `items`."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel, described, rated_rows
from dpassay.attacks.beta_knn.items import NAMES, ItemOutcome, ItemScene
from dpassay.attacks.beta_knn.settings import ItemMethod, ItemSettings
from dpassay.attacks.metrics import Metric, by_name
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings

BARE = "without fakes"
LIMITS = (
    "All fakes hold the same known ratings; fakes that hold one known item each could tell which of them a "
    "prediction comes from.",
    "The attacker ranks items by simple sums of evidence, not by an exact posterior: a failure here is no "
    "proof of safety.",
    "Each target is attacked alone, and the shop is taken to recompute similarities after the fakes arrive.",
)


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks users of an item-based recommender, each alone; the settings are those of `ItemSettings`.

    Raises:
        InvalidInput: a setting out of range, or a dataset too small for it.
    """
    started = time.perf_counter()
    chosen = ItemSettings(**settings)
    method = chosen.method
    scene = ItemScene(ratings, chosen)
    outcome = scene.outcome(progress)
    others: dict[str, ItemOutcome] = {}
    if method != "pnsa_repaired":
        others["pnsa_repaired"] = ItemScene(ratings, replace(chosen, method="pnsa_repaired")).outcome(progress)
    if chosen.public and chosen.num_fakes:
        others[BARE] = ItemScene(ratings, replace(chosen, beta=0.0)).outcome(progress)
    metrics = outcome.metrics()
    advantage = by_name(metrics)["advantage"]
    about: dict[str, Any] = {"mechanism": "item_knn", "parameters": {"num_neighbors": chosen.num_neighbors}}
    if scene.selection is not None:
        about = described(scene.selection, "target")
    return AttackReport(
        attack="beta-knn",
        title=f"Fake accounts in a recommender that compares items ({NAMES[method]})",
        **about,
        threat_model=ThreatModel(
            knows=f"{chosen.num_known} of the target's ratings ({chosen.choice}), how many users rated every item, and "
            "its mean",
            does=f"creates {chosen.num_fakes} accounts that hold exactly these ratings"
            if chosen.num_fakes
            else "nothing",
            sees=_sees(chosen),
        ),
        summary=_summary(chosen, outcome, others.get(BARE), advantage),
        settings=asdict(chosen) | {"targets": len(outcome.targets), "fakes": chosen.num_fakes},
        metrics=metrics,
        dataset=ratings,
        tables=[_comparison({method: outcome, **others})],
        victim=_victim(scene, outcome),
        privacy=[_privacy(chosen, ratings.num_items, advantage)],
        repair=_repair(method, outcome, others.get("pnsa_repaired", outcome)),
        limits=LIMITS,
        seed=chosen.seed,
        seconds=time.perf_counter() - started,
    )


def _summary(settings: ItemSettings, outcome: ItemOutcome, bare: ItemOutcome | None, advantage: Metric) -> list[str]:
    value = _values(outcome)
    fakes = f"{settings.num_fakes} fake accounts and " if settings.num_fakes else ""
    sentences = [
        f"With {fakes}{settings.num_known} known ratings of each of {len(outcome.targets)} users, the attacker named "
        f"{value['inferred']:.0f} further items per user: {value['precision']:.0%} were right, which found "
        f"{value['yield']:.1%} of the ratings that he did not know.",
        f"Naming as many of the most popular items instead is right in {value['guess-precision']:.0%}, and finds "
        f"{value['guess-yield']:.1%}.",
        outcome.beside_guess(advantage),
    ]
    if bare is not None:
        sentences.append(
            f"Without any fake accounts, reading the same public lists, {_values(bare)['precision']:.0%} are right."
        )
    return sentences


def _values(outcome: ItemOutcome) -> Mapping[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics()}


def _repair(method: ItemMethod, outcome: ItemOutcome, repaired: ItemOutcome) -> dict[str, Any]:
    return {
        "text": "Draw neighbors by normalized similarities with a constant sensitivity (PNSA repaired), which "
        "makes the claim true for one list.\nThe price: a list keeps "
        f"{np.nanmean(repaired.kept):.1%} of the k most similar items of positive similarity, where "
        f"{NAMES[method]} keeps {np.nanmean(outcome.kept):.1%}.",
        "tables": [],
    }


def _victim(scene: ItemScene, outcome: ItemOutcome) -> dict[str, Any]:
    """The target with the median number of right names."""
    number = int(np.argsort(outcome.hits, kind="stable")[len(outcome.hits) // 2])
    rows = rated_rows(scene.matrix[scene.targets[number], outcome.named[number][:8]])
    return {
        "story": [
            f"The attacker knows {scene.settings.num_known} ratings of user A, who has "
            f"{outcome.hidden[number]:.0f} more.",
            f"He names {outcome.inferred[number]:.0f} items; {outcome.hits[number]:.0f} are right, and "
            f"{outcome.guess_hits[number]:.0f} of as many popular ones would be.",
        ],
        "tables": [Table("Items named first", ["item", "rated by user A", "her rating"], rows)],
    }


def _sees(settings: ItemSettings) -> str:
    what = {
        "similar_items": f"the public lists of {settings.num_neighbors} similar items of the known items",
        "similar_scores": f"the public lists of {settings.num_neighbors} similar items of the known items, with scores",
        "ratings": "the ratings predicted for the fakes",
        "top_n": f"the {settings.list_length} items recommended to each fake",
        "both": f"the {settings.list_length} items recommended to each fake, with predicted ratings",
    }[settings.channel]
    when = "before and after the target's unknown ratings arrive" if settings.looks == "twice" else "at one time"
    return f"{what}, {when}, {settings.rounds} time{'s' if settings.rounds > 1 else ''}"


def _comparison(outcomes: dict[str, ItemOutcome]) -> Table:
    names = ("yield", "precision", "guess-precision", "advantage")
    rows = []
    for label, outcome in outcomes.items():
        values = _values(outcome)
        numbers = [*(values[name] for name in names), float(np.nanmean(outcome.kept))]
        rows.append([NAMES.get(label, label), *(f"{number:.3f}" for number in numbers)])
    return Table(
        "The same attack on the repaired selection, and without fake accounts",
        ["recommender", *names, "share of the true neighbors in a list"],
        rows,
    )


def _privacy(settings: ItemSettings, num_items: int, advantage: Metric) -> Privacy:
    what = "one of the target's ratings, present or absent, all lists together"
    if settings.method == "item_knn":
        says = f"Nothing is claimed; the attacker's advantage is {advantage.value:.3f} of at most 1."
        return Privacy(what, math.inf, None, advantage, says)
    lists = settings.lists * settings.num_looks
    if settings.public:
        total = lists * settings.num_known * settings.epsilon * (1.0 if settings.channel == "similar_scores" else 0.5)
    else:
        total = lists * (num_items - settings.num_known) * settings.epsilon
    permitted = permitted_advantage(total)
    above = advantage.surely_above(permitted)
    says = (
        f"The claim is for one item's list; all that were read add up to epsilon {total:g}, which permits "
        f"{permitted:.3f}. The observed {advantage.value:.3f} is {'above' if above else 'not shown to be above'} it."
    )
    return Privacy(what, total, None, advantage, says)
