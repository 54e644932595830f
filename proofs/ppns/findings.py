"""Judges the four findings of Lu and Shen (PPNS), section 7, and what is said there of the data.

The findings are judged without the leak: similarities come from the ratings of four folds, errors from the fifth,
candidates are all other users as in Algorithm 1.
"""

import functools
import itertools
import math
from collections.abc import Mapping

import numpy as np

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.core.records import Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.ppns.neighborhood import LEAKY, Protocol, folds, paired_differences, predict, trial_weights
from dpassay.experiments.ppns.printed import AXES, METHODS
from dpassay.mechanisms.batched_users import NearestNeighbors, Selection, TopWeighted, exponential_scale
from dpassay.mechanisms.ppns import formula_beta
from dpassay.mechanisms.similarity import overlap_matrix, sensitivity_matrix
from dpassay.proofs.decisions import shown, supported
from dpassay.proofs.notation import instance
from dpassay.proofs.ppns.settings import EPSILON, NEIGHBORS, paper_method
from dpassay.replay import check

FOLDS = 5
CONFIDENCE_ORDERINGS = "0.95"
CLEAN_PROTOCOL = (
    f"Judged on held-out ratings ({FOLDS} folds; similarities see the other folds only; all users are candidates, as "
    "in Algorithm 1; errors are compared on pairs that both methods can predict, user by user)."
)


def decide_finding1(claim: Claim, context: Context) -> Verdict:
    """PPNS against PNCF and nPNS for p above the bound of Theorem 1."""
    count = context.data.num_users - 1
    bound = (
        1 - (1 - NEIGHBORS / count) ** math.exp(exponential_scale(NEIGHBORS, EPSILON, 1.0)) if count > NEIGHBORS else 1
    )
    columns = [p for p in AXES[1][1][:9] if float(p) > bound]
    pairs = {
        f"PPNS p={p} - {other}": (paper_method("PPNS", probability=float(p)), paper_method(other))
        for p in columns
        for other in ("PNCF", "nPNS")
    }
    evidence, supports, sides = _orderings(1, context, pairs, "negative")
    right = sum(side == "negative" for side in sides.values())
    wrong = [name.split()[1] for name, side in sides.items() if side == "positive"]
    nearest, uniform = (
        _mae(held_out_errors(context.data, paper_method(name), LEAKY, 1, context.seed), context.data)
        for name in ("kNN", "PNCF")
    )
    explanation = (
        f"All p from {columns[0]} on are above the bound {bound:.3f}; held out, PPNS is certainly more "
        f"accurate in {right} of {len(sides)} comparisons and certainly less accurate in "
        f"{len(wrong)}{', from p = ' + min(p.removeprefix('p=') for p in wrong) + ' up' if wrong else ''}. Held out, "
        f"kNN itself has MAE {nearest:.4f} and PNCF's nearly uniform selection {uniform:.4f}: once the rating under "
        "prediction no longer leaks into the similarities, the users of largest co-rated cosine, who mostly share a "
        f"single item, are {'worse' if nearest > uniform else 'better'} neighbors than random "
        f"ones.{_raters_sentence(evidence)} {CLEAN_PROTOCOL}"
    )
    return _ordering_verdict(claim, supports, explanation, evidence)


def decide_finding2(claim: Claim, context: Context) -> Verdict:
    """PPNS against weighted selection from the top beta k, at the beta of (19)."""
    pairs = {}
    limit = (context.data.num_users - 1) / NEIGHBORS
    for p in AXES[1][1][:9]:
        beta = min(formula_beta(NEIGHBORS, float(p)), limit)
        near = TopWeighted(
            NEIGHBORS, max(NEIGHBORS, round(beta * NEIGHBORS)), exponential_scale(NEIGHBORS, EPSILON, 1.0)
        )
        pairs[f"PPNS p={p} - top {beta:.2f} k"] = (paper_method("PPNS", probability=float(p)), near)
    evidence, supports, sides = _orderings(2, context, pairs, "negative")
    wrong = sum(side == "positive" for side in sides.values())
    right = sum(side == "negative" for side in sides.values())
    explanation = (
        f"Against drawing the same number of neighbors by weight from the top beta k users, with "
        f"the beta that equation (19) gives for the same p (at most the {limit:.1f} partitions there are), PPNS is "
        f"certainly more accurate at {right} of {len(sides)} values of p and certainly less accurate at "
        f"{wrong}.{_raters_sentence(evidence)} {CLEAN_PROTOCOL}"
    )
    return _ordering_verdict(claim, supports, explanation, evidence)


