"""The report of `dpassay attack sketch`; the attack itself is `dpassay.attacks.sketch.membership`."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from dpassay.attacks.advantage import permitted_advantage, right
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel
from dpassay.attacks.metrics import Metric, difference_metric, mean_metric
from dpassay.attacks.sketch.membership import (
    FALSE_POSITIVES,
    GAUSSIAN,
    LIFTS,
    MOST_SIGNS,
    PREPARE,
    VARIANTS,
    Outcome,
    attack,
    binarized,
    choose_entries,
    exact_rates,
    independent_items,
    is_thin,
    lines_are_likely,
    num_padded,
    pair_law,
    threshold,
)
from dpassay.attacks.sketch.settings import Method, SketchSettings
from dpassay.core.numerics import float64
from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.mechanisms import (
    AdditiveSketch,
    ColumnSketch,
    ReleasedGaussianSketch,
    ReleasedSparseSketch,
    SparseAwareSketch,
    describe,
    mechanism,
)
from dpassay.mechanisms.sketch_profile import exact_delta, exact_epsilon, fixed_norm_delta

NAMES: dict[Method, str] = {
    "jlt": "JLT as printed",
    "jlt_released": "JLT as released",
    "jlt_repaired": "JLT repaired",
    "sjlt": "sparse JLT as printed",
    "sjlt_released": "sparse JLT as released",
    "sjlt_repaired": "sparse JLT repaired",
}
VARIANT_NAMES = {"paper": "as printed", "released": "as released", "repaired": "repaired"}
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # section 6.1 of the paper, and the code's first
ONE_PERCENT = FALSE_POSITIVES.index(0.01)


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks single ratings in a published sketch.

    Args:
        ratings: the matrix that was sketched.
        progress: called with one line now and then.
        **settings: see `SketchSettings`.

    Raises:
        InvalidInput: a setting out of its range, or ratings that leave nothing to attack.
    """
    start = time.monotonic()
    chosen = SketchSettings(**settings)
    method, epsilon, trials, seed = chosen.method, chosen.epsilon, chosen.trials, chosen.seed
    id, variant = VARIANTS[method]
    matrix = binarized(ratings, chosen.rows, chosen.columns, chosen.shape, chosen.positive_from, seed)
    delta = 1 / matrix.shape[1] if chosen.delta is None else chosen.delta
    sizes = {"epsilon": epsilon, "delta": delta, "num_rows": chosen.sketch_rows}
    sparse = {"density": chosen.density} if id == "sjlt" and variant != "repaired" else {}
    target = mechanism(id, variant, **sizes, **sparse)
    if isinstance(target, LIFTS):
        matrix = independent_items(target, matrix)
    items, users = matrix.shape
    entries = choose_entries(target, matrix, chosen.targets, seed)

    progress(f"{method}: {len(entries)} ratings, {trials} sketches with and {trials} without each of them")
    outcome = attack(target, matrix, entries, seed, trials)
    repaired = mechanism(id, "repaired", **sizes)
    mended = _mended(method, outcome, repaired, matrix, entries, seed, trials, progress)
    metrics = _metrics(outcome)
    found = _found_epsilon(target, (items, users), outcome)
    plots = [_roc_plot(outcome, epsilon, delta)]
    if id == "jlt":
        progress("exact advantage at other epsilons")
        plots.append(_epsilon_plot(matrix, entries, sizes))
    permitted = permitted_advantage(epsilon, delta)
    return AttackReport(
        attack="sketch",
        title=f"Is one rating in the published sketch? ({NAMES[method]}, {items} items, {users} users)",
        mechanism=f"{id}/{variant}",
        parameters=describe(target)["parameters"],
        threat_model=ThreatModel(
            knows=f"All ratings of the {items} items by the {users} users but one, and the published program.",
            does="Nothing to the system; computes which of the two possible datasets explains the sketch better.",
            sees=f"One published sketch, {chosen.sketch_rows} rows of {users} numbers.",
        ),
        summary=_summary(metrics, len(entries), target, found, repaired, mended[0]),
        settings={
            "method": method,
            "epsilon": epsilon,
            "delta": delta,
            "sketch_rows": chosen.sketch_rows,
            **sparse,
            "items": items,
            "users": users,
            "shape": chosen.shape,
            "positive_from": threshold(ratings, chosen.positive_from),
            "targets": len(entries),
            "trials": trials,
        },
        metrics=metrics,
        dataset=ratings,
        tables=[_guess_table(outcome, permitted), _roc_table(outcome)],
        plots=plots,
        victim=_victim(outcome, matrix, entries, trials),
        privacy=(
            Privacy(
                what=f"one rating, there or not, in one sketch ({NAMES[method]})",
                epsilon_claimed=epsilon,
                epsilon_found=found,
                advantage=metrics[0],
                delta=delta,
                says=_privacy_says(outcome, metrics[0], permitted, found),
            ),
        ),
        repair=_repair(method, outcome, mended, matrix, entries, sizes, permitted),
        limits=_limits(target, ratings, matrix),
        seed=seed,
        seconds=time.monotonic() - start,
    )


