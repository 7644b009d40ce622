"""`robustness`: do the differences against ALS hold under every response model, and for every kind of learner?

The paper's table gives a mean, an SD and a minimum without saying over what. Taken here over the four response models; over the
sixteen settings (response model x profile) beside it.

Scope: none; outcomes are those of simulated people.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_closed_show import interval_cells
from slateproof.experiments.loop_runs import CORPORA, NAMES, QUICK, Loop, LoopConfig, loops
from slateproof.experiments.loop_stats import (
    TITLES,
    UNITS,
    Delta,
    delta,
    delta_columns,
    delta_of,
    judged_alone,
    mean_of,
    standard_error,
)
from slateproof.experiments.published.loop_closed import INTERVALS
from slateproof.experiments.published.loop_robustness import CELLS
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import MODES
from slateproof.types.columns import Floats

__all__ = ["EXPERIMENT", "run", "verdicts"]

LABEL, CLAIM = "tab:choice-robustness-app", "subsec:results-dp"
METRICS = ("correctness", "utility_probe", "uptake")
COMPARED = ("adaptive", "adaptive-als")
OVER = ("models", "settings")


def run(task: Task) -> Result:
    """Both modes on every corpus in hand, by response model and by setting."""
    config: LoopConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    cells: list[Row] = []
    for loop in made:
        for name in COMPARED:
            task.progress(len(rows), len(made) * 4, f"{loop.corpus.name}, {name}")
            mine, als = loop.metrics(MODES[name]), loop.metrics(MODES["als"])
            whole = {metric: delta(metric, mine, als, config.resamples) for metric in METRICS}
            rows += [_row(loop, name, over, mine, als, whole) | _earlier(loop, name) for over in OVER]
            cells += _by_model(loop, name, mine, als, config.resamples)
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    found = verdicts(rows, cells)
    return Result(_summary(rows), tuple(rows), found, _notes(rows), _tables(rows, cells), _figures(made, cells), skipped, digests)


def _row(
    loop: Loop, name: str, over: str, mine: Mapping[str, Floats], als: Mapping[str, Floats], whole: Mapping[str, Delta]
) -> Row:
    """Mean, SD and minimum of the group means, and the difference over all sessions with its interval."""
    groups = _groups(loop, over)
    row: Row = {"corpus": loop.corpus.label, "paper_corpus": loop.paper, "why": loop.why, "mode": name, "policy": NAMES[name]}
    row |= {"over": over, "groups": len(groups), "sessions": len(loop.plans["main"].sessions)}
    for metric in METRICS:
        means = {key: UNITS[metric] * mean_of(mine[metric][at] - als[metric][at]) for key, at in groups.items()}
        values = np.array(list(means.values()))
        worst = min(means, key=lambda key: means[key])
        row |= {f"mean_{metric}": float(np.nanmean(values)), f"sd_{metric}": float(np.nanstd(values, ddof=1))}
        row |= {f"min_{metric}": means[worst], f"worst_{metric}": worst}
    return row | delta_columns(whole)


def _earlier(loop: Loop, name: str) -> Row:
    """Mean differences with the dynamics of the authors' earlier artifact, in which three of four response models were one."""
    mine, als = (loop.metrics(MODES[one], "legacy") for one in (name, "als"))
    return {f"earlier_{metric}": UNITS[metric] * mean_of(mine[metric] - als[metric]) for metric in METRICS}


def _groups(loop: Loop, over: str) -> dict[str, Any]:
    """Places of the sessions of each response model, or of each response model and profile."""
    keys = [one.model if over == "models" else f"{one.model}/{one.profile.name}" for one in loop.plans["main"].sessions]
    return {key: np.flatnonzero([one == key for one in keys]) for key in dict.fromkeys(keys)}


