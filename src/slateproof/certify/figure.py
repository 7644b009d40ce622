"""A small line chart as SVG source: the share of rounds whose figure is at most p, one line per rung, log scale in p.

Scope: none; presentation.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

__all__ = ["share_lines"]

COLOURS = ("#D55E00", "#009E73", "#0072B2", "#CC79A7")
"""From Okabe and Ito's palette: told apart by the colour-blind."""

_WIDTH, _HEIGHT, _LEFT, _TOP, _DECADES = 420, 180, 46, 30, 8


def share_lines(series: Mapping[str, Sequence[float]]) -> str:
    """Share of values <= p for p from 1e-8 to 1; each series is one line, with its name in the legend."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEFT + 20}" height="{_HEIGHT + _TOP + 40}" '
        'font-family="sans-serif" font-size="11" role="img">',
        f'<path d="M{_LEFT} {_TOP}V{_TOP + _HEIGHT}H{_LEFT + _WIDTH}" fill="none" stroke="#444"/>',
        f'<text x="{_LEFT + _WIDTH / 2:.0f}" y="{_TOP + _HEIGHT + 34}" text-anchor="middle">Pr[slate changes]</text>',
    ]
    parts += [_tick(decade) for decade in range(0, _DECADES + 1, 2)]
    parts += [
        f'<text x="{_LEFT - 6}" y="{_TOP + _HEIGHT * (1 - share) + 4:.0f}" text-anchor="end">{share:.0%}</text>'
        for share in (0, 0.5, 1)
    ]
    for place, ((name, values), colour) in enumerate(zip(series.items(), COLOURS, strict=False)):
        parts.append(f'<path d="{_steps(values)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(
            f'<text x="{_LEFT + 190 * (place % 2)}" y="{12 + 13 * (place // 2)}" fill="{colour}">{html.escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _x(value: float) -> float:
    """1e-8 and below at the left edge, 1 and above at the right."""
    decades = math.log10(value) if value > 0.0 else -_DECADES
    return _LEFT + _WIDTH * (1.0 + max(-_DECADES, min(0.0, decades)) / _DECADES)


def _tick(decade: int) -> str:
    x = _x(10.0 ** (decade - _DECADES))
    return f'<text x="{x:.0f}" y="{_TOP + _HEIGHT + 16}" text-anchor="middle">1e{decade - _DECADES}</text>'


def _steps(values: Sequence[float]) -> str:
    """The empirical distribution as a path."""
    path, total = f"M{_LEFT} {_TOP + _HEIGHT}", max(1, len(values))
    for count, value in enumerate(sorted(values), 1):
        path += f"H{_x(value):.1f}V{_TOP + _HEIGHT * (1 - count / total):.1f}"
    return path + f"H{_LEFT + _WIDTH}"
