"""What `learner-update` says about its rows: sentences, a table, a figure.

Scope: none; presentation.
"""

from __future__ import annotations

from typing import Any

from slateproof.experiments.core import Row, Table
from slateproof.experiments.figures import Figure, Panel, Series

__all__ = ["figures_of", "notes_of", "tables_of", "wide_note"]

TIERS_SHOWN = ("standard", "strong", "locked")


def notes_of(rows: list[Row], s: dict[str, Any], config: Any) -> tuple[str, ...]:
    """Adam against SGD, with and without noise; labels; envelopes. ``s`` is the summary."""
    low, high = min(config.depths), max(config.depths)
    by = {(r["optimizer"], r["tier"], r["updates"]): r for r in rows if r["noise"]}
    label, bound = by["adam", "standard", low]["label_epsilon"], by["adam", "standard", low]["pld_epsilon"]
    return (
        f"Adam hides the noise: after {low} updates the locked tier, whose steps carry {2.8 / 0.010 / (1.2 / 0.020):.1f} times the "
        f"noise of the standard one, moves scores {s[f'tau_adam_locked_over_standard_{low}']:.2f} times as far "
        f"({s[f'tau_adam_locked_over_standard_{high}']:.2f} after {high}). The published τ̂ (.667, .668, .669) do the same.",
        f"SGD shows it: {s[f'tau_sgd_locked_over_standard_{low}']:.1f} times as far after {low} updates.",
        f"Without noise, clipped all the same, Adam moves scores {s[f'tau_adam_quiet_over_standard_{low}']:.2f} times as far as "
        f"the standard tier, SGD {s[f'tau_sgd_quiet_over_standard_{low}']:.2f} times: under Adam τ̂ says nothing about the noise.",
        f"The printed ε are labels: {label:.3f} for the standard tier at {low} updates, where the mechanism so described costs "
        f"{bound:.3f} (PLD).",
        f"All tails at u = 2 and 2.5 lie below the envelope, per pair and per pool: {'yes' if s['below_bound'] else 'no'}.",
    )


def tables_of(rows: list[Row]) -> tuple[Table, ...]:
    """Every cell."""
    columns = (
        "optimizer",
        "noise",
        "tier",
        "updates",
        "label_epsilon",
        "pld_epsilon",
        "tau",
        "tail_20",
        "bound_20",
        "tail_25",
        "bound_25",
        "tail_25_pooled",
    )
    heads = {"label_epsilon": "ε label", "pld_epsilon": "ε (PLD)", "tau": "τ̂", "tail_20": "tail u=2", "bound_20": "bound u=2"}
    heads |= {
        "tail_25": "tail u=2.5",
        "bound_25": "bound u=2.5",
        "tail_25_pooled": "tail u=2.5, τ̂ per pool",
        "flip_w000": "Flip@10 w=0",
        "flip_w050": "w=.50",
    }
    heads |= {"flip_w075": "w=.75", "jaccard_w075": "Jaccard w=.75"}
    return (
        Table(
            "learner-update", "Score movement after noisy updates; ε columns describe the configuration, not a released model.",
            (*columns, "flip_w000", "flip_w050", "flip_w075", "jaccard_w075"), tuple(rows), heads,
        ),
    )  # fmt: skip


def figures_of(rows: list[Row]) -> tuple[Figure, ...]:
    """τ̂ against updates, one panel per optimiser."""
    panels = []
    for optimizer, title in (("sgd", "SGD"), ("adam", "Adam")):
        mine = [row for row in rows if row["optimizer"] == optimizer]
        groups = [(tier, [r for r in mine if r["tier"] == tier and r["noise"]]) for tier in TIERS_SHOWN]
        groups.append(("without noise", [r for r in mine if not r["noise"]]))
        series = [
            Series(name, tuple(r["updates"] for r in part), tuple(r["tau"] for r in part), "line", slot)
            for slot, (name, part) in enumerate(groups)
        ]
        scale = "log" if optimizer == "sgd" else "linear"
        panels.append(Panel(title, "updates", "movement τ̂ (sd of a pool's scores = 1)", tuple(series), "log", scale))
    text = "Movement of scores against number of updates: under SGD the tiers lie far apart, under Adam on one line."
    caption = "How far noisy updates move scores: SGD shows a tier's noise, Adam hides it (the left axis is logarithmic)"
    return (Figure("learner-update", caption, text, tuple(panels)),)


def wide_note(wide: Row, rows: list[Row], config: Any) -> str:
    """Whether the size of the towers matters."""
    depth = min(config.depths)
    (small,) = [r for r in rows if (r["optimizer"], r["noise"], r["tier"], r["updates"]) == ("adam", True, "standard", depth)]
    return (
        f"Size of the towers, standard tier, {depth} updates: {config.wide[0]} hidden and {config.wide[1]} embedding dimensions "
        f"(the paper's closed loop) give τ̂ {wide['tau']:.3f}, a tail at u=2.5 of {wide['tail_25']:.4f} and Jaccard at w=.75 of "
        f"{wide['jaccard_w075']:.3f}; {config.hidden} and {config.embedding}, as in the tables, {small['tau']:.3f}, "
        f"{small['tail_25']:.4f} and {small['jaccard_w075']:.3f} (the paper: .667, .0030, .723)."
    )
