"""`tiers`: what do the paper's nominal privacy configurations do to outcomes, by anchor weight, and what do verified ones cost?

Nominal: the two-tower's online update is clipped and noised by a tier's numbers (``simulate.modes.TIERS``); no sampler runs, and no
ε follows. Verified: the private two-tower, whose every release is in a ledger; ``loop_private`` sets label and truth side by side.

Scope: none for nominal tiers; verified ones carry their ledger's figure, see ``simulate.scope``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from slateproof.experiments.core import Experiment, Result, Row, Task
from slateproof.experiments.loop_private import private_rows
from slateproof.experiments.loop_runs import BLENDS, CORPORA, NAMES, Loop, LoopConfig, loop_on, loops, quick_of
from slateproof.experiments.loop_stats import UNITS, delta, delta_columns, mean_of
from slateproof.experiments.loop_tiers_show import METRICS, figures, notes, tables
from slateproof.experiments.loop_tiers_verdicts import COHORT_LABEL, EDNET_LABEL, OULAD_LABEL, SCORER_LABEL, verdicts
from slateproof.simulate import TIERS, Mode, between
from slateproof.types.columns import Ints

__all__ = ["EXPERIMENT", "TierConfig", "run"]

STILL = replace(BLENDS[0.0], name="adaptive-still", updates=False)
"""Adaptive without its online update: the control. What a tier does beyond this is noise."""


@dataclass(frozen=True, slots=True)
class TierConfig(LoopConfig):
    """``sweep_copies`` learners of each response model and profile in the sweeps (8: the paper's 128 sessions).

    ``cohort_users``: users of the larger EdNet cohort; 0 leaves the follow-up out. ``private_on``: papers' corpora on which the
    private learner is trained; none leaves the verified modes out.
    """

    sweep_copies: int = 8
    cohort_users: int = 25_000
    private_on: tuple[str, ...] = ("OULAD",)


def run(task: Task) -> Result:
    """All tables on every corpus in hand."""
    config: TierConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    for place, loop in enumerate(made):
        rows += _scorer(loop, config)
        for weight in BLENDS:
            task.progress(place, len(made) + 2, f"{loop.corpus.name}, sweep, w = {weight:g}")
            label = OULAD_LABEL if loop.paper == "OULAD" else EDNET_LABEL
            rows += [_row(loop, label, weight, tier, loop.first(config.sweep_copies), config) for tier in TIERS]
    private: list[Row] = []
    for loop in made:
        if loop.paper in config.private_on:
            task.progress(len(made), len(made) + 2, f"{loop.corpus.name}: the private learner")
            private += private_rows(loop, config.resamples)
    cohort, why = _cohort(task, made)
    rows += cohort
    if made and not config.private_on:
        why = (*why, "verified modes: the private learner is left out of a quick run")
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(
        _summary(rows, private), (*rows, *private), verdicts(rows), notes(rows, private), tables(rows, private),
        figures(rows), (*skipped, *why), digests,
    )  # fmt: skip


def _scorer(loop: Loop, config: TierConfig) -> list[Row]:
    """Adaptive under every tier, all sessions; and the control."""
    everyone = loop.first(config.copies)
    rows = [_row(loop, SCORER_LABEL, 0.0, tier, everyone, config) for tier in TIERS]
    return [*rows, _compared(loop, "control", 0.0, "no update", STILL, everyone, config)]


def _row(loop: Loop, label: str, weight: float, tier: str, sessions: Ints, config: TierConfig) -> Row:
    """ALS is not updated: there is nothing to disturb, and its run is its own reference."""
    base = BLENDS[weight]
    mode = replace(base, name=f"{base.name}-{tier}", tier=tier) if base.updates else base
    return _compared(loop, label, weight, tier, mode, sessions, config)


def _compared(loop: Loop, label: str, weight: float, tier: str, mode: Mode, sessions: Ints, config: TierConfig) -> Row:
    base = BLENDS[weight]
    after, before = loop.metrics(mode), loop.metrics(base)
    found = {metric: delta(metric, after, before, config.resamples, sessions) for metric in METRICS}
    apart = between(loop.rounds(mode), loop.rounds(base))
    row: Row = {"label": label, "corpus": loop.corpus.label, "users": loop.corpus.users}
    row |= {"paper_corpus": loop.paper, "why": loop.why, "mode": base.name, "policy": NAMES[base.name]}
    row |= {"anchor_weight": weight, "tier": tier, "sessions": int(sessions.size)}
    earlier, other = loop.metrics(mode, "legacy"), loop.metrics(base, "legacy")
    row |= {f"earlier_{metric}": UNITS[metric] * mean_of(earlier[metric] - other[metric]) for metric in METRICS}
    row |= {"right": mean_of(before["correctness"][sessions]), "overlap": float(apart["jaccard"][sessions].mean())}
    return row | delta_columns(found)


def _cohort(task: Task, made: tuple[Loop, ...]) -> tuple[list[Row], tuple[str, ...]]:
    """The follow-up on more EdNet users, a corpus and learners of its own; the locked tier only."""
    config: TierConfig = task.config
    ednet = next((loop for loop in made if loop.paper == "EdNet"), None)
    if ednet is None:
        return [], ()
    if not config.cohort_users:
        return [], ("the larger EdNet cohort: left out of a quick run",)
    task.progress(len(made) + 1, len(made) + 2, f"{ednet.corpus.name}: {config.cohort_users:,} users")
    bigger = replace(config, users=config.cohort_users, copies=config.sweep_copies)
    loop = loop_on(task.corpora, "EdNet", ednet.corpus.name, ednet.setting.config.preset, bigger, task.seed)
    return [_row(loop, COHORT_LABEL, weight, "locked", loop.first(config.sweep_copies), config) for weight in BLENDS], ()


def _summary(rows: list[Row], private: list[Row]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for row in rows:
        if row["label"] in (OULAD_LABEL, EDNET_LABEL) and row["anchor_weight"] < 1.0:
            name = f"{row['paper_corpus'].lower()}_{row['tier']}_w{round(100 * row['anchor_weight']):03d}"
            out |= {f"{name}_correctness": row["delta_correctness"], f"{name}_overlap": row["overlap"]}
    for row in private:
        out |= {f"{row['mode']}_epsilon": row["ran_epsilon"], f"{row['mode']}_regime": row["regime"]}
    return out


EXPERIMENT = Experiment(
    name="tiers",
    title="Configured-update tiers, and verified ones",
    question="What do the nominal privacy tiers do to outcomes, does an anchor help, and what do verified ones cost?",
    labels=(SCORER_LABEL, OULAD_LABEL, EDNET_LABEL, COHORT_LABEL),
    full=TierConfig(),
    quick=quick_of(TierConfig, sweep_copies=1, cohort_users=0, private_on=()),
    run=run,
    corpora=CORPORA,
)  # fmt: skip
