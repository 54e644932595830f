"""Two item domains that share users, and the cold-start protocol of X-Map's released code on them.

Domains: two rating files with common user ids (Douban books and music); MovieLens 100K cut by genre; or any one rating
file cut by popularity. Protocol: who has fewer than `MINIMUM` ratings in a domain is left out of it; the users left in
both are cut into folds; of one fold, the readers, all ratings in the target domain are hidden, and at most `ASKED` of
each reader's, random ones, are predicted. Every user of both domains is a reader exactly once.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dpassay.core.errors import InvalidInput
from dpassay.data.domain_files import rating_files
from dpassay.data.ratings import Ratings
from dpassay.experiments.request import Request, check_differing

MINIMUM = 5
"""Ratings that a user must have in a domain, as in the released code."""
ASKED = 10
"""Hidden ratings of a reader that are predicted; each prediction costs privacy."""


@dataclass(frozen=True, eq=False)
class Domains:
    """Ratings of two domains by users with common numbers.

    Attributes:
        source: where a reader's profile is.
        target: where her ratings are predicted; as many users as `source`.
        name: what tables call the pair.
        rule: how the domains came about, in words.
    """

    source: Ratings
    target: Ratings
    name: str
    rule: str

    @property
    def parts(self) -> tuple[Ratings, Ratings]:
        """Both."""
        return self.source, self.target

    @property
    def described(self) -> dict[str, Any]:
        """What a result says of them."""
        inputs = [part.described() for part in self.parts]
        return {"inputs": inputs, "domains": {"name": self.name, "rule": self.rule}}


@dataclass(frozen=True, eq=False)
class Split:
    """What a recommender sees, and what it has to predict.

    Attributes:
        source: ratings in the source domain, shape (accounts, source items); all that is stored is a rating.
        target: ratings in the target domain, same accounts.
        readers: accounts whose target ratings are hidden, by their user numbers, shape (readers,).
        owners: of every hidden rating to predict, its reader as a position in `readers`, shape (hidden,).
        items: its item, a number of the target domain.
        values: the rating.
        scale: smallest and largest rating.
        linked: how many accounts have ratings in both domains.
    """

    source: csr_matrix
    target: csr_matrix
    readers: np.ndarray
    owners: np.ndarray
    items: np.ndarray
    values: np.ndarray
    scale: tuple[float, float]
    linked: int


def load_domains(request: Request) -> Domains:
    """The two domains of a request's data.

    Data are the rating files of two domains, or a folder with them (source first by name); the folder of MovieLens 100K
    (cut by genre), any one rating file or `Ratings` (cut by popularity), or None for the small synthetic set.

    Raises:
        InvalidInput: the folder holds neither, a file is malformed, or all ratings of a domain are equal.
    """
    domains = _given_domains(request)
    check_differing(*domains.parts)
    return domains


def _given_domains(request: Request) -> Domains:
    folder = request.folder
    if folder is not None and (folder / "u.item").is_file():
        return by_genre(request.ratings, folder / "u.item")
    if pair := request.domains():
        return Domains(*pair, " to ".join(each.name for each in pair), "two rating files with common user ids")
    files = rating_files(folder) if folder is not None else []
    if folder is not None and len(files) != 1:
        raise InvalidInput(
            f"folder {folder.name} holds {len(files)} rating files; give the two domains' files (the source first), a "
            "folder with them, or with u.data and u.item of MovieLens 100K"
        )
    return by_popularity((replace(request, data=files[0]) if files else request).ratings)


def by_genre(ratings: Ratings, item_file: Path) -> Domains:
    """MovieLens 100K in two groups of genres.

    The genres in descending order of their number of films go to the two domains by turns, the first to the source; a
    film goes where more of its genres are, or, if equal, to the source when its number is odd.

    The file is `u.item`: fields separated by |, the id first, 19 genre flags last.

    Raises:
        InvalidInput: the file is malformed, or does not list the films of the ratings.
    """
    rows = [line.split("|") for line in item_file.read_text(encoding="latin-1").splitlines() if line]
    try:
        films = np.array([int(row[0]) for row in rows])
        flags = np.array([[int(flag) for flag in row[-19:]] for row in rows])
    except ValueError as error:
        raise InvalidInput(f"{item_file.name}: {error}; give u.item as published") from error
    if flags.ndim != 2 or not np.array_equal(films, np.arange(1, ratings.num_items + 1)):
        raise InvalidInput(
            f"{item_file.name} does not list the {ratings.num_items} films of the ratings; give both "
            "files of one archive"
        )
    order = np.argsort(-flags.sum(0), kind="stable")
    first, second = flags[:, order[::2]].sum(1), flags[:, order[1::2]].sum(1)
    in_source = np.where(first == second, films % 2 == 1, first > second)
    return _cut(ratings, in_source, "by genre", "genres by size, by turns; a film goes where more of its genres are")


def by_popularity(ratings: Ratings) -> Domains:
    """One catalogue in two: items in descending order of their number of ratings, by turns."""
    order = np.argsort(-np.bincount(ratings.items, minlength=ratings.num_items), kind="stable")
    in_source = np.zeros(ratings.num_items, bool)
    in_source[order[::2]] = True
    return _cut(ratings, in_source, "by popularity", "items by number of ratings, by turns")


def split(domains: Domains, fold: int, folds: int = 5, seed: int = 0, overlap: float = 1.0, kept: int = 0) -> Split:
    """Hides the target ratings of one fold of the users who are in both domains.

    The fold is in [0, folds); 5 folds hide a share of 20%, as the released code does. The seed is that of the folds, of
    who stays linked and of what is kept. Of the other users of both domains the share `overlap` stays linked; the rest
    become one account per domain. A reader keeps `kept` target ratings; readers with no more than that are left out.

    Raises:
        InvalidInput: fewer users of both domains than folds, or a setting out of range.
    """
    if not 0 <= fold < folds or not 0 < overlap <= 1 or kept < 0:
        raise InvalidInput(
            f"fold {fold} of {folds}, overlap {overlap:g}, kept {kept}: choose a fold there is, a share "
            "in (0, 1] and a number >= 0"
        )
    source, target = map(_active, domains.parts)
    sizes = [np.bincount(part[0], minlength=domains.source.num_users) for part in (source, target)]
    both = np.flatnonzero((sizes[0] > 0) & (sizes[1] > 0))
    if len(both) < 2 * folds:
        raise InvalidInput(
            f"{len(both)} users have {MINIMUM} or more ratings in both domains; {folds} folds need {2 * folds}"
        )
    generator = np.random.default_rng([seed, 0])
    order = generator.permutation(both)
    fresh = np.sort(np.array_split(order, folds)[fold])
    others = generator.permutation(np.setdiff1d(both, fresh))
    unlinked = others[round(overlap * len(others)) :]
    fresh = fresh[sizes[1][fresh] > kept]
    # The ratings of a reader in random order: the first `kept` are hers to keep, the next ones are asked for.
    users, items, values = target
    place = np.lexsort((generator.random(len(users)), users))
    rank = np.empty(len(users), int)
    starts = np.concatenate([[0], np.cumsum(sizes[1])[:-1]])
    rank[place] = np.arange(len(users)) - starts[users[place]]
    hidden = np.isin(users, fresh) & (rank >= kept)
    asked = hidden & (rank < kept + ASKED)
    count = domains.source.num_users
    rows = np.where(np.isin(users, unlinked), users + count, users)[~hidden]
    shape = (2 * count, domains.target.num_items)
    return Split(
        csr_matrix((source[2], source[:2]), (2 * count, domains.source.num_items)),
        csr_matrix((values[~hidden], (rows, items[~hidden])), shape),
        fresh,
        np.searchsorted(fresh, users[asked]),
        items[asked],
        values[asked],
        domains.target.scale,
        len(both) - len(unlinked),
    )


def _active(ratings: Ratings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users, items and values of all users with at least MINIMUM ratings."""
    keep = np.bincount(ratings.users, minlength=ratings.num_users)[ratings.users] >= MINIMUM
    return ratings.users[keep], ratings.items[keep], ratings.values[keep]


def _cut(ratings: Ratings, in_source: np.ndarray, name: str, rule: str) -> Domains:
    number = np.where(in_source, np.cumsum(in_source), np.cumsum(~in_source)) - 1

    def part(label: str, chosen: np.ndarray) -> Ratings:
        keep = chosen[ratings.items]
        if not keep.any():
            raise InvalidInput(f"the {label} domain of {ratings.name} has no ratings; give ratings of more items")
        columns = (ratings.users[keep], number[ratings.items[keep]], ratings.values[keep])
        return Ratings(*columns, ratings.num_users, int(chosen.sum()), ratings.scale, f"{ratings.name}, {label} domain")

    return Domains(part("source", in_source), part("target", ~in_source), f"{ratings.name} {name}", rule)
