"""Plots of evidence as inline SVG: the same bytes for the same numbers, legible in light and dark and without color.

Drawn by matplotlib with placeholder colors, which become CSS variables of the report, so that one drawing serves
every color scheme. Series differ by color, marker and dash; the colors are distinguishable with any color vision.
"""

import functools
import io
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from dpassay.core.extras import absent, require

NUM_COLORS = 6
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
INK, GRID, PAGE = "#a000f0", "#a000f1", "#a000f2"
SERIES = tuple(f"#a0000{number}" for number in range(1, NUM_COLORS + 1))
SIZE_INCHES = (7.0, 3.1)
BAND_FROM = 13  # points from which an interval is a band, not bars


def render_plot(plot: Mapping[str, Any], name: str) -> Markup:
    """The plot as an `<svg>` element for an HTML page.

    Args:
        plot: {"title", "x_label", "y_label", "series": [{"label", "x", "y", "low"?, "high"?}]}; x are numbers, or
            names when one of them is no number; y may be null or infinite, which leaves a gap. Optional are "shape" of
            a series ("steps": a histogram by its left edges, the last one closing it), "x_scale" and "y_scale"
            ("log"), "marks" (lines across: [{"axis", "at", "label"}]) and "shaded" ([{"low", "high", "label"}] on x).
        name: a prefix, unique on the page, for the ids inside.

    Without matplotlib, a line says what to install instead.
    """
    if line := absent("plots"):
        return Markup('<p class="quiet">Not drawn: {}</p>').format(line)

    def draw(figure: Any) -> None:
        axes = figure.add_subplot()
        _draw(axes, plot["series"])
        _annotate(axes, plot)
        axes.set_xlabel(plot["x_label"])
        axes.set_ylabel(plot["y_label"])
        axes.grid(axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)

    return _inline(_drawn(draw, SIZE_INCHES), plot["title"], _description(plot), name)


def figure_file(draw: Callable[[Any], None], size: tuple[float, float], title: str, description: str) -> str:
    """A picture of its own as an SVG file in the report's colors.

    Args:
        draw: draws into the matplotlib figure that it is given, in `INK`, `GRID`, `PAGE` and the `SERIES` only.
        size: width and height, inches.
        title: what a screen reader says, like the description.
        description: what is to be seen.
    """
    drawing = str(_inline(_drawn(draw, size), title, description, "plot"))
    width, height = _size(drawing)
    return _file([drawing.replace("<svg ", f'<svg width="{width}" height="{height}" ', 1)], width, height)


def plot_file(plot: Mapping[str, Any]) -> str:
    """The plot as an SVG file of its own: title, drawing and key, in the report's colors."""
    require("plots")
    drawing = str(render_plot(plot, "plot"))
    width, height = _size(drawing)
    top, pitch = 26, 17
    parts = [f'<text x="8" y="17" font-size="12.5" font-weight="600">{escape(plot["title"])}</text>']
    parts.append(drawing.replace("<svg ", f'<svg y="{top}" width="{width}" height="{height}" ', 1))
    below = top + height + 6
    for index, series in enumerate(plot["series"]):
        y = below + pitch * index
        parts.append(str(render_key(plot, index)).replace("<svg ", f'<svg x="12" y="{y:g}" ', 1))
        parts.append(f'<text x="50" y="{y + 10:g}" font-size="11">{escape(series["label"])}</text>')
    return _file(parts, width, below + pitch * len(plot["series"]) + 4)


def render_key(plot: Mapping[str, Any], index: int) -> Markup:
    """The line and marker of series `index`, for the plot's key."""
    color = f"var(--series-{index % NUM_COLORS + 1})"
    dash = DASHES[_dash(index)]
    array = "" if dash == "solid" else f' stroke-dasharray="{" ".join(str(1.4 * length) for length in dash[1])}"'
    shape = {
        "o": '<circle cx="15" cy="6" r="3.2"/>',
        "s": '<path d="M12 3h6v6h-6z"/>',
        "^": '<path d="M15 2l3.6 7h-7.2z"/>',
        "D": '<path d="M15 2l4 4-4 4-4-4z"/>',
        "v": '<path d="M15 10l3.6-7h-7.2z"/>',
        "P": '<path d="M14 2h2v3h3v2h-3v3h-2v-3h-3v-2h3z"/>',
    }[MARKERS[index % len(MARKERS)]]
    line = f'<path d="M0 6h30" stroke="currentColor" stroke-width="1.6" fill="none"{array}/>'
    return Markup(
        f'<svg class="key" viewBox="0 0 30 12" width="30" height="12" aria-hidden="true" style="color: {color}">'
        f'{"" if _is_categorical(plot["series"]) else line}<g fill="currentColor">{shape}</g></svg>'
    )