def _mended(
    method: Method,
    outcome: Outcome,
    repaired: Any,
    matrix: np.ndarray,
    entries: np.ndarray,
    seed: int,
    trials: int,
    progress: Callable[[str], None],
) -> tuple[float, float]:
    """The advantage that the repaired sketch leaves on the same ratings, and its error."""
    id, variant = VARIANTS[method]
    if variant != "repaired" and id == "jlt":  # known exactly, which no simulation betters
        return float(_exact(repaired, matrix, entries).mean()), _inner_product_error(repaired, matrix)
    if variant != "repaired":
        progress(f"{id}_repaired: the same ratings")
        outcome = attack(repaired, matrix, entries, seed, trials)
    return float(outcome.advantage.mean()), outcome.error


def _summary(
    metrics: Sequence[Metric], num_entries: int, target: Any, found: float | None, repaired: Any, mended: float
) -> list[str]:
    epsilon, delta = target.epsilon, target.delta
    permitted = permitted_advantage(epsilon, delta)
    advantage, certain = metrics[0], metrics[3]
    if found == math.inf or (advantage.low is not None and advantage.low > permitted):
        kept = "breaks it"
    elif found is not None and found > epsilon:
        kept = f"was not seen to break it here, but does on other data, where its true epsilon is {found:.3g}"
    else:
        kept = "was not seen to break it"
    sentences = [
        f"Somebody who knows all ratings but one looked at a published sketch of them and said whether that one is "
        f"there: {right(advantage.value)} of the guesses were right, where a coin has 50% ({num_entries} ratings).",
        f"For {certain.value:.0%} of the ratings every sketch was a proof that it is there, or that it is not.",
        f"The privacy that was promised (epsilon {epsilon:g}, delta {delta:.2g}) allows {right(permitted)} right "
        f"guesses; the sketch {kept}.",
    ]
    if type(target) is not type(repaired):
        sentences.append(
            f"The repaired sketch keeps the same promise with noise of {_plain(repaired.noise)} in place of "
            f"{_plain(target.noise)} ratings, and leaves {right(mended)} right guesses."
        )
    return sentences


def _metrics(outcome: Outcome) -> list[Metric]:
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


def _found_epsilon(mechanism: Any, shape: tuple[int, int], outcome: Outcome) -> float | None:
    """The exact epsilon at the claimed delta over all datasets of this size, None where none is known."""
    items, users = shape
    delta, num_rows, noise = mechanism.delta, mechanism.num_rows, mechanism.noise
    # Infinite where an event has probability above delta on one of two neighbors and cannot happen on the other: the
    # sketch is in its own row space, and is not 0 throughout.
    if outcome.law.separate.any():
        empty = 0.0 if isinstance(mechanism, GAUSSIAN) else 1 - mechanism.density
        if 1 - empty ** (num_padded(mechanism, items) * num_rows) > delta:
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


