"""Cross-domain recommendation: a source and a target domain of the same users, one item of each held out.

The interface of every model in this package. A model is a module with a frozen dataclass of hyper-parameters `Settings`
and

    def train(task: Task, settings: Settings = Settings(), *, seed: int = 0) -> Iterator[Scores]

a generator that yields after every epoch what the model has learned so far (once, if nothing is trained). Validation
items, test items and negatives of the task are for the evaluation only; no model reads them.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dpassay.core.errors import InvalidInput
from dpassay.data.pricdr_tasks import TASKS, Sizes
from dpassay.data.rating_files import load_ratings, load_split
from dpassay.data.ratings import Ratings

Scores = Callable[[np.ndarray], np.ndarray]
"""Target items, int, shape (users, candidates), row u for user u -> their scores, float, same shape; higher is better.

It stands for the model as it was when it was yielded, and stays valid while training goes on.
"""

NEGATIVES = 99
POSITIVES = 6
"""Positive ratings of a user in each domain, and of an item, in a task that is drawn: more than 5, as released."""
LATENT, TASTE, TAIL = 8, 1.5, 0.8
"""Of synthetic preferences: their rank, their weight beside popularity, and the exponent of popularity in the rank."""


@dataclass(frozen=True, eq=False)
class Task:
    """Recommend target items to users of whom both domains know something.

    Attributes:
        source: implicit ratings, 0 or 1, float32, shape (users, source_items); row u is user u in both domains.
        target: the same for training in the target domain, shape (users, target_items): without held-out items.
        validation: the target item held out for choosing an epoch, int64, shape (users,).
        test: the target item held out for testing, int64, shape (users,).
        negatives: target items that the user never rated, int64, shape (users, negatives), ranked against either.
        name: what results call this task.
        inputs: name, hash and size of each dataset, for a result's "inputs".

    Raises InvalidInput if the arrays do not belong together or a held-out item is in the training part.
    """

    source: csr_array
    target: csr_array
    validation: np.ndarray
    test: np.ndarray
    negatives: np.ndarray
    name: str = "custom"
    inputs: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        users = self.num_users
        rows = {"source": self.source, "validation": self.validation, "test": self.test, "negatives": self.negatives}
        for name, array in rows.items():
            if array.shape[0] != users:
                raise InvalidInput(f"{name} has {array.shape[0]} rows, target {users}; row u is user u in both domains")
        heldout = np.column_stack([self.validation, self.test, self.negatives])
        if heldout.min() < 0 or heldout.max() >= self.num_target_items:
            raise InvalidInput(
                f"the split names items {heldout.min()} to {heldout.max()}; allowed is 0 to {self.num_target_items - 1}"
            )
        trained = self.target[np.repeat(np.arange(users), heldout.shape[1]), heldout.ravel()]
        if np.asarray(trained).any():
            user, column = divmod(int(np.asarray(trained).argmax()), heldout.shape[1])
            what = ("validation item", "test item")[column] if column < 2 else "negative"
            raise InvalidInput(
                f"user {user}: the {what} {heldout[user, column]} is a training rating; "
                "take held-out items out and draw negatives from what the user never rated"
            )

    @property
    def num_users(self) -> int:
        """Users, the same in both domains."""
        return int(self.target.shape[0])

    @property
    def num_source_items(self) -> int:
        """Items of the source domain."""
        return int(self.source.shape[1])

    @property
    def num_target_items(self) -> int:
        """Items of the target domain."""
        return int(self.target.shape[1])


def load_task(folder: str | Path, source: str = "book", target: str = "music") -> Task:
    """A task of Chen et al. (2022), or one like it: Douban Book to Music with their own split and negatives.

    The folder has `book_ratings.csv.gz` and `music_ratings.csv.gz` (columns user, item, rating) and
    `music_split.csv.gz` (see `dpassay.load_split`); users and items are numbered 0, 1, ... alike in all three. Source
    and target are what the files of their domains are called.

    Returns:
        The task, called as in the paper if its sizes are those of Table 3.

    Raises:
        InvalidInput: a file is missing or malformed, or the three do not belong together.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InvalidInput(f"no folder {folder}; give the one with {source}_ratings.csv.gz and {target}_split.csv.gz")
    known, rated = (load_ratings(folder / f"{domain}_ratings.csv.gz") for domain in (source, target))
    split = load_split(folder / f"{target}_split.csv.gz")
    users, order = len(split.users), np.argsort(split.users)
    if known.num_users != users or rated.num_users != users or (split.users[order] != np.arange(users)).any():
        raise InvalidInput(
            f"{known.num_users} users in {source}, {rated.num_users} in {target}, {users} in the split; "
            "number the same users 0, 1, ... in all three files"
        )
    sizes = Sizes(users, known.num_items, rated.num_items, len(known), len(rated))
    domains = f"{source.title()} to {target.title()}"
    name = next((task for task, printed in TASKS.items() if task.endswith(domains) and sizes == printed), domains)
    origin = name.removesuffix(domains)
    inputs = (known.described(f"{origin}{source.title()}"), rated.described(f"{origin}{target.title()}"))
    given, whole = (
        csr_array((np.ones(len(r), np.float32), (r.users, r.items)), shape=(r.num_users, r.num_items))
        for r in (known, rated)
    )
    parts = (split.validation_items[order], split.test_items[order], split.negatives[order])
    return _heldout_task(given, whole, parts, name, inputs)


