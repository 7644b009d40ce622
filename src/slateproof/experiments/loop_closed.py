"""`closed-loop`: what does a session gain, or lose, against plain ALS, when scorer and selector run in the loop?

Every mode plays the same sessions on the same pools; differences are paired by session. Played three times: calibrated response
models over 20 rounds, the same over more rounds, and the dynamics of the authors' earlier artifact (``legacy``).

Scope: none for outcomes, which are those of simulated people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Task
from slateproof.experiments.loop_closed_show import Found, figures, tables
from slateproof.experiments.loop_runs import CORPORA, NAMES, QUICK, Loop, LoopConfig, loops
from slateproof.experiments.loop_stats import (
    TITLES,
    TWO_SESSIONS,
    UNITS,
    Delta,
    delta,
    delta_columns,
    judged,
    judged_alone,
    mean_of,
    rests_on_two,
)
from slateproof.experiments.published.loop_closed import INTERVALS, JUMPS, SCPO_PROBE
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import METRICS, MODES, Mode

__all__ = ["EXPERIMENT", "run"]

REAL_ALS = replace(MODES["als"], name="real-als", learner="als")

FOUR = tuple(MODES[name] for name in ("adaptive", "adaptive-scpo", "adaptive-als", "als-selector"))
"""The modes of the paper's table."""

DYNAMICS = {"main": "calibrated", "longer": "calibrated", "legacy": "legacy"}


def run(task: Task) -> Result:
    """All modes on every corpus in hand."""
    config: LoopConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    found: Found = {}
    beside = (*(MODES[name] for name in config.baselines), REAL_ALS)
    played = {"main": FOUR + beside, "longer": FOUR, "legacy": FOUR}
    total = len(made) * sum(len(modes) for modes in played.values())
    for loop in made:
        for plan, modes in played.items():
            rows.append(_row(loop, plan, MODES["als"], {}))
            for mode in modes:
                task.progress(len(found), total, f"{loop.corpus.name}, {plan}, {mode.name}")
                mine, als = loop.metrics(mode, plan), loop.metrics(MODES["als"], plan)
                differences = {metric: delta(metric, mine, als, config.resamples) for metric in UNITS}
                found[loop.paper, plan, mode.name] = differences
                rows.append(_row(loop, plan, mode, differences))
    verdicts = [one for loop in made for one in (*_deltas(loop, found), *_jumps(loop), *_scpo(loop, config))]
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(
        _summary(rows), tuple(rows), tuple(verdicts), _notes(made, found), tables(rows), figures(made, found), skipped, digests
    )


def _row(loop: Loop, plan: str, mode: Mode, differences: Mapping[str, Delta]) -> Row:
    metrics = loop.metrics(mode, plan)
    row: Row = {"corpus": loop.corpus.label, "paper_corpus": loop.paper, "dynamics": DYNAMICS[plan]}
    row |= {
        "rounds": loop.plans[plan].rounds,
        "mode": mode.name,
        "policy": NAMES[mode.name],
        "sessions": len(loop.plans[plan].sessions),
    }
    row |= {name: mean_of(metrics[name]) for name in METRICS}
    return row | delta_columns(differences)


def _deltas(loop: Loop, found: Found) -> list[Verdict]:
    """The cells of "tab:rq1-vs-als-app" of this corpus."""
    verdicts = []
    for paper, mode, *intervals in INTERVALS:
        if paper != loop.paper:
            continue
        why = loop.why or (TWO_SESSIONS if rests_on_two(intervals) else None)
        for metric, published in zip(UNITS, intervals, strict=True):
            what = f"{paper}, {NAMES[mode]} − ALS: {TITLES[metric]}"
            ours, legacy = (found[paper, plan, mode][metric] for plan in ("main", "legacy"))
            key = f"{paper}/{mode}/{metric}"
            verdicts.append(judged(key, "tab:rq1-vs-als-app", what, published, ours, why, _cause(loop, mode, metric, legacy)))
    return verdicts


def _cause(loop: Loop, mode: str, metric: str, legacy: Delta) -> str:
    """What was found about the difference: room at the top, and what the earlier artifact's dynamics give."""
    room = ""
    if metric in ("uptake", "attempts_per_round"):
        size = float(loop.rounds(MODES[mode]).column("size").mean())
        room = f"The lever map shows {size:.2f} items a round, ALS {loop.rounds(MODES['als']).column('size').mean():.2f}. "
    if metric == "correctness":
        right = mean_of(loop.metrics(MODES["als"])["correctness"])
        passes = float(loop.corpus.positive.mean())
        room = (
            f"{passes:.1%} of the corpus' answers are correct, and the response models are fitted to them: ALS is right in "
            f"{right:.3f} of attempted rounds, so no mode can gain more than {1.0 - right:.3f}. "
        )
    return (
        room
        + f"With the dynamics of the authors' earlier artifact ours is {legacy.mean:.3f} [{legacy.low:.3f}, {legacy.high:.3f}]."
    )


