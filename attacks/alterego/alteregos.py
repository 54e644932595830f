"""Mapped profiles (AlterEgos) of many users at once, and what they say about the items they were made from.

The laws are those of `dpassay.mechanisms.prs` and `dpassay.mechanisms.alterego`, as arrays.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from dpassay.attacks.alterego.settings import Method
from dpassay.attacks.settings import registered
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.batched_items import compared_values

VARIANTS = {method: registered(method)[1] for method in ("prs", "prs_released", "prs_repaired")}
REPEATS = 200  # of the paired experiment per target: its outcome is a coin for one pair of profiles
PASSES = 4  # of the mean field
CELLS = 8_000_000  # float64 numbers in the largest temporary array


@dataclass(frozen=True, eq=False)
class LinkTable:
    """Sums over users behind the similarity of every source-domain and every target-domain item.

    Attributes:
        dot: sum of products of mean-centered ratings, shape (sources, targets).
        squares: sums of squares of both domains' items, shapes (sources,) and (targets,).
        counts: how many of these are not 0, which decides exactly whether a norm is 0.
        common: number of users who rated both, shape (sources, targets).
    """

    dot: np.ndarray
    squares: tuple[np.ndarray, np.ndarray]
    counts: tuple[np.ndarray, np.ndarray]
    common: np.ndarray

    def similarities(self, significance_cap: int = 1) -> np.ndarray:
        """X-SIM of directly linked items, shape (sources, targets); NaN where it has no quantified value."""
        defined = (self.common > 0) & (self.counts[0] > 0)[:, None] & (self.counts[1] > 0)
        norms = np.sqrt(np.where(defined, self.squares[0][:, None] * self.squares[1], 1.0))
        weight = np.minimum(self.common, significance_cap) / significance_cap
        return np.where(defined, weight * self.dot / norms, np.nan)


@dataclass(frozen=True, eq=False)
class AlterEgos:
    """Repeated AlterEgos of several users.

    Attributes:
        owners: of every rating of a source item, its user, shape (ratings,).
        items: and its source item.
        values: and its value.
        draws: its replacement, a number of the target domain or `targets` for none, shape (ratings, rounds).
        shown: which target items an AlterEgo holds, shape (users, rounds, targets).
        ratings: their ratings, the mean of all ratings mapped there; 0 where none, same shape.
    """

    owners: np.ndarray
    items: np.ndarray
    values: np.ndarray
    draws: np.ndarray
    shown: np.ndarray
    ratings: np.ndarray


def link_table(matrix: np.ndarray, num_source_items: int) -> LinkTable:
    """Sums for the adjusted cosine with norms over all raters, as `dpassay.mechanisms.item_similarity` defines it.

    The matrix has shape (users, items), NaN where a rating is missing; its first columns are the source domain.
    """
    centered, rated = compared_values(matrix, "paper")
    source, target = np.s_[:, :num_source_items], np.s_[:, num_source_items:]
    return LinkTable(
        centered[source].T @ centered[target],
        ((centered[source] ** 2).sum(0), (centered[target] ** 2).sum(0)),
        ((centered[source] != 0).sum(0), (centered[target] != 0).sum(0)),
        rated[source].T @ rated[target],
    )


def without_user(table: LinkTable, row: np.ndarray, sources: np.ndarray) -> LinkTable:
    """The rows `sources` of the table as they are without one user of these ratings, shape (items,)."""
    centered, rated = (part[0] for part in compared_values(row[None, :], "paper"))
    split = len(table.squares[0])
    own = (centered[:split][sources], centered[split:])
    kept = (table.squares[0][sources], table.squares[1])
    counts = (table.counts[0][sources], table.counts[1])
    return LinkTable(
        table.dot[sources] - np.outer(*own),
        (kept[0] - own[0] ** 2, kept[1] - own[1] ** 2),
        (counts[0] - (own[0] != 0), counts[1] - (own[1] != 0)),
        table.common[sources] - np.outer(rated[:split][sources], rated[split:]),
    )


def replacement_laws(similarities: np.ndarray, method: Method, epsilon: float = 1.0) -> np.ndarray:
    """Probability of every replacement of every source item, at an epsilon of one draw in nats.

    The laws of `dpassay.mechanisms.prs`, all rows at once; "alterego" takes the most similar item, of equal ones the
    first. X-SIM has shape (sources, targets), NaN where it is not quantified; the result has a further column for the
    probability that there is no replacement, 0 or 1.
    """
    quantified = ~np.isnan(similarities)
    scores = np.where(quantified, similarities, 0.0)
    if method == "alterego":
        best = np.argmax(np.where(quantified, np.round(scores, 12), -np.inf), axis=1)
        logs = np.where(quantified & (np.arange(scores.shape[1]) == best[:, None]), 0.0, -np.inf)
    else:
        prs = mechanism("prs", VARIANTS[method], epsilon=epsilon)
        listed = quantified
        if method == "prs_repaired":
            listed = np.ones_like(quantified)
        elif method == "prs_released":
            size = np.round(np.abs(scores), 12)
            order = np.argsort(-size, axis=1, kind="stable")[:, : prs.list_size]
            listed = np.zeros_like(quantified)
            np.put_along_axis(listed, order, True, axis=1)
            listed &= size > 0
        logs = np.where(listed, epsilon / (2 * prs.sensitivity) * scores, -np.inf)
    weights = np.where(np.isneginf(logs), 0.0, np.exp(logs))
    total = weights.sum(1, keepdims=True)
    chances = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return np.concatenate([chances, total == 0], axis=1)


def sample_alteregos(laws: np.ndarray, profiles: np.ndarray, rounds: int, generator: np.random.Generator) -> AlterEgos:
    """Draws AlterEgos with fresh replacements in every round; ratings that meet on one item are averaged.

    Laws are those of `replacement_laws`; profiles are source-domain ratings, shape (users, sources), NaN where missing.
    """
    owners, items = np.nonzero(~np.isnan(profiles))
    values = profiles[owners, items]
    draws = _draw(laws, np.repeat(items[:, None], rounds, axis=1), generator)
    num_users, num_targets = len(profiles), laws.shape[1] - 1
    places = (owners[:, None] * rounds + np.arange(rounds)) * (num_targets + 1) + draws
    shape = (num_users, rounds, num_targets + 1)
    number = np.bincount(places.ravel(), minlength=math.prod(shape)).reshape(shape)[:, :, :-1]
    weights = np.repeat(values[:, None], rounds, axis=1).ravel()
    total = np.bincount(places.ravel(), weights, minlength=math.prod(shape)).reshape(shape)[:, :, :-1]
    return AlterEgos(owners, items, values, draws, number > 0, total / np.maximum(number, 1))


def source_beliefs(
    laws: np.ndarray, alteregos: AlterEgos, popularity: np.ndarray, rounds: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """What the AlterEgos say about every source item of every user.

    Each item is weighed against a background of the others, Poisson numbers of ratings that land on the target items:
    given this background, having rated i multiplies the probability of an AlterEgo A by the sum over its items j of
    Pr[j | i] / (1 - exp(-mu_j)), where mu_j is how many other ratings are expected to land on j. The expectation is
    the items' popularity at first; after several AlterEgos, which share the background, it is what is believed of the
    other items by then (mean field, damped by half so that it settles).

    Args:
        laws: see `replacement_laws`.
        alteregos: see `sample_alteregos`.
        popularity: how many users rated each source item, shape (sources,), above 0.
        rounds: how many AlterEgos to look at, the first ones; all if None.

    Returns:
        Log-odds that the user rated the item, shape (users, sources), -inf where that is impossible; and the rating
        that she is then supposed to have given it, same shape, NaN where no AlterEgo holds a possible replacement.
    """
    shown, values = alteregos.shown[:, :rounds], alteregos.ratings[:, :rounds]
    num_users, looks, num_targets = shown.shape
    chances, hidden = laws[:, :-1], laws[:, -1:]
    sizes = np.bincount(alteregos.owners, minlength=num_users)
    prior = np.clip(sizes[:, None] * popularity / popularity.sum(), 1e-9, 1 - 1e-9)
    odds, ratings = np.empty((2, num_users, len(laws)))
    step = max(1, CELLS // (len(laws) * max(num_targets, looks)))
    for first in range(0, num_users, step):
        part = np.s_[first : first + step]
        start = believed = np.log(prior[part]) - np.log1p(-prior[part])
        seen = np.swapaxes(shown[part], 1, 2).astype(float)
        for number in range(PASSES if looks > 1 else 1):
            landing = expit(believed)[:, :, None] * chances
            others = landing.sum(1, keepdims=True) - landing
            # Where nothing else could land, whoever can is all but certain: a huge factor stands for infinity.
            factor = chances / np.maximum(-np.expm1(-others), 1e-12)
            evidence = factor @ seen
            with np.errstate(divide="ignore"):
                updated = start + np.log(evidence + hidden).sum(2)
            believed = updated if number == 0 else (believed + updated) / 2
        odds[part] = believed
        total = evidence.sum(2)
        weighted = (factor @ np.swapaxes(values[part], 1, 2)).sum(2)
        ratings[part] = np.divide(weighted, total, out=np.full_like(total, np.nan), where=total > 0)
    return odds, ratings


def best_guess(scores: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Marks every user's items of highest score, `numbers` (shape (users,)) of them; ties by lower item."""
    order = np.argsort(-scores, axis=1, kind="stable")
    chosen = np.zeros(scores.shape, bool)
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < numbers[:, None], axis=1)
    return chosen


