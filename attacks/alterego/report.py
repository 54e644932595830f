"""The report of `dpassay attack alterego`; the attack itself is `dpassay.attacks.alterego.measurement`."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpassay.attacks.advantage import permitted_advantage
from dpassay.attacks.alterego.alteregos import VARIANTS
from dpassay.attacks.alterego.measurement import NAMES, Result, World, measured
from dpassay.attacks.alterego.settings import AlterEgoSettings, Method
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel, described, rated_rows
from dpassay.attacks.metrics import Metric, by_name, difference_metric, mean_metric, metric_series
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import mechanism

LIMITS = (
    "Theorem 1 of X-Map's report is about the users behind the similarities. That its epsilon also covers the "
    "replaced item is what a reader may hope for, and true of the repaired selection only.",
    "Both domains come from one catalogue that was split at random: real domains share fewer users, and their "
    "similarities are weaker.",
    "The attacked users have no own ratings in the target domain, which would mix with the mapped ones.",
    "Items are weighed one at a time against a background of popular items; an attacker who weighs whole "
    "histories may find more.",
    "The paired experiments attack one randomly chosen rating of every user; single ratings may be worse off.",
)


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks the AlterEgos of some users; the ratings' catalogue is split at random into two domains.

    The settings are those of `AlterEgoSettings`.

    Raises:
        InvalidInput: a setting out of range, or too few ratings to split.
    """
    started = time.perf_counter()
    chosen = AlterEgoSettings(**settings)
    method, epsilon, rounds = chosen.method, chosen.epsilon, chosen.rounds
    world, results = measured(ratings, chosen, method, progress)
    result = results[method]
    metrics = result.metrics()
    found = by_name(metrics)
    about: dict[str, Any] = {"mechanism": "alterego", "parameters": {}}
    if method != "alterego":
        prs = mechanism("prs", VARIANTS[method], epsilon=epsilon, num_source_items=world.num_sources)
        about = described(prs, "source_item")
    return AttackReport(
        attack="alterego",
        title=f"What a mapped profile tells about its owner's ratings ({NAMES[method]})",
        **about,
        threat_model=ThreatModel(
            knows="the table of item similarities, every item's popularity, and how many items the user rated; in the "
            "paired experiments all about her but one secret, and which entry it became (X-Map copies its time)",
            does="nothing but compare: no accounts, no false ratings",
            sees=f"the items and ratings of {rounds} mapped profile{'s' if rounds > 1 else ''} of the user",
        ),
        summary=_summary(result, found, rounds),
        settings={
            **{name: value for name, value in vars(chosen).items() if name != "seed"},
            "targets": len(world.profiles),
            "source_items": world.num_sources,
            "target_items": ratings.num_items - world.num_sources,
            "bridge_users": len(world.bridges),
        },
        metrics=metrics,
        dataset=ratings,
        tables=[_pairs_table(result)],
        plots=[_rounds_plot(result, method)] if rounds > 1 else [],
        victim=_victim(world, result),
        privacy=_privacies(result, found, math.inf if method == "alterego" else epsilon, rounds),
        repair=_repair(results),
        limits=LIMITS,
        seed=chosen.seed,
        seconds=time.perf_counter() - started,
    )


def _summary(result: Result, metrics: Mapping[str, Metric], rounds: int) -> list[str]:
    value = {name: metric.value for name, metric in metrics.items()}
    if not result.shown.any():
        return [
            "No mapped profile held an item of the source domain, so the attacker could name none: no two items of "
            "these ratings have a similarity above 0 across the domains."
        ]
    return [
        f"From {'one mapped profile' if rounds == 1 else f'{rounds} mapped profiles'} of each of {len(result.shown)} "
        f"users, the attacker named as many source-domain items as were shown (on average {result.shown.mean():.0f}): "
        f"{value['source-precision']:.0%} were right, which found {value['source-recall']:.0%} of all items that the "
        "users had rated.",
        f"Naming the most popular items without looking at any profile: {value['guess-precision']:.0%} right, "
        f"{value['guess-recall']:.0%} found.",
        f"Told that a user rated one of two items, the attacker picked the right one in "
        f"{(1 + value['advantage']) / 2:.0%} of all cases (a coin: 50%); told that her rating was one of two values, "
        f"in {(1 + value['value-advantage']) / 2:.0%}: the mapped profile repeats the ratings.",
    ]


def _repair(results: Mapping[Method, Result]) -> dict[str, Any]:
    repaired = {metric.name: metric.value for metric in results["prs_repaired"].metrics()}
    return {
        "text": "Draw from the whole public catalogue of the target domain, with sensitivity 2 (PRS repaired): "
        f"then {repaired['source-precision']:.0%} of the named items are right, where popularity alone gives "
        f"{repaired['guess-precision']:.0%}, and of two items the right one is picked in "
        f"{(1 + repaired['advantage']) / 2:.1%} of all cases.\nThe price: a replacement's mean similarity to the item "
        f"is {results['prs_repaired'].quality:.3f}, where the most similar one has {results['alterego'].quality:.3f}. "
        "The values of the ratings and the number of entries stay visible and need a randomization of their own, and "
        "every further profile spends epsilon for each rating again.",
        "tables": [_methods_table(results)],
    }


