"""A few SVG shapes as text: enough for the demo's pictures, without a plotting library.

Scope: none; presentation.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["BLUE", "GREEN", "GREY", "INK", "LINE", "ORANGE", "SKY", "SOFT", "circle", "line", "path", "picture", "rect", "text"]

BLUE, ORANGE, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
"""From Okabe and Ito's palette: told apart by the colour-blind."""

INK, SOFT, GREY, LINE = "#1d2329", "#5b6670", "#b6bcc2", "#dfe3e7"


def picture(width: float, height: float, title: str, shapes: Iterable[str]) -> str:
    """The shapes as one picture that scales with the page; ``title`` is read out to those who do not see it."""
    body = "".join(shapes)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" style="max-width:{width:g}px" role="img" '
        f'aria-label="{html.escape(title)}">{body}</svg>'
    )


def text(x: float, y: float, words: str, *, size: float = 13, fill: str = INK, anchor: str = "start", bold: bool = False) -> str:
    """A line of text; ``y`` is its baseline."""
    weight = ' font-weight="650"' if bold else ""
    look = f'font-size="{size:g}" fill="{fill}" text-anchor="{anchor}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{html.escape(words)}</text>'


def rect(
    x: float, y: float, width: float, height: float, *, fill: str = "none", stroke: str = "none", round_: float = 0, title: str = ""
) -> str:
    """A rectangle; ``title`` shows under the mouse."""
    inner = f"<title>{html.escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:g}" fill="{fill}" stroke="{stroke}">'
        f"{inner}</rect>"
    )


def circle(x: float, y: float, radius: float, *, fill: str = "none", stroke: str = "none", title: str = "") -> str:
    """A dot; ``title`` shows under the mouse."""
    inner = f"<title>{html.escape(title)}</title>" if title else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="{stroke}" stroke-width="1.6">{inner}</circle>'


def line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = LINE, width: float = 1, dash: str = "") -> str:
    """A straight line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width:g}"{dashes}/>'


def path(points: Sequence[tuple[float, float]], *, stroke: str, width: float = 2, dash: str = "") -> str:
    """A line through points."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    through = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{through}" fill="none" stroke="{stroke}" stroke-width="{width:g}" stroke-linejoin="round"{dashes}/>'
