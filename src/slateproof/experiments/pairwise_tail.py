"""`pairwise-tail`: do normalised differences of the injected noise stay below exp(-u²/2)?

For items i in the anchor's top K and j outside, (xi_j - xi_i) / τ̂ with τ̂² the mean square of all differences drawn. Under Gaussian
noise the tail is known: Φ(-u) for independent noise, and the mean over pairs of Φ(-u τ̂ / τ_ij) for a low-rank family.

Scope: stability only; a condition on noise that we injected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from slateproof.certify import topk
from slateproof.experiments.anchors import ANCHORS, anchor_of, anchor_pools
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.published.pairwise_tail import CELLS
from slateproof.experiments.real_anchor import EDUCATION_FAMILIES
from slateproof.experiments.stats import between
from slateproof.experiments.sweep import Family
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.types.columns import Floats

__all__ = ["EXPERIMENT", "PairwiseTail", "run", "true_scales"]

LABEL, FIGURE = "tab:pairwise-tail-oulad", "fig:tail-margin-diagnostics-app"


@dataclass(frozen=True, slots=True)
class PairwiseTail:
    """Pools and draws of the raw-ranking runs; thresholds ``points`` in units of τ̂."""

    candidates: int = 100
    size: int = 10
    pools: int = 64
    draws: int = 200
    sigmas: tuple[float, ...] = (0.02, 0.05, 0.10)
    points: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)


def run(task: Task) -> Result:
    """All families and scales on the pools of OULAD's anchor."""
    config: PairwiseTail = task.config
    here, skipped = task.corpora.split(("oulad",))
    if not here:
        return Result({}, verdicts=tuple(_verdicts([])), skipped=skipped)
    corpus = task.corpora.get("oulad")
    scores = anchor_pools(corpus, anchor_of(ANCHORS[0]), config.pools, config.candidates, task.seed).scores
    inside = np.asarray(topk.top(scores, config.size))
    rows: list[Row] = []
    for place, family in enumerate(EDUCATION_FAMILIES):
        task.progress(place, len(EDUCATION_FAMILIES), family.name)
        for step, sigma in enumerate(config.sigmas):
            rng = np.random.default_rng([task.seed, place, step])
            rows += _cells(config, family, sigma, scores, inside, rng)
    summary = {
        "largest_ratio_to_bound": max(row["tail"] / row["bound"] for row in rows),
        "largest_difference_to_exact": max(abs(row["tail"] - row["exact"]) for row in rows),
        "below_bound": all(row["tail"] <= row["bound"] for row in rows),
    }
    notes = _notes(rows, summary)
    tables = (_table(rows),)
    digests = {corpus.label: corpus.digest}
    return Result(summary, tuple(rows), tuple(_verdicts(rows)), notes, tables, _figures(rows), skipped, digests)


def _cells(config: PairwiseTail, family: Family, sigma: float, scores: Floats, inside: Any, rng: np.random.Generator) -> list[Row]:
    """Tails over all cross-boundary pairs, draws and pools, at every point."""
    differences, scales = [], []
    for row, top in zip(scores, inside, strict=True):
        factor = family.factor(row.size, rng)
        # What the experiments use is the difference of noisy scores less that of the scores themselves.
        noise = (row + sigma * family.draw(factor, config.draws, rng)) - row
        differences.append((noise[:, ~top][:, None, :] - noise[:, top][:, :, None]).reshape(config.draws, -1))
        scales.append(sigma * true_scales(family, factor, top))
    tau = math.sqrt(float(np.mean([np.mean(one * one) for one in differences])))
    rows = []
    for u in config.points:
        shares = np.array([(one >= u * tau).mean() for one in differences])
        exact = float(np.mean([ndtr(-u * tau / one).mean() for one in scales]))
        rows.append(
            {"noise": family.name, "rank": family.rank, "rho": family.correlation, "sigma": sigma, "u": u, "tau": tau}
            | {"tail": float(shares.mean()), "error": between(shares), "exact": exact, "bound": math.exp(-u * u / 2.0)}
            | {"draws": int(sum(one.size for one in differences))}
        )
    return rows


