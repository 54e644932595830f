"""The report of `dpassay attack presence`; the attack itself is `dpassay.attacks.presence.simulation`."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dpassay.attacks.advantage import permitted_advantage, right
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel, described
from dpassay.attacks.metrics import Metric, explained, mean_metric, metric_series
from dpassay.attacks.presence.laws import jittered_mechanism, log_laws, pair_laws, product_advantage, worst_advantage
from dpassay.attacks.presence.settings import PresenceSettings
from dpassay.attacks.presence.simulation import (
    World,
    catalogue_world,
    crowd_limits,
    observed_advantage,
    observed_auc,
    set_places,
    simulate,
)
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import mechanism

PLAIN_JITTER = 1e-6  # stands for none, and keeps every probability positive
NOTICEABLE = 0.5
"""Advantage at which three of four guesses are right."""


class _Look(NamedTuple):
    """After some recommendations: the observed advantage, the most of any test per target, on any data, permitted."""

    number: int
    found: Metric
    limits: np.ndarray
    worst: float
    permitted: float

    @property
    def limit(self) -> float:
        return float(self.limits.mean())


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks targets in a catalogue of the most popular items; a row says which of them a user rated.

    Of the ratings only who rated what is used; the settings are those of `PresenceSettings`.

    Raises:
        InvalidInput: an impossible setting.
    """
    start = time.perf_counter()
    chosen = PresenceSettings(**settings)
    method, rounds, trials, seed = chosen.method, chosen.rounds, chosen.trials, chosen.seed
    num_items = chosen.num_items
    if num_items is None:
        num_items = min(5 if method == "dpp_subset_jittered" else 12, ratings.num_items)
    built = jittered_mechanism(method, chosen.epsilon, chosen.jitter, num_items, chosen.size)
    world = catalogue_world(ratings, num_items, chosen.targets, chosen.others, seed)

    progress(f"exact laws of {method} for {len(world.targets)} targets")
    laws = pair_laws(built, world.rows, world.targets, world.others)
    numbers = sorted({*(2**power for power in range(rounds.bit_length())), rounds})
    progress(f"{2 * len(world.targets) * trials * rounds} sets drawn by {method}")
    losses, shown = simulate(built, world, laws[0] - laws[1], numbers, trials, seed)
    progress("exact limits")
    looks = [_look(built, laws, number, losses[..., place]) for place, number in enumerate(numbers)]
    crowds = crowd_limits(built, world, rounds, seed)

    last = looks[-1]
    metrics = (
        last.found,
        mean_metric("auc", observed_auc(losses[..., -1])),
        Metric("advantage-limit", last.limit),
        Metric("advantage-worst-case", last.worst),
        Metric("guess-advantage", 0.0),
    )
    return AttackReport(
        attack="presence",
        title="Whether recommendations betray that a person is in the data",
        **described(built),
        threat_model=ThreatModel(
            knows="the mechanism and its jitter, every other user's row, and the target's row if she is there",
            does="nothing but wait; compares the exact probability of what it saw with and without her",
            sees=f"{rounds} recommended sets, each drawn afresh",
        ),
        summary=_summary(built.claim.epsilon, world, looks, crowds, shown),
        settings={
            "method": method,
            "epsilon": None if chosen.jitter is not None else chosen.epsilon,
            "jitter": float(built.jitter),
            "num_items": num_items,
            "others": world.others_each,
            "rounds": rounds,
            "targets": len(world.targets),
            "trials": trials,
        },
        metrics=explained(metrics, PresenceSettings.metrics),
        dataset=ratings,
        tables=[_by_rounds(looks), _by_crowd(crowds, rounds)],
        plots=_plots(looks, crowds),
        victim=_victim(built, world, laws, last.limits, shown),
        privacy=[_privacy(built.claim.epsilon, last, float(np.abs(laws[0] - laws[1]).max()), method == "dpp")],
        repair=_repair(built, world, rounds),
        limits=_limits(world),
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _look(built: Any, laws: tuple[np.ndarray, np.ndarray], number: int, losses: np.ndarray) -> _Look:
    claimed, limits = built.claim.epsilon, product_advantage(*laws, number)
    worst, permitted = worst_advantage(built, claimed, number), permitted_advantage(number * claimed)
    return _Look(number, observed_advantage(losses), limits, worst, permitted)


def _summary(
    claimed: float, world: World, looks: list[_Look], crowds: dict[int, np.ndarray], shown: np.ndarray
) -> list[str]:
    last, alone = looks[-1], float(crowds[0][:, 1].mean())
    sentences = [
        f"Somebody who knows everybody's data saw {last.number} recommended sets and said whether one person is in the "
        f"database beside {world.others_each} others: {right(last.found.value)} of the guesses were right, where a "
        f"coin has 50%. In the long run no attacker can have more than {right(last.limit)} on these persons.",
        f"With nobody else in the data it could be {right(alone)}: the crowd protects, which the guarantee does not "
        "count on.",
    ]
    soon = next((look.number for look in looks if look.found.value > NOTICEABLE), None)
    if soon is not None:
        sentences.insert(1, f"Three of four guesses were right after {soon} set{'s' * (soon > 1)} already.")
    if math.isfinite(claimed):
        sentences.append(
            f"The privacy that is promised (epsilon {claimed:.3g} for one set, {last.number * claimed:.3g} for "
            f"{last.number}) allows {right(last.permitted)}; on no data can an attacker have more than "
            f"{right(last.worst)}."
        )
    else:
        sentences.append("This sampler promises nothing: no number bounds the attacker on other data.")
    size = float(np.mean([code.bit_count() for code in shown.ravel().tolist()]))
    sentences.append(f"A recommended set holds {size:.1f} of the {world.rows.shape[1]} items on average.")
    return sentences


def _by_rounds(looks: list[_Look]) -> Table:
    rows = [
        [look.number, look.found.cell(), *(f"{each:.3f}" for each in (look.limit, look.worst, look.permitted))]
        for look in looks
    ]
    columns = ["recommendations", "attacker", "most of any test", "on any data", "permitted"]
    return Table("Advantage by the number of recommendations seen", columns, rows)


def _by_crowd(crowds: dict[int, np.ndarray], rounds: int) -> Table:
    return Table(
        "Most of any test, by the number of other users in the data, mean and largest of the targets",
        ["other users", "1 recommendation", "largest", f"{rounds} recommendations", "largest"],
        [
            [number, *(f"{value:.4f}" for each in limits.T for value in (each.mean(), each.max()))]
            for number, limits in crowds.items()
        ],
    )


def _plots(looks: list[_Look], crowds: dict[int, np.ndarray]) -> list[Plot]:
    numbers, sizes = [look.number for look in looks], [str(number) for number in crowds]
    lines = [
        metric_series("attacker", numbers, [look.found for look in looks]),
        Series("most of any test here", numbers, [look.limit for look in looks]),
        Series("most on any data", numbers, [look.worst for look in looks]),
        Series("permitted by epsilon", numbers, [look.permitted for look in looks]),
    ]
    means = [[float(limits[:, place].mean()) for limits in crowds.values()] for place in (0, 1)]
    labels = ("1 recommendation", f"{numbers[-1]} recommendations")
    crowd = [Series(label, sizes, line) for label, line in zip(labels, means, strict=True)]
    advantage = "advantage (TPR - FPR)"
    return [
        Plot("Is she in the data? By recommendations seen", "recommendations", advantage, lines, x_scale="log"),
        Plot("The crowd's protection: most of any test", "other users in the data", advantage, crowd),
    ]


def _victim(
    built: Any, world: World, laws: tuple[np.ndarray, np.ndarray], limits: np.ndarray, sets: np.ndarray
) -> dict[str, Any]:
    """The target with the median limit: what the sets of one run with her in the data say."""
    who = int(np.argsort(limits, kind="stable")[len(limits) // 2])
    own, codes, rounds = world.rows[world.targets[who]], sets[who], sets.shape[1]
    table = laws[0][who] - laws[1][who]
    total = table[set_places(built, len(own))[codes]].cumsum()
    shown = (codes[:, None] >> np.arange(len(own))) & 1
    rows = [
        [
            number + 1,
            int(shown[number].sum()),
            f"{int(shown[number] @ own)} of {int(own.sum())}",
            f"{100 / (1 + math.exp(-total[number])):.1f}%",
        ]
        for number in sorted({0, 1, 2, 3, *(2**power - 1 for power in range(3, 20)), rounds - 1})
        if number < rounds
    ]
    story = [
        f"User A rated {int(own.sum())} of {len(own)} items and is in the data with {world.others_each} others.",
        f"An attacker who holds her presence for an even bet believes in it with {rows[0][3]} after one recommended "
        f"set and with {rows[-1][3]} after {rounds}; no test can do better than an advantage of {limits[who]:.3f} over "
        "a coin flip on her.",
    ]
    columns = ["set", "items shown", "of user A's items", "belief that she is in the data"]
    return {"story": story, "tables": [Table("What the attacker believes about user A", columns, rows)]}


def _privacy(claimed: float, last: _Look, loss: float, tight: bool) -> Privacy:
    rounds = last.number
    says = f"The attacker reached {last.found.value:.3f}; any test on these users stays within {last.limit:.3f}"
    if math.isfinite(claimed):
        says += f", the worst data allow {last.worst:.3f}, and epsilon permits {last.permitted:.3f}."
    else:
        says += "; no epsilon is claimed."
    if tight:
        says += f" That epsilon is exact: some data attain it; on these the loss is {rounds * loss:.3g}."
    else:
        says += " The loss shown is that on these data; others may have more."
    return Privacy(
        what=f"one subject's row, there or not, after {rounds} recommendation{'s' if rounds > 1 else ''}",
        epsilon_claimed=rounds * claimed,
        epsilon_found=rounds * (claimed if tight else loss),
        advantage=last.found,
        says=says + " THIS IS MORE THAN THE GUARANTEE PERMITS." * last.found.surely_above(last.permitted),
    )


def _repair(built: Any, world: World, rounds: int) -> dict[str, Any]:
    """The jitter that keeps all recommendations together within an epsilon, and how much it changes them."""
    num = world.rows.shape[1]
    size = getattr(built, "size", None)
    method = "kdpp" if size else "dpp"
    gram = (world.rows.T @ world.rows)[None]

    def law(jitter: float) -> np.ndarray:
        other = mechanism(method, jitter=jitter, **({"size": size} if size else {}))
        return log_laws(other, gram + jitter * np.eye(num))[0]

    plain = law(PLAIN_JITTER)
    rows, price = [], 0.0
    for total in (0.1, 0.5, 1.0, 2.0, 5.0):
        fit = jittered_mechanism(method, total / rounds, None, num, size or 1)
        changed = 0.5 * np.abs(np.exp(law(fit.jitter)) - np.exp(plain)).sum()
        price = changed if total == 1 else price
        advantages = permitted_advantage(total), worst_advantage(fit, total / rounds, rounds)
        epsilons = f"{total:g}", f"{total / rounds:.4g}", f"{fit.jitter:.4g}"
        rows.append([*epsilons, *(f"{each:.3f}" for each in advantages), f"{changed:.1%}"])
    columns = ["epsilon in all", "epsilon each", "jitter", "permitted advantage", "most on any data", "sets changed"]
    table = Table(f"Jitter for {rounds} recommendations by {method}, all users of these data", columns, rows)
    text = (
        f"Choose the jitter for all {rounds} recommendations together, or draw one set and show it again until the "
        "budget allows another: the epsilons of fresh sets add up exactly.\nThe price is that jitter drowns the "
        f"differences between items. For epsilon 1 in all, {price:.1%} of the sets that would be recommended without "
        "jitter become others."
    )
    return {"text": text, "tables": [table]}


def _limits(world: World) -> list[str]:
    return [
        f"The catalogue is cut to the {world.rows.shape[1]} most popular items, so that every probability is exact; a "
        "larger one shows more of a user and needs a larger jitter for the same epsilon.",
        "The attacker is the strongest there is: it knows all other users' rows. A real one knows less.",
        f"Targets have rated at least one of these items; {world.silent} of {len(world.rows)} users have not, "
        "and nothing can tell whether they are there.",
        "The probabilities are those of exact arithmetic; what rounding betrays comes on top.",
    ]
