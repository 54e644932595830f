"""What a choice of neighbors costs in accuracy: errors on held-out ratings of users who join a recommender.

A fifth of the users at most are readers. They are taken out of the data, each keeps four fifths of her ratings, her
neighbors come from all others, and the ratings that she does not keep are predicted by the recommender that is
attacked elsewhere: same similarity, ties, defenses and noise. A prediction is kept within the rating scale; where no
neighbor rated the item it is the reader's own mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dpassay.attacks.beta_knn.neighbor_lists import SelectionPlan
from dpassay.attacks.beta_knn.rating_table import RatingTable
from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings

MOST_READERS = 200
LISTS = 4  # neighbor lists of each reader, if they are random


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Per reader, shape (readers,) each.

    Attributes:
        counts: held-out ratings.
        own_mean: mean absolute error of always predicting the reader's own mean, in rating units.
        errors: by recommender, mean absolute error over held-out ratings and lists.
        covered: by recommender, share of the held-out ratings that a neighbor rated.
        refused: by recommender, why it cannot be used on these data; it is in neither of the two above.
    """

    counts: np.ndarray
    own_mean: np.ndarray
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    covered: dict[str, np.ndarray] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def held_out(ratings: Ratings, recommenders: Mapping[str, Recommender], seed: int = 0) -> HeldOut:
    """Predicts the held-out ratings by every recommender, for the same readers.

    Raises:
        InvalidInput: fewer than two users have five ratings, or there are no others.
    """
    generator = np.random.default_rng([seed, 20])
    counts = np.bincount(ratings.users, minlength=ratings.num_users)
    able = generator.permutation(np.flatnonzero(counts >= 5))
    readers = np.sort(able[: min(MOST_READERS, ratings.num_users // 5)])
    if len(readers) < 2:
        raise InvalidInput("accuracy needs two users with five ratings, and four others for each; give more ratings")
    table = RatingTable(_without(ratings, readers))
    order = np.argsort(ratings.users, kind="stable")
    starts = np.searchsorted(ratings.users[order], np.arange(ratings.num_users + 1))
    kept, tested = [], []
    for reader in readers:
        own = generator.permutation(order[starts[reader] : starts[reader + 1]])
        kept.append(own[len(own) // 5 :])
        tested.append(own[: len(own) // 5])
    means = [ratings.values[own].mean() for own in kept]
    truth = [ratings.values[own] for own in tested]
    result = HeldOut(
        np.array([len(own) for own in tested]),
        np.array([np.abs(mean - true).mean() for mean, true in zip(means, truth, strict=True)]),
    )
    for name, recommender in recommenders.items():
        errors, covered = np.empty(len(readers)), np.empty(len(readers))
        try:
            for number, (own, test) in enumerate(zip(kept, tested, strict=True)):
                draws = np.random.default_rng([seed, 21, number])
                profile = (ratings.items[own], ratings.values[own])
                predicted = _predicted(table, recommender, *profile, draws)[:, ratings.items[test]]
                covered[number] = np.mean(~np.isnan(predicted))
                filled = np.where(np.isnan(predicted), means[number], np.clip(predicted, *ratings.scale))
                errors[number] = np.abs(filled - truth[number]).mean()
        except InvalidInput as refusal:
            result.refused[name] = str(refusal)
        else:
            result.errors[name], result.covered[name] = errors, covered
    return result


def _predicted(
    table: RatingTable, recommender: Recommender, items: np.ndarray, values: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Predictions for a user who is not in the table, shape (lists, items), NaN where no neighbor rated the item."""
    # A fake of whom there is only one is such a user; nobody plays the target.
    candidates = table.candidates(recommender, items, values, 0, 1)
    plan = SelectionPlan(recommender, candidates)
    alike = plan.deterministic and recommender.noise_scale == 0
    chosen, weights = plan.weighed(1 if alike else LISTS, generator)
    return table.predict(candidates.rows[chosen], weights).values()


def _without(ratings: Ratings, users: np.ndarray) -> Ratings:
    """The ratings of all other users, who get new numbers in the same order."""
    stays = np.ones(ratings.num_users, bool)
    stays[users] = False
    of_others = stays[ratings.users]
    if not of_others.any():
        raise InvalidInput("accuracy needs ratings of users who are not readers; give ratings of more users")
    users = (np.cumsum(stays) - 1)[ratings.users[of_others]]
    items, values = ratings.items[of_others], ratings.values[of_others]
    return Ratings(users, items, values, int(stays.sum()), ratings.num_items, ratings.scale, ratings.name)
