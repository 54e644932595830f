"""What the beta-kNN attack found out about its targets, whatever the recommender compares."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self

import numpy as np

from dpassay.attacks.beta_knn.settings import UserSettings
from dpassay.attacks.metrics import Metric, difference_metric, explained, mean_metric, share


class Judged(NamedTuple):
    """How right the inferences about one target are; see `Outcome`."""

    hidden: float
    inferred: float
    hits: float
    exact: float
    guess_hits: float
    guess_exact: float


def columns(records: Sequence[NamedTuple]) -> dict[str, np.ndarray]:
    """The records' fields by name, each of shape (records,)."""
    names = records[0]._fields
    return dict(zip(names, np.array(records, float).T, strict=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What became of every target; arrays have shape (targets,).

    Attributes:
        targets: their rows.
        num_fakes: fakes aimed at each target, in each restart.
        num_queries: answers read per target.
        hidden: how many ratings the attacker did not know.
        inferred: how many items the attacker took for rated.
        hits: how many of them are.
        exact: how many of the hits have the right value; NaN where the channel shows no values.
        guess_hits: hits of as many most popular unknown items.
        guess_exact: how many of the hits have the value of the item's rounded mean.
        found_present: whether one hidden rating chosen at random was inferred; NaN if there was none or not asked for.
        found_absent: whether it was in a world without it.
    """

    targets: np.ndarray
    num_fakes: int
    num_queries: int
    hidden: np.ndarray
    inferred: np.ndarray
    hits: np.ndarray
    exact: np.ndarray
    guess_hits: np.ndarray
    guess_exact: np.ndarray
    found_present: np.ndarray
    found_absent: np.ndarray

    def metrics(self) -> list[Metric]:
        """Means over targets with 95% intervals; NaN where nothing was measured."""
        named, hit = self.inferred, self.hits
        metrics = (
            mean_metric("yield", share(hit, self.hidden)),
            mean_metric("guess-yield", share(self.guess_hits, self.hidden)),
            mean_metric("precision", share(hit, named), weights=named),
            mean_metric("guess-precision", share(self.guess_hits, named), weights=named),
            difference_metric("advantage", self.found_present - self.found_absent),
            mean_metric("exact-value", share(self.exact, hit), weights=hit),
            mean_metric("guess-exact-value", share(self.guess_exact, hit), weights=hit),
            mean_metric("inferred", named, bounds=(0, float(np.max(named, initial=1.0)))),
            *self.further_metrics(),
            Metric("fakes", float(self.num_fakes)),
            Metric("queries", float(self.num_queries)),
        )
        return explained(metrics, UserSettings.metrics)

    def further_metrics(self) -> tuple[Metric, ...]:
        """What only some recommenders let one measure."""
        return ()

    @property
    def lead(self) -> np.ndarray:
        """Precision less that of the guess, shape (targets,), NaN where nothing was inferred."""
        return share(self.hits - self.guess_hits, self.inferred)

    def beside_guess(self, advantage: Metric) -> str:
        """A sentence that says whether the attack is better than naming popular items, and reads the target's data."""
        lead = mean_metric("", self.lead, weights=self.inferred, bounds=(-1, 1))
        beats, reads = lead.surely_above(0), advantage.surely_above(0)
        if beats and reads:
            return (
                "The attack beats that guess, and reads the user's own data: an item is named more often when her "
                "rating is there."
            )
        if beats:
            return (
                "The attack beats that guess, but is not shown to read the user's own data: the same items are named "
                f"whether or not her rating is there (difference {advantage.value:+.0%}), so it may only know what "
                "such users like."
            )
        if reads:
            return (
                f"By what it names, the attack is not shown to beat that guess ({lead.value:+.0%}), but it reads the "
                "user's own data: an item is named more often when her rating is there."
            )
        return f"So the attack does not work here: it is not shown to beat the guess ({lead.value:+.0%})."

    def part(self, targets: np.ndarray) -> Self:
        """The outcome of some targets, by position, shape (chosen,)."""
        whole = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(self, **{name: each[targets] for name, each in whole.items() if isinstance(each, np.ndarray)})
