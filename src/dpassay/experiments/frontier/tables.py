"""Curve points and tables of the experiment `frontier`: errors over readers, differences paired by reader."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpassay.core.records import Table
from dpassay.experiments.cells import by_reader, difference, grouped
from dpassay.runs.results import mean_interval

METHOD = ("panel", "method", "variant", "epsilon", "p")
REFERENCE = {"ratings": "reader's mean", "lists": "random list"}
"""What costs no privacy at all: differences are to it."""
NAMES = {
    "knn/paper": "kNN",
    "npns/paper": "nPNS as printed",
    "pncf/paper": "PNCF as printed",
    "ppns/paper": "PPNS as printed",
    "npns/repaired": "nPNS repaired",
    "ppns/repaired": "PPNS repaired",
    "npns/repaired, noisy means": "nPNS repaired, noisy means",
    "ppns/repaired, noisy means": "PPNS repaired, noisy means",
    "jlt/paper": "PriCDR, JLT as printed",
    "sjlt/paper": "PriCDR, SJLT as printed",
    "jlt/repaired": "PriCDR, JLT repaired",
    "sjlt/repaired": "PriCDR, SJLT repaired",
    "jlt/repaired, noisy means": "PriCDR, JLT repaired, noisy means",
    "modified_laplace": "rating collection, modified Laplace",
    "randomized_response": "rating collection, randomized response",
    "paper": "X-Map as printed",
    "released": "X-Map as released",
    "repaired": "X-Map repaired",
    "k-DPP": "k-DPP with jitter",
}
AGAIN = "a changed rating is a user who leaves and joins again"
CLEAR = "predictions from the neighbors' clear ratings"
GUARANTEES = (
    ("constant, reader's mean, random list", "all of others", "nothing made from others' data", "0", "0"),
    (
        "noisy item means, noisy popularity (ours)",
        "one rating added, removed or changed",
        "noisy sum and count of every item",
        "epsilon, once: items share no rating",
        "nothing more: one release for all",
    ),
    ("kNN, item mean, NX-Map, popularity", "nothing, none is claimed", "clear ratings", "infinite", "-"),
    (
        "nPNS, PNCF, PPNS as printed",
        "one rating; the set of neighbors",
        CLEAR,
        "claimed once for the set; none is true (PP-EM, PP-PNCF-NOT, PP-DP)",
        "-",
    ),
    (
        "nPNS, PPNS repaired",
        "one rating of another person; the set of neighbors (PP-EM-REP, PP-DP-REP)",
        CLEAR,
        "source rating: epsilon, once; target rating: infinite",
        "adds up over readers",
    ),
    (
        "nPNS, PPNS repaired, noisy means (ours)",
        "one rating of another person",
        "noisy sum and count of every item over her neighbors",
        "the larger of the two epsilons, once: source ratings choose, target ratings are summed",
        "adds up over readers",
    ),
    (
        "rating collection: modified Laplace, randomized response",
        "one entry of the matrix replaced, a missing one too (RC-T1, RC-T2, RC-EXE-REP)",
        "everybody's perturbed entries",
        "epsilon, once",
        "nothing more: one release for all",
    ),
    (
        "X-Map as printed, as released",
        "one user who joins or leaves",
        "L replaced ratings, T predictions with item means",
        "claimed L eps + T eps'; none is true (XM-T1, XM-PNSA and -REL)",
        "-",
    ),
    (
        "X-Map repaired",
        "one user who joins or leaves (XM-T1-REP, XM-PNSA-REP)",
        "L replaced ratings, T predictions without item means",
        f"L eps + 2 T eps': {AGAIN}",
        "adds up over readers",
    ),
    (
        "PriCDR: JLT as printed; JLT, SJLT repaired",
        "one source rating, (eps, delta) (CD-T52-REP, CD-SJLT-REP)",
        f"the sketch; {CLEAR}",
        "source rating: the exact profile at delta = 1/n^2, once; target rating: infinite, and never claimed finite",
        "nothing more for source ratings",
    ),
    ("PriCDR: SJLT as printed", "one source rating, (eps, delta)", f"the sketch; {CLEAR}", "none (CD-SJLT)", "-"),
    (
        "PriCDR: JLT repaired, noisy means (ours)",
        "one rating of another person, (eps, delta)",
        "the sketch; noisy sum and count of every item over her neighbors",
        "the larger of the two epsilons, once",
        "sums and counts add up over readers",
    ),
    (
        "k-DPP with jitter, from counts",
        "one user who joins or leaves (DP-KDPP-REP)",
        "one list of 10 for everybody",
        f"2 epsilon: {AGAIN}",
        "nothing more; further lists add up",
    ),
)
"""Method; what its own guarantee protects; what a reader is shown; epsilon of that for one rating; of more readers."""
BETTER = {"ratings": -1, "lists": 1}  # the sign of a difference that is an improvement


def points(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One point per method and epsilon, all folds together.

    Returns:
        The method's fields, "label", the epsilons of `Privacy` ("infinite" for infinity; means over readers, but
        "largest"), "value", "other_form" and "spread" (see `measure`), "readers", and "gap", "gap_low", "gap_high": the
        mean difference to `REFERENCE`, paired by reader, with its 95% t-interval.
    """
    groups = grouped(records, METHOD)
    references = {key[0]: by_reader(group, "value") for key, group in groups.items() if key[1] == REFERENCE[key[0]]}
    result = []
    for key, group in groups.items():
        values, reference = by_reader(group, "value"), references[key[0]]
        gap, low, high = mean_interval([value - reference[user] for user, value in values.items()])
        weights = [record["readers"] for record in group]
        point: dict[str, Any] = dict(zip(METHOD, key, strict=True))
        point["label"] = NAMES.get(key[2], key[1])
        for name in ("claimed", "true", "part", "delta", "value", "other_form", "spread"):
            each: list[Any] = [record.get(name) for record in group]
            point[name] = each[0] if None in each or "infinite" in each else float(np.average(each, weights=weights))
        largest = [record["largest"] for record in group if record["largest"] is not None]
        point |= {"largest": max(largest, default=None), "readers": sum(weights)}
        result.append(point | {"gap": gap, "gap_low": low, "gap_high": high})
    return result


