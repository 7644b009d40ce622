"""What a figure shows, as plain data: panels of series. ``draw`` turns it into SVG and PNG.

Scope: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Figure", "Panel", "Series"]


@dataclass(frozen=True, slots=True)
class Series:
    """One line, set of points or set of bars. ``slot`` picks colour, marker and dashes together: one does not need the other.

    ``kind``: "line" (with markers), "curve" (a line without), "points", "published" (the paper's points, filled), "bars", "steps",
    "reference" (thin, dashed, grey).
    ``low`` and ``high`` are interval ends.

    Scope: none.
    """

    label: str
    x: tuple[Any, ...]
    y: tuple[float, ...]
    kind: str = "line"
    slot: int = 0
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Axes with a title; scales are "linear" or "log"; limits are optional.

    Scope: none.
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    x_scale: str = "linear"
    y_scale: str = "linear"
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels side by side under one caption. ``labels`` are the paper's figures that it stands for; ``describes`` is its text
    for those who cannot see it.

    Scope: none.
    """

    name: str
    caption: str
    describes: str
    panels: tuple[Panel, ...]
    columns: int = 2
    legend: str = "shared"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Figure:
        """Read it back."""
        panels = tuple(_panel(one) for one in value["panels"])
        return cls(value["name"], value["caption"], value["describes"], panels, value["columns"], value["legend"])


def _panel(value: Mapping[str, Any]) -> Panel:
    limits = {name: _pair(value[name]) for name in ("x_limits", "y_limits")}
    return Panel(**{**value, **limits, "series": tuple(_series(one) for one in value["series"])})


def _series(value: Mapping[str, Any]) -> Series:
    columns = {name: None if value[name] is None else tuple(value[name]) for name in ("x", "y", "low", "high")}
    return Series(**{**value, **columns})


def _pair(value: Any) -> tuple[float, float] | None:
    return None if value is None else (value[0], value[1])