def render_sandwich(sandwich: Mapping[str, Any], parameter: str, name: str) -> Markup:
    """Lower bound, exact value, upper bound and claim as bars on one scale, in one `<svg>` element.

    Args:
        sandwich: {"lower", "exact", "upper", "claim"}, numbers, "inf" or null where unknown.
        parameter: what the numbers are, such as epsilon.
        name: a prefix, unique on the page, for the ids inside.
    """
    claim = float(sandwich["claim"])
    known = [
        (label, float(sandwich[key]), key)
        for key, label in (("lower", "shown, at least"), ("exact", "exact value"), ("upper", "proved, at most"))
        if sandwich[key] is not None
    ]
    finite = [value for value in (claim, *(value for _, value, _ in known)) if math.isfinite(value)]
    scale = 300 / (1.12 * max([*finite, 1e-300]))
    left, top, pitch = 118, 30, 30

    def place(value: float) -> float:
        return round(left + min(max(value, 0.0) * scale, 320), 1) if math.isfinite(value) else left + 320

    bottom = top + pitch * max(len(known), 1)
    parts = [f'<line x1="{left}" y1="{top - 6}" x2="{left}" y2="{bottom}" stroke="var(--rule)"/>']
    values, at = [], place(claim)  # over the bars: the claim's line, then numbers with a halo
    if math.isfinite(claim):
        values.append(
            f'<line x1="{at}" y1="{top - 8}" x2="{at}" y2="{bottom}" stroke="var(--ink)" stroke-width="1.6"/>'
            f'<text x="{at}" y="{top - 13}" text-anchor="middle" fill="var(--ink)">claim {_shown(claim)}</text>'
        )
    for row, (label, value, key) in enumerate(known):
        y, end = top + pitch * row + 5, place(value)
        color = "var(--refuted)" if key != "upper" and value > claim else "var(--series-1)"
        parts.append(name_beside(left, y + 12, label))
        if key == "upper":  # the value lies somewhere up to here
            parts.append(reach(left, end, y + 8, color))
        else:
            parts.append(f'<rect x="{left}" y="{y}" width="{max(end - left, 1):.1f}" height="16" fill="{color}"/>')
        values.append(number_beside(end, y + 12, _shown(value)))
    if not known:
        parts.append(f'<text x="{left + 10}" y="{top + 17}" fill="var(--ink-soft)">nothing was shown</text>')
    said = "; ".join(
        [
            f"claim {_shown(claim)}" if math.isfinite(claim) else "nothing claimed",
            *(f"{label} {_shown(value)}" for label, value, _ in known),
        ]
    )
    title = f"Bounds on {escape(parameter)} beside the claim"
    return bars(name, title, f"{escape(parameter)}: {said}.", bottom + 4, [*parts, *values])


def bars(name: str, title: str, description: str, height: int, parts: Sequence[str]) -> Markup:
    """Bars and their texts, drawn in parts, as one `<svg>` element whose ids begin with `name`."""
    return Markup(
        f'<svg class="plot sandwich" viewBox="0 0 510 {height}" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'font-size="13" font-family="sans-serif"><title id="{name}-title">{title}</title>'
        f'<desc id="{name}-desc">{description}</desc>{"".join(parts)}</svg>'
    )


def reach(left: float, end: float, y: float, color: str) -> str:
    """A dashed bar: the value lies somewhere up to its end."""
    return (
        f'<path d="M{left} {y}H{end}M{end} {y - 7}v14" fill="none" stroke="{color}" stroke-width="2" '
        'stroke-dasharray="5 3"/>'
    )


def name_beside(left: float, y: float, label: str) -> str:
    """What a bar is, left of it."""
    return f'<text x="{left - 10}" y="{y}" text-anchor="end" fill="var(--ink-soft)">{label}</text>'


def number_beside(end: float, y: float, number: str) -> str:
    """How long a bar is, right of it, with a halo."""
    return (
        f'<text x="{end + 8}" y="{y}" fill="var(--ink)" stroke="var(--page)" stroke-width="5" '
        f'paint-order="stroke">{number}</text>'
    )


def _drawn(draw: Callable[[Any], None], size: tuple[float, float]) -> str:
    """What matplotlib writes, in placeholder colors."""
    require("plots")
    from matplotlib import rc_context, rcdefaults, rcParams  # half a second that a report without plots does not pay
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.hashsalt": "dpassay",
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.size": 10,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": GRID,
        "axes.unicode_minus": True,
        "axes.formatter.useoffset": False,
        "path.simplify": False,
    }
    with rc_context(), warnings.catch_warnings():
        rcdefaults()  # a user's own style must not change the file
        rcParams.update(settings)
        warnings.simplefilter("ignore")  # a label in a script that the measuring font lacks is drawn by the browser's
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _size(drawing: str) -> tuple[float, float]:
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)[0]
    return float(width), float(height)


def _file(parts: Sequence[str], width: float, height: float) -> str:
    """Parts of a page, in points, as an SVG file that brings the report's colors along."""
    colors = (Path(__file__).parent / "style.css").read_text(encoding="utf-8").partition("*,")[0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{1.5 * width:g}" '
        f'height="{1.5 * height:g}" font-family="sans-serif" fill="var(--ink)"><style>{colors}</style>'
        f'<rect width="100%" height="100%" fill="var(--page)"/>{"".join(parts)}</svg>\n'
    )


