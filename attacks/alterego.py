"""What a profile mapped to another domain (X-Map's AlterEgo) tells about the ratings that it was made from.

Guerraoui, Kermarrec, Lin and Patra, "Heterogeneous Recommendations: What You Might Like To Read After Watching
Interstellar": every rating of a source-domain item becomes a rating of a replacement in the target domain. Private
replacement selection (PRS, Theorem 1 of the report of proofs) draws the replacement by weight exp(epsilon X-SIM / (2
GS)). Theorem 1 protects the users whose ratings the similarities are computed from; which source item is replaced is
an argument of the mechanism, and its rating is copied as it is. So three secrets are tried: which source items a user
rated, how she rated one, and whether a user is in the data behind the similarities.

Ratings of one catalogue are split into two domains. The attacked users are new to the target domain, as X-Map's are:
the similarities come from all others, who connect the domains.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import expit

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
from dpassay.core.errors import InvalidInput
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import describe, mechanism
from dpassay.mechanisms.xsim import xsim

__all__ = [
    "METHODS",
    "METRICS",
    "AlterEgos",
    "Links",
    "Method",
    "best_guess",
    "compare",
    "distinguish",
    "link_table",
    "replacement_laws",
    "run",
    "sample_alteregos",
    "source_beliefs",
    "without_user",
]

Method = Literal["alterego", "prs", "prs_released", "prs_repaired"]
Links = Literal["direct", "xsim"]
METHODS: tuple[Method, ...] = get_args(Method)
METRICS = (
    "source-recall",
    "source-precision",
    "guess-recall",
    "guess-precision",
    "exact-value",
    "guess-exact-value",
    "auc",
    "guess-auc",
    "advantage",
    "value-advantage",
    "join-advantage",
)
VARIANTS = {"prs": "paper", "prs_released": "released", "prs_repaired": "repaired"}
NAMES = {
    "alterego": "no privacy: always the most similar item",
    "prs": "PRS as printed",
    "prs_released": "PRS as released",
    "prs_repaired": "PRS repaired",
}

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

    Args:
        matrix: ratings, shape (users, items), NaN where missing; the first columns are the source domain.
        num_source_items: how many.
    """
    centered, rated = _centered(matrix)
    source, target = np.s_[:, :num_source_items], np.s_[:, num_source_items:]
    return LinkTable(
        centered[source].T @ centered[target],
        ((centered[source] ** 2).sum(0), (centered[target] ** 2).sum(0)),
        ((centered[source] != 0).sum(0), (centered[target] != 0).sum(0)),
        rated[source].T @ rated[target],
    )


