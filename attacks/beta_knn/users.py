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

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpassay.attacks.beta_knn.knowledge import Catalogue, told_values
from dpassay.attacks.beta_knn.neighbor_lists import SelectionPlan
from dpassay.attacks.beta_knn.outcome import Judged, Outcome, columns
from dpassay.attacks.beta_knn.premise import Premise
from dpassay.attacks.beta_knn.rating_table import Candidates, RatingTable
from dpassay.attacks.beta_knn.recommender import NAMES, Recommender
from dpassay.attacks.beta_knn.settings import Attack
from dpassay.attacks.metrics import Metric, mean_metric
from dpassay.core.errors import InvalidInput
from dpassay.core.progress import Step
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.similarity import TIE_TOLERANCE
from dpassay.runs.parallel import processors

CELLS = 1 << 21  # entries of a block of lists x items: some 100 MB per thread in all temporary arrays
MAX_CANDIDATES = 1 << 26  # users and fakes; each costs some 100 bytes per thread
MAX_THREADS = 4
TINY = 1e-3  # no model of the lists is surer than this


@dataclass(frozen=True, eq=False, kw_only=True)
class UserOutcome(Outcome):
    """What became of every target; arrays have shape (targets,).

    Attributes:
        surrounded: probability that the beta k nearest of a fake are the other fakes and the target.
        lists: recommendations drawn.
        lists_with_target: how many of them were made from the target, too.
    """

    surrounded: np.ndarray
    lists: np.ndarray
    lists_with_target: np.ndarray

    def further_metrics(self) -> tuple[Metric, ...]:
        """How often the fakes' neighbors are whom the attack wants."""
        seen = (self.lists_with_target > 0).astype(float)
        return mean_metric("surrounded", self.surrounded), mean_metric("target-seen", seen)


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
) -> UserOutcome:
    """Attacks many targets, each alone.

    Args:
        ratings: the dataset.
        recommender: what is attacked.
        attack: what the attacker does.
        targets: their rows, shape (targets,); a number: as many at random; None: all users with more than m ratings.
        paired: whether to attack each target a second time, in a world without one of the hidden ratings.
        threads: that attack targets at once; None for one per processor, but not more than `MAX_THREADS`.
        progress: told now and then how far it is.

    Raises:
        InvalidInput: a target has too few ratings, or there are more fakes than fit into memory.
    """
    return Scene(ratings, recommender, attack, targets, paired).outcome(progress, threads)


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


class _Seen(NamedTuple):
    """What belongs to one target beside the inferences; see `UserOutcome`."""

    found_present: float
    found_absent: float
    surrounded: float
    lists: float
    lists_with_target: float


class Scene:
    """One dataset, recommender and attack, with everything that its targets share."""

    def __init__(
        self, ratings: Ratings, recommender: Recommender, attack: Attack, targets: np.ndarray | int | None, paired: bool
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
        self.catalogue = Catalogue(ratings)
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
        self._prepare()

    def outcome(self, progress: Callable[[str], None] = lambda _: None, threads: int | None = None) -> UserOutcome:
        """Attacks all targets in a few threads: NumPy and SciPy leave the interpreter's lock in the long loops."""
        count, records = len(self.targets), []
        with ThreadPoolExecutor(threads or min(MAX_THREADS, processors())) as pool:
            for number, record in enumerate(pool.map(self.attack_one, range(count))):
                records.append(record)
                if (number + 1) % max(1, count // 10) == 0:
                    said = f"{NAMES[self.recommender.method]}: {number + 1} of {count} targets"
                    progress(Step(said, (number + 1) / count))
        judged, seen = zip(*records, strict=True)
        queries = self.num_fakes * self.attack.rounds * self.attack.restarts
        return UserOutcome(
            targets=self.targets, num_fakes=self.num_fakes, num_queries=queries, **columns(judged), **columns(seen)
        )

    def attack_one(self, number: int) -> tuple[Judged, "_Seen"]:
        """The columns of `UserOutcome` for one target."""
        known = self.known[:, number]
        own, values = self.ratings_of(self.targets[number])
        evidence = self.observe(number, False)
        inferred = self.infer(evidence, known, self.catalogue.popularity)
        levels = evidence.levels
        shown = None if levels is None else (lambda items: levels[items].argmax(1))
        present = absent = math.nan
        if self.paired and self.secret[number] >= 0:
            secret = self.secret[number]
            present = float(inferred[secret])
            popularity = self.catalogue.popularity.copy()
            popularity[secret] -= 1
            absent = float(self.infer(self.observe(number, True), known, popularity)[secret])
        surrounded = self.surrounded(evidence.candidates)
        seen = _Seen(present, absent, surrounded, evidence.lists, evidence.with_target)
        return self.catalogue.judged(own, values, known, inferred, shown), seen

    def ratings_of(self, user: int) -> tuple[np.ndarray, np.ndarray]:
        """A user's items, ascending, and her ratings of them, shape (ratings,) each."""
        span = slice(self.starts[user], self.starts[user + 1])
        return self.items[span], self.values[span]

    def observe(self, number: int, without_secret: bool) -> Evidence:
        """What the fakes of one target see, all restarts together."""
        num_items = self.ratings.num_items
        attack = self.attack
        votes, trials = np.zeros(num_items, int), np.zeros(num_items, int)
        levels = None if attack.channel == "top_n" else np.zeros((num_items, len(self.catalogue.levels)), int)
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
                    cell = items * len(self.catalogue.levels) + self.catalogue.nearest(np.abs(predicted))
                    levels += repeats * np.bincount(cell, minlength=levels.size).reshape(levels.shape)
                with_target += repeats * listed
            trials += count
            trials[known] -= count
            lists += count
            supposed = plan.chance(self.num_fakes - 1)
        assert first is not None  # there is at least one restart
        return Evidence(votes, trials, levels, lists, supposed, with_target, first)

    def infer(self, evidence: Evidence, known: np.ndarray, popularity: np.ndarray) -> np.ndarray:
        """Which items the attacker takes for rated by the target, bool, shape (items,); see `Attack.rule`."""
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
        chosen, weights = plan.weighed(count, generator)
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
            what = f"user {missing[0]} does not have more than {known} ratings"
            raise InvalidInput(f"{what}; choose another target or a smaller num_known")
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
            own, given = self.ratings_of(target)
            hidden = np.setdiff1d(own, self.known[:, number])
            self.secret[number] = generator.choice(hidden) if len(hidden) else -1
            kept = own != self.secret[number]
            rows.append(np.full(kept.sum(), number))
            items.append(own[kept])
            values.append(given[kept])
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
        sign = {"random": 0, "popular": -1, "rare": 1}[attack.choice]
        preferred = sign * self.catalogue.popularity[self.items[position]]
        order = np.lexsort((generator.random(len(owner)), preferred, owner))
        first = np.cumsum(counts) - counts
        chosen = position[order[first[:, None] + np.arange(m)]]
        items, values = self.items[chosen], self.values[chosen]
        return items, told_values(values, attack.wrong, self.ratings.scale, generator)


def _chunks(total: int, size: int) -> Iterable[int]:
    return (min(size, total - start) for start in range(0, total, size))
