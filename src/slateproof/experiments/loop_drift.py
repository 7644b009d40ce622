"""`drift`: how far does the mean target value of a slate move from one round to the next, and does the lemma's envelope ever fail?

On every pair of consecutive rounds of every session: the fixed-window event (every item within the window, in both rounds), the
realised envelope |m' - m| + w + w' and the prospective one eta + 2 Delta_max + w + w' where the event holds. Once of the accepted
items, which the lemma is about (pairs of rounds that both have some), once of all shown items.

Scope: stability only; about target values, not about learning.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_drift_verdicts import BESIDE, SCPO, event, exact
from slateproof.experiments.loop_runs import CORPORA, NAMES, PLANS, QUICK, Loop, LoopConfig, loops
from slateproof.select import preset
from slateproof.simulate import MODES, Rounds, envelopes
from slateproof.types.columns import Floats

__all__ = ["EXPERIMENT", "ratios", "run"]

CHECKED = ("adaptive", "adaptive-als", "als-selector", "adaptive-scpo")


def run(task: Task) -> Result:
    """Every checked mode on every corpus and plan."""
    made, skipped = loops(task)
    rows: list[Row] = []
    wanted = [(plan, name) for plan in PLANS for name in (*CHECKED, *(BESIDE if plan == "main" else ()))]
    for loop in made:
        for plan, name in wanted:
            task.progress(len(rows), len(made) * len(wanted), f"{loop.corpus.name}, {plan}, {name}")
            rows.append(_row(loop, plan, name))
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    verdicts = (*exact(rows), *(one for loop in made for one in event(loop, rows)))
    return Result(_summary(rows), tuple(rows), verdicts, _notes(rows), _tables(rows), _figures(made), skipped, digests)


def _row(loop: Loop, plan: str, name: str) -> Row:
    """Columns of accepted items under their plain names, those of all shown items after ``shown_``."""
    played, constants = BESIDE[name][0] if name in BESIDE else MODES[name], preset(loop.setting.config.preset)
    rounds = loop.rounds(played, plan)
    room, some = _feasible(loop, plan, rounds, constants.window)
    row: Row = {
        "corpus": loop.corpus.label,
        "paper_corpus": loop.paper,
        "plan": plan,
        "mode": name,
        "policy": _title(name),
    }
    for of, accepted in (("", True), ("shown_", False)):
        found = envelopes(rounds, played.largest_shift(constants), constants.window, accepted=accepted)
        moved, ratio = (values[~np.isnan(values)] for values in (jumps(rounds, accepted), ratios(rounds, accepted)))
        row |= {of + key: value for key, value in asdict(found).items() if key != "relaxed"}
        row |= {
            f"{of}event_share": found.applies / max(found.pairs, 1),
            f"{of}bound_share": float((ratio <= 1.0).mean()) if ratio.size else math.nan,
            f"{of}mean_jump": float(moved.mean()) if moved.size else math.nan,
            f"{of}largest_jump": float(moved.max(initial=0.0)),
        }
    return row | {
        "relaxed_share": found.relaxed / (rounds.sessions * rounds.rounds),
        "feasible_share": float(room.mean()),
        "empty_share": 1.0 - float(some.mean()),
        "window": constants.window,
        "target_gain": constants.target_gain,
        "mean_target": float(rounds.column("target").mean()),
        "easiest": float(loop.corpus.items.difficulty.min()),
        "hardest": float(loop.corpus.items.difficulty.max()),
    }


def jumps(rounds: Rounds, accepted: bool) -> Floats:
    """|d-bar' - d-bar| of every pair of rounds, (sessions, rounds - 1); NaN where either round has no accepted item."""
    return np.abs(np.diff(rounds.column("accepted_mean" if accepted else "mean_target"), axis=1))


def ratios(rounds: Rounds, accepted: bool) -> Floats:
    """Jump over realised envelope on every pair of rounds, whether the event holds or not."""
    target, width = rounds.column("target"), rounds.column("window")
    return np.asarray(jumps(rounds, accepted) / (np.abs(np.diff(target, axis=1)) + width[:, 1:] + width[:, :-1]))


