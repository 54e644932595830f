"""What the k nearest neighbor attack rests on, and what partitioned selection does about it.

Lu and Shen, "An Accuracy-Assured Privacy-Preserving Recommender System for Internet Commerce", secs. 4.1, 4.2 and 6.2;
the attack is Calandrino et al.'s. An attacker who knows m of a target's ratings creates k fake users who hold exactly
these. Each fake is then supposed to have the other k - 1 fakes and the target as its k nearest neighbors.

Only the premise is measured here, that is whose neighbors the fakes get; what the attacker then reads from
recommendations is the full simulator's business.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from dpassay.attacks.beta_knn.settings import KnownItems, Similarity
from dpassay.core.errors import InvalidInput
from dpassay.data.ratings import Ratings

SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
CHOICES: tuple[KnownItems, ...] = get_args(KnownItems)
TIE_RULES = ("random", "fakes_first", "index", "against", "for")

NEAR = 1e-9  # relative; every pair this close is compared again in integers, so it only has to exceed rounding errors


@dataclass(frozen=True)
class Premise:
    """How a fake user's candidates stand to the target, one entry per attacked target.

    All arrays have shape (targets,). "Others" are real users other than the target.

    Attributes:
        targets: row of the target.
        above: others strictly more similar to the fake than the target is.
        tied: others exactly as similar as the target.
        tied_before: those of them with a lower row than the target.
        fakes_tied: whether the target is as similar to the fake as the fellow fakes are. More similar nobody can be:
            identical ratings have similarity 1, or all similarities to them are 0.
    """

    targets: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    tied_before: np.ndarray
    fakes_tied: np.ndarray

    def probability(self, num_neighbors: int, ties: str = "random") -> np.ndarray:
        """Probability that a fake's k nearest neighbors are the k - 1 other fakes and the target.

        Args:
            num_neighbors: k, which is also the number of fakes.
            ties: "random": uniformly random among all equally similar users; "fakes_first": fakes go before real users,
                random among these; "index": lower row first, fakes being the newest rows; "against" and "for": the
                attacker loses or wins every tie.

        Returns:
            Shape (targets,).

        Raises:
            InvalidInput: an unknown rule, or k below 2.
        """
        if ties not in TIE_RULES:
            raise InvalidInput(f"tie rule {ties!r}: use one of {', '.join(TIE_RULES)}")
        if num_neighbors < 2:
            raise InvalidInput(f"num_neighbors is {num_neighbors}; the attack needs at least 2")
        # Of those as similar as the target, this many belong to the supposed set.
        members = np.where(self.fakes_tied, num_neighbors, 1)
        winning = {
            "random": np.exp(-_log_binomial(members + self.tied, members)),
            "fakes_first": 1 / (1.0 + self.tied),
            "index": np.where(self.fakes_tied, self.tied, self.tied_before) == 0,
            "against": self.tied == 0,
            "for": np.ones(len(self.targets)),
        }[ties]
        return np.where(self.above == 0, winning, 0.0)

    def alone_in_list(self, num_neighbors: int, factor: int, ties: str = "random") -> np.ndarray:
        """Probability that some list shows the target's ratings and no other real user's (sec. 4.2).

        The recommender draws k neighbors uniformly from the `factor` k most similar users, afresh for each of the
        `factor` k fakes.

        Args:
            num_neighbors: k.
            factor: beta, a positive integer.
            ties: "random" or "fakes_first"; see `probability`.

        Returns:
            Shape (targets,).

        Raises:
            InvalidInput: another rule, or fewer than 2 fakes.
        """
        if ties not in ("random", "fakes_first"):
            raise InvalidInput(f"tie rule {ties!r}: use random or fakes_first")
        fakes = factor * num_neighbors
        if fakes < 2:
            raise InvalidInput(f"{fakes} fakes; the attack needs at least 2")
        # Among equals in random order, k of the first beta k are k of all. Otherwise the fellow fakes go first, one
        # place is left for the target, and the k drawn hold that place with probability 1 / beta.
        mixed = self.fakes_tied & (ties == "random")
        equal = _log_binomial(np.full(len(self.tied), fakes - 1), np.full(len(self.tied), num_neighbors - 1))
        equal = np.exp(equal - _log_binomial(fakes + self.tied, np.full(len(self.tied), num_neighbors)))
        one = np.where(mixed, equal, 1 / (factor * (1.0 + self.tied)))
        return np.where(self.above == 0, -np.expm1(fakes * np.log1p(-np.minimum(one, 1 - 1e-16))), 0.0)

    def target_in_list(self, num_neighbors: int) -> np.ndarray:
        """Probability that a fake's k nearest neighbors include the target, random ties; shape (targets,)."""
        fakes = num_neighbors - 1
        before = self.above + np.where(self.fakes_tied, 0, fakes)
        rivals = self.tied + np.where(self.fakes_tied, fakes, 0)
        return np.clip((num_neighbors - before) / (1.0 + rivals), 0.0, 1.0)