def _by_model(loop: Loop, name: str, mine: Mapping[str, Floats], als: Mapping[str, Floats], resamples: int) -> list[Row]:
    rows = []
    for model, at in _groups(loop, "models").items():
        found = {metric: delta(metric, mine, als, resamples, at) for metric in METRICS}
        head = {"corpus": loop.corpus.label, "paper_corpus": loop.paper, "mode": name, "policy": NAMES[name], "model": model}
        rows.append(head | {"sessions": int(at.size)} | delta_columns(found))
    return rows


def verdicts(rows: list[Row], cells: list[Row]) -> tuple[Verdict, ...]:
    """Three verdicts per published cell, and one on the claim for each corpus and metric."""
    out: list[Verdict] = []
    for paper, mode, *triples in CELLS:
        at = {row["over"]: row for row in rows if (row["paper_corpus"], row["mode"]) == (paper, mode)}
        mine = [cell for cell in cells if (cell["paper_corpus"], cell["mode"]) == (paper, mode)]
        for metric, triple in zip(METRICS, triples, strict=True):
            if at:
                out += _cell(paper, mode, metric, triple, at["models"], mine)
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        out += _claims([row for row in rows if row["paper_corpus"] == paper and row["over"] == "settings"], paper)
    return tuple(out)


def _cell(paper: str, mode: str, metric: str, triple: tuple[float, float, float], row: Row, cells: list[Row]) -> list[Verdict]:
    """The paper gives no interval, so its errors are taken to be ours. Of an SD over n groups: published sd / sqrt(2 (n - 1)) for
    both. Of a minimum: that of one group's mean, sqrt(n) times that of all sessions."""
    mean, sd, smallest = triple
    ours = delta_of(row, metric)
    error = standard_error(ours.low, ours.high) * math.sqrt(2.0 * row["groups"])
    key, what = f"{paper}/{mode}/{metric}", f"{paper}, {NAMES[mode]} − ALS over response models: {TITLES[metric]}"
    each = ", ".join(f"{cell['model']} {cell[f'delta_{metric}']:+.4f}" for cell in cells)
    cause = f"Ours by response model: {each}; with the earlier artifact's dynamics {row[f'earlier_{metric}']:+.4f}."
    spread = row[f"sd_{metric}"]
    least = Published(f"{key}/min", LABEL, f"{what}, minimum", smallest, reference=0.0)
    return [
        judged_alone(f"{key}/mean", LABEL, f"{what}, mean", mean, ours, row["why"], cause),
        judge(
            Published(f"{key}/sd", LABEL, f"{what}, SD", sd, tolerance=0.0005),
            Ours(spread, sd / math.sqrt(max(1, row["groups"] - 1)), why=row["why"]),
            cause,
        ),
        judge(least, Ours(row[f"min_{metric}"], error, 0.0, row["why"]), cause),
    ]


def _claims(rows: list[Row], paper: str) -> list[Verdict]:
    """ "Minimum paired deltas are positive": 1 where the smallest of the sixteen settings is, in both modes."""
    out = []
    for metric in METRICS:
        holds = all(row[f"min_{metric}"] > 0.0 for row in rows)
        what = f"{paper}: {TITLES[metric]} is positive in all {rows[0]['groups']} settings, both modes (1: yes)"
        worst = "; ".join(f"{row['policy']}: {row[f'min_{metric}']:+.4f} in {row[f'worst_{metric}']}" for row in rows)
        cause = f"The smallest of ours: {worst}."
        published = Published(f"{paper}/positive/{metric}", CLAIM, what, 1.0)
        out.append(judge(published, Ours(float(holds), why=rows[0]["why"]), cause))
    return out