def _shown(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "infinite"


def _annotate(axes: Any, plot: Mapping[str, Any]) -> None:
    """Scales, tinted ranges and lines across the whole plot."""
    for name in ("x", "y"):
        if plot.get(f"{name}_scale") == "log":
            getattr(axes, f"set_{name}scale")("log")
            # matplotlib writes powers in TeX, which is not parsed here.
            getattr(axes, f"{name}axis").set_major_formatter("{x:g}")
            low, high = getattr(axes, f"get_{name}lim")()
            # Powers of 10 alone would leave a short axis without a scale.
            between = (2, 5) if high < 100 * low else ()
            getattr(axes, f"{name}axis").set_minor_formatter(functools.partial(_between_powers, between))
    if plot.get("shaded"):
        ends = axes.get_xlim()
        for part in plot["shaded"]:
            low, high = max(float(part["low"]), ends[0]), min(float(part["high"]), ends[1])
            if low < high:
                axes.axvspan(low, high, color=GRID, alpha=0.45, linewidth=0, zorder=0)
                axes.annotate(
                    part["label"], ((low + high) / 2, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom"
                )
        axes.set_xlim(ends)
    for mark in plot.get("marks", ()):
        draw, place = (axes.axvline, (mark["at"], 1)) if mark["axis"] == "x" else (axes.axhline, (1, mark["at"]))
        draw(mark["at"], color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        frame = ("data", "axes fraction") if mark["axis"] == "x" else ("axes fraction", "data")
        axes.annotate(mark["label"], place, xycoords=frame, ha="right", va="bottom")


def _between_powers(digits: Sequence[int], value: float, _: object = None) -> str:
    leading = round(value / 10 ** math.floor(math.log10(value) + 1e-9))
    return f"{value:g}" if leading in digits else ""


def _draw(axes: Any, series: Sequence[Mapping[str, Any]]) -> None:
    names: dict[str, int] = {}
    categorical = _is_categorical(series)
    for index, one in enumerate(series):
        x = [names.setdefault(str(v), len(names)) for v in one["x"]] if categorical else [float(v) for v in one["x"]]
        y = [_finite(value) for value in one["y"]]
        color = SERIES[index % NUM_COLORS]
        shape = "points" if categorical else one.get("shape", "line")
        axes.plot(
            x,
            y,
            color=color,
            linewidth=1.6,
            linestyle="none" if shape == "points" else DASHES[_dash(index)],
            drawstyle="steps-post" if shape == "steps" else "default",
            marker=MARKERS[index % len(MARKERS)] if shape != "steps" and (categorical or len(x) < 60) else None,
            markersize=6 if categorical else 4.5,
        )
        if "low" in one:
            low, high = ([_finite(value) for value in one[end]] for end in ("low", "high"))
            if len(x) >= BAND_FROM:
                axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
            else:
                axes.vlines(x, low, high, color=color, linewidth=1.1)
    if categorical:
        axes.set_xticks(range(len(names)), list(names))
        axes.margins(0.1)


def _is_categorical(series: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the x are names; names have no order, so no line joins them."""
    return any(isinstance(x, str) for one in series for x in one["x"])


def _dash(index: int) -> int:
    return index % len(DASHES)


def _finite(value: float | str | None) -> float:
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else math.nan


def _inline(drawing: str, title: str, description: str, name: str) -> Markup:
    body = drawing[drawing.index("<svg") :]
    view_box = re.search(r'viewBox="([^"]*)"', body)
    assert view_box is not None, "matplotlib writes a viewBox"
    inner = body[body.index(">") + 1 : body.rindex("</svg>")]
    inner = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", inner, flags=re.DOTALL)
    inner = re.sub(r"<[^>]*>", lambda tag: _adapt(tag.group(0), name), inner)
    inner = re.sub(r"\s*\n\s*", "\n", inner).strip()
    return Markup(
        f'<svg class="plot" viewBox="{view_box.group(1)}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>{inner}</svg>'
    )


def _adapt(tag: str, name: str) -> str:
    """One tag of matplotlib's (never the text between tags) for use inside HTML: unique ids, the report's colors."""
    tag = tag.replace("xlink:href=", "href=")
    tag = re.sub(r'\b(id|href)="(#?)', rf'\1="\2{name}-', tag)
    tag = tag.replace("url(#", f"url(#{name}-")
    tag = re.sub(r"(font: [\d.]+px) [^;\"]*", r"\1 sans-serif", tag)
    tag = tag.replace(INK, "var(--ink-soft)").replace(GRID, "var(--rule)").replace(PAGE, "var(--page)")
    return re.sub(rf"#a0000([1-{NUM_COLORS}])", r"var(--series-\1)", tag)


def _description(plot: Mapping[str, Any]) -> str:
    parts = [f"Plot of {plot['y_label']} against {plot['x_label']}."]
    for one in plot["series"]:
        values = [value for value in map(_finite, one["y"]) if not math.isnan(value)]
        if values:
            parts.append(f"{one['label']}: {len(values)} points from {min(values):.4g} to {max(values):.4g}.")
        else:
            parts.append(f"{one['label']}: no finite values.")
    return " ".join(parts)