def split_domains(folder: Path) -> tuple[str, str] | None:
    """Source and target of the task that the files in a folder are for `load_task`; None without a split.

    Book to music, as the papers have it, where both splits lie there.
    """
    splits = sorted(file.name.removesuffix("_split.csv.gz") for file in folder.glob("*_split.csv.gz"))
    if not splits:
        return None
    target = "music" if "music" in splits else splits[0]
    others = sorted(file.name.removesuffix("_ratings.csv.gz") for file in folder.glob("*_ratings.csv.gz"))
    return next((name for name in others if name != target), "book"), target


def drawn_task(source: Ratings, target: Ratings, *, seed: int = 0) -> Task:
    """A task of any two domains whose users have the same numbers, the split and the negatives drawn with a seed.

    As in the data that Chen et al. released: ratings in the upper half of the scale are positive and the others
    deleted; kept are users with at least `POSITIVES` of them in both domains, then items with at least as many by these
    users; of each user's target items a random one is for validation, one for testing, and 99 negatives are drawn from
    the items that are none of them. Users with fewer than 3 target items left, or none of the source, are left out.

    Raises:
        InvalidInput: no user or too few items are left, or both are the same ratings.
    """
    if source.fingerprint() == target.fingerprint():
        raise InvalidInput("source and target hold the same ratings; give two domains")
    liked = [_positive(ratings) for ratings in (source, target)]
    both = np.minimum(*(matrix.sum(axis=1) for matrix in liked)) >= POSITIVES
    liked = [matrix[both] for matrix in liked]
    liked = [matrix[:, matrix.sum(axis=0) >= POSITIVES] for matrix in liked]
    left = (liked[0].sum(axis=1) > 0) & (liked[1].sum(axis=1) >= 3)
    given, whole = (csr_array(matrix[left]) for matrix in liked)
    users, items = whole.shape
    rule = f"with {POSITIVES} ratings in the upper half of the scale in both domains"
    if not users:
        raise InvalidInput(f"no user {rule} is left; give two rating files that share user ids, and their scale")
    counts = np.diff(whole.indptr)
    if items - counts.max() < NEGATIVES:
        raise InvalidInput(
            f"{items} target items are left that {POSITIVES} users like, and one user likes {counts.max()} of them; "
            f"everyone needs {NEGATIVES} others: give a target domain with more items"
        )
    generator = np.random.default_rng(seed)
    parts = np.empty((users, 2 + NEGATIVES), np.int64)
    for user in range(users):
        own = whole.indices[whole.indptr[user] : whole.indptr[user + 1]]
        others = np.setdiff1d(np.arange(items), own, assume_unique=True)
        parts[user, :2] = generator.choice(own, 2, replace=False)
        parts[user, 2:] = generator.choice(others, NEGATIVES, replace=False)
    name = f"{source.name} to {target.name}, split drawn with seed {seed}"
    return _heldout_task(
        given, whole, (parts[:, 0], parts[:, 1], parts[:, 2:]), name, (source.described(), target.described())
    )


def _positive(ratings: Ratings) -> csr_array:
    """1 where a rating is in the upper half of the scale, its middle included, shape (users, items)."""
    high = ratings.values >= sum(ratings.scale) / 2
    places = (ratings.users[high], ratings.items[high])
    return csr_array((np.ones(high.sum(), np.float32), places), shape=(ratings.num_users, ratings.num_items))


