"""Tables and plots of the experiment `xmap`: errors, differences paired by reader, and which epsilon is true."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpassay.core.records import Plot, Series, Table
from dpassay.core.registry import expected_outcomes
from dpassay.experiments.cells import by_reader, difference, grouped
from dpassay.runs.results import mean_interval

CLAIMS = {
    "prs/paper": "XM-T1",
    "prs/released": "XM-T1-REL",
    "prs/repaired": "XM-T1-REP",
    "pnsa/paper": "XM-PNSA",
    "pnsa/released": "XM-PNSA-REL",
    "pnsa/repaired": "XM-PNSA-REP",
}
"""The claim whose verdict says whether a selection's epsilon is true."""
METHOD = ("mapping", "links", "recommender", "epsilon", "epsilon_prime", "k", "overlap", "kept")
VARIANTS = {"paper": "as printed", "released": "as released", "repaired": "repaired"}
PRIVATE_MEAN = 0.6
"""Epsilon of the baseline 'global mean with noise'; nats."""


class Pooled:
    """All folds of one setting.

    Attributes:
        setting: the method's fields.
        by_reader: form of the error -> reader's user number -> mean absolute error.
        mean: name -> mean over all predictions (or folds, for counts).
        spread: standard deviation of the folds' "mae".
    """

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.setting = {name: records[0][name] for name in METHOD}
        weights = [record["predictions"] for record in records]
        names = [name for name, value in records[0].items() if isinstance(value, float) and name not in METHOD]
        self.mean = {name: float(np.average([each[name] for each in records], weights=weights)) for name in names}
        self.spread = float(np.std([each["mae"] for each in records], ddof=1)) if len(records) > 1 else math.nan
        self.predictions, self.readers = sum(weights), sum(each["readers"] for each in records)
        self.by_reader = {form: by_reader(records, form) for form in ("mae", "rounded", "own", "positive")}


def pool(records: Sequence[Mapping[str, Any]], part: str) -> list[Pooled]:
    """The settings of one part, each with all its folds, in order."""
    return [Pooled(group) for group in grouped((each for each in records if each["part"] == part), METHOD).values()]


def paired(one: Pooled, two: Pooled, forms: tuple[str, str] = ("mae", "mae")) -> tuple[float, float, float]:
    """Mean over readers of the difference of their errors, and its 95% t-interval; readers are independent."""
    first, second = one.by_reader[forms[0]], two.by_reader[forms[1]]
    return mean_interval([first[user] - second[user] for user in first if user in second])


def claimed_epsilon(pooled: Pooled) -> float:
    """What the paper's epsilons add up to for one reader: L replaced ratings and T predictions; nats."""
    size, predictions = pooled.mean["source_ratings"], pooled.mean["predictions_per_reader"]
    setting = pooled.setting
    draws = size * setting["epsilon"] if setting["mapping"].startswith("prs/") else 0.0
    shown = predictions * setting["epsilon_prime"] if setting["recommender"].startswith("pnsa/") else 0.0
    return draws + shown


def true_epsilon(pooled: Pooled, outcomes: Mapping[str, Mapping[str, str]]) -> float:
    """Epsilon of all that one reader sees, protecting any other user, of the predictions without item means; nats.

    Infinite unless both the mapping and the recommender are private by a claim that holds.
    """
    baselines = {"reader's mean": 0.0, "global mean with noise": PRIVATE_MEAN}
    if pooled.setting["recommender"] in baselines:
        return baselines[pooled.setting["recommender"]]
    steps = (pooled.setting["mapping"], pooled.setting["recommender"])
    true = all(step in CLAIMS and outcomes.get(CLAIMS[step], {}).get("") == "holds" for step in steps)
    return claimed_epsilon(pooled) if true else math.inf


def tables(records: Sequence[Mapping[str, Any]], name: str) -> list[Table]:
    """All tables."""
    return [
        _methods(records, name),
        *(_sweep(records, *each, name) for each in SWEEPS),
        *_grids(records, name),
        _directions(records, name),
    ]