@dataclass(frozen=True)
class _Cosine:
    """dot / sqrt(norm1 norm2), 0 over a zero norm; all three are integers, held exactly in float64."""

    dot: np.ndarray
    norm1: np.ndarray
    norm2: np.ndarray

    def signed_square(self) -> np.ndarray:
        """sign times square, rounded."""
        norms = self.norm1 * self.norm2
        return np.divide(self.dot * np.abs(self.dot), norms, out=np.zeros_like(self.dot), where=norms > 0)

    def fraction(self, where: Any) -> tuple[np.ndarray, np.ndarray]:
        """Numerator and denominator of the signed square, in integers whose products cannot overflow."""
        parts = [part[where].astype(np.int64) for part in (self.dot, self.norm1, self.norm2)]
        if parts[0].size and max(float(np.abs(part).max()) for part in parts) >= 2.0**15:
            parts = [part.astype(object) for part in parts]
        dot, norm1, norm2 = parts
        norms = norm1 * norm2
        return dot * abs(dot), np.where(norms == 0, 1, norms)


def attack_premise(dataset: Any, known: np.ndarray, targets: np.ndarray, similarity: Similarity = "cosine") -> Premise:
    """Compares all users' similarities to the fakes, for many targets at once and with exact ties.

    Each target is attacked alone: the fakes of other targets do not exist. Similarities are those of `mechanisms`:
    "cosine" (5) over co-rated items, "full_cosine" with norms over all own ratings, "pearson" (4) with each user's mean
    over all own ratings; 0 without a co-rated item or when a norm is 0.

    Args:
        dataset: ratings, shape (users, items), NaN where missing, or a `Ratings`; multiples of 1/100.
        known: items known to the attacker, shape (targets, m), each rated by its target.
        targets: rows, shape (targets,).
        similarity: which similarity the recommender uses.

    Raises:
        InvalidInput: an unknown similarity, ratings that are no multiples of 1/100, or a known item without a rating.
    """
    if similarity not in SIMILARITIES:
        raise InvalidInput(f"similarity {similarity!r}: use one of {', '.join(SIMILARITIES)}")
    matrix = dataset.dense() if isinstance(dataset, Ratings) else np.asarray(dataset, float)
    known, targets = np.asarray(known), np.asarray(targets)
    if known.ndim != 2 or targets.shape != known.shape[:1]:
        raise InvalidInput(
            f"known items have shape {known.shape} for {targets.shape} targets; give one row of items per target"
        )
    rated = ~np.isnan(matrix)
    if not rated[targets[:, None], known].all():
        raise InvalidInput("a known item was not rated by its target; choose known items among the target's ratings")
    whole = _integers(np.where(rated, matrix, 0.0))
    cosines, fellow = _cosines(whole, rated, known, targets, similarity)
    rows = np.arange(len(targets))
    own = _Cosine(*(part[rows, targets] for part in (cosines.dot, cosines.norm1, cosines.norm2)))
    sign = _compare(cosines, own)
    a, b = own.fraction(slice(None))
    c, d = fellow.fraction(slice(None))
    others = np.ones(sign.shape, bool)
    others[rows, targets] = False
    lower = np.arange(len(matrix)) < targets[:, None]
    return Premise(
        targets=targets,
        above=((sign > 0) & others).sum(1),
        tied=((sign == 0) & others).sum(1),
        tied_before=((sign == 0) & others & lower).sum(1),
        fakes_tied=(a * d == c * b).astype(bool),
    )