def distinguish(
    first: np.ndarray, second: np.ndarray, rounds: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The paired experiment: one of two laws, `rounds` draws are seen, the likelier law is named, a tie by a coin.

    Args:
        first: laws, shape (pairs, outputs); each row sums to 1.
        second: the other laws.
        rounds: draws seen, independent.
        generator: source of randomness.

    Returns:
        Observed TPR - FPR of every pair (mean of REPEATS runs in either world); the exact one for a single draw, which
        is the total variation distance; and the exact privacy loss of one draw, nats, infinite where an output is
        possible under one law only. All of shape (pairs,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(first) - np.log(second)
    possible = (first > 0) | (second > 0)
    loss = np.abs(np.where(possible, ratio, 0.0)).max(1)
    distance = np.abs(first - second).sum(1) / 2
    pairs = np.arange(len(first))[:, None, None]
    rates = []
    for laws in (first, second):
        draws = _draw(laws, np.broadcast_to(pairs, (len(first), REPEATS, rounds)), generator)
        statistic = ratio[pairs, draws].sum(2)
        rates.append((np.sign(np.where(np.abs(statistic) < 1e-12, 0.0, statistic)) / 2 + 0.5).mean(1))
    return rates[0] - rates[1], distance, loss


def _draw(laws: np.ndarray, rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One draw by the law `laws[row]` for every row of `rows`, by inversion."""
    ends = np.cumsum(laws, axis=1)
    ends /= ends[:, -1:]
    # One sorted array for all rows: row r occupies [r, r + 1]. Impossible outputs are never hit, being empty.
    flat = (ends + np.arange(len(laws))[:, None]).ravel()
    places = np.searchsorted(flat, rows + generator.random(rows.shape), side="right")
    return np.minimum(places - rows * laws.shape[1], laws.shape[1] - 1)
