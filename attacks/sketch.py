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
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import qr
from scipy.optimize import brentq
from scipy.special import gammaincc, ndtr, ndtri
from scipy.stats import binom, chi2

from dpassay.attacks.outcomes import (
    AttackReport,
    Metric,
    Privacy,
    ThreatModel,
    auc,
    difference_metric,
    mean_metric,
    permitted_advantage,
)
from dpassay.errors import InvalidInput
from dpassay.mechanisms import (
    AdditiveSketch,
    ColumnSketch,
    GaussianSketch,
    ReleasedGaussianSketch,
    ReleasedSparseSketch,
    SparseAwareSketch,
    describe,
    mechanism,
)
from dpassay.mechanisms.jlt import bounded, centered, lifted, released_centered
from dpassay.mechanisms.sketch_profile import exact_delta, exact_epsilon, fixed_norm_delta
from dpassay.numerics import float64
from dpassay.ratings import Ratings

__all__ = [
    "METHODS",
    "PairLaw",
    "Shape",
    "binarized",
    "choose_entries",
    "exact_rates",
    "held_out_advantage",
    "pair_law",
    "run",
    "score",
    "sketch_scores",
]

Shape = Literal["data", "full_rank", "rank_deficient"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
VARIANTS = {
    "jlt": ("jlt", "paper"),
    "jlt_released": ("jlt", "released"),
    "jlt_repaired": ("jlt", "repaired"),
    "sjlt": ("sjlt", "paper"),
    "sjlt_released": ("sjlt", "released"),
    "sjlt_repaired": ("sjlt", "repaired"),
}
METHODS = ("jlt", "jlt_released", "jlt_repaired", "sjlt", "sjlt_released", "sjlt_repaired")

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
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # section 6.1 of the paper, and the code's first
FALSE_POSITIVES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
ONE_PERCENT = FALSE_POSITIVES.index(0.01)


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


@dataclass(frozen=True)
class _Outcome:
    """What one mechanism's sketches gave away: thresholds come from the first half of the trials, rates from the rest.

    `right`, `roc` and `threshold` are those of the second half: `right` has shape (targets, 2), the share of correct
    guesses when present and when absent, `roc` shape (2, targets, points), TPR and FPR at the pooled cuts.
    """

    mechanism: Any
    law: PairLaw
    advantage: np.ndarray
    auc: np.ndarray
    proved: np.ndarray
    right: np.ndarray
    cuts: np.ndarray
    roc: np.ndarray

    @property
    def exact_advantage(self) -> np.ndarray | None:
        """Total variation of each pair of laws, shape (targets,); None where the law is not known."""
        if not isinstance(self.mechanism, GAUSSIAN):
            return None
        tpr, fpr = exact_rates(self.law, self.mechanism.num_rows, np.zeros(1))
        return (tpr - fpr)[:, 0]


def run(
    ratings: Ratings,
    *,
    method: str = "jlt",
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
    epsilon: float = 1.0,
    delta: float | None = None,
    sketch_rows: int = 40,
    density: float = 0.5,
    rows: int = 60,
    columns: int = 40,
    shape: Shape = "data",
    positive_from: float | None = None,
    targets: int = 40,
    trials: int = 200,
) -> AttackReport:
    """Attacks single ratings in a published sketch.

    Args:
        ratings: the matrix that was sketched.
        method: which sketch, one of `METHODS`.
        seed: of everything random.
        progress: called with one line now and then.
        epsilon: nats, that the sketch was made for.
        delta: that the sketch was made for; one over the number of users if None, as in the paper.
        sketch_rows: r, rows of the sketch. The paper uses 100 to 800, its code 204.
        density: share of entries of the random matrix that are not 0, for sjlt and sjlt_released. The experiments use
            0.1 to 0.9; Algorithm 1 asks for about one over the number of users.
        rows: at most this many items, those rated most by the users below, so that the attack takes seconds.
        columns: at most this many users, drawn at random.
        shape: "full_rank": at least as many items as users, by dropping users; "rank_deficient": at most four items
            for five users, by dropping items (the paper's Amazon Movie to Book has 24,091 and 29,476); "data":
            whichever of them the whole of the ratings is.
        positive_from: ratings from here on count as 1, others as none; the middle of the scale if None (3 for 1 to 5,
            as in the paper).
        targets: ratings that are attacked.
        trials: sketches of each of the two matrices for each target; half of them choose the threshold.

    Returns:
        Metrics "advantage", "auc", "tpr-at-fpr-1-percent" and "told-with-certainty", entries as independent units.

    Raises:
        InvalidInput: an unknown method or shape, a setting out of its range, or ratings that leave nothing to attack.
    """
    start = time.monotonic()
    if method not in VARIANTS:
        raise InvalidInput(f"method {method!r}: use one of {', '.join(METHODS)}")
    if targets < 2:
        raise InvalidInput(f"targets is {targets}; attack at least 2 ratings, or no interval can be given")
    if trials < 20:
        raise InvalidInput(f"trials is {trials}; give at least 20, half of them choose the threshold")
    id, variant = VARIANTS[method]
    matrix = binarized(ratings, rows, columns, shape, positive_from, seed)
    delta = 1 / matrix.shape[1] if delta is None else delta
    sizes = {"epsilon": epsilon, "delta": delta, "num_rows": sketch_rows}
    sparse = {"density": density} if id == "sjlt" and variant != "repaired" else {}
    target = mechanism(id, variant, **sizes, **sparse)
    repaired = mechanism(id, "repaired", **sizes)
    if isinstance(target, LIFTS):
        matrix = _independent(target, matrix)
    items, users = matrix.shape
    entries = choose_entries(target, matrix, targets, seed)

    progress(f"{method}: {len(entries)} ratings, {trials} sketches with and {trials} without each of them")
    outcome = _attack(target, matrix, entries, seed, trials)
    if variant == "repaired":
        mended = float(outcome.advantage.mean())
    elif id == "jlt":  # known exactly, which no simulation betters
        mended = float(_exact(repaired, matrix, entries).mean())
    else:
        progress(f"{id}_repaired: the same ratings")
        mended = float(_attack(repaired, matrix, entries, seed, trials).advantage.mean())

    metrics = _metrics(outcome)
    advantage, certain = metrics[0], metrics[3]
    permitted = permitted_advantage(epsilon, delta)
    found = _found_epsilon(target, (items, users), outcome)
    exact = outcome.exact_advantage
    right = (1 + advantage.value) / 2
    if found == math.inf or (advantage.low is not None and advantage.low > permitted):
        kept = "breaks it"
    elif found is not None and found > epsilon:
        kept = f"was not seen to break it here, but does on other data: its true epsilon is {found:.3g}"
    else:
        kept = "was not seen to break it"
    summary = [
        f"Of {len(entries)} ratings, an attacker who knows all other ratings told from one published sketch whether "
        f"the rating is in the data: {right:.1%} of the guesses were right; without the sketch it is 50%.",
        f"{certain.value:.0%} of the ratings were proved, present or absent, by every single sketch.",
        (
            f"The promise for epsilon = {epsilon:g} and delta = {delta:.2g} allows {(1 + permitted) / 2:.1%} right "
            f"guesses; the sketch {kept}."
        ),
    ]
    if variant != "repaired":
        summary.append(
            f"The repaired sketch ({id}_repaired), made for the same promise, leaves {(1 + mended) / 2:.1%}."
        )
    tables = [_guess_table(outcome, permitted), _roc_table(outcome)]
    plots = [_roc_plot(outcome, epsilon, delta)]
    if id == "jlt":
        progress("exact advantage at other epsilons")
        plots.append(_epsilon_plot(matrix, entries, sizes))
    return AttackReport(
        attack="sketch",
        title=f"Is one rating in the published sketch? ({method}, {items} items, {users} users)",
        mechanism=f"{id}/{variant}",
        parameters=describe(target)["parameters"],
        threat_model=ThreatModel(
            knows=f"All ratings of the {items} items by the {users} users but one, and the published program.",
            does="Nothing to the system; computes which of the two possible datasets explains the sketch better.",
            sees=f"One published sketch, {sketch_rows} rows of {users} numbers.",
        ),
        summary=summary,
        settings={
            "method": method,
            "epsilon": epsilon,
            "delta": delta,
            "sketch_rows": sketch_rows,
            **sparse,
            "items": items,
            "users": users,
            "shape": shape,
            "positive_from": _threshold(ratings, positive_from),
            "targets": len(entries),
            "trials": trials,
        },
        metrics=metrics,
        dataset=ratings,
        tables=tables,
        plots=plots,
        victim=_victim(outcome, matrix, entries, trials),
        privacy=(
            Privacy(
                what=f"({epsilon:g}, {delta:.2g})-differential privacy of {method} for one rating added or removed",
                epsilon_claimed=epsilon,
                epsilon_found=found,
                advantage=advantage,
                delta=delta,
                says=_privacy_says(outcome, advantage, permitted, found, exact),
            ),
        ),
        repair=_repair(id, variant, outcome, mended, matrix, entries, sizes, permitted),
        limits=_limits(target, ratings, matrix),
        seed=seed,
        seconds=time.monotonic() - start,
    )


def binarized(
    ratings: Ratings,
    rows: int,
    columns: int,
    shape: Shape = "data",
    positive_from: float | None = None,
    seed: int = 0,
) -> np.ndarray:
    """The positive ratings of randomly chosen users and, among them, of the items rated most.

    (Of the most active users and their items almost all entries are 1, unlike in any data that are published.)

    Args:
        ratings: any.
        rows: items at most.
        columns: users at most.
        shape: see `run`.
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
    positive = ratings.values >= _threshold(ratings, positive_from)
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
def choose_entries(mechanism: Any, matrix: np.ndarray, targets: int, seed: int) -> np.ndarray:
    """Positive ratings to attack, uniformly at random.

    Left out are those without which lifting has no unique result (an item is then a combination of others, or empty).

    Returns:
        Items and users, shape (at most targets, 2).

    Raises:
        InvalidInput: fewer than two are left.
    """
    entries = np.random.default_rng(seed).permutation(np.argwhere(matrix > 0))[:targets]
    if _thin(mechanism, matrix):
        entries = entries[
            [_rank(PREPARE[type(mechanism)](_without(matrix, entry))) == len(matrix) for entry in entries]
        ]
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
    prepare, noise = PREPARE[type(mechanism)], mechanism.noise
    prepared = np.asarray(prepare(jnp.asarray(matrix)))
    absent_rows = np.asarray(_absent_rows(prepare, jnp.asarray(matrix), jnp.asarray(entries)))
    rows = prepared[entries[:, 0]]
    solved, solved_absent = np.split(
        np.linalg.solve(
            prepared.T @ prepared + noise**2 * np.eye(prepared.shape[1]), np.concatenate([rows, absent_rows]).T
        ).T,
        2,
    )
    # Sherman and Morrison: K is the full matrix less a a'.
    rest = 1 - _dots(rows, solved)
    alpha = solved / rest[:, None]
    beta = solved_absent + alpha * _dots(rows, solved_absent)[:, None]
    present, absent, mixed = _dots(rows, alpha), _dots(absent_rows, beta), _dots(rows, beta)
    separate = np.zeros(len(entries), bool)
    if _thin(mechanism, matrix):
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
        rate = np.where(
            (above[:, None, None] == 0) & (excess == 0), 0.0, gammaincc(num_rows / 2, np.maximum(needed, 0.0) / 2)
        )
        rates.append(np.where(law.separate[:, None], certain, rate @ weight))
    return rates[0], rates[1]


@float64
def sketch_scores(mechanism: Any, matrix: np.ndarray, entries: np.ndarray, trials: int, seed: int) -> np.ndarray:
    """Scores of fresh sketches of the matrix, and of the matrix without the entry; high scores say "present".

    Args:
        mechanism: one of the six sketches.
        matrix: shape (items, users).
        entries: items and users, shape (targets, 2).
        trials: sketches for each target and side.
        seed: of the sketches.

    Returns:
        Shape (targets, 2, trials), present first. See `score`.
    """
    law = pair_law(mechanism, matrix, entries)
    keys = jax.random.split(jax.random.key(seed), (len(entries), 2, trials))
    widest = max(_padded(mechanism, len(matrix)), matrix.shape[1])
    batch = max(1, min(trials, BATCH // (mechanism.num_rows * widest)))
    return np.asarray(
        _scores(mechanism, jnp.asarray(matrix), jnp.asarray(entries), keys, _tests(mechanism, law), batch)
    )


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
    # The released sparse sketch divides by sqrt(r) twice.
    scale = mechanism.num_rows if isinstance(mechanism, ReleasedSparseSketch) else math.sqrt(mechanism.num_rows)
    ratio = jnp.sum((scale * sketch @ directions.T) ** 2 @ weights) + constant
    if not isinstance(mechanism, LIFTS):
        return ratio
    explained = jax.vmap(lambda each: _explanations(mechanism, sketch, each))(candidates)
    evidence = jnp.sign(explained[0] - explained[1])
    return jnp.where(evidence != 0, PROVED * evidence, ratio)


def held_out_advantage(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """TPR - FPR of each target on the second half of its trials, at the threshold that was best on all first halves.

    Args:
        scores: shape (targets, 2, trials).

    Returns:
        The advantage, shape (targets,), and the share of right guesses when present and when absent, (targets, 2).
    """
    half = scores.shape[2] // 2
    learned, judged = scores[:, :, :half], scores[:, :, half:]
    ordered = np.unique(learned)
    tpr, fpr = (
        1 - np.searchsorted(np.sort(learned[:, side].ravel()), ordered, "right") / half / len(scores) for side in (0, 1)
    )
    best = int((tpr - fpr).argmax())
    # A cut between two scores; above the last one is nothing, and the guess is always "absent".
    cut = ordered[best : best + 2].mean()
    above = (judged > cut).mean(axis=2)
    return above[:, 0] - above[:, 1], np.stack([above[:, 0], 1 - above[:, 1]], axis=1)


# Optimizing harder makes compiling three times slower, and the samplers no faster.
@partial(jax.jit, static_argnames=("mechanism", "batch"), compiler_options={"xla_backend_optimization_level": 1})
def _scores(mechanism: Any, matrix: Any, entries: Any, keys: Any, tests: Any, batch: int) -> Float[Array, "n 2 trials"]:
    def target(inputs: Any) -> Float[Array, "2 trials"]:
        entry, key_sides, test = inputs
        candidates = jnp.stack([matrix, matrix.at[entry[0], entry[1]].set(0.0)])

        def side(inputs: Any) -> Float[Array, " trials"]:
            dataset, key_trials = inputs
            return jax.lax.map(
                lambda key: score(mechanism, mechanism.sample(key, dataset), candidates, test),
                key_trials,
                batch_size=batch,
            )

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
    thin, lined = _thin(mechanism, matrix), _lines_are_likely(mechanism, matrix.shape[0])
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


def _lines_are_likely(mechanism: Any, num_items: int) -> bool:
    """Whether a row of the sketch has a fair chance to come from a single row, and these can be listed."""
    if not isinstance(mechanism, SparseAwareSketch | ReleasedSparseSketch):
        return False
    if isinstance(mechanism, SparseAwareSketch) and num_items > MOST_SIGNS:
        return False
    single = binom.pmf(1, _padded(mechanism, num_items), mechanism.density)
    return bool(mechanism.num_rows * single > 0.01)


def _sign_vectors(size: int) -> np.ndarray:
    """Vectors of signs up to a common factor, shape (2^(size - 1), size)."""
    return 1.0 - 2.0 * (np.arange(2 ** (size - 1))[:, None] >> np.arange(size) & 1)


def _padded(mechanism: Any, num_items: int) -> int:
    """Rows that the random matrix is multiplied with."""
    if isinstance(mechanism, SparseAwareSketch) and mechanism.hadamard == "padded":
        return 1 << (num_items - 1).bit_length()
    return num_items


def _thin(mechanism: Any, matrix: Any) -> bool:
    """Whether lifting leaves the covariance of a row singular."""
    return isinstance(mechanism, LIFTS) and matrix.shape[0] < matrix.shape[1]


@float64
def _independent(mechanism: Any, matrix: np.ndarray) -> np.ndarray:
    """The matrix, without items that are combinations of others where these would make the lifting arbitrary."""
    if not _thin(mechanism, matrix):
        return matrix
    prepared = np.asarray(PREPARE[type(mechanism)](jnp.asarray(matrix)))
    order = qr(prepared.T, mode="r", pivoting=True)[1]
    return matrix[np.sort(order[: _rank(prepared)])]


@float64
def _rank(matrix: Any) -> int:
    return int(np.linalg.matrix_rank(np.asarray(matrix)))


def _without(matrix: np.ndarray, entry: np.ndarray) -> np.ndarray:
    changed = matrix.copy()
    changed[entry[0], entry[1]] = 0.0
    return changed


def _threshold(ratings: Ratings, positive_from: float | None) -> float:
    return sum(ratings.scale) / 2 if positive_from is None else positive_from


def _dots(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", left, right)


def _attack(mechanism: Any, matrix: np.ndarray, entries: np.ndarray, seed: int, trials: int) -> _Outcome:
    law = pair_law(mechanism, matrix, entries)
    scores = sketch_scores(mechanism, matrix, entries, trials, seed)
    half = trials // 2
    learned, judged = scores[:, :, :half], scores[:, :, half:]
    advantage, right = held_out_advantage(scores)
    both = judged.reshape(len(judged), -1)  # those with the rating first
    above = auc(both, np.broadcast_to(np.arange(both.shape[1]) < judged.shape[2], both.shape))
    cuts = np.quantile(learned[:, 1], 1 - np.array(FALSE_POSITIVES), method="higher")
    roc = np.stack([(side[:, :, None] > cuts).mean(axis=1) for side in judged.swapaxes(0, 1)])
    proved = (judged * np.array([1.0, -1.0])[:, None] >= PROVED).mean(axis=(1, 2))
    return _Outcome(mechanism, law, advantage, above, proved, right, cuts, roc)


def _metrics(outcome: _Outcome) -> list[Metric]:
    meaning = (
        'share of sketches with the rating that are called "present", less that of sketches without it; the threshold '
        "was chosen on other sketches"
    )
    return [
        difference_metric("advantage", outcome.advantage, meaning),
        mean_metric("auc", outcome.auc, "chance that a sketch with the rating scores above one without; 0.5 is none"),
        mean_metric(
            "tpr-at-fpr-1-percent",
            outcome.roc[0, :, ONE_PERCENT],
            "share of ratings that are recognized when 1 in 100 absent ones is wrongly called present",
        ),
        mean_metric(
            "told-with-certainty",
            (outcome.proved == 1).astype(float),
            "share of ratings whose presence or absence every sketch proved",
        ),
    ]


def _found_epsilon(mechanism: Any, shape: tuple[int, int], outcome: _Outcome) -> float | None:
    """The exact epsilon at the claimed delta over all datasets of this size, None where none is known."""
    items, users = shape
    delta, num_rows, noise = mechanism.delta, mechanism.num_rows, mechanism.noise
    # Infinite where an event has probability above delta on one of two neighbors and cannot happen on the other: the
    # sketch is in its own row space, and is not 0 throughout.
    if outcome.law.separate.any():
        empty = 0.0 if isinstance(mechanism, GAUSSIAN) else 1 - mechanism.density
        if 1 - empty ** (_padded(mechanism, items) * num_rows) > delta:
            return math.inf
    proofs = mean_metric("proofs", outcome.proved, "")
    if proofs.low is not None and proofs.low > delta:
        return math.inf
    if isinstance(mechanism, AdditiveSketch):  # ratings are 0 or 1 here
        return exact_epsilon(delta, num_rows, noise, users - 1 if num_rows % 2 == 0 else None)
    if isinstance(mechanism, ColumnSketch):
        if fixed_norm_delta(0.0, num_rows, noise) <= delta:
            return 0.0
        end = 1.0
        while fixed_norm_delta(end, num_rows, noise) > delta:
            end *= 2
        return float(brentq(lambda epsilon: fixed_norm_delta(epsilon, num_rows, noise) - delta, 0.0, end))
    if isinstance(mechanism, GAUSSIAN) and items >= users:
        # Norm of a change of 1 after centering; for ratings of any size nothing smaller would do.
        released = isinstance(mechanism, ReleasedGaussianSketch)
        change = math.sqrt(1 - 2 / items + users / items**2 if released else 1 - 1 / users)
        return exact_epsilon(delta, num_rows, noise / change)
    return None


def _privacy_says(
    outcome: _Outcome, advantage: Metric, permitted: float, found: float | None, exact: np.ndarray | None
) -> str:
    if found == math.inf:
        return (
            "Sketches occur with the rating that cannot occur without it: no epsilon holds at this delta, and the "
            f"advantage of {advantage.value:.3f} is to be compared with the {permitted:.3f} that is permitted."
        )
    stands = "exceeds" if advantage.low is not None and advantage.low > permitted else "does not exceed"
    text = f"The measured advantage of {advantage.value:.3f} {stands} the {permitted:.3f} that the claim permits."
    if exact is not None:
        text += f" No attacker has more than {exact.mean():.4f} on these ratings on average, {exact.max():.4f} on one."
    if found is not None:
        whose = "0 or 1" if isinstance(outcome.mechanism, AdditiveSketch) else "of any size"
        text += (
            f" Over all datasets of these dimensions, ratings {whose}, the exact epsilon at this delta is {found:.3g}."
        )
    return text


def _guess_table(outcome: _Outcome, permitted: float) -> dict[str, Any]:
    mechanism, advantage = outcome.mechanism, outcome.advantage.mean()
    rows: list[list[Any]] = [
        ["without the sketch (coin)", 0.5, 0.0],
        ["with the sketch", _short((1 + advantage) / 2), _short(advantage)],
    ]
    exact = outcome.exact_advantage
    if exact is not None:
        rows.append(["best possible on these ratings (exact law)", *_both(exact.mean())])
    worst = _worst_advantage(mechanism, outcome)
    if worst is not None:
        rows.append(["best possible on the worst dataset (exact profile)", *_both(worst)])
    rows.append(["permitted by the claim", *_both(permitted)])
    rows.append(["sketches that prove the answer", _short(outcome.proved.mean()), None])
    return {"title": "Present or absent: right guesses", "columns": ["who", "right", "advantage"], "rows": rows}


def _worst_advantage(mechanism: Any, outcome: _Outcome) -> float | None:
    """delta(0) of the exact profile, the largest total variation; None where none is known."""
    if isinstance(mechanism, AdditiveSketch):
        return exact_delta(0.0, mechanism.num_rows, mechanism.noise)
    if isinstance(mechanism, ColumnSketch):
        return fixed_norm_delta(0.0, mechanism.num_rows, mechanism.noise)
    return None


def _roc_table(outcome: _Outcome) -> dict[str, Any]:
    limit = _limit_curve(outcome)
    rows: list[list[Any]] = []
    for index, aim in enumerate(FALSE_POSITIVES):
        tpr = mean_metric("tpr", outcome.roc[0, :, index], "")
        measured = [_short(outcome.roc[1, :, index].mean()), _short(tpr.value), f"[{tpr.low:.3f}, {tpr.high:.3f}]"]
        known = [None, None] if limit is None else [_short(limit[0][index]), _short(limit[1][index])]
        rows.append([aim, *measured, *known])
    return {
        "title": "Trade-off between false alarms (FPR) and recognized ratings (TPR), one cut for all entries",
        "columns": ["FPR aimed at", "FPR", "TPR", "95% of TPR", "FPR, limit", "TPR, limit"],
        "rows": rows,
    }


def _limit_curve(outcome: _Outcome) -> tuple[np.ndarray, np.ndarray] | None:
    """FPR and TPR that nobody can beat, on these pairs (Gaussian M) or on the worst (columns of fixed norm)."""
    mechanism = outcome.mechanism
    if isinstance(mechanism, GAUSSIAN):
        tpr, fpr = exact_rates(outcome.law, mechanism.num_rows, outcome.cuts)
        return fpr.mean(axis=0), tpr.mean(axis=0)
    if isinstance(mechanism, ColumnSketch):
        fpr = np.array(FALSE_POSITIVES)
        return fpr, ndtr(ndtri(fpr) + math.sqrt(mechanism.num_rows) / mechanism.noise)
    return None


def _roc_plot(outcome: _Outcome, epsilon: float, delta: float) -> dict[str, Any]:
    points = [mean_metric("tpr", outcome.roc[0, :, index], "") for index in range(len(FALSE_POSITIVES))]
    line = np.linspace(0.0, 1.0, 101)
    claimed = np.minimum(1 - math.exp(-epsilon) * (1 - delta - line), math.exp(min(epsilon, 700.0)) * line + delta)
    series = [
        _series("measured", outcome.roc[1].mean(axis=0), [each.value for each in points])
        | {"low": [each.low for each in points], "high": [each.high for each in points]},
        _series("permitted by the claim", line, np.clip(claimed, 0.0, 1.0)),
        _series("guessing", [0.0, 1.0], [0.0, 1.0]),
    ]
    limit = _limit_curve(outcome)
    if limit is not None:
        label = "limit, worst dataset" if isinstance(outcome.mechanism, ColumnSketch) else "limit, these ratings"
        series.insert(1, _series(label, *limit))
    return {
        "title": "Ratings recognized against false alarms",
        "x_label": "false positive rate",
        "y_label": "true positive rate",
        "series": series,
    }


def _epsilon_plot(matrix: np.ndarray, entries: np.ndarray, sizes: dict[str, Any]) -> dict[str, Any]:
    delta = sizes["delta"]
    series = [
        _series(
            f"jlt, {variant}",
            EPSILONS,
            [
                _exact(mechanism("jlt", variant, **(sizes | {"epsilon": epsilon})), matrix, entries).mean()
                for epsilon in EPSILONS
            ],
        )
        for variant in ("paper", "released", "repaired")
    ]
    series.append(_series("permitted", EPSILONS, [permitted_advantage(epsilon, delta) for epsilon in EPSILONS]))
    return {
        "title": "Largest possible advantage on these ratings, by the epsilon that was asked for (exact)",
        "x_label": "epsilon",
        "y_label": "advantage",
        "x_scale": "log",
        "series": series,
    }


def _exact(mechanism: Any, matrix: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Total variation for each entry, shape (targets,)."""
    tpr, fpr = exact_rates(pair_law(mechanism, matrix, entries), mechanism.num_rows, np.zeros(1))
    return (tpr - fpr)[:, 0]


def _victim(outcome: _Outcome, matrix: np.ndarray, entries: np.ndarray, trials: int) -> dict[str, Any]:
    item, user = entries[0]
    judged = trials - trials // 2
    right, proved = outcome.right[0], outcome.proved[0]
    story = [
        f"User A has {int(matrix[:, user].sum())} positive ratings here; one of them is of item 1, which "
        f"{int(matrix[item].sum())} of the {matrix.shape[1]} users rated positively.",
        f"The attacker knows all other ratings. From one sketch he said that user A had rated item 1 in "
        f"{round(right[0] * judged)} of {judged} cases in which she had, and that she had not in "
        f"{round(right[1] * judged)} of {judged} cases in which the rating had been left out.",
    ]
    if proved == 1:
        story.append("Every one of these sketches is a proof: the other dataset could not have produced it.")
    elif proved > 0:
        story.append(f"{proved:.0%} of these sketches are proofs: the other dataset could not have produced them.")
    table = {
        "title": "User A and item 1",
        "columns": ["the rating is", "sketches", 'called "present"', "right"],
        "rows": [
            ["present", judged, round(right[0] * judged), _short(right[0])],
            ["absent", judged, judged - round(right[1] * judged), _short(right[1])],
        ],
    }
    return {"story": story, "tables": [table]}


def _repair(
    id: str,
    variant: str,
    outcome: _Outcome,
    mended: float,
    matrix: np.ndarray,
    entries: np.ndarray,
    sizes: dict[str, Any],
    permitted: float,
) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for each in ("paper", "released", "repaired"):
        sketch = mechanism(id, each, **sizes)
        measured = outcome.advantage.mean() if each == variant else mended if each == "repaired" else None
        exact = error = None
        if id == "jlt":
            measured = measured if each == variant else None
            exact, error = _exact(sketch, matrix, entries).mean(), _inner_product_error(sketch, matrix)
        rows.append(
            [
                each,
                _short(sketch.noise),
                *(None if value is None else _short(value) for value in (measured, exact, permitted, error)),
            ]
        )
    table = {
        "title": f"{id} at epsilon = {sizes['epsilon']:g}, delta = {sizes['delta']:.2g}, {sizes['num_rows']} rows",
        "columns": [
            "variant",
            "noise w, in ratings",
            "advantage, measured",
            "advantage, exact",
            "permitted",
            "error of two users' inner product",
        ],
        "rows": rows,
    }
    before, after = outcome.mechanism.noise, mechanism(id, "repaired", **sizes).noise
    how = (
        "adds independent Gaussian noise to the sketch instead of lifting singular values, with the smallest amount "
        "that the exact privacy profile allows, for any numbers of items and users"
    )
    if variant == "repaired":
        text = f"This is the repaired sketch, {id}_repaired: it {how}."
    else:
        text = (
            f"{id}_repaired {how}. At the same epsilon and delta its noise is {after:.4g} ratings, against "
            f"{before:.4g} here, and the advantage {mended:.3f} instead of {outcome.advantage.mean():.3f}."
        )
    return {"text": text, "tables": [table]}


@float64
def _inner_product_error(mechanism: Any, matrix: np.ndarray) -> float:
    """Root mean squared error of an entry of R~'R~ for R'R, in ratings shared; exact (Gaussian M, CD-P53-REP)."""
    prepared = np.asarray(PREPARE[type(mechanism)](jnp.asarray(matrix)))
    squares = np.zeros(matrix.shape[1])
    values = np.linalg.svd(prepared, compute_uv=False) ** 2
    squares[: len(values)] = values
    raised = squares + mechanism.noise**2
    if _thin(mechanism, matrix):
        raised[len(values) :] = 0.0
    variance = (raised.sum() ** 2 + (raised**2).sum()) / mechanism.num_rows
    return float(np.sqrt(((raised - squares) ** 2).sum() + variance)) / matrix.shape[1]


def _limits(mechanism: Any, ratings: Ratings, matrix: np.ndarray) -> Sequence[str]:
    items, users = matrix.shape
    limits = [
        "The attacker is the strongest that privacy speaks of: all ratings but one are known. A weaker one tells less.",
        f"The sketch is one of {items} items and {users} users; the ratings have {ratings.num_items} and "
        f"{ratings.num_users}. Larger matrices are a matter of the settings rows and columns.",
        "Ratings are binarized as in the paper, and all sketches are of the exact real numbers up to float64 rounding.",
        "Intervals treat the attacked ratings as independent draws from this matrix; they say nothing of other data.",
    ]
    if isinstance(mechanism, SparseAwareSketch | ReleasedSparseSketch):
        limits.append(
            "The best test against a sparse random matrix is not known: where nothing is proved, the attack uses the "
            "test for a dense Gaussian one, and its success is a lower bound."
        )
        if not _lines_are_likely(mechanism, items):
            limits.append(
                "Single published rows were not matched with single rows of the data: for masks this dense they do "
                f"not occur, or the sign patterns of more than {MOST_SIGNS} items are too many to try."
            )
    if isinstance(mechanism, ColumnSketch):
        limits.append(
            "The attacker does not know the random matrix. One who does can come up to the limit in the plot, for "
            "which the noise was chosen."
        )
    return limits


def _series(label: str, x: Any, y: Any) -> dict[str, Any]:
    return {"label": label, "x": [float(value) for value in x], "y": [float(value) for value in y]}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _both(advantage: float) -> tuple[float, float]:
    return _short((1 + advantage) / 2), _short(advantage)
