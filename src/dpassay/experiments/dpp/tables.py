"""Tables and plots of the experiment `dpp`, from its runs alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpassay.core.records import Plot, Series, Table
from dpassay.data.ratings import Ratings
from dpassay.experiments.cells import mean_of, mean_series
from dpassay.experiments.dpp.jitter import SIZE, Family, Features, paper_jitter, required_jitter, true_epsilon
from dpassay.runs.results import mean_interval

Runs = Sequence[Mapping[str, Any]]

TOP = "exponential top-N"
SPREAD = f"{TOP}, spread by genre"
DELTA = 1e-6
SHARES = (0.1, 0.5, 0.9)
RECOMMENDATIONS = (1, 10, 100, 1000)
FAMILIES: tuple[tuple[Family, Features], ...] = (("k-DPP", "binary"), ("k-DPP", "counts"), ("DPP", "binary"))
COLUMNS = (
    ("precision", "precision@10", 4),
    ("recall", "recall@10", 4),
    ("hit_share", "users with a hit", 3),
    ("raters", "raters per item", 1),
    ("cosine_distance", "distance, co-rating", 3),
    ("genre_distance", "distance, genre", 3),
    ("log_volume", "log det", 2),
    ("coverage", "items in 100 lists", 3),
    ("gini", "Gini, 100 lists", 3),
    ("like_uniform", "lists as uniform's", 2),
)


def kept(runs: Runs, method: str, features: str, theorem: str, asked: float) -> list[float]:
    """Per split, the share of the noiseless process' gain in precision over uniform lists that is left; exact laws."""
    own = [run for run in runs if (run["method"], run["features"]) == (f"{method}, exact law", features)]
    best = {run["split"]: run["precision"] - run["uniform_precision"] for run in own if run["theorem"] is None}
    return [
        (run["precision"] - run["uniform_precision"]) / best[run["split"]]
        for run in own
        if (run["theorem"], run["asked"]) == (theorem, asked)
    ]


def threshold(epsilons: Sequence[float], shares: Sequence[float], share: float) -> float:
    """The epsilon from which on `share` is kept, by interpolation in log epsilon; 0 or infinite outside the grid.

    Epsilons increase; `shares` are what is kept at each.
    """
    below = [place for place, value in enumerate(shares) if value < share]
    if not below:
        return 0.0
    last = below[-1]
    if last + 1 == len(shares):
        return math.inf
    part = (share - shares[last]) / (shares[last + 1] - shares[last])
    return math.exp((1 - part) * math.log(epsilons[last]) + part * math.log(epsilons[last + 1]))


def tables(runs: Runs, ratings: Ratings) -> list[Table]:
    """All tables."""
    return [_main(runs, ratings.name), _jitters(runs, ratings), _uniformity(runs), _several(), _budget(runs)]


def plots(runs: Runs, name: str) -> list[Plot]:
    """Relevance and diversity against true epsilon and each other, what is kept, and the distance from uniform."""
    diversities = [("cosine_distance", "co-rating cosine")]
    if runs[0]["genre_distance"] is not None:
        diversities.append(("genre_distance", "genres"))
    relevance = _against_epsilon(runs, "precision", f"Relevance against true epsilon per list, {name}", "precision@10")
    drawn = [relevance]
    for metric, title in diversities:
        heading = f"Diversity by {title} against true epsilon per list, {name}"
        drawn.append(_against_epsilon(runs, metric, heading, "mean distance within a list"))
    label = "share of the relevance over uniform that is left"
    drawn.append(_curves(runs, "What is left of a noiseless DPP's relevance, by the bound used", label, kept))
    title = "Total variation between the shown items' law and the uniform one"
    drawn.append(_curves(runs, title, "total variation", _variations))
    return [*drawn, *(_front(runs, metric, title) for metric, title in diversities)]


def _main(runs: Runs, name: str) -> Table:
    shown = [column for column in COLUMNS if any(run.get(column[0]) is not None for run in runs)]
    cells: dict[str, Callable[[Runs], str]] = {
        "method": lambda own: _label(_key(own[0])),
        "epsilon per list": lambda own: "not private" if own[0]["epsilon"] is None else f"{own[0]['epsilon']:.3g}",
        "jitter": lambda own: "-" if own[0]["jitter"] is None else f"{own[0]['jitter']:.4g}",
        **{title: partial(_pooled, field, digits) for field, title, digits in shown},
    }
    title = f"Lists of 10 for everybody on {name}: means over splits, 95% intervals over splits (half width)"
    return Table.of(title, cells, [_of(runs, *key) for key in _sampled(runs)])