def known_items(
    dataset: Any, num_known: int, choice: KnownItems = "random", seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Chooses what the attacker knows, for every user with more than `num_known` ratings.

    Args:
        dataset: ratings, shape (users, items), NaN where missing, or a `Ratings`.
        num_known: m.
        choice: m of the target's items at random, or the m with most ("popular") or fewest ("rare") ratings by all
            users; equal counts in random order.
        seed: of the random choice.

    Returns:
        Targets, shape (targets,), and known items, shape (targets, m).

    Raises:
        InvalidInput: an unknown choice, m below 1, or no user with more than m ratings.
    """
    if choice not in CHOICES:
        raise InvalidInput(f"choice {choice!r}: use one of {', '.join(CHOICES)}")
    if num_known < 1:
        raise InvalidInput(f"num_known is {num_known}; the attacker must know at least one rating")
    matrix = dataset.dense() if isinstance(dataset, Ratings) else np.asarray(dataset, float)
    rated = ~np.isnan(matrix)
    targets = np.flatnonzero(rated.sum(1) > num_known)
    if len(targets) == 0:
        raise InvalidInput(f"no user has more than {num_known} ratings; choose a smaller num_known")
    order = np.random.default_rng([seed, num_known, CHOICES.index(choice)]).random((len(targets), matrix.shape[1]))
    if choice != "random":
        order = order + (rated.sum(0) if choice == "rare" else -rated.sum(0))
    order[~rated[targets]] = np.inf
    return targets, np.argsort(order, axis=1)[:, :num_known]


def some_list_has_target(inclusion: Fraction, num_fakes: int) -> Fraction:
    """1 - (1 - q)^k: at least one of k independently drawn lists contains the target."""
    return 1 - (1 - inclusion) ** num_fakes


def _integers(values: np.ndarray) -> np.ndarray:
    """Ratings times 1, 2, 10 or 100, whichever makes them whole: every similarity here ignores the factor."""
    for factor in (1, 2, 10, 100):
        whole = np.rint(values * factor)
        if np.abs(whole - values * factor).max(initial=0.0) < 1e-9:
            return whole
    raise InvalidInput("ratings must be multiples of 1/100, so that ties can be decided exactly; round them")


def _cosines(
    whole: np.ndarray, rated: np.ndarray, known: np.ndarray, targets: np.ndarray, similarity: Similarity
) -> tuple[_Cosine, _Cosine]:
    """Similarities to the fakes: of every (target, user), and of a fellow fake, shape (targets,)."""
    num_known = known.shape[1]
    mine = whole[targets[:, None], known]
    theirs = whole
    if similarity == "pearson":
        # Mean-centered ratings times the number of ratings are integers, and the correlation ignores the factors.
        mine = num_known * mine - mine.sum(1, keepdims=True)
        count = rated.sum(1, keepdims=True)
        theirs = np.where(rated, count * whole - whole.sum(1, keepdims=True), 0.0)

    def fakes(values: np.ndarray) -> csr_array:
        starts = np.arange(0, known.size + 1, num_known)
        return csr_array((values.ravel(), known.ravel(), starts), shape=(len(known), whole.shape[1]))

    dot = fakes(mine) @ theirs.T
    own = (mine**2).sum(1)
    if similarity == "full_cosine":
        norm1 = np.broadcast_to(own[:, None], dot.shape)
        norm2 = np.broadcast_to((theirs**2).sum(1), dot.shape)
    else:
        norm1 = fakes(mine**2) @ rated.T.astype(float)
        norm2 = fakes(np.ones_like(mine)) @ (theirs**2).T
    return _Cosine(dot, norm1, norm2), _Cosine(own, own, own)


def _compare(left: _Cosine, right: _Cosine) -> np.ndarray:
    """Sign of left - right, shape (targets, users), exact; `right` has one entry per target."""
    reference = right.signed_square()[:, None]
    difference = left.signed_square() - reference
    sign = np.sign(difference).astype(np.int8)
    near = np.abs(difference) <= NEAR * np.abs(reference)
    rows, _ = np.nonzero(near)
    a, b = left.fraction(near)
    c, d = right.fraction(rows)
    sign[near] = np.sign(a * d - c * b).astype(np.int8)
    return sign


def _log_binomial(n: np.ndarray, k: np.ndarray) -> np.ndarray:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
