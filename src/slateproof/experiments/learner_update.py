"""`learner-update`: how do scores move when a learner takes noisy clipped updates, by tier, depth and optimiser?

200 seeds of updates from one start; xi = scores after - scores before, both standardised within each of 16 held-out pools. As
in the paper this is descriptive: seeds, pools and scores are shared between draws. 50 cross-boundary pairs per pool are drawn
once; τ̂ of a pair is its root mean square over seeds ("pairwise τ proxy" in the paper's table of injected noise), and a tail is
what lies beyond u τ̂ of its own pair. One τ̂ per pool, the other reading, is measured beside it.

A small two-tower on a sample of OULAD's rounds: the population is cut, so that 200 seeds x 80 updates x 3 tiers x 2 optimisers
fit into a minute; q, σ and T are the tiers' own. The towers of the closed loop take the first eight updates, too.

Scope: stability only; a stress test. Its ε columns describe the configuration, were it run as a mechanism; no model is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slateproof import privacy as pv
from slateproof.certify import topk
from slateproof.corpora import Corpus
from slateproof.experiments.core import Experiment, Result, Row, Task
from slateproof.experiments.learner_update_show import figures_of, notes_of, tables_of, wide_note
from slateproof.experiments.published.learner_update import STEPS, TIERS
from slateproof.experiments.stats import between
from slateproof.experiments.verdicts import Ours, Published, Verdict, judge
from slateproof.learn.blend import standardised
from slateproof.types.columns import Floats, Ints

__all__ = ["EXPERIMENT", "LearnerUpdate", "measured", "run"]

SETTINGS = {"standard": (0.020, 1.2), "strong": (0.015, 2.0), "locked": (0.010, 2.8)}
"""q and σ; the labels of the paper's 200-seed tables belong to σ = 2.8, not to the stated 3.0, in the third tier."""

DELTA = 1e-5
ONE, OTHER = "tab:dp-sgd-tail-oulad-tiers", "tab:dp-sgd-tail-oulad-steps"
CALIBRATED = ("standard", 8)
"""Where τ̂ was matched by choosing Adam's step size, which the paper does not state."""


@dataclass(frozen=True, slots=True)
class LearnerUpdate:
    """``quiet_seeds`` run without noise, on the standard tier's samples. ``warm`` noise-free updates make the start.

    ``adam_step`` brings τ̂ after eight standard updates near the published .667; everything else is measured with it.
    """

    seeds: int = 200
    quiet_seeds: int = 40
    depths: tuple[int, ...] = (8, 24, 80)
    pools: int = 16
    candidates: int = 100
    size: int = 10
    pairs: int = 50
    rounds: int = 1_000
    rows: int = 5
    hidden: int = 32
    embedding: int = 16
    warm: int = 160
    warm_step: float = 0.01
    adam_step: float = 0.055
    sgd_step: float = 0.1
    largest_rate: float = 0.020
    wide: tuple[int, int] = (96, 48)
    wide_step: float = 0.066


def run(task: Task) -> Result:
    """All tiers with both optimisers, and both without noise."""
    from slateproof.experiments.update_runs import How, bench_of, moved, reference, scores_by_depth

    config: LearnerUpdate = task.config
    here, skipped = task.corpora.split(("oulad",))
    if not here:
        return Result({}, verdicts=tuple(_verdicts([])), skipped=skipped)
    corpus = task.corpora.get("oulad")
    bench = bench_of(corpus, config, task.seed)
    bench = moved(bench, config.warm, How(config.largest_rate, 0.0, True, config.warm_step), task.seed)
    before = standardised(reference(bench))[0]
    runs = [(tier, True, adam) for adam in (True, False) for tier in SETTINGS] + [("standard", False, a) for a in (True, False)]
    rows: list[Row] = []
    for place, (tier, noise, adam) in enumerate(runs):
        task.progress(place, len(runs), f"{tier}, {'Adam' if adam else 'SGD'}, {'with' if noise else 'without'} noise")
        rate, sigma = SETTINGS[tier]
        how = How(rate, sigma if noise else 0.0, adam, config.adam_step if adam else config.sgd_step)
        for depth, scores in scores_by_depth(
            bench, config.depths, config.seeds if noise else config.quiet_seeds, how, task.seed
        ).items():
            cell = measured(before, scores, config.size, config.pairs, np.random.default_rng([task.seed, depth]))
            rows.append(_labels(tier, depth, noise, adam, rate, sigma) | cell)
    gap = float(np.median(np.asarray(topk.gap(before, config.size))))
    wide = _wide(corpus, config, task.seed)
    summary = _summary(rows) | {"start_gap_median": gap, "wide": wide}
    digests = {corpus.label: corpus.digest}
    notes, verdicts = (*notes_of(rows, summary, config), wide_note(wide, rows, config)), tuple(_verdicts(rows, gap))
    return Result(summary, tuple(rows), verdicts, notes, tables_of(rows), figures_of(rows), skipped, digests)


