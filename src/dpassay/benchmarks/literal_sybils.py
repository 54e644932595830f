"""The beta-kNN attack word for word: fakes as rows of a dense matrix, the registered mechanism, loops over items.

The simulator (`dpassay.attacks.beta_knn.neighbor_lists`) is tested against it and timed beside it.
"""

import math

import jax
import numpy as np

from dpassay.attacks.beta_knn.recommender import Recommender
from dpassay.data.ratings import Ratings
from dpassay.mechanisms.similarity import similarities


def with_fakes(ratings: Ratings, items: np.ndarray, values: np.ndarray, number: int) -> np.ndarray:
    """The rating matrix with the fakes' rows below it, shape (users + number, items), NaN where missing."""
    fake = np.full((number, ratings.num_items), math.nan)
    fake[:, items] = values
    return np.vstack([ratings.dense(), fake])


def drawn_lists(matrix: np.ndarray, recommender: Recommender, fake: int, number: int, seed: int = 0) -> np.ndarray:
    """A fake's neighbors as the registered mechanism draws them, shape (number, neighbors); `fake` is its row."""
    law = recommender.mechanism(target=fake)
    keys = jax.random.split(jax.random.key(seed), number)
    return np.stack([np.asarray(law.sample(key, matrix)) for key in keys])


def shares_shown(
    ratings: Ratings, matrix: np.ndarray, recommender: Recommender, length: int, lists: np.ndarray, seed: int = 11
) -> np.ndarray:
    """Share of the lists that show each item, shape (items,).

    The real users' ratings say how popular items are; the matrix is that of `with_fakes`. The recommender predicts from
    the neighbors by (6), with its noise, and shows at most `length` items of highest prediction. The lists are
    neighbors of the first fake, rows of the matrix, shape (lists, neighbors).
    """
    first = ratings.num_users
    known = np.flatnonzero(~np.isnan(matrix[first]))
    near = np.zeros(len(matrix))
    near[np.arange(len(matrix)) != first] = np.asarray(similarities(matrix, first, recommender.similarity))
    popularity = (~np.isnan(matrix[:first])).sum(0)
    generator = np.random.default_rng(seed)
    shown = np.zeros(ratings.num_items)
    for members in lists:
        weights = {int(row): near[row] + generator.laplace() * recommender.noise_scale for row in members}
        predicted = {}
        for item in range(ratings.num_items):
            raters = [row for row in weights if not math.isnan(matrix[row, item]) and weights[row] != 0]
            if raters and item not in known:
                top = sum(weights[row] * matrix[row, item] for row in raters)
                predicted[item] = top / sum(abs(weights[row]) for row in raters)
        ranked = sorted(predicted, key=lambda item: (-round(predicted[item], 6), -popularity[item], item))
        shown[ranked[:length]] += 1
    return shown / len(lists)