def _feasible(loop: Loop, plan: str, rounds: Rounds, window: float) -> tuple[Any, Any]:
    """Per session and round: does the pool hold a slate's worth of items in the window around the mode's own target; one at all?"""
    d = loop.corpus.items.difficulty[loop.plans[plan].pools]
    inside = (np.abs(d - rounds.column("target").T[:, :, None]) <= window).sum(axis=2).T
    return inside >= rounds.column("size"), inside > 0


def _summary(rows: list[Row]) -> dict[str, Any]:
    scpo = [row for row in rows if row["mode"] == SCPO]
    beyond = [of + key for of in ("", "shown_") for key in ("beyond_realised", "beyond_prospective")]
    return {
        "scpo_pairs": sum(row["pairs"] for row in scpo),
        "scpo_applies": sum(row["applies"] for row in scpo),
        "scpo_shown_pairs": sum(row["shown_pairs"] for row in scpo),
        "scpo_exceptions": sum(row[key] for row in scpo for key in beyond),
        "exceptions": sum(row[key] for row in rows for key in beyond),
        "scpo_tightest": max((max(row["tightest"], row["shown_tightest"]) for row in scpo), default=None),
    }


def _notes(rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ()
    summary = _summary(rows)
    soft = [row for row in rows if row["mode"] in CHECKED and row["mode"] != SCPO]
    return (
        f"SCPO: of {summary['scpo_pairs']:,} pairs of rounds with accepted items {summary['scpo_applies']:,} keep their windows "
        f"({summary['scpo_shown_pairs']:,} pairs of shown slates), and {summary['scpo_exceptions']} jumps leave an envelope; the "
        f"closest comes to {summary['scpo_tightest']:.0%} of it.",
        f"Soft window: the event holds on {_span(soft, 'event_share')} of pairs of rounds with accepted items (of all shown items "
        f"on {_span(soft, 'shown_event_share')}), where the paper has more than 98 %. It is not needed for a small jump: whether "
        f"it holds or not, the jump stays below the envelope on {_span(soft, 'bound_share')} of pairs (of all shown items on "
        f"{_span(soft, 'shown_bound_share')}).",
    )


def _span(rows: list[Row], key: str) -> str:
    """Smallest to largest share."""
    values = [row[key] for row in rows]
    return f"{min(values):.1%} to {max(values):.1%}"


def _title(name: str) -> str:
    return BESIDE[name][1] if name in BESIDE else NAMES[name]


COLUMNS = {
    "corpus": "corpus",
    "plan": "plan",
    "policy": "policy",
    "pairs": "pairs",
    "applies": "event holds",
    "beyond_realised": "beyond realised",
    "beyond_prospective": "beyond prospective",
    "feasible_share": "feasible",
    "relaxed_share": "relaxed",
    "bound_share": "jump below envelope",
    "tightest": "tightest",
    "mean_jump": "jump",
    "shown_applies": "event holds, shown",
    "shown_mean_jump": "jump, shown",
}


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    caption = (
        "Target-value drift of accepted items: pairs of rounds that both have some, the fixed-window event, jumps beyond the "
        "envelope where it holds; rounds whose pool holds a slate inside the window, and rounds with a relaxed one."
    )
    return (Table("drift", caption, tuple(COLUMNS), tuple(rows), COLUMNS),)


def _figures(made: tuple[Loop, ...]) -> tuple[Figure, ...]:
    panels = []
    for loop in made:
        series = []
        for slot, name in enumerate(CHECKED):
            worst = np.nanmax(ratios(loop.rounds(MODES[name]), accepted=False), axis=0)
            series.append(Series(NAMES[name], tuple(range(2, worst.size + 2)), tuple(worst.tolist()), "line", slot))
        ends = (2, loop.plans["main"].rounds)
        series.append(Series("the envelope", ends, (1.0, 1.0), "reference"))
        panels.append(Panel(loop.corpus.label, "round", "largest jump / realised envelope", tuple(series), y_limits=(0.0, 1.1)))
    if not panels:
        return ()
    caption = "Target-value drift: the largest jump of any session, as a share of its realised envelope, by round"
    describes = "One panel per corpus; every line stays below 1, the envelope."
    return (Figure("drift", caption, describes, tuple(panels)),)


EXPERIMENT = Experiment(
    name="drift",
    title="Target-value drift",
    question="How far does the mean target value move between rounds, and does the realised envelope ever fail?",
    labels=(),
    full=LoopConfig(),
    quick=QUICK,
    run=run,
    corpora=CORPORA,
)
