"""`learner-update`: how do scores move when a learner takes noisy clipped updates, by tier, depth and optimiser?

200 seeds of updates from one start; xi = scores after - scores before, both standardised within each of 16 held-out pools. As
in the paper this is descriptive: seeds, pools and scores are shared between draws. A small two-tower on a sample of OULAD's
rounds: the population is cut, so that 200 seeds x 80 updates x 3 tiers x 2 optimisers fit into a minute; q, σ and T are the
tiers' own.

Scope: stability only; a stress test. Its ε columns describe the configuration, were it run as a mechanism; no model is released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from slateproof import privacy as pv
from slateproof.certify import topk
from slateproof.experiments.core import Experiment, Result, Row, Table, Task
from slateproof.experiments.figures import Figure, Panel, Series
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
    adam_step: float = 0.06
    sgd_step: float = 0.1
    largest_rate: float = 0.020


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
    summary = _summary(rows) | {"start_gap_median": gap}
    digests = {corpus.label: corpus.digest}
    notes, verdicts = _notes(rows, config), tuple(_verdicts(rows, gap))
    return Result(summary, tuple(rows), verdicts, notes, _tables(rows), _figures(rows), skipped, digests)


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
        i, j = rng.choice(top, (seeds, pairs)), rng.choice(rest, (seeds, pairs))
        apart = np.take_along_axis(xi[:, p], j, axis=1) - np.take_along_axis(xi[:, p], i, axis=1)
        tau = math.sqrt(float((apart * apart).mean()))
        cell = {"tau": tau, "tail_20": float((apart >= 2.0 * tau).mean()), "tail_25": float((apart >= 2.5 * tau).mean())}
        centre, spread = float(apart.mean()), float(apart.std())
        cell |= {"mean": centre}
        cell |= {f"tail_{tag}_centred": float((apart - centre >= u * spread).mean()) for tag, u in (("20", 2.0), ("25", 2.5))}
        for weight in (0.0, 0.50, 0.75):
            kept = _kept(before[p] + (1.0 - weight) * xi[:, p], top, k)
            tag = f"w{round(100 * weight):03d}"
            cell |= {f"flip_{tag}": float((kept < k).mean()), f"jaccard_{tag}": float((kept / (2.0 * k - kept)).mean())}
        for name, value in cell.items():
            parts.setdefault(name, []).append(value)
    row: Row = {name: float(np.mean(values)) for name, values in parts.items()}
    row |= {f"error_{name}": between(np.array(values)) for name, values in parts.items()}
    return row | {"seeds": seeds, "draws": seeds * pools * pairs, "bound_20": math.exp(-2.0), "bound_25": math.exp(-3.125)}


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
    "Model, optimiser, step size, start and population are not stated; ours are a small two-tower moved by Adam, with the step "
    "size set by one published number."
)


GAUSSIAN = {"tail_20": 0.02275, "tail_25": 0.00621}


def _cause(name: str, row: Row, gap: float | None) -> str:
    """What was found about a number of ours that is not the published one."""
    if name.startswith("tail"):
        return (
            f"{CAUSE} Both scores are standardised, so whatever moves a pool also shrinks the old lead of its top 10: differences "
            f"have mean {row['mean']:.3f} in units of the scores. Centred the tail is {row[f'{name}_centred']:.4f} in place of "
            f"{row[name]:.4f}; a Gaussian's is {GAUSSIAN[name]:.4f}."
        )
    if gap is not None and name.startswith(("flip", "jaccard")):
        return (
            f"{CAUSE} The start's standardised scores have a median top-10 gap of {gap:.4f} (the paper's anchor: .058), so that "
            "the same movement changes more of the top 10."
        )
    return CAUSE


def _verdict(label: str, tier: str, depth: int, name: str, value: float, row: Row | None, gap: float | None) -> Verdict:
    what, key = f"{tier}, {depth} updates: {TITLES[name]}", f"{label.rsplit('-', 1)[1]}/{tier}/{depth}/{name}"
    published = Published(key, label, what, value, tolerance=ROOM.get(name, 0.0), share=SHARE.get(name, 0.0))
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
    summary["below_bound"] = all(row["tail_20"] <= row["bound_20"] and row["tail_25"] <= row["bound_25"] for row in rows)
    return summary


def _notes(rows: list[Row], config: LearnerUpdate) -> tuple[str, ...]:
    s, low, high = _summary(rows), min(config.depths), max(config.depths)
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
        f"All tails at u = 2 and 2.5 lie below the envelope: {'yes' if s['below_bound'] else 'no'}.",
    )


def _tables(rows: list[Row]) -> tuple[Table, ...]:
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
    )
    heads = {"label_epsilon": "ε label", "pld_epsilon": "ε (PLD)", "tau": "τ̂", "tail_20": "tail u=2", "bound_20": "bound u=2"}
    heads |= {"tail_25": "tail u=2.5", "bound_25": "bound u=2.5", "flip_w000": "Flip@10 w=0", "flip_w050": "w=.50"}
    heads |= {"flip_w075": "w=.75", "jaccard_w075": "Jaccard w=.75"}
    return (
        Table(
            "learner-update", "Score movement after noisy updates; ε columns describe the configuration, not a released model.",
            (*columns, "flip_w000", "flip_w050", "flip_w075", "jaccard_w075"), tuple(rows), heads,
        ),
    )  # fmt: skip


def _figures(rows: list[Row]) -> tuple[Figure, ...]:
    panels = []
    for optimizer, title in (("sgd", "SGD"), ("adam", "Adam")):
        mine = [row for row in rows if row["optimizer"] == optimizer]
        groups = [(tier, [r for r in mine if r["tier"] == tier and r["noise"]]) for tier in SETTINGS]
        groups.append(("without noise", [r for r in mine if not r["noise"]]))
        series = [
            Series(name, tuple(r["updates"] for r in part), tuple(r["tau"] for r in part), "line", slot)
            for slot, (name, part) in enumerate(groups)
        ]
        panels.append(Panel(title, "updates", "τ̂ of standardised scores", tuple(series), "log", "log"))
    text = "Movement of scores against number of updates: under SGD the tiers lie far apart, under Adam on one line."
    return (Figure("learner-update", "SGD shows a tier's noise, Adam hides it", text, tuple(panels)),)


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
