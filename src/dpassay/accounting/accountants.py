"""What every accountant of dp-accounting says of an event, beside certified bounds."""

import math
from dataclasses import dataclass
from typing import Any

from dpassay.core.extras import absent, library, one_line
from dpassay.core.text import nats

ROUNDING = 1e-9  # relative, of an accountant's own arithmetic


@dataclass(frozen=True)
class Answer:
    """An accountant's epsilon.

    Attributes:
        accountant: its class in dp-accounting.
        epsilon: nats; None when it does not take the event.
        judgement: in words, against the certified bounds.
        wrong: it is below the certified lower bound.
    """

    accountant: str
    epsilon: float | None
    judgement: str
    wrong: bool = False


def answers(event: Any, relation: str, delta: float, lower: float, upper: float) -> list[Answer]:
    """Asks every accountant that takes the event under the relation; none when dp-accounting is not installed."""
    if event is None or absent("dp-accounting"):
        return []
    accounting = library("dp_accounting")
    neighbors = accounting.NeighboringRelation[relation.upper()]
    told = []
    for kind in sorted(_accountants(accounting.PrivacyAccountant), key=lambda kind: kind.__name__):
        name = kind.__name__
        try:
            accountant = kind(neighboring_relation=neighbors)
            if not accountant.supports(event):
                told.append(Answer(name, None, "does not take the event under this relation"))
                continue
            told.append(_judged(name, float(accountant.compose(event).get_epsilon(delta)), lower, upper))
        except Exception as error:  # another library's: whatever it raises is its answer
            told.append(Answer(name, None, f"fails: {one_line(error)}"))
    return told


def _judged(name: str, epsilon: float, lower: float, upper: float) -> Answer:
    if epsilon < lower * (1 - ROUNDING):
        short = "infinitely" if math.isinf(lower) else f"by {lower / epsilon - 1:.3g} times itself" if epsilon else ""
        words = f"wrong: {nats(epsilon)} is below the certified lower bound {nats(lower)} {short}".rstrip()
        return Answer(name, epsilon, words, wrong=True)
    if epsilon <= upper * (1 + ROUNDING):
        return Answer(name, epsilon, "within the certified bounds")
    if math.isinf(epsilon):
        return Answer(name, epsilon, "loose: infinite")
    by = f"{epsilon / upper - 1:.3%}" if upper > 0 else f"{nats(epsilon)} nats"
    return Answer(name, epsilon, f"loose by {by}")


def _accountants(kind: Any) -> list[Any]:
    """The library's own classes, not those that others derived."""
    below = [each for subclass in kind.__subclasses__() for each in (subclass, *_accountants(subclass))]
    return [each for each in below if each.__module__.startswith("dp_accounting.")]
