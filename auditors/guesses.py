"""Guessing from an output which of two datasets it came from: the test of claims without delta that weighs outputs.

A fair coin chooses the dataset of every fresh sample; a rule that was fixed before guesses it from the output, with a
weight, or does not guess. Under a mechanism that is epsilon-private a guess is right with probability e^epsilon /
(1 + e^epsilon) at most, whatever the output was, and given all outputs the guesses are independent. So the weights of
the right ones sum to no more, in distribution, than independent binomials of that probability, one for every weight.

One event is the rule that guesses one dataset and weighs all guesses alike. Where outputs tell the more the rarer they
are, weights take the rarest at their worth without giving up the others, and where outputs speak for either dataset the
evidence of both adds up. Guesses that may be withheld are from Steinke, Nasr and Jagielski (2023), who guess about many
records of one run. Theorem: docs/theorems/black-box-audits.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import special

from dpassay.auditors.events import FEW, Event, cut_counts, short
from dpassay.auditors.fixed_sample import LARGEST, SAFETY, largest_refuted, predicted_lower
from dpassay.auditors.scorers import Scorer
from dpassay.auditors.trends import fit_trend

HEAVIEST = 5  # weight
MISFIT = 0.1  # by which share of itself the trend may be wrong, a standard deviation
SHAPE = 1.4  # over the root of the trend's evidence in nats: the same, of a trend whose shape few samples show
DOUBT = 2.0  # standard deviations that are taken off what the trend tells
EVIDENCE = 20.0  # nats that the samples must hold of a trend, for outputs to be weighed by it
CAP = 0.9  # of the strongest outputs' log-ratio: weights of what is told beyond more would be of the trend's noise
STARTS = 48  # bounds of epsilon for which a rule is tried
STEPS = 200  # of the grid on which weights are added, in a standard deviation of their sum
APART = 16.0  # times the variance of a guess, by which the grid is no longer that of the share
SMALLEST = 1e-300  # p-value that is told apart from 0
WINDOW = 12.0  # standard deviations of a binomial, beyond which it is one atom


Level = tuple[int, Any, Any]
"""A weight, and how many guesses of that weight were right and wrong."""


@dataclass(frozen=True)
class Guesses:
    """How many guesses of each weight were right and how many wrong, the lightest first."""

    levels: tuple[Level, ...]

    @property
    def number(self) -> int:
        """Of all guesses."""
        return sum(right + wrong for _, right, wrong in self.levels)

    @property
    def share(self) -> float:
        """Of the right ones among all, by weight; 0 if there are none."""
        got, most, _ = _sums(self.levels)
        return got / most if most else 0.0

    def words(self, epsilon: float) -> str:
        """How many were right, and how many an epsilon allows."""
        by = " by weight" if len(self.levels) > 1 else ""
        return (
            f"of {self.number:,} guesses which dataset a coin had chosen {self.share:.4g} were right{by}, and "
            f"{special.expit(epsilon):.4g} are allowed"
        )

    def p_value(self, epsilon: float) -> float:
        """Certified p-value of epsilon-privacy on the two datasets; above 1e-30 it never falls with epsilon (nats)."""
        weights, totals = [level[0] for level in self.levels], [level[1] + level[2] for level in self.levels]
        least = sum(weight * right for weight, right, _ in self.levels)
        # One grid for every epsilon, as fine as the share of right guesses asks for, but where the two are far apart.
        chance, share = float(special.expit(epsilon)), self.share
        variance = _sums(self.levels)[2] * max(share * (1 - share), chance * (1 - chance) / APART)
        tail = weighted_tail(weights, totals, least, chance, max(1, int(math.sqrt(variance) / STEPS)))
        return min(1.0, max(tail, SMALLEST) * (1 + SAFETY))

    def epsilon_lower(self, failure_probability: float) -> float:
        """Lower confidence bound of epsilon, nats; 0 when even 0 is not refuted."""
        start = predicted(self.levels, failure_probability)
        return largest_refuted(self.p_value, start, LARGEST, failure_probability)


@dataclass(frozen=True, eq=False)
class Rule:
    """Which dataset an output is guessed to come from, and with which weight, by its place in an order of outputs.

    Attributes:
        scorer: the order.
        cuts: of its scores, float32 values, increasing, shape (k,).
        weights: of guesses between neighboring cuts, integers, shape (k + 1,): above 0 for dataset 1, below 0 for
            dataset 2, and 0 where nothing is guessed. The first is of scores below all cuts.
        seed: of its coins: a hash of the training samples. The audit's own seed, which is the same for most users,
            would let the coins of all mechanisms fall alike, and lean to one dataset always.
    """

    scorer: Scorer
    cuts: tuple[float, ...]
    weights: tuple[int, ...]
    seed: int

    @property
    def description(self) -> str:
        """What is guessed when, in words."""
        return (
            f"which dataset, guessed by the {self.scorer.name}: weights {', '.join(map(str, self.weights))} (dataset 1 "
            f"above 0, dataset 2 below) between the scores {', '.join(f'{cut:g}' for cut in self.cuts)}"
        )

    def coins(self, n: int) -> int:
        """How many of n samples fair coins give to dataset 1, the others to dataset 2."""
        return int(np.random.default_rng(self.seed).binomial(n, 0.5))

    @property
    def events(self) -> tuple[Event, ...]:
        """The events "score >= cut", whose counts `levels` takes."""
        return tuple(Event(self.scorer, cut, True, 0, (0.0, 0.0), "", 0.0) for cut in self.cuts)

    def levels(self, above: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[Level, ...]:
        """The guesses on samples of which so many are at or above each cut, shape (k,), of sizes[0] and of sizes[1]."""
        cells = [-np.diff([size, *counts, 0]) for counts, size in zip(above, sizes, strict=True)]
        return levels_of(np.array(self.weights), cells)


def levels_of(weights: np.ndarray, cells: Sequence[np.ndarray]) -> tuple[Level, ...]:
    """Counts of either dataset between neighboring cuts, shape (k + 1,), by the weights of guesses there."""
    found = []
    for weight in np.unique(np.abs(weights[weights != 0])):
        one, two = weights == weight, weights == -weight
        right, wrong = cells[0][one].sum() + cells[1][two].sum(), cells[1][one].sum() + cells[0][two].sum()
        found.append((int(weight), right.item(), wrong.item()))
    return tuple(found)


def certificate_inputs(guesses: Guesses, rule: Rule, epsilon: float) -> dict[str, Any]:
    """The only test of a fixed-sample audit as `dpassay.replay.audit` reads it, against epsilon-privacy (nats)."""
    return {
        "weight": "1",
        "log_slope": str(Fraction(epsilon)),
        "offset": "0",
        "guesses": [list(level) for level in guesses.levels],
        "description": rule.description,
    }


def weighted_tail(
    weights: Sequence[int], totals: Sequence[int], least: int, probability: float, step: int = 1
) -> float:
    """Upper bound of P(sum of w Bin(N_w, probability) >= least), by convolution on a grid that rounds weights up.

    The grid's step costs about its half for every weight.
    """
    law, first, beyond = np.ones(1), 0, 0.0
    for weight, total in zip(weights, totals, strict=True):
        reach = WINDOW * math.sqrt(total * probability * (1 - probability)) + WINDOW**2
        low, high = max(0, int(total * probability - reach)), min(total, math.ceil(total * probability + reach))
        places = np.arange(-(-weight * low // step), -(-weight * high // step) + 1)
        # The largest outcome that the grid rounds up to each place; all below the window are put at its first place.
        outcomes = np.minimum(places * step // weight, high).astype(float)
        below = np.ones(len(outcomes))
        special.betainc(total - outcomes, outcomes + 1, 1 - probability, out=below, where=outcomes < total)
        above = np.zeros(len(outcomes))
        special.betainc(outcomes + 1, total - outcomes, probability, out=above, where=outcomes < total)
        rising, falling = np.diff(below, prepend=0.0), -np.diff(above, prepend=1.0)
        law = np.convolve(law, np.maximum(np.where(outcomes < total * probability, rising, falling), 0.0))
        first += int(places[0])
        beyond += float(above[-1])
    return float(law[max(0, -(-least // step) - first) :].sum()) + beyond


def predicted(levels: Sequence[Level], failure_probability: float) -> float:
    """About the bound that so many guesses would give, for choosing among rules: no bound; nats, >= 0.

    Numbers of guesses may be expected ones.
    """
    return _predicted(*_sums(levels), failure_probability)


def _sums(levels: Sequence[Level]) -> tuple[float, float, float]:
    """The weights of right guesses, of all guesses, and the squared weights of all."""
    got = sum(weight * right for weight, right, _ in levels)
    most = sum(weight * (right + wrong) for weight, right, wrong in levels)
    return got, most, sum(weight**2 * (right + wrong) for weight, right, wrong in levels)


def _predicted(got: float, most: float, squares: float, failure_probability: float) -> float:
    """Where what was got is a normal quantile above what would be: Wilson's (1927) score limit."""
    if not got > 0:
        return 0.0
    spread = squares * special.ndtri(failure_probability) ** 2
    square, linear = most**2 + spread, 2 * got * most + spread
    share = (linear - math.sqrt(max(linear**2 - 4 * square * got**2, 0.0))) / (2 * square)
    return max(0.0, float(special.logit(share)))


