"""Verdicts of `tiers`: the published cells, and what the text claims about them.

Scope: none; a verdict compares two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slateproof.experiments.core import Row
from slateproof.experiments.loop_runs import NAMES
from slateproof.experiments.loop_stats import TITLES, delta_of, judged
from slateproof.experiments.published.loop_tiers import COHORT, EDNET, OULAD, SCORER
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge

__all__ = ["CLAIM", "COHORT_LABEL", "EDNET_LABEL", "METRICS", "OULAD_LABEL", "SCORER_LABEL", "verdicts"]

SCORER_LABEL, OULAD_LABEL = "tab:rq2-dp-deltas-app", "tab:rq2-dp-resilience-oulad-lambda"
EDNET_LABEL, COHORT_LABEL = "tab:rq2-dp-resilience-ednet", "tab:ednet25k-locked-followup"
CLAIM = "subsec:results-dp"
METRICS = ("correctness", "utility_probe", "uptake")


def verdicts(rows: Sequence[Row]) -> tuple[Verdict, ...]:
    """Three per published row whose corpus is in hand, then the claim."""
    out: list[Verdict] = []
    for label, table in ((SCORER_LABEL, SCORER), (OULAD_LABEL, OULAD), (EDNET_LABEL, EDNET), (COHORT_LABEL, COHORT)):
        for paper, mode, tier, _, *intervals in table:
            mine = [row for row in rows if (row["label"], row["paper_corpus"], row["mode"]) == (label, paper, mode)]
            row = next((row for row in mine if row["tier"] == tier), None)
            if row is not None:
                out += _cells(row, mine, rows, intervals)
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        out += _claims([row for row in rows if row["paper_corpus"] == paper and row["label"] in (OULAD_LABEL, EDNET_LABEL)])
    return tuple(out)


def _cells(row: Row, tiers: list[Row], rows: Sequence[Row], intervals: Sequence[tuple[float, float, float]]) -> list[Verdict]:
    zero = " (not updated, 0 by construction)" if row["anchor_weight"] == 1.0 else ""
    name = f"{row['paper_corpus']}{', 25k' if row['label'] == COHORT_LABEL else ''}, {NAMES[row['mode']]}, {row['tier']}{zero}"
    short = row["label"].removeprefix("tab:")
    out = []
    for metric, published in zip(METRICS, intervals, strict=True):
        ours = delta_of(row, metric)
        key = f"{short}/{row['paper_corpus']}/{row['mode']}/{row['tier']}/{metric}"
        what = f"{name}: {TITLES[metric]}, tier − reference"
        out.append(judged(key, row["label"], what, published, ours, row["why"], _cause(row, tiers, rows, metric)))
    return out


def _cause(row: Row, tiers: list[Row], rows: Sequence[Row], metric: str) -> str | None:
    """How the effect grows with the noise, whether it is one, how far slates move, and what no update and other people do."""
    if row["anchor_weight"] == 1.0:
        return None
    by_tier = ", ".join(f"{one['tier']} {one[f'delta_{metric}']:+.4f}" for one in tiers)
    shared = ", ".join(f"{one['overlap']:.2f}" for one in tiers)
    at_zero = sum(one[f"low_{metric}"] <= 0.0 <= one[f"high_{metric}"] for one in tiers)
    still = next((r for r in rows if (r["tier"], r["corpus"], r["users"]) == ("no update", row["corpus"], row["users"])), None)
    off = "" if still is None else f"Without any online update Adaptive changes by {still[f'delta_{metric}']:+.4f}. "
    room = f"{row['policy']} is right in {row['right']:.3f} of attempted rounds. " if metric == "correctness" else ""
    return (
        f"Ours by tier: {by_tier}, {at_zero} of {len(tiers)} intervals with 0 inside; slates share {shared} (Jaccard) with those "
        f"of the reference. {off}{room}With the earlier artifact's dynamics ours is {row[f'earlier_{metric}']:+.4f}. The paper "
        "says neither the step size of its online update nor what it updates; ours moves a session's offset and level."
    )


def _claims(rows: list[Row]) -> list[Verdict]:
    """With the anchor (w = .75) correctness moves less than without it, in every tier: 1 where it does.

    Where no tier moves it measurably without an anchor, the question has no answer.
    """
    if not rows:
        return []
    at: dict[Any, float] = {(row["tier"], row["anchor_weight"]): abs(row["delta_correctness"]) for row in rows}
    tiers = dict.fromkeys(row["tier"] for row in rows)
    less = all(at[tier, 0.75] < at[tier, 0.0] for tier in tiers)
    paper = rows[0]["paper_corpus"]
    shown = "; ".join(f"{tier}: {at[tier, 0.0]:.4f} without, {at[tier, 0.75]:.4f} with" for tier in tiers)
    what = f"{paper}: |Δ correctness| is smaller at w = .75 than at w = 0 in every tier (1: yes)"
    theirs = {(tier, mode): abs(c[0]) for _, mode, tier, _, c, *_ in (OULAD if paper == "OULAD" else EDNET)}
    held = all(theirs[tier, "adaptive-als"] < theirs[tier, "adaptive"] for tier in tiers)
    published = Published(f"{paper}/anchor-steadies", CLAIM, what, float(held))
    free = [row for row in rows if row["anchor_weight"] == 0.0]
    nothing = all(row["low_correctness"] <= 0.0 <= row["high_correctness"] for row in free)
    why = "no tier of ours moves correctness beyond its interval without an anchor: nothing is there to steady" if nothing else None
    return [judge(published, Ours(float(less), why=rows[0]["why"] or why), f"Measured |Δ|: {shown}.")]
