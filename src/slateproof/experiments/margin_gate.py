"""`margin-gate`: are margins positive, and does any perturbation that the certificate covers change the greedy slate?

Candidate pools of training users, the MF-BCE anchor's probabilities as scores, the neutral state, the preset's levers; candidates,
state, bonuses, novelty and levers are held fixed. Each perturbation is Gaussian, its M is computed from it (ex post), and the slate
is selected again from the perturbed scores: what the certificate says is compared with what the selector does.

γ is the top-K gap of the scores standardised within the pool, as in every anchor diagnostic; Γ is in units of the objective. The
anchor is the library's MF-BCE, with biases; the gate shows γ without them, too.

Scope: stability only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof.certify import certify, topk
from slateproof.corpora import Corpus
from slateproof.experiments.anchors import AnchorPools, anchor_of, anchor_pools
from slateproof.experiments.core import Experiment, Result, Row, Task
from slateproof.experiments.inhand import STANDS_FOR, get, in_hand, not_the_papers
from slateproof.experiments.margin_gate_show import figures_of, notes_of, tables_of
from slateproof.experiments.margin_shape import cause_of, one_candidate_set, shape_rows
from slateproof.experiments.published.margin_gate import GATES, PERTURBED
from slateproof.experiments.stats import between, median_error
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.learn import learner
from slateproof.learn.catalog import catalog_of
from slateproof.select import GreedySelector, LeverMap
from slateproof.types import Catalog, Levers, PoolBatch, Slate, State
from slateproof.types.columns import Floats

__all__ = ["EXPERIMENT", "MarginGate", "Trials", "run", "slates_of", "trials_of"]

PAPERS = ("oulad", "ednet")
NEAR_ZERO = 1e-9
"""Margins at or below this count as near zero; the paper does not state its bound."""


@dataclass(frozen=True, slots=True)
class MarginGate:
    """320 pools, five draws per pool and scale, as in the paper; ``users`` learners of EdNet or its surrogate."""

    pools: int = 320
    draws: int = 5
    candidates: int = 100
    size: int = 10
    sigmas: tuple[float, ...] = (5e-5, 1e-4, 2e-4, 5e-4, 1e-3)
    users: int = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Per trial: M, Γ, certified by the norm check, unchanged by the exact check, same ordered slate and same set when selected."""

    movement: Floats
    margin: Floats
    certified: Any
    exact: Any
    order: Any
    same: Any


def run(task: Task) -> Result:
    """Gates and perturbations on both educational corpora."""
    config: MarginGate = task.config
    found, skipped = in_hand(task.corpora, PAPERS)
    rows: list[Row] = []
    gates: list[Row] = []
    digests: dict[str, str] = {}
    reasons: dict[str, str | None] = dict.fromkeys(PAPERS, "the corpus is not in hand")
    histograms: dict[str, tuple[Floats, Floats]] = {}
    shapes: list[Row] = []
    for place, (paper, name) in enumerate(found.items()):
        task.progress(place, len(found), name)
        corpus = get(task.corpora, name, config.users)
        digests[corpus.label], reasons[paper] = corpus.digest, not_the_papers(corpus)
        pools = anchor_pools(corpus, learner("mf-bce"), config.pools, config.candidates, task.seed)
        gap = np.asarray(topk.gap(pools.scores, config.size), np.float64)
        slates, levers = slates_of(corpus, paper, pools, pools.raw)
        wide, _ = slates_of(corpus, paper, pools, pools.scores)
        margin = _margins(slates)
        free = anchor_pools(corpus, anchor_of("mf-bce"), config.pools, config.candidates, task.seed)
        histograms[corpus.label] = gap, margin
        quantities = (
            ("gap", "γ", gap),
            ("margin", "Γ", margin),
            ("gap without biases", "γ, anchor without biases", np.asarray(topk.gap(free.scores, config.size), np.float64)),
            ("margin of standardised scores", "Γ, standardised scores", _margins(wide)),
        )
        shared = [_margins(slates_of(corpus, paper, one, one.raw)[0]) for one in one_candidate_set(corpus, pools, task.seed)]
        shapes += shape_rows(corpus.label, paper, margin, shared)
        gates += _gates(corpus, paper, quantities)
        for step, sigma in enumerate(config.sigmas):
            rng = np.random.default_rng([task.seed, place, step])
            trials = trials_of(slates, levers, corpus, paper, sigma, config.draws, rng)
            rows.append({"corpus": corpus.label, "paper_corpus": paper, "sigma": sigma, **_cell(trials, config.draws)})
    summary = _summary(rows, gates)
    verdicts = (*_gate_verdicts(gates, reasons), *_trial_verdicts(rows, reasons, shapes))
    notes, tables = notes_of(rows, gates, shapes, summary), tables_of(rows, gates, shapes)
    return Result(summary, tuple(rows), verdicts, notes, tables, figures_of(histograms, rows), skipped, digests)