def _privacy_says(outcome: Outcome, advantage: Metric, permitted: float, found: float | None) -> str:
    if found == math.inf:
        return (
            "Sketches occur with the rating that cannot occur without it: no epsilon holds at this delta, and the "
            f"advantage of {advantage.value:.3f} stands beside the {permitted:.3f} that is permitted."
        )
    stands = "exceeds" if advantage.low is not None and advantage.low > permitted else "does not exceed"
    text = f"The measured advantage of {advantage.value:.3f} {stands} the {permitted:.3f} that the claim permits."
    exact = outcome.exact_advantage
    if exact is not None:
        most = (_plain(exact.mean()), _plain(exact.max()))
        text += f" No attacker has more than {most[0]} on these ratings on average, {most[1]} on one."
    if found is not None:
        whose = "0 or 1" if isinstance(outcome.mechanism, AdditiveSketch) else "of any size"
        text += f" Over all datasets of this size, ratings {whose}, the exact epsilon at this delta is {found:.3g}."
    return text


def _guess_table(outcome: Outcome, permitted: float) -> Table:
    mechanism, advantage = outcome.mechanism, outcome.advantage.mean()
    rows: list[list[Any]] = [["without the sketch (coin)", *_both(0.0)], ["with the sketch", *_both(advantage)]]
    exact = outcome.exact_advantage
    if exact is not None:
        rows.append(["best possible on these ratings (exact law)", *_both(exact.mean())])
    worst = _worst_advantage(mechanism, outcome)
    if worst is not None:
        rows.append(["best possible on the worst dataset (exact profile)", *_both(worst)])
    rows.append(["permitted by the claim", *_both(permitted)])
    rows.append(["sketches that prove the answer", f"{outcome.proved.mean():.1%}", None])
    return Table("Present or absent: right guesses", ["who", "right", "advantage"], rows)


def _worst_advantage(mechanism: Any, outcome: Outcome) -> float | None:
    """delta(0) of the exact profile, the largest total variation; None where none is known."""
    if isinstance(mechanism, AdditiveSketch):
        return exact_delta(0.0, mechanism.num_rows, mechanism.noise)
    if isinstance(mechanism, ColumnSketch):
        return fixed_norm_delta(0.0, mechanism.num_rows, mechanism.noise)
    return None


def _roc_table(outcome: Outcome) -> Table:
    limit = _limit_curve(outcome)
    rows: list[list[Any]] = []
    for index, aim in enumerate(FALSE_POSITIVES):
        tpr = mean_metric("tpr", outcome.roc[0, :, index], "")
        known = [] if limit is None else [f"{each[index]:.3f}" for each in limit]
        rows.append([f"{aim:g}", f"{outcome.roc[1, :, index].mean():.3f}", tpr.cell(), *known])
    return Table(
        "False alarms (FPR) against recognized ratings (TPR), one threshold for all",
        ["FPR aimed at", "FPR", "TPR (95% interval)", *["FPR, best test", "TPR, best test"] * (limit is not None)],
        rows,
    )


def _limit_curve(outcome: Outcome) -> tuple[np.ndarray, np.ndarray] | None:
    """FPR and TPR that nobody can beat, on these pairs (Gaussian M) or on the worst (columns of fixed norm)."""
    mechanism = outcome.mechanism
    if isinstance(mechanism, GAUSSIAN):
        tpr, fpr = exact_rates(outcome.law, mechanism.num_rows, outcome.cuts)
        return fpr.mean(axis=0), tpr.mean(axis=0)
    if isinstance(mechanism, ColumnSketch):
        fpr = np.array(FALSE_POSITIVES)
        return fpr, ndtr(ndtri(fpr) + math.sqrt(mechanism.num_rows) / mechanism.noise)
    return None