def _wide(corpus: Corpus, config: LearnerUpdate, seed: int) -> Row:
    """The standard tier after the fewest updates, with the towers of the closed loop."""
    from slateproof.experiments.update_runs import How, bench_of, moved, reference, scores_by_depth

    depth, (rate, sigma) = min(config.depths), SETTINGS["standard"]
    bench = bench_of(corpus, replace(config, hidden=config.wide[0], embedding=config.wide[1]), seed)
    bench = moved(bench, config.warm, How(config.largest_rate, 0.0, True, config.warm_step), seed)
    before = standardised(reference(bench))[0]
    scores = scores_by_depth(bench, (depth,), config.seeds, How(rate, sigma, True, config.wide_step), seed)[depth]
    return measured(before, scores, config.size, config.pairs, np.random.default_rng([seed, depth]))


def _labels(tier: str, depth: int, noise: bool, adam: bool, rate: float, sigma: float) -> Row:
    row: Row = {"optimizer": "adam" if adam else "sgd", "noise": noise, "tier": tier, "updates": depth}
    if not noise:
        return row | {"label_epsilon": None, "pld_epsilon": None}
    ledger = pv.Ledger()
    ledger.record_poisson_gaussian(sampling_rate=rate, noise_multiplier=sigma, count=depth)
    label = pv.nominal_label(sampling_rate=rate, noise_multiplier=sigma, steps=depth, delta=DELTA)
    return row | {"label_epsilon": label, "pld_epsilon": ledger.epsilon(DELTA)}


def measured(before: Floats, after: Floats, k: int, pairs: int, rng: np.random.Generator) -> Row:
    """τ̂, tails, flips and overlap: ``before`` (P, n) standardised, ``after`` (seeds, P, n) raw; means over pools."""
    seeds, pools, n = after.shape
    xi = standardised(after.reshape(-1, n))[0].reshape(after.shape) - before
    inside = np.asarray(topk.top(before, k))
    parts: dict[str, list[float]] = {}
    for p in range(pools):
        top, rest = np.flatnonzero(inside[p]), np.flatnonzero(~inside[p])
        i, j = rng.choice(top, pairs), rng.choice(rest, pairs)
        cell = _tails(xi[:, p, j] - xi[:, p, i])
        for weight in (0.0, 0.50, 0.75):
            kept = _kept(before[p] + (1.0 - weight) * xi[:, p], top, k)
            tag = f"w{round(100 * weight):03d}"
            cell |= {f"flip_{tag}": float((kept < k).mean()), f"jaccard_{tag}": float((kept / (2.0 * k - kept)).mean())}
        for name, value in cell.items():
            parts.setdefault(name, []).append(value)
    row: Row = {name: float(np.mean(values)) for name, values in parts.items()}
    row |= {f"error_{name}": between(np.array(values)) for name, values in parts.items()}
    return row | {"seeds": seeds, "draws": seeds * pools * pairs, "bound_20": math.exp(-2.0), "bound_25": math.exp(-3.125)}


def _tails(apart: Floats) -> dict[str, float]:
    """``apart`` (seeds, pairs): tails beyond each pair's own τ̂ and beyond one τ̂ of the pool; how far pairs differ in τ̂."""
    own = np.sqrt((apart * apart).mean(axis=0))
    pooled = math.sqrt(float((apart * apart).mean()))
    cell = {"tau": float(own.mean()), "mean": float(apart.mean()), "tau_spread": float(own.std() / own.mean())}
    for tag, u in (("20", 2.0), ("25", 2.5)):
        cell |= {f"tail_{tag}": float((apart >= u * own).mean()), f"tail_{tag}_pooled": float((apart >= u * pooled).mean())}
    return cell


def _kept(rows: Floats, top: Ints, k: int) -> Floats:
    order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    return np.asarray(np.isin(order, top).sum(axis=1), np.float64)