def _privacies(result: Result, metrics: Mapping[str, Metric], epsilon: float, rounds: int) -> list[Privacy]:
    """One draw by its exact law, and all rounds as observed."""
    entries = []
    for name, (_, distance, loss), what in (
        ("advantage", result.swap, "the replaced item (a history with one item exchanged for another)"),
        ("join-advantage", result.join, "the data behind the similarities (one user more or less)"),
    ):
        if np.isnan(distance).all():
            continue
        unbounded = int(np.isinf(loss).sum())
        found = float(loss.max())
        above = int((distance > permitted_advantage(epsilon)).sum())
        says = "" if math.isinf(epsilon) else f"for {above} of {len(loss)} pairs it is above what the claim permits; "
        says += (
            f"for {unbounded} of {len(loss)} pairs the loss is infinite: one side has a replacement that the other "
            "cannot have."
            if unbounded
            else f"the largest exact loss of {len(loss)} pairs is {found:.3f}."
        )
        exact = difference_metric(name, distance, "exact TPR - FPR of the best test of one draw, mean over the pairs")
        says = f"The best test of one draw has the advantage {exact.value:.3f} on average; {says}"
        entries.append(Privacy(f"{what}, one draw seen", epsilon, found, exact, says))
        if rounds > 1:
            says = f"{rounds} independent draws add up: the advantage observed is {metrics[name].value:.3f}."
            seen = f"{what}, {rounds} draws seen"
            entries.append(Privacy(seen, rounds * epsilon, rounds * found, metrics[name], says))
    says = "Ratings are copied into the mapped profile without any protection, so that the loss is infinite."
    entries.append(Privacy("the value of one rating", epsilon, math.inf, metrics["value-advantage"], says))
    return entries


def _pairs_table(result: Result) -> Table:
    rows = []
    for label, (observed, distance, loss) in (("one item exchanged", result.swap), ("one user more", result.join)):
        if np.isnan(observed).all():
            continue
        finite = loss[np.isfinite(loss)]
        numbers = [f"{each:.4f}" for each in (observed.mean(), distance.mean(), distance.max())]
        largest = f"{finite.max():.4f}" if len(finite) else "none finite"
        rows.append([label, len(observed), *numbers, int(np.isinf(loss).sum()), largest])
    return Table(
        "Neighboring histories and datasets: the measured advantage, and the exact law of one draw",
        [
            "neighbors",
            "pairs",
            "observed advantage, all rounds",
            "exact advantage of one draw, mean",
            "largest",
            "pairs of infinite loss",
            "largest finite loss (nats)",
        ],
        rows,
    )


def _methods_table(measured: Mapping[Method, Result]) -> Table:
    names = ("source-precision", "guess-precision", "auc", "advantage", "join-advantage", "value-advantage")
    rows = []
    for method, result in measured.items():
        found = by_name(result.metrics())
        quality = f"{round(result.quality, 3) + 0.0:.3f}"
        rows.append([NAMES[method], quality, *(f"{found[name].value:.3f}" for name in names)])
    columns = ["replacement", "mean similarity of a replacement", *names]
    return Table("The same attack on every way to choose replacements", columns, rows)


def _rounds_plot(result: Result, method: Method) -> Plot:
    found = [mean_metric("", column / result.rated, weights=result.rated) for column in result.hits.T]
    series = metric_series(NAMES[method], result.looks, found)
    base = float(result.guess_hits.sum() / result.rated.sum())
    return Plot(
        "Source items found, by the number of mapped profiles seen",
        "mapped profiles seen",
        "share of the users' source items",
        [series, Series("most popular items", list(result.looks), [base] * len(result.looks))],
    )


def _victim(world: World, result: Result) -> dict[str, Any]:
    """The user with the median share of right names."""
    shares = result.hits[:, -1] / np.maximum(result.shown, 1)
    user = int(np.argsort(shares, kind="stable")[len(shares) // 2])
    egos = result.alteregos
    order = [item for item in np.argsort(-result.order[user], kind="stable") if result.named[user, item]][:8]
    rows = rated_rows(world.profiles[user, order])
    return {
        "story": [
            f"User A rated {result.rated[user]} source-domain items; a mapped profile of hers shows "
            f"{int(egos.shown[user, 0].sum())} items of the other domain.",
            f"The attacker names {result.shown[user]} source items, and {result.hits[user, -1]} of them are right; the "
            f"most popular ones would give {result.guess_hits[user]}.",
        ],
        "tables": [Table("What the attacker is surest of", ["source item", "rated by user A", "her rating"], rows)],
    }
