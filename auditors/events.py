"""The event search: learns how to order outputs, then chooses where to cut on fresh samples.

An event is "score >= cut" or "score < cut" with a direction, the dataset under which it should be likelier. Scorers are
learned on training samples (`dpassay.auditors.learners`), cuts chosen on selection samples (a table of very few
outcomes of several columns has both from all of them, and a smooth additive model by cross-fitting), and the counts
that decide come from test samples which neither has seen: the search cannot cause a false refutation, whatever it
finds. Every distinct score is a possible cut, ties stay together, and each cut is judged by the lower bound that the
test would report if both probabilities were as unfavorable as luck may jointly explain, so that small lucky events do
not win (the winner's curse).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from dpassay.auditors.fixed_sample import Counts, epsilon_lower, predicted_lower
from dpassay.auditors.learners import (
    COUNTED,
    FEW_OUTCOMES,
    SMALL,
    SmoothAdditive,
    learn_scorers,
    refine,
    tally,
    tally_more,
)
from dpassay.auditors.scorers import Scorer, Stack
from dpassay.auditors.trends import Trend, fit_trend, unknown
from dpassay.core.errors import InvalidInput

if TYPE_CHECKING:
    from dpassay.auditors.guesses import Guesses, Rule
    from dpassay.auditors.outputs import Encoder

CAUTION = 0.002  # by how unlikely a luck each event is doubted when events are compared, shared by the scorers
MIDDLE_CUTS = 512  # cuts at equally spaced ranks
TAIL_STEP = 0.02  # towards both ends, neighboring cuts differ by this share of the samples beyond them
FEW = 512  # selection samples, both sides together, up to which only a spread of cuts makes sense
FEW_CUTS = 9
HELD = 50_000  # samples per side held out of learning to weigh and rank scorers
KEPT = 6  # scorers that go on to selection
KEPT_OF_MANY = 9  # where it has millions of samples: ranks by those held out are noise to it
REFINED = 1000  # most promising events whose bound is predicted by the test's own formula
PICTURED = 20_000  # feature vectors that either procedure keeps for the reports


@dataclass(frozen=True, eq=False)
class Event:
    """A set of outputs, and the dataset that should make it likelier.

    Attributes:
        scorer: what is compared with the cut.
        cut: a float32 value.
        above: the event is `score >= cut`, else `score < cut`.
        direction: 0 when the event should be likelier under dataset 1, 1 under dataset 2.
        point: (epsilon, delta) at which it promises most.
        description: in words.
        predicted: the lower bound on epsilon at `point`'s delta that the test is expected to report, nats; cautious.
    """

    scorer: Scorer
    cut: float
    above: bool
    direction: int
    point: tuple[float, float]
    description: str
    predicted: float

    def contains(self, features: Any) -> Any:
        """Whether each row of features, shape (n, d), lies in the event; boolean of shape (n,), traceable by JAX."""
        inside = self.scorer(features) >= np.float32(self.cut)
        return inside if self.above else ~inside


@dataclass(frozen=True)
class Tested:
    """One event and how often it happened in fresh samples; in anytime-valid mode in those of its epoch.

    Where there are guesses, by a rule, they are tested instead of the event on the same samples; the p-value is theirs.
    """

    pair: int
    event: Event
    counts: Counts
    weight: float
    log_e_value: float | None = None
    p_value: float | None = None
    guesses: "Guesses | None" = None
    rule: "Rule | None" = None

    @property
    def by_dataset(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(successes, trials) under dataset 1 and under dataset 2; `counts` has the event's likelier side first."""
        counts = self.counts
        first, second = (counts.successes1, counts.trials1), (counts.successes2, counts.trials2)
        return (first, second) if self.event.direction == 0 else (second, first)

    def epsilon_lower(self, failure_probability: float) -> float:
        """Lower confidence bound of epsilon at the delta of the event's point, nats; of one test with that failure."""
        if self.guesses is not None:
            return self.guesses.epsilon_lower(failure_probability)
        return epsilon_lower(self.counts, delta=self.event.point[1], failure_probability=failure_probability)


