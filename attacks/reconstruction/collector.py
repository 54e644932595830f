"""The collector's guesses by Bayes' rule, entry by entry, and how often they are right."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpassay.attacks.advantage import composed_advantage
from dpassay.attacks.metrics import Metric, auc, by_name, difference_metric, explained, mean_metric, share
from dpassay.attacks.reconstruction.devices import AbstractDevice
from dpassay.attacks.reconstruction.settings import ReconstructionSettings
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings

MAX_LEVELS = 100
PRIOR_WEIGHT = 5.0  # an item's values count as much as this many values of the whole catalogue
CELLS = 2**23  # floats held at once in (users, items, symbols) arrays
LOG_ODDS = np.linspace(-15, 15, 301)  # candidate thresholds
BAYES = 150  # the place of 0 among them: posterior above 1/2


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


class Tally(NamedTuple):
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

    value: np.ndarray
    auc: np.ndarray
    above: np.ndarray
    listed: np.ndarray
    hits: np.ndarray
    profile: np.ndarray


def rating_levels(ratings: Ratings) -> np.ndarray:
    """The rating scale, shape (d,), ascending: all whole numbers of it if the ratings are whole, else what occurs.

    Raises:
        InvalidInput: more values than can be told apart.
    """
    values, (low, high) = np.unique(ratings.values), ratings.scale
    if np.all(values == np.round(values)) and low == round(low) and high == round(high) and high - low < MAX_LEVELS:
        return np.arange(low, high + 1)
    if len(values) > MAX_LEVELS:
        raise InvalidInput(f"the ratings have {len(values)} different values; round them to at most {MAX_LEVELS}")
    return np.unique([low, *values, high])


def chosen_targets(symbols: np.ndarray, number: int | None, seed: int) -> np.ndarray:
    """Rows of users with a rating, ascending: all, or a number of them at random; shape (targets,)."""
    active = np.flatnonzero((symbols > 0).any(1))
    if number is None or number >= len(active):
        return active
    return np.sort(np.random.default_rng([seed, 100]).choice(active, number, replace=False))


def collect(
    sender: AbstractDevice, symbols: np.ndarray, targets: np.ndarray, checkpoints: Sequence[int], seed: tuple[int, int]
) -> dict[int, Tally]:
    """Collects from all targets and judges the guesses after some numbers of collections.

    Args:
        sender: what a device sends.
        symbols: of all users, shape (users, items).
        targets: rows, shape (targets,).
        checkpoints: numbers of collections, ascending.
        seed: of the noise.
    """
    generator = np.random.default_rng(seed)
    tallies: dict[int, list[Tally]] = {number: [] for number in checkpoints}
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
            tallies[number].append(_judged(logs, truth, ratios, users))
    return {number: Tally(*map(np.concatenate, zip(*parts, strict=True))) for number, parts in tallies.items()}


def _judged(logs: np.ndarray, truth: np.ndarray, ratios: Sequence[np.ndarray], users: np.ndarray) -> Tally:
    """Of a chunk of targets; `logs` is the unnormalized log-posterior, shape (targets, items, d + 1)."""
    rated = truth > 0
    number, other = rated.sum(1), (~rated).sum(1)
    best = logs[..., 1:].max(-1)
    score = best + np.log(np.exp(logs[..., 1:] - best[..., None]).sum(-1)) - logs[..., 0]
    guess = logs[..., 1:].argmax(-1) + 1
    bins = len(LOG_ODDS) + 1
    places = np.searchsorted(LOG_ODDS, score) + bins * (rated + 2 * np.arange(len(truth))[:, None])
    counts = np.bincount(places.ravel(), minlength=2 * bins * len(truth)).reshape(len(truth), 2, bins)
    above = counts[..., ::-1].cumsum(-1)[..., -2::-1]
    sums = [np.bincount(users, ratio, len(truth)) for ratio in ratios]
    return Tally(
        value=share((guess == truth).sum(1), number),
        auc=auc(score, rated),
        above=share(above, np.stack([other, number], axis=1)[..., None]),
        listed=above[..., BAYES],
        hits=np.stack([share(np.bincount(users, ratio > 0, len(truth)), number) for ratio in ratios], axis=1),
        profile=(np.stack(sums, axis=1) > 0).astype(float),
    )


def tally_metrics(tally: Tally, seed: int) -> dict[str, Metric]:
    """What the collector got right, with intervals, by name."""
    above, listed, hits, profile = tally.above, tally.listed, tally.hits, tally.profile
    best = np.full(len(above), np.nan)
    half = np.random.default_rng([seed, 101]).permutation(len(above)) % 2 == 0
    for mine, others in ((half, ~half), (~half, half)):
        if mine.any() and others.any():
            gap = np.nanmean(above[others, 1] - above[others, 0], axis=0)
            best[mine] = (above[mine, 1] - above[mine, 0])[:, int(np.argmax(gap))]
    missed, found = above[:, 0, BAYES], above[:, 1, BAYES]
    metrics = (
        mean_metric("value-accuracy", tally.value),
        mean_metric("rated-tpr", found),
        mean_metric("rated-fpr", missed),
        mean_metric("list-precision", share(listed[:, 1], listed.sum(1)), weights=listed.sum(1)),
        difference_metric("rated-advantage", found - missed),
        difference_metric("rated-advantage-best", best),
        mean_metric("auc", tally.auc),
        difference_metric("advantage", hits[:, 0] - hits[:, 1]),
        difference_metric("profile-advantage", profile[:, 0] - profile[:, 1]),
    )
    return by_name(explained(metrics, ReconstructionSettings.metrics))


def advantage_limit(sender: AbstractDevice, mine: np.ndarray, rounds: int) -> float:
    """The largest advantage for the targets' ratings: total variation, averaged over users and their ratings.

    Args:
        sender: what a device sends.
        mine: the targets' symbols, shape (targets, items).
        rounds: collections, each with fresh noise.
    """
    each = [composed_advantage(*sender.losses(level), rounds) for level in range(1, sender.num_levels + 1)]
    return float(np.mean(np.array([0.0, *each])[mine].sum(1) / (mine > 0).sum(1)))
