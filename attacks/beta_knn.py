"""The beta-kNN sybil attack on user-based recommenders, simulated.

Calandrino, Kilzer, Narayanan, Felten and Shmatikov, "You Might Also Like: Privacy Risks of Collaborative Filtering"
(S&P 2011), active attack; Lu and Shen, "An Accuracy-Assured Privacy-Preserving Recommender System for Internet
Commerce", secs. 4.1, 4.2 and 6.2.

Knows: m ratings of one customer, which recommender it is and its parameters, and how popular every item is.
Does: creates beta k fake users who hold exactly these ratings.
Sees: what the recommender tells the fakes; from this it infers the customer's other ratings.

Each target is attacked alone, in the real data plus the fakes (and other attackers' fakes where asked for). What each
fake is told is computed from its own draw of neighbors (`dpassay.attacks.neighbor_lists`).
"""

import itertools
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dpassay.attacks.neighbor_lists import (
    METHODS,
    Candidates,
    Method,
    Noise,
    RatingTable,
    Recommender,
    SelectionPlan,
    Ties,
    Weight,
)
from dpassay.attacks.outcomes import (
    AttackReport,
    Metric,
    Privacy,
    ThreatModel,
    difference_metric,
    mean_metric,
    permitted_advantage,
)
from dpassay.attacks.sybil_premise import KnownItems, Premise, Similarity
from dpassay.errors import InvalidInput
from dpassay.mechanisms import describe
from dpassay.mechanisms.selection import check_choices, check_count, check_positive
from dpassay.mechanisms.similarity import TIE_TOLERANCE
from dpassay.ratings import Ratings

__all__ = [
    "METHODS",
    "Attack",
    "Channel",
    "Outcome",
    "Rule",
    "popularity_shares",
    "run",
    "simulate",
    "smallest_safe_beta",
    "sweep",
]

Channel = Literal["ratings", "top_n", "both"]
Rule = Literal["votes", "seen"]

CELLS = 1 << 21  # entries of a block of lists x items: some 100 MB per thread in all temporary arrays
MAX_CANDIDATES = 1 << 26  # users and fakes; each costs some 100 bytes per thread
MAX_THREADS = 4
TINY = 1e-3  # no model of the lists is surer than this
MAX_LEVELS = 101  # rating values told apart
REPAIR_TARGETS = 40
NAMES = {
    "knn": "k nearest neighbors",
    "top_beta_k": "k of the top beta k",
    "npns": "nPNS",
    "pncf": "PNCF",
    "ppns": "PPNS",
    "npns_repaired": "nPNS repaired",
    "ppns_repaired": "PPNS repaired",
}


@dataclass(frozen=True)
class Attack:
    """What the attacker does; see `run` for each field. Raises InvalidInput for a value out of range."""

    beta: float = 1.0
    num_known: int = 8
    choice: KnownItems = "random"
    channel: Channel = "ratings"
    list_length: int = 10
    rounds: int = 1
    fresh: bool = True
    wrong: float = 0.0
    other_attackers: int = 0
    restarts: int = 1
    rule: Rule = "votes"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self)
        check_positive("beta", self.beta)
        for name in ("num_known", "list_length", "rounds", "restarts"):
            check_count(name, getattr(self, name), 1)
        check_count("other_attackers", self.other_attackers, 0)
        if not 0 <= self.wrong <= 1:
            raise InvalidInput(f"wrong is {self.wrong}; it is the share of known ratings that are wrong, from 0 to 1")

    def num_fakes(self, num_neighbors: int) -> int:
        """beta k, rounded.

        Raises:
            InvalidInput: fewer than 2.
        """
        fakes = round(self.beta * num_neighbors)
        if fakes < 2:
            raise InvalidInput(f"beta {self.beta:g} of {num_neighbors} neighbors is {fakes} fakes; use at least 2")
        return fakes