def decide_finding3(claim: Claim, context: Context) -> Verdict:
    """MAE at successive k, for every method."""
    columns = [int(k) for k in AXES[3][1]]
    steps = columns[::3] if context.quick else columns
    pairs = {
        f"{name} k={b} - k={a}": (paper_method(name, num_neighbors=b), paper_method(name, num_neighbors=a))
        for name in METHODS
        for a, b in itertools.pairwise(steps)
    }
    evidence, supports, sides = _orderings(3, context, pairs, "negative")
    by_method = {name: [side for pair, side in sides.items() if pair.startswith(f"{name} ")] for name in METHODS}
    counts = ", ".join(f"{name} {sides.count('negative')}/{len(sides)}" for name, sides in by_method.items())
    rises = [pair for pair, side in sides.items() if side == "positive"]
    explanation = (
        f"Steps of k at which the held-out error certainly falls: {counts}. It certainly rises at "
        f"{', '.join(rises) or 'none'}. {CLEAN_PROTOCOL}"
    )
    return _ordering_verdict(claim, supports, explanation, evidence)


def decide_finding4(claim: Claim, context: Context) -> Verdict:
    """Whether PNCF's truncation, the only place where rho enters, ever binds."""
    context.progress("finding 4: sensitivities of all pairs of users")
    smallest, infinite = _smallest_sensitivity(context.data)
    bound = math.floor(smallest * 10**6) / 10**6
    count = context.data.num_users - 1
    values = {
        "RS": f"{round(bound * 10**6)}/1000000",
        "k": str(NEIGHBORS),
        "n": str(count),
        "eps": "1",
        "rho": "9/10",
        "largest_similarity": "1",
    }
    width = ["*", ["/", ["*", ["*", "4", "k"], "RS"], "eps"], ["ln", ["/", ["*", "k", ["-", "n", "k"]], "rho"]]]
    certificate = instance(values, [">=", width, "largest_similarity"], supports="holds")
    needed = (
        float(1 / (4 * NEIGHBORS * math.log(NEIGHBORS * (count - NEIGHBORS) / 0.9))) if count > NEIGHBORS else math.inf
    )
    table = Table(
        "When does rho matter? (k = 50, eps = 1)",
        ["quantity", "value"],
        [
            ["smallest RS of a target, eq. 3, full vectors, largest over its candidates", f"{smallest:.6f}"],
            ["RS below which the bound could be less than a similarity of 1, rho = 0.9", f"{needed:.6f}"],
            ["targets whose RS over co-rated items is infinite (some candidate shares one item)", infinite],
        ],
    )
    evidence = shown(
        f"With the smallest RS of any target user on these data, {bound:g}, lambda is cut at sim_k for every rho up "
        "to 0.9.",
        certificate,
        tables=(table,),
    )
    return Verdict(
        claim.id,
        supported(certificate),
        "Rho enters PNCF only through lambda = min(sim_k, (4k RS/eps) ln(k(n-k)/rho)). The second term is at least "
        f"1, the largest similarity there is, whenever RS is at least {needed:.5f}; the smallest RS (3) of any "
        f"target user on these data is {bound:g} over full vectors, and over co-rated items it is infinite for "
        f"{infinite} of {count + 1} targets. So lambda is sim_k for every rho, the law of the selection is the same, "
        "and so is its accuracy. The finding says nothing about other data sizes or larger eps.",
        evidence=(evidence,),
        assumptions=("RS is the largest over the target's candidates, or a constant of at least that size",),
    )


