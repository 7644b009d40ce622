"""Figures drawn with matplotlib, in one style: for paper, for a grey printer, for the colour-blind.

Every slot is a colour of Okabe and Ito's palette in order of lightness, a marker and a dash pattern; any one of the three tells
series apart. The same data gives the same bytes of SVG.

Scope: none; presentation.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from typing import TYPE_CHECKING, Any

from slateproof.experiments.figures import Figure, Panel, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["SLOTS", "to_png", "to_svg"]

SLOTS = (
    ("#000000", "o", "-"),
    ("#0072B2", "s", "--"),
    ("#D55E00", "^", "-."),
    ("#009E73", "D", ":"),
    ("#CC79A7", "v", (0, (5, 1, 1, 1, 1, 1))),
    ("#E69F00", "P", (0, (8, 2))),
    ("#56B4E9", "X", (0, (1, 1))),
)
"""Colour, marker, dashes."""

INK, GRID = "#222222", "#DDDDDD"

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
    "figure.dpi": 100,
}

CHARACTERS, TITLE = 14.0, 11.0
"""Of a legend and of a panel's title, per inch."""

WIDTHS, HEIGHT = {1: 4.8, 2: 3.5, 3: 2.75}, 2.6
"""Inches per panel, by the number of columns: a page is 7 inches wide, so that type is set at 85 to 100 % of its size."""


def to_svg(figure: Figure) -> str:
    """The figure as SVG source, from the <svg> tag on, with a title and a description inside."""
    out = io.StringIO()
    _save(figure, out, format="svg", metadata={"Date": None, "Creator": None})
    source = out.getvalue()
    return _described(_smaller(source[source.index("<svg") :]), figure)


