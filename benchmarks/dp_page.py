"""The figure and the tables of docs/dp-learner.md from the committed results: ``python -m benchmarks.dp_page``.

The figure is written, the tables are printed; the tests check that the page holds them.

Scope: none; presentation of measurements.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slateproof.experiments.draw import to_svg
from slateproof.experiments.figures import Figure, Panel, Series

ROOT = Path(__file__).resolve().parents[1]
TITLES = {"conditioned": "Loss, side inputs conditioned", "fixed": "Loss, side inputs fixed"}


def figure(rows: Sequence[dict[str, Any]]) -> Figure:
    """Two panels of loss curves, one of AUC against epsilon."""
    panels = [Panel(TITLES[side], "step", "held-out loss", _losses(rows, side), y_limits=(0.0, 0.8)) for side in TITLES]
    return Figure(
        "dp-learner",
        "Private training on OULAD, mean and range of three seeds",
        "Loss on held-out users against steps for three budgets and for training without noise and clip: the private curves fall "
        "within fifty steps to about a quarter and stay there, whatever the budget; the other falls to .15. AUC on held-out users "
        "against epsilon: private training comes within a few hundredths of training without noise and clip.",
        (*panels, Panel("AUC", "ε per round, δ = 1e-5", "held-out AUC", _aucs(rows), x_scale="log")),
        3,
        "each",
    )


def _losses(rows: Sequence[dict[str, Any]], side: str) -> tuple[Series, ...]:
    out = []
    for slot, epsilon in enumerate(_budgets(rows)):
        curves = [row["curve"] for row in rows if (row["side_inputs"], row["epsilon_target"]) == (side, epsilon)]
        if curves:
            steps = tuple(step for step, _ in curves[0])
            at = [[curve[place][1] for curve in curves] for place in range(len(steps))]
            name = "no noise, no clip" if epsilon is None else f"ε = {epsilon:g}"
            y, low, high = (tuple(map(one, at)) for one in (_mean, min, max))
            out.append(Series(name, steps, y, "curve", slot, low, high))
    return tuple(out)


def _aucs(rows: Sequence[dict[str, Any]]) -> tuple[Series, ...]:
    out = []
    finite = tuple(one for one in _budgets(rows) if one is not None)
    for slot, side in enumerate(TITLES):
        at = [[row["auc"] for row in rows if (row["side_inputs"], row["epsilon_target"]) == (side, one)] for one in finite]
        y, low, high = (tuple(map(one, at)) for one in (_mean, min, max))
        out.append(Series(side, finite, y, "line", slot, low, high))
        off = _mean([row["auc"] for row in rows if row["side_inputs"] == side and row["epsilon_target"] is None])
        out.append(Series(f"{side}, no noise, no clip", (finite[0], finite[-1]), (off, off), "curve", slot + 2))
    return tuple(out)


def _budgets(rows: Sequence[dict[str, Any]]) -> tuple[float | None, ...]:
    return tuple(dict.fromkeys(row["epsilon_target"] for row in rows))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def utility_table(results: dict[str, Any]) -> str:
    """Per side inputs and budget: noise, AUC and loss with their range over seeds."""
    lines = []
    for row in results["summary"]:
        noise = "none, no clip" if row["noise_multiplier"] is None else f"{row['noise_multiplier']:.3f}"
        epsilon = "none" if row["epsilon"] is None else f"{row['epsilon']:g}"
        lines.append([row["side_inputs"], epsilon, noise, _range(row["auc"]), _range(row["loss"]), str(row["seeds"])])
    return _table(("side inputs", "ε", "noise multiplier", "AUC", "loss", "seeds"), lines)


def speed_table(results: dict[str, Any]) -> str:
    """Per batch size: milliseconds of a step, and how many times faster."""
    lines = [
        [str(row["batch"]), f"{row['ours_ms']:.1f}", f"{row['opacus_ms']:.1f}", f"{row['ratio']:.1f}"] for row in results["rows"]
    ]
    return _table(("rounds", "slateproof, ms", "Opacus, ms", "times faster"), lines)


def _range(found: Sequence[float]) -> str:
    mean, low, high = found
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines))


def read(name: str) -> dict[str, Any]:
    """Committed results."""
    found: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Draw, and print."""
    utility = read("dp_utility.json")
    (ROOT / "docs" / "img" / "dp-learner.svg").write_text(to_svg(figure(utility["rows"])) + "\n", encoding="utf-8")
    print(utility_table(utility), speed_table(read("dp_speed.json")), sep="\n\n")


if __name__ == "__main__":
    main()
