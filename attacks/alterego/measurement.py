"""The attack on the mapped profiles of some users: the split of the data, three secrets, and what was found out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from dpassay.attacks.alterego.alteregos import (
    VARIANTS,
    AlterEgos,
    LinkTable,
    best_guess,
    distinguish,
    link_table,
    replacement_laws,
    sample_alteregos,
    source_beliefs,
    without_user,
)
from dpassay.attacks.alterego.settings import AlterEgoSettings, Links, Method
from dpassay.attacks.metrics import Metric, auc, difference_metric, explained, mean_metric
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import mechanism
from dpassay.mechanisms.xsim import xsim

METHODS: tuple[Method, ...] = get_args(Method)
NAMES = {
    "alterego": "no privacy: always the most similar item",
    "prs": "PRS as printed",
    "prs_released": "PRS as released",
    "prs_repaired": "PRS repaired",
}


@dataclass(frozen=True, eq=False)
class World:
    """The split data: profiles of the attacked users (source domain only) and the ratings of all others.

    Attributes:
        profiles: shape (users, sources), NaN where missing.
        bridges: the others' ratings in both domains, shape (others, items).
        num_sources: how many items, the first ones, are the source domain.
        links: what X-SIM is.
        table: of the bridges.
        swapped: of every user an item that she rated and one that she did not, shape (2, users).
        changed: another value for the first of them, shape (users,).
    """

    profiles: np.ndarray
    bridges: np.ndarray
    num_sources: int
    links: Links
    table: LinkTable
    swapped: np.ndarray
    changed: np.ndarray

    def similarities(self, method: Method) -> np.ndarray:
        """X-SIM as the method has it, shape (sources, targets), NaN where it is not quantified."""
        if self.links == "xsim":
            return xsim(self.bridges, self.num_sources)
        return self.table.similarities(_cap(method))

    @property
    def popularity(self) -> np.ndarray:
        """How many users rated each source item, plus one, shape (sources,)."""
        # One more rater each, so that an item that nobody else rated is not impossible.
        return 1.0 + (~np.isnan(self.bridges[:, : self.num_sources])).sum(0)


@dataclass(frozen=True, eq=False)
class Result:
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
        """All that the attack is measured by."""
        shown, rated, hits = self.shown, self.rated, self.hits[:, -1]

        def share(name: str, part: np.ndarray, whole: np.ndarray) -> Metric:
            return mean_metric(name, part / np.maximum(whole, 1), weights=whole)

        metrics = [
            share("source-recall", hits, rated),
            share("source-precision", hits, shown),
            share("guess-recall", self.guess_hits, rated),
            share("guess-precision", self.guess_hits, shown),
            share("exact-value", self.exact, shown),
            share("guess-exact-value", self.guess_exact, shown),
            mean_metric("auc", self.auc),
            mean_metric("guess-auc", self.guess_auc),
            difference_metric("advantage", self.swap[0]),
            difference_metric("value-advantage", self.value),
            difference_metric("join-advantage", self.join[0]),
        ]
        return explained(metrics, AlterEgoSettings.metrics)


def compare(
    ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any
) -> dict[Method, list[Metric]]:
    """The metrics of every method on the same users; of the settings (`AlterEgoSettings`) `method` means nothing here.

    Raises:
        InvalidInput: a setting out of range, or too few ratings to split.
    """
    _, results = measured(ratings, AlterEgoSettings(**settings), None, progress)
    return {method: result.metrics() for method, result in results.items()}


def measured(
    ratings: Ratings, settings: AlterEgoSettings, traced: Method | None, progress: Callable[[str], None]
) -> tuple[World, dict[Method, Result]]:
    """Every method after all rounds, on the same users; the traced one after fewer rounds, too.

    Raises:
        InvalidInput: too few ratings to split.
    """
    world, rounds = _world(ratings, settings), settings.rounds
    results: dict[Method, Result] = {}
    for method in METHODS:
        progress(f"{NAMES[method]}: {rounds} AlterEgos of {len(world.profiles)} users")
        fewer = {1, *(4**i for i in range(1, 10) if 4**i < rounds)} if method == traced else set()
        results[method] = _measure(world, method, sorted({*fewer, rounds}), settings)
    return world, results


def _measure(world: World, method: Method, looks: Sequence[int], settings: AlterEgoSettings) -> Result:
    """The attack after each number of AlterEgos in `looks`, and the paired experiments at the last."""
    rounds, epsilon = settings.rounds, settings.epsilon
    generator = np.random.default_rng([settings.seed, 2, METHODS.index(method)])
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
    return Result(
        shown=shown.max(1),
        rated=truth.sum(1),
        hits=np.stack([(each & truth).sum(1) for each in named], axis=1),
        looks=looks,
        exact=(named[-1] & (rounded == world.profiles)).sum(1),
        guess_hits=(guess & truth).sum(1),
        guess_exact=(guess & (_commonest(world, values) == world.profiles)).sum(1),
        auc=auc(scores, truth),
        guess_auc=auc(popular, truth),
        swap=distinguish(laws[world.swapped[0]], laws[world.swapped[1]], rounds, generator),
        value=_value_advantage(world, egos),
        join=_join(world, laws, method, epsilon, rounds, generator),
        quality=float((np.nan_to_num(similarities) * laws[:, :-1]).sum(1).mean()),
        alteregos=egos,
        named=named[-1],
        order=scores,
    )


def _value_advantage(world: World, egos: AlterEgos) -> np.ndarray:
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
    world: World, laws: np.ndarray, method: Method, epsilon: float, rounds: int, generator: np.random.Generator
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


def _world(ratings: Ratings, settings: AlterEgoSettings) -> World:
    generator = np.random.default_rng([settings.seed, 1])
    source_share = settings.source_share
    num_sources = round(source_share * ratings.num_items)
    if not 2 <= num_sources < ratings.num_items:
        raise InvalidInput(
            f"source_share is {source_share:g}, which makes {num_sources} of {ratings.num_items} items the source "
            "domain; leave at least two items there and one in the other"
        )
    matrix = ratings.dense()[:, generator.permutation(ratings.num_items)]
    counts = (~np.isnan(matrix[:, :num_sources])).sum(1)
    attackable = np.flatnonzero((counts > 0) & (counts < num_sources))
    chosen = generator.permutation(attackable)[: min(settings.targets, ratings.num_users // 2)]
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
    return World(profiles, bridges, num_sources, settings.links, link_table(bridges, num_sources), swapped, changed)


def _cap(method: Method) -> int:
    return 1 if method == "alterego" else int(mechanism("prs", VARIANTS[method]).significance_cap)


def _commonest(world: World, values: np.ndarray) -> np.ndarray:
    """The commonest rating of every source item, shape (sources,)."""
    sources = world.bridges[:, : world.num_sources]
    return values[np.stack([(sources == value).sum(0) for value in values]).argmax(0)]
