"""`real-anchor`: how much of the raw top-K churn under score noise does an anchor take away, on real corpora?

Anchors: MF-BCE without biases (what the paper calls ALS) and alternating least squares. Noise: independent, and low rank plus
diagonal. Each cell is simulated, as in the paper, and computed by quadrature.

Scope: stability only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify import topk
from slateproof.corpora import Corpus
from slateproof.experiments.anchor_causes import BIASED, FIVE, WIDE, cause_of, null_rows, trained_differently
from slateproof.experiments.anchor_notes import notes_of
from slateproof.experiments.anchors import ANCHORS, SHOWN, AnchorPools, anchor_of, anchor_pools
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.inhand import EDUCATION, STANDS_FOR, in_hand, lacking
from slateproof.experiments.published.real_anchor import CELLS, DROPS
from slateproof.experiments.stats import between, ratio_error
from slateproof.experiments.sweep import INDEPENDENT, Family, scale_of, sweep
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge

__all__ = ["EDUCATION_FAMILIES", "EXPERIMENT", "RealAnchor", "cells_of", "run"]

PAPERS = ("oulad", "ml-25m", "amazon-musical-instruments")

RATINGS_FAMILIES = (INDEPENDENT, Family(4, 0.5))
EDUCATION_FAMILIES = (INDEPENDENT, Family(1, 0.25), Family(1, 0.75), Family(4, 0.25), Family(4, 0.75))


@dataclass(frozen=True, slots=True)
class RealAnchor:
    """Pools per corpus and draws per pool as in the paper. ``points``: Sobol points over common factors in the quadrature.

    ``many`` pools and MF-BCE ``steps`` are tried when asking why a figure differs (the published anchor has five steps).
    """

    candidates: int = 100
    size: int = 10
    weights: tuple[float, ...] = (0.0, 0.50, 0.75)
    education_pools: int = 64
    ratings_pools: int = 48
    draws: int = 200
    education_sigmas: tuple[float, ...] = (0.02, 0.05, 0.10)
    ratings_sigmas: tuple[float, ...] = (0.05, 0.10, 0.20)
    points: int = 16
    steps: tuple[int, ...] = (5, 20, 80)
    many: int = 256


def run(task: Task) -> Result:
    """Both anchors on every corpus in hand."""
    config: RealAnchor = task.config
    found, skipped = in_hand(task.corpora, PAPERS)
    rows: list[Row] = []
    causes: list[Row] = []
    digests: dict[str, str] = {}
    for place, (paper, name) in enumerate(found.items()):
        corpus = task.corpora.get(name)
        digests[corpus.label] = corpus.digest
        for step, anchor in enumerate(ANCHORS):
            task.progress(2 * place + step, 2 * len(found), f"{name}, {anchor}")
            pools = anchor_pools(corpus, anchor_of(anchor), _pools(config, paper), config.candidates, task.seed)
            for family in _families(paper):
                rows += cells_of(config, paper, corpus, anchor, pools, family, task.seed)
        causes += trained_differently(
            corpus, _sigmas(config, paper), config.steps, config.many, config.candidates, config.size, task.seed
        )
    if found:
        sigmas = sorted({*config.education_sigmas, *config.ratings_sigmas})
        causes += null_rows(sigmas, config.many, config.candidates, config.size, task.seed)
    summary = _summary(rows, causes)
    cut = {paper: lacking(task.corpora.get(name)) for paper, name in found.items()}
    verdicts = (*_verdicts(rows, causes, found, cut), *_drop_verdicts(rows, len(found) == len(PAPERS)))
    tables = _tables(rows, causes)
    return Result(
        summary,
        tuple(rows),
        verdicts,
        (*notes_of(rows, causes), *_by_anchor(rows, causes, found, cut)),
        tables,
        _figures(rows),
        skipped,
        digests,
    )


def _pools(config: RealAnchor, paper: str) -> int:
    return config.education_pools if paper in EDUCATION else config.ratings_pools


def _sigmas(config: Any, paper: str) -> tuple[float, ...]:
    return config.education_sigmas if paper in EDUCATION else config.ratings_sigmas


def _families(paper: str) -> tuple[Family, ...]:
    return EDUCATION_FAMILIES if paper in EDUCATION else RATINGS_FAMILIES


def cells_of(config: Any, paper: str, corpus: Corpus, anchor: str, pools: AnchorPools, family: Family, seed: int) -> list[Row]:
    """One row per sigma: flips and Jaccard at every anchor weight, simulated and exact."""
    sigmas = _sigmas(config, paper)
    scales = sorted({scale_of(sigma, weight) for sigma in sigmas for weight in config.weights})
    found = sweep(pools.scores, config.size, family, scales, config.draws, config.points, seed)
    gaps = np.asarray(topk.gap(pools.scores, config.size))
    rows = []
    for sigma in sigmas:
        row: Row = {"corpus": corpus.name, "paper_corpus": paper, "anchor": anchor, "noise": family.name, "rank": family.rank}
        row |= {"rho": family.correlation, "sigma": sigma, "pools": len(gaps), "draws": config.draws}
        for weight in config.weights:
            scale, tag = scale_of(sigma, weight), f"w{round(100 * weight):03d}"
            row |= {f"flip_{tag}": float(found.flip[scale].mean()), f"exact_{tag}": float(found.exact[scale].mean())}
            row |= {f"jaccard_{tag}": float(found.jaccard[scale].mean()), f"error_{tag}": between(found.flip[scale])}
            row[f"error_jaccard_{tag}"] = between(found.jaccard[scale])
        free, held = (found.flip[scale_of(sigma, weight)] for weight in (0.0, 0.75))
        row["difference"] = row["flip_w000"] - row["flip_w075"]
        row["error_difference"] = between(free - held)
        row["relative_drop"] = row["difference"] / row["flip_w000"]
        row["error_relative_drop"] = ratio_error(held, free)
        row["exact_drop"] = 1.0 - row["exact_w075"] / row["exact_w000"]
        row |= {"gap_mean": float(gaps.mean()), "gap_median": float(np.median(gaps))}
        rows.append(row)
    return rows


def _verdicts(
    rows: list[Row], causes: list[Row], found: dict[str, str], cut: dict[str, str], anchor: str = ANCHORS[0]
) -> list[Verdict]:
    ours = {(r["paper_corpus"], r["rank"], r["rho"], r["sigma"]): r for r in rows if r["anchor"] == anchor}
    verdicts = []
    for corpus, rank, rho, sigma, *numbers in CELLS:
        row = ours.get((corpus, rank, rho, sigma))
        why = None if row is not None else "the corpus is not in hand"
        cause = None if row is None else cut[corpus] + cause_of(found[corpus], sigma, causes)
        where = f"{corpus}, {Family(rank, rho).name}, σ={sigma:g}"
        for name, value in zip(NAMES, numbers, strict=True):
            reference = numbers[0] if name in ("flip_w050", "flip_w075") else 1.0 if name == "jaccard_w075" else None
            tolerance = {"jaccard_w075": 0.01, "relative_drop": 0.05}.get(name, 0.0)
            published = Published(
                f"{corpus}/{rank}/{rho}/{sigma}/{name}", "tab:topk-flip-real-anchor-summary", f"{where}: {TITLES[name]}", value,
                tolerance=tolerance, share=0.25 if name.startswith("flip") else 0.0, reference=reference, bounded=True,
            )  # fmt: skip
            if row is None:
                verdicts.append(judge(published, Ours(None, why=why)))
                continue
            mine = None if reference is None else row["flip_w000"] if name.startswith("flip") else 1.0
            # Two samples of pools: the paper's error is taken to be as large as ours.
            error = math.sqrt(2.0) * row.get(f"error_{name.removeprefix('flip_')}", 0.0)
            verdicts.append(judge(published, Ours(row[name], error, mine), cause))
    return verdicts


NAMES = ("flip_w000", "flip_w050", "flip_w075", "difference", "relative_drop", "jaccard_w075")
TITLES = {
    "flip_w000": "Flip@10 at w=0",
    "flip_w050": "Flip@10 at w=.50",
    "flip_w075": "Flip@10 at w=.75",
    "difference": "Δ Flip@10",
    "relative_drop": "relative drop",
    "jaccard_w075": "Jaccard@10 at w=.75",
}


def _by_anchor(rows: list[Row], causes: list[Row], found: dict[str, str], cut: dict[str, str]) -> list[str]:
    """How many published numbers either anchor gives, judged by the same rule."""
    notes = []
    for paper, name in found.items():
        parts = []
        for anchor in ANCHORS:
            mine = [v for v in _verdicts(rows, causes, found, cut, anchor) if v.key.startswith(f"{paper}/")]
            parts.append(f"{SHOWN[anchor]} {sum(v.verdict == 'reproduced' for v in mine)}")
        notes.append(f"{name}: of {len(mine)} published numbers are reproduced, by anchor: {', '.join(parts)}.")
    return notes


def _drop_verdicts(rows: list[Row], complete: bool) -> list[Verdict]:
    """The claim of the evidence map: relative drops over all corpora and noise scales."""
    drops = [row["relative_drop"] for row in rows if row["anchor"] == ANCHORS[0] and row["rank"] == 0]
    verdicts = []
    for name, value, ours in zip(("smallest", "largest"), DROPS, (min, max), strict=True):
        what = f"{name} relative drop of Flip@10 at w=.75, independent noise"
        published = Published(f"drop/{name}", "tab:main-evidence-map", what, value, tolerance=0.05)
        why = None if complete else "not all three corpora are in hand"
        mine = Ours(ours(drops) if drops else None, why=why)
        verdicts.append(judge(published, mine, "Flips that are near 1 at w=0 cannot drop as far."))
    return verdicts


def _summary(rows: list[Row], causes: list[Row]) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    for anchor in ANCHORS:
        drops = [row["relative_drop"] for row in rows if row["anchor"] == anchor]
        if drops:
            tag = anchor.replace("-", "_")
            summary |= {f"smallest_drop_{tag}": min(drops), f"largest_drop_{tag}": max(drops)}
            summary |= {f"cells_{tag}": len(drops), f"cells_inside_{tag}": sum(DROPS[0] <= one <= DROPS[1] for one in drops)}
    apart = [abs(row[f"flip_{t}"] - row[f"exact_{t}"]) for row in rows for t in ("w000", "w050", "w075")]
    summary["largest_difference_to_exact"] = max(apart, default=None)
    summary["monotone"] = all(row["flip_w000"] >= row["flip_w050"] >= row["flip_w075"] for row in rows)
    for tag, anchor in (("many_pools", FIVE), ("biases", BIASED), ("wide", f"mf-bce, initial sd {WIDE:g}")):
        drops = [row["exact_drop"] for row in causes if row["anchor"] == anchor]
        if drops:
            summary |= {f"smallest_drop_{tag}": min(drops), f"largest_drop_{tag}": max(drops)}
    return summary


def _tables(rows: list[Row], causes: list[Row]) -> tuple[Table, ...]:
    columns: tuple[str, ...] = ("corpus", "noise", "sigma", "flip_w000", "flip_w050", "flip_w075", "difference", "relative_drop")
    columns += ("jaccard_w075", "exact_w000", "exact_w050", "exact_w075")
    heads = {"sigma": "σ", "flip_w000": "w=0", "flip_w050": "w=.50", "flip_w075": "w=.75", "relative_drop": "rel. drop"}
    heads |= {"jaccard_w075": "Jaccard w=.75", "exact_w000": "exact w=0", "exact_w050": "exact w=.50", "exact_w075": "exact w=.75"}
    by_anchor = tuple(
        Table(f"real-anchor-{anchor}", f"Flip@10 and Jaccard@10, anchor {SHOWN[anchor]}.", columns, mine, heads)
        for anchor in ANCHORS
        if (mine := tuple(row for row in rows if row["anchor"] == anchor))
    )
    names = (
        "corpus",
        "anchor",
        "sigma",
        "pools",
        "gap_median",
        "exact_w000",
        "exact_w050",
        "exact_w075",
        "exact_drop",
        "raw_spread",
    )
    caption = "What the training of the anchor does to its gap and to exact Flip@10 (spread: of raw scores in a pool)."
    return (
        *by_anchor,
        Table(
            "real-anchor-training", caption, names, tuple(causes), heads | {"exact_drop": "exact drop", "gap_median": "median gap"}
        ),
    )


def _figures(rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    weights = (("w000", "w = 0"), ("w050", "w = .50"), ("w075", "w = .75"))
    for anchor in ANCHORS:
        for paper in PAPERS:
            mine = [r for r in rows if r["paper_corpus"] == paper and r["anchor"] == anchor and r["rank"] == 0]
            if not mine:
                continue
            x = tuple(row["sigma"] for row in mine)
            series = [Series(title, x, tuple(r[f"flip_{tag}"] for r in mine), "line", s) for s, (tag, title) in enumerate(weights)]
            if anchor == ANCHORS[0]:
                series += _published(paper, weights)
            title = f"{mine[0]['corpus']}, {SHOWN[anchor]}"
            panels.append(
                Panel(title, "noise σ (sd of a pool's scores = 1)", "Flip@10", tuple(series), "log", y_limits=(0.0, 1.02))
            )
    if not panels:
        return ()
    return (
        Figure(
            "real-anchor",
            "Share of raw top-10 lists that change (Flip@10) against the noise σ, by anchor weight w; filled: the paper",
            "One panel per corpus and anchor. Flip@10 rises with the noise and falls with the anchor weight in every one; the "
            "paper's points stand beside the lines of MF-BCE.",
            tuple(panels),
            columns=3,
        ),
    )


def _published(paper: str, weights: tuple[tuple[str, str], ...]) -> list[Series]:
    cells = [cell for cell in CELLS if cell[0] == paper and cell[1] == 0]
    x = tuple(cell[3] for cell in cells)
    return [
        Series(f"{title}, published", x, tuple(float(cell[4 + slot]) for cell in cells), "published", slot)
        for slot, (_, title) in enumerate(weights)
    ]


EXPERIMENT = Experiment(
    name="real-anchor",
    title="Real anchors: churn of the raw top-10",
    question="How much raw top-10 churn under score noise does an anchor take away, on one educational and two ratings corpora?",
    labels=("fig:real-anchor-heatmaps", "tab:topk-flip-real-anchor-summary"),
    full=RealAnchor(),
    quick=RealAnchor(education_pools=24, ratings_pools=16, draws=60, points=8, steps=(5, 20), many=48),
    run=run,
    corpora=tuple(name for paper in PAPERS for name in STANDS_FOR[paper]),
)
