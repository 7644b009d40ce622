"""`coverage`: of how many slates can a certificate say that they will not change, rung by rung, and is it right?

Ex post (the other scores are seen): the paper's norm check M < Γ/2, and the exact check. Prospective at 95 % (only the noise scale
is known): the slate changes with probability at most .05 by the paper's sub-Gaussian bound, by the Gaussian union bound over all
stepwise pairs, and by the probability itself. The slates are those of `margin-gate`, and of ratings corpora, too.

Scope: stability only; prospective rungs are as true as the Gaussian noise that they assume.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify import certificates
from slateproof.experiments.anchors import anchor_pools
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.inhand import STANDS_FOR, get, in_hand
from slateproof.experiments.margin_gate import slates_of
from slateproof.experiments.stats import between
from slateproof.learn import learner

__all__ = ["EXPERIMENT", "RUNGS", "Coverage", "run"]

PAPERS = {"oulad": "oulad", "ednet": "ednet", "ml-25m": "oulad", "amazon-musical-instruments": "oulad"}
"""Corpora, and the preset that selects on each; the paper has none for ratings."""

RUNGS = {
    "norm": "ex post: norm check (paper)",
    "exact": "ex post: exact check",
    "bound": "95 %: sub-Gaussian bound (paper)",
    "union": "95 %: union bound",
    "probability": "95 %: flip probability",
}
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Coverage:
    """``pools`` slates per corpus, ``draws`` perturbations of each at every scale; ``users`` learners of EdNet or its surrogate."""

    pools: int = 100
    draws: int = 20
    candidates: int = 100
    sigmas: tuple[float, ...] = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3)
    users: int = 10_000


def run(task: Task) -> Result:
    """Every rung on every corpus in hand, at every scale of noise."""
    config: Coverage = task.config
    found, skipped = in_hand(task.corpora, PAPERS)
    rows: list[Row] = []
    digests: dict[str, str] = {}
    for place, (paper, name) in enumerate(found.items()):
        corpus = get(task.corpora, name, config.users)
        digests[corpus.label] = corpus.digest
        pools = anchor_pools(corpus, learner("mf-bce"), config.pools, config.candidates, task.seed)
        slates, _ = slates_of(corpus, PAPERS[paper], pools, pools.raw)
        for step, sigma in enumerate(config.sigmas):
            task.progress(place * len(config.sigmas) + step, len(found) * len(config.sigmas), f"{name}, σ={sigma:g}")
            table = certificates(slates, sigma, draws=config.draws, seed=task.seed + step)
            rows.append({"corpus": corpus.label, "paper_corpus": paper, "sigma": sigma, **_cell(table.rows, config.draws)})
    return Result(_summary(rows), tuple(rows), (), _notes(rows), _tables(rows), _figures(rows), skipped, digests)


def _cell(found: tuple[Row, ...], draws: int) -> Row:
    """Shares by rung; and what the probability promised against what the draws did."""
    column = {name: np.array([_number(row[name]) for row in found]) for name in ("norm", "exact", "flip_probability")}
    bounds = {name: np.array([_number(row[f"flip_{name}"]) for row in found]) for name in ("bound", "union", "probability")}
    promised = bounds["probability"] <= LEVEL
    kept = column["exact"]
    return {
        "slates": len(found),
        "trials": len(found) * draws,
        "norm": float(column["norm"].mean()),
        "exact": float(kept.mean()),
        **{name: float((values <= LEVEL).mean()) for name, values in bounds.items()},
        "mean_probability": float(column["flip_probability"].mean()),
        "observed": float(1.0 - kept.mean()),
        "error_observed": between(kept),
        "observed_where_promised": float(1.0 - kept[promised].mean()) if promised.any() else None,
    }


def _number(value: Any) -> float:
    """A bound that does not apply promises nothing."""
    return np.inf if value is None else float(value)


def _summary(rows: list[Row]) -> dict[str, Any]:
    """Largest scale at which a rung still covers half of the slates; and how far prediction and draws are apart."""
    out: dict[str, Any] = {}
    for paper in dict.fromkeys(row["paper_corpus"] for row in rows):
        mine = [row for row in rows if row["paper_corpus"] == paper]
        for rung in RUNGS:
            out[f"half_{paper}_{rung}"] = max((row["sigma"] for row in mine if row[rung] >= 0.5), default=None)
    apart = [abs(row["mean_probability"] - row["observed"]) for row in rows]
    kept = [row["observed_where_promised"] for row in rows if row["observed_where_promised"] is not None]
    return out | {"largest_difference_to_draws": max(apart, default=None), "largest_share_broken": max(kept, default=None)}


def _notes(rows: list[Row]) -> tuple[str, ...]:
    if not rows:
        return ()
    summary = _summary(rows)
    notes = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus]
        row = min(mine, key=lambda one: abs(one["exact"] - 0.9))
        notes.append(
            f"{corpus}, σ={row['sigma']:g}: {row['exact']:.0%} of perturbations leave the slate as it is, and the exact check "
            f"certifies every one of them, the norm check {row['norm']:.0%}. Before the scores are seen, the paper's bound "
            f"certifies {row['bound']:.0%} of slates at 95 %, the union bound {row['union']:.0%}, the probability "
            f"{row['probability']:.0%}."
        )
    broken = summary["largest_share_broken"]
    kept = "" if broken is None else f"; among slates promised at 95 % at most {broken:.1%} of draws changed"
    notes.append(
        f"The probability is right: over all corpora and scales its mean and the share of draws that changed a slate differ by at "
        f"most {summary['largest_difference_to_draws']:.3f}{kept}."
    )
    return tuple(notes)


def _tables(rows: list[Row]) -> tuple[Table, ...]:
    columns = ("corpus", "sigma", "slates", *RUNGS, "mean_probability", "observed")
    heads = {"sigma": "σ", **RUNGS, "mean_probability": "mean flip probability", "observed": "changed in draws"}
    caption = "Share certified, rung by rung; then the mean flip probability beside the share of draws that changed the slate."
    return (Table("coverage", caption, columns, tuple(rows), heads),) if rows else ()


def _figures(rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus]
        x = tuple(row["sigma"] for row in mine)
        lines = [
            Series(title, x, tuple(row[rung] for row in mine), "line", slot) for slot, (rung, title) in enumerate(RUNGS.items())
        ]
        panels.append(Panel(corpus, "σ of score noise", "share certified", tuple(lines), "log", y_limits=(0.0, 1.05)))
    if not panels:
        return ()
    text = (
        "One panel per corpus, share certified against noise. In each regime the paper's rung falls off first: its norm check "
        "before the exact check, its prospective bound before the union bound and the flip probability, which lie together."
    )
    return (Figure("coverage", "What each rung certifies", text, tuple(panels)),)


EXPERIMENT = Experiment(
    name="coverage",
    title="Certificate coverage, rung by rung",
    question="Of how many slates can a certificate say that they will not change, before and after the other scores are seen?",
    labels=(),
    full=Coverage(),
    quick=Coverage(pools=30, draws=10, sigmas=(1e-5, 1e-4, 1e-3), users=1_000),
    run=run,
    corpora=tuple(name for paper in PAPERS for name in STANDS_FOR[paper]),
)
