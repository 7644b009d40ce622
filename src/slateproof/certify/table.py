"""A table with one row per round and a summary, and its forms: text, CSV, JSON and a plot.

Scope: stability only.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify.figure import share_lines
from slateproof.types.columns import Floats

__all__ = ["RUNGS", "Table", "summary_of"]

RUNGS = ("flip_bound", "flip_union", "flip_probability", "set_flip_probability")
"""Figures about the probability of a change, loosest first; the last is about the set, order aside."""


@dataclass(frozen=True, slots=True)
class Table:
    """``rows``: one dict per round; ``summary``: one dict over all rounds; ``notes``: what is missing and why.

    Scope: stability only.
    """

    rows: tuple[dict[str, Any], ...]
    summary: dict[str, Any]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON (infinite radii as None)."""
        clean = [{name: _finite(value) for name, value in row.items()} for row in self.rows]
        return {"summary": {n: _finite(v) for n, v in self.summary.items()}, "rows": clean, "notes": list(self.notes)}

    def to_csv(self) -> str:
        """All rows under a line of names: empty where a figure is missing, ``inf`` for an infinite radius, bounds as they are."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.rows[0]) if self.rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def to_text(self, limit: int = 20) -> str:
        """The summary, then the first ``limit`` rounds, aligned; bounds shown as min(1, bound)."""
        width = max(len(name) for name in self.summary)
        lines = [f"{name:<{width}}  {_shown(name, value)}" for name, value in self.summary.items()]
        if self.rows:
            names = list(self.rows[0])
            lines += ["", "  ".join(f"{name:>12}" for name in names)]
            lines += ["  ".join(f"{_shown(name, row[name]):>{max(12, len(name))}}" for name in names) for row in self.rows[:limit]]
            if len(self.rows) > limit:
                lines.append(f"... {len(self.rows) - limit} more rounds")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_svg(self) -> str:
        """Share of rounds whose figure is at most p, one line per rung that the table has; SVG source."""
        columns = {rung: [row[rung] for row in self.rows if row.get(rung) is not None] for rung in RUNGS}
        return share_lines({rung: values for rung, values in columns.items() if values})

    def __str__(self) -> str:
        return self.to_text()


def summary_of(rows: Sequence[dict[str, Any]], sigma: float, anchor_weight: float, max_flip: float) -> dict[str, Any]:
    """Medians, and shares of all rounds with a figure of at most ``max_flip``, rung by rung."""
    out: dict[str, Any] = {"rounds": len(rows), "sigma": sigma, "anchor_weight": anchor_weight, "max_flip": max_flip}
    if not rows:
        return out
    out["median_margin"], out["median_radius"] = _median(rows, "margin"), _median(rows, "radius")
    out["positive_margin"] = float(np.mean([row["margin"] > 0.0 for row in rows]))
    for rung in RUNGS:
        if rung in rows[0]:
            out[f"median_{rung}"] = _median(rows, rung)
            known = [row[rung] <= max_flip for row in rows if row[rung] is not None]
            out[f"{rung}_at_most"] = sum(known) / len(rows) if known else None
    for check in ("norm", "exact"):
        if check in rows[0]:
            out[f"{check}_check_share"] = float(np.mean([row[check] for row in rows]))
    return out


def _median(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    values: Floats = np.array([row[name] for row in rows if row[name] is not None], np.float64)
    if values.size == 0:
        return None
    # The lower median: no mean of a number and an infinity.
    return float(np.sort(values)[(values.size - 1) // 2])


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{min(1.0, value):.6g}" if name.endswith(("flip_bound", "flip_union")) else f"{value:.6g}"
    return str(value)