def _jumps(loop: Loop) -> list[Verdict]:
    """Of accepted items, as the paper defines A_t."""
    verdicts = []
    for paper, mode, value in JUMPS:
        if paper != loop.paper:
            continue
        two = any(rests_on_two(row[2:]) for row in INTERVALS if row[:2] == (paper, mode))
        each = loop.metrics(MODES[mode])["accepted_target_jump"]
        what = f"{paper}, {NAMES[mode]}: absolute target-value jump"
        published = Published(f"{paper}/{mode}/jump", "tab:rq1-summary-app", what, value, share=0.1)
        error = float(np.nanstd(each, ddof=1) / np.sqrt(each.size))
        why = loop.why or (TWO_SESSIONS if two else None)
        verdicts.append(judge(published, Ours(mean_of(each), error, why=why), _spread(loop, mode)))
    return verdicts


def _spread(loop: Loop, mode: str) -> str:
    """What a jump is made of: the spread of difficulty, and how many items are accepted."""
    d = loop.corpus.items.difficulty
    low, high = np.percentile(d, (5.0, 95.0))
    stretched = (np.clip(d, low, high) - low) / (high - low) if high > low else d
    size = max(1, round(mean_of(loop.metrics(MODES[mode])["attempts_per_round"])))
    plain, wide = (_random_jump(values, size) for values in (d, stretched))
    return (
        f"A jump scales with the spread of difficulty, here sd {d.std():.3f} between {d.min():.2f} and {d.max():.2f}: {size} items "
        f"accepted at random would jump {plain:.3f}, and {wide:.3f} if difficulty were stretched to [0, 1]. The paper does not "
        "give its scale."
    )


def _random_jump(d: Any, size: int, slates: int = 20_000) -> float:
    rng = np.random.default_rng(0)
    means = d[rng.integers(0, d.size, (slates, size))].mean(axis=1)
    return float(np.abs(np.diff(means)).mean())


def _scpo(loop: Loop, config: LoopConfig) -> list[Verdict]:
    """SCPO against Adaptive, of which the text gives no interval."""
    ours = delta("utility_probe", loop.metrics(MODES["adaptive-scpo"]), loop.metrics(MODES["adaptive"]), config.resamples)
    return [
        judged_alone(
            f"{paper}/scpo-adaptive", "subsec:results-levers", f"{paper}, Adaptive-SCPO − Adaptive: {TITLES['utility_probe']}",
            value, ours, loop.why, _cause_scpo(loop),
        )
        for paper, value in SCPO_PROBE
        if paper == loop.paper
    ]  # fmt: skip


def _cause_scpo(loop: Loop) -> str:
    hard, soft = (loop.rounds(MODES[name]) for name in ("adaptive-scpo", "adaptive"))
    shown, before = (float(one.column("mean_target").mean()) for one in (hard, soft))
    target, hardest = float(hard.column("target").mean()), float(loop.corpus.items.difficulty.max())
    return (
        f"The target is {target:.2f} on average and the hardest item {hardest:.2f}; SCPO follows the target and shows items of "
        f"mean difficulty {shown:.2f}, Adaptive {before:.2f}."
    )


def _summary(rows: list[Row]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for row in rows:
        if row["mode"] == "adaptive" and row["dynamics"] == "calibrated" and row["rounds"] == min(r["rounds"] for r in rows):
            out |= {f"{row['paper_corpus'].lower()}_{metric}": row[f"delta_{metric}"] for metric in UNITS}
    return out


def _notes(made: tuple[Loop, ...], found: Found) -> tuple[str, ...]:
    if not made:
        return ()
    two = [f"{paper} {NAMES[mode]}" for paper, mode, *intervals in INTERVALS if rests_on_two(intervals)]
    notes = [
        f"Published rows that rest on two sessions: {' and '.join(two)}. In all five metrics the mean is the exact middle of the "
        "interval, as for two values; the paper's table of probe alignment (n = 256) leaves out the same rows.",
    ]
    for loop in made:
        for plan, words in (("main", "calibrated response models"), ("legacy", "the earlier artifact's dynamics")):
            one = found[loop.paper, plan, "adaptive"]
            parts = ", ".join(f"{TITLES[m]} {d.mean:.3f} [{d.low:.3f}, {d.high:.3f}]" for m, d in one.items())
            notes.append(f"{loop.corpus.label}, {words}, Adaptive − ALS: {parts}.")
    return tuple(notes)


EXPERIMENT = Experiment(
    name="closed-loop",
    title="Closed loop against ALS",
    question="What do simulated learners gain or lose against plain ALS when scorer and selector run in the loop?",
    labels=("tab:rq1-summary-app", "tab:rq1-vs-als-app"),
    full=LoopConfig(),
    quick=QUICK,
    run=run,
    corpora=CORPORA,
)