def without_user(table: LinkTable, row: np.ndarray, sources: np.ndarray) -> LinkTable:
    """The rows `sources` of the table as they are without one user of these ratings, shape (items,)."""
    centered, rated = (part[0] for part in _centered(row[None, :]))
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
    """Probability of every replacement of every source item.

    The laws of `dpassay.mechanisms.prs`, all rows at once; "alterego" takes the most similar item, of equal ones the
    first.

    Args:
        similarities: X-SIM, shape (sources, targets), NaN where it is not quantified.
        method: one of METHODS.
        epsilon: of one draw, nats.

    Returns:
        Shape (sources, targets + 1); the last column is the probability that there is no replacement, 0 or 1.
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

    Args:
        laws: see `replacement_laws`.
        profiles: source-domain ratings, shape (users, sources), NaN where missing.
        rounds: how many AlterEgos of each user.
        generator: source of randomness.
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


def run(
    ratings: Ratings,
    *,
    method: Method = "prs",
    epsilon: float = 1.0,
    links: Links = "direct",
    rounds: int = 10,
    targets: int = 50,
    source_share: float = 0.5,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> AttackReport:
    """Attacks the AlterEgos of some users.

    Args:
        ratings: of one catalogue, which is split at random into two domains.
        method: alterego (no privacy, the most similar item), prs (as printed), prs_released, or prs_repaired.
        epsilon: of one replaced rating, nats.
        links: what X-SIM is: the adjusted cosine of items that share raters (direct), or X-Map's meta-paths (xsim).
        rounds: AlterEgos seen of each user, with fresh randomness.
        targets: users attacked, at most half of all.
        source_share: share of the items that form the source domain.
        seed: of everything random.
        progress: told what is being done.

    Raises:
        InvalidInput: a setting out of range, or too few ratings to split.
    """
    started = time.perf_counter()
    if method not in METHODS:
        raise InvalidInput(f"method {method!r}: use one of {', '.join(METHODS)}")
    world, measured = _measured(ratings, method, epsilon, links, rounds, targets, source_share, seed, progress)
    result = measured[method]
    metrics = result.metrics()
    by_name = {metric.name: metric for metric in metrics}
    parameters: dict[str, Any] = {}
    if method != "alterego":
        prs = mechanism("prs", VARIANTS[method], epsilon=epsilon, num_source_items=world.num_sources)
        parameters = {name: value for name, value in describe(prs)["parameters"].items() if name != "source_item"}
    number = len(world.profiles)
    shown = f"{result.shown.mean():.0f}"
    summary = [
        f"From {'one mapped profile' if rounds == 1 else f'{rounds} mapped profiles'} of each of {number} users, the "
        f"attacker named as many source-domain items as were shown (on average {shown}): "
        f"{by_name['source-precision'].value:.0%} were right, which found {by_name['source-recall'].value:.0%} of all "
        f"items that the users had rated.",
        f"Naming the most popular items without looking at any profile: {by_name['guess-precision'].value:.0%} right, "
        f"{by_name['guess-recall'].value:.0%} found.",
        f"Told that a user rated one of two items, the attacker picked the right one in "
        f"{(1 + by_name['advantage'].value) / 2:.0%} of all cases (a coin: 50%); told that her rating was one of two "
        f"values, in {(1 + by_name['value-advantage'].value) / 2:.0%}: the mapped profile repeats the ratings.",
    ]
    repaired = {metric.name: metric for metric in measured["prs_repaired"].metrics()}
    return AttackReport(
        attack="alterego",
        title=f"What a mapped profile tells about its owner's ratings ({NAMES[method]})",
        mechanism="alterego" if method == "alterego" else f"prs/{VARIANTS[method]}",
        parameters=parameters,
        threat_model=ThreatModel(
            knows="the table of item similarities, every item's popularity, and how many items the user rated; in the "
            "paired experiments all about her but one secret, and which entry it became (X-Map copies its time)",
            does="nothing but compare: no accounts, no false ratings",
            sees=f"the items and ratings of {rounds} mapped profile{'s' if rounds > 1 else ''} of the user",
        ),
        summary=summary,
        settings={
            "method": method,
            "epsilon": epsilon,
            "links": links,
            "rounds": rounds,
            "targets": number,
            "source_share": source_share,
            "source_items": world.num_sources,
            "target_items": ratings.num_items - world.num_sources,
            "bridge_users": len(world.bridges),
        },
        metrics=metrics,
        dataset=ratings,
        tables=[_pairs_table(result)],
        plots=[_rounds_plot(result, method)] if rounds > 1 else [],
        victim=_victim(world, result),
        privacy=_privacies(result, by_name, math.inf if method == "alterego" else epsilon, rounds),
        repair={
            "text": "Draw from the whole public catalogue of the target domain, with sensitivity 2 (PRS repaired): "
            f"then {repaired['source-precision'].value:.0%} of the named items are right, where popularity alone gives "
            f"{repaired['guess-precision'].value:.0%}, and of two items the right one is picked in "
            f"{(1 + repaired['advantage'].value) / 2:.1%} of all cases.\nThe price: a replacement's mean similarity to "
            f"the item is {measured['prs_repaired'].quality:.3f}, where the most similar one has "
            f"{measured['alterego'].quality:.3f}. The values of the ratings and the number of entries stay visible and "
            "need a randomization of their own, and every further profile spends epsilon for each rating again.",
            "tables": [_methods_table(measured)],
        },
        limits=[
            "Theorem 1 of X-Map's report is about the users behind the similarities. That its epsilon also covers the "
            "replaced item is what a reader may hope for, and true of the repaired selection only.",
            "Both domains come from one catalogue that was split at random: real domains share fewer users, and their "
            "similarities are weaker.",
            "The attacked users have no own ratings in the target domain, which would mix with the mapped ones.",
            "Items are weighed one at a time against a background of popular items; an attacker who weighs whole "
            "histories may find more.",
            "The paired experiments attack one randomly chosen rating of every user; single ratings may be worse off.",
        ],
        seed=seed,
        seconds=time.perf_counter() - started,
    )


def compare(
    ratings: Ratings,
    *,
    epsilon: float = 1.0,
    links: Links = "direct",
    rounds: int = 10,
    targets: int = 50,
    source_share: float = 0.5,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[Method, list[Metric]]:
    """The metrics of every method on the same users; see `run` for the arguments and what it refuses."""
    _, measured = _measured(ratings, None, epsilon, links, rounds, targets, source_share, seed, progress)
    return {method: result.metrics() for method, result in measured.items()}


def _measured(
    ratings: Ratings,
    traced: Method | None,
    epsilon: float,
    links: Links,
    rounds: int,
    targets: int,
    source_share: float,
    seed: int,
    progress: Callable[[str], None],
) -> tuple["_World", dict[Method, "_Result"]]:
    """Every method after all rounds; the traced one after fewer, too."""
    _check(epsilon, links, rounds, targets, source_share)
    world = _world(ratings, links, targets, source_share, seed)
    measured = {}
    for method in METHODS:
        progress(f"{NAMES[method]}: {rounds} AlterEgos of {len(world.profiles)} users")
        fewer = {1, *(4**i for i in range(1, 10) if 4**i < rounds)} if method == traced else set()
        measured[method] = _measure(world, method, epsilon, sorted({*fewer, rounds}), seed)
    return world, measured


@dataclass(frozen=True, eq=False)
class _World:
    """The split data: profiles of the attacked users (source domain only) and the ratings of all others."""

    profiles: np.ndarray
    bridges: np.ndarray
    num_sources: int
    links: Links
    table: LinkTable
    swapped: np.ndarray
    changed: np.ndarray

    def similarities(self, method: Method) -> np.ndarray:
        if self.links == "xsim":
            return xsim(self.bridges, self.num_sources)
        return self.table.similarities(_cap(method))

    @property
    def popularity(self) -> np.ndarray:
        # One more rater each, so that an item that nobody else rated is not impossible.
        return 1.0 + (~np.isnan(self.bridges[:, : self.num_sources])).sum(0)


@dataclass(frozen=True, eq=False)
class _Result:
    """Per attacked user, shape (users,), unless said otherwise."""

    shown: np.ndarray
    rated: np.ndarray
    hits: np.ndarray  # (users, looks)
    looks: Sequence[int]
    exact: np.ndarray
    guess_hits: np.ndarray
    guess_exact: np.ndarray
    auc: np.ndarray
    guess_auc: np.ndarray
    swap: tuple[np.ndarray, np.ndarray, np.ndarray]
    value: np.ndarray
    join: tuple[np.ndarray, np.ndarray, np.ndarray]
    quality: float
    alteregos: AlterEgos
    named: np.ndarray  # (users, sources)
    order: np.ndarray  # log-odds, (users, sources)

    def metrics(self) -> list[Metric]:
        shown, rated = self.shown, self.rated
        hits = self.hits[:, -1]

        def share(name: str, part: np.ndarray, whole: np.ndarray, meaning: str) -> Metric:
            return mean_metric(name, part / np.maximum(whole, 1), meaning, weights=whole)

        return [
            share("source-recall", hits, rated, "share of the users' source-domain items that the attacker named"),
            share("source-precision", hits, shown, "share of the named items that the user had rated"),
            share("guess-recall", self.guess_hits, rated, "the same when the most popular items are named"),
            share("guess-precision", self.guess_hits, shown, "the same when the most popular items are named"),
            share("exact-value", self.exact, shown, "share of the named items with the right rating as well"),
            share("guess-exact-value", self.guess_exact, shown, "the same from popularity and the commonest rating"),
            mean_metric("auc", self.auc, "chance that a rated source item is ranked above one that was not"),
            mean_metric("guess-auc", self.guess_auc, "the same for the order by popularity"),
            difference_metric("advantage", self.swap[0], "TPR - FPR for which of two source items the user rated"),
            difference_metric("value-advantage", self.value, "TPR - FPR for which of two values she gave one item"),
            difference_metric(
                "join-advantage",
                self.join[0],
                "TPR - FPR for whether a user's ratings are in the similarities, from the replacements of one item",
            ),
        ]


def _measure(world: _World, method: Method, epsilon: float, looks: Sequence[int], seed: int) -> _Result:
    """The attack after each number of AlterEgos in `looks`, and the paired experiments at the last."""
    rounds = looks[-1]
    generator = np.random.default_rng([seed, 2, METHODS.index(method)])
    similarities = world.similarities(method)
    laws = replacement_laws(similarities, method, epsilon)
    egos = sample_alteregos(laws, world.profiles, rounds, generator)
    popularity = world.popularity
    truth = ~np.isnan(world.profiles)
    shown = egos.shown.sum(2)
    named = []
    for look in looks:
        scores, supposed = source_beliefs(laws, egos, popularity, look)
        named.append(best_guess(scores, shown[:, :look].max(1)))
    popular = np.broadcast_to(popularity, truth.shape)
    guess = best_guess(popular, shown.max(1))
    values = np.unique(world.bridges[~np.isnan(world.bridges)])
    rounded = values[np.abs(np.nan_to_num(supposed)[:, :, None] - values).argmin(2)]
    return _Result(
        shown=shown.max(1),
        rated=truth.sum(1),
        hits=np.stack([(each & truth).sum(1) for each in named], axis=1),
        looks=looks,
        exact=(named[-1] & (rounded == world.profiles)).sum(1),
        guess_hits=(guess & truth).sum(1),
        guess_exact=(guess & (_commonest(world, values) == world.profiles)).sum(1),
        auc=auc(scores, truth),
        guess_auc=auc(popular, truth),
        swap=_swap(world, laws, rounds, generator),
        value=_value_advantage(world, egos),
        join=_join(world, laws, method, epsilon, rounds, generator),
        quality=float((np.nan_to_num(similarities) * laws[:, :-1]).sum(1).mean()),
        alteregos=egos,
        named=named[-1],
        order=scores,
    )


def _swap(
    world: _World, laws: np.ndarray, rounds: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rated, other = world.swapped
    return distinguish(laws[rated], laws[other], rounds, generator)


def _value_advantage(world: _World, egos: AlterEgos) -> np.ndarray:
    """Hits minus false alarms when the value nearer to the shown one is named; the entry is known, a tie is a coin.

    In the second world the rating of the item swapped elsewhere has its other value and all draws are the same.
    """
    users, rounds, num_targets = egos.shown.shape
    secret = np.flatnonzero(egos.items == world.swapped[0][egos.owners])
    draws = egos.draws[secret]
    padded = np.concatenate([egos.ratings, np.full((users, rounds, 1), np.nan)], axis=2)
    shown = np.take_along_axis(padded, draws[:, :, None], axis=2)[:, :, 0]
    landed = np.zeros((users, rounds))
    for_owner = draws[egos.owners]  # each rating beside the draw of its owner's secret
    np.add.at(landed, egos.owners, egos.draws == for_owner)
    true, false = egos.values[secret][:, None], world.changed[:, None]
    moved = shown + (false - true) / landed
    margin = [(np.abs(each - false) - np.abs(each - true)) for each in (shown, moved)]
    sums = [np.sign(np.round(np.where(draws < num_targets, each, 0.0).sum(1), 12)) for each in margin]
    return (sums[0] - sums[1]) / 2


def _join(
    world: _World, laws: np.ndarray, method: Method, epsilon: float, rounds: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether a bridge user is in the table: the attacker asks for the replacement of her most telling item.

    NaN for meta-paths, which would have to be followed again without every user.
    """
    chosen = np.random.default_rng([generator.integers(2**32)]).permutation(len(world.bridges))[: len(world.profiles)]
    if world.links == "xsim":
        return (np.full(len(chosen), np.nan),) * 3
    pairs = []
    for user in chosen:
        row = world.bridges[user]
        sources = np.flatnonzero(~np.isnan(row[: world.num_sources]))
        if len(sources) == 0:
            continue
        table = without_user(world.table, row, sources)
        changed = replacement_laws(table.similarities(_cap(method)), method, epsilon)
        best = np.abs(laws[sources] - changed).sum(1).argmax()
        pairs.append((laws[sources[best]], changed[best]))
    first, second = (np.array(part) for part in zip(*pairs, strict=True))
    return distinguish(first, second, rounds, generator)


