"""The picture of the experiment `frontier`: accuracy against true epsilon, what has none in a band at the right edge.

    python -m dpassay.experiments.frontier.figure docs/experiments/frontier.svg

draws it from the committed result. A filled circle stands at a true epsilon, for one rating of another person anywhere;
a hollow circle at what a paper claims, joined by a thin line to the truth; a hollow diamond at a true epsilon that
covers ratings of the source domain only.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpassay.core.files import write_file
from dpassay.experiments.frontier.tables import REFERENCE
from dpassay.report.plots import GRID, INK, PAGE, SERIES, figure_file
from dpassay.runs.results import committed

TITLE = "Six of nine published private recommenders have no finite epsilon"
SUBTITLE = (
    "Noisy sums and counts of every film, a few lines of code, predict better than all nine at a true epsilon of 1"
)
SIZE = (9.4, 9.6)
LEFT, RIGHT, BAND, END = 0.006, 130_000.0, 340_000.0, 900_000.0
BLUE, ORANGE, GREEN, PURPLE, OLIVE, GRAY = SERIES


class Label(NamedTuple):
    """How the points of one label are drawn.

    Attributes:
        color: of the paper.
        text: beside the curve, or in the margin.
        place: index of the point where the text stands; offset in points; what part of the text is there.
        claim: epsilon of the mechanism (and p) whose claim is drawn, for those without a finite true epsilon.
    """

    color: str
    text: str
    place: tuple[int, float, float, str] = (-1, 6, 0, "left")
    claim: tuple[float, float | None] | None = None


CURVES: dict[str, dict[str, Label]] = {
    "ratings": {
        "noisy item means": Label(GREEN, "noisy item means (ours)", (4, -12, 8, "right")),
        "PPNS repaired, noisy means": Label(BLUE, "PPNS repaired, noisy means (ours)", (-1, 9, 4, "left")),
        "PriCDR, JLT repaired, noisy means": Label(OLIVE, "PriCDR repaired, noisy means (ours)", (-1, 9, -2, "left")),
        "rating collection, modified Laplace": Label(PURPLE, ""),
        "rating collection, randomized response": Label(
            PURPLE, "rating collection,\nclaims hold:\nmodified Laplace,\nrandomized response", (0, -8, 12, "right")
        ),
        "X-Map repaired": Label(ORANGE, "X-Map repaired", (4, 0, 20, "center")),
    },
    "lists": {
        "noisy popularity": Label(GREEN, "noisy popularity\n(ours)", (2, -2, 18, "right")),
        "PPNS repaired, noisy means": Label(BLUE, "PPNS repaired, noisy counts (ours)", (-1, 9, 0, "left")),
        "PriCDR, JLT repaired, noisy means": Label(OLIVE, "PriCDR repaired, noisy counts (ours)", (-1, 9, 2, "left")),
        "rating collection, modified Laplace": Label(PURPLE, "rating collection, claims hold", (2, 12, -22, "left")),
        "rating collection, randomized response": Label(PURPLE, ""),
        "X-Map repaired": Label(ORANGE, "X-Map repaired", (1, 0, 12, "center")),
        "k-DPP with jitter": Label(GRAY, "k-DPP with jitter (its true epsilon)", (-1, 8, 2, "left")),
    },
}
"""True epsilon for one rating of another person, anywhere."""
PARTS = {"PPNS repaired": Label(BLUE, ""), "PriCDR, JLT repaired": Label(OLIVE, "")}
"""True epsilon for a source rating only; drawn without text in the color of what covers all."""
INFINITE = {
    "nPNS as printed": Label(BLUE, "nPNS as printed", claim=(1.0, None)),
    "PNCF as printed": Label(BLUE, "PNCF as printed", claim=(1.0, None)),
    "PPNS as printed": Label(BLUE, "PPNS as printed", claim=(1.0, 0.5)),
    "PriCDR, JLT as printed": Label(OLIVE, "PriCDR, JLT as printed", claim=(4.0, None)),
    "PriCDR, SJLT as printed": Label(OLIVE, "PriCDR, SJLT as printed", claim=(4.0, None)),
    "X-Map as printed": Label(ORANGE, "X-Map as printed", claim=(0.6, None)),
    "X-Map as released": Label(ORANGE, "X-Map as released", claim=(0.6, None)),
    "kNN": Label(GRAY, "kNN of the PPNS paper"),
    "kNN among the item's raters": Label(GRAY, "kNN among raters"),
    "NX-Map": Label(GRAY, "NX-Map"),
    "item mean": Label(GRAY, "item mean"),
    "item mean + reader's deviation": Label(GRAY, "item mean + deviation"),
    "popularity": Label(GRAY, "popularity"),
}
"""What is shown has no finite true epsilon; what claims nothing is a reference."""
FREE = {
    "ratings": ("reader's own mean: nobody else's data, epsilon 0", 45.0, -9),
    "lists": ("random list, epsilon 0", 0.5, -9),
}
"""Text on the line of what costs nothing, where it begins, and how far above the line it is."""
KEY_BOTTOM = 0.901
KEY = (
    ("o", True, "-", "true epsilon, for any one rating of another person (95% bars, paired by reader)"),
    ("o", False, "", "claimed by the paper; a thin line leads to the truth"),
    ("D", False, ":", "true for source ratings only: neighbors' target ratings in the clear"),
    ("_", True, "", "no privacy and none claimed"),
)
"""Marker, whether it is filled, line and meaning."""


def draw(result: Mapping[str, Any]) -> str:
    """The picture as an SVG file."""
    found = result["points"]

    def panels(figure: Any) -> None:
        figure.get_layout_engine().set(h_pad=0.08, w_pad=0.04, rect=(0, 0, 1, 0.885))
        top, bottom = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (1.3, 1)})
        figure.text(0.012, 0.988, TITLE, color=GRAY, fontsize=15, fontweight="bold", va="top")
        figure.text(0.012, 0.959, SUBTITLE, color=GRAY, fontsize=11, va="top")
        _key(figure)
        readers = max(point["readers"] for point in found)
        text = f"{readers} readers of {result['domains']['name'].partition(' by ')[0]}"
        figure.text(0.995, 0.01, text, fontsize=8.8, ha="right", va="bottom")
        _panel(top, found, "ratings")
        _panel(bottom, found, "lists")
        top.set_ylabel("mean absolute error, stars (better upwards)")
        top.invert_yaxis()
        bottom.set_ylabel("precision of a list of 10")
        bottom.set_xlabel("true epsilon (nats) of all that one reader is shown, for one rating of another person")
        bottom.set_xticks([0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000, BAND])
        bottom.set_xticklabels(["0.01", "0.1", "1", "10", "100", "1,000", "10,000", "", "infinite"])
        bottom.minorticks_off()

    return figure_file(panels, SIZE, TITLE, _description(found))


def _panel(axes: Any, found: Sequence[Mapping[str, Any]], panel: str) -> None:
    mine = [point for point in found if point["panel"] == panel]
    axes.set_xscale("log")
    axes.set_xlim(LEFT, END)
    axes.axvspan(RIGHT, END, color=GRID, alpha=0.35, linewidth=0, zorder=0)
    free = next(point for point in mine if point["method"] == REFERENCE[panel])
    axes.axhline(free["value"], color=INK, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1)
    text, start, up = FREE[panel]
    axes.annotate(text, (start, free["value"]), (4, up), textcoords="offset points", fontsize=8.8, va="center")
    for epsilon, curves in (("true", CURVES[panel]), ("part", PARTS)):
        for name, label in curves.items():
            _curve(axes, [p for p in mine if p["label"] == name], label, epsilon, free["value"])
    shown = []
    for name, label in INFINITE.items():
        chosen = [p for p in mine if p["label"] == name and (label.claim in (None, (p["epsilon"], p["p"])))]
        for point in chosen[:1]:
            _claim(axes, point, label)
            shown.append((point["value"], label))
    _margin(axes, shown, {"ratings": 27, "lists": 20}[panel])
    axes.grid(axis="y", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _curve(axes: Any, points: Sequence[Mapping[str, Any]], label: Label, epsilon: str, free: float) -> None:
    usable = [point for point in points if isinstance(point[epsilon], float) and point[epsilon] > 0]
    if not usable:
        return
    x, y = [point[epsilon] for point in usable], [point["value"] for point in usable]
    if epsilon == "part":
        hollow = {"marker": "D", "markersize": 4.5, "markerfacecolor": PAGE}
        axes.plot(x, y, color=label.color, linewidth=1.1, linestyle=(0, (2, 2)), zorder=3, **hollow)
    else:
        axes.plot(x, y, color=label.color, linewidth=1.8, marker="o", markersize=5.5, zorder=4)
        low, high = ([free + point[end] for point in usable] for end in ("gap_low", "gap_high"))
        axes.vlines(x, low, high, color=label.color, linewidth=1.0, zorder=3)
    if not label.text:
        return
    index, right, up, side = label.place
    place = (x[min(index, len(x) - 1)], y[min(index, len(x) - 1)])
    axes.annotate(
        label.text, place, (right, up), textcoords="offset points", color=label.color, fontsize=9, ha=side, va="center"
    )


def _claim(axes: Any, point: Mapping[str, Any], label: Label) -> None:
    """The claim, hollow, and the line from there to the band, and to what of it is true."""
    y, hollow = point["value"], {"color": label.color, "markerfacecolor": PAGE, "zorder": 5}
    axes.plot([BAND], [y], color=label.color, marker="o" if label.claim else "_", markersize=6, zorder=5)
    if label.claim is None or point["claimed"] is None:
        return
    ends = [point["part"] or point["claimed"], BAND]
    axes.plot(ends, [y, y], color=label.color, linewidth=0.8, zorder=2)
    axes.plot([point["claimed"]], [y], marker="o", markersize=6, **hollow)
    if point["part"] is not None:
        axes.plot([point["part"]], [y], marker="D", markersize=4.5, **hollow)


def _key(figure: Any) -> None:
    from matplotlib.lines import Line2D

    for number, (marker, filled, line, text) in enumerate(KEY):
        left, y = 0.014 + 0.555 * (number % 2), KEY_BOTTOM + 0.023 * (1 - number // 2)
        style: dict[str, Any] = {"color": INK, "linestyle": line or "none", "linewidth": 1.2}
        style |= {"marker": marker, "markevery": [1], "markersize": 5.5 if marker != "D" else 4.5}
        style["markerfacecolor"] = INK if filled else PAGE
        figure.add_artist(Line2D([left, left + 0.014, left + 0.028], [y, y, y], **style))
        figure.text(left + 0.036, y, text, fontsize=8.8, va="center")


def _margin(axes: Any, shown: Sequence[tuple[float, Label]], lines: int) -> None:
    """Names right of the band, moved apart where they would overlap; as many `lines` of text fit beside the panel."""
    low, high = axes.get_ylim()
    pitch, order = (high - low) / lines, sorted(shown, key=lambda each: each[0])
    places = [value for value, _ in order]
    for _ in range(200):
        for i in range(len(places) - 1):
            short = pitch - (places[i + 1] - places[i])
            if short > 0:
                places[i], places[i + 1] = places[i] - short / 2, places[i + 1] + short / 2
    thin = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 4, "relpos": (0, 0.5)}
    text = {"textcoords": "data", "fontsize": 9, "va": "center", "annotation_clip": False}
    for (value, label), place in zip(order, places, strict=True):
        line = {**thin, "color": label.color}
        axes.annotate(label.text, (BAND, value), (END * 1.25, place), color=label.color, arrowprops=line, **text)


def _description(found: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for panel, curves in CURVES.items():
        for name in curves:
            values = [(p["true"], p["value"]) for p in found if (p["panel"], p["label"]) == (panel, name)]
            if values:
                spoken = ", ".join(f"{value:.3f} at {epsilon:.3g}" for epsilon, value in values)
                parts.append(f"{panel}, {name}: {spoken}.")
    return " ".join(parts)


if __name__ == "__main__":
    saved = committed("frontier")
    if saved is None or len(sys.argv) != 2:
        sys.exit("give the SVG file to write; src/dpassay/results/frontier.json must be there")
    write_file(Path(sys.argv[1]), draw(saved))