@dataclass(frozen=True, eq=False)
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
        surrounded: probability that the beta k nearest of a fake are the other fakes and the target.
        lists: recommendations drawn.
        lists_with_target: how many of them were made from the target, too.
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
    surrounded: np.ndarray
    lists: np.ndarray
    lists_with_target: np.ndarray
    found_present: np.ndarray
    found_absent: np.ndarray

    def metrics(self) -> tuple[Metric, ...]:
        """Means over targets with 95% intervals; NaN where nothing was measured."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = {
                name: np.where(below > 0, above / below, np.nan)
                for name, above, below in (
                    ("yield", self.hits, self.hidden),
                    ("precision", self.hits, self.inferred),
                    ("guess-precision", self.guess_hits, self.inferred),
                    ("exact-value", self.exact, self.hits),
                    ("guess-exact-value", self.guess_exact, self.hits),
                )
            }
        most = float(np.max(self.inferred, initial=1.0))
        values_seen = not np.isnan(self.exact).all()
        return (
            mean_metric("yield", shares["yield"], "Share of a target's unknown ratings that were inferred."),
            mean_metric(
                "precision", shares["precision"], "Share of the inferred items that the target did rate.", self.inferred
            ),
            mean_metric("inferred", self.inferred, "Items inferred per target.", bounds=(0, most)),
            mean_metric(
                "exact-value",
                shares["exact-value"] if values_seen else np.full(len(self.hits), np.nan),
                "Share of the correctly inferred items whose rating was inferred exactly.",
                self.hits,
            ),
            mean_metric(
                "guess-precision",
                shares["guess-precision"],
                "Without the attack: share of as many most popular items that the target did rate.",
                self.inferred,
            ),
            mean_metric(
                "guess-exact-value",
                shares["guess-exact-value"],
                "Without the attack: share of the same items whose rounded average rating is the target's.",
                self.hits,
            ),
            difference_metric(
                "advantage",
                self.found_present - self.found_absent,
                "How much likelier a rating is inferred when it is there than when it is not.",
            ),
            mean_metric(
                "surrounded",
                self.surrounded,
                "Share of targets whose fakes have exactly each other and the target as the most similar users.",
            ),
            mean_metric(
                "target-seen",
                (self.lists_with_target > 0).astype(float),
                "Share of targets who were among the neighbors of at least one fake.",
            ),
            Metric("fakes", float(self.num_fakes), "Fake accounts per target and restart."),
            Metric("queries", float(self.num_queries), "Answers of the recommender that are read per target."),
        )


class Evidence(NamedTuple):
    """What the fakes of one target saw, per item.

    Attributes:
        votes: lists that showed the item, shape (items,).
        trials: lists that could have, shape (items,).
        levels: how often each rating value was shown, shape (items, values); None if values are not shown.
        lists: number of lists.
        supposed: chance of a list to be made from the target, if she is the real user most similar to the fakes.
        with_target: how many of them were made from the target, too.
        candidates: whom the first restart's lists were drawn from.
    """

    votes: np.ndarray
    trials: np.ndarray
    levels: np.ndarray | None
    lists: int
    supposed: float
    with_target: int
    candidates: Candidates


def simulate(
    ratings: Ratings,
    recommender: Recommender,
    attack: Attack,
    targets: np.ndarray | int | None = None,
    *,
    paired: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Attacks many targets, each alone.

    Args:
        ratings: the dataset.
        recommender: what is attacked.
        attack: what the attacker does.
        targets: their rows; a number for as many at random; None for all users with more than m ratings.
        paired: whether to attack each target a second time, in a world without one of the hidden ratings.
        progress: told now and then how far it is.

    Raises:
        InvalidInput: a target has too few ratings, or there are more fakes than fit into memory.
    """
    return _Scene(ratings, recommender, attack, targets, paired).outcome(progress)


