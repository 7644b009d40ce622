"""A report as tables for a terminal.

Scope: that of the report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slateproof.simulate.metrics import METRICS
from slateproof.simulate.statistics import Interval, SettingRow

if TYPE_CHECKING:
    from slateproof.simulate.report import Comparison, ModeReport, Report

__all__ = ["text_of"]

SETTINGS = ("correctness", "utility_probe", "uptake")
"""Metrics of the table by response model and profile."""

PARTS = ("begin", "score", "select", "log", "respond", "update", "record")
"""Of the loop, in their order."""

COMPARED = ("correctness", "utility_probe", "telemetry_probe", "uptake", "attempts_per_round")


def text_of(report: Report) -> str:
    """Every table that has rows."""
    parts = [
        [f"{report.corpus}: {len(report.sessions)} sessions x {report.rounds} rounds, manifest {report.digest[:12]}"],
        _table(["mode", *METRICS], [[one.mode, *(_number(one.means[m]) for m in METRICS)] for one in report.modes]),
    ]
    if report.comparisons:
        parts += [[f"paired differences against {report.reference}, mean [95% bootstrap]"], _differences(report.comparisons)]
        parts += [[f"differences against {report.reference}, smallest to largest setting, and the probes"], _settings(report)]
        for metric in SETTINGS:
            parts += [[f"{metric}: difference against {report.reference}, response model by profile"], _by_setting(report, metric)]
    parts += [["target drift: pairs of rounds, both windows kept, jumps beyond the realised and the prospective envelope"]]
    parts += [_drift(report.modes)]
    if noisy := [one for one in report.modes if "tau" in one.means]:
        head = ["mode", "kendall tau of scores", "jaccard of slates", "rounds with another set"]
        parts += [["score noise: noisy against clean, same round and state"]]
        parts += [_table(head, [[one.mode, *(_number(one.means[m]) for m in ("tau", "jaccard", "flip"))] for one in noisy])]
    if report.seconds:
        parts += [["seconds by part of the loop (compilation included)"], _times(report.seconds)]
    return "\n\n".join("\n".join(part) for part in [*parts, *([[report.calibration]] if report.calibration else [])])


def _differences(comparisons: tuple[Comparison, ...]) -> list[str]:
    rows = [[c.mode, *(_interval(c.intervals.get(m)) for m in COMPARED)] for c in comparisons]
    return _table(["mode", *COMPARED], rows)


def _settings(report: Report) -> list[str]:
    """The spread over settings, the gap between engagement groups, and whether the two probes agree."""
    gaps = {one.mode: one.gaps.get("correctness") for one in report.modes}
    rows = []
    for one in report.comparisons:
        fit, gap = one.alignment, gaps[one.mode]
        rows.append([
            one.mode, *(_span(one.settings.get(m)) for m in SETTINGS),
            "" if gap is None else _number(gap), *(_number(v) for v in (fit.pearson, fit.spearman, fit.sign)),
        ])  # fmt: skip
    head = ["mode", *SETTINGS, "engaged minus others", "probes: pearson", "spearman", "same sign"]
    return _table(head, rows)


def _by_setting(report: Report, metric: str) -> list[str]:
    """The response-model by profile table of one metric: means, a row per mode and response model."""
    profiles = list(dict.fromkeys(row.profile for one in report.comparisons for row in one.settings.get(metric, ())))
    rows = []
    for one in report.comparisons:
        held = {(row.model, row.profile): _number(row.mean) for row in one.settings.get(metric, ())}
        for model in dict.fromkeys(model for model, _ in held):
            rows.append([one.mode, model, *(held.get((model, profile), "") for profile in profiles)])
    return _table(["mode", "response model", *profiles], rows)


def _drift(modes: tuple[ModeReport, ...]) -> list[str]:
    """Of accepted items, as the lemma is stated, and of all shown."""
    head = ["mode", "items", "pairs", "kept", "beyond realised", "beyond prospective", "relaxed rounds", "scope"]
    rows = []
    for one in modes:
        for what, e in (("accepted", one.accepted), ("shown", one.shown)):
            counts = map(str, (e.pairs, e.applies, e.beyond_realised, e.beyond_prospective, e.relaxed))
            rows.append([one.mode, what, *counts, _claim(one)])
    return _table(head, rows)


def _times(seconds: dict[str, dict[str, float]]) -> list[str]:
    parts = [part for part in PARTS if any(part in one for one in seconds.values())]
    return _table(["mode", *parts], [[mode, *(f"{one.get(p, 0.0):.2f}" for p in parts)] for mode, one in seconds.items()])


def _claim(one: ModeReport) -> str:
    return one.regime if one.epsilon is None else f"{one.regime}, epsilon {one.epsilon:.2f} per round"


def _number(value: float) -> str:
    return f"{value:.4f}"


def _interval(one: Interval | None) -> str:
    return "" if one is None else f"{one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]"


def _span(rows: list[SettingRow] | None) -> str:
    """Smallest to largest mean of a setting."""
    means = [row.mean for row in rows or ()]
    return f"{min(means):.4f} to {max(means):.4f}" if means else ""


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]]