SWEEPS = (
    ("epsilon of PRS", "epsilon", "MAE against the epsilon of one replacement, nearest neighbors without privacy"),
    (
        "epsilon' of PNSA and PNCF",
        "epsilon_prime",
        "MAE against the epsilon' of one prediction, most similar replacements without privacy",
    ),
    ("neighbors", "k", "MAE against k"),
    ("overlap", "overlap", "MAE against the share of other users who link the domains"),
    ("ratings kept", "kept", "MAE against the ratings that a reader keeps in the target domain"),
)


def plots(records: Sequence[Mapping[str, Any]], name: str) -> list[Plot]:
    """One plot per sweep."""
    result = []
    for part, axis, title in SWEEPS:
        lines = _lines(records, part, axis)
        folds = {record["fold"] for record in records if record["part"] == part}
        private: dict[str, Any] = {}
        if axis.startswith("epsilon"):
            same = _named([record for record in records if record["fold"] in folds], "item mean")
            mark = {"axis": "y", "at": same.mean["mae"], "label": "item mean"}
            private = {"x_scale": "log", "marks": [mark]}
        series = [
            Series(label, [float(each.setting[axis]) for each in chosen], [each.mean["mae"] for each in chosen])
            for label, chosen in lines.items()
        ]
        result.append(Plot(f"{name}: {title}", axis.replace("_prime", "'"), "mean absolute error", series, **private))
    return result


def _lines(records: Sequence[Mapping[str, Any]], part: str, axis: str) -> dict[str, list[Pooled]]:
    """The settings of a sweep by what they have in common."""
    lines: dict[str, list[Pooled]] = {}
    for each in pool(records, part):
        lines.setdefault(_label(each.setting), []).append(each)
    return {label: sorted(chosen, key=lambda each: each.setting[axis]) for label, chosen in lines.items()}


def _label(setting: Mapping[str, Any]) -> str:
    mapping, recommender = setting["mapping"], setting["recommender"]
    unmapped: dict[str, str] = {"none": recommender, "linked": "linked-domain kNN", "own": "target-only kNN"}
    if mapping in unmapped:
        return unmapped[mapping]
    text = "NX-Map" if mapping == "nearest" else f"PRS {VARIANTS[mapping.removeprefix('prs/')]}"
    if recommender.startswith("pnsa/"):
        text += f", PNSA and PNCF {VARIANTS[recommender.removeprefix('pnsa/')]}"
    elif recommender != "nearest of the item":
        text += f", {recommender}"
    return text + ("" if setting["links"] == "meta-paths" else f", {setting['links']}")


def _named(records: Sequence[Mapping[str, Any]], label: str) -> Pooled:
    return next(each for each in pool(records, "methods") if _label(each.setting) == label)


def _methods(records: Sequence[Mapping[str, Any]], name: str) -> Table:
    methods, outcomes = pool(records, "methods"), expected_outcomes()
    base, plain = _named(records, "item mean"), _named(records, "NX-Map")
    cells: dict[str, Callable[[Pooled], str]] = {
        "method": lambda each: _label(each.setting),
        "epsilon per replacement": lambda each: _number(each.setting["epsilon"]),
        "epsilon' per prediction": lambda each: _number(each.setting["epsilon_prime"]),
        "MAE": lambda each: f"{each.mean['mae']:.4f}",
        "sd of folds": lambda each: f"{each.spread:.4f}",
        "MAE rounded": lambda each: f"{each.mean['rounded']:.4f}",
        "MAE of sum s r / sum |s|": lambda each: f"{each.mean['own']:.4f}",
        "same, s > 0 only": lambda each: f"{each.mean['positive']:.4f}",
        "minus item mean (95%)": lambda each: difference(*paired(each, base)),
        "minus NX-Map (95%)": lambda each: difference(*paired(each, plain)),
        "ratings mapped": lambda each: f"{each.mean['mapped']:.0%}",
        "predictions with a neighbor": lambda each: f"{each.mean['covered']:.0%}",
        "claimed for a reader: L epsilon + T epsilon'": lambda each: (
            f"{claimed:.1f}" if (claimed := claimed_epsilon(each)) else "-"
        ),
        "true for a reader, without item means": lambda each: _number(true_epsilon(each, outcomes)),
    }
    one = methods[0]
    title = (
        f"Predicting hidden ratings on {name}: {one.readers} readers, {one.predictions} ratings, k = "
        f"{plain.setting['k']}; a reader has L = {one.mean['source_ratings']:.1f} source ratings and T = "
        f"{one.mean['predictions_per_reader']:.1f} predictions on average"
    )
    return Table.of(title, cells, methods)


