"""The beta-kNN sybil attack on user-based recommenders, simulated.

Calandrino, Kilzer, Narayanan, Felten and Shmatikov, "You Might Also Like: Privacy Risks of Collaborative Filtering"
(S&P 2011), active attack; Lu and Shen, "An Accuracy-Assured Privacy-Preserving Recommender System for Internet
Commerce", secs. 4.1, 4.2 and 6.2.

Knows: m ratings of one customer, which recommender it is and its parameters, and how popular every item is.
Does: creates beta k fake users who hold exactly these ratings.
Sees: what the recommender tells the fakes; from this it infers the customer's other ratings.

Each target is attacked alone, in the real data plus the fakes (and other attackers' fakes where asked for). What each
fake is told is computed from its own draw of neighbors (`dpassay.attacks.beta_knn.neighbor_lists`).
"""

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dpassay.attacks.beta_knn.neighbor_lists import (
    METHODS,
    Candidates,
    Method,
    RatingTable,
    Recommender,
    SelectionPlan,
)
from dpassay.attacks.beta_knn.premise import KnownItems, Premise, Similarity
from dpassay.attacks.outcomes import Metric, difference_metric, mean_metric
from dpassay.core.checks import check_choices, check_count, check_positive
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.similarity import TIE_TOLERANCE
from dpassay.runs.parallel import processors, results_in_parallel

__all__ = [
    "METHODS",
    "Attack",
    "Channel",
    "Outcome",
    "Rule",
    "Scene",
    "compare",
    "popularity_shares",
    "simulate",
    "smallest_safe_beta",
    "sweep",
    "with_beta",
]

Channel = Literal["ratings", "top_n", "both"]
Rule = Literal["votes", "seen"]

CELLS = 1 << 21  # entries of a block of lists x items: some 100 MB per thread in all temporary arrays
MAX_CANDIDATES = 1 << 26  # users and fakes; each costs some 100 bytes per thread
MAX_THREADS = 4
TINY = 1e-3  # no model of the lists is surer than this
MAX_LEVELS = 101  # rating values told apart
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
    """What the attacker does; see `beta_knn_report.run`. Raises InvalidInput for a value out of range."""

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
    threads: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Attacks many targets, each alone.

    Args:
        ratings: the dataset.
        recommender: what is attacked.
        attack: what the attacker does.
        targets: their rows; a number for as many at random; None for all users with more than m ratings.
        paired: whether to attack each target a second time, in a world without one of the hidden ratings.
        threads: that attack targets at once; None for one per processor, but not more than `MAX_THREADS`.
        progress: told now and then how far it is.

    Raises:
        InvalidInput: a target has too few ratings, or there are more fakes than fit into memory.
    """
    return Scene(ratings, recommender, attack, targets, paired).outcome(progress, threads)


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
    jobs: int = 1,
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
        jobs: processes; several take one combination each at a time. The rows are the same.
        progress: told what was simulated.

    Returns:
        One row per combination: "method", "similarity", "beta", "fakes", "targets", every metric of `Outcome` by name
        as a `Metric`, and "seconds".
    """
    tasks = list(itertools.product(similarities, methods, betas))
    base, how = recommender or Recommender(), attack or Attack()
    settings = [
        (with_beta(replace(base, method=method, similarity=similarity), beta), replace(how, beta=beta))
        for similarity, method, beta in tasks
    ]
    rows = compare(ratings, settings, targets, paired=paired, jobs=jobs, progress=progress)
    named = [dict(zip(("similarity", "method", "beta"), task, strict=True)) for task in tasks]
    return [names | row for names, row in zip(named, rows, strict=True)]


def compare(
    ratings: Ratings,
    settings: Sequence[tuple[Recommender, Attack]],
    targets: np.ndarray | int | None = None,
    *,
    paired: bool = False,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Several recommenders and attacks on the same ratings.

    Args:
        ratings: the dataset.
        settings: what is attacked, and how.
        targets: see `simulate`.
        paired: whether to measure the advantage, too, which takes twice as long.
        jobs: processes; several take one setting each at a time. The rows are the same.
        progress: told what was simulated.

    Returns:
        One row per setting: "fakes", "targets", every metric of `Outcome` by name as a `Metric`, and "seconds".
    """
    given = functools.partial(_row, ratings, targets, paired, None if jobs == 1 else 1)
    # The most queries take longest: they go first, so that no process is left alone with them at the end.
    queries = [attack.beta * attack.rounds * attack.restarts for _, attack in settings]
    order = sorted(range(len(settings)), key=lambda number: -queries[number])
    rows: list[dict[str, Any]] = [{}] * len(settings)
    for place, row in results_in_parallel(given, [settings[number] for number in order], jobs):
        recommender, _ = settings[order[place]]
        rows[order[place]] = row
        progress(f"{NAMES[recommender.method]}, {recommender.similarity}, {row['fakes']} fakes: {row['seconds']:.1f} s")
    return rows


def _row(
    ratings: Ratings,
    targets: np.ndarray | int | None,
    paired: bool,
    threads: int | None,
    recommender: Recommender,
    attack: Attack,
) -> dict[str, Any]:
    start = time.perf_counter()
    outcome = simulate(ratings, recommender, attack, targets, paired=paired, threads=threads)
    row: dict[str, Any] = {"fakes": outcome.num_fakes, "targets": len(outcome.targets)}
    row |= {metric.name: metric for metric in outcome.metrics() if metric.low is not None}
    return row | {"seconds": time.perf_counter() - start}


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


class Scene:
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

    def outcome(self, progress: Callable[[str], None] = lambda _: None, threads: int | None = None) -> Outcome:
        """Attacks all targets in a few threads: NumPy and SciPy leave the interpreter's lock in the long loops."""
        count = len(self.targets)
        columns = np.full((11, count), np.nan)
        with ThreadPoolExecutor(threads or min(MAX_THREADS, processors())) as pool:
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
        """Which items the attacker takes for rated by the target, bool, shape (items,); see `beta_knn_report.run`."""
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


def with_beta(recommender: Recommender, beta: float) -> Recommender:
    """The recommender of sec. 4.2 draws from as many as there are fakes; the others do not know beta."""
    k = recommender.num_neighbors
    return replace(recommender, num_nearest=max(k, round(beta * k)))


def _chunks(total: int, size: int) -> Iterable[int]:
    return (min(size, total - start) for start in range(0, total, size))
