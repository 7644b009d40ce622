"""Verdicts of `drift`: SCPO's envelopes, which must hold on every pair of rounds, and the soft window's event, with its cause.

Scope: none; a verdict compares two numbers.
"""

from __future__ import annotations

from dataclasses import replace

from slateproof.experiments.core import Row
from slateproof.experiments.loop_runs import Loop
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import MODES, mode

__all__ = ["BESIDE", "SCPO", "at", "event", "exact"]

SCPO = "adaptive-scpo"
BESIDE = {
    "adaptive-no-diversity": (mode("adaptive-no-diversity"), "Adaptive without diversity"),
    "adaptive-no-exploration": (mode("adaptive-no-exploration"), "Adaptive without exploration"),
    "als-selector-no-diversity": (
        replace(MODES["als-selector"], name="als-selector-no-diversity", removed=frozenset({"diversity"})),
        "ALS+Selector without diversity",
    ),
    "greedy-target": (MODES["greedy-target"], "Greedy-Target"),
}
"""Played on the main plan alone: what becomes of the event when a term that competes with the window's bonus is gone."""

EVENT = 0.98
"""Table "tab:main-evidence-map": the event holds on more than this share of logged round pairs under the soft window."""


def exact(rows: list[Row]) -> list[Verdict]:
    """The deterministic statement, on everything that was played: it depends on no corpus."""
    mine = [row for row in rows if row["mode"] == SCPO]
    if not mine:
        return []
    corpora = ", ".join(dict.fromkeys(row["corpus"] for row in mine))
    verdicts = []
    for of, items in (("", "accepted"), ("shown_", "shown")):
        pairs = sum(row[f"{of}applies"] for row in mine)
        for key, words in (("beyond_realised", "realised"), ("beyond_prospective", "prospective")):
            what = f"Adaptive-SCPO: jumps of {items} items beyond the {words} envelope in {pairs:,} round pairs ({corpora})"
            published = Published(of.replace("_", "/") + key, "tab:main-evidence-map", what, 0.0)
            verdicts.append(judge(published, Ours(float(sum(row[of + key] for row in mine)))))
    return verdicts


def event(loop: Loop, rows: list[Row]) -> list[Verdict]:
    """Is the fixed-window event of accepted items, under the default soft window, as frequent as published? Else why not."""
    row = at(rows, loop, "main", "adaptive")
    what = f"{loop.paper}, Adaptive: share of round pairs with the fixed-window event (accepted items)"
    published = Published(f"{loop.paper}/event", "tab:main-evidence-map", what, EVENT, (EVENT, 1.0))
    cause = (
        f"{_why_missed(loop, rows)} Of all shown items the event holds on {row['shown_event_share']:.1%}. The jump stays below the "
        f"fixed-window envelope on {row['bound_share']:.1%} of all pairs, with or without the event."
    )
    return [judge(published, Ours(row["event_share"], why=loop.why), cause)]


def _why_missed(loop: Loop, rows: list[Row]) -> str:
    """Why Adaptive leaves the window: because it must, where pools do not hold a slate inside it; else because of other terms."""
    row, scpo = (at(rows, loop, "main", name) for name in ("adaptive", SCPO))
    if row["feasible_share"] < 0.5:
        return (
            f"The target, a running share of correct rounds plus a shift, is {row['mean_target']:.2f} on average, and difficulties "
            f"lie between {row['easiest']:.2f} and {row['hardest']:.2f}: in {1.0 - row['feasible_share']:.1%} of rounds the pool "
            f"does not hold a slate's worth of items within {row['window']:.2f} of the target, in {row['empty_share']:.1%} not "
            f"one. No selector can keep the window there; SCPO widened it in {scpo['relaxed_share']:.1%} of its rounds."
        )
    names = ("adaptive", "adaptive-no-diversity", "adaptive-no-exploration", "als-selector", "als-selector-no-diversity")
    mine = [at(rows, loop, "main", name) for name in (*names, "greedy-target")]
    played = ", ".join(f"{one['event_share']:.1%} ({one['policy']})" for one in mine)
    return (
        f"In {row['feasible_share']:.1%} of rounds the pool holds a slate's worth of items within {row['window']:.2f} of the "
        f"target, so the window is left by choice: a bonus of at most {row['target_gain']:.2f} is outweighed by other terms of the "
        f"objective. On the same pools the event holds on {played}; in the last of these nothing but the bonus counts."
    )


def at(rows: list[Row], loop: Loop, plan: str, name: str) -> Row:
    """The row of a mode on a plan of a loop."""
    return next(row for row in rows if (row["paper_corpus"], row["plan"], row["mode"]) == (loop.paper, plan, name))
