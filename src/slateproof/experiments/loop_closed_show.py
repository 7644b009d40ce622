"""Tables and figures of `closed-loop`.

Scope: none; presentation.
"""

from __future__ import annotations

from slateproof.experiments.core import Row, Table
from slateproof.experiments.figures import Figure, Panel, Series
from slateproof.experiments.loop_runs import Loop
from slateproof.experiments.loop_stats import TITLES, UNITS, Delta
from slateproof.experiments.published.loop_closed import INTERVALS

__all__ = ["Found", "figures", "interval_cells", "tables"]

Found = dict[tuple[str, str, str], dict[str, Delta]]
"""(corpus of the paper, plan, mode) -> metric -> difference."""

HEADS = {f"delta_{m}": t for m, t in TITLES.items()}
LEVELS = {
    "attempts_per_round": "attempts/round",
    "uptake": "uptake",
    "correctness": "correctness",
    "utility_probe": "post-test",
    "telemetry_probe": "telemetry",
    "target_jump": "jump, shown",
    "accepted_target_jump": "jump, accepted",
    "slate_overlap": "overlap",
}


def interval_cells(row: Row) -> Row:
    """The row's differences as text, mean [low, high]."""
    there = [m for m in UNITS if f"delta_{m}" in row]
    return {**row, **{f"delta_{m}": f"{row[f'delta_{m}']:.3f} [{row[f'low_{m}']:.3f}, {row[f'high_{m}']:.3f}]" for m in there}}


def tables(rows: list[Row]) -> tuple[Table, ...]:
    """Differences, levels, sign tests."""
    compared = [row for row in rows if "delta_uptake" in row]
    cells = tuple(interval_cells(row) for row in compared)
    first = ("corpus", "dynamics", "rounds", "policy")
    signs = {f"p_{m}": t for m, t in TITLES.items()}
    caption = "p of the sign test against ALS; exploratory, not corrected for many comparisons."
    return (
        Table("closed-loop-differences", "Paired differences against ALS, mean [95 % bootstrap].", (*first, *HEADS), cells, HEADS),
        Table("closed-loop-levels", "Every mode by itself, mean over sessions.", (*first, *LEVELS), tuple(rows), LEVELS),
        Table("closed-loop-signs", caption, (*first, *signs), tuple(compared), signs),
    )


SHORT = {"adaptive": "Adaptive", "adaptive-scpo": "SCPO", "adaptive-als": "+ALS .75", "als-selector": "ALS+Sel."}
SHOWN = ("correctness", "utility_probe", "attempts_per_round")


def figures(made: tuple[Loop, ...], found: Found) -> tuple[Figure, ...]:
    """One panel per corpus and metric."""
    panels = []
    for loop in made:
        for metric in SHOWN:
            theirs = {m: c[list(UNITS).index(metric)] for p, m, *c in INTERVALS if p == loop.paper}
            series = [_bars("published", [theirs[m] for m in SHORT], 6)]
            for slot, (plan, words) in enumerate((("main", "ours, calibrated"), ("legacy", "ours, earlier dynamics")), 1):
                ours = [found[loop.paper, plan, m][metric] for m in SHORT]
                series.append(_bars(words, [(one.mean, one.low, one.high) for one in ours], slot))
            panels.append(Panel(loop.corpus.label, "", f"{TITLES[metric]} against ALS", tuple(series)))
    if not panels:
        return ()
    return (
        Figure(
            "closed-loop",
            "Closed loop: paired differences against ALS, with 95 % intervals",
            "One panel per corpus and metric; bars for four modes: published, ours under calibrated response models, ours under "
            "the dynamics of the authors' earlier artifact.",
            tuple(panels),
            columns=len(SHOWN),
        ),
    )


def _bars(label: str, cells: list[tuple[float, float, float]], slot: int) -> Series:
    mean, low, high = zip(*cells, strict=True)
    return Series(label, tuple(SHORT.values()), mean, "bars", slot, low, high)