def _summary(rows: list[Row]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for row in rows:
        out |= {f"{row['paper_corpus'].lower()}_{row['mode']}_{row['over']}_min_{m}": row[f"min_{m}"] for m in METRICS}
    return out


def _notes(rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ()
    notes = [_few_values(), *_other_runs()]
    for row in rows:
        if row["over"] == "settings":
            parts = ", ".join(f"{TITLES[m]} {row[f'min_{m}']:.3f} ({row[f'worst_{m}']})" for m in METRICS)
            notes.append(f"{row['corpus']}, {row['policy']} − ALS, smallest of {row['groups']} settings: {parts}.")
    return tuple(notes)


def _few_values() -> str:
    """How far the published minimum lies below the mean, in SDs, says over how many values it was taken."""
    reach = [(mean - least) / sd for *_, one, two, three in CELLS for mean, sd, least in (one, two, three)]
    return (
        f"The published minima lie {min(reach):.2f} to {max(reach):.2f} SD below their means. Four values cannot lie farther than "
        f"1.5 SD below (1.73 with n in the SD), sixteen normal ones lie 1.77 below on average: the table is over the four response "
        "models, not over the sixteen settings that the text names."
    )


def _other_runs() -> list[str]:
    """Means of this table that lie outside the interval of the same comparison in "tab:rq1-vs-als-app"."""
    shared = {"correctness": 0, "utility_probe": 1, "uptake": 3}
    out = []
    for paper, mode, *triples in CELLS:
        there = next(intervals for p, m, *intervals in INTERVALS if (p, m) == (paper, mode))
        for metric, (mean, _, _) in zip(METRICS, triples, strict=True):
            middle, low, high = there[shared[metric]]
            if not low <= mean <= high:
                out.append(f"{paper} {NAMES[mode]} {TITLES[metric]}: {mean:.3f} here, {middle:.3f} [{low:.3f}, {high:.3f}] there")
    return [f"Published twice for the same comparison, and not the same run: {'; '.join(out)}."] if out else []


def _tables(rows: list[Row], cells: list[Row]) -> tuple[Table, ...]:
    heads = {"over": "over", **{metric: TITLES[metric] for metric in METRICS}}
    summed = tuple({**row, **{metric: _triple(row, metric) for metric in METRICS}} for row in rows)
    each = {"model": "response model", "sessions": "n", **{f"delta_{metric}": TITLES[metric] for metric in METRICS}}
    first = "Differences against ALS: mean ± SD (minimum) of the means by response model, and by setting (model x profile)."
    second = "Differences against ALS by response model, mean [95 % bootstrap]."
    return (
        Table("robustness", first, ("corpus", "policy", *heads), summed, heads),
        Table("robustness-models", second, ("corpus", "policy", *each), tuple(interval_cells(cell) for cell in cells), each),
    )


def _triple(row: Row, metric: str) -> str:
    mean, sd, least = (row[f"{stat}_{metric}"] for stat in ("mean", "sd", "min"))
    return f"{mean:.3f} ± {sd:.3f} (min {least:.3f})"


def _figures(made: tuple[Loop, ...], cells: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for loop in made:
        for metric in METRICS:
            series = []
            for slot, name in enumerate(COMPARED, 1):
                mine = [c for c in cells if (c["paper_corpus"], c["mode"]) == (loop.paper, name)]
                mean, low, high = (tuple(c[f"{end}_{metric}"] for c in mine) for end in ("delta", "low", "high"))
                models = tuple(c["model"].replace("contextual_", "ctx-") for c in mine)
                series.append(Series(NAMES[name], models, mean, "bars", slot, low, high))
            panels.append(Panel(loop.corpus.label, "response model", f"{TITLES[metric]} against ALS", tuple(series)))
    if not panels:
        return ()
    caption = "Differences against ALS under each response model, with 95 % intervals"
    describes = "One panel per corpus and metric; for each of four response models a bar for Adaptive and one for Adaptive+ALS."
    return (Figure("robustness", caption, describes, tuple(panels), columns=len(METRICS)),)


EXPERIMENT = Experiment(
    name="robustness",
    title="Response-model robustness",
    question="Do the differences against ALS hold under every response model and for every profile?",
    labels=(LABEL,),
    full=LoopConfig(),
    quick=QUICK,
    run=run,
    corpora=CORPORA,
)
