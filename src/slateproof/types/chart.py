"""A small stacked-bar chart as SVG source: enough for an explanation, without a plotting library.

Scope: none; presentation.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

__all__ = ["stacked_bars"]

COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00")
"""Okabe and Ito's palette: told apart by the colour-blind."""

_BAR, _STEP, _LEFT, _SCALE, _HEAD = 16, 24, 120, 380, 34


def stacked_bars(labels: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    """Horizontal stacked bars, positive parts to the right of zero, negative ones to the left; one bar per label."""
    rows = list(zip(*series.values(), strict=True))
    reach = max((sum(v for v in row if v > 0) for row in rows), default=0.0)
    depth = max((-sum(v for v in row if v < 0) for row in rows), default=0.0)
    unit = _SCALE / ((reach + depth) or 1.0)
    zero = _LEFT + depth * unit
    height = _HEAD + _STEP * len(labels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _SCALE + 20}" height="{height + 6}" '
        'font-family="sans-serif" font-size="11" role="img">',
        *_legend(list(series)),
        *(_bar(label, row, y, zero, unit) for label, row, y in zip(labels, rows, range(_HEAD, height, _STEP), strict=True)),
        f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="{_HEAD - 4}" y2="{height}" stroke="#444"/></svg>',
    ]
    return "".join(parts)


def _legend(names: list[str]) -> list[str]:
    out, x = [], 4
    for name, colour in zip(names, COLOURS, strict=False):
        text = name.replace("_", " ")
        out.append(
            f'<rect x="{x}" y="6" width="9" height="9" fill="{colour}"/><text x="{x + 12}" y="14">{html.escape(text)}</text>'
        )
        x += 22 + 6 * len(text)
    return out


def _bar(label: str, row: Sequence[float], y: int, zero: float, unit: float) -> str:
    shown = label if len(label) <= 18 else label[:17] + "…"
    out = [f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{html.escape(shown)}</text>']
    right = left = zero
    for value, colour in zip(row, COLOURS, strict=False):
        width = abs(value) * unit
        if value < 0:
            left -= width
        start = left if value < 0 else right
        if value >= 0:
            right += width
        if width > 0:
            out.append(f'<rect x="{start:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>')
    return "".join(out)