def likelier_first(events: Sequence[Event], counts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How often each event happened on its likelier side and on the other, shape (events,), from counts on both."""
    swapped = np.array([event.direction == 1 for event in events])
    return np.where(swapped, counts[1], counts[0]), np.where(swapped, counts[0], counts[1])


def find_events(
    training: Sequence[Any],
    encoder: "Encoder",
    scored: Callable[[int, Sequence[Scorer]], Any],
    *,
    points: Sequence[tuple[float, float]],
    num_test: int,
    failure_probability: float,
    num_events: int = 1,
    effort: str = "normal",
    seed: int = 0,
) -> tuple[Event, ...]:
    """`learn`, then `select`: the whole search on one pair of datasets.

    Takes feature vectors of both sides for `training`, and `scored`, which gives the scores of selection samples from a
    side (0 or 1) and the scorers; see `score`. All else is as in `learn` and `select`.
    """
    scorers, _ = learn(training[0], training[1], encoder.names, encoder.discrete, seed=seed, effort=effort)
    return select(
        scorers,
        *(scored(side, scorers) for side in (0, 1)),
        points=points,
        num_test=num_test,
        failure_probability=failure_probability,
        num_events=num_events,
        names=encoder.names,
    )


def score(features: Any, scorers: Sequence[Scorer]) -> np.ndarray:
    """The scores of feature vectors, shape (n, columns), by every scorer: shape (n, scorers)."""
    return np.stack([np.asarray(scorer(features)) for scorer in scorers], axis=1)


class Learned(NamedTuple):
    """What was learned from training samples.

    Attributes:
        scorers: at least one.
        additive: a smooth model that has counted the samples; maybe none.
    """

    scorers: tuple[Scorer, ...]
    additive: SmoothAdditive | None = None


def learn(
    features1: Any,
    features2: Any,
    names: Sequence[str],
    discrete: Sequence[bool],
    *,
    seed: int = 0,
    effort: str = "normal",
    more: tuple[Callable[[int, int], np.ndarray], int] | None = None,
) -> Learned:
    """Learns scorers from training samples.

    Args:
        features1: encoded samples under dataset 1, finite, shape (n1, d).
        features2: under dataset 2, shape (n2, d).
        names: of the d columns.
        discrete: per column, whether it takes few values.
        seed: of everything random.
        effort: "small" (milliseconds, any number of samples) or "normal" (seconds).
        more: draws further training samples from a side and a number, and how many of each side to draw where they
            help, maybe none: to refine a stack of scorers (`learners.refine`) and count the bins of a smooth additive
            model, or to count outputs of few, not very few, values. None: no such model, which takes a second.

    Raises:
        InvalidInput: no samples, shapes that do not match, numbers that are not finite, or an unknown effort.
    """
    one, two = (np.asarray(features, np.float32) for features in (features1, features2))
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1] or one.shape[1] == 0:
        raise InvalidInput(f"features have shapes {one.shape} and {two.shape}; give (samples, columns), equal columns")
    if not len(one) or not len(two):
        raise InvalidInput("there are no training samples; give at least one per dataset")
    if len(names) != one.shape[1] or len(discrete) != one.shape[1]:
        raise InvalidInput(f"{one.shape[1]} columns need as many names and flags, got {len(names)} and {len(discrete)}")
    if effort not in ("small", "normal"):
        raise InvalidInput(f"effort {effort!r}: use small or normal")
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InvalidInput("features must be finite; encode NaN and infinities as columns of their own first")
    if effort == "small" or one.shape[1] == 1 or min(len(one), len(two)) <= SMALL:
        return Learned(learn_scorers(one, two, discrete, seed=seed))
    held = tuple(side[: min(len(side) // 5, HELD)] for side in (one, two))
    rest = tuple(side[len(part) :] for side, part in zip((one, two), held, strict=True))
    weights = None
    if all(discrete):
        rows, counts = tally(rest[0], rest[1])
        if len(rows) <= COUNTED:
            if more is not None and len(rows) > FEW_OUTCOMES:
                rows, counts = tally_more(rows, counts, *more)
            rest, weights = (rows, rows), counts
    scorers = learn_scorers(rest[0], rest[1], discrete, (held[0], held[1]), weights=weights, seed=seed)
    draw, size = more or (None, 0)
    promising = _promising(scorers, held[0], held[1], KEPT_OF_MANY if size else KEPT)
    stacks = [scorer for scorer in scorers if isinstance(scorer, Stack)]
    if draw is None or weights is not None or not stacks:
        return Learned(promising)
    additive = SmoothAdditive(one, two)

    def counted(side: int, number: int) -> np.ndarray:
        rows = draw(side, number)
        additive.add(side, rows[:, additive.columns])
        return rows

    refined = refine(stacks[-1], counted, size, discrete, seed=seed)
    return Learned((*promising, *refined), additive)


def learn_few(
    training: Sequence[np.ndarray], discrete: Sequence[bool], draw: Callable[[int, int], np.ndarray], num_samples: int
) -> tuple[tuple[Scorer, ...], list[np.ndarray]] | None:
    """Scorers of outputs of very few values, and the scores that choose among their events, from the same samples.

    A table of so few outcomes has little to overfit; what luck there is `select` doubts.

    Args:
        training: samples of either side, shape (n, columns) each.
        discrete: per column, whether it takes few values.
        draw: gives fresh samples, shape (n, columns), from a side (0 or 1) and n.
        num_samples: to draw of either side.

    Returns:
        None if there are more than FEW_OUTCOMES.
    """
    if not all(discrete):
        return None
    for some in (FEW, None):  # most outputs of more values show them at once
        rows, counts = tally(training[0][:some], training[1][:some])
        if len(rows) > FEW_OUTCOMES:
            return None
    rows, counts = tally_more(rows, counts, draw, num_samples)
    scorers = learn_scorers(rows, rows, discrete, weights=counts)
    scores = score(rows, scorers)
    return scorers, [np.repeat(scores, count.astype(int), axis=0) for count in counts]


def select(
    scorers: Sequence[Scorer],
    scores1: Any,
    scores2: Any,
    *,
    points: Sequence[tuple[float, float]],
    num_test: int,
    failure_probability: float,
    num_events: int = 1,
    names: Sequence[str] | None = None,
) -> tuple[Event, ...]:
    """Chooses events by the bound they promise, on scores of samples that the scores were not learned from.

    Args:
        scorers: as `learn` gives them, or models that are cross-fitted.
        scores1: of samples under dataset 1, shape (n1, len(scorers)).
        scores2: under dataset 2, shape (n2, len(scorers)).
        points: (epsilon, delta) pairs at which the claim may be judged.
        num_test: samples per dataset that the test will have.
        failure_probability: of the test.
        num_events: how many events to return at most. Beyond the first they are diverse: the best of every point, of
            every scorer and direction, then of every order of magnitude of the probability.
        names: of the columns, for the descriptions; without them events are described by their scores only.

    Returns:
        At least one event, the most promising first.

    Raises:
        InvalidInput: no samples, no points, or scores that do not match the scorers.
    """
    sides = [np.asarray(scores, np.float32) for scores in (scores1, scores2)]
    if any(side.ndim != 2 or side.shape[1] != len(scorers) or not len(side) for side in sides) or not scorers:
        raise InvalidInput(f"scores have shapes {sides[0].shape} and {sides[1].shape}; give (samples, {len(scorers)})")
    if not points:
        raise InvalidInput("give at least one (epsilon, delta) point to judge the claim at")
    candidates = _candidates(sides)
    if not len(candidates.cut):
        candidates = _everything(sides)
    margins, bounds = _predict(candidates, points, num_test, failure_probability)
    chosen = _diverse(candidates, margins, num_events, sum(map(len, sides)) < FEW)
    events = []
    for index in chosen:
        place = int(np.argmax(margins[:, index]))
        scorer = scorers[candidates.scorer[index]]
        cut, above = short(candidates.below[index], candidates.cut[index]), bool(candidates.above[index])
        words = f"{scorer.name}, score {'>=' if above else '<'} {cut:g}"
        events.append(
            Event(
                scorer,
                cut,
                above,
                int(candidates.direction[index]),
                (float(points[place][0]), float(points[place][1])),
                scorer.describe(cut, above, tuple(names)) if names is not None else words,
                float(bounds[place, index]),
            )
        )
    return tuple(events)


def _promising(scorers: tuple[Scorer, ...], held1: np.ndarray, held2: np.ndarray, keep: int) -> tuple[Scorer, ...]:
    """The scorers whose events promise most on held-out samples: every scorer costs time on every sample.

    Half by the bound on epsilon, which likes rare events of large ratio, half by the difference of probabilities.
    """
    if len(scorers) <= keep:
        return scorers
    promises = []
    for scorer in scorers:
        candidates = _candidates([np.asarray(scorer(held), np.float32)[:, None] for held in (held1, held2)])
        if not len(candidates.cut):
            promises.append((-np.inf, -np.inf))
            continue
        _, bounds = _predict(candidates, [(0.0, 0.0)], 30 * len(held1), 0.05)
        margins, _ = _predict(candidates, [(0.0, 0.0)] * 2, 30 * len(held1), 0.05)
        promises.append((float(bounds.max()), float(margins.max())))
    ranks = np.argsort(np.argsort(-np.array(promises), axis=0, kind="stable"), axis=0)
    kept = np.argsort(ranks.min(axis=1), kind="stable")[:keep]
    return tuple(scorers[index] for index in np.sort(kept))


@dataclass(frozen=True)
class _Candidates:
    """Directed events as arrays of one shape (K,): hits of the likelier side first."""

    scorer: np.ndarray
    below: np.ndarray  # the largest score below the cut
    cut: np.ndarray
    above: np.ndarray
    direction: np.ndarray
    hits: np.ndarray
    trials: np.ndarray
    other_hits: np.ndarray
    other_trials: np.ndarray
    trend: np.ndarray  # the log-ratio that the scorer's `Trend` expects of the likelier side to the other, nats
    deviation: np.ndarray  # its standard deviation


def cut_counts(sides: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where scores may be cut: the largest score below each cut, the cuts, and how many of either side are not below.

    Takes the scores of either side, shape (n,) each; the arrays are of one shape, the cuts increasing.
    """
    sizes = [len(side) for side in sides]
    ordered = [np.sort(side) for side in sides]
    if sum(sizes) < FEW:
        pooled = np.sort(np.concatenate(ordered))
        cuts = np.unique(pooled[np.round(np.arange(1, FEW_CUTS + 1) * len(pooled) / (FEW_CUTS + 1)).astype(int)])
    else:
        cuts = np.unique(np.concatenate([values[_ranks(len(values))] for values in ordered]))
    starts = [np.searchsorted(values, cuts) for values in ordered]
    pairs = zip(ordered, starts, strict=True)
    below = np.maximum(*(np.where(start > 0, values[np.maximum(start - 1, 0)], -np.inf) for values, start in pairs))
    kept, above = np.isfinite(below), [size - start for size, start in zip(sizes, starts, strict=True)]
    return below[kept], cuts[kept], above[0][kept], above[1][kept]


def _candidates(sides: list[np.ndarray]) -> _Candidates:
    sizes = [len(side) for side in sides]
    few = sum(sizes) < FEW
    parts, trends = [], []
    for place in range(sides[0].shape[1]):
        below, cuts, *counts = cut_counts([side[:, place] for side in sides])
        parts.append((np.full(len(cuts), place), below, cuts, *counts))
        known = not few and len(cuts)
        trends.append(fit_trend(np.append(below[:1], cuts), counts, sizes) if known else unknown(len(cuts)))
    scorer, below, cut, above1, above2 = map(np.concatenate, zip(*parts, strict=True))
    return _directed(scorer, below, cut, above1, above2, trends, sizes)


def _directed(
    scorer: np.ndarray,
    below: np.ndarray,
    cut: np.ndarray,
    above1: np.ndarray,
    above2: np.ndarray,
    trends: Sequence[Trend],
    sizes: list[int],
) -> _Candidates:
    """Both sides of every cut in both directions."""
    parts = []
    for above in (True, False):
        hits = (above1, above2) if above else (sizes[0] - above1, sizes[1] - above2)
        expected, deviation = map(np.concatenate, zip(*(t.above if above else t.below for t in trends), strict=True))
        for direction in (0, 1):
            trials = np.full(len(cut), sizes[direction]), np.full(len(cut), sizes[1 - direction])
            flags = np.full(len(cut), above), np.full(len(cut), direction)
            counts = hits[direction], trials[0], hits[1 - direction], trials[1]
            parts.append((scorer, below, cut, *flags, *counts, (1 - 2 * direction) * expected, deviation))
    return _Candidates(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _everything(sides: list[np.ndarray]) -> _Candidates:
    """For scores that never differ: the sure event, which refutes nothing."""
    lowest = np.array([min(side[:, 0].min() for side in sides)])
    sizes = [len(side) for side in sides]
    counts = np.array([sizes[0]]), np.array([sizes[1]])
    return _directed(np.zeros(1, int), np.full(1, -np.inf), lowest, *counts, [unknown(1)], sizes)


def _ranks(size: int) -> np.ndarray:
    """Ranks to cut at: equally spaced ones, and towards both ends ever closer ones."""
    if size <= 2 * MIDDLE_CUTS:
        return np.arange(size)
    tail = np.unique(np.exp(np.arange(0, np.log(size / 2), TAIL_STEP)).astype(int))
    middle = np.linspace(0, size - 1, MIDDLE_CUTS).astype(int)
    return np.unique(np.concatenate([tail, size - tail, middle]))


def _predict(
    candidates: _Candidates, points: Sequence[tuple[float, float]], num_test: int, failure_probability: float
) -> tuple[np.ndarray, np.ndarray]:
    """How surely each event would refute each point, and the bound it would give; both of shape (points, K).

    With one point both are the predicted bound; bounds at different deltas do not compare, so with several the first
    is the distance from the boundary of the claim in standard deviations of the test.
    """
    bounds, margins = [], []
    for epsilon, delta in points:
        likelier, other = _doubted(candidates, delta)
        bound = _bound(likelier, other, num_test, delta, failure_probability)
        best = np.argsort(-bound)[:REFINED]
        refined = predicted_lower(
            likelier[best] * num_test,
            num_test,
            other[best] * num_test,
            num_test,
            delta=delta,
            failure_probability=failure_probability,
        )
        bound[best] = np.where(refined > 0, refined, np.minimum(bound[best], 0))
        bounds.append(bound)
        ratio = np.exp(min(epsilon, 700.0))
        spread = np.sqrt((likelier * (1 - likelier) + ratio**2 * other * (1 - other)) / num_test) + 1e-300
        margins.append((likelier - ratio * other - delta) / spread)
    return np.array(bounds if len(points) == 1 else margins), np.array(bounds)


def promised(
    counts: tuple[int, int, int, int], point: tuple[float, float], num_test: int, failure_probability: float, tried: int
) -> float:
    """The cautious prediction of `Event.predicted` from (hits, samples) of either dataset, when so many were tried."""
    hits, trials, other, others = (np.array([count]) for count in counts)
    none, level = np.zeros(1), unknown(1).above
    candidates = _Candidates(np.array([tried - 1]), none, none, none, none, hits, trials, other, others, *level)
    return float(_predict(candidates, [point], num_test, failure_probability)[1][0, 0])


def _doubted(candidates: _Candidates, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """The likelier side's probabilities and the other's, moved jointly towards each other as far as luck may reach.

    In the angle asin(sqrt(p)) all counts of n trials have standard deviation 1 / (2 sqrt(n)): what is within z of them
    is a disc around the estimate, on which (p - delta) / q is least, to first order, where it falls steepest. A limit
    for each probability by itself would doubt twice: rare events that one side never shows would be passed over.
    Where the trend, doubted likewise, promises more, it is believed as far as the event's own counts bear it out.
    """
    z = -special.ndtri(CAUTION / (1 + candidates.scorer.max()))
    p, q = candidates.hits / (candidates.trials + 1), (candidates.other_hits + 1) / (candidates.other_trials + 1)
    width1, width2 = 1 / (2 * np.sqrt(candidates.trials + 1)), 1 / (2 * np.sqrt(candidates.other_trials + 1))
    steep1 = width1 * np.sqrt(p * (1 - p)) / np.maximum(p - delta, 1e-300)
    steep2 = width2 * np.sqrt((1 - q) / q)
    far = z / np.maximum(np.hypot(steep1, steep2), 1e-300)
    likelier = np.sin(np.maximum(np.arcsin(np.sqrt(p)) - far * steep1 * width1, 0)) ** 2
    other = np.sin(np.minimum(np.arcsin(np.sqrt(q)) + far * steep2 * width2, np.pi / 2)) ** 2
    log_ratio = np.minimum(candidates.trend - z * candidates.deviation, np.log(np.maximum(p, 1e-300) / q))
    believed = log_ratio > np.log(np.maximum(likelier, 1e-300) / other)
    one, two = (np.minimum((p + q) * special.expit(sign * log_ratio), 1) for sign in (1, -1))
    return np.where(believed, one, likelier), np.where(believed, two, other)


def _bound(likelier: np.ndarray, other: np.ndarray, size: int, delta: float, failure_probability: float) -> np.ndarray:
    """The bound at expected counts, by limits recovered from two Wilson intervals (Zou and Donner 2008); nats."""
    z = special.ndtri(1 - failure_probability)
    lower, _ = _wilson(likelier * size, np.full(likelier.shape, size), z)
    _, upper = _wilson(other * size, np.full(other.shape, size), z)
    lifted, floor = likelier - delta, np.maximum(lower - delta, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.sqrt(np.log(lifted / floor) ** 2 + np.log(upper / other) ** 2)
        bound = np.log(lifted / other) - shift
    return np.where(lifted > 0, np.nan_to_num(bound, nan=-np.inf, neginf=-np.inf), -np.inf)


def _wilson(hits: np.ndarray, trials: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's (1927) score limits of a probability."""
    center = hits + z * z / 2
    width = z * np.sqrt(np.maximum(hits * (1 - hits / trials), 0) + z * z / 4)
    return np.maximum(center - width, 0) / (trials + z * z), (center + width) / (trials + z * z)


def _diverse(candidates: _Candidates, margins: np.ndarray, num_events: int, few: bool) -> list[int]:
    """The best event, then events that differ from those before in kind; indices into the candidates."""
    best = margins.max(axis=0)
    order = np.argsort(-best, kind="stable")
    if num_events == 1:
        return [int(order[0])]
    share = (candidates.hits + candidates.other_hits) / (candidates.trials + candidates.other_trials)
    octave = np.floor(-np.log2(np.maximum(share, 1e-12))).astype(int)
    kinds: list[Any] = [[(int(place),) for place in margins.argmax(axis=0)]]
    kinds.append(list(zip(candidates.scorer, candidates.direction, strict=True)))
    kinds.append(list(zip(candidates.direction, octave, strict=True)))
    kinds.append(list(zip(candidates.scorer, candidates.direction, octave, strict=True)))
    if few:
        # Too few samples to know a direction: every cut, its rarer side first, both directions.
        order = order[np.argsort(share[order] > 0.5, kind="stable")]
        pairs = list(zip(candidates.scorer, candidates.cut, candidates.direction, strict=True))
        kinds = [pairs]
    chosen: dict[int, None] = {}
    for keys in kinds:
        seen = {keys[index] for index in chosen}
        for index in order:
            if len(chosen) >= num_events:
                return list(chosen)
            if keys[index] not in seen:
                seen.add(keys[index])
                chosen[int(index)] = None
    return list(chosen)


def short(below: float, cut: float) -> float:
    """The shortest decimal float32 c with below < c <= cut, so that "output >= 3.25" is what is tested."""
    if not np.isfinite(below):
        return float(cut)
    middle = (float(below) + float(cut)) / 2
    for digits in range(1, 10):
        value = np.float32(f"{middle:.{digits}g}")
        if below < value <= cut:
            return float(value)
    return float(cut)