def _sweep(records: Sequence[Mapping[str, Any]], part: str, axis: str, title: str, name: str) -> Table:
    lines = _lines(records, part, axis)
    values = sorted({each.setting[axis] for chosen in lines.values() for each in chosen})
    rows = []
    for label, chosen in lines.items():
        by_value = {each.setting[axis]: each for each in chosen}
        forms = ("mae", "positive") if "PNSA" in label else ("mae",)
        for form in forms:
            shown = label if form == "mae" else f"{label}, without item means"
            cells = [f"{by_value[value].mean[form]:.4f}" if value in by_value else "-" for value in values]
            rows.append([shown, *cells])
    folds = {record["fold"] for record in records if record["part"] == part}
    symbol = {"epsilon_prime": "epsilon'", "overlap": "share", "kept": "kept"}.get(axis, axis)
    heads = ["method", *(f"{symbol} = {value:g}" for value in values)]
    return Table(f"{title} ({name}; {len(folds)} folds)", heads, rows)


def _grids(records: Sequence[Mapping[str, Any]], name: str) -> list[Table]:
    outcomes, result = expected_outcomes(), []
    for label, chosen in _lines(records, "both epsilons", "epsilon").items():
        cells = {(each.setting["epsilon"], each.setting["epsilon_prime"]): each for each in chosen}
        epsilons, columns = (sorted({place[axis] for place in cells}) for axis in (0, 1))
        heads = ["epsilon", *(f"epsilon' = {value:g}" for value in columns)]
        rows = [[f"{e:g}", *(f"{cells[e, f].mean['mae']:.4f}" for f in columns)] for e in epsilons]
        result.append(Table(f"MAE, {label} ({name}); rows epsilon, columns epsilon'", heads, rows))
    rest = [*pool(records, "both epsilons"), *pool(records, "both epsilons, large")]
    same = [each for each in rest if each.setting["epsilon"] == each.setting["epsilon_prime"]]
    whole: dict[str, Callable[[Pooled], str]] = {
        "method": lambda each: _label(each.setting),
        "epsilon": lambda each: f"{each.setting['epsilon']:g}",
        "claimed for a reader": lambda each: f"{claimed_epsilon(each):.1f}",
        "true for a reader": lambda each: _number(true_epsilon(each, outcomes)),
        "MAE": lambda each: f"{each.mean['mae']:.4f}",
        "without item means": lambda each: f"{each.mean['positive']:.4f}",
    }
    same.sort(key=lambda each: (_label(each.setting), each.setting["epsilon"]))
    result.append(Table.of(f"What the whole of X-Map costs at epsilon = epsilon' ({name})", whole, same))
    return result


def _directions(records: Sequence[Mapping[str, Any]], name: str) -> Table:
    """The last point of every sweep less its first, paired by reader."""
    rows = []
    for part, axis, _ in SWEEPS:
        for label, chosen in _lines(records, part, axis).items():
            if len(chosen) < 2:
                continue
            first, last = chosen[0], chosen[-1]
            change = paired(last, first)
            side = "falls" if change[2] < 0 else "rises" if change[1] > 0 else "not decided"
            ends = f"{first.setting[axis]:g} to {last.setting[axis]:g}"
            rows.append([part, label, ends, difference(*change), side])
    title = f"How the MAE moves from the first to the last point of every sweep, paired by reader ({name})"
    return Table(title, ["sweep", "method", "from, to", "change (95%)", "MAE"], rows)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return "infinite" if math.isinf(value) else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
