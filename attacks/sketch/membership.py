"""Telling from a published sketch whether one rating is in it: Chen et al. (WWW 2022), JLT and SJLT.

R is items x users, 1 where a rating is positive and 0 elsewhere. "Present" is R with the attacked rating, "absent" R
without it: neighbors under the claim of every mechanism here. The attacker sees one sketch of one of them.

Gaussian M (JLT). Written z, the r rows of the sketch times sqrt(r) are independent N(0, K + a a') when the rating is
present and N(0, K + b b') when it is absent, a and b the item's row before and after, as the mechanism centers it, and
K = w^2 I plus the Gram matrix of the other items. With alpha = K^-1 a, beta = K^-1 b, p = a'alpha, q = b'beta the
log-likelihood ratio is

    L = sum_rows [ (z alpha)^2 / (1 + p) - (z beta)^2 / (1 + q) ] / 2 + r/2 ln((1 + q) / (1 + p)),

and by Neyman and Pearson no test is better. Its law is that of (s G1 - t G2) / 2 + const with independent G1, G2 ~
chi^2_r, so that the whole trade-off is known; the advantage of cutting at 0 is the total variation. If the lifting has
fewer items than users to lift, the rows lie in a space that depends on the data, and that decides with certainty.

Sparse M (SJLT). The law is a mixture over masks and signs. L is kept as a statistic (the second moments are the same),
and two proofs are looked for: the row space as above, and published rows that are a multiple of one row of D H' times
the lifted matrix (one entry in the mask). What is measured is a lower bound on what can be told.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import qr
from scipy.special import gammaincc
from scipy.stats import binom, chi2

from dpassay.attacks.metrics import auc
from dpassay.attacks.settings import registered
from dpassay.attacks.sketch.settings import Method, Shape
from dpassay.core.errors import InvalidInput
from dpassay.core.numerics import float64
from dpassay.core.shapes import Array, Float
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import (
    AdditiveSketch,
    ColumnSketch,
    GaussianSketch,
    ReleasedGaussianSketch,
    ReleasedSparseSketch,
    SparseAwareSketch,
)
from dpassay.mechanisms.jlt import bounded, centered, lifted, released_centered

SHAPES: tuple[Shape, ...] = get_args(Shape)
VARIANTS: dict[Method, tuple[str, str]] = {method: registered(method) for method in get_args(Method)}

PREPARE: dict[type[Any], Callable[[Any], Any]] = {
    GaussianSketch: centered,
    SparseAwareSketch: centered,
    ReleasedGaussianSketch: released_centered,
    ReleasedSparseSketch: released_centered,
    AdditiveSketch: partial(bounded, protect="rating", max_change=1.0),
    ColumnSketch: partial(bounded, protect="rating", max_change=1.0),
}
LIFTS = (GaussianSketch, SparseAwareSketch, ReleasedGaussianSketch, ReleasedSparseSketch)
GAUSSIAN = (GaussianSketch, ReleasedGaussianSketch, AdditiveSketch)

PROVED = 1e9  # the score of a proof, above every log-likelihood ratio
SAME = 1e-7  # relative distance, or sine of an angle, that counts as 0; rounding errors are near 1e-13
BATCH = 4_000_000  # float64 entries of random matrices in memory at once
MOST_SIGNS = 12  # items up to which all sign vectors are tried, 2^11 lines
NODES = 241
RANK_SHARE = 0.8  # items per user in the rank-deficient shape
FALSE_POSITIVES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class PairLaw:
    """The likelihood-ratio test of each attacked entry.

    Attributes:
        directions: alpha and beta, shape (targets, 2, users).
        present: p = a'K^-1 a, shape (targets,).
        absent: q = b'K^-1 b, shape (targets,).
        determinant: p q - (a'K^-1 b)^2, shape (targets,), 0 where a and b are parallel.
        separate: whether the two sketches lie in different spaces; no density exists then. Shape (targets,).
    """

    directions: np.ndarray
    present: np.ndarray
    absent: np.ndarray
    determinant: np.ndarray
    separate: np.ndarray

    def constant(self, num_rows: int) -> np.ndarray:
        """r/2 ln((1 + q) / (1 + p)), nats, shape (targets,)."""
        return num_rows / 2 * (np.log1p(self.absent) - np.log1p(self.present))

    def advantage(self, num_rows: int) -> np.ndarray:
        """Total variation of each pair of laws of a Gaussian sketch, shape (targets,)."""
        tpr, fpr = exact_rates(self, num_rows, np.zeros(1))
        return (tpr - fpr)[:, 0]


@dataclass(frozen=True)
class Outcome:
    """What one mechanism's sketches gave away: thresholds come from the first half of the trials, rates from the rest.

    `right`, `roc` and `proved` are those of the second half: `right` has shape (targets, 2), the share of correct
    guesses when present and when absent, `roc` shape (2, targets, points), TPR and FPR at the pooled cuts. `error` is
    the root mean squared error of an entry of R~'R~ for R'R, the number of ratings that two users share.
    """

    mechanism: Any
    law: PairLaw
    advantage: np.ndarray
    auc: np.ndarray
    proved: np.ndarray
    right: np.ndarray
    cuts: np.ndarray
    roc: np.ndarray
    error: float

    @property
    def exact_advantage(self) -> np.ndarray | None:
        """Total variation of each pair of laws, shape (targets,); None where the law is not known."""
        return self.law.advantage(self.mechanism.num_rows) if isinstance(self.mechanism, GAUSSIAN) else None


def binarized(
    ratings: Ratings, rows: int, columns: int, shape: Shape = "data", positive_from: float | None = None, seed: int = 0
) -> np.ndarray:
    """The positive ratings of randomly chosen users and, among them, of the items rated most.

    (Of the most active users and their items almost all entries are 1, unlike in any data that are published.)

    Args:
        ratings: any.
        rows: items at most.
        columns: users at most.
        shape: see `SketchSettings`.
        positive_from: ratings from here on are 1; the middle of the scale if None.
        seed: of the users.

    Returns:
        Zeros and ones, shape (items, users), in the order of the ratings' own numbers.

    Raises:
        InvalidInput: an unknown shape, fewer than 4 rows or columns, or nothing positive.
    """
    if shape not in SHAPES:
        raise InvalidInput(f"shape {shape!r}: use one of {', '.join(SHAPES)}")
    for name, number, available in (("rows", rows, ratings.num_items), ("columns", columns, ratings.num_users)):
        if min(number, available) < 4:
            raise InvalidInput(f"{name} is {number} and the ratings have {available}; the attack needs at least 4")
    positive = ratings.values >= threshold(ratings, positive_from)
    if not positive.any():
        raise InvalidInput("no rating counts as positive; lower positive_from")
    num_items, num_users = min(rows, ratings.num_items), min(columns, ratings.num_users)
    if shape == "rank_deficient" or (shape == "data" and ratings.num_items <= ratings.num_users - 2):
        num_items = min(num_items, num_users - 2, math.ceil(RANK_SHARE * num_users))
    else:
        num_users = min(num_users, num_items)
    matrix = np.zeros((ratings.num_items, ratings.num_users))
    matrix[ratings.items[positive], ratings.users[positive]] = 1.0
    matrix = matrix[:, np.sort(np.random.default_rng(seed).permutation(ratings.num_users)[:num_users])]
    # Positions of the largest counts, the first of equal ones, in the data's order.
    return matrix[np.sort(np.argsort(-matrix.sum(axis=1), kind="stable")[:num_items])]


@float64
def prepared_matrix(mechanism: Any, matrix: np.ndarray) -> np.ndarray:
    """The matrix as the mechanism centers or bounds it, shape (items, users)."""
    return np.asarray(PREPARE[type(mechanism)](jnp.asarray(matrix)))


@float64
def choose_entries(mechanism: Any, matrix: np.ndarray, targets: int, seed: int) -> np.ndarray:
    """Positive ratings to attack, uniformly at random.

    Left out are those without which lifting has no unique result (an item is then a combination of others, or empty).

    Returns:
        Items and users, shape (at most targets, 2).

    Raises:
        InvalidInput: fewer than two are left.
    """
    entries = np.random.default_rng(seed).permutation(np.argwhere(matrix > 0))[:targets]
    if is_thin(mechanism, matrix):
        ranks = [_rank(prepared_matrix(mechanism, _without(matrix, entry))) for entry in entries]
        entries = entries[np.array(ranks) == len(matrix)]
    if len(entries) < 2:
        raise InvalidInput("fewer than 2 positive ratings can be attacked; give more rows, columns or targets")
    return entries


@float64
def pair_law(mechanism: Any, matrix: np.ndarray, entries: np.ndarray) -> PairLaw:
    """The likelihood-ratio test between a matrix and the same without one entry, for each of the entries.

    Args:
        mechanism: one of the six sketches; for sparse ones it is the test for a Gaussian M.
        matrix: shape (items, users).
        entries: items and users, shape (targets, 2).
    """
    prepared = prepared_matrix(mechanism, matrix)
    absent_rows = np.asarray(_absent_rows(PREPARE[type(mechanism)], jnp.asarray(matrix), jnp.asarray(entries)))
    rows = prepared[entries[:, 0]]
    covariance = prepared.T @ prepared + mechanism.noise**2 * np.eye(prepared.shape[1])
    solved, solved_absent = np.split(np.linalg.solve(covariance, np.concatenate([rows, absent_rows]).T).T, 2)
    # Sherman and Morrison: K is the full matrix less a a'.
    rest = 1 - _dots(rows, solved)
    alpha = solved / rest[:, None]
    beta = solved_absent + alpha * _dots(rows, solved_absent)[:, None]
    present, absent, mixed = _dots(rows, alpha), _dots(absent_rows, beta), _dots(rows, beta)
    separate = np.zeros(len(entries), bool)
    if is_thin(mechanism, matrix):
        basis = np.linalg.qr(prepared.T)[0]
        outside = absent_rows - absent_rows @ basis @ basis.T
        separate = np.linalg.norm(outside, axis=1) > SAME * np.linalg.norm(absent_rows, axis=1)
    determinant = np.maximum(present * absent - mixed**2, 0.0)
    return PairLaw(np.stack([alpha, beta], axis=1), present, absent, determinant, separate)


def exact_rates(law: PairLaw, num_rows: int, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pr[L > t] of the likelihood-ratio test of a Gaussian sketch, when the rating is present and when it is absent.

    Args:
        law: from `pair_law`.
        num_rows: r.
        thresholds: t, nats, shape (points,).

    Returns:
        TPR and FPR, shape (targets, points) each; 1 and 0 where the two laws have no outcome in common.
    """
    low, high = np.log(chi2.ppf(1e-16, num_rows)), np.log(chi2.isf(1e-16, num_rows))
    y = np.linspace(low, high, NODES)  # the trapezoid rule converges geometrically in log G2
    log_weight = num_rows / 2 * y - np.exp(y) / 2
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    difference, determinant = law.present - law.absent, law.determinant
    rates = []
    for trace, product, certain in (
        ((difference + determinant) / (1 + law.absent), determinant / (1 + law.absent), 1.0),
        ((difference - determinant) / (1 + law.present), determinant / (1 + law.present), 0.0),
    ):
        # The eigenvalues s > 0 > -t of covariance times form have sum s - t = trace and s t = product.
        spread = np.hypot(trace / 2, np.sqrt(product))
        larger = spread + np.abs(trace) / 2
        smaller = np.divide(product, larger, out=np.zeros_like(larger), where=larger > 0)
        above, below = np.where(trace >= 0, (larger, smaller), (smaller, larger))
        excess = 2 * (thresholds - law.constant(num_rows)[:, None])[:, :, None] + below[:, None, None] * np.exp(y)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            needed = np.where(excess == 0, 0.0, excess / above[:, None, None])  # L > t asks for G1 > needed
        never = (above[:, None, None] == 0) & (excess == 0)
        rate = np.where(never, 0.0, gammaincc(num_rows / 2, np.maximum(needed, 0.0) / 2))
        rates.append(np.where(law.separate[:, None], certain, rate @ weight))
    return rates[0], rates[1]


def score(
    mechanism: Any,
    sketch: Float[Array, "rows users"],
    candidates: Float[Array, "2 items users"],
    test: tuple[Any, Any, Any],
) -> Float[Array, ""]:
    """The log-likelihood ratio of one sketch, or +-1e9 where it proves which matrix it came from.

    Args:
        mechanism: that made the sketch.
        sketch: as published.
        candidates: the matrix with the rating, and without.
        test: alpha and beta, shape (2, users); 1/(2 + 2p) and -1/(2 + 2q); the constant of L.
    """
    directions, weights, constant = test
    ratio = jnp.sum((_unscaled(mechanism, sketch) @ directions.T) ** 2 @ weights) + constant
    if not isinstance(mechanism, LIFTS):
        return ratio
    explained = jax.vmap(lambda each: _explanations(mechanism, sketch, each))(candidates)
    evidence = jnp.sign(explained[0] - explained[1])
    return jnp.where(evidence != 0, PROVED * evidence, ratio)


def _halves(scores: np.ndarray) -> list[np.ndarray]:
    return np.split(scores, [scores.shape[2] // 2], axis=2)


def held_out_advantage(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """TPR - FPR of each target on the second half of its trials, at the threshold that was best on all first halves.

    Args:
        scores: shape (targets, 2, trials).

    Returns:
        The advantage, shape (targets,), and the share of right guesses when present and when absent, (targets, 2).
    """
    learned, judged = _halves(scores)
    half = learned.shape[2]
    ordered = np.unique(learned)
    ranks = (np.searchsorted(np.sort(side.ravel()), ordered, "right") for side in learned.swapaxes(0, 1))
    tpr, fpr = (1 - rank / half / len(scores) for rank in ranks)
    best = int((tpr - fpr).argmax())
    # A cut between two scores; above the last one is nothing, and the guess is always "absent".
    cut = ordered[best : best + 2].mean()
    above = (judged > cut).mean(axis=2)
    return above[:, 0] - above[:, 1], np.stack([above[:, 0], 1 - above[:, 1]], axis=1)


@float64
def sketch_scores(
    mechanism: Any, matrix: np.ndarray, entries: np.ndarray, law: PairLaw, trials: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (see `score`) of fresh sketches of the matrix, shape (items, users), and of it without each entry.

    The entries are items and users, shape (targets, 2), with their `pair_law`. High scores say "present"; that comes
    first. The second result is the mean squared error of an entry of R~'R~ for R'R; both have the shape (targets, 2,
    trials).
    """
    keys = jax.random.split(jax.random.key(seed), (len(entries), 2, trials))
    users = matrix.shape[1]
    largest = max(mechanism.num_rows * num_padded(mechanism, len(matrix)), mechanism.num_rows * users, users**2)
    batch = max(1, min(trials, BATCH // largest))
    scores, errors = _scores(mechanism, jnp.asarray(matrix), jnp.asarray(entries), keys, _tests(mechanism, law), batch)
    return np.asarray(scores), np.asarray(errors)


def _unscaled(mechanism: Any, sketch: Any) -> Any:
    """The sketch with rows of covariance K + a a' or K + b b'."""
    # The released sparse sketch divides by sqrt(r) twice.
    twice = isinstance(mechanism, ReleasedSparseSketch)
    return sketch * (mechanism.num_rows if twice else math.sqrt(mechanism.num_rows))


# Optimizing harder makes compiling three times slower, and the samplers no faster.
@partial(jax.jit, static_argnames=("mechanism", "batch"), compiler_options={"xla_backend_optimization_level": 1})
def _scores(mechanism: Any, matrix: Any, entries: Any, keys: Any, tests: Any, batch: int) -> Any:
    def target(inputs: Any) -> Any:
        entry, key_sides, test = inputs
        candidates = jnp.stack([matrix, matrix.at[entry[0], entry[1]].set(0.0)])

        def side(inputs: Any) -> Any:
            dataset, key_trials = inputs
            prepared = PREPARE[type(mechanism)](dataset)

            def trial(key: Any) -> Any:
                sketch = mechanism.sample(key, dataset)
                rows = _unscaled(mechanism, sketch)
                error = jnp.mean((rows.T @ rows / mechanism.num_rows - prepared.T @ prepared) ** 2)
                return score(mechanism, sketch, candidates, test), error

            return jax.lax.map(trial, key_trials, batch_size=batch)

        return jax.lax.map(side, (candidates, key_sides))  # a loop, so that one copy of the sampler is compiled

    return jax.lax.map(target, (entries, keys, tests))


@partial(jax.jit, static_argnames="prepare")
def _absent_rows(prepare: Any, matrix: Any, entries: Any) -> Float[Array, "targets users"]:
    """Each entry's item without it, as the mechanism prepares it."""
    return jax.lax.map(lambda at: prepare(matrix.at[at[0], at[1]].set(0.0))[at[0]], entries)


def _tests(mechanism: Any, law: PairLaw) -> tuple[Any, Any, Any]:
    weights = np.stack([0.5 / (1 + law.present), -0.5 / (1 + law.absent)], axis=1)
    return jnp.asarray(law.directions), jnp.asarray(weights), jnp.asarray(law.constant(mechanism.num_rows))


def _explanations(mechanism: Any, sketch: Any, matrix: Any) -> Any:
    """1 if the sketch lies in the row space of the lifted matrix, plus 1 if some row of it is one of its lines."""
    found = jnp.zeros(())
    thin, lined = is_thin(mechanism, matrix), lines_are_likely(mechanism, matrix.shape[0])
    if not (thin or lined):
        return found
    factor = lifted(PREPARE[type(mechanism)](matrix), mechanism.noise)
    if thin:
        basis = jnp.linalg.qr(factor.T)[0]
        outside = sketch - sketch @ basis @ basis.T
        found += jnp.linalg.norm(outside) <= SAME * jnp.linalg.norm(sketch)
    if lined:
        lines: Any = factor
        if isinstance(mechanism, SparseAwareSketch):
            # Lifting leaves the direction (1, ..., 1) of a centered matrix arbitrary: leave it out.
            lines, sketch = _sign_vectors(matrix.shape[0]) @ centered(factor), centered(sketch)
        lengths = jnp.linalg.norm(sketch, axis=1, keepdims=True)
        inner = jnp.max(jnp.abs(sketch @ (lines / jnp.linalg.norm(lines, axis=1, keepdims=True)).T), axis=1)
        # 1 - cos < 1e-10 is an angle of 1e-5; a row of zeros is no evidence.
        found += jnp.any((lengths[:, 0] > 0) & (inner >= (1 - 1e-10) * lengths[:, 0]))
    return found


def lines_are_likely(mechanism: Any, num_items: int) -> bool:
    """Whether a row of the sketch has a fair chance to come from a single row, and these can be listed."""
    if not isinstance(mechanism, SparseAwareSketch | ReleasedSparseSketch):
        return False
    if isinstance(mechanism, SparseAwareSketch) and num_items > MOST_SIGNS:
        return False
    single = binom.pmf(1, num_padded(mechanism, num_items), mechanism.density)
    return bool(mechanism.num_rows * single > 0.01)


def _sign_vectors(size: int) -> np.ndarray:
    """Vectors of signs up to a common factor, shape (2^(size - 1), size)."""
    return 1.0 - 2.0 * (np.arange(2 ** (size - 1))[:, None] >> np.arange(size) & 1)


def num_padded(mechanism: Any, num_items: int) -> int:
    """Rows that the random matrix is multiplied with."""
    if isinstance(mechanism, SparseAwareSketch) and mechanism.hadamard == "padded":
        return 1 << (num_items - 1).bit_length()
    return num_items


def is_thin(mechanism: Any, matrix: Any) -> bool:
    """Whether lifting leaves the covariance of a row singular."""
    return isinstance(mechanism, LIFTS) and matrix.shape[0] < matrix.shape[1]


@float64
def independent_items(mechanism: Any, matrix: np.ndarray) -> np.ndarray:
    """The matrix, without items that are combinations of others where these would make the lifting arbitrary.

    Shape (items, users), and no more items.
    """
    if not is_thin(mechanism, matrix):
        return matrix
    prepared = prepared_matrix(mechanism, matrix)
    order = qr(prepared.T, mode="r", pivoting=True)[1]
    return matrix[np.sort(order[: _rank(prepared)])]


@float64
def _rank(matrix: Any) -> int:
    return int(np.linalg.matrix_rank(np.asarray(matrix)))


def _without(matrix: np.ndarray, entry: np.ndarray) -> np.ndarray:
    changed = matrix.copy()
    changed[entry[0], entry[1]] = 0.0
    return changed


def threshold(ratings: Ratings, positive_from: float | None) -> float:
    """From where on a rating is positive: `positive_from`, or the middle of the scale."""
    return sum(ratings.scale) / 2 if positive_from is None else positive_from


def _dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", left, right)


def attack(mechanism: Any, matrix: np.ndarray, entries: np.ndarray, seed: int, trials: int) -> Outcome:
    """Attacks every entry, shape (targets, 2), of a matrix, shape (items, users); see `sketch_scores`."""
    law = pair_law(mechanism, matrix, entries)
    scores, errors = sketch_scores(mechanism, matrix, entries, law, trials, seed)
    learned, judged = _halves(scores)
    advantage, right = held_out_advantage(scores)
    both = judged.reshape(len(judged), -1)  # those with the rating first
    above = auc(both, np.broadcast_to(np.arange(both.shape[1]) < judged.shape[2], both.shape))
    cuts = np.quantile(learned[:, 1], 1 - np.array(FALSE_POSITIVES), method="higher")
    roc = np.stack([(side[:, :, None] > cuts).mean(axis=1) for side in judged.swapaxes(0, 1)])
    proved = (judged * np.array([1.0, -1.0])[:, None] >= PROVED).mean(axis=(1, 2))
    return Outcome(mechanism, law, advantage, above, proved, right, cuts, roc, math.sqrt(errors.mean()))
