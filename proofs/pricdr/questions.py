"""The five research questions of Chen et al. (WWW 2022, section 6), decided from trained models.

CD-RQ1 to CD-RQ3 rest on the committed result of the experiment `pricdr`, CD-RQ4 and CD-RQ5 on that of `pricdr-sweeps`.
Every comparison is a difference between two runs of one seed. The claims are judged in two readings, the paper's
settings and those of the released code: one in which every interval is on the claimed side makes a claim hold; it is
refuted if in each reading one interval is on the other side.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from dpassay.core.claims import Claim, Context, Evidence, Outcome, Verdict
from dpassay.core.records import Table
from dpassay.data.pricdr_tasks import TASKS
from dpassay.experiments.pricdr.printed import CROSS_DOMAIN, METRICS, PROPOSED, SINGLE_DOMAIN, SYMMETRIC
from dpassay.proofs.decisions import shown
from dpassay.replay import check
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
    evidence, supports, lacking = [], {}, []
    for reading in READINGS:
        found = differences(result["runs"], reading)
        short = [name for name, values in found.items() if len(values) < 2]
        if short:
            lacking.append(f"{reading}: {', '.join(short[:3])}{' and others' if len(short) > 3 else ''}")
        found = {name: values for name, values in found.items() if name not in short}
        if not found:
            continue
        inputs = _inputs(found, reading)
        outcome = check("reproduction", inputs)
        # A comparison that is missing may go either way: it stands against `holds`, not against `refuted`.
        supports[reading] = "open" if short and outcome["supports"] == "holds" else outcome["supports"]
        evidence.append((reading, outcome, inputs))
    verdict: Outcome = "open"
    if "holds" in supports.values():
        verdict = "holds"
    elif len(supports) == len(READINGS) and set(supports.values()) == {"refuted"}:
        verdict = "refuted"
    telling = [_evidence(*record) for record in evidence if verdict in ("open", supports[record[0]])]
    missing = f" No two paired runs of some comparisons ({'; '.join(lacking)})." if lacking else ""
    explanation = " ".join(_explained(reading, outcome) for reading, outcome, _ in evidence)
    return Verdict(
        claim.id,
        verdict,
        f"{explanation}{missing}".strip(),
        evidence=tuple(telling),
        assumptions=(
            "Douban Book to Music, whose data can be had, stands for the six tasks",
            "HeteroCDR is what models/heterocdr.py makes of the equations and of the released code",
        ),
    )


def _inputs(found: Differences, reading: str) -> dict[str, Any]:
    return {
        "form": "orderings",
        "confidence": CONFIDENCE,
        "description": f"Douban Book to Music with the authors' split and negatives, {reading} settings, each metric "
        "at the epoch that is best on validation; differences of two runs of one seed",
        "comparisons": {
            name: {"claimed": "positive", "differences": [f"{value:.6f}" for value in values]}
            for name, values in found.items()
        },
    }


def _explained(reading: str, outcome: Mapping[str, Any]) -> str:
    entries = outcome["comparisons"]
    worst = min(entries, key=lambda name: float(entries[name]["mean"]))
    entry = entries[worst]
    return (
        f"With the {reading} settings, {outcome['summary']}; the smallest mean difference is "
        f"{float(entry['mean']):+.4f} ({worst}; {float(entry['low']):+.4f} to {float(entry['high']):+.4f})."
    )


def _evidence(reading: str, outcome: Mapping[str, Any], inputs: Mapping[str, Any]) -> Evidence:
    entries = outcome["comparisons"]
    rows = [
        [name, entry["count"], *(f"{float(entry[part]):+.4f}" for part in ("mean", "low", "high")), entry["side"]]
        for name, entry in entries.items()
    ]
    table = Table(
        f"Paired differences over seeds, {reading} settings (simultaneous 95% intervals)",
        ["comparison", "seeds", "mean", "low", "high", "side"],
        rows,
    )
    return shown(_explained(reading, outcome), {"kind": "reproduction", "inputs": dict(inputs)}, tables=(table,))


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
    from dpassay.experiments.pricdr.sweeps import READINGS as settings  # loads JAX, which most verdicts do not need
    from dpassay.experiments.pricdr.sweeps import TABLE_EPSILON

    source = settings[reading].source
    return {"epsilon": TABLE_EPSILON, "num_rows": source.num_rows, "density": source.density, "share": 1.0}


def _matching(runs: Sequence[Run], wanted: Mapping[str, Any]) -> list[Run]:
    return [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]


def _paired(runs: Sequence[Run], metric: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> list[float]:
    """First less second for every seed that both have, in the order of seeds."""
    by_seed = {run["seed"]: run[f"authors_{metric}"] for run in _matching(runs, second)}
    pairs = sorted((run["seed"], run[f"authors_{metric}"]) for run in _matching(runs, first))
    return [value - by_seed[seed] for seed, value in pairs if seed in by_seed]
