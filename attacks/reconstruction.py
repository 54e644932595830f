"""What a rating collector learns from noisy ratings (Zheng, "Two Differentially Private Rating Collection Mechanisms").

Every user's device perturbs all entries of her rating vector, missing ones too, and sends them (Definitions 2 and 3).
The collector applies Bayes' rule to each entry: the prior comes from the other users' ratings, the likelihood is the
exact law of the mechanism, and answers collected again with fresh noise multiply their likelihoods.

A symbol is 0 for missing and v = 1..d for the v-th level of the rating scale. Samplers and likelihoods are those of
`dpassay.mechanisms` in NumPy, for speed; the tests compare the laws.
"""

import abc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from dpassay.attacks.outcomes import (
    AttackReport,
    Metric,
    Privacy,
    ThreatModel,
    auc,
    difference_metric,
    mean_metric,
    permitted_advantage,
)
from dpassay.core.checks import check_count
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import DiscreteModifiedLaplace, ModifiedLaplace, describe, mechanism
from dpassay.mechanisms.modified_laplace import rescaled

__all__ = ["METHODS", "METRICS", "AbstractDevice", "composed_advantage", "device", "log_priors", "run"]

METHODS = (
    "modified_laplace",
    "modified_laplace_repaired",
    "randomized_response",
    "randomized_response_repaired",
)
METRICS = (
    "value-accuracy",
    "rated-tpr",
    "rated-fpr",
    "list-precision",
    "rated-advantage",
    "rated-advantage-best",
    "auc",
    "advantage",
    "profile-advantage",
    "advantage-limit",
    "guess-value-accuracy",
    "guess-advantage",
    "guess-auc",
)
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
COLLECTIONS = (1, 2, 5, 10)
MAX_COLLECTIONS = 1000
MAX_LEVELS = 100
PRIOR_WEIGHT = 5.0  # an item's values count as much as this many values of the whole catalogue
CELLS = 2**23  # floats held at once in (users, items, symbols) arrays
LATTICE = 2000  # steps per unit of the coin's log-odds when a continuous loss is rounded up
LOG_ODDS = np.linspace(-15, 15, 301)  # candidate thresholds
BAYES = 150  # the place of 0 among them: posterior above 1/2