def _jitters(runs: Runs, ratings: Ratings) -> Table:
    num = ratings.num_items
    asked = dict.fromkeys(run["asked"] for run in runs if run["method"] == "k-DPP" and run["asked"])
    paper = partial(paper_jitter, "binary", num)
    exact, true = partial(required_jitter, num_items=num), partial(true_epsilon, num_items=num)
    cells: dict[str, Callable[[float], Any]] = {
        "epsilon": lambda epsilon: epsilon,
        "k-DPP, binary, exact": lambda epsilon: f"{exact('k-DPP', 'binary', epsilon=epsilon):.4g}",
        "k-DPP, counts up to 5, exact": lambda epsilon: f"{exact('k-DPP', 'counts', epsilon=epsilon):.4g}",
        "DPP, binary, exact": lambda epsilon: f"{exact('DPP', 'binary', epsilon=epsilon):.4g}",
        "paper's bound, binary": lambda epsilon: f"{paper(epsilon):.4g}",
        "paper's over exact DPP": lambda epsilon: f"{paper(epsilon) / exact('DPP', 'binary', epsilon=epsilon):.4g}",
        "true epsilon of a DPP at the paper's jitter": lambda e: f"{true('DPP', 'binary', jitter=paper(e)):.3g}",
        "of a k-DPP": lambda e: f"{true('k-DPP', 'binary', jitter=paper(e)):.3g}",
    }
    return Table.of(f"Jitter for an epsilon per list, {num} items, one user added or removed", cells, asked)


def _uniformity(runs: Runs) -> Table:
    rows, grid = [], _grid(runs)
    for family, features in FAMILIES:
        for theorem in ("exact", "paper"):
            by_split = list(zip(*(kept(runs, family, features, theorem, at) for at in grid), strict=True))
            cells = [_bounds([threshold(grid, own, share) for own in by_split], grid) for share in SHARES]
            cells += [_cell(shown(runs, family, features, theorem, 1.0), 4) for shown in (_variations, kept)]
            rows.append([family, features, theorem, *cells])
        limit = _variations(runs, family, features, None, None)
        rows.append([family, features, "no jitter", *("-" * len(SHARES)), _cell(limit, 4), "1"])
    columns = ["process", "kernel", "jitter by", *(f"{share:.0%} from epsilon" for share in SHARES)]
    return Table(
        "Where privacy makes it uniform: the epsilon asked for from which a share of the relevance over "
        "uniform lists is left (exact laws; interpolated between 4 values per decade)",
        [*columns, "total variation from uniform at epsilon 1", "share left at epsilon 1"],
        rows,
    )


def _several() -> Table:
    """A list of a k-DPP has a loss of range epsilon, hence epsilon^2/8-zCDP; of `SIZE` draws each epsilon/SIZE."""
    cells: dict[str, Callable[[int], Any]] = {
        "T": lambda number: number,
        "delta = 0, either": lambda number: f"{number:g}",
        "k-DPP, with delta": lambda number: f"{min(number, _from_zcdp(number / 8)):.3g}",
        "exponential top-N, with delta": lambda number: f"{min(number, _from_zcdp(number / (8 * SIZE))):.3g}",
    }
    title = f"What T lists at epsilon 1 each cost in all (delta = {DELTA:g} by zCDP where that is less)"
    return Table.of(title, cells, RECOMMENDATIONS)


def _budget(runs: Runs) -> Table:
    rows = []
    for number in RECOMMENDATIONS[:3]:
        epsilon = float(f"{1 / number:.4g}")
        shares = [_cell(kept(runs, *family, "exact", epsilon), 3) for family in FAMILIES]
        exact, top = _of(runs, "k-DPP, exact law", "binary", "exact", epsilon), _of(runs, TOP, None, None, epsilon)
        values = [_pooled("precision", 4, own) for own in (exact, top)]
        rows.append([number, epsilon, f"{exact[0]['jitter']:.4g}", *shares, *values])
    columns = ["T", "epsilon per list", "jitter, k-DPP binary", *(" ".join(family) for family in FAMILIES)]
    columns += ["precision@10, k-DPP binary", "precision@10, exponential top-N"]
    title = "T lists for epsilon 1 in all, delta = 0: share of the noiseless relevance over uniform that is left"
    return Table(title, columns, rows)


