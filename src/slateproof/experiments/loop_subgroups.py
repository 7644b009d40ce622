"""`subgroups`: do learners who start more engaged gain more than those who start less engaged?

The paper's table names neither the policy nor what "High" and "Low" split. Taken here: Adaptive's own outcome, sessions that start
more engaged than the median against the others. Other readings stand beside it: gaps of ALS, and of the difference between both.

Scope: none; outcomes are those of simulated people.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_runs import CORPORA, QUICK, Loop, LoopConfig, loops
from slateproof.experiments.loop_stats import UNITS
from slateproof.experiments.published.loop_subgroups import GAPS
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import MODES, subgroup_gap
from slateproof.simulate.metrics import engaged
from slateproof.types.columns import Floats

__all__ = ["EXPERIMENT", "gap", "run", "verdicts"]

LABEL = "tab:subgroup-gap-app"
METRICS = {"correctness": "correctness", "utility_probe": "post-test (×10⁻³)", "uptake": "uptake"}
READINGS = {"adaptive": "Adaptive", "als": "ALS", "difference": "Adaptive − ALS"}
"""What the gap is taken of; the first is compared with the paper."""

SPLITS = {"start": "engagement at the start", "attempts": "attempts under ALS"}
"""By what sessions are split at the median: the profile's engagement, or how much they tried under ALS."""

DIGIT = 0.0005


def run(task: Task) -> Result:
    """All readings and splits on every corpus in hand, calibrated and with the earlier artifact's dynamics."""
    config: LoopConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    for place, loop in enumerate(made):
        task.progress(place, len(made), loop.corpus.name)
        for plan in ("main", "legacy"):
            rows += _rows(loop, plan, config.resamples)
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(_summary(rows), tuple(rows), verdicts(rows), _notes(rows), _tables(rows), _figures(made, rows), skipped, digests)


def _rows(loop: Loop, plan: str, resamples: int) -> list[Row]:
    adaptive, als = loop.metrics(MODES["adaptive"], plan), loop.metrics(MODES["als"], plan)
    values = {
        "adaptive": adaptive,
        "als": als,
        "difference": {metric: adaptive[metric] - als[metric] for metric in METRICS},
    }
    by = {
        "start": np.array([one.profile.engagement for one in loop.plans[plan].sessions]),
        "attempts": als["attempts_per_round"],
    }
    knowledge = np.array([one.profile.knowledge for one in loop.plans[plan].sessions])
    out = []
    for split, engagement in by.items():
        high = engaged(engagement)
        for reading, metrics in values.items():
            row: Row = {"corpus": loop.corpus.label, "paper_corpus": loop.paper, "why": loop.why, "plan": plan, "split": split}
            row |= {"reading": reading, "policy": READINGS[reading], "high": int(high.sum()), "low": int((~high).sum())}
            row |= {"knowledge_high": float(knowledge[high].mean()), "knowledge_low": float(knowledge[~high].mean())}
            for metric in METRICS:
                found = gap(UNITS[metric] * metrics[metric], engagement, resamples)
                row |= dict(zip((f"gap_{metric}", f"low_{metric}", f"high_{metric}"), found, strict=True))
            out.append(row)
    return out


def gap(values: Floats, engagement: Floats, resamples: int, seed: int = 42) -> tuple[float, float, float]:
    """``subgroup_gap`` and its 95 % percentile interval; both groups are resampled by themselves."""
    high = engaged(engagement)
    rng = np.random.default_rng(seed)
    means = []
    for part in (values[high], values[~high]):
        part = part[~np.isnan(part)]
        means.append(part[rng.integers(0, part.size, (resamples, part.size))].mean(axis=1))
    low, high_end = np.quantile(means[0] - means[1], (0.025, 0.975))
    return subgroup_gap(values, engagement), float(low), float(high_end)