def _roc_plot(outcome: Outcome, epsilon: float, delta: float) -> Plot:
    points = [mean_metric("tpr", outcome.roc[0, :, index], "") for index in range(len(FALSE_POSITIVES))]
    line = np.linspace(0.0, 1.0, 101)
    claimed = np.minimum(1 - math.exp(-epsilon) * (1 - delta - line), math.exp(min(epsilon, 700.0)) * line + delta)
    series = [
        _series(
            "measured",
            outcome.roc[1].mean(axis=0),
            [each.value for each in points],
            low=[each.low for each in points],
            high=[each.high for each in points],
        ),
        _series("permitted by the claim", line, np.clip(claimed, 0.0, 1.0)),
        _series("guessing", [0.0, 1.0], [0.0, 1.0]),
    ]
    limit = _limit_curve(outcome)
    if limit is not None:
        label = (
            "best test, worst dataset" if isinstance(outcome.mechanism, ColumnSketch) else "best test, these ratings"
        )
        series.insert(1, _series(label, *limit))
    return Plot("Ratings recognized against false alarms", "false alarms (FPR)", "recognized (TPR)", series)


def _epsilon_plot(matrix: np.ndarray, entries: np.ndarray, sizes: dict[str, Any]) -> Plot:
    delta = sizes["delta"]
    series = [
        _series(
            label,
            EPSILONS,
            [
                _exact(mechanism("jlt", variant, **(sizes | {"epsilon": epsilon})), matrix, entries).mean()
                for epsilon in EPSILONS
            ],
        )
        for variant, label in VARIANT_NAMES.items()
    ]
    series.append(_series("permitted", EPSILONS, [permitted_advantage(epsilon, delta) for epsilon in EPSILONS]))
    return Plot(
        "Largest possible advantage on these ratings, by the epsilon that was asked for (exact)",
        "epsilon",
        "advantage",
        series,
        x_scale="log",
    )


