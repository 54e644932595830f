"""Metrics of recommendation lists: relevance, diversity, coverage.

A batch of lists is an array (lists, k) of item numbers, and a list is a set here: no metric looks at its order.
Held-out relevance is judged for every user against the same list, which is what one list for everybody means;
`relevant` has one row per user.
"""

import numpy as np

from dpassay.core.errors import InvalidInput


def precision(lists: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Share of a list that is relevant to a user, averaged over the users that have anything relevant.

    Lists are item numbers, shape (lists, k), none twice in a list; `relevant` is bool, shape (users, items).

    Returns:
        Shape (lists,), in [0, 1].

    Raises:
        InvalidInput: malformed lists, or nobody has anything relevant.
    """
    return _hits(lists, relevant).mean(axis=1) / lists.shape[1]


def recall(lists: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Share of what is relevant to a user that is in the list, averaged over users, shape (lists,); see `precision`."""
    hits = _hits(lists, relevant)
    wanted = relevant.sum(axis=1)
    return (hits / wanted[wanted > 0]).mean(axis=1)


def hit_share(lists: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Share of users for whom at least one item of the list is relevant, shape (lists,); see `precision`."""
    return (_hits(lists, relevant) > 0).mean(axis=1)


def mean_distance(lists: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Mean distance of the pairs in each list (intra-list diversity), shape (lists,).

    Lists are item numbers, shape (lists, k), k >= 2; distances are symmetric, shape (items, items).

    Raises:
        InvalidInput: malformed lists, or lists of one item.
    """
    _check(lists, len(distances))
    k = lists.shape[1]
    if k < 2:
        raise InvalidInput("a list of one item has no pairs; give lists of at least 2 items")
    return distances[lists[:, :, None], lists[:, None, :]].sum(axis=(1, 2)) / (k * (k - 1))


def log_volume(lists: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """log det of the kernel's rows and columns of each list, shape (lists,); -inf where it is singular.

    Lists are item numbers, shape (lists, k); the kernel is positive semidefinite, shape (items, items).

    Raises:
        InvalidInput: malformed lists.
    """
    _check(lists, len(kernel))
    return np.linalg.slogdet(kernel[lists[:, :, None], lists[:, None, :]])[1]


def exposure(lists: np.ndarray, num_items: int) -> np.ndarray:
    """Share of all places in all lists that each item takes, shape (items,), adds up to 1.

    Raises:
        InvalidInput: malformed lists.
    """
    _check(lists, num_items)
    return np.bincount(lists.ravel(), minlength=num_items) / lists.size


def coverage(lists: np.ndarray, num_items: int) -> float:
    """Share of the items in at least one of the lists, shape (lists, size); grows with the number of lists.

    Raises:
        InvalidInput: malformed lists.
    """
    return float((exposure(lists, num_items) > 0).mean())


def gini(shares: np.ndarray) -> float:
    """Gini coefficient of shares, shape (items,): 0 when all are equal, 1 - 1/n when one of n has everything.

    Raises:
        InvalidInput: a negative share, or all are 0.
    """
    ordered = np.sort(shares)
    if not ordered[0] >= 0 or not ordered[-1] > 0:
        raise InvalidInput("shares must be >= 0 and not all 0")
    n = len(ordered)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum()))


def total_variation(first: np.ndarray, second: np.ndarray) -> float:
    """Half the L1 distance of two probability vectors of one shape, in [0, 1]."""
    return float(np.abs(first - second).sum() / 2)


def cosine_distances(columns: np.ndarray) -> np.ndarray:
    """1 - cosine of every two columns, shape (items, items); a column of zeros has distance 1 to every other one.

    Columns have shape (users, items).
    """
    lengths = np.linalg.norm(columns, axis=0)
    unit = columns / np.where(lengths > 0, lengths, 1.0)
    distances = 1.0 - unit.T @ unit
    np.fill_diagonal(distances, 0.0)
    return distances


def jaccard_distances(flags: np.ndarray) -> np.ndarray:
    """1 - |A and B| / |A or B| of every two rows of flags, shape (items, items); 0 for two rows without any.

    Flags have shape (items, properties).
    """
    numbers = flags.astype(float)
    both, sizes = numbers @ numbers.T, numbers.sum(axis=1)
    either = sizes[:, None] + sizes[None, :] - both
    return np.where(either > 0, 1.0 - both / np.where(either > 0, either, 1.0), 0.0)


def _hits(lists: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Relevant items of each list, for each user that has any, shape (lists, users)."""
    _check(lists, relevant.shape[1])
    judged = relevant[relevant.any(axis=1)]
    if not len(judged):
        raise InvalidInput("nobody has a relevant item; hold out at least one rating")
    chosen = np.zeros((len(lists), relevant.shape[1]), np.float32)
    np.put_along_axis(chosen, lists, 1.0, axis=1)
    return np.rint(chosen @ judged.T.astype(np.float32))


def _check(lists: np.ndarray, num_items: int) -> None:
    if lists.ndim != 2 or 0 in lists.shape or not np.issubdtype(lists.dtype, np.integer):
        raise InvalidInput(f"lists are item numbers of shape (lists, k), got {lists.dtype} of shape {lists.shape}")
    if lists.min() < 0 or lists.max() >= num_items:
        raise InvalidInput(f"items run from {lists.min()} to {lists.max()}; allowed is 0 to {num_items - 1}")
    if (np.diff(np.sort(lists, axis=1), axis=1) == 0).any():
        raise InvalidInput("a list has an item twice; give lists of different items")
