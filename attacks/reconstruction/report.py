"""The report of `dpassay attack reconstruction`; the attack itself is `dpassay.attacks.reconstruction.collector`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpassay.attacks.advantage import permitted_advantage, right
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel, described
from dpassay.attacks.metrics import Metric, explained, metric_series
from dpassay.attacks.reconstruction.collector import (
    advantage_limit,
    chosen_targets,
    collect,
    log_priors,
    rating_levels,
    tally_metrics,
)
from dpassay.attacks.reconstruction.devices import AbstractDevice, built_mechanism, device
from dpassay.attacks.reconstruction.settings import ReconstructionSettings
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
COLLECTIONS = (1, 2, 5, 10)


class _Point(NamedTuple):
    """What some collections at one epsilon reached, the most that any test could, and what epsilon permits."""

    found: dict[str, Metric]
    limit: float
    permitted: float

    def cells(self, names: Sequence[str]) -> list[str]:
        """For tables: the metrics of these names, the limit, and what is permitted."""
        return [*(self.found[name].cell() for name in names), f"{self.limit:.3f}", f"{self.permitted:.3f}"]


LIMITS = (
    "Entries are guessed one by one; a collector who also uses which items go together, or how many items the "
    "user rated, guesses better.",
    "The prior is taken from the other users' true ratings, as if these were public; without it the collector "
    "guesses worse, but tells neighboring datasets apart equally well.",
    "value-accuracy supposes that the collector knows which items she rated; rated-tpr says how far it does.",
    "The noise is that of exact arithmetic, independent for every entry: what rounding betrays in the paper's "
    "ordinary samplers, and one noise for a whole vector (Definition 2 to the letter), come on top.",
)


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks every target's collected vector, with the other users' ratings as prior.

    The settings are those of `ReconstructionSettings`.

    Raises:
        InvalidInput: a setting out of range, fewer than two users, or a rating scale of more than 100 levels.
    """
    start = time.perf_counter()
    chosen = ReconstructionSettings(**settings)
    method, epsilon, rounds, seed = chosen.method, chosen.epsilon, chosen.rounds, chosen.seed
    if ratings.num_users < 2:
        raise InvalidInput("the dataset has one user; the collector's prior needs at least one other")
    levels = rating_levels(ratings)
    sender = device(method, epsilon, levels)
    symbols = np.zeros((ratings.num_users, ratings.num_items), np.int16)
    symbols[ratings.users, ratings.items] = np.searchsorted(levels, ratings.values) + 1
    targets = chosen_targets(symbols, chosen.targets, seed)

    collections = sorted({*COLLECTIONS, rounds})
    most = collections[-1]
    progress(f"{method}: {len(targets)} users, {most} collections at epsilon {epsilon:g}")

    def points(sender: AbstractDevice, epsilon: float, numbers: Sequence[int], place: int) -> dict[int, _Point]:
        tallies = collect(sender, symbols, targets, numbers, (seed, place))
        limits = {number: advantage_limit(sender, symbols[targets], number) if number else 0.0 for number in numbers}
        return {
            number: _Point(tally_metrics(tally, seed), limits[number], permitted_advantage(number * epsilon))
            for number, tally in tallies.items()
        }

    results = points(sender, epsilon, [0, *collections], 0)
    sweep = {epsilon: results[1]}
    for place, each in enumerate(EPSILONS, 1):
        if each != epsilon:
            progress(f"one collection at epsilon {each:g}")
            sweep[each] = points(device(method, each, levels), each, [1], place)[1]
    sweep = dict(sorted(sweep.items()))
    progress("one worked example")
    head, prior = results[rounds], results[0].found
    guesses = ("value-accuracy", "value-accuracy"), ("advantage", "rated-advantage-best"), ("auc", "auc")
    metrics = [
        *head.found.values(),
        Metric("advantage-limit", head.limit),
        *(replace(prior[name], name=f"guess-{guess}") for guess, name in guesses),
    ]
    return AttackReport(
        attack="reconstruction",
        title="What the collector of noisy ratings learns about one user",
        **described(built_mechanism(method, epsilon, len(levels))),
        threat_model=ThreatModel(
            knows="the mechanism and its epsilon; of each item, what share of the other users rated it and how",
            does="nothing but Bayes' rule, entry by entry, on what arrives; collects again if it can",
            sees=f"the noisy answer of the user's device for every item, {_times(rounds)} with fresh noise",
        ),
        summary=_summary(results, rounds, epsilon),
        settings={"method": method, "epsilon": epsilon, "rounds": rounds, "targets": len(targets)},
        metrics=explained(metrics, ReconstructionSettings.metrics),
        dataset=ratings,
        tables=[_by_rounds(results, epsilon), _by_epsilon(sweep)],
        plots=_plots(sweep, prior["value-accuracy"].value),
        victim=_victim(sender, symbols, targets, levels, most, seed),
        privacy=_privacy(head, epsilon, sender, rounds, symbols[targets] > 0),
        repair=_repair(results, epsilon, method, levels, symbols),
        limits=LIMITS,
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _summary(results: dict[int, _Point], rounds: int, epsilon: float) -> list[str]:
    head, prior, most = results[rounds].found, results[0].found, max(results)
    sentences = [
        f"With noise of epsilon {epsilon:g} on each rating, collected {_times(rounds)}, the collector guessed "
        f"{_percent(head['value-accuracy'])} of a user's ratings to the exact value, if told what she rated; "
        f"{_percent(prior['value-accuracy'])} can be guessed without collecting anything.",
        f"Whether she rated one given item at all it told right in {right(head['advantage'].value)}, where a coin has "
        f"50%; epsilon permits {right(results[rounds].permitted)}, and no test on these answers has more than "
        f"{right(results[rounds].limit)}.",
        "As for all her ratings together, whether her device sent her own list or an empty one was told right in "
        f"{right(head['profile-advantage'].value)}.",
    ]
    if most > rounds:
        last = results[most].found
        sentences.append(
            f"Asked {most} times with fresh noise, the collector had {_percent(last['value-accuracy'])} of the values, "
            f"and was right about one given item in {right(last['advantage'].value)}."
        )
    return sentences


def _times(rounds: int) -> str:
    return "once" if rounds == 1 else f"{rounds} times"


def _percent(metric: Metric) -> str:
    return f"{100 * metric.value:.0f}%"


def _by_rounds(results: dict[int, _Point], epsilon: float) -> Table:
    names = ("value-accuracy", "rated-tpr", "rated-fpr", "list-precision", "auc", "profile-advantage", "advantage")
    rows = [[number, *point.cells(names)] for number, point in results.items()]
    rows[0][6:] = ["-"] * 4  # without a collection there is nothing to tell worlds apart by
    return Table(
        f"Collected again with fresh noise, epsilon {epsilon:g} each time (0 times: the guess without it)",
        ["collections", *names, "most of any test", "permitted"],
        rows,
    )


def _by_epsilon(sweep: dict[float, _Point]) -> Table:
    names = ("value-accuracy", "rated-tpr", "rated-fpr", "auc", "advantage")
    rows = [[f"{epsilon:g}", *point.cells(names)] for epsilon, point in sweep.items()]
    return Table("One collection, by epsilon", ["epsilon", *names, "most of any test", "permitted"], rows)


def _plots(sweep: dict[float, _Point], guess: float) -> list[Plot]:
    epsilons, points = list(sweep), list(sweep.values())
    values, advantages = ([point.found[name] for point in points] for name in ("value-accuracy", "advantage"))
    found = [
        metric_series("collector", epsilons, values),
        Series("guess without collecting", epsilons, [guess] * len(epsilons)),
    ]
    told = [
        metric_series("collector", epsilons, advantages),
        Series("most of any test", epsilons, [point.limit for point in points]),
        Series("permitted by epsilon", epsilons, [point.permitted for point in points]),
    ]
    return [
        Plot(title, "epsilon per rating", label, series, x_scale="log")
        for title, label, series in (
            ("Exact values recovered from one collection", "share of a user's ratings", found),
            ("Did she give this rating? One collection", "advantage (TPR - FPR)", told),
        )
    ]


def _victim(
    sender: AbstractDevice, symbols: np.ndarray, targets: np.ndarray, levels: np.ndarray, most: int, seed: int
) -> dict[str, Any]:
    """The target with the median number of ratings: some items she rated and some she did not."""
    generator = np.random.default_rng([seed, 102])
    rated = (symbols[targets] > 0).sum(1)
    user = int(targets[np.argsort(rated, kind="stable")[len(targets) // 2]])
    mine, others = np.flatnonzero(symbols[user]), np.flatnonzero(symbols[user] == 0)
    picked = np.concatenate([generator.permutation(mine)[:6], generator.permutation(others)[:3]])
    truth = symbols[user, picked]
    logs = log_priors(symbols, np.array([user]), sender.num_levels)[0, picked]
    answers = np.stack([sender.sample(generator, truth) for _ in range(most)])
    likelihoods = sender.log_likelihoods(answers)
    stages = [logs, logs + likelihoods[0], logs + likelihoods.sum(0)]
    chances = [np.exp(np.logaddexp.reduce(s[:, 1:], axis=1) - np.logaddexp.reduce(s, axis=1)) for s in stages]
    guesses = [levels[s[:, 1:].argmax(1)] for s in stages]
    rows = [
        [
            f"item {place + 1}",
            f"{levels[symbol - 1]:g}" if symbol else "not rated",
            sender.shown(float(answers[0, place]), levels),
            *(f"{chance[place]:.0%}" for chance in chances),
            *(f"{guess[place]:g}" for guess in guesses),
        ]
        for place, symbol in enumerate(truth)
    ]
    known = truth > 0
    right = [int((guess[known] == levels[truth[known] - 1]).sum()) for guess in guesses]
    story = [
        f"User A rated {len(mine)} of {symbols.shape[1]} items. Her device sent a noisy answer for every item.",
        f"Of the {known.sum()} ratings below the collector would have guessed {right[0]} values beforehand; it has "
        f"{right[1]} after one collection and {right[2]} after {most}.",
    ]
    later = ["after 1", f"after {most}"]
    columns = ["item", "her rating", "sent the first time", "rated? before", *later, "value guessed before", *later]
    title = "What user A's device sent, and what the collector makes of it"
    return {"story": story, "tables": [Table(title, columns, rows)]}


def _privacy(head: _Point, epsilon: float, sender: AbstractDevice, rounds: int, rated: np.ndarray) -> list[Privacy]:
    """For one rating and for the whole vector; `rated` has shape (targets, items)."""
    loss = max(float(sender.losses(level)[0].max()) for level in range(1, sender.num_levels + 1))
    num_items, median = rated.shape[1], float(np.median(rated.sum(1)))
    advantage, profile = head.found["advantage"], head.found["profile-advantage"]
    kept = advantage.low is not None and not advantage.surely_above(head.permitted)
    return [
        Privacy(
            what=f"one rating, given or not, after {rounds} collection{'s' if rounds > 1 else ''}",
            epsilon_claimed=rounds * epsilon,
            epsilon_found=rounds * loss,
            advantage=advantage,
            says=f"The collector reached {advantage.value:.3f} of the {head.limit:.3f} that any test could, and "
            + ("the guarantee for one rating held." if kept else "MORE THAN THE GUARANTEE PERMITS."),
        ),
        Privacy(
            what=f"a user's whole vector of {num_items} items",
            epsilon_claimed=rounds * num_items * epsilon,
            epsilon_found=rounds * num_items * loss,
            advantage=profile,
            says=f"A vector of {num_items} items costs {num_items} times as much (Theorems 1 and 2), and even the "
            f"{int(median)} items that the median user rated permit an advantage of "
            f"{permitted_advantage(rounds * epsilon * median):.3f}: nothing is promised to a user.",
        ),
    ]


def _repair(
    results: dict[int, _Point], epsilon: float, method: str, levels: np.ndarray, symbols: np.ndarray
) -> dict[str, Any]:
    share, num_items = float((symbols > 0).mean()), symbols.shape[1]

    def genuine(each: float) -> float:
        """Share of the ratings that arrive which were really given."""
        own, invented = device(method, each, levels).answered()
        return share * own / (share * own + (1 - share) * invented)

    rows = [
        [f"{each:.4g}", f"{each * num_items:.4g}", f"{permitted_advantage(each):.3f}", f"{genuine(each):.1%}"]
        for each in sorted({1 / num_items, *EPSILONS, epsilon})
    ]
    most = max(results)
    once, often = results[1], results[most]
    text = (
        "Let the device draw its noisy answer once, store it, and send the same one whenever it is asked: "
        f"{most} collections then tell no more than one ({once.found['advantage'].value:.3f} in place of "
        f"{often.found['advantage'].value:.3f}, at most {once.limit:.3f} in place of {often.limit:.3f}). It costs "
        "storage only, and averages no longer sharpen.\nA user as a whole is protected only by an epsilon "
        f"divided by the {num_items} items, and then most of what is collected is invented: at epsilon {epsilon:g} "
        f"{genuine(epsilon):.1%} of the ratings that arrive were really given."
    )
    columns = ["epsilon per rating", "epsilon per user", "permitted per rating", "arriving ratings real"]
    return {"text": text, "tables": [Table("What a smaller epsilon costs", columns, rows)]}