def _exact(mechanism: Any, matrix: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Total variation for each entry, shape (targets,)."""
    tpr, fpr = exact_rates(pair_law(mechanism, matrix, entries), mechanism.num_rows, np.zeros(1))
    return (tpr - fpr)[:, 0]


def _victim(outcome: Outcome, matrix: np.ndarray, entries: np.ndarray, trials: int) -> dict[str, Any]:
    item, user = entries[0]
    judged = trials - trials // 2
    right, proved = outcome.right[0], outcome.proved[0]
    story = [
        f"User A has {int(matrix[:, user].sum())} positive ratings here; one of them is of item 1, which "
        f"{int(matrix[item].sum())} of the {matrix.shape[1]} users rated positively.",
        f"The attacker knows all other ratings. Where user A had rated item 1, one sketch told so in "
        f"{round(right[0] * judged)} of {judged} cases; where the rating had been left out, in "
        f"{round(right[1] * judged)} of {judged}.",
    ]
    if proved == 1:
        story.append("Every one of these sketches is a proof: the other dataset could not have produced it.")
    elif proved > 0:
        story.append(f"{proved:.0%} of these sketches are proofs: the other dataset could not have produced them.")
    table = Table(
        "User A and item 1",
        ["the rating is", "sketches", 'called "present"', "right"],
        [
            ["present", judged, round(right[0] * judged), f"{right[0]:.0%}"],
            ["absent", judged, judged - round(right[1] * judged), f"{right[1]:.0%}"],
        ],
    )
    return {"story": story, "tables": [table]}


def _repair(
    method: Method,
    outcome: Outcome,
    mended: tuple[float, float],
    matrix: np.ndarray,
    entries: np.ndarray,
    sizes: dict[str, Any],
    permitted: float,
) -> dict[str, Any]:
    """`mended` is the advantage that the repaired sketch leaves, and its error."""
    id, variant = VARIANTS[method]
    rows: list[list[Any]] = []
    for each, label in VARIANT_NAMES.items():
        sketch = mechanism(id, each, **sizes)
        measured = exact = None
        error = mended[1] if each == "repaired" else None
        if each == variant:
            measured, error = float(outcome.advantage.mean()), outcome.error
        elif each == "repaired" and id == "sjlt":
            measured = mended[0]
        if id == "jlt":
            exact, error = float(_exact(sketch, matrix, entries).mean()), _inner_product_error(sketch, matrix)
        cells = (sketch.noise, measured, *[exact] * (id == "jlt"), permitted, error)
        rows.append([label, *(None if value is None else _plain(value) for value in cells)])
    table = Table(
        f"The same promise: epsilon {sizes['epsilon']:g}, delta {sizes['delta']:.2g}, {sizes['num_rows']} rows",
        [
            "sketch",
            "noise w, in ratings",
            "advantage, measured",
            *["advantage, exact"] * (id == "jlt"),
            "permitted",
            "error of two users' shared ratings",
        ],
        rows,
    )
    how = (
        "adds independent Gaussian noise to the sketch instead of lifting singular values: the smallest amount that "
        "the exact privacy profile allows, whatever the numbers of items and users"
    )
    repaired = mechanism(id, "repaired", **sizes)
    shared = _size(repaired, matrix)
    if variant == "repaired":
        text = (
            f"This is the repaired sketch: it {how}.\nIt costs accuracy: the number of ratings that two users share, "
            f"{_plain(shared)} on these ratings, is off by {_plain(outcome.error)} (root mean squares)."
        )
    else:
        effect = "It costs no accuracy" if mended[1] <= outcome.error else "What it costs in accuracy"
        text = (
            f"Publish the repaired sketch ({id}_repaired). It {how}. At the same epsilon and delta its noise is "
            f"{_plain(repaired.noise)} ratings, against {_plain(outcome.mechanism.noise)} here.\n{effect}: "
            f"the number of ratings that two users share, {_plain(shared)} on these ratings, is off by "
            f"{_plain(mended[1])}, against {_plain(outcome.error)} here (root mean squares). The attacker's advantage "
            f"is {mended[0]:.3f} instead of {outcome.advantage.mean():.3f}."
        )
    return {"text": text, "tables": [table]}


@float64
def _size(mechanism: Any, matrix: np.ndarray) -> float:
    """Root mean square of an entry of R'R, the matrix as the mechanism prepares it."""
    prepared = np.asarray(PREPARE[type(mechanism)](jnp.asarray(matrix)))
    return float(np.sqrt(((prepared.T @ prepared) ** 2).mean()))


@float64
def _inner_product_error(mechanism: Any, matrix: np.ndarray) -> float:
    """Root mean squared error of an entry of R~'R~ for R'R, in ratings shared; exact (Gaussian M, CD-P53-REP)."""
    prepared = np.asarray(PREPARE[type(mechanism)](jnp.asarray(matrix)))
    squares = np.zeros(matrix.shape[1])
    values = np.linalg.svd(prepared, compute_uv=False) ** 2
    squares[: len(values)] = values
    raised = squares + mechanism.noise**2
    if is_thin(mechanism, matrix):
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
        if not lines_are_likely(mechanism, items):
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


def _series(label: str, x: Any, y: Any, **interval: Any) -> Series:
    return Series(label, [float(value) for value in x], [float(value) for value in y], **interval)


def _both(advantage: float) -> tuple[str, str]:
    return right(advantage), _plain(advantage)


def _plain(value: float) -> str:
    """Three or four digits for a reader, without an exponent where the number is large."""
    size = abs(value)
    return (
        f"{value:,.0f}"
        if size >= 1000
        else f"{value:.4g}"
        if size >= 1
        else f"{value:.3f}"
        if size >= 0.001 or size == 0
        else f"{value:.1g}"
    )