def choose_rule(
    event: Event, scores: Sequence[np.ndarray], num_test: int, failure_probability: float, seed: int
) -> tuple[Rule, float] | None:
    """The rule along an event's order that promises most, and the bound, nats; None when the event promises as much.

    The order's trend says what an output tells; what it tells beyond the bound to be shown is its weight, as in the
    most powerful test. A promise is made by the trend and by the samples' own counts, which are believed the more the
    less they owe to luck.

    Args:
        event: the most promising one, for a claim without delta.
        scores: by its scorer, of selection samples of either side, shape (n,) each.
        num_test: samples per dataset that the test will have.
        failure_probability: of the test.
        seed: of the rule's coins.
    """
    below, cuts, *above = cut_counts([np.asarray(side, np.float32) for side in scores])
    sizes = [len(side) for side in scores]
    if sum(sizes) < FEW or not len(cuts):
        return None
    trend = fit_trend(np.append(below[:1], cuts), above, sizes)
    if trend.evidence < EVIDENCE:
        return None
    told, deviation = trend.cells
    misfit = math.hypot(MISFIT, SHAPE / math.sqrt(trend.evidence))
    told = np.sign(told) * np.maximum(np.abs(told) - DOUBT * deviation, 0)
    counted = [-np.diff([size, *counts, 0]) * (num_test / size) for counts, size in zip(above, sizes, strict=True)]
    expected = [(counted[0] + counted[1]) * special.expit(sign * told) for sign in (1, -1)]

    def likely(weights: np.ndarray) -> tuple[float, float, float]:
        """The sums of the test's guesses, of which the first is between what is expected and what was counted."""
        got, most, squares = _sums(levels_of(weights, expected))
        seen, *_ = _sums(levels_of(weights, counted))
        wrong, luck = (misfit * (got - most / 2)) ** 2, squares / 4 * num_test / min(sizes)
        return (seen * wrong + got * luck) / max(wrong + luck, 1e-300), most, squares

    inside = np.append(below[:1], cuts) >= np.float32(event.cut)
    hits, total, _ = likely(np.where(inside == event.above, 1 - 2 * event.direction, 0))
    alone = predicted_lower(hits, num_test, total - hits, num_test, failure_probability=failure_probability)
    best, promise = None, max(float(alone), event.predicted)
    for start in np.linspace(0, CAP * np.abs(told).max(), STARTS):
        excess = np.maximum(np.abs(told) - start, 0)
        weights = np.rint(np.sign(told) * excess * (HEAVIEST / max(excess.max(), 1e-300))).astype(int)
        bound = _predicted(*likely(weights), failure_probability)
        if bound > promise:
            best, promise = weights, bound
    if best is None:
        return None
    best //= np.gcd.reduce(best)
    jumps = np.flatnonzero(np.diff(best))
    ends = tuple(short(below[place], cuts[place]) for place in jumps)
    return Rule(event.scorer, ends, (int(best[0]), *(int(best[place + 1]) for place in jumps)), seed), promise
