"""The five research questions of Chen et al. (WWW 2022, section 6), decided from trained models.

CD-RQ1 to CD-RQ3 rest on the committed result of the experiment `pricdr`, CD-RQ4 and CD-RQ5 on that of `pricdr-sweeps`.
Every comparison is a difference between two runs of one seed. The claims are judged in two readings, the paper's
settings and those of the released code: one in which every interval is on the claimed side makes a claim hold; it is
refuted if in each reading one interval is on the other side.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from dpassay.core.claims import Claim, Context, Verdict
from dpassay.core.records import Table
from dpassay.data.pricdr_tasks import TASKS
from dpassay.experiments.pricdr.printed import CROSS_DOMAIN, METRICS, PROPOSED, SINGLE_DOMAIN, SYMMETRIC, TABLE_EPSILON
from dpassay.proofs.decisions import shown
from dpassay.replay import Rejected, check
from dpassay.runs.results import committed

_DOUBAN = TASKS["Douban Book to Music"]
DATASETS = {"Douban Book": _DOUBAN.source_ratings, "Douban Music": _DOUBAN.target_ratings}
"""Table 3: the ratings of the two domains of Douban Book to Music, which a result must be about."""
READINGS = ("paper", "released")
CONFIDENCE = "0.95"
RIVALS: Mapping[str, Sequence[str]] = {"CD-RQ1": SINGLE_DOMAIN, "CD-RQ2": CROSS_DOMAIN, "CD-RQ3": (SYMMETRIC,)}

Run = Mapping[str, Any]
Differences = dict[str, list[float]]


def decide_comparison(claim: Claim, context: Context) -> Verdict:
    """CD-RQ1 to CD-RQ3: PriCDR-J and -S against other models, each of the six metrics."""

    def differences(runs: Sequence[Run], reading: str) -> Differences:
        own_suffix = "" if reading == "paper" else " (released)"
        found = {}
        for own, rival, metric in product(PROPOSED, RIVALS[claim.id], METRICS):
            other = rival + own_suffix * (rival == SYMMETRIC)
            pair = [{"model": own + own_suffix}, {"model": other}]
            found[f"{metric}: {own} less {rival}"] = _paired(runs, metric, *pair)
        return found

    return judged(claim, "pricdr", committed("pricdr"), differences)


def decide_trend(claim: Claim, context: Context) -> Verdict:
    """CD-RQ4 and CD-RQ5: HR@10 of PriCDR-J and -S by epsilon, rows, density, and sparsity of the source."""
    differences = _parameters if claim.id == "CD-RQ4" else _sparsity
    return judged(claim, "pricdr-sweeps", committed("pricdr-sweeps"), differences)


def judged(
    claim: Claim,
    experiment: str,
    result: Mapping[str, Any] | None,
    differences: Callable[[Sequence[Run], str], Differences],
) -> Verdict:
    """The verdict that the runs of a result support.

    Args:
        claim: any whose every comparison is claimed to be positive.
        experiment: the name of the one that makes the result.
        result: of that experiment; None if there is none.
        differences: from the runs and a reading to the paired differences of every comparison, by its name.
    """
    command = (
        f"`dpassay experiment {experiment} --data FOLDER --output src/dpassay/results/{experiment}.json` makes the "
        "result that decides it, on Douban Book to Music"
    )
    if result is None:
        return Verdict(claim.id, "open", f"Not decided: the models were not trained here. {command}.")
    sizes = {entry["name"]: entry["ratings"] for entry in result["inputs"]}
    if result["quick"] or any(sizes.get(name) != ratings for name, ratings in DATASETS.items()):
        return Verdict(claim.id, "open", f"Not decided: the committed result is not the whole one. {command}.")
    readings = {reading: differences(result["runs"], reading) for reading in READINGS}
    lacking = [f"{reading}: {name}" for reading, found in readings.items() for name in found if len(found[name]) < 2]
    inputs = {
        "form": "orderings",
        "confidence": CONFIDENCE,
        "description": "Douban Book to Music with the authors' split and negatives, each metric at the epoch that is "
        "best on validation; differences of two runs of one seed; the settings of the paper and of the released code",
        "readings": {
            reading: {
                name: {"claimed": "positive", "differences": [f"{v:.6f}" for v in values] if len(values) > 1 else []}
                for name, values in found.items()
            }
            for reading, found in readings.items()
        },
    }
    try:
        outcome = check("reproduction", inputs)
    except Rejected as problem:
        return Verdict(claim.id, "open", f"Not decided: {problem}. {command}.")
    explanation = " ".join(_explained(reading, entry) for reading, entry in outcome["readings"].items())
    missing = f" No two paired runs of some comparisons ({'; '.join(lacking[:3])})." if lacking else ""
    tables = tuple(_table(reading, entry) for reading, entry in outcome["readings"].items())
    return Verdict(
        claim.id,
        outcome["supports"],
        f"{explanation}{missing}",
        evidence=(shown(explanation, {"kind": "reproduction", "inputs": inputs}, tables=tables),),
        assumptions=(
            "Douban Book to Music, whose data can be had, stands for the six tasks",
            "HeteroCDR is what models/heterocdr.py makes of the equations and of the released code",
        ),
    )


def _explained(reading: str, outcome: Mapping[str, Any]) -> str:
    entries = {name: entry for name, entry in outcome["comparisons"].items() if "mean" in entry}
    worst = min(entries, key=lambda name: float(entries[name]["mean"]))
    entry = entries[worst]
    return (
        f"With the {reading} settings, {outcome['summary']}; the smallest mean difference is "
        f"{float(entry['mean']):+.4f} ({worst}; {float(entry['low']):+.4f} to {float(entry['high']):+.4f})."
    )


def _table(reading: str, outcome: Mapping[str, Any]) -> Table:
    parts = ("mean", "low", "high")
    rows = [
        [
            name,
            entry.get("count", 0),
            *(f"{float(entry[part]):+.4f}" if part in entry else "" for part in parts),
            entry["side"],
        ]
        for name, entry in outcome["comparisons"].items()
    ]
    return Table(
        f"Paired differences over seeds, {reading} settings (all intervals of both settings together 95%)",
        ["comparison", "seeds", *parts, "side"],
        rows,
    )


def _parameters(runs: Sequence[Run], reading: str) -> Differences:
    """Section 6.3: up with epsilon, a bell in the rows, a best density in the middle."""
    usual = _usual(reading)

    def less(model: str, high: Mapping[str, Any], low: Mapping[str, Any]) -> list[float]:
        base = {**usual, "model": model, "reading": reading}
        return _paired(runs, "HR10", {**base, **high}, {**base, **low})

    return {
        "PriCDR-J: epsilon 64 less 0.5": less("PriCDR-J", {"epsilon": 64.0}, {"epsilon": 0.5}),
        **{
            f"PriCDR-J: 400 rows less {rows}": less("PriCDR-J", {"num_rows": 400}, {"num_rows": rows})
            for rows in (100, 800)
        },
        **{
            f"PriCDR-S: density 0.5 less {density}": less("PriCDR-S", {"density": 0.5}, {"density": density})
            for density in (0.1, 0.9)
        },
    }


def _sparsity(runs: Sequence[Run], reading: str) -> Differences:
    """Section 6.3: what thinning the source to an eighth costs J and S, and J beyond S."""
    usual = _usual(reading)
    lost = {}
    for model in PROPOSED:
        base = {**usual, "model": model, "reading": reading}
        pairs = ((run["seed"], run) for run in _matching(runs, {**base, "share": 0.125}))
        whole = {run["seed"]: run for run in _matching(runs, base)}
        lost[model] = {seed: whole[seed]["authors_HR10"] - run["authors_HR10"] for seed, run in pairs if seed in whole}
    both = sorted(set(lost["PriCDR-J"]) & set(lost["PriCDR-S"]))
    return {
        **{f"{model}: whole source less an eighth": list(by_seed.values()) for model, by_seed in lost.items()},
        "loss of PriCDR-J less loss of PriCDR-S": [lost["PriCDR-J"][seed] - lost["PriCDR-S"][seed] for seed in both],
    }


def _usual(reading: str) -> dict[str, Any]:
    from dpassay.models.published import RELEASED, Publication  # loads JAX, which most verdicts do not need

    source = RELEASED if reading == "released" else Publication()
    return {"epsilon": TABLE_EPSILON, "num_rows": source.num_rows, "density": source.density, "share": 1.0}


def _matching(runs: Sequence[Run], wanted: Mapping[str, Any]) -> list[Run]:
    return [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]


def _paired(runs: Sequence[Run], metric: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[float]:
    """First less second for every seed that both have, in the order of seeds."""
    by_seed = {run["seed"]: run[f"authors_{metric}"] for run in _matching(runs, second)}
    pairs = sorted((run["seed"], run[f"authors_{metric}"]) for run in _matching(runs, first))
    return [value - by_seed[seed] for seed, value in pairs if seed in by_seed]