def _margins(slates: list[Slate]) -> Floats:
    return np.array([slate.margin for slate in slates], np.float64)


def slates_of(corpus: Corpus, paper: str, pools: AnchorPools, scores: Floats) -> tuple[list[Slate], Levers]:
    """The greedy slates of all pools under the preset of ``paper`` and the neutral state."""
    state, ids, catalog = State(), corpus.items.ids, catalog_of(corpus)
    levers = LeverMap.preset(paper)(state)
    selector = GreedySelector.preset(paper)
    listed = [catalog.pool(ids[row].tolist(), one) for row, one in zip(pools.items, scores, strict=True)]
    return list(selector.select_batch(PoolBatch.of(listed), levers, state)), levers


def trials_of(
    slates: list[Slate], levers: Levers, corpus: Corpus, paper: str, sigma: float, draws: int, rng: np.random.Generator
) -> Trials:
    """Perturb every pool ``draws`` times, ask the certificate, and select again."""
    selector, catalog = GreedySelector.preset(paper), catalog_of(corpus)
    noisy = [slate.pool.scores + sigma * rng.standard_normal((draws, slate.pool.size)) for slate in slates]
    again = _select_again(selector, catalog, slates, noisy, levers)
    parts: dict[str, list[Any]] = {name: [] for name in ("movement", "margin", "certified", "exact")}
    for slate, others in zip(slates, noisy, strict=True):
        certificate = certify(slate)
        parts["movement"].append(certificate.movement(others))
        parts["margin"].append(np.full(draws, certificate.margin))
        parts["certified"].append(certificate.holds(others))
        parts["exact"].append(certificate.exact(others))
    before = [slate.indices for slate in slates for _ in range(draws)]
    order = np.array([tuple(a) == tuple(b) for a, b in zip(before, again, strict=True)])
    same = np.array([set(a) == set(b) for a, b in zip(before, again, strict=True)])
    return Trials(**{name: np.concatenate(values) for name, values in parts.items()}, order=order, same=same)


def _select_again(
    selector: GreedySelector, catalog: Catalog, slates: list[Slate], noisy: list[Floats], levers: Levers
) -> list[list[int]]:
    """Places of the chosen items, for every pool and draw."""
    pools = [catalog.pool(slate.pool.ids, row) for slate, rows in zip(slates, noisy, strict=True) for row in rows]
    batch = selector.select_batch(PoolBatch.of(pools), levers, State())
    return [part.tolist() for part in np.split(batch.chosen, batch.starts[1:-1])]


def _cell(trials: Trials, draws: int) -> Row:
    ratio = trials.movement / trials.margin
    by_pool = np.median(ratio.reshape(-1, draws), axis=1)
    return {
        "trials": int(ratio.size),
        "certified": float(trials.certified.mean()),
        "exact": float(trials.exact.mean()),
        "same_order": float(trials.order.mean()),
        "same_set": float(trials.same.mean()),
        "certified_violations": int((trials.certified & ~trials.order).sum()),
        "exact_disagreements": int((trials.exact != trials.order).sum()),
        "median_ratio": float(np.median(ratio)),
        "error_ratio": median_error(by_pool),
    } | {
        f"error_{name}": between(np.asarray(values, np.float64).reshape(-1, draws).mean(axis=1))
        for name, values in (("certified", trials.certified), ("same_order", trials.order), ("same_set", trials.same))
    }