def _against_epsilon(runs: Runs, metric: str, title: str, label: str) -> Plot:
    series = []
    for method in (*((*family, "exact") for family in FAMILIES), (TOP, None, None), (SPREAD, None, None)):
        own = [_of(runs, *key) for key in _sampled(runs) if key[:3] == method]
        if own:
            own.sort(key=lambda group: group[0]["epsilon"])
            values = {group[0]["epsilon"]: [run[metric] for run in group] for group in own}
            series.append(mean_series(f"{method[0]} {method[1] or ''}".strip(), values))
    uniform = _of(runs, "uniform", None, None, None)
    grid = np.geomspace(min(series[-1].x), max(series[-1].x), 15)
    ends = [end for end in ("low", "high") if f"{metric}_{end}" in uniform[0]]
    interval: dict[str, Any] = {end: [mean_of(uniform, f"{metric}_{end}")] * len(grid) for end in ends}
    text, x = "uniform, 95% of single lists" if ends else "uniform", [float(f"{x:.4g}") for x in grid]
    band = Series(text, x, [mean_of(uniform, metric)] * len(grid), **interval)
    marks = [
        {"axis": "y", "at": mean_of(_of(runs, *key), metric), "label": text}
        for key, text in ((("top-N", None, None, None), "top-N"), (("k-DPP", "binary", None, None), "k-DPP, no jitter"))
    ]
    return Plot(title, "true epsilon per list (nats)", label, [*series, band], x_scale="log", marks=marks)


def _curves(runs: Runs, title: str, label: str, values: Callable[..., list[float]]) -> Plot:
    series = []
    for family, features in FAMILIES:
        for theorem in ("exact", "paper"):
            text = f"{family} {features}, {'exact theorem' if theorem == 'exact' else 'paper bound'}"
            points = {at: values(runs, family, features, theorem, at) for at in _grid(runs)}
            series.append(mean_series(text, points))
    return Plot(title, "epsilon asked for, per list (nats)", label, series, x_scale="log")


def _front(runs: Runs, metric: str, title: str) -> Plot:
    series = []
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for key in _sampled(runs):
        if key[2] != "paper":
            groups.setdefault(f"{key[0].split(' 0')[0]} {key[1] or ''}".strip(), []).append(key)
    single = [groups.pop(name) for name in ("uniform", "top-N", "greedy MAP binary", "greedy MAP counts")]
    groups["uniform, top-N, greedy MAP"] = [key for keys in single for key in keys]
    for label, keys in groups.items():
        x, y = ([mean_of(_of(runs, *key), name) for key in keys] for name in ("precision", metric))
        series.append(Series(label, x, y))
    title = f"Relevance against diversity by {title}; along a line epsilon or lambda changes"
    return Plot(title, "precision@10", "mean distance within a list", series)


def _key(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return run["method"], run["features"], run["theorem"], run["asked"]


def _of(runs: Runs, *key: Any) -> list[Mapping[str, Any]]:
    return [run for run in runs if _key(run) == key]


def _sampled(runs: Runs) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(_key(run) for run in runs if "recall" in run))


def _variations(runs: Runs, family: str, features: str, theorem: str | None, asked: float | None) -> list[float]:
    return [run["total_variation"] for run in _of(runs, f"{family}, exact law", features, theorem, asked)]


def _grid(runs: Runs) -> list[float]:
    return sorted({run["asked"] for run in runs if run["method"].endswith("exact law") and run["asked"]})


def _from_zcdp(rho: float) -> float:
    return rho + 2 * math.sqrt(rho * math.log(1 / DELTA))


def _label(key: tuple[Any, ...]) -> str:
    method, features, theorem, asked = key
    parts = [method, *([features] if features else [])]
    if method in ("k-DPP", "DPP") and asked is None:
        parts.append("no jitter")
    if theorem == "paper":
        parts.append(f"paper's jitter for {asked:g}")
    return ", ".join(parts) + (" (10 of its items)" if method == "DPP" else "")


def _pooled(field: str, digits: int, own: Runs) -> str:
    return _cell([run[field] for run in own], digits)


def _cell(values: Sequence[float | None], digits: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean, low, high = mean_interval(known)
    return f"{mean:.{digits}f} ± {(high - low) / 2:.{digits}f}"


def _bounds(values: Sequence[float], grid: Sequence[float]) -> str:
    if not all(0 < value < math.inf for value in values):
        return f"below {grid[0]:g}" if min(values) == 0 else f"above {grid[-1]:g}"
    return f"{np.mean(values):.2g}"
