"""`simulator`: do simulated learners look like the corpus they stand for?

Difficulty against correctness, learners' shares of correct answers, and numbers of answers; of the corpus' held-out users and of
simulated learners without a selector. Beside the calibrated response models: the same models as they come, the dynamics of the
earlier artifact, a model that knows one number, and how far the corpus' own training users are from its held-out ones.

Scope: none; a description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_runs import CORPORA, Loop, LoopConfig, loops, quick_of
from slateproof.simulate import Validation, response_model, validate
from slateproof.simulate.validation import Aggregates, aggregates, difficulty_rmse, level, one_chance

__all__ = ["EXPERIMENT", "SimulatorConfig", "run"]

DISTANCES = {
    "difficulty_rmse": "difficulty RMSE",
    "share_ks": "shares KS",
    "share_wasserstein": "shares W1",
    "count_wasserstein": "log counts W1",
}
HELD_OUT, TRAIN = 2, 0


@dataclass(frozen=True, slots=True)
class SimulatorConfig(LoopConfig):
    """``learners`` simulated per response model."""

    learners: int = 2_000


def run(task: Task) -> Result:
    """Every response model on every corpus in hand."""
    config: SimulatorConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    panels: list[Panel] = []
    for place, loop in enumerate(made):
        task.progress(place, len(made), f"{loop.corpus.name}: simulating crowds")
        found = _validations(loop, config, task.seed)
        rows += [_row(loop, fit, one) for fit, ones in found.items() for one in ones]
        rows.append(_own(loop))
        panels += _panels(loop, found["calibrated"])
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(_summary(rows), tuple(rows), (), _notes(rows), _tables(rows), _figures(panels), skipped, digests)


def _validations(loop: Loop, config: SimulatorConfig, seed: int) -> dict[str, list[Validation]]:
    world, models = loop.setting.worlds["adaptive"], loop.setting.plan.models
    sets: Mapping[str, Any] = {
        "calibrated": models,
        "as they come": {name: response_model(name) for name in models},
        "earlier artifact": {"legacy": response_model("legacy")},
        "constant": {"one chance for all": one_chance(loop.corpus)},
    }
    return {fit: validate(world, ones, learners=config.learners, rounds=config.rounds, seed=seed) for fit, ones in sets.items()}


def _row(loop: Loop, fit: str, one: Validation) -> Row:
    row: Row = {"corpus": loop.corpus.label, "paper_corpus": loop.paper, "fit": fit, "model": one.model}
    row |= {name: getattr(one, name) for name in DISTANCES}
    row |= {"correct_corpus": one.correct_corpus, "correct_simulated": one.correct_simulated}
    return row | {"users": int(one.observed.shares.size), "learners": int(one.simulated.shares.size)}


def _own(loop: Loop) -> Row:
    """The corpus' training users against its held-out ones: the distance that the best model could hope for."""
    part = loop.corpus.split().part
    seen, other = (aggregates(loop.corpus, part == one) for one in (HELD_OUT, TRAIN))
    binned = _rebinned(loop, seen)
    logs = [np.log(one.counts) - np.median(np.log(one.counts)) for one in (seen, other)]
    return {
        "corpus": loop.corpus.label,
        "paper_corpus": loop.paper,
        "fit": "corpus itself",
        "model": "training users",
        "difficulty_rmse": difficulty_rmse(seen, binned),
        "share_ks": float(stats.ks_2samp(seen.shares, other.shares).statistic),
        "share_wasserstein": float(stats.wasserstein_distance(seen.shares, other.shares)),
        "count_wasserstein": float(stats.wasserstein_distance(*logs)),
        "correct_corpus": level(seen),
        "correct_simulated": level(other),
        "users": int(seen.shares.size),
        "learners": int(other.shares.size),
    }


def _rebinned(loop: Loop, seen: Aggregates) -> Aggregates:
    """Training users' correctness in the bins of the held-out ones."""
    corpus = loop.corpus
    rows = (corpus.split().part == TRAIN)[corpus.user]
    d, y = corpus.items.difficulty[corpus.item[rows]], corpus.positive[rows]
    place = np.clip(np.searchsorted(seen.edges, d, side="right") - 1, 0, seen.edges.size - 2)
    answers = np.bincount(place, minlength=seen.edges.size - 1)
    right = np.bincount(place, weights=y, minlength=seen.edges.size - 1)
    correctness = np.where(answers > 0, right / np.maximum(answers, 1), np.nan)
    return Aggregates(seen.edges, correctness, answers, seen.shares, seen.counts)