class AbstractDevice(abc.ABC):
    """What a user's device sends for one entry, as arrays of entries.

    Attributes:
        num_levels: d.
    """

    num_levels: int

    @abc.abstractmethod
    def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
        """One fresh answer per entry, of the symbols' shape; their meaning is the device's, NaN or 0 is missing."""

    @abc.abstractmethod
    def log_likelihoods(self, answers: np.ndarray) -> np.ndarray:
        """Log-law of each answer given every symbol, nats, shape (*answers, d + 1)."""

    @abc.abstractmethod
    def losses(self, symbol: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Privacy loss of the answer to a rated `symbol` against a missing entry.

        Returns:
            Losses in nats (none below the true one) with their probabilities under `symbol`, and the step of a lattice
            that holds them.
        """

    @abc.abstractmethod
    def answered(self) -> tuple[float, float]:
        """Probabilities that the answer is a rating: of a rated entry, and of a missing one."""

    @abc.abstractmethod
    def shown(self, answer: float, levels: np.ndarray) -> str:
        """An answer for a reader, on the rating scale."""


@final
@dataclass(frozen=True)
class _Laplace(AbstractDevice):
    """Definition 2, and its exact version on a grid.

    Attributes:
        positions: of the levels, shape (d,), ratings in [-1, 1] or grid steps.
        scale: of the noise, in the same unit.
        coin: log-odds that an entry stays rated or missing.
        discrete: positions and noise are integers.
        unit: positions per unit of [-1, 1].
    """

    positions: np.ndarray
    scale: float
    coin: float
    discrete: bool
    unit: float

    @property
    def num_levels(self) -> int:  # type: ignore[override]
        return len(self.positions)

    def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
        if self.discrete:
            stop = -math.expm1(-1 / self.scale)  # the difference of two geometric numbers is discrete Laplace
            noise = (generator.geometric(stop, symbols.shape) - generator.geometric(stop, symbols.shape)).astype(float)
        else:
            noise = generator.laplace(0.0, self.scale, symbols.shape)
        keep = generator.random(symbols.shape) < 1 / (1 + math.exp(-self.coin))
        centers = np.concatenate([[0.0], self.positions])[symbols]
        return np.where(keep == (symbols > 0), centers + noise, np.nan)

    def log_likelihoods(self, answers: np.ndarray) -> np.ndarray:
        missing = np.isnan(answers)
        values = np.where(missing, 0.0, answers)
        keep = -math.log1p(math.exp(-self.coin))
        turn = keep - self.coin
        norm = math.log(math.tanh(0.5 / self.scale)) if self.discrete else -math.log(2 * self.scale)
        logs = np.empty((*answers.shape, self.num_levels + 1))
        logs[..., 0] = np.where(missing, keep, turn + norm - np.abs(values) / self.scale)
        for level, position in enumerate(self.positions, 1):
            logs[..., level] = np.where(missing, turn, keep + norm - np.abs(values - position) / self.scale)
        return logs

    def losses(self, symbol: int) -> tuple[np.ndarray, np.ndarray, float]:
        # By symmetry at x = |position|. The loss of a number y is coin + (|y| - |y - x|) / scale: constant outside
        # (0, x), rising between.
        keep, distance = 1 / (1 + math.exp(-self.coin)), abs(float(self.positions[symbol - 1]))
        if self.discrete:
            points, step = np.arange(distance + 1), 1 / self.scale
            inner = keep * math.tanh(0.5 / self.scale) * np.exp((points - distance) / self.scale)
            ratio = math.exp(-1 / self.scale)
            inner[0] = keep * math.exp(-distance / self.scale) / (1 + ratio)
            inner[-1] = keep / (1 + ratio)
            if distance == 0:
                inner = np.array([keep])
        else:
            # Cells of the loss (of y), each rounded up to its upper end; the last holds everything above x.
            points, step = np.linspace(0, distance, 2 * LATTICE + 1), self.coin / LATTICE
            below = 0.5 * np.exp((points - distance) / self.scale)
            inner = keep * np.diff(np.concatenate([[0.0], below]))
            inner[-1] += keep * 0.5
            if distance == 0:
                points, inner = np.zeros(1), np.array([keep])
        losses = np.concatenate([[-self.coin], self.coin + (2 * points - distance) / self.scale])
        return losses, np.concatenate([[1 - keep], inner]), step

    def answered(self) -> tuple[float, float]:
        keep = 1 / (1 + math.exp(-self.coin))
        return keep, 1 - keep

    def shown(self, answer: float, levels: np.ndarray) -> str:
        if math.isnan(answer):
            return "not rated"
        low, high = levels[0], levels[-1]
        return f"{(low + high) / 2 + answer / self.unit * (high - low) / 2:.1f}"


@final
@dataclass(frozen=True)
class _Response(AbstractDevice):
    """Definition 3: log-probabilities that a symbol is kept, and that one particular other is sent."""

    num_levels: int
    log_keep: float
    log_other: float

    def sample(self, generator: np.random.Generator, symbols: np.ndarray) -> np.ndarray:
        shifts = generator.integers(1, self.num_levels + 1, symbols.shape, dtype=np.int16)
        shifts[generator.random(symbols.shape) < math.exp(self.log_keep)] = 0
        return np.asarray((symbols + shifts) % (self.num_levels + 1))

    def log_likelihoods(self, answers: np.ndarray) -> np.ndarray:
        return np.where(answers[..., None] == np.arange(self.num_levels + 1), self.log_keep, self.log_other)

    def losses(self, symbol: int) -> tuple[np.ndarray, np.ndarray, float]:
        epsilon, other = self.log_keep - self.log_other, math.exp(self.log_other)
        chances = np.array([other, (self.num_levels - 1) * other, math.exp(self.log_keep)])
        return epsilon * np.array([-1.0, 0.0, 1.0]), chances, epsilon

    def answered(self) -> tuple[float, float]:
        other = math.exp(self.log_other)
        return 1 - other, self.num_levels * other

    def shown(self, answer: float, levels: np.ndarray) -> str:
        return "not rated" if answer == 0 else f"{levels[int(answer) - 1]:g}"


def device(method: str, epsilon: float, levels: np.ndarray) -> AbstractDevice:
    """The device of a method.

    Args:
        method: one of `METHODS`.
        epsilon: nats, for one entry.
        levels: the rating scale, ascending, shape (d,).

    Raises:
        InvalidInput: an unknown method, or an epsilon that the mechanism does not allow.
    """
    built = _mechanism(method, epsilon, len(levels))
    if isinstance(built, ModifiedLaplace | DiscreteModifiedLaplace):
        scale = (float(levels[0]), float(levels[-1]))
        centers = rescaled(levels, scale) if scale[0] < scale[1] else np.zeros(1)
        if isinstance(built, DiscreteModifiedLaplace):
            steps = built.steps
            return _Laplace(np.round(centers * steps), built.scale, steps / built.scale, True, steps)
        return _Laplace(centers, built.scale, epsilon / 2, False, 1.0)
    keep, other = (float(built.log_prob(np.array([answer]), np.array([1]))) for answer in (1, 0))
    return _Response(len(levels), keep, other)


def composed_advantage(losses: np.ndarray, chances: np.ndarray, step: float, rounds: int) -> float:
    """Largest TPR - FPR of any test between two laws after independent rounds: their total variation.

    E_P[max(0, 1 - e^-L)] with L the sum of the rounds' losses, whose law is a power of one round's Fourier transform. A
    loss between two points of the lattice is split among them so that P and Q keep their masses. Joining the two again
    gives the pair back, so the result is an upper bound (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the
    Dots: Tighter Discrete Approximations of Privacy Loss Distributions", 2022); it is exact for losses on the lattice.

    Args:
        losses: log P/Q of the outcomes, nats, shape (outcomes,).
        chances: under P, shape (outcomes,).
        step: of the lattice, nats.
        rounds: how many.
    """
    places = np.floor(losses / step).astype(int)
    lowest = int(places.min())
    upper = np.expm1(-(losses - step * places)) / math.expm1(-step)
    law = np.bincount(places - lowest, chances * (1 - upper), places.max() - lowest + 2)
    law += np.bincount(places - lowest + 1, chances * upper, len(law))
    length = rounds * (len(law) - 1) + 1
    padded = next_fast_len(length, real=True)
    total = np.maximum(irfft(rfft(law, padded) ** rounds, padded)[:length], 0.0)
    summed = step * (rounds * lowest + np.arange(length))
    return float(min(1.0, (total * -np.expm1(-np.maximum(summed, 0.0))).sum()))


def log_priors(symbols: np.ndarray, targets: np.ndarray, num_levels: int) -> np.ndarray:
    """What the other users' ratings say about a target's entries, log-probabilities, shape (targets, items, d + 1).

    An item was rated with the share of the other users who rated it, (count + 1/2)/(others + 1), and its values are
    distributed as theirs, mixed with `PRIOR_WEIGHT` values distributed as in the others' whole catalogue.

    Args:
        symbols: of all users, shape (users, items).
        targets: rows, shape (targets,). A target's own row is never used for her.
        num_levels: d.
    """
    every = np.stack([(symbols == symbol).sum(0) for symbol in range(num_levels + 1)], axis=1)
    own = symbols[targets, :, None] == np.arange(num_levels + 1)
    counts = every - own
    raters = counts[..., 1:].sum(-1, keepdims=True)
    catalogue = counts[..., 1:].sum(1, keepdims=True) + 1.0
    catalogue /= catalogue.sum(-1, keepdims=True)
    values = (counts[..., 1:] + PRIOR_WEIGHT * catalogue) / (raters + PRIOR_WEIGHT)
    rated = (raters + 0.5) / len(symbols)
    return np.log(np.concatenate([1 - rated, rated * values], axis=-1))


@dataclass
class _Tally:
    """What the collector got right, per target and number of collections (0: the prior alone).

    Attributes:
        value: share of the target's ratings whose value is guessed, shape (targets,).
        auc: chance that a rated item scores above an unrated one, shape (targets,).
        above: share of entries with log-odds above each of `LOG_ODDS`, shape (targets, 2, thresholds); first the
            unrated, then the rated entries.
        listed: number of entries above the Bayes threshold, shape (targets, 2).
        hits: paired experiment: share of her ratings called rated in the world where she gave them and in the one
            where not, shape (targets, 2).
        profile: the same for all her ratings together, 0 or 1.
    """

    value: list[np.ndarray] = field(default_factory=list)
    auc: list[np.ndarray] = field(default_factory=list)
    above: list[np.ndarray] = field(default_factory=list)
    listed: list[np.ndarray] = field(default_factory=list)
    hits: list[np.ndarray] = field(default_factory=list)
    profile: list[np.ndarray] = field(default_factory=list)

    def joined(self, name: str) -> np.ndarray:
        return np.concatenate(getattr(self, name))


class _Point(NamedTuple):
    """One collection at one epsilon."""

    results: dict[str, Metric]
    limit: float


def run(
    ratings: Ratings,
    *,
    method: str = "modified_laplace",
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    epsilon: float = 1.0,
    rounds: int = 1,
    targets: int | None = None,
) -> AttackReport:
    """Attacks every target's collected vector.

    Args:
        ratings: the data; every target's prior comes from the other users.
        method: one of `METHODS`.
        seed: of all randomness.
        progress: told what is being done.
        epsilon: nats, for one entry of a user's vector and one collection.
        rounds: collections that the headline numbers are about; every one has fresh noise.
        targets: how many users are attacked, drawn at random; all if None.

    Raises:
        InvalidInput: an unknown method, an impossible setting, fewer than two users, or a rating scale of more than
            100 levels.
    """
    start = time.perf_counter()
    check_count("rounds", rounds, 1)
    if rounds > MAX_COLLECTIONS:
        raise InvalidInput(f"rounds is {rounds}; simulate at most {MAX_COLLECTIONS} collections")
    if targets is not None:
        check_count("targets", targets, 1)
    if ratings.num_users < 2:
        raise InvalidInput("the dataset has one user; the collector's prior needs at least one other")
    levels = _levels(ratings)
    sender = device(method, epsilon, levels)
    symbols = np.zeros((ratings.num_users, ratings.num_items), np.int16)
    symbols[ratings.users, ratings.items] = np.searchsorted(levels, ratings.values) + 1
    chosen = _targets(symbols, targets, seed)

    collections = sorted({*COLLECTIONS, rounds})
    progress(f"{method}: {len(chosen)} users, {collections[-1]} collections at epsilon {epsilon:g}")
    tallies = _attack(sender, symbols, chosen, [0, *collections], (seed, 0))
    results = {number: _results(tallies[number], seed) for number in tallies}
    limits = {number: _limit(sender, symbols[chosen], number) for number in collections}
    sweep = {epsilon: _Point(results[1], limits[1])}
    for place, each in enumerate(EPSILONS):
        if each != epsilon:
            progress(f"one collection at epsilon {each:g}")
            other = device(method, each, levels)
            tally = _attack(other, symbols, chosen, [1], (seed, 1 + place))[1]
            sweep[each] = _Point(_results(tally, seed), _limit(other, symbols[chosen], 1))
    sweep = dict(sorted(sweep.items()))
    progress("one worked example")

    head, prior = results[rounds], results[0]
    loss = max(float(sender.losses(level)[0].max()) for level in range(1, len(levels) + 1))
    rated = (symbols[chosen] > 0).sum(1)
    metrics = [
        *(head[name] for name in ("value-accuracy", "rated-tpr", "rated-fpr", "list-precision", "rated-advantage")),
        *(head[name] for name in ("rated-advantage-best", "auc", "advantage", "profile-advantage")),
        Metric("advantage-limit", limits[rounds], "The most that any test could reach in place of that advantage."),
        *(
            replace(prior[name], name=guess, meaning=meaning)
            for name, guess, meaning in (
                ("value-accuracy", "guess-value-accuracy", "The same guess without anything collected."),
                ("rated-advantage-best", "guess-advantage", "rated-advantage-best from popularity alone."),
                ("auc", "guess-auc", "auc from popularity alone."),
            )
        ),
    ]
    built = _mechanism(method, epsilon, len(levels))
    described = describe(built)
    return AttackReport(
        attack="reconstruction",
        title="What the collector of noisy ratings learns about one user",
        mechanism=f"{described['id']}/{described['variant']}",
        parameters=described["parameters"],
        threat_model=ThreatModel(
            knows="the mechanism and its epsilon; of each item, what share of the other users rated it and how",
            does="nothing but Bayes' rule, entry by entry, on what arrives; collects again if it can",
            sees=f"the noisy answer of the user's device for every item, {_times(rounds)} with fresh noise",
        ),
        summary=_summary(results, limits, rounds, epsilon, collections[-1]),
        settings={"method": method, "epsilon": epsilon, "rounds": rounds, "targets": len(chosen)},
        metrics=metrics,
        dataset=ratings,
        tables=[_by_rounds(results, limits, collections, epsilon), _by_epsilon(sweep)],
        plots=_plots(sweep, prior),
        victim=_victim(sender, symbols, chosen, levels, collections[-1], seed),
        privacy=_privacy(head, limits[rounds], epsilon, loss, rounds, rated, ratings.num_items),
        repair=_repair(results, limits, epsilon, collections[-1], sender, method, levels, symbols, ratings.num_items),
        limits=[
            "Entries are guessed one by one; a collector who also uses which items go together, or how many items the "
            "user rated, guesses better.",
            "The prior is taken from the other users' true ratings, as if these were public; without it the collector "
            "guesses worse, but tells neighboring datasets apart equally well.",
            "value-accuracy supposes that the collector knows which items she rated; rated-tpr says how far it does.",
            "The noise is that of exact arithmetic, independent for every entry: what rounding betrays in the paper's "
            "ordinary samplers, and one noise for a whole vector (Definition 2 to the letter), come on top.",
        ],
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _mechanism(method: str, epsilon: float, num_levels: int) -> Any:
    if method not in METHODS:
        raise InvalidInput(f"no method is called {method!r}; choose from {', '.join(METHODS)}")
    id = method.removesuffix("_repaired")
    variant = "paper" if method == id else "repaired"
    own = {"num_ratings": num_levels} if id == "randomized_response" else {}
    return mechanism(id, variant, epsilon=epsilon, **own)


def _levels(ratings: Ratings) -> np.ndarray:
    """The rating scale: all whole numbers of it if the ratings are whole, else the values that occur."""
    values, (low, high) = np.unique(ratings.values), ratings.scale
    if np.all(values == np.round(values)) and low == round(low) and high == round(high) and high - low < MAX_LEVELS:
        return np.arange(low, high + 1)
    if len(values) > MAX_LEVELS:
        raise InvalidInput(f"the ratings have {len(values)} different values; round them to at most {MAX_LEVELS}")
    return np.unique([low, *values, high])


def _targets(symbols: np.ndarray, number: int | None, seed: int) -> np.ndarray:
    active = np.flatnonzero((symbols > 0).any(1))
    if number is None or number >= len(active):
        return active
    return np.sort(np.random.default_rng([seed, 100]).choice(active, number, replace=False))


def _attack(
    sender: AbstractDevice,
    symbols: np.ndarray,
    targets: np.ndarray,
    checkpoints: Sequence[int],
    seed: tuple[int, int],
) -> dict[int, _Tally]:
    """Collects from all targets and judges the guesses after the given numbers of collections, ascending."""
    generator = np.random.default_rng(seed)
    tallies = {number: _Tally() for number in checkpoints}
    size = max(1, CELLS // (symbols.shape[1] * (sender.num_levels + 1)))
    for chunk in np.array_split(targets, -(-len(targets) // size)):
        truth = symbols[chunk]
        logs = log_priors(symbols, chunk, sender.num_levels)
        users, items = np.nonzero(truth)
        secret = truth[users, items]
        # The paired experiment: an even bet on whether the rating exists, and the item's values if it does.
        values = logs[users, items, 1:] - np.logaddexp.reduce(logs[users, items, 1:], axis=-1)[:, None]
        worlds = [np.zeros((len(users), sender.num_levels + 1)) for _ in range(2)]
        collected = 0
        for number in checkpoints:
            for _ in range(number - collected):
                logs += sender.log_likelihoods(sender.sample(generator, truth))
                for world, entries in zip(worlds, (secret, np.zeros_like(secret)), strict=True):
                    world += sender.log_likelihoods(sender.sample(generator, entries))
            collected = number
            ratios = [np.logaddexp.reduce(values + world[:, 1:], axis=-1) - world[:, 0] for world in worlds]
            _judge(tallies[number], logs, truth, ratios, users)
    return tallies


def _judge(tally: _Tally, logs: np.ndarray, truth: np.ndarray, ratios: Sequence[np.ndarray], users: np.ndarray) -> None:
    """Adds a chunk of targets; `logs` is the unnormalized log-posterior, shape (targets, items, d + 1)."""
    rated = truth > 0
    number, other = rated.sum(1), (~rated).sum(1)
    best = logs[..., 1:].max(-1)
    score = best + np.log(np.exp(logs[..., 1:] - best[..., None]).sum(-1)) - logs[..., 0]
    guess = logs[..., 1:].argmax(-1) + 1
    tally.value.append(_share((guess == truth).sum(1), number))

    tally.auc.append(auc(score, rated))

    bins = len(LOG_ODDS) + 1
    places = np.searchsorted(LOG_ODDS, score) + bins * (rated + 2 * np.arange(len(truth))[:, None])
    counts = np.bincount(places.ravel(), minlength=2 * bins * len(truth)).reshape(len(truth), 2, bins)
    above = counts[..., ::-1].cumsum(-1)[..., -2::-1]
    tally.above.append(_share(above, np.stack([other, number], axis=1)[..., None]))
    tally.listed.append(above[..., BAYES])

    hits = [np.bincount(users, ratio > 0, len(truth)) for ratio in ratios]
    tally.hits.append(np.stack([_share(hit, number) for hit in hits], axis=1))
    sums = [np.bincount(users, ratio, len(truth)) for ratio in ratios]
    tally.profile.append((np.stack(sums, axis=1) > 0).astype(float))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole, NaN where there is nothing."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.broadcast_to(whole > 0, np.shape(part)))


def _results(tally: _Tally, seed: int) -> dict[str, Metric]:
    above, listed = tally.joined("above"), tally.joined("listed")
    best = np.full(len(above), np.nan)
    half = np.random.default_rng([seed, 101]).permutation(len(above)) % 2 == 0
    for mine, others in ((half, ~half), (~half, half)):
        if mine.any() and others.any():
            gap = np.nanmean(above[others, 1] - above[others, 0], axis=0)
            best[mine] = (above[mine, 1] - above[mine, 0])[:, int(np.argmax(gap))]
    missed, found = above[:, 0, BAYES], above[:, 1, BAYES]
    hits, profile = tally.joined("hits"), tally.joined("profile")
    metrics = (
        mean_metric(
            "value-accuracy",
            tally.joined("value"),
            "Share of a user's ratings whose exact value the collector guesses, told which items she rated.",
        ),
        mean_metric("rated-tpr", found, "Share of the items she rated that the collector takes for more likely rated."),
        mean_metric("rated-fpr", missed, "Share of the items she did not rate that it takes for more likely rated."),
        mean_metric(
            "list-precision",
            _share(listed[:, 1], listed.sum(1)),
            "Share of the items that the collector lists as rated which she rated, all lists together.",
            weights=listed.sum(1),
        ),
        difference_metric("rated-advantage", found - missed, "rated-tpr minus rated-fpr; popularity helps it too."),
        mean_metric(
            "rated-advantage-best",
            best,
            "The same at the threshold that is best on the other half of the users.",
            bounds=(-1, 1),
        ),
        mean_metric(
            "auc",
            tally.joined("auc"),
            "Chance that an item she rated looks more rated to the collector than one she did not; 1/2 is blind.",
        ),
        difference_metric(
            "advantage",
            hits[:, 0] - hits[:, 1],
            "TPR - FPR of telling the world in which she gave one rating from that in which she did not.",
        ),
        difference_metric(
            "profile-advantage",
            profile[:, 0] - profile[:, 1],
            "The same for all of her ratings at once: is this her list, or nobody's?",
        ),
    )
    return {metric.name: metric for metric in metrics}


def _limit(sender: AbstractDevice, mine: np.ndarray, rounds: int) -> float:
    """The largest advantage for the targets' ratings: total variation, averaged over users and their ratings."""
    each = [composed_advantage(*sender.losses(level), rounds) for level in range(1, sender.num_levels + 1)]
    return float(np.mean(np.array([0.0, *each])[mine].sum(1) / (mine > 0).sum(1)))


def _summary(
    results: dict[int, dict[str, Metric]], limits: dict[int, float], rounds: int, epsilon: float, most: int
) -> list[str]:
    head, prior, last = results[rounds], results[0], results[most]
    sentences = [
        f"With noise of epsilon {epsilon:g} on each rating, collected {_times(rounds)}, the collector guessed "
        f"{_percent(head['value-accuracy'])} of a user's ratings to the exact value, if told what she rated; "
        f"{_percent(prior['value-accuracy'])} can be guessed without collecting anything.",
        f"Whether she rated one given item at all it told right in {_right(head['advantage'].value)}, where a coin has "
        f"50%; epsilon permits {_right(permitted_advantage(rounds * epsilon))}, and no test on these answers has more "
        f"than {_right(limits[rounds])}.",
        "As for all her ratings together, whether her device sent her own list or an empty one was told right in "
        f"{_right(head['profile-advantage'].value)}.",
    ]
    if most > rounds:
        sentences.append(
            f"Asked {most} times with fresh noise, the collector had {_percent(last['value-accuracy'])} of the values, "
            f"and was right about one given item in {_right(last['advantage'].value)}."
        )
    return sentences


def _times(rounds: int) -> str:
    return "once" if rounds == 1 else f"{rounds} times"


def _right(advantage: float) -> str:
    """The share of right guesses when either case is as likely."""
    return f"{(1 + advantage) / 2:.1%}"


def _percent(metric: Metric) -> str:
    return f"{100 * metric.value:.0f}%"


def _by_rounds(
    results: dict[int, dict[str, Metric]], limits: dict[int, float], collections: Sequence[int], epsilon: float
) -> Table:
    columns = ("value-accuracy", "rated-tpr", "rated-fpr", "list-precision", "auc", "profile-advantage", "advantage")
    rows: list[list[Any]] = [[0, *(results[0][name].cell() for name in columns[:5]), "-", "-", "-", "-"]]
    for number in collections:
        cells = [results[number][name].cell() for name in columns]
        rows.append([number, *cells, f"{limits[number]:.3f}", f"{permitted_advantage(number * epsilon):.3f}"])
    return Table(
        f"Collected again with fresh noise, epsilon {epsilon:g} each time (0 times: the guess without it)",
        ["collections", *columns, "most of any test", "permitted"],
        rows,
    )


def _by_epsilon(sweep: dict[float, _Point]) -> Table:
    names = ("value-accuracy", "rated-tpr", "rated-fpr", "auc", "advantage")
    rows = [
        [
            f"{epsilon:g}",
            *(point.results[name].cell() for name in names),
            f"{point.limit:.3f}",
            f"{permitted_advantage(epsilon):.3f}",
        ]
        for epsilon, point in sweep.items()
    ]
    return Table("One collection, by epsilon", ["epsilon", *names, "most of any test", "permitted"], rows)


def _plots(sweep: dict[float, _Point], prior: dict[str, Metric]) -> list[Plot]:
    epsilons = list(sweep)

    def observed(name: str, label: str) -> Series:
        each = [point.results[name] for point in sweep.values()]
        return Series(
            label,
            epsilons,
            [metric.value for metric in each],
            low=[metric.low for metric in each],
            high=[metric.high for metric in each],
        )

    limits = [point.limit for point in sweep.values()]
    permitted = [permitted_advantage(epsilon) for epsilon in epsilons]
    guess = [prior["value-accuracy"].value] * len(epsilons)
    return [
        Plot(
            "Exact values recovered from one collection",
            "epsilon per rating",
            "share of a user's ratings",
            [
                observed("value-accuracy", "collector"),
                Series("guess without collecting", epsilons, guess),
            ],
            x_scale="log",
        ),
        Plot(
            "Did she give this rating? One collection",
            "epsilon per rating",
            "advantage (TPR - FPR)",
            [
                observed("advantage", "collector"),
                Series("most of any test", epsilons, limits),
                Series("permitted by epsilon", epsilons, permitted),
            ],
            x_scale="log",
        ),
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
    return {
        "story": [
            f"User A rated {len(mine)} of {symbols.shape[1]} items. Her device sent a noisy answer for every item.",
            f"Of the {known.sum()} ratings below the collector would have guessed {right[0]} values beforehand; it has "
            f"{right[1]} after one collection and {right[2]} after {most}.",
        ],
        "tables": [
            Table(
                "What user A's device sent, and what the collector makes of it",
                [
                    "item",
                    "her rating",
                    "sent the first time",
                    "rated? before",
                    "after 1",
                    f"after {most}",
                    "value guessed before",
                    "after 1",
                    f"after {most}",
                ],
                rows,
            )
        ],
    }


def _privacy(
    head: dict[str, Metric],
    limit: float,
    epsilon: float,
    loss: float,
    rounds: int,
    rated: np.ndarray,
    num_items: int,
) -> list[Privacy]:
    advantage, profile = head["advantage"], head["profile-advantage"]
    low = advantage.low if advantage.low is not None else math.nan
    kept = low <= permitted_advantage(rounds * epsilon)
    return [
        Privacy(
            what=f"one rating, given or not, after {rounds} collection{'s' if rounds > 1 else ''}",
            epsilon_claimed=rounds * epsilon,
            epsilon_found=rounds * loss,
            advantage=advantage,
            says=f"The collector reached {advantage.value:.3f} of the {limit:.3f} that any test could, and "
            + ("the guarantee for one rating held." if kept else "MORE THAN THE GUARANTEE PERMITS."),
        ),
        Privacy(
            what=f"a user's whole vector of {num_items} items",
            epsilon_claimed=rounds * num_items * epsilon,
            epsilon_found=rounds * num_items * loss,
            advantage=profile,
            says=f"A vector of {num_items} items costs {num_items} times as much (Theorems 1 and 2), and even the "
            f"{int(np.median(rated))} items that the median user rated permit an advantage of "
            f"{permitted_advantage(rounds * epsilon * float(np.median(rated))):.3f}: nothing is promised to a user.",
        ),
    ]


def _repair(
    results: dict[int, dict[str, Metric]],
    limits: dict[int, float],
    epsilon: float,
    most: int,
    sender: AbstractDevice,
    method: str,
    levels: np.ndarray,
    symbols: np.ndarray,
    num_items: int,
) -> dict[str, Any]:
    share = float((symbols > 0).mean())
    rows = []
    for each in sorted({1 / num_items, *EPSILONS, epsilon}):
        own, invented = device(method, each, levels).answered()
        genuine = share * own / (share * own + (1 - share) * invented)
        cells = [f"{each:.4g}", f"{each * num_items:.4g}", f"{permitted_advantage(each):.3f}", f"{genuine:.1%}"]
        rows.append(cells)
    own, invented = sender.answered()
    return {
        "text": "Let the device draw its noisy answer once, store it, and send the same one whenever it is asked: "
        f"{most} collections then tell no more than one ({results[1]['advantage'].value:.3f} in place of "
        f"{results[most]['advantage'].value:.3f}, at most {limits[1]:.3f} in place of {limits[most]:.3f}). It costs "
        "storage only, and averages no longer sharpen.\nA user as a whole is protected only by an epsilon "
        f"divided by the {num_items} items, and then most of what is collected is invented: at epsilon {epsilon:g} "
        f"{share * own / (share * own + (1 - share) * invented):.1%} of the ratings that arrive were really given.",
        "tables": [
            Table(
                "What a smaller epsilon costs",
                ["epsilon per rating", "epsilon per user", "permitted per rating", "arriving ratings real"],
                rows,
            )
        ],
    }
