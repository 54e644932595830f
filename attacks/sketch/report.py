"""The report of `dpassay attack sketch`; the attack itself is `dpassay.attacks.sketch.membership`."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from dpassay.attacks.advantage import permitted_advantage, right
from dpassay.attacks.attack_report import AttackReport, Privacy, ThreatModel, described
from dpassay.attacks.metrics import Metric, difference_metric, explained, mean_metric, metric_series
from dpassay.attacks.sketch.membership import (
    FALSE_POSITIVES,
    GAUSSIAN,
    LIFTS,
    MOST_SIGNS,
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
    prepared_matrix,
    threshold,
)
from dpassay.attacks.sketch.settings import SketchSettings
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

NAMES = {"jlt": "JLT", "sjlt": "sparse JLT"}
VARIANT_NAMES = {"paper": "as printed", "released": "as released", "repaired": "repaired"}
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # section 6.1 of the paper, and the code's first
ONE_PERCENT = FALSE_POSITIVES.index(0.01)


class Mended(NamedTuple):
    """The advantage that the repaired sketch leaves on the same ratings, and its error, in ratings shared."""

    advantage: float
    error: float


def run(ratings: Ratings, *, progress: Callable[[str], None] = lambda _: None, **settings: Any) -> AttackReport:
    """Attacks single ratings in a published sketch of the ratings; the settings are those of `SketchSettings`.

    Raises:
        InvalidInput: a setting out of its range, or ratings that leave nothing to attack.
    """
    start = time.monotonic()
    chosen = SketchSettings(**settings)
    method, trials, seed = chosen.method, chosen.trials, chosen.seed
    id, variant = VARIANTS[method]
    name = f"{NAMES[id]} {VARIANT_NAMES[variant]}"
    matrix = binarized(ratings, chosen.rows, chosen.columns, chosen.shape, chosen.positive_from, seed)
    delta = 1 / matrix.shape[1] if chosen.delta is None else chosen.delta
    sizes = {"epsilon": chosen.epsilon, "delta": delta, "num_rows": chosen.sketch_rows}
    sparse = {"density": chosen.density} if id == "sjlt" and variant != "repaired" else {}
    target, repaired = mechanism(id, variant, **sizes, **sparse), mechanism(id, "repaired", **sizes)
    if isinstance(target, LIFTS):
        matrix = independent_items(target, matrix)
    items, users = matrix.shape
    entries = choose_entries(target, matrix, chosen.targets, seed)

    progress(f"{method}: {len(entries)} ratings, {trials} sketches with and {trials} without each of them")
    outcome = attack(target, matrix, entries, seed, trials)
    mended = Mended(float(outcome.advantage.mean()), outcome.error)
    if variant != "repaired" and id == "jlt":  # known exactly, which no simulation betters
        mended = Mended(_exact(repaired, matrix, entries), _inner_product_error(repaired, matrix))
    elif variant != "repaired":
        progress(f"{id}_repaired: the same ratings")
        other = attack(repaired, matrix, entries, seed, trials)
        mended = Mended(float(other.advantage.mean()), other.error)
    metrics = explained(
        [
            difference_metric("advantage", outcome.advantage),
            mean_metric("auc", outcome.auc),
            mean_metric("tpr-at-fpr-1-percent", outcome.roc[0, :, ONE_PERCENT]),
            mean_metric("told-with-certainty", (outcome.proved == 1).astype(float)),
        ],
        SketchSettings.metrics,
    )
    found = _found_epsilon(target, (items, users), outcome)
    plots = [_roc_plot(outcome)]
    if id == "jlt":
        progress("exact advantage at other epsilons")
        plots.append(_epsilon_plot(matrix, entries, sizes))
    return AttackReport(
        attack="sketch",
        title=f"Is one rating in the published sketch? ({name}, {items} items, {users} users)",
        **described(target),
        threat_model=ThreatModel(
            knows=f"All ratings of the {items} items by the {users} users but one, and the published program.",
            does="Nothing to the system; computes which of the two possible datasets explains the sketch better.",
            sees=f"One published sketch, {chosen.sketch_rows} rows of {users} numbers.",
        ),
        summary=_summary(metrics, len(entries), target, found, repaired, mended.advantage),
        settings={
            "method": method,
            "epsilon": chosen.epsilon,
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
        tables=[_guess_table(outcome), _roc_table(outcome)],
        plots=plots,
        victim=_victim(outcome, matrix, entries, trials),
        privacy=[_privacy(outcome, metrics[0], found, name)],
        repair=_repair(outcome, mended, matrix, entries, sizes),
        limits=_limits(target, ratings, matrix),
        seed=seed,
        seconds=time.monotonic() - start,
    )


def _summary(
    metrics: Sequence[Metric], num_entries: int, target: Any, found: float | None, repaired: Any, mended: float
) -> list[str]:
    epsilon, delta, permitted = target.epsilon, target.delta, _permitted(target)
    advantage, certain = metrics[0], metrics[3]
    if found == math.inf or advantage.surely_above(permitted):
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
    if mean_metric("proofs", outcome.proved).surely_above(delta):
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


def _privacy(outcome: Outcome, advantage: Metric, found: float | None, name: str) -> Privacy:
    mechanism, permitted = outcome.mechanism, _permitted(outcome.mechanism)
    exact = outcome.exact_advantage
    if found == math.inf:
        says = (
            "Sketches occur with the rating that cannot occur without it: no epsilon holds at this delta, and the "
            f"advantage of {advantage.value:.3f} stands beside the {permitted:.3f} that is permitted."
        )
    else:
        stands = "exceeds" if advantage.surely_above(permitted) else "does not exceed"
        says = f"The measured advantage of {advantage.value:.3f} {stands} the {permitted:.3f} that the claim permits."
        if exact is not None:
            most = (_plain(exact.mean()), _plain(exact.max()))
            says += f" No attacker has more than {most[0]} on these ratings on average, {most[1]} on one."
        if found is not None:
            whose = "0 or 1" if isinstance(mechanism, AdditiveSketch) else "of any size"
            says += f" Over all datasets of this size, ratings {whose}, the exact epsilon at this delta is {found:.3g}."
    what = f"one rating, there or not, in one sketch ({name})"
    return Privacy(what, mechanism.epsilon, found, advantage, says, mechanism.delta)


def _permitted(mechanism: Any) -> float:
    return permitted_advantage(mechanism.epsilon, mechanism.delta)


def _guess_table(outcome: Outcome) -> Table:
    advantages = {"without the sketch (coin)": 0.0, "with the sketch": outcome.advantage.mean()}
    exact, worst = outcome.exact_advantage, _worst_advantage(outcome.mechanism)
    if exact is not None:
        advantages["best possible on these ratings (exact law)"] = exact.mean()
    if worst is not None:
        advantages["best possible on the worst dataset (exact profile)"] = worst
    advantages["permitted by the claim"] = _permitted(outcome.mechanism)
    rows: list[list[Any]] = [[who, right(advantage), _plain(advantage)] for who, advantage in advantages.items()]
    rows.append(["sketches that prove the answer", f"{outcome.proved.mean():.1%}", None])
    return Table("Present or absent: right guesses", ["who", "right", "advantage"], rows)


def _worst_advantage(mechanism: Any) -> float | None:
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
        tpr = mean_metric("tpr", outcome.roc[0, :, index])
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


def _roc_plot(outcome: Outcome) -> Plot:
    epsilon, delta, limit = outcome.mechanism.epsilon, outcome.mechanism.delta, _limit_curve(outcome)
    points = [mean_metric("tpr", outcome.roc[0, :, index]) for index in range(len(FALSE_POSITIVES))]
    line = np.linspace(0.0, 1.0, 101)
    claimed = np.minimum(1 - math.exp(-epsilon) * (1 - delta - line), math.exp(min(epsilon, 700.0)) * line + delta)
    series = [metric_series("measured", outcome.roc[1].mean(axis=0).tolist(), points)]
    if limit is not None:
        whose = "worst dataset" if isinstance(outcome.mechanism, ColumnSketch) else "these ratings"
        series.append(Series(f"best test, {whose}", *(rates.tolist() for rates in limit)))
    series.append(Series("permitted by the claim", line.tolist(), np.clip(claimed, 0.0, 1.0).tolist()))
    series.append(Series("guessing", [0.0, 1.0], [0.0, 1.0]))
    return Plot("Ratings recognized against false alarms", "false alarms (FPR)", "recognized (TPR)", series)


def _epsilon_plot(matrix: np.ndarray, entries: np.ndarray, sizes: dict[str, Any]) -> Plot:
    lines = {
        label: [
            _exact(mechanism("jlt", variant, **(sizes | {"epsilon": epsilon})), matrix, entries) for epsilon in EPSILONS
        ]
        for variant, label in VARIANT_NAMES.items()
    }
    lines["permitted"] = [permitted_advantage(epsilon, sizes["delta"]) for epsilon in EPSILONS]
    return Plot(
        "Largest possible advantage on these ratings, by the epsilon that was asked for (exact)",
        "epsilon",
        "advantage",
        [Series(label, EPSILONS, line) for label, line in lines.items()],
        x_scale="log",
    )


def _exact(mechanism: Any, matrix: np.ndarray, entries: np.ndarray) -> float:
    """Mean total variation over the entries, for a Gaussian M."""
    return float(pair_law(mechanism, matrix, entries).advantage(mechanism.num_rows).mean())


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
    called = round(right[0] * judged), judged - round(right[1] * judged)
    rows = [
        [which, judged, number, f"{share:.0%}"]
        for which, number, share in zip(("present", "absent"), called, right, strict=True)
    ]
    table = Table("User A and item 1", ["the rating is", "sketches", 'called "present"', "right"], rows)
    return {"story": story, "tables": [table]}


def _repair(
    outcome: Outcome, mended: Mended, matrix: np.ndarray, entries: np.ndarray, sizes: dict[str, Any]
) -> dict[str, Any]:
    described = describe(outcome.mechanism)
    id, variant = described["id"], described["variant"]
    rows: list[list[Any]] = []
    for each, label in VARIANT_NAMES.items():
        sketch = mechanism(id, each, **sizes)
        measured = exact = None
        error = mended.error if each == "repaired" else None
        if each == variant:
            measured, error = float(outcome.advantage.mean()), outcome.error
        elif each == "repaired" and id == "sjlt":
            measured = mended.advantage
        if id == "jlt":
            exact, error = _exact(sketch, matrix, entries), _inner_product_error(sketch, matrix)
        cells = (sketch.noise, measured, *[exact] * (id == "jlt"), _permitted(sketch), error)
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
        effect = "It costs no accuracy" if mended.error <= outcome.error else "What it costs in accuracy"
        text = (
            f"Publish the repaired sketch ({id}_repaired). It {how}. At the same epsilon and delta its noise is "
            f"{_plain(repaired.noise)} ratings, against {_plain(outcome.mechanism.noise)} here.\n{effect}: "
            f"the number of ratings that two users share, {_plain(shared)} on these ratings, is off by "
            f"{_plain(mended.error)}, against {_plain(outcome.error)} here (root mean squares). The attacker's "
            f"advantage is {mended.advantage:.3f} instead of {outcome.advantage.mean():.3f}."
        )
    return {"text": text, "tables": [table]}


def _size(mechanism: Any, matrix: np.ndarray) -> float:
    """Root mean square of an entry of R'R, the matrix as the mechanism prepares it."""
    prepared = prepared_matrix(mechanism, matrix)
    return float(np.sqrt(((prepared.T @ prepared) ** 2).mean()))


def _inner_product_error(mechanism: Any, matrix: np.ndarray) -> float:
    """Root mean squared error of an entry of R~'R~ for R'R, in ratings shared; exact (Gaussian M, CD-P53-REP)."""
    squares = np.zeros(matrix.shape[1])
    values = np.linalg.svd(prepared_matrix(mechanism, matrix), compute_uv=False) ** 2
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


def _plain(value: float) -> str:
    """Three or four digits for a reader, without an exponent where the number is large."""
    size = abs(value)
    for least, digits in ((1000, ",.0f"), (1, ".4g"), (0.001, ".3f")):
        if size >= least:
            return f"{value:{digits}}"
    return f"{value:.1g}" if size else "0.000"