def verdicts(rows: list[Row]) -> tuple[Verdict, ...]:
    """Of the first reading, calibrated, split by engagement at the start; the paper's error is taken to be ours."""
    out = []
    for paper, *numbers in GAPS:
        mine = [row for row in rows if row["paper_corpus"] == paper]
        row = next((r for r in mine if (r["plan"], r["split"], r["reading"]) == ("main", "start", "adaptive")), None)
        if row is None:
            continue
        for (metric, title), value in zip(METRICS.items(), numbers, strict=True):
            what = f"{paper}, more engaged minus less engaged: {title}"
            error = math.sqrt(2.0) * (row[f"high_{metric}"] - row[f"low_{metric}"]) / (2.0 * 1.959964)
            published = Published(f"{paper}/{metric}", LABEL, what, value, tolerance=DIGIT, reference=0.0)
            out.append(judge(published, Ours(row[f"gap_{metric}"], error, 0.0, row["why"]), _cause(mine, metric)))
    return tuple(out)


def _cause(rows: list[Row], metric: str) -> str:
    """All readings of the table that were measured."""
    parts = [
        f"{row['policy']}, by {SPLITS[row['split']]}{', earlier dynamics' if row['plan'] == 'legacy' else ''} "
        f"{row[f'gap_{metric}']:+.3f}"
        for row in rows
    ]
    first = rows[0]
    return (
        "The paper names neither the policy nor the split, and the more engaged profiles also know more "
        f"({first['knowledge_high']:.2f} against {first['knowledge_low']:.2f} at the start). Measured: {'; '.join(parts)}."
    )


def _summary(rows: list[Row]) -> dict[str, Any]:
    return {
        f"{row['paper_corpus'].lower()}_{metric}": row[f"gap_{metric}"]
        for row in rows
        if (row["plan"], row["split"], row["reading"]) == ("main", "start", "adaptive")
        for metric in METRICS
    }


def _notes(rows: list[Row]) -> tuple[str, ...]:
    notes = []
    for row in rows:
        if (row["plan"], row["split"], row["reading"]) == ("main", "start", "difference"):
            parts = ", ".join(
                f"{title} {row[f'gap_{m}']:+.3f} [{row[f'low_{m}']:.3f}, {row[f'high_{m}']:.3f}]" for m, title in METRICS.items()
            )
            notes.append(f"{row['corpus']}: what the more engaged gain over ALS, minus what the less engaged gain: {parts}.")
    return tuple(notes)


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    heads = {"plan": "dynamics", "by": "split by", "policy": "of", **METRICS}
    names = {"main": "calibrated", "legacy": "earlier artifact"}
    shown = tuple(
        {**row, "plan": names[row["plan"]], "by": SPLITS[row["split"]]}
        | {m: f"{row[f'gap_{m}']:.3f} [{row[f'low_{m}']:.3f}, {row[f'high_{m}']:.3f}]" for m in METRICS}
        for row in rows
    )
    caption = "More engaged minus less engaged sessions (split at the median), mean [95 % bootstrap], by reading of the table."
    return (Table("subgroups", caption, ("corpus", *heads), shown, heads),)


def _figures(made: tuple[Loop, ...], rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for loop in made:
        mine = [r for r in rows if (r["paper_corpus"], r["plan"], r["split"]) == (loop.paper, "main", "start")]
        theirs = next(numbers for paper, *numbers in GAPS if paper == loop.paper)
        for place, (metric, title) in enumerate(METRICS.items()):
            mean, low, high = (tuple(row[f"{end}_{metric}"] for row in mine) for end in ("gap", "low", "high"))
            series = (
                Series("ours", tuple(row["policy"] for row in mine), mean, "bars", 1, low, high),
                Series("published (policy not named)", (-0.5, len(mine) - 0.5), (theirs[place],) * 2, "reference"),
            )
            panels.append(Panel(loop.corpus.label, "", f"{title}, high − low", series))
    if not panels:
        return ()
    caption = "More engaged minus less engaged sessions, with 95 % intervals"
    describes = "One panel per corpus and outcome: bars for Adaptive, ALS and their difference, a line at the published gap."
    return (Figure("subgroups", caption, describes, tuple(panels), columns=len(METRICS)),)


EXPERIMENT = Experiment(
    name="subgroups",
    title="Subgroup gaps",
    question="Do learners who start more engaged gain more?",
    labels=(LABEL,),
    full=LoopConfig(),
    quick=QUICK,
    run=run,
    corpora=CORPORA,
)