def decide_data(claim: Claim, context: Context) -> Verdict:
    """Counts of ratings by user and by film."""
    users = np.bincount(context.data.users, minlength=context.data.num_users)
    films = np.bincount(context.data.items, minlength=context.data.num_items)
    few, many = int((films < 20).sum()), int((films > 250).sum())
    values = {
        "least_of_a_user": int(users.min()),
        "least_of_a_film": int(films.min()),
        "most_of_a_film": int(films.max()),
    }
    true = ["and", [">", "least_of_a_user", "20"], [">=", "least_of_a_film", "20"], ["<=", "most_of_a_film", "250"]]
    holds = values["least_of_a_user"] > 20 and values["least_of_a_film"] >= 20 and values["most_of_a_film"] <= 250
    certificate = instance(values, true if holds else ["not", true], supports="holds" if holds else "refuted")
    supports = check(**certificate)["supports"]
    table = Table(
        f"Counts in {context.data.name} ({context.data.fingerprint()[:12]})",
        ["quantity", "paper", "counted"],
        [
            ["ratings", "100,000", f"{len(context.data):,}"],
            ["users, films", "943, 1682", f"{context.data.num_users}, {context.data.num_items}"],
            ["fewest ratings of a user", "more than 20", values["least_of_a_user"]],
            ["users with exactly 20", "0", int((users == 20).sum())],
            ["fewest ratings of a film", "20", values["least_of_a_film"]],
            ["most ratings of a film", "250", values["most_of_a_film"]],
            ["films with fewer than 20 / more than 250", "0 / 0", f"{few} / {many}"],
        ],
    )
    evidence = shown("Smallest and largest numbers of ratings, counted.", certificate, tables=(table,))
    return Verdict(
        claim.id,
        supports,
        f"Counted: every user rated at least {values['least_of_a_user']} films ({int((users == 20).sum())} users "
        f"exactly 20), and films received {values['least_of_a_film']} to {values['most_of_a_film']} ratings; {few} "
        f"films have fewer than 20 and {many} more than 250.",
        evidence=(evidence,),
    )


@functools.lru_cache(maxsize=512)
def held_out_errors(
    ratings: Ratings, selection: Selection, protocol: Protocol = LEAKY, draws: int = 1, seed: int = 0
) -> np.ndarray:
    """Absolute error of each rating predicted from other folds, shape (draws, ratings); NaN without a prediction."""
    if isinstance(selection, NearestNeighbors):
        draws = 1
    errors = np.full((draws, len(ratings)), np.nan, np.float32)
    for draw in range(draws):
        for number, (train, test) in enumerate(folds(ratings, FOLDS, seed)):
            users, items = ratings.users[test], ratings.items[test]
            own = int(np.random.default_rng([seed, draw, number]).integers(2**32))
            errors[draw, test] = np.abs(predict(train, users, items, selection, protocol, own) - ratings.values[test])
    return errors


def _orderings(
    number: int, context: Context, pairs: Mapping[str, tuple[Selection, Selection]], claimed: str
) -> tuple[Evidence, str, dict[str, str]]:
    """Paired comparisons under the clean protocol: evidence, the outcome it supports, the side of each interval."""
    ratings, draws = context.data, 1 if context.quick else 2
    comparisons = {}
    rows: dict[str, list[str]] = {}
    for name, (first, second) in pairs.items():
        context.progress(f"finding {number}: {name}")
        errors = [held_out_errors(ratings, selection, LEAKY, draws, context.seed) for selection in (first, second)]
        differences = paired_differences(errors[0], errors[1], ratings.users, ratings.num_users)
        comparisons[name] = {"claimed": claimed, "differences": [f"{value:.6f}" for value in differences]}
        covered = [f"{float(np.mean(~np.isnan(part))):.0%}" for part in errors]
        rows[name] = [f"{_mae(part, ratings):.4f}" for part in errors] + covered
    inputs = {
        "form": "orderings",
        "confidence": CONFIDENCE_ORDERINGS,
        "description": f"{FOLDS} folds, co-rated cosine of the other folds, all users candidates, {draws} draws; "
        "differences of mean absolute error by user over pairs that both methods predict",
        "comparisons": comparisons,
    }
    result = check("reproduction", inputs)
    entries = result["comparisons"]
    table = Table(
        f"Finding {number}, held out: differences of MAE, paired by user (simultaneous 95% intervals)",
        ["comparison", "first MAE", "second MAE", "first covers", "second covers", "difference", "low", "high", "side"],
        [
            [
                name,
                *rows[name],
                *(f"{float(entries[name][part]):.4f}" for part in ("mean", "low", "high")),
                entries[name]["side"],
            ]
            for name in pairs
        ],
    )
    tables = [table]
    if not context.quick and number in (1, 2):
        tables.append(_raters_table(number, context, pairs))
    evidence = shown(
        f"Held-out comparisons: {result['summary']}.", {"kind": "reproduction", "inputs": inputs}, tables=tuple(tables)
    )
    return evidence, result["supports"], {name: entries[name]["side"] for name in pairs}


