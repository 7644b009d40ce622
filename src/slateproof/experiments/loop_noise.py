"""`score-noise`: how far do rankings and slates move when Gaussian noise is put on the adaptive scores, by anchor weight?

Noise of standard deviation σ on the adaptive part, so (1 - w) σ on the mix (Corollary "Biased or approximate anchors"); the pure
ALS endpoint gets none. Kendall's τ and the overlap compare, in every round of the noisy run, its scores and slate with what the
same state gives without noise. Outcomes are the noisy run minus a clean run of the same sessions.

Scope: stability only for τ and overlap; outcomes are those of simulated people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_closed_show import interval_cells
from slateproof.experiments.loop_runs import BLENDS, CORPORA, NAMES, Loop, LoopConfig, loops, quick_of
from slateproof.experiments.loop_stats import TITLES, delta, delta_columns, delta_of, judged_alone
from slateproof.experiments.published.loop_noise import CELLS
from slateproof.experiments.stats import between as error_of
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.simulate import Mode, between

__all__ = ["EXPERIMENT", "NoiseConfig", "run", "spread", "verdicts"]

LABEL, CLAIM = "tab:ednet-applied-score-noise", "subsec:results-dp"
METRICS = ("correctness", "utility_probe", "uptake")
AGREEMENT = {"overlap": "slate overlap", "tau": "Kendall τ"}
ANCHORED = (0.5, 0.75)


@dataclass(frozen=True, slots=True)
class NoiseConfig(LoopConfig):
    """``noise_copies`` of each response model and profile play (8: the paper's 128 sessions), at every one of ``sigmas``."""

    noise_copies: int = 8
    sigmas: tuple[float, ...] = (0.02, 0.05, 0.10, 0.20)


def run(task: Task) -> Result:
    """Every weight at every σ on every corpus in hand; the paper has EdNet only."""
    config: NoiseConfig = task.config
    made, skipped = loops(task)
    rows: list[Row] = []
    for loop in made:
        plan = loop.part(config.noise_copies)
        for sigma in config.sigmas:
            for weight, mode in BLENDS.items():
                total = len(made) * len(config.sigmas) * len(BLENDS)
                task.progress(len(rows), total, f"{loop.corpus.name}, {mode.name}, σ = {sigma:g}")
                rows.append(_row(loop, plan, weight, mode, sigma, config.resamples))
    digests = {loop.corpus.label: loop.corpus.digest for loop in made}
    return Result(_summary(rows), tuple(rows), verdicts(rows), _notes(rows), _tables(rows), _figures(rows), skipped, digests)


def _row(loop: Loop, plan: str, weight: float, mode: Mode, sigma: float, resamples: int) -> Row:
    """A cell. ALS has no adaptive part: nothing is disturbed, and the clean run is the noisy one."""
    noisy = mode if weight == 1.0 else replace(mode, name=f"{mode.name}-noise{sigma:g}", score_noise=sigma)
    after, before = loop.metrics(noisy, plan), loop.metrics(mode, plan)
    found = {metric: delta(metric, after, before, resamples) for metric in METRICS}
    tau, overlap = (after.get(name, np.ones(len(loop.plans[plan].sessions))) for name in ("tau", "jaccard"))
    row: Row = {"corpus": loop.corpus.label, "paper_corpus": loop.paper, "why": loop.why, "sigma": sigma, "anchor_weight": weight}
    row |= {"policy": NAMES[mode.name], "sessions": int(tau.size), "tau": float(tau.mean()), "error_tau": error_of(tau)}
    row |= {"overlap": float(overlap.mean()), "error_overlap": error_of(overlap)}
    apart = between(loop.rounds(noisy, plan), loop.rounds(mode, plan))
    return row | {"overlap_runs": float(apart["jaccard"].mean())} | delta_columns(found)


def verdicts(rows: list[Row]) -> tuple[Verdict, ...]:
    """The published cells of EdNet; then the claim on every corpus in hand."""
    at = {(row["paper_corpus"], row["sigma"], row["anchor_weight"]): row for row in rows}
    out: list[Verdict] = []
    for sigma, weight, *numbers, overlap, tau, _ in CELLS:
        row = at.get(("EdNet", sigma, weight))
        if row is not None:
            out += _outcomes(row, numbers)
            out += _agreement(row, {"overlap": overlap, "tau": tau})
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        out.append(_claim([row for row in rows if row["paper_corpus"] == paper]))
    return tuple(out)


def _name(row: Row) -> str:
    zero = " (no adaptive part, 0 by construction)" if row["anchor_weight"] == 1.0 else ""
    return f"{row['paper_corpus']}, σ = {row['sigma']:g}, {row['policy']}{zero}"


def _key(row: Row) -> str:
    return f"{row['paper_corpus']}/{row['sigma']:g}/{row['anchor_weight']:g}"


def _outcomes(row: Row, numbers: list[float]) -> list[Verdict]:
    out = []
    for metric, value in zip(METRICS, numbers, strict=True):
        ours = delta_of(row, metric)
        what = f"{_name(row)}: {TITLES[metric]}, noisy − clean"
        out.append(judged_alone(f"{_key(row)}/{metric}", LABEL, what, value, ours, row["why"], None))
    return out


def _agreement(row: Row, numbers: dict[str, float]) -> list[Verdict]:
    out = []
    for name, value in numbers.items():
        published = Published(f"{_key(row)}/{name}", LABEL, f"{_name(row)}: {AGREEMENT[name]}", value, tolerance=0.0005)
        out.append(judge(published, Ours(row[name], math.sqrt(2.0) * row[f"error_{name}"], why=row["why"])))
    return out


def _claim(rows: list[Row]) -> Verdict:
    """τ is higher with the anchor (w = .5 and w = .75) than without, at every σ."""
    taus = {(row["sigma"], row["anchor_weight"]): row["tau"] for row in rows}
    sigmas = dict.fromkeys(row["sigma"] for row in rows)
    holds = all(taus[sigma, weight] > taus[sigma, 0.0] for sigma in sigmas for weight in ANCHORED)
    shown = "; ".join(f"σ = {s:g}: {taus[s, 0.0]:.3f} against {taus[s, 0.5]:.3f} and {taus[s, 0.75]:.3f}" for s in sigmas)
    paper = rows[0]["paper_corpus"]
    what = f"{rows[0]['corpus']}: τ is higher with the anchor (w = .50, .75) at every σ (1: yes; the paper measured EdNet)"
    return judge(
        Published(f"{paper}/anchor-helps", CLAIM, what, 1.0), Ours(float(holds), why=rows[0]["why"]), f"Measured: {shown}."
    )


def _summary(rows: list[Row]) -> dict[str, Any]:
    taus = {(row["paper_corpus"], row["sigma"], row["anchor_weight"]): row["tau"] for row in rows}
    pairs = [(tau, taus[paper, sigma, 0.0]) for (paper, sigma, weight), tau in taus.items() if weight in ANCHORED]
    out: dict[str, Any] = {
        "tau_higher_with_anchor": bool(pairs) and all(one > other for one, other in pairs),
        "tau_pairs": len(pairs),
    }
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        for name, weight in (("unanchored", 0.0), ("anchored", 0.75)):
            mine = [row["tau"] for row in rows if (row["paper_corpus"], row["anchor_weight"]) == (paper, weight)]
            out |= {f"{paper.lower()}_{name}_tau_low": min(mine), f"{paper.lower()}_{name}_tau_high": max(mine)}
    return out


def _notes(rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ()
    summary = _summary(rows)
    words = "at every σ on every corpus in hand" if summary["tau_higher_with_anchor"] else "not everywhere"
    notes = [f"Kendall τ is higher with the anchor {words} ({summary['tau_pairs']} comparisons, w = .50 and .75 against 0)."]
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = {(r["sigma"], r["anchor_weight"]): r for r in rows if r["corpus"] == corpus}
        ends = [min(s for s, _ in mine), max(s for s, _ in mine)]
        parts = [f"τ {mine[s, 0.0]['tau']:.3f} → {mine[s, 0.75]['tau']:.3f} at σ = {s:g}" for s in ends]
        notes.append(f"{corpus}, w = 0 → .75: {', '.join(parts)}.")
    notes += [_implied(rows), _flat(rows)]
    return tuple(notes)


def _implied(rows: list[Row]) -> str:
    """For normal scores of spread s and noise σ: τ = (2/π) asin(s / sqrt(s² + σ²)). Solved for s, published and ours."""
    cells = {"published": [(sigma, tau) for sigma, weight, *_, tau, _ in CELLS if weight == 0.0]}
    for row in rows:
        if row["anchor_weight"] == 0.0:
            cells.setdefault(row["corpus"], []).append((row["sigma"], row["tau"]))
    found = {name: [spread(sigma, tau) for sigma, tau in pairs] for name, pairs in cells.items()}
    parts = [f"{name} {', '.join(f'{one:.3f}' for one in values)}" for name, values in found.items()]
    growth = ", ".join(f"{values[-1] / values[0]:.1f} ({name})" for name, values in found.items())
    return (
        f"Spread of the scores within a pool that τ at w = 0 implies, were they normal, by σ: {'; '.join(parts)}. Noise on one "
        f"scale of scores would give one number; from the smallest σ to the largest it grows by a factor of {growth}."
    )


def spread(sigma: float, tau: float) -> float:
    """The s of ``_implied``."""
    rho = math.sin(tau * math.pi / 2.0)
    return sigma * rho / math.sqrt(1.0 - rho * rho) if 0.0 <= rho < 1.0 else math.nan


def _flat(rows: list[Row]) -> str:
    """The published overlap hardly moves with σ; ours does, however it is taken."""
    at = [[overlap for _, weight, *_, overlap, _, _ in CELLS if weight == w] for w in (0.0, 0.75)]
    parts = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if (row["corpus"], row["anchor_weight"]) == (corpus, 0.0)]
        ends = [f"{mine[0][name]:.2f} → {mine[-1][name]:.2f}" for name in ("overlap", "overlap_runs")]
        parts.append(f"{corpus} {ends[0]} on the same state, {ends[1]} between whole runs")
    return (
        f"The published overlap stays between {min(at[0]):.3f} and {max(at[0]):.3f} at w = 0 while σ grows tenfold, and at w = .75 "
        f"({min(at[1]):.3f} to {max(at[1]):.3f}) it is below w = .50. Ours falls with σ, w = 0: {'; '.join(parts)}. What the "
        "paper's column measures is not known."
    )


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    heads = {"sigma": "σ", "policy": "policy", **{f"delta_{m}": TITLES[m] for m in METRICS}}
    heads |= {"tau": "Kendall τ", "overlap": "overlap, same state", "overlap_runs": "overlap, whole runs", "sessions": "n"}
    caption = "Score noise in the loop: noisy minus clean, mean [95 % bootstrap]; agreement of scores and slates."
    return (Table("score-noise", caption, ("corpus", *heads), tuple(interval_cells(row) for row in rows), heads),)


def _figures(rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus and row["anchor_weight"] < 1.0]
        for name, title in (("tau", "Kendall τ, clean and noisy"), ("overlap", "overlap of the slates")):
            series = [_line(mine, name, weight, slot) for slot, weight in enumerate((0.0, *ANCHORED))]
            if mine[0]["paper_corpus"] == "EdNet" and name == "tau":
                series += [_theirs(weight, slot) for slot, weight in enumerate((0.0, *ANCHORED))]
            panels.append(Panel(corpus, "σ of the score noise", title, tuple(series), x_scale="log", y_limits=(0.0, 1.02)))
    if not panels:
        return ()
    caption = "Score noise in the loop: agreement of clean and noisy scores and slates, by anchor weight"
    describes = "Per corpus a panel of Kendall's tau and one of slate overlap against sigma; heavier anchors lie higher."
    return (Figure("score-noise", caption, describes, tuple(panels)),)


def _line(rows: list[Row], name: str, weight: float, slot: int) -> Series:
    mine = [row for row in rows if row["anchor_weight"] == weight]
    return Series(f"w = {weight:g}", tuple(r["sigma"] for r in mine), tuple(r[name] for r in mine), "line", slot)


def _theirs(weight: float, slot: int) -> Series:
    sigmas, taus = zip(*((sigma, tau) for sigma, w, *_, tau, _ in CELLS if w == weight), strict=True)
    return Series(f"w = {weight:g}, published (EdNet)", sigmas, taus, "points", slot + 3)


EXPERIMENT = Experiment(
    name="score-noise",
    title="Score noise in the loop",
    question="How far do rankings and slates move under score noise, and does an anchor hold them?",
    labels=(LABEL,),
    full=NoiseConfig(),
    quick=quick_of(NoiseConfig, noise_copies=1),
    run=run,
    corpora=CORPORA,
)
