"""`probe-alignment`: does the telemetry probe, which a platform could compute, point where the hidden post-test points?

Over paired sessions: the mode's telemetry probe minus that of ALS, against the same difference of the utility probe.

Scope: none; outcomes are those of simulated people.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_runs import CORPORA, NAMES, QUICK, Loop, LoopConfig, loops
from slateproof.experiments.published.loop_probes import CELLS
from slateproof.experiments.stats import share_error
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import MODES, probe_alignment

__all__ = ["EXPERIMENT", "run", "verdicts"]

LABEL = "tab:probe-alignment-app"
COMPARED = ("adaptive", "adaptive-scpo", "adaptive-als", "als-selector")
MEASURES = {"pearson": "Pearson r", "spearman": "Spearman ρ", "sign": "sign agreement"}


def run(task: Task) -> Result:
    """Four modes against ALS on every corpus in hand."""
    made, skipped = loops(task)
    rows: list[Row] = []
    panels: list[Panel] = []
    for loop in made:
        for name in COMPARED:
            task.progress(len(rows), len(made) * len(COMPARED), f"{loop.corpus.name}, {name}")
            rows.append(_row(loop, name))
        panels.append(_panel(loop))
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(_summary(rows), tuple(rows), verdicts(rows), _notes(rows), _tables(rows), _figures(panels), skipped, digests)


def _row(loop: Loop, name: str) -> Row:
    """Agreement, and what limits it: sessions whose telemetry did not move at all, and how much telemetry noise there is."""
    telemetry, utility = _differences(loop, name)
    earlier = probe_alignment(*_differences(loop, name, "legacy"))
    found = probe_alignment(telemetry, utility)
    models = [one.model for one in loop.plans["main"].sessions]
    by_model = {}
    for model in dict.fromkeys(models):
        at = np.flatnonzero([one == model for one in models])
        by_model[f"pearson_{model}"] = probe_alignment(telemetry[at], utility[at]).pearson
    return {
        "corpus": loop.corpus.label,
        "paper_corpus": loop.paper,
        "why": loop.why,
        "mode": name,
        "policy": NAMES[name],
        **asdict(found),
        "telemetry_sd": 1e3 * float(np.nanstd(telemetry)),
        "utility_sd": 1e3 * float(np.nanstd(utility)),
        "telemetry_ties": float((telemetry[~np.isnan(telemetry)] == 0.0).mean()),
        "utility_ties": float((utility == 0.0).mean()),
        "utility_up": float((utility > 0.0).mean()),
        **by_model,
        **{f"earlier_{measure}": getattr(earlier, measure) for measure in MEASURES},
    }


def _differences(loop: Loop, name: str, plan: str = "main") -> tuple[Any, Any]:
    mine, als = loop.metrics(MODES[name], plan), loop.metrics(MODES["als"], plan)
    return mine["telemetry_probe"] - als["telemetry_probe"], mine["utility_probe"] - als["utility_probe"]


def verdicts(rows: list[Row]) -> tuple[Verdict, ...]:
    """Three verdicts per published row; correlations point from 0, agreement of signs from one half."""
    out = []
    for paper, mode, _, *numbers in CELLS:
        row = next((row for row in rows if (row["paper_corpus"], row["mode"]) == (paper, mode)), None)
        if row is None:
            continue
        for (measure, title), value in zip(MEASURES.items(), numbers, strict=True):
            what = f"{paper}, {NAMES[mode]} − ALS: {title} of telemetry and post-test"
            centre = 0.5 if measure == "sign" else 0.0
            published = Published(f"{paper}/{mode}/{measure}", LABEL, what, value, tolerance=0.0005, reference=centre)
            ours = Ours(row[measure], _error(measure, value, row), centre, row["why"])
            out.append(judge(published, ours, _cause(row, measure)))
    return tuple(out)


def _error(measure: str, theirs: float, row: Row) -> float:
    """Standard error of the difference, as far as sessions were independent: (1 - r²)/sqrt(n - 1), or of two shares."""
    n = max(2, row["pairs"])
    if measure == "sign":
        return math.hypot(share_error(theirs, n), share_error(row["sign"], n))
    return math.hypot(1.0 - theirs**2, 1.0 - row[measure] ** 2) / math.sqrt(n - 1)


def _cause(row: Row, measure: str) -> str:
    return (
        f"Telemetry counts right answers of ten rounds, sd {row['telemetry_sd']:.0f} (×10⁻³) across sessions; the post-test, "
        f"which reads ability itself, {row['utility_sd']:.1f}; telemetry is exactly equal in {row['telemetry_ties']:.0%} of pairs, "
        f"and the post-test is higher than under ALS in {row['utility_up']:.0%} of sessions. By response model Pearson r is "
        + ", ".join(f"{row[key]:.2f} ({key.removeprefix('pearson_')})" for key in row if key.startswith("pearson_"))
        + f". With the earlier artifact's dynamics {MEASURES[measure]} is {row[f'earlier_{measure}']:.2f}. The paper does not "
        "define telemetry."
    )


def _summary(rows: list[Row]) -> dict[str, Any]:
    return {f"{row['paper_corpus'].lower()}_{row['mode']}_{measure}": row[measure] for row in rows for measure in MEASURES}


def _notes(rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ()
    up, ties = [row["utility_up"] for row in rows], [row["telemetry_ties"] for row in rows]
    return (
        "Telemetry is the accuracy of the last five rounds minus that of the first five (ours; the paper names it and does not "
        "define it).",
        f"The post-test is higher than under ALS in {min(up):.0%} to {max(up):.0%} of sessions, by mode; telemetry is exactly "
        f"equal in {min(ties):.0%} to {max(ties):.0%} of pairs, and an equal pair never agrees in sign with a probe that moved.",
    )


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    heads = {"policy": "policy", "pairs": "n", **MEASURES, "telemetry_ties": "telemetry equal", "utility_up": "post-test higher"}
    caption = "Alignment of telemetry and post-test differences against ALS; correlations over paired sessions."
    return (Table("probe-alignment", caption, ("corpus", *heads), tuple(rows), heads),)


def _panel(loop: Loop) -> Panel:
    """Every session of two modes: the two differences."""
    series = []
    for slot, name in enumerate(("adaptive", "als-selector"), 1):
        telemetry, utility = _differences(loop, name)
        there = ~np.isnan(telemetry)
        across, up = (tuple((1e3 * one[there]).tolist()) for one in (telemetry, utility))
        series.append(Series(NAMES[name], across, up, "points", slot))
    return Panel(loop.corpus.label, "Δ telemetry (×10⁻³)", "Δ post-test (×10⁻³)", tuple(series))


def _figures(panels: list[Panel]) -> tuple[Figure, ...]:
    if not panels:
        return ()
    caption = "Telemetry against post-test, both as differences against ALS, one point per session"
    describes = "One panel per corpus; a cloud for Adaptive and one for ALS+Selector."
    return (Figure("probe-alignment", caption, describes, tuple(panels)),)


EXPERIMENT = Experiment(
    name="probe-alignment",
    title="Telemetry against post-test",
    question="Does a probe that a platform could compute point where the hidden post-test points?",
    labels=(LABEL,),
    full=LoopConfig(),
    quick=QUICK,
    run=run,
    corpora=CORPORA,
)