def _raters_table(number: int, context: Context, pairs: Mapping[str, tuple[Selection, Selection]]) -> Table:
    """The same comparisons with the raters of the item as candidates: reported, not judged."""
    ratings, protocol = context.data, Protocol(candidates="raters")
    chosen = {name: pair for name, pair in pairs.items() if any(f"p={p} " in name for p in ("0.1", "0.5", "0.9"))}
    rows = []
    for name, pair in chosen.items():
        context.progress(f"finding {number}, raters only: {name}")
        errors = [held_out_errors(ratings, selection, protocol, 1, context.seed) for selection in pair]
        differences = paired_differences(errors[0], errors[1], ratings.users, ratings.num_users)
        spread = 1.96 * differences.std(ddof=1) / math.sqrt(len(differences))
        rows.append(
            [name, *(f"{_mae(part, ratings):.4f}" for part in errors), f"{differences.mean():.4f}", f"{spread:.4f}"]
        )
    return Table(
        f"Finding {number}, held out, only raters of the item as candidates (not judged)",
        ["comparison", "first MAE", "second MAE", "difference", "+/- (95%, single)"],
        rows,
    )


def _raters_sentence(evidence: Evidence) -> str:
    """What the comparisons among the raters of the item say, where they were run."""
    if len(evidence.tables) < 2:
        return ""
    rows = [(str(row[0]), float(row[3]), float(row[4])) for row in evidence.tables[1].rows]
    better = [name for name, difference, spread in rows if difference < -spread]
    worse = [name for name, difference, spread in rows if difference > spread]
    return (
        " With only the raters of the item as candidates, which is another method than the paper's, PPNS is better "
        f"in {len(better)} of {len(rows)} comparisons ({'; '.join(better) or 'none'}) and worse in {len(worse)} "
        f"({'; '.join(worse) or 'none'})."
    )


def _mae(errors: np.ndarray, ratings: Ratings) -> float:
    """Mean over draws of the MAE of random trials."""
    values = []
    for part in errors:
        covered = ~np.isnan(part)
        values.append(np.average(part[covered], weights=trial_weights(covered, ratings.users, "trials")[covered]))
    return float(np.mean(values))


def _ordering_verdict(claim: Claim, supports: str, explanation: str, evidence: Evidence) -> Verdict:
    confidence = None if supports == "open" else float(CONFIDENCE_ORDERINGS)
    return Verdict(claim.id, supports, explanation, evidence=(evidence,), confidence=confidence, arithmetic="executed")  # type: ignore[arg-type]


@functools.lru_cache(maxsize=2)
def _smallest_sensitivity(ratings: Ratings) -> tuple[float, int]:
    """Smallest over target users of the largest RS (3) over their candidates, with full-vector norms; and for how many
    targets it is infinite with norms over co-rated items.
    """
    matrix = np.array(sensitivity_matrix(ratings.dense(), "full_cosine"))
    np.fill_diagonal(matrix, -np.inf)
    shared = np.array(overlap_matrix(ratings.dense()))
    np.fill_diagonal(shared, 0)
    return float(matrix.max(1).min()), int((shared == 1).any(1).sum())