def _verdicts(rows: list[Row], gap: float | None = None) -> list[Verdict]:
    ours = {(r["tier"], r["updates"]): r for r in rows if r["optimizer"] == "adam" and r["noise"]}
    first = (
        "label_epsilon",
        "tau",
        "tail_20",
        "bound_20",
        "tail_25",
        "bound_25",
        "flip_w000",
        "flip_w050",
        "flip_w075",
        "jaccard_w075",
    )
    second = ("label_epsilon", "tau", "tail_20", "tail_25", "flip_w075", "jaccard_w075")
    cells = [(ONE, tier, 8, dict(zip(first, numbers, strict=True))) for tier, *numbers in TIERS]
    cells += [(OTHER, tier, depth, dict(zip(second, numbers, strict=True))) for depth, tier, *numbers in STEPS]
    return [
        _verdict(label, tier, depth, name, value, ours.get((tier, depth)), gap)
        for label, tier, depth, numbers in cells
        for name, value in numbers.items()
    ]


TITLES = {
    "label_epsilon": "ε label", "tau": "mean τ̂", "tail_20": "tail at u=2", "bound_20": "bound at u=2", "tail_25": "tail at u=2.5",
    "bound_25": "bound at u=2.5", "flip_w000": "Flip@10 at w=0", "flip_w050": "Flip@10 at w=.50", "flip_w075": "Flip@10 at w=.75",
    "jaccard_w075": "Jaccard@10 at w=.75",
}  # fmt: skip
ROOM = {"label_epsilon": 6e-4, "bound_20": 6e-5, "bound_25": 6e-5, "jaccard_w075": 0.05}
SHARE = {"tau": 0.1, "tail_20": 0.1, "tail_25": 0.25, "flip_w000": 0.05, "flip_w050": 0.05, "flip_w075": 0.05}
CAUSE = (
    "Optimiser, step size, start and population are not stated; ours is a small two-tower moved by Adam, with the step size set by "
    "one published number."
)


GAUSSIAN = {"tail_20": 0.02275, "tail_25": 0.00621}


def _cause(name: str, row: Row, gap: float | None) -> str:
    """What was found about a number of ours that is not the published one."""
    if name.startswith("tail"):
        return (
            f"{CAUSE} The paper does not say whether τ̂ belongs to a pair or to a pool. Per pair, as here, the tail is "
            f"{row[name]:.4f}; per pool {row[f'{name}_pooled']:.4f}, because pairs move by different amounts (their τ̂ has a "
            f"coefficient of variation of {row['tau_spread']:.2f}); a Gaussian's is {GAUSSIAN[name]:.4f}."
        )
    if gap is not None and name.startswith(("flip", "jaccard")):
        return (
            f"{CAUSE} The start's standardised scores have a median top-10 gap of {gap:.4f} (the paper's anchor: .058), so that "
            "the same movement changes more of the top 10."
        )
    return CAUSE


def _verdict(label: str, tier: str, depth: int, name: str, value: float, row: Row | None, gap: float | None) -> Verdict:
    what, key = f"{tier}, {depth} updates: {TITLES[name]}", f"{label.rsplit('-', 1)[1]}/{tier}/{depth}/{name}"
    published = Published(
        key, label, what, value, tolerance=ROOM.get(name, 0.0), share=SHARE.get(name, 0.0),
        bounded=name.startswith(("flip", "jaccard")), formula=name == "label_epsilon" or name.startswith("bound"),
    )  # fmt: skip
    if row is None:
        return judge(published, Ours(None, why="the corpus or the cell is not in hand"))
    why = "its step size was chosen to match this number" if name == "tau" and (tier, depth) == CALIBRATED else None
    return judge(published, Ours(row[name], math.sqrt(2.0) * row.get(f"error_{name}", 0.0), why=why), _cause(name, row, gap))


def _summary(rows: list[Row]) -> dict[str, Any]:
    tau = {(r["optimizer"], r["noise"], r["tier"], r["updates"]): r["tau"] for r in rows}
    depths = sorted({row["updates"] for row in rows})
    summary: dict[str, Any] = {}
    for name in ("adam", "sgd"):
        for depth in depths:
            summary[f"tau_{name}_locked_over_standard_{depth}"] = (
                tau[name, True, "locked", depth] / tau[name, True, "standard", depth]
            )
            summary[f"tau_{name}_quiet_over_standard_{depth}"] = (
                tau[name, False, "standard", depth] / tau[name, True, "standard", depth]
            )
    summary["below_bound"] = all(
        row[f"tail_{u}{reading}"] <= row[f"bound_{u}"] for row in rows for u in ("20", "25") for reading in ("", "_pooled")
    )
    return summary


EXPERIMENT = Experiment(
    name="learner-update",
    title="Learner-update diagnostic",
    question="How far do noisy updates move scores, and does the pairwise condition hold for what they do?",
    labels=(ONE, OTHER),
    full=LearnerUpdate(),
    quick=LearnerUpdate(seeds=10, quiet_seeds=10, depths=(8, 24)),
    run=run,
    corpora=("oulad",),
)