def synthetic_task(
    users: int = 120,
    source_items: int = 150,
    target_items: int = 160,
    source_ratings: int = 2400,
    target_ratings: int = 2400,
    seed: int = 0,
) -> Task:
    """A made-up task: long-tail popularity, and one low-rank taste of each user in both domains; not real people.

    A user's items are drawn without replacement with probability proportional to popularity x exp(taste . item); of
    the target's, one is held out for validation and one for testing, and 99 negatives avoid all of them.

    Numbers of ratings are in all, held-out ones included; every user has at least 3.

    Raises:
        InvalidInput: too few ratings or target items.
    """
    for name, ratings, items, spare in (
        ("source", source_ratings, source_items, 0),
        ("target", target_ratings, target_items, NEGATIVES),
    ):
        if ratings < 3 * users:
            raise InvalidInput(f"{ratings} {name} ratings for {users} users; give at least {3 * users}, 3 for each")
        if ratings > users * (items - spare) / 2:
            least = 2 * -(-ratings // users) + spare
            raise InvalidInput(f"{ratings} {name} ratings do not fit {items} items; give at least {least} items")
    generator = np.random.default_rng(seed)
    taste = generator.normal(size=(users, LATENT))
    source = _preferred(taste, source_items, source_ratings, source_items, generator)
    liked = _preferred(taste, target_items, target_ratings, target_items - NEGATIVES, generator)
    order = np.where(liked, 0.0, 2.0) + generator.random(liked.shape)  # a user's own items first, each part shuffled
    ranked = np.argsort(order, axis=1)
    count = liked.sum(axis=1, keepdims=True)
    validation, test = ranked[:, 0], ranked[:, 1]
    negatives = np.take_along_axis(ranked, count + np.arange(NEGATIVES), axis=1)
    name = f"synthetic, {users} users, {source_items} to {target_items} items"
    inputs = tuple(
        {"name": f"{name}, {domain}", "sha256": _hash(matrix), "ratings": int(matrix.sum())}
        for domain, matrix in (("source", source), ("target", liked))
    )
    source, whole = (csr_array(matrix, dtype=np.float32) for matrix in (source, liked))
    return _heldout_task(source, whole, (validation, test, negatives), name, inputs)


def _heldout_task(
    source: csr_array,
    whole: csr_array,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    name: str,
    inputs: tuple[dict[str, Any], ...],
) -> Task:
    """The task in which validation and test items are taken out of the whole target matrix."""
    items = np.column_stack(parts[:2])
    if items.min() < 0 or items.max() >= whole.shape[1]:
        raise InvalidInput(f"the split holds out item {items.max()}; items of the target are 0 to {whole.shape[1] - 1}")
    rows = np.repeat(np.arange(len(items)), 2)
    heldout = csr_array((np.ones(items.size, np.float32), (rows, items.ravel())), shape=whole.shape)
    target = csr_array(whole - whole.multiply(heldout))
    target.eliminate_zeros()
    if target.nnz != whole.nnz - items.size:
        raise InvalidInput("the split holds out an item that its user never rated; number items alike in both files")
    split = {"name": f"{name}, split", "sha256": _hash(*parts), "ratings": items.size}
    return Task(source, target, *parts, name=name, inputs=(*inputs, split))


def _preferred(taste: np.ndarray, items: int, ratings: int, most: int, generator: np.random.Generator) -> np.ndarray:
    """Who likes what, bool, shape (users, items): `ratings` in all, 3 to `most` for each user, long tails."""
    users = len(taste)
    activity = generator.dirichlet(np.full(users, 2.0))
    count = np.minimum(3 + generator.multinomial(ratings - 3 * users, activity), most)[:, None]
    popularity = -TAIL * np.log(generator.permutation(items) + 1.0)
    appeal = generator.normal(size=(LATENT, items)) * (TASTE / np.sqrt(LATENT))
    # Gumbel noise on log-weights, the largest kept: a draw without replacement, all users at once.
    keys = popularity + taste @ appeal + generator.gumbel(size=(users, items))
    least = np.take_along_axis(-np.sort(-keys, axis=1), count - 1, axis=1)
    return keys >= least


def _hash(*arrays: np.ndarray) -> str:
    """SHA-256 of arrays of whole numbers, with their shapes."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()
