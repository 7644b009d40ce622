"""Tables, figures and notes of `tiers`.

Scope: none; presentation.
"""

from __future__ import annotations

from collections.abc import Sequence

from slateproof.experiments.core import Row, Table
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_closed_show import interval_cells
from slateproof.experiments.loop_private import METRICS as PRIVATE_METRICS
from slateproof.experiments.loop_private import up
from slateproof.experiments.loop_stats import TITLES
from slateproof.experiments.loop_tiers_verdicts import COHORT_LABEL, EDNET_LABEL, METRICS, OULAD_LABEL, SCORER_LABEL
from slateproof.experiments.published.loop_tiers import EDNET, OULAD

__all__ = ["METRICS", "figures", "notes", "tables"]

CAPTIONS = {
    SCORER_LABEL: "Nominal tiers on Adaptive: tier minus reference, mean [95 % bootstrap]; last, Adaptive without its update.",
    OULAD_LABEL: "Nominal tiers by anchor weight, OULAD: tier minus reference, mean [95 % bootstrap].",
    EDNET_LABEL: "Nominal tiers by anchor weight, EdNet: tier minus reference, mean [95 % bootstrap].",
    COHORT_LABEL: "The locked tier on a larger EdNet cohort: tier minus reference, mean [95 % bootstrap].",
}


def tables(rows: Sequence[Row], private: Sequence[Row]) -> tuple[Table, ...]:
    """One per table of the paper, and label beside truth."""
    heads = {"policy": "policy", "tier": "tier", **{f"delta_{m}": TITLES[m] for m in METRICS}}
    heads |= {"overlap": "overlap with reference", "users": "users", "sessions": "n"}
    out = []
    for label, caption in CAPTIONS.items():
        mine = [interval_cells(row) for row in rows if row["label"] == label or (row["label"], label) == ("control", SCORER_LABEL)]
        if mine:
            out.append(Table(label.removeprefix("tab:"), caption, ("corpus", *heads), tuple(mine), heads))
    return (*out, *_private_tables(private))


def _private_tables(private: Sequence[Row]) -> tuple[Table, ...]:
    if not private:
        return ()
    costs = {"policy": "mode", "tier": "tier", "noise": "σ", "label_epsilon": "ε label", "poisson_epsilon": "ε as described"}
    costs |= {"live_epsilon": "ε, a live round", "user_epsilon": "ε, a user", "ran_epsilon": "ε of the ledger", "regime": "regime"}
    costs |= {"unprotected": "not protected"}
    does = {"policy": "mode", "tier": "tier", **{f"delta_{m}": TITLES[m] for m in PRIVATE_METRICS}, "overlap": "overlap"}
    first = (
        "Label and truth at δ = 10⁻⁵: the paper's label; the mechanism that it describes (Poisson sampling, PLD); a live round "
        "used in one release without sampling; a user with a round in every release; and what the ledger of the run says, "
        "training included, as if a round were in both. Budgets are rounded up. Nominal tiers have no ledger: nothing follows "
        "for them."
    )
    budgets = ("poisson_epsilon", "live_epsilon", "user_epsilon", "ran_epsilon")
    figures = tuple({**row, **{name: up(row[name]) for name in budgets}} for row in private)
    second = "Nominal, verified and end-to-end private modes minus Adaptive, mean [95 % bootstrap]."
    return (
        Table("tiers-epsilon", first, ("corpus", *costs), figures, costs),
        Table("tiers-verified", second, ("corpus", *does), tuple(interval_cells(row) for row in private), does),
    )


def notes(rows: Sequence[Row], private: Sequence[Row]) -> tuple[str, ...]:
    """What was found."""
    out = [_theirs()] if rows else []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus and row["label"] in (OULAD_LABEL, EDNET_LABEL)]
        if not mine:
            continue
        parts = [
            f"w = {weight:g}: {min(r['overlap'] for r in mine if r['anchor_weight'] == weight):.2f} to "
            f"{max(r['overlap'] for r in mine if r['anchor_weight'] == weight):.2f}"
            for weight in dict.fromkeys(r["anchor_weight"] for r in mine)
            if weight < 1.0
        ]
        still = next(row for row in rows if row["corpus"] == corpus and row["label"] == "control")
        out.append(
            f"{corpus}: slates of a tier share with those of the reference (Jaccard, by anchor weight) {'; '.join(parts)}; "
            f"those of Adaptive without any update share {still['overlap']:.2f}."
        )
    return (*out, *_private_notes(private))


def _theirs() -> str:
    """The published effect does not grow with the noise, which grows 2.5-fold."""
    parts = []
    for name, table in (("OULAD", OULAD), ("EdNet", EDNET)):
        effects = ", ".join(f"{tier} {c[0]:+.3f}" for _, mode, tier, _, c, *_ in table if mode == "adaptive")
        parts.append(f"{name}: {effects}")
    return (
        f"Published effect of the tiers on unanchored correctness: {'; '.join(parts)}. σ grows from 1.2 to 3.0, the effect does "
        "not: what moves outcomes there is not the amount of noise."
    )


def _private_notes(private: Sequence[Row]) -> list[str]:
    by = {(row["kind"], row["tier"]): row for row in private}
    if not by:
        return []
    parts = [
        f"{tier}: label {row['label_epsilon']:.2f}, ledger {up(row['ran_epsilon'], 2)} (a live round alone "
        f"{up(row['live_epsilon'], 2)}, a user with a round in every release {up(row['user_epsilon'], 1)})"
        for (kind, tier), row in by.items()
        if kind == "end-to-end"
    ]
    ends = [row for row in private if row["kind"] == "end-to-end"]
    deltas = [row["delta_correctness"] for row in ends]
    return [
        f"End-to-end private slates, label and truth at δ = 10⁻⁵: {'; '.join(parts)}.",
        f"Against Adaptive they change correctness by {min(deltas):+.3f} to {max(deltas):+.3f}, and share "
        f"{min(r['overlap'] for r in ends):.2f} to {max(r['overlap'] for r in ends):.2f} of their slates with it.",
    ]


def figures(rows: Sequence[Row]) -> tuple[Figure, ...]:
    """Correctness and post-test by anchor weight, published and ours; one panel per corpus and metric."""
    panels = []
    for label, theirs in ((OULAD_LABEL, OULAD), (EDNET_LABEL, EDNET)):
        mine = [row for row in rows if row["label"] == label]
        for place, metric in enumerate(METRICS) if mine else ():
            series = []
            for slot, tier in enumerate(dict.fromkeys(row["tier"] for row in mine), 1):
                at = [row for row in mine if row["tier"] == tier]
                mean, low, high = (tuple(row[f"{end}_{metric}"] for row in at) for end in ("delta", "low", "high"))
                names = tuple(f"w = {row['anchor_weight']:g}" for row in at)
                series.append(Series(f"ours, {tier}", names, mean, "bars", slot, low, high))
            locked = [c[place] for _, _, tier, _, *c in theirs if tier == "locked"]
            mean, low, high = (tuple(one[k] for one in locked) for k in range(3))
            series.insert(0, Series("published, locked", names, mean, "bars", 6, low, high))
            panels.append(Panel(mine[0]["corpus"], "anchor weight", TITLES[metric], tuple(series)))
    if not panels:
        return ()
    caption = "Nominal tiers by anchor weight: tier minus reference, with 95 % intervals"
    describes = "One panel per corpus and outcome; bars by anchor weight for the published locked tier and for our three tiers."
    return (Figure("tiers", caption, describes, tuple(panels), columns=len(METRICS)),)
