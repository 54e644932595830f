"""PP-DP-REP: the repaired selection is private, and what that costs."""

import dataclasses

from dpassay.core.claims import Claim, Context, Evidence, Verdict
from dpassay.experiments.ppns.neighborhood import paired_differences
from dpassay.experiments.ppns.utility import EPSILONS, FLOOR, FOLDS, errors, repaired_utility, utility_tables
from dpassay.proofs.decisions import shown
from dpassay.proofs.ppns.exponential_mechanism import proved_ppns_repaired
from dpassay.replay import check


def decide_ppns_repaired(claim: Claim, context: Context) -> Verdict:
    """PP-DP-REP: its proof, with what the repair costs on the ratings at hand."""
    verdict = proved_ppns_repaired(claim, context)
    return dataclasses.replace(verdict, evidence=(*verdict.evidence, utility_evidence(context)))


def utility_evidence(context: Context) -> Evidence:
    """The cost of the repair: its error against PNCF's at the same epsilon, paired by user, and a table of all methods.

    The certificate asks at every epsilon whether the repaired selection (c = 40) has the smaller error.
    """
    ratings, draws = context.data, 1
    k = min(50, (ratings.num_users - 1) // 4)  # PPNS at p = 1/2 needs more than 4 partitions
    epsilons = EPSILONS[1::2] if context.quick else EPSILONS
    results = repaired_utility(ratings, epsilons, (FLOOR,), k, draws, context.seed, context.progress)
    comparisons = {}
    for epsilon in epsilons:
        repaired, pncf = (
            errors(ratings, sets, k, draws, context.seed)[1]
            for sets in (("floor", epsilon, FLOOR, "everyone"), ("pncf", epsilon))
        )
        differences = paired_differences(repaired, pncf, ratings.users, ratings.num_users)
        comparisons[f"repaired - PNCF, epsilon {epsilon:g}"] = {
            "claimed": "negative",
            "differences": [f"{value:.6f}" for value in differences],
        }
    inputs = {
        "form": "orderings",
        "confidence": "0.95",
        # The same for all ratings, since it is reviewed: the evidence's summary names them.
        "description": f"{FOLDS} folds, all users candidates, k = min(50, (users - 1) // 4), c = {FLOOR:g}, {draws} "
        "draw, mean-centered prediction; differences of mean absolute error by user over pairs that both methods "
        "predict",
        "comparisons": comparisons,
    }
    result = check("reproduction", inputs)
    better = sum(entry["side"] == "negative" for entry in result["comparisons"].values())
    worse = sum(entry["side"] == "positive" for entry in result["comparisons"].values())
    small = min((entry for entry in results if entry.method == "nPNS repaired"), key=lambda entry: entry.epsilon)
    uniform = next(entry for entry in results if entry.method == "uniform")
    return shown(
        f"Cost of privacy on {ratings.name}: at the same epsilon the repaired selection has a certainly smaller error "
        f"than PNCF at {better} of {len(comparisons)} values of epsilon, a larger one at {worse} (simultaneous 95%). "
        f"At epsilon {small.epsilon:g} with {k} neighbors "
        f"the private selection is nearly uniform (mean-centered MAE {small.centered_error:.4f}, uniform "
        f"{uniform.centered_error:.4f}). Epsilon covers the released neighbor set, not a prediction made from it.",
        {"kind": "reproduction", "inputs": inputs},
        tables=utility_tables(results, ratings.name),
    )