def _world(ratings: Ratings, links: Links, targets: int, source_share: float, seed: int) -> _World:
    generator = np.random.default_rng([seed, 1])
    num_sources = round(source_share * ratings.num_items)
    if not 2 <= num_sources < ratings.num_items:
        raise InvalidInput(
            f"source_share is {source_share:g}, which makes {num_sources} of {ratings.num_items} items the source "
            "domain; leave at least two items there and one in the other"
        )
    matrix = ratings.dense()[:, generator.permutation(ratings.num_items)]
    counts = (~np.isnan(matrix[:, :num_sources])).sum(1)
    attackable = np.flatnonzero((counts > 0) & (counts < num_sources))
    chosen = generator.permutation(attackable)[: min(targets, ratings.num_users // 2)]
    if len(chosen) < 2:
        raise InvalidInput("fewer than two users can be attacked; give ratings of more users, or another source_share")
    bridges = np.delete(matrix, chosen, axis=0)
    profiles = matrix[chosen, :num_sources]
    rated = ~np.isnan(profiles)
    swapped = np.stack([np.where(where, generator.random(rated.shape), -1.0).argmax(1) for where in (rated, ~rated)])
    values = np.unique(ratings.values)
    own = profiles[np.arange(len(chosen)), swapped[0]]
    steps = generator.integers(1, max(len(values), 2), len(chosen))
    changed = values[(np.searchsorted(values, own) + steps) % len(values)]
    return _World(profiles, bridges, num_sources, links, link_table(bridges, num_sources), swapped, changed)


def _check(epsilon: float, links: str, rounds: int, targets: int, source_share: float) -> None:
    if links not in get_args(Links):
        raise InvalidInput(f"links {links!r}: use one of {', '.join(get_args(Links))}")
    if not 0 < epsilon < math.inf:
        raise InvalidInput(f"epsilon is {epsilon}; it must be above 0 and finite")
    for name, value, least in (("rounds", rounds, 1), ("targets", targets, 2)):
        if value < least:
            raise InvalidInput(f"{name} is {value}; it must be at least {least}")
    if not 0 < source_share < 1:
        raise InvalidInput(f"source_share is {source_share}; it must lie between 0 and 1")


def _cap(method: Method) -> int:
    return 1 if method == "alterego" else int(mechanism("prs", VARIANTS[method]).significance_cap)


def _centered(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratings less the user's mean, 0 where missing; and 1 where there is a rating."""
    rated = ~np.isnan(matrix)
    filled = np.nan_to_num(matrix)
    count = np.maximum(rated.sum(1, keepdims=True), 1)
    # A rating that equals the mean gives exactly 0, which decides what is defined.
    return np.where(rated, (count * filled - filled.sum(1, keepdims=True)) / count, 0.0), rated.astype(float)


def _draw(laws: np.ndarray, rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """One draw by the law `laws[row]` for every row of `rows`, by inversion."""
    ends = np.cumsum(laws, axis=1)
    ends /= ends[:, -1:]
    # One sorted array for all rows: row r occupies [r, r + 1]. Impossible outputs are never hit, being empty.
    flat = (ends + np.arange(len(laws))[:, None]).ravel()
    places = np.searchsorted(flat, rows + generator.random(rows.shape), side="right")
    return np.minimum(places - rows * laws.shape[1], laws.shape[1] - 1)


def _commonest(world: _World, values: np.ndarray) -> np.ndarray:
    """The commonest rating of every source item, shape (sources,)."""
    sources = world.bridges[:, : world.num_sources]
    return values[np.stack([(sources == value).sum(0) for value in values]).argmax(0)]


def _privacies(result: _Result, metrics: Mapping[str, Metric], epsilon: float, rounds: int) -> list[Privacy]:
    """One draw by its exact law, and all rounds as observed."""
    entries = []
    for name, (_, distance, loss), what in (
        ("advantage", result.swap, "the replaced item (a history with one item exchanged for another)"),
        ("join-advantage", result.join, "the data behind the similarities (one user more or less)"),
    ):
        if np.isnan(distance).all():
            continue
        unbounded = int(np.isinf(loss).sum())
        found = float(loss.max())
        above = int((distance > permitted_advantage(epsilon)).sum())
        says = "" if math.isinf(epsilon) else f"for {above} of {len(loss)} pairs it is above what the claim permits; "
        says += (
            f"for {unbounded} of {len(loss)} pairs the loss is infinite: one side has a replacement that the other "
            "cannot have."
            if unbounded
            else f"the largest exact loss of {len(loss)} pairs is {found:.3f}."
        )
        exact = difference_metric(name, distance, "exact TPR - FPR of the best test of one draw, mean over the pairs")
        says = f"The best test of one draw has the advantage {exact.value:.3f} on average; {says}"
        entries.append(Privacy(f"{what}, one draw seen", epsilon, found, exact, says))
        if rounds > 1:
            says = f"{rounds} independent draws add up: the advantage observed is {metrics[name].value:.3f}."
            entries.append(
                Privacy(f"{what}, {rounds} draws seen", rounds * epsilon, rounds * found, metrics[name], says)
            )
    says = "Ratings are copied into the mapped profile without any protection, so that the loss is infinite."
    entries.append(Privacy("the value of one rating", epsilon, math.inf, metrics["value-advantage"], says))
    return entries


def _pairs_table(result: _Result) -> Table:
    rows = []
    for label, (observed, distance, loss) in (("one item exchanged", result.swap), ("one user more", result.join)):
        if np.isnan(observed).all():
            continue
        finite = loss[np.isfinite(loss)]
        rows.append(
            [
                label,
                len(observed),
                f"{observed.mean():.4f}",
                f"{distance.mean():.4f}",
                f"{distance.max():.4f}",
                int(np.isinf(loss).sum()),
                f"{finite.max():.4f}" if len(finite) else "none finite",
            ]
        )
    return Table(
        "Neighboring histories and datasets: the measured advantage, and the exact law of one draw",
        [
            "neighbors",
            "pairs",
            "observed advantage, all rounds",
            "exact advantage of one draw, mean",
            "largest",
            "pairs of infinite loss",
            "largest finite loss (nats)",
        ],
        rows,
    )


def _methods_table(measured: Mapping[Method, _Result]) -> Table:
    names = ("source-precision", "guess-precision", "auc", "advantage", "join-advantage", "value-advantage")
    rows = []
    for method, result in measured.items():
        values = {metric.name: metric.value for metric in result.metrics()}
        rows.append(
            [NAMES[method], f"{round(result.quality, 3) + 0.0:.3f}", *(f"{values[name]:.3f}" for name in names)]
        )
    return Table(
        "The same attack on every way to choose replacements",
        ["replacement", "mean similarity of a replacement", *names],
        rows,
    )


def _rounds_plot(result: _Result, method: Method) -> Plot:
    found = [mean_metric("", column / result.rated, "", weights=result.rated) for column in result.hits.T]
    series = Series(
        NAMES[method],
        list(result.looks),
        [metric.value for metric in found],
        low=[metric.low for metric in found],
        high=[metric.high for metric in found],
    )
    base = float(result.guess_hits.sum() / result.rated.sum())
    return Plot(
        "Source items found, by the number of mapped profiles seen",
        "mapped profiles seen",
        "share of the users' source items",
        [series, Series("most popular items", list(result.looks), [base] * len(result.looks))],
    )


def _victim(world: _World, result: _Result) -> dict[str, Any]:
    """The user with the median share of right names."""
    shares = result.hits[:, -1] / np.maximum(result.shown, 1)
    user = int(np.argsort(shares, kind="stable")[len(shares) // 2])
    egos = result.alteregos
    order = [item for item in np.argsort(-result.order[user], kind="stable") if result.named[user, item]][:8]
    rows = []
    for number, item in enumerate(order, 1):
        own = world.profiles[user, item]
        rows.append([f"item {number}", "no" if math.isnan(own) else "yes", "" if math.isnan(own) else f"{own:g}"])
    return {
        "story": [
            f"User A rated {result.rated[user]} source-domain items; a mapped profile of hers shows "
            f"{int(egos.shown[user, 0].sum())} items of the other domain.",
            f"The attacker names {result.shown[user]} source items, and {result.hits[user, -1]} of them are right; the "
            f"most popular ones would give {result.guess_hits[user]}.",
        ],
        "tables": [Table("What the attacker is surest of", ["source item", "rated by user A", "her rating"], rows)],
    }
