"""What `margin-gate` says about its rows: sentences, tables, a figure.

Scope: none; presentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from slateproof.experiments.core import Row, Table
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.margin_shape import cause_of, shape_table
from slateproof.types.columns import Floats

__all__ = ["figures_of", "notes_of", "tables_of"]


def notes_of(rows: list[Row], gates: list[Row], shapes: list[Row], total: dict[str, Any]) -> tuple[str, ...]:
    """Trials, gaps, margins and their spread; ``total`` is the summary."""
    if not rows:
        return ()
    notes = [
        f"{total['certified_trials']:,} of {total['trials']:,} perturbations are certified ex post (M < Γ/2); "
        f"{total['certified_violations']} of them changed the ordered slate.",
        f"The exact check agrees with the selector in all but {total['exact_disagreements']} of {total['trials']:,} trials: it "
        "certifies every slate that did not change, where the norm check certifies a part of them.",
    ]
    gap, free = ({row["corpus"]: row["median"] for row in gates if row["key"] == key} for key in ("gap", "gap without biases"))
    parts = "; ".join(f"{corpus} {gap[corpus]:.4f} with the anchor's biases and {free[corpus]:.4f} without" for corpus in gap)
    notes.append(f"Median γ: {parts} (the paper: OULAD .0578, EdNet .0071). It follows how the anchor was trained.")
    wide = {row["corpus"]: row["median"] for row in gates if row["key"].endswith("scores")}
    thin = {row["corpus"]: row["median"] for row in gates if row["key"] == "margin"}
    notes += [
        f"{corpus}: median Γ is {thin[corpus]:.2e} with probabilities as scores and {wide[corpus]:.2e} with scores standardised "
        "within the pool."
        for corpus in thin
    ]
    names = {row["paper_corpus"]: row["corpus"] for row in shapes}
    return (*notes, *(f"{corpus}: {cause_of(shapes, paper)}" for paper, corpus in names.items()))


def tables_of(rows: list[Row], gates: list[Row], shapes: list[Row]) -> tuple[Table, ...]:
    """Gates, trials, the spread of Γ."""
    if not rows:
        return ()
    gate_columns = ("corpus", "quantity", "records", "mean", "median", "positive_rate", "near_zero_rate")
    columns = ("corpus", "sigma", "trials", "certified", "exact", "same_order", "same_set", "certified_violations", "median_ratio")
    heads = {"sigma": "σ", "same_order": "same order", "same_set": "same set", "certified_violations": "violations"}
    heads |= {"median_ratio": "median M/Γ", "positive_rate": "positive", "near_zero_rate": "near zero"}
    return (
        Table("margin-gate", "Margins of all pools.", gate_columns, tuple(gates), heads),
        Table("margin-gate-perturbed", "Perturbations: certified ex post, and what the selector did.", columns, tuple(rows), heads),
        shape_table(shapes),
    )


def figures_of(histograms: dict[str, tuple[Floats, Floats]], rows: list[Row]) -> tuple[Figure, ...]:
    """Margins over pools, and trials against noise, per corpus."""
    panels = []
    for label, (gap, margin) in histograms.items():
        curves = [Series(name, *_share_below(v), "steps", slot) for slot, (name, v) in enumerate((("γ", gap), ("Γ", margin)))]
        panels.append(
            Panel(
                f"{label}: margins",
                "γ (pool sd = 1) and Γ (objective)",
                "share of pools at or below",
                tuple(curves),
                "log",
                y_limits=(0.0, 1.02),
            )
        )
        mine = [row for row in rows if row["corpus"] == label]
        x = tuple(row["sigma"] for row in mine)
        names = (
            ("certified", "certified, M < Γ/2"),
            ("exact", "certified, exact"),
            ("same_order", "same order"),
            ("same_set", "same set"),
        )
        lines = [Series(title, x, tuple(row[key] for row in mine), "line", 2 + slot) for slot, (key, title) in enumerate(names)]
        panels.append(
            Panel(f"{label}: perturbed", "σ of score noise", "share of trials", tuple(lines), "log", y_limits=(0.0, 1.05))
        )
    if not panels:
        return ()
    text = (
        "Per corpus: the distribution of anchor gaps and greedy margins over pools, all positive, and shares of perturbed trials "
        "against noise. The norm check falls off first; the exact check lies on the curve of unchanged slates."
    )
    return (Figure("margin-gate", "Margins, and what perturbations do", text, tuple(panels)),)


def _share_below(values: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    ordered = np.sort(values)
    return tuple(ordered.tolist()), tuple(((np.arange(ordered.size) + 1.0) / ordered.size).tolist())