def true_scales(family: Family, factor: Floats, top: Any) -> Floats:
    """τ_ij in units of sigma: τ_ij² = 2 (1-ρ) + ρ |u_i - u_j|², for i inside, j outside; ``factor`` is √ρ U."""
    square = np.full((int(top.sum()), int((~top).sum())), 2.0 * (1.0 - family.correlation))
    if family.rank:
        square += ((factor[top][:, None, :] - factor[~top][None, :, :]) ** 2).sum(axis=2)
    return np.asarray(np.sqrt(square).ravel(), np.float64)


def _verdicts(rows: list[Row]) -> list[Verdict]:
    ours = {(row["rank"], row["rho"], row["sigma"], row["u"]): row for row in rows}
    verdicts = []
    for rank, rho, sigma, u, tail, bound in CELLS:
        row = ours.get((rank, rho, sigma, u))
        where = f"{Family(rank, rho).name}, σ={sigma:g}, u={u:g}"
        for name, value in (("tail", tail), ("bound", bound)):
            published = Published(
                f"{rank}/{rho}/{sigma}/{u}/{name}", LABEL, f"{where}: {name}", value,
                tolerance=6e-5 if name == "bound" else 0.0, share=0.05 if name == "tail" else 0.0,
                formula=name == "bound",
            )  # fmt: skip
            why = None if row is not None else "the corpus or the cell is not in hand"
            error = 0.0 if row is None or name == "bound" else math.sqrt(2.0) * row["error"]
            verdicts.append(judge(published, Ours(None if row is None else row[name], error, why=why)))
    return verdicts


def _notes(rows: list[Row], summary: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"All {len(rows)} tails lie below the sub-Gaussian envelope; the largest is {summary['largest_ratio_to_bound']:.2f} of it.",
        f"They are the Gaussian tails that they must be: the largest difference to the exact value is "
        f"{summary['largest_difference_to_exact']:.4f}. The injected noise is Gaussian, so this condition is met by construction.",
    )


def _table(rows: list[Row]) -> Table:
    columns = ("noise", "sigma", "u", "tail", "error", "exact", "bound", "tau")
    heads = {"sigma": "σ", "tau": "τ̂", "error": "standard error"}
    return Table("pairwise-tail", "Upper tails of normalised cross-boundary differences, OULAD.", columns, tuple(rows), heads)


def _figures(rows: list[Row]) -> tuple[Figure, ...]:
    series = []
    for slot, noise in enumerate(dict.fromkeys(row["noise"] for row in rows)):
        mine = [row for row in rows if row["noise"] == noise and row["sigma"] == rows[0]["sigma"]]
        series.append(Series(noise, tuple(r["u"] for r in mine), tuple(r["tail"] for r in mine), "line", slot))
    u = np.linspace(rows[0]["u"], rows[-1]["u"], 40)
    envelope = Series("exp(−u²/2)", tuple(u.tolist()), tuple(np.exp(-u * u / 2.0).tolist()), "reference")
    panel = Panel(
        f"OULAD, σ={rows[0]['sigma']:g}", "u, in multiples of τ̂", "share beyond u τ̂", (*series, envelope), "linear", "log"
    )
    text = "Five nearly equal curves of tail probability against u, all below the dashed envelope, ever farther as u grows."
    return (Figure("pairwise-tail", "Tails of normalised score differences", text, (panel,), 1),)


EXPERIMENT = Experiment(
    name="pairwise-tail",
    title="Pairwise noise condition",
    question="Do normalised cross-boundary score differences stay below the sub-Gaussian envelope of the top-K corollary?",
    labels=(FIGURE, LABEL),
    full=PairwiseTail(),
    quick=PairwiseTail(pools=16, draws=60),
    run=run,
    corpora=("oulad",),
)