def _gates(corpus: Corpus, paper: str, quantities: Sequence[tuple[str, str, Floats]]) -> list[Row]:
    return [
        {"corpus": corpus.label, "paper_corpus": paper, "key": key, "quantity": name, "records": int(values.size)}
        | {"mean": float(values.mean()), "median": float(np.median(values)), "positive_rate": float((values > 0.0).mean())}
        | {
            "near_zero_rate": float((values <= NEAR_ZERO).mean()),
            "error_mean": between(values),
            "error_median": median_error(values),
        }
        for key, name, values in quantities
    ]


def _summary(rows: list[Row], gates: list[Row]) -> dict[str, Any]:
    margins = [row for row in gates if row["key"] in ("gap", "margin")]
    return {
        "trials": sum(row["trials"] for row in rows),
        "certified_trials": sum(round(row["certified"] * row["trials"]) for row in rows),
        "certified_violations": sum(row["certified_violations"] for row in rows),
        "exact_disagreements": sum(row["exact_disagreements"] for row in rows),
        "all_positive": all(row["positive_rate"] == 1.0 for row in margins),
    } | {f"median_{row['key']}_{row['paper_corpus']}": row["median"] for row in margins}


def _gate_verdicts(gates: list[Row], reasons: dict[str, str | None]) -> list[Verdict]:
    ours = {(row["paper_corpus"], row["key"]): row for row in gates}
    verdicts = []
    for (paper, key), numbers in GATES.items():
        row = ours.get((paper, key))
        for name, value in zip(("mean", "median", "positive_rate", "near_zero_rate"), numbers, strict=True):
            what = f"{paper}: {name.replace('_', ' ')} of {'γ' if key == 'gap' else 'Γ'}"
            published = Published(
                f"{paper}/{key}/{name}", f"tab:{paper}-margin-gate", what, value, share=0.1 if name[0] == "m" else 0.0
            )
            error = 0.0 if row is None else math.sqrt(2.0) * row.get(f"error_{name}", 0.0)
            verdicts.append(judge(published, Ours(None if row is None else row[name], error, why=reasons[paper]), GATE_CAUSE))
    return verdicts


GATE_CAUSE = (
    "γ follows the anchor's training, Γ its scale, the state and the similarities, which the paper does not state; the order of "
    "magnitude of Γ fits probabilities as scores and not standardised ones (see the table)."
)


def _trial_verdicts(rows: list[Row], reasons: dict[str, str | None], shapes: list[Row]) -> list[Verdict]:
    ours = {(row["paper_corpus"], row["sigma"]): row for row in rows}
    names = ("certified", "same_order", "same_set", "certified_violations", "median_ratio")
    verdicts = []
    for paper, cells in PERTURBED.items():
        for sigma, *numbers in cells:
            row = ours.get((paper, sigma))
            for name, value in zip(names, numbers, strict=True):
                what = f"{paper}, σ={sigma:g}: {name.replace('_', ' ').replace('median ratio', 'median M/Γ')}"
                room = 0.05 if name in names[:3] else 0.0
                published = Published(
                    f"{paper}/{sigma}/{name}",
                    f"tab:{paper}-selector-perturb",
                    what,
                    value,
                    tolerance=room,
                    bounded=name in names[:3],
                )
                error = 0.0 if row is None else math.sqrt(2.0) * row.get(f"error_{name.removeprefix('median_')}", 0.0)
                mine = Ours(None if row is None else float(row[name]), error, why=reasons[paper])
                verdicts.append(judge(published, mine, cause_of(shapes, paper)))
    return verdicts


EXPERIMENT = Experiment(
    name="margin-gate",
    title="Margins and the certificate's inequality",
    question="Are anchor gaps and greedy margins positive, and does a certified perturbation ever change the slate?",
    labels=(
        "tab:oulad-margin-gate", "tab:oulad-selector-perturb", "tab:ednet-margin-gate", "tab:ednet-selector-perturb",
        "fig:tail-margin-diagnostics-app",
    ),
    full=MarginGate(),
    quick=MarginGate(pools=80, users=1_000),
    run=run,
    corpora=tuple(name for paper in PAPERS for name in STANDS_FOR[paper]),
)  # fmt: skip
