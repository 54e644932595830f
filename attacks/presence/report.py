"""The report of `dpassay attack presence`; the attack itself is `dpassay.attacks.presence.simulation`."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpassay.attacks.advantage import permitted_advantage, right
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel
from dpassay.attacks.metrics import Metric, mean_metric, metric_series
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
from dpassay.mechanisms import describe, mechanism

PLAIN_JITTER = 1e-6  # stands for none, and keeps every probability positive
NOTICEABLE = 0.5
"""Advantage at which three of four guesses are right."""


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks targets in a catalogue of the most popular items; a row says which of them a user rated.

    Args:
        ratings: the data; only who rated what is used.
        progress: told what is being done.
        **settings: see `PresenceSettings`.

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
    claimed = built.claim.epsilon

    progress(f"exact laws of {method} for {len(world.targets)} targets")
    laws = pair_laws(built, world.rows, world.targets, world.others)
    looks = sorted({*(2**power for power in range(rounds.bit_length())), rounds})
    progress(f"{2 * len(world.targets) * trials * rounds} sets drawn by {method}")
    losses, shown = simulate(built, world, laws[0] - laws[1], looks, trials, seed)
    progress("exact limits")
    limits = {look: product_advantage(*laws, look) for look in looks}
    crowds = crowd_limits(built, world, rounds, seed)

    found = {look: observed_advantage(losses[..., place]) for place, look in enumerate(looks)}
    loss = float(np.abs(laws[0] - laws[1]).max())
    worst = {look: worst_advantage(built, claimed, look) for look in looks}
    limit = float(limits[rounds].mean())
    described = describe(built)
    return AttackReport(
        attack="presence",
        title="Whether recommendations betray that a person is in the data",
        mechanism=f"{described['id']}/{described['variant']}",
        parameters=described["parameters"],
        threat_model=ThreatModel(
            knows="the mechanism and its jitter, every other user's row, and the target's row if she is there",
            does="nothing but wait; compares the exact probability of what it saw with and without her",
            sees=f"{rounds} recommended sets, each drawn afresh",
        ),
        summary=_summary(world, found, limit, worst, claimed, rounds, crowds, shown),
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
        metrics=_metrics(found[rounds], losses, limit, worst[rounds]),
        dataset=ratings,
        tables=[_by_rounds(found, limits, worst, claimed), _by_crowd(crowds, rounds)],
        plots=_plots(found, limits, worst, claimed, crowds, rounds),
        victim=_victim(built, world, laws, limits[rounds], shown),
        privacy=_privacy(found[rounds], limit, worst[rounds], claimed, loss, rounds, method == "dpp"),
        repair=_repair(built, world, rounds),
        limits=_limits(world),
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _metrics(head: Metric, losses: np.ndarray, limit: float, worst: float) -> list[Metric]:
    return [
        head,
        mean_metric(
            "auc",
            observed_auc(losses[..., -1]),
            "Chance that a run with the subject looks more like her than one without; 1/2 is blind.",
        ),
        Metric("advantage-limit", limit, "The most that any test could reach on these targets."),
        Metric(
            "advantage-worst-case",
            worst,
            "The most that any attacker could reach on any data with this jitter and number of recommendations.",
        ),
        Metric("guess-advantage", 0.0, "Without recommendations presence is a coin flip."),
    ]


def _summary(
    world: World,
    found: dict[int, Metric],
    limit: float,
    worst: dict[int, float],
    claimed: float,
    rounds: int,
    crowds: dict[int, np.ndarray],
    shown: np.ndarray,
) -> list[str]:
    num, alone = world.rows.shape[1], float(crowds[0][:, 1].mean())
    sentences = [
        f"Somebody who knows everybody's data saw {rounds} recommended sets and said whether one person is in the "
        f"database beside {world.others_each} others: {right(found[rounds].value)} of the guesses were right, where a "
        f"coin has 50%. In the long run no attacker can have more than {right(limit)} on these persons.",
        f"With nobody else in the data it could be {right(alone)}: the crowd protects, which the guarantee does not "
        "count on.",
    ]
    soon = next((look for look, metric in found.items() if metric.value > NOTICEABLE), None)
    if soon is not None:
        sentences.insert(1, f"Three of four guesses were right after {soon} set{'s' * (soon > 1)} already.")
    if math.isfinite(claimed):
        sentences.append(
            f"The privacy that is promised (epsilon {claimed:.3g} for one set, {rounds * claimed:.3g} for {rounds}) "
            f"allows {right(permitted_advantage(rounds * claimed))}; on no data can an attacker have more than "
            f"{right(worst[rounds])}."
        )
    else:
        sentences.append("This sampler promises nothing: no number bounds the attacker on other data.")
    number = float(np.mean([code.bit_count() for code in shown.ravel().tolist()]))
    sentences.append(f"A recommended set holds {number:.1f} of the {num} items on average.")
    return sentences


def _by_rounds(
    found: dict[int, Metric], limits: dict[int, np.ndarray], worst: dict[int, float], claimed: float
) -> Table:
    return Table(
        "Advantage by the number of recommendations seen",
        ["recommendations", "attacker", "most of any test", "on any data", "permitted"],
        [
            [
                look,
                metric.cell(),
                f"{limits[look].mean():.3f}",
                f"{worst[look]:.3f}",
                f"{permitted_advantage(look * claimed):.3f}",
            ]
            for look, metric in found.items()
        ],
    )


def _by_crowd(crowds: dict[int, np.ndarray], rounds: int) -> Table:
    return Table(
        "Most of any test, by the number of other users in the data, mean and largest of the targets",
        ["other users", "1 recommendation", "largest", f"{rounds} recommendations", "largest"],
        [
            [
                number,
                *(f"{value:.4f}" for place in (0, 1) for value in (limits[:, place].mean(), limits[:, place].max())),
            ]
            for number, limits in crowds.items()
        ],
    )


def _plots(
    found: dict[int, Metric],
    limits: dict[int, np.ndarray],
    worst: dict[int, float],
    claimed: float,
    crowds: dict[int, np.ndarray],
    rounds: int,
) -> list[Plot]:
    looks = list(found)
    attacker = metric_series("attacker", looks, list(found.values()))
    lines = {
        "most of any test here": [float(limits[look].mean()) for look in looks],
        "most on any data": [worst[look] for look in looks],
        "permitted by epsilon": [permitted_advantage(look * claimed) for look in looks],
    }
    sizes = [str(number) for number in crowds]
    return [
        Plot(
            "Is she in the data? By recommendations seen",
            "recommendations",
            "advantage (TPR - FPR)",
            [attacker, *(Series(label, looks, line) for label, line in lines.items())],
            x_scale="log",
        ),
        Plot(
            "The crowd's protection: most of any test",
            "other users in the data",
            "advantage (TPR - FPR)",
            [
                Series(label, sizes, [float(limits[:, place].mean()) for limits in crowds.values()])
                for place, label in enumerate(("1 recommendation", f"{rounds} recommendations"))
            ],
        ),
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
    return {
        "story": [
            f"User A rated {int(own.sum())} of {len(own)} items and is in the data with {world.others_each} others.",
            f"An attacker who holds her presence for an even bet believes in it with {rows[0][3]} after one "
            f"recommended set and with {rows[-1][3]} after {rounds}; no test can do better than an advantage of "
            f"{limits[who]:.3f} over a coin flip on her.",
        ],
        "tables": [
            Table(
                "What the attacker believes about user A",
                ["set", "items shown", "of user A's items", "belief that she is in the data"],
                rows,
            )
        ],
    }


def _privacy(
    head: Metric, limit: float, worst: float, claimed: float, loss: float, rounds: int, tight: bool
) -> list[Privacy]:
    permitted = permitted_advantage(rounds * claimed)
    broken = head.low is not None and head.low > permitted
    says = f"The attacker reached {head.value:.3f}; any test on these users stays within {limit:.3f}"
    if math.isfinite(claimed):
        says += f", the worst data allow {worst:.3f}, and epsilon permits {permitted:.3f}."
    else:
        says += "; no epsilon is claimed."
    if tight:
        says += f" That epsilon is exact: some data attain it; on these the loss is {rounds * loss:.3g}."
    else:
        says += " The loss shown is that on these data; others may have more."
    return [
        Privacy(
            what=f"one subject's row, there or not, after {rounds} recommendation{'s' if rounds > 1 else ''}",
            epsilon_claimed=rounds * claimed,
            epsilon_found=rounds * (claimed if tight else loss),
            advantage=head,
            says=says + (" THIS IS MORE THAN THE GUARANTEE PERMITS." if broken else ""),
        )
    ]


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
    rows = []
    for total in (0.1, 0.5, 1.0, 2.0, 5.0):
        fit = jittered_mechanism(method, total / rounds, None, num, size or 1)
        changed = 0.5 * np.abs(np.exp(law(fit.jitter)) - np.exp(plain)).sum()
        rows.append(
            [
                f"{total:g}",
                f"{total / rounds:.4g}",
                f"{fit.jitter:.4g}",
                f"{permitted_advantage(total):.3f}",
                f"{worst_advantage(fit, total / rounds, rounds):.3f}",
                f"{changed:.1%}",
            ]
        )
    price = next(row[-1] for row in rows if row[0] == "1")
    return {
        "text": f"Choose the jitter for all {rounds} recommendations together, or draw one set and show it again until "
        "the budget allows another: the epsilons of fresh sets add up exactly.\nThe price is that jitter drowns the "
        f"differences between items. For epsilon 1 in all, {price} of the sets that would be recommended without "
        "jitter become others.",
        "tables": [
            Table(
                f"Jitter for {rounds} recommendations by {method}, all users of these data",
                ["epsilon in all", "epsilon each", "jitter", "permitted advantage", "most on any data", "sets changed"],
                rows,
            )
        ],
    }


def _limits(world: World) -> list[str]:
    return [
        f"The catalogue is cut to the {world.rows.shape[1]} most popular items, so that every probability is exact; a "
        "larger one shows more of a user and needs a larger jitter for the same epsilon.",
        "The attacker is the strongest there is: it knows all other users' rows. A real one knows less.",
        f"Targets have rated at least one of these items; {world.silent} of {len(world.rows)} users have not, "
        "and nothing can tell whether they are there.",
        "The probabilities are those of exact arithmetic; what rounding betrays comes on top.",
    ]