def to_png(figure: Figure) -> bytes:
    """The figure as PNG, 150 dots per inch."""
    out = io.BytesIO()
    _save(figure, out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()


def _smaller(source: str) -> str:
    """Coordinates beyond 1 with two decimals, a fiftieth of a pixel; no comments, no indentation."""
    source = re.sub(r"<!--.*?-->|^ +", "", source, flags=re.DOTALL | re.MULTILINE)
    source = re.sub(r"(?<![\w.#])(-?[1-9]\d*\.\d{2})\d+", r"\1", source)
    return re.sub(r"\n+", "\n", source)


def _save(figure: Figure, out: Any, **how: Any) -> None:
    import matplotlib as mpl

    style: Any = {**RC, "svg.hashsalt": figure.name}
    with mpl.rc_context(style):
        _canvas(figure).savefig(out, **how)


def _canvas(figure: Figure) -> Canvas:
    from matplotlib.figure import Figure as Canvas

    columns = min(figure.columns, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    wide = WIDTHS.get(columns, WIDTHS[3])
    canvas = Canvas(figsize=(wide * columns, HEIGHT * rows + (0.35 if figure.legend == "shared" else 0.0)), layout="constrained")
    grid = canvas.subplots(rows, columns, squeeze=False)
    for place, axes in enumerate(grid.flat):
        if place >= len(figure.panels):
            axes.set_axis_off()
            continue
        _panel(axes, figure.panels[place], int(TITLE * (wide - 0.6)))
        if figure.legend == "each":
            axes.legend(loc="best")
    if figure.legend == "shared":
        _legend(canvas, list(grid.flat))
    return canvas


def _legend(canvas: Any, grid: Any) -> None:
    """One legend below all panels, every label once."""
    found: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        room = max(1, min(len(found), 4, int(CHARACTERS * canvas.get_figwidth() / (max(map(len, found)) + 7))))
        lines = -(-len(found) // room)
        canvas.legend(found.values(), found.keys(), loc="outside lower center", ncols=-(-len(found) // lines))


def _panel(axes: Any, panel: Panel, characters: int) -> None:
    axes.set_title(textwrap.fill(panel.title, characters))
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    bars = [one for one in panel.series if one.kind == "bars"]
    for one in panel.series:
        if one.kind == "bars":
            _bars(axes, one, bars.index(one), len(bars))
        else:
            _line(axes, one)
    ticks = sorted({float(x) for one in panel.series if one.kind == "line" for x in one.x})
    if panel.x_scale == "log" and 2 <= len(ticks) <= 7:
        axes.set_xticks(ticks, [_short(tick, min(ticks)) for tick in ticks])
        axes.xaxis.minorticks_off()
    elif panel.x_scale == "linear" and ticks and all(tick.is_integer() for tick in ticks):
        axes.xaxis.get_major_locator().set_params(integer=True)
    if panel.x_limits is not None:
        axes.set_xlim(*panel.x_limits)
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)
    if panel.y_scale == "log":
        _between_powers(axes)


def _short(tick: float, smallest: float) -> str:
    """``5e-5`` where ticks are small, so that neighbours do not run into each other."""
    return f"{tick:g}" if smallest >= 1e-3 else re.sub(r"\.?0*e([-+])0*", r"e\1", f"{tick:.1e}")


def _between_powers(axes: Any) -> None:
    """On a logarithmic axis of less than two decades the ticks 2 and 5 between powers of ten have numbers, too."""
    from matplotlib.ticker import FuncFormatter

    low, high = axes.get_ylim()
    if high / low < 100.0:
        plain = FuncFormatter(lambda value, _: f"{value:g}")
        numbered = FuncFormatter(
            lambda value, _: f"{value:g}" if round(value / 10.0 ** math.floor(math.log10(value))) in (2, 5) else ""
        )
        axes.yaxis.set_major_formatter(plain)
        axes.yaxis.set_minor_formatter(numbered)
        axes.tick_params(axis="y", which="minor", labelsize=8.0)


def _line(axes: Any, one: Series) -> None:
    if one.kind == "reference":
        axes.plot(one.x, one.y, color="#777777", linestyle=(0, (3, 2)), linewidth=1.0, label=one.label, zorder=1.5)
        return
    colour, marker, dashes = SLOTS[one.slot % len(SLOTS)]
    styles: dict[str, dict[str, Any]] = {
        "line": {"marker": marker, "linestyle": dashes},
        "curve": {"linestyle": dashes},
        "points": {"marker": marker, "linestyle": "none"},
        "published": {"marker": marker, "linestyle": "none", "markerfacecolor": colour, "markersize": 6.0, "alpha": 0.55},
        "steps": {"linestyle": dashes, "drawstyle": "steps-post"},
    }
    if one.low is not None and one.high is not None:
        axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.15, linewidth=0.0)
    hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.2}
    axes.plot(one.x, one.y, color=colour, label=one.label, **{**hollow, **styles[one.kind]})


HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "++++")


def _bars(axes: Any, one: Series, place: int, beside: int) -> None:
    colour, _, _ = SLOTS[one.slot % len(SLOTS)]
    wide = 0.8 / beside
    spots = [i + (place - (beside - 1) / 2.0) * wide for i in range(len(one.x))]
    error = None
    if one.low is not None and one.high is not None:
        error = [[y - low for y, low in zip(one.y, one.low, strict=True)], [h - y for y, h in zip(one.y, one.high, strict=True)]]
    axes.bar(
        spots, one.y, wide * 0.92, color=colour, alpha=0.85, edgecolor="white", hatch=HATCHES[one.slot % len(HATCHES)],
        linewidth=0.0, label=one.label, yerr=error, error_kw={"elinewidth": 1.0, "ecolor": INK, "capsize": 2.0},
    )  # fmt: skip
    names = [str(x) for x in one.x]
    axes.set_xticks(range(len(one.x)), names, fontsize=8.0 if sum(map(len, names)) < 24 else 7.0)
    axes.grid(visible=False, axis="x")


def _described(source: str, figure: Figure) -> str:
    """The <svg> tag made an image with a name: screen readers read ``describes``."""
    from xml.sax.saxutils import escape, quoteattr

    end = source.index(">")
    text = f"<title>{escape(figure.caption)}</title><desc>{escape(figure.describes)}</desc>"
    return f'{source[:end]} role="img" aria-label={quoteattr(figure.caption)}>{text}{source[end + 1 :]}'
