"""`components`: what changes when target shaping, exploration, diversity or slate-size adaptation is taken away?

Adaptive against itself with one term off, on the same sessions and pools.

Scope: none; outcomes are those of simulated people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_runs import CORPORA, QUICK, Loop, LoopConfig, loops
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import MODES, Mode, mode, paired_bootstrap
from slateproof.simulate.modes import TERMS
from slateproof.types.columns import Floats

__all__ = ["CLAIMS", "EXPERIMENT", "run"]

REMOVED = {"target": "target shaping", "exploration": "exploration", "diversity": "diversity", "size": "slate-size adaptation"}

METRICS = {
    "accepted_target": ("accepted target value", 1.0),
    "utility_probe": ("post-test (×10⁻³)", 1e3),
    "attempts_per_round": ("attempts/round", 1.0),
    "slate_overlap": ("slate overlap", 1.0),
    "uptake": ("uptake", 1.0),
}
"""What the paper's claims are about: title and unit."""

CLAIMS = (
    ("target", "accepted_target"),
    ("target", "utility_probe"),
    ("exploration", "attempts_per_round"),
    ("diversity", "slate_overlap"),
    ("size", "uptake"),
)
"""Section "Selector components and drift": which removal changes which outcome most."""


def run(task: Task) -> Result:
    """The four removals on every corpus in hand."""
    config: LoopConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    for loop in made:
        full = _metrics(loop, MODES["adaptive"])
        for term in TERMS:
            task.progress(len(rows), len(made) * len(TERMS), f"{loop.corpus.name}, without {term}")
            rows.append(_row(loop, term, full, config.resamples))
    verdicts = [one for loop in made for one in _verdicts(loop, rows)]
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(_summary(rows), tuple(rows), tuple(verdicts), _notes(rows), _tables(rows), _figures(made, rows), skipped, digests)


def _metrics(loop: Loop, played: Mode) -> dict[str, Floats]:
    means = loop.rounds(played).column("accepted_mean")
    there = ~np.isnan(means)
    target = np.where(there, means, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return loop.metrics(played) | {"accepted_target": np.where(there.any(axis=1), target, np.nan)}


def _row(loop: Loop, term: str, full: Mapping[str, Floats], resamples: int) -> Row:
    without = _metrics(loop, mode(f"adaptive-no-{term}"))
    row: Row = {
        "corpus": loop.corpus.label,
        "paper_corpus": loop.paper,
        "removed": term,
        "sessions": len(loop.plans["main"].sessions),
    }
    for metric, (_, unit) in METRICS.items():
        found = paired_bootstrap(without[metric], full[metric], resamples=resamples)
        row |= {f"delta_{metric}": found.mean * unit, f"low_{metric}": found.low * unit, f"high_{metric}": found.high * unit}
    return row


def _most(rows: list[Row], metric: str) -> str:
    """The removal that changes a metric most."""
    return str(max(rows, key=lambda row: abs(row[f"delta_{metric}"]))["removed"])


def _verdicts(loop: Loop, rows: list[Row]) -> list[Verdict]:
    """A claim holds (1) if its removal changes its outcome more than the other three do."""
    mine = [row for row in rows if row["paper_corpus"] == loop.paper]
    verdicts = []
    for term, metric in CLAIMS:
        what = f"{loop.paper}: of the four removals that of {REMOVED[term]} changes {METRICS[metric][0]} most (1: yes)"
        published = Published(f"{loop.paper}/{term}/{metric}", "subsec:results-levers", what, 1.0)
        order = "; ".join(f"without {row['removed']} {row[f'delta_{metric}']:+.4f}" for row in mine)
        verdicts.append(judge(published, Ours(float(_most(mine, metric) == term), why=loop.why), f"Measured: {order}."))
    return verdicts


def _summary(rows: list[Row]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        mine = [row for row in rows if row["paper_corpus"] == paper]
        out |= {f"{paper.lower()}_most_{metric}": _most(mine, metric) for metric in METRICS}
    return out


def _notes(rows: list[Row]) -> tuple[str, ...]:
    notes = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus]
        most = ", ".join(f"{title} by removing {REMOVED[_most(mine, metric)]}" for metric, (title, _) in METRICS.items())
        notes.append(f"{corpus}: changed most: {most}.")
    return tuple(notes)


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    cells = []
    for row in rows:
        texts = {f"delta_{m}": f"{row[f'delta_{m}']:.4f} [{row[f'low_{m}']:.4f}, {row[f'high_{m}']:.4f}]" for m in METRICS}
        cells.append({**row, **texts, "removed": REMOVED[row["removed"]]})
    heads = {f"delta_{m}": title for m, (title, _) in METRICS.items()}
    caption = "Adaptive without a term minus Adaptive, mean [95 % bootstrap]."
    return (Table("components", caption, ("corpus", "removed", *heads), tuple(cells), heads),)


def _figures(made: tuple[Loop, ...], rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for metric, (title, _) in METRICS.items():
        series = []
        for slot, loop in enumerate(made, 1):
            mine = [row for row in rows if row["paper_corpus"] == loop.paper]
            mean, low, high = (tuple(row[f"{end}_{metric}"] for row in mine) for end in ("delta", "low", "high"))
            series.append(Series(loop.corpus.label, TERMS, mean, "bars", slot, low, high))
        panels.append(Panel(title, "removed", "without − with", tuple(series)))
    if not made:
        return ()
    caption = "Component removal: what changes when one term of the selector is off, with 95 % intervals"
    describes = "One panel per outcome, bars for the four terms that were removed, by corpus."
    return (Figure("components", caption, describes, tuple(panels), columns=3),)


EXPERIMENT = Experiment(
    name="components",
    title="Component removal",
    question="Which outcome does each term of the selector move?",
    labels=(),
    full=LoopConfig(),
    quick=QUICK,
    run=run,
    corpora=CORPORA,
)