def sweep(
    ratings: Ratings,
    methods: Sequence[Method] = ("knn", "top_beta_k", "npns", "pncf", "ppns", "npns_repaired", "ppns_repaired"),
    betas: Sequence[float] = (1.0, 2.0, 4.0, 8.0),
    similarities: Sequence[Similarity] = ("full_cosine",),
    *,
    recommender: Recommender | None = None,
    attack: Attack | None = None,
    targets: np.ndarray | int | None = None,
    paired: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """The attack on every combination of recommender, similarity and beta.

    Args:
        ratings: the dataset.
        methods: see `Recommender`; "top_beta_k" draws from the beta k most similar.
        betas: fakes per neighbor.
        similarities: of the recommender.
        recommender: every other parameter of the recommender.
        attack: every other choice of the attacker.
        targets: see `simulate`.
        paired: whether to measure the advantage, too, which takes twice as long.
        progress: told what is simulated.

    Returns:
        One row per combination: "method", "similarity", "beta", "fakes", "targets", every metric of `Outcome` by name
        as a `Metric`, and "seconds".
    """
    rows = []
    for similarity, method, beta in itertools.product(similarities, methods, betas):
        progress(f"{NAMES[method]}, {similarity}, beta {beta:g}")
        start = time.perf_counter()
        chosen = _with_beta(replace(recommender or Recommender(), method=method, similarity=similarity), beta)
        outcome = simulate(ratings, chosen, replace(attack or Attack(), beta=beta), targets, paired=paired)
        row: dict[str, Any] = {"method": method, "similarity": similarity, "beta": beta}
        row |= {"fakes": outcome.num_fakes, "targets": len(outcome.targets)}
        row |= {metric.name: metric for metric in outcome.metrics() if metric.low is not None}
        rows.append(row | {"seconds": time.perf_counter() - start})
    return rows


def smallest_safe_beta(
    ratings: Ratings,
    method: Method,
    success: float,
    metric: str = "yield",
    betas: Sequence[float] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    **options: Any,
) -> float | None:
    """The smallest of the given betas at which the attack stays certainly below a success, at 95% confidence.

    Sec. 4.2 reads beta as the cost of the attack: the fakes per neighbor that a recommender forces it to create.

    Args:
        ratings: the dataset.
        method: see `Recommender`.
        success: what the upper end of the metric's interval must be below, for this beta and all larger ones given.
        metric: see `Outcome.metrics`.
        betas: ascending.
        **options: of `sweep`.

    Returns:
        None if the attack succeeds at the largest beta. A metric that cannot be measured, such as the precision of an
        attack that infers nothing, counts as below.
    """
    safe = None
    for row in reversed(sweep(ratings, (method,), sorted(betas), **options)):
        high = row[metric].high if metric in row else None
        if high is not None and not high < success:
            break
        safe = row["beta"]
    return safe


def popularity_shares(popularity: np.ndarray, length: float) -> np.ndarray:
    """How often popularity alone would show each item: 1 - (1 - p)^h, with h such that the shares add up to `length`.

    That is the law of a list made of whatever h users drawn at random have rated.

    Args:
        popularity: p, share of all users who rated the item, shape (items,).
        length: average number of items that a list shows.
    """
    log_absent = np.log1p(-np.minimum(popularity, 1 - 1e-9))
    users = 0.0
    for _ in range(60):  # Newton's steps on a concave increasing function, from the left: they never overshoot
        absent = np.exp(users * log_absent)
        missing = length - np.sum(1 - absent)
        slope = -np.sum(absent * log_absent)
        if missing <= 1e-9 * max(length, 1.0) or slope < 1e-12:
            break
        users += missing / slope
    return -np.expm1(users * log_absent)


class _Scene:
    """One dataset, recommender and attack, with everything that its targets share."""

    def __init__(
        self,
        ratings: Ratings,
        recommender: Recommender,
        attack: Attack,
        targets: np.ndarray | int | None,
        paired: bool,
    ) -> None:
        self.ratings, self.recommender, self.attack, self.paired = ratings, recommender, attack, paired
        self.num_fakes = attack.num_fakes(recommender.num_neighbors)
        if recommender.repaired and not 0 <= ratings.scale[0] <= ratings.scale[1] <= recommender.max_rating:
            raise InvalidInput(
                f"ratings run from {ratings.scale[0]:g} to {ratings.scale[1]:g}; the repaired methods need a scale "
                f"within 0 to max_rating, {recommender.max_rating:g}"
            )
        order = np.lexsort((ratings.items, ratings.users))
        self.items, self.values = ratings.items[order], ratings.values[order]
        self.starts = np.searchsorted(ratings.users[order], np.arange(ratings.num_users + 1))
        self.popularity = np.bincount(ratings.items, minlength=ratings.num_items)
        self.sums = np.bincount(ratings.items, ratings.values, ratings.num_items)
        self.targets = self._choose(targets)
        candidates = ratings.num_users + self.num_fakes * (1 + attack.other_attackers)
        if candidates > MAX_CANDIDATES:
            raise InvalidInput(
                f"{candidates} users and fakes need more memory than is given; use a smaller beta or fewer attackers "
                f"(at most {MAX_CANDIDATES} in all)"
            )
        if attack.other_attackers >= len(self._eligible()):
            raise InvalidInput(
                f"other_attackers is {attack.other_attackers}, but only {len(self._eligible())} users can be attacked"
            )
        levels = np.unique(ratings.values)
        self.levels = levels if len(levels) <= MAX_LEVELS else np.linspace(*ratings.scale, MAX_LEVELS)
        self._prepare()

    def outcome(self, progress: Callable[[str], None] = lambda _: None) -> Outcome:
        """Attacks all targets in a few threads: NumPy and SciPy leave the interpreter's lock in the long loops."""
        count = len(self.targets)
        columns = np.full((11, count), np.nan)
        with ThreadPoolExecutor(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
            for number, record in enumerate(pool.map(self.attack_one, range(count))):
                columns[:, number] = record
                if (number + 1) % max(1, count // 10) == 0:
                    progress(f"{NAMES[self.recommender.method]}: {number + 1} of {count} targets")
        attack = self.attack
        queries = self.num_fakes * attack.rounds * attack.restarts
        return Outcome(self.targets, self.num_fakes, queries, *columns)

    def attack_one(self, number: int) -> tuple[float, ...]:
        """The columns of `Outcome` for one target."""
        target, known = self.targets[number], self.known[:, number]
        span = slice(self.starts[target], self.starts[target + 1])
        own, values = self.items[span], self.values[span]
        evidence = self.observe(number, False)
        inferred = self.infer(evidence, known, self.popularity)
        is_known, is_own = (np.zeros(self.ratings.num_items, bool) for _ in range(2))
        is_known[known], is_own[own] = True, True
        hidden = ~is_known[own]
        hit = hidden & inferred[own]
        guessed_level = self._nearest(self._means_without(own, values))
        exact = math.nan
        if evidence.levels is not None:
            exact = float(np.sum(evidence.levels[own[hit]].argmax(1) == self._nearest(values[hit])))
        size = int(inferred.sum())
        rest = np.where(is_known, -1, self.popularity - is_own)
        guessed = np.argsort(-rest, kind="stable")[:size]
        present = absent = math.nan
        if self.paired and self.secret[number] >= 0:
            secret = self.secret[number]
            present = float(inferred[secret])
            popularity = self.popularity.copy()
            popularity[secret] -= 1
            absent = float(self.infer(self.observe(number, True), known, popularity)[secret])
        return (
            float(hidden.sum()),
            float(size),
            float(hit.sum()),
            exact,
            float(is_own[guessed].sum()),
            float(np.sum(guessed_level[hit] == self._nearest(values[hit]))),
            self.surrounded(evidence.candidates),
            float(evidence.lists),
            float(evidence.with_target),
            present,
            absent,
        )

    def observe(self, number: int, without_secret: bool) -> Evidence:
        """What the fakes of one target see, all restarts together."""
        num_items = self.ratings.num_items
        attack = self.attack
        votes, trials = np.zeros(num_items, int), np.zeros(num_items, int)
        levels = None if attack.channel == "top_n" else np.zeros((num_items, len(self.levels)), int)
        lists, with_target, supposed = 0, 0, 0.0
        first = None
        for restart in range(attack.restarts):
            # Both worlds get the same randomness: it cancels in their difference and is independent of the data.
            generator = np.random.default_rng([attack.seed, 3, restart, int(self.targets[number])])
            candidates = self.candidates(number, restart, without_secret, generator)
            first = first or candidates
            plan = SelectionPlan(self.recommender, candidates)
            count = self.num_fakes * (attack.rounds if attack.fresh else 1)
            alike = plan.deterministic and self.recommender.noise_scale == 0
            known = self.known[restart, number]
            for size in _chunks(1 if alike else count, max(1, CELLS // max(num_items, len(candidates.rows)))):
                repeats = count if alike else 1
                items, predicted, listed = self._read(plan, known, size, generator)
                votes += repeats * np.bincount(items, minlength=num_items)
                if levels is not None:
                    cell = items * len(self.levels) + self._nearest(np.abs(predicted))
                    levels += repeats * np.bincount(cell, minlength=levels.size).reshape(levels.shape)
                with_target += repeats * listed
            trials += count
            trials[known] -= count
            lists += count
            supposed = plan.chance(self.num_fakes - 1)
        assert first is not None  # there is at least one restart
        return Evidence(votes, trials, levels, lists, supposed, with_target, first)

    def infer(self, evidence: Evidence, known: np.ndarray, popularity: np.ndarray) -> np.ndarray:
        """Which items the attacker takes for rated by the target, bool, shape (items,); see `run`, `rule`."""
        unknown = np.ones(len(popularity), bool)
        unknown[known.ravel()] = False
        if self.attack.rule == "seen":
            return unknown & (evidence.votes > 0)
        trials, votes = evidence.trials, evidence.votes
        share = np.divide(votes, trials, out=np.zeros(len(unknown)), where=trials > 0)
        rated = np.clip(popularity / self.ratings.num_users, TINY, 1 - TINY)
        absent = np.clip(popularity_shares(np.where(unknown, rated, 0.0), float(share[unknown].sum())), TINY, 1 - TINY)
        present = np.minimum(absent + (1 - absent) * evidence.supposed, 1 - TINY)
        if self.attack.channel != "ratings":  # a list has no room for all her items: the share that fits best
            present = np.clip(share, absent, present)
        ratio = votes * np.log(present / absent) + (trials - votes) * np.log((1 - present) / (1 - absent))
        return unknown & (votes > 0) & (ratio + np.log(rated / (1 - rated)) > 0)

    def candidates(self, number: int, restart: int, without_secret: bool, generator: np.random.Generator) -> Candidates:
        """The possible neighbors of the fakes of one target."""
        rivals = None
        if self.attack.other_attackers:
            others = np.flatnonzero(self._eligible() != self.targets[number])
            chosen = generator.choice(others, self.attack.other_attackers, replace=False)
            rivals = self.profiles + restart * len(self._eligible()) + chosen
        return self.table.candidates(
            self.recommender,
            self.known[restart, number],
            self.told[restart, number],
            int(self.targets[number]),
            self.num_fakes,
            rivals,
            self.ratings.num_users + number if without_secret else None,
        )

    def surrounded(self, candidates: Candidates) -> float:
        """Probability that a fake's beta k nearest are the other fakes and the target."""
        difference = candidates.chosen_by - candidates.chosen_by[candidates.target]
        tied = np.abs(difference) <= TIE_TOLERANCE
        others = np.ones(len(tied), bool)
        others[candidates.target] = others[len(tied) - candidates.num_fellows :] = False
        above = difference > TIE_TOLERANCE
        if self.recommender.ties == "fakes_first":  # other attackers' fakes win these ties as well
            above[candidates.num_real :] |= tied[candidates.num_real :]
            tied[candidates.num_real : len(tied) - candidates.num_fellows] = False
        premise = Premise(
            targets=np.array([candidates.target]),
            above=np.array([np.sum(above & others)]),
            tied=np.array([np.sum(tied & others)]),
            tied_before=np.array([np.sum((tied & others)[: candidates.target])]),
            fakes_tied=np.array([tied[-1]]),
        )
        return float(premise.probability(self.num_fakes, self.recommender.ties)[0])

    def _read(
        self, plan: SelectionPlan, known: np.ndarray, count: int, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """What some lists show: items and their predicted ratings; and how many were made from the target."""
        candidates = plan.candidates
        chosen = plan.draw(count, generator)
        weights = candidates.similarity[chosen]
        if self.recommender.noise_scale:
            weights = weights + generator.laplace(scale=self.recommender.noise_scale, size=weights.shape)
        rows, with_target = candidates.rows[chosen], int(np.any(chosen == candidates.target, axis=1).sum())
        if self.attack.channel != "ratings":
            _, items, values = self.table.recommend(rows, weights, known, self.attack.list_length)
            return items, values, with_target
        predictions = self.table.predict(rows, weights)
        predictions.weights[:, known] = 0.0
        shown = predictions.weights > 0
        _, items = np.nonzero(shown)
        return items, predictions.weighted[shown] / predictions.weights[shown], with_target

    def _eligible(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.starts) > self.attack.num_known)

    def _choose(self, targets: np.ndarray | int | None) -> np.ndarray:
        eligible, known = self._eligible(), self.attack.num_known
        if targets is None or isinstance(targets, int | np.integer):
            if targets is not None and targets < 1:
                raise InvalidInput(f"targets is {targets}; attack at least 1")
            if len(eligible) == 0:
                raise InvalidInput(f"no user has more than {known} ratings; choose a smaller num_known")
            number = len(eligible) if targets is None else min(int(targets), len(eligible))
            generator = np.random.default_rng([self.attack.seed, 0])
            return np.sort(generator.choice(eligible, number, replace=False))
        targets = np.asarray(targets)
        missing = targets[~np.isin(targets, eligible)]
        if len(missing):
            raise InvalidInput(
                f"user {missing[0]} does not have more than {known} ratings; choose another target or a smaller "
                "num_known"
            )
        return targets

    def _prepare(self) -> None:
        """Draws what is known, what is told and what is removed, and builds the table of all rows."""
        attack, ratings = self.attack, self.ratings
        profiled = self._eligible() if attack.other_attackers else self.targets
        drawn = [self._known(profiled, restart) for restart in range(attack.restarts)]
        known, told = (np.stack(each) for each in zip(*drawn, strict=True))
        place = np.searchsorted(profiled, self.targets) if attack.other_attackers else np.arange(len(self.targets))
        self.known, self.told = known[:, place], told[:, place]
        generator = np.random.default_rng([attack.seed, 2])
        self.secret = np.full(len(self.targets), -1)
        rows, items, values = [], [], []
        for number, target in enumerate(self.targets if self.paired else ()):
            span = slice(self.starts[target], self.starts[target + 1])
            hidden = np.setdiff1d(self.items[span], self.known[:, number])
            self.secret[number] = generator.choice(hidden) if len(hidden) else -1
            kept = self.items[span] != self.secret[number]
            rows.append(np.full(kept.sum(), number))
            items.append(self.items[span][kept])
            values.append(self.values[span][kept])
        self.profiles = ratings.num_users + len(rows)
        num_further = len(rows)
        if attack.other_attackers:
            num_profiles = attack.restarts * len(profiled)
            rows.append(num_further + np.repeat(np.arange(num_profiles), attack.num_known))
            items.append(known.ravel())
            values.append(told.ravel())
            num_further += num_profiles
        further = (np.concatenate(rows), np.concatenate(items), np.concatenate(values)) if rows else None
        self.table = RatingTable(ratings, further, num_further)

    def _known(self, users: np.ndarray, restart: int) -> tuple[np.ndarray, np.ndarray]:
        """Known items of each user, and the values that the fakes give them; both of shape (users, m)."""
        attack, m = self.attack, self.attack.num_known
        generator = np.random.default_rng([attack.seed, 1, restart])
        counts = np.diff(self.starts)[users]
        owner = np.repeat(np.arange(len(users)), counts)
        position = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + self.starts[users][owner]
        preferred = {"random": 0, "popular": -1, "rare": 1}[attack.choice] * self.popularity[self.items[position]]
        order = np.lexsort((generator.random(len(owner)), preferred, owner))
        first = np.cumsum(counts) - counts
        chosen = position[order[first[:, None] + np.arange(m)]]
        items, values = self.items[chosen], self.values[chosen]
        errors = round(attack.wrong * m)
        mistaken = np.argsort(generator.random(values.shape), axis=1) < errors
        step = np.where(generator.random(values.shape) < 0.5, 1.0, -1.0)
        low, high = self.ratings.scale
        step = np.where((values + step > high) | (values + step < low), -step, step)
        return items, np.clip(np.where(mistaken, values + step, values), low, high)

    def _means_without(self, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Mean rating of each item by everyone else; that of all ratings where there is nobody else."""
        others = self.popularity[items] - 1
        overall = self.values.mean()
        return np.where(others > 0, (self.sums[items] - values) / np.maximum(others, 1), overall)

    def _nearest(self, values: np.ndarray) -> np.ndarray:
        """Number of the rating value that is closest; of two equally close ones the lower."""
        borders = (self.levels[1:] + self.levels[:-1]) / 2
        return np.searchsorted(borders, values)


def run(
    ratings: Ratings,
    *,
    method: Method = "knn",
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    num_neighbors: int | None = None,
    beta: float = 1.0,
    num_known: int = 8,
    targets: int | None = None,
    choice: KnownItems = "random",
    wrong: float = 0.0,
    channel: Channel = "ratings",
    list_length: int = 10,
    rule: Rule = "votes",
    rounds: int = 1,
    fresh: bool = True,
    restarts: int = 1,
    other_attackers: int = 0,
    similarity: Similarity = "full_cosine",
    ties: Ties = "random",
    min_overlap: int = 0,
    significance: int = 0,
    epsilon: float = 1.0,
    sensitivity: float = 1.0,
    weight: Weight = "exponential",
    probability: float = 0.5,
    rho: float = 0.5,
    noise: Noise = "similarity",
    norm_floor: float = 40.0,
) -> AttackReport:
    """Simulates the beta-kNN attack on one recommender and reports what it reached.

    Args:
        ratings: the dataset.
        method: how the recommender chooses neighbors: nearest, k of the beta k nearest, nPNS, PNCF, PPNS, or ours.
        seed: of everything random.
        progress: told now and then how far it is.
        num_neighbors: k. Default: 50, or a tenth of the users if that is less.
        beta: fakes per neighbor; beta k fake users attack one target.
        num_known: m, how many of the target's ratings the attacker knows.
        targets: how many users to attack, each alone, at random; default: all with more than m ratings.
        choice: which ratings the attacker knows: random ones, or those of the most popular or rarest items.
        wrong: share of the known ratings that the attacker has wrong by one star.
        channel: what the fakes are told: the predicted rating of every item ("ratings"), a list of the N items of
            highest prediction ("top_n", of equal ones the more popular first), or that list with the predictions
            ("both").
        list_length: N.
        rule: when an item counts as inferred. "seen": when any fake sees it. "votes": when the number of lists that
            show it is explained by the target's being a neighbor, better than by the item's popularity. Popularity
            alone shows an item in a share q = 1 - (1 - p)^h of the lists, p being its share of raters and h fitted to
            the length of the lists; the target, drawn with chance t, raises that to q + (1 - q) t (on lists of N items
            to the share in between that fits best). Inferred if likelihood ratio times prior odds p / (1 - p) exceed 1.
        rounds: how often every fake asks.
        fresh: whether the recommender draws neighbors anew in each round; if not, later rounds repeat the first.
        restarts: attacks on the same target, each with its own known ratings and fakes; their votes are joined.
        other_attackers: further attackers, each with beta k fakes aimed at another target.
        similarity: "full_cosine" has norms over all of a user's ratings; "cosine" and "pearson" are the paper's, over
            co-rated items. Full norms are the default because the attack needs them: among co-rated items everyone who
            shares a single one has cosine 1 with the fakes, and the target is lost in the crowd.
        ties: who of equally similar users comes first: at random, older accounts, or fakes.
        min_overlap: defense: a similarity over fewer co-rated items counts as 0.
        significance: defense: similarities are multiplied by min(co-rated items, g) / g; 0 for none.
        epsilon: of private selections, nats.
        sensitivity: RS in the weights exp(epsilon sim / (4 k RS)).
        weight: of random selections: exponential, or the similarity itself.
        probability: p of PPNS.
        rho: of PNCF's truncation.
        noise: whether PNCF adds noise to the similarities in a prediction.
        norm_floor: c of the repaired methods' similarity, in ratings.

    Raises:
        InvalidInput: a setting out of range, no user with more than m ratings, or more fakes than fit into memory.
    """
    start = time.perf_counter()
    if num_neighbors is None:
        num_neighbors = max(2, min(50, ratings.num_users // 10))
    recommender = Recommender(
        method=method,
        num_neighbors=num_neighbors,
        similarity=similarity,
        ties=ties,
        epsilon=epsilon,
        sensitivity=sensitivity,
        weight=weight,
        probability=probability,
        rho=rho,
        noise=noise,
        num_nearest=num_neighbors,
        norm_floor=norm_floor,
        max_rating=max(ratings.scale[1], TINY),
        min_overlap=min_overlap,
        significance=significance,
    )
    attack = Attack(
        beta=beta,
        num_known=num_known,
        choice=choice,
        channel=channel,
        list_length=list_length,
        rounds=rounds,
        fresh=fresh,
        wrong=wrong,
        other_attackers=other_attackers,
        restarts=restarts,
        rule=rule,
        seed=seed,
    )
    recommender = _with_beta(recommender, beta)
    scene = _Scene(ratings, recommender, attack, targets, True)
    outcome = scene.outcome(progress)
    found = {metric.name: metric for metric in outcome.metrics()}
    built = recommender.mechanism()
    id, parameters = str(method), {"num_neighbors": num_neighbors, "num_nearest": recommender.num_nearest}
    if built is not None:
        described = describe(built)
        id = f"{described['id']}/{described['variant']}"
        parameters = {name: value for name, value in described["parameters"].items() if name != "target"}
    return AttackReport(
        attack="beta-knn",
        title=f"{outcome.num_fakes} fake accounts against a recommender with {NAMES[method]}",
        mechanism=id,
        parameters=parameters,
        threat_model=_threat_model(outcome, attack),
        summary=_summary(outcome, attack, found),
        settings={
            **{f.name: getattr(attack, f.name) for f in fields(attack) if f.name != "seed"},
            **{name: getattr(recommender, name) for name in ("similarity", "ties", "min_overlap", "significance")},
            "noise": recommender.noise if method == "pncf" else "none",
            "num_neighbors": num_neighbors,
            "targets": len(outcome.targets),
        },
        metrics=tuple(found.values()),
        dataset=ratings,
        tables=(_paired_table(outcome), *_size_tables(outcome)),
        plots=(_distribution(outcome),),
        victim=_victim(scene, outcome),
        privacy=_privacy(recommender, attack, outcome, found["advantage"]),
        repair=_repair(ratings, recommender, attack, outcome, progress),
        limits=_limits(recommender, attack),
        seed=seed,
        seconds=time.perf_counter() - start,
    )


def _with_beta(recommender: Recommender, beta: float) -> Recommender:
    """The recommender of sec. 4.2 draws from as many as there are fakes; the others do not know beta."""
    k = recommender.num_neighbors
    return replace(recommender, num_nearest=max(k, round(beta * k)))


def _threat_model(outcome: Outcome, attack: Attack) -> ThreatModel:
    sees = {
        "ratings": "the predicted rating of every item that the recommender has one for",
        "top_n": f"a list of {attack.list_length} recommended items",
        "both": f"a list of {attack.list_length} recommended items with their predicted ratings",
    }[attack.channel]
    which = {"random": "", "popular": " of popular items", "rare": " of rare items"}[attack.choice]
    errors = f", {attack.wrong:.0%} of them wrong by one star" if attack.wrong else ""
    again = f" {attack.restarts} times over, each with other known ratings," if attack.restarts > 1 else ""
    return ThreatModel(
        knows=f"{attack.num_known} ratings{which} of one customer{errors}, the recommender, and how popular each item "
        "is.",
        does=f"Creates{again} {outcome.num_fakes} fake accounts with exactly these ratings.",
        sees=f"What each fake is shown, {attack.rounds} time{'s' * (attack.rounds > 1)}: {sees}.",
    )


def _summary(outcome: Outcome, attack: Attack, found: Mapping[str, Metric]) -> list[str]:
    known = attack.num_known * attack.restarts
    lines = [
        f"With {outcome.num_fakes * attack.restarts} fake accounts and {known} known ratings, "
        f"{_percent(found['yield'])} of a customer's other ratings were found out on average over "
        f"{len(outcome.targets)} customers."
    ]
    if math.isnan(found["precision"].value):
        lines.append("The attacker could not name a single item.")
    else:
        lines.append(
            f"Of the items that the attacker named, {_percent(found['precision'])} had been rated by the customer; "
            f"naming as many of the most popular items without any fake account is right in "
            f"{found['guess-precision'].value:.0%}."
        )
    if not math.isnan(found["exact-value"].value):
        lines.append(
            f"The rating itself was right in {_percent(found['exact-value'])} of these cases; the item's average "
            f"rating would be right in {found['guess-exact-value'].value:.0%}."
        )
    advantage = found["advantage"]
    if advantage.low is not None and advantage.high is not None:
        value, low, high = (100 * number for number in (advantage.value, advantage.low, advantage.high))
        lines.append(
            "A single rating that the customer had given was named more often than in the same world without it, by "
            f"{value:.0f} percentage points (95% interval {low:.0f} to {high:.0f})."
        )
    return lines


def _percent(metric: Metric) -> str:
    return f"{metric.value:.0%} (95% interval {metric.low:.0%} to {metric.high:.0%})"


def _paired_table(outcome: Outcome) -> dict[str, Any]:
    rows = []
    for text, values in (("present", outcome.found_present), ("removed", outcome.found_absent)):
        metric = mean_metric("share", values, "")
        rows.append([text, metric.trials, metric.cell()])
    return {
        "title": "One hidden rating per target, the same world with and without it",
        "columns": ["the rating is", "targets", "it is named (95% interval)"],
        "rows": rows,
    }


def _distribution(outcome: Outcome) -> dict[str, Any]:
    """How many targets lost how much, beside what naming as many popular items finds out."""
    edges = np.linspace(0, 1, 11)
    hidden = np.maximum(outcome.hidden, 1)
    series = []
    for label, hits in (("attack", outcome.hits), ("as many popular items, without it", outcome.guess_hits)):
        counts, _ = np.histogram(hits / hidden, edges)
        series.append({"label": label, "x": edges.tolist(), "y": [*counts.tolist(), 0], "shape": "steps"})
    return {
        "title": "How much of each target's other ratings was found out",
        "x_label": "share of the target's other ratings",
        "y_label": "targets",
        "series": series,
    }


def _size_tables(outcome: Outcome) -> tuple[dict[str, Any], ...]:
    """Who is at risk: the targets in four groups by their number of hidden ratings."""
    if len(outcome.targets) < 8:
        return ()
    rows = []
    for part in np.array_split(np.argsort(outcome.hidden, kind="stable"), 4):
        group = replace(
            outcome,
            **{
                f.name: getattr(outcome, f.name)[part]
                for f in fields(outcome)
                if isinstance(getattr(outcome, f.name), np.ndarray)
            },
        )
        found = {metric.name: metric for metric in group.metrics()}
        hidden = outcome.hidden[part]
        names = ("yield", "precision", "guess-precision", "exact-value")
        rows.append([f"{hidden.min():.0f} to {hidden.max():.0f}", len(part), *(found[name].cell() for name in names)])
    columns = ["unknown ratings of the target", "targets", "found out", "right when named", "best guess", "value right"]
    return ({"title": "Who is at risk", "columns": columns, "rows": rows},)


def _victim(scene: _Scene, outcome: Outcome) -> dict[str, Any]:
    """The target whose share of recovered ratings is the median, with the ten items that most lists showed."""
    share = outcome.hits / np.maximum(outcome.hidden, 1)
    number = int(np.argsort(share, kind="stable")[len(share) // 2])
    target, known = outcome.targets[number], scene.known[:, number]
    evidence = scene.observe(number, False)
    inferred = np.flatnonzero(scene.infer(evidence, known, scene.popularity))
    shown = inferred[np.argsort(-evidence.votes[inferred], kind="stable")][:10]
    span = slice(scene.starts[target], scene.starts[target + 1])
    truth = dict(zip(scene.items[span].tolist(), scene.values[span].tolist(), strict=True))
    rows = []
    for place, item in enumerate(shown.tolist()):
        told = "-" if evidence.levels is None else f"{scene.levels[evidence.levels[item].argmax()]:g}"
        rows.append(
            [
                f"item {place + 1}",
                f"{evidence.votes[item]} of {evidence.trials[item]}",
                told,
                f"{truth[item]:g}" if item in truth else "not rated",
            ]
        )
    story = [
        f"User A rated {len(truth)} items; the attacker knew {len(np.unique(known))} of them.",
        f"User A was behind {evidence.with_target} of the {evidence.lists} answers that the fakes got.",
        f"The attacker named {len(inferred)} further items; {outcome.hits[number]:.0f} of them are among the "
        f"{outcome.hidden[number]:.0f} others that user A had rated.",
    ]
    if not math.isnan(outcome.exact[number]) and outcome.hits[number]:
        story.append(f"The rating itself was right for {outcome.exact[number]:.0f} of these.")
    columns = ["item", "answers that showed it", "rating inferred", "true rating"]
    title = "Items that most answers showed, user A being the median target"
    return {"story": story, "tables": [{"title": title, "columns": columns, "rows": rows}] if rows else []}


def _privacy(recommender: Recommender, attack: Attack, outcome: Outcome, advantage: Metric) -> tuple[Privacy, ...]:
    what = "the neighbors of one user, when another user's rating is added or removed"
    built, method = recommender.mechanism(), recommender.method
    claimed = math.inf if built is None else float(built.claim.epsilon)
    if method == "pncf":  # its authors claim epsilon for the selection and the noisy prediction together
        claimed = recommender.epsilon
    unbounded = method in ("knn", "top_beta_k", "pncf", "ppns") or (
        not recommender.repaired and recommender.weight == "similarity"
    )
    observed = "not measured" if math.isnan(advantage.value) else f"{advantage.value:.3f}"
    permitted = permitted_advantage(claimed)
    exceeds = advantage.low is not None and advantage.low > permitted
    answers = round(outcome.num_queries) if attack.fresh else outcome.num_fakes * attack.restarts
    if math.isinf(claimed):
        says = f"Nothing is claimed, and nothing limits the attacker: the observed advantage is {observed}."
    elif exceeds:
        says = (
            f"The observed advantage, {observed}, is above the {permitted:.3f} that the claim permits for one list; "
            f"the attacker reads {answers}, and the ratings in them, which the claim does not cover."
        )
    else:
        says = (
            f"The observed advantage, {observed}, does not exceed the {permitted:.3f} that the claim permits for one "
            f"list, although the attacker reads {answers}; another attacker may reach more."
        )
    if unbounded and not math.isinf(claimed):
        says += " The claim is false: an exact analysis shows outputs that one rating makes possible or impossible."
    entries = [Privacy(what, claimed, math.inf if unbounded else None, advantage, says)]
    if recommender.repaired:
        total = answers * claimed
        entries.append(
            Privacy(
                f"the neighbors of all fakes together, {answers} lists",
                total,
                None,
                advantage,
                f"Guarantees add up: {answers} lists of epsilon {claimed:g} each are only guaranteed epsilon "
                f"{total:g}, which permits an advantage of {permitted_advantage(total):.3f}. No epsilon covers the "
                "neighbors' ratings that a prediction is made of.",
            )
        )
    return tuple(entries)


def _repair(
    ratings: Ratings, recommender: Recommender, attack: Attack, outcome: Outcome, progress: Callable[[str], None]
) -> dict[str, Any]:
    """The repaired selections under the same attack, on some of the same targets."""
    chosen = np.random.default_rng([attack.seed, 4]).permutation(outcome.targets)[:REPAIR_TARGETS]
    compared: list[Method] = list(dict.fromkeys((recommender.method, "npns_repaired", "ppns_repaired")))
    rows: list[list[Any]] = []
    found: dict[str, Mapping[str, Metric]] = {}
    for method in compared:
        progress(f"beside it: {NAMES[method]}")
        each = simulate(ratings, replace(recommender, method=method), attack, np.sort(chosen), paired=True)
        found[method] = {metric.name: metric for metric in each.metrics()}
        names = ("yield", "precision", "guess-precision", "advantage", "target-seen")
        guarantee = f"{recommender.epsilon:g}" if method.endswith("repaired") else "none proved"
        rows.append([NAMES[method], guarantee, *(found[method][name].cell() for name in names)])
    best = min(("npns_repaired", "ppns_repaired"), key=lambda method: found[method]["yield"].value)
    columns = ["method", "epsilon of one list", "found out", "right when named", "best guess", "advantage", "seen"]
    return {
        "text": f"Choose neighbors by our repaired selections: over {len(chosen)} of the targets the same attack finds "
        f"out {found[best]['yield'].value:.1%} with {NAMES[best]}, {found[recommender.method]['yield'].value:.1%} with "
        f"{NAMES[recommender.method]}; what it names is right in {found[best]['precision'].value:.1%}, as many popular "
        f"items in {found[best]['guess-precision'].value:.1%}. The guarantee covers one list: limit how often an "
        "account is answered anew, and how many accounts hold the same ratings. What it costs in accuracy is measured "
        "by dpassay verify --claim PP-DP-REP.",
        "tables": [{"title": "The same attack on the repaired selections", "columns": columns, "rows": rows}],
    }


def _limits(recommender: Recommender, attack: Attack) -> tuple[str, ...]:
    limits = [
        "The attacker follows one rule of inference; a cleverer one can find out more, so that a low number is no "
        "guarantee.",
        "The recommender is the one of the paper: no profile is too small for it, no account is too similar to another,"
        " and its answers are shown unrounded.",
    ]
    if attack.rule == "votes" and not recommender.repaired:
        limits.append("Popularity is modeled as if users rated items independently of their taste.")
    if attack.other_attackers == 0:
        limits.append("Every target is attacked alone; other fakes in the system would be in the attacker's way.")
    if recommender.method == "pncf" and recommender.noise != "none":
        limits.append("PNCF's noise is drawn once per neighbor and list, for all items of the list.")
    limits.append("Accounts cost nothing here; what an attacker pays for them is not modeled.")
    return tuple(limits)


def _chunks(total: int, size: int) -> Iterable[int]:
    return (min(size, total - start) for start in range(0, total, size))