def tables(records: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], name: str) -> list[Table]:
    """All tables."""
    folds = len({record["fold"] for record in records})
    columns = ["method", "its own guarantee protects", "a reader is shown"]
    columns += ["epsilon of all that, for one rating of another person", "for more readers"]
    return [
        Table("What each guarantee is about", columns, [list(row) for row in GUARANTEES]),
        _first_gains(found, name),
        _points_table(found, "ratings", f"Predicting hidden ratings on {name}, {folds} folds", "MAE"),
        _points_table(found, "lists", f"Lists of 10 on {name}, {folds} folds", "precision@10"),
    ]


def _points_table(found: Sequence[Mapping[str, Any]], panel: str, title: str, measure: str) -> Table:
    mine = [point for point in found if point["panel"] == panel]
    columns = ["method", "epsilon of the mechanism", "p", "claimed", "true, one rating of another"]
    columns += ["true for a source rating only", "true, reader shown most", "delta", measure]
    columns += ["other form"] * (panel == "ratings") + [f"minus {REFERENCE[panel]} (95%)", "sd of releases, one fold"]
    rows = []
    for point in mine:
        row = [point["label"], *(_number(point[name]) for name in ("epsilon", "p", "claimed", "true", "part"))]
        row += [_number(point["largest"]), f"{point['delta']:.2g}" if point["delta"] else "0", f"{point['value']:.4f}"]
        if panel == "ratings":
            row.append("-" if point["other_form"] is None else f"{point['other_form']:.4f}")
        rows.append([*row, _gap(point), "-" if point["spread"] is None else f"{point['spread']:.4f}"])
    return Table(f"{title}: {mine[0]['readers']} readers", columns, rows)


def _first_gains(found: Sequence[Mapping[str, Any]], name: str) -> Table:
    """Per method, the smallest true epsilon at which it is certainly better than what needs no data of others."""
    rows = []
    for panel, sign in BETTER.items():
        curves: dict[str, list[Mapping[str, Any]]] = {}
        for point in found:
            if point["panel"] == panel and point["epsilon"] is not None:
                curves.setdefault(point["label"], []).append(point)
        for label, curve in curves.items():
            finite = [point for point in curve if point["true"] != "infinite"]
            gains = [p for p in finite if (p["gap_high"] if sign < 0 else -p["gap_low"]) < 0]
            best = min(curve, key=lambda point: sign * -point["value"])
            row = [panel, label, f"{best['value']:.4f}", _number(best["true"])]
            first = min(gains, key=lambda point: point["true"], default=None)
            if first is None:
                rows.append([*row, "nowhere" if finite else "no finite epsilon", "-"])
            else:
                rows.append([*row, _number(first["true"]), _gap(first)])
    columns = ["panel", "method", "best value", "at true epsilon", "certainly better from true epsilon", "by (95%)"]
    title = (
        f"From which true epsilon a method beats the reader's own mean, or a random list ({name}; each interval 95%)"
    )
    return Table(title, columns, rows)


def _gap(point: Mapping[str, Any]) -> str:
    return difference(point["gap"], point["gap_low"], point["gap_high"])


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return "infinite" if math.isinf(value) else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