def _summary(rows: list[Row]) -> dict[str, Any]:
    """The worst calibrated model's distances, by corpus."""
    out: dict[str, Any] = {}
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        mine = [row for row in rows if (row["paper_corpus"], row["fit"]) == (paper, "calibrated")]
        out |= {f"{paper.lower()}_worst_{name}": max(row[name] for row in mine) for name in DISTANCES}
    return out


def _notes(rows: list[Row]) -> tuple[str, ...]:
    notes = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        at = {fit: [r for r in rows if (r["corpus"], r["fit"]) == (corpus, fit)] for fit in dict.fromkeys(r["fit"] for r in rows)}
        parts = []
        for name in ("difficulty_rmse", "share_wasserstein"):
            fitted, raw = (max(row[name] for row in at[fit]) for fit in ("calibrated", "as they come"))
            parts.append(
                f"{DISTANCES[name]} {fitted:.3f} at worst ({raw:.3f} before the fit, {at['earlier artifact'][0][name]:.3f} with "
                f"the earlier artifact's dynamics, {at['constant'][0][name]:.3f} with one chance for everybody and everything, "
                f"{at['corpus itself'][0][name]:.3f} between the corpus' own users)"
            )
        shares = [row["correct_simulated"] for row in at["calibrated"]]
        notes.append(
            f"{corpus}, calibrated: {'; '.join(parts)}. Correct are {min(shares):.3f} to {max(shares):.3f} of simulated answers, "
            f"{at['calibrated'][0]['correct_corpus']:.3f} of the corpus'."
        )
    if notes:
        notes.append(
            "The paper shows this as a figure without numbers, so there is no verdict. A log without exposures does not say how "
            "many items were shown: the level of counts is not fitted, and counts are compared centred at their medians. The "
            "simulator runs a fixed number of rounds and cannot have the corpora's long tails."
        )
    return tuple(notes)


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    heads = {
        "fit": "fit",
        "model": "model",
        **DISTANCES,
        "correct_corpus": "correct, corpus",
        "correct_simulated": "correct, simulated",
    }
    caption = "Distance between simulated learners and the corpus' held-out users (0: the same)."
    return (Table("simulator", caption, ("corpus", *heads), tuple(rows), heads),)


def _panels(loop: Loop, found: list[Validation]) -> list[Panel]:
    """The paper's three panels of one corpus."""
    label = loop.corpus.label
    sides = [("corpus, held-out users", found[0].observed), *((one.model, one.simulated) for one in found)]
    by_bin, shares, counts = [], [], []
    for slot, (name, one) in enumerate(sides):
        middle = (one.edges[1:] + one.edges[:-1]) / 2.0
        there = one.answers > 0
        by_bin.append(Series(name, tuple(middle[there].tolist()), tuple(one.correctness[there].tolist()), "line", slot))
        shares.append(_below(name, one.shares, np.linspace(0.0, 1.0, 51), slot))
        counts.append(_below(name, one.counts, np.unique(np.geomspace(1.0, max(s.counts.max() for _, s in sides), 60)), slot))
    # Where nearly all answers are correct, an axis from 0 would hide every misfit: it begins at the tenth below the lowest point.
    lowest = min(min(series.y) for series in by_bin)
    return [
        Panel(label, "target value d(i)", "share correct", tuple(by_bin), y_limits=(np.floor(10.0 * lowest) / 10.0, 1.0)),
        Panel(label, "a learner's share of correct answers", "learners below", tuple(shares)),
        Panel(label, "answers of a learner", "learners below", tuple(counts), x_scale="log"),
    ]


def _below(name: str, values: Any, grid: Any, slot: int) -> Series:
    """Share of values at or below each point of the grid."""
    share = np.searchsorted(np.sort(values), grid, side="right") / values.size
    return Series(name, tuple(grid.tolist()), tuple(share.tolist()), "curve", slot)


def _figures(panels: list[Panel]) -> tuple[Figure, ...]:
    if not panels:
        return ()
    caption = "Simulator validation: correctness by target value, learners' shares of correct answers, numbers of answers"
    describes = "Three panels per corpus; the corpus' held-out users against four calibrated response models."
    return (Figure("simulator", caption, describes, tuple(panels), columns=3),)


EXPERIMENT = Experiment(
    name="simulator",
    title="Simulator validation",
    question="Do simulated learners look like the corpus that they stand for?",
    labels=("fig:sim-validation-app",),
    full=SimulatorConfig(),
    quick=quick_of(SimulatorConfig, learners=500),
    run=run,
    corpora=CORPORA,
)
