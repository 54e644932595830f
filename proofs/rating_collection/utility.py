"""RC-UTIL: what collecting perturbed ratings costs (Zheng, sec. 3), by proof and by experiment."""

import dataclasses
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Plot, Table
from dpassay.experiments.rating_collection.experiment import LIMIT, NAME, comparisons
from dpassay.proofs.decisions import shown
from dpassay.proofs.rating_collection.recovery import proved_utility
from dpassay.replay import check
from dpassay.runs.results import committed


def decide_utility(claim: Claim, context: Context) -> Verdict:
    """RC-UTIL: by the committed result on MovieLens 100K, beside the proof of the limit."""
    proved = proved_utility(claim, context)
    result = committed(NAME)
    if result is None or result["inputs"][0]["name"] != "movielens-100k" or result["quick"]:
        command = (
            "dpassay experiment rating-collection --data ml-100k --output src/dpassay/results/rating-collection.json"
        )
        return dataclasses.replace(
            proved, explanation=f"{proved.explanation} The runs that decide it are missing: {command} makes them."
        )
    return judged(proved, result)


def judged(proved: Verdict, result: dict[str, Any]) -> Verdict:
    """The verdict on RC-UTIL from a result of `run`, with the evidence of `proved`.

    Args:
        proved: what is proved without an experiment.
        result: of `run` on MovieLens 100K.
    """
    compared = comparisons(result["runs"])
    inputs = {
        "form": "orderings",
        "confidence": "0.95",
        "description": f"{result['inputs'][0]['name']}, a tenth held out per seed, RMSE (stars) of completion (4) with "
        "rho as in (3), differences paired by seed",
        "comparisons": compared,
    }
    found = check("reproduction", inputs)["comparisons"]
    falls = [name for name, entry in found.items() if entry["claimed"] == "negative" and entry["side"] == "negative"]
    rises = [name for name, entry in found.items() if entry["claimed"] == "negative" and entry["side"] == "positive"]
    flat = [name for name, entry in found.items() if entry["claimed"] == "negative" and entry["side"] == "undecided"]
    apart = [name for name, entry in found.items() if entry["claimed"] == "zero" and entry["side"] != "undecided"]
    outcome: Any = "refuted" if rises or apart else "open" if flat else "holds"
    if outcome == "holds":  # an interval never shows that a difference is 0: the certificate carries the falls
        inputs |= {"comparisons": {name: compared[name] for name in falls}}
    explanation = (
        f"Between successive eps the error certainly falls in {len(falls)} of {len(falls) + len(rises) + len(flat)} "
        f"comparisons and certainly rises in {len(rises)} (simultaneous 95%); at eps = {LIMIT:g} it differs from that "
        f"of the clean ratings in {len(apart)} of {len(found) - len(falls) - len(rises) - len(flat)} mechanisms."
    )
    for names, text in ((rises, "It rises: "), (flat, "Not decided: ")):
        explanation += f" {text}{'; '.join(names)}." if names else ""
    evidence = shown(
        explanation,
        {"kind": "reproduction", "inputs": inputs},
        tables=tuple(Table(**table) for table in result["tables"]),
        plots=tuple(Plot.from_json(plot) for plot in result["plots"]),
    )
    rest = "".join(proved.explanation.partition("What is proved")[1:])
    return dataclasses.replace(
        proved, outcome=outcome, explanation=f"{explanation} {rest}", evidence=(evidence, *proved.evidence)
    )
